//! How a run ended.

use serde::{Deserialize, Serialize};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunOutcome {
    /// Every objective is done.
    Done,
    /// Some objectives stay open: a person skipped or stopped.
    Unfinished,
    /// The user stopped the host; `resume` continues.
    Interrupted,
}
