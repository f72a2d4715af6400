//! What a policy's answer leads to. An answer is matched by the question's id: to a step that waits for it, or to
//! the session it is about; any other is stale and dropped. What a verdict leads to is in `verdicts.rs`.

use crate::action::Action;
use crate::decision::{
    CompactionAction, CompactionDecision, Decision, DecisionSource, Fault, Provenance, SplitAction,
    SplitDecision,
};
use crate::ids::RequestId;
use crate::observation::{Capability, PromptKind, SessionState, SplitTrigger};
use crate::progress::ProgressEvent;
use crate::workflow::BUILTIN;

use super::Run;
use super::end_cause::{EndCause, quote_policy};
use super::judgment::Judgment;
use super::phase_list::PhaseIndex;
use super::step::{OnSessionEnd, OnSummary, OnTurnBudget, PauseReason, PhaseStep};
use super::successor_reason::SuccessorReason;

/// How a session ended that the compaction policy handed off.
const NEAR_CAPACITY: &str = "near-capacity";
/// How a session ended that another compaction policy than Baton's handed off.
const POLICY_HANDOFF: &str = "policy-handoff";
/// How a session ended that asked for smaller scopes, and got them (D2).
const SPLIT_REQUESTED: &str = "split-requested";
/// How a session ended whose phase was split without its asking.
const SPLIT: &str = "split";
/// What an agent reads of a question that has the words of a policy that is not Baton's.
const ASKED_BY_POLICY: &str = "a policy asked a person something";

impl Run {
    pub(super) fn on_decided(
        &mut self,
        request: RequestId,
        result: &Result<Decision, Fault>,
        label: &Provenance,
    ) {
        self.policy_outcomes.count(label);
        let about = self.phase_asked_about(request);
        if let Some(p) = about {
            let is_at_work = self.is_asked_at_work(request);
            self.count_policy_faults(&self.scope_of(p, label.capability), is_at_work, label);
        }
        self.index.query_closed(request);
        if self.placed(request, result) || self.stopping || self.ending.is_some() {
            return;
        }
        let Some(p) = about else { return };
        let is_baton = matches!(
            label.by,
            DecisionSource::BuiltIn | DecisionSource::HostFallback | DecisionSource::Recording
        ) || BUILTIN.strip_prefix("builtin:") == Some(&label.policy);
        self.answering_policy = (!is_baton).then(|| label.policy.clone());
        if self.phases[p].step.waits_for_answer(request) {
            self.notify_fallback(label);
            self.apply_answer(p, result);
        } else if self.session(p).is_some_and(|s| s.at_work.waits_for(request)) {
            self.notify_fallback(label);
            self.apply_answer_at_work(p, request, result);
        }
        self.answering_policy = None;
        // Nothing waits for it any more: the state has moved on, the answer is stale and dropped.
    }

    /// What a policy asks a person, under its name and in a line. An agent reads that it was asked: its words may be a stranger's.
    pub(super) fn policy_question(&self, question: &str) -> EndCause {
        match &self.answering_policy {
            None => EndCause::from_host(question),
            Some(_) => EndCause::from_policy(&self.attributed_to_policy("asks", question), ASKED_BY_POLICY),
        }
    }

    /// The same about a judgment. Where another policy judged, a question of Baton's own has that one's words in it.
    pub(super) fn question_about_judgment(&self, judgment: &Judgment, question: &str) -> EndCause {
        match &judgment.by {
            Some(policy) if self.answering_policy.is_none() => {
                let question = format!("{question} (The policy {policy} judged it so.)");
                EndCause::from_policy(&question, ASKED_BY_POLICY)
            }
            _ => self.policy_question(question),
        }
    }

    /// The same of a phase whose sessions ended. What they ended by may be the judgment of another policy, and no fact.
    pub(super) fn question_about_ending(
        &self,
        p: PhaseIndex,
        occasion: SplitTrigger,
        question: &str,
    ) -> EndCause {
        match &self.phases[p].assessment.judged_by {
            Some(policy)
                if self.answering_policy.is_none() && occasion == SplitTrigger::OutOfContinuations =>
            {
                let question = format!("{question} (The policy {policy} judged how its last session ended.)");
                EndCause::from_policy(&question, ASKED_BY_POLICY)
            }
            _ => self.policy_question(question),
        }
    }

