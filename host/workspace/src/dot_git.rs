//! The `.git` at the top of a work tree, held to the one that was there when a run began. An agent may move it away and put a link, or
//! another repository, in its place: the next git there would run what that one names.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use baton_core::Digest;
use serde::{Deserialize, Serialize};

use crate::isolated_git_dir::read;

/// The kind of a `.git`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DotGitKind {
    /// The repository itself.
    Folder,
    /// A file that names the repository: the digest of its bytes.
    File(Digest),
    /// A link of the user's, with its target.
    Link(PathBuf),
}

/// The `.git` of a work tree as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DotGit {
    path: PathBuf,
    kind: DotGitKind,
    /// Device and inode of a folder. Not noted: they do not outlast the mount of a file system.
    #[serde(skip)]
    identity: Option<(u64, u64)>,
    /// When a folder was created, in nanoseconds since the epoch, if its file system records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_ns: Option<u64>,
}

/// Another `.git` is in the place of the earlier one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} was replaced or removed since the run began, and git would run the commands that another one names; restore \
     the original, or start a new run with the current one by `baton run --restart`",
    .0.display()
)]
pub struct ReplacedRepository(PathBuf);

impl DotGit {
    /// The one at the top of a work tree; none if it does not exist.
    pub(crate) fn at(top: &Path) -> io::Result<Option<Self>> {
        let path = top.join(".git");
        let meta = match path.symlink_metadata() {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let (kind, identity) = match meta.file_type() {
            kind if kind.is_dir() => (DotGitKind::Folder, Some((meta.dev(), meta.ino()))),
            kind if kind.is_symlink() => (DotGitKind::Link(fs::read_link(&path)?), None),
            _ => (DotGitKind::File(Digest::of(read(&path)?)), None),
        };
        let made = meta.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
        let made = made.filter(|_| kind == DotGitKind::Folder);
        let made_ns = made.and_then(|made| u64::try_from(made.as_nanos()).ok());
        Ok(Some(Self { path, kind, identity, made_ns }))
    }

    /// Whether the folder that is there was made at another time than this one was: it was restored or cloned again. False if that is
    /// unknown.
    pub(crate) fn was_made_again(&self) -> bool {
        let now = self.path.parent().and_then(|top| Self::at(top).ok()).flatten().and_then(|now| now.made_ns);
        self.made_ns.zip(now).is_some_and(|(noted, now)| noted != now)
    }

    /// The same with its current state, if it is still of the noted kind: a host that resumes a run compares with that from
    /// then on.
    pub(crate) fn taken_up(self) -> Self {
        match self.path.parent().map(Self::at) {
            Some(Ok(Some(now))) if now.kind == self.kind => now,
            _ => self,
        }
    }

    /// An error if it was replaced or removed.
    pub(crate) fn held(&self) -> Result<(), ReplacedRepository> {
        let now = self.path.parent().and_then(|top| Self::at(top).ok()).flatten();
        let is_same =
            |now: &Self| now.kind == self.kind && (self.identity.is_none() || now.identity == self.identity);
        match now.as_ref().is_some_and(is_same) {
            true => Ok(()),
            false => Err(ReplacedRepository(self.path.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    // N6
    #[test]
    fn only_the_repository_that_was_there_is_held() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        assert_eq!(DotGit::at(place.path()).unwrap(), None);
        fs::create_dir(at(".git")).unwrap();
        let held = DotGit::at(place.path()).unwrap().unwrap();
        held.held().unwrap();
        let noted: DotGit = serde_json::from_slice(&serde_json::to_vec(&held).unwrap()).unwrap();

        fs::rename(at(".git"), at(".gitx")).unwrap();
        assert!(held.held().unwrap_err().to_string().contains("was replaced or removed"));
        for replace in [|at: PathBuf| symlink(".gitx", at), |at: PathBuf| fs::write(at, "gitdir: .gitx\n")] {
            replace(at(".git")).unwrap();
            held.held().unwrap_err();
            // Another host that resumes the run must not accept it.
            noted.clone().taken_up().held().unwrap_err();
            fs::remove_file(at(".git")).unwrap();
        }
        fs::create_dir(at(".git")).unwrap();
        held.held().unwrap_err();
        noted.taken_up().held().unwrap();
        fs::remove_dir(at(".git")).unwrap();
        fs::rename(at(".gitx"), at(".git")).unwrap();
        held.held().unwrap();
    }

    // N6
    #[test]
    fn a_file_and_a_link_are_held_to_what_they_name() {
        for make in [
            |at: &Path, to: &str| fs::write(at, format!("gitdir: {to}\n")).unwrap(),
            |at: &Path, to: &str| symlink(to, at).unwrap(),
        ] {
            let place = tempfile::tempdir().unwrap();
            let file = place.path().join(".git");
            make(&file, "../one");
            let held = DotGit::at(place.path()).unwrap().unwrap();
            // Written again as it was, it is the same.
            fs::remove_file(&file).unwrap();
            make(&file, "../one");
            held.held().unwrap();
            fs::remove_file(&file).unwrap();
            make(&file, "../two");
            held.held().unwrap_err();
        }
    }
}
