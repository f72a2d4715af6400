//! How far a task is confined: the floor, the folder that it may work in, and the files that stay as they are.

use std::path::{Path, PathBuf};

use baton_registry::LOCK_FILE;

use baton_runtime::core::Workflow;
use baton_runtime::core::workflow::{Sandbox, SandboxError, WorkspaceChoice};
use baton_runtime::sandbox::{exclude_listed, link_of_agents, listed_paths};

use super::{CommandFiles, Task};
use crate::args::LocationArgs;
use crate::exit_status::UsageError;
use crate::location::shell_quoted;

impl Task {
    /// Refuses a workspace that a file names, if a link on the way may be one that an agent of an earlier run has made, at every level, or
    /// if the user's own floor does not let agents write there. A workspace is written and read,
    /// so it is held to the floor as a `write` list is. The folder of the file, what is in it, and the folder that `baton` is called in, in
    /// which a file without a `workspace` works, need no permission; neither does what the command line names. `folder` is the workspace,
    /// without links.
    pub(super) fn expect_allowed_workspace(
        &self,
        location: &LocationArgs,
        workflow: &Workflow,
        folder: Option<&Path>,
        own_floor: &Sandbox,
    ) -> anyhow::Result<()> {
        let Some(folder) = folder.filter(|_| location.workspace.is_none() && workflow.workspace.is_some())
        else {
            return Ok(());
        };
        let base = self.base()?;
        // A person has chosen the folder of the file, by whatever links.
        let from_file = |written: &str| match (Path::new(written).strip_prefix(&base), base.canonicalize()) {
            (Ok(below), Ok(base)) => base.join(below),
            _ => PathBuf::from(written),
        };
        if let Some(WorkspaceChoice::Folder(written)) = &workflow.workspace
            && let Some(link) = link_of_agents(&from_file(written))
        {
            let (file, named) = (self.origin(), folder.to_string_lossy());
            return Err(UsageError(format!(
                "{file} asks to work in {named} (`workspace`), and {} on the way is a link in a folder in which agents have worked, so that \
                 an agent may have made it: look at where it leads, and name that folder yourself with --workspace {}, or replace the link \
                 by a folder",
                link.display(),
                shell_quoted(&named)
            ))
            .into());
        }
        let mut given = vec![base];
        given.extend(listed_paths(own_floor.write.as_deref(), home().as_deref(), folder));
        let is_here = std::env::current_dir().is_ok_and(|here| here == folder);
        if !own_floor.is_on() || is_here || given.iter().any(|given| is_within(folder, given)) {
            return Ok(());
        }
        let (file, named) = (self.origin(), folder.to_string_lossy());
        Err(UsageError(format!(
            "{file} asks to work in {named} (`workspace`), which is not in the folder of that file, and your own config.toml does not \
             allow agents to write there: name that folder yourself with --workspace {}, or add it to `write` in [sandbox] of config.toml",
            shell_quoted(&named)
        ))
        .into())
    }

    /// The workflow, held to a floor. What decides about an agent stays as it is where it lies in the agent's tree: the task
    /// itself, and whatever was read with it.
    ///
    /// # Errors
    /// [`SandboxError`] where a role asks for more than the floor allows.
    pub(super) fn confined(
        &self,
        workflow: Workflow,
        floor: &Sandbox,
        named: Vec<String>,
        workspace: Option<&Path>,
    ) -> Result<Workflow, SandboxError> {
        let mut workflow = workflow.confined(floor)?;
        let mut files = named;
        if let Task::File(path) | Task::Plan(path) | Task::ReopenedPlan(path) = self
            && let Ok(path) = std::path::absolute(path)
        {
            files.push(path.to_string_lossy().into_owned());
        }
        let roles = workflow.roles.values();
        files.extend(roles.flat_map(|role| [role.script.clone(), role.program.clone()]).flatten());
        files.extend(workflow.policies.references().into_iter().map(str::to_owned));
        if let Some(workspace) = workspace.and_then(|workspace| workspace.canonicalize().ok()) {
            files.extend(CommandFiles::of(&workflow, &workspace).kept());
            files.push(workspace.join(LOCK_FILE).to_string_lossy().into_owned());
        }
        if let Ok(base) = self.base() {
            files.push(base.join(LOCK_FILE).to_string_lossy().into_owned());
        }
        workflow.protect(&files);
        workflow.next_run_files = self.next_run_files(&workflow, &files, workspace);
        // Before anything is run: no program of the host comes from where its agents can write.
        let home = std::env::var_os("HOME").map(PathBuf::from);
        exclude_listed(&workflow.writable_by_agents(), home.as_deref(), workspace.unwrap_or(Path::new("")));
        Ok(workflow)
    }
}

/// Whether a path without links is a folder or lies in it. A folder that does not exist has nothing in it.
fn is_within(path: &Path, folder: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| path.starts_with(folder))
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}

