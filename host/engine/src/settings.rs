//! Settings of a policy: a component's own schema, and the user's values in canonical form, checked against types, bounds and
//! choices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use baton_core::Digest;
use baton_core::decision::Fault;
use baton_core::workflow::{GivenSetting, ListEdit, SettingValue};
use serde::{Deserialize, Serialize};
use wasmtime::component::ComponentExportIndex;

use crate::bindings::settings as wit;
use crate::built_in::wrong_settings;
use crate::convert;
use crate::imports::type_name;
use crate::instance::Instance;
use crate::limits::{ANSWER_ITEMS, REASON_BYTES};
use crate::load::CompiledPolicy;
use crate::patterns::PreparedSettings;
use crate::router::{BUILTIN_NAME, RouterError, builtin_bytes};
use crate::sanitize;

/// Something that can be set, as the component declares it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingSpec {
    /// Its key.
    pub key: String,
    /// What it does, with its unit.
    pub doc: String,
    /// The default value; its type is the type of the setting.
    pub default: SettingValue,
    /// Least value of a number.
    pub minimum: Option<f64>,
    /// Greatest value of a number.
    pub maximum: Option<f64>,
    /// The values a text may have; empty for any.
    pub choices: Vec<String>,
}

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingProblem {
    /// The key as given, even if no such setting exists.
    pub key: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// The settings were not taken.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Some of them are wrong.
    #[error("policy {policy}: {}", in_words(problems))]
    Refused {
        /// Whose settings.
        policy: String,
        /// What is wrong, by key.
        problems: Vec<SettingProblem>,
    },
    /// The component failed to return its schema.
    #[error("policy {policy}: its settings could not be checked: it {fault}")]
    Faulted {
        /// Whose settings.
        policy: String,
        /// How it failed.
        fault: Fault,
    },
}

impl SettingsError {
    /// The problems, by key; empty if the component itself failed.
    pub fn problems(&self) -> &[SettingProblem] {
        match self {
            SettingsError::Refused { problems, .. } => problems,
            SettingsError::Faulted { .. } => &[],
        }
    }
}

fn in_words(problems: &[SettingProblem]) -> String {
    let words: Vec<_> = problems.iter().map(|p| format!("setting `{}`: {}", p.key, p.message)).collect();
    words.join("; ")
}

/// A policy with its canonical settings, ready to be asked. Cheap to clone.
#[derive(Clone)]
pub struct ConfiguredPolicy {
    pub(crate) policy: CompiledPolicy,
    pub(crate) settings: Arc<PreparedSettings>,
    /// Who answers a layer that is asked by itself, outside of a router's chain.
    pub(crate) next: Arc<[ConfiguredPolicy]>,
}

impl ConfiguredPolicy {
    /// The same policy before these. A layer asks them in turn when it is evaluated by itself ([`ConfiguredPolicy::evaluate`]);
    /// a [`Router`](crate::Router) uses its configured chain instead.
    #[must_use]
    pub fn over(mut self, next: Vec<ConfiguredPolicy>) -> Self {
        self.next = next.into();
        self
    }

    /// The same policy before the built-in one with its defaults, if it is a layer. For use without a configured chain.
    ///
    /// # Errors
    /// Those of loading the built-in policy.
    pub fn over_built_in(self) -> Result<Self, RouterError> {
        if self.policy.asks_next().is_empty() {
            return Ok(self);
        }
        let built_in =
            self.policy.0.engine.load(BUILTIN_NAME, builtin_bytes())?.configure(&BTreeMap::new())?;
        Ok(self.over(vec![built_in]))
    }

    /// The policy.
    pub fn policy(&self) -> &CompiledPolicy {
        &self.policy
    }

    /// Every setting of the schema, defaults filled in.
    pub fn settings(&self) -> &BTreeMap<String, SettingValue> {
        &self.settings.values
    }

    /// Digest of the canonical settings.
    pub fn settings_digest(&self) -> &Digest {
        &self.settings.digest
    }

    /// Whether both give the same answers: same component, same settings.
    pub(crate) fn same_as(&self, other: &ConfiguredPolicy) -> bool {
        self.policy.digest() == other.policy.digest() && self.settings_digest() == other.settings_digest()
    }
}

/// Reads the settings schema of a component.
pub(crate) fn schema(
    instance: &mut Instance<'_>,
    function: &ComponentExportIndex,
) -> Result<Vec<SettingSpec>, Fault> {
    let schema: Vec<wit::Setting> = instance.call(function, ())?;
    let schema: Vec<SettingSpec> = schema.into_iter().map(convert::setting).collect();
    check_schema(&schema)?;
    Ok(schema)
}

