//! What the next message to an agent says.

use baton_sdk::caps::CappedText;
use baton_sdk::prelude::*;
use baton_sdk::prompting::{Observation, Prompt};

use crate::{{Type}};

/// What a team can set.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::text(
        "rules",
        "",
        "What every prompt ends with, for example the rules of the house.",
    )]
}

impl Prompting for {{Type}} {
    fn compose(host: &impl Host, o: Observation) -> Option<Prompt> {
        let rules = host.text("rules");
        let mut page = CappedText::up_to(caps::TEXT_BYTES.saturating_sub(rules.len() + 2));
        page.line(&format!("Goal of the whole run: {}\n", o.goal));
        if let Some(because) = &o.because {
            page.line(&format!("You continue somebody's work: {because}."));
        }
        if let Some(handoff) = &o.newest_handoff {
            page.line(&format!("Read {} first.", handoff.path));
        }
        page.line("Do this:");
        let in_focus = |objective: &&Objective| o.focus.contains(&objective.id);
        for objective in o.objectives.iter().filter(in_focus) {
            page.line(&format!("- {}: {}", objective.id, objective.description));
        }
        let mut prompt = page.text().to_owned();
        if !rules.is_empty() {
            prompt.push_str(&format!("\n{rules}\n"));
        }
        Some(Prompt {
            prompt: caps::cut(&prompt, caps::TEXT_BYTES).into(),
            left_out: page.left_out(o.facts_path.as_deref()),
            reason: "one prompt for what is in focus".into(),
        })
    }
}
