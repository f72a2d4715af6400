//! One walk a behaviour.

use super::test_run::{ScriptedTurn, TestRun, workflow};
use crate::action::{Action, RunOutcome};
use crate::decision::{QuotaCause, SplitAction, SubPhase, WorkStyle};
use crate::ids::Digest;
use crate::input::{AgentReport, Input, PauseAnswer};
use crate::observation::{ObjectiveStatus, PolicyQuery, PromptKind};
use crate::progress::ProgressEvent;
use crate::time::DurationMs;
use crate::view::{PhaseStatus, RunStatus};
use crate::workflow::{AgentKind, Role};

fn three() -> TestRun {
    TestRun::new(workflow(&[("1", &["a", "b", "c"])]))
}

fn kinds(world: &TestRun) -> Vec<PromptKind> {
    world
        .notices
        .iter()
        .filter_map(|notice| match notice {
            ProgressEvent::Prompted { kind, .. } => Some(*kind),
            _ => None,
        })
        .collect()
}

#[test]
fn objectives_are_done_one_prompt_each_in_one_session() {
    let mut world = three();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(kinds(&world), [PromptKind::First, PromptKind::Next, PromptKind::Next]);
    assert!(world.worked.values().all(|times| *times == 1));
    assert_eq!(world.run.view(world.now).unwrap().phases[0].sessions.len(), 1);
}

#[test]
fn an_agent_that_could_not_begin_is_nobodys_predecessor() {
    // A6: the agent after one that was not logged in was told to pick up where that left off.
    let mut world = three();
    world.script = [ScriptedTurn::Die, ScriptedTurn::Die].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(
        kinds(&world)[..4],
        [PromptKind::First, PromptKind::First, PromptKind::First, PromptKind::Next]
    );
    // A session that has answered leaves something to continue from.
    let mut world = three();
    world.script = [ScriptedTurn::Finish(300), ScriptedTurn::Die].into();
    world.go();
    assert_eq!(kinds(&world)[..3], [PromptKind::First, PromptKind::Next, PromptKind::Continuing]);
    let mut world = three();
    world.script = [ScriptedTurn::Nothing, ScriptedTurn::Die].into();
    world.go();
    assert!(kinds(&world).contains(&PromptKind::Continuing));
}

#[test]
fn phases_wait_for_what_they_depend_on() {
    let mut flow = workflow(&[("late", &["b"]), ("early", &["a"])]);
    flow.phases[0].depends_on = vec!["early".into()];
    let mut world = TestRun::new(flow);
    world.go();
    let started: Vec<String> = world
        .notices
        .iter()
        .filter_map(|notice| match notice {
            ProgressEvent::PhaseStarted { phase, .. } => Some(phase.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(started, ["early", "late"]);
}

#[test]
fn an_exhausted_session_is_followed_by_a_new_one_with_the_rest_of_the_budget() {
    // A6 A7 A8
    let mut world = three();
    world.script = [ScriptedTurn::Finish(300), ScriptedTurn::Exhaust].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let starts: Vec<_> = world
        .notices
        .iter()
        .filter_map(|notice| match notice {
            ProgressEvent::SessionStarted { continuation, of, remaining, max_turns, .. } => {
                Some((*continuation, *of, remaining.len(), *max_turns))
            }
            _ => None,
        })
        .collect();
    // 25 turns for an executor in standard mode (A1), two of them used by the first session.
    assert_eq!(starts, [(0, 3, 3, 25), (1, 3, 2, 23)]);
    assert_eq!(kinds(&world)[2], PromptKind::Continuing);
    // One to its successor, and one to the phases after it (C23).
    let handoffs = &world.run.view(world.now).unwrap().phases[0].handoffs;
    assert_eq!(handoffs.iter().map(|row| row.closes).collect::<Vec<_>>(), [true, false]);
    assert!(world.worked.values().all(|times| *times == 1));
}

#[test]
fn after_three_continuations_a_person_is_asked_and_retry_starts_afresh() {
    // A8
    let mut world = TestRun::new(workflow(&[("1", &["a", "b", "c", "d", "e", "f"])]));
    world.script = [ScriptedTurn::Finish(300), ScriptedTurn::Exhaust].repeat(4).into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::SessionStarted { .. })), 4);
    let view = world.run.view(world.now).unwrap();
    assert!(view.questions[0].text.contains("3 continuations are used up"), "{}", view.questions[0].text);
    world.answer(PauseAnswer::Retry);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}

