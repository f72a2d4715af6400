//! The cost of waiting for the disk: one producer that waits for each append, against sixteen that share commits. Read the two
//! as a ratio; the numbers alone say more about the disk than about the journal.

use std::hint::black_box;

use baton_core::facts::AgentEvent;
use baton_core::{Input, JournaledInput, RunId, Seq, SessionId, UnixMs, Workflow};
use baton_store::{Durability, Journal, JournalEntry, StateDir};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Appends in one measurement, of all writers.
const APPENDS: u64 = 64;
const PRODUCERS: u64 = 16;

/// A producer with a run of its own.
struct Producer {
    journal: Journal,
    run: RunId,
    seq: u64,
}

impl Producer {
    fn new(journal: &Journal, name: String) -> Self {
        let run = RunId::new(name);
        let workflow = Box::new(Workflow::default());
        let input = Input::Started {
            run: run.clone(),
            workflow,
            bindings: Vec::new(),
            task_folder: ".".to_owned(),
            utc_offset_minutes: 0,
            assignments: Vec::new(),
        };
        let mut producer = Self { journal: journal.clone(), run, seq: 0 };
        producer.append(input);
        producer
    }

    fn append(&mut self, input: Input) {
        self.seq += 1;
        let entry = JournalEntry::Input(JournaledInput { seq: Seq(self.seq), at: UnixMs(self.seq), input });
        let answer = self.journal.append_wait(&self.run, vec![entry], Durability::Durable);
        black_box(answer).expect("the journal takes it");
    }

    fn append_many(&mut self, count: u64) {
        for _ in 0..count {
            let event = AgentEvent::Text { text: "a line of an answer, as long as they are".to_owned() };
            self.append(Input::Agent { session: SessionId::new("s1"), event });
        }
    }
}

fn durable_appends(criterion: &mut Criterion) {
    // Not /tmp, which is memory on many machines.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder under target");
    let state = StateDir::open(&folder.path().join("state"), folder.path()).expect("a state directory");
    let journal = Journal::open(&state).expect("a journal");
    let mut group = criterion.benchmark_group("journal/durable-appends");
    group.throughput(Throughput::Elements(APPENDS));

    let mut alone = Producer::new(&journal, "alone".to_owned());
    group.bench_function("one-by-one", |bencher| bencher.iter(|| alone.append_many(APPENDS)));

    let mut producers: Vec<_> = (0..PRODUCERS).map(|n| Producer::new(&journal, format!("p{n}"))).collect();
    group.bench_function("sixteen-producers", |bencher| {
        bencher.iter(|| {
            std::thread::scope(|scope| {
                for producer in &mut producers {
                    scope.spawn(|| producer.append_many(APPENDS / PRODUCERS));
                }
            });
        });
    });
    group.finish();
}

criterion_group!(benches, durable_appends);
criterion_main!(benches);
