//! Whether what a phase made is good enough: after its commands (`checks`) its reviewer, where it has one (D3). What they find goes
//! back to the phase, within bounds; a phase that closes a loop sends it back to where the loop begins (B10).

use crate::facts::ChangedFile;
use crate::ids::PhaseId;
use crate::input::SCORE_MAX;
use crate::observation::{ObjectiveStatus, PromptKind};
use crate::progress::ProgressEvent;
use crate::time::UnixMs;
use crate::view::PhaseOrigin;
use crate::workflow::{Acceptance, Objective, PhaseLoop, PhaseSpec, ReviewRequirement};

use super::Run;
use super::end_cause::EndCause;
use super::phase::{FINDINGS_BYTES, ObjectiveIndex, ObjectiveState, Phase, ReviewScore, VerificationState};
use super::phase_list::PhaseIndex;
use super::step::{OnRestore, OnSessionEnd, PauseReason, PhaseStep};
use super::successor_reason::SuccessorReason;
use super::text_format::{cut, excerpt, named, tail_line};

/// Words by which a review says that something is not done.
const DENIALS: [&str; 6] =
    [" not done", " not finished", " not complete", " unfinished", " incomplete", " not implemented"];

/// How a reviewer gives its score in its answer, on a line of its own, and how many lines may stand behind it.
const SCORE_PREFIX: &str = "score:";
const LAST_LINES: usize = 4;
/// What may stand behind the number.
const SCORE_SUFFIXES: [&str; 10] = ["%", "/100", "/ 100", "of 100", "out of 100", "(", "-", "–", "—", ","];

impl ReviewScore {
    /// "Score: 80", or "**Score:** 80/100 (sound)", at the end of one of the last lines of an answer; what stands before it is its summary.
    pub(super) fn from_answer(answer: &str) -> Option<Self> {
        let mut rest = answer.trim_end();
        for _ in 0..=LAST_LINES {
            let (before, line) = rest.rsplit_once('\n').unwrap_or(("", rest));
            if let Some(score) = score_of(line) {
                let mut summary = before.trim().to_owned();
                cut(&mut summary, FINDINGS_BYTES);
                return Some(Self { score, summary, findings: Vec::new() });
            }
            rest = before.trim_end();
        }
        None
    }
}

/// The score that a line gives, whatever marks of Markdown stand in it.
fn score_of(line: &str) -> Option<u32> {
    let plain: String = line.chars().filter(|c| !matches!(c, '*' | '_' | '`')).collect();
    let said = &plain[plain.to_ascii_lowercase().rfind(SCORE_PREFIX)? + SCORE_PREFIX.len()..];
    let said = said.trim();
    let (number, behind) = said.split_at(said.find(|c: char| !c.is_ascii_digit()).unwrap_or(said.len()));
    let score = number.parse().ok().filter(|score| *score <= SCORE_MAX)?;
    let behind = behind.trim_start().trim_end_matches('.');
    // "80-90" is not a score.
    let is_range = behind.starts_with(['-', '–', '—'])
        && behind.chars().find(|c| c.is_alphanumeric()).is_some_and(|c| c.is_ascii_digit());
    let is_whole = behind.is_empty() || SCORE_SUFFIXES.iter().any(|known| behind.starts_with(known));
    (is_whole && !is_range).then_some(score)
}

impl Run {
    /// A reviewer that submitted nothing may have given its score in its answer.
    pub(super) fn extract_review_score(&mut self, p: PhaseIndex) {
        if self.phases[p].lineage.origin != PhaseOrigin::Review || self.phases[p].review.submitted.is_some() {
            return;
        }
        let said = self.session(p).and_then(|session| ReviewScore::from_answer(&session.answer_tail));
        self.phases[p].review.submitted = said;
    }

