//! Forms in which a value may be written: one thing for a list of one, a text for a table, seconds for a duration.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Error, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{LocatedValue, ObjectiveSchema, TEXT_CHARS_MAX};

/// The schema of one thing, or a list of such things.
pub(crate) struct OneOrMany<T, const MIN: usize, const MAX: usize>(PhantomData<T>);

impl<T: JsonSchema, const MIN: usize, const MAX: usize> JsonSchema for OneOrMany<T, MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": MIN, "maxItems": MAX }] })
    }
}

/// The schema of a text that is not empty.
pub(crate) struct NonEmptyText;

impl JsonSchema for NonEmptyText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": TEXT_CHARS_MAX })
    }
}

/// The schema of an objective: a table, or its description alone.
pub(crate) struct ObjectiveForm;

impl JsonSchema for ObjectiveForm {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ObjectiveForm".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (text, table) =
            (generator.subschema_for::<NonEmptyText>(), generator.subschema_for::<ObjectiveSchema>());
        json_schema!({ "anyOf": [text, table] })
    }
}

/// The schema of a span of time.
pub(crate) struct DurationForm;

impl JsonSchema for DurationForm {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "pattern": "^[0-9]+(ms|s|m|h)$" },
                { "type": "integer", "minimum": 0, "description": "Seconds." },
            ],
            "x-hint": "write a whole number and its unit: \"90s\", \"30m\", \"2h\"; a number alone is seconds",
        })
    }
}

/// A span of time as a text with its unit.
#[derive(Debug, Clone)]
pub(crate) struct DurationText(pub(crate) String);

impl<'de> Deserialize<'de> for DurationText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DurationVisitor;
        impl Visitor<'_> for DurationVisitor {
            type Value = DurationText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a span of time")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<DurationText, E> {
                Ok(DurationText(text.to_owned()))
            }

            fn visit_i64<E: Error>(self, seconds: i64) -> Result<DurationText, E> {
                Ok(DurationText(format!("{seconds}s")))
            }
        }
        deserializer.deserialize_any(DurationVisitor)
    }
}

impl<'de> Deserialize<'de> for ObjectiveSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectiveVisitor;
        impl<'de> Visitor<'de> for ObjectiveVisitor {
            type Value = ObjectiveSchema;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("what is to be done, or a table that says it")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ObjectiveSchema, E> {
                Ok(ObjectiveSchema::of(text))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ObjectiveSchema, A::Error> {
                ObjectiveSchema::of_table(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(ObjectiveVisitor)
    }
}

/// One thing or several, as in the file.
enum ListForm<T> {
    One(T),
    Many(Vec<LocatedValue<T>>),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ListForm<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = ListForm<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one thing or a list")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ListForm<T>, E> {
                let text: StrDeserializer<'_, E> = text.into_deserializer();
                T::deserialize(text).map(ListForm::One)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ListForm<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(ListForm::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<ListForm<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(ListForm::Many)
            }
        }
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

/// Reads one thing or several.
pub(super) fn one_or_many<'de, D, T>(deserializer: D) -> Result<Vec<LocatedValue<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let given = toml::Spanned::<ListForm<T>>::deserialize(deserializer)?;
    let span = given.span();
    Ok(match given.into_inner() {
        ListForm::One(one) => vec![LocatedValue(toml::Spanned::new(span, one))],
        ListForm::Many(many) => many,
    })
}

/// The same for a value that may be omitted.
pub(super) fn one_or_many_said<'de, D, T>(deserializer: D) -> Result<Option<Vec<LocatedValue<T>>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    one_or_many(deserializer).map(Some)
}

/// Reads one text or several.
pub(super) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(one_or_many(deserializer)?.into_iter().map(LocatedValue::into_inner).collect())
}

/// Reads a command, or several that must all exit 0, as one command for `sh -c`.
pub(super) fn commands<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let mut given = texts(deserializer)?;
    if given.len() == 1 {
        return Ok(given.pop());
    }
    Ok(Some(given.iter().map(|command| joinable(command.trim())).collect::<Vec<_>>().join(" && ")))
}

/// A command as an operand of `&&`: in a subshell if it has operators or a comment.
fn joinable(command: &str) -> Cow<'_, str> {
    match command.contains(['|', '&', ';', '#', '\n', '<', '!']) {
        true => format!("(\n{command}\n)").into(),
        false => command.into(),
    }
}
