//! The state of one phase: its objectives, its counters, and where it works. The step it is in is `step.rs`;
//! transitions are in the files beside.

use std::collections::{BTreeSet, VecDeque};

use crate::decision::SubPhase;
use crate::facts::{ChangedFile, TokenUsage, WorkspaceFacts};
use crate::ids::{ActionId, Digest, PhaseId, SessionId};
use crate::input::{ArtifactRef, ReportedHandoff};
use crate::observation::{Attempt, EvidenceKind, ObjectiveStatus, PastWait, SplitRequestView};
use crate::text::TextBlob;
use crate::time::UnixMs;
use crate::view::{HandoffSummary, PhaseOrigin};
use crate::workflow::{Objective, PhaseSpec};
use crate::worktree::WorktreeName;

use super::accepted_files::AcceptedFiles;
use super::active_split::ActiveSplit;
use super::claim_status::ClaimStatus;
use super::committed_work::CommittedWork;
use super::dispute_record::Dispute;
use super::end_cause::EndCause;
use super::handoff_state::HandoffCheck;
use super::past_measurements::PastMeasurements;
use super::phase_activity::PhaseActivity;
use super::review_score::ReviewScore;
use super::step::PhaseStep;
use super::stopwatch::Stopwatch;
use super::successor_reason::SuccessorReason;
use super::text_format::cut;
use super::turn_grant::TurnGrant;

/// Attempts, decisions, gotchas and patterns of a phase that are kept, each. All of them reach the facts beside a handoff; a phase
/// that records more has an agent in a loop. The oldest then go first, and are counted: the journal has every one.
const RECORDS: usize = 10_000;
/// All of their words together, for each kind: what no successor could read anyway (D1).
const RECORDS_BYTES: usize = 256 << 10;
/// Artifacts of a phase that the run itself knows: the newest. The store has every one (D1).
const ARTIFACTS: usize = 500;
/// What is said of an artifact is one line; a longer one is cut (D1).
const SUMMARY_BYTES: usize = 300;
/// What was found wrong with a phase, as it goes back to it. All of it is in the artifact (D1).
pub(super) const FINDINGS_BYTES: usize = 16 << 10;

/// An objective and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ObjectiveState {
    pub(super) spec: Objective,
    pub(super) status: ObjectiveStatus,
    pub(super) attempts: u32,
    pub(super) by: Option<SessionId>,
    /// What an agent said of it last.
    pub(super) remark: String,
    /// Its last report of where it stands.
    pub(super) reported: Option<ObjectiveReport>,
    /// It was reported as done, and no prompt of its session was judged since: what else its agent said may take that back.
    pub(super) is_unassessed: bool,
    /// Whether what was said of it was measured since.
    pub(super) claim: ClaimStatus,
    /// It is open since its work was lost.
    pub(super) has_lost_work: bool,
    /// Where it names no file: those that changed during its prompts. All of them at once can be lost.
    pub(super) changed_files: BTreeSet<String>,
    /// What shows that it is done; nothing while it is not.
    pub(super) done_by: Option<EvidenceKind>,
    /// What its phase had changed for it when a person accepted it as it was.
    pub(super) accepted_files: AcceptedFiles,
    /// The policy that judged it to be done, if that is not Baton's.
    pub(super) judged_by: Option<String>,
    /// Whether the last run of a check of it passed.
    pub(super) check_passed: Option<bool>,
    /// When it began, changed and was done.
    pub(super) times: ObjectiveTimes,
}

impl ObjectiveState {
    pub(super) fn new(spec: Objective) -> Self {
        Self {
            spec,
            status: ObjectiveStatus::Open,
            attempts: 0,
            by: None,
            remark: String::new(),
            reported: None,
            is_unassessed: false,
            claim: ClaimStatus::default(),
            has_lost_work: false,
            changed_files: BTreeSet::new(),
            done_by: None,
            accepted_files: AcceptedFiles::default(),
            judged_by: None,
            check_passed: None,
            times: ObjectiveTimes::default(),
        }
    }
}

/// What an agent reported of an objective, and which session did.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ObjectiveReport {
    pub(super) status: ObjectiveStatus,
    pub(super) note: String,
    pub(super) by: Option<SessionId>,
    /// What was changed when the first prompt followed it; nothing while none did, and of a report of done.
    pub(super) before_prompt: Option<Box<WorkspaceFacts>>,
}

