//! Runs of an experiment without agents: real journals, written by core while it is played, with outcomes that are given
//! beforehand. Checks nothing.

#![allow(dead_code, unreachable_pub)] // A module of several suites; each uses its own part.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use baton_core::action::{Action, Intent};
use baton_core::decision::{
    Assessment, CompactionAction, CompactionDecision, CompletionDecision, Decision, DecisionSource, Fault,
    FaultRecord, HandoffDraft, OffloadingDecision, PromptDraft, Provenance, RecoveryAction, RecoveryDecision,
    ReviewDecision, SplitAction, SplitDecision, Staleness, SuccessorKind, TurnBudget, Verdict,
};
use baton_core::experiment::Assignment;
use baton_core::facts::{AgentEvent, Capabilities, ProcessExit, TokenUsage, WorkspaceFacts};
use baton_core::input::{ActionOutcome, AgentReport, PauseAnswer, PolicyBinding};
use baton_core::observation::{Capability, ObjectiveStatus, PolicyQuery, PolicyRequest};
use baton_core::workflow::{ConfigLayer, ConfigSource, PolicyScope, Workflow, file};
use baton_core::{Digest, Input, JournaledInput, Run, RunId, Seq, SessionId, UnixMs};
use baton_lab::experiment::assignment::place_of;
use baton_lab::experiment::{
    AnalysisPlan, ArmAssignment, ExperimentArm, ExperimentDefinition, ExperimentVersion, RunTargeting,
    UnitKind, VersionState, assign,
};
use baton_store::{Durability, Journal, JournalEntry, StateDir};

/// Objectives of the workflow.
pub const OBJECTIVES: u32 = 3;

/// When the first run begins.
const BEGINS_MS: u64 = 1_770_892_200_000;

/// The planned course of a run.
#[derive(Clone, Copy, Debug)]
pub struct PlannedRunOutcome {
    /// Objectives that are done in the end; if it is not all of them, the user ends the run.
    pub completed: u32,
    /// Tokens billed for each objective that is asked for.
    pub tokens: u64,
    /// The arm's component fails each time, and the built-in one decides.
    pub faults: bool,
    /// The host dies when this many objectives were asked for.
    pub dies_at: Option<u32>,
    /// The user then starts the same work again.
    pub set_aside: bool,
}

impl Default for PlannedRunOutcome {
    fn default() -> Self {
        Self { completed: OBJECTIVES, tokens: 1_000, faults: false, dies_at: None, set_aside: false }
    }
}

/// An experiment with these arms and weights.
pub fn definition(name: &str, arms: &[(&str, f64)]) -> ExperimentDefinition {
    let arm = |(name, weight): &(&str, f64)| ExperimentArm {
        name: (*name).into(),
        reference: format!("{name}.wasm"),
        policy: (*name).to_owned(),
        component: Digest::of(name),
        weight: *weight,
        settings: Default::default(),
        grants: Default::default(),
        unchecked: false,
    };
    ExperimentDefinition {
        schema: 1,
        name: name.into(),
        seed: name.to_owned(),
        hash_version: 2,
        unit: UnitKind::Run,
        versions: vec![ExperimentVersion {
            version: 1,
            started_at: UnixMs(BEGINS_MS),
            state: VersionState::Running,
            coverage: 1.0,
            decides: vec![Capability::Splitting],
            arms: arms.iter().map(arm).collect(),
            only: RunTargeting::default(),
            analysis: AnalysisPlan::default(),
        }],
    }
}

/// The workflow of all of them.
pub fn workflow() -> Workflow {
    let objectives: String = (0..OBJECTIVES)
        .map(|n| format!("[[phases.objectives]]\nid = \"o{n}\"\ndescription = \"Do {n}.\"\n"))
        .collect();
    let text = format!("name = \"lab\"\ngoal = \"Something small.\"\n[[phases]]\nid = \"10\"\n{objectives}");
    file::parse(&text, "lab.toml", "/").unwrap()
}

/// A state root with one workspace, to whose journal runs are written.
pub struct TestStateRoot {
    pub root: PathBuf,
    pub journal: Journal,
    runs: u64,
}

impl TestStateRoot {
    pub fn new(folder: &Path) -> Self {
        let (root, workspace) = (folder.join("state"), folder.join("work"));
        std::fs::create_dir_all(&workspace).unwrap();
        let state = StateDir::open(&root, &workspace).unwrap();
        Self::of(root, Journal::open(&state).unwrap())
    }

    /// Uses an existing journal.
    pub fn of(root: PathBuf, journal: Journal) -> Self {
        Self { root, journal, runs: 0 }
    }

