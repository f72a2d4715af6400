//! The prompts of the next policy, each with the rules of the house.

use baton_sdk::prelude::*;
use baton_sdk::prompting::{Observation, Prompt};
use baton_sdk::sections::Section;

use crate::Team;

/// The section of the built-in policy that has to come last: it says how to report.
const LAST_SECTION: &str = "reporting";

pub(crate) fn setting() -> settings::Setting {
    schema::texts(
        "house-rules",
        &[],
        "The lines of the section that every prompt gets; without any, there is none.",
    )
}

impl Prompting for Team {
    fn compose(host: &impl Host, o: Observation) -> Option<Prompt> {
        let rules = host.texts("house-rules");
        if rules.is_empty() {
            return None;
        }
        let mut prompt = host.next_prompt(&o)?;
        let mut section = Section::new("house-rules").headed("House rules");
        section.line(&rules.join("\n"));
        prompt.insert_before(LAST_SECTION, section);
        Some(prompt)
    }
}
