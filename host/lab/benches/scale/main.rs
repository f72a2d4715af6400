//! A thousand sessions at once, each saying twenty things a second, through everything that a real event goes through but
//! an agent's process: stamped, applied to a run, journaled in SQLite with what follows from it, judged by the built-in
//! component. `cargo bench -p baton-lab --bench scale` prints the table, `-- 1000x1` one row of it. Compare ratios,
//! not times.

mod bench_recorder;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use baton_core::decision::{Decision, Fault, Provenance};
use baton_core::facts::{AgentEvent, Capabilities, OccupancySource, ProcessExit, TokenUsage, WorkspaceFacts};
use baton_core::input::ArtifactRef;
use baton_core::workflow::{AgentKind, Objective, PhaseSpec, Role, RunLimits, Workflow};
use baton_core::{Action, ActionOutcome, Digest, Input, Intent, PhaseId, RequestId, RunId, SessionId};
use baton_engine::{Engine, EngineConfig, Router};
use baton_store::{Journal, StateDir};
use tokio::sync::mpsc;
use tokio::time::Instant;

use bench_recorder::BenchRecorder;

/// Results of decisions that wait for a loop, as in the real one.
const RESULTS: usize = 256;
/// An agent says something so often.
const PAUSE: Duration = Duration::from_millis(50);
/// How long each row of the table is measured, after everybody has begun to work.
const MEASURED: Duration = Duration::from_secs(6);
/// Events of the shortest prompt, and how many more the longest one has: six to ten turns.
const PROMPT_EVENTS: (u64, u64) = (60, 41);
/// Taken in before the next commit, as in the real loop.
const BATCH: usize = 256;

/// What one loop saw.
#[derive(Default)]
struct LoopMeasurements {
    events: u64,
    /// From the moment at which an event was due until the decision on it was taken in, in µs.
    decisions_us: Vec<u32>,
}

type TimedDecision = (RequestId, Result<Decision, Fault>, Provenance, Instant);

/// An agent without a process.
struct BenchAgent {
    session: SessionId,
    said: u64,
    /// When what it says is the end of a prompt.
    prompt_ends: u64,
    is_working: bool,
}

/// A run with its agents, on one loop like the real one.
struct BenchLoop {
    recorder: BenchRecorder,
    router: Arc<Router>,
    agents: Vec<BenchAgent>,
    /// When whom speaks next.
    next: BinaryHeap<Reverse<(Instant, usize)>>,
    decided: (mpsc::Sender<TimedDecision>, mpsc::Receiver<TimedDecision>),
    from: Instant,
    to: Instant,
    seen: LoopMeasurements,
}

impl BenchLoop {
    fn new(
        journal: Journal,
        run: &RunId,
        phases: usize,
        router: Arc<Router>,
        from: Instant,
        to: Instant,
    ) -> Self {
        let mut recorder = BenchRecorder::new(run, journal);
        let started = Input::Started {
            run: run.clone(),
            workflow: Box::new(workflow(phases)),
            bindings: Vec::new(),
            task_folder: format!(".baton/{run}"),
            utc_offset_minutes: 0,
            assignments: Vec::new(),
        };
        recorder.take(started);
        let (agents, next) = (Vec::new(), BinaryHeap::new());
        Self {
            recorder,
            router,
            agents,
            next,
            decided: mpsc::channel(RESULTS),
            from,
            to,
            seen: LoopMeasurements::default(),
        }
    }

    async fn run_to_end(mut self) -> (LoopMeasurements, BenchRecorder) {
        let mut caused = Instant::now();
        while Instant::now() < self.to {
            for intent in self.recorder.commit().await {
                self.perform(intent, caused);
            }
            if !self.recorder.batch.is_empty() {
                continue;
            }
            let wake = self.next.peek().map_or(self.to, |Reverse((at, _))| (*at).min(self.to));
            tokio::select! {
                Some(decided) = self.decided.1.recv() => caused = self.decided(decided),
                () = tokio::time::sleep_until(wake) => {}
            }
            for _ in 1..BATCH {
                match self.decided.1.try_recv() {
                    Ok(decided) => caused = self.decided(decided),
                    Err(_) => break,
                }
            }
            if let Some(at) = self.speak() {
                caused = at;
            }
        }
        (self.seen, self.recorder)
    }

    fn decided(&mut self, (request_id, result, label, caused): TimedDecision) -> Instant {
        self.recorder.take(Input::Decided { request_id, result, label: Box::new(label) });
        if caused >= self.from {
            self.seen.decisions_us.push(caused.elapsed().as_micros().try_into().unwrap_or(u32::MAX));
        }
        caused
    }

