//! How sessions are judged.

use baton_sdk::exhaustion::{Assessment, Occasion, Verdict};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, sample};
use {{crate}}::{{Type}};

/// What is said of a prompt that ended with these words on this channel.
fn assess(channel: Channel, words: &str, occasion: Occasion) -> Assessment {
    let mut host = MockHost::with_settings_of::<{{Type}}>(&[]);
    let window = host.add_text(words);
    let mut observation = sample::exhaustion_observation(window);
    observation.occasion = occasion;
    observation.signals = vec![sample::signal(channel, "", words.len() as u32)];
    {{Type}}::assess(&host, observation)
}

#[test]
fn a_context_that_is_used_up_is_told_by_the_words() {
    let assessment = assess(
        Channel::ProviderError,
        "400: Prompt is too long",
        Occasion::PromptEnded,
    );
    assert_eq!(assessment.verdict, Verdict::Exhausted);
    insta::assert_debug_snapshot!("exhausted", assessment);
}

#[test]
fn what_a_tool_printed_is_no_evidence() {
    let assessment = assess(Channel::ToolOutput, "context window", Occasion::PromptEnded);
    assert_eq!(assessment.verdict, Verdict::Completed);
}

#[test]
fn nobody_who_works_is_given_up() {
    let assessment = assess(
        Channel::AgentText,
        "the context window is small",
        Occasion::Turn,
    );
    assert_eq!(assessment.verdict, Verdict::Healthy);
}
