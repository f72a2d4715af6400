//! Numbers, states and names in the words that every view uses. One place, so that they read the same everywhere.

use std::collections::BTreeMap;

use baton_runtime::core::UnixMs;
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::decision::Evidence;
use baton_runtime::core::facts::{OccupancySource, SignalSource, TokenUsage};
use baton_runtime::core::grants::Grants;
use baton_runtime::core::input::PauseAnswer;
use baton_runtime::core::observation::{Capability, ObjectiveStatus};
pub(crate) use baton_runtime::core::short_format::{dollars as money, first_of, format_tokens as tokens};
use baton_runtime::core::view::{
    CommitSummary, PhaseStatus, PhaseSummary, PolicyDecisionsSummary, PolicyFailureSummary, RunStatus,
    RunView, SessionSummary,
};
use baton_runtime::core::workflow::{ConfigLayer, GivenSetting, SettingValue, Workflow};

use super::terminal_style::{TerminalStyle, Tone};

/// Words of others in one line: they begin none, so none of them is taken for a line of Baton's own. What else a terminal would obey is
/// made visible where it is printed.
pub(crate) fn in_a_line(text: &str) -> String {
    let breaks = |c| matches!(c, '\t'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    text.chars().map(|c| if breaks(c) { ' ' } else { c }).collect()
}

/// Whether a text is the name that a program has for something, such as "prompt_too_long" or "usageLimitExceeded".
pub(crate) fn is_code(text: &str) -> bool {
    let is_joined = text.contains('_') && !text.starts_with('_') && !text.ends_with('_');
    let is_camel =
        text.starts_with(|c: char| c.is_ascii_lowercase()) && text.contains(|c: char| c.is_ascii_uppercase());
    (is_joined || is_camel) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A reason with the code of an agent in it as words: "the cap was reached: max_turns" is "the cap was reached: max turns". Where the
/// agent's words are behind a code, they stand for it. `baton log` has the code.
pub(crate) fn in_words(reason: &str) -> String {
    if is_code(reason) {
        return code_as_words(reason);
    }
    if let Some((what, code)) = reason.split_once(ENDED_WITH)
        && let Some((code, rest)) = code.split_once('"')
        && is_code(code)
    {
        return format!("{what}{ENDED_WITH}{}\"{rest}", code_as_words(code));
    }
    let Some((what, said)) = reason.split_once(": ") else { return reason.to_owned() };
    let (code, rest) = said.split_once(' ').unwrap_or((said, ""));
    if !is_code(code) {
        return reason.to_owned();
    }
    match rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(words) => format!("{what}: {words}"),
        None if rest.is_empty() => format!("{what}: {}", code_as_words(code)),
        None => reason.to_owned(),
    }
}

/// How the built-in policy names the code with which an agent ended, if that is all it knows.
const ENDED_WITH: &str = "ended with \"";

/// The words of a code: "prompt too long".
fn code_as_words(code: &str) -> String {
    let mut words = String::new();
    for c in code.chars() {
        if c.is_ascii_uppercase() && !words.is_empty() && !words.ends_with(' ') {
            words.push(' ');
        }
        words.push(if c == '_' { ' ' } else { c.to_ascii_lowercase() });
    }
    words
}

/// Enough of a commit to find it.
pub(crate) const COMMIT_DIGITS: usize = 12;

/// Bytes: "850 B", "1.2 kB", "3.4 MB".
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        _ => format!("{:.1} MB", n as f64 / 1e6),
    }
}

/// Share of the window in whole percent, rounded as policies round it in their sentences.
pub(crate) fn percent(used_tokens: u64, window_tokens: u64) -> u64 {
    let hundredfold = used_tokens.saturating_mul(100).saturating_add(window_tokens / 2);
    hundredfold.checked_div(window_tokens).unwrap_or(0)
}

