//! Why a session stopped, or how it is while it works (A4, B4, D5).
//!
//! The evidence is a ladder, and the highest rung that says something decides: a code of the agent's own protocol, an
//! error of the provider, the agent's own words in the place where an error stands, other text of the terminal. What
//! a tool printed is on no rung. Only then does the outcome itself count: an answer that is empty, a file that is
//! missing, silence, an exit. This file decides; `assess/` reads signals.

mod codes;
mod completion;
mod contrary;
mod denial;
mod ending;
mod phrases;
mod place;
mod refused;
mod reset;
mod setup;
mod signals;

use baton_sdk::Host;
use baton_sdk::exhaustion::{Assessment, Observation, Occasion, Quota, QuotaCause, Verdict};
use baton_sdk::recovery::Action;
use baton_sdk::types::{Capabilities, Channel, Evidence, Objective, Session, SessionState};
use baton_sdk::words::{one_line, said as quoted};
use baton_sdk::{completion as done, recovery};

use codes::Class;
pub(crate) use completion::wanted;
use setup::Cause;
use signals::{Found, Signals};

/// Exit codes by which a shell tells that a signal ended the process: hang-up, interrupt, terminate.
const INTERRUPTED_EXITS: [i32; 3] = [129, 130, 143];
/// The same signals, where the system tells them itself.
const INTERRUPTING_SIGNALS: [i32; 3] = [1, 2, 15];

/// Exit code of the Gemini CLI at its cap of turns, which it tells in no other way once its stream is cut.
const GEMINI_TURN_LIMIT_EXIT: i32 = 53;
/// A prompt that is smaller than this part of the one before it was cut: agents grow what they send, or compact it.
const SHRUNK: f64 = 0.5;
/// Below so many tokens a prompt is small anyway.
const SHRUNK_FROM_TOKENS: u64 = 8_000;

/// All that is made of a session: how it is, whether its objectives are done, and what to do about it. Each question takes its part.
struct Outcome {
    verdict: Verdict,
    /// The prompt was answered, and its objectives are not done.
    is_unfinished: bool,
    /// Ids of those that were reported as done, and are not.
    taken_back: Vec<String>,
    evidence: Vec<Evidence>,
    recovery: Action,
    reason: String,
}

/// Bytes of another policy's words in a reason.
const SAID_BYTES: usize = 200;

pub(crate) fn assess(host: &impl Host, o: &Observation) -> Assessment {
    let Outcome { verdict, evidence, reason, .. } = judge(host, o);
    let warning = warning(host, o);
    match verdict {
        Verdict::Answered => Assessment {
            verdict,
            evidence: Vec::new(),
            warning,
            reason: "the prompt was answered".to_owned(),
        },
        _ => Assessment { verdict, evidence, warning, reason },
    }
}

/// Which objectives of a prompt are done: all of them, or those that were reported as done and that nothing takes back.
pub(crate) fn complete(host: &impl Host, o: &done::Observation) -> done::Decision {
    let outcome = judge(host, &o.session);
    let is_done = outcome.verdict == Verdict::Answered && !outcome.is_unfinished;
    // Where all of it was reported and something else is missing, none of it stands.
    let is_partly = !outcome.taken_back.is_empty() || !completion::is_all_done(&o.session);
    let stays = |objective: &Objective| {
        is_partly && completion::is_done(objective) && !outcome.taken_back.contains(&objective.id)
    };
    let done = o.session.objectives.iter().filter(|objective| is_done || stays(objective));
    let done = done.map(|objective| objective.id.clone()).collect();
    done::Decision { done, evidence: outcome.evidence, reason: outcome.reason }
}

/// What to do about a session. A phase that the setting hands to a role that may not have it is a person's to decide about.
pub(crate) fn recover(host: &impl Host, o: &recovery::Observation) -> recovery::Decision {
    let decision = course_of(host, o);
    match &decision.action {
        Action::OtherRole(role) if !o.other_roles.contains(role) => {
            let reason = &decision.reason;
            let question = format!(
                "{}. The role {role:?} of `after-failed-report` may not have this phase. What now?",
                completion::capital(reason)
            );
            recovery::Decision::new(Action::AskPerson(question), reason.clone())
        }
        _ => decision,
    }
}

