//! What the policy of a test world answers: the thresholds of the sources, as plain as can be.

use crate::decision::*;
use crate::observation::{AssessTrigger, ObjectiveView, PolicyQuery, SplitTrigger, TurnUsage};
use crate::time::DurationMs;

use super::test_run::TestRun;

/// Why it decides anything.
pub(super) const REASON: &str = "the test says so";

impl TestRun {
    pub(super) fn decide(&self, query: &PolicyQuery) -> Decision {
        let reason = REASON.to_owned();
        match query {
            PolicyQuery::Exhaustion(o) => {
                let code =
                    o.signals.iter().rfind(|s| s.prompt == o.session.prompts).and_then(|s| s.code.as_deref());
                let verdict = match (o.occasion, code) {
                    (AssessTrigger::Heartbeat, _) if o.session.idle_ms >= 300_000 => Verdict::Stalled,
                    (AssessTrigger::Turn | AssessTrigger::Signal | AssessTrigger::Heartbeat, _) => {
                        Verdict::Healthy
                    }
                    (_, Some("done")) => Verdict::Answered,
                    // What it had reported by then is doubted.
                    (AssessTrigger::SessionEnded, None) if self.unfinished.get() > 0 => Verdict::Answered,
                    (_, Some("exhausted")) => Verdict::Exhausted,
                    (_, Some("quota")) => Verdict::Quota { cause: QuotaCause::Rate, resets_at_ms: None },
                    (_, Some("quota-until")) => {
                        let until = Some(self.now + DurationMs::from_mins(20));
                        Verdict::Quota { cause: QuotaCause::Usage, resets_at_ms: until }
                    }
                    (_, Some("nothing")) => Verdict::Truncated,
                    _ => Verdict::Failed,
                };
                let used = o.session.occupancy.used_tokens.unwrap_or(0);
                let warning = (used >= 850).then(|| "nearly full".to_owned());
                Decision::Exhaustion(Assessment { verdict, evidence: Vec::new(), warning, reason })
            }
            PolicyQuery::Completion(o) => {
                let left = self.unfinished.get();
                self.unfinished.set(left.saturating_sub(1));
                let done = o.session.objectives.iter().filter(|_| left == 0);
                let done = done.map(|objective| objective.id.clone()).collect();
                Decision::Completion(CompletionDecision { done, evidence: Vec::new(), reason })
            }
            PolicyQuery::Recovery(o) => {
                let told = self.recovery.as_ref().filter(|(verdict, _)| *verdict == o.assessment.verdict);
                let action = match o.assessment.verdict {
                    _ if let Some((_, action)) = told => action.clone(),
                    Verdict::Stalled => RecoveryAction::Interrupt,
                    Verdict::Truncated => RecoveryAction::Nudge,
                    Verdict::Quota { .. } => RecoveryAction::Wait,
                    Verdict::Exhausted => RecoveryAction::HandOff,
                    _ => RecoveryAction::Retry,
                };
                Decision::Recovery(RecoveryDecision { action, reason })
            }
            PolicyQuery::Compaction(o) => {
                let used = o.session.occupancy.used_tokens.unwrap_or(0);
                let action = if self.hands_off_from.is_some_and(|from| used >= from) {
                    CompactionAction::HandOff
                } else if used >= 700 && self.compacts {
                    CompactionAction::Compact { instructions: None } // B1
                } else {
                    CompactionAction::Keep
                };
                Decision::Compaction(CompactionDecision { action, reason })
            }
            PolicyQuery::Offloading(o) => {
                let used = o.session.occupancy.used_tokens.unwrap_or(0);
                let all = || o.items.iter().map(|item| item.id.clone()).collect();
                let items = if used >= self.offload_from {
                    self.offloads.clone().unwrap_or_else(all) // C4
                } else {
                    Vec::new()
                };
                Decision::Offloading(OffloadingDecision { items, reason })
            }
            PolicyQuery::Splitting(o) => {
                let asked = matches!(o.occasion, SplitTrigger::PhaseStart | SplitTrigger::OutOfContinuations);
                let may = o.occasion == SplitTrigger::PhaseStart && o.objectives.len() > 1;
                let asked_for = o.occasion == SplitTrigger::Requested && self.split_on_request;
                let action = match &self.split {
                    _ if asked_for => self.split_of(&o.objectives),
                    _ if self.split_each && may && o.phase.depth < 2 => self.split_of(&o.objectives),
                    Some(action) if asked && o.phase.depth == 0 => action.clone(),
                    _ => SplitAction::Keep,
                };
                Decision::Splitting(SplitDecision { action, reason })
            }
            PolicyQuery::Budgeting(o) => {
                let more = o.phase.budget.turns_used + o.base_turns.unwrap_or(0);
                let is_given = |spent: &TurnUsage| {
                    let moved = spent.files_changed > 0 || spent.objectives_done > 0;
                    self.gives_turns && (moved || spent.idle_grants < self.idle_grants)
                };
                let max_turns =
                    if o.spent.as_ref().is_some_and(is_given) { Some(more) } else { o.base_turns };
                Decision::Budgeting(TurnBudget { max_turns, reason })
            }
            PolicyQuery::Prompting(o) => Decision::Prompting(PromptDraft {
                prompt: format!(
                    "{:?} {:?} {:?} {:?} {:?} {:?}",
                    o.kind, o.focus, o.phase.iteration, o.result_file, o.result_files, o.conflict
                ),
                left_out: Vec::new(),
                reason,
            }),
            PolicyQuery::Handoff(o) => Decision::Handoff(HandoffDraft {
                document: format!("{:?}", o.attempts),
                index: "index".into(),
                continuer: if self.lead { SuccessorKind::Lead } else { SuccessorKind::Successor },
                left_out: Vec::new(),
                reason,
            }),
            PolicyQuery::Review(o) => {
                let score = self.scores.borrow_mut().pop_front().unwrap_or(100);
                let finding = |text: &str| Finding { cost: 100 - score, line: None, text: text.into() };
                Decision::Review(ReviewDecision {
                    score,
                    findings: if score < 100 { vec![finding("not good")] } else { Vec::new() },
                    staleness: if o.commits_since > 5 { Staleness::Stale } else { Staleness::Fresh },
                    accepted: score >= 70,
                    reason,
                })
            }
        }
    }

    fn split_of(&self, objectives: &[ObjectiveView]) -> SplitAction {
        let size = if self.halves { objectives.len().div_ceil(2) } else { 1 };
        let part = |chunk: &[ObjectiveView]| SubPhase {
            title: "part".into(),
            objectives: chunk.iter().map(|objective| objective.id.clone()).collect(),
            order: WorkStyle::Direct,
            max_turns: None,
        };
        SplitAction::Split { sub_phases: objectives.chunks(size).map(part).collect() }
    }
}
