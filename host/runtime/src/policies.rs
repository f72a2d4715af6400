//! Loads the policies of a run: every component once, its settings made canonical by the component itself, and a router that
//! follows the bindings of the run, with the fallback chain behind each. The engine checks and asks components;
//! `core::workflow::Policies` has the user's choice.

mod granted_artifacts;
mod named_policy;
pub(crate) mod policy_set;
pub(crate) mod policy_swap;
pub(crate) mod policy_watcher;
mod setting_validation;
pub(crate) mod shadow;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_core::decision::{Decision, Fault, Provenance};
use baton_core::grants::Grants;
use baton_core::input::{BindingLink, PolicyBinding};
use baton_core::observation::{Capability, PolicyRequest};
use baton_core::workflow::{
    BUILTIN, ConfigSource, EffectiveSettings, GivenSetting, GivenSettings, PolicyChoice, PolicyScope,
    ResolvedChoice, SettingValue, lay_over, merge_settings,
};
use baton_core::{Digest, RoleName, Run, Workflow};
use baton_engine::limits::CHAIN_LINKS_MAX;
use baton_engine::{
    BUILT_IN_NAMES, BUILTIN_NAME, CompiledPolicy, ComponentGrants as Granted, ConfiguredPolicy, Engine,
    EngineConfig, RoutedDecision, Router, RouterError, built_in, builtin_bytes,
};

use crate::config::{PolicyBundle, PolicySource};
use crate::error::RuntimeError;
use named_policy::NamedPolicy;

pub(crate) use granted_artifacts::RunArtifacts;

/// How a workflow names any embedded component.
const BUILTIN_PREFIX: &str = "builtin:";

/// Who answers questions to a policy, in a scope.
pub(crate) type DecideFn =
    Arc<dyn Fn(&PolicyScope, &PolicyRequest) -> (Result<Decision, Fault>, Provenance) + Send + Sync>;

/// What a new run begins with.
pub(crate) struct PreparedPolicies {
    /// Answers every question.
    pub(crate) policies: Arc<PolicyRegistry>,
    /// Who decides what. Of two for the same scope and decision the later one does.
    pub(crate) bindings: Vec<PolicyBinding>,
    /// Components and canonical settings, for the journal: a resume and a replay need no file.
    pub(crate) blobs: Vec<Vec<u8>>,
}

/// A component as a run is bound to it, from the journal.
pub(crate) struct JournaledPolicy {
    pub(crate) link: BindingLink,
    pub(crate) component: Vec<u8>,
    pub(crate) settings: Vec<u8>,
    /// Whether it decides now; otherwise it is the fallback of the policy that does.
    pub(crate) in_place: bool,
}

/// Components that were loaded for a binding.
pub(crate) struct LoadedBinding {
    pub(crate) binding: PolicyBinding,
    /// The component and the canonical settings of each of them.
    pub(crate) blobs: Vec<[Vec<u8>; 2]>,
}

impl LoadedBinding {
    /// Appends another policy, which is asked if this one abstains; a policy that is already in the chain is not added again.
    fn before(mut self, next: LoadedBinding) -> Self {
        let link = next.binding.first();
        let is_asked = |asked: BindingLink| {
            (&asked.component, &asked.settings, &asked.grants)
                == (&link.component, &link.settings, &link.grants)
        };
        if !self.binding.links().any(is_asked) {
            self.binding.then.push(link);
            self.blobs.extend(next.blobs);
        }
        self
    }

    /// What is written down of them, by digest.
    pub(crate) fn into_blobs(self) -> (PolicyBinding, Vec<(Digest, Vec<u8>)>) {
        let links: Vec<BindingLink> = self.binding.links().collect();
        let named = links.into_iter().zip(self.blobs).flat_map(|(link, [component, settings])| {
            [(link.component, component), (link.settings, settings)]
        });
        (self.binding.clone(), named.collect())
    }
}

/// What a component is loaded under: the same bytes under two names, or with two grants, are two policies.
type PolicyKey = (String, Digest, GrantKey);
/// Grants in an order.
type GrantKey = (Vec<String>, Option<u64>, Option<u32>);

