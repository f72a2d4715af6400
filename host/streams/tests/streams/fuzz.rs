//! A hundred thousand streams that no agent should print, over all decoders: never a panic, and never more output or memory
//! than the input justifies. The generator is seeded: a case that fails once fails always.

use std::fs;
use std::path::Path;

use baton_core::facts::{AgentEvent, COMMAND_BYTES, SIGNAL_TEXT_BYTES};
use baton_streams::{AcpDecoder, CodexAppServerDecoder, Decoder, StreamDecoder, StreamFormat};
use serde_json::{Value, json};

const CASES: u64 = 100_000;

/// Longer recorded lines are left out: their contents also occur in short ones, and the test stays a matter of seconds.
const SEED_LINE_BYTES: usize = 600;

/// Largest size of an event in addition to the texts of its line: its name and the words of a decoder.
const EVENT_BYTES: usize = 160;

/// A small generator: `proptest` would spend most of the time on its data for shrinking.
struct FuzzRandom(u64);

impl FuzzRandom {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn bytes(&mut self, limit: usize) -> Vec<u8> {
        (0..self.below(limit)).map(|_| self.next() as u8).collect()
    }
}

/// Recorded lines of every format.
fn seeds() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/streams");
    let mut lines = Vec::new();
    for folder in fs::read_dir(root).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        for file in fs::read_dir(folder.path()).unwrap().flatten() {
            let bytes = fs::read(file.path()).unwrap();
            let short = bytes.split(|byte| *byte == b'\n').filter(|line| line.len() <= SEED_LINE_BYTES);
            lines.extend(short.map(<[u8]>::to_vec));
        }
    }
    // The order of a folder is the file system's.
    lines.sort();
    lines.dedup();
    lines
}

/// Puts a value of another type somewhere into a value.
fn spoil(value: &mut Value, random: &mut FuzzRandom) {
    let inside = match value {
        Value::Array(items) if !items.is_empty() => {
            let at = random.below(items.len());
            items.get_mut(at)
        }
        Value::Object(fields) if !fields.is_empty() => {
            let at = random.below(fields.len());
            fields.values_mut().nth(at)
        }
        _ => None,
    };
    match inside {
        Some(inside) if random.below(4) > 0 => spoil(inside, random),
        _ => {
            *value = match random.below(8) {
                0 => Value::Null,
                1 => json!(random.next()),
                2 => json!(-1.5e300),
                3 => json!([[], {}, "x", 1]),
                4 => json!({ "type": "text", "text": "x", "content": [{}] }),
                5 => json!(true),
                6 => json!("\u{1F600}x".repeat(random.below(40))),
                _ => json!(["completed", "failed"]),
            }
        }
    }
}

fn line(seeds: &[Vec<u8>], random: &mut FuzzRandom) -> Vec<u8> {
    let mut seed = seeds[random.below(seeds.len())].clone();
    match random.below(8) {
        0 => random.bytes(120),
        1 => {
            let open = [&b"["[..], b"{\"params\":", b"{\"message\":{\"content\":["][random.below(3)];
            [b"{\"type\":\"assistant\",\"message\":", open.repeat(random.below(300)).as_slice()].concat()
        }
        2 | 3 => {
            for _ in 0..=random.below(4) {
                let at = random.below(seed.len());
                if let Some(byte) = seed.get_mut(at) {
                    *byte = random.next() as u8;
                }
            }
            seed
        }
        4 => {
            seed.truncate(random.below(seed.len()));
            seed
        }
        5 | 6 => match serde_json::from_slice::<Value>(&seed) {
            Ok(mut value) => {
                (0..=random.below(3)).for_each(|_| spoil(&mut value, random));
                value.to_string().into_bytes()
            }
            Err(_) => seed,
        },
        _ => seed,
    }
}