#[test]
fn a_continuation_that_finishes_nothing_is_the_last() {
    // A8
    let mut world = three();
    world.script = [ScriptedTurn::Exhaust, ScriptedTurn::Exhaust].into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::SessionStarted { .. })), 2);
    world.answer(PauseAnswer::Skip);
    assert_eq!(world.ending(), Some(RunOutcome::Unfinished));
}

#[test]
fn where_one_objective_is_open_files_that_change_are_progress() {
    // A8: nothing smaller than the objective could be finished; the number of continuations is the end.
    let sessions = |objectives: &[&str], moves: bool| {
        let mut world = TestRun::new(workflow(&[("1", objectives)]));
        world.script = [ScriptedTurn::Exhaust; 9].into();
        world.exhausts_at_work = moves;
        world.go();
        assert_eq!(world.run.status(), RunStatus::Paused);
        world.count(|n| matches!(n, ProgressEvent::SessionStarted { .. }))
    };
    assert_eq!(sessions(&["a"], true), 4);
    assert_eq!(sessions(&["a"], false), 2);
    assert_eq!(sessions(&["a", "b"], true), 2, "each must finish one of several");
}

#[test]
fn a_used_up_phase_is_split_where_the_policy_says_so() {
    // A8 D2 D4 D7
    let mut world = three();
    let part = |title: &str, objectives: &[&str]| SubPhase {
        title: title.into(),
        objectives: objectives.iter().map(|id| (*id).into()).collect(),
        order: WorkStyle::Direct,
        max_turns: None,
    };
    world.split =
        Some(SplitAction::Split { sub_phases: vec![part("one", &["a", "c"]), part("two", &["b"])] });
    world.verdicts = [true].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let view = world.run.view(world.now).unwrap();
    let ids: Vec<_> = view.phases.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!(ids, ["1", "1a", "1b"]);
    assert!(view.phases.iter().all(|phase| phase.status == PhaseStatus::Done));
    assert!(world.worked.values().all(|times| *times == 1));
}

