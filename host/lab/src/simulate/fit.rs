//! A model from journals. Sizes and times that spread over orders of magnitude are lognormal: the median is the exponential of
//! the mean logarithm, and the spread the standard deviation of the logarithms (the maximum-likelihood estimates). Chances are
//! shares. Each number is reported with its number of observations; if they are too few, the default is kept, and the report
//! says so.
//!
//! Quantities that journals do not show are not fitted: whether work is right, whether an agent tells the truth, what a handoff
//! loses. Turns of an objective are those of prompts that were answered, so they come out a little short if windows are often
//! exhausted.

mod samples;

use std::collections::BTreeMap;

use baton_core::{Run, RunId};
use baton_store::{Journal, JournalEntry};

use super::model::Model;
use crate::LabError;
use samples::FitSamples;

/// Observations that a median needs: with fewer, its spread cannot be estimated.
pub const SIZES_MIN: u64 = 10;

/// Occasions that a chance needs. A chance of a thousandth is then still known only to a factor of two or three.
pub const CHANCES_MIN: u64 = 200;

/// Occasions that a share needs of things that happen a few times in a run.
const SHARES_MIN: u64 = 10;

/// Hours of work that the rate of limits needs.
const HOURS_MIN: f64 = 5.0;

/// Keys of a median and its spread, and what is counted.
const SIZES: [(&str, Option<&str>, &str); 12] = [
    ("context.turn_tokens", Some("context.turn_spread"), "turns"),
    ("context.tool_tokens", Some("context.tool_spread"), "tool results"),
    ("context.start_tokens", None, "sessions"),
    ("context.window_tokens", None, "sessions"),
    ("work.turns", Some("work.turns_spread"), "objectives"),
    ("work.turn_seconds", Some("work.seconds_spread"), "turns"),
    ("work.start_seconds", None, "sessions"),
    ("exhaustion.full_at", None, "exhaustions"),
    ("exhaustion.compacts_at", None, "compactions"),
    ("quota.minutes", Some("quota.spread"), "waits"),
    ("compaction.seconds", None, "compactions"),
    ("compaction.remains", None, "compactions"),
];

/// The same for rare events, whose number is a plain median.
const RARE: [(&str, &str); 2] = [("person.minutes", "answers"), ("verification.seconds", "verifications")];

/// Chances, what they are counted over, and how many of those are needed.
const CHANCES: [(&str, &str, u64); 11] = [
    ("context.rereads", "reads", CHANCES_MIN),
    ("context.says", "runs", SHARES_MIN),
    ("trouble.stalls", "turns", CHANCES_MIN),
    ("trouble.crashes", "turns", CHANCES_MIN),
    ("trouble.errors", "turns", CHANCES_MIN),
    ("trouble.starts_fail", "starts", CHANCES_MIN),
    ("quota.says_when", "waits", SHARES_MIN),
    ("compaction.fails", "compactions", SHARES_MIN),
    ("merge.conflicts", "merges", SHARES_MIN),
    ("person.answers", "questions", SHARES_MIN),
    ("person.retries", "answers", SHARES_MIN),
];

/// Gathers what journals show.
#[derive(Debug, Default)]
pub struct ModelFitter {
    samples: FitSamples,
    runs: u64,
}

/// A fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedModel {
    /// The numbers: fitted ones, and defaults for the rest.
    pub model: Model,
    /// Runs that it was fitted from.
    pub runs: u64,
    /// The observations behind every number that can be fitted.
    pub basis: BTreeMap<&'static str, FitSupport>,
}

/// What a number rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct FitSupport {
    /// Observations.
    pub n: u64,
    /// Of what.
    pub what: &'static str,
    /// There were enough of them.
    pub enough: bool,
}

impl ModelFitter {
    /// Before the first run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a recorded run.
    ///
    /// # Errors
    /// [`LabError`] if the journal cannot be read, has no such run, or core refuses an input of it.
    pub fn take(&mut self, journal: &Journal, run: &RunId) -> Result<(), LabError> {
        let entries = journal.read(run)?.map(|entry| entry.map_err(LabError::from));
        if self.take_entries(run, entries)? == 0 {
            return Err(LabError::RunNotFound { run: run.clone(), journal: journal.path().to_owned() });
        }
        Ok(())
    }

