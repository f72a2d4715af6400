//! The kit itself: its questions have the documented shape, and each rule finds the policies that break it and no others. The
//! results of real components are checked in `tests/lab/conformance.rs`.

mod golden;
mod rule_violations;

use std::collections::BTreeSet;
use std::fmt::Debug;

use baton_core::decision::Verdict;
use baton_core::observation::{
    AssessTrigger, Capability, ObjectiveView, PhaseView, PolicyQuery, PolicyRequest, SessionState,
    SessionView, SignalView,
};

use super::generate;
use super::views::{self, OBJECTIVES};

/// A hundred of each function.
const MANY: u64 = 1000;

fn questions(seed: u64, count: u64) -> impl Iterator<Item = PolicyRequest> {
    let capability = |index: u64| Capability::ALL[(index % Capability::ALL.len() as u64) as usize];
    (0..count).map(move |index| generate::question(seed, index, capability(index)))
}

fn session_of(query: &PolicyQuery) -> Option<&SessionView> {
    match query {
        PolicyQuery::Exhaustion(seen) => Some(&seen.session),
        PolicyQuery::Completion(seen) => Some(&seen.session.session),
        PolicyQuery::Recovery(seen) => Some(&seen.session.session),
        PolicyQuery::Compaction(seen) => Some(&seen.session),
        PolicyQuery::Offloading(seen) => Some(&seen.session),
        PolicyQuery::Prompting(seen) | PolicyQuery::Handoff(seen) => Some(&seen.session),
        PolicyQuery::Splitting(_) | PolicyQuery::Budgeting(_) | PolicyQuery::Review(_) => None,
    }
}

fn phase_of(query: &PolicyQuery) -> Option<&PhaseView> {
    match query {
        PolicyQuery::Exhaustion(seen) => Some(&seen.phase),
        PolicyQuery::Completion(seen) => Some(&seen.session.phase),
        PolicyQuery::Recovery(seen) => Some(&seen.session.phase),
        PolicyQuery::Compaction(seen) => Some(&seen.phase),
        PolicyQuery::Offloading(seen) => Some(&seen.phase),
        PolicyQuery::Splitting(seen) => Some(&seen.phase),
        PolicyQuery::Budgeting(seen) => Some(&seen.phase),
        PolicyQuery::Prompting(seen) | PolicyQuery::Handoff(seen) => Some(&seen.phase),
        PolicyQuery::Review(_) => None,
    }
}

#[test]
fn a_question_is_a_function_of_seed_and_index() {
    assert!(questions(7, 200).eq(questions(7, 200)));
    let alike = questions(7, 200).zip(questions(8, 200)).filter(|(one, other)| one == other).count();
    assert_eq!(alike, 0, "another seed asks something else");
    let all: BTreeSet<String> = questions(7, 200).map(|question| format!("{question:?}")).collect();
    assert_eq!(all.len(), 200, "no question is put twice");
}

#[test]
fn each_question_is_about_what_was_wanted() {
    for capability in Capability::ALL {
        assert_eq!(generate::question(7, 3, capability).query.capability(), capability);
    }
}

#[test]
fn every_variant_of_the_contract_is_asked() {
    fn names<T: Debug>(of: &str, all: &[T]) -> Vec<String> {
        all.iter().map(|one| format!("{of} {one:?}")).collect()
    }
    let mut seen = BTreeSet::new();
    let mut saw = |of: &str, one: &dyn Debug| {
        seen.insert(format!("{of} {one:?}"));
    };
    for PolicyRequest { query, .. } in questions(1, MANY) {
        if let Some(session) = session_of(&query) {
            saw("state", &session.state);
            saw("source", &session.occupancy.source);
        }
        match &query {
            PolicyQuery::Exhaustion(asked) => {
                saw("occasion", &asked.occasion);
                asked.signals.iter().for_each(|signal| saw("channel", &signal.channel));
            }
            PolicyQuery::Recovery(asked) => match asked.assessment.verdict {
                Verdict::Quota { cause, .. } => saw("cause", &cause),
                verdict => saw("verdict", &verdict),
            },
            PolicyQuery::Offloading(asked) => asked.items.iter().for_each(|item| saw("item", &item.kind)),
            PolicyQuery::Completion(_) | PolicyQuery::Compaction(_) | PolicyQuery::Budgeting(_) => {}
            PolicyQuery::Splitting(asked) => {
                saw("split", &asked.occasion);
                asked.objectives.iter().for_each(|objective| saw("status", &objective.status));
            }
            PolicyQuery::Prompting(asked) | PolicyQuery::Handoff(asked) => saw("kind", &asked.kind),
            PolicyQuery::Review(_) => {}
        }
    }
    let wanted: BTreeSet<String> = [
        names("state", views::STATES),
        names("source", views::SOURCES),
        names("channel", views::CHANNELS),
        names("status", views::STATUSES),
        names("occasion", generate::OCCASIONS),
        names("split", generate::SPLIT_OCCASIONS),
        names("kind", generate::KINDS),
        names("item", generate::ITEM_KINDS),
        names("cause", generate::QUOTA_CAUSES),
        names("verdict", generate::VERDICTS),
    ]
    .concat()
    .into_iter()
    .collect();
    assert_eq!(seen, wanted);
}

