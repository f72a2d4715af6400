//! A setting as people write it: a value, or changes to the list that a policy has already.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::SettingValue;

/// What a file or command gives for a setting.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum GivenSetting {
    /// This value.
    Value(SettingValue),
    /// The list that is there otherwise, with these changes.
    Edit(ListEdit),
}

/// Changes to a list of texts. What is not named stays, so that a later version of the policy brings its own entries along.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListEdit {
    /// Entries to add at the end; one that is there already stays where it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<String>,
    /// Entries to take out, as they are written in the list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// Entries that a farther layer added: to take one of them out is no slip.
    #[serde(skip)]
    added_before: Vec<String>,
}

impl GivenSetting {
    /// The result of laying a closer layer over this: a value replaces it, an edit changes the list or the edit here. `None` if
    /// an edit meets a value that is not a list: then the two are incompatible.
    #[must_use]
    pub fn under(&self, closer: &GivenSetting) -> Option<GivenSetting> {
        match (self, closer) {
            (_, GivenSetting::Value(_)) => Some(closer.clone()),
            (GivenSetting::Value(SettingValue::Texts(list)), GivenSetting::Edit(edit)) => {
                Some(GivenSetting::Value(SettingValue::Texts(edit.apply(list))))
            }
            (GivenSetting::Edit(first), GivenSetting::Edit(then)) => {
                Some(GivenSetting::Edit(first.then(then)))
            }
            (GivenSetting::Value(_), GivenSetting::Edit(_)) => None,
        }
    }
}

/// Lays settings of a closer layer over these. An edit of a value that is not a list replaces it, and is refused with the
/// policy that has the setting.
pub fn lay_over(settings: &mut BTreeMap<String, GivenSetting>, closer: &BTreeMap<String, GivenSetting>) {
    for (key, given) in closer {
        let under = settings.get(key).and_then(|farther| farther.under(given));
        settings.insert(key.clone(), under.unwrap_or_else(|| given.clone()));
    }
}

impl ListEdit {
    /// Entries to add, and entries to take out.
    pub fn new(add: Vec<String>, remove: Vec<String>) -> Self {
        Self { add, remove, added_before: Vec::new() }
    }

    /// The list with these changes.
    #[must_use]
    pub fn apply(&self, list: &[String]) -> Vec<String> {
        let mut edited: Vec<String> =
            list.iter().filter(|entry| !self.remove.contains(entry)).cloned().collect();
        for entry in &self.add {
            if !edited.contains(entry) {
                edited.push(entry.clone());
            }
        }
        edited
    }

    /// Entries to take out that are neither in the list nor added to it.
    pub fn missing<'e>(&'e self, list: &[String]) -> impl Iterator<Item = &'e String> {
        self.remove.iter().filter(move |entry| !list.contains(entry) && !self.added_before.contains(entry))
    }

    /// One edit with the effect of this one and then a closer one.
    fn then(&self, closer: &ListEdit) -> ListEdit {
        let mut then = self.clone();
        then.added_before.extend(self.add.iter().cloned());
        then.add.retain(|entry| !closer.remove.contains(entry));
        then.add.extend(closer.add.iter().cloned());
        then.remove.extend(closer.remove.iter().cloned());
        then
    }
}

impl From<SettingValue> for GivenSetting {
    fn from(value: SettingValue) -> Self {
        Self::Value(value)
    }
}

/// By hand, so that a wrong key of an edit is named.
impl<'de> Deserialize<'de> for GivenSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SettingVisitor)
    }
}

struct SettingVisitor;

impl<'de> Visitor<'de> for SettingVisitor {
    type Value = GivenSetting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true or false, a number, a text, a list of texts, or { add = [...], remove = [...] }")
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<GivenSetting, E> {
        Ok(SettingValue::Flag(flag).into())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<GivenSetting, E> {
        Ok(SettingValue::Integer(number).into())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<GivenSetting, E> {
        let whole = i64::try_from(number).map(SettingValue::Integer);
        Ok(whole.unwrap_or(SettingValue::Number(number as f64)).into())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<GivenSetting, E> {
        Ok(SettingValue::Number(number).into())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<GivenSetting, E> {
        Ok(SettingValue::Text(text.to_owned()).into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<GivenSetting, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(|texts| SettingValue::Texts(texts).into())
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<GivenSetting, A::Error> {
        let edit = ListEdit::deserialize(MapAccessDeserializer::new(table))?;
        if edit == ListEdit::default() {
            return Err(de::Error::custom("neither `add` nor `remove` has an entry"));
        }
        Ok(GivenSetting::Edit(edit))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(letters: &str) -> Vec<String> {
        letters.chars().map(String::from).collect()
    }

    fn edit(add: &str, remove: &str) -> ListEdit {
        ListEdit::new(list(add), list(remove))
    }

    fn read(text: &str) -> Result<GivenSetting, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_edit_keeps_what_it_does_not_name() {
        assert_eq!(edit("xb", "a").apply(&list("abc")), list("bcx"));
        assert_eq!(edit("", "az").missing(&list("abc")).collect::<Vec<_>>(), ["z"]);
        let both = edit("x", "").then(&edit("", "xz"));
        assert_eq!(both.missing(&list("abc")).collect::<Vec<_>>(), ["z"]);
    }

    #[test]
    fn a_closer_value_takes_the_place_and_a_closer_edit_changes_it() {
        let value = |letters| GivenSetting::Value(SettingValue::Texts(list(letters)));
        let number = GivenSetting::Value(SettingValue::Integer(1));
        let closer = GivenSetting::Edit(edit("x", "a"));
        assert_eq!(closer.under(&value("q")), Some(value("q")));
        assert_eq!(value("ab").under(&closer), Some(value("bx")));
        assert_eq!(number.under(&closer), None);
        assert_eq!(closer.under(&number), Some(number));
    }

    #[test]
    fn a_wrong_edit_is_named() {
        assert_eq!(read(r#"{"add": ["x"]}"#), Ok(GivenSetting::Edit(edit("x", ""))));
        let unknown = read(r#"{"ad": ["x"]}"#).unwrap_err();
        assert!(unknown.contains("unknown field `ad`, expected `add` or `remove`"), "{unknown}");
        assert!(read("{}").unwrap_err().contains("neither `add` nor `remove`"));
        let number = read("[1]").unwrap_err();
        assert!(number.contains("invalid type: integer `1`, expected a string"), "{number}");
        assert!(read("null").unwrap_err().contains("expected true or false, a number, a text"));
    }

    proptest! {
        #[test]
        fn two_edits_in_one_do_what_they_do_one_after_the_other(
            from in "[a-f]{0,6}", add in "[a-f]{0,3}", remove in "[a-f]{0,3}",
            closer_add in "[a-f]{0,3}", closer_remove in "[a-f]{0,3}",
        ) {
            let mut from = list(&from);
            from.sort();
            from.dedup();
            let (first, then) = (edit(&add, &remove), edit(&closer_add, &closer_remove));
            // The order may differ if one edit removes an entry that the other adds.
            let sorted = |mut list: Vec<String>| { list.sort(); list };
            prop_assert_eq!(sorted(first.then(&then).apply(&from)), sorted(then.apply(&first.apply(&from))));
        }

        #[test]
        fn what_is_written_is_read_again(add in "[a-f]{1,3}", remove in "[a-f]{0,3}") {
            let given = GivenSetting::Edit(edit(&add, &remove));
            let text = serde_json::to_string(&given).unwrap();
            prop_assert_eq!(read(&text), Ok(given));
        }
    }
}
