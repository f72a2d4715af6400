//! The handoff document by the template of the source, its index, and whether a document is fit for a successor.

use std::collections::BTreeSet;

use baton_sdk::Host;
use baton_sdk::handoff::{Attempt, Composition, Continuer, Observation};
use baton_sdk::review::{self, Finding, Review, Staleness};
use baton_sdk::sections::Section;
use baton_sdk::time::utc;
use baton_sdk::types::{Objective, ObjectiveStatus, Span};

use crate::words::{Page, name, quote};

/// Records of a list; the facts of the host hold all of them.
const LISTED: usize = 8;
/// Facts under Critical Context, as the template has it.
const FACTS: usize = 5;
/// Findings of a kind that are named: two refuse a document.
const NAMED: usize = 8;

/// Sections that have to be there, and filled.
const SECTIONS: [&str; 5] =
    ["Immediate Next Action", "Current State", "Key Decisions Made", "What NOT to Try", "Critical Context"];

pub(crate) fn compose(host: &impl Host, o: &Observation) -> Composition {
    let open: Vec<&Objective> =
        o.objectives.iter().filter(|objective| objective.status != ObjectiveStatus::Done).collect();
    let next = match open.iter().find(|objective| o.focus.contains(&objective.id)).or(open.first()) {
        Some(objective) => format!("{}: {}", name(&objective.id), quote(&objective.description)),
        None => "Run the verification: every objective is done.".to_owned(),
    };
    let lead = host.integer("lead-finishes-objectives");
    let by_lead = !open.is_empty() && open.len() as i64 <= lead;
    Composition {
        document: document(o, &next, &open),
        index: index(o, &next),
        continuer: if by_lead { Continuer::Lead } else { Continuer::Successor },
        left_out: Vec::new(),
        reason: match by_lead {
            true => format!("open objectives: {}; the lead finishes them", open.len()),
            false => format!("open objectives: {}; a successor takes the torch", open.len()),
        },
    }
}

fn document(o: &Observation, next: &str, open: &[&Objective]) -> Vec<Section> {
    let mut page = Page::new(&format!("# Phase {} Handoff - {}", name(&o.phase.id), utc(o.asked_at_ms)));
    page.heading("Immediate Next Action");
    page.line(next);
    page.heading("Current State");
    let (done, all) = (o.phase.progress.done, o.objectives.len());
    page.line(&format!("- {done} of {all} objectives are done"));
    let ids: Vec<String> = open.iter().map(|objective| name(&objective.id)).collect();
    page.line(&format!("- open: {}", if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }));
    let files = o.changed_files.iter().map(|file| match file.exists {
        true => format!("- File: {} ({} bytes)", name(&file.path), file.bytes),
        false => format!("- deleted: {}", name(&file.path)),
    });
    page.list(files, LISTED, "- no file has changed");
    if let Some(reported) = &o.reported {
        page.line(&format!("- the session says: {}", quote(&reported.current_state)));
    }
    let pairs = |page: &mut Page, heading: &str, of: &[Attempt]| {
        page.heading(heading);
        let newest = of.iter().rev();
        let lines = newest.map(|pair| {
            let by = if pair.by_person { "a person, asked: " } else { "" };
            format!("- {by}{}: {}", quote(&pair.approach), quote(&pair.outcome))
        });
        page.list(lines, LISTED, "None.");
    };
    pairs(&mut page, "Key Decisions Made", &o.decisions);
    pairs(&mut page, "What NOT to Try", &o.attempts);
    page.heading("Critical Context");
    let reported = o.reported.as_ref().map_or(&[][..], |reported| &reported.critical_context);
    let mut facts = vec![format!("- the goal of the run: {}", quote(&o.goal))];
    facts.extend(reported.iter().chain(o.gotchas.iter().rev()).map(|fact| format!("- {}", quote(fact))));
    facts.truncate(FACTS);
    page.list(facts.into_iter(), FACTS, "None.");
    page.heading("References (read only if stuck)");
    if let Some(path) = &o.facts_path {
        page.line(&format!("- everything recorded: {}", name(path)));
    }
    if let Some(handoff) = &o.newest_handoff {
        page.line(&format!("- the handoff before this one: {}", name(&handoff.path)));
    }
    let artifacts = o.artifacts.iter();
    page.list(
        artifacts.map(|one| format!("- artifact {} v{}", name(&one.name), one.version)),
        LISTED,
        "- no artifact",
    );
    page.finish()
}

