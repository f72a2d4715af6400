//! From a comparison's numbers to the situation that the words are about. Computes how much more would settle it; the words
//! themselves, and what to do when, are in `words`.

use super::metrics::{OBJECTIVES, TOKENS};
use super::number_format::{self, points};
use super::options::{AnalysisSchedule, CompareOptions, ComparisonDesign};
use super::recommendation::{self, PrimaryOutcome, RecommendationInput, SecondaryFindings};
use super::{
    Advice, BetterDirection, CheckResult, Comparison, ConfidenceInterval, Effect, Metric, MetricRole,
    Recommendation, mean_discrepancy,
};
use crate::stats::power::PowerGoal;
use crate::stats::sequential::ConfidenceSequence;

/// Secondary outcomes that a verdict names, of those that are not worse.
const ALSO_MAX: usize = 3;
/// If more than this share of the runs wait for the user, their outcomes may change the verdict.
const WAITING_SHARE: f64 = 0.05;
/// Two-sided 95 %, for the width of an interval that was made for one look.
const NORMAL_95: f64 = 1.959_964;

/// Before there is one.
pub(super) fn none() -> Recommendation {
    Recommendation { arm: None, decision: Advice::KeepRunning, words: Vec::new(), more_units: None }
}

/// The verdict if there is no candidate.
pub(super) fn without_candidate(comparison: &Comparison) -> Recommendation {
    let words = recommendation::no_candidate(comparison.arms.first().map(|arm| arm.name.as_str()));
    Recommendation { arm: None, decision: Advice::StopBroken, words, more_units: None }
}

/// The verdict on each candidate. `identical` says of each whether it came to the very same as control.
pub(super) fn of(
    comparison: &Comparison,
    identical: &[bool],
    options: &CompareOptions,
) -> Vec<Recommendation> {
    let Some(control) = comparison.arms.first() else { return Vec::new() };
    comparison
        .arms
        .iter()
        .skip(1)
        .enumerate()
        .map(|(index, arm)| {
            let alarms = comparison
                .guardrails
                .iter()
                .filter(|one| one.arm == arm.name && one.checked == CheckResult::Alarm);
            let is_alarm = |checked| checked == CheckResult::Alarm;
            let situation = RecommendationInput {
                control: &control.name,
                candidate: &arm.name,
                unit: comparison.design.unit(),
                interval: comparison.looks.interval(),
                percent: (100.0 * (1.0 - comparison.alpha)).round(),
                any_time: comparison.looks == AnalysisSchedule::AnyTime,
                runs: comparison.arms.iter().map(|arm| arm.assigned).sum(),
                broken: is_alarm(comparison.allocation.checked).then(|| comparison.allocation.words.clone()),
                identical: identical.get(index).copied().unwrap_or_default(),
                alarms: alarms.map(|one| one.words.clone()).collect(),
                attrition: is_alarm(comparison.attrition.checked).then(|| comparison.attrition.words.clone()),
                waiting: waiting(comparison, &control.name, &arm.name),
                objectives: primary_outcome(
                    comparison,
                    OBJECTIVES,
                    index,
                    options.objectives_margin,
                    options,
                ),
                tokens: primary_outcome(comparison, TOKENS, index, options.tokens_margin, options),
                also: also(comparison, index, options.objectives_margin),
                completion: comparison.completion,
            };
            recommendation::recommend(&situation)
        })
        .collect()
}

/// "17 of 60 runs wait for a person's answer (6 of control, 11 of growth)", if they are enough to change the verdict.
fn waiting(comparison: &Comparison, control: &str, candidate: &str) -> Option<String> {
    let two: Vec<_> =
        comparison.arms.iter().filter(|arm| arm.name == control || arm.name == candidate).collect();
    let waiting: usize = two.iter().map(|arm| arm.waiting.len()).sum();
    let counted: u64 = two.iter().map(|arm| arm.known + arm.not_yet_known).sum();
    (waiting as f64 > WAITING_SHARE * counted as f64).then(|| {
        let of_arms: Vec<String> =
            two.iter().map(|arm| format!("{} of {}", arm.waiting.len(), arm.name)).collect();
        let first = two.iter().find_map(|arm| arm.waiting.first());
        let first = first.map(|run| format!("; the first is {run}")).unwrap_or_default();
        format!("{waiting} of {counted} runs wait for a person's answer ({}{first})", of_arms.join(", "))
    })
}

