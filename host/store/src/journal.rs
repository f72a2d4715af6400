//! The journal as the rest of Baton sees it: append, and read back. The writing is `writer`'s, the reading
//! `reader`'s; nothing here is async, so a caller on an event loop appends with a callback.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use baton_core::{Digest, RunId, Seq};

use crate::entry::{Durability, JournalEntry, JournalRow};
use crate::error::StoreError;
use crate::reader::{JournalEntries, JournalReader, ReaderPool, RunSummary};
use crate::schema::JOURNAL;
use crate::state_dir::StateDir;
use crate::writer::{
    CommitCallback, Counters, JournalWriter, LastSeqByRun, QUEUE_JOBS, WriterJob, WriterWork,
};

/// Pages of 4 KiB that the writer keeps in memory: the last one of each of a thousand runs, and those on the way to it.
const CACHE_PAGES: u32 = 2_048;

/// Pages in the log before a commit moves them to the database: a page of a run is in it many times, and is moved once.
const LOG_PAGES: u32 = 3_000;

/// Called on the writer's thread with the ordinal of a commit, from 1. Must not panic.
pub type CommitHook = Box<dyn Fn(u64) + Send>;

/// Overrides of the defaults. For tests that kill the host between any two writes, or fill its disk.
#[derive(Default)]
pub struct JournalOptions {
    /// Called when everything is written and not yet committed.
    pub before_commit: Option<CommitHook>,
    /// Called when it is committed, before the writer is answered.
    pub after_commit: Option<CommitHook>,
    /// Largest size of the file, in pages of 4 KiB; beyond it appends fail with [`StoreError::Full`].
    pub max_pages: Option<u32>,
}

/// Statistics of the writer since the journal was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalStats {
    /// Entries committed.
    pub rows: u64,
    /// Commits.
    pub commits: u64,
    /// Commits that waited for the disk: SQLite syncs its log once in each. (It also syncs at a checkpoint, about
    /// once in 3,000 pages of 4 KiB.)
    pub synced_commits: u64,
}

/// The journal of a workspace: append-only, with one order of entries per run. Clones share one writer; when the last clone is
/// dropped, queued entries are committed first.
#[derive(Clone)]
pub struct Journal {
    path: PathBuf,
    // Before the writer: SQLite clears its log away when the one who writes is the last to leave.
    idle: ReaderPool,
    writer: Option<Arc<WriterHandle>>,
}

struct WriterHandle {
    queue: Option<SyncSender<WriterJob>>,
    thread: Option<JoinHandle<()>>,
    counters: Arc<Counters>,
}

impl Journal {
    /// Opens for writing, makes the file if there is none, and brings an older one up to date. The writer
    /// holds the workspace's [`HostLock`](crate::HostLock).
    pub fn open(state: &StateDir) -> Result<Self, StoreError> {
        Self::open_with(state, JournalOptions::default())
    }

