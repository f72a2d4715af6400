//! What follows from a verdict: done, continuation (A6–A8), retry, nudge, backoff. Waits for a provider are in
//! `quota.rs`.

use crate::action::Action;
use crate::decision::{
    Assessment, CompletionDecision, Decision, Evidence, Fault, QuotaCause, RecoveryAction, Verdict,
};
use crate::facts::WorkspaceFacts;
use crate::ids::{ObjectiveId, RequestId};
use crate::observation::{AssessTrigger, ObjectiveStatus, PromptKind, SplitTrigger};
use crate::progress::ProgressEvent;
use crate::time::DurationMs;
use crate::workflow::BUILTIN;

use super::Run;
use super::conversation_resume::NOT_RESUMED;
use super::end_cause::EndCause;
use super::judgment::Judgment;
use super::phase::ObjectiveIndex;
use super::phase_list::PhaseIndex;
use super::quota::words_of;
use super::session::Session;
use super::step::{OnSessionEnd, OnSummary, OnTurnBudget, PauseReason, PhaseStep};
use super::successor_reason::SuccessorReason;
use super::turn_budget::TurnRequest;

/// No wait between two tries is longer: a person who looks sees something move.
const MAX_BACKOFF: DurationMs = DurationMs::from_mins(5);

/// The questions about a session at work: their answers change the course only where they must, so the phase does not wait for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SessionQueries {
    /// How it is. One question at a time; what comes meanwhile asks once more.
    assessing: Option<RequestId>,
    again: bool,
    /// What to do, now that it stalls.
    recovering: Option<(RequestId, Box<Judgment>)>,
    /// Whether its phase gets more turns, now that they are used up.
    pub(super) turns: Option<TurnRequest>,
    /// What was on disk when that was asked.
    pub(super) measured_facts: WorkspaceFacts,
}

impl SessionQueries {
    /// What was asked about a stall, where nothing has been answered yet.
    pub(super) fn recovering(&self) -> Option<RequestId> {
        self.recovering.as_ref().map(|(request, _)| *request)
    }

    pub(super) fn waits_for(&self, request: RequestId) -> bool {
        [self.assessing, self.recovering()].contains(&Some(request))
            || self.turns == Some(TurnRequest::Asked(request))
    }
}

impl Run {
    pub(super) fn on_workspace_measured(
        &mut self,
        p: PhaseIndex,
        occasion: AssessTrigger,
        focus: Vec<ObjectiveIndex>,
    ) {
        self.reopen_contradicted(p);
        self.extract_review_score(p);
        let answer = self.session(p).map(|session| session.answer_tail.as_str()).unwrap_or_default();
        let focus = self.phases[p].objectives_to_judge(focus, answer);
        let phase = &mut self.phases[p];
        phase.assessment.done_when_asked =
            focus.iter().copied().filter(|g| phase.objectives[*g].is_done()).collect();
        let request = self.ask_assessment(p, occasion, &focus);
        self.phases[p].step = PhaseStep::Assessing { request, occasion, focus };
    }

    /// While the agent works: the phase does not wait for the answer, one question at a time.
    pub(super) fn assess_at_work(&mut self, p: PhaseIndex, occasion: AssessTrigger) {
        let Some(focus) = self.focus_at_work(p) else { return };
        match self.session_mut(p) {
            Some(session) if session.at_work.assessing.is_some() => session.at_work.again = true,
            Some(_) => {
                let request = self.ask_assessment(p, occasion, &focus);
                if let Some(session) = self.session_mut(p) {
                    session.used_at_last_query = session.used_tokens;
                    session.at_work.assessing = Some(request);
                }
            }
            None => {}
        }
    }

    /// The objectives that its session is at work on. Nothing where it is not: what a session does is judged when it has ended,
    /// and what was asked while it was at work changes nothing by then.
    fn focus_at_work(&self, p: PhaseIndex) -> Option<Vec<ObjectiveIndex>> {
        match &self.phases[p].step {
            PhaseStep::Working { focus, .. } => Some(focus.clone()),
            PhaseStep::Starting { .. } | PhaseStep::Compacting { .. } => Some(Vec::new()),
            _ => None,
        }
    }

