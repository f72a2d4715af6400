//! What a run would read or run of files that no run of a person has used before, or not since a run may have written them: a new plan or
//! workflow file, and what it or the command line names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use baton_runtime::core::Workflow;
use baton_runtime::core::workflow::RunSource;
use baton_runtime::{
    RunOfFile, SuspectedChange, UsedFiles, changed_before_first_use, written_by_tried_command,
};

use super::agent_changes::{named_files, placed_checks};
use crate::args::LocationArgs;
use crate::config_layers::WORKSPACE_FILE;
use crate::location::{RunLocation, shell_quoted, state_root};
use crate::policies::lock_files;
use crate::task::{CommandFiles, ResolvedTask, Task, path_aliases};

/// Checks that are named in an error.
const CHECKS_MAX: usize = 5;

/// What is wrong with files that an agent, or a command of `baton sandbox try`, may have written and that the user has not begun a run with
/// since. `earlier` is the last run of the task: of agents, what that one used is left to its own comparison.
pub(super) fn written_before_first_use(
    task: &Task,
    location: &LocationArgs,
    resolved: &ResolvedTask,
    base: &Path,
    earlier: Option<&RunOfFile>,
) -> anyhow::Result<Option<String>> {
    let ResolvedTask { workflow, named } = resolved;
    let folder = match earlier {
        Some(earlier) => Some(earlier.workspace().to_owned()),
        None => RunLocation::folder(location, workflow)?.and_then(|folder| folder.canonicalize().ok()),
    };
    let own = match task {
        Task::File(path) | Task::Plan(path) => path.canonicalize().ok(),
        Task::ReopenedPlan(_) | Task::Sentence { .. } => None,
    };
    // A run that began does not say which files of modes its workflow had read, only that they were compared.
    let modes: Vec<PathBuf> = named.iter().map(|file| base.join(file)).collect();
    let modes = modes.iter().flat_map(|file| path_aliases(file)).collect();
    let used = |workflow: &Workflow, workspace: &Path| used_by(workflow, workspace, &modes);
    let mut files: BTreeSet<PathBuf> = used_now(workflow, folder.as_deref(), base);
    files.extend(named_files(resolved, base).iter().flat_map(|file| path_aliases(file)));
    let all: Vec<PathBuf> = own.iter().chain(&files).cloned().collect();
    if let Some(file) = written_by_tried_command(&state_root(location)?, &all, used)? {
        return Ok(Some(format!(
            "{} was written while `baton sandbox try` ran a command, which may have done it. No run of yours has used it since: look at it, \
             since this run reads or runs it",
            folder.as_deref().and_then(|folder| file.strip_prefix(folder).ok()).unwrap_or(file).display()
        )));
    }
    if let Some(earlier) = earlier {
        let before = used(&earlier.began, earlier.workspace());
        files.retain(|file| !before.has(file));
    }
    let own = own.filter(|_| earlier.is_none());
    let others = files.into_iter().filter(|file| own.as_ref() != Some(file));
    let files: Vec<PathBuf> = own.iter().cloned().chain(others).collect();
    let suspected = changed_before_first_use(&state_root(location)?, folder.as_deref(), &files, used)?;
    let Some(change) = suspected else { return Ok(None) };
    let is_own = own.as_deref() == Some(change.file);
    Ok(Some(told(&change, is_own.then_some((task, workflow)), folder.as_deref(), location)?))
}

/// What is said of a change, what to look at, and how. `own`: the file is that of the task.
fn told(
    change: &SuspectedChange<'_>,
    own: Option<(&Task, &Workflow)>,
    workspace: Option<&Path>,
    location: &LocationArgs,
) -> anyhow::Result<String> {
    let SuspectedChange { run, folder, file, is_overlooked } = change;
    let above = folder.as_deref().or(workspace);
    let in_folder = above.and_then(|above| file.strip_prefix(above).ok()).unwrap_or(file);
    let name = match own {
        Some((Task::File(path) | Task::Plan(path), _)) => path.as_path(),
        _ => workspace.and_then(|workspace| file.strip_prefix(workspace).ok()).unwrap_or(file),
    };
    let name = name.display();
    let of = folder.as_ref().map(|folder| format!(" of {}", folder.display())).unwrap_or_default();
    let written = match is_overlooked {
        true => format!(
            "{name} was written or moved while run {run}{of} worked, which did not compare it, and an agent may have done it"
        ),
        false => format!("{name} was changed while run {run}{of} worked, and an agent may have done it"),
    };
    let what = match own {
        Some((Task::Plan(_), workflow)) => match checks_of(workflow) {
            Some(checks) => format!("its boxes and its checks: {checks}"),
            None => "its boxes; it has no checks".to_owned(),
        },
        Some(_) => "its agents and its commands (`verify`, `setup`)".to_owned(),
        None => "it, since this run reads or runs it".to_owned(),
    };
    let first =
        if own.is_some() { "This would be its first run" } else { "No run of yours has used it since" };
    let diff = match is_overlooked {
        true => String::new(),
        false => {
            let flags = match folder {
                Some(folder) => {
                    let there = LocationArgs {
                        workspace: Some(folder.clone()),
                        state_dir: location.state_dir.clone(),
                    };
                    RunLocation::here(&there)?.flags
                }
                None => RunLocation::here(location)?.flags,
            };
            let file = shell_quoted(&in_folder.to_string_lossy());
            format!(" (`baton diff --run {run}{flags} -- {file}` shows what changed)")
        }
    };
    Ok(format!("{written}. {first}: look at {what}{diff}"))
}

