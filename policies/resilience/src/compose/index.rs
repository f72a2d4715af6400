//! The index of a handoff: what to read first, what when stuck, and what not to do (C16).

use baton_sdk::Host;
use baton_sdk::handoff::Observation;
use baton_sdk::sections::Section;
use baton_sdk::words::{one_line, said};

use crate::page::Page;

use super::pick::{Next, critical_files, who};
use super::{DOCUMENT_BYTES, LEGEND, LINE_BYTES, PATH_BYTES, decided_by};

/// A file that was read so often need not be read as a whole again.
const OFTEN_READ: u32 = 3;
/// Failed attempts that the index warns of.
const ATTEMPTS: usize = 3;

pub(super) fn index(host: &impl Host, o: &Observation, next: &Next<'_>) -> Vec<Section> {
    let mut page = Page::new(DOCUMENT_BYTES);
    page.line(&format!("# Handoff Index: Phase {}", one_line(&o.phase.id, LINE_BYTES)));
    page.line(LEGEND);
    quick_start(&mut page, o, next);
    if_stuck(&mut page, o);
    do_not(&mut page, host, o);
    page.finish().0
}

fn quick_start(page: &mut Page, o: &Observation, next: &Next<'_>) {
    page.heading("quick-start", "Quick Start (read this first)");
    page.line(&format!("- Immediate next action, {}", next.marked()));
    if let Some(file) = critical_files(o).first() {
        page.line(&format!("- Critical file, {}", file.at_line(&who(o))));
    }
    if let Some(objective) = next.goal() {
        let (id, goal) = (one_line(&objective.id, LINE_BYTES), said(&objective.description, LINE_BYTES));
        page.line(&format!("- Current goal state, journal: {id}: {goal}"));
    }
    let progress = &o.phase.progress;
    page.line(&format!(
        "- Current state: {} done, {} open, {} failed",
        progress.done, progress.open, progress.failed
    ));
}

fn if_stuck(page: &mut Page, o: &Observation) {
    page.heading("if-stuck", "If You Get Stuck");
    if let Some(decision) = o.decisions.last() {
        let (what, why) = (said(&decision.approach, LINE_BYTES), said(&decision.outcome, LINE_BYTES));
        page.line(&format!("- Newest decision, {}: {what}: {why}", decided_by(decision)));
    }
    if let Some(attempt) = o.attempts.last() {
        page.line(&format!("- Approach hint, agent: it failed by {}", said(&attempt.outcome, LINE_BYTES)));
    }
    if let Some(gotcha) = o.gotchas.last() {
        page.line(&format!("- Newest gotcha, agent: {}", said(gotcha, LINE_BYTES)));
    }
    if let Some(pattern) = o.patterns.last() {
        page.line(&format!("- Newest pattern, agent: {}", said(pattern, LINE_BYTES)));
    }
    if let Some(run) = o.commands.iter().rev().find(|run| run.failed == Some(true)) {
        page.line(&format!("- Newest command that failed, host: {}", said(&run.line, LINE_BYTES)));
    }
    if let Some(path) = &o.facts_path {
        page.line(&format!("- Everything that is recorded: {}", one_line(path, PATH_BYTES)));
    }
    if let Some(handoff) = &o.newest_handoff {
        page.line(&format!("- Read the handoff before this one: {}", one_line(&handoff.path, PATH_BYTES)));
    }
    page.line("- Report what you tried, and ask for a split where the scope is too large.");
}

fn do_not(page: &mut Page, host: &impl Host, o: &Observation) {
    page.heading("do-not", "Do NOT");
    page.list(o.attempts.iter().rev(), ATTEMPTS, |attempt| {
        format!("- Try again, agent: {} (failed, see the handoff)", said(&attempt.approach, LINE_BYTES))
    });
    if let Some(read) = o.reads.first().filter(|read| read.times >= OFTEN_READ) {
        let (path, times) = (said(&read.path, PATH_BYTES), read.times);
        page.line(&format!(
            "- Re-read {path} as a whole (already read {times} times): read the lines you need"
        ));
    }
    let files = usize::try_from(host.integer("critical-facts")).unwrap_or(3);
    page.list(o.changed_files.iter().filter(|file| file.exists), files, |file| {
        format!("- Write {} anew (already modified)", one_line(&file.path, PATH_BYTES))
    });
    page.line("- Read everything again: the handoff is meant to be enough");
}
