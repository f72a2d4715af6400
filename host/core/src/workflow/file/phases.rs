//! One phase of a workflow file, from its shape to the model. Opens no file.

use super::check::{WorkflowChecker, role_of};
use super::schema::{ContextSchema, LocatedValue, ObjectiveSchema, PhaseSchema, ReviewSchema};
use super::values::{microusd, path_fault};
use crate::ids::{ObjectiveId, PhaseId, RoleName};
use crate::observation::ContextFile;
use crate::workflow::{Objective, PhaseLoop, PhaseSpec, REVIEW_SCORE, ReviewRequirement};

impl WorkflowChecker<'_, '_> {
    pub(super) fn phase(&mut self, shape: PhaseSchema) -> PhaseSpec {
        let place = format!("in phase `{}`", shape.id.get());
        let role = RoleName::from(role_of(&shape));
        let agent = shape.agent.as_ref().and_then(|agent| self.agent(&place, agent));
        let id = shape.id.into_inner();
        let context = shape.context.into_iter().map(|one| self.context(&place, one)).collect();
        PhaseSpec {
            title: shape.title.unwrap_or_else(|| id.clone()),
            depends_on: shape
                .depends_on
                .iter()
                .flatten()
                .map(|name| PhaseId::from(name.get().as_str()))
                .collect(),
            role,
            agent,
            objectives: shape.objectives.into_iter().map(|one| self.objective(one.into_inner())).collect(),
            verify: shape.verify,
            complex: shape.complex,
            split: shape.split,
            wall_time: self.wall_time(&place, shape.wall_time.as_ref()),
            tokens: shape.tokens,
            cost_microusd: shape.cost_usd.map(microusd),
            continuations: shape.continuations,
            setup: shape.setup,
            context,
            review: shape.review.map(|review| reviewer(review.into_inner())),
            repeat: shape.repeat.map(|repeat| PhaseLoop {
                from: PhaseId::new(repeat.from.into_inner()),
                at_most: repeat.at_most,
            }),
            commit: shape.commit,
            id: PhaseId::new(id),
        }
    }

    fn context(&mut self, place: &str, shape: ContextSchema) -> ContextFile {
        if let Some(fault) = path_fault(shape.file.get()) {
            let path = shape.file.get().escape_debug();
            let what = format!("`file` of `context` {place}: \"{path}\" {fault}");
            self.problems.at(shape.file.span(), "file", what, "");
        }
        for section in &shape.sections {
            let text = section.get();
            if text.chars().any(char::is_control) {
                let what =
                    format!("`sections` of `context` {place}: \"{}\" is not a heading", text.escape_debug());
                self.problems.at(section.span(), "sections", what, "write the heading on one line");
            }
        }
        ContextFile {
            path: shape.file.into_inner(),
            sections: shape.sections.into_iter().map(|section| section.get().trim().to_owned()).collect(),
        }
    }

    fn objective(&mut self, shape: ObjectiveSchema) -> Objective {
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
            files: shape.files.into_iter().map(LocatedValue::into_inner).collect(),
            verify: shape.verify,
        }
    }
}

fn reviewer(shape: ReviewSchema) -> ReviewRequirement {
    let (role, score) = match shape {
        ReviewSchema::Role(role) => (role, None),
        ReviewSchema::Set(table) => (table.role, table.score),
    };
    ReviewRequirement { role: RoleName::new(role), score: score.unwrap_or(REVIEW_SCORE) }
}
