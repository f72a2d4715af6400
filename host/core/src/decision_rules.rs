//! Whether a run can follow a decision, as far as the question itself determines it. The router checks every answer by these
//! rules: one that breaks them is a fault of its policy ([`crate::decision::Fault::Refused`]), and the next policy is asked.
//! `baton policy check` uses the same rules.

use std::collections::BTreeMap;

use crate::decision::{Decision, RecoveryAction, SplitAction, SubPhase, Verdict};
use crate::ids::{ObjectiveId, PhaseId};
use crate::observation::{
    AssessTrigger, CompletionObservation, ObjectiveStatus, OffloadingObservation, PolicyQuery, SplitLimits,
    SplitTrigger, SplittingObservation,
};
use crate::visible::has_visible_text;
use crate::workflow::SplitTime;

/// Whether core could act on a decision. An error names the broken rule.
pub fn validate_decision(query: &PolicyQuery, decision: &Decision) -> Result<(), String> {
    match (query, decision) {
        (PolicyQuery::Exhaustion(seen), Decision::Exhaustion(answer)) => match seen.occasion {
            AssessTrigger::PromptEnded if answer.verdict == Verdict::Healthy => {
                Err("it calls a prompt healthy that has ended".to_owned())
            }
            AssessTrigger::SessionEnded if answer.verdict == Verdict::Healthy => {
                Err("it calls a session healthy that has ended".to_owned())
            }
            _ => Ok(()),
        },
        (PolicyQuery::Completion(seen), Decision::Completion(answer)) => {
            validate_completion(seen, &answer.done)
        }
        (PolicyQuery::Offloading(seen), Decision::Offloading(answer)) => {
            validate_offload(seen, &answer.items)
        }
        (PolicyQuery::Splitting(seen), Decision::Splitting(answer)) => match &answer.action {
            SplitAction::Split { sub_phases } => validate_observed_split(seen, sub_phases),
            SplitAction::AskPerson { question } => {
                may_ask_about_split(&seen.phase.id, seen.wish, seen.occasion).and(validate_question(question))
            }
            SplitAction::Keep => Ok(()),
        },
        (PolicyQuery::Budgeting(seen), Decision::Budgeting(budget)) => {
            validate_turns(seen.spent.is_some(), budget.max_turns)
        }
        (PolicyQuery::Prompting(_), Decision::Prompting(brief)) if !has_visible_text(&brief.prompt) => {
            Err("its prompt says nothing".to_owned())
        }
        (PolicyQuery::Handoff(_), Decision::Handoff(composition))
            if !has_visible_text(&composition.document) =>
        {
            Err("its document says nothing".to_owned())
        }
        (PolicyQuery::Recovery(seen), Decision::Recovery(answer)) => match &answer.action {
            RecoveryAction::AskPerson { question } => validate_question(question),
            action => validate_role(seen.other_roles.as_deref(), action),
        },
        (PolicyQuery::Compaction(_), Decision::Compaction(_))
        | (PolicyQuery::Prompting(_), Decision::Prompting(_))
        | (PolicyQuery::Handoff(_), Decision::Handoff(_))
        | (PolicyQuery::Review(_), Decision::Review(_)) => Ok(()),
        _ => Err("it answers another question than the one that was put".to_owned()),
    }
}

fn validate_question(question: &str) -> Result<(), String> {
    if has_visible_text(question) { Ok(()) } else { Err("it asks a person nothing".to_owned()) }
}

/// A phase is handed to a role that may have it.
fn validate_role(others: Option<&[String]>, action: &RecoveryAction) -> Result<(), String> {
    match (action, others) {
        (RecoveryAction::OtherRole { role }, Some(others)) if !others.contains(role) => {
            Err(format!("it hands the phase to the role {role:?}, which is none of `other-roles`"))
        }
        _ => Ok(()),
    }
}

/// Objectives called done must be part of the question.
fn validate_completion(seen: &CompletionObservation, done: &[ObjectiveId]) -> Result<(), String> {
    match done.iter().find(|id| seen.session.objectives.iter().all(|objective| objective.id != **id)) {
        Some(id) => Err(format!("it calls {id} done, which is no objective of the prompt")),
        None => Ok(()),
    }
}

/// A new scope gets at least one turn, or no number. One that had turns already (`is_spent`) may get no more of them.
fn validate_turns(is_spent: bool, turns: Option<u32>) -> Result<(), String> {
    match turns {
        Some(0) if !is_spent => Err("it gives 0 turns, and 1 is the least".to_owned()),
        _ => Ok(()),
    }
}

/// Offloaded items must have been offered.
fn validate_offload(seen: &OffloadingObservation, items: &[String]) -> Result<(), String> {
    match items.iter().find(|id| seen.items.iter().all(|item| item.id != **id)) {
        Some(id) => Err(format!("it offloads {id:?}, which was not offered")),
        None => Ok(()),
    }
}

fn validate_observed_split(seen: &SplittingObservation, parts: &[SubPhase]) -> Result<(), String> {
    may_be_split(&seen.phase.id, seen.wish, seen.occasion)?;
    // A failed objective is not done: it stays with its phase, and so with a part of it.
    let open = seen.objectives.iter().filter(|objective| objective.status != ObjectiveStatus::Done);
    validate_split(&seen.phase.id, seen.phase.depth, seen.limits, open.map(|objective| &objective.id), parts)
}

/// An agent's request is decided regardless of the workflow's setting for its phase.
fn may_be_split(phase: &PhaseId, wish: SplitTime, occasion: SplitTrigger) -> Result<(), String> {
    if wish == SplitTime::Never && occasion != SplitTrigger::Requested {
        return Err(format!("the workflow says split = \"never\" for phase {phase}"));
    }
    Ok(())
}

