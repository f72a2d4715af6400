//! Simulated agents: their actions and events, turn by turn. An agent knows only what a real one would know; the workspace
//! model holds the quality of its work. The wording of agents' errors is in `agent_messages.rs`.

mod agent_messages;
mod agent_types;
mod objective_work;

use std::collections::BTreeMap;

use baton_core::action::SpawnSpec;
use baton_core::facts::{
    AgentEvent, Capabilities, CompactionTrigger, OccupancySource, ProcessExit, TokenUsage,
};
use baton_core::observation::{ContextItem, ContextItemKind, PromptKind};
use baton_core::workflow::AgentKind;
use baton_core::{DurationMs, ObjectiveId};

use super::model::Model;
use super::sim_rng::SimRng;

use agent_messages::ErrorStyle;
pub(super) use agent_types::{AgentProfile, FullWindowBehavior, SimAgentAction, SimAgentStep, SimContext};

/// Bytes of a token, as everybody guesses; the rehearsal agent counts the same.
const BYTES_PER_TOKEN: f64 = 4.0;
/// Tool results of one turn at most: no bound of an agent, one of this world.
const TOOLS_MAX: u32 = 50;
/// Beginning of a tool result that a stream carries, in bytes.
const RESULT_PREVIEW_BYTES: usize = 256;
/// Tokens of a tool result from which a proxy asks whether it should lie in the context.
const OFFLOAD_MIN_TOKENS: u64 = 500;
/// Tokens of a reference that lies there instead.
const REFERENCE_TOKENS: f64 = 120.0;
/// Tokens that an agent writes when it compacts, and that it needs to say that it is done.
const SUMMARY_TOKENS: u64 = 1_500;
/// What is left of a window whose beginning the provider has cut.
const TRUNCATED_SHARE: f64 = 0.4;
/// Time in milliseconds until a process ends, or a prompt is cancelled, after the host asked for it.
const ENDS_MS: u64 = 400;

/// A prompt that is worked on.
#[derive(Clone, Debug)]
struct PromptJob {
    kind: PromptKind,
    focus: Vec<ObjectiveId>,
    at: usize,
    /// Remaining turns of work outside the workflow's objectives: a review, a merge.
    left: f64,
    /// Occupancies of the turns on the objective, for their mean.
    filled: (f64, u32),
    /// Its final answer.
    answer: String,
    /// What it says that it did not finish.
    admitted: Vec<ObjectiveId>,
}

/// An agent at work.
#[derive(Debug)]
pub(super) struct SimAgent {
    pub(super) spec: SpawnSpec,
    /// What it was about to do before the newest prompt or interruption, it does not do any more.
    pub(super) epoch: u32,
    profile: AgentProfile,
    error_style: ErrorStyle,
    window: f64,
    start: f64,
    used: f64,
    turns: u32,
    prompts: u32,
    compactions: u32,
    /// Turns until it knows its way.
    warmup_turns: f64,
    is_silent: bool,
    job: Option<PromptJob>,
    offers: bool,
    offered: BTreeMap<String, u64>,
    calls: u64,
    files_read: u64,
}

impl SimAgent {
    pub(super) fn new(
        spec: SpawnSpec,
        profile: AgentProfile,
        window: f64,
        offers: bool,
        model: &Model,
    ) -> Self {
        let start = model.context.start_tokens.min(window * 0.9);
        let error_style = ErrorStyle::of(&spec.agent);
        Self {
            spec,
            epoch: 0,
            profile,
            error_style,
            window,
            start,
            used: start,
            turns: 0,
            prompts: 0,
            compactions: 0,
            warmup_turns: 0.0,
            is_silent: false,
            job: None,
            offers,
            offered: BTreeMap::new(),
            calls: 0,
            files_read: 0,
        }
    }

    /// As the drivers tell it of each kind of agent.
    pub(super) fn capabilities(&self) -> Capabilities {
        let plain = matches!(self.spec.agent, AgentKind::Process { .. });
        Capabilities {
            reports_occupancy: self.profile.says && !plain,
            compacts: !plain,
            takes_mcp: !plain,
            caps_turns: !plain,
            interrupts: true,
            reports_cost: !plain,
        }
    }

