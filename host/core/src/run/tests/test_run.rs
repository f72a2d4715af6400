//! A world for the machine to act in: performs every intent at once, with agents and policies scripted by the test.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

use crate::action::{Action, RunOutcome};
use crate::decision::*;
use crate::facts::{
    AgentEvent, Capabilities, ChangedFile, CompactionTrigger, OccupancySource, ProcessExit, TokenUsage,
    WorkspaceFacts,
};
use crate::ids::{Digest, ObjectiveId, Seq, SessionId};
use crate::input::{ActionOutcome, AgentReport, ArtifactRef, Input, JournaledInput, PauseAnswer};
use crate::observation::{Capability, PolicyQuery, PromptKind};
use crate::progress::ProgressEvent;
use crate::run::Run;
use crate::time::{DurationMs, UnixMs};
use crate::workflow::{AgentKind, Objective, PhaseSpec, Policies, Role, RunLimits, Workflow};

/// What an agent does with a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ScriptedTurn {
    /// Works and answers, at this occupancy.
    Finish(u64),
    /// Runs out of context.
    Exhaust,
    /// Its provider makes it wait, until this long from now.
    Quota(Option<u64>),
    /// Answers nothing of substance.
    Nothing,
    /// Compacts its context by itself, and then works and answers, or answers nothing of substance.
    Forget { finishes: bool },
    /// Its process ends.
    Die,
    /// Says nothing at all.
    Hang,
    /// Works for this number of turns, each of which may change a file, and answers; without end for the most there can be.
    Work { turns: u32, moves: bool },
}

pub(super) struct TestRun {
    pub(super) run: Run,
    pub(super) now: UnixMs,
    pub(super) seq: u64,
    /// What agents do with prompt after prompt; then they finish.
    pub(super) script: VecDeque<ScriptedTurn>,
    /// What `Verify` says, time after time; then it passes.
    pub(super) verdicts: VecDeque<bool>,
    /// The exit code of a `Verify` that does not pass.
    pub(super) exit_code: i32,
    pub(super) split: Option<SplitAction>,
    /// Scores of reviews, one after the other; then 100.
    pub(super) scores: RefCell<VecDeque<u32>>,
    /// Secrets that inspections find, one after the other; then none.
    pub(super) secrets: VecDeque<Vec<String>>,
    pub(super) missing: Vec<String>,
    pub(super) commits_since: u32,
    /// Who continues is the lead.
    pub(super) lead: bool,
    /// Agents can compact, and are made to from 70 %.
    pub(super) compacts: bool,
    /// Turns that are used up are given again.
    pub(super) gives_turns: bool,
    /// So often in a row, although nothing came of them.
    pub(super) idle_grants: u32,
    /// Agents that take many turns compact their context by themselves after each.
    pub(super) circles: bool,
    /// Tokens of each prompt for which its agent names no price.
    pub(super) unpriced_tokens: u64,
    /// Files that agents have changed.
    pub(super) moved: u32,
    /// An agent that runs out of context has changed a file before.
    pub(super) exhausts_at_work: bool,
    /// Turns that agents are still to take.
    at_work: Option<(SessionId, u32, bool)>,
    /// What agents answer instead of compacting.
    pub(super) refusal: Option<&'static str>,
    /// What a verification prints.
    pub(super) findings: String,
    /// Tokens in the window from which large inputs become references (C4).
    pub(super) offload_from: u64,
    /// What is offloaded instead of everything that is offered.
    pub(super) offloads: Option<Vec<String>>,
    /// What is offloaded can be saved.
    pub(super) keeps: bool,
    /// Files that every command removes, and every prompt brings back.
    pub(super) taken_by_checks: Vec<String>,
    pub(super) absent: Vec<String>,
    pub(super) put_back: Vec<String>,
    /// The compaction policy hands off at this many tokens, whatever the session has finished.
    pub(super) hands_off_from: Option<u64>,
    /// What is done after this verdict, instead of what is usual.
    pub(super) recovery: Option<(Verdict, RecoveryAction)>,
    /// The number of answered prompts that are not called done.
    pub(super) unfinished: Cell<u32>,
    pub(super) policy: &'static str,
    /// The commit of a checkpoint; absent where there is no git.
    pub(super) base: Option<String>,
    /// What becomes of branching, merging and landing, time after time; then each works.
    pub(super) branches: VecDeque<ActionOutcome>,
    pub(super) commits: VecDeque<ActionOutcome>,
    pub(super) restored: VecDeque<ActionOutcome>,
    /// What comes of commits in the workspace; nothing to commit, where it is empty.
    pub(super) to_branch: VecDeque<ActionOutcome>,
    pub(super) merges: VecDeque<ActionOutcome>,
    pub(super) landings: VecDeque<ActionOutcome>,
    /// What reviewers say, one after the other; nothing where absent, and 100 after the last.
    pub(super) reviews: VecDeque<Option<u32>>,
    /// A reviewer that is to say nothing sends what is refused.
    pub(super) refuses_reviews: bool,
    /// Every phase that may be is split: each objective for itself, or into halves.
    pub(super) split_each: bool,
    pub(super) halves: bool,
    /// What an agent asks for is done.
    pub(super) split_on_request: bool,
    seq_of_reports: u64,
    pub(super) journal: Vec<JournaledInput>,
    pub(super) notices: Vec<ProgressEvent>,
    pub(super) actions: Vec<Action>,
    /// How often each objective was really worked on to its end.
    pub(super) worked: BTreeMap<ObjectiveId, u32>,
    last: BTreeMap<SessionId, &'static str>,
    pub(super) queue: VecDeque<Input>,
}

