//! Regular files below some places, without following links, up to a number of entries.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// Examines a file of this path: false ends the walk.
pub(crate) type FileLook<'a> = dyn FnMut(&dyn Fn() -> PathBuf, &Metadata) -> bool + 'a;

/// The outermost of some places, in order: the content below each is examined once.
pub(crate) fn outermost(places: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let all: BTreeSet<PathBuf> = places.into_iter().collect();
    let lies_in_one = |place: &PathBuf| place.ancestors().skip(1).any(|above| all.contains(above));
    all.iter().filter(|place| !lies_in_one(place)).cloned().collect()
}

/// How far a walk came.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileWalk {
    /// There are more entries than the limit.
    pub(crate) is_cut: bool,
    /// A folder that could not be read.
    pub(crate) unread: Option<PathBuf>,
}

impl FileWalk {
    /// Examines files and the content of folders, in this order. Folders that `passes_over` names are skipped.
    pub(crate) fn over(
        places: impl IntoIterator<Item = PathBuf>,
        entries_max: u64,
        passes_over: &dyn Fn(&Path) -> bool,
        look: &mut FileLook<'_>,
    ) -> Self {
        let mut walk = Self::default();
        let mut left = VecDeque::new();
        for place in places {
            match place.symlink_metadata() {
                Ok(about) if about.is_dir() => left.push_back(place),
                Ok(about) if about.is_file() && !look(&|| place.clone(), &about) => return walk,
                Ok(_) | Err(_) => {}
            }
        }
        let mut entries = 0;
        while let Some(folder) = left.pop_front() {
            let Ok(found) = fs::read_dir(&folder) else {
                // A folder that has disappeared has no content.
                walk.unread = walk.unread.or_else(|| Some(folder).filter(|folder| folder.exists()));
                continue;
            };
            for entry in found.flatten() {
                if entries == entries_max {
                    walk.is_cut = true;
                    return walk;
                }
                entries += 1;
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => {
                        let path = entry.path();
                        left.extend((!passes_over(&path)).then_some(path));
                    }
                    Ok(kind) if kind.is_file() => {
                        let about = entry.metadata().ok().filter(Metadata::is_file);
                        if about.is_some_and(|about| !look(&|| entry.path(), &about)) {
                            return walk;
                        }
                    }
                    Ok(_) | Err(_) => {}
                }
            }
        }
        walk
    }
}
