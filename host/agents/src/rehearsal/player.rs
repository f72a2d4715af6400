//! The agent of a rehearsal: answers prompts with the steps of a script, each a turn that fills the window and tells so.

mod steps;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use baton_core::ids::ObjectiveId;
use baton_core::input::AgentReport;
use baton_core::observation::ObjectiveStatus;
use serde_json::{Value, json};

use super::acp_stdio::{AcpStdio, json_rpc_error};
use super::context_window::{ContextWindow, tokens};
use super::mcp_client::ScriptMcpClient;
use super::parsed_prompt::ParsedPrompt;
use super::script::{ObjectiveScript, RehearsalScript, matches};
use super::step::{ScriptStep, SessionKind, StepAction};

/// Tokens of a turn besides its input and output: the call itself.
const TURN_TOKENS: u64 = 20;

/// How much of a file that it reads the rehearsal shows.
const SHOWN_BYTES: usize = 512;

/// JSON-RPC's code for everything that went wrong inside.
const INTERNAL_ERROR: i32 = -32603;

/// Whether a step is left out of a prompt.
enum StepSkip {
    Run,
    /// It is meant for another time, phase or session.
    Skip,
    /// The result of the step exists already, and the agent notes so.
    SkipWithThought(String),
}

impl StepSkip {
    fn of(step: &ScriptStep, brief: &ParsedPrompt) -> Self {
        let is_there = |path: &String| Path::new(path).exists();
        let kind = if brief.continues { SessionKind::Successor } else { SessionKind::First };
        if step.phase.as_ref().is_some_and(|phase| !matches(phase, &brief.phase))
            || step.session.is_some_and(|session| session != kind)
            || step.when.as_ref().is_some_and(|path| !is_there(path))
        {
            return Self::Skip;
        }
        match step.unless.as_ref().filter(|path| is_there(path)) {
            Some(path) => {
                Self::SkipWithThought(format!("{path} is there already: no need to do this again."))
            }
            None => Self::Run,
        }
    }
}

/// Why a prompt is not answered with a stop reason.
pub(super) enum PromptAbort {
    /// It is answered with an error.
    Failed(Value),
    /// The process ends in the middle of it.
    Exit(u8),
    /// The host has ended.
    HostGone,
}

/// The agent, with the state of its one session.
pub(super) struct ScriptPlayer<'a> {
    script: &'a RehearsalScript,
    /// The host's id of the session, for reports.
    session: Option<String>,
    window: ContextWindow,
    turns: u64,
    /// Where reports go, since a prompt said so.
    inbox: Option<PathBuf>,
    /// The session continues the work of another one, since a prompt said so.
    continues: bool,
    /// The handoff that it continues from, since a prompt named it.
    handoff: Option<PathBuf>,
    /// Rate limits that were answered, by objective and step.
    rate_limits_sent: BTreeMap<(String, usize), u32>,
    server: Option<ScriptMcpClient>,
}

impl<'a> ScriptPlayer<'a> {
    pub(super) fn new(script: &'a RehearsalScript, session: Option<String>) -> Self {
        let window = ContextWindow::new(script.window_tokens, script.base_tokens);
        Self {
            script,
            session,
            window,
            turns: 0,
            inbox: None,
            continues: false,
            handoff: None,
            rate_limits_sent: BTreeMap::new(),
            server: None,
        }
    }

    /// The MCP servers that the host has given; the first one is used.
    pub(super) fn set_servers(&mut self, servers: &Value) {
        self.server = servers.get(0).map(ScriptMcpClient::of);
    }

    /// The agent's own id of the session.
    pub(super) fn session(&self) -> String {
        format!("rehearsal-{}", self.session.as_deref().unwrap_or("1"))
    }

    /// What the prompt has billed.
    pub(super) fn usage(&self) -> Value {
        let ContextWindow { input, cached, output, .. } = self.window;
        json!({
            "inputTokens": input, "outputTokens": output, "cachedReadTokens": cached, "cachedWriteTokens": 0,
            "totalTokens": input + output + cached,
        })
    }

    pub(super) fn send_usage(&self, wire: &mut AcpStdio) {
        let usage =
            json!({ "sessionUpdate": "usage_update", "used": self.window.used, "size": self.window.size });
        wire.update(&self.session(), usage);
    }

