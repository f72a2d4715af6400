//! Rules without a program: the settings of this policy are the rules of a team. It decides what a rule speaks about, and
//! abstains from everything else, so that the next policy of the chain decides that. Without settings it abstains always.
//!
//! A workflow names it with a file of rules, `rules:house.toml`, or as `builtin:rules` with settings. An entry of a list has one
//! of four forms; the host refuses any other form when it reads the settings (`host/core/src/workflow/rules.rs`):
//!
//! | form | means | settings |
//! |---|---|---|
//! | `CHANNEL: PHRASE` | that a signal of this channel has the phrase in it | `exhausted-phrases`, `quota-phrases`, `failed-phrases`, `stalled-phrases` |
//! | `AGENT = PERCENT` | a threshold for a kind of agent, or for `*` | `compact-percent`, `hand-off-percent` |
//! | `MODE = TURNS`, `PHASE = TURNS` | a budget for a mode, or for `*`; for phases by a pattern | `turns-by-mode`, `turns-by-phase` |
//! | `PATTERN` | phases by id or title; `*` stands for any characters, and case does not matter | `never-split` |
//!
//! It answers neither `completion` nor `offloading`, for which no rule speaks, nor `prompting` nor `handoff`, which need texts and no thresholds, nor `review`: a least score needs
//! points, which rules do not give.
#![forbid(unsafe_code)]

mod ending;
mod entries;
mod room;
mod scope;

use baton_sdk::prelude::*;

/// The policy.
#[derive(Clone, Copy, Debug)]
pub struct TeamRules;

impl Exhaustion for TeamRules {
    fn assess(host: &impl Host, o: exhaustion::Observation) -> Option<exhaustion::Assessment> {
        ending::assess(host, &o)
    }
}

impl Recovery for TeamRules {
    fn decide(host: &impl Host, o: recovery::Observation) -> Option<recovery::Decision> {
        ending::recover(host, &o)
    }
}

impl Compaction for TeamRules {
    fn decide(host: &impl Host, o: compaction::Observation) -> Option<compaction::Decision> {
        room::decide(host, &o)
    }
}

impl Splitting for TeamRules {
    fn decide(host: &impl Host, o: splitting::Observation) -> Option<splitting::Decision> {
        scope::split(host, &o)
    }
}

impl Budgeting for TeamRules {
    fn decide(host: &impl Host, o: budgeting::Observation) -> Option<budgeting::TurnBudget> {
        scope::budget(host, &o)
    }
}

impl Settings for TeamRules {
    fn schema() -> Vec<settings::Setting> {
        vec![
            schema::texts(
                "exhausted-phrases",
                &[],
                "`CHANNEL: PHRASE`. At the end of a prompt or session: the context window is used up, and a new session continues.",
            ),
            schema::texts(
                "quota-phrases",
                &[],
                "`CHANNEL: PHRASE`. An allowance of the provider is used up: the run waits. While the agent works, `agent-text` does not count.",
            ),
            schema::texts(
                "failed-phrases",
                &[],
                "`CHANNEL: PHRASE`. At the end of a prompt or session: it failed, and `after-failed` follows.",
            ),
            schema::choice(
                ending::AFTER_FAILED,
                ending::NEW_SESSION,
                &[ending::NEW_SESSION, ending::NUDGE, ending::SPLIT, ending::ASK],
                "What follows a failure by `failed-phrases`: a new session, the same prompt once more, smaller scopes, or a question to a person.",
            ),
            schema::texts(
                "stalled-phrases",
                &[],
                "`CHANNEL: PHRASE`. The agent works, is silent for a heartbeat and said this last: it is interrupted, or a new session takes over.",
            ),
            schema::texts(
                room::COMPACT_PERCENT,
                &[],
                "`AGENT = PERCENT`. From this occupancy an agent that can compact does so before its next prompt; below it nothing is done.",
            ),
            schema::text(
                room::COMPACT_INSTRUCTIONS,
                "",
                "What the agent is told to keep when it compacts by `compact-percent`.",
            ),
            schema::texts(
                room::HAND_OFF_PERCENT,
                &[],
                "`AGENT = PERCENT`. From this occupancy a session that has finished an objective hands off to a new one.",
            ),
            schema::integer(
                scope::OBJECTIVES_AT_MOST,
                0,
                0..=200,
                "A phase with more open objectives is split into parts of at most so many, in their order; 0 is without this rule.",
            ),
            schema::texts(
                scope::NEVER_SPLIT,
                &[],
                "`PATTERN`. Phases whose id or title matches are never split, not even if an agent asks.",
            ),
            schema::texts(
                scope::TURNS_BY_PHASE,
                &[],
                "`PHASE = TURNS`. Turns of phases whose id or title matches; the first that matches counts, before `turns-by-mode`.",
            ),
            schema::texts(
                scope::TURNS_BY_MODE,
                &[],
                "`MODE = TURNS`. Turns of every other phase in this mode.",
            ),
        ]
    }
}

export_policy!(TeamRules: exhaustion, recovery, compaction, splitting, budgeting, settings);
