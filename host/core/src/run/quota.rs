//! Waiting for a provider (B4–B9): in place while the agent retries by itself, by the host where it gave up, and together
//! where several agents of one provider work. What is a provider's limit is the policy's to say.

use crate::decision::{Assessment, QuotaCause};
use crate::observation::{PromptKind, SessionState};
use crate::progress::ProgressEvent;
use crate::time::{DurationMs, UnixMs};
use crate::view::QuotaSummary;

use super::Run;
use super::end_cause::EndCause;
use super::phase::ObjectiveIndex;
use super::phase_list::PhaseIndex;
use super::step::PhaseStep;
use super::successor_reason::SuccessorReason;
use super::text_format::cut;

/// A reset further away than this is a misread date: weekly allowances are the longest there are.
const MAX_RESET_DELAY: DurationMs = DurationMs::from_mins(8 * 24 * 60);

/// An agent that waits by itself has gone on this long after the reset, or has hung: its own backing off takes minutes.
const RESET_GRACE: DurationMs = DurationMs::from_mins(60);

/// Why a prompt comes again after a wait.
const RESET: &str = "the provider's limit has reset: go on";
const TRIED_AGAIN: &str = "a provider's limit stopped it, and it is tried again: go on";
/// The same where a policy called it a limit that is not Baton's: no next agent takes that for a fact of the host.
const JUDGED: &str = "it waited for a limit of its provider, as a policy judged: go on";

/// Bytes of the words by which a limit was noticed that a notice quotes.
const SAID_BYTES: usize = 200;

/// The words by which a policy noticed a limit: after a bare code come those that explain it.
pub(super) fn words_of(assessment: &Assessment) -> String {
    let mut said = assessment.evidence.last().map(|said| said.text.clone()).unwrap_or_default();
    cut(&mut said, SAID_BYTES);
    said
}

/// Whether an agent waits in place for a reset that was long ago.
pub(super) fn is_past_reset(wait: &QuotaSummary, now: UnixMs) -> bool {
    let until = wait.until.filter(|at| at.since(wait.since) <= MAX_RESET_DELAY);
    now > until.map_or(wait.since + MAX_RESET_DELAY, |at| at + RESET_GRACE)
}

/// A wait that is under way.
#[derive(Clone, Debug)]
pub(super) struct ProviderWait {
    cause: QuotaCause,
    until: Option<UnixMs>,
    retry_at: UnixMs,
    /// What it was noticed by.
    said: String,
    /// The policy that called it a limit, if that is not Baton's.
    judged_by: Option<String>,
}

impl Run {
    /// The agent waits by itself: its prompt is alive, the clocks stand still, nothing is called a stall (B4–B6).
    pub(super) fn begin_agent_quota_wait(
        &mut self,
        p: PhaseIndex,
        cause: QuotaCause,
        until: Option<UnixMs>,
        said: String,
    ) {
        let (now, phase) = (self.now, self.phases[p].spec.id.clone());
        if !matches!(self.phases[p].step, PhaseStep::Working { .. }) {
            return;
        }
        let Some(session) = self.session_mut(p) else {
            return;
        };
        if session.state == SessionState::WaitingQuota {
            return;
        }
        session.state = SessionState::WaitingQuota;
        session.nudges = 0;
        session.quota = Some(QuotaSummary { cause, since: now, until });
        let (session, by_itself) = (session.id.clone(), session.retries_by_itself());
        let (since, retry_at, time) = (now, None, 1);
        let judged_by = self.answering_policy.clone();
        self.notify(ProgressEvent::QuotaWait {
            phase,
            session,
            cause,
            since,
            until,
            retry_at,
            time,
            by_itself,
            said,
            judged_by,
        });
    }

    /// New output, or the end of the prompt, ends the wait (B8).
    pub(super) fn end_agent_quota_wait(&mut self, p: PhaseIndex) {
        let (now, phase) = (self.now, self.phases[p].spec.id.clone());
        let Some(session) = self.session_mut(p) else {
            return;
        };
        if let Some(quota) = session.quota.take() {
            if session.state == SessionState::WaitingQuota {
                session.state = SessionState::Working;
            }
            let (session, waited) = (session.id.clone(), now.since(quota.since));
            self.record_quota_wait(p, &quota);
            self.notify(ProgressEvent::QuotaOver { phase, session, waited, is_try: false });
        }
    }

