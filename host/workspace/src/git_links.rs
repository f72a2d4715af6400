//! Links and alternates in a repository: through them git reads and writes in other places. Those that the user had when a run
//! began are noted then and accepted as long as they are unchanged. Any other is refused, because an agent can have made it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use baton_core::Digest;
use serde::{Deserialize, Serialize};

use crate::dot_git::DotGit;
use crate::isolated_git_dir::{Repository, hold_file};
use crate::regular_file::read_plain;

/// The names that git uses in a repository, from its shared folder. The user may have made one of them a link.
const ANCHORS: [&str; 15] = [
    "HEAD",
    "hooks",
    "info",
    "lfs",
    "logs",
    "modules",
    "objects",
    "objects/info",
    "objects/pack",
    "packed-refs",
    "refs",
    "refs/heads",
    "reftable",
    "shallow",
    "worktrees",
];
/// The file that names more folders of objects.
const ALTERNATES: &str = "objects/info/alternates";
/// Files at the top of a work tree's own folder that git writes by their names: never links.
const WRITTEN: [&str; 5] = ["index", "COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", "logs/HEAD"];
/// Entries of a repository that are examined.
const MAX_ENTRIES: u32 = 50_000;
/// Depth of folders in refs.
const MAX_DEPTH: u32 = 16;
/// A list of alternates or a note is not longer.
const MAX_BYTES: u64 = 1 << 20;

/// The links of a repository that are accepted: those of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AcceptedLinks {
    /// Of this repository; of none if absent.
    common_dir: Option<PathBuf>,
    /// Name and target.
    links: BTreeMap<PathBuf, PathBuf>,
    /// The content of the list of alternates.
    alternates: Option<Digest>,
    /// The `.git` that leads to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dot_git: Option<DotGit>,
}

impl AcceptedLinks {
    /// Those that a repository has now.
    pub(crate) fn of(repository: &Repository) -> Self {
        let common_dir = &repository.common_dir;
        let link = |name: &&str| Some((PathBuf::from(name), fs::read_link(common_dir.join(name)).ok()?));
        // A target that is not text cannot be noted, so it is not accepted.
        let links = ANCHORS.iter().filter_map(link).filter(|(_, target)| target.to_str().is_some());
        let alternates = digest_of(&common_dir.join(ALTERNATES)).ok().flatten();
        let dot_git = DotGit::at(&repository.top).ok().flatten();
        Self { common_dir: Some(common_dir.clone()), links: links.collect(), alternates, dot_git }
    }

    /// Those in a note file; none if it does not exist.
    pub(crate) fn noted(file: &Path) -> io::Result<Option<Self>> {
        match fs::read(file) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Those in a note file, or the repository's current ones if there is no note.
    pub(crate) fn noted_or_of(file: &Path, repository: &Repository) -> io::Result<Self> {
        Ok(Self::noted(file)?.unwrap_or_else(|| Self::of(repository)))
    }

    /// Writes them to a file.
    pub(crate) fn note(&self, file: &Path) -> io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        hold_file(file, &serde_json::to_vec(self)?)
    }

    /// Refuses a repository of the workspace other than the one of the start: an agent can have led git to another one. One
    /// that appeared since then must be in the workspace itself.
    pub(crate) fn expect_same(&self, repository: &Repository) -> io::Result<()> {
        let Repository { top, common_dir: now, .. } = repository;
        let is_same = match &self.common_dir {
            Some(noted) => noted == now,
            None => now.starts_with(top.canonicalize()?),
        };
        match is_same {
            true => Ok(()),
            false => Err(moved(repository, now, self.common_dir.as_deref())),
        }
    }

