//! Kinds of entries that are newer than the golden file of format 1: each with every field filled, and its written form. Add
//! new kinds at the end.

use std::path::Path;

use baton_core::action::OffloadedInput;
use baton_core::decision::{
    Decision, DecisionSource, Fault, FaultRecord, Provenance, SplitAction, SplitDecision,
};
use baton_core::experiment::Assignment;
use baton_core::grants::Grants;
use baton_core::ids::{ActionId, RequestId};
use baton_core::input::{ActionOutcome, AgentReport, PolicyBinding, PolicyChangeCause, ReportedHandoff};
use baton_core::observation::{Capability, ContextItem, ContextItemKind};
use baton_core::view::CommitSummary;
use baton_core::workflow::{
    AgentKind, CommitSettings, CommitTime, ConfigLayer, ConfigSource, ImportedFile, ImportedRecording,
    NotifySettings, Objective, PhaseLoop, PhaseSpec, PolicyScope, ReviewRequirement, Role, RunLimits,
};
use baton_core::{Action, Digest, Input, RunId, SessionId, TextBlob, Workflow, WorktreeName};
use baton_store::{Durability, JournalEntry};
use serde_json::Value;

use crate::format::rows_in;
use crate::{StoreFixture, input, intent, read};

const GOLDEN: &str = include_str!("../../../../tests/fixtures/store/rows-v1-later.jsonl");

fn run() -> RunId {
    RunId::new("20261122-1030")
}

fn actions() -> Vec<Action> {
    let (phase, tree, integration) =
        ("20a".into(), WorktreeName::for_phase(&"20a".into()), WorktreeName::integration(&"20".into(), 1));
    let text = |body: &str| TextBlob::from(body);
    vec![
        Action::ValidateHandoff {
            phase: "20a".into(),
            document: text("# Handoff\n"),
            head: "abc".into(),
            branch: "main".into(),
            tree: tree.clone(),
        },
        Action::Offload {
            phase: "20a".into(),
            items: vec![OffloadedInput { name: "inputs/20a-1.md".into(), text: text("long\n") }],
        },
        Action::Checkpoint {
            phase: "20".into(),
            tree: WorktreeName::workspace(),
            integration: integration.clone(),
        },
        Action::CreateWorktree {
            phase: "20a".into(),
            tree: tree.clone(),
            base: "abc".into(),
            setup: vec!["npm ci".into()],
        },
        Action::MeasureWorkspace {
            phase: "20a".into(),
            baseline: true,
            expected: vec!["src/parser.rs".into()],
            tree: tree.clone(),
        },
        Action::Verify { phase: "20a".into(), command: "make test".into(), attempt: 2, tree: tree.clone() },
        Action::Merge {
            phase,
            tree: tree.clone(),
            into: integration.clone(),
            message: "20a: Parser".into(),
            commit: None,
        },
        Action::AbortMerge { phase: "20".into(), tree: integration.clone() },
        Action::Land {
            phase: "20".into(),
            tree: integration,
            into: WorktreeName::workspace(),
            base: "abc".into(),
            merged: vec![tree],
            round: 1,
            commit: None,
        },
    ]
}

fn outcomes() -> Vec<ActionOutcome> {
    vec![
        ActionOutcome::Inspected {
            missing_files: vec!["a.rs".into()],
            secrets: vec!["aws-key".into()],
            commits_since: 3,
            diverged: true,
        },
        ActionOutcome::Offloaded { artifacts: Vec::new() },
        ActionOutcome::Checkpointed { base: Some("abc".into()) },
        ActionOutcome::Checkpointed { base: None },
        ActionOutcome::Branched,
        ActionOutcome::Merged { commit: "def".into(), files: 7 },
        ActionOutcome::Conflicted { files: vec!["src/parser.rs".into()] },
        ActionOutcome::Unmerged,
        ActionOutcome::Updated,
        ActionOutcome::Landed { commit: "fed".into(), committed: true, files: 9 },
        ActionOutcome::Unstartable { error: "claude is not on PATH".into() },
    ]
}

fn inputs() -> Vec<Input> {
    let session = SessionId::new("s3");
    let reported =
        |report| Input::Reported { session: Some(session.clone()), digest: Digest::of("report"), report };
    vec![
        reported(AgentReport::GotchaRecord { gotcha: "The port is taken.".into() }),
        reported(AgentReport::HandoffWrite(Box::new(ReportedHandoff {
            current_state: "half".into(),
            immediate_next_action: "go on".into(),
            critical_context: vec!["UTF-8".into()],
            critical_files: vec!["a.rs".into()],
            open: Vec::new(),
        }))),
        reported(AgentReport::ReviewSubmit {
            score: 62,
            summary: "Works, hardly tested.".into(),
            findings: vec!["src/parser.rs:12: panics on an empty line".into()],
        }),
        Input::ToolResultOffered {
            session: session.clone(),
            item: ContextItem { id: "s3-1".into(), kind: ContextItemKind::ToolResult, tokens: 30_000 },
        },
        Input::SetAside,
        Input::WorkLost {
            phase: "1".into(),
            files: vec!["src/a.rs".into()],
            beyond: 2,
            includes_accepted: false,
        },
    ]
}

