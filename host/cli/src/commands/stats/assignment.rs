//! Who gets which arm, and whether the arms got their shares.

use baton_lab::stats::srm;
use baton_runtime::core::bucketing;
use clap::Args;

use super::{StatsAnswerResult, units};
use crate::args::OutputFormatArg;
use crate::exit_status::UsageError;
use crate::render::stats::{StatsAnswer, number};
use crate::render::text_format;

/// No experiment has more arms.
const ARMS_MAX: u16 = 100;

/// Which arm an id gets, by GrowthBook's published algorithm
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton stats bucket run-7f --seed split-v2
  baton stats bucket run-7f --seed split-v2 --weights .4,.6 --coverage .5
  baton stats bucket a --seed '' --hash-version 1

Weights that do not sum to 1 are taken for equal ones, as the official SDKs do.")]
pub(crate) struct BucketArgs {
    /// The id of a unit: the root task
    #[arg(value_name = "ID")]
    value: String,
    /// Seed of the experiment, which separates it from others
    #[arg(long, value_name = "SEED")]
    seed: String,
    /// Version of the hash: 2, or 1 for units that were assigned with it
    #[arg(long, value_name = "VERSION", default_value_t = 2)]
    hash_version: u32,
    /// Weight of each arm [default: equal]
    #[arg(long, value_name = "WEIGHT,…", value_delimiter = ',')]
    weights: Vec<f64>,
    /// Number of arms, if no weights are given
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=i64::from(ARMS_MAX)))]
    arms: u16,
    /// Fraction of the ids that take part (0–1)
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    coverage: f64,
    #[command(flatten)]
    pub(super) format: OutputFormatArg,
}

impl BucketArgs {
    pub(super) fn answer(&self) -> StatsAnswerResult {
        let bucket = bucketing::hash(&self.seed, &self.value, self.hash_version).ok_or_else(|| {
            UsageError(format!("unknown version {} of the hash; there are 1 and 2", self.hash_version))
        })?;
        let weights = (!self.weights.is_empty()).then_some(self.weights.as_slice());
        let arms = weights.map_or(usize::from(self.arms), <[f64]>::len);
        if arms > usize::from(ARMS_MAX) {
            return Err(UsageError(format!("{arms} arms are more than {ARMS_MAX}")));
        }
        let ranges = bucketing::ranges(arms, self.coverage, weights);
        let arm = bucketing::choose(bucket, &ranges);
        let sentence = match arm {
            Some(arm) => {
                format!("{} is in bucket {}, which is arm {arm} (from 0)", self.value, number(bucket))
            }
            None => format!("{} is in bucket {}, which no arm covers", self.value, number(bucket)),
        };
        let shown: Vec<String> =
            ranges.iter().map(|range| format!("[{}, {})", number(range.start), number(range.end))).collect();
        Ok(StatsAnswer::new("stats-bucket", sentence)
            .with("bucket", bucket)
            .with("arm", arm)
            .with("ranges", shown)
            .with("hash_version", self.hash_version))
    }
}

/// Sample ratio mismatch: whether the arms got their planned shares of units
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton stats srm 5000,5300
  baton stats srm 600,400 --weights .5,.5
  baton stats srm 100,210,690 --weights 1,2,7

The e-value may be looked at at any time; χ² once. An arm of weight 0 is none.")]
pub(crate) struct SrmArgs {
    /// Units in each arm
    #[arg(value_name = "COUNT,…", value_delimiter = ',', required = true)]
    counts: Vec<f64>,
    /// Weight of each arm [default: equal]
    #[arg(long, value_name = "WEIGHT,…", value_delimiter = ',')]
    weights: Vec<f64>,
    #[command(flatten)]
    pub(super) format: OutputFormatArg,
}

impl SrmArgs {
    pub(super) fn answer(&self) -> StatsAnswerResult {
        let counts: Result<Vec<u64>, String> = self.counts.iter().map(|count| units(*count)).collect();
        let counts = counts.map_err(UsageError)?;
        let weights = if self.weights.is_empty() { vec![1.0; counts.len()] } else { self.weights.clone() };
        let (once, always) = (srm::chi_square(&counts, &weights)?, srm::sequential(&counts, &weights)?);
        let verdict = match always.rejects(srm::DEFAULT_ALPHA) {
            true => {
                "alarm: the arms did not get their shares, so something in the assignment or the recording is broken"
            }
            false => "no alarm: these counts may well come of these weights",
        };
        let outside = match u32::try_from(once.outside).unwrap_or(u32::MAX) {
            0 => String::new(),
            outside => format!("; {} in arms without a weight", text_format::count(outside, "unit")),
        };
        Ok(StatsAnswer::new("stats-srm", format!("{verdict}{outside}"))
            .with("e_p", always.p)
            .with("ln_e", always.ln_e)
            .with("alarm_below", srm::DEFAULT_ALPHA)
            .with("chi_square", once.statistic)
            .with("df", once.df)
            .with("chi_square_p", once.p)
            .with("outside", (once.outside > 0).then_some(once.outside)))
    }
}
