//! What a notice says, as one word and a sentence. Layout is `plain`'s and `live`'s; nothing is decided here.

use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::decision::{DecisionSource, Staleness};
use baton_runtime::core::facts::RefusalKind;
use baton_runtime::core::input::{PolicyBinding, PolicyChangeCause};
use baton_runtime::core::observation::PromptKind;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::short_format::first_of;
use baton_runtime::core::view::{HandoffRepair, is_plausible_reset};
use baton_runtime::core::workflow::PolicyScope;
use baton_runtime::core::{PhaseId, SessionId};

use super::permission_hint::{ONLY_ALL, PermissionHint, allowing, not_given};
use super::terminal_style::{TerminalStyle, Tone};
use super::text_format::{
    COMMIT_DIGITS, bytes, choices, committed, context_in_full, count, in_a_line, in_words, is_code, list,
    source, tokens, turns,
};
use crate::location::RunLocation;

/// Files of a conflict that are named; the session that resolves it knows them all.
const FILES_SHOWN: usize = 6;

/// A notice in words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NoticeText {
    /// About which phase.
    pub(crate) phase: Option<PhaseId>,
    /// About which session.
    pub(crate) session: Option<SessionId>,
    /// The kind of the event, in one word.
    pub(crate) word: &'static str,
    /// How it is meant.
    pub(crate) tone: Tone,
    /// The event.
    pub(crate) text: String,
    /// Further lines: evidence, parts, commands for the user.
    pub(crate) more: Vec<String>,
}