pub(super) fn workflow(phases: &[(&str, &[&str])]) -> Workflow {
    let role = Role { window_tokens: Some(1000), ..Role::of(AgentKind::Rehearsal) };
    let phases: Vec<PhaseSpec> = phases
        .iter()
        .map(|(id, objectives)| PhaseSpec {
            id: (*id).into(),
            title: format!("Phase {id}"),
            depends_on: Vec::new(),
            role: "executor".into(),
            agent: None,
            objectives: objectives
                .iter()
                .map(|id| Objective {
                    id: (*id).into(),
                    description: format!("Do {id}."),
                    files: Vec::new(),
                    verify: None,
                })
                .collect(),
            verify: None,
            setup: Vec::new(),
            context: Vec::new(),
            complex: false,
            split: Default::default(),
            wall_time: None,
            tokens: None,
            cost_microusd: None,
            continuations: None,
            review: None,
            repeat: None,
            commit: None,
        })
        .collect();
    Workflow {
        name: "test".into(),
        goal: "Test the machine.".into(),
        roles: [("executor".into(), role)].into(),
        limits: RunLimits::default(),
        policies: Policies::default(),
        phases,
        ..Workflow::default()
    }
}

impl TestRun {
    pub(super) fn new(workflow: Workflow) -> Self {
        let mut world = Self {
            run: Run::new(),
            now: UnixMs(1_000_000),
            seq: 0,
            script: VecDeque::new(),
            verdicts: VecDeque::new(),
            exit_code: 1,
            split: None,
            scores: RefCell::default(),
            secrets: VecDeque::new(),
            missing: Vec::new(),
            commits_since: 0,
            lead: false,
            compacts: true,
            gives_turns: false,
            idle_grants: u32::MAX,
            circles: false,
            unpriced_tokens: 0,
            moved: 0,
            exhausts_at_work: false,
            at_work: None,
            refusal: None,
            findings: "no".into(),
            offload_from: 850,
            offloads: None,
            keeps: true,
            taken_by_checks: Vec::new(),
            absent: Vec::new(),
            put_back: Vec::new(),
            hands_off_from: None,
            recovery: None,
            unfinished: Cell::new(0),
            policy: "test",
            base: Some("b".into()),
            branches: VecDeque::new(),
            commits: VecDeque::new(),
            restored: VecDeque::new(),
            to_branch: VecDeque::new(),
            merges: VecDeque::new(),
            landings: VecDeque::new(),
            reviews: VecDeque::new(),
            refuses_reviews: false,
            split_each: false,
            halves: false,
            split_on_request: false,
            seq_of_reports: 0,
            journal: Vec::new(),
            notices: Vec::new(),
            actions: Vec::new(),
            worked: BTreeMap::new(),
            last: BTreeMap::new(),
            queue: VecDeque::new(),
        };
        world.queue.push_back(Input::Started {
            run: "r1".into(),
            workflow: Box::new(workflow),
            bindings: Vec::new(),
            task_folder: ".baton/r1".into(),
            utc_offset_minutes: 0,
            assignments: Vec::new(),
        });
        world
    }

    /// Takes one input, and does what it leads to. False where nothing is left to take.
    pub(super) fn step(&mut self) -> bool {
        if self.queue.is_empty() {
            self.work();
        }
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
        self.seq += 1;
        self.now = self.now + DurationMs(10);
        let stamped = JournaledInput { seq: Seq(self.seq), at: self.now, input };
        let intents = self.run.apply(&stamped).unwrap_or_else(|e| panic!("{e}"));
        self.journal.push(stamped);
        for intent in intents {
            self.perform(intent.id, intent.action);
        }
        true
    }

