//! What people read first in the task folder: its `README.md`, the log of what happened, the newest index of each open
//! phase, and what each phase came to.

use std::fmt::Write as _;

use baton_core::observation::ObjectiveStatus;
use baton_core::view::{PhaseStatus, PhaseSummary, RunView};

use super::FilePiece;
use super::progress::next_action;
use super::text_format::one_line;
use super::timeline::RunTimeline;

/// What each file is.
pub(super) fn readme(view: &RunView, index: &str) -> String {
    format!(
        "# {workflow}: {goal}\n\n\
         Run {run}. Baton writes these files; the journal outside of the workspace holds the truth, so what is edited or\n\
         deleted here is written anew. To report something, use `inbox/`.\n\n\
         | file | what it is |\n|---|---|\n\
         | `progress.json` | what is done, what is open, what comes next |\n\
         | `progress/` | the same for each phase that has begun, in a file of its own |\n\
         | `work-items.json` | every objective and verification, with pass or fail |\n\
         | `{index}` | the newest handoff index of each open phase: read this first |\n\
         | `init.sh` | sets the work up, then shows where it stands |\n\
         | `progress.log` | one line for every event that matters |\n\
         | `state.org` | the same state in Org |\n\
         | `handoffs/`, `summaries/`, `phases/` | what sessions left for the next; handoffs of phases that are over are archived |\n\
         | `inputs/` | what a prompt refers to, where a context was nearly full; for as long as its phase is open |\n\
         | `returns/`, `.return-meta.json` | what each session returned; the newest |\n\
         | `inbox/` | where agents report: see its README |\n",
        workflow = one_line(&view.workflow),
        goal = one_line(&view.goal),
        run = view.run,
    )
}

/// One line an event.
pub(super) fn log(timeline: &RunTimeline) -> String {
    let mut log = String::new();
    if timeline.lines_dropped > 0 {
        let _ = writeln!(log, "({} earlier lines are in the journal)", timeline.lines_dropped);
    }
    for line in &timeline.lines {
        log.push_str(line);
        log.push('\n');
    }
    log
}

/// The newest index of every phase that is open (C16), and what the phases that are over left (C23). What a session wrote comes
/// from the store, byte for byte.
pub(super) fn index(view: &RunView) -> Vec<FilePiece> {
    let mut head = format!("# {}\n\n", one_line(&view.goal));
    let _ = writeln!(head, "Next: {}\n", next_action(view));
    let mut pieces = vec![FilePiece::Text(head)];
    for phase in view.phases.iter().filter(|phase| is_open(phase.status)) {
        let Some(newest) = phase.handoffs.first() else { continue };
        pieces.push(FilePiece::Text(format!("<!-- phase {}, from {} -->\n\n", phase.id, newest.path)));
        if let Some(index) = &newest.index {
            pieces.push(FilePiece::ArtifactByDigest(index.digest.clone()));
            pieces.push(FilePiece::Text("\n".to_owned()));
        }
    }
    if pieces.len() == 1 {
        pieces.push(FilePiece::Text(
            "No phase that is open has a handoff: `progress.json` says it all.\n".to_owned(),
        ));
    }
    let over = view.phases.iter().filter(|phase| !is_open(phase.status));
    let left: String = over
        .filter_map(|phase| Some((phase, phase.handoffs.first()?)))
        .map(|(phase, handoff)| format!("- {}: {}\n", phase.id, handoff.path))
        .collect();
    if !left.is_empty() {
        pieces.push(FilePiece::Text(format!("\nWhat the phases that are over left:\n\n{left}")));
    }
    pieces
}

/// What a phase came to so far (C11): for the lead who reads many of them.
pub(super) fn results(phase: &PhaseSummary) -> String {
    let mark = match phase.status {
        PhaseStatus::Done => "completed",
        PhaseStatus::Skipped => "left open",
        _ => "partial",
    };
    let mut text = format!("# Phase {}: {}\n\nStatus: {mark}\n\n", phase.id, one_line(&phase.title));
    for row in &phase.objectives {
        let box_ = if row.status == ObjectiveStatus::Done { 'x' } else { ' ' };
        let by = row.by.as_ref().map(|session| format!(" (by {session})")).unwrap_or_default();
        let note =
            if row.note.is_empty() { String::new() } else { format!("\n  note: {}", one_line(&row.note)) };
        let _ = writeln!(text, "- [{box_}] {}: {}{by}{note}", row.id, one_line(&row.description));
    }
    match phase.verified {
        Some(true) => text.push_str("\nThe verification passed.\n"),
        Some(false) => text.push_str("\nThe verification failed.\n"),
        None => {}
    }
    if !phase.sessions.is_empty() {
        text.push_str("\n## Sessions\n\n");
    }
    for session in &phase.sessions {
        let ending = if session.ending.is_empty() { "at work" } else { &session.ending };
        let _ = writeln!(text, "- {} ({}): {ending}, {} turns", session.id, session.agent, session.turns);
    }
    if !phase.handoffs.is_empty() || !phase.artifacts.is_empty() {
        text.push_str("\n## What it left\n\n");
    }
    for handoff in &phase.handoffs {
        let _ = writeln!(text, "- handoff {} by {}", handoff.path, handoff.session);
    }
    for artifact in &phase.artifacts {
        let (name, version, said) = (&artifact.name, artifact.version, one_line(&artifact.summary));
        let _ = writeln!(text, "- artifact {name}@{version}: {said}");
    }
    text
}

pub(super) fn is_open(status: PhaseStatus) -> bool {
    !matches!(status, PhaseStatus::Done | PhaseStatus::Skipped)
}
