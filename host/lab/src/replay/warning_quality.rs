//! Warnings compared with the outcomes: whether a policy warned before a context was used up, how long before, and which of its
//! warnings were false alarms. A warning does not change the later course of a run, so this is exact on the whole trace.

use baton_core::PhaseId;
use baton_core::decision::{Decision, Verdict};
use serde::Serialize;

use crate::context_outcome::{ContextId, ContextOutcome, SessionMoment};

/// How long before something another thing was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeadTime {
    /// Turns that ended between.
    pub turns: u32,
    /// Tokens that were added to the window in between, if known.
    pub tokens: Option<u64>,
    /// Time between.
    pub ms: u64,
}

/// A policy and one context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "class", rename_all = "kebab-case")]
pub enum WarningOutcome {
    /// It warned, and the context was used up.
    Hit {
        /// From the first warning until then.
        lead: LeadTime,
    },
    /// The context was used up without a warning.
    Miss,
    /// It warned, and the session ended without exhaustion and without an intervention.
    FalseAlarm {
        /// From the first warning until then.
        lead: LeadTime,
    },
    /// It did not warn, and there was nothing to warn of.
    Quiet,
    /// An intervention, or the end of the record, hides the outcome.
    Censored {
        /// It had warned.
        warned: bool,
    },
}

impl WarningOutcome {
    /// Compares the first warning, if there was one, with the outcome of the context.
    pub fn of(warned: Option<SessionMoment>, outcome: ContextOutcome, then: SessionMoment) -> Self {
        let lead = warned.map(|warned| LeadTime::between(warned, then));
        match (outcome, lead) {
            (ContextOutcome::Exhausted, Some(lead)) => Self::Hit { lead },
            (ContextOutcome::Exhausted, None) => Self::Miss,
            (ContextOutcome::Ended, Some(lead)) => Self::FalseAlarm { lead },
            (ContextOutcome::Ended, None) => Self::Quiet,
            (ContextOutcome::Censored { .. }, lead) => Self::Censored { warned: lead.is_some() },
        }
    }
}

impl LeadTime {
    fn between(warned: SessionMoment, then: SessionMoment) -> Self {
        Self {
            turns: then.turns.saturating_sub(warned.turns),
            tokens: warned.used_tokens.zip(then.used_tokens).map(|(from, to)| to.saturating_sub(from)),
            ms: then.at.since(warned.at).0,
        }
    }
}

/// Whether an answer warns. What already calls a context used up comes too late to be a warning.
pub(crate) fn warns(answer: Option<&Decision>) -> bool {
    match answer {
        Some(Decision::Exhaustion(assessment)) => {
            assessment.warning.is_some() && assessment.verdict != Verdict::Exhausted
        }
        _ => false,
    }
}

/// A context of a run, with the warnings of both policies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContextWarnings {
    /// The context.
    #[serde(flatten)]
    pub id: ContextId,
    /// Of which phase.
    pub phase: PhaseId,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: ContextOutcome,
    /// Turns when it did.
    pub turns: u32,
    /// The result of the run's own policies.
    pub recorded: WarningOutcome,
    /// The candidate's result; absent if the candidate was not asked about the context.
    pub candidate: Option<WarningOutcome>,
    /// The candidate had left the course of the run before: its warnings are exact for this trace, which it would not have met.
    pub off_course: bool,
}

impl ContextWarnings {
    /// Whether the context is worth showing: it is not if the recorded policy was quiet, or its result is censored, and the
    /// candidate, if it was asked, has the same result.
    pub(crate) fn is_informative(&self) -> bool {
        let is_quiet =
            |alarm: WarningOutcome| matches!(alarm, WarningOutcome::Quiet | WarningOutcome::Censored { .. });
        !is_quiet(self.recorded)
            || self.candidate.is_some_and(|said| !is_quiet(said) || said != self.recorded)
    }
}

