//! Gathers the policy components that a workflow or the command line names, and holds those of a workflow to
//! `baton.lock` where there is one. Whether a component is fit to decide is the engine's to say.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use baton_registry::{Component, LOCK_FILE, Lock, ResolveError, Resolved, lock_key, resolve};
use baton_runtime::core::observation::Capability;
use baton_runtime::core::workflow::SettingValue;
use baton_runtime::core::{Digest, Workflow};
use baton_runtime::engine::{BUILTIN_NAME, Configured, Engine, EngineConfig, Router, builtin_bytes};
use baton_runtime::{PolicyBundle, PolicySource, RuntimeError};

use crate::args::PlaceArgs;
use crate::exit::Usage;
use crate::place;

/// A policy that the command line names.
pub(crate) struct Named {
    /// What it is called.
    pub(crate) name: String,
    /// Its component.
    pub(crate) bytes: Cow<'static, [u8]>,
    /// Whether it is part of the host.
    pub(crate) built_in: bool,
}

/// The policy of a command line. A name that is not built in and a pin that does not fit are refused.
pub(crate) fn named(reference: &str) -> anyhow::Result<Named> {
    match resolve(reference, Path::new(""))? {
        Resolved::File(Component { name, bytes, .. }) => {
            Ok(Named { name, bytes: Cow::Owned(bytes), built_in: false })
        }
        Resolved::BuiltIn { name, pin } if name == BUILTIN_NAME => {
            let bytes = builtin_bytes();
            ResolveError::pinned(reference, pin.as_ref(), &Digest::of(bytes))?;
            Ok(Named { name, bytes: Cow::Borrowed(bytes), built_in: true })
        }
        Resolved::BuiltIn { .. } => {
            Err(Usage(format!("{reference} is not built in; there is only builtin:{BUILTIN_NAME}")).into())
        }
    }
}

/// The policy of a command line for one decision, with the host's own behind it, loaded as for a run.
pub(crate) fn router(reference: &str, decides: Capability, place: &PlaceArgs) -> anyhow::Result<Router> {
    let named = named(reference)?;
    let engine = engine(place)?;
    let mut configured = BTreeMap::new();
    if !named.built_in {
        configured.insert(decides, load(&engine, reference, &named, &BTreeMap::new())?);
    }
    Ok(Router::new(&engine, configured).map_err(|error| refused(reference, &error))?)
}

/// The engine of a run, with its cache of compiled policies.
pub(crate) fn engine(place: &PlaceArgs) -> anyhow::Result<Engine> {
    let config = EngineConfig { cache_dir: place::policy_cache(place), ..EngineConfig::default() };
    Engine::new(config).context("starting the policy engine")
}

/// The policy of a command line with these settings, and nothing behind it.
pub(crate) fn configured(
    engine: &Engine,
    reference: &str,
    settings: &BTreeMap<String, SettingValue>,
) -> anyhow::Result<Configured> {
    Ok(load(engine, reference, &named(reference)?, settings)?)
}

fn load(
    engine: &Engine,
    reference: &str,
    named: &Named,
    settings: &BTreeMap<String, SettingValue>,
) -> Result<Configured, RuntimeError> {
    let policy = engine.load(&named.name, &named.bytes).map_err(|error| refused(reference, &error))?;
    policy.configure(settings).map_err(|error| refused(reference, &error))
}

/// That a policy is not fit to decide.
pub(crate) fn refused(reference: &str, why: &dyn std::fmt::Display) -> RuntimeError {
    RuntimeError::PolicyRefused { policy: reference.to_owned(), why: why.to_string() }
}

/// Every component that the policies of a workflow name. `base` is the folder of the workflow file.
pub(crate) fn bundle(workflow: &Workflow, base: &Path) -> anyhow::Result<PolicyBundle> {
    let lock = Lock::read(&base.join(LOCK_FILE))?;
    let mut bundle = PolicyBundle::default();
    for (reference, component) in components(workflow, base)? {
        lock.check(&lock_key(&reference, base), &component.digest)?;
        let source = PolicySource { name: component.name, bytes: Some(component.bytes) };
        bundle.components.insert(reference, source);
    }
    Ok(bundle)
}

/// Pins every component of a workflow in the `baton.lock` beside it; gives back how many.
pub(crate) fn lock(workflow: &Workflow, base: &Path) -> anyhow::Result<u32> {
    let path = base.join(LOCK_FILE);
    let mut lock = Lock::read(&path)?;
    let mut pinned = 0;
    for (reference, component) in components(workflow, base)? {
        lock.pin(lock_key(&reference, base), component.digest);
        pinned += 1;
    }
    lock.write(&path)?;
    Ok(pinned)
}

/// The components that are read from files, each once, by their references.
fn components(workflow: &Workflow, base: &Path) -> anyhow::Result<Vec<(String, Component)>> {
    let choices = std::iter::once(&workflow.policies.all).chain(workflow.policies.by_capability.values());
    let mut references: Vec<&String> = choices.map(|choice| &choice.component).collect();
    references.sort();
    references.dedup();
    let mut found = Vec::new();
    for reference in references {
        if let Resolved::File(component) = resolve(reference, base)? {
            found.push((reference.clone(), component));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use baton_runtime::core::workflow::file::parse;

    /// A folder with a component, and a workflow that names it.
    fn folder() -> (tempfile::TempDir, Workflow) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("careful.wasm"), b"\0asm").unwrap();
        let text = "name = \"a\"\ngoal = \"b\"\n[policies]\nhandoff = \"careful.wasm\"\nsplitting = \"careful.wasm\"\n\
                    [[phases]]\nid = \"c\"\nobjectives = [{ id = \"d\", description = \"e\" }]";
        let workflow = parse(text, "w.toml", folder.path().to_str().unwrap()).unwrap();
        (folder, workflow)
    }

    #[test]
    fn a_component_is_read_once_and_called_after_its_file() {
        let (folder, workflow) = folder();
        let bundle = bundle(&workflow, folder.path()).unwrap();
        let sources: Vec<_> = bundle.components.values().collect();
        assert_eq!(sources.len(), 1);
        assert_eq!((sources[0].name.as_str(), sources[0].bytes.as_deref()), ("careful", Some(&b"\0asm"[..])));
    }

    #[test]
    fn a_component_that_is_not_there_is_wrong_usage() {
        let (folder, workflow) = folder();
        std::fs::remove_file(folder.path().join("careful.wasm")).unwrap();
        let error = bundle(&workflow, folder.path()).unwrap_err();
        assert_eq!(Exit::of_error(&error), Exit::Usage);
        assert!(error.to_string().contains("careful.wasm"), "{error}");
    }

    #[test]
    fn a_component_that_changed_since_it_was_locked_is_refused() {
        let (folder, workflow) = folder();
        assert_eq!(lock(&workflow, folder.path()).unwrap(), 1);
        bundle(&workflow, folder.path()).unwrap();
        std::fs::write(folder.path().join("careful.wasm"), b"\0asm, but another").unwrap();
        let error = bundle(&workflow, folder.path()).unwrap_err();
        assert_eq!(Exit::of_error(&error), Exit::PolicyRefused);
    }
}