/// The bytes of text in an event.
fn weight(event: &AgentEvent) -> usize {
    let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    match event {
        AgentEvent::Ready { agent_session, model, version } => {
            optional(agent_session) + optional(model) + optional(version)
        }
        AgentEvent::Text { text } => text.len(),
        AgentEvent::CompactionFailed { text } => {
            assert!(text.len() <= SIGNAL_TEXT_BYTES);
            text.len()
        }
        AgentEvent::ToolCall { id, name, reads, writes, command } => {
            assert!(command.as_ref().is_none_or(|command| command.len() <= COMMAND_BYTES));
            id.len() + name.len() + optional(reads) + optional(writes) + optional(command)
        }
        AgentEvent::ToolOutput { id, text, .. } => {
            assert!(text.len() <= SIGNAL_TEXT_BYTES);
            id.len() + text.len()
        }
        AgentEvent::Signal(signal) => {
            assert!(signal.text.len() <= SIGNAL_TEXT_BYTES && signal.code.len() <= 64);
            signal.code.len() + signal.text.len()
        }
        AgentEvent::ApprovalRequested { title } => {
            assert!(title.len() <= SIGNAL_TEXT_BYTES);
            title.len()
        }
        AgentEvent::PromptEnded { stop_reason, .. } => stop_reason.len(),
        AgentEvent::Unknown { kind } => {
            assert!(kind.len() <= 64);
            kind.len()
        }
        _ => 0,
    }
}

#[test]
fn no_stream_makes_a_decoder_panic_or_say_more_than_it_was_told() {
    let (seeds, mut random) = (seeds(), FuzzRandom(20));
    assert!(seeds.len() > 300, "{}", seeds.len());
    for case in 0..CASES {
        let format = StreamFormat::ALL[case as usize % StreamFormat::ALL.len()];
        let mut bytes = Vec::new();
        for _ in 0..=random.below(3) {
            bytes.extend(line(&seeds, &mut random));
            bytes.push(b'\n');
        }
        let (mut stream, mut out) = (StreamDecoder::new(format.decoder()), Vec::new());
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at((1 + random.below(400)).min(rest.len()));
            stream.push(piece, &mut out);
            rest = behind;
        }
        stream.end(&mut out);
        // Every event costs a few bytes of the stream, an item of a list at least; an invalid byte becomes three.
        assert!(
            out.len() <= 8 + bytes.len() / 2,
            "case {case}: {} events of {} bytes",
            out.len(),
            bytes.len()
        );
        let weight: usize = out.iter().map(weight).sum();
        let most = 4 * bytes.len() + EVENT_BYTES * out.len();
        assert!(weight <= most, "case {case}, {format}: {weight} bytes said of {}", bytes.len());
    }
}

#[test]
fn what_a_decoder_remembers_does_not_grow_with_the_stream() {
    /// Ids, names and outputs of the calls and requests that are open at most.
    const KEPT_BYTES: usize = 2 << 20;
    let long = "x".repeat(20_000);
    let (mut acp, mut codex) = (AcpDecoder::new(), CodexAppServerDecoder::new());
    let mut out = Vec::new();
    for n in 0..400 {
        let id = format!("{n}-{long}");
        let call = json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": long, "kind": long,
            "content": [{ "content": { "text": long } }] });
        let asked = json!({ "id": id, "method": "session/request_permission", "params": {} });
        for line in [json!({ "method": "session/update", "params": { "update": call } }), asked] {
            acp.line(line.to_string().as_bytes(), &mut out);
        }
        let item = json!({ "id": id, "type": "fileChange", "changes": [{}, {}, {}] });
        let asked = json!({ "id": id, "method": "applyPatchApproval", "params": { "reason": long } });
        for line in [json!({ "method": "item/started", "params": { "item": item } }), asked] {
            codex.line(line.to_string().as_bytes(), &mut out);
        }
        out.clear();
    }
    let kept = format!("{acp:?}").len().max(format!("{codex:?}").len());
    assert!(kept <= KEPT_BYTES, "{kept} bytes kept");
}
