//! The turns of a phase: how many it has, what becomes of them, and whether it gets more. The table says what a phase begins
//! with (A1), and a session that follows gets what is left (A6). Where they are used up, `budgeting` is asked again, with what came of
//! them: while the agent works, between two prompts, or before another session. All of it ends at a ceiling.

use crate::decision::{Decision, Fault, TurnBudget};
use crate::facts::WorkspaceFacts;
use crate::ids::{ActionId, RequestId};
use crate::input::ActionOutcome;
use crate::observation::TurnUsage;
use crate::progress::ProgressEvent;

use super::Run;
use super::end_cause::EndCause;
use super::phase::Phase;
use super::phase_list::PhaseIndex;
use super::step::{OnTurnBudget, PhaseStep};
use super::successor_reason::SuccessorReason;
use super::text_format::counted;

/// The most turns of an answer about a scope, in turns of the table: the contract says so (WIT `turn-budget`). Over all answers, a phase gets as
/// many for each of its objectives.
pub(super) const MAX_TURN_FACTOR: u32 = 10;

/// Compactions within the turns of one grant that are worth a word where nothing came of them.
const COMPACTIONS_NOTED: u32 = 2;

/// How a session ended whose phase had no turns left for it.
const TURN_LIMIT: &str = "turn-limit";

/// More turns are asked for while the agent works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TurnRequest {
    /// The disk is looked at.
    MeasuringProgress(ActionId),
    /// The policy is asked.
    Asked(RequestId),
}

impl Phase {
    /// The turns that it begins with, or begins again with.
    pub(super) fn grant_turns(&mut self, turns: u32) {
        let (done, changed) = (self.done_count(), self.measurements.facts.changed.clone());
        self.turns.begin_with(turns, done, changed);
    }

    /// A person, or a new walk of its loop, lets it begin again.
    pub(super) fn reset_turns(&mut self, used: u32) {
        self.turns.before_reset = used;
        self.grant_turns(self.turns.grant.first);
    }
}

impl Run {
    pub(super) fn turns_used(&self, p: PhaseIndex) -> u32 {
        let live = self.session(p).filter(|s| s.is_alive()).map_or(0, |s| s.turns);
        self.phases[p].turns.before + live
    }

    /// Turns that count against the budget.
    pub(super) fn turns_counted(&self, p: PhaseIndex) -> u32 {
        self.phases[p].turns.counted(self.turns_used(p))
    }

    pub(super) fn is_out_of_turns(&self, p: PhaseIndex) -> bool {
        self.phases[p].turns.are_used_up(self.turns_counted(p))
    }

    /// Turns before a policy looks at the scope (A1); 0 where nothing names any.
    pub(super) fn base_turns(&self, p: PhaseIndex) -> u32 {
        self.workflow.base_turns(&self.phases[p].spec).unwrap_or(0)
    }

    /// The most turns that the phase ever gets, before a person lets it begin again; 0 for no ceiling.
    pub(super) fn turn_ceiling(&self, p: PhaseIndex) -> u32 {
        let phase = &self.phases[p];
        let objectives = u32::try_from(phase.objectives.len()).unwrap_or(u32::MAX).max(1);
        let begins = match self.base_turns(p) {
            0 => phase.turns.grant.first,
            base => base,
        };
        let of_table = begins.saturating_mul(MAX_TURN_FACTOR).saturating_mul(objectives);
        self.workflow.role_of(&phase.spec).turn_ceiling.unwrap_or(of_table)
    }

    fn capped(&self, p: PhaseIndex, turns: u32) -> u32 {
        match self.turn_ceiling(p) {
            0 => turns,
            ceiling => turns.min(ceiling),
        }
    }

    /// What a session of it may use at most, whatever it is given on the way; 0 for no bound.
    pub(super) fn turns_to_ceiling(&self, p: PhaseIndex) -> u32 {
        match (self.phases[p].turns.max, self.turn_ceiling(p)) {
            (0, 0) => 0,
            (turns, ceiling) => turns.max(ceiling).saturating_sub(self.turns_counted(p)).max(1),
        }
    }

    /// Turns for the scope, within [`MAX_TURN_FACTOR`]; 0 for no cap, which stands only where the table sets none.
    pub(super) fn on_turn_budget(&mut self, p: PhaseIndex, turns: u32, reason: &str) {
        let base = self.base_turns(p);
        let turns = match (base, turns) {
            (0, _) => turns,
            (_, 0) => base.saturating_mul(MAX_TURN_FACTOR),
            _ => turns.min(base.saturating_mul(MAX_TURN_FACTOR)),
        };
        let turns = self.capped(p, turns);
        self.phases[p].grant_turns(turns);
        if turns != base {
            let reason = self.attributed_to_policy("says", reason);
            self.notify_turn_budget(p, &reason);
        }
        self.start_successor(p, SuccessorReason::Uncounted);
    }

    fn notify_turn_budget(&mut self, p: PhaseIndex, reason: &str) {
        let (phase, turns) = (self.phases[p].spec.id.clone(), self.phases[p].turns.in_all());
        let (of_table, reason) = (self.base_turns(p), reason.to_owned());
        self.notify(ProgressEvent::Budgeted { phase, turns, of_table, reason });
    }

