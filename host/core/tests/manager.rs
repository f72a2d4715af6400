//! D1: the host is a manager. A run holds, journals and shows names, scores, status, references and bounded summaries: its size
//! does not grow with the artifacts or with an agent's output.
#![forbid(unsafe_code)]

use std::collections::VecDeque;

use baton_core::action::Action;
use baton_core::decision::{
    Assessment, CompactionAction, CompactionDecision, CompletionDecision, Decision, DecisionSource,
    OffloadingDecision, PromptDraft, Provenance, SplitAction, SplitDecision, TurnBudget, Verdict,
};
use baton_core::facts::{
    AgentEvent, Capabilities, ErrorSignal, ProcessExit, SignalSource, TokenUsage, WorkspaceFacts,
};
use baton_core::input::{AgentReport, ArtifactRef};
use baton_core::observation::{AssessTrigger, PolicyQuery};
use baton_core::workflow::file;
use baton_core::{ActionOutcome, Digest, Input, JournaledInput, Run, Seq, SessionId, UnixMs, Workflow};

/// A report that is as long as the inbox lets one be.
const REPORT_BYTES: usize = 8 << 10;
/// A run with one phase and one agent that does not stop talking stays below this: records, remembered reports, artifacts.
const RUN_BYTES_MAX: usize = 6 << 20;
/// The same bound for the view of a run.
const VIEW_BYTES_MAX: usize = 512 << 10;

/// A run whose agent does its one objective, with artifacts, reports and output of this size.
struct ManagerFixture {
    run: Run,
    seq: u64,
    weighs: u64,
    queue: VecDeque<Input>,
    /// Every row of the journal, as it is written, if the test wants them.
    rows: Option<Vec<String>>,
}

fn workflow() -> Workflow {
    let text = r#"
        name = "heavy"
        goal = "stay small"
        [[phases]]
        id = "1"
        title = "one"
        verify = "make"
        objectives = [{ id = "a", description = "make a" }, { id = "b", description = "make b" }]
    "#;
    file::parse(text, "heavy.toml", "/").unwrap()
}

impl ManagerFixture {
    fn new(weighs: u64) -> Self {
        let started = Input::Started {
            run: "r1".into(),
            workflow: Box::new(workflow()),
            bindings: Vec::new(),
            task_folder: ".baton/r1".into(),
            utc_offset_minutes: 0,
            assignments: Vec::new(),
        };
        Self { run: Run::new(), seq: 0, weighs, queue: [started].into(), rows: Some(Vec::new()) }
    }

    fn take(&mut self, input: Input) {
        self.seq += 1;
        let stamped = JournaledInput { seq: Seq(self.seq), at: UnixMs(1_000_000 + self.seq), input };
        let intents = self.run.apply(&stamped).unwrap();
        if let Some(rows) = &mut self.rows {
            let journaled = intents.iter().filter(|intent| !matches!(intent.action, Action::Notify(_)));
            rows.push(serde_json::to_string(&stamped).unwrap());
            rows.extend(journaled.map(|intent| serde_json::to_string(intent).unwrap()));
        }
        for intent in intents {
            self.perform(intent.id, intent.action);
        }
    }

    fn go(&mut self) {
        while let Some(input) = self.queue.pop_front() {
            self.take(input);
        }
    }

    fn event(&mut self, session: &SessionId, event: AgentEvent) {
        self.queue.push_back(Input::Agent { session: session.clone(), event });
    }

    fn artifact(&self, name: &str) -> ArtifactRef {
        let (name, digest) = (name.to_owned(), Digest::of(name));
        ArtifactRef { name, version: 1, digest, bytes: self.weighs, summary: "what it is".into() }
    }

