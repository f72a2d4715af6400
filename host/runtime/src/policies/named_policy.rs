//! Which policies of different layers are the same one.

use baton_core::Digest;
use baton_core::workflow::{ConfigLayer, ConfigSource};
use baton_engine::CompiledPolicy;

/// A policy as one layer names it. Files of rules are the settings of one component, and each is a policy.
pub(super) struct NamedPolicy {
    rules_file: Option<String>,
    name: String,
    component: Digest,
    layer: (ConfigLayer, String),
}

impl NamedPolicy {
    pub(super) fn of(rules_file: Option<String>, policy: &CompiledPolicy, from: &ConfigSource) -> Self {
        Self {
            rules_file,
            name: policy.name().to_owned(),
            component: policy.digest().clone(),
            layer: (from.layer, from.file.clone()),
        }
    }

    /// Whether the other one is the same policy in a layer that is farther away. The built-in one stands behind every chain.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        self.layer != other.layer
            && other.layer.0 != ConfigLayer::BuiltIn
            && (&self.rules_file, &self.name, &self.component)
                == (&other.rules_file, &other.name, &other.component)
    }
}
