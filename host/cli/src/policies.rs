//! Collects the policy components that a workflow or the command line names, and compares those of a workflow with `baton.lock`
//! if there is one. The engine decides whether a component is fit.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use baton_registry::{
    ComponentFile, LOCK_FILE, OciReference, PolicyLock, ResolveError, ResolvedPolicy, ResolvedReference,
    lock_key, resolve,
};
use baton_runtime::core::observation::Capability;
use baton_runtime::core::workflow::file::rules_file;
use baton_runtime::core::workflow::rules::{RULES, RULES_FILE};
use baton_runtime::core::workflow::{ConfigLayer, GivenSetting, lay_over};
use baton_runtime::core::{Digest, Workflow};
use baton_runtime::engine::{
    BUILT_IN_NAMES, BUILTIN_NAME, ComponentGrants, ConfiguredPolicy, Engine, EngineConfig, Router, built_in,
    external_policy_name,
};
use baton_runtime::{PolicyBundle, PolicySource, RuntimeError};

use crate::args::LocationArgs;
use crate::exit_status::UsageError;
use crate::registries::{self, RegistryArgs, RemotePolicies};
use crate::render::text_format;
use crate::{config_layers, location, stdio};

/// A policy that the command line names.
pub(crate) struct NamedComponent {
    /// Its name.
    pub(crate) name: String,
    /// Its component.
    pub(crate) bytes: Cow<'static, [u8]>,
    /// Whether it is part of the host.
    pub(crate) built_in: bool,
    /// The settings of a file of rules.
    pub(crate) rules: BTreeMap<String, GivenSetting>,
}

impl NamedComponent {
    fn of(name: &str, bytes: Cow<'static, [u8]>) -> Self {
        let name = external_policy_name(name, &bytes);
        Self { name, bytes, built_in: false, rules: BTreeMap::new() }
    }

    /// Whether it is the built-in policy.
    pub(crate) fn is_fallback(&self) -> bool {
        self.built_in && self.name == BUILTIN_NAME
    }

    /// Its settings: those of its file of rules, and over them those of the command line.
    pub(crate) fn settings(&self, given: &BTreeMap<String, GivenSetting>) -> BTreeMap<String, GivenSetting> {
        let mut settings = self.rules.clone();
        lay_over(&mut settings, given);
        settings
    }
}

/// The policy of a command line. Refuses an unknown built-in name and a wrong pin; `asked` has the options for registries, and
/// the place of pulled policies.
pub(crate) fn named(reference: &str, asked: &RegistryArgs) -> anyhow::Result<NamedComponent> {
    if let Some(file) = reference.strip_prefix(RULES_FILE) {
        let text = config_layers::read_named(Path::new(file))
            .map_err(|why| UsageError(format!("cannot read the file of rules {file}: {why}")))?;
        let rules = rules_file(&text, file)?;
        return Ok(NamedComponent { rules, ..named(RULES, asked)? });
    }
    if reference.ends_with(".toml") {
        return Err(UsageError(format!(
            "{reference} is not a component; name a file of rules as rules:{reference}"
        ))
        .into());
    }
    match resolve(reference, Path::new(""))? {
        ResolvedReference::File(ComponentFile { name, bytes, .. }) => {
            Ok(NamedComponent::of(&name, Cow::Owned(bytes)))
        }
        ResolvedReference::BuiltIn { name, pin } => {
            let bytes = built_in(&name).ok_or_else(|| {
                let there = BUILT_IN_NAMES.map(|name| format!("builtin:{name}")).join(", ");
                UsageError(format!("{reference} is not a built-in policy; there is {there}"))
            })?;
            ResolveError::pinned(reference, pin.as_ref(), &Digest::of(bytes))?;
            Ok(NamedComponent { built_in: true, ..NamedComponent::of(&name, Cow::Borrowed(bytes)) })
        }
        ResolvedReference::Registry(reference) => {
            let lock = PolicyLock::read(Path::new(LOCK_FILE))?;
            let depot = registries::depot(asked)?;
            // The version that this folder pinned is meant.
            let ResolvedPolicy { name, bytes, .. } = depot.get(&reference, lock.oci(&reference).as_ref())?;
            Ok(NamedComponent::of(&name, Cow::Owned(bytes)))
        }
    }
}

