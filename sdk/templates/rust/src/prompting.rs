//! What the next message to an agent says.

use baton_sdk::prelude::*;
use baton_sdk::prompting::{Observation, Prompt};
use baton_sdk::sections::Section;
use baton_sdk::words::one_line;

use crate::{{Type}};

/// Bytes of the goal, of a path and of a description: the text of others has an end.
const LINE_BYTES: usize = 400;

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
        let goal = one_line(&o.goal, LINE_BYTES);
        task.line(&format!("Goal of the whole run: {goal}\n"));
        if let Some(because) = &o.because {
            task.said("You continue somebody's work:", because);
        }
        if let Some(handoff) = &o.newest_handoff {
            let path = one_line(&handoff.path, LINE_BYTES);
            task.line(&format!("Read {path} first."));
        }
        task.line("Do this:");
        let in_focus = |objective: &&Objective| o.focus.contains(&objective.id);
        for objective in o.objectives.iter().filter(in_focus) {
            let description = one_line(&objective.description, LINE_BYTES);
            task.line(&format!("- {}: {description}", objective.id));
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
