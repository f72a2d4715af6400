//! `--dry-run`: shows what a request would start, and starts nothing.

use baton_runtime::dry_run;

use super::start_request::StartRequest;
use crate::args::{OutputFormat, ViewArgs};
use crate::config_layers::placed;
use crate::exit_status::CliExit;
use crate::render::{dry_run as plan_display, json_record, terminal_style};
use crate::{experiment_assignment, stdio};

/// Writes the plan to standard output.
pub(super) fn show(request: &StartRequest, view: ViewArgs) -> anyhow::Result<CliExit> {
    let StartRequest { workflow, policies, location, mode, .. } = request;
    let experiments = match request.inherited_arms {
        Some(_) => experiment_assignment::foresee(location, workflow, policies),
        None => Vec::new(),
    };
    let planned = dry_run(&location.config, workflow.clone(), policies);
    let plan = planned.map_err(|error| placed(&workflow.policies)(error.into()))?;
    let document = || with_experiments(plan_display::json(&plan, workflow, *mode), &experiments);
    match view.format.format {
        OutputFormat::Text => {
            let style = terminal_style::stdout();
            stdio::data(&plan_display::text(&plan, workflow, location, *mode, &style))?;
            experiments.iter().try_for_each(|line| stdio::data(&format!("\n{line}\n")))?;
        }
        OutputFormat::Json => stdio::data(&json_record::pretty(&document())?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document())?)?,
    }
    Ok(CliExit::Done)
}

/// The plan with its experiments, if there are any.
fn with_experiments(mut plan: serde_json::Value, experiments: &[String]) -> serde_json::Value {
    if !experiments.is_empty() {
        plan["experiments"] = experiments.into();
    }
    plan
}
