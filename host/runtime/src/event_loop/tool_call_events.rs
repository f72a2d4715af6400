//! Tool calls in the loop: slow work is done outside of it, and every caller gets an answer. `tools/tool_calls.rs` defines the
//! meaning of each call.

use std::collections::HashMap;

use baton_core::Input;
use baton_core::observation::{ContextItem, ContextItemKind};
use baton_inbox::ToolCall;
use tokio::sync::{mpsc, oneshot};

use crate::control::message::ControlReply;
use crate::error::RuntimeError;
use crate::tools::artifact_tools::ArtifactSaveResult;
use crate::tools::result_offload::PendingToolResult;
use crate::tools::session_token::SessionToken;
use crate::tools::tool_calls::ToolCallPlan;

use super::{EventLoop, RESULTS};

/// An artifact that was kept for an agent, with the way back to it.
pub(super) struct ArtifactReply {
    saved: ArtifactSaveResult,
    /// It is a tool result that its proxy holds back.
    is_offered: bool,
    reply: oneshot::Sender<ControlReply>,
}

/// A tool result whose size is known, with the way back to the proxy that holds it.
pub(super) struct SizedToolResult {
    held: PendingToolResult,
    tokens: u64,
    reply: oneshot::Sender<ControlReply>,
}

/// What calls of tools have under way.
pub(super) struct PendingToolCalls {
    pub(super) kept: (mpsc::Sender<Box<ArtifactReply>>, mpsc::Receiver<Box<ArtifactReply>>),
    pub(super) weighed: (mpsc::Sender<Box<SizedToolResult>>, mpsc::Receiver<Box<SizedToolResult>>),
    /// Tool results that wait for a word of the policy; core bounds how many.
    held: HashMap<String, (PendingToolResult, oneshot::Sender<ControlReply>)>,
    /// Artifacts that are being kept, and results that are being looked at.
    pub(super) under_way: u32,
}

impl PendingToolCalls {
    pub(super) fn new() -> Self {
        Self {
            kept: mpsc::channel(RESULTS),
            weighed: mpsc::channel(RESULTS),
            held: HashMap::new(),
            under_way: 0,
        }
    }
}

impl EventLoop {
    /// A call of a tool. A report is answered when it is on disk; slow work is done outside the loop.
    pub(super) fn on_call(
        &mut self,
        token: Option<&SessionToken>,
        key: Option<String>,
        call: ToolCall,
        reply: oneshot::Sender<ControlReply>,
    ) -> Result<(), RuntimeError> {
        let Some(view) = self.view() else { return Ok(()) };
        match self.tool_calls.plan_call(self.recorder.run(), &view, token, key, call) {
            ToolCallPlan::Answer(answer) => self.replies.push((reply, ControlReply::Called(answer))),
            ToolCallPlan::Report { session, digest, report } => {
                self.record_input(Input::Reported { session, digest, report: report.clone() })?;
                let answer = self.view().map(|view| self.tool_calls.report_reply(&view, &report));
                self.replies.push((reply, ControlReply::Called(answer.unwrap_or_default())));
            }
            ToolCallPlan::Save(save) => {
                self.calls.under_way += 1;
                let kept = self.calls.kept.0.clone();
                self.effect_runner.spawn_blocking_task(move || {
                    // The receiver is gone only if the host is ending; the caller is then told so.
                    let _ = kept.blocking_send(Box::new(ArtifactReply {
                        saved: save(),
                        is_offered: false,
                        reply,
                    }));
                });
            }
            ToolCallPlan::Read(look) => self.effect_runner.spawn_blocking_task(move || {
                // The requester may have left.
                let _ = reply.send(ControlReply::Called(look()));
            }),
        }
        Ok(())
    }

    /// A tool result of an agent's MCP proxy: its text is measured outside the loop, then core asks the policy.
    pub(super) fn on_tool_result(
        &mut self,
        token: &SessionToken,
        tool: String,
        call: Option<String>,
        file: String,
        reply: oneshot::Sender<ControlReply>,
    ) {
        let held = self.view().map(|view| self.tool_calls.hold(&view, token, tool, call, file));
        match held {
            Some(Ok(held)) => {
                self.calls.under_way += 1;
                let weighed = self.calls.weighed.0.clone();
                self.effect_runner.spawn_blocking_task(move || {
                    let tokens = held.tokens();
                    // The receiver is gone only if the host is ending; the proxy then passes on its result unchanged.
                    let _ = weighed.blocking_send(Box::new(SizedToolResult { held, tokens, reply }));
                });
            }
            Some(Err(why)) => self.replies.push((reply, ControlReply::Refused { why })),
            None => {}
        }
    }

    /// What becomes of a tool result that was held back. It goes out of a context only once it is kept.
    pub(super) fn deliver_result(&mut self, item: &str, offload: bool) {
        let Some((held, reply)) = self.calls.held.remove(item) else { return };
        if !offload {
            // The proxy may be gone with its agent.
            let _ = reply.send(ControlReply::Stays);
            return;
        }
        self.calls.under_way += 1;
        let (kept, artifact_tools) = (self.calls.kept.0.clone(), self.tool_calls.artifact_tools.clone());
        self.effect_runner.spawn_blocking_task(move || {
            let _ = kept.blocking_send(Box::new(ArtifactReply {
                saved: held.save(&artifact_tools),
                is_offered: true,
                reply,
            }));
        });
    }

    /// The size of a tool result is known: core asks the policy about it.
    pub(super) fn on_sized_result(&mut self, weighed: SizedToolResult) -> Result<(), RuntimeError> {
        self.calls.under_way -= 1;
        let SizedToolResult { held, tokens, reply } = weighed;
        let item = ContextItem { id: held.id(), kind: ContextItemKind::ToolResult, tokens };
        let session = held.session.clone();
        self.calls.held.insert(item.id.clone(), (held, reply));
        self.record_input(Input::ToolResultOffered { session, item })
    }

    /// An artifact is kept, or was refused: its caller hears so once that is on disk.
    pub(super) fn on_saved_artifact(&mut self, kept: ArtifactReply) -> Result<(), RuntimeError> {
        self.calls.under_way -= 1;
        let ArtifactReply { saved, is_offered, reply } = kept;
        let artifact = saved.result.as_ref().ok().cloned();
        let (inputs, answer) = self.tool_calls.on_artifact_saved(self.recorder.run(), saved);
        let answer = match (is_offered, artifact) {
            (false, _) => ControlReply::Called(answer),
            (true, Some(artifact)) => ControlReply::Placed { artifact },
            (true, None) => ControlReply::Stays,
        };
        self.replies.push((reply, answer));
        inputs.into_iter().try_for_each(|input| self.record_input(input))
    }
}
