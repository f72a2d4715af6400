//! Turns in the log of a session whose host died before it took them: a model call is known to be complete only when the next
//! line arrives, which may have been too late.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use baton_core::facts::AgentEvent;
use baton_core::workflow::AgentKind;
use baton_streams::{ClaudeDecoder, Decoder as _, LinePiece, LineSplitter};

use crate::session_files::LOG_BYTES;

/// The turns of a session by its log, beyond those that are known. Empty for agents that report turns at once, and if the log
/// cannot be read.
pub fn turns_logged(agent: &AgentKind, session_dir: &Path, known: u32) -> Vec<AgentEvent> {
    if *agent != AgentKind::Claude {
        return Vec::new();
    }
    let mut printed = Vec::new();
    let log = File::open(session_dir.join("stdout.jsonl"));
    if log.and_then(|log| log.take(LOG_BYTES).read_to_end(&mut printed)).is_err() {
        return Vec::new();
    }
    let (mut decoder, mut out) = (ClaudeDecoder::new(), Vec::new());
    let mut lines = LineSplitter::new();
    // The last line may be half of one.
    lines.push(&printed, |piece| {
        if let LinePiece::Line(line) = piece {
            decoder.line(line, &mut out);
        }
    });
    decoder.end(&mut out);
    let turns = out.into_iter().filter(|event| matches!(event, AgentEvent::Turn { .. }));
    turns.skip(known as usize).collect()
}

#[cfg(test)]
mod tests {
    use baton_core::facts::TokenUsage;

    use super::*;

    // D8
    #[test]
    fn a_call_that_its_host_did_not_live_to_take_is_in_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let call = |id: &str| {
            format!(
                r#"{{"type":"assistant","message":{{"id":"{id}","role":"assistant","model":"m","content":[],"usage":{{"input_tokens":4,"cache_creation_input_tokens":23851,"output_tokens":7}}}}}}"#
            )
        };
        let user = r#"{"type":"user","message":{"role":"user","content":[]}}"#;
        let log = format!("{}\n{user}\n{}\n{{\"type\":\"assi", call("one"), call("two"));
        std::fs::write(dir.path().join("stdout.jsonl"), log).unwrap();
        let billed = TokenUsage { input_tokens: 23_855, output_tokens: 7, cost_microusd: None };
        let turn = AgentEvent::Turn { used_tokens: Some(23_855), billed };
        assert_eq!(turns_logged(&AgentKind::Claude, dir.path(), 1), std::slice::from_ref(&turn));
        assert_eq!(turns_logged(&AgentKind::Claude, dir.path(), 0), [turn.clone(), turn]);
        assert_eq!(turns_logged(&AgentKind::Claude, dir.path(), 2), []);
        assert_eq!(turns_logged(&AgentKind::Codex, dir.path(), 0), []);
        assert_eq!(turns_logged(&AgentKind::Claude, &dir.path().join("none"), 0), []);
    }
}
