//! The run machine. [`Run::apply`] takes one input and returns the resulting intents; all other code here supports it.
//!
//! | file | part |
//! |---|---|
//! | `run/phase.rs`, `run/step.rs`, `run/session.rs`, `run/stopwatch.rs` | the state |
//! | `run/phase/lineage.rs`, `run/phase/loop_position.rs` | of a phase: how it came to be, and which walk of its loop it is in |
//! | `run/phase/turns.rs`, `run/phase/usage.rs` | of a phase: its turns; what it has used otherwise, and its waits |
//! | `run/phase/succession.rs`, `run/phase/assessment.rs`, `run/phase/measurements.rs` | of a phase: what its sessions are judged by, and whether another follows |
//! | `run/phase/verification_state.rs`, `run/phase/review_state.rs`, `run/phase/committed_work.rs` | of a phase: what its commands and reviews found; its commits in the workspace |
//! | `run/phase/records.rs`, `run/phase/handoffs.rs`, `run/phase/artifacts.rs` | of a phase: what its agents leave |
//! | `run/phase/split_state.rs` | of a phase: its splits |
//! | `run/handoff_state.rs`, `run/dispute_record.rs`, `run/accepted_files.rs`, `run/large_text.rs`, `run/phase_activity.rs` | parts of the state of a phase |
//! | `run/phase_list.rs`, `run/phase/objective_list.rs`, `run/run_index.rs` | the phases and their objectives in order; where something is |
//! | `run/input_validation.rs` | which inputs can happen |
//! | `run/deadlines.rs` | clocks and deadlines |
//! | `run/session_start.rs` | the first steps of a phase and of a session |
//! | `run/transitions.rs` | what follows from outcomes and events, between two prompts and at the end of a session |
//! | `run/decisions.rs` | what a policy's answer leads to |
//! | `run/verdicts.rs` | what follows from a verdict: continuation, retry, nudge |
//! | `run/judgment.rs`, `run/end_cause.rs`, `run/successor_reason.rs` | what was judged of a session, why it ended, why another follows |
//! | `run/evidence.rs`, `run/reopened_objectives.rs` | what shows that an objective is done, or that it is not |
//! | `run/dispute.rs` | what speaks against an objective whose phase is over |
//! | `run/turn_budget.rs` | the turns of a phase, and whether it gets more |
//! | `run/handoff.rs` | what a session leaves: composed, inspected, reviewed, repaired, written |
//! | `run/handoff_facts.rs` | the complete facts beside a handoff |
//! | `run/quota.rs` | waiting for a provider |
//! | `run/split.rs` | validating a split and forking a phase |
//! | `run/scheduler.rs` | who works now: places, fairness, providers |
//! | `run/checks.rs` | the commands that a phase and its objectives are held to |
//! | `run/worktree_commit.rs`, `run/branch_commits.rs` | the commit that is verified and merged; commits in the workspace |
//! | `run/verification.rs` | verification, review, and the loop that they close |
//! | `run/integration.rs` | what sub-phases made comes together: merges, conflicts, synthesis, landing |
//! | `run/part_results.rs` | what parts that share a folder wrote down |
//! | `run/pauses.rs` | questions to a person, ceilings, answers |
//! | `run/bindings.rs`, `run/policy_outcomes.rs` | who decides where, the breaker, and counts of decisions |
//! | `run/observations.rs`, `run/phase_position.rs`, `run/query_facts.rs` | the questions to a policy: what it gets to see |
//! | `run/session_view.rs` | what a policy sees of one session |
//! | `run/recorded_session.rs` | the same for a recorded stream, outside of a run |
//! | `run/tool_result_offload.rs`, `run/prompt_offload.rs` | tool results, and large texts of a prompt, that could be replaced by a reference |
//! | `run/compaction_summary.rs` | the safety net: summaries at boundaries and before a compaction |
//! | `run/lessons.rs` | what phases that are over learnt, for those that come after |
//! | `run/entry_points.rs` | the files that the host writes for agents |
//! | `run/agent_reports.rs` | what agents report |
//! | `run/conversation_resume.rs` | a session that was lost with its host continues where it was |
//! | `run/refused_calls.rs` | calls that an agent was not allowed |
//! | `run/agent_retries.rs` | retries that an agent makes by itself |
//! | `run/resume.rs`, `run/lost_work.rs` | a host takes the run up again; what was done and is gone by then |
//! | `run/past_measurements.rs`, `run/claim_status.rs` | what earlier measurements of a phase found; what was said since, before a host ended |
//! | `run/next_run_files.rs` | what may have changed of the files that the next run reads or runs |
//! | `run/run_view.rs`, `run/text_format.rs` | the state for people and programs; parts of sentences |

