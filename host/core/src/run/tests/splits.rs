//! Phases that are split: who works at once and where, how what they made comes together, and who is asked when it does
//! not (D2–D4, C11), reviews (D3) and loops (B10).

use crate::action::{Action, RunOutcome};
use crate::decision::{SplitAction, SubPhase, WorkStyle};
use crate::ids::{Digest, PhaseId};
use crate::input::{ActionOutcome, AgentReport, Input, PauseAnswer, ReportedHandoff, SplitGroupReport};
use crate::observation::{EvidenceKind, HandoffObservation, ObjectiveStatus, PolicyQuery, PromptKind};
use crate::progress::ProgressEvent;
use crate::time::UnixMs;
use crate::view::{PhaseOrigin, PhaseStatus, RunStatus};
use crate::workflow::{ReviewRequirement, Workflow};

use super::test_run::{ScriptedTurn, TestRun, workflow};

fn parts(count: usize) -> SplitAction {
    let part = |n: usize| SubPhase {
        title: format!("part {n}"),
        objectives: vec![format!("o{n}").as_str().into()],
        order: WorkStyle::Direct,
        max_turns: None,
    };
    SplitAction::Split { sub_phases: (0..count).map(part).collect() }
}

/// One phase "20" with this many objectives, which is split into as many parts.
pub(super) fn wide(count: usize) -> Workflow {
    let ids: Vec<String> = (0..count).map(|n| format!("o{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    workflow(&[("20", &ids)])
}

fn world_of(workflow: Workflow, count: usize) -> TestRun {
    let mut world = TestRun::new(workflow);
    world.split = Some(parts(count));
    world
}

fn conflict() -> ActionOutcome {
    ActionOutcome::Conflicted { files: vec!["a.txt".into()] }
}

fn live(world: &TestRun) -> usize {
    world.run.live_sessions().len()
}

fn rows(world: &TestRun) -> Vec<(String, PhaseStatus)> {
    let view = world.run.view(world.now).unwrap();
    view.phases.iter().map(|phase| (phase.id.to_string(), phase.status)).collect()
}

fn merges(world: &TestRun) -> Vec<String> {
    let merge = |action: &Action| match action {
        Action::Merge { phase, .. } => Some(phase.to_string()),
        _ => None,
    };
    world.actions.iter().filter_map(merge).collect()
}

/// Runs to the end, and says how many agents there were at most.
fn go_and_count(world: &mut TestRun) -> usize {
    let mut most = 0;
    while world.step() {
        most = most.max(live(world));
    }
    most
}

#[test]
fn parts_work_at_once_each_in_its_own_tree_and_are_merged_in_order() {
    // D3 D7 D9
    let mut workflow = wide(14);
    workflow.limits.agents = 14;
    let mut world = world_of(workflow, 14);
    assert_eq!(go_and_count(&mut world), 14);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let trees: Vec<String> = world
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::Spawn(spec) => Some(spec.tree.to_string()),
            _ => None,
        })
        .collect();
    let letters: Vec<String> = ('a'..='n').map(|letter| format!("20{letter}")).collect();
    assert_eq!(trees, letters);
    assert_eq!(merges(&world), letters);
    let order = |name: &str| world.actions.iter().position(|action| action.name() == name).unwrap();
    assert!(order("checkpoint") < order("branch") && order("merge") < order("land"));
    assert!(world.worked.values().all(|times| *times == 1));
}

#[test]
fn no_more_agents_work_than_may() {
    let mut workflow = wide(9);
    workflow.limits.agents = 4;
    let mut world = world_of(workflow, 9);
    assert_eq!(go_and_count(&mut world), 4);
    assert_eq!(world.ending(), Some(RunOutcome::Done));

    let mut workflow = wide(9);
    workflow.providers = [("rehearsal".to_owned(), 2)].into();
    let mut world = world_of(workflow, 9);
    assert_eq!(go_and_count(&mut world), 2);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}

