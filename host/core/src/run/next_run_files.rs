//! What a run may have changed of the files that the next run reads or runs.

use super::Run;
use super::phase::Phase;

impl Run {
    /// Whether a file of the workspace was changed while its agents worked, as far as is known: beyond the files that are listed only
    /// their number is.
    pub fn may_have_changed(&self, file: &str) -> bool {
        self.phases.iter().any(|phase| phase.measurements.facts.changed_beyond > 0) || self.has_changed(file)
    }

    /// Whether a file of the workspace is known to have been changed, or removed, while its agents worked.
    pub fn has_changed(&self, file: &str) -> bool {
        let has = |phase: &Phase| phase.changed_files().any(|changed| changed.path == file);
        self.phases.iter().any(has) || self.has_changed_named(file)
    }

    /// Whether a file that is compared by its name was changed while its agents worked, as far as is known.
    pub fn has_changed_named(&self, file: &str) -> bool {
        let has =
            |phase: &Phase| phase.measurements.facts.next_run_files.iter().any(|changed| changed == file);
        self.phases.iter().any(has)
    }

    /// Whether a change of a file of the workspace would have been overlooked: there were more files than are looked at, and it is not
    /// one of those that are compared by their names.
    pub fn may_have_overlooked(&self, file: &str) -> bool {
        let is_named = || self.workflow.next_run_files.iter().any(|named| is_at_or_below(file, named));
        self.phases.iter().any(|phase| phase.measurements.facts.has_unseen) && !is_named()
    }
}

/// Whether a path is this one, or lies in this folder.
fn is_at_or_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
