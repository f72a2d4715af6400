//! The lines between a driver and its relay. Both ends are of this crate, and of one build.

use serde::{Deserialize, Serialize};

/// What the driver wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RunnerCommand {
    /// The program is run on this prompt.
    Prompt(String),
    /// The program that runs is broken off.
    Interrupt,
}

/// What the relay tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RunnerEvent {
    /// It takes prompts.
    Ready,
    /// The program printed this. What is not UTF-8 has become U+FFFD.
    Out(String),
    /// The program is gone.
    Ended(ProgramExit),
}

/// How a program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramExit {
    /// Exit code, where it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<i32>,
    /// The signal, where one ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<i32>,
    /// It was broken off before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) interrupted: bool,
    /// Why it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}
