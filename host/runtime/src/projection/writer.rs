//! Writes a projection, into the workspace and every active work tree: only files that differ from those written before, each
//! file whole or not at all. The loop waits for it, but not for a file system that hangs, and does not wait twice for the same
//! one.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_core::visible::visible;
use baton_core::{RunId, WorktreeName};
use baton_store::secrets::mask_line;
use baton_store::{ArtifactStore, ArtifactVersion};
use baton_workspace::{RunWorktrees, Workspace};
use tokio::task::JoinHandle;

use super::{FilePiece, ProjectedFile, Projection};

/// A healthy disk takes milliseconds for the few small files of a run. One that takes this long hangs, and a run does not.
const PATIENCE: Duration = Duration::from_secs(5);

/// Shows one run in its workspace.
pub(crate) struct ProjectionWriter {
    writer: Arc<WriterState>,
    /// A write that did not end within the patience.
    late: Option<JoinHandle<()>>,
}

/// Restores files that an agent deleted or changed. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Restorer(Arc<WriterState>);

struct WriterState {
    trees: RunWorktrees,
    artifacts: ArtifactStore,
    run: RunId,
    newest: Mutex<Arc<Projection>>,
    /// Held while files are written, so that no older state overwrites a newer one.
    disks: Mutex<BTreeMap<WorktreeName, WrittenFiles>>,
}

/// What is known to be in one place.
#[derive(Default)]
struct WrittenFiles {
    files: BTreeMap<String, Arc<ProjectedFile>>,
    leftovers_removed: BTreeSet<String>,
    /// What is wrong was said, and is not said again before it is well.
    failure_reported: bool,
}

impl ProjectionWriter {
    /// Begins the projection of a run; a host that resumes one writes all files again.
    pub(crate) fn start(trees: RunWorktrees, artifacts: ArtifactStore, run: RunId) -> Self {
        let (newest, disks) = (Mutex::default(), Mutex::default());
        Self { writer: Arc::new(WriterState { trees, artifacts, run, newest, disks }), late: None }
    }

    pub(crate) fn restorer(&self) -> Restorer {
        Restorer(Arc::clone(&self.writer))
    }

    /// Writes the current projection. Returns when it is on disk, or when the disk hangs.
    pub(crate) async fn write_projection(&mut self, projection: Projection) {
        *lock(&self.writer.newest) = Arc::new(projection);
        if self.late.as_ref().is_some_and(|late| !late.is_finished()) {
            return;
        }
        let writer = Arc::clone(&self.writer);
        let mut task = tokio::task::spawn_blocking(move || writer.write_all());
        self.late = match tokio::time::timeout(PATIENCE, &mut task).await {
            Ok(_) => None,
            Err(_) => {
                tracing::warn!(
                    "the workspace takes longer than {PATIENCE:?} to write; the run continues without it"
                );
                Some(task)
            }
        };
    }

    /// Writes the files that a hanging disk may have left out, and ends.
    pub(crate) async fn finish(self) {
        if let Some(late) = self.late {
            // One more try; `resume` writes the files that are then still missing.
            let written = tokio::time::timeout(PATIENCE, late).await;
            if written.is_ok() {
                let _ = tokio::task::spawn_blocking(move || self.writer.write_all()).await;
            }
        }
    }
}

impl Restorer {
    /// Checks every file in one tree, and rewrites those that differ.
    ///
    /// # Errors
    /// A message about a script that agents are asked to run, if it exists and cannot be written: it may be another agent's.
    pub(crate) async fn restore(&self, tree: &WorktreeName) -> Result<(), String> {
        let (writer, tree) = (Arc::clone(&self.0), tree.clone());
        let task = tokio::task::spawn_blocking(move || {
            let mut disks = lock(&writer.disks);
            let newest = Arc::clone(&*lock(&writer.newest));
            writer.write(&newest, &tree, disks.entry(tree.clone()).or_default(), true)
        });
        match tokio::time::timeout(PATIENCE, task).await {
            Ok(Ok(Some(script))) => Err(script),
            Ok(_) => Ok(()),
            Err(_) => {
                tracing::warn!(
                    "the workspace takes longer than {PATIENCE:?} to look at; the agent starts without it"
                );
                Ok(())
            }
        }
    }
}

