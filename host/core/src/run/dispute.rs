//! What speaks against an objective whose phase is over (A11): a report, a handoff that lists it as open, an expected file that is gone at
//! the end of the run, work that is gone when a host takes the run up. A session that mends it would work beside those that came after it, so a person says what holds, once no agent works
//! in its folder, and before the run ends.

use crate::input::ReportedHandoff;
use crate::observation::ObjectiveStatus;

use super::Run;
use super::dispute_record::Dispute;
use super::lost_work::is_claimed;
use super::phase::{ObjectiveIndex, ObjectiveReport, Phase};
use super::phase_list::PhaseIndex;
use super::step::{PauseReason, PhaseStep};
use super::text_format::{excerpt, words_of};

impl Dispute {
    fn status(&self) -> ObjectiveStatus {
        self.reported.as_ref().map_or(ObjectiveStatus::InProgress, |reported| reported.status)
    }

    /// Found on the disk, and not by the last measurement.
    pub(super) fn is_of_lost_work(&self) -> bool {
        self.reported.is_none() && !self.is_from_last_measurement
    }
}

impl Run {
    /// Keeps the newest word against an objective; a report of done takes it back. That work is lost stays: the files say it, and no report
    /// brings them back.
    pub(super) fn dispute(
        &mut self,
        p: PhaseIndex,
        g: ObjectiveIndex,
        reported: ObjectiveReport,
        handoff: Option<&ReportedHandoff>,
    ) {
        let (p, objective) = self.root_objective(p, g);
        let words = self.describe_report(p, objective, &reported, handoff);
        let phase = &mut self.phases[p];
        phase.disputes.retain(|dispute| dispute.objective != objective || dispute.is_of_lost_work());
        if reported.status != ObjectiveStatus::Done && phase.step != PhaseStep::Skipped {
            phase.disputes.push(Dispute {
                objective,
                words,
                reported: Some(reported),
                is_from_last_measurement: false,
                is_of_accepted_work: false,
                handoff: handoff.cloned(),
            });
        }
    }

    fn describe_report(
        &self,
        p: PhaseIndex,
        objective: ObjectiveIndex,
        reported: &ObjectiveReport,
        handoff: Option<&ReportedHandoff>,
    ) -> String {
        let who = reported.by.as_ref().map_or_else(|| "An agent".to_owned(), |id| format!("Session {id}"));
        let (says, status, note) = match handoff {
            Some(handoff) => ("lists", "open in its handoff", &handoff.current_state),
            None => ("reported", words_of(reported.status), &reported.note),
        };
        let id = &self.phases[p].objectives[objective].spec.id;
        let note = if note.is_empty() { String::new() } else { format!(": \"{}\"", excerpt(note)) };
        format!("{who} {says} objective {id} as {status} after its phase was over{note}")
    }

    /// The same objective in the phase that was split for it: its parts are gone once they came together.
    pub(super) fn root_objective(
        &self,
        mut p: PhaseIndex,
        mut g: ObjectiveIndex,
    ) -> (PhaseIndex, ObjectiveIndex) {
        let id = &self.phases[p].objectives[g].spec.id;
        while let Some(whole) =
            self.phases[p].lineage.parent.as_ref().and_then(|parent| self.phase_index(parent))
        {
            let Some(held) = self.phases[whole].objectives.position(|objective| objective.spec.id == *id)
            else {
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
            if phase.step != PhaseStep::Done
                || phase.disputes.is_empty()
                || !run.live_phases_in_same_folder(p).is_empty()
            {
                return;
            }
            let mut said = Vec::new();
            run.phases[p].assessment.unproven_objectives.clear();
            for dispute in std::mem::take(&mut run.phases[p].disputes) {
                let (status, is_lost) = (dispute.status(), dispute.is_of_lost_work());
                let Dispute { objective, words, reported, handoff, .. } = dispute;
                run.reopen(p, objective, status, &words);
                let phase = &mut run.phases[p];
                phase.objectives[objective].has_lost_work |= is_lost;
                if !phase.assessment.unproven_objectives.contains(&objective) {
                    phase.assessment.unproven_objectives.push(objective);
                }
                if let Some(handoff) = handoff {
                    let by = reported.as_ref().and_then(|reported| reported.by.clone());
                    phase.handoffs.report(by, handoff);
                    phase.handoffs.has_unrecorded_progress = true;
                }
                if let Some(reported) = reported {
                    let before_prompt = Some(Box::new(phase.measurements.facts.clone()));
                    phase.objectives[objective].reported =
                        Some(ObjectiveReport { before_prompt, ..reported });
                }
                said.push(words);
            }
            run.ask_person(p, PauseReason::Unproven, format!("{}. Is the work done?", said.join(". ")));
        });
    }

    /// The files of what other phases finished in the workspace, once this is the last phase that is not over.
    pub(super) fn files_of_other_phases(&self, p: PhaseIndex) -> Vec<String> {
        let is_last = self.phases.indexed().all(|(q, phase)| q == p || phase.is_over());
        if !is_last || !self.phases[p].tree.is_workspace() {
            return Vec::new();
        }
        self.finished_in_other_phases(p)
            .flat_map(|(q, g)| self.phases[q].objectives[g].spec.files.clone())
            .collect()
    }

    /// Objectives of other phases that are done and that no person accepted, by the indices of their phase and their own.
    fn finished_in_other_phases(&self, p: PhaseIndex) -> impl Iterator<Item = (PhaseIndex, ObjectiveIndex)> {
        let is_whole = |phase: &Phase| phase.lineage.parent.is_none() && phase.step == PhaseStep::Done;
        let others = self.phases.indexed().filter(move |(q, phase)| *q != p && is_whole(phase));
        others.flat_map(|(q, phase)| {
            phase.objectives.indices().filter(move |g| is_claimed(&phase.objectives[*g])).map(move |g| (q, g))
        })
    }

    /// Of the files that the last measurement did not find, those of other phases speak against these. An earlier one does not count
    /// any more.
    pub(super) fn dispute_missing_files(&mut self, p: PhaseIndex) {
        for phase in &mut self.phases {
            phase.disputes.retain(|dispute| !dispute.is_from_last_measurement);
        }
        let of_others = self.files_of_other_phases(p);
        let is_gone = |path: &&String| {
            of_others.contains(path) && self.phases[p].measurements.facts.missing.contains(path)
        };
        let gone = self.finished_in_other_phases(p).filter_map(|(q, g)| {
            let objective = &self.phases[q].objectives[g].spec;
            let path = objective.files.iter().find(is_gone)?;
            let words = format!(
                "{path} of objective {} is missing, and was there when its phase ended",
                objective.id
            );
            Some((
                q,
                Dispute {
                    objective: g,
                    words,
                    reported: None,
                    is_from_last_measurement: true,
                    is_of_accepted_work: false,
                    handoff: None,
                },
            ))
        });
        for (q, dispute) in gone.collect::<Vec<_>>() {
            self.phases[q].disputes.push(dispute);
        }
        let of_own = self.expected_files(p);
        self.phases[p].measurements.facts.missing.retain(|path| of_own.contains(path));
    }
}
