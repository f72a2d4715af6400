//! When the loop compacts and when it waits, with golden decisions of both.

use baton_policy_auto_loop::AutoLoop;
use baton_sdk::exhaustion::{Observation, Occasion, Verdict};
use baton_sdk::prelude::*;
use baton_sdk::{Answer, Ask, Case, golden, rules, sample, strategy};
use proptest::prelude::*;

fn hold(file: &str, case: &Case) {
    golden::check_case::<AutoLoop>(format!("golden/{file}.json"), case);
}

fn room(change: impl FnOnce(&mut compaction::Observation)) -> Case {
    let mut o = sample::compaction_observation();
    change(&mut o);
    Case::new(Ask::Compaction(o))
}

/// A session that nothing was heard of for 90 s, since it said this on this channel.
fn said(channel: Channel, words: &str, change: impl FnOnce(&mut Observation)) -> Case {
    let mut o = sample::exhaustion_observation(0);
    o.occasion = Occasion::Heartbeat;
    o.session.state = SessionState::Working;
    (o.session.idle_ms, o.answer_bytes, o.files_changed) = (90_000, 0, 0);
    o.signals = vec![Signal { age_ms: 90_000, ..sample::signal(channel, "", words.len() as u32) }];
    change(&mut o);
    Case::new(Ask::Assess(o)).with_text(words)
}

fn verdict(case: &Case) -> Verdict {
    match case.answer::<AutoLoop>() {
        Answer::Assess(answer) => answer.verdict,
        other => panic!("{other:?}"),
    }
}

// B1
#[test]
fn it_compacts_from_seventy_percent_and_does_nothing_else() {
    let used = |tokens| {
        move |o: &mut compaction::Observation| o.session.occupancy = sample::occupancy(tokens, 200_000)
    };
    hold("room-is-left", &room(used(139_999)));
    hold("seventy-percent", &room(used(140_000)));
    hold(
        "it-cannot-compact",
        &room(|o| {
            used(190_000)(o);
            o.session.capabilities.remove(Capabilities::COMPACTS);
        }),
    );
    hold("nothing-is-offloaded", &Case::new(Ask::Offload(sample::offloading_observation())));
    hold("set-to-forty", &room(used(90_000)).with_setting("compact-percent", SettingValue::Number(40.0)));
}

// B4, B5
#[test]
fn a_quota_is_no_stall() {
    let hours = |o: &mut Observation| {
        o.session.idle_ms = 36_000_000;
        o.signals[0].age_ms = 36_000_000;
        o.signals[0].resets_at_ms = Some(1_780_315_260_000);
    };
    hold("quota-after-hours", &said(Channel::Terminal, "Usage limit reached", hours));
    hold("silence-is-a-stall", &said(Channel::Terminal, "compiling", |o| o.session.idle_ms = 600_000));
    let by_status = said(Channel::ProviderError, "try later", |o| o.signals[0].status = Some(429));
    assert!(matches!(verdict(&by_status), Verdict::Quota(_)));
    let gave_up = said(Channel::AgentEvent, "429: Rate limit", |o| {
        (o.occasion, o.session.state) = (Occasion::SessionEnded, SessionState::Ended);
        o.session.idle_ms = 0;
    });
    hold("it-gave-up-on-a-quota", &gave_up);
}

// B8
#[test]
fn new_output_ends_the_wait() {
    let heard = |o: &mut Observation| o.session.idle_ms = 1_000;
    hold("heard-of-again", &said(Channel::Terminal, "rate limit", heard));
    let answered = |o: &mut Observation| (o.occasion, o.answer_bytes) = (Occasion::PromptEnded, 300);
    hold("answered-after-a-quota", &said(Channel::ProviderError, "rate limit", answered));
}

// B4: whoever works on a rate limiter speaks of rate limits.
#[test]
fn an_agents_own_words_and_those_of_tools_are_no_evidence() {
    for channel in [Channel::AgentText, Channel::ToolOutput] {
        assert_eq!(verdict(&said(channel, "rate limit", |_| {})), Verdict::Healthy);
    }
    hold(
        "no-answer-is-asked-again",
        &said(Channel::AgentText, "rate limit", |o| o.occasion = Occasion::PromptEnded),
    );
}

proptest! {
    #[test]
    fn no_rule_is_broken(case in prop_oneof![strategy::exhaustion(), strategy::compaction()]) {
        rules::check::<AutoLoop>(&case);
    }
}