    /// The words of the policy whose answer is being taken, as a person reads them. Those of the built-in policy are Baton's.
    pub(super) fn attributed_to_policy(&self, says: &str, words: &str) -> String {
        match &self.answering_policy {
            None => words.to_owned(),
            Some(policy) => quote_policy(policy, says, words),
        }
    }

    fn notify_fallback(&mut self, label: &Provenance) {
        // To abstain is not a fault: the next one is asked, at last the built-in one.
        let is_usual = matches!(
            label.by,
            DecisionSource::Configured
                | DecisionSource::Next
                | DecisionSource::BuiltIn
                | DecisionSource::Recording
        );
        let mut failed = label.faults.iter().map(|record| (record.policy.as_str(), &record.fault));
        let failed = failed.next().or_else(|| label.fallback_faults().next());
        if !is_usual || failed.is_some() {
            let because = match failed {
                Some((policy, fault)) => format!("{policy} {fault}"),
                None if !label.abstained.is_empty() => "every policy abstained".to_owned(),
                None => "no component could be asked".to_owned(),
            };
            let policy = label.component.as_ref().map_or_else(String::new, |_| label.policy.clone());
            self.notify(ProgressEvent::FellBack {
                capability: label.capability,
                by: label.by,
                policy,
                because,
            });
        }
    }

    /// An answer of another kind than the question is refused like no answer: the course that loses least.
    fn apply_answer(&mut self, p: PhaseIndex, result: &Result<Decision, Fault>) {
        let why = match result {
            Ok(decision) => format!("the policy answered something else: {}", decision.reason()),
            Err(fault) => format!("the policy {fault}"),
        };
        match (self.phases[p].step.clone(), result) {
            (PhaseStep::Scoping { occasion, .. }, Ok(Decision::Splitting(decision))) => {
                self.on_split_decision(p, occasion, decision);
            }
            (PhaseStep::Scoping { occasion, .. }, _) => {
                self.continue_unsplit(p, occasion, &EndCause::from_host(why))
            }
            (PhaseStep::Budgeting { then: OnTurnBudget::Begin, .. }, Ok(Decision::Budgeting(budget))) => {
                self.on_turn_budget(p, budget.max_turns.unwrap_or(0), &budget.reason);
            }
            (PhaseStep::Budgeting { then: OnTurnBudget::Begin, .. }, _) => {
                self.on_turn_budget(p, self.base_turns(p), "");
            }
            (PhaseStep::Budgeting { then, .. }, Ok(Decision::Budgeting(budget))) => {
                self.on_more_turns_decision(p, then, Some(budget));
            }
            (PhaseStep::Budgeting { then, .. }, _) => self.on_more_turns_decision(p, then, None),
            (PhaseStep::DecidingOffload { kind, focus, large, .. }, answer) => {
                self.on_offload_decision(p, kind, focus, large, answer)
            }
            (PhaseStep::ComposingPrompt { kind, focus, .. }, Ok(Decision::Prompting(brief)))
                if !brief.prompt.is_empty() =>
            {
                self.request_prompt_delivery(p, kind, focus, &brief.prompt);
            }
            (PhaseStep::ComposingPrompt { .. }, _) => {
                self.pause(p, PauseReason::Blocked, format!("No prompt could be written: {why}."));
            }
            (PhaseStep::Assessing { occasion, focus, .. }, Ok(Decision::Exhaustion(assessment))) => {
                self.apply_verdict(p, occasion, &focus, assessment);
            }
            (PhaseStep::Assessing { .. }, _) => {
                self.pause(p, PauseReason::Blocked, format!("No policy could judge the session: {why}."));
            }
            (
                PhaseStep::DecidingCompletion { occasion, focus, assessment, .. },
                Ok(Decision::Completion(decision)),
            ) => {
                self.apply_completion(p, occasion, &focus, *assessment, decision);
            }
            (PhaseStep::DecidingCompletion { .. }, _) => {
                self.pause(
                    p,
                    PauseReason::Blocked,
                    format!("No policy could judge whether the work is done: {why}."),
                );
            }
            (PhaseStep::DecidingRecovery { focus, judgment, .. }, Ok(Decision::Recovery(decision))) => {
                self.apply_recovery(p, &focus, &judgment, &decision.action);
            }
            (PhaseStep::DecidingRecovery { .. }, _) => {
                self.pause(p, PauseReason::Blocked, format!("No policy could say how to continue: {why}."));
            }
            (PhaseStep::DecidingCompaction { .. }, Ok(Decision::Compaction(decision))) => {
                self.on_compaction_decision(p, decision)
            }
            (PhaseStep::DecidingCompaction { .. }, _) => self.request_next_prompt(p, PromptKind::Next),
            (PhaseStep::ComposingHandoff { then, path, refused, .. }, Ok(Decision::Handoff(composition))) => {
                self.on_handoff_composed(p, then, path, refused, composition);
            }
            (PhaseStep::ComposingHandoff { then, path, refused, .. }, _) => {
                self.write_plain_handoff(p, then, path, refused);
            }
            (PhaseStep::Reviewing { then, draft, .. }, Ok(Decision::Review(review))) => {
                self.on_handoff_reviewed(p, then, *draft, Some(review));
            }
            (PhaseStep::Reviewing { then, draft, .. }, _) => self.on_handoff_reviewed(p, then, *draft, None),
            (PhaseStep::RereviewingHandoff { kind, focus, found, .. }, Ok(Decision::Review(review))) => {
                self.on_handoff_rereviewed(p, kind, focus, found, Some(review));
            }
            (PhaseStep::RereviewingHandoff { kind, focus, found, .. }, _) => {
                self.on_handoff_rereviewed(p, kind, focus, found, None)
            }
            _ => {}
        }
    }

