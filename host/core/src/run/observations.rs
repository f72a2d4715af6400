//! The questions to a policy: what it gets to see of the state, and no more.

use std::collections::VecDeque;

use crate::action::{Action, sibling_name};
use crate::decision::{Assessment, Staleness};
use crate::ids::{ObjectiveId, RequestId, SessionId};
use crate::input::ReportedHandoff;
use crate::observation::{
    ArtifactView, AssessTrigger, Attributes, BudgetView, BudgetingObservation, ChangedFileView, CommitView,
    CompactionObservation, CompletionObservation, ContextItem, EvidenceKind, GitView, HandoffFinding,
    HandoffObservation, HandoffReference, ObjectiveNote, ObjectiveStatus, ObjectiveView, OccupancyView,
    OffloadingObservation, OmittedCounts, PhaseView, PolicyQuery, PolicyRequest, ProgressView, PromptKind,
    RecoveryObservation, ReportedHandoffView, ReviewObservation, SessionObservation, SessionState,
    SessionView, SplitTrigger, SplittingObservation, TextId, TurnUsage, TurnView, VerificationView,
    WithheldCounts, said,
};
use crate::text::TextBlob;
use crate::view::{HandoffRepair, PhaseOrigin};

use super::Run;
use super::handoff::FACTS;
use super::handoff_state::HandoffCheck;
use super::judgment::Judgment;
use super::large_text::TextReference;
use super::phase::{ObjectiveIndex, Phase};
use super::phase_list::PhaseIndex;
use super::prompt_offload::insert_references;
use super::session::Session;
use super::session_view::unknown_session_view;
use super::text_format::{counted, cut};

/// Files of a handoff observation: as many as fit one screen of a brief several times over.
const CHANGED_FILES: usize = 100;
/// Attempts, decisions, gotchas and patterns of a handoff observation, each, newest last: more than one screen has room for. The
/// facts beside the handoff have all of them.
const RECORDS: usize = 64;
/// Artifacts of a handoff observation, newest first.
const ARTIFACTS: usize = 20;
/// Ids of the objectives beside those of a prompt.
const OTHERS_OPEN: usize = 64;
/// Bytes of each text of a handoff, and how many facts and files of it, when its session is judged.
const HANDOFF_BYTES: usize = 1 << 10;
const HANDOFF_FACTS: usize = 5;

impl Run {
    fn ask(&mut self, p: PhaseIndex, query: PolicyQuery, texts: Vec<TextBlob>) -> RequestId {
        self.last_request_id = self.last_request_id.next();
        let request_id = self.last_request_id;
        self.index.query_opened(request_id, self.phases[p].spec.id.clone(), query.is_at_work());
        let scope = self.scope_of(p, query.capability());
        let facts = self.query_facts(p);
        self.emit(Action::RequestDecision {
            request_id,
            request: PolicyRequest { query, texts, facts },
            scope,
        });
        request_id
    }

    pub(super) fn ask_assessment(
        &mut self,
        p: PhaseIndex,
        occasion: AssessTrigger,
        focus: &[ObjectiveIndex],
    ) -> RequestId {
        let (session, texts) = self.session_observation(p, occasion, focus);
        self.ask(p, PolicyQuery::Exhaustion(Box::new(session)), texts)
    }

    pub(super) fn ask_completion(
        &mut self,
        p: PhaseIndex,
        occasion: AssessTrigger,
        focus: &[ObjectiveIndex],
        assessment: Assessment,
    ) -> RequestId {
        let (session, texts) = self.session_observation(p, occasion, focus);
        self.ask(p, PolicyQuery::Completion(Box::new(CompletionObservation { session, assessment })), texts)
    }

