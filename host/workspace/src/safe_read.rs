//! Reads a file that an agent names. The agent's word is a path and nothing more: no link and no `..` leads out of the
//! workspace, and nothing is waited for.

use std::io::{self, Read as _};
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use baton_sandbox::has_name_in;
use cap_std::fs::{File, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

use crate::error::WorkspaceError;
use crate::root::WorkspaceRoot;

/// The whole file, if it has at most `max_bytes` and is not in one of the `hidden` places, absolute or from the workspace.
pub(crate) fn read(
    root: &WorkspaceRoot,
    path: &str,
    max_bytes: u64,
    hidden: &[PathBuf],
) -> Result<Vec<u8>, WorkspaceError> {
    // Agents often name files by their absolute path; one inside the workspace is accepted.
    let relative = Path::new(path).strip_prefix(root.path()).unwrap_or(Path::new(path));
    let failed =
        |source| WorkspaceError::Read { root: root.path().to_owned(), path: path.to_owned(), source };
    let file = open(root, relative).map_err(failed)?;
    if !hidden.is_empty()
        && (is_hidden(root, &real_path(&file, root, relative).map_err(failed)?, hidden)
            || has_hidden_name(root, &file, hidden).map_err(failed)?)
    {
        return Err(WorkspaceError::Hidden { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > max_bytes {
        return Err(WorkspaceError::TooLarge { path: path.to_owned(), max_bytes });
    }
    Ok(bytes)
}

fn open(root: &WorkspaceRoot, relative: &Path) -> io::Result<File> {
    let dir = root.dir()?;
    // A pipe would block the host until a process writes to it.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = dir.open_with(relative, OpenOptions::new().read(true).custom_flags(nonblocking))?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok(file)
}

/// The path of the opened file, after all links, even if its path was replaced since.
#[cfg(target_os = "linux")]
fn real_path(file: &File, _: &WorkspaceRoot, _: &Path) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

/// No agent is confined on other systems.
#[cfg(not(target_os = "linux"))]
fn real_path(_: &File, root: &WorkspaceRoot, relative: &Path) -> io::Result<PathBuf> {
    root.path().join(relative).canonicalize()
}

fn is_hidden(root: &WorkspaceRoot, real: &Path, hidden: &[PathBuf]) -> bool {
    hidden.iter().any(|hidden| {
        let hidden = root.path().join(hidden);
        real.starts_with(hidden.canonicalize().unwrap_or(hidden))
    })
}

/// Whether the file that was opened is a hidden one by another name (a hard link).
fn has_hidden_name(root: &WorkspaceRoot, file: &File, hidden: &[PathBuf]) -> io::Result<bool> {
    let about = file.try_clone()?.into_std().metadata()?;
    let places = || -> Vec<PathBuf> {
        let places = hidden.iter().map(|hidden| root.path().join(hidden));
        places.map(|place| place.canonicalize().unwrap_or(place)).collect()
    };
    Ok(about.nlink() > 1 && has_name_in(&places(), &about))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_read_by_either_path_and_nothing_outside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("work");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(root.join("sub/a.txt"), "inside").unwrap();
        fs::write(root.join("../secret.txt"), "outside").unwrap();
        symlink("../secret.txt", root.join("out.txt")).unwrap();
        symlink("sub/a.txt", root.join("in.txt")).unwrap();
        let opened = WorkspaceRoot::open(&root).unwrap();
        let read = |path: &str| read(&opened, path, 6, &[]).map_err(|error| error.to_string());

        assert_eq!(read("sub/a.txt").unwrap(), b"inside");
        assert_eq!(read("in.txt").unwrap(), b"inside");
        assert_eq!(read(root.join("sub/a.txt").to_str().unwrap()).unwrap(), b"inside");
        for outside in ["../secret.txt", "out.txt", "/etc/hostname", "sub/../../secret.txt"] {
            assert!(read(outside).unwrap_err().contains("inside the workspace"), "{outside}");
        }
        assert!(read("sub").unwrap_err().contains("not a regular file"));
        fs::write(root.join("sub/a.txt"), "too long").unwrap();
        assert!(read("sub/a.txt").unwrap_err().contains("more than 6 bytes"));
    }

    #[test]
    fn what_is_hidden_is_not_read_by_whatever_path() {
        // N6
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("secrets/deep")).unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        for name in ["secrets/deep/a.txt", "env", "sub/free.txt", "secrets.txt"] {
            fs::write(root.join(name), name).unwrap();
        }
        symlink("../secrets", root.join("sub/in")).unwrap();
        symlink("secrets/deep/a.txt", root.join("link.txt")).unwrap();
        symlink("env", root.join(".env")).unwrap();
        for (from, to) in [
            ("env", "sub/by-name"),
            ("secrets/deep/a.txt", "sub/deep-by-name"),
            ("sub/free.txt", "sub/other"),
        ] {
            fs::hard_link(root.join(from), root.join(to)).unwrap();
        }
        let opened = WorkspaceRoot::open(&root).unwrap();
        let hidden = [root.join("secrets"), PathBuf::from(".env"), PathBuf::from("absent")];
        let read = |path: &str| read(&opened, path, 99, &hidden).map_err(|error| error.to_string());
        let whole = root.join("secrets/deep/a.txt");
        for path in [
            "secrets/deep/a.txt",
            "sub/in/deep/a.txt",
            "link.txt",
            "sub/../secrets/./deep/a.txt",
            ".env",
            "env",
            "sub/by-name",
            "sub/deep-by-name",
        ] {
            let error = read(path).unwrap_err();
            assert!(error.contains("`hide`"), "{path}: {error}");
        }
        assert!(read(whole.to_str().unwrap()).unwrap_err().contains("`hide`"));
        assert_eq!(read("sub/free.txt").unwrap(), b"sub/free.txt");
        assert_eq!(read("secrets.txt").unwrap(), b"secrets.txt");
    }
}
