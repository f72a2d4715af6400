//! The configured policy of each decision, as people wrote it: layers of choices, the closest one wins. A pure function of the
//! files' content; which component really decides is known once it is loaded, which happens elsewhere.

mod policies_format;
mod setting_edits;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::grants::Grants;
use crate::ids::{PhaseId, RoleName};
use crate::observation::Capability;
use crate::serde_defaults::is_default;
use crate::workflow::Workflow;

pub use setting_edits::{GivenSetting, ListEdit, lay_over};

/// How a workflow names the component that is part of the host.
pub const BUILTIN: &str = "builtin:resilience";

/// Faults in a row after which the one before decides again (M3): one may be a slip of an odd question, three are none.
pub const BREAKER_FAULTS: u32 = 3;

/// The configured policies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "policies_format::PoliciesFormat", into = "policies_format::PoliciesFormat")]
pub struct Policies {
    /// For the whole run, the farthest first: of the user, of the workspace, of the workflow.
    pub layers: Vec<PolicyLayer>,
    /// For the phases of a role.
    pub roles: BTreeMap<RoleName, PolicyLayer>,
    /// For a phase of the workflow, with every part that it is split into.
    pub phases: BTreeMap<PhaseId, PolicyLayer>,
    /// Components that are asked the same and decide nothing; their differences are reported.
    pub shadow: Vec<PolicyChoice>,
    /// Whether a component that changes on disk is swapped in during the run.
    pub watch: bool,
    /// Faults in a row after which the one before decides again; 0 never.
    pub breaker: u32,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            layers: Vec::new(),
            roles: BTreeMap::new(),
            phases: BTreeMap::new(),
            shadow: Vec::new(),
            watch: false,
            breaker: BREAKER_FAULTS,
        }
    }
}

/// The choices of one file, role or phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyLayer {
    /// For every capability that is not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<PolicyChoice>,
    /// By capability.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_capability: BTreeMap<Capability, PolicyChoice>,
}

/// The choices of one layer's file for the whole run; settings that exist only once may be left to farther layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyLayerFile {
    /// The deciding policies.
    pub layer: PolicyLayer,
    /// The shadow policies.
    pub shadow: Option<Vec<PolicyChoice>>,
    /// Whether components that change on disk are swapped in.
    pub watch: Option<bool>,
    /// Faults in a row after which the one before decides again.
    pub breaker: Option<u32>,
}

/// A component and its settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyChoice {
    /// `builtin:resilience`, a reference to a registry, or the path of a component, absolute after reading the file. If absent,
    /// the settings are laid over the choices of farther layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// As given; loading the component makes them canonical.
    #[serde(default)]
    pub settings: BTreeMap<String, GivenSetting>,
    /// The file of rules that its settings come from, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_file: Option<String>,
    /// The component's grants beyond the usual (M6).
    #[serde(default, skip_serializing_if = "is_default")]
    pub grants: Grants,
    /// The place where it was written.
    #[serde(default, skip_serializing_if = "is_default")]
    pub from: ConfigSource,
    /// It is named as a layer: it has to ask the next policy of its chain.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_layer: bool,
    /// The policies that are asked if it abstains, in order: the rest of a list. Each names a component.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<PolicyChoice>,
    /// `settings` of the same table, if this is its `all`: they are laid over the list and over the choices of farther layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_chain: Option<Box<PolicyChoice>>,
    /// The same component, as farther layers name it, if their settings for it hold for this one as well: its own settings are
    /// laid over theirs.
    /// theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
}

impl PolicyChoice {
    /// The place of its own settings: in its own table, or in its file of rules.
    pub fn settings_from(&self) -> ConfigSource {
        match &self.rules_file {
            Some(file) => ConfigSource { layer: self.from.layer, file: file.clone(), line: 0 },
            None => self.from.clone(),
        }
    }

    /// It, and the policies that are asked if it abstains.
    pub fn links(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.then)
    }

    fn forget_place(&mut self) {
        self.from = ConfigSource::default();
        self.then.iter_mut().for_each(Self::forget_place);
        self.for_chain.iter_mut().for_each(|choice| choice.forget_place());
    }
}

