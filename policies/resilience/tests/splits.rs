//! Splits that agents ask for, and how they are shaped (D2, C14); how many parts there may be (D9).

use baton_policy_resilience::Resilience;
use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Group, Observation, Occasion, Order, Request, SubPhase};
use baton_sdk::{MockHost, sample};

fn evaluate(observation: Observation) -> splitting::Decision {
    <Resilience as Splitting>::decide(&MockHost::with_settings_of::<Resilience>(&[]), observation).unwrap()
}

fn parts(decision: splitting::Decision) -> Vec<SubPhase> {
    match decision.action {
        Action::Split(parts) => parts,
        other => panic!("{other:?}: {}", decision.reason),
    }
}

fn objectives(ids: &[(&str, &str)]) -> Vec<Objective> {
    ids.iter().map(|(id, description)| sample::objective(id, description)).collect()
}

fn requested(objectives: Vec<Objective>, groups: &[(&str, &[&str])]) -> Observation {
    let group = |(title, ids): &(&str, &[&str])| Group {
        title: (*title).into(),
        objectives: ids.iter().map(|&id| id.into()).collect(),
    };
    let mut o = sample::splitting_observation();
    o.occasion = Occasion::Requested;
    o.objectives = objectives;
    o.requested =
        Some(Request { groups: groups.iter().map(group).collect(), rationale: "two subsystems".into() });
    o
}

/// Titles with the objectives of each part.
fn shaped(o: Observation) -> Vec<(String, Vec<String>)> {
    parts(evaluate(o)).into_iter().map(|part| (part.title, part.objectives)).collect()
}

fn part(title: &str, ids: &[&str]) -> (String, Vec<String>) {
    (title.to_owned(), ids.iter().map(|&id| id.to_owned()).collect())
}

const FOUR: [(&str, &str); 4] =
    [("auth", "Fix auth"), ("billing", "Fix billing"), ("search", "Fix search"), ("export", "Fix export")];

#[test]
fn groups_of_the_agent_are_taken_with_their_titles() {
    // D2
    let o =
        requested(objectives(&FOUR), &[("money", &["billing", "export"]), ("people", &["auth", "search"])]);
    assert_eq!(
        shaped(o.clone()),
        [part("money", &["billing", "export"]), part("people", &["auth", "search"])]
    );
    let decision = evaluate(o);
    assert!(decision.reason.contains("the agent asks for it: two subsystems"), "{}", decision.reason);
    assert!(parts(decision).iter().all(|part| part.order == Order::MiniPlan && part.max_turns.is_none()));
}

#[test]
fn what_is_wrong_with_the_groups_is_repaired() {
    // D2
    let mut all = objectives(&FOUR);
    all[3].status = ObjectiveStatus::Done;
    let o = requested(
        all,
        &[("a", &["auth", "no-such"]), ("twice", &["auth", "export"]), ("b", &["auth", "search"])],
    );
    // `auth` is where it was named first; what is done, unknown or left over makes no group; `billing` is forgotten.
    let expected = [part("a", &["auth"]), part("b", &["search"]), part("Fix billing", &["billing"])];
    assert_eq!(shaped(o), expected);
}

#[test]
fn a_feature_keeps_its_tests_whatever_the_agent_says() {
    // C14
    let all = || {
        objectives(&[
            ("login", "Write src/login.rs"),
            ("login-tests", "Cover it"),
            ("search", "Write src/search.rs"),
            ("more", "Cover tests/search_test.rs"),
        ])
    };
    let o = requested(all(), &[("code", &["login", "search"]), ("tests", &["login-tests", "more"])]);
    // All of it belongs together then, and the agent's two groups become one: nothing to split.
    assert_eq!(evaluate(o).action, Action::Keep);
    let o =
        requested(all(), &[("one", &["login"]), ("two", &["search"]), ("tests", &["login-tests", "more"])]);
    assert_eq!(shaped(o), [part("one", &["login", "login-tests"]), part("two", &["search", "more"])]);
    // Forgotten tests go to what they test.
    let o = requested(all(), &[("one", &["login"]), ("two", &["search"])]);
    assert_eq!(shaped(o), [part("one", &["login", "login-tests"]), part("two", &["search", "more"])]);
}