/// Of policies that are chosen by layers, swapped, and granted something.
fn of_policies() -> Vec<Input> {
    let grants = Grants { artifacts: vec!["reports/*".into()], fuel: Some(40_000_000), memory_mib: Some(96) };
    let binding = PolicyBinding {
        capability: Capability::Splitting,
        policy: "my-split".into(),
        component: Digest::of("component"),
        settings: Digest::of("settings"),
        scope: PolicyScope::Phase { phase: "20".into() },
        wants: grants.clone(),
        grants,
        from: ConfigSource { layer: ConfigLayer::Workspace, file: "baton.toml".into(), line: 3 },
        then: Vec::new(),
    };
    let shadow =
        PolicyBinding { scope: PolicyScope::Shadow { policy: "candidate".into() }, ..binding.clone() };
    let label = Provenance {
        by: DecisionSource::Configured,
        capability: Capability::Splitting,
        policy: "my-split".into(),
        component: Some(Digest::of("component")),
        settings: Some(Digest::of("settings")),
        engine: Digest::of("engine"),
        fuel: 1,
        duration_us: 2,
        artifacts: [("reports/a.md".to_owned(), Digest::of("a"))].into(),
        faults: Vec::new(),
        abstained: Vec::new(),
        nested: Vec::new(),
    };
    let kept = SplitDecision { action: SplitAction::Keep, reason: "it is small".into() };
    vec![
        Input::PolicyChanged { bindings: vec![binding, shadow], cause: PolicyChangeCause::File },
        Input::PolicyRefused { policy: "my-split.wasm".into(), why: "it is no component".into() },
        Input::Decided {
            request_id: RequestId(3),
            result: Ok(Decision::Splitting(kept)),
            label: Box::new(label),
        },
    ]
}

/// A workflow with settings that it could not have before.
fn workflow() -> Workflow {
    let objective = Objective {
        id: "lexer".into(),
        description: "Write the lexer.".into(),
        files: Vec::new(),
        verify: Some("make lexer-test".into()),
    };
    let phase = PhaseSpec {
        id: "20".into(),
        title: "Parser".into(),
        depends_on: Vec::new(),
        role: "executor".into(),
        agent: None,
        objectives: vec![objective],
        verify: None,
        complex: false,
        split: Default::default(),
        wall_time: None,
        tokens: None,
        cost_microusd: None,
        continuations: None,
        setup: vec!["npm ci".into()],
        context: Vec::new(),
        review: Some(ReviewRequirement { role: "reviewer".into(), score: 70 }),
        repeat: Some(PhaseLoop { from: "20".into(), at_most: 5 }),
        commit: None,
    };
    Workflow {
        name: "later".into(),
        goal: "A parser.".into(),
        roles: [(
            "executor".into(),
            Role { provider: Some("anthropic".into()), ..Role::of(AgentKind::Claude) },
        )]
        .into(),
        limits: RunLimits { agents: 8, ..RunLimits::default() },
        phases: vec![phase],
        turns: [("executor".into(), 40)].into(),
        providers: [("anthropic".to_owned(), 4)].into(),
        notify: NotifySettings { command: Some("notify-send \"$BATON_TEXT\"".into()), bell: true },
        ..Workflow::default()
    }
}

/// A run that takes part in an experiment.
fn in_experiment() -> Vec<JournalEntry> {
    let assignment = Assignment {
        experiment: "split-v2".into(),
        version: 2,
        unit: "3f2a".into(),
        arm: "eager".into(),
        propensities: [("control".into(), 0.25), ("eager".into(), 0.75)].into(),
        component: Digest::of("eager"),
        unchecked: false,
    };
    let started = Input::Started {
        run: "in-experiment".into(),
        workflow: Box::new(workflow()),
        bindings: Vec::new(),
        task_folder: ".baton/x".into(),
        utc_offset_minutes: 0,
        assignments: vec![assignment],
    };
    vec![input(1, started)]
}

