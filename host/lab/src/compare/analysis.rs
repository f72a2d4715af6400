//! The order of a comparison: counts, outcomes, levels adjusted for how many there are, guardrails, and the verdict last.

use std::cmp::Reverse;

use baton_core::RunId;

use super::effects::{ArmComparison, UnitValue, moments};
use super::metrics::{self, MetricSpec};
use super::options::{AnalysisSchedule, ArmSample, CompareOptions, ComparisonDesign};
use super::{
    ArmValue, BetterDirection, CheckResult, Comparison, Effect, Guardrail, Metric, MetricRole, MetricScale,
    PairingGain, arms, notes, verdict,
};
use crate::run_metrics::{CompletionBasis, RunMetrics};
use crate::stats::{InsufficientData, StatsError, holm};

/// Compares each arm with the first, which is control. The same samples and options always give the same value.
pub fn compare(samples: &[ArmSample], options: &CompareOptions) -> Comparison {
    let counted = arms::arms(samples, options);
    let order = arrivals(samples);
    let mut pairings = Vec::new();
    let mut found: Vec<Metric> = Vec::new();
    let completion = CompletionBasis::of(samples.iter().flat_map(|sample| &sample.measures));
    for spec in metrics::all(completion) {
        let spec = &spec;
        let values: Vec<Vec<UnitValue>> =
            samples.iter().zip(&order).map(|(sample, order)| values(spec, sample, order, options)).collect();
        let is_known = values.iter().flatten().any(|value| value.tested.is_some());
        if spec.role == MetricRole::Secondary && !is_known {
            continue;
        }
        found.push(metric(spec, samples, &values, options, &mut pairings));
    }
    adjust(&mut found, MetricRole::Primary);
    adjust(&mut found, MetricRole::Secondary);
    adjust(&mut found, MetricRole::Guardrail);
    let mut comparison = Comparison {
        title: options.title.clone(),
        verdict: verdict::none(),
        candidates: Vec::new(),
        completion,
        design: options.design,
        looks: options.looks,
        alpha: options.alpha,
        allocation: arms::allocation(samples, &counted, options),
        attrition: arms::attrition(samples, options),
        arms: counted,
        guardrails: guardrails(&found, options),
        metrics: found,
        pairings,
        notes: Vec::new(),
    };
    comparison.notes = notes::of(&comparison, options);
    let mut verdicts = verdict::of(&comparison, &identical(samples, options), options);
    // With several candidates, a verdict that stops the experiment comes first, then one that can be shipped.
    let headline =
        verdicts.iter().min_by_key(|verdict| (verdict.decision, Reverse(verdict.more_units))).cloned();
    comparison.verdict = headline.unwrap_or_else(|| verdict::without_candidate(&comparison));
    if verdicts.len() > 1 {
        comparison.candidates = std::mem::take(&mut verdicts);
    }
    comparison
}

/// For each candidate, whether every run came to the very same as its partner of control; who decided is not compared.
fn identical(samples: &[ArmSample], options: &CompareOptions) -> Vec<bool> {
    let Some((control, candidates)) = samples.split_first() else { return Vec::new() };
    let came_to = |run: &RunMetrics| RunMetrics {
        run: RunId::new(""),
        assignments: Vec::new(),
        policies: Vec::new(),
        ..run.clone()
    };
    let is_paired = options.design == ComparisonDesign::PairedBySeed;
    let is_identical = |candidate: &ArmSample| {
        let pairs = || control.measures.iter().zip(&candidate.measures);
        let sizes = (control.measures.len(), candidate.measures.len());
        is_paired && sizes.0 > 0 && sizes.0 == sizes.1 && pairs().all(|(a, b)| came_to(a) == came_to(b))
    };
    candidates.iter().map(is_identical).collect()
}

/// The place of each run in the order of arrival over all arms.
fn arrivals(samples: &[ArmSample]) -> Vec<Vec<u64>> {
    let mut all: Vec<(u64, usize, usize)> = Vec::new();
    for (arm, sample) in samples.iter().enumerate() {
        all.extend(sample.measures.iter().enumerate().map(|(index, run)| (run.started_at.0, index, arm)));
    }
    all.sort_unstable();
    let mut places: Vec<Vec<u64>> = samples.iter().map(|sample| vec![0; sample.measures.len()]).collect();
    for (place, (_, index, arm)) in all.into_iter().enumerate() {
        places[arm][index] = place as u64;
    }
    places
}

