//! The state of one phase: its objectives, its counters and the step it is in. Transitions are in the files beside.

use std::collections::VecDeque;

use crate::decision::{QuotaCause, SubPhase};
use crate::facts::{Billed, WorkspaceFacts};
use crate::ids::{ActionId, PhaseId, RequestId, SessionId};
use crate::input::{ArtifactRef, Choice, ReportedHandoff};
use crate::observation::{Attempt, BriefKind, ObjectiveStatus, Occasion, SplitOccasion, SplitRequest};
use crate::text::Text;
use crate::time::UnixMs;
use crate::view::HandoffRow;
use crate::workflow::{Objective, Phase as Spec};

use super::clock::Clock;
use super::handoff::{Draft, Found, Refused};
use super::inputs::Large;

/// Attempts, decisions and gotchas of a phase that are kept, each. All of them reach the facts beside a handoff; a phase
/// that records more has an agent in a loop. The oldest then go first, and are counted: the journal has every one.
const RECORDS: usize = 10_000;

/// Where a phase is. A step that waits names what it waits for; an answer to anything else is stale and dropped.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// For the phases it depends on, or for a free place.
    Pending,
    /// `Assess` with `baseline`: the start of the phase is measured.
    Baseline {
        action: ActionId,
    },
    /// `splitting.evaluate`, with a session (at a boundary) or without.
    Scoping {
        request: RequestId,
        occasion: SplitOccasion,
    },
    /// `splitting.budget`.
    Budgeting {
        request: RequestId,
    },
    /// `Spawn`, until the agent says that it is ready.
    Readying {
        action: ActionId,
    },
    /// `compaction.decide` on what the next prompt would embed (C4).
    Sparing {
        request: RequestId,
        kind: BriefKind,
        focus: Vec<usize>,
        large: Vec<Large>,
    },
    /// `Offload` of what was decided.
    Offloading {
        action: ActionId,
        kind: BriefKind,
        focus: Vec<usize>,
        large: Vec<Large>,
    },
    /// `handoff.brief`.
    Briefing {
        request: RequestId,
        kind: BriefKind,
        focus: Vec<usize>,
    },
    /// `Prompt`, until it is answered. The host may have interrupted it, to nudge.
    Working {
        action: ActionId,
        focus: Vec<usize>,
        interrupted: bool,
    },
    /// `Assess` after a prompt or a session ended.
    Measuring {
        action: ActionId,
        occasion: Occasion,
        focus: Vec<usize>,
    },
    /// `exhaustion.assess` on a prompt or session that ended.
    Judging {
        request: RequestId,
        occasion: Occasion,
        focus: Vec<usize>,
    },
    /// `compaction.decide`.
    Fitting {
        request: RequestId,
    },
    /// `WriteSummaries`, before the compaction.
    Summarising {
        action: ActionId,
        instructions: String,
    },
    /// `Compact`: delivered or not, the prompt that carries it has not ended.
    Compacting {
        action: ActionId,
    },
    /// `Assess` after a session is gone, for what it leaves behind.
    Surveying {
        action: ActionId,
        then: Succession,
    },
    /// `handoff.compose`; `refused` is the review of the document before, which is composed again from facts.
    Composing {
        request: RequestId,
        then: Succession,
        path: String,
        refused: Option<Box<Refused>>,
    },
    /// `Inspect` of what was composed.
    Inspecting {
        action: ActionId,
        then: Succession,
        draft: Box<Draft>,
    },
    /// `handoff.review` of it.
    Reviewing {
        request: RequestId,
        then: Succession,
        draft: Box<Draft>,
    },
    /// `WriteHandoff`.
    HandingOff {
        action: ActionId,
        then: Succession,
        draft: Box<Draft>,
    },
    /// `Inspect` of the newest handoff, before a session starts from it after a while.
    Rechecking {
        action: ActionId,
        kind: BriefKind,
        focus: Vec<usize>,
    },
    /// `handoff.review` of it.
    Rereading {
        request: RequestId,
        kind: BriefKind,
        focus: Vec<usize>,
        found: Found,
    },
    /// `End`, until the process is gone.
    Ending {
        then: AfterEnd,
    },
    /// A provider's limit: nothing is tried before it resets, or before the backoff is over.
    Quota {
        cause: QuotaCause,
        since: UnixMs,
        until: Option<UnixMs>,
        retry_at: UnixMs,
        focus: Vec<usize>,
    },
    /// Before a retry, or before it is taken up again as a person said.
    Backoff {
        until: UnixMs,
    },
    /// `Verify`.
    Verifying {
        action: ActionId,
    },
    /// `Ask`.
    Paused {
        question: ActionId,
        about: Pause,
    },
    /// Its sub-phases work.
    Split,
    Done,
    Skipped,
}