/// "61% (122k)"; "122k / ?" where the size of the window is unknown; "?" if nothing is known.
pub(crate) fn context(used: Option<u64>, window: Option<u64>, source: OccupancySource) -> String {
    let about = if source == OccupancySource::Estimate { "~" } else { "" };
    match (used, window) {
        (Some(used), Some(window)) if window > 0 => {
            format!("{about}{}% ({})", percent(used, window), tokens(used))
        }
        (Some(used), _) => format!("{about}{} / ?", tokens(used)),
        (None, _) => "?".to_owned(),
    }
}

/// The same for a sentence: "context 61% (4.9k of 8.0k)".
pub(crate) fn context_in_full(used: Option<u64>, window: Option<u64>, source: OccupancySource) -> String {
    let about = if source == OccupancySource::Estimate { "about " } else { "" };
    match (used, window) {
        (Some(used), Some(window)) if window > 0 => {
            format!("context {about}{}% ({} of {})", percent(used, window), tokens(used), tokens(window))
        }
        (Some(used), _) => format!("context {about}{}, of a window of unknown size", tokens(used)),
        (None, _) => "context unknown".to_owned(),
    }
}

/// "3 of 25 turns", "3 turns" where there is no cap.
pub(crate) fn turns(used: u32, max: u32) -> String {
    if max == 0 { count(used, "turn") } else { format!("{used} of {}", count(max, "turn")) }
}

/// A layer in which something was written.
pub(crate) fn layer(layer: ConfigLayer) -> &'static str {
    match layer {
        ConfigLayer::BuiltIn => "built in",
        ConfigLayer::User => "user",
        ConfigLayer::Workspace => "workspace",
        ConfigLayer::Workflow => "workflow",
        ConfigLayer::Role => "role",
        ConfigLayer::Phase => "phase",
        ConfigLayer::Experiment => "experiment",
        ConfigLayer::Command => "command",
    }
}

/// The value of a setting, as it is written in a file.
pub(crate) fn setting(value: &SettingValue) -> String {
    let quoted = |text: &String| format!("{text:?}");
    match value {
        SettingValue::Flag(flag) => flag.to_string(),
        SettingValue::Integer(number) => number.to_string(),
        SettingValue::Number(number) => format!("{number:?}"),
        SettingValue::Text(text) => quoted(text),
        SettingValue::Texts(texts) => {
            format!("[{}]", texts.iter().map(quoted).collect::<Vec<_>>().join(", "))
        }
    }
}