mod accepted_files;
mod agent_reports;
mod agent_retries;
mod bindings;
mod branch_commits;
mod checks;
mod claim_status;
mod compaction_summary;
mod conversation_resume;
mod deadlines;
mod decisions;
mod dispute;
mod dispute_record;
mod end_cause;
mod entry_points;
mod evidence;
mod handoff;
mod handoff_facts;
mod handoff_state;
mod input_validation;
mod integration;
mod judgment;
mod large_text;
mod lessons;
mod lost_work;
mod next_run_files;
mod observations;
mod part_results;
mod past_measurements;
mod pauses;
mod phase;
mod phase_activity;
mod phase_list;
mod phase_position;
mod policy_outcomes;
mod prompt_offload;
mod query_facts;
mod quota;
mod recorded_session;
mod refused_calls;
mod reopened_objectives;
mod resume;
mod run_index;
mod run_view;
mod scheduler;
mod session;
mod session_start;
mod session_view;
mod split;
mod step;
mod stopwatch;
mod successor_reason;
mod text_format;
mod tool_result_offload;
mod transitions;
mod turn_budget;
mod verdicts;
mod verification;
mod worktree_commit;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::action::{Action, Intent, RunOutcome};
use crate::experiment::Assignment;
use crate::facts::AgentEvent;
use crate::ids::{ActionId, PhaseId, RequestId, RunId, Seq, SessionId};
use crate::input::{ActionOutcome, Input, JournaledInput, PauseAnswer, PolicyBinding};
use crate::observation::ContextItem;
use crate::progress::ProgressEvent;
use crate::time::UnixMs;
use crate::workflow::paths::RunNames;
use crate::workflow::{AgentKind, Workflow};

use bindings::BindingTable;
use end_cause::EndCause;
use phase::Phase;
use phase_activity::FailedCall;
use phase_list::{PhaseIndex, PhaseList};
use policy_outcomes::PolicyOutcomes;
use run_index::RunIndex;
use session::Session;
use step::PhaseStep;
use stopwatch::Stopwatch;

pub use bindings::BindingView;
pub use input_validation::IllegalInput;
pub use lost_work::{FinishedWork, PhaseChanges};
pub use recorded_session::RecordedSession;
pub use tool_result_offload::{standalone_offload_query, wants_offload};

/// A run, folded from its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    id: RunId,
    workflow: Workflow,
    bindings: BindingTable,
    policy_outcomes: PolicyOutcomes,
    /// The policy whose answer is being taken, if it is not Baton's own.
    answering_policy: Option<String>,
    task_folder: String,
    started_at: UnixMs,
    utc_offset_minutes: i32,
    assignments: Vec<Assignment>,
    seq: Seq,
    now: UnixMs,
    /// When an agent of the run was last alive.
    agents_last_alive: UnixMs,
    /// When a host last recorded an input that only a running host can observe.
    host_last_active: UnixMs,
    last_action_id: ActionId,
    last_request_id: RequestId,
    phases: PhaseList,
    index: RunIndex,
    sessions: BTreeMap<SessionId, Session>,
    open_intents: BTreeMap<ActionId, Intent>,
    user_questions: BTreeMap<ActionId, OpenQuestion>,
    reports: agent_reports::SeenReports,
    /// Tool results that wait for a word of the policy.
    offered_results: BTreeMap<RequestId, ContextItem>,
    clock: Stopwatch,
    ceiling_raises: u32,
    stopping: bool,
    set_aside: bool,
    ending: Option<RunOutcome>,
    emitted: Vec<Intent>,
}

