//! Performs committed intents, each in its own task, and sends back the outcome. Decides nothing and retries nothing: one
//! intent, one outcome.

mod handoff_documents;
mod worktree_effects;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use baton_agents::{
    ActiveBoundary, AgentLaunch, BatonToolServer, DriverEvent, McpServer, ToolServerConnector,
};
use baton_core::action::{RunOutcome, SpawnSpec};
use baton_core::workflow::Role;
use baton_core::{
    Action, ActionId, ActionOutcome, Intent, PhaseId, RoleName, RunId, SessionId, WorktreeName,
};
use baton_sandbox::{is_work_of_agents, program_of_this_process, this_program};
use baton_store::secrets::{mask, mask_line};
use baton_store::{ArtifactStore, StateDir};
use baton_workspace::{FilesBeforeCheck, RunWorktrees, WorktreeError};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::boundaries::Boundaries;
use crate::clock;
use crate::config::RoleOverrides;
use crate::control::message::ControlRequest;
use crate::control::server;
use crate::crash_injection::CrashInjection;
use crate::diff::save_snapshot;
use crate::error::BoxedError;
use crate::private_file;
use crate::projection::Restorer;
use crate::python_cache;
use crate::sessions::{self, AgentStartError, Sessions};
use crate::tools::InProcessTools;
use crate::tools::result_offload;
use crate::tools::session_token::{self, SessionTokens};
use crate::worktree_paths::{baseline_path, changes_path, read_baseline};

use handoff_documents::LeavingSession;

/// A verification that takes longer hangs: the slowest test suites that people wait for end well within it.
const VERIFY_LIMIT: Duration = Duration::from_secs(60 * 60);
/// What became of an intent.
pub(crate) type IntentOutcome = (ActionId, ActionOutcome);

/// Everything that effects need. One a run.
pub(crate) struct EffectRunner {
    pub(crate) sessions: Sessions,
    effects: EffectContext,
    tasks: JoinSet<()>,
}

/// The part that every task gets a copy of.
#[derive(Clone)]
struct EffectContext {
    run: RunId,
    roles: BTreeMap<RoleName, Role>,
    /// Every file that an objective names; the start of a phase is measured with all of them.
    named_files: Vec<String>,
    /// What the next run reads or runs: compared by name.
    next_run_files: Vec<String>,
    /// The plan whose boxes the host itself ticks: that it changes shows no work of an agent.
    plan: Option<PathBuf>,
    /// Whether what phases change is committed, and on which branch of the run.
    commits: Option<Option<String>>,
    /// Where each phase works, as of its newest intent.
    places: Arc<Mutex<BTreeMap<PhaseId, WorktreeName>>>,
    sessions: Sessions,
    parts: EffectRunnerParts,
}

/// What an [`EffectRunner`] is made of.
#[derive(Clone)]
pub(crate) struct EffectRunnerParts {
    pub(crate) tokens: SessionTokens,
    pub(crate) ask: mpsc::Sender<ControlRequest>,
    pub(crate) boundaries: Boundaries,
    pub(crate) task_folder: String,
    pub(crate) own_exe: PathBuf,
    pub(crate) environment: BTreeMap<OsString, OsString>,
    pub(crate) overrides: RoleOverrides,
    pub(crate) state: StateDir,
    pub(crate) artifacts: ArtifactStore,
    pub(crate) trees: RunWorktrees,
    pub(crate) restorer: Restorer,
    pub(crate) crash_injection: CrashInjection,
    pub(crate) events: mpsc::Sender<(SessionId, DriverEvent)>,
    pub(crate) done: mpsc::Sender<IntentOutcome>,
}

impl EffectRunner {
    pub(crate) fn new(run: &baton_core::Run, parts: EffectRunnerParts) -> Self {
        let workflow = run.workflow();
        let objectives = workflow.phases.iter().flat_map(|phase| &phase.objectives);
        let plan = workflow.plan.as_ref().map(|plan| PathBuf::from(&plan.path));
        let sessions = Sessions::default();
        let effects = EffectContext {
            run: run.id().clone(),
            roles: workflow.roles.clone(),
            named_files: objectives.flat_map(|objective| objective.files.iter().cloned()).collect(),
            next_run_files: workflow.next_run_files.clone(),
            plan,
            commits: workflow.has_commits().then(|| workflow.commits.branch_of(run.id())),
            places: Arc::new(Mutex::new(worktree_effects::places(run))),
            sessions: sessions.clone(),
            parts,
        };
        Self { sessions, effects, tasks: JoinSet::new() }
    }

