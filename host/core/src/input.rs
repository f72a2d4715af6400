//! The inputs of core. Every input is a journal row; folding them in order gives the state again.

mod action_outcome;

use serde::{Deserialize, Serialize};

use crate::decision::{Decision, Fault, Provenance};
use crate::experiment::Assignment;
use crate::facts::{AgentEvent, ProcessExit};
use crate::grants::{Grants, RequestedGrants};
use crate::ids::{ActionId, Digest, ObjectiveId, PhaseId, RequestId, RunId, Seq, SessionId};
use crate::observation::{Attempt, Capability, ContextItem, ObjectiveStatus, SplitGroup};
use crate::serde_defaults::is_default;
use crate::time::UnixMs;
use crate::workflow::{ConfigSource, PolicyScope, Workflow};

pub use action_outcome::ActionOutcome;

/// An input with its place in the journal and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournaledInput {
    /// Position in the journal; strictly growing.
    pub seq: Seq,
    /// When the host saw it.
    pub at: UnixMs,
    /// What it saw.
    pub input: Input,
}

/// Lost files of a phase that are named; the others are counted.
pub const LOST_FILES_NAMED: usize = 20;

/// A fact that core has not seen yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "kebab-case")]
pub enum Input {
    /// The first input of every run.
    Started {
        /// The run's id, made by the host.
        run: RunId,
        /// What to do, frozen for the run.
        workflow: Box<Workflow>,
        /// The components that decide, bound by digest. Of two for the same scope and decision the later one decides, and the other
        /// stands behind it.
        #[serde(rename = "pins")]
        bindings: Vec<PolicyBinding>,
        /// Where artifacts and reports are projected, workspace-relative ("." for the workspace itself).
        task_folder: String,
        /// Minutes that the host's time zone is ahead of UTC: agents print the hour at which a limit resets (B4).
        #[serde(default, skip_serializing_if = "is_default")]
        utc_offset_minutes: i32,
        /// The experiments that it takes part in, each once (M5).
        #[serde(default, skip_serializing_if = "is_default")]
        assignments: Vec<Assignment>,
    },
    /// A host took the run up again. Every session of the host before it is gone.
    Resumed,
    /// Files that a phase changed in the workspace are missing, or as they were before it, and no agent of the run did that: the folder
    /// was restored or cloned again while no host was there (then it comes before [`Input::Resumed`]), or while the run waited (then
    /// before what ends the wait).
    WorkLost {
        /// The phase that changed them.
        phase: PhaseId,
        /// Workspace-relative, `/` between components; at most [`LOST_FILES_NAMED`]. Empty if the host cannot read which files it changed.
        files: Vec<String>,
        /// How many more there are.
        #[serde(default, skip_serializing_if = "is_default")]
        beyond: u32,
        /// Objectives that a person accepted as they were lose work by it as well. False in journals of hosts that did not look at these.
        #[serde(default, skip_serializing_if = "is_default")]
        includes_accepted: bool,
    },
    /// A host ended after agents had called something done, and before a measurement looked at their work: the next one tells whether it
    /// is there. Behind late reports, and before [`Input::Resumed`].
    ClaimsUnmeasured {
        /// The folder, or its repository, is not the one in which they worked: nothing of it is.
        #[serde(default, skip_serializing_if = "is_default")]
        is_folder_replaced: bool,
    },
    /// The deadline that core named has passed.
    Tick,
    /// What became of an intent.
    Outcome {
        /// The intent that the outcome is of.
        action: ActionId,
        /// What became of the intent.
        outcome: ActionOutcome,
    },
    /// A fact from an agent's stream.
    Agent {
        /// The session whose stream it is.
        session: SessionId,
        /// The fact.
        event: AgentEvent,
    },
    /// An agent's process is gone, and its stream has been read to the end.
    SessionEnded {
        /// The session that ended.
        session: SessionId,
        /// How its process ended.
        exit: ProcessExit,
    },
    /// A policy's answer, or the fault of the last one in the chain.
    Decided {
        /// The question that is answered.
        #[serde(rename = "request")]
        request_id: RequestId,
        /// The answer, as the router validated it (`crate::decision_rules`). Core checks its kind, and a split once more.
        result: Result<Decision, Fault>,
        /// Who decided, and what it took.
        label: Box<Provenance>,
    },
    /// An agent reported, through a file or a tool.
    Reported {
        /// The session that reported, if it is known. A report outlives its session.
        session: Option<SessionId>,
        /// Content address of the report: one that comes again counts once.
        digest: Digest,
        /// The report.
        report: AgentReport,
    },
    /// A tool result is on its way into the context of a session, and could be replaced by a reference (C3).
    #[serde(rename = "offered")]
    ToolResultOffered {
        /// The session that the result is for.
        session: SessionId,
        /// What the result is and how large; the host keeps the content.
        item: ContextItem,
    },
    /// A person answered a question.
    Answered {
        /// The intent that asked.
        question: ActionId,
        /// What the person chose.
        choice: PauseAnswer,
        /// What the user says to the agent that continues, with [`PauseAnswer::Retry`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A client asked the host for a change of the run; the change itself follows, or it was refused. It changes nothing.
    #[serde(rename = "asked")]
    ChangeRequested {
        /// The change: a word of the control socket.
        what: String,
        /// The process that asked.
        by: ChangeRequester,
    },
    /// A person asked the run to stop at once, keeping everything.
    StopRequested,
    /// The user began a new run of the same task while no host worked on this one: it is not resumed by itself any more (D8).
    SetAside,
    /// Other components decide from the next question on (M3). They are loaded, and in the journal.
    PolicyChanged {
        /// What is put in place.
        #[serde(rename = "pins")]
        bindings: Vec<PolicyBinding>,
        /// Why they change.
        cause: PolicyChangeCause,
    },
    /// A component that was to decide was refused; the policies before it continue to decide (M3).
    PolicyRefused {
        /// The policy, as it was named.
        policy: String,
        /// Why it was refused.
        why: String,
    },
}

impl Input {
    /// Whether only a host at work records it. Commands record others, such as an answer and its announcement, while no host is there.
    pub(crate) fn is_of_host_at_work(&self) -> bool {
        let is_of_work = |outcome: &ActionOutcome| !matches!(outcome, ActionOutcome::Announced);
        matches!(self, Input::Tick | Input::Agent { .. } | Input::SessionEnded { .. } | Input::Decided { .. })
            || matches!(self, Input::Outcome { outcome, .. } if is_of_work(outcome))
    }

