//! Splitting: a policy shapes it, this validates it and gives the letters (D2, D4). Sub-phases stand after their parent
//! and hold its open objectives. How what they made comes together is in `integration.rs`.

use crate::action::Action;
use crate::decision::{SubPhase, WorkStyle};
use crate::decision_rules::validate_split;
use crate::ids::{PhaseId, RoleName};
use crate::input::ActionOutcome;
use crate::observation::SplitLimits;
use crate::progress::ProgressEvent;
use crate::view::PhaseOrigin;
use crate::visible::{has_visible_text, visible_name};
use crate::workflow::{Objective, PhaseSpec, REVIEW_SCORE, REVIEWER, ReviewRequirement};
use crate::worktree::WorktreeName;

use super::Run;
use super::phase::{
    ActiveSplit, InheritedState, LoopPosition, ObjectiveList, ObjectiveReport, ObjectiveState, Phase,
    PhaseHandoffs, PhaseLineage, PhaseTurns, ReviewState, SuccessionState,
};
use super::phase_list::PhaseIndex;
use super::step::{PauseReason, PhaseStep};
use super::successor_reason::SuccessorReason;
use super::text_format::{cut, failure_text, one_line};
use super::turn_budget::MAX_TURN_FACTOR;

/// Bytes of the title of a part, which stands in headings and commit messages.
const TITLE_BYTES: usize = 120;

/// The title of a part: that which a policy gives it, or of a policy that gives none its place; a short line that nothing obeys.
fn title_of(words: &str, n: usize) -> String {
    let mut title = match has_visible_text(words) {
        true => visible_name(&one_line(words)).into_owned(),
        false => format!("part {}", n + 1),
    };
    cut(&mut title, TITLE_BYTES);
    title
}

impl Run {
    /// Every open objective in exactly one part, no other, within depth and fan-out. An error says which rule.
    pub(super) fn check_split(&self, p: PhaseIndex, parts: &[SubPhase]) -> Result<(), String> {
        let phase = &self.phases[p];
        let open = phase.open_objectives().map(|(_, objective)| &objective.spec.id);
        validate_split(&phase.spec.id, phase.lineage.depth, self.split_limits(), open, parts)
    }

    /// What a split may be.
    pub(super) fn split_limits(&self) -> SplitLimits {
        let limits = &self.workflow.limits;
        SplitLimits { parts: limits.split_fan_out, depth: limits.split_depth }
    }

    /// What its session knew is handed off first: its parts continue from there (C23).
    pub(super) fn hand_off_to_parts(&mut self, p: PhaseIndex, parts: Vec<SubPhase>) {
        self.phases[p].split.planned_parts = parts;
        self.start_successor(p, SuccessorReason::Parts);
    }

    /// The handoff is written. What was reported or found missing meanwhile may have changed what is open: then the split is of
    /// yesterday, and a session continues with the whole.
    pub(super) fn resume_split(&mut self, p: PhaseIndex) {
        let parts = std::mem::take(&mut self.phases[p].split.planned_parts);
        match self.check_split(p, &parts) {
            Ok(()) => self.request_checkpoint(p, parts),
            Err(_) => self.start_successor(p, SuccessorReason::Continuation),
        }
    }

    /// The state that the parts start from is kept first: what is there now, committed or not (D3).
    pub(super) fn request_checkpoint(&mut self, p: PhaseIndex, parts: Vec<SubPhase>) {
        let phase = &mut self.phases[p];
        let count = phase.split.begin_checkpoint(&parts);
        let (id, tree) = (phase.spec.id.clone(), phase.tree.clone());
        let integration = WorktreeName::integration(&id, count);
        let action = self.emit(Action::Checkpoint { phase: id, tree, integration });
        self.phases[p].step = PhaseStep::Checkpointing { action, parts };
    }

