//! The choices in a run's files for the decisions of an experiment: those that an arm inherits, and those that it overrides.

use baton_lab::experiment::{ExperimentArm, ExperimentVersion};
use baton_runtime::core::observation::Capability;
use baton_runtime::core::workflow::rules::RULES_FILE;
use baton_runtime::core::workflow::{ConfigLayer, ConfigSource, PolicyChoice, PolicyScope};
use baton_runtime::core::{Digest, Workflow};
use baton_runtime::engine::{built_in, builtin_bytes};
use baton_runtime::{HostConfig, PolicyBundle, initial_bindings};

use crate::render::text_format;

/// How embedded components are named.
const BUILTIN_PREFIX: &str = "builtin:";

/// How the files name the component of an arm, if it decides this there: then the arm has their settings as well, beneath its own. A file of
/// rules is whole, and takes over nothing. `reference` is how the arm names the component.
pub(crate) fn configured_component(
    workflow: &Workflow,
    bundle: &PolicyBundle,
    reference: &str,
    component: &Digest,
    capability: Capability,
) -> Option<String> {
    if reference.starts_with(RULES_FILE) {
        return None;
    }
    let candidates = workflow.policies.candidates(&PolicyScope::Run, None, capability);
    let is_same = |reference: &&String| digest_of(bundle, reference).as_ref() == Some(component);
    candidates.iter().map(|candidate| &candidate.component).find(is_same).cloned()
}

/// The choices of the files that an arm overrides, in words, each with its place. Invalid files have none: the run reports the
/// error.
pub(crate) fn set_aside(
    config: &HostConfig,
    workflow: &Workflow,
    bundle: &PolicyBundle,
    version: &ExperimentVersion,
    arm: &ExperimentArm,
) -> Vec<String> {
    let Ok(bindings) = initial_bindings(config, workflow, bundle) else { return Vec::new() };
    let of_files = || workflow.policies.layers.iter();
    let mut found: Vec<String> = Vec::new();
    for capability in &version.decides {
        let mut deciding = bindings
            .iter()
            .rev()
            .filter(|binding| binding.scope == PolicyScope::Run && binding.capability == *capability);
        let Some(binding) = deciding.next() else { continue };
        let follows =
            configured_component(workflow, bundle, &arm.reference, &arm.component, *capability).is_some();
        let is_set_aside = |choice: &&PolicyChoice| match &choice.component {
            None => !follows,
            Some(reference) => digest_of(bundle, reference).is_some_and(|digest| {
                digest != arm.component && binding.links().any(|link| link.component == digest)
            }),
        };
        let choices =
            of_files().flat_map(|layer| layer.all.iter().chain(layer.by_capability.get(capability)));
        let choices = choices.filter(|choice| choice.from.layer != ConfigLayer::Experiment);
        for choice in choices.flat_map(PolicyChoice::links).filter(is_set_aside) {
            let said = in_words(choice);
            if !found.contains(&said) {
                found.push(said);
            }
        }
    }
    found
}

/// "the policy /home/ada/team.wasm (/home/ada/baton.toml:3)", "the settings a and b (workflow.toml:4)".
fn in_words(choice: &PolicyChoice) -> String {
    let ConfigSource { file, line, .. } = &choice.from;
    match &choice.component {
        Some(component) => format!("the policy {component} ({file}:{line})"),
        None => {
            let keys: Vec<&String> = choice.settings.keys().collect();
            let noun = if keys.len() == 1 { "setting" } else { "settings" };
            format!("the {noun} {} ({file}:{line})", text_format::list(&keys))
        }
    }
}

fn digest_of(bundle: &PolicyBundle, reference: &str) -> Option<Digest> {
    match bundle.components.get(reference) {
        Some(source) => Some(Digest::of(source.bytes.as_deref().unwrap_or(builtin_bytes()))),
        None => reference.strip_prefix(BUILTIN_PREFIX).and_then(built_in).map(Digest::of),
    }
}
