//! What a run came to, in numbers: the outcomes that experiments and simulations compare. A fold over inputs and what core
//! wanted after each; judges nothing, and compares nothing.

mod completed_objectives;
mod policy_counts;

use std::collections::{BTreeMap, BTreeSet};

use baton_core::action::{Action, RunOutcome};
use baton_core::decision::Fault;
use baton_core::experiment::Assignment;
use baton_core::facts::AgentEvent;
use baton_core::progress::ProgressEvent;
use baton_core::view::{RunStatus, RunView};
use baton_core::{Digest, Input, Intent, JournaledInput, PhaseId, Run, RunId, SessionId, UnixMs, Workflow};
use baton_store::{Journal, JournalEntry};
use serde::{Deserialize, Serialize};

pub use completed_objectives::CompletionBasis;
pub use policy_counts::{PolicyCounts, PolicyFailures, add_asked};

use crate::LabError;
use crate::context_outcome::{ClosedContext, ContextOutcome, ContextTracker};
use completed_objectives::CompletedObjectives;
use policy_counts::PolicyCounter;

/// Files of a run whose writers are remembered; beyond them rework is counted no further. No run that people would read
/// about changes more.
const FILES_MAX: usize = 100_000;

/// Status of a run, as an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunResult {
    /// Every objective is done.
    Done,
    /// It is over, and some objectives stay open.
    Unfinished,
    /// The user stopped it, or started the same work again: it may never continue.
    Stopped,
    /// It waits for the user.
    Waiting,
    /// It is at work, or its host died.
    Running,
}

impl RunResult {
    /// Whether its measures are final.
    pub fn is_final(self) -> bool {
        matches!(self, RunResult::Done | RunResult::Unfinished)
    }
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunMetrics {
    /// Which run.
    pub run: RunId,
    /// Name of its workflow.
    pub workflow: String,
    /// The same for runs of the same work: runs of one task are not independent evidence.
    pub task: Digest,
    /// Its assignments in experiments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignments: Vec<Assignment>,
    /// When it began.
    pub started_at: UnixMs,
    /// Its status.
    pub standing: RunResult,
    /// Objectives of the workflow.
    pub objectives: u32,
    /// Those that have a check: a command of their own, or of their phase.
    pub checkable: u32,
    /// Those that are done and checked.
    pub completed: u32,
    /// Those that are done and were claimed only: an agent reported them, files changed, or it answered.
    pub claimed: u32,
    /// Tokens billed, input and output.
    pub tokens: u64,
    /// Cost in millionths of a dollar, where agents report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<u64>,
    /// Wall time without quota waits and pauses.
    pub active_ms: u64,
    /// Time that was spent waiting for providers.
    pub quota_wait_ms: u64,
    /// Turns of all sessions.
    pub turns: u32,
    /// Turns after the last objective that a session finished, if it then stopped without being done.
    pub wasted_turns: u32,
    /// Agent processes.
    pub sessions: u32,
    /// Handoffs written.
    pub handoffs: u32,
    /// Compactions of contexts, by the agent or on request of the host.
    pub compactions: u32,
    /// Phases that were split.
    pub splits: u32,
    /// Files that a session wrote and an earlier one of its phase had written.
    pub rework_files: u32,
    /// Sessions whose context was used up, by their agent's protocol, their provider or a full window, regardless of the
    /// policy's verdict.
    pub exhaustions: u32,
    /// Exhaustions without an earlier warning of a policy.
    pub missed: u32,
    /// Sessions that were warned of, and that ended without exhaustion and without a compaction or handoff.
    pub false_alarms: u32,
    /// Turns from the first warning to the exhaustion, one for each exhaustion that was warned of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lead_turns: Vec<u32>,
    /// Failures that were tried again.
    pub retries: u32,
    /// Decisions.
    pub decisions: u64,
    /// Faults of components that were asked; another one decided then.
    pub faults: u64,
    /// Those of them in which the time ran out.
    pub timeouts: u64,
    /// Answers and failures of each policy: shows whether an arm really decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicyCounts>,
    /// The user changed a policy during the run, which no longer matches its arm.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub swapped: bool,
}

/// What is known of one session.
#[derive(Debug, Default)]
struct SessionMetrics {
    turns: u32,
    turns_at_last_objective: u32,
    warned_at_turn: Option<u32>,
    /// The context was compacted or handed over after the warning, so it is unknown whether it would have been exhausted.
    freed_after_warning: bool,
    /// Its context was used up: by evidence of the agent or the provider, regardless of the policy's verdict.
    used_up: bool,
    /// It stopped without being done.
    stopped: bool,
    ended: bool,
}

/// Takes what core took and wanted, in order; keeps a few numbers a session.
#[derive(Debug, Default)]
pub struct MetricsFold {
    sessions: BTreeMap<SessionId, SessionMetrics>,
    context_tracker: ContextTracker,
    /// Who works in a phase.
    at_work: BTreeMap<PhaseId, SessionId>,
    phase_of: BTreeMap<SessionId, PhaseId>,
    written: BTreeMap<(PhaseId, String), SessionId>,
    reworked: BTreeSet<(PhaseId, String)>,
    handoffs: u32,
    compactions: u32,
    splits: u32,
    retries: u32,
    decisions: u64,
    faults: u64,
    timeouts: u64,
    policies: PolicyCounter,
    swapped: bool,
}

impl MetricsFold {
    /// Before the first input.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an input, and what [`Run::apply`] gave for it.
    pub fn take(&mut self, stamped: &JournaledInput, intents: &[Intent]) {
        match &stamped.input {
            Input::Decided { label, .. } => {
                self.decisions += 1;
                let faults = label.faults.iter().map(|record| &record.fault);
                let faults = faults.chain(label.fallback_faults().map(|(_, fault)| fault));
                for fault in faults {
                    self.faults += 1;
                    self.timeouts += u64::from(matches!(fault, Fault::Watchdog { .. }));
                }
                self.policies.count(label);
            }
            Input::Started { bindings, .. } => self.policies.on_run_start(bindings),
            Input::Agent { session, event: AgentEvent::ToolCall { writes: Some(path), .. } } => {
                self.wrote(session, path);
            }
            Input::SessionEnded { session, .. } => self.seen(session).ended = true,
            Input::PolicyChanged { .. } => self.swapped = true,
            _ => {}
        }
        for intent in intents {
            if let Action::Notify(notice) = &intent.action {
                self.notice(notice);
            }
        }
        self.context_tracker.take(stamped, intents);
        let over = self.context_tracker.over().collect();
        self.used_up(over);
    }

