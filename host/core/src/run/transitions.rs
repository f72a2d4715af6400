//! The walk of a phase: measure, scope, spawn, brief, work, judge, make room. What a verdict leads to is in `verdicts.rs`,
//! whether the work is good enough in `verification.rs`.

use crate::action::{Action, Intent};
use crate::facts::{AgentEvent, CompactionTrigger, ProcessExit};
use crate::ids::{ActionId, SessionId};
use crate::input::ActionOutcome;
use crate::observation::{
    AssessTrigger, EvidenceKind, ObjectiveStatus, PromptKind, SessionState, SplitTrigger,
};
use crate::progress::ProgressEvent;
use crate::text::TextBlob;
use crate::view::COULD_NOT_START;

use super::Run;
use super::claim_status::ClaimStatus;
use super::conversation_resume::NOT_RESUMED;
use super::end_cause::EndCause;
use super::phase::ObjectiveIndex;
use super::phase_list::PhaseIndex;
use super::session::Session;
use super::step::{OnCommit, OnSessionEnd, OnSummary, OnTurnBudget, PauseReason, PhaseStep};
use super::successor_reason::SuccessorReason;

impl Run {
    /// A prompt or a session ended: first what is on disk, then what a policy says of it (A5).
    pub(super) fn measure(&mut self, p: PhaseIndex, occasion: AssessTrigger, focus: Vec<ObjectiveIndex>) {
        let action = self.request_measurement(p, false);
        self.phases[p].step = PhaseStep::MeasuringWorkspace { action, occasion, focus };
    }

