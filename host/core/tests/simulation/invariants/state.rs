//! What holds of the state itself after every input: no phase exceeds its share, nothing is beyond its bound, and what rests does so for a
//! reason.

use std::collections::BTreeSet;

use baton_core::action::SpawnSpec;
use baton_core::observation::ObjectiveStatus;
use baton_core::view::{PhaseOrigin, PhaseStatus, PhaseSummary, RunStatus, RunView};
use baton_core::{PhaseId, WorktreeName};

use super::{PhaseRows, RunChecks, parts_of, root, within};

impl RunChecks {
    /// No more agents at work than may be.
    pub(super) fn crowding(&self, rows: &PhaseRows) -> Result<(), String> {
        let limits = &self.workflow.limits;
        let live = self.live.len() as u32;
        if limits.agents > 0 {
            within("agents at a time", live, limits.agents)?;
        }
        for (provider, most) in &self.workflow.providers {
            let of = |spec: &&SpawnSpec| {
                self.workflow.roles.get(&spec.role).is_some_and(|role| role.provider() == provider)
            };
            within(&format!("agents of {provider}"), self.live.values().filter(of).count() as u32, *most)?;
        }
        let at_work: BTreeSet<&PhaseId> = self.live.values().map(|spec| root(&spec.phase, rows)).collect();
        within("phases of the workflow at work", at_work.len() as u32, limits.parallel.max(1))?;
        let mut trees: Vec<&WorktreeName> =
            self.live.values().map(|spec| &spec.tree).filter(|t| !t.is_workspace()).collect();
        trees.sort();
        match trees.windows(2).find(|two| two[0] == two[1]) {
            Some(two) => Err(format!("two agents work in the tree {}", two[0])),
            None => Ok(()),
        }
    }

    /// Of one phase.
    pub(super) fn bounds(&self, row: &PhaseSummary, rows: &PhaseRows) -> Result<(), String> {
        let limits = &self.workflow.limits;
        within("continuations", row.continuation, row.continuations)?;
        let mut depth = 0;
        let mut at = row;
        while let Some(parent) = at.parent.as_ref().and_then(|id| rows.get(id)) {
            depth += u32::from(at.origin == PhaseOrigin::Split);
            at = parent;
        }
        within("depth", depth, limits.split_depth)?;
        let mut held = BTreeSet::new();
        for objective in parts_of(&row.id, rows).flat_map(|part| &part.objectives) {
            if !held.insert(&objective.id) {
                return Err(format!("{} is in two parts of {}", objective.id, row.id));
            }
        }
        let open = row.objectives.iter().find(|objective| objective.status != ObjectiveStatus::Done);
        match open {
            Some(open) if row.status == PhaseStatus::Done => {
                Err(format!("phase {} is done, and {} is not", row.id, open.id))
            }
            _ => Ok(()),
        }
    }

    /// When nothing moves any more, everything open has a reason.
    pub(crate) fn at_rest(&self, view: &RunView) -> Result<(), String> {
        if !self.live.is_empty() {
            return Err(format!("{:?} may still be at work", self.live.keys().collect::<Vec<_>>()));
        }
        let rows = &self.before;
        let waits = |row: &PhaseSummary| {
            view.questions.iter().any(|question| {
                question
                    .phase
                    .as_ref()
                    .is_some_and(|id| rows.get(id).is_some_and(|about| concerns(row, about, rows)))
            })
        };
        let left = |row: &&PhaseSummary| !matches!(row.status, PhaseStatus::Done | PhaseStatus::Skipped);
        match view.status {
            RunStatus::Ended(_) => match rows.values().find(left) {
                Some(row) => Err(format!("it ended, and phase {} is {:?}", row.id, row.status)),
                None => Ok(()),
            },
            _ if view.questions.is_empty() => Err("nobody is asked".into()),
            _ => match rows
                .values()
                .filter(left)
                .find(|row| row.status != PhaseStatus::Pending && !waits(row))
            {
                Some(row) => Err(format!("phase {} is {:?}, and no question says why", row.id, row.status)),
                None => Ok(()),
            },
        }
    }
}

/// Whether a question about one phase holds the other: they are the same, or one was made for the other.
fn concerns(row: &PhaseSummary, about: &PhaseSummary, rows: &PhaseRows) -> bool {
    root(&row.id, rows) == root(&about.id, rows)
}
