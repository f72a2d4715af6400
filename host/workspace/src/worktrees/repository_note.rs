//! What the repository of a run was before its first agent: kept once, so that what agents change about it later counts for nothing.

use super::{TreeError, Trees};
use crate::git_info::KeptInfo;
use crate::git_links::AcceptedLinks;

impl Trees {
    /// Notes what the repository is before the first agent of the run works in it: which links and alternates it has, what its `.git` is,
    /// and what it has git ignore. Later links are refused, and what is ignored later counts for nothing. Called again, it changes nothing.
    ///
    /// # Errors
    /// [`TreeError::File`] if the note cannot be read or written; [`TreeError::Link`] if git would wait for a pipe.
    pub async fn note_repository(&self) -> Result<(), TreeError> {
        self.keep_info().await?;
        self.note_links().await
    }

    async fn keep_info(&self) -> Result<(), TreeError> {
        let folder = &self.0.info;
        let failed = |what| move |source| TreeError::File { what, path: folder.clone(), source };
        if KeptInfo::kept(folder).map_err(failed("read"))?.is_some() {
            return Ok(());
        }
        let kept = match self.around().await? {
            Ok(repository) => KeptInfo::of(&repository).await.map_err(failed("write"))?,
            Err(_) => KeptInfo::default(),
        };
        kept.keep(folder).map_err(failed("write"))
    }

    async fn note_links(&self) -> Result<(), TreeError> {
        let file = &self.0.links;
        let failed = |what| move |source| TreeError::File { what, path: file.clone(), source };
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
