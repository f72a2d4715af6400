//! The review of resilience, and what this team does not want to read in a handoff document.

use baton_policy_resilience::Resilience;
use baton_sdk::prelude::*;
use baton_sdk::review::{self, Finding, Observation};

use crate::{{Type}};

/// Points that a vague word costs, and how many of them are found in one document.
const COST: u32 = 5;
const FOUND: u32 = 4;

/// What a team can set, beside the settings of resilience.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::texts(
        "vague-words",
        &["should work", "seems to work", "probably fine"],
        "Words, in any case, that tell a successor nothing to rely on; each costs 5 points, and at most 4 are counted.",
    )]
}

impl Review for {{Type}} {
    fn assess(host: &impl Host, o: Observation) -> Option<review::Review> {
        let document = o.document;
        let mut review = <Resilience as Review>::assess(host, o)?;
        let whole = Span {
            start: 0,
            end: host.text_len(document),
        };
        let room = caps::ITEMS.saturating_sub(review.findings.len());
        let hits = host.find_setting(document, whole, "vague-words", FOUND);
        for hit in hits.iter().take(room) {
            let before = Span {
                start: 0,
                end: hit.at.start,
            };
            let line = 1 + host.text_slice(document, before).matches('\n').count();
            let words = host.text_slice(document, hit.at);
            review.findings.push(Finding {
                cost: COST,
                line: u32::try_from(line).ok(),
                text: format!(
                    "\"{}\" is vague; say what was checked",
                    caps::cut(&words, 200)
                ),
            });
        }
        let costs = review
            .findings
            .iter()
            .fold(0_u32, |sum, finding| sum.saturating_add(finding.cost));
        let score = 100_u32.saturating_sub(costs);
        if score < review.score {
            review.accepted &= i64::from(score) >= host.integer("accept-score");
            review.reason = format!(
                "{score} of 100 points, less than the {} of resilience for vague words",
                review.score
            );
            review.score = score;
        }
        Some(review)
    }
}
