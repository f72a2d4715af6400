//! The order of a comparison: counts, outcomes, levels adjusted for how many there are, guardrails, and the verdict last.

use std::cmp::Reverse;

use super::effects::{Two, Value, moments};
use super::metrics::{self, Spec};
use super::options::{ArmSample, Design, Looks, Options};
use super::{
    ArmValue, Better, Checked, Comparison, Effect, Guardrail, Metric, MetricScale, Pairing, Role, arms,
    verdict,
};
use crate::measure::{Measures, Standing};
use crate::stats::{NotYet, Side, StatsError, holm};

/// Compares each arm with the first, which is control. The same samples and options always give the same value.
pub fn compare(samples: &[ArmSample], options: &Options) -> Comparison {
    let counted = arms::arms(samples, options);
    let order = arrivals(samples);
    let mut pairings = Vec::new();
    let mut found: Vec<Metric> = Vec::new();
    for spec in &metrics::ALL {
        let values: Vec<Vec<Value>> =
            samples.iter().zip(&order).map(|(sample, order)| values(spec, sample, order, options)).collect();
        let is_known = values.iter().flatten().any(|value| value.tested.is_some());
        if spec.role == Role::Secondary && !is_known {
            continue;
        }
        found.push(metric(spec, samples, &values, options, &mut pairings));
    }
    adjust(&mut found, Role::Primary);
    adjust(&mut found, Role::Secondary);
    adjust(&mut found, Role::Guardrail);
    let mut comparison = Comparison {
        title: options.title.clone(),
        verdict: verdict::none(),
        candidates: Vec::new(),
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
    comparison.notes = notes(&comparison, options);
    let mut verdicts = verdict::of(&comparison, options);
    // Of several, what stops everything comes first, then what can be shipped.
    let headline =
        verdicts.iter().min_by_key(|verdict| (verdict.decision, Reverse(verdict.more_units))).cloned();
    comparison.verdict = headline.unwrap_or_else(|| verdict::nothing(&comparison));
    if verdicts.len() > 1 {
        comparison.candidates = std::mem::take(&mut verdicts);
    }
    comparison
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
fn values(spec: &Spec, sample: &ArmSample, order: &[u64], options: &Options) -> Vec<Value> {
    let is_log = spec.scale == MetricScale::LogRatio;
    let of = |run: &Measures, arrived: u64| {
        let known = arms::is_known(run, options).then(|| (spec.value)(run)).flatten();
        let done = f64::from(run.completed) / f64::from(run.objectives.max(1));
        Value {
            arrived,
            unit: arms::unit_of(run, options),
            tested: known
                .map(|value| if is_log { value.ln() } else { value })
                .filter(|value| value.is_finite()),
            share: known.map(|_| done.min(1.0)),
        }
    };
    let mut values: Vec<Value> = sample.measures.iter().zip(order).map(|(run, at)| of(run, *at)).collect();
    match options.design {
        // Seeds have no time: the i-th of each arm came together.
        Design::PairedBySeed => (0_u64..).zip(&mut values).for_each(|(index, value)| value.arrived = index),
        Design::Independent | Design::ClusteredByTask => values.sort_by_key(|value| value.arrived),
    }
    values
}

fn metric(
    spec: &Spec,
    samples: &[ArmSample],
    values: &[Vec<Value>],
    options: &Options,
    pairings: &mut Vec<Pairing>,
) -> Metric {
    let is_log = spec.scale == MetricScale::LogRatio;
    let arm = |(sample, values): (&ArmSample, &Vec<Value>)| {
        let moments = moments(values).unwrap_or_default();
        let (mean, deviation) = (moments.mean(), moments.variance().sqrt());
        ArmValue {
            arm: sample.arm.clone(),
            n: moments.n(),
            mean: (moments.n() > 0).then_some(if is_log { mean.exp() } else { mean }),
            sd: (moments.n() > 1).then_some(deviation),
        }
    };
    let mut effects = Vec::new();
    for (sample, candidate) in samples.iter().zip(values).skip(1) {
        let two = Two { spec, options, control: &values[0], candidate };
        effects.push(effect(&two, &samples[0].arm, &sample.arm));
        if options.design == Design::PairedBySeed
            && spec.role == Role::Primary
            && let Some(worth) = two.worth()
        {
            pairings.push(Pairing {
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

fn effect(two: &Two<'_>, control: &str, arm: &str) -> Effect {
    let none = |why: String| Effect {
        arm: arm.to_owned(),
        n: 0,
        method: String::new(),
        absolute: None,
        relative: None,
        p: None,
        p_adjusted: None,
        not_yet: Some(why),
        path: Vec::new(),
    };
    let numbers = match two.numbers() {
        Ok(numbers) => numbers,
        Err(error) => return none(why(&error, two, control, arm)),
    };
    // Ratios of numbers beyond what can be counted are no effect that anybody could read.
    let is_finite = numbers.shown().is_some_and(|shown| {
        [shown.value, shown.lower, shown.upper].iter().all(|end| end.is_finite()) && numbers.p.is_finite()
    });
    if !is_finite {
        return none("the values lie too far apart to be compared".to_owned());
    }
    let has_path = two.spec.role == Role::Primary && two.options.looks == Looks::AnyTime;
    Effect {
        arm: arm.to_owned(),
        n: numbers.n,
        method: numbers.method.to_owned(),
        absolute: numbers.absolute,
        relative: numbers.relative,
        p: Some(numbers.p),
        p_adjusted: None,
        not_yet: None,
        path: if has_path { two.path(two.options.path_points) } else { Vec::new() },
    }
}

/// What is missing, with the names of the arms.
fn why(error: &StatsError, two: &Two<'_>, control: &str, candidate: &str) -> String {
    let unit = two.options.design.unit();
    let arm = |side| match (side, two.options.design) {
        (_, Design::PairedBySeed) => "the comparison".to_owned(),
        (Side::Control, _) => control.to_owned(),
        (Side::Candidate, _) => candidate.to_owned(),
    };
    let known = |values: &[Value]| moments(values).unwrap_or_default().n();
    match error.not_yet() {
        Some(NotYet::TooFew { n, needed, .. }) => {
            let are = if needed == 1 { "is" } else { "are" };
            let runs = |n: u64| format!("{n} {unit}{}", if n == 1 { "" } else { "s" });
            match two.options.design {
                Design::PairedBySeed => {
                    format!("{} with an outcome in both arms, and {needed} {are} needed", runs(n))
                }
                Design::Independent | Design::ClusteredByTask => format!(
                    "{control} has {} with an outcome and {candidate} has {}; each needs {needed}",
                    runs(known(two.control)),
                    known(two.candidate)
                ),
            }
        }
        Some(NotYet::NoVariance { side, n }) => {
            format!("all {n} {unit}s of {} have the same value", arm(side))
        }
        _ => error.to_string(),
    }
}

/// Holm over all outcomes of a role and all candidates: who looks at twenty finds one by chance.
fn adjust(metrics: &mut [Metric], role: Role) {
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

fn guardrails(metrics: &[Metric], options: &Options) -> Vec<Guardrail> {
    let mut guardrails = Vec::new();
    for metric in metrics.iter().filter(|metric| metric.role == Role::Guardrail) {
        for effect in &metric.effects {
            let worse = effect.absolute.map(|points| match metric.better {
                Better::Up => points.map(|end| -end),
                Better::Down | Better::Neither => points,
            });
            // Turned round, the ends have changed places.
            let least = worse.map(|worse| worse.lower.min(worse.upper));
            // Three guardrails are three chances of a false alarm: the level is that of all of them.
            let holds = effect.p_adjusted.is_some_and(|p| p <= options.alpha);
            let checked = match least {
                None => Checked::TooEarly,
                Some(least) if holds && least > options.guardrail_margin => Checked::Alarm,
                Some(_) => Checked::Ok,
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

fn notes(comparison: &Comparison, options: &Options) -> Vec<String> {
    let mut notes = Vec::new();
    if options.looks == Looks::Once {
        notes.push(
            "The number of units was fixed beforehand, so the intervals hold for this one look; look again only at new units."
                .to_owned(),
        );
    }
    for arm in &comparison.arms {
        let name = &arm.name;
        if arm.swapped > 0 {
            let n = arm.swapped;
            notes.push(format!(
                "In {n} of the runs of {name} somebody changed the policy on the way; they count for {name} all the same."
            ));
        }
        if let Some(n) = arm.standings.get(&Standing::Stopped).filter(|_| options.looks == Looks::AnyTime) {
            notes.push(format!(
                "Of the runs of {name} somebody stopped {n}; they count with what was finished until then, and anew if they are \
                 resumed."
            ));
        }
        if let Some(exposed) = arm.exposed.filter(|exposed| *exposed < arm.assigned && arm.assigned > 0) {
            let missing = arm.assigned - exposed;
            notes.push(format!(
                "In {missing} of {} runs of {name} its component decided nothing; they count all the same, and make a difference \
                 look smaller than it is.",
                arm.assigned
            ));
        }
    }
    let sizes: Vec<usize> = comparison.arms.iter().map(|arm| arm.assigned as usize).collect();
    if options.design == Design::PairedBySeed && sizes.windows(2).any(|two| two[0] != two[1]) {
        notes.push(
            "The arms have different numbers of runs; those without a partner are in no pair.".to_owned(),
        );
    }
    if options.design == Design::PairedBySeed {
        notes.extend(comparison.metrics.iter().flat_map(partly_paired));
    }
    notes
}

/// Outcomes that not every run has: their means are of more runs than their effect is.
fn partly_paired(metric: &Metric) -> impl Iterator<Item = String> {
    let most = metric.arms.iter().map(|arm| arm.n).max().unwrap_or_default();
    metric.effects.iter().filter(move |effect| effect.n > 0 && effect.n < most).map(|effect| {
        format!(
            "{}: the effect of {} is that in {} pairs where both have it; the means are of all runs that have it.",
            metric.name, effect.arm, effect.n
        )
    })
}
