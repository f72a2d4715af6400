//! What a handoff needs of the world: its document held to what is really there, and its complete facts kept beside it.
//! Judges nothing: what is missing, and whether a secret is one, is found; what that means is the policy's to say.

use baton_core::facts::ChangedFile;
use baton_core::path_mentions;
use baton_core::workflow::paths::archived;
use baton_core::{ActionOutcome, Digest, RunId};
use baton_store::{ArtifactStore, ArtifactVersion};
use baton_workspace::Workspace;
use serde::Serialize;

use crate::error::BoxedError;

/// Where else than in the workspace a path that a document names may be.
pub(crate) trait PathLookup {
    /// Whether it is there.
    fn has(&self, path: &str) -> bool;
}

/// The artifacts of a run: a document names them by name, or by the path of a projected file that an agent deleted.
pub(crate) struct ArtifactPaths<'a> {
    pub(crate) store: &'a ArtifactStore,
    pub(crate) run: &'a RunId,
    pub(crate) task_folder: &'a str,
}

impl PathLookup for ArtifactPaths<'_> {
    fn has(&self, path: &str) -> bool {
        let name = path.strip_prefix(self.task_folder).map_or(path, |name| name.trim_start_matches('/'));
        self.store.get(self.run, name, ArtifactVersion::Latest).is_ok()
    }
}

/// Nowhere else.
pub(crate) struct EmptyLookup;

impl PathLookup for EmptyLookup {
    fn has(&self, _: &str) -> bool {
        false
    }
}

/// Holds a document to the workspace and the store, as they are now.
pub(crate) async fn inspect(
    workspace: &Workspace,
    kept: &ArtifactPaths<'_>,
    document: &str,
    head: &str,
    branch: &str,
) -> Result<ActionOutcome, BoxedError> {
    let missing_files = missing(workspace, kept, document).await?;
    let since = workspace.since(head, branch).await;
    let (commits_since, diverged) = (since.commits, since.diverged);
    Ok(ActionOutcome::Inspected { missing_files, secrets: secrets(document), commits_since, diverged })
}

/// The paths that a document names and that are nowhere. Few rows are asked for, one by one: they are not worth a thread.
pub(crate) async fn missing(
    workspace: &Workspace,
    elsewhere: &impl PathLookup,
    document: &str,
) -> Result<Vec<String>, BoxedError> {
    let absent = workspace.missing(path_mentions::extract_paths(document)).await?;
    // What it names may have moved into the archive since, with the document itself.
    let gone = workspace.missing(absent.iter().map(|path| archived(path)).collect()).await?;
    Ok(absent.into_iter().filter(|path| gone.contains(&archived(path)) && !elsewhere.has(path)).collect())
}

/// The kinds of secrets in a text, each once, by name.
pub(crate) fn secrets(text: &str) -> Vec<String> {
    let mut kinds: Vec<String> =
        baton_store::secrets::scan(text).into_iter().map(|found| found.kind.to_owned()).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// JSON with every secret in its strings replaced: what is kept for a successor to read.
pub(crate) fn masked(text: &str) -> String {
    baton_store::secrets::mask_line(text).into_owned()
}

/// The file with every changed file, where the facts name only the first of them.
#[derive(Serialize)]
struct ChangedFilesRecord<'a> {
    schema: u32,
    record: &'static str,
    files: Vec<ChangedFileEntry<'a>>,
}

#[derive(Serialize)]
struct ChangedFileEntry<'a> {
    path: &'a str,
    bytes: u64,
    exists: bool,
    digest: Option<&'a Digest>,
}

/// As JSON, one line a file: such a list is long.
pub(crate) fn list_of(changed: &[ChangedFile]) -> Result<String, BoxedError> {
    let files = changed
        .iter()
        .map(|file| ChangedFileEntry {
            path: &file.path,
            bytes: file.bytes,
            exists: file.exists,
            digest: file.digest.as_ref(),
        })
        .collect();
    let all = ChangedFilesRecord { schema: 1, record: "handoff-files", files };
    Ok(serde_json::to_string(&all)?.replace("},{", "},\n{") + "\n")
}
