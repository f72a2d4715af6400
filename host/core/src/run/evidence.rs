//! What shows that an objective is done, and what says that it is not (A11). A policy judges how much is enough; what is
//! recorded here are facts, and no verdict makes an objective done against them.

use std::collections::BTreeSet;

use crate::action::Action;
use crate::decision::{Evidence, RecoveryAction};
use crate::facts::ChangedFile;
use crate::ids::{ActionId, ObjectiveId, SessionId};
use crate::observation::{
    EvidenceKind, ExpectedFileView, FileState, ObjectiveStatus, ObjectiveView, StatusReportView,
};
use crate::view::PhaseOrigin;
use crate::workflow::{Acceptance, Permission};

use super::Run;
use super::claim_status::{ClaimStatus, NOT_IN_FOLDER};
use super::judgment::Judgment;
use super::phase::{ObjectiveIndex, ObjectiveReport, ObjectiveState, Phase};
use super::phase_list::PhaseIndex;
use super::step::PhaseStep;
use super::text_format::{excerpt, words_of};

/// Expected files of an objective that a policy sees: the bound of the contract.
const EXPECTED_FILES: usize = 32;
/// Bytes of an id that stands in a sentence for its objective alone.
const ID_BYTES: usize = 3;
/// How an answer says that an objective is not done: "Not done: ID".
const NOT_DONE: &str = "not done:";

impl Run {
    /// Measures the tree: every file that an objective of the phase names is looked at, not only those in focus, and what a
    /// session that brings parts together is to read.
    pub(super) fn request_measurement(&mut self, p: PhaseIndex, baseline: bool) -> ActionId {
        self.measure_files(p, baseline, self.expected_files(p))
    }

    /// The files that its objectives name, and the results of its parts.
    pub(super) fn expected_files(&self, p: PhaseIndex) -> Vec<String> {
        let of_objectives =
            self.phases[p].objectives.iter().flat_map(|objective| objective.spec.files.clone());
        of_objectives.chain(self.expected_results(p)).collect()
    }

    /// Files that the objectives of a phase name and that phases which are over have changed.
    pub(super) fn changed_earlier(&self, p: PhaseIndex) -> BTreeSet<String> {
        let others = self.phases.indexed().filter(|(other, phase)| *other != p && phase.is_over());
        let changed: BTreeSet<&String> =
            others.flat_map(|(_, phase)| &phase.measurements.facts.changed).map(|file| &file.path).collect();
        self.expected_files(p).into_iter().filter(|path| changed.contains(path)).collect()
    }

    fn measure_files(&mut self, p: PhaseIndex, baseline: bool, mut expected: Vec<String>) -> ActionId {
        let phase = &self.phases[p];
        if !baseline {
            // Of these, it is known that they are as before if they are not listed, however many others have changed.
            let done = phase.objectives.iter().filter(|objective| objective.is_done());
            expected.extend(done.flat_map(|objective| objective.changed_files.iter().cloned()));
        }
        let tree = phase.tree.clone();
        self.emit(Action::MeasureWorkspace { phase: phase.spec.id.clone(), baseline, expected, tree })
    }

    /// The objectives of the prompt are done, as a policy says. Where a report or an expected file says otherwise, or the
    /// workflow wants stronger evidence, they stay open, and the session is asked for what is missing.
    pub(super) fn complete_focus(&mut self, p: PhaseIndex, focus: &[ObjectiveIndex], evidence: &[Evidence]) {
        let lacking = self.mark_done(p, focus);
        if lacking.is_empty() {
            self.phases[p].usage.quota_waits = 0;
            if let Some(session) = self.session_mut(p) {
                session.nudges = 0;
            }
            return self.boundary(p);
        }
        let open =
            focus.iter().copied().filter(|g| !self.phases[p].objectives[*g].is_done()).collect::<Vec<_>>();
        let judgment = Judgment::unfinished(lacking.join("; "), evidence.to_vec());
        self.apply_recovery(p, &open, &judgment, &RecoveryAction::Nudge);
    }

