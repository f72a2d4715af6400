//! Roles and agents of a workflow file: which agent plays which role, and which keys it understands. Opens no file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::check::{AgentDefault, WorkflowChecker, join};
use super::diagnostic::suggest;
use super::sandbox;
use super::schema::{LocatedValue, PhaseSchema, RoleSchema, ServerSchema};
use super::values::{ID_RULE, is_id, is_variable_name};
use crate::ids::RoleName;
use crate::workflow::{
    AgentError, AgentKind, AgentSource, EXECUTOR, Permission, Role, RoleServer, turn_table,
};

/// How agents call Baton's own tools.
const OWN_SERVER: &str = "baton";
/// The words that an agent's text may begin with, for suggestions.
const WORDS: [&str; 5] = ["claude", "codex", "rehearsal", "acp", "process"];

impl WorkflowChecker<'_, '_> {
    /// The agent that a key names, if it names one.
    pub(super) fn agent(&mut self, place: &str, text: &LocatedValue<String>) -> Option<AgentKind> {
        match text.get().parse::<AgentKind>() {
            Ok(kind) => Some(kind.with_program(|path| join(self.base, path))),
            Err(error) => {
                let what = format!("`agent` {place} cannot be \"{}\"", text.get().escape_debug());
                let hint = match &error {
                    AgentError::Unknown { given } => {
                        let word = given.split(':').next().unwrap_or_default().trim();
                        let meant = AgentKind::meant(text.get());
                        match meant
                            .map_or_else(|| suggest(word, WORDS), |meant| format!("did you mean `{meant}`?"))
                        {
                            meant if meant.starts_with("did you mean") => {
                                format!("{meant} {}", AgentKind::CHOICES)
                            }
                            _ => AgentKind::CHOICES.to_owned(),
                        }
                    }
                    other => other.to_string(),
                };
                self.problems.at(text.span(), "agent", what, hint);
                None
            }
        }
    }

    pub(super) fn roles(
        &mut self,
        shapes: BTreeMap<String, LocatedValue<RoleSchema>>,
        default_agent: &AgentDefault,
    ) -> BTreeMap<RoleName, Role> {
        let mut roles = BTreeMap::from([(RoleName::from(EXECUTOR), default_agent.role())]);
        for (name, shape) in shapes {
            if !is_id(&name) {
                let what = format!("a role cannot be called \"{}\"", name.escape_debug());
                self.problems.at(shape.span(), "roles", what, ID_RULE);
            }
            let place = format!("in [roles.{name}]");
            let role = self.role_over(&place, default_agent.role(), shape.into_inner());
            roles.insert(RoleName::new(name), role);
        }
        roles
    }

