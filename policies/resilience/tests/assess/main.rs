//! What decides when signals, outcomes and silence come together, as real agents send them.

mod completion;
#[path = "../common/judged.rs"]
mod judged;
mod limits;
mod scene;
mod unready;

use baton_policy_resilience::Resilience;
use baton_sdk::exhaustion::{Observation, Occasion, QuotaCause};
use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;
use baton_sdk::{MockHost, sample};

use judged::Verdict;

use scene::{Scene, quota};

#[test]
fn a_code_of_the_agent_decides_with_its_seq_as_evidence() {
    // A4
    let codes = [
        ("prompt_too_long", Verdict::Exhausted),
        ("blocking_limit", Verdict::Exhausted),
        ("rapid_refill_breaker", Verdict::Exhausted),
        ("max_turns", Verdict::TurnLimit),
        ("error_max_turns", Verdict::TurnLimit),
        ("max_turn_requests", Verdict::TurnLimit),
        ("budget_exhausted", Verdict::BudgetLimit),
        ("error_max_budget_usd", Verdict::BudgetLimit),
        ("aborted_tools", Verdict::Interrupted),
        ("cancelled", Verdict::Interrupted),
        ("rate_limit", quota(QuotaCause::Rate, None)),
        ("billing_error", quota(QuotaCause::Billing, None)),
        ("overloaded_error", quota(QuotaCause::Overload, None)),
        ("max_tokens", Verdict::Truncated),
        ("api_error", Verdict::Failed),
        ("end_turn", Verdict::Completed),
        ("success", Verdict::Completed),
    ];
    for (code, verdict) in codes {
        let assessment = Scene::new(Occasion::PromptEnded).event(code).assess();
        assert_eq!(assessment.verdict, verdict, "{code}");
        if verdict != Verdict::Completed {
            assert_eq!((assessment.evidence[0].seq, assessment.evidence[0].text.as_str()), (Some(40), code));
        }
    }
}

#[test]
fn claude_out_of_context_is_exhausted() {
    let assessment = Scene::new(Occasion::PromptEnded)
        .event("invalid_request")
        .signal(
            Channel::ProviderError,
            "invalid_request",
            "Prompt is too long · the request is ~21773 tokens (limit 5000)",
        )
        .signal(Channel::AgentEvent, "prompt_too_long", "the agent calls it an error")
        .assess();
    assert_eq!(assessment.verdict, Verdict::Exhausted);
    assert_eq!(assessment.evidence[0].channel, Channel::AgentEvent);
}

#[test]
fn an_adapter_that_answers_end_turn_with_an_error_text_is_seen_through() {
    let exhausted =
        r#"{"type":"error","error":{"message":"Your input exceeds the context window of this model."}}"#;
    for (text, verdict) in [
        (exhausted, Verdict::Exhausted),
        (
            "Reading the files.\nexceeded retry limit, last status: 429 Too Many Requests",
            quota(QuotaCause::Rate, None),
        ),
    ] {
        let assessment = Scene::new(Occasion::PromptEnded)
            .signal(Channel::AgentText, "", text)
            .event("end_turn")
            .with(|o| o.answer_bytes = text.len() as u64)
            .with(|o| o.files_changed = 0)
            .assess();
        assert_eq!(assessment.verdict, verdict);
    }
}

#[test]
fn what_the_agent_got_over_is_no_evidence() {
    // B4
    let retried = Scene::new(Occasion::PromptEnded)
        .signal(Channel::ProviderError, "rate_limit", "the agent retries by itself")
        .last(|signal| signal.retrying = true)
        .event("end_turn");
    assert_eq!(retried.assess().verdict, Verdict::Completed);
    let compacted_and_went_on = Scene::new(Occasion::PromptEnded)
        .signal(Channel::ProviderError, "", "prompt is too long: 210000 tokens > 200000 maximum")
        .event("end_turn")
        .last(|signal| signal.seq = 90);
    assert_eq!(compacted_and_went_on.assess().verdict, Verdict::Completed);
    let of_the_prompt_before = Scene::new(Occasion::PromptEnded)
        .event("prompt_too_long")
        .last(|signal| signal.prompt = 1)
        .event("end_turn");
    assert_eq!(of_the_prompt_before.assess().verdict, Verdict::Completed);
}

#[test]
fn a_compaction_that_fails_for_want_of_room_is_exhaustion_and_one_with_nothing_to_do_is_none() {
    // B3
    let of = |text| {
        Scene::new(Occasion::PromptEnded)
            .signal(Channel::AgentEvent, "compact_failed", text)
            .event("end_turn")
            .assess()
            .verdict
    };
    for text in [
        "Error during compaction: Error: Conversation too long. Press esc twice to go up a few messages.",
        "The conversation cannot be compacted: it exceeds the context window",
        "Failed to compact: context limit exceeded even after removing all tool responses",
    ] {
        assert_eq!(of(text), Verdict::Exhausted, "{text}");
    }
    assert_eq!(of("Not enough messages to compact."), Verdict::Completed);
}