    /// Objectives become done that lack nothing. Returns what the others lack.
    pub(super) fn mark_done(&mut self, p: PhaseIndex, focus: &[ObjectiveIndex]) -> Vec<String> {
        let by = self.phases[p].session.clone();
        let mut lacking = Vec::new();
        for g in focus.iter().copied() {
            match self.lacks(p, g) {
                Some(what) => lacking.push(what),
                None => {
                    self.phases[p].objectives[g].is_unassessed = false;
                    let basis = self.phases[p].basis(g);
                    self.objective_done(p, g, by.clone(), basis);
                }
            }
        }
        lacking
    }

    /// Whether the last session of a phase ended its answer with a line that says that something is not done.
    pub(super) fn denies(&self, p: PhaseIndex) -> bool {
        self.session(p).is_some_and(|session| not_done_lines(&session.answer_tail).next().is_some())
    }

    /// What keeps an objective from being done, in words; nothing if its evidence is enough.
    pub(super) fn lacks(&self, p: PhaseIndex, g: ObjectiveIndex) -> Option<String> {
        let phase = &self.phases[p];
        let basis = phase.basis(g);
        let refused = || {
            let why = phase
                .assessment
                .refused_report_this_prompt
                .as_ref()
                .filter(|_| basis != EvidenceKind::Reported)?;
            Some(format!("a report of its agent was not taken: {why}"))
        };
        let contrary =
            phase.contrary(g).or_else(refused).map(|contrary| phase.objective_message(g, &contrary));
        contrary.or_else(|| match (self.workflow.accept, basis) {
            (Some(Acceptance::Reported), EvidenceKind::Files | EvidenceKind::Answer) => {
                let id = &phase.objectives[g].spec.id;
                Some(format!("objective {id} is not reported as done, and the workflow accepts nothing less"))
            }
            _ => None,
        })
    }

    /// What a policy sees of an objective. A reviewer sees those of the phase that it reviews, so `p` is the phase that holds it.
    pub(super) fn objective_view(&self, p: PhaseIndex, g: ObjectiveIndex) -> ObjectiveView {
        let phase = &self.phases[p];
        let objective = &phase.objectives[g];
        let expected = objective.spec.files.iter().take(EXPECTED_FILES);
        ObjectiveView {
            id: objective.spec.id.clone(),
            description: objective.spec.description.clone(),
            status: objective.status,
            attempts: objective.attempts,
            files: objective.spec.files.len() as u32,
            expected_files: expected
                .map(|path| ExpectedFileView { path: path.clone(), state: phase.state_of(path) })
                .collect(),
            check: objective.spec.verify.clone(),
            check_passed: objective.check_passed,
            reported: objective.reported.as_ref().map(|reported| StatusReportView {
                status: reported.status,
                note: excerpt(&reported.note),
                by_session: reported.is_by(phase.session.as_ref()),
                changed_since: phase.changed_since_report(objective, reported),
            }),
            done_by: objective.done_by,
        }
    }

    /// Whether the work of a phase is to change files: its objectives name some, or its role may edit them. A review and a question
    /// of the host to an agent are answered.
    pub(super) fn expects_files(&self, p: PhaseIndex) -> bool {
        let phase = &self.phases[p];
        let names_files = phase.objectives.iter().any(|objective| !objective.spec.files.is_empty());
        let may_edit = self.workflow.role_of(&phase.spec).permission != Permission::ReadOnly;
        names_files || (may_edit && phase.lineage.origin != PhaseOrigin::Review)
    }

