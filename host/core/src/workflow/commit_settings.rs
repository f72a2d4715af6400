//! When the host commits the changes of agents in the workspace, and on which branch. `baton-workspace` knows how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::RunId;

/// Stands for the run's id in the name of a branch.
const RUN: &str = "{run}";

/// What a workflow says of commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitSettings {
    /// After what.
    #[serde(default)]
    pub when: CommitTime,
    /// The branch that is made for them and checked out before the first phase, `{run}` in it; the one that is checked out where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// After what the host commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommitTime {
    /// Never; the default.
    #[default]
    Off,
    /// Between two prompts, where objectives were done, and after each phase.
    Objective,
    /// After each phase that is done.
    Phase,
}

impl CommitTime {
    /// The name in a workflow file.
    pub fn name(self) -> &'static str {
        match self {
            CommitTime::Off => "off",
            CommitTime::Objective => "objective",
            CommitTime::Phase => "phase",
        }
    }
}

impl CommitSettings {
    /// The branch of a run, if it has one of its own.
    pub fn branch_of(&self, run: &RunId) -> Option<String> {
        self.branch.as_ref().map(|branch| branch.replace(RUN, run.as_str()))
    }
}

/// The reason why a name cannot be that of a branch for commits, in words that follow the name; none if it can.
pub fn branch_name_error(name: &str) -> Option<&'static str> {
    let filled = name.replace(RUN, "r");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let is_part = |part: &str| {
        let ends_badly = part.ends_with('.') || part.ends_with(".lock");
        !part.is_empty() && !part.starts_with(['.', '-']) && !ends_badly && !part.contains("..")
    };
    if !filled.chars().all(is_plain) || !filled.split('/').all(is_part) || filled == "HEAD" {
        return Some("is no name of a branch");
    }
    let first = filled.split('/').next().unwrap_or_default();
    // Branches of work trees are below these, and git refuses a branch whose name has others below it.
    (first == "baton" || first == "baton-runs").then_some("is where Baton keeps the branches of work trees")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_git_takes_is_a_branch_for_commits() {
        for good in ["work/{run}", "{run}", "agents", "a/b.c-d_e"] {
            assert_eq!(branch_name_error(good), None, "{good}");
        }
        let bad =
            ["", "a b", "a..b", "/a", "a/", "a//b", "-a", "a/.b", "a.lock", "a.", "@{-1}", "HEAD", "a~1"];
        for bad in bad.into_iter().chain(["baton", "baton/{run}", "baton-runs/x", "ü"]) {
            assert!(branch_name_error(bad).is_some(), "{bad}");
        }
        let commits = CommitSettings { when: CommitTime::Phase, branch: Some("work/{run}".into()) };
        assert_eq!(commits.branch_of(&RunId::new("r-1")).as_deref(), Some("work/r-1"));
        assert_eq!(CommitSettings::default().branch_of(&RunId::new("r-1")), None);
    }
}
