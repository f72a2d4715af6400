//! Observations to start a native test from: a session of the second prompt, healthy, in a phase of two objectives.
//! A test changes the fields that it is about.
//!
//! ```
//! use baton_sdk::sample;
//!
//! let mut observation = sample::splitting_observation();
//! observation.objectives = (1..=6).map(|n| sample::objective(&format!("o{n}"), "Write a file")).collect();
//! assert_eq!(observation.objectives[5].id, "o6");
//! ```

use crate::types::{
    Budget, Capabilities, Channel, GitFacts, Objective, ObjectiveStatus, Occupancy, OccupancySource, Origin,
    Phase, Progress, Session, SessionState, Signal, Span, TextId, Turn,
};
use crate::{
    PastCompaction, PastHandoff, PastSession, PastWait, TurnTaken, budgeting, compaction, completion,
    exhaustion, handoff, offloading, prompting, recovery, review, splitting,
};

/// 2026-06-01 12:00 UTC.
pub(crate) const NOON: u64 = 1_780_315_200_000;

/// A session between two prompts, at half of a window of 200,000 tokens.
///
/// ```
/// let session = baton_sdk::sample::session();
/// assert_eq!(session.occupancy.percent(), Some(50.0));
/// ```
pub fn session() -> Session {
    Session {
        agent: "rehearsal".into(),
        role: "executor".into(),
        state: SessionState::Idle,
        capabilities: Capabilities::REPORTS_OCCUPANCY | Capabilities::COMPACTS | Capabilities::INTERRUPTS,
        occupancy: occupancy(100_000, 200_000),
        continuation: 0,
        prompts: 2,
        turns: 7,
        max_turns: Some(25),
        compactions: 0,
        turns_since_compaction: None,
        billed_input_tokens: 400_000,
        billed_output_tokens: 9_000,
        idle_ms: 1_000,
        active_ms: 120_000,
        exit: None,
        recent: vec![turn(6, 90_000), turn(7, 100_000)],
    }
}

/// A session of the phase that is over: its window of 200,000 tokens was used up.
///
/// ```
/// assert_eq!(baton_sdk::sample::past_session("s1").ended_by.as_deref(), Some("exhausted"));
/// ```
pub fn past_session(id: &str) -> PastSession {
    PastSession {
        id: id.into(),
        agent: "rehearsal".into(),
        role: "executor".into(),
        ended_by: Some("exhausted".into()),
        objectives_done: 1,
        turns: 20,
        compactions: 0,
        peak_tokens: Some(190_000),
        window_tokens: Some(200_000),
    }
}

/// A turn of half a minute.
///
/// ```
/// assert_eq!(baton_sdk::sample::turn_taken(7).ordinal, 7);
/// ```
pub fn turn_taken(ordinal: u32) -> TurnTaken {
    TurnTaken {
        ordinal,
        ended_at_ms: 1_764_000_000_000,
        took_ms: 30_000,
        billed_input_tokens: 90_000,
        billed_output_tokens: 1_200,
        cost_microusd: Some(45_000),
        model: Some("rehearsal-1".into()),
    }
}

/// An agent that made room by itself at 160,000 tokens.
///
/// ```
/// assert!(!baton_sdk::sample::past_compaction("s1").by_host);
/// ```
pub fn past_compaction(session: &str) -> PastCompaction {
    PastCompaction {
        session: session.into(),
        turn: 12,
        ended_at_ms: 1_764_000_000_000,
        by_host: false,
        before_tokens: Some(160_000),
        after_tokens: Some(30_000),
    }
}

/// A wait of an hour for a provider's allowance.
///
/// ```
/// let wait = baton_sdk::sample::past_wait();
/// assert_eq!(wait.ended_at_ms, Some(wait.began_at_ms + 3_600_000));
/// ```
pub fn past_wait() -> PastWait {
    PastWait {
        cause: exhaustion::QuotaCause::Usage,
        began_at_ms: 1_764_000_000_000,
        ended_at_ms: Some(1_764_003_600_000),
    }
}

