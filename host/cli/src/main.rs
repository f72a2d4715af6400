//! The `baton` binary: reads the command line, hands over to one file of `commands`, turns the result into an exit
//! code. Judges nothing and keeps no state.
#![forbid(unsafe_code)]

mod args;
mod command_groups;
mod command_line;
mod commands;
mod enrolment;
mod exit;
mod files;
mod fitness;
mod follow;
mod host_client;
mod launch;
mod layers;
mod out;
mod place;
mod policies;
#[cfg(test)]
mod reference;
mod registries;
mod render;
mod report_context;
mod screen;
mod task;
mod undone;

use std::process::ExitCode;

use baton_runtime::sandbox::exclude_from_path;
use clap::FromArgMatches as _;

use command_line::Cli;
use exit::CliExit;

fn main() -> ExitCode {
    if let Some(code) = commands::agent_processes::dispatch(std::env::args_os()) {
        return code;
    }
    commands::agent_processes::compile_strangers_apart();
    if let Ok(folder) = std::env::current_dir() {
        exclude_from_path(&folder);
    }
    let cli =
        Cli::from_arg_matches(&command_line::command().get_matches()).unwrap_or_else(|error| error.exit());
    match command_line::dispatch(cli.command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            let exit = CliExit::of_error(&error);
            out::complain(&error);
            exit.into()
        }
    }
}
