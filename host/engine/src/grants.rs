//! What a component may do beyond the imports that every policy has. Granted when it is loaded; the check is on its
//! imports, so what is not granted cannot even be asked for.

use std::fmt;
use std::sync::Arc;

/// The run's artifacts, as far as a workflow grants them. Reads are part of what a decision saw, so an
/// implementation must give the same bytes for as long as the run's decisions may be replayed.
pub trait ArtifactSource: Send + Sync {
    /// Names of the granted artifacts.
    fn names(&self) -> Vec<String>;

    /// The newest version of an artifact; absent where there is none of that name.
    fn read(&self, name: &str) -> Option<Arc<[u8]>>;
}

/// What is granted to a component. Nothing, by default.
#[derive(Clone, Default)]
pub struct Grants {
    /// Reading artifacts, through `baton:policy/artifacts`.
    pub artifacts: Option<Arc<dyn ArtifactSource>>,
}

impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grants").field("artifacts", &self.artifacts.is_some()).finish()
    }
}
