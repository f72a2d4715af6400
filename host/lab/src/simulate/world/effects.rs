//! The outcome of each intent in a simulated world. This module makes no decision of a host: the real components decide, and
//! all other outcomes follow from the state of the workspace model.

use baton_core::facts::AgentEvent;
use baton_core::input::ArtifactRef;
use baton_core::workflow::Role;
use baton_core::{
    Action, ActionOutcome, DurationMs, Input, Intent, ObjectiveId, PhaseId, SessionId, TextBlob, WorktreeName,
};
use baton_engine::RoutedDecision;

use super::{SimEvent, SimWorld};
use crate::simulate::sim_agent::SimAgent;

/// Duration of an effect on the host's own machine, in milliseconds.
const EFFECT_MS: u64 = 20;

impl SimWorld<'_> {
    pub(super) fn perform(&mut self, Intent { id, action }: Intent) {
        let mut takes = DurationMs(EFFECT_MS);
        let outcome;
        match &action {
            Action::RequestDecision { request_id, request, scope } => {
                let RoutedDecision { result, mut label, .. } = self.router.decide_in(scope, request);
                // Virtual time has no wall clock: the same seed gives the same bytes.
                label.duration_us = 0;
                let input = Input::Decided { request_id: *request_id, result, label: Box::new(label) };
                return self.after(DurationMs(0), SimEvent::Take(Box::new(input)));
            }
            Action::Spawn(spec) => {
                outcome = Some(
                    match self.rng("start", spec.phase.as_str()).chance(self.model.trouble.starts_fail) {
                        true => ActionOutcome::Failed {
                            error: "cannot start the agent: it closed its output at once".to_owned(),
                        },
                        false => {
                            let role = self.workflow.roles.get(&spec.role);
                            let window = role
                                .and_then(|role| role.window_tokens)
                                .map_or(self.model.context.window_tokens, |tokens| tokens as f64);
                            let agent = SimAgent::new(
                                spec.clone(),
                                self.profile,
                                window,
                                role.is_some_and(proxies_results),
                                self.model,
                            );
                            let capabilities = agent.capabilities();
                            self.agents.insert(spec.session.clone(), agent);
                            let ready = AgentEvent::Ready { agent_session: None, model: None, version: None };
                            let act =
                                SimEvent::Act(spec.session.clone(), 0, super::SimAgentAction::Say(ready));
                            self.after(
                                DurationMs((self.model.work.start_seconds * 1000.0) as u64 + EFFECT_MS + 1),
                                act,
                            );
                            ActionOutcome::Spawned { group: 1, started: 1, capabilities }
                        }
                    },
                );
            }
            Action::Prompt { session, kind, focus, text, .. } => {
                let phase = self.agents.get(session).map(|agent| agent.spec.phase.clone());
                self.record_focus(phase, focus);
                let bytes = text.len_bytes();
                outcome =
                    self.tell_agent(session, |agent, around| agent.on_prompt(*kind, focus, bytes, around));
            }
            Action::Compact { session, .. } => {
                outcome = self.tell_agent(session, |agent, around| agent.compacts(around))
            }
            Action::Interrupt { session } => {
                outcome = self.tell_agent(session, |agent, _| agent.on_interrupt())
            }
            Action::EndSession { session, .. } => {
                outcome = self.tell_agent(session, |agent, _| agent.on_end())
            }
            Action::DeliverToolResult { item, offload } => {
                // The item begins with its session's name.
                if let Some(agent) =
                    item.split(' ').next().and_then(|session| self.agents.get_mut(&SessionId::new(session)))
                {
                    agent.on_tool_result_placed(item, *offload);
                }
                return;
            }
            Action::Notify(_) => return,
            Action::MeasureWorkspace { phase, baseline, expected, tree } => {
                outcome = Some(self.workspace_model.measure(phase, *baseline, expected, tree));
            }
            Action::Verify { phase, tree, .. } => {
                takes = DurationMs((self.model.verification.seconds * 1000.0) as u64 + EFFECT_MS);
                outcome = Some(self.verify(phase, tree));
            }
            Action::CommitToBranch { .. } => {
                outcome = Some(ActionOutcome::nothing_to_commit());
            }
            Action::Checkpoint { phase, .. }
            | Action::CreateWorktree { phase, .. }
            | Action::CommitWorktree { phase, .. }
            | Action::RestoreWorktree { phase, .. }
            | Action::Merge { phase, .. }
            | Action::AbortMerge { phase, .. }
            | Action::Land { phase, .. } => {
                let mut rng = self.rng(action.name(), phase.as_str());
                outcome = Some(self.workspace_model.perform(&action, &mut rng, self.model));
            }
            Action::ValidateHandoff { .. } => {
                let (missing_files, secrets) = (Vec::new(), Vec::new());
                outcome = Some(ActionOutcome::Inspected {
                    missing_files,
                    secrets,
                    commits_since: 0,
                    diverged: false,
                });
            }
            Action::WriteHandoff { phase, ordinal, path, document, index, .. } => {
                let path = if path.is_empty() {
                    format!("handoffs/phase-{phase}-{ordinal}.md")
                } else {
                    path.clone()
                };
                let artifact = artifact(&path, document);
                let index = Some(artifact_of_index(&path, index));
                outcome = Some(ActionOutcome::HandoffWritten { path, artifact, index });
            }
            Action::WriteSummaries { step, directory, .. } => {
                let artifacts =
                    vec![artifact("summaries/phase.md", step), artifact("summaries/run.md", directory)];
                outcome = Some(ActionOutcome::SummariesWritten { artifacts });
            }
            Action::Offload { items, .. } => {
                let artifacts = items.iter().map(|item| artifact(&item.name, &item.text)).collect();
                outcome = Some(ActionOutcome::Offloaded { artifacts });
            }
            Action::AskUser { .. } => {
                let mut rng = self.rng("person", "delay");
                let (looks, after) = (
                    rng.chance(self.model.person.answers),
                    rng.seconds(self.model.person.minutes * 60.0, 1.0),
                );
                if looks {
                    self.after(after + takes + DurationMs(1), SimEvent::Person(id));
                }
                outcome = Some(ActionOutcome::Announced);
            }
            Action::Finish { .. } => outcome = Some(ActionOutcome::Announced),
        }
        let gone = || ActionOutcome::Failed { error: "the agent is gone".to_owned() };
        let outcome = outcome.unwrap_or_else(gone);
        self.after(takes, SimEvent::Take(Box::new(Input::Outcome { action: id, outcome })));
    }

    /// Passes a request to an agent; none if the agent is gone.
    fn tell_agent(
        &mut self,
        session: &SessionId,
        does: impl FnOnce(&mut SimAgent, &mut super::SimContext<'_>) -> super::SimAgentStep,
    ) -> Option<ActionOutcome> {
        // The outcome is queued before the agent's reaction.
        self.with_agent(session, does).map(|()| ActionOutcome::Delivered)
    }

    /// Remembers the objectives of a phase: those of a sub-phase are only in its prompts.
    fn record_focus(&mut self, phase: Option<PhaseId>, focus: &[ObjectiveId]) {
        let Some(phase) = phase else { return };
        let held = self.held.entry(phase).or_default();
        for objective in focus {
            if self.asked.contains(objective) && !held.contains(objective) {
                held.push(objective.clone());
            }
        }
    }

    /// A verification command, run in the tree of the work.
    fn verify(&mut self, phase: &PhaseId, tree: &WorktreeName) -> ActionOutcome {
        let held = self.held.get(phase).cloned().unwrap_or_default();
        let mut rng = self.rng("verify", phase.as_str());
        let verification = &self.model.verification;
        let (mut failing, mut found): (Vec<String>, Vec<ObjectiveId>) = (Vec::new(), Vec::new());
        for objective in held {
            let is_right = self.workspace_model.piece(tree, &objective).finished == Some(true);
            if !is_right && !rng.chance(verification.blind) {
                failing.push(format!("FAIL {objective}: expected 4, found 5"));
                found.push(objective);
            }
        }
        if failing.is_empty() && rng.chance(verification.flaky) {
            failing.push("FAIL setup: connection refused (os error 111)".to_owned());
        }
        if self.workspace_model.is_open(tree) {
            failing.push("FAIL build: conflict markers in src/lib.rs".to_owned());
        }
        if !found.is_empty() {
            self.found.insert(tree.clone(), found);
        }
        let passed = failing.is_empty();
        let findings = if passed { "all checks passed".to_owned() } else { failing.join("\n") };
        ActionOutcome::Verified { passed, code: Some(i32::from(!passed)), findings, artifact: None }
    }
}

/// Whether the results of a role's tools go through a proxy that may keep them out of the context.
fn proxies_results(role: &Role) -> bool {
    role.mcp.values().any(|server| server.offload)
}

fn artifact(name: &str, text: &TextBlob) -> ArtifactRef {
    ArtifactRef {
        name: name.to_owned(),
        version: 1,
        digest: text.digest().clone(),
        bytes: text.len_bytes(),
        summary: String::new(),
    }
}

fn artifact_of_index(path: &str, index: &TextBlob) -> ArtifactRef {
    let name = path.strip_suffix(".md").unwrap_or(path);
    artifact(&format!("{name}-index.md"), index)
}
