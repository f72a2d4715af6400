//! The location of a command: workspace, state directory, this binary. Starts nothing.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::view::RunStatus;
use baton_runtime::core::workflow::{Workflow, WorkspaceChoice};
use baton_runtime::core::{RunId, UnixMs};
use baton_runtime::sandbox::exclude_from_path;
use baton_runtime::store::StateDir;
use baton_runtime::{
    HostConfig, RoleOverrides, RunRow, began_at, default_state_root, exclude_earlier_lists, make_repository,
    runs, state_roots,
};

use crate::args::LocationArgs;
use crate::exit_status::UsageError;
use crate::stdio;

/// Scratch folders that are searched for a run, newest first. Who has more of them names the workspace.
const SCRATCH_SEARCHED: usize = 100;

/// The location of a command.
#[derive(Clone, Debug)]
pub(crate) struct RunLocation {
    /// The configuration for the runtime.
    pub(crate) config: HostConfig,
    /// The flags that a later command needs to find the same location, with a space before each; often none.
    pub(crate) flags: String,
}

impl RunLocation {
    /// For a new run of this workflow. A scratch workspace is made here, unless nothing is to be written.
    pub(crate) fn for_workflow(
        args: &LocationArgs,
        workflow: &Workflow,
        dry_run: bool,
    ) -> anyhow::Result<RunLocation> {
        if let Some(settled) = RunLocation::settled(args, workflow)? {
            return Ok(settled);
        }
        let state_root = state_root(args)?;
        let scratch = match dry_run {
            true => current_dir()?,
            // Later commands search the scratch folders, so they need no flag.
            false => create_scratch(&state_root, &workflow.name)?,
        };
        if !dry_run && workflow.workspace == Some(WorkspaceChoice::ScratchGit) {
            make_repository(&scratch)?;
        }
        RunLocation::new(scratch, state_root, args)
    }

    /// Whether every run of this workflow gets a fresh folder.
    pub(crate) fn is_fresh(args: &LocationArgs, workflow: &Workflow) -> bool {
        args.workspace.is_none() && workflow.workspace.as_ref().is_some_and(WorkspaceChoice::is_fresh)
    }

    /// The folder that a run of this workflow would work in; none if it gets a fresh one.
    pub(crate) fn folder(args: &LocationArgs, workflow: &Workflow) -> anyhow::Result<Option<PathBuf>> {
        Ok(RunLocation::settled(args, workflow)?.map(|location| location.config.workspace))
    }