    /// What came of the turns since it was last given some.
    fn spent(&self, p: PhaseIndex, facts: &WorkspaceFacts) -> TurnUsage {
        let phase = &self.phases[p];
        let (now, before) = (&facts.changed, &phase.turns.grant.changed);
        let new = now.iter().filter(|file| !before.contains(file)).count();
        let gone = before.iter().filter(|file| !now.iter().any(|other| other.path == file.path)).count();
        TurnUsage {
            objectives_done: phase.done_count().saturating_sub(phase.turns.grant.done),
            files_changed: u32::try_from(new + gone).unwrap_or(u32::MAX),
            idle_grants: phase.turns.grant.idle,
            ceiling: counted(match self.turn_ceiling(p) {
                0 => 0,
                ceiling => ceiling.saturating_add(phase.turns.before_reset),
            }),
        }
    }

    /// Asks for more turns, where the disk was just looked at. False if it would not get any.
    pub(super) fn ask_for_turns(&mut self, p: PhaseIndex, then: OnTurnBudget) -> bool {
        let used = self.turns_counted(p);
        let is_refused = self.phases[p].turns.is_refused(used);
        if is_refused || used >= self.turn_ceiling(p) || self.workflow.imported.is_some() {
            return false;
        }
        let spent = self.spent(p, &self.phases[p].measurements.facts);
        let request = self.ask_budget(p, self.base_turns(p), Some(spent));
        self.phases[p].step = PhaseStep::Budgeting { request, then };
        true
    }

    /// Takes an answer to that. True where it got some.
    fn apply_turn_grant(
        &mut self,
        p: PhaseIndex,
        spent: &TurnUsage,
        facts: &WorkspaceFacts,
        answer: &TurnBudget,
    ) -> bool {
        let used = self.turns_counted(p);
        let forgiven = self.phases[p].turns.before_reset;
        let turns = answer.max_turns.map_or(u32::MAX, |turns| turns.saturating_sub(forgiven));
        let turns = self.capped(p, turns);
        if turns <= used {
            self.phases[p].turns.refuse(used);
            return false;
        }
        let moved = has_moved(spent);
        let reason = format!(
            "{}{}",
            self.attributed_to_policy("says", &answer.reason),
            self.compactions_note(p, spent)
        );
        let phase = &mut self.phases[p];
        let idle = if moved { 0 } else { phase.turns.grant.idle + 1 };
        phase.turns.raise_to(turns, idle, phase.done_count(), facts.changed.clone());
        if let Some(session) = self.session_mut(p) {
            session.max_turns = session.turns.saturating_add(turns - used);
            let compactions = session.compactions;
            self.phases[p].turns.grant.compactions = compactions;
        }
        self.notify_turn_budget(p, &reason);
        true
    }

    /// What is said of an agent that made room in its context again and again, while nothing came of its turns.
    fn compactions_note(&self, p: PhaseIndex, spent: &TurnUsage) -> String {
        let before = self.phases[p].turns.grant.compactions;
        let compacted = self.session(p).map_or(0, |session| session.compactions.saturating_sub(before));
        match has_moved(spent) || compacted < COMPACTIONS_NOTED {
            true => String::new(),
            false => format!("; its context was compacted {compacted} times meanwhile"),
        }
    }

    /// Between prompts, or before another session.
    pub(super) fn on_more_turns_decision(
        &mut self,
        p: PhaseIndex,
        then: OnTurnBudget,
        answer: Option<&TurnBudget>,
    ) {
        let facts = self.phases[p].measurements.facts.clone();
        let spent = self.spent(p, &facts);
        if !answer.is_some_and(|answer| self.apply_turn_grant(p, &spent, &facts, answer)) {
            let used = self.turns_counted(p);
            self.phases[p].turns.refuse(used);
        }
        match then {
            OnTurnBudget::Begin => self.start_successor(p, SuccessorReason::Uncounted),
            OnTurnBudget::Boundary => self.continue_from_boundary(p),
            OnTurnBudget::StartSuccessor(then) => self.start_successor(p, then),
        }
    }

    /// The agent works, and has used what the phase has.
    pub(super) fn check_turns_at_work(&mut self, p: PhaseIndex) {
        let is_working = matches!(self.phases[p].step, PhaseStep::Working { .. });
        let is_asked = self.session(p).is_none_or(|session| session.at_work.turns.is_some());
        if !is_working || is_asked || !self.is_out_of_turns(p) || self.workflow.imported.is_some() {
            return;
        }
        if self.turns_counted(p) >= self.turn_ceiling(p) {
            return self.stop_at_turn_limit(p, "");
        }
        let action = self.request_measurement(p, false);
        if let Some(session) = self.session_mut(p) {
            session.at_work.turns = Some(TurnRequest::MeasuringProgress(action));
        }
    }

