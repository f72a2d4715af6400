//! The world around a run, in virtual time: every act of a host is an entry of a queue, and when a host dies, its pending acts
//! are lost. `invariants.rs` decides whether the events are right.

mod effects;

use std::collections::BTreeMap;

use baton_core::input::PauseAnswer;
use baton_core::progress::ProgressEvent;
use baton_core::view::RunStatus;
use baton_core::{
    Action, ActionId, ActionOutcome, DurationMs, Input, Intent, JournaledInput, Run, Seq, SessionId, UnixMs,
    Workflow,
};

use crate::agents::{AgentMove, ModelAgent};
use crate::fake_worktrees::ModelTrees;
use crate::invariants::RunChecks;
use crate::rng::SimulationRng;
use crate::scenario::{self, SimulationRates};
use crate::simulation_counts::SimulationCounts;
use crate::trace::Trace;

/// Inputs of one run at most. The longest runs of the published seeds take a tenth of it.
const INPUTS_MAX: usize = 60_000;
/// Most consecutive ticks without an effect: a deadline that is named repeatedly is not progress.
const IDLE_TICKS_MAX: u32 = 50;
/// Crashes, and stops, of a run at most.
const DEATHS_MAX: u32 = 5;
/// A host does not tick faster.
const TICK_FLOOR: DurationMs = DurationMs(20);

/// An event at a time.
enum ScheduledItem {
    /// The host hears this.
    Take(Input),
    /// The host gets to this intent.
    Perform(Intent),
    /// An agent does this, if nothing has changed its mind.
    Agent(SessionId, u32, AgentMove),
    /// The user looks at this question. Users outlive hosts.
    Person(ActionId),
}

/// A run and everything around it.
pub(crate) struct SimulationWorld<'a> {
    run: Run,
    now: UnixMs,
    seq: u64,
    rng: SimulationRng,
    temper: SimulationRates,
    workflow: Workflow,
    journal: Vec<(JournaledInput, Vec<Intent>)>,
    /// Number of its entries that are certainly on disk.
    durable: usize,
    queue: BTreeMap<(UnixMs, u64), ScheduledItem>,
    order: u64,
    model_trees: ModelTrees,
    agents: BTreeMap<SessionId, ModelAgent>,
    checks: RunChecks,
    stopping: bool,
    deaths: u32,
    idle_ticks: u32,
    patience: u32,
    reports: u64,
    tally: SimulationCounts,
    trace: &'a mut Trace,
}

impl<'a> SimulationWorld<'a> {
    pub(crate) fn new(seed: u64, trace: &'a mut Trace) -> Self {
        let mut rng = SimulationRng::new(seed);
        let temper = SimulationRates::random(&mut rng);
        let workflow = scenario::workflow(&mut rng);
        trace.head(|| format!("{temper:?}\n{}", summary(&workflow)));
        Self {
            run: Run::new(),
            now: UnixMs(1_700_000_000_000),
            seq: 0,
            model_trees: ModelTrees::new(temper.git),
            patience: temper.patience,
            checks: RunChecks::new(&workflow),
            rng,
            temper,
            workflow,
            journal: Vec::new(),
            durable: 0,
            queue: BTreeMap::new(),
            order: 0,
            agents: BTreeMap::new(),
            stopping: false,
            deaths: 0,
            idle_ticks: 0,
            reports: 0,
            tally: SimulationCounts { runs: 1, ..SimulationCounts::default() },
            trace,
        }
    }

    /// From the first input until nothing moves any more.
    pub(crate) fn go(mut self) -> Result<SimulationCounts, String> {
        self.take(Input::Started {
            run: "r1".into(),
            workflow: Box::new(self.workflow.clone()),
            bindings: Vec::new(),
            task_folder: ".baton/r1".into(),
            utc_offset_minutes: 0,
            assignments: Vec::new(),
        })?;
        while self.step()? {
            if self.journal.len() > INPUTS_MAX {
                return Err(format!("no end after {INPUTS_MAX} inputs"));
            }
        }
        self.rest()
    }

