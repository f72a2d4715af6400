//! One phase of a workflow file, from its shape to the model. Opens no file.

use super::check::{Checker, role_of};
use super::shape::{At, ObjectiveShape, PhaseShape, ReviewShape};
use super::values::{microusd, path_fault};
use crate::ids::{ObjectiveId, PhaseId, RoleName};
use crate::workflow::{Objective, Phase, Repeat, ReviewBy};

/// A review passes from this score on, where the workflow names none: as for handoff documents (C8).
const REVIEW_SCORE: u32 = 70;

impl Checker<'_, '_> {
    pub(super) fn phase(&mut self, shape: PhaseShape) -> Phase {
        let place = format!("in phase `{}`", shape.id.get());
        let role = RoleName::from(role_of(&shape));
        let agent = shape.agent.as_ref().and_then(|agent| self.agent(&place, agent));
        let id = shape.id.into_inner();
        Phase {
            title: shape.title.unwrap_or_else(|| id.clone()),
            depends_on: shape.depends_on.iter().map(|name| PhaseId::from(name.get().as_str())).collect(),
            role,
            agent,
            objectives: shape.objectives.into_iter().map(|one| self.objective(one.into_inner())).collect(),
            verify: shape.verify,
            complex: shape.complex,
            wall_time: self.wall_time(&place, shape.wall_time.as_ref()),
            tokens: shape.tokens,
            cost_microusd: shape.cost_usd.map(microusd),
            continuations: shape.continuations,
            setup: shape.setup,
            review: shape.review.map(|review| reviewer(review.into_inner())),
            repeat: shape.repeat.map(|repeat| Repeat {
                from: PhaseId::new(repeat.from.into_inner()),
                at_most: repeat.at_most,
            }),
            id: PhaseId::new(id),
        }
    }

    fn objective(&mut self, shape: ObjectiveShape) -> Objective {
        for file in &shape.files {
            if let Some(fault) = path_fault(file.get()) {
                let (id, path) = (shape.id.get(), file.get().escape_debug());
                let what = format!("`files` of objective `{id}`: \"{path}\" {fault}");
                self.problems.at(file.span(), "files", what, "");
            }
        }
        Objective {
            id: ObjectiveId::new(shape.id.into_inner()),
            description: shape.description.trim().to_owned(),
            files: shape.files.into_iter().map(At::into_inner).collect(),
            verify: shape.verify,
        }
    }
}

fn reviewer(shape: ReviewShape) -> ReviewBy {
    let (role, score) = match shape {
        ReviewShape::Role(role) => (role, None),
        ReviewShape::Set(table) => (table.role, table.score),
    };
    ReviewBy { role: RoleName::new(role), score: score.unwrap_or(REVIEW_SCORE) }
}