/// What to read first, what when stuck, and what not to do (C16).
fn index(o: &Observation, next: &str) -> Vec<Section> {
    let mut page = Page::new(&format!("# Handoff Index: Phase {}", name(&o.phase.id)));
    page.heading("Quick Start (read this first)");
    page.line(&format!("- Immediate next action: {next}"));
    if let Some(file) = o.changed_files.iter().find(|file| file.exists && file.by_session) {
        page.line(&format!("- Critical file: {}", name(&file.path)));
    }
    page.heading("If You Get Stuck");
    page.line(&format!("- Read: {}", o.facts_path.as_deref().unwrap_or("the handoff")));
    page.heading("Do NOT");
    page.line("- Re-read what the handoff sums up");
    let newest = o.attempts.iter().rev();
    page.list(
        newest.map(|one| format!("- Try {}: it failed", quote(&one.approach))),
        3,
        "- Try anything twice",
    );
    page.finish()
}

pub(crate) fn review(host: &impl Host, o: &review::Observation) -> Review {
    let text = host.text_slice(o.document, Span { start: 0, end: u32::MAX });
    let mut findings = Vec::new();
    let mut cost = |cost: u32, text: String| findings.push(Finding { cost, line: None, text });
    for kind in &o.secrets {
        cost(100, format!("there is a secret in it: {}", name(kind)));
    }
    if !host.find_setting(o.document, Span { start: 0, end: u32::MAX }, "placeholders", 1).is_empty() {
        cost(40, "a placeholder was not filled in".to_owned());
    }
    for section in SECTIONS {
        match filled(&text, section) {
            None => cost(15, format!("the section {section:?} is missing")),
            Some(false) => cost(15, format!("the section {section:?} is empty")),
            Some(true) => {}
        }
    }
    for path in o.missing_files.iter().take(NAMED) {
        cost(20, format!("it names {}, which is not there", name(path)));
    }
    // An id is short and a document is a page: one look at its words is enough for all of them.
    let is_between = |c: char| matches!(c, ' ' | ',' | ':' | '\n' | '`' | '(' | ')');
    let words: BTreeSet<&str> = match o.open_objectives.is_empty() {
        true => BTreeSet::new(),
        false => text.split(is_between).collect(),
    };
    for id in o.open_objectives.iter().filter(|id| !words.contains(id.as_str())).take(NAMED) {
        cost(20, format!("the open objective {} is not named", name(id)));
    }
    let score = 100u32.saturating_sub(findings.iter().map(|finding| finding.cost).sum());
    let needed = host.integer("accept-score");
    let accepted = i64::from(score) >= needed && o.secrets.is_empty();
    let staleness = match (o.commits_since, o.missing_files.len()) {
        (commits, missing) if commits > 20 || missing > 4 || (o.diverged && missing > 0) => {
            Staleness::VeryStale
        }
        (commits, missing) if commits > 5 || missing > 1 || o.diverged => Staleness::Stale,
        (commits, missing) if commits > 0 || missing > 0 => Staleness::SlightlyStale,
        _ => Staleness::Fresh,
    };
    Review {
        score,
        findings,
        staleness,
        accepted,
        reason: format!("{score} of 100 points, {needed} are needed"),
    }
}

/// Whether something stands below a heading of this name; nothing where there is no such heading.
fn filled(text: &str, section: &str) -> Option<bool> {
    let is_heading = |line: &str| line.starts_with('#');
    let mut lines = text.lines();
    lines.find(|line| is_heading(line) && line.trim_start_matches('#').trim().starts_with(section))?;
    Some(lines.take_while(|line| !is_heading(line)).any(|line| line.chars().any(char::is_alphanumeric)))
}
