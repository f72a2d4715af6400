//! Validates a TOML document against a JSON Schema and reports the deviations with their places. Independent of workflows.
//!
//! serde alone would stop at the first mistake and could not name the place of a key. This supports the part of JSON Schema
//! that schemars writes for `schema`: objects, arrays, unions, words, lengths and ranges. Patterns are checked after it, with
//! better messages than a regular expression has.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::{Diagnostics, nearest, suggest};

/// Adds every departure from the schema to the problems.
pub(super) fn validate_document(
    document: &Spanned<DeTable<'_>>,
    schema: &Value,
    problems: &mut Diagnostics<'_>,
) {
    let mut walk = SchemaValidator { root: schema, problems };
    walk.table(document.get_ref(), document.span(), schema, &ValuePosition::default());
}

/// The place of a value, in the words of the file.
#[derive(Clone, Default)]
struct ValuePosition {
    /// Dotted keys of the tables on the way, without indices.
    header: String,
    /// "phase `build`, objective `parser`".
    items: String,
    /// The last key.
    key: String,
}

impl ValuePosition {
    /// A value under a key of this table.
    fn under(&self, key: &str) -> ValuePosition {
        ValuePosition { key: key.to_owned(), ..self.clone() }
    }

    /// This value itself, as the table of its keys.
    fn inside(&self) -> ValuePosition {
        if self.key.is_empty() {
            return self.clone();
        }
        let dot = if self.header.is_empty() { "" } else { "." };
        ValuePosition {
            header: format!("{}{dot}{}", self.header, self.key),
            items: self.items.clone(),
            key: String::new(),
        }
    }

    /// One element of this list: named by its id if it has one, else by its number from 1.
    fn item(&self, index: usize, element: &DeValue<'_>) -> ValuePosition {
        let DeValue::Table(table) = element else {
            return self.clone();
        };
        let name = match table.get("id").map(Spanned::get_ref).and_then(DeValue::as_str) {
            Some(id) => format!("`{id}`"),
            None => format!("number {}", index + 1),
        };
        let kind = match self.key.as_str() {
            "do" => "objective",
            key => key.strip_suffix('s').unwrap_or(key),
        };
        let comma = if self.items.is_empty() { "" } else { ", " };
        let mut place = self.inside();
        place.items = format!("{}{comma}{kind} {name}", self.items);
        place
    }

    /// "in phase `build`", "in [limits]", "at the top level".
    fn describe(&self) -> String {
        if !self.items.is_empty() {
            format!("in {}", self.items)
        } else if !self.header.is_empty() {
            format!("in [{}]", self.header)
        } else {
            "at the top level".to_owned()
        }
    }

    /// "`verify` in phase `build`".
    fn subject(&self) -> String {
        if self.key.is_empty() { self.items.clone() } else { format!("`{}` {}", self.key, self.describe()) }
    }
}

struct SchemaValidator<'a, 't> {
    root: &'a Value,
    problems: &'a mut Diagnostics<'t>,
}

