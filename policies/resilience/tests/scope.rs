//! Compaction, splitting and budgets at their thresholds.

use baton_policy_resilience::Resilience;
use baton_sdk::compaction::Action as Room;
use baton_sdk::offloading::{Item, ItemKind};
use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Group, Occasion, Order, Request, SubPhase, Time};
use baton_sdk::{MockHost, sample};

fn host() -> MockHost {
    MockHost::with_settings_of::<Resilience>(&[])
}

fn room(change: impl FnOnce(&mut compaction::Observation)) -> compaction::Decision {
    let mut observation = sample::compaction_observation();
    change(&mut observation);
    <Resilience as Compaction>::decide(&host(), observation).unwrap()
}

fn used(o: &mut compaction::Observation, percent: u64) {
    o.session.occupancy = sample::occupancy(percent * 2_000, 200_000);
}

fn cannot_compact(o: &mut compaction::Observation) {
    o.session.capabilities.remove(Capabilities::COMPACTS);
}

#[test]
fn compacts_from_seventy_percent_and_says_what_to_keep() {
    // B1, C5
    assert_eq!(room(|o| used(o, 69)).action, Room::Keep);
    let Room::Compact(Some(instructions)) = room(|o| used(o, 70)).action else {
        panic!("no compaction at 70 %")
    };
    for kept in [
        "what this session is for",
        "every file created or changed",
        "the next step",
        "1 of 2 objectives done",
    ] {
        assert!(instructions.contains(kept), "{kept}: {instructions}");
    }
}

#[test]
fn an_unknown_occupancy_is_kept() {
    assert_eq!(room(|o| o.session.occupancy.used_tokens = None).action, Room::Keep);
    assert_eq!(room(|o| o.session.occupancy.window_tokens = Some(0)).action, Room::Keep);
}

#[test]
fn an_agent_that_cannot_compact_hands_off_once_it_has_done_something() {
    // C20, C21
    let at = |percent, done| {
        room(|o| {
            used(o, percent);
            cannot_compact(o);
            o.phase.progress.done_by_session = done;
        })
        .action
    };
    assert_eq!(at(79, 1), Room::Keep);
    assert_eq!(at(80, 1), Room::HandOff);
    assert_eq!(at(95, 0), Room::Keep);
}

#[test]
fn a_context_that_fills_again_at_once_is_handed_off_instead_of_compacted_again() {
    // C21
    let refilled = |turns| {
        room(|o| {
            used(o, 75);
            o.refilled_within_turns = turns;
        })
        .action
    };
    assert_eq!(refilled(Some(3)), Room::HandOff);
    assert!(matches!(refilled(Some(4)), Room::Compact(_)));
    assert!(matches!(refilled(None), Room::Compact(_)));
}

#[test]
fn reading_the_same_again_lowers_the_threshold() {
    // C12
    let circling = |rereads| {
        room(|o| {
            used(o, 55);
            o.session.recent[1].rereads = rereads;
        })
        .action
    };
    assert_eq!(circling(7), Room::Keep);
    assert!(matches!(circling(8), Room::Compact(_)));
}

/// Those of these items that become references, at this fill.
fn offloaded(items: &[(&str, ItemKind, u64)], percent: Option<u64>) -> Vec<String> {
    let item = |(id, kind, tokens): &(&str, ItemKind, u64)| Item {
        id: (*id).into(),
        kind: kind.clone(),
        tokens: *tokens,
    };
    let mut observation = sample::offloading_observation();
    observation.items = items.iter().map(item).collect();
    observation.session.occupancy = sample::occupancy(percent.unwrap_or(0) * 2_000, 200_000);
    if percent.is_none() {
        observation.session.occupancy.used_tokens = None;
    }
    <Resilience as Offloading>::decide(&host(), observation).unwrap().items
}

#[test]
fn large_items_become_references() {
    // C3, C4
    let items = [
        ("result", ItemKind::ToolResult, 20_001),
        ("small", ItemKind::ToolResult, 20_000),
        ("input", ItemKind::ToolInput, 501),
        ("short", ItemKind::ToolInput, 500),
    ];
    assert_eq!(offloaded(&items, Some(10)), ["result"]);
    assert_eq!(offloaded(&items, Some(84)), ["result"]);
    assert_eq!(offloaded(&items, Some(85)), ["result", "input"]);
    let findings = [("findings", ItemKind::ToolInput, 1_000)];
    assert_eq!(offloaded(&findings, Some(99)), ["findings"]);
    assert_eq!(offloaded(&findings, None), [""; 0], "how full it is, is not known");
}

