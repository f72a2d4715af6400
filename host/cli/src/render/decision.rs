//! A decision of a policy in a few words. Nothing that a policy wrote reaches a terminal as it is.

use baton_runtime::core::decision::{
    Assessment, CompactionAction, Decision, Fault, HandoffDraft, PromptDraft, RecoveryAction, SplitAction,
    Verdict,
};
use baton_runtime::engine::PolicyAnswer;
use serde_json::Value;

use super::text_format;

/// Most characters of a policy's sentence that are shown in a cell.
pub(super) const SENTENCE_CHARS: usize = 240;
/// Most characters of a line of a prompt or a document that are shown.
const LINE_CHARS: usize = 100;
/// Fields of a decision that explain it and lead to nothing: they are named only if no other field differs.
const EXPLANATORY_FIELDS: [&str; 3] = ["evidence", "findings", "left_out"];

/// A decision in a few words, and its reason. Of a long text only the part that differs from the other one is shown; and of two
/// decisions that read alike, the first field that differs.
pub(crate) fn said(answer: &Result<Decision, Fault>, other: Option<&Decision>) -> (String, String) {
    let decision = match answer {
        Ok(decision) => decision,
        Err(fault) => return (clean(&format!("fails: it {fault}"), SENTENCE_CHARS), String::new()),
    };
    let mut words = in_words(decision, other);
    if let Some(other) = other.filter(|other| words == in_words(other, Some(decision)))
        && let Some(field) = field_that_differs(decision, other)
    {
        words.push_str(&format!("; {field}"));
    }
    (clean(&words, SENTENCE_CHARS), clean(decision.reason(), SENTENCE_CHARS))
}

/// The same of a policy that may abstain.
pub(crate) fn answered(answer: &PolicyAnswer, other: Option<&Decision>) -> (String, String) {
    match answer.clone().transpose() {
        Some(answer) => said(&answer, other),
        None => ("abstains".to_owned(), String::new()),
    }
}

fn in_words(decision: &Decision, other: Option<&Decision>) -> String {
    match (decision, other) {
        (Decision::Exhaustion(assessment), _) => assessed(assessment),
        (Decision::Completion(completion), _) => match completion.done.as_slice() {
            [] => "nothing is done".to_owned(),
            done => {
                let ids: Vec<&str> = done.iter().map(|id| id.as_str()).collect();
                format!("done: {}", ids.join(", "))
            }
        },
        (Decision::Recovery(recovery), _) => match &recovery.action {
            RecoveryAction::Wait => "wait".to_owned(),
            RecoveryAction::Nudge => "nudge".to_owned(),
            RecoveryAction::Interrupt => "interrupt".to_owned(),
            RecoveryAction::HandOff => "hand off".to_owned(),
            RecoveryAction::Retry => "retry".to_owned(),
            RecoveryAction::OtherRole { role } => format!("retry as {role}"),
            RecoveryAction::Split => "split".to_owned(),
            RecoveryAction::AskPerson { question } => format!("ask: {question}"),
        },
        (Decision::Offloading(offloading), _) => match offloading.items.as_slice() {
            [] => "keep".to_owned(),
            items => format!("offload {}", items.join(", ")),
        },
        (Decision::Compaction(compaction), _) => match &compaction.action {
            CompactionAction::Keep => "keep".to_owned(),
            CompactionAction::Compact { .. } => "compact".to_owned(),
            CompactionAction::HandOff => "hand off".to_owned(),
        },
        (Decision::Splitting(split), _) => match &split.action {
            SplitAction::Keep => "keep".to_owned(),
            SplitAction::Split { sub_phases } => {
                let titles: Vec<&str> = sub_phases.iter().map(|part| part.title.as_str()).collect();
                format!("split into {}: {}", titles.len(), titles.join(" | "))
            }
            SplitAction::AskPerson { question } => format!("ask: {question}"),
        },
        (Decision::Budgeting(budget), _) => budget
            .max_turns
            .map_or_else(|| "no cap of turns".to_owned(), |turns| text_format::count(turns, "turn")),
        (Decision::Prompting(brief), other) => {
            let other = match other {
                Some(Decision::Prompting(PromptDraft { prompt, .. })) => Some(prompt),
                _ => None,
            };
            long("a prompt", &brief.prompt, other)
        }
        (Decision::Handoff(composition), other) => {
            let other = match other {
                Some(Decision::Handoff(HandoffDraft { document, .. })) => Some(document),
                _ => None,
            };
            long("a document", &composition.document, other)
        }
        (Decision::Review(review), _) => {
            let word = if review.accepted { "accepted" } else { "refused" };
            format!("{word}, {} of 100, {}", review.score, review.staleness.name().replace('-', " "))
        }
    }
}

