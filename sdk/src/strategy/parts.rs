//! The parts that questions are made of: sessions, phases, signals, words.

use std::fmt::Debug;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::handoff::{
    Beyond, Conflict, HandoffFinding, HandoffReference, ReportedHandoff, Staleness, Withheld,
};
use crate::types::{
    Attribute, Budget, Capabilities, ChangedFile, Channel, Exit, ExpectedFile, FileState, GitFacts,
    Iteration, Objective, ObjectiveStatus, Occupancy, OccupancySource, Origin, Phase, Progress, Session,
    SessionState, Signal, Span, StatusReport, Turn,
};

/// What agents, providers and tools say, among other things; most of it means nothing.
const SAID: [&str; 8] = [
    "400: prompt is too long: 210000 tokens > 200000 maximum",
    "You've hit your usage limit. Try again at 3:45 PM.",
    "Error 429: rate limit exceeded, retry after 20s",
    "context window exceeded",
    "Overloaded",
    "I am done: the lexer is written and its tests pass.",
    "running 12 tests",
    "",
];

/// One line in some script, often empty, never long.
pub(super) fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just(String::new()),
        4 => "[a-zA-Z0-9 .,/_-]{1,60}",
        2 => "\\PC{0,40}",
    ]
}

/// What people and agents write who have no cap: mostly a line, now and then pages without a break.
pub(super) fn prose() -> impl Strategy<Value = String> {
    let long = (select(vec!["x", "ä", "語 ", "😀"]), 0..2_000_usize);
    prop_oneof![6 => line(), 1 => long.prop_map(|(letter, times)| letter.repeat(times))]
}

/// A word that is known, so many times as often as one of a later host.
pub(super) fn or_later<T: Clone + Debug + 'static>(
    times: u32,
    known: Vec<T>,
    other: fn(String) -> T,
) -> impl Strategy<Value = T> {
    prop_oneof![times => select(known), 1 => line().prop_map(other)]
}

/// Some text: empty, a few lines, markdown, a wall without a break.
pub(super) fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just(String::new()),
        4 => vec(line(), 0..30).prop_map(|lines| lines.join("\n")),
        2 => (line(), line()).prop_map(|(a, b)| format!("# Handoff\n\n## Done\n\n- {a}\n\n## Immediate next action\n\n- {b}\n")),
        1 => (select(vec!["x", "ä", "語", "😀"]), 0..12_000_usize).prop_map(|(letter, times)| letter.repeat(times)),
    ]
}

/// Up to eight signals, and the window that their texts stand in.
pub(super) fn signals() -> impl Strategy<Value = (Vec<Signal>, String)> {
    use Channel::*;
    let channel = select(vec![AgentEvent, ProviderError, AgentText, Terminal, ToolOutput]);
    let text = prop_oneof![3 => select(SAID.to_vec()).prop_map(str::to_owned), 1 => line()];
    let code = option::weighted(
        0.7,
        select(vec!["prompt_too_long", "rate_limit", "max_turns", "end_turn", "overloaded_error"]),
    );
    let status = option::of(select(vec![400_u16, 413, 429, 500, 529]));
    let resets = option::of(1_780_315_200_000..1_780_400_000_000_u64);
    let one = (channel, text, code, status, resets, 0..900_000_u64, 0..4_u32, any::<bool>());
    vec(one, 0..9).prop_map(|said| {
        let mut window = String::new();
        let mut signals = Vec::new();
        for (place, (channel, text, code, status, resets_at_ms, age_ms, prompt, retrying)) in (40..).zip(said)
        {
            let start = window.len() as u32;
            window.push_str(&text);
            signals.push(Signal {
                seq: place,
                channel,
                age_ms,
                prompt,
                code: code.map(str::to_owned),
                status,
                resets_at_ms,
                retrying,
                text: Span { start, end: window.len() as u32 },
            });
            window.push('\n');
        }
        (signals, window)
    })
}

fn occupancy() -> impl Strategy<Value = Occupancy> {
    use OccupancySource::*;
    let window = option::weighted(0.9, select(vec![8_000_u64, 32_000, 128_000, 200_000, 1_000_000]));
    // In parts of a thousand: a window may be said to be fuller than it is large.
    let used = option::weighted(0.9, 0..1_200_u64);
    (window, used, select(vec![Agent, LastCall, Estimate]), 0..600_000_u64).prop_map(
        |(window_tokens, used, source, age_ms)| {
            let used_tokens = used.map(|part| window_tokens.unwrap_or(200_000) / 1_000 * part);
            let source = if used_tokens.is_some() { source } else { Unknown };
            Occupancy { used_tokens, window_tokens, source, age_ms }
        },
    )
}

pub(super) fn turn() -> impl Strategy<Value = Turn> {
    let tokens = (option::of(0..200_000_u64), 0..8_000_u64);
    (1..60_u32, 1..6_u32, tokens, 0..12_u32, 0..6_u32, 0..200_000_u64, 0..20_000_u64).prop_map(
        |(
            ordinal,
            prompt,
            (used_tokens, output_tokens),
            tool_calls,
            rereads,
            tool_output_bytes,
            text_bytes,
        )| {
            Turn {
                ordinal,
                prompt,
                used_tokens,
                output_tokens,
                tool_calls,
                rereads,
                tool_output_bytes,
                text_bytes,
            }
        },
    )
}

