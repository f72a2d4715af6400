//! The keys of `[policies]`, of a workflow, a role, a phase, or a file of its own. Checks nothing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{LocatedValue, SandboxSchema};
use crate::grants::{FUEL_MAX, MEMORY_MIB_MAX, PATTERNS_MAX};
use crate::workflow::GivenSetting;

/// Candidates that are asked in addition to the deciding policy: each costs as much as the decision itself.
pub(crate) const SHADOWS_MAX: usize = 8;
/// Policies that are asked one after the other for one decision: each that abstains costs as much as one that decides.
pub(crate) const CHAIN_MAX: usize = 4;
/// Faults in a row that are still waited for: a greater number would never remove a policy.
pub(crate) const BREAKER_MAX: u32 = 1000;

/// `config.toml` of the user, and `baton.toml` of a workspace: what holds for every workflow.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Baton configuration", rename = "Configuration")]
pub(crate) struct ConfigurationSchema {
    /// Which policy decides what, where no workflow says more.
    #[serde(default)]
    pub(crate) policies: PoliciesSchema,
    /// Whose signatures are asked for. Only in the user's own config.toml: a workspace does not decide whom its user trusts.
    #[schemars(with = "Option<BTreeMap<String, serde_json::Value>>")]
    pub(crate) trust: Option<LocatedValue<toml::Table>>,
    /// How far agents are confined at least, whatever a workflow says, and what they may be allowed at most. In a workspace's
    /// baton.toml it can only confine further.
    #[schemars(with = "Option<SandboxSchema>")]
    pub(crate) sandbox: Option<LocatedValue<SandboxSchema>>,
}

/// Which policy decides what.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Policies")]
pub(crate) struct PoliciesSchema {
    /// Everything that is not named below. Default: "builtin:resilience".
    all: Option<LocatedValue<PolicySchema>>,
    /// How a session is, and why it stopped.
    exhaustion: Option<LocatedValue<PolicySchema>>,
    /// Which objectives of a prompt that was answered are done.
    completion: Option<LocatedValue<PolicySchema>>,
    /// What to do about a session that is not well, or whose objectives are not done.
    recovery: Option<LocatedValue<PolicySchema>>,
    /// When to make room in a context, and how.
    compaction: Option<LocatedValue<PolicySchema>>,
    /// Which large items need not lie in a context.
    offloading: Option<LocatedValue<PolicySchema>>,
    /// Whether a phase is too large, and where its seams are.
    splitting: Option<LocatedValue<PolicySchema>>,
    /// How many turns a phase may take.
    budgeting: Option<LocatedValue<PolicySchema>>,
    /// What the next message to an agent says.
    prompting: Option<LocatedValue<PolicySchema>>,
    /// What a session leaves to the one after it.
    handoff: Option<LocatedValue<PolicySchema>>,
    /// Whether a handoff is fit to start a successor.
    review: Option<LocatedValue<PolicySchema>>,
    /// Settings of each policy that `all` names, here or in a farther layer, and of the built-in one, if it has them. `baton policy inspect` lists
    /// what can be set.
    settings: Option<LocatedValue<BTreeMap<String, GivenSetting>>>,
    /// Components that are asked the same and decide nothing; where they differ is reported: shadow = ["candidate.wasm"]
    #[schemars(length(max = SHADOWS_MAX))]
    pub(crate) shadow: Option<Vec<LocatedValue<PolicySchema>>>,
    /// Whether a component that changes on disk decides from then on, while the run goes on. Default: false. Not in a
    /// workspace's baton.toml.
    pub(crate) watch: Option<LocatedValue<bool>>,
    /// Faults in a row after which the policy before decides again; 0 for never. Default: 3.
    #[schemars(range(min = 0, max = BREAKER_MAX))]
    pub(crate) breaker: Option<u32>,
}

/// Which policy decides what, in a role or a phase.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ScopedPolicies")]
pub(crate) struct ScopedPoliciesSchema {
    /// Everything that is not named below.
    all: Option<LocatedValue<PolicySchema>>,
    /// How a session is, and why it stopped.
    exhaustion: Option<LocatedValue<PolicySchema>>,
    /// Which objectives of a prompt that was answered are done.
    completion: Option<LocatedValue<PolicySchema>>,
    /// What to do about a session that is not well, or whose objectives are not done.
    recovery: Option<LocatedValue<PolicySchema>>,
    /// When to make room in a context, and how.
    compaction: Option<LocatedValue<PolicySchema>>,
    /// Which large items need not lie in a context.
    offloading: Option<LocatedValue<PolicySchema>>,
    /// Whether a phase is too large, and where its seams are.
    splitting: Option<LocatedValue<PolicySchema>>,
    /// How many turns a phase may take.
    budgeting: Option<LocatedValue<PolicySchema>>,
    /// What the next message to an agent says.
    prompting: Option<LocatedValue<PolicySchema>>,
    /// What a session leaves to the one after it.
    handoff: Option<LocatedValue<PolicySchema>>,
    /// Whether a handoff is fit to start a successor.
    review: Option<LocatedValue<PolicySchema>>,
    /// Settings of each policy that `all` names, here or in a farther layer, and of the built-in one, if it has them. `baton policy inspect` lists
    /// what can be set.
    settings: Option<LocatedValue<BTreeMap<String, GivenSetting>>>,
}

