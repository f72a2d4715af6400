//! Splitting: a policy shapes it, this validates it and gives the letters (D2, D4). Sub-phases stand right after
//! their parent and hold its open objectives; the parent is done when they are and its verification passes.

use std::collections::BTreeMap;

use crate::decision::{Order, SubPhase};
use crate::ids::{ObjectiveId, PhaseId};
use crate::notice::Notice;
use crate::observation::ObjectiveStatus;

use super::Run;
use super::phase::{Phase, Step};

impl Run {
    /// Every open objective in exactly one part, no other, within depth and fan-out. An error says which rule.
    pub(super) fn check_split(&self, p: usize, parts: &[SubPhase]) -> Result<(), String> {
        let phase = &self.phases[p];
        let limits = &self.workflow.limits;
        if phase.depth >= limits.split_depth {
            return Err(format!("phase {} is at the deepest level, {}", phase.spec.id, limits.split_depth));
        }
        if parts.len() < 2 || parts.len() > limits.split_fan_out as usize {
            return Err(format!("{} parts; allowed are 2 to {}", parts.len(), limits.split_fan_out));
        }
        let mut seen: BTreeMap<&ObjectiveId, u32> =
            phase.open_goals().map(|(_, goal)| (&goal.spec.id, 0)).collect();
        for part in parts {
            if part.objectives.is_empty() {
                return Err(format!("the part {:?} has no objective", part.title));
            }
            for id in &part.objectives {
                match seen.get_mut(id) {
                    Some(count) => *count += 1,
                    None => return Err(format!("{id} is no open objective of phase {}", phase.spec.id)),
                }
            }
        }
        match seen.iter().find(|(_, count)| **count != 1) {
            Some((id, 0)) => Err(format!("objective {id} is in no part")),
            Some((id, count)) => Err(format!("objective {id} is in {count} parts")),
            None => Ok(()),
        }
    }

    pub(super) fn fork(&mut self, p: usize, parts: &[SubPhase]) {
        let parent = self.phases[p].clone();
        let mut previous: Option<PhaseId> = None;
        let mut forked = Vec::new();
        for (n, part) in parts.iter().enumerate() {
            let id = sub_phase_id(&parent.spec.id, parent.depth, n);
            let mut spec = parent.spec.clone();
            spec.id = id.clone();
            spec.title.clone_from(&part.title);
            // They share one workspace, so each waits for the one before.
            spec.depends_on = previous.into_iter().collect();
            spec.verify = None;
            spec.objectives = parent
                .goals
                .iter()
                .filter(|goal| part.objectives.contains(&goal.spec.id))
                .map(|goal| goal.spec.clone())
                .collect();
            let mini_plan = part.order == Order::MiniPlan;
            let mut phase = Phase::new(spec, Some(parent.spec.id.clone()), parent.depth + 1, mini_plan);
            phase.attempts.clone_from(&parent.attempts);
            phase.decisions.clone_from(&parent.decisions);
            phase.gotchas.clone_from(&parent.gotchas);
            // What it inherits is in no handoff of its own yet: its first session leaves one, however early it ends.
            phase.news =
                !(phase.attempts.is_empty() && phase.decisions.is_empty() && phase.gotchas.is_empty());
            previous = Some(id);
            forked.push(phase);
        }
        let names = forked.iter().map(|phase| (phase.spec.id.clone(), phase.spec.title.clone())).collect();
        self.notify(Notice::Split {
            phase: parent.spec.id.clone(),
            sub_phases: names,
            objectives: parent.open_goals().count() as u32,
            reason: parent.because.clone(),
        });
        self.phases[p].split = parts.len() as u32;
        self.phases[p].step = Step::Split;
        self.phases.splice(p + 1..p + 1, forked);
    }

    /// A parent whose parts are all over takes their objectives as its own, and is verified or left.
    pub(super) fn close_split_parents(&mut self) {
        for p in (0..self.phases.len()).rev() {
            if self.phases[p].step != Step::Split {
                continue;
            }
            let id = self.phases[p].spec.id.clone();
            let parts: Vec<&Phase> =
                self.phases.iter().filter(|phase| phase.parent.as_ref() == Some(&id)).collect();
            if !parts.iter().all(|phase| phase.is_over()) {
                continue;
            }
            let done: BTreeMap<ObjectiveId, _> = parts
                .iter()
                .flat_map(|phase| &phase.goals)
                .filter(|goal| goal.status == ObjectiveStatus::Done)
                .map(|goal| (goal.spec.id.clone(), goal.by.clone()))
                .collect();
            for goal in &mut self.phases[p].goals {
                if let Some(by) = done.get(&goal.spec.id) {
                    goal.status = ObjectiveStatus::Done;
                    goal.by.clone_from(by);
                }
            }
            if self.phases[p].is_finished() {
                self.verify(p);
            } else {
                self.phases[p].step = Step::Skipped;
            }
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
