//! `baton completions`: a script by which a shell completes commands and flags.

use clap::Args;
use clap_complete::Shell;

use crate::exit_status::CliExit;
use crate::stdio;

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

pub(crate) fn completions(args: CompletionsArgs, mut command_line: clap::Command) -> anyhow::Result<CliExit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command_line, "baton", &mut script);
    stdio::bytes(&script)?;
    Ok(CliExit::Done)
}