#[test]
fn two_phases_that_are_split_share_the_places() {
    // Each has four parts, and there are four places. The first is split first and takes what is free; the first place
    // after that is the other's, though parts of the first wait as well.
    let mut workflow = workflow(&[("1", &["o0", "o1", "o2", "o3"]), ("2", &["p0", "p1", "p2", "p3"])]);
    (workflow.limits.agents, workflow.limits.parallel) = (4, 2);
    let mut world = TestRun::new(workflow);
    world.split_each = true;
    let mut begun: Vec<String> = Vec::new();
    while world.step() {
        begun = world
            .notices
            .iter()
            .filter_map(|notice| match notice {
                ProgressEvent::SessionStarted { phase, .. } => Some(phase.to_string()),
                _ => None,
            })
            .collect();
        if begun.len() == 4 {
            break;
        }
    }
    assert_eq!(begun, ["1a", "1b", "1c", "2a"]);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}

#[test]
fn a_conflict_becomes_a_session_and_then_the_merge_is_concluded() {
    // D3
    let mut world = world_of(wide(3), 3);
    world.merges = [ActionOutcome::Merged { commit: "1".into(), files: 1 }, conflict()].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(merges(&world), ["20a", "20b", "20b", "20c"]);
    let view = world.run.view(world.now).unwrap();
    let mending = view.phases.iter().find(|phase| phase.origin == PhaseOrigin::Merge).unwrap();
    assert_eq!((mending.id.as_str(), mending.status), ("20-merge-20b", PhaseStatus::Done));
    assert_eq!(mending.tree.as_str(), "20.merge");
    let told = world.count(|n| matches!(n, ProgressEvent::Conflict { phase, .. } if phase.as_str() == "20b"));
    assert_eq!(told, 1);
    assert!(world.prompts_of(PromptKind::Merging).iter().any(|text| text.contains("Some(ConflictView")));
}

#[test]
fn a_conflict_that_a_session_leaves_is_a_persons() {
    let mut world = world_of(wide(3), 3);
    world.merges = [ActionOutcome::Merged { commit: "1".into(), files: 1 }, conflict(), conflict()].into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    world.answer(PauseAnswer::Skip);
    // The rest is brought back, and a notice names what stays apart.
    assert_eq!(world.ending(), Some(RunOutcome::Unfinished));
    assert_eq!(merges(&world), ["20a", "20b", "20b", "20c"]);
    let names: Vec<&str> = world.actions.iter().map(Action::name).collect();
    assert!(names.contains(&"unmerge") && names.contains(&"land"));
    assert_eq!(
        world.count(|n| matches!(n, ProgressEvent::KeptApart { phase, .. } if phase.as_str() == "20b")),
        1
    );
    let view = world.run.view(world.now).unwrap();
    let open: Vec<_> =
        view.phases[0].objectives.iter().filter(|o| o.by.is_none()).map(|o| o.id.as_str()).collect();
    assert_eq!(open, ["o1"]);
}

#[test]
fn a_conflict_may_be_tried_again() {
    let mut world = world_of(wide(2), 2);
    world.merges = [conflict(), conflict()].into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    world.merges = [conflict()].into();
    world.answer(PauseAnswer::Retry);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let view = world.run.view(world.now).unwrap();
    assert_eq!(view.phases.iter().filter(|phase| phase.origin == PhaseOrigin::Merge).count(), 2);
}

#[test]
fn the_whole_is_verified_before_it_reaches_the_workspace_and_again_when_that_had_changed() {
    // D3
    let mut workflow = wide(2);
    workflow.phases[0].verify = Some("make test".into());
    let mut world = world_of(workflow, 2);
    world.verdicts = [false, true, true].into();
    world.landings = [ActionOutcome::Updated].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let course: Vec<&str> = world
        .actions
        .iter()
        .map(Action::name)
        .filter(|name| ["merge", "verify", "prompt", "land"].contains(name))
        .skip(2)
        .collect();
    assert_eq!(course, ["merge", "merge", "verify", "prompt", "verify", "land", "verify", "land"]);
    let verified_in = |action: &Action| match action {
        Action::Verify { tree, .. } => Some(tree.to_string()),
        _ => None,
    };
    assert!(world.actions.iter().filter_map(verified_in).all(|tree| tree == "20.merge"));
    let view = world.run.view(world.now).unwrap();
    assert!(view.phases[0].tree.is_workspace());
    // A11: of an objective, its phase and its part say the same.
    let of_the_work = view.phases.iter().filter(|phase| phase.origin != PhaseOrigin::Merge);
    let bases: Vec<_> = of_the_work.flat_map(|phase| &phase.objectives).map(|row| row.done_by).collect();
    assert_eq!(bases, [Some(EvidenceKind::Checked); 4]);
}

