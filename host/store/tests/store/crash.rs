//! A killed host: at every commit, the rows on disk are a prefix of the appended ones, cut between two appends, and include
//! everything that was confirmed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use baton_core::RunId;
use baton_store::{Durability, Journal, JournalEntry, JournalOptions, StateDir};
use proptest::prelude::*;

use crate::{StoreFixture, prompt, read, started, text_entry};

/// One append of one producer: how many entries, and whether it waits.
#[derive(Clone, Debug)]
struct AppendStep {
    run: usize,
    entries: u64,
    durable: bool,
}

/// The state on disk at one moment, and the number of confirmed entries of each run at that moment.
type CrashState = (StateDir, [u64; 3]);

fn steps() -> impl Strategy<Value = Vec<AppendStep>> {
    let step = (0..3_usize, 1..5_u64, any::<bool>());
    prop::collection::vec(
        step.prop_map(|(run, entries, durable)| AppendStep { run, entries, durable }),
        1..24,
    )
}

/// The entries of the n-th append of a run that has `last` entries already.
fn entries(run: &RunId, last: u64, count: u64) -> Vec<JournalEntry> {
    let entry = |seq| match seq {
        1 => started(run),
        _ if seq % 3 == 0 => prompt(seq, seq, &format!("prompt {seq} of {run}")),
        _ => text_entry(seq, &format!("{run} says {seq}")),
    };
    (last + 1..=last + count).map(entry).collect()
}

/// The state on disk after a SIGKILL at this moment: the files as they are.
fn copy_files(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        // The shared memory dies with the host's kernel state at the latest; SQLite must do without it.
        if name.starts_with("journal.sqlite") && !name.ends_with("-shm") {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whenever_the_host_is_killed_a_prefix_is_left(steps in steps()) {
        // D8
        let place = StoreFixture::new();
        let runs: Vec<RunId> = (0..3).map(|n| RunId::new(format!("run-{n}"))).collect();
        let crashes: Arc<Mutex<Vec<CrashState>>> = Arc::default();
        let confirmed: Arc<Mutex<[u64; 3]>> = Arc::default();

        let snapshot = |moment: &'static str| -> Box<dyn Fn(u64) + Send> {
            let (state, root) = (place.state.clone(), place.folder.path().to_owned());
            let (crashes, confirmed) = (Arc::clone(&crashes), Arc::clone(&confirmed));
            Box::new(move |ordinal| {
                let copy: PathBuf = root.join(format!("crash-{moment}-{ordinal}"));
                let copy = StateDir::open(&copy, state.workspace()).unwrap();
                copy_files(state.path(), copy.path());
                crashes.lock().unwrap().push((copy, *confirmed.lock().unwrap()));
            })
        };
        let options = JournalOptions {
            before_commit: Some(snapshot("before")),
            after_commit: Some(snapshot("after")),
            max_pages: None,
        };
        let journal = Journal::open_with(&place.state, options).unwrap();

        // The lengths of each run after each append.
        let (mut last, mut cuts) = ([0_u64; 3], [vec![0_u64], vec![0], vec![0]]);
        for AppendStep { run, entries: count, durable } in &steps {
            let new = entries(&runs[*run], last[*run], *count);
            last[*run] += count;
            cuts[*run].push(last[*run]);
            let (end, confirmed, run) = (last[*run], Arc::clone(&confirmed), *run);
            let durability = if *durable { Durability::Durable } else { Durability::Telemetry };
            journal.append(&runs[run], new, durability, move |answer| {
                answer.unwrap();
                confirmed.lock().unwrap()[run] = end;
            });
        }
        journal.flush().unwrap();
        for (n, run) in runs.iter().enumerate() {
            prop_assert_eq!(read(&journal, run), entries(run, 0, last[n]));
        }
        drop(journal);

        let crashes = std::mem::take(&mut *crashes.lock().unwrap());
        prop_assert!(crashes.len() >= 2);
        for (state, confirmed) in crashes {
            let journal = Journal::open(&state).unwrap();
            for (n, run) in runs.iter().enumerate() {
                let found = read(&journal, run);
                let length = found.len() as u64;
                prop_assert!(cuts[n].contains(&length), "{} is cut inside an append: {}", run, length);
                prop_assert!(length >= confirmed[n], "{} lost what was confirmed", run);
                prop_assert_eq!(&found, &entries(run, 0, length));
                // It continues from there.
                journal.append_wait(run, entries(run, length, 1), Durability::Durable).unwrap();
            }
        }
    }

    #[test]
    fn producers_in_any_interleaving_keep_the_order_of_their_run(steps in steps()) {
        let place = StoreFixture::new();
        let journal = place.journal();
        let runs: Vec<RunId> = (0..3).map(|n| RunId::new(format!("run-{n}"))).collect();
        std::thread::scope(|scope| {
            for (n, run) in runs.iter().enumerate() {
                let (journal, steps) = (journal.clone(), &steps);
                scope.spawn(move || {
                    let mut last = 0;
                    for step in steps.iter().filter(|step| step.run == n) {
                        let durability = if step.durable { Durability::Durable } else { Durability::Telemetry };
                        journal.append(run, entries(run, last, step.entries), durability, |answer| answer.unwrap());
                        last += step.entries;
                    }
                });
            }
        });
        journal.flush().unwrap();
        for (n, run) in runs.iter().enumerate() {
            let count = steps.iter().filter(|step| step.run == n).map(|step| step.entries).sum();
            prop_assert_eq!(read(&journal, run), entries(run, 0, count));
        }
    }
}
