//! What the next prompt says, and what a session leaves to the one after it.

use baton_sdk::handoff::{
    Briefing, Composition, Continuer, Finding, Observation, ReviewObservation, ReviewResult,
    Staleness,
};
use baton_sdk::prelude::*;

use crate::{{Type}};

/// What a team can set.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::text(
        "rules",
        "",
        "What every prompt ends with, for example the rules of the house.",
    )]
}

impl Handoff for {{Type}} {
    fn brief(host: &impl Host, o: Observation) -> Briefing {
        let rules = host.text("rules");
        let mut page = Page::up_to(caps::TEXT_BYTES.saturating_sub(rules.len() + 2));
        page.line(&format!("Goal of the whole run: {}\n", o.goal));
        if !o.because.is_empty() {
            page.line(&format!("You continue somebody's work: {}.", o.because));
        }
        if !o.handoff_path.is_empty() {
            page.line(&format!("Read {} first.", o.handoff_path));
        }
        page.line("Do this:");
        let in_focus = |objective: &&Objective| o.focus.contains(&objective.id);
        for objective in o.objectives.iter().filter(in_focus) {
            page.line(&format!("- {}: {}", objective.id, objective.description));
        }
        let left_out = page.left_out(&o.facts_path);
        let mut prompt = page.text;
        if !rules.is_empty() {
            prompt.push_str(&format!("\n{rules}\n"));
        }
        Briefing {
            prompt: caps::cut(&prompt, caps::TEXT_BYTES).into(),
            left_out,
            reason: "one prompt for what is in focus".into(),
        }
    }

    fn compose(_host: &impl Host, o: Observation) -> Composition {
        let (done, open): (Vec<&Objective>, Vec<&Objective>) = o
            .objectives
            .iter()
            .partition(|objective| objective.status == ObjectiveStatus::Done);
        let mut page = Page::up_to(caps::TEXT_BYTES);
        page.line(&format!("# Handoff of {}\n", o.phase.title));
        page.line(&o.because);
        // What is to be done comes first: where there is little room, it is what a successor needs.
        for (title, objectives) in [("Immediate next action", open), ("Done", done)] {
            page.line(&format!("\n## {title}\n"));
            for objective in objectives {
                page.line(&format!("- {}: {}", objective.id, objective.description));
            }
        }
        page.line("\n## Changed files\n");
        for file in &o.changed_files {
            page.line(&format!("- `{}`", file.path));
        }
        let title = caps::cut(&o.phase.title, 200);
        Composition {
            index: format!("- {}: {title}\n", o.now),
            continuer: Continuer::Successor,
            left_out: page.left_out(&o.facts_path),
            document: page.text,
            reason: "objectives and files, as the host knows them".into(),
        }
    }

    fn review(host: &impl Host, o: ReviewObservation) -> ReviewResult {
        let mut findings = Vec::new();
        let mut find = |cost, text: String| {
            if findings.len() < caps::ITEMS {
                let text = caps::cut(&text, caps::REASON_BYTES).into();
                findings.push(Finding {
                    cost,
                    line: 0,
                    text,
                });
            }
        };
        for secret in &o.secrets {
            find(100, format!("it contains a secret: {secret}"));
        }
        let whole = Span {
            start: 0,
            end: host.text_len(o.document),
        };
        for id in &o.open_objectives {
            let named = host.find_any(o.document, whole, std::slice::from_ref(id), 1);
            if named.is_empty() {
                find(20, format!("it does not name the open objective {id}"));
            }
        }
        for path in &o.missing_files {
            find(10, format!("it names `{path}`, which is not there"));
        }
        let cost: u32 = findings.iter().map(|finding| finding.cost).sum();
        let score = 100 - cost.min(100);
        let staleness = match o.commits_since {
            0 => Staleness::Fresh,
            _ => Staleness::SlightlyStale,
        };
        ReviewResult {
            score,
            findings,
            staleness,
            accepted: score >= 70,
            reason: format!("{score} of 100"),
        }
    }
}

/// A text that grows by lines as long as there is room; what has none is counted.
struct Page {
    text: String,
    bytes_max: usize,
    lines_beyond: usize,
}

impl Page {
    fn up_to(bytes_max: usize) -> Self {
        Self {
            text: String::new(),
            bytes_max,
            lines_beyond: 0,
        }
    }

    fn line(&mut self, line: &str) {
        if self.text.len() + line.len() < self.bytes_max {
            self.text.push_str(line);
            self.text.push('\n');
        } else {
            self.lines_beyond += 1;
        }
    }

    /// What the page leaves out, and where that stands.
    fn left_out(&self, facts_path: &str) -> Vec<String> {
        match self.lines_beyond {
            0 => Vec::new(),
            beyond => vec![format!("{beyond} lines; see {facts_path}")],
        }
    }
}
