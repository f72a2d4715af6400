//! What a session leaves: reviewed before it is written, repaired where it is refused, looked at again where it is old.

use proptest::prelude::*;

use super::test_run::{ScriptedTurn, TestRun, workflow};
use crate::action::{Action, RunOutcome};
use crate::decision::Staleness;
use crate::facts::AgentEvent;
use crate::ids::Digest;
use crate::input::{ActionOutcome, AgentReport, Input, PauseAnswer, ReportedHandoff};
use crate::observation::{
    CommandRunView, FileReadView, HandoffObservation, ObjectiveStatus, PolicyQuery, PromptKind,
    WithheldCounts,
};
use crate::progress::ProgressEvent;
use crate::run::Run;
use crate::view::{HandoffRepair, HandoffSummary};

fn exhausted() -> TestRun {
    let mut world = TestRun::new(workflow(&[("1", &["a", "b", "c"])]));
    world.script = [ScriptedTurn::Finish(300), ScriptedTurn::Exhaust].into();
    world
}

fn report(world: &mut TestRun, report: AgentReport) {
    let digest = Digest::of(format!("{report:?}"));
    world.put(Input::Reported { session: Some("s1".into()), digest, report });
}

fn rows(world: &TestRun) -> Vec<HandoffSummary> {
    let mut rows = world.run.view(world.now).unwrap().phases[0].handoffs.clone();
    rows.retain(|row| !row.closes);
    rows
}

fn composed(world: &TestRun) -> Vec<&HandoffObservation> {
    let asks = world.actions.iter().filter_map(|action| match action {
        Action::RequestDecision { request, .. } => Some(&request.query),
        _ => None,
    });
    asks.filter_map(|query| if let PolicyQuery::Handoff(seen) = query { Some(&**seen) } else { None })
        .collect()
}

fn briefed(world: &TestRun) -> Vec<&HandoffObservation> {
    let asks = world.actions.iter().filter_map(|action| match action {
        Action::RequestDecision { request, .. } => Some(&request.query),
        _ => None,
    });
    asks.filter_map(|query| if let PolicyQuery::Prompting(seen) = query { Some(&**seen) } else { None })
        .collect()
}

fn names(world: &TestRun) -> Vec<&'static str> {
    world.actions.iter().map(Action::name).collect()
}

#[test]
fn a_handoff_is_inspected_and_reviewed_before_a_successor_starts() {
    // C8
    let mut world = exhausted();
    world.go();
    let names = names(&world);
    let at = |name: &str| names.iter().position(|known| *known == name).unwrap();
    assert!(at("inspect") < at("write-handoff"), "{names:?}");
    let spawns: Vec<usize> = (0..names.len()).filter(|n| names[*n] == "spawn").collect();
    assert!(at("end") < at("inspect") && at("write-handoff") < spawns[1], "{names:?}");
    let row = &rows(&world)[0];
    assert_eq!((row.repair, row.review.as_ref().unwrap().score), (HandoffRepair::None, 100));
    assert!(row.facts.ends_with("-facts.json") && row.predecessor.is_none());
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::HandoffRepaired { .. })), 0);
}

