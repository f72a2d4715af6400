//! Empties the inbox of a run: reports become inputs, and a file is confirmed only when its report is on disk in the
//! journal. What does not fit the run goes back with the reason, and people are told. What a report means is for core.

use std::path::Path;

use baton_core::input::Report;
use baton_core::notice::Notice;
use baton_core::{Digest, Input, Run, SessionId};
use baton_inbox::{Call, Inbox, InboxError};
use serde_json::json;

use crate::clock;
use crate::fit;
use crate::shelf::Shelf;

/// Rounds of one look. The inbox hands over a bounded number of files at a time; a flood comes with the next looks.
const ROUNDS: usize = 8;

/// The inbox, with what was taken from it and is not yet journaled.
pub(crate) struct Post {
    /// Away while a thread that may block reads it.
    inbox: Option<Inbox>,
    unconfirmed: Vec<String>,
    /// Reports that were refused, for people.
    refused: Vec<Notice>,
    /// The last look failed; said once, not every second.
    was_told: bool,
}

/// A report whose form is right.
struct Found {
    file: String,
    digest: Digest,
    session: Option<SessionId>,
    call: Call,
}

impl Post {
    pub(crate) fn open(workspace: &Path, task_folder: &str) -> Result<Self, InboxError> {
        let inbox = Some(Inbox::open(workspace, task_folder)?);
        Ok(Self { inbox, unconfirmed: Vec::new(), refused: Vec::new(), was_told: false })
    }

    /// What was reported since the last look and fits the run, in order.
    pub(crate) async fn collect(&mut self, run: &Run, shelf: &Shelf) -> Vec<Input> {
        let mut inputs = Vec::new();
        let found = self.scan().await;
        if found.is_empty() {
            return inputs;
        }
        let view = run.view(clock::wall());
        for Found { file, digest, session, call } in found {
            let fits = view.as_ref().map_or(Ok(()), |view| fit::check(view, session.as_ref(), &call));
            let taken = match fits {
                Ok(()) => self.input(digest, session, call, shelf).await,
                Err(why) => Err(why),
            };
            match taken {
                Ok(input) => {
                    self.unconfirmed.push(file);
                    inputs.push(input);
                }
                Err(why) => self.reject(file, why).await,
            }
        }
        inputs
    }

    /// What people are to be told of reports that were refused.
    pub(crate) fn refusals(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.refused)
    }

    async fn scan(&mut self) -> Vec<Found> {
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
        let mut fine = Vec::new();
        for received in received {
            match received.result {
                Ok((session, call)) => {
                    fine.push(Found { file: received.file, digest: received.digest, session, call });
                }
                // It is in `rejected/` already.
                Err(problem) => self.refuse(received.file, problem.to_string()),
            }
        }
        fine
    }

    /// The input that a report becomes. An artifact is kept first: the journal names nothing that is not there.
    async fn input(
        &self,
        digest: Digest,
        session: Option<SessionId>,
        call: Call,
        shelf: &Shelf,
    ) -> Result<Input, String> {
        if let Some(report) = call.report() {
            return Ok(Input::Reported { session, digest, report });
        }
        let Call::ArtifactSave(save) = call else {
            return Err("nothing is answered here; only reports are taken".to_owned());
        };
        let (shelf, from) = (shelf.clone(), session.clone());
        let saved = tokio::task::spawn_blocking(move || shelf.save(from, &save)).await;
        let artifact = saved.unwrap_or_else(|_| Err("keeping it failed; try again".to_owned()))?;
        // The same file may be written again when the file that it names has changed.
        let digest = Digest::of(json!([digest, artifact.name, artifact.version]).to_string());
        Ok(Input::Reported { session, digest, report: Report::ArtifactSaved { artifact } })
    }

    async fn reject(&mut self, file: String, why: String) {
        if let Some(mut inbox) = self.inbox.take() {
            let (name, reason) = (file.clone(), why.clone());
            let rejected = tokio::task::spawn_blocking(move || {
                if let Err(error) = inbox.reject(&name, &reason) {
                    tracing::warn!("{error}");
                }
                inbox
            });
            self.inbox = rejected.await.ok();
        }
        self.refuse(file, why);
    }

    fn refuse(&mut self, file: String, why: String) {
        tracing::warn!(file, "a report was refused: {why}");
        self.refused.push(Notice::ReportRefused { file, why });
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
