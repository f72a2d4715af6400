//! What agents report, through files or tools. A report counts once, and outlives the session that made it.

use std::collections::{BTreeSet, VecDeque};

use crate::ids::{Digest, SessionId};
use crate::input::Report;
use crate::observation::{Attempt, ObjectiveStatus, SplitRequest};
use crate::view::Origin;

use super::Run;
use super::examine::Score;
use super::phase::Phase;

/// Reports that are known when they come again: many times what a session makes, and it is its own reports that a session
/// repeats after a reconnect (D1).
const REMEMBERED: usize = 10_000;

/// The addresses of the newest reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Addresses {
    known: BTreeSet<Digest>,
    oldest_first: VecDeque<Digest>,
}

impl Addresses {
    /// False where it was known.
    fn note(&mut self, digest: &Digest) -> bool {
        if !self.known.insert(digest.clone()) {
            return false;
        }
        if self.oldest_first.len() == REMEMBERED
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.oldest_first.push_back(digest.clone());
        true
    }
}

impl Run {
    /// Whether a report with this address was taken: once more it counts no more.
    pub fn has_report(&self, digest: &Digest) -> bool {
        self.reports.known.contains(digest)
    }

    pub(super) fn reported(&mut self, from: Option<&SessionId>, digest: &Digest, report: &Report) {
        // An objective may go to and fro, and an update that comes again changes nothing by itself.
        let again = !self.reports.note(digest) && !matches!(report, Report::ObjectiveUpdate { .. });
        if self.ending.is_some() || again {
            return;
        }
        let phase = match report {
            Report::ObjectiveUpdate { objective, .. } => {
                // Sub-phases stand after their parent and hold the objective too: the newest holder counts.
                self.phases.iter().rposition(|p| p.goals.iter().any(|g| &g.spec.id == objective))
            }
            _ => from
                .and_then(|id| self.phases.iter().position(|p| p.sessions.contains(id)))
                .or_else(|| self.phases.iter().position(Phase::is_active)),
        };
        let Some(p) = phase else { return };
        self.phases[p].news = true;
        match report {
            Report::ObjectiveUpdate { objective, status: ObjectiveStatus::Done, note } => {
                if let Some(g) = self.phases[p].goals.iter().position(|g| &g.spec.id == objective) {
                    if !note.is_empty() {
                        self.phases[p].goals[g].remark.clone_from(note);
                    }
                    let by = from.cloned().or_else(|| self.phases[p].session.clone());
                    self.objective_done(p, g, by);
                }
            }
            Report::ObjectiveUpdate { objective, status, note } => {
                let phase = &mut self.phases[p];
                if *status == ObjectiveStatus::Failed && !note.is_empty() {
                    let attempt = Attempt { approach: objective.to_string(), outcome: note.clone() };
                    Phase::record(&mut phase.attempts, attempt, &mut phase.dropped);
                }
                if let Some(goal) = phase.goals.iter_mut().find(|g| &g.spec.id == objective)
                    && goal.status != ObjectiveStatus::Done
                {
                    if !note.is_empty() {
                        goal.remark.clone_from(note);
                    }
                    goal.status = *status;
                }
            }
            Report::DecisionRecord { .. } | Report::AttemptRecord { .. } => {
                if let Some(entry) = Option::from(report) {
                    let phase = &mut self.phases[p];
                    let list = match report {
                        Report::DecisionRecord { .. } => &mut phase.decisions,
                        _ => &mut phase.attempts,
                    };
                    Phase::record(list, entry, &mut phase.dropped);
                }
            }
            Report::GotchaRecord { gotcha } => {
                let phase = &mut self.phases[p];
                Phase::record(&mut phase.gotchas, gotcha.clone(), &mut phase.dropped);
            }
            Report::HandoffWrite(handoff) => {
                self.phases[p].reported_handoff = Some((from.cloned(), (**handoff).clone()));
            }
            Report::ArtifactSaved { artifact } => self.phases[p].keep(artifact),
            Report::ReviewSubmit { score, summary, findings } => {
                if self.phases[p].origin == Origin::Review {
                    let (score, summary, findings) = ((*score).min(100), summary.clone(), findings.clone());
                    self.phases[p].submitted = Some(Score { score, summary, findings });
                    self.objective_done(p, 0, from.cloned());
                }
            }
            Report::SplitRequest { groups, rationale } => {
                self.phases[p].requested = Some(SplitRequest {
                    groups: groups.iter().cloned().map(Into::into).collect(),
                    rationale: rationale.clone(),
                });
            }
        }
    }
}
