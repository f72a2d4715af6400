//! The loop of one run. Every event has one closed type, becomes an input of the core machine and is journaled; only then are
//! the resulting intents performed. The loop waits only for events and commits: work that takes time is a task that sends its
//! result back.

mod after_waits;
mod before_end;
mod policy_changes;
mod tool_call_events;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use baton_agents::DriverEvent;
use baton_core::action::RunOutcome;
use baton_core::decision::{Decision, Fault, Provenance};
use baton_core::facts::{AgentEvent, Refusal, RefusalKind};
use baton_core::input::ChangeRequester;
use baton_core::run::IllegalInput;
use baton_core::view::{RunStatus, RunView};
use baton_core::{Action, Input, Intent, RequestId, SessionId};
use baton_engine as engine;
use baton_inbox::ToolReply;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::control::message::ControlRequest;
use crate::control::message::{ControlMessage, ControlReply};
use crate::control::offline_answer::resolve_question;
use crate::control::requester::{AgentRequester, SessionEvidence};
use crate::effects::{EffectRunner, IntentOutcome};
use crate::error::RuntimeError;
use crate::lost_work::LostWorkFinder;
use crate::policies::PolicyRegistry;
use crate::policies::policy_watcher::PolicyWatcher;
use crate::policies::shadow::RunShadows;
use crate::projection::{self, ProjectionWriter};
use crate::recorder::RunRecorder;
use crate::secret_masking;
use crate::tools::inbox_poller::InboxPoller;
use crate::tools::report_validation;
use crate::tools::tool_calls::ToolCallHandler;
use crate::ui::notifier::Notifier;
use crate::ui::ui_updates::UpdateQueue;

use policy_changes::{PolicyLoadResult, Swaps};
use tool_call_events::{ArtifactReply, PendingToolCalls, SizedToolResult};

/// Results of effects and decisions under way. Each phase at work has one or two; tasks wait when the loop is behind.
pub(crate) const RESULTS: usize = 256;
/// Events of all agents together; drivers wait when the loop is behind, and so do their agents.
pub(crate) const AGENT_EVENTS: usize = 256;
/// Events taken in before the next commit, so that a flood of them shares one.
const EVENTS_PER_COMMIT: usize = 256;
/// Interval of the inbox polls while agents work.
const INBOX_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A deadline that core names again after its tick is not retried faster than this.
const TICK_FLOOR: Duration = Duration::from_millis(20);
/// When the host stops, it waits this long for agents that it asked to end; the guard ends the remaining ones.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// To an agent that calls without the token of its session, as the user would.
const NO_TOKEN: &str = "a call without the token of a session is a person's, and this process was started by an agent or a check (or has ended)";

/// To a process of one session, or of a check, that calls with the token of another session.
const ANOTHERS_TOKEN: &str = "this is the token of another session than the one that started this process";

/// A policy's answer, or the fault of the last in the chain.
type PolicyReply = (RequestId, Result<Decision, Fault>, Provenance);

/// Everything that can happen to the loop.
enum LoopEvent {
    Agent(SessionId, DriverEvent),
    EffectDone(IntentOutcome),
    Decided(Box<PolicyReply>),
    Asked(ControlRequest),
    ArtifactSaved(Box<ArtifactReply>),
    ToolResultSized(Box<SizedToolResult>),
    PolicyLoaded(Box<PolicyLoadResult>),
    Stop,
    /// Time has passed: core's deadline, or the next look at the inbox.
    Tick,
    /// The renderer has room for what waits for it.
    UiReady,
    /// An effect or a decision broke off without a result.
    TaskFailed(String),
}

/// The ends of the channels that the loop reads.
pub(crate) struct LoopChannels {
    pub(crate) agents: mpsc::Receiver<(SessionId, DriverEvent)>,
    pub(crate) done: mpsc::Receiver<IntentOutcome>,
    pub(crate) asked: mpsc::Receiver<ControlRequest>,
    pub(crate) stop: watch::Receiver<bool>,
}

