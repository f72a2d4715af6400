//! The folder that agents work in, compared with the one that was opened. An agent may move it away and put a link, or another
//! folder, in its place: that one is neither read nor written.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _};

use crate::error::WorkspaceError;

/// Why the folder is not opened.
const REPLACED: &str = "another folder is in its place";

/// A folder by its path, and by which folder it is.
#[derive(Clone, Debug)]
pub(crate) struct WorkspaceRoot {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl WorkspaceRoot {
    /// Takes a folder by its canonical path.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let meta = Dir::open_ambient_dir(&path, ambient_authority())?.dir_metadata()?;
        Ok(Self { path, device: meta.dev(), inode: meta.ino() })
    }

    /// The canonical path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the folder; an error if it is gone or was replaced.
    pub(crate) fn dir(&self) -> io::Result<Dir> {
        let dir = Dir::open_ambient_dir(&self.path, ambient_authority())?;
        let meta = dir.dir_metadata()?;
        if (meta.dev(), meta.ino()) == (self.device, self.inode) {
            return Ok(dir);
        }
        Err(io::Error::other(REPLACED))
    }

    /// An error if it was replaced by another folder or a link. A missing folder is not an error.
    pub(crate) fn held(&self) -> Result<(), WorkspaceError> {
        match self.dir() {
            Err(error) if error.kind() == io::ErrorKind::Other => {
                Err(WorkspaceError::Replaced { path: self.path.clone() })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_the_folder_that_was_opened_is_opened_again() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().canonicalize().unwrap().join(name);
        fs::create_dir(at("work")).unwrap();
        fs::create_dir(at("victim")).unwrap();
        let root = WorkspaceRoot::open(&at("work")).unwrap();
        root.dir().unwrap();

        fs::rename(at("work"), at("away")).unwrap();
        assert_eq!(root.dir().unwrap_err().kind(), io::ErrorKind::NotFound);
        root.held().unwrap();
        symlink(at("victim"), at("work")).unwrap();
        assert!(root.held().unwrap_err().to_string().contains("was replaced"));
        fs::remove_file(at("work")).unwrap();
        fs::rename(at("victim"), at("work")).unwrap();
        assert!(root.dir().unwrap_err().to_string().contains(REPLACED));
        fs::remove_dir(at("work")).unwrap();
        fs::rename(at("away"), at("work")).unwrap();
        root.dir().unwrap();
    }
}
