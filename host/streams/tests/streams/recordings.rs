//! Recorded streams of real agents, decoded: one snapshot a scenario, one line an event.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use baton_core::facts::{AgentEvent, SIGNAL_TEXT_BYTES, SignalSource};
use baton_streams::{AcpDecoder, CodexAppServerDecoder, Decoder, StreamDecoder, StreamFormat};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/streams")
}

/// The format of a recording, by its folder and name.
fn format(recording: &Path) -> StreamFormat {
    let part = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let (folder, name) = (part(recording.parent().unwrap()), part(recording));
    match folder.split('-').next().unwrap() {
        "acp" => StreamFormat::Acp,
        "claude" => StreamFormat::Claude,
        "codex" if name.starts_with("app-server") => StreamFormat::CodexAppServer,
        "codex" => StreamFormat::CodexExec,
        other => other.parse().unwrap(),
    }
}

/// Decodes a stream in pieces of a size that cuts lines and characters.
fn all(decoder: impl Decoder, bytes: &[u8], mut out: Vec<AgentEvent>) -> Vec<AgentEvent> {
    let mut stream = StreamDecoder::new(decoder);
    bytes.chunks(777).for_each(|chunk| stream.push(chunk, &mut out));
    stream.end(&mut out);
    out
}

/// Decodes a recording, stdout alone.
fn decode_stdout(recording: &Path) -> Vec<AgentEvent> {
    all(format(recording).decoder(), &fs::read(recording).unwrap(), Vec::new())
}

/// Decodes a recording with the host's messages, if they were recorded: they distinguish requests. Their exact time does not
/// matter.
fn decode(recording: &Path) -> Vec<AgentEvent> {
    let Ok(sent) = fs::read(recording.with_extension("stdin.jsonl")) else { return decode_stdout(recording) };
    let (sent, bytes) = (sent.split(|byte| *byte == b'\n'), fs::read(recording).unwrap());
    let mut out = Vec::new();
    if format(recording) == StreamFormat::Acp {
        let mut decoder = AcpDecoder::new();
        sent.for_each(|line| decoder.sent(line, &mut out));
        all(decoder, &bytes, out)
    } else {
        let mut decoder = CodexAppServerDecoder::new();
        sent.for_each(|line| decoder.sent(line, &mut out));
        all(decoder, &bytes, out)
    }
}

/// Every recorded stdout.
fn recordings() -> Vec<PathBuf> {
    let folders =
        fs::read_dir(fixtures()).unwrap().flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()));
    let is_stdout = |path: &PathBuf| {
        let name = path.to_str().unwrap();
        name.ends_with(".jsonl") && !name.ends_with(".stdin.jsonl")
    };
    files.filter(is_stdout).collect()
}