/// Why a new session follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Succession {
    /// Continuation k of n (A7).
    Continuation,
    /// The session failed; counted apart.
    Retry,
    /// The session was lost with the host, or left by itself after its work: not counted.
    Uncounted,
}

/// What follows when a session is gone.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AfterEnd {
    Succeed(Succession),
    Split(Vec<SubPhase>),
    Pause { about: Pause, text: String },
    Complete,
    Skip,
}

/// What a question is about; says what can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// The phase cannot go on by itself.
    Stuck,
    /// A ceiling of this phase was reached.
    PhaseCeiling,
    /// A ceiling of the run was reached.
    RunCeiling,
}

impl Step {
    /// Whether the outcome of this intent is what it waits for.
    pub(super) fn waits_for_action(&self, id: ActionId) -> bool {
        match self {
            Step::Baseline { action }
            | Step::Readying { action }
            | Step::Working { action, .. }
            | Step::Measuring { action, .. }
            | Step::Summarising { action, .. }
            | Step::Compacting { action }
            | Step::Surveying { action, .. }
            | Step::Inspecting { action, .. }
            | Step::Rechecking { action, .. }
            | Step::HandingOff { action, .. }
            | Step::Offloading { action, .. }
            | Step::Verifying { action } => *action == id,
            _ => false,
        }
    }

    /// Where the handoff under way will lie.
    pub(super) fn path_of_draft(&self) -> Option<&str> {
        match self {
            Step::Composing { path, .. } => Some(path),
            Step::Inspecting { draft, .. }
            | Step::Reviewing { draft, .. }
            | Step::HandingOff { draft, .. } => Some(&draft.path),
            _ => None,
        }
    }

    /// Whether the answer to this question is what it waits for.
    pub(super) fn waits_for_answer(&self, id: RequestId) -> bool {
        match self {
            Step::Scoping { request, .. }
            | Step::Budgeting { request }
            | Step::Sparing { request, .. }
            | Step::Briefing { request, .. }
            | Step::Judging { request, .. }
            | Step::Fitting { request }
            | Step::Composing { request, .. }
            | Step::Reviewing { request, .. }
            | Step::Rereading { request, .. } => *request == id,
            _ => false,
        }
    }
}

impl Pause {
    pub(super) fn choices(self) -> Vec<Choice> {
        match self {
            Pause::Stuck => vec![Choice::Retry, Choice::Skip, Choice::Stop],
            Pause::PhaseCeiling | Pause::RunCeiling => vec![Choice::Raise, Choice::Skip, Choice::Stop],
        }
    }
}

/// An objective and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Goal {
    pub(super) spec: Objective,
    pub(super) status: ObjectiveStatus,
    pub(super) attempts: u32,
    pub(super) by: Option<SessionId>,
    /// What an agent said of it last.
    pub(super) remark: String,
}

