//! When a provider refuses: spans of virtual time, drawn once for a seed, so that all arms meet the same ones.

use baton_core::{DurationMs, UnixMs};

use super::model::Model;
use super::sim_rng::SimRng;

/// Maximum number of limits in one run. With more, the provider would be permanently down, which is not worth simulating.
const LIMITS_MAX: usize = 10_000;

/// One span in which a provider refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QuotaOutage {
    pub(super) from: UnixMs,
    pub(super) until: UnixMs,
    /// The provider says when it ends.
    pub(super) said: bool,
}

/// All of them, in order.
#[derive(Debug)]
pub(super) struct QuotaOutages(Vec<QuotaOutage>);

impl QuotaOutages {
    pub(super) fn draw(seed: u64, model: &Model, from: UnixMs, to: UnixMs) -> Self {
        let (quota, mut limits, mut at) = (&model.quota, Vec::new(), from);
        let mut rng = SimRng::of(seed, "quota", "");
        while quota.per_hour > 0.0 && at < to && limits.len() < LIMITS_MAX {
            let begins = at + DurationMs(rng.next_event_ms(quota.per_hour) as u64);
            let until = begins + rng.seconds(quota.minutes * 60.0, quota.spread);
            limits.push(QuotaOutage { from: begins, until, said: rng.chance(quota.says_when) });
            at = until;
        }
        Self(limits)
    }

    /// The limit that holds at a time.
    pub(super) fn at(&self, now: UnixMs) -> Option<QuotaOutage> {
        let next = self.0.partition_point(|limit| limit.until <= now);
        self.0.get(next).filter(|limit| limit.from <= now).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_come_as_often_and_last_as_long_as_the_model_says() {
        let model = Model::default();
        let (from, days) = (UnixMs(1_000), 400);
        let limits = QuotaOutages::draw(3, &model, from, from + DurationMs::from_mins(days * 24 * 60));
        // 0.05 an hour over 9,600 hours, less the time in which they hold.
        assert!((350..520).contains(&limits.0.len()), "{}", limits.0.len());
        assert!(limits.0.windows(2).all(|pair| pair[0].until <= pair[1].from));
        let first = limits.0[0];
        assert_eq!(limits.at(first.from), Some(first));
        assert_eq!(limits.at(UnixMs(first.from.0 - 1)), None);
        assert_eq!(limits.at(first.until), None);
        let none =
            Model { quota: crate::simulate::model::Quota { per_hour: 0.0, ..model.quota.clone() }, ..model };
        assert_eq!(QuotaOutages::draw(3, &none, from, UnixMs(u64::MAX)).0, []);
    }
}
