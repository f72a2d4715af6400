//! Who works on a phase: which agent, what it may do, and what it is given. Starts no process.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgentKind, PhaseSpec, Sandbox, Workflow};
use crate::serde_defaults::is_default;

/// The source of a role's agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentSource {
    /// Nothing does: it is the default.
    #[default]
    Nowhere,
    /// The role itself.
    Role,
    /// The workflow, for every role that says nothing.
    Workflow,
    /// `--agent`.
    CommandLine,
    /// The recording that the run was made from.
    Recording,
    /// No file names one: it was found on this machine.
    Found,
}

/// What an agent may do without asking. Never silently everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Permission {
    /// Read the workspace.
    ReadOnly,
    /// Read and edit files in the workspace; the default.
    #[default]
    Edit,
    /// Anything the agent's own sandbox allows, commands included.
    Full,
}

/// Who works on a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Role {
    /// Which agent.
    pub agent: AgentKind,
    /// Which model; the agent's default where absent.
    pub model: Option<String>,
    /// What it may do without asking.
    pub permission: Permission,
    /// Commands that it may run without asking, beside what its permission allows; `*` stands for words without a meaning to a shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Size of its context window, where the agent does not say.
    pub window_tokens: Option<u64>,
    /// Turns for a phase; the table's value where absent (A1).
    pub max_turns: Option<u32>,
    /// Turns that a phase gets at most; ten times what it begins with, for each objective, where absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turn_ceiling: Option<u32>,
    /// Names of further environment variables that the agent inherits.
    pub env: Vec<String>,
    /// The executable, where it is not the agent's own name on `PATH`: a path, or another name to look up there.
    pub program: Option<String>,
    /// Path of the rehearsal's script, absolute after reading the file.
    pub script: Option<String>,
    /// Further arguments, after those that Baton gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Whether a `process` gets a terminal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pty: bool,
    /// How a `process` gets its prompt.
    #[serde(default, skip_serializing_if = "PromptDelivery::is_default")]
    pub prompt: PromptDelivery,
    /// MCP servers that the agent gets beside Baton's tools, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp: BTreeMap<String, RoleServer>,
    /// What says that it is this agent, so that an error can name the place.
    #[serde(default, skip_serializing_if = "is_default")]
    pub set_by: AgentSource,
    /// Whose quota it uses; the kind of the agent where absent. Agents of one provider wait for its limits together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// How it is confined, whichever agent plays it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sandbox: Sandbox,
}

/// An MCP server of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleServer {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Variables that it gets beside the agent's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Whether large results of its tools may be kept out of the context (C3).
    pub offload: bool,
}

impl Role {
    /// A role of an agent with only defaults.
    pub fn of(agent: AgentKind) -> Self {
        Self {
            agent,
            model: None,
            permission: Permission::default(),
            allow: Vec::new(),
            window_tokens: None,
            max_turns: None,
            turn_ceiling: None,
            env: Vec::new(),
            program: None,
            script: None,
            args: Vec::new(),
            pty: false,
            prompt: PromptDelivery::default(),
            mcp: BTreeMap::new(),
            set_by: AgentSource::default(),
            provider: None,
            sandbox: Sandbox::default(),
        }
    }

    /// Whose quota it uses.
    pub fn provider(&self) -> &str {
        self.provider.as_deref().unwrap_or(self.agent.name())
    }

    /// The same role, played by another agent. Settings that were meant for the first agent alone are dropped: its model,
    /// window, program, arguments, script and terminal. Permissions, servers, confinement and duration stay.
    #[must_use]
    pub fn reassigned_to(self, agent: &AgentKind) -> Self {
        if self.agent == *agent {
            return self;
        }
        let Self { permission, allow, max_turns, turn_ceiling, env, mcp, sandbox, .. } = self;
        Self { permission, allow, max_turns, turn_ceiling, env, mcp, sandbox, ..Self::of(agent.clone()) }
    }

    /// Whether it may do no more than another role: with its tools, with commands, and out of its sandbox.
    pub fn is_within(&self, other: &Role) -> bool {
        let allows = self.allow.iter().all(|pattern| other.allow.contains(pattern));
        let is_confined = || match self.sandbox.clone().held_to(&other.sandbox, "", Some(&self.agent)) {
            Ok(held) => held.level == self.sandbox.level && held.hide == self.sandbox.hide,
            Err(_) => false,
        };
        self.permission <= other.permission
            && (allows || other.permission == Permission::Full)
            && (!other.sandbox.is_on() || is_confined())
    }
}

impl Workflow {
    /// The roles that a phase may be handed to, in the order of their names: those whose agent has no more permissions than the
    /// current one.
    pub fn other_roles(&self, phase: &PhaseSpec) -> impl Iterator<Item = &str> {
        let (now, own) = (self.role_of(phase).into_owned(), phase.role.clone());
        let others = self.roles.iter().filter(move |(name, role)| **name != own && role.is_within(&now));
        others.map(|(name, _)| name.as_str())
    }
}

/// How a `process` agent gets its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptDelivery {
    /// On its standard input, which ends with the prompt; the default.
    #[default]
    Stdin,
    /// As its last argument.
    Argument,
}

impl PromptDelivery {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::SandboxLevel;

    #[test]
    fn a_phase_may_be_handed_to_roles_that_may_do_no_more() {
        // N6
        let of = |permission, allow: &[&str], level| Role {
            permission,
            allow: allow.iter().map(|pattern| (*pattern).to_owned()).collect(),
            sandbox: Sandbox::of(level),
            ..Role::of(AgentKind::Claude)
        };
        use SandboxLevel::{Off, Strict, Write};
        let now = of(Permission::Edit, &["cargo test*"], Write);
        for (other, is_within) in [
            (of(Permission::Edit, &["cargo test*"], Write), true),
            (of(Permission::ReadOnly, &[], Strict), true),
            (of(Permission::Full, &[], Strict), false),
            (of(Permission::Edit, &["cargo *"], Write), false),
            (of(Permission::Edit, &[], Off), false),
        ] {
            assert_eq!(other.is_within(&now), is_within, "{other:?}");
        }
        let mut wide = of(Permission::Edit, &[], Strict);
        wide.sandbox.write = Some(vec!["~/notes".to_owned()]);
        assert!(!wide.is_within(&now), "it may write where the other may not");
        assert!(wide.is_within(&of(Permission::Edit, &[], Off)), "what is not confined may do all of that");
    }
}
