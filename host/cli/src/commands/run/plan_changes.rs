//! What an agent may have changed about a plan since its last run: its checks, its ticks, and where it lies.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use baton_runtime::core::Workflow;
use baton_runtime::{HostConfig, RuntimeError, newest_run, newest_start, run_of_plan};

use crate::args::PlaceArgs;
use crate::exit::Usage;
use crate::place::Place;
use crate::task::Task;
use crate::task::boxes::Boxes;

/// Refuses a plan at whose place another run found a file of its own, and that is reached by a link now: what it leads to would be a plan that
/// no run knows.
pub(super) fn expect_no_new_link(plan: &Path, place: &PlaceArgs) -> anyhow::Result<()> {
    let (Ok(typed), Ok(real)) = (std::path::absolute(plan), fs::canonicalize(plan)) else { return Ok(()) };
    let config = Place::here(place)?.config;
    // The link may be in the place of the plan or of any folder above it.
    for folder in typed.ancestors().skip(1) {
        let (Ok(above), Ok(below)) = (folder.canonicalize(), typed.strip_prefix(folder)) else { continue };
        let before = above.join(below);
        if before != real
            && let Some(run) = run_of_plan(&config, &before)?
        {
            return Err(Usage(format!(
                "{} was a file of its own when run {run} began, and a link leads to {} now: an agent may have put it there. \
                 Put the plan back, or name the other file if you mean it",
                plan.display(),
                real.display()
            ))
            .into());
        }
    }
    Ok(())
}

/// Refuses checks of a plan that its last run did not begin with.
pub(super) fn expect_known_checks(task: &Task, place: &PlaceArgs, workflow: &Workflow) -> anyhow::Result<()> {
    let Task::Plan(_) = task else { return Ok(()) };
    let Some((run, began)) = earlier(place, workflow, newest_start)? else { return Ok(()) };
    let known: BTreeSet<&str> = checks(&began).collect();
    let new: Vec<String> =
        checks(workflow).filter(|check| !known.contains(check)).map(|check| format!("`{check}`")).collect();
    if new.is_empty() {
        return Ok(());
    }
    Err(Usage(format!(
        "the plan has checks that were not in it when run {run} began, and an agent may have written them: {}. \
         If they are yours: {} --accept-checks",
        new.join(", "),
        task.command()
    ))
    .into())
}

/// The commands that a run of it is held to.
fn checks(workflow: &Workflow) -> impl Iterator<Item = &str> {
    workflow.phases.iter().flat_map(|phase| {
        let of_objectives = phase.objectives.iter().filter_map(|objective| objective.verify.as_deref());
        phase.verify.as_deref().into_iter().chain(of_objectives)
    })
}

/// Why not all is done although every box is ticked: the last run of the plan has not done what some of them say.
pub(super) fn ticked_undone(place: &PlaceArgs, workflow: &Workflow) -> anyhow::Result<Option<anyhow::Error>> {
    let Some(run) = earlier(place, workflow, newest_run)? else { return Ok(None) };
    let standing = Boxes::of(run.workflow).and_then(|boxes| boxes.standing(&run.view));
    let not_done = standing.map_or(0, |standing| standing.not_done);
    let id = run.view.run;
    Ok((not_done > 0).then(|| {
        anyhow::anyhow!(
            "every box of the plan is ticked, and run {id} has not done {not_done} of them: open those again (`- [ ]`) whose \
             work is still to do; `baton report {id}` names them"
        )
    }))
}

/// What is known of the newest run of the plan, over or not.
fn earlier<T>(
    place: &PlaceArgs,
    workflow: &Workflow,
    find: impl Fn(&HostConfig, &Workflow) -> Result<Option<T>, RuntimeError>,
) -> anyhow::Result<Option<T>> {
    for place in Place::of_earlier(place, workflow)? {
        if let Some(earlier) = find(&place.config, workflow)? {
            return Ok(Some(earlier));
        }
    }
    Ok(None)
}
