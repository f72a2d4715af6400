//! The workflow model, as the user wrote it. `workflow/file.rs` reads it from TOML; nothing here does IO.

mod agent;
mod commit_settings;
pub mod file;
mod imported_recording;
mod objective_files;
pub mod org;
pub mod paths;
mod policies;
mod role;
pub mod rules;
mod run_source;
mod sandbox;
mod shared_files;
pub mod turn_table;

pub use agent::{AgentError, AgentKind, CommandLine};
pub use commit_settings::{CommitSettings, CommitTime, branch_name_error};
pub use imported_recording::{ImportedFile, ImportedRecording};
pub use objective_files::{expected_files_in, expected_files_in_spans};
pub use paths::PathTemplates;
pub use policies::{
    BREAKER_FAULTS, BUILTIN, ConfigLayer, ConfigSource, EffectiveSettings, GivenSetting, GivenSettings,
    ListEdit, Policies, PolicyChoice, PolicyLayer, PolicyLayerFile, PolicyScope, ResolvedChoice,
    SettingValue, lay_over, merge_settings,
};
pub use role::{AgentSource, Permission, PromptDelivery, Role, RoleServer};
pub use run_source::{PlanBox, RunSource, TickedPlan};
pub use sandbox::{NetworkTarget, NetworkTargetError, Sandbox, SandboxError, SandboxLevel, is_public};
pub use shared_files::SharedFiles;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ObjectiveId, PhaseId, RoleName};
use crate::observation::{ContextFile, EvidenceKind};
use crate::serde_defaults::is_default;
use crate::time::DurationMs;

/// A validated workflow: ids are unique, `depends_on` names phases and has no cycle, every role exists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// Short name, fit for a file name.
    pub name: String,
    /// What the whole run is for, one sentence.
    pub goal: String,
    /// How much effort is spent.
    pub mode: Mode,
    /// The roles that phases name; `executor` always exists.
    pub roles: BTreeMap<RoleName, Role>,
    /// Bounds of the whole run.
    pub limits: RunLimits,
    /// Which policy decides what.
    #[serde(default)]
    pub policies: Policies,
    /// The weakest evidence that is enough for an objective (A11); absent: the policy decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<Acceptance>,
    /// Whether the commands of a phase run before any work as well. One that passes then shows nothing by passing later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verify_first: bool,
    /// Whether a part of a split is reviewed before it is merged where an objective of it has no check of its own (D12). Absent in
    /// journals of earlier versions: then only the phase's own `review` looks at parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_parts: Option<bool>,
    /// In the order of the file.
    pub phases: Vec<PhaseSpec>,
    /// Where the agents work; the folder that `baton` is called in where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceChoice>,
    /// Where what people and agents read lies in the workspace.
    #[serde(default, skip_serializing_if = "PathTemplates::is_default")]
    pub paths: PathTemplates,
    /// Commands that make the workspace ready for work, for `init.sh` (C1). Baton itself runs them in the work trees that
    /// it makes, and nowhere else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// Turns of roles in this mode, where they are not the table's (A1).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub turns: BTreeMap<RoleName, u32>,
    /// How many agents of one provider may work at a time, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, u32>,
    /// Who is notified of events that a user wants to know about.
    #[serde(default, skip_serializing_if = "is_default")]
    pub notify: NotifySettings,
    /// The recording that the run was made from, where no host ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedRecording>,
    /// What it was made from; absent in journals of earlier versions, and if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<RunSource>,
    /// The plan whose boxes are ticked as its objectives are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<TickedPlan>,
    /// What the host commits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub commits: CommitSettings,
    /// Files and folders of the workspace, relative to it, that the next run of this work or of earlier work reads or runs. The host
    /// compares them by their names, however many other files there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_run_files: Vec<String>,
    /// What confined agents can write and what has names elsewhere as well, if there was any when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_files: Option<SharedFiles>,
}

/// The weakest evidence that makes an objective done (A11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Acceptance {
    /// A command that checks it passed: every objective needs a `verify` of its own or one of its phase.
    Checked,
    /// The agent reported it as done. A check that passed is enough as well.
    Reported,
    /// The agent answered the prompt, even if no file changed.
    Answer,
}

impl From<Acceptance> for EvidenceKind {
    fn from(accept: Acceptance) -> Self {
        match accept {
            Acceptance::Checked => EvidenceKind::Checked,
            Acceptance::Reported => EvidenceKind::Reported,
            Acceptance::Answer => EvidenceKind::Answer,
        }
    }
}

