//! Experiments for people and programs: their definitions and numbers of runs. A comparison has their results.

use std::collections::BTreeMap;

use baton_lab::experiment::{ExperimentDefinition, ExperimentVersion, VersionState};
use baton_runtime::core::ids::ArmName;
use serde_json::{Value, json};

use super::candidate_trial::{bare, drawn};
use super::terminal_style::{self, TerminalStyle, Tone};
use super::{json_record, text_format};
use crate::args::OutputFormat;
use crate::experiment_assignment::{arm_shares, percent};
use crate::stdio;

/// Version of these records.
const SCHEMA: u32 = 1;

/// Runs by version and arm.
pub(crate) type ArmRunCounts = BTreeMap<(u32, ArmName), u64>;

/// A list of them, each with its runs and with the experiments that take precedence.
pub(crate) fn list(
    rows: &[(ExperimentDefinition, ArmRunCounts, Vec<String>)],
    format: OutputFormat,
) -> anyhow::Result<()> {
    let record = |(definition, counts, overlaps): &(ExperimentDefinition, ArmRunCounts, Vec<String>)| {
        let mut record = document(definition, counts);
        record["gives_way"] = json!(overlaps);
        record
    };
    match format {
        OutputFormat::Text if rows.is_empty() => Ok(()),
        OutputFormat::Text => stdio::data(&listed(&terminal_style::stdout(), rows)),
        OutputFormat::Json => {
            let all: Vec<Value> = rows.iter().map(record).collect();
            stdio::data(&json_record::pretty(
                &json!({ "schema": SCHEMA, "record": "experiments", "experiments": all }),
            )?)
        }
        OutputFormat::Jsonl => rows.iter().try_for_each(|row| stdio::data(&json_record::line(&record(row))?)),
    }
}

/// One, whole.
pub(crate) fn show(
    definition: &ExperimentDefinition,
    counts: &ArmRunCounts,
    format: OutputFormat,
) -> anyhow::Result<()> {
    match format {
        OutputFormat::Text => stdio::data(&text(&terminal_style::stdout(), definition, counts)),
        OutputFormat::Json => stdio::data(&json_record::pretty(&document(definition, counts))?),
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document(definition, counts))?),
    }
}

fn document(definition: &ExperimentDefinition, counts: &ArmRunCounts) -> Value {
    let runs: Vec<Value> = counts
        .iter()
        .map(|((version, arm), runs)| json!({ "version": version, "arm": arm, "runs": runs }))
        .collect();
    json!({ "schema": SCHEMA, "record": "experiment", "definition": definition, "runs": runs })
}

fn listed(look: &TerminalStyle, rows: &[(ExperimentDefinition, ArmRunCounts, Vec<String>)]) -> String {
    let mut table = bare(look);
    table.set_header(["EXPERIMENT", "STATE", "VERSION", "ARMS", "RUNS"]);
    for (definition, counts, _) in rows {
        let Some(version) = definition.current() else { continue };
        let of_version = counts.iter().filter(|((number, _), _)| *number == version.version);
        let runs: u64 = of_version.map(|(_, runs)| runs).sum();
        let (name, number) = (definition.name.to_string(), version.version.to_string());
        table.add_row([name, state(version).0.to_owned(), number, arm_shares(version), runs.to_string()]);
    }
    let mut text = drawn(&mut table) + "\n";
    for overlap in rows.iter().flat_map(|(_, _, overlaps)| overlaps) {
        text.push_str(&look.wrap(overlap, 0));
        text.push('\n');
    }
    text
}

fn text(look: &TerminalStyle, definition: &ExperimentDefinition, counts: &ArmRunCounts) -> String {
    let mut text = String::new();
    for version in &definition.versions {
        let (word, tone) = state(version);
        let name = look.paint(Tone::Strong, definition.name.as_str());
        let began = look.day_and_time(version.started_at);
        text.push_str(&format!(
            "{name}  version {}  {}  since {began}\n",
            version.version,
            look.paint(tone, word)
        ));
        if let VersionState::Stopped { why, .. } | VersionState::Tripped { why, .. } = &version.state {
            text.push_str(&format!("ended      {}\n", look.wrap(why, 11)));
        }
        text.push_str(&format!(
            "decides    {}\n",
            text_format::list(&version.decides.iter().collect::<Vec<_>>())
        ));
        text.push_str(&format!("unit       {}{}\n", definition.unit.name(), about(version)));
        for arm in &version.arms {
            let settings: Vec<String> = arm
                .settings
                .iter()
                .map(|(key, value)| format!("{key}={}", text_format::given(value)))
                .collect();
            let runs = counts.get(&(version.version, arm.name.clone())).copied().unwrap_or_default();
            let mut line = format!(
                "arm        {:10}  {:>6}  {}@{}",
                arm.name.as_str(),
                percent(arm.weight),
                arm.policy,
                arm.component.short()
            );
            let granted =
                (!arm.grants.is_empty()).then(|| format!("granted {}", text_format::grants(&arm.grants)));
            for part in settings.into_iter().chain(granted).chain((!counts.is_empty()).then(|| runs_of(runs)))
            {
                line.push_str("  ");
                line.push_str(&part);
            }
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

fn about(version: &ExperimentVersion) -> String {
    let mut about = String::new();
    if version.coverage < 1.0 {
        about.push_str(&format!(", {} of them", percent(version.coverage)));
    }
    if let Some(workflow) = &version.only.workflow {
        about.push_str(&format!(", of workflow {workflow}"));
    }
    if let Some(workspace) = &version.only.workspace {
        about.push_str(&format!(", in {}", workspace.display()));
    }
    about
}

fn state(version: &ExperimentVersion) -> (&'static str, Tone) {
    match version.state {
        VersionState::Running => ("running", Tone::Good),
        VersionState::Stopped { .. } => ("stopped", Tone::Dim),
        VersionState::Tripped { .. } => ("stopped by a guardrail", Tone::Warn),
    }
}

fn runs_of(runs: u64) -> String {
    text_format::count(u32::try_from(runs).unwrap_or(u32::MAX), "run")
}
