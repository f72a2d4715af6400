//! Folds a journal back into a run, and determines which of its open intents died with the previous host. The loop then
//! performs the others again: every such effect checks the workspace first, or is harmless to repeat.
//!
//! | intent | found open at a restart |
//! |---|---|
//! | `Spawn` | its process is ended by the guard's record, then `Lost`: an agent cannot continue without its host |
//! | `Prompt`, `Compact`, `Interrupt`, `EndSession` | `Lost`: the agent they were for died with the host |
//! | `WriteHandoff`, `WriteSummaries`, `Offload` | done again: the store keeps the same bytes under the same name once |
//! | `MeasureWorkspace`, `ValidateHandoff`, `Verify` | done again: they are read-only for Baton's data |
//! | `Checkpoint`, `CreateWorktree`, `CommitWorktree`, `CommitToBranch`, `RestoreWorktree`, `Merge`, `AbortMerge`, `Land` | done again: git is asked first what is done already |
//! | `AskUser`, `Finish` | announced again |

use baton_agents::turns_logged;
use baton_core::facts::AgentEvent;
use baton_core::{Action, ActionOutcome, Input, Intent, Run, RunId, Seq, SessionId, UnixMs};
use baton_store::{Journal, JournalEntry, StateDir, StoreError};

use crate::error::RuntimeError;
use crate::projection::RunTimeline;
use crate::sessions::{self, OrphanRefusal};

/// A run as its journal tells it.
#[derive(Debug, Default)]
pub(crate) struct RecoveredRun {
    /// The state after the last entry.
    pub(crate) run: Run,
    /// Position and time of the last entry.
    pub(crate) last: (Seq, UnixMs),
    /// What it tells beyond the state.
    pub(crate) timeline: RunTimeline,
}

/// Folds every entry of a run. Intents follow from inputs, so only inputs are applied.
pub(crate) fn fold(
    run: &RunId,
    entries: impl Iterator<Item = Result<JournalEntry, StoreError>>,
) -> Result<RecoveredRun, FoldError> {
    let mut folded = RecoveredRun::default();
    for entry in entries {
        folded.apply_entry(run, entry?)?;
    }
    Ok(folded)
}

impl RecoveredRun {
    /// Folds one more entry, and says what followed from it.
    pub(crate) fn apply_entry(&mut self, run: &RunId, entry: JournalEntry) -> Result<Vec<Intent>, FoldError> {
        self.last = (entry.seq(), entry.at());
        let JournalEntry::Input(stamped) = entry else { return Ok(Vec::new()) };
        let intents = self.run.apply(&stamped).map_err(|illegal| FoldError::InvalidInput {
            run: run.clone(),
            seq: stamped.seq,
            why: illegal.to_string(),
        })?;
        self.timeline.note(&self.run, &stamped, &intents);
        Ok(intents)
    }
}

/// Opens, reads and folds one run.
pub(crate) fn fold_run(journal: &Journal, run: &RunId) -> Result<RecoveredRun, FoldError> {
    fold(run, journal.read(run)?)
}

/// Why a journal gives no run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FoldError {
    /// It cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It can be read, and makes no sense.
    #[error("entry {seq} does not follow: {why}")]
    InvalidInput {
        /// Which run.
        run: RunId,
        /// Which entry.
        seq: Seq,
        /// What core said.
        why: String,
    },
}

impl FoldError {
    /// The error for the caller, with the state directory.
    pub(crate) fn in_dir(self, dir: &std::path::Path) -> RuntimeError {
        match self {
            FoldError::Store(source) => RuntimeError::State {
                what: "cannot read the journal",
                dir: dir.to_owned(),
                source: source.into(),
            },
            FoldError::InvalidInput { run, seq, why } => RuntimeError::BrokenJournal { run, seq, why },
        }
    }
}

