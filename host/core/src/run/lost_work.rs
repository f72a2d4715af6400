//! Work that is no longer in the workspace when a host takes a run up (A11): somebody restored the folder, or cloned it again. What was
//! done by it is not done.

use std::collections::BTreeMap;

use crate::facts::ChangedFile;
use crate::ids::{Digest, PhaseId};
use crate::observation::ObjectiveStatus;
use crate::time::UnixMs;

use super::Run;
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
    /// When it was last measured; 0 if it never was.
    pub measured_at: UnixMs,
    /// That measurement looked at the workspace and named every change: other files were as its baseline has them.
    pub names_all: bool,
    /// What its earlier measurements found in files that differ by now.
    past_contents: &'a BTreeMap<String, Vec<Digest>>,
}

impl PhaseChanges<'_> {
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
            measured_at: phase.past_looks.newest_at,
            names_all: phase.past_looks.newest_is_whole,
            past_contents: &phase.past_looks.contents,
        });
        changes.collect()
    }

    /// Objectives whose work is lost are open again if the phase is still at work on others, or was skipped; otherwise a person is asked.
    pub(super) fn on_work_lost(&mut self, phase: &PhaseId, files: &[String], beyond: u32) {
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
        for g in self.phases[p].objectives_losing_work(files, beyond) {
            let phase = &self.phases[p];
            let words = format!(
                "The work on objective {} is no longer in the folder, as if it {by_whom}: {first} {more} missing or as before",
                phase.goals[g].spec.id
            );
            let is_never_asked = phase.step == PhaseStep::Skipped;
            if is_never_asked || !phase.is_over() && !phase.is_finished() {
                self.reopen(p, g, ObjectiveStatus::InProgress, &words);
            } else if phase.disputes.iter().all(|dispute| dispute.goal != g || dispute.words != words) {
                let dispute = Dispute {
                    goal: g,
                    words,
                    reported: None,
                    is_from_last_measurement: false,
                    handoff: None,
                };
                self.phases[p].disputes.push(dispute);
            }
        }
    }
}

impl Phase {
    /// Objectives that are taken for done by these files: those that name one of them, and for a file that none of them names, those
    /// that name no file, or else all.
    fn objectives_losing_work(&self, files: &[String], beyond: u32) -> Vec<usize> {
        let names = |goal: &ObjectiveState, file: &String| goal.spec.files.contains(file);
        let is_named = |file: &String| self.goals.iter().any(|goal| names(goal, file));
        let are_all_named = beyond == 0 && files.iter().all(is_named);
        let names_nothing = |goal: &ObjectiveState| goal.spec.files.is_empty();
        let is_anyones = !are_all_named && !self.goals.iter().any(names_nothing);
        let concerns = |goal: &ObjectiveState| {
            is_anyones || !are_all_named && names_nothing(goal) || files.iter().any(|file| names(goal, file))
        };
        let concerned = self.goals.iter().enumerate().filter(|(_, goal)| is_claimed(goal) && concerns(goal));
        concerned.map(|(g, _)| g).collect()
    }
}

/// It is taken for done by what agents did.
pub(super) fn is_claimed(goal: &ObjectiveState) -> bool {
    goal.is_done() && !goal.is_accepted()
}