/// "action.instructions: Keep the plan.": the first field in which a decision is not the other, the reason apart.
fn field_that_differs(decision: &Decision, other: &Decision) -> Option<String> {
    let (one, other) = (serde_json::to_value(decision).ok()?, serde_json::to_value(other).ok()?);
    let (path, value) = differing("", &one["answer"], &other["answer"])?;
    let value = match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    Some(format!("{path}: {}", clean(&value, LINE_CHARS)))
}

/// The first difference between two values, and the first one's value there; null if only the second has one.
fn differing<'v>(path: &str, one: &'v Value, other: &Value) -> Option<(String, &'v Value)> {
    match (one, other) {
        (one, other) if one == other => None,
        (Value::Object(ours), Value::Object(theirs)) => {
            let mut keys: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
            keys.sort_by_key(|key| EXPLANATORY_FIELDS.contains(&key.as_str()));
            keys.into_iter().filter(|key| !(path.is_empty() && *key == "reason")).find_map(|key| {
                // A variant is in a field of its own name: `action.action` says no more than `action`.
                let inner = match path {
                    "" => key.clone(),
                    path if path == key => path.to_owned(),
                    path => format!("{path}.{key}"),
                };
                differing(&inner, &one[key], &other[key])
            })
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            let mut pairs = ours.iter().zip(theirs).enumerate();
            pairs.find_map(|(index, (one, other))| differing(&format!("{path}.{index}"), one, other))
        }
        (one, _) => Some((path.to_owned(), one)),
    }
}

fn assessed(assessment: &Assessment) -> String {
    let mut words = match &assessment.verdict {
        Verdict::Quota { cause, .. } => format!("quota ({cause})"),
        verdict => verdict.name().to_owned(),
    };
    if let Some(warning) = &assessment.warning {
        words.push_str(&format!(", and warns: {warning}"));
    }
    words
}

/// "a prompt of 1.2 kB; line 4: …", the first line that is not in the other one.
fn long(what: &str, text: &str, other: Option<&String>) -> String {
    let mut words = format!("{what} of {}", text_format::bytes(text.len() as u64));
    let Some(other) = other.filter(|other| *other != text) else { return words };
    let mut others = other.lines();
    let first = text.lines().enumerate().find(|(_, line)| others.next() != Some(line));
    match first {
        Some((n, line)) => words.push_str(&format!("; line {}: {}", n + 1, clean(line, LINE_CHARS))),
        None => words.push_str("; it ends before the other"),
    }
    words
}

