//! What an agent says against its own report of all that it was given (A11): in a handoff, in a request to split, in the notes
//! of its reports, or in its answer. It is asked once which of them holds. What it says again is not done, however often it reports it.

use baton_sdk::Host;
use baton_sdk::exhaustion::Observation;
use baton_sdk::recovery::Action;
use baton_sdk::types::{Objective, ObjectiveStatus, Origin, Signal};
use baton_sdk::words::one_line;

use super::completion::{
    NOTE_BYTES, can_ask, is_all_done, is_checked, is_done, not_done, others, reports, unfinished,
};
use super::ending::Heard;
use super::{Outcome, ending};

/// Words that take reports back.
struct Contrary<'o> {
    what: String,
    /// The objectives that they are about.
    of: Vec<&'o Objective>,
    /// The session is at its end by them, and another one continues.
    is_over: bool,
}

/// Whether the agent contradicts its own reports: the session is asked which of them holds; then what it leaves is for another one.
pub(super) fn contradicts_itself(
    host: &impl Host,
    o: &Observation,
    answer: Option<&Signal>,
) -> Option<Outcome> {
    let done: Vec<&Objective> = o.objectives.iter().filter(|objective| is_done(objective)).collect();
    let Contrary { what, of, is_over } = takes_back(host, o, answer, &done)?;
    let outcome = match is_over {
        // It leaves the rest, too, and has said so.
        true if o.handoff_reported && !is_all_done(o) => {
            Outcome { recovery: Action::HandOff, ..unfinished(host, o, what, Action::HandOff) }
        }
        true => unfinished(host, o, what, Action::HandOff),
        false => not_done(host, o, what),
    };
    Some(Outcome { taken_back: of.iter().map(|objective| objective.id.clone()).collect(), ..outcome })
}

/// What the session's handoff leaves of what the prompt was about.
pub(super) fn left_by_handoff(host: &impl Host, o: &Observation) -> Option<String> {
    let done: Vec<&Objective> = o.objectives.iter().collect();
    ending::left_by_handoff(host, o.handoff.as_ref()?, &done, &o.others_open, true)
}

/// `done`: what is reported as done. It may be all of the prompt, or some of it.
fn takes_back<'o>(
    host: &impl Host,
    o: &Observation,
    answer: Option<&Signal>,
    done: &[&'o Objective],
) -> Option<Contrary<'o>> {
    let first = done.first()?;
    let is_all = is_all_done(o);
    let is_review = o.phase.origin == Origin::Review;
    let is_last = o.phase.progress.open + o.phase.progress.failed == 0;
    if is_all && o.handoff_reported && is_last && can_ask(host, o) {
        let what = format!(
            "objective {} is reported as done, and a handoff was written; if work is left, report it as in progress",
            first.id
        );
        return Some(Contrary { what, of: done.to_vec(), is_over: true });
    }
    let left = |handoff| ending::left_by_handoff(host, handoff, done, &others(o, done), is_all);
    // Asked which of them holds, it answers with the line alone: its later word.
    let affirms = |answer: &Signal| {
        let text = host.text_slice(o.window, answer.text);
        ending::says(host, &text, done, &others(o, done), Heard::Answer).answers
            && ending::without_answer(&text).trim().is_empty()
    };
    let is_affirmed = !can_ask(host, o) && answer.is_some_and(affirms);
    let handoff = o.handoff.as_ref().filter(|_| !is_review && !is_affirmed);
    if let Some(quoted) = handoff.and_then(left) {
        return Some(contrary(&named_in(&quoted, done), "its handoff", &quoted, true));
    }
    let request = o.split_request.as_ref();
    if let Some(quoted) =
        request.and_then(|request| ending::left_by_split(host, request, done, &others(o, done)))
    {
        return Some(contrary(&named_in(&quoted, done), "its request to split", &quoted, false));
    }
    if !is_review && let Some(by_note) = taken_back_by_notes(host, o, done) {
        return Some(by_note);
    }
    let answer = answer?;
    let full = || stops(host, o, answer);
    // A review tells of what others left; that it was not finished itself holds, however often its score is reported.
    if is_review {
        return full().filter(|_| is_all).map(|quoted| contrary(done, "the answer", &quoted, true));
    }
    let text = host.text_slice(o.window, answer.text);
    if !is_last || !is_all {
        // Others of the phase may be what it leaves, unless it names what this is about.
        let left = ending::left_by_answer(host, &text, done, &others(o, done))?;
        let is_over = full().is_some();
        return Some(contrary(&named_in(&left, done), "the answer", &left, is_over));
    }
    let said = ending::says(host, &text, done, &others(o, done), Heard::answer(!can_ask(host, o)));
    if let Some(denied) = &said.denied {
        // Words beside it may be about the others.
        let beside = ending::without_answer(&text);
        let beside = ending::says(host, &beside, done, &[], Heard::Unasked);
        let is_plain = beside.leaves.is_none() && beside.contradicts.is_none() && beside.trouble.is_none();
        let of = if is_plain { named_in(denied, done) } else { done.to_vec() };
        return Some(contrary(&of, "the answer", denied, said.is_exhausted));
    }
    let left = match can_ask(host, o) {
        // A check that follows tells more than words that only may speak of the work.
        true => said.leaves.or(said.contradicts).or(said.trouble.filter(|_| !is_checked(o, done))),
        false => said.insists,
    };
    let full = full();
    let quoted = left.or_else(|| full.clone())?;
    Some(contrary(done, "the answer", &quoted, said.is_exhausted || full.is_some()))
}

