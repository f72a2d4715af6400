//! States of the workspace during a run, as git trees, and the differences between two of them. Nothing in the repository names
//! these trees, so no history has them; the host's store of objects keeps them.

use std::path::Path;

use super::{RunWorktrees, WorktreeError};
use baton_core::WorktreeName;

/// The differences between two states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateDiff {
    /// The files, in the order of git.
    pub files: Vec<StateDiffFile>,
    /// The patch, if it was requested.
    pub patch: Vec<u8>,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDiffFile {
    /// From the top of the repository.
    pub path: String,
    /// Added lines; absent if it is not text.
    pub added: Option<u64>,
    /// Removed lines; absent if it is not text.
    pub removed: Option<u64>,
}

impl RunWorktrees {
    /// The state of the workspace now, uncommitted work included. Changes nothing that a user sees.
    ///
    /// # Errors
    /// [`WorktreeError`] if git fails, or if there is none.
    pub async fn state(&self) -> Result<String, WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        let worktree = self.worktree(&WorktreeName::workspace()).await?;
        Ok(self.snapshot(&worktree, &[]).await?.tree.clone())
    }

    /// What differs between two states, below the workspace; only in these files if any are named. Whether a file is text depends on its
    /// content, whatever attributes say.
    ///
    /// # Errors
    /// [`WorktreeError`] if git fails, and [`WorktreeError::Objects`] for a state that does not exist any more.
    pub async fn between(
        &self,
        from: &str,
        to: &str,
        files: &[String],
        with_patch: bool,
    ) -> Result<StateDiff, WorktreeError> {
        let worktree = self.worktree(&WorktreeName::workspace()).await?;
        for state in [from, to] {
            worktree.git.take(state).await?;
        }
        let safe = ["--no-ext-diff", "--no-textconv", "--no-renames"];
        let root = worktree.root();
        let below =
            |file: &str| root.join(file).strip_prefix(worktree.top()).unwrap_or(Path::new(file)).to_owned();
        let mut paths: Vec<_> = files.iter().map(|file| below(file)).collect();
        if paths.is_empty() && root != worktree.top() {
            paths.push(below(""));
        }
        let numbers = ["--literal-pathspecs", "diff-tree", "-r", "-z", "--numstat"];
        let call = worktree.git.call(&numbers).and_all(safe).and(from).and(to).and("--").and_all(&paths);
        let files =
            call.without_attributes().bytes().await?.split(|byte| *byte == 0).filter_map(numbered).collect();
        let mut patch = Vec::new();
        if with_patch {
            let call = worktree.git.call(&["--literal-pathspecs", "diff-tree", "-r", "-p", "--color=never"]);
            let call = call.and_all(safe).and(from).and(to).and("--").and_all(&paths);
            patch = call.without_attributes().bytes().await?;
        }
        Ok(StateDiff { files, patch })
    }
}

/// "3\t1\tsrc/a.rs"; "-\t-\ta.png" for a file that is not text.
pub(super) fn numbered(record: &[u8]) -> Option<StateDiffFile> {
    let text = String::from_utf8_lossy(record);
    let mut parts = text.splitn(3, '\t');
    let (added, removed, path) = (parts.next()?, parts.next()?, parts.next()?);
    Some(StateDiffFile { path: path.to_owned(), added: added.parse().ok(), removed: removed.parse().ok() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_with_their_lines() {
        let file = |record: &str| numbered(record.as_bytes());
        let expected = |added, removed| StateDiffFile { path: "a b.rs".into(), added, removed };
        assert_eq!(file("3\t1\ta b.rs"), Some(expected(Some(3), Some(1))));
        assert_eq!(file("-\t-\ta b.rs"), Some(expected(None, None)));
        assert_eq!(file(""), None);
    }
}
