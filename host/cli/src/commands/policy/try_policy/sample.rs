//! Sample questions, one for each function of the contract. Made of core's own types, so that the printed form is the accepted
//! one.

use baton_runtime::core::decision::{Assessment, Staleness, Verdict};
use baton_runtime::core::facts::{Capabilities, OccupancySource, SignalSource};
use baton_runtime::core::observation::{
    AssessTrigger, BudgetView, BudgetingObservation, CompactionObservation, CompletionObservation,
    ContextItem, ContextItemKind, GitView, HandoffObservation, HandoffReference, ObjectiveStatus,
    ObjectiveView, OccupancyView, OffloadingObservation, OmittedCounts, OriginView, PhaseView, PolicyQuery,
    PolicyRequest, ProgressView, PromptKind, RecoveryObservation, ReviewObservation, SessionObservation,
    SessionState, SessionView, SignalView, SplitLimits, SplitTrigger, SplittingObservation, StatusReportView,
    TextId, TextSpan, TurnView,
};
use baton_runtime::core::workflow::SplitTime;
use baton_runtime::core::{Seq, TextBlob, UnixMs};
use clap::ValueEnum;

/// The output of an agent whose window is full; the window of signals in the sample of `assess`.
const ERROR_TEXT: &str = "API Error: Prompt is too long";

/// The agent's answer in the sample of `complete`.
const ANSWERED: &str = "The lexer is done, and its tests pass. I have begun with the parser.";

/// The last words of the session before, in the samples of `brief` and `compose`.
const SPOKEN: &str = "The lexer is done; the parser reads expressions, and no statements yet.";

/// 2026-06-01 12:00 UTC.
const NOW: UnixMs = UnixMs(1_780_315_200_000);

/// A function of the contract, by the name that a question has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SampleQuestion {
    /// exhaustion.assess: a prompt that ended, and why
    #[value(alias = "exhaustion")]
    Assess,
    /// completion.decide: a prompt that was answered, with one objective reported as done of two
    #[value(alias = "completion")]
    Complete,
    /// recovery.decide: a session that failed
    #[value(alias = "recovery")]
    Recover,
    /// offloading.decide: a large result of a tool
    #[value(alias = "offloading")]
    Offload,
    /// compaction.decide: a window that is three quarters full
    Compaction,
    /// splitting.decide: a phase that begins with six objectives
    #[value(alias = "splitting")]
    Split,
    /// budgeting.decide: the same, and 25 turns
    #[value(alias = "budgeting")]
    Budget,
    /// prompting.compose: the prompt of a successor
    #[value(alias = "prompting")]
    Brief,
    /// handoff.compose: what an exhausted session leaves behind
    #[value(alias = "handoff")]
    Compose,
    /// review.assess: a document
    Review,
}

impl SampleQuestion {
    /// The question.
    pub(super) fn question(self) -> PolicyRequest {
        let (query, texts) = match self {
            SampleQuestion::Assess => (PolicyQuery::Exhaustion(Box::new(exhaustion())), vec![ERROR_TEXT]),
            SampleQuestion::Complete => (PolicyQuery::Completion(Box::new(completion())), vec![ANSWERED]),
            SampleQuestion::Recover => (PolicyQuery::Recovery(Box::new(recovery())), vec![ERROR_TEXT]),
            SampleQuestion::Offload => (PolicyQuery::Offloading(Box::new(offloading())), Vec::new()),
            SampleQuestion::Compaction => (PolicyQuery::Compaction(Box::new(compaction())), Vec::new()),
            SampleQuestion::Split => (PolicyQuery::Splitting(Box::new(splitting())), Vec::new()),
            SampleQuestion::Budget => (PolicyQuery::Budgeting(Box::new(budgeting())), Vec::new()),
            SampleQuestion::Brief => (PolicyQuery::Prompting(Box::new(handoff())), vec![SPOKEN]),
            SampleQuestion::Compose => (PolicyQuery::Handoff(Box::new(handoff())), vec![SPOKEN]),
            SampleQuestion::Review => {
                (PolicyQuery::Review(Box::new(review())), vec!["# Handoff\n\nWhere it stands: TBD\n"])
            }
        };
        PolicyRequest::new(query, texts.into_iter().map(TextBlob::new).collect())
    }
}

fn session() -> SessionView {
    SessionView {
        agent: "claude".into(),
        role: "executor".into(),
        state: SessionState::Idle,
        capabilities: Capabilities {
            reports_occupancy: true,
            compacts: true,
            takes_mcp: true,
            caps_turns: true,
            interrupts: true,
            reports_cost: true,
        },
        occupancy: OccupancyView {
            used_tokens: Some(150_000),
            window_tokens: Some(200_000),
            source: OccupancySource::Agent,
            age_ms: 0,
        },
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
        recent: vec![turn(6, 130_000), turn(7, 150_000)],
    }
}

