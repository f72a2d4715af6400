//! Documents that the host writes: handoffs with what belongs to them, summaries, parts of prompts. Each is saved as an
//! artifact; into the workspace it comes when its outcome is journaled.

use baton_core::action::{OffloadedInput, sibling_name};
use baton_core::input::ArtifactRef;
use baton_core::{ActionOutcome, PhaseId, SessionId, TextBlob, WorktreeName};
use baton_store::NewArtifact;

use crate::clock;
use crate::error::BoxedError;
use crate::handoff_validation;
use crate::projection::{RUN_SUMMARY, summary_name};

use super::{EffectContext, read_baseline};

/// Markdown, as the artifact store names it.
const MARKDOWN: &str = "text/markdown";

/// JSON, as the artifact store names it.
const JSON: &str = "application/json";

/// A session that leaves a handoff, and where that lies.
pub(super) struct LeavingSession {
    pub(super) phase: PhaseId,
    pub(super) session: SessionId,
    pub(super) ordinal: u32,
    pub(super) path: String,
    pub(super) facts: Option<TextBlob>,
    pub(super) changed_beyond: u32,
}

impl EffectContext {
    /// Where a handoff lies, workspace-relative. Journals of earlier versions named it by its ordinal.
    fn handoff_path(&self, leaving: &LeavingSession) -> String {
        let LeavingSession { phase, ordinal, .. } = leaving;
        match leaving.path.as_str() {
            "" => format!("{}/handoffs/phase-{phase}-{ordinal}.md", self.parts.task_folder),
            path => path.to_owned(),
        }
    }

    /// The name of the artifact that is projected to a path.
    fn name_of<'p>(&self, path: &'p str) -> &'p str {
        path.strip_prefix(self.parts.task_folder.as_str()).map_or(path, |name| name.trim_start_matches('/'))
    }

    /// What a session leaves: first what the document refers to, then its index, then the document itself, so that a
    /// document never points to what is not there.
    pub(super) async fn write_handoff(
        &self,
        leaving: LeavingSession,
        document: &TextBlob,
        index: &TextBlob,
    ) -> Result<ActionOutcome, BoxedError> {
        let path = self.handoff_path(&leaving);
        let name = self.name_of(&path);
        self.write_companion_files(&leaving, name).await?;
        let LeavingSession { phase, session, ordinal, .. } = leaving;
        let summary = format!("handoff {ordinal} of phase {phase}, left by {session}");
        let (index_name, of) = (sibling_name(name, "index.md"), format!("index of {summary}"));
        let index = self.save_document(&index_name, body(index)?, &of, Some(session.clone())).await?;
        let artifact = self.save_document(name, body(document)?, &summary, Some(session)).await?;
        Ok(ActionOutcome::HandoffWritten { path, artifact, index: Some(index) })
    }

    /// The facts and the list of files. Secrets that agents let slip into their records are masked.
    async fn write_companion_files(&self, leaving: &LeavingSession, name: &str) -> Result<(), BoxedError> {
        let LeavingSession { phase, session, .. } = leaving;
        if let Some(facts) = &leaving.facts {
            let facts = handoff_validation::masked(&body(facts)?);
            let summary = format!("everything that is known of phase {phase}, when {session} ended");
            self.keep_as(&sibling_name(name, "facts.json"), JSON, facts, &summary, Some(session.clone()))
                .await?;
        }
        if leaving.changed_beyond > 0
            && let Some(start) = read_baseline(self.baseline_path(phase)).await
        {
            let workspace = self.parts.trees.open(&self.place_of(phase)).await?;
            let list = handoff_validation::list_of(&workspace.all_changed(&start).await?)?;
            let summary = format!("every file that differs from the start of phase {phase}");
            self.keep_as(&sibling_name(name, "files.json"), JSON, list, &summary, Some(session.clone()))
                .await?;
        }
        Ok(())
    }

    /// Holds a document to the place where its author worked.
    pub(super) async fn inspect(
        &self,
        document: &TextBlob,
        head: &str,
        branch: &str,
        tree: &WorktreeName,
    ) -> Result<ActionOutcome, BoxedError> {
        let (store, run, task_folder) = (&self.parts.artifacts, &self.run, &self.parts.task_folder);
        let kept = handoff_validation::ArtifactPaths { store, run, task_folder };
        let workspace = self.parts.trees.open(tree).await?;
        handoff_validation::inspect(&workspace, &kept, &body(document)?, head, branch).await
    }

    pub(super) async fn write_summaries(
        &self,
        phase: &PhaseId,
        step: &TextBlob,
        run: &TextBlob,
    ) -> Result<ActionOutcome, BoxedError> {
        let of_phase = summary_name(phase.as_str());
        let step =
            self.save_document(&of_phase, body(step)?, &format!("summary of phase {phase}"), None).await?;
        let run = self.save_document(RUN_SUMMARY, body(run)?, "summary of the run", None).await?;
        Ok(ActionOutcome::SummariesWritten { artifacts: vec![step, run] })
    }

    /// Keeps what a prompt refers to. The prompt is written once it is journaled, and so lies in the workspace.
    pub(super) async fn offload(
        &self,
        phase: &PhaseId,
        items: &[OffloadedInput],
    ) -> Result<ActionOutcome, BoxedError> {
        let mut artifacts = Vec::new();
        for OffloadedInput { name, text } in items {
            let summary = format!("a part of a prompt of phase {phase}, kept out of a full context");
            artifacts.push(self.save_document(name, body(text)?, &summary, None).await?);
        }
        Ok(ActionOutcome::Offloaded { artifacts })
    }

    /// Saves a document. It is projected into the workspace when its outcome is journaled.
    async fn save_document(
        &self,
        name: &str,
        text: String,
        summary: &str,
        session: Option<SessionId>,
    ) -> Result<ArtifactRef, BoxedError> {
        self.keep_as(name, MARKDOWN, text, summary, session).await
    }

    async fn keep_as(
        &self,
        name: &str,
        media_type: &'static str,
        text: String,
        summary: &str,
        session: Option<SessionId>,
    ) -> Result<ArtifactRef, BoxedError> {
        self.save(name, media_type, text.into_bytes(), summary, session).await
    }

    pub(super) async fn save(
        &self,
        name: &str,
        media_type: &'static str,
        bytes: Vec<u8>,
        summary: &str,
        session: Option<SessionId>,
    ) -> Result<ArtifactRef, BoxedError> {
        let (store, run) = (self.parts.artifacts.clone(), self.run.clone());
        let (name, summary) = (name.to_owned(), summary.to_owned());
        let save = move || {
            let at = clock::wall();
            let (name, bytes, summary) = (name.as_str(), bytes.as_slice(), summary.as_str());
            store.save(&run, NewArtifact { name, media_type, bytes, summary, session, tool_call: None, at })
        };
        Ok(tokio::task::spawn_blocking(save).await??)
    }
}

/// The body is at hand in whatever core emits and the journal gives back.
fn body(text: &TextBlob) -> Result<String, BoxedError> {
    let missing = || format!("the text {} is missing from the journal", text.digest());
    Ok(text.body().ok_or_else(missing)?.to_owned())
}
