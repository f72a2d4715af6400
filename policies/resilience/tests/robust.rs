//! No observation, however strange, makes the policy panic, and what it answers keeps to the contract.

use baton_policy_resilience::Resilience;
use baton_sdk::exhaustion::{Occasion, Verdict};
use baton_sdk::handoff::{Attempt, Kind};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, sample};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Texts with what matters to the policy in them: phrases, line ends, quotes, braces, wide characters.
fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "prompt is too long",
        "usage limit reached|",
        "1762952400",
        "rate limit",
        "context window",
        "exceeds",
        "\n",
        "\r\n",
        " ",
        "é",
        "漢",
        "🦀",
        "`",
        "\"",
        "{",
        "error",
        ":",
        "> ",
        "- [x] ",
        "[TODO",
        "## Current State",
        "word",
        "\0",
    ];
    vec(select(pieces.to_vec()), 0..60).prop_map(|pieces| pieces.concat())
}

fn channel() -> impl Strategy<Value = Channel> {
    select(vec![
        Channel::AgentEvent,
        Channel::ProviderError,
        Channel::AgentText,
        Channel::Terminal,
        Channel::ToolOutput,
    ])
}

fn code() -> impl Strategy<Value = String> {
    let codes = [
        "",
        "end_turn",
        "prompt_too_long",
        "rate_limit",
        "max_tokens",
        "api_error",
        "cancelled",
        "weiß nicht",
    ];
    select(codes.to_vec()).prop_map(str::to_owned)
}

prop_compose! {
    fn signal()(
        seq in any::<u64>(), channel in channel(), age_ms in any::<u64>(), prompt in 0u32..4, code in code(),
        status in select(vec![None, Some(200), Some(429), Some(402), Some(503)]), resets_at_ms in any::<Option<u64>>(),
        retrying in any::<bool>(), start in 0u32..400, end in prop_oneof![0u32..600, Just(u32::MAX)],
    ) -> Signal {
        Signal { seq, channel, age_ms, prompt, code: Some(code), status, resets_at_ms, retrying, text: Span { start, end } }
    }
}

prop_compose! {
    fn session()(
        state in select(vec![
            SessionState::Starting, SessionState::Idle, SessionState::Working, SessionState::WaitingApproval,
            SessionState::WaitingQuota, SessionState::Compacting, SessionState::Ended,
        ]),
        used in any::<Option<u64>>(), window in any::<Option<u64>>(), prompts in 0u32..4, idle_ms in any::<u64>(),
        exit in proptest::option::of((any::<Option<i32>>(), any::<Option<i32>>(), any::<bool>())),
        bits in any::<u8>(), tokens in vec(any::<Option<u64>>(), 0..5), rereads in 0u32..20,
    ) -> Session {
        let mut session = sample::session();
        session.state = state;
        session.occupancy.used_tokens = used;
        session.occupancy.window_tokens = window;
        session.prompts = prompts;
        session.idle_ms = idle_ms;
        session.exit = exit.map(|(code, signal, by_host)| Exit { code, signal, by_host });
        session.capabilities = Capabilities::from_bits_truncate(bits);
        session.recent = tokens
            .into_iter()
            .enumerate()
            .map(|(n, used_tokens)| Turn { used_tokens, rereads, ..sample::turn(n as u32, 0) })
            .collect();
        session
    }
}

fn objectives() -> impl Strategy<Value = Vec<Objective>> {
    let status = select(vec![
        ObjectiveStatus::Open,
        ObjectiveStatus::InProgress,
        ObjectiveStatus::Done,
        ObjectiveStatus::Failed,
    ]);
    vec((text(), text(), status, any::<u32>(), any::<u32>()), 0..12).prop_map(|objectives| {
        let objective = |(id, description, status, attempts, files): (String, String, _, _, _)| Objective {
            status,
            attempts,
            files,
            ..sample::objective(&id, &description)
        };
        objectives.into_iter().map(objective).collect()
    })
}

