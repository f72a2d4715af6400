//! `returns/<session>.json` and `.return-meta.json` (C10, C17): the result of a session, for its caller. One that ran out of
//! its context returns `partial` with a recoverable error and the path of its handoff.

use baton_core::input::{ArtifactRef, SplitGroupReport};
use baton_core::observation::ObjectiveStatus;
use baton_core::view::{COULD_NOT_START, PhaseStatus, PhaseSummary, RunView, SessionSummary};
use baton_core::{PhaseId, Run, RunId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_format::{list, one_line};
use super::timeline::{RunTimeline, SessionExit, SessionSpan, phases_of_workflow};
use super::{RUN_SUMMARY, summary_name};

/// What a session came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionResult {
    /// Version of this record: 1.
    pub schema: u32,
    /// Id of the run.
    pub run: RunId,
    /// The session.
    pub session: SessionId,
    /// The phase that it worked on.
    pub phase: PhaseId,
    /// The agent.
    pub agent: String,
    /// Whether it did what it was started for.
    pub status: ReturnStatus,
    /// How it ended ("exhausted", "turn-limit", "done"); empty while it works.
    pub ending: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// When it ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// What it left: saved while it was the session of its phase.
    pub artifacts: Vec<ReturnedArtifact>,
    /// The smaller scopes that it asked for (D2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_request: Option<ReturnedSplit>,
    /// How far it came, where it did not come to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_progress: Option<PartialProgress>,
    /// What kept it from the end.
    pub errors: Vec<ReturnedError>,
}

/// Whether a session did what it was started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReturnStatus {
    /// Its phase was done when it ended, or it asked for smaller scopes and got them.
    Completed,
    /// It left something for a successor, or is at work.
    Partial,
    /// It broke.
    Failed,
}

/// How far a session came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartialProgress {
    /// "context_exhaustion_handoff", "phase_build_in_progress".
    pub stage: String,
    /// One or two sentences.
    pub details: String,
    /// Phases of the workflow that were done. Parts and reviews that the host made do not count.
    pub phases_completed: u32,
    /// Phases of the workflow.
    pub phases_total: u32,
    /// The handoff for its successor, workspace-relative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff_path: Option<String>,
}

/// Something that kept a session from its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReturnedError {
    /// "context_exhaustion", "turn_limit", "provider_limit"…
    #[serde(rename = "type")]
    pub kind: String,
    /// What happened.
    pub message: String,
    /// The work can continue without the user.
    pub recoverable: bool,
    /// What to do.
    pub recommendation: String,
}

/// A request for smaller scopes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReturnedSplit {
    /// The recommended sub-phases, each with the objectives that belong together.
    pub groups: Vec<SplitGroupReport>,
    /// Why.
    pub rationale: String,
}

/// Something that a session left: a file of the workspace, or an artifact of the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReturnedArtifact {
    /// "handoff", "summary", "artifact".
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it lies, workspace-relative, where it is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its name and version in the store, where it is no file: `baton artifacts show` takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// One line.
    pub summary: String,
}

/// The returns of every session, and the id of the one that returned last.
pub(super) fn returns(
    run: &Run,
    view: &RunView,
    timeline: &RunTimeline,
) -> (Vec<SessionResult>, Option<SessionId>) {
    let rows = view.phases.iter().flat_map(|phase| phase.sessions.iter().map(move |row| (phase, row)));
    let returns: Vec<SessionResult> = rows
        .filter_map(|(phase, row)| {
            let life = timeline.sessions.get(&row.id)?;
            Some(one(run, view, phase, row, life))
        })
        .collect();
    let begun = || timeline.sessions.iter().max_by_key(|(_, life)| life.began).map(|(id, _)| id);
    (returns, timeline.ended.last().or_else(begun).cloned())
}

fn one(
    run: &Run,
    view: &RunView,
    phase: &PhaseSummary,
    row: &SessionSummary,
    life: &SessionSpan,
) -> SessionResult {
    let handoff = phase.handoffs.iter().find(|handoff| handoff.session == row.id && !handoff.closes);
    let status = status(phase, row, life);
    let error = match status {
        ReturnStatus::Completed => None,
        _ if life.left.is_none() || row.ending == "split" => None,
        _ => Some(error(phase, row, life, handoff.is_some())),
    };
    let artifacts = handoff.map(|handoff| ReturnedArtifact {
        kind: "handoff".to_owned(),
        path: Some(handoff.path.clone()),
        artifact: None,
        summary: handoff.artifact.summary.clone(),
    });
    let kept = life.saved.iter().map(|artifact| kept(run, phase, artifact));
    SessionResult {
        schema: 1,
        run: view.run.clone(),
        session: row.id.clone(),
        phase: phase.id.clone(),
        agent: row.agent.clone(),
        status,
        ending: row.ending.clone(),
        started_at: life.began.rfc3339(),
        ended_at: life.left.as_ref().map(|left| left.at.rfc3339()),
        artifacts: artifacts.into_iter().chain(kept).collect(),
        split_request: life.split_request.clone(),
        partial_progress: (status != ReturnStatus::Completed)
            .then(|| progress(view, phase, row, life, handoff.map(|handoff| handoff.path.clone()))),
        errors: error.into_iter().collect(),
    }
}

/// A summary is in the workspace as well, with its current content.
fn kept(run: &Run, phase: &PhaseSummary, artifact: &ArtifactRef) -> ReturnedArtifact {
    let in_folder = match artifact.name.as_str() {
        RUN_SUMMARY => Some(RUN_SUMMARY.to_owned()),
        name if name == summary_name(phase.id.as_str()) => {
            Some(run.workflow().paths.summary(run.names(), phase.id.as_str()))
        }
        _ => None,
    };
    let kind = if in_folder.is_some() { "summary" } else { "artifact" };
    ReturnedArtifact {
        kind: kind.to_owned(),
        artifact: in_folder.is_none().then(|| format!("{}@{}", artifact.name, artifact.version)),
        path: in_folder.map(|path| format!("{}/{path}", run.task_folder())),
        summary: artifact.summary.clone(),
    }
}

