//! Queries git about a workspace. Reads only: it takes no lock, moves no ref, and runs no other program: neither those that the
//! repository names (see `isolated_git_dir.rs`), nor filters of the user's own, since files are read without their attributes.
//! So a file that has a filter counts as uncommitted once it was written again, even with the same content.

pub(crate) mod history;
mod own_commits;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use baton_core::Digest;
use baton_core::facts::{COMMITS_NAMED, Commit, GitFacts};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::Workspace;
use crate::baseline::{Baseline, CurrentFile};
use crate::blocking_pipes::{self, BlockingPipe};
use crate::file_listing::{MAX_FILES, link_digest};
use crate::git_config;
use crate::git_info::GitInfoSnapshot;
use crate::git_links::AcceptedLinks;
use crate::isolated_git_dir::{IsolatedGitDir, Repository, RepositoryLookupError};

/// A git that does not answer by then (a dead network mount) counts as absent.
const LIMIT: Duration = Duration::from_secs(30);

/// At most this much of git's answer is read: some 300,000 paths.
const MAX_ANSWER_BYTES: u64 = 32 << 20;

/// Most paths per call of git, as arguments.
const PATHS_ASKED_AT_ONCE: usize = 100;

/// Most files of a commit that are compared by their contents, about a second; further ones are compared by size.
const CONTENTS_COMPARED: usize = 200;

/// Git's facts about a workspace, at one moment.
#[derive(Debug)]
pub(crate) struct GitSnapshot {
    /// The facts for core.
    pub(crate) facts: GitFacts,
    /// Files that git tracks or would track.
    pub(crate) files: Vec<PathBuf>,
    /// Files that differ from the commit of the baseline; queried only if there are more than [`MAX_FILES`].
    pub(crate) differing: Vec<PathBuf>,
}

/// Git in the folder of a workspace.
struct GitReader<'w> {
    workspace: &'w Workspace,
    view: IsolatedGitDir,
    /// A view that exists for this query alone.
    _passing: Option<tempfile::TempDir>,
}

impl<'w> GitReader<'w> {
    /// None if there is no repository, or if it cannot be read.
    async fn open(workspace: &'w Workspace) -> Result<Option<Self>, BlockingPipe> {
        let home = workspace.git.as_ref();
        let repository = match home.and_then(|home| home.repository.as_ref()) {
            Some(at) => {
                blocking_pipes::expect_none(&at.top, &[&at.git_dir, &at.common_dir])?;
                git_config::expect_no_included_pipe(&[&at.git_dir, &at.common_dir]).await?;
                at.clone()
            }
            None => match Repository::around(workspace.root()).await {
                Ok(found) => found,
                Err(RepositoryLookupError::Pipe(pipe)) => return Err(pipe),
                Err(RepositoryLookupError::Absent(_)) => return Ok(None),
            },
        };
        Ok(Self::open_here(workspace, repository).await)
    }

    async fn open_here(workspace: &'w Workspace, repository: Repository) -> Option<Self> {
        let home = workspace.git.as_ref();
        let passing = match home {
            Some(_) => None,
            None => Some(tempfile::tempdir().ok()?),
        };
        let folder = match (home, &passing) {
            (Some(home), _) => &home.view,
            (None, passing) => passing.as_ref()?.path(),
        };
        let links = match home {
            Some(home) => AcceptedLinks::noted_or_of(&home.links, &repository).ok()?,
            None => AcceptedLinks::of(&repository),
        };
        if home.is_some_and(|home| home.repository.is_none()) {
            links.expect_same(&repository).ok()?;
        }
        let info = match home {
            Some(home) => GitInfoSnapshot::kept_or_of(&home.info, &repository).await.ok()?,
            None => GitInfoSnapshot::of(&repository).await.ok()?,
        };
        let view = IsolatedGitDir::hold(folder, &repository, &links, &info, None).await.ok()?;
        Some(Self { workspace, view, _passing: passing })
    }
}