/// Keeps a context while there is room; one that is telling takes the place of the last that is not. Says whether one was left out.
pub(crate) fn keep_informative<T>(
    kept: &mut Vec<T>,
    one: T,
    room: usize,
    context: impl Fn(&T) -> &ContextWarnings,
) -> bool {
    if kept.len() < room {
        kept.push(one);
        return false;
    }
    if context(&one).is_informative()
        && let Some(least) = kept.iter().rposition(|kept| !context(kept).is_informative())
    {
        kept.remove(least);
        kept.push(one);
    }
    true
}

/// Sums over contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WarningStats {
    /// Warned of, and used up.
    pub hits: u64,
    /// Used up without a warning.
    pub misses: u64,
    /// Warned of, and it came to nothing.
    pub false_alarms: u64,
    /// Neither.
    pub quiet: u64,
    /// Nobody can know.
    pub censored: u64,
    /// Those of them that were warned of.
    pub censored_warned: u64,
    /// Turns from warning to exhaustion, of all hits together.
    pub lead_turns: u64,
    /// Time from warning to exhaustion, of all hits together.
    pub lead_ms: u64,
    /// Tokens from warning to exhaustion, of those hits of which they are known.
    pub lead_tokens: u64,
    /// How many those are.
    pub hits_with_tokens: u64,
}

impl WarningStats {
    /// One context more.
    pub fn count(&mut self, alarm: &WarningOutcome) {
        match alarm {
            WarningOutcome::Hit { lead } => {
                self.hits += 1;
                self.lead_turns += u64::from(lead.turns);
                self.lead_ms += lead.ms;
                if let Some(tokens) = lead.tokens {
                    self.lead_tokens += tokens;
                    self.hits_with_tokens += 1;
                }
            }
            WarningOutcome::Miss => self.misses += 1,
            WarningOutcome::FalseAlarm { .. } => self.false_alarms += 1,
            WarningOutcome::Quiet => self.quiet += 1,
            WarningOutcome::Censored { warned } => {
                self.censored += 1;
                self.censored_warned += u64::from(*warned);
            }
        }
    }

    /// Takes in the sums of other runs.
    pub fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.false_alarms += other.false_alarms;
        self.quiet += other.quiet;
        self.censored += other.censored;
        self.censored_warned += other.censored_warned;
        self.lead_turns += other.lead_turns;
        self.lead_ms += other.lead_ms;
        self.lead_tokens += other.lead_tokens;
        self.hits_with_tokens += other.hits_with_tokens;
    }

    /// Exhaustions that were warned of, of all exhaustions.
    pub fn recall(&self) -> BinomialRate {
        BinomialRate::of(self.hits, self.hits + self.misses)
    }

    /// Contexts that were not used up and were warned of all the same, of all that were not used up.
    pub fn false_alarm_rate(&self) -> BinomialRate {
        BinomialRate::of(self.false_alarms, self.false_alarms + self.quiet)
    }

    /// Warnings that came true, of all of which one can know.
    pub fn precision(&self) -> BinomialRate {
        BinomialRate::of(self.hits, self.hits + self.false_alarms)
    }
}

/// A share of a count, with a 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BinomialRate {
    /// How many.
    pub of: u64,
    /// Of how many.
    pub all: u64,
    /// The share; absent if its denominator is 0.
    pub share: Option<f64>,
    /// The interval, from and to.
    pub interval: (f64, f64),
}

