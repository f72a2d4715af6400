//! The speed of the decoders, compared with `serde_json` reading the same recorded lines into a thin typed struct. Prints both
//! and their ratio, and fails if a decoder has less than half of that speed.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use baton_streams::StreamFormat;
use criterion::{BenchmarkId, Criterion, Throughput};

mod thin_structs;

/// The gate: a decoder has at least this part of the speed of the thin struct.
const LEAST: f64 = 0.5;

/// Rounds of the table. The fastest of each side counts: other load of the machine only makes a round slower.
const ROUNDS: u32 = 200;

/// All recorded lines of one format.
struct RecordedLines {
    format: StreamFormat,
    lines: Vec<Vec<u8>>,
    bytes: u64,
}

fn recorded() -> Vec<RecordedLines> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/streams");
    let mut all: Vec<RecordedLines> = [
        StreamFormat::Claude,
        StreamFormat::CodexExec,
        StreamFormat::CodexAppServer,
        StreamFormat::Acp,
        StreamFormat::Opencode,
        StreamFormat::Gemini,
    ]
    .map(|format| RecordedLines { format, lines: Vec::new(), bytes: 0 })
    .into();
    for folder in fs::read_dir(root).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        let name = folder.file_name().into_string().unwrap();
        for file in fs::read_dir(folder.path()).unwrap().flatten() {
            let file_name = file.file_name().into_string().unwrap();
            if !file_name.ends_with(".jsonl") || file_name.ends_with(".stdin.jsonl") {
                continue;
            }
            let format = match name.split('-').next().unwrap() {
                "acp" => StreamFormat::Acp,
                "codex" if file_name.starts_with("app-server") => StreamFormat::CodexAppServer,
                "codex" => StreamFormat::CodexExec,
                other => other.parse().unwrap(),
            };
            let bytes = fs::read(file.path()).unwrap();
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| thin_structs::read(format, line));
            let of = all.iter_mut().find(|recorded| recorded.format == format).unwrap();
            of.lines.extend(lines.map(<[u8]>::to_vec));
        }
    }
    for recorded in &mut all {
        recorded.bytes = recorded.lines.iter().map(|line| line.len() as u64 + 1).sum();
    }
    all
}

fn ours(recorded: &RecordedLines) {
    let (mut decoder, mut out) = (recorded.format.decoder(), Vec::new());
    for line in &recorded.lines {
        decoder.line(black_box(line), &mut out);
        black_box(&out);
        out.clear();
    }
}

fn serde(recorded: &RecordedLines) {
    for line in &recorded.lines {
        thin_structs::read(recorded.format, black_box(line));
    }
}

/// The fastest round of each side, in turns, so that other load of the machine hits both.
fn fastest(recorded: &RecordedLines) -> [Duration; 2] {
    let time = |run: fn(&RecordedLines)| {
        let start = Instant::now();
        run(recorded);
        start.elapsed()
    };
    (0..ROUNDS).fold([Duration::MAX; 2], |[thin, own], _| [thin.min(time(serde)), own.min(time(ours))])
}

fn main() -> ExitCode {
    let all = recorded();
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    let mut group = criterion.benchmark_group("decode");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for recorded in &all {
        group.throughput(Throughput::Bytes(recorded.bytes));
        group.bench_with_input(BenchmarkId::new("baton", recorded.format), recorded, |b, r| {
            b.iter(|| ours(r))
        });
        group.bench_with_input(BenchmarkId::new("serde", recorded.format), recorded, |b, r| {
            b.iter(|| serde(r))
        });
    }
    group.finish();
    criterion.final_summary();
    // `cargo test --benches` runs each bench once, to see that it runs: nothing can be concluded from that.
    if !std::env::args().any(|arg| arg == "--bench") {
        return ExitCode::SUCCESS;
    }
    println!(
        "\n| format | lines | MiB | serde_json MiB/s | baton MiB/s | ratio |\n|---|---|---|---|---|---|"
    );
    let mut fast_enough = true;
    for recorded in &all {
        let mib = recorded.bytes as f64 / f64::from(1 << 20);
        let [thin, own] = fastest(recorded).map(|time| mib / time.as_secs_f64());
        let (format, lines) = (recorded.format, recorded.lines.len());
        println!("| {format} | {lines} | {mib:.2} | {thin:.0} | {own:.0} | {:.2} |", own / thin);
        fast_enough &= own >= LEAST * thin;
    }
    if !fast_enough {
        eprintln!("a decoder has less than {LEAST} of the speed of serde_json: see the table");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
