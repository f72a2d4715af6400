//! Questions to a person, ceilings, and answers. Reaching a ceiling pauses between two prompts; nothing is killed.

use crate::action::Action;
use crate::facts::Billed;
use crate::ids::ActionId;
use crate::input::Choice;
use crate::notice::Notice;
use crate::observation::{Attempt, Basis};

use super::phase::Phase;
use super::session::cut;
use super::step::{AfterEnd, Pause, Step, Succession};
use super::{Question, Run};

/// Bytes of a question and of what a person says to it that the next session is told.
const TOLD_BYTES: usize = 2_000;

impl Run {
    /// Lets the session end, then asks. The run goes on with other phases meanwhile.
    pub(super) fn pause(&mut self, p: usize, about: Pause, text: String) {
        if self.is_default_review(p) && matches!(about, Pause::Stuck | Pause::Unproven | Pause::Asked) {
            return self.end_session(p, AfterEnd::Skip, "the work is verified without this review");
        }
        self.end_session(p, AfterEnd::Pause { about, text }, "the phase waits for a person");
    }

    pub(super) fn ask_person(&mut self, p: usize, about: Pause, text: String) {
        let phase = self.phases[p].spec.id.clone();
        let choices = about.choices();
        let question = self.emit(Action::Ask {
            phase: Some(phase.clone()),
            question: text.clone(),
            choices: choices.clone(),
        });
        self.notify(Notice::Paused {
            question,
            phase: Some(phase.clone()),
            text: text.clone(),
            choices: choices.clone(),
        });
        self.questions.insert(question, Question { phase, text, choices });
        self.phases[p].aged = true;
        self.phases[p].step = Step::Paused { question, about };
    }

    pub(super) fn answered(&mut self, id: ActionId, choice: Choice, message: Option<&str>) {
        let Some(question) = self.questions.remove(&id) else {
            return;
        };
        let Some(p) = self.phase_index(&question.phase) else {
            return;
        };
        self.notify(Notice::Answered { question: id, choice });
        let about = match self.phases[p].step {
            Step::Paused { about, .. } => about,
            _ => Pause::Stuck,
        };
        match choice {
            Choice::Retry => {
                let phase = &mut self.phases[p];
                (phase.continuations, phase.retries, phase.verifications, phase.quota_waits) = (0, 0, 0, 0);
                (phase.reviews, phase.iterations_forgiven) = (0, phase.iteration);
                if let Some(fork) = &mut phase.fork {
                    fork.try_again();
                }
                let used = self.turns_used(p);
                self.phases[p].forgive_turns(used);
                self.tell_the_next(p, &question.text, message);
                self.take_up_at_next_tick(p);
            }
            Choice::Accept => {
                // What no reviewer could score is taken as it is.
                if self.phases[p].reviewed_by_default || self.phases[p].is_finished() {
                    self.phases[p].spec.review = None;
                }
                for g in std::mem::take(&mut self.phases[p].unproven) {
                    self.objective_done(p, g, None, Basis::Accepted);
                }
                self.take_up_at_next_tick(p);
            }
            Choice::Raise => {
                match about {
                    Pause::RunCeiling => self.raised += 1,
                    _ => self.phases[p].raised += 1,
                }
                self.take_up_at_next_tick(p);
            }
            Choice::Skip if about == Pause::Conflict => self.leave_apart(p),
            Choice::Skip => self.skip(p),
            Choice::Stop => {
                self.questions.clear();
                self.for_each_phase(|run, p| {
                    if !run.phases[p].is_over() {
                        run.end_session(p, AfterEnd::Skip, "a person stopped the run");
                    }
                });
            }
        }
    }

    /// What the next session is told of a question that a person has answered: why there was one, and what the person says to it.
    fn tell_the_next(&mut self, p: usize, question: &str, message: Option<&str>) {
        let phase = &mut self.phases[p];
        phase.because = match message {
            Some(message) => format!("a person answers: {message} (the question was: {question})"),
            None => question.to_owned(),
        };
        cut(&mut phase.because, TOLD_BYTES);
        if let Some(message) = message {
            phase.told = format!(". A person says: {message}");
            cut(&mut phase.told, TOLD_BYTES);
            let (mut approach, mut outcome) = (question.to_owned(), format!("a person answers: {message}"));
            cut(&mut approach, TOLD_BYTES);
            cut(&mut outcome, TOLD_BYTES);
            Phase::record(&mut phase.decisions, Attempt { approach, outcome }, &mut phase.dropped);
        }
    }

    /// An answer may be given while no host is there to act: it only makes the phase due.
    pub(super) fn take_up_at_next_tick(&mut self, p: usize) {
        self.phases[p].step = Step::Due;
    }

    /// Leaves a phase, and what belongs to it, as it is.
    pub(super) fn skip(&mut self, p: usize) {
        self.phases[p].step = Step::Skipped;
        self.tell_apart(p);
    }

    pub(super) fn take_up(&mut self, p: usize) {
        let phase = &self.phases[p];
        if !phase.parts.is_empty() {
            let parts = phase.parts.clone();
            self.checkpoint(p, parts);
        } else if phase.fork.is_some() {
            self.join(p);
        } else if phase.sessions.len() == phase.sessions_before && !phase.is_finished() {
            self.begin(p);
        } else if phase.is_finished() {
            self.prove(p);
        } else {
            self.succeed(p, Succession::Uncounted);
        }
    }

    /// Asks where a ceiling of the phase or of the run is reached. True where it asked.
    pub(super) fn pause_at_ceiling(&mut self, p: usize) -> bool {
        let limits = &self.workflow.limits;
        let (phase, times) = (&self.phases[p], |raised: u32| u64::from(raised) + 1);
        let run_billed: Billed = self.phases.iter().map(|phase| &phase.billed).sum();
        let of_phase = reached(
            [phase.spec.wall_time.map(|t| t.0), phase.spec.tokens, phase.spec.cost_microusd],
            [phase.clock.at(self.now).0.0, phase.billed.tokens(), phase.billed.cost_microusd.unwrap_or(0)],
            times(phase.raised),
        );
        let of_run = reached(
            [limits.wall_time.map(|t| t.0), limits.tokens, limits.cost_microusd],
            [self.clock.at(self.now).0.0, run_billed.tokens(), run_billed.cost_microusd.unwrap_or(0)],
            times(self.raised),
        );
        let (about, whose, what) = match (of_phase, of_run) {
            (Some(what), _) => (Pause::PhaseCeiling, format!("Phase {}", phase.spec.id), what),
            (None, Some(what)) => (Pause::RunCeiling, "The run".to_owned(), what),
            (None, None) => return false,
        };
        self.pause(p, about, format!("{whose} has reached its ceiling of {what}."));
        true
    }
}

/// The first of time, tokens and cost that is used up, in words.
fn reached(ceilings: [Option<u64>; 3], used: [u64; 3], times: u64) -> Option<String> {
    let i = (0..3).find(|i| ceilings[*i].is_some_and(|ceiling| used[*i] >= ceiling.saturating_mul(times)))?;
    let ceiling = ceilings[i]?.saturating_mul(times);
    let amount = |amount: u64| match i {
        0 => crate::time::DurationMs(amount).to_string(),
        1 => amount.to_string(),
        _ => format!("${:.2}", amount as f64 / 1e6),
    };
    let what = ["wall time", "tokens", "cost"][i];
    // A prompt is not broken off for it.
    let passed = match used[i] > ceiling {
        true => format!(", and is at {}: ceilings are looked at between prompts", amount(used[i])),
        false => String::new(),
    };
    Some(format!("{what}, {}{passed}", amount(ceiling)))
}
