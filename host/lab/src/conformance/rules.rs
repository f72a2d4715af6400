//! What must hold of every policy, whatever it is for: rules of the contract (`wit/`), of the engine and of core. A rule
//! that holds for good policies only most of the time is not here. Who asks, and how often, is in `conformance.rs`.

use baton_core::decision::{CompactionAction, Decision, Evidence, Fault, SplitAction, TurnBudget, Verdict};
use baton_core::decision_rules::validate_decision;
use baton_core::facts::SignalSource;
use baton_core::observation::{Capability, ObjectiveStatus, PolicyQuery, PolicyRequest, SignalView};
use baton_core::{ObjectiveId, Seq};
use baton_engine::PolicyAnswer;

use super::injected_text;
use super::mutations;
use super::question_rng::QuestionRng;

/// A rule: what holds, why, and how it is found out.
pub(super) struct ConformanceRule {
    /// For programs.
    pub(super) name: &'static str,
    /// Decisions that it judges.
    pub(super) about: &'static [Capability],
    /// The sentence that holds.
    pub(super) says: &'static str,
    /// What goes wrong where it does not.
    pub(super) because: &'static str,
    pub(super) test: RuleTest,
}

/// How a rule is found out.
pub(super) enum RuleTest {
    /// By a question and what became of it.
    One(fn(&PolicyRequest, &PolicyAnswer) -> RuleResult),
    /// By putting the same question again.
    Repeat,
    /// By putting a question that differs in one thing, where it can, and holding the second decision to the first.
    Changed {
        /// The other question.
        change: fn(&PolicyRequest, &mut QuestionRng) -> Option<PolicyRequest>,
        /// Of the other question, the decision on the first, and that on the other.
        holds: fn(&PolicyRequest, &Decision, &Decision) -> RuleResult,
        /// Whether it is broken by abstaining from one of the two alone: who decides must not hang on the change either.
        counts_abstention: bool,
    },
}

/// What a rule says of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RuleResult {
    Holds,
    /// It is broken, and how.
    Violated(String),
    /// It says nothing of this question.
    NotApplicable,
}

use Capability::{Budgeting, Compaction, Completion, Exhaustion, Handoff, Prompting, Review, Splitting};
use RuleResult::{Holds, NotApplicable, Violated};

const ALL_CAPABILITIES: &[Capability] = &Capability::ALL;

fn violated_if(broken: bool, how: impl FnOnce() -> String) -> RuleResult {
    if broken { Violated(how()) } else { Holds }
}

