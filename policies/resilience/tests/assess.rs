//! What decides when signals, outcomes and silence come together, as real agents send them.

use baton_policy_resilience::Resilience;
use baton_sdk::exhaustion::{Assessment, Observation, Occasion, Quota, QuotaCause, Recovery, Verdict};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, sample};

/// A session with signals, built up line by line.
struct Scene {
    window: String,
    observation: Observation,
}

impl Scene {
    fn new(occasion: Occasion) -> Self {
        let mut observation = Observation { occasion, ..sample::exhaustion_observation(0) };
        match occasion {
            Occasion::PromptEnded => {}
            Occasion::SessionEnded => observation.session.state = SessionState::Ended,
            _ => observation.session.state = SessionState::Working,
        }
        Self { window: String::new(), observation }
    }

    fn signal(mut self, channel: Channel, code: &str, text: &str) -> Self {
        let start = self.window.len() as u32;
        self.window.push_str(text);
        let seq = self.observation.signals.last().map_or(40, |signal| signal.seq + 1);
        let text = Span { start, end: self.window.len() as u32 };
        self.observation.signals.push(Signal { seq, text, ..sample::signal(channel, code, 0) });
        self
    }

    fn event(self, code: &str) -> Self {
        self.signal(Channel::AgentEvent, code, "")
    }

    fn last(mut self, change: impl FnOnce(&mut Signal)) -> Self {
        change(self.observation.signals.last_mut().unwrap());
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Observation)) -> Self {
        change(&mut self.observation);
        self
    }

    fn exit(self, code: Option<i32>, signal: Option<i32>, by_host: bool) -> Self {
        self.with(|o| o.session.exit = Some(Exit { code, signal, by_host }))
    }

    fn assess(self) -> Assessment {
        let mut host = MockHost::with_settings_of::<Resilience>(&[]);
        let window = host.add_text(self.window);
        Resilience::assess(&host, Observation { window, ..self.observation })
    }
}

fn quota(cause: QuotaCause, until_ms: Option<u64>) -> Verdict {
    Verdict::Quota(Quota { cause, until_ms })
}

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
            assert_eq!((assessment.evidence[0].seq, assessment.evidence[0].text.as_str()), (40, code));
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
        assert_eq!(assessment.recovery, Recovery::Wait);
    }
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
fn limits_are_waited_for_in_place_while_the_agent_retries() {
    // B4
    let retrying = |occasion| {
        Scene::new(occasion)
            .signal(Channel::ProviderError, "rate_limit", "")
            .last(|signal| (signal.retrying, signal.status) = (true, Some(429)))
    };
    let assessment = retrying(Occasion::Signal).assess();
    assert_eq!(assessment.verdict, quota(QuotaCause::Rate, None));
    assert_eq!(assessment.recovery, Recovery::Wait);
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
fn the_reset_comes_from_a_field_or_from_an_epoch_in_the_text() {
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
    assert_eq!(relative.assess().verdict, quota(QuotaCause::Rate, None));
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
    assert!(matches!(cause_in_the_text.recovery, Recovery::Pause(_)));
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
    assert_eq!(empty(0).recovery, Recovery::Nudge);
    assert_eq!(empty(2).recovery, Recovery::NewSession);
    let changed = Scene::new(Occasion::PromptEnded).event("end_turn").with(|o| o.answer_bytes = 0).assess();
    assert_eq!(changed.verdict, Verdict::Completed);
    let talked = Scene::new(Occasion::PromptEnded).event("end_turn").with(|o| o.files_changed = 0).assess();
    assert_eq!(talked.verdict, Verdict::Completed);
}

#[test]
fn done_without_the_files_of_the_objective_is_not_done() {
    // A4, A5
    let assessment =
        Scene::new(Occasion::PromptEnded).event("end_turn").with(|o| o.files_missing = 2).assess();
    assert_eq!(assessment.verdict, Verdict::Truncated);
    assert_eq!(assessment.recovery, Recovery::Nudge);
    assert!(assessment.reason.contains("2 files"), "{}", assessment.reason);
}

#[test]
fn a_stall_is_nudged_then_interrupted_then_ended() {
    let stalled = |nudges| {
        Scene::new(Occasion::Heartbeat).with(|o| (o.session.idle_ms, o.nudges) = (300_000, nudges)).assess()
    };
    assert_eq!((stalled(0).verdict, stalled(0).recovery), (Verdict::Stalled, Recovery::Nudge));
    assert_eq!(stalled(1).recovery, Recovery::Interrupt);
    assert_eq!(stalled(2).recovery, Recovery::NewSession);
    let busy = Scene::new(Occasion::Heartbeat).with(|o| o.session.idle_ms = 299_999).assess();
    assert_eq!(busy.verdict, Verdict::Healthy);
}

#[test]
fn waiting_for_a_person_or_a_quota_is_no_stall() {
    // B4, B5
    for state in [SessionState::WaitingApproval, SessionState::WaitingQuota, SessionState::Idle] {
        let waits = Scene::new(Occasion::Heartbeat)
            .with(|o| (o.session.idle_ms, o.session.state) = (u64::MAX, state));
        assert_eq!(waits.assess().verdict, Verdict::Healthy, "{state:?}");
    }
}

#[test]
fn an_end_without_evidence_is_failed_or_interrupted() {
    let ended =
        |code, signal, by_host| Scene::new(Occasion::SessionEnded).exit(code, signal, by_host).assess();
    assert_eq!(ended(Some(1), None, false).verdict, Verdict::Failed);
    assert_eq!(ended(Some(1), None, false).recovery, Recovery::NewSession);
    assert_eq!(ended(None, Some(9), false).verdict, Verdict::Failed);
    assert_eq!(ended(Some(143), None, false).verdict, Verdict::Interrupted);
    assert_eq!(ended(None, Some(15), false).verdict, Verdict::Interrupted);
    assert_eq!(ended(Some(0), None, true).verdict, Verdict::Interrupted);
    let wordless =
        Scene::new(Occasion::SessionEnded).exit(Some(1), None, false).with(|o| o.answer_bytes = 0).assess();
    assert!(wordless.reason.contains("without a word"), "{}", wordless.reason);
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
    assert_eq!(Resilience::assess(&host, observation).verdict, Verdict::Exhausted);
}
