//! What cannot be judged, or not by the numbers that are shown, is said in words.

use super::*;
use crate::run_metrics::{PolicyCounts, add_asked};
use baton_core::observation::Capability;

/// The first sentence of the verdict on the outcome of this name that cannot be judged.
fn named<'a>(of: &'a Comparison, name: &str) -> Option<&'a String> {
    of.verdict.words.iter().find(|sentence| sentence.starts_with(&format!("{name} cannot be judged")))
}

// M5
#[test]
fn an_outcome_without_variance_is_named_and_the_verdict_rests_on_the_others() {
    let (mut control, mut eager) = (sample("control", 1, 35, 90), sample("eager", 2, 37, 90));
    control.measures.iter_mut().for_each(|run| run.tokens = 57_412);
    let one = compare(&[control.clone(), eager.clone()], &CompareOptions::default());
    let effect = |of: &Comparison| {
        let tokens = of.metrics.iter().find(|metric| metric.id == "tokens").unwrap();
        (tokens.effects[0].cannot_judge.clone().unwrap(), tokens.effects[0].not_yet.clone())
    };
    assert_eq!(effect(&one), ("control did the same in all 35 runs".to_owned(), None));
    assert!(!one.verdict.words[0].contains("Too early"), "{:?}", one.verdict);
    assert!(one.verdict.words[0].contains("tokens cannot be judged; "), "{:?}", one.verdict);
    let said = named(&one, "Tokens").unwrap();
    assert!(said.contains("control did the same in all 35 runs (57,412 tokens a run of control, "), "{said}");
    assert!(said.ends_with("the verdict rests on objectives alone."), "{said}");
    eager.measures.iter_mut().for_each(|run| run.tokens = 63_500);
    let both = compare(&[control.clone(), eager.clone()], &CompareOptions::default());
    assert_eq!(effect(&both).0, "control and eager each did the same in all their runs");
    // Fewer runs than are needed is another thing: more of them will help.
    control.measures.truncate(19);
    let few = compare(&[control, eager], &CompareOptions::default());
    assert!(few.verdict.words[0].starts_with("Too early to say"), "{:?}", few.verdict);
    assert_eq!(named(&few, "Tokens"), None);
}

// M5
#[test]
fn pairs_that_differ_by_the_same_amount_cannot_be_judged() {
    let options = CompareOptions {
        design: ComparisonDesign::PairedBySeed,
        looks: AnalysisSchedule::Once,
        randomised: false,
        ..CompareOptions::default()
    };
    let (control, mut eager) = (sample("control", 1, 40, 60), sample("control", 1, 40, 60));
    eager.arm = "eager".to_owned();
    eager.measures.iter_mut().for_each(|run| run.wasted_turns += 2);
    let found = compare(&[control, eager], &options);
    let wasted = found.metrics.iter().find(|metric| metric.id == "wasted-turns").unwrap();
    let why = wasted.effects[0].cannot_judge.as_deref();
    assert_eq!(why, Some("control and eager each did the same in all their pairs"));
}

// M5
#[test]
fn a_control_that_finishes_nothing_is_compared_all_the_same() {
    let found =
        compare(&[sample("control", 1, 300, 0), sample("eager", 2, 300, 70)], &CompareOptions::default());
    assert_eq!(found.verdict.decision, Advice::Ship, "{:?}", found.verdict);
    let said = "eager finishes 2.7 more objectives a run than control, which finishes none";
    assert!(found.verdict.words[0].starts_with(said), "{:?}", found.verdict);
    let effect = &found.metrics[0].effects[0];
    let (absolute, last) = (effect.absolute.unwrap(), effect.path.last().unwrap());
    assert_eq!((last.value, last.upper), (absolute.value, absolute.upper), "in objectives a run");
}

/// Counts of the policy of an arm that has been asked nothing.
fn asked(component: &Digest) -> PolicyCounts {
    PolicyCounts {
        component: component.clone(),
        settings: None,
        decision: Capability::Splitting,
        arm: Some(String::new()),
        decided: 0,
        abstained: 0,
        failures: PolicyFailures::default(),
    }
}

