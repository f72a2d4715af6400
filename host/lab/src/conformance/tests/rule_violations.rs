//! Policies as functions: one that keeps every rule, and for each rule one that breaks it alone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_core::Seq;
use baton_core::decision::{
    Assessment, CompactionAction, CompactionDecision, CompletionDecision, Decision, Evidence, Fault, Finding,
    HandoffDraft, OffloadingDecision, PromptDraft, RecoveryAction, RecoveryDecision, ReviewDecision,
    SplitAction, SplitDecision, Staleness, SubPhase, SuccessorKind, TurnBudget, Verdict, WorkStyle,
};
use baton_core::facts::SignalSource;
use baton_core::observation::{
    AssessTrigger, Capability, ObjectiveStatus, PolicyQuery, PolicyRequest, ReviewObservation, SplitTrigger,
    SplittingObservation,
};
use baton_core::workflow::SplitTime;
use baton_engine::Evaluation;

use super::super::report::ConformanceTally;
use super::super::rules::RULES;
use super::super::{ConformancePlan, ConformanceReport, check_with};

const PLAN: ConformancePlan = ConformancePlan { seed: 5, questions: 210 };

fn report_of(
    decides: &[Capability],
    ask: impl Fn(&PolicyRequest) -> Result<Decision, Fault> + Sync,
) -> ConformanceReport {
    let evaluate = |question: &PolicyRequest| Evaluation { fuel: 10, ..evaluation(ask(question)) };
    report(check_with(&evaluate, decides, PLAN, |_| ()))
}

fn evaluation(result: Result<Decision, Fault>) -> Evaluation {
    Evaluation {
        result: result.map(Some),
        fuel: 0,
        logs: Vec::new(),
        logs_dropped: 0,
        artifacts: Vec::new(),
        nested: Vec::new(),
    }
}

fn report(tally: ConformanceTally) -> ConformanceReport {
    let digest = &baton_core::Digest::of("a policy");
    tally.into_report(PLAN, (&baton_engine::DecisionLimits::default()).into(), digest, digest, digest)
}

fn broken(report: &ConformanceReport) -> Vec<&str> {
    report.broken().map(|rule| rule.name.as_str()).collect()
}

const EXHAUSTION: &[Capability] = &[Capability::Exhaustion];
const COMPACTION: &[Capability] = &[Capability::Compaction];
const SCOPE: &[Capability] = &[Capability::Splitting, Capability::Budgeting];
const HANDOFF: &[Capability] = &[Capability::Prompting, Capability::Handoff, Capability::Review];

const WHY: &str = "it is so";

fn full(used_tokens: Option<u64>) -> bool {
    used_tokens.is_some_and(|used| used > 100_000)
}

/// Decides something of its own wherever it may, so that no rule is kept by keeping still.
fn good(question: &PolicyRequest) -> Decision {
    let reason = WHY.to_owned();
    match &question.query {
        PolicyQuery::Exhaustion(seen) => {
            let over = matches!(seen.occasion, AssessTrigger::PromptEnded | AssessTrigger::SessionEnded);
            let is_full = full(seen.session.occupancy.used_tokens);
            let verdict = match (is_full, over) {
                (true, _) => Verdict::Exhausted,
                (false, true) => Verdict::Answered,
                (false, false) => Verdict::Healthy,
            };
            let spoken = seen.signals.iter().find(|signal| signal.channel != SignalSource::ToolOutput);
            let evidence = spoken.map(|signal| Evidence {
                channel: signal.channel,
                seq: Some(signal.seq),
                text: String::new(),
            });
            Decision::Exhaustion(Assessment {
                verdict,
                evidence: evidence.into_iter().collect(),
                warning: is_full.then(|| WHY.to_owned()),
                reason,
            })
        }
        PolicyQuery::Completion(seen) => {
            let done = seen.session.objectives.iter().map(|objective| objective.id.clone()).collect();
            Decision::Completion(CompletionDecision { done, evidence: Vec::new(), reason })
        }
        PolicyQuery::Recovery(_) => {
            Decision::Recovery(RecoveryDecision { action: RecoveryAction::Nudge, reason })
        }
        PolicyQuery::Compaction(seen) => {
            let action = match full(seen.session.occupancy.used_tokens) {
                true => CompactionAction::HandOff,
                false => CompactionAction::Keep,
            };
            Decision::Compaction(CompactionDecision { action, reason })
        }
        PolicyQuery::Offloading(seen) => {
            let items = seen.items.iter().take(1).map(|item| item.id.clone()).collect();
            Decision::Offloading(OffloadingDecision { items, reason })
        }
        PolicyQuery::Splitting(seen) => {
            Decision::Splitting(SplitDecision { action: halves(seen, true), reason })
        }
        PolicyQuery::Budgeting(seen) => Decision::Budgeting(TurnBudget {
            max_turns: seen.base_turns.map(|base| base.saturating_mul(2)),
            reason,
        }),
        PolicyQuery::Prompting(_) => {
            Decision::Prompting(PromptDraft { prompt: "Do it.".to_owned(), left_out: Vec::new(), reason })
        }
        PolicyQuery::Handoff(_) => Decision::Handoff(HandoffDraft {
            document: "# Handoff".to_owned(),
            index: String::new(),
            continuer: SuccessorKind::Successor,
            left_out: Vec::new(),
            reason,
        }),
        PolicyQuery::Review(seen) => Decision::Review(judged(seen)),
    }
}