    pub(super) fn apply_outcome_to_phase(&mut self, id: ActionId, outcome: &ActionOutcome) {
        let Some(p) = self.phase_waiting_for(id) else { return };
        if let ActionOutcome::WorkspaceMeasured { facts } = outcome {
            let now = self.now;
            self.phases[p].set_facts(facts, now);
            if self.phases[p].step.measured_focus().is_some() {
                self.reopen_restored(p);
            }
        }
        match (self.phases[p].step.clone(), outcome) {
            (PhaseStep::Branching { .. }, outcome) => self.on_branched(p, outcome),
            // What cannot be looked at shows nothing: neither that the work is done nor that it is not.
            (
                PhaseStep::Baseline { .. }
                | PhaseStep::MeasuringWorkspace { .. }
                | PhaseStep::MeasuringBeforeChecks { .. }
                | PhaseStep::MeasuringAfterExit { .. },
                ActionOutcome::Failed { error },
            ) => {
                let text =
                    format!("The work of phase {} cannot be looked at: {error}", self.phases[p].spec.id);
                self.pause(p, PauseReason::Blocked, text);
            }
            (PhaseStep::CheckingFirst { check, .. }, outcome) => {
                self.on_first_check_result(p, check, outcome)
            }
            (PhaseStep::Baseline { .. }, outcome) => {
                self.phases[p].measurements.changed_earlier = self.changed_earlier(p);
                self.find_results(p, outcome);
                self.scope(p, SplitTrigger::PhaseStart);
            }
            (PhaseStep::MeasuringWorkspace { occasion, focus, .. }, _) => {
                self.on_workspace_measured(p, occasion, focus)
            }
            (PhaseStep::MeasuringBeforeChecks { .. }, _) => self.on_measured_before_checks(p),
            (PhaseStep::Starting { .. }, ActionOutcome::Failed { error }) => {
                let exit = ProcessExit { code: None, signal: None, by_host: true };
                if let Some(session) = self.session_mut(p) {
                    session.end(exit, COULD_NOT_START);
                }
                self.replace_session(p, SuccessorReason::Retry, EndCause::from_host(error));
            }
            // Nothing changes by waiting: a person is asked at once, and told where the agent is named.
            (PhaseStep::Starting { .. }, ActionOutcome::Unstartable { error }) => {
                let exit = ProcessExit { code: None, signal: None, by_host: true };
                if let Some(session) = self.session_mut(p) {
                    session.end(exit, COULD_NOT_START);
                }
                let phase = &self.phases[p].spec;
                let choice = self.workflow.agent_choice(phase);
                let text = format!("Phase {} cannot start its agent: {error}. {choice}", phase.id);
                self.pause(p, PauseReason::Blocked, text);
            }
            (PhaseStep::Working { .. }, ActionOutcome::Failed { error }) => {
                self.replace_session(p, SuccessorReason::Retry, EndCause::from_host(error))
            }
            (PhaseStep::Summarising { digest, then, .. }, outcome) => {
                self.on_summaries_written(p, digest, then, outcome)
            }
            (PhaseStep::Compacting { .. }, ActionOutcome::Failed { error }) => {
                self.on_compaction_failed(p, error)
            }
            (PhaseStep::MeasuringAfterExit { then, .. }, _) => self.on_measured_after_exit(p, then),
            (PhaseStep::ValidatingHandoff { then, draft, .. }, outcome) => {
                self.on_handoff_validated(p, then, *draft, outcome)
            }
            (PhaseStep::RevalidatingHandoff { kind, focus, .. }, outcome) => {
                self.on_handoff_revalidated(p, kind, focus, outcome)
            }
            (PhaseStep::HandingOff { then, draft, .. }, outcome) => {
                if let ActionOutcome::HandoffWritten { path, artifact, index } = outcome {
                    self.on_handoff_written(p, *draft, path, artifact, index.as_ref());
                }
                self.start_successor(p, then);
            }
            (PhaseStep::Committing { .. }, outcome) => self.on_committed(p, outcome),
            (PhaseStep::CommittingToBranch { then, .. }, outcome) => {
                self.on_committed_to_branch(p, then, outcome)
            }
            (PhaseStep::Restoring { then, .. }, outcome) => self.on_restored(p, &then, outcome),
            (PhaseStep::Verifying { check, of, .. }, outcome) => self.on_verified(p, check, of, outcome),
            (PhaseStep::Checkpointing { parts, .. }, outcome) => self.on_checkpointed(p, &parts, outcome),
            (PhaseStep::Merging { part, .. }, outcome) => self.on_merged(p, &part, outcome),
            (PhaseStep::AbortingMerge { .. }, outcome) => self.on_merge_aborted(p, outcome),
            (PhaseStep::Landing { .. }, outcome) => self.on_landed(p, outcome),
            (PhaseStep::Offloading { kind, focus, large, .. }, outcome) => {
                self.on_offloaded(p, kind, focus, &large, outcome);
            }
            _ => {}
        }
    }

    /// Asks whether the scope is too large. What the host made itself is one thing to do, and is not asked about; nor is a phase whose
    /// parts came together, since what is mended there has to stay there.
    pub(super) fn scope(&mut self, p: PhaseIndex, occasion: SplitTrigger) {
        if self.phases[p].lineage.is_made_by_host() {
            return self.continue_unsplit(p, occasion, &EndCause::from_host("it is one thing to do"));
        }
        if self.phases[p].split.active.is_some() {
            return self.continue_unsplit(
                p,
                occasion,
                &EndCause::from_host("its parts are together already"),
            );
        }
        let request = self.ask_split(p, occasion);
        self.phases[p].step = PhaseStep::Scoping { request, occasion };
    }