    /// Refuses links and alternates that lead git out of a repository and are not accepted.
    pub(crate) fn expect(&self, repository: &Repository) -> io::Result<()> {
        let Repository { git_dir, common_dir, .. } = repository;
        let none = Self::default();
        let accepted = if self.common_dir.as_ref() == Some(common_dir) { self } else { &none };
        for name in ANCHORS {
            let path = common_dir.join(name);
            if is_link(&path) && fs::read_link(&path).ok().as_ref() != accepted.links.get(Path::new(name)) {
                return Err(is_a_link(&path));
            }
            if path.metadata().is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
                return Err(is_no_file(&path));
            }
        }
        let alternates = common_dir.join(ALTERNATES);
        if digest_of(&alternates)? != accepted.alternates {
            let why = format!(
                "{} was made or changed since the run began, and git would read another repository by it: remove it, or put it back",
                alternates.display()
            );
            return Err(io::Error::other(why));
        }
        let mut left = MAX_ENTRIES;
        reflog_of_head(repository).as_deref().map_or(Ok(()), expect_file)?;
        if git_dir == common_dir {
            WRITTEN.iter().try_for_each(|name| expect_file(&git_dir.join(name)))?;
        } else {
            expect_none_below(git_dir, MAX_DEPTH, &mut left)?;
        }
        // The contents of these two are read and written by the names of objects and branches.
        expect_none_but(accepted, common_dir, "objects", 0, &mut left)?;
        expect_none_but(accepted, common_dir, "refs", MAX_DEPTH, &mut left)
    }
}

/// Refuses anything except a regular file or a missing one.
fn expect_file(path: &Path) -> io::Result<()> {
    match path.symlink_metadata().map(|meta| meta.file_type()) {
        Ok(kind) if kind.is_symlink() => Err(is_a_link(path)),
        Ok(kind) if !kind.is_file() => Err(is_no_file(path)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The reflog of the branch that is checked out: git appends to it with each commit.
fn reflog_of_head(repository: &Repository) -> Option<PathBuf> {
    let head = read_plain(&repository.git_dir.join("HEAD"), MAX_BYTES).ok()?;
    let branch = Path::new(std::str::from_utf8(&head).ok()?.strip_prefix("ref: ")?.trim_end());
    let is_plain = branch.components().all(|part| matches!(part, Component::Normal(_)));
    is_plain.then(|| repository.common_dir.join("logs").join(branch))
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_symlink())
}

/// The digest of a list of alternates; none if there is none. A link never counts as one.
fn digest_of(file: &Path) -> io::Result<Option<Digest>> {
    let meta = match file.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    match meta.is_file() && meta.len() <= MAX_BYTES {
        true => read_plain(file, MAX_BYTES).map(|bytes| Some(Digest::of(bytes))),
        false if meta.is_symlink() => Err(is_a_link(file)),
        false => Err(io::Error::other(format!("{} is not a small regular file: remove it", file.display()))),
    }
}

/// The same as [`expect_none_below`] for an anchor, which may contain accepted anchors.
fn expect_none_but(
    accepted: &AcceptedLinks,
    common_dir: &Path,
    name: &str,
    depth: u32,
    left: &mut u32,
) -> io::Result<()> {
    let folder = common_dir.join(name);
    for entry in entries(&folder)? {
        let entry = entry?;
        let is_accepted = accepted.links.contains_key(&Path::new(name).join(entry.file_name()));
        if !is_accepted {
            expect_no_link(&folder, &entry, depth, left)?;
        }
    }
    Ok(())
}

fn expect_none_below(folder: &Path, depth: u32, left: &mut u32) -> io::Result<()> {
    entries(folder)?.try_for_each(|entry| expect_no_link(folder, &entry?, depth, left))
}

fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(Some(entries).into_iter().flatten()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None.into_iter().flatten()),
        Err(error) => Err(error),
    }
}

fn expect_no_link(folder: &Path, entry: &fs::DirEntry, depth: u32, left: &mut u32) -> io::Result<()> {
    let kind = entry.file_type()?;
    if kind.is_symlink() {
        return Err(is_a_link(&entry.path()));
    }
    if !kind.is_dir() && !kind.is_file() {
        return Err(is_no_file(&entry.path()));
    }
    *left = left.saturating_sub(1);
    if *left == 0 {
        let why = format!("{} has too many entries to be examined", folder.display());
        return Err(io::Error::other(why));
    }
    match kind.is_dir() && depth > 0 {
        true => expect_none_below(&entry.path(), depth - 1, left),
        false => Ok(()),
    }
}

/// A link in a repository that the user had not accepted.
#[derive(Debug, thiserror::Error)]
#[error("{} is a link that was not there when the run began, and git would follow it: remove it", .0.display())]
pub(crate) struct RefusedLink(PathBuf);

/// Git would wait for a pipe without an end.
fn is_no_file(path: &Path) -> io::Error {
    io::Error::other(format!("{} is not a file, and git would block on it: remove it", path.display()))
}

