//! What a notice says, as one word and a sentence. Layout is `plain`'s and `live`'s; nothing is decided here.

use baton_runtime::core::action::Ending;
use baton_runtime::core::decision::{DecidedBy, Staleness};
use baton_runtime::core::facts::RefusalKind;
use baton_runtime::core::input::{ChangeCause, Pin};
use baton_runtime::core::notice::Notice;
use baton_runtime::core::observation::BriefKind;
use baton_runtime::core::short::first_of;
use baton_runtime::core::view::{Repair, is_believable_reset};
use baton_runtime::core::workflow::Scope;
use baton_runtime::core::{PhaseId, SessionId};

use super::allowing::{Allowing, ONLY_ALL, allowing, not_given};
use super::look::{Look, Tone};
use super::words::{
    COMMIT_DIGITS, bytes, choices, committed, context_in_full, count, in_a_line, in_words, is_code, list,
    source, tokens, turns,
};
use crate::place::Place;

/// Files of a conflict that are named; the session that resolves it knows them all.
const FILES_SHOWN: usize = 6;

/// A notice in words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said {
    /// About which phase.
    pub(crate) phase: Option<PhaseId>,
    /// About which session.
    pub(crate) session: Option<SessionId>,
    /// What kind of thing happened, one word.
    pub(crate) word: &'static str,
    /// How it is meant.
    pub(crate) tone: Tone,
    /// What happened.
    pub(crate) text: String,
    /// Further lines: evidence, parts, what to type.
    pub(crate) more: Vec<String>,
}

