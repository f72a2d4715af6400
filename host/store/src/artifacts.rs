//! The artifact store: named, versioned, immutable objects (C6). The bytes are `objects`' files, written before the
//! row that refers to them: a crash in between leaves a file without a name, never a name without a file.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_core::input::ArtifactRef;
use baton_core::{Digest, RunId, SessionId, UnixMs};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, named_params};

use crate::artifact_metadata::{cut, media_type, one_line, preview, tokens};
use crate::error::StoreError;
use crate::object_store::ObjectStore;
use crate::schema::ARTIFACTS;
use crate::secrets::mask;
use crate::state_dir::StateDir;

/// Largest artifact: far above any log of a verification, and still to be held in memory.
pub const ARTIFACT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Longest name: with the task folder before it, still a path that every file system takes.
pub const NAME_BYTES_MAX: usize = 200;
/// An artifact to save.
#[derive(Clone, Debug, Default)]
pub struct NewArtifact<'a> {
    /// Relative path, unique in the run ("handoffs/phase-20-1.md").
    pub name: &'a str,
    /// As in HTTP ("text/markdown"). If it is empty, it is guessed from the name, then from the content.
    pub media_type: &'a str,
    /// The content.
    pub bytes: &'a [u8],
    /// One line for people and policies.
    pub summary: &'a str,
    /// The session whose agent made it, if an agent did.
    pub session: Option<SessionId>,
    /// The tool call of the session that made it, if one did.
    pub tool_call: Option<&'a str>,
    /// When.
    pub at: UnixMs,
}

/// The record of an artifact, known without reading its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedArtifact {
    /// Name, version, address, size, summary.
    pub artifact: ArtifactRef,
    /// As in HTTP.
    pub media_type: String,
    /// The session whose agent made it, if an agent did.
    pub session: Option<SessionId>,
    /// The tool call of the session that made it, if one did.
    pub tool_call: Option<String>,
    /// When.
    pub saved_at: UnixMs,
    /// Since when it is only kept, since the task that it served is over; it can still be read.
    pub archived_at: Option<UnixMs>,
    /// Its first ten lines with secrets masked; empty if it is not text.
    pub preview: String,
    /// How many tokens it would take.
    pub tokens: u64,
    /// How they were counted: [`TOKENS_COUNTED`](crate::TOKENS_COUNTED) or
    /// [`TOKENS_ESTIMATED`](crate::TOKENS_ESTIMATED).
    pub tokens_by: String,
}

/// Which version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactVersion {
    /// The newest.
    Latest,
    /// This one.
    Exactly(u32),
}

/// The artifacts of a workspace. Clones share one connection; every call waits for the disk, so it is not for an
/// event loop.
#[derive(Clone)]
pub struct ArtifactStore {
    inner: Arc<ArtifactStoreInner>,
}

struct ArtifactStoreInner {
    objects: ObjectStore,
    index: Mutex<Connection>,
    index_path: PathBuf,
}

impl ArtifactStore {
    /// Opens for saving and reading; creates missing files and folders.
    pub fn open(state: &StateDir) -> Result<Self, StoreError> {
        let index = ARTIFACTS.open_write(&state.artifact_index())?;
        Self::with(state, index)
    }

    /// Opens for reading; the index must exist.
    pub fn open_read_only(state: &StateDir) -> Result<Self, StoreError> {
        let index = ARTIFACTS.open_read(&state.artifact_index())?;
        Self::with(state, index)
    }

