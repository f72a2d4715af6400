//! Retention: whole runs are removed, and with them what no other run refers to. A removal that broke off half way is
//! finished by the next one: a run that is being removed is written down first and struck off last, and every step can
//! be done again. Decides nothing about which runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use baton_core::{Digest, RunId, UnixMs};
use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;
use crate::object_store::ObjectStore;
use crate::schema::{ARTIFACTS, JOURNAL, NO_DELETE_TRIGGER};
use crate::state_dir::{HostLock, StateDir};

/// The beginning of a content address, in any row of the journal.
const ADDRESS: &str = "sha256:";
/// Number of hex digits after it.
const ADDRESS_DIGITS: usize = 64;
/// The folder of the work trees.
const TREES: &str = "trees";
/// The suffixes of a run's records about its repository, next to the work trees: the run's id comes before them.
const REPOSITORY_RECORD: [&str; 6] = [".info", ".links", ".read-of", ".refs", ".start", ".view-of"];
/// The host's own objects of the repository, next to the work trees, which its runs share.
const GIT_OBJECTS: &str = ".objects";

/// A run, and its size on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetainedRun {
    /// Its id.
    pub run: RunId,
    /// Name of its workflow; empty for artifacts that belong to no run of the journal.
    pub workflow: String,
    /// When something of it was last written.
    pub last_at: UnixMs,
    /// It ended for good.
    pub ended: bool,
    /// Its removal was interrupted.
    pub half_removed: bool,
    /// Bytes of its rows in the journal.
    pub journal_bytes: u64,
    /// Bytes of objects that only this run refers to.
    pub artifact_bytes: u64,
    /// Bytes of its sessions' files: the output and the input of agents.
    pub session_bytes: u64,
}

impl RetainedRun {
    /// All of it.
    pub fn bytes(&self) -> u64 {
        self.journal_bytes + self.artifact_bytes + self.session_bytes
    }
}

/// The store of a workspace, open for removing runs. The caller holds the lock of the workspace.
pub struct Retention<'a> {
    state: &'a StateDir,
    journal: Connection,
    index: Connection,
    objects: ObjectStore,
}

/// A step of a removal; repeated, it finishes an interrupted one.
type RemovalStep<T> = fn(&mut T, &RunId) -> Result<(), StoreError>;

impl<'a> Retention<'a> {
    /// Opens it, and brings older files up to date.
    pub fn open(state: &'a StateDir, _lock: &'a HostLock) -> Result<Self, StoreError> {
        Ok(Self {
            state,
            journal: JOURNAL.open_write(&state.journal())?,
            index: ARTIFACTS.open_write(&state.artifact_index())?,
            objects: ObjectStore::open(&state.artifacts())?,
        })
    }

