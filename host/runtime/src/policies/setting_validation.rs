//! Settings that were written without a component: each policy of a chain takes those that it has, and one of them has to.

use baton_core::observation::Capability;
use baton_core::workflow::{GivenSetting, GivenSettings};
use baton_engine::CompiledPolicy;

use super::refused;
use crate::error::RuntimeError;

/// A policy of a chain, and what layers say of its settings.
pub(super) struct AskedPolicy {
    pub(super) policy: CompiledPolicy,
    /// As it was named.
    pub(super) component: String,
    pub(super) given: Vec<GivenSettings>,
}

/// That each setting without a component is one of a policy of the chain. What was written for one decision has to be one of a policy that
/// decides it.
///
/// # Errors
/// Names who was asked, and the form that says which policy is meant.
pub(super) fn each_is_taken(capability: Capability, chain: &[AskedPolicy]) -> Result<(), RuntimeError> {
    let bare = chain.iter().flat_map(|asked| asked.given.iter().filter(|given| !given.is_own));
    for given in bare {
        let asked = || {
            let is_laid = |asked: &&AskedPolicy| asked.given.contains(given);
            let decides = |asked: &&AskedPolicy| asked.policy.decides().contains(&capability);
            chain.iter().filter(is_laid).filter(move |asked| !given.explicit || decides(asked))
        };
        for (key, value) in &given.settings {
            if !asked().any(|asked| asked.policy.takes(key, value).is_ok()) {
                let decision = if given.explicit { capability.name() } else { "all" };
                return Err(unknown_setting_error(key, value, decision, &asked().collect::<Vec<_>>()));
            }
        }
    }
    Ok(())
}

fn unknown_setting_error(
    key: &str,
    value: &GivenSetting,
    decision: &str,
    asked: &[&AskedPolicy],
) -> RuntimeError {
    let mut whys: Vec<String> = Vec::new();
    for asked in asked {
        let why = asked.policy.takes(key, value).err().unwrap_or_default();
        let why = format!("policy {}: setting `{key}`: {why}", asked.policy.name());
        if !whys.contains(&why) {
            whys.push(why);
        }
    }
    let component = asked.first().map_or("", |asked| asked.component.as_str());
    if whys.len() > 1 {
        whys.push(format!(
            "no policy of the chain takes it; to set it for another policy, name that one: `{decision} = {{ component = \"…\", settings = \
             {{ {key} = … }} }}`"
        ));
    }
    refused(component, whys.join("; "))
}
