//! What would happen: drives the core machine and the real policies against an agent that does everything at the first
//! try. Nothing is spawned, and nothing is written but the cache of compiled policies.

use std::collections::{BTreeMap, VecDeque};

use baton_core::facts::{AgentEvent, ChangedFile, ProcessExit, WorkspaceFacts};
use baton_core::input::{AgentReport, ArtifactRef, PolicyBinding};
use baton_core::observation::{ObjectiveStatus, PromptKind};
use baton_core::progress::ProgressEvent;
use baton_core::workflow::Role;
use baton_core::workflow::paths::RunNames;
use baton_core::{
    Action, ActionOutcome, DurationMs, Input, Intent, JournaledInput, ObjectiveId, PhaseId, Run, RunId, Seq,
    SessionId, TextBlob, UnixMs, Workflow,
};
use baton_store::StateDir;

use crate::clock;
use crate::config::{HostConfig, PolicyBundle};
use crate::error::RuntimeError;
use crate::policies;
use crate::policies::{DecideFn, RunArtifacts};

/// The largest workflow takes about ten inputs an objective; a plan that takes more than this goes round in circles.
const INPUTS: u32 = 20_000;

/// Stands for a commit that is not made.
const PLACEHOLDER_COMMIT: &str = "0000000000000000000000000000000000000000";

/// What a run of the workflow would do if every agent did its work at the first try.
#[derive(Clone, Debug, PartialEq)]
pub struct DryRun {
    /// The components that would decide.
    pub bindings: Vec<PolicyBinding>,
    /// The sessions, in the order in which they would be spawned.
    pub sessions: Vec<PlannedSession>,
    /// The question that a person would be asked, where the plan ends with one.
    pub question: Option<String>,
}

/// A session that would be spawned.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedSession {
    /// Under which id.
    pub session: SessionId,
    /// For which phase.
    pub phase: PhaseId,
    /// What the phase is about.
    pub title: String,
    /// As whom, in full: agent, model, permission.
    pub role: Role,
    /// Turns it may use; 0 for no cap.
    pub max_turns: u32,
    /// Turns that it may use at most, if it is given more on the way; 0 for no bound.
    pub turn_ceiling: u32,
    /// Continuations that the phase may have.
    pub continuations: u32,
    /// The prompts it would get.
    pub prompts: Vec<PlannedPrompt>,
    /// The command that would verify the phase.
    pub verify: Option<String>,
}

/// A prompt that would be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedPrompt {
    /// What it is for.
    pub kind: PromptKind,
    /// The objectives it is about.
    pub focus: Vec<ObjectiveId>,
    /// What it says.
    pub text: String,
}

/// Plans a run. Policies are loaded and their settings validated exactly as at a start. Blocking: a component may have to
/// be compiled.
///
/// # Errors
/// [`RuntimeError::PolicyRefused`] as at a start; [`RuntimeError::DryRunDidNotEnd`] where a policy never lets it end.
pub fn dry_run(
    config: &HostConfig,
    workflow: Workflow,
    policies: &PolicyBundle,
) -> Result<DryRun, RuntimeError> {
    let cache = StateDir::aot_cache_below(&config.state_root);
    let prepared = policies::prepare(cache, RunArtifacts::default(), &workflow, policies)?;
    plan(workflow, prepared.bindings, &prepared.policies.decide_fn())
}

/// The components that would decide in a run of the workflow, exactly as at a start. Of two for the same scope and decision the later one
/// decides, and the other stands behind it. Blocking, as [`dry_run`].
///
/// # Errors
/// [`RuntimeError::PolicyRefused`] as at a start.
pub fn initial_bindings(
    config: &HostConfig,
    workflow: &Workflow,
    policies: &PolicyBundle,
) -> Result<Vec<PolicyBinding>, RuntimeError> {
    let cache = StateDir::aot_cache_below(&config.state_root);
    Ok(policies::prepare(cache, RunArtifacts::default(), workflow, policies)?.bindings)
}

fn plan(workflow: Workflow, bindings: Vec<PolicyBinding>, judge: &DecideFn) -> Result<DryRun, RuntimeError> {
    let id = RunId::new("dry-run");
    let mut play = DryRunWorld {
        files: files_by_objective(&workflow),
        plan: DryRun { bindings: bindings.clone(), sessions: Vec::new(), question: None },
        changed: Vec::new(),
        titles: BTreeMap::new(),
        inputs: VecDeque::new(),
        workflow: workflow.clone(),
    };
    play.inputs.push_back(Input::Started {
        task_folder: workflow.paths.task_folder(RunNames {
            run: id.as_str(),
            workflow: &workflow.name,
            goal: &workflow.goal,
        }),
        run: id,
        workflow: Box::new(workflow),
        bindings,
        utc_offset_minutes: clock::utc_offset_minutes(),
        assignments: Vec::new(),
    });
    let mut run = Run::new();
    let (mut seq, started_at) = (Seq(0), clock::wall());
    while let Some(input) = play.inputs.pop_front() {
        seq = seq.next();
        if seq.0 > u64::from(INPUTS) {
            return Err(RuntimeError::DryRunDidNotEnd { inputs: INPUTS });
        }
        let at: UnixMs = started_at + DurationMs(seq.0);
        let intents = run.apply(&JournaledInput { seq, at, input }).map_err(|illegal| {
            RuntimeError::Impossible { run: run.id().clone(), why: illegal.to_string() }
        })?;
        for intent in intents {
            play.perform(intent, judge);
        }
    }
    Ok(play.plan)
}