    /// The possible locations of earlier runs of this workflow, the likeliest first. Creates nothing.
    pub(crate) fn previous_locations(
        args: &LocationArgs,
        workflow: &Workflow,
    ) -> anyhow::Result<Vec<RunLocation>> {
        if let Some(settled) = RunLocation::settled(args, workflow)? {
            return Ok(vec![settled]);
        }
        let state_root = state_root(args)?;
        let of_workflow = |folder: &PathBuf| {
            let name = folder.file_name().and_then(|name| name.to_str());
            let number = name.and_then(|name| name.strip_prefix(&workflow.name)?.strip_prefix('-'));
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let folders = scratch_folders(&state_root).into_iter().filter(of_workflow);
        folders.map(|folder| RunLocation::new(folder, state_root.clone(), args)).collect()
    }

    /// The folder that the command line or the workflow names, or else the current one; none if the workflow wants a fresh one.
    fn settled(args: &LocationArgs, workflow: &Workflow) -> anyhow::Result<Option<RunLocation>> {
        let mut flags = args.clone();
        let workspace = match (&args.workspace, &workflow.workspace) {
            (Some(dir), _) => existing(dir)?,
            (None, Some(WorkspaceChoice::Folder(dir))) => {
                flags.workspace = Some(PathBuf::from(dir));
                existing(Path::new(dir))?
            }
            (None, Some(WorkspaceChoice::Scratch | WorkspaceChoice::ScratchGit)) => return Ok(None),
            (None, None) => current_dir()?,
        };
        RunLocation::new(workspace, state_root(args)?, &flags).map(Some)
    }

    /// The named folder, else the current one, regardless of earlier runs.
    pub(crate) fn here(args: &LocationArgs) -> anyhow::Result<RunLocation> {
        let workspace = match &args.workspace {
            Some(dir) => existing(dir)?,
            None => current_dir()?,
        };
        RunLocation::new(workspace, state_root(args)?, args)
    }

    /// For a command that only reads: the workspace that is named, else the current folder, else the newest scratch folder
    /// that has the run.
    pub(crate) fn for_reading(args: &LocationArgs, run: Option<&RunId>) -> anyhow::Result<RunLocation> {
        let here = RunLocation::here(args)?;
        if args.workspace.is_some() || here.newest(run)?.is_some() {
            return Ok(here);
        }
        let Some(location) = here.scratch_with(args, run)?.into_iter().next() else {
            // If there is none either, the runtime has the best error message.
            return Ok(here.above_with(args, run)?.unwrap_or(here));
        };
        if run.is_none() {
            let (here, there) = (here.config.workspace.display(), location.config.workspace.display());
            stdio::progress(&format!(
                "nothing has run in {here}; using the scratch folder {there}, which was started from here"
            ));
        }
        Ok(location)
    }

    /// The current folder, or else the nearest one around it in which anything has run.
    pub(crate) fn nearest_with_runs(args: &LocationArgs) -> anyhow::Result<RunLocation> {
        let here = RunLocation::here(args)?;
        match args.workspace.is_some() || here.newest(None)?.is_some() {
            true => Ok(here),
            false => Ok(here.above_with(args, None)?.unwrap_or(here)),
        }
    }

    /// The nearest folder around this one that has the run, or any.
    fn above_with(&self, args: &LocationArgs, run: Option<&RunId>) -> anyhow::Result<Option<RunLocation>> {
        for folder in self.config.workspace.ancestors().skip(1) {
            let location = RunLocation::new(folder.to_owned(), state_root(args)?, args)?;
            if location.newest(run)?.is_some() {
                return Ok(Some(location));
            }
        }
        Ok(None)
    }

    /// For a command that changes something: it never takes a run that was not named. A scratch folder is taken
    /// only where it has the run that was named.
    pub(crate) fn for_writing(args: &LocationArgs, run: Option<&RunId>) -> anyhow::Result<RunLocation> {
        let here = RunLocation::here(args)?;
        if args.workspace.is_some() {
            return Ok(here);
        }
        if run.is_none() {
            // The command itself has the best message for other errors.
            let is_empty = matches!(here.newest(None), Ok(None));
            return if is_empty { Err(here.no_run_error(args).into()) } else { Ok(here) };
        }
        if here.newest(run)?.is_some() {
            return Ok(here);
        }
        if let Some(above) = here.above_with(args, run)? {
            return Ok(above);
        }
        let mut found = here.scratch_with(args, run)?;
        match found.len() {
            0 => Ok(here),
            1 => Ok(found.remove(0)),
            _ => {
                let folders: Vec<_> =
                    found.iter().map(|location| location.config.workspace.display().to_string()).collect();
                let why = format!(
                    "several folders have a run of this name: {}; name one of them with --workspace DIR",
                    folders.join(", ")
                );
                Err(UsageError(why).into())
            }
        }
    }

    /// For a command that continues a run: as for one that changes something, but that the newest run in a scratch folder that
    /// was begun from here is found, if it is not over.
    pub(crate) fn for_resuming(args: &LocationArgs, run: Option<&RunId>) -> anyhow::Result<RunLocation> {
        let here = RunLocation::here(args)?;
        if run.is_none() && args.workspace.is_none() && here.newest(None)?.is_none() {
            for location in here.scratch_with(args, None)? {
                let over = |row: &RunRow| {
                    matches!(row.status, RunStatus::Ended(RunOutcome::Done | RunOutcome::Unfinished))
                };
                let rows = runs(&location.config)?;
                if let Some(row) = rows.last().filter(|row| !over(row)) {
                    let (here, there) =
                        (here.config.workspace.display(), location.config.workspace.display());
                    stdio::progress(&format!(
                        "nothing has run in {here}; resuming run {} in the scratch folder {there}, which was started from here",
                        row.run
                    ));
                    return Ok(location);
                }
            }
        }
        RunLocation::for_writing(args, run)
    }

    /// The error of a command that changes something if nothing has run.
    fn no_run_error(&self, args: &LocationArgs) -> UsageError {
        let newest = self.scratch_with(args, None).unwrap_or_default().into_iter().next();
        let newest = newest.map(|location| {
            format!("; the newest scratch folder is {}", location.config.workspace.display())
        });
        UsageError(format!(
            "nothing has run in {}: name the folder of the run with --workspace DIR{}",
            self.config.workspace.display(),
            newest.unwrap_or_default()
        ))
    }

    /// The scratch folders that have this run, or any that was begun from here; the one that ran last comes first.
    fn scratch_with(&self, args: &LocationArgs, run: Option<&RunId>) -> anyhow::Result<Vec<RunLocation>> {
        let mut found: Vec<(UnixMs, RunLocation)> = Vec::new();
        for scratch in scratch_folders(&self.config.state_root) {
            // Without a name, the run is one that was begun from here.
            let is_from_here = || {
                let from = fs::read(origin_file(&scratch)).unwrap_or_default();
                from == self.config.workspace.as_os_str().as_bytes()
            };
            if run.is_none() && !is_from_here() {
                continue;
            }
            let location = RunLocation::new(scratch, self.config.state_root.clone(), args)?;
            if let Some(at) = location.newest(run)? {
                found.push((at, location));
            }
        }
        found.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        Ok(found.into_iter().map(|(_, location)| location).collect())
    }

    fn new(workspace: PathBuf, state_root: PathBuf, args: &LocationArgs) -> anyhow::Result<RunLocation> {
        let own_exe = std::env::current_exe()
            .map_err(|error| anyhow::Error::from(error).context("finding the path of this program"))?;
        let mut flags = String::new();
        for (flag, dir) in [("--workspace", &args.workspace), ("--state-dir", &args.state_dir)] {
            if let Some(dir) = dir {
                flags.push_str(&format!(" {flag} {}", shell_quoted(&dir.to_string_lossy())));
            }
        }
        let environment = std::env::vars_os().collect();
        exclude_from_path(&workspace);
        exclude_from_path(&state_root);
        Ok(RunLocation {
            config: HostConfig {
                workspace,
                state_root,
                own_exe,
                environment,
                overrides: RoleOverrides::default(),
            },
            flags,
        })
    }

    /// When the newest run (or this one) of the workspace began, if there is one.
    fn newest(&self, run: Option<&RunId>) -> anyhow::Result<Option<UnixMs>> {
        Ok(began_at(&self.config, run)?)
    }
}

/// The folder of compiled policies for the next start; none if there is no place for them.
pub(crate) fn policy_cache(args: &LocationArgs) -> Option<PathBuf> {
    state_root(args).ok().map(|root| StateDir::aot_cache_below(&root))
}

/// `--state-dir`, else [`default_state_root`]. From now on, no program that agents of its runs may have written
/// is run for this process.
pub(crate) fn state_root(args: &LocationArgs) -> anyhow::Result<PathBuf> {
    let root = match &args.state_dir {
        Some(dir) => absolute(dir)?,
        None => default_state_root(|name| std::env::var_os(name)).ok_or_else(|| {
            UsageError(
                "no folder for the journal: neither XDG_STATE_HOME nor HOME is set; name one with --state-dir DIR"
                    .into(),
            )
        })?,
    };
    exclude_earlier_lists(&state_roots(&root, |name| std::env::var_os(name)));
    Ok(root)
}

/// A fresh folder for a workflow that wants one: `scratch/<workflow>-<n>`.
fn create_scratch(state_root: &Path, workflow: &str) -> anyhow::Result<PathBuf> {
    let parent = state_root.join("scratch");
    let said = |error: io::Error, dir: &Path| {
        anyhow::Error::from(error).context(format!("making the scratch folder {}", dir.display()))
    };
    // Only the owner may read the agents' files there, as in the rest of the state directory.
    fs::DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(&parent)
        .map_err(|error| said(error, &parent))?;
    let mut n = 1_u32;
    loop {
        let dir = parent.join(format!("{workflow}-{n}"));
        match fs::DirBuilder::new().mode(0o700).create(&dir) {
            Ok(()) => {
                // Lets the user find it again from the folder where it was begun; if this file cannot be written, the user has
                // to name it.
                if let Ok(from) = std::env::current_dir() {
                    let _ = fs::write(origin_file(&dir), from.as_os_str().as_bytes());
                }
                return Ok(dir);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => n += 1,
            Err(error) => return Err(said(error, &dir)),
        }
    }
}

/// The file with the folder from which a scratch folder was begun.
fn origin_file(scratch: &Path) -> PathBuf {
    scratch.with_added_extension("from")
}

/// Scratch folders, newest first.
fn scratch_folders(state_root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(state_root.join("scratch")) else { return Vec::new() };
    let mut folders: Vec<_> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            Some((entry.metadata().ok().filter(fs::Metadata::is_dir)?.modified().ok()?, entry.path()))
        })
        .collect();
    folders.sort_by(|a, b| b.cmp(a));
    folders.into_iter().take(SCRATCH_SEARCHED).map(|(_, path)| path).collect()
}

