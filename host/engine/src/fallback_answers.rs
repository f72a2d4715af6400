//! The end of the chain: answers without any component, and without judgment. Work continues unchanged; if it cannot, the host
//! asks the user.

use std::fmt::Write as _;

use baton_core::decision::{
    Assessment, CompactionAction, CompactionDecision, CompletionDecision, Decision, Fault, HandoffDraft,
    OffloadingDecision, PromptDraft, QuotaCause, RecoveryAction, RecoveryDecision, ReviewDecision,
    SplitAction, SplitDecision, Staleness, SuccessorKind, TurnBudget, Verdict,
};
use baton_core::observation::{
    AssessTrigger, BudgetingObservation, FileState, HandoffObservation, ObjectiveStatus, ObjectiveView,
    PolicyQuery, PolicyRequest, RecoveryObservation, ReviewObservation, SessionObservation,
};

use crate::evaluate::askable;
use crate::limits::{ANSWER_TEXT_BYTES, DecisionLimits};

/// Why it answers at all, at the beginning of every reason.
const WHY: &str = "No policy answered";

/// Paths named in a prompt or document: the workspace itself has the others.
const PATHS: usize = 50;

/// The decision on a question if no component answers; a fault if the question itself is invalid. Replays compare it with the
/// decision in the journal.
pub fn answer_without_component(
    question: &PolicyRequest,
    limits: &DecisionLimits,
) -> Result<Decision, Fault> {
    askable(question, limits).map(|()| answer(&question.query))
}

/// The answer to any question.
pub(crate) fn answer(query: &PolicyQuery) -> Decision {
    match query {
        PolicyQuery::Exhaustion(seen) => Decision::Exhaustion(assess(seen)),
        PolicyQuery::Completion(_) => Decision::Completion(CompletionDecision {
            done: Vec::new(),
            evidence: Vec::new(),
            reason: format!("{WHY}: nothing counts as done."),
        }),
        PolicyQuery::Recovery(seen) => Decision::Recovery(recover(seen)),
        PolicyQuery::Offloading(_) => Decision::Offloading(OffloadingDecision {
            items: Vec::new(),
            reason: format!("{WHY}: everything stays in the context."),
        }),
        PolicyQuery::Compaction(_) => Decision::Compaction(CompactionDecision {
            action: CompactionAction::Keep,
            reason: format!("{WHY}: the context stays as it is."),
        }),
        PolicyQuery::Splitting(_) => Decision::Splitting(SplitDecision {
            action: SplitAction::Keep,
            reason: format!("{WHY}: the scope stays whole."),
        }),
        PolicyQuery::Budgeting(seen) => Decision::Budgeting(budget(seen)),
        PolicyQuery::Prompting(seen) => Decision::Prompting(PromptDraft {
            prompt: cut(prompt(seen)),
            left_out: Vec::new(),
            reason: format!("{WHY}: the prompt states the objective and nothing else."),
        }),
        PolicyQuery::Handoff(seen) => Decision::Handoff(HandoffDraft {
            document: cut(document(seen)),
            index: cut(index(seen)),
            continuer: SuccessorKind::Successor,
            left_out: Vec::new(),
            reason: format!("{WHY}: the handoff states what the host knows."),
        }),
        PolicyQuery::Review(seen) => Decision::Review(review(seen)),
    }
}

fn assess(seen: &SessionObservation) -> Assessment {
    let (verdict, reason) = match seen.occasion {
        AssessTrigger::Turn | AssessTrigger::Signal | AssessTrigger::Heartbeat => {
            (Verdict::Healthy, format!("{WHY}: the session goes on."))
        }
        AssessTrigger::PromptEnded | AssessTrigger::SessionEnded => {
            (Verdict::Failed, format!("{WHY}: nobody knows why it stopped."))
        }
    };
    Assessment { verdict, evidence: Vec::new(), warning: None, reason }
}

/// The turns of the table; the same number again as long as the work makes progress.
fn budget(seen: &BudgetingObservation) -> TurnBudget {
    let moves = seen.spent.is_some_and(|spent| spent.objectives_done > 0 || spent.files_changed > 0);
    let had = seen.phase.budget.turns_used;
    let more = seen.base_turns.filter(|_| moves).map(|base| had.saturating_add(base));
    TurnBudget {
        max_turns: more.or(seen.base_turns),
        reason: format!("{WHY}: the turns are those of the table."),
    }
}