// M5
#[test]
fn an_arm_that_fails_was_asked_and_the_report_says_who_answered() {
    let (component, mut eager) = (Digest::of("eager"), sample("eager", 2, 30, 60));
    eager.component = Some(component.clone());
    for run in eager.measures.iter_mut().take(20) {
        let answered = BTreeMap::from([("resilience".to_owned(), 3)]);
        let failures = PolicyFailures { times: 3, trapped: 3, answered };
        run.policies.push(PolicyCounts { failures, ..asked(&component) });
    }
    let always = compare(&[sample("control", 1, 30, 60), eager.clone()], &CompareOptions::default());
    let arm = &always.arms[1];
    assert_eq!((arm.exposed, arm.asked), (Some(20), Some(60)));
    let told = |of: &Comparison, what: &str| of.notes.iter().find(|note| note.contains(what)).cloned();
    assert_eq!(
        told(&always, "failed on").unwrap(),
        "The component of eager was asked 60 questions in 20 runs and failed on all of them (it trapped 60 times); resilience \
         answered in its place."
    );
    assert!(
        told(&always, "asked nothing").unwrap().starts_with("In 10 of 30 runs of eager "),
        "{:?}",
        always.notes
    );
    for run in &mut eager.measures {
        add_asked(&mut run.policies, &[PolicyCounts { decided: 2, ..asked(&component) }]);
    }
    eager.measures[0].policies[0].failures.answered.insert("native".to_owned(), 1);
    let at_times = compare(&[sample("control", 1, 30, 60), eager], &CompareOptions::default());
    let note = told(&at_times, "failed on").unwrap();
    assert!(note.contains("120 questions in 30 runs and failed on 60 of them"), "{note}");
    assert!(note.ends_with("native and resilience answered in its place."), "{note}");
    assert_eq!(told(&at_times, "asked nothing"), None);
}

// M5
#[test]
fn an_arm_that_leaves_its_questions_to_the_next_policy_is_named() {
    let (component, mut folders) = (Digest::of("folders"), sample("folders", 2, 30, 60));
    folders.component = Some(component.clone());
    for run in folders.measures.iter_mut().take(20) {
        run.policies.push(PolicyCounts { abstained: 3, ..asked(&component) });
    }
    let told = |folders: &ArmSample| {
        let found = compare(&[sample("control", 1, 30, 60), folders.clone()], &CompareOptions::default());
        found.notes.into_iter().find(|note| note.contains(" and decided "))
    };
    assert_eq!(
        told(&folders).unwrap(),
        "The component of folders was asked 60 questions in 20 runs and decided none of them; its runs went as they would have \
         without it."
    );
    add_asked(&mut folders.measures[0].policies, &[PolicyCounts { decided: 4, ..asked(&component) }]);
    assert_eq!(
        told(&folders).unwrap(),
        "The component of folders was asked 64 questions in 20 runs and decided 4 of them; the others went to the next policy."
    );
    // The component with the settings of a file is not the policy of the arm.
    let of_file = PolicyCounts { arm: None, decided: 7, ..asked(&component) };
    folders.measures[0].policies.push(of_file);
    assert!(told(&folders).unwrap().contains("asked 64 questions in 20 runs and decided 4 of them"));
    folders.measures.iter_mut().flat_map(|run| &mut run.policies).for_each(|of| of.abstained = 0);
    assert_eq!(told(&folders), None, "it decided all");
}

// M5
#[test]
fn an_effect_of_pairs_says_so_where_the_means_say_something_else() {
    let standing = |sample: &mut ArmSample, unfinished: &[usize]| {
        for (index, run) in sample.measures.iter_mut().enumerate() {
            let is_open = unfinished.contains(&index);
            run.standing = if is_open { RunResult::Unfinished } else { RunResult::Done };
        }
    };
    let (mut control, mut eager) = (sample("control", 1, 37, 80), sample("eager", 2, 35, 80));
    standing(&mut control, &[1, 2, 35, 36]);
    standing(&mut eager, &[3, 9]);
    let found = compare(&[control.clone(), eager.clone()], &CompareOptions::default());
    let words = &found.guardrails[0].words;
    assert!(words.contains("0.0 points") || words.contains("0 points"), "{words}");
    let said = "in 35 pairs by order of arrival; over all 37 and 35 runs the shares differ by 5 points.";
    assert!(words.ends_with(said), "{words}");
    // With as many runs in both arms, both say the same.
    control.measures.truncate(35);
    let even = compare(&[control, eager], &CompareOptions::default());
    assert!(!even.guardrails[0].words.contains("pairs"), "{:?}", even.guardrails);
}

