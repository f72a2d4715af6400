//! An agent that says what is not done, and why (A11): a person is asked about it early, in its words.

use baton_sdk::Host;
use baton_sdk::exhaustion::Observation;
use baton_sdk::recovery::Action;
use baton_sdk::types::{Objective, Signal};
use baton_sdk::words::one_line;

use super::ending::{self, Said};
use super::{Outcome, completion, nearly_full};

/// An agent that was asked, and says again that it is not done, and why: no other session would come further where this one changed
/// nothing. One that changed something is continued once.
pub(super) fn says_why_not(
    host: &impl Host,
    o: &Observation,
    answer: Option<&Signal>,
    said: &Said,
    open: &[&Objective],
) -> Option<Outcome> {
    let what = said.denied.as_deref().and_then(|line| ending::why_not(line, open))?;
    let is_continued = o.files_changed == 0 || o.phase.budget.retries_used > 0;
    // Its context says why, and another session has room.
    let is_for_context = said.is_exhausted
        || nearly_full(host, o).is_some()
        || answer.is_some_and(|answer| ending::names_context(host, o, answer, open));
    if completion::can_ask(host, o) || !is_continued || is_for_context {
        return None;
    }
    let what = format!(
        "the agent says that this is not done: \"{}\"{}",
        one_line(what, completion::NOTE_BYTES),
        completion::held_to(o, open)
    );
    let question = format!("{}. What now?", completion::capital(&what));
    Some(completion::unfinished(host, o, what, Action::AskPerson(question)))
}