/// The notes of what this session reported as done, each about its own objective and those that it names. A report is repeated with its note: what it says is no
/// answer to the question, and is judged as strictly as one.
fn taken_back_by_notes<'o>(
    host: &impl Host,
    o: &Observation,
    done: &[&'o Objective],
) -> Option<Contrary<'o>> {
    let is_first = can_ask(host, o);
    let heard = if is_first { Heard::Unasked } else { Heard::Note };
    done.iter().find_map(|objective| {
        let note = note_of(objective)?;
        // A note may speak of another one: "five lines; but parser.txt lacks two cases".
        let is_meant = |other: &&&Objective| other.id == objective.id || ending::names(note, &other.id);
        let of: Vec<&Objective> = done.iter().filter(is_meant).copied().collect();
        let said = ending::says(host, note, &of, &[], heard);
        let left = match is_first {
            true => said.leaves.or(said.contradicts).or(said.trouble),
            false => said.insists,
        };
        if let Some(quoted) = said.denied.or(left) {
            return Some(contrary(&of, "its note", &quoted, said.is_exhausted));
        }
        let full = if is_first { None } else { ending::out_of_context_in(host, note) };
        full.map(|quoted| contrary(&of, "its note", &quoted, true))
    })
}

fn contrary<'o>(of: &[&'o Objective], by: &str, quoted: &str, is_over: bool) -> Contrary<'o> {
    let ids: Vec<&str> = of.iter().map(|objective| objective.id.as_str()).collect();
    let quoted = one_line(quoted, NOTE_BYTES);
    let what = match &ids[..] {
        [id] => format!("objective {id} is reported as done, and {by} says that it is not: \"{quoted}\""),
        ids => format!(
            "objectives {} are reported as done, and {by} says that they are not: \"{quoted}\"",
            ids.join(", ")
        ),
    };
    Contrary { what, of: of.to_vec(), is_over }
}

/// Those whose ids such a line names ("Not done: parser"); all of them where it names none.
fn named_in<'o>(line: &str, done: &[&'o Objective]) -> Vec<&'o Objective> {
    let named: Vec<&Objective> =
        done.iter().copied().filter(|objective| ending::names(line, &objective.id)).collect();
    if named.is_empty() { done.to_vec() } else { named }
}

/// The words by which the agent stops for want of context.
pub(super) fn stops(host: &impl Host, o: &Observation, answer: &Signal) -> Option<String> {
    ending::out_of_context_beside_line(host, o, answer).map(|ending| ending.said.text)
}

/// What this session said of an objective when it reported it as done.
fn note_of(objective: &Objective) -> Option<&str> {
    let report = objective.reported.as_ref().filter(|_| reports(objective, ObjectiveStatus::Done))?;
    Some(report.note.trim()).filter(|note| !note.is_empty())
}
