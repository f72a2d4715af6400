//! Whether a handoff document is fit to start a successor (C8), and how old it is (C9).

use baton_sdk::Host;
use baton_sdk::handoff::{Finding, ReviewObservation, ReviewResult, Staleness};
use baton_sdk::types::Span;

/// Costs in points of 100. A secret, a placeholder or an empty required section each refuse a document at the default
/// of 70; so do four references to nothing.
const SECRET: u32 = 100;
const PLACEHOLDER: u32 = 35;
const REQUIRED_SECTION: u32 = 35;
const EXPECTED_SECTION: u32 = 5;
const MISSING_FILE: u32 = 10;
const TOO_LONG: u32 = 10;
/// Missing files beyond this many cost no more.
const MISSING_FILES: usize = 9;
/// Placeholders that are named; one is enough to refuse.
const PLACEHOLDERS: u32 = 3;
/// A handoff that names so many files that are gone describes another tree.
const VERY_STALE_FILES: usize = 5;
/// Bytes of a path in a finding.
const PATH_BYTES: usize = 200;

pub(crate) fn review(host: &impl Host, o: &ReviewObservation) -> ReviewResult {
    let whole = Span { start: 0, end: u32::MAX };
    let text = host.text_slice(o.document, whole);
    let mut findings = Vec::new();
    let mut cost = |cost: u32, text: String| findings.push(Finding { cost, text });
    for kind in &o.secrets {
        cost(SECRET, format!("it has a secret in it ({kind}); take it out"));
    }
    for hit in host.find_setting(o.document, whole, "placeholder-phrases", PLACEHOLDERS) {
        let line = text.as_bytes()[..(hit.at.start as usize).min(text.len())]
            .iter()
            .filter(|b| **b == b'\n')
            .count()
            + 1;
        cost(PLACEHOLDER, format!("line {line} has a placeholder; fill it in"));
    }
    for section in host.texts("required-sections") {
        if !has_section(&text, &section) {
            cost(REQUIRED_SECTION, format!("the section \"{section}\" is missing or empty"));
        }
    }
    for section in host.texts("expected-sections") {
        if !has_section(&text, &section) {
            cost(EXPECTED_SECTION, format!("the section \"{section}\" is missing or empty"));
        }
    }
    for path in o.missing_files.iter().take(MISSING_FILES) {
        let path = &path[..path.floor_char_boundary(PATH_BYTES)];
        cost(MISSING_FILE, format!("it names {path}, which does not exist"));
    }
    let (lines, most) = (text.lines().count(), host.integer("document-lines"));
    if lines as i64 > most {
        cost(TOO_LONG, format!("it has {lines} lines; one screen is {most}"));
    }
    let score =
        100u32.saturating_sub(findings.iter().fold(0, |sum, finding| sum.saturating_add(finding.cost)));
    let needed = host.integer("accept-score") as u32;
    let accepted = score >= needed && o.secrets.is_empty();
    let reason = match findings.iter().max_by_key(|finding| finding.cost) {
        None => "nothing is missing".to_owned(),
        Some(worst) => format!("{score} of 100 points, {needed} are needed; {}", worst.text),
    };
    ReviewResult { score, findings, staleness: staleness(host, o), accepted, reason }
}

/// The section is there and something stands in it. A heading may go on after the name ("References (read only…").
fn has_section(text: &str, name: &str) -> bool {
    let heading = |line: &str| {
        let title = line.strip_prefix('#')?.trim_start_matches('#').trim();
        Some(title.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)))
    };
    let mut lines = text.lines().skip_while(|line| heading(line) != Some(true)).skip(1);
    lines
        .by_ref()
        .take_while(|line| heading(line).is_none())
        .any(|line| line.chars().any(char::is_alphanumeric))
}

fn staleness(host: &impl Host, o: &ReviewObservation) -> Staleness {
    let at_least = |key: &str| i64::from(o.commits_since) >= host.integer(key);
    let missing = o.missing_files.len();
    if at_least("very-stale-commits") || missing >= VERY_STALE_FILES || (o.diverged && missing > 0) {
        Staleness::VeryStale
    } else if at_least("stale-commits") || o.diverged || missing > 1 {
        Staleness::Stale
    } else if at_least("slightly-stale-commits") || missing == 1 {
        Staleness::SlightlyStale
    } else {
        Staleness::Fresh
    }
}
