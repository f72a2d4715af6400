//! Appending and reading back: order, bodies, the list of runs, and refused appends.

use std::sync::mpsc::channel;

use baton_core::action::{Action, OffloadedInput, RunOutcome};
use baton_core::input::ActionOutcome;
use baton_core::{ActionId, Digest, Input, Intent, PhaseId, RunId, Seq, TextBlob, UnixMs};
use baton_store::{Durability, EncodedEntry, Journal, JournalEntry, JournalOptions, StoreError};

use crate::{StoreFixture, input, intent, prompt, read, samples, started, text_entry};

const DURABLE: Durability = Durability::Durable;

#[test]
fn what_was_appended_is_read_back_with_its_texts() {
    let place = StoreFixture::new();
    let (run, entries) = (samples::run(), samples::entries());
    let journal = place.journal();
    for entry in &entries {
        journal.append_wait(&run, vec![entry.clone()], Durability::Telemetry).unwrap();
    }
    assert_eq!(read(&journal, &run), entries);
    drop(journal);

    let journal = Journal::open_read_only(&place.state).unwrap();
    assert_eq!(read(&journal, &run), entries, "after reopening");
    let tail: Vec<JournalEntry> =
        journal.read_after(&run, Seq(3)).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(tail, entries[3..]);
    assert_eq!(journal.last_seq(&run).unwrap(), Seq(entries.len() as u64));
}

#[test]
fn a_sealed_intent_is_known_by_its_bytes_and_opens_with_its_texts() {
    let place = StoreFixture::new();
    let (run, entries) = (samples::run(), samples::entries());
    let journal = place.journal();
    journal.append_wait(&run, entries.clone(), DURABLE).unwrap();
    let intents: Vec<_> = entries.iter().filter_map(as_intent).collect();
    let mut read = journal.read(&run).unwrap();
    let mut opened = 0;
    for entry in &entries {
        match (read.next_sealed().unwrap().unwrap(), entry) {
            (EncodedEntry::Input(stamped), JournalEntry::Input(recorded)) => assert_eq!(stamped, *recorded),
            (EncodedEntry::Intent(sealed), JournalEntry::Intent { seq, at, intent }) => {
                assert_eq!((sealed.seq(), sealed.at()), (*seq, *at));
                for other in &intents {
                    assert_eq!(sealed.is_written_as(other), *other == intent, "{intent:?}, {other:?}");
                }
                assert_eq!(read.open(&sealed).unwrap(), *intent);
                opened += 1;
            }
            (sealed, entry) => panic!("{sealed:?} is no {entry:?}"),
        }
    }
    assert!(read.next_sealed().is_none() && opened > 10, "{opened}");
}

fn as_intent(entry: &JournalEntry) -> Option<&Intent> {
    match entry {
        JournalEntry::Intent { intent, .. } => Some(intent),
        JournalEntry::Input(_) => None,
    }
}