    /// An agent reported where an objective stands. Only the phase that holds the objective can speak of it, from its first session
    /// until it is over: no report does what was not asked for, and whether one reopens what was closed is for a person to say.
    pub(super) fn objective_reported(
        &mut self,
        p: PhaseIndex,
        g: ObjectiveIndex,
        from: Option<&SessionId>,
        status: ObjectiveStatus,
        note: &str,
    ) {
        let phase = &self.phases[p];
        // If it is unknown whose it is, it is not the word of a phase that waits for a person while another one is at work there.
        let is_at_rest = || {
            matches!(phase.step, PhaseStep::Paused { .. }) && !self.live_phases_in_same_folder(p).is_empty()
        };
        let is_own = match from {
            Some(id) => phase.sessions.contains(id),
            None => !phase.sessions.is_empty() && !is_at_rest(),
        };
        let reported = |by: Option<SessionId>| ObjectiveReport {
            status,
            note: note.to_owned(),
            by,
            before_prompt: None,
        };
        if phase.is_over() {
            return self.dispute(p, g, reported(from.cloned()), None);
        }
        if !is_own {
            return;
        }
        let by = from.cloned().or_else(|| phase.session.clone());
        let now = self.now;
        let objective = &mut self.phases[p].objectives[g];
        objective.set_remark(note, now);
        objective.reported = Some(reported(by.clone()));
        match status {
            ObjectiveStatus::Done => {
                if !objective.is_done() {
                    objective.claim = ClaimStatus::Reported;
                }
                objective.is_unassessed = true;
                self.objective_done(p, g, by, EvidenceKind::Reported);
            }
            _ if objective.is_done() => {
                let because = format!("its agent reported it as {}", words_of(status));
                self.reopen(p, g, status, &because);
            }
            status => objective.set_status(status, now),
        }
    }

    /// Every objective is taken for done: now it is measured once more, since reports and files change after a prompt was
    /// judged, or while no host was there.
    pub(super) fn measure_before_checks(&mut self, p: PhaseIndex) {
        let names_files =
            |objective: &ObjectiveState| !objective.spec.files.is_empty() && !objective.is_accepted();
        let of_others = self.files_of_other_phases(p);
        let is_looked_at =
            |objective: &ObjectiveState| names_files(objective) || objective.is_accepted_unseen();
        if of_others.is_empty() && !self.phases[p].objectives.iter().any(is_looked_at) {
            return self.start_verification(p);
        }
        self.measure_files_before_checks(p, of_others);
    }

    /// Measures once more, also for these files of other phases.
    pub(super) fn measure_files_before_checks(&mut self, p: PhaseIndex, of_others: Vec<String>) {
        let expected = self.expected_files(p).into_iter().chain(of_others).collect();
        let action = self.measure_files(p, false, expected);
        self.phases[p].step = PhaseStep::MeasuringBeforeChecks { action };
    }

    pub(super) fn on_measured_before_checks(&mut self, p: PhaseIndex) {
        self.dispute_missing_files(p);
        let lacking = self.reopen_contradicted(p);
        if lacking.is_empty() && self.phases[p].is_finished() {
            return self.start_verification(p);
        }
        if lacking.is_empty() {
            return self.boundary(p);
        }
        self.request_missing_work(p, &lacking);
    }

    /// The session that worked is asked for what its objectives lack.
    pub(super) fn request_missing_work(&mut self, p: PhaseIndex, lacking: &[String]) {
        let open: Vec<ObjectiveIndex> = self.phases[p].open_objectives().map(|(g, _)| g).collect();
        let judgment = Judgment::unfinished(lacking.join("; "), Vec::new());
        self.apply_recovery(p, &open, &judgment, &RecoveryAction::Nudge);
    }
}

impl ObjectiveState {
    pub(super) fn is_done(&self) -> bool {
        self.status == ObjectiveStatus::Done
    }

    /// A person said that it is done.
    pub(super) fn is_accepted(&self) -> bool {
        self.done_by == Some(EvidenceKind::Accepted)
    }

    /// Whether an answer names it; a shorter id is a word of any sentence.
    pub(super) fn is_mentioned_in(&self, answer: &str) -> bool {
        let id = self.spec.id.as_str();
        id.len() >= ID_BYTES && has_word(answer, id) || self.is_file_named_in(answer)
    }

    /// Whether a text names it by its id, as a word, or by one of its files.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        has_word(text, self.spec.id.as_str()) || self.is_file_named_in(text)
    }

    fn is_file_named_in(&self, text: &str) -> bool {
        self.spec.files.iter().any(|path| has_word(text, path))
    }
}