/// Two parts, where a split may be; of what is open, or of everything.
fn halves(seen: &SplittingObservation, open_alone: bool) -> SplitAction {
    let wanted = |status| !open_alone || status != ObjectiveStatus::Done;
    let objectives = seen.objectives.iter().filter(|objective| wanted(objective.status));
    let mut ids: Vec<_> = objectives.map(|objective| objective.id.clone()).collect();
    if ids.len() < 2 || seen.phase.depth >= seen.limits.depth || is_left_whole(seen) {
        return SplitAction::Keep;
    }
    let rest = ids.split_off(1);
    let part = |objectives| SubPhase {
        title: "part".to_owned(),
        objectives,
        order: WorkStyle::Direct,
        max_turns: None,
    };
    SplitAction::Split { sub_phases: vec![part(ids), part(rest)] }
}

/// The workflow says that it is not split, and no agent asks for it.
fn is_left_whole(seen: &SplittingObservation) -> bool {
    seen.wish == SplitTime::Never && seen.occasion != SplitTrigger::Requested
}

fn judged(seen: &ReviewObservation) -> ReviewDecision {
    let faults = seen.missing_files.len() + seen.secrets.len();
    let finding = Finding { cost: 5, line: None, text: WHY.to_owned() };
    let score = 100u32.saturating_sub(5 * faults as u32);
    ReviewDecision {
        score,
        findings: vec![finding; faults],
        staleness: if seen.commits_since > 10 { Staleness::Stale } else { Staleness::Fresh },
        accepted: score >= 70,
        reason: WHY.to_owned(),
    }
}

/// The same as the good one, but for one kind of answer.
fn except(
    change: impl Fn(&PolicyRequest, &mut Decision) + Sync,
) -> impl Fn(&PolicyRequest) -> Result<Decision, Fault> + Sync {
    move |question| {
        let mut decision = good(question);
        change(question, &mut decision);
        Ok(decision)
    }
}

fn report_of_fault(fault: Fault) -> ConformanceReport {
    report_of(&Capability::ALL, move |_| Err(fault.clone()))
}

