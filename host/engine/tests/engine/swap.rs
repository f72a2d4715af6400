//! Policies that are swapped under load (M3): every question is answered by the policy that its label names, and every question
//! after a swap by the new policy.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::hostile::guests::GuestBuilder;
use crate::hostile::questions;
use baton_core::Digest;
use baton_core::decision::DecisionSource;
use baton_core::observation::Capability;
use baton_core::workflow::PolicyScope;
use baton_engine::{ConfiguredPolicy, Engine, EngineConfig, Router};

/// Decisions in all.
const DECISIONS: u64 = 100_000;
/// Swaps in all, spread evenly over the decisions.
const SWAPS: u64 = 1_000;
/// Threads that ask.
const THREADS: u64 = 4;
/// Policies that take turns. Each says its own name as its reason.
const POLICIES: usize = 8;

fn policies(engine: &Engine) -> Vec<ConfiguredPolicy> {
    let policy = |n: usize| {
        let name = format!("policy-{n}");
        let policy = engine.load(&name, &GuestBuilder::good(&name).build()).expect("it loads");
        policy.configure(&BTreeMap::new()).expect("it has no settings")
    };
    (0..POLICIES).map(policy).collect()
}

// M3
#[test]
fn no_decision_is_lost_or_attributed_to_another_policy() {
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let policies = policies(&engine);
    let digests: BTreeMap<&str, &Digest> =
        policies.iter().map(|policy| (policy.policy().name(), policy.policy().digest())).collect();
    assert_eq!(digests.values().collect::<std::collections::BTreeSet<_>>().len(), POLICIES);
    let put = |router: &Router, n: u64| {
        let policy = policies[usize::try_from(n).unwrap() % POLICIES].clone();
        router.configure(PolicyScope::Run, Capability::Compaction, policy).expect("it decides compaction");
    };
    let router = Router::with_built_in(
        &engine,
        [(Capability::Compaction, policies[0].clone().into())].into(),
        engine
            .load("whole", baton_engine::builtin_bytes())
            .expect("it loads")
            .configure(&BTreeMap::new())
            .expect("its defaults are good"),
    )
    .expect("a router");
    let asked = AtomicU64::new(0);
    let answered = AtomicU64::new(0);
    let question = questions::compaction();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while asked.fetch_add(1, Ordering::Relaxed) < DECISIONS {
                    let (result, label) = router.decide(&question);
                    let said = result.expect("somebody answers").reason().to_owned();
                    assert_eq!(label.by, DecisionSource::Configured);
                    assert_eq!(label.policy, said, "who is named is who answered");
                    assert_eq!(label.component.as_ref(), digests.get(said.as_str()).copied());
                    assert!(label.faults.is_empty());
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            for swap in 1..=SWAPS {
                while answered.load(Ordering::Relaxed) < swap * DECISIONS / SWAPS - DECISIONS / SWAPS {
                    std::thread::yield_now();
                }
                put(&router, swap);
                // What is asked from here on is decided by the new one.
                let (result, label) = router.decide(&question);
                let name = format!("policy-{}", swap % POLICIES as u64);
                assert_eq!((result.expect("it answers").reason(), label.policy.as_str()), (&*name, &*name));
            }
        });
    });
    assert_eq!(answered.load(Ordering::Relaxed), DECISIONS);
    assert_eq!(engine.live_instances(), 0);
}
