//! What a session leaves to the next one: measured, composed, inspected, reviewed, repaired from facts where it is
//! refused, written; and looked at again before a session starts from it after a while (C8, C9). What is good enough is
//! the policy's to say; that no secret is passed on is not.

use crate::action::{Action, Intent, sibling_name};
use crate::decision::{HandoffDraft, ReviewDecision, SuccessorKind};
use crate::ids::{ActionId, SessionId};
use crate::input::{ActionOutcome, ArtifactRef};
use crate::observation::PromptKind;
use crate::progress::ProgressEvent;
use crate::text::TextBlob;
use crate::view::{HandoffRepair, HandoffSummary, ReviewSummary};
use crate::workflow::paths::HandoffNames;
use crate::workflow::{Role, Workflow};

use super::Run;
use super::handoff_state::{HandoffCheck, HandoffRefusal, PendingHandoff};
use super::phase::ObjectiveIndex;
use super::phase_list::PhaseIndex;
use super::step::PhaseStep;
use super::successor_reason::SuccessorReason;

/// The role that finishes the rest where a workflow has one (C18); else the phase's own role does, as the lead.
pub(super) const LEAD_ROLE: &str = "lead";
/// Findings of a refused document that the notice names; the row keeps all.
const FINDINGS_TOLD: usize = 3;

impl Run {
    /// Measures once more: the session is gone, and nothing moves any longer (A5).
    pub(super) fn measure_after_exit(&mut self, p: PhaseIndex, then: SuccessorReason) {
        let action = self.request_measurement(p, false);
        self.phases[p].step = PhaseStep::MeasuringAfterExit { action, then };
    }

    /// Reports that came meanwhile may have finished everything.
    pub(super) fn on_measured_after_exit(&mut self, p: PhaseIndex, then: SuccessorReason) {
        self.reopen_contradicted(p);
        if self.phases[p].is_finished() {
            self.phases[p].handoffs.has_unrecorded_progress = false;
            self.phases[p].split.planned_parts.clear();
            return self.start_verification(p);
        }
        self.compose(p, then, None);
    }

    /// Asks for the document. What comes from here on is news for the next one.
    pub(super) fn compose(
        &mut self,
        p: PhaseIndex,
        then: SuccessorReason,
        refused: Option<Box<HandoffRefusal>>,
    ) {
        self.phases[p].handoffs.has_unrecorded_progress = false;
        let path = self.next_handoff_path(p);
        let request = self.ask_composition(p, &path, refused.is_some());
        self.phases[p].step = PhaseStep::ComposingHandoff { request, then, path, refused };
    }

    pub(super) fn on_handoff_composed(
        &mut self,
        p: PhaseIndex,
        then: SuccessorReason,
        path: String,
        refused: Option<Box<HandoffRefusal>>,
        composition: &HandoffDraft,
    ) {
        let draft = PendingHandoff {
            path,
            document: TextBlob::new(composition.document.as_str()),
            index: TextBlob::new(composition.index.as_str()),
            left_out: composition.left_out.clone(),
            lead: composition.continuer == SuccessorKind::Lead,
            repair: if refused.is_some() { HandoffRepair::FromFacts } else { HandoffRepair::None },
            refused: refused.map(|refused| *refused),
            review: None,
            found: HandoffCheck::default(),
        };
        self.inspect(p, then, Box::new(draft));
    }

    pub(super) fn inspect(&mut self, p: PhaseIndex, then: SuccessorReason, draft: Box<PendingHandoff>) {
        let git = &self.phases[p].measurements.facts.git;
        let (head, branch) = (git.head.clone(), git.branch.clone());
        let (phase, document) = (self.phases[p].spec.id.clone(), draft.document.clone());
        let tree = self.phases[p].tree.clone();
        let action = self.emit(Action::ValidateHandoff { phase, document, head, branch, tree });
        self.phases[p].step = PhaseStep::ValidatingHandoff { action, then, draft };
    }

    pub(super) fn on_handoff_validated(
        &mut self,
        p: PhaseIndex,
        then: SuccessorReason,
        mut draft: PendingHandoff,
        outcome: &ActionOutcome,
    ) {
        match self.found(p, &draft.path, outcome) {
            Ok(found) => {
                draft.found = found;
                self.review(p, then, Box::new(draft));
            }
            // It is unknown whether a secret is in it: words of agents are kept back.
            Err(why) => self.refuse(p, then, draft, HandoffRefusal::without_review(&why)),
        }
    }

    pub(super) fn review(&mut self, p: PhaseIndex, then: SuccessorReason, draft: Box<PendingHandoff>) {
        let request = self.ask_review(p, &draft.document, &draft.found);
        self.phases[p].step = PhaseStep::Reviewing { request, then, draft };
    }

