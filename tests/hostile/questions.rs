//! Questions as core would put them, small and complete. Nothing here is asserted.

#![allow(dead_code, unreachable_pub)] // Several test binaries use it, each its part.

use baton_core::decision::{Assessment, Staleness, Verdict};
use baton_core::facts::{Capabilities, SignalSource};
use baton_core::observation::{
    AssessTrigger, BudgetView, BudgetingObservation, ChangedFileView, CompactionObservation,
    CompletionObservation, ContextItem, ContextItemKind, HandoffObservation, HandoffReference,
    ObjectiveStatus, ObjectiveView, OccupancyView, OffloadingObservation, OmittedCounts, OriginView,
    PhaseView, PolicyQuery, PolicyRequest, ProgressView, PromptKind, RecoveryObservation, ReviewObservation,
    SessionObservation, SessionState, SessionView, SignalView, SplitLimits, SplitTrigger,
    SplittingObservation, TextId, TextSpan, TurnView,
};
use baton_core::workflow::SplitTime;
use baton_core::{Seq, TextBlob, UnixMs};

pub fn session() -> SessionView {
    SessionView {
        agent: "rehearsal".to_owned(),
        role: "executor".to_owned(),
        state: SessionState::Idle,
        capabilities: Capabilities { compacts: true, ..Capabilities::default() },
        occupancy: OccupancyView::default(),
        continuation: 0,
        prompts: 1,
        turns: 3,
        max_turns: Some(50),
        compactions: 0,
        turns_since_compaction: None,
        billed_input_tokens: 1000,
        billed_output_tokens: 100,
        idle_ms: 10,
        active_ms: 1000,
        exit: None,
        recent: vec![TurnView { ordinal: 1, prompt: 1, ..TurnView::default() }],
    }
}

