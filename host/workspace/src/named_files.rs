//! Files and folders that are compared by their names: those that the next run reads or runs. No other file of the workspace, and no bound of
//! its listing, keeps a change of them from being seen.

use std::collections::BTreeMap;
use std::path::Path;

use baton_core::{Digest, DigestBuilder};
use serde::{Deserialize, Serialize};

use crate::file_listing::{FileListing, FileStat, HashBudget};

/// The state of each of these names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct NamedFiles(BTreeMap<String, NamedFileState>);

/// The state of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum NamedFileState {
    Absent,
    /// A file or a link.
    File {
        stat: FileStat,
        digest: Option<Digest>,
    },
    /// A folder, by the names and contents of all files below it.
    Folder(Digest),
    /// A folder with too many files.
    Unknown,
}

impl NamedFiles {
    /// Examines these paths, relative to the workspace.
    pub(crate) fn take<'n>(listing: &FileListing, names: impl IntoIterator<Item = &'n String>) -> Self {
        let mut budget = HashBudget::new();
        let state = |name: &String| (name.clone(), NamedFileState::of(listing, Path::new(name), &mut budget));
        Self(names.into_iter().map(state).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same, with the earlier state of the names that were examined before.
    pub(crate) fn with_earlier(mut self, earlier: Self) -> Self {
        self.0.extend(earlier.0);
        self
    }

    /// The names that differ in a later listing, or for which that is unknown.
    pub(crate) fn changed(&self, listing: &FileListing) -> Vec<String> {
        let now = Self::take(listing, self.0.keys());
        let both = self.0.iter().zip(now.0.values());
        both.filter(|((_, before), now)| before.may_differ(now)).map(|((name, _), _)| name.clone()).collect()
    }
}

impl NamedFileState {
    fn of(listing: &FileListing, path: &Path, budget: &mut HashBudget) -> Self {
        if let Some(stat) = listing.stat(path) {
            return Self::File { digest: listing.digest(path, budget), stat };
        }
        if !listing.is_folder(path) {
            return Self::Absent;
        }
        let Some(files) = listing.files_below(path) else { return Self::Unknown };
        let mut all = DigestBuilder::default();
        for file in files {
            let Some(stat) = listing.stat(&file) else { continue };
            let content = match listing.digest(&file, budget) {
                Some(digest) => digest.to_string(),
                None => format!("{stat:?}"),
            };
            all.update(format!("{file:?} {content}\n").as_bytes());
        }
        Self::Folder(all.finish())
    }

    fn may_differ(&self, now: &Self) -> bool {
        match (self, now) {
            (Self::File { digest: Some(before), .. }, Self::File { digest: Some(now), .. }) => before != now,
            (Self::Unknown, _) => true,
            _ => self != now,
        }
    }
}