    /// A role, with its settings over those of the role before. With another agent, settings that were meant for the first one
    /// alone are dropped.
    pub(super) fn role_over(&mut self, place: &str, before: Role, shape: RoleSchema) -> Role {
        let named = shape.agent.as_ref().map(|agent| self.agent(place, agent));
        for variable in shape.env.iter().filter(|variable| !is_variable_name(variable.get())) {
            let what = format!("`env` {place} names \"{}\"", variable.get().escape_debug());
            let hint = "give the names of variables alone, without values: env = [\"MY_TOKEN\"]";
            self.problems.at(variable.span(), "env", what, hint);
        }
        let before = match named {
            // The replacement of an invalid one is never played, since its mistake refuses the file.
            Some(None) => before,
            Some(Some(agent)) => {
                self.keys_fit(place, &agent, &shape);
                Role { set_by: AgentSource::Role, ..before.reassigned_to(&agent) }
            }
            None => {
                self.keys_fit(place, &before.agent, &shape);
                before
            }
        };
        if let Some(allow) = &shape.allow
            && let Some(wrong) = allow.get().iter().find(|pattern| !is_command_pattern(pattern))
        {
            let what = format!("`allow` {place} has the pattern \"{}\"", wrong.escape_debug());
            let hint = "begin with the name of a program, on one line: allow = [\"cargo test*\"]";
            self.problems.at(allow.span(), "allow", what, hint);
        }
        let begins = shape.max_turns.or(before.max_turns);
        if let (Some(begins), Some(ceiling)) = (begins, &shape.turn_ceiling)
            && *ceiling.get() < begins
        {
            let what = format!(
                "`turn_ceiling` {place} is {}, and a phase begins with {begins} turns",
                ceiling.get()
            );
            let hint = "make it as large as `max_turns`, or larger";
            self.problems.at(ceiling.span(), "turn_ceiling", what, hint);
        }
        let provider = self.provider(place, shape.provider.as_ref());
        let mut env = before.env;
        env.extend(
            shape
                .env
                .into_iter()
                .map(LocatedValue::into_inner)
                .filter(|name| !env.contains(name))
                .collect::<Vec<_>>(),
        );
        let mut mcp = before.mcp;
        mcp.extend(self.servers(place, shape.mcp));
        Role {
            model: shape.model.map(LocatedValue::into_inner).or(before.model),
            permission: shape.permission.map_or(before.permission, LocatedValue::into_inner),
            allow: shape.allow.map_or(before.allow, LocatedValue::into_inner),
            window_tokens: shape.window_tokens.or(before.window_tokens),
            max_turns: begins,
            turn_ceiling: shape.turn_ceiling.map(LocatedValue::into_inner).or(before.turn_ceiling),
            env,
            // A bare name is looked up on PATH, as a shell does.
            program: shape.program.map_or(before.program, |program| {
                Some(match program.get() {
                    path if path.contains('/') => join(self.base, path),
                    name => name.clone(),
                })
            }),
            script: shape.script.map_or(before.script, |script| Some(join(self.base, script.get()))),
            args: shape.args.map_or(before.args, LocatedValue::into_inner),
            pty: shape.pty.map_or(before.pty, LocatedValue::into_inner),
            prompt: shape.prompt.map_or(before.prompt, LocatedValue::into_inner),
            mcp,
            provider: provider.or(before.provider),
            sandbox: shape
                .sandbox
                .map_or(before.sandbox, |shape| sandbox::sandbox(self.problems, place, shape)),
            agent: before.agent,
            set_by: before.set_by,
        }
    }

    fn servers(
        &mut self,
        place: &str,
        shapes: BTreeMap<String, LocatedValue<ServerSchema>>,
    ) -> BTreeMap<String, RoleServer> {
        let mut servers = BTreeMap::new();
        for (name, shape) in shapes {
            if !is_id(&name) || name == OWN_SERVER {
                let what = format!("an MCP server {place} cannot be called \"{}\"", name.escape_debug());
                let hint = if name == OWN_SERVER { "that is the name of Baton's own tools" } else { ID_RULE };
                self.problems.at(shape.span(), "mcp", what, hint);
            }
            if shape.get().command.first().is_none_or(String::is_empty) {
                let what = format!("the MCP server {name} {place} has no command");
                let hint = "give program and arguments: command = [\"npx\", \"-y\", \"the-server\"]";
                self.problems.at(shape.span(), "command", what, hint);
            }
            let ServerSchema { command, env, offload } = shape.into_inner();
            servers.insert(name, RoleServer { command, env, offload: offload.unwrap_or(true) });
        }
        servers
    }

