//! Notifies people who do not watch: runs the workflow's `[notify]` command for events that need attention at once. It gets
//! notices after their commit, so folding a journal again sends no notification again. A command never affects the run: one
//! that fails, hangs or cannot be started only results in a notice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use baton_core::action::RunOutcome;
use baton_core::progress::ProgressEvent;
use baton_core::workflow::NotifySettings;
use baton_core::{PhaseId, RunId};
use baton_store::secrets;
use baton_workspace::Workspace;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::boundaries::Boundaries;

/// Commands that run at a time: enough for a phone and a desktop, too few to be felt.
const CONCURRENT_COMMANDS_MAX: usize = 4;
/// Maximum number of commands that run or wait; further notifications are dropped, since a person cannot read that many at
/// once.
const PENDING_COMMANDS_MAX: usize = 32;
/// Sending a message takes a second or two; what takes longer than this hangs.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);
/// The last message of a run is waited for, since it would end with its host. Journal and files are complete by then.
const FINAL_TIMEOUT: Duration = Duration::from_secs(10);
/// A message is a line on a phone.
const TEXT_CHARS: usize = 400;

/// The events of notifications, with their names for the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotificationEvent {
    Split,
    Paused,
    QuotaWait,
    Finished,
}

impl NotificationEvent {
    fn of(notice: &ProgressEvent) -> Option<Self> {
        match notice {
            ProgressEvent::Split { .. } => Some(NotificationEvent::Split),
            ProgressEvent::Paused { .. } => Some(NotificationEvent::Paused),
            ProgressEvent::QuotaWait { .. } => Some(NotificationEvent::QuotaWait),
            ProgressEvent::Finished { .. } => Some(NotificationEvent::Finished),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            NotificationEvent::Split => "split",
            NotificationEvent::Paused => "paused",
            NotificationEvent::QuotaWait => "quota-wait",
            NotificationEvent::Finished => "finished",
        }
    }
}

/// Whether one of these notices rings the terminal's bell.
pub(crate) fn rings_bell(notify: &NotifySettings, notices: &[ProgressEvent]) -> bool {
    notify.bell && notices.iter().any(|notice| NotificationEvent::of(notice).is_some())
}

/// Runs the command of one run.
pub(crate) struct Notifier {
    command: Option<String>,
    run: RunId,
    workspace: Workspace,
    boundaries: Boundaries,
    /// Phases that wait for a provider. Many may run into one limit; only the first sends a notification.
    in_quota: BTreeSet<PhaseId>,
    /// Phases whose last commit was not made, as far as this host has heard.
    not_committed: BTreeSet<PhaseId>,
    places: Arc<Semaphore>,
    /// Each ends with a notice of the reason if the notification failed.
    messages: JoinSet<Option<ProgressEvent>>,
}

impl Notifier {
    pub(crate) fn new(
        notify: &NotifySettings,
        run: RunId,
        workspace: Workspace,
        boundaries: Boundaries,
    ) -> Self {
        Self {
            command: notify.command.clone(),
            run,
            workspace,
            boundaries,
            in_quota: BTreeSet::new(),
            not_committed: BTreeSet::new(),
            places: Arc::new(Semaphore::new(CONCURRENT_COMMANDS_MAX)),
            messages: JoinSet::new(),
        }
    }

    /// Starts the notifications for these notices, without waiting for them.
    pub(crate) fn notify(&mut self, notices: &[ProgressEvent]) {
        let Some(command) = self.command.clone() else { return };
        for notice in notices {
            let Some(event) = self.event_for(notice) else { continue };
            if self.messages.len() >= PENDING_COMMANDS_MAX {
                // The notifications under way either fail, which sends a notice, or are delivered.
                continue;
            }
            let told = self.variables(event, notice);
            let (command, workspace) = (command.clone(), self.workspace.clone());
            let boundaries = self.boundaries.clone();
            let places = Arc::clone(&self.places);
            self.messages.spawn(async move {
                // The semaphore is never closed, so a place is always given in the end.
                let _place = places.acquire_owned().await.ok()?;
                // It may name a file of the workspace, which agents write.
                let within = match boundaries.for_command(workspace) {
                    Ok(within) => within,
                    Err(error) => {
                        let why = error.to_string();
                        return Some(ProgressEvent::NotTold { event: event.name().to_owned(), why });
                    }
                };
                let why = match within.workspace.tell(&command, &told, COMMAND_LIMIT).await {
                    Ok(ended) if ended.passed => return None,
                    Ok(ended) => {
                        let how = ended
                            .code
                            .map_or("was broken off".to_owned(), |code| format!("ended with {code}"));
                        line(&format!("the command {how}: {}", ended.findings.trim()))
                    }
                    Err(error) => error.to_string(),
                };
                Some(ProgressEvent::NotTold { event: event.name().to_owned(), why })
            });
        }
    }

