//! Whether a handoff is fit to start a successor.

use baton_sdk::prelude::*;
use baton_sdk::review::{self, Finding, Observation, Staleness};

use crate::{{Type}};

/// What a team can set.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::integer(
        "accept-score",
        70,
        0..=100,
        "Points, of 100, that a handoff needs.",
    )]
}

impl Review for {{Type}} {
    fn assess(host: &impl Host, o: Observation) -> Option<review::Review> {
        let mut findings = Vec::new();
        let mut find = |cost, text: String| {
            if findings.len() < caps::ITEMS {
                let text = caps::cut(&text, caps::REASON_BYTES).into();
                findings.push(Finding {
                    cost,
                    line: None,
                    text,
                });
            }
        };
        for secret in &o.secrets {
            find(100, format!("it contains a secret: {secret}"));
        }
        let whole = Span {
            start: 0,
            end: host.text_len(o.document),
        };
        for id in &o.open_objectives {
            let named = host.find_any(o.document, whole, std::slice::from_ref(id), 1);
            if named.is_empty() {
                find(20, format!("it does not name the open objective {id}"));
            }
        }
        for path in &o.missing_files {
            find(10, format!("it names `{path}`, which is not there"));
        }
        let cost: u32 = findings.iter().map(|finding| finding.cost).sum();
        let score = 100 - cost.min(100);
        let staleness = match o.commits_since {
            0 => Staleness::Fresh,
            _ => Staleness::SlightlyStale,
        };
        Some(review::Review {
            score,
            findings,
            staleness,
            accepted: o.secrets.is_empty() && i64::from(score) >= host.integer("accept-score"),
            reason: format!("{score} of 100"),
        })
    }
}
