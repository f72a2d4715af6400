//! The cost of one event in the run machine alone, by the number of phases at work in one run: `cargo bench -p baton-core
//! --bench phases`. Without journal and policy: those are in `host/lab/benches/scale/main.rs`. Compare ratios, not times.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

use baton_core::decision::{
    Assessment, Decision, DecisionSource, PromptDraft, Provenance, SplitAction, SplitDecision, TurnBudget,
    Verdict,
};
use baton_core::facts::{AgentEvent, Capabilities, TokenUsage, WorkspaceFacts};
use baton_core::observation::{PolicyQuery, PolicyRequest};
use baton_core::workflow::{AgentKind, Objective, PhaseSpec, Role, RunLimits, Workflow};
use baton_core::{
    Action, ActionOutcome, Digest, Input, Intent, JournaledInput, PhaseId, Run, Seq, SessionId, UnixMs,
};

/// Events of each kind that are measured.
const EVENTS: usize = 2_000;

struct Machine {
    run: Run,
    seq: u64,
    queue: VecDeque<Input>,
    sessions: Vec<SessionId>,
}

impl Machine {
    /// A run whose phases all have an agent at work.
    fn at_work(phases: usize) -> Self {
        let started = Input::Started {
            run: "r1".into(),
            workflow: Box::new(workflow(phases)),
            bindings: Vec::new(),
            task_folder: ".baton/r1".into(),
            utc_offset_minutes: 0,
            assignments: Vec::new(),
        };
        let mut machine = Self { run: Run::new(), seq: 0, queue: [started].into(), sessions: Vec::new() };
        while let Some(input) = machine.queue.pop_front() {
            machine.take(input);
        }
        assert_eq!(machine.sessions.len(), phases, "everybody works");
        machine
    }

    fn take(&mut self, input: Input) {
        self.seq += 1;
        let stamped = JournaledInput { seq: Seq(self.seq), at: UnixMs(1_000_000 + self.seq), input };
        for Intent { id, action } in self.run.apply(&stamped).expect("an input that can happen") {
            self.perform(id, action);
        }
    }

    fn perform(&mut self, action: baton_core::ActionId, what: Action) {
        let outcome = match what {
            Action::RequestDecision { request_id, request, .. } => {
                let (result, label) = decide(&request);
                return self.queue.push_back(Input::Decided {
                    request_id,
                    result: Ok(result),
                    label: Box::new(label),
                });
            }
            Action::Spawn(spec) => {
                let event = AgentEvent::Ready { agent_session: None, model: None, version: None };
                self.queue.push_back(Input::Agent { session: spec.session, event });
                ActionOutcome::Spawned { group: 1, started: 1, capabilities: Capabilities::default() }
            }
            Action::Prompt { session, .. } => {
                self.sessions.push(session);
                ActionOutcome::Delivered
            }
            Action::MeasureWorkspace { .. } => {
                ActionOutcome::WorkspaceMeasured { facts: WorkspaceFacts::default() }
            }
            _ => return,
        };
        self.queue.push_back(Input::Outcome { action, outcome });
    }

    /// Time of one event, with the answer of the policy if it asks for one.
    fn each(&mut self, event: &AgentEvent) -> Duration {
        let begun = Instant::now();
        for n in 0..EVENTS {
            let session = self.sessions[n * 7 % self.sessions.len()].clone();
            self.take(Input::Agent { session, event: event.clone() });
            black_box(self.run.next_deadline());
            while let Some(input) = self.queue.pop_front() {
                self.take(input);
            }
        }
        begun.elapsed() / EVENTS as u32
    }
}

fn decide(question: &PolicyRequest) -> (Decision, Provenance) {
    let reason = String::new();
    let decision = match &question.query {
        PolicyQuery::Exhaustion(_) => {
            let verdict = Verdict::Healthy;
            Decision::Exhaustion(Assessment { verdict, evidence: Vec::new(), warning: None, reason })
        }
        PolicyQuery::Budgeting(seen) => {
            Decision::Budgeting(TurnBudget { max_turns: seen.base_turns, reason })
        }
        PolicyQuery::Prompting(_) => {
            Decision::Prompting(PromptDraft { prompt: "Do it.".into(), left_out: Vec::new(), reason })
        }
        _ => Decision::Splitting(SplitDecision { action: SplitAction::Keep, reason }),
    };
    let label = Provenance {
        by: DecisionSource::Configured,
        capability: question.query.capability(),
        policy: String::new(),
        component: None,
        settings: None,
        engine: Digest::of(""),
        fuel: 0,
        duration_us: 0,
        artifacts: Default::default(),
        faults: Vec::new(),
        abstained: Vec::new(),
        nested: Vec::new(),
    };
    (decision, label)
}

fn workflow(phases: usize) -> Workflow {
    let phase = |n: usize| PhaseSpec {
        id: PhaseId::new(format!("{n}")),
        title: String::new(),
        depends_on: Vec::new(),
        role: "executor".into(),
        agent: None,
        objectives: vec![Objective {
            id: format!("o{n}").as_str().into(),
            description: String::new(),
            files: Vec::new(),
            verify: None,
        }],
        verify: None,
        complex: false,
        split: Default::default(),
        wall_time: None,
        tokens: None,
        cost_microusd: None,
        continuations: None,
        setup: Vec::new(),
        context: Vec::new(),
        review: None,
        repeat: None,
        commit: None,
    };
    Workflow {
        roles: [("executor".into(), Role::of(AgentKind::Rehearsal))].into(),
        limits: RunLimits { parallel: phases as u32, ..RunLimits::default() },
        phases: (1..=phases).map(phase).collect(),
        ..Workflow::default()
    }
}

fn main() {
    println!("| phases at work | words | a turn, judged | view |");
    println!("|---|---|---|---|");
    for phases in [1, 10, 100, 1_000] {
        let mut machine = Machine::at_work(phases);
        let words = machine.each(&AgentEvent::Text { text: "a few words of an answer".into() });
        let turn =
            machine.each(&AgentEvent::Turn { used_tokens: Some(20_000), billed: TokenUsage::default() });
        let begun = Instant::now();
        for _ in 0..20 {
            black_box(machine.run.view(UnixMs(2_000_000)));
        }
        println!("| {phases} | {words:.1?} | {turn:.1?} | {:.1?} |", begun.elapsed() / 20);
    }
}
