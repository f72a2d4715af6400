//! What happened, in order: sessions, and in each the prompts that it answered. Cuts events into prompts, and judges none.

use baton_core::UnixMs;
use baton_core::facts::{AgentEvent, ProcessExit, SignalSource};

use super::detect::ImportFormat;
use super::{ImportError, RecordedFile, recorded_lines, turn_log};

/// Signals after an answer that wait to see whether another prompt begins.
const PENDING_SIGNALS_MAX: usize = 1024;

/// An event with its line and its time.
#[derive(Clone, Debug)]
pub(super) struct TimelineEvent {
    /// Line in its file, from 1.
    pub(super) line: u64,
    /// Its time, if the recording has one.
    pub(super) at: Option<UnixMs>,
    /// The event itself.
    pub(super) event: AgentEvent,
}

/// An agent process with one context window.
#[derive(Debug)]
pub(super) struct TimelineSession {
    /// Index of its file.
    pub(super) file: usize,
    /// Until it was ready.
    pub(super) startup: Vec<TimelineEvent>,
    /// Whether the recording has the event that it was ready. Without it, a session at work was ready before.
    pub(super) has_ready_event: bool,
    /// The prompts, each with the events up to its end and those after it.
    pub(super) prompts: Vec<Vec<TimelineEvent>>,
    /// How it ended, if known.
    pub(super) exit: Option<ProcessExit>,
    /// Its last line.
    pub(super) last_line: u64,
}

/// Everything that happened.
#[derive(Debug)]
pub(super) struct Timeline {
    /// In order.
    pub(super) sessions: Vec<TimelineSession>,
    /// Names of the files.
    pub(super) files: Vec<String>,
    /// Lines in which a secret was masked.
    pub(super) masked_lines: u64,
}

/// Reads the files of a recording.
pub(super) fn read(files: &[RecordedFile<'_>], format: ImportFormat) -> Result<Timeline, ImportError> {
    let (mut sessions, mut masked_lines) = (Vec::new(), 0);
    for (index, file) in files.iter().enumerate() {
        let masked = match format {
            ImportFormat::Stream(format) => {
                let (session, masked) = recorded_lines::session(file, index, format)?;
                sessions.push(session);
                masked
            }
            ImportFormat::Turns => turn_log::sessions(file, index, &mut sessions)?,
        };
        masked_lines += masked;
    }
    let files = files.iter().map(|file| file.name.to_owned()).collect();
    Ok(Timeline { sessions, files, masked_lines })
}

impl Timeline {
    /// Prompts in all; at least one, since a run has an objective.
    pub(super) fn prompts(&self) -> usize {
        self.sessions.iter().map(|session| session.prompts.len()).sum::<usize>().max(1)
    }

    /// All events, in order.
    pub(super) fn told(&self) -> impl Iterator<Item = &TimelineEvent> {
        self.sessions
            .iter()
            .flat_map(|session| session.startup.iter().chain(session.prompts.iter().flatten()))
    }

    /// When it began, if the recording has times.
    pub(super) fn began_at(&self) -> Option<UnixMs> {
        self.told().find_map(|told| told.at)
    }

    /// Whether the recording has times.
    pub(super) fn has_times(&self) -> bool {
        self.began_at().is_some()
    }
}

impl TimelineSession {
    /// Cuts the events into prompts. A new prompt begins when the agent is at work again after an answer; an error event in
    /// between belongs to the new prompt.
    pub(super) fn new(
        file: usize,
        told: Vec<TimelineEvent>,
        exit: Option<ProcessExit>,
        last_line: u64,
    ) -> Self {
        let at_work = told.iter().position(|told| is_work(&told.event));
        let ready = told.iter().position(|told| matches!(told.event, AgentEvent::Ready { .. }));
        let has_ready_event = ready.is_some_and(|ready| at_work.is_none_or(|at_work| ready < at_work));
        let until = match (has_ready_event, ready, at_work) {
            (true, Some(ready), _) => ready + 1,
            (_, _, Some(_)) => 0,
            // The session never got to work: all its events belong to the startup.
            _ => told.len(),
        };
        let was_prompted = has_ready_event || at_work.is_some();
        let mut startup = told;
        let rest = startup.split_off(until);
        let prompts = if was_prompted { split_into_prompts(rest) } else { Vec::new() };
        Self { file, startup, has_ready_event, prompts, exit, last_line }
    }

    /// The agent was prompted, so it was ready.
    pub(super) fn was_ready(&self) -> bool {
        !self.prompts.is_empty()
    }
}

fn split_into_prompts(told: Vec<TimelineEvent>) -> Vec<Vec<TimelineEvent>> {
    let mut prompts: Vec<Vec<TimelineEvent>> = Vec::new();
    let (mut prompt, mut held, mut has_ended) = (Vec::new(), Vec::new(), false);
    for told in told {
        let ends = matches!(told.event, AgentEvent::PromptEnded { .. });
        if !has_ended {
            prompt.push(told);
            has_ended = ends;
        } else if is_work(&told.event) {
            prompts.push(std::mem::take(&mut prompt));
            prompt.append(&mut held);
            prompt.push(told);
            has_ended = ends;
        } else if mentions_error(&told.event) && held.len() < PENDING_SIGNALS_MAX {
            held.push(told);
        } else {
            prompt.push(told);
        }
    }
    prompt.append(&mut held);
    prompts.push(prompt);
    prompts
}

/// Whether this shows an agent that was given something to do.
fn is_work(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::Text { .. }
            | AgentEvent::ToolCall { .. }
            | AgentEvent::ToolOutput { .. }
            | AgentEvent::Turn { .. }
            | AgentEvent::PromptEnded { .. }
    )
}

fn mentions_error(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Signal(signal)
        if matches!(signal.channel, SignalSource::AgentEvent | SignalSource::ProviderError))
}
