//! Where the recording decides. A policy is asked everything that it would be asked in a live run; where its answer would
//! have made the host do what the recording shows was not done, the decision is that of the recording. Verdicts on what has
//! ended are never touched: they do nothing by themselves.

use baton_core::decision::{
    CompactionAction, CompactionDecision, Decision, DecisionSource, OffloadingDecision, Provenance,
    RecoveryAction, RecoveryDecision, SplitAction, SplitDecision, TurnBudget,
};
use baton_core::observation::{AssessTrigger, PolicyQuery};

/// Stands in a label in the place of a policy's name where the recording decided.
pub(super) const RECORDING: &str = "recording";

/// What the recording shows instead of `decision`, and what that would have been in words; nothing where both agree.
pub(super) fn recorded_decision(
    query: &PolicyQuery,
    decision: &Decision,
    policy: &str,
) -> Option<(Decision, &'static str)> {
    let reason = || format!("the recording goes on without it; {policy} says: {}", decision.reason());
    match (query, decision) {
        (PolicyQuery::Recovery(seen), Decision::Recovery(said)) => {
            let is_over =
                matches!(seen.session.occasion, AssessTrigger::PromptEnded | AssessTrigger::SessionEnded);
            (!is_over && said.action != RecoveryAction::Wait).then(|| {
                let wait = RecoveryDecision { action: RecoveryAction::Wait, reason: reason() };
                (Decision::Recovery(wait), "stirred the agent")
            })
        }
        (_, Decision::Offloading(said)) if !said.items.is_empty() => {
            let keep = OffloadingDecision { items: Vec::new(), reason: reason() };
            Some((Decision::Offloading(keep), "kept something out of the context"))
        }
        (_, Decision::Compaction(said)) => {
            let what = match said.action {
                CompactionAction::Keep => return None,
                CompactionAction::Compact { .. } => "compacted the context",
                CompactionAction::HandOff => "handed off to a new session",
            };
            let keep = CompactionDecision { action: CompactionAction::Keep, reason: reason() };
            Some((Decision::Compaction(keep), what))
        }
        (_, Decision::Splitting(said)) => {
            let what = match said.action {
                SplitAction::Keep => return None,
                SplitAction::Split { .. } => "split the work",
                SplitAction::AskPerson { .. } => "asked a person about the scope",
            };
            let keep = SplitDecision { action: SplitAction::Keep, reason: reason() };
            Some((Decision::Splitting(keep), what))
        }
        (_, Decision::Budgeting(said)) if said.max_turns.is_some() => {
            let unlimited = TurnBudget { max_turns: None, reason: reason() };
            Some((Decision::Budgeting(unlimited), "bounded the turns"))
        }
        _ => None,
    }
}

/// The label of a decision of the recording: no component made it, so none is asked again in a replay.
pub(super) fn label(asked: &Provenance) -> Provenance {
    Provenance {
        by: DecisionSource::Recording,
        policy: RECORDING.to_owned(),
        component: None,
        settings: None,
        fuel: 0,
        artifacts: Default::default(),
        faults: Vec::new(),
        ..asked.clone()
    }
}
