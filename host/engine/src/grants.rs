//! What a component may do beyond the imports that every policy has. Granted when it is loaded; the check is on its
//! imports, so what is not granted cannot even be asked for. What it says that it wants is read in `requested_grants.rs`.

use std::fmt;
use std::sync::Arc;

use baton_core::Digest;

use crate::limits::DecisionLimits;

/// The run's artifacts, as far as a workflow grants them. What a decision was shown of it is written down by name and
/// digest, so that it can be shown again when the decision is replayed.
pub trait ArtifactSource: Send + Sync {
    /// What is granted and there now: names in order, each with the digest of its newest version.
    fn list(&self) -> Vec<(String, Digest)>;

    /// The bytes of a digest; absent where they are gone.
    fn read(&self, digest: &Digest) -> Option<Arc<[u8]>>;
}

/// What is granted to a component. Nothing, by default.
#[derive(Clone, Default)]
pub struct ComponentGrants {
    /// Reading artifacts, through `baton:policy/artifacts`.
    pub artifacts: Option<Arc<dyn ArtifactSource>>,
    /// Fuel of a decision, where it is not the engine's.
    pub fuel: Option<u64>,
    /// Memory of a decision, where it is not the engine's; the pool has room for
    /// [`MEMORY_MIB_MAX`](baton_core::grants::MEMORY_MIB_MAX).
    pub memory_bytes: Option<u64>,
}

impl ComponentGrants {
    /// What a workflow grants. `artifacts` are read where it grants any.
    pub fn of(granted: &baton_core::grants::Grants, artifacts: Arc<dyn ArtifactSource>) -> Self {
        Self {
            artifacts: (!granted.artifacts.is_empty()).then_some(artifacts),
            fuel: granted.fuel,
            memory_bytes: granted.memory_mib.map(|mib| u64::from(mib) << 20),
        }
    }

    /// What a component asks for of fuel and memory, and nothing else: for trying it out, where nothing depends on what it
    /// decides. Where its section cannot be read nothing is granted; loading says why.
    pub fn for_trial(component: &[u8]) -> Self {
        let wants = crate::requested_grants::read(component).unwrap_or_default();
        Self {
            artifacts: None,
            fuel: wants.fuel,
            memory_bytes: wants.memory_mib.map(|mib| u64::from(mib) << 20),
        }
    }

    /// The limits of the engine, widened; nothing that is granted makes them narrower.
    pub(crate) fn widen(&self, limits: &DecisionLimits) -> DecisionLimits {
        DecisionLimits {
            fuel: self.fuel.map_or(limits.fuel, |fuel| fuel.max(limits.fuel)),
            memory_bytes: self
                .memory_bytes
                .map_or(limits.memory_bytes, |bytes| bytes.max(limits.memory_bytes)),
            ..*limits
        }
    }
}

impl fmt::Debug for ComponentGrants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants")
            .field("artifacts", &self.artifacts.is_some())
            .field("fuel", &self.fuel)
            .field("memory_bytes", &self.memory_bytes)
            .finish()
    }
}
