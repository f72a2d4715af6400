//! Claude Code over stream-json in both directions. Decoding is in `baton-streams`.

mod tools;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use baton_core::SessionId;
use baton_core::facts::{AgentEvent, Capabilities, CompactionTrigger};
use baton_core::ids::Digest;
use baton_core::workflow::{Permission, Role};
use baton_streams::{ClaudeDecoder, Decoder as _};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::driver::{self, AgentCommand, AgentHandle, LineHandler};
use crate::launch::{AgentLaunch, DriverEvent};
use crate::program_lookup::Invocation;
use crate::supervised_process::SupervisedProcess;
use tools::ToolPermissions;

/// What Claude Code can do.
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    reports_occupancy: true,
    compacts: true,
    takes_mcp: true,
    caps_turns: true,
    interrupts: true,
    reports_cost: true,
};

/// What is said to the model behind the agent's own instructions.
const APPEND_SYSTEM_PROMPT_FLAG: &str = "--append-system-prompt";

/// Lines under way to the agent; each command is one.
const LINES: usize = 16;

/// How it is called for this session.
pub(crate) fn command(program: PathBuf, launch: &AgentLaunch) -> Invocation {
    let own = launch.tools.as_ref().map(|tools| tools.command.name.as_str());
    let servers = tools::config(own, &launch.mcp_servers);
    let mut args = arguments(&launch.role, launch.spec.turn_ceiling, own, servers);
    let option = if launch.spec.conversation.is_some() { "--resume" } else { "--session-id" };
    args.extend([option.into(), conversation(launch).into()]);
    let is_set = launch.role.args.iter().any(|arg| arg.starts_with(APPEND_SYSTEM_PROMPT_FLAG));
    if launch.role.permission == Permission::Edit
        && !is_set
        && let Some(told) = launch.commands().told()
    {
        args.extend([APPEND_SYSTEM_PROMPT_FLAG.into(), told.into()]);
    }
    Invocation { program, args }
}

/// Claude Code's id of this session: that of the continued conversation, or a new one in the form of a UUID that no other
/// session has.
fn conversation(launch: &AgentLaunch) -> String {
    if let Some(begun) = &launch.spec.conversation {
        return begun.clone();
    }
    let digest = Digest::of(launch.session_dir.to_string_lossy().as_bytes()).to_string();
    let hex: Vec<char> = digest.chars().filter(char::is_ascii_hexdigit).collect();
    let part = |from: usize, to: usize| hex[from..to].iter().collect::<String>();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}

