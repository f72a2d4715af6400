//! How resilience judges a session, with the phrases by which the agents of this team say that their context is used up.

use baton_policy_resilience::Resilience;
use baton_sdk::exhaustion::{Assessment, Observation, Occasion, Verdict};
use baton_sdk::prelude::*;

use crate::{{Type}};

/// Occurrences that are looked at in one text.
const HITS: u32 = 16;

/// What a team can set, beside the settings of resilience.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::texts(
        "house-exhausted-phrases",
        &["out of working memory"],
        "What an agent writes at the beginning of a line, in any case, when its context is used up.",
    )]
}

impl Exhaustion for {{Type}} {
    fn assess(host: &impl Host, o: Observation) -> Option<Assessment> {
        let said = said(host, &o);
        let assessment = <Resilience as Exhaustion>::assess(host, o)?;
        // A provider's limit, an interruption and the like are told by better evidence than a line of the answer.
        let is_open_to_words = matches!(
            assessment.verdict,
            Verdict::Answered | Verdict::Truncated | Verdict::Failed
        );
        Some(match said.filter(|_| is_open_to_words) {
            Some(evidence) => Assessment {
                verdict: Verdict::Exhausted,
                reason: format!("the context is used up, says the agent: {}", evidence.text),
                evidence: vec![evidence],
                ..assessment
            },
            None => assessment,
        })
    }
}

/// The line of the agent's answer to the current prompt that says it, once the prompt has ended.
fn said(host: &impl Host, o: &Observation) -> Option<Evidence> {
    if !matches!(o.occasion, Occasion::PromptEnded | Occasion::SessionEnded) {
        return None;
    }
    // What a tool printed is no evidence: only the agent's own words are searched.
    let is_answer = |signal: &&Signal| {
        signal.channel == Channel::AgentText && signal.prompt == o.session.prompts
    };
    o.signals.iter().filter(is_answer).find_map(|signal| {
        let hits = host.find_setting(o.window, signal.text, "house-exhausted-phrases", HITS);
        let hit = hits
            .iter()
            .find(|hit| begins_line(host, o.window, signal.text, hit.at.start))?;
        let rest = Span {
            start: hit.at.start,
            end: signal.text.end,
        };
        let rest = host.text_slice(o.window, rest);
        let line = rest.lines().next().unwrap_or_default();
        Some(Evidence {
            channel: signal.channel,
            seq: Some(signal.seq),
            text: caps::cut(line, caps::EVIDENCE_BYTES).into(),
        })
    })
}

/// Nothing stands before it in its text, or a line break does.
fn begins_line(host: &impl Host, window: TextId, text: Span, at: u32) -> bool {
    let before = Span {
        start: at.saturating_sub(1),
        end: at,
    };
    at == text.start || host.text_slice(window, before) == "\n"
}
