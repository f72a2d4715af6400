//! Points and spans of time in milliseconds. The runtime stamps every input; core never asks a clock.

use std::fmt;
use std::ops::{Add, Sub};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct UnixMs(pub u64);

/// A span of time in milliseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct DurationMs(pub u64);

impl UnixMs {
    /// Time from `earlier` until this; zero if the clock went back.
    pub fn since(self, earlier: UnixMs) -> DurationMs {
        DurationMs(self.0.saturating_sub(earlier.0))
    }

    /// RFC 3339 in UTC with whole seconds ("2026-02-12T10:30:00Z").
    pub fn rfc3339(self) -> String {
        let seconds = i64::try_from(self.0 / 1000).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_second(seconds) {
            Ok(at) => at.to_string(),
            Err(_) => format!("{}ms", self.0),
        }
    }
}

impl DurationMs {
    /// From whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// From whole minutes.
    pub const fn from_mins(minutes: u64) -> Self {
        Self::from_secs(minutes.saturating_mul(60))
    }
}

impl Add<DurationMs> for UnixMs {
    type Output = UnixMs;

    fn add(self, span: DurationMs) -> UnixMs {
        UnixMs(self.0.saturating_add(span.0))
    }
}

impl Add for DurationMs {
    type Output = DurationMs;

    fn add(self, other: DurationMs) -> DurationMs {
        DurationMs(self.0.saturating_add(other.0))
    }
}

impl Sub for DurationMs {
    type Output = DurationMs;

    fn sub(self, other: DurationMs) -> DurationMs {
        DurationMs(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for DurationMs {
    /// For people: "850ms", "4s", "3m 20s", "2h 05m".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.0 / 1000;
        let text = match s {
            0 => format!("{}ms", self.0),
            1..60 => format!("{s}s"),
            60..3600 => format!("{}m {:02}s", s / 60, s % 60),
            _ => format!("{}h {:02}m", s / 3600, s / 60 % 60),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_people_say_them() {
        assert_eq!(DurationMs(850).to_string(), "850ms");
        assert_eq!(DurationMs::from_secs(200).to_string(), "3m 20s");
        assert_eq!(DurationMs::from_mins(125).to_string(), "2h 05m");
        assert_eq!(UnixMs(1_770_892_200_000).rfc3339(), "2026-02-12T10:30:00Z");
        assert_eq!(UnixMs(u64::MAX).since(UnixMs(0)), DurationMs(u64::MAX));
        assert_eq!(UnixMs(1).since(UnixMs(5)), DurationMs(0));
    }
}
