//! The definition of an experiment: its arms, their shares of the units, the capabilities that they decide, and the analysis
//! plan. Plain data and its rules; `store.rs` keeps it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use baton_core::bucketing::{self, BucketRange};
use baton_core::grants::Grants;
use baton_core::ids::{ArmName, ExperimentId};
use baton_core::observation::Capability;
use baton_core::workflow::GivenSetting;
use baton_core::{Digest, UnixMs};
use serde::{Deserialize, Serialize};

use crate::compare::CompareOptions;

/// Version of the file. A file of another one is refused, and says so.
pub const SCHEMA: u32 = 1;

/// GrowthBook's second hash: 10,000 buckets, and no correlation between seeds.
pub const HASH_VERSION: u32 = 2;

/// A name becomes a folder, and is read aloud.
const NAME_BYTES_MAX: usize = 64;

/// With more arms, none of them would ever get enough units.
const ARMS_MAX: usize = 10;

/// Why something about an experiment did not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The file system.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A definition that was not written by this program, or was changed since.
    #[error(
        "the experiment file {} is broken: {why}. Mend it, or move its folder away to be without the experiment",
        path.display()
    )]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// No experiment has this name.
    #[error("there is no experiment {name}; {known}")]
    UnknownExperiment {
        /// What was asked for.
        name: String,
        /// Which there are, as a clause.
        known: String,
    },
    /// What was asked for makes no sense; says what would.
    #[error("{0}")]
    Refused(String),
    /// State directories and journals.
    #[error(transparent)]
    Store(#[from] baton_store::StoreError),
}

/// An experiment with all its versions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentDefinition {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What it is called.
    pub name: ExperimentId,
    /// What units are hashed with.
    pub seed: String,
    /// Which hash.
    pub hash_version: u32,
    /// What gets an arm.
    pub unit: UnitKind,
    /// The bucket versions, the first one first; only the last one may take units.
    pub versions: Vec<ExperimentVersion>,
}

/// What gets an arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitKind {
    /// Every run for itself.
    #[default]
    Run,
    /// The same work always gets the same arm; its runs are not independent evidence, and are counted as one.
    Task,
}

impl UnitKind {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            UnitKind::Run => "run",
            UnitKind::Task => "task",
        }
    }
}

/// One bucketing: other components or weights are another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentVersion {
    /// From 1.
    pub version: u32,
    /// When it began to take units.
    pub started_at: UnixMs,
    /// Whether it still does.
    pub state: VersionState,
    /// Fraction of units to enrol, from 0 to 1.
    pub coverage: f64,
    /// What the arms decide; everything else is decided as the workflow says.
    pub decides: Vec<Capability>,
    /// Control comes first.
    pub arms: Vec<ExperimentArm>,
    /// Which runs it is about.
    #[serde(default)]
    pub only: RunTargeting,
    /// How it is judged.
    pub analysis: AnalysisPlan,
}

/// Whether a version takes units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "is", deny_unknown_fields)]
pub enum VersionState {
    /// It does.
    Running,
    /// The user ended it.
    Stopped {
        /// Time of the stop.
        at: UnixMs,
        /// Why, as they said.
        why: String,
    },
    /// A guardrail ended it. Runs that have begun continue.
    Tripped {
        /// Time at which the guardrail tripped.
        at: UnixMs,
        /// Which, and by what.
        why: String,
    },
}

/// One alternative.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentArm {
    /// What it is called.
    pub name: ArmName,
    /// What was written for it; kept for people.
    pub reference: String,
    /// What its component is called.
    pub policy: String,
    /// Its component, whose bytes are kept next to the definition.
    pub component: Digest,
    /// Its share of the units, of 1 together.
    pub weight: f64,
    /// What is set for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, GivenSetting>,
    /// What it is granted beyond the usual.
    #[serde(default, skip_serializing_if = "Grants::is_empty")]
    pub grants: Grants,
    /// Its component was taken without the check that it is fit to decide.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
}

/// Which runs an experiment applies to; an absent field matches every run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunTargeting {
    /// Those of this workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Those in this folder, canonical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
}

/// The analysis plan of an experiment, fixed before the first look at the data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnalysisPlan {
    /// False-positive rate (alpha), valid for any number of looks.
    pub alpha: f64,
    /// Equivalence margin for completed objectives, relative to control.
    pub objectives_margin: f64,
    /// Equivalence margin for tokens, relative to control.
    pub tokens_margin: f64,
    /// By how much a share that must not get worse (finished runs, runs without a fault, without a timeout) may do so.
    pub guardrail_margin: f64,
}

impl Default for AnalysisPlan {
    fn default() -> Self {
        let CompareOptions { alpha, objectives_margin, tokens_margin, guardrail_margin, .. } =
            CompareOptions::default();
        Self { alpha, objectives_margin, tokens_margin, guardrail_margin }
    }
}

impl ExperimentDefinition {
    /// The version that may take units.
    pub fn current(&self) -> Option<&ExperimentVersion> {
        self.versions.last()
    }

    /// One of its versions.
    pub fn version(&self, number: u32) -> Option<&ExperimentVersion> {
        self.versions.iter().find(|version| version.version == number)
    }

