//! What agents report, through files or tools. A report counts once, and outlives the session that made it.

use std::collections::{BTreeSet, VecDeque};

use crate::ids::{Digest, ObjectiveId, SessionId};
use crate::input::{AgentReport, ReportedHandoff, SplitGroupReport};
use crate::observation::{Attempt, EvidenceKind, ObjectiveStatus, SplitRequestView};
use crate::view::PhaseOrigin;

use super::Run;
use super::phase::{ObjectiveIndex, ObjectiveReport, ObjectiveState, Phase, ReviewScore};
use super::phase_list::PhaseIndex;

/// Reports that are known when they come again: many times what a session makes, and it is its own reports that a session
/// repeats after a reconnect (D1).
const MAX_SEEN_REPORTS: usize = 10_000;

/// Requests of one session that are looked at if the first is declined: an agent that keeps asking does not work.
const SPLITS_DECLINED: u32 = 2;

/// The addresses of the newest reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeenReports {
    known: BTreeSet<Digest>,
    oldest_first: VecDeque<Digest>,
}

impl SeenReports {
    /// False where it was known.
    fn note(&mut self, digest: &Digest) -> bool {
        if !self.known.insert(digest.clone()) {
            return false;
        }
        if self.oldest_first.len() == MAX_SEEN_REPORTS
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.oldest_first.push_back(digest.clone());
        true
    }
}

impl Run {
    /// An agent that asks for smaller scopes has not done what it names there, whatever was reported of it before: its last word
    /// counts (A11).
    fn reopen_split_objectives(&mut self, p: PhaseIndex, groups: &[SplitGroupReport]) {
        let session = self.phases[p].session.clone();
        if session.is_some() {
            let named = |objective: &ObjectiveState| {
                groups.iter().any(|group| group.objectives.contains(&objective.spec.id))
            };
            self.reopen_reported(p, session.as_ref(), named, "its agent asks for smaller scopes");
        }
    }

    /// A handoff behind a report of done is the later word: what its next action names by an id or a file is not done, unless that
    /// names something that is open (A11, C23).
    fn reopen_next_objectives(&mut self, p: PhaseIndex, from: Option<&SessionId>, next: &str) {
        let objectives = &self.phases[p].objectives;
        if objectives.iter().any(|objective| !objective.is_done() && objective.is_named_in(next)) {
            return;
        }
        let named = |objective: &ObjectiveState| objective.is_named_in(next);
        self.reopen_reported(p, from, named, "the handoff of its agent names it as what comes next");
    }

    /// What a session reported as done is not done, if it is meant; what any session reported, if the session is unknown.
    fn reopen_reported(
        &mut self,
        p: PhaseIndex,
        by: Option<&SessionId>,
        is_meant: impl Fn(&ObjectiveState) -> bool,
        because: &str,
    ) {
        for g in self.phases[p].objectives.indices() {
            let objective = &self.phases[p].objectives[g];
            let is_its = by.is_none() || objective.by.as_ref() == by;
            if is_its && objective.done_by == Some(EvidenceKind::Reported) && is_meant(objective) {
                self.reopen(p, g, ObjectiveStatus::InProgress, because);
            }
        }
    }

    /// The phase in which a report of a session counts for an objective. Sub-phases stand after their parent and hold the objective
    /// too: the newest holder counts. Once that is over, a session of the parent mends it where the parts came together.
    fn phase_holding(&self, objective: &ObjectiveId, from: Option<&SessionId>) -> Option<PhaseIndex> {
        let holds = |p: &Phase| p.objectives.iter().any(|g| &g.spec.id == objective);
        let is_own = |p: &Phase| from.is_some_and(|id| p.sessions.contains(id)) && holds(p);
        let newest = self.phases.rposition(holds);
        let is_open = newest.is_some_and(|p| !self.phases[p].is_over());
        let own = self.phases.position(is_own).filter(|_| !is_open);
        own.or(newest)
    }

    /// What a handoff lists as open is not done, whatever was reported of it (A11). An id that is none is left to its words.
    fn reopen_handoff_objectives(&mut self, from: Option<&SessionId>, handoff: &ReportedHandoff) {
        let status = ObjectiveStatus::InProgress;
        for id in &handoff.open {
            let Some(p) = self.phase_holding(id, from) else { continue };
            let phase = &self.phases[p];
            let objective =
                phase.objectives.position(|objective| objective.spec.id == *id && objective.is_done());
            let Some(g) = objective else { continue };
            let note = format!("a handoff lists it as open: {}", handoff.current_state);
            if phase.is_over() {
                let reported = ObjectiveReport { status, note, by: from.cloned(), before_prompt: None };
                self.dispute(p, g, reported, Some(handoff));
            } else {
                self.objective_reported(p, g, from, status, &note);
            }
        }
    }

