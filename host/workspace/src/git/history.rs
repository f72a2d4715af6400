//! The contents that the history of a repository has at the paths of files: earlier ones, and those that were committed since.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::facts::ChangedFile;
use baton_core::{Digest, UnixMs};

use super::{CommittedBlob, GitReader, PATHS_ASKED_AT_ONCE, is_commit, records};
use crate::Workspace;
use crate::baseline::CurrentFile;
use crate::blocking_pipes::BlockingPipe;

/// Commits that are read for each path, the newest first: more than change one file while its old contents still matter.
const COMMITS_READ: usize = 1_000;

/// Most contents that are compared in one query, about five seconds.
const CONTENTS_COMPARED: usize = 1_000;

/// A content that may have been committed.
#[derive(Clone, Copy)]
struct SoughtContent<'a> {
    /// The path, from the folder of the workspace.
    path: &'a str,
    /// Absent for no file; the size.
    bytes: Option<u64>,
    /// Absent if it was not hashed: then the size is compared.
    digest: Option<&'a Digest>,
}

impl<'a> SoughtContent<'a> {
    /// How a file is now. Absent for a name that git would not be given.
    fn now(file: &'a CurrentFile) -> Option<Self> {
        let path = file.place.to_str()?;
        Some(Self { path, bytes: file.exists.then_some(file.bytes), digest: file.digest.as_ref() })
    }

    /// The state in which the work left the same file.
    fn left(file: &'a CurrentFile, left: &'a ChangedFile) -> Option<Self> {
        let path = file.place.to_str()?;
        Some(Self { path, bytes: left.exists.then_some(left.bytes), digest: left.digest.as_ref() })
    }
}

/// The names of those of these files that are as a commit, or one before it, has them at their paths. The history of the commits in
/// `without` is not read.
pub(crate) async fn as_in_history(
    workspace: &Workspace,
    commit: &str,
    without: &[&str],
    files: &[CurrentFile],
) -> Result<BTreeSet<String>, BlockingPipe> {
    let there = files.iter().filter(|file| file.exists && file.differs);
    let (files, sought): (Vec<_>, Vec<_>) =
        there.filter_map(|file| Some((file, SoughtContent::now(file)?))).unzip();
    if !is_commit(commit) || sought.is_empty() {
        return Ok(BTreeSet::new());
    }
    let Some(git) = GitReader::open(workspace).await? else { return Ok(BTreeSet::new()) };
    let found = git.had(&[commit], without, &sought, true).await?;
    let found = files.into_iter().zip(found).filter(|(_, found)| *found);
    Ok(found.map(|(file, _)| file.path.clone()).collect())
}

/// The names of those of these files that equal a commit since `start` on HEAD, a branch or a tag, if no commit on HEAD since
/// `start` has the state that the work left. Files that the user edited and committed in the folder itself, from `since` on,
/// are the user's.
pub(crate) async fn replaced_by_commits(
    workspace: &Workspace,
    start: &str,
    since: UnixMs,
    files: &[(&CurrentFile, &ChangedFile)],
) -> Result<BTreeSet<String>, BlockingPipe> {
    let Some(git) = GitReader::open(workspace).await? else { return Ok(BTreeSet::new()) };
    let there = files.iter().filter(|(now, _)| now.exists && now.differs);
    let contents = there
        .filter_map(|(now, left)| Some((*now, (SoughtContent::now(now)?, SoughtContent::left(now, left)?))));
    let (files, contents): (Vec<&CurrentFile>, Vec<_>) = contents.unzip();
    let (now, left): (Vec<_>, Vec<_>) = contents.into_iter().unzip();
    let is_committed = git.had(&["HEAD", "--branches", "--remotes", "--tags"], &[start], &now, true).await?;
    if !is_committed.contains(&true) {
        return Ok(BTreeSet::new());
    }
    let was_work_committed = git.had(&["HEAD"], &[start], &left, false).await?;
    let is_of_others = git.had_by_others(start, since, &now).await?;
    let states = is_committed.into_iter().zip(was_work_committed).zip(is_of_others);
    let replaced = files.into_iter().zip(states).filter(|(_, states)| *states == ((true, false), true));
    Ok(replaced.map(|(file, _)| file.path.clone()).collect())
}

