//! The relay: the resident part of a `process` agent. A program that takes one prompt and ends has no session; the relay gives
//! it one. It runs under the guard for as long as the session lasts, starts the program for each prompt, and passes on its
//! output without interpreting it.
//!
//! It reads prompts as JSON lines on stdin, and ends with its stdin. It writes a JSON object a line to stdout: that it is up
//! (`ready`), the output of the program (`out`), and the end of the program (`ended`). The program shares the relay's stderr.
//!
//! With a terminal, the program's stdout is one, and its stdin too unless the prompt comes there; the program leads its own
//! session, whose controlling terminal that is. Nothing is echoed, and escape codes and carriage returns are removed from its
//! output.

pub(crate) mod protocol;
mod running_program;

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};
use baton_core::workflow::PromptDelivery;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use self::protocol::{ProgramExit, RunnerCommand, RunnerEvent};
use self::running_program::PromptProgram;

/// Runs the relay: `[--terminal] [--argument] -- PROGRAM [ARGUMENT]...`, the arguments after the command's own name.
pub fn runner_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match run(args.into_iter()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("baton relay: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: impl Iterator<Item = OsString>) -> anyhow::Result<()> {
    let (mut terminal, mut prompt) = (false, PromptDelivery::Stdin);
    loop {
        match args.next().as_deref().and_then(std::ffi::OsStr::to_str) {
            Some("--terminal") => terminal = true,
            Some("--argument") => prompt = PromptDelivery::Argument,
            Some(running_program::TAKE_TERMINAL) => return take_terminal(args),
            Some("--") => break,
            _ => bail!("usage: [--terminal] [--argument] -- PROGRAM [ARGUMENT]..."),
        }
    }
    let program = PromptProgram { command: args.collect(), terminal, prompt };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the relay")?;
    let done = runtime.block_on(relay(&program));
    // A read of stdin may still be under way, which nothing can break off.
    runtime.shutdown_background();
    done
}

/// In the place of the program: makes stdout the controlling terminal, and becomes the program.
fn take_terminal(mut args: impl Iterator<Item = OsString>) -> anyhow::Result<()> {
    rustix::process::setsid().context("leading a session")?;
    rustix::process::ioctl_tiocsctty(std::io::stdout()).context("taking the terminal")?;
    let program = args.next().context("no program")?;
    let error = Command::new(&program).args(args).exec();
    bail!("{}: {error}", program.display());
}

async fn relay(program: &PromptProgram) -> anyhow::Result<()> {
    write_event(&RunnerEvent::Ready)?;
    let mut wanted = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = wanted.next_line().await.context("reading what is wanted")? {
        let Ok(RunnerCommand::Prompt(prompt)) = serde_json::from_str(&line) else { continue };
        let mut running = match program.start(&prompt) {
            Ok(running) => running,
            Err(error) => {
                let error = Some(format!("{}: {error}", program.name()));
                write_event(&RunnerEvent::Ended(ProgramExit { error, ..ProgramExit::default() }))?;
                continue;
            }
        };
        let ended = loop {
            tokio::select! {
                biased;
                told = running.next() => match told {
                    RunnerEvent::Ended(ended) => break ended,
                    told => write_event(&told)?,
                },
                line = wanted.next_line() => match line.context("reading what is wanted")? {
                    Some(line) => if let Ok(RunnerCommand::Interrupt) = serde_json::from_str(&line) {
                        running.interrupt();
                    },
                    // The host has closed the session; the guard ends the processes that the program has left.
                    None => return Ok(()),
                },
            }
        };
        write_event(&RunnerEvent::Ended(ended))?;
    }
    Ok(())
}

/// Blocks if the host is slow, so that the program waits too.
fn write_event(told: &RunnerEvent) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(told).context("writing a line")?;
    line.push(b'\n');
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&line).and_then(|()| stdout.flush()).context("telling the host")
}