    /// Takes an answer to one of the questions about a session at work. An answer of another kind changes nothing.
    pub(super) fn apply_answer_at_work(
        &mut self,
        p: PhaseIndex,
        request: RequestId,
        result: &Result<Decision, Fault>,
    ) {
        if self.session(p).is_some_and(|session| session.at_work.turns == Some(TurnRequest::Asked(request))) {
            return self.apply_turn_budget_at_work(p, result);
        }
        let is_at_work = self.focus_at_work(p).is_some();
        let Some(at_work) = self.session_mut(p).map(|session| &mut session.at_work) else {
            return;
        };
        if at_work.assessing != Some(request) {
            if let (Some((_, judgment)), Ok(Decision::Recovery(decision)), true) =
                (at_work.recovering.take(), result, is_at_work)
            {
                self.apply_stall_recovery(p, &judgment, &decision.action);
            }
            return;
        }
        at_work.assessing = None;
        let again = std::mem::take(&mut at_work.again);
        if let Ok(Decision::Exhaustion(assessment)) = result {
            self.warn(p, assessment);
            match assessment.verdict {
                Verdict::Quota { cause, resets_at_ms: until } => {
                    let said = self.attributed_to_policy("says", &words_of(assessment));
                    self.begin_agent_quota_wait(p, cause, until, said);
                }
                Verdict::Stalled => self.ask_stall_recovery(p, assessment),
                // Only what has ended is judged; its evidence stays with the session until then.
                _ => {}
            }
        }
        if again {
            self.assess_at_work(p, AssessTrigger::Signal);
        }
    }

    fn ask_stall_recovery(&mut self, p: PhaseIndex, assessment: &Assessment) {
        let Some(focus) = self.focus_at_work(p) else { return };
        let judgment = Judgment::of(assessment, self.answering_policy.clone());
        let request = self.ask_recovery(p, AssessTrigger::Heartbeat, &focus, &judgment);
        if let Some(session) = self.session_mut(p) {
            session.at_work.recovering = Some((request, Box::new(judgment)));
        }
    }

    fn warn(&mut self, p: PhaseIndex, assessment: &Assessment) {
        let now = self.now;
        let phase = self.phases[p].spec.id.clone();
        let Some(message) =
            assessment.warning.as_ref().map(|words| self.attributed_to_policy("warns", words))
        else {
            return;
        };
        if let Some(session) = self.session_mut(p).filter(|session| !session.warned) {
            session.warned = true;
            let (session, occupancy) = (session.id.clone(), session.occupancy(now));
            self.notify(ProgressEvent::Warned { phase, session, occupancy, message });
        }
    }

    /// A session is nudged at most `[limits] nudges` times before it finishes something. A policy has a bound of its own
    /// (`max-nudges` of the built-in one): the smaller one wins.
    fn apply_stall_recovery(&mut self, p: PhaseIndex, judgment: &Judgment, action: &RecoveryAction) {
        let limit = self.workflow.limits.nudges;
        let Some(session) = self.session_mut(p) else {
            return;
        };
        let (id, may_interrupt) = (session.id.clone(), session.capabilities.interrupts);
        match (action, &mut self.phases[p].step) {
            (RecoveryAction::Wait, _) => {}
            (RecoveryAction::Nudge | RecoveryAction::Interrupt, PhaseStep::Working { interrupted, .. })
                if may_interrupt && !*interrupted =>
            {
                *interrupted = true;
                let Some(session) = self.session_mut(p) else {
                    return;
                };
                session.nudges += 1;
                if session.nudges > limit {
                    return self.end_with_default_successor(p, judgment);
                }
                self.phases[p].succession.end_cause = judgment.cause();
                self.emit(Action::Interrupt { session: id });
            }
            (RecoveryAction::AskPerson { question }, _) => {
                let asked = self.question_about_judgment(judgment, question);
                self.pause(p, PauseReason::Blocked, asked);
            }
            _ => self.apply_session_replacement(p, judgment, action),
        }
    }

    /// The session is over, whatever is done next: one that cannot be waited for or nudged is replaced.
    fn apply_session_replacement(&mut self, p: PhaseIndex, judgment: &Judgment, action: &RecoveryAction) {
        match action {
            RecoveryAction::HandOff => self.end_with_judgment(p, judgment, SuccessorReason::Continuation),
            RecoveryAction::Retry => self.end_with_judgment(p, judgment, SuccessorReason::Retry),
            RecoveryAction::OtherRole { role } => self.hand_over_to_role(p, role, judgment),
            RecoveryAction::Split => self.split_after(p, judgment),
            RecoveryAction::AskPerson { .. }
            | RecoveryAction::Wait
            | RecoveryAction::Nudge
            | RecoveryAction::Interrupt => self.end_with_default_successor(p, judgment),
        }
    }

