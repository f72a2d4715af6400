//! The files of a tree by which a run starts agents without a sandbox: what `strict` keeps as it is, an agent at `write` can change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use baton_core::Workflow;
use baton_core::workflow::Role;

/// Where Python would keep compiled modules. Programs of agents use another folder.
const CACHE: &str = "__pycache__";
/// What is noted of a name that leads to the plan, whose boxes the host itself ticks.
const PLAN: &str = "the plan of the run";

/// Files and folders, relative to the tree. None where all agents of the run are confined, or no agent is.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartedFiles {
    paths: BTreeSet<PathBuf>,
    plan: Option<PathBuf>,
}

impl StartedFiles {
    /// As the workflow began: what an agent makes of them later adds none.
    pub(crate) fn of(workflow: &Workflow, workspace: &Path) -> Self {
        let (confined, free): (Vec<&Role>, Vec<&Role>) =
            workflow.roles.values().partition(|role| role.sandbox.is_on());
        if free.is_empty() {
            return Self::default();
        }
        let within = |path: &str| {
            let path = Path::new(path);
            let within = if path.is_absolute() { path.strip_prefix(workspace).ok()? } else { path };
            let is_file = !within.as_os_str().is_empty() && !within.starts_with("..");
            is_file.then(|| within.to_owned())
        };
        let plan = workflow.plan.as_ref().and_then(|plan| within(&plan.path));
        let kept = confined.iter().flat_map(|role| &role.sandbox.protect);
        let paths = kept.filter_map(|path| within(path)).filter(|path| Some(path) != plan.as_ref()).collect();
        Self { paths, plan }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// What stands at each of them in a tree, and below it, by paths relative to the tree. Reads the files.
    pub(super) fn fingerprints(&self, tree: &Path) -> BTreeMap<PathBuf, String> {
        let mut found = baton_agents::fingerprints_at(tree, &self.paths);
        found.retain(|path, _| !path.iter().any(|part| part == CACHE));
        let plan = self.plan.as_ref().and_then(|plan| tree.join(plan).canonicalize().ok());
        if let Some(plan) = plan {
            let is_plan = |path: &Path| tree.join(path).canonicalize().is_ok_and(|real| real == plan);
            found.iter_mut().filter(|(path, _)| is_plan(path)).for_each(|(_, what)| PLAN.clone_into(what));
        }
        found
    }
}