/// The common keys of both kinds of tables.
#[derive(Debug, Default)]
pub(crate) struct ChoicesSchema {
    pub(crate) all: Option<LocatedValue<PolicySchema>>,
    pub(crate) exhaustion: Option<LocatedValue<PolicySchema>>,
    pub(crate) completion: Option<LocatedValue<PolicySchema>>,
    pub(crate) recovery: Option<LocatedValue<PolicySchema>>,
    pub(crate) compaction: Option<LocatedValue<PolicySchema>>,
    pub(crate) offloading: Option<LocatedValue<PolicySchema>>,
    pub(crate) splitting: Option<LocatedValue<PolicySchema>>,
    pub(crate) budgeting: Option<LocatedValue<PolicySchema>>,
    pub(crate) prompting: Option<LocatedValue<PolicySchema>>,
    pub(crate) handoff: Option<LocatedValue<PolicySchema>>,
    pub(crate) review: Option<LocatedValue<PolicySchema>>,
    pub(crate) settings: Option<LocatedValue<BTreeMap<String, GivenSetting>>>,
}

impl PoliciesSchema {
    /// Takes the choices out; settings of the whole run stay.
    pub(crate) fn take_choices(&mut self) -> ChoicesSchema {
        ChoicesSchema {
            all: self.all.take(),
            exhaustion: self.exhaustion.take(),
            completion: self.completion.take(),
            recovery: self.recovery.take(),
            compaction: self.compaction.take(),
            offloading: self.offloading.take(),
            splitting: self.splitting.take(),
            budgeting: self.budgeting.take(),
            prompting: self.prompting.take(),
            handoff: self.handoff.take(),
            review: self.review.take(),
            settings: self.settings.take(),
        }
    }
}

impl From<ScopedPoliciesSchema> for ChoicesSchema {
    fn from(shape: ScopedPoliciesSchema) -> Self {
        let ScopedPoliciesSchema {
            all,
            exhaustion,
            completion,
            recovery,
            compaction,
            offloading,
            splitting,
            budgeting,
            prompting,
            handoff,
            review,
            settings,
        } = shape;
        Self {
            all,
            exhaustion,
            completion,
            recovery,
            compaction,
            offloading,
            splitting,
            budgeting,
            prompting,
            handoff,
            review,
            settings,
        }
    }
}

/// A policy component: "builtin:resilience", a path relative to this file, a file of rules ("rules:house.toml"), a reference to
/// a registry ("oci://host/name:tag"), a table, or a list of these, where each is asked if those before it abstain:
/// splitting = ["team.wasm", "builtin:resilience"]. A table names a layer, too, which asks the next policy and may change its answer:
/// prompting = { layer = "house-rules.wasm", over = "builtin:resilience" }
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Policy")]
pub(crate) enum PolicySchema {
    /// "builtin:resilience", the path of a component or "rules:" and that of a file of rules, relative to this file, or
    /// "oci://host/name:tag".
    Component(#[schemars(length(min = 1))] String),
    /// A component with settings or grants, or settings alone.
    Set(PolicyTable),
    /// Who is asked in turn: each where those before it abstain.
    Chain(#[schemars(length(min = 1, max = CHAIN_MAX))] Vec<PolicyLinkSchema>),
}

/// One policy of a list: a component, or a table that names one.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "PolicyOfChain")]
pub(crate) enum PolicyLinkSchema {
    /// "builtin:resilience", the path of a component or "rules:" and that of a file of rules, relative to this file, or
    /// "oci://host/name:tag".
    Component(#[schemars(length(min = 1))] String),
    /// A component with settings or grants.
    Set(PolicyTable),
}

/// A policy component with settings and grants; or settings alone, which are laid over what a farther layer chose.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyTable {
    /// "builtin:resilience", the path of a component or "rules:" and that of a file of rules, relative to this file, or
    /// "oci://host/name:tag". Without it the
    /// settings are laid over what a farther layer chose.
    #[schemars(length(min = 1))]
    pub(crate) component: Option<String>,
    /// In place of `component`: a policy that asks the next one of its chain, which `over` names, and may change the answer.
    #[schemars(length(min = 1))]
    pub(crate) layer: Option<String>,
    /// The next policy of a `layer`, or a list of them. Without it, those that farther layers chose, and the built-in one.
    pub(crate) over: Option<Box<PolicySchema>>,
    /// What is set for it. `baton policy inspect` lists what can be set.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, GivenSetting>,
    /// What the component may have beyond the usual. Not in a workspace's baton.toml.
    pub(crate) grants: Option<GrantsSchema>,
}

/// What is granted to a component. `baton policy inspect` shows what it asks for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Grants")]
pub(crate) struct GrantsSchema {
    /// Artifacts that it may read, by name; `*` stands for any characters: artifacts = ["reports/*.md"]
    #[serde(default)]
    #[schemars(length(max = PATTERNS_MAX), inner(length(min = 1)))]
    pub(crate) artifacts: Vec<String>,
    /// Fuel of one decision, where it is more than every policy has.
    #[schemars(range(min = 1, max = FUEL_MAX))]
    pub(crate) fuel: Option<u64>,
    /// Memory of one decision in MiB, where it is more than every policy has.
    #[schemars(range(min = 1, max = MEMORY_MIB_MAX))]
    pub(crate) memory_mib: Option<u32>,
}
