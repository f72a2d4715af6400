//! What a decision costs, beside what it could cost: `cargo bench -p baton-engine`, then
//! `cargo run -p baton-engine --example bench_table` for the table. Compare ratios, not times.

#[path = "../tests/engine/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use baton_core::observation::{Capability, ObjectiveStatus, PolicyQuery, PolicyRequest};
use baton_core::workflow::{GivenSetting, SettingValue};
use baton_engine::{
    BUILTIN_NAME, Chain, ConfiguredPolicy, Engine, EngineConfig, Router, bench_support, builtin_bytes,
};
use common::{agents, built_in, engine};
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};

/// Agents asked in turn: with one alone, everything would be warm in the nearest cache.
const AGENTS: u32 = 1_000;

/// The questions that are put: one reads the tail, the other also walks 20 objectives and 10 files.
const QUESTIONS: [&str; 2] = ["assess", "brief"];

fn decisions(criterion: &mut Criterion) {
    let engine = engine();
    let router = Router::new(&engine, BTreeMap::new()).expect("a router");
    let configured = built_in(&engine);
    for name in QUESTIONS {
        let questions = agents(name, AGENTS);
        for question in &questions {
            let evaluation = configured.evaluate(question);
            assert!(evaluation.result.is_ok(), "{:?}", evaluation.result);
        }
        let mut group = criterion.benchmark_group(name);
        routed(&mut group, &router, &questions);
        floor(&mut group, &configured, &questions);
        native(&mut group, &questions);
        hook_process(&mut group, &questions);
        group.finish();
    }
}

/// Fresh instance, limits on, digests and fuel recorded.
fn routed(group: &mut BenchmarkGroup<'_, WallTime>, router: &Router, questions: &[PolicyRequest]) {
    let mut turn = questions.iter().cycle();
    group.bench_function("decision", |bencher| {
        bencher.iter(|| router.decide(turn.next().expect("a cycle does not end")));
    });
}

/// A chain of four: three layers that each add a section to the prompt, and the built-in policy; beside it the same four, each by
/// itself. A layer with nothing behind it has nothing to change, so what one costs is timed over the built-in policy, and the time of
/// the built-in policy alone taken off. All are timed in turn: what else the machine does meets them alike.
fn chain(criterion: &mut Criterion) {
    let engine = engine();
    let component = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/house-rules.wasm");
    let bytes = std::fs::read(component).expect("the layer is committed");
    let layer = |name: &str| {
        let policy = engine.load(name, &bytes).expect("the layer loads");
        let rules = GivenSetting::Value(SettingValue::Texts(vec![format!("{name} has its way.")]));
        policy.configure(&BTreeMap::from([("rules".to_owned(), rules)])).expect("a rule is good")
    };
    let last = built_in(&engine);
    let layers = ["one", "two", "three"].map(layer);
    let questions = agents("brief", AGENTS);
    let routed = |first: &ConfiguredPolicy, then: &[ConfiguredPolicy]| {
        let chain = Chain::new(first.clone(), then.to_vec());
        let router =
            Router::new(&engine, BTreeMap::from([(Capability::Prompting, chain)])).expect("a router");
        let (decision, label) = router.decide(&questions[0]);
        assert!(decision.is_ok() && label.nested.len() == then.len() && label.faults.is_empty(), "{label:?}");
        router
    };
    let next_policies = layers[1..].iter().chain([&last]).cloned().collect::<Vec<_>>();
    let whole = routed(&layers[0], &next_policies);
    let each = layers.each_ref().map(|layer| routed(layer, std::slice::from_ref(&last)));
    let alone = routed(&last, &[]);

    let time = |router: &Router, question: &PolicyRequest| {
        let started = Instant::now();
        drop(black_box(router.decide(question)));
        started.elapsed()
    };
    let mut group = criterion.benchmark_group("chain");
    for name in ["links", "chain"] {
        let mut turn = questions.iter().cycle();
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|iterations| {
                let (mut over_last, mut of_last, mut of_whole) =
                    (Duration::ZERO, Duration::ZERO, Duration::ZERO);
                for question in turn.by_ref().take(usize::try_from(iterations).expect("it fits")) {
                    for layer in &each {
                        over_last += time(layer, question);
                        of_last += time(&alone, question);
                    }
                    of_whole += time(&whole, question);
                }
                match name {
                    "links" => (over_last + of_last / 3).saturating_sub(of_last),
                    _ => of_whole,
                }
            });
        });
    }
    group.finish();
}