/// A setting as it was given, as it is written in a file.
pub(crate) fn given(given: &GivenSetting) -> String {
    let list = |key, texts: &Vec<String>| {
        (!texts.is_empty()).then(|| format!("{key} = {}", setting(&SettingValue::Texts(texts.clone()))))
    };
    match given {
        GivenSetting::Value(value) => setting(value),
        GivenSetting::Edit(edit) => {
            let parts = [list("add", &edit.add), list("remove", &edit.remove)];
            format!("{{ {} }}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
        }
    }
}

/// "artifacts reports/*, 40000000 fuel, 128 MiB"; empty where nothing is in it.
pub(crate) fn grants(grants: &Grants) -> String {
    let artifacts =
        (!grants.artifacts.is_empty()).then(|| format!("artifacts {}", grants.artifacts.join(", ")));
    let fuel = grants.fuel.map(|fuel| format!("{fuel} fuel"));
    let memory = grants.memory_mib.map(|mib| format!("{mib} MiB"));
    [artifacts, fuel, memory].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// "1 turn", "2 turns".
pub(crate) fn count(n: u32, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// The same of as many things as there are in memory.
pub(crate) fn counted(n: usize, thing: &str) -> String {
    count(u32::try_from(n).unwrap_or(u32::MAX), thing)
}

/// "a, b, c".
pub(crate) fn list<T: ToString>(things: &[T]) -> String {
    things.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// "bad failed on 12 of 12 questions that it did not abstain from; resilience answered".
pub(crate) fn policy_failure(row: &PolicyFailureSummary) -> String {
    let PolicyFailureSummary { policy, failed, answered, instead, .. } = row;
    let questions = count(failed.saturating_add(*answered), "question");
    let instead: Vec<&str> =
        instead.iter().map(|name| if name == "native" { "the host" } else { name }).collect();
    format!(
        "{policy} failed on {failed} of {questions} from which it did not abstain; {} answered",
        list(&instead)
    )
}

/// Who decided in a run, a line each; nothing where one policy decided everything.
pub(crate) fn policy_decisions(rows: &[PolicyDecisionsSummary]) -> Vec<String> {
    match rows {
        [only] if only.abstained.is_empty() => Vec::new(),
        rows => rows.iter().map(decisions_of).collect(),
    }
}

/// "growth made 14 decisions (exhaustion 13, compaction 1) and abstained from 3 questions (splitting 3)".
fn decisions_of(row: &PolicyDecisionsSummary) -> String {
    let counted = |of: &BTreeMap<Capability, u32>, thing: &str| {
        let all = of.values().fold(0, |sum: u32, n| sum.saturating_add(*n));
        let each: Vec<String> = of.iter().map(|(what, n)| format!("{what} {n}")).collect();
        format!("{} ({})", count(all, thing), each.join(", "))
    };
    let PolicyDecisionsSummary { policy, decided, abstained, .. } = row;
    match (decided.is_empty(), abstained.is_empty()) {
        (_, true) => format!("{policy} made {}", counted(decided, "decision")),
        (true, false) => {
            format!("{policy} decided nothing: it abstained from {}", counted(abstained, "question"))
        }
        (false, false) => format!(
            "{policy} made {} and abstained from {}",
            counted(decided, "decision"),
            counted(abstained, "question")
        ),
    }
}

/// "retry, skip or stop".
pub(crate) fn choices(choices: &[PauseAnswer]) -> String {
    match choices {
        [] => String::new(),
        [only] => only.name().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(|choice| choice.name()).collect();
            format!("{} or {}", first.join(", "), last.name())
        }
    }
}

/// What was billed by these sessions. It is a lower bound where a prompt was cut off before its agent had said what it took, or where
/// tokens have no price: "at least 785k tokens, at least $0.28 (219k tokens without a price, 1 prompt cut off)".
pub(crate) fn billed_of<'a>(
    all: &TokenUsage,
    sessions: impl IntoIterator<Item = &'a SessionSummary>,
) -> String {
    let sums = sessions.into_iter().fold((0_u64, 0_u32), |(unpriced, cut), session| {
        (unpriced.saturating_add(session.unpriced_tokens), cut.saturating_add(session.cut_prompts))
    });
    let (unpriced, cut) = match all.cost_microusd {
        Some(_) => sums,
        None => (0, sums.1),
    };
    let bound = |is_less: bool| if is_less { "at least " } else { "" };
    let billed = match (all.tokens(), all.cost_microusd) {
        (0, None) if cut > 0 => "tokens unknown".to_owned(),
        (n, None) => format!("{}{} tokens", bound(cut > 0), tokens(n)),
        (n, Some(cost)) => {
            let price = format!("{}{}", bound(cut > 0 || unpriced > 0), money(cost));
            match n {
                0 if cut > 0 => format!("tokens unknown, {price}"),
                n => format!("{}{} tokens, {price}", bound(cut > 0), tokens(n)),
            }
        }
    };
    let why = [
        (unpriced > 0).then(|| format!("{} tokens without a price", tokens(unpriced))),
        (cut > 0).then(|| format!("{} cut off", count(cut, "prompt"))),
    ];
    let why: Vec<String> = why.into_iter().flatten().collect();
    if why.is_empty() { billed } else { format!("{billed} ({})", why.join(", ")) }
}

/// The same where there is less room: "785k tokens, ≥ $0.28".
pub(crate) fn billed_of_run(view: &RunView) -> String {
    let is_cut = view.phases.iter().flat_map(|phase| &phase.sessions).any(|session| session.cut_prompts > 0);
    let tokens = match view.billed.tokens() {
        0 if is_cut => "tokens unknown".to_owned(),
        n => format!("{}{} tokens", if is_cut { "≥ " } else { "" }, tokens(n)),
    };
    match view.billed.cost_microusd {
        Some(cost) if is_cut || unpriced_of(view) > 0 => format!("{tokens}, ≥ {}", money(cost)),
        Some(cost) => format!("{tokens}, {}", money(cost)),
        None => tokens,
    }
}

/// What a person should know of a ceiling of cost that does not see every agent; nothing where it does.
pub(crate) fn cost_ceiling_warning(workflow: &Workflow) -> Option<String> {
    let agents = workflow.unpriced_agents();
    let name = if agents.len() == 1 { "names" } else { "name" };
    (!agents.is_empty()).then(|| {
        let agents = agents.join(" and ");
        format!("`cost_usd` does not count the cost of {agents}: {agents} {name} no price; `tokens` in [limits] counts every agent")
    })
}

/// Tokens of a run for which no price was named.
pub(crate) fn unpriced_of(view: &RunView) -> u64 {
    view.phases.iter().flat_map(|phase| &phase.sessions).map(|session| session.unpriced_tokens).sum()
}

/// What differs: "3 files, +120 −7".
pub(crate) fn lines_changed(files: u32, added: u64, removed: u64) -> String {
    format!("{}, +{added} −{removed}", count(files, "file"))
}

/// "1f2e3d4 Move the parser (3 files, +120 −7)".
pub(crate) fn committed(commit: &CommitSummary) -> String {
    let id: String = commit.id.chars().take(COMMIT_DIGITS).collect();
    format!("{id} {} ({})", commit.subject, lines_changed(commit.files, commit.added, commit.removed))
}

/// " by the policy strict.wasm"; nothing if it was Baton's own.
pub(crate) fn by_policy(policy: Option<&str>) -> String {
    policy.map_or_else(String::new, |policy| format!(" by the policy {policy}"))
}

/// ", as the policy lenient.wasm judged"; nothing if Baton's own did.
pub(crate) fn judged_by(policy: Option<&str>) -> String {
    policy.map_or_else(String::new, |policy| format!(", as the policy {policy} judged"))
}

/// Where a piece of evidence came from.
pub(crate) fn source(evidence: &Evidence) -> &'static str {
    match evidence.channel {
        // It names no signal, so nothing in the journal shows it.
        _ if evidence.seq.is_none() => "the policy says",
        SignalSource::AgentEvent => "the agent reports",
        SignalSource::ProviderError => "the provider says",
        SignalSource::AgentText => "the agent writes",
        SignalSource::Terminal => "on its terminal",
        SignalSource::ToolOutput => "a tool printed",
    }
}

/// Where an objective stands.
pub(crate) fn objective(status: ObjectiveStatus) -> (&'static str, Tone) {
    match status {
        ObjectiveStatus::Open => ("open", Tone::Plain),
        ObjectiveStatus::InProgress => ("in progress", Tone::Plain),
        ObjectiveStatus::Done => ("done", Tone::Good),
        ObjectiveStatus::Failed => ("failed", Tone::Bad),
    }
}

/// The state of a phase of this run, in the shortest words. No agent works on a phase of a run that was interrupted.
pub(crate) fn phase(row: &PhaseSummary, run: RunStatus) -> (String, Tone) {
    let (word, tone) = match row.status {
        PhaseStatus::Scoping
        | PhaseStatus::Starting
        | PhaseStatus::Working
        | PhaseStatus::Waiting
        | PhaseStatus::Compacting
        | PhaseStatus::HandingOff
        | PhaseStatus::Verifying
        | PhaseStatus::UnderReview
        | PhaseStatus::Merging
            if run == RunStatus::Ended(RunOutcome::Interrupted) =>
        {
            ("interrupted", Tone::Warn)
        }
        PhaseStatus::Pending => ("pending", Tone::Dim),
        PhaseStatus::Scoping => ("scoping", Tone::Plain),
        PhaseStatus::Starting => ("starting", Tone::Plain),
        PhaseStatus::Working => ("working", Tone::Plain),
        PhaseStatus::WaitingApproval => ("waiting:approval", Tone::Warn),
        PhaseStatus::WaitingQuota => ("waiting:quota", Tone::Warn),
        PhaseStatus::Waiting => ("waiting:retry", Tone::Warn),
        PhaseStatus::Compacting => ("compacting", Tone::Plain),
        PhaseStatus::HandingOff => ("handing off", Tone::Handoff),
        PhaseStatus::Verifying => ("verifying", Tone::Plain),
        PhaseStatus::UnderReview => ("under review", Tone::Plain),
        PhaseStatus::Merging => ("merging", Tone::Handoff),
        PhaseStatus::Paused => ("paused", Tone::Warn),
        // A split that is not through yet has no parts to count.
        PhaseStatus::Split if row.split == 0 => ("splitting", Tone::Handoff),
        PhaseStatus::Split => return (format!("split→{}", row.split), Tone::Handoff),
        PhaseStatus::Done => ("done", Tone::Good),
        PhaseStatus::Skipped => ("skipped", Tone::Warn),
    };
    let round = match (row.iteration, row.status) {
        (0 | 1, _) | (_, PhaseStatus::Pending) => String::new(),
        (round, _) => format!(", round {round}"),
    };
    (format!("{word}{round}"), tone)
}

/// What the last check of a phase came to: its commands, and the score of its reviewer.
pub(crate) fn check(row: &PhaseSummary) -> (String, Tone) {
    // While a reviewer looks at it, the last score is of what is no more.
    let score = row.score.filter(|_| row.status != PhaseStatus::UnderReview);
    let score = score.map(|score| format!(" {score}/100")).unwrap_or_default();
    match row.verified {
        Some(true) => (format!("passed{score}"), Tone::Good),
        Some(false) => (format!("failed{score}"), Tone::Bad),
        None => (score.trim_start().to_owned(), Tone::Plain),
    }
}

/// " until 12:05:00", where a phase waits for a quota and a reset is known that can be believed.
pub(crate) fn until(row: &PhaseSummary, look: &TerminalStyle) -> String {
    quota_until(row).map(|until| format!(" until {}", look.short_moment(until))).unwrap_or_default()
}

/// The same as a sentence: "20 waits for a usage limit until 2026-02-15 12:03 (in 3 days)".
pub(crate) fn waits(row: &PhaseSummary, look: &TerminalStyle) -> Option<String> {
    let quota = row.quota.filter(|_| row.status == PhaseStatus::WaitingQuota)?;
    let until = match quota_until(row) {
        Some(until) => format!("until {}", look.moment(until, look.now)),
        None => format!(
            "since {}; no plausible reset is known, so it tries again from time to time",
            look.moment(quota.since, look.now)
        ),
    };
    Some(format!("{} waits for a {} {until}", row.id, quota.cause))
}

fn quota_until(row: &PhaseSummary) -> Option<UnixMs> {
    row.quota.filter(|_| row.status == PhaseStatus::WaitingQuota)?.plausible_until()
}

/// How a run is found, where it is known whether a host works on it: one that was killed has left no word of its end.
pub(crate) fn found(status: RunStatus, live: Option<bool>) -> RunStatus {
    match (status, live) {
        (RunStatus::Running, Some(false)) => RunStatus::Ended(RunOutcome::Interrupted),
        _ => status,
    }
}

/// Where a run stands, in one word.
pub(crate) fn run(status: RunStatus) -> (&'static str, Tone) {
    match status {
        RunStatus::Running => ("running", Tone::Plain),
        RunStatus::Paused => ("paused", Tone::Warn),
        RunStatus::Ended(RunOutcome::Done) => ("done", Tone::Good),
        RunStatus::Ended(RunOutcome::Unfinished) => ("unfinished", Tone::Bad),
        RunStatus::Ended(RunOutcome::Interrupted) => ("interrupted", Tone::Warn),
    }
}

#[cfg(test)]
mod tests {
    use baton_runtime::core::Digest;
    use baton_runtime::core::observation::Capability;

    use super::*;
    use crate::render::{report, terminal_style, test_samples};

    #[test]
    fn words_of_others_begin_no_line_and_are_not_left_out() {
        assert_eq!(in_a_line("a\n## b\r\u{2028}c\u{1b}[2J"), "a ## b  c\u{1b}[2J");
    }

    #[test]
    fn a_code_of_an_agent_is_told_in_words() {
        for (reason, words) in [
            ("prompt_too_long", "prompt too long"),
            ("usageLimitExceeded", "usage limit exceeded"),
            (
                "the context window is used up: prompt_too_long",
                "the context window is used up: prompt too long",
            ),
            (
                "the context window is used up: contextWindowExceeded (Codex ran out of room)",
                "the context window is used up: Codex ran out of room",
            ),
            (
                "the agent ended with \"error_during_execution\"; it printed \"x\"",
                "the agent ended with \"error during execution\"; it printed \"x\"",
            ),
            // Names of files, and quoted words, stay as they are.
            ("no file changed: src/my_file.rs", "no file changed: src/my_file.rs"),
            ("the agent asks: parse_expr is public, is it?", "the agent asks: parse_expr is public, is it?"),
            ("a.b: c", "a.b: c"),
            ("", ""),
        ] {
            assert_eq!(in_words(reason), words);
        }
        assert!(!is_code("Prompt is too long") && !is_code("error") && !is_code("src/a_b.rs"));
    }

    #[test]
    fn context_is_a_number_and_never_a_guess() {
        // D5
        let agent = OccupancySource::Agent;
        assert_eq!(context(Some(122_400), Some(200_000), agent), "61% (122k)");
        assert_eq!(context(Some(122_400), None, agent), "122k / ?");
        assert_eq!(context(None, Some(200_000), agent), "?");
        assert_eq!(context(Some(7_040), Some(8_000), OccupancySource::Estimate), "~88% (7.0k)");
        assert_eq!(context(Some(5), Some(0), agent), "5 / ?");
        assert_eq!(context_in_full(Some(7_040), Some(8_000), agent), "context 88% (7.0k of 8.0k)");
    }

    #[test]
    fn a_price_that_is_known_of_some_tokens_alone_is_a_lower_bound() {
        use crate::render::test_samples;
        let mut view = test_samples::finished();
        view.billed = TokenUsage { input_tokens: 785_000, output_tokens: 0, cost_microusd: Some(280_000) };
        let of = |view: &RunView| {
            let all: Vec<SessionSummary> =
                view.phases.iter().flat_map(|phase| phase.sessions.clone()).collect();
            (billed_of(&view.billed, &all), billed_of_run(view))
        };
        assert_eq!(of(&view), ("785k tokens, $0.28".to_owned(), "785k tokens, $0.28".to_owned()));
        // The first prompt of a session may have a price, and the second one was cut off.
        let set = |view: &mut RunView, unpriced, cut| {
            let session = view.phases.iter_mut().flat_map(|phase| &mut phase.sessions).next().unwrap();
            (session.unpriced_tokens, session.cut_prompts) = (unpriced, cut);
        };
        set(&mut view, 219_000, 0);
        let whole = "785k tokens, at least $0.28 (219k tokens without a price)";
        assert_eq!(of(&view), (whole.to_owned(), "785k tokens, ≥ $0.28".to_owned()));
        set(&mut view, 219_000, 1);
        let whole = "at least 785k tokens, at least $0.28 (219k tokens without a price, 1 prompt cut off)";
        assert_eq!(of(&view), (whole.to_owned(), "≥ 785k tokens, ≥ $0.28".to_owned()));
        set(&mut view, 0, 1);
        let whole = "at least 785k tokens, at least $0.28 (1 prompt cut off)";
        assert_eq!(of(&view), (whole.to_owned(), "≥ 785k tokens, ≥ $0.28".to_owned()));
        view.billed.cost_microusd = None;
        set(&mut view, 785_000, 1);
        assert_eq!(
            of(&view),
            ("at least 785k tokens (1 prompt cut off)".to_owned(), "≥ 785k tokens".to_owned())
        );
        set(&mut view, 785_000, 0);
        assert_eq!(of(&view), ("785k tokens".to_owned(), "785k tokens".to_owned()));
        view.billed = TokenUsage::default();
        set(&mut view, 0, 1);
        assert_eq!(of(&view), ("tokens unknown (1 prompt cut off)".to_owned(), "tokens unknown".to_owned()));
    }

    #[test]
    fn numbers_read_as_people_say_them() {
        assert_eq!(tokens(999), "999");
        assert_eq!(tokens(1_234_567), "1.2M");
        assert_eq!(money(1_234_567), "$1.23");
        assert_eq!(turns(3, 0), "3 turns");
        assert_eq!(turns(1, 25), "1 of 25 turns");
        assert_eq!(
            choices(&[PauseAnswer::Retry, PauseAnswer::Skip, PauseAnswer::Stop]),
            "retry, skip or stop"
        );
    }

    // M3
    #[test]
    fn a_policy_that_failed_is_told_with_how_often_and_who_answered() {
        let mut view = test_samples::finished();
        view.policy_failures = vec![PolicyFailureSummary {
            policy: "bad".to_owned(),
            component: Digest::of("bad"),
            settings: None,
            failed: 12,
            answered: 0,
            instead: vec!["resilience".to_owned()],
        }];
        let said = "bad failed on 12 of 12 questions from which it did not abstain; resilience answered";
        let look = terminal_style::TerminalStyle::bare(100);
        let text = report::report(&look, &view, &test_samples::location(), &report::ReportContext::default());
        assert!(text.contains(said), "{text}");
        let text = report::status(&look, &view, &test_samples::location(), false);
        assert!(text.contains(said), "{text}");
    }

    // M3
    #[test]
    fn who_decided_is_told_below_the_table_if_there_were_several() {
        let mut view = test_samples::finished();
        let row = |policy: &str, decided: &[(Capability, u32)]| PolicyDecisionsSummary {
            policy: policy.to_owned(),
            component: Digest::of(policy),
            settings: None,
            decided: decided.iter().copied().collect(),
            abstained: BTreeMap::new(),
        };
        view.policy_decisions = vec![
            row("growth", &[(Capability::Compaction, 1), (Capability::Exhaustion, 13)]),
            row("resilience", &[(Capability::Splitting, 1)]),
        ];
        // A long chain leaves no room for the column of policies.
        view.phases.iter_mut().for_each(|phase| phase.policy = "growth (exhaustion), resilience ".repeat(9));
        let text =
            report::status(&terminal_style::TerminalStyle::bare(80), &view, &test_samples::location(), false);
        let said = "growth made 14 decisions (exhaustion 13, compaction 1)\nresilience made 1 decision (splitting 1)\n";
        assert!(text.contains(said), "{text}");
        assert!(!text.contains("POLICY"), "{text}");
        view.policy_decisions[0].abstained.insert(Capability::Splitting, 1);
        view.policy_decisions[1].decided.clear();
        view.policy_decisions[1].abstained.insert(Capability::Review, 2);
        let lines = policy_decisions(&view.policy_decisions);
        let growth = "growth made 14 decisions (exhaustion 13, compaction 1) and abstained from 1 question (splitting 1)";
        let none = "resilience decided nothing: it abstained from 2 questions (review 2)";
        assert_eq!(lines, [growth, none]);
        view.policy_decisions.truncate(1);
        assert_eq!(policy_decisions(&view.policy_decisions), [growth], "the host decided the rest");
        view.policy_decisions[0].abstained.clear();
        assert!(policy_decisions(&view.policy_decisions).is_empty(), "one policy decided everything");
    }
}