    pub(super) fn apply_event_to_phase(&mut self, p: PhaseIndex, event: &AgentEvent) {
        if Session::is_output(event) {
            self.end_agent_quota_wait(p);
        }
        let phase = self.phases[p].spec.id.clone();
        let Some(session) = self.session(p) else { return };
        let (id, now) = (session.id.clone(), self.now);
        match event {
            AgentEvent::Ready { .. } => {
                if let PhaseStep::Starting { .. } = self.phases[p].step {
                    if let Some(session) = self.session_mut(p) {
                        session.state = SessionState::Idle;
                    }
                    self.request_first_prompt(p);
                }
            }
            AgentEvent::Turn { .. } | AgentEvent::Occupancy { .. } => {
                let notice = ProgressEvent::Turn {
                    phase,
                    session: id,
                    turns: session.turns,
                    max_turns: session.max_turns,
                    occupancy: session.occupancy(now),
                };
                let is_news = matches!(event, AgentEvent::Turn { .. }) || session.occupancy_changed();
                self.notify(notice);
                if is_news {
                    self.assess_at_work(p, AssessTrigger::Turn);
                }
                self.check_turns_at_work(p);
            }
            AgentEvent::ToolCall { .. } | AgentEvent::ApprovalRequested { .. } => {
                let what = session.last.clone();
                self.notify(ProgressEvent::Activity { phase, session: id, what });
            }
            AgentEvent::ApprovalResolved { allowed: false } => self.on_call_refused(p),
            AgentEvent::Signal(signal) if signal.channel != crate::facts::SignalSource::ToolOutput => {
                if signal.retrying {
                    self.on_agent_retry(p, signal);
                }
                self.assess_at_work(p, AssessTrigger::Signal);
            }
            AgentEvent::Compacted { trigger, before_tokens, after_tokens } => {
                let asked = *trigger == CompactionTrigger::Asked;
                let (before, after) = (*before_tokens, *after_tokens);
                self.notify(ProgressEvent::Compacted { phase, session: id, asked, before, after });
                match asked {
                    true => self.on_compacted(p),
                    false => self.on_context_lost(p),
                }
            }
            AgentEvent::CompactionFailed { text } => self.on_compaction_failed(p, text),
            AgentEvent::PromptEnded { .. } => {
                let text = session.last_words();
                if !text.is_empty() {
                    self.notify_unnumbered(ProgressEvent::Said { phase, session: id, text });
                }
                self.on_prompt_ended(p);
            }
            AgentEvent::Omitted { events, text_bytes } => {
                let (events, text_bytes) = (*events, *text_bytes);
                self.notify(ProgressEvent::OutputOmitted { phase, session: id, events, text_bytes });
            }
            AgentEvent::Refused(refusal) => {
                let refusal = refusal.clone();
                self.notify(ProgressEvent::Refused { phase, session: id, refusal });
            }
            _ => {}
        }
    }

    /// A wait in place is not over yet: the prompt may have ended because the agent gave up on it.
    fn on_prompt_ended(&mut self, p: PhaseIndex) {
        let (focus, interrupted) = match self.phases[p].step.clone() {
            PhaseStep::Working { focus, interrupted, .. } => (focus, interrupted),
            PhaseStep::Compacting { answer_bytes, .. } => return self.on_compaction_refused(p, answer_bytes),
            _ => return,
        };
        if let Some(session) = self.session_mut(p) {
            session.state = SessionState::Idle;
        }
        if interrupted {
            self.end_agent_quota_wait(p);
            self.nudge(p, focus);
        } else {
            self.measure(p, AssessTrigger::PromptEnded, focus);
        }
    }

    fn on_compacted(&mut self, p: PhaseIndex) {
        if let PhaseStep::Compacting { .. } = self.phases[p].step {
            if let Some(session) = self.session_mut(p) {
                session.state = SessionState::Idle;
            }
            self.request_next_prompt(p, PromptKind::ReOriented);
        }
    }

    /// A compaction that was asked for ends in no `PromptEnded`: an agent that only answers has refused it.
    fn on_compaction_refused(&mut self, p: PhaseIndex, answer_bytes: u64) {
        let said = self.session_mut(p).map(|session| session.split_off_answer(answer_bytes));
        let said = said.as_deref().map(str::trim).filter(|said| !said.is_empty());
        self.on_compaction_failed(p, said.unwrap_or("the agent answered, and did not compact"));
    }

