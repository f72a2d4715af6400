//! What simulated agents are made of, do and meet. Does nothing itself.

use std::collections::BTreeMap;

use baton_core::facts::{AgentEvent, ProcessExit};
use baton_core::input::AgentReport;
use baton_core::observation::ContextItem;
use baton_core::{DurationMs, ObjectiveId, UnixMs, WorktreeName};

use crate::simulate::model::Model;
use crate::simulate::quota::QuotaOutages;
use crate::simulate::sim_rng::SimRng;
use crate::simulate::workspace_model::WorkspaceModel;

/// What an agent does next.
#[derive(Clone, Debug)]
pub(in crate::simulate) enum SimAgentAction {
    Say(AgentEvent),
    Report(AgentReport),
    Offer(ContextItem),
    Exit(ProcessExit),
}

/// Result of a step: actions with their delays, and the delay until the agent's next step.
#[derive(Debug, Default)]
pub(in crate::simulate) struct SimAgentStep {
    pub(in crate::simulate) acts: Vec<(DurationMs, SimAgentAction)>,
    pub(in crate::simulate) next: Option<DurationMs>,
}

impl SimAgentStep {
    pub(super) fn push_event(&mut self, event: AgentEvent) {
        self.after(DurationMs(0), SimAgentAction::Say(event));
    }

    pub(super) fn after(&mut self, after: DurationMs, act: SimAgentAction) {
        self.acts.push((after, act));
    }
}

/// What an agent does at a full window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::simulate) enum FullWindowBehavior {
    Error,
    Text,
    AutoCompact,
    Silence,
    DropOldest,
}

/// How the agents of a run are: they are of one make.
#[derive(Clone, Copy, Debug)]
pub(in crate::simulate) struct AgentProfile {
    pub(in crate::simulate) full_window_behavior: FullWindowBehavior,
    pub(in crate::simulate) says: bool,
}

impl AgentProfile {
    pub(in crate::simulate) fn of(seed: u64, model: &Model) -> Self {
        let full = &model.exhaustion;
        let weights = [full.error, full.text, full.compacts, full.silence, full.forgets];
        let all = [
            FullWindowBehavior::Error,
            FullWindowBehavior::Text,
            FullWindowBehavior::AutoCompact,
            FullWindowBehavior::Silence,
            FullWindowBehavior::DropOldest,
        ];
        let mut rng = SimRng::of(seed, "manner", "");
        Self { full_window_behavior: all[rng.by_weight(&weights)], says: rng.chance(model.context.says) }
    }
}

/// What an agent meets in the world.
pub(in crate::simulate) struct SimContext<'w> {
    pub(in crate::simulate) seed: u64,
    pub(in crate::simulate) model: &'w Model,
    pub(in crate::simulate) workspace_model: &'w mut WorkspaceModel,
    pub(in crate::simulate) limits: &'w QuotaOutages,
    pub(in crate::simulate) now: UnixMs,
    /// Turns of all agents on an objective so far; the count names the random stream of the next turn.
    pub(in crate::simulate) worked: &'w mut BTreeMap<ObjectiveId, u32>,
    /// Objectives that the workflow asks for.
    pub(in crate::simulate) asked: &'w [ObjectiveId],
    /// What the last check or review of a tree found wrong there: the next prompt quotes it.
    pub(in crate::simulate) found: &'w mut BTreeMap<WorktreeName, Vec<ObjectiveId>>,
}

impl SimContext<'_> {
    /// Turns that an objective takes: the same in every arm.
    pub(in crate::simulate) fn needed(&self, objective: &ObjectiveId) -> f64 {
        let work = &self.model.work;
        SimRng::of(self.seed, "work", objective.as_str()).amount(work.turns, work.turns_spread) as f64
    }
}