/// Puts a notice into words. `run` and `place` give the commands that a person may type next.
pub(crate) fn say(notice: &Notice, run: &str, place: &Place, look: &Look) -> Said {
    let mut more = Vec::new();
    let workspace = place.config.workspace.to_string_lossy();
    let (word, tone, text) = match notice {
        Notice::PhaseStarted { title, objectives, .. } => {
            ("phase", Tone::Strong, format!("{title} ({})", count(*objectives, "objective")))
        }
        Notice::Budgeted { turns: given, of_table, reason, .. } => {
            let text = match of_table {
                0 => count(*given, "turn"),
                table => format!("{} instead of {table}", count(*given, "turn")),
            };
            let reason = if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason)) };
            ("budget", Tone::Plain, format!("{text}{reason}"))
        }
        Notice::SessionStarted { agent, continuation: 0, max_turns, lead: false, .. } => {
            ("agent", Tone::Plain, format!("{} starts{}", agent.label(), up_to(*max_turns)))
        }
        Notice::SessionStarted { agent, lead: true, remaining, max_turns, .. } => {
            let text = format!(
                "the lead takes over{} and finishes the rest: a new {}; remaining: {}",
                up_to(*max_turns),
                agent.label(),
                list(remaining)
            );
            ("agent", Tone::Relay, text)
        }
        Notice::SessionStarted { agent, continuation, of, remaining, max_turns, .. } => {
            let text = format!(
                "continuation {continuation} of {of}: a new {} takes over{}; remaining: {}",
                agent.label(),
                up_to(*max_turns),
                list(remaining)
            );
            ("agent", Tone::Relay, text)
        }
        Notice::Prompted { kind, focus, because, .. } => {
            let because = match because.as_str() {
                "" => String::new(),
                because => format!(", because {}", one_line(&in_words(because))),
            };
            ("prompt", Tone::Dim, format!("{}{because}", prompted(*kind, &list(focus))))
        }
        Notice::Turn { turns: used, max_turns, occupancy, .. } => {
            let context = context_in_full(occupancy.used_tokens, occupancy.window_tokens, occupancy.source);
            let context = context.trim_start_matches("context ");
            ("context", Tone::Dim, format!("{context}, {}", turns(*used, *max_turns)))
        }
        Notice::Activity { what, .. } => ("works", Tone::Dim, from_workspace(what, &workspace)),
        Notice::CommandFailed { command, said, .. } => {
            let said = if said.is_empty() { String::new() } else { format!(": {}", one_line(said)) };
            ("failed", Tone::Warn, from_workspace(&format!("$ {command}{said}"), &workspace))
        }
        Notice::WriteFailed { path, said, .. } => {
            let said = if said.is_empty() { String::new() } else { format!(": {}", one_line(said)) };
            ("failed", Tone::Warn, from_workspace(&format!("to write {path}{said}"), &workspace))
        }
        Notice::Said { text, .. } => ("says", Tone::Plain, from_workspace(text, &workspace)),
        Notice::Warned { occupancy, message, .. } => {
            let context = context_in_full(occupancy.used_tokens, occupancy.window_tokens, occupancy.source);
            ("warning", Tone::Warn, format!("{context}: {} The work goes on.", sentence(message)))
        }
        Notice::ObjectiveDone { objective, basis, judged_by, done, of, .. } => {
            let judged = super::words::judged_by(judged_by.as_deref());
            ("done", Tone::Good, format!("{objective} · {}{judged} ({done} of {of})", basis.words()))
        }
        Notice::NotReviewed { phase } => (
            "review",
            Tone::Warn,
            format!("no review of {phase} gave a score: its work is merged unreviewed"),
        ),
        Notice::Unseen { phase, files } => (
            "left out",
            Tone::Warn,
            format!("git ignores it in the tree of {phase}, and it is not merged: {}", list(files)),
        ),
        Notice::LeftOut { phase, files } => (
            "left out",
            Tone::Plain,
            format!("made by the commands of {phase}, and not merged: {}", list(files)),
        ),
        Notice::OutputOmitted { session, events, text_bytes, .. } => (
            "left out",
            Tone::Warn,
            format!(
                "{session} prints faster than the journal takes: {} of its text and {events} of its events were left \
                 out. The end of its text is kept",
                bytes(*text_bytes)
            ),
        ),
        Notice::Refused { session, refusal, .. } if refusal.kind == RefusalKind::Call => {
            more.extend(match allowing(&refusal.target) {
                Some(Allowing::By(flag)) => Some(format!(
                    "allowed by {flag} of a new run, of `baton resume` and of `baton answer … --resume`, or by `allow` in \
                     the role"
                )),
                Some(Allowing::OnlyAll) => Some(ONLY_ALL.to_owned()),
                None => None,
            });
            let call = from_workspace(&refusal.target, &workspace);
            ("refused", Tone::Warn, format!("{session} may not call {call}: its role does not allow it"))
        }
        Notice::Refused { session, refusal, .. } => {
            ("refused", Tone::Warn, format!("{session} is not allowed to {refusal}: {}", not_given(refusal)))
        }
        Notice::AgentRetries { code, status, text, .. } => {
            let why = why_it_retries(code, *status);
            let status = status.map(|status| format!(", {status}")).unwrap_or_default();
            let reason = match code.is_empty() {
                true => String::new(),
                false => format!(" ({}{status})", one_line(&in_words(code))),
            };
            let text = one_line(text);
            ("retries", Tone::Warn, format!("{why}{reason}: {text}"))
        }
        Notice::CommittedToBranch { commit, left, by_checks, .. } => {
            for (why, files) in [("changed before the run began", left), ("made by a check", by_checks)] {
                if !files.is_empty() {
                    more.push(format!("not committed, since {why}: {}", first_of(files, FILES_SHOWN)));
                }
            }
            let on = if commit.branch.is_empty() { String::new() } else { format!(" on {}", commit.branch) };
            ("commit", Tone::Good, format!("{}{on}", committed(commit)))
        }
        Notice::NotCommitted { why, .. } => ("commit", Tone::Warn, format!("not committed: {why}")),
        Notice::SplitDeclined { because, .. } => {
            ("split", Tone::Warn, format!("not split, as its agent asked: {because}"))
        }
        Notice::Reopened { objective, because, .. } => {
            ("reopened", Tone::Warn, format!("{objective} is open again: {because}"))
        }
        Notice::Compacting { reason, .. } => {
            ("compact", Tone::Relay, format!("making room in the context: {reason}"))
        }
        Notice::Compacted { asked, before, after, .. } => {
            let who = if *asked { "" } else { ", by the agent itself" };
            ("compact", Tone::Relay, format!("context made shorter{}{who}", from_to(*before, *after)))
        }
        Notice::CompactionFailed { text, .. } => {
            ("compact", Tone::Warn, format!("the context did not get shorter: {text}"))
        }
        Notice::Stopped { verdict, evidence, reason, .. } => {
            // What names no signal, and the reason says already, is not said twice; nor is a code beside the words for it.
            let has_words = evidence.iter().any(|seen| seen.seq.is_some() && !is_code(&seen.text));
            let told = evidence.iter().filter(|seen| match seen.seq {
                None => !reason.contains(&seen.text),
                Some(_) => !(has_words && is_code(&seen.text)),
            });
            more.extend(
                told.map(|seen| {
                    format!("evidence: {} \"{}\"", source(seen), one_line(&in_words(&seen.text)))
                }),
            );
            (
                stop_word(verdict),
                if verdict == "exhausted" { Tone::Relay } else { Tone::Warn },
                in_words(reason),
            )
        }
        Notice::HandedOff { path, remaining, .. } => {
            let remaining = match remaining.as_slice() {
                [] => "every objective is done".to_owned(),
                remaining => format!("remaining: {}", list(remaining)),
            };
            ("handoff", Tone::Relay, format!("written to {path}; {remaining}"))
        }
        Notice::HandoffRepaired { score, by, findings, repair, .. } => {
            more.extend(findings.iter().map(|finding| match finding.line {
                None => format!("finding: {}", one_line(&finding.text)),
                Some(line) => format!("finding: line {line}: {}", one_line(&finding.text)),
            }));
            let why = match score {
                Some(score) => {
                    let by = super::words::by_policy(by.as_deref());
                    format!("refused{by} with {score} of 100 points")
                }
                None => "kept back".to_owned(),
            };
            let done = match repair {
                Repair::Plain => "the host wrote a plain one from facts",
                Repair::FromFacts | Repair::None => {
                    "it was written again from facts, without the words of agents"
                }
            };
            ("handoff", Tone::Warn, format!("the document was {why}; {done}. Nothing is lost"))
        }
        Notice::HandoffReviewed { path, staleness, commits_since, .. } => {
            let tone = if *staleness == Staleness::Fresh { Tone::Dim } else { Tone::Warn };
            let word = staleness.name().replace('-', " ");
            ("handoff", tone, format!("{path} is {word}: {} since", count(*commits_since, "commit")))
        }
        Notice::QuotaWait { cause, since, until, retry_at, time, by_itself, said, judged_by, .. } => {
            // The agent's own words say more than the cause, and are told where Baton waits for it.
            let said =
                if said.is_empty() { String::new() } else { format!("\"{}\"; ", one_line(&in_words(said))) };
            let waits = match (until, retry_at) {
                (Some(until), _) if !is_believable_reset(*since, *until) => {
                    let until = look.day_and_time(*until);
                    format!(
                        "the agent names a reset at {until}, which is not believed; it tries again by itself"
                    )
                }
                (Some(until), _) => format!("waits until {}", look.moment(*until, *since)),
                (None, Some(at)) => {
                    let time = if *time > 1 { format!(", wait {time} of this phase") } else { String::new() };
                    format!("{said}Baton tries again at {}{time}", look.moment(*at, *since))
                }
                // Its provider may refuse it for good.
                (None, None) if *by_itself => "the agent tries again by itself".to_owned(),
                (None, None) => format!("{said}Baton waits for the agent"),
            };
            let judged = super::words::judged_by(judged_by.as_deref());
            ("quota", Tone::Warn, format!("{cause}: {waits}{judged}; this does not count as time"))
        }
        Notice::QuotaOver { waited, is_try: true, .. } => {
            ("quota", Tone::Plain, format!("waited {waited} (not counted); trying again"))
        }
        Notice::QuotaOver { waited, .. } => {
            ("quota", Tone::Plain, format!("the agent waited {waited} (not counted)"))
        }
        Notice::Retrying { attempt, of, after, because, .. } => {
            let when = if after.0 == 0 { "now".to_owned() } else { format!("in {after}") };
            ("retry", Tone::Warn, format!("{attempt} of {of} {when}: {}", in_words(because)))
        }
        Notice::Split { phase, sub_phases, objectives, reason, at_once } => {
            let parts = u32::try_from(sub_phases.len()).unwrap_or(u32::MAX);
            let launching = match *at_once {
                0 | 1 => "launching one after the other".to_owned(),
                places if places < parts => format!("launching in parallel, {places} at a time"),
                _ => "launching in parallel".to_owned(),
            };
            let text = format!(
                "Phase {phase} too large ({}). Splitting into {}, {launching}…",
                count(*objectives, "objective"),
                count(parts, "sub-phase")
            );
            more.extend((!reason.is_empty()).then(|| format!("because {}", one_line(reason))));
            more.extend(sub_phases.iter().map(|(id, title)| format!("{id}  {}", one_line(title))));
            ("split", Tone::Relay, text)
        }
        Notice::Merged { phase, into, files } => {
            ("merge", Tone::Good, format!("what {phase} made is in {into} ({})", count(*files, "file")))
        }
        Notice::Conflict { phase, into, files } => {
            more.extend(files.iter().take(FILES_SHOWN).cloned());
            let beyond = files.len().saturating_sub(FILES_SHOWN);
            more.extend((beyond > 0).then(|| format!("and {beyond} more")));
            let what = match phase == into {
                true => format!("what has changed meanwhile where {into} began"),
                false => format!("what {phase} made"),
            };
            (
                "conflict",
                Tone::Warn,
                format!("{what} does not fit what is in {into} already; a session resolves it"),
            )
        }
        Notice::Landed { commit, committed, files, .. } => {
            let commit = commit.get(..COMMIT_DIGITS).unwrap_or(commit);
            let files = count(*files, "file");
            let text = match committed {
                true => format!("the whole is where the phase began: commit {commit}, {files}"),
                false => format!(
                    "the whole is where the phase began: {files} beside the work that is not committed there"
                ),
            };
            ("landed", Tone::Good, text)
        }
        Notice::KeptApart { tree, .. } => {
            ("apart", Tone::Warn, format!("what it left is not merged; it is kept on the branch of {tree}"))
        }
        Notice::Reviewed { score, passed, summary, .. } => {
            let (tone, word) = if *passed { (Tone::Good, "passed") } else { (Tone::Bad, "not enough") };
            let summary = one_line(summary);
            let colon = if summary.is_empty() { "" } else { ": " };
            ("review", tone, format!("{score} of 100, {word}{colon}{summary}"))
        }
        Notice::Iterating { from, iteration, of, .. } => {
            ("loop", Tone::Relay, format!("begins again at {from}, round {iteration} of {of}"))
        }
        Notice::CheckingFirst { command, .. } => {
            ("verify", Tone::Dim, format!("runs `{}` once before the work", one_line(command)))
        }
        Notice::CheckedFirst { passed: true, .. } => {
            ("verify", Tone::Dim, "it passes before the work, so passing later proves nothing".to_owned())
        }
        Notice::CheckedFirst { code, .. } => {
            let how = code.map_or("was ended by a signal".to_owned(), |code| format!("ended with {code}"));
            ("verify", Tone::Dim, format!("before the work it {how}"))
        }
        Notice::Verified { passed: true, attempt, .. } => {
            let again = if *attempt > 1 { format!(" at attempt {attempt}") } else { String::new() };
            ("verify", Tone::Good, format!("the verification passed{again}"))
        }
        Notice::Verified { code, attempt, .. } => {
            let how = code.map_or("was ended by a signal".to_owned(), |code| format!("ended with {code}"));
            ("verify", Tone::Bad, format!("the verification {how} (attempt {attempt})"))
        }
        Notice::PhaseDone { .. } => ("phase", Tone::Good, "done".to_owned()),
        Notice::CheckChanged { command, files, .. } => {
            let (files, command) = (one_line(&first_of(files, FILES_SHOWN)), one_line(command));
            ("verify", Tone::Warn, format!("this work changed {files}, which its check `{command}` runs"))
        }
        Notice::FellBack { .. }
        | Notice::PolicyWants { .. }
        | Notice::PolicyChanged { .. }
        | Notice::PolicyTakenBack { .. }
        | Notice::PolicyRefused { .. } => {
            let (tone, text) = about_policies(notice);
            ("policy", tone, text)
        }
        Notice::ReportRefused { file, why } => ("report", Tone::Warn, format!("{file} was not taken: {why}")),
        Notice::NotTold { event, why } => {
            ("notify", Tone::Warn, format!("nobody was told of `{event}`: {}", one_line(why)))
        }
        Notice::Paused { question, text, choices: answers, .. } => {
            let example = answers.first().map_or("CHOICE", |choice| choice.name());
            more.push(format!(
                "answer with {}: baton answer {run} {example} --question {question} --resume{}",
                choices(answers),
                place.flags
            ));
            ("question", Tone::Warn, format!("{question}: {text}"))
        }
        Notice::Answered { question, choice } => {
            ("answer", Tone::Good, format!("{question}: {}", choice.name()))
        }
        Notice::Resumed { lost } if lost.is_empty() => ("resume", Tone::Relay, "run resumed".to_owned()),
        Notice::Resumed { lost } => (
            "resume",
            Tone::Relay,
            format!(
                "run resumed; {} {} died with the previous Baton process",
                if lost.len() == 1 { "session" } else { "sessions" },
                list(lost)
            ),
        ),
        Notice::Finished { ending } => match ending {
            Ending::Done => ("finish", Tone::Good, "every objective is done".to_owned()),
            Ending::Unfinished => ("finish", Tone::Bad, "some objectives stay open".to_owned()),
            Ending::Interrupted => ("finish", Tone::Warn, "stopped; everything is kept".to_owned()),
        },
    };
    let (phase, session) = about(notice);
    // Whatever a policy or an agent said, it begins no line.
    let (text, more) = (in_a_line(&text), more.iter().map(|line| in_a_line(line)).collect());
    Said { phase, session, word, tone, text, more }
}

