//! The handoffs of resilience, with notes of this team for every successor. They stand in the index, which a successor reads
//! first: the document is one screen, and `document-lines` bounds it.

use baton_policy_resilience::Resilience;
use baton_sdk::handoff::{Composition, Observation};
use baton_sdk::prelude::*;
use baton_sdk::sections::Section;

use crate::{{Type}};

/// What a team can set, beside the settings of resilience.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::texts(
        "house-notes",
        &["Run the tests before the first change: what is red was left so."],
        "The notes at the end of every handoff index; without any, the section is left out.",
    )]
}

impl Handoff for {{Type}} {
    fn compose(host: &impl Host, o: Observation) -> Option<Composition> {
        let mut composition = <Resilience as Handoff>::compose(host, o)?;
        let notes = host.texts("house-notes");
        if notes.is_empty() {
            return Some(composition);
        }
        let mut section = Section::new("house-notes").headed("House notes");
        for note in notes {
            section.line(&format!("- team: {note}"));
        }
        composition.index.push(section);
        composition.reason.push_str(", with the house notes");
        Some(composition)
    }
}