pub(super) fn session() -> impl Strategy<Value = Session> {
    use SessionState::*;
    let known = vec![Starting, Idle, Working, WaitingApproval, WaitingQuota, Compacting, Ended];
    let state = or_later(20, known, Other);
    let who =
        (select(vec!["claude", "codex", "acp", "process"]), select(vec!["executor", "reviewer", "lead"]));
    let counts = (0..4_u32, 0..30_u32, 0..60_u32, option::of(1..60_u32), 0..4_u32, option::of(0..20_u32));
    let amounts = (0..9_000_000_u64, 0..400_000_u64, 0..3_600_000_u64, 0..40_000_000_u64);
    let exit = (option::of(0..128_i32), option::of(1..16_i32), any::<bool>());
    let exit = option::of(exit.prop_map(|(code, signal, by_host)| Exit { code, signal, by_host }));
    (who, state, 0..64_u8, occupancy(), counts, amounts, exit, vec(turn(), 0..8)).prop_map(
        |((agent, role), state, can, occupancy, counts, amounts, exit, recent)| {
            let (continuation, prompts, turns, max_turns, compactions, turns_since_compaction) = counts;
            let (billed_input_tokens, billed_output_tokens, idle_ms, active_ms) = amounts;
            Session {
                agent: agent.into(),
                role: role.into(),
                state,
                capabilities: Capabilities::from_bits_truncate(can),
                occupancy,
                continuation,
                prompts,
                turns,
                max_turns,
                compactions,
                turns_since_compaction,
                billed_input_tokens,
                billed_output_tokens,
                idle_ms,
                active_ms,
                exit,
                recent,
            }
        },
    )
}

pub(super) fn phase() -> impl Strategy<Value = Phase> {
    let mode = select(vec!["eco", "turbo", "standard", "thorough", "swarm"]);
    let budget = ((option::of(1..200_u32), 0..200_u32), (0..6_u32, 0..6_u32), (0..4_u32, 0..4_u32));
    let progress = (0..20_u32, 0..20_u32, 0..4_u32, 0..4_u32);
    let tree = option::of(select(vec!["20a".to_owned(), "20.merge".to_owned()]));
    let flags = (any::<bool>(), any::<bool>());
    (prose(), mode, 0..3_u32, budget, progress, flags, (origin(), option::of(iteration()), tree)).prop_map(
        |(title, mode, depth, budget, progress, (expects_files, complex), (origin, iteration, tree))| {
            let ((turns, turns_used), (continuations, continuations_used), (retries, retries_used)) = budget;
            let (done, open, failed, done_by_session) = progress;
            Phase {
                id: "20".into(),
                title,
                mode: mode.into(),
                depth,
                budget: Budget {
                    turns,
                    turns_used,
                    continuations,
                    continuations_used,
                    retries,
                    retries_used,
                },
                progress: Progress { done, open, failed, done_by_session },
                expects_files,
                accept: None,
                check: None,
                check_passed: None,
                depends_on: 0,
                origin,
                complex,
                iteration,
                tree,
            }
        },
    )
}

fn origin() -> impl Strategy<Value = Origin> {
    or_later(4, vec![Origin::Workflow, Origin::Split, Origin::Review, Origin::Merge], Origin::Other)
}

fn iteration() -> impl Strategy<Value = Iteration> {
    (1..6_u32, 0..6_u32).prop_map(|(ordinal, more)| Iteration { ordinal, at_most: ordinal + more })
}

/// None to forty objectives with ids of their own.
pub(super) fn objectives() -> impl Strategy<Value = Vec<Objective>> {
    use ObjectiveStatus::*;
    let status = || select(vec![Open, Open, InProgress, Done, Failed]);
    let report = (status(), prose(), any::<bool>(), proptest::option::of(0u32..9));
    let report = report.prop_map(|(status, note, by_session, changed_since)| {
        let changed_since = changed_since.filter(|_| status != Done);
        StatusReport { status, note, by_session, changed_since }
    });
    let path = "[a-z]{1,8}/[a-z]{1,8}\\.rs";
    let states = vec![FileState::Missing, FileState::Unchanged, FileState::Rewritten, FileState::Changed];
    let file = (path, select(states));
    let files = vec(file.prop_map(|(path, state)| ExpectedFile { path, state }), 0..4);
    let evidence = (files, option::of(any::<bool>()), option::of(report));
    let one = (prose(), status(), 0..5_u32, 0..12_u32, evidence);
    vec(one, 0..40).prop_map(|all| {
        let objective = |(place, (description, status, attempts, files, evidence)): (u32, _)| {
            let (expected_files, check_passed, reported): (_, Option<bool>, _) = evidence;
            let check = check_passed.map(|_| "sh check.sh".to_owned());
            Objective {
                id: format!("o{place}"),
                description,
                status,
                attempts,
                files,
                expected_files,
                check,
                check_passed,
                reported,
                done_by: None,
            }
        };
        (1..).zip(all).map(objective).collect()
    })
}