    /// A word for logs and errors.
    pub fn name(&self) -> &'static str {
        match self {
            Input::Started { .. } => "started",
            Input::Resumed => "resumed",
            Input::WorkLost { .. } => "work-lost",
            Input::ClaimsUnmeasured { .. } => "claims-unmeasured",
            Input::Tick => "tick",
            Input::Outcome { .. } => "outcome",
            Input::Agent { .. } => "agent",
            Input::SessionEnded { .. } => "session-ended",
            Input::Decided { .. } => "decided",
            Input::Reported { .. } => "reported",
            Input::ToolResultOffered { .. } => "offered",
            Input::Answered { .. } => "answered",
            Input::ChangeRequested { .. } => "asked",
            Input::StopRequested => "stop-requested",
            Input::SetAside => "set-aside",
            Input::PolicyChanged { .. } => "policy-changed",
            Input::PolicyRefused { .. } => "policy-refused",
        }
    }
}

/// Who asked for a change of a run, as the system tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRequester {
    /// The user's number.
    pub uid: u32,
    /// The process.
    pub pid: u32,
    /// Its command line, cut, without secrets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
}

/// A component that decides in this run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyBinding {
    /// What it decides.
    pub capability: Capability,
    /// Name, for people.
    pub policy: String,
    /// Digest of the component.
    pub component: Digest,
    /// Digest of its canonical settings.
    pub settings: Digest,
    /// Where it decides.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scope: PolicyScope,
    /// What it asks for beyond the usual.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wants: RequestedGrants,
    /// What of that, or else, it is granted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub grants: Grants,
    /// Where it was chosen.
    #[serde(default, skip_serializing_if = "is_default")]
    pub from: ConfigSource,
    /// Who is asked behind it, in order, where it abstains or fails.
    #[serde(default, skip_serializing_if = "is_default")]
    pub then: Vec<BindingLink>,
}

/// One policy of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingLink {
    /// Name, for people.
    pub policy: String,
    /// Digest of the component.
    pub component: Digest,
    /// Digest of its canonical settings.
    pub settings: Digest,
    /// What it asks for beyond the usual.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wants: RequestedGrants,
    /// What of that, or else, it is granted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub grants: Grants,
}

impl PolicyBinding {
    /// Whether the same chain of components decides with the same settings and grants, wherever it was chosen.
    pub fn is_same_as(&self, other: &Self) -> bool {
        (&self.component, &self.settings, &self.grants) == (&other.component, &other.settings, &other.grants)
            && self.then == other.then
    }

    /// The one that is asked first.
    pub fn first(&self) -> BindingLink {
        BindingLink {
            policy: self.policy.clone(),
            component: self.component.clone(),
            settings: self.settings.clone(),
            wants: self.wants.clone(),
            grants: self.grants.clone(),
        }
    }

    /// The whole chain, in the order of asking.
    pub fn links(&self) -> impl Iterator<Item = BindingLink> + '_ {
        std::iter::once(self.first()).chain(self.then.iter().cloned())
    }
}

