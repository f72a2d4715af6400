//! The host's view of a repository: its explicit paths, and a folder of the host's own that replaces it for git. In that folder
//! git finds everything of the repository except its configuration and its hooks, which others may have written: so git never
//! runs a command that the repository names, and a change of its configuration while git works has no effect. The ignore lists
//! there are those of the start of the run (`git_info.rs`).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use baton_core::git_link;
use baton_sandbox::own_trusted_program;

use crate::blocking_pipes::{self, BlockingPipe};
use crate::git_config::{self, RepositorySettings, arguments, environment};
use crate::git_info::GitInfoSnapshot;
use crate::git_links::{AcceptedLinks, moved, without_content};
use crate::git_object_store::GitObjectStore;
use crate::regular_file::{read_lines, read_plain};
use crate::user_filters::UserCommandsOff;

/// The files that a repository shares among its work trees, without `config`, `hooks`, `info`, `objects` and `worktrees`. `lfs`
/// is the folder in which git-lfs keeps the contents of large files.
const SHARED: [&str; 4] = ["lfs", "packed-refs", "refs", "reftable"];
/// The folder of its objects.
const OBJECTS: &str = "objects";
/// The folder of a repository's list of work trees.
pub(crate) const WORK_TREES: &str = "worktrees";
/// Commits whose parents the repository does not have. Copied, because git quotes a line that it does not understand.
const SHALLOW: &str = "shallow";
/// The folder in that of the host that has the objects and neither files nor attributes.
const BARE: &str = "bare";
/// A repository has fewer of them.
const MAX_SHALLOW_BYTES: u64 = 4 << 20;

/// The link file of a work tree is not longer than a path.
const MAX_LINK_BYTES: u64 = 8 << 10;

/// A git that does not find a repository by then is on a dead network mount.
const LIMIT: Duration = Duration::from_secs(30);

/// The paths of a work tree and its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The top of the work tree.
    pub(crate) top: PathBuf,
    /// The work tree's own files: HEAD and index.
    pub(crate) git_dir: PathBuf,
    /// The files shared with other work trees: objects and refs.
    pub(crate) common_dir: PathBuf,
}

/// Why a folder is in no repository that can be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RepositoryLookupError {
    /// Git would wait for a pipe.
    #[error(transparent)]
    Pipe(#[from] BlockingPipe),
    /// Git's message.
    #[error("{0}")]
    Absent(String),
}

impl Repository {
    /// The repository around a folder, found by git, since git knows whose repositories this user trusts. A repository whose
    /// configuration moves the work tree to another place does not count, and neither does a bare one among the files. Runs
    /// nothing, and waits for no pipe.
    pub(crate) async fn around(folder: &Path) -> Result<Self, RepositoryLookupError> {
        blocking_pipes::expect_none_around(folder)?;
        git_config::expect_no_included_pipe_around(folder).await?;
        let named = folder.ancestors().find_map(|top| Self::at(top).ok());
        let folders = match &named {
            Some(named) => vec![named.top.as_path(), &named.git_dir, &named.common_dir],
            None => vec![folder],
        };
        blocking_pipes::expect_none(folder, &folders[1..])?;
        blocking_pipes::unless_it_waits(&folders, Self::found_by_git(folder))
            .await?
            .map_err(RepositoryLookupError::Absent)
    }

    async fn found_by_git(folder: &Path) -> Result<Self, String> {
        let mut git = tokio::process::Command::from(base(folder));
        git.args(["rev-parse", "--is-inside-work-tree", "--absolute-git-dir", "--show-toplevel"])
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let ended = tokio::time::timeout(LIMIT, git.output())
            .await
            .map_err(|_| "git gives no answer".to_owned())?
            .map_err(|error| format!("git does not run: {error}"))?;
        let mut lines = ended.stdout.split(|byte| *byte == b'\n').map(path);
        let (inside, git_dir, top) = (lines.next(), lines.next(), lines.next());
        let (true, Some(inside), Some(git_dir), Some(top)) = (ended.status.success(), inside, git_dir, top)
        else {
            return Err(without_content(String::from_utf8_lossy(&ended.stderr).trim()));
        };
        if inside != Path::new("true") {
            return Err("git takes it for a part of the repository itself".to_owned());
        }
        let found =
            Self::at(&top).map_err(|error| format!("cannot read {}: {error}", top.join(".git").display()))?;
        let real = git_dir.canonicalize().unwrap_or(git_dir);
        match found.git_dir == real && folder.starts_with(&top) {
            true => Ok(found),
            false => Err(format!(
                "the configuration of {} says that its files are in {}; remove core.worktree",
                real.display(),
                top.display()
            )),
        }
    }

