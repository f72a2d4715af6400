//! What a comparison says: situation by situation, and over whole samples.

mod harm;
mod unclear;

use std::collections::BTreeMap;

use baton_core::{Digest, RunId, UnixMs};

use super::recommendation::{PrimaryOutcome, RecommendationInput, SecondaryFindings, recommend};
use super::*;
use crate::run_metrics::{CompletionBasis, RunMetrics};

/// (value, lower, upper) as shares, whether it is settled, and what is missing.
fn known(
    value: f64,
    lower: f64,
    upper: f64,
    is_settled: bool,
    margin: f64,
    more: Option<u64>,
) -> PrimaryOutcome {
    let shown = ConfidenceInterval { value, lower, upper };
    PrimaryOutcome::Estimated { shown, of_little: None, is_settled, margin, more }
}

fn situation(objectives: PrimaryOutcome, tokens: PrimaryOutcome) -> RecommendationInput<'static> {
    RecommendationInput {
        control: "control",
        candidate: "eager",
        unit: "run",
        interval: "CS",
        percent: 95.0,
        any_time: true,
        runs: 200,
        broken: None,
        identical: false,
        alarms: Vec::new(),
        attrition: None,
        waiting: None,
        objectives,
        tokens,
        also: SecondaryFindings::default(),
        completion: CompletionBasis::Checked,
    }
}

fn work(value: f64, lower: f64, upper: f64, is_settled: bool) -> PrimaryOutcome {
    known(value, lower, upper, is_settled, 0.05, Some(40))
}

fn price(value: f64, lower: f64, upper: f64, is_settled: bool) -> PrimaryOutcome {
    known(value, lower, upper, is_settled, 0.10, Some(40))
}

