//! Possible changes by an agent to a task since its last run: a workflow file, and of a plan its checks, its ticks, and its
//! place.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use baton_runtime::core::workflow::RunSource;
use baton_runtime::core::{RunId, Workflow};
use baton_runtime::{RunOfFile, SuspectedChange, newest_of_file};

use super::first_use;
use super::unfinished::has_changed;
use crate::args::LocationArgs;
use crate::config_layers::WORKSPACE_FILE;
use crate::exit_status::UsageError;
use crate::location::state_root;
use crate::policies::lock_files;
use crate::task::{CommandFiles, ResolvedTask, Task, path_aliases};

/// Refuses a plan or a workflow file that was a regular file for another run, and that is reached by a link now: its target is
/// unknown to all runs.
pub(super) fn expect_no_new_link(file: &Path, location: &LocationArgs) -> anyhow::Result<()> {
    let (Ok(typed), Ok(real)) = (std::path::absolute(file), fs::canonicalize(file)) else { return Ok(()) };
    let state_root = state_root(location)?;
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

/// Refuses possible changes by an agent in the file of a task: checks of a plan that its last run did not begin with or that it
/// lacks now, and a workflow file, or a file that it names, that was changed while a run worked. The same for files that are
/// used for the first time. `base` is the folder that their paths start from, `command` the typed command.
pub(super) fn expect_no_agent_changes(
    task: &Task,
    location: &LocationArgs,
    resolved: &ResolvedTask,
    base: &Path,
    command: &str,
) -> anyhow::Result<()> {
    let mut earlier = None;
    let mut said = None;
    match task {
        Task::ReopenedPlan(_) => return Ok(()),
        Task::Sentence { .. } => {}
        Task::Plan(path) | Task::File(path) => {
            let Ok(real) = path.canonicalize() else { return Ok(()) };
            earlier = newest_of_file(&state_root(location)?, &real)?;
            if let Some(earlier) = &earlier {
                said = changed_since_last_run(task, (path, &real), location, resolved, base, earlier)?;
            }
        }
    }
    if said.is_none() {
        said = first_use::written_before_first_use(task, location, resolved, base, earlier.as_ref())?;
    }
    match said {
        Some(said) => Err(UsageError(format!("{said}. If you intend it: {command} --accept-changes")).into()),
        None => Ok(()),
    }
}

/// The possible changes by an agent to a file, its content or the files that it names, since the last run. `path` is the name
/// of the file as typed, and without links.
fn changed_since_last_run(
    task: &Task,
    (path, real): (&Path, &Path),
    location: &LocationArgs,
    resolved: &ResolvedTask,
    base: &Path,
    earlier: &RunOfFile,
) -> anyhow::Result<Option<String>> {
    let (run, began, workflow) = (&earlier.run, &earlier.began, &resolved.workflow);
    let name = path.display();
    let said = match (&began.source, &workflow.source) {
        (Some(RunSource::Plan { .. }), Some(RunSource::File { .. })) => {
            Some(format!("{name} was a plan when run {run} began, and is a workflow file now"))
        }
        (Some(RunSource::File { .. }), Some(RunSource::Plan { .. })) => {
            Some(format!("{name} was a workflow file when run {run} began, and is a plan now"))
        }
        (_, Some(RunSource::Plan { .. })) => {
            let whole = task.reopened().map(|task| task.read(location)).transpose()?;
            let whole = whole.as_ref().map_or(workflow, |whole| whole.reading.workflow());
            other_checks(run, began, workflow, whole)
        }
        _ => None,
    };
    Ok(match said {
        None => {
            let own = matches!(task, Task::File(_)) && has_changed(task, began, workflow);
            let mut named = named_files(resolved, base);
            let commands = CommandFiles::of(workflow, earlier.workspace());
            let folders: Vec<PathBuf> = commands.folders.iter().cloned().collect();
            named.extend(commands.all());
            let settings = earlier.workspace().join(WORKSPACE_FILE);
            let (settings, gone) = match settings.exists() {
                true => (Some(settings), None),
                false => (None, Some(settings)),
            };
            named.extend(settings);
            let ways = named.iter().flat_map(|file| path_aliases(file)).collect::<BTreeSet<_>>();
            let ways = ways.into_iter().filter(|file| file != real);
            // A folder by its own name last: it says less.
            let files = own.then(|| real.to_owned()).into_iter().chain(ways).chain(folders);
            let files: Vec<PathBuf> = files.collect();
            let suspected = match earlier.changed_since(&files)? {
                None => gone.as_deref().map(|gone| earlier.removed_since(gone)).transpose()?.flatten(),
                suspected => suspected,
            };
            suspected.map(|SuspectedChange { run, folder, file, is_overlooked }| {
                let name = if file.ends_with(path) { path } else { file };
                let name = name.display();
                let of = folder.map(|folder| format!(" of {}", folder.display())).unwrap_or_default();
                match is_overlooked {
                    true => format!(
                        "{name} may have been changed while run {run}{of} worked, among files that Baton does not compare there, and an \
                         agent may have done it"
                    ),
                    false => {
                        format!("{name} was changed while run {run}{of} worked, and an agent may have done it")
                    }
                }
            })
        }
        said => said,
    })
}

/// The other files that determine a run: policies and the locks that pin them, and files of rules and modes.
pub(super) fn named_files(resolved: &ResolvedTask, base: &Path) -> Vec<PathBuf> {
    let ResolvedTask { workflow, named } = resolved;
    let files = named.iter().map(String::as_str).chain(workflow.policies.references());
    let files = files.map(|file| base.join(file)).filter(|file| file.exists());
    // A lock that is gone pins nothing.
    files.chain(lock_files(workflow, base)).collect()
}

/// Checks that are new in a plan, and checks that its phases and objectives had and lost. `whole` is the plan with its ticked
/// boxes.
fn other_checks(run: &RunId, began: &Workflow, now: &Workflow, whole: &Workflow) -> Option<String> {
    let known: BTreeSet<&str> = placed_checks(began).map(|(_, _, check)| check).collect();
    let new = placed_checks(now).map(|(_, _, check)| check).filter(|check| !known.contains(check));
    let new: Vec<String> = new.map(|check| format!("`{check}`")).collect();
    if !new.is_empty() {
        return Some(format!(
            "the plan has new checks since run {run} began, and an agent may have written them: {}",
            new.join(", ")
        ));
    }
    // A check in another place does not check the same work.
    let mut left: Vec<PlacedCheck<'_>> = placed_checks(whole).collect();
    let is_lost = |check: &PlacedCheck<'_>| match left.iter().position(|one| one == check) {
        Some(at) => {
            left.swap_remove(at);
            false
        }
        None => true,
    };
    let lost = placed_checks(began).filter(is_lost).map(|(_, _, check)| check);
    // A check of every phase cannot have been taken from one.
    let holds_all = |check: &&str| whole.phases.iter().all(|phase| phase.verify.as_deref() == Some(*check));
    let mut lost: Vec<&str> = lost.filter(|check| !holds_all(check)).collect();
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

/// A check of a plan, after its heading and its objective.
pub(super) type PlacedCheck<'w> = (&'w str, Option<&'w str>, &'w str);

/// The commands that a run of it must pass, each with its place.
pub(super) fn placed_checks(workflow: &Workflow) -> impl Iterator<Item = PlacedCheck<'_>> {
    workflow.phases.iter().flat_map(|phase| {
        let heading = phase.title.as_str();
        let of_phase = phase.verify.as_deref().map(|check| (heading, None, check));
        let of_objectives = phase.objectives.iter().filter_map(move |objective| {
            Some((heading, Some(objective.description.as_str()), objective.verify.as_deref()?))
        });
        of_phase.into_iter().chain(of_objectives)
    })
}
