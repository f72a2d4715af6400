//! Cost of a replay, journal reading included, compared with bare fresh instances of the same component on the same questions:
//! `cargo bench -p baton-lab --bench replay`. The journal holds played runs with many sessions, whose agents take twelve turns
//! for each prompt. The candidate is asked only the passive question, whether a session is exhausted, and each rate counts
//! those questions. Compare ratios, not times.

#[path = "../tests/lab/relay/mod.rs"]
mod relay;

use std::collections::BTreeMap;

use baton_core::action::Action;
use baton_core::decision::Fault;
use baton_core::observation::{Capability, PolicyQuery, PolicyRequest};
use baton_core::{Input, JournaledInput, RunId};
use baton_engine::{
    BUILTIN_NAME, ConfiguredPolicy, Engine, EngineConfig, PolicyAnswer, bench_support, builtin_bytes,
};
use baton_lab::replay::{InstanceMode, RecordedRun, ReplayOptions, replay, replay_with};
use baton_store::{Durability, Journal, JournalEntry, StateDir};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

use relay::{FakeHost, ScriptedOutcome};

/// Decisions of the journal.
const DECISIONS: usize = 20_000;
/// What an agent does before it comes to an end.
const TURNS: u64 = 12;

fn replays(criterion: &mut Criterion) {
    let cores = rayon::current_num_threads();
    let decisions_in_flight = u32::try_from(3 * cores + 4).expect("some cores");
    let engine = Engine::new(EngineConfig { decisions_in_flight, ..EngineConfig::default() });
    let policy = built_in(&engine.expect("an engine"));
    let folder = tempfile::tempdir().expect("a folder");
    let runs = journal(folder.path());
    let questions = passive(&runs[0]);
    let asked = ReplayOptions { decides: [Capability::Exhaustion].into(), kept: 20 };

    let mut group = criterion.benchmark_group("replay");
    group.sample_size(10);
    group.throughput(Throughput::Elements(questions.len() as u64));
    group.bench_function("bare instances", |bencher| {
        let all = || questions.iter().filter_map(|question| bench_support::time(&policy, question));
        bencher.iter_custom(|times| (0..times).flat_map(|_| all()).sum());
    });
    group.throughput(Throughput::Elements((questions.len() * runs.len()) as u64));
    let nobody = |_: &PolicyRequest| -> PolicyAnswer { Err(Fault::OutOfFuel { limit: 0 }) };
    for threads in [1, cores] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        group.bench_function(BenchmarkId::new("nobody is asked", threads), |bencher| {
            bencher.iter(|| pool.install(|| replay_with(&runs, &asked, &nobody)).expect("it is replayed"));
        });
        for (name, instances) in
            [("fresh instances", InstanceMode::Fresh), ("kept instances", InstanceMode::Kept)]
        {
            group.bench_function(BenchmarkId::new(name, threads), |bencher| {
                bencher.iter(|| {
                    pool.install(|| replay(&runs, &asked, &policy, instances)).expect("it is replayed")
                });
            });
        }
    }
    group.finish();
}

fn built_in(engine: &Engine) -> ConfiguredPolicy {
    let policy = engine.load(BUILTIN_NAME, builtin_bytes()).expect("the built-in policy loads");
    policy.configure(&BTreeMap::new()).expect("its defaults are good")
}

/// A journal with at least [`DECISIONS`] decisions, in as many runs as that takes.
fn journal(folder: &std::path::Path) -> Vec<RecordedRun> {
    let state = StateDir::open(&folder.join("state"), folder).expect("a state folder");
    let journal = Journal::open(&state).expect("a journal");
    let (mut runs, mut written) = (Vec::new(), 0);
    while written < DECISIONS {
        let run = RunId::new(format!("r{}", runs.len()));
        let script = [ScriptedOutcome::Exhaust, ScriptedOutcome::Finish].repeat(8);
        let mut world =
            FakeHost::new(script, 2, 3, "plain words of an agent").named(run.as_str()).with_turns(TURNS);
        world.go();
        written += world.entries.iter().filter(|entry| is_decided(entry)).count();
        journal.append_wait(&run, world.entries, Durability::Telemetry).expect("it is written");
        runs.push(RecordedRun { journal: journal.clone(), run, artifacts: None });
    }
    journal.flush().expect("it is written");
    runs
}

fn is_decided(entry: &JournalEntry) -> bool {
    matches!(entry, JournalEntry::Input(JournaledInput { input: Input::Decided { .. }, .. }))
}

/// The passive questions of a run. Every run has as many.
fn passive(run: &RecordedRun) -> Vec<PolicyRequest> {
    let entries = run.journal.read(&run.run).expect("a run").map(|entry| entry.expect("an entry"));
    let asked = |entry| match entry {
        JournalEntry::Intent { intent, .. } => match intent.action {
            Action::RequestDecision { request, .. } => Some(request),
            _ => None,
        },
        JournalEntry::Input(_) => None,
    };
    entries
        .filter_map(asked)
        .filter(|question| matches!(question.query, PolicyQuery::Exhaustion(_)))
        .collect()
}

criterion_group!(benches, replays);
criterion_main!(benches);
