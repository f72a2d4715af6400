//! How sessions are judged.

use baton_sdk::exhaustion::{Assessment, Occasion, Verdict};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// What is said of a prompt with these words on this channel.
fn assess(channel: Channel, words: &str, occasion: Occasion) -> Assessment {
    let mut host = MockHost::with_settings_of::<Policy>(&[]);
    let window = host.add_text(words);
    let mut observation = sample::exhaustion_observation(window);
    observation.occasion = occasion;
    observation.signals = vec![sample::signal(channel, "", words.len() as u32)];
    <Policy as Exhaustion>::assess(&host, observation).expect("it answers")
}

#[test]
fn a_context_that_is_used_up_is_told_by_the_words() {
    let said = "400: Prompt is too long";
    let assessment = assess(Channel::ProviderError, said, Occasion::PromptEnded);
    assert_decision!(assessment, Verdict::Exhausted, because "used up");
    assert_eq!(assessment.evidence[0].text, said);
}

#[test]
fn what_a_tool_printed_is_no_evidence() {
    let assessment = assess(Channel::ToolOutput, "context window", Occasion::PromptEnded);
    assert_decision!(assessment, Verdict::Answered);
}

#[test]
fn nobody_who_works_is_given_up() {
    let said = "the context window is small";
    assert_decision!(
        assess(Channel::AgentText, said, Occasion::Turn),
        Verdict::Healthy
    );
}

#[test]
fn what_ended_without_an_answer_has_failed() {
    let answered = assess(Channel::AgentText, "It is done.", Occasion::PromptEnded);
    assert_decision!(answered, Verdict::Answered);
    let mut host = MockHost::with_settings_of::<Policy>(&[]);
    let mut silent = sample::exhaustion_observation(host.add_text(""));
    (silent.answer_bytes, silent.files_changed) = (0, 0);
    silent.signals.clear();
    silent.occasion = Occasion::PromptEnded;
    let failed = <Policy as Exhaustion>::assess(&host, silent).expect("it answers");
    assert_decision!(failed, Verdict::Failed);
}

proptest! {
    #[test]
    fn no_rule_of_exhaustion_is_broken(case in strategy::exhaustion()) {
        rules::check::<Policy>(&case);
    }
}