    /// Works on a prompt; gives the stop reason.
    pub(super) fn prompt(&mut self, text: &str, wire: &mut AcpStdio) -> Result<&'static str, PromptAbort> {
        self.window.begin();
        if text == "/compact" || text.starts_with("/compact ") {
            return Ok(self.compact(wire));
        }
        self.turn(self.script.prompt_tokens.unwrap_or_else(|| tokens(text)), 0, wire)?;
        let script = self.script;
        let mut brief = ParsedPrompt::read(text, |id| script.objective(id).is_some());
        self.merge_session_facts(&mut brief);
        let known: Vec<_> =
            brief.objectives.iter().filter_map(|id| Some((id.as_str(), script.objective(id)?))).collect();
        if known.is_empty() {
            self.say("There is nothing in my script for this prompt.", wire)?;
        }
        for (id, objective) in known {
            if let Some(stop_reason) = self.objective(id, objective, &brief, wire)? {
                return Ok(stop_reason);
            }
        }
        Ok("end_turn")
    }

    /// What a prompt says of the whole session is said once by some policies, and with each prompt by others.
    fn merge_session_facts(&mut self, brief: &mut ParsedPrompt) {
        self.inbox = brief.inbox.take().or(self.inbox.take());
        self.handoff = brief.handoff.take().or(self.handoff.take());
        self.continues |= brief.continues;
        brief.inbox.clone_from(&self.inbox);
        brief.handoff.clone_from(&self.handoff);
        brief.continues = self.continues;
    }

    /// Plays the steps of an objective; returns the stop reason if the prompt ends with one of them.
    fn objective(
        &mut self,
        id: &str,
        objective: &ObjectiveScript,
        brief: &ParsedPrompt,
        wire: &mut AcpStdio,
    ) -> Result<Option<&'static str>, PromptAbort> {
        // The conditions of steps must not depend on files that this prompt wrote itself.
        let left_out: Vec<StepSkip> = objective.steps.iter().map(|step| StepSkip::of(step, brief)).collect();
        let mut reports = objective.report_done;
        for (at, (step, left_out)) in objective.steps.iter().zip(left_out).enumerate() {
            wire.pause(Duration::from_millis(self.script.pace_ms));
            if wire.is_host_gone() {
                return Err(PromptAbort::HostGone);
            }
            if wire.is_cancelled() {
                return Ok(Some("cancelled"));
            }
            match left_out {
                StepSkip::Skip => {}
                StepSkip::SkipWithThought(why) => self.note(&why, wire)?,
                StepSkip::Run => {
                    self.step(step, (id, at), brief, wire)?;
                    if step.act.ends_the_prompt() {
                        return Ok(Some("end_turn"));
                    }
                    reports &= !matches!(step.act, StepAction::Status { .. });
                }
            }
        }
        if reports {
            self.done(id, brief).map_err(|error| io_failure(&error))?;
        }
        Ok(None)
    }

    fn compact(&mut self, wire: &mut AcpStdio) -> &'static str {
        wire.pause(Duration::from_millis(self.script.pace_ms));
        let call = self.call();
        if let Some(before) = self.window.compact() {
            let begin = json!({
                "sessionUpdate": "tool_call", "toolCallId": call, "title": "Compact conversation", "kind": "think",
                "status": "in_progress",
            });
            wire.update(&self.session(), begin);
            let raw = json!({ "trigger": "manual", "preTokens": before, "postTokens": self.window.used });
            self.send_tool_result(&call, "completed", raw, wire);
            self.send_usage(wire);
        } else {
            self.message("Not enough messages to compact.", wire);
        }
        "end_turn"
    }

    /// One model call: counts it, or ends the prompt if the window is full.
    fn turn(&mut self, input: u64, output: u64, wire: &mut AcpStdio) -> Result<(), PromptAbort> {
        self.turns += 1;
        self.window.turn(input, output).map_err(|too_long| {
            let (tokens, size) = (too_long.tokens, self.window.size);
            let message = format!("Prompt is too long: {tokens} tokens > {size} maximum");
            PromptAbort::Failed(json_rpc_error(
                INTERNAL_ERROR,
                message,
                &json!({ "errorKind": "invalid_request" }),
            ))
        })?;
        self.send_usage(wire);
        Ok(())
    }

    fn say(&mut self, text: &str, wire: &mut AcpStdio) -> Result<(), PromptAbort> {
        self.turn(0, tokens(text) + TURN_TOKENS, wire)?;
        self.message(text, wire);
        Ok(())
    }

    /// A thought that costs `cost` tokens: not part of its answer.
    fn think(&mut self, text: &str, cost: u64, wire: &mut AcpStdio) -> Result<(), PromptAbort> {
        self.turn(0, cost, wire)?;
        self.chunk("agent_thought_chunk", text, wire);
        Ok(())
    }

    /// It notes in passing that there is nothing to do.
    fn note(&mut self, text: &str, wire: &mut AcpStdio) -> Result<(), PromptAbort> {
        self.think(text, tokens(text) + TURN_TOKENS, wire)
    }

    fn message(&mut self, text: &str, wire: &mut AcpStdio) {
        self.chunk("agent_message_chunk", text, wire);
    }

    fn chunk(&mut self, kind: &str, text: &str, wire: &mut AcpStdio) {
        let content = json!({ "type": "text", "text": text });
        let id = format!("turn-{}", self.turns);
        wire.update(&self.session(), json!({ "sessionUpdate": kind, "messageId": id, "content": content }));
    }

    /// A tool call. Has no effect if the window is full.
    fn tool(
        &mut self,
        name: &str,
        kind: &str,
        path: &str,
        cost: u64,
        wire: &mut AcpStdio,
        perform: impl FnOnce() -> io::Result<String>,
    ) -> Result<(), PromptAbort> {
        self.turn(cost, TURN_TOKENS, wire)?;
        let call = self.call();
        let begin = json!({
            "sessionUpdate": "tool_call", "toolCallId": call, "title": format!("{name} {path}"), "name": name,
            "kind": kind, "status": "in_progress", "locations": [{ "path": path }],
        });
        wire.update(&self.session(), begin);
        match perform() {
            Ok(output) => self.send_tool_result(&call, "completed", json!(output), wire),
            Err(error) => {
                self.send_tool_result(&call, "failed", json!(format!("{path}: {error}")), wire);
                return Err(io_failure(&io::Error::new(error.kind(), format!("{path}: {error}"))));
            }
        }
        Ok(())
    }

    /// A call of a tool of the host's server; the answer is reported, and an error does not stop the prompt.
    fn call_tool(&mut self, name: &str, arguments: &Value, wire: &mut AcpStdio) -> Result<(), PromptAbort> {
        self.turn(tokens(&arguments.to_string()), TURN_TOKENS, wire)?;
        let call = self.call();
        let begin = json!({
            "sessionUpdate": "tool_call", "toolCallId": call, "title": format!("baton: {name}"), "kind": "other",
            "status": "in_progress", "rawInput": arguments,
        });
        wire.update(&self.session(), begin);
        let answered = match &mut self.server {
            Some(server) => server.call(name, arguments),
            None => Err(io::Error::other("the host has given no MCP server")),
        };
        match answered {
            Ok((text, is_error)) => {
                let status = if is_error { "failed" } else { "completed" };
                self.send_tool_result(&call, status, json!(text), wire);
                Ok(())
            }
            Err(error) => {
                self.send_tool_result(&call, "failed", json!(error.to_string()), wire);
                Err(io_failure(&error))
            }
        }
    }

    fn send_tool_result(&mut self, call: &str, status: &str, raw: Value, wire: &mut AcpStdio) {
        let end = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": call, "status": status, "rawOutput": raw,
        });
        wire.update(&self.session(), end);
    }

    fn ask(&mut self, title: &str, kind: &str, wire: &mut AcpStdio) -> Result<(), PromptAbort> {
        self.turn(TURN_TOKENS, TURN_TOKENS, wire)?;
        let mut call =
            json!({ "toolCallId": self.call(), "title": title, "kind": kind, "status": "pending" });
        if let Some(command) = title.strip_prefix("Bash ") {
            call["rawInput"] = json!({ "command": command });
        }
        if let Some(path) = title.strip_prefix("Edit ") {
            call["rawInput"] = json!({ "file_path": path });
        }
        let params = json!({
            "sessionId": self.session(),
            "toolCall": call,
            "options": [
                { "optionId": "allow", "name": "Yes", "kind": "allow_once" },
                { "optionId": "reject", "name": "No", "kind": "reject_once" },
            ],
        });
        let answer = wire.ask("session/request_permission", params).ok_or(PromptAbort::HostGone)?;
        let allowed = answer["result"]["outcome"]["optionId"] == "allow";
        let word = if allowed { "was allowed" } else { "was refused" };
        self.say(&format!("{title} {word}."), wire)
    }

    /// An id of a tool call, unique in the session.
    fn call(&self) -> String {
        format!("call-{}", self.turns)
    }

    /// After the last step of an objective: reports it done in the way that the prompt asks for.
    fn done(&self, id: &str, brief: &ParsedPrompt) -> io::Result<()> {
        let (objective, status) = (ObjectiveId::new(id), ObjectiveStatus::Done);
        let report = AgentReport::ObjectiveUpdate { objective, status, note: String::new() };
        self.report(&format!("{id}-done"), &report, brief)
    }

    fn report(&self, name: &str, report: &AgentReport, brief: &ParsedPrompt) -> io::Result<()> {
        self.put_report(name, serde_json::to_value(report)?, brief)
    }

    /// A report through a file, as the instructions of the inbox describe it.
    fn put_report(&self, name: &str, mut content: Value, brief: &ParsedPrompt) -> io::Result<()> {
        let Some(inbox) = &brief.inbox else { return Ok(()) };
        if let Some(session) = &self.session {
            content["session"] = json!(session);
        }
        fs::create_dir_all(inbox)?;
        let half: PathBuf = inbox.join(format!(".{name}.half"));
        fs::write(&half, content.to_string())?;
        fs::rename(half, inbox.join(format!("{name}.json")))
    }
}

/// As claude-agent-acp says it, with the reset in a field and, as older agents do, in the text.
fn rate_limit(resets_in_ms: u64) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let resets_at = u64::try_from(now.as_millis()).unwrap_or(u64::MAX).saturating_add(resets_in_ms);
    let data = json!({ "errorKind": "rate_limit", "status": 429, "resetsAt": resets_at });
    json_rpc_error(INTERNAL_ERROR, format!("usage limit reached|{}", resets_at.div_ceil(1000)), &data)
}

/// An error of the disk: the agent cannot continue.
fn io_failure(error: &io::Error) -> PromptAbort {
    PromptAbort::Failed(json_rpc_error(INTERNAL_ERROR, error.to_string(), &json!({ "errorKind": "io" })))
}
