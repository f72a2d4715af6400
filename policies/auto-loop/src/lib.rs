//! A single session that loops for hours: it compacts in time, and waits for quotas. Decides `compaction`, `offloading`,
//! `exhaustion`, `completion` and `recovery`,
//! by the rules of the second source (requirements B; *Context window management & quota exhaustion handling*).
//!
//! | rule of the source | here |
//! |---|---|
//! | Before each iteration, compact at 70 % and more (B1) | `compaction` compacts from `compact-percent`, and does nothing else: no handoff, no offloading |
//! | After it the agent reads where it is, the status and the task again (B2, B3) | the instructions say what has to survive for that |
//! | A message with "rate limit", "quota exceeded", "usage limit" … is a quota (B4) | `exhaustion` says so, from `quota-phrases` or a status 429 |
//! | It is **not** a stall (B5) | a limit is looked for before silence is |
//! | While it waits, look for recovery only (B7); new output ends it (B8) | what was heard after the message says that it is over |
//!
//! What makes a verdict here is what an agent's protocol, its provider or its terminal say. The source reads the whole
//! screen; an agent that works on a rate limiter would never get out of the wait then, so its own words do not count,
//! and what a tool printed never does.
//!
//! The source knows no exhaustion: its loop compacts before there is any. What ends without an answer is prompted again,
//! then gets a new session. `builtin:resilience` tells the cases apart; take this one for agents that compact well, and
//! let another policy decide the rest.
#![forbid(unsafe_code)]

use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;
use baton_sdk::{compaction, exhaustion};
use exhaustion::{Assessment, Observation, Occasion, Quota, QuotaCause, Verdict};

/// HTTP: too many requests.
const TOO_MANY: u16 = 429;
/// Bytes of a message that are quoted as evidence (`wit/types.wit`).
const EVIDENCE_BYTES: u32 = 200;

/// The policy.
#[derive(Clone, Copy, Debug)]
pub struct AutoLoop;

impl Compaction for AutoLoop {
    fn decide(host: &impl Host, o: compaction::Observation) -> Option<compaction::Decision> {
        let threshold = host.number("compact-percent");
        let keep = |reason: &str| compaction::Decision::new(compaction::Action::Keep, reason);
        Some(match o.session.occupancy.percent() {
            None => keep("nobody knows how full the window is"),
            Some(percent) if percent < threshold => keep("there is room for one more iteration"),
            Some(_) if !o.session.capabilities.contains(Capabilities::COMPACTS) => {
                keep("it is time to compact, and this agent cannot")
            }
            Some(percent) => {
                let progress = &o.phase.progress;
                let all = progress.done + progress.open + progress.failed;
                let instructions = format!(
                    "{}\nPhase {}, prompt {}; {} of {all} objectives are done.",
                    host.text("compact-instructions"),
                    o.phase.id,
                    o.session.prompts,
                    progress.done
                );
                let reason =
                    format!("{} % are used; the loop compacts from {} %", percent as u64, threshold as u64);
                compaction::Decision::new(compaction::Action::Compact(Some(instructions)), reason)
            }
        })
    }
}

/// Nothing is offloaded: the loop writes summaries instead.
impl Offloading for AutoLoop {
    fn decide(_: &impl Host, _: offloading::Observation) -> Option<offloading::Decision> {
        Some(offloading::Decision::new(Vec::new(), "nothing is offloaded: the loop writes summaries instead"))
    }
}

/// The source trusts an answer: what was answered is done.
impl Completion for AutoLoop {
    fn decide(_: &impl Host, o: completion::Observation) -> Option<completion::Decision> {
        let done = o.session.objectives.into_iter().map(|objective| objective.id).collect();
        Some(completion::Decision { done, evidence: Vec::new(), reason: reason_of(o.assessment) })
    }
}

impl Recovery for AutoLoop {
    fn decide(_: &impl Host, o: recovery::Observation) -> Option<recovery::Decision> {
        let first = o.session.nudges == 0;
        let interrupts = o.session.session.capabilities.contains(Capabilities::INTERRUPTS);
        let action = match o.assessment.verdict {
            Verdict::Quota(_) => Action::Wait,
            Verdict::Truncated if first => Action::Nudge,
            Verdict::Stalled if first && interrupts => Action::Interrupt,
            // It never says so itself; another policy of a chain may.
            Verdict::Exhausted | Verdict::HandedOff | Verdict::TurnLimit | Verdict::BudgetLimit => {
                Action::HandOff
            }
            _ => Action::Retry,
        };
        Some(recovery::Decision::new(action, reason_of(o.assessment)))
    }
}

