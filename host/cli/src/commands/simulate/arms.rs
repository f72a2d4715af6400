//! The arms of a simulation: each is the workflow with another policy laid over everything that it says of policies, loaded as
//! for a live run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_lab::experiment::assignment;
use baton_lab::simulate::SimulatedArm;
use baton_runtime::core::Workflow;
use baton_runtime::core::grants::Grants;
use baton_runtime::core::input::BindingLink;
use baton_runtime::core::observation::Capability;
use baton_runtime::core::workflow::{ConfigLayer, ConfigSource, GivenSetting, PolicyChoice, PolicyLayer};
use baton_runtime::{PolicyBundle, PolicySource, load_policies};

use crate::args::LocationArgs;
use crate::commands::policy::setting;
use crate::config_layers::placed;
use crate::exit_status::UsageError;
use crate::experiment_assignment::configured_component;
use crate::location::RunLocation;
use crate::policies;
use crate::registries::RegistryArgs;

/// Most arms of one simulation: people could not read a larger comparison.
const ARMS_MAX: usize = 16;

/// The name of the arm if none is named.
const DEFAULT_ARM: &str = "workflow";

/// An arm as it was named.
struct ArmRequest {
    name: String,
    reference: String,
    settings: BTreeMap<String, GivenSetting>,
}

/// The arms, loaded, and remarks about them for the user.
pub(super) struct LoadedArms {
    pub(super) arms: Vec<SimulatedArm>,
    /// In whole sentences.
    pub(super) notes: Vec<String>,
}

/// Every arm, loaded. Without one there is one with the policies of the workflow itself.
pub(super) fn arms(
    named: &[String],
    settings: &[String],
    workflow: &Workflow,
    bundle: PolicyBundle,
    location: &LocationArgs,
) -> anyhow::Result<LoadedArms> {
    let config = RunLocation::here(location)?.config;
    let load = |name: String, workflow: Workflow, bundle: &PolicyBundle| -> anyhow::Result<SimulatedArm> {
        let policies = load_policies(&config, &workflow, bundle)
            .map_err(|error| placed(&workflow.policies)(error.into()))?;
        let (bindings, blobs, policies) =
            (policies.bindings().to_vec(), policies.blobs().to_vec(), Arc::new(policies));
        let loaded = {
            let policies = Arc::clone(&policies);
            Box::new(move |link: &BindingLink| policies.policy(link))
        };
        Ok(SimulatedArm {
            name,
            workflow,
            bindings,
            blobs,
            router: Box::new(move || policies.router()),
            loaded,
        })
    };
    if named.is_empty() {
        if !settings.is_empty() {
            return Err(
                UsageError("--set is for the policy of an arm: name one with --arms".to_owned()).into()
            );
        }
        let arms = vec![load(DEFAULT_ARM.to_owned(), workflow.clone(), &bundle)?];
        return Ok(LoadedArms { arms, notes: Vec::new() });
    }
    let engine = policies::engine(location)?;
    let (mut arms, mut decided) = (Vec::new(), BTreeSet::new());
    for wanted in wanted(named, settings)? {
        let component = policies::named(&wanted.reference, &RegistryArgs::of(location))?;
        // Loaded once to find its decisions; its settings are checked later.
        let configured = policies::configured(&engine, &wanted.reference, &wanted.settings, location)?;
        let policy = configured.policy();
        let (decides, wants) = (policy.decides().to_vec(), policy.wants().clone());
        let files = &bundle;
        let mut bundle = bundle.clone();
        let settings = component.settings(&wanted.settings);
        if !component.is_fallback() {
            let source = PolicySource { name: component.name, bytes: Some(component.bytes.into_owned()) };
            bundle.components.insert(wanted.reference.clone(), source);
        }
        let choice = PolicyChoice {
            component: Some(wanted.reference.clone()),
            settings,
            // It may use what it asks for: nothing that it decides here has an effect. There are no artifacts.
            grants: Grants { artifacts: Vec::new(), ..wants },
            from: ConfigSource { layer: ConfigLayer::Experiment, file: String::new(), line: 0 },
            ..PolicyChoice::default()
        };
        decided.extend(decides.iter().copied());
        let of_files = |capability| {
            configured_component(workflow, files, &wanted.reference, policy.digest(), capability)
        };
        let mut workflow = workflow.clone();
        apply_arm(&mut workflow, &decides, &choice, of_files);
        arms.push(load(wanted.name, workflow, &bundle)?);
    }
    let decided: Vec<Capability> = decided.into_iter().collect();
    Ok(LoadedArms { arms, notes: narrower(workflow, &decided).into_iter().collect() })
}