    /// Performs one durable intent, in the background. The caller has committed it. From here on, changes of the session of
    /// `review` do not count as work.
    pub(crate) fn perform(&mut self, intent: Intent, review: Option<PhaseId>) {
        let ordinal = self.effects.parts.crash_injection.effect_begins();
        if let Action::Spawn(spec) = &intent.action {
            self.sessions.register(&spec.session);
        }
        self.effects.note_place(&intent.action);
        let (effects, crash_injection, done) = (
            self.effects.clone(),
            self.effects.parts.crash_injection.clone(),
            self.effects.parts.done.clone(),
        );
        self.tasks.spawn(async move {
            if let Some(review) = review {
                effects.after_review(&review).await;
            }
            let outcome = effects.perform(intent.action).await;
            crash_injection.effect_done(ordinal);
            // The receiver is gone only if the host is ending; the intent then stays open, and `resume` performs it.
            let _ = done.send((intent.id, outcome)).await;
        });
    }

    /// Runs a task that may block, concurrently with the effects.
    pub(crate) fn spawn_blocking_task(&mut self, work: impl FnOnce() + Send + 'static) {
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

impl EffectContext {
    async fn perform(self, action: Action) -> ActionOutcome {
        let delivered = |told: Result<(), String>| match told {
            Ok(()) => ActionOutcome::Delivered,
            Err(error) => ActionOutcome::Failed { error },
        };
        match action {
            Action::Spawn(spec) => self.spawn(spec).await,
            Action::Prompt { session, text, .. } => match text.body() {
                Some(text) => delivered(self.sessions.prompt(&session, text).await),
                None => ActionOutcome::Failed {
                    error: format!("the text {} of the prompt is missing", text.digest()),
                },
            },
            Action::Compact { session, instructions } => {
                delivered(self.sessions.compact(&session, &instructions).await)
            }
            Action::Interrupt { session } => delivered(self.sessions.interrupt(&session).await),
            Action::EndSession { session, .. } => delivered(self.sessions.end(&session).await),
            Action::MeasureWorkspace { phase, baseline, expected, tree } => {
                or_failed(self.measure_workspace(&phase, baseline, &expected, &tree).await)
            }
            Action::WriteHandoff {
                phase,
                session,
                ordinal,
                document,
                index,
                path,
                facts,
                changed_beyond,
            } => {
                let leaving = LeavingSession { phase, session, ordinal, path, facts, changed_beyond };
                or_failed(self.write_handoff(leaving, &document, &index).await)
            }
            Action::ValidateHandoff { document, head, branch, tree, .. } => {
                or_failed(self.inspect(&document, &head, &branch, &tree).await)
            }
            Action::WriteSummaries { phase, step, directory } => {
                or_failed(self.write_summaries(&phase, &step, &directory).await)
            }
            Action::Offload { phase, items } => or_failed(self.offload(&phase, &items).await),
            Action::Verify { phase, command, tree, .. } => {
                or_failed(self.verify(&phase, &command, &tree).await)
            }
            tree @ (Action::Checkpoint { .. }
            | Action::CreateWorktree { .. }
            | Action::CommitWorktree { .. }
            | Action::CommitToBranch { .. }
            | Action::RestoreWorktree { .. }
            | Action::Merge { .. }
            | Action::AbortMerge { .. }
            | Action::Land { .. }) => or_failed(self.run_worktree_action(tree).await),
            // Their notices were sent, and progress was projected, when they were committed.
            Action::Finish { ending } => {
                save_snapshot(&self.parts.state, &self.run, &self.parts.trees, None).await;
                self.archive(ending).await;
                ActionOutcome::Announced
            }
            Action::AskUser { .. } => ActionOutcome::Announced,
            Action::RequestDecision { .. } | Action::DeliverToolResult { .. } | Action::Notify(_) => {
                ActionOutcome::Failed { error: "this is no effect".to_owned() }
            }
        }
    }

    async fn spawn(&self, spec: SpawnSpec) -> ActionOutcome {
        let Some(mut role) = self.roles.get(&spec.role).map(|role| role.clone().reassigned_to(&spec.agent))
        else {
            self.sessions.gone(&spec.session);
            return ActionOutcome::Failed { error: format!("the workflow has no role {}", spec.role) };
        };
        self.parts.overrides.apply(&mut role);
        let workspace = match self.parts.trees.open(&spec.tree).await {
            Ok(workspace) => workspace,
            Err(error) => {
                self.sessions.gone(&spec.session);
                return ActionOutcome::Failed { error: error.to_string() };
            }
        };
        // An agent may have deleted files that its successor is asked to read.
        if let Err(error) = self.parts.restorer.restore(&spec.tree).await {
            self.sessions.gone(&spec.session);
            let error = format!("a script that agents are asked to run may be another agent's: {error}");
            return ActionOutcome::Unstartable { error };
        }
        let confined = match self.parts.boundaries.for_session(&spec, &role, workspace.root()) {
            Ok(confined) => confined,
            Err(AgentStartError { error, needs_a_person }) => {
                self.sessions.gone(&spec.session);
                return match needs_a_person {
                    true => ActionOutcome::Unstartable { error },
                    false => ActionOutcome::Failed { error },
                };
            }
        };
        let tools = match self.tools(&spec.session, confined.as_ref()).await {
            Ok(tools) => Some(tools),
            Err(error) => {
                // It can still report through files.
                tracing::warn!("{} gets no tools: {error}", spec.session);
                None
            }
        };
        let own_exe = self.program_for_agents(confined.as_ref());
        let door = tools.as_ref().and_then(|tools| tools.command.args.last());
        let path = self.parts.environment.get(OsStr::new("PATH")).map(OsString::as_os_str);
        let mut mcp_servers: Vec<McpServer> = role
            .mcp
            .iter()
            .map(|(name, server)| result_offload::server(name, server, &own_exe, door, path))
            .collect();
        let mut inherit = self.parts.environment.clone();
        let cache = python_cache::of_agent(&self.parts.state, &self.run, &spec.role, confined.as_ref());
        python_cache::hand_over(&cache, &role, &mut inherit, &mut mcp_servers);
        let launch = AgentLaunch {
            role,
            workspace: workspace.root().to_owned(),
            guard: vec![this_program(&self.parts.own_exe).into_os_string(), "__guard".into()],
            own_exe: self.parts.own_exe.clone(),
            session_dir: sessions::folder(&self.parts.state, &self.run, &spec.session),
            mask: mask_line,
            inherit,
            tools,
            mcp_servers,
            spec,
        };
        match self.sessions.start(launch, confined, self.parts.events.clone()).await {
            Ok(spawned) => ActionOutcome::Spawned {
                group: spawned.group,
                started: spawned.started,
                capabilities: spawned.capabilities,
            },
            Err(AgentStartError { error, needs_a_person: true }) => ActionOutcome::Unstartable { error },
            Err(AgentStartError { error, .. }) => ActionOutcome::Failed { error },
        }
    }

    /// This program, as an agent starts it. If its path is writable for agents, an agent may have replaced it, and an
    /// unconfined agent would run the replacement with all rights of the user.
    fn program_for_agents(&self, confined: Option<&ActiveBoundary>) -> PathBuf {
        match confined {
            None if is_work_of_agents(&self.parts.own_exe) => program_of_this_process(&self.parts.own_exe),
            // Within a boundary, the process of the host is out of reach.
            _ => self.parts.own_exe.clone(),
        }
    }

    /// The server of Baton's own tools, for this session alone.
    async fn tools(
        &self,
        session: &SessionId,
        confined: Option<&ActiveBoundary>,
    ) -> Result<BatonToolServer, BoxedError> {
        let (tokens, id) = (self.parts.tokens.clone(), session.clone());
        let command = self.program_for_agents(confined);
        let of_boundary = |confined: &ActiveBoundary| {
            (confined.boundary.folder().to_owned(), confined.boundary.inside().to_owned())
        };
        let within = confined.map(of_boundary);
        let known = within.clone();
        let issue = move || tokens.issue(&id, known.as_ref().map(|(folder, seen)| (&**folder, &**seen)));
        let (token, mut file) = tokio::task::spawn_blocking(issue).await??;
        if let Some((folder, seen)) = within {
            // A separate socket for this session only, which accepts nothing but calls.
            server::listen_for(&folder.join(session_token::SOCKET), session, self.parts.ask.clone())?;
            file = seen.join(session_token::FILE);
        }
        let inside = InProcessTools { token, ask: self.parts.ask.clone() };
        let args = ["mcp".to_owned(), "--session".to_owned(), file.to_string_lossy().into_owned()];
        Ok(BatonToolServer {
            command: McpServer {
                name: baton_inbox::SERVER_NAME.to_owned(),
                command,
                args: args.to_vec(),
                env: BTreeMap::new(),
            },
            connect: ToolServerConnector::new(move || inside.open()),
        })
    }

    async fn measure_workspace(
        &self,
        phase: &PhaseId,
        baseline: bool,
        expected: &[String],
        tree: &WorktreeName,
    ) -> Result<ActionOutcome, BoxedError> {
        let workspace = self.parts.trees.open(tree).await?;
        let path = self.baseline_path(phase);
        let known = match baseline {
            true => None,
            false => read_baseline(path.clone()).await,
        };
        let start = match known {
            Some(start) => start,
            None => {
                // An agent may have deleted the baseline; the start of the phase is then now.
                let next_run_files = if tree.is_workspace() { &self.next_run_files[..] } else { &[] };
                let start = workspace.baseline_with_next_run(&self.named_files, next_run_files).await?;
                let start = match read_baseline(path.clone()).await {
                    Some(earlier) => start.replacing(earlier),
                    None => start,
                };
                write_json(path, &start).await?;
                if tree.is_workspace() {
                    if let Some(branch) = &self.commits {
                        self.parts.trees.begin_commits(phase, branch.as_deref()).await.map_err(no_commits)?;
                    }
                    save_snapshot(&self.parts.state, &self.run, &self.parts.trees, Some(phase)).await;
                }
                start
            }
        };
        let mut facts = workspace.measure(&start, expected).await?;
        if !tree.is_workspace() {
            // A copy lacks what git ignores, and git tells what else differs there.
            facts.next_run_files.clear();
        }
        let is_plan = |path: &String| {
            let plan = self.plan.as_ref();
            plan.is_some_and(|plan| workspace.root().join(path) == *plan) && !expected.contains(path)
        };
        facts.changed.retain(|file| !is_plan(&file.path));
        if facts.changed_beyond > 0 && tree.is_workspace() {
            let mut all = workspace.all_changed(&start).await?;
            all.retain(|file| !is_plan(&file.path));
            write_json(changes_path(&self.parts.state, &self.run, phase), &all).await?;
        }
        Ok(ActionOutcome::WorkspaceMeasured { facts })
    }

    fn baseline_path(&self, phase: &PhaseId) -> PathBuf {
        baseline_path(&self.parts.state, &self.run, phase)
    }

    /// Content is unloaded once the task that it served is over (C6): its artifacts are archived, not deleted.
    async fn archive(&self, ending: RunOutcome) {
        if ending == RunOutcome::Interrupted {
            return;
        }
        let (store, run) = (self.parts.artifacts.clone(), self.run.clone());
        let archived = tokio::task::spawn_blocking(move || store.archive(&run, clock::wall())).await;
        if let Ok(Err(error)) = archived {
            tracing::warn!("the artifacts were not archived: {error}");
        }
    }

    async fn verify(
        &self,
        phase: &PhaseId,
        command: &str,
        tree: &WorktreeName,
    ) -> Result<ActionOutcome, BoxedError> {
        let mut within = self.parts.boundaries.for_command(self.parts.trees.open(tree).await?)?;
        let before = self.before_check(tree).await;
        let mut result = within.workspace.verify(command, VERIFY_LIMIT).await?;
        if let Some(before) = before
            && let Err(error) = self.parts.trees.after_check(&before).await
        {
            tracing::warn!("what a check made may be committed with its phase: {error}");
        }
        let refused = within.refused();
        result.output.extend_from_slice(refused.as_bytes());
        result.findings.push_str(&refused);
        // Programs may print their environment; an artifact, a prompt and the journal must not contain a secret.
        if let Cow::Owned(masked) = mask(&String::from_utf8_lossy(&result.output)) {
            result.output = masked.into_bytes();
        }
        result.findings = mask(&result.findings).into_owned();
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
        Ok(ActionOutcome::Verified { passed, code, findings, artifact })
    }

    /// If work is committed: notes the files that a reviewer made itself, which do not count as work.
    async fn after_review(&self, review: &PhaseId) {
        if self.commits.is_some()
            && let Err(error) = self.parts.trees.after_review(review).await
        {
            tracing::warn!("what review {review} made may be committed: {error}");
        }
    }

    /// If work is committed: notes the files before a check, since files that its command makes do not count as work.
    async fn before_check(&self, tree: &WorktreeName) -> Option<FilesBeforeCheck> {
        if self.commits.is_none() || !tree.is_workspace() {
            return None;
        }
        let before = self.parts.trees.before_check().await;
        before.inspect_err(|error| tracing::warn!("what a check makes may be committed: {error}")).ok()
    }
}

fn no_commits(error: WorktreeError) -> BoxedError {
    let what_helps = match &error {
        WorktreeError::NoRepository { .. } => {
            "; `git init` there and retry, or take `commit` out of the workflow"
        }
        _ => "",
    };
    format!("its changes cannot be committed, as `commit` says: {error}{what_helps}").into()
}

fn or_failed(outcome: Result<ActionOutcome, BoxedError>) -> ActionOutcome {
    outcome.unwrap_or_else(|error| ActionOutcome::Failed { error: error.to_string() })
}

/// Whole or not at all, also after a power cut.
async fn write_json(path: PathBuf, content: &impl Serialize) -> Result<(), BoxedError> {
    let bytes = serde_json::to_vec(content)?;
    tokio::task::spawn_blocking(move || private_file::replace(&path, &bytes)).await??;
    Ok(())
}
