//! The file door of the inbox: reads what agents report through files in their task folder. It checks the form of a
//! report; the owner of the inbox decides whether it fits the run, and [rejects](Inbox::reject) one that does not.
//!
//! No report is lost, and no file is trusted: a file stays in place until the host confirms that its report is in the journal,
//! a bad one is moved aside with an explanation that the agent can read, and no link is followed. Kept reports stay in the
//! workspace, where users may commit them, so they are masked.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_core::{Digest, SessionId};
use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

use crate::error::{FileProblem, InboxError};
use crate::handoff_markdown;
use crate::report_parser::{self, ParseFailure};
use crate::tool_requests::ToolCall;

/// A report is a few sentences; a larger file is something else.
pub const MAX_FILE_BYTES: u64 = 64 << 10;

/// Files handed over in one scan. The rest comes with the next, so that a flood of files does not block the host.
pub const MAX_FILES_PER_SCAN: usize = 64;

/// Directory entries read in one scan.
const MAX_ENTRIES: usize = 10_000;

/// JSON that breaks off is given this long: an agent writes a report at once, but not always in one piece.
const INCOMPLETE_REPORT_GRACE: Duration = Duration::from_secs(2);

/// The folder of confirmed files, below the inbox.
const TAKEN: &str = "taken";

/// The folder of bad files, below the inbox.
const REJECTED: &str = "rejected";

/// How to report, for agents; the host writes it.
const INSTRUCTIONS: &str = "README.md";

/// The extension of a report; a handoff may have another one.
const SUFFIX: &str = ".json";
const MARKDOWN: &str = ".md";

/// The text without its secrets; borrowed if there are none. The inbox knows no rules of its own.
pub type MaskFn = fn(&str) -> Cow<'_, str>;

/// Opens a folder by its path in the workspace, and creates it if it is missing; follows no link on the way, since an agent may
/// have made it, and opens nothing in a folder that has replaced the workspace.
pub type FolderOpener = Box<dyn Fn(&Path) -> io::Result<Dir> + Send + Sync>;

/// A file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedReport {
    /// Its name in the inbox; [`Inbox::confirm`] takes it.
    pub file: String,
    /// Content address of its bytes.
    pub digest: Digest,
    /// Address of this writing of it: two sessions may write the same words under the same name, and a file that is met again
    /// after its host died is the same one.
    pub writing: Digest,
    /// The report, and the session that it names as its author; or the problem of the file, which is then already in
    /// `rejected/` and needs no confirmation.
    pub result: Result<(Option<SessionId>, ToolCall), FileProblem>,
    /// Further reports in the same document as a handoff.
    pub records: Vec<ToolCall>,
    /// The file is incomplete, and may still be written: it stays in place, and is read again.
    pub unfinished: bool,
}

/// The inbox of one run.
pub struct Inbox {
    workspace: PathBuf,
    /// Workspace-relative.
    inbox: PathBuf,
    opener: FolderOpener,
    mask: MaskFn,
    /// Handed over and not yet confirmed, or bad and not movable: not handed over again while unchanged.
    handed_over: BTreeMap<OsString, Digest>,
    /// Reported as unfinished at the end of a prompt: if it is unchanged at the end of the next one, it is not written to any more.
    unfinished: BTreeMap<OsString, Digest>,
}

/// Its opened folders: even if an agent replaces their paths, these are read and written until the end of the operation.
struct InboxFolders {
    new: Dir,
    taken: Dir,
    rejected: Dir,
}

impl Inbox {
    /// Opens the inbox of a task folder, given relative to the workspace, and creates its folders. Kept reports are masked with
    /// `mask`.
    ///
    /// # Errors
    /// [`InboxError`] if the folders cannot be created, or lead out of the workspace.
    pub fn open(
        workspace: &Path,
        task_folder: &str,
        opener: FolderOpener,
        mask: MaskFn,
    ) -> Result<Self, InboxError> {
        let inbox = Self {
            workspace: workspace.to_owned(),
            inbox: Path::new(task_folder).join("inbox"),
            opener,
            mask,
            handed_over: BTreeMap::new(),
            unfinished: BTreeMap::new(),
        };
        inbox.folders()?;
        Ok(inbox)
    }

    /// The folder, for messages and prompts.
    pub fn folder(&self) -> PathBuf {
        self.workspace.join(&self.inbox)
    }

