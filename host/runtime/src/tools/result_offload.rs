//! Tool results that are kept out of a context (C3): the host's side, and `baton mcp proxy`, which proxies any MCP server. The
//! policy decides which results are replaced; this module holds, stores and reads them.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use baton_agents::McpServer;
use baton_core::input::ArtifactRef;
use baton_core::observation::{ContextItem, ContextItemKind};
use baton_core::run::{standalone_offload_query, wants_offload};
use baton_core::workflow::paths::ReservedNames;
use baton_core::workflow::{PolicyScope, RoleServer};
use baton_core::{RunId, SessionId, Workflow};
use baton_inbox::{ArtifactLoad, LargeResult, ResultReference, ResultStore, ToolCall, ToolReply};
use baton_sandbox::found_on;
use baton_store::{ARTIFACT_BYTES_MAX, ArtifactStore, NewArtifact, StateDir, StoreError, preview, tokens};
use baton_workspace::Workspace;
use rustix::fs::OFlags;

use crate::clock;
use crate::config::{HostConfig, PolicyBundle};
use crate::control::client::{connect, exchange};
use crate::control::message::{ControlMessage, ControlReply};
use crate::error::RuntimeError;
use crate::policies::{self, DecideFn, RunArtifacts};
use crate::tools::artifact_tools::ArtifactSaveResult;
use crate::tools::artifact_tools::ArtifactTools;
use crate::tools::session_token::SessionFile;
use crate::worktree_paths::trees_of;

/// Folder of artifact names for replaced results.
pub(crate) const TOOL_RESULTS: &str = "tool-results";
/// Files of this name in a session's folder carry results from the proxy to the host.
const OFFERED: &str = "offered-";
/// The run that results of a client without a session are kept under.
const NO_RUN: &str = "mcp-proxy";
/// The host asks a policy, and the disk; an agent waits for its result meanwhile.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);
/// Characters of a tool's name in the name of an artifact.
const TOOL_CHARS: usize = 60;

/// A tool result that its proxy holds back. Its file goes with it.
#[derive(Debug)]
pub(crate) struct PendingToolResult {
    pub(crate) session: SessionId,
    tool: String,
    call: Option<String>,
    path: PathBuf,
}

impl PendingToolResult {
    /// The file must be one that a proxy wrote into the folder of its session.
    pub(crate) fn new(
        folder: PathBuf,
        session: SessionId,
        tool: String,
        call: Option<String>,
        file: &str,
    ) -> Result<Self, String> {
        let plain = file.strip_prefix(OFFERED).is_some_and(|rest| {
            !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        });
        match plain {
            true => Ok(Self { session, tool, call, path: folder.join(file) }),
            false => Err(format!("{file:?} is not an offered result")),
        }
    }

    /// The id of the result in core: two existing files never share a path.
    pub(crate) fn id(&self) -> String {
        let file = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        format!("{} {file}", self.session)
    }

    /// Blocking. What cannot be read is small, and stays with the proxy.
    pub(crate) fn tokens(&self) -> u64 {
        self.read().map_or(0, |bytes| tokens(&bytes).0)
    }

    /// A sandboxed proxy writes into a folder that others in the sandbox can write: only plain files are read as results, and
    /// no link or pipe is followed.
    fn read(&self) -> io::Result<Vec<u8>> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        let flags = i32::try_from(flags).map_err(io::Error::other)?;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&self.path)?;
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut bytes = Vec::new();
        file.take(ARTIFACT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Keeps it as an artifact. Blocking.
    pub(crate) fn save(&self, artifact_tools: &ArtifactTools) -> ArtifactSaveResult {
        let result = match self.read() {
            Ok(bytes) => {
                let from = (Some(self.session.clone()), self.call.as_deref());
                save_result(&artifact_tools.artifacts, &artifact_tools.run, &self.tool, from, &bytes)
                    .map_err(|error| error.to_string())
            }
            Err(error) => Err(format!("the result cannot be read: {error}")),
        };
        ArtifactSaveResult { session: Some(self.session.clone()), key: None, result, says: None }
    }
}

