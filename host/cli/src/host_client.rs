//! Requests of commands to the host of a workspace, or to its journal if no host works.

use baton_runtime::core::RunId;
use baton_runtime::core::view::{RunStatus, RunView};
use baton_runtime::{ControlMessage, ControlReply, RunRow, RuntimeError, control, runs as rows_of, view_of};

use crate::exit_status::UsageError;
use crate::location::RunLocation;
use crate::stdio;

/// Waits for something short.
pub(crate) fn block_on<T>(what: impl Future<Output = T>) -> anyhow::Result<T> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(what))
}

/// Sends one message to the host of a workspace, or to its journal if there is none.
pub(crate) fn ask_host(location: &RunLocation, message: ControlMessage) -> anyhow::Result<ControlReply> {
    match block_on(control(&location.config, message))?? {
        ControlReply::Refused { why } => Err(RuntimeError::Refused(why).into()),
        reply => Ok(reply),
    }
}

/// The run that the host of a workspace works on, or its newest one, and whether a host works on it.
pub(crate) fn current(location: &RunLocation) -> anyhow::Result<(RunView, bool)> {
    match ask_host(location, ControlMessage::Status)? {
        ControlReply::View { view, live } => Ok((*view, live)),
        ControlReply::Silent { view, why } => {
            stdio::progress(&format!("baton: {why}. This is what its journal says"));
            Ok((*view, true))
        }
        _ => anyhow::bail!("unexpected reply from the host"),
    }
}

/// Whether a host works on this run; none if that is unknown.
pub(crate) fn is_live(location: &RunLocation, run: &RunId) -> Option<bool> {
    current(location).ok().map(|(view, live)| live && view.run == *run)
}

/// The run that the user named, or else the current one, and whether a host works on it.
pub(crate) fn named_or_current(
    location: &RunLocation,
    run: Option<&RunId>,
) -> anyhow::Result<(RunView, bool)> {
    let (view, live) = current(location)?;
    match run {
        Some(run) if *run != view.run => Ok((view_of(&location.config, Some(run))?, false)),
        _ => Ok((view, live)),
    }
}

/// Runs of a folder that wait for an answer, but for this one; the newest first.
pub(crate) fn others_waiting(location: &RunLocation, but: &RunId) -> Vec<RunId> {
    let waits = |row: &RunRow| row.status == RunStatus::Paused && !row.set_aside && row.run != *but;
    let mut rows: Vec<RunRow> =
        rows_of(&location.config).unwrap_or_default().into_iter().filter(waits).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.started_at));
    rows.into_iter().map(|row| row.run).collect()
}

/// What [`current`] says, held against the run that a person named: the host answers for one run only.
pub(crate) fn expect_current(location: &RunLocation, run: Option<&RunId>) -> anyhow::Result<(RunView, bool)> {
    let (view, live) = current(location)?;
    match run {
        Some(run) if *run != view.run => {
            let workspace = location.config.workspace.display();
            let why = format!("run {run} is not the current one of {workspace}; that is {}", view.run);
            Err(UsageError(why).into())
        }
        _ => Ok((view, live)),
    }
}

/// The requested run: the one of the flag, or else the one that the first word names, which is then neither a phase nor a
/// session.
pub(crate) fn meant(location: &RunLocation, run: Option<RunId>, word: &mut Option<String>) -> Option<RunId> {
    let is_run = |word: &String| view_of(&location.config, Some(&RunId::new(word.as_str()))).is_ok();
    match run {
        None if word.as_ref().is_some_and(is_run) => word.take().map(RunId::new),
        run => run,
    }
}
