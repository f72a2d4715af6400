//! A path by which a socket is reached, however deep its folder lies.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

/// Bytes of a socket's path that every system takes.
const PATH_BYTES: usize = 100;

/// A path of the socket that is short enough for the system, valid while this lives.
#[derive(Debug)]
pub(crate) struct ShortPath {
    path: PathBuf,
    _folder: Option<File>,
}

impl ShortPath {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The address of a socket has room for about a hundred bytes, and a state directory may be deeper than that; on Linux
/// an open folder has a short name.
pub(crate) fn short_path(path: &Path) -> io::Result<ShortPath> {
    if path.as_os_str().len() <= PATH_BYTES || !cfg!(target_os = "linux") {
        return Ok(ShortPath { path: path.to_owned(), _folder: None });
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = File::open(folder)?;
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    Ok(ShortPath { path: short, _folder: Some(folder) })
}