#[test]
fn a_phase_that_is_over_leaves_a_handoff_to_those_after_it() {
    // C23
    let mut workflow = workflow(&[("1", &["a"]), ("2", &["b"])]);
    workflow.phases[1].depends_on = vec!["1".into()];
    let mut world = TestRun::new(workflow);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let view = world.run.view(world.now).unwrap();
    let left: Vec<&HandoffSummary> = view.phases.iter().flat_map(|phase| &phase.handoffs).collect();
    assert!(left.len() == 2 && left.iter().all(|row| row.closes && row.repair == HandoffRepair::None));
    let first = world.actions.iter().find_map(|action| match action {
        Action::WriteHandoff { document, .. } => document.body(),
        _ => None,
    });
    assert!(first.unwrap().contains("- [x] a (") && first.unwrap().contains("Phase 2: "), "{first:?}");
    // No policy is asked, and no session is said to take over.
    assert!(
        composed(&world).is_empty() && world.count(|n| matches!(n, ProgressEvent::HandedOff { .. })) == 0
    );
    // The index of the run leads to it.
    let index =
        |seen: &&HandoffObservation| seen.entry_points.iter().any(|entry| entry.path.ends_with("/index.md"));
    let briefed = briefed(&world);
    assert_eq!(briefed.iter().map(index).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_report_that_was_not_taken_keeps_its_objective_open() {
    // A11
    let mut world = TestRun::new(workflow(&[("1", &["a"])]));
    while !matches!(world.actions.last(), Some(Action::Prompt { .. })) {
        assert!(world.step());
    }
    let waiting = std::mem::take(&mut world.queue);
    report(&mut world, AgentReport::Refused { why: "\"in_progress\" is no status".into() });
    world.queue.extend(waiting);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let asked = world.prompts_of(PromptKind::Nudged);
    assert_eq!(asked.len(), 1, "it is asked once more, and reports nothing wrong then");
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::ObjectiveDone { .. })), 1);
}

#[test]
fn a_report_that_comes_while_a_phase_closes_reopens_it() {
    // A11
    let mut world = TestRun::new(workflow(&[("1", &["a"])]));
    while !matches!(world.actions.last(), Some(Action::WriteHandoff { .. })) {
        assert!(world.step());
    }
    let (objective, status) = ("a".into(), ObjectiveStatus::InProgress);
    let waiting = std::mem::take(&mut world.queue);
    report(&mut world, AgentReport::ObjectiveUpdate { objective, status, note: "one case is left".into() });
    world.queue.extend(waiting);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(world.worked.values().sum::<u32>(), 2, "it was worked on once more");
}

#[test]
fn a_stop_leaves_a_handoff_and_the_next_host_a_better_one() {
    // C23
    let mut world = exhausted();
    while world.worked.is_empty() {
        world.step();
    }
    world.put(Input::StopRequested);
    world.go();
    let left = rows(&world);
    assert_eq!(left.len(), 1);
    assert!(composed(&world).is_empty(), "nobody is asked while the host stops");
    // The session may write until it is gone: only then the disk is looked at, and the handoff written.
    let last = |is: fn(&Action) -> bool| world.actions.iter().rposition(is).unwrap();
    let ends = last(|action| matches!(action, Action::EndSession { .. }));
    let looks = last(|action| matches!(action, Action::MeasureWorkspace { .. }));
    let writes = last(|action| matches!(action, Action::WriteHandoff { .. }));
    assert!(ends < looks && looks < writes, "{ends} {looks} {writes}");
    let document = world.actions.iter().rev().find_map(|action| match action {
        Action::WriteHandoff { document, .. } => document.body(),
        _ => None,
    });
    assert!(document.unwrap().contains("the run was stopped while s1 had the phase"), "{document:?}");
    world.put(Input::Resumed);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let newer = rows(&world);
    assert!(newer.len() > 1 && newer.iter().all(|row| row.repair == HandoffRepair::None), "{newer:#?}");
    assert_eq!(newer[newer.len() - 2].predecessor.as_ref(), Some(&newer[newer.len() - 1].path));
}

#[test]
fn a_handoff_of_a_stop_that_was_not_written_is_written_by_the_next_host() {
    // C23
    let mut world = exhausted();
    while world.worked.is_empty() {
        world.step();
    }
    world.put(Input::StopRequested);
    while !matches!(world.actions.last(), Some(Action::WriteHandoff { .. })) {
        assert!(world.step());
    }
    world.crash();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let paths: std::collections::BTreeSet<String> = rows(&world).into_iter().map(|row| row.path).collect();
    assert_eq!(paths.len(), rows(&world).len(), "no two share a name");
}

