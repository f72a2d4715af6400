//! `state.org` (A5, A7): where each step stands, in Org: a heading for each phase, with its status, its continuation, the
//! agent before and what remains as properties, and a check box for each objective. For Emacs, and for agents whose prompts
//! speak of a state file.

use std::fmt::Write as _;

use baton_core::observation::ObjectiveStatus;
use baton_core::view::{PhaseStatus, PhaseSummary, RunStatus, RunView};

use super::text_format::one_line;

/// The whole file.
pub(super) fn state(view: &RunView) -> String {
    let mut org = String::from("#+TODO: TODO STARTED WAITING | DONE CANCELLED\n");
    let _ = writeln!(org, "#+TITLE: {}\n", one_line(&view.workflow));
    let _ = writeln!(org, "* {} {}", keyword_of_run(view.status), one_line(&view.goal));
    let _ = writeln!(org, "  :PROPERTIES:\n  :RUN: {}\n  :STARTED: {}", view.run, view.started_at.rfc3339());
    org.push_str("  :END:\n");
    for phase in &view.phases {
        step(&mut org, phase);
    }
    org
}

fn step(org: &mut String, phase: &PhaseSummary) {
    let continued = if phase.continuation > 0 { " [CONTINUED]" } else { "" };
    let depth = if phase.parent.is_some() { "***" } else { "**" };
    let (id, title) = (&phase.id, one_line(&phase.title));
    let _ = writeln!(org, "{depth} Step {id}: {title}{continued}");
    let _ = writeln!(org, "   :PROPERTIES:\n   :STATUS: {}", keyword_of_phase(phase.status));
    if phase.continuation > 0 {
        let _ = writeln!(org, "   :CONTINUATION: {} of {}", phase.continuation, phase.continuations);
    }
    if let Some(before) = phase.sessions.iter().rev().nth(1) {
        let _ = writeln!(org, "   :PREVIOUS_AGENT: {}", before.id);
        let _ = writeln!(org, "   :PREVIOUS_AGENT_KIND: {}", before.agent);
        let _ = writeln!(org, "   :PREVIOUS_AGENT_ENDING: {}", before.ending);
    }
    let remaining = phase.objectives.iter().filter(|row| row.status != ObjectiveStatus::Done).count();
    let _ = writeln!(org, "   :REMAINING_OBJECTIVES: {remaining}");
    if let Some(handoff) = phase.handoffs.first() {
        let _ = writeln!(org, "   :HANDOFF: {}", handoff.path);
    }
    if let Some(since) = &phase.quota_wait_since {
        let _ = writeln!(org, "   :QUOTA_WAIT_SINCE: {since}");
    }
    org.push_str("   :END:\n");
    for row in &phase.objectives {
        let (box_, standing) = match row.status {
            ObjectiveStatus::Open => (' ', ""),
            ObjectiveStatus::InProgress => (' ', " (in progress)"),
            ObjectiveStatus::Done => ('x', ""),
            ObjectiveStatus::Failed => (' ', " (failed)"),
        };
        let note =
            if row.note.is_empty() { String::new() } else { format!("; note: {}", one_line(&row.note)) };
        let _ = writeln!(org, "   - [{box_}] {}: {}{standing}{note}", row.id, one_line(&row.description));
    }
}

fn keyword_of_run(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "STARTED",
        RunStatus::Paused => "WAITING",
        RunStatus::Ended(baton_core::action::RunOutcome::Done) => "DONE",
        RunStatus::Ended(baton_core::action::RunOutcome::Unfinished) => "CANCELLED",
        RunStatus::Ended(baton_core::action::RunOutcome::Interrupted) => "TODO",
    }
}

fn keyword_of_phase(status: PhaseStatus) -> &'static str {
    match status {
        PhaseStatus::Pending => "TODO",
        PhaseStatus::Done => "DONE",
        PhaseStatus::Skipped => "CANCELLED",
        PhaseStatus::Paused | PhaseStatus::WaitingApproval | PhaseStatus::WaitingQuota => "WAITING",
        _ => "STARTED",
    }
}