/// A command that said that something is not done.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FailedCheck {
    /// Which of the commands of the phase.
    pub(super) check: usize,
    /// The objective that it is about; none where it is that of the phase.
    pub(super) of: Option<usize>,
    /// Its exit code, where it ran to its end.
    pub(super) code: Option<i32>,
    pub(super) findings: String,
}

/// When an objective changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ObjectiveTimes {
    /// An agent was first asked for it, or first reported on it.
    pub(super) started: Option<UnixMs>,
    /// Its status or remark last changed.
    pub(super) updated: Option<UnixMs>,
    /// It was done, while it is.
    pub(super) completed: Option<UnixMs>,
}

impl ObjectiveState {
    /// Changes where it stands.
    pub(super) fn set_status(&mut self, status: ObjectiveStatus, at: UnixMs) {
        if status == self.status {
            return;
        }
        self.status = status;
        self.times.updated = Some(at);
        self.times.completed = (status == ObjectiveStatus::Done).then_some(at);
        if status != ObjectiveStatus::Open {
            self.times.started.get_or_insert(at);
        }
    }

    /// Keeps what an agent says of it, if it says anything.
    pub(super) fn set_remark(&mut self, remark: &str, at: UnixMs) {
        if !remark.is_empty() && remark != self.remark {
            remark.clone_into(&mut self.remark);
            self.times.updated = Some(at);
        }
    }
}

/// What a phase leaves to one of its parts, which goes on from there (C23).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InheritedState {
    /// Its newest handoff; absent where none could be written.
    pub(super) handoff: Option<HandoffSummary>,
    /// Its newest session, whose last words may be quoted.
    pub(super) session: SessionId,
    /// What its sessions changed: in the state that the part starts from it is no change any more.
    pub(super) changed: Vec<ChangedFile>,
    /// How many more there are.
    pub(super) changed_beyond: u32,
}