/// Examines a workspace; none if git is not installed, fails, or the folder is not a work tree. A folder that a surrounding
/// repository ignores does not count either: git would hide every file in it.
///
/// An error if git would wait for a pipe.
pub(crate) async fn look(
    workspace: &Workspace,
    since: Option<&Baseline>,
) -> Result<Option<GitSnapshot>, BlockingPipe> {
    let Some(git) = GitReader::open(workspace).await? else { return Ok(None) };
    let Some(status) = git.status().await? else { return Ok(None) };
    if git.ask(&["check-ignore", "-q", "--", "."]).await?.is_some() {
        return Ok(None);
    }
    let mut facts = facts(&status);
    let Some(files) = git.ask(&["ls-files", "-co", "--exclude-standard", "-z"]).await? else {
        return Ok(None);
    };
    let files = paths(&files);
    // The head comes from a file on disk, so it is validated before it becomes an argument.
    let start = since.map(Baseline::head).filter(|head| is_commit(head));
    if since.is_some() && !facts.head.is_empty() && start != Some(facts.head.as_str()) {
        let range = start.map_or_else(|| "HEAD".to_owned(), |start| format!("{start}..HEAD"));
        if let Some(count) = git.ask(&["rev-list", "--count", &range, "--"]).await? {
            facts.commits_since = String::from_utf8_lossy(&count).trim().parse().unwrap_or(0);
        }
        facts.commits = git.log(&range).await?;
    }
    let differing = if files.len() > MAX_FILES {
        let head = if facts.head.is_empty() { git.view.empty_tree } else { &facts.head };
        match git.differing(start.unwrap_or(head)).await? {
            Some(differing) => differing,
            None => return Ok(None),
        }
    } else {
        Vec::new()
    };
    Ok(Some(GitSnapshot { facts, files, differing }))
}

/// The changes of a work tree since a moment (C9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitsSince {
    /// Commits on HEAD that were not there.
    pub commits: u32,
    /// Another branch is checked out, or HEAD no longer contains the earlier commit.
    pub diverged: bool,
}

/// Counts the commits after a commit. If the commit is not known any more, everything diverged from it.
pub(crate) async fn since(
    workspace: &Workspace,
    head: &str,
    branch: &str,
) -> Result<CommitsSince, BlockingPipe> {
    if !is_commit(head) {
        return Ok(CommitsSince::default());
    }
    let Some(git) = GitReader::open(workspace).await? else { return Ok(CommitsSince::default()) };
    let now = git.ask(&["symbolic-ref", "-q", "--short", "HEAD"]).await?;
    let now = now.map(|name| String::from_utf8_lossy(&name).trim().to_owned()).unwrap_or_default();
    if git.ask(&["rev-parse", "-q", "--verify", "HEAD"]).await?.is_none() {
        return Ok(CommitsSince::default()); // No commit any more: nothing to count.
    }
    let held = git.ask(&["merge-base", "--is-ancestor", head, "HEAD"]).await?.is_some();
    let count = git.ask(&["rev-list", "--count", &format!("{head}..HEAD"), "--"]).await?;
    let commits = count.and_then(|count| String::from_utf8_lossy(&count).trim().parse().ok()).unwrap_or(0);
    Ok(CommitsSince { commits, diverged: !held || now != branch })
}

/// Whether HEAD names an older commit than a baseline, or one of another branch or repository. A branch that was rewritten (by an amended
/// commit, a rebase) is the same one.
pub(crate) async fn has_left(workspace: &Workspace, start: &Baseline) -> Result<bool, BlockingPipe> {
    let head = start.head();
    if !is_commit(head) {
        return Ok(false);
    }
    let Some(git) = GitReader::open(workspace).await? else { return Ok(false) };
    let is_born = git.ask(&["rev-parse", "-q", "--verify", "HEAD"]).await?.is_some();
    if !is_born || git.ask(&["merge-base", "--is-ancestor", head, "HEAD"]).await?.is_some() {
        return Ok(false);
    }
    let branch = git.ask(&["symbolic-ref", "-q", "HEAD"]).await?.unwrap_or_default();
    let is_same_branch =
        String::from_utf8_lossy(&branch).trim().strip_prefix("refs/heads/") == Some(start.branch());
    let is_known = git.ask(&["cat-file", "-e", head]).await?.is_some();
    let is_older = git.ask(&["merge-base", "--is-ancestor", "HEAD", head]).await?.is_some();
    Ok(!is_same_branch || !is_known || is_older)
}

/// The newest commit on HEAD that was made by then, in seconds since the epoch.
pub(crate) async fn head_by(workspace: &Workspace, seconds: u64) -> Result<Option<String>, BlockingPipe> {
    let Some(git) = GitReader::open(workspace).await? else { return Ok(None) };
    let age = format!("--min-age={seconds}");
    let commit = git.ask(&["rev-list", "--max-count=1", &age, "HEAD", "--"]).await?.unwrap_or_default();
    Ok(Some(String::from_utf8_lossy(&commit).trim().to_owned()).filter(|commit| is_commit(commit)))
}

