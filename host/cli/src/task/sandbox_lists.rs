//! What lists allow beyond the level of a sandbox, and which file says so.

use std::path::{Path, PathBuf};

use baton_runtime::core::Workflow;
use baton_runtime::core::visible::visible_name;
use baton_runtime::core::workflow::{Sandbox, SharedFiles};
use baton_runtime::sandbox::{listed_paths, shared_files as look_for_shared};

use super::Task;
use crate::args::LocationArgs;
use crate::config_layers::ConfigLayers;
use crate::location::RunLocation;
use crate::render::text_format;

/// Of a list, this much is shown when a run begins.
const LISTED_SHOWN_MAX: usize = 12;

/// What a list of a sandbox names, if it is written.
type ListOfSandbox = fn(&Sandbox) -> Option<Vec<String>>;

/// The lists that give something, by what an agent can do with it.
const SANDBOX_LISTS: [(&str, ListOfSandbox); 3] = [
    ("connect to", |sandbox| {
        sandbox.network.as_ref().map(|targets| targets.iter().map(ToString::to_string).collect())
    }),
    ("read", |sandbox| sandbox.read.clone()),
    ("write", |sandbox| sandbox.write.clone()),
];

/// What confined agents of a workflow can write in a folder, and what has names elsewhere as well; nothing where there is none. Looks at
/// every file, up to a bound.
pub(crate) fn shared_files(workflow: &Workflow, folder: &Path) -> Option<SharedFiles> {
    if !workflow.roles.values().any(|role| role.sandbox.is_on()) {
        return None;
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let listed = listed_paths(Some(&workflow.writable_by_agents()), home.as_deref(), folder);
    Some(look_for_shared(folder, &listed)).filter(SharedFiles::is_worth_telling)
}

impl Task {
    /// "sandbox: by lists, executor can connect to github.com:443 (job.toml); read ~/.cargo (/h/.config/baton/config.toml)"; nothing
    /// where no list gives anything to a role that is confined.
    pub(crate) fn lists_notice(
        &self,
        workflow: &Workflow,
        location: &LocationArgs,
    ) -> anyhow::Result<Option<String>> {
        let read = self.read(location)?;
        let own = read.reading.workflow();
        let layers = ConfigLayers::read(RunLocation::folder(location, own)?.as_deref())?;
        let mut said: Vec<String> = Vec::new();
        for (name, role) in workflow.roles.iter().filter(|(_, role)| role.sandbox.is_on()) {
            let given = SANDBOX_LISTS.iter().filter_map(|(does, list)| {
                let named = list(&role.sandbox).filter(|named| !named.is_empty())?;
                let is_own = own.roles.get(name).is_some_and(|role| list(&role.sandbox).is_some());
                let file = match self {
                    Task::File(path) | Task::Plan(path) | Task::ReopenedPlan(path) if is_own => {
                        Some(path.as_path())
                    }
                    _ => layers.source_of_list(|said| list(said).is_some()),
                };
                let file = file.map(|file| format!(" ({})", visible_name(&file.to_string_lossy())));
                let named = text_format::first_of(&named, LISTED_SHOWN_MAX);
                Some(format!("{does} {named}{}", file.unwrap_or_default()))
            });
            let given = given.collect::<Vec<_>>().join("; ");
            if !given.is_empty() {
                said.push(format!("{name} can {given}"));
            }
        }
        Ok((!said.is_empty()).then(|| format!("sandbox: by lists, {}", said.join(". "))))
    }
}