/// What the provider says, where its status or code is plain; what follows from it is the policy's to say.
fn why_it_retries(code: &str, status: Option<u16>) -> &'static str {
    match matches!(status, Some(401 | 403)) || code.starts_with("authentication") {
        true => "its login or key is not accepted",
        false => "the provider did not answer as it should",
    }
}

/// Which phase and session a notice is about.
fn about(notice: &Notice) -> (Option<PhaseId>, Option<SessionId>) {
    match notice {
        Notice::SessionStarted { phase, session, .. }
        | Notice::Prompted { phase, session, .. }
        | Notice::Turn { phase, session, .. }
        | Notice::Activity { phase, session, .. }
        | Notice::CommandFailed { phase, session, .. }
        | Notice::WriteFailed { phase, session, .. }
        | Notice::Said { phase, session, .. }
        | Notice::Warned { phase, session, .. }
        | Notice::OutputOmitted { phase, session, .. }
        | Notice::Refused { phase, session, .. }
        | Notice::AgentRetries { phase, session, .. }
        | Notice::Compacting { phase, session, .. }
        | Notice::Compacted { phase, session, .. }
        | Notice::CompactionFailed { phase, session, .. }
        | Notice::Stopped { phase, session, .. }
        | Notice::HandedOff { phase, session, .. }
        | Notice::HandoffRepaired { phase, session, .. }
        | Notice::QuotaWait { phase, session, .. }
        | Notice::QuotaOver { phase, session, .. } => (Some(phase.clone()), Some(session.clone())),
        Notice::PhaseStarted { phase, .. }
        | Notice::Budgeted { phase, .. }
        | Notice::ObjectiveDone { phase, .. }
        | Notice::Reopened { phase, .. }
        | Notice::NotReviewed { phase }
        | Notice::LeftOut { phase, .. }
        | Notice::Unseen { phase, .. }
        | Notice::CommittedToBranch { phase, .. }
        | Notice::NotCommitted { phase, .. }
        | Notice::SplitDeclined { phase, .. }
        | Notice::HandoffReviewed { phase, .. }
        | Notice::Retrying { phase, .. }
        | Notice::Split { phase, .. }
        | Notice::Merged { phase, .. }
        | Notice::Conflict { phase, .. }
        | Notice::Landed { phase, .. }
        | Notice::KeptApart { phase, .. }
        | Notice::Reviewed { phase, .. }
        | Notice::Iterating { by: phase, .. }
        | Notice::CheckingFirst { phase, .. }
        | Notice::CheckedFirst { phase, .. }
        | Notice::Verified { phase, .. }
        | Notice::CheckChanged { phase, .. }
        | Notice::PhaseDone { phase } => (Some(phase.clone()), None),
        Notice::Paused { phase, .. } => (phase.clone(), None),
        Notice::FellBack { .. }
        | Notice::PolicyWants { .. }
        | Notice::PolicyChanged { .. }
        | Notice::PolicyTakenBack { .. }
        | Notice::PolicyRefused { .. }
        | Notice::ReportRefused { .. }
        | Notice::NotTold { .. }
        | Notice::Answered { .. }
        | Notice::Resumed { .. }
        | Notice::Finished { .. } => (None, None),
    }
}

