//! Which runs are removed, and their removal. The host of a workspace holds its lock, so nothing is removed while one works;
//! the store knows the data of a run and deletes it.

use baton_core::{DurationMs, RunId, UnixMs};
use baton_store::{RetainedRun, Retention, StateDir, StoreError};

use crate::clock;
use crate::config::HostConfig;
use crate::control::requester;
use crate::error::RuntimeError;

/// Which runs stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionRule {
    /// Those that were written within this time.
    pub younger_than: Option<DurationMs>,
    /// The number of newest runs to keep.
    pub newest: Option<usize>,
    /// All but this one.
    pub all_but: Option<RunId>,
    /// With `all_but`: the run is removed even if it has not ended.
    pub force: bool,
}

/// A run that was removed, or would be.
pub type RemovedRun = RetainedRun;

/// What became of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcResult {
    /// Removed runs; with a dry run, those that would be removed.
    pub removed: Vec<RemovedRun>,
    /// Runs that stay.
    pub left: usize,
    /// Runs that would have gone by the rule, but have not ended: each needs to be named.
    pub unfinished: Vec<RunId>,
}

/// Removes whole runs, or only says which. Interrupted removals are finished in any case.
///
/// # Errors
/// [`RuntimeError::Busy`] while a host works there, [`RuntimeError::NoRuns`] if nothing has ever run,
/// [`RuntimeError::NoSuchRun`] and [`RuntimeError::Refused`] for the run that was named, and those of the store.
pub fn gc(config: &HostConfig, leave: &RetentionRule, dry_run: bool) -> Result<GcResult, RuntimeError> {
    let failed = |source: StoreError| match source {
        StoreError::Locked { pid, .. } => RuntimeError::Busy { pid, workspace: config.workspace.clone() },
        source => RuntimeError::State {
            what: "cannot clean",
            dir: config.state_root.clone(),
            source: source.into(),
        },
    };
    let state = StateDir::find(&config.state_root, &config.workspace).map_err(failed)?;
    let state = state.ok_or_else(|| RuntimeError::NoRuns { workspace: config.workspace.clone() })?;
    let lock = state.lock().map_err(failed)?;
    let mut retention = Retention::open(&state, &lock).map_err(failed)?;
    let collected = choose(config, leave, retention.runs().map_err(failed)?, clock::wall())?;
    if dry_run {
        return Ok(collected);
    }
    for run in &collected.removed {
        requester::expect_no_agent(&state, &run.run)?;
    }
    retention.finish().map_err(failed)?;
    for run in &collected.removed {
        retention.remove(&run.run).map_err(failed)?;
    }
    if !collected.removed.is_empty() {
        retention.compact().map_err(failed)?;
    }
    Ok(collected)
}

fn choose(
    config: &HostConfig,
    leave: &RetentionRule,
    runs: Vec<RetainedRun>,
    now: UnixMs,
) -> Result<GcResult, RuntimeError> {
    let mut collected = GcResult::default();
    if let Some(named) = &leave.all_but {
        let unknown = || RuntimeError::NoSuchRun { run: named.clone(), workspace: config.workspace.clone() };
        let known = runs.iter().find(|run| run.run == *named).ok_or_else(unknown)?;
        if !known.ended && !leave.force {
            return Err(RuntimeError::Refused(format!(
                "run {named} has not ended, and `baton resume` could continue it; --force removes it anyway"
            )));
        }
    }
    let count = runs.len();
    for (n, run) in runs.into_iter().enumerate() {
        let goes = match &leave.all_but {
            Some(named) => run.run == *named,
            None => {
                let old = leave.younger_than.is_none_or(|age| run.last_at.0.saturating_add(age.0) <= now.0);
                old && leave.newest.is_none_or(|newest| n + newest < count)
            }
        };
        if run.half_removed || (goes && (run.ended || leave.all_but.is_some())) {
            collected.removed.push(run);
            continue;
        }
        collected.left += 1;
        if goes {
            collected.unfinished.push(run.run);
        }
    }
    Ok(collected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RoleOverrides;

    fn run(name: &str, last_at: u64, ended: bool) -> RetainedRun {
        RetainedRun {
            run: RunId::new(name),
            workflow: "w".into(),
            last_at: UnixMs(last_at),
            ended,
            half_removed: false,
            journal_bytes: 1,
            artifact_bytes: 2,
            session_bytes: 3,
        }
    }

    fn chosen(leave: &RetentionRule, runs: Vec<RetainedRun>) -> Result<(Vec<String>, usize, usize), String> {
        let config = HostConfig {
            workspace: "/w".into(),
            state_root: "/s".into(),
            own_exe: "/b".into(),
            environment: Default::default(),
            overrides: RoleOverrides::default(),
        };
        let collected = choose(&config, leave, runs, UnixMs(1_000)).map_err(|error| error.to_string())?;
        let names = collected.removed.iter().map(|run| run.run.to_string()).collect();
        Ok((names, collected.left, collected.unfinished.len()))
    }

    #[test]
    fn old_ended_runs_go_and_everything_else_stays() {
        // C6
        let runs =
            || vec![run("a", 100, true), run("b", 200, false), run("c", 300, true), run("d", 900, true)];
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let old = RetentionRule { younger_than: Some(DurationMs(500)), ..RetentionRule::default() };
        assert_eq!(chosen(&old, runs()), Ok((names(&["a", "c"]), 2, 1)));
        let newest = RetentionRule { newest: Some(2), ..RetentionRule::default() };
        assert_eq!(chosen(&newest, runs()), Ok((names(&["a"]), 3, 1)));
        let both = RetentionRule {
            younger_than: Some(DurationMs(500)),
            newest: Some(3),
            ..RetentionRule::default()
        };
        assert_eq!(chosen(&both, runs()), Ok((names(&["a"]), 3, 0)));
        let mut broken = runs();
        broken[3].half_removed = true;
        let none = RetentionRule { newest: Some(9), ..RetentionRule::default() };
        assert_eq!(chosen(&none, broken), Ok((names(&["d"]), 3, 0)), "what was begun is finished");
    }

    #[test]
    fn a_run_that_has_not_ended_goes_only_by_name_and_force() {
        // C6
        let runs = || vec![run("a", 100, true), run("b", 200, false)];
        let named = |name: &str, force| RetentionRule {
            all_but: Some(RunId::new(name)),
            force,
            ..RetentionRule::default()
        };
        assert_eq!(chosen(&named("a", false), runs()).unwrap().0, ["a"]);
        assert!(chosen(&named("b", false), runs()).unwrap_err().contains("--force"));
        assert_eq!(chosen(&named("b", true), runs()).unwrap().0, ["b"]);
        assert!(chosen(&named("z", true), runs()).is_err());
    }
}
