//! What agents are pointed to: the files of the host, what earlier phases learnt, and where they are after a compaction.

use super::test_run::{ScriptedTurn, TestRun, workflow};
use crate::action::{Action, RunOutcome};
use crate::ids::{Digest, SessionId};
use crate::input::{AgentReport, Input};
use crate::observation::{
    ContextFile, EntryPointKind, HandoffObservation, LessonKind, PolicyQuery, PromptKind,
};

fn three() -> TestRun {
    TestRun::new(workflow(&[("1", &["a", "b", "c"])]))
}

/// What the policy saw when it wrote prompts for a phase.
fn briefed<'w>(world: &'w TestRun, phase: &str) -> Vec<&'w HandoffObservation> {
    let asks = world.actions.iter().filter_map(|action| match action {
        Action::RequestDecision { request, .. } => Some(&request.query),
        _ => None,
    });
    asks.filter_map(|ask| match ask {
        PolicyQuery::Prompting(seen) if seen.phase.id.as_str() == phase => Some(&**seen),
        _ => None,
    })
    .collect()
}

fn entry(seen: &HandoffObservation, kind: EntryPointKind) -> Option<&str> {
    seen.entry_points.iter().find(|entry| entry.kind == kind).map(|entry| entry.path.as_str())
}

/// Steps until a session works, then reports from it.
fn reports(world: &mut TestRun, session: &str, reports: Vec<AgentReport>) {
    let id = SessionId::new(session);
    while !world.run.live_sessions().contains(&&id) {
        assert!(world.step(), "{session} never begins");
    }
    for report in reports {
        let digest = Digest::of(format!("{report:?}"));
        world.queue.push_front(Input::Reported { session: Some(id.clone()), digest, report });
    }
}

fn decided(text: &str) -> AgentReport {
    AgentReport::DecisionRecord { decision: text.into(), rationale: "it is\nsimple".into() }
}

fn lessons(seen: &HandoffObservation) -> Vec<(&str, LessonKind, &str)> {
    seen.lessons.iter().map(|one| (one.phase.as_str(), one.kind, one.text.as_str())).collect()
}

#[test]
fn a_prompt_names_the_files_that_exist_for_the_agent() {
    // C24
    let mut world = three();
    world.script = [ScriptedTurn::Finish(300), ScriptedTurn::Exhaust].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let seen = briefed(&world, "1");
    let kinds: Vec<PromptKind> = seen.iter().map(|seen| seen.kind).collect();
    assert_eq!(kinds, [PromptKind::First, PromptKind::Next, PromptKind::Continuing, PromptKind::Next]);
    assert_eq!(entry(seen[0], EntryPointKind::Progress), Some(".baton/r1/progress.json"));
    assert_eq!(entry(seen[0], EntryPointKind::WorkItems), Some(".baton/r1/work-items.json"));
    assert_eq!(entry(seen[0], EntryPointKind::InitScript), Some(".baton/r1/init.sh"));
    assert_eq!(
        (entry(seen[0], EntryPointKind::Summary), entry(seen[0], EntryPointKind::Index)),
        (None, None)
    );
    assert_eq!(entry(seen[1], EntryPointKind::Summary), Some(".baton/r1/summaries/phase-1.md"));
    let index = entry(seen[2], EntryPointKind::Index).unwrap();
    assert!(index.starts_with(".baton/r1/handoffs/phase-1-") && index.ends_with("-index.md"), "{index}");
}

#[test]
fn a_summary_is_written_at_every_boundary_with_news_and_is_safe_to_repeat() {
    // B2, D8
    let mut world = three();
    world.go();
    let written = |world: &TestRun| {
        let steps = world.actions.iter().filter_map(|action| match action {
            Action::WriteSummaries { step, .. } => step.body().map(str::to_owned),
            _ => None,
        });
        steps.collect::<Vec<_>>()
    };
    let all = written(&world);
    assert_eq!(all.len(), 3);
    assert!(all[0].contains("Done: a") && all[0].contains("1. Work on b"), "{}", all[0]);
    assert!(all[2].contains("Done: a, b, c"), "{}", all[2]);
    for steps in 1..60 {
        let mut world = three();
        for _ in 0..steps {
            world.step();
        }
        world.crash();
        world.go();
        assert_eq!(world.ending(), Some(RunOutcome::Done), "after {steps} steps");
        assert!(world.worked.values().all(|times| *times <= 2), "after {steps} steps");
    }
}

