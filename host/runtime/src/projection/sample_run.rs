//! A small run for the tests beside, played without processes: every agent does its work, but the first one of a phase runs
//! out of context. Nothing outside tests uses it.

use std::collections::VecDeque;

use baton_core::decision::{CompactionAction, Decision, SplitAction, SubPhase, Verdict, WorkStyle};
use baton_core::facts::{AgentEvent, ChangedFile, OccupancySource, ProcessExit, WorkspaceFacts};
use baton_core::input::{AgentReport, ArtifactRef};
use baton_core::observation::{ObjectiveStatus, ObjectiveView, PolicyQuery, SplitTrigger};
use baton_core::view::PhaseStatus;
use baton_core::workflow::{PolicyScope, Workflow, file};
use baton_core::{ActionOutcome, Digest, DurationMs, Input, Intent, RunId, SessionId, TextBlob};

use super::*;
use crate::policies::DecideFn;
use crate::test_support::succeeding_decider;

/// Its id.
pub(super) const RUN: &str = "20260212-103000";

pub(super) fn workflow() -> Workflow {
    let text = r#"
        name = "calc"
        goal = "A calculator, with 'quotes' and $(nothing run)."
        setup = ["npm ci", "echo 'it''s' > \"a b\""]
        [limits]
        continuations = 3
        [[phases]]
        id = "survey"
        title = "See what is there"
        objectives = [{ id = "inventory", description = "List every file.", files = ["notes.md"] }]
        [[phases]]
        id = "build"
        title = "Write it"
        depends_on = ["survey"]
        verify = "sh tests/run.sh"
        setup = ["make deps"]
        [[phases.objectives]]
        id = "parser"
        description = "Write src/parser.sh."
        files = ["src/parser.sh"]
        [[phases.objectives]]
        id = "printer"
        description = "Write src/printer.sh."
        [[phases]]
        id = "document"
        title = "Tell people"
        depends_on = ["build"]
        objectives = [{ id = "guide", description = "Write docs/guide.md." }]
    "#;
    file::parse(text, "calc.toml", "/").unwrap()
}

/// A world in which every agent does its work, but the first one of phase `build` runs out of context.
pub(super) struct SampleRun {
    pub(super) run: Run,
    pub(super) timeline: RunTimeline,
    pub(super) inputs: VecDeque<Input>,
    seq: baton_core::Seq,
    judge: DecideFn,
    /// What becomes of the prompts of the first session of phase `build`.
    pub(super) verdict: Verdict,
    /// That session is handed off by choice, at its first boundary.
    pub(super) hands_off: bool,
    /// Every request for smaller scopes is granted: each objective for itself.
    pub(super) splits: bool,
    /// What was saved, by name.
    pub(super) bodies: Vec<(String, String)>,
    /// The journal.
    pub(super) entries: Vec<JournalEntry>,
}

