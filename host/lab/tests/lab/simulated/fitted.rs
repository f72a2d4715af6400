//! A model that is fitted from simulated journals is the model that they were simulated with, as far as journals can show it.

use baton_engine::BUILTIN_NAME;
use baton_lab::simulate::fit::{FittedModel, ModelFitter};
use baton_lab::simulate::{Model, simulate};

use super::arms::{ConfiguredPolicies, workflow};

/// Runs that are fitted from: a few thousand turns.
const RUNS: u64 = 14;

fn fit(model: &Model, runs: u64) -> FittedModel {
    let policies = ConfiguredPolicies::new();
    let arm = policies.arm(
        "a",
        BUILTIN_NAME,
        &[
            "compact-percent=60.0",
            "max-objectives=100",
            "max-windows=100.0",
            "max-files=1000",
            "max-complexity=1000",
        ],
        workflow(),
    );
    let mut fitter = ModelFitter::new();
    for seed in 1..=runs {
        let run = simulate(&arm, model, seed, true).unwrap();
        let entries = run.entries.unwrap().into_iter().map(Ok);
        assert_eq!(fitter.take_entries(&run.measures.run, entries).unwrap(), run.inputs);
    }
    fitter.finish()
}

#[test]
fn the_numbers_that_journals_show_come_back() {
    let mut model = Model::default();
    for (key, value) in [
        ("context.window_tokens", 150_000.0),
        ("context.start_tokens", 15_000.0),
        ("context.turn_tokens", 600.0),
        ("context.turn_spread", 0.5),
        ("context.tool_tokens", 1_500.0),
        ("context.tool_spread", 0.8),
        ("context.tools_per_turn", 1.3),
        ("context.rereads", 0.25),
        ("work.turns", 8.0),
        ("work.turns_spread", 0.4),
        ("work.turn_seconds", 20.0),
        ("work.seconds_spread", 0.5),
        ("compaction.seconds", 45.0),
        ("compaction.remains", 0.3),
        ("quota.per_hour", 0.6),
        ("quota.minutes", 30.0),
        ("trouble.crashes", 0.006),
        ("trouble.errors", 0.01),
        ("verification.seconds", 12.0),
        ("person.minutes", 15.0),
        ("quality.wrong", 0.01),
        ("quality.skipped", 0.0),
    ] {
        assert!(model.set(key, value), "{key}");
    }
    let fitted = fit(&model, RUNS);
    // By what part of itself each may be off: three standard errors of the observations that there are, and what the
    // documentation says of bias.
    for (key, part) in [
        ("context.window_tokens", 0.001),
        ("context.start_tokens", 0.02),
        ("context.turn_tokens", 0.06),
        ("context.turn_spread", 0.08),
        ("context.tool_tokens", 0.08),
        ("context.tool_spread", 0.08),
        ("context.tools_per_turn", 0.08),
        ("context.rereads", 0.2),
        ("work.turns", 0.2),
        ("work.turns_spread", 0.35),
        ("work.turn_seconds", 0.06),
        ("work.seconds_spread", 0.08),
        ("compaction.seconds", 0.2),
        ("compaction.remains", 0.05),
        ("trouble.crashes", 0.9),
        ("trouble.errors", 0.7),
        ("verification.seconds", 0.05),
    ] {
        let (real, found) = (model.get(key).unwrap(), fitted.model.get(key).unwrap());
        assert!(fitted.basis[key].enough, "{key}: {:?}", fitted.basis[key]);
        assert!(
            (found - real).abs() <= part * real,
            "{key} is {real}, and was fitted as {found}: {:?}",
            fitted.basis[key]
        );
    }
    // What is fitted can be simulated with.
    assert_eq!(Model::parse(&fitted.to_toml(), "fitted.toml").unwrap().get("work.mend"), Some(0.4));
}

#[test]
fn what_is_not_known_is_not_made_up() {
    let mut model = Model::default();
    model.set("quota.per_hour", 0.0);
    let fitted = fit(&model, 1);
    assert_eq!(fitted.model.quota.minutes, Model::default().quota.minutes);
    let text = fitted.to_toml();
    assert!(text.contains("Not enough data (n = 0 waits): the default is kept."), "{text}");
    assert!(text.contains("Fitted: n = "), "{text}");
    // A journal does not show whether an agent tells the truth.
    assert!(!fitted.basis.contains_key("quality.truth"));
    let nothing = ModelFitter::new().finish();
    assert_eq!((nothing.model, nothing.runs), (Model::default(), 0));
}
