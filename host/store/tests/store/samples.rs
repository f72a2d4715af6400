//! One entry of every kind of the journal, with every field filled: the content of the golden files.

use std::collections::BTreeMap;

use baton_core::action::{Action, RunOutcome, SpawnSpec};
use baton_core::decision::{
    Assessment, Decision, DecisionSource, Evidence, Fault, FaultRecord, Provenance, QuotaCause, Verdict,
};
use baton_core::facts::{
    AgentEvent, Capabilities, ChangedFile, ErrorSignal, GitFacts, OccupancySource, ProcessExit, SignalSource,
    TokenUsage, WorkspaceFacts,
};
use baton_core::grants::Grants;
use baton_core::ids::{ActionId, ObjectiveId, PhaseId, RequestId, RoleName};
use baton_core::input::{ActionOutcome, AgentReport, ArtifactRef, PauseAnswer, PolicyBinding};
use baton_core::observation::{
    Capability, ContextItem, ContextItemKind, ObjectiveStatus, OccupancyView, OffloadingObservation,
    OriginView, PhaseView, PolicyQuery, PolicyRequest, PromptKind, SessionState, SessionView, TurnView,
};
use baton_core::workflow::{
    AgentKind, ConfigSource, Objective, Permission, PhaseSpec, Policies, PolicyChoice, PolicyLayer,
    PolicyScope, Role, SettingValue,
};
use baton_core::{Digest, Input, RunId, SessionId, TextBlob, UnixMs, Workflow, WorktreeName};
use baton_store::JournalEntry;

use crate::{input, intent};

pub(crate) fn run() -> RunId {
    RunId::new("20260212-1030-quickstart")
}

/// A whole run, from `started` to the outcome of its end.
pub(crate) fn entries() -> Vec<JournalEntry> {
    let (session, phase) = (SessionId::new("s1"), PhaseId::new("20"));
    let mut entries = Vec::new();
    let started = Input::Started {
        run: run(),
        workflow: Box::new(workflow()),
        bindings: vec![binding()],
        task_folder: ".baton/x".into(),
        utc_offset_minutes: 0,
        assignments: Vec::new(),
    };
    inputs(&mut entries, vec![started, Input::Tick]);
    for action in actions(&session, &phase) {
        let id = entries.len() as u64 - 1;
        entries.push(intent(entries.len() as u64 + 1, id, action));
    }
    let finish = entries.len() as u64 - 2;
    inputs(&mut entries, agent_events().into_iter().map(|event| agent(&session, event)).collect());
    inputs(
        &mut entries,
        vec![
            Input::SessionEnded {
                session: session.clone(),
                exit: ProcessExit { code: None, signal: Some(9), by_host: true },
            },
            decided(),
            Input::Decided {
                request_id: RequestId(2),
                result: Err(Fault::OutOfFuel { limit: 7 }),
                label: Box::new(label()),
            },
            Input::Reported {
                session: Some(session),
                digest: Digest::of("report"),
                report: AgentReport::ObjectiveUpdate {
                    objective: ObjectiveId::new("parser"),
                    status: ObjectiveStatus::Done,
                    note: "all tests pass".into(),
                },
            },
            Input::Answered { question: ActionId(11), choice: PauseAnswer::Retry, message: None },
            Input::StopRequested,
            Input::Resumed,
        ],
    );
    let outcomes = outcomes().into_iter().zip(1..);
    inputs(
        &mut entries,
        outcomes.map(|(outcome, id)| Input::Outcome { action: ActionId(id), outcome }).collect(),
    );
    inputs(
        &mut entries,
        vec![Input::Outcome { action: ActionId(finish), outcome: ActionOutcome::Announced }],
    );
    entries
}

fn inputs(entries: &mut Vec<JournalEntry>, new: Vec<Input>) {
    for new in new {
        entries.push(input(entries.len() as u64 + 1, new));
    }
}

fn agent(session: &SessionId, event: AgentEvent) -> Input {
    Input::Agent { session: session.clone(), event }
}

fn workflow() -> Workflow {
    let role = Role {
        model: Some("small".into()),
        permission: Permission::Edit,
        window_tokens: Some(200_000),
        max_turns: Some(40),
        env: vec!["CARGO_HOME".into()],
        script: Some("/home/ada/quickstart.rehearsal.toml".into()),
        ..Role::of(AgentKind::Rehearsal)
    };
    let settings = BTreeMap::from([
        ("warn-percent".to_owned(), SettingValue::Integer(85).into()),
        ("phrases".to_owned(), SettingValue::Texts(vec!["context limit".into()]).into()),
        ("strict".to_owned(), SettingValue::Flag(true).into()),
        ("weight".to_owned(), SettingValue::Number(0.5).into()),
    ]);
    let choice =
        PolicyChoice { component: Some("builtin:resilience".into()), settings, ..PolicyChoice::default() };
    Workflow {
        name: "quickstart".into(),
        goal: "A parser with its tests.".into(),
        roles: BTreeMap::from([(RoleName::new("executor"), role)]),
        policies: Policies {
            layers: vec![PolicyLayer {
                by_capability: BTreeMap::from([(Capability::Handoff, choice)]),
                ..PolicyLayer::default()
            }],
            ..Policies::default()
        },
        phases: vec![PhaseSpec {
            id: PhaseId::new("20"),
            title: "Parser".into(),
            depends_on: vec![PhaseId::new("10")],
            role: RoleName::new("executor"),
            agent: None,
            objectives: vec![Objective {
                id: ObjectiveId::new("parser"),
                description: "Write the parser.".into(),
                files: vec!["src/parser.rs".into()],
                verify: None,
            }],
            verify: Some("cargo test".into()),
            complex: true,
            split: Default::default(),
            wall_time: None,
            tokens: Some(1_000_000),
            cost_microusd: None,
            continuations: Some(3),
            setup: Vec::new(),
            context: Vec::new(),
            review: None,
            repeat: None,
            commit: None,
        }],
        ..Workflow::default()
    }
}