/// What a notice says about who decides; nothing where it is about something else.
pub(crate) fn about_policies(notice: &Notice) -> (Tone, String) {
    match notice {
        Notice::FellBack { capability, by, policy, because } => {
            let role = match by {
                DecidedBy::Configured => "the configured policy",
                DecidedBy::Next => "the next policy of its chain",
                DecidedBy::LastGood => "which last decided without a fault",
                DecidedBy::BuiltIn => "the built-in policy",
                DecidedBy::Native => "the host itself, which keeps going or pauses",
                DecidedBy::Recording => "the recording that the run was made from",
            };
            let by = if policy.is_empty() { role.to_owned() } else { format!("{policy}, {role}") };
            (Tone::Warn, format!("{capability} was decided by {by}: {because}"))
        }
        Notice::PolicyWants { policy, wants, granted, refused } => {
            let tone = if refused.is_empty() { Tone::Relay } else { Tone::Warn };
            let not = if refused.is_empty() { String::new() } else { format!("; refused: {refused}") };
            (tone, format!("{policy} asks for {wants}; granted: {granted}{not}"))
        }
        Notice::PolicyChanged { pins, was, cause } => (Tone::Relay, changed(pins, was, *cause)),
        Notice::PolicyTakenBack { policy, to, again, faults, because } => {
            let again = if *again { " again" } else { "" };
            let then: String = to.then.iter().map(|link| format!(", then {}", link.policy)).collect();
            let text = format!(
                "{policy} is taken back after {} in a row ({}); {} decides {}{again}{then}",
                count(*faults, "fault"),
                one_line(because),
                to.policy,
                to.capability
            );
            (Tone::Warn, text)
        }
        Notice::PolicyRefused { policy, why } => {
            (Tone::Warn, format!("{policy} was not put in place, nothing has changed: {}", one_line(why)))
        }
        _ => (Tone::Plain, String::new()),
    }
}

