//! Gives the repository what the host's git made, before a ref there names it. What is in the host's store already, git does not write
//! again; and what was given once can be gone: collected while no ref named it, or with a repository that was made again.

use std::collections::BTreeSet;

use super::WorktreeError;
use super::git::{GitRunner, records};
use super::import::{file_objects, joined};
use crate::git_object_store::GitObjectStore;

impl GitRunner {
    /// Has a commit in the repository, with everything that it names.
    ///
    /// # Errors
    /// [`WorktreeError::File`] if it cannot be written there, and those of git.
    pub(super) async fn deliver(&self, commit: &str) -> Result<(), WorktreeError> {
        let Some(store) = self.objects() else { return Ok(()) };
        if store.is_delivered(commit) {
            return Ok(());
        }
        // Objects that came from the repository are assumed to be complete there.
        let mut known: BTreeSet<String> = self.known(store)?.into_iter().collect();
        let gone = self.missing_in_repository(&known).await?;
        known.retain(|commit| !gone.contains(commit));
        let listed = self.call(&["rev-list", "--objects", "--no-object-names", commit, "--not"]);
        let listed = listed.and_all(known).bytes().await?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        self.write_to_repository(store, self.missing_in_repository(listed.lines()).await?).await?;
        store.note_delivered(commit);
        Ok(())
    }

    /// Puts the files of this index into the repository: agents continue an open merge.
    pub(super) async fn deliver_index(&self) -> Result<(), WorktreeError> {
        let Some(store) = self.objects() else { return Ok(()) };
        let listed = self.call(&["ls-files", "-s", "-z"]).bytes().await?;
        let missing = self.missing_in_repository(file_objects(records(&listed))).await?;
        self.write_to_repository(store, missing).await
    }

    async fn write_to_repository(
        &self,
        store: &GitObjectStore,
        objects: Vec<String>,
    ) -> Result<(), WorktreeError> {
        if objects.is_empty() {
            return Ok(());
        }
        let outgoing = store.outgoing().map_err(|source| self.file("write objects of git to", source))?;
        let pack = outgoing.path().join("pack-of-all");
        self.packing(joined(objects), &pack).done().await?;
        self.unpack_file(outgoing.path(), &pack).await?;
        let written = store.copy_all(outgoing.path(), &self.repository_objects());
        written.map_err(|source| self.file("write objects of git to", source))
    }
}
