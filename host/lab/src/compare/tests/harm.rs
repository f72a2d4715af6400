//! Harm that is settled is found, has its level, and is said before what got better.

use super::*;

fn alarms(mut of: ArmSample, every: usize) -> ArmSample {
    for run in of.measures.iter_mut().step_by(every) {
        run.false_alarms = 1;
    }
    of
}

fn false_alarms(of: &Comparison) -> &Effect {
    &of.metrics.iter().find(|metric| metric.id == "false-alarms").expect("it is measured").effects[0]
}

/// Two-sided level of Student's t by adding up its density: nothing here is of `stats`.
fn level_of_t(t: f64, df: f64) -> f64 {
    let density = |x: f64| (1.0 + x * x / df).powf(-(df + 1.0) / 2.0);
    let sum = |from: f64, to: f64| {
        let step = (to - from) / 200_000.0;
        (0..200_000).map(|index| step * density(from + (f64::from(index) + 0.5) * step)).sum::<f64>()
    };
    sum(t.abs(), 60.0) / sum(0.0, 60.0)
}

// M5
#[test]
fn a_tenfold_harm_is_significant_and_shown_as_the_difference_that_it_is() {
    let pairs = CompareOptions {
        design: ComparisonDesign::PairedBySeed,
        randomised: false,
        ..CompareOptions::default()
    };
    for options in [
        CompareOptions { looks: AnalysisSchedule::Once, ..pairs.clone() },
        CompareOptions { looks: AnalysisSchedule::Once, ..CompareOptions::default() },
        CompareOptions::default(),
        pairs,
    ] {
        let (control, eager) = (sample("control", 1, 100, 60), sample("eager", 2, 100, 60));
        let found = compare(&[alarms(control, 25), alarms(eager, 2)], &options);
        let effect = false_alarms(&found);
        let absolute = effect.absolute.unwrap();
        assert!((absolute.value - 0.46).abs() < 1e-12 && absolute.excludes_zero(), "{effect:?}");
        assert!(effect.relative.is_none(), "4 of 100 are too few to be a divisor: {effect:?}");
        assert!(effect.p.unwrap() < 1e-6 && effect.p_adjusted.unwrap() < 0.001, "{effect:?}");
        let harm = "Settled against eager: false alarms +0.46 sessions a run.";
        assert!(found.verdict.words[1].starts_with(harm), "{:?}", found.verdict);
    }
}

// M5
#[test]
fn the_level_of_a_mean_is_that_of_its_difference() {
    let options = CompareOptions { looks: AnalysisSchedule::Once, ..CompareOptions::default() };
    let (control, eager) = (sample("control", 1, 100, 60), sample("eager", 2, 100, 60));
    let found = compare(&[alarms(control, 5), alarms(eager, 3)], &options);
    let effect = false_alarms(&found);
    // 20 of 100 and 34 of 100; the variance of n values of which k are 1 is k (n − k) / (n (n − 1)).
    let variance = |k: f64| k * (100.0 - k) / (100.0 * 99.0) / 100.0;
    let (a, b) = (variance(20.0), variance(34.0));
    let df = (a + b).powi(2) / ((a * a + b * b) / 99.0);
    let p = level_of_t(0.14 / (a + b).sqrt(), df);
    assert!((effect.p.unwrap() - p).abs() < 1e-4, "{p}: {effect:?}");
    assert!((0.02..0.04).contains(&p), "{p}");
    let (absolute, relative) = (effect.absolute.unwrap(), effect.relative.unwrap());
    assert!(absolute.excludes_zero() && relative.excludes_zero(), "{effect:?}");
    assert!((relative.value - 0.7).abs() < 1e-12);
}

// M5
#[test]
fn what_got_worse_comes_first_and_a_cut_of_the_others_is_told() {
    let names = |of: &[&str]| of.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let also = SecondaryFindings {
        worse: names(&["false alarms +517 %", "rework +30 %", "cost +12 %", "handoffs +9 %"]),
        others: names(&["wall time −19 %, better"]),
        cut: 2,
    };
    let work = || work(0.06, 0.01, 0.11, true);
    let price = || price(0.01, -0.05, 0.06, false);
    let said =
        recommend(&RecommendationInput { any_time: false, also: also.clone(), ..situation(work(), price()) });
    assert_eq!(said.decision, Advice::Try);
    assert_eq!(
        said.words[1],
        "Settled against eager: false alarms +517 %; rework +30 %; cost +12 %; handoffs +9 %. Weigh that before you try it."
    );
    let others = "Settled as well, for eager: wall time −19 %, better; and 2 more.";
    assert_eq!(said.words.last().map(String::as_str), Some(others));

    // What is settled is said while everything else is open, harm first, and alarms keep their place.
    let open = self::work(0.02, -0.09, 0.13, false);
    let said = recommend(&RecommendationInput { also: also.clone(), ..situation(open, price()) });
    assert_eq!(said.decision, Advice::KeepRunning);
    assert!(said.words[1].starts_with("Settled against eager: ") && !said.words[1].contains("Weigh"));
    assert!(said.words.contains(&others.to_owned()));
    let alarms = vec!["Faults: worse by 9 points.".to_owned()];
    let said = recommend(&RecommendationInput { alarms, also, ..situation(work(), price()) });
    assert!(said.words[1].starts_with("Faults") && said.words[2].starts_with("Settled against"));
}

// M5
#[test]
fn a_control_that_finishes_next_to_nothing_is_no_divisor() {
    let mut control = sample("control", 1, 200, 0);
    control.measures.iter_mut().step_by(50).for_each(|run| run.completed = 1);
    let found = compare(&[control, sample("eager", 2, 200, 70)], &CompareOptions::default());
    assert_eq!(found.verdict.decision, Advice::Ship, "{:?}", found.verdict);
    let said = "more objectives a run than control, which finishes hardly any (95 % CS ";
    assert!(found.verdict.words[0].contains(said), "{:?}", found.verdict);
}
