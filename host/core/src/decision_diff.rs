//! Compares two answers to one question by what the host does after each of them. Fields that the host does not read make no
//! difference, and neither does the reason, which is a sentence for people. The effects described here are those of `run`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::decision::{Assessment, Decision, Fault, OffloadingDecision, RecoveryAction, Verdict};
use crate::observation::{AssessTrigger, PolicyQuery, RecoveryObservation};

/// The comparison of a candidate's answer with the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionMatch {
    /// The answers are equal.
    Same,
    /// Another answer after which the host does the same: another reason, or a field that it does not read here.
    OtherWords,
    /// Another answer after which the host does something else.
    Differs,
    /// The candidate gave none.
    Fault,
    /// The candidate abstained: the next policy in the chain would decide.
    Abstained,
}

impl DecisionMatch {
    /// Compares the answer of a candidate with the one that counted.
    pub fn of(
        query: &PolicyQuery,
        counted: &Result<Decision, Fault>,
        candidate: &Result<Option<Decision>, Fault>,
    ) -> Self {
        match (counted, candidate) {
            (_, Ok(None)) => Self::Abstained,
            (Ok(counted), Ok(Some(candidate))) if counted == candidate => Self::Same,
            (Err(counted), Err(candidate)) if counted == candidate => Self::Same,
            (_, Err(_)) => Self::Fault,
            (Ok(counted), Ok(Some(candidate))) if same_effect(query, counted, candidate) => Self::OtherWords,
            _ => Self::Differs,
        }
    }

    /// Whether the host does something else after the candidate's answer, or has none from it.
    pub fn is_otherwise(self) -> bool {
        matches!(self, Self::Differs | Self::Fault)
    }
}

/// Whether the host does the same after either answer, and warns the user after both or after neither.
pub fn same_effect(query: &PolicyQuery, a: &Decision, b: &Decision) -> bool {
    let warns = |decision: &Decision| matches!(decision, Decision::Exhaustion(of) if of.warning.is_some());
    same_next_step(query, a, b) && warns(a) == warns(b)
}

/// Whether the work continues in the same way after either answer. A warning, a piece of evidence or a finding more changes
/// nothing of what comes next.
pub fn same_next_step(query: &PolicyQuery, a: &Decision, b: &Decision) -> bool {
    match (a, b) {
        (Decision::Exhaustion(a), Decision::Exhaustion(b)) => {
            let is_over = matches!(query, PolicyQuery::Exhaustion(seen) if is_over(seen.occasion));
            step(is_over, a) == step(is_over, b)
        }
        (Decision::Completion(a), Decision::Completion(b)) => {
            a.done.iter().collect::<BTreeSet<_>>() == b.done.iter().collect()
        }
        (Decision::Recovery(a), Decision::Recovery(b)) => match query {
            PolicyQuery::Recovery(seen) => course(seen, &a.action) == course(seen, &b.action),
            _ => false,
        },
        (Decision::Compaction(a), Decision::Compaction(b)) => a.action == b.action,
        (Decision::Offloading(a), Decision::Offloading(b)) => offloaded(query, a) == offloaded(query, b),
        (Decision::Splitting(a), Decision::Splitting(b)) => a.action == b.action,
        (Decision::Budgeting(a), Decision::Budgeting(b)) => a.max_turns == b.max_turns,
        (Decision::Prompting(a), Decision::Prompting(b)) => a.prompt == b.prompt,
        (Decision::Handoff(a), Decision::Handoff(b)) => {
            (&a.document, &a.index, a.continuer) == (&b.document, &b.index, b.continuer)
        }
        (Decision::Review(a), Decision::Review(b)) => (a.accepted, a.staleness) == (b.accepted, b.staleness),
        // Answers to different functions; the engine lets no component give one.
        _ => false,
    }
}

/// Whether a prompt or a session has ended, so that its verdict counts.
fn is_over(occasion: AssessTrigger) -> bool {
    matches!(occasion, AssessTrigger::PromptEnded | AssessTrigger::SessionEnded)
}