fn objectives(count: usize) -> Vec<Objective> {
    (0..count).map(|n| sample::objective(&format!("issue-{n}x"), &format!("Fix issue {n}"))).collect()
}

/// A scope at the boundary between two objectives, unless `change` says otherwise.
fn scope(change: impl FnOnce(&mut splitting::Observation)) -> splitting::Observation {
    let mut observation = sample::splitting_observation();
    observation.occasion = Occasion::Boundary;
    change(&mut observation);
    observation
}

fn split(host: &MockHost, observation: splitting::Observation) -> Vec<SubPhase> {
    match <Resilience as Splitting>::decide(host, observation).unwrap().action {
        Action::Split(sub_phases) => sub_phases,
        other => panic!("{other:?}"),
    }
}

fn evaluated(change: impl FnOnce(&mut splitting::Observation)) -> Action {
    <Resilience as Splitting>::decide(&host(), scope(change)).unwrap().action
}

#[test]
fn six_issues_are_too_large_and_five_are_not() {
    // D10, D7
    assert_eq!(evaluated(|o| o.objectives = objectives(5)), Action::Keep);
    let decision =
        <Resilience as Splitting>::decide(&host(), scope(|o| o.objectives = objectives(6))).unwrap();
    assert!(
        decision.reason.starts_with("Phase build is too large (6 open objectives"),
        "{}",
        decision.reason
    );
    let sub_phases = split(&host(), scope(|o| o.objectives = objectives(6)));
    assert_eq!(sub_phases.len(), 6);
    assert_eq!(sub_phases[0].title, "Fix issue 0");
}

#[test]
fn before_the_first_session_only_twice_the_limits_leave_no_doubt() {
    // D2
    let at_start = |count, wish| {
        evaluated(|o| {
            o.occasion = Occasion::PhaseStart;
            o.objectives = objectives(count);
            o.wish = wish;
        })
    };
    assert_eq!(at_start(10, Time::During), Action::Keep);
    assert!(matches!(at_start(11, Time::During), Action::Split(parts) if parts.len() == 11));
    assert_eq!(at_start(5, Time::Ahead), Action::Keep);
    assert!(matches!(at_start(6, Time::Ahead), Action::Split(_)));
    let files = |files, wish| {
        evaluated(|o| {
            o.occasion = Occasion::PhaseStart;
            o.objectives[0].files = files;
            o.wish = wish;
        })
    };
    assert!(matches!(files(26, Time::Ahead), Action::Split(_)));
    assert_eq!(files(26, Time::During), Action::Keep);
    assert!(matches!(files(51, Time::During), Action::Split(_)));
    let sooner = MockHost::with_settings_of::<Resilience>(&[("ahead-factor", SettingValue::Integer(1))]);
    let six = scope(|o| {
        o.occasion = Occasion::PhaseStart;
        o.objectives = objectives(6);
    });
    assert_eq!(split(&sooner, six).len(), 6);
}

#[test]
fn what_the_workflow_leaves_whole_is_split_only_when_an_agent_asks() {
    // D2
    let whole = |occasion, count| {
        evaluated(|o| {
            o.objectives = objectives(count);
            o.wish = Time::Never;
            o.requested = (occasion == Occasion::Requested).then(|| Request {
                groups: vec![Group { title: "one".into(), objectives: vec!["issue-0x".into()] }],
                rationale: "two subsystems".into(),
            });
            o.occasion = occasion;
        })
    };
    assert_eq!(whole(Occasion::PhaseStart, 40), Action::Keep);
    assert_eq!(whole(Occasion::Boundary, 40), Action::Keep);
    assert!(matches!(whole(Occasion::Requested, 3), Action::Split(_)));
    let stuck = whole(Occasion::OutOfContinuations, 3);
    assert!(
        matches!(&stuck, Action::AskPerson(question) if question.contains("the workflow leaves it whole")),
        "{stuck:?}"
    );
}

