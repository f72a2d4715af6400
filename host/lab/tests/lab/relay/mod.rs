//! A relay of agents without processes: core, the real component, and a workspace that is a list of files. It plays the
//! host: performs intents at once, writes down what it takes and wants, and can die at any point.

#![allow(dead_code)] // A module of several suites; each uses its own part.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::OnceLock;

use baton_core::action::{Action, Intent};
use baton_core::decision::Decision;
use baton_core::facts::{
    AgentEvent, Capabilities, ChangedFile, ErrorSignal, GitFacts, ProcessExit, SignalSource, WorkspaceFacts,
};
use baton_core::input::{AgentReport, ArtifactRef, ReportedHandoff};
use baton_core::observation::{ObjectiveStatus, PromptKind};
use baton_core::view::{PhaseOrigin, PhaseSummary, RunView};
use baton_core::workflow::file;
use baton_core::{
    ActionOutcome, Digest, DurationMs, Input, JournaledInput, ObjectiveId, PhaseId, Run, Seq, SessionId,
    UnixMs, path_mentions,
};
use baton_engine::{Engine, EngineConfig, Router};
use baton_store::JournalEntry;

const WORKFLOW: &str = r#"
name = "relay"
goal = "A small thing in five steps."
review_parts = false
[[phases]]
id = "10"
title = "Steps"
[[phases.objectives]]
id = "lexer"
description = "Write the lexer."
[[phases.objectives]]
id = "parser"
description = "Write the parser."
[[phases.objectives]]
id = "printer"
description = "Write the printer."
[[phases.objectives]]
id = "linter"
description = "Write the linter."
"#;

/// Maximum number of changed files that an assessment names here; low, so that lists are often cut.
const CHANGED_FILES_SHOWN: usize = 12;

/// What an agent does with a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ScriptedOutcome {
    Finish,
    Exhaust,
    Die,
    Hang,
}

/// The prompt and documents of a successor, and the facts at that moment.
pub(crate) struct SuccessorContext {
    pub(crate) prompt: String,
    pub(crate) document: String,
    pub(crate) beside: Vec<String>,
    pub(crate) open: Vec<ObjectiveId>,
    pub(crate) done: Vec<ObjectiveId>,
    pub(crate) changed: Vec<String>,
    pub(crate) attempts: Vec<String>,
}

impl SuccessorContext {
    pub(crate) fn everything(&self) -> String {
        [&[self.prompt.clone(), self.document.clone()][..], &self.beside].concat().join("\n")
    }
}

pub(crate) struct FakeHost {
    run: Run,
    now: UnixMs,
    seq: Seq,
    script: VecDeque<ScriptedOutcome>,
    /// Attempts reported, and files changed, with each prompt.
    reports: usize,
    files: usize,
    words: String,
    count: usize,
    turns: u64,
    workspace: BTreeMap<String, ChangedFile>,
    /// The workspace at the start of each phase.
    starts: BTreeMap<PhaseId, BTreeMap<String, ChangedFile>>,
    /// The changed files of each phase at the host's last look; other phases in the same folder may change files afterwards.
    seen: BTreeMap<PhaseId, Vec<String>>,
    /// Which session tried what.
    attempts: BTreeSet<(SessionId, String)>,
    saved: BTreeMap<String, String>,
    queue: VecDeque<Input>,
    pub(crate) packets: Vec<SuccessorContext>,
    pub(crate) decisions: Vec<Decision>,
    inputs: usize,
    /// The journal of the run.
    pub(crate) entries: Vec<JournalEntry>,
}

/// The built-in component: made once.
fn router() -> &'static Router {
    static ROUTER: OnceLock<Router> = OnceLock::new();
    ROUTER.get_or_init(|| {
        let engine = Engine::new(EngineConfig::default()).unwrap();
        Router::new(&engine, BTreeMap::new()).unwrap()
    })
}

impl FakeHost {
    pub(crate) fn new(script: Vec<ScriptedOutcome>, reports: usize, files: usize, words: &str) -> Self {
        let workflow = Box::new(file::parse(WORKFLOW, "relay.toml", "/").unwrap());
        let started = Input::Started {
            run: "r1".into(),
            workflow,
            bindings: Vec::new(),
            task_folder: ".baton/r1".into(),
            utc_offset_minutes: 0,
            assignments: Vec::new(),
        };
        Self {
            run: Run::new(),
            now: UnixMs(1_780_000_000_000),
            seq: Seq(0),
            script: script.into(),
            reports,
            files,
            words: words.to_owned(),
            count: 0,
            turns: 1,
            workspace: BTreeMap::new(),
            starts: BTreeMap::new(),
            seen: BTreeMap::new(),
            attempts: BTreeSet::new(),
            saved: BTreeMap::new(),
            queue: [started].into(),
            packets: Vec::new(),
            decisions: Vec::new(),
            inputs: 0,
            entries: Vec::new(),
        }
    }

