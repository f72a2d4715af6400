//! What is asked of a part before it is merged (D12, D3), which objectives a repair is about, and how a session ends that asked for a
//! split (C26, D2).

use crate::action::{Action, RunOutcome};
use crate::decision::{SplitAction, SubPhase, WorkStyle};
use crate::ids::{Digest, SessionId};
use crate::input::{AgentReport, Input, PauseAnswer, SplitGroupReport};
use crate::observation::{ObjectiveStatus, PromptKind};
use crate::view::{PhaseOrigin, PhaseStatus, RunStatus};
use crate::workflow::{AgentKind, PhaseLoop, ReviewRequirement, Role, Workflow};

use super::test_run::{ScriptedTurn, TestRun, workflow};

/// One phase "20" that a policy splits into a part for each of its objectives.
fn split_in(count: usize, change: impl FnOnce(&mut Workflow)) -> TestRun {
    let ids: Vec<String> = (0..count).map(|n| format!("o{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut workflow = workflow(&[("20", &ids)]);
    workflow.review_parts = Some(true);
    change(&mut workflow);
    let mut world = TestRun::new(workflow);
    let part = |id: &&str| SubPhase {
        title: format!("part {id}"),
        objectives: vec![(*id).into()],
        order: WorkStyle::Direct,
        max_turns: None,
    };
    world.split = Some(SplitAction::Split { sub_phases: ids.iter().map(part).collect() });
    world
}

/// Reviews, each with the role that it is done in.
fn reviews(world: &TestRun) -> Vec<(String, String)> {
    let spawned = |action: &Action| match action {
        Action::Spawn(spec) => Some((spec.phase.to_string(), spec.role.to_string())),
        _ => None,
    };
    world.actions.iter().filter_map(spawned).filter(|(phase, _)| phase.contains("-review")).collect()
}

/// The objectives of each prompt that was given in a phase, in order.
fn asked_in(world: &TestRun, phase: &str) -> Vec<Vec<String>> {
    let sessions: Vec<SessionId> = world
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::Spawn(spec) if spec.phase.as_str() == phase => Some(spec.session.clone()),
            _ => None,
        })
        .collect();
    let focus = |action: &Action| match action {
        Action::Prompt { session, focus, .. } if sessions.contains(session) => {
            Some(focus.iter().map(ToString::to_string).collect())
        }
        _ => None,
    };
    world.actions.iter().filter_map(focus).collect()
}

/// Where something is in the list of actions.
fn place(world: &TestRun, is: impl Fn(&Action) -> bool) -> usize {
    world.actions.iter().position(is).unwrap()
}

#[test]
fn a_part_with_an_objective_that_nothing_checks_is_reviewed_before_it_is_merged() {
    // D12
    let mut world =
        split_in(2, |workflow| workflow.phases[0].objectives[0].verify = Some("test -f 0".into()));
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(reviews(&world), [("20b-review".to_owned(), "executor".to_owned())]);
    let reviewed =
        place(&world, |action| matches!(action, Action::Prompt { kind: PromptKind::Reviewing, .. }));
    let merged =
        place(&world, |action| matches!(action, Action::Merge { phase, .. } if phase.as_str() == "20b"));
    assert!(reviewed < merged);
    let view = world.run.view(world.now).unwrap();
    let scores: Vec<_> = view.phases.iter().map(|phase| (phase.id.as_str(), phase.score)).collect();
    assert_eq!(scores, [("20", None), ("20a", None), ("20b", Some(100)), ("20b-review", None)]);
}

#[test]
fn the_default_reviewer_has_the_role_of_that_name_or_else_the_agent_of_the_phase() {
    // D12
    let mut world = split_in(2, |workflow| {
        let role = Role::of(AgentKind::Claude);
        workflow.roles.insert("reviewer".into(), role);
    });
    world.go();
    let role = "reviewer".to_owned();
    assert_eq!(reviews(&world), [("20a-review".to_owned(), role.clone()), ("20b-review".to_owned(), role)]);

    let mut world = split_in(2, |workflow| workflow.phases[0].agent = Some(AgentKind::Codex));
    world.go();
    let agents = world.actions.iter().filter_map(|action| match action {
        Action::Spawn(spec) => Some(spec.agent.clone()),
        _ => None,
    });
    assert!(agents.collect::<Vec<_>>().iter().all(|agent| *agent == AgentKind::Codex));
}

