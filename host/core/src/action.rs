//! The actions of core. An action is data: committed to the journal first, performed after, and answered by exactly one
//! [`Outcome`](crate::input::ActionOutcome).

use serde::{Deserialize, Serialize};

use crate::facts::TokenUsage;
use crate::ids::{ActionId, ObjectiveId, PhaseId, RequestId, RoleName, SessionId};
use crate::input::PauseAnswer;
use crate::observation::{PolicyRequest, PromptKind};
use crate::progress::ProgressEvent;
pub use crate::run_outcome::RunOutcome;
use crate::serde_defaults::is_default;
use crate::text::TextBlob;
use crate::workflow::{AgentKind, PolicyScope};
use crate::worktree::WorktreeName;

/// An action with the id under which its outcome comes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// Counted by core from 1; the same in every replay.
    pub id: ActionId,
    /// What to do.
    pub action: Action,
}

/// Something with an effect outside core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// Start an agent process.
    Spawn(SpawnSpec),
    /// Send a prompt to an agent that is ready and idle.
    Prompt {
        /// The session that is prompted.
        session: SessionId,
        /// Ordinal in the session, from 1.
        prompt: u32,
        /// What the prompt is for.
        kind: PromptKind,
        /// The objectives it is about.
        focus: Vec<ObjectiveId>,
        /// The text of the prompt.
        text: TextBlob,
    },
    /// Ask the agent to compact its context.
    Compact {
        /// The session that compacts its context.
        session: SessionId,
        /// What to keep in mind; may be empty.
        instructions: String,
    },
    /// Break off the prompt that the agent works on.
    Interrupt {
        /// The session that works on the prompt.
        session: SessionId,
    },
    /// End an agent: politely, then by force, with everything it started.
    #[serde(rename = "end")]
    EndSession {
        /// The session that ends.
        session: SessionId,
        /// Why it ends, one sentence.
        reason: String,
    },
    /// Measure the files on disk (A5).
    #[serde(rename = "assess")]
    MeasureWorkspace {
        /// The phase that is measured.
        phase: PhaseId,
        /// Remember this state as the start of the phase; later measurements are compared with it.
        baseline: bool,
        /// Files that the objectives in focus name.
        expected: Vec<String>,
        /// The tree that is measured.
        #[serde(default, skip_serializing_if = "is_default")]
        tree: WorktreeName,
    },
    /// Ask a policy. Not durable: at a restart the question is put again.
    RequestDecision {
        /// The id that the answer has.
        #[serde(rename = "request")]
        request_id: RequestId,
        /// The question, with its texts.
        #[serde(rename = "question")]
        request: PolicyRequest,
        /// The scope in which the asked policy decides.
        #[serde(default, skip_serializing_if = "is_default")]
        scope: PolicyScope,
    },
    /// Save a handoff as an artifact and project it into the workspace.
    WriteHandoff {
        /// The phase that is handed off.
        phase: PhaseId,
        /// The session that leaves it.
        session: SessionId,
        /// Ordinal in the phase, from 1; each names its predecessor (C13).
        ordinal: u32,
        /// The path of the document, workspace-relative; empty in journals of earlier versions, which named it by its ordinal
        /// (C15).
        #[serde(default, skip_serializing_if = "String::is_empty")]
        path: String,
        /// The document, markdown.
        document: TextBlob,
        /// The index, markdown (C16).
        index: TextBlob,
        /// The full facts that the document and the prompt only refer to: JSON, saved next to them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        facts: Option<TextBlob>,
        /// Changed files beyond those that `facts` lists: if there are any, a separate file lists all of them.
        #[serde(default, skip_serializing_if = "is_default")]
        changed_beyond: u32,
    },
    /// Check a handoff document against the facts before a successor gets it (C8, C9). Changes nothing.
    #[serde(rename = "inspect")]
    ValidateHandoff {
        /// The phase whose handoff it is.
        phase: PhaseId,
        /// The document.
        document: TextBlob,
        /// Commit of HEAD when it was made; empty if there was none.
        head: String,
        /// Branch when it was made.
        branch: String,
        /// The tree in which its author worked.
        #[serde(default, skip_serializing_if = "is_default")]
        tree: WorktreeName,
    },
    /// Write the safety net before a compaction (B2): a summary of the phase and one of the run.
    WriteSummaries {
        /// The phase that is summarised.
        phase: PhaseId,
        /// The summary of the phase, markdown.
        step: TextBlob,
        /// The summary of the run, markdown.
        directory: TextBlob,
    },
    /// Keep large texts that the next prompt refers to instead of embedding them (C4), and project them into the workspace.
    Offload {
        /// The phase whose prompts refer to the texts.
        phase: PhaseId,
        /// The texts that are kept.
        items: Vec<OffloadedInput>,
    },
    /// Run the verification command of a phase.
    Verify {
        /// The phase that is verified.
        phase: PhaseId,
        /// The command, for `sh -c`.
        command: String,
        /// The number of the verification, from 1.
        attempt: u32,
        /// The tree in which the command runs.
        #[serde(default, skip_serializing_if = "is_default")]
        tree: WorktreeName,
    },
    /// Keep the real state of a tree, uncommitted work included, as a commit on a private ref, and make the tree in which
    /// the parts of the phase come together. Changes nothing in `tree` itself.
    Checkpoint {
        /// The phase that is split.
        phase: PhaseId,
        /// The tree in which the phase works.
        tree: WorktreeName,
        /// The tree in which its parts come together.
        #[serde(rename = "joining")]
        integration: WorktreeName,
    },
    /// Make a work tree with a branch of its own, and make it ready.
    #[serde(rename = "branch")]
    CreateWorktree {
        /// The phase that works in the new tree.
        phase: PhaseId,
        /// The name of the new tree.
        tree: WorktreeName,
        /// The commit that the tree starts from.
        base: String,
        /// Commands that make it ready, for `sh -c`, in order (C1).
        setup: Vec<String>,
    },
    /// Commit the content of a tree outside the workspace. From here on this commit is the work: it is verified, reviewed and
    /// merged. If a merge of changes to the place where the phase began is open in the tree, it is concluded.
    #[serde(rename = "commit")]
    CommitWorktree {
        /// The phase whose work is committed.
        phase: PhaseId,
        /// The tree that is committed.
        tree: WorktreeName,
        /// Files that the objectives of the phase name, workspace-relative.
        files: Vec<String>,
        /// Check the tree out again after it: what is not in the commit is removed, so that nothing else can be verified.
        #[serde(default, skip_serializing_if = "is_default")]
        anew: bool,
    },
    /// Commit the changes of a phase in the workspace, on the branch that is checked out there.
    CommitToBranch {
        /// The phase whose changes are committed.
        phase: PhaseId,
        /// The number of the commit in the phase, from 1.
        ordinal: u32,
        /// The message of the commit.
        message: String,
        /// The branch that must be checked out; any if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// These files alone, workspace-relative: others work in the same folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<Vec<String>>,
    },
    /// Compare a tree with the commit of its work, and undo the differences: always added and removed files, and with `whole`
    /// also changed ones. The replaced content is kept on a ref.
    #[serde(rename = "restore")]
    RestoreWorktree {
        /// The phase whose work is in the tree.
        phase: PhaseId,
        /// The tree that is restored.
        tree: WorktreeName,
        /// The commit that the tree is held to.
        commit: String,
        /// Whether changed files are put back too.
        whole: bool,
    },
    /// Commit the work of a sub-phase in its tree, and merge its branch. If a merge of the same branch is open there with its
    /// conflicts resolved, it is concluded; one of another branch is aborted first.
    Merge {
        /// The sub-phase whose work is merged.
        phase: PhaseId,
        /// The tree that holds the work.
        tree: WorktreeName,
        /// The tree that the work goes to.
        into: WorktreeName,
        /// The first line of the commit.
        message: String,
        /// The commit that was verified and reviewed: only this one is merged. Absent for the content of the tree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// Abort the open merge of a tree: the tree is as it was before it.
    #[serde(rename = "unmerge")]
    AbortMerge {
        /// The phase whose tree it is.
        phase: PhaseId,
        /// The tree with the open merge.
        tree: WorktreeName,
    },
    /// Bring the merged work to the place where the phase began: as a whole, or not at all. Unneeded trees are removed after
    /// it; their commits are kept.
    Land {
        /// The phase that was split.
        phase: PhaseId,
        /// The tree that holds the result.
        tree: WorktreeName,
        /// The tree that the result goes to.
        into: WorktreeName,
        /// The checkpoint that everything started from.
        base: String,
        /// Trees of sub-phases whose work is in it.
        merged: Vec<WorktreeName>,
        /// Number of `Updated` answers so far: an update that was not reported was not verified.
        #[serde(default, skip_serializing_if = "is_default")]
        round: u32,
        /// The commit that was verified and reviewed: only this one lands. Absent for the content of the tree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// Ask the user. The intent's id names the question.
    #[serde(rename = "ask")]
    AskUser {
        /// The phase that the question is about; absent for the run.
        phase: Option<PhaseId>,
        /// The question, one or two sentences.
        question: String,
        /// The possible answers.
        choices: Vec<PauseAnswer>,
    },
    /// The run is over.
    Finish {
        /// How the run ended.
        ending: RunOutcome,
    },
    /// Tell the holder of a tool result what becomes of it. Not durable: if the host has ended, the result stays as it is.
    #[serde(rename = "place")]
    DeliverToolResult {
        /// The id of the tool result.
        item: String,
        /// It is kept as an artifact, and a reference goes into the context; otherwise it goes there itself.
        offload: bool,
    },
    /// Notify people. Never journaled as an intent, and has no outcome.
    Notify(ProgressEvent),
}

impl Action {
    /// Whether it has an effect in the world, so that its intent is committed durably before it is performed.
    pub fn is_durable(&self) -> bool {
        !matches!(self, Action::RequestDecision { .. } | Action::DeliverToolResult { .. } | Action::Notify(_))
    }

    /// Whether the runtime answers it with an outcome.
    pub fn has_outcome(&self) -> bool {
        self.is_durable()
    }

    /// A word for logs and errors.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Spawn(_) => "spawn",
            Action::Prompt { .. } => "prompt",
            Action::Compact { .. } => "compact",
            Action::Interrupt { .. } => "interrupt",
            Action::EndSession { .. } => "end",
            Action::MeasureWorkspace { .. } => "assess",
            Action::RequestDecision { .. } => "request-decision",
            Action::WriteHandoff { .. } => "write-handoff",
            Action::ValidateHandoff { .. } => "inspect",
            Action::WriteSummaries { .. } => "write-summaries",
            Action::Offload { .. } => "offload",
            Action::Verify { .. } => "verify",
            Action::Checkpoint { .. } => "checkpoint",
            Action::CreateWorktree { .. } => "branch",
            Action::CommitWorktree { .. } => "commit",
            Action::CommitToBranch { .. } => "commit-to-branch",
            Action::RestoreWorktree { .. } => "restore",
            Action::Merge { .. } => "merge",
            Action::AbortMerge { .. } => "unmerge",
            Action::Land { .. } => "land",
            Action::AskUser { .. } => "ask",
            Action::Finish { .. } => "finish",
            Action::DeliverToolResult { .. } => "place",
            Action::Notify(_) => "notify",
        }
    }
}

