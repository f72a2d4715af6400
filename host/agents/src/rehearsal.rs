//! The rehearsal: a scripted agent that speaks ACP on stdin and stdout, a real process that writes real files and fills
//! a small context window. It has no model; its script says what it does, and it judges nothing.
//!
//! It finds its objective as a real agent would: from the prompt (`- [id]` below `## Your objective`, or else any item of
//! a list that begins with an id of its script), and reports it done where the prompt says.

mod acp_stdio;
mod context_window;
mod faults;
mod mcp_client;
mod parsed_prompt;
mod player;
pub(crate) mod script;
mod step;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use self::acp_stdio::{AcpStdio, json_rpc_error};
use self::player::{PromptAbort, ScriptPlayer};
use self::script::RehearsalScript;

/// Runs the rehearsal agent: `--session ID --script PATH`, the arguments after the command's own name.
pub fn rehearsal_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match run(args.into_iter()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("baton rehearsal: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let (mut session, mut script) = (None, None);
    while let Some(name) = args.next() {
        let value = args.next().with_context(|| format!("{} needs a value", name.display()))?;
        match name.to_str() {
            Some("--session") => session = value.into_string().ok(),
            Some("--script") => script = Some(PathBuf::from(value)),
            _ => bail!("{} is unknown; usage: --session ID --script PATH", name.display()),
        }
    }
    let script =
        RehearsalScript::read(&script.context("--script is missing; usage: --session ID --script PATH")?)?;
    let mut wire = AcpStdio::start();
    let mut actor = ScriptPlayer::new(&script, session);
    while let Some(message) = wire.next() {
        let method = message["method"].as_str().unwrap_or_default();
        let Some(id) = message.get("id").cloned() else { continue };
        let answer = match method {
            "initialize" => Ok(json!({
                "protocolVersion": 1,
                "agentCapabilities": { "loadSession": false, "promptCapabilities": {} },
                "agentInfo": { "name": "baton-rehearsal", "title": "Rehearsal", "version": env!("CARGO_PKG_VERSION") },
                "authMethods": [],
            })),
            "session/new" => {
                actor.set_servers(&message["params"]["mcpServers"]);
                Ok(json!({ "sessionId": actor.session() }))
            }
            "session/prompt" => {
                let text = prompt_text(&message);
                match actor.prompt(&text, &mut wire) {
                    Ok(stop_reason) => Ok(json!({ "stopReason": stop_reason, "usage": actor.usage() })),
                    Err(PromptAbort::Failed(error)) => Err(error),
                    Err(PromptAbort::Exit(code)) => return Ok(ExitCode::from(code)),
                    Err(PromptAbort::HostGone) => return Ok(ExitCode::SUCCESS),
                }
            }
            "" => continue,
            other => {
                Err(json_rpc_error(-32601, format!("{other} is not known to the rehearsal"), &Value::Null))
            }
        };
        wire.answer(&id, answer);
        if method == "session/new" {
            actor.send_usage(&mut wire);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn prompt_text(message: &Value) -> String {
    let blocks = message["params"]["prompt"].as_array();
    let texts: Vec<&str> = blocks.into_iter().flatten().filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}
