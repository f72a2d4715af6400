//! What the journal tells beyond the state of a run: when phases and sessions began and ended, how a session left its run,
//! and one line for every event that matters. Folded entry by entry, so a live run and a recovery have the same. Writes
//! nothing.

use std::collections::{BTreeMap, VecDeque};

use baton_core::input::{AgentReport, ArtifactRef};
use baton_core::observation::ObjectiveStatus;
use baton_core::progress::ProgressEvent;
use baton_core::view::{PhaseOrigin, PhaseStatus, RunView};
use baton_core::{
    Action, ActionOutcome, Input, Intent, JournaledInput, ObjectiveId, PhaseId, Run, Seq, SessionId, UnixMs,
};

use super::session_results::ReturnedSplit;
use super::text_format::{list, one_line};

/// Lines that are kept: a run of days. Older ones are in the journal, and the file says how many.
const LINES: usize = 2_000;
/// Artifacts that are named with the session that left them: the newest. All of them are in the store.
const SAVED: usize = 200;

/// Facts of a journal that core has no use for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunTimeline {
    /// Position of the newest input.
    pub(super) seq: Seq,
    /// Its time.
    pub(super) at: UnixMs,
    pub(super) phases: BTreeMap<PhaseId, PhaseSpan>,
    pub(super) sessions: BTreeMap<SessionId, SessionSpan>,
    /// The newest session of each phase: its own until the next one begins.
    current: BTreeMap<PhaseId, SessionId>,
    /// Those that have ended, in that order.
    pub(super) ended: Vec<SessionId>,
    pub(super) lines: VecDeque<String>,
    pub(super) lines_dropped: u64,
}

/// A phase from its beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PhaseSpan {
    pub(super) began: UnixMs,
    /// Time of its newest event that has a line in the log.
    pub(super) updated: UnixMs,
    pub(super) done: Option<UnixMs>,
}

/// A session from its beginning to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionSpan {
    pub(super) phase: PhaseId,
    pub(super) began: UnixMs,
    pub(super) left: Option<SessionExit>,
    /// What the policy said of its end.
    pub(super) reason: String,
    /// What it said of the objective that it reported as failed last: the id and its words.
    pub(super) failed: Option<(ObjectiveId, String)>,
    /// The smaller scopes that it asked for last.
    pub(super) split_request: Option<ReturnedSplit>,
    /// What it left in the store, oldest first; of each name its newest version.
    pub(super) saved: VecDeque<ArtifactRef>,
}

/// How a session left its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionExit {
    pub(super) at: UnixMs,
    pub(super) phases_completed: u32,
    pub(super) phases_total: u32,
    pub(super) done: Vec<String>,
    pub(super) open: Vec<String>,
}

impl RunTimeline {
    /// Takes an input and its intents; `run` has applied the input.
    pub(crate) fn note(&mut self, run: &Run, stamped: &JournaledInput, intents: &[Intent]) {
        self.seq = stamped.seq;
        self.at = self.at.max(stamped.at);
        // Before a session that this input may have begun is known: the saved artifacts are not that session's.
        self.assign_artifacts(run, &stamped.input);
        self.record_report(run, &stamped.input);
        for intent in intents {
            if let Action::Notify(notice) = &intent.action {
                self.on_notice(notice);
            }
        }
        // No other input ends a session, and most inputs are of other kinds.
        let may_end =
            matches!(stamped.input, Input::SessionEnded { .. } | Input::Resumed | Input::Outcome { .. });
        if may_end && self.sessions.len() > self.ended.len() {
            self.record_exits(run);
        }
    }

    /// Whether a notice tells of something that is not to be lost, be it only for a moment.
    pub(crate) fn matters(notice: &ProgressEvent) -> bool {
        matches!(
            notice,
            ProgressEvent::ObjectiveDone { .. }
                | ProgressEvent::Reopened { .. }
                | ProgressEvent::PhaseDone { .. }
                | ProgressEvent::Stopped { .. }
                | ProgressEvent::Paused { .. }
                | ProgressEvent::Split { .. }
                | ProgressEvent::QuotaWait { .. }
                | ProgressEvent::QuotaOver { .. }
        )
    }

    /// Keeps a session's report on its own end: why it failed, and the smaller scopes that it asks for.
    fn record_report(&mut self, run: &Run, input: &Input) {
        let Input::Reported { session, report, .. } = input else { return };
        let alive = run.live_sessions();
        let session = match (session, alive.as_slice()) {
            (Some(session), _) => session,
            (None, [only]) => only,
            (None, _) => return,
        };
        let Some(life) = self.sessions.get_mut(session) else { return };
        match report {
            AgentReport::ObjectiveUpdate { objective, status: ObjectiveStatus::Failed, note } => {
                life.failed = Some((objective.clone(), one_line(note)));
            }
            AgentReport::SplitRequest { groups, rationale } => {
                let (groups, rationale) = (groups.clone(), one_line(rationale));
                life.split_request = Some(ReturnedSplit { groups, rationale });
            }
            _ => {}
        }
    }

