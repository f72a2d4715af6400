//! Decides {{decides}}. Each decision is in a file of its own.
#![forbid(unsafe_code)]

{{modules}}
use baton_sdk::prelude::{Settings, export_policy, settings::Setting};

/// The policy.
pub struct {{Type}};

impl Settings for {{Type}} {
    fn schema() -> Vec<Setting> {
        let mut schema = Vec::new();
        {{settings}}
        schema
    }
}

export_policy!({{Type}}: {{exports}}, settings);
