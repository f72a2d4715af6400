//! Opens a session, or resumes an earlier one: handshake, login if a key is enough, choice of mode and model. Sends no prompt.

use std::path::PathBuf;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AuthMethod, AuthenticateRequest, EnvVariable, ErrorCode, Implementation, InitializeRequest,
    LoadSessionRequest, McpServer as AcpMcpServer, McpServerStdio, NewSessionRequest, NewSessionResponse,
    ResumeSessionRequest, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOptions, SessionId as AcpSession, SetSessionConfigOptionRequest,
    SetSessionModeRequest,
};
use agent_client_protocol::{Agent, Error};
use baton_core::workflow::Permission;

use crate::command_allowlist::CommandAllowlist;
use crate::launch::{AgentLaunch, McpServer};

/// Modes in which an agent reads and changes nothing, by the names that agents give them, best first.
const READ_ONLY: &[&str] = &["plan", "read-only"];

/// Modes in which it also edits files of the workspace.
const EDIT: &[&str] = &["acceptEdits", "autoEdit", "auto_edit", "workspace-write"];

/// Modes without restrictions.
const FULL: &[&str] = &["bypassPermissions", "yolo", "agent-full-access", "full-access"];

/// Means "edit" if `full-access` is offered as well; otherwise its meaning differs between agents.
const AUTO: &str = "auto";

/// What a session is opened with.
#[derive(Clone, Debug)]
pub(super) struct AcpSessionOptions {
    pub(super) workspace: PathBuf,
    pub(super) permission: Permission,
    pub(super) commands: CommandAllowlist,
    /// Name of the server of Baton's own tools.
    pub(super) own_server: Option<String>,
    model: Option<String>,
    mcp_servers: Vec<AcpMcpServer>,
    /// The agent's id of the session that is continued.
    conversation: Option<String>,
}

impl AcpSessionOptions {
    pub(super) fn of(launch: &AgentLaunch) -> Self {
        Self {
            workspace: launch.workspace.clone(),
            permission: launch.role.permission,
            commands: launch.commands(),
            model: launch.role.model.clone(),
            mcp_servers: launch.servers().map(mcp_server).collect(),
            conversation: launch.spec.conversation.clone(),
            own_server: launch.tools.as_ref().map(|tools| tools.command.name.clone()),
        }
    }
}

fn mcp_server(server: &McpServer) -> AcpMcpServer {
    let env = server.env.iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
    let stdio = McpServerStdio::new(&server.name, &server.command).args(server.args.clone()).env(env);
    AcpMcpServer::Stdio(stdio)
}

/// A session that takes prompts.
#[derive(Debug)]
pub(super) struct OpenedAcpSession {
    pub(super) session: AcpSession,
    /// It can be closed before its process is ended.
    pub(super) closes: bool,
}

/// Opens one. The inner error says why the agent cannot be worked with as its role wants it.
pub(super) async fn open(
    agent: &ConnectionTo<Agent>,
    opening: &AcpSessionOptions,
) -> Result<Result<OpenedAcpSession, String>, Error> {
    // No file system and no terminal is offered: an agent uses its own, in the sandbox that it has.
    let own = Implementation::new("baton", env!("CARGO_PKG_VERSION"));
    let hello = InitializeRequest::new(ProtocolVersion::V1).client_info(own);
    let hello = agent.send_request(hello).block_task().await?;
    let can = &hello.agent_capabilities;
    let closes = can.session_capabilities.close.is_some();
    let way = match &opening.conversation {
        None => SessionOpenMethod::New,
        // `resume`, if supported, does not repeat the earlier messages.
        Some(conversation) if can.session_capabilities.resume.is_some() => {
            SessionOpenMethod::Resume(conversation)
        }
        Some(conversation) if can.load_session => SessionOpenMethod::Load(conversation),
        Some(_) => return Ok(Err("the agent takes up no session of before".to_owned())),
    };
    let new = match request_session(agent, opening, way).await {
        Err(error) if error.code == ErrorCode::AuthRequired => {
            log_in(agent, &hello.auth_methods).await?;
            request_session(agent, opening, way).await?
        }
        answered => answered?,
    };
    let session = new.session_id.clone();
    if let Err(refused) = choose_mode(agent, opening.permission, &new).await {
        return Ok(Err(refused));
    }
    if let Some(model) = &opening.model
        && let Err(refused) = choose_model(agent, model, &new).await
    {
        return Ok(Err(refused));
    }
    Ok(Ok(OpenedAcpSession { session, closes }))
}

