//! The limits of a provider: their cause, and when they reset (B4).

use baton_sdk::exhaustion::{Occasion, QuotaCause};
use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;
use baton_sdk::sample;

use crate::judged::Verdict;

use crate::scene::{Scene, quota};

#[test]
fn a_limit_that_the_agent_gave_up_on_is_a_quota_even_where_it_calls_itself_completed() {
    // B4
    for code in ["api_error", "completed"] {
        let assessment = Scene::new(Occasion::PromptEnded)
            .event("rate_limit")
            .last(|signal| signal.status = Some(429))
            .signal(Channel::ProviderError, "rate_limit", "API Error: Request rejected (429)")
            .signal(Channel::AgentEvent, code, "the agent calls it an error")
            .assess();
        assert_eq!(assessment.verdict, quota(QuotaCause::Rate, None), "{code}");
        assert_eq!(assessment.recovery, Action::Wait);
    }
}

#[test]
fn limits_are_waited_for_in_place_while_the_agent_retries() {
    // B4
    let retrying = |occasion| {
        Scene::new(occasion)
            .signal(Channel::ProviderError, "rate_limit", "")
            .last(|signal| (signal.retrying, signal.status) = (true, Some(429)))
    };
    let assessment = retrying(Occasion::Signal).assess();
    assert_eq!(assessment.verdict, quota(QuotaCause::Rate, None));
    assert_eq!(assessment.recovery, Action::Wait);
    assert!(assessment.reason.contains("retries by itself"), "{}", assessment.reason);
    // Silent for longer than a stall takes, but the last thing said was a limit.
    let silent = retrying(Occasion::Heartbeat)
        .last(|signal| signal.age_ms = 700_000)
        .with(|o| o.session.idle_ms = 690_000)
        .assess();
    assert_eq!(silent.verdict, quota(QuotaCause::Rate, None));
    // It went on since.
    let went_on = retrying(Occasion::Heartbeat).last(|signal| signal.age_ms = 100_000).assess();
    assert_eq!(went_on.verdict, Verdict::Healthy);
    assert_eq!(retrying(Occasion::Turn).assess().verdict, Verdict::Healthy);
}

#[test]
fn the_reset_comes_from_a_field_or_from_the_text() {
    // B4
    let field = Scene::new(Occasion::PromptEnded)
        .event("rate_limit")
        .last(|signal| signal.resets_at_ms = Some(1_800_000_000_000))
        .signal(Channel::ProviderError, "rate_limit", "You've hit your 5-hour limit")
        .event("api_error");
    assert_eq!(field.assess().verdict, quota(QuotaCause::Usage, Some(1_800_000_000_000)));
    let epoch = Scene::new(Occasion::PromptEnded)
        .signal(Channel::AgentText, "", "Claude AI usage limit reached|1762952400")
        .with(|o| o.answer_bytes = 40);
    assert_eq!(epoch.assess().verdict, quota(QuotaCause::Usage, Some(1_762_952_400_000)));
    let relative = Scene::new(Occasion::PromptEnded).signal(
        Channel::ProviderError,
        "",
        "Rate limit exceeded. Try again in 35 seconds.",
    );
    assert_eq!(relative.assess().verdict, quota(QuotaCause::Rate, Some(sample_now() + 35_000)));
    // A payment is offered, and none is needed.
    let offered = Scene::new(Occasion::PromptEnded).signal(
        Channel::AgentText,
        "",
        "You've hit your usage limit. Visit https://example.com to purchase more credits or try again at 2:30 PM.",
    );
    assert_eq!(offered.assess().verdict, quota(QuotaCause::Usage, Some(sample_now() + 9_000_000)));
    let spent = Scene::new(Occasion::PromptEnded).signal(
        Channel::ProviderError,
        "",
        "spend limit reached (daily; resets 2026-06-02 00:00 UTC)",
    );
    assert_eq!(spent.assess().verdict, quota(QuotaCause::Usage, Some(sample_now() + 12 * 3_600_000)));
    // The code says that there is a limit, the error beside it how long.
    let beside = Scene::new(Occasion::PromptEnded).event("rate_limit").signal(
        Channel::ProviderError,
        "",
        "Please retry in 20s",
    );
    assert_eq!(beside.assess().verdict, quota(QuotaCause::Rate, Some(sample_now() + 20_000)));
}

