//! The files at the start of a phase, and their differences now. Compares contents if it can, so that a touched file is not a
//! change and an edit that keeps size and time is one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use baton_core::Digest;
use baton_core::facts::{ChangedFile, GitFacts, WorkspaceFacts, WrittenFile};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::Workspace;
use crate::file_listing::{FileListing, FileStat, HashBudget, MAX_FILES, shown};
use crate::named_files::NamedFiles;

/// Changed files that are named; how many more there are is counted. A brief carries far fewer.
pub const MAX_CHANGED: usize = 500;

/// A file written less than this before the baseline may be written again within the same tick of the clock of a
/// coarse file system: its times prove nothing.
const RACY_NS: i64 = 2_000_000_000;

/// Earlier contents of a file that a baseline keeps: rounds of a loop that change the same file are rarely more.
const MAX_EARLIER: usize = 16;

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
    /// When the folder was made, in nanoseconds since the Unix epoch, if its file system says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_ns: Option<u64>,
    files: BTreeMap<String, BaselineFile>,
    /// The contents of files at earlier baselines of the same phase, if they differ by now: at most [`MAX_EARLIER`] each, the
    /// newest last.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    earlier: BTreeMap<String, Vec<Digest>>,
    /// Beyond the listed files there were some for which git does not report whether they differ.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_unseen: bool,
    /// The files that the next run reads or runs, as the first baseline of the phase found them.
    #[serde(default, skip_serializing_if = "NamedFiles::is_empty")]
    next_run_files: NamedFiles,
}

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BaselineFile {
    #[serde(flatten)]
    stat: FileStat,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
}

/// The current state of a file that the work had left differently, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentFile {
    /// By the name that facts carry.
    pub path: String,
    /// Whether it is there.
    pub exists: bool,
    /// Its content is known to differ. Otherwise it has the same size, and was too large to be hashed.
    pub differs: bool,
    /// Content address, if it is there and could be hashed.
    pub digest: Option<Digest>,
    /// When its content was last written, in nanoseconds since the epoch, by its file system: a tool that restores a file may
    /// set the time back. 0 if it is gone.
    pub modified_ns: i64,
    /// When it was last written or moved to its place, or, if it is gone, when the nearest folder above it was last changed, in
    /// nanoseconds since the epoch.
    pub touched_ns: Option<i64>,
    /// Where it is: facts may carry another name.
    pub(crate) place: PathBuf,
    pub(crate) bytes: u64,
}

impl CurrentFile {
    /// Whether it is as the work left it, as far as is known.
    pub fn is_as_left(&self, left: &ChangedFile) -> bool {
        let same_content = match (&left.digest, &self.digest) {
            (Some(left), Some(now)) => left == now,
            _ => left.bytes == self.bytes,
        };
        self.exists == left.exists && (!self.exists || same_content)
    }
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

    /// When it was taken, in nanoseconds since the epoch.
    pub fn taken_ns(&self) -> i64 {
        self.taken_ns
    }

    /// Whether a file had its current content at this baseline. False if that is not known.
    pub fn has(&self, now: &CurrentFile) -> bool {
        match self.files.get(&now.path) {
            Some(before) if now.exists => match (&before.digest, &now.digest) {
                (Some(before), Some(now)) => before == now,
                _ => (before.stat.bytes, before.stat.modified_ns) == (now.bytes, now.modified_ns),
            },
            Some(_) => false,
            None => !now.exists && !self.cut,
        }
    }

    /// The same of an earlier baseline of the same phase.
    pub fn had_earlier(&self, now: &CurrentFile) -> bool {
        let earlier = self.earlier.get(&now.path);
        earlier.zip(now.digest.as_ref()).is_some_and(|(earlier, now)| earlier.contains(now))
    }

    /// Whether the folder was created at another time than the one of the baseline. False if that is not known.
    pub fn is_of_other_folder(&self, workspace: &Workspace) -> bool {
        let now = FileListing::open_bare(&workspace.root).ok().and_then(|listing| listing.made_ns());
        self.made_ns.zip(now).is_some_and(|(then, now)| then != now)
    }

    /// The same, with the file states of an earlier baseline of the phase, which this one replaces.
    #[must_use]
    pub fn replacing(mut self, earlier: Self) -> Self {
        self.earlier = earlier.earlier;
        self.next_run_files = self.next_run_files.with_earlier(earlier.next_run_files);
        for (path, file) in earlier.files {
            let now = self.files.get(&path).and_then(|now| now.digest.as_ref());
            let Some(digest) = file.digest.filter(|digest| Some(digest) != now) else { continue };
            let known = self.earlier.entry(path).or_default();
            if known.contains(&digest) {
                continue;
            }
            known.push(digest);
            if known.len() > MAX_EARLIER {
                // The first one is how the run found it.
                known.remove(1);
            }
        }
        self
    }

    /// Remembers the files of a listing, the expected ones, and those that the next run reads or runs.
    pub(crate) fn take(listing: &FileListing, expected: &[String], next_run_files: &[String]) -> Self {
        let taken_ns = now_ns();
        let facts = listing.git.as_ref().map(|git| &git.facts);
        let mut budget = HashBudget::new();
        let files = watched(listing, expected)
            .into_iter()
            .filter_map(|(name, path)| {
                let stat = listing.stat(&path)?;
                let digest = listing.digest(&path, &mut budget);
                Some((name, BaselineFile { stat, digest }))
            })
            .collect();
        Self {
            head: facts.map(|facts| facts.head.clone()).unwrap_or_default(),
            branch: facts.map(|facts| facts.branch.clone()).unwrap_or_default(),
            by_git: listing.git.is_some(),
            cut: listing.cut,
            taken_ns,
            made_ns: listing.made_ns(),
            files,
            earlier: BTreeMap::new(),
            has_unseen: listing.has_unseen,
            next_run_files: NamedFiles::take(listing, next_run_files),
        }
    }

