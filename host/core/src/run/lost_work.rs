//! Work that is no longer in the workspace when a host takes a run up, or after a wait (A11): the folder was restored, or cloned
//! again. What was done by it is not done.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::{AgentEvent, ChangedFile};
use crate::ids::{Digest, PhaseId, SessionId};
use crate::observation::ObjectiveStatus;
use crate::time::UnixMs;

use super::Run;
use super::accepted_files::AcceptedFiles;
use super::dispute_record::Dispute;
use super::phase::{ObjectiveIndex, ObjectiveState, Phase};
use super::phase_list::PhaseIndex;
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
    /// Changes beyond `files` that its newest measurement only counted: the host keeps a list of them.
    pub unnamed: u32,
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

    /// Whether an objective may be taken for done by files that are only counted.
    pub fn is_done_by_unnamed(&self) -> bool {
        self.is_done_by("")
    }

    /// Whether an earlier measurement of it found this content in a file.
    pub fn had_earlier(&self, path: &str, content: &Digest) -> bool {
        self.past_contents.get(path).is_some_and(|known| known.contains(content))
    }
}

/// What a phase that is done has changed in the workspace. If all of it is gone, nothing shows any more that it is done, and neither is an
/// objective whose own file is as before.
#[derive(Clone, Debug)]
pub struct FinishedWork<'a> {
    /// Which phase.
    pub phase: &'a PhaseId,
    /// One for each walk of its loop in which it left other files, the oldest first.
    pub walks: Vec<PhaseChanges<'a>>,
    /// Files that its objectives name which are taken for done by what agents did.
    pub named: BTreeSet<&'a str>,
    /// Files that objectives of other phases name, which may take back what this one did.
    pub named_elsewhere: BTreeSet<&'a str>,
}

