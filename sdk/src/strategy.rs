//! Strategies for `proptest`: whole questions of every shape that the host may put, from empty to full, with texts in scripts
//! of all lengths. Behind the feature `proptest`; what is asked is bounded as the host bounds it.
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
//! use baton_sdk::{rules, strategy};
//! use proptest::prelude::*;
//!
//! proptest! {
//!     // In a test file: #[test]
//!     fn no_rule_is_broken(case in strategy::compaction()) {
//!         rules::check::<Calm>(&case);
//!     }
//! }
//! # no_rule_is_broken();
//! ```

mod parts;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::exhaustion::{Occasion, QuotaCause, Verdict};
use crate::handoff::{Artifact, Attempt, Commit, Kind, Verification};
use crate::offloading::{Item, ItemKind};
use crate::splitting::{Group, Limits, Request, Time};
use crate::{
    Ask, Case, budgeting, compaction as room, completion, exhaustion as health, handoff as work, offloading,
    recovery, review, sample, splitting as scope,
};

use crate::json::records::VERDICTS;
use crate::sample::NOON;
use parts::{attributes, changed_file, git, line, objectives, or_later, phase, prose, session, turn, words};

/// `exhaustion.assess`: sessions that work, hang, have ended or were refused, with up to eight signals of every channel.
///
/// ```
/// use baton_sdk::{Ask, strategy};
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let case = strategy::exhaustion().new_tree(&mut TestRunner::deterministic()).unwrap().current();
/// assert!(matches!(case.ask, Ask::Assess(_)));
/// ```
pub fn exhaustion() -> impl Strategy<Value = Case> {
    session_seen().prop_map(|(seen, window)| Case::new(Ask::Assess(seen)).with_text(window))
}

fn session_seen() -> impl Strategy<Value = (health::Observation, String)> {
    use Occasion::*;
    let occasion = or_later(20, vec![Turn, Signal, PromptEnded, SessionEnded, Heartbeat], Other);
    let counts = (0..100_000_u64, 0..50_u32, 0..50_u32, 0..6_u32, 0..200_u32);
    let handoff = (vec("[a-z]{1,8}", 0..4), any::<bool>(), option::weighted(0.2, parts::reported_handoff()));
    let rare = || prop::bool::weighted(0.1);
    let rest = (rare(), rare(), option::weighted(0.1, line()), rare());
    let said = (counts, handoff);
    (occasion, session(), phase(), parts::signals(), said, objectives(), (git(), rest), attributes())
        .prop_map(
            |(occasion, session, phase, (signals, window), said, objectives, (git, rest), attributes)| {
                let (asks_to_split, review_missing, report_not_taken, imported) = rest;
                let (counts, (others_open, handoff_reported, handoff)) = said;
                let (answer_bytes, files_changed, files_missing, nudges, phase_files_changed) = counts;
                let seen = health::Observation {
                    occasion,
                    session,
                    phase,
                    signals,
                    window: 0,
                    answer_bytes,
                    files_changed,
                    phase_files_changed,
                    files_missing,
                    objectives,
                    others_open,
                    handoff_reported,
                    handoff: handoff.filter(|_| handoff_reported),
                    nudges,
                    asked_at_ms: NOON,
                    utc_offset_minutes: 120,
                    git,
                    split_request: asks_to_split.then(|| requested(&[])),
                    review_missing,
                    report_not_taken,
                    imported,
                    attributes,
                };
                (seen, window)
            },
        )
}

/// `completion.decide`: prompts that were answered, whatever shows of their objectives.
///
/// ```
/// use baton_sdk::{Ask, strategy};
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let case = strategy::completion().new_tree(&mut TestRunner::deterministic()).unwrap().current();
/// assert!(matches!(case.ask, Ask::Complete(_)));
/// ```
pub fn completion() -> impl Strategy<Value = Case> {
    session_seen().prop_map(|(session, window)| {
        let session = health::Observation { occasion: Occasion::PromptEnded, ..session };
        let seen = completion::Observation { session, assessment: sample::assessment() };
        Case::new(Ask::Complete(seen)).with_text(window)
    })
}

