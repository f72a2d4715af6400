//! What holds of every policy, natively: the rules that `baton policy check` holds the component to, as far as a question and
//! the answers to it and to its like can tell. A test finds a broken rule in milliseconds; the check has the last word.
//!
//! ```
//! # use baton_sdk::prelude::*;
//! # struct Calm;
//! # impl Compaction for Calm {
//! #     fn decide(_: &impl Host, _: compaction::Observation) -> Option<compaction::Decision> {
//! #         Some(compaction::Decision::new(compaction::Action::Keep, "there is always room"))
//! #     }
//! # }
//! # export_policy!(Calm: compaction);
//! use baton_sdk::{Ask, Case, rules, sample};
//!
//! rules::check::<Calm>(&Case::new(Ask::Compaction(sample::compaction_observation())));
//! ```

mod change;
mod sense;
mod shape;

use crate::compaction::Action as Room;
use crate::exhaustion::Verdict;
use crate::splitting::Action as Scope;
use crate::types::{Channel, ObjectiveStatus};
use crate::{Answer, Ask, Case, Policy};

/// Whoever answers.
type Asked<'a> = &'a dyn Fn(&Case) -> Answer;

/// A rule, under the name that `baton policy check` has for it.
///
/// ```
/// use baton_sdk::rules::RULES;
///
/// let rule = RULES.iter().find(|rule| rule.name == "full-stays-full").unwrap();
/// assert_eq!(rule.says, "more tokens used never take an exhaustion or a warning back");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// For programs.
    pub name: &'static str,
    /// The sentence that holds.
    pub says: &'static str,
    /// How it is broken, if it is.
    test: fn(&Case, &Answer, Asked<'_>) -> Option<String>,
}

/// Puts the question, and those that the rules make of it.
///
/// # Panics
/// With every rule that is broken, and how.
///
/// ```should_panic
/// # use baton_sdk::prelude::*;
/// # struct Mute;
/// # impl Compaction for Mute {
/// #     fn decide(_: &impl Host, _: compaction::Observation) -> Option<compaction::Decision> {
/// #         Some(compaction::Decision::new(compaction::Action::Keep, ""))
/// #     }
/// # }
/// # export_policy!(Mute: compaction);
/// use baton_sdk::{Ask, Case, rules, sample};
///
/// // gives-reason: every decision has a reason: its reason is empty
/// rules::check::<Mute>(&Case::new(Ask::Compaction(sample::compaction_observation())));
/// ```
#[track_caller]
pub fn check<P: Policy>(case: &Case) {
    let broken = broken::<P>(case);
    assert!(broken.is_empty(), "{}\nasked: {:#?}", broken.join("\n"), case);
}

/// The rules that are broken, a line each.
///
/// ```
/// # use baton_sdk::prelude::*;
/// # struct Mute;
/// # impl Compaction for Mute {
/// #     fn decide(_: &impl Host, _: compaction::Observation) -> Option<compaction::Decision> {
/// #         Some(compaction::Decision::new(compaction::Action::Keep, ""))
/// #     }
/// # }
/// # export_policy!(Mute: compaction);
/// use baton_sdk::{Ask, Case, rules, sample};
///
/// let broken = rules::broken::<Mute>(&Case::new(Ask::Compaction(sample::compaction_observation())));
/// assert_eq!(broken, ["gives-reason: every decision has a reason: its reason is empty"]);
/// ```
pub fn broken<P: Policy>(case: &Case) -> Vec<String> {
    let first = case.answer::<P>();
    let ask = |case: &Case| case.answer::<P>();
    let line = |rule: &Rule| {
        (rule.test)(case, &first, &ask).map(|how| format!("{}: {}: {how}", rule.name, rule.says))
    };
    RULES.iter().filter_map(line).collect()
}