/// A handoff that was found fit.
///
/// ```
/// assert_eq!(baton_sdk::sample::past_handoff("s1").session, "s1");
/// ```
pub fn past_handoff(session: &str) -> PastHandoff {
    PastHandoff {
        path: "docs/handoffs/build-1.md".into(),
        session: session.into(),
        score: Some(95),
        staleness: Some(review::Staleness::Fresh),
    }
}

/// Fresh numbers from the agent itself.
///
/// ```
/// assert_eq!(baton_sdk::sample::occupancy(150_000, 200_000).percent(), Some(75.0));
/// ```
pub fn occupancy(used_tokens: u64, window_tokens: u64) -> Occupancy {
    Occupancy {
        used_tokens: Some(used_tokens),
        window_tokens: Some(window_tokens),
        source: OccupancySource::Agent,
        age_ms: 0,
    }
}

/// A turn of the second prompt.
///
/// ```
/// let turn = baton_sdk::sample::turn(7, 100_000);
/// assert_eq!((turn.ordinal, turn.used_tokens), (7, Some(100_000)));
/// ```
pub fn turn(ordinal: u32, used_tokens: u64) -> Turn {
    Turn {
        ordinal,
        prompt: 2,
        used_tokens: Some(used_tokens),
        output_tokens: 500,
        tool_calls: 2,
        rereads: 0,
        tool_output_bytes: 4_000,
        text_bytes: 200,
    }
}

/// A phase with one of two objectives done.
///
/// ```
/// let phase = baton_sdk::sample::phase();
/// assert_eq!((phase.progress.done, phase.progress.open), (1, 1));
/// ```
pub fn phase() -> Phase {
    Phase {
        id: "build".into(),
        title: "Build the parser".into(),
        mode: "standard".into(),
        depth: 0,
        budget: Budget {
            turns: Some(25),
            turns_used: 7,
            continuations: 3,
            continuations_used: 0,
            retries: 2,
            retries_used: 0,
        },
        progress: Progress { done: 1, open: 1, failed: 0, done_by_session: 1 },
        expects_files: true,
        accept: None,
        check: None,
        check_passed: None,
        depends_on: 0,
        origin: Origin::Workflow,
        complex: false,
        iteration: None,
        tree: None,
    }
}

/// An open objective that should produce one file.
///
/// ```
/// use baton_sdk::types::ObjectiveStatus;
///
/// let lexer = baton_sdk::sample::objective("lexer", "Write src/lexer.rs");
/// assert_eq!(lexer.status, ObjectiveStatus::Open);
/// ```
pub fn objective(id: &str, description: &str) -> Objective {
    Objective {
        id: id.into(),
        description: description.into(),
        status: ObjectiveStatus::Open,
        attempts: 0,
        files: 1,
        expected_files: Vec::new(),
        check: None,
        check_passed: None,
        reported: None,
        done_by: None,
    }
}

/// A work tree on `main`, clean.
///
/// ```
/// assert_eq!(baton_sdk::sample::git().branch.as_deref(), Some("main"));
/// ```
pub fn git() -> GitFacts {
    GitFacts { branch: Some("main".into()), commits_since: 0, dirty_files: 0 }
}

/// A signal of the second prompt, just now, whose text fills the whole of a window of `bytes`.
///
/// ```
/// use baton_sdk::{MockHost, Host, sample, types::Channel};
///
/// let said = "429: too many requests";
/// let mut host = MockHost::new();
/// let window = host.add_text(said);
/// let signal = sample::signal(Channel::ProviderError, "rate_limit", said.len() as u32);
/// assert_eq!(host.text_slice(window, signal.text), said);
/// ```
pub fn signal(channel: Channel, code: &str, bytes: u32) -> Signal {
    Signal {
        seq: 40,
        channel,
        age_ms: 0,
        prompt: 2,
        code: Some(code.into()).filter(|code: &String| !code.is_empty()),
        status: None,
        resets_at_ms: None,
        retrying: false,
        text: Span { start: 0, end: bytes },
    }
}

