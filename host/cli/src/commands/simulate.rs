//! `baton simulate`: whole workflows in virtual time, with policies in comparison, and models that are fitted from journals.
//! Starts no agent. `render/simulation.rs` renders the results.

mod arms;
mod fit;

use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use anyhow::Context as _;
use baton_lab::simulate::{Model, SimulatedArm, SimulationBatch, fleet, simulate as simulate_one, write};
use baton_runtime::store::{Journal, StateDir};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use serde_json::json;

use super::run;
use crate::args::{LocationArgs, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::host_client::block_on;
use crate::location::shell_quoted;
use crate::render::simulation::{SimulationResult, numbers};
use crate::render::{json_record, terminal_style};
use crate::stdio;

/// Seeds that one call may simulate: beyond it memory, not time, would be the bound.
const RUNS_MAX: u64 = 1_000_000;

/// Between two lines of progress, in ms.
const PROGRESS_MS: u64 = 2_000;

/// Simulate whole workflows in virtual time, comparing policies
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  baton simulate workflow.toml                                      the policies of the workflow
  baton simulate workflow.toml --arms builtin:resilience,my-split.wasm --runs 5000
  baton simulate workflow.toml --arms early=builtin:resilience,late=builtin:resilience \\
    --set early.compact-percent=50 --set late.compact-percent=90
  baton simulate workflow.toml --model mine.toml --keep 7 --journal runs    run 7 of each arm, for `baton replay`
  baton simulate model                                              every parameter, with its default
  baton simulate fit 20260212-103000 --out mine.toml                a model from recorded runs

The core and the components are those of a live run; agents, people, providers and checks are simulated by a model \
with parameters in a file. Every arm gets the same seeds: the same difficulties, and the same limits at the same \
times. A run that reaches a bound of the model is counted as a separate outcome."
)]
pub(crate) struct SimulateArgs {
    #[command(subcommand)]
    command: Option<SimulateCommand>,
    /// The workflow file; its agents are simulated
    #[arg(value_name = "WORKFLOW.toml", value_hint = ValueHint::FilePath, required = true)]
    file: Option<PathBuf>,
    /// The policy of each arm: a component, `builtin:resilience` or oci://…, with NAME= before it to name the arm; it
    /// decides what it can, the policies of the workflow the rest [default: one arm with the policies of the
    /// workflow]
    #[arg(long, value_name = "[NAME=]POLICY", value_delimiter = ',')]
    arms: Vec<String>,
    /// A setting of the policy of an arm, or of all arms; a list as JSON
    #[arg(long = "set", value_name = "[ARM.]KEY=VALUE")]
    settings: Vec<String>,
    /// Runs of each arm
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=RUNS_MAX))]
    runs: u64,
    /// The first seed; the others follow
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The parameters of the model [default: those that `baton simulate model` prints]
    #[arg(long, value_name = "MODEL.toml", value_hint = ValueHint::FilePath)]
    model: Option<PathBuf>,
    /// Write the run with this seed, of every arm, as a journal
    #[arg(long, value_name = "SEED", requires = "journal")]
    keep: Vec<u64>,
    /// The folder for these journals
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "keep")]
    journal: Option<PathBuf>,
    #[command(flatten)]
    location: LocationArgs,
    /// How to write the data on standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: SimulateFormat,
}

/// How a simulation is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SimulateFormat {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// One JSON record a line
    Jsonl,
    /// One self-contained HTML page, for two arms or more
    Html,
    /// The verdict as a picture, for two arms or more
    Svg,
}

/// What belongs to simulating.
#[derive(Debug, Subcommand)]
enum SimulateCommand {
    Fit(fit::FitArgs),
    /// Print a model: every parameter, its meaning and its source
    #[command(after_help = "Examples:\n  baton simulate model > mine.toml")]
    Model {
        #[command(flatten)]
        format: OutputFormatArg,
    },
}

pub(crate) fn simulate(args: SimulateArgs) -> anyhow::Result<CliExit> {
    match (&args.command, &args.file) {
        (Some(SimulateCommand::Fit(asked)), _) => fit::fit(asked),
        (Some(SimulateCommand::Model { format }), _) => {
            let document = json!({
                "schema": json_record::SCHEMA,
                "record": "simulation-model",
                "model": numbers(&Model::default()),
            });
            if !json_record::write(format.format, &document)? {
                stdio::data(&Model::default().to_toml(&Default::default()))?;
            }
            Ok(CliExit::Done)
        }
        (None, Some(file)) => run_arms(&args, file),
        (None, None) => Err(UsageError("name a workflow file".to_owned()).into()),
    }
}

