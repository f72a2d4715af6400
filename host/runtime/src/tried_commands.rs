//! When `baton sandbox try` ran a command in a folder: what the command wrote meanwhile is not the user's, as with agents of a run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use baton_core::{UnixMs, Workflow};
use baton_store::StateDir;
use serde::{Deserialize, Serialize};

use crate::clock::wall;
use crate::error::RuntimeError;
use crate::first_use::{LaterUses, UsedFiles};
use crate::private_file::replace;
use crate::unfinished_run::{cannot_look_for_runs, touched_at};

/// The newest spans of a folder that are kept.
const SPANS_MAX: usize = 200;
/// How far the clock of a local file system may be behind the machine's.
const CLOCK_LAG_MS: u64 = 20;
/// A file of spans in the root of the state, by the beginning and the end of its name.
const NAME: (&str, &str) = ("tried-", ".json");

/// The spans in which commands ran in one folder. Kept in a file in the root of the state, which no sandbox shows.
#[derive(Debug)]
pub struct TriedCommands {
    path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TriedSpans {
    workspace: PathBuf,
    /// The oldest first.
    spans: Vec<TriedSpan>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TriedSpan {
    began: UnixMs,
    /// Absent while the command runs, and if `baton` was killed.
    ended: Option<UnixMs>,
}

impl TriedCommands {
    /// Those of a folder, by its name in the root of the state.
    pub fn named(state_root: &Path, name: &str) -> Self {
        let (beginning, end) = NAME;
        Self { path: state_root.join(format!("{beginning}{name}{end}")) }
    }

    /// Notes that a command begins in this folder. An earlier one that was not seen to end has ended by now.
    ///
    /// # Errors
    /// Those of reading and writing the file.
    pub fn begin(&self, workspace: &Path) -> io::Result<()> {
        self.close()?;
        let mut noted = self.read()?;
        workspace.clone_into(&mut noted.workspace);
        noted.spans.push(TriedSpan { began: wall(), ended: None });
        let surplus = noted.spans.len().saturating_sub(SPANS_MAX);
        noted.spans.drain(..surplus);
        self.write(&noted)
    }

    /// Notes that no command runs there any more.
    ///
    /// # Errors
    /// Those of reading and writing the file.
    pub fn close(&self) -> io::Result<()> {
        let mut noted = self.read()?;
        let mut open = noted.spans.iter_mut().filter(|span| span.ended.is_none()).peekable();
        if open.peek().is_none() {
            return Ok(());
        }
        open.for_each(|span| span.ended = Some(wall()));
        self.write(&noted)
    }

    fn read(&self) -> io::Result<TriedSpans> {
        read(&self.path)
    }

    fn write(&self, noted: &TriedSpans) -> io::Result<()> {
        replace(&self.path, &serde_json::to_vec(noted)?)
    }
}

fn read(path: &Path) -> io::Result<TriedSpans> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(TriedSpans::default()),
        bytes => serde_json::from_slice(&bytes.map_err(named)?).map_err(|error| named(error.into())),
    }
}

/// The first of these files that was last written or moved to its place while a command was tried in a folder above it, unless the
/// user has begun a run that uses the file since then. The files are absolute; `uses` is as for
/// [`changed_before_first_use`](crate::changed_before_first_use).
///
/// # Errors
/// [`RuntimeError::State`] if the notes cannot be read.
pub fn written_by_tried_command<'f>(
    state_root: &Path,
    files: &'f [PathBuf],
    uses: impl Fn(&Workflow, &Path) -> UsedFiles,
) -> Result<Option<&'f Path>, RuntimeError> {
    let tried = all_below(state_root).map_err(|source| RuntimeError::State {
        what: "cannot tell what commands wrote that were tried",
        dir: state_root.to_owned(),
        source: source.into(),
    })?;
    if tried.is_empty() {
        return Ok(None);
    }
    let states = StateDir::all_below(state_root).map_err(cannot_look_for_runs(state_root))?;
    let mut later = LaterUses::of(&states, uses);
    for file in files {
        let Some(touched) = touched_at(file) else { continue };
        let above = tried.iter().filter(|tried| file.starts_with(&tried.workspace));
        let span = above.flat_map(|tried| &tried.spans).rfind(|span| span.has(touched));
        if let Some(span) = span
            && !later.has_after(file, span.ended.unwrap_or_else(wall))
        {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

fn all_below(state_root: &Path) -> io::Result<Vec<TriedSpans>> {
    let entries = match fs::read_dir(state_root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut tried = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let (beginning, end) = NAME;
        if name.to_str().is_some_and(|name| name.starts_with(beginning) && name.ends_with(end)) {
            tried.push(read(&entry.path())?);
        }
    }
    Ok(tried)
}

impl TriedSpan {
    /// Whether a file that was touched then may have been touched by the command.
    fn has(&self, touched: u64) -> bool {
        touched.saturating_add(CLOCK_LAG_MS) >= self.began.0
            && self.ended.is_none_or(|ended| touched <= ended.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    fn nothing(_: &Workflow, _: &Path) -> UsedFiles {
        UsedFiles { files: BTreeSet::new(), folders: BTreeSet::new() }
    }

    // N6
    #[test]
    fn a_file_counts_as_of_the_command_that_was_tried_when_it_was_written() {
        let place = tempfile::tempdir().unwrap();
        let (state, workspace) = (place.path().join("state"), place.path().join("work"));
        fs::create_dir(&workspace).unwrap();
        let files = ["before", "during", "after"].map(|name| workspace.join(name));
        let write = |file: &Path| {
            sleep(Duration::from_millis(2 * CLOCK_LAG_MS));
            fs::write(file, "x").unwrap();
            sleep(Duration::from_millis(2 * CLOCK_LAG_MS));
        };
        let found = || {
            let written = |file: &PathBuf| {
                let found = written_by_tried_command(&state, std::slice::from_ref(file), nothing).unwrap();
                found.is_some()
            };
            files.each_ref().map(written)
        };
        files.iter().for_each(|file| write(file));
        assert_eq!(found(), [false; 3], "none was tried");
        let tried = TriedCommands::named(&state, "a");
        tried.begin(&workspace).unwrap();
        write(&files[1]);
        assert_eq!(found(), [false, true, false]);
        tried.close().unwrap();
        write(&files[2]);
        assert_eq!(found(), [false, true, false]);
        // One whose `baton` was killed ends when the next one begins.
        tried.begin(&workspace).unwrap();
        write(&files[0]);
        tried.begin(&workspace).unwrap();
        assert_eq!(found(), [true, true, false]);
        for _ in 0..SPANS_MAX {
            tried.begin(&workspace).unwrap();
        }
        assert_eq!(tried.read().unwrap().spans.len(), SPANS_MAX);
        fs::write(&tried.path, "{").unwrap();
        let error = written_by_tried_command(&state, &files, nothing).unwrap_err();
        assert!(format!("{error:?}").contains("tried-a.json"), "{error:?}");
    }
}