/// `recovery.decide`: sessions that ended in every way but well, and prompts whose objectives are not done.
///
/// ```
/// use baton_sdk::{Ask, strategy};
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let case = strategy::recovery().new_tree(&mut TestRunner::deterministic()).unwrap().current();
/// assert!(matches!(case.ask, Ask::Recover(_)));
/// ```
pub fn recovery() -> impl Strategy<Value = Case> {
    use Verdict::*;
    let resets = option::of(1_780_000_000_000..1_790_000_000_000_u64);
    let cause = select(vec![QuotaCause::Usage, QuotaCause::Billing, QuotaCause::Rate, QuotaCause::Overload]);
    let quota =
        (cause, resets).prop_map(|(cause, resets_at_ms)| Quota(health::Quota { cause, resets_at_ms }));
    let plain: Vec<Verdict> = VERDICTS.into_iter().filter(|verdict| *verdict != Healthy).collect();
    let verdict = prop_oneof![6 => select(plain), 1 => quota];
    (session_seen(), verdict, prose()).prop_map(|((session, window), verdict, reason)| {
        let occasion = if verdict == Stalled { Occasion::Heartbeat } else { Occasion::PromptEnded };
        let session = health::Observation { occasion, ..session };
        let completion = (verdict == Answered).then(|| completion::Decision {
            done: Vec::new(),
            evidence: Vec::new(),
            reason: reason.clone(),
        });
        let assessment = health::Assessment { verdict, reason, ..sample::assessment() };
        let other_roles = vec!["senior".to_owned()];
        Case::new(Ask::Recover(recovery::Observation { session, assessment, completion, other_roles }))
            .with_text(window)
    })
}

/// `compaction.decide`: windows of every size and fill, known or not.
///
/// ```
/// use baton_sdk::{Ask, strategy};
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let case = strategy::compaction().new_tree(&mut TestRunner::deterministic()).unwrap().current();
/// assert!(matches!(case.ask, Ask::Compaction(_)));
/// ```
pub fn compaction() -> impl Strategy<Value = Case> {
    (session(), phase(), option::of(1..8_u32), attributes()).prop_map(
        |(session, phase, refilled_within_turns, attributes)| {
            Case::new(Ask::Compaction(room::Observation {
                session,
                phase,
                refilled_within_turns,
                attributes,
            }))
        },
    )
}

/// `offloading.decide`: up to twelve items, small and large.
///
/// ```
/// use baton_sdk::{Ask, strategy};
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let case = strategy::offloading().new_tree(&mut TestRunner::deterministic()).unwrap().current();
/// assert!(matches!(case.ask, Ask::Offload(_)));
/// ```
pub fn offloading() -> impl Strategy<Value = Case> {
    let kind = or_later(20, vec![ItemKind::ToolResult, ItemKind::ToolInput], ItemKind::Other);
    let item = (kind, 0..200_000_u64);
    (session(), phase(), vec(item, 1..12), attributes()).prop_map(|(session, phase, items, attributes)| {
        let item = |(place, (kind, tokens)): (usize, _)| Item { id: format!("item-{place}"), kind, tokens };
        let items = items.into_iter().enumerate().map(item).collect();
        Case::new(Ask::Offload(offloading::Observation { session, phase, items, attributes }))
    })
}

/// `splitting.decide`: phases of no objective to forty, in every state, on every occasion.
///
/// ```
/// use baton_sdk::{Ask, strategy};
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let case = strategy::splitting().new_tree(&mut TestRunner::deterministic()).unwrap().current();
/// assert!(matches!(case.ask, Ask::Split(_)));
/// ```
pub fn splitting() -> impl Strategy<Value = Case> {
    scope().prop_map(|seen| Case::new(Ask::Split(seen)))
}

