//! The state of a run's repository before its first agent: stored once, so that later changes by agents have no effect.

use super::{RunWorktrees, WorktreeError};
use crate::git_info::GitInfoSnapshot;
use crate::git_links::AcceptedLinks;

impl RunWorktrees {
    /// Records the repository before the first agent of the run works in it: its links and alternates, its `.git`, and its
    /// ignore lists. Later links are refused, and later ignore lists have no effect. Called again, it changes nothing.
    ///
    /// # Errors
    /// [`WorktreeError::File`] if the note cannot be read or written; [`WorktreeError::Link`] if git would wait for a pipe.
    pub async fn note_repository(&self) -> Result<(), WorktreeError> {
        // An earlier host of the run has noted them.
        let is_new = AcceptedLinks::noted(&self.0.links).is_ok_and(|noted| noted.is_none());
        if is_new {
            self.0.refs.begin()?;
        }
        self.clear_landings(&self.0.workspace);
        self.keep_info().await?;
        self.note_links().await?;
        self.note_start().await
    }

    /// Whether the repository was restored or cloned again since it was noted. False if that is unknown, or nothing was noted.
    pub fn was_made_again(&self) -> bool {
        let noted = AcceptedLinks::noted(&self.0.links).ok().flatten().and_then(|noted| noted.dot_git);
        noted.is_some_and(|noted| noted.was_made_again())
    }

    async fn keep_info(&self) -> Result<(), WorktreeError> {
        let folder = &self.0.info;
        let failed = |what| move |source| WorktreeError::File { what, path: folder.clone(), source };
        if GitInfoSnapshot::kept(folder).map_err(failed("read"))?.is_some() {
            return Ok(());
        }
        let kept = match self.around().await? {
            Ok(repository) => GitInfoSnapshot::of(&repository).await.map_err(failed("write"))?,
            Err(_) => GitInfoSnapshot::default(),
        };
        kept.keep(folder).map_err(failed("write"))
    }

    async fn note_links(&self) -> Result<(), WorktreeError> {
        let file = &self.0.links;
        let failed = |what| move |source| WorktreeError::File { what, path: file.clone(), source };
        if let Some(noted) = AcceptedLinks::noted(file).map_err(failed("read"))? {
            noted.dot_git.into_iter().for_each(|noted| drop(self.0.held.set(noted.taken_up())));
            return Ok(());
        }
        let links = match self.around().await? {
            Ok(repository) => AcceptedLinks::of(&repository),
            // A repository that appears later has none of the user's.
            Err(_) => AcceptedLinks::default(),
        };
        links.note(file).map_err(failed("write"))?;
        links.dot_git.into_iter().for_each(|now| drop(self.0.held.set(now)));
        Ok(())
    }
}
