//! Questions to a person, ceilings, and answers. Reaching a ceiling pauses between two prompts; nothing is killed.

use crate::action::Action;
use crate::facts::TokenUsage;
use crate::ids::ActionId;
use crate::input::PauseAnswer;
use crate::observation::{Attempt, EvidenceKind};
use crate::progress::ProgressEvent;
use crate::short_format::{dollars, format_tokens};
use crate::time::DurationMs;

use super::end_cause::EndCause;
use super::phase_list::PhaseIndex;
use super::session::Session;
use super::step::{OnSessionEnd, PauseReason, PhaseStep};
use super::successor_reason::SuccessorReason;
use super::text_format::{cut, one_line};
use super::{OpenQuestion, Run};

/// Bytes of a question and of what a person says to it that the next session gets.
const TOLD_BYTES: usize = 2_000;

/// Why a session begins after a question to which a person said only that it is to be tried again.
const TRY_AGAIN: &str = "a person was asked how to go on, and has it tried again";

impl Run {
    /// Lets the session end, then asks. The run continues with other phases meanwhile.
    pub(super) fn pause(&mut self, p: PhaseIndex, about: PauseReason, text: impl Into<EndCause>) {
        if self.is_default_review(p)
            && matches!(about, PauseReason::Blocked | PauseReason::Unproven | PauseReason::Asked)
        {
            return self.end_session(p, OnSessionEnd::Skip, "the work is verified without this review");
        }
        self.end_session(p, OnSessionEnd::Pause { about, text: text.into() }, "the phase waits for a person");
    }

    pub(super) fn ask_person(&mut self, p: PhaseIndex, about: PauseReason, question: impl Into<EndCause>) {
        let cause = question.into();
        let text = cause.user_text().to_owned();
        let phase = self.phases[p].spec.id.clone();
        let choices = about.choices();
        let question = self.emit(Action::AskUser {
            phase: Some(phase.clone()),
            question: text.clone(),
            choices: choices.clone(),
        });
        self.notify(ProgressEvent::Paused {
            question,
            phase: Some(phase.clone()),
            text,
            choices: choices.clone(),
        });
        self.user_questions.insert(question, OpenQuestion { phase, cause, choices });
        self.phases[p].handoffs.may_be_stale = true;
        self.phases[p].step = PhaseStep::Paused { question, about };
    }

    pub(super) fn on_answered(&mut self, id: ActionId, choice: PauseAnswer, message: Option<&str>) {
        let Some(question) = self.user_questions.remove(&id) else {
            return;
        };
        let Some(p) = self.phase_index(&question.phase) else {
            return;
        };
        self.notify(ProgressEvent::Answered { question: id, choice });
        let about = match self.phases[p].step {
            PhaseStep::Paused { about, .. } => about,
            _ => PauseReason::Blocked,
        };
        match choice {
            PauseAnswer::Retry => {
                let phase = &mut self.phases[p];
                phase.reset_counts();
                if let Some(split) = &mut phase.split.active {
                    split.try_again();
                }
                let used = self.turns_used(p);
                self.phases[p].reset_turns(used);
                self.inform_next_session(p, &question.cause, message);
                self.continue_at_next_tick(p);
            }
            PauseAnswer::Accept => {
                // What no reviewer could score is taken as it is.
                if self.phases[p].review.is_default || self.phases[p].is_finished() {
                    self.phases[p].spec.review = None;
                }
                for g in std::mem::take(&mut self.phases[p].assessment.unproven_objectives) {
                    self.objective_done(p, g, None, EvidenceKind::Accepted);
                    self.phases[p].record_accepted_files(g);
                }
                self.continue_at_next_tick(p);
            }
            PauseAnswer::Raise => {
                match about {
                    PauseReason::RunCeiling => {
                        self.ceiling_raises = self
                            .run_ceiling_reached()
                            .map_or(self.ceiling_raises + 1, |reached| reached.raised);
                    }
                    _ => {
                        let before = self.phases[p].usage.ceiling_raises;
                        let raised =
                            self.phase_ceiling_reached(p).map_or(before + 1, |reached| reached.raised);
                        self.phases[p].usage.ceiling_raises = raised;
                    }
                }
                self.continue_at_next_tick(p);
            }
            PauseAnswer::Skip if about == PauseReason::Conflict => self.skip_conflicting_part(p),
            PauseAnswer::Skip => self.skip(p),
            PauseAnswer::Stop => {
                self.user_questions.clear();
                self.for_each_phase(|run, p| {
                    if !run.phases[p].is_over() {
                        run.end_session(p, OnSessionEnd::Skip, "a person stopped the run");
                    }
                });
            }
        }
    }