/// Bytes of a setting's key: a few words.
const KEY_BYTES: usize = 64;

/// Checks that the schema can be shown, and that its settings have distinct keys.
fn check_schema(schema: &[SettingSpec]) -> Result<(), Fault> {
    let invalid = |message| Err(Fault::Invalid { message });
    if schema.len() > ANSWER_ITEMS {
        return invalid(format!("its schema has {} settings, at most {ANSWER_ITEMS} are read", schema.len()));
    }
    let mut keys = BTreeSet::new();
    for setting @ SettingSpec { key, doc, choices, .. } in schema {
        if key.is_empty() || key.len() > KEY_BYTES || key.contains(char::is_control) {
            let shown = sanitize::line(key, KEY_BYTES);
            return invalid(format!(
                "one of its settings is called {shown:?}; a key has 1 to {KEY_BYTES} bytes on one line"
            ));
        }
        if !keys.insert(key) {
            return invalid(format!("two of its settings are called {key:?}"));
        }
        if choices.len() > ANSWER_ITEMS {
            return invalid(format!(
                "its setting {key:?} has {} choices, at most {ANSWER_ITEMS}",
                choices.len()
            ));
        }
        match fit(setting, &setting.default) {
            Ok(value) if value == setting.default => {}
            Ok(_) => return invalid(format!("the default of its setting {key:?} has another type")),
            Err(message) => {
                return invalid(format!("the default of its setting {key:?} does not fit: {message}"));
            }
        }
        if choices.iter().chain([doc]).any(|text| text.len() > REASON_BYTES) {
            return Err(Fault::TooLarge { limit_bytes: REASON_BYTES as u64 });
        }
    }
    Ok(())
}

impl CompiledPolicy {
    /// Makes the settings canonical, and prepares the policy to be asked. No given setting is ignored: an unknown key is a
    /// problem like any other.
    pub fn configure(
        &self,
        given: &BTreeMap<String, GivenSetting>,
    ) -> Result<ConfiguredPolicy, SettingsError> {
        let values = self.canonical(given)?;
        let mut last = self.0.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = match last.as_ref().filter(|last| last.values == values) {
            Some(same) => Arc::clone(same),
            None => {
                let prepared = PreparedSettings::new(values).map_err(|(key, error)| {
                    self.refused(vec![SettingProblem { key, message: error.to_string() }])
                })?;
                Arc::clone(last.insert(Arc::new(prepared)))
            }
        };
        Ok(ConfiguredPolicy { policy: self.clone(), settings, next: Arc::default() })
    }

    /// Checks that it has a setting of this key for a value of this kind; the bounds are checked when it is configured.
    ///
    /// # Errors
    /// Why it does not accept the setting. If the policy fails to return its schema, the check passes, since configuring it
    /// reports the failure.
    pub fn takes(&self, key: &str, given: &GivenSetting) -> Result<(), String> {
        let Ok(schema) = self.schema() else { return Ok(()) };
        let setting = schema.iter().find(|setting| setting.key == key).ok_or_else(|| unknown(schema, key))?;
        match given {
            GivenSetting::Value(value) => converted(setting, value).map(|_| ()),
            GivenSetting::Edit(_) => edits(setting).map(|_| ()),
        }
    }

    fn refused(&self, problems: Vec<SettingProblem>) -> SettingsError {
        SettingsError::Refused { policy: self.name().to_owned(), problems }
    }

    fn canonical(
        &self,
        given: &BTreeMap<String, GivenSetting>,
    ) -> Result<BTreeMap<String, SettingValue>, SettingsError> {
        let faulted = |fault| SettingsError::Faulted { policy: self.name().to_owned(), fault };
        let schema = self.schema().map_err(faulted)?;
        let (given, problems) = check_given(schema, given);
        if !problems.is_empty() {
            return Err(self.refused(problems));
        }
        let value = |setting: &SettingSpec| given.get(&setting.key).unwrap_or(&setting.default).clone();
        let values = schema.iter().map(|setting| (setting.key.clone(), value(setting))).collect();
        let problems = wrong_settings(self.digest(), &values);
        if problems.is_empty() { Ok(values) } else { Err(self.refused(problems)) }
    }
}

