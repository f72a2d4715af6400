//! The host's acts for intents, and the agents' reactions to prompts: performed in the world first, answered later.

use baton_core::facts::{AgentEvent, Capabilities, ProcessExit};
use baton_core::input::{AgentReport, ArtifactRef};
use baton_core::{Action, ActionOutcome, Digest, DurationMs, Input, Intent, SessionId};

use crate::agents::{AgentMove, ModelAgent};
use crate::policy;

use super::{ScheduledItem, SimulationWorld};

/// An effect is answered within this.
const ANSWER_MS: u64 = 5_000;
/// The user looks within this time.
const LOOK_MS: u64 = 3_600_000;

impl SimulationWorld<'_> {
    pub(super) fn perform(&mut self, Intent { id, action }: Intent) -> Result<(), String> {
        if self.is_early(&action) {
            self.later(ANSWER_MS, ScheduledItem::Perform(Intent { id, action }));
            return Ok(());
        }
        let outcome = match &action {
            Action::RequestDecision { request_id, request, .. } => {
                let fan_out = self.workflow.limits.split_fan_out;
                let (result, label) =
                    policy::decide(&request.query, self.now, fan_out, &mut self.rng, &self.temper);
                let input = Input::Decided { request_id: *request_id, result, label: Box::new(label) };
                self.later(200, ScheduledItem::Take(input));
                return Ok(());
            }
            Action::Spawn(spec) => {
                self.model_trees.check(&spec.tree, "a session")?;
                if self.rng.percent(self.temper.broken) {
                    let error = "no such program".to_owned();
                    match self.rng.percent(25) {
                        true => ActionOutcome::Unstartable { error },
                        false => ActionOutcome::Failed { error },
                    }
                } else {
                    self.agents.insert(spec.session.clone(), ModelAgent::new(spec.clone()));
                    let ready = AgentEvent::Ready { agent_session: None, model: None, version: None };
                    let at = self.now + DurationMs(self.rng.within(1, ANSWER_MS));
                    self.at(at, ScheduledItem::Agent(spec.session.clone(), 0, AgentMove::Say(ready)));
                    let (compacts, interrupts) = (self.rng.percent(70), self.rng.percent(80));
                    let capabilities = Capabilities { compacts, interrupts, ..Capabilities::default() };
                    ActionOutcome::Spawned { group: 1, started: 1, capabilities }
                }
            }
            Action::Prompt { session, kind, focus, .. } => {
                let (rng, temper) = (&mut self.rng, &self.temper);
                let acts = self.agents.get_mut(session).map(|agent| agent.answer(*kind, focus, rng, temper));
                self.tell(session, acts)
            }
            Action::Compact { session, .. } => {
                let rng = &mut self.rng;
                let acts = self.agents.get_mut(session).map(|agent| {
                    vec![(DurationMs(rng.within(1, ANSWER_MS)), AgentMove::Say(agent.compacted(rng)))]
                });
                self.tell(session, acts)
            }
            Action::Interrupt { session } => {
                let acts = self.agents.get_mut(session).map(|agent| {
                    agent.epoch += 1;
                    let stop_reason = "cancelled".to_owned();
                    vec![(
                        DurationMs(5),
                        AgentMove::Say(AgentEvent::PromptEnded { stop_reason, is_error: false }),
                    )]
                });
                self.tell(session, acts)
            }
            Action::EndSession { session, .. } => {
                let acts = self.agents.get_mut(session).map(|agent| {
                    agent.epoch += 1;
                    let exit = ProcessExit { code: Some(0), signal: None, by_host: true };
                    vec![(DurationMs(self.rng.within(0, ANSWER_MS)), AgentMove::Exit(exit))]
                });
                self.tell(session, acts)
            }
            Action::Checkpoint { .. }
            | Action::CreateWorktree { .. }
            | Action::CommitWorktree { .. }
            | Action::RestoreWorktree { .. }
            | Action::Merge { .. }
            | Action::AbortMerge { .. }
            | Action::Land { .. } => {
                self.model_trees.perform(&action, &self.workflow.phases, &mut self.rng, &self.temper)?
            }
            Action::CommitToBranch { .. } => self.or_broken(ActionOutcome::nothing_to_commit()),
            Action::MeasureWorkspace { tree, expected, .. } => {
                self.model_trees.check(tree, "a measurement")?;
                let facts = self.model_trees.facts(tree, expected, &self.workflow.phases);
                self.or_broken(ActionOutcome::WorkspaceMeasured { facts })
            }
            Action::ValidateHandoff { tree, .. } => {
                self.model_trees.check(tree, "an inspection")?;
                let (missing_files, secrets) = (Vec::new(), Vec::new());
                let (commits_since, diverged) = (self.rng.count(0, 3), self.rng.percent(5));
                self.or_broken(ActionOutcome::Inspected { missing_files, secrets, commits_since, diverged })
            }
            Action::Verify { tree, command, .. } => {
                self.model_trees.check(tree, "a verification")?;
                if command.is_empty() {
                    return Err("a verification by no command".into());
                }
                let passed = !self.rng.percent(self.temper.red) && !self.model_trees.is_open(tree);
                let (code, findings) = (Some(i32::from(!passed)), "expected 4, found 5".into());
                self.or_broken(ActionOutcome::Verified { passed, code, findings, artifact: None })
            }
            Action::WriteHandoff { path, .. } => {
                let (path, artifact) = (path.clone(), artifact(path));
                self.or_broken(ActionOutcome::HandoffWritten { path, artifact, index: None })
            }
            Action::WriteSummaries { .. } => {
                self.or_broken(ActionOutcome::SummariesWritten { artifacts: vec![artifact("summary")] })
            }
            Action::Offload { items, .. } => self.or_broken(ActionOutcome::Offloaded {
                artifacts: items.iter().map(|item| artifact(&item.name)).collect(),
            }),
            Action::AskUser { .. } => {
                if self.temper.attended {
                    self.later(LOOK_MS, ScheduledItem::Person(id));
                }
                ActionOutcome::Announced
            }
            Action::Finish { .. } => ActionOutcome::Announced,
            Action::DeliverToolResult { .. } | Action::Notify(_) => return Ok(()),
        };
        self.later(ANSWER_MS, ScheduledItem::Take(Input::Outcome { action: id, outcome }));
        Ok(())
    }

    /// A message to an agent that is still being started waits until it is up.
    fn is_early(&self, action: &Action) -> bool {
        let (Action::Prompt { session, .. }
        | Action::Interrupt { session }
        | Action::EndSession { session, .. }) = action
        else {
            return false;
        };
        let starts = |due: &ScheduledItem| match due {
            ScheduledItem::Perform(Intent { action: Action::Spawn(spec), .. }) => spec.session == *session,
            _ => false,
        };
        self.queue.values().any(starts)
    }

    fn or_broken(&mut self, outcome: ActionOutcome) -> ActionOutcome {
        match self.rng.percent(self.temper.broken) {
            true => ActionOutcome::Failed { error: "the disk is full".into() },
            false => outcome,
        }
    }

    /// What a running agent does with a message.
    fn tell(&mut self, session: &SessionId, acts: Option<Vec<(DurationMs, AgentMove)>>) -> ActionOutcome {
        let Some((acts, epoch)) = acts.zip(self.agents.get(session).map(|agent| agent.epoch)) else {
            return ActionOutcome::Failed { error: format!("the agent of {session} is gone") };
        };
        for (after, act) in acts {
            self.at(self.now + after, ScheduledItem::Agent(session.clone(), epoch, act));
        }
        ActionOutcome::Delivered
    }

    pub(super) fn act(&mut self, session: SessionId, epoch: u32, act: AgentMove) -> Result<(), String> {
        // An agent that was told to end ends, regardless of later messages.
        let Some(agent) = self.agents.get(&session).filter(|agent| {
            agent.epoch == epoch || matches!(act, AgentMove::Exit(ProcessExit { by_host: true, .. }))
        }) else {
            return Ok(());
        };
        let tree = agent.spec.tree.clone();
        match act {
            AgentMove::Say(event) => self.take(Input::Agent { session, event }),
            AgentMove::Exit(exit) => {
                self.agents.remove(&session);
                self.take(Input::SessionEnded { session, exit })
            }
            AgentMove::Work(pieces) => {
                self.model_trees.work(&tree, &pieces)?;
                if !self.rng.percent(self.temper.unresolved) {
                    self.model_trees.resolve(&tree);
                }
                Ok(())
            }
            AgentMove::Report(report) => {
                self.report(session, report);
                Ok(())
            }
        }
    }

    /// A report arrives a little later than it was made, and once in a while twice.
    fn report(&mut self, session: SessionId, report: AgentReport) {
        self.reports += 1;
        let digest = Digest::of(format!("report {}", self.reports));
        for _ in 0..if self.rng.percent(5) { 2 } else { 1 } {
            let (session, digest, report) = (Some(session.clone()), digest.clone(), report.clone());
            // Before the agent's next event.
            self.at(self.now, ScheduledItem::Take(Input::Reported { session, digest, report }));
        }
    }
}

fn artifact(name: &str) -> ArtifactRef {
    ArtifactRef { name: name.into(), version: 1, digest: Digest::of(name), bytes: 9, summary: String::new() }
}
