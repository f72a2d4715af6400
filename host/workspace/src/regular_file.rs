//! Opens files that others may have put there. A pipe would hold the host up until another process writes to it, and a device may have no
//! end: neither is opened for reading, and nothing is waited for.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file for reading, through links.
///
/// # Errors
/// Those of the system; an error of the kind [`io::ErrorKind::InvalidInput`] if it is not a regular file.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Reads a regular file whole, if it has at most `max_bytes`.
///
/// # Errors
/// As for [`open_plain`]; an error of the kind [`io::ErrorKind::FileTooLarge`].
pub fn read_plain(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > max_bytes {
        true => {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {max_bytes} bytes")))
        }
        false => Ok(bytes),
    }
}

/// The lines of a regular file that has at most `max_bytes`; none if there is no file.
///
/// # Errors
/// As for [`read_plain`].
pub(crate) fn read_lines(path: &Path, max_bytes: u64) -> io::Result<Vec<String>> {
    match read_plain(path, max_bytes) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_is_read_and_a_pipe_is_not_waited_for() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::write(at("file"), "four").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for name in ["file", "link"] {
            assert_eq!(read_plain(&at(name), 4).unwrap(), b"four");
        }
        assert_eq!(read_plain(&at("file"), 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_plain(&at("absent"), 3).unwrap_err().kind(), io::ErrorKind::NotFound);
        for other in ["pipe", "socket", "."] {
            assert!(read_plain(&at(other), 4).is_err(), "{other}");
        }
        assert!(
            read_plain(Path::new("/dev/zero"), 4).unwrap_err().to_string().contains("not a regular file")
        );
    }
}