    /// It gets a prompt.
    pub(super) fn on_prompt(
        &mut self,
        kind: PromptKind,
        focus: &[ObjectiveId],
        text_bytes: u64,
        around: &mut SimContext<'_>,
    ) -> SimAgentStep {
        self.epoch += 1;
        self.prompts += 1;
        self.used += text_bytes as f64 / BYTES_PER_TOKEN;
        let model = around.model;
        // Asked whether it is done, it has nothing to do over unless a check has found something.
        let is_asked = kind == PromptKind::Nudged && !around.found.contains_key(&self.spec.tree);
        let focus = self.meant(kind, focus, around);
        for objective in &focus {
            let needed = around.needed(objective);
            let follows =
                self.prompts == 1 && around.workspace_model.piece(&self.spec.tree, objective).turns > 0.0;
            if follows {
                self.warmup_turns = self.warmup_turns.max(model.handoff.turns);
            }
            around.workspace_model.work(&self.spec.tree, objective, |piece| match piece.finished {
                Some(_) if is_asked => {}
                // It was finished once, and is not good enough.
                Some(_) => piece.turns = piece.turns.min(needed * (1.0 - model.work.mend)),
                None if follows => piece.turns *= 1.0 - model.handoff.loss,
                None => {}
            });
        }
        if self.prompts == 1 && self.spec.continuation > 0 {
            self.warmup_turns = self.warmup_turns.max(model.handoff.turns);
        }
        let left = if matches!(kind, PromptKind::Reviewing | PromptKind::Merging) {
            model.work.review_turns
        } else {
            0.0
        };
        self.job = Some(PromptJob {
            kind,
            focus,
            at: 0,
            left,
            filled: (0.0, 0),
            answer: String::new(),
            admitted: Vec::new(),
        });
        if self.is_silent {
            let session = format!("{}/{}", self.spec.session, self.prompts);
            let mut rng = SimRng::of(around.seed, "wakes", &session);
            if !rng.chance(model.trouble.wakes) {
                return SimAgentStep { next: Some(self.silence(&mut rng, model)), ..SimAgentStep::default() };
            }
            self.is_silent = false;
        }
        SimAgentStep { next: Some(self.pause(around)), ..SimAgentStep::default() }
    }

    /// The objectives that a prompt is really about: those that a check found wrong, and those of the host's focus that are
    /// open.
    fn meant(
        &self,
        kind: PromptKind,
        focus: &[ObjectiveId],
        around: &mut SimContext<'_>,
    ) -> Vec<ObjectiveId> {
        if matches!(kind, PromptKind::Reviewing | PromptKind::Merging) {
            return focus.to_vec();
        }
        let mut meant = around.found.remove(&self.spec.tree).unwrap_or_default();
        let is_open =
            |one: &&ObjectiveId| around.workspace_model.piece(&self.spec.tree, one).finished.is_none();
        meant.extend(focus.iter().filter(is_open).cloned());
        meant.sort();
        meant.dedup();
        if meant.is_empty() { focus.to_vec() } else { meant }
    }

    /// The host interrupts the agent.
    pub(super) fn on_interrupt(&mut self) -> SimAgentStep {
        self.epoch += 1;
        self.job = None;
        let mut step = SimAgentStep::default();
        step.after(
            DurationMs(ENDS_MS),
            SimAgentAction::Say(agent_messages::prompt_ended("cancelled", false)),
        );
        step
    }

    /// The host asks the agent to end.
    pub(super) fn on_end(&mut self) -> SimAgentStep {
        self.epoch += 1;
        self.job = None;
        let mut step = SimAgentStep::default();
        step.after(
            DurationMs(ENDS_MS),
            SimAgentAction::Exit(ProcessExit { code: Some(0), signal: None, by_host: true }),
        );
        step
    }

    /// The host asks it to compact.
    pub(super) fn compacts(&mut self, around: &mut SimContext<'_>) -> SimAgentStep {
        self.epoch += 1;
        let name = format!("{}/{}/{}", self.spec.session, self.prompts, self.compactions);
        let mut rng = SimRng::of(around.seed, "compaction", &name);
        let (takes, fails) =
            (rng.seconds(around.model.compaction.seconds, 0.3), rng.chance(around.model.compaction.fails));
        let mut step = SimAgentStep::default();
        step.push_event(AgentEvent::Compacting);
        if fails {
            let text = "Not enough messages to compact.".to_owned();
            step.after(takes, SimAgentAction::Say(AgentEvent::CompactionFailed { text }));
        } else {
            self.shorten(CompactionTrigger::Asked, takes, around.model, &mut step);
        }
        step
    }