/// `budgeting.decide`: the same phases, with turns of the table.
///
/// ```
/// use baton_sdk::{Ask, strategy};
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let case = strategy::budgeting().new_tree(&mut TestRunner::deterministic()).unwrap().current();
/// assert!(matches!(case.ask, Ask::Budget(_)));
/// ```
pub fn budgeting() -> impl Strategy<Value = Case> {
    let role = select(vec!["executor", "reviewer", "lead"]);
    let spent = (0..4_u32, 0..40_u32, 0..5_u32, option::weighted(0.9, 1..2_000_u32)).prop_map(
        |(objectives_done, files_changed, idle_grants, ceiling)| budgeting::Spent {
            objectives_done,
            files_changed,
            idle_grants,
            ceiling,
        },
    );
    let turns = (option::weighted(0.9, 1..200_u32), option::weighted(0.5, spent));
    (scope(), role, turns).prop_map(|(seen, role, (base_turns, spent))| {
        let scope::Observation { phase, objectives, workspace_files, attributes, .. } = seen;
        let role = role.into();
        let seen = budgeting::Observation {
            phase,
            role,
            objectives,
            workspace_files,
            base_turns,
            spent,
            attributes,
        };
        Case::new(Ask::Budget(seen))
    })
}

fn scope() -> impl Strategy<Value = scope::Observation> {
    use scope::Occasion::*;
    let occasion = or_later(20, vec![PhaseStart, Boundary, Requested, OutOfContinuations], Other);
    let numbers = (0..200_u32, 0..10_000_u32, option::of(select(vec![32_000_u64, 200_000, 1_000_000])));
    let limits = (2..10_u32, 0..4_u32).prop_map(|(parts, depth)| Limits { parts, depth });
    let allowed = (limits, select(vec![Time::Ahead, Time::During, Time::Never]));
    (occasion, phase(), objectives(), numbers, vec(turn(), 0..6), git(), (allowed, attributes())).prop_map(
        |(occasion, mut phase, objectives, numbers, recent, git, ((limits, wish), attributes))| {
            phase.progress = parts::progress(&objectives);
            let (files_changed, workspace_files, window_tokens) = numbers;
            let requested = (occasion == Requested).then(|| requested(&objectives));
            scope::Observation {
                occasion,
                phase,
                objectives,
                requested,
                limits,
                wish,
                files_changed,
                workspace_files,
                recent,
                window_tokens,
                git,
                attributes,
            }
        },
    )
}

/// What an agent would ask for: two groups, the second with everything but the first objective.
fn requested(objectives: &[crate::types::Objective]) -> Request {
    let (first, rest) = objectives.split_at(objectives.len().min(1));
    let group = |title: &str, of: &[crate::types::Objective]| Group {
        title: title.into(),
        objectives: of.iter().map(|objective| objective.id.clone()).collect(),
    };
    Request { groups: vec![group("first", first), group("rest", rest)], rationale: "It is too much.".into() }
}

/// `prompting.compose`: prompts of every kind, in sessions that know much and little.
///
/// ```
/// use baton_sdk::{Ask, strategy};
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let case = strategy::prompting().new_tree(&mut TestRunner::deterministic()).unwrap().current();
/// assert!(matches!(case.ask, Ask::Brief(_)));
/// ```
pub fn prompting() -> impl Strategy<Value = Case> {
    continued(Ask::Brief)
}

/// `handoff.compose`: sessions with much and little to hand on.
///
/// ```
/// use baton_sdk::{Ask, strategy};
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let case = strategy::handoff().new_tree(&mut TestRunner::deterministic()).unwrap().current();
/// assert!(matches!(case.ask, Ask::Compose(_)));
/// ```
pub fn handoff() -> impl Strategy<Value = Case> {
    continued(Ask::Compose)
}

