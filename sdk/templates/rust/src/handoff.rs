//! What a session leaves to the one after it.

use baton_sdk::handoff::{Composition, Continuer, Observation};
use baton_sdk::prelude::*;
use baton_sdk::sections::Section;
use baton_sdk::time;
use baton_sdk::words::one_line;

use crate::{{Type}};

/// Bytes of a title or a description: the text of others has an end.
const LINE_BYTES: usize = 200;

/// What a team can set.
pub(crate) fn settings() -> Vec<settings::Setting> {
    Vec::new()
}

impl Handoff for {{Type}} {
    fn compose(_host: &impl Host, o: Observation) -> Option<Composition> {
        let (done, open): (Vec<&Objective>, Vec<&Objective>) = o
            .objectives
            .iter()
            .partition(|objective| objective.status == ObjectiveStatus::Done);
        let phase = one_line(&o.phase.title, LINE_BYTES);
        let mut title = Section::new("title");
        title.line(&format!("# Handoff of {phase}\n"));
        if let Some(because) = &o.because {
            title.said("The session ended:", because);
        }
        let listed = |id: &str, heading: &str, objectives: Vec<&Objective>| {
            let mut section = Section::new(id).headed(heading);
            for objective in objectives {
                let description = one_line(&objective.description, LINE_BYTES);
                section.line(&format!("- {}: {description}", objective.id));
            }
            section
        };
        // What the host leaves out first where the document is too long.
        let mut files = Section::new("files").headed("Changed files").ranked(2);
        for file in &o.changed_files {
            files.said("-", &file.path);
        }
        let mut index = Section::new("index");
        let at = time::utc(o.asked_at_ms);
        index.line(&format!("- {at}: {phase}"));
        Some(Composition {
            document: vec![
                title,
                listed("next", "Immediate next action", open),
                listed("done", "Done", done).ranked(1),
                files,
            ],
            index: vec![index],
            continuer: Continuer::Successor,
            left_out: Vec::new(),
            reason: "objectives and files, as the host knows them".into(),
        })
    }
}