#[test]
fn the_phases_own_review_looks_at_each_part_and_none_does_where_the_workflow_leaves_it_out() {
    // D12
    let own = |workflow: &mut Workflow| {
        workflow.phases[0].review = Some(ReviewRequirement { role: "executor".into(), score: 50 });
    };
    let mut world = split_in(2, own);
    world.go();
    let phases: Vec<String> = reviews(&world).into_iter().map(|(phase, _)| phase).collect();
    assert_eq!(phases, ["20a-review", "20b-review", "20-review"]);

    let mut world = split_in(2, |workflow| {
        own(workflow);
        workflow.review_parts = Some(false);
    });
    world.go();
    assert_eq!(reviews(&world), [("20-review".to_owned(), "executor".to_owned())]);
    assert_eq!(world.ending(), Some(RunOutcome::Done));

    let mut world = split_in(2, |workflow| workflow.review_parts = Some(false));
    world.go();
    assert_eq!((reviews(&world).len(), world.ending()), (0, Some(RunOutcome::Done)));
}

#[test]
fn what_a_review_of_a_part_finds_goes_back_to_that_part_alone_and_within_bounds() {
    // D12 D3
    let mut world = split_in(3, |_| {});
    world.reviews = [Some(40)].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let mut worked: Vec<u32> = (0..3).map(|n| world.worked[&format!("o{n}").as_str().into()]).collect();
    worked.sort_unstable();
    assert_eq!(worked, [1, 1, 2]);
    assert_eq!(reviews(&world).len(), 4);

    let mut world = split_in(2, |workflow| workflow.limits.agents = 1);
    world.reviews = [Some(10), Some(10), Some(10)].into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    let view = world.run.view(world.now).unwrap();
    assert!(view.questions[0].text.contains("and 70 are needed"), "{}", view.questions[0].text);
    let merged = world.actions.iter().any(|action| matches!(action, Action::Merge { .. }));
    assert!(!merged, "a part that nobody is content with is not merged");
}

#[test]
fn a_part_that_nobody_scored_is_merged_by_a_person_alone_whatever_checks_the_whole() {
    // D12: its reviewer had found something that was refused, and the part was merged all the same.
    for refuses_reviews in [false, true] {
        let mut world = split_in(2, |workflow| {
            workflow.limits.agents = 1;
            workflow.phases[0].verify = Some("true".into());
        });
        // What was refused is asked for again in its session.
        world.reviews = if refuses_reviews { vec![None; 20].into() } else { [None, Some(90)].into() };
        world.refuses_reviews = refuses_reviews;
        world.go();
        let view = world.run.view(world.now).unwrap();
        let question = &view.questions[0].text;
        assert!(question.contains("no score"), "{question}");
        assert_eq!(question.contains("`score` is missing"), refuses_reviews, "{question}");
        assert!(!world.actions.iter().any(|action| matches!(action, Action::Merge { .. })));
        if !refuses_reviews {
            world.answer(PauseAnswer::Accept);
            assert_eq!(world.ending(), Some(RunOutcome::Done));
        }
    }
}

#[test]
fn a_part_that_nobody_could_review_and_nothing_checks_is_merged_by_a_person_alone() {
    // D12
    let mut world = split_in(2, |workflow| workflow.limits.agents = 1);
    world.reviews = [None, Some(90)].into();
    world.go();
    let view = world.run.view(world.now).unwrap();
    assert!(view.questions[0].text.contains("The review of 20a has no score"), "{}", view.questions[0].text);
    assert!(!world.actions.iter().any(|action| matches!(action, Action::Merge { .. })));
    world.answer(PauseAnswer::Accept);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(reviews(&world).len(), 2, "a person's word is the last one");
}

#[test]
fn a_part_of_a_part_is_reviewed_by_default_for_itself() {
    // D12
    let mut world = split_in(4, |workflow| {
        workflow.phases[0].objectives.iter_mut().take(3).for_each(|one| one.verify = Some("true".into()));
    });
    (world.split, world.split_each, world.halves) = (None, true, true);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let mut phases: Vec<String> = reviews(&world).into_iter().map(|(phase, _)| phase).collect();
    phases.sort();
    assert_eq!(phases, ["20b-b-review", "20b-review"]);
}