/// The user is asked about a split if there may be one, and about a phase that cannot continue in any case.
fn may_ask_about_split(phase: &PhaseId, wish: SplitTime, occasion: SplitTrigger) -> Result<(), String> {
    match occasion {
        SplitTrigger::OutOfContinuations => Ok(()),
        _ => may_be_split(phase, wish, occasion),
    }
}

/// Every open objective in exactly one part, no other, within depth and fan-out. An error names the broken rule.
pub(crate) fn validate_split<'a>(
    phase: &PhaseId,
    depth: u32,
    limits: SplitLimits,
    open: impl Iterator<Item = &'a ObjectiveId>,
    parts: &'a [SubPhase],
) -> Result<(), String> {
    if depth >= limits.depth {
        return Err(format!("phase {phase} is at the deepest level, {}", limits.depth));
    }
    if parts.len() < 2 || parts.len() > limits.parts as usize {
        return Err(format!("{} parts; allowed are 2 to {}", parts.len(), limits.parts));
    }
    let mut seen: BTreeMap<&ObjectiveId, u32> = open.map(|id| (id, 0)).collect();
    for part in parts {
        if part.objectives.is_empty() {
            return Err(format!("the part {:?} has no objective", part.title));
        }
        validate_turns(false, part.max_turns)
            .map_err(|why| format!("of the part {:?}: {why}", part.title))?;
        for id in &part.objectives {
            match seen.get_mut(id) {
                Some(count) => *count += 1,
                None => return Err(format!("{id} is no open objective of phase {phase}")),
            }
        }
    }
    match seen.iter().find(|(_, count)| **count != 1) {
        Some((id, 0)) => Err(format!("objective {id} is in no part")),
        Some((id, count)) => Err(format!("objective {id} is in {count} parts")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::WorkStyle;

    fn parts(parts: &[&[&str]]) -> Vec<SubPhase> {
        let part = |ids: &&[&str]| SubPhase {
            title: String::new(),
            objectives: ids.iter().map(|id| ObjectiveId::new(*id)).collect(),
            order: WorkStyle::Direct,
            max_turns: None,
        };
        parts.iter().map(part).collect()
    }

    #[test]
    fn a_split_holds_each_open_objective_once_and_no_other() {
        // D2
        let open = ["a", "b", "c"].map(ObjectiveId::new);
        let limits = SplitLimits { depth: 2, parts: 2 };
        let at_depth =
            |depth, parts: Vec<SubPhase>| validate_split(&"20".into(), depth, limits, open.iter(), &parts);
        let why = |ids: &[&[&str]]| at_depth(0, parts(ids)).unwrap_err();
        assert_eq!(at_depth(1, parts(&[&["a", "c"], &["b"]])), Ok(()));
        assert!(at_depth(2, parts(&[&["a", "c"], &["b"]])).unwrap_err().contains("deepest level"));
        assert_eq!(why(&[&["a"], &["b"]]), "objective c is in no part");
        assert_eq!(why(&[&["a", "c"], &["b", "c"]]), "objective c is in 2 parts");
        assert_eq!(why(&[&["a", "b", "c"], &["d"]]), "d is no open objective of phase 20");
        assert_eq!(why(&[&["a", "b", "c"]]), "1 parts; allowed are 2 to 2");
        assert_eq!(why(&[&["a"], &["b"], &["c"]]), "3 parts; allowed are 2 to 2");
        assert!(why(&[&["a", "b", "c"], &[]]).contains("has no objective"));
        let mut idle = parts(&[&["a", "c"], &["b"]]);
        idle[1].max_turns = Some(0);
        assert!(at_depth(0, idle).unwrap_err().contains("it gives 0 turns"));
    }

    #[test]
    fn a_phase_is_handed_to_a_role_that_may_have_it() {
        // N6
        let others = Some(vec!["senior".to_owned()]);
        let named = |others: &Option<Vec<String>>, role: &str| {
            validate_role(others.as_deref(), &RecoveryAction::OtherRole { role: role.into() })
        };
        assert_eq!(named(&others, "senior"), Ok(()));
        let why = named(&others, "root").unwrap_err();
        assert_eq!(why, "it hands the phase to the role \"root\", which is none of `other-roles`");
        // A limit that is absent from the journal is not checked.
        assert_eq!(named(&None, "root"), Ok(()));
        assert_eq!(validate_role(others.as_deref(), &RecoveryAction::Retry), Ok(()));
    }

    #[test]
    fn a_scope_begins_with_a_turn_or_without_a_number() {
        // A1
        assert!(validate_turns(false, Some(0)).is_err());
        for (is_spent, turns) in [(false, None), (false, Some(1)), (true, Some(0)), (true, None)] {
            assert_eq!(validate_turns(is_spent, turns), Ok(()));
        }
    }

    #[test]
    fn a_phase_that_the_workflow_leaves_whole_is_split_only_if_its_agent_asks() {
        // D2
        let asked = |wish, occasion| may_be_split(&"20".into(), wish, occasion);
        use SplitTrigger::{Boundary, OutOfContinuations, PhaseStart, Requested};
        for occasion in [PhaseStart, Boundary, OutOfContinuations] {
            let why = asked(SplitTime::Never, occasion).unwrap_err();
            assert_eq!(why, "the workflow says split = \"never\" for phase 20");
            assert_eq!(asked(SplitTime::During, occasion), Ok(()));
        }
        assert_eq!(asked(SplitTime::Never, Requested), Ok(()));
        // No policy is asked about what the workflow already says.
        let asks = |occasion| may_ask_about_split(&"20".into(), SplitTime::Never, occasion).is_ok();
        assert_eq!(
            [PhaseStart, Boundary, OutOfContinuations, Requested].map(asks),
            [false, false, true, true]
        );
    }
}