#[test]
fn a_refused_handoff_is_composed_again_without_the_words_of_agents() {
    // C8
    let mut world = exhausted();
    world.scores = std::cell::RefCell::new([40].into());
    for _ in 0..12 {
        world.step();
    }
    report(&mut world, AgentReport::AttemptRecord { approach: "by hand".into(), outcome: "too slow".into() });
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let asked = composed(&world);
    assert_eq!(asked.len(), 2);
    assert_eq!((asked[0].attempts.len(), asked[0].words_withheld), (1, None));
    let withheld = Some(WithheldCounts { attempts: 1, ..WithheldCounts::default() });
    assert_eq!((asked[1].attempts.len(), asked[1].words_withheld), (0, withheld));
    let row = &rows(&world)[0];
    assert_eq!((row.repair, row.refused.as_ref().unwrap().score), (HandoffRepair::FromFacts, 40));
    assert_eq!(row.review.as_ref().unwrap().score, 100);
    let told = |n: &ProgressEvent| matches!(n, ProgressEvent::HandoffRepaired { score: Some(40), by: Some(by), repair: HandoffRepair::FromFacts, findings, .. } if findings.len() == 1 && by == "test");
    assert_eq!(world.count(told), 1);
    // Nor do they reach the successor by its prompt; the facts have them.
    let continuing = briefed(&world).into_iter().find(|seen| seen.kind == PromptKind::Continuing).unwrap();
    assert_eq!((continuing.attempts.len(), continuing.words_withheld.is_some()), (0, true));
    let facts = world.actions.iter().find_map(|action| match action {
        Action::WriteHandoff { facts, .. } => facts.as_ref()?.body(),
        _ => None,
    });
    assert!(facts.unwrap().contains("too slow"));
}

#[test]
fn patterns_and_what_the_host_saw_are_in_the_handoff_and_withheld_with_the_words_of_agents() {
    // C7, C25
    let mut world = exhausted();
    world.scores = std::cell::RefCell::new([40].into());
    for _ in 0..12 {
        world.step();
    }
    report(&mut world, AgentReport::PatternRecord { pattern: "printers take a Sink".into() });
    let call = |reads: Option<&str>, command: Option<&str>| AgentEvent::ToolCall {
        id: "t1".into(),
        name: "tool".into(),
        reads: reads.map(Into::into),
        writes: None,
        command: command.map(Into::into),
    };
    let failed =
        AgentEvent::ToolOutput { id: "t1".into(), bytes: 1, text: String::new(), failed: Some(true) };
    for event in [call(Some("src/a.rs"), None), call(None, Some("make test")), failed] {
        world.put(Input::Agent { session: "s1".into(), event });
    }
    world.go();
    let asked = composed(&world);
    assert_eq!(asked[0].patterns, ["printers take a Sink"]);
    let ran = CommandRunView { line: "make test".into(), failed: Some(true), times: 1 };
    assert_eq!(asked[0].commands, [ran]);
    assert_eq!(asked[0].reads, [FileReadView { path: "src/a.rs".into(), times: 1 }]);
    let withheld = asked[1];
    assert!(withheld.patterns.is_empty() && withheld.commands.is_empty() && withheld.reads.is_empty());
    let count = withheld.words_withheld.unwrap();
    assert_eq!((count.patterns, count.commands, count.reads), (1, 1, 1));
    let facts = world.actions.iter().find_map(|action| match action {
        Action::WriteHandoff { facts, .. } => facts.as_ref()?.body(),
        _ => None,
    });
    let facts: serde_json::Value = serde_json::from_str(facts.unwrap()).unwrap();
    assert_eq!(facts["patterns"][0], "printers take a Sink");
    assert_eq!(
        (&facts["commands_run"][0]["line"], &facts["files_read"][0]["times"]),
        (&"make test".into(), &1.into())
    );
}

#[test]
fn a_handoff_that_is_refused_twice_is_written_by_the_host_itself() {
    // C8
    let mut world = exhausted();
    world.scores = std::cell::RefCell::new([40, 60].into());
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let row = &rows(&world)[0];
    assert_eq!((row.repair, row.refused.as_ref().unwrap().score), (HandoffRepair::Plain, 40));
    let document = world.actions.iter().find_map(|action| match action {
        Action::WriteHandoff { document, .. } => document.body(),
        _ => None,
    });
    let document = document.unwrap();
    assert!(document.contains("Work on b") && document.contains("-facts.json"), "{document}");
}