    fn end_with_default_successor(&mut self, p: PhaseIndex, judgment: &Judgment) {
        self.end_with_judgment(p, judgment, judgment.succession());
    }

    fn end_with_judgment(&mut self, p: PhaseIndex, judgment: &Judgment, then: SuccessorReason) {
        self.notify_stop(p, judgment);
        // A handoff after a finished objective, as every prompt asks for it (C20), uses up no continuation where the context of its
        // session has room, or it is unknown.
        let is_at_boundary = judgment.assessment.verdict == Verdict::HandedOff
            && then == SuccessorReason::Continuation
            && self.session(p).is_some_and(|session| session.done > 0 && !session.is_half_full());
        // What the end of the host cut off is not the fault of the agent.
        let then = if self.phases[p].assessment.prompt_cut_off || is_at_boundary {
            SuccessorReason::Uncounted
        } else {
            then
        };
        self.replace_session(p, then, judgment.cause());
    }

    fn split_after(&mut self, p: PhaseIndex, judgment: &Judgment) {
        self.notify_stop(p, judgment);
        self.phases[p].succession.end_cause = judgment.cause();
        self.scope(p, SplitTrigger::OutOfContinuations);
    }

    /// The next session has the agent of another role. A policy gives no agent rights that the workflow did not give this phase: the
    /// router refuses such an answer, and here a person is asked.
    fn hand_over_to_role(&mut self, p: PhaseIndex, role: &str, judgment: &Judgment) {
        let may_have_it = self.workflow.other_roles(&self.phases[p].spec).any(|other| other == role);
        if may_have_it {
            (self.phases[p].spec.role, self.phases[p].spec.agent) = (role.into(), None);
            return self.end_with_default_successor(p, judgment);
        }
        let policy = self.answering_policy.as_deref().unwrap_or(BUILTIN);
        let text =
            format!("The policy {policy} hands the phase to the role {role:?}, which may not have it.");
        self.notify_stop(p, judgment);
        let known = "it was to be handed to a role that may not have it";
        self.pause(p, PauseReason::Blocked, EndCause::from_policy(&text, known));
    }

    fn notify_stop(&mut self, p: PhaseIndex, judgment: &Judgment) {
        let evidence = self.shown_evidence(p, judgment);
        self.record_session_end(p, judgment.word(), evidence, judgment.attributed_reason());
        self.phases[p].assessment.judged_by.clone_from(&judgment.by);
    }

    /// The evidence as people read it. Words that another policy says a signal has, and that are not in it, are that policy's own: they
    /// are shown under no other name.
    fn shown_evidence(&self, p: PhaseIndex, judgment: &Judgment) -> Vec<Evidence> {
        let mut evidence = judgment.evidence().to_vec();
        let is_said = |piece: &Evidence| self.session(p).is_some_and(|session| session.has_said(piece));
        for piece in evidence.iter_mut().filter(|piece| judgment.by.is_some() && !is_said(piece)) {
            piece.seq = None;
        }
        evidence
    }

    /// Notes and tells how the session of a phase ended.
    pub(super) fn record_session_end(
        &mut self,
        p: PhaseIndex,
        ending: &str,
        evidence: Vec<Evidence>,
        reason: String,
    ) {
        // By the host, unless a judgment says otherwise.
        self.phases[p].assessment.judged_by = None;
        let phase = self.phases[p].spec.id.clone();
        if let Some(session) = self.session_mut(p) {
            ending.clone_into(&mut session.ending);
            let (session, verdict) = (session.id.clone(), ending.to_owned());
            self.notify(ProgressEvent::Stopped { phase, session, verdict, evidence, reason });
        }
    }

