//! Which repository a tree belongs to. The `.git` of a tree is a file that names a folder, and an agent who writes there could
//! name another one. So its bytes when the tree was made are kept beside the trees, where no agent writes: git gets its place
//! from there, and the file is held to it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use baton_core::{WorktreeName, git_link};

use super::create::{failed, move_away};
use super::worktree::Worktree;
use super::{RunWorktrees, WorkspaceRepository, WorktreeError, fit};
use crate::ReplacedFolder;
use crate::isolated_git_dir::{Repository, WORK_TREES, hold_file, named_by, read};

/// Files that keep the `.git` of a tree.
const MADE: &str = ".made-";
/// The file with the path of the workspace's repository.
const REPOSITORY: &str = ".repository";

impl RunWorktrees {
    /// Trees in which an agent had replaced or removed `.git`, since the last call. It was written again; the replaced file is
    /// next to the trees, under a name that begins with `.lost-`.
    pub fn take_mended(&self) -> Vec<WorktreeName> {
        std::mem::take(&mut *self.0.mended.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Links that replaced folders of Baton's own and were removed, each reported once.
    pub fn take_exchanged(&self) -> Vec<ReplacedFolder> {
        self.0.workspace.exchanged.take()
    }

    fn link_of(&self, tree: &WorktreeName) -> PathBuf {
        self.0.folder.join(format!("{MADE}{}", fit(tree.as_str())))
    }

    /// Makes a new tree name its repository, and not the folder that replaces it, and stores the content.
    pub(super) fn keep_link(
        &self,
        repo: &WorkspaceRepository,
        tree: &WorktreeName,
    ) -> Result<(), WorktreeError> {
        let top = self.path_of(tree);
        let dot_git = top.join(".git");
        let named = read(&dot_git).and_then(|link| named_by(&link, &top));
        let named = named.map_err(|source| failed("read", &dot_git, source))?;
        let link = [b"gitdir: ", named.as_os_str().as_encoded_bytes(), b"\n"].concat();
        hold_file(&dot_git, &link).map_err(|source| failed("write", &dot_git, source))?;
        let kept = self.link_of(tree);
        hold_file(&kept, &link).map_err(|source| failed("write", &kept, source))?;
        let (kept, git_dir) = (self.0.folder.join(REPOSITORY), &repo.repository.git_dir);
        hold_file(&kept, git_dir.as_os_str().as_encoded_bytes())
            .map_err(|source| failed("write", &kept, source))
    }

    /// The repository that a tree was made in; none if it was not made, or either is gone.
    pub(super) fn made_in(&self, repo: &WorkspaceRepository, tree: &WorktreeName) -> Option<Repository> {
        let top = self.path_of(tree);
        let is_folder = top.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let git_dir = named_by(&read(&self.link_of(tree)).ok()?, &top).ok()?;
        let common_dir = repo.repository.common_dir.clone();
        let is_in_it = git_dir.parent() == Some(common_dir.join(WORK_TREES).as_path());
        (is_folder && is_in_it).then_some(Repository { top, git_dir, common_dir })
    }

    /// The `.git` of a tree is unchanged since its creation, byte for byte.
    pub(super) fn hold_link(&self, tree: &WorktreeName, top: &Path) -> Result<(), WorktreeError> {
        let (kept, dot_git) = (self.link_of(tree), top.join(".git"));
        let link = read(&kept).map_err(|source| failed("read", &kept, source))?;
        let is_file = dot_git.symlink_metadata().is_ok_and(|meta| meta.is_file());
        if is_file && read(&dot_git).is_ok_and(|now| now == link) {
            return Ok(());
        }
        move_away(&dot_git, &self.0.folder, &format!("{}.git", fit(tree.as_str())))?;
        hold_file(&dot_git, &link).map_err(|source| failed("write", &dot_git, source))?;
        self.0.mended.lock().unwrap_or_else(PoisonError::into_inner).push(tree.clone());
        Ok(())
    }

    /// Registers a tree again if its entry was lost with the repository, as by a new clone. If its branch is gone too, it
    /// begins where the tree did. Every file stays, so earlier commits there count as uncommitted changes.
    pub(super) async fn register_again(
        &self,
        repo: &WorkspaceRepository,
        tree: &WorktreeName,
    ) -> Result<bool, WorktreeError> {
        let (top, common_dir) = (self.path_of(tree), repo.repository.common_dir.clone());
        let list = common_dir.join(WORK_TREES);
        let Ok(link) = read(&self.link_of(tree)) else { return Ok(false) };
        let Some(git_dir) = git_link::named_by(&link).map(|named| top.join(named)) else { return Ok(false) };
        let is_folder = top.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let is_list_link = list.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        let is_in_it = git_dir.parent() == Some(list.as_path());
        if !is_folder || is_list_link || !is_in_it || git_dir.symlink_metadata().is_ok() {
            return Ok(false);
        }
        let made = Repository { top, git_dir, common_dir };
        let workspace = self.workspace_place(repo).await?;
        let fork = self.reference("fork", tree.as_str());
        let Some(base) = workspace.commit(&fork).await? else { return Ok(false) };
        let branch = format!("refs/heads/{}", self.branch_of(repo, tree));
        match workspace.commit(&branch).await? {
            Some(tip) if !workspace.holds(&base, &tip).await? => return Ok(false),
            Some(_) => {}
            None => {
                workspace.git.deliver(&base).await?;
                let set = workspace.git.call(&["update-ref", "--no-deref", &branch, &base]);
                set.done().await?;
            }
        }
        let dot_git = made.top.join(".git");
        let files = [
            ("commondir", b"../..\n".to_vec()),
            ("HEAD", format!("ref: {branch}\n").into_bytes()),
            ("gitdir", [dot_git.as_os_str().as_encoded_bytes(), b"\n"].concat()),
        ];
        let written = fs::create_dir_all(&list).and_then(|()| fs::create_dir(&made.git_dir)).and_then(|()| {
            files.iter().try_for_each(|(name, text)| hold_file(&made.git_dir.join(name), text))
        });
        written.map_err(|source| failed("write", &made.git_dir, source))?;
        let worktree = Worktree::new(self, repo, tree, self.view(tree, &made).await?);
        worktree.git.call(&["reset", "-q"]).done().await?;
        Ok(true)
    }

    /// Deletes the stored data of a removed tree.
    pub(super) fn forget_link(&self, tree: &WorktreeName) -> Result<(), WorktreeError> {
        remove(&self.link_of(tree))?;
        remove_folder(&self.view_of(tree))
    }

    /// After the last tree of the run, deletes all of their data.
    pub(super) fn forget_all(&self) -> Result<(), WorktreeError> {
        let entries = fs::read_dir(&self.0.folder).into_iter().flatten().flatten();
        let is_used = |name: std::ffi::OsString| name.to_string_lossy().starts_with(MADE);
        if !entries.map(|entry| entry.file_name()).any(is_used) {
            remove(&self.0.folder.join(REPOSITORY))?;
            // Files that were moved away stay.
            let _ = fs::remove_dir(&self.0.folder);
        }
        Ok(())
    }

    /// Refuses another repository than the one in which the trees were made: an agent may have put its own there.
    pub(super) fn expect_same(&self, repository: &Repository) -> Result<(), WorktreeError> {
        let kept = self.0.folder.join(REPOSITORY);
        let then = match read(&kept) {
            Ok(then) => super::git::path(&then),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(failed("read", &kept, source)),
        };
        if then == repository.git_dir {
            return Ok(());
        }
        let (workspace, now) = (self.0.workspace.root().to_owned(), repository.git_dir.clone());
        Err(WorktreeError::OtherRepository { workspace, now, then })
    }
}

fn remove(file: &Path) -> Result<(), WorktreeError> {
    match fs::remove_file(file) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(failed("remove", file, source)),
        _ => Ok(()),
    }
}

/// A folder that stood for the repository: links and one file.
fn remove_folder(folder: &Path) -> Result<(), WorktreeError> {
    match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(failed("remove", folder, source)),
        _ => Ok(()),
    }
}
