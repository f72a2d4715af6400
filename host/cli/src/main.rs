//! The `baton` binary: reads the command line, hands over to one file of `commands`, turns the result into an exit
//! code. Judges nothing and keeps no state.
#![forbid(unsafe_code)]

mod args;
mod command_groups;
mod command_line;
mod commands;
mod config_layers;
mod conformance_record;
mod ending_signals;
mod exit_status;
mod experiment_assignment;
mod files;
mod host_client;
mod host_launch;
mod location;
mod policies;
mod progress_view;
#[cfg(test)]
mod reference;
mod registries;
mod render;
mod report_context;
mod run_ui;
mod stdio;
mod task;
mod undo_marker;

use std::process::ExitCode;

use baton_runtime::sandbox::{exclude_from_path, note_this_program};
use clap::FromArgMatches as _;

use command_line::Cli;
use exit_status::CliExit;

fn main() -> ExitCode {
    note_this_program();
    if let Some(code) = commands::agent_processes::dispatch(std::env::args_os()) {
        return code;
    }
    commands::agent_processes::enable_compile_subprocess();
    if let Ok(folder) = std::env::current_dir() {
        exclude_from_path(&folder);
    }
    let cli =
        Cli::from_arg_matches(&command_line::command().get_matches()).unwrap_or_else(|error| error.exit());
    match command_line::dispatch(cli.command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            let exit = CliExit::of_error(&error);
            stdio::print_error(&error);
            exit.into()
        }
    }
}