    fn used_up(&mut self, over: Vec<ClosedContext>) {
        for context in over.into_iter().filter(|context| context.outcome == ContextOutcome::Exhausted) {
            self.seen(&context.context.session).used_up = true;
        }
    }

    fn notice(&mut self, notice: &ProgressEvent) {
        match notice {
            ProgressEvent::SessionStarted { phase, session, .. } => {
                self.sessions.entry(session.clone()).or_default();
                self.at_work.insert(phase.clone(), session.clone());
                self.phase_of.insert(session.clone(), phase.clone());
            }
            ProgressEvent::Turn { session, turns, .. } => self.seen(session).turns = *turns,
            ProgressEvent::Warned { session, .. } => {
                let seen = self.seen(session);
                seen.warned_at_turn = seen.warned_at_turn.or(Some(seen.turns));
            }
            ProgressEvent::ObjectiveDone { phase, .. } => {
                if let Some(session) = self.at_work.get(phase).cloned() {
                    let seen = self.seen(&session);
                    seen.turns_at_last_objective = seen.turns;
                }
            }
            ProgressEvent::Compacted { session, .. } => {
                self.compactions += 1;
                self.seen(session).freed_after_warning = true;
            }
            ProgressEvent::HandedOff { session, .. } => {
                self.handoffs += 1;
                self.seen(session).freed_after_warning = true;
            }
            ProgressEvent::Stopped { session, .. } => self.seen(session).stopped = true,
            ProgressEvent::Split { .. } => self.splits += 1,
            ProgressEvent::Retrying { .. } => self.retries += 1,
            _ => {}
        }
    }

    fn seen(&mut self, session: &SessionId) -> &mut SessionMetrics {
        self.sessions.entry(session.clone()).or_default()
    }

    fn wrote(&mut self, session: &SessionId, path: &str) {
        let Some(phase) = self.phase_of.get(session) else { return };
        let file = (phase.clone(), path.to_owned());
        match self.written.get(&file) {
            Some(by) if by != session => {
                self.reworked.insert(file);
            }
            None if self.written.len() < FILES_MAX => {
                self.written.insert(file, session.clone());
            }
            _ => {}
        }
    }