#[test]
fn a_secret_is_refused_whatever_the_policy_says() {
    // C8
    let mut world = exhausted();
    world.secrets = [vec!["aws-access-token".to_owned()]].into();
    world.go();
    assert_eq!(rows(&world)[0].repair, HandoffRepair::FromFacts);
    assert_eq!(composed(&world).len(), 2);
}

#[test]
fn a_handoff_that_nobody_could_inspect_keeps_the_words_of_agents_back() {
    let mut world = exhausted();
    while !matches!(world.actions.last(), Some(Action::ValidateHandoff { .. })) {
        world.step();
    }
    let open =
        world.run.pending().iter().find(|i| matches!(i.action, Action::ValidateHandoff { .. })).unwrap().id;
    world.forget();
    world.put(Input::Outcome { action: open, outcome: ActionOutcome::Failed { error: "no disk".into() } });
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let row = &rows(&world)[0];
    assert_eq!(row.repair, HandoffRepair::FromFacts);
    assert!(row.refused.as_ref().unwrap().findings[0].text.contains("no disk"));
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::HandoffRepaired { score: None, by: None, .. })), 1);
}

#[test]
fn after_a_while_a_handoff_is_looked_at_again_and_its_age_reaches_the_successor() {
    // C9
    let mut world = TestRun::new(workflow(&[("1", &["a", "b", "c"])]));
    world.script = [ScriptedTurn::Exhaust, ScriptedTurn::Exhaust].into();
    world.go(); // The second continuation finished nothing: a person is asked.
    assert_eq!(names(&world).iter().filter(|name| **name == "inspect").count(), 2);
    world.commits_since = 7;
    world.answer(PauseAnswer::Retry);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::HandoffReviewed { commits_since: 7, .. })), 1);
    let kinds: Vec<_> = briefed(&world)
        .into_iter()
        .filter(|seen| seen.kind == PromptKind::Continuing)
        .map(|seen| seen.newest_handoff.as_ref().unwrap())
        .map(|newest| (newest.staleness, newest.found.map(|found| found.commits_since)))
        .collect();
    assert_eq!(kinds, [(Staleness::Fresh, None), (Staleness::Stale, Some(7))]);
}