// M5
#[test]
fn objectives_of_an_arm_that_does_not_vary_are_those_of_pairs_and_say_so() {
    let (control, mut eager) = (sample("control", 1, 30, 100), sample("eager", 2, 50, 80));
    // The runs without a counterpart are the worst ones.
    eager.measures[30..].iter_mut().for_each(|run| run.completed = 0);
    let found = compare(&[control, eager.clone()], &CompareOptions::default());
    let told = "Objectives completed and checked: the effect of eager is that of 30 pairs by order of arrival; over all 30 and 50 \
                runs the means differ by −";
    assert!(found.notes.iter().any(|note| note.starts_with(told)), "{:?}", found.notes);
    let even = compare(&[sample("control", 1, 50, 100), eager], &CompareOptions::default());
    assert!(!even.notes.iter().any(|note| note.contains("pairs")), "{:?}", even.notes);
}

// M5
#[test]
fn a_deviation_of_logarithms_has_a_name_of_its_own() {
    let found =
        compare(&[sample("control", 1, 60, 60), sample("eager", 2, 60, 60)], &CompareOptions::default());
    for metric in &found.metrics {
        let is_log = metric.scale == MetricScale::LogRatio;
        for arm in metric.arms.iter().filter(|arm| arm.n > 1) {
            assert_eq!((arm.sd.is_some(), arm.sd_log.is_some()), (!is_log, is_log), "{}", metric.id);
        }
    }
    let tokens = found.metrics.iter().find(|metric| metric.id == "tokens").unwrap();
    // From 1,000 to 2,000 tokens: the logarithms differ by less than one, and the mean is in tokens.
    assert!(tokens.arms[0].sd_log.unwrap() < 1.0 && tokens.arms[0].mean.unwrap() > 1_000.0);
}

// M5
#[test]
fn what_was_claimed_counts_only_where_nothing_has_a_check() {
    let claimed = |sample: &mut ArmSample, checkable: u32| {
        for run in &mut sample.measures {
            (run.claimed, run.completed, run.checkable) = (run.completed, 0, checkable);
        }
    };
    let mut arms = [sample("control", 1, 200, 60), sample("eager", 2, 200, 85)];
    let checked = compare(&arms, &CompareOptions::default());
    assert_eq!(checked.completion, CompletionBasis::Checked);
    assert_eq!(checked.metrics[0].name, "Objectives completed and checked");
    let done = checked.arms[0].checked;
    assert!(
        checked
            .notes
            .contains(&format!("control: done {done} of 800 objectives ({done} checked, 0 claimed only)."))
    );
    // The candidate only claims: nothing of it counts.
    claimed(&mut arms[1], 4);
    let liar = compare(&arms, &CompareOptions::default());
    assert_eq!(liar.metrics[0].arms[1].mean, Some(0.0));
    assert_eq!(liar.verdict.decision, Advice::KeepControl, "{:?}", liar.verdict);
    let done = liar.arms[1].claimed;
    assert!(
        liar.notes
            .contains(&format!("eager: done {done} of 800 objectives (0 checked, {done} claimed only)."))
    );
    // One workflow with a check among many without one changes nothing for the others.
    let mut mixed = arms.clone();
    for run in mixed.iter_mut().flat_map(|arm| &mut arm.measures).skip(1) {
        (run.claimed, run.completed, run.checkable) = (run.completed + run.claimed, 0, 0);
    }
    let means = |found: &Comparison| found.metrics[0].arms.iter().map(|arm| arm.mean).collect::<Vec<_>>();
    let before = means(&checked);
    let mixed = compare(&mixed, &CompareOptions::default());
    assert_eq!((mixed.completion, means(&mixed)), (CompletionBasis::Mixed, before));
    assert!(mixed.metrics[0].name.contains("or claimed"), "{}", mixed.metrics[0].name);
    assert!(mixed.notes.iter().any(|note| note.starts_with("Some of these workflows have no check")));
    let last = mixed.verdict.words.last().unwrap();
    assert!(last.starts_with("Runs of workflows without a check"), "{:?}", mixed.verdict);
    // No objective of any run has a check: claims are all there is, and the report says so.
    arms.iter_mut().for_each(|arm| arm.measures.iter_mut().for_each(|run| run.checkable = 0));
    claimed(&mut arms[0], 0);
    let unchecked = compare(&arms, &CompareOptions::default());
    assert_eq!(
        (unchecked.completion, unchecked.metrics[0].id.as_str()),
        (CompletionBasis::Claimed, "objectives")
    );
    assert!(unchecked.metrics[0].name.contains("claimed"), "{}", unchecked.metrics[0].name);
    assert_eq!(unchecked.verdict.decision, Advice::Ship, "{:?}", unchecked.verdict);
    let last = unchecked.verdict.words.last().unwrap();
    assert!(last.starts_with("No objective of these runs has a check"), "{:?}", unchecked.verdict);
}