    /// A review that could not be given refuses nothing; a secret is refused whatever a review says.
    pub(super) fn on_handoff_reviewed(
        &mut self,
        p: PhaseIndex,
        then: SuccessorReason,
        mut draft: PendingHandoff,
        review: Option<&ReviewDecision>,
    ) {
        draft.review = review
            .map(|review| ReviewSummary { by: self.answering_policy.clone(), ..ReviewSummary::from(review) });
        let accepted = review.is_none_or(|review| review.accepted);
        if accepted && draft.found.secrets.is_empty() {
            return self.write_handoff(p, then, Box::new(draft));
        }
        let refused = match draft.review.take() {
            Some(review) => HandoffRefusal { review, scored: true },
            None => HandoffRefusal::without_review(&format!(
                "it has a secret in it ({})",
                draft.found.secrets.join(", ")
            )),
        };
        self.refuse(p, then, draft, refused);
    }

    /// Once from facts alone, then in the host's own plain words: a handoff is never given up (C8).
    fn refuse(
        &mut self,
        p: PhaseIndex,
        then: SuccessorReason,
        draft: PendingHandoff,
        refused: HandoffRefusal,
    ) {
        match draft.repair {
            HandoffRepair::None => self.compose(p, then, Some(Box::new(refused))),
            // The first review is the one that tells a person what was wrong.
            HandoffRepair::FromFacts | HandoffRepair::Plain => {
                let first = draft.refused.unwrap_or(refused);
                self.write_plain_handoff(p, then, draft.path, Some(Box::new(first)));
            }
        }
    }

    /// Where no policy could compose one, or none that is fit.
    pub(super) fn write_plain_handoff(
        &mut self,
        p: PhaseIndex,
        then: SuccessorReason,
        path: String,
        refused: Option<Box<HandoffRefusal>>,
    ) {
        let refused = refused.map(|refused| *refused);
        let draft = PendingHandoff { repair: HandoffRepair::Plain, refused, ..self.plain_draft(p, path) };
        self.write_handoff(p, then, Box::new(draft));
    }

    /// The phase is over: what it came to, for the phases after it (C23). No policy is asked, since no session continues it: the document
    /// has the host's own words, and what agents recorded is in the facts beside it. A phase in which no session worked left nothing
    /// itself.
    pub(super) fn write_closing_handoff(&mut self, p: PhaseIndex) {
        let phase = &self.phases[p];
        if phase.lineage.is_made_by_host() || phase.session.is_none() || self.workflow.imported.is_some() {
            return self.finish_phase(p);
        }
        self.phases[p].handoffs.has_unrecorded_progress = false;
        let draft = self.plain_draft(p, self.next_handoff_path(p));
        self.write_handoff(p, SuccessorReason::Over, Box::new(draft));
    }

    /// The host stops while a session works: what is known is kept for a person who looks (C23). `Resumed` measures again, and asks
    /// a policy for the handoff that the next session starts from. A session that is still ending may write files until it is
    /// gone; `measure_after_stop` measures those, and the handoff follows.
    pub(super) fn write_stop_handoff(&mut self, p: PhaseIndex) {
        let phase = &self.phases[p];
        if !phase.needs_stop_handoff() || self.has_live_session(p) || phase.measurements.after_stop.is_some()
        {
            return;
        }
        if let Some(session) = phase.session.clone() {
            let draft = self.plain_draft(p, self.next_handoff_path(p));
            self.emit_handoff(p, session, &draft);
        }
    }

    /// Measures what a session that was stopped has left.
    pub(super) fn measure_after_stop(&mut self, p: PhaseIndex) {
        if self.phases[p].needs_stop_handoff() {
            let action = self.request_measurement(p, false);
            self.phases[p].measurements.after_stop = Some(action);
        }
    }

    /// The handoff of a stop says what was measured. Where the measurement failed, it says what was known before.
    pub(super) fn on_measured_after_stop(&mut self, action: ActionId, outcome: &ActionOutcome) {
        let Some(p) = self.phases.position(|phase| phase.measurements.after_stop == Some(action)) else {
            return;
        };
        if let ActionOutcome::WorkspaceMeasured { facts } = outcome {
            let now = self.now;
            self.phases[p].set_facts(facts, now);
            self.reopen_unshown(p);
        }
        self.phases[p].measurements.after_stop = None;
        if self.stopping && self.ending.is_none() {
            self.write_stop_handoff(p);
        }
    }

