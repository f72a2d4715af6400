//! Handoffs for people and programs: the chain of a phase, and the verdict on a document. Judges nothing.

use std::path::Path;

use baton_runtime::core::PhaseId;
use baton_runtime::core::decision::{Provenance, ReviewDecision, Staleness};
use baton_runtime::core::view::{HandoffRepair, ReviewSummary};
use baton_runtime::{Author, HandoffEntry, Inspection};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use crate::render::json_record;
use crate::render::terminal_style::{TerminalStyle, Tone};
use crate::render::text_format::{by_policy, in_a_line};

/// "stale: 7 commits since, another branch".
fn age(found: &Inspection, review: &ReviewDecision) -> String {
    let mut why = Vec::new();
    match found.commits_since {
        Some(0) => {}
        Some(1) => why.push("1 commit since".to_owned()),
        Some(count) => why.push(format!("{count} commits since")),
        None => why.push("the commit at which it was made is unknown".to_owned()),
    }
    if found.diverged {
        why.push("another branch".to_owned());
    }
    if !found.missing_files.is_empty() {
        why.push(format!("{} files that it names are missing", found.missing_files.len()));
    }
    let word = match (found.commits_since, review.staleness) {
        (None, Staleness::Fresh) => "of unknown age".to_owned(),
        (_, staleness) => staleness.name().replace('-', " "),
    };
    if why.is_empty() { word } else { format!("{word}: {}", why.join(", ")) }
}

/// "line 12: a placeholder (TBD); fill it in  -35".
fn findings(review: &ReviewSummary) -> String {
    review
        .findings
        .iter()
        .map(|finding| {
            let line = finding.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            format!("  -{:<4}{line}{}\n", finding.cost, in_a_line(&finding.text))
        })
        .collect()
}

pub(crate) fn verdict_of(
    look: &TerminalStyle,
    file: &Path,
    found: &Inspection,
    review: &ReviewDecision,
) -> String {
    let (tone, word) = if review.accepted { (Tone::Good, "accepted") } else { (Tone::Bad, "refused") };
    format!(
        "{}: {}, {} of 100 points\n{}{}\n",
        file.display(),
        look.paint(tone, word),
        review.score,
        findings(&ReviewSummary::from(review)),
        age(found, review)
    )
}

pub(crate) fn verdict_record(
    file: &Path,
    found: &Inspection,
    review: &ReviewDecision,
    label: &Provenance,
) -> Value {
    json!({
        "schema": json_record::SCHEMA,
        "record": "handoff-check",
        "file": file.to_string_lossy(),
        "accepted": review.accepted,
        "score": review.score,
        "findings": ReviewSummary::from(review).findings,
        "staleness": review.staleness,
        "commits_since": found.commits_since,
        "diverged": found.diverged,
        "missing_files": found.missing_files,
        "secrets": found.secrets,
        "reason": review.reason,
        "policy": { "name": label.policy, "component": label.component, "by": label.by },
    })
}

pub(crate) fn record_of(ordinal: usize, entry: &HandoffEntry, now: &ReviewDecision) -> Value {
    let packets: Vec<Value> = entry
        .packets
        .iter()
        .map(|packet| {
            json!({
                "session": packet.session,
                "prompt": packet.prompt,
                "left_out": packet.left_out,
                "by": packet.by.as_ref().map(author_json),
            })
        })
        .collect();
    json!({
        "schema": json_record::SCHEMA,
        "record": "handoff",
        "ordinal": ordinal,
        "handoff": entry.row,
        "document": entry.document,
        "by": entry.by.as_ref().map(author_json),
        "packets": packets,
        "now": {
            "staleness": now.staleness,
            "commits_since": entry.now.commits_since,
            "diverged": entry.now.diverged,
            "missing_files": entry.now.missing_files,
        },
    })
}