#[test]
fn files_complexity_and_growth_count_too() {
    // D10
    let with = |change: fn(&mut Objective)| {
        evaluated(|o| {
            o.objectives = objectives(3);
            o.objectives.iter_mut().for_each(change);
        })
    };
    assert!(matches!(with(|objective| objective.files = 9), Action::Split(_)));
    assert!(matches!(with(|objective| objective.description = "word ".repeat(400)), Action::Split(_)));
    assert!(matches!(with(|objective| objective.attempts = 4), Action::Split(_)));
    assert_eq!(with(|objective| objective.files = 3), Action::Keep);
    // A prompt that fills four fifths of a window, and three more to come.
    let growth = |used| {
        evaluated(|o| {
            o.objectives = objectives(3);
            o.recent = vec![sample::turn(1, 10_000), sample::turn(2, used)];
        })
    };
    assert!(matches!(growth(170_000), Action::Split(_)));
    assert_eq!(growth(100_000), Action::Keep);
}

#[test]
fn tokens_before_time_before_quality_is_a_setting() {
    // D9, D11
    let with = |priority: &str| {
        MockHost::with_settings_of::<Resilience>(&[("priority", SettingValue::Text(priority.into()))])
    };
    let six = || scope(|o| o.objectives = objectives(6));
    assert_eq!(<Resilience as Splitting>::decide(&with("tokens"), six()).unwrap().action, Action::Keep);
    let long = || {
        scope(|o| {
            o.objectives = objectives(6);
            o.objectives[0].attempts = 1;
        })
    };
    assert_eq!(split(&with("time"), long())[0].order, Order::Direct);
    assert_eq!(split(&with("quality"), long())[0].order, Order::MiniPlan);
    assert_eq!(split(&with("quality"), long())[1].order, Order::Direct);
}

