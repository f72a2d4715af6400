//! Prints the README's table from what `cargo bench -p baton-engine` left in `target/criterion`. Measures nothing.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;

/// What is measured, in words, and against what it is compared: group, bench, label, group and bench of the base.
const ROWS: [(&str, &str, &str, &str, &str); 12] = [
    ("assess", "bare-wasmtime", "Is it exhausted? 4 KiB tail: wasmtime alone", "assess", "bare-wasmtime"),
    ("assess", "decision", "… a decision of Baton, limits and labels on", "assess", "bare-wasmtime"),
    ("assess", "native", "… a native scan, no sandbox", "assess", "bare-wasmtime"),
    ("assess", "hook-process", "… a hook process (`sh -c grep`)", "assess", "bare-wasmtime"),
    (
        "brief",
        "bare-wasmtime",
        "What does the next one get? 20 objectives, 10 files: wasmtime alone",
        "brief",
        "bare-wasmtime",
    ),
    ("brief", "decision", "… a decision of Baton, limits and labels on", "brief", "bare-wasmtime"),
    ("brief", "native", "… a native walk, no sandbox", "brief", "bare-wasmtime"),
    ("brief", "hook-process", "… a hook process (`sh -c grep`)", "brief", "bare-wasmtime"),
    ("chain", "links", "Three layers and the default policy, each by itself", "chain", "links"),
    ("chain", "chain", "… as a chain, each over the next", "chain", "links"),
    ("load", "compiled-before", "Loading the default policy, compiled before", "load", "compiled-before"),
    ("load", "compiling", "… compiling it", "load", "compiled-before"),
];

fn main() -> ExitCode {
    match table(&criterion_folder()) {
        Ok(table) => {
            print!("{table}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn criterion_folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")).join("criterion")
}

fn table(folder: &Path) -> Result<String, String> {
    let mut table = String::from("| one call, median | µs | × |\n|---|---:|---:|\n");
    for (group, bench, label, base_group, base) in ROWS {
        let (time, base) = (median_ns(folder, group, bench)?, median_ns(folder, base_group, base)?);
        table += &format!("| {label} | {} | {} |\n", number(time / 1000.0), number(time / base));
    }
    Ok(table)
}

/// The median of a bench's last run.
fn median_ns(folder: &Path, group: &str, bench: &str) -> Result<f64, String> {
    let path = folder.join(group).join(bench).join("new/estimates.json");
    let advice = "run `cargo bench -p baton-engine` first";
    let json =
        std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}; {advice}", path.display()))?;
    let estimates: Value = serde_json::from_slice(&json)
        .map_err(|error| format!("{} is no estimate: {error}; {advice}", path.display()))?;
    let median = estimates["median"]["point_estimate"].as_f64();
    median.ok_or_else(|| format!("{} has no median; {advice}", path.display()))
}

/// Three digits are all that a noisy machine can tell.
fn number(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