pub fn phase() -> PhaseView {
    PhaseView {
        id: "20".into(),
        title: "Write the parser".to_owned(),
        mode: "standard".to_owned(),
        depth: 0,
        budget: BudgetView { turns: Some(50), continuations: 3, retries: 2, ..BudgetView::default() },
        progress: ProgressView { open: 2, ..ProgressView::default() },
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
    ObjectiveView { status, files: 1, ..ObjectiveView::new(id.into(), format!("Do what {id} says")) }
}

pub fn compaction() -> PolicyRequest {
    let seen = CompactionObservation {
        session: session(),
        phase: phase(),
        refilled_within_turns: None,
        attributes: Vec::new(),
    };
    PolicyRequest::new(
        PolicyQuery::Compaction(Box::new(seen)),
        vec![TextBlob::new("the window, with a Phrase in it")],
    )
}

pub fn exhaustion(occasion: AssessTrigger) -> PolicyRequest {
    let window = "Prompt is too long";
    let signal = SignalView {
        seq: Seq(7),
        channel: SignalSource::AgentEvent,
        age_ms: 5,
        prompt: 1,
        code: Some("prompt_too_long".to_owned()),
        status: None,
        resets_at_ms: None,
        retrying: false,
        text: TextSpan { start: 0, end: window.len() as u32 },
    };
    let seen = SessionObservation {
        occasion,
        session: session(),
        phase: phase(),
        signals: vec![signal],
        window: TextId(0),
        answer_bytes: 0,
        files_changed: 0,
        phase_files_changed: 0,
        files_missing: 1,
        objectives: vec![objective("a", ObjectiveStatus::InProgress)],
        others_open: Vec::new(),
        handoff_reported: false,
        handoff: None,
        nudges: 0,
        asked_at_ms: UnixMs(0),
        utc_offset_minutes: 0,
        git: None,
        split_request: None,
        review_missing: false,
        report_not_taken: None,
        imported: false,
        attributes: Vec::new(),
    };
    PolicyRequest::new(PolicyQuery::Exhaustion(Box::new(seen)), vec![TextBlob::new(window)])
}

pub fn splitting() -> SplittingObservation {
    SplittingObservation {
        occasion: SplitTrigger::PhaseStart,
        phase: phase(),
        objectives: vec![objective("a", ObjectiveStatus::Open), objective("b", ObjectiveStatus::Open)],
        requested: None,
        limits: SplitLimits { parts: 26, depth: 2 },
        wish: SplitTime::During,
        files_changed: 0,
        workspace_files: 3,
        recent: Vec::new(),
        window_tokens: Some(200_000),
        git: None,
        attributes: Vec::new(),
    }
}

pub fn handoff() -> HandoffObservation {
    HandoffObservation {
        kind: PromptKind::Continuing,
        phase: phase(),
        session: session(),
        objectives: vec![objective("a", ObjectiveStatus::Done), objective("b", ObjectiveStatus::Open)],
        focus: vec!["b".into()],
        goal: "A calculator".to_owned(),
        changed_files: vec![ChangedFileView {
            path: "src/a.rs".to_owned(),
            bytes: 10,
            exists: true,
            by_session: true,
            digest: None,
        }],
        attempts: Vec::new(),
        decisions: Vec::new(),
        artifacts: Vec::new(),
        newest_handoff: Some(HandoffReference {
            path: "handoffs/1.md".to_owned(),
            staleness: Staleness::Fresh,
            found: None,
        }),
        inbox_path: ".baton/r1/inbox".to_owned(),
        because: Some("The context window was used up.".to_owned()),
        last_output: Some(TextId(0)),
        findings: Some(TextId(1)),
        git: None,
        asked_at_ms: UnixMs(1_770_892_200_000),
        gotchas: vec!["the tests need a network".to_owned()],
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
        facts_path: Some("handoffs/1-facts.json".to_owned()),
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

fn budgeting() -> BudgetingObservation {
    let SplittingObservation { phase, objectives, workspace_files, attributes, .. } = splitting();
    let role = "executor".to_owned();
    BudgetingObservation {
        phase,
        role,
        objectives,
        workspace_files,
        base_turns: Some(40),
        spent: None,
        attributes,
    }
}

fn offloading() -> OffloadingObservation {
    let item =
        ContextItem { id: "tool-result-1".to_owned(), kind: ContextItemKind::ToolResult, tokens: 25_000 };
    OffloadingObservation { session: session(), phase: phase(), items: vec![item], attributes: Vec::new() }
}

fn assessment(verdict: Verdict) -> Assessment {
    Assessment { verdict, evidence: Vec::new(), warning: None, reason: "so it is".to_owned() }
}

fn completion() -> PolicyRequest {
    let PolicyRequest { query, texts, .. } = exhaustion(AssessTrigger::PromptEnded);
    let PolicyQuery::Exhaustion(mut session) = query else { unreachable!("it is what `exhaustion` asks") };
    session.objectives = vec![objective("b", ObjectiveStatus::Open)];
    let seen = CompletionObservation { session: *session, assessment: assessment(Verdict::Answered) };
    PolicyRequest::new(PolicyQuery::Completion(Box::new(seen)), texts)
}

fn recovery() -> PolicyRequest {
    let PolicyRequest { query, texts, .. } = exhaustion(AssessTrigger::SessionEnded);
    let PolicyQuery::Exhaustion(session) = query else { unreachable!("it is what `exhaustion` asks") };
    let assessment = assessment(Verdict::Failed);
    let seen = RecoveryObservation { session: *session, assessment, completion: None, other_roles: None };
    PolicyRequest::new(PolicyQuery::Recovery(Box::new(seen)), texts)
}

/// One question for each function of the contract.
pub fn all() -> Vec<PolicyRequest> {
    let texts = || vec![TextBlob::new("the last output"), TextBlob::new("")];
    let review = ReviewObservation {
        document: TextId(0),
        missing_files: Vec::new(),
        secrets: Vec::new(),
        commits_since: 0,
        diverged: false,
        open_objectives: vec!["b".into()],
        attributes: Vec::new(),
    };
    let asks = [
        PolicyQuery::Splitting(Box::new(splitting())),
        PolicyQuery::Budgeting(Box::new(budgeting())),
        PolicyQuery::Offloading(Box::new(offloading())),
        PolicyQuery::Prompting(Box::new(handoff())),
        PolicyQuery::Handoff(Box::new(handoff())),
        PolicyQuery::Review(Box::new(review)),
    ];
    let mut questions = vec![exhaustion(AssessTrigger::Turn), completion(), recovery(), compaction()];
    questions.extend(asks.map(|query| PolicyRequest::new(query, texts())));
    questions
}
