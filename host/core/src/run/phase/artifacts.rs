//! The artifacts of a phase, as far as the run itself knows them.

use crate::ids::Digest;
use crate::input::ArtifactRef;

use super::super::text_format::cut;

/// Artifacts of a phase that the run itself knows: the newest. The store has every one (D1).
const ARTIFACTS: usize = 500;
/// What is said of an artifact is one line; a longer one is cut (D1).
const SUMMARY_BYTES: usize = 300;

/// The artifacts of a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct PhaseArtifacts {
    /// Those that its agents saved and that the host kept for it, the newest last.
    pub(in crate::run) kept: Vec<ArtifactRef>,
    /// Result files of parts that exist, for the session that brings them together (C11).
    pub(in crate::run) results: Vec<String>,
    /// Address of the newest summary of it that was written (B2).
    pub(in crate::run) summarised: Option<Digest>,
    /// Large texts that prompts refer to instead of embedding them (C4).
    pub(in crate::run) inputs: Vec<ArtifactRef>,
}

impl PhaseArtifacts {
    /// Remembers an artifact; of one that it has already, the newest version.
    pub(in crate::run) fn keep(&mut self, artifact: &ArtifactRef) {
        self.kept.retain(|known| known.name != artifact.name);
        if self.kept.len() == ARTIFACTS {
            self.kept.remove(0);
        }
        let mut artifact = artifact.clone();
        cut(&mut artifact.summary, SUMMARY_BYTES);
        self.kept.push(artifact);
    }

    /// Remembers a large text that prompts refer to.
    pub(in crate::run) fn keep_input(&mut self, artifact: &ArtifactRef) {
        self.inputs.retain(|known| known.name != artifact.name);
        self.inputs.push(artifact.clone());
    }
}