/// What the loop is made of.
pub(crate) struct EventLoopParts {
    pub(crate) recorder: RunRecorder,
    pub(crate) effect_runner: EffectRunner,
    pub(crate) policies: Arc<PolicyRegistry>,
    pub(crate) shadows: RunShadows,
    pub(crate) inbox: InboxPoller,
    pub(crate) tool_calls: ToolCallHandler,
    pub(crate) projector: ProjectionWriter,
    pub(crate) ui_updates: UpdateQueue,
    pub(crate) notifier: Notifier,
    pub(crate) lost_work: LostWorkFinder,
    pub(crate) channels: LoopChannels,
}

/// A run at work.
pub(crate) struct EventLoop {
    recorder: RunRecorder,
    effect_runner: EffectRunner,
    policies: Arc<PolicyRegistry>,
    shadows: RunShadows,
    inbox: InboxPoller,
    tool_calls: ToolCallHandler,
    projector: ProjectionWriter,
    ui_updates: UpdateQueue,
    notifier: Notifier,
    lost_work: LostWorkFinder,
    channels: LoopChannels,
    decided: (mpsc::Sender<Box<PolicyReply>>, mpsc::Receiver<Box<PolicyReply>>),
    /// Questions that a policy is busy with.
    deciding: u32,
    /// What calls of tools have under way.
    calls: PendingToolCalls,
    /// Policy switches under way.
    swaps: Swaps,
    watch: PolicyWatcher,
    /// Answers to people and agents, held back until their requests are on disk.
    replies: Vec<(oneshot::Sender<ControlReply>, ControlReply)>,
    /// What agents wanted to change of their run, each told once.
    refused: BTreeSet<(SessionId, &'static str)>,
    next_inbox_poll: Instant,
    next_tick: Instant,
    stop_deadline: Option<Instant>,
}

impl EventLoop {
    pub(crate) fn new(parts: EventLoopParts) -> Self {
        let EventLoopParts {
            recorder,
            effect_runner,
            policies,
            shadows,
            inbox,
            tool_calls,
            projector,
            ui_updates,
            notifier,
            lost_work,
            channels,
        } = parts;
        let now = Instant::now();
        let swaps = Swaps::new(recorder.run().binding_generation());
        let watch = PolicyWatcher::over(recorder.run());
        Self {
            recorder,
            effect_runner,
            policies,
            shadows,
            inbox,
            tool_calls,
            projector,
            ui_updates,
            notifier,
            lost_work,
            channels,
            decided: mpsc::channel(RESULTS),
            deciding: 0,
            calls: PendingToolCalls::new(),
            swaps,
            watch,
            replies: Vec::new(),
            refused: BTreeSet::new(),
            next_inbox_poll: now,
            next_tick: now,
            stop_deadline: None,
        }
    }

    /// Runs until the run has ended, nothing can happen before the user answers, or the host is asked to stop. Performs
    /// `repeat` and the inputs that the recorder already holds first.
    pub(crate) async fn run(mut self, repeat: Vec<Intent>) -> Result<RunView, RuntimeError> {
        self.shadows.follow(self.recorder.run());
        let ended = self.run_until_over(repeat).await;
        self.shadows.finish();
        if ended.is_err() {
            self.effect_runner.sessions.end_all().await;
        }
        self.projector.finish().await;
        let failures = self.notifier.finish().await;
        self.ui_updates.add(failures);
        let at = self.recorder.clock().now();
        let view = self.recorder.run().view(at);
        if let Some(view) = &view {
            self.ui_updates.send_final(self.recorder.run(), view.clone(), at).await;
        }
        ended?;
        view.ok_or_else(|| RuntimeError::Impossible {
            run: self.recorder.id().clone(),
            why: "it never began".into(),
        })
    }

