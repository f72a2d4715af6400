//! Simulated runs of the real core and the real components: the same for the same seed, faithful, and telling better policies
//! from worse ones.

mod arms;
mod fitted;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use baton_core::observation::Capability;
use baton_core::{Action, Input};
use baton_engine::BUILTIN_NAME;
use baton_lab::run_metrics::RunResult;
use baton_lab::simulate::{Model, SimulatedRun, SimulationBatch, SimulationEnd, fleet, simulate, write};
use baton_lab::{ask_again, verify};
use baton_store::{Journal, JournalEntry, StateDir};

use crate::guests::GuestBuilder;
use arms::{ConfiguredPolicies, workflow};

fn quiet() -> Model {
    let mut model = Model::default();
    for key in
        ["trouble.stalls", "trouble.crashes", "trouble.errors", "trouble.starts_fail", "quota.per_hour"]
    {
        assert!(model.set(key, 0.0), "{key}");
    }
    model
}

/// A model in which nothing goes wrong, and all work is right.
fn perfect() -> Model {
    let mut model = quiet();
    for key in [
        "quality.wrong",
        "quality.wrong_full",
        "quality.skipped",
        "quality.skipped_full",
        "verification.flaky",
        "compaction.wrong",
    ] {
        assert!(model.set(key, 0.0), "{key}");
    }
    model
}

fn all(policies: &ConfiguredPolicies, arms: &[(&str, &str)], model: &Model, seeds: u64) -> SimulationBatch {
    let arms: Vec<_> =
        arms.iter().map(|(name, policy)| policies.arm(name, policy, &[], workflow())).collect();
    fleet(&arms, model, 1, seeds, |_, _| {}, &AtomicBool::new(false)).unwrap()
}

fn completed(runs: &[SimulatedRun]) -> u32 {
    runs.iter().map(|run| run.measures.completed).sum()
}

#[test]
fn the_same_seed_is_the_same_run_to_the_byte() {
    let policies = ConfiguredPolicies::new();
    let arm = policies.arm("a", BUILTIN_NAME, &[], workflow());
    for seed in 1..3 {
        let bytes = || {
            let run = simulate(&arm, &Model::default(), seed, true).unwrap();
            (serde_json::to_string(&run.entries).unwrap(), serde_json::to_string(&run).unwrap())
        };
        assert_eq!(bytes(), bytes());
    }
    let other = simulate(&arm, &Model::default(), 2, false).unwrap();
    assert_ne!(simulate(&arm, &Model::default(), 1, false).unwrap().took_ms, other.took_ms);
}

#[test]
fn threads_change_nothing_and_equal_arms_are_equal() {
    let policies = ConfiguredPolicies::new();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| all(&policies, &[("a", BUILTIN_NAME), ("b", BUILTIN_NAME)], &Model::default(), 6))
    };
    let (one, two) = (with(1), with(2));
    assert_eq!(one, two);
    assert_eq!(one.arms[0], one.arms[1]);
    assert_eq!(one.arms[0].iter().map(|run| run.seed).collect::<Vec<_>>(), (1..=6).collect::<Vec<_>>());
}

