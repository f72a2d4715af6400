//! Recorded runs are replayed: what was recorded faithfully verifies, and any change to it is found.

use std::collections::BTreeMap;

use baton_core::action::{Action, Intent};
use baton_core::decision::{
    Assessment, Brief, CompactionAction, CompactionDecision, Composition, Continuer, DecidedBy, Decision,
    Fault, Label, Recovery, Review, SplitAction, SplitDecision, Staleness, TurnBudget, Verdict,
};
use baton_core::facts::{AgentEvent, Capabilities, WorkspaceFacts};
use baton_core::input::Outcome;
use baton_core::observation::{Ask, Question};
use baton_core::workflow::file;
use baton_core::{Digest, Input, Run, RunId, Seq, SessionId, Stamped, UnixMs};
use baton_engine::{BUILTIN_NAME, Engine, EngineConfig, Router, builtin_bytes};
use baton_lab::{Answer, Divergence, LabError, ask_again, refold, verify};
use baton_store::{Durability, Entry, Journal, StateDir};
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
type Decide<'a> = dyn FnMut(&Question) -> (Result<Decision, Fault>, Label) + 'a;

/// Plays the host without agents: writes down what core takes and wants, and answers every intent with success.
struct Recorder {
    run: Run,
    seq: Seq,
    entries: Vec<Entry>,
    wanted: Vec<Intent>,
}

impl Recorder {
    fn take(&mut self, input: Input) {
        let stamped = Stamped { seq: self.seq.next(), at: UnixMs(1_000 * self.seq.0), input };
        let intents = self.run.apply(&stamped).unwrap();
        self.seq = stamped.seq;
        let at = stamped.at;
        self.entries.push(Entry::Input(stamped));
        for intent in intents.into_iter().filter(|intent| !matches!(intent.action, Action::Notify(_))) {
            self.seq = self.seq.next();
            self.entries.push(Entry::Intent { seq: self.seq, at, intent: intent.clone() });
            self.wanted.push(intent);
        }
    }

    fn perform(&mut self, intent: Intent, decide: &mut Decide<'_>) {
        let done = |outcome| Input::Outcome { action: intent.id, outcome };
        match &intent.action {
            Action::RequestDecision { request, question } => {
                let (result, label) = decide(question);
                self.take(Input::Decided { request: *request, result, label: Box::new(label) });
            }
            Action::Spawn(spec) => {
                self.take(done(Outcome::Spawned {
                    group: 1,
                    started: 1,
                    capabilities: Capabilities::default(),
                }));
                let event = AgentEvent::Ready { agent_session: None, model: None, version: None };
                self.take(Input::Agent { session: spec.session.clone(), event });
            }
            Action::Prompt { session, .. } => {
                let session = session.clone();
                self.take(done(Outcome::Delivered));
                self.say(&session, AgentEvent::Text { text: "I did nothing of note in this turn.".into() });
                self.say(&session, AgentEvent::Turn { used_tokens: Some(1_000), billed: Default::default() });
                self.say(
                    &session,
                    AgentEvent::PromptEnded { stop_reason: "end_turn".into(), is_error: false },
                );
            }
            Action::Assess { .. } => self.take(done(Outcome::Assessed { facts: WorkspaceFacts::default() })),
            Action::Checkpoint { .. } => self.take(done(Outcome::Checkpointed { base: None })),
            _ => self.take(done(Outcome::Announced)),
        }
    }

    fn say(&mut self, session: &SessionId, event: AgentEvent) {
        self.take(Input::Agent { session: session.clone(), event });
    }
}

fn record(mut decide: impl FnMut(&Question) -> (Result<Decision, Fault>, Label)) -> Vec<Entry> {
    let workflow = Box::new(file::parse(WORKFLOW, "lab.toml", "/").unwrap());
    let mut recorder = Recorder { run: Run::new(), seq: Seq(0), entries: Vec::new(), wanted: Vec::new() };
    let run = run_id();
    recorder.take(Input::Started {
        run,
        workflow,
        pins: Vec::new(),
        task_folder: ".".into(),
        utc_offset_minutes: 0,
    });
    while recorder.entries.len() < ENTRIES && !recorder.wanted.is_empty() {
        let intent = recorder.wanted.remove(0);
        recorder.perform(intent, &mut decide);
    }
    recorder.entries
}

fn run_id() -> RunId {
    RunId::new("recorded")
}

fn journal_of(entries: Vec<Entry>) -> (TempDir, Journal) {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(&folder.path().join("state"), folder.path()).unwrap();
    let journal = Journal::open(&state).unwrap();
    journal.append_wait(&run_id(), entries, Durability::Durable).unwrap();
    (folder, journal)
}