pub(super) const RULES: &[ConformanceRule] = &[
    ConformanceRule {
        name: "no-trap",
        about: ALL_CAPABILITIES,
        says: "no question makes it trap",
        because: "a trap is a decision that the next policy in the chain has to make",
        test: RuleTest::One(|_, result| match result {
            Err(fault @ (Fault::Trap { .. } | Fault::Unloadable { .. })) => Violated(format!("it {fault}")),
            _ => Holds,
        }),
    },
    ConformanceRule {
        name: "within-limits",
        about: ALL_CAPABILITIES,
        says: "no question takes more fuel, memory or time than there is",
        because: "what takes longest is what a long run asks, so it fails where it is needed most",
        test: RuleTest::One(|_, result| match result {
            Err(fault @ (Fault::OutOfFuel { .. } | Fault::OutOfMemory { .. } | Fault::Watchdog { .. })) => {
                Violated(format!("it {fault}"))
            }
            _ => Holds,
        }),
    },
    ConformanceRule {
        name: "under-caps",
        about: ALL_CAPABILITIES,
        says: "no answer is longer than its cap",
        because: "an answer over its cap is thrown away whole, and with it everything that is in it",
        test: RuleTest::One(|_, result| match result {
            Err(fault @ Fault::TooLarge { .. }) => Violated(format!("it {fault}")),
            _ => Holds,
        }),
    },
    ConformanceRule {
        name: "well-formed",
        about: ALL_CAPABILITIES,
        says: "every answer is of a form that the contract has",
        because: "what cannot be read as an answer is none",
        test: RuleTest::One(|_, result| match result {
            Err(fault @ Fault::Invalid { .. }) => Violated(format!("it {fault}")),
            _ => Holds,
        }),
    },
    ConformanceRule {
        name: "same-again",
        about: ALL_CAPABILITIES,
        says: "the same question gets the same answer, for the same fuel",
        because: "a run that does not replay exactly is no evidence of anything",
        test: RuleTest::Repeat,
    },
    ConformanceRule {
        name: "makes-sense",
        about: ALL_CAPABILITIES,
        says: "every decision is one that a run can follow",
        because: "a run refuses the others: the scope stays whole, the prompt is not sent, a person is asked",
        test: RuleTest::One(|question, result| match result {
            Ok(Some(decision)) => {
                validate_decision(&question.query, decision).map_or_else(Violated, |()| Holds)
            }
            _ => NotApplicable,
        }),
    },
    ConformanceRule {
        name: "gives-reason",
        about: ALL_CAPABILITIES,
        says: "every decision has a reason",
        because: "it is all that a person is shown of why",
        test: RuleTest::One(|_, result| match result {
            Ok(Some(decision)) => {
                violated_if(decision.reason().trim().is_empty(), || "its reason is empty".to_owned())
            }
            _ => NotApplicable,
        }),
    },
    ConformanceRule {
        name: "real-evidence",
        about: &[Exhaustion, Completion],
        says: "evidence names a signal that was there, and never what a tool printed",
        because: "anybody can make a tool print anything; a session must not end for it",
        test: RuleTest::One(|question, result| match (&question.query, result) {
            (PolicyQuery::Exhaustion(seen), Ok(Some(Decision::Exhaustion(answer)))) => {
                real_evidence(&seen.signals, &answer.evidence)
            }
            (PolicyQuery::Completion(seen), Ok(Some(Decision::Completion(answer)))) => {
                real_evidence(&seen.session.signals, &answer.evidence)
            }
            _ => NotApplicable,
        }),
    },
    ConformanceRule {
        name: "deaf-to-tools",
        about: &[Exhaustion],
        says: "what a tool prints changes no verdict",
        because: "a file that says \"prompt is too long\" is no reason to end the session that reads it",
        test: RuleTest::Changed {
            change: mutations::append_tool_output,
            holds: |_, before, after| match (before, after) {
                (Decision::Exhaustion(before), Decision::Exhaustion(after)) => {
                    violated_if(before.verdict != after.verdict, || became(&before.verdict, &after.verdict))
                }
                _ => NotApplicable,
            },
            counts_abstention: true,
        },
    },
    ConformanceRule {
        name: "unknown-attributes",
        about: ALL_CAPABILITIES,
        says: "an attribute that no contract defines changes nothing",
        because: "a later host may add one, and a policy built before it must decide as it did",
        test: RuleTest::Changed {
            change: mutations::add_unknown_attribute,
            holds: |_, before, after| {
                violated_if(before != after, || "its decision is another one".to_owned())
            },
            counts_abstention: true,
        },
    },
    ConformanceRule {
        name: "quotes-others",
        about: &[Prompting, Handoff],
        says: "nothing that an agent, a tool or a committer wrote begins a line of a prompt or a document",
        because: "whoever writes a gotcha or a commit would give orders to the next agent",
        test: RuleTest::Changed {
            change: injected_text::inject_instruction,
            holds: |_, _, after| match after {
                Decision::Prompting(brief) => quotes([&brief.prompt]),
                Decision::Handoff(composition) => quotes([&composition.document, &composition.index]),
                _ => NotApplicable,
            },
            counts_abstention: false,
        },
    },
    ConformanceRule {
        name: "full-stays-full",
        about: &[Exhaustion],
        says: "more tokens used never take an exhaustion or a warning back",
        because: "a session that is fuller is not better off",
        test: RuleTest::Changed {
            change: mutations::increase_tokens,
            holds: |_, before, after| match (before, after) {
                (Decision::Exhaustion(before), Decision::Exhaustion(after)) => {
                    let healed = before.verdict == Verdict::Exhausted && after.verdict != Verdict::Exhausted;
                    let silent = before.warning.is_some() && after.warning.is_none();
                    violated_if(healed || silent, || match healed {
                        true => became(&before.verdict, &after.verdict),
                        false => "it warns no more".to_owned(),
                    })
                }
                _ => NotApplicable,
            },
            counts_abstention: false,
        },
    },
    ConformanceRule {
        name: "room-stays-needed",
        about: &[Compaction],
        says: "more tokens used never turn making room into keeping",
        because: "a context that had to shrink has to shrink all the more when it is fuller",
        test: RuleTest::Changed {
            change: mutations::increase_tokens,
            holds: |_, before, after| match (before, after) {
                (Decision::Compaction(before), Decision::Compaction(after)) => {
                    let keeps = |action: &CompactionAction| *action == CompactionAction::Keep;
                    violated_if(!keeps(&before.action) && keeps(&after.action), || "it keeps now".to_owned())
                }
                _ => NotApplicable,
            },
            counts_abstention: false,
        },
    },
    ConformanceRule {
        name: "done-stays-done",
        about: &[Splitting],
        says: "an objective that is done comes back in no part",
        because: "work that is done would be done again, by an agent that does not know of it",
        test: RuleTest::Changed {
            change: mutations::complete_objective,
            holds: |question, _, after| match (&question.query, after) {
                (PolicyQuery::Splitting(seen), Decision::Splitting(after)) => {
                    let done = seen.objectives.iter().filter(|o| o.status == ObjectiveStatus::Done);
                    let back = done.map(|o| &o.id).find(|id| in_parts(&after.action).any(|part| part == *id));
                    match back {
                        Some(id) => Violated(format!("{id} is in a part")),
                        None => Holds,
                    }
                }
                _ => NotApplicable,
            },
            counts_abstention: false,
        },
    },
    ConformanceRule {
        name: "done-adds-nothing",
        about: &[Splitting, Budgeting],
        says: "an objective more that is done already makes no scope larger",
        because: "what is done needs no session, no turns and no split",
        test: RuleTest::Changed {
            change: mutations::add_completed_objective,
            holds: |_, before, after| match (before, after) {
                (Decision::Splitting(before), Decision::Splitting(after)) => {
                    let (fewer, more) = (in_parts(&before.action).count(), in_parts(&after.action).count());
                    violated_if(more > fewer, || {
                        format!("{more} objectives are in parts, {fewer} were before")
                    })
                }
                (Decision::Budgeting(before), Decision::Budgeting(after)) => {
                    let (fewer, more) = (turns(before), turns(after));
                    violated_if(more > fewer, || format!("it gives {more} turns, and gave {fewer}"))
                }
                _ => NotApplicable,
            },
            counts_abstention: false,
        },
    },
    ConformanceRule {
        name: "more-turns-for-more",
        about: &[Budgeting],
        says: "a larger base never gets fewer turns",
        because: "a mode that is to be more thorough would be less so",
        test: RuleTest::Changed {
            change: mutations::increase_turns,
            holds: |_, before, after| match (before, after) {
                (Decision::Budgeting(before), Decision::Budgeting(after)) => {
                    let (more, fewer) = (turns(before), turns(after));
                    violated_if(fewer < more, || format!("it gives {fewer} turns, and gave {more}"))
                }
                _ => NotApplicable,
            },
            counts_abstention: false,
        },
    },
    ConformanceRule {
        name: "score-adds-up",
        about: &[Review],
        says: "a score is 100 less what its findings cost",
        because: "the contract says so, and a person reads the findings to see what would raise it",
        test: RuleTest::One(|_, result| match result {
            Ok(Some(Decision::Review(review))) => {
                let costs = review.findings.iter().fold(0u32, |sum, f| sum.saturating_add(f.cost));
                let score = 100u32.saturating_sub(costs);
                violated_if(review.score != score, || {
                    format!("it scores {}, its findings leave {score}", review.score)
                })
            }
            _ => NotApplicable,
        }),
    },
    ConformanceRule {
        name: "worse-is-no-better",
        about: &[Review],
        says: "a secret or a missing file more never scores higher",
        because: "a handoff that got worse would be accepted",
        test: RuleTest::Changed {
            change: mutations::worsen_document,
            holds: |_, before, after| match (before, after) {
                (Decision::Review(before), Decision::Review(after)) => {
                    let better = after.score > before.score || (after.accepted && !before.accepted);
                    violated_if(better, || {
                        format!("it scores {} now, and scored {}", after.score, before.score)
                    })
                }
                _ => NotApplicable,
            },
            counts_abstention: false,
        },
    },
    ConformanceRule {
        name: "no-younger",
        about: &[Review],
        says: "commits more since a handoff never make it fresher",
        because: "a successor would trust what is no longer so",
        test: RuleTest::Changed {
            change: mutations::more_commits,
            holds: |_, before, after| match (before, after) {
                (Decision::Review(before), Decision::Review(after)) => {
                    let (now, then) = (after.staleness, before.staleness);
                    violated_if((now as u8) < then as u8, || {
                        format!("{} now, {} before", now.name(), then.name())
                    })
                }
                _ => NotApplicable,
            },
            counts_abstention: false,
        },
    },
];