/// A text that is kept instead of embedded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffloadedInput {
    /// Its name in the store, and below the task folder.
    pub name: String,
    /// The whole text.
    pub text: TextBlob,
}

/// The agent to spawn. The role in the workflow has the rest (model, permission, environment).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnSpec {
    /// The id of the new session.
    pub session: SessionId,
    /// The phase that the session works on.
    pub phase: PhaseId,
    /// The role that the agent has.
    pub role: RoleName,
    /// The kind of agent.
    pub agent: AgentKind,
    /// 0 for the first session of a phase, k for continuation k of n (A7).
    pub continuation: u32,
    /// Turns it may use, already less what the phase has used (A6); 0 for no cap.
    pub max_turns: u32,
    /// Most turns that it may use, also if it is given more later: the turns after which an agent stops by itself. 0 for no
    /// bound.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turn_ceiling: u32,
    /// Commands that its work must pass. An agent that may edit files may run them itself.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checks: Vec<String>,
    /// The agent's name of the conversation that it continues; a new one if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub conversation: Option<String>,
    /// The session that was in that conversation before.
    #[serde(default, skip_serializing_if = "is_default")]
    pub continues: Option<SessionId>,
    /// What the sessions in that conversation have billed: an agent's totals may continue from there.
    #[serde(default, skip_serializing_if = "is_default")]
    pub billed_before: TokenUsage,
    /// The tree in which the agent works.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tree: WorktreeName,
}