/// Whether an effect died with the host that was to perform it, or that performed it on an agent which is gone now.
fn died_with_host(action: &Action) -> bool {
    match action {
        Action::Spawn(_)
        | Action::Prompt { .. }
        | Action::Compact { .. }
        | Action::Interrupt { .. }
        | Action::EndSession { .. } => true,
        Action::MeasureWorkspace { .. }
        | Action::ValidateHandoff { .. }
        | Action::WriteHandoff { .. }
        | Action::WriteSummaries { .. }
        | Action::Offload { .. }
        | Action::Verify { .. }
        | Action::Checkpoint { .. }
        | Action::CreateWorktree { .. }
        | Action::CommitWorktree { .. }
        | Action::CommitToBranch { .. }
        | Action::RestoreWorktree { .. }
        | Action::Merge { .. }
        | Action::AbortMerge { .. }
        | Action::Land { .. }
        | Action::AskUser { .. }
        | Action::Finish { .. }
        | Action::RequestDecision { .. }
        | Action::DeliverToolResult { .. }
        | Action::Notify(_) => false,
    }
}

/// The inputs that tell a folded run what died with its host. They come before `Resumed`.
fn lost(run: &Run) -> Vec<Input> {
    let gone = run.pending().into_iter().filter(|intent| died_with_host(&intent.action));
    gone.map(|intent| Input::Outcome { action: intent.id, outcome: ActionOutcome::Lost }).collect()
}

/// The open intents that a new host performs again, oldest first.
pub(crate) fn to_repeat(run: &Run) -> Vec<baton_core::Intent> {
    run.pending().into_iter().filter(|intent| !died_with_host(&intent.action)).cloned().collect()
}

/// The inputs of a folded run before `Resumed`, in this order: agent output that the dead host had not taken, intents that died
/// with it, reports of agents (`reports`), and lost work (`lost_work`), which no late report makes done again.
pub(crate) fn recovery_inputs(
    run: &Run,
    state: &StateDir,
    orphans: Vec<OrphanRefusal>,
    reports: Vec<Input>,
    lost_work: Vec<Input>,
) -> Vec<Input> {
    let mut inputs = taken_late(run, state);
    inputs.extend(refusals_of_lost_sessions(run, orphans));
    inputs.extend(lost(run));
    inputs.extend(reports);
    inputs.extend(lost_work);
    inputs
}

/// The turns of sessions that died with their host, which it had not taken yet: they were billed as the others.
fn taken_late(run: &Run, state: &StateDir) -> Vec<Input> {
    let late = |id: &SessionId| {
        let (agent, turns) = run.turns_of(id)?;
        Some(turns_logged(agent, &sessions::folder(state, run.id(), id), turns))
    };
    let live = run.live_sessions().into_iter();
    let taken = live.flat_map(|id| late(id).into_iter().flatten().map(|event| (id.clone(), event)));
    taken.map(|(session, event)| Input::Agent { session, event }).collect()
}

/// What sessions had planted that died with their host, as each of them would have been told of it.
fn refusals_of_lost_sessions(run: &Run, swept: Vec<OrphanRefusal>) -> Vec<Input> {
    let live = run.live_sessions();
    let (own, others): (Vec<OrphanRefusal>, Vec<OrphanRefusal>) =
        swept.into_iter().partition(|swept| live.contains(&&swept.session));
    log_other_refusals(&others);
    let refused = |swept: OrphanRefusal| Input::Agent {
        session: swept.session,
        event: AgentEvent::Refused(swept.refusal),
    };
    own.into_iter().map(refused).collect()
}

/// Logs the refusals of a run that continues later, or of a command, which have no session to be recorded for.
pub(crate) fn log_other_refusals(swept: &[OrphanRefusal]) {
    for OrphanRefusal { run, session, refusal } in swept {
        tracing::warn!(%run, %session, "a sandbox whose host died did not allow to {refusal}");
    }
}

#[cfg(test)]
mod tests {
    use baton_core::ActionId;
    use baton_core::decision::Decision;
    use baton_core::facts::WorkspaceFacts;
    use baton_core::workflow::PolicyScope;
    use baton_store::JournalOptions;