/// How a session begins.
#[derive(Clone, Copy, Debug)]
enum SessionOpenMethod<'a> {
    New,
    Resume(&'a str),
    Load(&'a str),
}

/// Requests a session; the answer for a resumed one is converted to that of a new one.
async fn request_session(
    agent: &ConnectionTo<Agent>,
    opening: &AcpSessionOptions,
    way: SessionOpenMethod<'_>,
) -> Result<NewSessionResponse, Error> {
    let (workspace, servers) = (&opening.workspace, opening.mcp_servers.clone());
    match way {
        SessionOpenMethod::New => {
            let request = NewSessionRequest::new(workspace).mcp_servers(servers);
            agent.send_request(request).block_task().await
        }
        SessionOpenMethod::Resume(session) => {
            let request = ResumeSessionRequest::new(session.to_owned(), workspace).mcp_servers(servers);
            let told = agent.send_request(request).block_task().await?;
            Ok(NewSessionResponse::new(session.to_owned())
                .modes(told.modes)
                .config_options(told.config_options))
        }
        SessionOpenMethod::Load(session) => {
            let request = LoadSessionRequest::new(session.to_owned(), workspace).mcp_servers(servers);
            let told = agent.send_request(request).block_task().await?;
            Ok(NewSessionResponse::new(session.to_owned())
                .modes(told.modes)
                .config_options(told.config_options))
        }
    }
}

/// Logs in with a key from the environment, the only way without a user. The agent's own error describes the others.
async fn log_in(agent: &ConnectionTo<Agent>, methods: &[AuthMethod]) -> Result<(), Error> {
    let with_key = |method: &&AuthMethod| method.id().0.replace('_', "-").contains("api-key");
    let mut last = Error::auth_required();
    for method in methods.iter().filter(with_key) {
        match agent.send_request(AuthenticateRequest::new(method.id().clone())).block_task().await {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The modes that an agent offers, in the older way or the newer.
#[derive(Debug, PartialEq, Eq)]
struct SessionModes {
    /// The option that holds them, in the newer way.
    option: Option<String>,
    current: String,
    offered: Vec<String>,
}

fn modes(new: &NewSessionResponse) -> Option<SessionModes> {
    if let Some(modes) = &new.modes {
        let offered = modes.available_modes.iter().map(|mode| mode.id.0.to_string()).collect();
        return Some(SessionModes { option: None, current: modes.current_mode_id.0.to_string(), offered });
    }
    let option = option(new, &SessionConfigOptionCategory::Mode)?;
    let SessionConfigKind::Select(select) = &option.kind else { return None };
    let of = |options: &[agent_client_protocol::v1::schema::SessionConfigSelectOption]| {
        options.iter().map(|option| option.value.0.to_string()).collect::<Vec<_>>()
    };
    let offered = match &select.options {
        SessionConfigSelectOptions::Ungrouped(options) => of(options),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| of(&group.options)).collect()
        }
        _ => Vec::new(),
    };
    Some(SessionModes {
        option: Some(option.id.0.to_string()),
        current: select.current_value.0.to_string(),
        offered,
    })
}

fn option<'a>(
    new: &'a NewSessionResponse,
    category: &SessionConfigOptionCategory,
) -> Option<&'a SessionConfigOption> {
    new.config_options.iter().flatten().find(|option| option.category.as_ref() == Some(category))
}

