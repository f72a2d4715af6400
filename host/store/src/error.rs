//! The errors of the store. Each error names the attempted operation, its object, and what the user can do; none of them leads
//! to a deletion.

use std::path::{Path, PathBuf};

use baton_core::{Digest, RunId, Seq, UnixMs};

/// The reason why the store refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The attempted operation, as an infinitive ("create").
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Another user could change what the host trusts.
    #[error(
        "{} is not a safe folder for a run: {why}. Make it private (`chmod 700`), or name another folder with --state-dir",
        path.display()
    )]
    NotPrivate {
        /// The folder.
        path: PathBuf,
        /// Who may write it.
        why: String,
    },
    /// Another host works on this workspace.
    #[error(
        "another host{} works on this workspace{}. Use `baton status` or `baton stop`, or wait for it to end",
        pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(),
        since.map(|at| format!(" since {}", at.rfc3339())).unwrap_or_default()
    )]
    Locked {
        /// Its process, if it has already written the id down.
        pid: Option<u32>,
        /// When it took the lock.
        since: Option<UnixMs>,
    },
    /// A later version of Baton wrote the file.
    #[error(
        "the {what} {} has version {found}, and this baton reads up to version {supported}. It was not touched: use the baton that wrote it, or name another folder with --state-dir",
        path.display()
    )]
    Newer {
        /// "journal" or "artifact index".
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this code knows.
        supported: u32,
    },
    /// An earlier version wrote the file, and it was opened for reading only.
    #[error(
        "the {what} {} has version {found}, and this baton reads version {supported}. `baton resume` brings it up to date and keeps a copy of the old one",
        path.display()
    )]
    Older {
        /// "journal" or "artifact index".
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that this code reads.
        supported: u32,
    },
    /// There are folders of sessions, but no journal that mentions them.
    #[error(
        "the journal {} is missing, empty or without its log, and sessions of runs lie beside it: restore it from a copy, or name another folder with --state-dir to \
         begin without it",
        path.display()
    )]
    Lost {
        /// The path of the missing file.
        path: PathBuf,
    },
    /// A database, but of another program.
    #[error(
        "{} is an SQLite file, but not a {what} of baton. It was not touched: move it away, or name another folder with --state-dir",
        path.display()
    )]
    NotOurFile {
        /// What was expected.
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A folder that cannot be written, with a log next to the file that would have to be merged into it.
    #[error(
        "{} cannot be read in place: its newest entries are in a log next to it, and the folder is not writable. Copy the folder to a writable place, and name the copy with --state-dir",
        path.display()
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error(
        "{} is damaged ({detail}). It was left as it is: keep a copy (`cp -a` the whole folder), then try `sqlite3 {} .recover`, or name another folder with --state-dir",
        path.display(), path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The message of SQLite.
        detail: String,
    },
    /// The disk is full. This write was discarded; everything before it was kept.
    #[error("no room left to write {}. Free some space; everything that was committed is kept", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another program holds a lock of the file, and longer than a host does.
    #[error(
        "cannot {doing} in {path}: another program keeps it locked. Find the programs that have it open (`fuser -v {path}*`), and end the one that \
         is not Baton; everything that was committed is kept",
        path = path.display()
    )]
    Busy {
        /// The attempted operation, as an infinitive ("append").
        doing: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// Any other answer of SQLite.
    #[error("cannot {doing} in {}: {source}", path.display())]
    Sql {
        /// The attempted operation, as an infinitive ("append").
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// An append that does not continue its run: a mistake of the caller, or two writers.
    #[error("entry {found} of run {run} was not appended: the next one is {expected}")]
    OutOfSequence {
        /// Which run.
        run: RunId,
        /// The number that would continue it.
        expected: Seq,
        /// The number that came.
        found: Seq,
    },
    /// The first entry of a run is its `Started` input, and no other is.
    #[error(
        "entry {seq} of run {run} was not appended: a run begins with its `started` input, once, under its own id"
    )]
    BadStart {
        /// Which run.
        run: RunId,
        /// The entry.
        seq: Seq,
    },
    /// A row is missing in the middle.
    #[error("the journal {} lacks entry {expected} of run {run}: it was changed from outside. Keep a copy; `baton run` starts a new run", path.display())]
    MissingRow {
        /// The file.
        path: PathBuf,
        /// Which run.
        run: RunId,
        /// The entry that is not there.
        expected: Seq,
    },
    /// A row that is not an entry of a known format.
    #[error("entry {seq} of run {run} cannot be read: {why}")]
    BadRow {
        /// Which run.
        run: RunId,
        /// The row.
        seq: Seq,
        /// Why not.
        why: String,
    },
    /// An entry that cannot be written as a row.
    #[error("entry {seq} of run {run} cannot be written: {why}")]
    BadEntry {
        /// Which run.
        run: RunId,
        /// The entry.
        seq: Seq,
        /// Why not.
        why: String,
    },
    /// A text that is referred to, but not there.
    #[error("the text {digest} is referred to, but {} has no body for it", path.display())]
    MissingBody {
        /// The file.
        path: PathBuf,
        /// The text.
        digest: Digest,
    },
    /// Stored bytes with another digest than the one that they are stored under.
    #[error("the content stored as {digest} in {} no longer matches its digest: it was changed from outside", path.display())]
    DigestMismatch {
        /// The file.
        path: PathBuf,
        /// Under which address.
        digest: Digest,
    },
    /// Opened for reading only.
    #[error("{} was opened for reading only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The writer thread has ended.
    #[error("the writer of {} has ended: start the host again", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// A name that no artifact can have.
    #[error(
        "{name:?} cannot be the name of an artifact: {why}. Names are relative paths like \"handoffs/phase-1.md\""
    )]
    BadName {
        /// The name.
        name: String,
        /// Why not.
        why: &'static str,
    },
    /// No such artifact.
    #[error("run {run} has no artifact {name:?}{}. `baton artifacts ls` lists them", version.map(|v| format!(" in version {v}")).unwrap_or_default())]
    NoArtifact {
        /// Which run.
        run: RunId,
        /// The name that was asked for.
        name: String,
        /// The version that was asked for; absent for the latest.
        version: Option<u32>,
    },
    /// More bytes than one object may have.
    #[error("{what} has {bytes} bytes, more than the maximum of {max_bytes}")]
    TooLarge {
        /// What.
        what: String,
        /// Its size.
        bytes: u64,
        /// The bound.
        max_bytes: u64,
    },
}