    /// The disk was looked at while the agent works.
    pub(super) fn on_turns_measured(&mut self, action: ActionId, outcome: &ActionOutcome) {
        let looking = Some(TurnRequest::MeasuringProgress(action));
        let asks = |phase: &Phase| {
            let session = phase.session.as_ref().and_then(|id| self.sessions.get(id));
            session.is_some_and(|session| session.at_work.turns == looking)
        };
        let Some(p) = self.phases.position(asks) else { return };
        let facts = match outcome {
            ActionOutcome::WorkspaceMeasured { facts } => facts.clone(),
            _ => self.phases[p].measurements.facts.clone(),
        };
        let is_working = matches!(self.phases[p].step, PhaseStep::Working { .. });
        let asking = is_working.then(|| {
            let spent = self.spent(p, &facts);
            TurnRequest::Asked(self.ask_budget(p, self.base_turns(p), Some(spent)))
        });
        if let Some(session) = self.session_mut(p) {
            session.at_work.turns = asking;
            session.at_work.measured_facts = facts;
        }
    }

    /// Takes the answer. Where it gets none, the session ends, and what it leaves is handed off.
    pub(super) fn apply_turn_budget_at_work(&mut self, p: PhaseIndex, result: &Result<Decision, Fault>) {
        let Some(session) = self.session_mut(p) else { return };
        session.at_work.turns = None;
        let facts = std::mem::take(&mut session.at_work.measured_facts);
        // Between prompts it is asked again, with what is known by then.
        if !matches!(self.phases[p].step, PhaseStep::Working { .. }) {
            return;
        }
        let spent = self.spent(p, &facts);
        let (is_given, why) = match result {
            Ok(Decision::Budgeting(answer)) => {
                let why = self.attributed_to_policy("says", &answer.reason);
                let why = format!("{why}{}", self.compactions_note(p, &spent));
                (self.apply_turn_grant(p, &spent, &facts, answer), why)
            }
            _ => (false, String::new()),
        };
        if !is_given {
            let used = self.turns_counted(p);
            self.phases[p].turns.refuse(used);
            self.stop_at_turn_limit(p, &why);
        }
    }

    fn stop_at_turn_limit(&mut self, p: PhaseIndex, why: &str) {
        let known = self.why_out_of_turns(p);
        let mut reason = known.clone();
        if self.phases[p].sessions.len() > 1 {
            let used = self.session(p).map_or(0, |session| session.turns);
            reason = format!("{reason}, {used} of them by this session");
        }
        if !why.is_empty() {
            reason = format!("{reason}: {why}");
        }
        // The host counts turns itself: what a policy names as evidence is its own claim.
        self.record_session_end(p, TURN_LIMIT, Vec::new(), reason.clone());
        self.replace_session(p, SuccessorReason::Continuation, EndCause::from_policy(&reason, known));
    }

    /// A session that stopped for want of turns, and not of context, is continued with as many as the first had.
    pub(super) fn give_continuation_turns(&mut self, p: PhaseIndex) -> bool {
        let stopped_for_turns = self.session(p).is_some_and(|session| session.ending == TURN_LIMIT);
        let used = self.turns_counted(p);
        let turns = self.capped(p, used.saturating_add(self.phases[p].turns.grant.first));
        if !stopped_for_turns || turns <= used {
            return false;
        }
        // A new session gets no more of them for nothing than the one before it.
        let idle = match has_moved(&self.spent(p, &self.phases[p].measurements.facts)) {
            true => 0,
            false => self.phases[p].turns.grant.idle,
        };
        let phase = &mut self.phases[p];
        let changed = phase.measurements.facts.changed.clone();
        phase.turns.raise_to(turns, idle, phase.done_count(), changed);
        true
    }

    /// Says of a session between two prompts that it stops for want of turns.
    pub(super) fn end_at_turn_limit(&mut self, p: PhaseIndex) {
        if let Some(session) = self.session_mut(p) {
            TURN_LIMIT.clone_into(&mut session.ending);
        }
        let because = self.why_out_of_turns(p);
        self.replace_session(p, SuccessorReason::Continuation, EndCause::from_host(because));
    }

    pub(super) fn why_out_of_turns(&self, p: PhaseIndex) -> String {
        format!("the {} turns of the phase are used up", self.phases[p].turns.in_all())
    }

    /// What a person writes to give it more; nothing where it is not turns that it lacks.
    pub(super) fn turn_limit_hint(&self, p: PhaseIndex) -> String {
        if !self.is_out_of_turns(p) {
            return String::new();
        }
        let role = &self.phases[p].spec.role;
        let ceiling = self.turn_ceiling(p);
        match self.turns_counted(p) >= ceiling {
            true => format!(
                " A phase of this role gets {ceiling} turns at most; `turn_ceiling` in [roles.{role}] sets more."
            ),
            false => {
                let (first, of_table) = (self.phases[p].turns.grant.first, self.base_turns(p));
                let began = match first == of_table {
                    true => format!("`max_turns` in [roles.{role}] sets how many it begins with"),
                    false => format!("a policy began it with so many, and the table has {of_table}"),
                };
                format!(" `retry` gives it {first} more; {began}.")
            }
        }
    }
}

fn has_moved(spent: &TurnUsage) -> bool {
    spent.objectives_done > 0 || spent.files_changed > 0
}