/// Whether a line of an answer says of an objective that it is not done.
fn is_denied(id: &ObjectiveId, answer: &str) -> bool {
    not_done_lines(answer).any(|line| has_word(&line[NOT_DONE.len()..], id.as_str()))
}

/// The lines of an answer that say that something is not done, as every prompt asks for it.
fn not_done_lines(answer: &str) -> impl DoubleEndedIterator<Item = &str> {
    let lines = answer.lines().map(|line| line.trim_start_matches(|c: char| !c.is_alphanumeric()));
    lines.filter(|line| line.get(..NOT_DONE.len()).is_some_and(|head| head.eq_ignore_ascii_case(NOT_DONE)))
}

impl ObjectiveReport {
    /// Whether this session said it. Only the session at work may say that an objective is not done: what an earlier one
    /// left open is what the next one is for.
    pub(super) fn is_by(&self, session: Option<&SessionId>) -> bool {
        self.by.is_none() || self.by.as_ref() == session
    }
}

impl Phase {
    /// The files that differ from its start, then those that were changed before it was split from another phase.
    pub(super) fn changed_files(&self) -> impl Iterator<Item = &ChangedFile> {
        let is_new =
            |file: &&ChangedFile| !self.measurements.facts.changed.iter().any(|own| own.path == file.path);
        let inherited = self.handoffs.inherited.iter().flat_map(|inherited| &inherited.changed);
        self.measurements.facts.changed.iter().chain(inherited.filter(is_new))
    }