    fn on_split_decision(&mut self, p: PhaseIndex, occasion: SplitTrigger, decision: &SplitDecision) {
        let was_requested = self.phases[p].split.request.take().is_some();
        match &decision.action {
            SplitAction::Keep => {
                let reason = self.attributed_to_policy("says", &decision.reason);
                let kept = EndCause::from_policy(&reason, "it is not split");
                self.continue_unsplit(p, occasion, &kept);
            }
            SplitAction::AskPerson { question } => {
                let mut asked = self.question_about_ending(p, occasion, question);
                if occasion == SplitTrigger::OutOfContinuations {
                    let by_hand = format!("{}{}", self.usage_text(p), self.turn_limit_hint(p));
                    asked = asked.and(&by_hand).with_user_detail(&self.last_session_text(p));
                }
                self.pause(p, PauseReason::Blocked, asked);
            }
            SplitAction::Split { sub_phases } => match self.check_split(p, sub_phases) {
                Ok(()) => {
                    let known = if was_requested { "it asked for a split" } else { "its phase is split" };
                    let reason = self.attributed_to_policy("says", &decision.reason);
                    self.phases[p].succession.end_cause = EndCause::from_policy(&reason, known);
                    self.end_as(p, if was_requested { SPLIT_REQUESTED } else { SPLIT });
                    self.end_session(p, OnSessionEnd::Split(sub_phases.clone()), "its phase is split");
                }
                Err(why) => {
                    self.notify(ProgressEvent::FellBack {
                        capability: Capability::Splitting,
                        by: DecisionSource::HostFallback,
                        policy: String::new(),
                        because: format!("the split was refused: {why}"),
                    });
                    self.continue_unsplit(p, occasion, &EndCause::from_policy(&why, "it is not split"));
                }
            },
        }
    }

    /// A verdict on a session says more of how it ended. One that asked for the split has done its job, however it ended (C26).
    fn end_as(&mut self, p: PhaseIndex, ending: &str) {
        if let Some(session) = self.session_mut(p)
            && (ending == SPLIT_REQUESTED || matches!(session.ending.as_str(), "" | "ended"))
        {
            ending.clone_into(&mut session.ending);
        }
    }

