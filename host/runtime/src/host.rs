//! From a start to a run at work: state directory, lock, orphans, journal, policies, workspace, and then the loop.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use baton_core::experiment::Assignment;
use baton_core::input::BindingLink;
use baton_core::view::RunView;
use baton_core::workflow::paths::RunNames;
use baton_core::workflow::{AgentKind, Permission, Role, SandboxLevel};
use baton_core::{Input, Intent, Run, RunId, Workflow, WorktreeName};
use baton_sandbox::{RemainingPaths, SandboxSupport, exclude_listed};
use baton_store::secrets;
use baton_store::{ArtifactStore, HostLock, Journal, StateDir, StoreError};
use baton_workspace::{RunWorktrees, Workspace};
use tokio::sync::{mpsc, watch};

use crate::boundaries::{self, Boundaries};
use crate::clock;
use crate::config::{HostConfig, PolicyBundle, RunStart, RunUpdate};
use crate::control::requester;
use crate::control::server;
use crate::crash_injection::CrashInjection;
use crate::default_parallelism;
use crate::effects::{EffectRunner, EffectRunnerParts};
use crate::error::{BoxedError, RuntimeError};
use crate::event_loop::{self, AGENT_EVENTS, EventLoop, LoopChannels, RESULTS};
use crate::held_files::{HeldFiles, StartedFiles};
use crate::lost_work::{IdleTime, LostWorkFinder, unmeasured_claims};
use crate::policies::shadow::{self, RunShadows};
use crate::policies::{self, PolicyRegistry, RunArtifacts};
use crate::projection::{self, ProjectionWriter};
use crate::query::{self, resolve_run};
use crate::recorder::RunRecorder;
use crate::recovery::{self, RecoveredRun};
use crate::sessions::{self, OrphanRefusal};
use crate::tools::artifact_tools::ArtifactTools;
use crate::tools::inbox_poller::InboxPoller;
use crate::tools::session_token::SessionTokens;
use crate::tools::tool_calls::ToolCallHandler;
use crate::ui::notifier::Notifier;
use crate::ui::ui_updates::UpdateQueue;
use crate::worktree_paths::{of_run, trees_of};

/// Messages of people, scripts and agents that wait for the loop.
const CONTROL_QUEUE_LEN: usize = 16;

/// Files that are compared by their names: more than the workflows of a folder name.
const NEXT_RUN_FILES_MAX: usize = 1_000;

/// Runs a workflow, or resumes a run. Returns when the run has ended, waits for the user with nothing running, or `stop` became
/// true (agents ended, everything journaled).
///
/// The status of the returned view says which: [`RunStatus`](baton_core::view::RunStatus).
///
/// # Errors
/// Before anything is spawned or journaled: [`RuntimeError::Busy`], [`RuntimeError::PolicyRefused`],
/// [`RuntimeError::Workspace`], [`RuntimeError::State`] and errors of reading the journal of a resumed run. Later:
/// [`RuntimeError::JournalStopped`]; the agents were then ended, and the journal is as intact as the disk.
pub async fn run(
    config: HostConfig,
    start: RunStart,
    updates: mpsc::Sender<RunUpdate>,
    stop: watch::Receiver<bool>,
) -> Result<RunView, RuntimeError> {
    let host = WorkspaceHost::open(config)?;
    let (id, prepared) = match start {
        RunStart::New { workflow, policies, assignments } => {
            let (run, prepared) = host.start_run(*workflow, policies, assignments).await?;
            host.note_start(&run)?;
            (run, prepared)
        }
        RunStart::Resume { run } => host.resume_run(run).await?,
    };
    host.run_event_loop(id, prepared, updates, stop).await
}

/// A workspace that this process holds.
struct WorkspaceHost {
    config: HostConfig,
    state: StateDir,
    journal: Journal,
    artifacts: ArtifactStore,
    workspace: Workspace,
    crash_injection: CrashInjection,
    // Last, so that it is given back when everything else is closed.
    _lock: HostLock,
}

