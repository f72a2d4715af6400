//! Who got which arm and what became of them: the counts, and whether the counts themselves are sound. Reads no outcome.

use std::collections::{BTreeMap, BTreeSet};

use super::options::{ArmSample, CompareOptions, ComparisonDesign, UnfinishedHandling};
use super::{Allocation, ArmSummary, Attrition, CheckResult};
use crate::experiment::assignment::place_of;
use crate::run_metrics::{PolicyCounts, PolicyFailures, RunMetrics, RunResult};
use crate::stats::{betting, srm};

/// Level at which missing outcomes are called uneven: lower than that of outcomes, since it stops a verdict.
const ATTRITION_ALPHA: f64 = 0.01;

/// What is counted once: the unit that chance gave its arm, or the task.
pub(super) fn unit_of(run: &RunMetrics, options: &CompareOptions) -> String {
    let hashed = || {
        let experiment = options.experiment.as_ref()?;
        run.assignments.iter().find(|one| one.experiment == *experiment).map(|one| one.unit.clone())
    };
    match options.design {
        ComparisonDesign::ClusteredByTask => run.task.to_string(),
        ComparisonDesign::Independent => hashed().unwrap_or_else(|| run.run.to_string()),
        ComparisonDesign::PairedBySeed => run.run.to_string(),
    }
}

/// Whether what a run came to counts.
pub(super) fn is_known(run: &RunMetrics, options: &CompareOptions) -> bool {
    match (run.standing, options.unfinished) {
        // It was stopped: that is its result.
        (RunResult::Done | RunResult::Unfinished | RunResult::Stopped, _) => true,
        (RunResult::Waiting | RunResult::Running, unfinished) => {
            unfinished == UnfinishedHandling::AsTheyStand
        }
    }
}

/// Whether a run has no outcome until a person answers it.
fn is_waiting(run: &RunMetrics, options: &CompareOptions) -> bool {
    run.standing == RunResult::Waiting && !is_known(run, options)
}

/// The counts of each arm.
pub(super) fn arms(samples: &[ArmSample], options: &CompareOptions) -> Vec<ArmSummary> {
    let weights: f64 = samples.iter().map(|sample| sample.weight.max(0.0)).sum();
    let of = |sample: &ArmSample| {
        let mut standings: BTreeMap<RunResult, u64> = BTreeMap::new();
        for run in &sample.measures {
            *standings.entry(run.standing).or_default() += 1;
        }
        let runs = sample.measures.iter();
        let known = runs.clone().filter(|run| is_known(run, options)).count() as u64;
        let counted = sample.measures.len() as u64;
        let sum = |of: fn(&RunMetrics) -> u32| -> u64 {
            runs.clone().filter(|run| is_known(run, options)).map(|run| u64::from(of(run))).sum()
        };
        let place = place_of(options.experiment.as_ref(), &sample.arm);
        let asked = sample.component.as_ref().map(|component| {
            let of_arm =
                |asked: &&PolicyCounts| asked.component == *component && asked.arm.as_ref() == Some(&place);
            runs.clone().map(|run| run.policies.iter().filter(of_arm).collect()).collect::<Vec<Vec<_>>>()
        });
        let of_asked = |of: fn(&PolicyCounts) -> u64| {
            asked.as_ref().map(|asked| asked.iter().flatten().map(|asked| of(asked)).sum())
        };
        ArmSummary {
            name: sample.arm.clone(),
            policy: sample.policy.clone(),
            component: sample.component.clone(),
            share: if weights > 0.0 && weights.is_finite() { sample.weight.max(0.0) / weights } else { 0.0 },
            assigned: counted + sample.invalid.len() as u64,
            known,
            not_yet_known: counted - known,
            standings,
            waiting: runs
                .clone()
                .filter(|run| is_waiting(run, options))
                .map(|run| run.run.to_string())
                .collect(),
            invalid: sample.invalid.clone(),
            objectives: sum(|run| run.objectives),
            checked: sum(|run| run.completed),
            claimed: sum(|run| run.claimed),
            exposed: asked.as_ref().map(|asked| asked.iter().filter(|run| !run.is_empty()).count() as u64),
            asked: of_asked(PolicyCounts::asked),
            decided: of_asked(|asked| asked.decided),
            failures: asked.as_ref().and_then(|asked| failures(asked)),
            swapped: runs.clone().filter(|run| run.swapped).count() as u64,
        }
    };
    samples.iter().map(of).collect()
}

