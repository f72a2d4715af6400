//! The built-in policy `resilience`, with what this team changes of it: {{decides}}. Each decision is in a file of its own.
#![forbid(unsafe_code)]

{{modules}}
use baton_policy_resilience::Resilience;
use baton_sdk::prelude::{Settings, export_policy, settings::Setting};

/// The policy: each decision asks [`Resilience`] first, and then changes or adds one thing.
pub struct {{Type}};

impl Settings for {{Type}} {
    fn schema() -> Vec<Setting> {
        // Resilience reads its settings from the same host, so all of them are passed through.
        let mut schema = Resilience::schema();
        {{settings}}
        schema
    }
}

export_policy!({{Type}}: {{exports}}, settings);