/// Hides what hidden paths of a workspace lead to as well, by links on the way: an agent can exchange a link, and its successor
/// would find the file under its own name.
pub(super) fn hide_link_targets(workflow: &mut Workflow, workspace: &Path) {
    let Ok(root) = workspace.canonicalize() else { return };
    let home = home();
    let behind = |path: &String| {
        let at = match (path.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => root.join(path),
        };
        let real = at.canonicalize().ok()?;
        let within = real.strip_prefix(&root).ok()?.to_str().filter(|within| !within.is_empty())?;
        Some(within.to_owned())
    };
    for role in workflow.roles.values_mut() {
        let hide = &mut role.sandbox.hide;
        let more: Vec<String> = hide.iter().filter_map(behind).collect();
        for path in more {
            if !hide.contains(&path) {
                hide.push(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use baton_runtime::core::workflow::{AgentKind, Role, SandboxLevel};
    use baton_runtime::sandbox::distrust_links;

    use super::*;

    // N6: past the floor of the user, an agent read and wrote whatever folder the file of a clone named.
    #[test]
    fn a_file_names_no_workspace_that_the_floor_does_not_give() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for folder in ["clone/site", "clone-of-another", "keys", "given/deep"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink("../keys", root.join("clone/data")).unwrap();
        std::os::unix::fs::symlink("given", root.join("linked")).unwrap();
        let task = Task::File(root.join("clone/job.toml"));
        let listed = root.join("linked").to_str().unwrap().to_owned();
        let level = |level: SandboxLevel| Sandbox { write: Some(vec![listed.clone()]), ..Sandbox::of(level) };
        let said = |folder: &str, floor: &Sandbox, named: Option<PathBuf>| {
            let written = root.join("clone").join(folder);
            let real = written.canonicalize().unwrap();
            let written = WorkspaceChoice::Folder(written.to_str().unwrap().to_owned());
            let workflow = Workflow { workspace: Some(written), ..Workflow::default() };
            let location = LocationArgs { workspace: named, state_dir: None };
            let result = task.expect_allowed_workspace(&location, &workflow, Some(&real), floor);
            result.err().map(|error| error.to_string())
        };
        for on in [SandboxLevel::Write, SandboxLevel::Strict].map(level) {
            for allowed in [".", "site", "data/../clone/site", "../given", "../given/deep", "../linked/deep"]
            {
                assert_eq!(said(allowed, &on, None), None, "{allowed}");
            }
            for refused in ["../keys", "data", "..", "../clone-of-another", "site/../../keys"] {
                let error = said(refused, &on, None).unwrap_or_else(|| panic!("{refused}"));
                assert!(error.contains("/clone/job.toml asks to work in"), "{error}");
                assert!(error.contains("--workspace") && error.contains("`write` in [sandbox]"), "{error}");
                assert_eq!(said(refused, &on, Some(root.join("keys"))), None, "a person names it");
            }
        }
        let none = Sandbox::of(SandboxLevel::Write);
        assert!(said("../given", &none, None).is_some());
        assert_eq!(said("../keys", &level(SandboxLevel::Off), None), None);
    }

    // N6: an agent put a link in the place of the folder `site`, and the next run of the file worked where it led.
    #[test]
    fn a_file_names_no_workspace_by_a_link_that_an_agent_may_have_made() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for folder in ["worked-in/real", "own", "keys/deep"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (link, to) in [
            ("worked-in/site", "keys"),
            ("worked-in/within", "worked-in/real"),
            ("own/link", "keys"),
            ("own/to-tree", "worked-in"),
            ("own/twice", "worked-in/site"),
        ] {
            std::os::unix::fs::symlink(root.join(to), root.join(link)).unwrap();
        }
        let said = |file: &str, written: &str, level, named: Option<PathBuf>| {
            let task = Task::File(root.join(file).join("job.toml"));
            let written = root.join(file).join(written);
            let real = written.canonicalize().unwrap();
            let written = WorkspaceChoice::Folder(written.to_str().unwrap().to_owned());
            let workflow = Workflow { workspace: Some(written), ..Workflow::default() };
            let location = LocationArgs { workspace: named, state_dir: None };
            let floor = Sandbox::of(level);
            let result = task.expect_allowed_workspace(&location, &workflow, Some(&real), &floor);
            result.err().map(|error| error.to_string())
        };
        let off = SandboxLevel::Off;
        assert_eq!(said("worked-in", "site", off, None), None, "no agent has worked there yet");
        distrust_links(&root.join("worked-in"));
        for level in [off, SandboxLevel::Write, SandboxLevel::Strict] {
            for (file, refused) in [
                ("worked-in", "site"),
                ("worked-in", "site/deep"),
                ("worked-in", "within"),
                ("worked-in", "real/../site"),
                ("own", "twice"),
                ("own", "../worked-in/site"),
            ] {
                let error = said(file, refused, level, None).unwrap_or_else(|| panic!("{level:?} {refused}"));
                assert!(error.contains("/job.toml asks to work in"), "{error}");
                assert!(error.contains("is a link in a folder in which agents have worked"), "{error}");
                assert_eq!(said(file, refused, level, Some(root.join("keys"))), None, "a person names it");
            }
            assert_eq!(said("worked-in", "real", level, None), None);
        }
        for own in ["link", "link/deep", "to-tree", "to-tree/real"] {
            assert_eq!(said("own", own, off, None), None, "a link of the user: {own}");
        }
        assert_eq!(said("worked-in/within", ".", off, None), None, "a person names the file");
    }

    // N6
    #[test]
    fn what_a_hidden_link_leads_to_is_hidden_by_its_own_name() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("real")).unwrap();
        for (name, to) in [(".env", "env.local"), ("conf", "real"), ("out", "/etc")] {
            std::os::unix::fs::symlink(to, place.path().join(name)).unwrap();
        }
        std::fs::write(place.path().join("env.local"), "").unwrap();
        std::fs::write(place.path().join("real/secrets"), "").unwrap();
        let mut workflow = Workflow::default();
        let role = workflow.roles.entry("executor".into()).or_insert_with(|| Role::of(AgentKind::Rehearsal));
        role.sandbox.hide = [".env", "conf/secrets", "out/passwd", "plain"].map(str::to_owned).to_vec();
        hide_link_targets(&mut workflow, place.path());
        let hidden = &workflow.roles.values().next().unwrap().sandbox.hide;
        assert_eq!(hidden, &[".env", "conf/secrets", "out/passwd", "plain", "env.local", "real/secrets"]);
    }
}
