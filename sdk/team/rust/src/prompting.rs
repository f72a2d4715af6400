//! The prompts of the next policy, each with the rules of the house.

use baton_sdk::prelude::*;
use baton_sdk::prompting::{Observation, Prompt};

use crate::Team;

/// The section of the built-in policy that has to come last: it says how to report.
const LAST_SECTION: &str = "\n## Reporting\n";

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
        let section = format!("\n## House rules\n{}\n", rules.join("\n"));
        if prompt.prompt.len() + section.len() > caps::TEXT_BYTES {
            return None; // There is no room: the next policy's prompt goes out as it is.
        }
        let at = prompt.prompt.rfind(LAST_SECTION).unwrap_or(prompt.prompt.len());
        prompt.prompt.insert_str(at, &section);
        Some(prompt)
    }
}