/// Puts a notice into words. `run` and `location` give the commands that a person may type next.
pub(crate) fn say(
    notice: &ProgressEvent,
    run: &str,
    location: &RunLocation,
    look: &TerminalStyle,
) -> NoticeText {
    let mut more = Vec::new();
    let workspace = location.config.workspace.to_string_lossy();
    let (word, tone, text) = match notice {
        ProgressEvent::PhaseStarted { title, objectives, .. } => {
            ("phase", Tone::Strong, format!("{title} ({})", count(*objectives, "objective")))
        }
        ProgressEvent::Budgeted { turns: given, of_table, reason, .. } => {
            let text = match of_table {
                0 => count(*given, "turn"),
                table => format!("{} instead of {table}", count(*given, "turn")),
            };
            let reason = if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason)) };
            ("budget", Tone::Plain, format!("{text}{reason}"))
        }
        ProgressEvent::SessionStarted { agent, continuation: 0, max_turns, lead: false, .. } => {
            ("agent", Tone::Plain, format!("{} starts{}", agent.label(), up_to(*max_turns)))
        }
        ProgressEvent::SessionStarted { agent, lead: true, remaining, max_turns, .. } => {
            let text = format!(
                "the lead takes over{} and finishes the rest: a new {}; remaining: {}",
                up_to(*max_turns),
                agent.label(),
                list(remaining)
            );
            ("agent", Tone::Handoff, text)
        }
        ProgressEvent::SessionStarted { agent, continuation, of, remaining, max_turns, .. } => {
            let text = format!(
                "continuation {continuation} of {of}: a new {} takes over{}; remaining: {}",
                agent.label(),
                up_to(*max_turns),
                list(remaining)
            );
            ("agent", Tone::Handoff, text)
        }
        ProgressEvent::Prompted { kind, focus, because, .. } => {
            let because = match because.as_str() {
                "" => String::new(),
                because => format!(", because {}", one_line(&in_words(because))),
            };
            ("prompt", Tone::Dim, format!("{}{because}", prompted(*kind, &list(focus))))
        }
        ProgressEvent::Turn { turns: used, max_turns, occupancy, .. } => {
            let context = context_in_full(occupancy.used_tokens, occupancy.window_tokens, occupancy.source);
            let context = context.trim_start_matches("context ");
            ("context", Tone::Dim, format!("{context}, {}", turns(*used, *max_turns)))
        }
        ProgressEvent::Activity { what, .. } => ("works", Tone::Dim, from_workspace(what, &workspace)),
        ProgressEvent::CommandFailed { command, said, .. } => {
            let said = if said.is_empty() { String::new() } else { format!(": {}", one_line(said)) };
            ("failed", Tone::Warn, from_workspace(&format!("$ {command}{said}"), &workspace))
        }
        ProgressEvent::WriteFailed { path, said, .. } => {
            let said = if said.is_empty() { String::new() } else { format!(": {}", one_line(said)) };
            ("failed", Tone::Warn, from_workspace(&format!("to write {path}{said}"), &workspace))
        }
        ProgressEvent::Said { text, .. } => ("says", Tone::Plain, from_workspace(text, &workspace)),
        ProgressEvent::Warned { occupancy, message, .. } => {
            let context = context_in_full(occupancy.used_tokens, occupancy.window_tokens, occupancy.source);
            ("warning", Tone::Warn, format!("{context}: {} The work continues.", sentence(message)))
        }
        ProgressEvent::ObjectiveDone { objective, basis, judged_by, done, of, .. } => {
            let judged = super::text_format::judged_by(judged_by.as_deref());
            ("done", Tone::Good, format!("{objective} · {}{judged} ({done} of {of})", basis.words()))
        }
        ProgressEvent::NotReviewed { phase } => (
            "review",
            Tone::Warn,
            format!("no review of {phase} gave a score: its work is merged without a review"),
        ),
        ProgressEvent::Unseen { phase, files } => (
            "left out",
            Tone::Warn,
            format!("ignored by git in the tree of {phase}, so not merged: {}", list(files)),
        ),
        ProgressEvent::LeftOut { phase, files } => (
            "left out",
            Tone::Plain,
            format!("made by the commands of {phase}, and not merged: {}", list(files)),
        ),
        ProgressEvent::OutputOmitted { session, events, text_bytes, .. } => (
            "left out",
            Tone::Warn,
            format!(
                "{session} prints faster than the journal can store: {} of its text and {events} of its events were \
                 left out. The end of its text is kept",
                bytes(*text_bytes)
            ),
        ),
        ProgressEvent::Refused { session, refusal, .. } if refusal.kind == RefusalKind::Call => {
            more.extend(match allowing(&refusal.target) {
                Some(PermissionHint::Flag(flag)) => Some(format!(
                    "allowed by {flag} of a new run, of `baton resume` and of `baton answer … --resume`, or by `allow` in \
                     the role"
                )),
                Some(PermissionHint::OnlyAllCommands) => Some(ONLY_ALL.to_owned()),
                None => None,
            });
            let call = from_workspace(&refusal.target, &workspace);
            ("refused", Tone::Warn, format!("{session} may not call {call}: its role does not allow it"))
        }
        ProgressEvent::Refused { session, refusal, .. } => {
            ("refused", Tone::Warn, format!("{session} is not allowed to {refusal}: {}", not_given(refusal)))
        }
        ProgressEvent::AgentRetries { code, status, text, .. } => {
            let why = retry_cause(code, *status);
            let status = status.map(|status| format!(", {status}")).unwrap_or_default();
            let reason = match code.is_empty() {
                true => String::new(),
                false => format!(" ({}{status})", one_line(&in_words(code))),
            };
            let text = one_line(text);
            ("retries", Tone::Warn, format!("{why}{reason}: {text}"))
        }
        ProgressEvent::CommittedToBranch { commit, left, by_checks, .. } => {
            for (why, files) in [("changed before the run began", left), ("made while checking", by_checks)] {
                if !files.is_empty() {
                    more.push(format!("not committed, since {why}: {}", first_of(files, FILES_SHOWN)));
                }
            }
            let on = if commit.branch.is_empty() { String::new() } else { format!(" on {}", commit.branch) };
            ("commit", Tone::Good, format!("{}{on}", committed(commit)))
        }
        ProgressEvent::NotCommitted { why, .. } => ("commit", Tone::Warn, format!("not committed: {why}")),
        ProgressEvent::SplitDeclined { because, .. } => {
            ("split", Tone::Warn, format!("not split, as its agent asked: {because}"))
        }
        ProgressEvent::Reopened { objective, because, .. } => {
            ("reopened", Tone::Warn, format!("{objective} is open again: {because}"))
        }
        ProgressEvent::Compacting { reason, .. } => {
            ("compact", Tone::Handoff, format!("making room in the context: {reason}"))
        }
        ProgressEvent::Compacted { asked, before, after, .. } => {
            let who = if *asked { "" } else { ", by the agent itself" };
            ("compact", Tone::Handoff, format!("context made shorter{}{who}", from_to(*before, *after)))
        }
        ProgressEvent::CompactionFailed { text, .. } => {
            ("compact", Tone::Warn, format!("the context did not get shorter: {text}"))
        }
        ProgressEvent::Stopped { verdict, evidence, reason, .. } => {
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
                if verdict == "exhausted" { Tone::Handoff } else { Tone::Warn },
                in_words(reason),
            )
        }
        ProgressEvent::HandedOff { path, remaining, .. } => {
            let remaining = match remaining.as_slice() {
                [] => "every objective is done".to_owned(),
                remaining => format!("remaining: {}", list(remaining)),
            };
            ("handoff", Tone::Handoff, format!("written to {path}; {remaining}"))
        }
        ProgressEvent::HandoffRepaired { score, by, findings, repair, .. } => {
            more.extend(findings.iter().map(|finding| match finding.line {
                None => format!("finding: {}", one_line(&finding.text)),
                Some(line) => format!("finding: line {line}: {}", one_line(&finding.text)),
            }));
            let why = match score {
                Some(score) => {
                    let by = super::text_format::by_policy(by.as_deref());
                    format!("refused{by} with {score} of 100 points")
                }
                None => "kept back".to_owned(),
            };
            let done = match repair {
                HandoffRepair::Plain => "the host wrote a plain one from facts",
                HandoffRepair::FromFacts | HandoffRepair::None => {
                    "it was written again from facts, without text of agents"
                }
            };
            ("handoff", Tone::Warn, format!("the document was {why}; {done}. Nothing is lost"))
        }
        ProgressEvent::HandoffReviewed { path, staleness, commits_since, .. } => {
            let tone = if *staleness == Staleness::Fresh { Tone::Dim } else { Tone::Warn };
            let word = staleness.name().replace('-', " ");
            ("handoff", tone, format!("{path} is {word}: {} since", count(*commits_since, "commit")))
        }
        ProgressEvent::QuotaWait {
            cause, since, until, retry_at, time, by_itself, said, judged_by, ..
        } => {
            // The agent's own words say more than the cause, and are shown if Baton waits for it.
            let said =
                if said.is_empty() { String::new() } else { format!("\"{}\"; ", one_line(&in_words(said))) };
            let waits = match (until, retry_at) {
                (Some(until), _) if !is_plausible_reset(*since, *until) => {
                    let until = look.day_and_time(*until);
                    format!("the agent names an implausible reset at {until}; it tries again by itself")
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
            let judged = super::text_format::judged_by(judged_by.as_deref());
            ("quota", Tone::Warn, format!("{cause}: {waits}{judged} (not counted as time)"))
        }
        ProgressEvent::QuotaOver { waited, is_try: true, .. } => {
            ("quota", Tone::Plain, format!("waited {waited} (not counted); trying again"))
        }
        ProgressEvent::QuotaOver { waited, .. } => {
            ("quota", Tone::Plain, format!("the agent waited {waited} (not counted)"))
        }
        ProgressEvent::Retrying { attempt, of, after, because, .. } => {
            let when = if after.0 == 0 { "now".to_owned() } else { format!("in {after}") };
            ("retry", Tone::Warn, format!("{attempt} of {of} {when}: {}", in_words(because)))
        }
        ProgressEvent::Split { phase, sub_phases, objectives, reason, at_once } => {
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
            ("split", Tone::Handoff, text)
        }
        ProgressEvent::Merged { phase, into, files } => {
            ("merge", Tone::Good, format!("merged {phase} into {into} ({})", count(*files, "file")))
        }
        ProgressEvent::Conflict { phase, into, files } => {
            more.extend(files.iter().take(FILES_SHOWN).cloned());
            let beyond = files.len().saturating_sub(FILES_SHOWN);
            more.extend((beyond > 0).then(|| format!("and {beyond} more")));
            let what = match phase == into {
                true => format!("changes made meanwhile where {into} began"),
                false => format!("the work of {phase}"),
            };
            (
                "conflict",
                Tone::Warn,
                format!("merge conflict between {what} and {into}; a session resolves it"),
            )
        }
        ProgressEvent::Landed { commit, committed, files, .. } => {
            let commit = commit.get(..COMMIT_DIGITS).unwrap_or(commit);
            let files = count(*files, "file");
            let text = match committed {
                true => format!("landed on the workspace: commit {commit}, {files}"),
                false => format!("landed on the workspace: {files}, next to uncommitted work"),
            };
            ("landed", Tone::Good, text)
        }
        ProgressEvent::KeptApart { tree, .. } => {
            ("apart", Tone::Warn, format!("its work is not merged; it is kept on the branch of {tree}"))
        }
        ProgressEvent::Reviewed { score, passed, summary, .. } => {
            let (tone, word) = if *passed { (Tone::Good, "passed") } else { (Tone::Bad, "not enough") };
            let summary = one_line(summary);
            let colon = if summary.is_empty() { "" } else { ": " };
            ("review", tone, format!("{score} of 100, {word}{colon}{summary}"))
        }
        ProgressEvent::Iterating { from, iteration, of, .. } => {
            ("loop", Tone::Handoff, format!("repeats from {from}, round {iteration} of {of}"))
        }
        ProgressEvent::CheckingFirst { command, .. } => {
            ("verify", Tone::Dim, format!("runs `{}` once before the work", one_line(command)))
        }
        ProgressEvent::CheckedFirst { passed: true, .. } => {
            ("verify", Tone::Dim, "it passes before the work, so passing later proves nothing".to_owned())
        }
        ProgressEvent::CheckedFirst { code, .. } => {
            let how = code.map_or("was ended by a signal".to_owned(), |code| format!("ended with {code}"));
            ("verify", Tone::Dim, format!("before the work it {how}"))
        }
        ProgressEvent::Verified { passed: true, attempt, .. } => {
            let again = if *attempt > 1 { format!(" at attempt {attempt}") } else { String::new() };
            ("verify", Tone::Good, format!("the verification passed{again}"))
        }
        ProgressEvent::Verified { code, attempt, .. } => {
            let how = code.map_or("was ended by a signal".to_owned(), |code| format!("ended with {code}"));
            ("verify", Tone::Bad, format!("the verification {how} (attempt {attempt})"))
        }
        ProgressEvent::PhaseDone { .. } => ("phase", Tone::Good, "done".to_owned()),
        ProgressEvent::CheckChanged { command, files, .. } => {
            ("verify", Tone::Warn, modified_check(command, files))
        }
        ProgressEvent::FellBack { .. }
        | ProgressEvent::PolicyWants { .. }
        | ProgressEvent::PolicyChanged { .. }
        | ProgressEvent::PolicyTakenBack { .. }
        | ProgressEvent::PolicyRefused { .. } => {
            let (tone, text) = about_policies(notice);
            ("policy", tone, text)
        }
        ProgressEvent::ReportRefused { file, why } => {
            ("report", Tone::Warn, format!("{file} was rejected: {why}"))
        }
        ProgressEvent::NotTold { event, why } => {
            ("notify", Tone::Warn, format!("notification `{event}` failed: {}", one_line(why)))
        }
        ProgressEvent::Paused { question, text, choices: answers, .. } => {
            let example = answers.first().map_or("CHOICE", |choice| choice.name());
            more.push(format!(
                "answer with {}: baton answer {run} {example} --question {question} --resume{}",
                choices(answers),
                location.flags
            ));
            ("question", Tone::Warn, format!("{question}: {text}"))
        }
        ProgressEvent::Answered { question, choice } => {
            ("answer", Tone::Good, format!("{question}: {}", choice.name()))
        }
        ProgressEvent::Resumed { lost } if lost.is_empty() => {
            ("resume", Tone::Handoff, "run resumed".to_owned())
        }
        ProgressEvent::Resumed { lost } => (
            "resume",
            Tone::Handoff,
            format!(
                "run resumed; {} {} died with the previous Baton process",
                if lost.len() == 1 { "session" } else { "sessions" },
                list(lost)
            ),
        ),
        ProgressEvent::Finished { ending } => match ending {
            RunOutcome::Done => ("finish", Tone::Good, "every objective is done".to_owned()),
            RunOutcome::Unfinished => ("finish", Tone::Bad, "some objectives stay open".to_owned()),
            RunOutcome::Interrupted => ("finish", Tone::Warn, "stopped; everything is kept".to_owned()),
        },
    };
    let (phase, session) = about(notice);
    // Text of a policy or an agent must not begin a line.
    let (text, more) = (in_a_line(&text), more.iter().map(|line| in_a_line(line)).collect());
    NoticeText { phase, session, word, tone, text, more }
}

