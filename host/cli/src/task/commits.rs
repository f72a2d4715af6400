//! `--commit` and `--commit-branch`: what the command line says of commits, whatever the file says.

use baton_runtime::core::Workflow;
use baton_runtime::core::workflow::{CommitTime, branch_name_error};
use clap::Args;

/// When a new run commits, and on which branch. A run that is resumed keeps what it began with.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CommitOptions {
    /// Commit what changed after each phase, or as WHEN says: phase, objective or off. No hook of the repository runs
    /// [default: the file's, else off]
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "phase")]
    #[arg(value_parser = commit_time)]
    commit: Option<CommitTime>,
    /// Commit on a branch that is made for this run, `{run}` in its name replaced by the run's id: 'work/{run}'
    /// [default: the file's, else the branch that is checked out]
    #[arg(long, value_name = "NAME", value_parser = branch_name)]
    commit_branch: Option<String>,
}

fn commit_time(word: &str) -> Result<CommitTime, String> {
    let times = [CommitTime::Phase, CommitTime::Objective, CommitTime::Off];
    let named = times.into_iter().find(|time| time.name() == word);
    named.ok_or_else(|| "it must be phase, objective or off".to_owned())
}

fn branch_name(name: &str) -> Result<String, String> {
    match branch_name_error(name) {
        None => Ok(name.to_owned()),
        Some(fault) => {
            Err(format!("\"{name}\" {fault}; a name with the run's id works for every run: 'work/{{run}}'"))
        }
    }
}

impl CommitOptions {
    /// Lays them over what the file says. A named branch asks for commits.
    ///
    /// # Errors
    ///
    /// A branch where `--commit=off`.
    pub(crate) fn lay_over(&self, workflow: &mut Workflow) -> Result<(), String> {
        if let Some(when) = self.commit {
            workflow.commits.when = when;
            workflow.phases.iter_mut().for_each(|phase| phase.commit = None);
        }
        let Some(branch) = &self.commit_branch else { return Ok(()) };
        if self.commit == Some(CommitTime::Off) {
            return Err(
                "--commit-branch and --commit=off exclude each other: leave one of them out".to_owned()
            );
        }
        workflow.commits.branch = Some(branch.clone());
        let commits = |phase| workflow.commit_time(phase) != CommitTime::Off;
        if !workflow.phases.iter().any(commits) {
            workflow.commits.when = CommitTime::Phase;
            workflow.phases.iter_mut().for_each(|phase| phase.commit = None);
        }
        Ok(())
    }

    /// The flags and their values, as they were typed.
    pub(crate) fn words(&self) -> Vec<String> {
        let commit = self.commit.map(|when| format!("--commit={}", when.name()));
        let branch = self.commit_branch.iter().flat_map(|name| ["--commit-branch".to_owned(), name.clone()]);
        commit.into_iter().chain(branch).collect()
    }

    /// The flags that ask for something else than what this run began with.
    pub(crate) fn beyond(&self, run: &Workflow) -> Vec<&'static str> {
        let mut flags = Vec::new();
        if self.commit.is_some_and(|when| run.phases.iter().any(|phase| run.commit_time(phase) != when)) {
            flags.push("--commit");
        }
        if self.commit_branch.is_some() && self.commit_branch != run.commits.branch {
            flags.push("--commit-branch");
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommitTestCli {
        #[command(flatten)]
        commits: CommitOptions,
    }

    #[test]
    fn flags_are_said_again_as_typed() {
        let typed = ["x", "--commit=objective", "--commit-branch", "work/{run}"];
        assert_eq!(CommitTestCli::try_parse_from(typed).unwrap().commits.words(), typed[1..]);
    }
}
