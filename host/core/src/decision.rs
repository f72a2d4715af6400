//! The decisions of a policy, the faults in place of one, and the provenance of each. The records mirror `wit/` one to one.

mod verdict;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::capability::Capability;
use crate::facts::SignalSource;
use crate::ids::{Digest, ObjectiveId, Seq};

pub use verdict::{QuotaCause, Verdict};

/// A policy's answer, by the function that was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "function", content = "answer", rename_all = "kebab-case")]
pub enum Decision {
    /// Of `exhaustion.assess`.
    #[serde(rename = "assess")]
    Exhaustion(Assessment),
    /// Of `completion.decide`.
    #[serde(rename = "complete")]
    Completion(CompletionDecision),
    /// Of `recovery.decide`.
    #[serde(rename = "recover")]
    Recovery(RecoveryDecision),
    /// Of `compaction.decide`.
    Compaction(CompactionDecision),
    /// Of `offloading.decide`.
    #[serde(rename = "offload")]
    Offloading(OffloadingDecision),
    /// Of `splitting.decide`.
    #[serde(rename = "split")]
    Splitting(SplitDecision),
    /// Of `budgeting.decide`.
    #[serde(rename = "budget")]
    Budgeting(TurnBudget),
    /// Of `prompting.compose`.
    #[serde(rename = "brief")]
    Prompting(PromptDraft),
    /// Of `handoff.compose`.
    #[serde(rename = "compose")]
    Handoff(HandoffDraft),
    /// Of `review.assess`.
    Review(ReviewDecision),
}

impl Decision {
    /// The one-sentence reason for a person.
    pub fn reason(&self) -> &str {
        match self {
            Decision::Exhaustion(d) => &d.reason,
            Decision::Completion(d) => &d.reason,
            Decision::Recovery(d) => &d.reason,
            Decision::Compaction(d) => &d.reason,
            Decision::Offloading(d) => &d.reason,
            Decision::Splitting(d) => &d.reason,
            Decision::Budgeting(d) => &d.reason,
            Decision::Prompting(d) => &d.reason,
            Decision::Handoff(d) => &d.reason,
            Decision::Review(d) => &d.reason,
        }
    }
}

/// `types.evidence`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Where it came from.
    pub channel: SignalSource,
    /// `seq` of the signal; absent for evidence that is no signal.
    pub seq: Option<Seq>,
    /// What was seen.
    pub text: String,
}

/// `questions.assessment`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assessment {
    /// How the session is, or why it stopped.
    pub verdict: Verdict,
    /// What the verdict rests on.
    pub evidence: Vec<Evidence>,
    /// Something a person should know, that stops nothing (D5).
    pub warning: Option<String>,
    /// For a person.
    pub reason: String,
}

/// `questions.completion-decision`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionDecision {
    /// Those of the prompt's objectives that are done.
    pub done: Vec<ObjectiveId>,
    /// What that rests on.
    pub evidence: Vec<Evidence>,
    /// For a person.
    pub reason: String,
}

/// `questions.recovery-action`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum RecoveryAction {
    /// Nothing: look again at the next occasion; at a provider's limit, wait until it resets.
    Wait,
    /// Prompt it again.
    Nudge,
    /// Interrupt the prompt, then nudge.
    Interrupt,
    /// End it; a new session continues from its handoff.
    HandOff,
    /// End it; a new session tries again.
    Retry,
    /// The same with the agent of another role of the workflow.
    OtherRole {
        /// Which.
        role: String,
    },
    /// End it and ask for smaller scopes.
    Split,
    /// Ask a person this.
    AskPerson {
        /// The question.
        question: String,
    },
}

/// `questions.recovery-decision`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryDecision {
    /// What to do.
    pub action: RecoveryAction,
    /// For a person.
    pub reason: String,
}

/// `questions.compaction-action`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum CompactionAction {
    /// Go on.
    Keep,
    /// Compact now.
    Compact {
        /// What the agent should keep in mind, where anything.
        instructions: Option<String>,
    },
    /// Continue in a new session.
    HandOff,
}

/// `questions.compaction-decision`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionDecision {
    /// What to do.
    pub action: CompactionAction,
    /// For a person.
    pub reason: String,
}

