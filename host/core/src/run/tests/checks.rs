//! The commands that work is held to (D3), and those that run before it.

use std::collections::BTreeSet;

use crate::action::{Action, RunOutcome};
use crate::facts::{AgentEvent, ChangedFile, WorkspaceFacts};
use crate::input::PauseAnswer;
use crate::observation::{EvidenceKind, FileState, ObjectiveStatus, PolicyQuery};
use crate::progress::ProgressEvent;
use crate::run::phase::ObjectiveIndex;
use crate::run::phase::Phase;
use crate::run::phase_list::PhaseIndex;
use crate::run::step::PhaseStep;
use crate::run::tests::splits::wide;
use crate::run::tests::test_run::{ScriptedTurn, TestRun, workflow};
use crate::workflow::{Acceptance, Workflow};

#[test]
fn every_objective_is_held_to_its_own_command_whatever_was_found_of_another() {
    // D3
    let mut workflow = wide(3);
    for objective in &mut workflow.phases[0].objectives {
        objective.verify = Some(format!("test -f {}", objective.id));
    }
    workflow.phases[0].verify = Some("make test".into());
    let mut world = TestRun::new(workflow);
    world.verdicts = [false, true, false].into();
    world.findings = "no such file".into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let worked: Vec<_> = ["o0", "o1", "o2"].map(|id| world.worked[&id.into()]).into();
    assert_eq!(worked, [2, 1, 2], "what its own command passed is not worked on again");
    let commands: Vec<&str> = world
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::Verify { command, .. } => Some(command.as_str()),
            _ => None,
        })
        .collect();
    let round = ["test -f o0", "test -f o1", "test -f o2"];
    assert_eq!(
        commands,
        [&round[..], &round[..], &["make test"]].concat(),
        "theirs fail: that of the phase waits"
    );
    let told = world.texts_of_prompts();
    let both = told.iter().any(|text| {
        text.contains("The verification of o0 (`test -f o0`) failed:\nno such file")
            && text.contains("The verification of o2 (`test -f o2`) failed:")
            && !text.contains("The verification of o1")
    });
    assert!(both, "{told:#?}");
    let failed = world.count(|n| matches!(n, ProgressEvent::Verified { passed: false, attempt: 1, .. }));
    let passed = world.count(|n| matches!(n, ProgressEvent::Verified { passed: true, .. }));
    assert_eq!((failed, passed), (1, 1), "a round is told once");
}

#[test]
fn what_has_a_check_that_never_passed_is_not_done_when_its_phase_is_left() {
    // A11
    let mut workflow = workflow(&[("1", &["a", "b", "c"])]);
    workflow.phases[0].objectives[0].verify = Some("test -s a".into());
    let mut world = TestRun::new(workflow);
    world.script = [ScriptedTurn::Finish(300), ScriptedTurn::Exhaust, ScriptedTurn::Exhaust].into();
    world.go();
    let status = |world: &TestRun| world.run.view(world.now).unwrap().phases[0].objectives[0].status;
    assert_eq!(status(&world), ObjectiveStatus::Done);
    world.answer(PauseAnswer::Skip);
    assert_eq!(world.ending(), Some(RunOutcome::Unfinished));
    assert_eq!(status(&world), ObjectiveStatus::InProgress);
    let told = |n: &ProgressEvent| matches!(n, ProgressEvent::Reopened { because, .. } if because.contains("its check has not passed"));
    assert_eq!(world.count(told), 1);
}

#[test]
fn a_check_that_runs_what_the_work_changed_is_told_at_the_end_of_the_phase() {
    // D3
    let mut workflow = wide(2);
    workflow.phases[0].objectives[0].verify = Some("sh check.sh".into());
    workflow.phases[0].verify = Some("make test && cargo test".into());
    workflow.phases[0].objectives[0].files = vec!["Makefile".into(), "src/a.rs".into()];
    workflow.phases[0].objectives[1].files = vec!["src/check.sh".into()];
    let mut world = TestRun::new(workflow);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let told = |notice: &ProgressEvent| match notice {
        ProgressEvent::CheckChanged { command, files, .. } => {
            assert_eq!(
                (command.as_str(), files.as_slice()),
                ("make test && cargo test", &["Makefile".to_owned()][..])
            );
            true
        }
        _ => false,
    };
    assert_eq!(world.count(told), 1);
    let phase = &world.run.view(world.now).unwrap().phases[0];
    let named: Vec<&str> = phase.modified_checks.iter().map(|check| check.command.as_str()).collect();
    assert_eq!(named, ["make test && cargo test"], "the report says it as well");
}

#[test]
fn commands_that_never_pass_are_all_named_to_the_person_who_is_asked() {
    // D3
    let mut workflow = wide(2);
    for objective in &mut workflow.phases[0].objectives {
        objective.verify = Some(format!("test -f {}", objective.id));
    }
    let mut world = TestRun::new(workflow);
    world.verdicts = [false; 20].into();
    world.findings = "no such file".into();
    world.go();
    let text = world.run.view(world.now).unwrap().questions[0].text.clone();
    assert!(text.starts_with("The verification of o0, o1 of phase"), "{text}");
    assert!(
        text.contains("(`test -f o0`) failed 3 times: no such file; `test -f o1`: no such file"),
        "{text}"
    );
}