impl Drop for PendingToolResult {
    fn drop(&mut self) {
        // The proxy removes the file as well; either may be first.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Saves a result under the next free name of its tool.
fn save_result(
    store: &ArtifactStore,
    run: &RunId,
    tool: &str,
    (session, tool_call): (Option<SessionId>, Option<&str>),
    bytes: &[u8],
) -> Result<ArtifactRef, StoreError> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let tool: String = tool.chars().take(TOOL_CHARS).map(plain).collect();
    let prefix = format!("{TOOL_RESULTS}/{tool}-");
    let taken = store.list(run)?;
    let numbers =
        taken.iter().filter_map(|saved| saved.artifact.name.strip_prefix(&prefix)?.parse::<u64>().ok());
    let name = format!("{prefix}{}", numbers.max().unwrap_or(0) + 1);
    let summary = format!("a result of {tool}, kept out of the context");
    store.save(
        run,
        NewArtifact {
            name: &name,
            media_type: "",
            bytes,
            summary: &summary,
            session,
            tool_call,
            at: clock::wall(),
        },
    )
}

/// A server of a role, as its agent starts it: behind the proxy, if its large results may be kept out of the context. `door` is
/// the file of the session; without one the proxy could not ask the host.
pub(crate) fn server(
    name: &str,
    server: &RoleServer,
    own_exe: &Path,
    door: Option<&String>,
    path: Option<&OsStr>,
) -> McpServer {
    let (program, rest) =
        server.command.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let (command, args) = match door.filter(|_| server.offload) {
        Some(door) => {
            let own = ["mcp", "proxy", "--session", door.as_str(), "--"].map(str::to_owned);
            (own_exe.to_owned(), own.into_iter().chain(server.command.iter().cloned()).collect())
        }
        // Agents are given a path.
        None => (found_on(path, program).unwrap_or_else(|| PathBuf::from(program)), rest.to_vec()),
    };
    McpServer { name: name.to_owned(), command, args, env: server.env.clone() }
}

/// For whom results are kept out of a context.
#[derive(Clone, Debug)]
pub enum ProxyClient {
    /// The agent of one session, by the file that its host wrote for it: its policy decides.
    Session(PathBuf),
    /// The user's own client: the built-in policy decides, and results are kept in the store of this workspace.
    Person(HostConfig),
}

/// Runs an MCP server and proxies it until the client hangs up.
///
/// # Errors
/// [`RuntimeError::Session`] if the session's file cannot be read, [`RuntimeError::Mcp`] if the server cannot be run or a side
/// breaks off, and those of opening the store.
pub async fn mcp_proxy(client: ProxyClient, command: &str, args: &[String]) -> Result<(), RuntimeError> {
    let served = match client {
        ProxyClient::Session(path) => {
            let door = SessionFile::read(&path)
                .map_err(|source| RuntimeError::Session { path: path.clone(), source })?;
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            baton_inbox::proxy_stdio(
                SessionResultStore { door, folder, count: AtomicU64::new(0) },
                command,
                args,
            )
            .await
        }
        ProxyClient::Person(config) => {
            baton_inbox::proxy_stdio(LocalResultStore::open(&config)?, command, args).await
        }
    };
    served.map_err(|error| RuntimeError::Mcp(error.into()))
}

/// Asks the host of a session.
struct SessionResultStore {
    door: SessionFile,
    folder: PathBuf,
    count: AtomicU64,
}

impl SessionResultStore {
    async fn ask(&self, message: &ControlMessage) -> Option<ControlReply> {
        let mut line = serde_json::to_vec(message).ok()?;
        line.push(b'\n');
        let asked = async {
            let mut stream = connect(&self.door.socket).await.ok()??;
            exchange(&mut stream, &line).await.ok()
        };
        tokio::time::timeout(REPLY_TIMEOUT, asked).await.ok()?
    }
}

/// Removes a file when it goes.
struct OfferedFileGuard(PathBuf);

impl Drop for OfferedFileGuard {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl ResultStore for SessionResultStore {
    async fn place(&self, offer: LargeResult) -> Option<ResultReference> {
        let file = format!("{OFFERED}{}-{}", std::process::id(), self.count.fetch_add(1, Ordering::Relaxed));
        let offered = OfferedFileGuard(self.folder.join(&file));
        let mut options = OpenOptions::new();
        let mut written = options.create_new(true).write(true).mode(0o600).open(&offered.0).ok()?;
        written.write_all(offer.text.as_bytes()).ok()?;
        let LargeResult { tool, call, text } = offer;
        let message = ControlMessage::Offer { token: self.door.token.clone(), tool, call, file };
        // Without a host, and after any other error, the agent gets its result unchanged.
        match self.ask(&message).await {
            Some(ControlReply::Placed { artifact }) => {
                Some(reference(artifact.name, artifact.version, &text))
            }
            _ => None,
        }
    }