/// How people who do not watch are notified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotifySettings {
    /// A command for `sh -c`, run in the workspace: on a split, a pause for a person, a provider's limit, and the end.
    pub command: Option<String>,
    /// Ring the terminal's bell for the same.
    pub bell: bool,
}

impl WorkspaceChoice {
    /// Every run gets a folder of its own.
    pub fn is_fresh(&self) -> bool {
        matches!(self, WorkspaceChoice::Scratch | WorkspaceChoice::ScratchGit)
    }
}

/// Where the agents of a workflow work, where its file says so (`--workspace` wins).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkspaceChoice {
    /// A fresh folder under the state directory.
    Scratch,
    /// The same, as a git repository with one empty commit.
    ScratchGit,
    /// This folder, absolute after reading the file.
    Folder(String),
}

/// The role of phases that name none.
pub const EXECUTOR: &str = "executor";
/// The role that reviews if the workflow names none.
pub const REVIEWER: &str = "reviewer";
/// A review passes from this score on if the workflow names none: as for handoff documents (C8).
pub const REVIEW_SCORE: u32 = 70;

/// A phase, and all that it depends on, directly or not.
pub(crate) fn leading_to<'a>(
    phase: &'a PhaseId,
    depends_on: impl Fn(&PhaseId) -> Option<&'a [PhaseId]>,
) -> BTreeSet<&'a PhaseId> {
    let (mut found, mut open) = (BTreeSet::new(), vec![phase]);
    while let Some(id) = open.pop() {
        if found.insert(id) {
            open.extend(depends_on(id).into_iter().flatten());
        }
    }
    found
}

impl Workflow {
    /// Whether both were made from the same source; if one of the sources is unknown, the name decides.
    pub fn has_same_source(&self, other: &Workflow) -> bool {
        match (&self.source, &other.source) {
            (Some(source), Some(other)) => source.is_same(other),
            _ => self.name == other.name,
        }
    }

    /// The same work with another agent in every role (`--agent`). Settings that were meant for the first agent alone are
    /// dropped.
    #[must_use]
    pub fn with_agent(mut self, agent: AgentKind) -> Self {
        let recast = |role: Role| match role.agent == agent {
            true => role,
            false => Role { set_by: AgentSource::CommandLine, ..role.reassigned_to(&agent) },
        };
        self.roles = self.roles.into_iter().map(|(name, role)| (name, recast(role))).collect();
        self.phases.iter_mut().for_each(|phase| phase.agent = None);
        self
    }

    /// Whether a phase has an agent that no file and no flag names, and no script that would be played instead.
    pub fn lacks_agent(&self) -> bool {
        let lacks = |role: &Role| {
            role.set_by == AgentSource::Nowhere && role.agent == AgentKind::Rehearsal && role.script.is_none()
        };
        self.phases.iter().filter(|phase| phase.agent.is_none()).any(|phase| lacks(&self.role_of(phase)))
    }

    /// The same work with this agent in every role for which none is named.
    #[must_use]
    pub fn with_detected_agent(mut self, agent: &AgentKind) -> Self {
        for role in self.roles.values_mut() {
            if role.set_by == AgentSource::Nowhere && role.script.is_none() {
                *role = Role { set_by: AgentSource::Found, ..role.clone().reassigned_to(agent) };
            }
        }
        self
    }