/// The place where a choice was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigSource {
    /// How close to the work.
    pub layer: ConfigLayer,
    /// The file, as messages name it; empty for the host's own choices.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// From 1; 0 if there is no file.
    #[serde(default, skip_serializing_if = "is_default")]
    pub line: u32,
}

/// How close to the work a choice stands. The closest one wins.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigLayer {
    /// Part of the host.
    #[default]
    BuiltIn,
    /// The configuration of the user.
    User,
    /// `baton.toml` of the workspace.
    Workspace,
    /// The workflow.
    Workflow,
    /// A role of the workflow.
    Role,
    /// A phase of the workflow.
    Phase,
    /// The arm of an experiment that the run takes part in.
    Experiment,
    /// A person's command to a live run.
    Command,
}

/// Where in a run a policy decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "scope")]
pub enum PolicyScope {
    /// Wherever no narrower scope has one.
    #[default]
    Run,
    /// In the phases of a role.
    Role {
        /// Which.
        role: RoleName,
    },
    /// In a phase of the workflow, with its parts.
    Phase {
        /// Which.
        phase: PhaseId,
    },
    /// Nowhere: it is asked what another one decides, and what it says is written down.
    Shadow {
        /// What it is called; two shadows of one name are two.
        policy: String,
    },
}

impl PolicyScope {
    /// The scopes around it, the next wider one first.
    pub fn wider(&self, workflow: &Workflow) -> impl Iterator<Item = PolicyScope> + use<> {
        let role = match self {
            PolicyScope::Phase { phase } => {
                workflow.phases.iter().find(|known| known.id == *phase).map(|phase| &phase.role)
            }
            _ => None,
        };
        let role = role.map(|role| PolicyScope::Role { role: role.clone() });
        let run =
            matches!(self, PolicyScope::Phase { .. } | PolicyScope::Role { .. }).then_some(PolicyScope::Run);
        role.into_iter().chain(run)
    }
}

/// A component that may decide, with everything that was laid over it.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedChoice {
    /// Its reference.
    pub component: String,
    /// The file of rules that its settings come from: two of them are two policies, of one component.
    pub rules_file: Option<String>,
    /// Its settings, the farthest first.
    pub given: Vec<GivenSettings>,
    /// Its grants, by the layer that named it.
    pub grants: Grants,
    /// The place that named it.
    pub from: ConfigSource,
    /// Whether it was named for this capability, and not for all of them: then it must decide it.
    pub explicit: bool,
    /// Whether it was named as a layer: then it must ask the next policy.
    pub is_layer: bool,
    /// The component whose farther settings apply to it: itself, if it is in a list and has no settings there.
    follows: Option<String>,
}

/// The settings of one place in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenSettings {
    /// As they were written.
    pub settings: BTreeMap<String, GivenSetting>,
    /// The place.
    pub from: ConfigSource,
    /// Whether they belong to this component, which must accept all of them. If they were written without a component, each
    /// policy of the chain takes the settings that it has, and at least one must have them.
    pub is_own: bool,
    /// Whether they were written for this decision, and not for all.
    pub explicit: bool,
}

/// The settings of a candidate that hold for its policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectiveSettings {
    /// The settings, with the changes of closer layers.
    pub settings: BTreeMap<String, GivenSetting>,
    /// The place of each setting.
    pub set_by: BTreeMap<String, ConfigSource>,
}

impl Policies {
    /// Lays the choices of files over the current ones, the farthest first. Of shadows, watching and the breaker the closest
    /// setting counts.
    pub fn lay(&mut self, said: impl IntoIterator<Item = PolicyLayerFile>) {
        for PolicyLayerFile { layer, shadow, watch, breaker } in said {
            if layer != PolicyLayer::default() {
                self.layers.push(layer);
            }
            self.shadow = shadow.unwrap_or_else(|| std::mem::take(&mut self.shadow));
            self.watch = watch.unwrap_or(self.watch);
            self.breaker = breaker.unwrap_or(self.breaker);
        }
    }