/// A prompt that ended with a good answer and a changed file, without any signal.
///
/// ```
/// use baton_sdk::{MockHost, sample};
///
/// let mut host = MockHost::new();
/// let observation = sample::exhaustion_observation(host.add_text(""));
/// assert!(observation.signals.is_empty() && observation.answer_bytes > 0);
/// ```
pub fn exhaustion_observation(window: TextId) -> exhaustion::Observation {
    exhaustion::Observation {
        occasion: exhaustion::Occasion::PromptEnded,
        session: session(),
        phase: phase(),
        signals: Vec::new(),
        window,
        answer_bytes: 400,
        files_changed: 1,
        phase_files_changed: 1,
        files_missing: 0,
        objectives: Vec::new(),
        others_open: Vec::new(),
        handoff_reported: false,
        handoff: None,
        nudges: 0,
        asked_at_ms: NOON,
        utc_offset_minutes: 0,
        git: Some(git()),
        split_request: None,
        review_missing: false,
        report_not_taken: None,
        imported: false,
        attributes: Vec::new(),
    }
}

/// A prompt that was answered.
///
/// ```
/// assert_eq!(baton_sdk::sample::assessment().verdict, baton_sdk::exhaustion::Verdict::Answered);
/// ```
pub fn assessment() -> exhaustion::Assessment {
    exhaustion::Assessment {
        verdict: exhaustion::Verdict::Answered,
        evidence: Vec::new(),
        warning: None,
        reason: "the prompt was answered".into(),
    }
}

/// The same prompt, answered, with one objective to judge.
///
/// ```
/// use baton_sdk::{MockHost, sample};
///
/// let observation = sample::completion_observation(MockHost::new().add_text(""));
/// assert_eq!(observation.session.objectives[0].id, "parser");
/// ```
pub fn completion_observation(window: TextId) -> completion::Observation {
    let session = exhaustion::Observation {
        objectives: vec![objective("parser", "Write src/parser.rs")],
        ..exhaustion_observation(window)
    };
    completion::Observation { session, assessment: assessment() }
}

/// The same prompt, of which nothing shows that its objective is done.
///
/// ```
/// use baton_sdk::{MockHost, exhaustion::Verdict, sample};
///
/// let mut observation = sample::recovery_observation(MockHost::new().add_text(""));
/// (observation.assessment.verdict, observation.completion) = (Verdict::Failed, None);
/// ```
pub fn recovery_observation(window: TextId) -> recovery::Observation {
    let completion::Observation { session, assessment } = completion_observation(window);
    let completion = completion::Decision {
        done: Vec::new(),
        evidence: Vec::new(),
        reason: "nothing shows that parser is done".into(),
    };
    recovery::Observation {
        session,
        assessment,
        completion: Some(completion),
        other_roles: vec!["senior".into()],
    }
}

/// One large result of a tool.
///
/// ```
/// assert_eq!(baton_sdk::sample::offloading_observation().items[0].tokens, 9_000);
/// ```
pub fn offloading_observation() -> offloading::Observation {
    let item =
        offloading::Item { id: "result-1".into(), kind: offloading::ItemKind::ToolResult, tokens: 9_000 };
    offloading::Observation { session: session(), phase: phase(), items: vec![item], attributes: Vec::new() }
}

/// A phase of two small objectives, with 25 turns of the table.
///
/// ```
/// assert_eq!(baton_sdk::sample::budgeting_observation().base_turns, Some(25));
/// ```
pub fn budgeting_observation() -> budgeting::Observation {
    let splitting::Observation { phase, objectives, workspace_files, attributes, .. } =
        splitting_observation();
    let role = "executor".into();
    let base_turns = Some(25);
    budgeting::Observation { phase, role, objectives, workspace_files, base_turns, spent: None, attributes }
}