/// Everything that was loaded for a run, and the router over what decides. Shared by the loop and those who load for it.
pub(crate) struct PolicyRegistry {
    engine: Engine,
    router: Router,
    artifacts: RunArtifacts,
    loaded: Mutex<BTreeMap<PolicyKey, CompiledPolicy>>,
    configured: Mutex<BTreeMap<(PolicyKey, Digest), ConfiguredPolicy>>,
}

impl PolicyRegistry {
    fn new(cache: PathBuf, artifacts: RunArtifacts) -> Result<Self, RuntimeError> {
        let engine = engine(Some(cache))?;
        let router =
            Router::new(&engine, BTreeMap::new()).map_err(|error| RuntimeError::Engine(error.into()))?;
        Ok(Self { engine, router, artifacts, loaded: Mutex::default(), configured: Mutex::default() })
    }

    /// Answers a question, by those who decide in a scope.
    pub(crate) fn decide(&self, scope: &PolicyScope, question: &PolicyRequest) -> RoutedDecision {
        self.router.decide_in(scope, question)
    }

    /// The same, for those who only ask.
    pub(crate) fn decide_fn(self: &Arc<Self>) -> DecideFn {
        let policies = Arc::clone(self);
        Arc::new(move |scope, question| {
            let RoutedDecision { result, label, .. } = policies.decide(scope, question);
            (result, label)
        })
    }

    /// A new router for one of several runs, so that no state is shared with another run. It follows the bindings of its run.
    pub(crate) fn new_router(&self, built_in: &ConfiguredPolicy) -> Result<Router, RouterError> {
        Router::with_built_in(&self.engine, BTreeMap::new(), built_in.clone())
    }

    /// The built-in policy, the last fallback of every other one.
    pub(crate) fn built_in(&self) -> Result<ConfiguredPolicy, RuntimeError> {
        let refused = |why: String| refused(BUILTIN, why);
        let (grants, settings) = (Grants::default(), BTreeMap::new());
        let policy = self.policy(BUILTIN_NAME, builtin_bytes(), &grants).map_err(refused)?;
        self.configure(&policy, &grants, &settings).map_err(refused)
    }

    /// Configures the bindings that a run begins with.
    fn install_initial(&self, bindings: &[PolicyBinding]) {
        warn(self.router.begin(bindings, |link| self.known(link)));
    }

    /// Configures the current bindings of the run. All are loaded already, so this takes no time.
    pub(crate) fn follow(&self, run: &Run) {
        warn(self.router.follow(run, |link| self.known(link)));
    }

    /// Loads a component for every capability that it is to decide: compiles it, checks it against the contract, tries it, and
    /// validates its settings. Blocking; active policies are not affected.
    pub(crate) fn load(&self, wanted: &BindingRequest) -> Result<Vec<LoadedBinding>, RuntimeError> {
        let BindingRequest { source, reference, given, grants, from, scope, decides, in_force } = wanted;
        let bytes = bytes_of(source);
        let policy = self.policy_of(wanted)?;
        let EffectiveSettings { settings, .. } =
            merge_settings(given, |key, value| policy.takes(key, value).is_ok());
        let able: Vec<_> = match decides.as_slice() {
            [] => policy.decides().to_vec(),
            named => named.to_vec(),
        };
        if let Some(not) = able.iter().find(|capability| !policy.decides().contains(capability)) {
            return Err(refused(reference, cannot_decide(&policy, *not)));
        }
        let load_one = |capability| {
            let mut laid = in_force.get(&capability).cloned().unwrap_or_default();
            lay_over(&mut laid, &settings);
            let configured = self.configure(&policy, grants, &laid).map_err(|why| refused(reference, why))?;
            Ok(LoadedBinding {
                binding: binding_of(&configured, capability, scope.clone(), grants.clone(), from.clone()),
                blobs: vec![[bytes.to_vec(), canonical(&configured)]],
            })
        };
        able.into_iter().map(load_one).collect()
    }

