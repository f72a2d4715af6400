//! `baton replay`: recorded runs with another policy, or with their own once more. Starts no agent, and changes nothing. How it
//! looks is in `render/replay.rs`.

mod run_selection;

use anyhow::Context as _;
use baton_lab::replay::{InstanceMode, RecordedRun, ReplayOptions, replay, verify_all};
use baton_runtime::core::workflow::GivenSetting;
use baton_runtime::engine::{Engine, EngineConfig};
use clap::{Args, ValueEnum, ValueHint};

use super::policy::{CapabilityArg, asked_about, setting};
use crate::args::LocationArgs;
use crate::exit_status::{CliExit, UsageError};
use crate::render::candidate_trial::TrialSubject;
use crate::render::replay::{PolicyReplayReport, VerifiedRuns};
use crate::render::{json_record, terminal_style};
use crate::{location, policies, stdio};

/// Instances that live at a time, for each core: one is kept, one is fresh, and one is on its way.
const INSTANCES_PER_CORE: u32 = 3;

/// Evaluate a policy on recorded runs, or verify that they replay exactly
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton replay --policy my-split.wasm                       on the newest run of this folder
  baton replay 20260212-103000 --policy builtin:resilience --set warn-percent=60
  baton replay '202602*' --policy my-split.wasm --decides splitting
  baton replay ~/work/*/ --policy careful.wasm              on every run of these workspaces
  baton replay --all --policy careful.wasm --format html > careful.html
  baton replay --all --verify                               is every decision the same again?

With --policy, the policy gets every recorded question. Its warnings are exact on the whole record and are compared \
with what then happened: a hit with its lead, a miss, a false alarm, or censored if an intervention or the end of \
the record came first. Its other decisions are exact up to the first one in a phase that would have made the host \
act differently; later questions of the phase are marked as off course and are not counted.

With --verify, the component that made each decision makes it again with the recorded settings, grants and \
artifacts. The result must be the same to the byte and the unit of fuel. Exits with 0 if all are the same, and with \
1 if any decision differs or cannot be made again.")]
pub(crate) struct ReplayArgs {
    /// Runs: an id, a pattern of ids ('2026*'), or a folder for all that ran there: a workspace or a state folder
    /// [default: the newest run]
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    runs: Vec<String>,
    /// Every run of this folder
    #[arg(long, conflicts_with = "runs")]
    all: bool,
    /// The policy to evaluate: a component, or a built-in one
    #[arg(long, value_name = "FILE", required_unless_present = "verify", value_hint = ValueHint::FilePath)]
    policy: Option<String>,
    /// Re-run every recorded decision and compare
    #[arg(long, conflicts_with_all = ["policy", "decides", "settings", "keep_instances", "shown"])]
    verify: bool,
    /// Only questions about this decision
    #[arg(long, value_name = "DECISION", value_delimiter = ',')]
    decides: Vec<CapabilityArg>,
    /// A setting of the policy; a list as JSON
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<(String, GivenSetting)>,
    /// Reuse one instance for all questions: faster; dropped if an answer differs from that of a fresh instance
    #[arg(long)]
    keep_instances: bool,
    /// Differences, first divergences and contexts to show
    #[arg(long = "show", value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(..=1000))]
    shown: u16,
    #[command(flatten)]
    location: LocationArgs,
    /// How to write the data on standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReplayFormat,
}

/// How a replay is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ReplayFormat {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// One JSON record a line
    Jsonl,
    /// One self-contained HTML page
    Html,
}

pub(crate) fn run(args: ReplayArgs) -> anyhow::Result<CliExit> {
    if args.verify && args.format == ReplayFormat::Html {
        let why = "--verify is written as text, json or jsonl; a page is for --policy FILE".to_owned();
        return Err(UsageError(why).into());
    }
    let engine = engine(&args.location)?;
    match &args.policy {
        Some(reference) if !args.verify => evaluate_candidate(&args, &engine, reference),
        _ => verify(&args, &engine),
    }
}

fn evaluate_candidate(args: &ReplayArgs, engine: &Engine, reference: &str) -> anyhow::Result<CliExit> {
    let settings = args.settings.iter().cloned().collect();
    let policy = policies::configured(engine, reference, &settings, &args.location)?;
    let decides = asked_about(&policy, &args.decides)?;
    let runs = run_selection::find(&args.runs, args.all, &args.location)?;
    let asked = ReplayOptions { decides, kept: usize::from(args.shown) };
    let instances = if args.keep_instances { InstanceMode::Kept } else { InstanceMode::Fresh };
    let replayed = replay(&runs, &asked, &policy, instances)?;
    if let Some(remembers) = &replayed.remembers {
        stdio::progress(&remembers.to_string());
    }
    let found = PolicyReplayReport {
        policy: TrialSubject::of(&policy),
        decides: &asked.decides,
        replayed: &replayed,
    };
    match args.format {
        ReplayFormat::Text => stdio::data(&found.text(&terminal_style::stdout()))?,
        ReplayFormat::Json => stdio::data(&json_record::pretty(&found.json())?)?,
        ReplayFormat::Jsonl => {
            found.lines().iter().try_for_each(|line| stdio::data(&json_record::line(line)?))?
        }
        ReplayFormat::Html => stdio::data(&found.html())?,
    }
    Ok(CliExit::Done)
}

fn verify(args: &ReplayArgs, engine: &Engine) -> anyhow::Result<CliExit> {
    let runs: Vec<RecordedRun> = run_selection::find(&args.runs, args.all, &args.location)?;
    let found = VerifiedRuns { runs: verify_all(&runs, engine) };
    match args.format {
        ReplayFormat::Text | ReplayFormat::Html => stdio::data(&found.text(&terminal_style::stdout()))?,
        ReplayFormat::Json => stdio::data(&json_record::pretty(&found.json())?)?,
        ReplayFormat::Jsonl => {
            found.lines().iter().try_for_each(|line| stdio::data(&json_record::line(line)?))?
        }
    }
    Ok(if found.is_complete() { CliExit::Done } else { CliExit::Unfinished })
}

/// An engine with a place per core of this machine. Its digest is that of a run: the number of concurrent decisions is not part
/// of it.
fn engine(location: &LocationArgs) -> anyhow::Result<Engine> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let decisions_in_flight =
        u32::try_from(cores).unwrap_or(u32::MAX).saturating_mul(INSTANCES_PER_CORE).clamp(4, 64);
    let config = EngineConfig {
        cache_dir: location::policy_cache(location),
        decisions_in_flight,
        ..EngineConfig::default()
    };
    Engine::new(config).context("starting the policy engine")
}
