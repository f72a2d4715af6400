//! When the agent says that its context is used up.

use baton_sdk::exhaustion::{Assessment, Occasion, Verdict};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use team::Team as Policy;

/// What is said of words on this channel in the second prompt.
fn assess(channel: Channel, words: &str, occasion: Occasion, prompt: u32) -> Option<Assessment> {
    let mut host = MockHost::with_settings_of::<Policy>(&[]);
    let mut observation = sample::exhaustion_observation(host.add_text(words));
    observation.occasion = occasion;
    observation.session.prompts = 2;
    observation.signals = vec![Signal { prompt, ..sample::signal(channel, "", words.len() as u32) }];
    <Policy as Exhaustion>::assess(&host, observation)
}

#[test]
fn its_own_words_count_at_the_end_of_a_prompt_or_session() {
    let said =
        assess(Channel::AgentText, "It is done, but my context is full.", Occasion::PromptEnded, 2).unwrap();
    assert_eq!(said.evidence[0].text, "my context is full");
    assert_decision!(said, Verdict::Exhausted, because "used up");
    assert!(assess(Channel::AgentText, "Kontext voll.", Occasion::SessionEnded, 2).is_some());
}

#[test]
fn the_words_of_others_of_another_time_and_about_something_else_do_not() {
    let full = "My context is full.";
    assert_eq!(assess(Channel::ToolOutput, full, Occasion::PromptEnded, 2), None);
    assert_eq!(assess(Channel::AgentText, full, Occasion::Turn, 2), None);
    assert_eq!(assess(Channel::AgentText, full, Occasion::PromptEnded, 1), None);
    assert_eq!(assess(Channel::AgentText, "The context window is small.", Occasion::PromptEnded, 2), None);
}

proptest! {
    #[test]
    fn no_rule_of_exhaustion_is_broken(case in strategy::exhaustion()) {
        rules::check::<Policy>(&case);
    }
}
