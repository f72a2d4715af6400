//! What an agent may have changed about a task since its last run: a workflow file, and of a plan its checks, its ticks, and where it
//! lies.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use baton_runtime::core::workflow::RunSource;
use baton_runtime::core::{RunId, Workflow};
use baton_runtime::{RunOfFile, newest_of_file, newest_run};

use super::has_changed;
use crate::args::LocationArgs;
use crate::exit::UsageError;
use crate::place::{RunLocation, state_root};
use crate::task::Task;
use crate::task::boxes::PlanBoxes;

/// Refuses a plan or a workflow file at whose place another run found a file of its own, and that is reached by a link now: no run knows what
/// it leads to.
pub(super) fn expect_no_new_link(file: &Path, place: &LocationArgs) -> anyhow::Result<()> {
    let (Ok(typed), Ok(real)) = (std::path::absolute(file), fs::canonicalize(file)) else { return Ok(()) };
    let state_root = state_root(place)?;
    // The link may be in the place of the file or of any folder above it.
    let without = |folder: &Path| Some(folder.canonicalize().ok()?.join(typed.strip_prefix(folder).ok()?));
    let mut places: Vec<PathBuf> = typed.ancestors().skip(1).filter_map(without).collect();
    places.dedup();
    for before in places.iter().filter(|before| **before != real) {
        if let Some(RunOfFile { run, .. }) = newest_of_file(&state_root, before)? {
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

/// Refuses what an agent may have written into the file of a task: checks of a plan that its last run did not begin with or that it lacks
/// now, and a workflow file that was changed while a run worked, or one of the files that it names. `base` is the folder that their paths
/// start from.
pub(super) fn expect_own(
    task: &Task,
    place: &LocationArgs,
    workflow: &Workflow,
    base: &Path,
) -> anyhow::Result<()> {
    let (Task::Plan(path) | Task::File(path)) = task else { return Ok(()) };
    let Ok(real) = path.canonicalize() else { return Ok(()) };
    let Some(earlier) = newest_of_file(&state_root(place)?, &real)? else { return Ok(()) };
    let (run, began) = (&earlier.run, &earlier.began);
    let name = path.display();
    let said = match (&began.source, &workflow.source) {
        (Some(RunSource::Plan { .. }), Some(RunSource::File { .. })) => {
            Some(format!("{name} was a plan when run {run} began, and is a workflow file now"))
        }
        (Some(RunSource::File { .. }), Some(RunSource::Plan { .. })) => {
            Some(format!("{name} was a workflow file when run {run} began, and is a plan now"))
        }
        (_, Some(RunSource::Plan { .. })) => other_checks(run, began, workflow),
        _ => None,
    };
    let said = match said {
        None => {
            let own = matches!(task, Task::File(_)) && has_changed(task, began, workflow);
            let named = named_files(task, place, workflow, base).into_iter().filter(|file| *file != real);
            let files: Vec<PathBuf> = own.then(|| real.clone()).into_iter().chain(named).collect();
            earlier.changed_since(&files)?.map(|(run, file)| {
                let name = if file.ends_with(path) { path } else { file };
                format!(
                    "{} was changed while run {run} worked, and an agent may have done it",
                    name.display()
                )
            })
        }
        said => said,
    };
    match said {
        Some(said) => {
            Err(UsageError(format!("{said}. If you intend it: {} --accept-changes", task.command())).into())
        }
        None => Ok(()),
    }
}

/// What decides about a run beside its own file: policies, and files of rules and modes, as absolute paths without links.
fn named_files(task: &Task, place: &LocationArgs, workflow: &Workflow, base: &Path) -> BTreeSet<PathBuf> {
    let read = task.read(place).map(|read| read.named).unwrap_or_default();
    let policies = workflow.policies.references().into_iter().map(str::to_owned);
    read.into_iter().chain(policies).filter_map(|file| base.join(file).canonicalize().ok()).collect()
}

/// Checks that are new in a plan, and checks that phases and objectives of it had and have no more.
fn other_checks(run: &RunId, began: &Workflow, now: &Workflow) -> Option<String> {
    let known: BTreeSet<&str> = checks(began).collect();
    let new: Vec<String> =
        checks(now).filter(|check| !known.contains(check)).map(|check| format!("`{check}`")).collect();
    if !new.is_empty() {
        return Some(format!(
            "the plan has new checks since run {run} began, and an agent may have written them: {}",
            new.join(", ")
        ));
    }
    let mut left: Vec<&str> = checks(now).collect();
    let is_lost = |check: &&str| match left.iter().position(|one| one == check) {
        Some(at) => {
            left.swap_remove(at);
            false
        }
        None => true,
    };
    let mut lost: Vec<&str> = checks(began).filter(is_lost).collect();
    // One that stands elsewhere now does not look at what it looked at.
    for before in &began.phases {
        let Some(phase) = now.phases.iter().find(|phase| phase.title == before.title) else { continue };
        if phase.verify != before.verify {
            lost.extend(before.verify.as_deref());
        }
        for objective in &before.objectives {
            let same = phase.objectives.iter().find(|now| now.id == objective.id);
            if same.is_some_and(|now| now.verify != objective.verify) {
                lost.extend(objective.verify.as_deref());
            }
        }
    }
    lost.sort_unstable();
    lost.dedup();
    let lost: Vec<String> = lost.into_iter().map(|check| format!("`{check}`")).collect();
    (!lost.is_empty()).then(|| {
        format!(
            "the plan lacks checks that run {run} began with, or has them elsewhere, and an agent may have done it: {}",
            lost.join(", ")
        )
    })
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
    let mut places = RunLocation::of_earlier(place, workflow)?.into_iter();
    let Some(run) = places.find_map(|place| newest_run(&place.config, workflow).transpose()).transpose()?
    else {
        return Ok(None);
    };
    let standing = PlanBoxes::of(run.workflow).and_then(|boxes| boxes.standing(&run.view));
    let not_done = standing.map_or(0, |standing| standing.not_done + standing.gone);
    let id = run.view.run;
    Ok((not_done > 0).then(|| {
        anyhow::anyhow!(
            "every box of the plan is ticked, but run {id} has not done {not_done} of them: reopen (`- [ ]`) those \
             that are still to be done; `baton report {id}` names them"
        )
    }))
}
