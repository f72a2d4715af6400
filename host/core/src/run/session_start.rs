//! How a phase begins, and each of its sessions: a tree of its own where it gets one, the state that it starts from, the agent,
//! and the kind of its first prompt.

use crate::action::{Action, SpawnSpec};
use crate::ids::SessionId;
use crate::input::ActionOutcome;
use crate::observation::PromptKind;
use crate::progress::ProgressEvent;
use crate::view::PhaseOrigin;
use crate::workflow::Permission;

use super::Run;
use super::phase::ActiveSplit;
use super::phase_list::PhaseIndex;
use super::session::Session;
use super::step::{PauseReason, PhaseStep};
use super::text_format::failure_text;

impl Run {
    pub(super) fn begin_phase(&mut self, p: PhaseIndex) {
        let phase = &self.phases[p];
        self.notify(ProgressEvent::PhaseStarted {
            phase: phase.spec.id.clone(),
            title: phase.spec.title.clone(),
            objectives: phase.objectives.len() as u32,
        });
        self.begin(p);
    }

    /// The first steps: a work tree of its own where it gets one, then the state that it starts from.
    pub(super) fn begin(&mut self, p: PhaseIndex) {
        let phase = &self.phases[p];
        if let Some(base) = phase.lineage.branch_from.clone() {
            let setup = self.setup_commands(p);
            let (phase, tree) = (phase.spec.id.clone(), phase.tree.clone());
            let action = self.emit(Action::CreateWorktree { phase, tree, base, setup });
            self.phases[p].step = PhaseStep::Branching { action };
            return;
        }
        match self.has_first_checks(p) {
            true => self.run_first_checks(p),
            false => self.measure_baseline(p),
        }
    }

    /// The state that it starts from.
    pub(super) fn measure_baseline(&mut self, p: PhaseIndex) {
        let action = self.request_measurement(p, true);
        self.phases[p].step = PhaseStep::Baseline { action };
    }

    /// Commands that make a tree ready for work in this phase.
    pub(super) fn setup_commands(&self, p: PhaseIndex) -> Vec<String> {
        self.workflow.setup.iter().chain(&self.phases[p].spec.setup).cloned().collect()
    }

    pub(super) fn on_branched(&mut self, p: PhaseIndex, outcome: &ActionOutcome) {
        match outcome {
            // Checked out again, and made ready again.
            ActionOutcome::Branched
                if self.phases[p].split.active.as_ref().is_some_and(ActiveSplit::is_ready) =>
            {
                self.verify_committed(p);
            }
            ActionOutcome::Branched if self.phases[p].split.active.is_some() => {
                self.on_integration_tree_ready(p)
            }
            ActionOutcome::Branched => {
                self.phases[p].lineage.branch_from = None;
                self.begin(p);
            }
            other => {
                let id = &self.phases[p].spec.id;
                let text = format!("Phase {id} cannot get a work tree of its own: {}", failure_text(other));
                self.pause(p, PauseReason::Blocked, text);
            }
        }
    }

    /// Starts a session with what is left of the phase's turns (A6).
    pub(super) fn request_spawn(&mut self, p: PhaseIndex) {
        self.spawn_in(p, None);
    }