    /// The host has decided what becomes of a tool result.
    pub(super) fn on_tool_result_placed(&mut self, item: &str, offload: bool) {
        if let Some(tokens) = self.offered.remove(item) {
            self.used += if offload { REFERENCE_TOKENS } else { tokens as f64 };
        }
    }

    /// One turn, or what keeps it from one.
    pub(super) fn turn(&mut self, around: &mut SimContext<'_>) -> SimAgentStep {
        let Some(job) = &self.job else { return SimAgentStep::default() };
        self.is_silent = false;
        let mut step = SimAgentStep::default();
        if self.spec.turn_ceiling > 0 && self.turns >= self.spec.turn_ceiling {
            return self.end_prompt(step, "max_turn_requests", false);
        }
        if let Some(limit) = around.limits.at(around.now) {
            agent_messages::limited(limit, around.now).into_iter().for_each(|event| step.push_event(event));
            return self.end_prompt(step, "error", true);
        }
        let about =
            job.focus.get(job.at).or(job.focus.last()).cloned().unwrap_or_else(|| ObjectiveId::new(""));
        let ordinal = around.worked.entry(about.clone()).or_default();
        *ordinal += 1;
        let mut rng = SimRng::of(around.seed, "turn", &format!("{about}/{ordinal}"));
        let model = around.model;
        let trouble = [
            rng.chance(model.trouble.stalls),
            rng.chance(model.trouble.crashes),
            rng.chance(model.trouble.errors),
        ];
        match trouble {
            [true, ..] => {
                step.next = Some(self.silence(&mut rng, model));
                return step;
            }
            [_, true, _] => {
                self.job = None;
                step.push_event(agent_messages::crash_output());
                step.after(
                    DurationMs(1),
                    SimAgentAction::Exit(ProcessExit { code: Some(1), signal: None, by_host: false }),
                );
                return step;
            }
            [.., true] => {
                step.push_event(agent_messages::server_error());
                return self.end_prompt(step, "error", true);
            }
            _ => {}
        }
        let writes = rng.amount(model.context.turn_tokens, model.context.turn_spread);
        if self.profile.full_window_behavior == FullWindowBehavior::AutoCompact
            && self.used >= model.exhaustion.compacts_at * self.window
        {
            let takes = rng.seconds(model.compaction.seconds, 0.3);
            step.push_event(AgentEvent::Compacting);
            self.shorten(CompactionTrigger::Auto, takes, model, &mut step);
            around.workspace_model.work(&self.spec.tree, &about, |piece| {
                if piece.finished.is_none() {
                    piece.turns *= 1.0 - model.compaction.loss;
                }
            });
            // A compaction that leaves no room for a turn would repeat without end.
            if self.used + writes as f64 <= model.exhaustion.full_at * self.window {
                step.next = Some(takes + self.pause(around));
                return step;
            }
        }
        if self.used + writes as f64 > model.exhaustion.full_at * self.window {
            return self.is_full(step, &about, around, &mut rng);
        }
        self.work_turn(step, &about, writes, around, &mut rng)
    }

    /// A turn that takes place.
    fn work_turn(
        &mut self,
        mut step: SimAgentStep,
        about: &ObjectiveId,
        writes: u64,
        around: &mut SimContext<'_>,
        rng: &mut SimRng,
    ) -> SimAgentStep {
        let model = around.model;
        self.turns += 1;
        let tools = rng.count(model.context.tools_per_turn).min(TOOLS_MAX);
        let mut results = Vec::new();
        for _ in 0..tools {
            let (tokens, again) = (
                rng.amount(model.context.tool_tokens, model.context.tool_spread),
                rng.chance(model.context.rereads),
            );
            self.calls += 1;
            if !again || self.files_read == 0 {
                self.files_read += 1;
            }
            let (id, path) = (format!("call-{}", self.calls), format!("src/read-{}.rs", self.files_read));
            step.push_event(AgentEvent::ToolCall {
                id: id.clone(),
                name: "Read".to_owned(),
                reads: Some(path),
                writes: None,
                command: None,
            });
            results.push((id, tokens));
        }
        let billed = TokenUsage {
            input_tokens: self.used as u64,
            output_tokens: writes,
            cost_microusd: self.capabilities().reports_cost.then(|| self.cost(writes, model)),
        };
        self.used += writes as f64;
        let used_tokens = self.capabilities().reports_occupancy.then_some(self.used as u64);
        step.push_event(AgentEvent::Turn { used_tokens, billed });
        if used_tokens.is_some() {
            let (window_tokens, source) = (Some(self.window as u64), OccupancySource::Agent);
            step.push_event(AgentEvent::Occupancy { used_tokens, window_tokens, source });
        }
        for (id, tokens) in results {
            let bytes = (tokens as f64 * BYTES_PER_TOKEN) as u64;
            if self.offers && tokens >= OFFLOAD_MIN_TOKENS {
                let item = ContextItem {
                    id: format!("{} {id}", self.spec.session),
                    kind: ContextItemKind::ToolResult,
                    tokens,
                };
                self.offered.insert(item.id.clone(), tokens);
                step.after(DurationMs(0), SimAgentAction::Offer(item));
            } else {
                self.used += tokens as f64;
            }
            let text = agent_messages::tool_output(RESULT_PREVIEW_BYTES.min(bytes as usize));
            step.push_event(AgentEvent::ToolOutput { id, bytes, text, failed: None });
        }
        if let Some(job) = &mut self.job {
            job.filled = (job.filled.0 + self.used / self.window, job.filled.1 + 1);
        }
        if self.warmup_turns >= 1.0 {
            self.warmup_turns -= 1.0;
        } else {
            self.progress(about, &mut step, around);
        }
        if self.job.is_some() {
            step.next = Some(rng.seconds(model.work.turn_seconds, model.work.seconds_spread));
        }
        step
    }

