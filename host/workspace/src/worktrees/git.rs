//! Calls of git that may change something: their environment, the programs that they never run, and their timeouts. Independent
//! of their purpose.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::WorktreeError;
use crate::blocking_pipes;
use crate::git_links::without_content;
use crate::git_object_store::GitObjectStore;
use crate::isolated_git_dir::{IsolatedGitDir, Repository};

/// Writing a large work tree takes a minute on a slow disk; a git that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// At most this much of git's answer is read: a million paths.
const MAX_ANSWER_BYTES: u64 = 128 << 20;

/// Longest part of git's error output that is kept: the reason is at its end.
const MAX_COMPLAINT_BYTES: u64 = 16 << 10;

/// How often a lock of another process is waited for, and how long each time: an editor's or a prompt's `git
/// status` is over long before.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(250);

/// A lock in a tree of ours that is older than this belongs to a git that died with its machine.
const STALE_LOCK: Duration = Duration::from_secs(60);

/// Nothing is signed, the result of a merge does not depend on the user's preferences, and git does not enter submodules.
/// Filters and merge drivers of the user's own configuration do run: without them the files would differ from those of a
/// checkout. Those that the repository names do not (`isolated_git_dir.rs`).
const SETTINGS: [&str; 16] = [
    // Both are files next to the objects, which an agent may write, and by which git would see another history.
    "core.commitGraph=false",
    "core.multiPackIndex=false",
    "core.logAllRefUpdates=false",
    "core.safecrlf=false",
    "core.splitIndex=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "rerere.enabled=false",
    "merge.conflictStyle=merge",
    "merge.verifySignatures=false",
    "merge.autoStash=false",
    "submodule.recurse=false",
    "worktree.guessRemote=false",
    "worktree.useRelativePaths=false",
    "diff.ignoreSubmodules=dirty",
];

/// Calls that may write objects.
const WRITES_OBJECTS: [&str; 8] =
    ["commit", "commit-tree", "merge", "merge-tree", "mktree", "read-tree", "update-index", "write-tree"];

/// Calls whose changes other work trees see as well, and that need nothing of this one.
const WRITES_REFS: [&str; 2] = ["update-ref", "worktree"];

/// Git in one folder.
#[derive(Clone, Debug)]
pub(super) struct GitRunner {
    at: PathBuf,
    view: IsolatedGitDir,
    /// Another index than the folder's own.
    index: Option<PathBuf>,
    /// The committer, if the user has not configured one.
    identity: Arc<[String]>,
    /// Only we and our agents work there.
    is_ours: bool,
}

/// How a call ended.
pub(super) struct GitOutput {
    pub(super) code: Option<i32>,
    pub(super) answer: Vec<u8>,
    pub(super) complaint: String,
}

/// One call of git, not yet made.
pub(super) struct GitCall<'g> {
    git: &'g GitRunner,
    arguments: Vec<OsString>,
    input: Vec<u8>,
    objects: ObjectFolder,
    /// It uses only objects, and no attributes of files.
    is_without_attributes: bool,
    /// The file that gets its output.
    file: Option<PathBuf>,
    /// The folder that it writes files to, instead of the work tree.
    within: Option<PathBuf>,
}

/// The folder in which a call of git finds objects.
enum ObjectFolder {
    /// The host's store; for a repository without one, the repository's own folder.
    Own,
    /// The repository's own folder, where agents may write.
    Repository,
    /// This folder, which gets new objects, and which names further folders.
    Other(PathBuf),
}

impl GitRunner {
    /// In a work tree.
    pub(super) fn new(view: IsolatedGitDir, identity: Arc<[String]>, is_ours: bool) -> Self {
        let at = view.repository.top.clone();
        Self { at, view, index: None, identity, is_ours }
    }

    /// The same, with another index.
    pub(super) fn with_index(&self, index: &Path) -> Self {
        Self { index: Some(index.to_owned()), ..self.clone() }
    }