    /// All runs that have files or rows; the one with the latest entry comes last.
    pub fn runs(&self) -> Result<Vec<RetainedRun>, StoreError> {
        let journal = |e| StoreError::sql("list the runs", &self.state.journal())(e);
        let index = |e| StoreError::sql("list the artifacts", &self.state.artifact_index())(e);
        let mut runs: BTreeMap<String, RetainedRun> = BTreeMap::new();
        let mut statement = self
            .journal
            .prepare(
                "SELECT run.run, workflow, ended, max(at_ms), sum(length(CAST(body AS BLOB)))
                 FROM run LEFT JOIN entry ON entry.run = run.run GROUP BY run.run",
            )
            .map_err(journal)?;
        let rows = statement.query_map([], |row| {
            let run: String = row.get(0)?;
            Ok(RetainedRun {
                workflow: row.get(1)?,
                ended: row.get(2)?,
                last_at: UnixMs(unsigned(row.get(3)?)),
                journal_bytes: unsigned(row.get(4)?),
                ..blank(&run)
            })
        });
        for run in rows.map_err(journal)? {
            let run = run.map_err(journal)?;
            runs.insert(run.run.to_string(), run);
        }
        let mut statement = self
            .index
            .prepare(
                "SELECT run, max(saved_at_ms), (SELECT coalesce(sum(bytes), 0) FROM
                     (SELECT DISTINCT own.digest, own.bytes FROM artifact own WHERE own.run = artifact.run
                      AND NOT EXISTS (SELECT 1 FROM artifact other WHERE other.digest = own.digest
                                      AND other.run <> own.run)))
                 FROM artifact GROUP BY run",
            )
            .map_err(index)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        for row in rows.map_err(index)? {
            let (run, last, bytes): (String, Option<i64>, Option<i64>) = row.map_err(index)?;
            let known = runs.entry(run.clone()).or_insert_with(|| blank(&run));
            known.last_at = known.last_at.max(UnixMs(unsigned(last)));
            known.artifact_bytes = unsigned(bytes);
        }
        for run in self.being_removed()? {
            runs.entry(run.to_string()).or_insert_with(|| blank(run.as_str())).half_removed = true;
        }
        for run in runs.values_mut() {
            run.session_bytes = size(&self.sessions(&run.run));
        }
        let mut runs: Vec<RetainedRun> = runs.into_values().collect();
        runs.sort_by_key(|run| run.last_at);
        Ok(runs)
    }

    /// Removes a run. Repeated, it finishes an interrupted removal.
    pub fn remove(&mut self, run: &RunId) -> Result<(), StoreError> {
        for step in Self::STEPS {
            step(self, run)?;
        }
        Ok(())
    }

    /// Finishes interrupted removals, and returns their runs.
    pub fn finish(&mut self) -> Result<Vec<RunId>, StoreError> {
        let begun = self.being_removed()?;
        for run in &begun {
            self.remove(run)?;
        }
        Ok(begun)
    }

    /// Returns the space of removed rows to the disk; with the last run, the files that runs share are removed.
    pub fn compact(&mut self) -> Result<(), StoreError> {
        if self.runs()?.is_empty() {
            remove_whole(&self.state.path().join(TREES).join(GIT_OBJECTS))?;
        }
        let (journal, index) = (self.state.journal(), self.state.artifact_index());
        self.journal.execute_batch("VACUUM").map_err(StoreError::sql("compact", &journal))?;
        self.index.execute_batch("VACUUM").map_err(StoreError::sql("compact", &index))
    }

    /// The order matters: the listed things are removed before the list.
    const STEPS: [RemovalStep<Self>; 5] =
        [Self::mark_for_removal, Self::remove_sessions, Self::remove_artifacts, Self::remove_rows, Self::end];

    fn being_removed(&self) -> Result<Vec<RunId>, StoreError> {
        let sql = |e| StoreError::sql("look for broken removals", &self.state.artifact_index())(e);
        let mut statement = self.index.prepare("SELECT run FROM removing ORDER BY run").map_err(sql)?;
        let runs = statement.query_map([], |row| row.get::<_, String>(0)).map_err(sql)?;
        runs.map(|run| run.map(RunId::new).map_err(sql)).collect()
    }

    fn mark_for_removal(&mut self, run: &RunId) -> Result<(), StoreError> {
        self.delete_rows("INSERT INTO removing (run) VALUES (?1) ON CONFLICT DO NOTHING", run)
    }

    fn end(&mut self, run: &RunId) -> Result<(), StoreError> {
        self.delete_rows("DELETE FROM removing WHERE run = ?1", run)
    }

    fn delete_rows(&mut self, statement: &str, run: &RunId) -> Result<(), StoreError> {
        let done = self.index.execute(statement, [run.as_str()]);
        done.map(drop).map_err(StoreError::sql("remove a run", &self.state.artifact_index()))
    }

    fn sessions(&self, run: &RunId) -> std::path::PathBuf {
        self.state.sessions().join(run.as_str())
    }

    fn remove_sessions(&mut self, run: &RunId) -> Result<(), StoreError> {
        // Ids of runs come from the journal; an id that could lead to another folder has no folder here.
        if run.as_str().is_empty() || run.as_str().contains(['/', '\\']) || run.as_str().starts_with('.') {
            return Ok(());
        }
        let trees = self.state.path().join(TREES);
        let noted = REPOSITORY_RECORD.map(|name| trees.join(format!("{name}-{run}")));
        std::iter::once(self.sessions(run)).chain(noted).try_for_each(|path| remove_whole(&path))
    }

    /// The rows and the objects that no other row names, while no row can be added: a process that saves looks for its object
    /// again once it may.
    fn remove_artifacts(&mut self, run: &RunId) -> Result<(), StoreError> {
        let path = self.state.artifact_index();
        let sql = |e| StoreError::sql("remove artifacts", &path)(e);
        let tx = self.index.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let mut statement = tx
            .prepare(
                "SELECT DISTINCT digest FROM artifact own WHERE run = ?1 AND NOT EXISTS
                     (SELECT 1 FROM artifact other WHERE other.digest = own.digest AND other.run <> own.run)",
            )
            .map_err(sql)?;
        let alone: Vec<String> =
            statement.query_map([run.as_str()], |row| row.get(0)).and_then(Iterator::collect).map_err(sql)?;
        drop(statement);
        for digest in alone.into_iter().filter_map(|digest| Digest::try_from(digest).ok()) {
            self.objects.remove(&digest)?;
        }
        tx.execute("DELETE FROM artifact WHERE run = ?1", [run.as_str()]).map_err(sql)?;
        tx.commit().map_err(sql)
    }

    /// The rows of the journal and the bodies that no other row names, in one transaction.
    fn remove_rows(&mut self, run: &RunId) -> Result<(), StoreError> {
        let path = self.state.journal();
        let sql = |e| StoreError::sql("remove a run", &path)(e);
        let tx = self.journal.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let own = addresses(&tx, "SELECT body FROM entry WHERE run = ?1", run).map_err(sql)?;
        let others = addresses(&tx, "SELECT body FROM entry WHERE run <> ?1", run).map_err(sql)?;
        // The only place that removes rows: the trigger is dropped within this transaction, which no other connection sees.
        tx.execute_batch("DROP TRIGGER entry_is_never_deleted").map_err(sql)?;
        tx.execute("DELETE FROM entry WHERE run = ?1", [run.as_str()]).map_err(sql)?;
        tx.execute("DELETE FROM run WHERE run = ?1", [run.as_str()]).map_err(sql)?;
        for digest in own.difference(&others) {
            tx.execute("DELETE FROM blob WHERE digest = ?1", [digest]).map_err(sql)?;
        }
        tx.execute_batch(NO_DELETE_TRIGGER).map_err(sql)?;
        tx.commit().map_err(sql)
    }
}

