//! Flags that several commands share.

use std::path::PathBuf;

use baton_runtime::core::input::PauseAnswer;
use clap::{Args, ValueEnum, ValueHint};

/// Which work is meant.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LocationArgs {
    /// Folder that the agents work in [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// Folder that keeps journals and artifacts [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state_dir: Option<PathBuf>,
}

/// How data is written to standard output. Progress goes to standard error, always as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// One JSON record a line
    Jsonl,
}

/// `--format`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct OutputFormatArg {
    /// How to write the data on standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: OutputFormat,
}

/// How the progress of a run is shown.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    pub(crate) format: OutputFormatArg,
    /// Show progress as plain lines, even on a terminal
    #[arg(long)]
    pub(crate) plain: bool,
}

/// An answer on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PauseAnswerArg {
    /// Try the phase again, with fresh continuations and retries
    Retry,
    /// Leave the open objectives undone and continue with the phases that do not depend on them
    Skip,
    /// Raise the limit that was reached by its original amount
    Raise,
    /// Accept the objectives in question as done
    Accept,
    /// End the run; open objectives stay open
    Stop,
}

impl From<PauseAnswerArg> for PauseAnswer {
    fn from(answer: PauseAnswerArg) -> Self {
        match answer {
            PauseAnswerArg::Retry => PauseAnswer::Retry,
            PauseAnswerArg::Skip => PauseAnswer::Skip,
            PauseAnswerArg::Raise => PauseAnswer::Raise,
            PauseAnswerArg::Accept => PauseAnswer::Accept,
            PauseAnswerArg::Stop => PauseAnswer::Stop,
        }
    }
}