impl<'a> SchemaValidator<'a, '_> {
    fn value(&mut self, value: &Spanned<DeValue<'_>>, schema: &'a Value, place: &ValuePosition) {
        if *schema == Value::Bool(true) {
            // The reader of that table validates it.
            return;
        }
        let hint = schema["x-hint"].as_str().unwrap_or_default();
        let given = kind(value.get_ref());
        let choices = self.choices(schema);
        let Some(schema) = choices.iter().copied().find(|choice| allows(choice, given)) else {
            let mut wanted: Vec<&str> = choices.iter().filter_map(|choice| wanted(choice)).collect();
            wanted.dedup();
            let what = format!("{} is {}; it must be {}", place.subject(), said(given), one_of(&wanted));
            self.problems.at(value.span(), &place.key, what, hint);
            return;
        };
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, value.span(), schema, &place.inside()),
            DeValue::Array(array) => {
                self.length(array.len(), schema, ["minItems", "maxItems"], "elements", value.span(), place);
                for (index, element) in array.iter().enumerate() {
                    self.value(element, &schema["items"], &place.item(index, element.get_ref()));
                }
            }
            DeValue::String(text) => {
                let length = text.trim().chars().count();
                self.length(length, schema, ["minLength", "maxLength"], "characters", value.span(), place);
                let words = words(schema);
                if !words.is_empty() && !words.contains(&text.as_ref()) {
                    let what = format!("{} cannot be \"{}\"", place.subject(), text.escape_debug());
                    let hint = if hint.is_empty() { suggest(text, words) } else { hint.to_owned() };
                    self.problems.at(value.span(), &place.key, what, hint);
                }
            }
            DeValue::Integer(number) => {
                let digits = number.as_str().replace('_', "");
                match i64::from_str_radix(&digits, number.radix()) {
                    Ok(whole) => self.range(whole as f64, schema, hint, value.span(), place),
                    Err(_) => self.range(f64::INFINITY, schema, hint, value.span(), place),
                }
            }
            DeValue::Float(number) => {
                let number = number.as_str().replace('_', "").parse().unwrap_or(f64::NAN);
                self.range(number, schema, hint, value.span(), place);
            }
            DeValue::Boolean(_) | DeValue::Datetime(_) => {}
        }
    }

    fn table(&mut self, table: &DeTable<'_>, span: Range<usize>, schema: &'a Value, place: &ValuePosition) {
        let known = schema["properties"].as_object();
        let mut meant = BTreeSet::new();
        for (key, value) in table {
            let name: &str = key.get_ref();
            if let Some(schema) = known.and_then(|known| known.get(name)) {
                self.value(value, schema, &place.under(name));
            } else if schema["additionalProperties"].is_object() || schema["additionalProperties"] == true {
                self.value(value, &schema["additionalProperties"], &place.under(name));
            } else {
                let what = format!("unknown key `{name}` {}", place.describe());
                let instead = schema["x-instead"][name].as_str();
                // Sorted, since the order of a JSON object depends on the other crates of the build.
                let names: BTreeSet<&str> =
                    known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                let names: Vec<&str> = names.into_iter().collect();
                if instead.is_none() {
                    meant.extend(nearest(name, &names));
                }
                let hint = instead.map_or_else(|| suggest(name, names), str::to_owned);
                self.problems.at(key.span(), name, what, hint);
            }
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            // A key that exists under a wrong name is not reported as missing.
            if !table.contains_key(name) && !meant.contains(name) {
                let schema = known.and_then(|known| known.get(name)).unwrap_or(&Value::Null);
                let what = format!("`{name}` is missing {}", place.describe());
                let kind = self.choices(schema).iter().find_map(|choice| choice["type"].as_str());
                let hint = match (schema["x-hint"].as_str(), kind) {
                    (Some(hint), _) => hint.to_owned(),
                    (None, Some("array")) => format!("add `[[{}]]`", place.under(name).inside().header),
                    (None, Some("integer" | "number")) => format!("add `{name} = …`, a number"),
                    _ => format!("add `{name} = \"…\"`"),
                };
                self.problems.at(span.clone(), name, what, hint);
            }
        }
    }

    /// The alternatives of a schema, references followed.
    fn choices(&self, schema: &'a Value) -> Vec<&'a Value> {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
            return self.choices(&self.root["$defs"][name]);
        }
        match schema["anyOf"].as_array() {
            Some(choices) => choices.iter().flat_map(|choice| self.choices(choice)).collect(),
            None => vec![schema],
        }
    }

    fn length(
        &mut self,
        length: usize,
        schema: &Value,
        [min, max]: [&str; 2],
        unit: &str,
        span: Range<usize>,
        place: &ValuePosition,
    ) {
        let bound = |name: &str| schema[name].as_u64().and_then(|bound| usize::try_from(bound).ok());
        if bound(min).is_some_and(|min| length < min) {
            let what = format!("{} is empty", place.subject());
            self.problems.at(
                span,
                &place.key,
                what,
                "write something, or leave the key out if it is optional",
            );
        } else if let Some(max) = bound(max).filter(|max| length > *max) {
            let what = format!("{} has {length} {unit}; at most {max} are allowed", place.subject());
            self.problems.at(span, &place.key, what, "");
        }
    }

    fn range(&mut self, number: f64, schema: &Value, hint: &str, span: Range<usize>, place: &ValuePosition) {
        let min = schema["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY);
        let max = schema["maximum"].as_f64().unwrap_or(f64::INFINITY);
        // Written so that NaN is refused as well.
        let within = number >= min && number <= max && number.is_finite();
        if !within {
            let bounds = match (min.is_finite(), max.is_finite()) {
                (true, true) if min == max => format!("it can only be {min}"),
                (true, true) => format!("it must be from {min} to {max}"),
                (true, false) => format!("it must be at least {min}"),
                _ => "it is too large or no number".to_owned(),
            };
            let what = format!("{} is out of bounds; {bounds}", place.subject());
            self.problems.at(span, &place.key, what, hint);
        }
    }
}

/// The JSON type of a TOML value. Dates have none.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "string",
        DeValue::Integer(_) => "integer",
        DeValue::Float(_) => "number",
        DeValue::Boolean(_) => "boolean",
        DeValue::Datetime(_) => "date",
        DeValue::Array(_) => "array",
        DeValue::Table(_) => "object",
    }
}

/// Whether a schema takes values of this JSON type.
fn allows(schema: &Value, kind: &str) -> bool {
    let one = |name: &Value| name == kind || (kind == "integer" && name == "number");
    match &schema["type"] {
        Value::Array(names) => names.iter().any(one),
        // A list of words carries its type in the words.
        Value::Null => kind == "string" && !words(schema).is_empty(),
        name => one(name),
    }
}

/// A JSON type in words for people.
fn said(kind: &str) -> &'static str {
    match kind {
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a table",
        _ => "a date",
    }
}

/// "a, b or c".
fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The values that a schema accepts, in words; none for `null`, which TOML does not have.
fn wanted(schema: &Value) -> Option<&'static str> {
    let name = match &schema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null")?,
        Value::String(name) if name != "null" => name,
        Value::String(_) => return None,
        _ => "string",
    };
    Some(said(name))
}

/// The words that a text may be, if only some are allowed.
fn words(schema: &Value) -> Vec<&str> {
    let listed = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let described = schema["oneOf"].as_array().into_iter().flatten().filter_map(|one| one["const"].as_str());
    listed.chain(described).collect()
}
