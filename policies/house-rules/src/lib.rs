//! A layer over any policy that composes prompts: each prompt of the next policy, with a section of the team's own rules.
//! It decides `prompting` and nothing else, and shows what a layer is: ask the next policy, change one thing, give it on.
//!
//! The rules stand before the section that says how to report, since that has to come last: agents and the host agree on
//! its line. A prompt that would become longer than the contract allows goes out as the next policy wrote it, and the reason
//! says so.
#![forbid(unsafe_code)]

use baton_sdk::prelude::*;
use baton_sdk::prompting::{Kind, Observation, Prompt};

/// The section of the built-in policy, and of most others, behind which nothing may stand.
const LAST_SECTION: &str = "\n## Reporting\n";

/// The policy.
#[derive(Clone, Copy, Debug)]
pub struct HouseRules;

impl Prompting for HouseRules {
    fn compose(host: &impl Host, o: Observation) -> Option<Prompt> {
        let prompt = host.next_prompt(&o)?;
        let rules = host.texts("rules");
        let is_told = o.kind == Kind::Next && !host.flag("in-every-prompt");
        if rules.is_empty() || is_told {
            return Some(prompt);
        }
        Some(with_section(prompt, &section(&host.text("heading"), &rules)))
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

fn section(heading: &str, rules: &[String]) -> String {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let rules: String = rules.iter().map(|rule| format!("- {}\n", one_line(rule))).collect();
    format!("\n## {}\n{rules}", one_line(heading))
}

/// The prompt with a section more, before the last one.
fn with_section(prompt: Prompt, section: &str) -> Prompt {
    if prompt.prompt.len() + section.len() > caps::TEXT_BYTES {
        let reason = format!("{}; there was no room for the house rules", prompt.reason);
        return Prompt { reason: caps::cut(&reason, caps::REASON_BYTES).to_owned(), ..prompt };
    }
    let mut text = prompt.prompt;
    let at = text.rfind(LAST_SECTION).unwrap_or(text.len());
    text.insert_str(at, section);
    let reason = format!("{}, with the house rules", prompt.reason);
    let reason = caps::cut(&reason, caps::REASON_BYTES).to_owned();
    Prompt { prompt: text, reason, ..prompt }
}