    /// The role of a phase, played by the phase's own agent if it names one. A role that the workflow does not have (no parsed
    /// file lacks one) has only defaults.
    pub fn role_of(&self, phase: &PhaseSpec) -> Cow<'_, Role> {
        match (self.roles.get(&phase.role), &phase.agent) {
            (Some(role), Some(agent)) if role.agent != *agent => {
                Cow::Owned(role.clone().reassigned_to(agent))
            }
            (Some(role), _) => Cow::Borrowed(role),
            (None, agent) => Cow::Owned(Role::of(agent.clone().unwrap_or(AgentKind::Rehearsal))),
        }
    }

    /// A phase that closes a loop waits for every phase of the loop, since its check is about their work. A phase that waits
    /// for it in turn is not included.
    #[must_use]
    pub fn with_loop_dependencies(&self, mut phase: PhaseSpec) -> PhaseSpec {
        let place = |id: &PhaseId| self.phases.iter().position(|other| other.id == *id);
        let from = phase.repeat.as_ref().and_then(|repeat| place(&repeat.from));
        if let Some((from, to)) = from.zip(place(&phase.id)) {
            for other in self.phases.get(from..to).unwrap_or_default() {
                if !phase.depends_on.contains(&other.id) && !self.waits_for(&other.id, &phase.id) {
                    phase.depends_on.push(other.id.clone());
                }
            }
        }
        phase
    }

    /// Whether a phase depends on another one, directly or not.
    fn waits_for(&self, phase: &PhaseId, on: &PhaseId) -> bool {
        let find = |id: &PhaseId| self.phases.iter().find(|phase| phase.id == *id);
        leading_to(phase, |id| find(id).map(|phase| &phase.depends_on[..])).contains(on)
    }

    /// Whose quota a phase uses: the `provider` of its role, or else the agent that plays it.
    pub fn provider_of<'a>(&'a self, phase: &'a PhaseSpec) -> &'a str {
        match (self.roles.get(&phase.role), &phase.agent) {
            (Some(role), Some(agent)) if role.agent != *agent => agent.name(),
            (Some(role), _) => role.provider(),
            (None, agent) => agent.as_ref().map_or("", AgentKind::name),
        }
    }

    /// The turns that a phase begins with, before a policy decides about its scope (A1): its role's own, else those of the
    /// mode, else the table's. `None` if none of them has any.
    pub fn base_turns(&self, phase: &PhaseSpec) -> Option<u32> {
        let of_mode = || turn_table::turns_for(phase.role.as_str(), self.mode, &self.turns);
        self.role_of(phase).max_turns.or_else(of_mode)
    }

    /// When the host commits the work of a phase.
    pub fn commit_time(&self, phase: &PhaseSpec) -> CommitTime {
        phase.commit.unwrap_or(self.commits.when)
    }

    /// Whether the host commits anything.
    pub fn has_commits(&self) -> bool {
        self.phases.iter().any(|phase| self.commit_time(phase) != CommitTime::Off)
    }

    /// The agents that a ceiling of cost cannot cover, since they report no price. Empty if the cost has no ceiling.
    pub fn unpriced_agents(&self) -> Vec<&'static str> {
        let is_bounded = |phase: &PhaseSpec| self.limits.cost_microusd.or(phase.cost_microusd).is_some();
        let agents = self
            .phases
            .iter()
            .filter(|phase| is_bounded(phase))
            .map(|phase| self.role_of(phase).agent.clone());
        let mut names: Vec<&'static str> =
            agents.filter(|agent| *agent == AgentKind::Codex).map(|agent| agent.name()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A sentence about why this agent works on a phase, for a user who has to choose another one.
    pub fn agent_choice(&self, phase: &PhaseSpec) -> String {
        let place = self.agent_origin(phase);
        match place.strip_prefix(FOUND_BY) {
            Some(chose) => format!("Baton {chose}."),
            None => format!("The agent is set by {place}."),
        }
    }

    /// The place that determines the agent of a phase, in words, so that the user can correct it.
    pub fn agent_origin(&self, phase: &PhaseSpec) -> String {
        if phase.agent.is_some() {
            return format!("`agent` of phase `{}`", phase.id);
        }
        match self.roles.get(&phase.role).map(|role| role.set_by) {
            Some(AgentSource::Role) => format!("`agent` in [roles.{}]", phase.role),
            Some(AgentSource::Workflow) => "`agent` at the top level of the workflow".to_owned(),
            Some(AgentSource::CommandLine) => "`--agent` on the command line".to_owned(),
            Some(AgentSource::Recording) => "the recording that the run was made from".to_owned(),
            Some(AgentSource::Found) => {
                let agent = String::from(self.role_of(phase).agent.clone());
                format!("{FOUND_BY}chose {agent} because it is installed; `--agent NAME` takes another")
            }
            Some(AgentSource::Nowhere) | None => "Baton, whose default is `rehearsal`".to_owned(),
        }
    }
}

/// How the place begins that names no line of a file: Baton itself.
const FOUND_BY: &str = "Baton, which ";

/// How much effort is spent (A1 names the columns).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Least.
    Eco,
    /// Fast.
    Turbo,
    /// The default.
    #[default]
    Standard,
    /// More turns, deeper reviews.
    Thorough,
    /// Many agents.
    Swarm,
}

impl Mode {
    /// The word in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Eco => "eco",
            Mode::Turbo => "turbo",
            Mode::Standard => "standard",
            Mode::Thorough => "thorough",
            Mode::Swarm => "swarm",
        }
    }
}

