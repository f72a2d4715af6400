//! The outcome of an intent, as its host reports it. Decides nothing.

use serde::{Deserialize, Serialize};

use crate::facts::{Capabilities, WorkspaceFacts};
use crate::view::CommitSummary;

use super::ArtifactRef;

/// What became of an intent. One an intent, whatever happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum ActionOutcome {
    /// Of `Spawn`: the process runs. `Ready` follows as an event.
    Spawned {
        /// Its process group.
        group: u32,
        /// Start time of the group's leader as the system gives it (clock ticks since boot on Linux); tells a
        /// recycled id from the process itself.
        started: u64,
        /// What it and its driver can do.
        capabilities: Capabilities,
    },
    /// Of `Prompt`, `Compact`, `Interrupt`, `EndSession`: the agent has it. What it does with it comes as events.
    Delivered,
    /// Of `MeasureWorkspace`.
    #[serde(rename = "assessed")]
    WorkspaceMeasured {
        /// What is on disk.
        facts: WorkspaceFacts,
    },
    /// Of `WriteHandoff`.
    HandoffWritten {
        /// Workspace-relative.
        path: String,
        /// Name and version of the artifact.
        artifact: ArtifactRef,
        /// The same for its index (C16).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<ArtifactRef>,
    },
    /// Of `ValidateHandoff`.
    Inspected {
        /// Paths that the document names, and that are neither in the workspace nor in the store.
        missing_files: Vec<String>,
        /// Kinds of secrets found in it; never the secret.
        secrets: Vec<String>,
        /// Commits since it was made.
        commits_since: u32,
        /// The branch is another one, or no longer holds the commit that it was made at.
        diverged: bool,
    },
    /// Of `WriteSummaries`.
    SummariesWritten {
        /// Names and versions of the artifacts.
        artifacts: Vec<ArtifactRef>,
    },
    /// Of `Offload`.
    Offloaded {
        /// What was kept, by the names that were asked for.
        artifacts: Vec<ArtifactRef>,
    },
    /// Of `Verify`.
    Verified {
        /// The command exited 0.
        passed: bool,
        /// Its exit code, absent where a signal ended it.
        code: Option<i32>,
        /// The tail of what it printed, at most 4 KiB.
        findings: String,
        /// Everything it printed.
        artifact: Option<ArtifactRef>,
    },
    /// Of `Checkpoint`.
    Checkpointed {
        /// The commit that sub-phases start from; absent where there is no git work tree to branch off, so that they share
        /// the folder (C11).
        base: Option<String>,
    },
    /// Of `CreateWorktree`: the tree is there and ready.
    Branched,
    /// Of `CommitWorktree`.
    Committed {
        /// The commit with everything of the work.
        commit: String,
        /// Files that were asked about and are not in it, nor in the tree.
        missing: Vec<String>,
        /// Files that were asked about and lie in the tree, and that git ignores or was told not to look at.
        ignored: Vec<String>,
        /// What else git ignores there and the workspace does not have, at most 100 paths; a folder ends in `/`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unseen: Vec<String>,
    },
    /// Of `CommitToBranch`.
    CommittedToBranch {
        /// The commit; absent where nothing was left to commit.
        commit: Option<CommitSummary>,
        /// Files that the phase changed and that were changed before the run began, at most 100: they stay as they are.
        left: Vec<String>,
        /// New files that its checks and its reviewers made, at most 100: they stay as they are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        by_checks: Vec<String>,
    },
    /// Of `RestoreWorktree`: how the tree differed from the commit, workspace-relative, at most 100 files a list.
    Restored {
        /// Files that were not as they are in the commit.
        changed: Vec<String>,
        /// Files of the commit that were gone.
        gone: Vec<String>,
        /// Files that the commit does not have.
        added: Vec<String>,
    },
    /// Of `Merge`: it is in.
    Merged {
        /// The commit that holds it now.
        commit: String,
        /// Files that it brought or changed.
        files: u32,
    },
    /// Of `AbortMerge`: no merge stands open there.
    Unmerged,
    /// Of `CommitWorktree`, `Merge` and `Land`: a merge is open in the tree where the parts come together, and waits for an agent or the user to
    /// resolve it. Nothing else was changed.
    Conflicted {
        /// Files with conflicts, workspace-relative, at most 100.
        files: Vec<String>,
    },
    /// Of `Land`: the place where the phase began had changed meanwhile. The change is merged into the tree where the
    /// parts came together; what is there now is not verified yet.
    Updated,
    /// Of `Land`: everything is where the phase began.
    Landed {
        /// The commit with everything.
        commit: String,
        /// The branch there holds it; false where there was uncommitted work, which it joined as files.
        committed: bool,
        /// Files that it brought or changed.
        files: u32,
    },
    /// Of `AskUser` and `Finish`: people and files know.
    Announced,
    /// It did not work. Nothing is retried by the runtime: core decides.
    Failed {
        /// What was tried, on what, and what the system said.
        error: String,
    },
    /// Of `Spawn`: the agent cannot be started here, and trying again cannot help until a person has changed something.
    Unstartable {
        /// What was tried, and what is missing.
        error: String,
    },
    /// Found open at a restart, and the world shows no trace of it: it did not happen, or died with the host.
    Lost,
}

impl ActionOutcome {
    /// Of `CommitToBranch`, where nothing was left to commit.
    pub fn nothing_to_commit() -> Self {
        Self::CommittedToBranch { commit: None, left: Vec::new(), by_checks: Vec::new() }
    }
}
