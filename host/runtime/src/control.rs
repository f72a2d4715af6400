//! What can be asked of a live host, and how other commands ask it: one JSON line there, one back. The listening side
//! is `socket`.

use std::path::Path;
use std::time::Duration;

use baton_core::input::{ArtifactRef, PauseAnswer};
use baton_core::observation::Capability;
use baton_core::view::RunView;
use baton_core::workflow::PolicyScope;
use baton_core::{ActionId, RunId};
use baton_inbox::{Call, ToolReply};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::config::HostConfig;
use crate::control_server::{MESSAGE_BYTES, REPLY_BYTES, reachable};
use crate::error::RuntimeError;
use crate::policy_swap::{self, OfflineChange, PolicyChange, PolicyUseRequest};
use crate::query;
use crate::session_token::SessionToken;

/// A host answers at once; one that does not within this hangs.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where a run stands the journal says as well.
const STATUS_PATIENCE: Duration = Duration::from_secs(3);
/// A component that is put in place is compiled first; one as large as an interpreter takes its time.
const USE_PATIENCE: Duration = Duration::from_secs(55);

/// How a call of a tool begins on the socket: such a line may be longer than the others.
pub(crate) const CALL_HEAD: &[u8] = b"{\"control\":\"call\"";

/// The same of a policy with its settings.
pub(crate) const USE_HEAD: &[u8] = b"{\"control\":\"use-policy\"";

/// What can be asked of a live host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "control", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControlMessage {
    /// Where the run stands.
    Status,
    /// End the agents, keep everything, leave.
    Stop,
    /// A person's answer to a question of a run.
    Answer {
        /// Which run; the one at work, or else the newest, where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// Which question; may be left out where only one is open.
        #[serde(default)]
        question: Option<ActionId>,
        /// What the person chose.
        choice: PauseAnswer,
        /// What the person says to the agent that goes on, with `retry`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A call of a tool: of an agent, or of a person's own client.
    Call {
        /// Which session makes it; absent for a person, who may open the socket.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pass: Option<SessionToken>,
        /// The client's own id of the call, where it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// What is asked.
        call: Box<Call>,
    },
    /// A person wants another policy in place (M3).
    UsePolicy(Box<PolicyUseRequest>),
    /// A person wants back what decided before.
    RollBackPolicy {
        /// Of which run; the one at work, or else the newest, where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// Where it was put in place.
        #[serde(default)]
        scope: PolicyScope,
        /// What it decides; everything where empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        decides: Vec<Capability>,
    },
    /// A tool result that an agent's MCP proxy holds back until it is said what becomes of it (C3).
    Offer {
        /// Of which session.
        pass: SessionToken,
        /// The tool.
        tool: String,
        /// The client's own id of the call, where it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Name of the file in the session's folder that has the text.
        file: String,
    },
}