#[test]
fn a_session_was_at_work_since_it_began_not_since_the_epoch() {
    let mut world = three();
    let part = |title: &str, objectives: &[&str]| SubPhase {
        title: title.into(),
        objectives: objectives.iter().map(|id| (*id).into()).collect(),
        order: WorkStyle::Direct,
        max_turns: None,
    };
    world.split =
        Some(SplitAction::Split { sub_phases: vec![part("one", &["a", "c"]), part("two", &["b"])] });
    world.script = [ScriptedTurn::Exhaust].into();
    let began = world.now;
    world.go();
    let passed = world.now.since(began).0;
    let seen: Vec<u64> = world
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::RequestDecision { request, .. } => match &request.query {
                PolicyQuery::Exhaustion(observation) => Some(observation.session.active_ms),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert!(world.run.view(world.now).unwrap().phases.len() > 1);
    assert!(seen.iter().any(|active| *active > 0), "{seen:?}");
    assert!(seen.iter().all(|active| *active <= passed), "{seen:?} in {passed} ms");
}

#[test]
fn a_split_that_loses_an_objective_is_refused() {
    let mut world = three();
    let sub_phases = ["a", "b"].map(|id| SubPhase {
        title: id.into(),
        objectives: vec![id.into()],
        order: WorkStyle::Direct,
        max_turns: None,
    });
    world.split = Some(SplitAction::Split { sub_phases: sub_phases.into() });
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(
        world.count(
            |n| matches!(n, ProgressEvent::FellBack { because, .. } if because.contains("c is in no part"))
        ),
        1
    );
}

#[test]
fn compaction_comes_between_prompts_after_the_safety_net_and_reorients() {
    // B1 B2 B3
    let mut world = three();
    world.script = [ScriptedTurn::Finish(750)].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(kinds(&world), [PromptKind::First, PromptKind::ReOriented, PromptKind::Next]);
    let order: Vec<_> = world
        .actions
        .iter()
        .map(Action::name)
        .filter(|name| ["write-summaries", "compact"].contains(name))
        .collect();
    assert_eq!(order[..2], ["write-summaries", "compact"]);
    assert_eq!(order.iter().filter(|name| **name == "compact").count(), 1);
}

#[test]
fn a_compaction_that_is_refused_hands_off_at_once() {
    // B1, A6
    let mut world = three();
    (world.script, world.refusal) = ([ScriptedTurn::Finish(750)].into(), Some("/compact is not available"));
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(kinds(&world), [PromptKind::First, PromptKind::Continuing, PromptKind::Next]);
    let told = |n: &ProgressEvent| matches!(n, ProgressEvent::CompactionFailed { text, .. } if text == "/compact is not available");
    assert_eq!(world.count(told), 1);
    assert_eq!(
        world.count(|n| matches!(n, ProgressEvent::Retrying { .. } | ProgressEvent::Stopped { .. })),
        0
    );
    // What it said to that is not part of its answer.
    let texts = world.texts_of_prompts();
    assert!(!texts.iter().any(|text| text.contains("not available")), "{texts:?}");
}

#[test]
fn a_high_percentage_warns_once_and_stops_nothing() {
    // D5
    let mut world = three();
    world.script = [ScriptedTurn::Finish(900)].into();
    world.go();
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::Warned { .. })), 1);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::SessionStarted { .. })), 1);
}

#[test]
fn a_quota_wait_is_no_time_no_continuation_and_no_retry() {
    // B4 B5 B6 B8
    let mut world = three();
    world.script =
        [ScriptedTurn::Quota(Some(1)), ScriptedTurn::Quota(None), ScriptedTurn::Quota(None)].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let view = world.run.view(world.now).unwrap();
    assert!(view.quota_wait_ms >= DurationMs::from_mins(20), "{}", view.quota_wait_ms);
    assert!(view.active_ms < DurationMs::from_mins(1), "{}", view.active_ms);
    let phase = &view.phases[0];
    assert_eq!((phase.continuation, phase.sessions.len()), (0, 1));
    assert!(
        world.count(|n| matches!(
            n,
            ProgressEvent::QuotaWait { cause: QuotaCause::Usage, until: Some(_), .. }
        )) == 1
    );
}

#[test]
fn phases_of_one_provider_wait_together() {
    // B4–B6
    let mut workflow = super::test_run::workflow(&[("one", &["a"]), ("two", &["b", "c"])]);
    workflow.limits.parallel = 2;
    let mut world = TestRun::new(workflow);
    world.script = [ScriptedTurn::Quota(Some(10))].into();
    let waiting = |world: &TestRun| {
        let view = world.run.view(world.now);
        view.map_or(0, |view| view.phases.iter().filter(|phase| phase.quota.is_some()).count())
    };
    while waiting(&world) < 2 {
        assert!(world.step(), "the second phase waits with the first");
    }
    let prompts = world.count(|n| matches!(n, ProgressEvent::Prompted { .. }));
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert!(prompts <= 2, "nobody was prompted into the limit");
    let view = world.run.view(world.now).unwrap();
    assert!(view.phases.iter().all(|phase| phase.continuation == 0), "a wait is no continuation");
}

