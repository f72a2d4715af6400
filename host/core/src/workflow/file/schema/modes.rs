//! The keys of `[modes.…]`. Checks nothing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::limits::CONTINUATIONS_MAX;
use super::{LocatedValue, RoleSchema, TURNS_MAX};
use crate::workflow::Mode;

/// What is different in each mode.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Modes")]
pub(crate) struct ModesSchema {
    /// In eco.
    pub(crate) eco: Option<ModeSchema>,
    /// In turbo.
    pub(crate) turbo: Option<ModeSchema>,
    /// In standard.
    pub(crate) standard: Option<ModeSchema>,
    /// In thorough.
    pub(crate) thorough: Option<ModeSchema>,
    /// In swarm.
    pub(crate) swarm: Option<ModeSchema>,
}

impl ModesSchema {
    /// Those that the file has, each with its mode.
    pub(crate) fn given(self) -> impl Iterator<Item = (Mode, ModeSchema)> {
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
pub(crate) struct ModeSchema {
    /// Continuations a phase may have after its first session; wins over `[limits]`.
    #[schemars(range(min = 0, max = CONTINUATIONS_MAX))]
    pub(crate) max_continuations: Option<u32>,
    /// Turns for a phase, by role: turns = { executor = 40 }. A role's own `max_turns` wins.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, TurnsSchema>")]
    pub(crate) turns: BTreeMap<String, LocatedValue<u32>>,
    /// Keys of roles that are different: another agent, model, permission. What a role says and is not said again here
    /// stays; with another agent, what was meant for the first one alone goes.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, RoleSchema>")]
    pub(crate) roles: BTreeMap<String, LocatedValue<RoleSchema>>,
}

/// Turns of a role.
#[derive(JsonSchema)]
#[schemars(rename = "Turns")]
#[allow(dead_code)] // Only its schema is used: a number with bounds, as the value of a table.
struct TurnsSchema(#[schemars(range(min = 1, max = TURNS_MAX))] u32);
