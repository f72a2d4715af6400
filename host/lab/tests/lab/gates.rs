//! The gates of "why did my agent stop?": recorded streams of real agents and collected error texts, judged by the
//! embedded policy through the decoders and the fold of a live run. What a policy gets to see is core's to test.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use baton_core::decision::{QuotaCause, Verdict};
use baton_core::facts::{ProcessExit, SignalSource};
use baton_core::time::UnixMs;
use baton_engine::{Engine, EngineConfig, Router};
use baton_lab::{Classification, RecordingTime, StreamFormat, classify, classify_remark};
use serde::Deserialize;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

fn router() -> &'static Router {
    static ROUTER: OnceLock<Router> = OnceLock::new();
    ROUTER.get_or_init(|| {
        let engine = Engine::new(EngineConfig::default()).expect("an engine");
        Router::new(&engine, BTreeMap::new()).expect("the built-in policy")
    })
}

fn moment() -> RecordingTime {
    RecordingTime { at: UnixMs(1_780_315_200_000), utc_offset_minutes: 0 }
}

#[derive(Deserialize)]
struct RecordingLabel {
    exit: i32,
    label: String,
}

/// By the folder of a recording: an agent with its version.
fn format(recording: &str) -> StreamFormat {
    let (agent, scenario) = recording.split_once('/').expect("agent/scenario");
    match agent {
        agent if agent.starts_with("acp-") => StreamFormat::Acp,
        agent if agent.starts_with("claude") => StreamFormat::Claude,
        "codex" if scenario.starts_with("app-server") => StreamFormat::CodexAppServer,
        "codex" => StreamFormat::CodexExec,
        "opencode" => StreamFormat::Opencode,
        "gemini" => StreamFormat::Gemini,
        other => panic!("{other} is no agent"),
    }
}

fn judge_recording(name: &str, exit: i32) -> Classification {
    let path = |end: &str| fixtures().join("streams").join(format!("{name}.{end}"));
    let mut stdout = File::open(path("jsonl")).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut stderr = File::open(path("stderr.txt")).ok();
    let (code, signal) = if exit < 0 { (None, Some(-exit)) } else { (Some(exit), None) };
    classify(
        router(),
        format(name),
        moment(),
        &mut stdout,
        stderr.as_mut().map(|stderr| stderr as &mut dyn Read),
        Some(ProcessExit { code, signal, by_host: false }),
    )
    .unwrap()
}

// A4, B4
#[test]
fn every_labelled_stream_gets_its_verdict() {
    let mut labels: BTreeMap<String, RecordingLabel> = BTreeMap::new();
    for file in ["labels.json", "labels-more.json"] {
        let text = fs::read_to_string(fixtures().join("streams").join(file)).unwrap();
        labels.extend(serde_json::from_str::<BTreeMap<String, RecordingLabel>>(&text).unwrap());
    }
    assert!(labels.len() >= 80, "{}", labels.len());
    let mut wrong = Vec::new();
    for (name, RecordingLabel { exit, label }) in &labels {
        let found = judge_recording(name, *exit).assessment;
        // Labels tell of the work, a verdict of the prompt.
        let wanted = if label == "completed" { "answered" } else { label };
        if found.verdict.name() != wanted {
            wrong.push(format!("{name}: {label}, not {} ({})", found.verdict.name(), found.reason));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), labels.len(), wrong.join("\n"));
}

#[derive(Deserialize)]
struct WordingSample {
    kind: String,
    channel: String,
    text: String,
}

/// The names of the collection, as `data/README` of the corpus maps them.
fn channel(name: &str) -> SignalSource {
    match name {
        "agent_event" => SignalSource::AgentEvent,
        "api_error" => SignalSource::ProviderError,
        "agent_text" => SignalSource::AgentText,
        "log" => SignalSource::Terminal,
        "tool_output" => SignalSource::ToolOutput,
        other => panic!("{other} is no channel"),
    }
}