/// Bounds. Reaching a ceiling pauses for a person; nothing is killed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// Wall time, quota waits not counted (B6).
    pub wall_time: Option<DurationMs>,
    /// Billed tokens, input and output.
    pub tokens: Option<u64>,
    /// Cost in millionths of a US dollar, where the agent reports it.
    pub cost_microusd: Option<u64>,
    /// Continuations a phase may have (A8).
    pub continuations: u32,
    /// Retries of failed sessions a phase may have.
    pub retries: u32,
    /// Prompts again after a stall or an empty answer, for one prompt.
    pub nudges: u32,
    /// Times a failed verification sends the findings back.
    pub verifications: u32,
    /// Phases of the workflow at a time.
    pub parallel: u32,
    /// Agents at a time, over all phases and sub-phases; 0 for no bound (journals of earlier versions).
    #[serde(default, skip_serializing_if = "is_default")]
    pub agents: u32,
    /// How deep a phase may be split.
    pub split_depth: u32,
    /// How many parts a split may have.
    pub split_fan_out: u32,
    /// Silence after which the session is looked at (B7).
    pub heartbeat: DurationMs,
    /// First wait after a failure; doubles each time, at most 5 minutes.
    pub backoff: DurationMs,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            wall_time: None,
            tokens: None,
            cost_microusd: None,
            continuations: 3, // A8
            retries: 2,
            nudges: 2,
            verifications: 2,
            parallel: 1,
            agents: 0,
            split_depth: 2,
            split_fan_out: 26,
            heartbeat: DurationMs::from_secs(60), // B7
            backoff: DurationMs::from_secs(5),
        }
    }
}

/// A step with objectives and a verification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseSpec {
    /// Unique in the workflow.
    pub id: PhaseId,
    /// What it is about.
    pub title: String,
    /// Phases that must be done before.
    pub depends_on: Vec<PhaseId>,
    /// Who works on it.
    pub role: RoleName,
    /// The agent that plays the role here, where it is not the role's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentKind>,
    /// At least one.
    pub objectives: Vec<Objective>,
    /// Command that must exit 0 in the workspace; run by `sh -c`.
    pub verify: Option<String>,
    /// Known to be complex (A2 asks the scope as well).
    pub complex: bool,
    /// When it may be split (D2).
    #[serde(default, skip_serializing_if = "is_default")]
    pub split: SplitTime,
    /// Bounds of this phase alone.
    pub wall_time: Option<DurationMs>,
    /// Bounds of this phase alone.
    pub tokens: Option<u64>,
    /// Bounds of this phase alone.
    pub cost_microusd: Option<u64>,
    /// Continuations of this phase, where they differ from the run's (A8).
    pub continuations: Option<u32>,
    /// Further commands that make the workspace ready for this phase (C1).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// Files of the codebase that its agents read first (A13).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextFile>,
    /// Who says whether it is good enough, after the commands have passed (D3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewRequirement>,
    /// Where the loop begins again when this phase finds that the work is not good enough (B10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<PhaseLoop>,
    /// After what its work is committed, where that is not what the workflow says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitTime>,
}

/// When a phase may be split (D2). A policy keeps to it; a request by an agent is judged whatever it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SplitTime {
    /// Before its first session already.
    Ahead,
    /// While it is worked on, and before only where its size leaves no doubt; the default.
    #[default]
    During,
    /// Only where an agent asks for it.
    Never,
}

impl SplitTime {
    /// The word in the file.
    pub const fn name(self) -> &'static str {
        match self {
            SplitTime::Ahead => "ahead",
            SplitTime::During => "during",
            SplitTime::Never => "never",
        }
    }
}

/// A reviewer, and what satisfies it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRequirement {
    /// As whom.
    pub role: RoleName,
    /// A score from here on passes, of 100.
    pub score: u32,
}

/// A loop over phases: plan, execute, check, and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseLoop {
    /// The first phase of the loop, which stands before this one in the file.
    pub from: PhaseId,
    /// Times that the loop is walked at most, the first included.
    pub at_most: u32,
}

/// One thing to get done. Its description never changes (C19).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objective {
    /// Unique in the workflow.
    pub id: ObjectiveId,
    /// What is to be done.
    pub description: String,
    /// Files that must exist afterwards, workspace-relative.
    pub files: Vec<String>,
    /// Command that must exit 0 when it is done, for `sh -c`; whichever phase holds the objective is verified by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
}