    pub(super) fn on_session_exited(&mut self, id: &SessionId, exit: ProcessExit) {
        let Some(session) = self.sessions.get_mut(id) else {
            return;
        };
        if !session.is_alive() {
            return;
        }
        let (turns, done, prompts) = (session.turns, session.done, session.prompts);
        session.end(exit, "ended");
        let Some(p) = self.phase_of(id) else { return };
        self.phases[p].turns.before += turns;
        self.phases[p].succession.objectives_done_by_session = done;
        if self.ending.is_some() {
            return;
        }
        if self.stopping {
            return self.measure_after_stop(p);
        }
        self.end_agent_quota_wait(p);
        match self.phases[p].step.clone() {
            PhaseStep::EndingSession { then } => self.continue_after_session(p, then),
            // The conversation is gone, or the agent would not: a handoff of what is known, and nothing is counted.
            PhaseStep::Working { .. } | PhaseStep::Starting { .. }
                if !exit.by_host && self.could_not_resume(p) =>
            {
                self.replace_session(p, SuccessorReason::Uncounted, EndCause::from_host(NOT_RESUMED));
            }
            PhaseStep::Working { focus, .. } => self.measure(p, AssessTrigger::SessionEnded, focus),
            PhaseStep::Starting { .. } => self.measure(p, AssessTrigger::SessionEnded, Vec::new()),
            PhaseStep::Scoping { .. }
            | PhaseStep::DecidingOffload { .. }
            | PhaseStep::Offloading { .. }
            | PhaseStep::ComposingPrompt { .. }
            | PhaseStep::RevalidatingHandoff { .. }
            | PhaseStep::RereviewingHandoff { .. }
            | PhaseStep::DecidingCompaction { .. }
            | PhaseStep::Summarising { .. }
            | PhaseStep::Compacting { .. } => {
                // An agent may end by itself after its work; one that did nothing is not started again and again.
                let succession =
                    if prompts > 0 && done > 0 { SuccessorReason::Uncounted } else { SuccessorReason::Retry };
                let because = EndCause::from_host("the agent's process ended between two prompts");
                self.replace_session(p, succession, because);
            }
            _ => {}
        }
    }

    /// A session that was to end before its agent had started, and whose agent cannot start: nothing else will say that it is gone.
    pub(super) fn end_failed_start(&mut self, intent: &Intent, outcome: &ActionOutcome) {
        let (Action::Spawn(spec), ActionOutcome::Failed { .. } | ActionOutcome::Unstartable { .. }) =
            (&intent.action, outcome)
        else {
            return;
        };
        if self.stopping || self.ending.is_some() || self.phase_waiting_for(intent.id).is_none() {
            self.on_session_exited(&spec.session, ProcessExit { code: None, signal: None, by_host: true });
        }
    }

    /// Asks for the prompt of what comes next.
    pub(super) fn request_next_prompt(&mut self, p: PhaseIndex, kind: PromptKind) {
        let focus = self.next_prompt_focus(p, kind);
        self.brief(p, kind, focus);
    }

    /// One objective at a time; the lead gets all that is left (C18).
    pub(super) fn next_prompt_focus(&self, p: PhaseIndex, kind: PromptKind) -> Vec<ObjectiveIndex> {
        let phase = &self.phases[p];
        let focus = match kind {
            PromptKind::Merging => phase.open_objectives().map(|(g, _)| g).collect(),
            _ => phase.next_focus(),
        };
        if focus.is_empty() { phase.objectives.indices().next_back().into_iter().collect() } else { focus }
    }

    /// The agent compacted its context by itself: its next prompt tells it where it is (B11).
    fn on_context_lost(&mut self, p: PhaseIndex) {
        if let Some(session) = self.session_mut(p) {
            session.lost_context = true;
        }
    }