/// A run that was made from a recording, with a decision of the recording and a fault that can be made again.
fn imported() -> Vec<JournalEntry> {
    let file = ImportedFile { name: "a.jsonl".into(), digest: Digest::of("a"), bytes: 12 };
    let imported = ImportedRecording { format: "turns".into(), files: vec![file], times_are_made_up: true };
    let started = Input::Started {
        run: "imported".into(),
        workflow: Box::new(Workflow { imported: Some(imported), ..workflow() }),
        bindings: Vec::new(),
        task_folder: ".baton/x".into(),
        utc_offset_minutes: 0,
        assignments: Vec::new(),
    };
    let fault = FaultRecord {
        by: DecisionSource::Configured,
        policy: "my-split".into(),
        component: Digest::of("component"),
        fault: Fault::OutOfFuel { limit: 9 },
        settings: Some(Digest::of("settings")),
        fuel: Some(9),
        artifacts: [("reports/a.md".to_owned(), Digest::of("a"))].into(),
        nested: Vec::new(),
    };
    let label = Provenance {
        by: DecisionSource::Recording,
        capability: Capability::Splitting,
        policy: "recording".into(),
        component: None,
        settings: None,
        engine: Digest::of("engine"),
        fuel: 0,
        duration_us: 0,
        artifacts: Default::default(),
        faults: vec![fault],
        abstained: Vec::new(),
        nested: Vec::new(),
    };
    let kept = SplitDecision { action: SplitAction::Keep, reason: "it was not split".into() };
    let decided = Input::Decided {
        request_id: RequestId(1),
        result: Ok(Decision::Splitting(kept)),
        label: Box::new(label),
    };
    vec![input(1, started), input(2, decided)]
}

/// A run whose work is committed in the workspace.
fn committed() -> Vec<JournalEntry> {
    let commits = CommitSettings { when: CommitTime::Phase, branch: Some("work/{run}".into()) };
    let mut workflow = Workflow { commits, ..workflow() };
    workflow.phases[0].commit = Some(CommitTime::Objective);
    let started = Input::Started {
        run: "committed".into(),
        workflow: Box::new(workflow),
        bindings: Vec::new(),
        task_folder: ".baton/x".into(),
        utc_offset_minutes: 0,
        assignments: Vec::new(),
    };
    let action = Action::CommitToBranch {
        phase: "20".into(),
        ordinal: 1,
        message: "Parser\n".into(),
        branch: Some("work/committed".into()),
        only: Some(vec!["src/parser.rs".into()]),
    };
    let commit = CommitSummary {
        id: "abc".into(),
        subject: "Parser".into(),
        branch: "work/committed".into(),
        files: 2,
        added: 12,
        removed: 3,
    };
    let outcome = ActionOutcome::CommittedToBranch {
        commit: Some(commit),
        left: vec!["notes.md".into()],
        by_checks: Vec::new(),
    };
    let outcome = Input::Outcome { action: ActionId(1), outcome };
    let unmeasured = Input::ClaimsUnmeasured { is_folder_replaced: true };
    vec![input(1, started), intent(2, 1, action), input(3, outcome), input(4, unmeasured)]
}

fn entries() -> Vec<JournalEntry> {
    let started = Input::Started {
        run: run(),
        workflow: Box::new(workflow()),
        bindings: Vec::new(),
        task_folder: ".baton/x".into(),
        utc_offset_minutes: 60,
        assignments: Vec::new(),
    };
    let mut entries = vec![input(1, started)];
    for action in actions() {
        let id = entries.len() as u64;
        entries.push(intent(id + 1, id, action));
    }
    let told = outcomes().into_iter().zip(1..);
    let told = told.map(|(outcome, id)| Input::Outcome { action: ActionId(id), outcome });
    for new in inputs().into_iter().chain(told).chain(of_policies()) {
        entries.push(input(entries.len() as u64 + 1, new));
    }
    entries
}

fn written() -> Vec<Value> {
    let runs =
        [(run(), entries()), ("in-experiment".into(), in_experiment()), ("imported".into(), imported())];
    // Rows are stored in the order of their numbers: newer kinds have a separate journal.
    let later = [("committed".into(), committed())];
    [rows_of(&runs), rows_of(&later)].concat()
}

fn rows_of(runs: &[(RunId, Vec<JournalEntry>)]) -> Vec<Value> {
    let place = StoreFixture::new();
    for (run, entries) in runs {
        place.journal().append_wait(run, entries.clone(), Durability::Durable).unwrap();
        assert_eq!(read(&place.journal(), run), *entries);
    }
    rows_in(&place.state.journal())
}

#[test]
fn later_rows_are_written_as_ever_and_read_back() {
    let golden: Vec<Value> = GOLDEN.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let written = written();
    for (written, golden) in written.iter().zip(&golden) {
        assert_eq!(written, golden, "a changed shape needs a new format and a step in migrate.rs");
    }
    assert_eq!(written.len(), golden.len());
}

/// Run with `--ignored` after adding kinds; then review the diff of the golden file.
#[test]
#[ignore = "writes the golden file"]
fn record_later_golden_rows() {
    let lines: String = written().iter().map(|row| format!("{row}\n")).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/store/rows-v1-later.jsonl");
    std::fs::write(file, lines).unwrap();
}