    fn perform(&mut self, action: baton_core::ActionId, what: Action) {
        let outcome = match what {
            Action::RequestDecision { request_id, request, .. } => {
                let (result, capability) = (Ok(decide(&request.query)), request.query.capability());
                let label = Box::new(Provenance {
                    by: DecisionSource::Configured,
                    capability,
                    policy: "test".into(),
                    component: None,
                    settings: None,
                    engine: Digest::of("engine"),
                    fuel: 0,
                    duration_us: 0,
                    artifacts: Default::default(),
                    faults: Vec::new(),
                    abstained: Vec::new(),
                    nested: Vec::new(),
                });
                return self.queue.push_back(Input::Decided { request_id, result, label });
            }
            Action::Spawn(spec) => {
                let ready = AgentEvent::Ready { agent_session: None, model: None, version: None };
                self.event(&spec.session, ready);
                ActionOutcome::Spawned { group: 1, started: 1, capabilities: Capabilities::default() }
            }
            Action::Prompt { session, focus, .. } => {
                // The output of a tool has its size, and only its beginning.
                let output = AgentEvent::ToolOutput {
                    id: "t".into(),
                    bytes: self.weighs,
                    text: "begin".into(),
                    failed: None,
                };
                self.event(&session, output);
                self.event(&session, AgentEvent::Turn { used_tokens: None, billed: TokenUsage::default() });
                let artifact = self.artifact(&format!("made/{}", focus[0]));
                self.queue.push_back(Input::Reported {
                    session: Some(session.clone()),
                    digest: Digest::of(focus[0].as_str()),
                    report: AgentReport::ArtifactSaved { artifact },
                });
                self.event(&session, AgentEvent::PromptEnded { stop_reason: "done".into(), is_error: false });
                ActionOutcome::Delivered
            }
            Action::EndSession { session, .. } => {
                let exit = ProcessExit { code: Some(0), signal: None, by_host: true };
                self.queue.push_back(Input::SessionEnded { session, exit });
                ActionOutcome::Delivered
            }
            Action::WriteSummaries { .. } => {
                ActionOutcome::SummariesWritten { artifacts: vec![self.artifact("summary")] }
            }
            Action::WriteHandoff { path, .. } => {
                ActionOutcome::HandoffWritten { path, artifact: self.artifact("handoff"), index: None }
            }
            Action::MeasureWorkspace { .. } => {
                ActionOutcome::WorkspaceMeasured { facts: WorkspaceFacts::default() }
            }
            Action::Verify { .. } => {
                let artifact = Some(self.artifact("verifications/phase-1.log"));
                ActionOutcome::Verified { passed: true, code: Some(0), findings: "the tail".into(), artifact }
            }
            Action::AskUser { .. } | Action::Finish { .. } => ActionOutcome::Announced,
            Action::Notify(_) => return,
            other => panic!("{} is not part of this", other.name()),
        };
        self.queue.push_back(Input::Outcome { action, outcome });
    }

    /// The size of its whole state in memory.
    fn held(&self) -> usize {
        format!("{:?}", self.run).len()
    }

    fn view(&self) -> String {
        serde_json::to_string(&self.run.view(UnixMs(2_000_000)).unwrap()).unwrap()
    }
}

fn decide(query: &PolicyQuery) -> Decision {
    let reason = "as always".to_owned();
    match query {
        PolicyQuery::Exhaustion(seen) => {
            let over = matches!(seen.occasion, AssessTrigger::PromptEnded | AssessTrigger::SessionEnded);
            let verdict = if over { Verdict::Answered } else { Verdict::Healthy };
            let (evidence, warning) = (Vec::new(), None);
            Decision::Exhaustion(Assessment { verdict, evidence, warning, reason })
        }
        PolicyQuery::Completion(seen) => {
            let done = seen.session.objectives.iter().map(|objective| objective.id.clone()).collect();
            Decision::Completion(CompletionDecision { done, evidence: Vec::new(), reason })
        }
        PolicyQuery::Compaction(_) => {
            Decision::Compaction(CompactionDecision { action: CompactionAction::Keep, reason })
        }
        PolicyQuery::Splitting(_) => Decision::Splitting(SplitDecision { action: SplitAction::Keep, reason }),
        PolicyQuery::Offloading(_) => Decision::Offloading(OffloadingDecision { items: Vec::new(), reason }),
        PolicyQuery::Budgeting(seen) => {
            Decision::Budgeting(TurnBudget { max_turns: seen.base_turns, reason })
        }
        PolicyQuery::Prompting(_) => {
            Decision::Prompting(PromptDraft { prompt: "Do it.".into(), left_out: Vec::new(), reason })
        }
        PolicyQuery::Recovery(_) | PolicyQuery::Handoff(_) | PolicyQuery::Review(_) => {
            panic!("nothing is handed off here")
        }
    }
}