    fn with(state: &StateDir, index: Connection) -> Result<Self, StoreError> {
        let objects = ObjectStore::open(&state.artifacts())?;
        let inner =
            ArtifactStoreInner { objects, index: Mutex::new(index), index_path: state.artifact_index() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Saves the next version of a name. The bytes that are its newest version already are saved once: the version
    /// that has them is returned, so an interrupted save can simply be done again.
    pub fn save(&self, run: &RunId, new: NewArtifact<'_>) -> Result<ArtifactRef, StoreError> {
        check_name(new.name)?;
        let bytes = new.bytes.len() as u64;
        if bytes > ARTIFACT_BYTES_MAX {
            let what = format!("the artifact {:?}", new.name);
            return Err(StoreError::TooLarge { what, bytes, max_bytes: ARTIFACT_BYTES_MAX });
        }
        let digest = Digest::of(new.bytes);
        self.inner.objects.put(&digest, new.bytes)?;
        // Counting takes a while for a large text: before the transaction, which others wait for.
        let (tokens, tokens_by) = tokens(new.bytes);
        let (media_type, preview) = (media_type(new.name, new.media_type, new.bytes), preview(new.bytes));

        let sql = |e| StoreError::sql("save an artifact", &self.inner.index_path)(e);
        let mut index = self.index();
        let tx = index.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        // Retention may have taken an object away that no row named yet; as long as this transaction lasts it cannot.
        self.inner.objects.put(&digest, new.bytes)?;
        let newest = find(&tx, run, new.name, ArtifactVersion::Latest).map_err(sql)?;
        if let Some(newest) = &newest
            && newest.artifact.digest == digest
        {
            return Ok(newest.artifact.clone());
        }
        let artifact = ArtifactRef {
            name: new.name.to_owned(),
            version: newest.map_or(1, |newest| newest.artifact.version + 1),
            digest,
            bytes,
            summary: cut(&mask(one_line(new.summary))).to_owned(),
        };
        tx.execute(
            "INSERT INTO artifact (run, name, version, digest, bytes, media_type, summary, session, saved_at_ms,
                                   preview, tokens, tokens_by, tool_call)
             VALUES (:run, :name, :version, :digest, :bytes, :media_type, :summary, :session, :saved_at_ms,
                     :preview, :tokens, :tokens_by, :tool_call)",
            named_params! {
                ":run": run.as_str(),
                ":name": artifact.name,
                ":version": artifact.version,
                ":digest": artifact.digest.as_str(),
                ":bytes": signed(bytes),
                ":media_type": media_type,
                ":summary": artifact.summary,
                ":session": new.session.as_ref().map(SessionId::as_str),
                ":saved_at_ms": signed(new.at.0),
                ":preview": preview,
                ":tokens": signed(tokens),
                ":tokens_by": tokens_by,
                ":tool_call": new.tool_call.map(one_line),
            },
        )
        .map_err(sql)?;
        tx.commit().map_err(sql)?;
        Ok(artifact)
    }

    /// The record of one artifact.
    pub fn get(
        &self,
        run: &RunId,
        name: &str,
        version: ArtifactVersion,
    ) -> Result<SavedArtifact, StoreError> {
        find(&self.index(), run, name, version)
            .map_err(StoreError::sql("look up an artifact", &self.inner.index_path))?
            .ok_or_else(|| StoreError::NoArtifact {
                run: run.clone(),
                name: name.to_owned(),
                version: match version {
                    ArtifactVersion::Latest => None,
                    ArtifactVersion::Exactly(version) => Some(version),
                },
            })
    }

    /// All versions of all artifacts of a run, by name, older versions first.
    pub fn list(&self, run: &RunId) -> Result<Vec<SavedArtifact>, StoreError> {
        let sql = |e| StoreError::sql("list the artifacts", &self.inner.index_path)(e);
        let index = self.index();
        let mut statement = index
            .prepare_cached("SELECT * FROM artifact WHERE run = ?1 ORDER BY name, version")
            .map_err(sql)?;
        let rows = statement.query_map([run.as_str()], from_row).map_err(sql)?;
        rows.collect::<rusqlite::Result<_>>().map_err(sql)
    }

    /// Marks everything that a run has saved as archived: its task is over, and none of it is loaded any more. An artifact that
    /// was archived before keeps its time. Returns the number of newly archived artifacts.
    pub fn archive(&self, run: &RunId, at: UnixMs) -> Result<usize, StoreError> {
        self.index()
            .execute(
                "UPDATE artifact SET archived_at_ms = ?2 WHERE run = ?1 AND archived_at_ms IS NULL",
                (run.as_str(), signed(at.0)),
            )
            .map_err(StoreError::sql("archive the artifacts", &self.inner.index_path))
    }

    /// The whole content, checked against its address.
    pub fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.inner.objects.get(digest, ARTIFACT_BYTES_MAX)
    }

    /// At most `limit` bytes from `offset`, fewer at the end, none beyond it. A part is not checked against the
    /// address of the whole.
    pub fn read_range(&self, digest: &Digest, offset: u64, limit: u64) -> Result<Vec<u8>, StoreError> {
        self.inner.objects.range(digest, offset, limit.min(ARTIFACT_BYTES_MAX))
    }

    /// A panic elsewhere leaves the connection usable: its transaction was rolled back when it was dropped.
    fn index(&self) -> MutexGuard<'_, Connection> {
        self.inner.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an artifact can have this name: a relative path of plain components, at most [`NAME_BYTES_MAX`] bytes.
pub fn check_name(name: &str) -> Result<(), StoreError> {
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > NAME_BYTES_MAX {
        "it has more than 200 bytes"
    } else if name.chars().any(char::is_control) {
        "it has control characters"
    } else if name.contains('\\') {
        "it has a backslash"
    } else if name.starts_with('/') {
        "it is absolute"
    } else if name.split('/').any(str::is_empty) {
        "it has an empty component"
    } else if name.split('/').any(|component| component == "." || component == "..") {
        "it has a component \".\" or \"..\""
    } else {
        return Ok(());
    };
    Err(StoreError::BadName { name: name.to_owned(), why })
}

fn find(
    index: &Connection,
    run: &RunId,
    name: &str,
    version: ArtifactVersion,
) -> rusqlite::Result<Option<SavedArtifact>> {
    let exactly = match version {
        ArtifactVersion::Latest => None,
        ArtifactVersion::Exactly(version) => Some(version),
    };
    index
        .prepare_cached(
            "SELECT * FROM artifact WHERE run = ?1 AND name = ?2 AND (?3 IS NULL OR version = ?3)
             ORDER BY version DESC LIMIT 1",
        )?
        .query_row((run.as_str(), name, exactly), from_row)
        .optional()
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<SavedArtifact> {
    let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
    let digest: String = row.get("digest")?;
    let digest = Digest::try_from(digest).map_err(|e| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(e))
    })?;
    Ok(SavedArtifact {
        artifact: ArtifactRef {
            name: row.get("name")?,
            version: row.get("version")?,
            digest,
            bytes: number("bytes")?,
            summary: row.get("summary")?,
        },
        media_type: row.get("media_type")?,
        session: row.get::<_, Option<String>>("session")?.map(SessionId::new),
        tool_call: row.get("tool_call")?,
        archived_at: row.get::<_, Option<i64>>("archived_at_ms")?.map(|at| UnixMs(at.unsigned_abs())),
        saved_at: UnixMs(number("saved_at_ms")?),
        preview: row.get("preview")?,
        tokens: number("tokens")?,
        tokens_by: row.get("tokens_by")?,
    })
}

/// SQLite counts to 2^63; a time or size beyond that is not one.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_relative_paths_of_plain_components() {
        for good in ["a", "handoffs/phase-20-1.md", "…/ü", "a..b", ".hidden"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for bad in
            ["", "/etc/passwd", "../up", "a/../b", "a/./b", "a//b", "a/", ".", "a\0b", "a\nb", "a\\b", &long]
        {
            assert!(matches!(check_name(bad), Err(StoreError::BadName { .. })), "{bad:?}");
        }
    }
}