/// Every rule. Each says nothing of a question that it is not about.
///
/// ```
/// let names: Vec<&str> = baton_sdk::rules::RULES.iter().map(|rule| rule.name).collect();
/// assert!(names.contains(&"makes-sense") && names.contains(&"deaf-to-tools"));
/// ```
pub const RULES: &[Rule] = &[
    Rule {
        name: "under-caps",
        says: "no answer is longer than its cap",
        test: |_, first, _| shape::too_long(first),
    },
    Rule {
        name: "well-formed",
        says: "every answer is of a form that the contract has",
        test: |_, first, _| shape::malformed(first),
    },
    Rule {
        name: "same-again",
        says: "the same question gets the same answer, for the same fuel",
        test: |case, first, ask| unless(ask(case) != *first, || "its decision is another one".to_owned()),
    },
    Rule {
        name: "makes-sense",
        says: "every decision is one that a run can follow",
        test: |case, first, _| sense::broken(&case.ask, first),
    },
    Rule {
        name: "gives-reason",
        says: "every decision has a reason",
        test: |_, first, _| unless(first.reason().trim().is_empty(), || "its reason is empty".to_owned()),
    },
    Rule {
        name: "real-evidence",
        says: "evidence names a signal that was there, and never what a tool printed",
        test: real_evidence,
    },
    Rule {
        name: "deaf-to-tools",
        says: "what a tool prints changes no verdict",
        test: |case, first, ask| {
            each(change::a_tool_prints(case), first, ask, |before, after| match (before, after) {
                (Answer::Assess(before), Answer::Assess(after)) => {
                    unless(before.verdict != after.verdict, || became(before.verdict, after.verdict))
                }
                (Answer::Assess(_), Answer::Abstained) => Some("it abstains now".to_owned()),
                (Answer::Abstained, Answer::Assess(_)) => Some("it abstained before".to_owned()),
                _ => None,
            })
        },
    },
    Rule {
        name: "unknown-attributes",
        says: "an attribute that no contract defines changes nothing",
        test: |case, first, ask| {
            each(vec![change::unknown_attribute(case)], first, ask, |before, after| {
                unless(before != after, || "its decision is another one".to_owned())
            })
        },
    },
    Rule {
        name: "full-stays-full",
        says: "more tokens used never take an exhaustion or a warning back",
        test: |case, first, ask| {
            each(change::more_tokens(case), first, ask, |before, after| match (before, after) {
                (Answer::Assess(before), Answer::Assess(after)) => {
                    if before.verdict == Verdict::Exhausted && after.verdict != Verdict::Exhausted {
                        return Some(became(before.verdict, after.verdict));
                    }
                    unless(before.warning.is_some() && after.warning.is_none(), || {
                        "it warns no more".to_owned()
                    })
                }
                _ => None,
            })
        },
    },
    Rule {
        name: "room-stays-needed",
        says: "more tokens used never turn making room into keeping",
        test: |case, first, ask| {
            each(change::more_tokens(case), first, ask, |before, after| match (before, after) {
                (Answer::Compaction(before), Answer::Compaction(after)) => {
                    let kept = before.action != Room::Keep && after.action == Room::Keep;
                    unless(kept, || "it keeps now".to_owned())
                }
                _ => None,
            })
        },
    },
    Rule {
        name: "done-stays-done",
        says: "an objective that is done comes back in no part",
        test: |case, _, ask| {
            change::each_done(case).iter().find_map(|changed| {
                let (Ask::Split(seen), Answer::Split(after)) = (&changed.ask, ask(changed)) else {
                    return None;
                };
                let done = |id: &String| {
                    seen.objectives.iter().any(|o| o.id == *id && o.status == ObjectiveStatus::Done)
                };
                let back = in_parts(&after.action).find(|id| done(id));
                back.map(|id| format!("{id} is in a part"))
            })
        },
    },
    Rule {
        name: "done-adds-nothing",
        says: "an objective more that is done already makes no scope larger",
        test: |case, first, ask| {
            each(change::one_done_more(case), first, ask, |before, after| match (before, after) {
                (Answer::Split(before), Answer::Split(after)) => {
                    let (fewer, more) = (in_parts(&before.action).count(), in_parts(&after.action).count());
                    unless(more > fewer, || format!("{more} objectives are in parts, {fewer} were before"))
                }
                (Answer::Budget(before), Answer::Budget(after)) => {
                    let (fewer, more) = (turns(before), turns(after));
                    unless(more > fewer, || format!("it gives {more} turns, and gave {fewer}"))
                }
                _ => None,
            })
        },
    },
    Rule {
        name: "more-turns-for-more",
        says: "a larger base never gets fewer turns",
        test: |case, first, ask| {
            each(change::larger_base(case), first, ask, |before, after| match (before, after) {
                (Answer::Budget(before), Answer::Budget(after)) => {
                    let (more, fewer) = (turns(before), turns(after));
                    unless(fewer < more, || format!("it gives {fewer} turns, and gave {more}"))
                }
                _ => None,
            })
        },
    },
    Rule {
        name: "score-adds-up",
        says: "a score is 100 less what its findings cost",
        test: |_, first, _| match first {
            Answer::Review(review) => {
                let costs = review.findings.iter().fold(0_u32, |sum, found| sum.saturating_add(found.cost));
                let score = 100_u32.saturating_sub(costs);
                unless(review.score != score, || {
                    format!("it scores {}, its findings leave {score}", review.score)
                })
            }
            _ => None,
        },
    },
    Rule {
        name: "worse-is-no-better",
        says: "a secret or a missing file more never scores higher",
        test: |case, first, ask| {
            each(change::worse_documents(case), first, ask, |before, after| match (before, after) {
                (Answer::Review(before), Answer::Review(after)) => {
                    let better = after.score > before.score || (after.accepted && !before.accepted);
                    unless(better, || format!("it scores {} now, and scored {}", after.score, before.score))
                }
                _ => None,
            })
        },
    },
    Rule {
        name: "no-younger",
        says: "commits more since a handoff never make it fresher",
        test: |case, first, ask| {
            each(change::more_commits(case), first, ask, |before, after| match (before, after) {
                (Answer::Review(before), Answer::Review(after)) => {
                    let (now, then) = (after.staleness, before.staleness);
                    unless((now as u8) < then as u8, || format!("{now:?} now, {then:?} before"))
                }
                _ => None,
            })
        },
    },
];

