//! The section, where it stands, and what becomes of a prompt that has no room for it.

use baton_policy_house_rules::HouseRules;
use baton_sdk::prelude::*;
use baton_sdk::prompting::{Kind, Prompt};
use baton_sdk::{Answer, MockHost, sample};

const NEXT: &str = "Write it.\n\n## Reporting\nReport to: inbox\n";

fn prompt(text: &str) -> Prompt {
    Prompt { prompt: text.into(), left_out: vec!["commits".into()], reason: "one objective".into() }
}

fn composed(next: Option<&'static str>, kind: Kind, given: &[(&str, SettingValue)]) -> Option<Prompt> {
    let mut host = MockHost::with_settings_of::<HouseRules>(given);
    host.set_next(move |_| next.map(|text| Answer::Brief(prompt(text))));
    HouseRules::compose(&host, sample::handoff_observation(kind, None, None))
}

fn rules(entries: &[&str]) -> (&'static str, SettingValue) {
    ("rules", SettingValue::Texts(entries.iter().map(|&entry| entry.into()).collect()))
}

#[test]
fn the_rules_stand_before_the_section_that_comes_last() {
    let given = [rules(&["No TODO comments.", "Tests\nfirst."])];
    let composed = composed(Some(NEXT), Kind::First, &given).unwrap();
    assert_eq!(
        composed.prompt,
        "Write it.\n\n## House rules\n- No TODO comments.\n- Tests first.\n\n## Reporting\nReport to: inbox\n"
    );
    assert_eq!(
        (composed.left_out.len(), composed.reason.as_str()),
        (1, "one objective, with the house rules")
    );
}

#[test]
fn a_prompt_without_that_section_gets_them_at_its_end() {
    let given = [rules(&["Tests first."]), ("heading", SettingValue::Text("Ours".into()))];
    let composed = composed(Some("Write it."), Kind::Continuing, &given).unwrap();
    assert_eq!(composed.prompt, "Write it.\n## Ours\n- Tests first.\n");
}

#[test]
fn they_are_said_once_a_session_unless_they_are_wanted_in_every_prompt() {
    let next = |given: &[(&str, SettingValue)]| composed(Some(NEXT), Kind::Next, given).unwrap().prompt;
    assert_eq!(next(&[rules(&["Tests first."])]), NEXT);
    assert!(
        next(&[rules(&["Tests first."]), ("in-every-prompt", SettingValue::Flag(true))])
            .contains("Tests first.")
    );
}

#[test]
fn without_rules_or_without_a_next_policy_it_adds_nothing() {
    assert_eq!(composed(Some(NEXT), Kind::First, &[]), Some(prompt(NEXT)));
    assert_eq!(composed(None, Kind::First, &[rules(&["Tests first."])]), None);
}

#[test]
fn a_prompt_that_has_no_room_for_them_is_left_as_it_is() {
    let long: &'static str = "x".repeat(caps::TEXT_BYTES - 10).leak();
    let composed = composed(Some(long), Kind::First, &[rules(&["Tests first."])]).unwrap();
    assert_eq!(composed.prompt, long);
    assert!(composed.reason.contains("no room"), "{}", composed.reason);
}