    /// Its objectives that are not done, but for these.
    pub(super) fn other_open_objectives<'a>(
        &'a self,
        focus: &'a [ObjectiveIndex],
    ) -> impl Iterator<Item = &'a ObjectiveId> {
        let beside =
            self.objectives.indexed().filter(|(g, objective)| !objective.is_done() && !focus.contains(g));
        beside.map(|(_, objective)| &objective.spec.id)
    }

    /// A new prompt is about these: what was said before against their being done is so no longer what its session says, and holds
    /// until a later report says otherwise. A report counts, and the last line of an answer that names it, or that names none and was given
    /// for it (A11).
    pub(super) fn record_denied_objectives(
        &mut self,
        focus: &[ObjectiveIndex],
        answer: &str,
        by: Option<&SessionId>,
    ) {
        let is_named = |objective: &ObjectiveState, line: &str| has_word(line, objective.spec.id.as_str());
        let is_meant = |g: ObjectiveIndex, line: &str| match self
            .objectives
            .iter()
            .any(|objective| is_named(objective, line))
        {
            true => is_named(&self.objectives[g], line),
            false => self.measurements.is_in_focus(g),
        };
        let denied: Vec<Option<&str>> = focus
            .iter()
            .map(|g| not_done_lines(answer).rfind(|line| is_meant(*g, &line[NOT_DONE.len()..])))
            .collect();
        for (g, line) in focus.iter().zip(denied) {
            let objective = &mut self.objectives[*g];
            if objective.reported.as_ref().is_some_and(|said| said.status == ObjectiveStatus::Done) {
                continue;
            }
            if let Some(line) = line {
                let note = excerpt(line);
                let status = ObjectiveStatus::InProgress;
                let before_prompt = Some(Box::new(self.measurements.facts.clone()));
                objective.reported = Some(ObjectiveReport { status, note, by: by.cloned(), before_prompt });
            } else if let Some(said) = &mut objective.reported {
                // That it failed is the word of its session until it reports something else.
                if said.status != ObjectiveStatus::Failed || !said.is_by(self.session.as_ref()) {
                    said.before_prompt.get_or_insert_with(|| Box::new(self.measurements.facts.clone()));
                }
            }
        }
    }

    /// Whether its session did what this objective is about.
    pub(super) fn is_own(&self, objective: &ObjectiveState) -> bool {
        objective.is_done() && objective.by.is_some() && objective.by == self.session
    }

    /// The objectives that its session is judged by: those of its prompt, those that it reported as done beside them, those that it
    /// had done before and now speaks of, and those of whichever session of which its handoff or its request to split speaks. What a person accepted, or a
    /// check showed, is not judged again.
    pub(super) fn objectives_to_judge(
        &self,
        focus: Vec<ObjectiveIndex>,
        answer: &str,
    ) -> Vec<ObjectiveIndex> {
        // A session that was given nothing has done nothing.
        if focus.is_empty() {
            return focus;
        }
        let is_shown = |objective: &ObjectiveState| {
            matches!(objective.done_by, Some(EvidenceKind::Accepted | EvidenceKind::Checked))
        };
        let unjudged = self.objectives.iter().filter(|objective| objective.is_unassessed);
        let notes = unjudged.filter_map(|objective| Some(objective.reported.as_ref()?.note.as_str()));
        let said: Vec<&str> = notes.chain([answer]).collect();
        let is_spoken_of = |objective: &ObjectiveState| {
            said.iter().any(|said| is_denied(&objective.spec.id, said) || objective.is_mentioned_in(said))
        };
        let handoff = self.handoffs.reported_by(self.session.as_ref());
        let asked = self.split.request.iter().map(|request| request.rationale.as_str());
        let told: Vec<&str> =
            handoff.into_iter().flat_map(|(_, handoff)| handoff.texts()).chain(asked).collect();
        let is_handed_off = |objective: &ObjectiveState| {
            objective.is_done() && told.iter().any(|said| objective.is_mentioned_in(said))
        };
        let beside = self.objectives.indexed().filter(|(g, objective)| {
            let is_said = objective.is_unassessed || is_spoken_of(objective);
            let is_judged = is_said && self.is_own(objective) || is_handed_off(objective);
            !focus.contains(g) && is_judged && !is_shown(objective)
        });
        let beside: Vec<ObjectiveIndex> = beside.map(|(g, _)| g).collect();
        focus.into_iter().chain(beside).collect()
    }

    /// Those of these objectives that its session was prompted for.
    pub(super) fn prompted_among(&self, judged: &[ObjectiveIndex]) -> Vec<ObjectiveIndex> {
        let prompted = |g: &ObjectiveIndex| self.measurements.is_in_focus(*g);
        match judged.iter().any(prompted) {
            true => judged.iter().copied().filter(prompted).collect(),
            false => judged.to_vec(),
        }
    }

    /// What became of a file since the phase began.
    pub(super) fn state_of(&self, path: &String) -> FileState {
        if self.measurements.facts.missing.contains(path) {
            FileState::Missing
        } else if self.measurements.facts.changed.iter().any(|file| file.path == *path) {
            FileState::Changed
        } else if self.measurements.facts.written.iter().any(|file| file.path == *path)
            || self.measurements.changed_earlier.contains(path)
        {
            // Right as it is, perhaps: an earlier phase may have done what this one is asked for.
            FileState::Rewritten
        } else {
            FileState::Unchanged
        }
    }

    /// Evidence against an objective being done: what the session at work reported since its prompt, or an expected change that did
    /// not come. Further rounds of a loop may find a file as it should be.
    pub(super) fn contrary(&self, g: ObjectiveIndex) -> Option<String> {
        let objective = &self.objectives[g];
        let is_newest =
            |said: &&ObjectiveReport| said.before_prompt.is_none() && said.is_by(self.session.as_ref());
        let reported = objective.reported.as_ref().filter(is_newest);
        if let Some(reported) = reported.filter(|reported| reported.status != ObjectiveStatus::Done) {
            let said = if reported.note.is_empty() {
                String::new()
            } else {
                format!(": {}", excerpt(&reported.note))
            };
            return Some(format!("its agent reported it as {}{said}", words_of(reported.status)));
        }
        if objective.claim == ClaimStatus::Unshown {
            return Some(NOT_IN_FOLDER.to_owned());
        }
        objective.spec.files.iter().find_map(|path| match self.state_of(path) {
            FileState::Missing => Some(format!("{path} is missing")),
            FileState::Unchanged if self.loop_position.iteration == 1 => {
                Some(format!("{path} has not changed"))
            }
            FileState::Unchanged | FileState::Rewritten | FileState::Changed => None,
        })
    }

    /// Whether a file that an objective names is not there.
    pub(super) fn is_file_missing(&self, g: ObjectiveIndex) -> bool {
        self.objectives[g].spec.files.iter().any(|path| self.state_of(path) == FileState::Missing)
    }

    /// What is said of one of its objectives.
    pub(super) fn objective_message(&self, g: ObjectiveIndex, what: &str) -> String {
        format!("objective {}: {what}", self.objectives[g].spec.id)
    }

    /// Files that this session changed for these objectives: any since it was given them, and those that they name since it
    /// began, since it may have done their work before it was asked for it; but what an objective that is done names as well was
    /// changed for that one. If other phases work in the same folder, only those that they name: it is unknown whose the others
    /// are. A file that was written with the content that it had shows nothing, unless an earlier session had changed it.
    /// A session that called nothing which may change a file has changed none.
    pub(super) fn changed_for(&self, focus: &[ObjectiveIndex]) -> u32 {
        if !self.measurements.session_may_have_written {
            return 0;
        }
        let now = &self.measurements.facts;
        let is_own = |path: &&String| {
            let mut others = self.objectives.indexed().filter(|(g, _)| !focus.contains(g));
            let is_shared =
                others.any(|(_, objective)| objective.is_done() && objective.spec.files.contains(path));
            let before = if is_shared {
                &self.measurements.focus_baseline.1
            } else {
                &self.measurements.session_baseline
            };
            let mut written = now.written.iter().filter(|file| file.path == **path);
            let changed = now.changed.iter().find(|file| file.path == **path);
            changed.is_some_and(|file| {
                !before.changed.contains(file) || written.any(|file| !before.written.contains(file))
            })
        };
        let named = focus.iter().flat_map(|g| &self.objectives[*g].spec.files).filter(is_own).count();
        let any = if self.measurements.has_company {
            0
        } else {
            now.changed_since(&self.measurements.focus_baseline.1)
        };
        any.max(u32::try_from(named).unwrap_or(u32::MAX))
    }

    /// Files that changed since the first prompt that followed a word against this objective. If other phases work in the same
    /// folder, only those that it names.
    fn changed_since_report(&self, objective: &ObjectiveState, said: &ObjectiveReport) -> Option<u32> {
        let before = said.before_prompt.as_ref()?;
        let is_new = |path: &&String| {
            self.measurements
                .facts
                .changed
                .iter()
                .any(|file| file.path == **path && !before.changed.contains(file))
        };
        let named = objective.spec.files.iter().filter(is_new).count();
        Some(if self.measurements.has_company {
            named as u32
        } else {
            self.measurements.facts.changed_since(before)
        })
    }

    /// The strongest evidence that an objective is done, as far as it goes without a check.
    pub(super) fn basis(&self, g: ObjectiveIndex) -> EvidenceKind {
        let objective = &self.objectives[g];
        let is_reported =
            objective.reported.as_ref().is_some_and(|said| said.status == ObjectiveStatus::Done);
        if is_reported {
            EvidenceKind::Reported
        } else if self.changed_for(&[g]) > 0 {
            EvidenceKind::Files
        } else {
            EvidenceKind::Answer
        }
    }
}

/// Whether the text has this word, not as a part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    !word.is_empty()
        && text.match_indices(word).any(|(start, _)| {
            let before = text[..start].chars().next_back();
            let after = text[start + word.len()..].chars().next();
            !before.is_some_and(is_inside) && !after.is_some_and(is_inside)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_id_is_not_found_inside_a_word() {
        // D12
        assert!(has_word("check of a failed", "a"));
        assert!(!has_word("parser failed", "a"));
        assert!(has_word("src/a.rs:12: wrong", "src/a.rs"));
        assert!(!has_word("p10 failed", "p1"));
        assert!(!has_word("anything", ""));
    }
}
