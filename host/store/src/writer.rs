//! The only thread that writes the journal. It takes the queued jobs of the producers, commits them together, and answers each
//! of them: sixteen waiting producers share one sync of the disk.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use baton_core::{Digest, RunId, Seq};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::entry::{FORMAT, JournalRow, RunIndexUpdate};
use crate::error::StoreError;
use crate::journal::JournalOptions;

/// Longest time that telemetry waits to be committed together with other entries. A user who reads the journal does not notice
/// it.
const TELEMETRY_WAIT: Duration = Duration::from_millis(50);
/// Telemetry rows that are committed without waiting longer.
const TELEMETRY_ROWS: usize = 256;
/// Rows in one commit: bounds how long the first producer waits for later ones.
const COMMIT_ROWS: usize = 1024;
/// Appends that may wait in the queue; a caller that comes after that waits too.
pub(crate) const QUEUE_JOBS: usize = 1024;

/// How a producer is answered.
pub(crate) type CommitCallback = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Something to write, and who wants to know.
pub(crate) struct WriterJob {
    pub(crate) work: WriterWork,
    pub(crate) durable: bool,
    pub(crate) done: CommitCallback,
}

pub(crate) enum WriterWork {
    Append {
        run: RunId,
        rows: Vec<JournalRow>,
    },
    Blob {
        digest: Digest,
        bytes: Vec<u8>,
    },
    /// Everything that was queued before is on disk afterwards.
    Flush,
}

impl WriterWork {
    /// Rows of any table.
    fn rows(&self) -> usize {
        match self {
            WriterWork::Append { rows, .. } => rows.len(),
            WriterWork::Blob { .. } => 1,
            WriterWork::Flush => 0,
        }
    }

    fn entries(&self) -> usize {
        if let WriterWork::Append { rows, .. } = self { rows.len() } else { 0 }
    }
}

/// Statistics of the writer.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) rows: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) synced: AtomicU64,
}

pub(crate) struct JournalWriter {
    pub(crate) conn: Connection,
    pub(crate) path: PathBuf,
    pub(crate) options: JournalOptions,
    pub(crate) counters: Arc<Counters>,
    /// A commit waits for the disk, as things are set now.
    pub(crate) is_full: bool,
    /// The last row of each run that was written to.
    pub(crate) ends: LastSeqByRun,
}

pub(crate) type LastSeqByRun = HashMap<RunId, Seq>;

impl JournalWriter {
    /// Works until the last producer has ended and the queue is empty.
    pub(crate) fn run(mut self, queue: &Receiver<WriterJob>) {
        while let Ok(first) = queue.recv() {
            let jobs = collect(first, queue);
            self.commit(jobs);
        }
    }

    /// Commits all jobs together; if that fails, each alone, so that each gets its own answer and a refused append does not
    /// affect the others.
    fn commit(&mut self, jobs: Vec<WriterJob>) {
        let together = self.write_all(&jobs);
        for job in jobs {
            let written = match &together {
                Ok(()) => Ok(()),
                Err(_) => self.write_all(std::slice::from_ref(&job)),
            };
            let answer = match job.work {
                // A checkpoint begins by syncing the log, and with it the telemetry that no durable commit followed.
                WriterWork::Flush => self.checkpoint(),
                WriterWork::Append { .. } | WriterWork::Blob { .. } => written,
            };
            (job.done)(answer);
        }
    }

    fn checkpoint(&self) -> Result<(), StoreError> {
        self.conn
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .map_err(StoreError::sql("sync", &self.path))
    }

    /// One transaction for all of them. An error means that nothing was written, whichever of them it comes from.
    fn write_all(&mut self, jobs: &[WriterJob]) -> Result<(), StoreError> {
        let written = self.transact(jobs);
        if written.is_err() {
            // The entries of the failed transaction do not exist.
            self.ends.clear();
        }
        written
    }

    fn transact(&mut self, jobs: &[WriterJob]) -> Result<(), StoreError> {
        let Self { conn, path, options, counters, is_full, ends } = self;
        let sql = |e| StoreError::sql("append", path)(e);
        let rows: usize = jobs.iter().map(|job| job.work.rows()).sum();
        if rows == 0 {
            return Ok(());
        }
        // Telemetry alone need not wait for the disk: the next durable commit syncs the same log with all before it.
        let durable = jobs.iter().any(|job| job.durable);
        if *is_full != durable {
            conn.pragma_update(None, "synchronous", if durable { "full" } else { "normal" }).map_err(sql)?;
            *is_full = durable;
        }
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        for job in jobs {
            write(&tx, &job.work, path, ends)?;
        }
        let ordinal = counters.commits.load(Ordering::Relaxed) + 1;
        if let Some(hook) = &options.before_commit {
            hook(ordinal);
        }
        tx.commit().map_err(sql)?;
        let entries: usize = jobs.iter().map(|job| job.work.entries()).sum();
        counters.rows.fetch_add(entries as u64, Ordering::Relaxed);
        counters.commits.store(ordinal, Ordering::Relaxed);
        counters.synced.fetch_add(u64::from(durable), Ordering::Relaxed);
        if let Some(hook) = &options.after_commit {
            hook(ordinal);
        }
        Ok(())
    }
}