/// A run that is ready to continue: its inputs are in the recorder, not yet committed.
struct PreparedRun {
    recorder: RunRecorder,
    policies: Arc<PolicyRegistry>,
    inbox: InboxPoller,
    trees: RunWorktrees,
    sandbox_support: SandboxSupport,
    task_folder: String,
    repeat: Vec<Intent>,
}

impl WorkspaceHost {
    fn open(config: HostConfig) -> Result<Self, RuntimeError> {
        let refused =
            |source: BoxedError| RuntimeError::Workspace { workspace: config.workspace.clone(), source };
        let workspace = Workspace::open(&config.workspace).map_err(|error| refused(error.into()))?;
        let state_error = |what, dir: PathBuf| {
            let workspace = config.workspace.clone();
            move |source| match source {
                StoreError::Locked { pid, .. } => RuntimeError::Busy { pid, workspace },
                source => RuntimeError::State { what, dir, source: source.into() },
            }
        };
        if let Err(error) = baton_agents::adopt_orphans() {
            tracing::warn!("processes of an agent that ends its guard cannot be found: {error}");
        }
        let root = config.state_root.clone();
        let state =
            StateDir::open(&root, workspace.root()).map_err(state_error("cannot keep a run", root))?;
        let dir = || state.path().to_owned();
        let lock = state.lock().map_err(state_error("cannot take the lock", dir()))?;
        let crash_injection = CrashInjection::from_environment(&config.environment);
        let journal = Journal::open_with(&state, crash_injection.journal_options())
            .map_err(state_error("cannot open the journal", dir()))?;
        let artifacts =
            ArtifactStore::open(&state).map_err(state_error("cannot open the artifacts", dir()))?;
        Ok(Self { state, journal, artifacts, workspace, crash_injection, _lock: lock, config })
    }

    fn state_error(&self, what: &'static str) -> impl Fn(StoreError) -> RuntimeError + use<> {
        let dir = self.state.path().to_owned();
        move |source| RuntimeError::State { what, dir: dir.clone(), source: source.into() }
    }

    /// While no host works on a run, only the process that began it may answer for it, not one that resumed it.
    fn note_start(&self, run: &RunId) -> Result<(), RuntimeError> {
        requester::note_start(&self.state, run).map_err(|source| RuntimeError::State {
            what: "cannot record what started this run",
            dir: self.state.path().to_owned(),
            source: source.into(),
        })
    }

    /// Before anything is run: no program of the host comes from where agents of this run can write.
    fn exclude_lists(&self, workflow: &Workflow) {
        let home = self.config.environment.get(OsStr::new("HOME")).map(Path::new);
        exclude_listed(&workflow.writable_by_agents(), home, self.workspace.root());
    }

    /// Agents of this run may also change files that the next run of earlier work reads or runs. The newest run has all of
    /// them.
    fn add_earlier_next_run_files(&self, workflow: &mut Workflow) -> Result<(), RuntimeError> {
        let newest = self.journal.runs().map_err(query::cannot_read(&self.state))?.pop();
        let first = newest.and_then(|newest| self.journal.first(&newest.run).ok().flatten());
        let earlier = query::begun_with(first).map(|began| began.next_run_files).unwrap_or_default();
        let files = &mut workflow.next_run_files;
        for file in earlier {
            if files.len() < NEXT_RUN_FILES_MAX && !files.contains(&file) {
                files.push(file);
            }
        }
        Ok(())
    }