/// Who decides what from now on, and instead of whom.
fn changed(pins: &[Pin], was: &[String], cause: ChangeCause) -> String {
    let mut said: Vec<String> = Vec::new();
    for group in pins.chunk_by(|a, b| a.component == b.component && a.scope == b.scope) {
        let what: Vec<_> = group.iter().map(|pin| pin.capability.name()).collect();
        let Some(pin) = group.first() else { continue };
        let place = match &pin.scope {
            Scope::Run => String::new(),
            Scope::Role { role } => format!(" for {role}"),
            Scope::Phase { phase } => format!(" in {phase}"),
            Scope::Shadow { .. } => " as a shadow, which changes nothing,".to_owned(),
        };
        said.push(format!("{}@{} decides {}{place}", pin.policy, pin.component.short(), what.join(", ")));
    }
    let instead = if was.is_empty() { String::new() } else { format!(", instead of {}", was.join(", ")) };
    let why = match cause {
        ChangeCause::Command => "",
        ChangeCause::File => "; its file has changed",
        ChangeCause::Rollback => "; rolled back",
    };
    format!("{} from now on{instead}{why}", said.join(", "))
}

/// A text with the paths of files below the workspace as they are from there.
pub(crate) fn from_workspace(text: &str, workspace: &str) -> String {
    match workspace {
        "" | "/" => text.to_owned(),
        folder => text.replace(&format!("{}/", folder.trim_end_matches('/')), ""),
    }
}