    /// The same from entries; gives how many inputs there were.
    ///
    /// # Errors
    /// As for [`ModelFitter::take`].
    pub fn take_entries(
        &mut self,
        run: &RunId,
        entries: impl Iterator<Item = Result<JournalEntry, LabError>>,
    ) -> Result<u64, LabError> {
        let (mut folded, mut inputs) = (Run::new(), 0);
        let mut of_run = samples::RunSamples::default();
        for entry in entries {
            let JournalEntry::Input(stamped) = entry? else { continue };
            let refused = |why: String| LabError::Refused { run: run.clone(), seq: stamped.seq, why };
            let intents = folded.apply(&stamped).map_err(|why| refused(why.to_string()))?;
            of_run.take(&mut self.samples, &stamped, &intents);
            inputs += 1;
        }
        if inputs > 0 {
            self.runs += 1;
            of_run.finish(&mut self.samples, &folded);
        }
        Ok(inputs)
    }

    /// The model.
    pub fn finish(self) -> FittedModel {
        let Self { samples, runs } = self;
        let mut fitted = FittedModel { model: Model::default(), runs, basis: BTreeMap::new() };
        for (key, spread, what) in SIZES {
            fitted.size(key, spread, what, samples.sizes(key), SIZES_MIN);
        }
        for (key, what) in RARE {
            fitted.size(key, None, what, samples.sizes(key), SHARES_MIN);
        }
        for (key, what, least) in CHANCES {
            let (hits, of) = samples.share(key);
            fitted.number(key, hits as f64 / of.max(1) as f64, of, what, of >= least);
        }
        let (tools, turns) = samples.share("context.tools_per_turn");
        fitted.number(
            "context.tools_per_turn",
            tools as f64 / turns.max(1) as f64,
            turns,
            "turns",
            turns >= CHANCES_MIN,
        );
        let (hours, limits) = (samples.active_ms as f64 / 3_600_000.0, samples.share("quota.says_when").1);
        let whole_hours = hours.floor() as u64;
        fitted.number(
            "quota.per_hour",
            limits as f64 / hours.max(0.001),
            whole_hours,
            "hours of work",
            hours >= HOURS_MIN,
        );
        let fills: u64 = ["exhaustion.error", "exhaustion.text", "exhaustion.compacts"]
            .map(|key| samples.share(key).0)
            .iter()
            .sum();
        for key in ["exhaustion.error", "exhaustion.text", "exhaustion.compacts"] {
            let share = samples.share(key).0 as f64 / fills.max(1) as f64;
            fitted.number(key, share, fills, "full windows", fills >= SHARES_MIN);
        }
        fitted
    }
}

impl FittedModel {
    /// The model as a file, with what each number rests on.
    pub fn to_toml(&self) -> String {
        let remark = |(key, basis): (&&'static str, &FitSupport)| {
            let FitSupport { n, what, enough } = basis;
            let words = match enough {
                true => format!("Fitted: n = {n} {what}"),
                false => format!("Not enough data (n = {n} {what}): the default is kept"),
            };
            (*key, words)
        };
        let head = format!(
            "# Fitted by `baton simulate fit` from {} run{}.\n",
            self.runs,
            if self.runs == 1 { "" } else { "s" }
        );
        head + &self.model.to_toml(&self.basis.iter().map(remark).collect())
    }

    /// How many numbers were fitted.
    pub fn fitted(&self) -> usize {
        self.basis.values().filter(|basis| basis.enough).count()
    }

    fn size(
        &mut self,
        key: &'static str,
        spread: Option<&'static str>,
        what: &'static str,
        sizes: &[f64],
        least: u64,
    ) {
        let logs: Vec<f64> = sizes.iter().filter(|size| **size > 0.0).map(|size| size.ln()).collect();
        let n = logs.len() as u64;
        let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
        self.number(key, mean.exp(), n, what, n >= least);
        if let Some(spread) = spread {
            let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
            self.number(spread, (squares / logs.len().max(1) as f64).sqrt(), n, what, n >= least);
        }
    }

    /// Sets a number, clamped to the bounds of the model.
    fn number(&mut self, key: &'static str, value: f64, n: u64, what: &'static str, enough: bool) {
        let bounds = Model::PARAMS.iter().find(|param| param.key == key);
        if let (true, Some(param)) = (enough && value.is_finite(), bounds) {
            self.model.set(key, value.clamp(param.least, param.most));
        }
        self.basis.insert(key, FitSupport { n, what, enough });
    }
}