    /// The same, in a conversation that its agent has begun already.
    pub(super) fn spawn_in(&mut self, p: PhaseIndex, conversation: Option<String>) {
        let number = self.sessions.len() + 1;
        let phase = &self.phases[p];
        let lead = phase.handoffs.written.last().is_some_and(|handoff| handoff.lead);
        let (role_name, role) = Self::successor_role(&self.workflow, &phase.spec, lead);
        let (agent, window_tokens) = (role.agent.clone(), role.window_tokens);
        let max_turns = match phase.turns.max {
            0 => 0,
            max => max.saturating_sub(self.turns_counted(p)).max(1),
        };
        let of_objectives = phase.objectives.iter().filter_map(|objective| objective.spec.verify.clone());
        let mut checks: Vec<String> = of_objectives.chain(phase.spec.verify.clone()).collect();
        checks.dedup();
        checks.retain(|_| role.permission == Permission::Edit);
        let is_in_it = |before: &&Session| conversation.is_some() && before.agent_session == conversation;
        let billed_before = self.sessions.values().filter(is_in_it).map(|before| &before.billed).sum();
        let spec = SpawnSpec {
            session: SessionId::new(format!("s{number}")),
            phase: phase.spec.id.clone(),
            role: role_name,
            agent,
            continuation: phase.succession.continuations,
            max_turns,
            turn_ceiling: self.turns_to_ceiling(p),
            checks,
            conversation: conversation.clone(),
            continues: self.session(p).map(|before| before.id.clone()).filter(|_| conversation.is_some()),
            billed_before,
            tree: phase.tree.clone(),
        };
        let mut session = Session::new(
            spec.session.clone(),
            spec.role.clone(),
            spec.agent.clone(),
            spec.continuation,
            max_turns,
            window_tokens,
            self.now,
        );
        session.next_heartbeat = self.now + self.heartbeat();
        session.lead = lead;
        session.is_resumed = conversation.is_some();
        session.agent_session = conversation;
        session.active_before = self.phases[p].usage.clock.at(self.now).0;
        let is_resumed = session.is_resumed;
        self.notify(ProgressEvent::SessionStarted {
            phase: spec.phase.clone(),
            session: spec.session.clone(),
            agent: spec.agent.clone(),
            continuation: spec.continuation,
            of: self.continuations_allowed(p),
            remaining: self.remaining(p),
            max_turns,
            lead,
        });
        let phase = &mut self.phases[p];
        // The last one may still be quoted to its successor, the one before it not.
        if let Some(session) = phase.sessions.iter().rev().nth(1).and_then(|id| self.sessions.get_mut(id)) {
            session.forget();
        }
        phase.sessions.push(spec.session.clone());
        phase.session = Some(spec.session.clone());
        phase.succession.objectives_done_by_session = 0;
        // In the same conversation, what was changed before counts as its own.
        if !is_resumed {
            phase.measurements.begin_session(!session.agent.reports_all_tool_calls());
        }
        self.index.spawned(spec.session.clone(), spec.phase.clone());
        self.sessions.insert(spec.session.clone(), session);
        if is_resumed {
            let (phase, session) = (spec.phase.clone(), spec.session.clone());
            self.notify(ProgressEvent::Activity {
                phase,
                session,
                what: "goes on in its own conversation".to_owned(),
            });
        }
        let action = self.emit(Action::Spawn(spec));
        self.phases[p].step = PhaseStep::Starting { action };
    }

    /// Whether there is something to continue from. An agent that could not begin does not have a successor.
    fn is_begun(&self, p: PhaseIndex) -> bool {
        let phase = &self.phases[p];
        let earlier = &phase.sessions[..phase.sessions.len().saturating_sub(1)];
        let is_nothing = |id: &SessionId| self.sessions.get(id).is_some_and(Session::never_began);
        let is_untouched = phase.handoffs.inherited.is_none()
            && phase.measurements.files_changed() == 0
            && !phase.records.has_any()
            && phase.handoffs.reported.is_none()
            && phase.objectives.iter().all(|objective| !objective.is_done() && objective.reported.is_none());
        let is_unbegun = is_untouched && !earlier.is_empty() && earlier.iter().all(is_nothing);
        phase.is_begun() && !is_unbegun
    }

    pub(super) fn request_first_prompt(&mut self, p: PhaseIndex) {
        let phase = &self.phases[p];
        let lead = self.session(p).is_some_and(|session| session.lead);
        let kind = match (phase.lineage.origin, self.is_begun(p), lead) {
            (_, true, true) => PromptKind::Merging,
            (_, true, false) => PromptKind::Continuing,
            (PhaseOrigin::Review, false, _) => PromptKind::Reviewing,
            (PhaseOrigin::Merge, false, _) => PromptKind::Merging,
            (PhaseOrigin::Workflow | PhaseOrigin::Split, false, _) => PromptKind::First,
        };
        match self.is_resumed_conversation(p, kind) {
            true => self.request_next_prompt(p, PromptKind::Nudged),
            false => self.revalidate_or_prompt(p, kind),
        }
    }
}