    /// The findings go back: to where the loop begins, or to the objectives of the phase that they are about; to a person where that
    /// was enough.
    pub(super) fn send_back(
        &mut self,
        p: PhaseIndex,
        of: &[ObjectiveIndex],
        attempt: u32,
        because: &str,
        text: String,
    ) {
        self.phases[p].succession.end_cause = EndCause::from_host(because);
        if self.phases[p].spec.repeat.is_some() {
            // Everything in the loop is open again anyway, once the next walk begins.
            return self.end_session(p, OnSessionEnd::Iterate, "the loop begins again");
        }
        self.reopen_affected(p, of, because);
        if attempt > self.workflow.limits.verifications {
            self.pause(p, PauseReason::Blocked, text);
        } else if self.has_live_session(p) {
            self.request_next_prompt(p, PromptKind::Nudged);
        } else {
            self.start_successor(p, SuccessorReason::Uncounted);
        }
    }

    pub(super) fn review_or_complete(&mut self, p: PhaseIndex) {
        match self.phases[p].spec.review {
            Some(_) => self.end_session(p, OnSessionEnd::Review, "its work is reviewed"),
            None => self.end_session(p, OnSessionEnd::Complete, "its phase is done"),
        }
    }

    /// Another session reviews it: a phase that the host makes, with one objective, in the same tree.
    pub(super) fn begin_review(&mut self, p: PhaseIndex) {
        let Some(ReviewRequirement { role, .. }) = self.phases[p].spec.review.clone() else {
            return self.complete(p);
        };
        self.phases[p].review.rounds += 1;
        let phase = &self.phases[p];
        let (id, round) = (phase.spec.id.clone(), phase.review.rounds);
        // A role that the phase works in as well is played by the agent of the phase, where the review is the default.
        let is_own_role = phase.review.is_default && role == phase.spec.role;
        let agent = phase.spec.agent.clone().filter(|_| is_own_role);
        let review = self.free_phase_id(&format!("{id}-review"));
        let told = std::mem::take(&mut self.phases[p].review.instructions);
        let phase = &self.phases[p];
        // The title of a part is a policy's, and an objective is the workflow's.
        let title = match phase.lineage.origin {
            PhaseOrigin::Split => String::new(),
            _ => format!(": {}", phase.spec.title),
        };
        let objective = Objective {
            id: self.free_objective_id(&format!("review-{id}-{round}")),
            description: format!("Review phase {id}{title}{told}"),
            files: Vec::new(),
            verify: None,
        };
        let spec = PhaseSpec {
            title: format!("review of {id}"),
            role,
            agent,
            ..self.host_phase_spec(p, review.clone(), objective)
        };
        self.add_host_phase(p, PhaseOrigin::Review, Phase::new(spec));
        self.phases[p].step = PhaseStep::UnderReview { review };
    }

    /// The review is over, one way or another. What it did to the tree is looked at and put back first.
    pub(super) fn end_review(&mut self, p: PhaseIndex) {
        let PhaseStep::UnderReview { review } = self.phases[p].step.clone() else { return };
        match self.phases[p].verification.commit {
            Some(_) => self.request_restore(p, OnRestore::Review(review)),
            None => {
                let altered = self.altered_by_review(p, &review);
                self.apply_review(p, &review, &altered);
            }
        }
    }

    /// Takes what a review said, and what it `altered`.
    pub(super) fn apply_review(&mut self, p: PhaseIndex, review: &PhaseId, altered: &[String]) {
        self.phases[p].committed_work.review = Some(review.clone());
        let reviewed = self.phase_index(review).map(|review| &mut self.phases[review]);
        let (left, said, refused) = match reviewed {
            Some(review) => (
                review.step == PhaseStep::Skipped,
                review.review.submitted.take(),
                review.assessment.refused_report_this_session.take(),
            ),
            None => (true, None, None),
        };
        let threshold = self.phases[p].spec.review.as_ref().map_or(0, |review| review.score);
        match said {
            Some(_) if !altered.is_empty() => self.reject_modifying_review(p, altered),
            Some(said) => self.scored(p, said, threshold),
            // The workflow does not ask for this review by name: no other session is asked for it, and only a person merges what was not reviewed.
            None if self.phases[p].review.is_default_without_score() => {
                let phase = self.phases[p].spec.id.clone();
                if self.workflow.accept == Some(Acceptance::Answer) {
                    self.notify(ProgressEvent::NotReviewed { phase });
                    return self.complete_checked(p);
                }
                let why =
                    refused.map(|why| format!(" (its review was not taken: {why})")).unwrap_or_default();
                let text = format!(
                    "The review of {phase} has no score{why}. Should {phase} be merged as it is? Where agents cannot review, `review_parts = false` in the workflow leaves this to a `verify`."
                );
                self.pause(p, PauseReason::Unproven, text);
            }
            // A person left it: it is not held to a review, and what one said before is of no weight.
            None if left => {
                self.phases[p].verification.passed = None;
                self.complete(p);
            }
            None => {
                self.phases[p].review.without_score += 1;
                if self.phases[p].review.without_score <= self.workflow.limits.retries {
                    return self.begin_review(p);
                }
                let phase = &mut self.phases[p];
                let times = std::mem::take(&mut phase.review.without_score);
                let text = format!(
                    "Phase {} was reviewed {times} times, and no review gave a score.",
                    phase.spec.id
                );
                self.pause(p, PauseReason::Unproven, text);
            }
        }
    }