/// A question that waits for the user.
#[derive(Clone, Debug, PartialEq)]
struct OpenQuestion {
    phase: PhaseId,
    cause: EndCause,
    choices: Vec<PauseAnswer>,
}

impl Run {
    /// Before the first input, which must be [`Input::Started`].
    pub fn new() -> Self {
        Self {
            id: RunId::new(""),
            workflow: Workflow::default(),
            bindings: BindingTable::default(),
            policy_outcomes: PolicyOutcomes::default(),
            answering_policy: None,
            task_folder: String::new(),
            started_at: UnixMs(0),
            utc_offset_minutes: 0,
            assignments: Vec::new(),
            seq: Seq(0),
            now: UnixMs(0),
            agents_last_alive: UnixMs(0),
            host_last_active: UnixMs(0),
            last_action_id: ActionId(0),
            last_request_id: RequestId(0),
            phases: PhaseList::default(),
            index: RunIndex::default(),
            sessions: BTreeMap::new(),
            open_intents: BTreeMap::new(),
            user_questions: BTreeMap::new(),
            reports: agent_reports::SeenReports::default(),
            offered_results: BTreeMap::new(),
            clock: Stopwatch::default(),
            ceiling_raises: 0,
            stopping: false,
            set_aside: false,
            ending: None,
            emitted: Vec::new(),
        }
    }

    /// Takes one input and returns the resulting intents, in order. On an error the state is unchanged.
    pub fn apply(&mut self, stamped: &JournaledInput) -> Result<Vec<Intent>, IllegalInput> {
        self.check(stamped)?;
        self.seq = stamped.seq;
        // The clock of a machine may go back; the state's never does.
        let before = self.now;
        self.now = before.max(stamped.at);
        if self.sessions.values().any(Session::is_alive) {
            self.agents_last_alive = self.now;
        }
        if stamped.input.is_of_host_at_work() {
            self.host_last_active = self.now;
        }
        if matches!(stamped.input, Input::Resumed | Input::SetAside) {
            self.pause_clocks(before);
        }
        let about = self.phase_moved_by(&stamped.input);
        let stood = about.map(|p| self.schedule_state_of(p));
        match &stamped.input {
            Input::Started { run, workflow, bindings, task_folder, utc_offset_minutes, assignments } => {
                self.utc_offset_minutes = *utc_offset_minutes;
                assignments.clone_into(&mut self.assignments);
                self.start(run, workflow, bindings, task_folder);
            }
            Input::Resumed => self.resume(),
            Input::ClaimsUnmeasured { is_folder_replaced } => self.on_claims_unmeasured(*is_folder_replaced),
            Input::WorkLost { phase, files, beyond, includes_accepted } => {
                self.on_work_lost(phase, files, *beyond, *includes_accepted);
            }
            Input::Tick => self.tick(),
            Input::Outcome { action, outcome } => self.on_action_outcome(*action, outcome),
            Input::Agent { session, event } => self.on_agent_event(session, event),
            Input::SessionEnded { session, exit } => self.on_session_exited(session, *exit),
            Input::Decided { request_id, result, label } => self.on_decided(*request_id, result, label),
            Input::Reported { session, digest, report } => self.on_reported(session.as_ref(), digest, report),
            Input::ToolResultOffered { session, item } => self.on_offered(session, item),
            Input::Answered { question, choice, message } => {
                self.on_answered(*question, *choice, message.as_deref());
            }
            Input::ChangeRequested { .. } => return Ok(Vec::new()),
            Input::StopRequested => self.stop(),
            Input::PolicyChanged { bindings, cause } => self.apply_binding_changes(bindings, *cause),
            Input::PolicyRefused { policy, why } => {
                self.notify(ProgressEvent::PolicyRefused { policy: policy.clone(), why: why.clone() });
            }
            Input::SetAside => {
                // No host is running that could perform new intents.
                self.set_aside = true;
                return Ok(Vec::new());
            }
        }
        // Most events of a phase leave it at work: then no other phase can begin, and every clock stays in its mode.
        if stood.is_none() || stood != about.map(|p| self.schedule_state_of(p)) {
            self.schedule(matches!(stamped.input, Input::Tick));
            self.set_clock_modes();
        }
        Ok(std::mem::take(&mut self.emitted))
    }

