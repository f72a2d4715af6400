//! The one thread that writes the journal. It takes what the producers queued, commits it together, and answers
//! each of them: sixteen that wait share one sync of the disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use baton_core::{Digest, RunId, Seq};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::entry::{FORMAT, Mark, Row};
use crate::error::StoreError;
use crate::journal::JournalOptions;

/// Longest that telemetry waits for company. A person who looks at the journal does not notice it.
const TELEMETRY_WAIT: Duration = Duration::from_millis(50);
/// Telemetry rows that are committed without waiting longer.
const TELEMETRY_ROWS: usize = 256;
/// Rows in one commit: bounds how long the first producer waits for those behind it.
const COMMIT_ROWS: usize = 4096;
/// Appends that may wait in the queue; whoever comes after that waits too.
pub(crate) const QUEUE_JOBS: usize = 1024;

/// How a producer is answered.
pub(crate) type Done = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Something to write, and who wants to know.
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) durable: bool,
    pub(crate) done: Done,
}

pub(crate) enum Work {
    Append {
        run: RunId,
        rows: Vec<Row>,
    },
    Blob {
        digest: Digest,
        bytes: Vec<u8>,
    },
    /// Everything that was queued before is on disk afterwards.
    Flush,
}

impl Work {
    fn rows(&self) -> usize {
        match self {
            Work::Append { rows, .. } => rows.len(),
            Work::Blob { .. } | Work::Flush => 1,
        }
    }
}

/// What the writer has done so far.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) rows: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) synced: AtomicU64,
}

pub(crate) struct Writer {
    pub(crate) conn: Connection,
    pub(crate) path: PathBuf,
    pub(crate) options: JournalOptions,
    pub(crate) counters: Arc<Counters>,
}

impl Writer {
    /// Works until the last producer is gone and the queue is empty.
    pub(crate) fn run(mut self, queue: &Receiver<Job>) {
        while let Ok(first) = queue.recv() {
            let jobs = collect(first, queue);
            self.commit(jobs);
        }
    }

    /// Commits all jobs together; where that fails, each alone, so that each gets its own answer.
    fn commit(&mut self, jobs: Vec<Job>) {
        let answers = match self.try_commit(&jobs) {
            Ok(answers) => answers,
            Err(error) if jobs.len() == 1 => vec![Err(error)],
            Err(_) => jobs.iter().map(|job| self.commit_alone(job)).collect(),
        };
        for (job, answer) in jobs.into_iter().zip(answers) {
            (job.done)(answer);
        }
    }

    fn commit_alone(&mut self, job: &Job) -> Result<(), StoreError> {
        self.try_commit(std::slice::from_ref(job))?.pop().unwrap_or(Ok(()))
    }

    /// One transaction, one savepoint a job: an append that is refused takes no other with it. An error of the whole
    /// means that nothing was written.
    fn try_commit(&mut self, jobs: &[Job]) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        let Self { conn, path, options, counters } = self;
        let sql = |e| StoreError::sql("append", path)(e);
        // Telemetry alone need not wait for the disk: the next durable commit syncs the same log with all before it.
        let durable = jobs.iter().any(|job| job.durable);
        conn.pragma_update(None, "synchronous", if durable { "full" } else { "normal" }).map_err(sql)?;

