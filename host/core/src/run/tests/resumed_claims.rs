//! What agents said, what earlier walks of a loop left, and what parts did, when a host takes the run up in a folder that may have been
//! restored (A11).

use super::splits::wide;
use super::test_run::{ScriptedTurn, TestRun, workflow};
use crate::action::RunOutcome;
use crate::decision::{SplitAction, SubPhase, WorkStyle};
use crate::facts::{ChangedFile, WorkspaceFacts};
use crate::ids::{ActionId, Digest};
use crate::input::{AgentReport, Input};
use crate::observation::ObjectiveStatus;
use crate::run::phase::ObjectiveIndex;
use crate::run::phase_list::PhaseIndex;
use crate::run::step::PhaseStep;
use crate::time::UnixMs;
use crate::view::{PhaseStatus, RunStatus};

/// The agent reports its first objective as done, and its host dies while it is still in its prompt.
fn reported(mut flow: crate::workflow::Workflow, file: Option<&str>) -> TestRun {
    flow.phases[0].objectives[0].files = file.into_iter().map(str::to_owned).collect();
    let mut world = TestRun::new(flow);
    world.script = [ScriptedTurn::Hang].into();
    while world.run.phases.is_empty()
        || world.run.session(PhaseIndex::at(0)).is_none_or(|session| session.prompts == 0)
    {
        assert!(world.step());
    }
    world.forget();
    let report = AgentReport::ObjectiveUpdate {
        objective: "a".into(),
        status: ObjectiveStatus::Done,
        note: String::new(),
    };
    world.put(Input::Reported { session: Some("s1".into()), digest: Digest::of("done"), report });
    assert!(world.step());
    world
}

/// A host takes it up, and the run continues. How often the first objective was worked on then.
fn taken_up(mut world: TestRun, is_folder_replaced: Option<bool>) -> u32 {
    world.forget();
    assert!(world.run.has_unmeasured_claims());
    if let Some(is_folder_replaced) = is_folder_replaced {
        world.put(Input::ClaimsUnmeasured { is_folder_replaced });
        assert!(world.step());
    }
    world.crash();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert!(!world.run.has_unmeasured_claims());
    world.worked.get(&"a".into()).copied().unwrap_or(0)
}

#[test]
fn what_was_reported_and_is_not_in_the_folder_is_done_again() {
    // A11
    for objectives in [&["a"][..], &["a", "b"]] {
        let world = || reported(workflow(&[("1", objectives)]), None);
        assert_eq!(taken_up(world(), Some(false)), 1, "nothing changed since the last measurement");
        let mut there = world();
        there.moved = 1;
        assert_eq!(taken_up(there, Some(false)), 0, "its work is there");
        let mut replaced = world();
        replaced.moved = 1;
        assert_eq!(taken_up(replaced, Some(true)), 1, "what differs in another folder is not its work");
        assert_eq!(taken_up(world(), None), 0, "journals of hosts that did not look are read as ever");
    }
    // Another file than the one that the objective names shows nothing.
    let mut world = reported(workflow(&[("1", &["a"])]), Some("a.txt"));
    world.moved = 1;
    assert_eq!(taken_up(world, Some(false)), 1);
}

#[test]
fn an_answer_that_was_not_measured_counts_only_with_its_work() {
    // A11: the host died between the end of the prompt and the measurement.
    let asked = |moved| {
        let mut world = TestRun::new(workflow(&[("1", &["a"])]));
        let measures = |world: &TestRun| {
            matches!(world.run.phases[PhaseIndex::at(0)].step, PhaseStep::MeasuringWorkspace { .. })
        };
        while world.run.phases.is_empty() || !measures(&world) {
            assert!(world.step());
        }
        world.moved = moved;
        taken_up(world, Some(false))
    };
    assert_eq!((asked(0), asked(1)), (2, 1));
}

#[test]
fn git_may_have_put_files_there() {
    // A11: another commit, or nothing that differs from the commit.
    let mut phase = reported(workflow(&[("1", &["a"])]), None).run.phases[PhaseIndex::at(0)].clone();
    let before = phase.measurements.facts.clone();
    let mut now = WorkspaceFacts { changed: vec![file("a", "1")], ..before.clone() };
    now.git.present = true;
    let mut is_shown = |head: &str, dirty_files| {
        (now.git.head, now.git.dirty_files) = (head.to_owned(), dirty_files);
        phase.objectives[ObjectiveIndex::at(0)].claim = crate::run::claim_status::ClaimStatus::Unconfirmed;
        phase.set_facts(&before, UnixMs(1));
        phase.objectives[ObjectiveIndex::at(0)].claim = crate::run::claim_status::ClaimStatus::Unconfirmed;
        phase.set_facts(&now, UnixMs(2));
        phase.objectives[ObjectiveIndex::at(0)].claim == crate::run::claim_status::ClaimStatus::Measured
    };
    assert!(is_shown("", 1));
    assert!(!is_shown("", 0));
    assert!(!is_shown("another", 1));
}