#[test]
fn a_repair_of_the_whole_is_asked_of_the_objective_that_the_finding_names() {
    // D12
    let verified = |workflow: &mut Workflow| {
        workflow.review_parts = Some(false);
        workflow.phases[0].verify = Some("make test".into());
        for objective in &mut workflow.phases[0].objectives {
            objective.files = vec![format!("src/{}.sh", objective.id.as_str().replace('o', "thing"))];
        }
    };
    for findings in ["not ok src/thing2.sh: expected 4, found 5", "not ok: o2 (5 of 6 are right)"] {
        let mut world = split_in(6, verified);
        world.verdicts = [false].into();
        world.findings = findings.into();
        world.go();
        assert_eq!(world.ending(), Some(RunOutcome::Done));
        assert_eq!(asked_in(&world, "20"), [["o2"]], "{findings}");
        assert!(world.texts_of_prompts().iter().any(|text| text.contains(findings)));
        let again: Vec<&str> =
            world.worked.iter().filter(|(_, times)| **times > 1).map(|(id, _)| id.as_str()).collect();
        assert_eq!(again, ["o2"], "what is right is not asked again");
    }
}

#[test]
fn a_repair_of_the_whole_is_about_all_of_it_where_the_finding_names_nothing() {
    // D12
    let mut world = split_in(6, |workflow| {
        workflow.review_parts = Some(false);
        workflow.phases[0].verify = Some("make test".into());
    });
    world.verdicts = [false].into();
    world.findings = "one test of six failed".into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(asked_in(&world, "20"), [["o0", "o1", "o2", "o3", "o4", "o5"]]);
}

/// Three parts whose whole fails its verification three times because of `o1`, until a person is asked.
fn never_right() -> TestRun {
    let mut world = split_in(3, |workflow| {
        workflow.review_parts = Some(false);
        workflow.phases[0].verify = Some("make test".into());
    });
    (world.verdicts, world.findings) = ([false, false, false].into(), "not ok: o1".into());
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    world
}

fn landings(world: &TestRun) -> usize {
    world.actions.iter().filter(|action| matches!(action, Action::Land { .. })).count()
}

#[test]
fn another_try_mends_what_came_together_and_nothing_lands_before_it_is_verified() {
    // D12 D3
    let mut world = never_right();
    assert_eq!((landings(&world), asked_in(&world, "20")), (0, vec![vec!["o1".to_owned()]; 2]));
    world.answer(PauseAnswer::Retry);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!((landings(&world), asked_in(&world, "20")), (1, vec![vec!["o1".to_owned()]; 3]));
}

#[test]
fn what_was_done_before_the_split_is_mended_before_the_whole_lands_as_well() {
    // D12
    let mut world = split_in(3, |workflow| {
        workflow.review_parts = Some(false);
        workflow.phases[0].verify = Some("make test".into());
        workflow.phases[0].continuations = Some(0);
    });
    // The first objective is done, and the session is full: then the other two are split.
    if let Some(SplitAction::Split { sub_phases }) = &mut world.split {
        sub_phases.remove(0);
    }
    world.script = [ScriptedTurn::Finish(100), ScriptedTurn::Exhaust].into();
    (world.verdicts, world.findings) = ([false, false, false].into(), "not ok: o0".into());
    world.go();
    assert_eq!((world.run.status(), landings(&world)), (RunStatus::Paused, 0));
    world.answer(PauseAnswer::Retry);
    assert_eq!((world.ending(), landings(&world)), (Some(RunOutcome::Done), 1));
    assert_eq!(world.worked[&"o0".into()], 4);
}

