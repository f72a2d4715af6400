//! A candidate on recorded runs: where it would have decided differently, and the quality of its warnings. One thread reads a
//! run and folds it; the questions go in batches to the evaluator; the answers are compared with the recorded ones in the order
//! of the run. At most a few batches of a run are in memory at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;
use std::thread;

use baton_core::RunId;
use baton_core::observation::Capability;
use baton_engine::{PolicyAnswer, StatefulPolicyError};
use baton_store::Journal;
use rayon::prelude::*;

use super::evaluator::CandidateEvaluator;
use super::on_policy::{OnPolicyTracker, QueryContext, TrialResult};
use super::run_reader::{RunEvent, walk};
use super::warning_quality::{ContextWarnings, WarningOutcome, WarningStats, keep_informative, warns};
use crate::LabError;
use crate::context_outcome::{ClosedContext, ContextId, SessionMoment};

/// Events per batch: enough to make the cost of handing it over negligible.
const BATCH_EVENTS: usize = 512;

/// Portions that wait: one is being asked, one is being read.
const BATCHES_QUEUED: usize = 2;

/// What is asked of a replay.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// What is put to the candidate; the rest is counted.
    pub decides: BTreeSet<Capability>,
    /// Differences, departures and contexts that are kept of each run to be shown.
    pub kept: usize,
}

/// What came of a candidate on one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterfactual {
    /// Its answers compared with the recorded ones.
    pub tried: TrialResult,
    /// Contexts, as many as are kept: those that say something first to come.
    pub contexts: Vec<ContextWarnings>,
    /// How many more there are.
    pub contexts_beyond: u64,
    /// What the warnings of the run's own policies came to.
    pub recorded: WarningStats,
    /// The same for the candidate's warnings; absent if the candidate is not asked about exhaustion.
    pub candidate: Option<WarningStats>,
    /// Contexts in which the candidate had left the course of the run before they were over.
    pub off_course_contexts: u64,
    /// Questions of the run, whether they were put to the candidate or not.
    pub questions: u64,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The run cannot be read.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The candidate has to be asked with fresh instances.
    #[error(transparent)]
    StatefulPolicy(#[from] StatefulPolicyError),
}

