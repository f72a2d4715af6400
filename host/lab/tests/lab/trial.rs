//! A candidate on a recorded run: the decisions in which it differs, and the point from which its course is unknown.

use std::collections::BTreeMap;

use baton_core::decision::{Decision, Fault, SplitAction, SplitDecision, SubPhase, WorkStyle};
use baton_core::observation::{Capability, PolicyQuery, PolicyRequest, SplitTrigger};
use baton_core::workflow::SettingValue;
use baton_core::{Input, JournaledInput, PhaseId, RunId, Seq, UnixMs};
use baton_engine::{
    BUILTIN_NAME, ConfiguredPolicy, Engine, EngineConfig, PolicyAnswer, Router, builtin_bytes,
};
use baton_lab::{FunctionMatches, LabError, MatchCounts, TrialResult, candidate, try_candidate};
use baton_store::JournalEntry;

use crate::stub_recorder::{journal_of, label, record, run_id, stub};

/// Differences kept in most of these tests: all.
const KEPT: usize = 100;

fn tried(
    entries: Vec<JournalEntry>,
    decides: &[Capability],
    kept: usize,
    ask: impl FnMut(&PolicyRequest) -> PolicyAnswer,
) -> TrialResult {
    let (_folder, journal) = journal_of(entries);
    try_candidate(&journal, &run_id(), decides.iter().copied(), kept, ask).unwrap()
}

fn recorded_with_stub() -> Vec<JournalEntry> {
    record(|question| (Ok(stub(question)), label(question)))
}

/// One tally of every function together.
fn sum(tried: &TrialResult, of: impl Fn(&FunctionMatches) -> MatchCounts) -> MatchCounts {
    tried.functions.values().map(of).sum()
}

/// Splits what begins, once.
fn splitter(question: &PolicyRequest) -> Decision {
    match &question.query {
        PolicyQuery::Splitting(seen)
            if seen.occasion == SplitTrigger::PhaseStart && seen.phase.depth == 0 =>
        {
            let part = |id: &str| SubPhase {
                title: id.into(),
                objectives: vec![id.into()],
                order: WorkStyle::Direct,
                max_turns: None,
            };
            let action = SplitAction::Split { sub_phases: vec![part("a"), part("b")] };
            Decision::Splitting(SplitDecision { action, reason: "Two things.".into() })
        }
        _ => stub(question),
    }
}

fn with_reason(mut decision: Decision, words: &str) -> Decision {
    match &mut decision {
        Decision::Exhaustion(d) => d.reason = words.into(),
        Decision::Completion(d) => d.reason = words.into(),
        Decision::Recovery(d) => d.reason = words.into(),
        Decision::Compaction(d) => d.reason = words.into(),
        Decision::Offloading(d) => d.reason = words.into(),
        Decision::Splitting(d) => d.reason = words.into(),
        Decision::Budgeting(d) => d.reason = words.into(),
        Decision::Prompting(d) => d.reason = words.into(),
        Decision::Handoff(d) => d.reason = words.into(),
        Decision::Review(d) => d.reason = words.into(),
    }
    decision
}

fn built_in(settings: &[(&str, SettingValue)]) -> ConfiguredPolicy {
    let engine = Engine::new(EngineConfig::default()).unwrap();
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone().into())).collect();
    engine.load(BUILTIN_NAME, builtin_bytes()).unwrap().configure(&settings).unwrap()
}

// M3
#[test]
fn the_policy_of_a_run_decides_as_it_did_and_with_another_threshold_it_leaves_the_course() {
    let engine = Engine::new(EngineConfig::default()).unwrap();
    let router = Router::new(&engine, BTreeMap::new()).unwrap();
    let entries = record(|question| router.decide(question));

    let same = built_in(&[]);
    let found = tried(entries.clone(), &Capability::ALL, KEPT, candidate(&same));
    let all = sum(&found, |function| function.on_course);
    assert!(all.asked() >= 3 && all.same == all.asked(), "{found:?}");
    assert!(found.differences.is_empty());

    let no_doubt = [("max-objectives", SettingValue::Integer(1)), ("ahead-factor", SettingValue::Integer(1))];
    let eager = built_in(&no_doubt);
    let found = tried(entries, &Capability::ALL, KEPT, candidate(&eager));
    let first = &found.differences[0];
    assert!(!first.off_course);
    assert_eq!(first.phase, Some(PhaseId::new("10")));
    let is_split = |decision: &Decision| {
        matches!(decision, Decision::Splitting(SplitDecision { action: SplitAction::Split { .. }, .. }))
    };
    assert!(!is_split(first.recorded.as_ref().unwrap()) && is_split(first.candidate.as_ref().unwrap()));
    // It would have split before any other question, so no later question is on its course.
    assert_eq!(sum(&found, |function| function.on_course).asked(), 1);
    assert!(sum(&found, |function| function.off_course).asked() >= 2);
}