/// The checks of a plan, in code spans.
fn checks_of(workflow: &Workflow) -> Option<String> {
    let mut seen = BTreeSet::new();
    let checks: Vec<&str> =
        placed_checks(workflow).map(|(_, _, check)| check).filter(|check| seen.insert(*check)).collect();
    let shown: Vec<String> = checks.iter().take(CHECKS_MAX).map(|check| format!("`{check}`")).collect();
    let more = checks.len().saturating_sub(CHECKS_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| shown.join(", ") + &more)
}

/// What a run would use that begins with this workflow now, beside what its task names: by every name that leads there.
fn used_now(workflow: &Workflow, workspace: Option<&Path>, base: &Path) -> BTreeSet<PathBuf> {
    let mut files: Vec<PathBuf> = scripts(workflow, base).collect();
    if let Some(workspace) = workspace {
        let commands = CommandFiles::of(workflow, workspace);
        let folders: Vec<PathBuf> = commands.folders.iter().cloned().collect();
        files.extend(commands.all());
        files.extend(folders);
        files.push(workspace.join(WORKSPACE_FILE));
    }
    files.iter().flat_map(|file| path_aliases(file)).collect()
}

/// What a run used that began with this workflow in this folder. `modes`: files of which it is enough that the run compared them.
fn used_by(began: &Workflow, workspace: &Path, modes: &BTreeSet<PathBuf>) -> UsedFiles {
    let own = match &began.source {
        Some(RunSource::Plan { path, .. } | RunSource::File { path }) => Some(PathBuf::from(path)),
        Some(RunSource::Sentence { .. }) | None => None,
    };
    let base = own.as_deref().and_then(Path::parent).unwrap_or(workspace);
    let policies = began.policies.references().into_iter().map(|file| base.join(file));
    let commands = CommandFiles::of(began, workspace);
    let of_folder = [workspace.join(WORKSPACE_FILE)];
    let named = policies.chain(scripts(began, base)).chain(lock_files(began, base)).chain(of_folder);
    let named: Vec<PathBuf> = named.chain(commands.files).collect();
    let ways = named.iter().flat_map(|file| path_aliases(file));
    let compared = began.next_run_files.iter().map(|file| workspace.join(file));
    let compared = compared.filter(|file| modes.contains(file));
    let files = ways.chain(compared).chain(own.clone()).collect();
    UsedFiles { files, folders: commands.folders }
}

/// What rehearsals play.
fn scripts(workflow: &Workflow, base: &Path) -> impl Iterator<Item = PathBuf> {
    workflow.roles.values().filter_map(|role| role.script.as_deref()).map(|script| base.join(script))
}

#[cfg(test)]
mod tests {
    use baton_runtime::core::workflow::Role;

    use super::*;

    // N6
    #[test]
    fn what_a_run_used_is_its_file_its_commands_and_the_settings_of_its_folder() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("flows")).unwrap();
        for name in ["flows/job.toml", "agent.sh", "other.sh", "mode.org", "before.org"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("agent.sh", root.join("link.sh")).unwrap();
        let mut began = Workflow::default();
        let mut role = Role::of("process:sh link.sh".parse().unwrap());
        role.script = Some("play.toml".to_owned());
        began.roles.insert("one".into(), role);
        began.source =
            Some(RunSource::File { path: root.join("flows/job.toml").to_str().unwrap().to_owned() });
        // What earlier runs in the folder used is compared as well, and this one did not use it.
        began.next_run_files = ["mode.org", "other.sh"].map(str::to_owned).to_vec();
        let modes = ["mode.org", "before.org"].map(|name| root.join(name)).into_iter().collect();
        let used = used_by(&began, &root, &modes);
        for name in ["flows/job.toml", "flows/play.toml", "link.sh", "agent.sh", "mode.org", WORKSPACE_FILE] {
            assert!(used.has(&root.join(name)), "{name}: {used:?}");
        }
        for name in ["other.sh", "before.org", "flows", "flows/other.toml"] {
            assert!(!used.has(&root.join(name)), "{name}: {used:?}");
        }
        let now = used_now(&began, Some(&root), &root.join("flows"));
        assert!(now.contains(&root.join("agent.sh")) && !now.contains(&root.join("other.sh")), "{now:?}");
    }
}
