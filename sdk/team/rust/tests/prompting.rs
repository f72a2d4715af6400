//! The section, and where it stands.

use baton_sdk::prelude::*;
use baton_sdk::prompting::{Kind, Prompt};
use baton_sdk::sections::Section;
use baton_sdk::{Answer, MockHost, rules, sample, strategy};
use proptest::prelude::*;

use team::Team as Policy;

/// The prompt above one that says "Write it.", and below it how to report where that is said.
fn compose(next: Option<bool>, rules: &[&str]) -> Option<String> {
    let rules = SettingValue::Texts(rules.iter().map(|&rule| rule.into()).collect());
    let mut host = MockHost::with_settings_of::<Policy>(&[("house-rules", rules)]);
    host.set_next(move |_| {
        let (mut opening, mut last) =
            (Section::new("opening"), Section::new("reporting").headed("Reporting"));
        opening.line("Write it.");
        last.line("To inbox.");
        let sections = if next? { vec![opening, last] } else { vec![opening] };
        Some(Answer::Brief(Prompt { sections, left_out: Vec::new(), reason: "one objective".into() }))
    });
    let observation = sample::handoff_observation(Kind::First, None, None);
    <Policy as Prompting>::compose(&host, observation).map(|prompt| prompt.text())
}

#[test]
fn the_rules_stand_before_the_last_section_or_at_the_end() {
    let rules = ["No TODO comments.", "Tests first."];
    let expected =
        "Write it.\n\n## House rules\nNo TODO comments.\nTests first.\n\n## Reporting\nTo inbox.\n";
    assert_eq!(compose(Some(true), &rules).unwrap(), expected);
    let at_the_end = compose(Some(false), &rules[1..]).unwrap();
    assert_eq!(at_the_end, "Write it.\n\n## House rules\nTests first.\n");
}

#[test]
fn it_abstains_without_rules_and_without_a_next_policy() {
    assert_eq!(compose(Some(true), &[]), None);
    assert_eq!(compose(None, &["Tests first."]), None);
}

proptest! {
    #[test]
    fn no_rule_of_prompting_is_broken(case in strategy::prompting()) {
        rules::check::<Policy>(&case);
    }
}