    pub(super) fn ask_recovery(
        &mut self,
        p: PhaseIndex,
        occasion: AssessTrigger,
        focus: &[ObjectiveIndex],
        judgment: &Judgment,
    ) -> RequestId {
        let (session, texts) = self.session_observation(p, occasion, focus);
        let Judgment { assessment, completion, .. } = judgment.clone();
        let others = self.workflow.other_roles(&self.phases[p].spec).map(str::to_owned);
        let observation =
            RecoveryObservation { session, assessment, completion, other_roles: Some(others.collect()) };
        self.ask(p, PolicyQuery::Recovery(Box::new(observation)), texts)
    }

    /// A session as it is now, and the texts that go with it.
    pub(super) fn session_observation(
        &self,
        p: PhaseIndex,
        occasion: AssessTrigger,
        focus: &[ObjectiveIndex],
    ) -> (SessionObservation, Vec<TextBlob>) {
        let (signals, window) =
            self.session(p).map(|session| session.signals(self.seq, self.now)).unwrap_or_default();
        let phase = &self.phases[p];
        let session = self.session(p);
        let expected: Vec<&String> = focus.iter().flat_map(|g| &phase.objectives[*g].spec.files).collect();
        let missing = phase.measurements.facts.missing.iter().filter(|path| expected.contains(path)).count();
        let observation = SessionObservation {
            occasion,
            session: self.session_view(p),
            phase: self.checked_phase_view(p),
            signals,
            window: TextId(0),
            answer_bytes: session.map_or(0, |s| s.answer_bytes),
            files_changed: phase.changed_for(&phase.prompted_among(focus)),
            phase_files_changed: phase.measurements.files_changed(),
            files_missing: missing as u32,
            objectives: focus.iter().map(|g| self.checked_objective_view(p, *g)).collect(),
            others_open: phase.other_open_objectives(focus).take(OTHERS_OPEN).cloned().collect(),
            // Who reports all of it as done afterwards has finished what the handoff was about.
            handoff_reported: phase.handoffs.is_reported_by(phase.session.as_ref())
                && (phase.handoffs.is_latest_report || !phase.is_finished()),
            handoff: phase
                .handoffs
                .reported_by(phase.session.as_ref())
                .filter(|_| phase.handoffs.is_latest_report)
                .map(handoff_excerpt),
            nudges: session.map_or(0, |s| s.nudges),
            asked_at_ms: self.now,
            utc_offset_minutes: self.utc_offset_minutes,
            git: GitView::of(&phase.measurements.facts.git),
            split_request: phase.split.request.clone(),
            review_missing: phase.lineage.origin == PhaseOrigin::Review && phase.review.submitted.is_none(),
            report_not_taken: phase.assessment.refused_report_this_session.clone(),
            imported: self.workflow.imported.is_some(),
            attributes: Attributes::new(),
        };
        (observation, vec![TextBlob::new(window)])
    }

    pub(super) fn ask_compaction(&mut self, p: PhaseIndex) -> RequestId {
        let observation = CompactionObservation {
            session: self.session_view(p),
            phase: self.phase_view(p),
            refilled_within_turns: self.session(p).and_then(|s| counted(s.refilled_within_turns)),
            attributes: Attributes::new(),
        };
        self.ask(p, PolicyQuery::Compaction(Box::new(observation)), Vec::new())
    }

    /// `items` are what could be replaced by references.
    pub(super) fn ask_offloading(&mut self, p: PhaseIndex, items: Vec<ContextItem>) -> RequestId {
        let observation = OffloadingObservation {
            session: self.session_view(p),
            phase: self.phase_view(p),
            items,
            attributes: Attributes::new(),
        };
        self.ask(p, PolicyQuery::Offloading(Box::new(observation)), Vec::new())
    }

    pub(super) fn ask_split(&mut self, p: PhaseIndex, occasion: SplitTrigger) -> RequestId {
        let observation = self.splitting_observation(p, occasion);
        self.ask(p, PolicyQuery::Splitting(Box::new(observation)), Vec::new())
    }

