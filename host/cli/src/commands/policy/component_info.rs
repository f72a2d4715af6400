//! The description of a policy before its use, shared by the commands that pull and push policies. Asks it no question.

use std::path::Path;
use std::sync::Arc;

use baton_registry::{OciReference, SigningKey};
use baton_runtime::engine::{CompiledPolicy, ComponentGrants, ComponentInterface};

use super::check::EmptyArtifactSource;
use crate::args::LocationArgs;
use crate::exit_status::UsageError;
use crate::policies::{self, refused};

/// Largest file with a key: a key has a few hundred bytes.
const KEY_BYTES_MAX: u64 = 16 * 1024;

/// The outside of a component.
pub(super) struct ComponentSummary {
    pub(super) decides: Vec<&'static str>,
    pub(super) outline: ComponentInterface,
}

/// Loads a component like a run that grants it everything; refuses anything that is not a policy.
pub(super) fn outside(
    location: &LocationArgs,
    reference: &str,
    name: &str,
    bytes: &[u8],
) -> anyhow::Result<ComponentSummary> {
    let engine = policies::engine(location)?;
    let grants =
        ComponentGrants { artifacts: Some(Arc::new(EmptyArtifactSource)), ..ComponentGrants::default() };
    let policy: CompiledPolicy =
        engine.load_granted(name, bytes, grants).map_err(|e| refused(reference, &e))?;
    Ok(ComponentSummary {
        decides: policy.decides().iter().map(|capability| capability.name()).collect(),
        outline: policy.outline().clone(),
    })
}

impl ComponentSummary {
    /// The interfaces that a workflow has to grant it.
    pub(super) fn wants(&self) -> Vec<&str> {
        self.outline.imports.iter().filter(|i| i.needs_grant).map(|i| i.name.as_str()).collect()
    }

    /// "decides splitting; wants baton:policy/artifacts@0.1.0, which a workflow has to grant".
    pub(super) fn sentence(&self) -> String {
        let wants = match self.wants().as_slice() {
            [] => String::new(),
            wants => format!("; wants {}, which a workflow has to grant", wants.join(", ")),
        };
        format!("decides {}{wants}", self.decides.join(", "))
    }
}

/// A reference of the command line to a registry.
pub(super) fn remote(reference: &str) -> anyhow::Result<OciReference> {
    reference
        .parse()
        .map_err(|error: baton_registry::InvalidOciReference| UsageError(error.to_string()).into())
}

/// A private key.
pub(super) fn signing_key(path: &Path) -> anyhow::Result<SigningKey> {
    use std::io::Read as _;
    let said = |why: String| UsageError(format!("the key {}: {why}", path.display()));
    let mut pem = String::new();
    let file = std::fs::File::open(path).map_err(|e| said(e.to_string()))?;
    file.take(KEY_BYTES_MAX).read_to_string(&mut pem).map_err(|e| said(e.to_string()))?;
    Ok(SigningKey::from_pem(&pem).map_err(|e| said(e.to_string()))?)
}