    pub(super) fn apply_verdict(
        &mut self,
        p: PhaseIndex,
        occasion: AssessTrigger,
        focus: &[ObjectiveIndex],
        a: &Assessment,
    ) {
        self.warn(p, a);
        if !matches!(a.verdict, Verdict::Quota { cause, .. } if cause != QuotaCause::Billing) {
            self.end_agent_quota_wait(p);
        }
        let asks_for_split = self.phases[p].split.request.is_some();
        match a.verdict {
            // A session that ended before it was given anything has answered nothing.
            Verdict::Answered | Verdict::HandedOff if focus.is_empty() => {
                self.end_with_judgment(
                    p,
                    &Judgment::of(a, self.answering_policy.clone()),
                    SuccessorReason::Retry,
                );
            }
            // An agent that asks for a split stops where it is: what it has not reported done is still open (D2).
            Verdict::Answered if asks_for_split && self.phases[p].assessment.done_when_asked.is_empty() => {
                self.boundary(p)
            }
            Verdict::Answered => {
                let request = self.ask_completion(p, occasion, focus, a.clone());
                let (focus, assessment) = (focus.to_vec(), Box::new(a.clone()));
                self.phases[p].step = PhaseStep::DecidingCompletion { request, occasion, focus, assessment };
            }
            // The contract rules this out for what has ended; a policy that says it is taken for broken.
            Verdict::Healthy => {
                let what = if occasion == AssessTrigger::SessionEnded { "session" } else { "prompt" };
                let text = format!("The policy calls a {what} healthy that has ended: {}", a.reason);
                self.pause(p, PauseReason::Blocked, text);
            }
            // Some agents find out only when they are asked.
            Verdict::Failed if self.could_not_resume(p) => {
                self.replace_session(p, SuccessorReason::Uncounted, EndCause::from_host(NOT_RESUMED));
            }
            // Who asks for smaller scopes instead of doing the work has done its job (D2).
            Verdict::Truncated
            | Verdict::Stalled
            | Verdict::Interrupted
            | Verdict::Refused
            | Verdict::Failed
                if asks_for_split =>
            {
                self.scope(p, SplitTrigger::Requested);
            }
            Verdict::Truncated
            | Verdict::Stalled
            | Verdict::Interrupted
            | Verdict::Unauthenticated
            | Verdict::NeedsInput
            | Verdict::Refused
            | Verdict::Failed
            | Verdict::HandedOff
            | Verdict::Exhausted
            | Verdict::Quota { .. }
            | Verdict::TurnLimit
            | Verdict::BudgetLimit => {
                let judgment = Judgment::of(a, self.answering_policy.clone());
                self.enter_recovery(p, occasion, focus.to_vec(), judgment);
            }
        }
    }

    fn enter_recovery(
        &mut self,
        p: PhaseIndex,
        occasion: AssessTrigger,
        focus: Vec<ObjectiveIndex>,
        judgment: Judgment,
    ) {
        let request = self.ask_recovery(p, occasion, &focus, &judgment);
        self.phases[p].step =
            PhaseStep::DecidingRecovery { request, occasion, focus, judgment: Box::new(judgment) };
    }

    /// What is done is done; what of the prompt is not is asked about.
    pub(super) fn apply_completion(
        &mut self,
        p: PhaseIndex,
        occasion: AssessTrigger,
        focus: &[ObjectiveIndex],
        assessment: Assessment,
        decision: &CompletionDecision,
    ) {
        let objectives = &self.phases[p].objectives;
        let (done, left): (Vec<ObjectiveIndex>, Vec<ObjectiveIndex>) =
            focus.iter().partition(|g| decision.done.contains(&objectives[**g].spec.id));
        let asks_for_split = self.phases[p].split.request.is_some();
        if left.is_empty() && !asks_for_split {
            return self.complete_focus(p, focus, &decision.evidence);
        }
        // What its agent reported as done is not, by something else that it said. What was reported meanwhile is judged next time.
        let taken_back = left.iter().filter(|g| self.phases[p].assessment.done_when_asked.contains(g));
        for g in taken_back.copied().collect::<Vec<_>>() {
            let because = self.attributed_to_policy("says", &decision.reason);
            self.reopen(p, g, ObjectiveStatus::InProgress, &because);
        }
        // It stopped where it was: what it did not report as done is for the parts.
        if asks_for_split {
            let stays = |g: &ObjectiveIndex| self.phases[p].assessment.done_when_asked.contains(g);
            let done: Vec<ObjectiveIndex> = done.into_iter().filter(stays).collect();
            self.mark_done(p, &done);
            return self.boundary(p);
        }
        // What its policy calls done and lacks evidence is left as well, and the session learns what it lacks.
        let lacking = self.mark_done(p, &done);
        let is_open = |g: &ObjectiveIndex| !self.phases[p].objectives[*g].is_done();
        let left = focus.iter().copied().filter(is_open).collect();
        let mut decision = decision.clone();
        let lacking = lacking.join("; ");
        if !lacking.is_empty() {
            decision.reason = format!("{}; {lacking}", decision.reason);
        }
        let by = self.answering_policy.clone();
        let judgment = Judgment { assessment, completion: Some(decision), lacking, by };
        self.enter_recovery(p, occasion, left, judgment);
    }

