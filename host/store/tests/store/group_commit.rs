//! The cost of a commit, and the appends that share it: only entries that must survive wait for the disk.

use std::sync::mpsc::channel;

use baton_core::RunId;
use baton_store::Durability;

use crate::{StoreFixture, prompt, read, started, text_entry};

#[test]
fn sixteen_producers_share_a_commit() {
    const PRODUCERS: u64 = 16;
    let place = StoreFixture::new();
    let (journal, let_go) = place.held_journal(&RunId::new("first"));
    let (tell, told) = channel();
    let append = |run: &RunId| {
        let tell = tell.clone();
        journal.append(
            run,
            vec![started(run), prompt(2, 1, run.as_str())],
            Durability::Durable,
            move |answer| {
                tell.send(answer).unwrap();
            },
        );
    };
    std::thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let append = &append;
            scope.spawn(move || append(&RunId::new(format!("p{producer}"))));
        }
    });
    let_go.send(()).unwrap();
    for answer in told.iter().take(PRODUCERS as usize) {
        answer.unwrap();
    }
    let stats = journal.stats();
    assert_eq!((stats.commits, stats.synced_commits), (2, 2));
    assert_eq!(stats.rows, 2 * PRODUCERS + 1);
    assert_eq!(journal.runs().unwrap().len() as u64, PRODUCERS + 1);
}

#[test]
fn only_what_must_survive_waits_for_the_disk() {
    const EVENTS: u64 = 2_000;
    let place = StoreFixture::new();
    let journal = place.journal();
    let run = RunId::new("r");
    journal.append_wait(&run, vec![started(&run)], Durability::Durable).unwrap();
    let (tell, told) = channel();
    for n in 0..EVENTS {
        let tell = tell.clone();
        let done = move |answer: Result<(), _>| tell.send(answer).unwrap();
        journal.append(&run, vec![text_entry(n + 2, "a line of the answer")], Durability::Telemetry, done);
    }
    journal.append_wait(&run, vec![prompt(EVENTS + 2, 1, "go on")], Durability::Durable).unwrap();
    // Order of calls is order in the journal: when the intent is on disk, all telemetry before it is.
    let answers: Vec<_> = told.try_iter().collect();
    assert_eq!(answers.len() as u64, EVENTS);
    assert!(answers.into_iter().all(|answer| answer.is_ok()));
    let stats = journal.stats();
    assert_eq!(stats.rows, EVENTS + 2);
    assert_eq!(stats.synced_commits, 2, "{stats:?}");
    assert!(stats.commits <= EVENTS / 10, "telemetry is batched: {stats:?}");
    assert_eq!(read(&journal, &run).len() as u64, EVENTS + 2);
}

#[test]
fn telemetry_alone_is_committed_without_being_asked_for() {
    let place = StoreFixture::new();
    let journal = place.journal();
    let run = RunId::new("r");
    let entries = vec![started(&run), text_entry(2, "a")];
    journal.append_wait(&run, entries.clone(), Durability::Telemetry).unwrap();
    assert_eq!(read(&journal, &run), entries);
    assert_eq!(journal.stats().synced_commits, 0);
    journal.append(&run, vec![text_entry(3, "b")], Durability::Telemetry, |_| ());
    journal.flush().unwrap();
    assert_eq!(read(&journal, &run).len(), 3);
}