/// `questions.offloading-decision`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffloadingDecision {
    /// Ids of the items to replace; empty keeps all.
    pub items: Vec<String>,
    /// For a person.
    pub reason: String,
}

/// `questions.order`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkStyle {
    /// Plan first, then act.
    MiniPlan,
    /// Act.
    Direct,
}

/// `questions.sub-phase`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubPhase {
    /// What it is about.
    pub title: String,
    /// Its objectives.
    pub objectives: Vec<ObjectiveId>,
    /// How it gets its work.
    pub order: WorkStyle,
    /// Turns; absent leaves it to `budgeting`.
    pub max_turns: Option<u32>,
}

/// `questions.split-action`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum SplitAction {
    /// Leave the scope as it is.
    Keep,
    /// Fork it.
    Split {
        /// The parts.
        sub_phases: Vec<SubPhase>,
    },
    /// Ask a person this.
    AskPerson {
        /// The question.
        question: String,
    },
}

/// `questions.split-decision`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitDecision {
    /// What to do.
    pub action: SplitAction,
    /// For a person.
    pub reason: String,
}

/// `questions.turn-budget`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnBudget {
    /// Turns for the scope; absent for no cap.
    pub max_turns: Option<u32>,
    /// For a person.
    pub reason: String,
}

/// `questions.prompt`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptDraft {
    /// The prompt.
    pub prompt: String,
    /// What it leaves out, and where that is; for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// For a person.
    pub reason: String,
}

/// `questions.continuer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SuccessorKind {
    /// A new session of the same role.
    Successor,
    /// The lead finishes the rest.
    Lead,
}

/// `questions.composition`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffDraft {
    /// The handoff document, markdown.
    pub document: String,
    /// The handoff index, markdown.
    pub index: String,
    /// Who continues.
    pub continuer: SuccessorKind,
    /// What the document leaves out, and where that is; for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// For a person.
    pub reason: String,
}

/// `questions.staleness`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Staleness {
    /// Nothing happened since.
    Fresh,
    /// Little happened since.
    SlightlyStale,
    /// Much happened since.
    Stale,
    /// It describes another world.
    VeryStale,
}

impl Staleness {
    /// The word of the contract.
    pub const fn name(self) -> &'static str {
        match self {
            Staleness::Fresh => "fresh",
            Staleness::SlightlyStale => "slightly-stale",
            Staleness::Stale => "stale",
            Staleness::VeryStale => "very-stale",
        }
    }
}

/// `questions.finding`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// Points this costs.
    pub cost: u32,
    /// The line it is about, from 1; absent for the whole document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What is wrong.
    pub text: String,
}

/// `questions.review`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewDecision {
    /// 0 to 100.
    pub score: u32,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// How old it is.
    pub staleness: Staleness,
    /// Whether a successor may start from it.
    pub accepted: bool,
    /// For a person.
    pub reason: String,
}

/// Why there is no decision. Stops no work: the next one in the fallback chain is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum Fault {
    /// The semantic limit: deterministic under one engine digest.
    #[error("used up its {limit} units of fuel")]
    OutOfFuel {
        /// Fuel allowed.
        limit: u64,
    },
    /// The host's backstop; replayed, never re-evaluated.
    #[error("was stopped by the watchdog after {limit_ms} ms")]
    Watchdog {
        /// Time allowed, in ms.
        limit_ms: u64,
    },
    /// It asked for more memory than it may have.
    #[error("asked for more than {limit_bytes} bytes of memory")]
    OutOfMemory {
        /// Memory allowed.
        limit_bytes: u64,
    },
    /// It trapped.
    #[error("trapped: {message}")]
    Trap {
        /// The first line of the trap.
        message: String,
    },
    /// Its answer is over the size cap.
    #[error("answered with more than {limit_bytes} bytes")]
    TooLarge {
        /// Bytes allowed.
        limit_bytes: u64,
    },
    /// Its answer is not what the contract allows.
    #[error("gave an answer that is not valid: {message}")]
    Invalid {
        /// What is wrong with it.
        message: String,
    },
    /// Its answer is valid, and no run can follow it ([`crate::decision_rules`]).
    #[error("gave an answer that was refused: {message}")]
    Refused {
        /// Which rule it breaks.
        message: String,
    },
    /// It could not be loaded or instantiated.
    #[error("could not be loaded: {message}")]
    Unloadable {
        /// Why.
        message: String,
    },
}