fn file(path: &str, content: &str) -> ChangedFile {
    let digest = Some(Digest::of(content));
    ChangedFile { path: path.into(), bytes: 1, exists: true, digest, is_new: false }
}

#[test]
fn what_earlier_walks_of_a_loop_left_is_compared() {
    // A11
    let mut world = TestRun::new(workflow(&[("1", &["a"])]));
    while world.run.phases.is_empty() {
        assert!(world.step());
    }
    let phase = &mut world.run.phases[PhaseIndex::at(0)];
    let mut measure = |at, is_baseline, files: &[(&str, &str)]| {
        let changed = files.iter().map(|(path, content)| file(path, content)).collect();
        phase.step = match is_baseline {
            true => PhaseStep::Baseline { action: ActionId(1) },
            false => PhaseStep::Split,
        };
        phase.set_facts(&WorkspaceFacts { changed, ..Default::default() }, UnixMs(at));
    };
    measure(1, true, &[]);
    measure(2, false, &[("f", "1"), ("n", "1")]);
    measure(3, true, &[]);
    measure(4, false, &[("g", "1")]);
    measure(5, true, &[]);
    measure(6, false, &[("f", "2")]);
    measure(7, true, &[]);
    let changes = world.run.changes_in_workspace();
    let left: Vec<(u64, Vec<&str>)> = changes
        .iter()
        .map(|walk| (walk.measured_at.0, walk.files.iter().map(|file| file.path.as_str()).collect()))
        .collect();
    assert_eq!(left, [(2, vec!["n"]), (4, vec!["g"]), (6, vec!["f"]), (7, vec![])]);
    assert!(changes.iter().all(|walk| walk.phase.as_str() == "1"));
}

/// A phase of three objectives, each of which is a part in the folder of the phase; then another phase.
fn split_in_one_folder() -> TestRun {
    let mut flow = wide(3);
    flow.phases.push(workflow(&[("30", &["b"])]).phases.remove(0));
    flow.phases[1].depends_on = vec!["20".into()];
    flow.limits.parallel = 1;
    flow.review_parts = Some(false);
    let part = |n: usize| SubPhase {
        title: format!("part {n}"),
        objectives: vec![format!("o{n}").as_str().into()],
        order: WorkStyle::Direct,
        max_turns: None,
    };
    let mut world = TestRun::new(flow);
    world.base = None;
    world.split = Some(SplitAction::Split { sub_phases: (0..3).map(part).collect() });
    world
}

fn status_of(world: &TestRun, phase: &str, objective: &str) -> Option<(PhaseStatus, ObjectiveStatus)> {
    let view = world.run.view(world.now)?;
    let phase = view.phases.iter().find(|row| row.id.as_str() == phase)?;
    let row = phase.objectives.iter().find(|row| row.id.as_str() == objective)?;
    Some((phase.status, row.status))
}

fn lose(world: &mut TestRun, phase: &str, file: &str) {
    world.forget();
    let files = vec![file.to_owned()];
    world.put(Input::WorkLost { phase: phase.into(), files, beyond: 0, includes_accepted: true });
    assert!(world.step());
}

#[test]
fn what_a_part_did_in_the_folder_of_its_phase_and_is_gone_is_done_where_the_parts_are_together() {
    // A11
    let mut world = split_in_one_folder();
    while status_of(&world, "20a", "o0") != Some((PhaseStatus::Done, ObjectiveStatus::Done)) {
        assert!(world.step());
    }
    let listed = |world: &TestRun| {
        let changes = world.run.changes_in_workspace();
        changes.iter().any(|of| of.phase.as_str() == "20a" && of.has_done_work())
    };
    assert!(listed(&world));
    lose(&mut world, "20a", "p0.txt");
    assert!(!listed(&world));
    world.crash();
    world.go();
    assert_eq!((world.ending(), world.worked[&"o0".into()]), (Some(RunOutcome::Done), 2));
    assert!(!listed(&world), "the phase was measured behind it");
}

#[test]
fn parts_are_not_shown_as_done_whose_phase_lost_the_work() {
    // A11
    let mut world = split_in_one_folder();
    while status_of(&world, "30", "b").is_none_or(|(status, _)| status != PhaseStatus::Working) {
        assert!(world.step());
    }
    assert_eq!(world.run.view(world.now).unwrap().objectives().0, 3);
    lose(&mut world, "20", "p0.txt");
    world.crash();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    for n in 0..3 {
        let part = ["20a", "20b", "20c"][n];
        let (_, status) = status_of(&world, part, &format!("o{n}")).unwrap();
        assert_eq!(status, ObjectiveStatus::InProgress, "{part}");
    }
    assert_eq!(world.run.view(world.now).unwrap().objectives().0, 1);
}