    /// Reads the new files, the oldest first: reports in JSON, and handoffs in Markdown. Half-written ones are left alone: a name
    /// that begins with a dot; Markdown, JSON that breaks off and any other name until they have not changed for two seconds.
    /// A caller that cannot wait for that, since an agent has ended its prompt, has them `at_once`: what is bad is reported, stays, and is
    /// rejected if it is the same at the end of the next prompt.
    ///
    /// # Errors
    /// [`InboxError`] if the folder cannot be created or read. A single bad file is a result, not an error.
    pub fn scan(&mut self, at_once: bool) -> Result<Vec<ReceivedReport>, InboxError> {
        let folders = self.folders()?;
        let names = written(&folders.new).map_err(|source| InboxError::new("read", self.folder(), source))?;
        self.handed_over.retain(|name, _| names.contains(name));
        self.unfinished.retain(|name, _| names.contains(name));
        let mut received = Vec::new();
        for name in names {
            if received.len() == MAX_FILES_PER_SCAN {
                break;
            }
            received.extend(self.read_report(&folders, &name, at_once));
        }
        Ok(received)
    }

    /// Moves a file to `taken/`, now that its report is in the journal. A file that was written again since it was
    /// read stays, and comes with the next scan; a name that is not held is no error, since a restart forgets it.
    ///
    /// # Errors
    /// [`InboxError`] if the file cannot be moved. It stays in place, and core counts a report once.
    pub fn confirm(&mut self, file: &str) -> Result<(), InboxError> {
        let name = OsStr::new(file);
        let Some(digest) = self.handed_over.get(name).cloned() else {
            return Ok(());
        };
        let InboxFolders { new, taken, .. } = self.folders()?;
        let kept = numbered(name, &digest);
        let moved = new.rename(name, &taken, &kept).and_then(|()| {
            // Read after the move: no process opens it by its old name any more.
            match content(&taken, &kept) {
                Ok(bytes) if Digest::of(&bytes) == digest => mask_kept(&taken, &kept, &bytes, self.mask),
                _ => taken.rename(&kept, &new, name),
            }
        });
        match moved {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(InboxError::new("move to taken/ a file of", self.folder(), error))
            }
            _ => {
                self.handed_over.remove(name);
                Ok(())
            }
        }
    }

    /// Moves a file whose report does not fit the run to `rejected/`, with the reason beside it. A file that was written
    /// again since it was read stays, and comes with the next scan.
    ///
    /// # Errors
    /// [`InboxError`] if the file cannot be moved. It stays in place, and is handed over again after a restart.
    pub fn reject(&mut self, file: &str, why: &str) -> Result<(), InboxError> {
        let name = OsStr::new(file);
        let Some(digest) = self.handed_over.get(name).cloned() else {
            return Ok(());
        };
        let folders = self.folders()?;
        let moved = match content(&folders.new, name) {
            Ok(bytes) if Digest::of(&bytes) == digest => {
                reject(&folders, name, &digest, &FileProblem::new(file, why), self.mask).map(|()| true)
            }
            Ok(_) => Ok(false),
            Err(error) => Err(error),
        };
        match moved {
            Ok(_) => self.handed_over.remove(name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.handed_over.remove(name),
            Err(error) => {
                return Err(InboxError::new("move to rejected/ a file of", self.folder(), error));
            }
        };
        Ok(())
    }

    /// Rejects the waiting files that changed after this time, or all of them, by the change time that the file system records.
    /// Returns their names.
    ///
    /// # Errors
    /// [`InboxError`] if the inbox cannot be read.
    pub fn reject_written_after(
        &mut self,
        unix_ms: Option<u64>,
        why: &str,
    ) -> Result<Vec<String>, InboxError> {
        self.reject_all(why, |dir, name, _| {
            let Ok(meta) = dir.symlink_metadata(name) else { return false };
            let changed_ms = i128::from(meta.ctime()) * 1000 + i128::from(meta.ctime_nsec()) / 1_000_000;
            unix_ms.is_none_or(|at| changed_ms > i128::from(at))
        })
    }

    /// Rejects the files that were not handed over yet. Returns the names.
    ///
    /// # Errors
    /// [`InboxError`] if the inbox cannot be read.
    pub fn reject_waiting(&mut self, why: &str) -> Result<Vec<String>, InboxError> {
        self.reject_all(why, |_, _, is_held| !is_held)
    }

    fn reject_all(
        &mut self,
        why: &str,
        is_meant: impl Fn(&Dir, &OsStr, bool) -> bool,
    ) -> Result<Vec<String>, InboxError> {
        let folders = self.folders()?;
        let mut rejected = Vec::new();
        loop {
            let before = rejected.len();
            let names =
                written(&folders.new).map_err(|source| InboxError::new("read", self.folder(), source))?;
            for name in names {
                if !is_meant(&folders.new, &name, self.handed_over.contains_key(&name)) {
                    continue;
                }
                // Unreadable files are rejected as well, by their name alone.
                let digest = Digest::of(content(&folders.new, &name).unwrap_or_default());
                let file = name.to_string_lossy().into_owned();
                let problem = FileProblem::new(&file, why);
                if reject(&folders, &name, &digest, &problem, self.mask).is_ok() {
                    self.handed_over.remove(&name);
                    rejected.push(file);
                }
            }
            // A listing is bounded, and each rejected file makes room for another one in it.
            if rejected.len() == before {
                return Ok(rejected);
            }
        }
    }

    /// Opens the folders, and makes those again that an agent has deleted.
    fn folders(&self) -> Result<InboxFolders, InboxError> {
        let open = |name: &str| (self.opener)(&self.inbox.join(name));
        let opened = || {
            Ok(InboxFolders {
                new: (self.opener)(&self.inbox)?,
                taken: open(TAKEN)?,
                rejected: open(REJECTED)?,
            })
        };
        opened().map_err(|source| InboxError::new("open", self.folder(), source))
    }

    /// The result of one file; none while it is being written, if it was already handed over, or if it has disappeared.
    fn read_report(&mut self, folders: &InboxFolders, name: &OsStr, at_once: bool) -> Option<ReceivedReport> {
        let dir = &folders.new;
        let file = name.to_string_lossy().into_owned();
        let written = dir.symlink_metadata(name).map(|meta| (meta.mtime(), meta.mtime_nsec())).ok();
        let bytes = match content(dir, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            other => other,
        };
        let digest = Digest::of(bytes.as_deref().unwrap_or_default());
        if self.handed_over.get(name) == Some(&digest) {
            return None;
        }
        let writing = writing_of(&file, &written, &digest);
        let is_fresh = || is_fresh(dir, name);
        let result = match read(&file, name, bytes) {
            // It does not show whether all of it is there.
            Ok(_) if file.ends_with(MARKDOWN) && !at_once && is_fresh() => return None,
            Ok(read) => Ok(read),
            Err(refused) if refused.unfinished && is_fresh() => {
                if !at_once {
                    return None;
                }
                let before = self.unfinished.insert(name.to_owned(), digest.clone());
                if before.as_ref() != Some(&digest) {
                    let result = Err(refused.problem);
                    return Some(ReceivedReport {
                        file,
                        digest,
                        writing,
                        result,
                        records: Vec::new(),
                        unfinished: true,
                    });
                }
                Err(refused.problem)
            }
            Err(refused) => Err(refused.problem),
        };
        let rejected = |problem| reject(folders, name, &digest, problem, self.mask);
        let movable = result.as_ref().err().is_none_or(|problem| rejected(problem).is_ok());
        if result.is_ok() || !movable {
            self.handed_over.insert(name.to_owned(), digest.clone());
        }
        let (result, records) = match result {
            Ok((report, records)) => (Ok(report), records),
            Err(problem) => (Err(problem), Vec::new()),
        };
        Some(ReceivedReport { file, digest, writing, result, records, unfinished: false })
    }
}

