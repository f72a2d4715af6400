//! Plays a recording to the state machine of every run: the recorded agent's events are the inputs, and core's intents get the
//! recorded outcomes. Performs nothing and writes nothing. The run ends if core wants something that is not recorded.

mod effects;
mod sessions;

use std::collections::{BTreeSet, VecDeque};

use baton_core::decision::{Assessment, CompletionDecision, Decision};
use baton_core::facts::WorkspaceFacts;
use baton_core::observation::{AssessTrigger, CompletionObservation, PolicyQuery};
use baton_core::view::PhaseStatus;
use baton_core::workflow::ImportedRecording;
use baton_core::{
    Action, ActionId, ActionOutcome, DurationMs, Input, Intent, JournaledInput, RequestId, Run, Seq,
    SessionId, UnixMs,
};
use baton_engine::RoutedDecision;
use baton_store::JournalEntry;

use super::ImportError;
use super::import_context::{BuiltinDecider, ImportContext};
use super::recorded_decisions;
use super::report::{ImportNote, ImportNotes, ImportReport, ImportedVerdict};
use super::timeline::{Timeline, TimelineEvent};

pub(super) use effects::ImportedDocument;

/// Time between two events of a recording that has no times.
const SPACING: DurationMs = DurationMs::from_secs(1);

/// The words for a prompt that was answered: its objectives are done, or not.
const DONE: &str = "completed";
const UNFINISHED: &str = "unfinished";

/// Rows of a run at most: all of them are one transaction, and in memory until then.
const ENTRIES_MAX: usize = 1_000_000;

/// What a run came to that was made from a recording.
#[derive(Debug)]
pub(super) struct ImportedRun {
    pub(super) run: Run,
    pub(super) entries: Vec<JournalEntry>,
    pub(super) documents: Vec<ImportedDocument>,
    pub(super) at: UnixMs,
    sessions: u32,
    prompts: u32,
    events: u64,
    decisions: u64,
    decided_by_recording: u64,
    verdicts: Vec<ImportedVerdict>,
    notes: ImportNotes,
    stopped: Option<ImportNote>,
}

impl ImportedRun {
    /// Objectives that the recording shows: each answered prompt was one, and unfinished work is one more.
    pub(super) fn objectives(&self) -> usize {
        let done = self.run.view(self.at).map_or(0, |view| view.objectives().0) as usize;
        let is_open = self.verdicts.last().is_none_or(|last| last.verdict != DONE);
        (done + usize::from(is_open)).max(1)
    }

    /// What there is to say of it.
    pub(super) fn report(&self, script: &Timeline, imported: ImportedRecording) -> ImportReport {
        ImportReport {
            imported,
            status: self.run.status(),
            sessions: self.sessions,
            sessions_recorded: u32::try_from(script.sessions.len()).unwrap_or(u32::MAX),
            prompts: self.prompts,
            prompts_recorded: script
                .sessions
                .iter()
                .map(|session| u32::try_from(session.prompts.len()).unwrap_or(u32::MAX))
                .fold(0, u32::saturating_add),
            events: self.events,
            entries: self.entries.len() as u64,
            decisions: self.decisions,
            decisions_of_the_recording: self.decided_by_recording,
            masked_lines: script.masked_lines,
            verdicts: self.verdicts.clone(),
            notes: self.notes.notes.clone(),
            notes_beyond: self.notes.omitted,
            stopped: self.stopped.clone(),
        }
    }
}

/// Plays a recording as the work on this number of objectives.
pub(super) fn play(
    script: &Timeline,
    setting: &ImportContext<'_>,
    decider: &BuiltinDecider,
    objectives: usize,
) -> Result<ImportedRun, ImportError> {
    let at = script.began_at().unwrap_or(setting.request.moment.at);
    let mut player = ImportPlayer {
        script,
        setting,
        decider,
        wanted: VecDeque::new(),
        seq: Seq(0),
        shift: DurationMs(0),
        sessions_started: 0,
        prompt: 0,
        at_work: None,
        is_off_recording: false,
        written: BTreeSet::new(),
        facts: WorkspaceFacts::default(),
        place: (0, 1),
        played: ImportedRun {
            run: Run::new(),
            entries: Vec::new(),
            documents: Vec::new(),
            at,
            sessions: 0,
            prompts: 0,
            events: 0,
            decisions: 0,
            decided_by_recording: 0,
            verdicts: Vec::new(),
            notes: ImportNotes::default(),
            stopped: None,
        },
    };
    player.take(setting.started(objectives, decider.bindings()))?;
    player.play_to_end()?;
    Ok(player.played)
}