    /// The differences of a later listing; at most `named` files by name.
    pub(crate) fn compare(&self, listing: &FileListing, expected: &[String], named: usize) -> WorkspaceFacts {
        let mut paths = watched(listing, expected);
        for name in self.files.keys() {
            paths.entry(name.clone()).or_insert_with(|| PathBuf::from(name));
        }
        let mut budget = HashBudget::new();
        let mut changed = Vec::new();
        let mut changed_beyond = 0;
        for (name, path) in &paths {
            let Some(stat) = self.difference(listing, name, path, &mut budget) else {
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
                digest: stat.and_then(|_| listing.digest(path, &mut budget)),
                is_new: !self.files.contains_key(name),
            });
        }
        let mut missing: Vec<String> =
            expected.iter().filter(|path| !listing.has_file(path)).cloned().collect();
        missing.sort();
        missing.dedup();
        WorkspaceFacts {
            git: listing.git.as_ref().map_or_else(GitFacts::default, |git| git.facts.clone()),
            files: u32::try_from(listing.files.len()).unwrap_or(u32::MAX),
            changed,
            changed_beyond,
            missing,
            written: self.written(listing, expected),
            next_run_files: self.next_run_files.changed(listing),
            has_unseen: self.has_unseen || listing.has_unseen,
        }
    }

    /// Expected files that were written: work that finds a file as it should be may write it once more, or leave it so.
    fn written(&self, listing: &FileListing, expected: &[String]) -> Vec<WrittenFile> {
        let as_it_was = |path: &str, now: &FileStat| {
            let known = self.files.get(path).map(|known| (known.stat.modified_ns, known.stat.inode));
            known == Some((now.modified_ns, now.inode))
        };
        let expected: BTreeSet<&String> = expected.iter().collect();
        let there = expected.into_iter().filter_map(|path| Some((path, listing.stat(Path::new(path))?)));
        there
            .filter(|(path, now)| !as_it_was(path, now))
            .map(|(path, now)| WrittenFile { path: path.clone(), at_ns: now.modified_ns })
            .collect()
    }

    /// Whether a file differs: none if it does not, else its current state, which is absent if it is gone.
    fn difference(
        &self,
        listing: &FileListing,
        name: &str,
        path: &Path,
        budget: &mut HashBudget,
    ) -> Option<Option<FileStat>> {
        let now = listing.stat(path);
        match (self.files.get(name), now) {
            (None, None) => None,
            (None, Some(now)) => self.is_new(listing, path, &now).then_some(Some(now)),
            (Some(_), None) => Some(None),
            (Some(known), Some(now)) => {
                let settled = known.stat.changed_ns < self.taken_ns - RACY_NS;
                let same = if known.stat == now && (settled || known.digest.is_none()) {
                    true
                } else if known.stat.bytes != now.bytes {
                    false
                } else {
                    // Different times alone prove nothing if the contents can be compared.
                    match (&known.digest, listing.digest(path, budget)) {
                        (Some(before), Some(after)) => *before == after,
                        _ => known.stat == now,
                    }
                };
                (!same).then_some(Some(now))
            }
        }
    }

    /// Whether a file that the baseline does not list was created after it. Three kinds of lists do not show that: a truncated
    /// one, one that git made if git does not list now, and the reverse.
    fn is_new(&self, listing: &FileListing, path: &Path, now: &FileStat) -> bool {
        if self.cut {
            return match &listing.git {
                Some(git) => git.differing.iter().any(|differing| differing == path),
                None => now.changed_ns >= self.taken_ns,
            };
        }
        self.by_git == listing.git.is_some() || now.changed_ns >= self.taken_ns
    }
}

/// The files that differ from their descriptions, and those for which that is unknown.
pub(crate) fn differing(listing: &FileListing, left: Vec<ChangedFile>) -> Vec<CurrentFile> {
    let (paths, mut budget) = (watched(listing, &[]), HashBudget::new());
    let current = left.into_iter().filter_map(|left| {
        let path = path_of(&paths, &left);
        let stat = listing.stat(path);
        if stat.is_none() && !left.exists {
            return None;
        }
        let digest = stat.as_ref().and_then(|_| listing.digest(path, &mut budget));
        let contents = left.digest.as_ref().zip(digest.as_ref());
        let now = CurrentFile {
            exists: stat.is_some(),
            differs: true,
            digest: digest.clone(),
            touched_ns: listing.touched_ns(path),
            place: path.to_owned(),
            bytes: stat.as_ref().map_or(0, |stat| stat.bytes),
            modified_ns: stat.map_or(0, |stat| stat.modified_ns),
            path: left.path.clone(),
        };
        let differs = !now.is_as_left(&left);
        (differs || contents.is_none()).then_some(CurrentFile { differs, ..now })
    });
    current.collect()
}

/// The path of a file in facts: its name there may differ from its own.
fn path_of<'a>(paths: &'a BTreeMap<String, PathBuf>, file: &'a ChangedFile) -> &'a Path {
    paths.get(&file.path).map_or(Path::new(&file.path), PathBuf::as_path)
}

/// The files of a listing that are compared: the listed ones, for a truncated list those that git reports as different, and the
/// expected ones. By the name that facts carry.
fn watched(listing: &FileListing, expected: &[String]) -> BTreeMap<String, PathBuf> {
    let differing = listing.git.iter().flat_map(|git| &git.differing).take(MAX_FILES);
    listing
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