    /// The only phase that an input can move directly; none if it could be several.
    fn phase_moved_by(&self, input: &Input) -> Option<PhaseIndex> {
        match input {
            Input::Agent { session, .. } | Input::SessionEnded { session, .. } => self.phase_of(session),
            Input::Outcome { action, .. } => self.phase_waiting_for(*action),
            Input::Decided { request_id, .. } => self.phase_asked_about(*request_id),
            _ => None,
        }
    }

    /// Durable intents without an outcome, oldest first.
    pub fn pending(&self) -> Vec<&Intent> {
        self.open_intents.values().collect()
    }

    /// Sessions whose process may still be running.
    pub fn live_sessions(&self) -> Vec<&SessionId> {
        self.sessions.values().filter(|s| s.is_alive()).map(|s| &s.id).collect()
    }

    /// When an agent of the run was last alive: later changes in its workplace are not its work.
    pub fn agents_last_alive(&self) -> UnixMs {
        self.agents_last_alive
    }

    /// When a host last recorded an input of its own.
    pub fn host_last_active(&self) -> UnixMs {
        self.host_last_active
    }

    /// The agent of a session, and the turns that are known of it.
    pub fn turns_of(&self, session: &SessionId) -> Option<(&AgentKind, u32)> {
        self.sessions.get(session).map(|session| (&session.agent, session.turns))
    }

    /// The workflow, frozen at the start.
    pub fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    /// The run's id; empty before `Started`.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The experiments that it takes part in.
    pub fn assignments(&self) -> &[Assignment] {
        &self.assignments
    }

    /// Workspace-relative folder of the projected files for people and agents.
    pub fn task_folder(&self) -> &str {
        &self.task_folder
    }

