//! Input of a comparison: the runs of each arm, and the analysis plan that was fixed beforehand. Analyses nothing.

use baton_core::Digest;
use baton_core::ids::ExperimentId;
use serde::{Deserialize, Serialize};

use crate::run_metrics::RunMetrics;
use crate::stats::{MIN_PER_ARM, sequential, srm};

/// The runs of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmSample {
    /// Its name.
    pub arm: String,
    /// The policy that decides in it.
    pub policy: String,
    /// The component of that policy, if known.
    pub component: Option<Digest>,
    /// Its weight; those of all arms need not sum to 1.
    pub weight: f64,
    /// What its runs came to, in the order in which they began. Paired by seed, the i-th of each arm has the i-th seed.
    pub measures: Vec<RunMetrics>,
    /// Units that got the arm and of which nothing can be said, with the reason.
    pub invalid: Vec<InvalidUnit>,
}

/// A unit without an outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvalidUnit {
    /// Id of the unit.
    pub unit: String,
    /// Why it cannot count.
    pub reason: String,
}

/// How units are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonDesign {
    /// Each unit got its arm by chance. Runs of one assigned unit count once.
    Independent,
    /// The i-th unit of each arm met the same world.
    PairedBySeed,
    /// Runs of the same task are not independent evidence: each task counts once in an arm.
    ClusteredByTask,
}

impl ComparisonDesign {
    /// In a few words.
    pub const fn name(self) -> &'static str {
        match self {
            ComparisonDesign::Independent => "independent runs",
            ComparisonDesign::PairedBySeed => "pairs with the same seed",
            ComparisonDesign::ClusteredByTask => "runs clustered by task",
        }
    }

    /// What is counted: "run", "pair", "task".
    pub const fn unit(self) -> &'static str {
        match self {
            ComparisonDesign::Independent => "run",
            ComparisonDesign::PairedBySeed => "pair",
            ComparisonDesign::ClusteredByTask => "task",
        }
    }
}

/// Who may look when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnalysisSchedule {
    /// Anybody, at any time: confidence sequences and betting.
    AnyTime,
    /// Once, at a number of units that was fixed beforehand: t and exact tests.
    Once,
}

impl AnalysisSchedule {
    /// What an interval is called: "CS" holds at any time, "CI" for one look.
    pub const fn interval(self) -> &'static str {
        match self {
            AnalysisSchedule::AnyTime => "CS",
            AnalysisSchedule::Once => "CI",
        }
    }
}

/// How the comparison treats units that are still running or wait for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnfinishedHandling {
    /// They are listed as not yet known.
    NotYetKnown,
    /// They count with their values so far; their end is not awaited.
    AsTheyStand,
}

/// The analysis plan, fixed before the first look at the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareOptions {
    /// What is compared.
    pub title: String,
    /// The experiment; it defines the value that is hashed for each run.
    pub experiment: Option<ExperimentId>,
    /// How units are matched.
    pub design: ComparisonDesign,
    /// Who may look when.
    pub looks: AnalysisSchedule,
    /// What becomes of unfinished units.
    pub unfinished: UnfinishedHandling,
    /// False-positive rate (alpha).
    pub alpha: f64,
    /// Chance of detecting a real effect; used to compute the number of units that would settle the question.
    pub power: f64,
    /// Units, both arms together, at which a confidence sequence is narrowest.
    pub n_star: f64,
    /// Units that an arm needs before anything is said.
    pub min_per_arm: u64,
    /// Equivalence margin for completed objectives, relative to control.
    pub objectives_margin: f64,
    /// Equivalence margin for tokens, relative to control.
    pub tokens_margin: f64,
    /// Points by which a guardrail may get worse.
    pub guardrail_margin: f64,
    /// Whether chance gave the arms out, so that their sizes say whether it worked.
    pub randomised: bool,
    /// Level at which a mismatch of the shares stops everything.
    pub srm_alpha: f64,
    /// Points of a path.
    pub path_points: usize,
}

impl Default for CompareOptions {
    fn default() -> CompareOptions {
        CompareOptions {
            title: String::new(),
            experiment: None,
            design: ComparisonDesign::Independent,
            looks: AnalysisSchedule::AnyTime,
            unfinished: UnfinishedHandling::NotYetKnown,
            alpha: 0.05,
            power: 0.8,
            n_star: sequential::DEFAULT_N_STAR,
            min_per_arm: MIN_PER_ARM,
            objectives_margin: 0.05,
            tokens_margin: 0.10,
            guardrail_margin: 0.0,
            randomised: true,
            srm_alpha: srm::DEFAULT_ALPHA,
            path_points: 60,
        }
    }
}