    /// What is set for a policy otherwise than by default. Blocking.
    pub(crate) fn non_default_settings(
        &self,
        link: &BindingLink,
        component: &[u8],
        settings: &[u8],
    ) -> Result<BTreeMap<String, GivenSetting>, RuntimeError> {
        let refused = |why: String| refused(&link.policy, why);
        let values: BTreeMap<String, SettingValue> = serde_json::from_slice(settings)
            .map_err(|error| refused(format!("its journaled settings: {error}")))?;
        let policy = self.policy(&link.policy, component, &link.grants).map_err(refused)?;
        let schema = policy.schema().map_err(|fault| refused(fault.to_string()))?;
        let is_default = |(key, value): &(String, SettingValue)| {
            schema.iter().any(|setting| setting.key == *key && setting.default == *value)
        };
        let set = values.into_iter().filter(|set| !is_default(set));
        Ok(set.map(|(key, value)| (key, GivenSetting::Value(value))).collect())
    }

    /// Removes from the current settings those that a component does not have, and returns their names. Blocking.
    pub(crate) fn drop_unknown_settings(
        &self,
        wanted: &BindingRequest,
        in_force: &mut CurrentSettings,
    ) -> Result<Vec<String>, RuntimeError> {
        let policy = self.policy_of(wanted)?;
        let schema = policy.schema().map_err(|fault| refused(&wanted.reference, fault.to_string()))?;
        let mut dropped = BTreeSet::new();
        for settings in in_force.values_mut() {
            settings.retain(|key, _| {
                let has = schema.iter().any(|setting| setting.key == *key);
                if !has {
                    dropped.insert(key.clone());
                }
                has
            });
        }
        Ok(dropped.into_iter().collect())
    }

    /// Checks that a component that was configured as a layer asks the next policy for this capability.
    fn ensure_asks_next(&self, wanted: &BindingRequest, capability: Capability) -> Result<(), RuntimeError> {
        let policy = self.policy_of(wanted)?;
        let asks = policy.asks_next();
        let is_needed = policy.decides().contains(&capability);
        if asks.contains(&capability) || !is_needed && !asks.is_empty() {
            return Ok(());
        }
        let why = format!(
            "it is not a layer for {capability}: it does not import the question that it answers; name it as a `component`, or in a list"
        );
        Err(refused(&wanted.reference, why))
    }

    /// Loads this component with its settings from the journal, if it is not loaded yet.
    fn restore(&self, journaled: &JournaledPolicy) -> Result<(), RuntimeError> {
        let JournaledPolicy { link, component, settings, .. } = journaled;
        let refused = |why: String| refused(&link.policy, why);
        let settings: BTreeMap<String, GivenSetting> = serde_json::from_slice(settings)
            .map_err(|error| refused(format!("its journaled settings: {error}")))?;
        let policy = self.policy(&link.policy, component, &link.grants).map_err(refused)?;
        self.configure(&policy, &link.grants, &settings).map_err(refused)?;
        Ok(())
    }

    /// Loads the policy of a request.
    fn policy_of(&self, wanted: &BindingRequest) -> Result<CompiledPolicy, RuntimeError> {
        let BindingRequest { source, reference, grants, .. } = wanted;
        let loaded = self.policy(&source.name, bytes_of(source), grants);
        loaded.map_err(|why| refused(reference, why))
    }

    fn policy(&self, name: &str, bytes: &[u8], grants: &Grants) -> Result<CompiledPolicy, String> {
        let key = (name.to_owned(), Digest::of(bytes), key_of(grants));
        if let Some(policy) = lock(&self.loaded).get(&key) {
            return Ok(policy.clone());
        }
        let granted = Granted::of(grants, Arc::new(self.artifacts.granted(grants.clone())));
        let policy = self.engine.load_granted(name, bytes, granted).map_err(|error| error.to_string())?;
        lock(&self.loaded).insert(key, policy.clone());
        Ok(policy)
    }

    fn configure(
        &self,
        policy: &CompiledPolicy,
        grants: &Grants,
        settings: &BTreeMap<String, GivenSetting>,
    ) -> Result<ConfiguredPolicy, String> {
        let configured = policy.configure(settings).map_err(|error| error.to_string())?;
        let key = (policy.name().to_owned(), policy.digest().clone(), key_of(grants));
        lock(&self.configured).insert((key, configured.settings_digest().clone()), configured.clone());
        Ok(configured)
    }

