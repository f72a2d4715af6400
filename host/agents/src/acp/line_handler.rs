//! Decodes an agent's lines, passes on those that the protocol crate needs, and learns the agent's capabilities from them.
//! Sends no answers.

use baton_core::facts::{AgentEvent, Capabilities, TokenUsage};
use baton_streams::{AcpDecoder, Decoder as _};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::told_calls::ToldCalls;
use crate::driver::{LineHandler, SharedDecoder};

/// How an agent takes the wish to compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompactionSupport {
    /// `/compact` with instructions on what to keep.
    WithInstructions,
    /// `/compact` alone.
    WithoutInstructions,
}

/// What both directions look at.
#[derive(Debug)]
pub(super) struct AcpProtocolState {
    decoder: AcpDecoder,
    capabilities: Capabilities,
    /// None if the agent cannot be asked to compact.
    pub(super) compaction: Option<CompactionSupport>,
    /// A session is open.
    open: bool,
    /// What the agent has told of its calls.
    pub(super) calls: ToldCalls,
}

/// What the decoder calls an answer by which the agent wants a login first: by its words, or by its number alone.
const AUTH_REQUIRED: [&str; 2] = ["authentication_failed", "-32000"];

impl AcpProtocolState {
    /// With the capabilities that are known before the agent's first message.
    pub(super) fn new(capabilities: Capabilities) -> Self {
        let compaction = capabilities.compacts.then_some(CompactionSupport::WithInstructions);
        let decoder = AcpDecoder::new();
        Self { decoder, capabilities, compaction, open: false, calls: ToldCalls::default() }
    }

    /// Takes a line that the host sends.
    pub(super) fn sent(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        self.decoder.sent(line, out);
    }

    /// Takes a line of the agent.
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        let before = out.len();
        self.decoder.line(line, out);
        self.learn(line, before, out);
        self.calls.take(line);
        if !self.open {
            self.open = out[before..].iter().any(|event| matches!(event, AgentEvent::Ready { .. }));
            // Part of the handshake: the driver answers it with a login, and reports it only if that fails.
            let is_part = |event: &AgentEvent| matches!(event, AgentEvent::Signal(signal) if AUTH_REQUIRED.contains(&&*signal.code));
            let told = out.split_off(before);
            out.extend(told.into_iter().filter(|event| !is_part(event)));
        }
    }

    /// Learns capabilities from a line: what an agent has reported once, it can report.
    fn learn(&mut self, line: &[u8], before: usize, out: &mut Vec<AgentEvent>) {
        let mut told = self.capabilities;
        for event in &out[before..] {
            match event {
                AgentEvent::Occupancy { used_tokens: Some(_), .. } => told.reports_occupancy = true,
                AgentEvent::Billing(TokenUsage { cost_microusd: Some(_), .. }) => told.reports_cost = true,
                _ => {}
            }
        }
        // The list of commands is not an event, so a line that gave an event need not be read again.
        if out.len() == before
            && let Ok(CommandListMessage { params: CommandListParams { update } }) =
                serde_json::from_slice(line)
            && update.session_update == "available_commands_update"
        {
            let listed = update.available_commands.iter().find(|command| command.name == "compact");
            self.compaction = listed.map(|command| match command.input {
                Some(_) => CompactionSupport::WithInstructions,
                None => CompactionSupport::WithoutInstructions,
            });
            told.compacts = listed.is_some();
        }
        if told != self.capabilities {
            self.capabilities = told;
            out.insert(before, AgentEvent::Capabilities(told));
        }
    }
}

/// Enough of a message to tell whether it belongs to a request.
#[derive(Deserialize)]
struct AcpMessageHead {
    id: Option<IgnoredAny>,
}

/// A message that lists commands.
#[derive(Deserialize)]
struct CommandListMessage {
    params: CommandListParams,
}

#[derive(Deserialize)]
struct CommandListParams {
    update: CommandListUpdate,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommandListUpdate {
    session_update: String,
    available_commands: Vec<AvailableCommand>,
}

#[derive(Deserialize)]
struct AvailableCommand {
    name: String,
    input: Option<IgnoredAny>,
}

/// What becomes of an agent's lines.
pub(super) struct AcpLineHandler(pub(super) SharedDecoder<AcpProtocolState>);

impl LineHandler for AcpLineHandler {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Option<String> {
        self.0.lock().line(line, out);
        let head: AcpMessageHead = serde_json::from_slice(line).ok()?;
        head.id.and(str::from_utf8(line).ok()).map(str::to_owned)
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        let mut state = self.0.lock();
        state.calls.take_beginning(beginning);
        state.decoder.long_line(beginning, out);
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        self.0.lock().decoder.end(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::{CAPABILITIES, REHEARSAL_CAPABILITIES};

    fn learnt(protocol: &mut AcpProtocolState, update: &str) -> Vec<Capabilities> {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"a","update":{update}}}}}"#
        );
        let mut out = Vec::new();
        protocol.line(line.as_bytes(), &mut out);
        let told = |event| if let AgentEvent::Capabilities(told) = event { Some(told) } else { None };
        out.into_iter().filter_map(told).collect()
    }

    #[test]
    fn an_agent_can_do_what_it_has_told_and_nothing_before() {
        let mut protocol = AcpProtocolState::new(CAPABILITIES);
        assert_eq!(protocol.compaction, None);
        let list = |input: &str| {
            format!(
                r#"{{"sessionUpdate":"available_commands_update","availableCommands":[{{"name":"compact","input":{input}}}]}}"#
            )
        };
        let compacts = Capabilities { compacts: true, ..CAPABILITIES };
        assert_eq!(learnt(&mut protocol, &list("null")), [compacts]);
        assert_eq!(protocol.compaction, Some(CompactionSupport::WithoutInstructions));
        // The same again is nothing new.
        assert_eq!(learnt(&mut protocol, &list(r#"{"hint":"what to keep"}"#)), []);
        assert_eq!(protocol.compaction, Some(CompactionSupport::WithInstructions));

        let usage =
            r#"{"sessionUpdate":"usage_update","used":5,"size":100,"cost":{"amount":0.5,"currency":"USD"}}"#;
        let reports = Capabilities { reports_occupancy: true, reports_cost: true, ..compacts };
        assert_eq!(learnt(&mut protocol, usage), [reports]);

        let none = r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#;
        assert_eq!(learnt(&mut protocol, none), [Capabilities { compacts: false, ..reports }]);
        assert_eq!(protocol.compaction, None);
    }

    #[test]
    fn the_rehearsal_needs_not_tell() {
        assert_eq!(
            AcpProtocolState::new(REHEARSAL_CAPABILITIES).compaction,
            Some(CompactionSupport::WithInstructions)
        );
    }
}
