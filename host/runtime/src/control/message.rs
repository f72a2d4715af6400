//! What can be asked of a live host, and its replies: one JSON line there, one back.

use baton_core::input::{ArtifactRef, ChangeRequester, PauseAnswer};
use baton_core::observation::Capability;
use baton_core::view::RunView;
use baton_core::workflow::PolicyScope;
use baton_core::{ActionId, RunId};
use baton_inbox::{ToolCall, ToolReply};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::requester::AgentRequester;
use crate::policies::policy_swap::{PolicyChange, PolicyUseRequest};
use crate::tools::session_token::SessionToken;

/// A message of the user is a word and perhaps a number.
pub(crate) const MESSAGE_BYTES: usize = 4096;
/// A call of a tool carries texts, the longest of them an artifact of 256 KiB, which JSON may make six times as long.
pub(crate) const CALL_BYTES: usize = 2 << 20;
/// A view of a run with hundreds of phases stays far below this.
pub(crate) const REPLY_BYTES: u64 = 16 << 20;
/// How a call of a tool begins on the socket: such a line may be longer than the others.
pub(crate) const CALL_HEAD: &[u8] = b"{\"control\":\"call\"";

/// The same of a policy with its settings.
pub(crate) const USE_HEAD: &[u8] = b"{\"control\":\"use-policy\"";

/// What can be asked of a live host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "control", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ControlMessage {
    /// Ask for the state of the run.
    Status,
    /// End the agents, keep everything, leave.
    Stop,
    /// The user's answer to a question of a run.
    Answer {
        /// Which run; the one at work, or else the newest, where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// Which question; may be left out where only one is open.
        #[serde(default)]
        question: Option<ActionId>,
        /// What the person chose.
        choice: PauseAnswer,
        /// The user's message to the agent that continues, with `retry`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A tool call of an agent or of the user's own client.
    Call {
        /// The token of the calling session; absent for the user, who may open the socket.
        #[serde(default, skip_serializing_if = "Option::is_none", rename = "pass")]
        token: Option<SessionToken>,
        /// The client's own id of the call, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// What is asked.
        call: Box<ToolCall>,
    },
    /// The user switches to another policy (M3).
    UsePolicy(Box<PolicyUseRequest>),
    /// The user switches back to the previous policy.
    RollBackPolicy {
        /// Of which run; the one at work, or else the newest, where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// The scope of the switch that is rolled back.
        #[serde(default)]
        scope: PolicyScope,
        /// What it decides; everything where empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        decides: Vec<Capability>,
    },
    /// A tool result that an agent's MCP proxy holds back until it is said what becomes of it (C3).
    Offer {
        /// Of which session.
        #[serde(rename = "pass")]
        token: SessionToken,
        /// The tool.
        tool: String,
        /// The client's own id of the call, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// Name of the file in the session's folder that has the text.
        file: String,
    },
}

impl ControlMessage {
    /// The token that it carries.
    pub(crate) fn token(&self) -> Option<&SessionToken> {
        match self {
            ControlMessage::Call { token, .. } => token.as_ref(),
            ControlMessage::Offer { token, .. } => Some(token),
            _ => None,
        }
    }

    /// The word for its change to a run; none for a query or a report.
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
    /// To `status`, and to `answer`: the state of the run.
    View {
        /// The run.
        view: Box<RunView>,
        /// Whether a host works on it now.
        live: bool,
    },
    /// To `status`, if the host did not answer: the state of the run from its journal. No host sends this.
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
        /// The host's reason.
        why: String,
    },
    /// To `call`.
    Called(ToolReply),
    /// To `offer`: the result is kept as this artifact.
    Placed {
        /// The artifact.
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

/// A message with the way back.
#[derive(Debug)]
pub(crate) struct ControlRequest {
    /// What is asked.
    pub(crate) message: ControlMessage,
    /// The requester, if the system identifies it; an error if it is an agent's process.
    pub(crate) by: Result<Option<ChangeRequester>, AgentRequester>,
    /// Receives the answer. The requester may be gone by then.
    pub(crate) reply: oneshot::Sender<ControlReply>,
}
