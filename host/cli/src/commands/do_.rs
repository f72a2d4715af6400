//! `baton do`: a sentence goes in, and no file. One phase with one objective; everything else is as for `baton run`.

use clap::Args;

use super::run::{RunOptions, begin};
use crate::exit::{Exit, Usage};
use crate::task::Task;

/// Do what a sentence says; no file is needed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton do 'Move the parser into its own crate' --check 'cargo test'
  baton do 'Port the tests to pytest' --check 'pytest -q' --agent codex
  baton do 'Write docs/errors.md' --dry-run          what would be spawned, with which prompts
  baton do 'Move the parser' --background            in the background; `baton attach` looks on

It is done when the check exits 0; without one, when the agent reports it. The same sentence again goes on with the run of it
that is unfinished. `baton save` keeps it as a workflow, to which you can add phases.")]
pub(crate) struct DoArgs {
    /// What is to be done
    #[arg(value_name = "SENTENCE", required = true)]
    sentence: Vec<String>,
    /// Command that must exit 0 in the workspace when it is done, for `sh -c`; may be given several times
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,
    #[command(flatten)]
    options: RunOptions,
}

pub(crate) fn run(args: DoArgs) -> anyhow::Result<Exit> {
    if args.check.iter().any(|check| check.trim().is_empty()) {
        return Err(
            Usage("--check is empty: name the command that must exit 0, or leave it out".into()).into()
        );
    }
    let text = args.sentence.join(" ").trim().to_owned();
    begin(&Task::Sentence { text, checks: args.check }, args.options)
}
