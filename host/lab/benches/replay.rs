//! What a replay costs, journal reading included, beside bare fresh instances of the same component on the same questions:
//! `cargo bench -p baton-lab --bench replay`. The journal is made of one played run with many sessions at work, written under many
//! names. Compare ratios, not times. `-- 1000000` says how many decisions are read where memory is measured.

#[path = "../tests/relay/mod.rs"]
mod relay;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use baton_core::action::Action;
use baton_core::decision::{Decision, Fault};
use baton_core::observation::{Ask, Capability, Question};
use baton_core::{Input, RunId, Stamped};
use baton_engine::{BUILTIN_NAME, Configured, Engine, EngineConfig, bare, builtin_bytes};
use baton_lab::replay::{Asked, Instances, Recorded, replay, replay_with};
use baton_store::{Durability, Entry, Journal, StateDir};

use relay::{Does, World};

/// Decisions of the journal of the table.
const DECISIONS: usize = 20_000;
/// Each row is measured so often, and the best is taken: whatever else the machine does only makes it slower.
const TIMES: usize = 5;
/// Decisions of the two journals by which memory is measured.
const MEMORY_DECISIONS: [usize; 2] = [100_000, 1_000_000];
/// Tells a child of this bench what to read.
const CHILD: &str = "BATON_BENCH_REPLAY";

fn main() {
    if let Ok(folder) = std::env::var(CHILD) {
        return child(&folder);
    }
    let engine = engine();
    let policy = built_in(&engine);
    let folder = tempfile::tempdir().expect("a folder");
    let (runs, decisions) = journal(folder.path(), DECISIONS);
    let asked = Asked { decides: [Capability::Exhaustion, Capability::Handoff].into(), kept: 20 };
    let questions = questions(&runs[0]);
    println!("{} runs, {decisions} decisions, {} cores", runs.len(), rayon::current_num_threads());

    let bare = best(|| {
        let each = questions.iter().filter_map(|question| bare::time(&policy, question));
        let (count, took) = each.fold((0, Duration::ZERO), |(n, sum), took| (n + 1, sum + took));
        (count, took)
    });
    println!("{:<34}{:>12.0}/s", "bare fresh instances, one core", bare);
    let nobody = |_: &Question| -> Result<Decision, Fault> { Err(Fault::OutOfFuel { limit: 0 }) };
    for threads in [1, rayon::current_num_threads()] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let row = |name: &str, rate: f64| {
            let ratio = rate / bare / threads as f64;
            println!("{:<34}{rate:>12.0}/s{ratio:>8.2} of bare a core", format!("{name}, {threads} threads"));
        };
        row(
            "reading, nobody is asked",
            best(|| pool.install(|| timed(|| replay_with(&runs, &asked, &nobody)))),
        );
        for (name, instances) in [("fresh instances", Instances::Fresh), ("kept instances", Instances::Kept)]
        {
            row(name, best(|| pool.install(|| timed(|| replay(&runs, &asked, &policy, instances)))));
        }
    }
    drop(folder);
    let given = std::env::args().filter_map(|argument| argument.parse().ok()).collect::<Vec<usize>>();
    let sizes = if given.is_empty() { MEMORY_DECISIONS.to_vec() } else { given };
    for size in sizes {
        let folder = tempfile::tempdir().expect("a folder");
        let (_, decisions) = journal(folder.path(), size);
        let own = std::env::current_exe().expect("this bench");
        let output = Command::new(own).env(CHILD, folder.path()).output().expect("a child");
        println!("{decisions} decisions: {}", String::from_utf8_lossy(&output.stdout).trim());
    }
}

fn timed<T, E: std::fmt::Debug>(what: impl FnOnce() -> Result<T, E>) -> (u64, Duration)
where
    T: Counted,
{
    let started = Instant::now();
    let found = what().expect("it is replayed");
    (found.count(), started.elapsed())
}

/// How many questions came of it.
trait Counted {
    fn count(&self) -> u64;
}

impl Counted for baton_lab::replay::Replayed {
    fn count(&self) -> u64 {
        self.questions
    }
}

/// The best rate a second.
fn best(mut what: impl FnMut() -> (u64, Duration)) -> f64 {
    let rates = std::iter::repeat_with(|| {
        let (count, took) = what();
        count as f64 / took.as_secs_f64()
    });
    rates.take(TIMES).fold(0.0, f64::max)
}

fn engine() -> Engine {
    let decisions_in_flight = 3 * rayon::current_num_threads() as u32 + 4;
    Engine::new(EngineConfig { decisions_in_flight, ..EngineConfig::default() }).expect("an engine")
}

fn built_in(engine: &Engine) -> Configured {
    let policy = engine.load(BUILTIN_NAME, builtin_bytes()).expect("the built-in policy loads");
    policy.configure(&BTreeMap::new()).expect("its defaults are good")
}

/// A journal with so many decisions at least, in as many runs as that takes.
fn journal(folder: &std::path::Path, decisions: usize) -> (Vec<Recorded>, usize) {
    let mut world = World::new([Does::Exhaust, Does::Finish].repeat(8), 2, 3, "plain words of an agent");
    world.go();
    let of_one = world.entries.iter().filter(|entry| is_decided(entry)).count();
    let state = StateDir::open(&folder.join("state"), folder).expect("a state folder");
    let journal = Journal::open(&state).expect("a journal");
    let mut runs = Vec::new();
    for n in 0..decisions.div_ceil(of_one) {
        let run = RunId::new(format!("r{n}"));
        let mut entries = world.entries.clone();
        if let Some(Entry::Input(Stamped { input: Input::Started { run: id, .. }, .. })) = entries.first_mut()
        {
            *id = run.clone();
        }
        journal.append_wait(&run, entries, Durability::Telemetry).expect("it is written");
        runs.push(Recorded { journal: journal.clone(), run, artifacts: None });
    }
    journal.flush().expect("it is written");
    let decisions = of_one * runs.len();
    (runs, decisions)
}

fn is_decided(entry: &Entry) -> bool {
    matches!(entry, Entry::Input(Stamped { input: Input::Decided { .. }, .. }))
}

/// The questions of a run that the floor can be measured on.
fn questions(run: &Recorded) -> Vec<Question> {
    let entries = run.journal.read(&run.run).expect("a run").map(|entry| entry.expect("an entry"));
    let asked = |entry| match entry {
        Entry::Intent { intent, .. } => match intent.action {
            Action::RequestDecision { question, .. } => Some(question),
            _ => None,
        },
        Entry::Input(_) => None,
    };
    entries.filter_map(asked).filter(|q| matches!(q.ask, Ask::Assess(_) | Ask::Brief(_))).collect()
}

/// Replays a journal and tells the most memory that it ever had.
fn child(folder: &str) {
    let folder = std::path::Path::new(folder);
    let state = StateDir::open(&folder.join("state"), folder).expect("a state folder");
    let journal = Journal::open_read_only(&state).expect("a journal");
    let runs = journal.runs().expect("its runs").into_iter().map(|summary| Recorded {
        journal: journal.clone(),
        run: summary.run,
        artifacts: None,
    });
    let runs: Vec<_> = runs.collect();
    let engine = engine();
    let asked = Asked { decides: Capability::ALL.into(), kept: 20 };
    let started = Instant::now();
    let found = replay(&runs, &asked, &built_in(&engine), Instances::Kept).expect("it is replayed");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    println!("{:.1} s, {} differences, {peak}", started.elapsed().as_secs_f64(), found.differences.len());
}