/// 2026-06-01 12:00 UTC.
fn sample_now() -> u64 {
    sample::exhaustion_observation(0).asked_at_ms
}

#[test]
fn the_hour_is_the_hosts_unless_the_text_names_another() {
    // B4
    let said = |text: &str, offset| {
        let scene = Scene::new(Occasion::PromptEnded).signal(Channel::ProviderError, "", text);
        match scene.with(|o| o.utc_offset_minutes = offset).assess().verdict {
            Verdict::Quota(quota) => quota.resets_at_ms.map(|at| (at - sample_now()) / 60_000),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(said("You've hit your limit · resets 3:45pm", 0), Some(225));
    assert_eq!(said("You've hit your limit · resets 3:45pm (Europe/Berlin)", 120), Some(105));
    assert_eq!(said("You've hit your limit · resets 3:45pm UTC", 120), Some(225));
    assert_eq!(said("You've hit your limit", 0), None);
}

#[test]
fn a_status_is_a_quota_whatever_the_text_says() {
    // B4
    for (status, cause) in [(429, QuotaCause::Rate), (529, QuotaCause::Overload), (402, QuotaCause::Billing)]
    {
        let assessment = Scene::new(Occasion::PromptEnded)
            .signal(Channel::ProviderError, "invalid_request_error", "prompt is too long for this tier")
            .last(|signal| signal.status = Some(status))
            .assess();
        assert_eq!(assessment.verdict, quota(cause, None), "{status}");
    }
    let cause_in_the_text = Scene::new(Occasion::PromptEnded)
        .signal(
            Channel::ProviderError,
            "",
            "You exceeded your current quota, please check your plan and billing details.",
        )
        .last(|signal| signal.status = Some(429))
        .assess();
    assert_eq!(cause_in_the_text.verdict, quota(QuotaCause::Billing, None));
    assert!(matches!(cause_in_the_text.recovery, Action::AskPerson(_)));
}

#[test]
fn a_bare_code_is_told_in_the_words_that_came_beside_it() {
    // B4: as Claude Code writes both of them.
    let of = |event: &str, said: &str, ends: &str| {
        Scene::new(Occasion::PromptEnded)
            .event(event)
            .signal(Channel::ProviderError, "invalid_request_error", said)
            .signal(Channel::AgentEvent, ends, "the agent calls it an error")
            .assess()
    };
    let unpaid = of("billing_error", "Credit balance is too low", "api_error");
    assert_eq!(unpaid.verdict, quota(QuotaCause::Billing, None));
    let Action::AskPerson(question) = &unpaid.recovery else { panic!("{unpaid:#?}") };
    assert_eq!(question, "The provider wants payment (Credit balance is too low). Go on once it is settled?");
    let full = of("invalid_request", "Prompt is too long", "prompt_too_long");
    assert_eq!(full.reason, "the context window is used up: Prompt is too long");
    let texts: Vec<(Channel, &str)> = full.evidence.iter().map(|e| (e.channel, e.text.as_str())).collect();
    assert_eq!(
        texts,
        [(Channel::AgentEvent, "prompt_too_long"), (Channel::ProviderError, "Prompt is too long")],
        "what decides comes first"
    );
    // What came long before it, or that it tries again, says nothing of it.
    let apart = Scene::new(Occasion::PromptEnded)
        .signal(Channel::ProviderError, "", "the agent retries by itself: 1 of 2, in 500 ms")
        .last(|signal| signal.retrying = true)
        .event("billing_error")
        .assess();
    assert!(apart.reason.ends_with(": billing_error"), "{}", apart.reason);
}