struct ImportPlayer<'p> {
    script: &'p Timeline,
    setting: &'p ImportContext<'p>,
    decider: &'p BuiltinDecider,
    /// What core wants, oldest first.
    wanted: VecDeque<Intent>,
    seq: Seq,
    /// How much later than recorded everything is: a wait that core insists on was shorter in the recording.
    shift: DurationMs,
    /// Sessions that have begun.
    sessions_started: usize,
    /// Prompts of the newest of them that were sent.
    prompt: usize,
    at_work: Option<SessionId>,
    /// Core ended a session that continues in the recording: its later events cannot be used.
    is_off_recording: bool,
    /// Paths that tools wrote.
    written: BTreeSet<String>,
    facts: WorkspaceFacts,
    /// File and line of the newest event.
    place: (usize, u64),
    played: ImportedRun,
}

impl<'p> ImportPlayer<'p> {
    fn play_to_end(&mut self) -> Result<(), ImportError> {
        // A tick without anything recorded behind it moves a run on a few steps at most.
        let mut ticks_left = 8 + 4 * (self.script.sessions.len() + self.script.prompts());
        loop {
            self.answer_questions()?;
            if let Some(intent) = self.wanted.pop_front() {
                self.perform(intent)?;
                continue;
            }
            if self.played.run.ending().is_some() {
                return Ok(());
            }
            let deadline = self.played.run.next_deadline();
            match deadline.filter(|_| ticks_left > 0 && (self.has_more() || !self.waits_for_provider())) {
                Some(deadline) => {
                    ticks_left -= 1;
                    self.wait_until(deadline);
                    self.take(Input::Tick)?;
                }
                None => return self.stop(),
            }
        }
    }

    /// Stops the run: the recording is over while the run still waits for something.
    fn stop(&mut self) -> Result<(), ImportError> {
        let why = match self.waits_for_provider() {
            true => "the recording ends while a provider's limit is waited for",
            false => "the recording ends while the run waits",
        };
        self.set_stop_reason(why.to_owned());
        self.take(Input::StopRequested)?;
        while let Some(intent) = self.wanted.pop_front() {
            self.perform(intent)?;
        }
        // So that no later run of the same name continues this one.
        self.take(Input::SetAside)
    }

    fn waits_for_provider(&self) -> bool {
        let view = self.played.run.view(self.played.at);
        view.is_some_and(|view| view.phases.iter().any(|phase| phase.status == PhaseStatus::WaitingQuota))
    }

    /// Whether the recording shows anything that has not been played.
    fn has_more(&self) -> bool {
        !self.is_off_recording
            && (self.sessions_started < self.script.sessions.len() || self.pending_prompts().is_some())
    }

