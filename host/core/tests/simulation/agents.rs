//! Agents: what one does with a prompt, as a list of what it says and when. Whether the host still listens then is the
//! world's to know.

use baton_core::action::SpawnSpec;
use baton_core::facts::{AgentEvent, ErrorSignal, OccupancySource, ProcessExit, SignalSource, TokenUsage};
use baton_core::input::{AgentReport, ReportedHandoff, SplitGroupReport};
use baton_core::observation::{ObjectiveStatus, PromptKind};
use baton_core::{DurationMs, ObjectiveId};

use crate::rng::SimulationRng;
use crate::scenario::SimulationRates;

/// An agent at work.
#[derive(Clone, Debug)]
pub(crate) struct ModelAgent {
    pub(crate) spec: SpawnSpec,
    /// Events from before the newest prompt or interruption are dropped.
    pub(crate) epoch: u32,
    pub(crate) turns: u32,
    used_tokens: u64,
}

/// The next event of an agent.
#[derive(Clone, Debug)]
pub(crate) enum AgentMove {
    Say(AgentEvent),
    Report(AgentReport),
    /// It has really done these.
    Work(Vec<ObjectiveId>),
    Exit(ProcessExit),
}

/// The possible reactions to a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PromptBehavior {
    Finish,
    Exhaust,
    MeetQuota,
    MeetRate,
    RetryInPlace,
    Nothing,
    Die,
    Hang,
    RequestSplit,
    Lie,
    BreakOff,
    WorkAndDie,
    HandOff,
    Fail,
    Halve,
}

pub(crate) const WAYS: usize = 15;

const ALL: [PromptBehavior; WAYS] = [
    PromptBehavior::Finish,
    PromptBehavior::Exhaust,
    PromptBehavior::MeetQuota,
    PromptBehavior::MeetRate,
    PromptBehavior::RetryInPlace,
    PromptBehavior::Nothing,
    PromptBehavior::Die,
    PromptBehavior::Hang,
    PromptBehavior::RequestSplit,
    PromptBehavior::Lie,
    PromptBehavior::BreakOff,
    PromptBehavior::WorkAndDie,
    PromptBehavior::HandOff,
    PromptBehavior::Fail,
    PromptBehavior::Halve,
];

impl ModelAgent {
    pub(crate) fn new(spec: SpawnSpec) -> Self {
        Self { spec, epoch: 0, turns: 0, used_tokens: 100 }
    }

    /// Its reaction to a prompt, and the time of each event after it.
    pub(crate) fn answer(
        &mut self,
        kind: PromptKind,
        focus: &[ObjectiveId],
        rng: &mut SimulationRng,
        temper: &SimulationRates,
    ) -> Vec<(DurationMs, AgentMove)> {
        self.epoch += 1;
        let does = ALL[rng.by_weight(&temper.agents)];
        let mut acts = AgentMoves { list: Vec::new(), at: DurationMs(0) };
        if does == PromptBehavior::Hang {
            return acts.list;
        }
        if does == PromptBehavior::RetryInPlace {
            acts.say(rng, signal("rate", true));
            acts.wait(rng, 600);
        }
        for _ in 0..rng.count(1, 4) {
            if self.spec.max_turns > 0 && self.turns >= self.spec.max_turns {
                acts.end(rng, "turns");
                return acts.list;
            }
            self.turn(&mut acts, rng);
        }
        if rng.percent(8) {
            let gotcha = format!("mind the gap {}", rng.within(1, 9));
            acts.report(rng, AgentReport::GotchaRecord { gotcha });
        }
        match does {
            PromptBehavior::Hang => {}
            PromptBehavior::Finish | PromptBehavior::RetryInPlace => {
                self.finish(&mut acts, kind, focus, rng, temper)
            }
            PromptBehavior::Exhaust => {
                let some = focus.split_last().map_or(&[][..], |(_, before)| before);
                acts.push(rng, AgentMove::Work(some.to_vec()));
                self.used_tokens = 990;
                acts.say(rng, occupancy(990));
                acts.end(rng, "exhausted");
            }
            PromptBehavior::MeetQuota => acts.end(rng, "quota"),
            PromptBehavior::MeetRate => acts.end(rng, "rate"),
            PromptBehavior::Nothing => acts.end(rng, "nothing"),
            PromptBehavior::Lie => acts.end(rng, "done"),
            PromptBehavior::BreakOff => acts.end(rng, "cancelled"),
            PromptBehavior::RequestSplit => {
                let request = request(focus, rng);
                acts.report(rng, request);
                acts.end(rng, "done");
            }
            PromptBehavior::HandOff => {
                // Its handoff revokes its earlier reports.
                let said = if rng.percent(30) { ObjectiveStatus::Done } else { ObjectiveStatus::InProgress };
                focus.iter().for_each(|id| acts.report(rng, stands(id, said)));
                acts.report(rng, AgentReport::HandoffWrite(Box::new(handoff(focus))));
                acts.end(rng, "handoff");
            }
            // Both end normally: their reports contradict that.
            PromptBehavior::Fail => {
                focus.iter().for_each(|id| acts.report(rng, stands(id, ObjectiveStatus::Failed)));
                acts.end(rng, "done");
            }
            PromptBehavior::Halve => {
                focus.iter().for_each(|id| acts.report(rng, stands(id, ObjectiveStatus::Done)));
                focus.iter().for_each(|id| acts.report(rng, stands(id, ObjectiveStatus::InProgress)));
                acts.end(rng, "done");
            }
            PromptBehavior::Die => acts.die(rng),
            PromptBehavior::WorkAndDie => {
                acts.push(rng, AgentMove::Work(focus.to_vec()));
                if rng.percent(temper.reports) {
                    focus.iter().for_each(|id| acts.report(rng, done(id)));
                }
                acts.die(rng);
            }
        }
        acts.list
    }

