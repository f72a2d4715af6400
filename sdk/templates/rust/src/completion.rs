//! Which objectives of a prompt that was answered are done.

use baton_sdk::completion::{Decision, Observation};
use baton_sdk::prelude::*;

use crate::{{Type}};

/// What a team can set.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::flag(
        "report-needed",
        false,
        "Only what the agent reports as done is done; else its answer is enough.",
    )]
}

impl Completion for {{Type}} {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let report_needed = host.flag("report-needed");
        // What this session itself reported counts more than that it answered.
        let is_done = |objective: &&Objective| match &objective.reported {
            Some(report) if report.by_session => report.status == ObjectiveStatus::Done,
            _ => !report_needed,
        };
        let objectives = &o.session.objectives;
        let done: Vec<String> = objectives
            .iter()
            .filter(is_done)
            .map(|objective| objective.id.clone())
            .collect();
        let reason = format!("{} of {} objectives are done", done.len(), objectives.len());
        Some(Decision {
            done,
            evidence: Vec::new(),
            reason,
        })
    }
}