    /// The repository that the `.git` at the top of a work tree is, or names.
    pub(crate) fn at(top: &Path) -> io::Result<Self> {
        let dot_git = top.join(".git");
        let git_dir = match dot_git.metadata()?.is_dir() {
            true => dot_git.canonicalize()?,
            false => named_by(&read(&dot_git)?, top)?,
        };
        Self::of(top, git_dir)
    }

    /// A work tree with this folder of its own in a repository.
    fn of(top: &Path, git_dir: PathBuf) -> io::Result<Self> {
        let common_dir = match read(&git_dir.join("commondir")) {
            Ok(named) => git_dir.join(path(named.trim_ascii_end())).canonicalize()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => git_dir.clone(),
            Err(error) => return Err(error),
        };
        Ok(Self { top: top.to_owned(), git_dir, common_dir })
    }

    /// Refuses a git folder that names another common folder by now: git keeps refs there, regardless of its environment.
    pub(crate) fn expect_unmoved(&self) -> io::Result<()> {
        let now = Self::of(&self.top, self.git_dir.clone())?.common_dir;
        match now == self.common_dir {
            true => Ok(()),
            false => Err(moved(self, &now, Some(&self.common_dir))),
        }
    }

    /// Settings of the repository, and of this work tree alone.
    pub(crate) async fn settings(&self) -> io::Result<RepositorySettings> {
        let (shared, own) = (self.common_dir.join("config"), self.git_dir.join("config.worktree"));
        RepositorySettings::read(&[&shared, &own]).await
    }
}

/// The folder that the `.git` file at the top of a work tree names.
pub(crate) fn named_by(link: &[u8], top: &Path) -> io::Result<PathBuf> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "it does not name a repository");
    top.join(git_link::named_by(link).ok_or_else(wrong)?).canonicalize()
}

/// Replaces a repository for git.
#[derive(Clone, Debug)]
pub(crate) struct IsolatedGitDir {
    folder: PathBuf,
    pub(crate) repository: Repository,
    /// The tree without files, as this repository names it.
    pub(crate) empty_tree: &'static str,
    /// Filters that the repository names, and that it does not get.
    pub(crate) filters: BTreeSet<String>,
    /// Commands of the user that git does not get.
    pub(crate) off: UserCommandsOff,
    /// The store of its objects, if not the repository's.
    pub(crate) objects: Option<GitObjectStore>,
}

/// The HEAD of the replacing folder: git does not recognise a repository without one.
const NO_HEAD: &[u8] = b"ref: refs/heads/none\n";

/// Names of the tree without files, which every repository knows.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

impl IsolatedGitDir {
    /// Makes the folder as it has to be, or leaves it so. No agent may be able to write there. Refused if a link that is not accepted
    /// would lead git elsewhere, for reading as for writing. Git finds the objects of the repository there, or those of a store.
    pub(crate) async fn hold(
        folder: &Path,
        repository: &Repository,
        links: &AcceptedLinks,
        info: &GitInfoSnapshot,
        objects: Option<&GitObjectStore>,
    ) -> io::Result<Self> {
        links.expect(repository)?;
        let mut settings = repository.settings().await?;
        info.settings().into_iter().for_each(|of_start| settings.put_back(of_start));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        for name in SHARED {
            hold_link(&folder.join(name), &repository.common_dir.join(name))?;
        }
        let objects = objects.map(|store| store.hold(settings.is_sha256())).transpose()?;
        let found =
            objects.as_ref().map_or_else(|| repository.common_dir.join(OBJECTS), GitObjectStore::new_objects);
        hold_link(&folder.join(OBJECTS), &found)?;
        hold_shallow(&folder.join(SHALLOW), &repository.common_dir.join(SHALLOW))?;
        settings.exclude_by(info.hold(folder, repository)?.as_deref());
        hold_file(&folder.join("config"), &settings.file())?;
        hold_file(&folder.join("HEAD"), NO_HEAD)?;
        let bare = folder.join(BARE);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(bare.join("refs"))?;
        hold_file(&bare.join("config"), &[&settings.file()[..], b"\n[core]\n\tbare = true\n"].concat())?;
        hold_file(&bare.join("HEAD"), NO_HEAD)?;
        hold_link(&bare.join(OBJECTS), &found)?;
        let empty_tree = if settings.is_sha256() { EMPTY_TREE_SHA256 } else { EMPTY_TREE };
        let filters = settings.filters().clone();
        let off = UserCommandsOff::read().await?;
        let (folder, repository) = (folder.to_owned(), repository.clone());
        Ok(Self { folder, repository, empty_tree, filters, off, objects })
    }

    /// Commits whose parents the repository does not have.
    pub(crate) fn shallow(&self) -> io::Result<Vec<String>> {
        read_lines(&self.folder.join(SHALLOW), MAX_SHALLOW_BYTES)
    }

    /// The repository's folder of objects.
    pub(crate) fn repository_objects(&self) -> PathBuf {
        self.repository.common_dir.join(OBJECTS)
    }