/// The mode for a permission, if the agent offers one.
fn mode_for(permission: Permission, offered: &[String]) -> Option<&str> {
    let is_offered = |name: &&&str| offered.iter().any(|offered| offered == **name);
    let wanted = match permission {
        Permission::ReadOnly => READ_ONLY,
        Permission::Edit => EDIT,
        Permission::Full => FULL,
    };
    let found = wanted.iter().find(is_offered).copied();
    let auto_is_edit =
        permission == Permission::Edit && [AUTO, "full-access"].iter().all(|name| is_offered(&name));
    found.or(auto_is_edit.then_some(AUTO))
}

/// Chooses the mode for the permission. Without such a mode, the agent asks before each action, and is answered from the role;
/// an agent in a mode in which it does not ask is refused.
async fn choose_mode(
    agent: &ConnectionTo<Agent>,
    permission: Permission,
    new: &NewSessionResponse,
) -> Result<(), String> {
    let Some(modes) = modes(new) else { return Ok(()) };
    let mut refused = String::new();
    match mode_for(permission, &modes.offered) {
        Some(mode) if mode == modes.current => return Ok(()),
        Some(mode) => {
            let session = new.session_id.clone();
            let set = match modes.option {
                None => {
                    let mode = mode.to_owned();
                    agent.send_request(SetSessionModeRequest::new(session, mode)).block_task().await.err()
                }
                Some(option) => {
                    let set = SetSessionConfigOptionRequest::new(session, option, mode);
                    agent.send_request(set).block_task().await.err()
                }
            };
            let Some(error) = set else { return Ok(()) };
            refused = format!(" ({mode} was refused: {error})");
        }
        None => {}
    }
    if permission != Permission::Full && FULL.contains(&modes.current.as_str()) {
        return Err(format!(
            "the agent works in the mode {}, in which it asks for nothing, and offers none for the role's permission\
             {refused}: it offers {}. Set another mode as the agent's default, or `permission = \"full\"`",
            modes.current,
            modes.offered.join(", ")
        ));
    }
    Ok(())
}

/// Takes the model that the role names.
async fn choose_model(
    agent: &ConnectionTo<Agent>,
    model: &str,
    new: &NewSessionResponse,
) -> Result<(), String> {
    let Some(option) = option(new, &SessionConfigOptionCategory::Model) else {
        return Err(format!(
            "the agent does not allow a choice of model, and the role sets {model}: remove `model`, and name it in the \
             agent's own settings"
        ));
    };
    let set = SetSessionConfigOptionRequest::new(new.session_id.clone(), option.id.clone(), model);
    match agent.send_request(set).block_task().await {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the agent did not take the model {model}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(permission: Permission, offered: &[&str]) -> Option<String> {
        let offered: Vec<String> = offered.iter().map(|name| (*name).to_owned()).collect();
        mode_for(permission, &offered).map(str::to_owned)
    }

    #[test]
    fn a_mode_allows_what_the_role_allows_and_never_more() {
        let claude = ["default", "acceptEdits", "plan", "auto", "bypassPermissions"];
        let codex = ["read-only", "workspace-write", "agent", "agent-full-access"];
        let old_codex = ["read-only", "auto", "full-access"];
        let gemini = ["default", "autoEdit", "yolo", "plan"];
        let by_permission = |offered: &[&str]| {
            [Permission::ReadOnly, Permission::Edit, Permission::Full]
                .map(|permission| fits(permission, offered).unwrap_or_default())
        };
        assert_eq!(by_permission(&claude), ["plan", "acceptEdits", "bypassPermissions"]);
        assert_eq!(by_permission(&codex), ["read-only", "workspace-write", "agent-full-access"]);
        assert_eq!(by_permission(&old_codex), ["read-only", "auto", "full-access"]);
        assert_eq!(by_permission(&gemini), ["plan", "autoEdit", "yolo"]);
        // An unknown mode is not changed.
        assert_eq!(by_permission(&["auto", "build"]), ["", "", ""]);
    }
}