/// `usual` is the text that third parties' texts are compared with, if requested.
pub(crate) fn text_of(
    look: &TerminalStyle,
    phase: &PhaseId,
    shown: &[(HandoffEntry, ReviewDecision)],
    usual: Option<BuiltInTextFn<'_>>,
) -> String {
    if shown.is_empty() {
        return format!("no session of phase {phase} has left a handoff\n");
    }
    let mut text = String::new();
    for (n, (entry, now)) in shown.iter().enumerate() {
        let row = &entry.row;
        let to = if row.closes { " to the phases after it" } else { "" };
        let title = format!("handoff {} of phase {phase}, left by {}{to}", shown.len() - n, row.session);
        text.push_str(&format!("{}\n", look.paint(Tone::Strong, &title)));
        let mut line = |label: &str, said: &str| text.push_str(&format!("{label:12}{said}\n"));
        line("document", &row.path);
        line("written by", &author_text(entry.by.as_ref()));
        line("facts", &row.facts);
        line("after", row.predecessor.as_deref().unwrap_or("none: it is the first"));
        match &row.review {
            Some(review) => {
                let word = if review.accepted { "accepted" } else { "refused" };
                let then = review.staleness.name().replace('-', " ");
                let by = by_policy(review.by.as_deref());
                line(
                    "review",
                    &format!("{word}{by}, {} of 100 points, {then} when it was used", review.score),
                );
            }
            None => line("review", "none: no policy was asked"),
        }
        line("now", &age(&entry.now, now));
        match row.repair {
            HandoffRepair::None => {}
            HandoffRepair::FromFacts => line("repaired", "composed again from facts, without text of agents"),
            HandoffRepair::Plain => line("repaired", "the host's own plain document, from facts"),
        }
        if row.lead {
            line("next", "the lead finishes the rest");
        }
        for left_out in row.left_out.iter().chain(entry.packets.iter().flat_map(|packet| &packet.left_out)) {
            line("left out", left_out);
        }
        if let Some(refused) = &row.refused {
            let (by, score) = (by_policy(refused.by.as_deref()), refused.score);
            text.push_str(&format!("refused first{by}, {score} of 100 points:\n{}", findings(refused)));
        }
        if let Some(review) = row.review.as_ref().filter(|review| !review.findings.is_empty()) {
            text.push_str(&findings(review));
        }
        text.push_str(&format!("\n{}\n", indented(&entry.document, is_third_party(entry.by.as_ref()))));
        text.push_str(&differing(look, entry.by.as_ref(), usual));
        for packet in &entry.packets {
            let title = format!("the packet of {}, its first prompt", packet.session);
            let by = author_text(packet.by.as_ref());
            let prompt = indented(&packet.prompt, is_third_party(packet.by.as_ref()));
            text.push_str(&format!("{}, written by {by}\n\n{prompt}\n", look.paint(Tone::Handoff, &title)));
            text.push_str(&differing(look, packet.by.as_ref(), usual));
        }
    }
    let authors = |entry: &HandoffEntry| {
        is_third_party(entry.by.as_ref())
            || entry.packets.iter().any(|packet| is_third_party(packet.by.as_ref()))
    };
    if usual.is_some() && !shown.iter().any(|(entry, _)| authors(entry)) {
        text.push_str("nothing here is third-party text: there is nothing to compare\n");
    }
    text
}

/// The text of the built-in policy, if another one was asked.
pub(crate) type BuiltInTextFn<'a> = &'a dyn Fn(&Author) -> Option<String>;

/// The prefix of each line of a third party's text, which reached an agent in this form.
const THIRD_PARTY_PREFIX: &str = "┆ ";

/// A document within another text, distinguished from it; `foreign` marks each line as a third party's.
fn indented(text: &str, foreign: bool) -> String {
    let before = if foreign { THIRD_PARTY_PREFIX } else { "  " };
    text.lines().map(|line| format!("{}\n", format!("{before}{line}").trim_end())).collect()
}

fn is_third_party(by: Option<&Author>) -> bool {
    by.is_some_and(Author::is_third_party)
}

/// "resilience@0123abcd, part of this host", or whose words they are.
fn author_text(by: Option<&Author>) -> String {
    let Some(author) = by else { return "the host itself, from facts".to_owned() };
    let label = &author.label;
    let digest = label.component.as_ref().map(|component| format!("@{}", component.short()));
    let name = format!("{}{}", label.policy, digest.unwrap_or_default());
    match author.is_third_party() {
        true => format!("{name}, third party: its text is marked {}", THIRD_PARTY_PREFIX.trim_end()),
        false => format!("{name}, part of this host"),
    }
}

fn author_json(author: &Author) -> Value {
    json!({
        "by": author.label.by,
        "policy": author.label.policy,
        "component": author.label.component,
        "third_party": author.is_third_party(),
    })
}

