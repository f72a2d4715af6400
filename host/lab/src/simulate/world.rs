//! The world around one simulated run, in virtual time: every event is an entry of a queue, and time advances from one to the
//! next. The run is the real one; this module only performs intents and turns their results into inputs.

mod effects;

use std::collections::BTreeMap;

use baton_core::input::PauseAnswer;
use baton_core::view::RunStatus;
use baton_core::{
    Action, ActionId, DurationMs, Input, Intent, JournaledInput, ObjectiveId, PhaseId, Run, RunId, Seq,
    SessionId, UnixMs, Workflow, WorktreeName,
};
use baton_engine::Router;
use baton_store::JournalEntry;

use super::model::Model;
use super::quota::QuotaOutages;
use super::sim_agent::{AgentProfile, SimAgent, SimAgentAction, SimAgentStep, SimContext};
use super::sim_rng::SimRng;
use super::workspace_model::WorkspaceModel;
use super::{PolicyLookup, SimulateError, SimulatedArm, SimulatedRun, SimulationEnd};
use crate::run_metrics::MetricsFold;

/// When every simulated run begins: 2026-01-01, a Thursday.
const START_TIME: UnixMs = UnixMs(1_767_225_600_000);
/// Maximum number of consecutive ticks without effect: a repeated deadline is not progress.
const IDLE_TICKS_MAX: u32 = 1_000;
/// A host does not tick faster.
const TICK_FLOOR: DurationMs = DurationMs(20);

/// What happens at a time.
#[derive(Debug)]
enum SimEvent {
    /// The host hears this.
    Take(Box<Input>),
    /// The host gets to this intent.
    Perform(Box<Intent>),
    /// An agent does this, if nothing has changed its mind.
    Act(SessionId, u32, SimAgentAction),
    /// An agent begins its next turn, likewise.
    Turn(SessionId, u32),
    /// The user looks at this question.
    Person(ActionId),
}

/// A run and everything around it.
pub(super) struct SimWorld<'a> {
    arm: &'a str,
    seed: u64,
    model: &'a Model,
    workflow: &'a Workflow,
    asked: Vec<ObjectiveId>,
    router: Router,
    loaded: &'a PolicyLookup,
    /// How often a binding had changed when the router last followed.
    followed: u64,
    run: Run,
    now: UnixMs,
    seq: Seq,
    inputs: u64,
    queue: BTreeMap<(UnixMs, u64), SimEvent>,
    order: u64,
    workspace_model: WorkspaceModel,
    limits: QuotaOutages,
    profile: AgentProfile,
    agents: BTreeMap<SessionId, SimAgent>,
    worked: BTreeMap<ObjectiveId, u32>,
    /// How often something was drawn that happens again and again: names the stream of the next time.
    times: BTreeMap<String, u32>,
    /// Objectives that sessions of a phase were asked about.
    held: BTreeMap<PhaseId, Vec<ObjectiveId>>,
    found: BTreeMap<WorktreeName, Vec<ObjectiveId>>,
    patience: f64,
    reports: u64,
    idle_ticks: u32,
    measuring: MetricsFold,
    entries: Option<Vec<JournalEntry>>,
}

impl<'a> SimWorld<'a> {
    pub(super) fn new(
        arm: &'a SimulatedArm,
        model: &'a Model,
        seed: u64,
        keep: bool,
    ) -> Result<Self, SimulateError> {
        let ends = START_TIME + days(model);
        let workflow = &arm.workflow;
        let phases = workflow.phases.iter();
        Ok(Self {
            arm: &arm.name,
            seed,
            model,
            workflow,
            asked: phases.clone().flat_map(|phase| &phase.objectives).map(|one| one.id.clone()).collect(),
            router: (arm.router)().map_err(|why| SimulateError::Router { arm: arm.name.clone(), why })?,
            loaded: &arm.loaded,
            followed: 0,
            run: Run::new(),
            now: START_TIME,
            seq: Seq(0),
            inputs: 0,
            queue: BTreeMap::new(),
            order: 0,
            workspace_model: WorkspaceModel::new(workflow, model.merge.git >= 0.5),
            limits: QuotaOutages::draw(seed, model, START_TIME, ends),
            profile: AgentProfile::of(seed, model),
            agents: BTreeMap::new(),
            worked: BTreeMap::new(),
            times: BTreeMap::new(),
            held: phases
                .map(|phase| (phase.id.clone(), phase.objectives.iter().map(|one| one.id.clone()).collect()))
                .collect(),
            found: BTreeMap::new(),
            patience: model.person.patience,
            reports: 0,
            idle_ticks: 0,
            measuring: MetricsFold::new(),
            entries: keep.then(Vec::new),
        })
    }