#[test]
fn the_lead_gets_all_that_is_left_and_is_shown_as_such() {
    // C18
    let mut world = exhausted();
    world.lead = true;
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let merged: Vec<_> = world
        .notices
        .iter()
        .filter_map(|notice| match notice {
            ProgressEvent::Prompted { kind: PromptKind::Merging, focus, .. } => Some(focus.len()),
            _ => None,
        })
        .collect();
    assert_eq!(merged, [2]);
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::SessionStarted { lead: true, .. })), 1);
    let phase = &world.run.view(world.now).unwrap().phases[0];
    assert_eq!(phase.sessions.iter().map(|session| session.lead).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_lead_of_its_own_role_is_that_roles_agent() {
    // C18
    let mut flow = workflow(&[("1", &["a", "b"])]);
    let role = flow.roles[&crate::ids::RoleName::new("executor")].clone();
    flow.roles.insert("lead".into(), role);
    let mut world = TestRun::new(flow);
    world.script = [ScriptedTurn::Exhaust].into();
    world.lead = true;
    world.go();
    let roles: Vec<_> = world
        .actions
        .iter()
        .filter_map(|action| if let Action::Spawn(spec) = action { Some(spec.role.as_str()) } else { None })
        .collect();
    assert_eq!(roles, ["executor", "lead"]);
}

#[test]
fn what_is_not_in_the_window_of_a_policy_is_in_the_facts() {
    // Nothing recorded is lost: 64 attempts are shown, all are kept.
    let mut world = exhausted();
    for _ in 0..12 {
        world.step();
    }
    for n in 0..200 {
        report(
            &mut world,
            AgentReport::AttemptRecord { approach: format!("way {n}."), outcome: "no".into() },
        );
    }
    let said = ReportedHandoff { current_state: "half".into(), ..ReportedHandoff::default() };
    report(&mut world, AgentReport::HandoffWrite(Box::new(said)));
    let update = AgentReport::ObjectiveUpdate {
        objective: "b".into(),
        status: ObjectiveStatus::InProgress,
        note: "hm".into(),
    };
    report(&mut world, update);
    world.go();
    let seen = composed(&world)[0];
    assert_eq!((seen.attempts.len(), seen.beyond.attempts), (64, 136));
    assert_eq!(seen.reported.as_ref().unwrap().current_state, "half");
    assert_eq!(seen.remarks[0].text, "hm");
    let facts = world.actions.iter().find_map(|action| match action {
        Action::WriteHandoff { facts, .. } => facts.as_ref()?.body(),
        _ => None,
    });
    let facts: serde_json::Value = serde_json::from_str(facts.unwrap()).unwrap();
    assert_eq!(facts["attempts"].as_array().unwrap().len(), 200);
    assert_eq!(facts["objectives"][0]["status"], "done");
    assert_eq!(facts["reported_handoff"]["current_state"], "half");
}

fn does() -> impl Strategy<Value = ScriptedTurn> {
    prop_oneof![
        4 => (100u64..900).prop_map(ScriptedTurn::Finish),
        3 => Just(ScriptedTurn::Exhaust),
        1 => Just(ScriptedTurn::Quota(None)),
        1 => Just(ScriptedTurn::Die),
        1 => Just(ScriptedTurn::Hang),
    ]
}

fn world(script: &[ScriptedTurn], scores: &[u32], lead: bool) -> TestRun {
    let mut world = TestRun::new(workflow(&[("1", &["a", "b", "c"]), ("2", &["d", "e"])]));
    world.script = script.iter().copied().collect();
    world.scores = std::cell::RefCell::new(scores.iter().copied().collect());
    world.lead = lead;
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever reviews say, a host that dies after any input is followed by one that finishes, and the same inputs give
    /// the same state.
    #[test]
    fn every_prefix_recovers_whatever_reviews_say(
        script in prop::collection::vec(does(), 0..16),
        scores in prop::collection::vec(0u32..=100, 0..12),
        lead in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut whole = world(&script, &scores, lead);
        whole.go();
        let mut world = world(&script, &scores, lead);
        for _ in 0..=cut.index(whole.journal.len()) {
            world.step();
        }
        world.crash();
        world.go();
        for _ in 0..200 {
            if world.run.status() != crate::view::RunStatus::Paused {
                break;
            }
            world.answer(PauseAnswer::Retry);
        }
        prop_assert_eq!(world.ending(), Some(RunOutcome::Done));
        let mut again = Run::new();
        for stamped in &world.journal {
            again.apply(stamped).unwrap();
        }
        prop_assert_eq!(&again, &world.run);
        // C13: a chain, each names the one before it.
        for phase in world.run.view(world.now).unwrap().phases {
            for pair in phase.handoffs.windows(2) {
                prop_assert_eq!(pair[0].predecessor.as_ref(), Some(&pair[1].path));
            }
        }
    }
}

#[test]
fn what_an_agent_left_reaches_whoever_goes_on_until_something_is_finished() {
    // C23
    for (receiver, expected) in [(ScriptedTurn::Die, true), (ScriptedTurn::Finish(300), false)] {
        let mut world = TestRun::new(workflow(&[("1", &["a", "b", "c"])]));
        world.script = [ScriptedTurn::Exhaust, receiver, ScriptedTurn::Exhaust].into();
        while world.run.live_sessions().is_empty() {
            assert!(world.step());
        }
        let said =
            ReportedHandoff { current_state: "case 5 needs LANG=C".into(), ..ReportedHandoff::default() };
        report(&mut world, AgentReport::HandoffWrite(Box::new(said)));
        world.go();
        // The first prompts of the sessions, in their order.
        let first: Vec<_> = briefed(&world).into_iter().filter(|seen| seen.session.prompts == 0).collect();
        let is_told = |seen: &HandoffObservation| {
            seen.reported.as_ref().is_some_and(|told| told.current_state.contains("LANG=C"))
        };
        let told = first.get(2).map(|seen| is_told(seen));
        assert_eq!(told, Some(expected), "{receiver:?}");
    }
}
