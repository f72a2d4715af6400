//! A host takes the run up again. Whatever lived in the host before is gone: agents, questions to policies, timers.
//! What it knew is not: every phase continues from its step, and nothing that was judged done is done again.

use crate::facts::ProcessExit;
use crate::ids::SessionId;
use crate::observation::{AssessTrigger, SplitTrigger};
use crate::progress::ProgressEvent;

use super::Run;
use super::phase::ObjectiveIndex;
use super::phase_list::PhaseIndex;
use super::step::{OnTurnBudget, PhaseStep};

/// Why there is a session after one that was lost.
pub(super) const LOST: &str = "the host was stopped while the agent worked";
/// How a session ends that died with its host.
const LOST_EXIT: ProcessExit = ProcessExit { code: None, signal: None, by_host: true };

impl Run {
    pub(super) fn resume(&mut self) {
        self.stopping = false;
        // The tool servers that waited for these heard of the host's end, and kept their results.
        self.offered_results.clear();
        self.index.clear_open_queries();
        if self.ending.is_some() {
            return;
        }
        let mut lost: Vec<SessionId> = Vec::new();
        for session in self.sessions.values_mut().filter(|s| s.is_alive()) {
            session.end(LOST_EXIT, "lost with the host");
            lost.push(session.id.clone());
        }
        for phase in &mut self.phases {
            phase.measurements.after_stop = None;
            if let Some(session) = phase.session.as_ref().filter(|id| lost.contains(id)) {
                let session = &self.sessions[session];
                phase.turns.before += session.turns;
                phase.succession.objectives_done_by_session = session.done;
            }
        }
        self.notify(ProgressEvent::Resumed { lost });
        self.for_each_phase(|run, p| {
            // It is unknown what happened to the workspace while no host was there.
            run.phases[p].handoffs.may_be_stale = true;
            run.resume_phase(p);
            run.measure_unconfirmed(p);
        });
    }

    /// Whether something was reported as done in the prompt that died with its agent.
    fn has_done_report_in(&self, p: PhaseIndex, focus: &[ObjectiveIndex]) -> bool {
        let phase = &self.phases[p];
        let mut objectives = phase.objectives.indexed();
        objectives.any(|(g, objective)| {
            focus.contains(&g) && objective.is_done() || objective.is_unassessed && phase.is_own(objective)
        })
    }

    fn resume_phase(&mut self, p: PhaseIndex) {
        let is_unconfirmed = self.phases[p].has_unconfirmed_claims();
        match self.phases[p].step.clone() {
            // These wait for a person, for time, for other phases, or for nothing.
            PhaseStep::Pending
            | PhaseStep::ResumePending
            | PhaseStep::UnderReview { .. }
            | PhaseStep::Paused { .. }
            | PhaseStep::Split
            | PhaseStep::Done
            | PhaseStep::Skipped
            | PhaseStep::Quota { .. }
            | PhaseStep::Backoff { .. } => {}

            // No session was needed: the same question again.
            PhaseStep::Baseline { action } | PhaseStep::CheckingFirst { action, .. } => {
                if !self.open_intents.contains_key(&action) {
                    self.begin_phase(p);
                }
            }
            PhaseStep::Branching { action } => {
                if !self.open_intents.contains_key(&action) {
                    self.continue_phase(p);
                }
            }
            PhaseStep::Checkpointing { action, parts } => {
                if !self.open_intents.contains_key(&action) {
                    self.phases[p].split.forget_checkpoint();
                    self.request_checkpoint(p, parts);
                }
            }
            PhaseStep::Merging { action, .. }
            | PhaseStep::AbortingMerge { action }
            | PhaseStep::Landing { action } => {
                if !self.open_intents.contains_key(&action) {
                    self.continue_integration(p);
                }
            }
            PhaseStep::Scoping {
                occasion: occasion @ (SplitTrigger::PhaseStart | SplitTrigger::OutOfContinuations),
                ..
            } => self.scope(p, occasion),
            PhaseStep::Budgeting { then: OnTurnBudget::Begin, .. } => self.scope(p, SplitTrigger::PhaseStart),
            PhaseStep::Budgeting { then: OnTurnBudget::StartSuccessor(then), .. } => {
                self.start_successor(p, then)
            }

            // A prompt that had ended is judged as it was: what it finished is not done again.
            PhaseStep::MeasuringWorkspace { action, occasion, focus } => {
                if !self.open_intents.contains_key(&action) {
                    self.measure(p, occasion, focus);
                }
            }
            PhaseStep::Assessing { occasion, focus, .. }
            | PhaseStep::DecidingCompletion { occasion, focus, .. }
            | PhaseStep::DecidingRecovery { occasion, focus, .. } => match is_unconfirmed {
                true => self.measure(p, occasion, focus),
                false => self.on_workspace_measured(p, occasion, focus),
            },
            // What a dead session leaves: the question again, or the intent if the host does not perform it again.
            PhaseStep::MeasuringAfterExit { action, then } => {
                if !self.open_intents.contains_key(&action) {
                    self.measure_after_exit(p, then);
                }
            }
            PhaseStep::ComposingHandoff { then, refused, .. } => self.compose(p, then, refused),
            PhaseStep::ValidatingHandoff { action, then, draft } => {
                if !self.open_intents.contains_key(&action) {
                    self.inspect(p, then, draft);
                }
            }
            PhaseStep::Reviewing { then, draft, .. } => self.review(p, then, draft),
            PhaseStep::HandingOff { action, then, draft } => {
                if !self.open_intents.contains_key(&action) {
                    self.write_handoff(p, then, draft);
                }
            }
            PhaseStep::MeasuringBeforeChecks { action } => {
                if !self.open_intents.contains_key(&action) {
                    self.measure_before_checks(p);
                }
            }
            PhaseStep::Committing { action } | PhaseStep::Verifying { action, .. } => {
                if !self.open_intents.contains_key(&action) {
                    self.start_verification(p);
                }
            }
            PhaseStep::CommittingToBranch { action, then } => {
                if !self.open_intents.contains_key(&action) {
                    self.request_commit_to_branch(p, then);
                }
            }
            PhaseStep::Restoring { action, then } => {
                if !self.open_intents.contains_key(&action) {
                    self.request_restore(p, then);
                }
            }
            PhaseStep::EndingSession { then } => self.continue_after_session(p, then),

            // Something of the prompt was reported as done before it died with its agent: what else the agent said is judged first.
            PhaseStep::Working { focus, .. } if is_unconfirmed || self.has_done_report_in(p, &focus) => {
                self.phases[p].assessment.prompt_cut_off = true;
                self.measure(p, AssessTrigger::SessionEnded, focus);
            }

            // The prompt died with its agent, which continues where it was, or else what it left is looked at, and a new session continues.
            PhaseStep::Working { .. }
            | PhaseStep::Scoping { .. }
            | PhaseStep::Budgeting { then: OnTurnBudget::Boundary, .. }
            | PhaseStep::Starting { .. }
            | PhaseStep::DecidingOffload { .. }
            | PhaseStep::Offloading { .. }
            | PhaseStep::ComposingPrompt { .. }
            | PhaseStep::RevalidatingHandoff { .. }
            | PhaseStep::RereviewingHandoff { .. }
            | PhaseStep::DecidingCompaction { .. }
            | PhaseStep::Summarising { .. }
            | PhaseStep::Compacting { .. } => match is_unconfirmed {
                // Whether what was said is there comes first.
                true => {
                    let of_others = self.files_of_other_phases(p);
                    self.measure_files_before_checks(p, of_others);
                }
                false => self.resume_or_replace_session(p),
            },
        }
    }
}
