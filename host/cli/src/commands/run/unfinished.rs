//! The run of a task that is unfinished (D8): whether the same command resumes it, and how.

use baton_lab::experiment::assignment::strip_arms;
use baton_runtime::core::Workflow;
use baton_runtime::core::input::PauseAnswer;
use baton_runtime::core::view::{COULD_NOT_START, QuestionSummary, RunView};
use baton_runtime::core::workflow::RunSource;
use baton_runtime::{
    ControlMessage, RunStart, RuntimeError, UnfinishedRun, newest_run, set_aside, unfinished,
};

use super::RunOptions;
use crate::args::{LocationArgs, OutputFormat};
use crate::exit_status::{CliExit, UsageError};
use crate::host_client::{ask_host, block_on};
use crate::host_launch::{HostCommand, LaunchMode, launch};
use crate::location::{RunLocation, shell_quoted, shell_words};
use crate::render::resume_message::{PlanBoxDiff, ResumeMessage};
use crate::render::{json_record, report, terminal_style};
use crate::run_ui::follow;
use crate::stdio;
use crate::task::plan_boxes::PlanBoxes;
use crate::task::{PlanCompleted, ResolvedTask, Task};

/// How a command treats the earlier runs of its task.
pub(super) enum RunDecision {
    /// It resumes one.
    Resume(Box<ResumableRun>),
    /// It begins a new run.
    Begin {
        /// The task as the run begins it.
        resolved: Box<ResolvedTask>,
        /// Whether unfinished runs of the task are set aside.
        supersedes: bool,
        /// Why that is so although no flag asks for it.
        notice: Option<String>,
    },
}

/// A run that a command resumes.
pub(super) struct ResumableRun {
    location: RunLocation,
    run: UnfinishedRun,
    /// The task as it is now.
    now: Workflow,
    /// The typed flags that the run began without.
    beyond: String,
}

/// Reads the task, and looks for an unfinished run of it.
pub(super) fn decide(task: &Task, args: &RunOptions) -> anyhow::Result<RunDecision> {
    let begin = |resolved, supersedes, notice| {
        Ok(RunDecision::Begin { resolved: Box::new(resolved), supersedes, notice })
    };
    let looks = !args.dry_run && !args.new;
    let resolved = match (args.resolve(task), task.reopened()) {
        // An agent may have ticked unfinished tasks: only the run knows whether work is left.
        (Err(error), Some(reopened)) if error.is::<PlanCompleted>() && looks && !args.restart => {
            return resume_of_completed_plan(task, args, &reopened, error);
        }
        (read, _) => read?,
    };
    if !looks || args.restart {
        return begin(resolved, looks, None);
    }
    let Some((location, run)) = find(task, args, &resolved.workflow)? else {
        return begin(resolved, false, None);
    };
    let beyond = beyond(task, args, &run.workflow);
    if run.busy || beyond.is_empty() || has_worked(&run.view) {
        return Ok(RunDecision::Resume(Box::new(ResumableRun {
            location,
            run,
            now: resolved.workflow,
            beyond,
        })));
    }
    let notice = format!(
        "found: run {} began without `{beyond}`, and no agent has worked on it yet; a new run takes its place",
        run.view.run
    );
    begin(resolved, true, Some(notice))
}

/// The run of a plan with all boxes ticked; `error` if there is none.
fn resume_of_completed_plan(
    task: &Task,
    args: &RunOptions,
    reopened: &Task,
    error: anyhow::Error,
) -> anyhow::Result<RunDecision> {
    let mut now = args.resolve(reopened)?.workflow;
    now.plan.iter_mut().for_each(|plan| plan.boxes.clear());
    let Some((location, run)) = find(task, args, &now)? else {
        let undone = match args.accept_changes {
            true => None,
            false => explain_ticked_boxes(&args.location, &now)?,
        };
        return Err(undone.unwrap_or(error));
    };
    let beyond = beyond(task, args, &run.workflow);
    Ok(RunDecision::Resume(Box::new(ResumableRun { location, run, now, beyond })))
}