/// The policy of a command line for one decision, with the built-in one as the fallback, loaded as for a run.
pub(crate) fn router(
    reference: &str,
    decides: Capability,
    location: &LocationArgs,
) -> anyhow::Result<Router> {
    let named = named(reference, &RegistryArgs::of(location))?;
    let engine = engine(location)?;
    let mut configured = BTreeMap::new();
    if !named.is_fallback() {
        configured.insert(decides, load(&engine, reference, &named, &named.rules)?.into());
    }
    Ok(Router::new(&engine, configured).map_err(|error| refused(reference, &error))?)
}

/// The engine of a run, with its cache of compiled policies.
pub(crate) fn engine(location: &LocationArgs) -> anyhow::Result<Engine> {
    let config = EngineConfig { cache_dir: location::policy_cache(location), ..EngineConfig::default() };
    Engine::new(config).context("starting the policy engine")
}

/// The policy of a command line with these settings, without a fallback.
pub(crate) fn configured(
    engine: &Engine,
    reference: &str,
    settings: &BTreeMap<String, GivenSetting>,
    location: &LocationArgs,
) -> anyhow::Result<ConfiguredPolicy> {
    let named = named(reference, &RegistryArgs::of(location))?;
    Ok(load(engine, reference, &named, &named.settings(settings))?)
}

/// A policy of a command line with these settings, checked against the contract and tried; a layer is over the built-in policy.
pub(crate) fn load(
    engine: &Engine,
    reference: &str,
    named: &NamedComponent,
    settings: &BTreeMap<String, GivenSetting>,
) -> Result<ConfiguredPolicy, RuntimeError> {
    let grants = ComponentGrants::for_trial(&named.bytes);
    let policy =
        engine.load_granted(&named.name, &named.bytes, grants).map_err(|error| refused(reference, &error))?;
    let configured = policy.configure(settings).map_err(|error| refused(reference, &error))?;
    configured.over_built_in().map_err(|error| refused(reference, &error))
}

/// That a policy is not fit to decide.
pub(crate) fn refused(reference: &str, why: &dyn std::fmt::Display) -> RuntimeError {
    RuntimeError::PolicyRefused { policy: reference.to_owned(), why: why.to_string() }
}

/// Whether policies that are used for the first time are fetched and pinned.
pub(crate) enum PinMode<'t> {
    /// In the lock beside the file that names it, as a run has it. The function gets a line about each.
    Write(&'t mut dyn FnMut(&str)),
    /// Nothing is written, and no registry is asked, since no run begins.
    Leave,
}