/// A policy that is a function of the question alone.
fn stub(question: &Question) -> Decision {
    let reason = "as always".to_owned();
    match &question.ask {
        Ask::Assess(_) => Decision::Assess(Assessment {
            verdict: Verdict::Completed,
            evidence: Vec::new(),
            warning: None,
            recovery: Recovery::Wait,
            reason,
        }),
        Ask::Budget(_, base) => Decision::Budget(TurnBudget { max_turns: *base, reason }),
        Ask::Split(_) => Decision::Split(SplitDecision { action: SplitAction::Keep, reason }),
        Ask::Brief(seen) => {
            Decision::Brief(Brief { prompt: format!("Do {:?}.", seen.focus), left_out: Vec::new(), reason })
        }
        Ask::Compaction(_) => {
            Decision::Compaction(CompactionDecision { action: CompactionAction::Keep, reason })
        }
        Ask::Compose(_) => {
            let (document, index) = ("# Handoff".to_owned(), "# Index".to_owned());
            Decision::Compose(Composition {
                document,
                index,
                continuer: Continuer::Successor,
                left_out: Vec::new(),
                reason,
            })
        }
        Ask::Review(_) => Decision::Review(Review {
            score: 90,
            findings: Vec::new(),
            staleness: Staleness::Fresh,
            accepted: true,
            reason,
        }),
    }
}

fn label(question: &Question) -> Label {
    Label {
        by: DecidedBy::Configured,
        capability: question.ask.capability(),
        policy: "stub".into(),
        component: Some(Digest::of("stub")),
        settings: Some(Digest::of("settings")),
        engine: Digest::of("engine"),
        fuel: 100,
        duration_us: 5,
        faults: Vec::new(),
    }
}

fn recorded_with_stub() -> Vec<Entry> {
    record(|question| (Ok(stub(question)), label(question)))
}

fn again(question: &Question, _: &Label) -> Answer {
    Answer::Given { result: Ok(stub(question)), fuel: 100 }
}

fn decisions(entries: &[Entry]) -> u64 {
    let is_decision =
        |entry: &&Entry| matches!(entry, Entry::Input(Stamped { input: Input::Decided { .. }, .. }));
    entries.iter().filter(is_decision).count() as u64
}

#[test]
fn a_recorded_run_replays_exactly() {
    let entries = recorded_with_stub();
    let (count, asked) = (entries.len() as u64, decisions(&entries));
    assert!(asked >= 3, "scope, brief, verdict: {asked}");
    let (_folder, journal) = journal_of(entries);
    let found = verify(&journal, &run_id(), again).unwrap();
    assert!(found.is_exact());
    let folded = found.refold.unwrap();
    assert_eq!(folded.inputs + folded.intents, count);
    assert_eq!(folded.run.id(), &run_id());
    assert_eq!((found.decisions.same, found.decisions.native, found.decisions.unavailable), (asked, 0, 0));
    assert_eq!(refold(&journal, &run_id()).unwrap().unwrap(), folded);
}

#[test]
fn the_first_intent_that_differs_is_named() {
    let mut entries = recorded_with_stub();
    let changed = entries.iter_mut().find_map(|entry| match entry {
        Entry::Intent { seq, intent: Intent { action: Action::Prompt { text, .. }, .. }, .. } => {
            *text = "another prompt".into();
            Some(*seq)
        }
        _ => None,
    });
    let (_folder, journal) = journal_of(entries);
    let divergence = verify(&journal, &run_id(), again).unwrap().refold.unwrap_err();
    assert!(matches!(divergence, Divergence::Other { replayed: Some(_), .. }), "{divergence}");
    assert_eq!(Some(divergence.seq()), changed);
}

#[test]
fn an_intent_that_was_never_recorded_is_named() {
    let mut entries = recorded_with_stub();
    let at = entries.iter().position(|entry| matches!(entry, Entry::Intent { .. })).unwrap();
    entries.truncate(at);
    let (_folder, journal) = journal_of(entries);
    let divergence = refold(&journal, &run_id()).unwrap().unwrap_err();
    assert!(matches!(divergence, Divergence::More { seq, .. } if seq.0 == at as u64), "{divergence}");
}