    /// False if no event is left.
    fn step(&mut self) -> Result<bool, String> {
        if self.deaths < DEATHS_MAX && self.run.ending().is_none() {
            if self.rng.within(0, 9_999) < self.temper.crashes.into() {
                self.crash()?;
            } else if !self.stopping && self.rng.within(0, 9_999) < self.temper.stops.into() {
                self.stopping = true;
                self.tally.stops += 1;
                self.take(Input::StopRequested)?;
            }
        }
        if self.stopping && self.has_stopped() {
            self.now = self.now + DurationMs::from_mins(self.rng.within(1, 600));
            self.crash()?;
        }
        let next = self.queue.first_key_value().map(|((at, _), _)| *at);
        match (self.run.next_deadline(), next) {
            (Some(deadline), next) if next.is_none_or(|at| deadline <= at) => {
                // Time that passes is progress, too.
                self.idle_ticks = if deadline <= self.now { self.idle_ticks + 1 } else { 0 };
                self.now = deadline.max(self.now + TICK_FLOOR);
                if self.idle_ticks > IDLE_TICKS_MAX {
                    return Err(format!("a deadline that {IDLE_TICKS_MAX} ticks lead nowhere from"));
                }
                self.take(Input::Tick)?;
            }
            (_, Some(_)) => {
                if let Some(((at, _), due)) = self.queue.pop_first() {
                    self.now = self.now.max(at);
                    self.happen(due)?;
                }
            }
            (_, None) => return Ok(false),
        }
        Ok(true)
    }

    fn happen(&mut self, due: ScheduledItem) -> Result<(), String> {
        match due {
            ScheduledItem::Take(input) => self.take(input),
            ScheduledItem::Perform(intent) => self.perform(intent),
            ScheduledItem::Agent(session, epoch, act) => self.act(session, epoch, act),
            ScheduledItem::Person(question) => self.person(question),
        }
    }

    /// One input: stamped, applied, checked, journaled; its intents are scheduled.
    fn take(&mut self, input: Input) -> Result<(), String> {
        self.seq += 1;
        self.now = self.now + DurationMs(1);
        let stamped = JournaledInput { seq: Seq(self.seq), at: self.now, input };
        self.trace.input(&stamped);
        let intents = self.run.apply(&stamped).map_err(|illegal| illegal.to_string())?;
        intents.iter().for_each(|intent| self.trace.intent(intent));
        self.seq += intents.len() as u64;
        self.count(&intents);
        // Most events of agents change nothing that is checked.
        let view = if intents.iter().all(is_chatter) { None } else { self.run.view(self.now) };
        self.checks.see(&stamped, &intents, view)?;
        self.idle_ticks *= u32::from(intents.is_empty());
        let matters = matters(&stamped.input) || intents.iter().any(|intent| is_durable(&intent.action));
        self.journal.push((stamped, intents.clone()));
        if matters {
            self.durable = self.journal.len();
        }
        for intent in intents {
            if !matches!(intent.action, Action::Notify(_) | Action::DeliverToolResult { .. }) {
                self.later(50, ScheduledItem::Perform(intent));
            }
        }
        Ok(())
    }

    /// Within this number of milliseconds from now.
    fn later(&mut self, ms: u64, due: ScheduledItem) {
        let at = self.now + DurationMs(self.rng.within(0, ms));
        self.at(at, due);
    }

    fn at(&mut self, at: UnixMs, due: ScheduledItem) {
        self.order += 1;
        self.queue.insert((at, self.order), due);
    }

    /// A host that was asked to stop ends when its agents have.
    fn has_stopped(&self) -> bool {
        let ends = |intent: &&Intent| matches!(intent.action, Action::Spawn(_) | Action::EndSession { .. });
        self.agents.is_empty() && !self.run.pending().iter().any(ends)
    }

