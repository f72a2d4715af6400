//! Performs intents that are committed, each in a task of its own, and sends back what became of it. Decides nothing and
//! retries nothing: one intent, one outcome.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use baton_agents::{DriverEvent, Launch};
use baton_core::action::SpawnSpec;
use baton_core::input::ArtifactRef;
use baton_core::workflow::Role;
use baton_core::{Action, ActionId, Digest, Intent, Outcome, PhaseId, RoleName, RunId, SessionId, Text};
use baton_store::{ArtifactStore, NewArtifact, StateDir};
use baton_workspace::{Baseline, Workspace};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::chaos::Chaos;
use crate::clock;
use crate::error::Source;
use crate::project;
use crate::sessions::{self, Sessions};

/// A verification that takes longer hangs: the slowest test suites that people wait for end well within it.
const VERIFY_LIMIT: Duration = Duration::from_secs(60 * 60);
/// Markdown, as the artifact store names it.
const MARKDOWN: &str = "text/markdown";

/// What became of an intent.
pub(crate) type Done = (ActionId, Outcome);

/// Everything that effects need. One a run.
pub(crate) struct Actuator {
    pub(crate) sessions: Sessions,
    effects: Effects,
    chaos: Chaos,
    done: mpsc::Sender<Done>,
    tasks: JoinSet<()>,
}

/// The part that every task gets a copy of.
#[derive(Clone)]
struct Effects {
    run: RunId,
    task_folder: String,
    roles: BTreeMap<RoleName, Role>,
    /// Every file that an objective names; the start of a phase is measured with all of them.
    named_files: Vec<String>,
    own_exe: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    state: StateDir,
    artifacts: ArtifactStore,
    workspace: Workspace,
    sessions: Sessions,
    events: mpsc::Sender<(SessionId, DriverEvent)>,
}

/// What an actuator is made of.
pub(crate) struct Parts {
    pub(crate) task_folder: String,
    pub(crate) own_exe: PathBuf,
    pub(crate) environment: BTreeMap<OsString, OsString>,
    pub(crate) state: StateDir,
    pub(crate) artifacts: ArtifactStore,
    pub(crate) workspace: Workspace,
    pub(crate) chaos: Chaos,
    pub(crate) events: mpsc::Sender<(SessionId, DriverEvent)>,
    pub(crate) done: mpsc::Sender<Done>,
}

impl Actuator {
    pub(crate) fn new(run: &baton_core::Run, parts: Parts) -> Self {
        let workflow = run.workflow();
        let objectives = workflow.phases.iter().flat_map(|phase| &phase.objectives);
        let sessions = Sessions::default();
        let effects = Effects {
            run: run.id().clone(),
            task_folder: parts.task_folder,
            roles: workflow.roles.clone(),
            named_files: objectives.flat_map(|objective| objective.files.iter().cloned()).collect(),
            own_exe: parts.own_exe,
            environment: parts.environment,
            state: parts.state,
            artifacts: parts.artifacts,
            workspace: parts.workspace,
            sessions: sessions.clone(),
            events: parts.events,
        };
        Self { sessions, effects, chaos: parts.chaos, done: parts.done, tasks: JoinSet::new() }
    }

    /// Performs one durable intent, in the background. Its commit is the caller's business.
    pub(crate) fn perform(&mut self, intent: Intent) {
        let ordinal = self.chaos.effect_begins();
        if let Action::Spawn(spec) = &intent.action {
            self.sessions.announce(&spec.session);
        }
        let (effects, chaos, done) = (self.effects.clone(), self.chaos.clone(), self.done.clone());
        self.tasks.spawn(async move {
            let outcome = effects.perform(intent.action).await;
            chaos.effect_done(ordinal);
            // Nobody listens only where the host is ending; the intent then stays open, and `resume` sees to it.
            let _ = done.send((intent.id, outcome)).await;
        });
    }

    /// Runs what may block beside the effects.
    pub(crate) fn compute(&mut self, work: impl FnOnce() + Send + 'static) {
        self.tasks.spawn_blocking(work);
    }

    /// Resolves when an effect or a computation broke off, which is a mistake of this program: its result will never
    /// come. Forgets those that ended well.
    pub(crate) async fn broken(&mut self) -> String {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(())) => {}
                Some(Err(join)) => return join.to_string(),
                None => std::future::pending().await,
            }
        }
    }
}

