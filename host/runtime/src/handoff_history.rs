//! The handoffs of a phase with the sessions that used them, and the inspection of any document against the current workspace.
//! Read-only: takes no lock, and makes no verdict.

use std::collections::{BTreeSet, HashMap};

use baton_core::action::{Action, sibling_name};
use baton_core::decision::{Decision, Provenance};
use baton_core::ids::ObjectiveId;
use baton_core::observation::{ObjectiveStatus, PolicyQuery, PolicyRequest};
use baton_core::view::{HandoffRepair, HandoffSummary};
use baton_core::{ActionOutcome, Digest, Input, PhaseId, RequestId, RunId, SessionId};
use baton_engine::builtin_bytes;
use baton_store::{ArtifactStore, ArtifactVersion, JournalEntry};
use baton_workspace::Workspace;

use crate::config::HostConfig;
use crate::error::{BoxedError, RuntimeError};
use crate::handoff_validation::{self, EmptyLookup};
use crate::query::{cannot_read, find_state, open_read_only, resolve_run, view_of};

/// A handoff with everything that belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct HandoffEntry {
    /// How the run knows it.
    pub row: HandoffSummary,
    /// The document.
    pub document: String,
    /// The first prompts of the sessions that started from it, oldest first.
    pub packets: Vec<FirstPrompt>,
    /// Its inspection against the current workspace.
    pub now: Inspection,
    /// The policy that wrote it; absent if the host wrote it from facts.
    pub by: Option<Author>,
    /// Objectives of the phase that are open now.
    pub open_objectives: Vec<ObjectiveId>,
}

/// The first prompt of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstPrompt {
    /// Whose.
    pub session: SessionId,
    /// What it says, to the byte.
    pub prompt: String,
    /// The content that it leaves out, and the location of that content.
    pub left_out: Vec<String>,
    /// Which policy wrote it.
    pub by: Option<Author>,
}

/// The policy behind a text that reaches an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Author {
    /// The label of the decision.
    pub label: Provenance,
    /// The question, so that another policy can be asked the same.
    pub question: PolicyRequest,
    /// What it wrote, before the host looked at it.
    pub text: String,
}

impl Author {
    /// Whether it is not one of the host's own components, so that its text is from a third party.
    pub fn is_third_party(&self) -> bool {
        self.label.component.as_ref().is_some_and(|component| *component != Digest::of(builtin_bytes()))
    }
}

/// The result of checking a document against the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Paths that it names and that are not there.
    pub missing_files: Vec<String>,
    /// Kinds of secrets in it.
    pub secrets: Vec<String>,
    /// Commits since it was made; absent if that time is unknown.
    pub commits_since: Option<u32>,
    /// The branch is another one.
    pub diverged: bool,
}

/// The handoffs of a phase, newest first; of the newest run if none is named.
///
/// # Errors
/// As for [`view_of`], and [`RuntimeError::State`] if a document cannot be read.
pub async fn handoffs(
    config: &HostConfig,
    run: Option<&RunId>,
    phase: &PhaseId,
) -> Result<Option<Vec<HandoffEntry>>, RuntimeError> {
    let state = find_state(config)?;
    let journal = open_read_only(&state)?;
    let run = resolve_run(config, &journal, run)?;
    let view = view_of(config, Some(&run))?;
    let Some(phase) = view.phases.into_iter().find(|row| row.id == *phase) else { return Ok(None) };
    let store = ArtifactStore::open_read_only(&state).map_err(cannot_read(&state))?;
    let failed = |source: BoxedError| RuntimeError::State {
        what: "cannot look at a handoff",
        dir: config.workspace.clone(),
        source,
    };
    // Prompts belong to the handoff that was the newest when they were sent.
    let mut packets: Vec<Vec<FirstPrompt>> = vec![Vec::new(); phase.handoffs.len()];
    let mut authors: Vec<Option<Author>> = vec![None; phase.handoffs.len()];
    let (mut newest, mut policy_texts) = (None, PolicyTexts::of(phase.id.clone()));
    for entry in journal.read(&run).map_err(cannot_read(&state))? {
        match entry.map_err(cannot_read(&state))? {
            JournalEntry::Input(stamped) => match stamped.input {
                Input::Outcome { outcome: ActionOutcome::HandoffWritten { artifact, .. }, .. } => {
                    let known = phase.handoffs.iter().position(|row| row.artifact == artifact);
                    newest = known.or(newest);
                    if let Some(known) = known {
                        authors[known] = policy_texts.document.take();
                    }
                }
                Input::Decided { request_id, result: Ok(decision), label } => {
                    policy_texts.on_decision(request_id, decision, *label);
                }
                _ => {}
            },
            JournalEntry::Intent { intent, .. } => {
                if let (Action::Prompt { session, prompt: 1, text, .. }, Some(of)) = (&intent.action, newest)
                    && phase.sessions.iter().any(|row| row.id == *session)
                {
                    let (left_out, by) = policy_texts.prompt.take().unzip();
                    packets[of].push(FirstPrompt {
                        session: session.clone(),
                        prompt: text.body().unwrap_or_default().to_owned(),
                        left_out: left_out.unwrap_or_default(),
                        by,
                    });
                }
                if let Action::RequestDecision { request_id, request, .. } = intent.action {
                    policy_texts.asked(request_id, request);
                }
            }
        }
    }
    let open_objectives: Vec<ObjectiveId> = phase
        .objectives
        .iter()
        .filter(|row| row.status != ObjectiveStatus::Done)
        .map(|row| row.id.clone())
        .collect();
    // What an objective names may still be to come.
    let descriptions: Vec<&str> = phase.objectives.iter().map(|row| row.description.as_str()).collect();
    let descriptions = descriptions.join("\n");
    let workspace = Workspace::open(&config.workspace).map_err(|error| failed(error.into()))?;
    let folder = view.run.to_string();
    let mut entries = Vec::new();
    for ((row, packets), by) in phase.handoffs.into_iter().zip(packets).zip(authors) {
        // If the policy's document was refused twice, the host wrote one itself.
        let by = by.filter(|_| row.repair != HandoffRepair::Plain);
        let bytes = store.read(&row.artifact.digest).map_err(cannot_read(&state))?;
        let document = String::from_utf8_lossy(&bytes).into_owned();
        let task_folder = folder_of(&row, &folder);
        let kept = handoff_validation::ArtifactPaths { store: &store, run: &run, task_folder: &task_folder };
        let made = Some((row.head.as_str(), row.branch.as_str()));
        let now = inspect(&workspace, Some(kept), &document, made);
        let mut now = now.await.map_err(failed)?;
        let deleted = deleted_on_the_way(&store, &run, &row);
        now.missing_files.retain(|path| !deleted.contains(path) && !descriptions.contains(path.as_str()));
        entries.push(HandoffEntry {
            row,
            document,
            packets,
            now,
            by,
            open_objectives: open_objectives.clone(),
        });
    }
    Ok(Some(entries))
}