    /// Nudges are bounded as in `apply_stall_recovery`.
    pub(super) fn apply_recovery(
        &mut self,
        p: PhaseIndex,
        focus: &[ObjectiveIndex],
        judgment: &Judgment,
        action: &RecoveryAction,
    ) {
        let (alive, limit) = (self.has_live_session(p), self.workflow.limits.nudges);
        match (action, judgment.assessment.verdict) {
            (RecoveryAction::AskPerson { question }, _) => {
                self.notify_stop(p, judgment);
                // Work that was never begun cannot be accepted as done.
                let has_worked = self.session(p).is_some_and(Session::has_worked);
                let is_unproven = judgment.is_about_work() && has_worked && !focus.is_empty();
                focus.clone_into(&mut self.phases[p].assessment.unproven_objectives);
                // What its agent itself calls not done, or what lacks an expected file, is not offered as done first.
                let is_missing = |g: &ObjectiveIndex| self.phases[p].is_file_missing(*g);
                let is_denied = is_unproven && (self.denies(p) || focus.iter().any(is_missing));
                let about = match judgment.assessment.verdict {
                    _ if !is_unproven => PauseReason::Blocked,
                    Verdict::NeedsInput => PauseReason::Asked,
                    _ if is_denied => PauseReason::Asked,
                    _ => PauseReason::Unproven,
                };
                let asked = self.question_about_judgment(judgment, question);
                self.pause(p, about, asked);
            }
            (RecoveryAction::Wait, Verdict::Quota { cause, resets_at_ms: until }) => {
                let said = judgment.attributed_words(words_of(&judgment.assessment));
                self.begin_host_quota_wait(p, cause, until, focus, said, judgment.by.clone())
            }
            (RecoveryAction::Wait | RecoveryAction::Nudge | RecoveryAction::Interrupt, _) => {
                match self.session_mut(p) {
                    Some(session) if alive && session.nudges < limit => {
                        session.nudges += 1;
                        self.phases[p].succession.end_cause = judgment.cause();
                        self.nudge(p, focus.to_vec());
                    }
                    _ => self.end_with_default_successor(p, judgment),
                }
            }
            _ => self.apply_session_replacement(p, judgment, action),
        }
    }

    /// Asks for the same again, less what the agent has reported done meanwhile; if that is all of it, the phase continues.
    pub(super) fn nudge(&mut self, p: PhaseIndex, mut focus: Vec<ObjectiveIndex>) {
        let phase = &self.phases[p];
        focus.retain(|g| !phase.objectives[*g].is_done());
        let has_lost_context = self.session(p).is_some_and(|session| session.lost_context);
        if focus.is_empty() {
            self.boundary(p);
        } else if !has_lost_context
            || !self.may_summarise(p)
            || !self.write_summaries(p, OnSummary::RepeatPrompt(focus.clone()))
        {
            self.brief(p, PromptKind::Nudged, focus);
        }
    }

    /// The session is over. It ends first, so that nothing moves while what it leaves is measured and written down;
    /// `start_successor` does that before another begins.
    pub(super) fn replace_session(&mut self, p: PhaseIndex, then: SuccessorReason, because: EndCause) {
        self.phases[p].succession.end_cause = because;
        if let Some(session) = self.session_mut(p) {
            session.at_work = SessionQueries::default();
        }
        if self.phases[p].is_finished() {
            return self.measure_before_checks(p);
        }
        self.start_successor(p, then);
    }

