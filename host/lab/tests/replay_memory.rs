//! A replay needs no more memory for a long record than for a short one. Each record is read by its own process, which reports
//! its peak memory.

#[path = "lab/relay/mod.rs"]
mod relay;

use std::path::Path;
use std::process::Command;

use baton_core::RunId;
use baton_core::observation::Capability;
use baton_engine::{BUILTIN_NAME, ConfiguredPolicy, Engine, EngineConfig, builtin_bytes};
use baton_lab::replay::{InstanceMode, RecordedRun, ReplayOptions, replay};
use baton_store::{Durability, Journal, StateDir};

use relay::{FakeHost, ScriptedOutcome};

/// Tells a child what to read.
const CHILD: &str = "BATON_TEST_REPLAY_MEMORY";
/// What a longer record may need beyond a shorter one. A question takes some KiB: those of the longest run here, all
/// held at a time, would be more than twice this.
const ALLOWED_KIB: u64 = 16 * 1024;

#[test]
fn a_run_ten_times_as_long_needs_no_more_memory() {
    compare((1, 150), (1, 1_500));
}

#[test]
#[ignore = "writes some gigabytes, and takes minutes where nothing is optimised"]
fn a_million_decisions_need_no_more_memory_than_a_hundred_thousand() {
    compare((10, 1_500), (100, 1_500));
}

#[test]
#[ignore = "what the tests above start"]
fn replays_what_the_variable_names() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let folder = Path::new(&folder);
    let journal = Journal::open_read_only(&StateDir::open(&folder.join("state"), folder).unwrap()).unwrap();
    let runs: Vec<_> = journal.runs().unwrap().into_iter().map(|summary| summary.run).collect();
    let runs: Vec<_> =
        runs.into_iter().map(|run| RecordedRun { journal: journal.clone(), run, artifacts: None }).collect();
    let asked = ReplayOptions { decides: Capability::ALL.into(), kept: 20 };
    let replayed = replay(&runs, &asked, &built_in(), InstanceMode::Kept).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("{CHILD} {} {}", replayed.questions, peak.trim().trim_end_matches(" kB"));
}

/// Compares the peak memory for two journals, each given as its number of runs and of turns per prompt.
#[track_caller]
fn compare(short: (usize, u64), long: (usize, u64)) {
    // Compiled here, so that no child has to.
    drop(built_in());
    let (few, short) = child(short);
    let (many, long) = child(long);
    assert!(many >= 9 * few, "{few} and {many} decisions");
    assert!(long <= short + ALLOWED_KIB, "{few} decisions: {short} KiB, {many} decisions: {long} KiB");
    println!("{few} decisions: {short} KiB, {many} decisions: {long} KiB");
}

/// Decisions that were replayed, and the KiB that it took.
fn child((runs, turns): (usize, u64)) -> (u64, u64) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), runs, turns);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "replays_what_the_variable_names", "--nocapture"])
        .env(CHILD, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let told = said.lines().find_map(|line| line.split_once(CHILD)).expect(&said).1;
    let (decisions, kib) = told.trim().split_once(' ').unwrap();
    (decisions.parse().unwrap(), kib.parse().unwrap())
}

fn write(folder: &Path, runs: usize, turns: u64) {
    let journal = Journal::open(&StateDir::open(&folder.join("state"), folder).unwrap()).unwrap();
    for n in 0..runs {
        let run = RunId::new(format!("r{n}"));
        let script = [ScriptedOutcome::Exhaust, ScriptedOutcome::Finish].repeat(8);
        let mut world =
            FakeHost::new(script, 2, 3, "plain words of an agent").named(run.as_str()).with_turns(turns);
        world.go();
        journal.append_wait(&run, world.entries, Durability::Telemetry).unwrap();
    }
    journal.flush().unwrap();
}

fn built_in() -> ConfiguredPolicy {
    let cache_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("aot"));
    let config = EngineConfig { cache_dir, decisions_in_flight: 12, ..EngineConfig::default() };
    let engine = Engine::new(config).unwrap();
    engine.load(BUILTIN_NAME, builtin_bytes()).unwrap().configure(&Default::default()).unwrap()
}