fn continued(ask: fn(work::Observation) -> Ask) -> impl Strategy<Value = Case> {
    use Kind::*;
    let known = vec![First, Next, Continuing, ReOriented, Nudged, Reviewing, Merging];
    let kind = or_later(20, known, Other);
    let tried = (prose(), prose(), any::<bool>()).prop_map(|(approach, outcome, by_person)| Attempt {
        approach,
        outcome,
        by_person,
    });
    let artifact =
        (line(), 1..9_u32, line()).prop_map(|(name, version, summary)| Artifact { name, version, summary });
    let commit = (line(), any::<bool>()).prop_map(|(subject, by_session)| Commit {
        id: "0123abc".into(),
        subject,
        by_session,
    });
    let facts = (
        vec(changed_file(), 0..20),
        vec(tried, 0..6),
        vec(artifact, 0..6),
        vec(commit, 0..6),
        option::of(parts::reported_handoff()),
        option::of(any::<bool>()),
        vec(prose(), 0..4),
    );
    let place = (parts::place(), option::weighted(0.9, prose()));
    (kind, session(), phase(), objectives(), facts, place, words(), words(), git()).prop_map(
        move |(kind, session, mut phase, objectives, facts, place, last_output, findings, git)| {
            phase.progress = parts::progress(&objectives);
            let (changed_files, attempts, artifacts, commits, reported, passed, gotchas) = facts;
            let (place, because) = place;
            let verification = passed.map(|passed| Verification {
                passed,
                ended_at_ms: NOON - 120_000,
                artifact: Some("verify-20".into()),
            });
            let seen = work::Observation {
                kind,
                focus: objectives.iter().take(1).map(|objective| objective.id.clone()).collect(),
                phase,
                session,
                objectives,
                goal: "A parser for the little language.".into(),
                changed_files,
                decisions: attempts.clone(),
                attempts,
                artifacts,
                newest_handoff: place.newest_handoff,
                inbox_path: ".baton/r1/inbox".into(),
                because,
                last_output: Some(0),
                findings: Some(1),
                git,
                asked_at_ms: NOON,
                patterns: gotchas.clone(),
                gotchas,
                commands: Vec::new(),
                reads: Vec::new(),
                lessons: Vec::new(),
                entry_points: Vec::new(),
                context_files: Vec::new(),
                reported,
                commits,
                verification,
                remarks: Vec::new(),
                facts_path: Some(".baton/r1/facts/20.md".into()),
                beyond: place.beyond,
                words_withheld: place.words_withheld,
                plans_first: place.plans_first,
                as_lead: place.as_lead,
                compacted: place.compacted,
                reports_as: place.reports_as,
                result_file: place.result_file,
                result_files: place.result_files,
                conflict: place.conflict,
                attributes: Vec::new(),
            };
            Case::new(ask(seen)).with_text(last_output).with_text(findings)
        },
    )
}

/// `review.assess`: documents good and bad.
///
/// ```
/// use baton_sdk::{Ask, strategy};
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let case = strategy::review().new_tree(&mut TestRunner::deterministic()).unwrap().current();
/// assert!(matches!(case.ask, Ask::Review(_)));
/// ```
pub fn review() -> impl Strategy<Value = Case> {
    let missing = prop_oneof![9 => vec(line(), 0..5), 1 => vec(line(), 200..300)];
    let found = (missing, vec(select(vec!["api-key".to_owned(), "password".to_owned()]), 0..2));
    let since = (0..40_u32, any::<bool>());
    (words(), found, since, vec("[a-z]{1,8}", 0..6)).prop_map(|(document, found, since, open_objectives)| {
        let ((missing_files, secrets), (commits_since, diverged)) = (found, since);
        Case::new(Ask::Review(review::Observation {
            document: 0,
            missing_files,
            secrets,
            commits_since,
            diverged,
            open_objectives,
            attributes: Vec::new(),
        }))
        .with_text(document)
    })
}
