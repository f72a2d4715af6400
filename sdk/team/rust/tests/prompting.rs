//! The section, and where it stands.

use baton_sdk::prelude::*;
use baton_sdk::prompting::{Kind, Prompt};
use baton_sdk::{Answer, MockHost, rules, sample, strategy};
use proptest::prelude::*;

use team::Team as Policy;

fn compose(next: Option<String>, rules: &[&str]) -> Option<String> {
    let rules = SettingValue::Texts(rules.iter().map(|&rule| rule.into()).collect());
    let mut host = MockHost::with_settings_of::<Policy>(&[("house-rules", rules)]);
    host.set_next(move |_| {
        let prompt = next.clone()?;
        Some(Answer::Brief(Prompt { prompt, left_out: Vec::new(), reason: "one objective".into() }))
    });
    let observation = sample::handoff_observation(Kind::First, None, None);
    <Policy as Prompting>::compose(&host, observation).map(|prompt| prompt.prompt)
}

#[test]
fn the_rules_stand_before_the_last_section_or_at_the_end() {
    let rules = ["No TODO comments.", "Tests first."];
    let written = Some("Write it.\n\n## Reporting\nTo inbox.\n".into());
    let expected =
        "Write it.\n\n## House rules\nNo TODO comments.\nTests first.\n\n## Reporting\nTo inbox.\n";
    assert_eq!(compose(written, &rules).unwrap(), expected);
    let at_the_end = compose(Some("Write it.\n".into()), &rules[1..]).unwrap();
    assert_eq!(at_the_end, "Write it.\n\n## House rules\nTests first.\n");
}

#[test]
fn it_abstains_without_rules_without_a_next_policy_and_without_room() {
    assert_eq!(compose(Some("Write it.".into()), &[]), None);
    assert_eq!(compose(None, &["Tests first."]), None);
    assert_eq!(compose(Some("x".repeat(32_760)), &["Tests first."]), None);
}

proptest! {
    #[test]
    fn no_rule_of_prompting_is_broken(case in strategy::prompting()) {
        rules::check::<Policy>(&case);
    }
}
