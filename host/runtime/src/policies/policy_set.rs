//! Who would decide in the runs of a workflow, loaded once for many runs that no host works on: simulations. Which component
//! decides where is chosen exactly as at a start.

use std::sync::Arc;

use baton_core::Workflow;
use baton_core::input::{BindingLink, PolicyBinding};
use baton_engine::{ConfiguredPolicy, Router, RouterError};
use baton_store::StateDir;

use crate::config::{HostConfig, PolicyBundle};
use crate::error::RuntimeError;
use crate::policies::{self, PolicyRegistry, RunArtifacts};

/// Everything that decides in the runs of a workflow.
pub struct LoadedPolicies {
    policies: Arc<PolicyRegistry>,
    built_in: ConfiguredPolicy,
    bindings: Vec<PolicyBinding>,
    blobs: Vec<Vec<u8>>,
}

/// Loads what decides. Blocking: a component may have to be compiled.
///
/// # Errors
/// [`RuntimeError::PolicyRefused`] as at a start.
pub fn load_policies(
    config: &HostConfig,
    workflow: &Workflow,
    policies: &PolicyBundle,
) -> Result<LoadedPolicies, RuntimeError> {
    let cache = StateDir::aot_cache_below(&config.state_root);
    let prepared = policies::prepare(cache, RunArtifacts::default(), workflow, policies)?;
    let built_in = prepared.policies.built_in()?;
    Ok(LoadedPolicies {
        policies: prepared.policies,
        built_in,
        bindings: prepared.bindings,
        blobs: prepared.blobs,
    })
}

impl LoadedPolicies {
    /// Who decides what. Of two for the same scope and decision the later one does.
    pub fn bindings(&self) -> &[PolicyBinding] {
        &self.bindings
    }

    /// The components and their canonical settings, for a journal.
    pub fn blobs(&self) -> &[Vec<u8>] {
        &self.blobs
    }

    /// A router for one run, which has yet to follow its bindings. It remembers nothing of any other.
    ///
    /// # Errors
    /// [`RouterError`] where the built-in policy is broken.
    pub fn router(&self) -> Result<Router, RouterError> {
        self.policies.new_router(&self.built_in)
    }

    /// The policy of a link of a binding.
    pub fn policy(&self, link: &BindingLink) -> Option<ConfiguredPolicy> {
        self.policies.known(link)
    }
}
