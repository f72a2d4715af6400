//! Runs without agents, recorded by a host that is played: every intent succeeds, and a closure answers the questions to
//! policies. Checks nothing.

use baton_core::action::{Action, Intent};
use baton_core::decision::{Decision, DecisionSource, Fault, Provenance, RecoveryAction, RecoveryDecision};
use baton_core::facts::{AgentEvent, Capabilities, WorkspaceFacts};
use baton_core::input::ActionOutcome;
use baton_core::observation::{PolicyQuery, PolicyRequest};
use baton_core::workflow::file;
use baton_core::{Digest, Input, JournaledInput, Run, RunId, Seq, SessionId, UnixMs};
use baton_store::{Durability, Journal, JournalEntry, StateDir};
use tempfile::TempDir;

const WORKFLOW: &str = r#"
name = "lab"
goal = "Something small."
[[phases]]
id = "10"
title = "First"
[[phases.objectives]]
id = "a"
description = "Write a."
[[phases.objectives]]
id = "b"
description = "Write b."
"#;

/// Enough to see scope, spawn, prompt and several judgments.
const ENTRIES: usize = 40;

/// Who answers questions to a policy.
type DecideCallback<'a> = dyn FnMut(&PolicyRequest) -> (Result<Decision, Fault>, Provenance) + 'a;

/// Plays the host without agents: writes down what core takes and wants, and answers every intent with success.
struct StubRunRecorder {
    run: Run,
    seq: Seq,
    entries: Vec<JournalEntry>,
    wanted: Vec<Intent>,
}

impl StubRunRecorder {
    fn take(&mut self, input: Input) {
        let stamped = JournaledInput { seq: self.seq.next(), at: UnixMs(1_000 * self.seq.0), input };
        let intents = self.run.apply(&stamped).unwrap();
        self.seq = stamped.seq;
        let at = stamped.at;
        self.entries.push(JournalEntry::Input(stamped));
        for intent in intents.into_iter().filter(|intent| !matches!(intent.action, Action::Notify(_))) {
            self.seq = self.seq.next();
            self.entries.push(JournalEntry::Intent { seq: self.seq, at, intent: intent.clone() });
            self.wanted.push(intent);
        }
    }

    fn perform(&mut self, intent: Intent, decide: &mut DecideCallback<'_>) {
        let done = |outcome| Input::Outcome { action: intent.id, outcome };
        match &intent.action {
            Action::RequestDecision { request_id, request, .. } => {
                let (result, label) = decide(request);
                self.take(Input::Decided { request_id: *request_id, result, label: Box::new(label) });
            }
            Action::Spawn(spec) => {
                self.take(done(ActionOutcome::Spawned {
                    group: 1,
                    started: 1,
                    capabilities: Capabilities::default(),
                }));
                let event = AgentEvent::Ready { agent_session: None, model: None, version: None };
                self.take(Input::Agent { session: spec.session.clone(), event });
            }
            Action::Prompt { session, .. } => {
                let session = session.clone();
                self.take(done(ActionOutcome::Delivered));
                self.say(&session, AgentEvent::Text { text: "I did nothing of note in this turn.".into() });
                self.say(&session, AgentEvent::Turn { used_tokens: Some(1_000), billed: Default::default() });
                self.say(
                    &session,
                    AgentEvent::PromptEnded { stop_reason: "end_turn".into(), is_error: false },
                );
            }
            Action::MeasureWorkspace { .. } => {
                self.take(done(ActionOutcome::WorkspaceMeasured { facts: WorkspaceFacts::default() }))
            }
            Action::Checkpoint { .. } => self.take(done(ActionOutcome::Checkpointed { base: None })),
            _ => self.take(done(ActionOutcome::Announced)),
        }
    }

    fn say(&mut self, session: &SessionId, event: AgentEvent) {
        self.take(Input::Agent { session: session.clone(), event });
    }
}

pub(crate) fn record(
    mut decide: impl FnMut(&PolicyRequest) -> (Result<Decision, Fault>, Provenance),
) -> Vec<JournalEntry> {
    let workflow = Box::new(file::parse(WORKFLOW, "lab.toml", "/").unwrap());
    let mut recorder =
        StubRunRecorder { run: Run::new(), seq: Seq(0), entries: Vec::new(), wanted: Vec::new() };
    let run = run_id();
    recorder.take(Input::Started {
        run,
        workflow,
        bindings: Vec::new(),
        task_folder: ".".into(),
        utc_offset_minutes: 0,
        assignments: Vec::new(),
    });
    while recorder.entries.len() < ENTRIES && !recorder.wanted.is_empty() {
        let intent = recorder.wanted.remove(0);
        recorder.perform(intent, &mut decide);
    }
    recorder.entries
}

pub(crate) fn run_id() -> RunId {
    RunId::new("recorded")
}

pub(crate) fn journal_of(entries: Vec<JournalEntry>) -> (TempDir, Journal) {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(&folder.path().join("state"), folder.path()).unwrap();
    let journal = Journal::open(&state).unwrap();
    journal.append_wait(&run_id(), entries, Durability::Durable).unwrap();
    (folder, journal)
}

/// A policy that is a function of the question alone.
pub(crate) fn stub(question: &PolicyRequest) -> Decision {
    match &question.query {
        PolicyQuery::Recovery(_) => {
            let reason = "as always".to_owned();
            Decision::Recovery(RecoveryDecision { action: RecoveryAction::Wait, reason })
        }
        _ => crate::enrolled::stub(question, false),
    }
}

pub(crate) fn label(question: &PolicyRequest) -> Provenance {
    Provenance {
        by: DecisionSource::Configured,
        capability: question.query.capability(),
        policy: "stub".into(),
        component: Some(Digest::of("stub")),
        settings: Some(Digest::of("settings")),
        engine: Digest::of("engine"),
        fuel: 100,
        duration_us: 5,
        artifacts: Default::default(),
        faults: Vec::new(),
        abstained: Vec::new(),
        nested: Vec::new(),
    }
}