/// One line an event, long texts shortened; pieces of text in a row are one.
fn summary(events: &[AgentEvent]) -> String {
    let mut lines = String::new();
    for event in events {
        let json = serde_json::to_value(event).unwrap();
        // By name: whether serde_json keeps the order of fields depends on the other crates of the build.
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
// B4: limits are distinguished from exhaustion by their code and status.
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
    acp_claude_0_100_mcp => "acp-claude-0.100/mcp";
    acp_claude_0_100_mcp_full_access => "acp-claude-0.100/mcp-full-access";
    acp_claude_0_100_success => "acp-claude-0.100/success";
    acp_claude_0_49_success => "acp-claude-0.49/success";
    acp_claude_zed_0_23_success => "acp-claude-zed-0.23/success";
    acp_codex_2_6_mcp => "acp-codex-2.6/mcp";
    acp_codex_2_6_mcp_full_access => "acp-codex-2.6/mcp-full-access";
    acp_codex_2_6_success => "acp-codex-2.6/success";
    acp_codex_zed_0_16_success => "acp-codex-zed-0.16/success";
    acp_gemini_mcp => "acp-gemini/mcp";
    acp_opencode_mcp => "acp-opencode/mcp";
    claude_2_1_197_max_turns => "claude-2.1.197/max-turns";
    claude_2_1_197_mcp => "claude-2.1.197/mcp";
    claude_2_1_197_success => "claude-2.1.197/success";
    claude_auto_compact_window => "claude/auto-compact-window";
    claude_bare => "claude/bare";
    claude_context_command => "claude/context-command";
    claude_context_usage_window_100k => "claude/context-usage-window-100k";
    claude_mcp => "claude/mcp";
    claude_mcp_direct => "claude/mcp-direct";
    claude_mcp_no_toolsearch => "claude/mcp-no-toolsearch";
    claude_mcp_sdk_inproc => "claude/mcp-sdk-inproc";
    claude_partial => "claude/partial";
    claude_quota_unified_warning => "claude/quota-unified-warning";
    claude_resume => "claude/resume";
    claude_sigterm => "claude/sigterm";
    codex_app_server => "codex/app-server";
    codex_app_server_429_retry => "codex/app-server-429-retry";
    codex_app_server_context_exhausted => "codex/app-server-context-exhausted";
    codex_app_server_mcp_bad_command => "codex/app-server-mcp-bad-command";
    codex_app_server_ratelimit_headers => "codex/app-server-ratelimit-headers";
    codex_auto_compact => "codex/auto-compact";
    codex_context_exhausted_failed_event => "codex/context-exhausted-failed-event";
    codex_context_exhausted_mid => "codex/context-exhausted-mid";
    codex_max_loop => "codex/max-loop";
    codex_mcp => "codex/mcp";
    codex_mcp_bad_command => "codex/mcp-bad-command";
    codex_quota_usage_limit => "codex/quota-usage-limit";
    codex_rate_limit_429_forever => "codex/rate-limit-429-forever";
    codex_rate_limit_429_forever_retry_after => "codex/rate-limit-429-forever-retry-after";
    codex_rate_limit_429_recover => "codex/rate-limit-429-recover";
    codex_rate_limit_stream_failed_event => "codex/rate-limit-stream-failed-event";
    codex_ratelimit_headers => "codex/ratelimit-headers";
    codex_success => "codex/success";
    gemini_context_usage_near_window => "gemini/context-usage-near-window";
    gemini_max_turns => "gemini/max-turns";
    gemini_mcp => "gemini/mcp";
    gemini_success => "gemini/success";
    opencode_auto_compact => "opencode/auto-compact";
    opencode_context_exhausted => "opencode/context-exhausted";
    opencode_max_steps => "opencode/max-steps";
    opencode_mcp => "opencode/mcp";
    opencode_rate_limit_429_forever => "opencode/rate-limit-429-forever";
    opencode_success => "opencode/success";
    opencode_success_anthropic => "opencode/success-anthropic";
    opencode_success_warm_home => "opencode/success-warm-home";
    codex_app_server_has_no_allowance_left => "codex/app-server-usage-limit";
    codex_app_server_compacts_by_itself => "codex/app-server-auto-compact";
    codex_app_server_compacts_before_its_first_prompt => "codex/app-server-compact-first";
    codex_app_server_cannot_compact_any_more => "codex/app-server-compact-fails";
    codex_is_exhausted_by_a_status => "codex/context-exhausted-http400";
    codex_finds_its_provider_overloaded => "codex/overloaded-503";
    codex_has_no_quota => "codex/quota-insufficient";
    claude_reaches_its_budget => "claude/budget";
    claude_finds_its_provider_overloaded => "claude/overloaded-529";
    acp_codex_is_exhausted => "acp-codex-2.6/context-exhausted";
    acp_codex_gives_up_on_a_rate_limit => "acp-codex-2.6/quota-429";
    acp_codex_has_no_allowance_left => "acp-codex-2.6/usage-limit";
    gemini_is_exhausted => "gemini/context-exhausted";
    gemini_recovers_from_a_rate_limit => "gemini/rate-limit-429-recover";
    gemini_has_no_quota_for_today => "gemini/quota-day";
    acp_gemini_is_exhausted => "acp-gemini/context-exhausted";
    acp_gemini_has_no_quota_for_today => "acp-gemini/quota-day";
    acp_opencode_compacts_when_asked => "acp-opencode/compact";
    acp_opencode_has_to_pay => "acp-opencode/payment-required";
    opencode_recovers_from_a_rate_limit => "opencode/rate-limit-429-recover";
    opencode_has_a_wrong_key => "opencode/wrong-key";
}

#[test]
fn every_recording_is_understood_and_within_bounds() {
    let recordings = recordings();
    for file in &recordings {
        let name = file.display();
        let events = decode(file);
        if fs::metadata(file).unwrap().len() == 0 {
            assert!(events.is_empty(), "{name}: nothing was printed");
            continue;
        }
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
    assert!(recordings.len() > 90, "{}", recordings.len());
}

#[test]
fn stdout_alone_ends_every_labelled_prompt_as_it_ended() {
    // A4, B4: the facts by which a recording is judged later.
    let read = |name| fs::read(fixtures().join(name)).unwrap();
    let parse = |name| serde_json::from_slice::<BTreeMap<String, serde_json::Value>>(&read(name)).unwrap();
    let mut labels = parse("labels.json");
    labels.extend(parse("labels-more.json"));
    for (name, label) in &labels {
        let events = decode_stdout(&fixtures().join(format!("{name}.jsonl")));
        let ended = events.iter().rev().find_map(|event| match event {
            AgentEvent::PromptEnded { stop_reason, is_error } => Some((stop_reason.as_str(), *is_error)),
            _ => None,
        });
        let told = events.iter().any(|event| match event {
            AgentEvent::Signal(signal) => !signal.retrying && signal.channel <= SignalSource::ProviderError,
            _ => false,
        });
        match label["label"].as_str().unwrap() {
            "completed" => assert_eq!(ended.map(|(_, is_error)| is_error), Some(false), "{name}"),
            "exhausted" | "quota" => assert!(told, "{name}: {events:?}"),
            "turn-limit" | "budget-limit" => assert!(ended.is_some_and(|(_, is_error)| is_error), "{name}"),
            // What ended these is reported by the process, or not at all.
            "interrupted" | "failed" | "unauthenticated" => {}
            other => panic!("{name}: what is {other}?"),
        }
    }
    assert!(labels.len() > 70, "{}", labels.len());
}