    /// Runs from the first input until no event is left or a bound is reached.
    pub(super) fn run_to_end(mut self, arm: &SimulatedArm) -> Result<SimulatedRun, SimulateError> {
        let mut workflow = self.workflow.clone();
        if workflow.limits.agents == 0 {
            workflow.limits.agents = self.model.host.agents as u32;
        }
        let run = RunId::new(format!("sim-{}", self.seed));
        let names = baton_core::workflow::paths::RunNames {
            run: run.as_str(),
            workflow: &workflow.name,
            goal: &workflow.goal,
        };
        let task_folder = workflow.paths.task_folder(names);
        self.take(Input::Started {
            run,
            workflow: Box::new(workflow),
            bindings: arm.bindings.clone(),
            task_folder,
            utc_offset_minutes: 0,
            assignments: Vec::new(),
        })?;
        let ends = loop {
            if self.inputs >= self.model.host.inputs as u64 {
                break SimulationEnd::TooManyInputs;
            }
            if self.now.since(START_TIME) >= days(self.model) {
                break SimulationEnd::TooLong;
            }
            if self.idle_ticks > IDLE_TICKS_MAX {
                break SimulationEnd::NoProgress;
            }
            if !self.step()? {
                break if self.run.ending().is_some() { SimulationEnd::Over } else { SimulationEnd::Waiting };
            }
        };
        let workspace = WorktreeName::workspace();
        let right = self.workspace_model.right(&workspace, self.asked.iter());
        let nothing = || SimulateError::Broken {
            arm: self.arm.to_owned(),
            seed: self.seed,
            why: "it never began".to_owned(),
        };
        let measures = self.measuring.finish(&self.run, self.now).ok_or_else(nothing)?;
        let ends = match (ends, self.run.status()) {
            (SimulationEnd::Waiting, RunStatus::Running) => SimulationEnd::NoProgress,
            (ends, _) => ends,
        };
        Ok(SimulatedRun {
            seed: self.seed,
            measures,
            right,
            ends,
            inputs: self.inputs,
            took_ms: self.now.since(START_TIME).0,
            entries: self.entries,
        })
    }

    /// False if no event is left.
    fn step(&mut self) -> Result<bool, SimulateError> {
        let next = self.queue.first_key_value().map(|((at, _), _)| *at);
        match (self.run.next_deadline(), next) {
            (Some(deadline), next) if next.is_none_or(|at| deadline <= at) => {
                // Time that passes is progress, too.
                self.idle_ticks = if deadline <= self.now { self.idle_ticks + 1 } else { 0 };
                self.now = deadline.max(self.now + TICK_FLOOR);
                self.take(Input::Tick)?;
            }
            (_, Some(_)) => {
                if let Some(((at, _), due)) = self.queue.pop_first() {
                    self.now = self.now.max(at);
                    self.dispatch(due)?;
                }
            }
            (_, None) => return Ok(false),
        }
        Ok(true)
    }

    fn dispatch(&mut self, due: SimEvent) -> Result<(), SimulateError> {
        match due {
            SimEvent::Take(input) => self.take(*input),
            SimEvent::Perform(intent) => {
                self.perform(*intent);
                Ok(())
            }
            SimEvent::Act(session, epoch, act) => self.act(session, epoch, act),
            SimEvent::Turn(session, epoch) => {
                let is_current = self.agents.get(&session).is_some_and(|agent| agent.epoch == epoch);
                if is_current {
                    self.with_agent(&session, |agent, around| agent.turn(around));
                }
                Ok(())
            }
            SimEvent::Person(question) => self.person(question),
        }
    }

