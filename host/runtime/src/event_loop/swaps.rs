//! Other policies, put in place while the run goes on (M3): loaded beside the loop, journaled, and in place before the next
//! question is put. Those that are asked already finish on the old one.

use baton_core::input::ChangeCause;
use baton_core::observation::Capability;
use baton_core::workflow::Scope;
use baton_core::{Input, RunId};
use baton_store::Journal;
use tokio::sync::{mpsc, oneshot};

use crate::control::ControlReply;
use crate::error::RuntimeError;
use crate::policies::Bench;
use crate::swap::{self, Deciding, PolicyChange, UsePolicy};
use crate::watch::Changed;

use super::{EventLoop, RESULTS};

/// A component that was loaded, or refused, with the way back to whoever wants it.
pub(super) struct Loaded {
    reference: String,
    cause: ChangeCause,
    result: Result<swap::LoadedPins, RuntimeError>,
    reply: Option<oneshot::Sender<ControlReply>>,
}

/// What is being loaded.
pub(super) struct Swaps {
    pub(super) loaded: (mpsc::Sender<Box<Loaded>>, mpsc::Receiver<Box<Loaded>>),
    pub(super) under_way: u32,
    /// The changes of pins that the router has followed.
    followed: u64,
}

impl Swaps {
    pub(super) fn new(followed: u64) -> Self {
        Self { loaded: mpsc::channel(RESULTS), under_way: 0, followed }
    }
}

impl EventLoop {
    /// A person wants another policy in place.
    pub(super) fn take_use(&mut self, wanted: UsePolicy, reply: oneshot::Sender<ControlReply>) {
        match wanted.check(self.scribe.run()) {
            Ok(()) => {
                let deciding = Deciding::of(self.scribe.run(), &wanted.scope);
                self.load(
                    ChangeCause::Command,
                    Some(reply),
                    wanted.reference.clone(),
                    move |bench, journal| swap::load_over(bench, journal, &deciding, wanted),
                );
            }
            Err(why) => self.replies.push((reply, ControlReply::Refused { why })),
        }
    }

    /// Files that are watched have changed.
    pub(super) fn take_changed_files(&mut self) {
        for changed in self.watch.look(self.scribe.run()) {
            let Changed { reference, wanted } = changed;
            self.load(ChangeCause::File, None, reference, move |bench, journal| {
                Ok(swap::LoadedPins { pins: swap::load(bench, journal, &wanted?)?, ..Default::default() })
            });
        }
    }

    fn load(
        &mut self,
        cause: ChangeCause,
        reply: Option<oneshot::Sender<ControlReply>>,
        reference: String,
        load: impl FnOnce(&Bench, &Journal) -> Result<swap::LoadedPins, RuntimeError> + Send + 'static,
    ) {
        self.swaps.under_way += 1;
        let (bench, loaded) = (self.bench.clone(), self.swaps.loaded.0.clone());
        let journal = self.scribe.journal();
        self.actuator.compute(move || {
            let result = load(&bench, &journal);
            // Nobody listens only where the host is ending; whoever asked then hears so.
            let _ = loaded.blocking_send(Box::new(Loaded { reference, cause, result, reply }));
        });
    }

    pub(super) fn take_loaded(&mut self, loaded: Loaded) -> Result<(), RuntimeError> {
        self.swaps.under_way -= 1;
        let Loaded { reference, cause, result, reply } = loaded;
        let answer = match result {
            Ok(loaded) => {
                let change = PolicyChange::of(self.scribe.run(), loaded, cause);
                if let Some(input) = change.input(cause) {
                    self.take_own(input)?;
                }
                ControlReply::Changed(change.taken_by(self.scribe.run()))
            }
            Err(error) => {
                let (policy, why) = match error {
                    RuntimeError::PolicyRefused { policy, why } => (policy, why),
                    other => (reference, other.to_string()),
                };
                self.take_own(Input::PolicyRefused { policy: policy.clone(), why: why.clone() })?;
                ControlReply::PolicyRefused { policy, why }
            }
        };
        self.replies.extend(reply.map(|reply| (reply, answer)));
        Ok(())
    }

    /// A person wants back what decided before.
    pub(super) fn roll_back(
        &mut self,
        run: Option<&RunId>,
        scope: &Scope,
        decides: &[Capability],
    ) -> Result<ControlReply, String> {
        let pins = swap::behind(self.scribe.run(), run, scope, decides)?;
        let input = Input::PolicyChanged { pins: pins.clone(), cause: ChangeCause::Rollback };
        self.scribe.take(input).map_err(|illegal| illegal.to_string())?;
        let change = PolicyChange { pins, ..PolicyChange::default() };
        Ok(ControlReply::Changed(change.taken_by(self.scribe.run())))
    }

    /// After the commit, before anything is asked that follows from it.
    pub(super) fn follow_pins(&mut self) {
        let changes = self.scribe.run().pin_changes();
        if self.swaps.followed != changes {
            self.swaps.followed = changes;
            self.bench.follow(self.scribe.run());
            self.shadows.follow(self.scribe.run());
        }
    }
}