/// Every component that the policies of a workflow and of the layers below it name, each compared with the `baton.lock` next to
/// the file that names it. A policy of a registry is pinned there on first use. `base` is the folder of the workflow file.
pub(crate) fn bundle(
    workflow: &Workflow,
    base: &Path,
    location: &LocationArgs,
    mut pinning: PinMode<'_>,
) -> anyhow::Result<PolicyBundle> {
    let mut bundle = PolicyBundle::default();
    let remotes = RemotePolicies::new(location);
    for (base, references) in references_by_folder(workflow, base) {
        let path = base.join(LOCK_FILE);
        let mut lock = PolicyLock::read(&path)?;
        let mut said = Vec::new();
        for reference in references {
            let (name, bytes) = match resolve(&reference, &base)? {
                ResolvedReference::BuiltIn { .. } => continue,
                ResolvedReference::File(component) => {
                    let key = lock_key(&reference, &base);
                    if workflow.policies.watch && lock.get(&key).is_some() {
                        return Err(UsageError(format!(
                            "`watch = true` in [policies] follows changes of {key}, and {} pins it: leave one of them out",
                            path.display()
                        ))
                        .into());
                    }
                    lock.check(&key, &component.digest)?;
                    (component.name, component.bytes)
                }
                ResolvedReference::Registry(remote) => {
                    let pin = lock.oci(&remote);
                    let delivered = match &pinning {
                        PinMode::Leave => remotes.kept(&remote, pin.as_ref())?,
                        PinMode::Write(_) => {
                            if let (None, Some(file)) = (&pin, only_of_folder(workflow, &reference)) {
                                remotes.expect_known(&remote, file)?;
                            }
                            remotes.get(&remote, pin.as_ref())?
                        }
                    };
                    if pin.is_none() {
                        said.push(first_use(&remote, &delivered, &path));
                        lock.pin_oci(&remote, delivered.pin);
                    }
                    (delivered.name, delivered.bytes)
                }
            };
            let name = external_policy_name(&name, &bytes);
            add_component(&mut bundle, reference, PolicySource { name, bytes: Some(bytes) })?;
        }
        if let PinMode::Write(tell) = &mut pinning
            && !said.is_empty()
        {
            lock.write(&path)?;
            said.iter().for_each(|line| tell(line));
        }
    }
    Ok(bundle)
}

/// The `baton.toml` of a workspace that names this, if nothing else does.
fn only_of_folder<'w>(workflow: &'w Workflow, reference: &str) -> Option<&'w Path> {
    let mut choices =
        workflow.policies.choices().filter(|choice| choice.component.as_deref() == Some(reference));
    let first = choices.next().filter(|choice| choice.from.layer == ConfigLayer::Workspace)?;
    choices.all(|choice| choice.from.layer == ConfigLayer::Workspace).then(|| Path::new(&first.from.file))
}

/// "pinned oci://host/name:1 at sha256:… (signed by acme.pub) in baton.lock".
fn first_use(reference: &OciReference, delivered: &ResolvedPolicy, lock: &Path) -> String {
    let verdict = registries::verdict(&delivered.verdict);
    format!("pinned {reference} at {} ({verdict}) in {}", delivered.pin.manifest, lock.display())
}

/// Two layers may name the same thing; it cannot be two components in one run.
fn add_component(
    bundle: &mut PolicyBundle,
    reference: String,
    source: PolicySource,
) -> Result<(), UsageError> {
    match bundle.components.get(&reference) {
        Some(known) if known.bytes != source.bytes => Err(UsageError(format!(
            "{reference} is named in two layers, and their {LOCK_FILE} pin different components: name one of them by its digest"
        ))),
        _ => {
            bundle.components.insert(reference, source);
            Ok(())
        }
    }
}

/// Pins every component that a workflow and the layers beneath it name, each in the `baton.lock` beside the file that names it;
/// gives back how many, by lock. Tags are resolved again, and the new digests are shown.
pub(crate) fn lock(
    workflow: &Workflow,
    base: &Path,
    location: &LocationArgs,
) -> anyhow::Result<BTreeMap<PathBuf, u32>> {
    let mut pinned = BTreeMap::new();
    let remotes = RemotePolicies::new(location);
    for (base, references) in references_by_folder(workflow, base) {
        let path = base.join(LOCK_FILE);
        let mut lock = PolicyLock::read(&path)?;
        let (mut count, mut said) = (0, Vec::new());
        for reference in references {
            match resolve(&reference, &base)? {
                ResolvedReference::BuiltIn { .. } => continue,
                ResolvedReference::File(component) => {
                    let (key, now) = (lock_key(&reference, &base), component.digest);
                    if let Some(before) = lock.pin(&key, now.clone()).filter(|before| *before != now) {
                        said.push(format!("{key} changed: {before} -> {now}"));
                    }
                }
                ResolvedReference::Registry(remote) => {
                    let delivered = remotes.get(&remote, None)?;
                    let now = delivered.pin.manifest.clone();
                    match lock.pin_oci(&remote, delivered.pin.clone()) {
                        Some(before) if before.manifest == now => {}
                        Some(before) => {
                            let verdict = registries::verdict(&delivered.verdict);
                            let decides = decided_by(delivered, &remote, location)?;
                            let from = before.manifest;
                            said.push(format!(
                                "{remote} moved: {from} -> {now} ({verdict}); it decides {decides}"
                            ));
                        }
                        None => said.push(first_use(&remote, &delivered, &path)),
                    }
                }
            }
            count += 1;
        }
        lock.write(&path)?;
        said.iter().for_each(|line| stdio::progress(line));
        pinned.insert(path, count);
    }
    Ok(pinned)
}

