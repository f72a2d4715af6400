//! The state of a run as people and programs see it: names, counts, status, references. Schema version 1.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decision::{Finding, QuotaCause, ReviewDecision, Staleness};
use crate::experiment::Assignment;
use crate::facts::{OccupancySource, Refusal, TokenUsage};
use crate::ids::{ActionId, Digest, ObjectiveId, PhaseId, RunId, SessionId};
use crate::input::{ArtifactRef, PauseAnswer};
use crate::observation::{Capability, EvidenceKind, ObjectiveStatus};
use crate::run_outcome::RunOutcome;
use crate::time::{DurationMs, UnixMs};
use crate::workflow::{ImportedRecording, RunSource};
use crate::worktree::WorktreeName;

/// What became of a session whose agent did not start ([`SessionSummary::ending`]).
pub const COULD_NOT_START: &str = "could not start";

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunView {
    /// Version of this record: 1.
    pub schema: u32,
    /// Its id.
    pub run: RunId,
    /// Name of the workflow.
    pub workflow: String,
    /// What it is for.
    pub goal: String,
    /// Where it stands.
    pub status: RunStatus,
    /// When it began.
    pub started_at: UnixMs,
    /// Wall time so far, quota waits and pauses not counted (B6).
    pub active_ms: DurationMs,
    /// Time spent waiting for providers.
    pub quota_wait_ms: DurationMs,
    /// What it billed.
    pub billed: TokenUsage,
    /// It billed more than that: a prompt was cut off before its agent had said what it took, or tokens have no price.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub billed_at_least: bool,
    /// Its phases, sub-phases after their parent.
    pub phases: Vec<PhaseSummary>,
    /// Questions that wait for a person.
    pub questions: Vec<QuestionSummary>,
    /// The user has begun a new run of the same task since: only `resume` continues this one (D8).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub set_aside: bool,
    /// The experiments that it takes part in (M5).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignments: Vec<Assignment>,
    /// The policies that failed to answer, with how often.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policy_failures: Vec<PolicyFailureSummary>,
    /// Who made how many of its decisions, if more than one policy made some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policy_decisions: Vec<PolicyDecisionsSummary>,
    /// The recording that it was made from, where no host ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedRecording>,
    /// What it was made from, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceSummary>,
}

/// A policy that failed to answer in a run. Questions from which it abstained are not counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyFailureSummary {
    /// Its name.
    pub policy: String,
    /// Digest of its component.
    pub component: Digest,
    /// Digest of its settings: a component with other settings has a row of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Digest>,
    /// Questions on which it failed.
    pub failed: u32,
    /// Questions that it answered.
    pub answered: u32,
    /// The policies that answered where it failed; `native` is the host itself.
    pub instead: Vec<String>,
}

/// A policy that has decided or abstained in a run, whether it still is asked or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyDecisionsSummary {
    /// Its name.
    pub policy: String,
    /// Digest of its component.
    pub component: Digest,
    /// Digest of its settings: a component with other settings has a row of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Digest>,
    /// Questions that it answered, by decision.
    pub decided: BTreeMap<Capability, u32>,
    /// Questions that it abstained from, by decision.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub abstained: BTreeMap<Capability, u32>,
}

/// What a run was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "from")]
pub enum SourceSummary {
    /// A workflow file.
    File {
        /// Where it is.
        path: String,
    },
    /// A plan in Markdown.
    Plan {
        /// Where it is.
        path: String,
    },
    /// A sentence on the command line.
    Sentence {
        /// The sentence.
        text: String,
    },
}

impl From<&RunSource> for SourceSummary {
    fn from(source: &RunSource) -> Self {
        match source {
            RunSource::File { path } => SourceSummary::File { path: path.clone() },
            RunSource::Plan { path, .. } => SourceSummary::Plan { path: path.clone() },
            RunSource::Sentence { text, .. } => SourceSummary::Sentence { text: text.clone() },
        }
    }
}

impl RunView {
    /// Phases that are to be committed and whose last commit failed.
    pub fn not_committed(&self) -> impl Iterator<Item = &PhaseSummary> {
        self.phases.iter().filter(|phase| phase.commit_failed.is_some())
    }

    /// Objectives done and in all, each counted once: a part holds objectives of its parent, and what the host made for
    /// itself (reviews, merges) belongs to no objective.
    pub fn objectives(&self) -> (u32, u32) {
        let roots = self.phases.iter().filter(|phase| phase.origin == PhaseOrigin::Workflow);
        roots.map(|phase| self.objectives_of(phase)).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    }

    /// The same for one phase. While its parts are at work, their done objectives count; when it is over, its own.
    pub fn objectives_of(&self, phase: &PhaseSummary) -> (u32, u32) {
        phase.objectives.iter().fold((0, 0), |(done, all), objective| {
            (done + u32::from(self.is_done(phase, &objective.id)), all + 1)
        })
    }