impl WriterState {
    /// Writes the newest projection wherever it is shown.
    fn write_all(&self) {
        let mut disks = lock(&self.disks);
        let newest = Arc::clone(&*lock(&self.newest));
        disks.retain(|tree, _| tree.is_workspace() || newest.trees.contains(tree));
        for tree in std::iter::once(&WorktreeName::workspace()).chain(&newest.trees) {
            self.write(&newest, tree, disks.entry(tree.clone()).or_default(), false);
        }
    }

    /// Writes a projection into one tree; with `look` also the files that differ on disk from those written before. Returns a
    /// message about an existing script that could not be written.
    fn write(
        &self,
        newest: &Projection,
        tree: &WorktreeName,
        disk: &mut WrittenFiles,
        look: bool,
    ) -> Option<String> {
        // A tree that is not there yet, or not any more, needs nothing.
        let Some(workspace) = self.trees.at_hand(tree) else {
            *disk = WrittenFiles::default();
            return None;
        };
        let mut foreign_script = None;
        if disk.files.is_empty() {
            remove_leftovers(&workspace, newest);
        }
        let mut trouble = None;
        for file in &newest.files {
            let is_same = |known: &Arc<ProjectedFile>| Arc::ptr_eq(known, file) || known == file;
            if !look && disk.files.get(&file.path).is_some_and(is_same) {
                continue;
            }
            match self.put(&workspace, file, look) {
                Ok(()) => {
                    disk.files.insert(file.path.clone(), Arc::clone(file));
                }
                Err(error) => {
                    if file.executable && workspace.root().join(&file.path).symlink_metadata().is_ok() {
                        foreign_script.get_or_insert_with(|| error.clone());
                    }
                    trouble = trouble.or(Some(error));
                }
            }
        }
        for path in &newest.gone {
            if look || !disk.leftovers_removed.contains(path) {
                match workspace.remove_projection(path) {
                    Ok(()) => {
                        disk.files.remove(path);
                        disk.leftovers_removed.insert(path.clone());
                    }
                    Err(error) => trouble = trouble.or(Some(error.to_string())),
                }
            }
        }
        match trouble {
            Some(error) if !disk.failure_reported => {
                tracing::warn!("{error}");
                disk.failure_reported = true;
            }
            Some(_) => {}
            None => disk.failure_reported = false,
        }
        foreign_script
    }

    fn put(&self, workspace: &Workspace, file: &ProjectedFile, look: bool) -> Result<(), String> {
        let Some(mut bytes) = self.read(file)? else { return Ok(()) };
        if let Some(moves) = &file.moves
            && let Ok(text) = str::from_utf8(&bytes)
        {
            bytes = moves.apply(text).into_bytes();
        }
        // These files contain agents' text, and people commit the files of a workspace. A script is the user's own.
        if !file.executable
            && let Ok(Cow::Owned(masked)) = str::from_utf8(&bytes).map(mask_line)
        {
            bytes = masked.into_bytes();
        }
        if !file.executable
            && let Ok(Cow::Owned(shown)) = str::from_utf8(&bytes).map(visible)
        {
            bytes = shown.into_bytes();
        }
        if look && workspace.holds_projection(&file.path, &bytes, file.executable) {
            return Ok(());
        }
        let written = match file.executable {
            true => workspace.write_script(&file.path, &bytes),
            false => workspace.write_projection(&file.path, &bytes),
        };
        written.map_err(|error| error.to_string())
    }

    /// The content; none if it is an artifact that was never saved.
    fn read(&self, file: &ProjectedFile) -> Result<Option<Vec<u8>>, String> {
        let mut bytes = Vec::new();
        for piece in &file.pieces {
            let digest = match piece {
                FilePiece::Text(text) => {
                    bytes.extend_from_slice(text.as_bytes());
                    continue;
                }
                FilePiece::ArtifactByDigest(digest) => digest.clone(),
                FilePiece::ArtifactByName(name) => {
                    match self.artifacts.get(&self.run, name, ArtifactVersion::Latest) {
                        Ok(saved) => saved.artifact.digest,
                        Err(_) => return Ok(None),
                    }
                }
            };
            bytes.extend(self.artifacts.read(&digest).map_err(|error| error.to_string())?);
        }
        Ok(Some(bytes))
    }
}

/// Removes the temporary files of a host that was killed while it wrote.
fn remove_leftovers(workspace: &Workspace, newest: &Projection) {
    let folders: BTreeSet<&str> =
        newest.files.iter().filter_map(|file| Some(file.path.rsplit_once('/')?.0)).collect();
    for folder in folders {
        workspace.sweep_projections(folder);
    }
}

/// A panic while writing leaves whole files; missing ones are written again.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