    /// No step waits for what was written when the host stopped.
    pub(super) fn on_stop_handoff_written(&mut self, intent: &Intent, outcome: &ActionOutcome) {
        let (
            Action::WriteHandoff { phase, document, index: map, path, .. },
            ActionOutcome::HandoffWritten { artifact, index, .. },
        ) = (&intent.action, outcome)
        else {
            return;
        };
        let Some(p) = self.phase_index(phase) else { return };
        if self.phases[p].step.waits_for_action(intent.id) || self.phases[p].is_over() {
            return;
        }
        let draft = PendingHandoff::plain(path.clone(), document.clone(), map.clone());
        self.on_handoff_written(p, draft, path, artifact, index.as_ref());
    }

    pub(super) fn write_handoff(&mut self, p: PhaseIndex, then: SuccessorReason, draft: Box<PendingHandoff>) {
        let phase = &self.phases[p];
        let Some(session) = phase.session.clone() else {
            return self.start_successor(p, then);
        };
        let action = self.emit_handoff(p, session, &draft);
        self.phases[p].step = PhaseStep::HandingOff { action, then, draft };
    }

    fn emit_handoff(&mut self, p: PhaseIndex, session: SessionId, draft: &PendingHandoff) -> ActionId {
        let facts = TextBlob::new(self.handoff_facts(p, &draft.path));
        let phase = &self.phases[p];
        self.emit(Action::WriteHandoff {
            phase: phase.spec.id.clone(),
            session,
            ordinal: phase.handoffs.written.len() as u32 + 1,
            document: draft.document.clone(),
            index: draft.index.clone(),
            path: draft.path.clone(),
            facts: Some(facts),
            changed_beyond: phase.measurements.facts.changed_beyond,
        })
    }

    /// The host's own words, of now.
    fn plain_draft(&self, p: PhaseIndex, path: String) -> PendingHandoff {
        let (document, index) = self.plain_handoff(p, &path);
        PendingHandoff::plain(path, TextBlob::new(document), TextBlob::new(index))
    }

    pub(super) fn on_handoff_written(
        &mut self,
        p: PhaseIndex,
        draft: PendingHandoff,
        path: &str,
        artifact: &ArtifactRef,
        index: Option<&ArtifactRef>,
    ) {
        let phase = &self.phases[p];
        let Some(session) = phase.session.clone() else {
            return;
        };
        let row = HandoffSummary {
            path: path.to_owned(),
            session: session.clone(),
            artifact: artifact.clone(),
            index: index.cloned(),
            facts: sibling_name(path, FACTS),
            predecessor: phase.handoffs.newest().map(|before| before.path.clone()),
            review: draft.review,
            repair: draft.repair,
            refused: draft.refused.as_ref().map(|refused| refused.review.clone()),
            left_out: draft.left_out,
            lead: draft.lead,
            head: phase.measurements.facts.git.head.clone(),
            branch: phase.measurements.facts.git.branch.clone(),
            closes: phase.is_closing(),
        };
        let id = phase.spec.id.clone();
        let phase = &mut self.phases[p];
        if row.closes {
            return phase.handoffs.closing.push(row);
        }
        phase.handoffs.add(row, draft.document);
        if let Some(refused) = draft.refused {
            let findings = refused.review.findings.iter().take(FINDINGS_TOLD).cloned().collect();
            self.notify(ProgressEvent::HandoffRepaired {
                phase: id.clone(),
                session: session.clone(),
                score: refused.scored.then_some(refused.review.score),
                by: refused.review.by,
                findings,
                repair: draft.repair,
            });
        }
        let (path, remaining) = (path.to_owned(), self.remaining(p));
        self.notify(ProgressEvent::HandedOff { phase: id, session, path, remaining });
    }

    /// Where a session starts from a handoff that is not of this moment, it is looked at again first (C9).
    pub(super) fn revalidate_or_prompt(&mut self, p: PhaseIndex, kind: PromptKind) {
        let focus = self.next_prompt_focus(p, kind);
        let phase = &self.phases[p];
        let (Some(newest), true) = (phase.handoffs.newest(), phase.handoffs.may_be_stale) else {
            return self.brief(p, kind, focus);
        };
        let action = Action::ValidateHandoff {
            phase: phase.spec.id.clone(),
            document: phase.handoffs.newest_text.clone(),
            head: newest.head.clone(),
            branch: newest.branch.clone(),
            tree: phase.tree.clone(),
        };
        let action = self.emit(action);
        self.phases[p].step = PhaseStep::RevalidatingHandoff { action, kind, focus };
    }