    /// The host dies, with everything under way, and another takes over: as `host/runtime/src/recovery.rs` does it.
    fn crash(&mut self) -> Result<(), String> {
        (self.deaths, self.tally.crashes, self.stopping) = (self.deaths + 1, self.tally.crashes + 1, false);
        let cut = self.rng.within(self.durable as u64, self.journal.len() as u64) as usize;
        let had = self.journal.len();
        self.trace.line(|| format!("-- the host dies; {cut} of {had} inputs are kept"));
        self.journal.truncate(cut);
        self.durable = cut;
        self.run = self.refold()?;
        let last = self.journal.iter().rev().find_map(|(_, intents)| intents.last()).map(|intent| intent.id);
        self.checks.rewind(last.unwrap_or_default(), self.run.view(self.now).ok_or("no view")?);
        self.agents.clear();
        let mut mail = Vec::new();
        for (at, due) in std::mem::take(&mut self.queue) {
            match due {
                ScheduledItem::Person(_) => _ = self.queue.insert(at, due),
                // The next host reads reports that an agent wrote into its inbox before it died.
                ScheduledItem::Take(input @ Input::Reported { .. }) if self.rng.percent(50) => {
                    mail.push(input)
                }
                _ => {}
            }
        }
        let gone: Vec<ActionId> =
            self.run.pending().iter().filter(|i| died_with_host(&i.action)).map(|i| i.id).collect();
        for action in gone {
            self.take(Input::Outcome { action, outcome: ActionOutcome::Lost })?;
            if self.deaths < DEATHS_MAX && self.rng.percent(2) {
                return self.crash();
            }
        }
        for input in mail {
            self.take(input)?;
        }
        let repeat: Vec<Intent> = self.run.pending().into_iter().cloned().collect();
        // No intent that was emitted on the way is performed before the run knows that it is resumed.
        self.queue.retain(|_, due| matches!(due, ScheduledItem::Person(_)));
        self.take(Input::Resumed)?;
        for intent in repeat {
            self.later(50, ScheduledItem::Perform(intent));
        }
        Ok(())
    }

    /// Folding the journaled part gives the same intents again.
    fn refold(&self) -> Result<Run, String> {
        let mut run = Run::new();
        for (stamped, intents) in &self.journal {
            let again = run.apply(stamped).map_err(|illegal| format!("refolded: {illegal}"))?;
            if again != *intents {
                return Err(format!("refolded, entry {} leads elsewhere", stamped.seq));
            }
        }
        Ok(run)
    }

    /// A user looks at a question, and answers it or not.
    fn person(&mut self, question: ActionId) -> Result<(), String> {
        let view = self.run.view(self.now).ok_or("no view")?;
        let Some(row) = view.questions.iter().find(|row| row.id == question) else { return Ok(()) };
        let again =
            row.choices.iter().find(|choice| matches!(choice, PauseAnswer::Retry | PauseAnswer::Raise));
        let choice = match again {
            Some(again) if self.patience > 0 && self.rng.percent(85) => {
                self.patience -= 1;
                *again
            }
            _ if self.rng.percent(85) => PauseAnswer::Skip,
            _ => PauseAnswer::Stop,
        };
        self.take(Input::Answered { question, choice, message: None })
    }