    /// What the next session learns of a question that a person has answered: what the person says to it, and to what. A question that
    /// was answered without a message stays between a policy and the person: it may be a stranger's.
    fn inform_next_session(&mut self, p: PhaseIndex, question: &EndCause, message: Option<&str>) {
        let phase = &mut self.phases[p];
        phase.succession.end_cause = match message {
            Some(message) => EndCause::answered(question, message),
            None => EndCause::from_policy(question.user_text(), TRY_AGAIN),
        }
        .cut(TOLD_BYTES);
        if let Some(message) = message {
            phase.review.instructions = format!(". A person says: {message}");
            cut(&mut phase.review.instructions, TOLD_BYTES);
            let (mut approach, mut outcome) = (question.agent_text().to_owned(), message.to_owned());
            cut(&mut approach, TOLD_BYTES);
            cut(&mut outcome, TOLD_BYTES);
            phase.records.add_decision(Attempt { approach, outcome, by_person: true });
        }
    }

    /// An answer may be given while no host is there to act: it only makes the phase due.
    pub(super) fn continue_at_next_tick(&mut self, p: PhaseIndex) {
        self.phases[p].step = PhaseStep::ResumePending;
    }

    /// Leaves a phase, and what belongs to it, as it is. What has a check of its own that has not passed is not done.
    pub(super) fn skip(&mut self, p: PhaseIndex) {
        self.reopen_where(p, |phase, g| {
            let objective = &phase.objectives[g];
            let is_unchecked = objective.spec.verify.is_some() && objective.check_passed != Some(true);
            is_unchecked.then(|| "its check has not passed".to_owned())
        });
        self.reopen_lost_accepted(p);
        self.phases[p].step = PhaseStep::Skipped;
        self.notify_unmerged_parts(p);
    }

    pub(super) fn continue_phase(&mut self, p: PhaseIndex) {
        let phase = &self.phases[p];
        if !phase.split.planned_parts.is_empty() {
            let parts = phase.split.planned_parts.clone();
            self.request_checkpoint(p, parts);
        } else if phase.split.active.is_some() {
            self.continue_integration(p);
        } else if phase.sessions.len() == phase.loop_position.sessions_before && !phase.is_finished() {
            self.begin(p);
        } else if phase.is_finished() {
            self.measure_before_checks(p);
        } else {
            self.start_successor(p, SuccessorReason::Uncounted);
        }
    }

    /// Asks where a ceiling of the phase or of the run is reached. True where it asked.
    pub(super) fn pause_at_ceiling(&mut self, p: PhaseIndex) -> bool {
        let (about, whose, reached) = match (self.phase_ceiling_reached(p), self.run_ceiling_reached()) {
            (Some(reached), _) => {
                (PauseReason::PhaseCeiling, format!("Phase {}", self.phases[p].spec.id), reached)
            }
            (None, Some(reached)) => (PauseReason::RunCeiling, "The run".to_owned(), reached),
            (None, None) => return false,
        };
        self.pause(p, about, format!("{whose} has reached its ceiling of {}.", reached.in_words()));
        true
    }

    fn phase_ceiling_reached(&self, p: PhaseIndex) -> Option<ReachedCeiling> {
        let phase = &self.phases[p];
        let sessions = phase.sessions.iter().filter_map(|id| self.sessions.get(id));
        let priced = SpendTotal::of(&phase.usage.billed, sessions);
        let ceilings = [phase.spec.wall_time.map(|t| t.0), phase.spec.tokens, phase.spec.cost_microusd];
        reached(
            ceilings,
            phase.usage.clock.at(self.now).0.0,
            phase.usage.billed.tokens(),
            priced,
            phase.usage.ceiling_raises,
        )
    }

    fn run_ceiling_reached(&self) -> Option<ReachedCeiling> {
        let limits = &self.workflow.limits;
        let billed: TokenUsage = self.phases.iter().map(|phase| &phase.usage.billed).sum();
        let priced = SpendTotal::of(&billed, self.sessions.values());
        let ceilings = [limits.wall_time.map(|t| t.0), limits.tokens, limits.cost_microusd];
        reached(ceilings, self.clock.at(self.now).0.0, billed.tokens(), priced, self.ceiling_raises)
    }

    /// What a phase has used, for a person who is asked whether it gets more: "It used 250 turns (86 of them by its last session),
    /// 13.7M tokens and at least $1.37.".
    pub(super) fn usage_text(&self, p: PhaseIndex) -> String {
        let phase = &self.phases[p];
        let turns = self.turns_used(p);
        let last = self.session(p).map_or(0, |session| session.turns);
        let of_last = if phase.sessions.len() > 1 {
            format!(" ({last} of them by its last session)")
        } else {
            String::new()
        };
        let sessions = || phase.sessions.iter().filter_map(|id| self.sessions.get(id));
        let is_cut = sessions().any(|session| session.cut_prompts > 0);
        let at_least = |is_less: bool| if is_less { "at least " } else { "" };
        let tokens = tokens_in_words(phase.usage.billed.tokens(), is_cut);
        let cost = phase.usage.billed.cost_microusd.map(|cost| {
            let is_less = is_cut || sessions().any(|session| session.unpriced_tokens > 0);
            format!(" and {}{}", at_least(is_less), dollars(cost))
        });
        let turn = if turns == 1 { "turn" } else { "turns" };
        match cost {
            Some(cost) => format!(" It used {turns} {turn}{of_last}, {tokens}{cost}."),
            None => format!(" It used {turns} {turn}{of_last} and {tokens}."),
        }
    }

