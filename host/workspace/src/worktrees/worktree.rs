//! One tree as git sees it: its place, the files that belong to the work, and Baton's own. Reads only, except for commits of
//! its content to the tree's own branch.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use baton_core::WorktreeName;
use baton_core::visible::visible_name;
use baton_sandbox::make_listable;

use super::git::{GitRunner, path, records};
use super::index_additions::add_files;
use super::index_refresh::look_anew;
use super::run_refs::RunRefs;
use super::start_note::StartNote;
use super::{MAX_FILE_BYTES, RunWorktrees, WorkspaceRepository, WorktreeError};
use crate::git_config::filter_of;
use crate::git_info::GitInfoSnapshot;
use crate::git_links::AcceptedLinks;
use crate::isolated_git_dir::{IsolatedGitDir, Repository};
use crate::user_filters::UserCommandsOff;

/// Git's word for a repository within a tree.
pub(super) const GITLINK: &str = "160000";

/// The workspace, or a work tree outside it.
#[derive(Clone, Debug)]
pub(super) struct Worktree {
    pub(super) tree: WorktreeName,
    pub(super) git: GitRunner,
    /// Baton's branch here; none in the workspace.
    pub(super) branch: String,
    /// The ref of the commit where the tree began.
    pub(super) fork: String,
    repository: Repository,
    /// Filters that the repository names.
    filters: BTreeSet<String>,
    /// Commands of the user that do not run.
    off: UserCommandsOff,
    prefix: PathBuf,
    /// The folder of the run's trees.
    beside: PathBuf,
    /// Baton's own paths, from the top.
    own: Vec<PathBuf>,
    /// Paths that agents do not see, from the top.
    hidden: BTreeSet<PathBuf>,
    start_note: Option<Arc<StartNote>>,
    pub(super) refs: RunRefs,
}

impl Worktree {
    pub(super) fn new(
        trees: &RunWorktrees,
        repo: &WorkspaceRepository,
        tree: &WorktreeName,
        view: IsolatedGitDir,
    ) -> Self {
        let mut own = vec![repo.prefix.join(".baton")];
        own.extend(trees.0.workspace.own.as_ref().map(|own| repo.prefix.join(own)));
        own.extend(
            trees
                .0
                .hidden
                .iter()
                .filter_map(|hidden| Some(hidden.strip_prefix(&repo.repository.top).ok()?.to_owned())),
        );
        own.retain(|own| own.components().next().is_some() && *own != repo.prefix);
        let is_ours = !tree.is_workspace();
        // An unreadable note was reported when it was written or read first.
        let start_note = trees.start_note().ok().flatten();
        let top = &view.repository.top;
        let hidden = trees.0.hidden_from_git.get().into_iter().flatten();
        let hidden = hidden.filter_map(|hidden| match hidden.is_absolute() {
            true => hidden.strip_prefix(top).ok().map(Path::to_owned),
            false => Some(repo.prefix.join(hidden)),
        });
        let hidden = hidden.filter(|path| path.components().next().is_some()).collect();
        Self {
            tree: tree.clone(),
            repository: view.repository.clone(),
            filters: view.filters.clone(),
            off: view.off.clone(),
            git: GitRunner::new(view, repo.identity.clone(), is_ours),
            branch: if is_ours { trees.branch_of(repo, tree) } else { String::new() },
            fork: trees.reference("fork", tree.as_str()),
            prefix: repo.prefix.clone(),
            beside: trees.0.folder.clone(),
            own,
            hidden,
            start_note,
            refs: trees.0.refs.clone(),
        }
    }