/// What the provider says, where its status or code is plain; what follows from it is the policy's to say.
fn retry_cause(code: &str, status: Option<u16>) -> &'static str {
    match matches!(status, Some(401 | 403)) || code.starts_with("authentication") {
        true => "the provider rejects its login or key",
        false => "unexpected reply from the provider",
    }
}

/// Which phase and session a notice is about.
fn about(notice: &ProgressEvent) -> (Option<PhaseId>, Option<SessionId>) {
    match notice {
        ProgressEvent::SessionStarted { phase, session, .. }
        | ProgressEvent::Prompted { phase, session, .. }
        | ProgressEvent::Turn { phase, session, .. }
        | ProgressEvent::Activity { phase, session, .. }
        | ProgressEvent::CommandFailed { phase, session, .. }
        | ProgressEvent::WriteFailed { phase, session, .. }
        | ProgressEvent::Said { phase, session, .. }
        | ProgressEvent::Warned { phase, session, .. }
        | ProgressEvent::OutputOmitted { phase, session, .. }
        | ProgressEvent::Refused { phase, session, .. }
        | ProgressEvent::AgentRetries { phase, session, .. }
        | ProgressEvent::Compacting { phase, session, .. }
        | ProgressEvent::Compacted { phase, session, .. }
        | ProgressEvent::CompactionFailed { phase, session, .. }
        | ProgressEvent::Stopped { phase, session, .. }
        | ProgressEvent::HandedOff { phase, session, .. }
        | ProgressEvent::HandoffRepaired { phase, session, .. }
        | ProgressEvent::QuotaWait { phase, session, .. }
        | ProgressEvent::QuotaOver { phase, session, .. } => (Some(phase.clone()), Some(session.clone())),
        ProgressEvent::PhaseStarted { phase, .. }
        | ProgressEvent::Budgeted { phase, .. }
        | ProgressEvent::ObjectiveDone { phase, .. }
        | ProgressEvent::Reopened { phase, .. }
        | ProgressEvent::NotReviewed { phase }
        | ProgressEvent::LeftOut { phase, .. }
        | ProgressEvent::Unseen { phase, .. }
        | ProgressEvent::CommittedToBranch { phase, .. }
        | ProgressEvent::NotCommitted { phase, .. }
        | ProgressEvent::SplitDeclined { phase, .. }
        | ProgressEvent::HandoffReviewed { phase, .. }
        | ProgressEvent::Retrying { phase, .. }
        | ProgressEvent::Split { phase, .. }
        | ProgressEvent::Merged { phase, .. }
        | ProgressEvent::Conflict { phase, .. }
        | ProgressEvent::Landed { phase, .. }
        | ProgressEvent::KeptApart { phase, .. }
        | ProgressEvent::Reviewed { phase, .. }
        | ProgressEvent::Iterating { by: phase, .. }
        | ProgressEvent::CheckingFirst { phase, .. }
        | ProgressEvent::CheckedFirst { phase, .. }
        | ProgressEvent::Verified { phase, .. }
        | ProgressEvent::CheckChanged { phase, .. }
        | ProgressEvent::PhaseDone { phase } => (Some(phase.clone()), None),
        ProgressEvent::Paused { phase, .. } => (phase.clone(), None),
        ProgressEvent::FellBack { .. }
        | ProgressEvent::PolicyWants { .. }
        | ProgressEvent::PolicyChanged { .. }
        | ProgressEvent::PolicyTakenBack { .. }
        | ProgressEvent::PolicyRefused { .. }
        | ProgressEvent::ReportRefused { .. }
        | ProgressEvent::NotTold { .. }
        | ProgressEvent::Answered { .. }
        | ProgressEvent::Resumed { .. }
        | ProgressEvent::Finished { .. } => (None, None),
    }
}