    /// `spent` is what came of the turns that it has had, where they are used up.
    pub(super) fn ask_budget(&mut self, p: PhaseIndex, base: u32, spent: Option<TurnUsage>) -> RequestId {
        let phase = &self.phases[p];
        let observation = BudgetingObservation {
            phase: self.phase_view(p),
            role: phase.spec.role.to_string(),
            objectives: self.objective_views(p, &[]),
            workspace_files: phase.measurements.facts.files,
            base_turns: counted(base),
            spent,
            attributes: Attributes::new(),
        };
        self.ask(p, PolicyQuery::Budgeting(Box::new(observation)), Vec::new())
    }

    /// `references` stand for what is not embedded.
    pub(super) fn ask_prompt(
        &mut self,
        p: PhaseIndex,
        kind: PromptKind,
        focus: &[ObjectiveIndex],
        references: &[TextReference],
    ) -> RequestId {
        let (mut observation, mut texts) = self.prompt_observation(p, kind, focus);
        insert_references(&mut observation, &mut texts, references);
        self.ask(p, PolicyQuery::Prompting(Box::new(observation)), texts)
    }

    pub(super) fn prompt_observation(
        &self,
        p: PhaseIndex,
        kind: PromptKind,
        focus: &[ObjectiveIndex],
    ) -> (HandoffObservation, Vec<TextBlob>) {
        let (mut observation, mut texts) = self.handoff_observation(p, kind, focus);
        let newest = self.phases[p].handoffs.newest();
        // A prompt is not reviewed: what was kept out of the handoff must not reach the successor by it.
        if newest.is_some_and(|handoff| handoff.repair != HandoffRepair::None) && kind != PromptKind::Nudged {
            strip_untrusted_text(&mut observation);
            texts.clear();
        }
        (observation, texts)
    }

    /// `withheld` keeps the words of agents and tools out of it: a document with them was refused.
    pub(super) fn ask_composition(&mut self, p: PhaseIndex, path: &str, withheld: bool) -> RequestId {
        let focus = self.phases[p].next_focus();
        let (mut observation, mut texts) = self.handoff_observation(p, PromptKind::Continuing, &focus);
        observation.facts_path = Some(sibling_name(path, FACTS));
        if withheld {
            strip_untrusted_text(&mut observation);
            texts.clear();
        }
        self.ask(p, PolicyQuery::Handoff(Box::new(observation)), texts)
    }

    pub(super) fn ask_review(
        &mut self,
        p: PhaseIndex,
        document: &TextBlob,
        found: &HandoffCheck,
    ) -> RequestId {
        let observation = ReviewObservation {
            document: TextId(0),
            missing_files: found.missing_files.clone(),
            secrets: found.secrets.clone(),
            commits_since: found.commits_since,
            diverged: found.diverged,
            open_objectives: self.remaining(p),
            attributes: Attributes::new(),
        };
        self.ask(p, PolicyQuery::Review(Box::new(observation)), vec![document.clone()])
    }

    fn session_view(&self, p: PhaseIndex) -> SessionView {
        match self.session(p) {
            Some(session) => {
                let active_ms =
                    self.phases[p].usage.clock.at(self.now).0.0.saturating_sub(session.active_before.0);
                session.view(self.now, active_ms)
            }
            None => SessionView {
                occupancy: OccupancyView {
                    window_tokens: self.workflow.role_of(&self.phases[p].spec).window_tokens,
                    ..Default::default()
                },
                max_turns: counted(self.phases[p].turns.max),
                ..unknown_session_view(
                    self.workflow.role_of(&self.phases[p].spec).agent.name(),
                    self.phases[p].spec.role.as_str(),
                    SessionState::Starting,
                )
            },
        }
    }