    /// A new run. Whatever can be refused is refused before anything is written.
    async fn start_run(
        &self,
        mut workflow: Workflow,
        bundle: PolicyBundle,
        assignments: Vec<Assignment>,
    ) -> Result<(RunId, PreparedRun), RuntimeError> {
        // Frozen with the run, so that another machine replays it as it was.
        if workflow.limits.agents == 0 {
            workflow.limits.agents = default_parallelism::agents();
        }
        self.register_secrets(&workflow);
        self.exclude_lists(&workflow);
        self.add_earlier_next_run_files(&mut workflow)?;
        let sandbox_support = detect_sandbox_support(&self.config, &workflow).await?;
        let run = self.new_run_id()?;
        let (cache, artifacts) = (self.state.aot_cache(), self.artifacts_of(&run));
        let asked = workflow.clone();
        let prepared = spawn_blocking(move || policies::prepare(cache, artifacts, &asked, &bundle)).await?;
        let names = RunNames { run: run.as_str(), workflow: &workflow.name, goal: &workflow.goal };
        let task_folder = workflow.paths.task_folder(names);
        projection::expect_free(&self.workspace, &task_folder)
            .map_err(|source| RuntimeError::Workspace { workspace: self.config.workspace.clone(), source })?;
        let trees = self.trees(&run, &task_folder);
        let mut inbox = self.open_inbox_poller(&trees, &task_folder)?;
        inbox.reject_written_after(None).await;
        recovery::log_other_refusals(&self.end_orphans()?);
        self.note_repository(&trees).await?;
        for blob in prepared.blobs {
            self.journal.put_blob(blob).map_err(self.state_error("cannot keep the policies"))?;
        }
        let mut recorder = RunRecorder::new(RecoveredRun::default(), run.clone(), self.journal.clone());
        let started = Input::Started {
            run: run.clone(),
            workflow: Box::new(workflow),
            bindings: prepared.bindings,
            task_folder: task_folder.clone(),
            utc_offset_minutes: clock::utc_offset_minutes(),
            assignments,
        };
        recorder.record(started).map_err(|illegal| internal_error(&run, &illegal.to_string()))?;
        let policies = prepared.policies;
        Ok((
            run,
            PreparedRun {
                recorder,
                policies,
                inbox,
                trees,
                sandbox_support,
                task_folder,
                repeat: Vec::new(),
            },
        ))
    }

    /// A run of an earlier host. Asks the world about every open intent before anything is spawned. ARCHITECTURE.md describes
    /// the same steps under the same numbers.
    async fn resume_run(&self, run: Option<RunId>) -> Result<(RunId, PreparedRun), RuntimeError> {
        let run = resolve_run(&self.config, &self.journal, run.as_ref())?;
        requester::expect_no_agent(&self.state, &run)?;
        // 1. Replay.
        let folded =
            recovery::fold_run(&self.journal, &run).map_err(|error| error.in_dir(self.state.path()))?;
        if let Some(ending) = folded.run.ending()
            && folded.run.pending().is_empty()
        {
            return Err(RuntimeError::AlreadyEnded { run, ending });
        }
        if folded.run.workflow().imported.is_some() {
            return Err(RuntimeError::ImportedRun { run });
        }
        self.register_secrets(folded.run.workflow());
        self.exclude_lists(folded.run.workflow());
        let sandbox_support = detect_sandbox_support(&self.config, folded.run.workflow()).await?;
        // 2. Policies.
        let journaled = self.read_journaled_policies(&folded.run)?;
        let (cache, artifacts) = (self.state.aot_cache(), self.artifacts_of(&run));
        let policies = spawn_blocking(move || policies::restore(cache, artifacts, &journaled)).await?;
        policies.follow(&folded.run);
        // 3. Processes of dead hosts.
        let (own, others): (Vec<OrphanRefusal>, Vec<OrphanRefusal>) =
            self.end_orphans()?.into_iter().partition(|swept| swept.run == run);
        recovery::log_other_refusals(&others);

        // 4. Folders.
        let task_folder = folded.run.task_folder().to_owned();
        let trees = self.trees(&run, &task_folder);
        self.note_repository(&trees).await?;
        for tree in folded.run.view(folded.last.1).iter().flat_map(projection::live) {
            if let Err(error) = trees.open(&tree).await {
                tracing::warn!("{error}");
            }
        }
        let mut inbox = self.open_inbox_poller(&trees, &task_folder)?;
        // Agents that were at work when their host died may have reported since.
        if folded.run.live_sessions().is_empty() {
            inbox.reject_written_after(Some(folded.run.agents_last_alive())).await;
        }
        // 5. Lost work.
        let workspace = self.workspace.clone().with_own_folder(&task_folder);
        let finder = LostWorkFinder::new(workspace.clone(), trees.clone(), self.state.clone());
        let lost_work = finder.find(&folded.run, IdleTime::without_host(&folded.run)).await;
        // 6. Inputs.
        let reports = inbox.collect(&folded.run, &self.artifact_tools(&folded.run, &trees), true).await;
        inbox.reject_rest(None).await;
        let inputs = recovery::recovery_inputs(&folded.run, &self.state, own, reports, lost_work);
        let repeat = recovery::to_repeat(&folded.run);
        let mut recorder = RunRecorder::new(folded, run.clone(), self.journal.clone());
        for input in inputs {
            recorder.record(input).map_err(|illegal| internal_error(&run, &illegal.to_string()))?;
        }
        // 7. `Resumed`, and before it `ClaimsUnmeasured`.
        let unmeasured = unmeasured_claims(recorder.run(), &workspace, &trees, &self.state).await;
        for input in unmeasured.into_iter().chain([Input::Resumed]) {
            recorder.record(input).map_err(|illegal| internal_error(&run, &illegal.to_string()))?;
        }
        // 8. Intents: the loop performs those in `repeat`.
        Ok((run, PreparedRun { recorder, policies, inbox, trees, sandbox_support, task_folder, repeat }))
    }

