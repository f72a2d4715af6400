//! A candidate on several runs: sums over all of them, and the differences of each that are worth showing. Runs are
//! independent, so several are read at a time; memory is bounded for any number of runs.

use std::collections::BTreeMap;

use baton_core::RunId;
use baton_core::observation::PolicyRequest;
use baton_engine::{ConfiguredPolicy, PolicyAnswer, StatefulPolicyError};
use baton_store::{ArtifactStore, Journal};
use rayon::prelude::*;

use super::counterfactual::{Counterfactual, ReplayError, ReplayOptions, counterfactual};
use super::evaluator::{CandidateEvaluator, FreshEvaluator, ReusingEvaluator};
use super::on_policy::{DecisionDifference, FirstDivergence, FunctionMatches};
use super::warning_quality::{ContextWarnings, WarningStats, keep_informative};

/// Runs that are handed out at a time, for each thread: their results wait for each other to be taken in the order of the runs.
const RUNS_PER_THREAD: usize = 4;

/// A run, and the journal that contains it.
#[derive(Clone)]
pub struct RecordedRun {
    /// The journal that has it.
    pub journal: Journal,
    /// Which run.
    pub run: RunId,
    /// The artifacts of its workspace, if they are kept.
    pub artifacts: Option<ArtifactStore>,
}

/// What came of a candidate on several runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayResult {
    /// Each run in short, in the order in which they were named.
    pub runs: Vec<RunReplaySummary>,
    /// By `interface.function`.
    pub functions: BTreeMap<&'static str, FunctionMatches>,
    /// The first differences, in order; of each run those on the candidate's course first.
    pub differences: Vec<(RunId, DecisionDifference)>,
    /// How many more there are.
    pub differences_beyond: u64,
    /// The first point of each phase at which the candidate would have made the host act differently.
    pub departures: Vec<(RunId, FirstDivergence)>,
    /// How many more there are.
    pub departures_beyond: u64,
    /// Contexts, with the warnings of both; those that tell something before those that do not.
    pub contexts: Vec<(RunId, ContextWarnings)>,
    /// How many more there are.
    pub contexts_beyond: u64,
    /// Quality of the warnings of the runs' own policies.
    pub recorded: WarningStats,
    /// The same for the candidate's warnings; absent if the candidate is not asked about exhaustion.
    pub candidate: Option<WarningStats>,
    /// Contexts in which the candidate had left the course of the run before they were over.
    pub off_course_contexts: u64,
    /// Questions, whether they were put to the candidate or not.
    pub questions: u64,
    /// With kept instances: how many answers were held to those of fresh ones.
    pub compared: Option<u64>,
    /// Instances were to be kept, and it was seen that they must not be; everything was asked again with fresh ones.
    pub remembers: Option<StatefulPolicyError>,
}

/// One run of several.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReplaySummary {
    /// Its id.
    pub run: RunId,
    /// Its questions.
    pub questions: u64,
    /// Answers on the candidate's course.
    pub on_course: u64,
    /// Those of them that are other ones, or none.
    pub otherwise: u64,
    /// Answers off it.
    pub off_course: u64,
    /// Quality of the warnings of its own policies.
    pub recorded: WarningStats,
    /// The same for the candidate's warnings.
    pub candidate: Option<WarningStats>,
}

/// How the candidate is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceMode {
    /// A fresh instance for each question, as in a live run.
    Fresh,
    /// Kept from question to question, as long as no answer differs from that of a fresh one.
    Kept,
}

/// Puts the questions of recorded runs to a candidate, on as many threads as there are cores.
///
/// # Errors
/// Those of reading a run.
pub fn replay(
    runs: &[RecordedRun],
    asked: &ReplayOptions,
    candidate: &ConfiguredPolicy,
    instances: InstanceMode,
) -> Result<ReplayResult, ReplayError> {
    let lanes = rayon::current_num_threads();
    let fresh = FreshEvaluator::new(candidate, lanes);
    let kept = match instances {
        InstanceMode::Fresh => None,
        InstanceMode::Kept => ReusingEvaluator::new(candidate, lanes),
    };
    let Some(kept) = kept else { return replay_with(runs, asked, &fresh) };
    match replay_with(runs, asked, &kept) {
        Err(ReplayError::StatefulPolicy(remembers)) => {
            // The earlier answers of a stateful policy depend on its memory, so none of them is used.
            drop(kept);
            let replayed = replay_with(runs, asked, &fresh)?;
            Ok(ReplayResult { remembers: Some(remembers), ..replayed })
        }
        other => other,
    }
}

