//! What it costs to put another policy in place, up to the first decision by it: `cargo bench --workspace --bench swap`. Two
//! ways: with the component at hand, as a rollback has it; and warm, from bytes that were compiled once before, as a file has
//! it that comes back. Beside them a decision without a swap, for the ratio.

#[path = "../tests/engine/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use baton_core::observation::{Capability, PolicyRequest};
use baton_core::workflow::PolicyScope;
use baton_engine::{BUILTIN_NAME, Engine, EngineConfig, Router, builtin_bytes};
use common::question;
use criterion::{Criterion, criterion_group, criterion_main};

/// The built-in policy with an unused section: the same answers under another digest.
fn marked(mark: u8) -> Vec<u8> {
    [builtin_bytes(), &[0, 6, 4, b'm', b'a', b'r', b'k', mark]].concat()
}

fn swaps(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = EngineConfig { cache_dir: Some(folder.path().join("aot")), ..EngineConfig::default() };
    let engine = Engine::new(config).expect("an engine");
    let router = Router::new(&engine, BTreeMap::new()).expect("a router");
    let components = [marked(0), marked(1)];
    let load = |n: usize| {
        let policy = engine.load(BUILTIN_NAME, &components[n % 2]).expect("it loads");
        policy.configure(&BTreeMap::new()).expect("its defaults are good")
    };
    let at_hand = [load(0), load(1)];
    let question: PolicyRequest = question("assess");
    let put = |configured| {
        router.configure(PolicyScope::Run, Capability::Exhaustion, configured).expect("it decides that");
    };
    let decide = || router.decide(&question).0.expect("it answers");

    let mut group = criterion.benchmark_group("swap");
    group.bench_function("decision alone", |bencher| bencher.iter(decide));
    let mut turn = 0;
    group.bench_function("at hand, with its first decision", |bencher| {
        bencher.iter(|| {
            turn += 1;
            put(at_hand[turn % 2].clone());
            decide()
        });
    });
    group.bench_function("warm, with its first decision", |bencher| {
        bencher.iter(|| {
            turn += 1;
            put(load(turn));
            decide()
        });
    });
    group.finish();

    for (name, warm) in [("at hand", false), ("warm", true)] {
        let mut took: Vec<Duration> = (0..500)
            .map(|n| {
                let began = Instant::now();
                put(if warm { load(n) } else { at_hand[n % 2].clone() });
                decide();
                began.elapsed()
            })
            .collect();
        took.sort();
        println!(
            "swap {name}: p50 {:?}, p99 {:?} to the first decision",
            took[took.len() / 2],
            took[took.len() * 99 / 100]
        );
    }
}

criterion_group!(benches, swaps);
criterion_main!(benches);
