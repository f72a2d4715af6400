//! `baton man`: writes the manual pages of all commands.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueHint};

use crate::exit_status::CliExit;

/// Write manual pages for `man`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton man ~/.local/share/man/man1       then `man baton-run`")]
pub(crate) struct ManArgs {
    /// Folder for the pages; created if it does not exist
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

pub(crate) fn man(args: ManArgs, command_line: clap::Command) -> anyhow::Result<CliExit> {
    let writing = || format!("writing manual pages into {}", args.folder.display());
    std::fs::create_dir_all(&args.folder).with_context(writing)?;
    clap_mangen::generate_to(command_line, &args.folder).with_context(writing)?;
    Ok(CliExit::Done)
}