/// A phase.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phase {
    pub(super) spec: PhaseSpec,
    pub(super) parent: Option<PhaseId>,
    pub(super) origin: PhaseOrigin,
    pub(super) depth: u32,
    /// Where it works.
    pub(super) tree: WorktreeName,
    /// The commit from which its own work tree is still to be made.
    pub(super) branch_from: Option<String>,
    /// Plan first (D11).
    pub(super) mini_plan: bool,
    /// The workflow names no reviewer for it, and it is reviewed all the same (D12).
    pub(super) reviewed_by_default: bool,
    /// What a person said to the question whether it is good enough, for whoever reviews it next.
    pub(super) review_instructions: String,
    /// Its prompt was cut off by the end of the host, and is judged by what its agent had said by then.
    pub(super) prompt_cut_off: bool,
    pub(super) objectives: Vec<ObjectiveState>,
    pub(super) step: PhaseStep,
    pub(super) session: Option<SessionId>,
    pub(super) sessions: Vec<SessionId>,
    /// Turns for the whole phase; 0 where unlimited.
    pub(super) max_turns: u32,
    /// What came of the turns so far.
    pub(super) turn_grant: TurnGrant,
    /// Turns by sessions that are gone.
    pub(super) turns_before: u32,
    /// Turns that were used when a person granted the phase a fresh start.
    pub(super) turns_before_reset: u32,
    /// Objectives that the newest session finished (A8).
    pub(super) objectives_done_by_session: u32,
    pub(super) continuations: u32,
    pub(super) retries: u32,
    /// Objectives that were done at the last of them.
    pub(super) done_at_retry: u32,
    pub(super) verifications: u32,
    pub(super) quota_waits: u32,
    /// Its waits for a provider that are over, oldest first.
    pub(super) past_waits: VecDeque<PastWait>,
    pub(super) verified: Option<bool>,
    /// When that was, and the artifact with what the command printed.
    pub(super) verified_at: UnixMs,
    pub(super) verification: String,
    /// The commit that is verified, reviewed and merged; absent where it has no tree of its own.
    pub(super) commit: Option<String>,
    /// What git ignores in its tree, as far as people were told.
    pub(super) reported_ignored_files: Vec<String>,
    /// Its commands run once more, on what they changed themselves.
    pub(super) checks_repeated: bool,
    pub(super) findings: String,
    /// The commands that failed when they last ran.
    pub(super) failed_checks: Vec<FailedCheck>,
    /// What each of its commands said before any work, where the workflow has them run first.
    pub(super) first_check_results: Vec<bool>,
    pub(super) facts: WorkspaceFacts,
    /// When that was, and what the measurements before it found.
    pub(super) past_measurements: PastMeasurements,
    /// Files that its objectives name and that phases before it have changed.
    pub(super) changed_earlier: BTreeSet<String>,
    /// What was changed when the objectives in focus were first given.
    pub(super) focus_baseline: (Vec<usize>, WorkspaceFacts),
    /// Why a report of its session was not taken, until the session reports something that is, or gets its next prompt.
    pub(super) refused_report_this_prompt: Option<String>,
    /// The same, until the session reports something that is, or another one begins: the policy judges by it.
    pub(super) refused_report_this_session: Option<String>,
    /// Somebody else worked in the same folder since then.
    pub(super) has_company: bool,
    /// What was changed when the newest session began.
    pub(super) session_baseline: WorkspaceFacts,
    /// Its newest session has called a tool that may change files, or runs an agent that does not show its calls. Otherwise what
    /// changed meanwhile is the work of others, such as the user's own edits.
    pub(super) session_may_have_written: bool,
    /// Why its newest session or prompt ended.
    pub(super) end_cause: EndCause,
    /// The policy that judged how its last session ended, if that is not Baton's.
    pub(super) judged_by: Option<String>,
    /// The measuring of what its session left when the host stopped, until it is done.
    pub(super) measure_after_stop: Option<ActionId>,
    /// The objectives that a person is asked about, where nothing shows that they are done.
    pub(super) unproven_objectives: Vec<usize>,
    pub(super) attempts: VecDeque<Attempt>,
    pub(super) decisions: VecDeque<Attempt>,
    pub(super) gotchas: VecDeque<String>,
    pub(super) patterns: VecDeque<String>,
    /// What its agents did, as the host saw it.
    pub(super) activity: PhaseActivity,
    /// Records that were dropped for newer ones.
    pub(super) dropped: u32,
    /// What an agent wrote for its successor, and which one.
    pub(super) reported_handoff: Option<(Option<SessionId>, ReportedHandoff)>,
    /// No objective was reported as done behind it.
    pub(super) handoff_is_latest_report: bool,
    pub(super) split_request: Option<SplitRequestView>,
    /// What of the objectives that the policy is asked about was taken for done when it was asked.
    pub(super) done_when_asked: Vec<usize>,
    /// What was said against its objectives since it was over, until a person is asked.
    pub(super) disputes: Vec<Dispute>,
    pub(super) handoffs: Vec<HandoffSummary>,
    /// What the phase that it was split from left to it, where a session had worked there.
    pub(super) inherited: Option<Box<InheritedState>>,
    /// What the phase left to those after it, once for each walk of its loop (C23). None of its own sessions starts from them.
    pub(super) closing_handoffs: Vec<HandoffSummary>,
    /// The document of the newest handoff.
    pub(super) newest_handoff_text: TextBlob,
    /// Something happened that no handoff tells of yet.
    pub(super) has_unrecorded_progress: bool,
    /// Time passed since the newest handoff in which anybody may have changed the workspace.
    pub(super) handoff_may_be_stale: bool,
    /// What the newest check of the newest handoff found.
    pub(super) handoff_check: Option<HandoffCheck>,
    pub(super) artifacts: Vec<ArtifactRef>,
    /// Result files of parts that exist, for the session that brings them together (C11).
    pub(super) results: Vec<String>,
    /// Address of the newest summary of it that was written (B2).
    pub(super) summarised: Option<Digest>,
    /// Large texts that prompts refer to instead of embedding them (C4).
    pub(super) inputs: Vec<ArtifactRef>,
    /// Sub-phases that it was split into so far.
    pub(super) part_count: u32,
    /// Times that it was split.
    pub(super) split_count: u32,
    /// What it is being split into, until what its session knew is handed off and the state that they start from is kept.
    pub(super) planned_parts: Vec<SubPhase>,
    /// Its parts, in any walk of its loop, whose objectives became its own: it took what they had done.
    pub(super) merged_parts: BTreeSet<PhaseId>,
    /// The split that is not yet brought together.
    pub(super) active_split: Option<ActiveSplit>,
    /// What it was given by its own review.
    pub(super) own_review_score: Option<u32>,
    /// Reviews of it that ended without a score, one after the other.
    pub(super) reviews_without_score: u32,
    /// Reviews of it so far.
    pub(super) reviews: u32,
    /// What it says as a review of another.
    pub(super) submitted_review: Option<ReviewScore>,
    /// Which time the loop walks through it, from 1 (B10).
    pub(super) iteration: u32,
    /// Iterations before a person granted the loop a fresh start.
    pub(super) iterations_before_reset: u32,
    /// Sessions that it had when this iteration began.
    pub(super) sessions_before_iteration: usize,
    pub(super) billed: TokenUsage,
    pub(super) clock: Stopwatch,
    /// How often each ceiling was raised by a person.
    pub(super) ceiling_raises: u32,
    /// What of it is committed in the workspace.
    pub(super) committed_work: CommittedWork,
}

