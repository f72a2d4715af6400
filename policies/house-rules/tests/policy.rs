//! The section, and where it stands.

use baton_policy_house_rules::HouseRules;
use baton_sdk::prelude::*;
use baton_sdk::prompting::{Kind, Prompt};
use baton_sdk::sections::Section;
use baton_sdk::{Answer, MockHost, sample};

/// "Write it.", and below it how to report, where the next policy has such a section.
fn prompt(reports: bool) -> Prompt {
    let (mut opening, mut reporting) =
        (Section::new("opening"), Section::new("reporting").headed("Reporting"));
    opening.line("Write it.");
    reporting.line("Report to: inbox");
    let sections = if reports { vec![opening, reporting] } else { vec![opening] };
    Prompt { sections, left_out: vec!["commits".into()], reason: "one objective".into() }
}

fn composed(next: Option<bool>, kind: Kind, given: &[(&str, SettingValue)]) -> Option<Prompt> {
    let mut host = MockHost::with_settings_of::<HouseRules>(given);
    host.set_next(move |_| next.map(|reports| Answer::Brief(prompt(reports))));
    HouseRules::compose(&host, sample::handoff_observation(kind, None, None))
}

fn rules(entries: &[&str]) -> (&'static str, SettingValue) {
    ("rules", SettingValue::Texts(entries.iter().map(|&entry| entry.into()).collect()))
}

#[test]
fn the_rules_stand_before_the_section_that_comes_last() {
    let given = [rules(&["No TODO comments.", "Tests\nfirst."])];
    let composed = composed(Some(true), Kind::First, &given).unwrap();
    assert_eq!(
        composed.text(),
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
    let composed = composed(Some(false), Kind::Continuing, &given).unwrap();
    assert_eq!(composed.text(), "Write it.\n\n## Ours\n- Tests first.\n");
}

#[test]
fn two_of_these_layers_may_stand_one_over_the_other() {
    let mut host = MockHost::with_settings_of::<HouseRules>(&[rules(&["Tests first."])]);
    let below = composed(Some(true), Kind::First, &[rules(&["No TODO comments."])]).unwrap();
    host.set_next(move |_| Some(Answer::Brief(below.clone())));
    let composed = HouseRules::compose(&host, sample::handoff_observation(Kind::First, None, None)).unwrap();
    let ids: Vec<&str> = composed.sections.iter().map(|section| section.id.as_str()).collect();
    assert_eq!(ids, ["opening", "house-rules", "house-rules-2", "reporting"]);
}

#[test]
fn they_are_said_once_a_session_unless_they_are_wanted_in_every_prompt() {
    let next = |given: &[(&str, SettingValue)]| composed(Some(true), Kind::Next, given).unwrap().text();
    assert_eq!(next(&[rules(&["Tests first."])]), prompt(true).text());
    assert!(
        next(&[rules(&["Tests first."]), ("in-every-prompt", SettingValue::Flag(true))])
            .contains("Tests first.")
    );
}

#[test]
fn without_rules_or_without_a_next_policy_it_adds_nothing() {
    assert_eq!(composed(Some(true), Kind::First, &[]), Some(prompt(true)));
    assert_eq!(composed(None, Kind::First, &[rules(&["Tests first."])]), None);
}