/// Why another policy decides from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyChangeCause {
    /// A person said so.
    Command,
    /// Its file changed, and the workflow wants files to be watched.
    File,
    /// A person wants the one before.
    Rollback,
}

/// What an agent may report (the tools of the inbox, C19).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "report", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AgentReport {
    /// An objective moved.
    ObjectiveUpdate {
        /// Which.
        objective: ObjectiveId,
        /// Where it stands now.
        status: ObjectiveStatus,
        /// A remark.
        #[serde(default)]
        note: String,
    },
    /// A choice and why (C7).
    DecisionRecord {
        /// What was chosen.
        decision: String,
        /// Why.
        rationale: String,
    },
    /// Something that was tried and failed: the successor does not try it again.
    AttemptRecord {
        /// What was tried.
        approach: String,
        /// What came of it.
        outcome: String,
    },
    /// A trap on the way: the successor does not walk into it (C7).
    GotchaRecord {
        /// What it is and how to get around it.
        gotcha: String,
    },
    /// A pattern of this code that new work should follow (C7).
    PatternRecord {
        /// The pattern and where it is used.
        pattern: String,
    },
    /// What the session would tell the one after it, in its own words (C7, C15). The newest counts.
    HandoffWrite(Box<ReportedHandoff>),
    /// The agent kept something in the artifact store, which has it by now.
    ArtifactSaved {
        /// What is there.
        artifact: ArtifactRef,
    },
    /// The agent finds its scope too large (D2).
    SplitRequest {
        /// How it would group the objectives.
        groups: Vec<SplitGroupReport>,
        /// Why.
        rationale: String,
    },
    /// What a reviewer says of a phase (D3). Its full text is an artifact; here is what decides.
    ReviewSubmit {
        /// 0 to 100.
        score: u32,
        /// In a few sentences.
        summary: String,
        /// What is wrong, the worst first; what does not fit is in the artifact.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<String>,
    },
    /// The agent tried to report something, and its file was not taken: it may have said that it is not done.
    Refused {
        /// What is wrong with it, in the words for the agent.
        why: String,
    },
}

/// A handoff as an agent wrote it. It is data: it goes into the document beside what the host knows, marked as the
/// agent's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedHandoff {
    /// What is done, and what is half done.
    pub current_state: String,
    /// The one next step.
    pub immediate_next_action: String,
    /// Essential facts, at most five.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub critical_context: Vec<String>,
    /// Files that matter, workspace-relative, with a line behind it or not ("src/printer.rs:40").
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub critical_files: Vec<String>,
    /// Ids of objectives that are not finished, whatever was reported of them before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<ObjectiveId>,
}

impl ReportedHandoff {
    /// All of its sentences.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let first = [self.current_state.as_str(), self.immediate_next_action.as_str()];
        first.into_iter().chain(self.critical_context.iter().map(String::as_str))
    }
}

/// A group of a split request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitGroupReport {
    /// What it is about.
    pub title: String,
    /// Ids of objectives.
    pub objectives: Vec<ObjectiveId>,
}

impl From<SplitGroupReport> for SplitGroup {
    fn from(group: SplitGroupReport) -> Self {
        Self { title: group.title, objectives: group.objectives }
    }
}

impl From<&AgentReport> for Option<Attempt> {
    /// The pair that a brief carries, where the report is one.
    fn from(report: &AgentReport) -> Self {
        match report {
            AgentReport::DecisionRecord { decision, rationale } => {
                Some(Attempt { approach: decision.clone(), outcome: rationale.clone(), by_person: false })
            }
            AgentReport::AttemptRecord { approach, outcome } => {
                Some(Attempt { approach: approach.clone(), outcome: outcome.clone(), by_person: false })
            }
            _ => None,
        }
    }
}

/// The best score that a review gives.
pub const SCORE_MAX: u32 = 100;

/// What a person can answer to a paused run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PauseAnswer {
    /// Try the phase again, with fresh continuations and retries.
    Retry,
    /// Leave what is open undone and continue with the phases that do not depend on it.
    Skip,
    /// Lift the ceiling that was reached by as much again.
    Raise,
    /// Take the objectives that the question is about for done, by this person's word.
    Accept,
    /// End the run; what is open stays open.
    Stop,
}

impl PauseAnswer {
    /// The word on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            PauseAnswer::Retry => "retry",
            PauseAnswer::Skip => "skip",
            PauseAnswer::Raise => "raise",
            PauseAnswer::Accept => "accept",
            PauseAnswer::Stop => "stop",
        }
    }
}

/// A named, versioned, immutable object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ArtifactRef {
    /// Name, unique in the run ("handoffs/phase-20-1.md").
    pub name: String,
    /// From 1.
    pub version: u32,
    /// Content address.
    pub digest: Digest,
    /// Size.
    pub bytes: u64,
    /// One line.
    pub summary: String,
}
