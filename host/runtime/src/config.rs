//! The host's configuration, and the updates that it sends while it runs. Plain data; nothing is read or opened here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use baton_core::experiment::Assignment;
use baton_core::progress::ProgressEvent;
use baton_core::view::RunView;
use baton_core::workflow::{Permission, Role};
use baton_core::{RunId, UnixMs, Workflow};

/// The folders of the host, and the environment that it may pass on.
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
    /// Overrides for the roles of the agents that this host starts.
    pub overrides: RoleOverrides,
}

/// The user's overrides for the agents of a run, in addition to their roles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleOverrides {
    /// Names of variables that every agent gets in addition to those of its role.
    pub env: Vec<String>,
    /// Commands that every agent may run without asking, in addition to those of its role.
    pub allow: Vec<String>,
    /// What every agent may do without asking, instead of what its role says.
    pub permission: Option<Permission>,
    /// The model of every agent, instead of the one that its role names.
    pub model: Option<String>,
}

impl RoleOverrides {
    /// Adds the overrides to a role, without duplicates.
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
    /// Components by the reference in the workflow. A reference that starts with `builtin:` needs no entry.
    pub components: BTreeMap<String, PolicySource>,
}

/// A component, as bytes.
#[derive(Clone, Debug)]
pub struct PolicySource {
    /// Name for people and for the journal.
    pub name: String,
    /// The component; absent for the built-in policy.
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
        /// Its assignments in experiments; the components of their arms are in the workflow's policies.
        assignments: Vec<Assignment>,
    },
    /// Take a run up again. Components and settings come from the journal, so no file is needed.
    Resume {
        /// Which; the newest one of the workspace where absent.
        run: Option<RunId>,
    },
}

/// An update for the renderer of the run.
#[derive(Clone, Debug)]
pub struct RunUpdate {
    /// When the newest of it happened.
    pub at: UnixMs,
    /// What happened since the last update, oldest first. None is dropped.
    pub notices: Vec<ProgressEvent>,
    /// The current state of the run. States in between may be skipped if the renderer is slow.
    pub view: RunView,
    /// Whether one of the notices rings the terminal's bell, as the workflow asks.
    pub bell: bool,
}