/// Converts the given values to the types of the schema, and reports those that do not fit.
fn check_given(
    schema: &[SettingSpec],
    given: &BTreeMap<String, GivenSetting>,
) -> (BTreeMap<String, SettingValue>, Vec<SettingProblem>) {
    let (mut fitting, mut problems) = (BTreeMap::new(), Vec::new());
    for (key, value) in given {
        let checked = match schema.iter().find(|setting| setting.key == *key) {
            Some(setting) => match value {
                GivenSetting::Value(value) => fit(setting, value),
                GivenSetting::Edit(edit) => edited(setting, edit),
            },
            None => Err(unknown(schema, key)),
        };
        match checked {
            Ok(value) => {
                fitting.insert(key.clone(), value);
            }
            Err(message) => problems.push(SettingProblem { key: key.clone(), message }),
        }
    }
    (fitting, problems)
}

/// Two letters wrong are a slip, three are another word.
const SLIP: usize = 2;

fn unknown(schema: &[SettingSpec], key: &str) -> String {
    let distance = |setting: &&SettingSpec| strsim::damerau_levenshtein(&setting.key, key);
    match schema.iter().min_by_key(distance) {
        None => "there is no such setting: this policy has none".to_owned(),
        Some(nearest) if distance(&nearest) <= SLIP => {
            format!("there is no such setting; did you mean `{}`?", nearest.key)
        }
        Some(_) => {
            let all = format!("`baton policy inspect` lists all {}", schema.len());
            match near(schema, key).as_slice() {
                [] => format!("there is no such setting; {all}"),
                near => format!("there is no such setting; the nearest is {}; {all}", near.join(" or ")),
            }
        }
    }
}

/// Names that the user may have meant by an unknown key, the most similar first.
fn near(schema: &[SettingSpec], key: &str) -> Vec<String> {
    /// Below this two names have hardly a letter in common.
    const ALIKE: f64 = 0.7;
    /// Maximum number of suggestions.
    const SUGGESTED: usize = 3;
    let key = key.replace('_', "-");
    let mut alike: Vec<(f64, &str)> = schema
        .iter()
        .map(|setting| (strsim::jaro_winkler(&setting.key, &key), setting.key.as_str()))
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    alike.into_iter().take(SUGGESTED).map(|(_, name)| format!("`{name}`")).collect()
}

/// The default list with these changes.
fn edited(setting: &SettingSpec, edit: &ListEdit) -> Result<SettingValue, String> {
    let list = edits(setting)?;
    match edit.missing(list).next() {
        None => Ok(SettingValue::Texts(edit.apply(list))),
        Some(missing) => {
            let likeness = |entry: &&String| strsim::damerau_levenshtein(entry, missing);
            let nearest = list.iter().min_by_key(likeness).map(|entry| format!("; the nearest is {entry:?}"));
            Err(format!(
                "{missing:?} is not in the list, so it cannot be taken out{}",
                nearest.unwrap_or_default()
            ))
        }
    }
}

/// The list that an edit changes.
fn edits(setting: &SettingSpec) -> Result<&Vec<String>, String> {
    match &setting.default {
        SettingValue::Texts(list) => Ok(list),
        other => Err(format!("{{ add, remove }} changes a list of texts, and this is {}", type_name(other))),
    }
}

/// The value in the type of the setting. A whole number is also a number; nothing else is converted.
fn converted(setting: &SettingSpec, value: &SettingValue) -> Result<SettingValue, String> {
    match (&setting.default, value) {
        (SettingValue::Number(_), SettingValue::Integer(whole)) => Ok(SettingValue::Number(*whole as f64)),
        (default, value) if std::mem::discriminant(default) == std::mem::discriminant(value) => {
            Ok(value.clone())
        }
        (default, value) => Err(format!("expected {}, got {}", type_name(default), type_name(value))),
    }
}

/// The value in the type of the setting, within its bounds.
fn fit(setting: &SettingSpec, value: &SettingValue) -> Result<SettingValue, String> {
    let value = converted(setting, value)?;
    match &value {
        SettingValue::Number(number) if !number.is_finite() => {
            return Err(format!("{number} is not a finite number"));
        }
        SettingValue::Number(number) => in_bounds(setting, *number)?,
        SettingValue::Integer(whole) => in_bounds(setting, *whole as f64)?,
        SettingValue::Text(text) if !setting.choices.is_empty() && !setting.choices.contains(text) => {
            return Err(format!("{text:?} is none of: {}", setting.choices.join(", ")));
        }
        SettingValue::Flag(_) | SettingValue::Text(_) | SettingValue::Texts(_) => {}
    }
    Ok(value)
}

