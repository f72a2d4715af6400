//! What prompts say beyond those of resilience.

use baton_policy_resilience::Resilience;
use baton_sdk::prelude::*;
use baton_sdk::prompting::{Kind, Prompt};
use baton_sdk::{MockHost, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// The prompt of a policy, with these house rules.
fn compose<P: Prompting>(house_rules: &[&str]) -> Prompt {
    let house_rules = house_rules.iter().map(|&rule| rule.into()).collect();
    let host =
        MockHost::with_settings_of::<Policy>(&[("house-rules", SettingValue::Texts(house_rules))]);
    let observation = sample::handoff_observation(Kind::Continuing, None, None);
    P::compose(&host, observation).expect("it answers")
}

#[test]
fn house_rules_follow_the_prompt_of_resilience() {
    let (own, of_resilience) = (
        compose::<Policy>(&["No new crates."]),
        compose::<Resilience>(&[]),
    );
    let (own, of_resilience) = (own.text(), of_resilience.text());
    let added = own.strip_prefix(&of_resilience);
    assert_eq!(added, Some("\n## House rules\n- No new crates.\n"));
}

#[test]
fn without_house_rules_it_is_the_prompt_of_resilience() {
    assert_eq!(
        compose::<Policy>(&[]).text(),
        compose::<Resilience>(&[]).text()
    );
}

proptest! {
    #[test]
    fn no_rule_of_prompting_is_broken(case in strategy::prompting()) {
        rules::check::<Policy>(&case);
    }
}
