//! `baton run`: a workflow file goes in, agents work on it, a report comes out.

use std::path::{Path, PathBuf};
use std::{fs, io};

use baton_runtime::agents::check_script;
use baton_runtime::core::Workflow;
use baton_runtime::core::workflow::{AgentKind, file};
use baton_runtime::{PolicyBundle, Start, dry_run};
use clap::{Args, ValueHint};

use crate::args::{Format, PlaceArgs, ViewArgs};
use crate::exit::{Exit, Usage};
use crate::follow::follow;
use crate::place::Place;
use crate::render::{look, plan, record};
use crate::{out, policies};

/// Run a workflow
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton run workflow.toml
  baton run workflow.toml --agent claude       the same work with Claude Code
  baton run workflow.toml --dry-run            what would be spawned, with which prompts
  baton run workflow.toml --format jsonl       one JSON record a line, for programs")]
pub(crate) struct RunArgs {
    /// The workflow file; `baton schema` describes it
    #[arg(value_name = "WORKFLOW.toml", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Use this agent in every role, whatever the file says: claude, codex, rehearsal, acp:COMMAND (any agent that
    /// speaks ACP), process:COMMAND (any program)
    #[arg(long)]
    agent: Option<AgentKind>,
    /// Show what would be spawned, and start nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    view: ViewArgs,
}

pub(crate) fn run(args: RunArgs) -> anyhow::Result<Exit> {
    let (workflow, policies) = read(&args.file, args.agent)?;
    let place = Place::for_workflow(&args.place, &workflow, args.dry_run)?;
    if !args.dry_run {
        return follow(&place, Start::New { workflow: Box::new(workflow), policies }, args.view);
    }
    let plan = dry_run(&place.config, workflow.clone(), &policies)?;
    match args.view.format.format {
        Format::Text => out::data(&plan::text(&plan, &workflow, &place, &look::stdout()))?,
        Format::Json => out::data(&record::pretty(&plan::json(&plan, &workflow))?)?,
        Format::Jsonl => out::data(&record::line(&plan::json(&plan, &workflow))?)?,
    }
    Ok(Exit::Done)
}

/// Reads a workflow file and what it names: policies, and the scripts that rehearsals play. Paths in it start from
/// its folder.
pub(crate) fn read(path: &Path, agent: Option<AgentKind>) -> anyhow::Result<(Workflow, PolicyBundle)> {
    let mut workflow = read_file(path)?;
    if let Some(agent) = agent {
        // A path on the command line starts from where the person is, and the agent is started elsewhere.
        let absolute = |path: &str| {
            std::path::absolute(path)
                .map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
        };
        workflow = workflow.with_agent(agent.with_program(absolute));
    }
    for script in workflow.roles.values().filter_map(|role| role.script.as_deref()) {
        check_script(Path::new(script)).map_err(|error| Usage(error.to_string()))?;
    }
    let policies = policies::bundle(&workflow, &folder_of(path)?)?;
    Ok((workflow, policies))
}

/// Reads and checks the file alone.
pub(crate) fn read_file(path: &Path) -> anyhow::Result<Workflow> {
    let text = fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    let base = folder_of(path)?;
    Ok(file::parse(&text, &path.display().to_string(), &base.to_string_lossy())?)
}

/// The folder that a file lies in, absolute.
pub(crate) fn folder_of(path: &Path) -> anyhow::Result<PathBuf> {
    let whole = std::path::absolute(path).map_err(|error| unreadable(path, &error))?;
    Ok(whole.parent().unwrap_or(Path::new("/")).to_owned())
}

fn unreadable(path: &Path, error: &io::Error) -> Usage {
    Usage(format!("the workflow {} cannot be read: {error}", path.display()))
}
