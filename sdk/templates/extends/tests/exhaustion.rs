//! How sessions are judged beyond the judgment of resilience.

use baton_sdk::exhaustion::{Assessment, Occasion, QuotaCause, Verdict};
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
fn the_phrase_at_the_beginning_of_a_line_tells_that_a_context_is_used_up() {
    let said = "I wrote half of the parser.\nOut of working memory, the rest is open.";
    let assessment = assess(Channel::AgentText, said, Occasion::PromptEnded);
    assert_decision!(assessment, Verdict::Exhausted, because "says the agent");
    assert_eq!(
        assessment.evidence[0].text,
        "Out of working memory, the rest is open."
    );
}

#[test]
fn the_phrase_in_the_middle_of_a_line_tells_nothing() {
    let said = "I wrote the page on what to do when a machine is out of working memory.";
    let assessment = assess(Channel::AgentText, said, Occasion::PromptEnded);
    assert_decision!(assessment, Verdict::Answered);
}

#[test]
fn what_a_tool_printed_is_no_evidence() {
    let said = "out of working memory";
    let assessment = assess(Channel::ToolOutput, said, Occasion::PromptEnded);
    assert_decision!(assessment, Verdict::Answered);
}

#[test]
fn a_session_at_work_is_healthy_whatever_it_says() {
    let said = "out of working memory";
    assert_decision!(
        assess(Channel::AgentText, said, Occasion::Turn),
        Verdict::Healthy
    );
}

#[test]
fn what_resilience_knows_of_a_provider_stands() {
    let said = "429 Too many requests";
    assert_decision!(
        assess(Channel::ProviderError, said, Occasion::PromptEnded),
        Verdict::Quota(quota) if quota.cause == QuotaCause::Rate
    );
}

proptest! {
    #[test]
    fn no_rule_of_exhaustion_is_broken(case in strategy::exhaustion()) {
        rules::check::<Policy>(&case);
    }
}
