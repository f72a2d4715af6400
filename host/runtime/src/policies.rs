//! Loads what decides in a run: every component once, its settings made canonical by the component itself, and a router
//! with the fallback chain behind it. How a component is checked and asked is the engine's.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;

use baton_core::Digest;
use baton_core::input::Pin;
use baton_core::observation::Capability;
use baton_core::workflow::{Policies, PolicyChoice, SettingValue};
use baton_engine::{BUILTIN_NAME, Configured, Engine, EngineConfig, Policy, Router, builtin_bytes};

use crate::config::PolicyBundle;
use crate::error::RuntimeError;
use crate::event_loop::Judge;

/// How a workflow names the component that is embedded in the host.
const BUILTIN: &str = "builtin:resilience";
/// How a workflow names any embedded component.
const BUILTIN_PREFIX: &str = "builtin:";

/// What a new run begins with.
pub(crate) struct Prepared {
    /// Answers every question.
    pub(crate) judge: Judge,
    /// Who decides what.
    pub(crate) pins: Vec<Pin>,
    /// Components and canonical settings, for the journal: a resume and a replay need no file.
    pub(crate) blobs: Vec<Vec<u8>>,
}

/// A component as a run is pinned to it, from the journal.
pub(crate) struct Pinned {
    pub(crate) pin: Pin,
    pub(crate) component: Vec<u8>,
    pub(crate) settings: Vec<u8>,
}

/// Loads what a workflow names. Blocking: a component that is new here is compiled.
pub(crate) fn prepare(
    cache: PathBuf,
    choices: &Policies,
    bundle: &PolicyBundle,
) -> Result<Prepared, RuntimeError> {
    let engine = engine(cache)?;
    let mut loaded = Loaded { engine: &engine, bundle, components: BTreeMap::new() };
    let mut configured = BTreeMap::new();
    for capability in Capability::ALL {
        configured.insert(capability, loaded.choose(choices, capability)?);
    }
    let mut blobs = BTreeMap::new();
    let mut pins = Vec::new();
    for (capability, chosen) in &configured {
        let policy = chosen.policy();
        let settings = canonical(chosen);
        if let Some(bytes) = loaded.bytes_of(policy) {
            blobs.insert(policy.digest().clone(), bytes.to_vec());
        }
        blobs.insert(chosen.settings_digest().clone(), settings);
        pins.push(Pin {
            capability: *capability,
            policy: policy.name().to_owned(),
            component: policy.digest().clone(),
            settings: chosen.settings_digest().clone(),
        });
    }
    let judge = judge(&engine, configured)?;
    Ok(Prepared { judge, pins, blobs: blobs.into_values().collect() })
}

/// Loads what a run is pinned to. Blocking.
pub(crate) fn restore(cache: PathBuf, pinned: Vec<Pinned>) -> Result<Judge, RuntimeError> {
    let engine = engine(cache)?;
    let mut configured = BTreeMap::new();
    // One component is pinned for several decisions as a rule, and is loaded once.
    let mut loaded: BTreeMap<(String, Digest), Policy> = BTreeMap::new();
    for Pinned { pin, component, settings } in pinned {
        let refused = |why: String| RuntimeError::PolicyRefused { policy: pin.policy.clone(), why };
        let policy = match loaded.entry((pin.policy.clone(), pin.component.clone())) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(place) => {
                let policy =
                    engine.load(&pin.policy, &component).map_err(|error| refused(error.to_string()))?;
                place.insert(policy).clone()
            }
        };
        let settings: BTreeMap<String, SettingValue> = serde_json::from_slice(&settings)
            .map_err(|error| refused(format!("its journaled settings: {error}")))?;
        let chosen = policy.configure(&settings).map_err(|error| refused(error.to_string()))?;
        configured.insert(pin.capability, chosen);
    }
    judge(&engine, configured)
}

fn engine(cache: PathBuf) -> Result<Engine, RuntimeError> {
    let config = EngineConfig { cache_dir: Some(cache), ..EngineConfig::default() };
    let engine = Engine::new(config).map_err(|error| RuntimeError::Engine(error.into()))?;
    if let Some(problem) = engine.cache_problem() {
        tracing::warn!("policies are compiled anew at each start: {problem}");
    }
    Ok(engine)
}

fn judge(engine: &Engine, configured: BTreeMap<Capability, Configured>) -> Result<Judge, RuntimeError> {
    let router = Router::new(engine, configured).map_err(|error| RuntimeError::Engine(error.into()))?;
    Ok(Arc::new(move |question| router.decide(question)))
}

/// The bytes whose digest a pin carries.
fn canonical(configured: &Configured) -> Vec<u8> {
    // Keys are texts and values plain, so this cannot fail.
    serde_json::to_vec(configured.settings()).unwrap_or_default()
}

/// Components by their reference in the workflow, each loaded once.
struct Loaded<'a> {
    engine: &'a Engine,
    bundle: &'a PolicyBundle,
    components: BTreeMap<String, Policy>,
}

impl<'a> Loaded<'a> {
    /// What decides for a capability. A component that is named for all of them decides what it can; the rest is the
    /// built-in one's.
    fn choose(&mut self, choices: &Policies, capability: Capability) -> Result<Configured, RuntimeError> {
        let explicit = choices.by_capability.contains_key(&capability);
        let choice = choices.choice(capability);
        let policy = self.load(choice)?;
        if policy.decides().contains(&capability) {
            return configure(&policy, choice);
        }
        if explicit {
            let decides: Vec<_> = policy.decides().iter().map(|decides| decides.name()).collect();
            let why = format!("it does not decide {capability}, only {}", decides.join(", "));
            return Err(RuntimeError::PolicyRefused { policy: choice.component.clone(), why });
        }
        // Its settings are checked even so: a slip in them is not silently ignored.
        configure(&policy, choice)?;
        let built_in = PolicyChoice { component: BUILTIN.to_owned(), settings: BTreeMap::new() };
        configure(&self.load(&built_in)?, &built_in)
    }

    fn load(&mut self, choice: &PolicyChoice) -> Result<Policy, RuntimeError> {
        let reference = &choice.component;
        if let Some(policy) = self.components.get(reference) {
            return Ok(policy.clone());
        }
        let (name, bytes) = self.find(reference)?;
        let policy = self.engine.load(name, bytes).map_err(|error| refused(reference, error.to_string()))?;
        self.components.insert(reference.clone(), policy.clone());
        Ok(policy)
    }

    fn find(&self, reference: &str) -> Result<(&'a str, &'a [u8]), RuntimeError> {
        match self.bundle.components.get(reference) {
            Some(source) => Ok((&source.name, source.bytes.as_deref().unwrap_or(builtin_bytes()))),
            None if reference == BUILTIN => Ok((BUILTIN_NAME, builtin_bytes())),
            None if reference.starts_with(BUILTIN_PREFIX) => Err(refused(
                reference,
                format!("there is no such built-in policy; this host has `{BUILTIN}`"),
            )),
            None => Err(refused(reference, "its component was not read".to_owned())),
        }
    }

    fn bytes_of(&self, policy: &Policy) -> Option<&'a [u8]> {
        let (reference, _) = self.components.iter().find(|(_, known)| known.digest() == policy.digest())?;
        self.find(reference).ok().map(|(_, bytes)| bytes)
    }
}

fn configure(policy: &Policy, choice: &PolicyChoice) -> Result<Configured, RuntimeError> {
    policy.configure(&choice.settings).map_err(|error| refused(&choice.component, error.to_string()))
}

fn refused(reference: &str, why: String) -> RuntimeError {
    RuntimeError::PolicyRefused { policy: reference.to_owned(), why }
}
