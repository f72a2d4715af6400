//! The prompts of resilience, with the rules of this team at the end of each.

use baton_policy_resilience::Resilience;
use baton_sdk::prelude::*;
use baton_sdk::prompting::{Observation, Prompt};
use baton_sdk::sections::Section;

use crate::{{Type}};

/// What a team can set, beside the settings of resilience.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::texts(
        "house-rules",
        &[
            "Add a dependency only where an objective asks for it.",
            "Change a public interface only where an objective asks for it.",
        ],
        "The rules at the end of every prompt; without any, the section is left out.",
    )]
}

impl Prompting for {{Type}} {
    fn compose(host: &impl Host, o: Observation) -> Option<Prompt> {
        let mut prompt = <Resilience as Prompting>::compose(host, o)?;
        let rules = host.texts("house-rules");
        if rules.is_empty() {
            return Some(prompt);
        }
        let mut section = Section::new("house-rules").headed("House rules");
        for rule in rules {
            section.line(&format!("- {rule}"));
        }
        prompt.sections.push(section);
        prompt.reason.push_str(", with the house rules");
        Some(prompt)
    }
}
