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
fn every_setting_is_documented() {
    let schema = Resilience::schema();
    let mut keys: Vec<&str> = schema.iter().map(|setting| setting.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), schema.len(), "a key is there twice");
    for setting in &schema {
        assert!(setting.doc.ends_with('.'), "{}", setting.key);
        // "(A4)" says nothing to whoever reads it.
        let ids = |text: &str| {
            text.split(", ").all(|id| id.len() > 1 && id[1..].bytes().all(|c| c.is_ascii_digit()))
        };
        let mut brackets = setting.doc.split('(').skip(1).filter_map(|rest| rest.split(')').next());
        assert!(!brackets.any(ids), "{}", setting.key);
    }
}