/// The names of those of these files that equal a commit's content at their paths. Files that are too large are compared by
/// size.
pub(crate) async fn as_committed(
    workspace: &Workspace,
    commit: &str,
    files: &[CurrentFile],
) -> Result<BTreeSet<String>, BlockingPipe> {
    let (mut same, mut compared) = (BTreeSet::new(), 0);
    if !is_commit(commit) {
        return Ok(same);
    }
    let Some(git) = GitReader::open(workspace).await? else { return Ok(same) };
    let there = files.iter().filter(|file| file.exists && file.differs);
    // With a dot before it, no path is read as a pattern.
    let by_path: BTreeMap<String, &CurrentFile> =
        there.filter_map(|file| Some((format!("./{}", file.place.to_str()?), file))).collect();
    let paths: Vec<&str> = by_path.keys().map(String::as_str).collect();
    for paths in paths.chunks(PATHS_ASKED_AT_ONCE) {
        let question = [&["ls-tree", "-l", "-z", commit, "--"], paths].concat();
        let listed = git.ask(&question).await?.unwrap_or_default();
        for blob in records(&listed).filter_map(CommittedBlob::of) {
            let Some(file) = by_path.get(&format!("./{}", blob.path)) else { continue };
            if file.bytes != blob.bytes {
                continue;
            }
            compared += 1;
            let digest = file.digest.as_ref().filter(|_| compared <= CONTENTS_COMPARED);
            if git.is_content(&blob, digest).await? {
                same.insert(file.path.clone());
            }
        }
    }
    Ok(same)
}

/// A file or link of a commit.
#[derive(Debug, PartialEq, Eq)]
struct CommittedBlob<'a> {
    is_link: bool,
    id: &'a str,
    bytes: u64,
    path: &'a str,
}

impl<'a> CommittedBlob<'a> {
    /// From a line of `ls-tree -l`; nothing if it is a folder or a submodule.
    fn of(line: &'a [u8]) -> Option<Self> {
        let (meta, path) = std::str::from_utf8(line).ok()?.split_once('\t')?;
        let mut words = meta.split_ascii_whitespace();
        let (mode, kind, id, bytes) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let blob = Self { is_link: mode == "120000", id, bytes: bytes.parse().ok()?, path };
        (kind == "blob" && is_commit(id)).then_some(blob)
    }
}

impl GitReader<'_> {
    /// Whether a file of the size of a blob has its content.
    async fn is_content(
        &self,
        blob: &CommittedBlob<'_>,
        digest: Option<&Digest>,
    ) -> Result<bool, BlockingPipe> {
        let Some(digest) = digest.filter(|_| blob.bytes < MAX_ANSWER_BYTES) else { return Ok(true) };
        let content = self.ask(&["cat-file", "blob", blob.id]).await?;
        Ok(content.is_some_and(|content| match blob.is_link {
            true => link_digest(&content) == *digest,
            false => Digest::of(&content) == *digest,
        }))
    }

    /// Branch, head and uncommitted files. The host's own files do not count as changes, and git does not enter submodules:
    /// there it would read their configuration.
    async fn status(&self) -> Result<Option<Vec<u8>>, BlockingPipe> {
        let own = self.workspace.own.as_ref();
        let own_too = own.map_or_else(
            || ":(exclude).baton".to_owned(),
            |own| format!(":(exclude,literal){}", own.display()),
        );
        let status = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
            "--",
            ".",
            ":(exclude).baton",
            &own_too,
        ];
        self.ask(&status).await
    }

    /// Files that differ from a commit or a tree.
    async fn differing(&self, start: &str) -> Result<Option<Vec<PathBuf>>, BlockingPipe> {
        let diff = [
            "diff",
            "--name-only",
            "--relative",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=dirty",
            "-z",
            start,
            "--",
        ];
        let Some(tracked) = self.ask(&diff).await? else { return Ok(None) };
        let others = ["ls-files", "-o", "--exclude-standard", "-z"];
        let Some(others) = self.ask(&others).await? else { return Ok(None) };
        let mut differing = paths(&tracked);
        differing.extend(paths(&others));
        let own = self.workspace.own.as_ref();
        differing.retain(|path| own.is_none_or(|own| !path.starts_with(own)));
        Ok(Some(differing))
    }

    /// The newest commits of a range, with the first lines of their messages.
    async fn log(&self, range: &str) -> Result<Vec<Commit>, BlockingPipe> {
        let count = format!("--max-count={COMMITS_NAMED}");
        let log = ["log", "-z", "--no-show-signature", &count, "--format=%h %s", range, "--"];
        Ok(records(&self.ask(&log).await?.unwrap_or_default()).map(commit).collect())
    }

    /// One query to git; none if it fails or does not answer in time.
    async fn ask(&self, arguments: &[&str]) -> Result<Option<Vec<u8>>, BlockingPipe> {
        self.ask_with_input(arguments, &[]).await
    }

    /// The same with something to read.
    async fn ask_with_input(
        &self,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Option<Vec<u8>>, BlockingPipe> {
        let Repository { top, git_dir, common_dir } = &self.view.repository;
        let folders: [&Path; 3] = [top, git_dir, common_dir];
        blocking_pipes::unless_it_waits(&folders, self.answer(arguments, input)).await
    }

    async fn answer(&self, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
        self.view.repository.expect_unmoved().ok()?;
        let mut git = Command::from(self.view.git());
        git.args(arguments)
            .current_dir(self.workspace.root())
            .env("GIT_ATTR_SOURCE", self.view.empty_tree)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let answer = async {
            let mut child = git.spawn().ok()?;
            let mut answer = Vec::new();
            let (stdin, stdout) = (child.stdin.take(), child.stdout.take()?);
            let write = async {
                // Git may stop reading early; its exit status reports a failure.
                if let Some(mut stdin) = stdin {
                    let _ = stdin.write_all(input).await;
                }
            };
            let mut stdout = stdout.take(MAX_ANSWER_BYTES);
            let (read, ()) = tokio::join!(stdout.read_to_end(&mut answer), write);
            read.ok()?;
            if answer.len() as u64 == MAX_ANSWER_BYTES {
                child.kill().await.ok()?;
                answer.truncate(answer.iter().rposition(|byte| *byte == 0)? + 1);
                return Some(answer);
            }
            child.wait().await.ok()?.success().then_some(answer)
        };
        tokio::time::timeout(LIMIT, answer).await.ok()?
    }
}

