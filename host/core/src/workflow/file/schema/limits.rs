//! The keys of `[limits]` and `[notify]`. Checks nothing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::value_forms::{DurationForm, DurationText};
use super::{LocatedValue, TEXT_CHARS_MAX};

/// A million million tokens: a greater number is a typing error.
pub(crate) const TOKENS_MAX: u64 = 1_000_000_000_000;
/// A million dollars: a greater number is a typing error.
pub(crate) const COST_USD_MAX: f64 = 1_000_000.0;
/// One cent: below it no agent could start.
pub(crate) const COST_USD_MIN: f64 = 0.01;
/// More continuations than this mean that the phase is too large (A8).
pub(crate) const CONTINUATIONS_MAX: u32 = 20;
/// A failure that occurred this often does not go away with more retries.
pub(crate) const RETRIES_MAX: u32 = 20;
/// Phases at a time: those of the workflow share one folder, so more of them would only be in each other's way.
pub(crate) const PARALLEL_MAX: u32 = 16;
/// Agents at a time: some 500 MiB each, and a greater number is a typing error.
pub(crate) const AGENTS_MAX: u32 = 256;
/// Splits of splits of splits: beyond it the objectives themselves are too large.
pub(crate) const SPLIT_DEPTH_MAX: u32 = 4;
/// Parts of one split: a phase has no more objectives than this.
pub(crate) const SPLIT_FAN_OUT_MAX: usize = super::OBJECTIVES_MAX;

/// Bounds of the run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Limits")]
#[schemars(extend("x-instead" = {
    "timeout": "wall_time = \"2h\"",
    "time": "wall_time = \"2h\"",
    "cost": "did you mean `cost_usd`? In US dollars: cost_usd = 10.0",
    "budget": "did you mean `cost_usd`? In US dollars: cost_usd = 10.0",
    "max_turns": "[roles.executor], and below it max_turns = 200",
    "turns": "[roles.executor], and below it max_turns = 200",
}))]
pub(crate) struct LimitsSchema {
    /// Wall time ("90s", "30m", "2h"); waits for a provider's quota do not count. Default: none.
    #[serde(default)]
    #[schemars(with = "DurationForm")]
    pub(crate) wall_time: Option<LocatedValue<DurationText>>,
    /// Billed tokens, input and output. Default: none.
    #[schemars(range(min = 1, max = TOKENS_MAX))]
    pub(crate) tokens: Option<u64>,
    /// Cost in US dollars, where the agent reports it. Default: none.
    #[schemars(range(min = COST_USD_MIN, max = COST_USD_MAX))]
    pub(crate) cost_usd: Option<f64>,
    /// Continuations a phase may have after its first session. Default: 3.
    #[schemars(range(min = 0, max = CONTINUATIONS_MAX))]
    pub(crate) continuations: Option<u32>,
    /// Retries of failed sessions a phase may have. Default: 2.
    #[schemars(range(min = 0, max = RETRIES_MAX))]
    pub(crate) retries: Option<u32>,
    /// Times one prompt is asked again after silence or an empty answer. A policy may stop earlier: the built-in one after `max-nudges`.
    /// Default: 2.
    #[schemars(range(min = 0, max = RETRIES_MAX))]
    pub(crate) nudges: Option<u32>,
    /// Times a failed verification sends its findings back to the agent. Default: 2.
    #[schemars(range(min = 0, max = RETRIES_MAX))]
    pub(crate) verifications: Option<u32>,
    /// Phases of this file at a time. They share one folder, so let only those run at once that do not touch the same
    /// files; parts of a split have a work tree each, and only `agents` bounds them. Default: 1.
    #[schemars(range(min = 1, max = PARALLEL_MAX))]
    pub(crate) parallel: Option<u32>,
    /// Agents at a time, over all phases and their parts. Default: 4 for each core of the machine, at least 4, at most 32,
    /// and no more than its memory allows.
    #[schemars(range(min = 1, max = AGENTS_MAX))]
    pub(crate) agents: Option<u32>,
    /// How many agents of one provider may work at a time, so that they do not use up each other's quota:
    /// providers = { anthropic = 4 }. A role says with `provider` whose quota it uses; else it is that of its kind of agent.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, AgentsSchema>")]
    pub(crate) providers: BTreeMap<String, LocatedValue<u32>>,
    /// How deep a phase may be split. Default: 2.
    #[schemars(range(min = 0, max = SPLIT_DEPTH_MAX))]
    pub(crate) split_depth: Option<u32>,
    /// How many parts one split may have; their letters go on after z with aa. Default: 26.
    #[schemars(range(min = 2, max = SPLIT_FAN_OUT_MAX))]
    pub(crate) split_fan_out: Option<u32>,
    /// Silence after which a session is looked at ("100ms" to "1h"). Default: 60s.
    #[serde(default)]
    #[schemars(with = "DurationForm")]
    pub(crate) heartbeat: Option<LocatedValue<DurationText>>,
    /// First wait before a retry ("0s" to "5m"); doubles each time. Default: 5s.
    #[serde(default)]
    #[schemars(with = "DurationForm")]
    pub(crate) backoff: Option<LocatedValue<DurationText>>,
}

/// Agents at a time.
#[derive(JsonSchema)]
#[schemars(rename = "Agents")]
#[allow(dead_code)] // Only its schema is used: a number with bounds, as the value of a table.
pub(crate) struct AgentsSchema(#[schemars(range(min = 1, max = AGENTS_MAX))] u32);

/// Who is told when something happens that a person wants to know.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Notify")]
pub(crate) struct NotifySchema {
    /// A command for `sh -c`, run in the workspace: on a split, a pause for a person, a provider's limit, and the end.
    #[schemars(length(min = 1, max = TEXT_CHARS_MAX))]
    pub(crate) command: Option<String>,
    /// Ring the bell of the terminal for the same. Default: false.
    #[serde(default)]
    pub(crate) bell: bool,
}
