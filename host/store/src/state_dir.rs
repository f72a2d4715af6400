//! The folder outside the workspace that holds everything that must survive, and the lock that lets one host at a time work
//! there. It is not inside the workspace: an agent may run `git clean -fdx` there.

use std::fs::{DirBuilder, DirEntry, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use baton_core::{Digest, UnixMs};
use rusqlite::Connection;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::error::StoreError;

/// Hex digits of the workspace's digest in the folder's name: 64 bits are plenty for the workspaces of one user,
/// and leave room for the control socket, whose whole path may have 107 bytes.
const KEY_DIGITS: usize = 16;

/// How long to wait for a lock whose holder has ended.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// How often it is tried.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The state of one workspace. Cheap to clone; holds no file open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    root: PathBuf,
    path: PathBuf,
    workspace: PathBuf,
}

/// The states below a state root.
#[derive(Debug, Default)]
pub struct FoundStates {
    /// By the path of the folder.
    pub states: Vec<StateDir>,
    /// Folders that cannot be read or trusted, and why.
    pub unreadable: Vec<(PathBuf, StoreError)>,
}

impl StateDir {
    /// Opens the state of `workspace` under `state_root`, and creates missing folders (0700).
    ///
    /// Fails if the workspace does not exist, or if another user owns or may write the root or the folder.
    pub fn open(state_root: &Path, workspace: &Path) -> Result<Self, StoreError> {
        let this = Self::locate(state_root, workspace)?;
        for folder in
            [this.root.clone(), this.path.clone(), this.artifacts(), this.sessions(), this.aot_cache()]
        {
            make_private(&folder)?;
        }
        let path_of_workspace = [this.workspace.as_os_str().as_bytes(), b"\n"].concat();
        write_note(&this.path.join("workspace"), &path_of_workspace)?;
        // The state may be kept within a repository; transcripts must not be committed.
        write_note(&this.root.join(".gitignore"), b"*\n")?;
        Ok(this)
    }

    /// The same without creating anything: none if no host has worked in this workspace yet.
    pub fn find(state_root: &Path, workspace: &Path) -> Result<Option<Self>, StoreError> {
        let this = Self::locate(state_root, workspace)?;
        if !this.path.exists() {
            return Ok(None);
        }
        for folder in [&this.root, &this.path] {
            require_private(folder)?;
        }
        Ok(Some(this))
    }

    /// The state of every workspace below a state root in which a host has worked, by the path of its folder there. Empty if
    /// this is not a state root. Unreadable ones are left out. Creates nothing.
    ///
    /// # Errors
    /// [`StoreError::Io`] for a path that has no absolute form.
    pub fn all_below(state_root: &Path) -> Result<Vec<Self>, StoreError> {
        Ok(Self::find_all(state_root)?.states)
    }