/// One objective that is held to `make test`, which runs before the work as well.
fn checked_first() -> Workflow {
    let mut workflow = workflow(&[("1", &["a"])]);
    workflow.phases[0].verify = Some("make test".into());
    workflow.verify_first = true;
    workflow
}

fn ended(workflow: Workflow, verdicts: &[bool]) -> TestRun {
    let mut world = TestRun::new(workflow);
    world.verdicts = verdicts.iter().copied().collect();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    world
}

#[test]
fn a_command_that_passed_before_the_work_shows_nothing_of_it() {
    // A11, D3
    let shown = |world: &TestRun| {
        let view = world.run.view(world.now).unwrap();
        let objective = &view.phases[0].objectives[0];
        (objective.done_by, objective.check_passed, objective.passed_before)
    };
    let green = ended(checked_first(), &[true, true]);
    assert_eq!(shown(&green), (Some(EvidenceKind::Answer), Some(true), true));
    let red = ended(checked_first(), &[false, true]);
    assert_eq!(shown(&red), (Some(EvidenceKind::Checked), Some(true), false));
    let told: Vec<bool> = red
        .notices
        .iter()
        .filter_map(|notice| match notice {
            ProgressEvent::CheckedFirst { command, passed, code: Some(1), .. } if command == "make test" => {
                Some(*passed)
            }
            _ => None,
        })
        .collect();
    assert_eq!(told, [false]);
    let mut content = checked_first();
    content.accept = Some(Acceptance::Checked);
    assert_eq!(
        shown(&ended(content, &[true, true])).0,
        Some(EvidenceKind::Checked),
        "its author takes a check for done"
    );
    let mut usual = checked_first();
    usual.verify_first = false;
    let usual = ended(usual, &[true]);
    assert_eq!(shown(&usual), (Some(EvidenceKind::Checked), Some(true), false), "nobody looked before");
}

#[test]
fn a_check_whose_program_is_not_there_is_told_before_an_agent_starts() {
    // D3
    let begun = |command: &str, findings: &str| {
        let mut workflow = checked_first();
        workflow.phases[0].verify = Some(command.into());
        let mut world = TestRun::new(workflow);
        (world.verdicts, world.exit_code, world.findings) = ([false].into(), 127, findings.into());
        world.go();
        world
    };
    let mut world = begun("pytest -q", "sh: 1: pytest: not found\n");
    let view = world.run.view(world.now).unwrap();
    let question = &view.questions[0];
    assert!(question.text.contains("`pytest` was not found, so `pytest -q`"), "{}", question.text);
    assert!(view.phases[0].sessions.is_empty(), "no agent was started for it");
    world.answer(PauseAnswer::Retry);
    assert_eq!(world.ending(), Some(RunOutcome::Done), "it is looked for again");
    // What the work is to make, and what another program misses, is not a mistake of the person who typed it.
    for (command, findings) in
        [("./check.sh", "sh: 1: ./check.sh: not found\n"), ("npm test", "sh: 1: vitest: not found\n")]
    {
        assert_eq!(begun(command, findings).ending(), Some(RunOutcome::Done), "{command}");
    }
}

