//! Recorded runs are replayed: what was recorded faithfully verifies, and any change to it is found.

use std::collections::BTreeMap;

use baton_core::action::{Action, Intent};
use baton_core::decision::{DecisionSource, Fault, Provenance};
use baton_core::facts::AgentEvent;
use baton_core::observation::{PolicyQuery, PolicyRequest};
use baton_core::{Digest, Input, JournaledInput, RunId, Seq, SessionId, UnixMs};
use baton_engine::{BUILTIN_NAME, Engine, EngineConfig, Router, builtin_bytes};
use baton_lab::{CoreDivergence, LabError, ReplayedAnswer, ask_again, refold, verify};
use baton_store::JournalEntry;

use crate::stub_recorder::{journal_of, label, record, run_id, stub};

fn recorded_with_stub() -> Vec<JournalEntry> {
    record(|question| (Ok(stub(question)), label(question)))
}

fn again(question: &PolicyRequest, _: &Provenance) -> ReplayedAnswer {
    ReplayedAnswer::Answered { result: Ok(Some(stub(question))), fuel: 100 }
}

fn decisions(entries: &[JournalEntry]) -> u64 {
    let is_decision = |entry: &&JournalEntry| {
        matches!(entry, JournalEntry::Input(JournaledInput { input: Input::Decided { .. }, .. }))
    };
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
    assert_eq!(
        (found.decisions.same, found.decisions.host_fallback, found.decisions.unavailable),
        (asked, 0, 0)
    );
    assert_eq!(refold(&journal, &run_id()).unwrap().unwrap(), folded);
}

#[test]
fn the_first_intent_that_differs_is_named() {
    let mut entries = recorded_with_stub();
    let changed = entries.iter_mut().find_map(|entry| match entry {
        JournalEntry::Intent { seq, intent: Intent { action: Action::Prompt { text, .. }, .. }, .. } => {
            *text = "another prompt".into();
            Some(*seq)
        }
        _ => None,
    });
    let (_folder, journal) = journal_of(entries);
    let divergence = verify(&journal, &run_id(), again).unwrap().refold.unwrap_err();
    assert!(matches!(divergence, CoreDivergence::Other { replayed: Some(_), .. }), "{divergence}");
    assert_eq!(Some(divergence.seq()), changed);
}

#[test]
fn an_intent_that_was_never_recorded_is_named() {
    let mut entries = recorded_with_stub();
    let at = entries.iter().position(|entry| matches!(entry, JournalEntry::Intent { .. })).unwrap();
    entries.truncate(at);
    let (_folder, journal) = journal_of(entries);
    let divergence = refold(&journal, &run_id()).unwrap().unwrap_err();
    assert!(matches!(divergence, CoreDivergence::More { seq, .. } if seq.0 == at as u64), "{divergence}");
}

#[test]
fn an_input_that_core_refuses_is_named() {
    let mut entries = recorded_with_stub();
    let seq = Seq(entries.len() as u64 + 1);
    let input = Input::Agent { session: SessionId::new("nobody"), event: AgentEvent::Compacting };
    entries.push(JournalEntry::Input(JournaledInput { seq, at: UnixMs(0), input }));
    let (_folder, journal) = journal_of(entries);
    let divergence = refold(&journal, &run_id()).unwrap().unwrap_err();
    assert!(matches!(divergence, CoreDivergence::Refused { seq: at, .. } if at == seq), "{divergence}");
}

#[test]
fn another_answer_and_other_fuel_are_found() {
    let entries = recorded_with_stub();
    let asked = decisions(&entries);
    let (_folder, journal) = journal_of(entries);
    let slower = |question: &PolicyRequest, _: &Provenance| ReplayedAnswer::Answered {
        result: Ok(Some(stub(question))),
        fuel: 101,
    };
    let found = verify(&journal, &run_id(), slower).unwrap();
    assert!(found.refold.is_ok() && !found.is_exact());
    assert_eq!((found.decisions.same, found.decisions.differences), (0, asked));
    assert!(found.decisions.changed[0].is_fuel_only());

    let broken = |question: &PolicyRequest, label: &Provenance| match question.query {
        PolicyQuery::Prompting(_) => {
            ReplayedAnswer::Answered { result: Err(Fault::OutOfFuel { limit: 7 }), fuel: 7 }
        }
        _ => again(question, label),
    };
    let found = verify(&journal, &run_id(), broken).unwrap().decisions;
    assert_eq!(found.differences, found.changed.len() as u64);
    let first = &found.changed[0];
    assert_eq!(
        (first.function, first.replayed_fuel, first.is_fuel_only()),
        ("prompting.compose", Some(7), false)
    );
}

#[test]
fn what_no_component_decided_is_not_asked_again() {
    let host_fallback = record(|question| {
        let label = Provenance {
            by: DecisionSource::HostFallback,
            component: None,
            settings: None,
            ..label(question)
        };
        (Ok(stub(question)), label)
    });
    let asked = decisions(&host_fallback);
    let (_folder, journal) = journal_of(host_fallback);
    let nobody = |_: &PolicyRequest, _: &Provenance| -> ReplayedAnswer { panic!("nobody is asked") };
    assert_eq!(verify(&journal, &run_id(), nobody).unwrap().decisions.host_fallback, asked);

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
    assert!(matches!(verify(&journal, &RunId::new("absent"), again), Err(LabError::RunNotFound { .. })));

    let mut entries = recorded_with_stub();
    let at = entries
        .iter()
        .position(|e| matches!(e, JournalEntry::Input(JournaledInput { input: Input::Decided { .. }, .. })));
    let JournalEntry::Input(mut orphan) = entries[at.unwrap()].clone() else { panic!("an input") };
    orphan.seq = Seq(entries.len() as u64 + 1);
    entries.push(JournalEntry::Input(orphan));
    let (_folder, journal) = journal_of(entries);
    assert!(matches!(verify(&journal, &run_id(), again), Err(LabError::QuestionNotFound { .. })));
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