    /// Whether this is a review that the workflow does not ask for by name, of a part that has no score yet.
    pub(super) fn is_default_review(&self, p: PhaseIndex) -> bool {
        let parent = self.phases[p].lineage.parent.as_ref().and_then(|parent| self.phase_index(parent));
        let of = parent
            .filter(|_| self.phases[p].lineage.origin == PhaseOrigin::Review)
            .map(|parent| &self.phases[parent]);
        of.is_some_and(|part| part.review.is_default_without_score())
    }

    /// What the session that looked at a phase did to files that were there, in a folder that it shares. Where others work in it as
    /// well, only what the objectives name. Files that it made, such as the output of a check, are none.
    fn altered_by_review(&self, p: PhaseIndex, review: &PhaseId) -> Vec<String> {
        let (phase, Some(review)) = (&self.phases[p], self.phase_index(review)) else { return Vec::new() };
        let is_named =
            |path: &String| phase.objectives.iter().any(|objective| objective.spec.files.contains(path));
        let has_company = phase.measurements.has_company || !self.live_phases_in_same_folder(p).is_empty();
        let altered = self.phases[review]
            .measurements
            .facts
            .changed
            .iter()
            .filter(|file| is_named(&file.path) || !has_company && !file.is_new);
        let told =
            |file: &ChangedFile| format!("{} is {}", file.path, if file.exists { "changed" } else { "gone" });
        altered.map(told).collect()
    }

    /// A review that changes what it looks at says nothing of what is there now: the work goes back to the session that did it, with what the
    /// review did to it, and is verified and reviewed again (D3).
    fn reject_modifying_review(&mut self, p: PhaseIndex, altered: &[String]) {
        let phase = &self.phases[p];
        let (id, round) = (phase.spec.id.clone(), phase.review.rounds);
        let named = named(altered);
        let because = format!("its review changed what it looked at: {named}");
        let findings = format!(
            "The session that reviewed this changed it, and its score does not count: {named}. See that the work is there and right."
        );
        self.record_findings(p, false, findings);
        let text = format!("Phase {id} was reviewed {round} times; {because}. Nothing of it was merged.");
        self.send_back(p, &[], round, &because, text);
    }

    pub(super) fn scored(&mut self, p: PhaseIndex, said: ReviewScore, threshold: u32) {
        let passed = said.score >= threshold;
        let phase = &mut self.phases[p];
        phase.review.set_score(said.score);
        let (id, round) = (phase.spec.id.clone(), phase.review.rounds);
        let (score, summary) = (said.score, said.summary.clone());
        self.notify(ProgressEvent::Reviewed { phase: id.clone(), score, passed, summary });
        if passed {
            let Some(doubt) = self.review_objection(p, &said) else { return self.complete_checked(p) };
            let text = format!(
                "The review of {id} gives {score} of 100, and {doubt}. Is it good enough to go on with?"
            );
            return self.pause(p, PauseReason::Unproven, text);
        }
        let mut findings = said.summary;
        for finding in said.findings {
            findings.push_str("\n- ");
            findings.push_str(&finding);
        }
        self.record_findings(p, false, findings);
        let because = format!("the review gave {score} of 100, and {threshold} are needed");
        let text = format!("Phase {id} was reviewed {round} times; {because}.");
        self.send_back(p, &[], round, &because, text);
    }