fn primary_outcome(
    comparison: &Comparison,
    id: &str,
    candidate: usize,
    margin: f64,
    options: &CompareOptions,
) -> PrimaryOutcome {
    let metric = comparison.metrics.iter().find(|metric| metric.id == id);
    let effect = metric.and_then(|metric| metric.effects.get(candidate));
    // Agents that report no tokens never will, so the verdict rests on the other outcomes.
    let is_measured =
        |index: usize| metric.and_then(|metric| metric.arms.get(index)).is_some_and(|arm| arm.n > 0);
    let has_outcomes = comparison.arms.iter().all(|arm| arm.known >= options.min_per_arm);
    if id == TOKENS && has_outcomes && !(is_measured(0) && is_measured(candidate + 1)) {
        return PrimaryOutcome::NotMeasured;
    }
    if let Some(why) = effect.and_then(|effect| effect.cannot_judge.as_ref()) {
        let mean = |index: usize| metric.and_then(|metric| metric.arms.get(index)?.mean);
        return PrimaryOutcome::Inconclusive { why: why.clone(), means: mean(0).zip(mean(candidate + 1)) };
    }
    let mean = metric.and_then(|metric| metric.arms.first()?.mean).unwrap_or(0.0);
    let known = |effect: &Effect| {
        // Control has nothing, or too little, that this could be a share of.
        let of_little = (effect.relative.is_none() && id == OBJECTIVES).then_some(mean);
        let shown = if of_little.is_some() { effect.absolute } else { effect.relative };
        shown.map(|shown| (effect.p_adjusted, shown, of_little))
    };
    let Some((p, shown, of_little)) = effect.and_then(known) else {
        let why = effect.and_then(|effect| effect.not_yet.clone());
        return PrimaryOutcome::NotYet { why: why.unwrap_or_else(|| "there is no outcome yet".to_owned()) };
    };
    if of_little.is_some() && !(has_any(metric, 0) || has_any(metric, candidate + 1)) {
        let why = "neither arm has finished any".to_owned();
        return PrimaryOutcome::Inconclusive { why, means: None };
    }
    let is_settled = p.is_some_and(|p| p <= comparison.alpha) && shown.excludes_zero();
    let n = metric.and_then(|metric| units(metric, candidate, options)).unwrap_or(0.0);
    // The margin is a share of control, but the tested quantity is the difference.
    let of_control = if mean > 0.0 { margin * mean } else { margin };
    let margin = if of_little.is_some() { of_control } else { margin };
    let more = match effect.and_then(|effect| effect.absolute) {
        Some(absolute) => more(absolute, n, of_control, options),
        None => more(shown, n, margin, options),
    };
    PrimaryOutcome::Estimated { shown, of_little, is_settled, margin, more }
}

/// Whether the mean of an arm is above 0.
fn has_any(metric: Option<&Metric>, arm: usize) -> bool {
    metric.and_then(|metric| metric.arms.get(arm)?.mean).is_some_and(|mean| mean > 0.0)
}

/// Units that an effect rests on.
fn units(metric: &Metric, candidate: usize, options: &CompareOptions) -> Option<f64> {
    let (control, other) = (metric.arms.first()?.n, metric.arms.get(candidate + 1)?.n);
    let is_paired = options.design == ComparisonDesign::PairedBySeed;
    Some(if is_paired { control.min(other) } else { control + other } as f64)
}