fn quotes<const N: usize>(texts: [&String; N]) -> RuleResult {
    match texts.into_iter().find_map(|text| injected_text::unfenced_instruction(text)) {
        Some(line) => Violated(format!("it passes on as a line of its own what another one wrote: {line:?}")),
        None => Holds,
    }
}

/// No cap is more than any.
fn turns(budget: &TurnBudget) -> u32 {
    budget.max_turns.unwrap_or(u32::MAX)
}

fn became(before: &Verdict, after: &Verdict) -> String {
    format!("the verdict was {}, and is {}", before.name(), after.name())
}

fn real_evidence(signals: &[SignalView], evidence: &[Evidence]) -> RuleResult {
    let is_known = |seq: Seq| signals.iter().any(|signal| signal.seq == seq);
    for evidence in evidence {
        if evidence.channel == SignalSource::ToolOutput {
            return Violated(format!("it rests on what a tool printed: {:?}", evidence.text));
        }
        if let Some(seq) = evidence.seq.filter(|seq| !is_known(*seq)) {
            return Violated(format!("it rests on signal {seq}, which was not there"));
        }
    }
    Holds
}

fn in_parts(action: &SplitAction) -> impl Iterator<Item = &ObjectiveId> {
    let parts = match action {
        SplitAction::Split { sub_phases } => sub_phases.as_slice(),
        SplitAction::Keep | SplitAction::AskPerson { .. } => &[],
    };
    parts.iter().flat_map(|part| &part.objectives)
}