    /// Notices of the failed ones among the finished notifications.
    pub(crate) fn failures(&mut self) -> Vec<ProgressEvent> {
        let mut failures = Vec::new();
        while let Some(ended) = self.messages.try_join_next() {
            failures.extend(ended.ok().flatten());
        }
        failures
    }

    /// Waits for a while for the notifications under way, and returns notices of the failed ones.
    pub(crate) async fn finish(&mut self) -> Vec<ProgressEvent> {
        let mut failures = Vec::new();
        let all = async {
            while let Some(ended) = self.messages.join_next().await {
                failures.extend(ended.ok().flatten());
            }
        };
        let _ = tokio::time::timeout(FINAL_TIMEOUT, all).await;
        failures
    }

    /// What of a notice is news. The first phase that waits for a provider is; those that join it are not.
    fn event_for(&mut self, notice: &ProgressEvent) -> Option<NotificationEvent> {
        match notice {
            ProgressEvent::QuotaWait { phase, .. } => {
                let nobody_waited = self.in_quota.is_empty();
                self.in_quota.insert(phase.clone());
                nobody_waited.then_some(NotificationEvent::QuotaWait)
            }
            // A wait may also end without a word of it, by another session.
            ProgressEvent::QuotaOver { phase, .. }
            | ProgressEvent::Prompted { phase, .. }
            | ProgressEvent::PhaseDone { phase } => {
                self.in_quota.remove(phase);
                None
            }
            ProgressEvent::NotCommitted { phase, .. } => {
                self.not_committed.insert(phase.clone());
                None
            }
            ProgressEvent::CommittedToBranch { phase, .. } => {
                self.not_committed.remove(phase);
                None
            }
            _ => NotificationEvent::of(notice),
        }
    }

    /// One sentence for a person who does not watch.
    fn text(&self, notice: &ProgressEvent) -> String {
        let said = text(notice);
        match notice {
            ProgressEvent::Finished { ending: RunOutcome::Done } if !self.not_committed.is_empty() => {
                let phases: Vec<&str> = self.not_committed.iter().map(PhaseId::as_str).collect();
                format!("{said} Not committed: {}; `baton report` says why.", phases.join(", "))
            }
            _ => said,
        }
    }

    fn variables(&self, event: NotificationEvent, notice: &ProgressEvent) -> Vec<(&'static str, String)> {
        let phase = match notice {
            ProgressEvent::Split { phase, .. } | ProgressEvent::QuotaWait { phase, .. } => phase.to_string(),
            ProgressEvent::Paused { phase, .. } => {
                phase.as_ref().map(ToString::to_string).unwrap_or_default()
            }
            _ => String::new(),
        };
        vec![
            ("BATON_EVENT", event.name().to_owned()),
            ("BATON_RUN", self.run.to_string()),
            ("BATON_PHASE", phase),
            ("BATON_TEXT", line(&self.text(notice))),
            ("BATON_WORKSPACE", self.workspace.root().to_string_lossy().into_owned()),
        ]
    }
}

/// The text of a notice for a person who does not watch.
fn text(notice: &ProgressEvent) -> String {
    match notice {
        ProgressEvent::Split { phase, sub_phases, reason, .. } => {
            format!("Phase {phase} is too large and becomes {} sub-phases: {reason}", sub_phases.len())
        }
        ProgressEvent::Paused { text, choices, .. } => {
            let choices: Vec<&str> = choices.iter().map(|choice| choice.name()).collect();
            format!("{text} ({})", choices.join(", "))
        }
        ProgressEvent::QuotaWait { phase, cause, until, .. } => match until {
            Some(until) => {
                format!("Phase {phase} waits for its provider ({cause}) until {}.", until.rfc3339())
            }
            None => format!("Phase {phase} waits for its provider ({cause})."),
        },
        ProgressEvent::Finished { ending: RunOutcome::Done } => "Every objective is done.".to_owned(),
        ProgressEvent::Finished { ending: RunOutcome::Unfinished } => {
            "It is over, and some objectives stay open.".to_owned()
        }
        ProgressEvent::Finished { ending: RunOutcome::Interrupted } => {
            "It was stopped; everything is kept.".to_owned()
        }
        _ => String::new(),
    }
}

