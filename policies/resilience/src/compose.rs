//! The handoff document and its index: one screen that a successor reads instead of everything (C7, C10, C13, C15, C16),
//! and who continues (C18).

use baton_sdk::Host;
use baton_sdk::handoff::{Attempt, Composition, Continuer, Observation};
use baton_sdk::types::{ChangedFile, Objective, ObjectiveStatus, Span};

use crate::page::{Page, one_line};

/// A document is one screen; this is far above any, and bounds what a hostile observation could make of it.
const DOCUMENT_BYTES: usize = 16 << 10;
/// Bytes of a line made from an agent's words.
const LINE_BYTES: usize = 180;
/// Decisions, failed attempts and artifacts that one screen has room for.
const DECISIONS: usize = 6;
const ATTEMPTS: usize = 6;
const REFERENCES: usize = 6;
/// Lines of all that at most, facts aside; the files of the current state get the rest of the screen.
const OTHER_LINES: i64 = 40;

pub(crate) fn compose(host: &impl Host, o: &Observation) -> Composition {
    let open: Vec<&Objective> = o.objectives.iter().filter(|objective| is_open(objective)).collect();
    let lead = host.integer("lead-finishes-objectives");
    let continuer = if (open.len() as i64) <= lead { Continuer::Lead } else { Continuer::Successor };
    let next = next(o, &open);
    let who = match continuer {
        Continuer::Lead => "the lead finishes them",
        Continuer::Successor => "a successor continues",
    };
    Composition {
        document: document(host, o, &next, &open),
        index: index(o, &next),
        continuer,
        reason: format!("{} objectives are open; {who}", open.len()),
    }
}

fn is_open(objective: &Objective) -> bool {
    matches!(objective.status, ObjectiveStatus::Open | ObjectiveStatus::InProgress)
}

/// One specific step.
fn next(o: &Observation, open: &[&Objective]) -> String {
    let focused = open.iter().find(|objective| o.focus.contains(&objective.id)).or(open.first());
    match focused {
        Some(objective) if objective.attempts > 0 || objective.status == ObjectiveStatus::InProgress => {
            let what = one_line(&objective.description, LINE_BYTES);
            format!("Finish {}, which was begun: {what}", objective.id)
        }
        Some(objective) => {
            format!("Start {}: {}", objective.id, one_line(&objective.description, LINE_BYTES))
        }
        None => "Run the verification of the phase: every objective is done.".to_owned(),
    }
}

fn document(host: &impl Host, o: &Observation, next: &str, open: &[&Objective]) -> String {
    let mut page = Page::new(DOCUMENT_BYTES);
    page.line(&format!("# Phase {} handoff - {}", o.phase.id, o.now));
    page.heading("Immediate Next Action");
    page.line(next);
    page.heading("Current State");
    let progress = &o.phase.progress;
    let all = progress.done + progress.open + progress.failed;
    page.line(&format!("- {} of {all} objectives done: {}", progress.done, ids(o, ObjectiveStatus::Done)));
    page.line(&format!("- open: {}", list(open.iter().map(|objective| objective.id.as_str()))));
    if progress.failed > 0 {
        page.line(&format!("- failed: {}", ids(o, ObjectiveStatus::Failed)));
    }
    if !o.because.is_empty() {
        page.line(&format!("- the session ended: {}", one_line(&o.because, LINE_BYTES)));
    }
    if o.git.present {
        let branch = if o.git.branch.is_empty() { "a detached head" } else { o.git.branch.as_str() };
        let (commits, dirty) = (o.git.commits_since, o.git.dirty_files);
        let branch = one_line(branch, LINE_BYTES);
        page.line(&format!(
            "- git: on {branch}, {commits} commits since the phase began, {dirty} files not committed"
        ));
    }
    let lines = host.integer("document-lines") - OTHER_LINES - host.integer("critical-facts");
    let lines = usize::try_from(lines).unwrap_or(0);
    page.list(&o.changed_files, lines, file);
    page.heading("Key Decisions Made");
    numbered(&mut page, &o.decisions, DECISIONS);
    page.heading("What NOT to Try");
    numbered(&mut page, &o.attempts, ATTEMPTS);
    page.heading("Critical Context");
    for fact in facts(host, o) {
        page.line(&format!("- {fact}"));
    }
    page.heading("References (read only if stuck)");
    if !o.handoff_path.is_empty() {
        page.line(&format!("- Predecessor: {}", one_line(&o.handoff_path, LINE_BYTES)));
    }
    page.list(&o.artifacts, REFERENCES, |artifact| {
        let (name, summary) = (one_line(&artifact.name, LINE_BYTES), one_line(&artifact.summary, LINE_BYTES));
        format!("- {name} v{}: {summary}", artifact.version)
    });
    if o.handoff_path.is_empty() && o.artifacts.is_empty() {
        page.line("- None.");
    }
    page.finish()
}

