//! What follows from a verdict: done, continuation (A6–A8), retry, nudge, backoff. Waits for a provider are in
//! `quota.rs`.

use crate::action::Action;
use crate::agreement::recovers;
use crate::decision::{Assessment, Decision, Fault, QuotaCause, Recovery, Verdict};
use crate::ids::ObjectiveId;
use crate::notice::Notice;
use crate::observation::{BriefKind, ObjectiveStatus, Occasion, SessionState, SplitOccasion};
use crate::time::DurationMs;

use super::quota::outlasts_its_reset;
use super::step::{AfterEnd, Pause, Step, Succession};
use super::{RequestSlot, Run};

/// No wait between two tries is longer: a person who looks sees something move.
const LONGEST_BACKOFF: DurationMs = DurationMs::from_mins(5);

impl Run {
    pub(super) fn judge(&mut self, p: usize, occasion: Occasion, focus: Vec<usize>) {
        self.reopen_unproven(p);
        let phase = &mut self.phases[p];
        phase.judged_as_done = !focus.is_empty() && focus.iter().all(|g| phase.goals[*g].is_done());
        let request = self.ask_assessment(p, occasion, &focus);
        self.phases[p].step = Step::Judging { request, occasion, focus };
    }

    /// While the agent works: nobody waits for the answer, one question at a time.
    pub(super) fn assess_at_work(&mut self, p: usize, occasion: Occasion) {
        let focus = match &self.phases[p].step {
            Step::Working { focus, .. } => focus.clone(),
            Step::Readying { .. } | Step::Compacting { .. } => Vec::new(),
            _ => return,
        };
        match self.session_mut(p) {
            Some(session) if session.assessing.request.is_some() => session.assessing.again = true,
            Some(_) => {
                let request = self.ask_assessment(p, occasion, &focus);
                if let Some(session) = self.session_mut(p) {
                    session.used_when_asked = session.used_tokens;
                    session.assessing = RequestSlot { request: Some(request), again: false };
                }
            }
            None => {}
        }
    }

    pub(super) fn take_assessment_at_work(&mut self, p: usize, result: &Result<Decision, Fault>) {
        let Some(session) = self.session_mut(p) else {
            return;
        };
        let again = std::mem::take(&mut session.assessing).again;
        if let Ok(Decision::Assess(assessment)) = result {
            self.warn(p, assessment);
            match assessment.verdict {
                Verdict::Quota { cause, until } => self.wait_in_place(p, cause, until),
                Verdict::Stalled => self.unstall(p, assessment),
                // Only what has ended is judged; its evidence stays with the session until then.
                _ => {}
            }
        }
        if again {
            self.assess_at_work(p, Occasion::Signal);
        }
    }

    fn warn(&mut self, p: usize, assessment: &Assessment) {
        let now = self.now;
        let phase = self.phases[p].spec.id.clone();
        let Some(session) = self.session_mut(p) else {
            return;
        };
        if let (Some(message), false) = (&assessment.warning, session.warned) {
            session.warned = true;
            let (session, occupancy) = (session.id.clone(), session.occupancy(now));
            self.notify(Notice::Warned { phase, session, occupancy, message: message.clone() });
        }
    }

    fn unstall(&mut self, p: usize, assessment: &Assessment) {
        let limit = self.workflow.limits.nudges;
        let Some(session) = self.session_mut(p) else {
            return;
        };
        let (id, may_interrupt) = (session.id.clone(), session.capabilities.interrupts);
        match (&assessment.recovery, &mut self.phases[p].step) {
            (Recovery::Wait, _) => {}
            (Recovery::Nudge | Recovery::Interrupt, Step::Working { interrupted, .. })
                if may_interrupt && !*interrupted =>
            {
                *interrupted = true;
                let Some(session) = self.session_mut(p) else {
                    return;
                };
                session.nudges += 1;
                if session.nudges > limit {
                    return self.give_up(p, assessment);
                }
                self.phases[p].because.clone_from(&assessment.reason);
                self.emit(Action::Interrupt { session: id });
            }
            (Recovery::Pause { question }, _) => self.pause(p, Pause::Stuck, question.clone()),
            _ => self.give_up(p, assessment),
        }
    }

