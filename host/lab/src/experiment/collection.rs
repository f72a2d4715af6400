//! Outcomes of the runs of an experiment. The journals of every workspace of the state root are searched by the first entry of
//! each run, and the enrolled runs are measured. The measures are cached next to the definition. Since a journal only grows, a
//! run with the same last entry has the same measures. The cache may be lost, broken or deleted at any time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use baton_core::experiment::Assignment;
use baton_core::ids::ExperimentId;
use baton_core::input::PolicyBinding;
use baton_core::{Input, RunId, Seq, UnixMs};
use baton_store::{Journal, JournalEntry, RunSummary, StateDir};
use serde::{Deserialize, Serialize};

use super::definition::ExperimentError;
use super::store::ExperimentStore;
use crate::run_metrics::{RunMetrics, measure};

/// Schema of the cached measures. It is increased when a measure changes its meaning; measures with an older schema are then
/// taken again.
const MEMORY_SCHEMA: u32 = 4;

/// An enrolled run.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRun {
    /// The workspace of its journal.
    pub workspace: PathBuf,
    /// Its id.
    pub run: RunId,
    /// When it began.
    pub started_at: UnixMs,
    /// What it was given.
    pub assignment: Assignment,
    /// Who decided what when it began.
    pub bindings: Vec<PolicyBinding>,
    /// Its measures so far, or why they cannot be read.
    pub measures: Result<RunMetrics, String>,
}

/// Everything that is known of an experiment's runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectedRuns {
    /// Its runs, all versions, in the order in which they began.
    pub records: Vec<ExperimentRun>,
    /// Journals, and runs in them, that cannot be read, so that it is unknown whether they are enrolled.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// What is remembered.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricsCache {
    schema: u32,
    /// By folder of the workspace's state, and run.
    runs: BTreeMap<String, BTreeMap<RunId, CachedRun>>,
}

/// What is remembered of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CachedRun {
    started_at: UnixMs,
    /// Nothing of a run that takes no part: that never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    takes_part: Option<CachedParticipation>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CachedParticipation {
    assignment: Assignment,
    #[serde(rename = "pins")]
    bindings: Vec<PolicyBinding>,
    last_seq: Seq,
    measures: RunMetrics,
}

/// Looks through the journals below a state root.
pub fn collect(
    state_root: &Path,
    experiments: &ExperimentStore,
    name: &ExperimentId,
) -> Result<CollectedRuns, ExperimentError> {
    let mut memory = experiments
        .read_cache(name)
        .and_then(|bytes| serde_json::from_slice::<MetricsCache>(&bytes).ok())
        .filter(|memory| memory.schema == MEMORY_SCHEMA)
        .unwrap_or_default();
    let mut now = MetricsCache { schema: MEMORY_SCHEMA, runs: BTreeMap::new() };
    let (mut found, mut has_changed) = (CollectedRuns::default(), false);
    let states = StateDir::find_all(state_root)?;
    found.unreadable.extend(states.unreadable.into_iter().map(|(folder, error)| (folder, error.to_string())));
    for state in states.states {
        let key = state.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut known = memory.runs.remove(&key).unwrap_or_default();
        let opened = Journal::open_read_only(&state).and_then(|journal| Ok((journal.runs()?, journal)));
        let (runs, journal) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                found.unreadable.push((state.workspace().to_owned(), error.to_string()));
                continue;
            }
        };
        let kept = now.runs.entry(key).or_default();
        for run in runs {
            let remembered = known.remove(&run.run).filter(|known| known.started_at == run.started_at);
            let looked = scan_run(&journal, &run, name, remembered);
            has_changed |= looked.is_new;
            found.unreadable.extend(looked.unreadable.map(|why| (state.workspace().to_owned(), why)));
            if let Some(remembered) = looked.remember {
                kept.insert(run.run.clone(), remembered);
            }
            if let Some((assignment, bindings, measures)) = looked.takes_part {
                let (workspace, started_at) = (state.workspace().to_owned(), run.started_at);
                found.records.push(ExperimentRun {
                    workspace,
                    run: run.run,
                    started_at,
                    assignment,
                    bindings,
                    measures,
                });
            }
        }
    }
    found
        .records
        .sort_by(|a, b| (a.started_at, &a.workspace, &a.run).cmp(&(b.started_at, &b.workspace, &b.run)));
    if has_changed && let Ok(bytes) = serde_json::to_vec(&now) {
        // Only the next look takes longer without it.
        let _ = experiments.write_cache(name, &bytes);
    }
    Ok(found)
}

/// What was found of one run.
#[derive(Default)]
struct RunScan {
    takes_part: Option<(Assignment, Vec<PolicyBinding>, Result<RunMetrics, String>)>,
    remember: Option<CachedRun>,
    is_new: bool,
    unreadable: Option<String>,
}

fn scan_run(journal: &Journal, run: &RunSummary, name: &ExperimentId, known: Option<CachedRun>) -> RunScan {
    let started_at = run.started_at;
    let (assignment, bindings) = match known {
        Some(CachedRun { takes_part: None, .. }) => return RunScan { remember: known, ..RunScan::default() },
        Some(CachedRun { takes_part: Some(part), started_at }) => {
            if part.last_seq == run.last_seq {
                let takes_part =
                    Some((part.assignment.clone(), part.bindings.clone(), Ok(part.measures.clone())));
                let remember = Some(CachedRun { started_at, takes_part: Some(part) });
                return RunScan { takes_part, remember, ..RunScan::default() };
            }
            (part.assignment, part.bindings)
        }
        None => match began(journal, &run.run, name) {
            Ok(Some(began)) => began,
            Ok(None) => {
                let remember = Some(CachedRun { started_at, takes_part: None });
                return RunScan { remember, is_new: true, ..RunScan::default() };
            }
            Err(error) => {
                return RunScan {
                    unreadable: Some(format!("run {}: {error}", run.run)),
                    ..RunScan::default()
                };
            }
        },
    };
    let measures = measure(journal, &run.run).map_err(|error| error.to_string());
    let remember = measures.as_ref().ok().map(|measures| CachedRun {
        started_at,
        takes_part: Some(CachedParticipation {
            assignment: assignment.clone(),
            bindings: bindings.clone(),
            last_seq: run.last_seq,
            measures: measures.clone(),
        }),
    });
    RunScan { takes_part: Some((assignment, bindings, measures)), remember, is_new: true, unreadable: None }
}

/// What the first entry of a run says of an experiment.
fn began(
    journal: &Journal,
    run: &RunId,
    name: &ExperimentId,
) -> Result<Option<(Assignment, Vec<PolicyBinding>)>, baton_store::StoreError> {
    let Some(JournalEntry::Input(stamped)) = journal.first(run)? else { return Ok(None) };
    let Input::Started { assignments, bindings, .. } = stamped.input else { return Ok(None) };
    let of = assignments.into_iter().find(|assignment| assignment.experiment == *name);
    Ok(of.map(|assignment| (assignment, bindings)))
}