/// The same through wasmtime alone.
fn floor(
    group: &mut BenchmarkGroup<'_, WallTime>,
    configured: &ConfiguredPolicy,
    questions: &[PolicyRequest],
) {
    let mut turn = questions.iter().cycle();
    group.bench_function("bare-wasmtime", |bencher| {
        bencher.iter_custom(|iterations| {
            let call = || {
                bench_support::time(configured, turn.next().expect("a cycle does not end"))
                    .expect("it answers")
            };
            std::iter::repeat_with(call).take(usize::try_from(iterations).expect("it fits")).sum()
        });
    });
}

/// What a policy in Rust costs without a sandbox: the phrases are searched for, the objectives walked.
fn native(group: &mut BenchmarkGroup<'_, WallTime>, questions: &[PolicyRequest]) {
    let phrases = aho_corasick::AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(["prompt is too long", "context window", "maximum context length", "conversation is too long"])
        .expect("some phrases");
    let mut turn = questions.iter().cycle();
    group.bench_function("native", |bencher| {
        bencher.iter(|| {
            let question = turn.next().expect("a cycle does not end");
            let found =
                question.texts.iter().filter_map(|text| text.body()).flat_map(|text| phrases.find_iter(text));
            let open = match &question.query {
                PolicyQuery::Prompting(seen) => {
                    seen.objectives.iter().filter(|o| o.status == ObjectiveStatus::Open).count()
                }
                _ => 0,
            };
            black_box((found.count(), open))
        });
    });
}

/// What a hook of the usual kind costs: a shell that greps.
fn hook_process(group: &mut BenchmarkGroup<'_, WallTime>, questions: &[PolicyRequest]) {
    let mut turn = questions.iter().cycle();
    group.bench_function("hook-process", |bencher| {
        bencher.iter(|| {
            let question = turn.next().expect("a cycle does not end");
            let mut child = Command::new("sh")
                .args(["-c", "grep -qi 'prompt is too long'"])
                .stdin(Stdio::piped())
                .spawn()
                .expect("a shell");
            let mut stdin = child.stdin.take().expect("a pipe");
            // A grep that has found its phrase reads no further.
            let _ = stdin.write_all(question.texts[0].body().unwrap_or_default().as_bytes());
            drop(stdin);
            child.wait().expect("it ends")
        });
    });
}

/// A start of the host: with the component compiled before, and without.
fn loading(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let with_cache = EngineConfig { cache_dir: Some(folder.path().join("aot")), ..EngineConfig::default() };
    let cached = Engine::new(with_cache).expect("an engine");
    let uncached = Engine::new(EngineConfig::default()).expect("an engine");
    let load = |engine: &Engine| {
        let started = Instant::now();
        let policy = engine.load(BUILTIN_NAME, builtin_bytes()).expect("the built-in policy loads");
        (started.elapsed(), policy.from_cache())
    };
    load(&cached);
    let mut group = criterion.benchmark_group("load");
    for (name, engine, from_cache) in [("compiled-before", &cached, true), ("compiling", &uncached, false)] {
        group.sample_size(if from_cache { 100 } else { 10 });
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|iterations| {
                let mut total = Duration::ZERO;
                for _ in 0..iterations {
                    let (took, cached) = load(engine);
                    assert_eq!(cached, from_cache);
                    total += took;
                }
                total
            });
        });
    }
    group.finish();
}

criterion_group!(benches, decisions, chain, loading);
criterion_main!(benches);