proptest! {
    // A failing case is shown; there is no file of old ones to keep.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn assess_answers_everything(
        window in text(), signals in vec(signal(), 0..8), session in session(), answer_bytes in any::<u64>(),
        files_changed in any::<u32>(), files_missing in any::<u32>(), nudges in any::<u32>(),
        occasion in select(vec![
            Occasion::Turn, Occasion::Signal, Occasion::PromptEnded, Occasion::SessionEnded, Occasion::Heartbeat,
        ]),
    ) {
        let mut host = MockHost::with_settings_of::<Resilience>(&[]);
        let window = host.add_text(window);
        let assessment = <Resilience as Exhaustion>::assess(&host, exhaustion::Observation {
            occasion: occasion.clone(), session, signals, answer_bytes, files_changed, files_missing, nudges,
            ..sample::exhaustion_observation(window)
        }).unwrap();
        let over = matches!(occasion, Occasion::PromptEnded | Occasion::SessionEnded);
        prop_assert_eq!(over && assessment.verdict == Verdict::Healthy, false);
        for evidence in &assessment.evidence {
            prop_assert!(evidence.text.len() <= 200);
            prop_assert!(evidence.channel != Channel::ToolOutput);
        }
        prop_assert!(!assessment.reason.is_empty());
    }

    #[test]
    fn compaction_and_splitting_answer_everything(
        session in session(), refilled in any::<u32>(), objectives in objectives(), depth in any::<u32>(),
        base in any::<u32>(), window_tokens in any::<Option<u64>>(),
        occasion in select(vec![
            splitting::Occasion::PhaseStart, splitting::Occasion::Boundary, splitting::Occasion::Requested,
            splitting::Occasion::OutOfContinuations,
        ]),
    ) {
        let host = MockHost::with_settings_of::<Resilience>(&[]);
        let mut phase = sample::phase();
        phase.depth = depth;
        let recent = session.recent.clone();
        <Resilience as Compaction>::decide(&host, compaction::Observation {
            session, phase: phase.clone(), refilled_within_turns: Some(refilled), ..sample::compaction_observation()
        }).unwrap();
        let scope = splitting::Observation {
            occasion, phase, objectives: objectives.clone(), recent, window_tokens, ..sample::splitting_observation()
        };
        let budget = budgeting::Observation {
            phase: scope.phase.clone(), objectives: objectives.clone(), base_turns: Some(base),
            ..sample::budgeting_observation()
        };
        prop_assert!(<Resilience as Budgeting>::decide(&host, budget).unwrap().max_turns >= Some(base));
        if let splitting::Action::Split(parts) = <Resilience as Splitting>::decide(&host, scope).unwrap().action {
            let open = objectives.iter().filter(|o| matches!(o.status, ObjectiveStatus::Open | ObjectiveStatus::InProgress));
            let given: usize = parts.iter().map(|part| part.objectives.len()).sum();
            prop_assert_eq!(given, open.count());
            prop_assert!(parts.len() >= 2 && parts.iter().all(|part| !part.objectives.is_empty()));
        }
    }

    #[test]
    fn handoffs_answer_everything(
        objectives in objectives(), last in text(), findings in text(), words in vec(text(), 0..20), session in session(),
        kind in select(vec![
            Kind::First, Kind::Next, Kind::Continuing, Kind::ReOriented, Kind::Nudged, Kind::Reviewing, Kind::Merging,
        ]),
    ) {
        let mut host = MockHost::with_settings_of::<Resilience>(&[]);
        let (last, findings) = (host.add_text(last), host.add_text(findings));
        let attempt = |word: &String| Attempt { approach: word.clone(), outcome: word.clone(), by_person: false };
        let o = handoff::Observation {
            session,
            focus: objectives.iter().take(2).map(|objective| objective.id.clone()).collect(),
            objectives,
            attempts: words.iter().map(attempt).collect(),
            decisions: words.iter().map(attempt).collect(),
            because: Some(words.concat()),
            ..sample::handoff_observation(kind, Some(last), Some(findings))
        };
        let prompt = <Resilience as Prompting>::compose(&host, o.clone()).unwrap().text();
        prop_assert!(prompt.len() <= 32 << 10);
        prop_assert_eq!(prompt.lines().filter(|line| *line == "## Your objective").count(), 1);
        let document = <Resilience as Handoff>::compose(&host, o).unwrap().document_text();
        prop_assert!(document.lines().count() <= 60);
    }

    #[test]
    fn review_answers_everything(document in text(), missing in vec(text(), 0..12), commits_since in any::<u32>()) {
        let mut host = MockHost::with_settings_of::<Resilience>(&[]);
        let document = host.add_text(document);
        let review = <Resilience as Review>::assess(&host, review::Observation {
            document, missing_files: missing, secrets: Vec::new(), commits_since, diverged: false,
            open_objectives: Vec::new(), attributes: Vec::new(),
        }).unwrap();
        let costs: u32 = review.findings.iter().map(|finding| finding.cost).sum();
        prop_assert_eq!(review.score, 100u32.saturating_sub(costs));
    }
}
