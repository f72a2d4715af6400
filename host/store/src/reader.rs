//! Reading the journal back: runs, rows, bodies. Each reader has a connection of its own that cannot write, so it
//! never makes the writer wait.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_core::{Digest, Intent, RunId, Seq, TextBlob, UnixMs};
use rusqlite::{Connection, OptionalExtension, Row};
use scopeguard::{ScopeGuard, guard};

use crate::entry::{EncodedEntry, EncodedIntent, JournalEntry, RawJournalRow};
use crate::error::StoreError;
use crate::schema::JOURNAL;
use crate::writer::last_seq;

/// Rows fetched at a time: an iterator that is dropped half way leaves no read transaction open, so the log can always be
/// checkpointed.
const PAGE_ROWS: i64 = 256;

/// Texts of a run that are at hand while it is read: those of a few sessions. A text is a window of some KiB.
const TEXTS: usize = 16;

/// A run of the journal, up to its last commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// Its id.
    pub run: RunId,
    /// Name of its workflow.
    pub workflow: String,
    /// When it began.
    pub started_at: UnixMs,
    /// When its last entry was written.
    pub last_at: UnixMs,
    /// Its last entry.
    pub last_seq: Seq,
    /// It ended for good, whether everything is done or not. An interrupted run has not.
    pub ended: bool,
}

/// Idle connections; the next reader takes one. Opening one costs more than reading a short
/// run. None of them is inside a transaction.
#[derive(Clone, Default)]
pub(crate) struct ReaderPool(Arc<Mutex<Vec<Connection>>>);

/// Idle connections that are kept.
const IDLE: usize = 4;

/// A connection while it is read from; it goes back to the idle ones when it is dropped.
pub(crate) struct JournalReader {
    conn: ScopeGuard<Connection, Box<dyn FnOnce(Connection) + Send>>,
    path: PathBuf,
}

impl ReaderPool {
    fn lock(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns it to the pool, unless the pool is full.
    fn take_back(&self, conn: Connection) {
        // A journal that was not made yet may be there when it is read again.
        let is_of_file = conn.path().is_some_and(|path| !path.is_empty());
        let mut idle = self.lock();
        if is_of_file && idle.len() < IDLE {
            idle.push(conn);
        }
    }
}

impl JournalReader {
    pub(crate) fn open(path: &Path, idle: &ReaderPool) -> Result<Self, StoreError> {
        let taken = idle.lock().pop();
        let conn = match taken {
            Some(conn) => conn,
            None => JOURNAL.open_read(path)?,
        };
        let home = idle.clone();
        let conn = guard(conn, Box::new(move |conn| home.take_back(conn)) as Box<_>);
        Ok(Self { conn, path: path.to_owned() })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.conn
    }

    pub(crate) fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        let sql = |e| StoreError::sql("list the runs", &self.path)(e);
        let mut statement = self
            .conn
            .prepare(
                "SELECT r.run, r.workflow, r.started_at_ms, e.at_ms, e.seq, r.ended
                 FROM run r JOIN entry e ON e.run = r.run AND e.seq = (SELECT max(seq) FROM entry WHERE run = r.run)
                 ORDER BY r.rowid",
            )
            .map_err(sql)?;
        let runs = statement
            .query_map([], |row| {
                Ok(RunSummary {
                    run: RunId::new(row.get::<_, String>(0)?),
                    workflow: row.get(1)?,
                    started_at: UnixMs(unsigned(row, 2)?),
                    last_at: UnixMs(unsigned(row, 3)?),
                    last_seq: Seq(unsigned(row, 4)?),
                    ended: row.get(5)?,
                })
            })
            .map_err(sql)?;
        runs.collect::<rusqlite::Result<_>>().map_err(sql)
    }

    pub(crate) fn last_seq(&self, run: &RunId) -> Result<Seq, StoreError> {
        last_seq(&self.conn, run).map_err(StoreError::sql("read", &self.path))
    }