/// Who in the fallback chain made a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionSource {
    /// The component configured for it, the first of its chain.
    Configured,
    /// One behind it in the configured chain.
    Next,
    /// The component that last decided without a fault.
    LastGood,
    /// The component embedded in the host.
    BuiltIn,
    /// No component: keep, or pause for a person.
    #[serde(rename = "native")]
    HostFallback,
    /// The recording that the run was made from shows it; a policy would have gone another way.
    Recording,
}

/// What a decision must carry to be replayed, and to be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Who in the fallback chain.
    pub by: DecisionSource,
    /// Which capability was asked.
    pub capability: Capability,
    /// Name of the policy, for people.
    pub policy: String,
    /// Digest of the component; absent for `native`.
    pub component: Option<Digest>,
    /// Digest of its canonical settings.
    pub settings: Option<Digest>,
    /// Digest of the engine and its configuration.
    pub engine: Digest,
    /// Fuel used by the evaluation that decided.
    pub fuel: u64,
    /// Wall time of the whole chain, in µs. The only part of a label that a replay does not reproduce.
    pub duration_us: u64,
    /// The artifacts that the policy was shown, by name: part of what it saw, where it is granted any (M6).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifacts: BTreeMap<String, Digest>,
    /// Faults of those that were asked before, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultRecord>,
    /// Those that were asked before and abstained, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abstained: Vec<AbstentionRecord>,
    /// If the policy that decided is a layer: the evaluations that it asked of the policies behind it, in order.
    #[serde(rename = "behind", default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<LinkRecord>,
}

impl Provenance {
    /// The faults behind layers: whose, and how each failed. No layer saw them.
    pub fn fallback_faults(&self) -> impl Iterator<Item = (&str, &Fault)> {
        let failed = self.faults.iter().flat_map(|record| &record.nested);
        let abstained = self.abstained.iter().flat_map(|record| &record.nested);
        failed.chain(abstained).chain(&self.nested).filter_map(|link| match &link.outcome {
            LinkOutcome::Failed { fault } => Some((link.policy.as_str(), fault)),
            LinkOutcome::Answered | LinkOutcome::Abstained => None,
        })
    }
}

/// One evaluation of a policy that stands behind a layer, asked by that layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Its place in the chain behind the policy that the host asked, from 1.
    pub place: u32,
    /// Name of the policy.
    pub policy: String,
    /// Digest of the component.
    pub component: Digest,
    /// Digest of its canonical settings.
    pub settings: Digest,
    /// Fuel that the evaluation used.
    pub fuel: u64,
    /// The artifacts that it was shown, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifacts: BTreeMap<String, Digest>,
    /// What the layer was told.
    pub outcome: LinkOutcome,
}

/// What became of an evaluation behind a layer. A layer sees answers and abstentions, never a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum LinkOutcome {
    /// It answered.
    Answered,
    /// It abstained, and the next one was asked.
    Abstained,
    /// It failed, and the next one was asked.
    Failed {
        /// How.
        fault: Fault,
    },
}

/// A policy that was asked, and left the question to the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbstentionRecord {
    /// Who in the chain.
    pub by: DecisionSource,
    /// Name of the policy.
    pub policy: String,
    /// Digest of the component.
    pub component: Digest,
    /// Digest of its canonical settings.
    pub settings: Digest,
    /// Fuel that the evaluation used.
    pub fuel: u64,
    /// The artifacts that it was shown, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifacts: BTreeMap<String, Digest>,
    /// If it is a layer: the evaluations that it asked of the policies behind it, in order.
    #[serde(rename = "behind", default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<LinkRecord>,
}

/// A fault in the fallback chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultRecord {
    /// Who in the chain.
    pub by: DecisionSource,
    /// Name of the policy.
    pub policy: String,
    /// Digest of the component.
    pub component: Digest,
    /// What happened.
    pub fault: Fault,
    /// Digest of its canonical settings; absent in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Digest>,
    /// Fuel it had used; absent in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// The artifacts that it was shown, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifacts: BTreeMap<String, Digest>,
    /// If it is a layer: the evaluations that it asked of the policies behind it, in order.
    #[serde(rename = "behind", default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<LinkRecord>,
}
