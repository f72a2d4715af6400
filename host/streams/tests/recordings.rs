//! Recorded streams of real agents, decoded: one snapshot a scenario, one line an event.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use baton_core::facts::{AgentEvent, SIGNAL_TEXT_BYTES};
use baton_streams::{AcpDecoder, ClaudeDecoder, Decoder, Stream};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/streams")
}

/// Decodes a recording in pieces of a size that cuts lines and characters.
fn decode(recording: &Path) -> Vec<AgentEvent> {
    fn all(mut stream: Stream<impl Decoder>, bytes: &[u8], mut out: Vec<AgentEvent>) -> Vec<AgentEvent> {
        bytes.chunks(777).for_each(|chunk| stream.push(chunk, &mut out));
        stream.end(&mut out);
        out
    }
    let bytes = fs::read(recording).unwrap();
    if recording.parent().unwrap().file_name().unwrap().to_str().unwrap().starts_with("acp") {
        // What the host sent tells requests apart; when exactly it was sent does not matter.
        let (mut decoder, mut out) = (AcpDecoder::new(), Vec::new());
        let sent = fs::read(recording.with_extension("stdin.jsonl")).unwrap();
        sent.split(|byte| *byte == b'\n').for_each(|line| decoder.sent(line, &mut out));
        all(Stream::new(decoder), &bytes, out)
    } else {
        all(Stream::new(ClaudeDecoder::new()), &bytes, Vec::new())
    }
}

/// One line an event, long texts shortened; pieces of text in a row are one.
fn summary(events: &[AgentEvent]) -> String {
    let mut lines = String::new();
    for event in events {
        let json = serde_json::to_value(event).unwrap();
        // By name: whether serde_json keeps the order of fields depends on what else is built with it.
        let mut fields: BTreeMap<_, _> = json.as_object().unwrap().iter().collect();
        let name = fields.remove(&"event".to_owned()).unwrap();
        write!(lines, "{}", name.as_str().unwrap()).unwrap();
        for (field, value) in fields {
            match value {
                serde_json::Value::Null => {}
                serde_json::Value::String(text) => {
                    let one_line = text.replace('\n', "⏎");
                    let dots = if one_line.chars().count() > 90 { "…" } else { "" };
                    write!(lines, " {field}={}{dots}", one_line.chars().take(90).collect::<String>())
                        .unwrap();
                }
                other => write!(lines, " {field}={}", in_order(other)).unwrap(),
            }
        }
        lines.push('\n');
    }
    lines
}

/// JSON with the fields of an object by name.
fn in_order(value: &serde_json::Value) -> String {
    match value.as_object() {
        Some(fields) => serde_json::to_string(&fields.iter().collect::<BTreeMap<_, _>>()).unwrap(),
        None => value.to_string(),
    }
}

fn snapshot(name: &str) {
    let events = decode(&fixtures().join(format!("{name}.jsonl")));
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name.replace('/', "-"), summary(&events));
    });
}

macro_rules! snapshots {
    ($($test:ident => $name:literal;)*) => {$(
        #[test]
        fn $test() {
            snapshot($name);
        }
    )*};
}

// A4: the evidence of each ending is in the stream, with its channel.
// B4: limits are told apart from exhaustion by their code and status.
snapshots! {
    claude_success => "claude/success";
    claude_stops_at_its_turn_limit => "claude/max-turns";
    claude_compacts_when_asked => "claude/compact-command";
    an_older_claude_compacts_when_asked => "claude-2.1.197/compact-command";
    claude_is_exhausted_at_once => "claude/context-exhausted-first";
    claude_is_exhausted_in_the_middle => "claude/context-exhausted-mid";
    claude_compacts_by_itself_until_it_gives_up => "claude/auto-compact-hard-limit";
    claude_is_interrupted => "claude/interrupt";
    claude_recovers_from_a_rate_limit => "claude/rate-limit-429-recover";
    claude_gives_up_on_a_rate_limit => "claude/rate-limit-429-forever";
    claude_warns_of_a_quota => "claude/oauth-quota-warning";
    claude_has_no_credit => "claude/credit-low";
    acp_claude_compacts_when_asked => "acp-claude-0.100/compact";
    acp_claude_is_exhausted => "acp-claude-0.100/context-exhausted";
    acp_claude_gives_up_on_a_rate_limit => "acp-claude-0.100/quota-429";
    acp_codex_compacts_when_asked => "acp-codex-2.6/compact";
    acp_codex_recovers_from_a_rate_limit => "acp-codex-2.6/rate-limit-429-recover";
    acp_opencode_success => "acp-opencode/success";
    acp_gemini_success => "acp-gemini/success";
}

#[test]
fn every_recording_is_understood_and_within_bounds() {
    let mut recordings = 0;
    for folder in fs::read_dir(fixtures()).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        for file in fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path()) {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            if name.ends_with(".stdin.jsonl") {
                continue;
            }
            recordings += 1;
            let events = decode(&file);
            assert!(!events.is_empty(), "{name}: nothing was decoded");
            for event in &events {
                match event {
                    AgentEvent::Unknown { kind } => panic!("{name}: {kind} is not known"),
                    AgentEvent::Signal(signal) => assert!(signal.text.len() <= SIGNAL_TEXT_BYTES, "{name}"),
                    AgentEvent::ToolOutput { text, .. } => assert!(text.len() <= SIGNAL_TEXT_BYTES, "{name}"),
                    _ => {}
                }
            }
            let ready = events.iter().filter(|event| matches!(event, AgentEvent::Ready { .. })).count();
            assert_eq!(ready, 1, "{name}: one session is ready once");
        }
    }
    assert!(recordings > 20);
}