    async fn run_event_loop(
        self,
        run: RunId,
        prepared: PreparedRun,
        updates: mpsc::Sender<RunUpdate>,
        stop: watch::Receiver<bool>,
    ) -> Result<RunView, RuntimeError> {
        let (events, agents) = mpsc::channel(AGENT_EVENTS);
        let (done, results) = mpsc::channel(RESULTS);
        let (ask, asked) = mpsc::channel(CONTROL_QUEUE_LEN);
        let workspace = of_run(&self.workspace, &self.state, &run).with_own_folder(&prepared.task_folder);
        let trees = prepared.trees.clone();
        let projector = ProjectionWriter::start(trees.clone(), self.artifacts.clone(), run.clone());
        let tokens = SessionTokens::new(run.clone(), self.state.clone());
        let tool_calls =
            ToolCallHandler::new(tokens.clone(), self.artifact_tools(prepared.recorder.run(), &trees));
        let boundaries = Boundaries::new(boundaries::BoundaryParts {
            run: run.clone(),
            state: self.state.clone(),
            workspace: self.workspace.root().to_owned(),
            own_exe: self.config.own_exe.clone(),
            environment: self.config.environment.clone(),
            sandbox_support: prepared.sandbox_support.clone(),
            command_sandbox: prepared.recorder.run().workflow().command_sandbox(),
            writable: prepared.recorder.run().workflow().writable_by_agents(),
            task_folder: PathBuf::from(&prepared.task_folder),
            ordinal: AtomicU64::new(1),
            remaining: RemainingPaths::kept(&sessions::remaining_paths_file(&self.state, &run))
                .map_err(|source| self.unread_state(source))?,
            held: HeldFiles::of(
                &self.state,
                &run,
                self.are_settings_held(prepared.recorder.run().workflow()),
                StartedFiles::of(prepared.recorder.run().workflow(), self.workspace.root()),
            ),
        });
        let (at_start, dir) = (boundaries.clone(), self.state.path().to_owned());
        spawn_blocking(move || {
            let what = "cannot record what agents of the run are started by";
            at_start.note_start().map_err(|source| RuntimeError::State { what, dir, source: source.into() })
        })
        .await?;
        boundaries.kept().into_iter().for_each(|kept| trees.hold_to(kept));
        trees.hide_from_git(self.hidden_from_agents(prepared.recorder.run().workflow()));
        let parts = EffectRunnerParts {
            tokens,
            ask: ask.clone(),
            boundaries: boundaries.clone(),
            task_folder: prepared.task_folder.clone(),
            own_exe: self.config.own_exe.clone(),
            environment: self.config.environment.clone(),
            overrides: self.config.overrides.clone(),
            state: self.state.clone(),
            artifacts: self.artifacts.clone(),
            trees,
            restorer: projector.restorer(),
            crash_injection: self.crash_injection.clone(),
            events,
            done,
        };
        let _socket = server::listen(&self.state.control_socket(), ask)?;
        tracing::info!(%run, "at work");
        let effect_runner = EffectRunner::new(prepared.recorder.run(), parts);
        let channels = LoopChannels { agents, done: results, asked, stop };
        let shadows = RunShadows::new(shadow::ShadowParts {
            journal: self.journal.clone(),
            artifacts: self.artifacts_of(&run),
            cache: self.state.aot_cache(),
            folder: shadow::folder_of(&self.state, &run),
        });
        let ui_updates = UpdateQueue::new(updates);
        let notify = &prepared.recorder.run().workflow().notify;
        let lost_work = LostWorkFinder::new(workspace.clone(), prepared.trees.clone(), self.state.clone());
        let notifier = Notifier::new(notify, run.clone(), workspace, boundaries.clone());
        let PreparedRun { recorder, policies, inbox, repeat, .. } = prepared;
        let parts = event_loop::EventLoopParts {
            recorder,
            effect_runner,
            policies,
            shadows,
            inbox,
            tool_calls,
            projector,
            ui_updates,
            notifier,
            lost_work,
            channels,
        };
        let ended = EventLoop::new(parts).run(repeat).await;
        spawn_blocking(move || {
            boundaries.note_end();
            Ok(())
        })
        .await?;
        ended
    }

