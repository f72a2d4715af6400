//! The boundaries of a run: one for each session of a role that is confined, and one for each command of the workflow, which
//! runs files that any of them may have written. A command's refusals are appended to its output.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_agents::{ActiveBoundary, BoundaryContext, SpawnError};
use baton_core::Workflow;
use baton_core::action::SpawnSpec;
use baton_core::workflow::{Role, Sandbox, SandboxLevel};
use baton_core::{RunId, SessionId};
use baton_sandbox::{Boundary, BoundaryError, RefusalReceiver, RemainingPaths, SandboxSupport, listed_paths};
use baton_store::StateDir;
use baton_workspace::{ProtectedPaths, Workspace};

use crate::error::BoxedError;
use crate::held_files::HeldFiles;
use crate::sessions::{self, AgentStartError, BOUNDARY_FOLDER};
use crate::writable_places::{hidden_state_roots, note_lists, state_roots};

/// The folder of a session with its agent's conversations.
const CONVERSATIONS: &str = "conversations";
/// Beginning of the names of folders of commands, among those of sessions.
const COMMAND: &str = "command";

/// What boundaries of a run are made of. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Boundaries(Arc<BoundaryParts>);

/// What it takes to make one.
#[derive(Debug)]
pub(crate) struct BoundaryParts {
    pub(crate) run: RunId,
    pub(crate) state: StateDir,
    /// The workspace of the run.
    pub(crate) workspace: PathBuf,
    pub(crate) own_exe: PathBuf,
    pub(crate) environment: BTreeMap<OsString, OsString>,
    pub(crate) sandbox_support: SandboxSupport,
    /// What commands of the workflow are confined to.
    pub(crate) command_sandbox: Sandbox,
    /// What agents of any role may write beyond their trees.
    pub(crate) writable: Vec<String>,
    /// The task folder, from a tree.
    pub(crate) task_folder: PathBuf,
    /// Makes names of folders unlike each other.
    pub(crate) ordinal: AtomicU64,
    /// What agents have left in a tree and could not be taken away.
    pub(crate) remaining: RemainingPaths,
    /// The settings of agents in its trees, and the files by which agents are started.
    pub(crate) held: HeldFiles,
}

impl BoundaryParts {
    fn folder(&self, session: &SessionId) -> PathBuf {
        sessions::folder(&self.state, &self.run, session)
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        self.environment.get(OsStr::new(name)).cloned()
    }

    /// The folder of the agent's conversations of a session, next to its boundary: a link if the session continues a
    /// conversation of another session.
    fn conversations(&self, spec: &SpawnSpec) -> io::Result<PathBuf> {
        let own = self.folder(&spec.session).join(CONVERSATIONS);
        let before = spec.continues.as_ref().map(|before| self.folder(before).join(CONVERSATIONS));
        // One that was not confined kept its own elsewhere, and cannot be gone on with.
        match before.and_then(|before| before.canonicalize().ok()) {
            Some(before) => {
                DirBuilder::new().recursive(true).mode(0o700).create(self.folder(&spec.session))?;
                // A host may have died here.
                let _ = fs::remove_file(&own);
                std::os::unix::fs::symlink(before, &own)?;
            }
            None => DirBuilder::new().recursive(true).mode(0o700).create(&own)?,
        }
        own.canonicalize()
    }
}

/// Paths of all roles that agents of a strict sandbox do not see, since a file that one of them keeps could be read by another.
pub(crate) fn hidden(
    workflow: &Workflow,
    state: &Path,
    environment: &BTreeMap<OsString, OsString>,
) -> Vec<PathBuf> {
    let sandbox = workflow.command_sandbox();
    if sandbox.level != SandboxLevel::Strict {
        return Vec::new();
    }
    let home = environment.get(OsStr::new("HOME")).map(Path::new);
    let named = sandbox.hide.iter().filter_map(|path| match path.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)),
        None => Some(PathBuf::from(path)),
    });
    let variable = |name: &str| environment.get(OsStr::new(name)).cloned();
    named.chain(hidden_state_roots(state, variable)).collect()
}

/// A workspace in which commands are confined, while this lives.
pub(crate) struct ConfinedWorkspace {
    pub(crate) workspace: Workspace,
    confined: Option<(Boundary, RefusalReceiver)>,
}

impl ConfinedWorkspace {
    /// The refusals, for people and agents; empty if there were none.
    pub(crate) fn refused(&mut self) -> String {
        let mut said = String::new();
        let Some((boundary, refused)) = &mut self.confined else { return said };
        let heard = std::iter::from_fn(|| refused.try_recv().ok());
        for refusal in heard.chain(boundary.sweep()) {
            // Nothing fails that writes into a text.
            let _ = writeln!(said, "[the sandbox did not allow to {refusal}]");
        }
        said
    }
}

impl Boundaries {
    pub(crate) fn new(parts: BoundaryParts) -> Self {
        Self(Arc::new(parts))
    }

    fn context<'a>(&'a self, tree: &'a Path, session: &SessionId) -> BoundaryContext<'a> {
        let parts = &*self.0;
        BoundaryContext {
            tree,
            workspace: &parts.workspace,
            folder: parts.folder(session).join(BOUNDARY_FOLDER),
            conversations: None,
            own_exe: &parts.own_exe,
            environment: &parts.environment,
            hidden: hidden_state_roots(parts.state.root(), |name| parts.variable(name)),
            remaining: parts.remaining.clone(),
            task_folder: Some(&parts.task_folder),
            hide: &parts.command_sandbox.hide,
            writable: &parts.writable,
        }
    }

