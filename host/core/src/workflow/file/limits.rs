//! The tables `[limits]` and `[notify]` of a workflow file, and spans of time in any table. Opens no file.

use std::collections::{BTreeMap, BTreeSet};

use super::check::WorkflowChecker;
use super::diagnostic::suggest;
use super::schema::{DurationText, LimitsSchema, LocatedValue, NotifySchema};
use super::values::{ID_RULE, duration, is_id, microusd};
use crate::ids::RoleName;
use crate::time::DurationMs;
use crate::workflow::{AgentKind, NotifySettings, Role, RunLimits};

/// Shortest interval of the heartbeat: a shorter one would keep the host busy with nothing else.
const HEARTBEAT_MIN: DurationMs = DurationMs(100);
/// Longest: a longer one would not notice a silent agent in time.
const HEARTBEAT_MAX: DurationMs = DurationMs::from_mins(60);
/// Longest first wait before a retry; doubling ends there as well.
const BACKOFF_MAX: DurationMs = DurationMs::from_mins(5);
/// A month: a greater number is a typing error.
const WALL_TIME_MAX: DurationMs = DurationMs::from_mins(31 * 24 * 60);
/// One second: below it no agent could start.
const WALL_TIME_MIN: DurationMs = DurationMs::from_secs(1);

impl WorkflowChecker<'_, '_> {
    /// The limits, each with its default if the file omits it.
    pub(super) fn limits(&mut self, shape: &LimitsSchema) -> RunLimits {
        let place = "in [limits]";
        let default = RunLimits::default();
        let heartbeat =
            self.duration("heartbeat", place, shape.heartbeat.as_ref(), HEARTBEAT_MIN, HEARTBEAT_MAX);
        let backoff = self.duration("backoff", place, shape.backoff.as_ref(), DurationMs(0), BACKOFF_MAX);
        RunLimits {
            wall_time: self.wall_time(place, shape.wall_time.as_ref()),
            tokens: shape.tokens,
            cost_microusd: shape.cost_usd.map(microusd),
            continuations: shape.continuations.unwrap_or(default.continuations),
            retries: shape.retries.unwrap_or(default.retries),
            nudges: shape.nudges.unwrap_or(default.nudges),
            verifications: shape.verifications.unwrap_or(default.verifications),
            parallel: shape.parallel.unwrap_or(default.parallel),
            agents: shape.agents.unwrap_or(default.agents),
            split_depth: shape.split_depth.unwrap_or(default.split_depth),
            split_fan_out: shape.split_fan_out.unwrap_or(default.split_fan_out),
            heartbeat: heartbeat.unwrap_or(default.heartbeat),
            backoff: backoff.unwrap_or(default.backoff),
        }
    }

    /// How many agents of a provider may work at a time. A provider that no role uses is a typing mistake; the kinds of agents
    /// are always known, since `--agent` may select any of them.
    pub(super) fn providers(
        &mut self,
        shapes: &BTreeMap<String, LocatedValue<u32>>,
        roles: &BTreeMap<RoleName, Role>,
        elsewhere: &BTreeSet<String>,
    ) -> BTreeMap<String, u32> {
        let of_roles = roles.values().map(Role::provider).chain(elsewhere.iter().map(String::as_str));
        let known: BTreeSet<&str> = of_roles.chain(AgentKind::NAMES).collect();
        for (name, shape) in shapes.iter().filter(|(name, _)| !known.contains(name.as_str())) {
            let what = format!("[limits.providers] names `{}`, which no role uses", name.escape_debug());
            let hint = format!(
                "{}; or say who uses it: provider = \"{name}\" in a role",
                suggest(name, known.iter().copied())
            );
            self.problems.at(shape.span(), name, what, hint);
        }
        shapes.iter().map(|(name, most)| (name.clone(), *most.get())).collect()
    }

    /// The provider that a role names.
    pub(super) fn provider(&mut self, place: &str, shape: Option<&LocatedValue<String>>) -> Option<String> {
        let provider = shape?;
        if !is_id(provider.get()) {
            let what = format!("`provider` {place} cannot be \"{}\"", provider.get().escape_debug());
            self.problems.at(provider.span(), "provider", what, ID_RULE);
        }
        Some(provider.get().clone())
    }

    pub(super) fn wall_time(
        &mut self,
        place: &str,
        text: Option<&LocatedValue<DurationText>>,
    ) -> Option<DurationMs> {
        self.duration("wall_time", place, text, WALL_TIME_MIN, WALL_TIME_MAX)
    }

    fn duration(
        &mut self,
        key: &str,
        place: &str,
        text: Option<&LocatedValue<DurationText>>,
        min: DurationMs,
        max: DurationMs,
    ) -> Option<DurationMs> {
        let text = text?;
        let found = duration(&text.get().0);
        match found {
            Some(span) if (min..=max).contains(&span) => {}
            Some(_) => {
                let what = format!("`{key}` {place} is out of bounds; it must be from {min} to {max}");
                self.problems.at(text.span(), key, what, "");
            }
            None => {
                let what = format!("`{key}` {place} cannot be \"{}\"", text.get().0.escape_debug());
                let hint = "write a whole number and its unit: \"90s\", \"30m\", \"2h\"";
                self.problems.at(text.span(), key, what, hint);
            }
        }
        found
    }
}

/// Who is notified.
pub(super) fn notify(shape: NotifySchema) -> NotifySettings {
    NotifySettings { command: shape.command, bell: shape.bell }
}