#[test]
fn a_summary_that_cannot_be_written_holds_nothing_up_and_is_not_pointed_to() {
    // B2
    let mut world = three();
    world.keeps = false;
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert!(briefed(&world, "1").iter().all(|seen| entry(seen, EntryPointKind::Summary).is_none()));
}

#[test]
fn an_agent_that_compacted_by_itself_is_oriented_by_its_next_prompt() {
    // B3, B11
    let mut world = three();
    world.script = [ScriptedTurn::Forget { finishes: true }].into();
    world.go();
    let seen = briefed(&world, "1");
    let kinds: Vec<PromptKind> = seen.iter().map(|seen| seen.kind).collect();
    assert_eq!(kinds, [PromptKind::First, PromptKind::ReOriented, PromptKind::Next]);
    assert_eq!(entry(seen[1], EntryPointKind::Summary), Some(".baton/r1/summaries/phase-1.md"));

    let mut world = three();
    world.script = [ScriptedTurn::Forget { finishes: false }].into();
    world.go();
    let seen = briefed(&world, "1");
    assert_eq!((seen[1].kind, seen[1].compacted), (PromptKind::Nudged, true));
    assert_eq!(entry(seen[1], EntryPointKind::Summary), Some(".baton/r1/summaries/phase-1.md"));
    assert_eq!((seen[2].kind, seen[2].compacted), (PromptKind::Next, false));
}

#[test]
fn what_phases_learnt_reaches_later_ones_first_what_they_depend_on() {
    // C22
    let mut flow = workflow(&[("aside", &["x"]), ("survey", &["a"]), ("plan", &["b"]), ("build", &["c"])]);
    flow.phases[2].depends_on = vec!["survey".into()];
    flow.phases[3].depends_on = vec!["plan".into()];
    let mut world = TestRun::new(flow);
    reports(&mut world, "s1", vec![decided("tabs")]);
    let attempt = AgentReport::AttemptRecord { approach: "regex".into(), outcome: "comments".into() };
    reports(&mut world, "s2", vec![decided("round to zero"), attempt]);
    reports(
        &mut world,
        "s3",
        vec![AgentReport::GotchaRecord { gotcha: format!("unpack {}", "x".repeat(400)) }],
    );
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let build = briefed(&world, "build")[0];
    let long = format!("unpack {}", "x".repeat(193));
    assert_eq!(
        lessons(build),
        [
            ("plan", LessonKind::Gotcha, long.as_str()),
            ("survey", LessonKind::Decision, "round to zero: it is simple"),
            ("survey", LessonKind::FailedApproach, "regex: comments"),
            ("aside", LessonKind::Decision, "tabs: it is simple"),
        ]
    );
    assert_eq!(build.lessons[1].path.as_deref().unwrap(), ".baton/r1/summaries/phase-survey.md");
    assert!(briefed(&world, "aside")[0].lessons.is_empty());
}

#[test]
fn a_phase_passes_on_at_most_as_many_lessons_as_the_contract_has_room_for() {
    // C22, D1
    let mut world = TestRun::new(workflow(&[("survey", &["a"]), ("build", &["c"])]));
    reports(&mut world, "s1", (0..100).map(|n| decided(&format!("choice {n}"))).collect());
    world.go();
    assert_eq!(briefed(&world, "build")[0].lessons.len(), 32);
}

#[test]
fn words_that_were_refused_in_a_handoff_do_not_reach_later_phases() {
    // C22, C8
    let mut world = TestRun::new(workflow(&[("survey", &["a", "b"]), ("build", &["c"])]));
    world.script = [ScriptedTurn::Finish(300), ScriptedTurn::Exhaust].into();
    world.scores = std::cell::RefCell::new([40].into());
    reports(&mut world, "s1", vec![decided("round to zero")]);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert!(briefed(&world, "build")[0].lessons.is_empty());
}

#[test]
fn the_context_files_of_a_phase_reach_its_prompts() {
    // A13
    let mut flow = workflow(&[("1", &["a"])]);
    let design = ContextFile { path: "docs/design.md".into(), sections: vec!["Parser".into()] };
    flow.phases[0].context = vec![design.clone()];
    let mut world = TestRun::new(flow);
    world.go();
    assert_eq!(briefed(&world, "1")[0].context_files, [design]);
}
