//! The policies that are part of the host: each by its name, with its component. What stands behind every other is one of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use baton_core::Digest;
use baton_core::workflow::SettingValue;
use baton_core::workflow::rules::wrong_rules;

use crate::router::{BUILTIN_NAME, builtin_bytes};
use crate::settings::SettingProblem;

/// Abstains from everything that no rule in its settings speaks about.
const RULES_NAME: &str = "rules";
static RULES: &[u8] = include_bytes!("../../../policies/rules.wasm");
static RULES_DIGEST: LazyLock<Digest> = LazyLock::new(|| Digest::of(RULES));

/// Names of the policies that are part of the host; a workflow writes `builtin:` before them.
pub const BUILT_IN_NAMES: [&str; 2] = [BUILTIN_NAME, RULES_NAME];

/// The component of a policy that is part of the host.
pub fn built_in(name: &str) -> Option<&'static [u8]> {
    match name {
        BUILTIN_NAME => Some(builtin_bytes()),
        RULES_NAME => Some(RULES),
        _ => None,
    }
}

/// The name of a component from elsewhere, as it stands in sentences: letters, digits and `-_.+`, with a `-` for anything else. One that is called
/// as a policy of the host keeps the end of its file, so that its words are not taken for the host's.
pub fn external_policy_name(name: &str, bytes: &[u8]) -> String {
    let name: String =
        name.chars().map(|c| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '-' }).collect();
    match built_in(&name) {
        Some(own) if own != bytes => format!("{name}.wasm"),
        _ => name,
    }
}

/// Whether this is a component that is part of the host.
pub(crate) fn is_built_in(bytes: &[u8]) -> bool {
    BUILT_IN_NAMES.into_iter().any(|name| built_in(name) == Some(bytes))
}

/// What is wrong with settings that fit the schema of a component, where this host knows more of them than the schema says.
pub(crate) fn wrong_settings(
    component: &Digest,
    values: &BTreeMap<String, SettingValue>,
) -> Vec<SettingProblem> {
    if *component != *RULES_DIGEST {
        return Vec::new();
    }
    wrong_rules(values).into_iter().map(|(key, message)| SettingProblem { key, message }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use baton_core::workflow::file::rules_schema;

    use super::*;
    use crate::{Engine, EngineConfig};

    // M6: its words would be taken for Baton's.
    #[test]
    fn a_component_from_elsewhere_is_not_called_as_one_of_the_host() {
        assert_eq!(external_policy_name(BUILTIN_NAME, b"another"), "resilience.wasm");
        assert_eq!(external_policy_name(BUILTIN_NAME, builtin_bytes()), BUILTIN_NAME);
        assert_eq!(external_policy_name(RULES_NAME, b"another"), "rules.wasm");
        assert_eq!(external_policy_name("team+größe_1.2", b"another"), "team+größe_1.2");
        assert_eq!(external_policy_name("a says: \"x\"\nQuestion 4", b"another"), "a-says---x--Question-4");
        assert_eq!(external_policy_name("resilience\u{200b}", b"another"), "resilience-");
    }

    // M4
    #[test]
    fn a_file_of_rules_has_the_settings_of_the_component_and_their_entries_are_checked() {
        let engine = Engine::new(EngineConfig::default()).unwrap();
        let policy = engine.load(RULES_NAME, built_in(RULES_NAME).unwrap()).unwrap();
        let schema = rules_schema();
        let of_file: BTreeSet<&str> =
            schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let of_component: BTreeSet<&str> =
            policy.schema().unwrap().iter().map(|setting| setting.key.as_str()).collect();
        assert_eq!(of_file, of_component);
        for setting in policy.schema().unwrap().iter().filter(|setting| !setting.choices.is_empty()) {
            let words = &schema["properties"][&setting.key]["enum"];
            assert_eq!(*words, serde_json::json!(setting.choices), "{}", setting.key);
        }

        let given = |entry: &str| {
            let value = SettingValue::Texts(vec![entry.to_owned()]);
            policy.configure(&BTreeMap::from([("compact-percent".to_owned(), value.into())]))
        };
        assert!(given("claude = 75").is_ok());
        let refused = given("claude at 75").err().unwrap().to_string();
        let expected = "policy rules: setting `compact-percent`: \"claude at 75\" is not a threshold; write AGENT = PERCENT";
        assert!(refused.starts_with(expected), "{refused}");
        assert!(BUILT_IN_NAMES.iter().all(|name| built_in(name).is_some()) && built_in("absent").is_none());
    }
}