#[test]
fn what_is_stopped_keeps_only_seeds_that_every_arm_has() {
    let policies = ConfiguredPolicies::new();
    let arms =
        [policies.arm("a", BUILTIN_NAME, &[], workflow()), policies.arm("b", BUILTIN_NAME, &[], workflow())];
    let stop = AtomicBool::new(false);
    let told = |done: u64, _: u64| {
        if done == 3 {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let fleet = pool.install(|| fleet(&arms, &quiet(), 1, 20, told, &stop)).unwrap();
    assert!(fleet.stopped);
    assert_eq!((fleet.arms[0].len(), fleet.arms[1].len()), (1, 1));
}

/// A property over seeds and policies: the journal replays without a difference, core and components.
#[test]
fn every_simulated_run_verifies() {
    let policies = ConfiguredPolicies::new();
    let mut checked = 0;
    for (n, policy) in
        [BUILTIN_NAME, "eager-splitter", "conservative-splitter", "torch", "auto-loop"].iter().enumerate()
    {
        let arm = policies.arm(policy, policy, &[], workflow());
        for seed in 0..2_u64 {
            let run = simulate(&arm, &Model::default(), 100 * n as u64 + seed, true).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let state = StateDir::open(&folder.path().join("state"), folder.path()).unwrap();
            let journal = Journal::open(&state).unwrap();
            write(&run, &arm, &journal).unwrap();
            let found =
                verify(&journal, &run.measures.run, ask_again(policies.all(), policies.digest())).unwrap();
            assert!(found.is_exact(), "{policy} {seed}: {:?}", found);
            assert_eq!((found.decisions.unavailable, found.decisions.watchdog), (0, 0));
            assert_eq!(baton_lab::run_metrics::measure(&journal, &run.measures.run).unwrap(), run.measures);
            checked += found.decisions.same;
        }
    }
    assert!(checked > 1_000, "{checked}");
}

#[test]
fn every_kind_of_intent_is_performed() {
    let policies = ConfiguredPolicies::new();
    let mut model = Model::default();
    for (key, value) in [
        ("context.window_tokens", 150_000.0),
        ("merge.conflicts", 0.6),
        ("trouble.stalls", 0.02),
        ("merge.resolved", 0.5),
        ("person.answers", 1.0),
    ] {
        assert!(model.set(key, value), "{key}");
    }
    let (mut wanted, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for (policy, settings) in [
        ("eager-splitter", ""),
        (
            BUILTIN_NAME,
            "max-objectives=100 max-windows=100.0 max-files=1000 max-complexity=1000 offload-percent=1.0 offload-input-tokens=100",
        ),
    ] {
        let settings: Vec<&str> = settings.split_terminator(' ').collect();
        let arm = policies.arm(policy, policy, &settings, arms::rich());
        for seed in 1..16 {
            let run = simulate(&arm, &model, seed, true).unwrap();
            let mut open = std::collections::BTreeMap::new();
            for entry in run.entries.unwrap() {
                match entry {
                    JournalEntry::Intent { intent, .. } => {
                        wanted.insert(intent.action.name());
                        open.insert(intent.id, intent.action.name());
                    }
                    JournalEntry::Input(stamped) => {
                        if let Input::Outcome { action, .. } = stamped.input {
                            answered.extend(open.remove(&action));
                        }
                    }
                }
            }
        }
    }
    let kinds = [
        "spawn",
        "prompt",
        "compact",
        "interrupt",
        "end",
        "assess",
        "write-handoff",
        "inspect",
        "write-summaries",
        "offload",
        "verify",
        "checkpoint",
        "branch",
        "merge",
        "unmerge",
        "land",
        "ask",
        "finish",
    ];
    let missing: Vec<_> = kinds.iter().filter(|kind| !answered.contains(*kind)).collect();
    assert!(missing.is_empty(), "never answered: {missing:?} of {wanted:?}");
    for undurable in ["request-decision", "place"] {
        assert!(wanted.contains(undurable), "{undurable} was never wanted");
    }
    assert!(
        !wanted.contains(
            Action::Notify(baton_core::progress::ProgressEvent::Finished {
                ending: baton_core::action::RunOutcome::Done
            })
            .name()
        )
    );
}

#[test]
fn a_run_that_meets_a_bound_says_so() {
    let policies = ConfiguredPolicies::new();
    let arm = policies.arm("a", BUILTIN_NAME, &[], workflow());
    let ends = |key: &str, value: f64| {
        let mut model = perfect();
        // Within the turns that the table gives.
        assert!(model.set("work.turns_spread", 0.1) && model.set(key, value));
        let run = simulate(&arm, &model, 1, false).unwrap();
        (run.ends, run.measures.standing)
    };
    assert_eq!(ends("host.inputs", 100.0), (SimulationEnd::TooManyInputs, RunResult::Running));
    assert_eq!(ends("host.days", 0.01), (SimulationEnd::TooLong, RunResult::Running));
    assert_eq!(ends("host.days", 14.0), (SimulationEnd::Over, RunResult::Done));
    let mut model = quiet();
    for (key, value) in [("verification.flaky", 1.0), ("person.answers", 0.0)] {
        model.set(key, value);
    }
    let run = simulate(&arm, &model, 1, false).unwrap();
    assert_eq!((run.ends, run.measures.standing), (SimulationEnd::Waiting, RunResult::Waiting));
}

/// By construction: quality falls steeply with occupancy, and a handoff or compaction costs little. A policy that makes room
/// early gets better work than one that makes none.
#[test]
fn a_policy_that_makes_room_before_quality_falls_is_better() {
    let policies = ConfiguredPolicies::new();
    let mut model = quiet();
    for (key, value) in [
        ("work.turns_spread", 0.2),
        ("quality.knee", 0.4),
        ("quality.wrong", 0.0),
        ("quality.skipped", 0.0),
        ("quality.wrong_full", 1.0),
        ("compaction.wrong", 0.0),
        ("verification.blind", 1.0),
        ("exhaustion.error", 1.0),
        ("exhaustion.text", 0.0),
        ("exhaustion.compacts", 0.0),
        ("exhaustion.silence", 0.0),
        ("exhaustion.forgets", 0.0),
    ] {
        assert!(model.set(key, value), "{key}");
    }
    let arms = [
        policies.arm(
            "early",
            BUILTIN_NAME,
            &[
                "compact-percent=35.0",
                "max-objectives=100",
                "max-windows=100.0",
                "max-files=1000",
                "max-complexity=1000",
            ],
            workflow(),
        ),
        policies.arm(
            "late",
            BUILTIN_NAME,
            &[
                "compact-percent=95.0",
                "max-objectives=100",
                "max-windows=100.0",
                "max-files=1000",
                "max-complexity=1000",
            ],
            workflow(),
        ),
    ];
    let fleet = fleet(&arms, &model, 1, 24, |_, _| {}, &AtomicBool::new(false)).unwrap();
    let right = |arm: usize| fleet.arms[arm].iter().map(|run| run.right).sum::<u32>();
    assert!(right(0) > right(1) + 12, "{} and {}", right(0), right(1));
    assert!(fleet.arms[1].iter().any(|run| run.measures.exhaustions > 0));
    let better = fleet.arms[0].iter().zip(&fleet.arms[1]).filter(|(a, b)| a.right > b.right).count();
    let worse = fleet.arms[0].iter().zip(&fleet.arms[1]).filter(|(a, b)| a.right < b.right).count();
    assert!(better > 2 * worse, "{better} seeds better, {worse} worse");
}

#[test]
fn the_built_in_policy_knows_what_happens_here_for_what_it_is() {
    let policies = ConfiguredPolicies::new();
    let one = |key: &str, value: f64| {
        let mut model = perfect();
        for weight in ["error", "text", "compacts", "silence", "forgets"] {
            model.set(&format!("exhaustion.{weight}"), 0.0);
        }
        model.set("exhaustion.error", 1.0);
        model.set("context.window_tokens", 150_000.0);
        model.set(key, value);
        model
    };
    let runs = |model: &Model, settings: &[&str]| -> Vec<SimulatedRun> {
        let arm = policies.arm("a", BUILTIN_NAME, settings, workflow());
        (1..=6).map(|seed| simulate(&arm, model, seed, false).unwrap()).collect()
    };
    let late = [
        "compact-percent=99.0",
        "max-objectives=100",
        "max-windows=100.0",
        "max-files=1000",
        "max-complexity=1000",
    ];
    let exhausted = runs(&one("quality.knee", 0.4), &late);
    assert!(exhausted.iter().any(|run| run.measures.exhaustions > 0 && run.measures.handoffs > 0));
    assert!(completed(&exhausted) > 0);
    let limited = runs(&one("quota.per_hour", 2.0), &late);
    assert!(limited.iter().any(|run| run.measures.quota_wait_ms > 0));
    let stalled = runs(&one("trouble.stalls", 0.05), &late);
    assert!(
        stalled.iter().filter(|run| run.ends == SimulationEnd::Over).count() >= 5,
        "{:?}",
        stalled.iter().map(|run| run.ends).collect::<Vec<_>>()
    );
    let crashed = runs(&one("trouble.crashes", 0.05), &late);
    assert!(crashed.iter().any(|run| run.measures.retries > 0));
}

// M3, M6: a policy that keeps failing is taken back, as in a live run.
#[test]
fn a_policy_that_keeps_failing_is_asked_no_more() {
    let policies = ConfiguredPolicies::new().with("trap", &GuestBuilder::deciding("unreachable").build());
    let mut workflow = workflow();
    workflow.policies.breaker = 1;
    let arm = policies.arm("trap", "trap", &[], workflow);
    let run = simulate(&arm, &quiet(), 1, true).unwrap();
    let labels = run.entries.iter().flatten().filter_map(|entry| match entry {
        JournalEntry::Input(stamped) => match &stamped.input {
            Input::Decided { label, .. } if label.capability == Capability::Compaction => Some(label),
            _ => None,
        },
        _ => None,
    });
    let failed: Vec<bool> =
        labels.map(|label| label.faults.iter().any(|record| record.policy == "trap")).collect();
    assert!(failed.len() > 2, "{failed:?}");
    assert!(failed[0] && !failed[1..].contains(&true), "{failed:?}");
}