/// Units that are still missing until the interval excludes 0 on the side of its centre, or lies within the margin, whichever
/// comes first. None if neither is foreseeable.
fn more(shown: ConfidenceInterval, n: f64, margin: f64, options: &CompareOptions) -> Option<u64> {
    let half = (shown.upper - shown.lower) / 2.0;
    if half <= 0.0 || n < 2.0 {
        return None;
    }
    let sequence =
        ConfidenceSequence { alpha: options.alpha, n_star: options.n_star, ..ConfidenceSequence::default() };
    let errors = match options.looks {
        AnalysisSchedule::AnyTime => sequence.boundary(n).ok()?,
        AnalysisSchedule::Once => NORMAL_95,
    };
    let variance = (half / errors).powi(2) * n;
    let goal = |power| PowerGoal { alpha: options.alpha, power };
    let needed = |effect: f64, power: f64| match options.looks {
        AnalysisSchedule::AnyTime => sequence.units_needed(effect, variance, power).ok(),
        // `in_all` takes the variance of a unit in two arms of the same size; ours has the four of it already.
        AnalysisSchedule::Once => goal(power).in_all(effect, variance / 4.0).ok(),
    };
    let different = needed(shown.value.abs(), options.power);
    let same = Some(margin - shown.value.abs()).filter(|room| *room > 0.0).and_then(|room| needed(room, 0.5));
    let sooner = [different, same].into_iter().flatten().fold(f64::INFINITY, f64::min);
    let missing = (sooner - n).ceil();
    // Who is nearly there is still not there.
    missing.is_finite().then(|| missing.clamp(1.0, 1e12) as u64)
}

/// Secondary outcomes whose difference is settled and may be as large as matters, in a few words each. None that is worse is
/// left out.
fn also(comparison: &Comparison, candidate: usize, margin: f64) -> SecondaryFindings {
    let secondary = comparison.metrics.iter().filter(|metric| metric.role == MetricRole::Secondary);
    let settled = secondary.filter_map(|metric| {
        let effect = metric.effects.get(candidate)?;
        let shown = effect.shown()?;
        let holds = effect.p_adjusted.is_some_and(|p| p <= comparison.alpha) && shown.excludes_zero();
        let matters = effect.relative.is_none_or(|share| share.lower.abs().max(share.upper.abs()) >= margin);
        (holds && matters).then(|| also_one(metric, effect, shown))
    });
    let (worse, others): (Vec<_>, Vec<_>) = settled.partition(|(is_worse, _)| *is_worse);
    let words = |of: Vec<(bool, String)>| of.into_iter().map(|(_, words)| words);
    let cut = others.len().saturating_sub(ALSO_MAX);
    SecondaryFindings { worse: words(worse).collect(), others: words(others).take(ALSO_MAX).collect(), cut }
}

/// Whether it is worse, and in words.
fn also_one(metric: &Metric, effect: &Effect, shown: ConfidenceInterval) -> (bool, String) {
    let name = metric.name.to_lowercase();
    let much = match effect.relative {
        Some(share) => number_format::percent_change(share.value),
        None => format!("{} {}", number_format::signed(shown.value), metric.unit),
    };
    let (is_worse, judged) = match (metric.better, shown.value > 0.0) {
        (BetterDirection::Up, true) | (BetterDirection::Down, false) => (false, ", better"),
        (BetterDirection::Up, false) | (BetterDirection::Down, true) => (true, ""),
        (BetterDirection::Neither, _) => (false, ""),
    };
    (is_worse, format!("{name} {much}{judged}"))
}

/// What a guardrail came to, in a sentence.
pub(super) fn guardrail(
    metric: &Metric,
    effect: &Effect,
    checked: CheckResult,
    options: &CompareOptions,
) -> String {
    let name = &metric.name;
    let Some(shown) = effect.absolute else {
        if let Some(why) = &effect.cannot_judge {
            return format!("{name}: cannot be judged: {why}.");
        }
        let why = effect.not_yet.clone().unwrap_or_else(|| "there is no outcome yet".to_owned());
        return format!("{name}: too early to say: {why}.");
    };
    let apart = if options.design == ComparisonDesign::PairedBySeed {
        None
    } else {
        mean_discrepancy::of(metric, effect)
    };
    let pairs = apart.map(|apart| format!(" in {}", apart.words(options))).unwrap_or_default();
    let much = format!(
        "{} points ({:.0} % {} {} to {})",
        points(shown.value),
        100.0 * (1.0 - options.alpha),
        options.looks.interval(),
        points(shown.lower),
        points(shown.upper)
    ) + &pairs;
    match checked {
        CheckResult::Alarm => format!("{name}: {} is worse by {much}.", effect.arm),
        // Its own interval says harm, and all guardrails together do not yet.
        _ if shown.excludes_zero() && (metric.better == BetterDirection::Up) == (shown.value < 0.0) => {
            format!(
                "{name}: {} may be worse, by {much}; not certain, since every guardrail is a chance of a false alarm.",
                effect.arm
            )
        }
        _ => format!("{name}: no harm shown, {much}."),
    }
}