    pub(super) fn phase_view(&self, p: PhaseIndex) -> PhaseView {
        let phase = &self.phases[p];
        let count = |status| phase.objectives.iter().filter(|g| g.status == status).count() as u32;
        let (done, failed) = (count(ObjectiveStatus::Done), count(ObjectiveStatus::Failed));
        PhaseView {
            id: phase.spec.id.clone(),
            title: phase.spec.title.clone(),
            mode: self.workflow.mode.name().to_owned(),
            depth: phase.lineage.depth,
            budget: BudgetView {
                turns: counted(phase.turns.in_all()),
                turns_used: self.turns_used(p),
                continuations: self.continuations_allowed(p),
                continuations_used: phase.succession.continuations,
                retries: self.workflow.limits.retries,
                retries_used: phase.succession.retries_used(phase.done_count()),
            },
            progress: ProgressView {
                done,
                open: phase.objectives.len() as u32 - done - failed,
                failed,
                done_by_session: self.session(p).map_or(0, |s| s.done),
            },
            expects_files: self.expects_files(p),
            accept: self.workflow.accept.map(EvidenceKind::from),
            check: phase.spec.verify.clone(),
            check_passed: phase.verification.passed,
            depends_on: phase.spec.depends_on.len() as u32,
            origin: phase.lineage.origin.into(),
            complex: phase.spec.complex,
            iteration: self.iteration(p),
            tree: (!phase.tree.is_workspace()).then(|| phase.tree.to_string()),
        }
    }

    /// A reviewer sees what the phase that it looks at was to do, beside its own objective.
    /// What became of their files is said of those in focus: a phase may have many objectives, each with many files.
    fn objective_views(&self, p: PhaseIndex, focus: &[ObjectiveIndex]) -> Vec<ObjectiveView> {
        let objectives = |p: PhaseIndex| self.phases[p].objectives.indices().map(move |g| (p, g));
        objectives(p)
            .chain(self.reviewed_phase(p).into_iter().flat_map(objectives))
            .map(|(q, g)| {
                let view = self.objective_view(q, g);
                let is_in_focus = q == p && focus.contains(&g);
                if is_in_focus { view } else { ObjectiveView { expected_files: Vec::new(), ..view } }
            })
            .collect()
    }

    /// The phase that this one reviews.
    fn reviewed_phase(&self, p: PhaseIndex) -> Option<PhaseIndex> {
        let phase = &self.phases[p];
        let parent = phase.lineage.parent.as_ref().filter(|_| phase.lineage.origin == PhaseOrigin::Review)?;
        self.phase_index(parent)
    }

    fn splitting_observation(&self, p: PhaseIndex, occasion: SplitTrigger) -> SplittingObservation {
        let phase = &self.phases[p];
        let session = self.session(p);
        let recent: Vec<TurnView> = session.map(|s| s.recent.iter().copied().collect()).unwrap_or_default();
        let all: Vec<ObjectiveIndex> = phase.objectives.indices().collect();
        SplittingObservation {
            occasion,
            phase: self.phase_view(p),
            objectives: self.objective_views(p, &all),
            requested: phase.split.request.clone(),
            limits: self.split_limits(),
            wish: phase.spec.split,
            files_changed: phase.measurements.files_changed(),
            workspace_files: phase.measurements.facts.files,
            recent,
            window_tokens: session
                .and_then(|s| s.window_tokens)
                .or(self.workflow.role_of(&self.phases[p].spec).window_tokens),
            git: GitView::of(&phase.measurements.facts.git),
            attributes: Attributes::new(),
        }
    }

    /// Its session; one that has not spoken yet has a predecessor, maybe in the phase that it was split from.
    pub(super) fn last_prompted_session(&self, p: PhaseIndex) -> Option<&Session> {
        self.session(p).filter(|session| session.prompts > 0).or_else(|| {
            let phase = &self.phases[p];
            let inherited = || Some(&phase.handoffs.inherited.as_ref()?.session);
            let before = phase.sessions.iter().rev().nth(1).or_else(inherited)?;
            self.sessions.get(before)
        })
    }