    /// What its last session was refused, and what it said in the end: ` Its last session was refused 2 calls, the first of them "Bash: git
    /// push". It said last: "I cannot push."`. Both are words of an agent.
    pub(super) fn last_session_text(&self, p: PhaseIndex) -> String {
        let Some(session) = self.last_prompted_session(p) else { return String::new() };
        let first = session.refusals.iter().find(|refusal| refusal.kind.is_call());
        let first = first.map(|refusal| one_line(&refusal.target));
        let refused = match (session.refused, first) {
            (0, _) | (_, None) => String::new(),
            (1, Some(call)) => format!(" Its last session was refused a call: {call:?}."),
            (times, Some(first)) => {
                format!(" Its last session was refused {times} calls, the first of them {first:?}.")
            }
        };
        let words = session.last_words();
        let said = if words.is_empty() { String::new() } else { format!(" It said last: {words:?}.") };
        refused + &said
    }
}

/// "13.7M tokens"; less than was used if a prompt was cut off, and nothing is known if all of them were.
fn tokens_in_words(tokens: u64, is_cut: bool) -> String {
    match (tokens, is_cut) {
        (0, true) => "an unknown number of tokens".to_owned(),
        (tokens, true) => format!("at least {} tokens", format_tokens(tokens)),
        (tokens, false) => format!("{} tokens", format_tokens(tokens)),
    }
}

/// What was paid, as far as is known.
struct SpendTotal {
    microusd: u64,
    /// Of these, what tokens without a price cost, by the price of the others.
    estimated: u64,
    unpriced_tokens: u64,
}

impl SpendTotal {
    fn of<'s>(billed: &TokenUsage, sessions: impl Iterator<Item = &'s Session>) -> Self {
        let unpriced_tokens = sessions.map(|session| session.unpriced_tokens).fold(0, u64::saturating_add);
        let (known, all) = (billed.cost_microusd.unwrap_or(0), billed.tokens());
        let priced = u128::from(all.saturating_sub(unpriced_tokens));
        let estimated = (u128::from(known) * u128::from(unpriced_tokens)).checked_div(priced).unwrap_or(0);
        let estimated = u64::try_from(estimated).unwrap_or(u64::MAX);
        Self { microusd: known.saturating_add(estimated), estimated, unpriced_tokens }
    }
}

/// A ceiling that is reached.
struct ReachedCeiling {
    what: &'static str,
    /// As it stands, as often as it was raised.
    ceiling: u64,
    used: u64,
    /// How often it is raised once a person raises it: by its original amount, until it is above what was used.
    raised: u32,
    raised_to: u64,
    amount: fn(u64) -> String,
    /// What is said of tokens without a price.
    unpriced: String,
}

impl ReachedCeiling {
    /// "cost, $0.50, and is at $1.37: ceilings are looked at between prompts. `raise` sets it to $1.50".
    fn in_words(&self) -> String {
        let amount = self.amount;
        // A prompt is not broken off for it.
        let passed = match self.used > self.ceiling {
            true => {
                let used = amount(self.used);
                format!(", and is at {used}{}: ceilings are looked at between prompts", self.unpriced)
            }
            false => String::new(),
        };
        let (ceiling, raised_to) = (amount(self.ceiling), amount(self.raised_to));
        format!("{}, {ceiling}{passed}. `raise` sets it to {raised_to}", self.what)
    }
}

/// The first of time, tokens and cost that is used up.
fn reached(
    ceilings: [Option<u64>; 3],
    time: u64,
    tokens: u64,
    priced: SpendTotal,
    raised: u32,
) -> Option<ReachedCeiling> {
    let used = [time, tokens, priced.microusd];
    let times = u64::from(raised) + 1;
    let i = (0..3).find(|i| ceilings[*i].is_some_and(|ceiling| used[*i] >= ceiling.saturating_mul(times)))?;
    let first = ceilings[i]?;
    let needed = used[i].checked_div(first).unwrap_or(0);
    let raised = raised.saturating_add(1).max(u32::try_from(needed).unwrap_or(u32::MAX));
    let unpriced = match i == 2 && priced.estimated > 0 {
        true => format!(
            " (about {} of it for {} tokens without a price)",
            dollars(priced.estimated),
            format_tokens(priced.unpriced_tokens)
        ),
        false => String::new(),
    };
    Some(ReachedCeiling {
        what: ["wall time", "tokens", "cost"][i],
        ceiling: first.saturating_mul(times),
        used: used[i],
        raised,
        raised_to: first.saturating_mul(u64::from(raised) + 1),
        amount: [|ms| DurationMs(ms).to_string(), |tokens: u64| tokens.to_string(), dollars][i],
        unpriced,
    })
}

#[cfg(test)]
mod tests {
    use super::tokens_in_words;

    #[test]
    fn what_no_prompt_told_of_is_unknown() {
        assert_eq!(tokens_in_words(0, true), "an unknown number of tokens");
        assert_eq!(tokens_in_words(990, true), "at least 990 tokens");
        assert_eq!(tokens_in_words(0, false), "0 tokens");
    }
}