    /// What speaks against a review that passes the work: an objective that was opened again meanwhile, which a person may accept, or its
    /// own words.
    fn review_objection(&mut self, p: PhaseIndex, said: &ReviewScore) -> Option<String> {
        let phase = &mut self.phases[p];
        phase.assessment.unproven_objectives = phase.open_objectives().map(|(g, _)| g).collect();
        let open: Vec<&str> =
            phase.open_objectives().map(|(_, objective)| objective.spec.id.as_str()).collect();
        match open.len() {
            0 => self.review_denial(p, said).map(|denial| format!("says: \"{denial}\"")),
            1 => Some(format!("objective {} was opened again meanwhile", open[0])),
            _ => Some(format!("the objectives {} were opened again meanwhile", open.join(", "))),
        }
    }

    /// The words by which a review says of an objective that it is not done (A11).
    fn review_denial(&self, p: PhaseIndex, said: &ReviewScore) -> Option<String> {
        let texts = std::iter::once(&said.summary).chain(&said.findings);
        let parts = texts.flat_map(|text| text.split(['\n', ';', '!', '?']));
        let mut sentences = parts.flat_map(|part| part.split(". "));
        let is_meant = |sentence: &str| {
            self.phases[p].objectives.iter().any(|objective| objective.is_mentioned_in(sentence))
        };
        let denies = |sentence: &str| {
            let said = sentence.to_lowercase();
            DENIALS.iter().any(|words| said.contains(words))
        };
        sentences.find(|sentence| denies(sentence) && is_meant(sentence)).map(excerpt)
    }

    /// The same after a review: commands have passed before it began, where there are any.
    fn complete_checked(&mut self, p: PhaseIndex) {
        self.phases[p].verification.passed = (!self.phases[p].checks().is_empty()).then_some(true);
        self.complete(p);
    }

    /// The phase is done, or what its sub-phases made goes back to where it began.
    pub(super) fn complete(&mut self, p: PhaseIndex) {
        if self.phases[p].split.active.is_some() {
            return self.request_landing(p);
        }
        self.write_closing_handoff(p);
    }

    /// Walks the loop once more: everything in it is open again, and each of its phases gets what the check has found.
    pub(super) fn iterate(&mut self, p: PhaseIndex) {
        let Some(PhaseLoop { from, at_most }) = self.phases[p].spec.repeat.clone() else {
            return self.start_successor(p, SuccessorReason::Uncounted);
        };
        let (id, walked) = (self.phases[p].spec.id.clone(), self.phases[p].loop_position.iteration);
        let first = self.phase_index(&from).filter(|first| *first <= p);
        let rounds = self.phases[p].loop_position.iterations_counted();
        let (Some(first), true) = (first, rounds < at_most) else {
            let told = match self.phases[p].verification.findings.trim() {
                "" => self.phases[p].succession.end_cause.user_text().to_owned(),
                findings => tail_line(findings),
            };
            let text = format!("The loop from {from} to {id} was walked {rounds} times: {told}");
            let because = self.phases[p].succession.end_cause.user_text().to_owned();
            self.reopen_affected(p, &[], &because);
            return self.ask_person(p, PauseReason::Blocked, text);
        };
        if self.phases[p].split.active.is_some() {
            // The next walk begins with what there is of this one, as it would where nothing was split.
            return self.request_landing(p);
        }
        let last = &self.phases[p];
        let (verification, because) = (last.verification.clone(), last.succession.end_cause.clone());
        let turns_used: Vec<u32> = first.up_to(p).map(|q| self.turns_used(q)).collect();
        let now = self.now;
        for (q, turns) in first.up_to(p).zip(turns_used) {
            let phase = &mut self.phases[q];
            if phase.lineage.origin == PhaseOrigin::Workflow && (phase.is_over() || q == p) {
                phase.reset_for_iteration(turns, &verification, now);
            }
        }
        self.phases[first].succession.end_cause = because;
        let of = at_most + self.phases[p].loop_position.iterations_before_reset;
        self.notify(ProgressEvent::Iterating { from, by: id, iteration: walked + 1, of });
    }

