//! An imported run on disk: the journal takes it whole or not at all. What it refers to is kept first, by digest, so that a
//! crash in between leaves objects that nothing names and never a name without its object.

use baton_core::RunId;
use baton_store::{ArtifactStore, Durability, Journal, NewArtifact, StateDir};

use super::{Import, ImportError};

/// What became of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// The run is in the journal.
    New,
    /// It was there already: the same recording has the same run.
    AlreadyImported,
}

impl Import {
    /// Whether the run is in a workspace already.
    ///
    /// # Errors
    /// Those of reading the journal.
    pub fn exists_in(&self, state: &StateDir) -> Result<bool, ImportError> {
        match state.journal().exists() {
            true => has(&Journal::open_read_only(state)?, self.run()),
            false => Ok(false),
        }
    }

    /// Keeps the run. Takes the workspace for as long as that lasts: no host may work there.
    ///
    /// # Errors
    /// [`StoreError::Locked`](baton_store::StoreError::Locked) while a host works there, and those of writing. Nothing of
    /// the run is in the journal then.
    pub fn keep(self, state: &StateDir) -> Result<ImportOutcome, ImportError> {
        let _lock = state.lock()?;
        let journal = Journal::open(state)?;
        if has(&journal, &self.run)? {
            return Ok(ImportOutcome::AlreadyImported);
        }
        for blob in self.blobs {
            journal.put_blob(blob)?;
        }
        if !self.played.documents.is_empty() {
            let artifacts = ArtifactStore::open(state)?;
            for document in &self.played.documents {
                artifacts.save(
                    &self.run,
                    NewArtifact {
                        name: &document.artifact.name,
                        media_type: document.media_type,
                        bytes: document.text.as_bytes(),
                        summary: &document.artifact.summary,
                        session: Some(document.session.clone()),
                        tool_call: None,
                        at: document.at,
                    },
                )?;
            }
        }
        journal.append_wait(&self.run, self.played.entries, Durability::Durable)?;
        Ok(ImportOutcome::New)
    }
}

fn has(journal: &Journal, run: &RunId) -> Result<bool, ImportError> {
    Ok(journal.runs()?.iter().any(|known| known.run == *run))
}