    pub(super) fn on_checkpointed(&mut self, p: PhaseIndex, parts: &[SubPhase], outcome: &ActionOutcome) {
        match outcome {
            ActionOutcome::Checkpointed { base } => self.fork(p, parts, base.as_ref()),
            other => {
                self.phases[p].split.forget_checkpoint();
                let id = &self.phases[p].spec.id;
                let text = format!("Phase {id} cannot be split: {}", failure_text(other));
                self.pause(p, PauseReason::Blocked, text);
            }
        }
    }

    fn fork(&mut self, p: PhaseIndex, parts: &[SubPhase], base: Option<&String>) {
        let base_turns = self.base_turns(p);
        let phase = &mut self.phases[p];
        phase.split.planned_parts.clear();
        // What comes together may need mending, by a session of this phase.
        if phase.turns.max == 0 {
            phase.grant_turns(base_turns);
        }
        let parent = self.phases[p].clone();
        let inherited = parent.inherited_state(base);
        let author = parent.session.clone();
        let reported = parent.handoffs.reported.clone().map(|(by, handoff)| (by.or(author), handoff));
        let mut forked = Vec::new();
        for (n, part) in parts.iter().enumerate() {
            let id =
                sub_phase_id(&parent.spec.id, parent.lineage.depth, parent.split.part_count as usize + n);
            let states =
                parent.objectives.iter().filter(|objective| part.objectives.contains(&objective.spec.id));
            let states: ObjectiveList = states.map(ObjectiveState::reopened_for_part).collect();
            let objectives: Vec<Objective> = states.iter().map(|objective| objective.spec.clone()).collect();
            let (review, is_default) = self.review_of_part(&parent, &objectives);
            let spec = PhaseSpec {
                id: id.clone(),
                title: title_of(&part.title, n),
                depends_on: Vec::new(),
                // A part is held to the commands of its own objectives and to its review. The phase's command is about the whole:
                // it is run once the parts are together.
                verify: None,
                review,
                repeat: None,
                objectives,
                ..parent.spec.clone()
            };
            let mut phase = Phase {
                lineage: PhaseLineage {
                    mini_plan: part.order == WorkStyle::MiniPlan,
                    branch_from: base.cloned(),
                    ..parent.lineage.below(parent.spec.id.clone(), PhaseOrigin::Split)
                },
                review: ReviewState { is_default, ..ReviewState::default() },
                turns: PhaseTurns {
                    max: part.max_turns.unwrap_or(0).min(base_turns.saturating_mul(MAX_TURN_FACTOR)),
                    ..PhaseTurns::default()
                },
                tree: base.map_or_else(|| parent.tree.clone(), |_| WorktreeName::for_phase(&id)),
                records: parent.records.for_part(),
                handoffs: PhaseHandoffs {
                    inherited: inherited.clone(),
                    reported: reported.clone(),
                    newest_text: parent.handoffs.newest_text.clone(),
                    ..PhaseHandoffs::default()
                },
                succession: SuccessionState {
                    end_cause: parent.succession.end_cause.clone(),
                    ..SuccessionState::default()
                },
                loop_position: LoopPosition {
                    iteration: parent.loop_position.iteration,
                    ..LoopPosition::first()
                },
                objectives: states,
                ..Phase::new(spec)
            };
            // What it inherits is in no handoff of its own yet: its first session leaves one, however early it ends.
            phase.handoffs.has_unrecorded_progress = phase.records.has_any();
            forked.push(phase);
        }
        self.notify(ProgressEvent::Split {
            phase: parent.spec.id.clone(),
            sub_phases: forked
                .iter()
                .map(|phase| (phase.spec.id.clone(), phase.spec.title.clone()))
                .collect(),
            objectives: parent.open_objectives().count() as u32,
            reason: parent.succession.end_cause.user_text().to_owned(),
            at_once: self.max_parallel_parts(&parent).min(parts.len() as u32),
        });
        let phase = &mut self.phases[p];
        let mut split = ActiveSplit::new(
            base.cloned(),
            parent.tree.clone(),
            forked.iter().map(|phase| phase.spec.id.clone()).collect(),
        );
        split.sessions_at_checkout = phase.sessions.len();
        phase.split.begin(split);
        if base.is_some() {
            phase.tree = WorktreeName::integration(&parent.spec.id, parent.split.count);
        }
        phase.step = PhaseStep::Split;
        self.insert_sub_phases(p, forked);
    }