impl Phase {
    /// A phase of the workflow.
    pub(super) fn new(spec: PhaseSpec) -> Self {
        let objectives = spec.objectives.iter().cloned().map(ObjectiveState::new).collect();
        Self {
            spec,
            parent: None,
            origin: PhaseOrigin::Workflow,
            depth: 0,
            tree: WorktreeName::workspace(),
            branch_from: None,
            mini_plan: false,
            reviewed_by_default: false,
            review_instructions: String::new(),
            prompt_cut_off: false,
            objectives,
            step: PhaseStep::Pending,
            session: None,
            sessions: Vec::new(),
            max_turns: 0,
            turn_grant: TurnGrant::default(),
            turns_before: 0,
            turns_before_reset: 0,
            objectives_done_by_session: 0,
            continuations: 0,
            retries: 0,
            done_at_retry: 0,
            verifications: 0,
            quota_waits: 0,
            past_waits: VecDeque::new(),
            verified: None,
            verified_at: UnixMs(0),
            verification: String::new(),
            commit: None,
            reported_ignored_files: Vec::new(),
            checks_repeated: false,
            findings: String::new(),
            failed_checks: Vec::new(),
            first_check_results: Vec::new(),
            changed_earlier: BTreeSet::new(),
            facts: WorkspaceFacts::default(),
            past_measurements: PastMeasurements::default(),
            focus_baseline: Default::default(),
            refused_report_this_prompt: None,
            refused_report_this_session: None,
            has_company: false,
            session_baseline: WorkspaceFacts::default(),
            session_may_have_written: true,
            measure_after_stop: None,
            end_cause: EndCause::default(),
            judged_by: None,
            unproven_objectives: Vec::new(),
            attempts: VecDeque::new(),
            decisions: VecDeque::new(),
            gotchas: VecDeque::new(),
            patterns: VecDeque::new(),
            activity: PhaseActivity::default(),
            dropped: 0,
            reported_handoff: None,
            handoff_is_latest_report: false,
            split_request: None,
            done_when_asked: Vec::new(),
            disputes: Vec::new(),
            handoffs: Vec::new(),
            inherited: None,
            closing_handoffs: Vec::new(),
            newest_handoff_text: TextBlob::default(),
            has_unrecorded_progress: false,
            handoff_may_be_stale: false,
            handoff_check: None,
            artifacts: Vec::new(),
            results: Vec::new(),
            summarised: None,
            inputs: Vec::new(),
            part_count: 0,
            split_count: 0,
            planned_parts: Vec::new(),
            merged_parts: BTreeSet::new(),
            active_split: None,
            own_review_score: None,
            reviews_without_score: 0,
            reviews: 0,
            submitted_review: None,
            iteration: 1,
            iterations_before_reset: 0,
            sessions_before_iteration: 0,
            billed: TokenUsage::default(),
            clock: Stopwatch::default(),
            ceiling_raises: 0,
            committed_work: CommittedWork::default(),
        }
    }

    /// Something goes on in it, or is about to.
    pub(super) fn is_active(&self) -> bool {
        !matches!(
            self.step,
            PhaseStep::Pending
                | PhaseStep::Paused { .. }
                | PhaseStep::Split
                | PhaseStep::UnderReview { .. }
                | PhaseStep::Done
                | PhaseStep::Skipped
        )
    }

    /// Nothing of it is under way until a deadline has passed.
    pub(super) fn waits_for_time(&self) -> bool {
        matches!(self.step, PhaseStep::Quota { .. } | PhaseStep::Backoff { .. } | PhaseStep::ResumePending)
    }

    /// Takes a place among the phases at work.
    pub(super) fn occupies_slot(&self) -> bool {
        self.is_active() && self.step != PhaseStep::ResumePending
    }