#[test]
fn a_request_that_cannot_be_met_keeps_the_scope_and_says_why() {
    // D2
    let one = evaluate(requested(objectives(&FOUR[..1]), &[("a", &["auth"])]));
    assert_eq!(one.action, Action::Keep);
    assert!(one.reason.contains("it has one open objective"), "{}", one.reason);
    let mut deep = requested(objectives(&FOUR), &[("a", &["auth"]), ("b", &["search"])]);
    deep.limits.depth = 1;
    deep.phase.depth = 1;
    assert!(evaluate(deep).reason.contains("it is split deeply already"));
}

#[test]
fn there_are_as_many_parts_as_seams_and_as_the_workflow_allows() {
    // D9
    let split = |count: usize, allowed: u32| {
        let mut o = sample::splitting_observation();
        o.occasion = Occasion::Boundary;
        o.objectives = (0..count)
            .map(|n| sample::objective(&format!("issue-{n}x"), &format!("Fix issue {n}")))
            .collect();
        o.limits.parts = allowed;
        parts(evaluate(o)).len()
    };
    assert_eq!(split(14, 26), 14);
    assert_eq!(split(20, 26), 20);
    assert_eq!(split(20, 6), 6);
    assert_eq!(split(40, 100), 26);
    assert_eq!(split(7, u32::MAX), 7);
}

#[test]
fn files_that_were_changed_count_with_those_that_are_to_come() {
    // D10
    let with = |changed| {
        let mut o = sample::splitting_observation();
        o.occasion = Occasion::Boundary;
        o.files_changed = changed;
        o.objectives = objectives(&FOUR[..2]);
        evaluate(o)
    };
    assert_eq!(with(23).action, Action::Keep);
    let decision = with(24);
    assert!(matches!(decision.action, Action::Split(_)), "{}", decision.reason);
    assert!(decision.reason.contains("24 files changed, and 2 to produce"), "{}", decision.reason);
}

#[test]
fn what_has_failed_goes_with_a_part() {
    // D2: core holds a split to every objective that is not done.
    let mut all = objectives(&FOUR);
    all[0].status = ObjectiveStatus::Failed;
    all[1].status = ObjectiveStatus::Done;
    all[2].status = ObjectiveStatus::InProgress;
    let mut o = requested(all.clone(), &[("a", &["search"]), ("b", &["export"])]);
    assert_eq!(
        shaped(o.clone()),
        [part("a", &["search"]), part("b", &["export"]), part("Fix auth", &["auth"])]
    );
    o.occasion = Occasion::OutOfContinuations;
    o.requested = None;
    assert_eq!(
        shaped(o),
        [part("Fix auth", &["auth"]), part("Fix search", &["search"]), part("Fix export", &["export"])]
    );
}

#[test]
fn the_largest_scope_that_a_workflow_may_have_is_split() {
    // D9, D10: two hundred objectives, each with its tests, in at most two parts.
    let all: Vec<(String, String)> = (0..100)
        .flat_map(|n| {
            [(format!("f{n}x"), format!("Write src/f{n}.rs")), (format!("f{n}x-tests"), "Test it".into())]
        })
        .collect();
    let mut o = sample::splitting_observation();
    o.occasion = Occasion::Boundary;
    o.objectives = all.iter().map(|(id, text)| sample::objective(id, text)).collect();
    o.limits.parts = 2;
    let shaped = shaped(o);
    assert_eq!(shaped.len(), 2);
    assert_eq!(shaped.iter().map(|(_, ids)| ids.len()).sum::<usize>(), 200);
    for (_, ids) in shaped {
        for id in ids.iter().filter(|id| !id.ends_with("-tests")) {
            assert!(ids.contains(&format!("{id}-tests")), "{id} lost its tests");
        }
    }
}
