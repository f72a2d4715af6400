//! The default policy through the engine: the same question gives the same decision and fuel, labels say who decided,
//! and memory does not grow with the number of agents.

use std::collections::BTreeMap;

use crate::common::{agents, built_in, engine, engine_for, question};
use baton_core::decision::DecisionSource;
use baton_core::observation::Capability;
use baton_core::workflow::PolicyScope;
use baton_engine::{BUILTIN_NAME, DecisionLimits, Engine, EngineConfig, Router};

// Every decision can be replayed: what the policy said is a function of what it saw.
#[test]
fn the_same_question_gives_the_same_decision_and_fuel() {
    let (one, other) = (built_in(&engine()), built_in(&engine()));
    for name in ["assess", "brief"] {
        let first = one.evaluate(&question(name));
        assert!(first.result.is_ok(), "{:?}", first.result);
        assert!(first.fuel > 0);
        assert_eq!(one.evaluate(&question(name)), first, "again in the same engine");
        assert_eq!(other.evaluate(&question(name)), first, "in another engine of the same digest");
    }
}

#[test]
fn a_digest_tells_engines_apart_that_decide_differently() {
    let with = |limits| Engine::new(EngineConfig { limits, ..EngineConfig::default() }).expect("an engine");
    assert_eq!(engine().digest(), engine().digest());
    assert_ne!(engine().digest(), with(DecisionLimits { fuel: 1, ..DecisionLimits::default() }).digest());
    let patient = with(DecisionLimits { watchdog_ms: 9_000, ..DecisionLimits::default() });
    assert_eq!(engine().digest(), patient.digest(), "the backstop is no part of what a policy means");
}

#[test]
fn the_default_policy_decides_everything_and_its_label_says_so() {
    let engine = engine();
    let router = Router::new(&engine, BTreeMap::new()).expect("a router");
    assert_eq!(
        router.configured(&PolicyScope::Run, Capability::Splitting).first().policy().decides(),
        Capability::ALL
    );
    let (result, label) = router.decide(&question("assess"));
    assert!(result.is_ok(), "{result:?}");
    assert_eq!((label.by, label.policy.as_str()), (DecisionSource::Configured, BUILTIN_NAME));
    assert_eq!(label.capability, Capability::Exhaustion);
    assert_eq!(
        label.component.as_ref(),
        Some(router.configured(&PolicyScope::Run, Capability::Exhaustion).first().policy().digest())
    );
    assert_eq!(
        label.settings.as_ref(),
        Some(router.configured(&PolicyScope::Run, Capability::Exhaustion).first().settings_digest())
    );
    assert_eq!(&label.engine, engine.digest());
    assert!(label.fuel > 0);
    assert_eq!(label.faults, []);
}

// The pool is sized by decisions in flight: memory does not grow with the number of agents.
#[test]
fn ten_thousand_agents_share_two_instances() {
    let engine = engine_for(2);
    let router = Router::new(&engine, BTreeMap::new()).expect("a router");
    let agents = agents("assess", 1_250);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for question in &agents {
                    let (result, label) = router.decide(question);
                    assert!(result.is_ok());
                    assert_eq!(label.by, DecisionSource::Configured, "{:?}", label.faults);
                }
            });
        }
    });
    assert!((1..=2).contains(&engine.peak_instances()), "{}", engine.peak_instances());
    assert_eq!(engine.live_instances(), 0);
}

#[test]
fn an_engine_says_what_is_wrong_with_its_configuration() {
    for given in [0, 5_000] {
        let config = EngineConfig { decisions_in_flight: given, ..EngineConfig::default() };
        let error = Engine::new(config).err().expect("it is refused").to_string();
        assert!(error.contains(&given.to_string()) && error.contains("between 1 and 1024"), "{error}");
    }
}
