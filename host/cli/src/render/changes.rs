//! How much a run changed, in a few words.

use baton_runtime::{RunChanges, RunDiff};

use super::text_format::counted;

/// "3 files, +120 −7".
pub(crate) fn change_totals(found: &RunDiff) -> String {
    let count = |n: usize| counted(n, "file");
    match &found.what {
        RunChanges::Lines(lines) => {
            let added: u64 = lines.files.iter().filter_map(|file| file.added).sum();
            let removed: u64 = lines.files.iter().filter_map(|file| file.removed).sum();
            format!("{}, +{added} −{removed}", count(lines.files.len()))
        }
        RunChanges::Names { files, .. } => count(files.len()),
    }
}