/// The values of an arm, in the order of arrival; pairs stay in the order of their seeds.
fn values(spec: &MetricSpec, sample: &ArmSample, order: &[u64], options: &CompareOptions) -> Vec<UnitValue> {
    let is_log = spec.scale == MetricScale::LogRatio;
    let of = |run: &RunMetrics, arrived: u64| {
        let known = arms::is_known(run, options).then(|| (spec.value)(run)).flatten();
        let objectives = f64::from(run.objectives.max(1));
        UnitValue {
            arrived,
            unit: arms::unit_of(run, options),
            tested: known
                .map(|value| if is_log { value.ln() } else { value })
                .filter(|value| value.is_finite()),
            share: known.map(|value| (value / objectives).clamp(0.0, 1.0)),
        }
    };
    let mut values: Vec<UnitValue> =
        sample.measures.iter().zip(order).map(|(run, at)| of(run, *at)).collect();
    match options.design {
        // Seeds have no time: the i-th of each arm came together.
        ComparisonDesign::PairedBySeed => {
            (0_u64..).zip(&mut values).for_each(|(index, value)| value.arrived = index)
        }
        ComparisonDesign::Independent | ComparisonDesign::ClusteredByTask => {
            values.sort_by_key(|value| value.arrived)
        }
    }
    values
}

fn metric(
    spec: &MetricSpec,
    samples: &[ArmSample],
    values: &[Vec<UnitValue>],
    options: &CompareOptions,
    pairings: &mut Vec<PairingGain>,
) -> Metric {
    let is_log = spec.scale == MetricScale::LogRatio;
    let arm = |(sample, values): (&ArmSample, &Vec<UnitValue>)| {
        let moments = moments(values).unwrap_or_default();
        let (mean, deviation) = (moments.mean(), moments.variance().sqrt());
        ArmValue {
            arm: sample.arm.clone(),
            n: moments.n(),
            mean: (moments.n() > 0).then_some(if is_log { mean.exp() } else { mean }),
            sd: (moments.n() > 1 && !is_log).then_some(deviation),
            sd_log: (moments.n() > 1 && is_log).then_some(deviation),
        }
    };
    let mut effects = Vec::new();
    for (sample, candidate) in samples.iter().zip(values).skip(1) {
        let two = ArmComparison { spec, options, control: &values[0], candidate };
        effects.push(effect(&two, &samples[0].arm, &sample.arm));
        if options.design == ComparisonDesign::PairedBySeed
            && spec.role == MetricRole::Primary
            && let Some(worth) = two.worth()
        {
            pairings.push(PairingGain {
                arm: sample.arm.clone(),
                metric: spec.id.to_owned(),
                pairs: worth.pairs,
                correlation: worth.correlation,
                saving: worth.saving,
            });
        }
    }
    Metric {
        id: spec.id.to_owned(),
        name: spec.name.to_owned(),
        unit: spec.unit.to_owned(),
        better: spec.better,
        role: spec.role,
        scale: spec.scale,
        arms: samples.iter().zip(values).map(arm).collect(),
        effects,
    }
}

fn effect(two: &ArmComparison<'_>, control: &str, arm: &str) -> Effect {
    let unanswered = Effect {
        arm: arm.to_owned(),
        n: 0,
        method: String::new(),
        absolute: None,
        relative: None,
        p: None,
        p_adjusted: None,
        not_yet: None,
        cannot_judge: None,
        path: Vec::new(),
    };
    let numbers = match two.numbers() {
        Ok(numbers) => numbers,
        Err(StatsError::NotYet(InsufficientData::NoVariance { .. })) => {
            return Effect { cannot_judge: Some(same_in_all(two, control, arm)), ..unanswered };
        }
        Err(error) => return Effect { not_yet: Some(why(&error, two, control, arm)), ..unanswered },
    };
    // A ratio of numbers too large for `f64` is not finite, and cannot be reported as an effect.
    let is_finite = numbers.shown().is_some_and(|shown| {
        [shown.value, shown.lower, shown.upper].iter().all(|end| end.is_finite()) && numbers.p.is_finite()
    });
    if !is_finite {
        let why = "the values lie too far apart to be compared".to_owned();
        return Effect { cannot_judge: Some(why), ..unanswered };
    }
    let has_path = two.spec.role == MetricRole::Primary && two.options.looks == AnalysisSchedule::AnyTime;
    Effect {
        n: numbers.n,
        method: numbers.method.to_owned(),
        absolute: numbers.absolute,
        relative: numbers.relative,
        p: Some(numbers.p),
        path: if has_path { two.path(two.options.path_points) } else { Vec::new() },
        ..unanswered
    }
}