    /// The policy of a link, if it was loaded.
    pub(crate) fn known(&self, link: &BindingLink) -> Option<ConfiguredPolicy> {
        let key = (link.policy.clone(), link.component.clone(), key_of(&link.grants));
        lock(&self.configured).get(&(key, link.settings.clone())).cloned()
    }
}

/// A policy that could not be configured is not asked; the previous one continues to decide.
fn warn(placed: Result<(), RouterError>) {
    if let Err(error) = placed {
        tracing::warn!("{error}");
    }
}

/// A request to bind a component.
#[derive(Clone, Debug)]
pub(crate) struct BindingRequest {
    pub(crate) source: PolicySource,
    /// As it was named, for messages.
    pub(crate) reference: String,
    /// What is said of its settings, the farthest first.
    pub(crate) given: Vec<GivenSettings>,
    pub(crate) grants: Grants,
    pub(crate) from: ConfigSource,
    pub(crate) scope: PolicyScope,
    /// What it is to decide; everything that it can where empty.
    pub(crate) decides: Vec<Capability>,
    /// Settings over which those of `given` are laid, for each decision.
    pub(crate) in_force: CurrentSettings,
}

/// The current settings of a component, by capability that it already decides.
pub(crate) type CurrentSettings = BTreeMap<Capability, BTreeMap<String, GivenSetting>>;

/// Loads the policies that a workflow names. Blocking: a component that is new here is compiled.
pub(crate) fn prepare(
    cache: PathBuf,
    artifacts: RunArtifacts,
    workflow: &Workflow,
    bundle: &PolicyBundle,
) -> Result<PreparedPolicies, RuntimeError> {
    let policies = PolicyRegistry::new(cache, artifacts)?;
    let mut blobs = BTreeMap::new();
    let mut bindings: Vec<PolicyBinding> = Vec::new();
    let mut put = |loaded: LoadedBinding| {
        let (binding, its_blobs) = loaded.into_blobs();
        blobs.extend(its_blobs);
        binding
    };
    for scope in workflow.policies.scopes() {
        for capability in Capability::ALL {
            let chosen = choose(&policies, workflow, bundle, &scope, capability)?;
            if scope == PolicyScope::Run {
                let built_in = policies.load(&fallback(capability))?;
                bindings.extend(
                    built_in.into_iter().map(&mut put).filter(|binding| !binding.is_same_as(&chosen.binding)),
                );
            } else if wider_binding(&bindings, workflow, &scope, capability).is_some_and(|binding| {
                binding.from == chosen.binding.from && binding.is_same_as(&chosen.binding)
            }) {
                // The policies of the wider scope decide here too.
                continue;
            }
            bindings.push(put(chosen));
        }
    }
    for (n, choice) in workflow.policies.shadow.iter().enumerate() {
        let shadow = shadow(bundle, choice, n, &bindings)?;
        bindings.extend(policies.load(&shadow)?.into_iter().map(&mut put));
    }
    policies.install_initial(&bindings);
    Ok(PreparedPolicies { policies: Arc::new(policies), bindings, blobs: blobs.into_values().collect() })
}

/// The binding for a scope that has none: for a phase that of its role, else that of the run.
fn wider_binding<'p>(
    bindings: &'p [PolicyBinding],
    workflow: &Workflow,
    scope: &PolicyScope,
    capability: Capability,
) -> Option<&'p PolicyBinding> {
    let bound_in = |scope: &PolicyScope| {
        bindings.iter().rev().find(|binding| binding.capability == capability && binding.scope == *scope)
    };
    scope.wider(workflow).find_map(|wider| bound_in(&wider))
}

/// The role of the phase that a scope is, if it is one.
pub(crate) fn role_of<'w>(workflow: &'w Workflow, scope: &PolicyScope) -> Option<&'w RoleName> {
    match scope {
        PolicyScope::Phase { phase } => {
            workflow.phases.iter().find(|known| known.id == *phase).map(|phase| &phase.role)
        }
        PolicyScope::Run | PolicyScope::Role { .. } | PolicyScope::Shadow { .. } => None,
    }
}