impl Effects {
    async fn perform(self, action: Action) -> Outcome {
        let delivered = |told: Result<(), String>| match told {
            Ok(()) => Outcome::Delivered,
            Err(error) => Outcome::Failed { error },
        };
        match action {
            Action::Spawn(spec) => self.spawn(spec).await,
            Action::Prompt { session, text, .. } => match text.body() {
                Some(text) => delivered(self.sessions.prompt(&session, text).await),
                None => {
                    Outcome::Failed { error: format!("the text {} of the prompt is missing", text.digest()) }
                }
            },
            Action::Compact { session, instructions } => {
                delivered(self.sessions.compact(&session, &instructions).await)
            }
            Action::Interrupt { session } => delivered(self.sessions.interrupt(&session).await),
            Action::End { session, .. } => delivered(self.sessions.end(&session).await),
            Action::Assess { phase, baseline, expected } => {
                or_failed(self.assess(&phase, baseline, &expected).await)
            }
            Action::WriteHandoff { phase, session, ordinal, document, index } => {
                or_failed(self.write_handoff(&phase, session, ordinal, &document, &index).await)
            }
            Action::WriteSummaries { phase, step, directory } => {
                or_failed(self.write_summaries(&phase, &step, &directory).await)
            }
            Action::Verify { phase, command, .. } => or_failed(self.verify(&phase, &command).await),
            // The notices beside them were told, and progress was projected, when they were committed.
            Action::Ask { .. } | Action::Finish { .. } => Outcome::Announced,
            Action::RequestDecision { .. } | Action::Notify(_) => {
                Outcome::Failed { error: "this is no effect".to_owned() }
            }
        }
    }

    async fn spawn(&self, spec: SpawnSpec) -> Outcome {
        let Some(role) = self.roles.get(&spec.role).map(|role| role.clone().played_by(&spec.agent)) else {
            self.sessions.gone(&spec.session);
            return Outcome::Failed { error: format!("the workflow has no role {}", spec.role) };
        };
        self.restore_documents().await;
        let launch = Launch {
            role,
            workspace: self.workspace.root().to_owned(),
            guard: vec![self.own_exe.clone().into_os_string(), "__guard".into()],
            own_exe: self.own_exe.clone(),
            session_dir: sessions::folder(&self.state, &self.run, &spec.session),
            inherit: self.environment.clone(),
            mcp_servers: Vec::new(),
            spec,
        };
        match self.sessions.start(launch, self.events.clone()).await {
            Ok(spawned) => Outcome::Spawned {
                group: spawned.group,
                started: spawned.started,
                capabilities: spawned.capabilities,
            },
            Err(error) => Outcome::Failed { error },
        }
    }

    /// An agent may have deleted what its successor is told to read: projects it again from the artifacts.
    async fn restore_documents(&self) {
        let effects = self.clone();
        let restore = move || -> Result<(), Source> {
            let folder = effects.workspace.root().join(&effects.task_folder);
            for saved in effects.artifacts.list(&effects.run)? {
                let artifact = saved.artifact;
                if saved.media_type == MARKDOWN && !folder.join(&artifact.name).exists() {
                    let bytes = effects.artifacts.read(&artifact.digest)?;
                    let path = format!("{}/{}", effects.task_folder, artifact.name);
                    effects.workspace.write_projection(&path, &bytes)?;
                }
            }
            Ok(())
        };
        // The successor can do without, and the artifacts are where they were.
        if let Ok(Err(error)) = tokio::task::spawn_blocking(restore).await {
            tracing::warn!("documents were not restored: {error}");
        }
    }

    async fn assess(&self, phase: &PhaseId, baseline: bool, expected: &[String]) -> Result<Outcome, Source> {
        let path = self.baseline_path(phase);
        let known = match baseline {
            true => None,
            false => read_baseline(path.clone()).await,
        };
        let start = match known {
            Some(start) => start,
            None => {
                // An agent may have deleted what it found; the start of the phase is then now.
                let start = self.workspace.baseline(&self.named_files).await?;
                write_baseline(path, &start).await?;
                start
            }
        };
        let facts = self.workspace.assess(&start, expected).await?;
        Ok(Outcome::Assessed { facts })
    }

    /// Phase ids are the user's words; a digest is a file name everywhere.
    fn baseline_path(&self, phase: &PhaseId) -> PathBuf {
        let name = format!("baseline-{}.json", Digest::of(phase.as_str()).short());
        self.state.sessions().join(self.run.as_str()).join(name)
    }