#[test]
fn an_answer_that_ends_early_for_want_of_room_is_exhaustion() {
    let assessment = Scene::new(Occasion::PromptEnded)
        .signal(Channel::ProviderError, "", "prompt is too long: 210000 tokens > 200000 maximum")
        .event("max_tokens")
        .assess();
    assert_eq!(assessment.verdict, Verdict::Exhausted);
}

#[test]
fn the_gemini_cli_tells_its_cap_of_turns_by_its_exit() {
    let ended = |agent: &str| {
        Scene::new(Occasion::SessionEnded)
            .exit(Some(53), None, false)
            .with(|o| o.session.agent = agent.to_owned())
            .assess()
            .verdict
    };
    assert_eq!(ended("gemini"), Verdict::TurnLimit);
    assert_eq!(ended("process"), Verdict::Failed);
}

#[test]
fn a_prompt_that_shrinks_by_itself_is_warned_about() {
    let turns = |used: [u64; 2], compactions| {
        let recent = vec![sample::turn(6, used[0]), sample::turn(7, used[1])];
        let scene = Scene::new(Occasion::PromptEnded).event("end_turn");
        scene.with(|o| (o.session.recent, o.session.compactions) = (recent, compactions)).assess()
    };
    let cut = turns([60_000, 4_000], 0);
    assert_eq!(cut.verdict, Verdict::Completed);
    assert!(cut.warning.unwrap_or_default().contains("from 60000 to 4000 tokens"));
    assert_eq!(turns([60_000, 4_000], 1).warning, None);
    assert_eq!(turns([60_000, 61_000], 0).warning, None);
}

#[test]
fn an_empty_answer_without_a_changed_file_is_cut_off_and_nudged_at_most_twice() {
    // A4
    let empty = |nudges| {
        Scene::new(Occasion::PromptEnded)
            .event("end_turn")
            .with(|o| (o.answer_bytes, o.files_changed, o.nudges) = (49, 0, nudges))
            .assess()
    };
    assert_eq!(empty(0).verdict, Verdict::Truncated);
    assert_eq!(empty(0).recovery, Action::Nudge);
    assert_eq!(empty(2).recovery, Action::Retry);
    let changed = Scene::new(Occasion::PromptEnded).event("end_turn").with(|o| o.answer_bytes = 0).assess();
    assert_eq!(changed.verdict, Verdict::Completed);
    let talked = Scene::new(Occasion::PromptEnded).event("end_turn").with(|o| o.files_changed = 0).assess();
    assert_eq!(talked.verdict, Verdict::Completed);
}

#[test]
fn a_short_answer_is_quoted_and_only_one_that_breaks_off_is_cut_off() {
    // A4
    let said = |text: &str, change: fn(&mut Observation)| {
        let scene = Scene::new(Occasion::PromptEnded).signal(Channel::AgentText, "", text).event("end_turn");
        let bytes = text.len() as u64;
        scene
            .with(|o| {
                o.objectives = vec![sample::objective("add-sub", "Add sub to calc.py")];
                (o.answer_bytes, o.files_changed, o.phase_files_changed) = (bytes, 0, 0);
                (o.phase.expects_files, o.phase.check) = (true, None);
                change(o);
            })
            .assess()
    };
    let whole = "sub is in calc.py and the tests pass. All done.";
    let first = said(whole, |_| ());
    assert_eq!((first.verdict, first.recovery), (Verdict::Unfinished, Action::Nudge), "{}", first.reason);
    assert_eq!(first.reason, format!("the agent said only \"{whole}\", and no file changed"));
    assert_eq!(said(whole, |o| o.nudges = 1).recovery, Action::Retry);
    let spent = said(whole, |o| (o.nudges, o.phase.budget.retries_used) = (1, o.phase.budget.retries));
    assert_eq!(
        spent.recovery,
        Action::AskPerson(format!("The agent said only \"{whole}\", and no file changed. Is the work done?"))
    );
    // Who only reads is not done by a few words either.
    let read = said("It is fine.", |o| o.phase.expects_files = false);
    assert_eq!((read.verdict, read.recovery), (Verdict::Unfinished, Action::Nudge), "{}", read.reason);
    for cut in ["Next I will add sub to", "Let me look at calc.py...", "I added **sub** and"] {
        let judged = said(cut, |_| ());
        assert_eq!((judged.verdict, judged.recovery), (Verdict::Truncated, Action::Nudge), "{cut}");
        assert_eq!(judged.reason, format!("the agent said only \"{cut}\", and no file changed"));
    }
    let empty = said("", |o| o.phase.expects_files = false);
    assert_eq!(empty.verdict, Verdict::Truncated);
    assert_eq!(empty.reason, "the answer is empty, and no file changed");
}