    /// The next turn of an agent that takes many.
    fn work(&mut self) {
        let Some((session, left, moves)) = self.at_work.take() else { return };
        if !self.run.live_sessions().contains(&&session) {
            return;
        }
        let billed = TokenUsage { input_tokens: 100, output_tokens: 10, cost_microusd: Some(1000) };
        self.moved += u32::from(moves);
        self.event(&session, AgentEvent::Turn { used_tokens: Some(100), billed });
        if self.circles {
            let (trigger, before_tokens, after_tokens) = (CompactionTrigger::Auto, Some(900), Some(100));
            self.event(&session, AgentEvent::Compacted { trigger, before_tokens, after_tokens });
        }
        match left.saturating_sub(1) {
            0 => {
                self.event(&session, AgentEvent::PromptEnded { stop_reason: "done".into(), is_error: false })
            }
            _ if left == u32::MAX => self.at_work = Some((session, left, moves)),
            left => self.at_work = Some((session, left, moves)),
        }
    }

    pub(super) fn go(&mut self) {
        for _ in 0..20_000 {
            if !self.step() {
                return;
            }
        }
        panic!("the run does not come to rest");
    }

    pub(super) fn put(&mut self, input: Input) {
        self.queue.push_back(input);
    }

    /// What was on its way does not arrive.
    pub(super) fn forget(&mut self) {
        self.queue.clear();
    }

    pub(super) fn answer(&mut self, choice: PauseAnswer) {
        let question = self.run.view(self.now).unwrap().questions[0].id;
        self.put(Input::Answered { question, choice, message: None });
        self.go();
    }

    /// The host dies and another takes over: what was on its way is lost, and so is every agent.
    pub(super) fn crash(&mut self) {
        let pending: Vec<_> = self.run.pending().into_iter().cloned().collect();
        self.queue.clear();
        self.put(Input::Resumed);
        assert!(self.step());
        for intent in pending {
            if self.run.pending().iter().any(|open| open.id == intent.id) {
                match intent.action {
                    Action::Spawn(_)
                    | Action::Prompt { .. }
                    | Action::Compact { .. }
                    | Action::Interrupt { .. }
                    | Action::EndSession { .. } => {
                        self.put(Input::Outcome { action: intent.id, outcome: ActionOutcome::Lost });
                    }
                    again => self.perform(intent.id, again),
                }
            }
        }
    }

    /// What agents were told in prompts of this kind, as the test's policy writes them.
    pub(super) fn prompts_of(&self, wanted: PromptKind) -> Vec<String> {
        let prompt = |action: &Action| match action {
            Action::Prompt { kind, text, .. } if *kind == wanted => text.body().map(str::to_owned),
            _ => None,
        };
        self.actions.iter().filter_map(prompt).collect()
    }

    /// The long texts that the policy saw when it wrote prompts.
    pub(super) fn texts_of_prompts(&self) -> Vec<String> {
        let seen = |action: &Action| match action {
            Action::RequestDecision { request, .. } if matches!(request.query, PolicyQuery::Prompting(_)) => {
                Some(request.texts.clone())
            }
            _ => None,
        };
        let texts = self.actions.iter().filter_map(seen).flatten();
        texts.filter_map(|text| text.body().map(str::to_owned)).collect()
    }

    pub(super) fn ending(&self) -> Option<RunOutcome> {
        self.run.ending()
    }

    pub(super) fn count(&self, is: impl Fn(&ProgressEvent) -> bool) -> usize {
        self.notices.iter().filter(|notice| is(notice)).count()
    }

    fn event(&mut self, session: &SessionId, event: AgentEvent) {
        self.put(Input::Agent { session: session.clone(), event });
    }

