//! `[modes.…]`: what may stand there. Nothing is checked here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::limits::CONTINUATIONS_MAX;
use super::{At, RoleShape, TURNS_MAX};
use crate::workflow::Mode;

/// What is different in each mode.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Modes")]
pub(crate) struct ModesShape {
    /// In eco.
    pub(crate) eco: Option<ModeShape>,
    /// In turbo.
    pub(crate) turbo: Option<ModeShape>,
    /// In standard.
    pub(crate) standard: Option<ModeShape>,
    /// In thorough.
    pub(crate) thorough: Option<ModeShape>,
    /// In swarm.
    pub(crate) swarm: Option<ModeShape>,
}

impl ModesShape {
    /// Those that the file has, each with its mode.
    pub(crate) fn given(self) -> impl Iterator<Item = (Mode, ModeShape)> {
        let Self { eco, turbo, standard, thorough, swarm } = self;
        [
            (Mode::Eco, eco),
            (Mode::Turbo, turbo),
            (Mode::Standard, standard),
            (Mode::Thorough, thorough),
            (Mode::Swarm, swarm),
        ]
        .into_iter()
        .filter_map(|(mode, shape)| Some((mode, shape?)))
    }
}

/// What is different in a mode.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ModeOverrides")]
pub(crate) struct ModeShape {
    /// Continuations a phase may have after its first session; wins over `[limits]`.
    #[schemars(range(min = 0, max = CONTINUATIONS_MAX))]
    pub(crate) max_continuations: Option<u32>,
    /// Turns for a phase, by role: turns = { executor = 40 }. A role's own `max_turns` wins.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, TurnsShape>")]
    pub(crate) turns: BTreeMap<String, At<u32>>,
    /// Keys of roles that are different: another agent, model, permission. What a role says and is not said again here
    /// stays; with another agent, what was meant for the first one alone goes.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, RoleShape>")]
    pub(crate) roles: BTreeMap<String, At<RoleShape>>,
}

/// Turns of a role.
#[derive(JsonSchema)]
#[schemars(rename = "Turns")]
#[allow(dead_code)] // Only its schema is used: a number with bounds, as the value of a table.
struct TurnsShape(#[schemars(range(min = 1, max = TURNS_MAX))] u32);
