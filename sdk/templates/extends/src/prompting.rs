//! The prompts of resilience, each with the rules of this team before how to report.

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
        "The rules of every prompt; without any, the section is left out.",
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
        // How to report stays the last that an agent reads.
        prompt.insert_before("reporting", section);
        prompt.reason.push_str(", with the house rules");
        Some(prompt)
    }
}