/// Where a session was judged otherwise than here, what its verdict usually calls for.
fn course_of(host: &impl Host, o: &recovery::Observation) -> recovery::Decision {
    let (seen, verdict) = (&o.session, o.assessment.verdict);
    let is_same = |outcome: &Outcome| {
        let is_same_kind = std::mem::discriminant(&outcome.verdict) == std::mem::discriminant(&verdict);
        is_same_kind && outcome.is_unfinished == o.completion.is_some()
    };
    // What was found not to be done is open again by now, and was judged as the report of done that it was.
    let as_reported = o.completion.as_ref().and_then(|_| completion::as_reported(seen));
    let is_taken_back = as_reported.is_some();
    // Where another found it, nothing that is seen here is why.
    let is_why = |outcome: &Outcome| {
        !is_taken_back || o.completion.as_ref().is_some_and(|said| said.reason.starts_with(&outcome.reason))
    };
    let outcome = as_reported.map(|seen| judge(host, &seen)).filter(&is_same);
    let outcome =
        outcome.or_else(|| Some(judge(host, seen)).filter(|outcome| is_same(outcome) && is_why(outcome)));
    if let Some(outcome) = outcome {
        return recovery::Decision::new(outcome.recovery, outcome.reason);
    }
    let said = o.completion.as_ref().map_or(&o.assessment.reason, |completion| &completion.reason);
    let reason = format!("as it was judged: {}", quoted(said, SAID_BYTES));
    let (action, reason) = match (&o.completion, verdict) {
        (Some(_), _) => {
            let outcome = completion::not_done(host, seen, reason);
            (outcome.recovery, outcome.reason)
        }
        (None, Verdict::NeedsInput) => {
            let question = format!("{}. Does the agent ask you something?", completion::capital(&reason));
            (Action::AskPerson(question), reason)
        }
        (None, verdict) => (course(host, seen, verdict, &one_line(said, SAID_BYTES)), reason),
    };
    recovery::Decision::new(action, reason)
}

fn judge(host: &impl Host, o: &Observation) -> Outcome {
    match &o.occasion {
        // The model has just answered, so no limit holds it up.
        Occasion::Turn => plain(Verdict::Healthy, "it is at work"),
        Occasion::Signal => at_work(host, o),
        Occasion::Heartbeat => heartbeat(host, o),
        Occasion::PromptEnded | Occasion::SessionEnded => ended(host, o),
        // What has ended is judged, what may be at work is not: whether there is a process says which of the two it is.
        Occasion::Other(_) if o.session.exit.is_some() => ended(host, o),
        Occasion::Other(_) => at_work(host, o),
    }
}

/// While it works, only a provider's limit is worth acting on; whatever else was said is judged when the prompt ends.
fn at_work(host: &impl Host, o: &Observation) -> Outcome {
    let signals = Signals::new(host, o);
    match signals.latest() {
        Some(found) if !matches!(found.class, Class::Completed | Class::Failed) => {
            verdict_of(host, o, &signals, &found)
        }
        _ => plain(Verdict::Healthy, "it is at work"),
    }
}

fn heartbeat(host: &impl Host, o: &Observation) -> Outcome {
    let session = &o.session;
    let busy =
        matches!(session.state, SessionState::Starting | SessionState::Working | SessionState::Compacting);
    if !busy {
        return plain(Verdict::Healthy, "it waits, and that is no stall");
    }
    let stall_ms = host.integer("stall-ms") as u64;
    let signals = Signals::new(host, o);
    let found = signals.latest();
    if let Some(found) = found.filter(|found| matches!(found.class, Class::Quota(_) | Class::Exhausted)) {
        return verdict_of(host, o, &signals, &found);
    }
    if session.idle_ms < stall_ms {
        return plain(Verdict::Healthy, "it said something not long ago");
    }
    let seconds = session.idle_ms / 1000;
    Outcome {
        evidence: vec![observed(format!("nothing heard for {seconds} s"))],
        recovery: after_stall(host, o),
        ..plain(Verdict::Stalled, format!("it has said nothing for {seconds} s"))
    }
}

fn after_stall(host: &impl Host, o: &Observation) -> Action {
    let interrupts = o.session.capabilities.contains(Capabilities::INTERRUPTS);
    if o.session.state == SessionState::Starting || i64::from(o.nudges) >= host.integer("max-nudges") {
        Action::Retry
    } else if o.nudges == 0 {
        Action::Nudge
    } else if interrupts {
        Action::Interrupt
    } else {
        Action::Retry
    }
}

