//! Packs of a repository that it shares with another one: `git clone` of a folder makes hard links of them. Git replaces packs and never
//! changes one, so they can stay as they are.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Where git keeps them, in the folder of the repository.
const PACKS: &str = "objects/pack";
/// Each is a mount of its own. What comes after that many is not held.
const FILES_MAX: usize = 64;

/// The files of packs with names elsewhere, in the order of their names: from the root below which this is the folder of the repository.
pub(super) fn shared_packs(root: &Path, repository: &Path) -> Vec<PathBuf> {
    let packs = repository.join(PACKS);
    let entries = fs::read_dir(root.join(&packs)).into_iter().flatten().flatten();
    let is_shared = |about: &fs::Metadata| about.is_file() && about.nlink() > 1;
    let shared = entries.filter(|entry| entry.metadata().as_ref().is_ok_and(is_shared));
    let mut paths: Vec<PathBuf> = shared.map(|entry| packs.join(entry.file_name())).collect();
    paths.sort();
    paths.truncate(FILES_MAX);
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_with_names_in_another_repository_are_held() {
        // N6: an agent changed the history of the repository that its own was cloned from.
        let place = tempfile::tempdir().unwrap();
        let (own, other) = (place.path().join("own"), place.path().join("other"));
        for repository in [&own, &other] {
            fs::create_dir_all(repository.join(".git").join(PACKS)).unwrap();
        }
        for name in ["pack-1.idx", "pack-1.pack"] {
            fs::write(other.join(".git").join(PACKS).join(name), "").unwrap();
            fs::hard_link(other.join(".git").join(PACKS).join(name), own.join(".git").join(PACKS).join(name))
                .unwrap();
        }
        fs::write(own.join(".git").join(PACKS).join("pack-2.pack"), "").unwrap();
        let expected = ["pack-1.idx", "pack-1.pack"].map(|name| Path::new(".git").join(PACKS).join(name));
        assert_eq!(shared_packs(&own, Path::new(".git")), expected);
        assert_eq!(shared_packs(place.path(), Path::new(".git")), [] as [PathBuf; 0]);
    }
}
