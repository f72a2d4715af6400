//! Whether to make room in the context between two prompts.

use baton_sdk::compaction::{Action, Decision, Observation};
use baton_sdk::prelude::*;

use crate::{{Type}};

/// What a team can set.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::number(
        "compact-percent",
        70.0,
        1.0..=99.0,
        "Compact from this occupancy, in percent of the window.",
    )]
}

impl Compaction for {{Type}} {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let threshold = host.number("compact-percent");
        Some(match o.session.occupancy.percent() {
            Some(percent) if percent >= threshold => {
                let reason = format!(
                    "{percent:.0} % of the window are used, and {threshold:.0} % are allowed"
                );
                Decision::new(Action::Compact(None), reason)
            }
            Some(percent) => Decision::new(
                Action::Keep,
                format!("{percent:.0} % of the window are used"),
            ),
            None => Decision::new(Action::Keep, "nobody knows how full the window is"),
        })
    }
}
