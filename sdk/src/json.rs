//! Observations and decisions as JSON, in the very form in which the host keeps them: snake-case fields, kebab-case words. A
//! field that nobody knows is an error with its place. Native only; a component has no JSON.

pub(crate) mod records;

use serde_json::{Map, Value, json};

use crate::types::SettingValue;

/// What is wrong with a document, and where.
#[derive(Debug, PartialEq)]
pub(crate) struct Wrong {
    /// From the outside in; reversed while it is gathered.
    path: Vec<String>,
    what: String,
}

impl Wrong {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { path: Vec::new(), what: what.into() }
    }

    pub(crate) fn inside(mut self, step: impl Into<String>) -> Self {
        self.path.push(step.into());
        self
    }
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        match path.is_empty() {
            true => f.write_str(&self.what),
            false => write!(f, "{}: {}", path.join("."), self.what),
        }
    }
}

/// Something that stands in a document.
pub(crate) trait Json: Sized {
    fn read(value: Value) -> Result<Self, Wrong>;

    fn write(&self) -> Value;

    /// What it says that a field is not there; most fields have to be.
    fn absent() -> Option<Self> {
        None
    }
}

/// The fields of an object, taken one by one, so that what is left is what nobody knows.
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    pub(crate) fn of(value: Value) -> Result<Self, Wrong> {
        match value {
            Value::Object(fields) => Ok(Self(fields)),
            other => Err(Wrong::new(format!("expected an object, not {}", kind(&other)))),
        }
    }

    pub(crate) fn take<T: Json>(&mut self, name: &str) -> Result<T, Wrong> {
        match self.0.remove(name) {
            Some(value) => T::read(value).map_err(|wrong| wrong.inside(name)),
            None => T::absent().ok_or_else(|| Wrong::new("is missing").inside(name)),
        }
    }

    /// A field that the format did not have from the first, or that says nothing where it is not there.
    pub(crate) fn take_or_default<T: Json + Default>(&mut self, name: &str) -> Result<T, Wrong> {
        match self.0.contains_key(name) {
            true => self.take(name),
            false => Ok(T::default()),
        }
    }

    pub(crate) fn finish(self) -> Result<(), Wrong> {
        match self.0.into_iter().next() {
            None => Ok(()),
            Some((name, _)) => Err(Wrong::new("is unknown").inside(name)),
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

macro_rules! numbers {
    ($($type:ty),+) => {$(
        impl Json for $type {
            fn read(value: Value) -> Result<Self, Wrong> {
                let number = value.as_i64().and_then(|n| n.try_into().ok());
                let number = number.or_else(|| value.as_u64().and_then(|n| n.try_into().ok()));
                number.ok_or_else(|| Wrong::new(format!(
                    "expected a whole number from {} to {}, not {value}", Self::MIN, Self::MAX
                )))
            }

            fn write(&self) -> Value {
                json!(self)
            }
        }
    )+};
}

numbers!(u16, u32, u64, i32);

impl Json for bool {
    fn read(value: Value) -> Result<Self, Wrong> {
        value.as_bool().ok_or_else(|| Wrong::new(format!("expected true or false, not {}", kind(&value))))
    }

    fn write(&self) -> Value {
        json!(self)
    }
}

impl Json for String {
    fn read(value: Value) -> Result<Self, Wrong> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(Wrong::new(format!("expected a text, not {}", kind(&other)))),
        }
    }

    fn write(&self) -> Value {
        json!(self)
    }
}

impl<T: Json> Json for Option<T> {
    fn read(value: Value) -> Result<Self, Wrong> {
        match value {
            Value::Null => Ok(None),
            value => T::read(value).map(Some),
        }
    }

    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::write)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Json> Json for Vec<T> {
    fn read(value: Value) -> Result<Self, Wrong> {
        let Value::Array(items) = value else {
            return Err(Wrong::new(format!("expected a list, not {}", kind(&value))));
        };
        let read =
            |(place, item): (usize, Value)| T::read(item).map_err(|wrong| wrong.inside(place.to_string()));
        (0..).zip(items).map(read).collect()
    }

    fn write(&self) -> Value {
        self.iter().map(T::write).collect()
    }
}

/// As it stands.
impl Json for Value {
    fn read(value: Value) -> Result<Self, Wrong> {
        Ok(value)
    }

    fn write(&self) -> Value {
        self.clone()
    }
}

impl<A: Json, B: Json> Json for (A, B) {
    fn read(value: Value) -> Result<Self, Wrong> {
        match <[Value; 2]>::try_from(Vec::<Value>::read(value)?) {
            Ok([first, second]) => Ok((
                A::read(first).map_err(|wrong| wrong.inside("0"))?,
                B::read(second).map_err(|wrong| wrong.inside("1"))?,
            )),
            Err(other) => Err(Wrong::new(format!("expected two values, not {}", other.len()))),
        }
    }

    fn write(&self) -> Value {
        json!([self.0.write(), self.1.write()])
    }
}

impl Json for SettingValue {
    fn read(value: Value) -> Result<Self, Wrong> {
        match value {
            Value::Bool(flag) => Ok(SettingValue::Flag(flag)),
            Value::String(text) => Ok(SettingValue::Text(text)),
            Value::Array(_) => Vec::read(value).map(SettingValue::Texts),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => Ok(SettingValue::Integer(whole)),
                (None, Some(number)) => Ok(SettingValue::Number(number)),
                (None, None) => Err(Wrong::new(format!("{number} is too large"))),
            },
            Value::Null | Value::Object(_) => {
                Err(Wrong::new(format!("expected the value of a setting, not {}", kind(&value))))
            }
        }
    }

    fn write(&self) -> Value {
        match self {
            SettingValue::Flag(flag) => json!(flag),
            SettingValue::Integer(whole) => json!(whole),
            SettingValue::Number(number) => json!(number),
            SettingValue::Text(text) => json!(text),
            SettingValue::Texts(texts) => json!(texts),
        }
    }
}

/// Texts by name, or values by key.
impl<T: Json> Json for std::collections::BTreeMap<String, T> {
    fn read(value: Value) -> Result<Self, Wrong> {
        let entry = |(key, value): (String, Value)| match T::read(value) {
            Ok(value) => Ok((key, value)),
            Err(wrong) => Err(wrong.inside(key)),
        };
        Fields::of(value)?.0.into_iter().map(entry).collect()
    }

    fn write(&self) -> Value {
        Value::Object(self.iter().map(|(key, value)| (key.clone(), value.write())).collect())
    }
}
