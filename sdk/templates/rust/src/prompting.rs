//! What the next message to an agent says.

use baton_sdk::prelude::*;
use baton_sdk::prompting::{Observation, Prompt};
use baton_sdk::sections::Section;

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
        let mut task = Section::new("task");
        task.line(&format!("Goal of the whole run: {}\n", o.goal));
        if let Some(because) = &o.because {
            task.said("You continue somebody's work:", because);
        }
        if let Some(handoff) = &o.newest_handoff {
            task.line(&format!("Read {} first.", handoff.path));
        }
        task.line("Do this:");
        let in_focus = |objective: &&Objective| o.focus.contains(&objective.id);
        for objective in o.objectives.iter().filter(in_focus) {
            task.line(&format!("- {}: {}", objective.id, objective.description));
        }
        // What the host leaves out first where the prompt is too long.
        let mut rules = Section::new("rules").ranked(1);
        if let Some(text) = Some(host.text("rules")).filter(|text| !text.is_empty()) {
            rules.line(&format!("\n{text}"));
        }
        Some(Prompt {
            sections: vec![task, rules],
            left_out: Vec::new(),
            reason: "one prompt for what is in focus".into(),
        })
    }
}
