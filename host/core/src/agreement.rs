//! How two answers to one question compare: by what the host does after either of them. What the host does not read is no
//! difference, nor is the reason, which is a sentence for people. What is said here of each answer is what `run` does with it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::decision::{Assessment, CompactionAction, Decision, Fault, Recovery, Verdict};
use crate::observation::{Ask, Occasion};

/// How the answer of a candidate compares with the one that counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// The same, to the letter.
    Same,
    /// Another answer after which the host does the same: another reason, or a field that it does not read here.
    OtherWords,
    /// Another answer after which the host does something else.
    Differs,
    /// The candidate gave none.
    Fault,
    /// The candidate abstained: whoever stands behind it would decide.
    Abstained,
}

impl Agreement {
    /// Sets the answer of a candidate beside the one that counted.
    pub fn of(
        ask: &Ask,
        counted: &Result<Decision, Fault>,
        candidate: &Result<Option<Decision>, Fault>,
    ) -> Self {
        match (counted, candidate) {
            (_, Ok(None)) => Self::Abstained,
            (Ok(counted), Ok(Some(candidate))) if counted == candidate => Self::Same,
            (Err(counted), Err(candidate)) if counted == candidate => Self::Same,
            (_, Err(_)) => Self::Fault,
            (Ok(counted), Ok(Some(candidate))) if same_effect(ask, counted, candidate) => Self::OtherWords,
            _ => Self::Differs,
        }
    }

    /// Whether the host does something else after the candidate's answer, or has none from it.
    pub fn is_otherwise(self) -> bool {
        matches!(self, Self::Differs | Self::Fault)
    }
}

/// Whether the host does the same after either answer, and warns a person after both or after neither.
pub fn same_effect(ask: &Ask, a: &Decision, b: &Decision) -> bool {
    let warns = |decision: &Decision| matches!(decision, Decision::Assess(of) if of.warning.is_some());
    same_course(ask, a, b) && warns(a) == warns(b)
}

/// Whether the work goes on in the same way after either answer. A warning, a piece of evidence or a finding more changes
/// nothing of what comes next.
pub fn same_course(ask: &Ask, a: &Decision, b: &Decision) -> bool {
    match (a, b) {
        (Decision::Assess(a), Decision::Assess(b)) => {
            let is_over = is_over(ask);
            step(is_over, a) == step(is_over, b)
        }
        (Decision::Compaction(a), Decision::Compaction(b)) => room(ask, &a.action) == room(ask, &b.action),
        (Decision::Split(a), Decision::Split(b)) => a.action == b.action,
        (Decision::Budget(a), Decision::Budget(b)) => a.max_turns == b.max_turns,
        (Decision::Brief(a), Decision::Brief(b)) => a.prompt == b.prompt,
        (Decision::Compose(a), Decision::Compose(b)) => {
            (&a.document, &a.index, a.continuer) == (&b.document, &b.index, b.continuer)
        }
        (Decision::Review(a), Decision::Review(b)) => (a.accepted, a.staleness) == (b.accepted, b.staleness),
        // Answers to different functions; the engine lets no component give one.
        _ => false,
    }
}

/// Whether the host reads the recovery that comes with a verdict.
pub fn recovers(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Unfinished
        | Verdict::Truncated
        | Verdict::Stalled
        | Verdict::Interrupted
        | Verdict::Failed => true,
        Verdict::Healthy
        | Verdict::Completed
        | Verdict::HandedOff
        | Verdict::Exhausted
        | Verdict::Quota { .. }
        | Verdict::TurnLimit
        | Verdict::BudgetLimit => false,
    }
}

/// Whether a prompt or a session has ended, so that its verdict counts.
fn is_over(ask: &Ask) -> bool {
    match ask {
        Ask::Assess(seen) => matches!(seen.occasion, Occasion::PromptEnded | Occasion::SessionEnded),
        _ => true,
    }
}

/// What follows from an assessment; nothing if the host only asks again at the next occasion.
fn step(is_over: bool, of: &Assessment) -> Option<(Verdict, Option<&Recovery>)> {
    let recovery = recovers(&of.verdict).then_some(&of.recovery);
    match (of.verdict, recovery) {
        // The host asks the same session again, whichever of the three it is.
        (verdict, Some(Recovery::Wait | Recovery::Nudge | Recovery::Interrupt)) if is_over => {
            Some((verdict, Some(&Recovery::Nudge)))
        }
        (verdict, recovery) if is_over => Some((verdict, recovery)),
        // While the agent works, the host acts on a limit and on a stall, and on nothing else.
        (Verdict::Stalled, Some(Recovery::Wait)) => None,
        (Verdict::Stalled, Some(Recovery::Nudge | Recovery::Interrupt)) => {
            Some((Verdict::Stalled, Some(&Recovery::Interrupt)))
        }
        (verdict @ (Verdict::Stalled | Verdict::Quota { .. }), recovery) => Some((verdict, recovery)),
        _ => None,
    }
}