    fn give_up(&mut self, p: usize, assessment: &Assessment) {
        self.tell_stop(p, assessment);
        self.hand_over(p, Succession::Retry, &assessment.reason);
    }

    /// The next session has the agent of another role. A policy gives no agent rights that the workflow did not give this phase.
    fn give_up_to(&mut self, p: usize, role: &str, a: &Assessment) {
        let now = self.workflow.role_of(&self.phases[p].spec).permission;
        match self.workflow.roles.iter().find(|(name, _)| name.as_str() == role) {
            Some((name, other)) if other.permission <= now => {
                (self.phases[p].spec.role, self.phases[p].spec.agent) = (name.clone(), None);
                self.give_up(p, a);
            }
            found => {
                let why = if found.is_some() { "may do more than this phase allows" } else { "is unknown" };
                let text = format!("{}. The policy names the role {role}, which {why}.", a.reason);
                self.tell_stop(p, a);
                self.pause(p, Pause::Stuck, text);
            }
        }
    }

    fn tell_stop(&mut self, p: usize, assessment: &Assessment) {
        let phase = self.phases[p].spec.id.clone();
        let verdict = assessment.verdict.name();
        if let Some(session) = self.session_mut(p) {
            verdict.clone_into(&mut session.ending);
            let notice = Notice::Stopped {
                phase,
                session: session.id.clone(),
                verdict: verdict.to_owned(),
                evidence: assessment.evidence.clone(),
                reason: assessment.reason.clone(),
            };
            self.notify(notice);
        }
    }

    pub(super) fn take_verdict(&mut self, p: usize, occasion: Occasion, focus: &[usize], a: &Assessment) {
        self.warn(p, a);
        if !matches!(a.verdict, Verdict::Quota { cause, .. } if cause != QuotaCause::Billing) {
            self.end_wait_in_place(p);
        }
        match a.verdict {
            // A session that ended before it was given anything has completed nothing.
            Verdict::Completed | Verdict::Unfinished | Verdict::HandedOff if focus.is_empty() => {
                self.give_up(p, a);
            }
            // An agent that asks for a split stops where it is: what it has not reported done is still open (D2).
            Verdict::Completed if self.phases[p].requested.is_some() => self.boundary(p),
            Verdict::Completed => self.complete_focus(p, focus, a),
            Verdict::Exhausted | Verdict::HandedOff | Verdict::TurnLimit | Verdict::BudgetLimit => {
                self.tell_stop(p, a);
                self.hand_over(p, Succession::Continuation, &a.reason);
            }
            Verdict::Quota { cause: QuotaCause::Billing, .. } => {
                self.tell_stop(p, a);
                let text = format!("The provider wants payment before it goes on: {}", a.reason);
                self.pause(p, Pause::Stuck, text);
            }
            Verdict::Quota { cause, until } => self.wait_for_quota(p, cause, until, focus),
            // Who asks for smaller scopes instead of doing the work has done its job (D2).
            verdict if recovers(&verdict) && self.phases[p].requested.is_some() => {
                self.scope(p, SplitOccasion::Requested);
            }
            // What its agent reported as done is not, by something else that it said.
            Verdict::Unfinished if self.phases[p].judged_as_done => {
                for g in focus {
                    self.reopen(p, *g, ObjectiveStatus::InProgress, &a.reason);
                }
                self.recover(p, focus, a);
            }
            Verdict::Unfinished
            | Verdict::Truncated
            | Verdict::Stalled
            | Verdict::Interrupted
            | Verdict::Failed => self.recover(p, focus, a),
            // The contract rules this out for what has ended; a policy that says it is taken for broken.
            Verdict::Healthy => {
                let what = if occasion == Occasion::SessionEnded { "session" } else { "prompt" };
                let text = format!("The policy calls a {what} healthy that has ended: {}", a.reason);
                self.pause(p, Pause::Stuck, text);
            }
        }
    }