    async fn write_handoff(
        &self,
        phase: &PhaseId,
        session: SessionId,
        ordinal: u32,
        document: &Text,
        index: &Text,
    ) -> Result<Outcome, Source> {
        let name = format!("handoffs/phase-{phase}-{ordinal}.md");
        let index_name = format!("handoffs/phase-{phase}-{ordinal}-index.md");
        let summary = format!("handoff {ordinal} of phase {phase}, left by {session}");
        self.keep(&index_name, body(index)?, &format!("index of {summary}"), Some(session.clone())).await?;
        let artifact = self.keep(&name, body(document)?, &summary, Some(session)).await?;
        Ok(Outcome::HandoffWritten { path: format!("{}/{name}", self.task_folder), artifact })
    }

    async fn write_summaries(&self, phase: &PhaseId, step: &Text, run: &Text) -> Result<Outcome, Source> {
        let of_phase = format!("summaries/phase-{phase}.md");
        let step = self.keep(&of_phase, body(step)?, &format!("summary of phase {phase}"), None).await?;
        let run = self.keep("summaries/run.md", body(run)?, "summary of the run", None).await?;
        Ok(Outcome::SummariesWritten { artifacts: vec![step, run] })
    }

    /// Saves a document, then projects it into the workspace. The artifact counts; a projection that fails is logged.
    async fn keep(
        &self,
        name: &str,
        text: String,
        summary: &str,
        session: Option<SessionId>,
    ) -> Result<ArtifactRef, Source> {
        let artifact = self.save(name, MARKDOWN, text.clone().into_bytes(), summary, session).await?;
        project::put(&self.workspace, format!("{}/{name}", self.task_folder), text.into_bytes()).await;
        Ok(artifact)
    }

    async fn save(
        &self,
        name: &str,
        media_type: &'static str,
        bytes: Vec<u8>,
        summary: &str,
        session: Option<SessionId>,
    ) -> Result<ArtifactRef, Source> {
        let (store, run) = (self.artifacts.clone(), self.run.clone());
        let (name, summary) = (name.to_owned(), summary.to_owned());
        let save = move || {
            let at = clock::wall();
            let (name, bytes, summary) = (name.as_str(), bytes.as_slice(), summary.as_str());
            store.save(&run, NewArtifact { name, media_type, bytes, summary, session, at })
        };
        Ok(tokio::task::spawn_blocking(save).await??)
    }

    async fn verify(&self, phase: &PhaseId, command: &str) -> Result<Outcome, Source> {
        let result = self.workspace.verify(command, VERIFY_LIMIT).await?;
        let name = format!("verifications/phase-{phase}.log");
        let summary = match (result.passed, result.code) {
            (true, _) => format!("verification of phase {phase}: passed"),
            (false, Some(code)) => format!("verification of phase {phase}: failed with exit code {code}"),
            (false, None) => format!("verification of phase {phase}: broken off"),
        };
        // What it printed is worth keeping, but whether it passed does not hang on that.
        let artifact = match self.save(&name, "text/plain", result.output, &summary, None).await {
            Ok(artifact) => Some(artifact),
            Err(error) => {
                tracing::warn!(%error, "the output of a verification was not kept");
                None
            }
        };
        let (passed, code, findings) = (result.passed, result.code, result.findings);
        Ok(Outcome::Verified { passed, code, findings, artifact })
    }
}

fn or_failed(outcome: Result<Outcome, Source>) -> Outcome {
    outcome.unwrap_or_else(|error| Outcome::Failed { error: error.to_string() })
}

/// The body is at hand in whatever core emits and the journal gives back.
fn body(text: &Text) -> Result<String, Source> {
    let missing = || format!("the text {} is missing from the journal", text.digest());
    Ok(text.body().ok_or_else(missing)?.to_owned())
}

async fn read_baseline(path: PathBuf) -> Option<Baseline> {
    let bytes = tokio::fs::read(path).await.ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Whole or not at all: written beside, then renamed.
async fn write_baseline(path: PathBuf, baseline: &Baseline) -> Result<(), Source> {
    let bytes = serde_json::to_vec(baseline)?;
    let beside = path.with_extension("tmp");
    if let Some(folder) = path.parent() {
        tokio::fs::create_dir_all(folder).await?;
    }
    tokio::fs::write(&beside, bytes).await?;
    tokio::fs::rename(&beside, &path).await?;
    Ok(())
}
