//! What appears in a tree that others run, or are changed by: a settings file of an agent, a hook, a repository where there was
//! none. Where such a thing is there it is mounted read-only; one that is not there cannot be. It is taken away when the
//! session is over: renamed, so that nothing is lost and nothing is run.
//!
//! What was not there is written down beside the boundary's folder, where nobody inside comes, so that a session that died
//! with its host is swept by the next one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use baton_core::facts::Refusal;
use serde::{Deserialize, Serialize};

/// Name of the record, in the folder above the boundary's.
const RECORD: &str = "not-there.json";
/// What stands behind a name that was taken away.
#[cfg(target_os = "linux")]
const SUFFIX: &str = ".from-sandbox";
/// Names that are tried, where the first are taken.
#[cfg(target_os = "linux")]
const NAMES_MAX: u32 = 1000;

/// What was not there when a boundary was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Planted {
    tree: PathBuf,
    absent: Vec<PathBuf>,
}

impl Planted {
    /// Looks which of these paths, relative to the tree, are not there.
    pub(crate) fn watch(tree: &Path, paths: Vec<PathBuf>) -> Self {
        let is_absent = |path: &PathBuf| fs::symlink_metadata(tree.join(path)).is_err();
        Self { tree: tree.to_owned(), absent: paths.into_iter().filter(is_absent).collect() }
    }

    /// Writes it down beside a boundary's folder.
    pub(crate) fn note(&self, boundary: &Path) -> io::Result<()> {
        let Some(record) = record(boundary) else { return Ok(()) };
        fs::write(record, serde_json::to_vec(self)?)
    }

    /// Removes what was written down.
    pub(crate) fn forget(&self, boundary: &Path) {
        if let Some(record) = record(boundary) {
            // Nothing is wrong where it is gone.
            let _ = fs::remove_file(record);
        }
    }

    /// Nobody is confined elsewhere.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn sweep(&self) -> Vec<Refusal> {
        Vec::new()
    }

    /// Renames what has appeared, without following a link that somebody has put in its way.
    #[cfg(target_os = "linux")]
    pub(crate) fn sweep(&self) -> Vec<Refusal> {
        use std::os::fd::AsFd as _;

        use baton_core::facts::RefusalKind;
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;

        use crate::laid::{beneath, folder};

        let Ok(tree) = folder(&self.tree) else { return Vec::new() };
        let mut swept = Vec::new();
        for path in &self.absent {
            let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            let Ok(Some(above)) = beneath(tree.as_fd(), above) else { continue };
            for number in 0..NAMES_MAX {
                let mut new = name.to_owned();
                new.push(SUFFIX);
                if number > 0 {
                    new.push(format!("-{number}"));
                }
                match renameat_with(&above, name, &above, &new, RenameFlags::NOREPLACE) {
                    Err(Errno::EXIST) => {}
                    Ok(()) => {
                        let path = self.tree.join(path);
                        let target = format!("{} (it is called {} now)", path.display(), new.display());
                        swept.push(Refusal { kind: RefusalKind::Write, target });
                        break;
                    }
                    Err(_) => break,
                }
            }
        }
        swept
    }
}

/// Sweeps what a boundary left behind whose host died, and removes it. Gives what was taken away.
pub fn clear(boundary: &Path) -> Vec<Refusal> {
    let record = record(boundary).and_then(|record| fs::read(record).ok());
    let planted =
        record.and_then(|record| serde_json::from_slice::<Planted>(&record).ok()).unwrap_or_default();
    let swept = planted.sweep();
    planted.forget(boundary);
    let _ = fs::remove_dir_all(boundary);
    swept
}

fn record(boundary: &Path) -> Option<PathBuf> {
    Some(boundary.parent()?.join(RECORD))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_appears_is_renamed_and_what_was_there_stays() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (tree, boundary) = (root.join("tree"), root.join("session/inside"));
        fs::create_dir_all(&boundary).unwrap();
        fs::create_dir_all(tree.join(".claude")).unwrap();
        fs::write(tree.join(".mcp.json"), "mine").unwrap();
        let paths =
            [".mcp.json", ".claude/settings.json", "baton.toml", ".codex/config.toml"].map(PathBuf::from);
        let planted = Planted::watch(&tree, paths.to_vec());
        planted.note(&boundary).unwrap();
        assert_eq!(planted.sweep(), []);
        fs::write(tree.join(".claude/settings.json"), "1").unwrap();
        fs::write(tree.join(".claude/settings.json.from-sandbox"), "0").unwrap();
        fs::write(tree.join("baton.toml"), "2").unwrap();
        // A link in the way leads nowhere.
        fs::create_dir(root.join("outside")).unwrap();
        fs::write(root.join("outside/config.toml"), "theirs").unwrap();
        std::os::unix::fs::symlink(root.join("outside"), tree.join(".codex")).unwrap();
        // As the next host does it, where the first has died.
        let swept: Vec<_> = clear(&boundary).into_iter().map(|refusal| refusal.target).collect();
        assert_eq!(swept.len(), 2, "{swept:?}");
        assert!(
            swept[0].ends_with("settings.json (it is called settings.json.from-sandbox-1 now)"),
            "{swept:?}"
        );
        assert_eq!(fs::read_to_string(tree.join("baton.toml.from-sandbox")).unwrap(), "2");
        assert_eq!(fs::read_to_string(tree.join(".mcp.json")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(root.join("outside/config.toml")).unwrap(), "theirs");
        assert!(!boundary.exists() && clear(&boundary).is_empty());
    }
}