/// Which arm does not vary. A sample that never varies does not show how far chance alone could move its mean, so no number of
/// units like these tells more.
fn same_in_all(two: &ArmComparison<'_>, control: &str, candidate: &str) -> String {
    let unit = two.options.design.unit();
    let constant = |values: &[UnitValue], name: &str| {
        let moments = moments(values).unwrap_or_default();
        (moments.variance() == 0.0).then(|| (name.to_owned(), moments.n()))
    };
    let arms = [constant(two.control, control), constant(two.candidate, candidate)];
    match (arms, two.options.design) {
        ([Some(_), Some(_)], _) => {
            format!("{control} and {candidate} each did the same in all their {unit}s")
        }
        (
            [Some((one, n)), None] | [None, Some((one, n))],
            ComparisonDesign::Independent | ComparisonDesign::ClusteredByTask,
        ) => {
            format!("{one} did the same in all {n} {unit}s")
        }
        _ => format!("{candidate} differs from {control} by the same in every {unit}"),
    }
}

/// What is missing, with the names of the arms.
fn why(error: &StatsError, two: &ArmComparison<'_>, control: &str, candidate: &str) -> String {
    let unit = two.options.design.unit();
    let known = |values: &[UnitValue]| moments(values).unwrap_or_default().n();
    match error.not_yet() {
        Some(InsufficientData::TooFew { n, needed, .. }) => {
            let are = if needed == 1 { "is" } else { "are" };
            let runs = |n: u64| format!("{n} {unit}{}", if n == 1 { "" } else { "s" });
            match two.options.design {
                ComparisonDesign::PairedBySeed => {
                    format!("{} with an outcome in both arms, and {needed} {are} needed", runs(n))
                }
                ComparisonDesign::Independent | ComparisonDesign::ClusteredByTask => format!(
                    "{control} has {} with an outcome and {candidate} has {}; each needs {needed}",
                    runs(known(two.control)),
                    known(two.candidate)
                ),
            }
        }
        _ => error.to_string(),
    }
}

/// Holm over all outcomes of a role and all candidates: who looks at twenty finds one by chance.
fn adjust(metrics: &mut [Metric], role: MetricRole) {
    let mut effects: Vec<&mut Effect> = metrics
        .iter_mut()
        .filter(|metric| metric.role == role)
        .flat_map(|metric| metric.effects.iter_mut())
        .collect();
    // An outcome without an answer yet has its place all the same, or the others would be judged too mildly.
    let levels: Vec<f64> = effects.iter().map(|effect| effect.p.unwrap_or(1.0).clamp(0.0, 1.0)).collect();
    let Ok(adjusted) = holm::adjust(&levels) else { return };
    for (effect, level) in effects.iter_mut().zip(adjusted) {
        effect.p_adjusted = effect.p.map(|_| level);
    }
}

fn guardrails(metrics: &[Metric], options: &CompareOptions) -> Vec<Guardrail> {
    let mut guardrails = Vec::new();
    for metric in metrics.iter().filter(|metric| metric.role == MetricRole::Guardrail) {
        for effect in &metric.effects {
            let worse = effect.absolute.map(|points| match metric.better {
                BetterDirection::Up => points.map(|end| -end),
                BetterDirection::Down | BetterDirection::Neither => points,
            });
            // Turned round, the ends have changed places.
            let least = worse.map(|worse| worse.lower.min(worse.upper));
            // Three guardrails are three chances of a false alarm: the level is that of all of them.
            let holds = effect.p_adjusted.is_some_and(|p| p <= options.alpha);
            let checked = match least {
                None => CheckResult::TooEarly,
                Some(least) if holds && least > options.guardrail_margin => CheckResult::Alarm,
                Some(_) => CheckResult::Ok,
            };
            guardrails.push(Guardrail {
                metric: metric.id.clone(),
                arm: effect.arm.clone(),
                checked,
                words: verdict::guardrail(metric, effect, checked, options),
            });
        }
    }
    guardrails
}