    /// An id that no phase has, made from this one.
    pub(super) fn free_phase_id(&self, stem: &str) -> PhaseId {
        let taken = |id: &PhaseId| self.phase_index(id).is_some();
        free(stem, PhaseId::new, taken)
    }

    pub(super) fn free_objective_id(&self, stem: &str) -> crate::ids::ObjectiveId {
        let objectives = || self.phases.iter().flat_map(|phase| &phase.objectives);
        free(stem, crate::ids::ObjectiveId::new, |id| objectives().any(|objective| objective.spec.id == *id))
    }

    /// What a phase that the host makes for another takes over from it: who works, and within which bounds.
    pub(super) fn host_phase_spec(&self, p: PhaseIndex, id: PhaseId, objective: Objective) -> PhaseSpec {
        PhaseSpec {
            id,
            depends_on: Vec::new(),
            objectives: vec![objective],
            verify: None,
            review: None,
            repeat: None,
            ..self.phases[p].spec.clone()
        }
    }

    pub(super) fn add_host_phase(&mut self, p: PhaseIndex, origin: PhaseOrigin, own: Phase) {
        let parent = &self.phases[p];
        let lineage = parent.lineage.below(parent.spec.id.clone(), origin);
        let tree = parent.tree.clone();
        self.insert_sub_phases(p, [Phase { lineage, tree, ..own }]);
    }
}

impl Phase {
    /// Open again, for another walk of its loop. What was tried and decided stays known; turns and continuations are new. Every
    /// phase of the loop gets what the `last` one has found, since the findings may be about any of them.
    fn reset_for_iteration(&mut self, turns_used: u32, last: &VerificationState, now: UnixMs) {
        for objective in &mut self.objectives {
            objective.set_status(ObjectiveStatus::Open, now);
            let ObjectiveState { remark, times, spec, .. } = objective.clone();
            *objective = ObjectiveState { remark, times, ..ObjectiveState::new(spec) };
        }
        self.loop_position.advance(self.sessions.len());
        self.step = PhaseStep::Pending;
        self.session = None;
        self.handoffs.has_unrecorded_progress = false;
        self.split.request = None;
        self.disputes.clear();
        (self.turns.before_reset, self.turns.max) = (turns_used, 0);
        self.succession.reset_for_iteration();
        self.review.reset_for_iteration();
        self.verification.reset_for_iteration(last);
    }
}

fn free<T>(stem: &str, make: impl Fn(String) -> T, taken: impl Fn(&T) -> bool) -> T {
    let mut id = make(stem.to_owned());
    let mut ordinal = 2;
    while taken(&id) {
        id = make(format!("{stem}-{ordinal}"));
        ordinal += 1;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_stands_on_one_of_the_last_lines_of_an_answer() {
        // D3, D12
        let score = |answer: &str| ReviewScore::from_answer(answer).map(|said| said.score);
        for (answer, expected) in [
            ("Case 3 is missing.\n\nScore: 20", 20),
            ("**Score: 85 of 100**\n", 85),
            ("score: 100/100", 100),
            ("- Score: 0", 0),
            ("**Score:** 92/100", 92),
            ("Score: **92**", 92),
            ("Score: 92 (sound)", 92),
            ("Score: 92%", 92),
            ("Overall: solid. Final score: 92", 92),
            ("Case 3 is missing.\nScore: 20.\n\nIt must not be merged.", 20),
        ] {
            assert_eq!(score(answer), Some(expected), "{answer}");
        }
        for answer in [
            "",
            "Score:",
            "Score: 101",
            "Score: high",
            "Score: 80 of 90",
            "Score: 80-90",
            "Score: 80 – 90",
            "Score: 8 or 9",
            "Score: 8.5",
            "Score: 20\na\nb\nc\nd\ne",
        ] {
            assert_eq!(score(answer), None, "{answer}");
        }
        let said = ReviewScore::from_answer("Case 3 is missing.\nScore: 20").unwrap();
        assert_eq!(said.summary, "Case 3 is missing.");
    }
}