    /// Enrols a run of this unit as `baton run` does, and plays it. Gives back its arm.
    pub fn run(
        &mut self,
        definition: &ExperimentDefinition,
        unit: &str,
        outcome: impl FnOnce(&str) -> PlannedRunOutcome,
    ) -> Option<String> {
        let ArmAssignment { assignment, arm, version, .. } =
            assign(definition, definition.current().unwrap(), unit)?;
        let arm_name = arm.name.to_string();
        let bindings = bindings(definition, version, arm);
        self.write(assignment, bindings, outcome(&arm_name));
        Some(arm_name)
    }

    /// Plays a run with this assignment.
    pub fn write(
        &mut self,
        assignment: Assignment,
        bindings: Vec<PolicyBinding>,
        outcome: PlannedRunOutcome,
    ) -> RunId {
        self.runs += 1;
        let run = RunId::new(format!("r{}", self.runs));
        let at = BEGINS_MS + self.runs * 60_000;
        let entries = FakeRunHost::play(run.clone(), assignment, bindings, outcome, at);
        self.journal.append_wait(&run, entries, Durability::Telemetry).unwrap();
        run
    }

    /// Flushes the journal: every written entry is on disk.
    pub fn flush(&self) {
        self.journal.flush().unwrap();
    }
}

/// What a run of an arm begins with.
pub fn bindings(
    definition: &ExperimentDefinition,
    version: &ExperimentVersion,
    arm: &ExperimentArm,
) -> Vec<PolicyBinding> {
    let file = place_of(Some(&definition.name), arm.name.as_str());
    let binding = |capability: &Capability| PolicyBinding {
        capability: *capability,
        policy: arm.policy.clone(),
        component: arm.component.clone(),
        settings: Digest::of("{}"),
        scope: PolicyScope::Run,
        wants: Default::default(),
        grants: Default::default(),
        from: ConfigSource { layer: ConfigLayer::Experiment, file: file.clone(), line: 0 },
        then: Vec::new(),
    };
    version.decides.iter().map(binding).collect()
}

/// Plays the host without agents.
struct FakeRunHost {
    run: Run,
    seq: Seq,
    at: u64,
    entries: Vec<JournalEntry>,
    wanted: VecDeque<Intent>,
    outcome: PlannedRunOutcome,
    component: Digest,
    asked: u32,
    done: u32,
    /// The last prompt came to nothing.
    failed: bool,
}

impl FakeRunHost {
    fn play(
        run: RunId,
        assignment: Assignment,
        bindings: Vec<PolicyBinding>,
        outcome: PlannedRunOutcome,
        at: u64,
    ) -> Vec<JournalEntry> {
        let mut player = FakeRunHost {
            run: Run::new(),
            seq: Seq(0),
            at,
            entries: Vec::new(),
            wanted: VecDeque::new(),
            outcome,
            component: assignment.component.clone(),
            asked: 0,
            done: 0,
            failed: false,
        };
        player.take(Input::Started {
            run,
            workflow: Box::new(workflow()),
            bindings,
            task_folder: ".".into(),
            utc_offset_minutes: 0,
            assignments: vec![assignment],
        });
        while let Some(intent) = player.wanted.pop_front() {
            if player.outcome.dies_at.is_some_and(|at| player.asked >= at) {
                break;
            }
            player.perform(intent);
        }
        if player.outcome.set_aside {
            player.take(Input::SetAside);
        }
        player.entries
    }

    fn take(&mut self, input: Input) {
        let stamped = JournaledInput { seq: self.seq.next(), at: UnixMs(self.at + 100 * self.seq.0), input };
        let intents = self.run.apply(&stamped).unwrap();
        self.seq = stamped.seq;
        let at = stamped.at;
        self.entries.push(JournalEntry::Input(stamped));
        for intent in intents.into_iter().filter(|intent| !matches!(intent.action, Action::Notify(_))) {
            self.seq = self.seq.next();
            self.entries.push(JournalEntry::Intent { seq: self.seq, at, intent: intent.clone() });
            self.wanted.push_back(intent);
        }
    }