/// What these objectives come to.
pub(super) fn progress(objectives: &[Objective]) -> Progress {
    let count = |of: &[ObjectiveStatus]| {
        objectives.iter().filter(|objective| of.contains(&objective.status)).count() as u32
    };
    Progress {
        done: count(&[ObjectiveStatus::Done]),
        open: count(&[ObjectiveStatus::Open, ObjectiveStatus::InProgress]),
        failed: count(&[ObjectiveStatus::Failed]),
        done_by_session: 0,
    }
}

/// What an agent wrote for its successor.
pub(super) fn reported_handoff() -> impl Strategy<Value = ReportedHandoff> {
    (prose(), prose(), vec(prose(), 0..5), vec(line(), 0..20)).prop_map(
        |(current_state, immediate_next_action, critical_context, critical_files)| ReportedHandoff {
            session: Some("s1".into()),
            current_state,
            immediate_next_action,
            critical_context,
            critical_files,
        },
    )
}

pub(super) fn changed_file() -> impl Strategy<Value = ChangedFile> {
    ("[a-z]{1,8}(/[a-z]{1,8}){0,3}\\.rs", 0..2_000_000_u64, any::<bool>(), any::<bool>(), "[0-9a-f]{12}")
        .prop_map(|(path, bytes, exists, by_session, digest)| {
            let digest = exists.then_some(digest);
            ChangedFile { path, bytes, exists, by_session, digest }
        })
}

pub(super) fn git() -> impl Strategy<Value = Option<GitFacts>> {
    let branch = option::weighted(0.9, Just("main".to_owned()));
    let facts = (branch, 0..40_u32, 0..60_u32);
    option::of(facts.prop_map(|(branch, commits_since, dirty_files)| GitFacts {
        branch,
        commits_since,
        dirty_files,
    }))
}

/// Pairs for experiments, of which a policy knows none.
pub(super) fn attributes() -> impl Strategy<Value = Vec<Attribute>> {
    vec(("x-[a-z]{1,10}", line()), 0..3)
}

/// What an observation of a handoff says of others, of what it does not list, and of what came before.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) newest_handoff: Option<HandoffReference>,
    pub(super) beyond: Beyond,
    pub(super) words_withheld: Option<Withheld>,
    pub(super) plans_first: bool,
    pub(super) as_lead: bool,
    pub(super) compacted: bool,
    pub(super) reports_as: Option<String>,
    pub(super) result_file: Option<String>,
    pub(super) result_files: Vec<String>,
    pub(super) conflict: Option<Conflict>,
}

pub(super) fn place() -> impl Strategy<Value = Place> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let own = (option::of(Just("s8".to_owned())), option::of(line()));
    let conflict = (option::of(Just("20b".to_owned())), vec(line(), 0..5))
        .prop_map(|(with_phase, files)| Conflict { with_phase, files });
    let others = (vec(line(), 0..5), option::of(conflict));
    (option::of(handoff_reference()), beyond(), option::of(withheld()), flags, own, others).prop_map(
        |(newest_handoff, beyond, words_withheld, flags, own, (result_files, conflict))| {
            let (plans_first, as_lead, compacted) = flags;
            let (reports_as, result_file) = own;
            Place {
                newest_handoff,
                beyond,
                words_withheld,
                plans_first,
                as_lead,
                compacted,
                reports_as,
                result_file,
                result_files,
                conflict,
            }
        },
    )
}

fn handoff_reference() -> impl Strategy<Value = HandoffReference> {
    use Staleness::*;
    let found = (0..40_u32, 0..5_u32, any::<bool>()).prop_map(|(commits_since, missing_files, diverged)| {
        HandoffFinding { commits_since, missing_files, diverged }
    });
    (select(vec![Fresh, SlightlyStale, Stale, VeryStale]), option::of(found)).prop_map(
        |(staleness, found)| HandoffReference { path: ".baton/r1/handoff/20.md".into(), staleness, found },
    )
}

fn beyond() -> impl Strategy<Value = Beyond> {
    let more = || prop_oneof![3 => Just(0_u32), 1 => 1..400_u32];
    (more(), more(), more(), more(), more()).prop_map(
        |(changed_files, attempts, decisions, gotchas, patterns)| Beyond {
            changed_files,
            attempts,
            decisions,
            gotchas,
            patterns,
        },
    )
}

fn withheld() -> impl Strategy<Value = Withheld> {
    (0..64_u32, 0..64_u32, 0..64_u32, 0..64_u32, 0..20_u32, 0..10_u32).prop_map(
        |(attempts, decisions, gotchas, patterns, commands, reads)| Withheld {
            attempts,
            decisions,
            gotchas,
            patterns,
            commands,
            reads,
        },
    )
}