/// Git's files now name another folder of the repository than when the run began.
#[derive(Debug, thiserror::Error)]
#[error("git in {} leads to {} now{}: put its `.git` back as it was", .top.display(), .now.display(), before(.noted.as_deref()))]
struct MovedRepository {
    top: PathBuf,
    now: PathBuf,
    noted: Option<PathBuf>,
}

/// The repository of a work tree is now in another folder, or appeared outside the workspace.
pub(crate) fn moved(repository: &Repository, now: &Path, noted: Option<&Path>) -> io::Error {
    let (top, now, noted) = (repository.top.clone(), now.to_owned(), noted.map(Path::to_owned));
    io::Error::other(MovedRepository { top, now, noted })
}

fn before(noted: Option<&Path>) -> String {
    match noted {
        Some(noted) => format!(", and led to {} when the run began", noted.display()),
        None => ", and there was no repository when the run began".to_owned(),
    }
}

fn is_a_link(path: &Path) -> io::Error {
    io::Error::other(RefusedLink(path.to_owned()))
}

/// Before the content of a file that git complains about: the rest of such a line is cut off, because a link may have led there.
const QUOTING: [&str; 9] = [
    "unexpected line in ",
    "unterminated line in ",
    "bad shallow line",
    "invalid shallow line",
    "bad graft data",
    "object directory ",
    "unable to normalize alternate object path",
    "ignoring alternate object stores",
    "not a git repository: ",
];