    fn perform(&mut self, intent: Intent) {
        let id = intent.id;
        let done = |outcome| Input::Outcome { action: id, outcome };
        match intent.action {
            Action::RequestDecision { request_id, request, .. } => {
                let (decision, label) = (stub(&request, self.failed), self.label(&request));
                self.take(Input::Decided { request_id, result: Ok(decision), label: Box::new(label) });
            }
            Action::Spawn(spec) => {
                let capabilities = Capabilities::default();
                self.take(done(ActionOutcome::Spawned { group: 1, started: 1, capabilities }));
                self.say(
                    &spec.session,
                    AgentEvent::Ready { agent_session: None, model: None, version: None },
                );
            }
            Action::Prompt { session, focus, .. } => {
                self.take(done(ActionOutcome::Delivered));
                self.asked += 1;
                self.failed = self.done >= self.outcome.completed;
                self.say(&session, AgentEvent::Text { text: "I did what I was asked to do in it.".into() });
                let billed = TokenUsage { input_tokens: self.outcome.tokens, ..TokenUsage::default() };
                self.say(&session, AgentEvent::Turn { used_tokens: Some(1_000), billed });
                for objective in focus {
                    if self.done < self.outcome.completed {
                        self.done += 1;
                        let status = ObjectiveStatus::Done;
                        let digest = Digest::of(format!("{} {objective}", self.seq));
                        let report = AgentReport::ObjectiveUpdate { objective, status, note: String::new() };
                        self.take(Input::Reported { session: Some(session.clone()), digest, report });
                    }
                }
                let ended = AgentEvent::PromptEnded { stop_reason: "end_turn".into(), is_error: false };
                self.say(&session, ended);
            }
            Action::EndSession { session, .. } => {
                self.take(done(ActionOutcome::Delivered));
                let exit = ProcessExit { code: Some(0), signal: None, by_host: true };
                self.take(Input::SessionEnded { session, exit });
            }
            Action::AskUser { .. } => {
                self.take(done(ActionOutcome::Announced));
                self.take(Input::Answered { question: id, choice: PauseAnswer::Stop, message: None });
            }
            Action::MeasureWorkspace { .. } => {
                self.take(done(ActionOutcome::WorkspaceMeasured { facts: WorkspaceFacts::default() }))
            }
            Action::Checkpoint { .. } => self.take(done(ActionOutcome::Checkpointed { base: None })),
            Action::Finish { .. } => self.take(done(ActionOutcome::Announced)),
            _ => self.take(done(ActionOutcome::Delivered)),
        }
    }

    fn say(&mut self, session: &SessionId, event: AgentEvent) {
        self.take(Input::Agent { session: session.clone(), event });
    }

    fn label(&self, question: &PolicyRequest) -> Provenance {
        let fault = FaultRecord {
            by: DecisionSource::Configured,
            policy: "arm".into(),
            component: self.component.clone(),
            fault: Fault::OutOfFuel { limit: 1 },
            settings: None,
            fuel: None,
            artifacts: Default::default(),
            nested: Vec::new(),
        };
        let decides = question.query.capability() == Capability::Splitting;
        let falls = decides && self.outcome.faults;
        Provenance {
            by: if falls { DecisionSource::BuiltIn } else { DecisionSource::Configured },
            capability: question.query.capability(),
            policy: "stub".into(),
            component: Some(if decides && !falls { self.component.clone() } else { Digest::of("built-in") }),
            settings: Some(Digest::of("{}")),
            engine: Digest::of("engine"),
            fuel: 100,
            duration_us: 5,
            artifacts: Default::default(),
            faults: if falls { vec![fault] } else { Vec::new() },
            abstained: Vec::new(),
            nested: Vec::new(),
        }
    }
}

/// A policy that asks the user if the work failed, and otherwise accepts everything.
pub(crate) fn stub(question: &PolicyRequest, failed: bool) -> Decision {
    let reason = "as always".to_owned();
    match &question.query {
        PolicyQuery::Exhaustion(_) => Decision::Exhaustion(Assessment {
            verdict: if failed { Verdict::Failed } else { Verdict::Answered },
            evidence: Vec::new(),
            warning: None,
            reason,
        }),
        PolicyQuery::Completion(seen) => {
            let done = seen.session.objectives.iter().map(|objective| objective.id.clone()).collect();
            Decision::Completion(CompletionDecision { done, evidence: Vec::new(), reason })
        }
        PolicyQuery::Recovery(_) => {
            let action = RecoveryAction::AskPerson { question: "What now?".to_owned() };
            Decision::Recovery(RecoveryDecision { action, reason })
        }
        PolicyQuery::Offloading(_) => Decision::Offloading(OffloadingDecision { items: Vec::new(), reason }),
        PolicyQuery::Budgeting(seen) => {
            Decision::Budgeting(TurnBudget { max_turns: seen.base_turns, reason })
        }
        PolicyQuery::Splitting(_) => Decision::Splitting(SplitDecision { action: SplitAction::Keep, reason }),
        PolicyQuery::Prompting(seen) => Decision::Prompting(PromptDraft {
            prompt: format!("Do {:?}.", seen.focus),
            left_out: Vec::new(),
            reason,
        }),
        PolicyQuery::Compaction(_) => {
            Decision::Compaction(CompactionDecision { action: CompactionAction::Keep, reason })
        }
        PolicyQuery::Handoff(_) => {
            let (document, index) = ("# Handoff".to_owned(), "# Index".to_owned());
            let continuer = SuccessorKind::Successor;
            Decision::Handoff(HandoffDraft { document, index, continuer, left_out: Vec::new(), reason })
        }
        PolicyQuery::Review(_) => Decision::Review(ReviewDecision {
            score: 90,
            findings: Vec::new(),
            staleness: Staleness::Fresh,
            accepted: true,
            reason,
        }),
    }
}