#[test]
fn what_came_together_is_mended_where_it_is_and_not_split_again() {
    // D12: the tree in which the parts are together would be lost.
    let mut world = split_in(3, |workflow| {
        workflow.review_parts = Some(false);
        workflow.phases[0].verify = Some("make test".into());
        workflow.phases[0].continuations = Some(0);
    });
    (world.verdicts, world.script) = ([false].into(), [100, 100, 100].map(ScriptedTurn::Finish).into());
    world.script.push_back(ScriptedTurn::Exhaust);
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    let view = world.run.view(world.now).unwrap();
    assert!(view.questions[0].text.contains("its parts are together already"), "{:?}", view.questions);
    let checkpoints = world.actions.iter().filter(|action| matches!(action, Action::Checkpoint { .. }));
    assert_eq!(checkpoints.count(), 1);
    world.answer(PauseAnswer::Retry);
    assert_eq!((world.ending(), landings(&world)), (Some(RunOutcome::Done), 1));
}

#[test]
fn a_session_that_mends_what_came_together_is_heard() {
    // D12 A11
    let mut world = split_in(2, |workflow| {
        workflow.review_parts = Some(false);
        workflow.phases[0].verify = Some("make test".into());
    });
    (world.verdicts, world.findings) = ([false].into(), "not ok: o1".into());
    while asked_in(&world, "20").is_empty() {
        assert!(world.step());
    }
    let (objective, note) = ("o1".into(), "the interface does not allow it".to_owned());
    let report = AgentReport::ObjectiveUpdate { objective, status: ObjectiveStatus::Failed, note };
    let session = world.run.live_sessions()[0].clone();
    world.forget();
    world.put(Input::Reported { session: Some(session), digest: Digest::of("failed"), report });
    assert!(world.step());
    let view = world.run.view(world.now).unwrap();
    assert_eq!(view.phases[0].objectives[1].status, ObjectiveStatus::Failed);
    assert_eq!(view.phases[2].objectives[0].status, ObjectiveStatus::Done, "the part stays as it was merged");
}

#[test]
fn a_loop_that_a_split_phase_closes_begins_again_with_what_there_is() {
    // B10 D12
    let mut workflow = workflow(&[("plan", &["p"]), ("check", &["o0", "o1"])]);
    workflow.phases[1].depends_on = vec!["plan".into()];
    workflow.phases[1].verify = Some("make check".into());
    workflow.phases[1].repeat = Some(PhaseLoop { from: "plan".into(), at_most: 3 });
    let mut world = TestRun::new(workflow);
    (world.split_each, world.verdicts) = (true, [false].into());
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(landings(&world), 2);
    assert!(world.worked.values().all(|times| *times == 2), "{:?}", world.worked);
}

/// The first session asks for a split of the two objectives.
fn asking(does: ScriptedTurn) -> TestRun {
    let mut world = TestRun::new(workflow(&[("20", &["o0", "o1"])]));
    world.script = [does].into();
    world.split_on_request = true;
    while world.run.live_sessions().is_empty() {
        assert!(world.step());
    }
    let group = |id: &str| SplitGroupReport { title: id.into(), objectives: vec![id.into()] };
    let report =
        AgentReport::SplitRequest { groups: vec![group("o0"), group("o1")], rationale: "much".into() };
    world.put(Input::Reported { session: Some("s1".into()), digest: Digest::of("ask"), report });
    world
}

#[test]
fn a_session_that_is_split_as_it_asked_ends_by_that() {
    // C26 D2
    for does in [ScriptedTurn::Finish(100), ScriptedTurn::Nothing, ScriptedTurn::Exhaust, ScriptedTurn::Die] {
        let mut world = asking(does);
        world.go();
        assert_eq!(world.ending(), Some(RunOutcome::Done), "{does:?}");
        let view = world.run.view(world.now).unwrap();
        let endings: Vec<&str> = view
            .phases
            .iter()
            .flat_map(|phase| &phase.sessions)
            .map(|session| session.ending.as_str())
            .collect();
        assert_eq!(endings, ["split-requested", "done", "done"], "{does:?}");
    }
}

#[test]
fn a_request_that_is_refused_leaves_the_ending_as_it_was() {
    // C26
    let mut world = asking(ScriptedTurn::Exhaust);
    world.split_on_request = false;
    world.go();
    let view = world.run.view(world.now).unwrap();
    assert_eq!(view.phases[0].sessions[0].ending, "exhausted");
    assert!(view.phases.iter().all(|phase| phase.origin == PhaseOrigin::Workflow));
    assert!(view.phases.iter().all(|phase| phase.status == PhaseStatus::Done));
}