#[test]
fn questions_come_empty_huge_and_in_characters_of_every_width() {
    let (mut widths, mut objectives, mut documents) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let (mut unknown_tokens, mut most_tokens) = (false, false);
    for PolicyRequest { query, texts, .. } in questions(1, MANY) {
        let body = |place: usize| texts[place].body().expect("it is at hand");
        (0..texts.len()).for_each(|place| widths.extend(body(place).chars().map(char::len_utf8)));
        if let Some(session) = session_of(&query) {
            unknown_tokens |= session.occupancy.used_tokens.is_none();
            most_tokens |= session.occupancy.used_tokens == Some(u64::MAX);
        }
        match &query {
            PolicyQuery::Splitting(seen) => {
                objectives.insert(seen.objectives.len());
            }
            PolicyQuery::Review(_) => {
                documents.insert(texts[0].len_bytes());
            }
            _ => {}
        }
    }
    assert_eq!(widths, BTreeSet::from([1, 2, 3, 4]));
    assert!(objectives.contains(&1) && objectives.contains(&OBJECTIVES), "{objectives:?}");
    assert!(
        documents.contains(&0) && documents.last() > Some(&(generate::DOCUMENT_BYTES as u64 / 2)),
        "{documents:?}"
    );
    assert!(unknown_tokens && most_tokens);
}

/// Core puts no other questions, and a policy may rely on it.
#[test]
fn questions_keep_to_what_the_contract_promises() {
    for PolicyRequest { query, texts, .. } in questions(3, MANY) {
        if let Some(session) = session_of(&query) {
            assert!(session.recent.len() <= 32);
            assert!(session.recent.windows(2).all(|pair| pair[0].ordinal + 1 == pair[1].ordinal));
            assert!(session.recent.windows(2).all(|pair| pair[0].prompt <= pair[1].prompt));
            assert_eq!(session.exit.is_some(), session.state == SessionState::Ended);
        }
        if let Some(phase) = phase_of(&query) {
            assert!(phase.progress.done_by_session <= phase.progress.done);
        }
        match &query {
            PolicyQuery::Exhaustion(seen) => {
                let window = texts[seen.window.0 as usize].body().expect("it is at hand");
                are_inside(&seen.signals, window);
                assert!(seen.occasion != AssessTrigger::SessionEnded || seen.session.exit.is_some());
            }
            PolicyQuery::Splitting(seen) => are_counted(&seen.objectives, &seen.phase),
            PolicyQuery::Budgeting(seen) => are_counted(&seen.objectives, &seen.phase),
            PolicyQuery::Completion(seen) => assert_eq!(seen.assessment.verdict, Verdict::Answered),
            PolicyQuery::Recovery(seen) => {
                assert_eq!(seen.completion.is_some(), seen.assessment.verdict == Verdict::Answered);
            }
            PolicyQuery::Offloading(seen) => assert!(!seen.items.is_empty()),
            PolicyQuery::Prompting(seen) | PolicyQuery::Handoff(seen) => {
                let texts_there = [seen.last_output, seen.findings]
                    .map(|id| id.is_some_and(|id| (id.0 as usize) < texts.len()));
                assert_eq!(texts_there, [true, true]);
                assert!(seen.focus.iter().all(|id| seen.objectives.iter().any(|one| one.id == *id)));
            }
            PolicyQuery::Review(seen) => {
                let document = texts[seen.document.0 as usize].body().expect("it is at hand");
                assert!(document.len() <= generate::DOCUMENT_BYTES);
                assert!(seen.missing_files.iter().all(|path| document.contains(path.as_str())));
            }
            PolicyQuery::Compaction(_) => {}
        }
    }
}

fn are_counted(objectives: &[ObjectiveView], phase: &PhaseView) {
    let ids: BTreeSet<_> = objectives.iter().map(|objective| &objective.id).collect();
    assert_eq!(ids.len(), objectives.len(), "ids are unique");
    let progress = &phase.progress;
    assert_eq!((progress.done + progress.open + progress.failed) as usize, ids.len());
}

fn are_inside(signals: &[SignalView], window: &str) {
    assert!(signals.len() <= views::SIGNALS);
    assert!(
        signals.windows(2).all(|pair| pair[0].seq < pair[1].seq && pair[0].text.end == pair[1].text.start)
    );
    for signal in signals {
        let range = signal.text.start as usize..signal.text.end as usize;
        assert!(window.get(range).is_some(), "{:?} is no place in {window:?}", signal.text);
    }
}
