//! What a session leaves to the one after it.

use baton_sdk::caps::CappedText;
use baton_sdk::handoff::{Composition, Continuer, Observation};
use baton_sdk::prelude::*;
use baton_sdk::time;

use crate::{{Type}};

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
        let mut page = CappedText::up_to(caps::TEXT_BYTES);
        page.line(&format!("# Handoff of {}\n", o.phase.title));
        if let Some(because) = &o.because {
            page.line(because);
        }
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
        Some(Composition {
            index: format!("- {}: {title}\n", time::utc(o.asked_at_ms)),
            continuer: Continuer::Successor,
            left_out: page.left_out(o.facts_path.as_deref()),
            document: page.text().to_owned(),
            reason: "objectives and files, as the host knows them".into(),
        })
    }
}
