//! The prompts of resilience, with the rules of this team at the end of each.

use baton_policy_resilience::Resilience;
use baton_sdk::caps::CappedText;
use baton_sdk::prelude::*;
use baton_sdk::prompting::{Observation, Prompt};

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
        // A prompt over its cap is thrown away whole: the section gets the room that is left.
        let room = caps::TEXT_BYTES.saturating_sub(prompt.prompt.len());
        let mut section = CappedText::up_to(room);
        section.line("\n## House rules");
        for rule in rules {
            section.line(&format!("- {rule}"));
        }
        prompt.prompt.push_str(section.text());
        prompt
            .left_out
            .extend(section.left_out(Some("the setting house-rules")));
        prompt.reason.push_str(", with the house rules");
        Some(prompt)
    }
}
