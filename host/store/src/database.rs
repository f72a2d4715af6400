//! Opening an SQLite file: who may read it, whose it is, which version it has. Knows no table by name.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::error::StoreError;

/// Another process holds the write lock for the few milliseconds of a commit; longer than this is a fault.
const BUSY: Duration = Duration::from_secs(10);

/// One step of a migration, inside the transaction that all steps share.
pub(crate) type MigrationStep = fn(&Transaction<'_>, &Path) -> Result<(), StoreError>;

/// How the host recognises a database of its own.
pub(crate) struct SchemaCheck {
    /// For messages.
    pub(crate) what: &'static str,
    /// `PRAGMA application_id`: distinguishes our files from those of other programs.
    pub(crate) application_id: i32,
    /// `PRAGMA user_version` of `create`.
    pub(crate) version: u32,
    /// Makes the newest tables in an empty file.
    pub(crate) create: &'static [&'static str],
    /// The last one leads to `version`, the one before to `version - 1`…
    pub(crate) steps: &'static [MigrationStep],
    /// A table that identifies a file of version 0, which has no application id.
    pub(crate) unversioned_table: Option<&'static str>,
}

impl SchemaCheck {
    /// Opens for writing: creates a missing file, and migrates an older one.
    pub(crate) fn open_write(&self, path: &Path) -> Result<Connection, StoreError> {
        // Checked through a read-only connection first: a foreign or newer file must not be touched.
        let has_content = match std::fs::metadata(path) {
            Ok(metadata) => metadata.len() > 0,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => false,
            Err(e) => return Err(StoreError::io("look at", path)(e)),
        };
        if has_content {
            self.version_of(&connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?, path)?;
        }
        // SQLite gives its -wal and -shm files the mode of the database, so that is all there is to set.
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path)
            .map_err(StoreError::io("open", path))?;
        file.set_permissions(Permissions::from_mode(0o600)).map_err(StoreError::io("protect", path))?;
        drop(file);

        let mut conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let sql = |e| StoreError::sql("open", path)(e);
        if has_content {
            check(&conn, path)?;
        }
        conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).map_err(sql)?;
        conn.pragma_update(None, "synchronous", "full").map_err(sql)?;
        conn.pragma_update(None, "foreign_keys", true).map_err(sql)?;
        match self.version_of(&conn, path)? {
            None => self.create(&mut conn, path)?,
            Some(version) if version < self.version => self.migrate(&mut conn, path, version)?,
            Some(_) => {}
        }
        Ok(conn)
    }

    /// Opens for reading. The file must exist, in the newest version. A file that another process is about to create is still
    /// empty, and is read as such.
    pub(crate) fn open_read(&self, path: &Path) -> Result<Connection, StoreError> {
        let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        match self.version_of(&conn, path) {
            Err(error) if is_shared_memory_error(&error) => self.open_unwritable(path),
            version => self.readable(conn, version?, path),
        }
    }

    /// SQLite cannot share a file in an unwritable folder with a writer, so there is no writer.
    fn open_unwritable(&self, path: &Path) -> Result<Connection, StoreError> {
        let log = path.with_extension("sqlite-wal");
        if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
            return Err(StoreError::Unwritable { path: path.to_owned() });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let conn = connect(Path::new(&immutable(path)), flags)?;
        let version = self.version_of(&conn, path)?;
        self.readable(conn, version, path)
    }

    fn readable(
        &self,
        conn: Connection,
        version: Option<u32>,
        path: &Path,
    ) -> Result<Connection, StoreError> {
        let Some(found) = version else {
            let empty = Connection::open_in_memory().map_err(StoreError::sql("open", path))?;
            let made = self.create.iter().try_for_each(|batch| empty.execute_batch(batch));
            return made.map(|()| empty).map_err(StoreError::sql("open", path));
        };
        if found == self.version {
            return Ok(conn);
        }
        Err(StoreError::Older { what: self.what, path: path.to_owned(), found, supported: self.version })
    }

    /// Version of the file; none if it is empty. Refuses foreign files and newer ones.
    fn version_of(&self, conn: &Connection, path: &Path) -> Result<Option<u32>, StoreError> {
        let sql = |e| StoreError::sql("read the version", path)(e);
        // In one statement, so that it sees one state of the file: another process may be making its tables.
        let row: (u32, i32, u32) = conn
            .query_row(
                "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema WHERE type = 'table') \
                 FROM pragma_user_version, pragma_application_id",
                [],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .map_err(sql)?;
        let (version, application, tables) = row;
        if application == self.application_id && version > 0 {
            if version > self.version {
                let (what, path) = (self.what, path.to_owned());
                return Err(StoreError::Newer { what, path, found: version, supported: self.version });
            }
            return Ok(Some(version));
        }
        if application == 0 && version == 0 {
            if tables == 0 {
                return Ok(None);
            }
            if let Some(table) = self.unversioned_table
                && conn.table_exists(None, table).map_err(sql)?
            {
                return Ok(Some(0));
            }
        }
        Err(StoreError::NotOurFile { what: self.what, path: path.to_owned() })
    }

    fn create(&self, conn: &mut Connection, path: &Path) -> Result<(), StoreError> {
        let sql = |e| StoreError::sql("create the tables", path)(e);
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        // Two processes may have found the file empty; the second one has nothing left to do.
        if self.version_of(&tx, path)?.is_none() {
            self.create.iter().try_for_each(|batch| tx.execute_batch(batch)).map_err(sql)?;
            self.stamp(&tx).map_err(sql)?;
        }
        tx.commit().map_err(sql)
    }

    /// All steps in one transaction, after a copy of the file as it was.
    fn migrate(&self, conn: &mut Connection, path: &Path, from: u32) -> Result<(), StoreError> {
        let sql = |e| StoreError::sql("bring up to date", path)(e);
        let missing = (self.version - from) as usize;
        let Some(skipped) = self.steps.len().checked_sub(missing) else {
            return Err(StoreError::NotOurFile { what: self.what, path: path.to_owned() });
        };
        keep_copy(conn, path, from)?;
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        for step in &self.steps[skipped..] {
            step(&tx, path)?;
        }
        self.stamp(&tx).map_err(sql)?;
        tx.commit().map_err(sql)
    }

    fn stamp(&self, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        tx.pragma_update(None, "application_id", self.application_id)?;
        tx.pragma_update(None, "user_version", self.version)
    }
}