    /// Checks the definition and returns the first mistake: a file may have been written by hand.
    pub fn check(&self) -> Result<(), String> {
        checked_name(self.name.as_str())?;
        if self.schema != SCHEMA {
            return Err(format!("its schema is {}, and this baton reads {SCHEMA}", self.schema));
        }
        if self.hash_version != HASH_VERSION {
            return Err(format!(
                "its hash_version is {}, and this baton has {HASH_VERSION}",
                self.hash_version
            ));
        }
        if !self.seed.is_ascii() || self.seed.is_empty() {
            return Err("its seed must be ASCII, and not empty".to_owned());
        }
        if self.versions.is_empty() {
            return Err("it has no version".to_owned());
        }
        for (index, version) in self.versions.iter().enumerate() {
            if usize::try_from(version.version).ok() != Some(index + 1) {
                return Err("its versions are not counted from 1".to_owned());
            }
            version.check().map_err(|why| format!("version {}: {why}", version.version))?;
        }
        Ok(())
    }
}

impl ExperimentVersion {
    fn check(&self) -> Result<(), String> {
        if self.arms.len() < 2 || self.arms.len() > ARMS_MAX {
            return Err(format!("it has {} arms; there must be 2 to {ARMS_MAX}", self.arms.len()));
        }
        for (index, arm) in self.arms.iter().enumerate() {
            checked_name(arm.name.as_str())?;
            if self.arms[..index].iter().any(|other| other.name == arm.name) {
                return Err(format!("two arms are called {}", arm.name));
            }
            if !(arm.weight.is_finite() && arm.weight > 0.0) {
                return Err(format!("arm {} has the weight {}; it must be above 0", arm.name, arm.weight));
            }
        }
        let sum: f64 = self.arms.iter().map(|arm| arm.weight).sum();
        if (sum - 1.0).abs() > 1e-6 {
            return Err(format!("the weights of its arms are {sum} together, not 1"));
        }
        if self.decides.is_empty() {
            return Err("its arms decide nothing".to_owned());
        }
        within("coverage", self.coverage, 0.0, 1.0)?;
        if self.coverage == 0.0 {
            return Err("coverage 0 takes nobody".to_owned());
        }
        let AnalysisPlan { alpha, objectives_margin, tokens_margin, guardrail_margin } = self.analysis;
        within("alpha", alpha, 1e-6, 0.5)?;
        within("the margin of objectives", objectives_margin, 0.0, 1.0)?;
        within("the margin of tokens", tokens_margin, 0.0, 1.0)?;
        within("the margin of guardrails", guardrail_margin, 0.0, 1.0)
    }

    /// Whether it takes units.
    pub fn is_running(&self) -> bool {
        self.state == VersionState::Running
    }

    /// An arm by its name.
    pub fn arm(&self, name: &ArmName) -> Option<&ExperimentArm> {
        self.arms.iter().find(|arm| arm.name == *name)
    }

    /// The chance of each arm, of 1 together.
    pub fn propensities(&self) -> BTreeMap<ArmName, f64> {
        self.arms.iter().map(|arm| (arm.name.clone(), arm.weight)).collect()
    }

    /// The weights, control first.
    pub fn weights(&self) -> Vec<f64> {
        self.arms.iter().map(|arm| arm.weight).collect()
    }

    /// The part of [0, 1) of each arm.
    pub fn ranges(&self) -> Vec<BucketRange> {
        bucketing::ranges(self.arms.len(), self.coverage, Some(&self.weights()))
    }

    /// The difference to another version that forbids counting their units together; none if there is no such difference.
    pub fn differs_from(&self, other: &ExperimentVersion) -> Option<String> {
        let names = |version: &ExperimentVersion| {
            version.arms.iter().map(|arm| arm.name.as_str().to_owned()).collect::<Vec<_>>().join(", ")
        };
        if names(self) != names(other) {
            return Some(format!("its arms are {}, not {}", names(other), names(self)));
        }
        for (mine, theirs) in self.arms.iter().zip(&other.arms) {
            let arm = &mine.name;
            if mine.component != theirs.component {
                let (mine, theirs) = (mine.component.short(), theirs.component.short());
                return Some(format!("the component of {arm} is {theirs}, not {mine}"));
            }
            if (mine.weight - theirs.weight).abs() > 1e-9 {
                return Some(format!("the weight of {arm} is {}, not {}", theirs.weight, mine.weight));
            }
            if mine.settings != theirs.settings {
                return Some(format!("other settings are given to {arm}"));
            }
            if mine.grants != theirs.grants {
                return Some(format!("{arm} was granted {}, not {}", theirs.grants, mine.grants));
            }
        }
        let others = [
            ("what its arms decide", self.decides != other.decides),
            ("its coverage", self.coverage != other.coverage),
            ("what it is about (--workflow, --workspace)", self.only != other.only),
            ("its alpha or a margin", self.analysis != other.analysis),
        ];
        others.into_iter().find(|(_, differs)| *differs).map(|(what, _)| format!("{what} was another"))
    }
}

fn within(what: &str, value: f64, least: f64, most: f64) -> Result<(), String> {
    match value.is_finite() && (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(format!("{what} is {value}; it must be from {least} to {most}")),
    }
}

/// A name that is a folder on any machine, and is hashed alike by every SDK.
pub fn checked_name(name: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    match begins && name.len() <= NAME_BYTES_MAX && name.bytes().all(plain) {
        true => Ok(()),
        false => Err(format!(
            "{name:?} is no name: take ASCII letters, digits, `-`, `_` and `.`, at most {NAME_BYTES_MAX} of them, and begin with a letter or a digit"
        )),
    }
}
