//! Outcomes of core's intents without a real workspace: the recorded outcome, or else the one that changes nothing.

use baton_core::action::sibling_name;
use baton_core::input::ArtifactRef;
use baton_core::{Action, ActionOutcome, Digest, Intent, SessionId, TextBlob, UnixMs};
use baton_store::secrets::{mask_line, scan};

use super::ImportPlayer;
use crate::import::ImportError;

/// A document that an imported run has, to be kept as an artifact.
#[derive(Clone, Debug)]
pub(crate) struct ImportedDocument {
    pub(crate) artifact: ArtifactRef,
    pub(crate) media_type: &'static str,
    pub(crate) text: String,
    pub(crate) session: SessionId,
    pub(crate) at: UnixMs,
}

impl ImportPlayer<'_> {
    /// Answers an intent.
    pub(super) fn perform(&mut self, Intent { id, action }: Intent) -> Result<(), ImportError> {
        match action {
            Action::Spawn(spec) => self.spawn(id, &spec.session),
            Action::Prompt { session, .. } => self.prompt(id, &session),
            Action::EndSession { session, reason } => self.on_end_request(id, &session, &reason),
            Action::AskUser { question, choices, .. } => self.on_user_question(id, &question, &choices),
            Action::MeasureWorkspace { .. } => {
                let facts = self.facts.clone();
                self.outcome(id, ActionOutcome::WorkspaceMeasured { facts })
            }
            Action::Interrupt { .. } => self.outcome(id, ActionOutcome::Delivered),
            Action::Finish { .. } => self.outcome(id, ActionOutcome::Announced),
            Action::ValidateHandoff { document, .. } => {
                let mut secrets: Vec<String> = scan(document.body().unwrap_or_default())
                    .iter()
                    .map(|found| found.kind.to_owned())
                    .collect();
                secrets.dedup();
                let (missing_files, commits_since, diverged) = (Vec::new(), 0, false);
                self.outcome(id, ActionOutcome::Inspected { missing_files, secrets, commits_since, diverged })
            }
            Action::WriteHandoff { phase, session, ordinal, path, document, index, facts, .. } => {
                let name = self.name_of(&path);
                let summary = format!("handoff {ordinal} of phase {phase}, left by {session}");
                if let Some(facts) = facts {
                    let facts = mask_line(facts.body().unwrap_or_default()).into_owned();
                    let summary = format!("everything that is known of phase {phase}, when {session} ended");
                    self.keep(&sibling_name(&name, "facts.json"), JSON, facts, summary, &session);
                }
                let index = body(&index);
                let of_index = format!("index of {summary}");
                let index = self.keep(&sibling_name(&name, "index.md"), MARKDOWN, index, of_index, &session);
                let artifact = self.keep(&name, MARKDOWN, body(&document), summary, &session);
                self.outcome(id, ActionOutcome::HandoffWritten { path, artifact, index: Some(index) })
            }
            // These intents follow from decisions that the recording makes itself, so core should not want them.
            other @ (Action::Compact { .. }
            | Action::WriteSummaries { .. }
            | Action::Offload { .. }
            | Action::Verify { .. }
            | Action::Checkpoint { .. }
            | Action::CreateWorktree { .. }
            | Action::CommitWorktree { .. }
            | Action::CommitToBranch { .. }
            | Action::RestoreWorktree { .. }
            | Action::Merge { .. }
            | Action::AbortMerge { .. }
            | Action::Land { .. }) => {
                let error = format!("the recording shows no {}", other.name());
                self.note(error.clone());
                self.outcome(id, ActionOutcome::Failed { error })
            }
            // Questions are answered before; core expects no outcome of the others.
            Action::RequestDecision { .. } | Action::DeliverToolResult { .. } | Action::Notify(_) => Ok(()),
        }
    }

    /// The name of the artifact that would be projected to a path.
    fn name_of(&self, path: &str) -> String {
        let folder = self.played.run.task_folder();
        path.strip_prefix(folder).map_or(path, |name| name.trim_start_matches('/')).to_owned()
    }

    fn keep(
        &mut self,
        name: &str,
        media_type: &'static str,
        text: String,
        summary: String,
        session: &SessionId,
    ) -> ArtifactRef {
        let documents = &mut self.played.documents;
        let same_name = documents.iter().filter(|known| known.artifact.name == name).count();
        let artifact = ArtifactRef {
            name: name.to_owned(),
            version: u32::try_from(same_name).unwrap_or(u32::MAX - 1) + 1,
            digest: Digest::of(&text),
            bytes: text.len() as u64,
            summary,
        };
        let (session, at) = (session.clone(), self.played.at);
        documents.push(ImportedDocument { artifact: artifact.clone(), media_type, text, session, at });
        artifact
    }
}

/// Markdown, as the artifact store names it.
const MARKDOWN: &str = "text/markdown";
/// JSON, as the artifact store names it.
const JSON: &str = "application/json";

fn body(text: &TextBlob) -> String {
    text.body().unwrap_or_default().to_owned()
}