    /// A key that the role's agent cannot follow is refused: users trust a setting that is silently ignored.
    fn keys_fit(&mut self, place: &str, agent: &AgentKind, shape: &RoleSchema) {
        let is_process = matches!(agent, AgentKind::Process { .. });
        let program_hint = match agent.command() {
            Some(_) => "the agent's command names its program; remove the key",
            None => "the rehearsal is built in; remove the key",
        };
        let span = |key: &LocatedValue<String>| key.span();
        let held = shape.permission.as_ref().is_none_or(|permission| *permission.get() == Permission::Full);
        let keys: [(&str, Option<Range<usize>>, bool, &str); 9] = [
            (
                "allow",
                shape.allow.as_ref().map(LocatedValue::span),
                !is_process,
                "nothing holds a program to a list of commands; remove the key",
            ),
            (
                "mcp",
                shape.mcp.values().next().map(LocatedValue::span),
                !is_process,
                "a program takes no MCP servers; remove the key",
            ),
            (
                "script",
                shape.script.as_ref().map(span),
                *agent == AgentKind::Rehearsal,
                "only `rehearsal` plays a script; remove the key",
            ),
            (
                "program",
                shape.program.as_ref().map(span),
                matches!(agent, AgentKind::Claude | AgentKind::Codex),
                program_hint,
            ),
            (
                "model",
                shape.model.as_ref().map(span),
                !is_process,
                "a program names its model in its command, if it has one; remove the key",
            ),
            (
                "permission",
                shape.permission.as_ref().map(LocatedValue::span),
                !is_process || held,
                "nothing holds a program to a permission: write `full`, or remove the key; what it may do is up to its \
                 command and the sandbox that you run it in",
            ),
            (
                "args",
                shape.args.as_ref().map(LocatedValue::span),
                *agent != AgentKind::Rehearsal,
                "the rehearsal is built in and takes none; remove the key",
            ),
            (
                "pty",
                shape.pty.as_ref().map(LocatedValue::span),
                is_process,
                "only a `process` can have a terminal; remove the key",
            ),
            (
                "prompt",
                shape.prompt.as_ref().map(LocatedValue::span),
                is_process,
                "every other agent has its own way to get a prompt; remove the key",
            ),
        ];
        for (key, span, fits, hint) in keys {
            if let Some(span) = span.filter(|_| !fits) {
                let what = format!("`{key}` {place} has no meaning for the agent `{agent}`");
                self.problems.at(span, key, what, hint);
            }
        }
    }

    /// Every role that a phase names, for its work or for its review, is one of the file or of the table of turns; those of
    /// the table come into being here.
    pub(super) fn roles_of_phases(
        &mut self,
        phases: &[LocatedValue<PhaseSchema>],
        roles: &mut BTreeMap<RoleName, Role>,
        default_agent: &AgentDefault,
    ) {
        for phase in phases.iter().map(LocatedValue::get) {
            if let Some(role) = &phase.role {
                self.role_of_phase("role", role.get(), role.span(), roles, default_agent);
            }
            if let Some(review) = &phase.review {
                self.role_of_phase("review", review.get().role(), review.span(), roles, default_agent);
            }
        }
    }

    fn role_of_phase(
        &mut self,
        key: &str,
        role: &str,
        span: Range<usize>,
        roles: &mut BTreeMap<RoleName, Role>,
        default_agent: &AgentDefault,
    ) {
        let name = RoleName::from(role);
        if roles.contains_key(&name) {
            return;
        }
        if is_role(role, roles) {
            roles.insert(name, default_agent.role());
        } else {
            let what = format!("`{key}` names `{}`, which is no role", role.escape_debug());
            self.problems.at(span, key, what, role_hint(role, roles));
        }
    }
}

/// Whether a name is one of the file's roles, or of the table of turns.
pub(super) fn is_role(name: &str, roles: &BTreeMap<RoleName, Role>) -> bool {
    roles.contains_key(&RoleName::from(name)) || turn_table::TABLE.iter().any(|(known, _)| *known == name)
}

/// The correction for an unknown role.
pub(super) fn role_hint(name: &str, roles: &BTreeMap<RoleName, Role>) -> String {
    let known = roles.keys().map(RoleName::as_str).chain(turn_table::TABLE.iter().map(|(name, _)| *name));
    let known: BTreeSet<&str> = known.collect();
    format!("{} Or declare it: [roles.{}]", suggest(name, known), name.escape_debug())
}

/// Whether a pattern of `allow` names the program that it allows.
pub fn is_command_pattern(pattern: &str) -> bool {
    let pattern = pattern.trim();
    pattern.len() <= 1000
        && pattern.starts_with(|c: char| c.is_ascii_alphanumeric() || "./_".contains(c))
        && !pattern.contains(char::is_control)
}