/// The prompt or the process is over: never `healthy` from here on.
fn ended(host: &impl Host, o: &Observation) -> Outcome {
    let signals = Signals::new(host, o);
    // Words of an agent that has reported all of it as done contradict its report: it is asked which of them holds.
    let is_answered = || {
        completion::is_all_done(o)
            || signals.answer().is_some_and(|answer| completion::answers_done(host, o, answer))
    };
    let contradicts = |found: &Found<'_>| {
        found.signal.channel == Channel::AgentText
            && match found.class {
                Class::Exhausted => completion::is_all_done(o),
                // It waited by itself, and went on.
                Class::Quota(_) => is_answered(),
                _ => false,
            }
    };
    if let Some(found) = signals.strongest().filter(|found| !contradicts(found)) {
        return verdict_of(host, o, &signals, &found);
    }
    // Before its handoff or its context count: what it has reported as done may be what it leaves.
    if let Some(asked) = contrary::contradicts_itself(host, o, signals.answer()) {
        return asked;
    }
    if let Some(contrary) = completion::reported(host, o, signals.answer()) {
        return contrary;
    }
    if let Some(said) = stops_for_context(host, o, &signals) {
        return said;
    }
    if signals.completed() {
        return completion::answered(host, o, signals.answer());
    }
    let failed = signals.failed();
    match (&o.session.exit, &o.occasion) {
        (None, Occasion::PromptEnded) if failed.is_none() && !signals.called_error() => {
            completion::answered(host, o, signals.answer())
        }
        (Some(exit), _) if failed.is_none() => {
            let interrupted = exit.by_host
                || exit.code.is_some_and(|code| INTERRUPTED_EXITS.contains(&code))
                || exit.signal.is_some_and(|signal| INTERRUPTING_SIGNALS.contains(&signal));
            let how = match (exit.code, exit.signal) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("signal {signal}"),
                (None, None) if exit.by_host => "it was lost with the host".to_owned(),
                (None, None) => "no exit code".to_owned(),
            };
            // A driver ends an agent that it cannot open a session with.
            if !exit.by_host
                && let Some(unready) = unready(host, o, &signals)
            {
                return unready;
            }
            let turns_over = exit.code == Some(GEMINI_TURN_LIMIT_EXIT) && o.session.agent.contains("gemini");
            let (verdict, reason) = if turns_over {
                (Verdict::TurnLimit, format!("the cap of turns was reached ({how})"))
            } else if interrupted {
                (Verdict::Interrupted, format!("its process was ended ({how})"))
            } else if let Some(last) = signals.last_printed() {
                let reason = format!("the process ended ({how}): {}", last.text);
                let evidence = vec![last, observed(how)];
                return Outcome { evidence, recovery: Action::Retry, ..plain(Verdict::Failed, reason) };
            } else if exit.code.is_none() && exit.signal.is_some() {
                (Verdict::Failed, format!("the agent was killed ({how})"))
            } else if o.answer_bytes == 0 {
                (Verdict::Failed, format!("the process ended without a word ({how})"))
            } else {
                (Verdict::Failed, format!("the process ended in the middle of its work ({how})"))
            };
            Outcome { evidence: vec![observed(how)], recovery: Action::Retry, ..plain(verdict, reason) }
        }
        _ => match (failed, unready(host, o, &signals)) {
            (Some(found), _) => verdict_of(host, o, &signals, &found),
            (None, Some(unready)) => unready,
            (None, None) => {
                let (evidence, how) = (signals.last_printed(), signals.ended_with());
                let how = how.map_or("it stopped, and nothing says why".to_owned(), |code| {
                    format!("the agent ended with \"{code}\"")
                });
                let said = evidence
                    .as_ref()
                    .map_or_else(String::new, |last| format!("; it printed \"{}\"", last.text));
                Outcome {
                    evidence: evidence.into_iter().collect(),
                    recovery: Action::Retry,
                    ..plain(Verdict::Failed, format!("{how}{said}"))
                }
            }
        },
    }
}