/// A phase.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phase {
    pub(super) spec: Spec,
    pub(super) parent: Option<PhaseId>,
    pub(super) depth: u32,
    /// Plan first (D11).
    pub(super) mini_plan: bool,
    pub(super) goals: Vec<Goal>,
    pub(super) step: Step,
    pub(super) session: Option<SessionId>,
    pub(super) sessions: Vec<SessionId>,
    /// Turns for the whole phase; 0 where unlimited.
    pub(super) max_turns: u32,
    /// Turns by sessions that are gone.
    pub(super) turns_before: u32,
    /// Turns that were used when a person granted the phase a fresh start.
    pub(super) turns_forgiven: u32,
    /// Objectives that the newest session finished (A8).
    pub(super) progress: u32,
    pub(super) continuations: u32,
    pub(super) retries: u32,
    pub(super) verifications: u32,
    pub(super) quota_waits: u32,
    pub(super) verified: Option<bool>,
    /// When that was, and the artifact with what the command printed.
    pub(super) verified_at: UnixMs,
    pub(super) verification: String,
    pub(super) findings: String,
    pub(super) facts: WorkspaceFacts,
    /// What was changed when the objectives in focus were first given.
    pub(super) before_focus: (Vec<usize>, WorkspaceFacts),
    /// What was changed when the newest session began.
    pub(super) before_session: WorkspaceFacts,
    pub(super) because: String,
    pub(super) attempts: VecDeque<Attempt>,
    pub(super) decisions: VecDeque<Attempt>,
    pub(super) gotchas: VecDeque<String>,
    /// Records that were dropped for newer ones.
    pub(super) dropped: u32,
    /// What an agent wrote for its successor, and which one.
    pub(super) reported_handoff: Option<(Option<SessionId>, ReportedHandoff)>,
    pub(super) requested: Option<SplitRequest>,
    pub(super) handoffs: Vec<HandoffRow>,
    /// The document of the newest handoff.
    pub(super) document: Text,
    /// Something happened that no handoff tells of yet.
    pub(super) news: bool,
    /// Time passed since the newest handoff in which anybody may have changed the workspace.
    pub(super) aged: bool,
    /// What the newest look at the newest handoff found.
    pub(super) found: Option<Found>,
    pub(super) artifacts: Vec<ArtifactRef>,
    /// Large texts that prompts refer to instead of embedding them (C4).
    pub(super) inputs: Vec<ArtifactRef>,
    pub(super) split: u32,
    pub(super) billed: Billed,
    pub(super) clock: Clock,
    /// How often each ceiling was raised by a person.
    pub(super) raised: u32,
}

impl Phase {
    pub(super) fn new(spec: Spec, parent: Option<PhaseId>, depth: u32, mini_plan: bool) -> Self {
        let goals = spec
            .objectives
            .iter()
            .map(|spec| Goal {
                spec: spec.clone(),
                status: ObjectiveStatus::Open,
                attempts: 0,
                by: None,
                remark: String::new(),
            })
            .collect();
        Self {
            spec,
            parent,
            depth,
            mini_plan,
            goals,
            step: Step::Pending,
            session: None,
            sessions: Vec::new(),
            max_turns: 0,
            turns_before: 0,
            turns_forgiven: 0,
            progress: 0,
            continuations: 0,
            retries: 0,
            verifications: 0,
            quota_waits: 0,
            verified: None,
            verified_at: UnixMs(0),
            verification: String::new(),
            findings: String::new(),
            facts: WorkspaceFacts::default(),
            before_focus: Default::default(),
            before_session: WorkspaceFacts::default(),
            because: String::new(),
            attempts: VecDeque::new(),
            decisions: VecDeque::new(),
            gotchas: VecDeque::new(),
            dropped: 0,
            reported_handoff: None,
            requested: None,
            handoffs: Vec::new(),
            document: Text::default(),
            news: false,
            aged: false,
            found: None,
            artifacts: Vec::new(),
            inputs: Vec::new(),
            split: 0,
            billed: Billed::default(),
            clock: Clock::default(),
            raised: 0,
        }
    }

    /// Takes a place among the phases at work.
    pub(super) fn is_active(&self) -> bool {
        !matches!(self.step, Step::Pending | Step::Paused { .. } | Step::Split | Step::Done | Step::Skipped)
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.step, Step::Done | Step::Skipped)
    }

    pub(super) fn open_goals(&self) -> impl Iterator<Item = (usize, &Goal)> {
        self.goals.iter().enumerate().filter(|(_, g)| g.status != ObjectiveStatus::Done)
    }

    pub(super) fn is_finished(&self) -> bool {
        self.open_goals().next().is_none()
    }

    pub(super) fn done_count(&self) -> u32 {
        (self.goals.len() - self.open_goals().count()) as u32
    }

    /// The objective of the next prompt: one at a time, in the order of the file.
    pub(super) fn next_focus(&self) -> Vec<usize> {
        self.open_goals().map(|(i, _)| i).take(1).collect()
    }

    /// Remembers an artifact; of one that it has already, the newest version.
    pub(super) fn keep(&mut self, artifact: &ArtifactRef) {
        self.artifacts.retain(|known| known.name != artifact.name);
        self.artifacts.push(artifact.clone());
    }

    /// Appends to a list of records, and counts in `dropped` what had to go for it.
    pub(super) fn record<T: PartialEq>(list: &mut VecDeque<T>, entry: T, dropped: &mut u32) {
        if list.contains(&entry) {
            return;
        }
        if list.len() == RECORDS {
            list.pop_front();
            *dropped += 1;
        }
        list.push_back(entry);
    }
}