    /// What it came to, at the time of the last input. None of a run that never began.
    pub fn finish(mut self, run: &Run, at: UnixMs) -> Option<RunMetrics> {
        let over = self.context_tracker.end().collect();
        self.used_up(over);
        let view = run.view(at)?;
        let done = CompletedObjectives::of(&view, run.workflow());
        let sessions = self.sessions.values();
        let exhausted = || self.sessions.values().filter(|seen| seen.used_up);
        let turns = view.phases.iter().flat_map(|phase| &phase.sessions).map(|session| session.turns);
        let alarm_was_false = |seen: &&SessionMetrics| {
            seen.ended && seen.warned_at_turn.is_some() && !seen.freed_after_warning && !seen.used_up
        };
        Some(RunMetrics {
            run: view.run.clone(),
            workflow: view.workflow.clone(),
            task: task_of(run.workflow()),
            assignments: run.assignments().to_vec(),
            started_at: view.started_at,
            standing: standing(&view),
            objectives: view.objectives().1,
            checkable: done.checkable,
            completed: done.checked,
            claimed: done.claimed,
            tokens: view.billed.tokens(),
            cost_microusd: view.billed.cost_microusd,
            active_ms: view.active_ms.0,
            quota_wait_ms: view.quota_wait_ms.0,
            turns: turns.sum(),
            wasted_turns: sessions
                .clone()
                .filter(|seen| seen.stopped)
                .map(|seen| seen.turns.saturating_sub(seen.turns_at_last_objective))
                .sum(),
            sessions: count(sessions.len()),
            handoffs: self.handoffs,
            compactions: self.compactions,
            splits: self.splits,
            rework_files: count(self.reworked.len()),
            exhaustions: count(exhausted().count()),
            missed: count(exhausted().filter(|seen| seen.warned_at_turn.is_none()).count()),
            false_alarms: count(sessions.clone().filter(alarm_was_false).count()),
            lead_turns: exhausted()
                .filter_map(|seen| Some(seen.turns.saturating_sub(seen.warned_at_turn?)))
                .collect(),
            retries: self.retries,
            decisions: self.decisions,
            faults: self.faults,
            timeouts: self.timeouts,
            policies: self.policies.finish(),
            swapped: self.swapped,
        })
    }
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

fn standing(view: &RunView) -> RunResult {
    match view.status {
        RunStatus::Ended(RunOutcome::Done) => RunResult::Done,
        RunStatus::Ended(RunOutcome::Unfinished) => RunResult::Unfinished,
        RunStatus::Ended(RunOutcome::Interrupted) => RunResult::Stopped,
        _ if view.set_aside => RunResult::Stopped,
        RunStatus::Paused => RunResult::Waiting,
        RunStatus::Running => RunResult::Running,
    }
}

/// Digest of the work that a workflow asks for, independent of agents and policies.
pub fn task_of(workflow: &Workflow) -> Digest {
    let phases: Vec<_> = workflow
        .phases
        .iter()
        .map(|phase| {
            (&phase.id, phase.objectives.iter().map(|o| (&o.id, &o.description)).collect::<Vec<_>>())
        })
        .collect();
    // Texts and lists of texts always serialise to JSON.
    let text = serde_json::to_string(&(&workflow.name, &workflow.goal, phases)).unwrap_or_default();
    Digest::of(text)
}

/// What a recorded run came to.
pub fn measure(journal: &Journal, run: &RunId) -> Result<RunMetrics, LabError> {
    let (mut folded, mut measuring, mut at) = (Run::new(), MetricsFold::new(), UnixMs(0));
    for entry in journal.read(run)? {
        let JournalEntry::Input(stamped) = entry? else { continue };
        let intents = folded.apply(&stamped).map_err(|why| LabError::Refused {
            run: run.clone(),
            seq: stamped.seq,
            why: why.to_string(),
        })?;
        measuring.take(&stamped, &intents);
        at = stamped.at;
    }
    let none = || LabError::RunNotFound { run: run.clone(), journal: journal.path().to_owned() };
    measuring.finish(&folded, at).ok_or_else(none)
}

#[cfg(test)]
mod tests;
