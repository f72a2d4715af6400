//! What a report tells beside the view of a run: it is looked up where the run works.

use std::collections::BTreeMap;
use std::time::Duration;

use baton_runtime::core::view::{PhaseOrigin, PhaseSummary, RunView};
use baton_runtime::{diff as compare, workflow_of};

use crate::host_client::block_on;
use crate::location::{RunLocation, shell_quoted};
use crate::render::changes::change_totals;
use crate::render::report::{PlanStatus, ReportContext};
use crate::task::plan_boxes::PlanBoxes;
use crate::undo_marker::is_undone;

/// Phases whose changes a report tells: each is a comparison by git.
const PHASES_COMPARED: usize = 20;

/// A report waits this long for what was changed, and is without it otherwise: a host that is to stop ends with one.
const DIFF_TIMEOUT: Duration = Duration::from_secs(5);

/// What a report tells beside the view. What cannot be looked up is left out.
pub(crate) fn collect_report_context(location: &RunLocation, view: &RunView) -> ReportContext {
    let workflow = workflow_of(&location.config, &view.run).ok().flatten();
    let has_cost_ceiling = workflow.as_ref().is_some_and(|workflow| {
        let of_phases = workflow.phases.iter().any(|phase| phase.cost_microusd.is_some());
        of_phases || workflow.limits.cost_microusd.is_some()
    });
    let shared_files =
        workflow.as_ref().and_then(|workflow| Some(workflow.shared_files.as_ref()?.to_string()));
    let boxes = workflow.and_then(PlanBoxes::of);
    let plan = boxes.and_then(|boxes| {
        let path = boxes.path();
        let name = path.strip_prefix(&location.config.workspace).unwrap_or(path);
        let name = name.to_string_lossy().into_owned();
        let command = format!("baton run {}{}", shell_quoted(&path.to_string_lossy()), location.flags);
        Some(PlanStatus { name, command, standing: boxes.standing(view)? })
    });
    let until = tokio::time::Instant::now() + DIFF_TIMEOUT;
    let changed = |phase| {
        let found = block_on(async {
            let found = compare(&location.config, Some(&view.run), phase, &[], false);
            tokio::time::timeout_at(until, found).await
        });
        let found = found.ok().and_then(Result::ok).and_then(Result::ok);
        found.filter(|found| view.imported.is_none() && !found.is_empty()).as_ref().map(change_totals)
    };
    let begun = |phase: &&PhaseSummary| phase.origin == PhaseOrigin::Workflow && !phase.sessions.is_empty();
    let phases: Vec<&PhaseSummary> = view.phases.iter().filter(begun).collect();
    let changed_by = match phases.len() {
        2..=PHASES_COMPARED => {
            phases.iter().filter_map(|phase| Some((phase.id.clone(), changed(Some(&phase.id))?))).collect()
        }
        _ => BTreeMap::new(),
    };
    ReportContext {
        plan,
        changed: changed(None),
        changed_by,
        is_undone: is_undone(location, &view.run),
        has_cost_ceiling,
        shared_files,
        is_stopping: false,
    }
}