/// The path of the copy of an older file: `journal.sqlite` -> `journal.v0.sqlite`.
pub(crate) fn copy_path(path: &Path, version: u32) -> PathBuf {
    path.with_extension(format!("v{version}.sqlite"))
}

/// Whether a reader could not make the files that it shares with a writer.
fn is_shared_memory_error(error: &StoreError) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error, StoreError::Sql { source, .. } if matches!(source.sqlite_error_code(), Some(CannotOpen | ReadOnly)))
}

/// The address of a file that nothing changes (sqlite.org/uri.html).
fn immutable(path: &Path) -> OsString {
    let mut address = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'?' | b'#' | b'%' => address.extend(format!("%{byte:02x}").bytes()),
            _ => address.push(*byte),
        }
    }
    address.extend(b"?immutable=1");
    OsString::from_vec(address)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(StoreError::sql("open", path))?;
    conn.busy_timeout(BUSY).map_err(StoreError::sql("open", path))?;
    Ok(conn)
}

/// Reads every page once, so that a damaged file is refused before anything is added to it.
fn check(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let said: String = conn
        .pragma_query_value(None, "quick_check", |row| row.get(0))
        .map_err(StoreError::sql("check", path))?;
    if said == "ok" {
        return Ok(());
    }
    Err(StoreError::Corrupt {
        path: path.to_owned(),
        detail: said.lines().next().unwrap_or_default().to_owned(),
    })
}

/// A copy that is there already is from an attempt that did not get further: the file has not changed since.
fn keep_copy(conn: &Connection, path: &Path, version: u32) -> Result<(), StoreError> {
    let copy = copy_path(path, version);
    if copy.exists() {
        return Ok(());
    }
    let part = copy.with_extension("part");
    match std::fs::remove_file(&part) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            return Err(StoreError::io("replace", &part)(e));
        }
        _ => {}
    }
    conn.execute("VACUUM INTO ?1", [part.to_string_lossy()])
        .map_err(StoreError::sql("copy what is", path))?;
    let file = File::open(&part).map_err(StoreError::io("open", &part))?;
    file.set_permissions(Permissions::from_mode(0o600)).map_err(StoreError::io("protect", &part))?;
    file.sync_all().map_err(StoreError::io("sync", &part))?;
    std::fs::rename(&part, &copy).map_err(StoreError::io("rename", &part))
}