/// Gathers what is committed together: until a caller waits for the disk, or enough telemetry has come.
fn collect(first: WriterJob, queue: &Receiver<WriterJob>) -> Vec<WriterJob> {
    let until = Instant::now() + TELEMETRY_WAIT;
    let (mut rows, mut durable) = (first.work.rows(), first.durable);
    let mut jobs = vec![first];
    while !durable && rows < TELEMETRY_ROWS {
        match queue.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(job) => {
                (rows, durable) = (rows + job.work.rows(), job.durable);
                jobs.push(job);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    while rows < COMMIT_ROWS
        && let Ok(job) = queue.try_recv()
    {
        rows += job.work.rows();
        jobs.push(job);
    }
    jobs
}

fn write(
    conn: &Connection,
    work: &WriterWork,
    path: &Path,
    ends: &mut LastSeqByRun,
) -> Result<(), StoreError> {
    match work {
        WriterWork::Append { run, rows } => append(conn, run, rows, path, ends),
        WriterWork::Blob { digest, bytes } => {
            put_blob(conn, digest, bytes).map_err(StoreError::sql("add a blob", path))
        }
        WriterWork::Flush => Ok(()),
    }
}

fn append(
    conn: &Connection,
    run: &RunId,
    rows: &[JournalRow],
    path: &Path,
    ends: &mut LastSeqByRun,
) -> Result<(), StoreError> {
    let mut last = match ends.get(run) {
        Some(last) => *last,
        None => last_seq(conn, run).map_err(StoreError::sql("append", path))?,
    };
    for row in rows {
        let expected = last.next();
        if row.seq != expected {
            return Err(StoreError::OutOfSequence { run: run.clone(), expected, found: row.seq });
        }
        // Every run has its `started` first, and once: the list of runs is made from it.
        if matches!(&row.mark, RunIndexUpdate::Starts { run: named, .. } if named == run)
            != (row.seq == Seq(1))
        {
            return Err(StoreError::BadStart { run: run.clone(), seq: row.seq });
        }
        insert(conn, run, row, path)?;
        last = row.seq;
    }
    ends.insert(run.clone(), last);
    Ok(())
}

fn insert(conn: &Connection, run: &RunId, row: &JournalRow, path: &Path) -> Result<(), StoreError> {
    let sql = |e| StoreError::sql("append", path)(e);
    let number = |n: u64| {
        i64::try_from(n).map_err(|_| StoreError::BadEntry {
            run: run.clone(),
            seq: row.seq,
            why: format!("{n} is more than the journal can count"),
        })
    };
    let (run_text, seq, at_ms) = (run.as_str(), number(row.seq.0)?, number(row.at.0)?);
    match &row.mark {
        RunIndexUpdate::Starts { workflow, .. } => {
            conn.prepare_cached("INSERT INTO run (run, workflow, started_at_ms) VALUES (?1, ?2, ?3)")
                .and_then(|mut s| s.execute((run_text, workflow, at_ms)))
                .map_err(sql)?;
        }
        RunIndexUpdate::Finishes(action) => {
            let action = number(action.0)?;
            conn.prepare_cached("UPDATE run SET finish_action = ?2 WHERE run = ?1")
                .and_then(|mut s| s.execute((run_text, action)))
                .map_err(sql)?;
        }
        RunIndexUpdate::Completes(action) => {
            let action = number(action.0)?;
            conn.prepare_cached("UPDATE run SET ended = 1 WHERE run = ?1 AND finish_action = ?2")
                .and_then(|mut s| s.execute((run_text, action)))
                .map_err(sql)?;
        }
        RunIndexUpdate::None => {}
    }
    for text in &row.texts {
        match text.body() {
            Some(body) => put_blob(conn, text.digest(), body.as_bytes()).map_err(sql)?,
            // A text that was read back without its body is fine as long as the body is already here.
            None if has_blob(conn, text.digest()).map_err(sql)? => {}
            None => {
                return Err(StoreError::MissingBody { path: path.to_owned(), digest: text.digest().clone() });
            }
        }
    }
    conn.prepare_cached(
        "INSERT INTO entry (run, seq, at_ms, kind, format, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )
    .and_then(|mut s| s.execute((run_text, seq, at_ms, row.kind, FORMAT, &row.body)))
    .map_err(sql)?;
    Ok(())
}

/// Sequence number of a run's last row, 0 if there is none.
pub(crate) fn last_seq(conn: &Connection, run: &RunId) -> rusqlite::Result<Seq> {
    let last: Option<i64> = conn
        .prepare_cached("SELECT max(seq) FROM entry WHERE run = ?1")?
        .query_row([run.as_str()], |row| row.get(0))?;
    Ok(Seq(last.unwrap_or(0).unsigned_abs()))
}

fn put_blob(conn: &Connection, digest: &Digest, bytes: &[u8]) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO blob (digest, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
        .execute((digest.as_str(), bytes))?;
    Ok(())
}

fn has_blob(conn: &Connection, digest: &Digest) -> rusqlite::Result<bool> {
    let found: Option<i64> = conn
        .prepare_cached("SELECT 1 FROM blob WHERE digest = ?1")?
        .query_row([digest.as_str()], |row| row.get(0))
        .optional()?;
    Ok(found.is_some())
}
