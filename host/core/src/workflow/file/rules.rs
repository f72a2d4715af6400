//! A file of rules, `rules:house.toml`: the settings of the policy `rules`. Opens no file itself.

use std::collections::BTreeMap;

use super::diagnostic::{Diagnostics, WorkflowError};
use super::parse_document;
use super::schema::{LocatedValue, RulesSchema};
use crate::workflow::rules::{InvalidRuleEntry, wrong_entries};
use crate::workflow::{GivenSetting, SettingValue};

/// Reads and checks a file of rules. `origin` is its name in messages.
///
/// # Errors
/// [`WorkflowError`] lists the mistakes, each with line, column, key and correction. A file without a rule is a mistake too.
pub fn rules_file(text: &str, origin: &str) -> Result<BTreeMap<String, GivenSetting>, WorkflowError> {
    let mut problems = Diagnostics::new(origin, text);
    let shape: RulesSchema = parse_document(text, "a file of rules", &rules_schema(), &mut problems)?;
    let mut rules: BTreeMap<String, GivenSetting> = BTreeMap::new();
    for (key, entries) in shape.lists().into_iter().filter(|(_, entries)| !entries.is_empty()) {
        let texts: Vec<&str> = entries.iter().map(|entry| entry.get().as_str()).collect();
        for InvalidRuleEntry { at, what, hint } in wrong_entries(key, &texts) {
            problems.at(entries[at].span(), key, format!("`{key}`: {what}"), hint);
        }
        let texts = entries.iter().map(LocatedValue::get).cloned().collect();
        rules.insert(key.to_owned(), SettingValue::Texts(texts).into());
    }
    let others = [
        ("after-failed", shape.after_failed.map(SettingValue::Text)),
        ("compact-instructions", shape.compact_instructions.map(SettingValue::Text)),
        ("objectives-at-most", shape.objectives_at_most.map(|most| SettingValue::Integer(most.into()))),
    ];
    let others = others.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
    rules.extend(others);
    if rules.is_empty() {
        let hint = "`baton policy inspect builtin:rules` lists what rules there are";
        problems.add(0, "", "the file has no rule".to_owned(), hint.to_owned());
    }
    problems.done()?;
    Ok(rules)
}

/// The JSON Schema of a file of rules.
pub fn rules_schema() -> serde_json::Value {
    schemars::schema_for!(RulesSchema).to_value()
}