/// The reason why the plan is unfinished although all boxes are ticked: its last run has not done the work of some of them.
fn explain_ticked_boxes(
    location: &LocationArgs,
    workflow: &Workflow,
) -> anyhow::Result<Option<anyhow::Error>> {
    let mut places = RunLocation::previous_locations(location, workflow)?.into_iter();
    let Some(run) =
        places.find_map(|location| newest_run(&location.config, workflow).transpose()).transpose()?
    else {
        return Ok(None);
    };
    let standing = PlanBoxes::of(run.workflow).and_then(|boxes| boxes.standing(&run.view));
    let not_done = standing.map_or(0, |standing| standing.not_done + standing.gone);
    let id = run.view.run;
    Ok((not_done > 0).then(|| {
        anyhow::anyhow!(
            "every box of the plan is ticked, but run {id} has not done {not_done} of them: reopen (`- [ ]`) those \
             that are still to be done; `baton report {id}` names them"
        )
    }))
}

/// The run that this command resumes. If each run has a folder of its own, one that a host works on is left
/// to it; in a folder that they share, nothing else can be begun meanwhile.
fn find(
    task: &Task,
    args: &RunOptions,
    workflow: &Workflow,
) -> anyhow::Result<Option<(RunLocation, UnfinishedRun)>> {
    let apart = RunLocation::is_fresh(&args.location, workflow);
    for location in RunLocation::previous_locations(&args.location, workflow)? {
        let found = block_on(unfinished(&location.config, workflow))?.map_err(|error| {
            let broken = matches!(error, RuntimeError::BrokenJournal { .. });
            let restart = restart(task, args, &location);
            let error = anyhow::Error::from(error);
            match broken {
                true => error.context(format!(
                    "the last run of this workflow cannot be resumed; `{restart}` starts a new one"
                )),
                false => error,
            }
        })?;
        match found {
            Some(found) if !(apart && found.busy) => return Ok(Some((location, found))),
            _ => {}
        }
    }
    Ok(None)
}

/// Whether the files differ from the run's initial workflow. The number of concurrent agents depends on this machine, if the
/// workflow does not set it; and a moved line makes no difference.
pub(super) fn has_changed(task: &Task, began_with: &Workflow, now: &Workflow) -> bool {
    if let Some(RunSource::Plan { .. }) = &began_with.source {
        // Its boxes are reported by themselves.
        return false;
    }
    // The policies of an experiment's arm are in no file.
    let (mut before, mut now) = (strip_arms(began_with.clone()), now.clone());
    if now.limits.agents == 0 {
        now.limits.agents = before.limits.agents;
    }
    if let Task::Sentence { .. } = task {
        // A check that was named is reported as a flag; one that is found now is not a change.
        for (now, before) in now.phases.iter_mut().zip(&before.phases) {
            now.verify.clone_from(&before.verify);
        }
    }
    (before.source, now.source) = (None, None);
    (before.plan, now.plan) = (None, None);
    // These depend on the content of the folder.
    (before.next_run_files, now.next_run_files) = (Vec::new(), Vec::new());
    (before.shared_files, now.shared_files) = (None, None);
    before.policies = before.policies.without_sources();
    now.policies = now.policies.without_sources();
    before != now
}