/// What a notice says about who decides; nothing where it is about something else.
pub(crate) fn about_policies(notice: &ProgressEvent) -> (Tone, String) {
    match notice {
        ProgressEvent::FellBack { capability, by, policy, because } => {
            let role = match by {
                DecisionSource::Configured => "the configured policy",
                DecisionSource::Next => "the next policy of its chain",
                DecisionSource::LastGood => "the last one without a fault",
                DecisionSource::BuiltIn => "the built-in policy",
                DecisionSource::HostFallback => "the host itself, which keeps going or pauses",
                DecisionSource::Recording => "the recording that the run was made from",
            };
            let by = if policy.is_empty() { role.to_owned() } else { format!("{policy}, {role}") };
            (Tone::Warn, format!("{capability} was decided by {by}: {because}"))
        }
        ProgressEvent::PolicyWants { policy, wants, granted, refused } => {
            let tone = if refused.is_empty() { Tone::Handoff } else { Tone::Warn };
            let not = if refused.is_empty() { String::new() } else { format!("; refused: {refused}") };
            (tone, format!("{policy} asks for {wants}; granted: {granted}{not}"))
        }
        ProgressEvent::PolicyChanged { bindings, was, cause } => changed(bindings, was, *cause),
        ProgressEvent::PolicyTakenBack { policy, to, again, faults, because } => {
            let again = if *again { " again" } else { "" };
            let then: String = to.then.iter().map(|link| format!(", then {}", link.policy)).collect();
            let text = format!(
                "{policy} is replaced after {} in a row ({}); {} decides {}{again}{then}",
                count(*faults, "fault"),
                one_line(because),
                to.policy,
                to.capability
            );
            (Tone::Warn, text)
        }
        ProgressEvent::PolicyRefused { policy, why } => {
            (Tone::Warn, format!("{policy} was refused, nothing has changed: {}", one_line(why)))
        }
        _ => (Tone::Plain, String::new()),
    }
}