fn files_by_objective(workflow: &Workflow) -> BTreeMap<ObjectiveId, Vec<String>> {
    let objectives = workflow.phases.iter().flat_map(|phase| &phase.objectives);
    objectives.map(|objective| (objective.id.clone(), objective.files.clone())).collect()
}

/// A world in which everything works.
struct DryRunWorld {
    workflow: Workflow,
    files: BTreeMap<ObjectiveId, Vec<String>>,
    plan: DryRun,
    changed: Vec<ChangedFile>,
    /// Of the phases that have begun: those of the workflow, and those that the host makes.
    titles: BTreeMap<PhaseId, String>,
    /// What core gets to hear next.
    inputs: VecDeque<Input>,
}

impl DryRunWorld {
    fn perform(&mut self, intent: Intent, judge: &DecideFn) {
        let action = intent.id;
        let mut answer = |outcome| self.inputs.push_back(Input::Outcome { action, outcome });
        match intent.action {
            Action::Spawn(spec) => {
                let capabilities = baton_agents::capabilities(&spec.agent);
                answer(ActionOutcome::Spawned { group: 0, started: 0, capabilities });
                self.push_agent_event(
                    &spec.session,
                    AgentEvent::Ready { agent_session: None, model: None, version: None },
                );
                let phase = self.workflow.phases.iter().find(|phase| phase.id == spec.phase);
                self.plan.sessions.push(PlannedSession {
                    title: self.titles.get(&spec.phase).cloned().unwrap_or_default(),
                    role: self.workflow.roles[&spec.role].clone().reassigned_to(&spec.agent),
                    max_turns: spec.max_turns,
                    turn_ceiling: spec.turn_ceiling,
                    continuations: phase
                        .and_then(|phase| phase.continuations)
                        .unwrap_or(self.workflow.limits.continuations),
                    prompts: Vec::new(),
                    verify: phase.and_then(|phase| phase.verify.clone()),
                    session: spec.session,
                    phase: spec.phase,
                });
            }
            Action::Prompt { session, kind, focus, text, .. } => {
                answer(ActionOutcome::Delivered);
                self.answer_prompt(
                    session,
                    PlannedPrompt { kind, focus, text: text.body().unwrap_or_default().to_owned() },
                );
            }
            Action::EndSession { session, .. } => {
                answer(ActionOutcome::Delivered);
                let exit = ProcessExit { code: Some(0), signal: None, by_host: true };
                self.inputs.push_back(Input::SessionEnded { session, exit });
            }
            // An agent that finishes at once never gets far enough for these.
            Action::Compact { .. } | Action::Interrupt { .. } => answer(ActionOutcome::Delivered),
            Action::MeasureWorkspace { .. } => {
                let files = u32::try_from(self.changed.len()).unwrap_or(u32::MAX);
                let facts =
                    WorkspaceFacts { files, changed: self.changed.clone(), ..WorkspaceFacts::default() };
                answer(ActionOutcome::WorkspaceMeasured { facts });
            }
            Action::RequestDecision { request_id, request, scope } => {
                let (result, label) = judge(&scope, &request);
                self.inputs.push_back(Input::Decided { request_id, result, label: Box::new(label) });
            }
            Action::ValidateHandoff { .. } => answer(ActionOutcome::Inspected {
                missing_files: Vec::new(),
                secrets: Vec::new(),
                commits_since: 0,
                diverged: false,
            }),
            Action::WriteHandoff { phase, ordinal, document, .. } => {
                let artifact = planned(&format!("handoffs/phase-{phase}-{ordinal}.md"), &document);
                answer(ActionOutcome::HandoffWritten { path: artifact.name.clone(), artifact, index: None });
            }
            Action::WriteSummaries { step, directory, .. } => {
                let artifacts =
                    vec![planned("summaries/phase.md", &step), planned("summaries/run.md", &directory)];
                answer(ActionOutcome::SummariesWritten { artifacts });
            }
            Action::Offload { items, .. } => {
                let artifacts = items.iter().map(|item| planned(&item.name, &item.text)).collect();
                answer(ActionOutcome::Offloaded { artifacts });
            }
            Action::Verify { .. } => answer(ActionOutcome::Verified {
                passed: true,
                code: Some(0),
                findings: String::new(),
                artifact: None,
            }),
            // No tree is made, and parts that do everything at the first try do not get into each other's way.
            Action::Checkpoint { .. } => {
                answer(ActionOutcome::Checkpointed { base: Some(PLACEHOLDER_COMMIT.to_owned()) })
            }
            Action::CreateWorktree { .. } => answer(ActionOutcome::Branched),
            Action::CommitWorktree { .. } => answer(ActionOutcome::Committed {
                commit: PLACEHOLDER_COMMIT.to_owned(),
                missing: Vec::new(),
                ignored: Vec::new(),
                unseen: Vec::new(),
            }),
            Action::CommitToBranch { .. } => {
                answer(ActionOutcome::nothing_to_commit());
            }
            Action::RestoreWorktree { .. } => {
                answer(ActionOutcome::Restored { changed: Vec::new(), gone: Vec::new(), added: Vec::new() })
            }
            Action::Merge { .. } => {
                answer(ActionOutcome::Merged { commit: PLACEHOLDER_COMMIT.to_owned(), files: 0 })
            }
            Action::AbortMerge { .. } => answer(ActionOutcome::Unmerged),
            Action::Land { .. } => {
                answer(ActionOutcome::Landed {
                    commit: PLACEHOLDER_COMMIT.to_owned(),
                    committed: true,
                    files: 0,
                });
            }
            Action::AskUser { question, .. } => {
                answer(ActionOutcome::Announced);
                self.plan.question = Some(question);
            }
            Action::Finish { .. } => answer(ActionOutcome::Announced),
            // Nothing is offered where no agent works.
            Action::DeliverToolResult { .. } => {}
            Action::Notify(ProgressEvent::PhaseStarted { phase, title, .. }) => {
                self.titles.insert(phase, title);
            }
            Action::Notify(_) => {}
        }
    }

