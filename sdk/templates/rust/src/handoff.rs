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
        let mut prompt = format!("Goal of the whole run: {}\n\n", o.goal);
        if !o.because.is_empty() {
            prompt.push_str(&format!("You continue somebody's work: {}.\n", o.because));
        }
        if !o.handoff_path.is_empty() {
            prompt.push_str(&format!("Read {} first.\n", o.handoff_path));
        }
        prompt.push_str("Do this:\n");
        for objective in o
            .objectives
            .iter()
            .filter(|objective| o.focus.contains(&objective.id))
        {
            prompt.push_str(&format!("- {}: {}\n", objective.id, objective.description));
        }
        let rules = host.text("rules");
        if !rules.is_empty() {
            prompt.push_str(&format!("\n{rules}\n"));
        }
        Briefing {
            prompt,
            left_out: Vec::new(),
            reason: "one prompt for what is in focus".into(),
        }
    }

    fn compose(_host: &impl Host, o: Observation) -> Composition {
        let (done, open): (Vec<&Objective>, Vec<&Objective>) = o
            .objectives
            .iter()
            .partition(|objective| objective.status == ObjectiveStatus::Done);
        let mut document = format!("# Handoff of {}\n\n{}\n", o.phase.title, o.because);
        for (title, objectives) in [("Done", done), ("Immediate next action", open)] {
            document.push_str(&format!("\n## {title}\n\n"));
            for objective in objectives {
                document.push_str(&format!("- {}: {}\n", objective.id, objective.description));
            }
        }
        document.push_str("\n## Changed files\n\n");
        for file in &o.changed_files {
            document.push_str(&format!("- `{}`\n", file.path));
        }
        let index = format!("- {}: {}\n", o.now, o.phase.title);
        let reason = "objectives and files, as the host knows them".into();
        Composition {
            document,
            index,
            continuer: Continuer::Successor,
            left_out: Vec::new(),
            reason,
        }
    }

    fn review(host: &impl Host, o: ReviewObservation) -> ReviewResult {
        let mut findings = Vec::new();
        let mut find = |cost, text: String| {
            findings.push(Finding {
                cost,
                line: 0,
                text,
            })
        };
        for secret in &o.secrets {
            find(100, format!("it contains a secret: {secret}"));
        }
        for path in &o.missing_files {
            find(10, format!("it names `{path}`, which is not there"));
        }
        let whole = Span {
            start: 0,
            end: host.text_len(o.document),
        };
        for objective in &o.open_objectives {
            if host
                .find_any(o.document, whole, std::slice::from_ref(objective), 1)
                .is_empty()
            {
                find(
                    20,
                    format!("it does not name the open objective {objective}"),
                );
            }
        }
        let cost: u32 = findings.iter().map(|finding| finding.cost).sum();
        let score = 100 - cost.min(100);
        let staleness = if o.commits_since == 0 {
            Staleness::Fresh
        } else {
            Staleness::SlightlyStale
        };
        let accepted = score >= 70;
        ReviewResult {
            score,
            findings,
            staleness,
            accepted,
            reason: format!("{score} of 100"),
        }
    }
}