        let mut tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let mut answers = Vec::with_capacity(jobs.len());
        let (mut rows, mut written) = (0, false);
        for job in jobs {
            let savepoint = tx.savepoint().map_err(sql)?;
            match write(&savepoint, &job.work, path) {
                Ok(()) => {
                    savepoint.commit().map_err(sql)?;
                    written |= !matches!(job.work, Work::Flush);
                    rows += if let Work::Append { rows, .. } = &job.work { rows.len() } else { 0 };
                    answers.push(Ok(()));
                }
                // A full disk can end the whole transaction, the savepoint with it.
                Err(error) if savepoint.is_autocommit() => return Err(error),
                Err(error) => {
                    drop(savepoint);
                    answers.push(Err(error));
                }
            }
        }
        if written {
            let ordinal = counters.commits.load(Ordering::Relaxed) + 1;
            if let Some(hook) = &options.before_commit {
                hook(ordinal);
            }
            tx.commit().map_err(sql)?;
            counters.rows.fetch_add(rows as u64, Ordering::Relaxed);
            counters.commits.store(ordinal, Ordering::Relaxed);
            counters.synced.fetch_add(u64::from(durable), Ordering::Relaxed);
            if let Some(hook) = &options.after_commit {
                hook(ordinal);
            }
        } else {
            tx.rollback().map_err(sql)?;
        }
        if jobs.iter().any(|job| matches!(job.work, Work::Flush)) {
            // A checkpoint begins by syncing the log, and with it the telemetry that no durable commit followed.
            conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).map_err(sql)?;
        }
        Ok(answers)
    }
}

/// Gathers what is committed together: until somebody waits for the disk, or enough telemetry has come.
fn collect(first: Job, queue: &Receiver<Job>) -> Vec<Job> {
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

fn write(conn: &Connection, work: &Work, path: &Path) -> Result<(), StoreError> {
    match work {
        Work::Append { run, rows } => append(conn, run, rows, path),
        Work::Blob { digest, bytes } => {
            put_blob(conn, digest, bytes).map_err(StoreError::sql("add a blob", path))
        }
        Work::Flush => Ok(()),
    }
}

fn append(conn: &Connection, run: &RunId, rows: &[Row], path: &Path) -> Result<(), StoreError> {
    let sql = |e| StoreError::sql("append", path)(e);
    let mut last = last_seq(conn, run).map_err(sql)?;
    for row in rows {
        let expected = last.next();
        if row.seq != expected {
            return Err(StoreError::OutOfSequence { run: run.clone(), expected, found: row.seq });
        }
        // Every run has its `started` first, and once: the list of runs is made from it.
        if matches!(&row.mark, Mark::Starts { run: named, .. } if named == run) != (row.seq == Seq(1)) {
            return Err(StoreError::BadStart { run: run.clone(), seq: row.seq });
        }
        insert(conn, run, row, path)?;
        last = row.seq;
    }
    Ok(())
}

fn insert(conn: &Connection, run: &RunId, row: &Row, path: &Path) -> Result<(), StoreError> {
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
        Mark::Starts { workflow, .. } => {
            conn.prepare_cached("INSERT INTO run (run, workflow, started_at_ms) VALUES (?1, ?2, ?3)")
                .and_then(|mut s| s.execute((run_text, workflow, at_ms)))
                .map_err(sql)?;
        }
        Mark::Finishes(action) => {
            let action = number(action.0)?;
            conn.prepare_cached("UPDATE run SET finish_action = ?2 WHERE run = ?1")
                .and_then(|mut s| s.execute((run_text, action)))
                .map_err(sql)?;
        }
        Mark::Settles(action) => {
            let action = number(action.0)?;
            conn.prepare_cached("UPDATE run SET ended = 1 WHERE run = ?1 AND finish_action = ?2")
                .and_then(|mut s| s.execute((run_text, action)))
                .map_err(sql)?;
        }
        Mark::None => {}
    }
    for text in &row.texts {
        match text.body() {
            Some(body) => put_blob(conn, text.digest(), body.as_bytes()).map_err(sql)?,
            // A text that was read back without its body is fine as long as the body is already here.
            None if has_blob(conn, text.digest()).map_err(sql)? => {}
            None => return Err(StoreError::NoBody { path: path.to_owned(), digest: text.digest().clone() }),
        }
    }
    conn.prepare_cached(
        "INSERT INTO entry (run, seq, at_ms, kind, format, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )
    .and_then(|mut s| s.execute((run_text, seq, at_ms, row.kind, FORMAT, &row.body)))
    .map_err(sql)?;
    Ok(())
}

/// Sequence number of a run's last row, 0 where there is none.
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