    pub(super) fn recover(&mut self, p: usize, focus: &[usize], a: &Assessment) {
        let (alive, limit) = (self.has_live_session(p), self.workflow.limits.nudges);
        match &a.recovery {
            Recovery::Pause { question } => {
                self.tell_stop(p, a);
                let is_about_work =
                    matches!(a.verdict, Verdict::Unfinished | Verdict::Truncated | Verdict::Failed);
                let about = if is_about_work && !focus.is_empty() { Pause::Unproven } else { Pause::Stuck };
                focus.clone_into(&mut self.phases[p].unproven);
                self.pause(p, about, question.clone());
            }
            Recovery::NewSession => self.give_up(p, a),
            Recovery::OtherRole { role } => self.give_up_to(p, role, a),
            Recovery::Split => {
                self.tell_stop(p, a);
                self.phases[p].because.clone_from(&a.reason);
                self.scope(p, SplitOccasion::OutOfContinuations);
            }
            Recovery::Wait | Recovery::Nudge | Recovery::Interrupt => match self.session_mut(p) {
                Some(session) if alive && session.nudges < limit => {
                    session.nudges += 1;
                    self.phases[p].because.clone_from(&a.reason);
                    self.nudge(p, focus.to_vec());
                }
                _ => self.give_up(p, a),
            },
        }
    }

    /// Asks for the same again, less what the agent has reported done meanwhile; where that is all of it, it goes on.
    pub(super) fn nudge(&mut self, p: usize, mut focus: Vec<usize>) {
        let phase = &self.phases[p];
        focus.retain(|g| !phase.goals[*g].is_done());
        match focus.is_empty() {
            true => self.boundary(p),
            false => self.brief(p, BriefKind::Nudged, focus),
        }
    }

    /// The session is over. It ends first, so that nothing moves while what it leaves is measured and written down;
    /// `succeed` does that before another begins.
    pub(super) fn hand_over(&mut self, p: usize, then: Succession, because: &str) {
        because.clone_into(&mut self.phases[p].because);
        if let Some(session) = self.session_mut(p) {
            session.assessing = RequestSlot::default();
        }
        if self.phases[p].is_finished() {
            return self.prove(p);
        }
        self.succeed(p, then);
    }

    /// A new session, where one is allowed; else smaller scopes, or a person. Whatever happened since the last handoff
    /// is handed off first, whichever way the session ended.
    pub(super) fn succeed(&mut self, p: usize, then: Succession) {
        if then == Succession::Over {
            return self.phase_over(p);
        }
        if self.has_live_session(p) {
            return self.end_session(p, AfterEnd::Succeed(then), "another session takes over");
        }
        if self.phases[p].news && self.phases[p].session.is_some() {
            return self.survey(p, then);
        }
        if self.pause_at_ceiling(p) {
            return;
        }
        if self.phases[p].requested.is_some() {
            return self.scope(p, SplitOccasion::Requested);
        }
        if self.is_out_of_turns(p) || (then == Succession::Continuation && !self.may_continue(p)) {
            return self.scope(p, SplitOccasion::OutOfContinuations);
        }
        match then {
            Succession::Uncounted | Succession::Over => self.spawn(p),
            Succession::Continuation => {
                self.phases[p].continuations += 1;
                self.spawn(p);
            }
            Succession::Retry => self.retry(p),
        }
    }