/// Loads the bindings of a run. Blocking.
pub(crate) fn restore(
    cache: PathBuf,
    artifacts: RunArtifacts,
    journaled: &[JournaledPolicy],
) -> Result<Arc<PolicyRegistry>, RuntimeError> {
    let policies = PolicyRegistry::new(cache, artifacts)?;
    for one in journaled {
        match policies.restore(one) {
            Err(error) if one.in_place => return Err(error),
            // It is only a fallback; without it the built-in policy decides if the active one fails.
            Err(error) => tracing::warn!("{error}"),
            Ok(()) => {}
        }
    }
    Ok(Arc::new(policies))
}

/// An engine with the limits of every policy.
pub(crate) fn engine(cache_dir: Option<PathBuf>) -> Result<Engine, RuntimeError> {
    let config = EngineConfig { cache_dir, ..EngineConfig::default() };
    let engine = Engine::new(config).map_err(|error| RuntimeError::Engine(error.into()))?;
    if let Some(problem) = engine.cache_problem() {
        tracing::warn!("policies are compiled again at each start: {problem}");
    }
    Ok(engine)
}

/// The chain that decides a capability in a scope: the closest policy that was named for it, or that was named for everything
/// and can decide it; behind it, for abstentions, all that were named farther away, down to the built-in one. A component that
/// a closer layer names with other settings is asked with those alone.
fn choose(
    policies: &PolicyRegistry,
    workflow: &Workflow,
    bundle: &PolicyBundle,
    scope: &PolicyScope,
    capability: Capability,
) -> Result<LoadedBinding, RuntimeError> {
    let role = role_of(workflow, scope);
    let mut chosen: Option<LoadedBinding> = None;
    let candidates = workflow.policies.candidates(scope, role, capability);
    let (mut asked, mut before) = (Vec::new(), Vec::new());
    for candidate in candidates {
        let source = find(bundle, &candidate.component)?;
        let ResolvedChoice { component, rules_file, given, grants, from, explicit, is_layer, .. } = candidate;
        let wanted = |decides| BindingRequest {
            source: source.clone(),
            reference: component.clone(),
            given: given.clone(),
            grants: grants.clone(),
            from: from.clone(),
            scope: scope.clone(),
            decides,
            in_force: CurrentSettings::new(),
        };
        let policy = policies.policy_of(&wanted(Vec::new()))?;
        let named = NamedPolicy::of(rules_file, &policy, &from);
        let is_named_closer = before.iter().any(|closer: &NamedPolicy| closer.replaces(&named));
        before.push(named);
        let able = match explicit {
            true => Some(take_binding(policies.load(&wanted(vec![capability]))?, capability, &component)?),
            // Its settings are checked even if it does not decide this capability: a mistake in them is not silently ignored.
            false => {
                let able = policies.load(&wanted(Vec::new()))?;
                able.into_iter().find(|loaded| loaded.binding.capability == capability)
            }
        };
        if is_layer {
            policies.ensure_asks_next(&wanted(Vec::new()), capability)?;
        }
        asked.push(setting_validation::AskedPolicy {
            policy,
            component: component.clone(),
            given: given.clone(),
        });
        chosen = match (chosen, able) {
            (Some(chosen), Some(_)) if is_named_closer => Some(chosen),
            (Some(chosen), Some(next)) => Some(chosen.before(next)),
            (chosen, able) => chosen.or(able),
        };
    }
    setting_validation::each_is_taken(capability, &asked)?;
    if workflow.policies.watch {
        policy_watcher::expect_own_names(
            asked.iter().map(|asked| (asked.policy.name(), asked.component.as_str())),
        )?;
    }
    match chosen {
        Some(chosen) if chosen.binding.links().count() > CHAIN_LINKS_MAX as usize => {
            let why = format!(
                "{} policies are chained for {capability}, and a chain has at most {CHAIN_LINKS_MAX}, the built-in one at its end \
                 included: name fewer, in this file or in those of farther layers",
                chosen.binding.links().count()
            );
            Err(refused(&chosen.binding.policy, why))
        }
        Some(chosen) => Ok(chosen),
        None => take_binding(policies.load(&fallback(capability))?, capability, BUILTIN),
    }
}