/// The failures of an arm's policy; none where it answered every question.
fn failures(asked: &[Vec<&PolicyCounts>]) -> Option<PolicyFailures> {
    let mut sum = PolicyFailures::default();
    asked.iter().flatten().for_each(|asked| sum.add(&asked.failures));
    (sum.times > 0).then_some(sum)
}

/// What chance gave out in each arm: runs of one assigned unit are one draw.
fn independent_draws(sample: &ArmSample, options: &CompareOptions) -> u64 {
    let per_run = CompareOptions { design: ComparisonDesign::Independent, ..options.clone() };
    let units: BTreeSet<String> = sample.measures.iter().map(|run| unit_of(run, &per_run)).collect();
    let invalid: BTreeSet<&str> = sample.invalid.iter().map(|one| one.unit.as_str()).collect();
    (units.len() + invalid.iter().filter(|unit| !units.contains(**unit)).count()) as u64
}

/// Whether the arms got the shares that they were to get.
pub(super) fn allocation(samples: &[ArmSample], arms: &[ArmSummary], options: &CompareOptions) -> Allocation {
    let observed: Vec<u64> = samples.iter().map(|sample| independent_draws(sample, options)).collect();
    let total = observed.iter().sum::<u64>() as f64;
    let shares: Vec<f64> = arms.iter().map(|arm| arm.share).collect();
    let expected = shares.iter().map(|share| share * total).collect();
    let none = |observed, expected, words: &str| Allocation {
        checked: CheckResult::NotChecked,
        words: words.to_owned(),
        observed,
        expected,
        chi_square_p: None,
        ln_e_value: None,
    };
    if !options.randomised {
        return none(observed, expected, "Not by chance: each arm was run as often as asked for.");
    }
    let (Ok(once), Ok(evidence)) = (srm::chi_square(&observed, &shares), srm::sequential(&observed, &shares))
    else {
        return none(observed, expected, "There are no two arms whose sizes could be compared.");
    };
    let outside = evidence.outside;
    let alarm = evidence.rejects(options.srm_alpha);
    let (checked, words) = if alarm || outside > 0 {
        let what = arms.iter().zip(&observed).map(|(arm, n)| format!("{} got {n}", arm.name));
        let was = if outside > 0 && !alarm {
            format!("{outside} units are in an arm that nobody should get")
        } else {
            "the arms did not get the shares that they were to get".to_owned()
        };
        (CheckResult::Alarm, format!("{}: {was}.", what.collect::<Vec<_>>().join(", ")))
    } else {
        (CheckResult::Ok, "The arms got the shares that they were to get.".to_owned())
    };
    Allocation {
        checked,
        words,
        observed,
        expected,
        chi_square_p: Some(once.p),
        ln_e_value: Some(evidence.ln_e),
    }
}

/// Whether each candidate lacks outcomes as often as control does.
pub(super) fn attrition(samples: &[ArmSample], options: &CompareOptions) -> Attrition {
    let known = |sample: &ArmSample| -> Vec<f64> {
        let runs = sample.measures.iter().map(|run| f64::from(u8::from(is_known(run, options))));
        runs.chain(sample.invalid.iter().map(|_| 0.0)).collect()
    };
    let missing = |of: &[f64]| {
        let gone = of.iter().filter(|known| **known == 0.0).count();
        format!("{gone} of {}", of.len())
    };
    let Some((control, candidates)) = samples.split_first() else {
        return Attrition { checked: CheckResult::NotChecked, words: "There are no arms.".to_owned() };
    };
    let base = known(control);
    for candidate in candidates {
        let its = known(candidate);
        let Ok(found) = betting::two_arms(&base, &its, (0.0, 1.0), ATTRITION_ALPHA, 1) else { continue };
        if found.estimate.excludes_zero() {
            let words = format!(
                "Outcomes are missing for {} units of {} and for {} of {}.",
                missing(&its),
                candidate.arm,
                missing(&base),
                control.arm
            );
            return Attrition { checked: CheckResult::Alarm, words };
        }
    }
    let gone: usize =
        samples.iter().map(|sample| known(sample).iter().filter(|known| **known == 0.0).count()).sum();
    let waiting =
        samples.iter().flat_map(|sample| &sample.measures).filter(|run| is_waiting(run, options)).count();
    let words = match (gone, waiting) {
        (0, _) => "Every unit has an outcome.".to_owned(),
        (gone, 0) => format!("{gone} units have no outcome yet, not more of one arm than chance explains."),
        (gone, waiting) => format!(
            "{gone} units have no outcome yet, not more of one arm than chance explains; {waiting} of them {} for a \
             person's answer.",
            if waiting == 1 { "waits" } else { "wait" }
        ),
    };
    Attrition { checked: CheckResult::Ok, words }
}