#[test]
fn an_input_that_core_refuses_is_named() {
    let mut entries = recorded_with_stub();
    let seq = Seq(entries.len() as u64 + 1);
    let input = Input::Agent { session: SessionId::new("nobody"), event: AgentEvent::Compacting };
    entries.push(Entry::Input(Stamped { seq, at: UnixMs(0), input }));
    let (_folder, journal) = journal_of(entries);
    let divergence = refold(&journal, &run_id()).unwrap().unwrap_err();
    assert!(matches!(divergence, Divergence::Refused { seq: at, .. } if at == seq), "{divergence}");
}

#[test]
fn another_answer_and_other_fuel_are_found() {
    let entries = recorded_with_stub();
    let asked = decisions(&entries);
    let (_folder, journal) = journal_of(entries);
    let slower = |question: &Question, _: &Label| Answer::Given { result: Ok(stub(question)), fuel: 101 };
    let found = verify(&journal, &run_id(), slower).unwrap();
    assert!(found.refold.is_ok() && !found.is_exact());
    assert_eq!((found.decisions.same, found.decisions.differences), (0, asked));
    assert!(found.decisions.changed[0].is_fuel_only());

    let broken = |question: &Question, label: &Label| match question.ask {
        Ask::Brief(_) => Answer::Given { result: Err(Fault::OutOfFuel { limit: 7 }), fuel: 7 },
        _ => again(question, label),
    };
    let found = verify(&journal, &run_id(), broken).unwrap().decisions;
    assert_eq!(found.differences, found.changed.len() as u64);
    let first = &found.changed[0];
    assert_eq!((first.function, first.replayed_fuel, first.is_fuel_only()), ("handoff.brief", 7, false));
}

#[test]
fn what_no_component_decided_is_not_asked_again() {
    let native = record(|question| {
        let label = Label { by: DecidedBy::Native, component: None, settings: None, ..label(question) };
        (Ok(stub(question)), label)
    });
    let asked = decisions(&native);
    let (_folder, journal) = journal_of(native);
    let nobody = |_: &Question, _: &Label| -> Answer { panic!("nobody is asked") };
    assert_eq!(verify(&journal, &run_id(), nobody).unwrap().decisions.native, asked);

    let mut calls = 0;
    let watched = record(|question| {
        calls += 1;
        let result = if calls == 1 { Err(Fault::Watchdog { limit_ms: 50 }) } else { Ok(stub(question)) };
        (result, label(question))
    });
    let asked = decisions(&watched);
    let (_folder, journal) = journal_of(watched);
    let found = verify(&journal, &run_id(), again).unwrap().decisions;
    assert_eq!((found.watchdog, found.same, found.differences), (1, asked - 1, 0));
}

#[test]
fn a_journal_that_makes_no_sense_is_an_error() {
    let (_folder, journal) = journal_of(recorded_with_stub());
    assert!(matches!(verify(&journal, &RunId::new("absent"), again), Err(LabError::NoRun { .. })));

    let mut entries = recorded_with_stub();
    let at =
        entries.iter().position(|e| matches!(e, Entry::Input(Stamped { input: Input::Decided { .. }, .. })));
    let Entry::Input(mut orphan) = entries[at.unwrap()].clone() else { panic!("an input") };
    orphan.seq = Seq(entries.len() as u64 + 1);
    entries.push(Entry::Input(orphan));
    let (_folder, journal) = journal_of(entries);
    assert!(matches!(verify(&journal, &run_id(), again), Err(LabError::NoQuestion { .. })));
}

#[test]
fn the_built_in_policy_answers_a_recorded_run_as_it_did() {
    let engine = Engine::new(EngineConfig::default()).unwrap();
    let router = Router::new(&engine, BTreeMap::new()).unwrap();
    let entries = record(|question| router.decide(question));
    let asked = decisions(&entries);
    let (_folder, journal) = journal_of(entries);

    // Another engine instance, as in another process: answers and fuel are properties of the digests alone.
    let engine = Engine::new(EngineConfig::default()).unwrap();
    let policy = engine.load(BUILTIN_NAME, builtin_bytes()).unwrap().configure(&BTreeMap::new()).unwrap();
    let policies = [policy];
    let found = verify(&journal, &run_id(), ask_again(&policies, engine.digest())).unwrap();
    assert!(found.is_exact(), "{found:?}");
    assert_eq!((found.decisions.same, asked >= 3), (asked, true));

    let nothing = verify(&journal, &run_id(), ask_again(&[], engine.digest())).unwrap().decisions;
    assert_eq!(nothing.unavailable, asked);
    assert!(nothing.unavailable_because.unwrap().contains(BUILTIN_NAME));
    let other = Digest::of("another engine");
    assert_eq!(
        verify(&journal, &run_id(), ask_again(&policies, &other)).unwrap().decisions.unavailable,
        asked
    );
}