    pub(super) fn brief(&mut self, p: PhaseIndex, kind: PromptKind, focus: Vec<ObjectiveIndex>) {
        let has_lost_context = self.session(p).is_some_and(|session| session.lost_context);
        let kind = match kind {
            PromptKind::Next if has_lost_context => PromptKind::ReOriented,
            kind => kind,
        };
        let is_declined =
            self.session_mut(p).is_some_and(|session| std::mem::take(&mut session.is_split_declined));
        let kind = match kind {
            PromptKind::Next if is_declined => {
                self.phases[p].succession.end_cause =
                    EndCause::from_host("the split that you asked for was declined");
                PromptKind::Nudged
            }
            kind => kind,
        };
        // A prompt into a limit that is known would only be refused, and may lengthen it for everybody.
        if let Some(wait) = self.provider_wait(p) {
            return self.join_wait(p, wait, focus);
        }
        self.offload_then_prompt(p, kind, focus);
    }

    pub(super) fn request_prompt_delivery(
        &mut self,
        p: PhaseIndex,
        kind: PromptKind,
        focus: Vec<ObjectiveIndex>,
        text: &str,
    ) {
        let now = self.now;
        let spoke =
            self.last_prompted_session(p).map(|session| (session.answer_tail.clone(), session.id.clone()));
        let Some(session) = self.session_mut(p) else {
            return;
        };
        session.begin_prompt(now);
        session.lost_context = false;
        let (id, prompt, is_resumed) = (session.id.clone(), session.prompts, session.is_resumed);
        let earlier = self.phases[p].sessions.iter().rev().find(|known| **known != id).cloned();
        let beside = self.live_phases_in_same_folder(p);
        for q in &beside {
            self.phases[*q].measurements.has_company = true;
            self.phases[*q].committed_work.folder_was_shared = true;
        }
        let phase = &mut self.phases[p];
        phase.handoffs.has_unrecorded_progress = true;
        // What an earlier session wrote for its successor is not this one's word; it stays until something is finished by it.
        if prompt == 1
            && let Some((by @ None, _)) = &mut phase.handoffs.reported
        {
            *by = earlier;
        }
        if let Some((answer, by)) = spoke {
            phase.record_denied_objectives(&focus, &answer, Some(&by));
        }
        if kind == PromptKind::Nudged && (prompt > 1 || is_resumed) {
            // It may be asked for more than it was prompted for, by what it reported beside that.
            phase.measurements.extend_focus(&focus);
        } else {
            // What an earlier session changed shows nothing of this one.
            phase.measurements.set_focus(&focus, prompt == 1 && !is_resumed);
        }
        phase.measurements.has_company |= !beside.is_empty();
        phase.committed_work.folder_was_shared |= !beside.is_empty();
        phase.committed_work.review = None;
        phase.assessment.begin_prompt(prompt == 1);
        for g in &focus {
            let objective = &mut phase.objectives[*g];
            objective.attempts += 1;
            if objective.claim == ClaimStatus::Unshown {
                objective.claim = ClaimStatus::Measured;
            }
            if !objective.is_done() {
                objective.set_status(ObjectiveStatus::InProgress, now);
            }
        }
        phase.assessment.prompt_cut_off = false;
        let ids: Vec<_> = focus.iter().map(|g| phase.objectives[*g].spec.id.clone()).collect();
        let because =
            if kind == PromptKind::Nudged { phase.succession.end_cause.user_text() } else { "" }.to_owned();
        let (phase, session) = (phase.spec.id.clone(), id.clone());
        self.notify(ProgressEvent::Prompted { phase, session, kind, focus: ids.clone(), because });
        let text = TextBlob::new(text);
        let action = self.emit(Action::Prompt { session: id, prompt, kind, focus: ids, text });
        self.phases[p].step = PhaseStep::Working { action, focus, interrupted: false };
    }

    /// Other phases whose sessions work in the same folder.
    pub(super) fn live_phases_in_same_folder(&self, p: PhaseIndex) -> Vec<PhaseIndex> {
        let is_beside = |q: &PhaseIndex| {
            *q != p && self.phases[*q].tree == self.phases[p].tree && self.has_live_session(*q)
        };
        self.phases.indices().filter(is_beside).collect()
    }

    /// Between two prompts: first a summary of what is new, so that one exists whenever the agent compacts by itself (B2). Reviews and
    /// merges, which the host made, are one step each; a recording has no agent.
    pub(super) fn boundary(&mut self, p: PhaseIndex) {
        if !self.may_summarise(p) || !self.write_summaries(p, OnSummary::Boundary) {
            self.continue_from_boundary(p);
        }
    }