/// The same with any [`CandidateEvaluator`].
///
/// # Errors
/// Those of reading a run, and [`ReplayError::StatefulPolicy`].
pub fn replay_with(
    runs: &[RecordedRun],
    asked: &ReplayOptions,
    candidate: &dyn CandidateEvaluator,
) -> Result<ReplayResult, ReplayError> {
    let mut replayed = ReplayResult::default();
    if let [RecordedRun { journal, run, .. }] = runs {
        replayed.take(run, counterfactual(journal, run, asked, candidate)?, asked.kept);
    } else {
        // Each run has its own thread: no data is passed between runs.
        for some in runs.chunks(RUNS_PER_THREAD * rayon::current_num_threads()) {
            let found: Vec<_> = some
                .par_iter()
                .map(|RecordedRun { journal, run, .. }| {
                    counterfactual(journal, run, asked, &PerThreadEvaluator(candidate))
                })
                .collect();
            for (one, found) in some.iter().zip(found) {
                replayed.take(&one.run, found?, asked.kept);
            }
        }
    }
    replayed.contexts.sort_by_key(|(_, context)| !context.is_informative());
    replayed.compared = candidate.compared();
    Ok(replayed)
}

/// Asks in the lane of the thread that it is on.
struct PerThreadEvaluator<'a>(&'a dyn CandidateEvaluator);

impl CandidateEvaluator for PerThreadEvaluator<'_> {
    fn lanes(&self) -> usize {
        1
    }

    fn ask(&self, _: usize, question: &PolicyRequest) -> Result<PolicyAnswer, StatefulPolicyError> {
        self.0.ask(rayon::current_thread_index().unwrap_or_default(), question)
    }
}

impl ReplayResult {
    /// Takes in one run more, and keeps no more than `kept` of anything.
    fn take(&mut self, run: &RunId, found: Counterfactual, kept: usize) {
        let Counterfactual { tried, contexts, contexts_beyond, recorded, candidate, .. } = found;
        let mut sums = RunReplaySummary {
            run: run.clone(),
            questions: found.questions,
            on_course: 0,
            otherwise: 0,
            off_course: 0,
            recorded,
            candidate,
        };
        for (name, function) in tried.functions {
            sums.on_course += function.on_course.asked();
            sums.otherwise += function.on_course.differs + function.on_course.faults;
            sums.off_course += function.off_course.asked();
            self.functions.entry(name).or_default().add(&function);
        }
        self.runs.push(sums);
        self.recorded.add(&recorded);
        if let Some(candidate) = candidate {
            self.candidate.get_or_insert_default().add(&candidate);
        }
        self.off_course_contexts += found.off_course_contexts;
        self.questions += found.questions;
        self.differences_beyond +=
            tried.differences_beyond + extend_bounded(&mut self.differences, run, tried.differences, kept);
        self.departures_beyond +=
            tried.departures_beyond + extend_bounded(&mut self.departures, run, tried.departures, kept);
        self.contexts_beyond += contexts_beyond;
        for context in contexts {
            let is_one_left_out =
                keep_informative(&mut self.contexts, (run.clone(), context), kept, |(_, one)| one);
            self.contexts_beyond += u64::from(is_one_left_out);
        }
    }
}

/// Adds at most the entries that there is room for, and returns the number of the others.
fn extend_bounded<T>(all: &mut Vec<(RunId, T)>, run: &RunId, more: Vec<T>, kept: usize) -> u64 {
    let room = kept.saturating_sub(all.len());
    let beyond = more.len().saturating_sub(room);
    all.extend(more.into_iter().take(room).map(|one| (run.clone(), one)));
    beyond as u64
}