/// What a prompt is for.
pub(crate) fn prompted(kind: BriefKind, focus: &str) -> String {
    match kind {
        BriefKind::First => format!("first: {focus}"),
        BriefKind::Next => format!("next: {focus}"),
        BriefKind::Continuing => format!("goes on from the handoff: {focus}"),
        BriefKind::ReOriented => format!("where it stands, after making room: {focus}"),
        BriefKind::Nudged => format!("asked again: {focus}"),
        BriefKind::Reviewing => format!("to be reviewed: {focus}"),
        BriefKind::Merging => format!("bring it to an end: {focus}"),
    }
}

/// The word for a session that stopped. The contract's verdicts are words already; two of them are longer than the column.
fn stop_word(verdict: &str) -> &'static str {
    match verdict {
        "exhausted" => "exhausted",
        "quota" => "quota",
        "turn-limit" | "budget-limit" => "limit",
        "truncated" => "cut off",
        "stalled" => "stalled",
        "interrupted" => "stopped",
        "failed" => "failed",
        _ => "ended",
    }
}

/// ", up to 25 turns".
fn up_to(max_turns: u32) -> String {
    if max_turns == 0 { String::new() } else { format!(", up to {}", count(max_turns, "turn")) }
}

/// ": 5.9k -> 2.1k tokens", as far as it is known.
fn from_to(before: Option<u64>, after: Option<u64>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => format!(": {} -> {} tokens", tokens(before), tokens(after)),
        (Some(before), None) => format!(": it had {} tokens", tokens(before)),
        (None, Some(after)) => format!(": it has {} tokens", tokens(after)),
        (None, None) => String::new(),
    }
}

/// With a full stop at its end.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

/// Evidence may have been printed by anything: one line, no control characters, and short.
fn one_line(text: &str) -> String {
    /// Enough to recognise any error message.
    const CHARS_MAX: usize = 160;
    let mut line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(CHARS_MAX).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        line.push('…');
    }
    line
}