/// Between two prompts, nothing to do.
///
/// ```
/// use baton_sdk::sample;
///
/// let mut observation = sample::compaction_observation();
/// observation.session.occupancy = sample::occupancy(150_000, 200_000);
/// assert_eq!(observation.session.occupancy.percent(), Some(75.0));
/// ```
pub fn compaction_observation() -> compaction::Observation {
    compaction::Observation {
        session: session(),
        phase: phase(),
        refilled_within_turns: None,
        attributes: Vec::new(),
    }
}

/// A phase that is about to start with two small objectives, of a workflow that says nothing of splits.
///
/// ```
/// let mut observation = baton_sdk::sample::splitting_observation();
/// assert_eq!(observation.objectives.len(), 2);
/// observation.limits.parts = 4;
/// ```
pub fn splitting_observation() -> splitting::Observation {
    splitting::Observation {
        occasion: splitting::Occasion::PhaseStart,
        phase: phase(),
        objectives: vec![
            objective("lexer", "Write src/lexer.rs"),
            objective("parser", "Write src/parser.rs"),
        ],
        requested: None,
        limits: splitting::Limits { parts: 26, depth: 2 },
        wish: splitting::Time::During,
        files_changed: 0,
        workspace_files: 40,
        recent: Vec::new(),
        window_tokens: Some(200_000),
        git: Some(git()),
        attributes: Vec::new(),
    }
}

/// A document to review that nothing was found wrong with.
///
/// ```
/// use baton_sdk::{MockHost, sample};
///
/// let mut host = MockHost::new();
/// let mut observation = sample::review_observation(host.add_text("# Handoff"));
/// observation.secrets.push("api-key".into());
/// ```
pub fn review_observation(document: TextId) -> review::Observation {
    review::Observation {
        document,
        missing_files: Vec::new(),
        secrets: Vec::new(),
        commits_since: 0,
        diverged: false,
        open_objectives: Vec::new(),
        attributes: Vec::new(),
    }
}

/// The first prompt of a phase.
///
/// ```
/// use baton_sdk::{MockHost, prompting::Kind, sample};
///
/// let mut host = MockHost::new();
/// let last_output = host.add_text("The lexer is done.");
/// let observation = sample::handoff_observation(Kind::Continuing, Some(last_output), None);
/// assert_eq!(observation.focus, ["parser"]);
/// ```
pub fn handoff_observation(
    kind: prompting::Kind,
    last_output: Option<TextId>,
    findings: Option<TextId>,
) -> handoff::Observation {
    handoff::Observation {
        kind,
        phase: phase(),
        session: session(),
        objectives: vec![
            Objective { status: ObjectiveStatus::Done, ..objective("lexer", "Write src/lexer.rs") },
            objective("parser", "Write src/parser.rs"),
        ],
        focus: vec!["parser".into()],
        goal: "A parser for the little language.".into(),
        changed_files: Vec::new(),
        attempts: Vec::new(),
        decisions: Vec::new(),
        artifacts: Vec::new(),
        newest_handoff: None,
        inbox_path: ".baton/r1/inbox".into(),
        because: None,
        last_output,
        findings,
        git: Some(git()),
        asked_at_ms: NOON,
        gotchas: Vec::new(),
        patterns: Vec::new(),
        commands: Vec::new(),
        reads: Vec::new(),
        lessons: Vec::new(),
        entry_points: Vec::new(),
        context_files: Vec::new(),
        reported: None,
        commits: Vec::new(),
        verification: None,
        remarks: Vec::new(),
        facts_path: None,
        beyond: handoff::Beyond::default(),
        words_withheld: None,
        plans_first: false,
        as_lead: false,
        compacted: false,
        reports_as: None,
        result_file: None,
        result_files: Vec::new(),
        conflict: None,
        attributes: Vec::new(),
    }
}