/// Who decides what from now on, and instead of whom.
fn changed(bindings: &[PolicyBinding], was: &[String], cause: PolicyChangeCause) -> (Tone, String) {
    let mut said: Vec<String> = Vec::new();
    for group in bindings.chunk_by(|a, b| a.component == b.component && a.scope == b.scope) {
        let what: Vec<_> = group.iter().map(|binding| binding.capability.name()).collect();
        let Some(PolicyBinding { policy, component, scope, .. }) = group.first() else { continue };
        let place = match scope {
            PolicyScope::Run => String::new(),
            PolicyScope::Role { role } => format!(" for {role}"),
            PolicyScope::Phase { phase } => format!(" in {phase}"),
            PolicyScope::Shadow { .. } => " as a shadow, which changes nothing,".to_owned(),
        };
        said.push(format!("{policy}@{} decides {}{place}", component.short(), what.join(", ")));
    }
    let instead = if was.is_empty() { String::new() } else { format!(", instead of {}", was.join(", ")) };
    let why = match cause {
        PolicyChangeCause::Command => "",
        PolicyChangeCause::File => "; its file has changed",
        PolicyChangeCause::Rollback => "; rolled back",
    };
    (Tone::Handoff, format!("{} from now on{instead}{why}", said.join(", ")))
}