    /// The session at work, and its prompts that are still to come, if any are.
    fn pending_prompts(&self) -> Option<&'p [Vec<TimelineEvent>]> {
        let session = &self.script.sessions[self.sessions_started.checked_sub(1)?];
        session.prompts.get(self.prompt..).filter(|rest| !rest.is_empty())
    }

    /// Applies an input, and writes it down with what follows from it.
    fn take(&mut self, input: Input) -> Result<(), ImportError> {
        let (file, line) = self.place;
        let file = || self.script.files.get(file).cloned().unwrap_or_default();
        let stamped = JournaledInput { seq: self.seq.next(), at: self.played.at, input };
        let refused = |error: baton_core::run::IllegalInput| ImportError::Impossible {
            file: file(),
            line,
            why: error.to_string(),
        };
        let intents = self.played.run.apply(&stamped).map_err(refused)?;
        self.seq = stamped.seq;
        self.played.entries.push(JournalEntry::Input(stamped));
        for intent in intents.into_iter().filter(|intent| !matches!(intent.action, Action::Notify(_))) {
            self.seq = self.seq.next();
            let entry = JournalEntry::Intent { seq: self.seq, at: self.played.at, intent: intent.clone() };
            self.played.entries.push(entry);
            self.wanted.push_back(intent);
        }
        match self.played.entries.len() > ENTRIES_MAX {
            true => Err(ImportError::TooLong { file: file(), line, rows: ENTRIES_MAX }),
            false => Ok(()),
        }
    }

    fn outcome(&mut self, action: ActionId, outcome: ActionOutcome) -> Result<(), ImportError> {
        self.take(Input::Outcome { action, outcome })
    }

    /// Answers every question that is open, before anything else happens.
    fn answer_questions(&mut self) -> Result<(), ImportError> {
        let is_question = |intent: &Intent| matches!(intent.action, Action::RequestDecision { .. });
        while let Some(at) = self.wanted.iter().position(is_question) {
            if let Some(Intent { action: Action::RequestDecision { request_id, request, scope }, .. }) =
                self.wanted.remove(at)
            {
                let decided = self.decider.decide(&scope, &request);
                self.decided(request_id, &request.query, decided)?;
            }
        }
        Ok(())
    }

    fn decided(
        &mut self,
        request_id: RequestId,
        query: &PolicyQuery,
        decided: RoutedDecision,
    ) -> Result<(), ImportError> {
        let RoutedDecision { mut result, mut label, .. } = decided;
        self.played.decisions += 1;
        if let Ok(decision) = &result
            && let Some((shown, what)) = recorded_decisions::recorded_decision(query, decision, &label.policy)
        {
            self.played.decided_by_recording += 1;
            self.note(format!("{} would have {what}: {}", label.policy, decision.reason()));
            label = recorded_decisions::label(&label);
            result = Ok(shown);
        }
        match (query, &result) {
            (PolicyQuery::Exhaustion(seen), Ok(Decision::Exhaustion(said))) => {
                self.judged(seen.occasion, said)
            }
            (PolicyQuery::Completion(seen), Ok(Decision::Completion(said))) => {
                self.record_completion(seen, said)
            }
            _ => {}
        }
        self.take(Input::Decided { request_id, result, label: Box::new(label) })
    }

    /// Keeps the verdict on a prompt or a session that is over.
    fn judged(&mut self, occasion: AssessTrigger, said: &Assessment) {
        if matches!(occasion, AssessTrigger::PromptEnded | AssessTrigger::SessionEnded) {
            let (file, line) = self.place;
            self.played.verdicts.push(ImportedVerdict {
                file: self.script.files.get(file).cloned().unwrap_or_default(),
                line,
                session: self.at_work.clone(),
                prompt: u32::try_from(self.prompt).unwrap_or(u32::MAX),
                verdict: said.verdict.name(),
                reason: said.reason.clone(),
            });
        }
    }

    /// Keeps of a prompt that was answered whether its objectives are done.
    fn record_completion(&mut self, seen: &CompletionObservation, said: &CompletionDecision) {
        let is_done = seen.session.objectives.iter().all(|objective| said.done.contains(&objective.id));
        if let Some(last) = self.played.verdicts.last_mut() {
            last.verdict = if is_done { DONE } else { UNFINISHED };
            last.reason.clone_from(&said.reason);
        }
    }

    /// The time of the next event.
    fn advance_time(&mut self, at: Option<UnixMs>) {
        let next = match at {
            Some(at) => at + self.shift,
            None if self.script.has_times() => self.played.at,
            None => self.played.at + SPACING,
        };
        self.played.at = self.played.at.max(next);
    }

    /// Core waits until the deadline. If the recorded agent waited for a shorter time, all later events are shifted by the
    /// difference.
    fn wait_until(&mut self, deadline: UnixMs) {
        self.played.at = self.played.at.max(deadline);
        let next = self.upcoming().and_then(|told| told.at);
        if let Some(next) = next {
            let late = self.played.at.since(next + self.shift);
            if late > DurationMs(0) {
                self.shift = self.shift + late;
                self.note(format!(
                    "the run waits {late} longer here than the recorded agent did; all later times are later by that"
                ));
            }
        }
    }

    /// The next event of the recording.
    fn upcoming(&self) -> Option<&'p TimelineEvent> {
        match self.pending_prompts() {
            Some(prompts) => prompts.iter().flatten().next(),
            None => {
                let next = self.script.sessions.get(self.sessions_started)?;
                next.startup.iter().chain(next.prompts.iter().flatten()).next()
            }
        }
    }

    fn note(&mut self, what: String) {
        let note = self.here(what);
        self.played.notes.add(note);
    }

    /// The first reason counts: others follow from it.
    fn set_stop_reason(&mut self, what: String) {
        let here = self.here(what);
        self.played.stopped.get_or_insert(here);
    }

    fn here(&self, what: String) -> ImportNote {
        let (file, line) = self.place;
        ImportNote { file: self.script.files.get(file).cloned().unwrap_or_default(), line, what }
    }
}
