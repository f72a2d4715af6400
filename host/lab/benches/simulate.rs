//! How many whole workflows a minute are simulated: the real core, the real components, two arms, every core of the machine.
//! `cargo bench -p baton-lab --bench simulate` prints the table; the gate is 1,000 a minute.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use baton_core::observation::Capability;
use baton_core::workflow::file::parse;
use baton_engine::{BUILTIN_NAME, Engine, EngineConfig, Router, builtin_bytes};
use baton_lab::simulate::{Arm, Model, fleet};

/// Seeds of each row: some seconds.
const SEEDS: u64 = 200;
/// Objectives of the workflows that are simulated.
const OBJECTIVES: [usize; 2] = [6, 20];
const GATE_A_MINUTE: f64 = 1_000.0;

fn main() {
    // `cargo test --benches` asks only whether it starts.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let built_in =
        engine.load(BUILTIN_NAME, builtin_bytes()).map(|policy| policy.configure(&BTreeMap::new()));
    let built_in = built_in.expect("the built-in policy").expect("its defaults");
    println!(
        "| objectives | threads | workflows a minute | inputs a workflow | decisions a second |\n|---|---|---|---|---|"
    );
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for objectives in OBJECTIVES {
        let mut text = String::from(
            "name = \"bench\"\ngoal = \"Measure.\"\nagent = \"claude\"\n[[phases]]\nid = \"p\"\nverify = \"make check\"\n",
        );
        for n in 0..objectives {
            text.push_str(&format!("[[phases.objectives]]\nid = \"o{n}\"\ndescription = \"Make piece {n}.\"\nfiles = [\"src/{n}.rs\"]\n"));
        }
        let workflow = parse(&text, "bench.toml", "/bench").expect("a workflow");
        let arm = |name: &str| {
            let (engine, built_in) = (engine.clone(), built_in.clone());
            let seats: BTreeMap<_, _> =
                Capability::ALL.into_iter().map(|of| (of, built_in.clone())).collect();
            let router = Box::new(move || Router::with_built_in(&engine, seats.clone(), built_in.clone()));
            Arm {
                name: name.to_owned(),
                workflow: workflow.clone(),
                pins: Vec::new(),
                blobs: Vec::new(),
                router,
            }
        };
        let arms = [arm("a"), arm("b")];
        for threads in [1, cores] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let begun = Instant::now();
            let done = pool
                .install(|| fleet(&arms, &Model::default(), 1, SEEDS, |_, _| {}, &AtomicBool::new(false)));
            let runs: Vec<_> = done.expect("a simulation").arms.into_iter().flatten().collect();
            let seconds = begun.elapsed().as_secs_f64();
            let inputs: u64 = runs.iter().map(|run| run.inputs).sum();
            let decisions: u64 = runs.iter().map(|run| run.measures.decisions).sum();
            let a_minute = runs.len() as f64 / seconds * 60.0;
            println!(
                "| {objectives} | {threads} | {a_minute:.0} | {} | {:.0} |",
                inputs / runs.len() as u64,
                decisions as f64 / seconds
            );
            if threads == cores && a_minute < GATE_A_MINUTE {
                eprintln!("fewer than the gate of {GATE_A_MINUTE:.0} a minute");
            }
        }
    }
}