/// The agent's last words, where they say that it stops because its context is used up (A12). With nothing left to do
/// they are a remark; with files changed they have to say that it stops, or that work is left.
fn stops_for_context<H: Host>(host: &H, o: &Observation, signals: &Signals<'_, H>) -> Option<Outcome> {
    // What the prompt was about may be reported as done, and the phase go on without this session.
    let is_left = completion::is_left(o);
    let goes_on = o.phase.progress.open + o.phase.progress.failed > 0;
    if !(is_left || goes_on) || signals.failed().is_some() {
        return None;
    }
    let answer = signals.answer()?;
    let ending = ending::out_of_context(host, o, answer)?;
    // "Context is at 85%. Done: parser" speaks of its context, and has done what it was given.
    if completion::answers_done(host, o, answer) {
        return None;
    }
    let shows_nothing = is_left && (o.files_changed == 0 || o.files_missing > 0);
    let counts = ending.unmistakable || shows_nothing;
    let reason = format!("the context window is used up, says the agent: {}", ending.said.text);
    counts.then(|| Outcome { evidence: vec![ending.said], ..plain(Verdict::Exhausted, reason) })
}

/// The fill of a context that a person should know of, in words.
fn nearly_full(host: &impl Host, o: &Observation) -> Option<String> {
    let percent = o.session.occupancy.percent().filter(|percent| *percent >= host.number("warn-percent"))?;
    Some(format!("the context is {}", fill(&o.session, percent)))
}

fn nudge(host: &impl Host, o: &Observation) -> Action {
    let alive = o.session.state != SessionState::Ended && o.session.exit.is_none();
    if alive && i64::from(o.nudges) < host.integer("max-nudges") { Action::Nudge } else { Action::Retry }
}

fn verdict_of<H: Host>(host: &H, o: &Observation, signals: &Signals<'_, H>, found: &Found<'_>) -> Outcome {
    if let Class::Unauthenticated | Class::Failed = found.class {
        return broken(host, o, signals, found);
    }
    let evidence = found.evidence(signals);
    let said = evidence.last().map(|said| said.text.clone()).unwrap_or_default();
    let (verdict, what) = match found.class {
        Class::Exhausted => (Verdict::Exhausted, "the context window is used up"),
        Class::TurnLimit => (Verdict::TurnLimit, "the cap of turns was reached"),
        Class::BudgetLimit => (Verdict::BudgetLimit, "the cap of cost was reached"),
        Class::Truncated => (Verdict::Truncated, "the answer was cut off"),
        Class::Interrupted => (Verdict::Interrupted, "the prompt was interrupted"),
        Class::Unauthenticated => (Verdict::Unauthenticated, Cause::LoggedOut.what()),
        Class::Refused => (Verdict::Refused, "the model declined to answer"),
        Class::Failed => (Verdict::Failed, "the agent reports an error"),
        Class::Completed => (Verdict::Answered, "the prompt was answered"),
        Class::Quota(cause) => {
            let resets_at_ms = found.resets_at_ms(signals);
            // What resets by itself needs no payment, whatever else is offered.
            let cause = match cause {
                QuotaCause::Billing if resets_at_ms.is_some() => QuotaCause::Usage,
                cause => cause,
            };
            let verdict = Verdict::Quota(Quota { cause, resets_at_ms });
            return Outcome { evidence, ..quota(verdict, cause, found.signal.retrying, &said) };
        }
    };
    let recovery = course(host, o, verdict, &said);
    Outcome { evidence, recovery, ..plain(verdict, format!("{what}: {said}")) }
}

/// It failed: for a cause that a person has to mend, or by an error, in the words that say most.
fn broken<H: Host>(host: &H, o: &Observation, signals: &Signals<'_, H>, found: &Found<'_>) -> Outcome {
    if let Some(unready) = unready(host, o, signals) {
        return unready;
    }
    let evidence = signals.explained().map_or_else(|| found.evidence(signals), |said| vec![said]);
    let said = evidence.last().map(|said| said.text.clone()).unwrap_or_default();
    let (verdict, what) = match found.class {
        Class::Unauthenticated => (Verdict::Unauthenticated, Cause::LoggedOut.what()),
        _ => (Verdict::Failed, "the agent reports an error"),
    };
    let recovery = course(host, o, verdict, &said);
    Outcome { evidence, recovery, ..plain(verdict, format!("{what}: {said}")) }
}