    /// What roles hand to their agents by name is masked wherever it is said.
    fn register_secrets(&self, workflow: &Workflow) {
        let names = workflow.roles.values().flat_map(|role| &role.env).chain(&self.config.overrides.env);
        let value = |name: &String| self.config.environment.get(std::ffi::OsStr::new(name))?.to_str();
        secrets::register_known(names.filter_map(value).map(str::to_owned));
    }

    /// Whether the host holds the settings of agents in this run: every role has fewer rights than the user, by a sandbox or by
    /// a permission that its agent enforces (a `process` agent enforces none), or one role has a sandbox in which it can change
    /// these files.
    fn are_settings_held(&self, workflow: &Workflow) -> bool {
        let applied = |role: &Role| {
            let mut role = role.clone();
            self.config.overrides.apply(&mut role);
            role
        };
        let roles: Vec<Role> = workflow.roles.values().map(applied).collect();
        let is_restrained = |role: &Role| {
            let is_process = matches!(role.agent, AgentKind::Process { .. });
            role.sandbox.is_on() || role.permission != Permission::Full && !is_process
        };
        let can_change = |role: &Role| role.sandbox.level == SandboxLevel::Write;
        roles.iter().any(can_change) || roles.iter().all(is_restrained)
    }

    fn trees(&self, run: &RunId, task_folder: &str) -> RunWorktrees {
        trees_of(&self.state, &self.workspace.clone().with_own_folder(task_folder), run)
    }

    /// Before the first agent of the run works in the repository.
    async fn note_repository(&self, trees: &RunWorktrees) -> Result<(), RuntimeError> {
        let dir = self.state.path().to_owned();
        let what = "cannot record the state of the git repository";
        trees.note_repository().await.map_err(|source| RuntimeError::State {
            what,
            dir,
            source: source.into(),
        })
    }

    fn hidden_from_agents(&self, workflow: &Workflow) -> Vec<PathBuf> {
        boundaries::hidden(workflow, self.state.root(), &self.config.environment)
    }

    fn artifact_tools(&self, run: &Run, trees: &RunWorktrees) -> ArtifactTools {
        ArtifactTools {
            run: run.id().clone(),
            artifacts: self.artifacts.clone(),
            trees: trees.clone(),
            claims: run.workflow().paths.claims(run.names()),
            hidden: self.hidden_from_agents(run.workflow()),
        }
    }

    /// The components and settings that a run is bound to, from its journal.
    fn read_journaled_policies(&self, run: &Run) -> Result<Vec<policies::JournaledPolicy>, RuntimeError> {
        let blob = |link: &BindingLink, digest: &baton_core::Digest| {
            let found = self.journal.blob(digest).map_err(self.state_error("cannot read the policies"))?;
            found.ok_or_else(|| RuntimeError::ComponentMissing {
                run: run.id().clone(),
                policy: link.policy.clone(),
                digest: digest.clone(),
            })
        };
        run.binding_views()
            .flat_map(|view| {
                view.replaced.into_iter().map(|binding| (binding, false)).chain([(view.binding, true)])
            })
            .flat_map(|(binding, in_place)| binding.links().map(move |link| (link, in_place)))
            .map(|(link, in_place)| {
                let (component, settings) = (blob(&link, &link.component)?, blob(&link, &link.settings)?);
                Ok(policies::JournaledPolicy { link, component, settings, in_place })
            })
            .collect()
    }

