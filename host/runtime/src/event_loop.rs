//! The loop of one run. Everything that happens comes in as one closed kind of event, becomes an input of the core machine,
//! is journaled, and only then are the intents performed that follow from it. The loop waits for nothing but events and
//! commits: whatever takes time is a task that sends its result back.

mod calls;
mod swaps;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use baton_agents::DriverEvent;
use baton_core::action::Ending;
use baton_core::decision::{Decision, Fault, Label};
use baton_core::facts::{AgentEvent, Refusal, RefusalKind};
use baton_core::input::Asker;
use baton_core::run::IllegalInput;
use baton_core::view::{RunStatus, RunView};
use baton_core::{Action, Input, Intent, RequestId, SessionId};
use baton_engine as engine;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::actuate::{Actuator, Done};
use crate::answer::which_question;
use crate::asker::{OfAgent, OfSession};
use crate::control::{Control, ControlReply};
use crate::desk::Desk;
use crate::error::RuntimeError;
use crate::herald::Herald;
use crate::masked;
use crate::outbox::Outbox;
use crate::policies::Bench;
use crate::post::Post;
use crate::project::{self, Projector};
use crate::scribe::Scribe;
use crate::shadow::Shadows;
use crate::socket::Asked;
use crate::watch::Watch;

use calls::{Calls, Kept, Weighed};
use swaps::{Loaded, Swaps};

/// Results of effects and decisions under way. Each phase at work has one or two; tasks wait when the loop is behind.
pub(crate) const RESULTS: usize = 256;
/// Events of all agents together; drivers wait when the loop is behind, and so do their agents.
pub(crate) const AGENT_EVENTS: usize = 256;
/// Events taken in before the next commit, so that a flood of them shares one.
const BATCH: usize = 256;
/// How often the inbox is looked at while agents work.
const LOOK: Duration = Duration::from_secs(1);
/// A deadline that core names again after its tick is not retried faster than this.
const TICK_FLOOR: Duration = Duration::from_millis(20);
/// Agents that were asked to end are waited for this long when the host stops; the guard ends what is left.
const STOP_PATIENCE: Duration = Duration::from_secs(30);

/// A policy's answer, or the fault of the last in the chain.
type Decided = (RequestId, Result<Decision, Fault>, Label);

/// Everything that can happen to the loop.
enum Event {
    Agent(SessionId, DriverEvent),
    Done(Done),
    Decided(Box<Decided>),
    Asked(Asked),
    Kept(Box<Kept>),
    Weighed(Box<Weighed>),
    Loaded(Box<Loaded>),
    Stop,
    /// Time has passed: core's deadline, or the next look at the inbox.
    Clock,
    /// The renderer has room for what waits for it.
    Room,
    /// An effect or a decision broke off without a result.
    Broken(String),
}

/// The ends of the channels that the loop reads.
pub(crate) struct Inlets {
    pub(crate) agents: mpsc::Receiver<(SessionId, DriverEvent)>,
    pub(crate) done: mpsc::Receiver<Done>,
    pub(crate) asked: mpsc::Receiver<Asked>,
    pub(crate) stop: watch::Receiver<bool>,
}

/// What the loop is made of.
pub(crate) struct Parts {
    pub(crate) scribe: Scribe,
    pub(crate) actuator: Actuator,
    pub(crate) bench: Arc<Bench>,
    pub(crate) shadows: Shadows,
    pub(crate) post: Post,
    pub(crate) desk: Desk,
    pub(crate) projector: Projector,
    pub(crate) outbox: Outbox,
    pub(crate) herald: Herald,
    pub(crate) inlets: Inlets,
}

/// A run at work.
pub(crate) struct EventLoop {
    scribe: Scribe,
    actuator: Actuator,
    bench: Arc<Bench>,
    shadows: Shadows,
    post: Post,
    desk: Desk,
    projector: Projector,
    outbox: Outbox,
    herald: Herald,
    inlets: Inlets,
    decided: (mpsc::Sender<Box<Decided>>, mpsc::Receiver<Box<Decided>>),
    /// Questions that a policy is busy with.
    deciding: u32,
    /// What calls of tools have under way.
    calls: Calls,
    /// Policies that are being put in place.
    swaps: Swaps,
    watch: Watch,
    /// Answers to people and agents, held back until what they asked for is on disk.
    replies: Vec<(oneshot::Sender<ControlReply>, ControlReply)>,
    /// What agents wanted to change of their run, each told once.
    refused: BTreeSet<(SessionId, &'static str)>,
    next_look: Instant,
    next_tick: Instant,
    give_up: Option<Instant>,
}

impl EventLoop {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { scribe, actuator, bench, shadows, post, desk, projector, outbox, herald, inlets } = parts;
        let now = Instant::now();
        let swaps = Swaps::new(scribe.run().pin_changes());
        let watch = Watch::over(scribe.run());
        Self {
            scribe,
            actuator,
            bench,
            shadows,
            post,
            desk,
            projector,
            outbox,
            herald,
            inlets,
            decided: mpsc::channel(RESULTS),
            deciding: 0,
            calls: Calls::new(),
            swaps,
            watch,
            replies: Vec::new(),
            refused: BTreeSet::new(),
            next_look: now,
            next_tick: now,
            give_up: None,
        }
    }