    /// One input: stamped, applied, measured, written down; what follows from it is due.
    fn take(&mut self, input: Input) -> Result<(), SimulateError> {
        self.seq = self.seq.next();
        self.inputs += 1;
        self.now = self.now + DurationMs(1);
        let stamped = JournaledInput { seq: self.seq, at: self.now, input };
        let intents = self.run.apply(&stamped).map_err(|illegal| SimulateError::Broken {
            arm: self.arm.to_owned(),
            seed: self.seed,
            why: illegal.to_string(),
        })?;
        if self.followed != self.run.binding_generation() {
            self.followed = self.run.binding_generation();
            let followed = self.router.follow(&self.run, self.loaded);
            followed.map_err(|why| SimulateError::Router { arm: self.arm.to_owned(), why })?;
        }
        self.measuring.take(&stamped, &intents);
        self.idle_ticks *= u32::from(intents.is_empty());
        let at = stamped.at;
        if let Some(entries) = &mut self.entries {
            entries.push(JournalEntry::Input(stamped));
        }
        for intent in intents {
            if matches!(intent.action, Action::Notify(_)) {
                continue;
            }
            self.seq = self.seq.next();
            if let Some(entries) = &mut self.entries {
                entries.push(JournalEntry::Intent { seq: self.seq, at, intent: intent.clone() });
            }
            self.after(DurationMs(0), SimEvent::Perform(Box::new(intent)));
        }
        Ok(())
    }

    fn after(&mut self, after: DurationMs, due: SimEvent) {
        self.order += 1;
        self.queue.insert((self.now + after, self.order), due);
    }

    fn act(&mut self, session: SessionId, epoch: u32, act: SimAgentAction) -> Result<(), SimulateError> {
        // An agent that the host asked to end does so, regardless of later requests.
        let is_end = matches!(&act, SimAgentAction::Exit(exit) if exit.by_host);
        if !self.agents.get(&session).is_some_and(|agent| is_end || agent.epoch == epoch) {
            return Ok(());
        }
        match act {
            SimAgentAction::Say(event) => self.take(Input::Agent { session, event }),
            SimAgentAction::Offer(item) => self.take(Input::ToolResultOffered { session, item }),
            SimAgentAction::Report(report) => {
                self.reports += 1;
                let digest = baton_core::Digest::of(format!("report {}", self.reports));
                self.take(Input::Reported { session: Some(session), digest, report })
            }
            SimAgentAction::Exit(exit) => {
                self.agents.remove(&session);
                self.take(Input::SessionEnded { session, exit })
            }
        }
    }

    /// Lets an agent perform a step, and schedules the result; none if there is no such agent.
    fn with_agent(
        &mut self,
        session: &SessionId,
        does: impl FnOnce(&mut SimAgent, &mut SimContext<'_>) -> SimAgentStep,
    ) -> Option<()> {
        let agent = self.agents.get_mut(session)?;
        let mut around = SimContext {
            seed: self.seed,
            model: self.model,
            workspace_model: &mut self.workspace_model,
            limits: &self.limits,
            now: self.now,
            worked: &mut self.worked,
            asked: &self.asked,
            found: &mut self.found,
        };
        let SimAgentStep { acts, next } = does(agent, &mut around);
        let epoch = agent.epoch;
        for (after, act) in acts {
            self.after(after, SimEvent::Act(session.clone(), epoch, act));
        }
        if let Some(next) = next {
            self.after(next.max(DurationMs(1)), SimEvent::Turn(session.clone(), epoch));
        }
        Some(())
    }

    /// The user looks at a question, and answers it.
    fn person(&mut self, question: ActionId) -> Result<(), SimulateError> {
        let view = self.run.view(self.now);
        let Some(row) = view.and_then(|view| view.questions.into_iter().find(|row| row.id == question))
        else {
            return Ok(());
        };
        let again = row
            .choices
            .iter()
            .find(|choice| matches!(choice, PauseAnswer::Retry | PauseAnswer::Raise))
            .copied();
        let tries = self.rng("person", "choice").chance(self.model.person.retries);
        let choice = match again {
            Some(again) if tries && self.patience >= 1.0 => {
                self.patience -= 1.0;
                again
            }
            _ if row.choices.contains(&PauseAnswer::Skip) => PauseAnswer::Skip,
            _ => PauseAnswer::Stop,
        };
        self.take(Input::Answered { question, choice, message: None })
    }

    /// The stream of chance of the next time that something happens.
    fn rng(&mut self, concern: &str, about: &str) -> SimRng {
        let times = self.times.entry(format!("{concern} {about}")).or_default();
        *times += 1;
        SimRng::of(self.seed, concern, &format!("{about}/{times}"))
    }
}

fn days(model: &Model) -> DurationMs {
    DurationMs((model.host.days * 86_400_000.0) as u64)
}