    async fn run_until_over(&mut self, mut repeat: Vec<Intent>) -> Result<(), RuntimeError> {
        loop {
            let due = self.recorder.commit().await?;
            self.inbox.confirm().await;
            due.notices.iter().for_each(|notice| self.tool_calls.note(notice));
            if due.has_significant_input {
                self.project().await;
            }
            self.notifier.notify(&due.notices);
            self.ui_updates.add(self.notifier.failures());
            self.ui_updates.add(self.inbox.refusals());
            self.ui_updates.add(due.notices);
            self.follow_binding_changes();
            for intent in repeat.drain(..).chain(due.intents) {
                if let Action::Spawn(spec) = &intent.action {
                    self.inbox.reject_before(self.recorder.run(), &spec.session).await;
                }
                self.perform(intent);
            }
            for (reply, answer) in self.replies.drain(..) {
                // The requester may have left.
                let _ = reply.send(answer);
            }
            let at = self.recorder.clock().now();
            self.ui_updates.offer(self.recorder.run(), at, false);
            if self.is_over()? {
                return self.recorder.flush();
            }
            let event = self.next().await;
            self.on_event(event).await?;
            for _ in 1..EVENTS_PER_COMMIT {
                let Some(event) = self.try_next() else { break };
                self.on_event(event).await?;
            }
            // Agents that never fall silent must not hide that time passes.
            self.on_tick().await?;
        }
    }

    fn perform(&mut self, intent: Intent) {
        let (request_id, request, scope) = match intent.action {
            Action::RequestDecision { request_id, request, scope } => (request_id, request, scope),
            Action::DeliverToolResult { item, offload } => return self.deliver_result(&item, offload),
            _ => {
                let review = self.recorder.run().review_to_exclude(&intent.action).cloned();
                return self.effect_runner.perform(intent, review);
            }
        };
        self.deciding += 1;
        let (policies, decided) = (Arc::clone(&self.policies), self.decided.0.clone());
        let shadows = self.shadows.teller();
        self.effect_runner.spawn_blocking_task(move || {
            let engine::RoutedDecision { result, label, .. } = policies.decide(&scope, &request);
            if let Some(shadows) = shadows {
                shadows.send_query(request_id, request, result.clone());
            }
            // The receiver is gone only if the host is ending; `resume` then puts the question again.
            let _ = decided.blocking_send(Box::new((request_id, result, label)));
        });
    }

    /// After the commit, before anything that follows from it: the files are never ahead of the journal, and tell
    /// everything that was acted on.
    async fn project(&mut self) {
        if let Some(projection) = projection::project(self.recorder.run(), self.recorder.timeline()) {
            self.projector.write_projection(projection).await;
        }
    }

    /// Nothing more can happen here.
    fn is_over(&self) -> Result<bool, RuntimeError> {
        let run = self.recorder.run();
        if self.stop_deadline.is_some_and(|at| Instant::now() >= at) {
            return Ok(true);
        }
        let quiet = run.pending().is_empty()
            && self.effect_runner.sessions.is_empty()
            && self.deciding + self.calls.under_way + self.swaps.under_way == 0;
        match run.status() {
            // Other open work can be repeated after a stop of the host; but agents must be ended, their handoffs written, and
            // the workspace measured for these.
            RunStatus::Ended(RunOutcome::Interrupted) => {
                let ends = |intent: &&Intent| {
                    matches!(
                        intent.action,
                        Action::Spawn(_)
                            | Action::EndSession { .. }
                            | Action::MeasureWorkspace { .. }
                            | Action::WriteHandoff { .. }
                    )
                };
                Ok(self.effect_runner.sessions.is_empty() && !run.pending().iter().any(ends))
            }
            RunStatus::Ended(_) | RunStatus::Paused => Ok(quiet),
            RunStatus::Running if quiet && run.next_deadline().is_none() && !self.recorder.has_batch() => {
                let why = "nothing is under way, and nothing waits for time or a person".to_owned();
                Err(RuntimeError::Impossible { run: self.recorder.id().clone(), why })
            }
            RunStatus::Running => Ok(false),
        }
    }