    /// Goes on until the run has ended, nothing moves until a person answers, or the host is asked to stop. What was
    /// already taken by the scribe, and `repeat`, are done first.
    pub(crate) async fn run(mut self, repeat: Vec<Intent>) -> Result<RunView, RuntimeError> {
        self.shadows.follow(self.scribe.run());
        let ended = self.work(repeat).await;
        self.shadows.finish();
        if ended.is_err() {
            self.actuator.sessions.abandon().await;
        }
        self.projector.finish().await;
        let failures = self.herald.finish().await;
        self.outbox.add(failures);
        let at = self.scribe.clock().now();
        let view = self.scribe.run().view(at);
        if let Some(view) = &view {
            self.outbox.last_word(self.scribe.run(), view.clone(), at).await;
        }
        ended?;
        view.ok_or_else(|| RuntimeError::Impossible {
            run: self.scribe.id().clone(),
            why: "it never began".into(),
        })
    }

    async fn work(&mut self, mut repeat: Vec<Intent>) -> Result<(), RuntimeError> {
        loop {
            let due = self.scribe.commit().await?;
            self.post.confirm().await;
            due.notices.iter().for_each(|notice| self.desk.note(notice));
            if due.has_moved {
                self.project().await;
            }
            self.herald.tell(&due.notices);
            self.outbox.add(self.herald.failures());
            self.outbox.add(self.post.refusals());
            self.outbox.add(due.notices);
            self.follow_pins();
            for intent in repeat.drain(..).chain(due.intents) {
                self.perform(intent);
            }
            for (reply, answer) in self.replies.drain(..) {
                // Whoever asked may have left.
                let _ = reply.send(answer);
            }
            let at = self.scribe.clock().now();
            self.outbox.offer(self.scribe.run(), at, false);
            if self.is_over()? {
                return self.scribe.flush();
            }
            let event = self.next().await;
            self.take(event).await?;
            for _ in 1..BATCH {
                let Some(event) = self.next_at_hand() else { break };
                self.take(event).await?;
            }
            // Agents that never fall silent must not hide that time passes.
            self.take_time().await?;
        }
    }

    fn perform(&mut self, intent: Intent) {
        let (request, question, scope) = match intent.action {
            Action::RequestDecision { request, question, scope } => (request, question, scope),
            Action::Place { item, offload } => return self.place(&item, offload),
            _ => return self.actuator.perform(intent),
        };
        self.deciding += 1;
        let (bench, decided) = (Arc::clone(&self.bench), self.decided.0.clone());
        let shadows = self.shadows.teller();
        self.actuator.compute(move || {
            let engine::Decided { result, label, .. } = bench.decide(&scope, &question);
            if let Some(shadows) = shadows {
                shadows.tell(request, question, result.clone());
            }
            // Nobody listens only where the host is ending; the question is then put again by `resume`.
            let _ = decided.blocking_send(Box::new((request, result, label)));
        });
    }

    /// After the commit, before anything that follows from it: the files are never ahead of the journal, and tell
    /// everything that was acted on.
    async fn project(&mut self) {
        if let Some(projection) = project::project(self.scribe.run(), self.scribe.chronicle()) {
            self.projector.show(projection).await;
        }
    }

    /// Nothing more can happen here.
    fn is_over(&self) -> Result<bool, RuntimeError> {
        let run = self.scribe.run();
        if self.give_up.is_some_and(|at| Instant::now() >= at) {
            return Ok(true);
        }
        let quiet = run.pending().is_empty()
            && self.actuator.sessions.is_empty()
            && self.deciding + self.calls.under_way + self.swaps.under_way == 0;
        match run.status() {
            // What else is under way when the host stops can be done again; an agent may not be left behind, nor its handoff
            // unwritten, nor unlooked at what that is about.
            RunStatus::Ended(Ending::Interrupted) => {
                let ends = |intent: &&Intent| {
                    matches!(
                        intent.action,
                        Action::Spawn(_)
                            | Action::End { .. }
                            | Action::Assess { .. }
                            | Action::WriteHandoff { .. }
                    )
                };
                Ok(self.actuator.sessions.is_empty() && !run.pending().iter().any(ends))
            }
            RunStatus::Ended(_) | RunStatus::Paused => Ok(quiet),
            RunStatus::Running if quiet && run.next_deadline().is_none() && !self.scribe.has_batch() => {
                let why = "nothing is under way, and nothing waits for time or a person".to_owned();
                Err(RuntimeError::Impossible { run: self.scribe.id().clone(), why })
            }
            RunStatus::Running => Ok(false),
        }
    }

