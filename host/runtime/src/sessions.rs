//! The agents that this host has started. A request to an agent that is still starting waits until it is up; otherwise core
//! keeps the order, since it waits for the outcome of one intent before the next to the same agent. Agents' output does not
//! pass through here.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_agents::{ActiveBoundary, AgentHandle, AgentLaunch, DriverEvent, SpawnedAgent};
use baton_core::SessionId;
use baton_core::facts::Refusal;
use baton_core::visible::visible;
use baton_sandbox::RemainingPaths;
use baton_store::StateDir;
use tokio::sync::{mpsc, watch};

/// An agent is asked to end, and ended by force after this.
pub const END_GRACE: Duration = Duration::from_secs(5);
/// An effect on an agent whose process is just going away waits this long for the end to be seen first: why it went is
/// what counts, not that it could not be written to.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Grace time of orphans; short, since no host reads their output any more.
const ORPHAN_GRACE: Duration = Duration::from_millis(500);

/// An agent, from the moment it is wanted until its exit has been seen.
#[derive(Clone)]
enum AgentStage {
    Starting,
    Running(Arc<AgentHandle>),
    /// It was never started, or has ended.
    Exited,
}

/// Why an agent did not start.
pub(crate) struct AgentStartError {
    pub(crate) error: String,
    /// Trying again cannot help.
    pub(crate) needs_a_person: bool,
}

/// All agents of this host, by session. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Sessions {
    stages: Arc<Mutex<HashMap<SessionId, watch::Sender<AgentStage>>>>,
}

impl Sessions {
    /// None is being started or up.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Registers an agent as starting, before any other request to it.
    pub(crate) fn register(&self, session: &SessionId) {
        self.lock().insert(session.clone(), watch::Sender::new(AgentStage::Starting));
    }

    /// Starts an agent that was announced.
    pub(crate) async fn start(
        &self,
        launch: AgentLaunch,
        confined: Option<ActiveBoundary>,
        events: mpsc::Sender<(SessionId, DriverEvent)>,
    ) -> Result<SpawnedAgent, AgentStartError> {
        let session = launch.spec.session.clone();
        match baton_agents::spawn(launch, confined, events).await {
            Ok((handle, spawned)) => {
                if let Some(stage) = self.lock().get(&session) {
                    stage.send_replace(AgentStage::Running(Arc::new(handle)));
                }
                Ok(spawned)
            }
            Err(error) => {
                self.gone(&session);
                Err(AgentStartError { needs_a_person: error.needs_a_person(), error: error.to_string() })
            }
        }
    }

    /// Its exit has been seen, or it never started.
    pub(crate) fn gone(&self, session: &SessionId) {
        if let Some(stage) = self.lock().remove(session) {
            stage.send_replace(AgentStage::Exited);
        }
    }

    pub(crate) async fn prompt(&self, session: &SessionId, text: &str) -> Result<(), String> {
        let told = match self.handle(session).await {
            Some(handle) => {
                handle.prompt(visible(text).into_owned()).await.map_err(|error| error.to_string())
            }
            None => Err(gone_message(session)),
        };
        self.await_exit_on_error(session, told).await
    }

    pub(crate) async fn compact(&self, session: &SessionId, instructions: &str) -> Result<(), String> {
        let told = match self.handle(session).await {
            Some(handle) => {
                handle.compact(visible(instructions).into_owned()).await.map_err(|error| error.to_string())
            }
            None => Err(gone_message(session)),
        };
        self.await_exit_on_error(session, told).await
    }

    pub(crate) async fn interrupt(&self, session: &SessionId) -> Result<(), String> {
        let told = match self.handle(session).await {
            Some(handle) => handle.interrupt().await.map_err(|error| error.to_string()),
            None => Err(gone_message(session)),
        };
        self.await_exit_on_error(session, told).await
    }

    /// Returns when the agent, and everything it started, is gone.
    pub(crate) async fn end(&self, session: &SessionId) -> Result<(), String> {
        match self.handle(session).await {
            Some(handle) => {
                handle.end(END_GRACE).await;
                Ok(())
            }
            None => Err(gone_message(session)),
        }
    }