    async fn next(&mut self) -> LoopEvent {
        let wake = self.wake_at();
        // While very much waits for the renderer, agents wait too; people and results never do.
        let hear_agents = !self.ui_updates.is_full();
        tokio::select! {
            biased;
            // If the sender of stop requests is gone, the run does not stop.
            Ok(_) = self.channels.stop.wait_for(|stop| *stop), if self.stop_deadline.is_none() => LoopEvent::Stop,
            Some(asked) = self.channels.asked.recv() => LoopEvent::Asked(asked),
            Some(done) = self.channels.done.recv() => LoopEvent::EffectDone(done),
            Some(decided) = self.decided.1.recv() => LoopEvent::Decided(decided),
            Some(kept) = self.calls.kept.1.recv() => LoopEvent::ArtifactSaved(kept),
            Some(weighed) = self.calls.weighed.1.recv() => LoopEvent::ToolResultSized(weighed),
            Some(loaded) = self.swaps.loaded.1.recv() => LoopEvent::PolicyLoaded(loaded),
            why = self.effect_runner.broken() => LoopEvent::TaskFailed(why),
            Some((session, event)) = self.channels.agents.recv(), if hear_agents => LoopEvent::Agent(session, event),
            () = self.ui_updates.room(), if self.ui_updates.waits() => LoopEvent::UiReady,
            () = tokio::time::sleep_until(wake) => LoopEvent::Tick,
        }
    }

    /// The next event that has already arrived.
    fn try_next(&mut self) -> Option<LoopEvent> {
        if let Ok(done) = self.channels.done.try_recv() {
            return Some(LoopEvent::EffectDone(done));
        }
        if let Ok(decided) = self.decided.1.try_recv() {
            return Some(LoopEvent::Decided(decided));
        }
        if self.ui_updates.is_full() {
            return None;
        }
        let (session, event) = self.channels.agents.try_recv().ok()?;
        Some(LoopEvent::Agent(session, event))
    }

    fn wake_at(&mut self) -> Instant {
        let deadline = self.recorder.run().next_deadline();
        let tick = deadline.map(|at| (Instant::now() + self.recorder.clock().until(at)).max(self.next_tick));
        let look = self.next_inbox_poll.max(Instant::now());
        [tick, self.stop_deadline].into_iter().flatten().fold(look, Instant::min)
    }

    async fn on_event(&mut self, event: LoopEvent) -> Result<(), RuntimeError> {
        match event {
            LoopEvent::Agent(session, event) => self.on_agent_event(session, event).await,
            LoopEvent::EffectDone((action, outcome)) => {
                if let baton_core::ActionOutcome::Failed { error } = &outcome {
                    tracing::info!(%action, "an effect failed: {error}");
                }
                let pending = self.recorder.run().pending();
                let doing = pending.iter().find(|intent| intent.id == action).map(|intent| &intent.action);
                let is_check = matches!(doing, Some(Action::Verify { .. }));
                let is_merge = matches!(doing, Some(Action::Merge { .. }));
                if is_merge {
                    // Its parts may have been at work elsewhere for hours.
                    self.note_lost_work().await?;
                }
                if is_check {
                    // Files that a check wrote into an inbox are not an agent's reports, and are rejected before the check is
                    // over.
                    self.collect(false).await?;
                }
                self.record_last(Input::Outcome { action, outcome }).await
            }
            LoopEvent::Decided(decided) => {
                self.deciding -= 1;
                let (request_id, result, label) = *decided;
                self.record_last(Input::Decided { request_id, result, label: Box::new(label) }).await
            }
            LoopEvent::Asked(ControlRequest { message, by: Err(agent), reply })
                if message.change().is_some() =>
            {
                let what = message.change().unwrap_or_default();
                self.replies.push((reply, ControlReply::Refused { why: agent.why.clone() }));
                self.record_agent_refusal(what, agent)
            }
            LoopEvent::Asked(ControlRequest {
                message: ControlMessage::Call { token: None, .. },
                by: Err(agent),
                reply,
            }) => {
                let refused = ToolReply::refused(format!("not recorded: {NO_TOKEN}"));
                self.replies.push((reply, ControlReply::Called(refused)));
                self.record_agent_refusal("calls in the name of a person", agent)
            }
            LoopEvent::Asked(ControlRequest { message, by: Err(agent), reply })
                if self.has_foreign_token(&message, &agent) =>
            {
                self.replies.push((reply, ControlReply::Refused { why: ANOTHERS_TOKEN.to_owned() }));
                self.record_agent_refusal("calls in the name of another session", agent)
            }
            LoopEvent::Asked(ControlRequest {
                message: ControlMessage::Call { token, key, call },
                reply,
                ..
            }) => self.on_call(token.as_ref(), key, *call, reply),
            LoopEvent::Asked(ControlRequest {
                message: ControlMessage::Offer { token, tool, call, file },
                reply,
                ..
            }) => {
                self.on_tool_result(&token, tool, call, file, reply);
                Ok(())
            }
            LoopEvent::Asked(ControlRequest { message: ControlMessage::UsePolicy(wanted), by, reply }) => {
                self.record_requester("use-policy", by)?;
                self.on_use_policy(*wanted, reply);
                Ok(())
            }
            LoopEvent::PolicyLoaded(loaded) => self.on_policy_loaded(*loaded),
            LoopEvent::ToolResultSized(weighed) => self.on_sized_result(*weighed),
            LoopEvent::ArtifactSaved(kept) => self.on_saved_artifact(*kept),
            LoopEvent::Asked(ControlRequest { message, by, reply }) => {
                if let Some(what) = message.change() {
                    self.record_requester(what, by)?;
                }
                self.look_before_answer(&message).await?;
                let answer = self.answer(message).unwrap_or_else(|why| ControlReply::Refused { why });
                self.replies.push((reply, answer));
                Ok(())
            }
            LoopEvent::Stop => self.stop(),
            // Both are seen to in every round.
            LoopEvent::Tick | LoopEvent::UiReady => Ok(()),
            LoopEvent::TaskFailed(why) => {
                Err(RuntimeError::Impossible { run: self.recorder.id().clone(), why })
            }
        }
    }