/// For each rule, what comes of a policy that breaks it.
fn culprit(rule: &str) -> ConformanceReport {
    match rule {
        "no-trap" => report_of_fault(Fault::Trap { message: "unreachable".to_owned() }),
        "within-limits" => report_of_fault(Fault::OutOfFuel { limit: 20 }),
        "under-caps" => report_of_fault(Fault::TooLarge { limit_bytes: 1024 }),
        "well-formed" => report_of_fault(Fault::Invalid { message: "a score of 101".to_owned() }),
        "same-again" => {
            let calls = AtomicU64::new(0);
            let evaluate = |question: &PolicyRequest| Evaluation {
                fuel: calls.fetch_add(1, Ordering::Relaxed),
                ..evaluation(Ok(good(question)))
            };
            report(check_with(&evaluate, &Capability::ALL, PLAN, |_| ()))
        }
        "makes-sense" => report_of(
            HANDOFF,
            except(|_, decision| {
                if let Decision::Prompting(brief) = decision {
                    brief.prompt.clear();
                }
            }),
        ),
        "gives-reason" => report_of(
            SCOPE,
            except(|_, decision| {
                if let Decision::Budgeting(budget) = decision {
                    budget.reason = " ".to_owned();
                }
            }),
        ),
        "real-evidence" => report_of(
            EXHAUSTION,
            except(|_, decision| {
                if let Decision::Exhaustion(answer) = decision {
                    answer.evidence.push(Evidence {
                        channel: SignalSource::Terminal,
                        seq: Some(Seq(u64::MAX)),
                        text: String::new(),
                    });
                }
            }),
        ),
        "deaf-to-tools" => report_of(
            EXHAUSTION,
            except(|question, decision| {
                let said = question.texts.first().and_then(|text| text.body()).unwrap_or_default();
                if let Decision::Exhaustion(answer) = decision
                    && said.ends_with("usage limit reached, rate limit, 429")
                {
                    answer.verdict = Verdict::Failed;
                }
            }),
        ),
        "unknown-attributes" => report_of(
            HANDOFF,
            except(|question, decision| {
                if let (PolicyQuery::Handoff(seen), Decision::Handoff(answer)) = (&question.query, decision) {
                    answer.document = format!("{:?}", seen.attributes);
                }
            }),
        ),
        "quotes-others" => report_of(
            HANDOFF,
            except(|question, decision| {
                if let (PolicyQuery::Handoff(seen), Decision::Handoff(answer)) = (&question.query, decision) {
                    answer.document = format!("Gotchas:\n{}", seen.gotchas.join("\n"));
                }
            }),
        ),
        "full-stays-full" => report_of(
            EXHAUSTION,
            except(|question, decision| {
                if let (PolicyQuery::Exhaustion(seen), Decision::Exhaustion(answer)) =
                    (&question.query, decision)
                {
                    answer.warning = seen
                        .session
                        .occupancy
                        .used_tokens
                        .filter(|used| *used < 1000)
                        .map(|_| WHY.to_owned());
                }
            }),
        ),
        "room-stays-needed" => report_of(
            COMPACTION,
            except(|question, decision| {
                if let (PolicyQuery::Compaction(seen), Decision::Compaction(answer)) =
                    (&question.query, decision)
                    && seen.session.occupancy.used_tokens.is_some_and(|used| used % 2 == 1)
                {
                    answer.action = CompactionAction::Keep;
                }
            }),
        ),
        "more-turns-for-more" => report_of(
            SCOPE,
            except(|question, decision| {
                if let (PolicyQuery::Budgeting(seen), Decision::Budgeting(answer)) =
                    (&question.query, decision)
                {
                    answer.max_turns = seen.base_turns.map(|base| u32::MAX - base);
                }
            }),
        ),
        "done-adds-nothing" => report_of(
            SCOPE,
            except(|question, decision| {
                if let (PolicyQuery::Budgeting(seen), Decision::Budgeting(answer)) =
                    (&question.query, decision)
                {
                    answer.max_turns = Some(seen.base_turns.unwrap_or(0) + seen.objectives.len() as u32);
                }
            }),
        ),
        "score-adds-up" => report_of(
            HANDOFF,
            except(|_, decision| {
                if let Decision::Review(review) = decision {
                    review.score /= 2;
                }
            }),
        ),
        "worse-is-no-better" => report_of(
            HANDOFF,
            except(|question, decision| {
                if let (PolicyQuery::Review(seen), Decision::Review(review)) = (&question.query, decision) {
                    review.accepted = !seen.secrets.is_empty();
                }
            }),
        ),
        "no-younger" => report_of(
            HANDOFF,
            except(|question, decision| {
                if let (PolicyQuery::Review(seen), Decision::Review(review)) = (&question.query, decision) {
                    let odd = seen.commits_since % 2 == 1;
                    review.staleness = if odd { Staleness::VeryStale } else { Staleness::Fresh };
                }
            }),
        ),
        // What brings work back that is done makes no sense to core either, which holds for this one alone.
        "done-stays-done" => {
            let report = report_of(
                SCOPE,
                except(|question, decision| {
                    if let (PolicyQuery::Splitting(seen), Decision::Splitting(answer)) =
                        (&question.query, decision)
                    {
                        answer.action = halves(seen, false);
                    }
                }),
            );
            let implied = ["makes-sense", "done-adds-nothing"];
            let rules = report.rules.iter().filter(|rule| !implied.contains(&rule.name.as_str()));
            ConformanceReport { rules: rules.cloned().collect(), ..report }
        }
        other => panic!("nobody breaks the rule {other}"),
    }
}