/// Git's message, without the content of files.
pub(crate) fn without_content(said: &str) -> String {
    let plain = |line: &str| match QUOTING.iter().find_map(|marker| Some((line.find(marker)?, marker.len())))
    {
        Some((at, len)) => {
            format!("{} (what the file holds is left out)", line[..at + len].trim_end_matches([':', ' ']))
        }
        None => line.to_owned(),
    };
    said.lines().map(plain).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct LinkTestRepository {
        folder: tempfile::TempDir,
        common: PathBuf,
    }

    impl LinkTestRepository {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let common = folder.path().canonicalize().unwrap().join(".git");
            for below in ["objects/aa", "objects/info", "refs/heads/work", "logs/refs", "worktrees/x/logs"] {
                fs::create_dir_all(common.join(below)).unwrap();
            }
            fs::write(common.join("packed-refs"), "").unwrap();
            Self { folder, common }
        }

        fn repository(&self, git_dir: &Path) -> Repository {
            Repository {
                top: self.folder.path().to_owned(),
                git_dir: git_dir.to_owned(),
                common_dir: self.common.clone(),
            }
        }
    }

    fn refused(links: &AcceptedLinks, repository: &Repository) -> Option<String> {
        links.expect(repository).map_err(|error| error.to_string()).err()
    }

    #[test]
    fn a_link_in_the_place_of_what_git_follows_is_refused() {
        let place = LinkTestRepository::new();
        let (common, own) = (&place.common, place.common.join("worktrees/x"));
        let links = AcceptedLinks::of(&place.repository(common));
        let at_start = [common, &own].map(|git_dir| refused(&links, &place.repository(git_dir)));
        assert_eq!(at_start, [None, None]);
        for (git_dir, link) in [
            (common, common.join("index")),
            (common, common.join("objects/bb")),
            (common, common.join("refs/heads/work/one")),
            (common, common.join("logs/HEAD")),
            (&own, own.join("index")),
            (&own, own.join("COMMIT_EDITMSG")),
            (&own, own.join("logs/HEAD")),
        ] {
            symlink(place.folder.path().join("victim"), &link).unwrap();
            let why = refused(&links, &place.repository(git_dir)).unwrap_or_default();
            assert!(why.contains("is a link") && why.contains(&link.display().to_string()), "{why}");
            fs::remove_file(link).unwrap();
        }
    }

    #[test]
    fn a_pipe_in_the_place_of_what_git_reads_is_refused() {
        // N6
        let place = LinkTestRepository::new();
        let repository = place.repository(&place.common);
        let links = AcceptedLinks::of(&repository);
        fs::write(place.common.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir_all(place.common.join("logs/refs/heads")).unwrap();
        for name in ["index", "refs/heads/work/one", "logs/HEAD", "logs/refs/heads/main", "shallow"] {
            let pipe = place.common.join(name);
            assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            assert!(refused(&links, &repository).unwrap().contains("is not a file"), "{name}");
            fs::remove_file(pipe).unwrap();
        }
        assert_eq!(refused(&links, &repository), None);
    }

    #[test]
    fn the_folders_themselves_are_links_only_if_the_user_made_them() {
        // N6
        let place = LinkTestRepository::new();
        let repository = place.repository(&place.common);
        let before = AcceptedLinks::of(&repository);
        for name in ANCHORS.iter().filter(|name| **name != "HEAD") {
            let (at, away) = (place.common.join(name), place.folder.path().join("away"));
            let was_there = fs::rename(&at, &away).is_ok();
            symlink(&away, &at).unwrap();
            let why = refused(&before, &repository).unwrap_or_default();
            assert!(why.contains("is a link") && why.contains(name), "{name}: {why}");
            // The user's own link is accepted until its target changes.
            let users = AcceptedLinks::of(&repository);
            assert_eq!(refused(&users, &repository), None, "{name}");
            fs::remove_file(&at).unwrap();
            symlink(place.folder.path().join("elsewhere"), &at).unwrap();
            assert!(refused(&users, &repository).is_some(), "{name}");
            fs::remove_file(&at).unwrap();
            if was_there {
                fs::rename(&away, &at).unwrap();
            }
        }
        assert_eq!(refused(&before, &repository), None);
    }

    #[test]
    fn alternates_are_those_that_were_noted() {
        // N6
        let place = LinkTestRepository::new();
        let repository = place.repository(&place.common);
        let (note, alternates) = (place.folder.path().join("notes/links"), place.common.join(ALTERNATES));
        assert_eq!(AcceptedLinks::noted(&note).unwrap(), None);
        fs::write(&alternates, "/home/user/objects\n").unwrap();
        AcceptedLinks::of(&repository).note(&note).unwrap();
        let noted = AcceptedLinks::noted(&note).unwrap().unwrap();
        assert_eq!(refused(&noted, &repository), None);
        assert!(refused(&AcceptedLinks::default(), &repository).unwrap().contains("alternates"));
        fs::write(&alternates, "/home/user/secret\n").unwrap();
        assert!(refused(&noted, &repository).unwrap().contains("alternates was made or changed"));
        fs::remove_file(&alternates).unwrap();
        symlink(place.folder.path().join("token"), &alternates).unwrap();
        assert!(refused(&noted, &repository).unwrap().contains("is a link"));
    }

    #[test]
    fn a_repository_that_leads_elsewhere_than_at_the_start_is_refused() {
        // N6
        let place = LinkTestRepository::new();
        let refused = |links: &AcceptedLinks, repository: &Repository| {
            links.expect_same(repository).map_err(|error| error.to_string()).err()
        };
        let at_start = AcceptedLinks::of(&place.repository(&place.common));
        assert_eq!(refused(&at_start, &place.repository(&place.common)), None);
        let elsewhere = tempfile::tempdir().unwrap();
        let common_dir = elsewhere.path().canonicalize().unwrap().join(".git");
        fs::create_dir_all(&common_dir).unwrap();
        let moved = Repository { common_dir: common_dir.clone(), ..place.repository(&place.common) };
        let why = refused(&at_start, &moved).unwrap();
        assert!(why.contains(&format!("leads to {} now", common_dir.display())), "{why}");
        assert!(why.contains(&format!("led to {} when", place.common.display())), "{why}");
        // If there was none, a repository in the folder is the work of the run, and one in another place is not.
        let none = AcceptedLinks::default();
        assert_eq!(refused(&none, &place.repository(&place.common)), None);
        assert!(refused(&none, &moved).unwrap().contains("there was no repository"));
    }

    #[test]
    fn a_complaint_does_not_carry_the_content_of_a_file() {
        // N6
        for said in [
            "fatal: unexpected line in /r/.git/packed-refs: TOKEN: x",
            "fatal: bad shallow line: TOKEN",
            "error: object directory TOKEN does not exist; check .git/objects/info/alternates",
        ] {
            let said = without_content(&format!("hint: one\n{said}\nfatal: two"));
            assert!(
                !said.contains("TOKEN") && said.starts_with("hint: one\n") && said.ends_with("fatal: two"),
                "{said}"
            );
        }
    }
}
