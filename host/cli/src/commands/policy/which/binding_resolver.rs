//! Finds the policy of each decision, with its settings and grants: from files as a start would, or of a run from its journal.
//! Draws no arm.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_runtime::core::input::{BindingLink, PolicyBinding};
use baton_runtime::core::observation::Capability;
use baton_runtime::core::workflow::{
    BUILTIN, ConfigSource, EffectiveSettings, GivenSetting, PolicyChoice, PolicyScope, ResolvedChoice,
    SettingValue,
};
use baton_runtime::core::{Digest, RoleName, Run, RunId, Workflow};
use baton_runtime::engine::{
    ArtifactSource, CompiledPolicy, ComponentGrants as Granted, Engine, SettingSpec, built_in, builtin_bytes,
};
use baton_runtime::store::{Journal, JournalEntry};
use baton_runtime::{HostConfig, PolicyBundle, RuntimeError, initial_bindings, journal_of};

use crate::args::LocationArgs;
use crate::render::which::{ChangedSetting, DecidingPolicy, EffectiveBinding, FallbackPolicy};
use crate::{policies, stdio};

/// The source of components and settings.
pub(super) struct BindingResolver {
    engine: Engine,
    from: ComponentSource,
}

enum ComponentSource {
    /// The components that were read with the files.
    Bundle(PolicyBundle),
    Journal(Journal),
}

/// Nothing is read while nothing is decided.
struct UnusedArtifactSource;

impl ArtifactSource for UnusedArtifactSource {
    fn list(&self) -> Vec<(String, Digest)> {
        Vec::new()
    }

    fn read(&self, _digest: &Digest) -> Option<Arc<[u8]>> {
        None
    }
}

impl BindingResolver {
    pub(super) fn of_bundle(location: &LocationArgs, bundle: PolicyBundle) -> anyhow::Result<Self> {
        Ok(Self { engine: policies::engine(location)?, from: ComponentSource::Bundle(bundle) })
    }

    /// The same for a run, in the final state of its journal.
    pub(super) fn of_run(
        location: &LocationArgs,
        config: &HostConfig,
        run: Option<&RunId>,
    ) -> anyhow::Result<(Run, Self)> {
        let (journal, id) = journal_of(config, run)?;
        let mut run = Run::new();
        for entry in journal.read(&id)? {
            // The inputs reproduce all intents.
            let JournalEntry::Input(stamped) = entry? else { continue };
            run.apply(&stamped).map_err(|illegal| RuntimeError::BrokenJournal {
                run: id.clone(),
                seq: stamped.seq,
                why: illegal.to_string(),
            })?;
        }
        Ok((run, Self { engine: policies::engine(location)?, from: ComponentSource::Journal(journal) }))
    }

    /// Who would decide in a run of the workflow.
    pub(super) fn planned(
        &self,
        config: &HostConfig,
        workflow: &Workflow,
    ) -> anyhow::Result<Vec<EffectiveBinding>> {
        let ComponentSource::Bundle(bundle) = &self.from else { return Ok(Vec::new()) };
        let mut by_scope: BTreeMap<(PolicyScope, Capability), Vec<PolicyBinding>> = BTreeMap::new();
        for binding in initial_bindings(config, workflow, bundle)? {
            by_scope.entry((binding.scope.clone(), binding.capability)).or_default().push(binding);
        }
        let bindings = by_scope
            .into_values()
            .filter_map(|mut bindings| bindings.pop().map(|binding| (binding, bindings)));
        bindings
            .map(|(binding, replaced)| {
                self.resolve(workflow, &binding, &replaced.iter().collect::<Vec<_>>(), 0)
            })
            .collect()
    }

    /// Who decides in a run.
    pub(super) fn bindings_of_run(&self, run: &Run) -> anyhow::Result<Vec<EffectiveBinding>> {
        let workflow = run.workflow();
        run.binding_views()
            .map(|view| self.resolve(workflow, view.binding, &view.replaced, view.faults_in_row))
            .collect()
    }

    fn resolve(
        &self,
        workflow: &Workflow,
        binding: &PolicyBinding,
        replaced: &[&PolicyBinding],
        faults: u32,
    ) -> anyhow::Result<EffectiveBinding> {
        let replaced = replaced.iter().rev().map(|binding| FallbackPolicy {
            policy: binding.policy.clone(),
            component: binding.component.clone(),
            from: binding.from.clone(),
        });
        Ok(EffectiveBinding {
            scope: binding.scope.clone(),
            capability: binding.capability,
            decides: self.decides(workflow, binding, binding.first())?,
            then: binding
                .then
                .iter()
                .map(|link| self.decides(workflow, binding, link.clone()))
                .collect::<anyhow::Result<_>>()?,
            replaced: dedup_adjacent(replaced),
            faults_in_row: faults,
        })
    }