#[test]
fn every_open_objective_is_in_exactly_one_sub_phase() {
    // C14, D9
    for count in 6..40 {
        let sub_phases = split(&host(), scope(|o| o.objectives = objectives(count)));
        assert_eq!(sub_phases.len(), count.min(26));
        let mut ids: Vec<String> =
            sub_phases.into_iter().flat_map(|sub_phase| sub_phase.objectives).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}

#[test]
fn without_a_continuation_it_splits_or_asks_and_never_gives_up_silently() {
    // A8
    let stuck = |count, depth| {
        evaluated(|o| {
            o.occasion = Occasion::OutOfContinuations;
            o.objectives = objectives(count);
            o.phase.depth = depth;
        })
    };
    assert!(matches!(stuck(2, 0), Action::Split(parts) if parts.len() == 2));
    assert!(matches!(stuck(1, 0), Action::AskPerson(question) if question.contains("issue-0x")));
    assert!(matches!(stuck(3, 2), Action::AskPerson(_)));
    assert_eq!(stuck(0, 0), Action::Keep);
    // Objectives of one feature would stay together, but here something has to give.
    let one_feature = evaluated(|o| {
        o.occasion = Occasion::OutOfContinuations;
        o.objectives =
            vec![sample::objective("login", "Log in"), sample::objective("login-tests", "Test it")];
    });
    assert!(matches!(one_feature, Action::Split(parts) if parts.len() == 2));
}

#[test]
fn complex_work_gets_half_as_many_turns_again() {
    // A2
    let turns = |base_turns, change: fn(&mut budgeting::Observation)| {
        let mut observation = budgeting::Observation { base_turns, ..sample::budgeting_observation() };
        change(&mut observation);
        <Resilience as Budgeting>::decide(&host(), observation).unwrap().max_turns
    };
    assert_eq!(turns(Some(25), |_| {}), Some(25));
    assert_eq!(turns(Some(25), |o| o.phase.complex = true), Some(38));
    assert_eq!(turns(Some(30), |o| o.objectives = objectives(4)), Some(45));
    assert_eq!(turns(Some(30), |o| o.objectives[0].files = 10), Some(45));
    assert_eq!(turns(Some(30), |o| o.workspace_files = 5_000), Some(45));
    assert_eq!(turns(Some(30), |o| o.phase.depends_on = 2), Some(45));
    assert_eq!(turns(Some(30), |o| o.phase.depends_on = 1), Some(30));
    assert_eq!(turns(None, |o| o.workspace_files = 5_000), None);
    assert_eq!(turns(Some(u32::MAX), |o| o.workspace_files = 5_000), Some(u32::MAX));
}

/// Turns that are given when 25 are used up, with what came of them.
fn again(spent: budgeting::Spent, settings: &[(&str, SettingValue)]) -> Option<u32> {
    let mut observation = budgeting::Observation { spent: Some(spent), ..sample::budgeting_observation() };
    (observation.phase.budget.turns, observation.phase.budget.turns_used) = (Some(25), 27);
    let host = MockHost::with_settings_of::<Resilience>(settings);
    <Resilience as Budgeting>::decide(&host, observation).unwrap().max_turns
}

#[test]
fn turns_are_given_again_while_the_work_moves_and_for_some_time_while_it_does_not() {
    // A1
    let spent = |objectives_done, files_changed, idle_grants| budgeting::Spent {
        objectives_done,
        files_changed,
        idle_grants,
        ceiling: Some(250),
    };
    assert_eq!(again(spent(1, 0, 9), &[]), Some(52));
    assert_eq!(again(spent(0, 1, 9), &[]), Some(52));
    assert_eq!(again(spent(0, 0, 0), &[]), Some(52));
    assert_eq!(again(spent(0, 0, 1), &[]), Some(27), "an agent that goes in circles gets no more than once");
    assert_eq!(again(spent(0, 0, 1), &[("idle-grants", SettingValue::Integer(3))]), Some(52));
    assert_eq!(again(spent(0, 0, 0), &[("idle-grants", SettingValue::Integer(0))]), Some(27));
}

#[test]
fn a_question_about_turns_says_that_they_are_used_up() {
    let asked = |turns| {
        let mut observation = sample::splitting_observation();
        observation.occasion = splitting::Occasion::OutOfContinuations;
        observation.objectives.truncate(1);
        (observation.phase.budget.turns, observation.phase.budget.turns_used) = (Some(turns), turns);
        match <Resilience as Splitting>::decide(&host(), observation).unwrap().action {
            Action::AskPerson(question) => question,
            other => panic!("{other:?}"),
        }
    };
    let alone = "without finishing lexer, and it has one open objective, so it cannot be split.";
    assert_eq!(asked(250), format!("Phase build has used up its 250 turns {alone}"));
    assert_eq!(asked(1), format!("Phase build has used up its turn {alone}"));
}

/// What a person is asked about a phase of which so many continuations of 3 are used.
fn stuck_after(continuations_used: u32, change: impl FnOnce(&mut splitting::Observation)) -> String {
    let mut observation = sample::splitting_observation();
    observation.occasion = Occasion::OutOfContinuations;
    observation.objectives = objectives(1);
    let budget = &mut observation.phase.budget;
    (budget.turns, budget.continuations, budget.continuations_used) = (None, 3, continuations_used);
    change(&mut observation);
    match <Resilience as Splitting>::decide(&host(), observation).unwrap().action {
        Action::AskPerson(question) => question,
        other => panic!("no question: {other:?}"),
    }
}

#[test]
fn who_is_asked_about_continuations_is_told_how_many_windows_were_used_and_what_an_answer_does() {
    // A8
    assert_eq!(
        stuck_after(3, |_| ()),
        "4 sessions of phase build used up their windows or turns without finishing issue-0x, and it has one open \
         objective, so it cannot be split. `retry` starts another session on what is on disk, and allows 3 \
         continuations again; `skip` leaves the phase."
    );
    let idle = stuck_after(1, |_| ());
    assert!(
        idle.starts_with("The last session of phase build finished no objective and changed no file (issue-0x is open), and"),
        "{idle}"
    );
    let none = stuck_after(0, |o| o.phase.budget.continuations = 0);
    assert!(
        none.starts_with("The session of phase build used up its window or turns without finishing issue-0x"),
        "{none}"
    );
    assert!(
        none.ends_with("`retry` starts another session on what is on disk; `skip` leaves the phase."),
        "{none}"
    );
    let many = stuck_after(3, |o| {
        o.objectives = objectives(5);
        o.wish = Time::Never;
    });
    assert!(many.contains("without finishing issue-0x, issue-1x, issue-2x and 2 more"), "{many}");
}

#[test]
fn turns_for_nothing_are_counted_from_the_last_grant() {
    // A1: files may have changed before it.
    let mut observation = sample::budgeting_observation();
    observation.base_turns = Some(25);
    observation.spent =
        Some(budgeting::Spent { objectives_done: 0, files_changed: 0, idle_grants: 0, ceiling: None });
    (observation.phase.budget.turns, observation.phase.budget.turns_used) = (Some(50), 50);
    let given = <Resilience as Budgeting>::decide(&host(), observation).unwrap();
    assert_eq!(
        (given.max_turns, given.reason.as_str()),
        (
            Some(75),
            "no objective was done and no file changed since the last grant; the agent may still be reading, so it gets more \
             for now"
        )
    );
}
