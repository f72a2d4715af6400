//! What a reader of a comparison has to know besides its numbers, in whole sentences. Computes nothing.

use super::options::{AnalysisSchedule, CompareOptions, ComparisonDesign};
use super::{ArmSummary, Comparison, Metric, MetricRole, mean_discrepancy};
use crate::run_metrics::{CompletionBasis, RunResult};

/// All of them, in the order in which they are read.
pub(super) fn of(comparison: &Comparison, options: &CompareOptions) -> Vec<String> {
    let mut notes = Vec::new();
    if options.looks == AnalysisSchedule::Once {
        notes.push(
            "The number of units was fixed beforehand, so the intervals hold for this one look; look again only at new units."
                .to_owned(),
        );
    }
    notes.extend(comparison.arms.iter().filter(|arm| arm.known > 0).map(done));
    if comparison.arms.iter().any(|arm| arm.known > 0) {
        notes.extend(claimed(comparison.completion).map(str::to_owned));
    }
    for arm in &comparison.arms {
        notes.extend(of_arm(arm, options));
    }
    let sizes: Vec<usize> = comparison.arms.iter().map(|arm| arm.assigned as usize).collect();
    if options.design == ComparisonDesign::PairedBySeed && sizes.windows(2).any(|two| two[0] != two[1]) {
        notes.push(
            "The arms have different numbers of runs; those without a partner are in no pair.".to_owned(),
        );
    }
    match options.design {
        ComparisonDesign::PairedBySeed => {
            notes.extend(comparison.metrics.iter().flat_map(partial_pairing_notes))
        }
        ComparisonDesign::Independent | ComparisonDesign::ClusteredByTask => {
            // A guardrail says it in its own sentence.
            let metrics = comparison.metrics.iter().filter(|metric| metric.role != MetricRole::Guardrail);
            notes.extend(metrics.flat_map(|metric| {
                metric.effects.iter().filter_map(|effect| {
                    let pairs = mean_discrepancy::of(metric, effect)?.words(options);
                    Some(format!("{}: the effect of {} is that of {pairs}.", metric.name, effect.arm))
                })
            }));
        }
    }
    notes
}

/// That claims count, where they do.
fn claimed(completion: CompletionBasis) -> Option<&'static str> {
    match completion {
        CompletionBasis::Checked => None,
        CompletionBasis::Claimed => Some(
            "No objective of these runs has a check, so what agents claim is counted. With a `verify` command in the workflow, \
             only what was checked counts.",
        ),
        CompletionBasis::Mixed => Some(
            "Some of these workflows have no check: in their runs what agents claim is counted, and in the others only what was checked.",
        ),
    }
}

/// "control: done 12 of 14 objectives (9 checked, 3 claimed only)."
fn done(arm: &ArmSummary) -> String {
    let ArmSummary { name, objectives, checked, claimed, .. } = arm;
    let done = checked + claimed;
    format!("{name}: done {done} of {objectives} objectives ({checked} checked, {claimed} claimed only).")
}

fn of_arm(arm: &ArmSummary, options: &CompareOptions) -> Vec<String> {
    let mut notes = Vec::new();
    let name = &arm.name;
    if arm.swapped > 0 {
        let n = arm.swapped;
        notes.push(format!(
            "In {n} of the runs of {name} somebody changed the policy on the way; they count for {name} all the same."
        ));
    }
    if let Some(n) =
        arm.standings.get(&RunResult::Stopped).filter(|_| options.looks == AnalysisSchedule::AnyTime)
    {
        notes.push(format!(
            "Of the runs of {name} somebody stopped {n}; they count with what was finished until then, and anew if they are \
             resumed."
        ));
    }
    let counted = arm.known + arm.not_yet_known;
    if let Some(exposed) = arm.exposed.filter(|exposed| *exposed < counted) {
        let missing = counted - exposed;
        notes.push(format!(
            "In {missing} of {counted} runs of {name} its component was asked nothing; they count all the same, and make a \
             difference look smaller than it is."
        ));
    }
    notes.extend(abstained_note(arm));
    notes.extend(failed(arm));
    notes
}

/// "The component of growth was asked 412 questions in 30 runs and decided none of them; its runs went as they would have without it."
fn abstained_note(arm: &ArmSummary) -> Option<String> {
    let (asked, decided, exposed) = (arm.asked?, arm.decided?, arm.exposed?);
    let failed = arm.failures.as_ref().map_or(0, |failures| failures.times);
    // Where it failed each time, that is said with its failures.
    if decided + failed >= asked {
        return None;
    }
    let (name, questions, runs) = (&arm.name, counted(asked, "question"), counted(exposed, "run"));
    let which = match decided {
        0 => "none of them; its runs went as they would have without it".to_owned(),
        _ => format!("{decided} of them; the others went to the next policy"),
    };
    Some(format!("The component of {name} was asked {questions} in {runs} and decided {which}."))
}

fn counted(n: u64, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// "The component of bad was asked 42 questions in 14 runs and failed on all of them (it trapped 42 times); resilience answered in
/// its place."
fn failed(arm: &ArmSummary) -> Option<String> {
    let (failures, asked, exposed) = (arm.failures.as_ref()?, arm.asked?, arm.exposed?);
    let times = match failures.times == asked {
        true if asked == 1 => "it".to_owned(),
        true => "all of them".to_owned(),
        false => format!("{} of them", failures.times),
    };
    let trapped = match failures.trapped {
        0 => String::new(),
        trapped => format!(" (it trapped {})", counted(trapped, "time")),
    };
    let others: Vec<&str> = failures.answered.keys().map(String::as_str).collect();
    let others = match others.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        one => one.concat(),
    };
    Some(format!(
        "The component of {} was asked {} in {} and failed on {times}{trapped}; {others} answered in its place.",
        arm.name,
        counted(asked, "question"),
        counted(exposed, "run")
    ))
}

/// Outcomes that not every run has: their means are of more runs than their effect is.
fn partial_pairing_notes(metric: &Metric) -> impl Iterator<Item = String> {
    let most = metric.arms.iter().map(|arm| arm.n).max().unwrap_or_default();
    metric.effects.iter().filter(move |effect| effect.n > 0 && effect.n < most).map(|effect| {
        format!(
            "{}: the effect of {} is that in {} pairs where both have it; the means are of all runs that have it.",
            metric.name, effect.arm, effect.n
        )
    })
}
