//! What prompts say.

use baton_sdk::prelude::*;
use baton_sdk::prompting::Kind;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

#[test]
fn a_first_prompt_names_what_is_in_focus_and_nothing_else() {
    let host = MockHost::with_settings_of::<Policy>(&[]);
    let observation = sample::handoff_observation(Kind::First, None, None);
    let prompt = <Policy as Prompting>::compose(&host, observation).expect("it answers");
    assert!(prompt.text().contains("- parser: Write src/parser.rs"));
    assert!(!prompt.text().contains("lexer"));
    assert_decision!(prompt, _, because "what is in focus");
}

proptest! {
    #[test]
    fn no_rule_of_prompting_is_broken(case in strategy::prompting()) {
        rules::check::<Policy>(&case);
    }
}
