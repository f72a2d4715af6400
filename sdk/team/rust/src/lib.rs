//! The policy of a team: exhaustion by the agent's own words, compaction by the limit that was learned, splits by folder, and house rules.
#![forbid(unsafe_code)]

mod compaction;
mod exhaustion;
mod prompting;
mod splitting;

use baton_sdk::prelude::{Settings, export_policy, settings::Setting};

/// The policy.
pub struct Team;

impl Settings for Team {
    fn schema() -> Vec<Setting> {
        vec![exhaustion::setting(), compaction::setting(), splitting::setting(), prompting::setting()]
    }
}

export_policy!(Team: exhaustion, compaction, splitting, prompting, settings);
