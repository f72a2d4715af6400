//! The source of a run, by which a later command recognises the same work.

use serde::{Deserialize, Serialize};

use crate::ids::ObjectiveId;

/// The source of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "from")]
pub enum RunSource {
    /// A workflow file.
    File {
        /// The file's path, absolute and without links.
        path: String,
    },
    /// A plan in Markdown.
    Plan {
        /// The file's path, absolute and without links.
        path: String,
        /// The same work as a workflow file.
        workflow: String,
    },
    /// A sentence on the command line.
    Sentence {
        /// The sentence.
        text: String,
        /// The same work as a workflow file.
        workflow: String,
    },
}

/// A plan whose boxes are ticked as objectives are done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickedPlan {
    /// The file's path, absolute; without links once its boxes are known.
    pub path: String,
    /// Its boxes that were open when the run began.
    #[serde(default)]
    pub boxes: Vec<PlanBox>,
}

/// A box of a plan, and the objective that was made of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanBox {
    /// The objective.
    pub objective: ObjectiveId,
    /// The heading above it; empty if there is none.
    pub heading: String,
    /// Its first line, without the box.
    pub line: String,
}

impl RunSource {
    /// Whether both are the same file, or the same sentence; the content of a file may have changed.
    pub fn is_same(&self, other: &RunSource) -> bool {
        match (self, other) {
            (RunSource::Sentence { text, .. }, RunSource::Sentence { text: other, .. }) => text == other,
            _ => self.path().is_some() && self.path() == other.path(),
        }
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&str> {
        match self {
            RunSource::File { path } | RunSource::Plan { path, .. } => Some(path),
            RunSource::Sentence { .. } => None,
        }
    }
}