    /// Whatever was saved belongs to the session that says so, or to the one that its phase had at that time.
    fn assign_artifacts(&mut self, run: &Run, input: &Input) {
        let (from, saved): (_, &[ArtifactRef]) = match input {
            Input::Reported { session, report: AgentReport::ArtifactSaved { artifact }, .. } => {
                (session.as_ref(), std::slice::from_ref(artifact))
            }
            Input::Outcome { outcome: ActionOutcome::SummariesWritten { artifacts }, .. } => {
                (None, artifacts)
            }
            Input::Outcome { outcome: ActionOutcome::Verified { artifact: Some(artifact), .. }, .. } => {
                (None, std::slice::from_ref(artifact))
            }
            _ => return,
        };
        for artifact in saved {
            // An artifact that core did not take belongs to no session.
            let Some(phase) = run.holder(artifact) else { continue };
            let session =
                from.filter(|id| self.sessions.contains_key(id)).or_else(|| self.current.get(phase));
            let Some(life) = session.and_then(|id| self.sessions.get_mut(id)) else { continue };
            life.saved.retain(|known| known.name != artifact.name);
            if life.saved.len() == SAVED {
                life.saved.pop_front();
            }
            life.saved.push_back(artifact.clone());
        }
    }

    fn on_notice(&mut self, notice: &ProgressEvent) {
        match notice {
            // The first beginning counts: a phase that begins again after a restart is the same phase.
            ProgressEvent::PhaseStarted { phase, .. } => {
                let spell = PhaseSpan { began: self.at, updated: self.at, done: None };
                self.phases.entry(phase.clone()).or_insert(spell).done = None;
            }
            ProgressEvent::PhaseDone { phase } => {
                if let Some(spell) = self.phases.get_mut(phase) {
                    spell.done = Some(self.at);
                }
            }
            ProgressEvent::SessionStarted { phase, session, .. } => {
                let life = SessionSpan {
                    phase: phase.clone(),
                    began: self.at,
                    left: None,
                    reason: String::new(),
                    failed: None,
                    split_request: None,
                    saved: VecDeque::new(),
                };
                self.sessions.insert(session.clone(), life);
                self.current.insert(phase.clone(), session.clone());
            }
            ProgressEvent::Stopped { session, reason, .. } => {
                if let Some(life) = self.sessions.get_mut(session) {
                    life.reason = one_line(reason);
                }
            }
            _ => {}
        }
        if let Some((phase, session, text)) = line(notice) {
            if let Some(spell) = phase.and_then(|phase| self.phases.get_mut(phase)) {
                spell.updated = self.at;
            }
            let (phase, session) =
                (phase.map_or("-", PhaseId::as_str), session.map_or("-", SessionId::as_str));
            if self.lines.len() == LINES {
                self.lines.pop_front();
                self.lines_dropped += 1;
            }
            self.lines.push_back(format!("{}  {phase}  {session}  {text}", self.at.rfc3339()));
        }
    }

    fn record_exits(&mut self, run: &Run) {
        let alive = run.live_sessions();
        let gone: Vec<SessionId> = self
            .sessions
            .iter()
            .filter(|(id, life)| life.left.is_none() && !alive.contains(id))
            .map(|(id, _)| id.clone())
            .collect();
        let Some(view) = run.view(self.at).filter(|_| !gone.is_empty()) else { return };
        let (phases_completed, phases_total) = phases_of_workflow(&view);
        for id in gone {
            let Some(life) = self.sessions.get_mut(&id) else { continue };
            let goals = view.phases.iter().filter(|phase| phase.id == life.phase);
            let (done, open): (Vec<_>, Vec<_>) = goals
                .flat_map(|phase| &phase.objectives)
                .partition(|objective| objective.status == ObjectiveStatus::Done);
            let ids = |rows: Vec<&baton_core::view::ObjectiveSummary>| {
                rows.iter().map(|row| row.id.to_string()).collect::<Vec<_>>()
            };
            life.left = Some(SessionExit {
                at: self.at,
                phases_completed,
                phases_total,
                done: ids(done),
                open: ids(open),
            });
            self.ended.push(id);
        }
    }
}

/// How many phases of the workflow are done, and how many it has: parts, reviews and merges are the host's own.
pub(super) fn phases_of_workflow(view: &RunView) -> (u32, u32) {
    let phases = view.phases.iter().filter(|phase| phase.origin == PhaseOrigin::Workflow);
    phases.fold((0, 0), |(done, all), phase| (done + u32::from(phase.status == PhaseStatus::Done), all + 1))
}

