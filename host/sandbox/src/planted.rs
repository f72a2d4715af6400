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

/// End of the name of the record, beside the boundary's folder.
const RECORD: &str = ".not-there.json";
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
    /// What was a link, and where it led.
    links: Vec<(PathBuf, PathBuf)>,
}

impl Planted {
    /// Looks which of these paths, relative to the tree, are not there.
    pub(crate) fn watch(tree: &Path, paths: Vec<PathBuf>) -> Self {
        let mut planted = Self { tree: tree.to_owned(), ..Self::default() };
        for path in paths {
            match fs::read_link(tree.join(&path)) {
                Ok(to) => planted.links.push((path, to)),
                Err(_) if fs::symlink_metadata(tree.join(&path)).is_err() => planted.absent.push(path),
                Err(_) => {}
            }
        }
        planted
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

    /// Renames what has appeared, without following a link that somebody has put in its way, and puts a link back that leads
    /// elsewhere now.
    #[cfg(target_os = "linux")]
    pub(crate) fn sweep(&self) -> Vec<Refusal> {
        use std::os::fd::AsFd as _;

        use rustix::fs::{readlinkat, symlinkat};

        use crate::laid::{beneath, folder};

        let Ok(tree) = folder(&self.tree) else { return Vec::new() };
        let place = |path: &Path| {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let above = beneath(tree.as_fd(), above).ok().flatten()?;
            Some((above, path.file_name()?.to_owned()))
        };
        let mut swept = Vec::new();
        for path in &self.absent {
            let Some((above, name)) = place(path) else { continue };
            if let Some(new) = take_away(above.as_fd(), &name) {
                swept.push(told(&self.tree.join(path), &format!("it is called {} now", new.display())));
            }
        }
        for (path, to) in &self.links {
            let Some((above, name)) = place(path) else { continue };
            let is_as_it_was = readlinkat(&above, &name, Vec::new())
                .is_ok_and(|found| found.as_bytes() == to.as_os_str().as_encoded_bytes());
            if !is_as_it_was {
                take_away(above.as_fd(), &name);
                // Somebody who is still there may have been faster; then it is told all the same.
                let _ = symlinkat(to, &above, &name);
                swept.push(told(&self.tree.join(path), &format!("it leads to {} again", to.display())));
            }
        }
        swept
    }
}

#[cfg(target_os = "linux")]
fn told(path: &Path, what: &str) -> Refusal {
    let target = format!("{} ({what})", path.display());
    Refusal { kind: baton_core::facts::RefusalKind::Write, target }
}

/// Renames what has this name in a folder. Gives its new name; None where there is no such thing.
#[cfg(target_os = "linux")]
fn take_away(above: std::os::fd::BorrowedFd<'_>, name: &std::ffi::OsStr) -> Option<std::ffi::OsString> {
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;

    for number in 0..NAMES_MAX {
        let mut new = name.to_owned();
        new.push(SUFFIX);
        if number > 0 {
            new.push(format!("-{number}"));
        }
        match renameat_with(above, name, above, &new, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            renamed => return renamed.ok().map(|()| new),
        }
    }
    None
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
    let mut name = boundary.file_name()?.to_owned();
    name.push(RECORD);
    Some(boundary.with_file_name(name))
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

    #[test]
    fn a_link_that_is_exchanged_leads_where_it_led() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().canonicalize().unwrap();
        fs::create_dir(tree.join("tools")).unwrap();
        for name in [".claude", ".codex", ".gemini"] {
            std::os::unix::fs::symlink("tools", tree.join(name)).unwrap();
        }
        let planted = Planted::watch(&tree, [".claude", ".codex", ".gemini"].map(PathBuf::from).to_vec());
        fs::remove_file(tree.join(".claude")).unwrap();
        fs::create_dir(tree.join(".claude")).unwrap();
        fs::remove_file(tree.join(".codex")).unwrap();
        assert_eq!(planted.sweep().len(), 2);
        for name in [".claude", ".codex", ".gemini"] {
            assert_eq!(fs::read_link(tree.join(name)).unwrap(), Path::new("tools"), "{name}");
        }
        assert!(tree.join(".claude.from-sandbox").is_dir());
        assert_eq!(planted.sweep(), []);
    }
}