impl GitReader<'_> {
    /// For each of these contents, whether a commit since `start` has it that was not made in the folder itself from `since`
    /// on. True for all if git did more there than commits and rebases.
    async fn had_by_others(
        &self,
        start: &str,
        since: UnixMs,
        sought: &[SoughtContent<'_>],
    ) -> Result<Vec<bool>, BlockingPipe> {
        let Some(own) = self.own_commits_since(since).filter(|own| !own.is_empty()) else {
            return Ok(vec![true; sought.len()]);
        };
        let head = self.ask(&["rev-parse", "-q", "--verify", "HEAD"]).await?.unwrap_or_default();
        let head = String::from_utf8_lossy(&head).trim().to_owned();
        let elsewhere =
            self.had(&["--branches", "--remotes", "--tags"], &[start, &head], sought, true).await?;
        let before = match self.newest_without(&own).await? {
            Some(base) => self.had(&[&base], &[start], sought, true).await?,
            None => vec![false; sought.len()],
        };
        Ok(elsewhere.into_iter().zip(before).map(|(elsewhere, before)| elsewhere || before).collect())
    }

    /// For each of these contents, whether these commits, or those before them, put it to its path or took it from there. The history of the
    /// commits in `without` is not read. A content of the same size that is not compared any more counts as `uncompared`.
    async fn had(
        &self,
        commits: &[&str],
        without: &[&str],
        sought: &[SoughtContent<'_>],
        uncompared: bool,
    ) -> Result<Vec<bool>, BlockingPipe> {
        let without: Vec<&str> = without.iter().copied().filter(|commit| is_commit(commit)).collect();
        let mut by_path: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, content) in sought.iter().enumerate() {
            by_path.entry(content.path.to_owned()).or_default().push(index);
        }
        let (mut found, mut compared) = (vec![false; sought.len()], 0);
        let paths: Vec<&str> = by_path.keys().map(String::as_str).collect();
        for paths in paths.chunks(PATHS_ASKED_AT_ONCE) {
            let count = format!("--max-count={}", COMMITS_READ * paths.len());
            let question = ["--literal-pathspecs", "log", "-z", "--format=", "--raw", "-m", "--no-abbrev"];
            let how = ["--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature"];
            let which = ["--full-history", "--relative", "--ignore-missing", &count];
            let question =
                [&question[..], &how, &which, commits, &["--not"], &without, &["--"], paths].concat();
            let listed = self.ask(&question).await?.unwrap_or_default();
            let changes: BTreeSet<CommittedContent<'_>> = changed_contents(&listed).collect();
            let sizes = self.sizes(changes.iter().filter_map(|change| change.id)).await?;
            for change in changes {
                for index in by_path.get(change.path).into_iter().flatten() {
                    let content = &sought[*index];
                    let bytes = change.id.and_then(|id| sizes.get(id)).copied();
                    if found[*index] || bytes != content.bytes || change.id.is_some() && bytes.is_none() {
                        continue;
                    }
                    let (Some(id), Some(bytes)) = (change.id, bytes) else {
                        found[*index] = true;
                        continue;
                    };
                    compared += 1;
                    let blob = CommittedBlob { is_link: change.is_link, id, bytes, path: change.path };
                    found[*index] = match compared <= CONTENTS_COMPARED {
                        true => self.is_content(&blob, content.digest).await?,
                        false => uncompared,
                    };
                }
            }
        }
        Ok(found)
    }

    /// The sizes of blobs that the repository has, by their ids.
    async fn sizes<'i>(
        &self,
        ids: impl Iterator<Item = &'i str>,
    ) -> Result<BTreeMap<String, u64>, BlockingPipe> {
        let ids: BTreeSet<&str> = ids.collect();
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let asked: String = ids.into_iter().flat_map(|id| [id, "\n"]).collect();
        let answer = self.ask_with_input(&["cat-file", "--batch-check"], asked.as_bytes()).await?;
        let answer = answer.unwrap_or_default();
        let lines = std::str::from_utf8(&answer).unwrap_or_default().lines();
        let sizes = lines.filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (id, kind, bytes) = (words.next()?, words.next()?, words.next()?);
            (kind == "blob").then_some(())?;
            Some((id.to_owned(), bytes.parse().ok()?))
        });
        Ok(sizes.collect())
    }
}

/// A commit's content at a path, or that of one of its parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CommittedContent<'a> {
    path: &'a str,
    is_link: bool,
    /// The blob; absent for no file.
    id: Option<&'a str>,
}

/// Reads `log -z --raw --no-renames`: a line of modes and ids, and a path, in turn. Submodules are left out.
fn changed_contents(answer: &[u8]) -> impl Iterator<Item = CommittedContent<'_>> {
    let mut records = records(answer);
    let changes = std::iter::from_fn(move || Some((records.next()?, records.next()?)));
    changes.filter_map(|(line, path)| contents_of(line, path)).flatten().flatten()
}

/// The content of a path before a change, and after it.
fn contents_of<'a>(line: &'a [u8], path: &'a [u8]) -> Option<[Option<CommittedContent<'a>>; 2]> {
    let (line, path) = (std::str::from_utf8(line).ok()?, std::str::from_utf8(path).ok()?);
    let mut words = line.strip_prefix(':')?.split_ascii_whitespace();
    let (before, after) = (words.next()?, words.next()?);
    let ids = (words.next()?, words.next()?);
    let content = |mode: &str, id: &'a str| match mode {
        "000000" => Some(CommittedContent { path, is_link: false, id: None }),
        _ if !mode.starts_with("1") || mode == "160000" || !is_commit(id) => None,
        _ => Some(CommittedContent { path, is_link: mode == "120000", id: Some(id) }),
    };
    Some([content(before, ids.0), content(after, ids.1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_before_and_after_a_change_are_read() {
        let (id, other) =
            ("78981922613b2afb6025042ff6bd878ac1994e85", "61780798228d17af2d34fce4cfbdf35556832472");
        let none = "0".repeat(40);
        let log = format!(
            ":000000 100644 {none} {id} A\0:a\0\0:100644 120000 {id} {other} T\0b c\0:160000 100755 {other} {id} T\0d\0:100644 0"
        );
        let content = |path, is_link, id| CommittedContent { path, is_link, id };
        assert_eq!(
            changed_contents(log.as_bytes()).collect::<Vec<_>>(),
            [
                content(":a", false, None),
                content(":a", false, Some(id)),
                content("b c", false, Some(id)),
                content("b c", true, Some(other)),
                content("d", false, Some(id)),
            ]
        );
        assert_eq!(changed_contents(b"fatal: no\0a\0").count(), 0);
    }
}
