//! What the agents of a run said and did, read from its journal in order: for people who look on or look back. Changes
//! nothing, and judges nothing.

use std::collections::BTreeMap;

use baton_core::facts::{AgentEvent, ProcessExit, Refusal, SignalSource, WorkspaceFacts};
use baton_core::observation::PromptKind;
use baton_core::progress::ProgressEvent;
use baton_core::workflow::{ConfigLayer, PolicyChoice, SharedFiles};
use baton_core::{
    Action, ActionId, ActionOutcome, Digest, Input, Intent, JournaledInput, ObjectiveId, PhaseId, Run, RunId,
    Seq, SessionId, UnixMs,
};
use baton_store::{Journal, JournalEntry, StateDir};
use serde::Serialize;

use crate::config::HostConfig;
use crate::error::RuntimeError;
use crate::query;

/// Entries of one look; bounded, so that a reader who follows a live run sees output soon.
const ENTRIES: usize = 5000;
/// Bytes of a message that are kept together; a longer one comes in several pieces.
const MESSAGE_BYTES: usize = 32 * 1024;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TranscriptLine {
    /// Its journal entry.
    pub seq: Seq,
    /// Its time.
    pub at: UnixMs,
    /// In which phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseId>,
    /// In which session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The event itself.
    #[serde(flatten)]
    pub what: TranscriptEvent,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TranscriptEvent {
    /// An agent was started.
    Started {
        /// Name of the agent.
        agent: String,
        /// 0 for the first session of a phase.
        continuation: u32,
    },
    /// It was given a prompt.
    Prompted {
        /// What it is for.
        prompt: PromptKind,
        /// About which objectives.
        focus: Vec<ObjectiveId>,
        /// All of it.
        text: String,
    },
    /// It said something.
    Said {
        /// Its words.
        text: String,
    },
    /// It called a tool that returned, or that has not by the end of its session.
    Called {
        /// The tool, as the agent names it.
        tool: String,
        /// The command that it ran, if it ran one.
        #[serde(skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// What it read.
        #[serde(skip_serializing_if = "Option::is_none")]
        reads: Option<String>,
        /// What it wrote.
        #[serde(skip_serializing_if = "Option::is_none")]
        writes: Option<String>,
        /// Whether it failed or was refused; absent if the agent does not report it.
        #[serde(skip_serializing_if = "Option::is_none")]
        failed: Option<bool>,
        /// Whether it has returned.
        returned: bool,
        /// The beginning of its result.
        #[serde(skip_serializing_if = "String::is_empty")]
        output: String,
    },
    /// It waits for a permission.
    Asks {
        /// What it wants to do.
        title: String,
    },
    /// It told of an error or a limit, or wrote something on its terminal.
    Signal {
        /// The channel of the message.
        channel: SignalSource,
        /// Its code.
        code: String,
        /// Its words.
        text: String,
    },
    /// Its sandbox, or the host, did not give it something.
    Refused {
        /// What it wanted.
        refusal: Refusal,
    },
    /// It was asked to make its context shorter.
    AskedToCompact {
        /// The policy's instructions on what to keep; empty if the agent got none.
        instructions: String,
    },
    /// Its context was made shorter.
    Compacted,
    /// Its prompt ended.
    Answered {
        /// Its own reason.
        stop_reason: String,
        /// It calls it an error.
        is_error: bool,
    },
    /// Files that are different since the last look.
    Changed {
        /// Paths, relative to its tree; those that are gone have a minus before them.
        files: Vec<String>,
        /// How many more there are.
        beyond: u32,
    },
    /// A check ran.
    Checked {
        /// The command.
        command: String,
        /// It exited 0.
        passed: bool,
        /// Its exit code, if it exited.
        code: Option<i32>,
        /// The end of its output, if it did not pass.
        findings: String,
    },
    /// The run began in a folder whose own file chooses how the work is judged.
    Chosen {
        /// Components and settings, as the file gives them.
        by_folder: Vec<PolicyChoice>,
    },
    /// The run began where files that its confined agents can write have names elsewhere.
    Shared {
        /// What was found.
        found: SharedFiles,
    },
    /// Who decides has changed, or a policy failed.
    Policies {
        /// The notice itself.
        notice: Box<ProgressEvent>,
    },
    /// Its process is gone.
    Ended {
        /// Its exit.
        exit: ProcessExit,
    },
}

/// What an agent is in the middle of saying.
struct OpenMessage {
    seq: Seq,
    at: UnixMs,
    text: String,
    /// What comes next is another message.
    is_complete: bool,
}

impl OpenMessage {
    /// Appends a piece; another message begins on a new line.
    fn push(&mut self, piece: &str) {
        if std::mem::take(&mut self.is_complete) && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(piece);
    }
}

/// Reads the transcript of a run, as far as it is written.
pub struct Transcript {
    state: StateDir,
    journal: Journal,
    run: RunId,
    at: Seq,
    phases: BTreeMap<SessionId, PhaseId>,
    /// What each agent is in the middle of saying.
    saying: BTreeMap<SessionId, OpenMessage>,
    /// Calls that have not returned, by session and the agent's id.
    calls: BTreeMap<(SessionId, String), TranscriptLine>,
    /// Intents whose outcome says something.
    open: BTreeMap<ActionId, Action>,
    /// The run up to there, as long as it can be followed.
    folded: Option<Run>,
    /// Changed files as they were at the last look, by phase.
    known: BTreeMap<PhaseId, BTreeMap<String, (Option<Digest>, bool)>>,
}

impl Transcript {
    /// The transcript of a run of the workspace; of the newest run if none is named.
    ///
    /// # Errors
    /// [`RuntimeError::NoRuns`], [`RuntimeError::NoSuchRun`], and those of reading the journal.
    pub fn open(config: &HostConfig, run: Option<&RunId>) -> Result<Self, RuntimeError> {
        let state = query::find_state(config)?;
        let journal = query::open_read_only(&state)?;
        let run = query::resolve_run(config, &journal, run)?;
        Ok(Self {
            state,
            journal,
            run,
            at: Seq(0),
            phases: BTreeMap::new(),
            saying: BTreeMap::new(),
            calls: BTreeMap::new(),
            open: BTreeMap::new(),
            folded: Some(Run::new()),
            known: BTreeMap::new(),
        })
    }

    /// Which run it is of.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The lines since the last look, and whether there are more. With `all`, unfinished messages and calls of an agent are
    /// included.
    ///
    /// # Errors
    /// Those of reading the journal.
    pub fn look(&mut self, all: bool) -> Result<(Vec<TranscriptLine>, bool), RuntimeError> {
        let entries = self.journal.read_after(&self.run, self.at).map_err(query::cannot_read(&self.state))?;
        let mut lines = Vec::new();
        let mut more = false;
        for (n, entry) in entries.enumerate() {
            let entry = entry.map_err(query::cannot_read(&self.state))?;
            self.at = entry.seq();
            self.take(entry, &mut lines);
            if n + 1 == ENTRIES {
                more = true;
                break;
            }
        }
        if all && !more {
            let sessions: Vec<SessionId> = self.saying.keys().cloned().collect();
            sessions.iter().for_each(|session| self.said(session, &mut lines));
            lines.extend(std::mem::take(&mut self.calls).into_values());
            lines.sort_by_key(|line| line.seq);
        }
        Ok((lines, more))
    }

    fn take(&mut self, entry: JournalEntry, lines: &mut Vec<TranscriptLine>) {
        match entry {
            JournalEntry::Intent { seq, at, intent } => self.intent(seq, at, intent, lines),
            JournalEntry::Input(stamped) => {
                self.policies(&stamped, lines);
                let JournaledInput { seq, at, input } = stamped;
                self.input(seq, at, input, lines);
            }
        }
    }

    fn intent(&mut self, seq: Seq, at: UnixMs, intent: Intent, lines: &mut Vec<TranscriptLine>) {
        match intent.action {
            Action::Spawn(spec) => {
                self.phases.insert(spec.session.clone(), spec.phase);
                let what =
                    TranscriptEvent::Started { agent: spec.agent.into(), continuation: spec.continuation };
                lines.push(self.line(seq, at, spec.session, what));
            }
            Action::Prompt { session, kind, focus, text, .. } => {
                self.said(&session, lines);
                let text = text.body().unwrap_or_default().to_owned();
                lines.push(self.line(
                    seq,
                    at,
                    session,
                    TranscriptEvent::Prompted { prompt: kind, focus, text },
                ));
            }
            Action::Compact { session, instructions } => {
                self.said(&session, lines);
                lines.push(self.line(seq, at, session, TranscriptEvent::AskedToCompact { instructions }));
            }
            action @ (Action::Verify { .. } | Action::MeasureWorkspace { .. }) => {
                self.open.insert(intent.id, action);
            }
            _ => {}
        }
    }

    /// Notices about policies follow from the inputs, and are not journaled.
    fn policies(&mut self, stamped: &JournaledInput, lines: &mut Vec<TranscriptLine>) {
        let Some(folded) = &mut self.folded else { return };
        let Ok(intents) = folded.apply(stamped) else {
            // A journal that cannot be folded is for `replay` to tell; what agents did can still be read.
            self.folded = None;
            return;
        };
        for intent in intents {
            if let Action::Notify(
                notice @ (ProgressEvent::PolicyChanged { .. }
                | ProgressEvent::PolicyTakenBack { .. }
                | ProgressEvent::PolicyRefused { .. }
                | ProgressEvent::FellBack { .. }),
            ) = intent.action
            {
                let what = TranscriptEvent::Policies { notice: Box::new(notice) };
                let (seq, at) = (stamped.seq, stamped.at);
                lines.push(TranscriptLine { seq, at, phase: None, session: None, what });
            }
        }
    }

    fn input(&mut self, seq: Seq, at: UnixMs, input: Input, lines: &mut Vec<TranscriptLine>) {
        match input {
            Input::Started { workflow, .. } => {
                let by_folder: Vec<PolicyChoice> =
                    workflow.policies.choices_of(ConfigLayer::Workspace).cloned().collect();
                if !by_folder.is_empty() {
                    let what = TranscriptEvent::Chosen { by_folder };
                    lines.push(TranscriptLine { seq, at, phase: None, session: None, what });
                }
                if let Some(found) = workflow.shared_files {
                    let what = TranscriptEvent::Shared { found };
                    lines.push(TranscriptLine { seq, at, phase: None, session: None, what });
                }
            }
            Input::Agent { session, event } => self.event(seq, at, session, event, lines),
            Input::SessionEnded { session, exit } => {
                self.said(&session, lines);
                let (gone, left) =
                    std::mem::take(&mut self.calls).into_iter().partition(|((of, _), _)| *of == session);
                self.calls = left;
                lines.extend(BTreeMap::into_values(gone));
                lines.push(self.line(seq, at, session, TranscriptEvent::Ended { exit }));
            }
            Input::Outcome { action, outcome } => {
                let what = match (self.open.remove(&action), outcome) {
                    (
                        Some(Action::Verify { phase, command, .. }),
                        ActionOutcome::Verified { passed, code, findings, .. },
                    ) => {
                        let findings = if passed { String::new() } else { findings };
                        Some((phase, TranscriptEvent::Checked { command, passed, code, findings }))
                    }
                    (
                        Some(Action::MeasureWorkspace { phase, .. }),
                        ActionOutcome::WorkspaceMeasured { facts },
                    ) => self.changed(&phase, facts).map(|what| (phase, what)),
                    _ => None,
                };
                if let Some((phase, what)) = what {
                    lines.push(TranscriptLine { seq, at, phase: Some(phase), session: None, what });
                }
            }
            _ => {}
        }
    }

    fn event(
        &mut self,
        seq: Seq,
        at: UnixMs,
        session: SessionId,
        event: AgentEvent,
        lines: &mut Vec<TranscriptLine>,
    ) {
        if event.separates_messages()
            && let Some(saying) = self.saying.get_mut(&session)
        {
            saying.is_complete = true;
        }
        let what = match event {
            AgentEvent::Text { text } => {
                let new = || OpenMessage { seq, at, text: String::new(), is_complete: false };
                let saying = self.saying.entry(session.clone()).or_insert_with(new);
                saying.push(&text);
                if saying.text.len() > MESSAGE_BYTES {
                    self.said(&session, lines);
                }
                return;
            }
            AgentEvent::ToolCall { id, name, reads, writes, command } => {
                self.said(&session, lines);
                let what = TranscriptEvent::Called {
                    tool: name,
                    command,
                    reads,
                    writes,
                    failed: None,
                    returned: false,
                    output: String::new(),
                };
                let line = self.line(seq, at, session.clone(), what);
                if let Some(before) = self.calls.insert((session, id), line) {
                    lines.push(before);
                }
                return;
            }
            AgentEvent::ToolOutput { id, text, failed: how, .. } => {
                if let Some(mut line) = self.calls.remove(&(session, id)) {
                    if let TranscriptEvent::Called { failed, returned, output, .. } = &mut line.what {
                        (*failed, *returned, *output) = (how, true, text);
                    }
                    lines.push(line);
                }
                return;
            }
            AgentEvent::Signal(signal) => {
                TranscriptEvent::Signal { channel: signal.channel, code: signal.code, text: signal.text }
            }
            AgentEvent::ApprovalRequested { title } => TranscriptEvent::Asks { title },
            AgentEvent::Refused(refusal) => TranscriptEvent::Refused { refusal },
            AgentEvent::Compacted { .. } => TranscriptEvent::Compacted,
            AgentEvent::PromptEnded { stop_reason, is_error } => {
                TranscriptEvent::Answered { stop_reason, is_error }
            }
            _ => return,
        };
        self.said(&session, lines);
        lines.push(self.line(seq, at, session, what));
    }

    /// What an agent has said until now is a message.
    fn said(&mut self, session: &SessionId, lines: &mut Vec<TranscriptLine>) {
        if let Some(OpenMessage { seq, at, text, .. }) = self.saying.remove(session)
            && !text.trim().is_empty()
        {
            lines.push(self.line(seq, at, session.clone(), TranscriptEvent::Said { text }));
        }
    }

    /// What differs from the last look at the files of a phase.
    fn changed(&mut self, phase: &PhaseId, facts: WorkspaceFacts) -> Option<TranscriptEvent> {
        let now: BTreeMap<String, (Option<Digest>, bool)> =
            facts.changed.into_iter().map(|file| (file.path, (file.digest, file.exists))).collect();
        let known = self.known.entry(phase.clone()).or_default();
        let files: Vec<String> = now
            .iter()
            .filter(|(path, state)| known.get(*path) != Some(state))
            .map(|(path, (_, exists))| if *exists { path.clone() } else { format!("-{path}") })
            .collect();
        *known = now;
        (!files.is_empty()).then_some(TranscriptEvent::Changed { files, beyond: facts.changed_beyond })
    }

    fn line(&self, seq: Seq, at: UnixMs, session: SessionId, what: TranscriptEvent) -> TranscriptLine {
        TranscriptLine { seq, at, phase: self.phases.get(&session).cloned(), session: Some(session), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_message_of_an_agent_begins_on_a_line_of_its_own() {
        let mut saying = OpenMessage { seq: Seq(1), at: UnixMs(0), text: String::new(), is_complete: true };
        saying.push("Work");
        saying.push("ing.");
        saying.is_complete = true;
        saying.push("It is written.\n");
        saying.is_complete = true;
        saying.push("Done: a");
        assert_eq!(saying.text, "Working.\nIt is written.\nDone: a");
    }
}
