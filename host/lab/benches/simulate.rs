//! How fast whole workflows are simulated: the real core, the real components, two arms. `cargo bench -p baton-lab --bench
//! simulate`; a rate counts workflows.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use baton_core::observation::Capability;
use baton_core::workflow::Workflow;
use baton_core::workflow::file::parse;
use baton_engine::{BUILTIN_NAME, ConfiguredPolicy, Engine, EngineConfig, Router, builtin_bytes};
use baton_lab::simulate::{Model, SimulatedArm, fleet};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Seeds of a simulation.
const SEEDS: u64 = 20;
/// Objectives of the workflows that are simulated.
const OBJECTIVES: [usize; 2] = [6, 20];

fn simulations(criterion: &mut Criterion) {
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let built_in =
        engine.load(BUILTIN_NAME, builtin_bytes()).map(|policy| policy.configure(&BTreeMap::new()));
    let built_in = built_in.expect("the built-in policy").expect("its defaults");
    let cores = rayon::current_num_threads();
    let mut group = criterion.benchmark_group("simulate");
    group.sample_size(10);
    for objectives in OBJECTIVES {
        let workflow = workflow(objectives);
        let arms = ["a", "b"].map(|name| arm(name, &workflow, &engine, &built_in));
        group.throughput(Throughput::Elements(SEEDS * arms.len() as u64));
        for threads in [1, cores] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let id = BenchmarkId::new(format!("{objectives} objectives"), threads);
            group.bench_function(id, |bencher| {
                let stop = AtomicBool::new(false);
                let simulate = || fleet(&arms, &Model::default(), 1, SEEDS, |_, _| {}, &stop);
                bencher.iter(|| pool.install(simulate).expect("a simulation"));
            });
        }
    }
    group.finish();
}

fn workflow(objectives: usize) -> Workflow {
    let mut text = String::from(
        "name = \"bench\"\ngoal = \"Measure.\"\nagent = \"claude\"\n[[phases]]\nid = \"p\"\nverify = \"make check\"\n",
    );
    for n in 0..objectives {
        write!(
            text,
            "[[phases.objectives]]\nid = \"o{n}\"\ndescription = \"Make piece {n}.\"\nfiles = [\"src/{n}.rs\"]\n"
        )
        .expect("a text takes everything");
    }
    parse(&text, "bench.toml", "/bench").expect("a workflow")
}

fn arm(name: &str, workflow: &Workflow, engine: &Engine, built_in: &ConfiguredPolicy) -> SimulatedArm {
    let (engine, built_in) = (engine.clone(), built_in.clone());
    let configured: BTreeMap<_, _> =
        Capability::ALL.into_iter().map(|of| (of, built_in.clone().into())).collect();
    SimulatedArm {
        name: name.to_owned(),
        workflow: workflow.clone(),
        bindings: Vec::new(),
        blobs: Vec::new(),
        router: Box::new(move || Router::with_built_in(&engine, configured.clone(), built_in.clone())),
        loaded: Box::new(|_| None),
    }
}

criterion_group!(benches, simulations);
criterion_main!(benches);