/// The differences between a third party's text and the built-in policy's, line by line.
fn differing(look: &TerminalStyle, by: Option<&Author>, usual: Option<BuiltInTextFn<'_>>) -> String {
    let (Some(author), Some(usual)) = (by.filter(|author| author.is_third_party()), usual) else {
        return String::new();
    };
    let title = "compared with the built-in policy (-)";
    let Some(usual) = usual(author) else {
        return format!("{title}: it writes nothing\n\n");
    };
    let mut text = format!("{}\n\n", look.paint(Tone::Handoff, title));
    let lines = TextDiff::from_lines(&usual, &author.text);
    for change in lines.iter_all_changes() {
        let (sign, tone) = match change.tag() {
            ChangeTag::Delete => ('-', Some(Tone::Bad)),
            ChangeTag::Insert => ('+', Some(Tone::Good)),
            ChangeTag::Equal => (' ', None),
        };
        let line = format!("{sign} {}", change.value().trim_end_matches('\n'));
        let line = tone.map_or(line.clone(), |tone| look.paint(tone, &line));
        text.push_str(&format!("{}\n", line.trim_end()));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_samples;
    use baton_runtime::FirstPrompt;
    use baton_runtime::core::Digest;
    use baton_runtime::core::decision::{DecisionSource, Finding};
    use baton_runtime::core::observation::{Capability, ContextItem, ContextItemKind};
    use baton_runtime::core::run::standalone_offload_query;
    use baton_runtime::engine::builtin_bytes;

    fn author(policy: &str, text: &str) -> Author {
        let component = match policy {
            "resilience" => Digest::of(builtin_bytes()),
            stranger => Digest::of(stranger),
        };
        let label = Provenance {
            by: DecisionSource::Configured,
            capability: Capability::Handoff,
            policy: policy.to_owned(),
            component: Some(component),
            settings: None,
            engine: Digest::of("engine"),
            fuel: 0,
            duration_us: 0,
            artifacts: Default::default(),
            faults: Vec::new(),
            abstained: Vec::new(),
            nested: Vec::new(),
        };
        let item = ContextItem { id: String::new(), kind: ContextItemKind::ToolResult, tokens: 0 };
        Author { label, question: standalone_offload_query(item), text: text.to_owned() }
    }

    fn seen(commits_since: u32) -> (Inspection, ReviewDecision) {
        let now = Inspection { commits_since: Some(commits_since), diverged: true, ..Inspection::default() };
        let review = ReviewDecision {
            score: 65,
            findings: vec![Finding {
                cost: 35,
                line: Some(5),
                text: "a placeholder (TBD); fill it in".into(),
            }],
            staleness: Staleness::Stale,
            accepted: false,
            reason: "65 of 100 points".into(),
        };
        (now, review)
    }

    #[test]
    fn a_chain_is_shown_newest_first_with_its_packets() {
        // C9, C13, M6
        let usual = |_: &Author| Some("# Continuation of phase build\n\nRead the tests first.\n".to_owned());
        let (now, review) = seen(7);
        let row = test_samples::running().phases[1].handoffs[0].clone();
        let packet = FirstPrompt {
            session: "s4".into(),
            prompt: "# Continuation of phase build\n\n## Your objective\n- [printer] Write it\n".into(),
            left_out: vec!["3 more failed attempts, in .baton/r-7f/handoffs/build-1-facts.json".into()],
            by: Some(author("stranger", "# Continuation of phase build\n\nIgnore the tests.\n")),
        };
        let entry = HandoffEntry {
            row,
            document: "# Phase build handoff\n\n## Immediate Next Action\n- journal: Start printer\n".into(),
            packets: vec![packet],
            now,
            by: Some(author("resilience", "")),
            open_objectives: vec!["printer".into()],
        };
        let shown = text_of(&TerminalStyle::bare(100), &"build".into(), &[(entry, review)], Some(&usual));
        // Each change of the built-in policy gives it another digest.
        insta::assert_snapshot!(
            "handoff_show",
            shown.replace(Digest::of(builtin_bytes()).short(), "0123456789ab")
        );
        insta::assert_snapshot!(
            "handoff_show_none",
            text_of(&TerminalStyle::bare(100), &"build".into(), &[], None)
        );
    }

    #[test]
    fn a_refused_document_is_told_line_by_line() {
        // C8
        let (now, review) = seen(1);
        insta::assert_snapshot!(
            "handoff_check",
            verdict_of(&TerminalStyle::bare(100), Path::new("handoff.md"), &now, &review)
        );
    }
}
