//! `baton do`: a sentence goes in, and no file. One phase with one objective; everything else is as for `baton run`.

use std::path::Path;

use clap::Args;

use super::run::{RunOptions, begin};
use crate::exit::{Exit, Usage};
use crate::place::{Place, shell_quoted};
use crate::task::{Checks, Task, found};

/// Do what a sentence says; no file is needed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton do 'Move the parser into its own crate' --check 'cargo test'
  baton do 'Port the tests to pytest' --check 'pytest -q' --agent codex
  baton do 'Write docs/errors.md' --no-check         no command checks it
  baton do 'Tidy the scripts' --allow 'make lint' --env MY_TOKEN
                                                     the agent may run `make lint`, and gets MY_TOKEN
  baton do 'Write docs/errors.md' --dry-run          what would be spawned, with which prompts
  baton do 'Move the parser' --background            in the background; `baton attach` looks on

It is done when the check exits 0; without one, when the agent reports it. Without --check, the command that runs the tests of
the project is looked for, as `baton init` does. The same sentence again goes on with the run of it that is unfinished. `baton save` keeps it as a workflow, to which you can add phases.")]
pub(crate) struct DoArgs {
    /// What is to be done
    #[arg(value_name = "SENTENCE", required = true)]
    sentence: Vec<String>,
    /// Command that must exit 0 in the workspace when it is done, for `sh -c`; may be given several times [default: the
    /// one that runs the project's tests, if it is found]
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,
    /// Check nothing with a command: what the agent reports and changes is enough
    #[arg(long, conflicts_with = "check")]
    no_check: bool,
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
    if Path::new(&text).is_file() {
        let file = shell_quoted(&text);
        return Err(Usage(format!(
            "{text} is a file: `baton run {file}` runs it. `baton do` takes a sentence"
        ))
        .into());
    }
    let checks = match args.check {
        _ if args.no_check => Checks::Without,
        check if check.is_empty() => {
            Checks::Found(found::check(&Place::here(args.options.place())?.config.workspace))
        }
        check => Checks::Named(check),
    };
    begin(&Task::Sentence { text, checks }, args.options, true)
}
