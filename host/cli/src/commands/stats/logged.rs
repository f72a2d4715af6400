//! Estimates the value of another policy from a file of logged decisions.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use baton_lab::stats::off_policy::{LoggedDecision, MIN_EFFECTIVE, value};
use clap::{Args, ValueHint};

use super::StatsAnswerResult;
use crate::args::OutputFormatArg;
use crate::exit_status::UsageError;
use crate::render::stats::{StatsAnswer, number};

/// Largest file: some hundred thousand decisions.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// What another policy would have earned, from decisions that were logged with their chances
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton stats off-policy logged.json
  jq -s . logged.jsonl | baton stats off-policy - --clip 10

The file is a list of decisions:
  [{\"action\": 0, \"reward\": 1, \"behaviour\": 0.8, \"target\": [0.1, 0.9], \"predicted\": [0.4, 0.7]}, …]
action: what was done, from 0. behaviour: the chance that it had. target: the chances that the other policy gives to each action. \
predicted: what a model says each would earn; may be left out of all.")]
pub(crate) struct OffPolicyArgs {
    /// The decisions, `-` for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// The largest weight that the clipped estimate takes
    #[arg(long, value_name = "WEIGHT", default_value_t = 3.0)]
    clip: f64,
    #[command(flatten)]
    pub(super) format: OutputFormatArg,
}

impl OffPolicyArgs {
    pub(super) fn answer(&self) -> StatsAnswerResult {
        let name = self.file.display();
        let rows: Vec<LoggedDecision> = serde_json::from_str(&read(&self.file)?)
            .map_err(|error| UsageError(format!("{name} is not a list of decisions: {error}")))?;
        let found = value(&rows, self.clip)?;
        let worth = number(found.effective);
        let sentence = match found.headline() {
            Ok(best) => format!(
                "the other policy is worth {}, an estimate as good as from {worth} of its own decisions",
                number(best)
            ),
            Err(_) => format!(
                "no headline: these decisions are worth {worth} of the other policy's own, and {MIN_EFFECTIVE} are needed"
            ),
        };
        Ok(StatsAnswer::new("stats-off-policy", sentence)
            .with("effective", found.effective)
            .with("ips", found.ips)
            .with("ips_se", found.ips_se)
            .with("snips", found.snips)
            .with("snips_se", found.snips_se)
            .with("clipped_ips", found.clipped_ips)
            .with("clip", found.clip)
            .with("dm", found.dm)
            .with("dr", found.dr)
            .with("dr_se", found.dr_se)
            .with("sn_dr", found.sn_dr)
            .with("largest_weight", found.largest_weight)
            .with("n", found.n))
    }
}

fn read(file: &Path) -> Result<String, UsageError> {
    let name = file.display();
    let cannot = |error: std::io::Error| UsageError(format!("cannot read {name}: {error}"));
    let input: Box<dyn Read> = match file == Path::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(File::open(file).map_err(cannot)?),
    };
    let mut text = String::new();
    input.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(cannot)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(UsageError(format!("{name} is longer than {MAX_FILE_BYTES} bytes")));
    }
    Ok(text)
}