#[test]
fn what_counts_as_one_provider_is_what_the_roles_say() {
    // B4
    let waiting_at_once = |agent: AgentKind, providers: [&str; 2]| {
        let mut workflow = super::test_run::workflow(&[("one", &["a"]), ("two", &["b", "c"])]);
        workflow.limits.parallel = 2;
        let role = |agent, provider: &str| Role { provider: Some(provider.to_owned()), ..Role::of(agent) };
        workflow.roles.insert("executor".into(), role(AgentKind::Rehearsal, providers[0]));
        workflow.roles.insert("other".into(), role(agent, providers[1]));
        workflow.phases[1].role = "other".into();
        let mut world = TestRun::new(workflow);
        world.script = [ScriptedTurn::Quota(Some(10))].into();
        let mut most = 0;
        while world.step() {
            let view = world.run.view(world.now).unwrap();
            most = most.max(view.phases.iter().filter(|phase| phase.quota.is_some()).count());
        }
        assert_eq!(world.ending(), Some(RunOutcome::Done));
        most
    };
    assert_eq!(waiting_at_once(AgentKind::Codex, ["shared", "shared"]), 2);
    assert_eq!(waiting_at_once(AgentKind::Rehearsal, ["mine", "yours"]), 1);
}

#[test]
fn a_quota_wait_survives_a_restart_of_the_host() {
    // B9
    let mut world = three();
    world.script = [ScriptedTurn::Quota(Some(1))].into();
    while world.run.view(world.now).is_none_or(|view| view.phases[0].quota.is_none()) {
        assert!(world.step());
    }
    let since = world.run.view(world.now).unwrap().phases[0].quota.unwrap().since;
    world.now = world.now + DurationMs::from_mins(1);
    world.crash();
    assert_eq!(world.run.view(world.now).unwrap().phases[0].quota.unwrap().since, since);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert!(world.worked.values().all(|times| *times == 1));
}

#[test]
fn a_failed_session_is_retried_a_bounded_number_of_times() {
    let mut world = three();
    world.script = vec![ScriptedTurn::Die; 9].into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::Retrying { .. })), 2);
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::SessionStarted { .. })), 3);
}

#[test]
fn progress_makes_a_failure_the_first_again() {
    let mut world = three();
    world.script = [
        ScriptedTurn::Die,
        ScriptedTurn::Die,
        ScriptedTurn::Finish(1),
        ScriptedTurn::Die,
        ScriptedTurn::Die,
        ScriptedTurn::Finish(1),
    ]
    .into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}

#[test]
fn an_empty_answer_is_asked_for_again_then_replaced() {
    // A4
    let mut world = three();
    world.script = [ScriptedTurn::Nothing, ScriptedTurn::Nothing, ScriptedTurn::Nothing].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(kinds(&world)[..3], [PromptKind::First, PromptKind::Nudged, PromptKind::Nudged]);
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::Retrying { .. })), 1);
}

#[test]
fn a_silent_agent_is_interrupted_then_replaced() {
    // B7
    let mut world = three();
    world.script = vec![ScriptedTurn::Hang; 3].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let interrupts = world.actions.iter().filter(|a| matches!(a, Action::Interrupt { .. })).count();
    assert_eq!(interrupts, 2);
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::Retrying { .. })), 1);
}

#[test]
fn a_failed_verification_goes_back_to_the_phase_within_its_bound() {
    let mut flow = workflow(&[("1", &["a"])]);
    flow.phases[0].verify = Some("true".into());
    let mut world = TestRun::new(flow);
    world.verdicts = [false, true].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(kinds(&world), [PromptKind::First, PromptKind::Nudged]);

    let mut flow = workflow(&[("1", &["a"])]);
    flow.phases[0].verify = Some("true".into());
    let mut world = TestRun::new(flow);
    world.verdicts = vec![false; 9].into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::Verified { passed: false, .. })), 3);
}

#[test]
fn a_ceiling_pauses_between_prompts_and_can_be_raised() {
    let mut flow = workflow(&[("1", &["a", "b", "c"])]);
    flow.limits.tokens = Some(400);
    let mut world = TestRun::new(flow);
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    assert_eq!(world.worked.len(), 2);
    let text = world.run.view(world.now).unwrap().questions[0].text.clone();
    assert!(text.contains("`raise` sets it to 800"), "{text}");
    world.answer(PauseAnswer::Raise);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert!(world.worked.values().all(|times| *times == 1));
}

