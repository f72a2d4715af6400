//! The files at the start of a phase, and what differs from them now. Compares contents where it can, so that a
//! touched file is no change and an edit that keeps size and time is one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use baton_core::Digest;
use baton_core::facts::{ChangedFile, GitFacts, WorkspaceFacts, WrittenFile};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::file_listing::{FileListing, FileStat, HashBudget, MAX_FILES, shown};

/// Changed files that are named; how many more there are is counted. A brief carries far fewer.
pub const MAX_CHANGED: usize = 500;

/// A file written less than this before the baseline may be written again within the same tick of the clock of a
/// coarse file system: its times prove nothing.
const RACY_NS: i64 = 2_000_000_000;

/// The state of a workspace at one moment, to be kept as JSON: at most 20,000 files with sizes, times and digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// Commit of HEAD; empty without git or commits.
    head: String,
    /// Branch; empty without git or when detached.
    branch: String,
    /// The list came from git, so ignored files are not in it.
    by_git: bool,
    /// There were more files than are listed.
    cut: bool,
    /// Nanoseconds since the Unix epoch.
    taken_ns: i64,
    files: BTreeMap<String, BaselineFile>,
}

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BaselineFile {
    #[serde(flatten)]
    stat: FileStat,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
}

impl Baseline {
    /// The commit that HEAD named; empty without git or commits.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// The branch that was checked out; empty without git or when detached.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Remembers the files of a scene and the expected ones.
    pub(crate) fn take(scene: &FileListing, expected: &[String]) -> Self {
        let taken_ns = now_ns();
        let facts = scene.git.as_ref().map(|git| &git.facts);
        let mut budget = HashBudget::new();
        let files = watched(scene, expected)
            .into_iter()
            .filter_map(|(name, path)| {
                let stat = scene.stat(&path)?;
                let digest = scene.digest(&path, &mut budget);
                Some((name, BaselineFile { stat, digest }))
            })
            .collect();
        Self {
            head: facts.map(|facts| facts.head.clone()).unwrap_or_default(),
            branch: facts.map(|facts| facts.branch.clone()).unwrap_or_default(),
            by_git: scene.git.is_some(),
            cut: scene.cut,
            taken_ns,
            files,
        }
    }

    /// What differs in a later scene; at most `named` files by name.
    pub(crate) fn compare(&self, scene: &FileListing, expected: &[String], named: usize) -> WorkspaceFacts {
        let mut paths = watched(scene, expected);
        for name in self.files.keys() {
            paths.entry(name.clone()).or_insert_with(|| PathBuf::from(name));
        }
        let mut budget = HashBudget::new();
        let mut changed = Vec::new();
        let mut changed_beyond = 0;
        for (name, path) in &paths {
            let Some(stat) = self.difference(scene, name, path, &mut budget) else {
                continue;
            };
            // An objective is held to the files that it names, so these are never merely counted.
            if changed.len() >= named && !expected.contains(name) {
                changed_beyond += 1;
                continue;
            }
            changed.push(ChangedFile {
                path: name.clone(),
                bytes: stat.as_ref().map_or(0, |stat| stat.bytes),
                exists: stat.is_some(),
                digest: stat.and_then(|_| scene.digest(path, &mut budget)),
                is_new: !self.files.contains_key(name),
            });
        }
        let mut missing: Vec<String> =
            expected.iter().filter(|path| !scene.has_file(path)).cloned().collect();
        missing.sort();
        missing.dedup();
        WorkspaceFacts {
            git: scene.git.as_ref().map_or_else(GitFacts::default, |git| git.facts.clone()),
            files: u32::try_from(scene.files.len()).unwrap_or(u32::MAX),
            changed,
            changed_beyond,
            missing,
            written: self.written(scene, expected),
        }
    }

    /// Expected files that were written: work that finds a file as it should be may write it once more, or leave it so.
    fn written(&self, scene: &FileListing, expected: &[String]) -> Vec<WrittenFile> {
        let as_it_was = |path: &str, now: &FileStat| {
            let known = self.files.get(path).map(|known| (known.stat.modified_ns, known.stat.inode));
            known == Some((now.modified_ns, now.inode))
        };
        let expected: BTreeSet<&String> = expected.iter().collect();
        let there = expected.into_iter().filter_map(|path| Some((path, scene.stat(Path::new(path))?)));
        there
            .filter(|(path, now)| !as_it_was(path, now))
            .map(|(path, now)| WrittenFile { path: path.clone(), at_ns: now.modified_ns })
            .collect()
    }

    /// Whether a file differs: nothing where it does not, else how it is now, absent where it is gone.
    fn difference(
        &self,
        scene: &FileListing,
        name: &str,
        path: &Path,
        budget: &mut HashBudget,
    ) -> Option<Option<FileStat>> {
        let now = scene.stat(path);
        match (self.files.get(name), now) {
            (None, None) => None,
            (None, Some(now)) => self.is_new(scene, path, &now).then_some(Some(now)),
            (Some(_), None) => Some(None),
            (Some(known), Some(now)) => {
                let settled = known.stat.changed_ns < self.taken_ns - RACY_NS;
                let same = if known.stat == now && (settled || known.digest.is_none()) {
                    true
                } else if known.stat.bytes != now.bytes {
                    false
                } else {
                    // Unequal times alone prove nothing where the contents can be compared.
                    match (&known.digest, scene.digest(path, budget)) {
                        (Some(before), Some(after)) => *before == after,
                        _ => known.stat == now,
                    }
                };
                (!same).then_some(Some(now))
            }
        }
    }

    /// Whether a file that the baseline does not list came after it. Three lists cannot tell by themselves: one that
    /// was cut, one that git made where no git lists now, and the reverse.
    fn is_new(&self, scene: &FileListing, path: &Path, now: &FileStat) -> bool {
        if self.cut {
            return match &scene.git {
                Some(git) => git.differing.iter().any(|differing| differing == path),
                None => now.changed_ns >= self.taken_ns,
            };
        }
        self.by_git == scene.git.is_some() || now.changed_ns >= self.taken_ns
    }
}

/// The files of a scene that are compared: the listed ones, where the list is cut those that git knows to differ, and
/// the expected ones. By the name that facts carry.
fn watched(scene: &FileListing, expected: &[String]) -> BTreeMap<String, PathBuf> {
    let differing = scene.git.iter().flat_map(|git| &git.differing).take(MAX_FILES);
    scene
        .files
        .iter()
        .chain(differing)
        .map(|path| (shown(path), path.clone()))
        .chain(expected.iter().map(|path| (path.clone(), PathBuf::from(path))))
        .collect()
}

/// By the clock that the kernel stamps files with: a finer one is ahead of it by up to a tick, and a file that is written just
/// after would seem to be older.
fn now_ns() -> i64 {
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::RealtimeCoarse;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Realtime;
    let now = clock_gettime(CLOCK);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}