/// A notice if the arms decide in places for which the workflow chooses a policy.
fn narrower(workflow: &Workflow, decides: &[Capability]) -> Option<String> {
    let places = assignment::narrower(workflow, decides);
    let said: Vec<String> =
        places.iter().map(|(place, capability)| format!("{capability} in {place}")).collect();
    (!said.is_empty()).then(|| {
        format!(
            "In a simulation an arm also decides what the workflow configures itself: {}. Real runs of this workflow \
             are not enrolled in an experiment about that.",
            said.join(", ")
        )
    })
}

/// An arm decides what it can, everywhere: also where the workflow names another policy for a role or a phase. `of_files` says how the files
/// name the same component, if it decides this there: the settings of the arm are laid over theirs, as in an experiment.
fn apply_arm(
    workflow: &mut Workflow,
    decides: &[Capability],
    choice: &PolicyChoice,
    of_files: impl Fn(Capability) -> Option<String>,
) {
    let chosen = |capability| PolicyChoice { over: of_files(capability), ..choice.clone() };
    let chosen: Vec<_> = decides.iter().map(|capability| (*capability, chosen(*capability))).collect();
    let everywhere = || chosen.iter().cloned();
    let policies = &mut workflow.policies;
    for scoped in policies.roles.values_mut().chain(policies.phases.values_mut()) {
        scoped.by_capability.extend(everywhere());
    }
    policies.layers.push(PolicyLayer { all: None, by_capability: everywhere().collect() });
}

/// Reads `[NAME=]POLICY` and `[ARM.]KEY=VALUE`.
fn wanted(named: &[String], settings: &[String]) -> Result<Vec<ArmRequest>, UsageError> {
    if named.len() > ARMS_MAX {
        return Err(UsageError(format!("{} arms are too many, at most {ARMS_MAX}", named.len())));
    }
    let mut arms: Vec<ArmRequest> = Vec::new();
    for given in named {
        let (name, reference) = match given.split_once('=').filter(|(name, _)| is_name(name)) {
            Some((name, reference)) => (name.to_owned(), reference),
            None => (name_of(given), given.as_str()),
        };
        if arms.iter().any(|arm| arm.name == name) {
            return Err(UsageError(format!(
                "two arms are called {name}: give one another name, like other={reference}"
            )));
        }
        arms.push(ArmRequest { name, reference: reference.to_owned(), settings: BTreeMap::new() });
    }
    let names: BTreeSet<String> = arms.iter().map(|arm| arm.name.clone()).collect();
    for given in settings {
        let (key, value) = setting(given).map_err(|why| UsageError(format!("--set {given}: {why}")))?;
        let (arm, key) = match key.split_once('.') {
            Some((arm, key)) if names.contains(arm) => (Some(arm.to_owned()), key.to_owned()),
            Some((arm, _)) => {
                let all: Vec<&str> = names.iter().map(String::as_str).collect();
                return Err(UsageError(format!(
                    "--set {given}: there is no arm {arm}, only {}",
                    all.join(", ")
                )));
            }
            None => (None, key),
        };
        for wanted in arms.iter_mut().filter(|wanted| arm.as_ref().is_none_or(|arm| wanted.name == *arm)) {
            wanted.settings.insert(key.clone(), value.clone());
        }
    }
    Ok(arms)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// "my-split" of "policies/my-split.wasm", "resilience" of "builtin:resilience".
fn name_of(reference: &str) -> String {
    let last =
        reference.rsplit(['/', ':']).find(|part| part.chars().any(char::is_alphabetic)).unwrap_or(reference);
    let stem = last.split('@').next().unwrap_or(last);
    let name: String = stem
        .strip_suffix(".wasm")
        .unwrap_or(stem)
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' })
        .collect();
    if name.is_empty() { "arm".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_named_after_what_decides_unless_somebody_says_otherwise() {
        let given = [
            "policies/my-split.wasm",
            "early=builtin:resilience",
            "builtin:resilience",
            "oci://host/acme/careful:1.0",
        ];
        let arms = wanted(&given.map(str::to_owned), &["early.a=1".to_owned(), "b=2".to_owned()]).unwrap();
        let names: Vec<_> = arms.iter().map(|arm| (arm.name.as_str(), arm.settings.len())).collect();
        assert_eq!(names, [("my-split", 1), ("early", 2), ("resilience", 1), ("careful", 1)]);
        assert_eq!(arms[1].reference, "builtin:resilience");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let refused = |arms: &[&str], settings: &[&str]| {
            let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
            wanted(&owned(arms), &owned(settings)).err().unwrap().to_string()
        };
        assert_eq!(
            refused(&["a.wasm", "x/a.wasm"], &[]),
            "two arms are called a: give one another name, like other=x/a.wasm"
        );
        assert_eq!(refused(&["a.wasm"], &["b.k=1"]), "--set b.k=1: there is no arm b, only a");
        assert!(refused(&["a.wasm"], &["k"]).contains("expected KEY=VALUE"));
    }
}