fn status(phase: &PhaseSummary, row: &SessionSummary, life: &SessionSpan) -> ReturnStatus {
    // A session that ended by itself after the last objective has completed its task, whatever its own stop reason says.
    let finished = life.left.as_ref().is_some_and(|left| left.open.is_empty());
    let is_last = phase.sessions.last().is_some_and(|last| last.id == row.id);
    match row.ending.as_str() {
        "done" | "split-requested" => ReturnStatus::Completed,
        "failed" | COULD_NOT_START => ReturnStatus::Failed,
        "ended" | "completed" if finished && is_last => ReturnStatus::Completed,
        _ => ReturnStatus::Partial,
    }
}

fn progress(
    view: &RunView,
    phase: &PhaseSummary,
    row: &SessionSummary,
    life: &SessionSpan,
    handoff_path: Option<String>,
) -> PartialProgress {
    let (phases_completed, phases_total) = phases_of_workflow(view);
    let now = SessionExit {
        at: life.began,
        phases_completed,
        phases_total,
        done: ids(phase, true),
        open: ids(phase, false),
    };
    let left = life.left.as_ref().unwrap_or(&now);
    let reason = match life.reason.as_str() {
        "" => String::new(),
        reason => format!(" {reason}"),
    };
    let verb = if life.left.is_some() { "Ended" } else { "At work" };
    let by_choice = handoff_path.as_ref().and_then(|_| handed_off(row)).unwrap_or_default();
    PartialProgress {
        stage: stage(phase, row, handoff_path.is_some()),
        details: format!(
            "{by_choice}{verb} with done: {}; open: {}.{reason}",
            list(&left.done),
            list(&left.open)
        ),
        phases_completed: left.phases_completed,
        phases_total: left.phases_total,
        handoff_path,
    }
}

fn ids(phase: &PhaseSummary, done: bool) -> Vec<String> {
    let rows = phase.objectives.iter().filter(|row| (row.status == ObjectiveStatus::Done) == done);
    rows.map(|row| row.id.to_string()).collect()
}

/// How a session begins its story that handed off before its context was full; none for every other ending.
fn handed_off(row: &SessionSummary) -> Option<String> {
    let share = row.used_tokens.zip(row.window_tokens.filter(|window| *window > 0));
    let at = share.map(|(used, window)| format!(" at ~{}%", used.saturating_mul(100) / window));
    let at = at.unwrap_or_default();
    match row.ending.as_str() {
        "near-capacity" => Some(format!("Approaching context limit{at}. Handoff written. ")),
        "handed-off" => Some(format!("The agent handed off{at}. Handoff written. ")),
        "policy-handoff" => Some(format!("A policy handed over{at}. Handoff written. ")),
        _ => None,
    }
}

/// Whether a session ended so that another one continues with a new context.
fn is_for_context(ending: &str) -> bool {
    matches!(ending, "exhausted" | "near-capacity" | "handed-off" | "policy-handoff")
}

fn stage(phase: &PhaseSummary, row: &SessionSummary, has_handoff: bool) -> String {
    match (row.ending.as_str(), has_handoff) {
        ("", _) => format!("phase_{}_in_progress", phase.id),
        (ending, true) if is_for_context(ending) => "context_exhaustion_handoff".to_owned(),
        (ending, true) => format!("{}_handoff", ending.replace(['-', ' '], "_")),
        (ending, false) => ending.replace(['-', ' '], "_"),
    }
}

fn error(phase: &PhaseSummary, row: &SessionSummary, life: &SessionSpan, has_handoff: bool) -> ReturnedError {
    let successor = match has_handoff {
        true => "Spawn successor with handoff file",
        false => "Spawn successor with progress.json",
    };
    let (kind, recommendation) = match row.ending.as_str() {
        ending if is_for_context(ending) => ("context_exhaustion", successor),
        "turn-limit" => ("turn_limit", successor),
        "budget-limit" => ("budget_limit", successor),
        "quota" => ("provider_limit", "Wait until the limit resets, then ask the same prompt again"),
        "truncated" => ("truncated_output", successor),
        "stalled" => ("stalled", successor),
        "unfinished" => ("unfinished_objective", successor),
        "failed" => ("agent_failure", "Read the error, then retry in a new session"),
        COULD_NOT_START => {
            ("agent_unavailable", "Correct the agent of the workflow, then `baton answer … retry`")
        }
        _ => ("interrupted", "Take the run up again with `baton resume`"),
    };
    let waits = matches!(phase.status, PhaseStatus::Paused | PhaseStatus::Skipped);
    let is_last = phase.sessions.last().is_some_and(|last| last.id == row.id);
    let mut message = match life.reason.as_str() {
        "" if row.ending == "near-capacity" => "the session handed off near its context limit".to_owned(),
        "" => format!("the session ended: {}", one_line(&row.ending)),
        reason => reason.to_owned(),
    };
    if let Some((objective, words)) = life.failed.as_ref().filter(|_| row.ending == "failed") {
        message.push_str(&format!("; the agent says of {objective}: {words}"));
    }
    ReturnedError {
        kind: kind.to_owned(),
        message,
        // A successor has continued already, or will without help, unless the user is asked.
        recoverable: !(waits && is_last),
        recommendation: recommendation.to_owned(),
    }
}