impl StoreError {
    /// Turns an error of the file system into one that names the operation and the path.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => StoreError::Full { path },
            _ => StoreError::Io { doing, path, source },
        }
    }

    /// The same for SQLite; damage and a full disk have errors of their own.
    pub(crate) fn sql(doing: &'static str, path: &Path) -> impl FnOnce(rusqlite::Error) -> StoreError {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DiskFull, NotADatabase};
        let path = path.to_owned();
        move |source| match source.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => StoreError::Corrupt { path, detail: source.to_string() },
            Some(DiskFull) => StoreError::Full { path },
            Some(DatabaseBusy) => StoreError::Busy { doing, path },
            _ => StoreError::Sql { doing, path, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rusqlite::{Connection, TransactionBehavior};

    use super::*;

    #[test]
    fn a_lock_of_another_program_is_named_as_one() {
        // N6: an agent that locked the journal ended its host, which did not say why.
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("journal.sqlite");
        let mut other = Connection::open(&path).unwrap();
        let held = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        let mut own = Connection::open(&path).unwrap();
        own.busy_timeout(Duration::ZERO).unwrap();
        let error = own.transaction_with_behavior(TransactionBehavior::Immediate).unwrap_err();
        let said = StoreError::sql("append", &path)(error).to_string();
        assert!(said.contains("keeps it locked") && said.contains("fuser -v"), "{said}");
        drop(held);
        own.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    }
}
