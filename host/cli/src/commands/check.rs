//! `baton check`: holds a workflow file and its policies to everything that `run` would, and starts nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use baton_runtime::agents::find_program;
use baton_runtime::core::Workflow;
use baton_runtime::dry_run;
use clap::{Args, ValueHint};

use super::run::read;
use crate::args::PlaceArgs;
use crate::exit::Exit;
use crate::out;
use crate::place::Place;
use crate::render::words;

/// Check a workflow file, its policies and what is set for them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton check workflow.toml")]
pub(crate) struct CheckArgs {
    /// The workflow file
    #[arg(value_name = "WORKFLOW.toml", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn check(args: CheckArgs) -> anyhow::Result<Exit> {
    let (workflow, bundle) = read(&args.file, None)?;
    let place = Place::for_workflow(&args.place, &workflow, true)?;
    let plan = dry_run(&place.config, workflow.clone(), &bundle)?;
    let count = |n: usize, thing| words::count(u32::try_from(n).unwrap_or(u32::MAX), thing);
    let objectives = workflow.phases.iter().map(|phase| phase.objectives.len()).sum();
    let mut names: Vec<String> =
        plan.pins.iter().map(|pin| format!("{}@{}", pin.policy, pin.component.short())).collect();
    names.dedup();
    out::data(&format!(
        "{} is a workflow: {}, {}, judged by {}\n",
        args.file.display(),
        count(workflow.phases.len(), "phase"),
        count(objectives, "objective"),
        names.join(", ")
    ))?;
    warn_of_missing_agents(&workflow);
    Ok(Exit::Done)
}

/// The workflow is sound without them, and may be meant for another machine.
fn warn_of_missing_agents(workflow: &Workflow) {
    let path = std::env::var_os("PATH");
    let mut told = BTreeSet::new();
    for phase in &workflow.phases {
        let role = workflow.role_of(phase);
        let missing = find_program(&role.agent, phase.role.as_str(), &role, path.as_deref()).err();
        if let Some(missing) =
            missing.map(|missing| missing.to_string()).filter(|text| told.insert(text.clone()))
        {
            out::progress(&format!("but phase {} cannot start here: {missing}", phase.id));
        }
    }
}