fn current_dir() -> anyhow::Result<PathBuf> {
    std::env::current_dir().map_err(|error| anyhow::Error::from(error).context("finding the current folder"))
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| anyhow::Error::from(error).context(format!("making {} absolute", path.display())))
}

/// A folder that the user named, as an absolute path.
fn existing(dir: &Path) -> anyhow::Result<PathBuf> {
    match fs::canonicalize(dir) {
        Ok(path) if path.is_dir() => Ok(path),
        Ok(path) => Err(UsageError(format!("the workspace {} is not a folder", path.display())).into()),
        Err(error) => {
            Err(UsageError(format!("the workspace {}: {error}; create it first", dir.display())).into())
        }
    }
}

/// A word for a POSIX shell, quoted if needed.
pub(crate) fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Words for a POSIX shell, each with a space before it, to follow a command.
pub(crate) fn shell_words(words: &[String]) -> String {
    words.iter().map(|word| format!(" {}", shell_quoted(word))).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn state_lives_where_xdg_says() {
        let with = |xdg: Option<&str>, home: Option<&str>| {
            default_state_root(|name| match name {
                "XDG_STATE_HOME" => xdg.map(OsString::from),
                _ => home.map(OsString::from),
            })
        };
        assert_eq!(with(Some("/x"), Some("/h")), Some("/x/baton".into()));
        assert_eq!(with(Some("relative"), Some("/h")), Some("/h/.local/state/baton".into()));
        assert_eq!(with(None, Some("/h")), Some("/h/.local/state/baton".into()));
        assert_eq!(with(None, None), None);
    }

    #[test]
    fn scratch_folders_are_fresh_private_and_found_again() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let first = create_scratch(root.path(), "demo").unwrap();
        let second = create_scratch(root.path(), "demo").unwrap();
        assert!(first.ends_with("scratch/demo-1") && second.ends_with("scratch/demo-2"));
        assert_eq!(fs::metadata(&first).unwrap().permissions().mode() & 0o777, 0o700);
        let mut found = scratch_folders(root.path());
        found.sort();
        assert_eq!(found, [first, second]);
    }

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(shell_quoted("/a/b-1"), "/a/b-1");
        assert_eq!(shell_quoted("/a b/it's"), r"'/a b/it'\''s'");
    }
}
