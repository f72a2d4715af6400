//! The questions to a policy: what it gets to see of the state, and no more.

use crate::action::Action;
use crate::ids::{ObjectiveId, RequestId};
use crate::observation::ArtifactView;
use crate::observation::{
    Ask, Attributes, BriefKind, BudgetView, ChangedFileView, CompactionObservation, ExhaustionObservation,
    HandoffObservation, ObjectiveStatus, ObjectiveView, Occasion, OccupancyView, PhaseView, ProgressView,
    Question, SessionState, SessionView, SplitOccasion, SplittingObservation, TextId, TurnView,
};
use crate::text::Text;

use super::Run;

/// Files of a handoff observation: as many as fit one screen of a brief several times over.
const CHANGED_FILES: usize = 100;
/// Artifacts of a handoff observation, newest first.
const ARTIFACTS: usize = 20;

impl Run {
    fn ask(&mut self, ask: Ask, texts: Vec<Text>) -> RequestId {
        self.requests = self.requests.next();
        let request = self.requests;
        self.emit(Action::RequestDecision { request, question: Question { ask, texts } });
        request
    }

    pub(super) fn ask_assessment(&mut self, p: usize, occasion: Occasion, focus: &[usize]) -> RequestId {
        let (signals, window) =
            self.session(p).map(|session| session.signals(self.seq, self.now)).unwrap_or_default();
        let phase = &self.phases[p];
        let session = self.session(p);
        let expected: Vec<&String> = focus.iter().flat_map(|g| &phase.goals[*g].spec.files).collect();
        let missing = phase.facts.missing.iter().filter(|path| expected.contains(path)).count();
        let observation = ExhaustionObservation {
            occasion,
            session: self.session_view(p),
            phase: self.phase_view(p),
            signals,
            window: TextId(0),
            answer_bytes: session.map_or(0, |s| s.answer_bytes),
            files_changed: phase.facts.changed_since(&phase.before_focus.1),
            files_missing: missing as u32,
            nudges: session.map_or(0, |s| s.nudges),
            now_ms: self.now,
            utc_offset_minutes: self.utc_offset_minutes,
            git: phase.facts.git.clone(),
            attributes: self.attributes(p),
        };
        self.ask(Ask::Assess(Box::new(observation)), vec![Text::new(window)])
    }

    pub(super) fn ask_compaction(&mut self, p: usize) -> RequestId {
        let observation = CompactionObservation {
            session: self.session_view(p),
            phase: self.phase_view(p),
            refilled_within_turns: self.session(p).map_or(0, |s| s.refilled_within_turns),
            items: Vec::new(),
            attributes: self.attributes(p),
        };
        self.ask(Ask::Compaction(Box::new(observation)), Vec::new())
    }

    pub(super) fn ask_split(&mut self, p: usize, occasion: SplitOccasion) -> RequestId {
        let observation = self.scope_view(p, occasion);
        self.ask(Ask::Split(Box::new(observation)), Vec::new())
    }

    pub(super) fn ask_budget(&mut self, p: usize, base: u32) -> RequestId {
        let observation = self.scope_view(p, SplitOccasion::PhaseStart);
        self.ask(Ask::Budget(Box::new(observation), base), Vec::new())
    }

    pub(super) fn ask_brief(&mut self, p: usize, kind: BriefKind, focus: &[usize]) -> RequestId {
        let (observation, texts) = self.handoff_view(p, kind, focus);
        self.ask(Ask::Brief(Box::new(observation)), texts)
    }

    pub(super) fn ask_composition(&mut self, p: usize) -> RequestId {
        let focus = self.phases[p].next_focus();
        let (observation, texts) = self.handoff_view(p, BriefKind::Continuing, &focus);
        self.ask(Ask::Compose(Box::new(observation)), texts)
    }

    fn session_view(&self, p: usize) -> SessionView {
        match self.session(p) {
            Some(session) => {
                let active_ms = self.phases[p].clock.active.0.saturating_sub(session.active.0);
                session.view(self.now, active_ms)
            }
            None => SessionView {
                agent: self.workflow.role_of(&self.phases[p].spec).agent.name().to_owned(),
                role: self.phases[p].spec.role.to_string(),
                state: SessionState::Starting,
                capabilities: Default::default(),
                occupancy: OccupancyView {
                    window_tokens: self.workflow.role_of(&self.phases[p].spec).window_tokens,
                    ..Default::default()
                },
                continuation: 0,
                prompts: 0,
                turns: 0,
                max_turns: self.phases[p].max_turns,
                compactions: 0,
                turns_since_compaction: 0,
                billed_input_tokens: 0,
                billed_output_tokens: 0,
                idle_ms: 0,
                active_ms: 0,
                exit: None,
                recent: Vec::new(),
            },
        }
    }