    fn is_done(&self, phase: &PhaseSummary, id: &ObjectiveId) -> bool {
        let own =
            |objective: &ObjectiveSummary| objective.id == *id && objective.status == ObjectiveStatus::Done;
        let is_part =
            |row: &&PhaseSummary| row.origin == PhaseOrigin::Split && row.parent.as_ref() == Some(&phase.id);
        let is_over = matches!(phase.status, PhaseStatus::Done | PhaseStatus::Skipped);
        phase.objectives.iter().any(own)
            || (phase.split > 0
                && !is_over
                && self.phases.iter().filter(is_part).any(|part| self.is_done(part, id)))
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// Phases are worked on.
    Running,
    /// Nothing moves until a person answers.
    Paused,
    /// It ended.
    Ended(RunOutcome),
}

/// A phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseSummary {
    /// Its id.
    pub id: PhaseId,
    /// The phase it was split from.
    pub parent: Option<PhaseId>,
    /// What it is about.
    pub title: String,
    /// Where it stands.
    pub status: PhaseStatus,
    /// Its objectives.
    pub objectives: Vec<ObjectiveSummary>,
    /// Its sessions, oldest first.
    pub sessions: Vec<SessionSummary>,
    /// Turns used by all its sessions.
    pub turns: u32,
    /// Turns it may use; 0 for no cap.
    pub max_turns: u32,
    /// Continuations used.
    pub continuation: u32,
    /// Continuations allowed.
    pub continuations: u32,
    /// What it billed.
    pub billed: TokenUsage,
    /// Policies that decide in it: "name@digest"; if there are several, each with what it decides and last the one that
    /// decides the rest: "torch@digest (handoff), resilience@digest".
    pub policy: String,
    /// Number of sub-phases it was split into.
    pub split: u32,
    /// Last verification: passed or not.
    pub verified: Option<bool>,
    /// Its checks that run files which the work changed: what they show is the work's own word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modified_checks: Vec<ModifiedCheck>,
    /// The quota wait it is in.
    pub quota: Option<QuotaSummary>,
    /// When that wait began, ISO 8601 (B9); absent while it does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_wait_since: Option<String>,
    /// Its handoffs, newest first.
    pub handoffs: Vec<HandoffSummary>,
    /// Artifacts that the host wrote for it.
    pub artifacts: Vec<ArtifactRef>,
    /// Why there is this phase.
    #[serde(default)]
    pub origin: PhaseOrigin,
    /// What its last review gave it, of 100.
    #[serde(default)]
    pub score: Option<u32>,
    /// Which time the loop walks through it, from 1; 1 where there is none (B10).
    #[serde(default)]
    pub iteration: u32,
    /// Where it works: a work tree's name; empty for the workspace.
    #[serde(default)]
    pub tree: WorktreeName,
    /// What the host committed of it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<CommitSummary>,
    /// Why its last commit failed; absent if it was made, or if none was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_failed: Option<String>,
}

/// A check that runs files which the work changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModifiedCheck {
    /// The command.
    pub command: String,
    /// The files, workspace-relative.
    pub files: Vec<String>,
}

/// A commit that the host made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitSummary {
    /// Its full id.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
    /// The branch that holds it; empty where none was checked out.
    pub branch: String,
    /// Files that differ from the commit before it.
    pub files: u32,
    /// Lines that came, of files that are text.
    pub added: u64,
    /// Lines that went, of files that are text.
    pub removed: u64,
}

/// Why there is a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseOrigin {
    /// The workflow has it.
    #[default]
    Workflow,
    /// A split made it (D4).
    Split,
    /// The host made it to have its parent reviewed.
    Review,
    /// The host made it to bring parts together: a conflict to resolve, or results to synthesise.
    Merge,
}

impl PhaseOrigin {
    /// Whether it is a part of the work that was asked for, and not a help of the host's.
    pub fn is_part(self) -> bool {
        matches!(self, PhaseOrigin::Workflow | PhaseOrigin::Split)
    }
}

/// Where a phase stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseStatus {
    /// Waits for another phase, or for a free place.
    Pending,
    /// Its scope is judged.
    Scoping,
    /// An agent is being started.
    Starting,
    /// An agent works.
    Working,
    /// The agent waits for a person.
    WaitingApproval,
    /// Waits for a provider's limit to reset.
    WaitingQuota,
    /// Waits before a retry.
    Waiting,
    /// The agent makes room in its context.
    Compacting,
    /// Passes from one session to the next.
    HandingOff,
    /// Its verification runs.
    Verifying,
    /// A reviewer looks at it.
    UnderReview,
    /// What its sub-phases made comes together.
    Merging,
    /// Waits for a person.
    Paused,
    /// Forked into sub-phases.
    Split,
    /// All its objectives are done and verified.
    Done,
    /// A person left it open.
    Skipped,
}

