//! Calls of tools, as the loop sees to them: what takes time is done beside it, and every caller gets an answer. What a call
//! means is the desk's business.

use std::collections::HashMap;

use baton_core::Input;
use baton_core::observation::{ItemKind, ItemView};
use baton_inbox::Call;
use tokio::sync::{mpsc, oneshot};

use crate::control::ControlReply;
use crate::desk::{Next, Saved};
use crate::door::Pass;
use crate::error::RuntimeError;
use crate::offload::Held;

use super::{EventLoop, RESULTS};

/// An artifact that was kept for an agent, with the way back to it.
pub(super) struct Kept {
    saved: Saved,
    /// It is a tool result that its proxy holds back.
    is_offered: bool,
    reply: oneshot::Sender<ControlReply>,
}

/// A tool result whose size is known, with the way back to the proxy that holds it.
pub(super) struct Weighed {
    held: Held,
    tokens: u64,
    reply: oneshot::Sender<ControlReply>,
}

/// What calls of tools have under way.
pub(super) struct Calls {
    pub(super) kept: (mpsc::Sender<Box<Kept>>, mpsc::Receiver<Box<Kept>>),
    pub(super) weighed: (mpsc::Sender<Box<Weighed>>, mpsc::Receiver<Box<Weighed>>),
    /// Tool results that wait for a word of the policy; core bounds how many.
    held: HashMap<String, (Held, oneshot::Sender<ControlReply>)>,
    /// Artifacts that are being kept, and results that are being looked at.
    pub(super) under_way: u32,
}

impl Calls {
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
    /// A call of a tool. What it reports is answered when it is on disk; what takes time is done beside the loop.
    pub(super) fn take_call(
        &mut self,
        pass: Option<&Pass>,
        key: Option<String>,
        call: Call,
        reply: oneshot::Sender<ControlReply>,
    ) -> Result<(), RuntimeError> {
        let Some(view) = self.view() else { return Ok(()) };
        match self.desk.take(self.scribe.run(), &view, pass, key, call) {
            Next::Answer(answer) => self.replies.push((reply, ControlReply::Called(answer))),
            Next::Report { session, digest, report } => {
                self.take_own(Input::Reported { session, digest, report: report.clone() })?;
                let answer = self.view().map(|view| self.desk.recorded(&view, &report));
                self.replies.push((reply, ControlReply::Called(answer.unwrap_or_default())));
            }
            Next::Save(save) => {
                self.calls.under_way += 1;
                let kept = self.calls.kept.0.clone();
                self.actuator.compute(move || {
                    // Nobody listens only where the host is ending; the caller then hears so.
                    let _ = kept.blocking_send(Box::new(Kept { saved: save(), is_offered: false, reply }));
                });
            }
            Next::Look(look) => self.actuator.compute(move || {
                // Whoever asked may have left.
                let _ = reply.send(ControlReply::Called(look()));
            }),
        }
        Ok(())
    }

    /// A tool result of an agent's MCP proxy: its text is looked at beside the loop, then core asks the policy.
    pub(super) fn take_offer(
        &mut self,
        pass: &Pass,
        tool: String,
        call: Option<String>,
        file: String,
        reply: oneshot::Sender<ControlReply>,
    ) {
        let held = self.view().map(|view| self.desk.hold(&view, pass, tool, call, file));
        match held {
            Some(Ok(held)) => {
                self.calls.under_way += 1;
                let weighed = self.calls.weighed.0.clone();
                self.actuator.compute(move || {
                    let tokens = held.tokens();
                    // Nobody listens only where the host is ending; the proxy then keeps its result.
                    let _ = weighed.blocking_send(Box::new(Weighed { held, tokens, reply }));
                });
            }
            Some(Err(why)) => self.replies.push((reply, ControlReply::Refused { why })),
            None => {}
        }
    }

    /// What becomes of a tool result that was held back. It goes out of a context only once it is kept.
    pub(super) fn place(&mut self, item: &str, offload: bool) {
        let Some((held, reply)) = self.calls.held.remove(item) else { return };
        if !offload {
            // The proxy may be gone with its agent.
            let _ = reply.send(ControlReply::Stays);
            return;
        }
        self.calls.under_way += 1;
        let (kept, shelf) = (self.calls.kept.0.clone(), self.desk.shelf.clone());
        self.actuator.compute(move || {
            let _ = kept.blocking_send(Box::new(Kept { saved: held.save(&shelf), is_offered: true, reply }));
        });
    }

    /// The size of a tool result is known: core asks the policy about it.
    pub(super) fn take_weighed(&mut self, weighed: Weighed) -> Result<(), RuntimeError> {
        self.calls.under_way -= 1;
        let Weighed { held, tokens, reply } = weighed;
        let item = ItemView { id: held.id(), kind: ItemKind::ToolResult, tokens };
        let session = held.session.clone();
        self.calls.held.insert(item.id.clone(), (held, reply));
        self.take_own(Input::Offered { session, item })
    }

    /// An artifact is kept, or was refused: its caller hears so once that is on disk.
    pub(super) fn take_kept(&mut self, kept: Kept) -> Result<(), RuntimeError> {
        self.calls.under_way -= 1;
        let Kept { saved, is_offered, reply } = kept;
        let artifact = saved.result.as_ref().ok().cloned();
        let (inputs, answer) = self.desk.kept(self.scribe.run(), saved);
        let answer = match (is_offered, artifact) {
            (false, _) => ControlReply::Called(answer),
            (true, Some(artifact)) => ControlReply::Placed { artifact },
            (true, None) => ControlReply::Stays,
        };
        self.replies.push((reply, answer));
        inputs.into_iter().try_for_each(|input| self.take_own(input))
    }
}