/// The consequence of an assessment; none if the host only asks again at the next occasion.
fn step(is_over: bool, of: &Assessment) -> Option<Verdict> {
    // While the agent works, the host acts on a limit and on a stall, and on nothing else.
    let acts = is_over || matches!(of.verdict, Verdict::Stalled | Verdict::Quota { .. });
    acts.then_some(of.verdict)
}

/// The host's action for a session that is not well.
fn course<'a>(of: &RecoveryObservation, action: &'a RecoveryAction) -> Option<&'a RecoveryAction> {
    let is_over = is_over(of.session.occasion);
    let waits = matches!(of.assessment.verdict, Verdict::Quota { .. });
    match action {
        RecoveryAction::Wait if !is_over || waits => None,
        // The host asks the same session again, whichever of the three it is; one at work is interrupted first.
        RecoveryAction::Wait | RecoveryAction::Nudge | RecoveryAction::Interrupt => {
            Some(&RecoveryAction::Nudge)
        }
        action => Some(action),
    }
}

/// The offloaded items. An answer that names an item that was not offered offloads nothing.
fn offloaded<'a>(query: &PolicyQuery, of: &'a OffloadingDecision) -> BTreeSet<&'a str> {
    let PolicyQuery::Offloading(seen) = query else { return BTreeSet::new() };
    let is_offered = |item: &String| seen.items.iter().any(|offered| offered.id == *item);
    match of.items.iter().all(is_offered) {
        true => of.items.iter().map(String::as_str).collect(),
        false => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{CompactionAction, CompactionDecision, QuotaCause, RecoveryDecision};
    use crate::observation::{ContextItem, ContextItemKind, SessionObservation, TextId};
    use crate::run::standalone_offload_query;
    use crate::time::UnixMs;

    fn compaction(action: CompactionAction, reason: &str) -> Decision {
        Decision::Compaction(CompactionDecision { action, reason: reason.into() })
    }

    fn offload(items: &[&str]) -> Decision {
        let items = items.iter().map(|item| (*item).to_owned()).collect();
        Decision::Offloading(OffloadingDecision { items, reason: "large".into() })
    }

    /// A question that offers these items.
    fn ask(items: &[&str]) -> PolicyQuery {
        let item =
            |id: &str| ContextItem { id: id.to_owned(), kind: ContextItemKind::ToolResult, tokens: 9_000 };
        let mut query = standalone_offload_query(item("one")).query;
        if let PolicyQuery::Offloading(seen) = &mut query {
            seen.items = items.iter().map(|id| item(id)).collect();
        }
        query
    }

    fn assessment(verdict: Verdict) -> Assessment {
        Assessment { verdict, evidence: Vec::new(), warning: None, reason: "so".into() }
    }

    fn session(occasion: AssessTrigger) -> SessionObservation {
        let PolicyQuery::Offloading(alone) = ask(&[]) else { unreachable!("it is what `ask` makes") };
        SessionObservation {
            occasion,
            session: alone.session,
            phase: alone.phase,
            signals: Vec::new(),
            window: TextId(0),
            answer_bytes: 0,
            files_changed: 0,
            phase_files_changed: 0,
            files_missing: 0,
            objectives: Vec::new(),
            others_open: Vec::new(),
            handoff_reported: false,
            handoff: None,
            nudges: 0,
            asked_at_ms: UnixMs(0),
            utc_offset_minutes: 0,
            git: None,
            split_request: None,
            review_missing: false,
            report_not_taken: None,
            imported: false,
            attributes: Vec::new(),
        }
    }

    // M3
    #[test]
    fn a_reason_is_no_decision() {
        let keep = |reason| Ok(compaction(CompactionAction::Keep, reason));
        let fault: Result<Decision, Fault> = Err(Fault::OutOfFuel { limit: 1 });
        let of = |counted: &Result<Decision, Fault>, candidate: &Result<Decision, Fault>| {
            DecisionMatch::of(&ask(&[]), counted, &candidate.clone().map(Some))
        };
        assert_eq!(of(&keep("a"), &keep("a")), DecisionMatch::Same);
        assert_eq!(of(&keep("a"), &keep("b")), DecisionMatch::OtherWords);
        let hand_off = Ok(compaction(CompactionAction::HandOff, "a"));
        assert_eq!(of(&keep("a"), &hand_off), DecisionMatch::Differs);
        assert_eq!(of(&keep("a"), &fault), DecisionMatch::Fault);
        assert_eq!(of(&fault, &keep("a")), DecisionMatch::Differs);
        assert_eq!(of(&fault, &fault), DecisionMatch::Same);
        assert_eq!(DecisionMatch::of(&ask(&[]), &keep("a"), &Ok(None)), DecisionMatch::Abstained);
        let is_otherwise = [DecisionMatch::Differs, DecisionMatch::Fault].map(DecisionMatch::is_otherwise);
        assert!(is_otherwise == [true; 2] && !DecisionMatch::OtherWords.is_otherwise());
        assert!(!DecisionMatch::Abstained.is_otherwise());
    }

    // M3
    #[test]
    fn to_wait_is_to_nudge_where_something_has_ended_and_no_limit_holds_it_up() {
        let same = |occasion, verdict, a: &RecoveryAction, b: &RecoveryAction| {
            let assessment = assessment(verdict);
            let observation = RecoveryObservation {
                session: session(occasion),
                assessment,
                completion: None,
                other_roles: None,
            };
            let decision = |action: &RecoveryAction| {
                Decision::Recovery(RecoveryDecision { action: action.clone(), reason: String::new() })
            };
            same_effect(&PolicyQuery::Recovery(Box::new(observation)), &decision(a), &decision(b))
        };
        let (wait, nudge, anew) = (RecoveryAction::Wait, RecoveryAction::Nudge, RecoveryAction::Retry);
        let limit = Verdict::Quota { cause: QuotaCause::Rate, resets_at_ms: None };
        for occasion in [AssessTrigger::Heartbeat, AssessTrigger::PromptEnded] {
            assert!(same(occasion, Verdict::Stalled, &nudge, &RecoveryAction::Interrupt));
            assert!(!same(occasion, Verdict::Stalled, &nudge, &anew));
        }
        assert!(same(AssessTrigger::PromptEnded, Verdict::Failed, &wait, &nudge));
        assert!(!same(AssessTrigger::Heartbeat, Verdict::Stalled, &wait, &nudge));
        assert!(!same(AssessTrigger::PromptEnded, limit, &wait, &nudge));
    }

    // M3
    #[test]
    fn while_the_agent_works_only_a_limit_and_a_stall_are_acted_upon() {
        let step_of = |is_over, verdict| step(is_over, &assessment(verdict)).is_some();
        let limit = Verdict::Quota { cause: QuotaCause::Rate, resets_at_ms: None };
        for verdict in [Verdict::Healthy, Verdict::Answered, Verdict::Exhausted, Verdict::Failed] {
            assert!(!step_of(false, verdict) && step_of(true, verdict), "{verdict:?}");
        }
        for verdict in [Verdict::Stalled, limit] {
            assert!(step_of(false, verdict) && step_of(true, verdict), "{verdict:?}");
        }
    }

    // M3
    #[test]
    fn an_answer_that_names_what_was_not_offered_offloads_nothing() {
        let same = |items: &[&str], a: &Decision, b: &Decision| same_effect(&ask(items), a, b);
        let none = offload(&[]);
        assert!(same(&["a", "b"], &offload(&["a", "b"]), &offload(&["b", "a"])));
        assert!(!same(&["a", "b"], &offload(&["a"]), &none));
        assert!(same(&["a"], &offload(&["a", "other"]), &none));
    }

    // M3
    #[test]
    fn a_warning_tells_a_person_something_and_leaves_the_course_as_it_is() {
        let healthy = |warning: Option<&str>| {
            let warning = warning.map(str::to_owned);
            Decision::Exhaustion(Assessment { warning, ..assessment(Verdict::Healthy) })
        };
        let query = PolicyQuery::Exhaustion(Box::new(session(AssessTrigger::Turn)));
        let (none, one, other) = (healthy(None), healthy(Some("it fills up")), healthy(Some("80 %")));
        assert!(same_next_step(&query, &none, &one) && !same_effect(&query, &none, &one));
        assert!(same_effect(&query, &one, &other));
    }
}