fn binding() -> PolicyBinding {
    PolicyBinding {
        capability: Capability::Exhaustion,
        policy: "resilience".into(),
        component: Digest::of("component"),
        settings: Digest::of("settings"),
        scope: PolicyScope::Run,
        wants: Default::default(),
        grants: Grants::default(),
        from: ConfigSource::default(),
        then: Vec::new(),
    }
}

fn actions(session: &SessionId, phase: &PhaseId) -> Vec<Action> {
    let text = |body: &str| TextBlob::from(body);
    vec![
        Action::Spawn(SpawnSpec {
            session: session.clone(),
            phase: phase.clone(),
            role: RoleName::new("executor"),
            agent: AgentKind::Rehearsal,
            continuation: 1,
            max_turns: 27,
            turn_ceiling: 0,
            checks: Vec::new(),
            conversation: None,
            continues: None,
            billed_before: TokenUsage::default(),
            tree: WorktreeName::workspace(),
        }),
        Action::Prompt {
            session: session.clone(),
            prompt: 1,
            kind: PromptKind::Continuing,
            focus: vec![ObjectiveId::new("parser")],
            text: text("## Your objective\n- [parser] Write the parser.\n"),
        },
        Action::Compact { session: session.clone(), instructions: "Keep the grammar.".into() },
        Action::Interrupt { session: session.clone() },
        Action::EndSession { session: session.clone(), reason: "Its context is used up.".into() },
        Action::MeasureWorkspace {
            phase: phase.clone(),
            baseline: true,
            expected: vec!["src/parser.rs".into()],
            tree: WorktreeName::workspace(),
        },
        Action::RequestDecision {
            request_id: RequestId(1),
            request: question(session, phase),
            scope: PolicyScope::Run,
        },
        Action::WriteHandoff {
            phase: phase.clone(),
            session: session.clone(),
            ordinal: 1,
            path: String::new(),
            document: text("# Handoff\nThe parser reads expressions.\n"),
            index: text("# Index\n"),
            facts: None,
            changed_beyond: 0,
        },
        Action::WriteSummaries { phase: phase.clone(), step: text("# Step\n"), directory: text("# Run\n") },
        Action::Verify {
            phase: phase.clone(),
            command: "cargo test".into(),
            attempt: 1,
            tree: WorktreeName::workspace(),
        },
        Action::AskUser {
            phase: Some(phase.clone()),
            question: "Try again?".into(),
            choices: vec![PauseAnswer::Retry, PauseAnswer::Skip, PauseAnswer::Stop],
        },
        Action::Finish { ending: RunOutcome::Done },
    ]
}

fn question(session: &SessionId, phase: &PhaseId) -> PolicyRequest {
    let session = SessionView {
        agent: format!("rehearsal {session}"),
        role: "executor".into(),
        state: SessionState::Idle,
        capabilities: capabilities(),
        occupancy: OccupancyView {
            used_tokens: Some(150_000),
            window_tokens: Some(200_000),
            source: OccupancySource::Agent,
            age_ms: 12,
        },
        continuation: 1,
        prompts: 2,
        turns: 9,
        max_turns: Some(40),
        compactions: 0,
        turns_since_compaction: Some(9),
        billed_input_tokens: 1,
        billed_output_tokens: 2,
        idle_ms: 3,
        active_ms: 4,
        exit: None,
        recent: vec![TurnView { ordinal: 9, prompt: 2, rereads: 1, ..TurnView::default() }],
    };
    let phase = PhaseView {
        id: phase.clone(),
        title: "Parser".into(),
        mode: "standard".into(),
        depth: 0,
        budget: Default::default(),
        progress: Default::default(),
        expects_files: true,
        accept: None,
        check: None,
        check_passed: None,
        depends_on: 0,
        origin: OriginView::default(),
        complex: false,
        iteration: None,
        tree: None,
    };
    let items = vec![ContextItem { id: "call-1".into(), kind: ContextItemKind::ToolResult, tokens: 20_001 }];
    let attributes = vec![("key".to_owned(), "value".to_owned())];
    let observation = OffloadingObservation { session, phase, items, attributes };
    PolicyRequest::new(
        PolicyQuery::Offloading(Box::new(observation)),
        vec![TextBlob::from("the last lines"), "".into()],
    )
}