    /// The same, with the unreadable ones. A folder that disappears before it is read is in neither list.
    ///
    /// # Errors
    /// As for [`StateDir::all_below`].
    pub fn find_all(state_root: &Path) -> Result<FoundStates, StoreError> {
        let root = std::path::absolute(state_root).map_err(StoreError::io("find", state_root))?;
        let mut found = FoundStates::default();
        let Ok(folders) = std::fs::read_dir(&root) else { return Ok(found) };
        for path in folders.flatten().map(|folder| folder.path()) {
            match Self::found_at(&root, &path) {
                Ok(state) => found.states.extend(state),
                Err(_) if !path.exists() => {}
                Err(error) => found.unreadable.push((path, error)),
            }
        }
        found.states.sort_by(|a, b| a.path.cmp(&b.path));
        found.unreadable.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// The state in a folder below a state root; none if the folder is of another kind or has no journal yet.
    fn found_at(root: &Path, path: &Path) -> Result<Option<Self>, StoreError> {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let is_state = name.len() == KEY_DIGITS && name.iter().all(u8::is_ascii_hexdigit);
        let (note, journal) = (path.join("workspace"), path.join("journal.sqlite"));
        let looked = std::fs::read(&note).map_err(StoreError::io("read", &note)).and_then(|note| {
            let has_journal = journal.try_exists().map_err(StoreError::io("look at", &journal))?;
            Ok(has_journal.then_some(note))
        });
        let note = match looked {
            Ok(Some(note)) => note,
            Ok(None) => return Ok(None),
            Err(StoreError::Io { source, .. }) if !is_state || source.kind() == ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        require_private(path)?;
        let workspace = PathBuf::from(std::ffi::OsStr::from_bytes(note.strip_suffix(b"\n").unwrap_or(&note)));
        Ok(Some(Self { workspace, root: root.to_owned(), path: path.to_owned() }))
    }

    fn locate(state_root: &Path, workspace: &Path) -> Result<Self, StoreError> {
        let workspace = workspace.canonicalize().map_err(StoreError::io("find the workspace", workspace))?;
        let root = std::path::absolute(state_root).map_err(StoreError::io("find", state_root))?;
        let key = Digest::of(workspace.as_os_str().as_bytes());
        let path = root.join(&key.hex()[..KEY_DIGITS]);
        Ok(Self { root, path, workspace })
    }

    /// The folder of this workspace.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the states of all workspaces.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The workspace, canonical.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The journal of all its runs.
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal.sqlite")
    }

    /// Refuses a missing or empty journal if sessions of runs have left their folders. A new journal has its content in its
    /// log.
    ///
    /// # Errors
    /// [`StoreError::Lost`].
    pub fn expect_journal(&self) -> Result<(), StoreError> {
        let path = self.journal();
        let has_content = |path: &Path| path.metadata().is_ok_and(|meta| meta.len() > 0);
        let is_there = has_content(&path) || has_content(&self.path.join("journal.sqlite-wal"));
        let has_sessions =
            || std::fs::read_dir(self.sessions()).is_ok_and(|mut found| found.next().is_some());
        match !is_there && has_sessions() {
            true => Err(StoreError::Lost { path }),
            false => Ok(()),
        }
    }

    /// Refuses a journal without a run if sessions of runs have left their folders: its log was lost, or everything after its
    /// first page.
    pub(crate) fn expect_runs(&self, journal: &Connection) -> Result<(), StoreError> {
        if !self.has_sessions() {
            return Ok(());
        }
        let path = self.journal();
        let has_runs = "SELECT EXISTS (SELECT 1 FROM run)";
        match journal.query_row(has_runs, [], |row| row.get(0)).map_err(StoreError::sql("read", &path))? {
            true => Ok(()),
            false => Err(StoreError::Lost { path }),
        }
    }

    /// Whether a session has begun here. The folder of a run is there before its first entry is on disk, that of a session is not.
    fn has_sessions(&self) -> bool {
        let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
        let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        entries(&self.sessions()).any(|run| entries(&run.path()).any(|found| is_folder(&found)))
    }

    /// The index of its artifacts.
    pub fn artifact_index(&self) -> PathBuf {
        self.path.join("artifacts.sqlite")
    }

    /// The objects of its artifacts.
    pub fn artifacts(&self) -> PathBuf {
        self.path.join("artifacts")
    }

    /// The lock file; one host at a time holds the lock.
    pub fn lock_file(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// The socket of the running host.
    pub fn control_socket(&self) -> PathBuf {
        self.path.join("control.sock")
    }

    /// The folder of the sessions' own folders.
    pub fn sessions(&self) -> PathBuf {
        self.path.join("sessions")
    }

    /// Precompiled policies, shared by all workspaces of the state root.
    pub fn aot_cache(&self) -> PathBuf {
        Self::aot_cache_below(&self.root)
    }

    /// The same for a root without a workspace.
    pub fn aot_cache_below(root: &Path) -> PathBuf {
        root.join("aot")
    }

    /// Takes the workspace for this process until the lock is dropped or the process ends in any way.
    pub fn lock(&self) -> Result<HostLock, StoreError> {
        let path = self.lock_file();
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(StoreError::io("open", &path))?;
        let given_up = Instant::now() + LOCK_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    let held = held_by(&mut file);
                    if !is_left_behind(&held) || Instant::now() >= given_up {
                        return Err(held);
                    }
                    std::thread::sleep(LOCK_RETRY_INTERVAL);
                }
                Err(TryLockError::Error(e)) => return Err(StoreError::io("lock", &path)(e)),
            }
        }
        // The file stays when the lock is released: removing it would let two hosts lock two files of one name.
        let pid = format!("{}\n", std::process::id());
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(pid.as_bytes()))
            .map_err(StoreError::io("write", &path))?;
        Ok(HostLock { _file: file })
    }
}

/// Holds a workspace for one host.
#[derive(Debug)]
pub struct HostLock {
    _file: File,
}

/// Whether the holder has ended. If a host is killed while it starts a process, its forked copy, which has not yet executed
/// that process, holds the lock for a moment.
fn is_left_behind(held: &StoreError) -> bool {
    let StoreError::Locked { pid: Some(pid), .. } = held else { return false };
    let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

/// Reads the holder's process id; the holder wrote it when it took the lock, so the file's time is the start of the lock.
fn held_by(file: &mut File) -> StoreError {
    let mut text = String::new();
    let pid = match file.rewind().and_then(|()| (&mut *file).take(32).read_to_string(&mut text)) {
        Ok(_) => text.trim().parse().ok(),
        Err(_) => None,
    };
    let since = file
        .metadata()
        .and_then(|m| m.modified())
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .and_then(|since| u64::try_from(since.as_millis()).ok())
        .map(UnixMs);
    StoreError::Locked { pid, since: pid.and(since) }
}

/// Writes a small private file if it does not exist.
fn write_note(path: &Path, text: &[u8]) -> Result<(), StoreError> {
    if path.exists() {
        return Ok(());
    }
    OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text))
        .map_err(StoreError::io("write", path))
}

/// Creates a folder and its missing parents, readable by this user alone.
fn make_private(folder: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(StoreError::io("create", folder))?;
    require_private(folder)
}

/// A user who can write the state can make the host do anything: policies, prompts and intents are read from it.
fn require_private(folder: &Path) -> Result<(), StoreError> {
    let metadata = folder.metadata().map_err(StoreError::io("look at", folder))?;
    let exposed = |why: String| Err(StoreError::NotPrivate { path: folder.to_owned(), why });
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return exposed(format!("user {} owns it", metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 {
        return exposed(format!("its mode {:04o} lets others write", metadata.mode() & 0o7777));
    }
    Ok(())
}