// M5
#[test]
fn an_outcome_that_is_out_of_reach_does_not_hide_one_that_is_settled() {
    let open = |lower| known(0.01, lower, 0.04, false, 0.05, Some(41_234));
    let second = |objectives, tokens| recommend(&situation(objectives, tokens)).words.remove(1);
    assert_eq!(
        second(open(-0.12), price(-0.48, -0.6, -0.3, true)),
        "Tokens are settled: eager takes 0.5× those of control. If so many runs are too many, take eager where it may finish up to \
         12 % fewer objectives, else keep control: the difference in objectives is too small to be found this way."
    );
    assert!(
        second(open(-0.12), price(0.9, 0.5, 1.3, true))
            .contains("1.9× those of control. If so many runs are too many, keep control")
    );
    let vague = || known(0.3, -0.1, 0.8, false, 0.10, Some(41_234));
    assert!(
        second(work(0.06, 0.01, 0.11, true), vague())
            .starts_with("Objectives are settled: eager finishes more.")
    );
    let nothing = "If that is too many, keep control: the difference is too small to be found this way.";
    assert_eq!(second(open(-0.12), price(0.3, -0.1, 0.8, false)), nothing);
}

// M5
#[test]
fn pairs_that_are_all_the_same_are_said_to_be() {
    let options = CompareOptions {
        design: ComparisonDesign::PairedBySeed,
        looks: AnalysisSchedule::Once,
        randomised: false,
        ..CompareOptions::default()
    };
    let control = sample("control", 1, 30, 70);
    let mut same = ArmSample { arm: "eager".to_owned(), ..control.clone() };
    let component = Digest::of("eager");
    same.measures
        .iter_mut()
        .for_each(|run| run.policies = vec![PolicyCounts { decided: 1, ..asked(&component) }]);
    let found = compare(&[control.clone(), same.clone()], &options);
    assert_eq!(found.verdict.decision, Advice::KeepControl);
    let first = "eager came to the very same as control in every pair; keep control.";
    assert_eq!((found.verdict.words[0].as_str(), found.verdict.words.len()), (first, 2));
    same.measures[3].turns += 1;
    let found = compare(&[control, same], &options);
    // That 30 pairs came to as many objectives does not show that all would.
    let objectives = found.metrics.iter().find(|metric| metric.id == "objectives").unwrap();
    let interval = objectives.effects[0].relative.unwrap();
    assert!(
        interval.value == 0.0 && interval.upper > 0.1 && interval.lower == -interval.upper,
        "{interval:?}"
    );
    assert!(found.verdict.words.iter().all(|words| !words.contains("the very same")), "{:?}", found.verdict);
}