/// Resumes it, or shows the question that it waits for.
pub(super) fn resume(task: &Task, args: &RunOptions, resumable: &ResumableRun) -> anyhow::Result<CliExit> {
    let ResumableRun { location, run, now, beyond } = resumable;
    let resume = RunStart::Resume { run: Some(run.view.run.clone()) };
    if run.busy {
        // The runtime says best who works there.
        return follow(location, resume, args.view, None);
    }
    let restart = restart(task, args, location);
    let found = ResumeMessage {
        run,
        changed: beyond.is_empty() && has_changed(task, &run.workflow, now),
        beyond,
        boxes: PlanBoxDiff::between(run, now),
        restart: &restart,
    };
    let tries_again = found.waits() && beyond.is_empty() && only_failed_starts(&run.view);
    match tries_again {
        true => stdio::progress(&format!(
            "found: run {} could not start its agent; it tries again. `{restart}` starts a new run instead",
            run.view.run
        )),
        false => found.lines(&terminal_style::stderr()).iter().for_each(|line| stdio::progress(line)),
    }
    if args.view.format.format == OutputFormat::Jsonl {
        stdio::data(&json_record::line(&found.json())?)?;
    }
    if tries_again {
        for question in &run.view.questions {
            let (run, question, choice) = (Some(run.view.run.clone()), Some(question.id), PauseAnswer::Retry);
            ask_host(location, ControlMessage::Answer { run, question, choice, message: None })?;
        }
    } else if found.waits() {
        let document = json_record::RunDocument { location, view: &run.view, live: Some(false) };
        match args.view.format.format {
            OutputFormat::Text => {
                stdio::data(&format!(
                    "\n{}",
                    report::status(&terminal_style::stdout(), &run.view, location, false)
                ))?;
            }
            OutputFormat::Json => stdio::data(&json_record::pretty(&document)?)?,
            OutputFormat::Jsonl => stdio::data(&json_record::line(&document)?)?,
        }
        return Ok(CliExit::Paused);
    }
    if !beyond.is_empty() {
        return Err(UsageError(format!(
            "run {} began without `{beyond}`, and this command does not change that: leave it out, or start a new \
             run: {restart}",
            run.view.run
        ))
        .into());
    }
    let way = LaunchMode::of(args.background, args.inline, run.workflow.mode);
    if way == LaunchMode::Foreground {
        return follow(location, resume, args.view, None);
    }
    let command = HostCommand { name: "resume", argument: run.view.run.as_str().into(), request: None };
    launch(location, &command, way, args.view.format.format)
}

/// Whether all of its questions are about agents that could not start: by now they may be installed, or logged in.
fn only_failed_starts(view: &RunView) -> bool {
    let is_of_start = |question: &QuestionSummary| {
        let phase = view.phases.iter().find(|phase| Some(&phase.id) == question.phase.as_ref());
        let last = phase.and_then(|phase| phase.sessions.last());
        last.is_some_and(|session| session.ending == COULD_NOT_START && session.turns == 0)
    };
    !view.questions.is_empty() && view.questions.iter().all(is_of_start)
}

/// Sets aside the unfinished runs of the task, so that a new run replaces them.
pub(super) fn supersede_earlier_runs(
    location: &LocationArgs,
    workflow: &Workflow,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<()> {
    let apart = RunLocation::is_fresh(location, workflow);
    for location in RunLocation::previous_locations(location, workflow)? {
        let runs = match block_on(set_aside(&location.config, workflow))? {
            // It continues in its own folder.
            Err(RuntimeError::Busy { .. }) if apart => continue,
            runs => runs?,
        };
        for run in runs {
            tell(&format!(
                "run {run} is set aside and kept; `baton resume {run}{}` continues it",
                location.flags
            ));
        }
    }
    Ok(())
}

/// "baton run w.toml --agent codex --restart".
fn restart(task: &Task, args: &RunOptions, location: &RunLocation) -> String {
    format!("{}{} --restart{}", task.command(), shell_words(&args.words()), location.flags)
}

/// The typed flags that a run began without; empty if it began with all of them.
fn beyond(task: &Task, args: &RunOptions, run: &Workflow) -> String {
    let flags: Vec<&str> = task.beyond(run).into_iter().chain(args.beyond(run)).collect();
    let mut is_meant = false;
    let of_flags = |word: &String| {
        if let Some(flag) = word.starts_with("--").then(|| word.split('=').next()).flatten() {
            is_meant = flags.contains(&flag);
        }
        is_meant.then(|| shell_quoted(word))
    };
    let words: Vec<String> = task.words().into_iter().chain(args.words()).collect();
    words.iter().filter_map(of_flags).collect::<Vec<_>>().join(" ")
}

/// Whether an agent has done anything for a run.
fn has_worked(view: &RunView) -> bool {
    view.phases.iter().flat_map(|phase| &phase.sessions).any(|session| session.turns > 0)
}
