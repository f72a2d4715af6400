//! What agents report, through files or tools. A report counts once, and outlives the session that made it.

use crate::ids::{Digest, SessionId};
use crate::input::Report;
use crate::observation::{Attempt, ObjectiveStatus, SplitRequest};

use super::Run;
use super::phase::Phase;

impl Run {
    /// Whether a report with this address was taken: once more it counts no more.
    pub fn has_report(&self, digest: &Digest) -> bool {
        self.reports.contains(digest)
    }

    pub(super) fn reported(&mut self, from: Option<&SessionId>, digest: &Digest, report: &Report) {
        // An objective may go to and fro, and an update that comes again changes nothing by itself.
        let again = !self.reports.insert(digest.clone()) && !matches!(report, Report::ObjectiveUpdate { .. });
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
            Report::SplitRequest { groups, rationale } => {
                self.phases[p].requested = Some(SplitRequest {
                    groups: groups.iter().cloned().map(Into::into).collect(),
                    rationale: rationale.clone(),
                });
            }
        }
    }
}
