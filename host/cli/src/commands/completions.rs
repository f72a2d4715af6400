//! `baton completions`: what a shell needs to complete commands and flags.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::out;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton completions bash > ~/.local/share/bash-completion/completions/baton
  baton completions zsh  > ~/.zfunc/_baton
  baton completions fish > ~/.config/fish/completions/baton.fish")]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn completions(args: CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "baton", &mut script);
    out::bytes(&script)?;
    Ok(Exit::Done)
}