/// A text with the paths of files below the workspace as they are from there.
pub(crate) fn from_workspace(text: &str, workspace: &str) -> String {
    match workspace {
        "" | "/" => text.to_owned(),
        folder => text.replace(&format!("{}/", folder.trim_end_matches('/')), ""),
    }
}

/// The purpose of a prompt.
pub(crate) fn prompted(kind: PromptKind, focus: &str) -> String {
    match kind {
        PromptKind::First => format!("first: {focus}"),
        PromptKind::Next => format!("next: {focus}"),
        PromptKind::Continuing => format!("continues from the handoff: {focus}"),
        PromptKind::ReOriented => format!("re-orienting after compaction: {focus}"),
        PromptKind::Nudged => format!("retrying: {focus}"),
        PromptKind::Reviewing => format!("review of: {focus}"),
        PromptKind::Merging => format!("finish the merge: {focus}"),
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

/// That what a check shows is the work's own word, since it runs files that the work changed.
pub(crate) fn modified_check(command: &str, files: &[String]) -> String {
    let (files, command) = (one_line(&first_of(files, FILES_SHOWN)), one_line(command));
    format!("this work changed {files}, which its check `{command}` runs")
}

/// Evidence may have been printed by anything: one line, no control characters, and short.
fn one_line(text: &str) -> String {
    const CHARS_MAX: usize = 160; // Enough to recognise any error message.
    let mut line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(CHARS_MAX).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        line.push('…');
    }
    line
}