#[test]
fn each_part_is_held_to_the_commands_of_its_own_objectives() {
    // D3
    let mut workflow = wide(2);
    workflow.phases[0].objectives[0].verify = Some("test -f zero".into());
    workflow.phases[0].objectives[1].verify = Some("test -f one".into());
    let mut world = world_of(workflow, 2);
    world.go();
    let commands: Vec<(String, String)> = world
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::Verify { phase, command, .. } => Some((phase.to_string(), command.clone())),
            _ => None,
        })
        .collect();
    let expected =
        [("20a", "test -f zero"), ("20b", "test -f one"), ("20", "test -f zero"), ("20", "test -f one")];
    assert_eq!(commands, expected.map(|(phase, command)| (phase.to_owned(), command.to_owned())));
}

#[test]
fn without_git_the_parts_share_the_folder_and_the_lead_synthesises() {
    // C11
    let mut world = world_of(wide(3), 3);
    world.base = None;
    world.absent = vec![".baton/r1/results/phase-20a.md".into()];
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let names: Vec<&str> = world.actions.iter().map(Action::name).collect();
    assert!(!names.iter().any(|name| ["branch", "merge", "land"].contains(name)));
    assert!(
        world.prompts_of(PromptKind::First).iter().all(|text| text.contains("Some(\".baton/r1/results/"))
    );
    let merging = world.prompts_of(PromptKind::Merging);
    assert_eq!(merging.len(), 1);
    assert!(merging[0].contains(".baton/r1/results/phase-20c.md"), "{}", merging[0]);
    // What no part wrote is not named; the host's own pages are always there.
    assert!(!merging[0].contains("results/phase-20a.md"), "{}", merging[0]);
    for part in ["20a", "20b", "20c"] {
        let page = format!(".baton/r1/phases/phase-{part}-results.md");
        assert!(merging[0].contains(&page), "{page}: {}", merging[0]);
    }
}

/// Asks for a split of the two objectives, each for itself, in the first prompt.
fn ask(world: &mut TestRun) {
    while live(world) == 0 {
        assert!(world.step());
    }
    let group = |title: &str, id: &str| SplitGroupReport { title: title.into(), objectives: vec![id.into()] };
    let groups = vec![group("one", "o0"), group("two", "o1")];
    let report = AgentReport::SplitRequest { groups, rationale: "too much".into() };
    world.put(Input::Reported { session: Some("s1".into()), digest: Digest::of("ask"), report });
}

#[test]
fn who_asks_for_a_split_instead_of_doing_the_work_is_no_failure() {
    // C26 D2
    for does in [ScriptedTurn::Nothing, ScriptedTurn::Exhaust, ScriptedTurn::Die] {
        let mut world = TestRun::new(wide(2));
        world.script = [does].into();
        world.split_on_request = true;
        ask(&mut world);
        world.go();
        assert_eq!(world.ending(), Some(RunOutcome::Done), "{does:?}");
        let view = world.run.view(world.now).unwrap();
        assert_eq!((view.phases[0].split, view.phases[0].continuation), (2, 0), "{does:?}");
        assert_eq!(view.phases[0].sessions[0].ending, "split-requested", "{does:?}");
    }
}

#[test]
fn a_request_that_is_refused_costs_a_continuation_where_the_session_is_gone() {
    let mut world = TestRun::new(wide(2));
    world.script = [ScriptedTurn::Exhaust].into();
    ask(&mut world);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let view = world.run.view(world.now).unwrap();
    assert_eq!((view.phases[0].split, view.phases[0].continuation), (0, 1));
}