/// Everything in these rows that looks like a content address, in any field, so that no reference is overlooked.
fn addresses(journal: &Connection, query: &str, run: &RunId) -> rusqlite::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut statement = journal.prepare(query)?;
    let mut rows = statement.query([run.as_str()])?;
    while let Some(row) = rows.next()? {
        let body: &str = row.get_ref(0)?.as_str()?;
        for (at, _) in body.match_indices(ADDRESS) {
            if let Some(address) = body.get(at..at + ADDRESS.len() + ADDRESS_DIGITS)
                && !found.contains(address)
            {
                found.insert(address.to_owned());
            }
        }
    }
    Ok(found)
}

fn blank(run: &str) -> RetainedRun {
    RetainedRun {
        run: RunId::new(run),
        workflow: String::new(),
        last_at: UnixMs(0),
        ended: true,
        half_removed: false,
        journal_bytes: 0,
        artifact_bytes: 0,
        session_bytes: 0,
    }
}

fn unsigned(n: Option<i64>) -> u64 {
    n.unwrap_or(0).unsigned_abs()
}

/// Bytes of all files below a folder; unreadable ones count as zero.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// A file, or a folder with all that is in it.
fn remove_whole(path: &std::path::Path) -> Result<(), StoreError> {
    let is_folder = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let removed = if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match removed {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(StoreError::io("remove", path)(e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