    pub(super) fn top(&self) -> &Path {
        &self.repository.top
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The workspace in the repository.
    pub(super) fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// The folder in which a phase works.
    pub(super) fn root(&self) -> PathBuf {
        self.top().join(&self.prefix)
    }

    /// Git takes this folder for a work tree.
    pub(super) async fn is_sound(&self) -> Result<bool, WorktreeError> {
        let found = self.git.call(&["rev-parse", "--is-inside-work-tree"]).ended().await?;
        Ok(found.code == Some(0) && found.answer == b"true\n")
    }

    /// Refuses a branch of Baton's that is a symbolic ref to another one: git would move that one.
    pub(super) async fn expect_own_branch(&self) -> Result<(), WorktreeError> {
        let branch = self.own_branch();
        match self.git.call(&["symbolic-ref", "-q", &branch]).answer().await? {
            None => Ok(()),
            Some(to) => Err(WorktreeError::Link {
                source: std::io::Error::other(format!(
                    "the branch {branch} stands for {to} now, and git would move that one: an agent may have done it; \
                     `git update-ref --no-deref {branch} {to}` makes it a branch again"
                )),
            }),
        }
    }

    /// The commit of HEAD; nothing before the first one.
    pub(super) async fn head(&self) -> Result<Option<String>, WorktreeError> {
        self.commit("HEAD").await
    }

    /// The commit of a name. The host has it then, with everything that it names.
    pub(super) async fn commit(&self, name: &str) -> Result<Option<String>, WorktreeError> {
        let Some(name) = self.written_down(name).await? else { return Ok(None) };
        let commit = self.git.call(&["rev-parse", "-q", "--verify"]).and(name).answer().await?;
        if let Some(commit) = &commit {
            self.git.take(commit).await?;
        }
        Ok(commit)
    }

    /// The full name of the branch that is checked out; none if HEAD is detached.
    pub(super) async fn checked_out(&self) -> Result<Option<String>, WorktreeError> {
        self.git.call(&["symbolic-ref", "-q", "HEAD"]).answer().await
    }

    pub(super) async fn tree_of(&self, commit: &str) -> Result<String, WorktreeError> {
        self.git.call(&["rev-parse", "-q", "--verify"]).and(format!("{commit}^{{tree}}")).text().await
    }

    pub(super) async fn holds(&self, commit: &str, within: &str) -> Result<bool, WorktreeError> {
        Ok(commit == within
            || self.git.call(&["merge-base", "--is-ancestor", commit, within]).holds().await?)
    }

    /// The commit that is being merged here.
    pub(super) async fn open_merge(&self) -> Result<Option<String>, WorktreeError> {
        self.commit("MERGE_HEAD").await
    }

    /// Paths with a conflict that are not marked as resolved.
    pub(super) async fn unmerged(&self) -> Result<Vec<PathBuf>, WorktreeError> {
        let listed =
            self.git.call(&["ls-files", "--unmerged", "--full-name", "-z", "--", ":/"]).bytes().await?;
        let name = |record: &[u8]| record.splitn(2, |byte| *byte == b'\t').nth(1).map(path);
        let mut paths: Vec<PathBuf> = records(&listed).filter_map(name).collect();
        paths.dedup();
        Ok(paths)
    }

    /// Everything except Baton's own paths.
    pub(super) fn work(&self) -> Vec<OsString> {
        let own = self.own.iter().map(|own| spec(":(top,exclude,literal)", own));
        std::iter::once(OsString::from(":/")).chain(own).collect()
    }

    pub(super) fn own(&self) -> impl Iterator<Item = OsString> {
        self.own.iter().map(|own| spec(":(top,literal)", own))
    }

    /// Baton's own paths, from the top.
    pub(super) fn own_paths(&self) -> impl Iterator<Item = &Path> {
        self.own.iter().map(PathBuf::as_path)
    }

    pub(super) fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|own| path.starts_with(own))
    }

    /// A path of the workspace's view, from the top.
    pub(super) fn at_top(&self, path: &Path) -> PathBuf {
        self.prefix.join(path).components().filter(|part| *part != Component::CurDir).collect()
    }

    /// The full name of the branch that is ours here.
    pub(super) fn own_branch(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Checks out Baton's branch, at this commit, without an open merge. The files stay as they are.
    pub(super) async fn go_home_to(&self, commit: &str) -> Result<(), WorktreeError> {
        let ours = self.own_branch();
        self.git.deliver(commit).await?;
        self.git.call(&["update-ref", &ours, commit]).done().await?;
        self.git.call(&["symbolic-ref", "HEAD", &ours]).done().await?;
        self.git.call(&["reset", "-q"]).done().await
    }

    /// A path from the top, in the workspace's view.
    pub(super) fn shown(&self, path: &Path) -> String {
        let shown = match path.strip_prefix(&self.prefix) {
            Ok(inside) => inside.to_owned(),
            Err(_) => {
                let up: PathBuf = self.prefix.components().map(|_| Component::ParentDir).collect();
                up.join(path)
            }
        };
        visible_name(&shown.to_string_lossy()).into_owned()
    }

    /// Adds everything of the work to an index, and nothing of Baton's own: those entries stay as in `own_of`.
    pub(super) async fn gather(&self, git: &GitRunner, own_of: Option<&str>) -> Result<(), WorktreeError> {
        let top = self.top().to_owned();
        // Of a folder that it cannot list, git only warns.
        let _ = tokio::task::spawn_blocking(move || make_listable(&top)).await;
        self.look_at_all(git).await?;
        look_anew(git).await?;
        self.expect_own_filters(git).await?;
        self.expect_moderate(git).await?;
        let within = self.repositories_within(git).await?;
        let but_these = within.iter().map(|path| spec(":(top,exclude,literal)", path));
        let listed = git.call(&["ls-files", "-mo", "--exclude-standard", "-z", "--"]);
        let listed = listed.and_all(self.work()).and_all(but_these).bytes().await?;
        let names: BTreeSet<&[u8]> = records(&listed).filter(|name| !self.is_apart(&path(name))).collect();
        // A repository that the index does not know is named as a folder.
        if let Some(nested) = names.iter().find_map(|name| name.strip_suffix(b"/")) {
            return Err(WorktreeError::Nested { path: self.shown(&path(nested)) });
        }
        add_files(git, names).await?;
        self.reset_apart(git).await?;
        match own_of {
            Some(commit) => {
                git.call(&["reset", "-q", commit, "--"]).and_all(self.own()).done().await?;
            }
            None => {
                let forget = git.call(&["rm", "-r", "-q", "--cached", "--sparse", "--ignore-unmatch", "--"]);
                forget.and_all(self.own()).done().await?;
            }
        }
        self.expect_whole(git).await
    }

    /// Files that git was configured to take for unchanged, or to leave out of the work tree, are compared like all others. What is left out
    /// and not there is so by a sparse checkout, or by the user's own setting in the workspace. What else an index has so was never a file here.
    async fn look_at_all(&self, git: &GitRunner) -> Result<(), WorktreeError> {
        let listed = git.call(&["ls-files", "-v", "-z"]).bytes().await?;
        // "h a.txt": a mark, and the name.
        let marked = || records(&listed).filter_map(|record| Some((*record.first()?, record.get(2..)?)));
        let (left_out, unchanged) = (
            marked().filter(|(mark, _)| mark.eq_ignore_ascii_case(&b'S')).map(|(_, name)| name),
            marked().filter(|(mark, _)| mark.is_ascii_lowercase()).map(|(_, name)| name),
        );
        let is_there = |name: &[u8]| self.top().join(path(name)).symlink_metadata().is_ok();
        let (mut shown, absent): (Vec<&[u8]>, Vec<&[u8]>) = left_out.partition(|name| is_there(name));
        let note = self.start_note.as_ref();
        if !absent.is_empty() {
            let is_new = |name: &[u8]| note.is_some_and(|note| !note.left_out.contains(&path(name)));
            if note.is_none_or(|note| note.is_sparse) && self.is_sparse(git).await? {
                let is_hidden = |name: &&[u8]| self.tree.is_workspace() && is_new(name);
                shown.extend(absent.into_iter().filter(is_hidden));
            } else {
                let staged = self.staged(git).await?;
                let is_planted =
                    |name: &&[u8]| !self.tree.is_workspace() || staged.contains(*name) || is_new(name);
                shown.extend(absent.into_iter().filter(is_planted));
            }
        }
        for (flag, names) in [("--no-assume-unchanged", unchanged.collect()), ("--no-skip-worktree", shown)] {
            let names: Vec<u8> = names.into_iter().flat_map(|name| [name, b"\0"].concat()).collect();
            if !names.is_empty() {
                git.call(&["update-index", flag, "-z", "--stdin"]).input(names).done().await?;
            }
        }
        Ok(())
    }

    pub(super) async fn is_sparse(&self, git: &GitRunner) -> Result<bool, WorktreeError> {
        let setting = git.call(&["config", "--type=bool", "--get", "core.sparseCheckout"]).answer().await?;
        Ok(setting.as_deref() == Some("true"))
    }

    /// Removes the files that the run must leave alone from an index, except for HEAD's version of them.
    async fn reset_apart(&self, git: &GitRunner) -> Result<(), WorktreeError> {
        if self.hidden.is_empty() && self.ignored().is_none() {
            return Ok(());
        }
        let listed = git.call(&["ls-files", "-z"]).bytes().await?;
        let apart = records(&listed).filter(|name| self.is_apart(&path(name)));
        let names: Vec<u8> = apart.flat_map(|name| [name, b"\0"].concat()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let reset = ["--literal-pathspecs", "reset", "-q", "--pathspec-from-file=-", "--pathspec-file-nul"];
        git.call(&reset).and(self.start(git).await?).input(names).done().await
    }

    /// The files that git ignored here when the run began; none in a tree that was made since.
    fn ignored(&self) -> Option<&BTreeSet<PathBuf>> {
        let note = self.start_note.as_ref().filter(|_| self.tree.is_workspace())?;
        (!note.ignored.is_empty()).then_some(&note.ignored)
    }

    /// Whether the run leaves a path alone: git ignored it when the run began, or agents do not see it.
    fn is_apart(&self, path: &Path) -> bool {
        is_below(path, &self.hidden) || self.ignored().is_some_and(|ignored| is_below(path, ignored))
    }

    /// Files that git ignored when the run began, and does not ignore any more.
    pub(super) async fn unignored(&self, git: &GitRunner) -> Result<Vec<PathBuf>, WorktreeError> {
        let Some(ignored) = self.ignored() else { return Ok(Vec::new()) };
        let listed = git.call(&["ls-files", "-o", "--exclude-standard", "-z", "--"]).and_all(self.work());
        let listed = listed.bytes().await?;
        Ok(records(&listed).map(path).filter(|path| is_below(path, ignored)).collect())
    }

    /// The entries of an index that differ from HEAD.
    async fn staged(&self, git: &GitRunner) -> Result<BTreeSet<Vec<u8>>, WorktreeError> {
        let start = self.start(git).await?;
        let names = ["diff-index", "--cached", "--name-only", "-z", "--no-renames", &start, "--"];
        let names = git.call(&names).bytes().await?;
        Ok(records(&names).map(<[u8]>::to_vec).collect())
    }

    /// HEAD, or the empty tree before the first commit.
    async fn start(&self, git: &GitRunner) -> Result<String, WorktreeError> {
        match self.head().await? {
            Some(head) => Ok(head),
            None => git.call(&["mktree"]).text().await,
        }
    }

    /// Refuses files that are new or changed and too large for git to take.
    async fn expect_moderate(&self, git: &GitRunner) -> Result<(), WorktreeError> {
        let listed = git.call(&["ls-files", "-mo", "--exclude-standard", "-z", "--"]).and_all(self.work());
        records(&listed.bytes().await?).map(path).try_for_each(|file| self.expect_moderate_file(&file))
    }

    /// Refuses a file that is too large for git to take.
    pub(super) fn expect_moderate_file(&self, file: &Path) -> Result<(), WorktreeError> {
        match self.top().join(file).symlink_metadata() {
            Ok(meta) if meta.is_file() && meta.len() > MAX_FILE_BYTES => {
                Err(WorktreeError::TooLarge { path: self.shown(file), bytes: meta.len() })
            }
            _ => Ok(()),
        }
    }

    /// Refuses files with a filter that the repository names and the user does not, or that the user names in a way by which it
    /// could run a file of the tree (`user_filters.rs`). The filter is not run, since others may have brought it; and without
    /// it git would store such a file unfiltered, which may be a secret.
    async fn expect_own_filters(&self, git: &GitRunner) -> Result<(), WorktreeError> {
        if self.filters.is_empty() && self.off.has_no_filter() {
            return Ok(());
        }
        let users = git.call(&["config", "--name-only", "--get-regexp", "^filter\\."]).answer().await?;
        let users: BTreeSet<&str> =
            users.iter().flat_map(|names| names.lines()).filter_map(filter_of).collect();
        let listed = git.call(&["ls-files", "-co", "--exclude-standard", "-z", "--"]).and_all(self.work());
        let listed = listed.bytes().await?;
        let is_file =
            |name: &&[u8]| self.top().join(path(name)).symlink_metadata().is_ok_and(|meta| meta.is_file());
        let files: Vec<u8> =
            records(&listed).filter(is_file).flat_map(|name| [name, b"\0"].concat()).collect();
        let attributes = git.call(&["check-attr", "--stdin", "-z", "filter"]).input(files).bytes().await?;
        let mut words = attributes.split(|byte| *byte == 0);
        while let (Some(name), Some(_), Some(filter)) = (words.next(), words.next(), words.next()) {
            let filter = String::from_utf8_lossy(filter).into_owned();
            if self.off.has_filter(&filter) {
                return Err(WorktreeError::UserFilter { path: self.shown(&path(name)), filter });
            }
            if self.filters.contains(&filter) && !users.contains(filter.as_str()) {
                return Err(WorktreeError::Filter { path: self.shown(&path(name)), filter });
            }
        }
        Ok(())
    }

    /// Refuses folders that git would commit as a bare commit id: a repository that is new here, or one with changes.
    async fn expect_whole(&self, git: &GitRunner) -> Result<(), WorktreeError> {
        let start = self.start(git).await?;
        let raw = [
            "diff-index",
            "--cached",
            "--raw",
            "-z",
            "--no-renames",
            "--ignore-submodules=none",
            &start,
            "--",
        ];
        let added = git.call(&raw).bytes().await?;
        let moved = git.call(&["diff-files", "--raw", "-z", "--ignore-submodules=dirty"]).bytes().await?;
        for (entry, name) in pairs(&added).chain(pairs(&moved)) {
            let (before, after) = modes(entry);
            let is_link = before == GITLINK || after == GITLINK;
            let name = path(name);
            if is_link && self.is_repository(&name) && !self.is_own(&name) {
                return Err(WorktreeError::Nested { path: self.shown(&name) });
            }
        }
        for within in self.repositories_within(git).await? {
            if !self.is_own(&within) && !self.is_unchanged(&within).await? {
                return Err(WorktreeError::Nested { path: self.shown(&within) });
            }
        }
        Ok(())
    }

    /// Whether a submodule has no uncommitted changes. Git would find that out by a call of its own there, which uses the
    /// submodule's configuration; this one does not.
    async fn is_unchanged(&self, within: &Path) -> Result<bool, WorktreeError> {
        let Ok(repository) = Repository::at(&self.top().join(within)) else { return Ok(false) };
        let Ok(folder) = tempfile::tempdir_in(&self.beside) else { return Ok(false) };
        // Only the user can write there while an agent works.
        let is_kept = repository.common_dir.starts_with(self.repository.common_dir.join("modules"));
        let links = if is_kept { AcceptedLinks::of(&repository) } else { AcceptedLinks::default() };
        let Ok(info) = GitInfoSnapshot::of(&repository).await else { return Ok(false) };
        let Ok(view) = IsolatedGitDir::hold(folder.path(), &repository, &links, &info, None).await else {
            return Ok(false);
        };
        let git = GitRunner::new(view, Arc::default(), false);
        let status = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty"];
        let ended = git.call(&status).ended().await?;
        Ok(ended.code == Some(0) && ended.answer.is_empty())
    }

    fn is_repository(&self, path: &Path) -> bool {
        self.top().join(path).join(".git").symlink_metadata().is_ok()
    }

    /// The first repository within the tree, be it a submodule or not.
    pub(super) async fn repository_within(&self, git: &GitRunner) -> Result<Option<String>, WorktreeError> {
        let within = self.repositories_within(git).await?;
        Ok(within.first().map(|path| self.shown(path)))
    }

    /// Repositories within the tree that the index knows and that are checked out.
    async fn repositories_within(&self, git: &GitRunner) -> Result<Vec<PathBuf>, WorktreeError> {
        let listed = git.call(&["ls-files", "-s", "-z"]).bytes().await?;
        let links = records(&listed).filter(|record| record.starts_with(GITLINK.as_bytes()));
        let paths = links.filter_map(|record| Some(path(record.splitn(2, |byte| *byte == b'\t').nth(1)?)));
        Ok(paths.filter(|path| self.is_repository(path)).collect())
    }

    /// Commits whatever of the work is not committed, on the tree's own branch, and gives the tip. An agent that went to
    /// another branch takes Baton's along: no branch of another owner moves.
    pub(super) async fn settle(&self, message: &str) -> Result<String, WorktreeError> {
        let unmerged = self.unmerged().await?;
        if !unmerged.is_empty() {
            let files = unmerged.iter().map(|path| self.shown(path)).collect();
            return Err(WorktreeError::Unresolved { tree: self.tree.clone(), files });
        }
        self.come_home().await?;
        self.commit_all(message).await
    }

    /// HEAD is our branch again, with the commit that is checked out.
    async fn come_home(&self) -> Result<(), WorktreeError> {
        let ours = self.own_branch();
        if self.checked_out().await?.as_deref() == Some(ours.as_str()) {
            return Ok(());
        }
        if let Some(head) = self.head().await? {
            self.git.call(&["update-ref", &ours, &head]).done().await?;
            self.git.call(&["symbolic-ref", "HEAD", &ours]).done().await?;
        }
        Ok(())
    }

    /// Commits the state of the tree, including an open merge.
    pub(super) async fn commit_all(&self, message: &str) -> Result<String, WorktreeError> {
        let fork = self.commit(&self.fork).await?;
        self.gather(&self.git, fork.as_deref()).await?;
        let merges = self.open_merge().await?.is_some();
        if merges || !self.git.call(&["diff-index", "--cached", "--quiet", "HEAD", "--"]).holds().await? {
            let commit = self.git.call(&["commit", "-q", "--no-verify", "--cleanup=whitespace", "-F", "-"]);
            commit.input(message).done().await?;
        }
        self.delivered_head().await
    }

    /// The commit of HEAD, which the host's git has just made, once the repository has it whole.
    pub(super) async fn delivered_head(&self) -> Result<String, WorktreeError> {
        let head = self.git.call(&["rev-parse", "HEAD"]).text().await?;
        self.git.deliver(&head).await?;
        Ok(head)
    }
}

/// Whether a path is one of these, or below one.
fn is_below(path: &Path, these: &BTreeSet<PathBuf>) -> bool {
    path.ancestors().any(|above| these.contains(above))
}

fn spec(magic: &str, path: &Path) -> OsString {
    let mut spec = OsString::from(magic);
    spec.push(path);
    spec
}

/// The records of a raw diff, which come in pairs: the change, and its path.
pub(super) fn pairs(raw: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut all = records(raw);
    std::iter::from_fn(move || Some((all.next()?, all.next()?)))
}

/// ":100644 160000 …".
pub(super) fn modes(entry: &[u8]) -> (&str, &str) {
    let mut words = str::from_utf8(entry).unwrap_or_default().trim_start_matches(':').split(' ');
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Command;

    use super::*;

    fn run(folder: &Path, arguments: &[&str]) {
        let identity = ["-c", "user.name=x", "-c", "user.email=x"];
        let ended = Command::new("git").args(identity).args(arguments).current_dir(folder).output().unwrap();
        assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    }

    /// An agent can put the `.git` of a submodule in place between any two calls of git, so that nothing may hang on whether it was there
    /// when it was looked at.
    #[tokio::test]
    async fn a_submodule_that_appears_while_files_are_taken_runs_nothing() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let (top, ran, trap) =
            (place.path().join("top"), place.path().join("ran"), place.path().join("trap"));
        std::fs::write(&trap, format!("#!/bin/sh\ntouch '{}'\ncat\n", ran.display())).unwrap();
        std::fs::set_permissions(&trap, std::fs::Permissions::from_mode(0o755)).unwrap();
        let sub = top.join("sub");
        std::fs::create_dir_all(&sub).unwrap();
        std::fs::write(sub.join("file"), "1").unwrap();
        run(&sub, &["init", "-q"]);
        run(&sub, &["add", "file"]);
        run(&sub, &["commit", "-qm", "x"]);
        run(&top, &["init", "-q"]);
        run(&top, &["add", "sub"]);
        run(&top, &["commit", "-qm", "a submodule"]);
        run(&sub, &["config", "filter.evil.clean", trap.to_str().unwrap()]);
        std::fs::write(sub.join(".gitattributes"), "* filter=evil\n").unwrap();
        std::fs::write(sub.join("file"), "2").unwrap();

        let view = place.path().join("view");
        let repository = Repository::at(&top).unwrap();
        let view = IsolatedGitDir::hold(
            &view,
            &repository,
            &AcceptedLinks::of(&repository),
            &GitInfoSnapshot::default(),
            None,
        )
        .await
        .unwrap();
        let git = GitRunner::new(view, Arc::default(), false);
        add_files(&git, [&b"sub"[..]]).await.unwrap();
        assert!(!ran.exists(), "a filter of the submodule ran");
        let _ = git.call(&["add", "-A", "--", ":/"]).ended().await;
        assert!(ran.exists(), "the trap is a real one");
    }
}