    fn finish(
        &mut self,
        acts: &mut AgentMoves,
        kind: PromptKind,
        focus: &[ObjectiveId],
        rng: &mut SimulationRng,
        temper: &SimulationRates,
    ) {
        acts.push(rng, AgentMove::Work(focus.to_vec()));
        if kind == PromptKind::Reviewing && !rng.percent(temper.mute) {
            let score = rng.count(40, 100);
            acts.report(
                rng,
                AgentReport::ReviewSubmit { score, summary: "seen".into(), findings: vec!["one".into()] },
            );
        }
        if rng.percent(temper.reports) {
            focus.iter().for_each(|id| acts.report(rng, done(id)));
        }
        acts.end(rng, "done");
    }

    fn turn(&mut self, acts: &mut AgentMoves, rng: &mut SimulationRng) {
        self.turns += 1;
        self.used_tokens = (self.used_tokens + rng.within(10, 150)).min(980);
        if rng.percent(40) {
            let name = format!("src/{}", rng.within(1, 5));
            let call = AgentEvent::ToolCall {
                id: "t".into(),
                name: "Read".into(),
                reads: Some(name),
                writes: None,
                command: None,
            };
            acts.say(rng, call);
        }
        if rng.percent(5) {
            acts.say(rng, AgentEvent::ApprovalRequested { title: "rm".into() });
            acts.wait(rng, 400);
            acts.say(rng, AgentEvent::ApprovalResolved { allowed: true });
        }
        if rng.percent(20) {
            acts.say(rng, occupancy(self.used_tokens));
        }
        let billed = TokenUsage { input_tokens: self.used_tokens, output_tokens: 10, cost_microusd: None };
        acts.say(rng, AgentEvent::Turn { used_tokens: Some(self.used_tokens), billed });
    }

    /// It makes room, or fails to.
    pub(crate) fn compacted(&mut self, rng: &mut SimulationRng) -> AgentEvent {
        self.epoch += 1;
        if rng.percent(20) {
            return AgentEvent::CompactionFailed { text: "nothing to compact".into() };
        }
        self.used_tokens = 150;
        AgentEvent::Compacted {
            trigger: baton_core::facts::CompactionTrigger::Asked,
            before_tokens: None,
            after_tokens: Some(150),
        }
    }
}

/// A list of acts that grows in time.
struct AgentMoves {
    list: Vec<(DurationMs, AgentMove)>,
    at: DurationMs,
}

impl AgentMoves {
    fn wait(&mut self, rng: &mut SimulationRng, seconds: u64) {
        self.at = DurationMs(self.at.0 + rng.within(1, seconds * 1000));
    }

    fn push(&mut self, rng: &mut SimulationRng, act: AgentMove) {
        self.wait(rng, 20);
        self.list.push((self.at, act));
    }

    fn say(&mut self, rng: &mut SimulationRng, event: AgentEvent) {
        self.push(rng, AgentMove::Say(event));
    }

    fn report(&mut self, rng: &mut SimulationRng, report: AgentReport) {
        self.push(rng, AgentMove::Report(report));
    }

    fn end(&mut self, rng: &mut SimulationRng, code: &str) {
        self.say(rng, AgentEvent::PromptEnded { stop_reason: code.into(), is_error: false });
    }

    fn die(&mut self, rng: &mut SimulationRng) {
        self.push(rng, AgentMove::Exit(ProcessExit { code: Some(1), signal: None, by_host: false }));
    }
}

fn done(id: &ObjectiveId) -> AgentReport {
    stands(id, ObjectiveStatus::Done)
}

fn stands(id: &ObjectiveId, status: ObjectiveStatus) -> AgentReport {
    AgentReport::ObjectiveUpdate { objective: id.clone(), status, note: "as far as it goes".into() }
}

fn handoff(open: &[ObjectiveId]) -> ReportedHandoff {
    ReportedHandoff {
        current_state: "half of it is there".into(),
        immediate_next_action: "do the other half".into(),
        critical_context: Vec::new(),
        critical_files: Vec::new(),
        open: open.to_vec(),
    }
}

fn request(focus: &[ObjectiveId], rng: &mut SimulationRng) -> AgentReport {
    let group = |objectives: Vec<ObjectiveId>| SplitGroupReport { title: "A group".into(), objectives };
    let unknown = rng.percent(30).then(|| group(vec!["nothing".into()]));
    let groups = focus.iter().map(|id| group(vec![id.clone()])).chain(unknown).collect();
    AgentReport::SplitRequest { groups, rationale: "too much".into() }
}

fn occupancy(used: u64) -> AgentEvent {
    let (used_tokens, window_tokens) = (Some(used), Some(1000));
    AgentEvent::Occupancy { used_tokens, window_tokens, source: OccupancySource::Agent }
}

fn signal(code: &str, retrying: bool) -> AgentEvent {
    let (code, text) = (code.to_owned(), String::new());
    let channel = SignalSource::ProviderError;
    AgentEvent::Signal(ErrorSignal { channel, code, status: Some(429), resets_at: None, retrying, text })
}
