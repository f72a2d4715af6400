//! `baton policy which`: the policy of each decision, and the file that chose it. Starts nothing. `render/which.rs` renders it.

mod binding_resolver;

use std::path::PathBuf;

use baton_runtime::core::workflow::{Policies, PolicyScope};
use baton_runtime::core::{PhaseId, RoleName, RunId, Workflow};
use clap::{Args, ValueHint};

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::config_layers::{ConfigLayers, placed};
use crate::exit_status::{CliExit, UsageError};
use crate::location::RunLocation;
use crate::policies::PinMode;
use crate::render::which::{WhichReport, WhichSubject};
use crate::render::{json_record, terminal_style};
use crate::task::{Task, folder_of};
use crate::{experiment_assignment, policies, stdio};

use binding_resolver::{BindingResolver, effective};

/// Show which policy decides what, and which file configures it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy which                               what your config and this folder choose
  baton policy which workflow.toml                 what would decide in a run of it
  baton policy which workflow.toml --phase build   only in this phase
  baton policy which --run                         what decides in the newest run now
  baton policy which --run 20260212-103000 --format json

The closest layer that names a policy wins: built in < ~/.config/baton/config.toml < baton.toml in the workspace < the \
workflow < its role < its phase < the arm of an experiment < `baton policy use` on a live run. Files are read once, \
when a run begins; later changes apply to the next run.")]
pub(crate) struct WhichArgs {
    /// The workflow file [default: only what is the same for every workflow]
    #[arg(value_name = "WORKFLOW.toml", value_hint = ValueHint::FilePath, conflicts_with = "run")]
    file: Option<PathBuf>,
    /// Which policies decide in a run now [default of RUN: the newest]
    #[arg(long, value_name = "RUN", num_args = 0..=1)]
    run: Option<Option<String>>,
    /// Only what decides in this phase of the workflow
    #[arg(long, value_name = "PHASE", conflicts_with = "role")]
    phase: Option<String>,
    /// Only what decides in phases of this role that have no policies of their own
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(super) fn which(args: WhichArgs) -> anyhow::Result<CliExit> {
    let which = match (&args.run, &args.file) {
        (Some(run), _) => of_run(&args, run.as_deref().map(RunId::new).as_ref())?,
        (None, Some(file)) => of_file(&args, file)?,
        (None, None) => of_layers(&args)?,
    };
    match args.format.format {
        OutputFormat::Text => stdio::data(&which.text(&terminal_style::stdout()))?,
        OutputFormat::Json => stdio::data(&json_record::pretty(&which.json())?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&which.json())?)?,
    }
    Ok(CliExit::Done)
}

/// The policies of a run of a workflow.
fn of_file(args: &WhichArgs, file: &std::path::Path) -> anyhow::Result<WhichReport> {
    let (workflow, layers) = Task::of_file(file).parse_with_layers(&args.location)?;
    let location = RunLocation::for_workflow(&args.location, &workflow, true)?;
    let bundle = policies::bundle(&workflow, &folder_of(file)?, &args.location, PinMode::Leave)
        .map_err(placed(&workflow.policies))?;
    // The arm of a run is drawn when it begins; a possible arm is noted next to the choices of the files.
    let experiments = experiment_assignment::foresee(&location, &workflow, &bundle);
    let of = WhichSubject::Workflow { name: workflow.name.clone(), file: file.display().to_string() };
    let mut which = planned(
        args,
        &workflow,
        &layers,
        of,
        &location,
        BindingResolver::of_bundle(&args.location, bundle)?,
    )?;
    which.foresee(experiments);
    Ok(which)
}

/// The choices that are the same for every workflow.
fn of_layers(args: &WhichArgs) -> anyhow::Result<WhichReport> {
    let location = RunLocation::here(&args.location)?;
    let layers = ConfigLayers::read(Some(&location.config.workspace))?;
    let mut policies = Policies::default();
    policies.lay(layers.said());
    let workflow = Workflow { policies, ..Workflow::default() };
    let bundle = policies::bundle(&workflow, &location.config.workspace, &args.location, PinMode::Leave)
        .map_err(placed(&workflow.policies))?;
    planned(
        args,
        &workflow,
        &layers,
        WhichSubject::Everything,
        &location,
        BindingResolver::of_bundle(&args.location, bundle)?,
    )
}

fn planned(
    args: &WhichArgs,
    workflow: &Workflow,
    layers: &ConfigLayers,
    of: WhichSubject,
    location: &RunLocation,
    gatherer: BindingResolver,
) -> anyhow::Result<WhichReport> {
    let scope = scope(args, workflow)?;
    let bindings = gatherer.planned(&location.config, workflow).map_err(placed(&workflow.policies))?;
    let mut which = WhichReport::new(of, workflow, effective(bindings, scope.as_ref(), workflow));
    which.look_at(layers);
    Ok(which)
}

/// The current policies of a run, from its journal.
fn of_run(args: &WhichArgs, run: Option<&RunId>) -> anyhow::Result<WhichReport> {
    let location = RunLocation::for_reading(&args.location, run)?;
    let (run, gatherer) = BindingResolver::of_run(&args.location, &location.config, run)?;
    let workflow = run.workflow();
    let scope = scope(args, workflow)?;
    let bindings = effective(gatherer.bindings_of_run(&run)?, scope.as_ref(), workflow);
    let of = WhichSubject::Run { run: run.id().clone(), workflow: workflow.name.clone() };
    Ok(WhichReport::new(of, workflow, bindings))
}

/// The one scope that is asked about, if one is.
fn scope(args: &WhichArgs, workflow: &Workflow) -> Result<Option<PolicyScope>, UsageError> {
    let unknown = |what: &str, name: &str, known: Vec<&str>| match known.as_slice() {
        [] => UsageError(format!("--{what} needs a workflow: name its file, or a run with --run")),
        known => UsageError(format!("unknown {what} {name}; one of: {}", known.join(", "))),
    };
    if let Some(name) = &args.phase {
        let mut known = workflow.phases.iter().map(|phase| phase.id.as_str());
        if !known.any(|known| known == name) {
            return Err(unknown(
                "phase",
                name,
                workflow.phases.iter().map(|phase| phase.id.as_str()).collect(),
            ));
        }
        return Ok(Some(PolicyScope::Phase { phase: PhaseId::new(name.as_str()) }));
    }
    let Some(name) = &args.role else { return Ok(None) };
    let role = RoleName::from(name.as_str());
    if !workflow.roles.contains_key(&role) {
        return Err(unknown("role", name, workflow.roles.keys().map(RoleName::as_str).collect()));
    }
    Ok(Some(PolicyScope::Role { role }))
}