    async fn load(&self, load: ArtifactLoad) -> ToolReply {
        let call = Box::new(ToolCall::ArtifactLoad(load));
        match self.ask(&ControlMessage::Call { token: Some(self.door.token.clone()), key: None, call }).await
        {
            Some(ControlReply::Called(answer)) => answer,
            Some(ControlReply::Refused { why }) => ToolReply::refused(why),
            _ => ToolReply::refused("not read: no host works on this run just now; try again in a moment"),
        }
    }
}

fn reference(name: String, version: u32, text: &str) -> ResultReference {
    let (count, by) = tokens(text.as_bytes());
    let bytes = text.len() as u64;
    ResultReference {
        name,
        version,
        bytes,
        tokens: count,
        tokens_by: by.to_owned(),
        preview: preview(text.as_bytes()),
    }
}

/// Decides and keeps by itself.
struct LocalResultStore {
    artifact_tools: ArtifactTools,
    judge: DecideFn,
}

impl LocalResultStore {
    fn open(config: &HostConfig) -> Result<Self, RuntimeError> {
        let failed = |source: StoreError| RuntimeError::State {
            what: "cannot keep results",
            dir: config.state_root.clone(),
            source: source.into(),
        };
        let state = StateDir::open(&config.state_root, &config.workspace).map_err(failed)?;
        let artifacts = ArtifactStore::open(&state).map_err(failed)?;
        let nobody = RunArtifacts::default();
        let prepared =
            policies::prepare(state.aot_cache(), nobody, &Workflow::default(), &PolicyBundle::default())?;
        let workspace = Workspace::open(&config.workspace).map_err(|error| RuntimeError::Workspace {
            workspace: config.workspace.clone(),
            source: error.into(),
        })?;
        let run = RunId::new(NO_RUN);
        Ok(Self {
            artifact_tools: ArtifactTools {
                trees: trees_of(&state, &workspace, &run),
                run,
                artifacts,
                claims: ReservedNames::default(),
                hidden: Vec::new(),
            },
            judge: prepared.policies.decide_fn(),
        })
    }
}

impl ResultStore for LocalResultStore {
    async fn place(&self, offer: LargeResult) -> Option<ResultReference> {
        let (artifact_tools, judge) = (self.artifact_tools.clone(), self.judge.clone());
        let placed = tokio::task::spawn_blocking(move || {
            let LargeResult { tool, call, text } = offer;
            let size = tokens(text.as_bytes()).0;
            let item =
                ContextItem { id: "result".to_owned(), kind: ContextItemKind::ToolResult, tokens: size };
            let (answer, _) = judge(&PolicyScope::Run, &standalone_offload_query(item.clone()));
            if text.len() as u64 > ARTIFACT_BYTES_MAX || !wants_offload(&item, &answer) {
                return None;
            }
            let from = (None, call.as_deref());
            let kept =
                save_result(&artifact_tools.artifacts, &artifact_tools.run, &tool, from, text.as_bytes())
                    .ok()?;
            Some(reference(kept.name, kept.version, &text))
        });
        placed.await.ok()?
    }

    async fn load(&self, load: ArtifactLoad) -> ToolReply {
        let artifact_tools = self.artifact_tools.clone();
        let read = tokio::task::spawn_blocking(move || artifact_tools.load(&load));
        read.await.unwrap_or_else(|_| ToolReply::refused("not read: this is a fault of baton"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_proxy_are_taken() {
        let held = |file: &str| {
            PendingToolResult::new("/folder".into(), SessionId::new("s1"), "t".into(), None, file)
        };
        assert!(held("offered-17-0").is_ok());
        for bad in ["door.json", "offered-", "offered-../../x", "../offered-1", "offered-1/2", ""] {
            assert!(held(bad).is_err(), "{bad}");
        }
    }
}