impl Action {
    /// The long texts that it refers to: the journal stores them separately, by digest.
    pub fn texts(&self) -> Vec<&TextBlob> {
        match self {
            Action::Prompt { text, .. } => vec![text],
            Action::WriteHandoff { document, index, facts, .. } => {
                [Some(document), Some(index), facts.as_ref()].into_iter().flatten().collect()
            }
            Action::ValidateHandoff { document, .. } => vec![document],
            Action::WriteSummaries { step, directory, .. } => vec![step, directory],
            Action::Offload { items, .. } => items.iter().map(|item| &item.text).collect(),
            Action::RequestDecision { request, .. } => request.texts.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The same, to give their bodies back after reading.
    pub fn texts_mut(&mut self) -> Vec<&mut TextBlob> {
        match self {
            Action::Prompt { text, .. } => vec![text],
            Action::WriteHandoff { document, index, facts, .. } => {
                [Some(document), Some(index), facts.as_mut()].into_iter().flatten().collect()
            }
            Action::ValidateHandoff { document, .. } => vec![document],
            Action::WriteSummaries { step, directory, .. } => vec![step, directory],
            Action::Offload { items, .. } => items.iter_mut().map(|item| &mut item.text).collect(),
            Action::RequestDecision { request, .. } => request.texts.iter_mut().collect(),
            _ => Vec::new(),
        }
    }
}

/// The name of a file that belongs to a handoff document: "handoffs/phase-1-2.md" and "facts.json" make
/// "handoffs/phase-1-2-facts.json".
pub fn sibling_name(document: &str, what: &str) -> String {
    format!("{}-{what}", document.strip_suffix(".md").unwrap_or(document))
}