    /// The same without the places in which it was written: a line that moves in a file changes nothing.
    #[must_use]
    pub fn without_sources(mut self) -> Self {
        let scoped = self.roles.values_mut().chain(self.phases.values_mut());
        let layers = self.layers.iter_mut().chain(scoped);
        let choices = layers.flat_map(|layer| layer.all.iter_mut().chain(layer.by_capability.values_mut()));
        choices.chain(&mut self.shadow).for_each(PolicyChoice::forget_place);
        self
    }

    /// The scopes with choices, the widest first. Bindings of the run exist in any case.
    pub fn scopes(&self) -> impl Iterator<Item = PolicyScope> + '_ {
        let roles = self.roles.keys().map(|role| PolicyScope::Role { role: role.clone() });
        let phases = self.phases.keys().map(|phase| PolicyScope::Phase { phase: phase.clone() });
        std::iter::once(PolicyScope::Run).chain(roles).chain(phases)
    }

    /// The candidates for a decision in a scope, the closest first; the built-in policy is always the last. `role` is the role
    /// of the phase, if the scope is one. Settings without a component are laid over all earlier choices: those for a
    /// capability over each candidate for it, those for all over each that was named for all, the `all` of their own table
    /// included. The members of a list keep their order; one after the first that has no settings there keeps those that were
    /// laid over it.
    pub fn candidates(
        &self,
        scope: &PolicyScope,
        role: Option<&RoleName>,
        capability: Capability,
    ) -> Vec<ResolvedChoice> {
        let (role, phase) = match scope {
            PolicyScope::Run | PolicyScope::Shadow { .. } => (None, None),
            PolicyScope::Role { role } => (Some(role), None),
            PolicyScope::Phase { phase } => (role, Some(phase)),
        };
        let narrow = role.and_then(|role| self.roles.get(role));
        let narrowest = phase.and_then(|phase| self.phases.get(phase));
        let layers = self.layers.iter().chain(narrow).chain(narrowest);
        let mut found = vec![ResolvedChoice::built_in()];
        for layer in layers {
            let choices = [(false, layer.all.as_ref()), (true, layer.by_capability.get(&capability))];
            for (explicit, choice) in
                choices.into_iter().filter_map(|(explicit, choice)| Some((explicit, choice?)))
            {
                match &choice.component {
                    Some(component) => {
                        let rest = choice.then.iter().rev();
                        let farther = found.len();
                        found.extend(rest.filter_map(|link| ResolvedChoice::behind(link, explicit)));
                        found.push(ResolvedChoice::of(component, choice, explicit));
                        if let Some(settings) = choice.for_chain.as_deref() {
                            let (farther, own) = found.split_at_mut(farther);
                            apply_to_chosen(farther, settings, explicit);
                            own.iter_mut().for_each(|chosen| chosen.lay_beneath(settings, explicit));
                        }
                    }
                    None => apply_to_chosen(&mut found, choice, explicit),
                }
            }
        }
        found.reverse();
        // The farthest first: a component that follows another one also has the settings that the other one follows.
        for at in (0..found.len()).rev() {
            let (near, far) = found.split_at_mut(at + 1);
            let Some(link) = near.last_mut() else { continue };
            let Some(follows) = &link.follows else { continue };
            if let Some(farther) = far.iter().find(|farther| farther.component == *follows) {
                let own = link.given.iter().filter(|given| !farther.given.contains(given));
                link.given = farther.given.iter().chain(own).cloned().collect();
            }
        }
        found
    }

    /// The choices of all files, roles and phases, shadows included.
    pub fn choices(&self) -> impl Iterator<Item = &PolicyChoice> {
        let layers = self.layers.iter().chain(self.roles.values()).chain(self.phases.values());
        let choices = layers.flat_map(|layer| layer.all.iter().chain(layer.by_capability.values()));
        choices.chain(&self.shadow).flat_map(|choice| choice.links().chain(choice.for_chain.as_deref()))
    }

    /// The choices and settings of the files of one layer.
    pub fn choices_of(&self, layer: ConfigLayer) -> impl Iterator<Item = &PolicyChoice> {
        self.choices().filter(move |choice| choice.from.layer == layer)
    }

    /// Every reference that any layer or shadow names, each once.
    pub fn references(&self) -> Vec<&str> {
        let mut named: Vec<&str> = self.choices().filter_map(|choice| choice.component.as_deref()).collect();
        named.sort_unstable();
        named.dedup();
        named
    }
}