/// "1f2e3d Write the lexer", cut, without control characters.
fn commit(line: &[u8]) -> Commit {
    let line = String::from_utf8_lossy(line);
    let (id, subject) = line.split_once(' ').unwrap_or((&line, ""));
    let plain = subject.chars().map(|c| if c.is_control() { ' ' } else { c });
    Commit { id: id.to_owned(), subject: plain.take(SUBJECT_CHARS).collect() }
}

/// People's subjects are shorter: git itself warns of more than 72.
const SUBJECT_CHARS: usize = 120;

/// Reads `status --porcelain=v2 --branch -z`: headers and one entry a dirty file, each ended by a NUL.
fn facts(status: &[u8]) -> GitFacts {
    let mut facts = GitFacts { present: true, ..GitFacts::default() };
    for line in records(status) {
        if let Some(oid) = line.strip_prefix(b"# branch.oid ") {
            facts.head = String::from_utf8_lossy(oid).into_owned();
        } else if let Some(branch) = line.strip_prefix(b"# branch.head ") {
            facts.branch = String::from_utf8_lossy(branch).into_owned();
        } else if !line.starts_with(b"#") {
            facts.dirty_files += 1;
        }
    }
    if facts.head == "(initial)" {
        facts.head.clear();
    }
    if facts.branch == "(detached)" {
        facts.branch.clear();
    }
    facts
}

fn paths(answer: &[u8]) -> Vec<PathBuf> {
    records(answer).map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
}

fn records(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}

fn is_commit(head: &str) -> bool {
    (40..=64).contains(&head.len()) && head.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_gives_branch_head_and_dirty_files() {
        let facts = facts(b"# branch.oid 1f\0# branch.head main\0# branch.ab +0 -0\0? a b\x001 .M N... 100644 100644 100644 x y c\0");
        assert_eq!(
            facts,
            GitFacts {
                present: true,
                branch: "main".into(),
                head: "1f".into(),
                commits_since: 0,
                dirty_files: 2,
                commits: Vec::new(),
            }
        );
    }

    #[test]
    fn a_commit_is_its_id_and_one_plain_short_line() {
        let found = commit(b"1f2e3d Write\tthe lexer");
        assert_eq!((found.id.as_str(), found.subject.as_str()), ("1f2e3d", "Write the lexer"));
        assert_eq!(commit(b"1f2e3d"), Commit { id: "1f2e3d".into(), subject: String::new() });
        assert_eq!(commit(&[b"1 ".as_slice(), &[b'x'; 500]].concat()).subject.len(), SUBJECT_CHARS);
    }

    #[test]
    fn a_committed_file_is_read_from_its_line() {
        let id = "78981922613b2afb6025042ff6bd878ac1994e85";
        let line = format!("120000 blob {id}       2\ta b");
        let link = CommittedBlob { is_link: true, id, bytes: 2, path: "a b" };
        assert_eq!(CommittedBlob::of(line.as_bytes()), Some(link));
        for other in
            [format!("040000 tree {id}       -\ta"), format!("160000 commit {id}       -\ta"), String::new()]
        {
            assert_eq!(CommittedBlob::of(other.as_bytes()), None);
        }
    }

    #[test]
    fn only_a_full_commit_id_becomes_an_argument() {
        assert!(is_commit("0123456789012345678901234567890123456789"));
        assert!(!is_commit("--output=/etc/passwd") && !is_commit(""));
    }
}
