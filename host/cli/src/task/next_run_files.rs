//! Files of the workspace that the next run of a task reads or runs. The host compares them by their names while agents work, however many
//! other files there are, and whether git ignores them or not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use baton_registry::LOCK_FILE;
use baton_runtime::core::Workflow;
use baton_runtime::core::check_files::files_named_by;
use baton_runtime::sandbox::LinkWalk;

use super::Task;
use crate::config_layers::WORKSPACE_FILE;

impl Task {
    /// Of these files, by which agents work, those in the workspace, with the settings and the lock of the workspace, and what checks name. Also
    /// every other name by which one of them is reached. Relative to the workspace.
    pub(super) fn next_run_files(
        &self,
        workflow: &Workflow,
        files: &[String],
        workspace: Option<&Path>,
    ) -> Vec<String> {
        let Some(workspace) = workspace.and_then(|workspace| workspace.canonicalize().ok()) else {
            return Vec::new();
        };
        let base = self.base().unwrap_or_else(|_| workspace.clone());
        let (whole, relative): (Vec<&Path>, Vec<&Path>) =
            files.iter().map(Path::new).partition(|file| file.is_absolute());
        let checks = workflow.phases.iter().flat_map(|phase| {
            let of_objectives = phase.objectives.iter().map(|objective| &objective.verify);
            of_objectives.chain([&phase.verify]).flatten()
        });
        let of_checks = checks.flat_map(|check| files_named_by(check)).map(|file| workspace.join(file));
        let relative = relative.iter().flat_map(|file| [base.join(file), workspace.join(file)]);
        let there = relative.chain(of_checks).filter(|file| file.exists());
        // These may be made by an agent.
        let settings = [workspace.join(WORKSPACE_FILE), workspace.join(LOCK_FILE), base.join(LOCK_FILE)];
        let all = whole.into_iter().map(Path::to_owned).chain(there).chain(settings);
        let names: BTreeSet<String> = all
            .flat_map(|file| path_aliases(&file).collect::<Vec<_>>())
            .filter_map(|file| Some(file.strip_prefix(&workspace).ok()?.to_str()?.to_owned()))
            .filter(|name| !name.is_empty() && !self.is_plan(&workspace.join(name)))
            .collect();
        names.into_iter().collect()
    }

    /// Whether it is its plan, whose boxes the host itself ticks.
    fn is_plan(&self, file: &Path) -> bool {
        match self {
            Task::Plan(path) | Task::ReopenedPlan(path) => path.canonicalize().is_ok_and(|real| real == file),
            Task::File(_) | Task::Sentence { .. } => false,
        }
    }
}

/// Every name by which a path is reached: the links on the way, and what they lead to in the end, without links above them.
pub(crate) fn path_aliases(path: &Path) -> impl Iterator<Item = PathBuf> {
    let LinkWalk { links, behind, real } = LinkWalk::of(path);
    links.into_iter().chain(behind).chain([real])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    // N6
    #[test]
    fn what_the_next_run_reads_or_runs_is_named_by_every_way_to_it() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real")).unwrap();
        fs::create_dir_all(root.join("agentd")).unwrap();
        for name in ["job.toml", "real/house.toml", "check.sh"] {
            fs::write(root.join(name), "").unwrap();
        }
        symlink("real", root.join("conf")).unwrap();
        let task = Task::File(root.join("job.toml"));
        let mut workflow = Workflow::default();
        let phase = "name = \"x\"\n[[phases]]\ntitle = \"One\"\nverify = \"sh check.sh\"\ndo = [\"Look\"]\n";
        let read = baton_runtime::core::workflow::file::read(phase, "x", "/", &mut |_| Err(String::new()));
        workflow.phases = read.unwrap().workflow().phases.clone();
        let absolute = |name: &str| root.join(name).to_str().unwrap().to_owned();
        let files =
            [absolute("job.toml"), absolute("agentd"), "conf/house.toml".to_owned(), "builtin:x".into()];
        let files = files.into_iter().chain(["/etc/passwd".to_owned()]).collect::<Vec<_>>();
        let expected = [
            "agentd",
            "baton.lock",
            "baton.toml",
            "check.sh",
            "conf",
            "conf/house.toml",
            "job.toml",
            "real/house.toml",
        ];
        assert_eq!(task.next_run_files(&workflow, &files, Some(&root)), expected);
        let plan = Task::Plan(root.join("job.toml"));
        assert!(!plan.next_run_files(&workflow, &files, Some(&root)).contains(&"job.toml".to_owned()));
        assert_eq!(task.next_run_files(&workflow, &files, None), [""; 0]);
    }
}