    pub(super) fn may_summarise(&self, p: PhaseIndex) -> bool {
        !self.phases[p].lineage.is_made_by_host() && self.workflow.imported.is_none()
    }

    /// What is finished is verified; else the fixed order asks splitting, then compaction.
    pub(super) fn continue_from_boundary(&mut self, p: PhaseIndex) {
        if self.commits_at_boundary(p) {
            self.request_commit_to_branch(p, OnCommit::Boundary);
        } else if self.phases[p].is_finished() {
            self.measure_before_checks(p);
        } else if !self.pause_at_ceiling(p) {
            if !self.has_live_session(p) {
                self.start_successor(p, SuccessorReason::Uncounted);
            } else if self.is_out_of_turns(p) {
                if !self.ask_for_turns(p, OnTurnBudget::Boundary) {
                    self.end_at_turn_limit(p);
                }
            } else if self.phases[p].split.request.is_some() {
                self.scope(p, SplitTrigger::Requested);
            } else {
                self.scope(p, SplitTrigger::Boundary);
            }
        }
    }

    /// An objective is done; where it was before, with the stronger of both kinds of evidence.
    pub(super) fn objective_done(
        &mut self,
        p: PhaseIndex,
        g: ObjectiveIndex,
        by: Option<SessionId>,
        basis: EvidenceKind,
    ) {
        let now = self.now;
        let objective = &mut self.phases[p].objectives[g];
        objective.done_by = Some(objective.done_by.map_or(basis, |known| known.min(basis)));
        if objective.is_done() {
            return;
        }
        objective.set_status(ObjectiveStatus::Done, now);
        objective.has_lost_work = false;
        objective.reported.take_if(|said| said.before_prompt.is_some());
        objective.by.clone_from(&by);
        objective.judged_by.clone_from(&self.answering_policy);
        let done_by = by.clone();
        let objective = objective.spec.id.clone();
        if let Some(session) = by.and_then(|id| self.sessions.get_mut(&id)) {
            session.done += 1;
        }
        let phase = &mut self.phases[p];
        // Its successor has gone on from there: what it leaves itself is newer.
        phase.handoffs.reported.take_if(|(author, _)| author.is_some() && *author != done_by);
        let (done, of) = (phase.done_count(), phase.objectives.len() as u32);
        let phase = phase.spec.id.clone();
        let judged_by = self.answering_policy.clone();
        self.notify(ProgressEvent::ObjectiveDone { phase, objective, basis, judged_by, done, of });
    }

    /// Ends the session, if there is one, and continues from there once it is gone.
    pub(super) fn end_session(&mut self, p: PhaseIndex, then: OnSessionEnd, reason: &str) {
        match self.phases[p].session.clone() {
            Some(session) if self.has_live_session(p) => {
                if let (OnSessionEnd::Complete | OnSessionEnd::Review, Some(session)) =
                    (&then, self.session_mut(p))
                {
                    "done".clone_into(&mut session.ending);
                }
                self.phases[p].step = PhaseStep::EndingSession { then };
                self.emit(Action::EndSession { session, reason: reason.to_owned() });
            }
            _ => self.continue_after_session(p, then),
        }
    }

    pub(super) fn continue_after_session(&mut self, p: PhaseIndex, then: OnSessionEnd) {
        match then {
            OnSessionEnd::StartSuccessor(succession) => self.start_successor(p, succession),
            OnSessionEnd::Split(parts) => self.hand_off_to_parts(p, parts),
            OnSessionEnd::Review => self.begin_review(p),
            OnSessionEnd::Iterate => self.iterate(p),
            OnSessionEnd::Pause { about, text } => self.ask_person(p, about, text),
            OnSessionEnd::Skip => self.skip(p),
            OnSessionEnd::Complete => self.complete(p),
        }
    }
}
