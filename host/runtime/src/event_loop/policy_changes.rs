//! Policy switches in a live run (M3): the new policy is loaded outside the loop, journaled, and active before the next
//! question. Open questions finish on the old one.

use baton_core::input::PolicyChangeCause;
use baton_core::observation::Capability;
use baton_core::workflow::PolicyScope;
use baton_core::{Input, RunId};
use baton_store::Journal;
use tokio::sync::{mpsc, oneshot};

use crate::control::message::ControlReply;
use crate::error::RuntimeError;
use crate::policies::PolicyRegistry;
use crate::policies::policy_swap::{self, PolicyChange, PolicyUseRequest, ScopeBindings};
use crate::policies::policy_watcher::ChangedPolicyFile;

use super::{EventLoop, RESULTS};

/// A component that was loaded or refused, with the channel to the requester.
pub(super) struct PolicyLoadResult {
    reference: String,
    cause: PolicyChangeCause,
    result: Result<policy_swap::LoadedBindings, RuntimeError>,
    reply: Option<oneshot::Sender<ControlReply>>,
}

/// What is being loaded.
pub(super) struct Swaps {
    pub(super) loaded: (mpsc::Sender<Box<PolicyLoadResult>>, mpsc::Receiver<Box<PolicyLoadResult>>),
    pub(super) under_way: u32,
    /// The changes of bindings that the router has followed.
    followed: u64,
}

impl Swaps {
    pub(super) fn new(followed: u64) -> Self {
        Self { loaded: mpsc::channel(RESULTS), under_way: 0, followed }
    }
}

impl EventLoop {
    /// The user switches to another policy.
    pub(super) fn on_use_policy(&mut self, wanted: PolicyUseRequest, reply: oneshot::Sender<ControlReply>) {
        match wanted.check(self.recorder.run()) {
            Ok(()) => {
                let deciding = ScopeBindings::of(self.recorder.run(), &wanted.scope);
                self.load(
                    PolicyChangeCause::Command,
                    Some(reply),
                    wanted.reference.clone(),
                    move |policies, journal| {
                        policy_swap::load_with_current_settings(policies, journal, &deciding, wanted)
                    },
                );
            }
            Err(why) => self.replies.push((reply, ControlReply::Refused { why })),
        }
    }

    /// Files that are watched have changed.
    pub(super) fn on_changed_files(&mut self) {
        for changed in self.watch.look(self.recorder.run()) {
            let ChangedPolicyFile { reference, wanted } = changed;
            self.load(PolicyChangeCause::File, None, reference, move |policies, journal| {
                Ok(policy_swap::LoadedBindings {
                    bindings: policy_swap::load(policies, journal, &wanted?)?,
                    ..Default::default()
                })
            });
        }
    }

    fn load(
        &mut self,
        cause: PolicyChangeCause,
        reply: Option<oneshot::Sender<ControlReply>>,
        reference: String,
        load: impl FnOnce(&PolicyRegistry, &Journal) -> Result<policy_swap::LoadedBindings, RuntimeError>
        + Send
        + 'static,
    ) {
        self.swaps.under_way += 1;
        let (policies, loaded) = (self.policies.clone(), self.swaps.loaded.0.clone());
        let journal = self.recorder.journal();
        self.effect_runner.spawn_blocking_task(move || {
            let result = load(&policies, &journal);
            // The receiver is gone only if the host is ending; the requester is then told so.
            let _ = loaded.blocking_send(Box::new(PolicyLoadResult { reference, cause, result, reply }));
        });
    }

    pub(super) fn on_policy_loaded(&mut self, loaded: PolicyLoadResult) -> Result<(), RuntimeError> {
        self.swaps.under_way -= 1;
        let PolicyLoadResult { reference, cause, result, reply } = loaded;
        let answer = match result {
            Ok(loaded) => {
                let change = PolicyChange::of(self.recorder.run(), loaded, cause);
                if let Some(input) = change.input(cause) {
                    self.record_input(input)?;
                }
                ControlReply::Changed(change.with_reach(self.recorder.run()))
            }
            Err(error) => {
                let (policy, why) = match error {
                    RuntimeError::PolicyRefused { policy, why } => (policy, why),
                    other => (reference, other.to_string()),
                };
                self.record_input(Input::PolicyRefused { policy: policy.clone(), why: why.clone() })?;
                ControlReply::PolicyRefused { policy, why }
            }
        };
        self.replies.extend(reply.map(|reply| (reply, answer)));
        Ok(())
    }

    /// The user switches back to the previous policy.
    pub(super) fn roll_back(
        &mut self,
        run: Option<&RunId>,
        scope: &PolicyScope,
        decides: &[Capability],
    ) -> Result<ControlReply, String> {
        let bindings = policy_swap::rollback_targets(self.recorder.run(), run, scope, decides)?;
        let input = Input::PolicyChanged { bindings: bindings.clone(), cause: PolicyChangeCause::Rollback };
        self.recorder.record(input).map_err(|illegal| illegal.to_string())?;
        let change = PolicyChange { bindings, ..PolicyChange::default() };
        Ok(ControlReply::Changed(change.with_reach(self.recorder.run())))
    }

    /// After the commit, before anything is asked that follows from it.
    pub(super) fn follow_binding_changes(&mut self) {
        let changes = self.recorder.run().binding_generation();
        if self.swaps.followed != changes {
            self.swaps.followed = changes;
            self.policies.follow(self.recorder.run());
            self.shadows.follow(self.recorder.run());
        }
    }
}