impl ResolvedChoice {
    /// The policy that is part of the host.
    fn built_in() -> Self {
        Self::of(BUILTIN, &PolicyChoice::default(), false)
    }

    fn of(component: &str, choice: &PolicyChoice, explicit: bool) -> Self {
        Self {
            component: component.to_owned(),
            rules_file: choice.rules_file.clone(),
            given: GivenSettings::own(choice.settings.clone(), choice.settings_from()),
            grants: choice.grants.clone(),
            from: choice.from.clone(),
            explicit,
            is_layer: choice.is_layer,
            follows: choice.over.clone(),
        }
    }

    /// A member of a list, after the first.
    fn behind(link: &PolicyChoice, explicit: bool) -> Option<Self> {
        let candidate = Self::of(link.component.as_deref()?, link, explicit);
        let has_none = link.settings.is_empty() && link.rules_file.is_none();
        let follows = has_none.then(|| candidate.component.clone());
        Some(Self { follows, ..candidate })
    }

    /// Settings that were written without a component.
    fn lay(&mut self, choice: &PolicyChoice, explicit: bool) {
        self.given.push(GivenSettings::bare(choice, explicit));
    }

    /// The same, if the component's own settings are closer than these.
    fn lay_beneath(&mut self, choice: &PolicyChoice, explicit: bool) {
        self.given.insert(0, GivenSettings::bare(choice, explicit));
    }

    /// The effective settings. `takes` returns whether its policy has a setting of this key for a value of this kind; other
    /// settings that were written without a component are for another policy of the chain.
    pub fn laid(&self, takes: impl Fn(&str, &GivenSetting) -> bool) -> EffectiveSettings {
        merge_settings(&self.given, takes)
    }
}

/// Lays settings that were written without a component over the earlier choices: settings for all decisions do not affect a
/// policy that was named for one.
fn apply_to_chosen(chosen: &mut [ResolvedChoice], settings: &PolicyChoice, explicit: bool) {
    let beneath = chosen.iter_mut().filter(|chosen| explicit || !chosen.explicit);
    beneath.for_each(|chosen| chosen.lay(settings, explicit));
}

impl GivenSettings {
    fn bare(choice: &PolicyChoice, explicit: bool) -> Self {
        let (settings, from) = (choice.settings.clone(), choice.from.clone());
        Self { settings, from, is_own: false, explicit }
    }

    /// The settings that were given with a component; none if it has no settings.
    pub fn own(settings: BTreeMap<String, GivenSetting>, from: ConfigSource) -> Vec<Self> {
        let own = Self { settings, from, is_own: true, explicit: true };
        Some(own).filter(|own| !own.settings.is_empty()).into_iter().collect()
    }
}

/// Lays settings over each other, the farthest first. `takes` is as for [`ResolvedChoice::laid`].
pub fn merge_settings(
    given: &[GivenSettings],
    takes: impl Fn(&str, &GivenSetting) -> bool,
) -> EffectiveSettings {
    let mut laid = EffectiveSettings::default();
    for GivenSettings { settings, from, is_own, .. } in given {
        let is_taken = |(key, given): &(&String, &GivenSetting)| *is_own || takes(key, given);
        let taken: BTreeMap<String, GivenSetting> =
            settings.iter().filter(is_taken).map(|(key, given)| (key.clone(), given.clone())).collect();
        laid.set_by.extend(taken.keys().map(|key| (key.clone(), from.clone())));
        lay_over(&mut laid.settings, &taken);
    }
    laid
}

/// The value of a policy's setting (WIT `types.setting-value`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SettingValue {
    /// true or false.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
}

#[cfg(test)]
mod tests;
