//! What the work is held to (A13): the files that must exist and change, and the commands that check it. A prompt that comes again
//! says what is missing of it.

use baton_sdk::Host;
use baton_sdk::handoff::Observation;
use baton_sdk::types::{Basis, ExpectedFile, FileState, Objective, ObjectiveStatus};
use baton_sdk::words::{one_line, said};

use crate::assess::wanted;
use crate::page::Page;
use crate::together;

/// Objectives that are listed one by one.
const FOCUS: usize = 12;
/// Bytes of the description of an objective in focus, which is as long as a workflow allows (8,000 characters of any
/// script).
const DESCRIPTION_BYTES: usize = 24_000;
/// Files of one objective that are named.
const FILES: usize = 16;
/// Bytes of a path, of a command, and of a note.
const PATH_BYTES: usize = 200;
const COMMAND_BYTES: usize = 300;
const NOTE_BYTES: usize = 200;

/// The objectives of the prompt, each with what it is held to, and how to report them.
pub(crate) fn objective(page: &mut Page, o: &Observation) {
    page.heading("objective", "Your objective");
    let mut listed = 0;
    for objective in in_focus(o).take(FOCUS) {
        let description = one_line(&objective.description, DESCRIPTION_BYTES);
        if !page.line(&format!("- [{}] {description}", objective.id)) {
            break;
        }
        listed += 1;
        if let Some(files) = files(objective) {
            page.line(&format!("  Files that must exist and change: {files}"));
        }
        if let Some(command) = &objective.check {
            let check = check(command, objective.check_passed);
            page.line(&format!("  Its check, which must exit 0: {check}"));
        }
    }
    let left_out = in_focus(o).count() - listed;
    if left_out > 0 {
        page.line(&format!("- … and {left_out} more"));
    }
    if let Some(command) = &o.phase.check {
        let check = check(command, o.phase.check_passed);
        page.line(&format!("The check of the phase, which must exit 0: {check}"));
    }
    if !o.inbox_path.is_empty() && !together::is_review(o) {
        page.line("Report each objective as done, in-progress or failed (`objective_update`).");
    }
}

/// What is missing, by name. If nothing shows that an objective is done, its agent is asked for it.
pub(crate) fn missing(page: &mut Page, host: &impl Host, o: &Observation) {
    let failed = o.phase.check.as_ref().filter(|_| o.phase.check_passed == Some(false));
    page.line("");
    if let Some(check) = failed {
        let check = one_line(check, COMMAND_BYTES);
        page.line(&format!("The check of the phase failed; make it pass: {check}"));
    }
    for objective in in_focus(o).take(FOCUS) {
        let lacks = lacks(o, objective);
        if !lacks.is_empty() {
            page.line(&format!("Objective [{}]: {}.", objective.id, lacks.join("; ")));
        } else if together::is_review(o) {
            page.line(&format!("Objective [{}]: submit your review, with its score.", objective.id));
        } else if failed.is_none() {
            let or_answer = match wanted(host, &o.phase) {
                Some(Basis::Reported) => "report it as done: an answer is not enough here. \
                     If not, finish it, or report it as in-progress"
                    .to_owned(),
                _ => format!(
                    "report it as done, or answer with this line and nothing else: `Done: {id}`\n\
                     If not, finish it, or answer `Not done: {id}: what is missing`",
                    id = objective.id
                ),
            };
            page.line(&format!("Objective [{}]: is all of it done? If yes, {or_answer}.", objective.id));
        }
    }
}

pub(crate) fn in_focus(o: &Observation) -> impl Iterator<Item = &Objective> {
    o.objectives.iter().filter(|objective| o.focus.contains(&objective.id))
}

/// What keeps an objective from being done, as far as the host knows it. In a later round of a loop a file may stay as it is.
fn lacks(o: &Observation, objective: &Objective) -> Vec<String> {
    let is_first_round = o.phase.iteration.is_none_or(|round| round.ordinal <= 1);
    let mut lacks = Vec::new();
    for file in objective.expected_files.iter().take(FILES) {
        let path = one_line(&file.path, PATH_BYTES);
        match file.state {
            FileState::Missing => lacks.push(format!("write {path}, which is missing")),
            FileState::Unchanged if is_first_round => {
                lacks.push(format!("change {path}, which has not changed"));
            }
            FileState::Rewritten => lacks.push(format!(
                "change {path}, or report it as done if {path} is right as it was and as you wrote it again"
            )),
            FileState::Unchanged | FileState::Changed => {}
        }
    }
    if objective.check_passed == Some(false) {
        let check = one_line(objective.check.as_deref().unwrap_or_default(), COMMAND_BYTES);
        lacks.push(format!("make its check pass, which failed: {check}"));
    }
    if let Some(reported) =
        objective.reported.as_ref().filter(|reported| reported.by_session && reported.changed_since.is_none())
    {
        let note = match reported.note.trim() {
            "" => String::new(),
            note => format!(" ({})", said(note, NOTE_BYTES)),
        };
        match reported.status {
            ObjectiveStatus::InProgress => {
                lacks.push(format!("finish it and report it as done: you reported it as in-progress{note}"));
            }
            ObjectiveStatus::Failed => lacks.push(format!(
                "you reported it as failed{note}: try another way, or say what keeps you from it"
            )),
            ObjectiveStatus::Open | ObjectiveStatus::Done => {}
        }
    }
    lacks
}

fn files(objective: &Objective) -> Option<String> {
    let named = objective.expected_files.iter().take(FILES).map(file).collect::<Vec<_>>();
    let beyond = (objective.files as usize).saturating_sub(named.len());
    if named.is_empty() {
        return None;
    }
    let rest = if beyond > 0 { format!(", and {beyond} more") } else { String::new() };
    Some(named.join(", ") + &rest)
}

fn file(file: &ExpectedFile) -> String {
    let path = one_line(&file.path, PATH_BYTES);
    match file.state {
        FileState::Missing => format!("{path} (missing)"),
        FileState::Unchanged => format!("{path} (unchanged)"),
        FileState::Rewritten => format!("{path} (written again as it was)"),
        FileState::Changed => path,
    }
}

fn check(command: &str, passed: Option<bool>) -> String {
    let command = one_line(command, COMMAND_BYTES);
    match passed {
        Some(false) => format!("{command} (it failed)"),
        Some(true) => format!("{command} (it passed)"),
        None => command,
    }
}