    /// Under another name; before its first step.
    pub(crate) fn named(mut self, name: &str) -> Self {
        if let Some(Input::Started { run, .. }) = self.queue.front_mut() {
            *run = name.into();
        }
        self
    }

    /// Sets the number of turns for each prompt, each of which takes longer than an answer of a policy. To be called before the
    /// first step.
    pub(crate) fn with_turns(mut self, turns: u64) -> Self {
        self.turns = turns;
        // However many they are, none is too many.
        if let Some(Input::Started { workflow, .. }) = self.queue.front_mut() {
            workflow.roles.values_mut().for_each(|role| role.turn_ceiling = Some(u32::MAX));
        }
        self
    }

    /// Inputs so far.
    pub(crate) fn taken(&self) -> usize {
        self.inputs
    }

    pub(crate) fn go(&mut self) {
        self.until_packet(usize::MAX);
    }

    /// Until there is a packet more, or the run rests.
    pub(crate) fn until_packet(&mut self, before: usize) {
        for _ in 0..5_000 * self.turns {
            if self.packets.len() > before || !self.step() {
                return;
            }
        }
        panic!("the run does not come to rest");
    }

    pub(crate) fn step(&mut self) -> bool {
        let input = match self.queue.pop_front() {
            Some(input) => input,
            None => match self.run.next_deadline() {
                Some(at) => {
                    self.now = self.now.max(at);
                    Input::Tick
                }
                None => return false,
            },
        };
        self.now = self.now + DurationMs(10);
        self.seq = self.seq.next();
        if let Input::Reported {
            session: Some(session),
            report: AgentReport::AttemptRecord { approach, .. },
            ..
        } = &input
        {
            self.attempts.insert((session.clone(), approach.lines().next().unwrap().to_owned()));
        }
        self.inputs += 1;
        let (stamped, at) = (JournaledInput { seq: self.seq, at: self.now, input }, self.now);
        let intents = self.run.apply(&stamped).unwrap();
        self.entries.push(JournalEntry::Input(stamped));
        for intent in intents {
            if !matches!(intent.action, Action::Notify(_)) {
                self.seq = self.seq.next();
                self.entries.push(JournalEntry::Intent { seq: self.seq, at, intent: intent.clone() });
            }
            self.perform(intent);
        }
        true
    }

    /// The host dies with every agent, and another takes over.
    pub(crate) fn crash(&mut self) {
        let pending: Vec<Intent> = self.run.pending().into_iter().cloned().collect();
        self.queue.clear();
        let (repeated, lost): (Vec<_>, Vec<_>) = pending.into_iter().partition(|intent| {
            matches!(
                intent.action,
                Action::MeasureWorkspace { .. }
                    | Action::ValidateHandoff { .. }
                    | Action::WriteHandoff { .. }
                    | Action::AskUser { .. }
            )
        });
        for intent in lost {
            self.queue.push_back(Input::Outcome { action: intent.id, outcome: ActionOutcome::Lost });
        }
        self.queue.push_back(Input::Resumed);
        while !self.queue.is_empty() && self.run.pending().len() > repeated.len() {
            self.step();
        }
        if let Some(Input::Resumed) = self.queue.front() {
            self.step();
        }
        for intent in repeated {
            self.perform(intent);
        }
    }