    fn phase_view(&self, p: usize) -> PhaseView {
        let phase = &self.phases[p];
        let count = |status| phase.goals.iter().filter(|g| g.status == status).count() as u32;
        let (done, failed) = (count(ObjectiveStatus::Done), count(ObjectiveStatus::Failed));
        PhaseView {
            id: phase.spec.id.clone(),
            title: phase.spec.title.clone(),
            mode: self.workflow.mode.name().to_owned(),
            depth: phase.depth,
            budget: BudgetView {
                turns: phase.max_turns,
                turns_used: self.turns_used(p),
                continuations: self.continuations_allowed(p),
                continuations_used: phase.continuations,
                retries: self.workflow.limits.retries,
                retries_used: phase.retries,
            },
            progress: ProgressView {
                done,
                open: phase.goals.len() as u32 - done - failed,
                failed,
                done_by_session: self.session(p).map_or(0, |s| s.done),
            },
            expects_files: phase.goals.iter().any(|g| !g.spec.files.is_empty()),
        }
    }

    fn objective_views(&self, p: usize) -> Vec<ObjectiveView> {
        self.phases[p]
            .goals
            .iter()
            .map(|goal| ObjectiveView {
                id: goal.spec.id.clone(),
                description: goal.spec.description.clone(),
                status: goal.status,
                attempts: goal.attempts,
                files: goal.spec.files.len() as u32,
            })
            .collect()
    }

    fn scope_view(&self, p: usize, occasion: SplitOccasion) -> SplittingObservation {
        let phase = &self.phases[p];
        let session = self.session(p);
        let recent: Vec<TurnView> = session.map(|s| s.recent.iter().copied().collect()).unwrap_or_default();
        SplittingObservation {
            occasion,
            phase: self.phase_view(p),
            objectives: self.objective_views(p),
            requested: phase.requested.clone(),
            files_changed: phase.facts.changed.len() as u32 + phase.facts.changed_beyond,
            workspace_files: phase.facts.files,
            recent,
            window_tokens: session
                .and_then(|s| s.window_tokens)
                .or(self.workflow.role_of(&self.phases[p].spec).window_tokens),
            git: phase.facts.git.clone(),
            attributes: self.attributes(p),
        }
    }

    fn handoff_view(&self, p: usize, kind: BriefKind, focus: &[usize]) -> (HandoffObservation, Vec<Text>) {
        let phase = &self.phases[p];
        let newest = phase.handoffs.last();
        let last_output = self.session(p).filter(|s| s.prompts > 0).or_else(|| {
            // A session that has not spoken yet: what its predecessor said last.
            let before = phase.sessions.iter().rev().nth(1)?;
            self.sessions.get(before)
        });
        let last_output = last_output.map_or("", |s| s.answer_tail.as_str());
        let focus: Vec<ObjectiveId> = focus.iter().map(|g| phase.goals[*g].spec.id.clone()).collect();
        let observation = HandoffObservation {
            kind,
            phase: self.phase_view(p),
            session: self.session_view(p),
            objectives: self.objective_views(p),
            focus,
            goal: self.workflow.goal.clone(),
            changed_files: phase
                .facts
                .changed
                .iter()
                .take(CHANGED_FILES)
                .map(|file| ChangedFileView {
                    path: file.path.clone(),
                    bytes: file.bytes,
                    exists: file.exists,
                    by_session: !phase.before_session.changed.contains(file),
                })
                .collect(),
            attempts: phase.attempts.iter().cloned().collect(),
            decisions: phase.decisions.iter().cloned().collect(),
            artifacts: phase
                .artifacts
                .iter()
                .rev()
                .take(ARTIFACTS)
                .map(|a| ArtifactView {
                    name: a.name.clone(),
                    version: a.version,
                    summary: a.summary.clone(),
                })
                .collect(),
            handoff_path: newest.map(|h| h.path.clone()).unwrap_or_default(),
            inbox_path: format!("{}/inbox", self.task_folder),
            because: if kind == BriefKind::First { String::new() } else { phase.because.clone() },
            last_output: TextId(0),
            findings: TextId(1),
            git: phase.facts.git.clone(),
            now: self.now.rfc3339(),
            attributes: self.attributes(p),
        };
        (observation, vec![Text::new(last_output), Text::new(phase.findings.as_str())])
    }

    fn attributes(&self, p: usize) -> Attributes {
        let phase = &self.phases[p];
        let mut attributes = Attributes::new();
        if phase.spec.complex {
            attributes.push(("complex".to_owned(), "true".to_owned()));
        }
        if phase.mini_plan {
            attributes.push(("order".to_owned(), "mini-plan".to_owned()));
        }
        attributes
    }
}
