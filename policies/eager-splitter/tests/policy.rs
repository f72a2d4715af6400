//! What is split, what is kept, and the golden decisions of both.

use baton_policy_eager_splitter::EagerSplitter;
use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Limits, Observation, Occasion, Time};
use baton_sdk::{Answer, Ask, Case, golden, rules, sample, strategy};
use proptest::prelude::*;

fn scope(ids: &[&str], occasion: Occasion) -> Observation {
    let mut o = sample::splitting_observation();
    o.occasion = occasion;
    o.objectives = ids.iter().map(|id| sample::objective(id, &format!("Do {id}\nand say so"))).collect();
    o
}

fn parts(o: Observation) -> Vec<Vec<String>> {
    match Case::new(Ask::Split(o)).answer::<EagerSplitter>() {
        Answer::Split(splitting::Decision { action: Action::Split(parts), .. }) => {
            parts.into_iter().map(|part| part.objectives).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn hold(file: &str, case: Case) {
    golden::check_case::<EagerSplitter>(format!("golden/{file}.json"), &case);
}

// C14
#[test]
fn each_objective_is_a_part_with_its_tests() {
    let o = scope(&["login", "search", "login-tests", "test_search", "tests"], Occasion::PhaseStart);
    assert_eq!(
        parts(o.clone()),
        [vec!["login", "login-tests"], vec!["search", "test_search"], vec!["tests"]]
    );
    hold("an-objective-each-with-its-tests", Case::new(Ask::Split(o)));
}

#[test]
fn one_thing_is_kept_and_where_it_is_stuck_a_person_is_asked() {
    let one = ["login", "login-tests"];
    hold("one-thing-is-kept", Case::new(Ask::Split(scope(&one, Occasion::PhaseStart))));
    hold("one-thing-is-stuck", Case::new(Ask::Split(scope(&one, Occasion::OutOfContinuations))));
}

// D9
#[test]
fn what_the_workflow_does_not_allow_is_dealt_out() {
    let mut o = scope(&["a", "b", "c", "d", "e"], Occasion::Boundary);
    o.limits.parts = 2;
    assert_eq!(parts(o.clone()), [vec!["a", "c", "e"], vec!["b", "d"]]);
    hold("two-parts-are-allowed", Case::new(Ask::Split(o.clone())));
    o.limits = Limits { parts: 26, depth: 1 };
    o.phase.depth = 1;
    hold("no-deeper", Case::new(Ask::Split(o)));
}

#[test]
fn settings_make_it_less_eager() {
    let o = scope(&["a", "b", "c"], Occasion::PhaseStart);
    let set = |key, value| Case::new(Ask::Split(o.clone())).with_setting(key, SettingValue::Integer(value));
    hold("three-are-allowed", set("objectives-at-most", 3));
    hold("ten-turns-each", set("turns-each", 10));
}

// D2
#[test]
fn what_the_workflow_leaves_whole_is_split_only_when_an_agent_asks() {
    let decided = |occasion| {
        let mut o = scope(&["a", "b", "c"], occasion);
        o.wish = Time::Never;
        match Case::new(Ask::Split(o)).answer::<EagerSplitter>() {
            Answer::Split(decision) => decision.action,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(decided(Occasion::PhaseStart), Action::Keep);
    assert_eq!(decided(Occasion::Boundary), Action::Keep);
    assert!(matches!(decided(Occasion::OutOfContinuations), Action::AskPerson(_)));
    assert!(matches!(decided(Occasion::Requested), Action::Split(_)));
}

proptest! {
    #[test]
    fn no_rule_is_broken(case in strategy::splitting()) {
        rules::check::<EagerSplitter>(&case);
    }
}