impl Run {
    /// What each phase that works in the workspace has changed there, in the order of the workflow. Parts that share it with their phase
    /// are listed until that was measured behind them, and a phase in a loop once for each walk in which it left other files, the oldest
    /// first.
    pub fn changes_in_workspace(&self) -> Vec<PhaseChanges<'_>> {
        let listed = self.phases.indices().filter(|p| self.is_compared(*p));
        let changes = listed.flat_map(|p| {
            let phase = &self.phases[p];
            let measurements = &phase.measurements.past;
            let held = || phase.objectives.indices().map(move |g| self.held_objective(p, g));
            let newest = PhaseChanges {
                phase: &phase.spec.id,
                files: phase.changed_files().collect(),
                counts: held().any(is_claimed),
                accepted: held()
                    .filter(|objective| objective.is_accepted())
                    .map(|objective| &objective.accepted_files)
                    .collect(),
                measured_at: measurements.newest_at,
                names_all: measurements.newest_is_whole,
                // Another work tree than the folder is measured while parts come together.
                unnamed: if phase.split.merged_parts.is_empty() {
                    phase.measurements.facts.changed_beyond
                } else {
                    0
                },
                past_contents: &measurements.contents,
            };
            let earlier: Vec<PhaseChanges<'_>> = measurements
                .iterations
                .iter()
                .map(|iteration| PhaseChanges {
                    files: iteration.files.iter().collect(),
                    measured_at: iteration.measured_at,
                    names_all: iteration.is_whole,
                    ..newest.clone()
                })
                .collect();
            earlier.into_iter().chain([newest])
        });
        changes.collect()
    }

    /// Since when agents and effects have left the workspace alone: each phase there waits for time or a person, or its agent waits for its
    /// provider by itself. 0 where no agent is in the middle of a prompt; none while one is at work.
    pub fn workspace_idle_since(&self) -> Option<UnixMs> {
        let mut since = UnixMs(0);
        for phase in self.phases.iter().filter(|phase| phase.tree.is_workspace() && phase.is_active()) {
            if phase.waits_for_time() {
                continue;
            }
            let session = phase.session.as_ref().and_then(|id| self.sessions.get(id))?;
            since = since.max(session.quota.as_ref()?.since);
        }
        Some(since)
    }

    /// Whether a phase continues now that has waited: for its provider, before a retry, or for a place after an answer.
    pub fn ends_wait(&self, now: UnixMs) -> bool {
        self.phases.iter().any(|phase| match phase.step {
            PhaseStep::Quota { retry_at, .. } => retry_at <= now,
            _ => phase.waits_for_time() && self.deadline_of(phase).is_some_and(|at| at <= now),
        })
    }

    /// Whether an agent continues by this event, or ends without one, that has waited for its provider by itself.
    pub fn ends_agent_wait(&self, session: &SessionId, event: Option<&AgentEvent>) -> bool {
        let waits = self.sessions.get(session).is_some_and(|session| session.quota.is_some());
        let goes_on =
            |event: &AgentEvent| Session::is_output(event) || matches!(event, AgentEvent::PromptEnded { .. });
        waits && event.is_none_or(goes_on)
    }

    /// Whether one input may end it: the phases that are not over are one of the workflow and those that were made for it.
    pub fn may_end_soon(&self) -> bool {
        let open = self.phases.iter().filter(|phase| phase.lineage.parent.is_none() && !phase.is_over());
        self.ending.is_none() && !self.phases.is_empty() && open.count() <= 1
    }

    /// What the phases that are done have changed in the workspace, where an objective of them is taken for done by what agents did.
    pub fn finished_work(&self) -> Vec<FinishedWork<'_>> {
        let mut finished: Vec<FinishedWork<'_>> = Vec::new();
        for changes in self.changes_in_workspace() {
            let Some(p) = self.phase_index(changes.phase) else { continue };
            let phase = &self.phases[p];
            if phase.step != PhaseStep::Done || !changes.counts {
                continue;
            }
            match finished.iter_mut().find(|work| work.phase == changes.phase) {
                Some(work) => work.walks.push(changes),
                None => {
                    let others = self.phases.iter().filter(|other| other.spec.id != phase.spec.id);
                    let of_others = others
                        .flat_map(|other| &other.objectives)
                        .flat_map(|objective| &objective.spec.files);
                    let claimed = phase.objectives.iter().filter(|objective| is_claimed(objective));
                    finished.push(FinishedWork {
                        phase: changes.phase,
                        walks: vec![changes],
                        named: claimed
                            .flat_map(|objective| &objective.spec.files)
                            .map(String::as_str)
                            .collect(),
                        named_elsewhere: of_others.map(String::as_str).collect(),
                    });
                }
            }
        }
        finished
    }

    /// Whether what a phase left in the workspace is its own to answer for. What a person or the workflow asked for is; the reviews and
    /// merges of the host are not, nor are parts whose phase has taken what they did and was measured since.
    fn is_compared(&self, p: PhaseIndex) -> bool {
        let phase = &self.phases[p];
        let mut is_own = phase.tree.is_workspace() && !phase.lineage.is_made_by_host();
        let mut inner = p;
        while let Some(whole) = self.parent_of(inner).filter(|_| is_own) {
            let (part, whole_phase) = (&self.phases[inner], &self.phases[whole]);
            let is_measured = whole_phase.measurements.past.newest_at > phase.measurements.past.newest_at;
            is_own = part.loop_position.iteration == whole_phase.loop_position.iteration
                && !(whole_phase.split.merged_parts.contains(&part.spec.id) && is_measured);
            inner = whole;
        }
        is_own
    }

    fn parent_of(&self, p: PhaseIndex) -> Option<PhaseIndex> {
        self.phase_index(self.phases[p].lineage.parent.as_ref()?)
    }

    /// Where an objective stands by now: what a part did is its phase's, once that has taken it.
    pub(super) fn holder_of(&self, mut p: PhaseIndex, mut g: ObjectiveIndex) -> (PhaseIndex, ObjectiveIndex) {
        let id = &self.phases[p].objectives[g].spec.id;
        while let Some(whole) = self.parent_of(p) {
            let (part, phase) = (&self.phases[p], &self.phases[whole]);
            let is_taken = phase.split.merged_parts.contains(&part.spec.id)
                && part.loop_position.iteration == phase.loop_position.iteration;
            let Some(held) = phase.objectives.position(|objective| is_taken && objective.spec.id == *id)
            else {
                break;
            };
            (p, g) = (whole, held);
        }
        (p, g)
    }

    fn held_objective(&self, p: PhaseIndex, g: ObjectiveIndex) -> &ObjectiveState {
        let (p, g) = self.holder_of(p, g);
        &self.phases[p].objectives[g]
    }

    /// Whether what is open of a phase is done by the phase that it is a part of, once the parts are together.
    fn is_left_to_whole(&self, p: PhaseIndex) -> bool {
        let is_open = |whole: PhaseIndex| !self.phases[whole].is_over();
        let phase = &self.phases[p];
        phase.step == PhaseStep::Split || phase.is_over() && self.parent_of(p).is_some_and(is_open)
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
        // These died with the last host: beside agents at work, the host does not look.
        let by_whom = match self.workspace_idle_since() {
            None => "had been restored or cloned again, or an agent had changed it",
            Some(_) => "had been restored or cloned again",
        };
        self.phases[p].measurements.past.lost_since.add(files, beyond, includes_accepted);
        for g in self.phases[p].objectives_losing_work(files, beyond, includes_accepted) {
            let is_part = self.phases[p].lineage.parent.is_some();
            let (p, g) = self.holder_of(p, g);
            let is_accepted = self.phases[p].objectives[g].is_accepted();
            if !self.phases[p].objectives[g].is_done() {
                continue;
            }
            let is_left_to_whole = is_part && self.is_left_to_whole(p);
            // Parts are gone once they came together: a person is asked about the whole.
            let (p, g) = if is_accepted { self.root_objective(p, g) } else { (p, g) };
            let phase = &self.phases[p];
            let accepted = if is_accepted { ", which a person accepted," } else { "" };
            let id = &phase.objectives[g].spec.id;
            let words = match files {
                [] => format!(
                    "Whether the work on objective {id}{accepted} is still in the folder cannot be told: Baton's list of the files that it changed \
                     cannot be read"
                ),
                _ => format!(
                    "The work on objective {id}{accepted} is no longer in the folder, as if it {by_whom}: {first} {more} missing, as before, or replaced"
                ),
            };
            let is_never_asked = phase.step == PhaseStep::Skipped;
            let is_at_work = is_left_to_whole || !phase.is_over() && !phase.is_finished();
            let is_said = match is_accepted {
                true => phase.has_lost_accepted(g),
                false => phase.disputes.iter().any(|dispute| {
                    dispute.objective == g && (dispute.words == words || dispute.is_from_last_measurement)
                }),
            };
            if is_never_asked || is_at_work && !is_accepted {
                self.reopen(p, g, ObjectiveStatus::InProgress, &words);
                self.phases[p].objectives[g].has_lost_work = true;
            } else if !is_said {
                let dispute = Dispute {
                    objective: g,
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
    pub(super) fn reopen_lost_accepted(&mut self, p: PhaseIndex) {
        let disputes = self.phases[p].disputes.iter().filter(|dispute| dispute.is_of_accepted_work);
        let lost: Vec<(ObjectiveIndex, String)> =
            disputes.map(|dispute| (dispute.objective, dispute.words.clone())).collect();
        for (g, words) in lost {
            self.reopen(p, g, ObjectiveStatus::InProgress, &words);
            self.phases[p].objectives[g].has_lost_work = true;
        }
    }
}

impl Phase {
    /// Objectives that are taken for done by these files: those that name one of them, and for a file that none of them names, those
    /// that name no file, or else all. Those that a person accepted lose what the phase had changed for them by then.
    fn objectives_losing_work(
        &self,
        files: &[String],
        beyond: u32,
        includes_accepted: bool,
    ) -> Vec<ObjectiveIndex> {
        let names = |objective: &ObjectiveState, file: &String| objective.spec.files.contains(file);
        let is_named = |file: &String| self.objectives.iter().any(|objective| names(objective, file));
        let are_all_named = beyond == 0 && files.iter().all(is_named);
        let names_nothing = |objective: &ObjectiveState| objective.spec.files.is_empty();
        let is_anyones = !are_all_named && !self.objectives.iter().any(names_nothing);
        let concerns = |objective: &ObjectiveState| {
            is_anyones
                || !are_all_named && names_nothing(objective)
                || files.iter().any(|file| names(objective, file))
        };
        let is_accepted_with = |objective: &ObjectiveState| {
            let accepted = &objective.accepted_files;
            let has_some = beyond > 0 && !accepted.is_empty();
            objective.is_accepted() && (has_some || files.iter().any(|file| accepted.may_include(file)))
        };
        let concerned = self.objectives.indexed().filter(|(_, objective)| {
            is_claimed(objective) && concerns(objective) || includes_accepted && is_accepted_with(objective)
        });
        concerned.map(|(g, _)| g).collect()
    }
}

/// It is taken for done by what agents did.
pub(super) fn is_claimed(objective: &ObjectiveState) -> bool {
    objective.is_done() && !objective.is_accepted()
}
