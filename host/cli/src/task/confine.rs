//! How far a task is confined: what nobody goes below, and the files that stay as they are.

use std::path::{Path, PathBuf};

use baton_runtime::core::Workflow;
use baton_runtime::core::workflow::{Sandbox, SandboxError};

use super::Task;

impl Task {
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
        workflow.protect(&files);
        Ok(workflow)
    }
}

/// Hides what hidden paths of a workspace lead to as well, by links on the way: an agent can exchange a link, and whoever comes after it
/// would find the file under its own name.
pub(super) fn hide_behind_links(workflow: &mut Workflow, workspace: &Path) {
    let Ok(root) = workspace.canonicalize() else { return };
    let home = std::env::var_os("HOME").map(PathBuf::from);
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
    use baton_runtime::core::workflow::{AgentKind, Role};

    use super::*;

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
        hide_behind_links(&mut workflow, place.path());
        let hidden = &workflow.roles.values().next().unwrap().sandbox.hide;
        assert_eq!(hidden, &[".env", "conf/secrets", "out/passwd", "plain", "env.local", "real/secrets"]);
    }
}