impl Exhaustion for AutoLoop {
    fn assess(host: &impl Host, o: Observation) -> Option<Assessment> {
        Some(assess(host, &o))
    }
}

fn assess(host: &impl Host, o: &Observation) -> Assessment {
    // A turn or an answer is output: whatever was said before it is over (B8).
    let answered = o.answer_bytes > 0 || o.files_changed > 0;
    match o.occasion {
        Occasion::Turn => return plain(Verdict::Healthy, "it works"),
        Occasion::PromptEnded if answered => {
            return plain(Verdict::Answered, "it answered");
        }
        _ => {}
    }
    if let Some((quota, evidence)) = quota(host, o) {
        return Assessment {
            verdict: Verdict::Quota(quota),
            evidence: vec![evidence],
            warning: None,
            reason: "a quota is used up: that is no stall, and the clocks stand still".into(),
        };
    }
    match o.occasion {
        Occasion::PromptEnded => plain(Verdict::Truncated, "it ended without an answer"),
        Occasion::SessionEnded if answered => plain(Verdict::Answered, "it answered, and left"),
        Occasion::SessionEnded => plain(Verdict::Failed, "it left without an answer"),
        _ if o.session.state == SessionState::Working
            && i64::try_from(o.session.idle_ms).unwrap_or(i64::MAX) >= host.integer("stall-ms") =>
        {
            plain(Verdict::Stalled, "nothing was heard of it for too long")
        }
        _ => plain(Verdict::Healthy, "nothing is wrong"),
    }
}

impl Settings for AutoLoop {
    fn schema() -> Vec<settings::Setting> {
        vec![
            schema::number(
                "compact-percent",
                70.0,
                1.0..=99.0,
                "Compact from this occupancy, in percent, before the next iteration.",
            ),
            schema::text(
                "compact-instructions",
                "Keep where the loop is (iteration and step), the status of every objective, and a summary of the task.",
                "What a compaction has to keep, so that the loop goes on.",
            ),
            schema::texts(
                "quota-phrases",
                &["rate limit", "rate_limit", "quota exceeded", "usage limit", "too many requests"],
                "Messages with one of these, in any case, are about a quota.",
            ),
            schema::integer(
                "stall-ms",
                600_000,
                1_000..=86_400_000,
                "A session at work that says nothing for so long, in ms, is stalled; never while it waits for a quota.",
            ),
        ]
    }
}

export_policy!(AutoLoop: compaction, offloading, exhaustion, completion, recovery, settings);

/// Another policy of a chain may have assessed the session, and said no reason.
fn reason_of(assessment: Assessment) -> String {
    match assessment.reason.trim().is_empty() {
        true => "the session was assessed without a reason".to_owned(),
        false => assessment.reason,
    }
}

fn plain(verdict: Verdict, reason: &str) -> Assessment {
    Assessment { verdict, evidence: Vec::new(), warning: None, reason: reason.into() }
}

/// The newest message about a quota, unless the session was heard of since (B4, B8). The source makes no difference between
/// a rate and an allowance: either is waited for.
fn quota(host: &impl Host, o: &Observation) -> Option<(Quota, Evidence)> {
    let may_say = |signal: &&Signal| {
        let channel =
            matches!(signal.channel, Channel::AgentEvent | Channel::ProviderError | Channel::Terminal);
        let over = o.occasion == Occasion::Heartbeat && o.session.idle_ms < signal.age_ms;
        channel && signal.prompt == o.session.prompts && !over
    };
    let is_quota = |signal: &&Signal| {
        signal.status == Some(TOO_MANY)
            || signal.code.as_ref().is_some_and(|code| code.contains("rate_limit"))
            || !host.find_setting(o.window, signal.text, "quota-phrases", 1).is_empty()
    };
    let signal = o.signals.iter().rev().filter(may_say).find(is_quota)?;
    let end = signal.text.end.min(signal.text.start.saturating_add(EVIDENCE_BYTES));
    let text = host.text_slice(o.window, Span { start: signal.text.start, end });
    let evidence = Evidence { channel: signal.channel, seq: Some(signal.seq), text };
    Some((Quota { cause: QuotaCause::Usage, resets_at_ms: signal.resets_at_ms }, evidence))
}