impl BinomialRate {
    /// The share with the score interval of E. B. Wilson ("Probable inference, the law of succession, and statistical inference",
    /// Journal of the American Statistical Association 22, 1927): every share that a test at the 5 % level would not
    /// rule out. Contexts of one run are alike, so it is too narrow where few runs gave many contexts.
    pub fn of(of: u64, all: u64) -> Self {
        if all == 0 {
            return Self { of, all, share: None, interval: (0.0, 1.0) };
        }
        /// The quantile of the normal distribution that leaves 2.5 % above it.
        const Z: f64 = 1.959_963_984_540_054;
        let (n, p) = (all as f64, of as f64 / all as f64);
        let z2 = Z * Z;
        let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = Z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
        let interval = ((middle - half).max(0.0), (middle + half).min(1.0));
        Self { of, all, share: Some(p), interval }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context_outcome::Censoring;
    use baton_core::UnixMs;

    fn moment(at: u64, turns: u32, used: u64) -> SessionMoment {
        SessionMoment { at: UnixMs(at), turns, used_tokens: Some(used) }
    }

    #[test]
    fn a_warning_is_held_to_what_then_happened() {
        let (warned, then) = (moment(1_000, 3, 70_000), moment(61_000, 8, 100_000));
        let lead = LeadTime { turns: 5, tokens: Some(30_000), ms: 60_000 };
        let censored = ContextOutcome::Censored { because: Censoring::Compacted };
        assert_eq!(
            WarningOutcome::of(Some(warned), ContextOutcome::Exhausted, then),
            WarningOutcome::Hit { lead }
        );
        assert_eq!(WarningOutcome::of(None, ContextOutcome::Exhausted, then), WarningOutcome::Miss);
        assert_eq!(
            WarningOutcome::of(Some(warned), ContextOutcome::Ended, then),
            WarningOutcome::FalseAlarm { lead }
        );
        assert_eq!(WarningOutcome::of(None, ContextOutcome::Ended, then), WarningOutcome::Quiet);
        assert_eq!(
            WarningOutcome::of(Some(warned), censored, then),
            WarningOutcome::Censored { warned: true }
        );
        assert_eq!(WarningOutcome::of(None, censored, then), WarningOutcome::Censored { warned: false });
    }

    #[test]
    fn what_is_telling_is_kept_before_what_is_not() {
        let context =
            |turns: u32, recorded: WarningOutcome, candidate: Option<WarningOutcome>| ContextWarnings {
                id: crate::context_outcome::ContextId { session: "s1".into(), context: turns },
                phase: "build".into(),
                outcome: ContextOutcome::Ended,
                turns,
                recorded,
                candidate,
                off_course: false,
            };
        let quiet = |turns: u32| context(turns, WarningOutcome::Quiet, Some(WarningOutcome::Quiet));
        let warned = |turns: u32| {
            context(turns, WarningOutcome::Quiet, Some(WarningOutcome::Censored { warned: true }))
        };
        let (mut kept, mut left_out) = (Vec::new(), 0);
        let came = [
            quiet(1),
            context(2, WarningOutcome::Miss, None),
            quiet(3),
            warned(4),
            quiet(5),
            warned(6),
            warned(7),
        ];
        for one in came {
            left_out += u64::from(keep_informative(&mut kept, one, 3, |one| one));
        }
        let turns: Vec<u32> = kept.iter().map(|one| one.turns).collect();
        assert_eq!((turns, left_out), (vec![2, 4, 6], 4));
    }

    #[test]
    fn intervals_are_those_of_the_published_examples() {
        // R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, 1998, table I.
        for (of, all, from, to) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let rate = BinomialRate::of(of, all);
            assert!((rate.interval.0 - from).abs() < 5e-5 && (rate.interval.1 - to).abs() < 5e-5, "{rate:?}");
        }
        assert_eq!(BinomialRate::of(0, 0).share, None);
    }

    #[test]
    fn sums_add_up() {
        let (warned, then) = (moment(0, 1, 10), moment(10, 4, 30));
        let mut sums = WarningStats::default();
        for (warned, outcome) in [
            (Some(warned), ContextOutcome::Exhausted),
            (None, ContextOutcome::Exhausted),
            (None, ContextOutcome::Ended),
        ] {
            sums.count(&WarningOutcome::of(warned, outcome, then));
        }
        let mut twice = sums;
        twice.add(&sums);
        assert_eq!((twice.hits, twice.misses, twice.quiet, twice.lead_turns), (2, 2, 2, 6));
        assert_eq!((twice.lead_tokens, twice.lead_ms, twice.hits_with_tokens), (40, 20, 2));
        assert_eq!(twice.recall().share, Some(0.5));
    }
}