    fn retry(&mut self, p: usize) {
        let limit = self.workflow.limits.retries;
        let because = self.phases[p].because.clone();
        let id = self.phases[p].spec.id.clone();
        // Nobody asked for this review by name: one session is what it is worth.
        if self.is_default_review(p) {
            return self.pause(p, Pause::Stuck, because);
        }
        // Progress makes a failure the first one again.
        let (retries, done) = (self.phases[p].retries_used(), self.phases[p].done_count());
        (self.phases[p].retries, self.phases[p].done_at_retry) = (retries, done);
        if self.phases[p].retries >= limit {
            let text = format!("Phase {id} failed {} times: {because}", limit + 1);
            return self.pause(p, Pause::Stuck, text);
        }
        self.phases[p].retries += 1;
        let attempt = self.phases[p].retries;
        let after = self.backoff(attempt - 1);
        self.notify(Notice::Retrying { phase: id, attempt, of: limit, after, because });
        self.phases[p].step = Step::Backoff { until: self.now + after };
    }

    pub(super) fn backoff(&self, doublings: u32) -> DurationMs {
        let first = self.workflow.limits.backoff.0;
        DurationMs(first.saturating_mul(1 << doublings.min(16))).min(LONGEST_BACKOFF)
    }

    /// At most n continuations, and each must have finished something (A8).
    fn may_continue(&self, p: usize) -> bool {
        let phase = &self.phases[p];
        let idle = phase.continuations > 0 && phase.progress == 0;
        phase.continuations < self.continuations_allowed(p) && !idle
    }

    pub(super) fn why_no_continuation(&self, p: usize) -> String {
        let phase = &self.phases[p];
        if self.is_out_of_turns(p) {
            format!("its {} turns are used up", phase.max_turns)
        } else if phase.continuations >= self.continuations_allowed(p) {
            format!("its {} continuations are used up", phase.continuations)
        } else {
            "the last continuation finished none".to_owned()
        }
    }

    pub(super) fn continuations_allowed(&self, p: usize) -> u32 {
        self.phases[p].spec.continuations.unwrap_or(self.workflow.limits.continuations)
    }

    pub(super) fn turns_used(&self, p: usize) -> u32 {
        let live = self.session(p).filter(|s| s.is_alive()).map_or(0, |s| s.turns);
        self.phases[p].turns_before + live
    }

    /// Turns that count against the budget.
    pub(super) fn turns_counted(&self, p: usize) -> u32 {
        self.turns_used(p).saturating_sub(self.phases[p].turns_forgiven)
    }

    pub(super) fn is_out_of_turns(&self, p: usize) -> bool {
        self.phases[p].max_turns > 0 && self.turns_counted(p) >= self.phases[p].max_turns
    }

    /// Turns before a policy looks at the scope (A1); 0 where nothing names any.
    pub(super) fn base_turns(&self, p: usize) -> u32 {
        self.workflow.base_turns(&self.phases[p].spec).unwrap_or(0)
    }

    pub(super) fn remaining(&self, p: usize) -> Vec<ObjectiveId> {
        self.phases[p].open_goals().map(|(_, goal)| goal.spec.id.clone()).collect()
    }

    pub(super) fn tick_phase(&mut self, p: usize) {
        let (now, beat) = (self.now, self.heartbeat());
        if let Some(session) = self.session_mut(p)
            && session.next_heartbeat <= now
        {
            session.next_heartbeat = now + beat;
        }
        match self.phases[p].step.clone() {
            Step::Quota { since, retry_at, focus, .. } if retry_at <= now => self.quota_over(p, since, focus),
            Step::Backoff { until } if until <= now => self.take_up(p),
            Step::Readying { .. } | Step::Working { .. } | Step::Compacting { .. } => {
                let waits = self.session(p).is_some_and(|s| match s.state {
                    SessionState::WaitingApproval => true,
                    SessionState::WaitingQuota => !s.quota.is_some_and(|wait| outlasts_its_reset(&wait, now)),
                    _ => false,
                });
                // A wait is looked at for recovery only, which arrives as output (B7). One that outlasts every reset is
                // a silence like any other.
                if !waits {
                    self.assess_at_work(p, Occasion::Heartbeat);
                }
            }
            _ => {}
        }
    }
}
