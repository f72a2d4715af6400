//! How a phase came to be: the workflow has it, or the host made it for another phase.

use crate::ids::PhaseId;
use crate::view::PhaseOrigin;

/// How a phase came to be.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run) struct PhaseLineage {
    pub(in crate::run) parent: Option<PhaseId>,
    pub(in crate::run) origin: PhaseOrigin,
    /// How many phases it is a part of.
    pub(in crate::run) depth: u32,
    /// The commit from which its own work tree is still to be made.
    pub(in crate::run) branch_from: Option<String>,
    /// Plan first (D11).
    pub(in crate::run) mini_plan: bool,
}

impl PhaseLineage {
    /// A phase of the workflow.
    pub(in crate::run) fn of_workflow() -> Self {
        Self { parent: None, origin: PhaseOrigin::Workflow, depth: 0, branch_from: None, mini_plan: false }
    }

    /// A phase that the host makes for this one.
    pub(in crate::run) fn below(&self, parent: PhaseId, origin: PhaseOrigin) -> Self {
        Self { parent: Some(parent), origin, depth: self.depth + 1, branch_from: None, mini_plan: false }
    }

    /// The host made it, for its parent.
    pub(in crate::run) fn is_made_by_host(&self) -> bool {
        matches!(self.origin, PhaseOrigin::Review | PhaseOrigin::Merge)
    }
}
