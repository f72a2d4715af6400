//! `baton policy`: the components that judge how a run goes on. Each command is in a file of its own; pinning is here.

mod attempt;
mod build;
mod check;
mod inspect;
mod new;

use std::path::PathBuf;

use baton_registry::LOCK_FILE;
use clap::{Args, Subcommand, ValueHint};

use super::run::{folder_of, read_file};
use crate::exit::Exit;
use crate::render::words;
use crate::{out, policies};

use attempt::TryArgs;
use build::BuildArgs;
use check::CheckArgs;
use inspect::InspectArgs;
use new::NewArgs;

/// Write policies and look at them: the components that judge how a run goes on
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  baton policy new my-split --decides splitting
                                        a crate with a policy that works, and its tests
  baton policy build my-split           its component
  baton policy check my-split.wasm      whether it is fit to decide: rules that every policy keeps
  baton policy try my-split.wasm        on the newest run, beside what was decided there
  baton policy inspect                  the built-in policy, with everything that can be set
  baton policy inspect careful.wasm     a component of your own
  baton policy lock workflow.toml       pins the components of a workflow by digest")]
pub(crate) enum PolicyCommand {
    New(NewArgs),
    Build(BuildArgs),
    Check(CheckArgs),
    Try(TryArgs),
    Inspect(InspectArgs),
    Lock(LockArgs),
}

/// Pin the components of a workflow by digest, in the `baton.lock` beside it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy lock workflow.toml

From then on, `baton run` refuses a component whose bytes have changed.")]
pub(crate) struct LockArgs {
    /// The workflow file
    #[arg(value_name = "WORKFLOW.toml", value_hint = ValueHint::FilePath)]
    file: PathBuf,
}

pub(crate) fn policy(command: PolicyCommand) -> anyhow::Result<Exit> {
    match command {
        PolicyCommand::New(args) => new::new(args),
        PolicyCommand::Build(args) => build::build(args),
        PolicyCommand::Check(args) => check::check(args),
        PolicyCommand::Try(args) => attempt::attempt(args),
        PolicyCommand::Inspect(args) => inspect::inspect(args),
        PolicyCommand::Lock(args) => lock(args),
    }
}

fn lock(args: LockArgs) -> anyhow::Result<Exit> {
    let base = folder_of(&args.file)?;
    let pinned = policies::lock(&read_file(&args.file)?, &base)?;
    let pinned = words::count(pinned, "component");
    out::progress(&format!("pinned {pinned} in {}", base.join(LOCK_FILE).display()));
    Ok(Exit::Done)
}