    fn artifacts_of(&self, run: &RunId) -> RunArtifacts {
        RunArtifacts::of(self.artifacts.clone(), run.clone())
    }

    fn open_inbox_poller(
        &self,
        trees: &RunWorktrees,
        task_folder: &str,
    ) -> Result<InboxPoller, RuntimeError> {
        // Prompts point there; an agent that cannot read it can still work.
        let path = format!("{task_folder}/inbox/README.md");
        let place = trees.at_hand(&WorktreeName::workspace()).unwrap_or_else(|| self.workspace.clone());
        if let Err(error) = place.write_projection(&path, baton_inbox::INSTRUCTIONS.as_bytes()) {
            tracing::warn!("{error}");
        }
        InboxPoller::open(trees.clone(), task_folder).map_err(|error| RuntimeError::Workspace {
            workspace: self.config.workspace.clone(),
            source: error.into(),
        })
    }

    /// Every run that has not ended may have left an agent, not only the one that continues now.
    fn end_orphans(&self) -> Result<Vec<OrphanRefusal>, RuntimeError> {
        let runs = self.journal.runs().map_err(self.state_error("cannot read the journal"))?;
        let open: Vec<RunId> = runs.into_iter().filter(|run| !run.ended).map(|run| run.run).collect();
        sessions::end_orphans(&self.state, &open).map_err(|source| self.unread_state(source))
    }

    fn unread_state(&self, source: io::Error) -> RuntimeError {
        RuntimeError::State {
            what: "cannot read the list of leftovers,",
            dir: self.state.path().to_owned(),
            source: source.into(),
        }
    }

    /// The time in UTC, and a number if two runs begin in one second: short to type, in order, unique here.
    fn new_run_id(&self) -> Result<RunId, RuntimeError> {
        let known = self.journal.runs().map_err(self.state_error("cannot read the journal"))?;
        let time: String = clock::wall().rfc3339().chars().filter(char::is_ascii_alphanumeric).collect();
        let stem = time.trim_end_matches('Z').replace('T', "-");
        let mut id = RunId::new(&stem);
        for ordinal in 2.. {
            if known.iter().all(|run| run.run != id) {
                break;
            }
            id = RunId::new(format!("{stem}-{ordinal}"));
        }
        Ok(id)
    }
}

fn internal_error(run: &RunId, why: &str) -> RuntimeError {
    RuntimeError::Impossible { run: run.clone(), why: why.to_owned() }
}

/// What of a sandbox this machine has, for a workflow that asks for one; nothing is looked for otherwise.
async fn detect_sandbox_support(
    config: &HostConfig,
    workflow: &Workflow,
) -> Result<SandboxSupport, RuntimeError> {
    let (path, workflow) = (config.environment.get(OsStr::new("PATH")).cloned(), workflow.clone());
    spawn_blocking(move || sandbox_for(&workflow, path.as_deref())).await
}

/// The sandbox support of this machine, for a workflow that asks for a sandbox. Blocking.
///
/// # Errors
/// [`RuntimeError::NoSandbox`] if a role asks for a level that the machine does not support.
pub fn sandbox_for(workflow: &Workflow, path: Option<&OsStr>) -> Result<SandboxSupport, RuntimeError> {
    let mut asking = workflow.roles.iter().filter(|(_, role)| role.sandbox.is_on()).peekable();
    if asking.peek().is_none() {
        return Ok(SandboxSupport::none());
    }
    let sandbox_support = SandboxSupport::look(path);
    for (role, of) in asking {
        sandbox_support
            .can(of.sandbox.level)
            .map_err(|missing| RuntimeError::NoSandbox { role: role.clone(), missing })?;
    }
    Ok(sandbox_support)
}

/// Compiling a component takes a second; the renderer must not wait for it.
async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RuntimeError> + Send + 'static,
) -> Result<T, RuntimeError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(join) => std::panic::resume_unwind(join.into_panic()),
    }
}
