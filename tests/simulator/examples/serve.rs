//! Runs the simulator by hand: `cargo run -p baton-simulator --example serve -- OPTIONS`, then point an agent at the
//! printed address. Whatever it is asked, the model writes `hello.txt` into this folder. Not for tests: they start their
//! own.
//!
//! Options, each with a number: `--pages` writes so many files of nine kilobytes first, `--sleep` runs a command of so
//! many seconds first, `--window` refuses prompts of more tokens, `--scale` counts each byte of the dialogue so many
//! times, `--limited`, `--overloaded` and `--broke` refuse so many requests, `--quota-until` all of them until a time of
//! the Unix clock, `--retry-after` goes with the refusal before it, `--used` tells so many percent of the quota are used.
//! Without a number: `--in-stream` refuses within streams, `--hang` never ends the first reply.

use std::io::{Error, ErrorKind, Result};
use std::path::Path;

use baton_simulator::{ModelScript, ModelTurn, ScriptedFailure, Simulator};

/// A quota that is told is told to begin anew then: in the year 2100.
const RESETS_AT_S: u64 = 4_102_444_800;

fn main() -> Result<()> {
    let simulator = Simulator::start(script(&std::env::current_dir()?)?)?;
    println!("{}", simulator.url());
    eprintln!("ANTHROPIC_BASE_URL={0}\nbase_url={0}/v1\nEnter ends it.", simulator.url());
    std::io::stdin().read_line(&mut String::new())?;
    for request in simulator.requests() {
        println!("{:>8} tokens, {} results: {:?}", request.prompt_tokens, request.results, request.answered);
    }
    Ok(())
}

fn script(folder: &Path) -> Result<ModelScript> {
    let mut script = ModelScript::new();
    let mut turns = Vec::new();
    let mut failures: Vec<ScriptedFailure> = Vec::new();
    let mut in_stream = false;
    let mut options = std::env::args().skip(1);
    while let Some(option) = options.next() {
        match option.as_str() {
            "--in-stream" => in_stream = true,
            "--hang" => turns.push(ModelTurn::hang()),
            named => {
                let number = options.next().and_then(|number| number.parse::<u64>().ok());
                let number = number.ok_or_else(|| wrong(format!("{named} wants a number after it")))?;
                let few = u32::try_from(number).unwrap_or(u32::MAX);
                match named {
                    "--pages" => turns.extend((1..=number).map(|page| filler(folder, page))),
                    // Claude Code refuses a plain `sleep`.
                    "--sleep" => turns.push(ModelTurn::bash(format!("timeout {number} tail -f /dev/null"))),
                    "--window" => script = script.max_prompt_tokens(number),
                    "--scale" => script = script.message_scale(number),
                    "--limited" => failures.push(ScriptedFailure::rate_limited(few)),
                    "--overloaded" => failures.push(ScriptedFailure::overloaded(few)),
                    "--broke" => failures.push(ScriptedFailure::credit_spent(few)),
                    "--quota-until" => failures.push(ScriptedFailure::quota_until(number)),
                    "--used" => {
                        script = script.quota_used(u8::try_from(number).unwrap_or(u8::MAX), RESETS_AT_S);
                    }
                    "--retry-after" => {
                        let last = failures
                            .pop()
                            .ok_or_else(|| wrong("--retry-after follows a refusal".to_owned()))?;
                        failures.push(last.retry_after_s(few));
                    }
                    unknown => {
                        return Err(wrong(format!("there is no {unknown}; see the head of this file")));
                    }
                }
            }
        }
    }
    if in_stream {
        script = script.too_long_in_stream();
        failures = failures.into_iter().map(ScriptedFailure::in_stream).collect();
    }
    turns.push(ModelTurn::write(folder.join("hello.txt").display(), "hello from the simulated model\n"));
    turns.push(ModelTurn::say("Done: hello.txt written."));
    Ok(failures.into_iter().fold(script.otherwise(turns), ModelScript::failing))
}

fn filler(folder: &Path, page: u64) -> ModelTurn {
    let line = "A line of filler, as long as a line of prose tends to be in a file.\n";
    ModelTurn::write(folder.join(format!("page-{page}.txt")).display(), line.repeat(9000 / line.len()))
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