    pub(crate) fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        match self.unchecked(digest)? {
            Some(bytes) if Digest::of(&bytes) != *digest => {
                Err(StoreError::DigestMismatch { path: self.path.clone(), digest: digest.clone() })
            }
            bytes => Ok(bytes),
        }
    }

    /// The bytes that are stored under a digest, unchecked.
    fn unchecked(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.conn
            .prepare_cached("SELECT bytes FROM blob WHERE digest = ?1")
            .and_then(|mut s| s.query_row([digest.as_str()], |row| row.get(0)).optional())
            .map_err(StoreError::sql("read a blob", &self.path))
    }

    fn page(&self, run: &RunId, after: Seq, rows: i64) -> Result<VecDeque<RawJournalRow>, StoreError> {
        let sql = |e| StoreError::sql("read", &self.path)(e);
        let mut statement = self
            .conn
            .prepare_cached(
                "SELECT seq, at_ms, kind, format, body FROM entry WHERE run = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
            )
            .map_err(sql)?;
        let rows = statement
            .query_map((run.as_str(), i64::try_from(after.0).unwrap_or(i64::MAX), rows), |row| {
                Ok(RawJournalRow {
                    seq: Seq(unsigned(row, 0)?),
                    at: UnixMs(unsigned(row, 1)?),
                    kind: row.get(2)?,
                    format: row.get(3)?,
                    body: row.get(4)?,
                })
            })
            .map_err(sql)?;
        rows.collect::<rusqlite::Result<_>>().map_err(sql)
    }

    fn hydrate(&self, text: &mut TextBlob) -> Result<(), StoreError> {
        let missing = || StoreError::MissingBody { path: self.path.clone(), digest: text.digest().clone() };
        // Held to its digest below.
        let bytes = self.unchecked(text.digest())?.ok_or_else(missing)?;
        let wrong = StoreError::DigestMismatch { path: self.path.clone(), digest: text.digest().clone() };
        match String::from_utf8(bytes).ok().map(|body| text.hydrate(body)) {
            Some(Ok(())) => Ok(()),
            _ => Err(wrong),
        }
    }
}

/// Columns with counts are never negative: the writer refuses values that do not fit.
fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::unsigned_abs)
}

/// The entries of one run in order, bodies included. Ends at the first error.
pub struct JournalEntries {
    reader: JournalReader,
    run: RunId,
    last: Seq,
    page: VecDeque<RawJournalRow>,
    rows: i64,
    /// The texts that were read last.
    texts: VecDeque<TextBlob>,
    is_finished: bool,
}

impl JournalEntries {
    pub(crate) fn new(reader: JournalReader, run: RunId, after: Seq) -> Self {
        Self {
            reader,
            run,
            last: after,
            page: VecDeque::new(),
            rows: PAGE_ROWS,
            texts: VecDeque::new(),
            is_finished: false,
        }
    }

    /// For a caller that looks at the first one alone.
    pub(crate) fn first_only(reader: JournalReader, run: RunId) -> Self {
        Self { rows: 1, ..Self::new(reader, run, Seq(0)) }
    }

    /// Gives a text its body. Questions of one session share their texts, so the text that was read last is mostly the next one
    /// needed.
    fn hydrate(&mut self, text: &mut TextBlob) -> Result<(), StoreError> {
        if let Some(known) = self.texts.iter().find(|known| known.digest() == text.digest()) {
            known.clone_into(text);
            return Ok(());
        }
        self.reader.hydrate(text)?;
        if self.texts.len() == TEXTS {
            self.texts.pop_front();
        }
        self.texts.push_back(text.clone());
        Ok(())
    }

    /// The next row, its intent not decoded: for those who fold the inputs and have it by that. Ends at the first error, as the
    /// iterator does.
    pub fn next_sealed(&mut self) -> Option<Result<EncodedEntry, StoreError>> {
        if self.is_finished {
            return None;
        }
        let item = self.advance().transpose();
        self.is_finished = !matches!(item, Some(Ok(_)));
        item
    }

    /// Decodes an intent of this run, the bodies of its texts included.
    ///
    /// # Errors
    /// Those of a damaged row, and of a text that is missing or has another digest.
    pub fn open(&mut self, sealed: &EncodedIntent) -> Result<Intent, StoreError> {
        let mut intent = sealed.decode(&self.run)?;
        for text in intent.action.texts_mut() {
            self.hydrate(text)?;
        }
        Ok(intent)
    }

    fn advance(&mut self) -> Result<Option<EncodedEntry>, StoreError> {
        if self.page.is_empty() {
            self.page = self.reader.page(&self.run, self.last, self.rows)?;
        }
        let Some(row) = self.page.pop_front() else { return Ok(None) };
        let expected = self.last.next();
        if row.seq != expected {
            let (path, run) = (self.reader.path.clone(), self.run.clone());
            return Err(StoreError::MissingRow { path, run, expected });
        }
        let sealed = row.unseal(&self.run)?;
        self.last = expected;
        Ok(Some(sealed))
    }
}

impl Iterator for JournalEntries {
    type Item = Result<JournalEntry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let opened = match self.next_sealed()? {
            Ok(EncodedEntry::Input(stamped)) => Ok(JournalEntry::Input(stamped)),
            Ok(EncodedEntry::Intent(sealed)) => self.open(&sealed).map(|intent| JournalEntry::Intent {
                seq: sealed.seq(),
                at: sealed.at(),
                intent,
            }),
            Err(error) => Err(error),
        };
        self.is_finished |= opened.is_err();
        Some(opened)
    }
}
