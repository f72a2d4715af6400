//! The artifacts of a run as a policy sees them that was granted some (M6): by name, the newest version of each. Read-only.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_core::grants::Grants;
use baton_core::{Digest, RunId};
use baton_engine::ArtifactSource;
use baton_engine::limits::ARTIFACT_READ_BYTES;
use baton_store::ArtifactStore;

/// The artifacts of a run; none where a policy is only tried.
#[derive(Clone, Default)]
pub(crate) struct RunArtifacts(Option<(ArtifactStore, RunId)>);

impl RunArtifacts {
    /// Those of this run.
    pub(crate) fn of(store: ArtifactStore, run: RunId) -> Self {
        Self(Some((store, run)))
    }

    /// As far as they are granted.
    pub(crate) fn granted(&self, grants: Grants) -> GrantedArtifacts {
        GrantedArtifacts { artifacts: self.clone(), grants }
    }
}

/// What one policy may read.
pub(crate) struct GrantedArtifacts {
    artifacts: RunArtifacts,
    grants: Grants,
}

impl ArtifactSource for GrantedArtifacts {
    fn list(&self) -> Vec<(String, Digest)> {
        let Some((store, run)) = &self.artifacts.0 else { return Vec::new() };
        let saved = match store.list(run) {
            Ok(saved) => saved,
            Err(error) => {
                tracing::warn!("a policy sees no artifacts: {error}");
                return Vec::new();
            }
        };
        let mut newest: BTreeMap<String, (u32, Digest)> = BTreeMap::new();
        for saved in saved {
            let artifact = saved.artifact;
            if !self.grants.covers(&artifact.name) {
                continue;
            }
            let known = newest.get(&artifact.name).map_or(0, |(version, _)| *version);
            if artifact.version > known {
                newest.insert(artifact.name, (artifact.version, artifact.digest));
            }
        }
        newest.into_iter().map(|(name, (_, digest))| (name, digest)).collect()
    }

    fn read(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        let (store, _) = self.artifacts.0.as_ref()?;
        match store.read_range(digest, 0, ARTIFACT_READ_BYTES + 1) {
            Ok(bytes) if bytes.len() as u64 <= ARTIFACT_READ_BYTES => Some(bytes.into()),
            Ok(_) => None,
            Err(error) => {
                tracing::warn!("a policy cannot read an artifact: {error}");
                None
            }
        }
    }
}