    pub(super) fn on_handoff_revalidated(
        &mut self,
        p: PhaseIndex,
        kind: PromptKind,
        focus: Vec<ObjectiveIndex>,
        outcome: &ActionOutcome,
    ) {
        let path = self.phases[p].handoffs.newest().map(|row| row.path.clone()).unwrap_or_default();
        match self.found(p, &path, outcome) {
            Ok(found) => {
                let document = self.phases[p].handoffs.newest_text.clone();
                let request = self.ask_review(p, &document, &found);
                self.phases[p].step = PhaseStep::RereviewingHandoff { request, kind, focus, found };
            }
            Err(_) => self.brief(p, kind, focus),
        }
    }

    pub(super) fn on_handoff_rereviewed(
        &mut self,
        p: PhaseIndex,
        kind: PromptKind,
        focus: Vec<ObjectiveIndex>,
        found: HandoffCheck,
        review: Option<&ReviewDecision>,
    ) {
        let by = self.answering_policy.clone();
        let phase = &mut self.phases[p];
        let commits_since = found.commits_since;
        phase.handoffs.set_check(found);
        if let (Some(review), Some(row)) = (review, phase.handoffs.newest_mut()) {
            row.review = Some(ReviewSummary { by, ..ReviewSummary::from(review) });
            let (path, staleness) = (row.path.clone(), review.staleness);
            let phase = phase.spec.id.clone();
            self.notify(ProgressEvent::HandoffReviewed { phase, path, staleness, commits_since });
        }
        self.brief(p, kind, focus);
    }

    /// What an inspection found, less what is not the fault of the document: a file that was deleted on the way is rightly
    /// named, one that is still to be written too, and what is saved beside it comes after it.
    fn found(&self, p: PhaseIndex, path: &str, outcome: &ActionOutcome) -> Result<HandoffCheck, String> {
        let (missing_files, secrets, commits_since, diverged) = match outcome {
            ActionOutcome::Inspected { missing_files, secrets, commits_since, diverged } => {
                (missing_files, secrets, *commits_since, *diverged)
            }
            ActionOutcome::Failed { error } => return Err(format!("it could not be inspected: {error}")),
            _ => return Err("it was not inspected".to_owned()),
        };
        let phase = &self.phases[p];
        let stem = sibling_name(path, "");
        let deleted = |missing: &String| {
            phase.measurements.facts.changed.iter().any(|file| !file.exists && file.path == *missing)
        };
        let to_come = |missing: &String| {
            phase.objectives.iter().any(|objective| {
                objective.spec.files.contains(missing)
                    || objective.spec.description.contains(missing.as_str())
            })
        };
        let beside_it = |missing: &String| missing == path || missing.starts_with(&stem);
        let missing_files = missing_files
            .iter()
            .filter(|missing| !deleted(missing) && !to_come(missing) && !beside_it(missing))
            .cloned()
            .collect();
        Ok(HandoffCheck { missing_files, secrets: secrets.clone(), commits_since, diverged })
    }

    /// Where the next handoff lies; no other of the run has this name.
    fn next_handoff_path(&self, p: PhaseIndex) -> String {
        let phase = &self.phases[p];
        let names = HandoffNames {
            phase: phase.spec.id.as_str(),
            ordinal: phase.handoffs.written.len() as u32 + 1,
            session: phase.session.as_ref().map_or("", SessionId::as_str),
            at: self.now,
        };
        let below = |path: &str| format!("{}/{path}", self.task_folder);
        let taken = |path: &str| {
            let path = below(path);
            // Its own draft was refused, and lies nowhere.
            let is_anothers =
                |q: PhaseIndex| q != p && self.phases[q].step.path_of_draft() == Some(path.as_str());
            self.phases.indexed().any(|(q, phase)| {
                phase
                    .handoffs
                    .written
                    .iter()
                    .chain(&phase.handoffs.closing)
                    .any(|handoff| handoff.path == path)
                    || is_anothers(q)
            })
        };
        below(&self.workflow.paths.handoff(self.names(), names, taken))
    }

    /// Who takes over: the phase's own role, or the workflow's lead.
    pub(super) fn successor_role<'w>(
        workflow: &'w Workflow,
        spec: &crate::workflow::PhaseSpec,
        lead: bool,
    ) -> (crate::ids::RoleName, std::borrow::Cow<'w, Role>) {
        let name = crate::ids::RoleName::new(LEAD_ROLE);
        match workflow.roles.get(&name) {
            Some(role) if lead => (name, std::borrow::Cow::Borrowed(role)),
            _ => (spec.role.clone(), workflow.role_of(spec)),
        }
    }
}

/// What is saved beside a handoff document.
pub(super) const FACTS: &str = "facts.json";
/// The list of every changed file, where the facts cannot hold them all.
pub(super) const FILES: &str = "files.json";