impl ControlMessage {
    /// The word for what it changes of a run; none of what asks or reports.
    pub(crate) fn change(&self) -> Option<&'static str> {
        match self {
            ControlMessage::Stop => Some("stop"),
            ControlMessage::Answer { .. } => Some("answer"),
            ControlMessage::UsePolicy(_) => Some("use-policy"),
            ControlMessage::RollBackPolicy { .. } => Some("roll-back-policy"),
            ControlMessage::Status | ControlMessage::Call { .. } | ControlMessage::Offer { .. } => None,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum ControlReply {
    /// To `status`, and to `answer`: where the run stands.
    View {
        /// The run.
        view: Box<RunView>,
        /// Whether a host works on it now.
        live: bool,
    },
    /// To `status`, where the host did not answer: where the run stands by its journal. No host sends this.
    Silent {
        /// The run.
        view: Box<RunView>,
        /// What came instead of an answer.
        why: String,
    },
    /// To `stop`: the host has heard, and is ending its agents.
    Stopping,
    /// To `use-policy` and `roll-back-policy`: who decides from now on.
    Changed(PolicyChange),
    /// To `use-policy`: the component or its settings are refused, and nothing has changed.
    PolicyRefused {
        /// Which, as it was named.
        policy: String,
        /// Why.
        why: String,
    },
    /// To `call`.
    Called(ToolReply),
    /// To `offer`: the result is kept as this artifact.
    Placed {
        /// Which.
        artifact: ArtifactRef,
    },
    /// To `offer`: the result stays as it is.
    Stays,
    /// The host does not do that.
    Refused {
        /// Why, and what to do.
        why: String,
    },
    /// The host was leaving when this came: nothing was done. Another may follow it.
    Ending,
}

/// Asks the host that holds the workspace. Where there is none, `Status` reads the journal, `Answer` writes to it (then
/// `resume` goes on with the answer), and `Stop` is an error.
///
/// # Errors
/// [`RuntimeError::NoHost`], [`RuntimeError::Refused`], and those of reading and writing the journal.
pub async fn control(config: &HostConfig, message: ControlMessage) -> Result<ControlReply, RuntimeError> {
    let state = query::find_state(config)?;
    if let Some(stream) = connect(&state.control_socket()).await? {
        match (ask(stream, &state.control_socket(), &message).await, &message) {
            // It is leaving, or has just begun: its journal says where the run stands.
            (Err(RuntimeError::Refused(_)), ControlMessage::Status) => {
                let view = Box::new(query::view_of(config, None)?);
                return Ok(ControlReply::View { view, live: true });
            }
            (Err(error), ControlMessage::Status) if is_silent(&error) => {
                let view = Box::new(query::view_of(config, None)?);
                return Ok(ControlReply::Silent { view, why: error.to_string() });
            }
            (answer, _) => return answer,
        }
    }
    match message {
        ControlMessage::Call { .. } | ControlMessage::Offer { .. } => {
            Err(RuntimeError::NoHost { workspace: config.workspace.clone(), what: "report to" })
        }
        ControlMessage::Status => {
            let view = Box::new(query::view_of(config, None)?);
            Ok(ControlReply::View { view, live: false })
        }
        ControlMessage::Stop => {
            Err(RuntimeError::NoHost { workspace: config.workspace.clone(), what: "stop" })
        }
        ControlMessage::UsePolicy(wanted) => policy_swap::offline(config, OfflineChange::Use(*wanted)).await,
        ControlMessage::RollBackPolicy { run, scope, decides } => {
            policy_swap::offline(config, OfflineChange::RollBack { run, scope, decides }).await
        }
        ControlMessage::Answer { run, question, choice, message } => {
            let view = Box::new(crate::offline_answer::answer(config, run, question, choice, message).await?);
            Ok(ControlReply::View { view, live: false })
        }
    }
}

/// The run that a host of this workspace works on now. A host that listens and does not answer may work on any.
pub(crate) async fn at_work(socket: &Path) -> HostStatus {
    let Ok(Some(stream)) = connect(socket).await else { return HostStatus::Nobody };
    match ask(stream, socket, &ControlMessage::Status).await {
        Ok(ControlReply::View { view, .. }) => HostStatus::On(view.run),
        _ => HostStatus::Unsaid,
    }
}

/// What is known of the host of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostStatus {
    /// There is none.
    Nobody,
    /// It works on this run.
    On(RunId),
    /// There is one, and it does not say on what: it is leaving, or hangs.
    Unsaid,
}

/// Connects, or finds that nobody listens: no socket, or one that a killed host left behind.
pub(crate) async fn connect(path: &Path) -> Result<Option<UnixStream>, RuntimeError> {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    let failed = |source| RuntimeError::Control { what: "cannot reach", path: path.to_owned(), source };
    let door = reachable(path).map_err(failed)?;
    match UnixStream::connect(door.path()).await {
        Ok(stream) => Ok(Some(stream)),
        Err(error) if matches!(error.kind(), NotFound | ConnectionRefused) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

async fn ask(
    mut stream: UnixStream,
    path: &Path,
    message: &ControlMessage,
) -> Result<ControlReply, RuntimeError> {
    let failed = |what| move |source| RuntimeError::Control { what, path: path.to_owned(), source };
    let asked = async {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        debug_assert!(line.len() <= MESSAGE_BYTES || line.starts_with(USE_HEAD));
        exchange(&mut stream, &line).await
    };
    let patience = match message {
        ControlMessage::UsePolicy(_) => USE_PATIENCE,
        ControlMessage::Status => STATUS_PATIENCE,
        _ => PATIENCE,
    };
    match tokio::time::timeout(patience, asked).await {
        Ok(Ok(ControlReply::Refused { why })) => Err(RuntimeError::Refused(why)),
        Ok(Ok(ControlReply::Ending)) => Err(RuntimeError::Refused("it is ending; try again".to_owned())),
        Ok(reply) => reply.map_err(failed("no answer from")),
        Err(_) => Err(failed("no answer in time from")(std::io::ErrorKind::TimedOut.into())),
    }
}

/// Whether a host that listens gave no answer: it is stopped, or hangs.
fn is_silent(error: &RuntimeError) -> bool {
    matches!(error, RuntimeError::Control { source, .. } if source.kind() == std::io::ErrorKind::TimedOut)
}

/// One line there, one back.
pub(crate) async fn exchange(stream: &mut UnixStream, line: &[u8]) -> std::io::Result<ControlReply> {
    stream.write_all(line).await?;
    stream.shutdown().await?;
    let mut reply = Vec::new();
    stream.take(REPLY_BYTES).read_to_end(&mut reply).await?;
    if reply.is_empty() {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&reply)?)
}