/// D1: a thousand bytes and a hundred million differ in the digits of their number, and in nothing else.
#[test]
fn rows_memory_and_view_are_the_same_whatever_artifacts_weigh() {
    let weighed = |weighs: u64| {
        let mut fixture = ManagerFixture::new(weighs);
        fixture.go();
        assert!(fixture.run.ending().is_some(), "it runs to its end");
        let in_words = |text: String| text.replace(&weighs.to_string(), "so many");
        // What the phase leaves contains the size of each artifact, so its own address and length differ with the digits.
        let is_handoff = |row: &String| row.contains("\"action\":\"write-handoff\"");
        let rows = fixture.rows.take().into_iter().flatten().filter(|row| !is_handoff(row));
        let rows: Vec<String> = rows.map(in_words).collect();
        (rows, in_words(format!("{:?}", fixture.run)), in_words(fixture.view()))
    };
    let (light, heavy) = (weighed(1_024), weighed(100 << 20));
    assert_eq!(light.0, heavy.0);
    assert_eq!(light.1, heavy.1);
    assert_eq!(light.2, heavy.2);
    let artifacts = light.2.matches("so many").count();
    assert!(artifacts >= 3, "what weighs so much is named in the view: {artifacts}");
}

/// D1: an agent that keeps reporting and saving makes the journal longer, and nothing else.
#[test]
fn what_a_run_holds_is_bounded_however_much_an_agent_says() {
    let mut fixture = ManagerFixture::new(1);
    while fixture.run.live_sessions().is_empty() {
        let input = fixture.queue.pop_front().unwrap();
        fixture.take(input);
    }
    let session = fixture.run.live_sessions()[0].clone();
    fixture.queue.clear();
    fixture.rows = None;
    let mut after = Vec::new();
    for round in 0..3 {
        for n in 0..6_000 {
            say(&mut fixture, &session, round * 6_000 + n);
            fixture.queue.clear();
        }
        after.push((fixture.held(), fixture.view().len()));
    }
    let (held, view) = after[2];
    assert!(held <= RUN_BYTES_MAX && view <= VIEW_BYTES_MAX, "{after:?}");
    // The last third has added nothing but digits.
    assert!(held <= after[1].0 + after[1].0 / 20 && view <= after[1].1 + after[1].1 / 20, "{after:?}");
}

/// One of every event of an agent, at its largest size.
fn say(fixture: &mut ManagerFixture, session: &SessionId, n: usize) {
    let long = format!("{n} {}", "word ".repeat(REPORT_BYTES / 5));
    let path = format!("{n}/{}", "deep/".repeat(1_000));
    let report = match n % 7 {
        0 => AgentReport::DecisionRecord { decision: format!("{n}"), rationale: long.clone() },
        1 => AgentReport::AttemptRecord { approach: format!("{n}"), outcome: long.clone() },
        2 => AgentReport::GotchaRecord { gotcha: long.clone() },
        5 => AgentReport::PatternRecord { pattern: long.clone() },
        3 => AgentReport::ReviewSubmit { score: 1, summary: long.clone(), findings: vec![long.clone()] },
        4 => AgentReport::SplitRequest { groups: Vec::new(), rationale: long.clone() },
        _ => {
            let mut artifact = fixture.artifact(&format!("made/{n}"));
            artifact.summary.clone_from(&long);
            AgentReport::ArtifactSaved { artifact }
        }
    };
    let digest = Digest::of(format!("{n}"));
    fixture.take(Input::Reported { session: Some(session.clone()), digest, report });
    let event = match n % 4 {
        0 => AgentEvent::Text { text: long },
        1 => AgentEvent::ToolCall {
            id: "t".into(),
            name: "Bash".into(),
            command: Some(format!("cat {path}")),
            reads: Some(path),
            writes: None,
        },
        2 => AgentEvent::ApprovalRequested { title: path },
        _ => AgentEvent::Signal(ErrorSignal {
            channel: SignalSource::Terminal,
            code: String::new(),
            status: None,
            resets_at: None,
            retrying: false,
            text: "x".repeat(2_048),
        }),
    };
    fixture.take(Input::Agent { session: session.clone(), event });
}