    /// The values for templates of paths.
    pub fn names(&self) -> RunNames<'_> {
        RunNames { run: self.id.as_str(), workflow: &self.workflow.name, goal: &self.workflow.goal }
    }

    /// Position of the last input taken.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Whether the user started the same work again since: only `resume` continues this run (D8).
    pub fn is_set_aside(&self) -> bool {
        self.set_aside
    }

    /// How it ended, once it has.
    pub fn ending(&self) -> Option<RunOutcome> {
        self.ending
    }

    fn is_started(&self) -> bool {
        !self.phases.is_empty()
    }

    fn start(&mut self, run: &RunId, workflow: &Workflow, bindings: &[PolicyBinding], task_folder: &str) {
        self.id = run.clone();
        self.workflow = workflow.clone();
        self.bindings = BindingTable::from_bindings(bindings, workflow);
        self.notify_requested_grants(bindings);
        task_folder.clone_into(&mut self.task_folder);
        self.started_at = self.now;
        self.begin_with(
            workflow
                .phases
                .iter()
                .cloned()
                .map(|spec| Phase::new(workflow.with_loop_dependencies(spec)))
                .collect(),
        );
    }

    fn finish(&mut self, ending: RunOutcome) {
        self.ending = Some(ending);
        self.user_questions.clear();
        self.notify(ProgressEvent::Finished { ending });
        self.emit(Action::Finish { ending });
    }

    /// The user asks the host to stop: every agent ends, nothing new begins, `Resumed` continues.
    fn stop(&mut self) {
        if self.ending.is_some() || self.stopping {
            return;
        }
        self.stopping = true;
        let alive: Vec<SessionId> = self.live_sessions().into_iter().cloned().collect();
        for session in alive {
            self.emit(Action::EndSession { session, reason: "the host is stopping".to_owned() });
        }
        self.for_each_phase(Self::write_stop_handoff);
    }

    fn emit(&mut self, action: Action) -> ActionId {
        self.last_action_id = self.last_action_id.next();
        let intent = Intent { id: self.last_action_id, action };
        if intent.action.has_outcome() {
            self.open_intents.insert(intent.id, intent.clone());
        }
        self.emitted.push(intent);
        self.last_action_id
    }

    /// A notice that takes a number, as in earlier versions. Use `notify_unnumbered` for new notices.
    fn notify(&mut self, notice: ProgressEvent) {
        self.emit(Action::Notify(notice));
    }

    /// A notice without a number of its own: the intents after it keep theirs, so that journals of versions without the notice fold as they
    /// were written. Every new notice uses this one.
    fn notify_unnumbered(&mut self, notice: ProgressEvent) {
        self.emitted.push(Intent { id: self.last_action_id, action: Action::Notify(notice) });
    }

    /// Calls a function for every current phase. The function may insert further phases.
    fn for_each_phase(&mut self, mut each: impl FnMut(&mut Self, PhaseIndex)) {
        let ids: Vec<PhaseId> = self.phases.iter().map(|phase| phase.spec.id.clone()).collect();
        for id in ids {
            if let Some(p) = self.phase_index(&id) {
                each(self, p);
            }
        }
    }

    fn session(&self, p: PhaseIndex) -> Option<&Session> {
        self.sessions.get(self.phases[p].session.as_ref()?)
    }

    fn session_mut(&mut self, p: PhaseIndex) -> Option<&mut Session> {
        self.sessions.get_mut(self.phases[p].session.as_ref()?)
    }

    fn has_live_session(&self, p: PhaseIndex) -> bool {
        self.session(p).is_some_and(Session::is_alive)
    }

    fn on_agent_event(&mut self, id: &SessionId, event: &AgentEvent) {
        let (seq, now, beat) = (self.seq, self.now, self.heartbeat());
        let Some(session) = self.sessions.get_mut(id) else {
            return;
        };
        if !session.is_alive() {
            return;
        }
        let billed_before = session.billed;
        session.observe(seq, now, event);
        session.next_heartbeat = now + beat;
        let billed = session.billed;
        if let Some(p) = self.phase_of(id) {
            let mut phase_billed = self.phases[p].usage.billed;
            phase_billed.add(&difference(&billed, &billed_before));
            self.phases[p].usage.billed = phase_billed;
            self.phases[p].measurements.session_may_have_written |=
                event.may_write() && !self.is_own_check(p, event);
            let failed = self.phases[p].records.activity.observe(event);
            if !self.stopping && self.ending.is_none() {
                // A prompt that was interrupted because its session was ending did not fail.
                let is_at_work = matches!(self.phases[p].step, PhaseStep::Working { .. });
                if let (Some(failed), AgentEvent::ToolOutput { text, .. }) =
                    (failed.filter(|_| is_at_work), event)
                {
                    let (phase, session) = (self.phases[p].spec.id.clone(), id.clone());
                    let said = phase_activity::line_of(text);
                    self.notify_unnumbered(match failed {
                        FailedCall::Command(command) => {
                            ProgressEvent::CommandFailed { phase, session, command, said }
                        }
                        FailedCall::Write(path) => ProgressEvent::WriteFailed { phase, session, path, said },
                    });
                }
                self.apply_event_to_phase(p, event);
            }
        }
    }

    fn on_action_outcome(&mut self, action: ActionId, outcome: &ActionOutcome) {
        let Some(intent) = self.open_intents.remove(&action) else {
            return;
        };
        if let (Action::Spawn(spec), ActionOutcome::Spawned { capabilities, .. }) = (&intent.action, outcome)
            && let Some(session) = self.sessions.get_mut(&spec.session)
        {
            // Capabilities that the agent itself has reported in the meantime take precedence.
            if session.capabilities == Default::default() {
                session.capabilities = *capabilities;
            }
        }
        self.end_failed_start(&intent, outcome);
        self.on_measured_after_stop(action, outcome);
        self.on_stop_handoff_written(&intent, outcome);
        if !self.stopping && self.ending.is_none() {
            self.apply_outcome_to_phase(action, outcome);
            self.on_turns_measured(action, outcome);
        }
    }
}

impl Default for Run {
    fn default() -> Self {
        Self::new()
    }
}

fn difference(now: &crate::facts::TokenUsage, before: &crate::facts::TokenUsage) -> crate::facts::TokenUsage {
    crate::facts::TokenUsage {
        input_tokens: now.input_tokens - before.input_tokens,
        output_tokens: now.output_tokens - before.output_tokens,
        cost_microusd: now.cost_microusd.map(|cost| cost - before.cost_microusd.unwrap_or(0)),
    }
}