fn rows(file: &str) -> Vec<WordingSample> {
    let rows = fs::read_to_string(fixtures().join("policies").join(file)).unwrap();
    rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

fn verdict(row: &WordingSample, channel: SignalSource) -> Verdict {
    classify_remark(router(), moment(), channel, &row.text).unwrap().assessment.verdict
}

fn fits(kind: &str, verdict: &Verdict, text: &str) -> bool {
    match (kind, verdict) {
        ("exhausted", Verdict::Exhausted) | ("quota", Verdict::Quota { .. }) => true,
        ("rate_limit", Verdict::Quota { cause, .. }) => *cause != QuotaCause::Billing,
        ("truncated", Verdict::Truncated) => true,
        ("truncated", Verdict::TurnLimit) => text.contains("turn") || text.contains("step"),
        ("healthy_false_positive", Verdict::Healthy | Verdict::Answered) => true,
        _ => false,
    }
}

/// How many rows of each kind get their verdict, and which do not.
fn score(rows: &[WordingSample]) -> (BTreeMap<&str, (u32, u32)>, Vec<String>) {
    let mut kinds = BTreeMap::new();
    let mut wrong = Vec::new();
    for row in rows {
        let found = verdict(row, channel(&row.channel));
        let (right, all): &mut (u32, u32) = kinds.entry(row.kind.as_str()).or_default();
        *all += 1;
        if fits(&row.kind, &found, &row.text) {
            *right += 1;
        } else {
            wrong.push(format!("{} on {} is {}: {}", row.kind, row.channel, found.name(), row.text));
        }
    }
    (kinds, wrong)
}

// A4, B4
#[test]
fn the_corpus_of_real_texts_gets_its_verdicts() {
    let rows = rows("exhaustion-corpus.jsonl");
    let (kinds, wrong) = score(&rows);
    let (right, all) = kinds["exhausted"];
    assert!(f64::from(right) >= 0.95 * f64::from(all), "exhausted: {right} of {all}\n{}", wrong.join("\n"));
    let healthy = kinds["healthy_false_positive"];
    assert_eq!(healthy.0, healthy.1, "false alarms\n{}", wrong.join("\n"));
    for row in rows.iter().filter(|row| matches!(row.kind.as_str(), "quota" | "rate_limit")) {
        assert_ne!(verdict(row, channel(&row.channel)), Verdict::Exhausted, "{}", row.text);
    }
    println!("{kinds:?}\n{}", wrong.join("\n"));
}

// B4: the same words, printed by a tool, are evidence of nothing.
#[test]
fn what_a_tool_printed_is_never_evidence() {
    for file in ["exhaustion-corpus.jsonl", "wordings.jsonl"] {
        for row in rows(file) {
            let found = verdict(&row, SignalSource::ToolOutput);
            assert!(matches!(found, Verdict::Healthy | Verdict::Answered), "{}: {}", found.name(), row.text);
        }
    }
}

/// The dearest texts for a policy that looks for phrases: beginnings of them without end.
#[test]
fn no_text_costs_more_fuel_than_there_is() {
    for piece in [
        "prompt. exceed. ",
        "context ",
        "limit 4",
        "too many tokens ",
        "\"error\": {\"code\": ",
        "resets 3",
        "\u{e9}",
    ] {
        let noise = piece.repeat(16 * 1024 / piece.len());
        let lines: String =
            noise.as_bytes().chunks(1024).map(|line| String::from_utf8_lossy(line) + "\n").collect();
        let exit = ProcessExit { code: Some(1), signal: None, by_host: false };
        let mut stderr = lines.as_bytes();
        let stderr = Some(&mut stderr as &mut dyn Read);
        let found =
            classify(router(), StreamFormat::Acp, moment(), &mut &b""[..], stderr, Some(exit)).unwrap();
        assert_eq!(found.label.faults, [], "{piece}");
        println!("{piece:?}: {} fuel", found.label.fuel);
    }
}