    async fn next(&mut self) -> Event {
        let wake = self.wake_at();
        // While very much waits for the renderer, agents wait too; people and results never do.
        let hear_agents = !self.outbox.is_full();
        tokio::select! {
            biased;
            // Where whoever could ask to stop is gone, that is no reason to.
            Ok(_) = self.inlets.stop.wait_for(|stop| *stop), if self.give_up.is_none() => Event::Stop,
            Some(asked) = self.inlets.asked.recv() => Event::Asked(asked),
            Some(done) = self.inlets.done.recv() => Event::Done(done),
            Some(decided) = self.decided.1.recv() => Event::Decided(decided),
            Some(kept) = self.calls.kept.1.recv() => Event::Kept(kept),
            Some(weighed) = self.calls.weighed.1.recv() => Event::Weighed(weighed),
            Some(loaded) = self.swaps.loaded.1.recv() => Event::Loaded(loaded),
            why = self.actuator.broken() => Event::Broken(why),
            Some((session, event)) = self.inlets.agents.recv(), if hear_agents => Event::Agent(session, event),
            () = self.outbox.room(), if self.outbox.waits() => Event::Room,
            () = tokio::time::sleep_until(wake) => Event::Clock,
        }
    }

    /// What is there already.
    fn next_at_hand(&mut self) -> Option<Event> {
        if let Ok(done) = self.inlets.done.try_recv() {
            return Some(Event::Done(done));
        }
        if let Ok(decided) = self.decided.1.try_recv() {
            return Some(Event::Decided(decided));
        }
        if self.outbox.is_full() {
            return None;
        }
        let (session, event) = self.inlets.agents.try_recv().ok()?;
        Some(Event::Agent(session, event))
    }

    fn wake_at(&mut self) -> Instant {
        let deadline = self.scribe.run().next_deadline();
        let tick = deadline.map(|at| (Instant::now() + self.scribe.clock().until(at)).max(self.next_tick));
        let look = self.next_look.max(Instant::now());
        [tick, self.give_up].into_iter().flatten().fold(look, Instant::min)
    }

    async fn take(&mut self, event: Event) -> Result<(), RuntimeError> {
        match event {
            Event::Agent(session, event) => self.take_agent(session, event).await,
            Event::Done((action, outcome)) => {
                if let baton_core::Outcome::Failed { error } = &outcome {
                    tracing::info!(%action, "an effect failed: {error}");
                }
                self.take_own(Input::Outcome { action, outcome })
            }
            Event::Decided(decided) => {
                self.deciding -= 1;
                let (request, result, label) = *decided;
                self.take_own(Input::Decided { request, result, label: Box::new(label) })
            }
            Event::Asked(Asked { message, by: Err(agent), reply }) if message.change().is_some() => {
                let what = message.change().unwrap_or_default();
                self.replies.push((reply, ControlReply::Refused { why: agent.why.clone() }));
                self.note_agent(what, agent)
            }
            Event::Asked(Asked { message: Control::Call { pass, key, call }, reply, .. }) => {
                self.take_call(pass.as_ref(), key, *call, reply)
            }
            Event::Asked(Asked { message: Control::Offer { pass, tool, call, file }, reply, .. }) => {
                self.take_offer(&pass, tool, call, file, reply);
                Ok(())
            }
            Event::Asked(Asked { message: Control::UsePolicy(wanted), by, reply }) => {
                self.note_asker("use-policy", by)?;
                self.take_use(*wanted, reply);
                Ok(())
            }
            Event::Loaded(loaded) => self.take_loaded(*loaded),
            Event::Weighed(weighed) => self.take_weighed(*weighed),
            Event::Kept(kept) => self.take_kept(*kept),
            Event::Asked(Asked { message, by, reply }) => {
                if let Some(what) = message.change() {
                    self.note_asker(what, by)?;
                }
                let answer = self.answer(message).unwrap_or_else(|why| ControlReply::Refused { why });
                self.replies.push((reply, answer));
                Ok(())
            }
            Event::Stop => self.stop(),
            // Both are seen to in every round.
            Event::Clock | Event::Room => Ok(()),
            Event::Broken(why) => Err(RuntimeError::Impossible { run: self.scribe.id().clone(), why }),
        }
    }

    fn view(&mut self) -> Option<RunView> {
        let at = self.scribe.clock().now();
        self.scribe.run().view(at)
    }

