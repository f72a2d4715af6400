//! Whether the agent itself says that its context is used up.

use baton_sdk::exhaustion::{Assessment, Observation, Occasion, Verdict};
use baton_sdk::prelude::*;

use crate::Team;

pub(crate) fn setting() -> settings::Setting {
    schema::texts(
        "own-words",
        &[
            "my context is full",
            "my context window is full",
            "my context is used up",
            "i have run out of context",
            "i am out of context",
            "kontext voll",
        ],
        "What an agent says of itself when its context is used up; ASCII letters match in either case.",
    )
}

impl Exhaustion for Team {
    fn assess(host: &impl Host, o: Observation) -> Option<Assessment> {
        if !matches!(o.occasion, Occasion::PromptEnded | Occasion::SessionEnded) {
            return None;
        }
        let is_own =
            |signal: &&Signal| signal.channel == Channel::AgentText && signal.prompt == o.session.prompts;
        let last = o.signals.iter().rev().find(is_own)?;
        let hit = host.find_setting(o.window, last.text, "own-words", 1).into_iter().next()?;
        let evidence =
            Evidence { channel: last.channel, seq: Some(last.seq), text: host.text_slice(o.window, hit.at) };
        Some(Assessment {
            verdict: Verdict::Exhausted,
            evidence: vec![evidence],
            warning: None,
            reason: "the agent says that its context is used up".into(),
        })
    }
}