fn in_bounds(setting: &SettingSpec, number: f64) -> Result<(), String> {
    match (setting.minimum, setting.maximum) {
        (Some(minimum), _) if number < minimum => Err(format!("{number} is less than {minimum}")),
        (_, Some(maximum)) if number > maximum => Err(format!("{number} is more than {maximum}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Vec<SettingSpec> {
        let setting = |key: &str, default| SettingSpec {
            key: key.to_owned(),
            doc: String::new(),
            default,
            minimum: None,
            maximum: None,
            choices: Vec::new(),
        };
        vec![
            SettingSpec {
                minimum: Some(1.0),
                maximum: Some(100.0),
                ..setting("compact-percent", SettingValue::Number(70.0))
            },
            SettingSpec { maximum: Some(9.0), ..setting("retries", SettingValue::Integer(3)) },
            SettingSpec {
                choices: vec!["quality".to_owned(), "time".to_owned()],
                ..setting("priority", SettingValue::Text("quality".to_owned()))
            },
            setting("phrases", SettingValue::Texts(vec!["out of context".to_owned(), "TODO".to_owned()])),
        ]
    }

    fn problem(key: &str, value: impl Into<GivenSetting>) -> String {
        let (_, problems) = check_given(&schema(), &BTreeMap::from([(key.to_owned(), value.into())]));
        let [SettingProblem { key: named, message }] = problems.as_slice() else { panic!("{problems:?}") };
        assert_eq!(named, key);
        message.clone()
    }

    // Bad input: settings of the wrong type.
    #[test]
    fn every_problem_names_its_key_and_what_would_be_right() {
        assert_eq!(problem("retries", SettingValue::Text("3".into())), "expected an integer, got a text");
        assert_eq!(problem("retries", SettingValue::Number(3.0)), "expected an integer, got a number");
        assert_eq!(problem("retries", SettingValue::Integer(10)), "10 is more than 9");
        assert_eq!(problem("compact-percent", SettingValue::Integer(0)), "0 is less than 1");
        assert_eq!(problem("compact-percent", SettingValue::Number(f64::NAN)), "NaN is not a finite number");
        assert_eq!(
            problem("priority", SettingValue::Text("tokens".into())),
            "\"tokens\" is none of: quality, time"
        );
        assert_eq!(
            problem("phrases", SettingValue::Text("x".into())),
            "expected a list of texts, got a text"
        );
        assert_eq!(
            problem("retrys", SettingValue::Integer(1)),
            "there is no such setting; did you mean `retries`?"
        );
        assert_eq!(
            problem("colour", SettingValue::Integer(1)),
            "there is no such setting; `baton policy inspect` lists all 4"
        );
        assert_eq!(
            problem("compact_at", SettingValue::Integer(1)),
            "there is no such setting; the nearest is `compact-percent`; `baton policy inspect` lists all 4"
        );
    }

    fn edit(add: &str, remove: &str) -> GivenSetting {
        let list = |entry: &str| if entry.is_empty() { Vec::new() } else { vec![entry.to_owned()] };
        GivenSetting::Edit(ListEdit::new(list(add), list(remove)))
    }

    #[test]
    fn a_list_is_edited_from_its_default() {
        let given = BTreeMap::from([("phrases".to_owned(), edit("kontext voll", "TODO"))]);
        let (fitting, problems) = check_given(&schema(), &given);
        assert_eq!(problems, []);
        let edited = ["out of context", "kontext voll"].map(str::to_owned).to_vec();
        assert_eq!(fitting["phrases"], SettingValue::Texts(edited));
        assert_eq!(
            problem("phrases", edit("", "TOD0")),
            "\"TOD0\" is not in the list, so it cannot be taken out; the nearest is \"TODO\""
        );
        assert_eq!(
            problem("retries", edit("x", "")),
            "{ add, remove } changes a list of texts, and this is an integer"
        );
    }

    #[test]
    fn a_whole_number_is_a_number() {
        let given = BTreeMap::from([("compact-percent".to_owned(), SettingValue::Integer(80).into())]);
        assert_eq!(check_given(&schema(), &given).0["compact-percent"], SettingValue::Number(80.0));
    }

    #[test]
    fn a_default_has_to_fit_its_own_setting() {
        assert_eq!(check_schema(&schema()), Ok(()));
        let with = |default, maximum| {
            let setting = |known: &SettingSpec| SettingSpec { maximum, default, ..known.clone() };
            check_schema(&[setting(&schema()[1])]).map_err(|fault| fault.to_string())
        };
        let beyond = with(SettingValue::Integer(10), Some(9.0)).unwrap_err();
        assert!(
            beyond.contains("the default of its setting \"retries\" does not fit: 10 is more than 9"),
            "{beyond}"
        );
        let infinite = with(SettingValue::Number(f64::INFINITY), None).unwrap_err();
        assert!(infinite.contains("inf is not a finite number"), "{infinite}");
    }
}
