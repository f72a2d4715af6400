//! Which recorded runs a command line means: ids, patterns of ids, and folders. Reads lists of runs, and none of the runs.

use std::path::Path;

use anyhow::Context as _;
use baton_lab::replay::RecordedRun;
use baton_runtime::core::RunId;
use baton_runtime::store::{ArtifactStore, FoundStates, Journal, StateDir};
use baton_runtime::{RuntimeError, journal_of};

use crate::args::LocationArgs;
use crate::exit_status::UsageError;
use crate::location::RunLocation;

/// The runs in the order in which they are named, each once; in a folder the oldest comes first.
pub(super) fn find(named: &[String], all: bool, location: &LocationArgs) -> anyhow::Result<Vec<RecordedRun>> {
    let mut found: Vec<RecordedRun> = Vec::new();
    let mut take = |more: Vec<RecordedRun>| {
        for one in more {
            let is_known =
                |known: &RecordedRun| known.run == one.run && known.journal.path() == one.journal.path();
            if !found.iter().any(is_known) {
                found.push(one);
            }
        }
    };
    match named {
        [] if all => take(of_workspace(&RunLocation::for_reading(location, None)?, |_| true)?),
        [] => take(vec![one(&RunLocation::for_reading(location, None)?, None)?]),
        named => {
            for name in named {
                take(resolve_name(name, location)?);
            }
        }
    }
    Ok(found)
}

fn resolve_name(name: &str, location: &LocationArgs) -> anyhow::Result<Vec<RecordedRun>> {
    let folder = Path::new(name);
    if name.contains('/') || folder.is_dir() {
        let FoundStates { states, unreadable } = StateDir::find_all(folder)?;
        if let Some((_, error)) = unreadable.into_iter().next() {
            return Err(error.into());
        }
        if !states.is_empty() {
            return states
                .iter()
                .map(|state| of_state(state, |_| true))
                .collect::<anyhow::Result<Vec<_>>>()
                .map(|runs| runs.into_iter().flatten().collect());
        }
        let workspace = LocationArgs { workspace: Some(folder.to_owned()), ..location.clone() };
        return of_workspace(&RunLocation::here(&workspace)?, |_| true);
    }
    if name.contains(['*', '?']) {
        let found = of_workspace(&RunLocation::for_reading(location, None)?, |run| fits(name, run.as_str()))?;
        if found.is_empty() {
            return Err(UsageError(format!(
                "no run matches {name}; `baton status` lists the runs of a workspace"
            ))
            .into());
        }
        return Ok(found);
    }
    let run = RunId::new(name);
    Ok(vec![one(&RunLocation::for_reading(location, Some(&run))?, Some(&run))?])
}

fn one(location: &RunLocation, run: Option<&RunId>) -> anyhow::Result<RecordedRun> {
    let (journal, run) = journal_of(&location.config, run)?;
    Ok(RecordedRun { journal, run, artifacts: state(location)?.as_ref().and_then(artifacts) })
}

fn of_workspace(location: &RunLocation, fits: impl Fn(&RunId) -> bool) -> anyhow::Result<Vec<RecordedRun>> {
    match state(location)? {
        Some(state) if state.journal().exists() => of_state(&state, fits),
        _ => Err(RuntimeError::NoRuns { workspace: location.config.workspace.clone() }.into()),
    }
}

fn of_state(state: &StateDir, fits: impl Fn(&RunId) -> bool) -> anyhow::Result<Vec<RecordedRun>> {
    let journal = Journal::open_read_only(state)?;
    let runs = journal.runs()?.into_iter().map(|summary| summary.run).filter(|run| fits(run));
    let artifacts = artifacts(state);
    Ok(runs.map(|run| RecordedRun { journal: journal.clone(), run, artifacts: artifacts.clone() }).collect())
}

fn state(location: &RunLocation) -> anyhow::Result<Option<StateDir>> {
    let (root, workspace) = (&location.config.state_root, &location.config.workspace);
    StateDir::find(root, workspace)
        .with_context(|| format!("looking for the runs of {}", workspace.display()))
}

/// The artifacts of a workspace, where it has any: few policies are shown some, and one that was cannot be asked again
/// without them.
fn artifacts(state: &StateDir) -> Option<ArtifactStore> {
    ArtifactStore::open_read_only(state).ok()
}

/// `*` stands for any characters, `?` for one.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The place of the last star, and the length of its match so far.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, stands_for)) => {
                    star = Some((at, stands_for + 1));
                    (p, n) = (at + 1, stands_for + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_ids() {
        for (pattern, name, fitting) in [
            ("2026*", "20260212-103000", true),
            ("*-103000", "20260212-103000", true),
            ("2026??12*", "20260212-103000", true),
            ("*0*0*", "20260212-103000", true),
            ("2025*", "20260212-103000", false),
            ("20260212", "20260212-103000", false),
            ("*", "", true),
            ("?", "", false),
        ] {
            assert_eq!(fits(pattern, name), fitting, "{pattern} {name}");
        }
    }
}
