//! The user's answer while no host works on the run: it is journaled under the workspace's lock, and nothing is performed. The
//! next `resume` continues with it. An answer that would end the run does so only if the finished work is still in place.

use baton_core::input::PauseAnswer;
use baton_core::view::RunView;
use baton_core::{Action, ActionId, ActionOutcome, Input, Run, RunId};
use baton_store::{ArtifactStore, StateDir};
use baton_workspace::{Workspace, WorkspaceError};

use crate::config::HostConfig;
use crate::control::requester;
use crate::error::RuntimeError;
use crate::lost_work::{IdleTime, lost_work, undone_work};
use crate::projection::{self, ProjectionWriter};
use crate::query;
use crate::recorder::RunRecorder;
use crate::recovery;
use crate::worktree_paths::trees_of;

/// Journals the answer to a question of this run, or of the newest one.
pub(crate) async fn answer(
    config: &HostConfig,
    run: Option<RunId>,
    question: Option<ActionId>,
    choice: PauseAnswer,
    message: Option<String>,
) -> Result<RunView, RuntimeError> {
    let state = query::find_state(config)?;
    let (_lock, journal) = query::open_to_write(config, &state)?;
    let id = query::resolve_run(config, &journal, run.as_ref())?;
    requester::expect_no_agent(&state, &id)?;
    let folded = || recovery::fold_run(&journal, &id).map_err(|error| error.in_dir(state.path()));
    let before = folded()?;
    let question = resolve_question(&before.run, question, choice)?;
    let answered = Input::Answered { question, choice, message };
    let broken = |illegal: baton_core::run::IllegalInput| RuntimeError::Refused(illegal.to_string());

    // No host comes after an answer that ends the run: whether its work is still there is asked now.
    let mut trial = RunRecorder::new(before, id.clone(), journal.clone());
    trial.record(requester::own_request("answer")).map_err(broken)?;
    trial.record(answered.clone()).map_err(broken)?;
    let mut recorder = match trial.run().ending() {
        None => trial,
        Some(_) => {
            let before = folded()?;
            match find_lost_work(config, &state, &before.run, trial.run()).await? {
                lost if lost.is_empty() => trial,
                lost => {
                    let mut recorder = RunRecorder::new(before, id.clone(), journal.clone());
                    for input in lost.into_iter().chain([requester::own_request("answer"), answered]) {
                        recorder.record(input).map_err(broken)?;
                    }
                    recorder
                }
            }
        }
    };
    // An answer may end the run; without a host, the end must be recorded here.
    let finish =
        recorder.run().pending().into_iter().find(|intent| matches!(intent.action, Action::Finish { .. }));
    if let Some(action) = finish.map(|intent| intent.id) {
        recorder.record(Input::Outcome { action, outcome: ActionOutcome::Announced }).map_err(broken)?;
    }
    recorder.commit().await?;
    if recorder.run().ending().is_some() {
        write_final_projection(config, &state, &recorder).await;
    }
    let now = recorder.clock().now();
    recorder.run().view(now).ok_or(RuntimeError::NoRuns { workspace: config.workspace.clone() })
}

/// The lost work that a resuming host would find now, or after the run has `ended`. An unreadable workspace is an error: the
/// run must not end with unknown facts.
async fn find_lost_work(
    config: &HostConfig,
    state: &StateDir,
    run: &Run,
    ended: &Run,
) -> Result<Vec<Input>, RuntimeError> {
    let cannot_look = |error: WorkspaceError| RuntimeError::Workspace {
        workspace: config.workspace.clone(),
        source: format!("cannot see whether finished work is still there, so nothing was answered: {error}")
            .into(),
    };
    let workspace =
        Workspace::open(&config.workspace).map_err(cannot_look)?.with_own_folder(run.task_folder());
    let trees = trees_of(state, &workspace, run.id());
    let idle = IdleTime::without_host(run);
    let lost = lost_work(run, &workspace, &trees, state, idle).await.map_err(cannot_look)?;
    match lost.is_empty() {
        true => undone_work(ended, &workspace, state).await.map_err(cannot_look),
        false => Ok(lost),
    }
}

/// Writes the files of a run that ended by an answer, since no host will do so later. If they cannot be written, the end is
/// still in the journal.
async fn write_final_projection(config: &HostConfig, state: &StateDir, recorder: &RunRecorder) {
    let (Ok(workspace), Ok(artifacts)) = (Workspace::open(&config.workspace), ArtifactStore::open(state))
    else {
        return;
    };
    let Some(projection) = projection::project(recorder.run(), recorder.timeline()) else { return };
    let workspace = workspace.with_own_folder(recorder.run().task_folder());
    let trees = trees_of(state, &workspace, recorder.id());
    let mut projector = ProjectionWriter::start(trees, artifacts, recorder.id().clone());
    projector.write_projection(projection).await;
    projector.finish().await;
}

/// The question that is meant, if it takes this answer.
pub(crate) fn resolve_question(
    run: &Run,
    asked: Option<ActionId>,
    choice: PauseAnswer,
) -> Result<ActionId, RuntimeError> {
    let questions = run.view(baton_core::UnixMs(0)).map(|view| view.questions).unwrap_or_default();
    let found = match asked {
        Some(asked) => questions.iter().find(|question| question.id == asked),
        None if questions.len() == 1 => questions.first(),
        None => None,
    };
    let Some(question) = found else {
        let open = questions.iter().map(|question| question.id).collect();
        return Err(RuntimeError::NoSuchQuestion { run: run.id().clone(), asked, open });
    };
    if !question.choices.contains(&choice) {
        let choices = question.choices.clone();
        return Err(RuntimeError::NoSuchChoice { question: question.id, choice, choices });
    }
    Ok(question.id)
}
