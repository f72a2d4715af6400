//! `baton attach`: follows a run in its journal while a host writes it, with the same state machine as the host. The host is
//! only asked whether it is alive, so watchers can neither slow it down nor change anything, regardless of their number and the
//! speed of their terminals. A watcher sees committed entries: at most a batch behind the host.

use std::collections::VecDeque;
use std::time::Duration;

use baton_core::progress::ProgressEvent;
use baton_core::view::{RunStatus, RunView};
use baton_core::{Action, RunId, UnixMs};
use baton_store::{Journal, StateDir};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::clock;
use crate::config::{HostConfig, RunUpdate};
use crate::control::client::{HostStatus, host_status};
use crate::error::RuntimeError;
use crate::query;
use crate::recovery::RecoveredRun;
use crate::ui::notifier::rings_bell;

/// Poll interval of the journal: telemetry is committed within 50 ms, and a person does not read faster than this.
const JOURNAL_POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Interval of the checks whether the host is alive, while it should be.
const HOST_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Interval of redraws if nothing happens, so that the clocks move.
const REDRAW: Duration = Duration::from_secs(1);
/// Entries read at once: a backlog is passed on in parts of this size.
const ENTRIES: usize = 1_000;
/// Number of earlier notices that a new watcher gets: one screen.
const HISTORY: usize = 20;

/// How looking on ended.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachResult {
    /// The state of the run.
    pub view: RunView,
    /// Whether a host still works on it: then the watcher left, and the run continues.
    pub live: bool,
}

/// Follows a run until it ends, its host is gone, or `leave` becomes true; if none is named, the run that a host works on, else
/// the newest. Of the earlier notices, the last ones are sent.
///
/// # Errors
/// [`RuntimeError::NoRuns`], [`RuntimeError::NoSuchRun`], and those of reading the journal.
pub async fn attach(
    config: HostConfig,
    run: Option<RunId>,
    updates: mpsc::Sender<RunUpdate>,
    mut leave: watch::Receiver<bool>,
) -> Result<AttachResult, RuntimeError> {
    let state = query::find_state(&config)?;
    let journal = query::open_read_only(&state)?;
    let run = match (run, host_status(&state.control_socket()).await) {
        (None, HostStatus::WorkingOn(run)) => run,
        (named, _) => query::resolve_run(&config, &journal, named.as_ref())?,
    };
    let mut watcher = RunFollower { state, journal, run, recovered: RecoveredRun::default() };
    let mut live = watcher.is_live().await;
    let (mut asked, mut shown) = (Instant::now(), None);
    loop {
        // Checked before the look, so that the last entries of an ending host are read.
        if asked.elapsed() >= HOST_CHECK_INTERVAL || !watcher.is_running() {
            live = watcher.is_live().await;
            asked = Instant::now();
        }
        let first = shown.is_none();
        let mut seen;
        (watcher, seen) = look(watcher, first).await?;
        if first && !live {
            // The report shows the result of the run; its events are in its log.
            seen.told.retain(|(_, notice)| matches!(notice, ProgressEvent::Finished { .. }));
        }
        let due = shown.is_none_or(|at: Instant| at.elapsed() >= REDRAW);
        let is_last = !live && !seen.has_more;
        if due || is_last || !seen.told.is_empty() {
            shown = Some(Instant::now());
            for update in watcher.updates(seen.told, first, live)? {
                // The renderer has ended.
                if updates.send(update).await.is_err() {
                    return Ok(AttachResult { view: watcher.view(live)?, live });
                }
            }
        }
        if is_last {
            return Ok(AttachResult { view: watcher.view(false)?, live: false });
        }
        if seen.has_more {
            continue;
        }
        tokio::select! {
            Ok(_) = leave.wait_for(|leave| *leave) => return Ok(AttachResult { view: watcher.view(live)?, live }),
            () = tokio::time::sleep(JOURNAL_POLL_INTERVAL) => {}
        }
    }
}