    /// Git for calls that need neither index nor HEAD of the work tree. It does not see the git folder there, where an agent
    /// may be writing now, so nothing in it can redirect git.
    pub(crate) fn git_of_refs(&self) -> Command {
        let mut git = base(&self.repository.top);
        git.envs(self.off.environment());
        git.env("GIT_DIR", &self.folder).env("GIT_WORK_TREE", &self.repository.top);
        git
    }

    /// Git for calls that need objects alone. It uses no attributes of the tree (`.gitattributes`), the repository or the user,
    /// so it decides by its content whether a file is text.
    pub(crate) fn git_of_objects(&self) -> Command {
        let mut git = base(&self.repository.top);
        git.args(["-c", "core.attributesFile=/dev/null"]).envs(self.off.environment());
        git.env("GIT_DIR", self.folder.join(BARE)).env("GIT_ATTR_NOSYSTEM", "1");
        git
    }

    /// With the list of work trees as well, for calls that create, list and remove them.
    pub(crate) fn with_work_trees(self) -> io::Result<Self> {
        let list = self.repository.common_dir.join(WORK_TREES);
        match fs::create_dir(&list) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => hold_link(&self.folder.join(WORK_TREES), &list)?,
        }
        Ok(self)
    }

    /// Git in the work tree: it searches for no repository, and uses the content that the host has put into the folder.
    pub(crate) fn git(&self) -> Command {
        let Repository { top, git_dir, .. } = &self.repository;
        let mut git = base(top);
        git.envs(self.off.environment());
        git.env("GIT_DIR", git_dir).env("GIT_WORK_TREE", top).env("GIT_COMMON_DIR", &self.folder);
        git
    }
}

/// Git with only the host's settings.
pub(crate) fn base(at: &Path) -> Command {
    let mut git = Command::new(own_trusted_program("git"));
    git.arg("--no-pager").args(arguments()).current_dir(at).env_clear().envs(environment());
    git
}

/// A copy, if it is a list of commits.
fn hold_shallow(copy: &Path, from: &Path) -> io::Result<()> {
    let refuse = || io::Error::other(format!("{} is not a list of commits: remove it", from.display()));
    let bytes = match from.metadata() {
        Ok(meta) if meta.is_file() && meta.len() <= MAX_SHALLOW_BYTES => read_plain(from, MAX_SHALLOW_BYTES)?,
        Ok(_) => return Err(refuse()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::remove_file(copy) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(()),
        },
        Err(error) => return Err(error),
    };
    let is_commit = |line: &[u8]| matches!(line.len(), 0 | 40 | 64) && line.iter().all(u8::is_ascii_hexdigit);
    match bytes.split(|byte| *byte == b'\n').all(is_commit) {
        true => hold_file(copy, &bytes),
        false => Err(refuse()),
    }
}

pub(crate) fn hold_link(link: &Path, target: &Path) -> io::Result<()> {
    if fs::read_link(link).is_ok_and(|now| now == target) {
        return Ok(());
    }
    let beside = beside(link);
    symlink(target, &beside)?;
    fs::rename(&beside, link)
}

/// Writes a whole file, unless it has this content already.
pub(crate) fn hold_file(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let is_file = file.symlink_metadata().is_ok_and(|meta| meta.is_file());
    if is_file && read_plain(file, bytes.len() as u64).is_ok_and(|now| now == bytes) {
        return Ok(());
    }
    let beside = beside(file);
    fs::write(&beside, bytes)?;
    fs::rename(&beside, file)
}

/// A name that no other writer takes.
fn beside(path: &Path) -> PathBuf {
    static ORDINAL: AtomicU64 = AtomicU64::new(0);
    let ordinal = ORDINAL.fetch_add(1, Ordering::Relaxed);
    path.with_added_extension(format!("{}-{ordinal}.part", std::process::id()))
}

/// A small file, whole. Waits for no pipe.
pub(crate) fn read(file: &Path) -> io::Result<Vec<u8>> {
    read_plain(file, MAX_LINK_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::FileTooLarge => {
            io::Error::new(io::ErrorKind::InvalidData, "it is not a small regular file")
        }
        _ => error,
    })
}

fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_of_commits_is_taken_for_one() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let (copy, from) = (place.path().join("copy"), place.path().join(SHALLOW));
        symlink("/nowhere", &copy).unwrap();
        hold_shallow(&copy, &from).unwrap();
        assert!(copy.symlink_metadata().is_err());
        let list = format!("{}\n", "ab".repeat(20));
        fs::write(&from, &list).unwrap();
        hold_shallow(&copy, &from).unwrap();
        assert_eq!(fs::read_to_string(&copy).unwrap(), list);
        fs::write(&from, "TOKEN\n").unwrap();
        let why = hold_shallow(&copy, &from).unwrap_err().to_string();
        assert!(why.contains("is not a list of commits") && !why.contains("TOKEN"), "{why}");
    }
}