/// One line without anything that a terminal would obey.
pub(super) fn clean(text: &str, chars_max: usize) -> String {
    let mut line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(chars_max).collect();
    if text.chars().nth(chars_max).is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_runtime::core::decision::{
        Assessment, CompactionDecision, CompletionDecision, Evidence, QuotaCause, RecoveryDecision,
        ReviewDecision, SplitDecision, Staleness, SubPhase, TurnBudget, WorkStyle,
    };
    use baton_runtime::core::facts::SignalSource;
    use baton_runtime::core::{Seq, UnixMs};

    fn assess(verdict: Verdict, warning: Option<&str>) -> Decision {
        let (evidence, warning) = (Vec::new(), warning.map(str::to_owned));
        Decision::Exhaustion(Assessment { verdict, evidence, warning, reason: "So.".into() })
    }

    fn recover(action: RecoveryAction) -> Decision {
        Decision::Recovery(RecoveryDecision { action, reason: "So.".into() })
    }

    #[test]
    fn a_decision_is_a_few_words() {
        let words = |decision: Decision| said(&Ok(decision), None).0;
        let quota = Verdict::Quota { cause: QuotaCause::Rate, resets_at_ms: None };
        assert_eq!(words(assess(quota, None)), "quota (rate limit)");
        assert_eq!(words(assess(Verdict::Answered, None)), "answered");
        assert_eq!(words(assess(Verdict::Healthy, Some("it fills up"))), "healthy, and warns: it fills up");
        assert_eq!(words(recover(RecoveryAction::Retry)), "retry");
        assert_eq!(words(recover(RecoveryAction::OtherRole { role: "senior".into() })), "retry as senior");
        let complete = |done: &[&str]| {
            let done = done.iter().map(|id| (*id).into()).collect();
            Decision::Completion(CompletionDecision { done, evidence: Vec::new(), reason: "So.".into() })
        };
        assert_eq!(words(complete(&["a", "b"])), "done: a, b");
        assert_eq!(words(complete(&[])), "nothing is done");
        assert_eq!(
            words(Decision::Budgeting(TurnBudget { max_turns: Some(1), reason: String::new() })),
            "1 turn"
        );
        let review = ReviewDecision {
            score: 40,
            findings: Vec::new(),
            staleness: Staleness::VeryStale,
            accepted: false,
            reason: String::new(),
        };
        assert_eq!(words(Decision::Review(review)), "refused, 40 of 100, very stale");
        let fault: Result<Decision, Fault> = Err(Fault::OutOfFuel { limit: 7 });
        assert_eq!(said(&fault, None).0, "fails: it used up its 7 units of fuel");
    }

    // M3
    #[test]
    fn of_two_decisions_that_read_alike_the_field_that_differs_is_shown() {
        let words = |one: &Decision, other: &Decision| said(&Ok(one.clone()), Some(other)).0;
        let compact = |instructions: Option<String>| {
            let action = CompactionAction::Compact { instructions };
            Decision::Compaction(CompactionDecision { action, reason: String::new() })
        };
        assert_eq!(
            words(&compact(Some("Keep the plan.".into())), &compact(None)),
            "compact; action.instructions: Keep the plan."
        );
        let quota = |until| assess(Verdict::Quota { cause: QuotaCause::Rate, resets_at_ms: until }, None);
        assert_eq!(
            words(&quota(None), &quota(Some(UnixMs(7)))),
            "quota (rate limit); verdict.resets_at_ms: none"
        );
        let part = |objective: &str| SubPhase {
            title: "one".into(),
            objectives: vec![objective.into()],
            order: WorkStyle::Direct,
            max_turns: None,
        };
        let split = |objective: &str| {
            let action = SplitAction::Split { sub_phases: vec![part(objective)] };
            Decision::Splitting(SplitDecision { action, reason: String::new() })
        };
        assert_eq!(words(&split("a"), &split("b")), "split into 1: one; action.sub_phases.0.objectives.0: a");
        let explained = |seen: Option<&str>, reason: &str| {
            let of = |seen: &str| Evidence {
                channel: SignalSource::Terminal,
                seq: Some(Seq(1)),
                text: seen.into(),
            };
            let (evidence, verdict) = (seen.map(of).into_iter().collect(), Verdict::Healthy);
            Decision::Exhaustion(Assessment { verdict, evidence, warning: None, reason: reason.into() })
        };
        let (seen, unseen) = (explained(Some("seen"), "So."), explained(None, "So."));
        let warned = assess(Verdict::Healthy, Some("it fills up"));
        assert_eq!(words(&warned, &seen), "healthy, and warns: it fills up");
        assert!(words(&seen, &unseen).starts_with("healthy; evidence: ["), "it is the only field");
        // Another reason has a line of its own.
        assert_eq!(words(&explained(None, "Other words."), &unseen), "healthy");
    }

    #[test]
    fn of_a_long_text_the_first_line_that_differs_is_shown() {
        let brief = |prompt: &str| {
            Decision::Prompting(PromptDraft {
                prompt: prompt.into(),
                left_out: Vec::new(),
                reason: String::new(),
            })
        };
        let words = |one: &str, other: &str| said(&Ok(brief(one)), Some(&brief(other))).0;
        assert_eq!(words("a\nb", "a\nb"), "a prompt of 3 B");
        assert_eq!(words("a\nb", "a\nc"), "a prompt of 3 B; line 2: b");
        assert_eq!(words("a", "a\nc"), "a prompt of 1 B; it ends before the other");
        assert_eq!(words("a\nc", "a"), "a prompt of 3 B; line 2: c");
    }

    // M6
    #[test]
    fn what_a_policy_writes_is_no_command_to_a_terminal() {
        let reason = format!("\x1b[2Jgone\nnext{}", "x".repeat(1000));
        let decision = Decision::Budgeting(TurnBudget { max_turns: Some(2), reason });
        let shown = said(&Ok(decision), None).1;
        assert!(shown.starts_with(" [2Jgone next") && shown.ends_with('…'), "{shown}");
        assert_eq!(shown.chars().count(), SENTENCE_CHARS + 1);
    }
}