fn turn(ordinal: u32, used_tokens: u64) -> TurnView {
    TurnView {
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

fn phase(done: u32, open: u32) -> PhaseView {
    PhaseView {
        id: "build".into(),
        title: "Build the parser".into(),
        mode: "standard".into(),
        depth: 0,
        budget: BudgetView {
            turns: Some(25),
            turns_used: 7,
            continuations: 3,
            continuations_used: 0,
            retries: 2,
            retries_used: 0,
        },
        progress: ProgressView { done, open, failed: 0, done_by_session: done },
        expects_files: true,
        accept: None,
        check: None,
        check_passed: None,
        depends_on: 0,
        origin: OriginView::default(),
        complex: false,
        iteration: None,
        tree: None,
    }
}

fn objective(id: &str, status: ObjectiveStatus) -> ObjectiveView {
    ObjectiveView {
        status,
        files: 1,
        ..ObjectiveView::new(id.into(), format!("Write src/{id}.rs, with tests."))
    }
}

fn git() -> Option<GitView> {
    Some(GitView { branch: Some("main".into()), ..GitView::default() })
}

fn exhaustion() -> SessionObservation {
    SessionObservation {
        occasion: AssessTrigger::PromptEnded,
        session: session(),
        phase: phase(1, 1),
        signals: vec![SignalView {
            seq: Seq(40),
            channel: SignalSource::ProviderError,
            age_ms: 0,
            prompt: 2,
            code: Some("prompt_too_long".into()),
            status: None,
            resets_at_ms: None,
            retrying: false,
            text: TextSpan { start: 0, end: ERROR_TEXT.len() as u32 },
        }],
        window: TextId(0),
        answer_bytes: 0,
        files_changed: 1,
        phase_files_changed: 1,
        files_missing: 0,
        objectives: vec![objective("parser", ObjectiveStatus::InProgress)],
        others_open: Vec::new(),
        handoff_reported: false,
        handoff: None,
        nudges: 0,
        asked_at_ms: NOW,
        utc_offset_minutes: 0,
        git: git(),
        split_request: None,
        review_missing: false,
        report_not_taken: None,
        imported: false,
        attributes: Vec::new(),
    }
}

/// How the session of the sample ended, by a policy.
fn assessment(verdict: Verdict, reason: &str) -> Assessment {
    Assessment { verdict, evidence: Vec::new(), warning: None, reason: reason.to_owned() }
}

fn completion() -> CompletionObservation {
    let reported = StatusReportView {
        status: ObjectiveStatus::Done,
        note: String::new(),
        by_session: true,
        changed_since: None,
    };
    let lexer = ObjectiveView { reported: Some(reported), ..objective("lexer", ObjectiveStatus::Done) };
    let session = SessionObservation {
        signals: vec![SignalView {
            seq: Seq(40),
            channel: SignalSource::AgentText,
            age_ms: 0,
            prompt: 2,
            code: None,
            status: None,
            resets_at_ms: None,
            retrying: false,
            text: TextSpan { start: 0, end: ANSWERED.len() as u32 },
        }],
        answer_bytes: ANSWERED.len() as u64,
        objectives: vec![lexer, objective("parser", ObjectiveStatus::InProgress)],
        ..exhaustion()
    };
    CompletionObservation { session, assessment: assessment(Verdict::Answered, "the prompt was answered") }
}

fn recovery() -> RecoveryObservation {
    let assessment = assessment(Verdict::Failed, "the agent reports an error");
    RecoveryObservation {
        session: exhaustion(),
        assessment,
        completion: None,
        other_roles: Some(vec!["senior".to_owned()]),
    }
}

fn offloading() -> OffloadingObservation {
    let item = ContextItem { id: "tool-result-1".into(), kind: ContextItemKind::ToolResult, tokens: 25_000 };
    OffloadingObservation {
        session: session(),
        phase: phase(1, 1),
        items: vec![item],
        attributes: Vec::new(),
    }
}

fn budgeting() -> BudgetingObservation {
    let SplittingObservation { phase, objectives, workspace_files, .. } = splitting();
    BudgetingObservation {
        phase,
        role: "executor".into(),
        objectives,
        workspace_files,
        base_turns: Some(25),
        spent: None,
        attributes: Vec::new(),
    }
}

fn compaction() -> CompactionObservation {
    CompactionObservation {
        session: session(),
        phase: phase(1, 1),
        refilled_within_turns: None,
        attributes: Vec::new(),
    }
}

fn splitting() -> SplittingObservation {
    let ids = ["lexer", "parser", "checker", "printer", "repl", "docs"];
    SplittingObservation {
        occasion: SplitTrigger::PhaseStart,
        phase: phase(0, ids.len() as u32),
        objectives: ids.into_iter().map(|id| objective(id, ObjectiveStatus::Open)).collect(),
        requested: None,
        limits: SplitLimits { parts: 26, depth: 2 },
        wish: SplitTime::During,
        files_changed: 0,
        workspace_files: 40,
        recent: Vec::new(),
        window_tokens: Some(200_000),
        git: git(),
        attributes: Vec::new(),
    }
}

fn handoff() -> HandoffObservation {
    HandoffObservation {
        kind: PromptKind::Continuing,
        phase: phase(1, 1),
        session: session(),
        objectives: vec![
            objective("lexer", ObjectiveStatus::Done),
            objective("parser", ObjectiveStatus::InProgress),
        ],
        focus: vec!["parser".into()],
        goal: "A parser for the little language.".into(),
        changed_files: Vec::new(),
        attempts: Vec::new(),
        decisions: Vec::new(),
        artifacts: Vec::new(),
        newest_handoff: Some(HandoffReference {
            path: ".baton/r1/handoffs/phase-build-handoff.md".into(),
            staleness: Staleness::Fresh,
            found: None,
        }),
        inbox_path: ".baton/r1/inbox".into(),
        because: Some("The context window is used up.".into()),
        last_output: Some(TextId(0)),
        findings: None,
        git: git(),
        asked_at_ms: NOW,
        gotchas: vec!["`cargo test` needs a network here; use `--offline`.".into()],
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
        beyond: OmittedCounts::default(),
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

fn review() -> ReviewObservation {
    ReviewObservation {
        document: TextId(0),
        missing_files: vec!["src/gone.rs".into()],
        secrets: Vec::new(),
        commits_since: 3,
        diverged: false,
        open_objectives: vec!["parser".into()],
        attributes: Vec::new(),
    }
}