    /// One of the policies that a binding names.
    fn decides(
        &self,
        workflow: &Workflow,
        binding: &PolicyBinding,
        link: BindingLink,
    ) -> anyhow::Result<DecidingPolicy> {
        let bytes = self.component(&link)?;
        let granted = Granted::of(&link.grants, Arc::new(UnusedArtifactSource));
        let mut decides = DecidingPolicy {
            policy: link.policy.clone(),
            component: link.component.clone(),
            bytes: bytes.as_ref().map(Vec::len),
            from: binding.from.clone(),
            set: Vec::new(),
            asked: Default::default(),
            granted: link.grants.clone(),
            asks_next: Vec::new(),
        };
        let Some(bytes) = bytes else { return Ok(decides) };
        match self.engine.load_granted(&link.policy, &bytes, granted) {
            Ok(policy) => {
                decides.asked = policy.wants().clone();
                decides.asks_next = policy.asks_next().to_vec();
                let values = self.values(&link)?;
                let said = said(workflow, binding, &link, &policy, values.as_ref());
                decides.from = said.from.clone();
                decides.set = set(&policy, &said, values)?;
            }
            // The binding of the run stands, even if this host cannot load the policy any more.
            Err(error) => stdio::progress(&format!("its settings are unknown: {error}")),
        }
        Ok(decides)
    }

    /// The component of one, if it is available.
    fn component(&self, link: &BindingLink) -> anyhow::Result<Option<Vec<u8>>> {
        match &self.from {
            ComponentSource::Journal(journal) => Ok(journal.blob(&link.component)?),
            ComponentSource::Bundle(bundle) => {
                let read = bundle.components.values().filter_map(|source| source.bytes.as_deref());
                let mut known = built_in(&link.policy).into_iter().chain(read);
                Ok(known.find(|bytes| Digest::of(bytes) == link.component).map(<[u8]>::to_vec))
            }
        }
    }

    /// Its settings as a journal has them.
    fn values(&self, link: &BindingLink) -> anyhow::Result<Option<BTreeMap<String, SettingValue>>> {
        let ComponentSource::Journal(journal) = &self.from else { return Ok(None) };
        Ok(journal.blob(&link.settings)?.map(|settings| serde_json::from_slice(&settings)).transpose()?)
    }
}

/// The settings that differ from the defaults, with the layer of each.
fn set(
    policy: &CompiledPolicy,
    said: &LayerSettings,
    journaled: Option<BTreeMap<String, SettingValue>>,
) -> anyhow::Result<Vec<ChangedSetting>> {
    let values = match journaled {
        Some(values) => values,
        None => policy.configure(&said.settings)?.settings().clone(),
    };
    // A policy that answered this when it was loaded answers it again.
    let schema = policy.schema().unwrap_or_default();
    let differing = schema.iter().filter_map(|setting| differs(setting, &values, &said.set_by, &said.from));
    Ok(differing.collect())
}

/// Of the same one twice in a row, once.
fn dedup_adjacent(replaced: impl Iterator<Item = FallbackPolicy>) -> Vec<FallbackPolicy> {
    let mut replaced: Vec<FallbackPolicy> = replaced.collect();
    replaced.dedup();
    replaced
}

/// The settings of layers for a policy.
struct LayerSettings {
    from: ConfigSource,
    /// As the layer names it.
    component: String,
    settings: BTreeMap<String, GivenSetting>,
    set_by: BTreeMap<String, ConfigSource>,
}

/// A setting that is not its default; attributed to the layer that chose the policy, if no layer names it.
fn differs(
    setting: &SettingSpec,
    values: &BTreeMap<String, SettingValue>,
    set_by: &BTreeMap<String, ConfigSource>,
    otherwise: &ConfigSource,
) -> Option<ChangedSetting> {
    let value = values.get(&setting.key).filter(|value| **value != setting.default)?;
    Some(ChangedSetting {
        key: setting.key.clone(),
        value: value.clone(),
        default: setting.default.clone(),
        from: set_by.get(&setting.key).unwrap_or(otherwise).clone(),
    })
}

/// What the layers say of a policy that is bound. Two that are named in one line differ in what is bound. What a command set
/// was laid over what the layers say.
fn said(
    workflow: &Workflow,
    binding: &PolicyBinding,
    link: &BindingLink,
    policy: &CompiledPolicy,
    values: Option<&BTreeMap<String, SettingValue>>,
) -> LayerSettings {
    let configured = |said: &LayerSettings| policy.configure(&said.settings).ok();
    let is_bound = |said: &LayerSettings| {
        configured(said).is_some_and(|found| *found.settings_digest() == link.settings)
    };
    if let Some(said) = candidate_settings(workflow, binding, link, policy).into_iter().find(is_bound) {
        return said;
    }
    let mut laid = LayerSettings {
        from: binding.from.clone(),
        component: String::new(),
        settings: BTreeMap::new(),
        set_by: BTreeMap::new(),
    };
    let layers = layer_settings(workflow, binding, policy);
    for under in layers.into_iter().filter(|said| names_component(link, &said.component)) {
        let Some(found) = configured(&under) else { continue };
        let is_unchanged = |(key, _): &(String, ConfigSource)| {
            values.is_some_and(|values| values.get(key) == found.settings().get(key))
        };
        laid.set_by.extend(under.set_by.into_iter().filter(is_unchanged));
    }
    laid
}