    fn perform(&mut self, intent: Intent) {
        let outcome = match intent.action {
            Action::Notify(_) => return,
            Action::RequestDecision { request_id, request, .. } => {
                let (result, label) = router().decide(&request);
                self.decisions.push(result.clone().unwrap());
                let decided = Input::Decided { request_id, result, label: Box::new(label) };
                return if self.turns > 1 {
                    self.queue.push_front(decided);
                } else {
                    self.queue.push_back(decided);
                };
            }
            Action::Spawn(spec) => {
                let event = AgentEvent::Ready { agent_session: None, model: None, version: None };
                self.say(&spec.session, event);
                let capabilities = Capabilities { takes_mcp: true, ..Capabilities::default() };
                ActionOutcome::Spawned { group: 1, started: 1, capabilities }
            }
            Action::Prompt { session, prompt, kind, focus, text } => {
                if prompt == 1 && kind != PromptKind::First {
                    self.record_successor_context(&session, text.body().unwrap());
                }
                self.act(&session, &focus);
                ActionOutcome::Delivered
            }
            Action::EndSession { session, .. } => {
                let exit = ProcessExit { code: Some(0), signal: None, by_host: true };
                self.queue.push_back(Input::SessionEnded { session, exit });
                ActionOutcome::Delivered
            }
            Action::MeasureWorkspace { phase, baseline, .. } => {
                if baseline {
                    self.starts.insert(phase.clone(), self.workspace.clone());
                }
                let changed = self.changed(&phase).into_iter().map(|file| file.path).collect();
                self.seen.insert(phase.clone(), changed);
                ActionOutcome::WorkspaceMeasured { facts: self.facts(&phase) }
            }
            Action::ValidateHandoff { document, .. } => ActionOutcome::Inspected {
                missing_files: path_mentions::extract_paths(document.body().unwrap())
                    .into_iter()
                    .filter(|path| !self.saved.contains_key(path))
                    .filter(|path| !self.workspace.get(path).is_some_and(|file| file.exists))
                    .collect(),
                secrets: Vec::new(),
                commits_since: 0,
                diverged: false,
            },
            Action::WriteHandoff { phase, path, document, facts, changed_beyond, .. } => {
                let stem = path.strip_suffix(".md").unwrap().to_owned();
                self.saved.insert(path.clone(), document.body().unwrap().to_owned());
                self.saved.insert(format!("{stem}-facts.json"), facts.unwrap().body().unwrap().to_owned());
                if changed_beyond > 0 {
                    let all: Vec<String> = self.changed(&phase).into_iter().map(|file| file.path).collect();
                    self.saved.insert(format!("{stem}-files.json"), all.join("\n"));
                }
                let artifact = ArtifactRef {
                    name: path.clone(),
                    version: 1,
                    digest: document.digest().clone(),
                    bytes: document.len_bytes(),
                    summary: String::new(),
                };
                ActionOutcome::HandoffWritten { path, artifact, index: None }
            }
            Action::Checkpoint { .. } => ActionOutcome::Checkpointed { base: None },
            Action::AskUser { .. } | Action::Finish { .. } => ActionOutcome::Announced,
            _ => ActionOutcome::Delivered,
        };
        self.queue.push_back(Input::Outcome { action: intent.id, outcome });
    }

    /// What differs from the start of a phase.
    fn changed(&self, phase: &PhaseId) -> Vec<ChangedFile> {
        let start = self.starts.get(phase);
        let same = |file: &ChangedFile| start.and_then(|start| start.get(&file.path)) == Some(file);
        self.workspace.values().filter(|file| !same(file)).cloned().collect()
    }

    fn facts(&self, phase: &PhaseId) -> WorkspaceFacts {
        let changed = self.changed(phase);
        WorkspaceFacts {
            written: Vec::new(),
            next_run_files: Vec::new(),
            has_unseen: false,
            git: GitFacts {
                present: true,
                branch: "main".into(),
                head: "a".repeat(40),
                ..GitFacts::default()
            },
            files: 10,
            changed: changed.iter().take(CHANGED_FILES_SHOWN).cloned().collect(),
            changed_beyond: u32::try_from(changed.len().saturating_sub(CHANGED_FILES_SHOWN)).unwrap(),
            missing: Vec::new(),
        }
    }

    fn record_successor_context(&mut self, session: &SessionId, prompt: &str) {
        let view = self.run.view(self.now).unwrap();
        let of_session = |row: &&PhaseSummary| row.sessions.iter().any(|one| one.id == *session);
        let phase = view.phases.iter().find(of_session).unwrap();
        if phase.sessions.len() == 1 {
            // There was no session before this one: a session that merges parts begins its own work.
            return;
        }
        let newest = phase.handoffs.first();
        let saved = |path: &str| self.saved.get(path).cloned();
        let stem = newest.map(|row| row.path.trim_end_matches(".md").to_owned()).unwrap_or_default();
        let of = |status: fn(ObjectiveStatus) -> bool| {
            phase.objectives.iter().filter(|row| status(row.status)).map(|row| row.id.clone()).collect()
        };
        // Only what prompt or document point to belongs to the packet.
        let document = newest.and_then(|row| saved(&row.path)).unwrap_or_default();
        let facts = Some(format!("{stem}-facts.json"))
            .filter(|path| prompt.contains(path) && document.contains(path));
        let beside: Vec<String> = facts.iter().filter_map(|path| saved(path)).collect();
        let files = format!("{stem}-files.json");
        let list = saved(&files).filter(|_| beside.iter().any(|facts| facts.contains(&files)));
        self.packets.push(SuccessorContext {
            prompt: prompt.to_owned(),
            document,
            beside: beside.into_iter().chain(list).collect(),
            open: of(|status| status != ObjectiveStatus::Done),
            done: of(|status| status == ObjectiveStatus::Done),
            changed: self.seen.get(&phase.id).cloned().unwrap_or_default(),
            attempts: self.expected_attempts(&view, phase),
        });
    }