    pub(super) fn call(&self, arguments: &[&str]) -> GitCall<'_> {
        let arguments = arguments.iter().map(OsString::from).collect();
        let objects = ObjectFolder::Own;
        let (input, is_without_attributes) = (Vec::new(), false);
        GitCall { git: self, arguments, input, objects, is_without_attributes, file: None, within: None }
    }

    /// The host's own objects; absent if it uses those of the repository.
    pub(super) fn objects(&self) -> Option<&GitObjectStore> {
        self.view.objects.as_ref()
    }

    /// Commits whose parents the repository does not have.
    pub(super) fn shallow_of_repository(&self) -> Result<Vec<String>, WorktreeError> {
        self.view.shallow().map_err(|source| self.file("read the shallow commits of", source))
    }

    /// An error about the objects of the repository.
    pub(super) fn file(&self, what: &'static str, source: io::Error) -> WorktreeError {
        WorktreeError::File { what, path: self.view.repository.common_dir.clone(), source }
    }

    /// The folder that it works in.
    pub(super) fn top(&self) -> &Path {
        &self.at
    }

    pub(super) fn repository_folder(&self) -> PathBuf {
        self.view.repository.common_dir.clone()
    }

    /// The repository's own folder of objects.
    pub(super) fn repository_objects(&self) -> PathBuf {
        self.view.repository_objects()
    }

    /// Copies new objects of the host's git to the repository.
    pub(super) fn publish(&self) -> Result<(), WorktreeError> {
        let Some(store) = self.objects() else { return Ok(()) };
        let published = store.publish(&self.repository_objects());
        published.map_err(|source| self.file("write objects of git to", source))
    }

    fn command(&self, call: &GitCall<'_>) -> Command {
        let (arguments, objects) = (&call.arguments, &call.objects);
        let writes_refs = arguments.first().is_some_and(|call| WRITES_REFS.iter().any(|name| call == name));
        // A call with a message also writes to the reflogs, that of HEAD among them.
        let is_of_refs = writes_refs && !arguments.iter().any(|argument| argument == "-m");
        let mut git = Command::from(match call.is_without_attributes {
            true => self.view.git_of_objects(),
            false if is_of_refs => self.view.git_of_refs(),
            false => self.view.git(),
        });
        for setting in SETTINGS.iter().copied().chain(self.identity.iter().map(String::as_str)) {
            git.args(["-c", setting]);
        }
        match (objects, self.objects()) {
            (ObjectFolder::Own, Some(store)) => git.env("GIT_SHALLOW_FILE", store.shallow()),
            (ObjectFolder::Other(folder), Some(store)) => {
                git.env("GIT_OBJECT_DIRECTORY", folder).env("GIT_SHALLOW_FILE", store.shallow())
            }
            _ => git.env("GIT_OBJECT_DIRECTORY", self.view.repository_objects()),
        };
        if let Some(folder) = &call.within {
            git.current_dir(folder).env("GIT_WORK_TREE", folder);
        }
        git.args(arguments)
            .envs(self.index.as_ref().map(|index| ("GIT_INDEX_FILE", index)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A signal that ends the host, or its terminal, must not end git in the middle of a write.
            .process_group(0);
        git
    }
}

impl GitCall<'_> {
    pub(super) fn and(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub(super) fn and_all<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// By objects alone: an agent may have written attributes (`* -diff`, `*.rs binary`) by which git would show no lines.
    pub(super) fn without_attributes(mut self) -> Self {
        self.is_without_attributes = true;
        self
    }

    /// With the objects in the repository's own folder.
    pub(super) fn of_repository(mut self) -> Self {
        self.objects = ObjectFolder::Repository;
        self
    }

    /// With the objects of a folder, which also gets new ones.
    pub(super) fn with_objects(mut self, folder: &Path) -> Self {
        self.objects = ObjectFolder::Other(folder.to_owned());
        self
    }

    /// Writes its output to a file.
    pub(super) fn into_file(mut self, file: &Path) -> Self {
        self.file = Some(file.to_owned());
        self
    }

    /// Takes an empty folder for the work tree.
    pub(super) fn within(mut self, folder: &Path) -> Self {
        self.within = Some(folder.to_owned());
        self
    }

    pub(super) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Runs it, repeats it while another git holds a lock, and returns how it ended.
    pub(super) async fn ended(&self) -> Result<GitOutput, WorktreeError> {
        let mut may_break = self.git.is_ours;
        let mut attempt = 1;
        loop {
            let ended = self.attempt().await;
            if self.arguments.first().is_some_and(|call| WRITES_OBJECTS.iter().any(|name| call == name)) {
                self.git.publish()?;
            }
            let ended = ended?;
            let Some(lock) = lock_in_the_way(&ended) else { return Ok(ended) };
            if attempt < LOCK_ATTEMPTS {
                attempt += 1;
                tokio::time::sleep(LOCK_PAUSE).await;
            } else if may_break && is_stale(&lock) && std::fs::remove_file(&lock).is_ok() {
                may_break = false;
            } else {
                return Ok(ended);
            }
        }
    }

    async fn attempt(&self) -> Result<GitOutput, WorktreeError> {
        let failed = |source| WorktreeError::NoGit { at: self.git.at.clone(), source };
        let unmoved = self.git.view.repository.expect_unmoved();
        unmoved.map_err(|source| WorktreeError::Link { source })?;
        let mut command = self.git.command(self);
        if let Some(file) = &self.file {
            command.stdout(std::fs::File::create(file).map_err(failed)?);
        }
        let mut child = command.spawn().map_err(failed)?;
        let mut group = GitProcessGroup { id: child.id(), ends_with_call: self.git.index.is_some() };
        let (input, answer, complaint) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let work = async {
            let write = async {
                if let Some(mut input) = input {
                    // If git has read enough, its exit status shows the result.
                    let _ = input.write_all(&self.input).await;
                }
                io::Result::Ok(())
            };
            let (_, answer, complaint) = tokio::try_join!(
                write,
                read(answer, MAX_ANSWER_BYTES),
                read(complaint, MAX_COMPLAINT_BYTES)
            )?;
            let status = child.wait().await?;
            io::Result::Ok((status, answer, complaint))
        };
        let Repository { top, git_dir, common_dir } = &self.git.view.repository;
        let folders: [&Path; 3] = [top, git_dir, common_dir];
        let work = match blocking_pipes::unless_it_waits(&folders, tokio::time::timeout(LIMIT, work)).await {
            Ok(work) => work,
            Err(pipe) => {
                group.ends_with_call = true;
                // It is asked to end while the pipe is still open.
                drop(group);
                return Err(WorktreeError::Link { source: pipe.into() });
            }
        };
        match work {
            Ok(Ok((status, answer, complaint))) => {
                group.id = None;
                let complaint = String::from_utf8_lossy(&complaint).trim().to_owned();
                Ok(GitOutput { code: status.code(), answer, complaint })
            }
            Ok(Err(source)) => Err(failed(source)),
            Err(_) => {
                group.ends_with_call = true;
                Err(failed(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {LIMIT:?}"))))
            }
        }
    }

    /// Its output; an error if it fails.
    pub(super) async fn bytes(self) -> Result<Vec<u8>, WorktreeError> {
        let ended = self.ended().await?;
        match ended.code {
            Some(0) => Ok(ended.answer),
            _ => Err(self.failed(ended)),
        }
    }

    /// The same as one line of text.
    pub(super) async fn text(self) -> Result<String, WorktreeError> {
        Ok(String::from_utf8_lossy(&self.bytes().await?).trim_end_matches('\n').to_owned())
    }

    /// Runs it; an error if it fails.
    pub(super) async fn done(self) -> Result<(), WorktreeError> {
        self.bytes().await.map(drop)
    }

    /// A question that git answers by its exit code.
    pub(super) async fn holds(self) -> Result<bool, WorktreeError> {
        let ended = self.ended().await?;
        match ended.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(self.failed(ended)),
        }
    }

    /// A question that may have no answer.
    pub(super) async fn answer(self) -> Result<Option<String>, WorktreeError> {
        let ended = self.ended().await?;
        let line = || String::from_utf8_lossy(&ended.answer).trim_end_matches('\n').to_owned();
        Ok((ended.code == Some(0)).then(line))
    }

    pub(super) fn failed(&self, ended: GitOutput) -> WorktreeError {
        let words: Vec<_> = self.arguments.iter().map(|word| word.to_string_lossy()).collect();
        let said = match ended.complaint.as_str() {
            "" => String::from_utf8_lossy(&ended.answer).trim().to_owned(),
            complaint => complaint.to_owned(),
        };
        WorktreeError::Git { call: words.join(" "), at: self.git.at.clone(), said: without_content(&said) }
    }
}

/// The process group of a git under way, filters that it started included. What works on an index of its own leaves nothing half done and
/// ends when its caller no longer waits for it; another one runs to its end.
struct GitProcessGroup {
    id: Option<u32>,
    ends_with_call: bool,
}

impl Drop for GitProcessGroup {
    fn drop(&mut self) {
        let id = self.id.filter(|_| self.ends_with_call).and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(rustix::process::Pid::from_raw) {
            // It may have ended already. Git removes its locks on this signal.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        }
    }
}

/// Reads to the end and keeps no more than the bound.
async fn read(from: Option<impl AsyncRead + Unpin>, max_bytes: u64) -> io::Result<Vec<u8>> {
    let Some(mut from) = from else { return Ok(Vec::new()) };
    let mut kept = Vec::new();
    (&mut from).take(max_bytes).read_to_end(&mut kept).await?;
    if kept.len() as u64 == max_bytes {
        tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    }
    Ok(kept)
}

/// "fatal: Unable to create '/r/.git/index.lock': File exists."
fn lock_in_the_way(ended: &GitOutput) -> Option<PathBuf> {
    if ended.code == Some(0) {
        return None;
    }
    let from = ended.complaint.split_once("Unable to create '")?.1;
    let (lock, rest) = from.split_once("': ")?;
    (lock.ends_with(".lock") && rest.starts_with("File exists")).then(|| PathBuf::from(lock))
}

fn is_stale(lock: &Path) -> bool {
    let written = std::fs::symlink_metadata(lock).and_then(|meta| meta.modified());
    written.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > STALE_LOCK))
}

/// The records of an answer in which each is ended by a NUL.
pub(super) fn records(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}

/// A path as git gives it.
pub(super) fn path(record: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(record))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lock_is_waited_for() {
        let ended =
            |complaint: &str| GitOutput { code: Some(128), answer: Vec::new(), complaint: complaint.into() };
        let lock = ended("fatal: Unable to create '/r/a b/index.lock': File exists.\n\nAnother git process…");
        assert_eq!(lock_in_the_way(&lock), Some(PathBuf::from("/r/a b/index.lock")));
        assert_eq!(
            lock_in_the_way(&ended("fatal: Unable to create '/r/index.lock': Permission denied")),
            None
        );
        assert_eq!(lock_in_the_way(&ended("fatal: not a git repository")), None);
    }
}
