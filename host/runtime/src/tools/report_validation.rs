//! Checks that a report fits its run: the objectives that it names exist, and are the reporter's. Its form was checked on
//! arrival; core decides its consequences.

use std::collections::BTreeSet;

use baton_core::observation::ObjectiveStatus;
use baton_core::short_format::first_of;
use baton_core::view::{PhaseStatus, PhaseSummary, RunView, SessionSummary};
use baton_core::{Action, ObjectiveId, Run, SessionId, WorktreeName};
use baton_inbox::ToolCall;

use crate::tools::review_submission::{ReviewSubmission, reviewer};

/// Objectives that a refusal lists; a run has few, and an agent needs only its own.
const LISTED: usize = 20;

/// Kinds of agents that take no MCP servers, as a session's row names them.
const WITHOUT_TOOLS: [&str; 2] = ["process", "rehearsal"];

/// Whether the report fits. The error is a sentence that its author can act on.
pub(crate) fn check(view: &RunView, session: Option<&SessionId>, call: &ToolCall) -> Result<(), String> {
    let own = match session {
        Some(session) => Some(session_phase(view, session).ok_or_else(|| unknown_session(view, session))?),
        None => None,
    };
    match call {
        ToolCall::ObjectiveUpdate(update) => match update.status {
            ObjectiveStatus::Done => objective(view, own, &update.objective),
            _ => check_may_contradict(view, own, &update.objective),
        },
        ToolCall::SplitRequest(request) => {
            let mut named = BTreeSet::new();
            for id in request.groups.iter().flat_map(|group| &group.objectives) {
                objective(view, own, id)?;
                if !named.insert(id) {
                    return Err(format!("objective {:?} is in two groups: put it into one", id.as_str()));
                }
            }
            Ok(())
        }
        ToolCall::ReviewSubmit(review) => ReviewSubmission::of(view, session, review).map(drop),
        ToolCall::HandoffWrite(_) if own.is_none() => check_single_author(view),
        _ => Ok(()),
    }
}

/// A handoff is for the successor of its author: one without a session must be from the only live session.
fn check_single_author(view: &RunView) -> Result<(), String> {
    let workspace = WorktreeName::workspace();
    let live = live_in(view, &workspace);
    let live: Vec<String> = live.map(|row| format!("\"session\": {:?}", row.id.as_str())).collect();
    match live.len() {
        0 | 1 => Ok(()),
        _ => Err(format!(
            "several sessions work in this folder, so the host cannot tell whose handoff this is: write it again \
             with the name of your session from your prompt ({})",
            live.join(", ")
        )),
    }
}

/// The phase in which a session works or worked.
pub(crate) fn session_phase<'a>(view: &'a RunView, session: &SessionId) -> Option<&'a PhaseSummary> {
    view.phases.iter().find(|phase| phase.sessions.iter().any(|row| row.id == *session))
}

/// The tree in which a session works or worked; the workspace for a caller without a session.
pub(crate) fn session_worktree(view: &RunView, session: Option<&SessionId>) -> WorktreeName {
    session
        .and_then(|session| session_phase(view, session))
        .map(|phase| phase.tree.clone())
        .unwrap_or_default()
}

/// The sessions that work in a tree.
fn live_in<'v>(view: &'v RunView, tree: &WorktreeName) -> impl Iterator<Item = &'v SessionSummary> {
    let there = view.phases.iter().filter(move |phase| phase.tree == *tree);
    there.flat_map(|phase| &phase.sessions).filter(|row| row.ending.is_empty())
}

/// The trees in which an agent may report: a session other than `but` is alive there, and its phase does not wait for a check, which may
/// run what an agent wrote.
pub(crate) fn attended(run: &Run, view: &RunView, but: Option<&SessionId>) -> BTreeSet<WorktreeName> {
    let pending = run.pending();
    let is_held = |phase: &PhaseSummary| {
        pending.iter().any(|intent| match &intent.action {
            Action::Verify { phase: held, .. } => *held == phase.id,
            _ => false,
        })
    };
    let live = run.live_sessions();
    let is_alive = |row: &SessionSummary| live.contains(&&row.id) && Some(&row.id) != but;
    let at_work = view.phases.iter().filter(|phase| phase.sessions.iter().any(is_alive) && !is_held(phase));
    at_work.map(|phase| phase.tree.clone()).collect()
}

/// The session that works in a work tree, if only one does: no other session reports from there.
pub(crate) fn only_session_in(view: &RunView, tree: &WorktreeName) -> Option<SessionId> {
    let mut live = live_in(view, tree).filter(|_| !tree.is_workspace());
    let first = live.next()?;
    live.next().is_none().then(|| first.id.clone())
}