/// A run, folded as far as it was read.
struct RunFollower {
    state: StateDir,
    journal: Journal,
    run: RunId,
    recovered: RecoveredRun,
}

/// What one look came to.
#[derive(Default)]
struct FollowedNotices {
    told: VecDeque<(UnixMs, ProgressEvent)>,
    has_more: bool,
}

/// Reads and folds on a thread that may block. The first look takes everything, and keeps what happened last.
async fn look(mut watcher: RunFollower, first: bool) -> Result<(RunFollower, FollowedNotices), RuntimeError> {
    let looked = tokio::task::spawn_blocking(move || {
        let seen = if first { watcher.catch_up()? } else { watcher.look()? };
        Ok((watcher, seen))
    });
    match looked.await {
        Ok(looked) => looked,
        Err(join) => std::panic::resume_unwind(join.into_panic()),
    }
}

impl RunFollower {
    async fn is_live(&self) -> bool {
        match host_status(&self.state.control_socket()).await {
            HostStatus::NotRunning => false,
            HostStatus::WorkingOn(run) => run == self.run,
            HostStatus::Unknown => true,
        }
    }

    fn is_running(&self) -> bool {
        self.recovered.run.status() == RunStatus::Running
    }

    fn catch_up(&mut self) -> Result<FollowedNotices, RuntimeError> {
        let mut history = VecDeque::new();
        loop {
            let seen = self.look()?;
            history.extend(seen.told.into_iter().filter(|(_, notice)| is_history(notice)));
            history.drain(..history.len().saturating_sub(HISTORY));
            if !seen.has_more {
                return Ok(FollowedNotices { told: history, has_more: false });
            }
        }
    }

    fn look(&mut self) -> Result<FollowedNotices, RuntimeError> {
        let in_dir = |error: crate::recovery::FoldError| error.in_dir(self.state.path());
        let mut seen = FollowedNotices::default();
        let entries = self.journal.read_after(&self.run, self.recovered.last.0);
        for (n, entry) in entries.map_err(query::cannot_read(&self.state))?.enumerate() {
            let entry = entry.map_err(query::cannot_read(&self.state))?;
            let at = entry.at();
            for intent in self.recovered.apply_entry(&self.run, entry).map_err(in_dir)? {
                if let Action::Notify(notice) = intent.action {
                    seen.told.push_back((at, notice));
                }
            }
            if n + 1 == ENTRIES {
                seen.has_more = true;
                break;
            }
        }
        Ok(seen)
    }

    /// Time passes for a run only while a host works on it.
    fn view(&self, live: bool) -> Result<RunView, RuntimeError> {
        let last = self.recovered.last.1;
        let view = self.recovered.run.view(if live { last.max(clock::wall()) } else { last });
        view.ok_or_else(|| RuntimeError::NoRuns { workspace: self.state.workspace().to_owned() })
    }

    /// New notices as one update. Earlier ones are sent with their own times, and ring no bell.
    fn updates(
        &self,
        told: VecDeque<(UnixMs, ProgressEvent)>,
        first: bool,
        live: bool,
    ) -> Result<Vec<RunUpdate>, RuntimeError> {
        let view = self.view(live)?;
        let update = |at, notices, bell| RunUpdate { at, notices, view: view.clone(), bell };
        if first && !told.is_empty() {
            return Ok(told.into_iter().map(|(at, notice)| update(at, vec![notice], false)).collect());
        }
        let at = told.back().map_or(self.recovered.last.1, |(at, _)| *at);
        let notices: Vec<ProgressEvent> = told.into_iter().map(|(_, notice)| notice).collect();
        let bell = rings_bell(&self.recovered.run.workflow().notify, &notices);
        Ok(vec![update(at, notices, bell)])
    }
}

/// Whether it is worth telling when it is over: a table shows the rest as it is now.
fn is_history(notice: &ProgressEvent) -> bool {
    !matches!(
        notice,
        ProgressEvent::Turn { .. } | ProgressEvent::Activity { .. } | ProgressEvent::Prompted { .. }
    )
}