    fn view(&mut self) -> Option<RunView> {
        let at = self.recorder.clock().now();
        self.recorder.run().view(at)
    }

    /// An agent's reports are taken before the end of the prompt in which it made them, so that finished objectives count.
    async fn on_agent_event(&mut self, session: SessionId, event: DriverEvent) -> Result<(), RuntimeError> {
        let ends =
            matches!(event, DriverEvent::Exited(_) | DriverEvent::Event(AgentEvent::PromptEnded { .. }));
        if ends {
            self.collect(true).await?;
        }
        if matches!(event, DriverEvent::Exited(_)) {
            let tree = self.view().map(|view| report_validation::session_worktree(&view, Some(&session)));
            self.inbox.reject_rest(tree).await;
        }
        let told = match &event {
            DriverEvent::Event(event) => Some(event),
            DriverEvent::Exited(_) => None,
        };
        if self.recorder.run().ends_agent_wait(&session, told) {
            self.note_lost_work().await?;
        }
        let input = match event {
            DriverEvent::Event(event) => Input::Agent { session, event: secret_masking::mask_event(event) },
            DriverEvent::Exited(exit) => {
                self.effect_runner.sessions.gone(&session);
                return self.record_last(Input::SessionEnded { session, exit }).await;
            }
        };
        self.record_input(input)
    }

    /// `at_once` if an agent has ended its prompt: incomplete files in the inbox are then reported now.
    async fn collect(&mut self, at_once: bool) -> Result<(), RuntimeError> {
        self.next_inbox_poll = Instant::now() + INBOX_POLL_INTERVAL;
        let inputs = self.inbox.collect(self.recorder.run(), &self.tool_calls.artifact_tools, at_once).await;
        for input in inputs {
            self.record_input(input)?;
        }
        Ok(())
    }