#[test]
fn every_situation_has_its_advice_and_its_words() {
    let more = || work(0.06, 0.01, 0.11, true);
    let fewer = || work(-0.12, -0.2, -0.04, true);
    let alike = || work(0.0, -0.03, 0.03, false);
    let open = || work(0.02, -0.09, 0.13, false);
    let dear = || price(0.3, 0.2, 0.5, true);
    let cheap = || price(-0.2, -0.3, -0.1, true);
    let level = || price(0.01, -0.05, 0.06, false);
    let vague = || price(0.3, -0.1, 0.8, false);
    let none =
        || PrimaryOutcome::NotYet { why: "eager has 7 runs with an outcome, and 20 are needed".to_owned() };
    let unjudged = || PrimaryOutcome::Inconclusive {
        why: "control did the same in all 35 runs".to_owned(),
        means: Some((57_412.0, 63_500.0)),
    };
    let of_nothing = || PrimaryOutcome::Estimated {
        shown: ConfidenceInterval { value: 2.4, lower: 1.9, upper: 2.9 },
        of_little: Some(0.0),
        is_settled: true,
        margin: 0.05,
        more: None,
    };
    let table: Vec<(RecommendationInput<'_>, Advice, &str)> = vec![
        (
            situation(more(), vague()),
            Advice::KeepRunning,
            "eager finishes 6 % more objectives (95 % CS 1 to 11), at 1.3× tokens (0.90 to 1.8); keep running, 40 more runs \
             would settle it.",
        ),
        (
            situation(more(), dear()),
            Advice::Ship,
            "eager finishes 6 % more objectives (95 % CS 1 to 11), at 1.3× tokens (1.2 to 1.5); ship it if that is worth 1.3× \
             the tokens, else keep control.",
        ),
        (
            situation(more(), level()),
            Advice::Ship,
            "eager finishes 6 % more objectives (95 % CS 1 to 11), at 1.01× tokens (0.95 to 1.06); ship it.",
        ),
        (
            situation(fewer(), level()),
            Advice::KeepControl,
            "eager finishes 12 % fewer objectives (95 % CS −20 to −4), at 1.01× tokens (0.95 to 1.06); keep control.",
        ),
        (
            situation(fewer(), cheap()),
            Advice::KeepControl,
            "eager finishes 12 % fewer objectives (95 % CS −20 to −4), at 0.8× tokens (0.7 to 0.90); keep control.",
        ),
        (
            situation(alike(), level()),
            Advice::KeepControl,
            "eager finishes as many objectives as control (95 % CS −3 to 3 %), at 1.01× tokens (0.95 to 1.06); keep control: \
             there is no difference that matters.",
        ),
        (
            situation(alike(), cheap()),
            Advice::Ship,
            "eager finishes as many objectives as control (95 % CS −3 to 3 %), at 0.8× tokens (0.7 to 0.90); ship it.",
        ),
        (
            situation(alike(), dear()),
            Advice::KeepControl,
            "eager finishes as many objectives as control (95 % CS −3 to 3 %), at 1.3× tokens (1.2 to 1.5); keep control.",
        ),
        (
            situation(open(), level()),
            Advice::KeepRunning,
            "eager finishes 2 % more objectives so far (95 % CS −9 to 13), at 1.01× tokens (0.95 to 1.06); keep running, 40 \
             more runs would settle it.",
        ),
        (
            // The interval leaves 0, but two primary outcomes were looked at.
            situation(work(0.06, 0.01, 0.11, false), vague()),
            Advice::KeepRunning,
            "eager finishes 6 % more objectives so far (95 % CS 1 to 11), at 1.3× tokens (0.90 to 1.8); keep running, 40 more \
             runs would settle it.",
        ),
        (
            situation(known(0.02, -0.09, 0.13, false, 0.05, Some(41_234)), level()),
            Advice::KeepRunning,
            "eager finishes 2 % more objectives so far (95 % CS −9 to 13), at 1.01× tokens (0.95 to 1.06); it would take \
             42,000 more runs to settle how much it finishes.",
        ),
        (
            situation(none(), none()),
            Advice::KeepRunning,
            "Too early to say: eager has 7 runs with an outcome, and 20 are needed.",
        ),
        (
            situation(more(), PrimaryOutcome::NotMeasured),
            Advice::Ship,
            "eager finishes 6 % more objectives (95 % CS 1 to 11), tokens not known; ship it.",
        ),
        (
            situation(alike(), price(0.0, 0.0, 0.0, false)),
            Advice::KeepControl,
            "eager finishes as many objectives as control (95 % CS −3 to 3 %), at the same tokens; keep control: there is no \
             difference that matters.",
        ),
        (
            situation(more(), unjudged()),
            Advice::Ship,
            "eager finishes 6 % more objectives (95 % CS 1 to 11), tokens cannot be judged; ship it if its tokens suit you, else \
             keep control.",
        ),
        (
            situation(fewer(), unjudged()),
            Advice::KeepControl,
            "eager finishes 12 % fewer objectives (95 % CS −20 to −4), tokens cannot be judged; keep control.",
        ),
        (
            situation(alike(), unjudged()),
            Advice::KeepControl,
            "eager finishes as many objectives as control (95 % CS −3 to 3 %), tokens cannot be judged; keep control: there is no \
             difference that matters in what it finishes.",
        ),
        (
            situation(open(), unjudged()),
            Advice::KeepRunning,
            "eager finishes 2 % more objectives so far (95 % CS −9 to 13), tokens cannot be judged; keep running, 40 more runs \
             would settle it.",
        ),
        (
            situation(unjudged(), cheap()),
            Advice::KeepControl,
            "Nothing can be said of what eager finishes; keep control.",
        ),
        (
            situation(of_nothing(), level()),
            Advice::Ship,
            "eager finishes 2.4 more objectives a run than control, which finishes none (95 % CS 1.9 to 2.9), at 1.01× \
             tokens (0.95 to 1.06); ship it.",
        ),
        (
            RecommendationInput { runs: 0, ..situation(none(), none()) },
            Advice::KeepRunning,
            "There are no runs yet, so there is nothing to say.",
        ),
        (
            RecommendationInput {
                broken: Some("control got 300, eager got 150: wrong.".to_owned()),
                ..situation(more(), level())
            },
            Advice::StopBroken,
            "Do not read the numbers: control got 300, eager got 150: wrong.",
        ),
        (
            RecommendationInput {
                alarms: vec!["Faults: worse by 9 points.".to_owned()],
                ..situation(more(), level())
            },
            Advice::KeepControl,
            "eager does harm; keep control.",
        ),
        (
            RecommendationInput {
                attrition: Some("Outcomes are missing.".to_owned()),
                ..situation(more(), level())
            },
            Advice::KeepRunning,
            "Do not decide yet: outcomes are missing.",
        ),
        (
            RecommendationInput { any_time: false, interval: "CI", ..situation(open(), level()) },
            Advice::KeepRunning,
            "eager finishes 2 % more objectives so far (95 % CI −9 to 13), at 1.01× tokens (0.95 to 1.06); not settled: 40 more \
             runs, fixed beforehand, would settle it.",
        ),
        (
            RecommendationInput { any_time: false, interval: "CI", ..situation(more(), level()) },
            Advice::Try,
            "eager finishes 6 % more objectives (95 % CI 1 to 11), at 1.01× tokens (0.95 to 1.06); try it on real work.",
        ),
    ];
    for (situation, decision, words) in table {
        let said = recommend(&situation);
        assert_eq!((said.decision, said.words[0].as_str()), (decision, words));
        assert!(said.words.len() > 1, "{words}: and then?");
        assert!(said.words.iter().all(|sentence| sentence.ends_with('.')), "{:?}", said.words);
        assert_eq!(said.more_units.is_some(), words.contains("more runs"), "{words}");
    }
}