    /// Ends every agent without an outcome, because nothing can be journaled any more.
    pub(crate) async fn end_all(&self) {
        let all: Vec<SessionId> = self.lock().keys().cloned().collect();
        let mut ends = tokio::task::JoinSet::new();
        for session in all {
            let sessions = self.clone();
            ends.spawn(async move { sessions.end(&session).await });
        }
        // An agent that has not ended by then ends with its guard, when this process has ended.
        let _ = tokio::time::timeout(2 * END_GRACE, ends.join_all()).await;
        self.lock().clear();
    }

    /// The handle, once the agent is up.
    async fn handle(&self, session: &SessionId) -> Option<Arc<AgentHandle>> {
        let mut stage = self.lock().get(session)?.subscribe();
        let settled = stage.wait_for(|stage| !matches!(stage, AgentStage::Starting)).await.ok()?.clone();
        match settled {
            AgentStage::Running(handle) => Some(handle),
            AgentStage::Starting | AgentStage::Exited => None,
        }
    }

    /// If a request failed, waits for a while so that the agent's exit is seen first.
    async fn await_exit_on_error(&self, session: &SessionId, told: Result<(), String>) -> Result<(), String> {
        if told.is_err() {
            let stage = self.lock().get(session).map(watch::Sender::subscribe);
            if let Some(mut stage) = stage {
                let gone = stage.wait_for(|stage| matches!(stage, AgentStage::Exited));
                let _ = tokio::time::timeout(EXIT_TIMEOUT, gone).await;
            }
        }
        told
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, watch::Sender<AgentStage>>> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn gone_message(session: &SessionId) -> String {
    format!("the agent of {session} is gone")
}

/// The folder of one session, outside the workspace.
pub(crate) fn folder(state: &StateDir, run: &baton_core::RunId, session: &SessionId) -> PathBuf {
    state.sessions().join(run.as_str()).join(session.as_str())
}

/// The folder of a session's boundary, in that of the session.
pub(crate) const BOUNDARY_FOLDER: &str = "inside";

/// Ends what earlier hosts of these runs left running. Blocks. Guards end their agents when their host dies, so this finds a
/// process only if a guard was killed as well. Returns the refusals for files that they had left in sandboxes, by run and
/// session.
pub(crate) fn end_orphans(state: &StateDir, runs: &[baton_core::RunId]) -> io::Result<Vec<OrphanRefusal>> {
    let mut folders_of_sessions = Vec::new();
    let mut boundaries = Vec::new();
    for run in runs {
        let Ok(folders) = std::fs::read_dir(state.sessions().join(run.as_str())) else { continue };
        let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        for folder in folders.flatten().filter(is_folder) {
            if let Some(orphan) = baton_agents::probe_orphan(&folder.path())
                && orphan.alive
            {
                tracing::info!(group = orphan.group, "ending an agent that an earlier host left behind");
                baton_agents::end_orphan(&orphan, ORPHAN_GRACE);
            }
            boundaries.push((run, folder.file_name(), folder.path().join(BOUNDARY_FOLDER)));
            folders_of_sessions.push(folder.path());
        }
    }
    baton_agents::end_left_behind(&folders_of_sessions);
    let mut swept = Vec::new();
    for (run, session, boundary) in boundaries {
        let remaining = RemainingPaths::kept(&remaining_paths_file(state, run))?;
        for refusal in baton_sandbox::clear(&boundary, &remaining) {
            let session = SessionId::new(session.to_string_lossy());
            swept.push(OrphanRefusal { run: run.clone(), session, refusal });
        }
    }
    Ok(swept)
}

/// What an agent had planted whose host died, and what became of it.
#[derive(Debug)]
pub(crate) struct OrphanRefusal {
    pub(crate) run: baton_core::RunId,
    /// The session, or the command, that was confined.
    pub(crate) session: SessionId,
    pub(crate) refusal: Refusal,
}

/// The file that lists the files of a run's agents that could not be removed.
pub(crate) fn remaining_paths_file(state: &StateDir, run: &baton_core::RunId) -> PathBuf {
    state.sessions().join(run.as_str()).join("still-there.json")
}