    /// A new session, where one is allowed; else smaller scopes, or a person. Whatever happened since the last handoff
    /// is handed off first, whichever way the session ended.
    pub(super) fn start_successor(&mut self, p: PhaseIndex, then: SuccessorReason) {
        if then == SuccessorReason::Over {
            return self.finish_phase(p);
        }
        if self.has_live_session(p) {
            return self.end_session(p, OnSessionEnd::StartSuccessor(then), "another session takes over");
        }
        if self.phases[p].handoffs.has_unrecorded_progress && self.phases[p].session.is_some() {
            return self.measure_after_exit(p, then);
        }
        if then == SuccessorReason::Parts {
            return self.resume_split(p);
        }
        if self.pause_at_ceiling(p) {
            return;
        }
        if self.phases[p].split.request.is_some() {
            return self.scope(p, SplitTrigger::Requested);
        }
        let is_last = then == SuccessorReason::Continuation && !self.may_continue(p);
        if self.is_out_of_turns(p) {
            if self.ask_for_turns(p, OnTurnBudget::StartSuccessor(then)) {
                return;
            }
            let goes_on = then == SuccessorReason::Continuation && !is_last;
            if !goes_on || !self.give_continuation_turns(p) {
                return self.scope(p, SplitTrigger::OutOfContinuations);
            }
        } else if is_last {
            return self.scope(p, SplitTrigger::OutOfContinuations);
        }
        match then {
            SuccessorReason::Uncounted | SuccessorReason::Parts | SuccessorReason::Over => {
                self.request_spawn(p)
            }
            SuccessorReason::Continuation => {
                self.phases[p].succession.continuations += 1;
                self.request_spawn(p);
            }
            SuccessorReason::Retry => self.retry(p),
        }
    }

    fn retry(&mut self, p: PhaseIndex) {
        let limit = self.workflow.limits.retries;
        let because = self.phases[p].succession.end_cause.user_text().to_owned();
        let id = self.phases[p].spec.id.clone();
        // The workflow does not ask for this review by name: one session is what it is worth.
        if self.is_default_review(p) {
            return self.pause(p, PauseReason::Blocked, because);
        }
        // Progress makes a failure the first one again.
        let done = self.phases[p].done_count();
        let retries = self.phases[p].succession.retries_used(done);
        (self.phases[p].succession.retries, self.phases[p].succession.done_at_retry) = (retries, done);
        if self.phases[p].succession.retries >= limit {
            let text = format!("Phase {id} failed {} times: {because}", limit + 1);
            return self.pause(p, PauseReason::Blocked, text);
        }
        self.phases[p].succession.retries += 1;
        let attempt = self.phases[p].succession.retries;
        let after = self.backoff(attempt - 1);
        self.notify(ProgressEvent::Retrying { phase: id, attempt, of: limit, after, because });
        self.phases[p].step = PhaseStep::Backoff { until: self.now + after };
    }

    pub(super) fn backoff(&self, doublings: u32) -> DurationMs {
        let first = self.workflow.limits.backoff.0;
        DurationMs(first.saturating_mul(1 << doublings.min(16))).min(MAX_BACKOFF)
    }

    /// At most n continuations, and each must have finished something (A8). Where one objective alone is open, and nothing smaller could
    /// be finished, files that the session changed are that.
    fn may_continue(&self, p: PhaseIndex) -> bool {
        let phase = &self.phases[p];
        let has_moved =
            || phase.open_objectives().count() == 1 && phase.measurements.changed_by_session() > 0;
        let idle = phase.succession.continuations > 0
            && phase.succession.objectives_done_by_session == 0
            && !has_moved();
        phase.succession.continuations < self.continuations_allowed(p) && !idle
    }

    pub(super) fn why_no_continuation(&self, p: PhaseIndex) -> String {
        let phase = &self.phases[p];
        if self.is_out_of_turns(p) {
            self.why_out_of_turns(p)
        } else if phase.succession.continuations >= self.continuations_allowed(p) {
            format!("its {} continuations are used up", phase.succession.continuations)
        } else {
            "the last continuation finished none".to_owned()
        }
    }

    pub(super) fn continuations_allowed(&self, p: PhaseIndex) -> u32 {
        self.phases[p].spec.continuations.unwrap_or(self.workflow.limits.continuations)
    }

    pub(super) fn remaining(&self, p: PhaseIndex) -> Vec<ObjectiveId> {
        self.phases[p].open_objectives().map(|(_, objective)| objective.spec.id.clone()).collect()
    }
}