fn recover(seen: &RecoveryObservation) -> RecoveryDecision {
    let phase = &seen.session.phase.id;
    let (action, why) = match seen.assessment.verdict {
        Verdict::Quota { cause: QuotaCause::Usage | QuotaCause::Rate | QuotaCause::Overload, .. } => {
            (RecoveryAction::Wait, "the limit resets")
        }
        Verdict::Exhausted | Verdict::HandedOff | Verdict::TurnLimit | Verdict::BudgetLimit => {
            (RecoveryAction::HandOff, "another session goes on")
        }
        _ => {
            let reason =
                seen.completion.as_ref().map_or(&seen.assessment.reason, |decision| &decision.reason);
            let question = format!(
                "The session on phase {phase} stopped ({reason}), and no policy could say what to do. Try again, skip the phase, or stop?"
            );
            (RecoveryAction::AskPerson { question }, "a person decides")
        }
    };
    RecoveryDecision { action, reason: format!("{WHY}: {why}.") }
}

fn review(seen: &ReviewObservation) -> ReviewDecision {
    let untouched = seen.commits_since == 0 && !seen.diverged;
    ReviewDecision {
        score: 100,
        findings: Vec::new(),
        staleness: if untouched { Staleness::Fresh } else { Staleness::SlightlyStale },
        // That a secret must not be passed on needs no judgment.
        accepted: seen.secrets.is_empty(),
        reason: format!("{WHY}: the handoff was not read, so the score means nothing."),
    }
}

/// Cuts a text that is longer than an answer may be, between two characters.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(ANSWER_TEXT_BYTES));
    text
}

/// Appends a line; writing to a `String` cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => { { let _ = writeln!($text, $($format)*); } };
}

/// The objective comes first, so that no cut can lose it.
fn prompt(seen: &HandoffObservation) -> String {
    let mut text = String::from("## Your objective\n");
    let in_focus = |objective: &&ObjectiveView| seen.focus.contains(&objective.id);
    for objective in seen.objectives.iter().filter(in_focus) {
        line!(text, "- [{}] {}", objective.id, objective.description);
        held_to(&mut text, objective);
    }
    if let Some(check) = &seen.phase.check {
        line!(text, "The check of the phase, which must exit 0: {check}");
    }
    line!(text, "Report each objective as done, in-progress or failed.");
    line!(text, "\nIt belongs to: {} ({}).", seen.phase.title, seen.goal);
    if let Some(handoff) = &seen.newest_handoff {
        line!(text, "Read first: {}", handoff.path);
    }
    if !seen.inbox_path.is_empty() {
        line!(text, "Report to: {}", seen.inbox_path);
    }
    if let Some(because) = &seen.because {
        line!(text, "Before this: {because}");
    }
    for file in seen.changed_files.iter().filter(|file| file.exists).take(PATHS) {
        line!(text, "- already modified: {}", file.path);
    }
    text
}

/// The files that an objective names, and the command that checks it (A13).
fn held_to(text: &mut String, objective: &ObjectiveView) {
    for file in &objective.expected_files {
        let state = match file.state {
            FileState::Missing => " (missing)",
            FileState::Unchanged => " (unchanged)",
            FileState::Rewritten => " (written again as it was)",
            FileState::Changed => "",
        };
        line!(text, "  File that must exist and change: {}{state}", file.path);
    }
    if let Some(check) = &objective.check {
        line!(text, "  Its check, which must exit 0: {check}");
    }
}

fn document(seen: &HandoffObservation) -> String {
    let because = seen.because.as_deref().unwrap_or_default();
    let mut text = format!("# Handoff: {}\n\n{because}\n", seen.phase.title);
    line!(text, "\n## Objectives");
    for objective in &seen.objectives {
        let status = match objective.status {
            ObjectiveStatus::Open => "open",
            ObjectiveStatus::InProgress => "in progress",
            ObjectiveStatus::Done => "done",
            ObjectiveStatus::Failed => "failed",
        };
        line!(text, "- {status}: {} — {}", objective.id, objective.description);
    }
    line!(text, "\n## Files changed");
    for file in seen.changed_files.iter().take(PATHS) {
        let gone = if file.exists { "" } else { " (deleted)" };
        line!(text, "- {}{gone}", file.path);
    }
    line!(text, "\n## What was decided");
    for decision in seen.decisions.iter().take(PATHS) {
        let by = if decision.by_person { "by a person: " } else { "" };
        line!(text, "- {by}{}: {}", decision.approach, decision.outcome);
    }
    line!(text, "\n## What not to try again");
    for attempt in seen.attempts.iter().take(PATHS) {
        line!(text, "- {}: {}", attempt.approach, attempt.outcome);
    }
    text
}

fn index(seen: &HandoffObservation) -> String {
    let mut text = format!("# Where to find what: {}\n\n", seen.phase.title);
    for artifact in seen.artifacts.iter().take(PATHS) {
        line!(text, "- {} (version {}): {}", artifact.name, artifact.version, artifact.summary);
    }
    text
}