    /// Everything that is due to be said, up to a batch.
    fn speak(&mut self) -> Option<Instant> {
        let mut last = None;
        for _ in 0..BATCH {
            let Some(Reverse((at, who))) = self.next.peek().copied() else { break };
            if at > Instant::now() {
                break;
            }
            self.next.pop();
            let agent = &mut self.agents[who];
            if !agent.is_working {
                continue;
            }
            agent.said += 1;
            agent.is_working = agent.said < agent.prompt_ends;
            let event = if agent.is_working { event(agent.said) } else { prompt_ended() };
            if agent.is_working {
                self.next.push(Reverse((at + PAUSE, who)));
            }
            let session = agent.session.clone();
            self.recorder.take(Input::Agent { session, event });
            self.seen.events += u64::from(at >= self.from);
            last = Some(at);
        }
        last
    }

    fn perform(&mut self, Intent { id, action }: Intent, caused: Instant) {
        let outcome = match action {
            Action::RequestDecision { request_id, request, .. } => {
                let (router, decided) = (Arc::clone(&self.router), self.decided.0.clone());
                tokio::task::spawn_blocking(move || {
                    let (result, label) = router.decide(&request);
                    let _ = decided.blocking_send((request_id, result, label, caused));
                });
                return;
            }
            Action::DeliverToolResult { .. } | Action::Notify(_) => return,
            Action::Spawn(spec) => {
                let session = spec.session.clone();
                self.agents.push(BenchAgent { session, said: 0, prompt_ends: 0, is_working: false });
                let ready = AgentEvent::Ready { agent_session: None, model: None, version: None };
                self.recorder.take(Input::Agent { session: spec.session, event: ready });
                let capabilities =
                    Capabilities { compacts: true, interrupts: true, ..Capabilities::default() };
                ActionOutcome::Spawned { group: 1, started: 1, capabilities }
            }
            Action::Prompt { session, .. } => {
                if let Some(who) = self.agents.iter().position(|agent| agent.session == session) {
                    // No agent speaks in time with the others, nor for as long.
                    let chance =
                        (who as u64 * 7 + self.recorder.id.as_str().len() as u64 * 13 + id.0) % 1_000;
                    let offset = PAUSE.mul_f64(chance as f64 / 1_000.0);
                    let agent = &mut self.agents[who];
                    agent.is_working = true;
                    agent.prompt_ends = agent.said + PROMPT_EVENTS.0 + chance % PROMPT_EVENTS.1;
                    self.next.push(Reverse((Instant::now() + offset, who)));
                }
                ActionOutcome::Delivered
            }
            Action::EndSession { session, .. } => {
                let exit = ProcessExit { code: Some(0), signal: None, by_host: true };
                self.recorder.take(Input::SessionEnded { session, exit });
                ActionOutcome::Delivered
            }
            Action::Compact { .. } | Action::Interrupt { .. } => ActionOutcome::Delivered,
            Action::MeasureWorkspace { .. } => {
                ActionOutcome::WorkspaceMeasured { facts: WorkspaceFacts::default() }
            }
            Action::AskUser { .. } | Action::Finish { .. } => ActionOutcome::Announced,
            Action::WriteHandoff { path, .. } => {
                let summary = String::new();
                let artifact = ArtifactRef {
                    name: path.clone(),
                    version: 1,
                    digest: Digest::of(&path),
                    bytes: 1,
                    summary,
                };
                ActionOutcome::HandoffWritten { path, artifact, index: None }
            }
            other => ActionOutcome::Failed { error: format!("{} is not part of this", other.name()) },
        };
        self.recorder.take(Input::Outcome { action: id, outcome });
    }
}

fn prompt_ended() -> AgentEvent {
    AgentEvent::PromptEnded { stop_reason: "end_turn".into(), is_error: false }
}

/// One turn is ten events: words, two calls of tools with what they printed, and what it cost.
fn event(n: u64) -> AgentEvent {
    let used = 20_000 + n % 5_000;
    match n % 10 {
        3 | 5 => AgentEvent::ToolCall {
            id: format!("t{n}"),
            name: "Read".into(),
            reads: Some(format!("src/module{}.rs", n % 90)),
            writes: None,
            command: None,
        },
        4 | 6 => AgentEvent::ToolOutput {
            id: format!("t{}", n - 1),
            bytes: 4_000,
            text: "fn main() {}\n".repeat(40),
            failed: None,
        },
        8 => AgentEvent::Occupancy {
            used_tokens: Some(used),
            window_tokens: Some(200_000),
            source: OccupancySource::Agent,
        },
        9 => AgentEvent::Turn {
            used_tokens: Some(used),
            billed: TokenUsage { input_tokens: used, output_tokens: 200, cost_microusd: None },
        },
        _ => AgentEvent::Text {
            text: "The next thing to look at is how the parser takes an empty line. ".repeat(2),
        },
    }
}

