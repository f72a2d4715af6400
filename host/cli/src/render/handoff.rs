//! Handoffs for people and programs: the chain of a phase, and the verdict on a document. Judges nothing.

use std::path::Path;

use baton_runtime::core::PhaseId;
use baton_runtime::core::decision::{Label, Review, Staleness};
use baton_runtime::core::view::{Repair, ReviewRow};
use baton_runtime::{HandoffEntry, Inspection};
use serde_json::{Value, json};

use crate::render::look::{Look, Tone};
use crate::render::record;

/// "stale: 7 commits since, another branch".
fn age(found: &Inspection, review: &Review) -> String {
    let mut why = Vec::new();
    match found.commits_since {
        Some(0) => {}
        Some(1) => why.push("1 commit since".to_owned()),
        Some(count) => why.push(format!("{count} commits since")),
        None => why.push("nobody knows at which commit it was made".to_owned()),
    }
    if found.diverged {
        why.push("another branch".to_owned());
    }
    if !found.missing_files.is_empty() {
        why.push(format!("{} files that it names are not there", found.missing_files.len()));
    }
    let word = match (found.commits_since, review.staleness) {
        (None, Staleness::Fresh) => "of unknown age".to_owned(),
        (_, staleness) => staleness.name().replace('-', " "),
    };
    if why.is_empty() { word } else { format!("{word}: {}", why.join(", ")) }
}

/// "line 12: a placeholder (TBD); fill it in  -35".
fn findings(review: &ReviewRow) -> String {
    review
        .findings
        .iter()
        .map(|finding| {
            let line = if finding.line > 0 { format!("line {}: ", finding.line) } else { String::new() };
            format!("  -{:<4}{line}{}\n", finding.cost, finding.text)
        })
        .collect()
}

pub(crate) fn verdict_of(look: &Look, file: &Path, found: &Inspection, review: &Review) -> String {
    let (tone, word) = if review.accepted { (Tone::Good, "accepted") } else { (Tone::Bad, "refused") };
    format!(
        "{}: {}, {} of 100 points\n{}{}\n",
        file.display(),
        look.paint(tone, word),
        review.score,
        findings(&ReviewRow::from(review)),
        age(found, review)
    )
}

pub(crate) fn verdict_record(file: &Path, found: &Inspection, review: &Review, label: &Label) -> Value {
    json!({
        "schema": record::SCHEMA,
        "record": "handoff-check",
        "file": file.to_string_lossy(),
        "accepted": review.accepted,
        "score": review.score,
        "findings": ReviewRow::from(review).findings,
        "staleness": review.staleness,
        "commits_since": found.commits_since,
        "diverged": found.diverged,
        "missing_files": found.missing_files,
        "secrets": found.secrets,
        "reason": review.reason,
        "policy": { "name": label.policy, "component": label.component, "by": label.by },
    })
}

pub(crate) fn record_of(ordinal: usize, entry: &HandoffEntry, now: &Review) -> Value {
    let packets: Vec<Value> = entry
        .packets
        .iter()
        .map(|packet| {
            json!({ "session": packet.session, "prompt": packet.prompt, "left_out": packet.left_out })
        })
        .collect();
    json!({
        "schema": record::SCHEMA,
        "record": "handoff",
        "ordinal": ordinal,
        "handoff": entry.row,
        "document": entry.document,
        "packets": packets,
        "now": {
            "staleness": now.staleness,
            "commits_since": entry.now.commits_since,
            "diverged": entry.now.diverged,
            "missing_files": entry.now.missing_files,
        },
    })
}

pub(crate) fn text_of(look: &Look, phase: &PhaseId, shown: &[(HandoffEntry, Review)]) -> String {
    if shown.is_empty() {
        return format!("no session of phase {phase} has left a handoff\n");
    }
    let mut text = String::new();
    for (n, (entry, now)) in shown.iter().enumerate() {
        let row = &entry.row;
        let title = format!("handoff {} of phase {phase}, left by {}", shown.len() - n, row.session);
        text.push_str(&format!("{}\n", look.paint(Tone::Strong, &title)));
        let mut line = |label: &str, said: &str| text.push_str(&format!("{label:10}{said}\n"));
        line("document", &row.path);
        line("facts", &row.facts);
        line("after", row.predecessor.as_deref().unwrap_or("none: it is the first"));
        match &row.review {
            Some(review) => {
                let word = if review.accepted { "accepted" } else { "refused" };
                let then = review.staleness.name().replace('-', " ");
                line("review", &format!("{word}, {} of 100 points, {then} when it was used", review.score));
            }
            None => line("review", "none: no policy was asked"),
        }
        line("now", &age(&entry.now, now));
        match row.repair {
            Repair::None => {}
            Repair::FromFacts => line("repaired", "composed again from facts, without the words of agents"),
            Repair::Plain => line("repaired", "the host's own plain document, from facts"),
        }
        if row.lead {
            line("next", "the lead finishes the rest");
        }
        for left_out in row.left_out.iter().chain(entry.packets.iter().flat_map(|packet| &packet.left_out)) {
            line("left out", left_out);
        }
        if let Some(refused) = &row.refused {
            text.push_str(&format!("refused first, {} of 100 points:\n{}", refused.score, findings(refused)));
        }
        if let Some(review) = row.review.as_ref().filter(|review| !review.findings.is_empty()) {
            text.push_str(&findings(review));
        }
        text.push_str(&format!("\n{}\n", indented(&entry.document)));
        for packet in &entry.packets {
            let title = format!("the packet of {}, its first prompt", packet.session);
            text.push_str(&format!("{}\n\n{}\n", look.paint(Tone::Relay, &title), indented(&packet.prompt)));
        }
    }
    text
}

/// A document inside of another text, to be told from it.
fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::samples;
    use baton_runtime::Packet;
    use baton_runtime::core::decision::Finding;

    fn seen(commits_since: u32) -> (Inspection, Review) {
        let now = Inspection { commits_since: Some(commits_since), diverged: true, ..Inspection::default() };
        let review = Review {
            score: 65,
            findings: vec![Finding { cost: 35, line: 5, text: "a placeholder (TBD); fill it in".into() }],
            staleness: Staleness::Stale,
            accepted: false,
            reason: "65 of 100 points".into(),
        };
        (now, review)
    }

    #[test]
    fn a_chain_is_shown_newest_first_with_its_packets() {
        // C9, C13
        let (now, review) = seen(7);
        let row = samples::running().phases[1].handoffs[0].clone();
        let packet = Packet {
            session: "s4".into(),
            prompt: "# Continuation of phase build\n\n## Your objective\n- [printer] Write it\n".into(),
            left_out: vec!["3 more failed attempts, in .baton/r-7f/handoffs/build-1-facts.json".into()],
        };
        let entry = HandoffEntry {
            row,
            document: "# Phase build handoff\n\n## Immediate Next Action\n- journal: Start printer\n".into(),
            packets: vec![packet],
            now,
            open_objectives: vec!["printer".into()],
        };
        insta::assert_snapshot!(
            "handoff_show",
            text_of(&Look::bare(100), &"build".into(), &[(entry, review)])
        );
        insta::assert_snapshot!("handoff_show_none", text_of(&Look::bare(100), &"build".into(), &[]));
    }

    #[test]
    fn a_refused_document_is_told_line_by_line() {
        // C8
        let (now, review) = seen(1);
        insta::assert_snapshot!(
            "handoff_check",
            verdict_of(&Look::bare(100), Path::new("handoff.md"), &now, &review)
        );
    }
}