    /// No agent starts while a file that an agent left, and that others would run, could not be removed.
    fn expect_nothing_remains(&self) -> Result<(), AgentStartError> {
        let remaining = self.0.remaining.paths();
        let Some(first) = remaining.first() else { return Ok(()) };
        let error = format!(
            "an agent has made {}, which others would run, and it could not be renamed: look at it, remove it, and retry",
            first.display()
        );
        Err(AgentStartError { needs_a_person: true, error })
    }

    /// The boundary of a session, where its role has one.
    pub(crate) fn for_session(
        &self,
        spec: &SpawnSpec,
        role: &Role,
        tree: &Path,
    ) -> Result<Option<ActiveBoundary>, AgentStartError> {
        self.expect_nothing_remains()?;
        let not_started = |error: SpawnError| {
            let needs_a_person = error.needs_a_person();
            AgentStartError { needs_a_person, error: error.to_string() }
        };
        if role.sandbox.level != SandboxLevel::Strict {
            let (workspace, environment) = (&self.0.workspace, &self.0.environment);
            let same = self.0.held.expect_same(tree, &spec.phase, &spec.session, role.sandbox.is_on());
            same.map_err(|error| AgentStartError {
                needs_a_person: error.needs_a_person(),
                error: error.to_string(),
            })?;
            baton_agents::expect_trusted(&spec.agent, role, tree, workspace, environment)
                .map_err(not_started)?;
        }
        if !role.sandbox.is_on() {
            return Ok(None);
        }
        let conversations = self.0.conversations(spec).map_err(|error| AgentStartError {
            error: format!("the folder for its conversations was not made: {error}"),
            needs_a_person: false,
        })?;
        let context =
            BoundaryContext { conversations: Some(conversations), ..self.context(tree, &spec.session) };
        let wanted = context.for_agent(spec, role).map_err(not_started)?;
        match Boundary::open(wanted, &self.0.sandbox_support) {
            Ok((boundary, refused)) => {
                self.note_lists(&role.sandbox, tree).map_err(|error| AgentStartError {
                    error: format!("what it may write was not recorded: {error}"),
                    needs_a_person: false,
                })?;
                Ok(Some(ActiveBoundary { boundary, refused }))
            }
            Err(error) => {
                let needs_a_person = match error {
                    BoundaryError::Missing(_)
                    | BoundaryError::Exchangeable { .. }
                    | BoundaryError::Roundabout { .. }
                    | BoundaryError::Outside { .. }
                    | BoundaryError::OfHost { .. }
                    | BoundaryError::HostInTree { .. }
                    | BoundaryError::OtherNames(_)
                    | BoundaryError::OfUser { .. } => true,
                    BoundaryError::System { .. } => false,
                };
                Err(AgentStartError { needs_a_person, error: error.to_string() })
            }
        }
    }

    /// Notes the paths that this sandbox can write: later commands run no program from there, and follow no link there.
    fn note_lists(&self, sandbox: &Sandbox, tree: &Path) -> io::Result<()> {
        let parts = &*self.0;
        let home = parts.environment.get(OsStr::new("HOME")).map(Path::new);
        let roots = state_roots(parts.state.root(), |name| parts.variable(name));
        note_lists(&roots, &[tree, &parts.workspace], &listed_paths(sandbox.write.as_deref(), home, tree))
    }

    /// Notes what agents of the run are started by, before one of them works. Blocking.
    pub(crate) fn note_start(&self) -> io::Result<()> {
        self.0.held.note_start()
    }

    /// Notes that no agent of the run is at work any more. Blocking.
    pub(crate) fn note_end(&self) {
        if let Err(error) = self.0.held.note_end() {
            // The next run takes every change for one of these agents'.
            tracing::warn!("the settings of agents were not recorded: {error}");
        }
    }

    /// The paths that no sandboxed agent may create or change, protected in commits as well; none if the sandbox is off.
    pub(crate) fn kept(&self) -> Option<ProtectedPaths> {
        let parts = &*self.0;
        let sandbox = &parts.command_sandbox;
        let nobody = SessionId::new(COMMAND);
        sandbox.is_on().then(|| ProtectedPaths {
            paths: self.context(&parts.workspace, &nobody).kept(sandbox),
            only_new: sandbox.level != SandboxLevel::Strict,
        })
    }

    /// A tree in which commands of the workflow are run.
    pub(crate) fn for_command(&self, workspace: Workspace) -> Result<ConfinedWorkspace, BoxedError> {
        let parts = &*self.0;
        if !parts.command_sandbox.is_on() {
            return Ok(ConfinedWorkspace { workspace, confined: None });
        }
        let number = parts.ordinal.fetch_add(1, Ordering::Relaxed);
        let name = SessionId::new(format!("{COMMAND}-{number}"));
        let root = workspace.root().to_owned();
        let wanted = self.context(&root, &name).for_command(&parts.command_sandbox)?;
        let confined = Boundary::open(wanted, &parts.sandbox_support)?;
        self.note_lists(&parts.command_sandbox, &root)?;
        Ok(ConfinedWorkspace { workspace: workspace.within(confined.0.command()), confined: Some(confined) })
    }
}