    /// Nothing is under way: it has to be over, or to wait for the user.
    fn rest(mut self) -> Result<SimulationCounts, String> {
        if self.stopping && self.run.ending().is_none() {
            return Err("the host was asked to stop, and never does".into());
        }
        let view = self.run.view(self.now).ok_or("no view")?;
        match self.run.status() {
            RunStatus::Ended(baton_core::action::RunOutcome::Done) => self.tally.done += 1,
            RunStatus::Ended(_) => self.tally.unfinished += 1,
            RunStatus::Paused => self.tally.paused += 1,
            RunStatus::Running => {
                return Err("nothing is under way, and nothing waits for time or a person".into());
            }
        }
        if self.run.ending().is_some() && !(self.run.pending().is_empty() && self.agents.is_empty()) {
            let open: Vec<_> = self.run.pending().iter().map(|intent| intent.action.name()).collect();
            return Err(format!("it ended with {open:?} open and {} agents", self.agents.len()));
        }
        self.checks.at_rest(&view)?;
        if view.status == RunStatus::Ended(baton_core::action::RunOutcome::Done) {
            self.nothing_is_lost()?;
        }
        if self.refold()? != self.run {
            return Err("refolded, the run is another one".into());
        }
        (self.tally.inputs, self.tally.longest) = (self.journal.len() as u64, self.journal.len() as u64);
        self.tally.conflicts += u64::from(self.model_trees.conflicts);
        self.tally.landed += u64::from(self.model_trees.landings);
        Ok(self.tally)
    }

    /// The agents' actual work is in the place where the run began.
    fn nothing_is_lost(&self) -> Result<(), String> {
        let asked = self.workflow.phases.iter().flat_map(|phase| &phase.objectives);
        for objective in asked {
            let (worked, workspace) = (&self.model_trees.worked, self.model_trees.workspace());
            if worked.contains(&objective.id) && !workspace.contains(&objective.id) {
                return Err(format!("the work on {} is not in the workspace", objective.id));
            }
        }
        Ok(())
    }

    fn count(&mut self, intents: &[Intent]) {
        for intent in intents {
            match &intent.action {
                Action::Notify(ProgressEvent::Split { .. }) => self.tally.splits += 1,
                Action::Notify(ProgressEvent::Merged { .. }) => self.tally.merged += 1,
                Action::Notify(ProgressEvent::Reviewed { .. }) => self.tally.reviews += 1,
                Action::Notify(ProgressEvent::Iterating { .. }) => self.tally.iterations += 1,
                Action::Spawn(spec) if spec.continuation > 0 => self.tally.continuations += 1,
                _ => {}
            }
        }
    }
}

fn is_chatter(intent: &Intent) -> bool {
    matches!(
        intent.action,
        Action::RequestDecision { .. }
            | Action::Notify(ProgressEvent::Turn { .. } | ProgressEvent::Activity { .. })
    )
}

/// Whether a host waits until this is on disk.
fn matters(input: &Input) -> bool {
    !matches!(
        input,
        Input::Agent { .. } | Input::Tick | Input::Decided { .. } | Input::ToolResultOffered { .. }
    )
}

fn is_durable(action: &Action) -> bool {
    match action {
        Action::Notify(notice) => matches!(
            notice,
            ProgressEvent::ObjectiveDone { .. }
                | ProgressEvent::Reopened { .. }
                | ProgressEvent::PhaseDone { .. }
                | ProgressEvent::Stopped { .. }
                | ProgressEvent::Paused { .. }
                | ProgressEvent::Split { .. }
                | ProgressEvent::QuotaWait { .. }
                | ProgressEvent::QuotaOver { .. }
        ),
        other => other.is_durable(),
    }
}

fn died_with_host(action: &Action) -> bool {
    matches!(
        action,
        Action::Spawn(_)
            | Action::Prompt { .. }
            | Action::Compact { .. }
            | Action::Interrupt { .. }
            | Action::EndSession { .. }
    )
}

fn summary(workflow: &Workflow) -> String {
    let mut lines = vec![format!("{:?} providers {:?}", workflow.limits, workflow.providers)];
    for phase in &workflow.phases {
        lines.push(format!(
            "phase {} role {} after {:?}: {} objectives ({} verified), verify {:?}, review {:?}, repeat {:?}",
            phase.id,
            phase.role,
            phase.depends_on,
            phase.objectives.len(),
            phase.objectives.iter().filter(|objective| objective.verify.is_some()).count(),
            phase.verify,
            phase.review,
            phase.repeat,
        ));
    }
    lines.join("\n")
}