    /// The review that the workflow does not ask for by name.
    pub(super) fn default_review(&self, spec: &PhaseSpec) -> ReviewRequirement {
        let reviewer = RoleName::from(REVIEWER);
        let is_role = self.workflow.roles.contains_key(&reviewer);
        let role = if is_role { reviewer } else { spec.role.clone() };
        ReviewRequirement { role, score: REVIEW_SCORE }
    }

    /// Who looks at a part before it is merged, and whether that is the default (D12). The review of the phase looks at every part.
    /// Where the phase has none, a reviewer looks at a part with an objective that no command of its own checks.
    fn review_of_part(&self, parent: &Phase, objectives: &[Objective]) -> (Option<ReviewRequirement>, bool) {
        let of_phase = parent.spec.review.clone().filter(|_| !parent.review.is_default);
        let is_checked = objectives.iter().all(|objective| objective.verify.is_some());
        match (of_phase, self.workflow.review_parts) {
            (_, Some(false)) => (None, false),
            (Some(review), _) => (Some(review), false),
            (None, Some(true)) if !is_checked => (Some(self.default_review(&parent.spec)), true),
            (None, _) => (None, false),
        }
    }
}

impl Phase {
    /// What its parts start from, where a session worked on it in this walk of its loop. A part with a tree of its own starts from
    /// `base`, which only its own sessions change: the age of the handoff is not measured there.
    fn inherited_state(&self, base: Option<&String>) -> Option<Box<InheritedState>> {
        let session =
            self.session.clone().filter(|_| self.sessions.len() > self.loop_position.sessions_before);
        let inherited = self.handoffs.inherited.as_ref();
        let session = session.or_else(|| Some(inherited?.session.clone()))?;
        let mut handoff = self.handoffs.newest().cloned();
        if let (Some(handoff), Some(_)) = (&mut handoff, base) {
            handoff.head.clear();
        }
        Some(Box::new(InheritedState {
            handoff,
            session,
            changed: self.changed_files().cloned().collect(),
            changed_beyond: self.measurements.facts.changed_beyond
                + inherited.map_or(0, |before| before.changed_beyond),
        }))
    }
}

impl ObjectiveState {
    /// The same, open, in a part: what was said of it goes with it.
    fn reopened_for_part(&self) -> Self {
        Self {
            remark: self.remark.clone(),
            reported: self.reported.clone().map(|said| ObjectiveReport { before_prompt: None, ..said }),
            times: self.times,
            ..Self::new(self.spec.clone())
        }
    }
}

/// 20 → 20a … 20z, 20aa …; one level deeper 20a → 20a-a.
fn sub_phase_id(parent: &PhaseId, depth: u32, n: usize) -> PhaseId {
    let mut letters = Vec::new();
    let mut rest = n;
    loop {
        letters.push(char::from(b'a' + (rest % 26) as u8));
        if rest < 26 {
            break;
        }
        rest = rest / 26 - 1;
    }
    let letters: String = letters.into_iter().rev().collect();
    let dash = if depth == 0 { "" } else { "-" };
    PhaseId::new(format!("{parent}{dash}{letters}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_past_z_and_down_a_level() {
        // D4
        let id = |depth, n| sub_phase_id(&"20".into(), depth, n).to_string();
        assert_eq!([id(0, 0), id(0, 25), id(0, 26), id(0, 27)], ["20a", "20z", "20aa", "20ab"]);
        assert_eq!(sub_phase_id(&"20a".into(), 1, 1).as_str(), "20a-b");
    }
}