/// Short facts that a successor cannot do without; the newest decision and attempt have sections of their own.
fn facts(host: &impl Host, o: &Observation) -> Vec<String> {
    let mut facts = Vec::new();
    if !o.goal.is_empty() {
        facts.push(format!("Goal of the run: {}", one_line(&o.goal, LINE_BYTES)));
    }
    let begun =
        o.objectives.iter().filter(|objective| is_open(objective)).max_by_key(|objective| objective.attempts);
    if let Some(objective) = begun.filter(|objective| objective.attempts > 1) {
        facts.push(format!("{} was prompted {} times and is not done.", objective.id, objective.attempts));
    }
    if o.changed_files.iter().any(|file| file.exists) {
        facts.push("The changed files above are on disk; trust them over anybody's memory.".to_owned());
    }
    let budget = &o.phase.budget;
    if budget.turns > 0 {
        let left = budget.turns.saturating_sub(budget.turns_used);
        facts.push(format!("{left} of {} turns are left for the phase.", budget.turns));
    }
    let findings = host.text_slice(o.findings, Span { start: 0, end: LINE_BYTES as u32 * 2 });
    if let Some(line) = findings.lines().map(str::trim).find(|line| !line.is_empty()) {
        facts.push(format!("The last verification said: {}", one_line(line, LINE_BYTES)));
    }
    facts.truncate(host.integer("critical-facts") as usize);
    if facts.is_empty() {
        facts.push("None.".to_owned());
    }
    facts
}

/// What to read first, what when stuck, and what not to do (C16).
fn index(o: &Observation, next: &str) -> String {
    let mut page = Page::new(DOCUMENT_BYTES);
    page.line(&format!("# Handoff index: phase {}", o.phase.id));
    page.heading("Quick Start (read this first)");
    page.line(&format!("- Immediate next action: {next}"));
    if let Some(largest) = o.changed_files.iter().filter(|file| file.exists).max_by_key(|file| file.bytes) {
        page.line(&format!("- Critical file: {}", one_line(&largest.path, LINE_BYTES)));
    }
    let progress = &o.phase.progress;
    page.line(&format!(
        "- Current state: {} done, {} open, {} failed",
        progress.done, progress.open, progress.failed
    ));
    page.heading("If You Get Stuck");
    if let Some(decision) = o.decisions.last() {
        let (what, why) = (one_line(&decision.approach, LINE_BYTES), one_line(&decision.outcome, LINE_BYTES));
        page.line(&format!("- Newest decision: {what} ({why})"));
    }
    if !o.handoff_path.is_empty() {
        page.line(&format!("- Read the handoff before this one: {}", one_line(&o.handoff_path, LINE_BYTES)));
    }
    page.line("- Report what you tried, and ask for a split where the scope is too large.");
    page.heading("Do NOT");
    page.list(o.attempts.iter().rev(), 3, |attempt| {
        format!("- Try {} (failed, see the handoff)", one_line(&attempt.approach, LINE_BYTES))
    });
    page.list(o.changed_files.iter().filter(|file| file.exists), 3, |file| {
        format!("- Write {} anew (already modified)", one_line(&file.path, LINE_BYTES))
    });
    page.line("- Read everything again: the handoff is meant to be enough");
    page.finish()
}

fn file(file: &ChangedFile) -> String {
    let path = one_line(&file.path, LINE_BYTES);
    if file.exists {
        format!("- file: {path} ({} bytes)", file.bytes)
    } else {
        format!("- file: {path} (deleted)")
    }
}

fn numbered(page: &mut Page, items: &[Attempt], limit: usize) {
    if items.is_empty() {
        page.line("None.");
    }
    // The newest are worth more than the first.
    for (number, item) in items.iter().skip(items.len().saturating_sub(limit)).enumerate() {
        let (what, why) = (one_line(&item.approach, LINE_BYTES), one_line(&item.outcome, LINE_BYTES));
        page.line(&format!("{}. {what}: {why}", number + 1));
    }
}

fn ids(o: &Observation, status: ObjectiveStatus) -> String {
    list(
        o.objectives
            .iter()
            .filter(|objective| objective.status == status)
            .map(|objective| objective.id.as_str()),
    )
}

fn list<'o>(ids: impl Iterator<Item = &'o str>) -> String {
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() { "none".to_owned() } else { one_line(&ids.join(", "), LINE_BYTES * 2) }
}