/// A report with the session that it names, and the further reports of the same document.
type ParsedFile = ((Option<SessionId>, ToolCall), Vec<ToolCall>);

/// The content of a file, or the reason why it is not a report.
fn read(file: &str, name: &OsStr, bytes: io::Result<Vec<u8>>) -> Result<ParsedFile, ParseFailure> {
    let wrong = |problem| Err(ParseFailure { problem, unfinished: false });
    match bytes {
        Err(error) => wrong(FileProblem::new(file, format!("it cannot be read: {error}"))),
        Ok(_) if name.to_str().is_none() => wrong(FileProblem::new(file, "its name is not UTF-8")),
        Ok(bytes) if bytes.len() as u64 > MAX_FILE_BYTES => {
            wrong(FileProblem::new(file, format!("it is larger than {MAX_FILE_BYTES} bytes")))
        }
        Ok(bytes) if file.ends_with(MARKDOWN) => {
            match handoff_markdown::handoff(&String::from_utf8_lossy(&bytes)) {
                Ok(reported) => Ok(((None, reported.handoff), reported.records)),
                // More may come.
                Err(fault) => {
                    Err(ParseFailure { problem: FileProblem::new(file, fault.to_string()), unfinished: true })
                }
            }
        }
        // May still get its name.
        Ok(_) if !file.ends_with(SUFFIX) => Err(ParseFailure {
            problem: FileProblem {
                allowed: "a report is one JSON object in a file that ends in .json; a handoff may end in .md"
                    .to_owned(),
                ..FileProblem::new(file, "its name ends neither in .json nor in .md")
            },
            unfinished: true,
        }),
        Ok(bytes) => report_parser::report(file, &bytes).map(|report| (report, Vec::new())),
    }
}

