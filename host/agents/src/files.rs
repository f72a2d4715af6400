//! The files of a session folder, private to the user: who guards the agent, how it ended, what it printed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Name of the [`GuardFile`].
const GUARD: &str = "guard.json";

/// Name of the [`ExitFile`].
const EXIT: &str = "exit.json";

/// A log of what an agent printed or was told is cut off at this size: it helps a person to find out what happened, and
/// must not fill the disk.
const LOG_BYTES: u64 = 64 * 1024 * 1024;

/// Who guards the agent. Written by the guard before it starts the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GuardFile {
    /// The guard; its id is the id of the group.
    pub(crate) group: u32,
    /// Its start time in clock ticks since boot.
    pub(crate) started: u64,
    /// The session (of the operating system) that it belongs to.
    pub(crate) session: u32,
    /// The boot in which these numbers mean something.
    pub(crate) boot: String,
}

/// How the agent ended. Written by the guard when nothing is left of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExitFile {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    /// Why it could not be started.
    pub(crate) error: Option<String>,
}

impl GuardFile {
    pub(crate) fn read(session_dir: &Path) -> Option<Self> {
        read(&session_dir.join(GUARD))
    }

    pub(crate) fn write(&self, session_dir: &Path) -> io::Result<()> {
        write(session_dir, GUARD, self)
    }

    pub(crate) fn remove(session_dir: &Path) -> io::Result<()> {
        remove(&session_dir.join(GUARD))
    }
}

impl ExitFile {
    pub(crate) fn read(session_dir: &Path) -> Option<Self> {
        read(&session_dir.join(EXIT))
    }

    pub(crate) fn write(&self, session_dir: &Path) -> io::Result<()> {
        write(session_dir, EXIT, self)
    }

    pub(crate) fn remove(session_dir: &Path) -> io::Result<()> {
        remove(&session_dir.join(EXIT))
    }
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whole or not at all: a reader never sees a half.
fn write(folder: &Path, name: &str, content: &impl Serialize) -> io::Result<()> {
    let temporary = folder.join(format!(".{name}.new"));
    private(&temporary)?.write_all(&serde_json::to_vec(content)?)?;
    fs::rename(&temporary, folder.join(name))
}

/// Makes a folder for this user alone, with what is missing above it.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// A log of bounded size. A full disk costs the log, never the session.
#[derive(Debug)]
pub(crate) struct Log(Option<(File, u64)>);

impl Log {
    /// Begins anew.
    pub(crate) fn create(folder: &Path, name: &str) -> Self {
        Self(private(&folder.join(name)).ok().map(|file| (file, LOG_BYTES)))
    }

    /// Appends, where there is room. The write goes to the page cache and is not waited for.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if let Some((file, room)) = &mut self.0 {
            let fits = bytes.len().min(usize::try_from(*room).unwrap_or(usize::MAX));
            *room -= fits as u64;
            if file.write_all(&bytes[..fits]).is_err() || *room == 0 {
                self.0 = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn files_are_private_and_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("sessions/s1");
        private_folder(&inner).unwrap();
        let exit = ExitFile { code: Some(3), ..ExitFile::default() };
        exit.write(&inner).unwrap();
        assert_eq!(ExitFile::read(&inner), Some(exit));
        assert_eq!(GuardFile::read(&inner), None);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&inner), mode(&inner.join(EXIT))), (0o700, 0o600));
    }
}
