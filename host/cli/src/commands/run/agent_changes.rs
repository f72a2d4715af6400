//! What an agent may have changed about a task since its last run: a workflow file, and of a plan its checks, its ticks, and where it
//! lies.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use baton_runtime::core::{RunId, Workflow};
use baton_runtime::{HostConfig, RuntimeError, changed_by_run, newest_run, newest_start, run_of_file};

use super::has_changed;
use crate::args::LocationArgs;
use crate::exit::UsageError;
use crate::place::RunLocation;
use crate::task::Task;
use crate::task::boxes::PlanBoxes;

/// Refuses a plan or a workflow file at whose place another run found a file of its own, and that is reached by a link now: no run knows what
/// it leads to.
pub(super) fn expect_no_new_link(file: &Path, place: &LocationArgs) -> anyhow::Result<()> {
    let (Ok(typed), Ok(real)) = (std::path::absolute(file), fs::canonicalize(file)) else { return Ok(()) };
    let config = RunLocation::here(place)?.config;
    // The link may be in the place of the file or of any folder above it.
    for folder in typed.ancestors().skip(1) {
        let (Ok(above), Ok(below)) = (folder.canonicalize(), typed.strip_prefix(folder)) else { continue };
        let before = above.join(below);
        if before != real
            && let Some(run) = run_of_file(&config, &before)?
        {
            return Err(UsageError(format!(
                "{} was a regular file when run {run} began, and is now a link to {}: an agent may have made it. \
                 Restore the file, or name the other one if you intend it",
                file.display(),
                real.display()
            ))
            .into());
        }
    }
    Ok(())
}

/// Refuses what an agent may have written into the file of a task: checks of a plan that its last run did not begin with, and a workflow
/// file that was changed while a run worked.
pub(super) fn expect_own(task: &Task, place: &LocationArgs, workflow: &Workflow) -> anyhow::Result<()> {
    let file = match task {
        Task::Plan(_) => None,
        Task::File(path) => Some(path),
        Task::ReopenedPlan(_) | Task::Sentence { .. } => return Ok(()),
    };
    let Some((at, (run, began))) = earlier(place, workflow, newest_start)? else { return Ok(()) };
    let said = match file {
        None => new_checks(&run, &began, workflow),
        Some(path) if has_changed(task, &began, workflow) => {
            changed_while_at_work(path, &at.config, workflow)?
        }
        Some(_) => None,
    };
    match said {
        Some(said) => {
            Err(UsageError(format!("{said}. If you intend it: {} --accept-changes", task.command())).into())
        }
        None => Ok(()),
    }
}

fn new_checks(run: &RunId, began: &Workflow, now: &Workflow) -> Option<String> {
    let known: BTreeSet<&str> = checks(began).collect();
    let new: Vec<String> =
        checks(now).filter(|check| !known.contains(check)).map(|check| format!("`{check}`")).collect();
    (!new.is_empty()).then(|| {
        format!(
            "the plan has new checks since run {run} began, and an agent may have written them: {}",
            new.join(", ")
        )
    })
}

fn changed_while_at_work(
    path: &Path,
    config: &HostConfig,
    workflow: &Workflow,
) -> anyhow::Result<Option<String>> {
    let (Ok(real), Ok(workspace)) = (path.canonicalize(), config.workspace.canonicalize()) else {
        return Ok(None);
    };
    let Some(file) = real.strip_prefix(workspace).ok().and_then(Path::to_str) else { return Ok(None) };
    Ok(changed_by_run(config, workflow, file)?.map(|run| {
        format!("{} was changed while run {run} worked, and an agent may have done it", path.display())
    }))
}

/// The commands that a run of it is held to.
fn checks(workflow: &Workflow) -> impl Iterator<Item = &str> {
    workflow.phases.iter().flat_map(|phase| {
        let of_objectives = phase.objectives.iter().filter_map(|objective| objective.verify.as_deref());
        phase.verify.as_deref().into_iter().chain(of_objectives)
    })
}

/// Why not all is done although every box is ticked: the last run of the plan has not done what some of them say.
pub(super) fn ticked_undone(
    place: &LocationArgs,
    workflow: &Workflow,
) -> anyhow::Result<Option<anyhow::Error>> {
    let Some((_, run)) = earlier(place, workflow, newest_run)? else { return Ok(None) };
    let standing = PlanBoxes::of(run.workflow).and_then(|boxes| boxes.standing(&run.view));
    let not_done = standing.map_or(0, |standing| standing.not_done);
    let id = run.view.run;
    Ok((not_done > 0).then(|| {
        anyhow::anyhow!(
            "every box of the plan is ticked, but run {id} has not done {not_done} of them: reopen (`- [ ]`) those \
             that are still to be done; `baton report {id}` names them"
        )
    }))
}

/// What is known of the newest run of the task, over or not, and where that is.
fn earlier<T>(
    place: &LocationArgs,
    workflow: &Workflow,
    find: impl Fn(&HostConfig, &Workflow) -> Result<Option<T>, RuntimeError>,
) -> anyhow::Result<Option<(RunLocation, T)>> {
    for place in RunLocation::of_earlier(place, workflow)? {
        if let Some(earlier) = find(&place.config, workflow)? {
            return Ok(Some((place, earlier)));
        }
    }
    Ok(None)
}