/// Checks that a report from the inbox of a tree may speak for a session. Each tree has its own inbox, and only agents in that
/// tree are asked to use it, so the author works there.
pub(crate) fn is_from(view: &RunView, session: &SessionId, tree: &WorktreeName) -> Result<(), String> {
    let is_own = |phase: &PhaseSummary| phase.tree == *tree || WorktreeName::for_phase(&phase.id) == *tree;
    match session_phase(view, session).filter(|phase| !tree.is_workspace() && !is_own(phase)) {
        Some(phase) => Err(format!(
            "session {session} works on phase {} in another tree, and this is not its inbox: leave `session` out, or name your own",
            phase.id
        )),
        None => Ok(()),
    }
}

/// Whether a review that lay in the inbox of a tree is its reviewer's: where others work there too, any of them may have written it.
pub(crate) fn check_review_author(
    view: &RunView,
    session: Option<&SessionId>,
    tree: &WorktreeName,
) -> Result<(), String> {
    let of = reviewer(view, session);
    match live_in(view, tree).find(|row| Some(&row.id) != of.as_ref()) {
        Some(other) => Err(format!(
            "session {} works in this folder too, and a file does not say who wrote it: submit the review by the tool, or end your \
             answer with the score as your prompt says",
            other.id
        )),
        None => Ok(()),
    }
}

/// Checks that a report from the inbox of a tree may call an objective done. If another session works there too, that one may
/// have written it, so a session with tools must report with them. An agent without tools has no other way if its objective
/// names no files, since an answer alone is not evidence there. A report that an objective is not done is accepted from any of
/// them.
pub(crate) fn check_done_author(
    view: &RunView,
    session: Option<&SessionId>,
    tree: &WorktreeName,
    call: &ToolCall,
) -> Result<(), String> {
    let ToolCall::ObjectiveUpdate(update) = call else { return Ok(()) };
    if update.status != ObjectiveStatus::Done {
        return Ok(());
    }
    let whose = match session {
        Some(session) => session_phase(view, session)
            .and_then(|phase| phase.sessions.iter().find(|row| row.id == *session)),
        None => holder(view, &update.objective).and_then(|phase| phase.sessions.last()),
    };
    let Some(whose) = whose.filter(|row| takes_tools(row)) else { return Ok(()) };
    match live_in(view, tree).find(|row| row.id != whose.id) {
        Some(other) => Err(format!(
            "session {} works in this folder too, and a file does not say who wrote it: report objective {:?} as done by the tool \
             `objective_update`, or end your answer with the line `Done: {}`",
            other.id,
            update.objective.as_str(),
            update.objective
        )),
        None => Ok(()),
    }
}

/// Whether its agent is of a kind that takes MCP servers.
fn takes_tools(row: &SessionSummary) -> bool {
    !WITHOUT_TOOLS.iter().any(|kind| row.agent == *kind || row.agent.starts_with(&format!("{kind}:")))
}

/// The phase that holds an objective. Sub-phases come after their parent in the list and hold its objectives too: the newest
/// holder counts.
pub(crate) fn holder<'a>(view: &'a RunView, id: &ObjectiveId) -> Option<&'a PhaseSummary> {
    view.phases.iter().rfind(|phase| phase.objectives.iter().any(|row| row.id == *id))
}

fn objective(view: &RunView, own: Option<&PhaseSummary>, id: &ObjectiveId) -> Result<(), String> {
    let yours = || match own {
        Some(phase) => ids(std::iter::once(phase)),
        None => ids(view.phases.iter()),
    };
    let Some(holder) = holder(view, id) else {
        return Err(format!("no objective {:?} in this run; yours are: {}", id.as_str(), yours()));
    };
    match own {
        // A late report of a session whose phase was split since is still about its own objective.
        Some(own) if own.id != holder.id && !own.objectives.iter().any(|row| row.id == *id) => Err(format!(
            "objective {:?} belongs to phase {}, and you work on phase {}; yours are: {}",
            id.as_str(),
            holder.id,
            own.id,
            yours()
        )),
        _ => Ok(()),
    }
}

/// Any session may report a mistake in the work of a phase that is over.
fn check_may_contradict(view: &RunView, own: Option<&PhaseSummary>, id: &ObjectiveId) -> Result<(), String> {
    match holder(view, id) {
        Some(holder) if holder.status == PhaseStatus::Done => Ok(()),
        _ => objective(view, own, id),
    }
}

fn ids<'a>(phases: impl Iterator<Item = &'a PhaseSummary>) -> String {
    let mut seen = BTreeSet::new();
    let mut ids: Vec<&str> = Vec::new();
    for row in phases.flat_map(|phase| &phase.objectives) {
        if seen.insert(&row.id) {
            ids.push(row.id.as_str());
        }
    }
    first_of(&ids, LISTED)
}

fn unknown_session(view: &RunView, session: &SessionId) -> String {
    let known: Vec<&str> =
        view.phases.iter().flat_map(|phase| &phase.sessions).map(|row| row.id.as_str()).collect();
    match known.as_slice() {
        [] => format!("no session {:?} in this run: leave `session` out", session.as_str()),
        known => format!(
            "no session {:?} in this run: leave `session` out, or name one of {}",
            session.as_str(),
            known.join(", ")
        ),
    }
}
