//! Every kind of agent ends in every way, held to nothing, to files and to a check: one test a cell, each a `baton run` of
//! its own. Nothing is recorded as done without its evidence, and nothing that is done is asked for again (A4, A11-A13,
//! C12, C17, C20, C23, C26, D2).
//!
//! The executable has a harness of its own, since it also plays the agents (`agent.rs`).

mod agent;
mod cell;
mod ending_run;
mod expect;
mod script;
#[path = "../support/mod.rs"]
mod support;

use std::process::ExitCode;

use cell::EndingCase;
use libtest_mimic::{Arguments, Trial};

/// Cells that run at a time: each starts a host and one agent after the other.
const AT_A_TIME: usize = 4;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some(agent::COMMAND) {
        return agent::main(args);
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(arguments.test_threads.unwrap_or(AT_A_TIME).min(AT_A_TIME));
    let trial = |cell: EndingCase| {
        Trial::test(cell.name(), move || {
            expect::everything(&ending_run::EndingRun::play(cell));
            Ok(())
        })
    };
    libtest_mimic::run(&arguments, EndingCase::all().map(trial).collect()).exit_code()
}
