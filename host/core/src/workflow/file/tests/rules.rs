//! Files of rules that a workflow or a layer names: the accepted settings, and the messages of refused ones.

use super::with;
use crate::observation::Capability;
use crate::workflow::file::{parse_policies_file, read, rules_file};
use crate::workflow::rules::RULES;
use crate::workflow::{BUILTIN, ConfigLayer, GivenSetting, PolicyScope, SettingValue};

const HOUSE: &str =
    "objectives-at-most = 4\nafter-failed = \"ask\"\nfailed-phrases = [\"terminal: vault is sealed\"]\n";

/// One folder with one file of rules.
fn reader(text: &'static str) -> impl FnMut(&str) -> Result<String, String> {
    move |path| match path {
        "/home/ada/house.toml" => Ok(text.to_owned()),
        _ => Err("there is no such file".to_owned()),
    }
}

/// The error of a workflow with this table and this file of rules.
fn refused(table: &str, rules: &'static str) -> String {
    read(&with(table, ""), "w.toml", "/home/ada", &mut reader(rules)).expect_err("is refused").to_string()
}

#[test]
fn a_file_of_rules_is_the_settings_of_the_policy_rules() {
    // M4
    let top = "[policies]\nexhaustion = [\"rules:house.toml\", \"builtin:resilience\"]\nshadow = [\"rules:house.toml\"]\n\
               [policies.splitting]\ncomponent = \"rules:house.toml\"";
    let reading = read(&with(top, ""), "w.toml", "/home/ada", &mut reader(HOUSE)).unwrap();
    let policies = reading.over([]).policies;
    let layer = &policies.layers[0];
    let chain: Vec<_> = layer.by_capability[&Capability::Exhaustion].links().collect();
    let named: Vec<_> = chain.iter().map(|link| link.component.as_deref().unwrap()).collect();
    assert_eq!(named, [RULES, BUILTIN]);
    let phrases = SettingValue::Texts(vec!["terminal: vault is sealed".to_owned()]);
    let settings = [
        ("after-failed", SettingValue::Text("ask".to_owned())),
        ("failed-phrases", phrases),
        ("objectives-at-most", SettingValue::Integer(4)),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), GivenSetting::from(value))).into();
    assert_eq!(chain[0].settings, settings);
    assert_eq!(layer.by_capability[&Capability::Splitting].settings, settings);
    assert_eq!(
        (policies.shadow[0].component.as_deref(), &policies.shadow[0].settings),
        (Some(RULES), &settings)
    );
    let user = "[policies]\nall = \"rules:house.toml\"";
    let said =
        parse_policies_file(user, "config.toml", "/home/ada", ConfigLayer::User, &mut reader(HOUSE)).unwrap();
    assert_eq!(said.layer.all.unwrap().settings, settings);
    // The source of each rule is the file, for every reference to it.
    for asked in [Capability::Exhaustion, Capability::Splitting] {
        let set_by = policies.candidates(&PolicyScope::Run, None, asked)[0].laid(|_, _| true).set_by;
        assert_eq!(set_by.len(), 3);
        assert!(
            set_by
                .values()
                .all(|from| from.file == "/home/ada/house.toml" && from.layer == ConfigLayer::Workflow)
        );
    }
}

#[test]
fn a_wrong_file_of_rules_is_told_with_its_line_once() {
    // M4
    let both = "[policies]\nexhaustion = \"rules:house.toml\"\nsplitting = [\"rules:house.toml\"]";
    let wrong = "failed-phrase = [\"terminal: sealed\"]\nobjectives-at-most = 0\nafter-failed = \"retry\"\nnever-split = []";
    let forms = "# of the team\ncompact-percent = [\n  \"claude = 75\",\n  \"claud = 80\",\n]\nfailed-phrases = [\"sealed\"]";
    let told = [
        refused(both, wrong),
        refused(both, forms),
        refused(both, "# later\n"),
        refused(both, "no TOML"),
        refused("[policies]\nall = \"rules:absent.toml\"\nsplitting = \"rules:\"", HOUSE),
        refused("[policies]\nall = { component = \"rules:house.toml\", settings = { a = 1 } }", HOUSE),
        refused("[policies]\nall = \"house.toml\"", HOUSE),
    ];
    insta::assert_snapshot!("files_of_rules_that_are_wrong", told.join("\n---\n"));
}

#[test]
fn a_file_of_rules_may_be_read_alone() {
    let error = rules_file("turns-by-mode = [\"swrm = 40\"]", "house.toml").unwrap_err();
    assert_eq!(
        error.to_string(),
        "house.toml:1:18: `turns-by-mode`: \"swrm = 40\" names the mode `swrm`, which is not known\n    did you mean `swarm`?"
    );
}
