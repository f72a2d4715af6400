//! `[policies]`: what may stand there. Nothing is checked here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::At;
use crate::workflow::SettingValue;

/// Which policy decides what.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Policies")]
pub(crate) struct PoliciesShape {
    /// Everything that is not named below. Default: "builtin:resilience".
    pub(crate) all: Option<At<PolicyShape>>,
    /// How a session is, and why it stopped.
    pub(crate) exhaustion: Option<At<PolicyShape>>,
    /// When to make room in a context, and how.
    pub(crate) compaction: Option<At<PolicyShape>>,
    /// Whether a phase is too large, and where its seams are.
    pub(crate) splitting: Option<At<PolicyShape>>,
    /// What the next session gets.
    pub(crate) handoff: Option<At<PolicyShape>>,
    /// Settings of the policy that `all` names. `baton policy inspect` lists what can be set.
    pub(crate) settings: Option<At<BTreeMap<String, SettingValue>>>,
}

/// A policy component: "builtin:resilience", a path relative to this file, or a table with settings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Policy")]
pub(crate) enum PolicyShape {
    /// "builtin:resilience", or the path of a component relative to this file.
    Component(#[schemars(length(min = 1))] String),
    /// A component with settings.
    Set(PolicyTable),
}

/// A policy component with settings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyTable {
    /// "builtin:resilience", or the path of a component relative to this file.
    #[schemars(length(min = 1))]
    pub(crate) component: String,
    /// What is set for it. `baton policy inspect` lists what can be set.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, SettingValue>,
}
