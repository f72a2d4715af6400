//! The format of policies in a journal. The first journals had only the workflow's own choices; later additions are separate
//! fields, and are omitted if empty, so that old and new versions can read each other's journals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BREAKER_FAULTS, BUILTIN, ConfigLayer, Policies, PolicyChoice, PolicyLayer};
use crate::ids::{PhaseId, RoleName};
use crate::observation::Capability;
use crate::serde_defaults::is_default;

/// The shape of the row.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct PoliciesFormat {
    /// The workflow's own choice, and the built-in one if it has none.
    all: PolicyChoice,
    by_capability: BTreeMap<Capability, PolicyChoice>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    layers: Vec<PolicyLayer>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    roles: BTreeMap<RoleName, PolicyLayer>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    phases: BTreeMap<PhaseId, PolicyLayer>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shadow: Vec<PolicyChoice>,
    #[serde(default, skip_serializing_if = "is_default")]
    watch: bool,
    #[serde(default = "breaker", skip_serializing_if = "is_breaker")]
    breaker: u32,
}

fn breaker() -> u32 {
    BREAKER_FAULTS
}

fn is_breaker(faults: &u32) -> bool {
    *faults == BREAKER_FAULTS
}

fn built_in() -> PolicyChoice {
    PolicyChoice { component: Some(BUILTIN.to_owned()), ..PolicyChoice::default() }
}

/// Whether a layer is the workflow's own; choices of the first journals have no source.
fn is_own(layer: &PolicyLayer) -> bool {
    let mut choices = layer.all.iter().chain(layer.by_capability.values());
    choices.all(|choice| matches!(choice.from.layer, ConfigLayer::Workflow | ConfigLayer::BuiltIn))
}

impl From<Policies> for PoliciesFormat {
    fn from(policies: Policies) -> Self {
        let Policies { mut layers, roles, phases, shadow, watch, breaker } = policies;
        let own = layers.pop_if(|layer| is_own(layer)).unwrap_or_default();
        let PolicyLayer { all, by_capability } = own;
        let all = all.unwrap_or_else(built_in);
        Self { all, by_capability, layers, roles, phases, shadow, watch, breaker }
    }
}

impl From<PoliciesFormat> for Policies {
    fn from(written: PoliciesFormat) -> Self {
        let PoliciesFormat { all, by_capability, mut layers, roles, phases, shadow, watch, breaker } =
            written;
        let own = PolicyLayer { all: Some(all).filter(|all| *all != built_in()), by_capability };
        if own != PolicyLayer::default() {
            layers.push(own);
        }
        Self { layers, roles, phases, shadow, watch, breaker }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::ConfigSource;

    fn choice(component: &str, layer: ConfigLayer) -> PolicyChoice {
        PolicyChoice {
            component: Some(component.to_owned()),
            from: ConfigSource { layer, file: "f.toml".to_owned(), line: 3 },
            ..PolicyChoice::default()
        }
    }

    fn layer(component: &str, layer: ConfigLayer) -> PolicyLayer {
        PolicyLayer { all: Some(choice(component, layer)), ..PolicyLayer::default() }
    }

    #[test]
    fn what_is_written_is_read() {
        // M4
        let user = layer("user.wasm", ConfigLayer::User);
        let own = layer("own.wasm", ConfigLayer::Workflow);
        for layers in [vec![], vec![own.clone()], vec![user.clone()], vec![user, own]] {
            let policies = Policies {
                layers,
                shadow: vec![choice("shadow.wasm", ConfigLayer::Workflow)],
                watch: true,
                breaker: 5,
                ..Policies::default()
            };
            let json = serde_json::to_string(&policies).unwrap();
            assert_eq!(serde_json::from_str::<Policies>(&json).unwrap(), policies, "{json}");
        }
    }

    #[test]
    fn the_first_journals_are_read() {
        // M4
        let json = r#"{"all":{"component":"a.wasm","settings":{}},
                       "by_capability":{"handoff":{"component":"builtin:resilience","settings":{}}}}"#;
        let policies: Policies = serde_json::from_str(json).unwrap();
        assert_eq!(policies.references(), ["a.wasm", BUILTIN]);
        let nothing = r#"{"all":{"component":"builtin:resilience","settings":{}},"by_capability":{}}"#;
        assert_eq!(serde_json::from_str::<Policies>(nothing).unwrap(), Policies::default());
        assert_eq!(serde_json::to_string(&Policies::default()).unwrap(), nothing);
    }
}
