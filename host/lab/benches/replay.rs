//! What a replay costs, journal reading included, beside bare fresh instances of the same component on the same questions:
//! `cargo bench -p baton-lab --bench replay`. The journal is of played runs with many sessions, whose agents take twelve turns for
//! each prompt; asked is what is passive, whether a session is exhausted. Compare ratios, not times. `-- 1000000` says how many
//! decisions are read, and all of them asked, where memory is measured.

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
/// The bare instances answer the questions of one run so often.
const BARE_TIMES: usize = 20;
/// What an agent does before it comes to an end.
const TURNS: u64 = 12;
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
    let asked = Asked { decides: [Capability::Exhaustion].into(), kept: 20 };
    let questions = questions(&runs[0]);
    println!(
        "{} runs, {decisions} decisions, {} of them passive, {} cores",
        runs.len(),
        questions.len() * runs.len(),
        rayon::current_num_threads()
    );

    let bare = best(|| {
        let each = std::iter::repeat_n(&questions, BARE_TIMES).flatten();
        let each = each.filter_map(|question| bare::time(&policy, question));
        each.fold((0, Duration::ZERO), |(n, sum), took| (n + 1, sum + took))
    });
    println!("{:<34}{:>12.0}/s", "bare fresh instances, one core", bare);
    let nobody = |_: &Question| -> Result<Decision, Fault> { Err(Fault::OutOfFuel { limit: 0 }) };
    let mut on_one = BTreeMap::new();
    for threads in [1, rayon::current_num_threads()] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut row = |name: &'static str, rate: f64| {
            let (ratio, scaling) = (rate / bare / threads as f64, rate / *on_one.entry(name).or_insert(rate));
            println!(
                "{:<34}{rate:>12.0}/s{ratio:>8.2} of bare a core{scaling:>8.2} of one thread",
                format!("{name}, {threads} threads")
            );
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

/// How many questions were put.
trait Counted {
    fn count(&self) -> u64;
}

impl Counted for baton_lab::replay::Replayed {
    fn count(&self) -> u64 {
        self.functions.values().map(|function| function.on_course.asked() + function.off_course.asked()).sum()
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
    let state = StateDir::open(&folder.join("state"), folder).expect("a state folder");
    let journal = Journal::open(&state).expect("a journal");
    let (mut runs, mut written) = (Vec::new(), 0);
    while written < decisions {
        let run = RunId::new(format!("r{}", runs.len()));
        let script = [Does::Exhaust, Does::Finish].repeat(8);
        let mut world =
            World::new(script, 2, 3, "plain words of an agent").named(run.as_str()).with_turns(TURNS);
        world.go();
        written += world.entries.iter().filter(|entry| is_decided(entry)).count();
        journal.append_wait(&run, world.entries, Durability::Telemetry).expect("it is written");
        runs.push(Recorded { journal: journal.clone(), run, artifacts: None });
    }
    journal.flush().expect("it is written");
    (runs, written)
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
    entries.filter_map(asked).filter(|question| matches!(question.ask, Ask::Assess(_))).collect()
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
