//! How far a task is confined: what nobody goes below, and the files that stay as they are.

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
        if let Task::File(path) | Task::Plan(path) = self
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