/// What policies have written for a phase, as the journal is read.
struct PolicyTexts {
    phase: PhaseId,
    asked: HashMap<RequestId, PolicyRequest>,
    /// The newest document, and the newest prompt with the content that it leaves out.
    document: Option<Author>,
    prompt: Option<(Vec<String>, Author)>,
}

impl PolicyTexts {
    fn of(phase: PhaseId) -> Self {
        Self { phase, asked: HashMap::new(), document: None, prompt: None }
    }

    fn asked(&mut self, request: RequestId, question: PolicyRequest) {
        let about = match &question.query {
            PolicyQuery::Prompting(seen) | PolicyQuery::Handoff(seen) => &seen.phase.id,
            _ => return,
        };
        if *about == self.phase {
            self.asked.insert(request, question);
        }
    }

    fn on_decision(&mut self, request: RequestId, decision: Decision, label: Provenance) {
        let Some(question) = self.asked.remove(&request) else { return };
        match decision {
            Decision::Prompting(brief) => {
                self.prompt = Some((brief.left_out, Author { label, question, text: brief.prompt }));
            }
            Decision::Handoff(composed) => {
                self.document = Some(Author { label, question, text: composed.document });
            }
            _ => {}
        }
    }
}

/// Files that its facts say were deleted before it was written: it names them rightly.
fn deleted_on_the_way(store: &ArtifactStore, run: &RunId, row: &HandoffSummary) -> BTreeSet<String> {
    let name = sibling_name(&row.artifact.name, "facts.json");
    let facts =
        store.get(run, &name, ArtifactVersion::Latest).and_then(|saved| store.read(&saved.artifact.digest));
    let facts: serde_json::Value =
        facts.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let files = facts["files_changed"].as_array().into_iter().flatten();
    files
        .filter(|file| file["exists"] == false)
        .filter_map(|file| file["path"].as_str().map(str::to_owned))
        .collect()
}

/// The task folder of a run: the part of an artifact's path before its name.
fn folder_of(row: &HandoffSummary, run: &str) -> String {
    let folder = row.path.strip_suffix(row.artifact.name.as_str()).map(|folder| folder.trim_end_matches('/'));
    folder.map_or_else(|| format!(".baton/{run}"), str::to_owned)
}

/// Checks any document against the current state of a folder. `made` is the commit and the branch at the time it was made, if
/// known.
///
/// # Errors
/// [`RuntimeError::State`] if the folder cannot be read.
pub async fn inspect_document(
    workspace: &std::path::Path,
    document: &str,
    made: Option<(&str, &str)>,
) -> Result<Inspection, RuntimeError> {
    let failed = |source: BoxedError| RuntimeError::State {
        what: "cannot look at the files that it names",
        dir: workspace.to_owned(),
        source,
    };
    let folder = Workspace::open(workspace).map_err(|error| failed(error.into()))?;
    inspect(&folder, None, document, made).await.map_err(failed)
}

async fn inspect(
    workspace: &Workspace,
    kept: Option<handoff_validation::ArtifactPaths<'_>>,
    document: &str,
    made: Option<(&str, &str)>,
) -> Result<Inspection, BoxedError> {
    let missing_files = match kept {
        Some(kept) => handoff_validation::missing(workspace, &kept, document).await?,
        None => handoff_validation::missing(workspace, &EmptyLookup, document).await?,
    };
    let known = made.filter(|(head, _)| !head.is_empty());
    let since = match known {
        Some((head, branch)) => workspace.since(head, branch).await,
        None => Default::default(),
    };
    Ok(Inspection {
        missing_files,
        secrets: handoff_validation::secrets(document),
        commits_since: known.map(|_| since.commits),
        diverged: since.diverged,
    })
}