#[test]
fn a_row_holds_references_and_the_body_is_kept_once() {
    // D6: an entry is small, however large the content that it refers to.
    let place = StoreFixture::new();
    let run = RunId::new("r");
    let body = "x".repeat(100_000);
    let journal = place.journal();
    let entries = vec![started(&run), prompt(2, 1, &body), prompt(3, 2, &body)];
    journal.append_wait(&run, entries, DURABLE).unwrap();
    drop(journal);
    let raw = rusqlite::Connection::open(place.state.journal()).unwrap();
    let largest: i64 = raw.query_row("SELECT max(length(body)) FROM entry", [], |row| row.get(0)).unwrap();
    let (blobs, bytes): (i64, i64) = raw
        .query_row("SELECT count(*), sum(length(bytes)) FROM blob", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert!(largest < 2_000, "{largest}");
    assert_eq!((blobs, bytes), (1, 100_000));
}

#[test]
fn what_is_kept_out_of_a_prompt_is_read_back_whole() {
    // C4: a host that died before it was saved saves it again.
    let place = StoreFixture::new();
    let run = RunId::new("r");
    let item = |name: &str, text: &str| OffloadedInput { name: name.into(), text: TextBlob::new(text) };
    let items =
        vec![item("inputs/phase-1/findings.md", "expected 4"), item("inputs/phase-1/b.md", "Write b.")];
    let entries = vec![started(&run), intent(2, 1, Action::Offload { phase: PhaseId::new("1"), items })];
    place.journal().append_wait(&run, entries.clone(), DURABLE).unwrap();
    let back = read(&Journal::open_read_only(&place.state).unwrap(), &run);
    assert_eq!(back, entries);
    let JournalEntry::Intent { intent, .. } = &back[1] else { panic!("{back:?}") };
    let bodies: Vec<_> = intent.action.texts().into_iter().map(TextBlob::body).collect();
    assert_eq!(bodies, [Some("expected 4"), Some("Write b.")]);
}

#[test]
fn runs_are_listed_with_their_state() {
    let place = StoreFixture::new();
    let journal = place.journal();
    assert_eq!(journal.latest().unwrap(), None);
    let (done, stopped) = (RunId::new("b-done"), RunId::new("a-stopped"));
    let finish = |ending| intent(2, 7, Action::Finish { ending });
    let announced = input(3, Input::Outcome { action: ActionId(7), outcome: ActionOutcome::Announced });

    journal.append_wait(&done, vec![started(&done), finish(RunOutcome::Unfinished)], DURABLE).unwrap();
    assert!(
        !journal.latest().unwrap().unwrap().ended,
        "the intent alone ends nothing: it may not be performed yet"
    );
    journal.append_wait(&done, vec![announced.clone()], DURABLE).unwrap();
    let interrupted = vec![started(&stopped), finish(RunOutcome::Interrupted), announced];
    journal.append_wait(&stopped, interrupted, DURABLE).unwrap();

    let runs = journal.runs().unwrap();
    let seen: Vec<_> = runs.iter().map(|r| (r.run.clone(), r.workflow.as_str(), r.ended)).collect();
    assert_eq!(seen, [(done, "quickstart", true), (stopped.clone(), "quickstart", false)]);
    assert_eq!(
        (runs[0].started_at, runs[0].last_at, runs[0].last_seq),
        (UnixMs(1_000), UnixMs(3_000), Seq(3))
    );
    assert_eq!(journal.latest().unwrap().unwrap().run, stopped);
}

#[test]
fn a_finish_that_was_lost_with_its_host_ends_nothing() {
    let place = StoreFixture::new();
    let journal = place.journal();
    let run = RunId::new("r");
    let lost = input(3, Input::Outcome { action: ActionId(7), outcome: ActionOutcome::Lost });
    let entries = vec![started(&run), intent(2, 7, Action::Finish { ending: RunOutcome::Done }), lost];
    journal.append_wait(&run, entries, DURABLE).unwrap();
    assert!(!journal.latest().unwrap().unwrap().ended);
}

#[test]
fn a_gap_or_a_repeat_is_refused_whole() {
    let place = StoreFixture::new();
    let journal = place.journal();
    let run = RunId::new("r");
    journal.append_wait(&run, vec![started(&run), text_entry(2, "a")], DURABLE).unwrap();
    for (entries, expected, found) in [
        (vec![text_entry(2, "again")], 3, 2),
        (vec![text_entry(4, "gap")], 3, 4),
        (vec![text_entry(3, "good"), text_entry(5, "gap")], 4, 5),
        (vec![text_entry(3, "good"), text_entry(3, "again")], 4, 3),
    ] {
        let error = journal.append_wait(&run, entries, DURABLE).unwrap_err();
        assert!(
            matches!(&error, StoreError::OutOfSequence { expected: e, found: f, .. } if (e.0, f.0) == (expected, found)),
            "{error}"
        );
        assert_eq!(read(&journal, &run).len(), 2, "nothing of it was written");
    }
    journal.append_wait(&run, vec![text_entry(3, "good")], DURABLE).unwrap();
}

#[test]
fn a_run_begins_with_its_start_and_has_one() {
    let place = StoreFixture::new();
    let journal = place.journal();
    let (run, other) = (RunId::new("r"), RunId::new("other"));
    let refused =
        |entries| matches!(journal.append_wait(&run, entries, DURABLE), Err(StoreError::BadStart { .. }));
    assert!(refused(vec![text_entry(1, "no start")]));
    assert!(refused(vec![started(&other)]));
    let JournalEntry::Input(mut again) = started(&run) else { panic!("an input") };
    again.seq = Seq(2);
    assert!(refused(vec![started(&run), JournalEntry::Input(again)]));
    assert_eq!(journal.runs().unwrap(), []);
}

#[test]
fn a_refused_append_takes_no_other_with_it() {
    let place = StoreFixture::new();
    let (a, b) = (RunId::new("a"), RunId::new("b"));
    let (journal, let_go) = place.held_journal(&a);
    let (tell, answers) = channel();
    let append = |run: &RunId, entries| {
        let tell = tell.clone();
        journal.append(run, entries, DURABLE, move |answer| tell.send(answer.is_ok()).unwrap());
    };
    append(&a, vec![text_entry(3, "gap")]);
    append(&b, vec![started(&b)]);
    append(&a, vec![text_entry(2, "good")]);
    let_go.send(()).unwrap();
    let answers: Vec<bool> = answers.iter().take(3).collect();
    assert_eq!(answers, [false, true, true]);
    assert_eq!((read(&journal, &a).len(), read(&journal, &b).len()), (2, 1));
    assert_eq!(journal.stats().commits, 3, "the one that held it, and each of the good ones alone");
}

#[test]
fn a_full_disk_refuses_the_append_and_keeps_what_was_there() {
    // Bad input: a full disk.
    let place = StoreFixture::new();
    let run = RunId::new("r");
    let options = JournalOptions { max_pages: Some(40), ..JournalOptions::default() };
    let journal = Journal::open_with(&place.state, options).unwrap();
    journal.append_wait(&run, vec![started(&run)], DURABLE).unwrap();
    let mut kept = 1;
    let error = loop {
        // Two rows each, so that a half-written append would show.
        let entries =
            vec![text_entry(kept + 1, &"x".repeat(3_000)), text_entry(kept + 2, &"y".repeat(3_000))];
        match journal.append_wait(&run, entries, DURABLE) {
            Ok(()) => kept += 2,
            Err(error) => break error,
        }
        assert!(kept < 1_000, "the bound holds");
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.to_string().contains("is kept"), "{error}");
    assert!(kept > 1);
    assert_eq!(journal.last_seq(&run).unwrap(), Seq(kept));
    drop(journal);

    // With room again it continues where it was.
    let journal = place.journal();
    assert_eq!(read(&journal, &run).len() as u64, kept);
    journal.append_wait(&run, vec![text_entry(kept + 1, &"x".repeat(3_000))], DURABLE).unwrap();
}

#[test]
fn history_cannot_be_rewritten() {
    // D6
    let place = StoreFixture::new();
    let run = RunId::new("r");
    place.journal().append_wait(&run, vec![started(&run)], DURABLE).unwrap();
    let raw = rusqlite::Connection::open(place.state.journal()).unwrap();
    for rewrite in ["UPDATE entry SET at_ms = 0", "DELETE FROM entry"] {
        let error = raw.execute(rewrite, []).unwrap_err();
        assert!(error.to_string().contains("append-only"), "{error}");
    }
}

#[test]
fn reading_only_changes_nothing() {
    let place = StoreFixture::new();
    assert!(Journal::open_read_only(&place.state).is_err(), "there is none yet");
    assert!(!place.state.journal().exists());
    let run = RunId::new("r");
    place.journal().append_wait(&run, vec![started(&run)], DURABLE).unwrap();
    let journal = Journal::open_read_only(&place.state).unwrap();
    let error = journal.append_wait(&run, vec![text_entry(2, "a")], DURABLE).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert_eq!(journal.stats().commits, 0);
}

#[test]
fn blobs_are_kept_by_digest_and_checked() {
    let place = StoreFixture::new();
    let journal = place.journal();
    let digest = journal.put_blob("observation").unwrap();
    assert_eq!(journal.put_blob("observation").unwrap(), digest);
    assert_eq!(digest, Digest::of("observation"));
    assert_eq!(journal.blob(&digest).unwrap().as_deref(), Some("observation".as_bytes()));
    assert_eq!(journal.blob(&Digest::of("other")).unwrap(), None);
    drop(journal);
    let raw = rusqlite::Connection::open(place.state.journal()).unwrap();
    raw.execute("UPDATE blob SET bytes = x'00'", []).unwrap();
    let journal = Journal::open_read_only(&place.state).unwrap();
    assert!(matches!(journal.blob(&digest), Err(StoreError::DigestMismatch { .. })));
}

#[test]
fn a_text_without_its_body_must_be_there_already() {
    let place = StoreFixture::new();
    let journal = place.journal();
    let run = RunId::new("r");
    let bare = |seq| {
        let json = serde_json::to_string(&prompt(seq, 1, "the prompt")).unwrap();
        serde_json::from_str::<JournalEntry>(&json).unwrap()
    };
    let error = journal.append_wait(&run, vec![started(&run), bare(2)], DURABLE).unwrap_err();
    assert!(matches!(error, StoreError::MissingBody { .. }), "{error}");
    journal.append_wait(&run, vec![started(&run), prompt(2, 1, "the prompt"), bare(3)], DURABLE).unwrap();
    assert_eq!(read(&journal, &run)[2], prompt(3, 1, "the prompt"));
}

#[test]
fn the_last_clone_may_be_dropped_in_a_callback() {
    let place = StoreFixture::new();
    let journal = place.journal();
    let run = RunId::new("r");
    let (tell, told) = channel();
    let last = journal.clone();
    journal.append(&run, vec![started(&run)], DURABLE, move |answer| {
        drop(last);
        tell.send(answer.is_ok()).unwrap();
    });
    drop(journal);
    assert!(told.recv().unwrap());
    assert_eq!(read(&Journal::open_read_only(&place.state).unwrap(), &run).len(), 1);
}
