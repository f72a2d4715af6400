//! Work that is no longer in the workspace when a host takes a run up (A11): somebody restored the folder, or cloned it again. What was
//! done by it is not done.

use std::collections::BTreeMap;

use crate::facts::ChangedFile;
use crate::ids::{Digest, PhaseId};
use crate::observation::ObjectiveStatus;
use crate::time::UnixMs;

use super::Run;
use super::accepted_files::AcceptedFiles;
use super::dispute_record::Dispute;
use super::phase::{ObjectiveState, Phase};
use super::session::Session;
use super::step::PhaseStep;

/// What a phase has changed in the workspace.
#[derive(Clone, Debug)]
pub struct PhaseChanges<'a> {
    /// Which phase.
    pub phase: &'a PhaseId,
    /// Files that differ from its start, as they were when it was last measured.
    pub files: Vec<&'a ChangedFile>,
    /// An objective of it is done, and no person accepted it as it is.
    pub counts: bool,
    /// What it had changed when a person accepted an objective of it.
    accepted: Vec<&'a AcceptedFiles>,
    /// When it was last measured; 0 if it never was.
    pub measured_at: UnixMs,
    /// That measurement looked at the workspace and named every change: other files were as its baseline has them.
    pub names_all: bool,
    /// What its earlier measurements found in files that differ by now.
    past_contents: &'a BTreeMap<String, Vec<Digest>>,
}

impl PhaseChanges<'_> {
    /// Whether an objective is taken for done by what the phase has changed.
    pub fn has_done_work(&self) -> bool {
        self.counts || self.accepted.iter().any(|files| !files.is_empty())
    }

    /// Whether an objective may be taken for done by this file. What a person accepted, they accepted as it was then.
    pub fn is_done_by(&self, path: &str) -> bool {
        self.counts || self.accepted.iter().any(|files| files.may_include(path))
    }

    /// Whether an earlier measurement of it found this content in a file.
    pub fn had_earlier(&self, path: &str, content: &Digest) -> bool {
        self.past_contents.get(path).is_some_and(|known| known.contains(content))
    }
}

impl Run {
    /// What each phase that works in the workspace has changed there, in the order of the workflow. Parts of a phase are not listed.
    pub fn changes_in_workspace(&self) -> Vec<PhaseChanges<'_>> {
        let is_own = |phase: &&Phase| phase.parent.is_none() && phase.tree.is_workspace();
        let changes = self.phases.iter().filter(is_own).map(|phase| PhaseChanges {
            phase: &phase.spec.id,
            files: phase.changed_files().collect(),
            counts: phase.goals.iter().any(is_claimed),
            accepted: phase
                .goals
                .iter()
                .filter(|goal| goal.is_accepted())
                .map(|goal| &goal.accepted_files)
                .collect(),
            measured_at: phase.past_looks.newest_at,
            names_all: phase.past_looks.newest_is_whole,
            past_contents: &phase.past_looks.contents,
        });
        changes.collect()
    }

    /// Objectives whose work is lost are open again if the phase is still at work on others, or was skipped; otherwise a person is asked.
    /// About what they accepted, they are asked also while it is at work.
    pub(super) fn on_work_lost(
        &mut self,
        phase: &PhaseId,
        files: &[String],
        beyond: u32,
        includes_accepted: bool,
    ) {
        let Some(p) = self.phase_index(phase) else { return };
        let more = match beyond as usize + files.len().saturating_sub(1) {
            0 => "is".to_owned(),
            1 => "and 1 more file are".to_owned(),
            more => format!("and {more} more files are"),
        };
        let first = files.first().map_or("", String::as_str);
        // Comes before the run is taken up: these died with the last host.
        let by_whom = match self.sessions.values().any(Session::is_alive) {
            true => "had been restored or cloned again, or an agent had changed it before the host ended",
            false => "had been restored or cloned again",
        };
        self.phases[p].past_looks.lost_since.add(files, beyond, includes_accepted);
        for g in self.phases[p].objectives_losing_work(files, beyond, includes_accepted) {
            let phase = &self.phases[p];
            let is_accepted = phase.goals[g].is_accepted();
            let accepted = if is_accepted { ", which a person accepted," } else { "" };
            let words = format!(
                "The work on objective {}{accepted} is no longer in the folder, as if it {by_whom}: {first} {more} missing or as before",
                phase.goals[g].spec.id
            );
            let is_never_asked = phase.step == PhaseStep::Skipped;
            let is_at_work = !phase.is_over() && !phase.is_finished();
            let is_said = match is_accepted {
                true => phase.has_lost_accepted(g),
                false => phase.disputes.iter().any(|dispute| dispute.goal == g && dispute.words == words),
            };
            if is_never_asked || is_at_work && !is_accepted {
                self.reopen(p, g, ObjectiveStatus::InProgress, &words);
            } else if !is_said {
                let dispute = Dispute {
                    goal: g,
                    words,
                    reported: None,
                    is_from_last_measurement: false,
                    is_of_accepted_work: is_accepted,
                    handoff: None,
                };
                self.phases[p].disputes.push(dispute);
            }
        }
    }

    /// A phase is left as it is: what a person accepted of it and is lost is not done. They are not asked about it any more.
    pub(super) fn reopen_lost_accepted(&mut self, p: usize) {
        let disputes = self.phases[p].disputes.iter().filter(|dispute| dispute.is_of_accepted_work);
        let lost: Vec<(usize, String)> =
            disputes.map(|dispute| (dispute.goal, dispute.words.clone())).collect();
        for (g, words) in lost {
            self.reopen(p, g, ObjectiveStatus::InProgress, &words);
        }
    }
}

impl Phase {
    /// Objectives that are taken for done by these files: those that name one of them, and for a file that none of them names, those
    /// that name no file, or else all. Those that a person accepted lose what the phase had changed for them by then.
    fn objectives_losing_work(&self, files: &[String], beyond: u32, includes_accepted: bool) -> Vec<usize> {
        let names = |goal: &ObjectiveState, file: &String| goal.spec.files.contains(file);
        let is_named = |file: &String| self.goals.iter().any(|goal| names(goal, file));
        let are_all_named = beyond == 0 && files.iter().all(is_named);
        let names_nothing = |goal: &ObjectiveState| goal.spec.files.is_empty();
        let is_anyones = !are_all_named && !self.goals.iter().any(names_nothing);
        let concerns = |goal: &ObjectiveState| {
            is_anyones || !are_all_named && names_nothing(goal) || files.iter().any(|file| names(goal, file))
        };
        let is_accepted_with = |goal: &ObjectiveState| {
            let accepted = &goal.accepted_files;
            let has_some = beyond > 0 && !accepted.is_empty();
            goal.is_accepted() && (has_some || files.iter().any(|file| accepted.may_include(file)))
        };
        let concerned = self.goals.iter().enumerate().filter(|(_, goal)| {
            is_claimed(goal) && concerns(goal) || includes_accepted && is_accepted_with(goal)
        });
        concerned.map(|(g, _)| g).collect()
    }
}

/// It is taken for done by what agents did.
pub(super) fn is_claimed(goal: &ObjectiveState) -> bool {
    goal.is_done() && !goal.is_accepted()
}
