//! Empties the inbox of a run: reports become inputs, and a file is confirmed only when its report is on disk in the
//! journal. What a report means is for core.

use std::path::Path;

use baton_core::Input;
use baton_inbox::{Inbox, InboxError};

/// Rounds of one look. The inbox hands over a bounded number of files at a time; a flood comes with the next looks.
const ROUNDS: usize = 8;

/// The inbox, with what was taken from it and is not yet journaled.
pub(crate) struct Post {
    /// Away while a thread that may block reads it.
    inbox: Option<Inbox>,
    unconfirmed: Vec<String>,
    /// The last look failed; said once, not every second.
    was_told: bool,
}

impl Post {
    pub(crate) fn open(workspace: &Path, task_folder: &str) -> Result<Self, InboxError> {
        let inbox = Some(Inbox::open(workspace, task_folder)?);
        Ok(Self { inbox, unconfirmed: Vec::new(), was_told: false })
    }

    /// What was reported since the last look, in order.
    pub(crate) async fn collect(&mut self) -> Vec<Input> {
        let Some(mut inbox) = self.inbox.take() else { return Vec::new() };
        let looked = tokio::task::spawn_blocking(move || {
            let mut received = Vec::new();
            for _ in 0..ROUNDS {
                match inbox.scan() {
                    Ok(found) if found.is_empty() => break,
                    Ok(found) => received.extend(found),
                    Err(error) => return (inbox, received, Some(error)),
                }
            }
            (inbox, received, None)
        })
        .await;
        // A panic in there costs this run its inbox; agents' reports then count no more, what is on disk still does.
        let Ok((inbox, received, failed)) = looked else {
            tracing::error!("reading the inbox failed; reports are not read any more until `baton resume`");
            return Vec::new();
        };
        self.inbox = Some(inbox);
        if let Some(error) = &failed
            && !self.was_told
        {
            tracing::warn!("{error}");
        }
        self.was_told = failed.is_some();
        let mut inputs = Vec::new();
        for found in received {
            match found.result {
                Ok((session, report)) => {
                    self.unconfirmed.push(found.file);
                    inputs.push(Input::Reported { session, digest: found.digest, report });
                }
                Err(problem) => tracing::warn!(file = found.file, "a report was refused: {problem}"),
            }
        }
        inputs
    }

    /// Everything that was collected is on disk.
    pub(crate) async fn confirm(&mut self) {
        if self.unconfirmed.is_empty() {
            return;
        }
        let files = std::mem::take(&mut self.unconfirmed);
        let Some(mut inbox) = self.inbox.take() else { return };
        let confirmed = tokio::task::spawn_blocking(move || {
            for file in files {
                if let Err(error) = inbox.confirm(&file) {
                    // It comes again, and counts once.
                    tracing::warn!("{error}");
                }
            }
            inbox
        })
        .await;
        self.inbox = confirmed.ok();
    }
}