/// The agent could not begin, and no other session could.
fn unready<H: Host>(host: &H, o: &Observation, signals: &Signals<'_, H>) -> Option<Outcome> {
    let (cause, evidence) = setup::cause(host, o, signals)?;
    let said = evidence.text.clone();
    let recovery = cause.ask(&o.session.agent, &said);
    let reason = format!("{}: {said}", cause.what());
    Some(Outcome { evidence: vec![evidence], recovery, ..plain(cause.verdict(), reason) })
}

fn quota(verdict: Verdict, cause: QuotaCause, retrying: bool, said: &str) -> Outcome {
    let what = match cause {
        QuotaCause::Usage => "the provider's allowance is used up",
        QuotaCause::Billing => "the provider wants payment",
        QuotaCause::Rate => "the provider limits the rate",
        QuotaCause::Overload => "the provider is overloaded",
    };
    let recovery = after_quota(cause, said);
    let by_itself = if retrying { "; the agent retries by itself" } else { "" };
    Outcome { recovery, ..plain(verdict, format!("{what}: {said}{by_itself}")) }
}

fn after_quota(cause: QuotaCause, said: &str) -> Action {
    match cause {
        QuotaCause::Billing => {
            Action::AskPerson(format!("The provider wants payment ({said}). Go on once it is settled?"))
        }
        QuotaCause::Usage | QuotaCause::Rate | QuotaCause::Overload => Action::Wait,
    }
}

/// What a person should know, and that stops nothing.
fn warning(host: &impl Host, o: &Observation) -> Option<String> {
    nearly_full(host, o).or_else(|| shrunk(o))
}

/// Some providers cut a prompt that is too long and say nothing; it shows in the size of the next one.
fn shrunk(o: &Observation) -> Option<String> {
    let turns = o.session.recent.iter().rev().filter_map(|turn| turn.used_tokens);
    let (after, before) = turns.clone().zip(turns.skip(1)).next()?;
    let cut = before >= SHRUNK_FROM_TOKENS && (after as f64) < before as f64 * SHRUNK;
    (cut && o.session.compactions == 0).then(|| {
        format!("the prompt shrank from {before} to {after} tokens without a compaction: the provider may have cut it")
    })
}

/// A percentage to the nearest whole number. The formatting of fractions alone would be a tenth of the component.
pub(crate) fn whole(percent: f64) -> u64 {
    (percent + 0.5) as u64
}

/// "88% full (176k of 200k tokens)".
pub(crate) fn fill(session: &Session, percent: f64) -> String {
    let tokens = |count: Option<u64>| match count {
        None => "?".to_owned(),
        Some(count) if count < 100_000 => format!("{:.1}k", count as f64 / 1e3),
        Some(count) => format!("{}k", count / 1000),
    };
    let (used, window) = (tokens(session.occupancy.used_tokens), tokens(session.occupancy.window_tokens));
    format!("{}% full ({used} of {window} tokens)", whole(percent))
}

fn plain(verdict: Verdict, reason: impl Into<String>) -> Outcome {
    Outcome {
        verdict,
        is_unfinished: false,
        taken_back: Vec::new(),
        evidence: Vec::new(),
        recovery: usual(verdict),
        reason: reason.into(),
    }
}

/// What is done about a session that was judged so by what was `said`, where nothing more is known of it.
fn course(host: &impl Host, o: &Observation, verdict: Verdict, said: &str) -> Action {
    match verdict {
        Verdict::Quota(quota) => after_quota(quota.cause, said),
        Verdict::Truncated | Verdict::Interrupted => nudge(host, o),
        Verdict::Stalled => after_stall(host, o),
        Verdict::Failed | Verdict::Refused => Action::Retry,
        // Every other session would be told the same.
        Verdict::Unauthenticated => Cause::LoggedOut.ask(&o.session.agent, said),
        Verdict::NeedsInput => Action::AskPerson(format!("The agent asks: {said}")),
        _ => usual(verdict),
    }
}

/// What could go no further is continued; of all else, each case says what to do.
fn usual(verdict: Verdict) -> Action {
    match verdict {
        Verdict::HandedOff | Verdict::Exhausted | Verdict::TurnLimit | Verdict::BudgetLimit => {
            Action::HandOff
        }
        _ => Action::Wait,
    }
}

/// Evidence that is no signal.
fn observed(text: String) -> Evidence {
    Evidence { channel: Channel::AgentEvent, seq: None, text }
}