    /// No turn fits any more.
    fn is_full(
        &mut self,
        mut step: SimAgentStep,
        about: &ObjectiveId,
        around: &mut SimContext<'_>,
        rng: &mut SimRng,
    ) -> SimAgentStep {
        match self.profile.full_window_behavior {
            FullWindowBehavior::Error | FullWindowBehavior::AutoCompact => {
                let (events, reason) = self.error_style.exhausted(self.used as u64, self.window as u64);
                events.into_iter().for_each(|event| step.push_event(event));
                self.end_prompt(step, reason, true)
            }
            FullWindowBehavior::Text => {
                step.push_event(self.error_style.exhausted_text());
                self.end_prompt(step, "end_turn", false)
            }
            FullWindowBehavior::Silence => {
                // It does not wake up by itself.
                self.is_silent = true;
                step
            }
            FullWindowBehavior::DropOldest => {
                self.used = (self.window * TRUNCATED_SHARE).max(self.start);
                self.compactions += 1;
                around.workspace_model.work(&self.spec.tree, about, |piece| {
                    if piece.finished.is_none() {
                        piece.turns *= 1.0 - around.model.handoff.loss;
                    }
                });
                step.next =
                    Some(rng.seconds(around.model.work.turn_seconds, around.model.work.seconds_spread));
                step
            }
        }
    }

    /// Ends the prompt with this reason.
    fn end_prompt(&mut self, mut step: SimAgentStep, reason: &str, is_error: bool) -> SimAgentStep {
        self.job = None;
        step.push_event(agent_messages::prompt_ended(reason, is_error));
        step
    }

    fn silence(&mut self, rng: &mut SimRng, model: &Model) -> DurationMs {
        self.is_silent = true;
        rng.seconds(model.trouble.stall_minutes * 60.0, 1.0)
    }

    fn shorten(
        &mut self,
        trigger: CompactionTrigger,
        takes: DurationMs,
        model: &Model,
        step: &mut SimAgentStep,
    ) {
        let before = self.used;
        self.used = self.start + (before - self.start).max(0.0) * model.compaction.remains;
        self.compactions += 1;
        let billed = TokenUsage {
            input_tokens: before as u64,
            output_tokens: SUMMARY_TOKENS,
            cost_microusd: self.capabilities().reports_cost.then(|| self.cost(SUMMARY_TOKENS, model)),
        };
        step.after(takes, SimAgentAction::Say(AgentEvent::Billing(billed)));
        let (before_tokens, after_tokens) = (Some(before as u64), Some(self.used as u64));
        step.after(
            takes,
            SimAgentAction::Say(AgentEvent::Compacted { trigger, before_tokens, after_tokens }),
        );
    }

    /// In millionths of a dollar.
    fn cost(&self, output_tokens: u64, model: &Model) -> u64 {
        (self.used * model.price.input_usd + output_tokens as f64 * model.price.output_usd).round() as u64
    }

    fn pause(&self, around: &SimContext<'_>) -> DurationMs {
        let name = format!("{}/{}", self.spec.session, self.turns);
        SimRng::of(around.seed, "pause", &name)
            .seconds(around.model.work.turn_seconds, around.model.work.seconds_spread)
    }
}