    pub(super) fn continue_unsplit(&mut self, p: PhaseIndex, occasion: SplitTrigger, reason: &EndCause) {
        // Whether it was answered or could not be: a request is answered once.
        self.phases[p].split.request = None;
        match occasion {
            // The split, or the host, has said how many.
            SplitTrigger::PhaseStart if self.phases[p].turns.max > 0 => {
                self.start_successor(p, SuccessorReason::Uncounted)
            }
            SplitTrigger::PhaseStart => {
                let base = self.base_turns(p);
                let request = self.ask_budget(p, base, None);
                self.phases[p].step = PhaseStep::Budgeting { request, then: OnTurnBudget::Begin };
            }
            // Its session is gone, and another continues; it counts, so that the asking ends.
            SplitTrigger::Requested if !self.has_live_session(p) => {
                self.start_successor(p, SuccessorReason::Continuation)
            }
            SplitTrigger::Boundary | SplitTrigger::Requested => {
                if occasion == SplitTrigger::Requested {
                    self.decline_split(p, reason.user_text());
                }
                let request = self.ask_compaction(p);
                self.phases[p].step = PhaseStep::DecidingCompaction { request };
            }
            SplitTrigger::OutOfContinuations => {
                let open = self.phases[p].open_objectives().count();
                let text = |reason: &str| {
                    format!(
                        "Phase {} cannot go on by itself: {open} of {} objectives are open, and {}. {reason}.{}{}",
                        self.phases[p].spec.id,
                        self.phases[p].objectives.len(),
                        self.why_no_continuation(p),
                        self.usage_text(p),
                        self.turn_limit_hint(p),
                    )
                };
                let asked = EndCause::from_policy(&text(reason.user_text()), text(reason.agent_text()))
                    .with_user_detail(&self.last_session_text(p));
                self.pause(p, PauseReason::Blocked, asked);
            }
        }
    }

    /// The agent continues with the whole phase; its next prompt says so.
    fn decline_split(&mut self, p: PhaseIndex, reason: &str) {
        let phase = self.phases[p].spec.id.clone();
        self.notify(ProgressEvent::SplitDeclined { phase, because: reason.to_owned() });
        if let Some(session) = self.session_mut(p) {
            session.declined += 1;
            session.is_split_declined = true;
        }
    }

    fn on_compaction_decision(&mut self, p: PhaseIndex, decision: &CompactionDecision) {
        match &decision.action {
            CompactionAction::Compact { instructions } if self.can_compact(p) => {
                let (phase, session) = (self.phases[p].spec.id.clone(), self.phases[p].session.clone());
                if let Some(session) = session {
                    let reason = self.attributed_to_policy("says", &decision.reason);
                    self.notify(ProgressEvent::Compacting { phase, session, reason });
                }
                let instructions = instructions.clone().unwrap_or_default();
                if !self.write_summaries(p, OnSummary::Compact(instructions.clone())) {
                    self.compact(p, instructions);
                }
            }
            // How much a session finishes first is the policy's to say (C21). A continuation that finishes nothing is the
            // last one (A8), so handoffs come to an end whatever it says.
            CompactionAction::HandOff => {
                let reason = self.attributed_to_policy("says", &decision.reason);
                // How full the context is says nothing of why another policy hands over.
                let known = if self.answering_policy.is_some() {
                    self.record_session_end(p, POLICY_HANDOFF, Vec::new(), reason.clone());
                    "a policy chose to hand over here"
                } else {
                    if let Some(session) = self.session_mut(p) {
                        NEAR_CAPACITY.clone_into(&mut session.ending);
                    }
                    "its context is nearly full"
                };
                let because = EndCause::from_policy(&reason, known);
                self.replace_session(p, SuccessorReason::Continuation, because);
            }
            CompactionAction::Keep | CompactionAction::Compact { .. } => {
                self.request_next_prompt(p, PromptKind::Next);
            }
        }
    }

    fn can_compact(&self, p: PhaseIndex) -> bool {
        self.session(p).is_some_and(|s| s.is_alive() && s.capabilities.compacts)
    }

    pub(super) fn compact(&mut self, p: PhaseIndex, instructions: String) {
        let Some(session) = self.session_mut(p) else {
            return;
        };
        session.state = SessionState::Compacting;
        let (session, answer_bytes) = (session.id.clone(), session.answer_bytes);
        let action = self.emit(Action::Compact { session, instructions });
        self.phases[p].step = PhaseStep::Compacting { action, answer_bytes };
    }

    /// There is not more room than before. Where the host asked for it, the next session takes over while this one can still say what
    /// it knows; a compaction that fails once is not tried again.
    pub(super) fn on_compaction_failed(&mut self, p: PhaseIndex, text: &str) {
        if let Some(session) = self.phases[p].session.clone() {
            let (phase, text) = (self.phases[p].spec.id.clone(), text.to_owned());
            self.notify(ProgressEvent::CompactionFailed { phase, session, text });
        }
        if let PhaseStep::Compacting { .. } = self.phases[p].step {
            if let Some(session) = self.session_mut(p) {
                NEAR_CAPACITY.clone_into(&mut session.ending);
            }
            let because = format!("its context is nearly full and could not be compacted: {text}");
            self.replace_session(p, SuccessorReason::Continuation, EndCause::from_host(because));
        }
    }
}
