//! How a session is, or why it stopped.

use baton_sdk::exhaustion::{Assessment, Observation, Occasion, Verdict};
use baton_sdk::prelude::*;

use crate::{{Type}};

/// What a team can set.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::texts(
        "exhausted-phrases",
        &["prompt is too long", "context window", "context length"],
        "What an agent or its provider says when the context is used up, in any case.",
    )]
}

impl Exhaustion for {{Type}} {
    fn assess(host: &impl Host, o: Observation) -> Option<Assessment> {
        // What a tool printed is no evidence: an agent may read a file about context windows.
        for signal in o
            .signals
            .iter()
            .filter(|signal| signal.channel != Channel::ToolOutput)
        {
            if host
                .find_setting(o.window, signal.text, "exhausted-phrases", 1)
                .first()
                .is_some()
            {
                let evidence = Evidence {
                    channel: signal.channel,
                    seq: Some(signal.seq),
                    text: host
                        .text_slice(o.window, signal.text)
                        .chars()
                        .take(50)
                        .collect(),
                };
                // While it works it may still recover; only what has ended is judged.
                return match has_ended(&o.occasion) {
                    true => {
                        assessment(Verdict::Exhausted, vec![evidence], "its context is used up")
                    }
                    false => assessment(Verdict::Healthy, Vec::new(), "it still works"),
                };
            }
        }
        match &o.occasion {
            occasion if !has_ended(occasion) => {
                assessment(Verdict::Healthy, Vec::new(), "it works")
            }
            _ if o.answer_bytes > 0 || o.files_changed > 0 => {
                assessment(Verdict::Answered, Vec::new(), "it answered")
            }
            _ => assessment(Verdict::Failed, Vec::new(), "it ended without an answer"),
        }
    }
}

fn has_ended(occasion: &Occasion) -> bool {
    matches!(occasion, Occasion::PromptEnded | Occasion::SessionEnded)
}

fn assessment(verdict: Verdict, evidence: Vec<Evidence>, reason: &str) -> Option<Assessment> {
    Some(Assessment {
        verdict,
        evidence,
        warning: None,
        reason: reason.into(),
    })
}