fn writing_of(file: &str, written: &Option<(i64, i64)>, content: &Digest) -> Digest {
    Digest::of(format!("{file}\n{written:?}\n{content}"))
}

/// The files of agents, in the order of writing: all except names that begin with a dot, and Baton's own.
fn written(dir: &Dir) -> io::Result<Vec<OsString>> {
    let mut files = Vec::new();
    for entry in dir.entries()?.take(MAX_ENTRIES).flatten() {
        let name = entry.file_name();
        let shown = name.to_string_lossy();
        if !shown.starts_with('.') && ![TAKEN, REJECTED, INSTRUCTIONS].contains(&&*shown) {
            let written = entry.metadata().map(|meta| (meta.mtime(), meta.mtime_nsec())).unwrap_or_default();
            files.push((written, name));
        }
    }
    files.sort();
    Ok(files.into_iter().map(|(_, name)| name).collect())
}

/// Whether a file was written so lately that it may still be being written.
fn is_fresh(dir: &Dir, name: &OsStr) -> bool {
    let written = dir.symlink_metadata(name).and_then(|meta| meta.modified());
    // A time ahead of the clock is taken for now.
    written.is_ok_and(|at| at.into_std().elapsed().unwrap_or_default() < INCOMPLETE_REPORT_GRACE)
}

/// At most one byte more than is allowed. Follows no link and waits for no pipe.
fn content(dir: &Dir, name: &OsStr) -> io::Result<Vec<u8>> {
    let irregular = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    if !dir.symlink_metadata(name)?.is_file() {
        return Err(irregular());
    }
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = dir.open_with(name, OpenOptions::new().read(true).custom_flags(nonblocking))?;
    if !file.metadata()?.is_file() {
        return Err(irregular());
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Replaces a file that is kept, with this content, by one without secrets, if it has any.
fn mask_kept(dir: &Dir, name: &OsStr, bytes: &[u8], mask: MaskFn) -> io::Result<()> {
    let text = String::from_utf8_lossy(bytes);
    let Cow::Owned(masked) = mask(&text) else { return Ok(()) };
    let mut part = name.to_owned();
    part.push(".part");
    create_replacing(dir, &part)?.write_all(masked.as_bytes())?;
    dir.rename(&part, dir, name)
}

/// A new file. Replaces an existing file or link, and does not write through it.
fn create_replacing(dir: &Dir, name: &OsStr) -> io::Result<cap_std::fs::File> {
    match dir.remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => dir.open_with(name, OpenOptions::new().write(true).create_new(true)),
    }
}

/// Moves a bad file aside, and writes the problem into a file next to it. A file that is larger than any report is moved
/// unchanged.
fn reject(
    folders: &InboxFolders,
    name: &OsStr,
    digest: &Digest,
    problem: &FileProblem,
    mask: MaskFn,
) -> io::Result<()> {
    let InboxFolders { new, rejected, .. } = folders;
    let kept = numbered(name, digest);
    new.rename(name, rejected, &kept)?;
    if let Ok(bytes) = content(rejected, &kept)
        && bytes.len() as u64 <= MAX_FILE_BYTES
    {
        mask_kept(rejected, &kept, &bytes, mask)?;
    }
    let mut why = kept;
    why.push(".why.txt");
    writeln!(
        create_replacing(rejected, &why)?,
        "Baton did not take this report.\n{}\n\nWrite it again, corrected, as a new file in the inbox; README.md there \
         has an example of each report.",
        mask(&problem.to_string())
    )
}

/// A name that the same name with other content does not overwrite: `note.json` becomes `note.0123456789ab.json`.
fn numbered(name: &OsStr, digest: &Digest) -> OsString {
    let mut numbered = Path::new(name).file_stem().unwrap_or(name).to_owned();
    let suffix = Path::new(name).extension().unwrap_or(OsStr::new("json"));
    numbered.push(format!(".{}.", digest.short()));
    numbered.push(suffix);
    numbered
}