    /// What was tried in a phase, in those that it is a part of, and by whom it brings together. What its neighbours try
    /// at the same time is theirs.
    fn expected_attempts(&self, view: &RunView, phase: &PhaseSummary) -> Vec<String> {
        let mut known = vec![phase];
        while let Some(parent) = known.last().and_then(|part| part.parent.as_ref()) {
            known.push(view.phases.iter().find(|row| row.id == *parent).unwrap());
        }
        if phase.origin == PhaseOrigin::Merge {
            known.extend(view.phases.iter().filter(|row| row.parent == phase.parent));
        }
        let is_theirs = |session: &SessionId| {
            known.iter().any(|row| row.sessions.iter().any(|known| known.id == *session))
        };
        self.attempts.iter().filter(|(by, _)| is_theirs(by)).map(|(_, approach)| approach.clone()).collect()
    }

    fn say(&mut self, session: &SessionId, event: AgentEvent) {
        self.queue.push_back(Input::Agent { session: session.clone(), event });
    }

    fn report(&mut self, session: &SessionId, report: AgentReport) {
        let digest = Digest::of(format!("{} {report:?}", self.count));
        self.queue.push_back(Input::Reported { session: Some(session.clone()), digest, report });
    }

    fn act(&mut self, session: &SessionId, focus: &[ObjectiveId]) {
        let does = self.script.pop_front().unwrap_or(ScriptedOutcome::Finish);
        self.count += 1;
        for n in 0..self.files {
            let path = format!("src/part{}/file{n}.rs", self.count % 3);
            let (bytes, exists) = (self.count as u64, n % 5 != 4);
            let digest = Some(Digest::of(format!("{path}{bytes}")));
            self.workspace.insert(path.clone(), ChangedFile { path, bytes, exists, digest, is_new: false });
        }
        for n in 0..self.reports {
            let approach = format!("way {} of {n}", self.count);
            let outcome = self.words.clone();
            self.report(session, AgentReport::AttemptRecord { approach, outcome });
        }
        let words = self.words.clone();
        if self.reports > 0 {
            self.report(session, AgentReport::GotchaRecord { gotcha: words.clone() });
            let handoff = ReportedHandoff {
                current_state: words.clone(),
                immediate_next_action: words.clone(),
                critical_context: vec![words.clone()],
                critical_files: Vec::new(),
                open: Vec::new(),
            };
            self.report(session, AgentReport::HandoffWrite(Box::new(handoff)));
        }
        for turn in 1..=self.turns {
            let call = format!("t{}.{turn}", self.count);
            let (id, name) = (call.clone(), "read".to_owned());
            self.say(session, AgentEvent::ToolCall { id, name, reads: None, writes: None, command: None });
            self.say(
                session,
                AgentEvent::ToolOutput {
                    id: call,
                    bytes: words.len() as u64,
                    text: words.clone(),
                    failed: None,
                },
            );
            // Text next to a report of done is the agent's own claim, and may make the host ask back. Only other outcomes have
            // a successor.
            let said = if matches!(does, ScriptedOutcome::Finish) { "" } else { &words[..] };
            let text =
                format!("I have written down all that I found in this step, as it was asked for. {said}");
            self.say(session, AgentEvent::Text { text });
            self.say(
                session,
                AgentEvent::Turn { used_tokens: Some(1_000 * turn), billed: Default::default() },
            );
        }
        match does {
            ScriptedOutcome::Finish => {
                for objective in focus {
                    let (objective, status) = (objective.clone(), ObjectiveStatus::Done);
                    self.report(
                        session,
                        AgentReport::ObjectiveUpdate { objective, status, note: String::new() },
                    );
                }
                self.say(
                    session,
                    AgentEvent::PromptEnded { stop_reason: "end_turn".into(), is_error: false },
                );
            }
            ScriptedOutcome::Exhaust => {
                self.say(
                    session,
                    AgentEvent::Signal(ErrorSignal {
                        channel: SignalSource::AgentEvent,
                        code: "prompt_too_long".into(),
                        status: None,
                        resets_at: None,
                        retrying: false,
                        text: "Prompt is too long".into(),
                    }),
                );
                self.say(
                    session,
                    AgentEvent::PromptEnded { stop_reason: "prompt_too_long".into(), is_error: true },
                );
            }
            ScriptedOutcome::Die => {
                let exit = ProcessExit { code: Some(1), signal: None, by_host: false };
                self.queue.push_back(Input::SessionEnded { session: session.clone(), exit });
            }
            ScriptedOutcome::Hang => {}
        }
    }
}