#[test]
fn another_reason_and_a_fault_leave_the_candidate_on_course() {
    let found = tried(recorded_with_stub(), &Capability::ALL, KEPT, |question| match question.query {
        PolicyQuery::Prompting(_) => Err(Fault::OutOfFuel { limit: 7 }),
        _ => Ok(Some(with_reason(stub(question), "Other words."))),
    });
    let all = sum(&found, |function| function.on_course);
    let briefs = found.functions["prompting.compose"].on_course;
    assert!(briefs.faults >= 1 && briefs.faults == briefs.asked());
    assert_eq!((all.faults, all.reason_differs), (briefs.faults, all.asked() - briefs.faults));
    assert_eq!(sum(&found, |function| function.off_course), MatchCounts::default());
    assert!(found.differences.iter().all(|one| one.candidate == Err(Fault::OutOfFuel { limit: 7 })));
}

#[test]
fn what_a_candidate_does_not_decide_is_not_put_to_it() {
    let found = tried(recorded_with_stub(), &[Capability::Splitting], KEPT, |question| {
        assert_eq!(question.query.capability(), Capability::Splitting);
        Ok(Some(stub(question)))
    });
    let brief = found.functions["prompting.compose"];
    assert!(brief.not_asked >= 1);
    assert_eq!((brief.on_course, brief.off_course), (MatchCounts::default(), MatchCounts::default()));
    assert!(found.functions["splitting.decide"].on_course.same >= 1);
}

// D2
#[test]
fn the_parts_of_a_split_that_would_not_have_been_are_off_course() {
    let entries = record(|question| (Ok(splitter(question)), label(question)));
    let found = tried(entries, &Capability::ALL, KEPT, |question| Ok(Some(stub(question))));
    let split = &found.differences[0];
    assert_eq!((split.phase.as_ref().map(PhaseId::as_str), split.off_course), (Some("10"), false));
    let briefs = found.functions["prompting.compose"];
    assert!(briefs.off_course.asked() >= 1, "a part was briefed: {found:?}");
    assert_eq!(briefs.on_course.asked(), 0);
}

#[test]
fn differences_on_course_are_kept_before_the_others() {
    let all = tried(recorded_with_stub(), &Capability::ALL, KEPT, |question| Ok(Some(splitter(question))));
    assert_eq!(all.differences.len(), 1, "it splits one phase once");

    // Everything differs from the first question on: the first alone is on course.
    let otherwise = |question: &PolicyRequest| -> PolicyAnswer {
        match (splitter(question), &question.query) {
            (Decision::Prompting(mut brief), _) => {
                brief.prompt.push('!');
                Ok(Some(Decision::Prompting(brief)))
            }
            (decision, _) => Ok(Some(decision)),
        }
    };
    let all = tried(recorded_with_stub(), &Capability::ALL, KEPT, otherwise);
    let few = tried(recorded_with_stub(), &Capability::ALL, 1, otherwise);
    assert!(all.differences.len() >= 2);
    assert_eq!(few.differences, all.differences[..1]);
    assert_eq!(few.differences_beyond, all.differences.len() as u64 - 1);
    assert_eq!((few.functions, all.differences_beyond), (all.functions, 0));
}

#[test]
fn a_journal_that_makes_no_sense_is_an_error() {
    let nobody = |_: &PolicyRequest| -> PolicyAnswer { panic!("nobody is asked") };
    let (_folder, journal) = journal_of(recorded_with_stub());
    let absent = try_candidate(&journal, &RunId::new("absent"), [], KEPT, nobody);
    assert!(matches!(absent, Err(LabError::RunNotFound { .. })));

    let mut entries = recorded_with_stub();
    let seq = Seq(entries.len() as u64 + 1);
    let input = Input::Agent { session: "nobody".into(), event: baton_core::facts::AgentEvent::Compacting };
    entries.push(JournalEntry::Input(JournaledInput { seq, at: UnixMs(0), input }));
    let (_folder, journal) = journal_of(entries);
    let refused = try_candidate(&journal, &run_id(), [], KEPT, nobody).unwrap_err();
    assert!(matches!(refused, LabError::Refused { seq: at, .. } if at == seq), "{refused}");
}
