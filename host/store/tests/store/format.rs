//! The journal's format over time: golden rows, the migration from version 0, and files that must be left alone.

use std::os::unix::fs::FileExt;
use std::path::Path;

use baton_store::{ArtifactStore, Durability, Journal, StoreError};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{StoreFixture, read, samples, text_entry};

/// Every kind of entry as format 1 writes it, one row a line. Journals of users contain such rows.
const GOLDEN_V1: &str = include_str!("../../../../tests/fixtures/store/rows-v1.jsonl");
/// The same run as version 0 kept it: a dump of its tables.
const GOLDEN_V0: &str = include_str!("../../../../tests/fixtures/store/journal-v0.sql");

fn golden() -> Vec<Value> {
    GOLDEN_V1.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn rows_in(path: &Path) -> Vec<Value> {
    let raw = Connection::open(path).unwrap();
    let mut rows = raw.prepare("SELECT seq, at_ms, kind, format, body FROM entry ORDER BY seq").unwrap();
    let rows = rows
        .query_map([], |row| {
            let (seq, at_ms, kind): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (format, body): (u32, String) = (row.get(3)?, row.get(4)?);
            let body: Value = serde_json::from_str(&body).unwrap();
            Ok(json!({ "seq": seq, "at_ms": at_ms, "kind": kind, "format": format, "body": body }))
        })
        .unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn rows_are_written_as_ever() {
    let place = StoreFixture::new();
    place.journal().append_wait(&samples::run(), samples::entries(), Durability::Durable).unwrap();
    let written = rows_in(&place.state.journal());
    for (written, golden) in written.iter().zip(golden()) {
        assert_eq!(*written, golden, "a changed shape needs a new format and a step in migrate.rs");
    }
    assert_eq!(written.len(), golden().len());
}

#[test]
fn rows_of_format_1_are_read_as_ever() {
    let place = StoreFixture::new();
    let entries = samples::entries();
    // The bodies of the texts come with the samples; the rows come from the golden file.
    place.journal().append_wait(&samples::run(), entries.clone(), Durability::Durable).unwrap();
    let raw = Connection::open(place.state.journal()).unwrap();
    raw.execute_batch("DROP TRIGGER entry_is_never_deleted; DELETE FROM entry;").unwrap();
    for row in golden() {
        let body = row["body"].to_string();
        raw.execute(
            "INSERT INTO entry VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            (
                samples::run().as_str(),
                row["seq"].as_i64(),
                row["at_ms"].as_i64(),
                row["kind"].as_str(),
                1,
                body,
            ),
        )
        .unwrap();
    }
    drop(raw);
    assert_eq!(read(&Journal::open_read_only(&place.state).unwrap(), &samples::run()), entries);
}

/// Run with `--ignored` after adding samples; then review the diff of the golden file.
#[test]
#[ignore = "writes the golden file"]
fn record_golden_rows() {
    let place = StoreFixture::new();
    place.journal().append_wait(&samples::run(), samples::entries(), Durability::Durable).unwrap();
    let lines: String = rows_in(&place.state.journal()).iter().map(|row| format!("{row}\n")).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/store/rows-v1.jsonl");
    std::fs::write(file, lines).unwrap();
}

#[test]
fn a_journal_of_version_0_is_brought_up_to_date_and_a_copy_kept() {
    let place = StoreFixture::new();
    let old = Connection::open(place.state.journal()).unwrap();
    old.execute_batch(GOLDEN_V0).unwrap();
    drop(old);
    let error = Journal::open_read_only(&place.state).err().unwrap();
    assert!(matches!(error, StoreError::Older { found: 0, supported: 2, .. }), "{error}");

    let journal = place.journal();
    let (run, entries) = (samples::run(), samples::entries());
    assert_eq!(read(&journal, &run), entries);
    let summary = journal.latest().unwrap().unwrap();
    assert_eq!((summary.workflow.as_str(), summary.ended), ("quickstart", true));
    journal
        .append_wait(&run, vec![text_entry(entries.len() as u64 + 1, "goes on")], Durability::Durable)
        .unwrap();
    drop(journal);
    let mut rows = rows_in(&place.state.journal());
    rows.pop();
    assert_eq!(rows, golden());

    let copy = Connection::open(place.state.path().join("journal.v0.sqlite")).unwrap();
    let kept: i64 = copy.query_row("SELECT count(*) FROM journal", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, entries.len() as i64);
}

#[test]
fn a_journal_of_version_1_is_brought_up_to_date_and_a_copy_kept() {
    let place = StoreFixture::new();
    let (run, entries) = (samples::run(), samples::entries());
    place.journal().append_wait(&run, entries.clone(), Durability::Durable).unwrap();
    let raw = Connection::open(place.state.journal()).unwrap();
    raw.execute_batch(
        "CREATE TABLE old (run TEXT NOT NULL REFERENCES run (run), seq INTEGER NOT NULL CHECK (seq > 0),
             at_ms INTEGER NOT NULL, kind TEXT NOT NULL, format INTEGER NOT NULL, body TEXT NOT NULL,
             PRIMARY KEY (run, seq)) STRICT, WITHOUT ROWID;
         INSERT INTO old SELECT * FROM entry;
         DROP TABLE entry;
         ALTER TABLE old RENAME TO entry;
         CREATE TRIGGER entry_is_never_changed BEFORE UPDATE ON entry BEGIN SELECT 1; END;
         CREATE TRIGGER entry_is_never_deleted BEFORE DELETE ON entry BEGIN SELECT 1; END;
         PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(raw);
    let error = Journal::open_read_only(&place.state).err().unwrap();
    assert!(matches!(error, StoreError::Older { found: 1, supported: 2, .. }), "{error}");

    let journal = place.journal();
    assert_eq!(read(&journal, &run), entries);
    journal
        .append_wait(&run, vec![text_entry(entries.len() as u64 + 1, "goes on")], Durability::Durable)
        .unwrap();
    drop(journal);
    let raw = Connection::open(place.state.journal()).unwrap();
    for rewrite in ["UPDATE entry SET at_ms = 0", "DELETE FROM entry"] {
        let error = raw.execute(rewrite, []).unwrap_err();
        assert!(error.to_string().contains("append-only"), "{error}");
    }
    let copy = Connection::open(place.state.path().join("journal.v1.sqlite")).unwrap();
    let kept: i64 = copy.query_row("SELECT count(*) FROM entry", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, entries.len() as i64);
}

#[test]
fn a_migration_that_fails_leaves_the_file_as_it_was() {
    let place = StoreFixture::new();
    let old = Connection::open(place.state.journal()).unwrap();
    old.execute_batch(GOLDEN_V0).unwrap();
    old.execute("UPDATE journal SET row = '{\"input\": {}}' WHERE seq = 5", []).unwrap();
    drop(old);
    let error = Journal::open(&place.state).err().unwrap();
    assert!(matches!(&error, StoreError::BadRow { seq, .. } if seq.0 == 5), "{error}");
    let old = Connection::open(place.state.journal()).unwrap();
    let rows: i64 = old.query_row("SELECT count(*) FROM journal", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, samples::entries().len() as i64);
    assert!(!old.table_exists(None, "entry").unwrap());
}

/// Both ways of opening are refused, with a message that has these words, and not a byte of the file changes.
fn refused_untouched(place: &StoreFixture, words: &[&str]) -> StoreError {
    let before = std::fs::read(place.state.journal()).unwrap();
    Journal::open_read_only(&place.state).err().expect("reading is refused");
    let error = Journal::open(&place.state).err().expect("writing is refused");
    for word in words.iter().copied().chain([place.state.journal().to_str().unwrap(), "--state-dir"]) {
        assert!(error.to_string().contains(word), "{word:?} in: {error}");
    }
    assert_eq!(std::fs::read(place.state.journal()).unwrap(), before);
    error
}

#[test]
fn a_newer_journal_is_left_alone() {
    // Bad input: a newer journal.
    let place = StoreFixture::new();
    drop(place.journal());
    Connection::open(place.state.journal()).unwrap().pragma_update(None, "user_version", 7).unwrap();
    let error = refused_untouched(&place, &["version 7", "version 2", "not touched"]);
    assert!(matches!(error, StoreError::Newer { found: 7, supported: 2, .. }));
}

#[test]
fn a_file_of_another_program_is_left_alone() {
    let place = StoreFixture::new();
    Connection::open(place.state.journal()).unwrap().execute_batch("CREATE TABLE cookies (a)").unwrap();
    let error = refused_untouched(&place, &["not a journal"]);
    assert!(matches!(error, StoreError::NotOurFile { .. }));
    // The artifacts' index is not a journal either.
    std::fs::remove_file(place.state.journal()).unwrap();
    drop(ArtifactStore::open(&place.state).unwrap());
    std::fs::copy(place.state.artifact_index(), place.state.journal()).unwrap();
    refused_untouched(&place, &["not a journal"]);
}

#[test]
fn a_journal_that_is_being_made_is_read_as_an_empty_one() {
    // A11: a reader that came at that moment took the file for one of another program.
    for _ in 0..100 {
        let place = StoreFixture::new();
        std::fs::File::create(place.state.journal()).unwrap();
        std::thread::scope(|scope| {
            let made = scope.spawn(|| drop(place.journal()));
            while !made.is_finished() {
                assert_eq!(Journal::open_read_only(&place.state).unwrap().latest().unwrap(), None);
            }
        });
    }
}

#[test]
fn a_damaged_journal_is_left_alone() {
    // Bad input: a corrupt journal. No database at all, a damaged page in the middle, a file cut short.
    let garbage = StoreFixture::new();
    std::fs::write(
        garbage.state.journal(),
        "this is no database, and longer than a header of SQLite".repeat(9),
    )
    .unwrap();
    assert!(matches!(refused_untouched(&garbage, &["damaged", "copy"]), StoreError::Corrupt { .. }));

    type Damage = fn(&std::fs::File, u64) -> std::io::Result<()>;
    let damages: [Damage; 2] = [
        |file, length| file.write_all_at(&[0xa5; 4096], length / 2 / 4096 * 4096),
        |file, length| file.set_len(length / 2 / 4096 * 4096),
    ];
    for damage in damages {
        let place = StoreFixture::new();
        let journal = place.journal();
        journal.append_wait(&samples::run(), samples::entries(), Durability::Durable).unwrap();
        let first = samples::entries().len() as u64 + 1;
        let more = (first..first + 200).map(|seq| text_entry(seq, &"x".repeat(500))).collect();
        journal.append_wait(&samples::run(), more, Durability::Durable).unwrap();
        drop(journal);
        let file = std::fs::File::options().write(true).open(place.state.journal()).unwrap();
        damage(&file, file.metadata().unwrap().len()).unwrap();
        let before = std::fs::read(place.state.journal()).unwrap();
        let error = Journal::open(&place.state).err().expect("writing is refused");
        assert!(matches!(&error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains("cp -a"), "{error}");
        assert_eq!(std::fs::read(place.state.journal()).unwrap(), before);
    }
}

#[test]
fn a_journal_that_is_gone_beside_its_sessions_is_missed() {
    // It was taken for a folder in which nothing has run, and the next run began from nothing without a notice.
    let place = StoreFixture::new();
    drop(place.journal());
    std::fs::create_dir_all(place.state.sessions().join("r1/s1")).unwrap();
    place.state.expect_journal().unwrap();
    for damage in [|path: &Path| std::fs::write(path, ""), |path: &Path| std::fs::remove_file(path)] {
        damage(&place.state.journal()).unwrap();
        let error = Journal::open(&place.state).err().expect("it is refused");
        assert!(
            matches!(&error, StoreError::Lost { .. }) && error.to_string().contains("restore it"),
            "{error}"
        );
    }
}

#[test]
fn a_row_that_is_missing_or_unreadable_is_named() {
    for (change, hint) in [
        ("DELETE FROM entry WHERE seq = 4", "entry 4"),
        ("UPDATE entry SET body = '{' WHERE seq = 4", "entry 4"),
        ("UPDATE entry SET format = 9 WHERE seq = 4", "format 9"),
        ("DELETE FROM blob", "no body"),
    ] {
        let place = StoreFixture::new();
        let run = samples::run();
        place.journal().append_wait(&run, samples::entries(), Durability::Durable).unwrap();
        let raw = Connection::open(place.state.journal()).unwrap();
        raw.execute_batch("DROP TRIGGER entry_is_never_deleted; DROP TRIGGER entry_is_never_changed;")
            .unwrap();
        raw.execute(change, []).unwrap();
        drop(raw);
        let journal = Journal::open_read_only(&place.state).unwrap();
        let mut entries = journal.read(&run).unwrap();
        let error = entries.by_ref().find_map(Result::err).expect(change);
        assert!(error.to_string().contains(hint), "{hint:?} in: {error}");
        assert!(entries.next().is_none(), "it ends there");
    }
}

#[test]
fn a_journal_that_has_lost_its_runs_beside_their_sessions_is_missed() {
    // D8: a new journal is in its log alone; without the log, or cut after its first page, it counted as one in which nothing
    // has run.
    let place = StoreFixture::new();
    let lost = || {
        let opened = [Journal::open(&place.state).err(), Journal::open_read_only(&place.state).err()];
        opened.into_iter().all(|error| matches!(error, Some(StoreError::Lost { .. })))
    };
    let journal = place.journal();
    journal.append_wait(&samples::run(), samples::entries(), Durability::Durable).unwrap();
    let young = std::fs::read(place.state.journal()).unwrap();
    let log = std::fs::read(place.state.path().join("journal.sqlite-wal")).unwrap();
    drop(journal);
    for left in ["journal.sqlite-wal", "journal.sqlite-shm"] {
        // SQLite has removed them itself.
        let _ = std::fs::remove_file(place.state.path().join(left));
    }
    let run = place.state.sessions().join(samples::run().as_str());
    std::fs::create_dir_all(&run).unwrap();
    for bytes in [young.clone(), [&young[..], &[0; 16_000]].concat()] {
        // The folder of a run is there before its first entry.
        let _ = std::fs::remove_dir(run.join("s1"));
        std::fs::write(place.state.journal(), &bytes).unwrap();
        assert!(Journal::open_read_only(&place.state).unwrap().runs().unwrap().is_empty());
        std::fs::create_dir(run.join("s1")).unwrap();
        assert!(lost());
        assert_eq!(std::fs::read(place.state.journal()).unwrap(), bytes, "it is left as it is");
    }
    // The log is restored.
    std::fs::write(place.state.journal(), &young).unwrap();
    std::fs::write(place.state.path().join("journal.sqlite-wal"), log).unwrap();
    assert_eq!(Journal::open_read_only(&place.state).unwrap().runs().unwrap().len(), 1);
}
