//! What an agent says against its own report of all that it was given (A11): in a handoff, in the notes of its reports, or in its
//! answer. It is asked once which of them holds. What it says again is not done, however often it reports it.

use baton_sdk::Host;
use baton_sdk::exhaustion::Observation;
use baton_sdk::recovery::Action;
use baton_sdk::types::{Objective, ObjectiveStatus, Origin, Signal};

use super::completion::{NOTE_BYTES, can_ask, is_all_done, is_checked, not_done, reports, unfinished};
use super::ending::Heard;
use super::{Outcome, ending};
use crate::page::one_line;

/// Words that take a report back.
struct Contrary {
    what: String,
    /// The session is at its end by them, and another one continues.
    is_over: bool,
}

/// Whether the agent contradicts its own reports: the session is asked which of them holds; then what it leaves is for another one.
pub(super) fn contradicts_itself(
    host: &impl Host,
    o: &Observation,
    answer: Option<&Signal>,
) -> Option<Outcome> {
    let Contrary { what, is_over } = takes_back(host, o, answer).filter(|_| is_all_done(o))?;
    Some(match is_over {
        true => unfinished(host, o, what, Action::HandOff),
        false => not_done(host, o, what),
    })
}

/// What the session's handoff leaves of what the prompt was about.
pub(super) fn left_by_handoff(host: &impl Host, o: &Observation) -> Option<String> {
    let done: Vec<&Objective> = o.objectives.iter().collect();
    ending::left_by_handoff(host, o.handoff.as_ref()?, &done, &o.others_open)
}

fn takes_back(host: &impl Host, o: &Observation, answer: Option<&Signal>) -> Option<Contrary> {
    if !is_all_done(o) {
        return None;
    }
    let first = &o.objectives.first()?.id;
    let done: Vec<&Objective> = o.objectives.iter().collect();
    let is_review = o.phase.origin == Origin::Review;
    let is_last = o.phase.progress.open + o.phase.progress.failed == 0;
    if o.handoff_reported && is_last && can_ask(host, o) {
        let what = format!(
            "objective {first} is reported as done, and a handoff was written; if work is left, report it as in progress"
        );
        return Some(Contrary { what, is_over: true });
    }
    let taken_back = |by: &str, quoted: &str, is_over: bool| {
        let quoted = one_line(quoted, NOTE_BYTES);
        let what =
            format!("objective {first} is reported as done, and {by} says that it is not: \"{quoted}\"");
        Some(Contrary { what, is_over })
    };
    if let Some(quoted) = o.handoff.as_ref().filter(|_| !is_review).and_then(|_| left_by_handoff(host, o)) {
        return taken_back("its handoff", &quoted, true);
    }
    let notes = notes(&done);
    if !is_review && !notes.is_empty() {
        // A report is repeated with its note: what it says is no answer to the question, and is judged as strictly as one.
        let is_first = can_ask(host, o);
        let heard = if is_first { Heard::Unasked } else { Heard::Note };
        let said = ending::says(host, &notes, &done, heard);
        let left = match is_first {
            true => said.leaves.or(said.contradicts).or(said.trouble),
            false => said.insists,
        };
        if let Some(quoted) = said.denied.or(left) {
            return taken_back("its note", &quoted, said.is_exhausted);
        }
        let full = if is_first { None } else { ending::out_of_context_in(host, &notes) };
        if let Some(quoted) = full {
            return taken_back("its note", &quoted, true);
        }
    }
    let answer = answer?;
    let full = || stops(host, o, answer);
    // A review tells of what others left; that it was not finished itself holds, however often its score is reported.
    if is_review {
        return full().and_then(|quoted| taken_back("the answer", &quoted, true));
    }
    let text = host.text_slice(o.window, answer.text);
    if !is_last {
        // Others of the phase may be what it leaves, unless it names what this is about.
        let quoted = ending::left_by_answer(host, &text, &done, &o.others_open)?;
        return taken_back("the answer", &quoted, full().is_some());
    }
    let said = ending::says(host, &text, &done, Heard::answer(!can_ask(host, o)));
    let is_denied = said.denied.is_some();
    let left = match can_ask(host, o) {
        // A check that follows tells more than words that only may speak of the work.
        true => said.leaves.or(said.contradicts).or(said.trouble.filter(|_| !is_checked(o, &done))),
        false => said.insists,
    };
    let left = said.denied.or(left);
    let full = if is_denied { None } else { full() };
    let quoted = left.or_else(|| full.clone())?;
    taken_back("the answer", &quoted, said.is_exhausted || full.is_some())
}

/// The words by which the agent stops for want of context.
pub(super) fn stops(host: &impl Host, o: &Observation, answer: &Signal) -> Option<String> {
    ending::out_of_context_beside_line(host, o, answer).map(|ending| ending.said.text)
}

/// The notes of what this session reported as done, a line each.
fn notes(objectives: &[&Objective]) -> String {
    let reports = objectives.iter().filter(|objective| reports(objective, ObjectiveStatus::Done));
    let notes = reports.filter_map(|objective| objective.reported.as_ref()).map(|report| report.note.trim());
    notes.filter(|note| !note.is_empty()).collect::<Vec<_>>().join("\n")
}
