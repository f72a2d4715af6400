//! Reads a file that an agent names. The agent's word is a path and nothing more: no link and no `..` leads out of the
//! workspace, and nothing is waited for.

use std::io::{self, Read as _};
use std::path::Path;

use cap_std::fs::{OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

use crate::error::WorkspaceError;
use crate::root::Root;

/// The whole file, where it has at most `max_bytes`.
pub(crate) fn read(root: &Root, path: &str, max_bytes: u64) -> Result<Vec<u8>, WorkspaceError> {
    // Agents like to name files by their whole path; one inside the workspace is meant as such.
    let relative = Path::new(path).strip_prefix(root.path()).unwrap_or(Path::new(path));
    let failed =
        |source| WorkspaceError::Read { root: root.path().to_owned(), path: path.to_owned(), source };
    let bytes = take(root, relative, max_bytes.saturating_add(1)).map_err(failed)?;
    if bytes.len() as u64 > max_bytes {
        return Err(WorkspaceError::TooLarge { path: path.to_owned(), max_bytes });
    }
    Ok(bytes)
}

fn take(root: &Root, relative: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let dir = root.dir()?;
    // A pipe would hold the host up until somebody writes to it.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = dir.open_with(relative, OpenOptions::new().read(true).custom_flags(nonblocking))?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut content = Vec::new();
    file.take(bytes).read_to_end(&mut content)?;
    Ok(content)
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
        let opened = Root::open(&root).unwrap();
        let read = |path: &str| read(&opened, path, 6).map_err(|error| error.to_string());

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
}