#[test]
fn what_runs_before_the_work_runs_before_the_start_is_measured_and_once() {
    // A11
    let mut workflow = checked_first();
    workflow.phases[0].objectives[0].verify = Some("test -f a".into());
    let world = ended(workflow, &[false, true, true, true]);
    let course: Vec<String> = world
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::Verify { command, attempt, .. } => Some(format!("{command} {attempt}")),
            Action::MeasureWorkspace { baseline: true, .. } => Some("baseline".to_owned()),
            Action::Spawn(_) => Some("spawn".to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(course, ["test -f a 0", "make test 0", "baseline", "spawn", "test -f a 1", "make test 1"]);
    let phase = &world.run.phases[PhaseIndex::at(0)];
    assert!(!phase.passed_before(ObjectiveIndex::at(0)), "one of the two failed before");
    assert_eq!(phase.objectives[ObjectiveIndex::at(0)].done_by, Some(EvidenceKind::Checked));
}

#[test]
fn a_person_is_told_that_a_command_failed_before_the_work_too() {
    // D3
    let mut world = TestRun::new(checked_first());
    world.verdicts = [false; 20].into();
    world.findings = "test_old failed".into();
    world.go();
    let text = world.run.view(world.now).unwrap().questions[0].text.clone();
    assert!(text.ends_with("test_old failed (it failed before the work began, too)"), "{text}");
}

#[test]
fn a_policy_is_told_what_a_command_said_before_the_work() {
    // A11: it asked whether the work is done, since a check that had failed might have passed before.
    for before in [false, true] {
        let mut workflow = checked_first();
        workflow.phases[0].objectives[0].verify = Some("test -f a".into());
        let world = ended(workflow, &[before, !before, true, true]);
        let judged = world.actions.iter().find_map(|action| match action {
            Action::RequestDecision { request, .. } => match &request.query {
                PolicyQuery::Completion(seen) => Some(seen.session.clone()),
                _ => None,
            },
            _ => None,
        });
        let judged = judged.unwrap();
        assert_eq!(judged.objectives[0].check_passed, Some(before));
        assert_eq!(judged.phase.check_passed, Some(!before));
        let briefed = world.actions.iter().find_map(|action| match action {
            Action::RequestDecision { request, .. } => match &request.query {
                PolicyQuery::Prompting(seen) => Some(seen.clone()),
                _ => None,
            },
            _ => None,
        });
        assert_eq!(briefed.unwrap().phase.check_passed, None, "a prompt is about what was made since");
    }
}

#[test]
fn an_agent_that_runs_its_check_alone_has_changed_nothing() {
    // A11
    let world = ended(checked_first(), &[]);
    let call = |command: &str| AgentEvent::ToolCall {
        id: "1".into(),
        name: "Bash".into(),
        reads: None,
        writes: None,
        command: Some(command.into()),
    };
    assert!(world.run.is_own_check(PhaseIndex::at(0), &call(" make test")));
    assert!(!world.run.is_own_check(PhaseIndex::at(0), &call("make test; touch x")));
}

#[test]
fn a_file_that_an_earlier_phase_changed_is_not_missed() {
    // A11: what an earlier phase did ahead need not be done again, and shows nothing by itself.
    let mut spec = workflow(&[("2", &["b"])]).phases.remove(0);
    spec.objectives[0].files = vec!["USAGE.md".into()];
    let mut phase = Phase::new(spec);
    let path = "USAGE.md".to_owned();
    assert_eq!(phase.contrary(ObjectiveIndex::at(0)).as_deref(), Some("USAGE.md has not changed"));
    phase.measurements.changed_earlier = BTreeSet::from([path.clone()]);
    assert_eq!((phase.state_of(&path), phase.contrary(ObjectiveIndex::at(0))), (FileState::Rewritten, None));
    assert_eq!(
        (phase.changed_for(&[ObjectiveIndex::at(0)]), phase.basis(ObjectiveIndex::at(0))),
        (0, EvidenceKind::Answer)
    );
    phase.measurements.facts.missing = vec![path.clone()];
    assert_eq!(phase.state_of(&path), FileState::Missing, "it is gone since");

    let mut flow = workflow(&[("1", &["a"]), ("2", &["b"])]);
    flow.phases[1].depends_on = vec!["1".into()];
    flow.phases[1].objectives[0].files = vec![path.clone()];
    let mut world = ended(flow, &[]);
    let changed = ChangedFile { path: path.clone(), bytes: 4, exists: true, digest: None, is_new: true };
    world.run.phases[PhaseIndex::at(0)].measurements.facts =
        WorkspaceFacts { changed: vec![changed], ..Default::default() };
    assert_eq!(world.run.changed_earlier(PhaseIndex::at(1)), BTreeSet::from([path]));
    world.run.phases[PhaseIndex::at(0)].step = PhaseStep::Pending;
    assert_eq!(world.run.changed_earlier(PhaseIndex::at(1)), BTreeSet::new(), "it is not over");
}

#[test]
fn what_the_next_run_reads_is_known_by_its_name_and_of_the_rest_a_change_may_be_overlooked() {
    // N6: in a folder with more files than are listed, a workflow file that an agent had changed was used.
    let mut flow = workflow(&[("1", &["a"])]);
    flow.next_run_files = ["job.toml", "tools"].map(str::to_owned).to_vec();
    let mut world = ended(flow, &[]);
    let next_run_files = world.run.workflow.next_run_files.clone();
    world.run.phases[PhaseIndex::at(0)].measurements.facts =
        WorkspaceFacts { next_run_files, ..Default::default() };
    for file in ["job.toml", "tools"] {
        assert!(world.run.may_have_changed(file), "{file}");
    }
    for file in ["job.toml.orig", "tools/agent.sh", "tools2/agent.sh", "other.toml"] {
        assert!(!world.run.may_have_changed(file) && !world.run.may_have_overlooked(file), "{file}");
    }
    world.run.phases[PhaseIndex::at(0)].measurements.facts =
        WorkspaceFacts { has_unseen: true, ..Default::default() };
    for named in ["job.toml", "tools/agent.sh"] {
        assert!(!world.run.may_have_changed(named) && !world.run.may_have_overlooked(named), "{named}");
    }
    assert!(world.run.may_have_overlooked("other.toml") && world.run.may_have_overlooked("tools2/agent.sh"));
}

#[test]
fn a_check_that_was_changed_beyond_what_is_listed_is_named() {
    // D3
    let mut flow = workflow(&[("1", &["a"])]);
    flow.phases[0].verify = Some("sh check.sh".into());
    let mut phase = Phase::new(flow.phases.remove(0));
    phase.measurements.facts.next_run_files = vec!["check.sh".into(), "job.toml".into()];
    assert_eq!(phase.modified_checks()[0].files, ["check.sh"]);
}