    fn handoff_observation(
        &self,
        p: PhaseIndex,
        kind: PromptKind,
        focus: &[ObjectiveIndex],
    ) -> (HandoffObservation, Vec<TextBlob>) {
        let phase = &self.phases[p];
        // What a reviewer looks at is what another phase has changed, and how that was verified.
        let work = self.reviewed_phase(p).map_or(phase, |reviewed| &self.phases[reviewed]);
        let newest = phase.handoffs.newest();
        let last_output = self.last_prompted_session(p);
        let quoted =
            [last_output.map_or("", |s| s.answer_tail.as_str()), work.verification.findings.as_str()];
        let [last_output, findings] = assign_text_ids(quoted);
        let objectives = self.objective_views(p, focus);
        let focus: Vec<ObjectiveId> = focus.iter().map(|g| phase.objectives[*g].spec.id.clone()).collect();
        let observation = HandoffObservation {
            kind,
            phase: self.phase_view(p),
            session: self.session_view(p),
            objectives,
            focus,
            goal: self.workflow.goal.clone(),
            changed_files: work
                .changed_files()
                .take(CHANGED_FILES)
                .map(|file| ChangedFileView {
                    path: file.path.clone(),
                    bytes: file.bytes,
                    exists: file.exists,
                    by_session: work.measurements.facts.changed.contains(file)
                        && !phase.measurements.session_baseline.changed.contains(file),
                    digest: file.digest.clone(),
                })
                .collect(),
            attempts: newest_of(&phase.records.attempts),
            decisions: newest_of(&phase.records.decisions),
            artifacts: phase
                .artifacts
                .kept
                .iter()
                .rev()
                .take(ARTIFACTS)
                .map(|a| ArtifactView {
                    name: a.name.clone(),
                    version: a.version,
                    summary: a.summary.clone(),
                })
                .collect(),
            newest_handoff: newest_handoff(phase),
            inbox_path: format!("{}/inbox", self.task_folder),
            because: said(phase.succession.end_cause.agent_text()).filter(|_| kind != PromptKind::First),
            last_output,
            findings,
            git: GitView::of(&phase.measurements.facts.git),
            asked_at_ms: self.now,
            gotchas: newest_of(&phase.records.gotchas),
            patterns: newest_of(&phase.records.patterns),
            commands: phase.records.activity.commands(),
            reads: phase.records.activity.reads(),
            lessons: self.lessons(p),
            entry_points: self.entry_points(p),
            context_files: phase.spec.context.clone(),
            reported: phase.handoffs.reported.as_ref().map(reported_view),
            commits: phase
                .measurements
                .facts
                .git
                .commits
                .iter()
                .map(|commit| CommitView {
                    id: commit.id.clone(),
                    subject: commit.subject.clone(),
                    by_session: !phase.measurements.session_baseline.git.commits.contains(commit),
                })
                .collect(),
            // A loop that is walked again begins with what the last walk failed of.
            verification: work
                .verification
                .passed
                .or((!work.verification.findings.is_empty()).then_some(false))
                .map(|passed| VerificationView {
                    passed,
                    ended_at_ms: work.verification.at,
                    artifact: said(&work.verification.log),
                }),
            remarks: phase
                .objectives
                .iter()
                .filter(|objective| !objective.remark.is_empty())
                .map(|objective| ObjectiveNote {
                    objective: objective.spec.id.clone(),
                    text: objective.remark.clone(),
                })
                .collect(),
            facts_path: newest.and_then(|h| said(&h.facts)),
            beyond: beyond(phase),
            words_withheld: None,
            plans_first: phase.lineage.mini_plan,
            as_lead: self.session(p).is_some_and(|session| session.lead),
            compacted: self.session(p).is_some_and(|session| session.lost_context),
            reports_as: self.reports_as(p),
            result_file: self.own_result_file(p),
            result_files: self.result_files(p),
            conflict: self.conflict(p),
            attributes: Attributes::new(),
        };
        (observation, quoted.into_iter().filter(|text| !text.is_empty()).map(TextBlob::new).collect())
    }
}