/// What a compaction decision makes room by. A question that offers items is about them alone, and one that offers none
/// gives nothing to offload.
fn room<'a>(ask: &Ask, action: &'a CompactionAction) -> (BTreeSet<&'a str>, &'a CompactionAction) {
    const KEEP: &CompactionAction = &CompactionAction::Keep;
    let none = BTreeSet::new();
    let offered: BTreeSet<&str> = match ask {
        Ask::Compaction(seen) => seen.items.iter().map(|item| item.id.as_str()).collect(),
        _ => return (none, action),
    };
    match action {
        CompactionAction::Offload { items } => {
            let named: BTreeSet<&str> = items.iter().map(String::as_str).collect();
            // An item that was not offered: the host does nothing of what such an answer asks for.
            (if named.is_subset(&offered) { named } else { none }, KEEP)
        }
        action if offered.is_empty() => (none, action),
        _ => (none, KEEP),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{CompactionDecision, QuotaCause};
    use crate::observation::{ItemKind, ItemView};
    use crate::run::question_alone;

    fn compaction(action: CompactionAction, reason: &str) -> Decision {
        Decision::Compaction(CompactionDecision { action, reason: reason.into() })
    }

    fn offload(items: &[&str]) -> Decision {
        let items = items.iter().map(|item| (*item).to_owned()).collect();
        compaction(CompactionAction::Offload { items }, "large")
    }

    /// A question about making room, which offers these items.
    fn ask(items: &[&str]) -> Ask {
        let item = |id: &str| ItemView { id: id.to_owned(), kind: ItemKind::ToolResult, tokens: 9_000 };
        let mut ask = question_alone(item("one")).ask;
        if let Ask::Compaction(seen) = &mut ask {
            seen.items = items.iter().map(|id| item(id)).collect();
        }
        ask
    }

    fn assessment(verdict: Verdict, recovery: Recovery) -> Assessment {
        Assessment { verdict, evidence: Vec::new(), warning: None, recovery, reason: "so".into() }
    }

    // M3
    #[test]
    fn a_reason_is_no_decision() {
        let keep = |reason| Ok(compaction(CompactionAction::Keep, reason));
        let fault: Result<Decision, Fault> = Err(Fault::OutOfFuel { limit: 1 });
        let of = |counted: &Result<Decision, Fault>, candidate: &Result<Decision, Fault>| {
            Agreement::of(&ask(&[]), counted, &candidate.clone().map(Some))
        };
        assert_eq!(of(&keep("a"), &keep("a")), Agreement::Same);
        assert_eq!(of(&keep("a"), &keep("b")), Agreement::OtherWords);
        let hand_off = Ok(compaction(CompactionAction::HandOff, "a"));
        assert_eq!(of(&keep("a"), &hand_off), Agreement::Differs);
        assert_eq!(of(&keep("a"), &fault), Agreement::Fault);
        assert_eq!(of(&fault, &keep("a")), Agreement::Differs);
        assert_eq!(of(&fault, &fault), Agreement::Same);
        assert_eq!(Agreement::of(&ask(&[]), &keep("a"), &Ok(None)), Agreement::Abstained);
        let is_otherwise = [Agreement::Differs, Agreement::Fault].map(Agreement::is_otherwise);
        assert!(is_otherwise == [true; 2] && !Agreement::OtherWords.is_otherwise());
        assert!(!Agreement::Abstained.is_otherwise());
    }

    // M3
    #[test]
    fn a_recovery_counts_only_where_the_host_reads_it() {
        let alike = |is_over, a: (Verdict, Recovery), b: (Verdict, Recovery)| {
            step(is_over, &assessment(a.0, a.1)) == step(is_over, &assessment(b.0, b.1))
        };
        let (wait, nudge, anew) = (Recovery::Wait, Recovery::Nudge, Recovery::NewSession);
        for is_over in [false, true] {
            for verdict in [Verdict::Healthy, Verdict::Completed, Verdict::Exhausted] {
                assert!(alike(is_over, (verdict, wait.clone()), (verdict, anew.clone())), "{verdict:?}");
            }
            let stalled = |recovery: &Recovery| (Verdict::Stalled, recovery.clone());
            assert!(alike(is_over, stalled(&nudge), stalled(&Recovery::Interrupt)));
            assert!(!alike(is_over, stalled(&nudge), stalled(&anew)));
            assert_eq!(alike(is_over, stalled(&wait), stalled(&nudge)), is_over);
        }
    }

    // M3
    #[test]
    fn while_the_agent_works_only_a_limit_and_a_stall_are_acted_upon() {
        let step_of = |is_over, verdict| step(is_over, &assessment(verdict, Recovery::NewSession)).is_some();
        let limit = Verdict::Quota { cause: QuotaCause::Rate, until: None };
        for verdict in [Verdict::Healthy, Verdict::Completed, Verdict::Exhausted, Verdict::Failed] {
            assert!(!step_of(false, verdict) && step_of(true, verdict), "{verdict:?}");
        }
        for verdict in [Verdict::Stalled, limit] {
            assert!(step_of(false, verdict) && step_of(true, verdict), "{verdict:?}");
        }
    }

    // M3
    #[test]
    fn a_question_that_offers_items_is_about_them_alone() {
        let same = |items: &[&str], a: &Decision, b: &Decision| same_effect(&ask(items), a, b);
        let (keep, hand_off) =
            (compaction(CompactionAction::Keep, ""), compaction(CompactionAction::HandOff, ""));
        assert!(same(&["a", "b"], &keep, &hand_off) && !same(&[], &keep, &hand_off));
        assert!(same(&["a", "b"], &offload(&["a", "b"]), &offload(&["b", "a"])));
        assert!(!same(&["a", "b"], &offload(&["a"]), &keep));
        assert!(same(&["a"], &offload(&["a", "other"]), &keep), "an item that was not offered");
        assert!(same(&[], &offload(&["a"]), &keep), "nothing was offered");
    }

    // M3
    #[test]
    fn a_warning_tells_a_person_something_and_leaves_the_course_as_it_is() {
        let healthy = |warning: Option<&str>| {
            let warning = warning.map(str::to_owned);
            Decision::Assess(Assessment { warning, ..assessment(Verdict::Healthy, Recovery::Wait) })
        };
        let (none, one, other) = (healthy(None), healthy(Some("it fills up")), healthy(Some("80 %")));
        assert!(same_course(&ask(&[]), &none, &one) && !same_effect(&ask(&[]), &none, &one));
        assert!(same_effect(&ask(&[]), &one, &other));
    }
}