    use super::*;
    use crate::recorder::RunRecorder;
    use crate::test_support::{TestFixture, started, succeeding_decider};

    /// Brings a new run to its first spawn; answers every question on the way.
    async fn until_spawn(recorder: &mut RunRecorder, run: &RunId) -> ActionId {
        let judge = succeeding_decider();
        recorder.record(started(run)).unwrap();
        loop {
            let due = recorder.commit().await.unwrap();
            for intent in due.intents {
                match intent.action {
                    Action::Spawn(_) => return intent.id,
                    Action::RequestDecision { request_id, request, .. } => {
                        let (result, label) = judge(&PolicyScope::Run, &request);
                        let result: Result<Decision, _> = result;
                        recorder
                            .record(Input::Decided { request_id, result, label: Box::new(label) })
                            .unwrap();
                    }
                    Action::MeasureWorkspace { .. } => {
                        let outcome = ActionOutcome::WorkspaceMeasured { facts: WorkspaceFacts::default() };
                        recorder.record(Input::Outcome { action: intent.id, outcome }).unwrap();
                    }
                    other => panic!("{} before the first spawn", other.name()),
                }
            }
        }
    }

    #[tokio::test]
    async fn an_open_measurement_is_repeated() {
        let (place, run) = (TestFixture::new(JournalOptions::default()), RunId::new("r1"));
        let mut recorder = place.recorder(&run);
        recorder.record(started(&run)).unwrap();
        recorder.commit().await.unwrap();

        let folded = fold_run(&place.journal, &run).unwrap();
        assert_eq!(folded.run, *recorder.run());
        assert!(lost(&folded.run).is_empty());
        let repeated = to_repeat(&folded.run);
        assert!(matches!(repeated.as_slice(), [one] if one.action.name() == "assess"), "{repeated:?}");
    }

    #[tokio::test]
    async fn an_open_spawn_is_lost_with_its_host() {
        let (place, run) = (TestFixture::new(JournalOptions::default()), RunId::new("r1"));
        let mut recorder = place.recorder(&run);
        let spawn = until_spawn(&mut recorder, &run).await;
        recorder.flush().unwrap();

        let folded = fold_run(&place.journal, &run).unwrap();
        assert_eq!(folded.run, *recorder.run(), "a fold gives the very state of the live run");
        assert_eq!(folded.timeline, *recorder.timeline());
        assert_eq!(lost(&folded.run), [Input::Outcome { action: spawn, outcome: ActionOutcome::Lost }]);
        assert!(to_repeat(&folded.run).is_empty());

        // The second host: after `Lost`, core spawns the session again under another id.
        let mut second = RunRecorder::new(folded, run.clone(), place.journal.clone());
        second.record(Input::Outcome { action: spawn, outcome: ActionOutcome::Lost }).unwrap();
        second.record(Input::Resumed).unwrap();
        second.commit().await.unwrap();
        second.flush().unwrap();
        let again = fold_run(&place.journal, &run).unwrap();
        assert_eq!(again.run, *second.run());
        let settled = again.run.pending().iter().all(|intent| intent.id != spawn);
        assert!(settled, "what was lost once is not lost again");
        let view = again.run.view(UnixMs(0)).unwrap();
        assert_eq!(view.phases[0].sessions[0].ending, "lost with the host");
    }

    #[tokio::test]
    async fn an_entry_that_cannot_follow_is_named() {
        let (place, run) = (TestFixture::new(JournalOptions::default()), RunId::new("r1"));
        let stray = baton_core::JournaledInput { seq: Seq(1), at: UnixMs(1), input: Input::Tick };
        let error = fold(&run, std::iter::once(Ok(JournalEntry::Input(stray))))
            .unwrap_err()
            .in_dir(place.state.path());
        assert!(matches!(error, RuntimeError::BrokenJournal { seq: Seq(1), .. }), "{error}");
    }
}