fn capabilities() -> Capabilities {
    Capabilities { reports_occupancy: true, compacts: true, interrupts: true, ..Capabilities::default() }
}

fn agent_events() -> Vec<AgentEvent> {
    let billed = TokenUsage { input_tokens: 10, output_tokens: 20, cost_microusd: Some(30) };
    vec![
        AgentEvent::Ready { agent_session: Some("abc".into()), model: None, version: Some("1.0".into()) },
        AgentEvent::Text { text: "I begin – with \"quotes\".\n".into() },
        AgentEvent::ToolCall {
            id: "call-1".into(),
            name: "Read".into(),
            reads: Some("a.rs".into()),
            writes: None,
            command: None,
        },
        AgentEvent::ToolOutput {
            id: "call-1".into(),
            bytes: 80_004,
            text: "fn main() {}".into(),
            failed: None,
        },
        AgentEvent::Turn { used_tokens: Some(150_000), billed },
        AgentEvent::Occupancy {
            used_tokens: None,
            window_tokens: Some(200_000),
            source: OccupancySource::Agent,
        },
        AgentEvent::Billing(billed),
        AgentEvent::Signal(ErrorSignal {
            channel: SignalSource::ProviderError,
            code: "rate_limit_error".into(),
            status: Some(429),
            resets_at: Some(UnixMs(1_770_892_200_000)),
            retrying: true,
            text: "try later".into(),
        }),
        AgentEvent::Compacting,
        AgentEvent::PromptEnded { stop_reason: "prompt_too_long".into(), is_error: true },
    ]
}

fn decided() -> Input {
    let assessment = Assessment {
        verdict: Verdict::Quota { cause: QuotaCause::Rate, resets_at_ms: Some(UnixMs(1_770_892_200_000)) },
        evidence: vec![Evidence {
            channel: SignalSource::ProviderError,
            seq: Some(baton_core::Seq(22)),
            text: "rate_limit_error".into(),
        }],
        warning: Some("90 % of the window is used".into()),
        reason: "The provider said 429.".into(),
    };
    Input::Decided {
        request_id: RequestId(1),
        result: Ok(Decision::Exhaustion(assessment)),
        label: Box::new(label()),
    }
}

fn label() -> Provenance {
    Provenance {
        by: DecisionSource::LastGood,
        capability: Capability::Compaction,
        policy: "resilience".into(),
        component: Some(Digest::of("component")),
        settings: Some(Digest::of("settings")),
        engine: Digest::of("engine"),
        fuel: 12_345,
        duration_us: 67,
        artifacts: Default::default(),
        faults: vec![FaultRecord {
            by: DecisionSource::Configured,
            policy: "strict".into(),
            component: Digest::of("strict"),
            fault: Fault::Trap { message: "unreachable".into() },
            settings: None,
            fuel: None,
            artifacts: Default::default(),
            nested: Vec::new(),
        }],
        abstained: Vec::new(),
        nested: Vec::new(),
    }
}

fn artifact() -> ArtifactRef {
    ArtifactRef {
        name: "handoffs/phase-20-1.md".into(),
        version: 2,
        digest: Digest::of("handoff"),
        bytes: 7,
        summary: "The parser reads expressions.".into(),
    }
}

/// In the order of `actions`, without the question (it has none) and the end.
fn outcomes() -> Vec<ActionOutcome> {
    let facts = WorkspaceFacts {
        written: Vec::new(),
        next_run_files: Vec::new(),
        has_unseen: false,
        git: GitFacts {
            present: true,
            branch: "main".into(),
            head: "abc".into(),
            commits_since: 1,
            dirty_files: 2,
            commits: Vec::new(),
        },
        files: 3,
        changed: vec![ChangedFile {
            path: "src/parser.rs".into(),
            bytes: 4,
            exists: true,
            digest: Some(Digest::of("file")),
            is_new: false,
        }],
        changed_beyond: 5,
        missing: vec!["src/lib.rs".into()],
    };
    vec![
        ActionOutcome::Spawned { group: 4711, started: 99, capabilities: capabilities() },
        ActionOutcome::Delivered,
        ActionOutcome::Failed { error: "the agent cannot compact".into() },
        ActionOutcome::Lost,
        ActionOutcome::Delivered,
        ActionOutcome::WorkspaceMeasured { facts },
        ActionOutcome::HandoffWritten {
            path: ".baton/x/handoffs/phase-20-1.md".into(),
            artifact: artifact(),
            index: None,
        },
        ActionOutcome::SummariesWritten { artifacts: vec![artifact()] },
        ActionOutcome::Verified {
            passed: false,
            code: Some(101),
            findings: "1 failed".into(),
            artifact: Some(artifact()),
        },
        ActionOutcome::Announced,
    ]
}