    async fn on_tick(&mut self) -> Result<(), RuntimeError> {
        if Instant::now() >= self.next_inbox_poll {
            self.collect(false).await?;
            self.on_changed_files();
            let at = self.recorder.clock().now();
            // Clocks move while nothing happens.
            self.ui_updates.offer(self.recorder.run(), at, true);
        }
        let now = self.recorder.clock().now();
        if self.recorder.run().next_deadline().is_some_and(|at| at <= now) && Instant::now() >= self.next_tick
        {
            self.next_tick = Instant::now() + TICK_FLOOR;
            if self.recorder.run().ends_wait(now) {
                self.note_lost_work().await?;
            }
            self.record_last(Input::Tick).await?;
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), RuntimeError> {
        self.stop_deadline = Some(Instant::now() + STOP_TIMEOUT);
        if self.recorder.run().ending().is_none() {
            self.record_input(Input::StopRequested)?;
        }
        Ok(())
    }

    /// Records that an agent tried to change its run, like any other refusal, once for each kind of change.
    fn record_agent_refusal(
        &mut self,
        what: &'static str,
        agent: AgentRequester,
    ) -> Result<(), RuntimeError> {
        tracing::warn!(what, "refused: {}", agent.why);
        let folder = |session: &SessionId| self.tool_calls.folder(session);
        let live = self.recorder.run().live_sessions();
        let session = match agent.of {
            Some(SessionEvidence::SessionSocket(session)) => live.into_iter().find(|live| **live == session),
            Some(SessionEvidence::Mark(mark)) => {
                live.into_iter().find(|live| baton_agents::mark_of(&folder(live)) == mark)
            }
            None => None,
        };
        match session.cloned() {
            Some(session) if self.refused.insert((session.clone(), what)) => {
                let refusal = Refusal { kind: RefusalKind::Host, target: what.to_owned() };
                self.record_input(Input::Agent { session, event: AgentEvent::Refused(refusal) })
            }
            _ => Ok(()),
        }
    }

    /// Whether a message has the token of a session, and comes from what another session or a check has started. Each agent without a
    /// sandbox can read the tokens of all.
    fn has_foreign_token(&self, message: &ControlMessage, by: &AgentRequester) -> bool {
        message.token().is_some_and(|token| {
            let own = baton_agents::mark_of(&self.tool_calls.folder(&token.session));
            by.of.as_ref() != Some(&SessionEvidence::Mark(own))
        })
    }

    /// Who asks for a change is journaled before the change.
    fn record_requester(
        &mut self,
        what: &str,
        by: Result<Option<ChangeRequester>, AgentRequester>,
    ) -> Result<(), RuntimeError> {
        match by.ok().flatten() {
            Some(by) => self.record_input(Input::ChangeRequested { what: what.to_owned(), by }),
            None => Ok(()),
        }
    }

    fn answer(&mut self, message: ControlMessage) -> Result<ControlReply, String> {
        match message {
            // Calls of tools, and what takes time, are not answered from here.
            ControlMessage::Status
            | ControlMessage::Call { .. }
            | ControlMessage::Offer { .. }
            | ControlMessage::UsePolicy(_) => {}
            ControlMessage::Stop => {
                self.stop().map_err(|error| error.to_string())?;
                return Ok(ControlReply::Stopping);
            }
            ControlMessage::RollBackPolicy { run, scope, decides } => {
                return self.roll_back(run.as_ref(), &scope, &decides);
            }
            ControlMessage::Answer { run: Some(run), .. } if run != *self.recorder.id() => {
                return Err(format!(
                    "Baton works on run {} in this folder now; run {run} can be answered when that one has ended, or after `baton stop`",
                    self.recorder.id()
                ));
            }
            ControlMessage::Answer { question, choice, message, .. } => {
                let question = resolve_question(self.recorder.run(), question, choice)
                    .map_err(|error| error.to_string())?;
                let taken = self.recorder.record(Input::Answered { question, choice, message });
                taken.map_err(|illegal| illegal.to_string())?;
            }
        }
        let view = self.view().ok_or("the run has not begun")?;
        Ok(ControlReply::View { view: Box::new(view), live: true })
    }

    /// Takes an input of the host's own making. One that core refuses is a mistake of this program.
    fn record_input(&mut self, input: Input) -> Result<(), RuntimeError> {
        self.recorder.record(input).map_err(|illegal: IllegalInput| RuntimeError::Impossible {
            run: self.recorder.id().clone(),
            why: illegal.to_string(),
        })
    }
}