/// The arguments; `max_turns` of 0 is unlimited. Claude Code counts turns from 0 with every prompt (seen on 2.1.330), so this
/// caps a prompt, at the ceiling of its phase; core counts the turns of the session. `own` names the server of Baton's own
/// tools, which are allowed under every permission of the role, since they only change the run's own journal.
pub(crate) fn arguments(
    role: &Role,
    max_turns: u32,
    own: Option<&str>,
    servers: Option<Value>,
) -> Vec<OsString> {
    let mut args = vec!["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    // Both take lists, which end at the next option.
    let servers = servers.map(|servers| servers.to_string());
    if let Some(servers) = &servers {
        args.extend(["--mcp-config", servers]);
    }
    let allowed = own.map(|own| format!("mcp__{own}"));
    if let Some(allowed) = &allowed {
        args.extend(["--allowedTools", allowed]);
    }
    match role.permission {
        // Plan mode reads and searches, and changes nothing. A list of allowed tools does not count in it, so it asks
        // the host, which says yes to Baton's own tools and to nothing else (see `tools.rs`).
        Permission::ReadOnly => {
            args.extend(["--permission-mode", "plan"]);
        }
        // Whatever is more than that it asks the host, which knows the commands that it may run.
        Permission::Edit => args.extend(["--permission-mode", "acceptEdits"]),
        Permission::Full => args.push("--dangerously-skip-permissions"),
    }
    if own.is_some() && role.permission != Permission::Full {
        args.extend(["--permission-prompt-tool", "stdio"]);
    }
    let max_turns = max_turns.to_string();
    if max_turns != "0" {
        args.extend(["--max-turns", &max_turns]);
    }
    if let Some(model) = &role.model {
        args.extend(["--model", model]);
    }
    args.extend(role.args.iter().map(String::as_str));
    args.into_iter().map(OsString::from).collect()
}

/// Takes the process over. Its first answer is `Ready`.
pub(crate) fn drive(
    process: SupervisedProcess,
    launch: &AgentLaunch,
    events: mpsc::Sender<(SessionId, DriverEvent)>,
) -> AgentHandle {
    let (handle, wiring) = driver::wire(launch.spec.session.clone(), events);
    let events = wiring.events;
    let (lines, to_write) = mpsc::channel(LINES);

    // Both are answered before the first prompt: that it is up, and how large its window is.
    for request in ["initialize", CONTEXT_USAGE] {
        // The channel is empty and longer than this.
        let _ = lines.try_send(control(request));
    }
    let (forward, forwarded) = mpsc::channel(LINES);
    let permits = launch.tools.as_ref().map(|own| ToolPermissions::new(&own.command.name, launch.commands()));
    let (compacting, working) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let feed = ClaudeLineHandler {
        decoder: ClaudeDecoder::of_session(conversation(launch)).resuming(launch.spec.billed_before),
        compacting: compacting.clone(),
        working: working.clone(),
        compaction_text: String::new(),
        lines: lines.downgrade(),
        permits: permits.clone(),
    };
    if let (Some(own), Some(permits)) = (&launch.tools, permits) {
        tokio::spawn(tools::relay(own.clone(), permits, forwarded, lines.downgrade()));
    }
    let talk = tokio::spawn(talk(wiring.commands, lines, (compacting, working), wiring.closing.clone()));
    let streams = driver::AgentStreams { to_write, feed, forward: Some(forward) };
    driver::spawn_io_tasks(process, launch, events, wiring.life, streams, talk);
    handle
}

/// Turns commands into lines until the agent is being ended. A prompt under way is then interrupted: the agent stops working,
/// and reports the usage of the prompt.
async fn talk(
    mut commands: mpsc::Receiver<AgentCommand>,
    lines: mpsc::Sender<Vec<u8>>,
    (compacting, working): (Arc<AtomicBool>, Arc<AtomicBool>),
    mut closing: watch::Receiver<bool>,
) {
    loop {
        let command = tokio::select! {
            command = commands.recv() => command,
            _ = closing.wait_for(|closing| *closing) => None,
        };
        let Some(command) = command else {
            if working.load(Ordering::Acquire) {
                // Full: it takes nothing, and its end does not wait for it.
                let _ = lines.try_send(control("interrupt"));
            }
            return;
        };
        match command {
            AgentCommand::Prompt(_) => compacting.store(false, Ordering::Release),
            AgentCommand::Compact(_) => compacting.store(true, Ordering::Release),
            AgentCommand::Interrupt => {}
        }
        if !matches!(command, AgentCommand::Interrupt) {
            working.store(true, Ordering::Release);
        }
        let line = match command {
            AgentCommand::Prompt(text) => message(&text),
            AgentCommand::Compact(instructions) => message(format!("/compact {instructions}").trim_end()),
            AgentCommand::Interrupt => control("interrupt"),
        };
        if lines.send(line).await.is_err() {
            return;
        }
    }
}

/// The request whose answer has fill and window. Claude Code counts tokens at its provider for it, in some thirty small calls,
/// so it is sent only if there is no other source: at the start, and after a compaction.
const CONTEXT_USAGE: &str = "get_context_usage";

fn message(text: &str) -> Vec<u8> {
    let content = json!([{ "type": "text", "text": text }]);
    line(&json!({ "type": "user", "message": { "role": "user", "content": content } }))
}

fn control(subtype: &str) -> Vec<u8> {
    let id = format!("baton-{subtype}");
    line(&json!({ "type": "control_request", "request_id": id, "request": { "subtype": subtype } }))
}

fn line(value: &Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Decodes, and asks for the fill after a compaction.
struct ClaudeLineHandler {
    decoder: ClaudeDecoder,
    /// It was asked to compact, and has not answered yet.
    compacting: Arc<AtomicBool>,
    /// It has a prompt, and has not said that it ended.
    working: Arc<AtomicBool>,
    /// What it has said since.
    compaction_text: String,
    lines: mpsc::WeakSender<Vec<u8>>,
    permits: Option<ToolPermissions>,
}

impl LineHandler for ClaudeLineHandler {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Option<String> {
        let before = out.len();
        self.decoder.line(line, out);
        if out[before..].iter().any(ends_a_prompt) {
            self.working.store(false, Ordering::Release);
        }
        if self.compacting.load(Ordering::Acquire) {
            self.keep_apart(before, out);
        }
        let compacted = out[before..].iter().any(|event| matches!(event, AgentEvent::Compacted { .. }));
        if compacted && let Some(lines) = self.lines.upgrade() {
            // If the agent does not read its stdin, the next call has the numbers instead.
            let _ = lines.try_send(control(CONTEXT_USAGE));
        }
        if !tools::is_request(line) {
            return None;
        }
        if let Some(permits) = &self.permits {
            permits.on_permission_request(line, out);
        }
        str::from_utf8(line).map(str::to_owned).ok()
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        self.decoder.long_line(beginning, out);
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        self.decoder.end(out);
    }
}

/// Whether the agent waits for the next prompt.
fn ends_a_prompt(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::PromptEnded { .. } | AgentEvent::CompactionFailed { .. } => true,
        AgentEvent::Compacted { trigger, .. } => *trigger == CompactionTrigger::Asked,
        _ => false,
    }
}

impl ClaudeLineHandler {
    /// Its answer to `/compact` is not part of its answer to the prompt before: it is the reason of a refusal.
    fn keep_apart(&mut self, from: usize, out: &mut Vec<AgentEvent>) {
        let events = out.split_off(from);
        for event in events {
            match event {
                AgentEvent::Text { text } => self.compaction_text.push_str(&text),
                // An answer instead of a compaction.
                AgentEvent::PromptEnded { is_error: false, .. } if !self.compaction_text.is_empty() => {
                    self.compacting.store(false, Ordering::Release);
                    out.push(AgentEvent::CompactionFailed {
                        text: std::mem::take(&mut self.compaction_text),
                    });
                }
                AgentEvent::Compacted { trigger: CompactionTrigger::Asked, .. }
                | AgentEvent::CompactionFailed { .. }
                | AgentEvent::PromptEnded { .. } => {
                    self.compacting.store(false, Ordering::Release);
                    self.compaction_text.clear();
                    out.push(event);
                }
                event => out.push(event),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_core::workflow::AgentKind;

    // A6
    #[test]
    fn what_is_said_to_a_compaction_is_no_part_of_the_answer_before() {
        let mut feed = ClaudeLineHandler {
            decoder: ClaudeDecoder::of_session("s"),
            compacting: Arc::new(AtomicBool::new(true)),
            working: Arc::default(),
            compaction_text: String::new(),
            lines: mpsc::channel(1).0.downgrade(),
            permits: None,
        };
        let why = "/compact isn't available in this environment.".to_owned();
        let failed = AgentEvent::CompactionFailed { text: why.clone() };
        let mut out = vec![AgentEvent::Text { text: "Done: one".to_owned() }];
        out.extend([AgentEvent::Text { text: why.clone() }, failed.clone()]);
        feed.keep_apart(1, &mut out);
        assert_eq!(out, [AgentEvent::Text { text: "Done: one".to_owned() }, failed.clone()]);
        assert!(!feed.compacting.load(Ordering::Acquire), "what follows is said again");
        // It may say so as an answer.
        feed.compacting.store(true, Ordering::Release);
        let ended = AgentEvent::PromptEnded { stop_reason: "success".to_owned(), is_error: false };
        let mut out = vec![AgentEvent::Text { text: why }, ended];
        feed.keep_apart(0, &mut out);
        assert_eq!(out, [failed]);
    }

    // A1, D8
    #[tokio::test]
    async fn an_agent_that_is_ended_in_the_middle_of_a_prompt_is_told_to_break_it_off() {
        for is_working in [true, false] {
            let (commands, to_take) = mpsc::channel(1);
            let (lines, mut written) = mpsc::channel(LINES);
            let (closes, closing) = watch::channel(false);
            let working = Arc::new(AtomicBool::new(is_working));
            closes.send_replace(true);
            talk(to_take, lines, (Arc::default(), working), closing).await;
            drop(commands);
            let line = written.recv().await.map(|line| String::from_utf8(line).unwrap());
            assert_eq!(line.is_some_and(|line| line.contains(r#""subtype":"interrupt""#)), is_working);
        }
    }

    fn role(permission: Permission) -> Role {
        Role { model: Some("sonnet".to_owned()), permission, ..Role::of(AgentKind::Claude) }
    }

    #[test]
    fn permission_is_explicit_and_never_silently_everything() {
        let joined = |permission, turns| {
            let args = arguments(&role(permission), turns, None, None);
            args.join(" ".as_ref()).into_string().unwrap()
        };
        let start = "-p --input-format stream-json --output-format stream-json --verbose";
        let read_only = format!("{start} --permission-mode plan --model sonnet");
        assert_eq!(joined(Permission::ReadOnly, 0), read_only);
        let edit = format!("{start} --permission-mode acceptEdits --max-turns 25 --model sonnet");
        assert_eq!(joined(Permission::Edit, 25), edit);
        assert!(joined(Permission::Full, 0).contains("--dangerously-skip-permissions"));
        let own = arguments(&role(Permission::ReadOnly), 0, Some("baton"), tools::config(Some("baton"), &[]));
        let own = own.join(" ".as_ref()).into_string().unwrap();
        // In which order a map is written depends on who else is in the build.
        let server = serde_json::json!({ "mcpServers": { "baton": { "type": "sdk", "name": "baton" } } });
        assert_eq!(
            own,
            format!(
                "{start} --mcp-config {server} --allowedTools mcp__baton --permission-mode plan --permission-prompt-tool stdio --model sonnet"
            )
        );
    }

    #[test]
    fn a_line_has_no_break_inside() {
        let line = message("one\ntwo");
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(line.ends_with(b"\n"));
    }
}
