//! How an answer of `baton stats` looks: a sentence, and the numbers below it. Computes nothing.

use serde_json::{Map, Value, json};

use super::json_record;

/// The computed values, in words and in numbers.
pub(crate) struct StatsAnswer {
    record: &'static str,
    sentence: String,
    fields: Vec<(&'static str, Value)>,
}

impl StatsAnswer {
    /// `record` names the shape for programs.
    pub(crate) fn new(record: &'static str, sentence: String) -> StatsAnswer {
        StatsAnswer { record, sentence, fields: Vec::new() }
    }

    /// Adds a number. What is not known is left out.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl serde::Serialize) -> StatsAnswer {
        let value = json!(value);
        if !value.is_null() {
            self.fields.push((name, value));
        }
        self
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let width = self.fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut text = format!("{}\n", self.sentence);
        for (name, value) in &self.fields {
            text.push_str(&format!("  {:width$}  {}\n", name.replace('_', " "), shown(value)));
        }
        text
    }

    /// For programs: every digit.
    pub(crate) fn json(&self) -> Value {
        let mut map = Map::new();
        map.insert("schema".to_owned(), json_record::SCHEMA.into());
        map.insert("record".to_owned(), self.record.into());
        map.insert("says".to_owned(), self.sentence.clone().into());
        map.extend(self.fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        Value::Object(map)
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::String(text) => text.clone(),
        value => match (value.as_u64(), value.as_f64()) {
            (Some(whole), _) => whole.to_string(),
            (None, Some(number)) => self::number(number),
            (None, None) => value.to_string(),
        },
    }
}

/// Six digits: "0.0619118", "4.65489e-5", "39905.9".
pub(crate) fn number(number: f64) -> String {
    const DIGITS: i32 = 6;
    if number == 0.0 {
        return "0".to_owned();
    }
    let magnitude = number.abs().log10().floor() as i32;
    if !(-4..DIGITS + 3).contains(&magnitude) {
        let text = format!("{number:.5e}");
        return match text.split_once('e') {
            Some((digits, power)) if digits.contains('.') => {
                format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
            }
            _ => text,
        };
    }
    let places = usize::try_from(DIGITS - 1 - magnitude).unwrap_or(0);
    let text = format!("{number:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits() {
        let shown =
            [0.5, 0.06191182745, 4.65489376e-5, 39905.867, -0.0352600, 1e-300, 1234567.8, 2.0, 63.77, 1e12];
        let shown: Vec<String> = shown.into_iter().map(number).collect();
        let right = [
            "0.5",
            "0.0619118",
            "4.65489e-5",
            "39905.9",
            "-0.03526",
            "1e-300",
            "1234568",
            "2",
            "63.77",
            "1e12",
        ];
        assert_eq!(shown, right);
    }
}