    fn perform(&mut self, id: crate::ids::ActionId, action: Action) {
        self.actions.push(action.clone());
        let outcome = match action {
            Action::Notify(notice) => {
                self.notices.push(notice);
                return;
            }
            Action::RequestDecision { request_id, request, .. } => {
                let result = Ok(self.decide(&request.query));
                let policy = self.policy.into();
                let label = Box::new(Provenance { policy, ..label(request.query.capability()) });
                return self.put(Input::Decided { request_id, result, label });
            }
            Action::DeliverToolResult { .. } => return, // No tool result is held back here.
            Action::Spawn(spec) => {
                self.event(
                    &spec.session,
                    AgentEvent::Ready { agent_session: None, model: None, version: None },
                );
                let capabilities =
                    Capabilities { compacts: self.compacts, interrupts: true, ..Default::default() };
                ActionOutcome::Spawned { group: 1, started: 1, capabilities }
            }
            Action::Prompt { session, focus, .. } => {
                self.absent.retain(|file| !self.taken_by_checks.contains(file));
                self.act(&session, &focus);
                ActionOutcome::Delivered
            }
            Action::Compact { session, .. } if self.refusal.is_some() => {
                let text = self.refusal.unwrap_or_default().to_owned();
                self.event(&session, AgentEvent::Text { text });
                let stop_reason = "end_turn".to_owned();
                self.event(&session, AgentEvent::PromptEnded { stop_reason, is_error: false });
                ActionOutcome::Delivered
            }
            Action::Compact { session, .. } => {
                self.event(
                    &session,
                    AgentEvent::Compacted {
                        trigger: CompactionTrigger::Asked,
                        before_tokens: None,
                        after_tokens: Some(100),
                    },
                );
                ActionOutcome::Delivered
            }
            Action::Interrupt { session } => {
                self.event(
                    &session,
                    AgentEvent::PromptEnded { stop_reason: "cancelled".into(), is_error: false },
                );
                ActionOutcome::Delivered
            }
            Action::EndSession { session, .. } => {
                let exit = ProcessExit { code: Some(0), signal: None, by_host: true };
                self.put(Input::SessionEnded { session, exit });
                ActionOutcome::Delivered
            }
            Action::MeasureWorkspace { expected, .. } => {
                let (missing, there) = expected.into_iter().partition(|file| self.absent.contains(file));
                let (there, moved): (Vec<String>, _) = (there, (0..self.moved).map(|n| format!("moved-{n}")));
                let is_work = |file: &String| !file.starts_with("moved-") && !self.put_back.contains(file);
                let changed = there.into_iter().filter(is_work).chain(moved).map(changed).collect();
                let facts = WorkspaceFacts { changed, missing, ..Default::default() };
                ActionOutcome::WorkspaceMeasured { facts }
            }
            Action::ValidateHandoff { .. } => ActionOutcome::Inspected {
                missing_files: self.missing.clone(),
                secrets: self.secrets.pop_front().unwrap_or_default(),
                commits_since: self.commits_since,
                diverged: false,
            },
            Action::WriteHandoff { path, .. } => ActionOutcome::HandoffWritten {
                path,
                artifact: artifact("handoff"),
                index: Some(artifact("index")),
            },
            Action::WriteSummaries { phase, .. } if self.keeps => {
                let names = [format!("summaries/phase-{phase}.md"), "summaries/run.md".to_owned()];
                ActionOutcome::SummariesWritten {
                    artifacts: names.iter().map(|name| artifact(name)).collect(),
                }
            }
            Action::WriteSummaries { .. } => ActionOutcome::Failed { error: "the disk is full".into() },
            Action::Offload { items, .. } if self.keeps => ActionOutcome::Offloaded {
                artifacts: items.iter().map(|item| artifact(&item.name)).collect(),
            },
            Action::Offload { .. } => ActionOutcome::Failed { error: "the disk is full".into() },
            Action::Verify { .. } => {
                self.absent.extend(self.taken_by_checks.iter().cloned());
                let passed = self.verdicts.pop_front().unwrap_or(true);
                ActionOutcome::Verified {
                    passed,
                    code: Some(if passed { 0 } else { self.exit_code }),
                    findings: self.findings.clone(),
                    artifact: None,
                }
            }
            Action::Checkpoint { .. } => ActionOutcome::Checkpointed { base: self.base.clone() },
            Action::CreateWorktree { .. } => self.branches.pop_front().unwrap_or(ActionOutcome::Branched),
            Action::CommitWorktree { .. } => self.commits.pop_front().unwrap_or(ActionOutcome::Committed {
                commit: "c".into(),
                missing: Vec::new(),
                ignored: Vec::new(),
                unseen: Vec::new(),
            }),
            Action::CommitToBranch { .. } => {
                self.to_branch.pop_front().unwrap_or_else(ActionOutcome::nothing_to_commit)
            }
            Action::RestoreWorktree { .. } => self.restored.pop_front().unwrap_or(ActionOutcome::Restored {
                changed: Vec::new(),
                gone: Vec::new(),
                added: Vec::new(),
            }),
            Action::Merge { .. } => {
                self.merges.pop_front().unwrap_or(ActionOutcome::Merged { commit: "c".into(), files: 1 })
            }
            Action::AbortMerge { .. } => ActionOutcome::Unmerged,
            Action::Land { .. } => self.landings.pop_front().unwrap_or(ActionOutcome::Landed {
                commit: "c".into(),
                committed: true,
                files: 1,
            }),
            Action::AskUser { .. } | Action::Finish { .. } => ActionOutcome::Announced,
        };
        self.put(Input::Outcome { action: id, outcome });
    }