/// Short, on one line, and without a secret: it leaves this machine, most likely, and an agent may have worded it.
fn line(text: &str) -> String {
    let mut line: String =
        secrets::mask(text).chars().map(|c| if c.is_control() { ' ' } else { c }).take(TEXT_CHARS).collect();
    if line.chars().count() == TEXT_CHARS {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use baton_core::decision::QuotaCause;
    use baton_core::input::PauseAnswer;
    use baton_core::{ActionId, DurationMs, UnixMs};

    use baton_sandbox::SandboxSupport;
    use baton_store::StateDir;

    use super::*;
    use crate::boundaries;
    use crate::held_files::{HeldFiles, StartedFiles};

    fn wait(phase: &str) -> ProgressEvent {
        ProgressEvent::QuotaWait {
            phase: phase.into(),
            session: "s1".into(),
            cause: QuotaCause::Rate,
            since: UnixMs(0),
            until: None,
            retry_at: None,
            time: 1,
            by_itself: false,
            said: String::new(),
            judged_by: None,
        }
    }

    fn over(phase: &str) -> ProgressEvent {
        ProgressEvent::QuotaOver {
            phase: phase.into(),
            session: "s1".into(),
            waited: DurationMs(1),
            is_try: false,
        }
    }

    fn paused(text: &str) -> ProgressEvent {
        ProgressEvent::Paused {
            question: ActionId(4),
            phase: None,
            text: text.to_owned(),
            choices: vec![PauseAnswer::Retry, PauseAnswer::Stop],
        }
    }

    fn notifier(dir: &std::path::Path, command: &str) -> Notifier {
        let notify = NotifySettings { command: Some(command.to_owned()), bell: false };
        let run = RunId::new("r-7f");
        let state = StateDir::open(&dir.join("state"), dir).unwrap();
        let boundaries = Boundaries::new(boundaries::BoundaryParts {
            run: run.clone(),
            held: HeldFiles::of(&state, &run, false, StartedFiles::default()),
            state,
            workspace: dir.to_owned(),
            own_exe: "baton".into(),
            environment: Default::default(),
            sandbox_support: SandboxSupport::none(),
            command_sandbox: Default::default(),
            writable: Default::default(),
            task_folder: Default::default(),
            ordinal: Default::default(),
            remaining: Default::default(),
        });
        Notifier::new(&notify, run, Workspace::open(dir).unwrap(), boundaries)
    }

    #[tokio::test]
    async fn a_command_is_told_what_happened_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let mut notifier = notifier(dir.path(), "env | grep ^BATON_ | sort > \"$BATON_EVENT\"");
        notifier.notify(&[
            ProgressEvent::PhaseDone { phase: "a".into() },
            paused("What\nnow?\0"),
            ProgressEvent::Finished { ending: RunOutcome::Done },
        ]);
        notifier.finish().await;
        let root = dir.path().canonicalize().unwrap();
        assert_eq!(
            std::fs::read_to_string(dir.path().join("paused")).unwrap(),
            format!(
                "BATON_COMMAND=1\nBATON_EVENT=paused\nBATON_PHASE=\nBATON_RUN=r-7f\nBATON_TEXT=What now?  (retry, stop)\nBATON_WORKSPACE={}\n",
                root.display()
            )
        );
        let finished = std::fs::read_to_string(dir.path().join("finished")).unwrap();
        assert!(finished.contains("BATON_TEXT=Every objective is done.\n"), "{finished}");
        let entries = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let written: BTreeSet<_> = entries.filter(|name| name != "state").collect();
        assert_eq!(written, BTreeSet::from(["finished".into(), "paused".into()]));
    }

    #[tokio::test]
    async fn the_end_names_what_is_not_committed() {
        let dir = tempfile::tempdir().unwrap();
        let mut notifier = notifier(dir.path(), "echo \"$BATON_TEXT\" > told");
        let failed = |phase: &str| ProgressEvent::NotCommitted { phase: phase.into(), why: "a lock".into() };
        notifier.notify(&[failed("a"), failed("b"), ProgressEvent::Finished { ending: RunOutcome::Done }]);
        notifier.finish().await;
        let told = std::fs::read_to_string(dir.path().join("told")).unwrap();
        assert_eq!(told, "Every objective is done. Not committed: a, b; `baton report` says why.\n");
    }

    #[tokio::test]
    async fn phases_that_run_into_one_limit_are_one_message() {
        let dir = tempfile::tempdir().unwrap();
        let mut notifier = notifier(dir.path(), "true");
        let told: Vec<bool> = [wait("a"), wait("b"), over("a"), wait("c"), over("b"), over("c"), wait("a")]
            .iter()
            .map(|notice| notifier.event_for(notice).is_some())
            .collect();
        assert_eq!(told, [true, false, false, false, false, false, true]);
    }

    #[tokio::test]
    async fn what_is_too_much_is_left_out_and_what_fails_is_nobodys_business() {
        let dir = tempfile::tempdir().unwrap();
        let mut notifier = notifier(dir.path(), "echo x >> told; exit 3");
        notifier.notify(&vec![paused("?"); PENDING_COMMANDS_MAX * 2]);
        assert_eq!(notifier.messages.len(), PENDING_COMMANDS_MAX);
        notifier.finish().await;
        let told = std::fs::read_to_string(dir.path().join("told")).unwrap();
        assert_eq!(told.lines().count(), PENDING_COMMANDS_MAX);
    }

    #[test]
    fn a_message_is_short_and_has_no_secret() {
        let key = format!("ghp_{}", "x7Kq2mB9".repeat(5).chars().take(36).collect::<String>());
        let text = line(&format!("the token {key} is refused"));
        assert!(!text.contains(&key), "{text}");
        assert_eq!(line(&"ä".repeat(2 * TEXT_CHARS)).chars().count(), TEXT_CHARS + 1);
    }
}