fn reported_view((session, handoff): &(Option<SessionId>, ReportedHandoff)) -> ReportedHandoffView {
    ReportedHandoffView {
        session: session.as_ref().map(ToString::to_string),
        current_state: handoff.current_state.clone(),
        immediate_next_action: handoff.immediate_next_action.clone(),
        critical_context: handoff.critical_context.clone(),
        critical_files: handoff.critical_files.clone(),
    }
}

/// As much of a handoff as says what it leaves: it is asked about with every prompt that ends.
fn handoff_excerpt(reported: &(Option<SessionId>, ReportedHandoff)) -> ReportedHandoffView {
    let mut view = reported_view(reported);
    cut(&mut view.current_state, HANDOFF_BYTES);
    cut(&mut view.immediate_next_action, HANDOFF_BYTES);
    view.critical_context.truncate(HANDOFF_FACTS);
    view.critical_context.iter_mut().for_each(|fact| cut(fact, HANDOFF_BYTES));
    view.critical_files.truncate(HANDOFF_FACTS);
    view
}

/// The places in a question of those texts that say something, which alone go with it.
fn assign_text_ids<const N: usize>(texts: [&str; N]) -> [Option<TextId>; N] {
    let mut next = 0;
    texts.map(|text| {
        (!text.is_empty()).then(|| {
            next += 1;
            TextId(next - 1)
        })
    })
}

fn newest_of<T: Clone>(records: &VecDeque<T>) -> Vec<T> {
    records.iter().skip(records.len().saturating_sub(RECORDS)).cloned().collect()
}

/// How many records a question has no room for.
fn beyond(phase: &Phase) -> OmittedCounts {
    let more = |count: usize, listed: usize| count.saturating_sub(listed) as u32;
    let changed_beyond = phase.measurements.facts.changed_beyond
        + phase.handoffs.inherited.as_ref().map_or(0, |inherited| inherited.changed_beyond);
    OmittedCounts {
        changed_files: more(phase.changed_files().count() + changed_beyond as usize, CHANGED_FILES),
        attempts: more(phase.records.attempts.len(), RECORDS),
        decisions: more(phase.records.decisions.len(), RECORDS),
        gotchas: more(phase.records.gotchas.len(), RECORDS),
        patterns: more(phase.records.patterns.len(), RECORDS),
    }
}

/// The newest handoff, and how old it is (C9).
fn newest_handoff(phase: &Phase) -> Option<HandoffReference> {
    let newest = phase.handoffs.newest()?;
    Some(HandoffReference {
        path: newest.path.clone(),
        staleness: newest.review.as_ref().map_or(Staleness::Fresh, |review| review.staleness),
        found: phase.handoffs.check.as_ref().map(|found| HandoffFinding {
            commits_since: found.commits_since,
            missing_files: found.missing_files.len() as u32,
            diverged: found.diverged,
        }),
    })
}

/// Takes out what agents and tools wrote, and says so; what is left are facts of the host, and no texts.
fn strip_untrusted_text(o: &mut HandoffObservation) {
    o.words_withheld = Some(WithheldCounts {
        attempts: o.attempts.len() as u32,
        decisions: o.decisions.len() as u32,
        gotchas: o.gotchas.len() as u32,
        patterns: o.patterns.len() as u32,
        commands: o.commands.len() as u32,
        reads: o.reads.len() as u32,
    });
    o.attempts.clear();
    o.decisions.clear();
    o.gotchas.clear();
    o.patterns.clear();
    o.commands.clear();
    o.reads.clear();
    o.remarks.clear();
    o.lessons.clear();
    o.reported = None;
    for commit in &mut o.commits {
        commit.subject.clear();
    }
    for artifact in &mut o.artifacts {
        artifact.summary.clear();
    }
    o.because = None;
    o.last_output = None;
    o.findings = None;
}