    /// An agent's reports come before the end of the prompt in which it made them: what it finished counts.
    async fn take_agent(&mut self, session: SessionId, event: DriverEvent) -> Result<(), RuntimeError> {
        let ends =
            matches!(event, DriverEvent::Exited(_) | DriverEvent::Event(AgentEvent::PromptEnded { .. }));
        if ends {
            self.collect(true).await?;
        }
        let input = match event {
            DriverEvent::Event(event) => Input::Agent { session, event: masked::event(event) },
            DriverEvent::Exited(exit) => {
                self.actuator.sessions.gone(&session);
                Input::SessionEnded { session, exit }
            }
        };
        self.take_own(input)
    }

    /// `at_once` where an agent has ended its prompt: what breaks off in the inbox is told now.
    async fn collect(&mut self, at_once: bool) -> Result<(), RuntimeError> {
        self.next_look = Instant::now() + LOOK;
        let inputs = self.post.collect(self.scribe.run(), &self.desk.shelf, at_once).await;
        for input in inputs {
            self.take_own(input)?;
        }
        Ok(())
    }

    async fn take_time(&mut self) -> Result<(), RuntimeError> {
        if Instant::now() >= self.next_look {
            self.collect(false).await?;
            self.take_changed_files();
            let at = self.scribe.clock().now();
            // Clocks move while nothing happens.
            self.outbox.offer(self.scribe.run(), at, true);
        }
        let now = self.scribe.clock().now();
        if self.scribe.run().next_deadline().is_some_and(|at| at <= now) && Instant::now() >= self.next_tick {
            self.next_tick = Instant::now() + TICK_FLOOR;
            self.take_own(Input::Tick)?;
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), RuntimeError> {
        self.give_up = Some(Instant::now() + STOP_PATIENCE);
        if self.scribe.run().ending().is_none() {
            self.take_own(Input::StopRequested)?;
        }
        Ok(())
    }

    /// An agent that wants to change its run is told of as of any other refusal, once for each thing that it wants.
    fn note_agent(&mut self, what: &'static str, agent: OfAgent) -> Result<(), RuntimeError> {
        tracing::warn!(what, "refused: {}", agent.why);
        let folder = |session: &SessionId| self.desk.folder(session);
        let live = self.scribe.run().live_sessions();
        let session = match agent.of {
            Some(OfSession::Door(session)) => live.into_iter().find(|live| **live == session),
            Some(OfSession::Mark(mark)) => {
                live.into_iter().find(|live| baton_agents::mark_of(&folder(live)) == mark)
            }
            None => None,
        };
        match session.cloned() {
            Some(session) if self.refused.insert((session.clone(), what)) => {
                let refusal = Refusal { kind: RefusalKind::Host, target: what.to_owned() };
                self.take_own(Input::Agent { session, event: AgentEvent::Refused(refusal) })
            }
            _ => Ok(()),
        }
    }

    /// Who asks for a change is journaled before the change.
    fn note_asker(&mut self, what: &str, by: Result<Option<Asker>, OfAgent>) -> Result<(), RuntimeError> {
        match by.ok().flatten() {
            Some(by) => self.take_own(Input::Asked { what: what.to_owned(), by }),
            None => Ok(()),
        }
    }

    fn answer(&mut self, message: Control) -> Result<ControlReply, String> {
        match message {
            // Calls of tools, and what takes time, are not answered from here.
            Control::Status | Control::Call { .. } | Control::Offer { .. } | Control::UsePolicy(_) => {}
            Control::Stop => {
                self.stop().map_err(|error| error.to_string())?;
                return Ok(ControlReply::Stopping);
            }
            Control::RollBackPolicy { run, scope, decides } => {
                return self.roll_back(run.as_ref(), &scope, &decides);
            }
            Control::Answer { run: Some(run), .. } if run != *self.scribe.id() => {
                return Err(format!(
                    "Baton works on run {} in this folder now; run {run} can be answered when that one has ended, or after `baton stop`",
                    self.scribe.id()
                ));
            }
            Control::Answer { question, choice, message, .. } => {
                let question =
                    which_question(self.scribe.run(), question, choice).map_err(|error| error.to_string())?;
                let taken = self.scribe.take(Input::Answered { question, choice, message });
                taken.map_err(|illegal| illegal.to_string())?;
            }
        }
        let view = self.view().ok_or("the run has not begun")?;
        Ok(ControlReply::View { view: Box::new(view), live: true })
    }

    /// Takes an input of the host's own making. One that core refuses is a mistake of this program.
    fn take_own(&mut self, input: Input) -> Result<(), RuntimeError> {
        self.scribe.take(input).map_err(|illegal: IllegalInput| RuntimeError::Impossible {
            run: self.scribe.id().clone(),
            why: illegal.to_string(),
        })
    }
}
