//! What is split, what is kept, and the golden decisions of both.

use baton_policy_conservative_splitter::ConservativeSplitter;
use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Group, Observation, Occasion, Request, Time};
use baton_sdk::{Answer, Ask, Case, golden, rules, sample, strategy};
use proptest::prelude::*;

fn scope(objectives: usize, occasion: Occasion) -> Observation {
    let mut o = sample::splitting_observation();
    o.occasion = occasion;
    o.objectives =
        (1..=objectives).map(|n| sample::objective(&format!("o{n}"), &format!("Move module {n}"))).collect();
    o
}

fn asked(groups: &[(&str, &[&str])]) -> Observation {
    let group = |(title, ids): &(&str, &[&str])| Group {
        title: (*title).into(),
        objectives: ids.iter().map(|&id| id.into()).collect(),
    };
    let mut o = scope(4, Occasion::Requested);
    o.requested =
        Some(Request { groups: groups.iter().map(group).collect(), rationale: "three modules".into() });
    o
}

fn parts(o: Observation) -> Vec<Vec<String>> {
    match Case::new(Ask::Split(o)).answer::<ConservativeSplitter>() {
        Answer::Split(splitting::Decision { action: Action::Split(parts), .. }) => {
            parts.into_iter().map(|part| part.objectives).collect()
        }
        other => panic!("{other:?}"),
    }
}

// D10
#[test]
fn twelve_objectives_are_kept_and_thirteen_become_two_parts() {
    let hold = |file: &str, o| {
        golden::check_case::<ConservativeSplitter>(format!("golden/{file}.json"), &Case::new(Ask::Split(o)))
    };
    hold("twelve-are-kept", scope(12, Occasion::PhaseStart));
    hold("thirteen-become-two", scope(13, Occasion::PhaseStart));
    hold("begun-work-is-kept", scope(40, Occasion::Boundary));
    hold("one-left-and-stuck-asks-a-person", scope(1, Occasion::OutOfContinuations));
    hold("stuck-becomes-two", scope(3, Occasion::OutOfContinuations));
}

// D2
#[test]
fn groups_of_an_agent_are_put_together_in_their_order() {
    let groups: &[(&str, &[&str])] = &[("c", &["o4", "o9"]), ("a", &["o1"]), ("b", &["o2", "o1"])];
    assert_eq!(parts(asked(groups)), [["o4", "o1"], ["o2", "o3"]]);
    let case = Case::new(Ask::Split(asked(groups))).with_setting("parts", SettingValue::Integer(3));
    golden::check_case::<ConservativeSplitter>("golden/an-agent-asks-and-three-parts-are-set.json", &case);
}

#[test]
fn what_is_a_part_stays_whole_and_what_has_failed_is_not_forgotten() {
    let mut o = scope(3, Occasion::OutOfContinuations);
    o.objectives[0].status = ObjectiveStatus::Failed;
    o.objectives[1].status = ObjectiveStatus::Done;
    assert_eq!(parts(o.clone()), [["o1"], ["o3"]]);
    o.phase.depth = 1;
    golden::check_case::<ConservativeSplitter>("golden/a-part-stays-whole.json", &Case::new(Ask::Split(o)));
}

// D2
#[test]
fn what_the_workflow_leaves_whole_is_split_only_when_an_agent_asks() {
    let decided = |occasion| {
        let mut o = scope(13, occasion);
        o.wish = Time::Never;
        match Case::new(Ask::Split(o)).answer::<ConservativeSplitter>() {
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
        rules::check::<ConservativeSplitter>(&case);
    }
}