    /// The host made it, for its parent.
    pub(super) fn is_made_by_host(&self) -> bool {
        matches!(self.origin, PhaseOrigin::Review | PhaseOrigin::Merge)
    }

    /// Whether a handoff is to be written for it where the host stops: it has news, and none is being written.
    pub(super) fn needs_stop_handoff(&self) -> bool {
        let is_written = matches!(self.step, PhaseStep::HandingOff { .. });
        self.has_unrecorded_progress && !is_written && !self.is_over() && !self.is_made_by_host()
    }

    /// Whether the handoff under way is for the phases after it.
    pub(super) fn is_closing(&self) -> bool {
        matches!(self.step, PhaseStep::HandingOff { then: SuccessorReason::Over, .. })
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.step, PhaseStep::Done | PhaseStep::Skipped)
    }

    pub(super) fn open_objectives(&self) -> impl Iterator<Item = (usize, &ObjectiveState)> {
        self.objectives.iter().enumerate().filter(|(_, g)| !g.is_done())
    }

    /// An agent recorded something that a successor should know.
    pub(super) fn has_records(&self) -> bool {
        let pairs = [&self.attempts, &self.decisions];
        let lines = [&self.gotchas, &self.patterns];
        pairs.iter().any(|list| !list.is_empty()) || lines.iter().any(|list| !list.is_empty())
    }

    /// The handoff that its next session starts from: its own, or that of the phase that it was split from.
    pub(super) fn newest_handoff(&self) -> Option<&HandoffSummary> {
        self.handoffs.last().or_else(|| self.inherited.as_ref()?.handoff.as_ref())
    }

    pub(super) fn newest_handoff_mut(&mut self) -> Option<&mut HandoffSummary> {
        self.handoffs.last_mut().or_else(|| self.inherited.as_mut()?.handoff.as_mut())
    }

    /// Whether a session worked on it before its newest one, in this walk of its loop.
    pub(super) fn is_begun(&self) -> bool {
        let earlier = self.sessions.len() - self.sessions_before_iteration;
        earlier > 1
            || self.inherited.is_some()
            || self.objectives.iter().any(|objective| objective.attempts > 0)
    }

    pub(super) fn is_finished(&self) -> bool {
        self.open_objectives().next().is_none()
    }

    pub(super) fn done_count(&self) -> u32 {
        (self.objectives.len() - self.open_objectives().count()) as u32
    }

    /// Retries since something was last finished. What was reported as done and did not hold is no progress.
    pub(super) fn retries_used(&self) -> u32 {
        if self.done_count() > self.done_at_retry { 0 } else { self.retries }
    }

    /// The objectives of the next prompt: one at a time, in the order of the file. What a check sent back is mended together,
    /// since its findings are about all of it.
    pub(super) fn next_focus(&self) -> Vec<usize> {
        let at_once = if self.verified == Some(false) { self.objectives.len() } else { 1 };
        self.open_objectives().map(|(i, _)| i).take(at_once).collect()
    }

    /// Remembers an artifact; of one that it has already, the newest version.
    pub(super) fn keep(&mut self, artifact: &ArtifactRef) {
        self.artifacts.retain(|known| known.name != artifact.name);
        if self.artifacts.len() == ARTIFACTS {
            self.artifacts.remove(0);
        }
        let mut artifact = artifact.clone();
        cut(&mut artifact.summary, SUMMARY_BYTES);
        self.artifacts.push(artifact);
    }

    /// Appends to a list of records, and counts in `dropped` what had to go for it.
    pub(super) fn record<T: RecordSize>(list: &mut VecDeque<T>, entry: T, dropped: &mut u32) {
        if list.contains(&entry) {
            return;
        }
        let mut bytes = entry.bytes() + list.iter().map(RecordSize::bytes).sum::<usize>();
        while list.len() >= RECORDS || bytes > RECORDS_BYTES {
            let Some(oldest) = list.pop_front() else { break };
            bytes -= oldest.bytes();
            *dropped += 1;
        }
        list.push_back(entry);
    }
}

/// A record, by what it weighs.
pub(super) trait RecordSize: PartialEq {
    fn bytes(&self) -> usize;
}

impl RecordSize for Attempt {
    fn bytes(&self) -> usize {
        self.approach.len() + self.outcome.len()
    }
}

impl RecordSize for String {
    fn bytes(&self) -> usize {
        self.len()
    }
}