fn unless(broken: bool, how: impl FnOnce() -> String) -> Option<String> {
    broken.then(how)
}

/// Holds the answer to each of the other questions to the first one.
fn each(
    others: Vec<Case>,
    first: &Answer,
    ask: Asked<'_>,
    broken: impl Fn(&Answer, &Answer) -> Option<String>,
) -> Option<String> {
    others.iter().find_map(|other| broken(first, &ask(other)))
}

fn became(before: Verdict, after: Verdict) -> String {
    format!("the verdict was {before:?}, and is {after:?}")
}

/// No cap is more than any.
fn turns(budget: &crate::budgeting::TurnBudget) -> u32 {
    budget.max_turns.unwrap_or(u32::MAX)
}

fn in_parts(action: &Scope) -> impl Iterator<Item = &String> {
    let parts = match action {
        Scope::Split(parts) => parts.as_slice(),
        Scope::Keep | Scope::AskPerson(_) => &[],
    };
    parts.iter().flat_map(|part| &part.objectives)
}

fn real_evidence(case: &Case, first: &Answer, _: Asked<'_>) -> Option<String> {
    let (seen, evidence) = match (&case.ask, first) {
        (Ask::Assess(seen), Answer::Assess(answer)) => (seen, &answer.evidence),
        (Ask::Complete(seen), Answer::Complete(answer)) => (&seen.session, &answer.evidence),
        _ => return None,
    };
    let is_known = |seq: u64| seen.signals.iter().any(|signal| signal.seq == seq);
    evidence.iter().find_map(|evidence| match (evidence.channel, evidence.seq) {
        (Channel::ToolOutput, _) => Some(format!("it rests on what a tool printed: {:?}", evidence.text)),
        (_, Some(seq)) if !is_known(seq) => Some(format!("it rests on signal {seq}, which was not there")),
        _ => None,
    })
}
