//! A manager's decisions, and the golden ones among them.

use baton_policy_manager::Manager;
use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Group, Observation, Occasion, Request};
use baton_sdk::{Answer, Ask, Case, golden, rules, sample, strategy};
use proptest::prelude::*;

fn issues(count: usize, occasion: Occasion) -> Observation {
    let mut o = sample::splitting_observation();
    o.occasion = occasion;
    o.phase.id = "20".into();
    o.objectives =
        (1..=count).map(|n| sample::objective(&format!("issue-{n}"), &format!("Fix issue {n}"))).collect();
    o
}

fn asked(count: usize, groups: &[&[&str]]) -> Observation {
    let group = |ids: &&[&str]| Group {
        title: format!("around {}", ids[0]),
        objectives: ids.iter().map(|&id| id.into()).collect(),
    };
    let mut o = issues(count, Occasion::Requested);
    o.requested = Some(Request {
        groups: groups.iter().map(group).collect(),
        rationale: "\n six issues in five files".into(),
    });
    o
}

fn parts(o: Observation) -> Vec<Vec<String>> {
    match Case::new(Ask::Split(o)).answer::<Manager>() {
        Answer::Split(splitting::Decision { action: Action::Split(parts), .. }) => {
            parts.into_iter().map(|part| part.objectives).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn hold(file: &str, ask: Ask) {
    golden::check_case::<Manager>(format!("golden/{file}.json"), &Case::new(ask));
}

// D2, D3, D11
#[test]
fn groups_are_taken_as_they_are_asked_for() {
    let o = asked(4, &[&["issue-3", "issue-1"], &["issue-1", "issue-2"]]);
    assert_eq!(parts(o.clone()), [vec!["issue-1", "issue-3"], vec!["issue-2"], vec!["issue-4"]]);
    hold("asked-for", Ask::Split(o));
}

// D2
#[test]
fn nobody_splits_before_the_work_begins() {
    hold("not-before-it-begins", Ask::Split(issues(30, Occasion::PhaseStart)));
    hold("not-between-objectives", Ask::Split(issues(30, Occasion::Boundary)));
}

// D9
#[test]
fn fourteen_agents_are_fine_as_far_as_the_workflow_allows() {
    let mut o = issues(14, Occasion::OutOfContinuations);
    assert_eq!(parts(o.clone()).len(), 14);
    o.limits.parts = 3;
    assert_eq!(parts(o.clone()).iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 12]);
    hold("three-agents-are-allowed", Ask::Split(o));
    hold("stuck-with-one", Ask::Split(issues(1, Occasion::OutOfContinuations)));
}

// D2
#[test]
fn a_workflow_that_says_never_is_split_at_an_agents_request_only() {
    let decide = |mut o: Observation| {
        o.wish = splitting::Time::Never;
        match Case::new(Ask::Split(o)).answer::<Manager>() {
            Answer::Split(decision) => decision.action,
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(decide(issues(4, Occasion::OutOfContinuations)), Action::AskPerson(_)));
    assert!(matches!(decide(asked(4, &[&["issue-1"], &["issue-2"]])), Action::Split(_)));
}

// D5
#[test]
fn no_percentage_stops_work() {
    let at = |used| {
        let mut o = sample::compaction_observation();
        o.session.occupancy = sample::occupancy(used, 200_000);
        o
    };
    hold("half-full", Ask::Compaction(at(100_000)));
    hold("nearly-full", Ask::Compaction(at(199_000)));
}

proptest! {
    #[test]
    fn no_rule_is_broken(case in prop_oneof![strategy::splitting(), strategy::compaction()]) {
        rules::check::<Manager>(&case);
    }
}
