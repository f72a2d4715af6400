//! By what the objectives of a run are taken for done: checked by a command or a person, or claimed only, by a report, by changed
//! files or by an answer.

use baton_core::observation::{EvidenceKind, ObjectiveStatus};
use baton_core::view::{ObjectiveSummary, PhaseOrigin, PhaseStatus, PhaseSummary, RunView};
use baton_core::{PhaseId, Workflow};
use serde::{Deserialize, Serialize};

use super::RunMetrics;

/// What counts as an outcome in compared runs. It follows from their workflows and not from what came of them, so that no arm can change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionBasis {
    /// Objectives that were checked: every workflow has a check. What was claimed only is counted beside them.
    Checked,
    /// Objectives that agents claim to be done: no workflow has a check.
    Claimed,
    /// Of each run what its own workflow allows: some have a check, and some have none.
    Mixed,
}

impl CompletionBasis {
    /// What counts in these runs.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a RunMetrics>) -> Self {
        let (mut checked, mut claimed) = (false, false);
        for run in runs {
            match run.has_check() {
                true => checked = true,
                false => claimed = true,
            }
        }
        match (checked, claimed) {
            (true, true) => Self::Mixed,
            (true, false) => Self::Checked,
            (false, _) => Self::Claimed,
        }
    }
}

impl RunMetrics {
    /// Whether the run's workflow has a check of any objective.
    pub fn has_check(&self) -> bool {
        self.checkable > 0
    }

    /// Objectives of the run that count: those that were checked; in a workflow without a check those that agents claim to be done.
    pub fn counted(&self) -> u32 {
        match self.has_check() {
            true => self.completed,
            false => self.completed + self.claimed,
        }
    }
}

/// Objectives of a run that are done, by what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CompletedObjectives {
    /// Objectives that have a check: a command of their own, or of their phase.
    pub(super) checkable: u32,
    /// Done and checked.
    pub(super) checked: u32,
    /// Done and not checked.
    pub(super) claimed: u32,
}

impl CompletedObjectives {
    /// Of the phases of the workflow; what was done in the parts of a split phase counts for the phase.
    pub(super) fn of(view: &RunView, workflow: &Workflow) -> Self {
        let mut counts = Self::default();
        for phase in view.phases.iter().filter(|phase| phase.origin == PhaseOrigin::Workflow) {
            for objective in &phase.objectives {
                counts.checkable += u32::from(has_check(workflow, &phase.id, objective));
                if let Some(done) = done_in(view, phase, objective) {
                    match is_checked(done) {
                        true => counts.checked += 1,
                        false => counts.claimed += 1,
                    }
                }
            }
        }
        counts
    }
}

/// The row in which an objective is done: that of its phase, or that of the part that has it while the phase is split.
fn done_in<'v>(
    view: &'v RunView,
    phase: &'v PhaseSummary,
    of: &ObjectiveSummary,
) -> Option<&'v ObjectiveSummary> {
    let own = phase.objectives.iter().find(|objective| objective.id == of.id);
    if let Some(own) = own.filter(|own| own.status == ObjectiveStatus::Done) {
        return Some(own);
    }
    let is_over = matches!(phase.status, PhaseStatus::Done | PhaseStatus::Skipped);
    if phase.split == 0 || is_over {
        return None;
    }
    let is_part =
        |row: &&PhaseSummary| row.origin == PhaseOrigin::Split && row.parent.as_ref() == Some(&phase.id);
    view.phases.iter().filter(is_part).find_map(|part| done_in(view, part, of))
}

/// Whether what is done was checked, by a command or by a person's word.
fn is_checked(done: &ObjectiveSummary) -> bool {
    matches!(done.done_by, Some(EvidenceKind::Checked | EvidenceKind::Accepted))
}

/// Whether the workflow has a command that checks an objective.
fn has_check(workflow: &Workflow, phase: &PhaseId, objective: &ObjectiveSummary) -> bool {
    let spec = workflow.phases.iter().find(|spec| spec.id == *phase);
    spec.is_some_and(|spec| {
        let own = spec.objectives.iter().find(|spec| spec.id == objective.id);
        spec.verify.is_some() || own.is_some_and(|own| own.verify.is_some())
    })
}

#[cfg(test)]
mod tests {
    use baton_core::UnixMs;
    use baton_core::view::{ObjectiveSummary, PhaseSummary};

    use super::super::tests::begun;
    use super::*;

    const WORKFLOW: &str = r#"
name = "three"
goal = "Three phases."
[[phases]]
id = "10"
title = "All of it is checked"
verify = "true"
[[phases.objectives]]
id = "a"
description = "Write a."
[[phases.objectives]]
id = "b"
description = "Write b."
[[phases]]
id = "20"
title = "One is checked"
[[phases.objectives]]
id = "c"
description = "Write c."
verify = "true"
[[phases.objectives]]
id = "d"
description = "Write d."
[[phases]]
id = "30"
title = "None is checked"
[[phases.objectives]]
id = "e"
description = "Write e."
"#;

    /// The run as it begins, changed by hand: what an engine would have to do for each of these is not what is counted here.
    fn counted(change: impl FnOnce(&mut Vec<PhaseSummary>)) -> CompletedObjectives {
        let run = begun(WORKFLOW);
        let mut view = run.view(UnixMs(2_000)).unwrap();
        change(&mut view.phases);
        CompletedObjectives::of(&view, run.workflow())
    }

    /// What has a check of its own or of its phase has passed it.
    fn finish(phase: &mut PhaseSummary) {
        let is_checked = |id: &str| matches!(id, "a" | "b" | "c");
        for objective in &mut phase.objectives {
            let basis =
                if is_checked(objective.id.as_str()) { EvidenceKind::Checked } else { EvidenceKind::Files };
            done(objective, basis);
        }
        phase.status = PhaseStatus::Done;
    }

    fn done(objective: &mut ObjectiveSummary, basis: EvidenceKind) {
        (objective.status, objective.done_by) = (ObjectiveStatus::Done, Some(basis));
    }

    // M5
    #[test]
    fn what_has_a_check_counts_as_checked_once_its_phase_has_passed_and_the_rest_as_claimed() {
        assert_eq!(counted(|_| {}), CompletedObjectives { checkable: 3, checked: 0, claimed: 0 });
        let all = counted(|phases| phases.iter_mut().for_each(finish));
        assert_eq!(all, CompletedObjectives { checkable: 3, checked: 3, claimed: 2 });
        // Its agent says that it is done, and the check of the phase has not passed.
        let before = counted(|phases| done(&mut phases[0].objectives[0], EvidenceKind::Reported));
        assert_eq!(before, CompletedObjectives { checkable: 3, checked: 0, claimed: 1 });
    }

    // M5
    #[test]
    fn what_a_part_has_done_counts_once_while_its_phase_is_split() {
        let split = |phases: &mut Vec<PhaseSummary>| {
            let mut part = phases[0].clone();
            (part.id, part.origin, part.parent) = ("10a".into(), PhaseOrigin::Split, Some("10".into()));
            part.objectives.truncate(1);
            finish(&mut part);
            phases[0].split = 1;
            phases.push(part);
        };
        assert_eq!(counted(split), CompletedObjectives { checkable: 3, checked: 1, claimed: 0 });
        let merged = |phases: &mut Vec<PhaseSummary>| {
            split(phases);
            finish(&mut phases[0]);
        };
        assert_eq!(counted(merged), CompletedObjectives { checkable: 3, checked: 2, claimed: 0 });
    }
}
