//! What is reported against an objective whose phase is over (A11). Whoever mends it would work beside those that came after it, so a
//! person says what holds, once nobody works in its folder, and before the run ends.

use super::Run;
use super::evidence::{excerpt, words_of};
use super::phase::Reported;
use super::step::{Pause, Step};
use crate::observation::ObjectiveStatus;

/// A report against an objective of a phase that is over.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dispute {
    /// Index of the objective in its phase.
    goal: usize,
    reported: Reported,
}

impl Run {
    /// Keeps the newest word against an objective; a report of done takes it back.
    pub(super) fn dispute(&mut self, p: usize, g: usize, reported: Reported) {
        let (p, goal) = self.whole_of(p, g);
        let phase = &mut self.phases[p];
        phase.disputes.retain(|dispute| dispute.goal != goal);
        if reported.status != ObjectiveStatus::Done && phase.step != Step::Skipped {
            phase.disputes.push(Dispute { goal, reported });
        }
    }

    /// The same objective in the phase that was split for it: its parts are gone once they came together.
    fn whole_of(&self, mut p: usize, mut g: usize) -> (usize, usize) {
        let id = &self.phases[p].goals[g].spec.id;
        while let Some(whole) = self.phases[p].parent.as_ref().and_then(|parent| self.phase_index(parent)) {
            let Some(held) = self.phases[whole].goals.iter().position(|goal| goal.spec.id == *id) else {
                break;
            };
            (p, g) = (whole, held);
        }
        (p, g)
    }

    /// Opens what is disputed of the phases that are done, and asks about each of them.
    pub(super) fn ask_about_disputes(&mut self) {
        self.for_each_phase(|run, p| {
            let phase = &run.phases[p];
            if phase.step != Step::Done || phase.disputes.is_empty() || !run.at_work_beside(p).is_empty() {
                return;
            }
            let mut said = Vec::new();
            run.phases[p].unproven.clear();
            for Dispute { goal, reported } in std::mem::take(&mut run.phases[p].disputes) {
                let words = run.words_of_dispute(p, goal, &reported);
                run.reopen(p, goal, reported.status, &words);
                let phase = &mut run.phases[p];
                phase.unproven.push(goal);
                let before_prompt = Some(Box::new(phase.facts.clone()));
                phase.goals[goal].reported = Some(Reported { before_prompt, ..reported });
                said.push(words);
            }
            run.ask_person(p, Pause::Unproven, format!("{}. Is the work done?", said.join(". ")));
        });
    }

    fn words_of_dispute(&self, p: usize, goal: usize, reported: &Reported) -> String {
        let who = reported.by.as_ref().map_or_else(|| "An agent".to_owned(), |id| format!("Session {id}"));
        let note = match reported.note.as_str() {
            "" => String::new(),
            note => format!(": \"{}\"", excerpt(note)),
        };
        let (id, status) = (&self.phases[p].goals[goal].spec.id, words_of(reported.status));
        format!("{who} reported objective {id} as {status} after its phase was over{note}")
    }
}
