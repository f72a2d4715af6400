//! That a run was taken back: a file in its folder says so.

use std::fs;

use baton_runtime::core::RunId;
use baton_runtime::run_folder;

use crate::location::RunLocation;
use crate::stdio;

/// The file of a run that says that it was taken back.
const UNDONE: &str = "undone";

/// Whether a run was taken back.
pub(crate) fn is_undone(location: &RunLocation, run: &RunId) -> bool {
    run_folder(&location.config, run).is_some_and(|folder| folder.join(UNDONE).exists())
}

/// Keeps it for the report. A report without it is what there was before, so an error is only told.
pub(crate) fn remember(location: &RunLocation, run: &RunId) {
    let Some(folder) = run_folder(&location.config, run) else { return };
    let kept = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(UNDONE), ""));
    if let Err(error) = kept {
        stdio::progress(&format!("the report will not say that run {run} was taken back: {error}"));
    }
}
