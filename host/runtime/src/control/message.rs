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

/// A message of a person is a word and perhaps a number.
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
        #[serde(default, skip_serializing_if = "Option::is_none", rename = "pass")]
        token: Option<SessionToken>,
        /// The client's own id of the call, where it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// What is asked.
        call: Box<ToolCall>,
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
        #[serde(rename = "pass")]
        token: SessionToken,
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
    /// The token that it carries.
    pub(crate) fn token(&self) -> Option<&SessionToken> {
        match self {
            ControlMessage::Call { token, .. } => token.as_ref(),
            ControlMessage::Offer { token, .. } => Some(token),
            _ => None,
        }
    }

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

/// A message with the way back.
#[derive(Debug)]
pub(crate) struct ControlRequest {
    /// What is asked.
    pub(crate) message: ControlMessage,
    /// Who asks, where the system tells; an error where that is an agent's.
    pub(crate) by: Result<Option<ChangeRequester>, AgentRequester>,
    /// Where the answer goes. Whoever asked may be gone.
    pub(crate) reply: oneshot::Sender<ControlReply>,
}