#[test]
fn who_asks_for_splits_for_ever_is_told_and_then_given_up() {
    // D2
    let mut world = TestRun::new(wide(2));
    world.script = std::iter::repeat_n(ScriptedTurn::Nothing, 40).collect();
    let asks = |world: &TestRun| world.run.view(world.now).is_some_and(|view| !view.questions.is_empty());
    for n in 0..400 {
        if world.ending().is_some() || asks(&world) {
            break;
        }
        if live(&world) > 0 && n % 3 == 0 {
            let group = SplitGroupReport { title: "one".into(), objectives: vec!["o0".into()] };
            let report = AgentReport::SplitRequest { groups: vec![group], rationale: "too much".into() };
            world.put(Input::Reported { session: None, digest: Digest::of(format!("ask {n}")), report });
        }
        world.step();
    }
    let declined = world.count(|notice| matches!(notice, ProgressEvent::SplitDeclined { .. }));
    assert!(declined >= 1, "{declined}");
    assert!(asks(&world), "{:?}", world.ending());
    assert!(!world.prompts_of(PromptKind::Nudged).is_empty());
}

#[test]
fn a_part_may_be_split_again_and_no_deeper_than_allowed() {
    // D4 D11
    let mut world = TestRun::new(wide(4));
    world.split_each = true;
    world.halves = true;
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let ids: Vec<String> = rows(&world).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["20", "20a", "20a-a", "20a-b", "20b", "20b-a", "20b-b"]);
    let landed: Vec<PhaseId> = world
        .notices
        .iter()
        .filter_map(|notice| match notice {
            ProgressEvent::Landed { phase, .. } => Some(phase.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(landed, ["20a".into(), "20b".into(), PhaseId::from("20")]);
}

#[test]
fn a_tree_that_cannot_be_made_is_a_persons_and_may_be_tried_again() {
    let mut world = world_of(wide(2), 2);
    world.branches = [ActionOutcome::Failed { error: "npm ci: no network".into() }].into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    let view = world.run.view(world.now).unwrap();
    assert!(view.questions[0].text.contains("npm ci: no network"));
    world.answer(PauseAnswer::Retry);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}

#[test]
fn where_the_parts_come_together_everything_is_ready_too() {
    // C1
    let mut workflow = wide(2);
    workflow.setup = vec!["npm ci".into()];
    workflow.phases[0].verify = Some("npm test".into());
    let mut world = world_of(workflow, 2);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let readied = |action: &Action| match action {
        Action::CreateWorktree { tree, setup, .. } => Some((tree.to_string(), setup.clone())),
        _ => None,
    };
    let readied: Vec<_> = world.actions.iter().filter_map(readied).collect();
    let expected = ["20a", "20b", "20.merge"].map(|tree| (tree.to_owned(), vec!["npm ci".to_owned()]));
    assert_eq!(readied, expected);
}

#[test]
fn an_answer_waits_for_a_place() {
    let mut workflow = wide(2);
    workflow.limits.agents = 1;
    let mut world = world_of(workflow, 2);
    world.branches = [ActionOutcome::Failed { error: "no".into() }].into();
    // The first part waits for a person, the second has the only place.
    while live(&world) == 0 {
        assert!(world.step());
    }
    let question = world.run.view(world.now).unwrap().questions[0].id;
    world.put(Input::Answered { question, choice: PauseAnswer::Retry, message: None });
    assert_eq!(go_and_count(&mut world), 1);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}

#[test]
fn a_split_survives_a_restart_of_the_host_at_any_point() {
    // D8
    let fresh = || {
        let mut workflow = wide(3);
        (workflow.limits.agents, workflow.phases[0].verify) = (2, Some("make test".into()));
        workflow.phases[0].review = Some(ReviewRequirement { role: "executor".into(), score: 70 });
        let mut world = world_of(workflow, 3);
        world.merges = [ActionOutcome::Merged { commit: "1".into(), files: 1 }, conflict()].into();
        world.script = [ScriptedTurn::Finish(300), ScriptedTurn::Exhaust].into();
        world
    };
    let mut whole = fresh();
    whole.go();
    assert_eq!(whole.ending(), Some(RunOutcome::Done));
    for at in 1..whole.journal.len() {
        let mut world = fresh();
        for _ in 0..at {
            assert!(world.step());
        }
        world.now = UnixMs(world.now.0 + 1000);
        world.crash();
        world.go();
        let view = world.run.view(world.now).unwrap();
        assert_eq!(world.ending(), Some(RunOutcome::Done), "after input {at}: {:?}", view.questions);
        let of_work = world.worked.iter().filter(|(id, _)| id.as_str().starts_with('o'));
        assert!(
            of_work.clone().count() == 3 && of_work.clone().all(|(_, times)| *times <= 2),
            "after input {at}"
        );
    }
}

#[test]
fn the_objective_whose_verification_fails_is_the_one_that_is_mended() {
    // D3
    let mut workflow = wide(3);
    for objective in &mut workflow.phases[0].objectives {
        objective.verify = Some(format!("test -f {}", objective.id));
    }
    let mut world = TestRun::new(workflow);
    world.verdicts = [true, false].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(world.worked.get(&"o1".into()), Some(&2));
    let failed = world.count(|n| matches!(n, ProgressEvent::Verified { passed: false, attempt: 1, .. }));
    let passed = world.count(|n| matches!(n, ProgressEvent::Verified { passed: true, attempt: 2, .. }));
    assert_eq!((failed, passed), (1, 1), "a round of verifications is told once");
}

/// What the first prompts of the parts were written from.
fn first_briefs_of_parts(world: &TestRun) -> Vec<&HandoffObservation> {
    let briefs = world.actions.iter().filter_map(|action| match action {
        Action::RequestDecision { request, .. } => match &request.query {
            PolicyQuery::Prompting(seen) => Some(&**seen),
            _ => None,
        },
        _ => None,
    });
    briefs.filter(|seen| seen.phase.id.as_str() != "20" && seen.session.prompts == 0).collect()
}

#[test]
fn the_parts_of_a_phase_go_on_from_what_its_last_session_left() {
    // C23 A8
    let mut world = TestRun::new(wide(2));
    world.script = [ScriptedTurn::Exhaust, ScriptedTurn::Exhaust].into();
    while world.prompts_of(PromptKind::Continuing).is_empty() {
        assert!(world.step());
    }
    world.split = Some(parts(2));
    let handoff = ReportedHandoff { current_state: "two cases of five".into(), ..ReportedHandoff::default() };
    let update = AgentReport::ObjectiveUpdate {
        objective: "o1".into(),
        status: ObjectiveStatus::InProgress,
        note: "its table is there".into(),
    };
    for (n, report) in [AgentReport::HandoffWrite(Box::new(handoff)), update].into_iter().enumerate() {
        let digest = Digest::of(format!("report {n}"));
        world.put(Input::Reported { session: Some("s2".into()), digest, report });
    }
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let view = world.run.view(world.now).unwrap();
    let left = &view.phases[0].handoffs;
    let left = left.iter().rfind(|row| row.session.as_str() == "s2").unwrap();
    let briefs = first_briefs_of_parts(&world);
    assert_eq!(briefs.len(), 2);
    for seen in briefs {
        assert_eq!(seen.kind, PromptKind::Continuing);
        assert_eq!(crate::workflow::paths::archived(&seen.newest_handoff.as_ref().unwrap().path), left.path);
        assert_eq!(seen.reported.as_ref().unwrap().current_state, "two cases of five");
        assert!(seen.because.as_ref().is_some_and(|because| !because.is_empty()));
        let remarks: Vec<&str> = seen.remarks.iter().map(|remark| remark.text.as_str()).collect();
        let has_remark = seen.objectives.iter().any(|objective| objective.id.as_str() == "o1");
        assert_eq!(remarks, if has_remark { vec!["its table is there"] } else { vec![] });
    }
    let first_of_part = |id: &str| {
        let phase = view.phases.iter().find(|phase| phase.id.as_str() == id).unwrap();
        phase.handoffs.last().and_then(|row| row.predecessor.clone())
    };
    assert_eq!(first_of_part("20a"), Some(left.path.clone()));
}

#[test]
fn a_session_whose_phase_is_split_is_handed_off_first() {
    // C23 D2
    let mut world = TestRun::new(wide(2));
    world.split_on_request = true;
    world.script = [ScriptedTurn::Nothing].into();
    ask(&mut world);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let order = |name: &str| world.actions.iter().position(|action| action.name() == name).unwrap();
    assert!(order("write-handoff") < order("checkpoint"));
    assert!(first_briefs_of_parts(&world).iter().all(|seen| seen.newest_handoff.is_some()));
}
