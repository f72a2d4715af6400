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

use crate::settings::{Problem, Setting};
use crate::types::SettingValue;

/// A misspelt key within this many edits of a real one gets a suggestion.
const SUGGESTION_DISTANCE: usize = 3;

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

/// Holds given values against a schema: every key of the schema once, in its order, defaults filled in.
///
/// A whole number is fine where a number is asked for, and becomes one.
///
/// # Errors
/// Every problem by key: an unknown key (with a suggestion), a key given twice, a wrong type, a value out of bounds or
/// not among the choices.
///
/// ```
/// use baton_sdk::{schema, types::SettingValue};
///
/// let schema = [schema::number("percent", 70.0, 1.0..=99.0, "Compact from this occupancy.")];
/// let values = schema::validate(&schema, vec![("percent".into(), SettingValue::Integer(60))]);
/// assert_eq!(values, Ok(vec![("percent".into(), SettingValue::Number(60.0))]));
///
/// let problems = schema::validate(&schema, vec![("percnt".into(), SettingValue::Integer(60))]).unwrap_err();
/// assert_eq!(problems[0].message, "there is no such setting; did you mean `percent`?");
/// ```
pub fn validate(
    schema: &[Setting],
    given: Vec<(String, SettingValue)>,
) -> Result<Vec<(String, SettingValue)>, Vec<Problem>> {
    let mut values: Vec<Option<SettingValue>> = schema.iter().map(|_| None).collect();
    let mut problems = Vec::new();
    for (key, value) in given {
        let Some(place) = schema.iter().position(|setting| setting.key == key) else {
            problems.push(Problem { message: unknown(schema, &key), key });
            continue;
        };
        match canonical(&schema[place], value) {
            Err(message) => problems.push(Problem { key, message }),
            Ok(_) if values[place].is_some() => {
                problems.push(Problem { key, message: "is given twice".into() })
            }
            Ok(value) => values[place] = Some(value),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let value = |(setting, value): (&Setting, Option<SettingValue>)| {
        (setting.key.clone(), value.unwrap_or_else(|| setting.default.clone()))
    };
    Ok(schema.iter().zip(values).map(value).collect())
}

fn unknown(schema: &[Setting], key: &str) -> String {
    let distance = |setting: &&Setting| strsim::levenshtein(&setting.key, key);
    match schema.iter().min_by_key(distance).filter(|nearest| distance(nearest) <= SUGGESTION_DISTANCE) {
        Some(nearest) => format!("there is no such setting; did you mean `{}`?", nearest.key),
        None => "there is no such setting; `baton policy inspect` lists them".into(),
    }
}

fn canonical(setting: &Setting, value: SettingValue) -> Result<SettingValue, String> {
    let value = match (&setting.default, value) {
        (SettingValue::Number(_), SettingValue::Integer(whole)) => SettingValue::Number(whole as f64),
        (_, value) => value,
    };
    if kind(&value) != kind(&setting.default) {
        return Err(format!("must be {}, not {}", kind(&setting.default), kind(&value)));
    }
    let size = match &value {
        SettingValue::Integer(whole) => Some(*whole as f64),
        SettingValue::Number(number) if !number.is_finite() => return Err("must be a finite number".into()),
        SettingValue::Number(number) => Some(*number),
        _ => None,
    };
    if let Some(size) = size {
        if let Some(minimum) = setting.minimum.filter(|minimum| size < *minimum) {
            return Err(format!("must be at least {}, not {}", plain(minimum), plain(size)));
        }
        if let Some(maximum) = setting.maximum.filter(|maximum| size > *maximum) {
            return Err(format!("must be at most {}, not {}", plain(maximum), plain(size)));
        }
    }
    match &value {
        SettingValue::Text(text) if !setting.choices.is_empty() && !setting.choices.contains(text) => {
            Err(format!("must be one of {}, not `{text}`", setting.choices.join(", ")))
        }
        _ => Ok(value),
    }
}

/// A number to two places, by hand: the standard formatting of fractions would be a tenth of a small component.
fn plain(number: f64) -> String {
    let hundredths = (number.abs() * 100.0 + 0.5) as u64;
    let sign = if number < 0.0 && hundredths > 0 { "-" } else { "" };
    match (hundredths / 100, hundredths % 100) {
        (whole, 0) => format!("{sign}{whole}"),
        (whole, part) => format!("{sign}{whole}.{part:02}"),
    }
}

fn kind(value: &SettingValue) -> &'static str {
    match value {
        SettingValue::Flag(_) => "true or false",
        SettingValue::Integer(_) => "a whole number",
        SettingValue::Number(_) => "a number",
        SettingValue::Text(_) => "a text",
        SettingValue::Texts(_) => "a list of texts",
    }
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

    fn problem(key: &str, value: SettingValue) -> String {
        let problems = validate(&schema(), vec![(key.into(), value)]).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].key, key);
        problems[0].message.clone()
    }

    #[test]
    fn defaults_are_filled_in_and_whole_numbers_accepted_for_numbers() {
        let given =
            vec![("percent".into(), SettingValue::Integer(60)), ("loud".into(), SettingValue::Flag(true))];
        let values = validate(&schema(), given).unwrap();
        let keys: Vec<&str> = values.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["loud", "turns", "percent", "priority", "phrases"]);
        assert_eq!(values[0].1, SettingValue::Flag(true));
        assert_eq!(values[1].1, SettingValue::Integer(3));
        assert_eq!(values[2].1, SettingValue::Number(60.0));
    }

    #[test]
    fn what_is_wrong_is_said_by_key() {
        assert!(problem("percnt", SettingValue::Integer(1)).contains("did you mean `percent`?"));
        assert!(problem("colour", SettingValue::Integer(1)).contains("no such setting"));
        assert_eq!(problem("turns", SettingValue::Number(2.0)), "must be a whole number, not a number");
        assert_eq!(problem("turns", SettingValue::Integer(10)), "must be at most 9, not 10");
        assert_eq!(problem("percent", SettingValue::Number(-1.0)), "must be at least 0, not -1");
        assert_eq!(problem("percent", SettingValue::Number(100.25)), "must be at most 100, not 100.25");
        assert_eq!(problem("percent", SettingValue::Number(f64::NAN)), "must be a finite number");
        let priority = problem("priority", SettingValue::Text("tokens".into()));
        assert_eq!(priority, "must be one of quality, time, not `tokens`");
        assert_eq!(problem("phrases", SettingValue::Text("a".into())), "must be a list of texts, not a text");
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let given = vec![
            ("loud".into(), SettingValue::Flag(true)),
            ("loud".into(), SettingValue::Flag(true)),
            ("turns".into(), SettingValue::Integer(0)),
        ];
        assert_eq!(validate(&schema(), given).unwrap_err().len(), 2);
    }
}
