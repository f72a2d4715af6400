//! The table of settings in `policies/README.md` is the schema's. `UPDATE_README=1 cargo test -p
//! baton-policy-resilience --test readme` writes it anew.

use std::fmt::Write as _;

use baton_policy_resilience::Resilience;
use baton_sdk::prelude::*;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
const BEGIN: &str = "<!-- settings of resilience: generated from its schema -->\n";
const END: &str = "<!-- end of settings -->";

fn table() -> String {
    let mut table = String::from("| setting | default | from, to | what it does |\n|---|---|---|---|\n");
    for setting in Resilience::schema() {
        let default = match &setting.default {
            SettingValue::Flag(value) => value.to_string(),
            SettingValue::Integer(value) => value.to_string(),
            SettingValue::Number(value) => format!("{value:.1}"),
            SettingValue::Text(value) if value.len() <= 24 => format!("`{value}`"),
            SettingValue::Text(_) => "a text".to_owned(),
            SettingValue::Texts(values) => format!("{} texts", values.len()),
        };
        let bounds = match (setting.minimum, setting.maximum) {
            (Some(minimum), Some(maximum)) => format!("{minimum}, {maximum}"),
            _ => setting.choices.join(", "),
        };
        let doc = setting.doc.replace('|', "\\|");
        writeln!(table, "| `{}` | {default} | {bounds} | {doc} |", setting.key).unwrap();
    }
    table
}

#[test]
fn the_table_of_settings_is_the_schema() {
    let readme = std::fs::read_to_string(README).unwrap();
    let (before, rest) = readme.split_once(BEGIN).expect("the README has no place for the settings");
    let (written, after) = rest.split_once(END).expect("the README has no end of the settings");
    let table = table();
    if std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(README, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(
            written, table,
            "run: UPDATE_README=1 cargo test -p baton-policy-resilience --test readme"
        );
    }
}

#[test]
fn every_setting_is_documented_and_its_default_is_valid() {
    let schema = Resilience::schema();
    let mut keys: Vec<&str> = schema.iter().map(|setting| setting.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), schema.len(), "a key is there twice");
    for setting in &schema {
        assert!(setting.doc.ends_with('.'), "{}", setting.key);
    }
    let defaults = schema.iter().map(|setting| (setting.key.clone(), setting.default.clone())).collect();
    assert_eq!(Resilience::validate(defaults).unwrap().len(), schema.len());
}

#[test]
fn wrong_settings_are_refused_by_key() {
    let given = vec![
        ("compact-percnt".to_owned(), SettingValue::Number(60.0)),
        ("priority".to_owned(), SettingValue::Text("speed".to_owned())),
        ("stall-ms".to_owned(), SettingValue::Text("5m".to_owned())),
    ];
    let problems = Resilience::validate(given).unwrap_err();
    let said: Vec<String> =
        problems.iter().map(|problem| format!("{}: {}", problem.key, problem.message)).collect();
    assert_eq!(
        said,
        [
            "compact-percnt: there is no such setting; did you mean `compact-percent`?",
            "priority: must be one of quality, time, tokens, not `speed`",
            "stall-ms: must be a whole number, not a text",
        ]
    );
}