#[test]
fn a_ceiling_is_raised_above_what_was_used() {
    // Twice the ceiling was less than what the first prompt had taken: the same question came again, before any work.
    let mut flow = workflow(&[("1", &["a", "b", "c"])]);
    flow.limits.tokens = Some(50);
    let mut world = TestRun::new(flow);
    for done in 1..=2 {
        if done == 1 {
            world.go()
        } else {
            world.answer(PauseAnswer::Raise)
        }
        assert_eq!((world.run.status(), world.worked.len()), (RunStatus::Paused, done));
    }
}

#[test]
fn a_ceiling_of_cost_counts_tokens_without_a_price_by_the_price_of_the_others() {
    let mut flow = workflow(&[("1", &["a", "b"])]);
    flow.limits.cost_microusd = Some(20_000);
    let mut world = TestRun::new(flow);
    world.unpriced_tokens = 10_000;
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    let view = world.run.view(world.now).unwrap();
    let text = &view.questions[0].text;
    assert!(
        text.contains("its ceiling of cost, $0.02, and is at $0.")
            && text.contains(" of it for 10.0k tokens without a price)"),
        "{text}"
    );
    assert!(view.billed_at_least);
    assert_eq!(view.phases[0].sessions[0].unpriced_tokens, 10_000);
}

#[test]
fn used_up_turns_mean_split_or_pause() {
    // A6
    let mut flow = workflow(&[("1", &["a", "b", "c"])]);
    let role = flow.roles.get_mut(&"executor".into()).unwrap();
    (role.max_turns, role.turn_ceiling) = (Some(2), Some(2));
    let mut world = TestRun::new(flow);
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    let view = world.run.view(world.now).unwrap();
    let text = &view.questions[0].text;
    assert!(text.contains("the 2 turns of the phase are used up"), "{text}");
    assert!(text.contains(" It used 2 turns, ") && text.contains(" tokens and $0."), "{text}");
}

#[test]
fn a_report_counts_once_and_finishes_an_objective() {
    let mut world = three();
    let report = AgentReport::ObjectiveUpdate {
        objective: "c".into(),
        status: ObjectiveStatus::Done,
        note: String::new(),
    };
    for _ in 0..20 {
        world.step();
    }
    for _ in 0..2 {
        let digest = Digest::of("the report");
        world.put(Input::Reported { session: Some("s1".into()), digest, report: report.clone() });
    }
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(world.worked.len(), 2);
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::ObjectiveDone { .. })), 3);
}

#[test]
fn a_stop_ends_agents_and_resume_goes_on_where_it_was() {
    // D8
    let mut world = three();
    while world.worked.is_empty() {
        world.step();
    }
    world.put(Input::StopRequested);
    world.go();
    assert!(world.run.live_sessions().is_empty());
    assert_eq!(world.run.status(), RunStatus::Ended(RunOutcome::Interrupted));
    world.put(Input::Resumed);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}

#[test]
fn an_answer_without_a_host_starts_nothing_before_one_is_there() {
    let mut world = three();
    world.script = vec![ScriptedTurn::Die; 3].into();
    world.go();
    let question = world.run.view(world.now).unwrap().questions[0].id;
    let before = world.actions.len();
    world.put(Input::Answered { question, choice: PauseAnswer::Retry, message: None });
    world.step();
    assert!(world.actions[before..].iter().all(|action| !action.is_durable()));
    world.crash();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}

#[test]
fn stop_as_an_answer_leaves_the_rest_open() {
    let mut world = three();
    world.script = vec![ScriptedTurn::Die; 3].into();
    world.go();
    world.answer(PauseAnswer::Stop);
    assert_eq!(world.ending(), Some(RunOutcome::Unfinished));
    assert!(world.worked.is_empty());
}
