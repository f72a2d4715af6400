//! A layer over any policy that composes prompts: each prompt of the next policy, with a section of the team's own rules.
//! It decides `prompting` and nothing else, and shows what a layer is: ask the next policy, change one thing, give it on.
//!
//! The rules stand before the section that says how to report, since that has to come last: agents and the host agree on
//! its line. Where a prompt becomes longer than the contract allows, the host leaves out what its policy ranks lowest, never the
//! rules.
#![forbid(unsafe_code)]

use baton_sdk::prelude::*;
use baton_sdk::prompting::{Kind, Observation, Prompt};
use baton_sdk::sections::Section;
use baton_sdk::words::one_line;

/// The section of the built-in policy behind which nothing may stand.
const LAST_SECTION: &str = "reporting";

/// The policy.
#[derive(Clone, Copy, Debug)]
pub struct HouseRules;

impl Prompting for HouseRules {
    fn compose(host: &impl Host, o: Observation) -> Option<Prompt> {
        let mut prompt = host.next_prompt(&o)?;
        let rules = host.texts("rules");
        let is_told = o.kind == Kind::Next && !host.flag("in-every-prompt");
        if rules.is_empty() || is_told {
            return Some(prompt);
        }
        prompt.insert_before(LAST_SECTION, section(&host.text("heading"), &rules));
        let reason = format!("{}, with the house rules", prompt.reason);
        prompt.reason = caps::cut(&reason, caps::REASON_BYTES).to_owned();
        Some(prompt)
    }
}

impl Settings for HouseRules {
    fn schema() -> Vec<settings::Setting> {
        vec![
            schema::texts("rules", &[], "The rules, one an entry: each becomes a line of the section."),
            schema::text("heading", "House rules", "The heading of the section."),
            schema::flag(
                "in-every-prompt",
                false,
                "Whether a prompt for a further objective repeats the rules; the first prompt of a session always has them.",
            ),
        ]
    }
}

export_policy!(HouseRules: prompting, settings);

fn section(heading: &str, rules: &[String]) -> Section {
    let mut section = Section::new("house-rules").headed(heading);
    for rule in rules {
        section.line(&format!("- {}", one_line(rule, caps::TEXT_BYTES)));
    }
    section
}