/// An objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveSummary {
    /// Its id.
    pub id: ObjectiveId,
    /// What is to be done.
    pub description: String,
    /// Where it stands.
    pub status: ObjectiveStatus,
    /// The session that finished it.
    pub by: Option<SessionId>,
    /// What shows that it is done (A11); absent while it is not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_by: Option<EvidenceKind>,
    /// The policy that judged it to be done, if that is not Baton's; absent while it is not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_by: Option<String>,
    /// What an agent said of it last, cut.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// A command checks it: its own, or that of its phase.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_check: bool,
    /// Whether the last run of a check of it passed; absent before the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_passed: Option<bool>,
    /// Every command that checks it passed before any work as well, so that it shows nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passed_before: bool,
    /// When an agent was first asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<UnixMs>,
    /// When its status or note last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<UnixMs>,
    /// When it was done, while it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<UnixMs>,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionSummary {
    /// Its id.
    pub id: SessionId,
    /// The agent; of one with a command its program as well ("acp:opencode").
    pub agent: String,
    /// k; 0 for the first.
    pub continuation: u32,
    /// It finishes the rest as the lead (C18).
    pub lead: bool,
    /// What became of it; empty while it lives.
    pub ending: String,
    /// Turns used.
    pub turns: u32,
    /// Tokens in its window, where known.
    pub used_tokens: Option<u64>,
    /// Size of its window, where known.
    pub window_tokens: Option<u64>,
    /// Where `used_tokens` came from.
    pub source: OccupancySource,
    /// Warned about its occupancy.
    pub warned: bool,
    /// What it did last ("Write src/a.rs").
    pub last: String,
    /// What it billed.
    pub billed: TokenUsage,
    /// Tokens of these for which its agent has named no price (yet).
    #[serde(default, skip_serializing_if = "no_tokens")]
    pub unpriced_tokens: u64,
    /// Prompts that were cut off before its agent had said what they took: what the last call of each took is not in `billed`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_prompts: u32,
    /// What its sandbox, its role and the host refused it, the first of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refusal>,
    /// Calls that its role, or the rules of its agent, did not allow, each time counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused_calls: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn no_tokens(count: &u64) -> bool {
    *count == 0
}

/// A quota wait (B9: `since` survives a restart).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaSummary {
    /// Why.
    pub cause: QuotaCause,
    /// Since when.
    pub since: UnixMs,
    /// Until when, where anything said so.
    pub until: Option<UnixMs>,
}

/// A reset further away than this is a misread date, which the run does not wait for either.
const PLAUSIBLE_RESET_DELAY: DurationMs = DurationMs::from_mins(8 * 24 * 60);

/// Whether a wait that began at `since` can last until then.
pub fn is_plausible_reset(since: UnixMs, until: UnixMs) -> bool {
    until > since && until.since(since) <= PLAUSIBLE_RESET_DELAY
}

impl QuotaSummary {
    /// The reported reset time, if it is plausible.
    pub fn plausible_until(&self) -> Option<UnixMs> {
        self.until.filter(|until| is_plausible_reset(self.since, *until))
    }
}

/// A handoff.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffSummary {
    /// Where it lies now, workspace-relative: in the archive, once its phase is over (C21).
    pub path: String,
    /// Left by.
    pub session: SessionId,
    /// The artifact.
    pub artifact: ArtifactRef,
    /// Its index (C16); absent in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<ArtifactRef>,
    /// The complete facts that it refers to, workspace-relative.
    pub facts: String,
    /// The handoff before it, workspace-relative (C13).
    pub predecessor: Option<String>,
    /// The last word of the policy on it; absent where none could be asked (C8).
    pub review: Option<ReviewSummary>,
    /// What became of a document that was refused.
    pub repair: HandoffRepair,
    /// The review that refused the first document.
    pub refused: Option<ReviewSummary>,
    /// What the document leaves out, and where that is.
    pub left_out: Vec<String>,
    /// The lead, not a successor, finishes the rest (C18).
    pub lead: bool,
    /// Commit of HEAD when it was made; empty where there was none.
    pub head: String,
    /// Branch when it was made.
    pub branch: String,
    /// It is for the phases after this one, which is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closes: bool,
}

/// How a handoff document came to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HandoffRepair {
    /// The policy's document was accepted.
    #[default]
    None,
    /// It was refused, and composed again without the words of agents and tools.
    FromFacts,
    /// That was refused too: the host's own plain document.
    Plain,
}

/// A review of a handoff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewSummary {
    /// 0 to 100.
    pub score: u32,
    /// A successor may start from it.
    pub accepted: bool,
    /// What is wrong with it, the costliest first.
    pub findings: Vec<Finding>,
    /// How old it was when a session last started from it.
    pub staleness: Staleness,
    /// The policy that reviewed it, if that is not Baton's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl From<&ReviewDecision> for ReviewSummary {
    fn from(review: &ReviewDecision) -> Self {
        let mut findings = review.findings.clone();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.cost));
        Self {
            score: review.score,
            accepted: review.accepted,
            findings,
            staleness: review.staleness,
            by: None,
        }
    }
}

/// A question that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionSummary {
    /// Under which id it is answered.
    pub id: ActionId,
    /// About which phase.
    pub phase: Option<PhaseId>,
    /// The question.
    pub text: String,
    /// What can be answered.
    pub choices: Vec<PauseAnswer>,
}
