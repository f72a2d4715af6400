//! What is really on disk: git facts, file changes, verification commands, projected files. States facts and
//! judges nothing; what a change means is for core and the policies.
//!
//! Git and child commands are named only in this crate. Files are read and written through [`cap_std`], so that no
//! link an agent plants leads out of the workspace.
#![forbid(unsafe_code)]

mod baseline;
mod error;
mod files;
mod git;
mod projection;
mod verify;

use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_core::facts::WorkspaceFacts;

pub use baseline::{Baseline, MAX_CHANGED};
pub use error::WorkspaceError;
pub use files::{MAX_FILES, MAX_HASHED_BYTES};
pub use verify::{MAX_FINDINGS_BYTES, MAX_OUTPUT_BYTES, Verification};

/// A folder that agents work in. Cheap to clone; nothing is held open between calls, since an agent may delete the
/// folder and make it anew.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Takes an existing folder, by its canonical path.
    ///
    /// # Errors
    /// [`WorkspaceError::NoFolder`] where there is none.
    pub fn open(root: &Path) -> Result<Self, WorkspaceError> {
        let refuse = |source| WorkspaceError::NoFolder { path: root.to_owned(), source };
        let canonical = root.canonicalize().map_err(refuse)?;
        if !canonical.is_dir() {
            return Err(refuse(std::io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self { root: canonical })
    }

    /// The canonical path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Remembers the files as they are: the start that [`Workspace::assess`] measures against. `expected` are files
    /// that objectives name; they are watched even where git ignores them.
    ///
    /// # Errors
    /// [`WorkspaceError::NoFolder`] where the folder is there but cannot be opened.
    pub async fn baseline(&self, expected: &[String]) -> Result<Baseline, WorkspaceError> {
        let git = git::look(&self.root, None).await;
        let (root, expected) = (self.root.clone(), expected.to_vec());
        blocking(move || {
            let scene = files::Scene::open(&root, git)?;
            Ok(Baseline::take(&scene, &expected))
        })
        .await
    }

    /// What is on disk now, and what of it differs from the baseline (A5). A workspace that is gone is a fact, not
    /// an error: every file of the baseline counts as deleted.
    ///
    /// # Errors
    /// [`WorkspaceError::NoFolder`] where the folder is there but cannot be opened.
    pub async fn assess(
        &self,
        baseline: &Baseline,
        expected: &[String],
    ) -> Result<WorkspaceFacts, WorkspaceError> {
        let git = git::look(&self.root, Some(baseline)).await;
        let (root, expected, baseline) = (self.root.clone(), expected.to_vec(), baseline.clone());
        blocking(move || {
            let scene = files::Scene::open(&root, git)?;
            Ok(baseline.compare(&scene, &expected))
        })
        .await
    }

    /// Runs a command by `sh -c` in the workspace, in a process group of its own that ends with it, at the limit,
    /// when the future is dropped, or when this process dies. It inherits only an allow-listed environment.
    ///
    /// # Errors
    /// [`WorkspaceError::Command`] where it cannot be started. That it fails or takes too long is a result.
    pub async fn verify(&self, command: &str, limit: Duration) -> Result<Verification, WorkspaceError> {
        verify::run(&self.root, command, limit).await
    }

    /// Writes a file below the workspace, whole or not at all, making its folders. Blocking; for small files.
    ///
    /// # Errors
    /// [`WorkspaceError::Outside`] where the path is no plain relative path;
    /// [`WorkspaceError::Write`] where the system refuses, or a link leads out of the workspace.
    pub fn write_projection(&self, relative: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        projection::write(&self.root, relative, bytes)
    }
}

/// Runs what reads many files on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(join) => match join.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(WorkspaceError::Stopped),
        },
    }
}