fn take_binding(
    loaded: Vec<LoadedBinding>,
    capability: Capability,
    reference: &str,
) -> Result<LoadedBinding, RuntimeError> {
    let found = loaded.into_iter().find(|loaded| loaded.binding.capability == capability);
    found.ok_or_else(|| refused(reference, format!("it does not decide {capability}")))
}

/// Loads a shadow: a component that is asked but decides nothing. Two of one name differ in a number.
fn shadow(
    bundle: &PolicyBundle,
    choice: &PolicyChoice,
    n: usize,
    bindings: &[PolicyBinding],
) -> Result<BindingRequest, RuntimeError> {
    let reference = choice.component.as_deref().unwrap_or(BUILTIN);
    let source = find(bundle, reference)?;
    let named = PolicyScope::Shadow { policy: source.name.clone() };
    let scope = match bindings.iter().any(|binding| binding.scope == named) {
        true => PolicyScope::Shadow { policy: format!("{}-{}", source.name, n + 1) },
        false => named,
    };
    Ok(BindingRequest {
        reference: reference.to_owned(),
        source,
        given: GivenSettings::own(choice.settings.clone(), choice.settings_from()),
        grants: choice.grants.clone(),
        from: choice.from.clone(),
        scope,
        decides: Vec::new(),
        in_force: CurrentSettings::new(),
    })
}

fn fallback(capability: Capability) -> BindingRequest {
    BindingRequest {
        source: PolicySource { name: BUILTIN_NAME.to_owned(), bytes: None },
        reference: BUILTIN.to_owned(),
        given: Vec::new(),
        grants: Grants::default(),
        from: ConfigSource::default(),
        scope: PolicyScope::Run,
        decides: vec![capability],
        in_force: CurrentSettings::new(),
    }
}

/// The component of a reference, among those that were read.
pub(crate) fn find(bundle: &PolicyBundle, reference: &str) -> Result<PolicySource, RuntimeError> {
    match bundle.components.get(reference) {
        Some(source) => Ok(source.clone()),
        None if reference == BUILTIN => Ok(PolicySource { name: BUILTIN_NAME.to_owned(), bytes: None }),
        None => match reference.strip_prefix(BUILTIN_PREFIX) {
            Some(name) => {
                let bytes = built_in(name).ok_or_else(|| {
                    let why = format!(
                        "there is no such built-in policy; this host has {}",
                        BUILT_IN_NAMES.join(", ")
                    );
                    refused(reference, why)
                })?;
                Ok(PolicySource { name: name.to_owned(), bytes: Some(bytes.to_vec()) })
            }
            None => Err(refused(reference, "its component was not read".to_owned())),
        },
    }
}

fn binding_of(
    configured: &ConfiguredPolicy,
    capability: Capability,
    scope: PolicyScope,
    grants: Grants,
    from: ConfigSource,
) -> PolicyBinding {
    PolicyBinding {
        capability,
        policy: configured.policy().name().to_owned(),
        component: configured.policy().digest().clone(),
        settings: configured.settings_digest().clone(),
        scope,
        wants: configured.policy().wants().clone(),
        grants,
        from,
        then: Vec::new(),
    }
}

/// The bytes whose digest a binding carries.
fn canonical(configured: &ConfiguredPolicy) -> Vec<u8> {
    // Keys are texts and values plain, so this cannot fail.
    serde_json::to_vec(configured.settings()).unwrap_or_default()
}

/// A source without bytes is the built-in policy.
fn bytes_of(source: &PolicySource) -> &[u8] {
    source.bytes.as_deref().unwrap_or(builtin_bytes())
}

fn cannot_decide(policy: &CompiledPolicy, capability: Capability) -> String {
    let decides: Vec<_> = policy.decides().iter().map(|decides| decides.name()).collect();
    format!("it does not decide {capability}, only {}", decides.join(", "))
}

fn key_of(grants: &Grants) -> GrantKey {
    (grants.artifacts.clone(), grants.fuel, grants.memory_mib)
}

fn refused(reference: &str, why: String) -> RuntimeError {
    RuntimeError::PolicyRefused { policy: reference.to_owned(), why }
}

/// What is behind it is only ever added to, so a poisoned lock is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