    /// Whether a report with this address was taken: once more it counts no more.
    pub fn has_report(&self, digest: &Digest) -> bool {
        self.reports.known.contains(digest)
    }

    pub(super) fn on_reported(&mut self, from: Option<&SessionId>, digest: &Digest, report: &AgentReport) {
        // An objective may go to and fro, and an update that comes again changes nothing by itself.
        let again = !self.reports.note(digest) && !matches!(report, AgentReport::ObjectiveUpdate { .. });
        if self.ending.is_some() || again {
            return;
        }
        let phase = match report {
            AgentReport::ObjectiveUpdate { objective, .. } => self.phase_holding(objective, from),
            _ => from
                .and_then(|id| self.phases.position(|p| p.sessions.contains(id)))
                .or_else(|| self.phases.position(Phase::is_active)),
        };
        let Some(p) = phase else { return };
        if let AgentReport::Refused { why } = report {
            // It is unknown which of those at work in one folder it was.
            for phase in self.phases.iter_mut().filter(|phase| phase.is_active()) {
                let is_its = from.is_none_or(|id| phase.session.as_ref() == Some(id));
                if is_its {
                    phase.assessment.refuse_report(why);
                }
            }
            return;
        }
        self.phases[p].handoffs.has_unrecorded_progress = true;
        self.phases[p].assessment.accept_report();
        match report {
            AgentReport::ObjectiveUpdate { objective, status, note } => {
                let phase = &mut self.phases[p];
                phase.handoffs.is_latest_report &= *status != ObjectiveStatus::Done;
                if *status == ObjectiveStatus::Failed && !note.is_empty() {
                    let outcome = format!("objective {objective} was reported as failed");
                    let attempt = Attempt { approach: note.clone(), outcome, by_person: false };
                    phase.records.add_attempt(attempt);
                }
                if let Some(g) = phase.objectives.position(|g| &g.spec.id == objective) {
                    self.objective_reported(p, g, from, *status, note);
                }
            }
            AgentReport::DecisionRecord { .. } | AgentReport::AttemptRecord { .. } => {
                if let Some(entry) = Option::from(report) {
                    let records = &mut self.phases[p].records;
                    match report {
                        AgentReport::DecisionRecord { .. } => records.add_decision(entry),
                        _ => records.add_attempt(entry),
                    }
                }
            }
            AgentReport::GotchaRecord { gotcha } => self.phases[p].records.add_gotcha(gotcha.clone()),
            AgentReport::PatternRecord { pattern } => self.phases[p].records.add_pattern(pattern.clone()),
            AgentReport::Refused { .. } => {}
            AgentReport::HandoffWrite(handoff) => {
                if !self.phases[p].is_over() {
                    self.reopen_next_objectives(p, from, &handoff.immediate_next_action);
                }
                self.reopen_handoff_objectives(from, handoff);
                self.phases[p].handoffs.report(from.cloned(), (**handoff).clone());
            }
            AgentReport::ArtifactSaved { artifact } => self.phases[p].artifacts.keep(artifact),
            AgentReport::ReviewSubmit { score, summary, findings } => {
                if self.phases[p].lineage.origin == PhaseOrigin::Review {
                    let (score, summary, findings) = ((*score).min(100), summary.clone(), findings.clone());
                    self.phases[p].review.submitted = Some(ReviewScore { score, summary, findings });
                    self.objective_done(p, ObjectiveIndex::FIRST, from.cloned(), EvidenceKind::Reported);
                }
            }
            AgentReport::SplitRequest { groups, .. }
                if self.session(p).is_some_and(|session| session.declined >= SPLITS_DECLINED) =>
            {
                let why = format!(
                    "{SPLITS_DECLINED} requests to split were declined, and another one is not looked at"
                );
                self.reopen_split_objectives(p, groups);
                self.phases[p].assessment.refuse_report(&why);
            }
            AgentReport::SplitRequest { groups, rationale } => {
                self.reopen_split_objectives(p, groups);
                self.phases[p].split.request = Some(SplitRequestView {
                    groups: groups.iter().cloned().map(Into::into).collect(),
                    rationale: rationale.clone(),
                });
            }
        }
    }
}
