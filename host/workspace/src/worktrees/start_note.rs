//! The parts of the workspace that git did not see when a run began: ignored files, and entries of the index that were left out
//! of the folder. Recorded once, so that an agent that changes the ignore lists or the omitted entries hides nothing, and
//! brings none of these files into a commit.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_core::WorktreeName;

use super::git::{path, records};
use super::worktree::Worktree;
use super::{RunWorktrees, WorktreeError};

/// Bytes of a note at most: some hundred thousand paths.
const NOTE_BYTES_MAX: u64 = 32 << 20;

/// The note. Paths are from the top of the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StartNote {
    /// The workspace was a sparse checkout.
    pub(super) is_sparse: bool,
    /// Files that git ignored, and folders of which it ignored everything.
    pub(super) ignored: BTreeSet<PathBuf>,
    /// Entries of the index that were not to be in the folder.
    pub(super) left_out: BTreeSet<PathBuf>,
    /// The commit that was checked out, by which the repository is known again.
    head: Option<String>,
}

impl StartNote {
    async fn of(worktree: &Worktree) -> Result<Self, WorktreeError> {
        let git = &worktree.git;
        let ignored = ["ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z"];
        let ignored = git.call(&ignored).bytes().await?;
        let flagged = git.call(&["ls-files", "-v", "-z"]).bytes().await?;
        let left_out = records(&flagged)
            .filter(|record| record.first().is_some_and(|mark| mark.eq_ignore_ascii_case(&b'S')));
        Ok(Self {
            is_sparse: worktree.is_sparse(git).await?,
            ignored: records(&ignored).map(path).filter(|path| !worktree.is_own(path)).collect(),
            left_out: left_out.filter_map(|record| record.get(2..)).map(path).collect(),
            head: worktree.head().await?,
        })
    }

    /// Records that end with a zero byte: the kind, and the path.
    fn to_bytes(&self) -> Vec<u8> {
        let one = |mark: &[u8], path: &Path| [mark, path.as_os_str().as_bytes(), b"\0"].concat();
        let ignored = self.ignored.iter().flat_map(|path| one(b"i", path));
        let left_out = self.left_out.iter().flat_map(|path| one(b"s", path));
        let sparse = self.is_sparse.then_some(b"c\0").into_iter().flatten().copied();
        let head = self.head.iter().flat_map(|head| one(b"h", Path::new(head)));
        sparse.chain(ignored).chain(left_out).chain(head).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let mut note = Self::default();
        for record in records(bytes) {
            match record.split_first() {
                Some((b'i', name)) => drop(note.ignored.insert(path(name))),
                Some((b's', name)) => drop(note.left_out.insert(path(name))),
                Some((b'h', name)) => note.head = Some(String::from_utf8_lossy(name).into_owned()),
                _ => note.is_sparse = true,
            }
        }
        note
    }
}

impl RunWorktrees {
    /// Notes it, unless an earlier host of the run has.
    pub(super) async fn note_start(&self) -> Result<(), WorktreeError> {
        if self.start_note()?.is_some() {
            return Ok(());
        }
        // If git fails now, the calls that need it report that later.
        let Ok(worktree) = self.worktree(&WorktreeName::workspace()).await else { return Ok(()) };
        let Ok(note) = StartNote::of(&worktree).await else { return Ok(()) };
        let file = &self.0.start_file;
        let failed = |source| WorktreeError::File { what: "write", path: file.clone(), source };
        let beside = file.with_added_extension("new");
        fs::write(&beside, note.to_bytes()).and_then(|()| fs::rename(&beside, file)).map_err(failed)?;
        drop(self.0.start.set(Arc::new(note)));
        Ok(())
    }

    /// The note of the run; none for a run of an earlier version.
    pub(super) fn start_note(&self) -> Result<Option<Arc<StartNote>>, WorktreeError> {
        if let Some(note) = self.0.start.get() {
            return Ok(Some(Arc::clone(note)));
        }
        let file = &self.0.start_file;
        match crate::regular_file::read_plain(file, NOTE_BYTES_MAX) {
            Ok(bytes) => {
                let read = || Arc::new(StartNote::from_bytes(&bytes));
                Ok(Some(Arc::clone(self.0.start.get_or_init(read))))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(WorktreeError::File { what: "read", path: file.clone(), source }),
        }
    }

    /// Refuses a repository without the commit with which the run began: it is another one, which an agent may have put there,
    /// or one that was created again. Checks once.
    pub(super) async fn expect_same_history(&self, worktree: &Worktree) -> Result<(), WorktreeError> {
        let note = self.start_note()?;
        let Some(head) = note.as_ref().and_then(|note| note.head.as_ref()) else { return Ok(()) };
        if self.0.is_same_history.initialized()
            || worktree.git.missing_in_repository([head]).await?.is_empty()
        {
            drop(self.0.is_same_history.set(()));
            return Ok(());
        }
        let repository = worktree.repository().common_dir.clone();
        Err(WorktreeError::OtherHistory { repository, commit: head.clone() })
    }

    /// Keeps files out of everything that git makes for this run: sandboxed agents do not see these files, and could read them
    /// there. Absolute, or from the workspace. Called once.
    pub fn hide_from_git(&self, hidden: Vec<PathBuf>) {
        drop(self.0.hidden_from_git.set(hidden));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let set = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        let note = StartNote {
            is_sparse: true,
            ignored: set(&[".env", "target"]),
            left_out: set(&["a b\nc"]),
            head: Some("ab".repeat(20)),
        };
        assert_eq!(StartNote::from_bytes(&note.to_bytes()), note);
        assert_eq!(StartNote::from_bytes(b""), StartNote::default());
    }
}