impl SampleRun {
    pub(super) fn begin(workflow: Workflow) -> Self {
        let run = RunId::new(RUN);
        let names = baton_core::workflow::paths::RunNames {
            run: RUN,
            workflow: &workflow.name,
            goal: &workflow.goal,
        };
        let task_folder = workflow.paths.task_folder(names);
        let started = Input::Started {
            run,
            workflow: Box::new(workflow),
            bindings: Vec::new(),
            task_folder,
            utc_offset_minutes: 0,
            assignments: Vec::new(),
        };
        Self {
            run: Run::new(),
            timeline: RunTimeline::default(),
            inputs: VecDeque::from([started]),
            seq: baton_core::Seq(0),
            judge: succeeding_decider(),
            verdict: Verdict::Exhausted,
            hands_off: false,
            splits: false,
            bodies: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Goes on until something holds, or nothing more happens.
    pub(super) fn until(&mut self, holds: impl Fn(&RunView) -> bool) -> RunView {
        loop {
            let view = self.run.view(self.timeline.at);
            if let Some(view) = view.filter(&holds) {
                return view;
            }
            let Some(input) = self.inputs.pop_front() else { break };
            self.take(input);
        }
        self.run.view(self.timeline.at).expect("it has begun")
    }

    pub(super) fn take(&mut self, input: Input) {
        self.seq = self.seq.next();
        let at = baton_core::UnixMs(1_770_892_200_000) + DurationMs::from_secs(self.seq.0);
        let stamped = baton_core::JournaledInput { seq: self.seq, at, input };
        let intents = self.run.apply(&stamped).unwrap();
        self.timeline.note(&self.run, &stamped, &intents);
        self.entries.push(JournalEntry::Input(stamped));
        for intent in intents {
            self.perform(intent);
        }
    }

    fn perform(&mut self, Intent { id, action }: Intent) {
        use baton_core::Action;
        let outcome = match action {
            Action::Spawn(spec) => {
                let ready = AgentEvent::Ready { agent_session: None, model: None, version: None };
                self.inputs.push_back(Input::Outcome {
                    action: id,
                    outcome: ActionOutcome::Spawned {
                        group: 1,
                        started: 1,
                        capabilities: baton_agents::capabilities(&spec.agent),
                    },
                });
                return self.inputs.push_back(Input::Agent { session: spec.session, event: ready });
            }
            Action::Prompt { session, .. } => {
                self.inputs.push_back(Input::Outcome { action: id, outcome: ActionOutcome::Delivered });
                let (used_tokens, window_tokens) = (Some(82_400), Some(100_000));
                let fill =
                    AgentEvent::Occupancy { used_tokens, window_tokens, source: OccupancySource::Agent };
                self.inputs.push_back(Input::Agent { session: session.clone(), event: fill });
                let ended = AgentEvent::PromptEnded { stop_reason: "end_turn".into(), is_error: false };
                return self.inputs.push_back(Input::Agent { session, event: ended });
            }
            Action::EndSession { session, .. } => {
                let exit = ProcessExit { code: Some(0), signal: None, by_host: true };
                self.inputs.push_back(Input::Outcome { action: id, outcome: ActionOutcome::Delivered });
                return self.inputs.push_back(Input::SessionEnded { session, exit });
            }
            Action::RequestDecision { request_id, request, .. } => {
                let (mut result, label) = (self.judge)(&PolicyScope::Run, &request);
                if let Ok(decision) = &mut result {
                    self.decide_otherwise(&request.query, decision);
                }
                return self.inputs.push_back(Input::Decided { request_id, result, label: Box::new(label) });
            }
            // What the objectives name has changed, too.
            Action::MeasureWorkspace { expected, .. } => {
                let mut paths = expected;
                paths.push("notes.md".into());
                paths.sort();
                let file = |path| ChangedFile { path, bytes: 7, exists: true, digest: None, is_new: true };
                let changed = paths.into_iter().map(file).collect();
                ActionOutcome::WorkspaceMeasured { facts: WorkspaceFacts { changed, ..Default::default() } }
            }
            Action::ValidateHandoff { .. } => ActionOutcome::Inspected {
                missing_files: Vec::new(),
                secrets: Vec::new(),
                commits_since: 0,
                diverged: false,
            },
            Action::WriteHandoff { path, document, index, .. } => {
                let name = path.strip_prefix(&format!("{}/", self.run.task_folder())).unwrap().to_owned();
                let index = self.save_artifact(&sibling_name(&name, "index.md"), &index);
                // As documents do, it names what lies beside it.
                let facts = sibling_name(&path, "facts.json");
                let document = TextBlob::new(format!("{}\n- {facts}: all\n", document.body().unwrap()));
                let artifact = self.save_artifact(&name, &document);
                ActionOutcome::HandoffWritten { path, artifact, index: Some(index) }
            }
            Action::WriteSummaries { .. } => ActionOutcome::SummariesWritten { artifacts: Vec::new() },
            Action::Offload { items, .. } => {
                let artifacts = items.iter().map(|item| self.save_artifact(&item.name, &item.text)).collect();
                ActionOutcome::Offloaded { artifacts }
            }
            Action::Verify { .. } => {
                let artifact = Some(
                    self.save_artifact("verifications/phase-build.log", &TextBlob::new("ok".to_owned())),
                );
                ActionOutcome::Verified { passed: true, code: Some(0), findings: String::new(), artifact }
            }
            Action::Compact { .. } | Action::Interrupt { .. } => ActionOutcome::Delivered,
            Action::Checkpoint { .. } => ActionOutcome::Checkpointed { base: None },
            Action::CommitToBranch { .. } => ActionOutcome::nothing_to_commit(),
            other @ (Action::CreateWorktree { .. }
            | Action::CommitWorktree { .. }
            | Action::RestoreWorktree { .. }
            | Action::Merge { .. }
            | Action::AbortMerge { .. }
            | Action::Land { .. }) => {
                panic!("without a commit to start from there is nothing to {}", other.name())
            }
            Action::AskUser { .. } | Action::Finish { .. } => ActionOutcome::Announced,
            Action::DeliverToolResult { .. } | Action::Notify(_) => return,
        };
        self.inputs.push_back(Input::Outcome { action: id, outcome });
    }

    /// What the test wants instead of a policy that is content with everything.
    fn decide_otherwise(&self, query: &PolicyQuery, decision: &mut Decision) {
        let view = self.run.view(self.timeline.at).unwrap();
        let build = &view.phases[1];
        let is_first = build.sessions.len() == 1 && build.status == PhaseStatus::Working;
        match (query, decision) {
            (_, Decision::Exhaustion(assessment)) if is_first && self.verdict != Verdict::Answered => {
                assessment.verdict = self.verdict;
                assessment.reason = "the window\u{1b}[1m is full\nof lines".to_owned();
            }
            (_, Decision::Compaction(compaction)) if is_first && self.hands_off => {
                compaction.action = CompactionAction::HandOff;
            }
            (PolicyQuery::Splitting(asked), Decision::Splitting(split))
                if self.splits && asked.occasion == SplitTrigger::Requested =>
            {
                let part = |objective: &ObjectiveView| SubPhase {
                    title: objective.id.to_string(),
                    objectives: vec![objective.id.clone()],
                    order: WorkStyle::Direct,
                    max_turns: None,
                };
                let sub_phases = asked.objectives.iter().map(part).collect();
                split.action = SplitAction::Split { sub_phases };
            }
            _ => {}
        }
    }

    fn save_artifact(&mut self, name: &str, text: &TextBlob) -> ArtifactRef {
        let body = text.body().unwrap().to_owned();
        let bytes = body.len() as u64;
        self.bodies.push((name.to_owned(), body));
        let summary = format!("{name} of a test");
        ArtifactRef { name: name.to_owned(), version: 1, digest: text.digest().clone(), bytes, summary }
    }

    pub(super) fn report(&mut self, session: &str, report: AgentReport) {
        let digest = Digest::of(format!("{report:?}"));
        self.take(Input::Reported { session: Some(SessionId::from(session)), digest, report });
    }

    pub(super) fn projection(&self) -> Projection {
        project(&self.run, &self.timeline).unwrap()
    }

    pub(super) fn file(&self, name: &str) -> String {
        let projection = self.projection();
        let path = format!("{}/{name}", self.run.task_folder());
        let file = projection.files.iter().find(|file| file.path == path);
        drawn(file.unwrap_or_else(|| panic!("{path} is not among {:#?}", paths(&projection))))
    }
}

pub(super) fn paths(projection: &Projection) -> Vec<&str> {
    projection.files.iter().map(|file| file.path.as_str()).collect()
}

pub(super) fn drawn(file: &ProjectedFile) -> String {
    let pieces = file.pieces.iter().map(|piece| match piece {
        FilePiece::Text(text) => text.clone(),
        FilePiece::ArtifactByDigest(digest) => format!("<artifact {}>\n", digest.short()),
        FilePiece::ArtifactByName(name) => format!("<artifact {name}>\n"),
    });
    pieces.collect()
}

/// After the first objective of a continued phase: something is done, something is open, something was tried.
pub(super) fn half_way() -> SampleRun {
    let mut play = SampleRun::begin(workflow());
    play.until(|view| view.phases[1].sessions.len() == 2);
    let attempt =
        AgentReport::AttemptRecord { approach: "sed alone".into(), outcome: "it cannot\ncount".into() };
    play.report("s2", attempt);
    play.until(|view| view.phases[1].objectives[0].status == ObjectiveStatus::Done);
    play
}