fn run_arms(args: &SimulateArgs, file: &Path) -> anyhow::Result<CliExit> {
    let model = model(args.model.as_deref())?;
    let (workflow, bundle) = run::read(file, &args.location)?;
    let arms::LoadedArms { arms, notes } =
        arms::arms(&args.arms, &args.settings, &workflow, bundle, &args.location)?;
    if matches!(args.format, SimulateFormat::Html | SimulateFormat::Svg) && arms.len() < 2 {
        return Err(
            UsageError("a page or a picture compares arms: name two or more with --arms".to_owned()).into()
        );
    }
    if !args.keep.is_empty() {
        return keep(args, &arms, &model);
    }
    let fleet = play(&arms, &model, args.seed, args.runs)?;
    let found = SimulationResult {
        workflow: &workflow.name,
        arms: &arms,
        notes: &notes,
        first: args.seed,
        asked: args.runs,
        fleet: &fleet,
    };
    match args.format {
        SimulateFormat::Text => stdio::data(&found.text(&terminal_style::stdout()))?,
        SimulateFormat::Json => stdio::data(&json_record::pretty(&found.json(&model)?)?)?,
        SimulateFormat::Jsonl => {
            found.lines(&model)?.try_for_each(|line| stdio::data(&json_record::line(&line?)?))?
        }
        SimulateFormat::Html => stdio::data(&found.html().unwrap_or_default())?,
        SimulateFormat::Svg => stdio::data(&found.svg().unwrap_or_default())?,
    }
    Ok(if fleet.stopped { CliExit::Interrupted } else { CliExit::Done })
}

/// Simulates, shows its progress, and keeps what is done if the user interrupts.
fn play(arms: &[SimulatedArm], model: &Model, first: u64, runs: u64) -> anyhow::Result<SimulationBatch> {
    let stop = Arc::new(AtomicBool::new(false));
    let (heard, begun) = (Arc::clone(&stop), Instant::now());
    // It ends with the process.
    std::thread::spawn(move || {
        let pressed = block_on(tokio::signal::ctrl_c());
        heard.store(matches!(pressed, Ok(Ok(()))), Ordering::Relaxed);
    });
    let shows = std::io::stderr().is_terminal();
    let told_ms = AtomicU64::new(0);
    let told = |done: u64, of: u64| {
        let passed = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let last = told_ms.load(Ordering::Relaxed);
        let due = shows && done < of && passed.saturating_sub(last) >= PROGRESS_MS;
        if due && told_ms.compare_exchange(last, passed, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let a_minute = done as f64 / (passed as f64 / 60_000.0);
            stdio::progress(&format!("{done} of {of} runs, {a_minute:.0} a minute"));
        }
    };
    let fleet = fleet(arms, model, first, runs, told, &stop)?;
    if shows {
        let (done, seconds) = (fleet.arms.iter().map(Vec::len).sum::<usize>(), begun.elapsed().as_secs_f64());
        stdio::progress(&format!("{done} runs in {seconds:.1} s"));
    }
    Ok(fleet)
}

/// Writes the runs of single seeds to the place where `baton replay` finds them.
fn keep(args: &SimulateArgs, arms: &[SimulatedArm], model: &Model) -> anyhow::Result<CliExit> {
    let root = std::path::absolute(args.journal.as_deref().unwrap_or(Path::new(".")))?;
    for arm in arms {
        let workspace = root.join(&arm.name);
        fs::create_dir_all(&workspace).with_context(|| format!("making {}", workspace.display()))?;
        let state = StateDir::open(&root.join("state"), &workspace)?;
        let _lock = state.lock()?;
        let journal = Journal::open(&state)?;
        for seed in &args.keep {
            let run = simulate_one(arm, model, *seed, true)?;
            let known = journal.runs()?.iter().any(|known| known.run == run.measures.run);
            if known {
                let (run, there) = (&run.measures.run, workspace.display());
                return Err(UsageError(format!(
                    "{there} has a run {run} already: name another folder with --journal"
                ))
                .into());
            }
            write(&run, arm, &journal)?;
            let (dir, root) = (
                shell_quoted(&workspace.to_string_lossy()),
                shell_quoted(&root.join("state").to_string_lossy()),
            );
            let run = &run.measures.run;
            stdio::data(&format!("baton report {run} --workspace {dir} --state-dir {root}\n"))?;
        }
    }
    Ok(CliExit::Done)
}

fn model(path: Option<&Path>) -> anyhow::Result<Model> {
    let Some(path) = path else { return Ok(Model::default()) };
    let unreadable =
        |error: std::io::Error| UsageError(format!("the model {} cannot be read: {error}", path.display()));
    let text = fs::read_to_string(path).map_err(unreadable)?;
    Ok(Model::parse(&text, &path.display().to_string()).map_err(|error| UsageError(error.to_string()))?)
}