/// The decisions of a fetched component: "splitting and budgeting". Refuses anything that is not a policy.
fn decided_by(
    delivered: ResolvedPolicy,
    remote: &OciReference,
    location: &LocationArgs,
) -> anyhow::Result<String> {
    let named = NamedComponent::of(&delivered.name, Cow::Owned(delivered.bytes));
    let policy = load(&engine(location)?, &remote.to_string(), &named, &BTreeMap::new())?;
    Ok(text_format::list(policy.policy().decides()))
}

/// The locks of the components that a workflow and the layers below it name.
pub(crate) fn lock_files(workflow: &Workflow, base: &Path) -> impl Iterator<Item = PathBuf> {
    let is_pinned = |reference: &String| !reference.starts_with("builtin:");
    let named = references_by_folder(workflow, base).into_iter();
    named
        .filter(move |(_, references)| references.iter().any(is_pinned))
        .map(|(folder, _)| folder.join(LOCK_FILE))
}

/// The references, by the folder of the file that names them: paths are relative to it, and it contains the lock.
fn references_by_folder(workflow: &Workflow, base: &Path) -> BTreeMap<PathBuf, BTreeSet<String>> {
    let mut found: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::from([(base.to_owned(), BTreeSet::new())]);
    for choice in workflow.policies.choices() {
        let folder = match choice.from.layer {
            // These were read from absolute paths.
            ConfigLayer::User | ConfigLayer::Workspace => {
                Path::new(&choice.from.file).parent().unwrap_or(base)
            }
            _ => base,
        };
        if let Some(component) = &choice.component {
            found.entry(folder.to_owned()).or_default().insert(component.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit_status::CliExit;
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

    fn pinned(workflow: &Workflow, base: &Path) -> anyhow::Result<PolicyBundle> {
        bundle(workflow, base, &LocationArgs::default(), PinMode::Write(&mut |_| {}))
    }

    #[test]
    fn a_component_is_read_once_and_called_after_its_file() {
        let (folder, workflow) = folder();
        let bundle = pinned(&workflow, folder.path()).unwrap();
        let sources: Vec<_> = bundle.components.values().collect();
        assert_eq!(sources.len(), 1);
        assert_eq!((sources[0].name.as_str(), sources[0].bytes.as_deref()), ("careful", Some(&b"\0asm"[..])));
    }

    #[test]
    fn a_component_that_is_not_there_is_wrong_usage() {
        let (folder, workflow) = folder();
        std::fs::remove_file(folder.path().join("careful.wasm")).unwrap();
        let error = pinned(&workflow, folder.path()).unwrap_err();
        assert_eq!(CliExit::of_error(&error), CliExit::Usage);
        assert!(error.to_string().contains("careful.wasm"), "{error}");
    }

    #[test]
    fn a_component_that_changed_since_it_was_locked_is_refused() {
        let (folder, workflow) = folder();
        assert_eq!(
            lock(&workflow, folder.path(), &LocationArgs::default()).unwrap(),
            [(folder.path().join(LOCK_FILE), 1)].into()
        );
        pinned(&workflow, folder.path()).unwrap();
        std::fs::write(folder.path().join("careful.wasm"), b"\0asm, but another").unwrap();
        let error = pinned(&workflow, folder.path()).unwrap_err();
        assert_eq!(CliExit::of_error(&error), CliExit::PolicyRefused);
    }
}