/// The line of an event, for events that matter to the next session.
fn line(notice: &ProgressEvent) -> Option<(Option<&PhaseId>, Option<&SessionId>, String)> {
    let line = match notice {
        ProgressEvent::PhaseStarted { phase, title, objectives } => {
            (Some(phase), None, format!("phase begins: {} ({objectives} objectives)", one_line(title)))
        }
        ProgressEvent::SessionStarted { phase, session, agent, continuation, of, remaining, .. } => {
            let which = match continuation {
                0 => format!("{agent} starts"),
                k => format!(
                    "continuation {k} of {of}: a new {agent} takes over; remaining: {}",
                    list(remaining)
                ),
            };
            (Some(phase), Some(session), which)
        }
        ProgressEvent::ObjectiveDone { phase, objective, basis, done, of, .. } => {
            (Some(phase), None, format!("done: {objective}, {} ({done} of {of})", basis.words()))
        }
        ProgressEvent::NotReviewed { phase } => {
            (Some(phase), None, "not reviewed: no review gave a score".to_owned())
        }
        ProgressEvent::Unseen { phase, files } => {
            (Some(phase), None, format!("ignored by git, and not a part of it: {}", list(files)))
        }
        ProgressEvent::LeftOut { phase, files } => {
            (Some(phase), None, format!("made by its commands, and not a part of it: {}", list(files)))
        }
        ProgressEvent::SplitDeclined { phase, because } => {
            (Some(phase), None, format!("not split, as its agent asked: {}", one_line(because)))
        }
        ProgressEvent::Reopened { phase, objective, because } => {
            (Some(phase), None, format!("open again: {objective}; {}", one_line(because)))
        }
        ProgressEvent::OutputOmitted { phase, session, events, text_bytes } => {
            let omitted =
                format!("printed too fast: {text_bytes} bytes of text and {events} events left out");
            (Some(phase), Some(session), omitted)
        }
        ProgressEvent::Refused { phase, session, refusal } => {
            let refused =
                format!("not allowed by the {}: to {}", refusal.by(), one_line(&refusal.to_string()));
            (Some(phase), Some(session), refused)
        }
        ProgressEvent::Compacted { phase, session, asked, .. } => {
            let by = if *asked { "Baton" } else { "the agent" };
            (Some(phase), Some(session), format!("context compacted by {by}"))
        }
        ProgressEvent::Stopped { phase, session, verdict, reason, .. } => {
            (Some(phase), Some(session), format!("{verdict}: {}", one_line(reason)))
        }
        ProgressEvent::HandedOff { phase, session, path, remaining } => {
            (Some(phase), Some(session), format!("handoff: {path}; remaining: {}", list(remaining)))
        }
        ProgressEvent::QuotaWait { phase, session, cause, until, .. } => {
            let until = until.map(|until| format!(" until {}", until.rfc3339())).unwrap_or_default();
            (Some(phase), Some(session), format!("waits for the provider ({cause}){until}"))
        }
        ProgressEvent::QuotaOver { phase, session, waited, .. } => {
            (Some(phase), Some(session), format!("the wait for the provider is over, after {waited}"))
        }
        ProgressEvent::Retrying { phase, attempt, of, because, .. } => {
            (Some(phase), None, format!("retry {attempt} of {of}: {}", one_line(because)))
        }
        ProgressEvent::Split { phase, sub_phases, .. } => {
            let parts: Vec<&PhaseId> = sub_phases.iter().map(|(id, _)| id).collect();
            (Some(phase), None, format!("split into {}", list(&parts)))
        }
        ProgressEvent::CheckedFirst { phase, command, passed, .. } => {
            let word = if *passed { "passes" } else { "fails" };
            (Some(phase), None, format!("before the work `{}` {word}", one_line(command)))
        }
        ProgressEvent::Verified { phase, passed, attempt, .. } => {
            let word = if *passed { "passed" } else { "failed" };
            (Some(phase), None, format!("verification {word} (attempt {attempt})"))
        }
        ProgressEvent::CheckChanged { phase, command, files } => {
            let text = format!("the work changed {}, which `{}` runs", files.join(", "), one_line(command));
            (Some(phase), None, text)
        }
        ProgressEvent::PhaseDone { phase } => (Some(phase), None, "phase done".to_owned()),
        ProgressEvent::Paused { phase, text, .. } => {
            (phase.as_ref(), None, format!("waits for a person: {}", one_line(text)))
        }
        ProgressEvent::Answered { choice, .. } => {
            (None, None, format!("a person answered: {}", choice.name()))
        }
        ProgressEvent::Resumed { .. } => (None, None, "a host took the run up again".to_owned()),
        ProgressEvent::Finished { .. } => (None, None, "the run is over".to_owned()),
        _ => return None,
    };
    Some(line)
}