fn run(arm: &str, index: u64, roll: impl Fn(u64) -> u64, done: u64) -> RunMetrics {
    let completed = (0..4).filter(|objective| roll(*objective) % 100 < done).count() as u32;
    RunMetrics {
        run: RunId::new(format!("{arm}-{index}")),
        workflow: "w".to_owned(),
        task: Digest::of(index.to_string()),
        assignments: Vec::new(),
        started_at: UnixMs(index),
        standing: if completed == 4 { RunResult::Done } else { RunResult::Unfinished },
        objectives: 4,
        checkable: 4,
        completed,
        claimed: 0,
        tokens: 1_000 + roll(9) % 1_000,
        cost_microusd: None,
        active_ms: 1_000 + roll(10) % 1_000,
        quota_wait_ms: 0,
        turns: 1,
        wasted_turns: 0,
        sessions: 1,
        handoffs: 0,
        compactions: 0,
        splits: 0,
        rework_files: 0,
        exhaustions: 0,
        missed: 0,
        false_alarms: 0,
        lead_turns: Vec::new(),
        retries: 0,
        decisions: 1,
        faults: 0,
        timeouts: 0,
        policies: Vec::new(),
        swapped: false,
    }
}

/// SplitMix64.
fn split_mix(of: u64) -> u64 {
    let mut z = of.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn sample(arm: &str, seed: u64, runs: u64, done: u64) -> ArmSample {
    let of = |index: u64| run(arm, index, |what| split_mix(split_mix(seed ^ (index << 24)) ^ what), done);
    ArmSample {
        arm: arm.to_owned(),
        policy: arm.to_owned(),
        component: None,
        weight: 1.0,
        measures: (0..runs).map(of).collect(),
        invalid: Vec::new(),
    }
}

#[test]
fn nobody_ships_where_nothing_differs_however_often_they_look() {
    // M5. 60 experiments that end the first time they would be stopped; of 60 at 5 % more than 9 are wrong once in 1000.
    let options = CompareOptions { path_points: 1, ..CompareOptions::default() };
    let mut wrong = 0;
    for seed in 0..60 {
        let is_wrong = [40, 80, 140].into_iter().any(|runs| {
            let arms = [sample("control", 2 * seed, runs, 70), sample("eager", 2 * seed + 1, runs, 70)];
            let found = compare(&arms, &options);
            let claims = |id: &str| {
                let metric = found.metrics.iter().find(|metric| metric.id == id).unwrap();
                metric.effects[0].p_adjusted.is_some_and(|p| p <= 0.05)
            };
            claims("objectives") || claims("tokens")
        });
        wrong += u32::from(is_wrong);
    }
    assert!(wrong <= 9, "{wrong} of 60");
}

#[test]
fn a_better_arm_is_found_and_a_worse_one_is_not_shipped() {
    let options = CompareOptions::default();
    let better = compare(&[sample("control", 1, 200, 60), sample("eager", 2, 200, 85)], &options);
    assert_eq!(better.verdict.decision, Advice::Ship, "{:?}", better.verdict);
    let worse = compare(&[sample("control", 1, 200, 85), sample("eager", 2, 200, 60)], &options);
    assert_eq!(worse.verdict.decision, Advice::KeepControl, "{:?}", worse.verdict);
    let path = &better.metrics[0].effects[0].path;
    let shown = better.metrics[0].effects[0].relative.unwrap();
    let last = path.last().unwrap();
    assert_eq!((last.n, last.value, last.lower), (400, shown.value, shown.lower));
    assert!(path.len() > 20 && path.len() <= options.path_points, "{}", path.len());
}

#[test]
fn arms_that_finish_everything_are_compared_all_the_same() {
    let found =
        compare(&[sample("control", 1, 300, 100), sample("eager", 2, 300, 100)], &CompareOptions::default());
    let effect = &found.metrics[0].effects[0];
    assert!(effect.method.contains("betting"), "{effect:?}");
    assert_eq!(effect.relative.unwrap().value, 0.0);
    assert!(effect.not_yet.is_none() && found.verdict.decision != Advice::Ship);
}

#[test]
fn runs_of_one_task_count_once() {
    let mut repeated = [sample("control", 1, 120, 60), sample("eager", 2, 120, 85)];
    for arm in &mut repeated {
        for (index, run) in arm.measures.iter_mut().enumerate() {
            run.task = Digest::of(format!("{} {}", arm.arm, index / 4));
        }
    }
    let options = CompareOptions { design: ComparisonDesign::ClusteredByTask, ..CompareOptions::default() };
    let found = compare(&repeated, &options);
    assert_eq!(found.metrics[0].arms[0].n, 30);
    for arm in &mut repeated {
        arm.measures.truncate(40);
    }
    let found = compare(&repeated, &options);
    assert!(found.verdict.words[0].contains("10 tasks"), "{:?}", found.verdict);
}

#[test]
fn nothing_is_dropped_in_silence() {
    let mut arms = [sample("control", 1, 30, 60), sample("eager", 2, 30, 60)];
    arms[1].measures[29].standing = RunResult::Running;
    arms[1].invalid.push(InvalidUnit { unit: "eager-99".to_owned(), reason: "no journal".to_owned() });
    let found = compare(&arms, &CompareOptions::default());
    let eager = &found.arms[1];
    assert_eq!((eager.assigned, eager.known, eager.not_yet_known, eager.invalid.len()), (31, 29, 1, 1));
    assert!(found.attrition.words.contains("2 units"), "{:?}", found.attrition);
    let as_they_stand =
        CompareOptions { unfinished: UnfinishedHandling::AsTheyStand, ..CompareOptions::default() };
    assert_eq!(compare(&arms, &as_they_stand).arms[1].known, 30);
    // Most of one arm: no verdict.
    for run in &mut arms[1].measures {
        run.standing = RunResult::Running;
    }
    assert_eq!(compare(&arms, &CompareOptions::default()).attrition.checked, CheckResult::Alarm);
}

#[test]
fn runs_that_wait_for_a_person_come_before_the_numbers() {
    // M5: every run that pauses has failed so far; without it both arms look perfect.
    let mut arms = [sample("control", 1, 30, 60), sample("eager", 2, 30, 60)];
    for (arm, waiting) in arms.iter_mut().zip([3, 5]) {
        for run in &mut arm.measures[..waiting] {
            run.standing = RunResult::Waiting;
        }
    }
    let found = compare(&arms, &CompareOptions::default());
    assert_eq!((found.arms[0].waiting.len(), found.arms[1].waiting.len()), (3, 5));
    assert_eq!(found.arms[1].waiting[0], arms[1].measures[0].run.to_string());
    let first = &found.verdict.words[0];
    assert!(
        first.starts_with(
            "Do not decide yet: 8 of 60 runs wait for a person's answer (3 of control, 5 of eager"
        ),
        "{first}"
    );
    assert_eq!(found.verdict.decision, Advice::KeepRunning);
    assert!(found.attrition.words.contains("8 of them wait for a person's answer."), "{:?}", found.attrition);
    // As they stand they have an outcome, and one of very many changes nothing.
    let as_they_stand =
        CompareOptions { unfinished: UnfinishedHandling::AsTheyStand, ..CompareOptions::default() };
    let found = compare(&arms, &as_they_stand);
    assert!(found.arms.iter().all(|arm| arm.waiting.is_empty()), "{:?}", found.arms);
    let mut many = [sample("control", 1, 30, 60), sample("eager", 2, 30, 60)];
    many[1].measures[0].standing = RunResult::Waiting;
    let found = compare(&many, &CompareOptions::default());
    assert!(!found.verdict.words[0].contains("wait"), "{:?}", found.verdict);
}

#[test]
fn odd_samples_are_said_in_words() {
    let options = CompareOptions::default();
    assert_eq!(compare(&[], &options).verdict.decision, Advice::StopBroken);
    let one = compare(&[sample("control", 1, 30, 60)], &options);
    assert!(one.verdict.words[0].contains("only arm"), "{:?}", one.verdict);
    let none = compare(&[sample("control", 1, 0, 60), sample("eager", 1, 0, 60)], &options);
    assert!(none.verdict.words[0].contains("no runs yet"), "{:?}", none.verdict);
    let broken = compare(&[sample("control", 1, 300, 60), sample("eager", 1, 150, 60)], &options);
    assert_eq!(broken.verdict.decision, Advice::StopBroken);
    let hurt = compare(&[sample("control", 1, 200, 100), sample("eager", 1, 200, 40)], &options);
    assert!(hurt.verdict.words[0].contains("does harm"), "{:?}", hurt.verdict);
    let mut zero = [sample("control", 1, 40, 0), sample("eager", 1, 40, 0)];
    zero[0].weight = f64::NAN;
    for run in zero.iter_mut().flat_map(|arm| &mut arm.measures) {
        run.tokens = 0;
    }
    let zero = compare(&zero, &options);
    assert_eq!(zero.verdict.decision, Advice::KeepControl, "{:?}", zero.verdict);
    assert!(zero.verdict.words[2].contains("neither arm has finished any"), "{:?}", zero.verdict);
    let mut silent = [sample("control", 1, 200, 60), sample("eager", 2, 200, 85)];
    for run in silent.iter_mut().flat_map(|arm| &mut arm.measures) {
        run.tokens = 0;
    }
    let silent = compare(&silent, &options);
    assert!(silent.verdict.words[0].ends_with("tokens not known; ship it."), "{:?}", silent.verdict);
    // A null where a number should be would be one that is none.
    assert!(!serde_json::to_string(&zero).unwrap().contains("null"));
}

#[test]
fn pairing_is_measured() {
    let options = CompareOptions {
        design: ComparisonDesign::PairedBySeed,
        looks: AnalysisSchedule::Once,
        randomised: false,
        ..CompareOptions::default()
    };
    let (control, mut eager) = (sample("control", 1, 200, 60), sample("eager", 1, 200, 70));
    for run in control.measures.iter().chain(&eager.measures) {
        assert!(run.lead_turns.is_empty());
    }
    let mut control = control;
    control.measures.iter_mut().step_by(2).for_each(|run| run.lead_turns = vec![1 + run.turns]);
    eager.measures.iter_mut().take(80).enumerate().for_each(|(n, run)| run.lead_turns = vec![n as u32 % 3]);
    let found = compare(&[control, eager], &options);
    assert_eq!(found.allocation.checked, CheckResult::NotChecked);
    let pairing = &found.pairings[0];
    assert!(
        pairing.pairs == 200 && pairing.correlation.unwrap() > 0.5 && pairing.saving > 0.3,
        "{pairing:?}"
    );
    assert!(found.metrics[0].effects[0].path.is_empty(), "one look has no path");
    assert_eq!(found.verdict.decision, Advice::Try, "{:?}", found.verdict);
    let lead = found.metrics.iter().find(|metric| metric.id == "lead").unwrap();
    assert_eq!((lead.arms[0].n, lead.arms[1].n, lead.effects[0].n), (100, 80, 40));
    let told: Vec<&String> = found.notes.iter().filter(|note| note.contains("in 40 pairs")).collect();
    assert!(told.len() == 1 && told[0].starts_with(&lead.name), "{:?}", found.notes);
}

#[test]
fn a_verdict_names_no_secondary_outcome_that_differs_by_next_to_nothing() {
    let options = CompareOptions {
        design: ComparisonDesign::PairedBySeed,
        looks: AnalysisSchedule::Once,
        randomised: false,
        ..CompareOptions::default()
    };
    let found = |longer: u64| {
        let (control, mut eager) = (sample("control", 1, 200, 60), sample("eager", 1, 200, 60));
        // A little more for each, so that it is certain however little it is.
        eager.measures.iter_mut().for_each(|run| run.active_ms += longer + run.started_at.0 % 2);
        compare(&[control, eager], &options)
    };
    for (longer, is_named) in [(1, false), (500, true)] {
        let found = found(longer);
        let time = found.metrics.iter().find(|metric| metric.id == "active-time").unwrap();
        assert!(time.effects[0].p_adjusted.unwrap() < 0.001, "{time:?}");
        let words = found.verdict.words.join(" ");
        assert_eq!(words.contains(&time.name.to_lowercase()), is_named, "{words}");
    }
}