/// What the layers say of the policies that they put there: the first by the same word as the binding, those behind it by any.
fn candidate_settings(
    workflow: &Workflow,
    binding: &PolicyBinding,
    link: &BindingLink,
    policy: &CompiledPolicy,
) -> Vec<LayerSettings> {
    let is_first = binding.first() == *link;
    if let PolicyScope::Shadow { .. } = &binding.scope {
        let shadows = workflow.policies.shadow.iter().filter(|choice| choice.from == binding.from);
        return shadows.map(shadow_settings).collect();
    }
    let is_named = |said: &LayerSettings| match is_first {
        true => said.from == binding.from,
        false => names_component(link, &said.component),
    };
    layer_settings(workflow, binding, policy).into_iter().filter(is_named).collect()
}

/// Whether a layer means a policy by this word: a file, one of a registry, or a built-in one.
fn names_component(link: &BindingLink, component: &str) -> bool {
    if component == BUILTIN {
        return link.component == Digest::of(builtin_bytes());
    }
    let names = component.rsplit(['/', ':', '@']);
    names.map(|name| name.trim_end_matches(".wasm")).any(|name| name == link.policy)
}

/// The settings of every layer for decisions of this binding's scope, as far as they are about this policy.
fn layer_settings(
    workflow: &Workflow,
    binding: &PolicyBinding,
    policy: &CompiledPolicy,
) -> Vec<LayerSettings> {
    let role = match &binding.scope {
        PolicyScope::Phase { phase } => role_of(workflow, phase.as_str()),
        PolicyScope::Run | PolicyScope::Role { .. } | PolicyScope::Shadow { .. } => None,
    };
    let of = |candidate: ResolvedChoice| {
        let EffectiveSettings { settings, set_by } =
            candidate.laid(|key, given| policy.takes(key, given).is_ok());
        LayerSettings { from: candidate.from, component: candidate.component, settings, set_by }
    };
    workflow.policies.candidates(&binding.scope, role, binding.capability).into_iter().map(of).collect()
}

fn shadow_settings(choice: &PolicyChoice) -> LayerSettings {
    let set_by = choice.settings.keys().map(|key| (key.clone(), choice.settings_from()));
    LayerSettings {
        from: choice.from.clone(),
        component: choice.component.clone().unwrap_or_default(),
        settings: choice.settings.clone(),
        set_by: set_by.collect(),
    }
}

fn role_of<'w>(workflow: &'w Workflow, phase: &str) -> Option<&'w RoleName> {
    workflow.phases.iter().find(|known| known.id.as_str() == phase).map(|phase| &phase.role)
}

/// Of all bindings those that decide in one scope: for each decision the narrowest. Without a scope all of them. Shadows are
/// asked everywhere.
pub(super) fn effective(
    bindings: Vec<EffectiveBinding>,
    scope: Option<&PolicyScope>,
    workflow: &Workflow,
) -> Vec<EffectiveBinding> {
    let Some(scope) = scope else { return bindings };
    let role = match scope {
        PolicyScope::Phase { phase } => role_of(workflow, phase.as_str()),
        PolicyScope::Role { role } => Some(role),
        PolicyScope::Run | PolicyScope::Shadow { .. } => None,
    };
    let role = role.map(|role| PolicyScope::Role { role: role.clone() });
    let ways: Vec<&PolicyScope> =
        [Some(scope), role.as_ref(), Some(&PolicyScope::Run)].into_iter().flatten().collect();
    let mut found: BTreeMap<Capability, (usize, EffectiveBinding)> = BTreeMap::new();
    let (shadows, bindings): (Vec<EffectiveBinding>, Vec<EffectiveBinding>) =
        bindings.into_iter().partition(|binding| matches!(binding.scope, PolicyScope::Shadow { .. }));
    for binding in bindings {
        let Some(rank) = ways.iter().position(|way| **way == binding.scope) else { continue };
        if found.get(&binding.capability).is_none_or(|(known, _)| rank < *known) {
            found.insert(binding.capability, (rank, binding));
        }
    }
    found.into_values().map(|(_, binding)| binding).chain(shadows).collect()
}
