//! What counts as a change of a session (A11).

use super::test_run::workflow;
use crate::facts::{ChangedFile, WorkspaceFacts, WrittenFile};
use crate::ids::SessionId;
use crate::observation::{EvidenceKind, FileState, ObjectiveStatus};
use crate::run::phase::ObjectiveIndex;
use crate::run::phase::{ObjectiveReport, ObjectiveState, Phase};
use crate::workflow::Objective;

/// Two objectives that name one file, which was changed.
fn of_one_file() -> Phase {
    let mut spec = workflow(&[("1", &["v1", "v2"])]).phases.remove(0);
    spec.objectives.iter_mut().for_each(|objective| objective.files = vec!["out.txt".into()]);
    let changed =
        vec![ChangedFile { path: "out.txt".into(), bytes: 4, exists: true, digest: None, is_new: true }];
    let mut phase = Phase::new(spec);
    phase.measurements.facts.changed = changed;
    phase
}

#[test]
fn a_file_that_another_objective_was_done_by_shows_nothing_of_this_one() {
    // A11
    let mut phase = of_one_file();
    assert_eq!(phase.changed_for(&[ObjectiveIndex::at(1)]), 1, "it may have been done ahead");
    phase.objectives[ObjectiveIndex::at(0)].status = ObjectiveStatus::Done;
    phase.measurements.focus_baseline = (vec![ObjectiveIndex::at(1)], phase.measurements.facts.clone());
    assert_eq!(
        (phase.changed_for(&[ObjectiveIndex::at(1)]), phase.basis(ObjectiveIndex::at(1))),
        (0, EvidenceKind::Answer)
    );
    phase.measurements.facts.changed[0].bytes = 9;
    assert_eq!(
        (phase.changed_for(&[ObjectiveIndex::at(1)]), phase.basis(ObjectiveIndex::at(1))),
        (1, EvidenceKind::Files)
    );
}

#[test]
fn what_was_written_with_the_content_that_it_had_shows_nothing() {
    // A11
    let mut phase = of_one_file();
    let written = vec![WrittenFile { path: "out.txt".into(), at_ns: 7 }];
    phase.measurements.facts = WorkspaceFacts { written, ..Default::default() };
    assert_eq!(phase.changed_for(&[ObjectiveIndex::at(0)]), 0);
    assert_eq!(phase.state_of(&"out.txt".to_owned()), FileState::Rewritten);
    assert_eq!(
        phase.contrary(ObjectiveIndex::at(0)),
        None,
        "its agent may report that it is as it should be"
    );
    // What a session that is gone had changed is written again by this one.
    let mut phase = of_one_file();
    phase.measurements.session_baseline = phase.measurements.facts.clone();
    phase.measurements.focus_baseline = (vec![ObjectiveIndex::at(0)], phase.measurements.facts.clone());
    assert_eq!(phase.changed_for(&[ObjectiveIndex::at(0)]), 0);
    phase.measurements.facts.written = vec![WrittenFile { path: "out.txt".into(), at_ns: 8 }];
    assert_eq!(phase.changed_for(&[ObjectiveIndex::at(0)]), 1);
}

#[test]
fn a_session_that_called_nothing_has_changed_nothing() {
    // A11: a file that the user edits meanwhile is not evidence of the agent's work.
    let mut phase = of_one_file();
    assert!(phase.changed_for(&[ObjectiveIndex::at(0)]) > 0);
    phase.measurements.session_may_have_written = false;
    assert_eq!(phase.changed_for(&[ObjectiveIndex::at(0)]), 0);
}

#[test]
fn where_others_work_in_the_same_folder_only_named_files_count() {
    // A11, D12
    let mut phase = of_one_file();
    phase.measurements.facts.changed[0].path = "of-another.txt".into();
    assert_eq!(phase.changed_for(&[ObjectiveIndex::at(0)]), 1);
    phase.measurements.has_company = true;
    assert_eq!(phase.changed_for(&[ObjectiveIndex::at(0)]), 0);
}

// A11
#[test]
fn a_session_is_judged_by_all_that_it_reported_and_by_what_it_takes_back() {
    let mut phase = of_one_file();
    let session = SessionId::from("s1");
    phase.session = Some(session.clone());
    let objective =
        |id: &str| Objective { id: id.into(), ..phase.objectives[ObjectiveIndex::at(0)].spec.clone() };
    let done = |id: &str, by: &SessionId, is_unassessed, basis| ObjectiveState {
        status: ObjectiveStatus::Done,
        by: Some(by.clone()),
        is_unassessed,
        done_by: Some(basis),
        ..ObjectiveState::new(objective(id))
    };
    let other = SessionId::from("s0");
    let objectives = vec![
        ObjectiveState::new(objective("open")),
        done("beside", &session, true, EvidenceKind::Reported),
        done("earlier", &session, false, EvidenceKind::Answer),
        done("of-another", &other, true, EvidenceKind::Reported),
        done("checked", &session, true, EvidenceKind::Checked),
        done("accepted", &session, false, EvidenceKind::Accepted),
    ];
    phase.objectives = objectives.into_iter().collect();
    assert_eq!(phase.objectives_to_judge(vec![ObjectiveIndex::at(0)], ""), [0, 1].map(ObjectiveIndex::at));
    assert_eq!(
        phase.objectives_to_judge(vec![ObjectiveIndex::at(0)], "**Not done:** earlier, checked and accepted"),
        [0, 1, 2].map(ObjectiveIndex::at)
    );
    assert_eq!(
        phase.objectives_to_judge(
            vec![ObjectiveIndex::at(0)],
            "The one before lacks two cases, says earlier."
        ),
        [0, 1, 2].map(ObjectiveIndex::at)
    );
    let note = "five lines; but earlier lacks two".to_owned();
    phase.objectives[ObjectiveIndex::at(1)].reported =
        Some(ObjectiveReport { status: ObjectiveStatus::Done, note, by: None, before_prompt: None });
    assert_eq!(
        phase.objectives_to_judge(vec![ObjectiveIndex::at(0)], ""),
        [0, 1, 2].map(ObjectiveIndex::at),
        "a note speaks of it"
    );
    phase.objectives[ObjectiveIndex::at(1)].reported = None;
    phase.objectives[ObjectiveIndex::at(2)].spec.id = "a".into();
    assert_eq!(
        phase.objectives_to_judge(vec![ObjectiveIndex::at(0)], "It was a stub."),
        [0, 1].map(ObjectiveIndex::at)
    );
    assert_eq!(
        phase.objectives_to_judge(vec![ObjectiveIndex::at(0)], "out.txt was a stub."),
        [0, 1, 2].map(ObjectiveIndex::at)
    );
    assert_eq!(phase.objectives_to_judge(Vec::new(), "Not done: earlier"), Vec::new());
}
