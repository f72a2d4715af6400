//! `baton do`: a sentence goes in, and no file. One phase with one objective; everything else is as for `baton run`.

use std::path::Path;

use clap::Args;

use super::run::{RunOptions, begin, host_launched};
use crate::exit_status::{CliExit, UsageError};
use crate::location::{RunLocation, shell_quoted};
use crate::task::{CheckCommands, Task, detection};

/// Do what a sentence says; no file is needed
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton do 'Move the parser into its own crate' --check 'cargo test'
  baton do 'Port the tests to pytest' --check 'pytest -q' --agent codex
  baton do 'Write docs/errors.md' --no-check         no command checks it
  baton do 'Tidy the scripts' --allow 'make lint' --env MY_TOKEN
                                                     the agent may run `make lint`, and gets MY_TOKEN
  baton do 'Write docs/errors.md' --dry-run          what would be started, with which prompts
  baton do 'Move the parser' --background            in the background; `baton attach` shows it

It is done when the check exits 0; without one, when the agent reports it. Without --check, Baton looks for the \
command that runs the project's tests, as `baton init` does. The same sentence again resumes its unfinished run. \
`baton save` writes it as a workflow, to which you can add phases.")]
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

pub(crate) fn run(args: DoArgs) -> anyhow::Result<CliExit> {
    if args.options.is_launched() {
        return host_launched(args.options);
    }
    if args.check.iter().any(|check| check.trim().is_empty()) {
        return Err(UsageError(
            "--check is empty: name the command that must exit 0, or leave it out".into(),
        )
        .into());
    }
    let text = args.sentence.join(" ").trim().to_owned();
    if Path::new(&text).is_file() {
        let file = shell_quoted(&text);
        return Err(UsageError(format!(
            "{text} is a file: `baton run {file}` runs it. `baton do` takes a sentence"
        ))
        .into());
    }
    let checks = match args.check {
        _ if args.no_check => CheckCommands::Disabled,
        check if check.is_empty() => CheckCommands::Found(detection::check(
            &RunLocation::here(args.options.location())?.config.workspace,
        )),
        check => CheckCommands::Named(check),
    };
    begin(&Task::Sentence { text, checks }, &args.options)
}
