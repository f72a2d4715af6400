//! Settings: short builders for a schema, and the whole validation of given values against it.
//! Nothing here reads a setting at run time; [`Host`](crate::Host) does.
//!
//! ```
//! use baton_sdk::prelude::*;
//!
//! struct MySplit;
//!
//! impl Settings for MySplit {
//!     fn schema() -> Vec<settings::Setting> {
//!         vec![
//!             schema::integer("objectives-at-most", 4, 1..=100, "Split a phase that has more open objectives."),
//!             schema::choice("priority", "quality", &["quality", "time"], "What matters more."),
//!         ]
//!     }
//! }
//! assert_eq!(MySplit::schema().len(), 2);
//! ```

use std::ops::RangeInclusive;

use crate::settings::Setting;
use crate::types::SettingValue;

fn setting(key: &str, default: SettingValue, doc: &str) -> Setting {
    Setting { key: key.into(), doc: doc.into(), default, minimum: None, maximum: None, choices: Vec::new() }
}

/// A setting that is on or off.
///
/// ```
/// let loud = baton_sdk::schema::flag("loud", false, "Say more.");
/// assert_eq!(loud.default, baton_sdk::types::SettingValue::Flag(false));
/// ```
pub fn flag(key: &str, default: bool, doc: &str) -> Setting {
    setting(key, SettingValue::Flag(default), doc)
}

/// A whole number within bounds.
///
/// ```
/// let turns = baton_sdk::schema::integer("turns", 25, 1..=200, "Turns of a session.");
/// assert_eq!((turns.minimum, turns.maximum), (Some(1.0), Some(200.0)));
/// ```
pub fn integer(key: &str, default: i64, bounds: RangeInclusive<i64>, doc: &str) -> Setting {
    Setting {
        minimum: Some(*bounds.start() as f64),
        maximum: Some(*bounds.end() as f64),
        ..setting(key, SettingValue::Integer(default), doc)
    }
}

/// A number within bounds.
///
/// ```
/// let percent = baton_sdk::schema::number("percent", 70.0, 1.0..=99.0, "Compact from this occupancy.");
/// assert_eq!(percent.maximum, Some(99.0));
/// ```
pub fn number(key: &str, default: f64, bounds: RangeInclusive<f64>, doc: &str) -> Setting {
    Setting {
        minimum: Some(*bounds.start()),
        maximum: Some(*bounds.end()),
        ..setting(key, SettingValue::Number(default), doc)
    }
}

/// Any text.
///
/// ```
/// let rules = baton_sdk::schema::text("rules", "", "What every prompt ends with.");
/// assert!(rules.choices.is_empty());
/// ```
pub fn text(key: &str, default: &str, doc: &str) -> Setting {
    setting(key, SettingValue::Text(default.into()), doc)
}

/// One of some texts.
///
/// ```
/// let priority = baton_sdk::schema::choice("priority", "quality", &["quality", "time"], "What matters.");
/// assert_eq!(priority.choices, ["quality", "time"]);
/// ```
pub fn choice(key: &str, default: &str, choices: &[&str], doc: &str) -> Setting {
    Setting { choices: choices.iter().map(|&choice| choice.into()).collect(), ..text(key, default, doc) }
}

/// A list of texts.
///
/// ```
/// use baton_sdk::types::SettingValue;
///
/// let phrases = baton_sdk::schema::texts("phrases", &["too long"], "What an agent says.");
/// assert_eq!(phrases.default, SettingValue::Texts(vec!["too long".into()]));
/// ```
pub fn texts(key: &str, default: &[&str], doc: &str) -> Setting {
    setting(key, SettingValue::Texts(default.iter().map(|&entry| entry.into()).collect()), doc)
}

/// The values of a schema: every key once, in its order, as it was given, else the default. A whole number is fine where a number
/// is asked for, and becomes one. For tests: the host does the same, and holds the values to their bounds and choices as well.
///
/// # Errors
/// The first key that is not in the schema, or whose value has another type.
///
/// ```
/// use baton_sdk::{schema, types::SettingValue};
///
/// let schema = [schema::number("percent", 70.0, 1.0..=99.0, "Compact from this occupancy.")];
/// let values = schema::values(&schema, vec![("percent".into(), SettingValue::Integer(60))]);
/// assert_eq!(values, Ok(vec![("percent".into(), SettingValue::Number(60.0))]));
///
/// let problem = schema::values(&schema, vec![("percnt".into(), SettingValue::Integer(60))]);
/// assert_eq!(problem, Err("there is no setting `percnt`".into()));
/// ```
pub fn values(
    schema: &[Setting],
    given: Vec<(String, SettingValue)>,
) -> Result<Vec<(String, SettingValue)>, String> {
    let mut values: Vec<(String, SettingValue)> =
        schema.iter().map(|setting| (setting.key.clone(), setting.default.clone())).collect();
    for (key, value) in given {
        let Some((_, default)) = values.iter_mut().find(|(known, _)| *known == key) else {
            return Err(format!("there is no setting `{key}`"));
        };
        *default = match (&*default, value) {
            (SettingValue::Number(_), SettingValue::Integer(whole)) => SettingValue::Number(whole as f64),
            (default, value) if std::mem::discriminant(default) == std::mem::discriminant(&value) => value,
            (default, value) => return Err(format!("`{key}` is {value:?}, and its default {default:?}")),
        };
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Vec<Setting> {
        vec![
            flag("loud", false, ""),
            integer("turns", 3, 1..=9, ""),
            number("percent", 70.0, 0.0..=100.0, ""),
            choice("priority", "quality", &["quality", "time"], ""),
            texts("phrases", &["a"], ""),
        ]
    }

    #[test]
    fn defaults_are_filled_in_and_whole_numbers_accepted_for_numbers() {
        let given =
            vec![("percent".into(), SettingValue::Integer(60)), ("loud".into(), SettingValue::Flag(true))];
        let values = values(&schema(), given).unwrap();
        let keys: Vec<&str> = values.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["loud", "turns", "percent", "priority", "phrases"]);
        assert_eq!(values[0].1, SettingValue::Flag(true));
        assert_eq!(values[1].1, SettingValue::Integer(3));
        assert_eq!(values[2].1, SettingValue::Number(60.0));
    }

    #[test]
    fn another_key_and_another_type_are_told() {
        let problem = |key: &str, value| values(&schema(), vec![(key.into(), value)]).unwrap_err();
        assert_eq!(problem("percnt", SettingValue::Integer(1)), "there is no setting `percnt`");
        assert!(problem("turns", SettingValue::Number(2.0)).starts_with("`turns` is "));
    }
}
