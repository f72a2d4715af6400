//! How an older database becomes the newest, one step a version. A step works on JSON and SQL alone, never on
//! core's types: those have moved on since.

use std::path::Path;

use baton_core::{RunId, Seq};
use rusqlite::Transaction;
use serde_json::Value;

use crate::error::StoreError;
use crate::schema::{ENTRIES, NO_DELETE_TRIGGER, NO_UPDATE_TRIGGER, RUNS_AND_BLOBS};

/// The entries of version 1, sorted by run in one tree.
const ENTRIES_V1: &str = "
    CREATE TABLE entry (
        run    TEXT NOT NULL REFERENCES run (run),
        seq    INTEGER NOT NULL CHECK (seq > 0),
        at_ms  INTEGER NOT NULL,
        kind   TEXT NOT NULL CHECK (kind IN ('input', 'intent')),
        format INTEGER NOT NULL,
        body   TEXT NOT NULL,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;
";

/// Version 0 had one table for the rows, `journal (run, seq, row)` with the whole entry as one JSON value, and one
/// for the bodies, `text (digest, body)`; runs were found by reading all rows. Version 1 has place, time and kind
/// as columns, names the format of a body, and keeps a list of the runs.
pub(crate) fn journal_v0_to_v1(tx: &Transaction<'_>, path: &Path) -> Result<(), StoreError> {
    let sql = |e| StoreError::sql("bring version 0 up to date", path)(e);
    execute(tx, &[RUNS_AND_BLOBS, ENTRIES_V1, NO_UPDATE_TRIGGER, NO_DELETE_TRIGGER]).map_err(sql)?;
    tx.execute("INSERT INTO blob (digest, bytes) SELECT digest, CAST(body AS BLOB) FROM text", [])
        .map_err(sql)?;

    let mut old = tx.prepare("SELECT run, seq, row FROM journal ORDER BY run, seq").map_err(sql)?;
    let mut rows = old.query([]).map_err(sql)?;
    while let Some(row) = rows.next().map_err(sql)? {
        let (run, seq, row): (String, i64, String) =
            (row.get(0).map_err(sql)?, row.get(1).map_err(sql)?, row.get(2).map_err(sql)?);
        let bad = |why: String| StoreError::BadRow {
            run: RunId::new(run.as_str()),
            seq: Seq(seq.unsigned_abs()),
            why: format!("a row of version 0: {why}"),
        };
        let row: Value = serde_json::from_str(&row).map_err(|e| bad(e.to_string()))?;
        let (kind, outer) = match (row.get("input"), row.get("intent")) {
            (Some(stamped), None) => ("input", stamped),
            (None, Some(intent)) => ("intent", intent),
            _ => return Err(bad("it is neither an input nor an intent".to_owned())),
        };
        let body = outer.get(kind).ok_or_else(|| bad(format!("it has no {kind:?}")))?;
        let at_ms =
            outer.get("at").and_then(Value::as_i64).ok_or_else(|| bad("it has no time".to_owned()))?;
        list_run(tx, &run, at_ms, body).map_err(sql)?;
        tx.execute(
            "INSERT INTO entry (run, seq, at_ms, kind, format, body) VALUES (?1, ?2, ?3, ?4, 1, ?5)",
            (&run, seq, at_ms, kind, body.to_string()),
        )
        .map_err(sql)?;
    }
    drop(rows);
    drop(old);
    tx.execute_batch("DROP TABLE journal; DROP TABLE text;").map_err(sql)
}

/// Version 2 keeps the entries in the order in which they came, with an index.
pub(crate) fn journal_v1_to_v2(tx: &Transaction<'_>, path: &Path) -> Result<(), StoreError> {
    let away = "
        DROP TRIGGER entry_is_never_changed;
        DROP TRIGGER entry_is_never_deleted;
        ALTER TABLE entry RENAME TO entry_of_version_1;
    ";
    let over = "
        INSERT INTO entry SELECT run, seq, at_ms, kind, format, body FROM entry_of_version_1 ORDER BY run, seq;
        DROP TABLE entry_of_version_1;
    ";
    execute(tx, &[away, ENTRIES, over, NO_UPDATE_TRIGGER, NO_DELETE_TRIGGER])
        .map_err(StoreError::sql("bring version 1 up to date", path))
}

fn execute(tx: &Transaction<'_>, batches: &[&str]) -> rusqlite::Result<()> {
    batches.iter().try_for_each(|batch| tx.execute_batch(batch))
}

/// Version 2 adds the tool call and the archiving time of an artifact, and finds rows by digest.
pub(crate) fn artifacts_v1_to_v2(tx: &Transaction<'_>, path: &Path) -> Result<(), StoreError> {
    tx.execute_batch(
        "ALTER TABLE artifact ADD COLUMN tool_call TEXT;
         ALTER TABLE artifact ADD COLUMN archived_at_ms INTEGER;
         CREATE INDEX artifact_by_digest ON artifact (digest);
         CREATE TABLE removing (run TEXT PRIMARY KEY) STRICT;",
    )
    .map_err(StoreError::sql("bring version 1 up to date", path))
}

/// The entry in the list of runs after this row, as version 1 defines it.
fn list_run(tx: &Transaction<'_>, run: &str, at_ms: i64, body: &Value) -> rusqlite::Result<()> {
    let word = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    if word("/input") == Some("started") {
        let workflow = word("/workflow/name").unwrap_or_default();
        tx.execute(
            "INSERT INTO run (run, workflow, started_at_ms) VALUES (?1, ?2, ?3)",
            (run, workflow, at_ms),
        )?;
    }
    if word("/action/action") == Some("finish") && word("/action/ending") != Some("interrupted") {
        let action = body.get("id").and_then(Value::as_i64);
        tx.execute("UPDATE run SET finish_action = ?2 WHERE run = ?1", (run, action))?;
    }
    if word("/input") == Some("outcome") && word("/outcome/outcome") != Some("lost") {
        let action = body.get("action").and_then(Value::as_i64);
        tx.execute("UPDATE run SET ended = 1 WHERE run = ?1 AND finish_action = ?2", (run, action))?;
    }
    Ok(())
}
