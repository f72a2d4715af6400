//! The files of a session folder, private to the user: the agent's guard, its exit and its output.

use std::borrow::Cow;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

/// Name of the [`SupervisorFile`].
const SUPERVISOR_FILE_NAME: &str = "guard.json";

/// Name of the [`ExitFile`].
const EXIT: &str = "exit.json";

/// A log of an agent's output or input is cut off at this size: it helps the user to find out what happened, and must not fill
/// the disk.
pub(crate) const LOG_BYTES: u64 = 64 * 1024 * 1024;

/// The text of a regular file that another process wrote, of at most `max_bytes` bytes; none if it is not a regular file, or
/// larger.
pub(crate) fn text_of(file: &Path, max_bytes: u64) -> Option<String> {
    let mut text = String::new();
    let file = open_plain(file).ok()?;
    let is_fit = file.metadata().is_ok_and(|found| found.len() <= max_bytes);
    is_fit.then_some(file)?.take(max_bytes).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Opens a file that an agent may have put there, and waits for no pipe; an error if it is something else than a regular file.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Who guards the agent. Written by the guard before it starts the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SupervisorFile {
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

impl SupervisorFile {
    pub(crate) fn read(session_dir: &Path) -> Option<Self> {
        read(&session_dir.join(SUPERVISOR_FILE_NAME))
    }

    pub(crate) fn write(&self, session_dir: &Path) -> io::Result<()> {
        write(session_dir, SUPERVISOR_FILE_NAME, self)
    }

    pub(crate) fn remove(session_dir: &Path) -> io::Result<()> {
        remove(&session_dir.join(SUPERVISOR_FILE_NAME))
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

/// Makes a folder for this user alone, with its missing parents.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Takes the secrets out of a line, or of some lines of plain text, before they reach the disk. What was JSON stays it.
pub type SecretMask = for<'a> fn(&'a str) -> Cow<'a, str>;

/// A line that is longer is masked and written in pieces of this size.
const LINE_BYTES: usize = 4 * 1024 * 1024;

/// A block of a PEM file is held back until it is complete, since a private key is recognised only as a whole; at most this
/// many bytes. Certificate bundles are larger, and are written as they come.
const BLOCK_BYTES: usize = 64 * 1024;

/// A log of bounded size, without secrets. A full disk costs the log, never the session.
#[derive(Debug)]
pub(crate) struct SessionLog {
    /// None once the log is full.
    file: Option<File>,
    bytes_left: u64,
    mask: SecretMask,
    /// What is not written yet: the beginning of a line, or of a block.
    unwritten: Vec<u8>,
}

impl SessionLog {
    /// Creates an empty log.
    pub(crate) fn create(folder: &Path, name: &str, mask: SecretMask) -> Self {
        Self { file: private(&folder.join(name)).ok(), bytes_left: LOG_BYTES, mask, unwritten: Vec::new() }
    }

    /// Appends, if there is room. The write goes to the page cache without a sync; a line is written when it is whole.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if self.file.is_none() {
            return;
        }
        self.unwritten.extend_from_slice(bytes);
        let lines = self.unwritten.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let block = open_block(&self.unwritten[..lines]);
        let ready = match block {
            Some(start) if self.unwritten.len() - start < BLOCK_BYTES => start,
            _ if self.unwritten.len() - lines >= LINE_BYTES => self.unwritten.len(),
            _ => lines,
        };
        self.put(ready);
    }

    /// Masks and writes the first of the held-back bytes.
    fn put(&mut self, bytes: usize) {
        let ready: Vec<u8> = self.unwritten.drain(..bytes).collect();
        let Some(file) = &mut self.file else { return };
        let text = String::from_utf8_lossy(&ready);
        let mut masked = String::with_capacity(text.len());
        let mut plain = 0..0;
        for line in text.split_inclusive('\n') {
            let line_end = plain.end + line.len();
            // JSON is masked by the line and stays whole; lines of a terminal belong together.
            if line.trim_start().starts_with(['{', '[']) {
                masked.push_str(&(self.mask)(&text[plain.clone()]));
                let ending = if line.ends_with('\n') { "\n" } else { "" };
                masked.push_str(&(self.mask)(line.strip_suffix('\n').unwrap_or(line)));
                masked.push_str(ending);
                plain = line_end..line_end;
            } else {
                plain.end = line_end;
            }
        }
        masked.push_str(&(self.mask)(&text[plain]));
        let fits = masked.len().min(usize::try_from(self.bytes_left).unwrap_or(usize::MAX));
        self.bytes_left -= fits as u64;
        if file.write_all(&masked.as_bytes()[..fits]).is_err() || self.bytes_left == 0 {
            self.file = None;
            self.unwritten = Vec::new();
        }
    }
}

impl Drop for SessionLog {
    /// The last line may have no end.
    fn drop(&mut self) {
        self.put(self.unwritten.len());
    }
}

/// The beginning of a PEM block that has not ended yet. A block within a line of JSON is complete with its line.
fn open_block(lines: &[u8]) -> Option<usize> {
    let mut open = None;
    let mut at = 0;
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        let begins = |mark: &str| line.windows(mark.len()).any(|part| part == mark.as_bytes());
        if open.is_none() && !line.starts_with(b"{") && begins("-----BEGIN ") {
            open = Some(at);
        }
        if open.is_some() && begins("-----END ") {
            open = None;
        }
        at += line.len();
    }
    open
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
        assert_eq!(SupervisorFile::read(&inner), None);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&inner), mode(&inner.join(EXIT))), (0o700, 0o600));
    }

    /// Stands for the host's scanner: hides a word, wherever a line or a block of lines has it.
    fn hides(text: &str) -> Cow<'_, str> {
        match text.contains("BEGIN KEY") && text.contains("END KEY") {
            true => Cow::Borrowed("[key]\n"),
            false => Cow::Owned(text.replace("hunter2", "[secret]")),
        }
    }

    fn logged(pieces: &[&[u8]]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let mut log = SessionLog::create(folder.path(), "log", hides);
        pieces.iter().for_each(|piece| log.write(piece));
        drop(log);
        let path = folder.path().join("log");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_log_is_masked_by_whole_lines() {
        assert_eq!(logged(&[b"a hunt", b"er2 b\nnext hu", b"nter2"]), "a [secret] b\nnext [secret]");
        assert_eq!(logged(&[b"{\"a\":\"hunter2\"}\nx\n{}\n"]), "{\"a\":\"[secret]\"}\nx\n{}\n");
        assert_eq!(logged(&[b"\xff hunter2\n"]), "\u{fffd} [secret]\n");
    }

    #[test]
    fn a_block_is_masked_when_its_end_is_there() {
        let pieces: [&[u8]; 4] =
            [b"before\n-----BEGIN KEY-----\n", b"abc\n", b"-----END KEY-----\n", b"after\n"];
        assert_eq!(logged(&pieces), "before\n[key]\nafter\n");
        let endless = ["-----BEGIN X-----\n", &"line\n".repeat(BLOCK_BYTES / 5)].concat();
        assert_eq!(logged(&[endless.as_bytes(), b"z\n"]), endless + "z\n");
    }
}