    /// The agent gave up: the host waits, as long as it takes, and tries the same prompt again.
    pub(super) fn begin_host_quota_wait(
        &mut self,
        p: PhaseIndex,
        cause: QuotaCause,
        until: Option<UnixMs>,
        focus: &[ObjectiveIndex],
        said: String,
        judged_by: Option<String>,
    ) {
        let now = self.now;
        let until = until.filter(|at| *at > now && at.since(now) <= MAX_RESET_DELAY);
        let retry_at = until.unwrap_or_else(|| now + self.backoff(self.phases[p].usage.quota_waits));
        self.phases[p].usage.quota_waits += 1;
        self.enter_quota_step(p, ProviderWait { cause, until, retry_at, said, judged_by }, focus.to_vec());
    }

    fn enter_quota_step(&mut self, p: PhaseIndex, wait: ProviderWait, focus: Vec<ObjectiveIndex>) {
        let ProviderWait { cause, until, retry_at, said, judged_by } = wait;
        // Where the agent waited by itself before it gave up, this is the same wait.
        let before = self.session_mut(p).and_then(|session| session.quota.take());
        let since = before.as_ref().map_or(self.now, |wait| wait.since);
        let phase = &mut self.phases[p];
        phase.handoffs.may_be_stale = true;
        phase.step = PhaseStep::Quota { cause, since, until, retry_at, focus, judged_by: judged_by.clone() };
        let time = phase.usage.quota_waits.max(1);
        let (phase, session) = (phase.spec.id.clone(), phase.session.clone());
        if let Some(session) = self.session_mut(p) {
            session.nudges = 0; // B5
            if session.is_alive() {
                session.state = SessionState::WaitingQuota;
            }
        }
        let was_told = before.is_some_and(|wait| wait.until == until);
        let Some(session) = session.filter(|_| !was_told || until.is_none()) else {
            return;
        };
        let (retry_at, by_itself) = (Some(retry_at), false);
        let notice = ProgressEvent::QuotaWait {
            phase,
            session,
            cause,
            since,
            until,
            retry_at,
            time,
            by_itself,
            said,
            judged_by,
        };
        // The agent was waited for, and has given up: no notice has said yet when it is tried again.
        match was_told {
            true => self.notify_unnumbered(notice),
            false => self.notify(notice),
        }
    }

    /// The wait of another phase whose agent has the same provider.
    pub(super) fn provider_wait(&self, p: PhaseIndex) -> Option<ProviderWait> {
        let provider = self.provider_of(&self.phases[p]);
        let waits = self.phases.indexed().filter_map(|(other, phase)| match &phase.step {
            PhaseStep::Quota { cause, until, retry_at, judged_by, .. }
                if other != p && *retry_at > self.now && self.provider_of(phase) == provider =>
            {
                let (cause, until, retry_at) = (*cause, *until, *retry_at);
                Some(ProviderWait {
                    cause,
                    until,
                    retry_at,
                    said: String::new(),
                    judged_by: judged_by.clone(),
                })
            }
            _ => None,
        });
        waits.max_by_key(|wait| wait.retry_at)
    }

    /// Waits with another phase, for the same time, instead of running into the same limit.
    pub(super) fn join_wait(&mut self, p: PhaseIndex, wait: ProviderWait, focus: Vec<ObjectiveIndex>) {
        self.enter_quota_step(p, wait, focus);
    }

    pub(super) fn on_quota_reset(
        &mut self,
        p: PhaseIndex,
        since: UnixMs,
        focus: Vec<ObjectiveIndex>,
        is_judged: bool,
    ) {
        let wait = self.quota_summary(p);
        if let Some(wait) = &wait {
            self.record_quota_wait(p, wait);
        }
        let is_try = wait.is_none_or(|wait| wait.until.is_none());
        if let Some(session) = self.phases[p].session.clone() {
            let waited = self.now.since(since);
            let phase = self.phases[p].spec.id.clone();
            self.notify(ProgressEvent::QuotaOver { phase, session, waited, is_try });
        }
        let because = match (is_judged, is_try) {
            (true, _) => JUDGED,
            (false, true) => TRIED_AGAIN,
            (false, false) => RESET,
        };
        self.phases[p].succession.end_cause = EndCause::from_host(because);
        if self.has_live_session(p) {
            if let Some(session) = self.session_mut(p) {
                session.state = SessionState::Idle;
            }
            if focus.iter().any(|g| self.phases[p].objectives[*g].attempts > 0) {
                self.nudge(p, focus);
            } else if self.session(p).is_some_and(|session| session.prompts > 0) {
                // It waited with another phase, and was not asked for this yet.
                self.request_next_prompt(p, PromptKind::Next);
            } else {
                self.request_first_prompt(p);
            }
        } else {
            self.start_successor(p, SuccessorReason::Uncounted);
        }
    }
}
