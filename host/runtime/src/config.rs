//! What the host is told when it starts, and what it tells while it runs. Plain data; nothing is read or opened here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use baton_core::experiment::Assignment;
use baton_core::progress::ProgressEvent;
use baton_core::view::RunView;
use baton_core::workflow::{Permission, Role};
use baton_core::{RunId, UnixMs, Workflow};

/// Where the host works and what it may pass on.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// The folder that the agents work in.
    pub workspace: PathBuf,
    /// Root of the state directories; one folder a workspace below it, and the cache of compiled policies.
    pub state_root: PathBuf,
    /// The `baton` binary itself: agents run under its guard, and the rehearsal agent is a part of it.
    pub own_exe: PathBuf,
    /// The environment that the user started the host with. Agents get an allow-listed part of it.
    pub environment: BTreeMap<OsString, OsString>,
    /// What the agents that this host starts are given beside what their roles say.
    pub overrides: RoleOverrides,
}

/// What a person gives the agents of a run that goes on, whatever their roles say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleOverrides {
    /// Names of variables that every agent gets beside those that its role names.
    pub env: Vec<String>,
    /// Commands that every agent may run without asking beside those that its role allows.
    pub allow: Vec<String>,
    /// What every agent may do without asking, instead of what its role says.
    pub permission: Option<Permission>,
    /// The model of every agent, instead of the one that its role names.
    pub model: Option<String>,
}

impl RoleOverrides {
    /// Gives it to a role, but for what that has already.
    pub fn apply(&self, role: &mut Role) {
        let add = |known: &mut Vec<String>, more: &[String]| {
            let new: Vec<String> = more.iter().filter(|one| !known.contains(one)).cloned().collect();
            known.extend(new);
        };
        add(&mut role.env, &self.env);
        add(&mut role.allow, &self.allow);
        role.permission = self.permission.unwrap_or(role.permission);
        role.model = self.model.clone().or(role.model.take());
    }
}

/// The components that a workflow names, read by the caller: the runtime opens no file that a workflow names.
#[derive(Clone, Debug, Default)]
pub struct PolicyBundle {
    /// By the reference as it stands in the workflow. A reference that starts with `builtin:` needs no entry.
    pub components: BTreeMap<String, PolicySource>,
}

/// A component, as bytes.
#[derive(Clone, Debug)]
pub struct PolicySource {
    /// Name for people and for the journal.
    pub name: String,
    /// The component; absent for the one that stands behind every other.
    pub bytes: Option<Vec<u8>>,
}

/// What to run.
#[derive(Clone, Debug)]
pub enum RunStart {
    /// A new run of this workflow.
    New {
        /// What to do, validated.
        workflow: Box<Workflow>,
        /// The components that its policies name.
        policies: PolicyBundle,
        /// The experiments that it takes part in; what their arms decide with is in the workflow's policies.
        assignments: Vec<Assignment>,
    },
    /// Take a run up again. Components and settings come from the journal, so no file is needed.
    Resume {
        /// Which; the newest one of the workspace where absent.
        run: Option<RunId>,
    },
}

/// News for whoever renders the run.
#[derive(Clone, Debug)]
pub struct RunUpdate {
    /// When the newest of it happened.
    pub at: UnixMs,
    /// What happened since the last update, oldest first. None is dropped.
    pub notices: Vec<ProgressEvent>,
    /// Where the run stands now. States in between may be skipped when the renderer is slow.
    pub view: RunView,
    /// Something of it is what the workflow wants the terminal's bell to ring for.
    pub bell: bool,
}