    /// The agent answers a prompt: says something, writes every file that is asked for, reports every objective.
    fn answer_prompt(&mut self, session: SessionId, prompt: PlannedPrompt) {
        for objective in &prompt.focus {
            for path in self.files.get(objective).into_iter().flatten() {
                let file =
                    ChangedFile { path: path.clone(), bytes: 1, exists: true, digest: None, is_new: true };
                self.changed.push(file);
            }
            let note = format!("{objective} by {session}");
            let digest = baton_core::Digest::of(&note);
            let report = match prompt.kind {
                PromptKind::Reviewing => AgentReport::ReviewSubmit {
                    score: 100,
                    summary: "Nothing to improve.".to_owned(),
                    findings: Vec::new(),
                },
                _ => AgentReport::ObjectiveUpdate {
                    objective: objective.clone(),
                    status: ObjectiveStatus::Done,
                    note,
                },
            };
            self.inputs.push_back(Input::Reported { session: Some(session.clone()), digest, report });
        }
        let text = "Everything that was asked for is written, and reported through the inbox.".to_owned();
        self.push_agent_event(&session, AgentEvent::Text { text });
        self.push_agent_event(
            &session,
            AgentEvent::PromptEnded { stop_reason: "end_turn".into(), is_error: false },
        );
        if let Some(planned) = self.plan.sessions.iter_mut().find(|planned| planned.session == session) {
            planned.prompts.push(prompt);
        }
    }

    fn push_agent_event(&mut self, session: &SessionId, event: AgentEvent) {
        self.inputs.push_back(Input::Agent { session: session.clone(), event });
    }
}

fn planned(name: &str, text: &TextBlob) -> ArtifactRef {
    ArtifactRef {
        name: name.to_owned(),
        version: 1,
        digest: text.digest().clone(),
        bytes: text.len_bytes(),
        summary: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{succeeding_decider, workflow};

    #[test]
    fn a_plan_has_every_session_with_its_prompts() {
        let plan = plan(workflow(), Vec::new(), &succeeding_decider()).unwrap();
        let phases: Vec<_> = plan.sessions.iter().map(|session| session.phase.as_str()).collect();
        assert_eq!(phases, ["first", "second"]);
        assert_eq!(plan.sessions[0].verify.as_deref(), Some("test -f a.txt"));
        let focus: Vec<_> =
            plan.sessions.iter().flat_map(|session| &session.prompts).map(|p| &p.focus).collect();
        assert_eq!(focus, [&vec!["a".into()], &vec!["b".into()], &vec!["c".into()]]);
        assert!(plan.sessions[1].prompts[0].text.contains("three files"));
        assert_eq!(plan.question, None);
    }
}