#[test]
fn a_stall_is_nudged_then_interrupted_then_ended() {
    let stalled = |nudges| {
        Scene::new(Occasion::Heartbeat).with(|o| (o.session.idle_ms, o.nudges) = (300_000, nudges)).assess()
    };
    assert_eq!((stalled(0).verdict, stalled(0).recovery), (Verdict::Stalled, Action::Nudge));
    assert_eq!(stalled(1).recovery, Action::Interrupt);
    assert_eq!(stalled(2).recovery, Action::Retry);
    let busy = Scene::new(Occasion::Heartbeat).with(|o| o.session.idle_ms = 299_999).assess();
    assert_eq!(busy.verdict, Verdict::Healthy);
}

#[test]
fn waiting_for_a_person_or_a_quota_is_no_stall() {
    // B4, B5
    for state in [SessionState::WaitingApproval, SessionState::WaitingQuota, SessionState::Idle] {
        let waits = Scene::new(Occasion::Heartbeat)
            .with(|o| (o.session.idle_ms, o.session.state) = (u64::MAX, state.clone()));
        assert_eq!(waits.assess().verdict, Verdict::Healthy, "{state:?}");
    }
}

#[test]
fn an_end_without_evidence_is_failed_or_interrupted() {
    let ended =
        |code, signal, by_host| Scene::new(Occasion::SessionEnded).exit(code, signal, by_host).assess();
    assert_eq!(ended(Some(1), None, false).verdict, Verdict::Failed);
    assert_eq!(ended(Some(1), None, false).recovery, Action::Retry);
    assert_eq!(ended(None, Some(9), false).verdict, Verdict::Failed);
    assert_eq!(ended(Some(143), None, false).verdict, Verdict::Interrupted);
    assert_eq!(ended(None, Some(15), false).verdict, Verdict::Interrupted);
    assert_eq!(ended(Some(0), None, true).verdict, Verdict::Interrupted);
    let wordless =
        Scene::new(Occasion::SessionEnded).exit(Some(1), None, false).with(|o| o.answer_bytes = 0).assess();
    assert!(wordless.reason.contains("without a word"), "{}", wordless.reason);
    assert_eq!(ended(None, Some(9), false).reason, "the agent was killed (signal 9)");
    // What its program printed last says why, where nothing else does.
    let failed = Scene::new(Occasion::PromptEnded)
        .signal(Channel::Terminal, "", "reading config\ncannot read config.toml\n")
        .signal(Channel::AgentEvent, "exit 3", "error")
        .assess();
    assert_eq!(failed.verdict, Verdict::Failed);
    assert!(failed.reason.contains("exit 3") && failed.reason.contains("cannot read"), "{}", failed.reason);
    // Evidence is stronger than who ended it.
    let exhausted =
        Scene::new(Occasion::SessionEnded).event("prompt_too_long").exit(Some(1), None, true).assess();
    assert_eq!(exhausted.verdict, Verdict::Exhausted);
    let done = Scene::new(Occasion::SessionEnded).event("end_turn").exit(Some(1), None, false).assess();
    assert_eq!(done.verdict, Verdict::Completed);
}

#[test]
fn an_agent_without_a_protocol_is_judged_by_its_terminal() {
    let line = "ERROR: The prompt size exceeds the context window size and cannot be processed.";
    let assessment = Scene::new(Occasion::SessionEnded)
        .signal(Channel::Terminal, "", line)
        .exit(Some(1), None, false)
        .assess();
    assert_eq!(assessment.verdict, Verdict::Exhausted);
    let remark = "INFO rate limit: 4999 of 5000 requests remain";
    let assessment = Scene::new(Occasion::SessionEnded)
        .signal(Channel::Terminal, "", remark)
        .exit(Some(1), None, false)
        .assess();
    assert_eq!(assessment.verdict, Verdict::Failed);
}

#[test]
fn a_full_context_is_warned_about_and_stops_nothing() {
    // D5
    let at = |used| {
        Scene::new(Occasion::Turn).with(|o| o.session.occupancy = sample::occupancy(used, 200_000)).assess()
    };
    assert_eq!((at(169_999).verdict, at(169_999).warning), (Verdict::Healthy, None));
    let warned = at(176_000);
    assert_eq!(warned.verdict, Verdict::Healthy);
    assert_eq!(warned.warning.as_deref(), Some("the context is 88% full (176k of 200k tokens)"));
    let unknown = Scene::new(Occasion::Turn).with(|o| o.session.occupancy.window_tokens = None).assess();
    assert_eq!(unknown.warning, None);
}

#[test]
fn phrases_and_thresholds_are_settings() {
    let given = [
        ("exhausted-phrases", SettingValue::Texts(vec!["my head is full".into()])),
        ("min-answer-bytes", SettingValue::Integer(0)),
    ];
    let mut host = MockHost::with_settings_of::<Resilience>(&given);
    let text = "My head is full.";
    let window = host.add_text(text);
    let observation = Observation {
        signals: vec![sample::signal(Channel::AgentText, "", text.len() as u32)],
        ..sample::exhaustion_observation(window)
    };
    assert_eq!(judged::judge(&host, observation).verdict, Verdict::Exhausted);
}