/// Puts the questions of a recorded run to a candidate.
///
/// # Errors
/// Those of reading the run, and [`ReplayError::StatefulPolicy`] where instances are kept and should not be.
pub fn counterfactual(
    journal: &Journal,
    run: &RunId,
    asked: &ReplayOptions,
    candidate: &dyn CandidateEvaluator,
) -> Result<Counterfactual, ReplayError> {
    if candidate.lanes() == 1 {
        return replay_on_this_thread(journal, run, asked, candidate);
    }
    let mut account = CounterfactualFold::new(asked);
    thread::scope(|scope| {
        let (portions, read) = sync_channel::<Vec<RunEvent>>(BATCHES_QUEUED);
        let reader = scope.spawn(move || {
            let mut portion = Vec::with_capacity(BATCH_EVENTS);
            walk(journal, run, |event| {
                portion.push(event);
                // The receiver is gone: evaluation has failed, so reading stops.
                if portion.len() >= BATCH_EVENTS && portions.send(std::mem::take(&mut portion)).is_err() {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
            let _ = portions.send(portion);
            Ok::<_, LabError>(())
        });
        let answered = read.iter().try_for_each(|portion| {
            let answers = ask_all(&portion, asked, candidate)?;
            portion.into_iter().zip(answers).for_each(|(event, answer)| account.take(event, answer));
            Ok::<_, StatefulPolicyError>(())
        });
        drop(read);
        // A panic of the reader is passed on: the events read so far are not the whole run.
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        answered?;
        Ok(())
    })
    .map(|()| account.finish())
}

/// The same on this thread alone: for one of many runs, each of which has its thread.
fn replay_on_this_thread(
    journal: &Journal,
    run: &RunId,
    asked: &ReplayOptions,
    candidate: &dyn CandidateEvaluator,
) -> Result<Counterfactual, ReplayError> {
    let mut account = CounterfactualFold::new(asked);
    let mut remembers = None;
    walk(journal, run, |event| match ask(&event, asked, candidate, 0) {
        Ok(answer) => {
            account.take(event, answer);
            ControlFlow::Continue(())
        }
        Err(error) => {
            remembers = Some(error);
            ControlFlow::Break(())
        }
    })?;
    match remembers {
        Some(remembers) => Err(remembers.into()),
        None => Ok(account.finish()),
    }
}

/// The answer, if the event is a question for the candidate.
fn ask(
    event: &RunEvent,
    asked: &ReplayOptions,
    candidate: &dyn CandidateEvaluator,
    lane: usize,
) -> Result<Option<PolicyAnswer>, StatefulPolicyError> {
    match event {
        RunEvent::Query(met, _) if asked.decides.contains(&met.question.query.capability()) => {
            candidate.ask(lane, &met.question).map(Some)
        }
        _ => Ok(None),
    }
}

/// The answers to those events of a batch that are questions for the candidate; each lane has its own thread.
fn ask_all(
    portion: &[RunEvent],
    asked: &ReplayOptions,
    candidate: &dyn CandidateEvaluator,
) -> Result<Vec<Option<PolicyAnswer>>, StatefulPolicyError> {
    let of_a_lane = portion.len().div_ceil(candidate.lanes()).max(1);
    let parts: Result<Vec<Vec<_>>, StatefulPolicyError> = portion
        .par_chunks(of_a_lane)
        .enumerate()
        .map(|(lane, part)| part.iter().map(|event| ask(event, asked, candidate, lane)).collect())
        .collect();
    Ok(parts?.into_iter().flatten().collect())
}

/// The warnings of a context that is not over.
#[derive(Default)]
struct FirstWarnings {
    recorded: Option<SessionMoment>,
    candidate: Option<SessionMoment>,
    about: QueryContext,
}

/// Compares answers, in the order of the run.
struct CounterfactualFold {
    course: OnPolicyTracker,
    warned: BTreeMap<ContextId, FirstWarnings>,
    kept: usize,
    found: Counterfactual,
}

impl CounterfactualFold {
    fn new(asked: &ReplayOptions) -> Self {
        let about_exhaustion = asked.decides.contains(&Capability::Exhaustion);
        Self {
            course: OnPolicyTracker::new(asked.decides.iter().copied(), asked.kept),
            warned: BTreeMap::new(),
            kept: asked.kept,
            found: Counterfactual {
                tried: TrialResult::default(),
                contexts: Vec::new(),
                contexts_beyond: 0,
                recorded: WarningStats::default(),
                candidate: about_exhaustion.then(WarningStats::default),
                off_course_contexts: 0,
                questions: 0,
            },
        }
    }

    fn take(&mut self, event: RunEvent, answer: Option<PolicyAnswer>) {
        match event {
            RunEvent::Over(over) => self.over(over),
            RunEvent::Query(met, context) => {
                self.found.questions += 1;
                if let Some((context, put)) = context {
                    let warned = self.warned.entry(context).or_default();
                    if warns(met.recorded.as_ref().ok()) {
                        warned.recorded.get_or_insert(put);
                    }
                    let warned_by = |answer: &PolicyAnswer| match answer {
                        // The candidate abstains, so the recorded answer decides whether there is a warning.
                        Ok(None) => warns(met.recorded.as_ref().ok()),
                        answer => warns(answer.as_ref().ok().and_then(Option::as_ref)),
                    };
                    if answer.as_ref().is_some_and(warned_by) {
                        warned.candidate.get_or_insert(put);
                    }
                    if warned.about.phases.is_empty() {
                        warned.about.clone_from(&met.about);
                    }
                }
                match answer {
                    Some(answer) => self.course.compare_answer(*met, answer),
                    None => self.course.not_asked(&met.question),
                }
            }
        }
    }

    fn over(&mut self, over: ClosedContext) {
        let ClosedContext { context, phase, outcome, then } = over;
        let mut warned = self.warned.remove(&context).unwrap_or_default();
        // If no question was about this context, only its phase is known.
        if warned.about.phases.is_empty() {
            warned.about.phases.push(phase.clone());
        }
        let recorded = WarningOutcome::of(warned.recorded, outcome, then);
        self.found.recorded.count(&recorded);
        let candidate = match &mut self.found.candidate {
            // A context without questions has no warning of either policy.
            Some(sums) => {
                let alarm = WarningOutcome::of(warned.candidate, outcome, then);
                sums.count(&alarm);
                Some(alarm)
            }
            None => None,
        };
        let off_course = self.course.has_diverged(&warned.about);
        self.found.off_course_contexts += u64::from(off_course);
        let context = ContextWarnings {
            id: context,
            phase,
            outcome,
            turns: then.turns,
            recorded,
            candidate,
            off_course,
        };
        let is_one_left_out = keep_informative(&mut self.found.contexts, context, self.kept, |one| one);
        self.found.contexts_beyond += u64::from(is_one_left_out);
    }

    fn finish(mut self) -> Counterfactual {
        self.found.tried = self.course.finish();
        self.found
    }
}