/// So many phases side by side, with work for longer than is measured.
fn workflow(phases: usize) -> Workflow {
    let role = Role { max_turns: Some(100_000), ..Role::of(AgentKind::Rehearsal) };
    let objective = |phase: usize, n: usize| Objective {
        id: format!("o{phase}-{n}").as_str().into(),
        description: format!("Do thing {n} of {phase}."),
        files: Vec::new(),
        verify: None,
    };
    let phase = |n: usize| PhaseSpec {
        id: PhaseId::new(format!("{n}")),
        title: format!("Phase {n}"),
        depends_on: Vec::new(),
        role: "executor".into(),
        agent: None,
        objectives: (0..20).map(|o| objective(n, o)).collect(),
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
        name: "scale".into(),
        goal: "Hold many at once.".into(),
        roles: [("executor".into(), role)].into(),
        limits: RunLimits { split_depth: 0, parallel: phases as u32, ..RunLimits::default() },
        phases: (1..=phases).map(phase).collect(),
        ..Workflow::default()
    }
}

/// CPU time of this process so far, and its resident memory in KiB.
fn usage() -> (Duration, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<u64> = stat
        .rsplit(')')
        .next()
        .unwrap_or("")
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    // utime and stime, in ticks of 10 ms; resident pages of 4 KiB.
    let at = |i: usize| fields.get(i).copied().unwrap_or(0);
    (Duration::from_millis((at(11) + at(12)) * 10), at(21) * 4)
}

/// A row of the table.
struct ScaleResult {
    what: String,
    events_s: f64,
    cpu_us: f64,
    p50_ms: f64,
    p99_ms: f64,
    session_kib: f64,
}

async fn measure(runs: usize, phases: usize, router: &Arc<Router>) -> ScaleResult {
    let dir = tempfile::tempdir().expect("a folder");
    let workspace = dir.path().join("work");
    std::fs::create_dir(&workspace).expect("a folder");
    let state = StateDir::open(&dir.path().join("state"), &workspace).expect("a state directory");
    let journal = Journal::open(&state).expect("a journal");
    let (_, before_kib) = usage();
    // Everybody gets to work first, a little after one another.
    let sessions = runs * phases;
    let from = Instant::now() + Duration::from_secs(3) + Duration::from_millis(6 * sessions as u64);
    let to = from + MEASURED;
    let mut loops = tokio::task::JoinSet::new();
    for n in 0..runs {
        let (journal, router) = (journal.clone(), Arc::clone(router));
        let begin = Instant::now() + Duration::from_millis(4 * n as u64);
        loops.spawn(async move {
            tokio::time::sleep_until(begin).await;
            BenchLoop::new(journal, &RunId::new(format!("r{n}")), phases, router, from, to).run_to_end().await
        });
    }
    tokio::time::sleep_until(from).await;
    let (cpu_from, _) = usage();
    tokio::time::sleep_until(to - Duration::from_millis(50)).await;
    let (cpu_to, kib) = usage();
    let all = loops.join_all().await;
    let events: u64 = all.iter().map(|(seen, _)| seen.events).sum();
    let mut decisions: Vec<u32> =
        all.iter().flat_map(|(seen, _)| seen.decisions_us.iter().copied()).collect();
    decisions.sort_unstable();
    let at = |percent: usize| {
        f64::from(decisions.get(decisions.len() * percent / 100).copied().unwrap_or(0)) / 1000.0
    };
    ScaleResult {
        what: format!("{runs} x {phases}"),
        events_s: events as f64 / MEASURED.as_secs_f64(),
        cpu_us: (cpu_to - cpu_from).as_micros() as f64 / events as f64,
        p50_ms: at(50),
        p99_ms: at(99),
        session_kib: kib.saturating_sub(before_kib) as f64 / sessions as f64,
    }
}

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores)
        .max_blocking_threads(2 * cores)
        .enable_all()
        .build()
        .expect("a runtime");
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let router = Arc::new(Router::new(&engine, BTreeMap::new()).expect("a router"));
    runtime.block_on(async {
        // What is made once for all is there before anything is weighed.
        measure(2, 1, &router).await;
        println!(
            "| runs x sessions | events/s | CPU per event | events/s a core | p50 | p99 | memory a session |"
        );
        println!("|---|---|---|---|---|---|---|");
        let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
        for (runs, phases) in [(10, 1), (100, 1), (1000, 1), (1, 100), (10, 100), (1, 1000)] {
            if !wanted.is_empty() && !wanted.contains(&format!("{runs}x{phases}")) {
                continue;
            }
            let row = measure(runs, phases, &router).await;
            println!(
                "| {} | {:.0} | {:.0} µs | {:.0} | {:.1} ms | {:.1} ms | {:.0} KiB |",
                row.what,
                row.events_s,
                row.cpu_us,
                1e6 / row.cpu_us,
                row.p50_ms,
                row.p99_ms,
                row.session_kib
            );
        }
    });
}