    /// The same with options.
    pub fn open_with(state: &StateDir, options: JournalOptions) -> Result<Self, StoreError> {
        state.expect_journal()?;
        let path = state.journal();
        // Checked before anything is written into a damaged file. An unreadable one is refused below.
        if let Ok(conn) = JOURNAL.open_read(&path) {
            state.expect_runs(&conn)?;
        }
        let conn = JOURNAL.open_write(&path)?;
        conn.pragma_update(None, "cache_size", CACHE_PAGES)
            .and_then(|()| conn.pragma_update_and_check(None, "wal_autocheckpoint", LOG_PAGES, |_| Ok(())))
            .map_err(StoreError::sql("tune", &path))?;
        if let Some(pages) = options.max_pages {
            conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
                .map_err(StoreError::sql("bound the size of", &path))?;
        }
        let counters = Arc::new(Counters::default());
        let writer = JournalWriter {
            conn,
            path: path.clone(),
            options,
            counters: Arc::clone(&counters),
            is_full: true,
            ends: LastSeqByRun::new(),
        };
        let (queue, jobs) = sync_channel(QUEUE_JOBS);
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer.run(&jobs))
            .map_err(StoreError::io("start a thread for", &path))?;
        let handle = WriterHandle { queue: Some(queue), thread: Some(thread), counters };
        Ok(Self { path, writer: Some(Arc::new(handle)), idle: ReaderPool::default() })
    }

    /// Opens for reading, with or without a host that writes. The journal must exist.
    pub fn open_read_only(state: &StateDir) -> Result<Self, StoreError> {
        let path = state.journal();
        let idle = ReaderPool::default();
        state.expect_runs(JournalReader::open(&path, &idle)?.connection())?;
        Ok(Self { path, writer: None, idle })
    }

    /// The path of its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends entries of one run, all or none. The order of calls is the order in the journal; the numbers of the
    /// entries must continue where the run's last one ended, and the bodies of texts are kept with them.
    ///
    /// `done` is called once, on the writer's thread, when the entries are as safe as `durability` says, or refused.
    /// It must be quick and must not panic. The call itself waits only while the queue is full.
    pub fn append(
        &self,
        run: &RunId,
        entries: Vec<JournalEntry>,
        durability: Durability,
        done: impl FnOnce(Result<(), StoreError>) + Send + 'static,
    ) {
        match entries.iter().map(|entry| JournalRow::encode(run, entry)).collect() {
            Ok(rows) => {
                let work = WriterWork::Append { run: run.clone(), rows };
                self.submit(work, durability == Durability::Durable, Box::new(done));
            }
            Err(error) => done(Err(error)),
        }
    }

    /// Appends and waits for the answer. Not for an event loop.
    pub fn append_wait(
        &self,
        run: &RunId,
        entries: Vec<JournalEntry>,
        durability: Durability,
    ) -> Result<(), StoreError> {
        self.wait(|done| self.append(run, entries, durability, done))
    }

    /// Waits until everything that was appended before is on disk.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.wait(|done| self.submit(WriterWork::Flush, true, done))
    }

    /// Keeps these bytes by their digest, and waits until they are on disk. Bytes that are there already are kept once.
    pub fn put_blob(&self, bytes: impl Into<Vec<u8>>) -> Result<Digest, StoreError> {
        let bytes = bytes.into();
        let digest = Digest::of(&bytes);
        let work = WriterWork::Blob { digest: digest.clone(), bytes };
        self.wait(|done| self.submit(work, true, done))?;
        Ok(digest)
    }

    /// Bytes by their digest; none if this journal does not have them.
    pub fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.reader()?.blob(digest)
    }

    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.reader()?.runs()
    }

    /// The run that was started last.
    pub fn latest(&self) -> Result<Option<RunSummary>, StoreError> {
        Ok(self.runs()?.pop())
    }

    /// The committed entries of a run, from the first. Empty for a run that is not there.
    pub fn read(&self, run: &RunId) -> Result<JournalEntries, StoreError> {
        self.read_after(run, Seq(0))
    }

    /// The same, without those up to and including `after`.
    pub fn read_after(&self, run: &RunId, after: Seq) -> Result<JournalEntries, StoreError> {
        Ok(JournalEntries::new(self.reader()?, run.clone(), after))
    }

    /// The first committed entry of a run. No other entry is read.
    pub fn first(&self, run: &RunId) -> Result<Option<JournalEntry>, StoreError> {
        JournalEntries::first_only(self.reader()?, run.clone()).next().transpose()
    }

    /// The sequence number of the last committed entry of a run, 0 if there is none.
    pub fn last_seq(&self, run: &RunId) -> Result<Seq, StoreError> {
        self.reader()?.last_seq(run)
    }

    /// Statistics since it was opened; zeros if it was opened for reading.
    pub fn stats(&self) -> JournalStats {
        let Some(writer) = &self.writer else { return JournalStats::default() };
        let counters = &writer.counters;
        JournalStats {
            rows: counters.rows.load(Ordering::Relaxed),
            commits: counters.commits.load(Ordering::Relaxed),
            synced_commits: counters.synced.load(Ordering::Relaxed),
        }
    }

    fn reader(&self) -> Result<JournalReader, StoreError> {
        JournalReader::open(&self.path, &self.idle)
    }

    fn submit(&self, work: WriterWork, durable: bool, done: CommitCallback) {
        let Some(writer) = &self.writer else {
            return done(Err(StoreError::ReadOnly { path: self.path.clone() }));
        };
        let job = WriterJob { work, durable, done };
        let refused = match &writer.queue {
            Some(queue) => queue.send(job).err().map(|refused| refused.0),
            None => Some(job),
        };
        if let Some(job) = refused {
            (job.done)(Err(StoreError::Closed { path: self.path.clone() }));
        }
    }

    fn wait(&self, submit: impl FnOnce(CommitCallback)) -> Result<(), StoreError> {
        let (tell, answer) = sync_channel(1);
        // The receiver below waits, so there is always a receiver.
        submit(Box::new(move |result| drop(tell.send(result))));
        answer.recv().unwrap_or_else(|_| Err(StoreError::Closed { path: self.path.clone() }))
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.queue = None;
        let Some(thread) = self.thread.take() else { return };
        // The last clone may have lived in a callback, on the writer's own thread: it cannot wait for itself.
        if thread.thread().id() != std::thread::current().id() {
            // A writer that panicked has dropped its callbacks, and each caller knows by that.
            drop(thread.join());
        }
    }
}