#[test]
fn who_keeps_every_rule_is_fit() {
    let report = report_of(&Capability::ALL, |question| Ok(good(question)));
    assert_eq!(broken(&report), Vec::<&str>::new(), "{:#?}", report.broken().next());
    assert!(report.passed());
    assert_eq!(report.asked, PLAN.questions);
    assert!(report.rules.iter().all(|rule| rule.asked > 5), "every rule is asked: {:#?}", report.rules);
    assert_eq!(report.functions.len(), 10);
}

#[test]
fn each_rule_finds_whoever_breaks_it_and_nobody_else() {
    for rule in RULES {
        let report = culprit(rule.name);
        assert_eq!(broken(&report), [rule.name]);
        assert!(!report.passed());
        let found = report.broken().next().expect("it was found");
        let example = found.counterexample.as_ref().expect("it is shown");
        assert!(!example.why.is_empty());
        let texts = serde_json::to_string(&report).expect("a report can be written");
        assert_eq!(serde_json::from_str::<ConformanceReport>(&texts).expect("and read"), report);
    }
}

#[test]
fn who_leaves_too_many_questions_unanswered_is_asked_no_more() {
    let report = report_of_fault(Fault::Watchdog { limit_ms: 2000 });
    assert!(report.asked < PLAN.questions && !report.passed());
}

#[test]
fn a_report_is_the_same_each_time() {
    let odd = |question: &PolicyRequest| match (question.texts.len(), good(question)) {
        (1, _) => Err(Fault::Trap { message: "odd".to_owned() }),
        (_, decision) => Ok(decision),
    };
    assert_eq!(report_of(&Capability::ALL, odd), report_of(&Capability::ALL, odd));
}

/// One part for each top folder of the files that objectives name; it abstains from everything else.
fn by_folder(question: &PolicyRequest) -> Option<Decision> {
    let PolicyQuery::Splitting(seen) = &question.query else { return None };
    let open = seen.objectives.iter().filter(|objective| objective.status != ObjectiveStatus::Done);
    let mut parts: BTreeMap<&str, SubPhase> = BTreeMap::new();
    for objective in open {
        let first = objective.expected_files.first().and_then(|file| file.path.split_once('/'));
        let (folder, _) = first.unwrap_or(("other files", ""));
        let part = parts.entry(folder).or_insert_with(|| SubPhase {
            title: folder.to_owned(),
            objectives: Vec::new(),
            order: WorkStyle::Direct,
            max_turns: None,
        });
        part.objectives.push(objective.id.clone());
    }
    let is_shallow = seen.phase.depth < seen.limits.depth && !is_left_whole(seen);
    let fits = (2..=seen.limits.parts as usize).contains(&parts.len()) && is_shallow;
    let sub_phases = parts.into_values().collect();
    fits.then(|| {
        Decision::Splitting(SplitDecision {
            action: SplitAction::Split { sub_phases },
            reason: WHY.to_owned(),
        })
    })
}

#[test]
fn a_splitter_by_folder_decides_some_of_the_questions() {
    let answers = |result: Option<Decision>| Evaluation {
        result: Ok(result),
        fuel: 10,
        logs: Vec::new(),
        logs_dropped: 0,
        artifacts: Vec::new(),
        nested: Vec::new(),
    };
    let evaluate = |question: &PolicyRequest| answers(by_folder(question));
    let found = report(check_with(&evaluate, &[Capability::Splitting], PLAN, |_| ()));
    assert!(found.passed(), "{:?}", broken(&found));
    assert_eq!(found.mute().count(), 0);
    let of = |name: &str| found.rules.iter().find(|rule| rule.name == name).expect("it is a rule");
    assert!(of("gives-reason").asked >= 5, "{}", of("gives-reason").asked);
    assert!(of("makes-sense").asked >= 5 && of("done-stays-done").asked > 0);

    // Of one that abstains each time, the report has the rules that judged nothing.
    let abstains = |_: &PolicyRequest| answers(None);
    let silent = report(check_with(&abstains, &[Capability::Splitting], PLAN, |_| ()));
    assert_eq!(silent.mute().map(|one| one.function.as_str()).collect::<Vec<_>>(), ["splitting.decide"]);
    let untested: Vec<&str> = silent.untested().map(|rule| rule.name.as_str()).collect();
    assert_eq!(
        untested,
        ["makes-sense", "gives-reason", "unknown-attributes", "done-stays-done", "done-adds-nothing"]
    );
}