    /// A reviewer says what it thinks, where it says anything.
    fn review(&mut self, session: &SessionId, focus: &[ObjectiveId]) {
        if !focus.iter().any(|id| id.as_str().starts_with("review-")) {
            return;
        }
        let report = match self.reviews.pop_front().unwrap_or(Some(100)) {
            Some(score) => {
                let (summary, findings) = ("read it".to_owned(), vec!["a.rs:1: odd".to_owned()]);
                AgentReport::ReviewSubmit { score, summary, findings }
            }
            None if self.refuses_reviews => AgentReport::Refused { why: "`score` is missing".into() },
            None => return,
        };
        self.seq_of_reports += 1;
        let digest = Digest::of(self.seq_of_reports.to_string());
        self.put(Input::Reported { session: Some(session.clone()), digest, report });
    }

    fn act(&mut self, session: &SessionId, focus: &[ObjectiveId]) {
        let does = self.script.pop_front().unwrap_or(ScriptedTurn::Finish(300));
        let used = match &does {
            ScriptedTurn::Finish(used) => *used,
            ScriptedTurn::Exhaust => 990,
            _ => 200,
        };
        let word = match does {
            ScriptedTurn::Finish(_) | ScriptedTurn::Forget { finishes: true } | ScriptedTurn::Work { .. } => {
                "done"
            }
            ScriptedTurn::Exhaust => "exhausted",
            ScriptedTurn::Quota(Some(_)) => "quota-until",
            ScriptedTurn::Quota(None) => "quota",
            ScriptedTurn::Nothing | ScriptedTurn::Forget { finishes: false } => "nothing",
            ScriptedTurn::Die | ScriptedTurn::Hang => "silent",
        };
        self.moved += u32::from(does == ScriptedTurn::Exhaust && self.exhausts_at_work);
        self.last.insert(session.clone(), word);
        if does == ScriptedTurn::Hang {
            return;
        }
        if let ScriptedTurn::Work { turns, moves } = does {
            self.at_work = Some((session.clone(), turns, moves));
            return;
        }
        if does == ScriptedTurn::Die {
            let exit = ProcessExit { code: Some(1), signal: None, by_host: false };
            return self.put(Input::SessionEnded { session: session.clone(), exit });
        }
        if let ScriptedTurn::Forget { .. } = does {
            let (trigger, before_tokens, after_tokens) = (CompactionTrigger::Auto, None, Some(200));
            self.event(session, AgentEvent::Compacted { trigger, before_tokens, after_tokens });
        }
        if word == "done" {
            self.review(session, focus);
            for id in focus {
                *self.worked.entry(id.clone()).or_default() += 1;
            }
        }
        let billed = TokenUsage { input_tokens: used, output_tokens: 10, cost_microusd: Some(1000) };
        let (window_tokens, source) = (Some(1000), OccupancySource::Agent);
        self.event(session, AgentEvent::Occupancy { used_tokens: Some(used), window_tokens, source });
        self.event(session, AgentEvent::Turn { used_tokens: Some(used), billed });
        if self.unpriced_tokens > 0 {
            let input_tokens = self.unpriced_tokens;
            self.event(session, AgentEvent::Billing(TokenUsage { input_tokens, ..TokenUsage::default() }));
        }
        self.event(session, AgentEvent::PromptEnded { stop_reason: word.into(), is_error: false });
    }
}

/// Says that the test decided.
pub(super) fn label(capability: Capability) -> Provenance {
    Provenance {
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
    }
}

fn changed(path: String) -> ChangedFile {
    ChangedFile { path, bytes: 1, exists: true, digest: None, is_new: true }
}

fn artifact(name: &str) -> ArtifactRef {
    ArtifactRef {
        name: name.into(),
        version: 1,
        digest: Digest::of(name),
        bytes: name.len() as u64,
        summary: String::new(),
    }
}

/// Another kind of answer than was asked for.
pub(super) fn wrong_answer(capability: Capability) -> Decision {
    let reason = "wrong".to_owned();
    match capability {
        Capability::Compaction => Decision::Budgeting(TurnBudget { max_turns: None, reason }),
        _ => Decision::Compaction(CompactionDecision { action: CompactionAction::HandOff, reason }),
    }
}
