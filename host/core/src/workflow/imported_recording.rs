//! The source of an imported run, which no host ever ran: the files that `baton import` made it from. Reads nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::Digest;

/// The recording that a run was made from. Such a run can be looked at and replayed, but not continued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedRecording {
    /// The format that it was read as, by the name that `baton import --as` takes.
    pub format: String,
    /// The files, in the order in which they were played.
    pub files: Vec<ImportedFile>,
    /// The recording has no times of its own: those of the run are evenly spaced, and mean nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub times_are_made_up: bool,
}

/// A file of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedFile {
    /// Its name, without its folders.
    pub name: String,
    /// What was in it.
    pub digest: Digest,
    /// How much.
    pub bytes: u64,
}
