//! Is the work of the prompt done (A11)? The evidence is a ladder: a check that passed, the agent's own report, changed
//! files, the answer alone. Evidence against it always wins: a report of failed or in progress, a handoff, an expected
//! change that did not come. What is unclear is not done: the session is asked once, by name, what is missing.

use baton_sdk::Host;
use baton_sdk::exhaustion::{Observation, Verdict};
use baton_sdk::recovery::Action;
use baton_sdk::types::{Basis, FileState, Objective, ObjectiveStatus, Origin, Phase, Signal, StatusReport};
use baton_sdk::words::one_line;

use super::ending::{Heard, Said};
use super::{Outcome, contrary, course, denial, ending, nearly_full, nudge, observed, plain, refused};

/// Bytes of an agent's words in a reason.
pub(super) const NOTE_BYTES: usize = 200;
/// Bytes of what was wrong with its reports.
const NOT_TAKEN_BYTES: usize = 600;
/// Steps of `after-failed-report` that name a role begin so.
const ROLE: &str = "role:";

/// What the agent itself said against the work being done, by a report: failed, or handed off.
pub(super) fn reported(host: &impl Host, o: &Observation, answer: Option<&Signal>) -> Option<Outcome> {
    let open: Vec<&Objective> = open(o).collect();
    if let Some(failed) = open.iter().find(|objective| reports(objective, ObjectiveStatus::Failed)) {
        let what = format!("the agent reported objective {} as failed{}", failed.id, note(failed));
        return Some(Outcome {
            evidence: vec![observed(what.clone())],
            recovery: after_failed(host, o, &what),
            ..plain(Verdict::Failed, what)
        });
    }
    let is_left = !open.is_empty() || o.phase.progress.open + o.phase.progress.failed > 0;
    (o.handoff_reported && is_left && !answers_beside_handoff(host, o, answer)).then(|| Outcome {
        evidence: vec![observed("the agent wrote a handoff".to_owned())],
        ..plain(Verdict::HandedOff, "the agent wrote a handoff for its successor")
    })
}

/// The prompt was answered, and nothing says why it should not be done: is there enough to show for it?
pub(super) fn answered(host: &impl Host, o: &Observation, answer: Option<&Signal>) -> Outcome {
    // It stopped where it was, to be relieved of what is too much: that is what it should do (D2).
    if o.split_request.is_some() {
        return plain(Verdict::Answered, "it asks for its phase to be split");
    }
    // Who was to review is asked for it once; what becomes of work that nobody scored is for the host.
    if o.review_missing && can_ask(host, o) {
        let refused = o
            .report_not_taken
            .as_deref()
            .map(|why| format!("; it was not taken: {}", one_line(why, NOT_TAKEN_BYTES)));
        let what = format!("the review was not submitted{}", refused.unwrap_or_default());
        return unfinished(host, o, what, Action::Retry);
    }
    // However short its answer: what it has to say is in its review.
    if o.phase.origin == Origin::Review && !o.review_missing && !o.imported {
        return plain(Verdict::Answered, "its review is submitted");
    }
    let open: Vec<&Objective> = open(o).collect();
    if open.is_empty() && !o.objectives.is_empty() {
        // What it said against that was seen to before its handoff and its context.
        return plain(Verdict::Answered, "every objective of the prompt is reported as done");
    }
    if let Some(half) = open.iter().find(|objective| {
        [ObjectiveStatus::InProgress, ObjectiveStatus::Open].iter().any(|status| reports(objective, *status))
    }) {
        let what = format!("the agent reported objective {} as in progress{}", half.id, note(half));
        return not_done(host, o, what);
    }
    let said = heard(host, o, answer, &open);
    // What it wants to know keeps it from whatever else is missing.
    if let Some(asks) = said.as_ref().and_then(|said| asks(host, o, answer, said)) {
        return asks;
    }
    if let Some(open) = said.as_ref().and_then(|said| denial::says_why_not(host, o, answer, said, &open)) {
        return open;
    }
    let is_right = may_be_right(o) && said.as_ref().is_some_and(|said| said.answers);
    if let Some(what) = open.iter().find_map(|objective| absent(objective, is_right)) {
        let question = format!("{}. Is the work done?", capital(&what));
        let then = if o.phase.budget.retries_used == 0 { Action::Retry } else { Action::AskPerson(question) };
        return unfinished(host, o, what, then);
    }
    let answers = said.as_ref().is_some_and(|said| said.answers);
    let not_taken = o.report_not_taken.as_deref();
    // Whoever meant to report has something to say: after the question its last line will do.
    let is_answered = open.is_empty() || answers && o.nudges > 0;
    if let Some(why) = not_taken.filter(|_| !is_answered) {
        let what = format!("a report of the agent was not taken: {}", one_line(why, NOT_TAKEN_BYTES));
        return not_done(host, o, what);
    }
    // After the question a check that follows decides.
    let is_doubted = !answers && (can_ask(host, o) || !is_shown_by_check(host, o, &open));
    if let Some(what) = open.iter().find_map(|objective| rewritten(objective)).filter(|_| is_doubted) {
        return not_done(host, o, what);
    }
    if let Some(doubtful) = said.as_ref().and_then(|said| doubt(host, o, answer, said, &open)) {
        return doubtful;
    }
    if let Some(what) = refused::of_prompt(host, o).filter(|_| can_ask(host, o) && !is_checked(o, &open)) {
        return not_done(host, o, what);
    }
    // However short it is: it was asked for in these words.
    let claims = said.as_ref().is_some_and(|said| said.claims);
    let affirms = answers || o.nudges > 0 && (claims || said.as_ref().is_some_and(|said| said.affirms));
    if let Some(objective) = stands(o, &open).filter(|_| !affirms && !claims) {
        let what = format!(
            "objective {} was reported as not done{}, and nothing was said since that it is",
            objective.id,
            note(objective)
        );
        return not_done(host, o, what);
    }
    let wants_more = wanted(host, &o.phase) == Some(Basis::Reported);
    let is_silent =
        o.answer_bytes == 0 && is_for_change(host, o, &open) && !is_shown_by_check(host, o, &open);
    if is_silent {
        return not_done(host, o, "the answer is empty, and nothing was reported".to_owned());
    }
    let is_anything_there = !is_for_change(host, o, &open)
        || o.files_changed > 0
        || is_shown_by_check(host, o, &open)
        || was_worked_on(o, &open);
    if answers && !wants_more && is_anything_there {
        return plain(Verdict::Answered, "its last line says that it is done");
    }
    // Where nothing is left of the phase, an agent that has reported everything need not say it again.
    let all_reported = !is_left(o) && o.phase.progress.done > 0;
    let is_short = !all_reported && o.answer_bytes < host.integer("min-answer-bytes") as u64;
    // Who finds the work done, by a session that was lost, has little to say, and says it again: the check tells.
    let is_for_the_check = o.nudges > 0
        && o.answer_bytes > 0
        && !open.is_empty()
        && is_checked(o, &open)
        && open.iter().all(|objective| is_there(objective));
    if is_short && o.files_changed == 0 && !is_for_the_check && !affirms {
        let last = answer.map(|answer| ending::last_words(host, o.window, answer)).unwrap_or_default();
        let what = format!("{}, and no file changed", brief_answer(o, &last));
        // What another session changed may be the work: after the sessions that there are, a person can say so.
        let is_another = |objective: &&Objective| objective.attempts > o.nudges + 1;
        if o.phase_files_changed > 0 && !open.is_empty() && open.iter().all(is_another) {
            let what = format!("{what} in this session; other sessions of the phase changed some");
            return not_done(host, o, what);
        }
        // Nothing was cut off: it is asked for its work like an agent that says more.
        if !open.is_empty() && (answers || is_whole(&last)) {
            return not_done(host, o, what);
        }
        return Outcome {
            evidence: vec![observed(what.clone())],
            recovery: nudge(host, o),
            ..plain(Verdict::Truncated, what)
        };
    }
    weigh(host, o, &open, answer)
}

/// What there is of an answer that is shorter than `min-answer-bytes`: its words, where the host has them.
fn brief_answer(o: &Observation, last: &str) -> String {
    match (last, o.answer_bytes) {
        ("", 0) => "the answer is empty".to_owned(),
        ("", bytes) => format!("the answer has only {bytes} bytes"),
        (last, _) => format!("the agent said only \"{}\"", one_line(last, NOTE_BYTES)),
    }
}

/// Whether an answer ends where a sentence does, and not in the middle of one or of a thought.
fn is_whole(answer: &str) -> bool {
    let said = answer.trim_end_matches(|c: char| c.is_whitespace() || "\"'”’`*_)]".contains(c));
    said.ends_with(['.', '!', '?', '。']) && !said.ends_with("..")
}

/// What the agent says of work that it did not report. A review tells of what others left, and nobody can be asked what a recording
/// did not say.
fn heard(host: &impl Host, o: &Observation, answer: Option<&Signal>, open: &[&Objective]) -> Option<Said> {
    let is_review = o.phase.origin == Origin::Review;
    let is_heard = o.answer_bytes > 0 && !open.is_empty() && !is_review && !o.imported;
    // Reading the words costs more than all else: once.
    answer.filter(|_| is_heard).map(|answer| {
        let text = host.text_slice(o.window, answer.text);
        ending::says(host, &text, open, &others(o, open), Heard::answer(!can_ask(host, o)))
    })
}

/// Whether its last line answers that the objectives are done which are not reported yet.
pub(super) fn answers_done(host: &impl Host, o: &Observation, answer: &Signal) -> bool {
    let open: Vec<&Objective> = open(o).collect();
    let said = || {
        let text = host.text_slice(o.window, answer.text);
        ending::says(host, &text, &open, &others(o, &open), Heard::Unasked)
    };
    !open.is_empty() && said().answers
}

/// Whether an agent that was asked answers plainly that all is done, beside a handoff that says nothing else.
fn answers_beside_handoff(host: &impl Host, o: &Observation, answer: Option<&Signal>) -> bool {
    o.nudges > 0
        && answer.is_some_and(|answer| answers_done(host, o, answer))
        && contrary::left_by_handoff(host, o).is_none()
}

/// Whether the phase has something to show before this session: an agent that takes it up may find its work done, and say so. An
/// attempt that changed nothing shows nothing.
fn was_worked_on(o: &Observation, open: &[&Objective]) -> bool {
    let by_another = |objective: &Objective| objective.attempts > o.nudges + 1 && o.phase_files_changed > 0;
    o.phase.progress.done > 0 || open.iter().all(|objective| is_there(objective) || by_another(objective))
}

/// Whether files are to change, and that they do is part of what the objective is done by.
fn is_for_change(host: &impl Host, o: &Observation, open: &[&Objective]) -> bool {
    !open.is_empty() && wanted(host, &o.phase) != Some(Basis::Answer) && o.phase.expects_files
}

/// Words can be read wrongly in any language and in ever new ways. So an agent that reported nothing is asked once, whatever it says,
/// unless its last line answers as every prompt asks for, or it ends with the plain claim that all is done: words of a short list, of
/// which none takes anything back. Who was asked has to answer like that, or with a yes; else only a check that follows can show the
/// work, if no word speaks against it. Changed files show nothing by then: an agent that writes early changes them, however little it
/// did. Who leaves work again hands over; with a context that is nearly full, or is named, it is out of it (A12).
fn doubt(
    host: &impl Host,
    o: &Observation,
    answer: Option<&Signal>,
    said: &Said,
    open: &[&Objective],
) -> Option<Outcome> {
    let was_asked = !can_ask(host, o);
    let quote = |said: &str| format!("\"{}\"", one_line(said, NOTE_BYTES));
    let is_for_change = is_for_change(host, o, open);
    let checked = is_shown_by_check(host, o, open);
    let contradicts = said.contradicts.as_deref();
    // One that has been seen to fail decides, unless the agent leaves the work to somebody: it costs nothing, and a question costs a prompt.
    let is_decided_by_check = o.files_changed > 0 && !said.hands_over && fails(o, open);
    let trouble = said.trouble.as_deref().or(contradicts);
    let is_enough = wanted(host, &o.phase) == Some(Basis::Answer);
    let names_context = || answer.is_some_and(|answer| ending::names_context(host, o, answer, open));
    // Who only reads speaks of what others left.
    let left = match was_asked {
        false => said.leaves.as_ref().or(said.contradicts.as_ref()),
        true => said.insists.as_ref(),
    };
    let full = || answer.and_then(|answer| contrary::stops(host, o, answer));
    let left = left.filter(|_| is_for_change && !is_decided_by_check);
    let taken_back = said.answers.then(|| left.cloned().or_else(full)).flatten();
    // A check that follows tells more than words.
    let unclear = said.unclear.as_deref().filter(|_| is_for_change && !checked);
    let what = match (&said.denied, &said.leaves, &said.ahead, trouble) {
        _ if was_asked && said.refuses => "answers no".to_owned(),
        // However often it is said: words that leave work win over it.
        _ if let Some(taken_back) = &taken_back => {
            format!("answers that it is done, and leaves work: {}", quote(taken_back))
        }
        _ if said.answers => format!("answers that it is done, and says more beside it: {}", quote(unclear?)),
        (Some(line), ..) => format!("answers \"{}\"", one_line(line, NOTE_BYTES)),
        _ if said.said_more => {
            format!("says more on its last line than `Done: {}`", ids_of(open))
        }
        (_, Some(left), ..) => format!("leaves work: {}", quote(left)),
        // Where no file changed, that is what it is asked for.
        _ if is_for_change && !checked && o.files_changed == 0 => return None,
        (_, _, Some(next), _) => format!("says what comes next: {}", quote(next)),
        _ if was_asked && (said.affirms || said.claims) => return None,
        (.., Some(trouble)) => format!("uses words that may mean that work is left: {}", quote(trouble)),
        _ if names_context() => "speaks of its context".to_owned(),
        _ if is_decided_by_check && wanted(host, &o.phase) != Some(Basis::Reported) => return None,
        _ if said.claims || was_asked && (checked && said.has_words || is_enough && said.tells) => {
            return None;
        }
        _ => {
            let last = answer.map(|answer| ending::last_words(host, o.window, answer)).unwrap_or_default();
            let said = if last.is_empty() { String::new() } else { format!("; it said: {}", quote(&last)) };
            match wanted(host, &o.phase) {
                Some(Basis::Reported) => format!("only a report makes {} done{said}", ids_of(open)),
                _ => format!("its answer does not end with `Done: {}`{said}", ids_of(open)),
            }
        }
    };
    let full = nearly_full(host, o);
    let is_reported =
        open.iter().any(|objective| objective.reported.is_some()) || o.phase.progress.done_by_session > 0;
    let who = match (said.answers, is_reported) {
        (true, _) => "the agent",
        (false, true) => "the agent reported nothing more, and",
        (false, false) => "the agent reported nothing, and",
    };
    let what = format!("{who} {what}{}", held_to(o, open));
    let words = answer.and_then(|answer| {
        let words = said.leaves.as_ref().or(said.ahead.as_ref())?;
        Some(ending::quoted(answer, words.clone()))
    });
    let evidence = full.clone().map(observed).into_iter().chain(words).collect();
    let is_unclear = said.answers && taken_back.is_none();
    let over = match full {
        _ if !was_asked => None,
        Some(full) => Some(full),
        None if said.is_exhausted => Some("its metadata says that its context is exhausted".to_owned()),
        None if !said.refuses && !is_unclear && names_context() => {
            Some("the agent names its context".to_owned())
        }
        None => None,
    };
    Some(match over {
        Some(why) => Outcome { evidence, ..plain(Verdict::Exhausted, format!("{why}; {what}")) },
        // It has said itself that the work is not done: that is not asked.
        None if said.denied.is_some() => {
            let asked = format!("{}. What now?", capital(&what));
            let outcome = not_done(host, o, what);
            let recovery = match outcome.recovery {
                Action::AskPerson(_) => Action::AskPerson(asked),
                other => other,
            };
            Outcome { evidence, recovery, ..outcome }
        }
        None => Outcome { evidence, ..not_done(host, o, what) },
    })
}

/// An agent that was asked, and answers with a question: no other session could answer what it asks.
fn asks(host: &impl Host, o: &Observation, answer: Option<&Signal>, said: &Said) -> Option<Outcome> {
    let is_asking = !can_ask(host, o) && said.denied.is_none() && said.leaves.is_none() && !said.refuses;
    let is_asking = is_asking && nearly_full(host, o).is_none();
    let unbegun = said.wants_to_know.as_ref().filter(|_| o.files_changed == 0);
    let question = one_line(said.asks.as_ref().or(unbegun).filter(|_| is_asking)?, NOTE_BYTES);
    let recovery = course(host, o, Verdict::NeedsInput, &question);
    let evidence = answer.map(|answer| ending::quoted(answer, question.clone())).into_iter().collect();
    let what = format!("the agent asks: \"{question}\"");
    Some(Outcome { evidence, recovery, ..plain(Verdict::NeedsInput, what) })
}

fn ids_of(open: &[&Objective]) -> String {
    let ids: Vec<&str> = open.iter().map(|objective| objective.id.as_str()).collect();
    ids.join(", ")
}

/// The check that the work is held to, where there is one.
pub(super) fn held_to(o: &Observation, open: &[&Objective]) -> String {
    let of_objective = open.iter().find_map(|objective| objective.check.as_ref());
    match of_objective.or(o.phase.check.as_ref()) {
        None => String::new(),
        Some(check) => format!("; its check is `{}`", one_line(check, NOTE_BYTES)),
    }
}

/// Nothing speaks against it: is the evidence strong enough?
fn weigh(host: &impl Host, o: &Observation, open: &[&Objective], answer: Option<&Signal>) -> Outcome {
    let changed = o.files_changed > 0;
    let ids = ids_of(open);
    let (is_enough, what) = match wanted(host, &o.phase) {
        Some(Basis::Reported) => (false, format!("objective {ids} is not reported as done")),
        Some(_) => (true, String::new()),
        // Recorded sessions, of which nobody knows what they were to do, have no objectives.
        None if open.is_empty() || changed || !o.phase.expects_files => (true, String::new()),
        // What nothing shows is left to the check that follows.
        None if is_shown_by_check(host, o, open) => (true, String::new()),
        None if (is_hidden(o) || may_be_right(o))
            && answer.is_some_and(|answer| answers_done(host, o, answer)) =>
        {
            (true, String::new())
        }
        None if is_checked(o, open) => {
            let what = match check_passed(o, open) {
                Some(true) => "no file changed, and its check passed without that",
                Some(false) => "no file changed since its check failed",
                None => "no file changed, so its check may have passed before",
            };
            (false, format!("objective {ids}: {what}{}", held_to(o, open)))
        }
        None => (false, format!("objective {ids}: no file changed, and the agent reported nothing")),
    };
    if is_enough {
        let by = if changed { "it was answered, and files changed" } else { "the prompt was answered" };
        return plain(Verdict::Answered, by);
    }
    let said =
        answer.map(|answer| ending::last_words(host, o.window, answer)).filter(|said| !said.is_empty());
    let said =
        said.map_or_else(String::new, |said| format!("; it said last: \"{}\"", one_line(&said, NOTE_BYTES)));
    let question = is_it_done(host, o, &format!("{what}{said}"));
    unfinished(host, o, what, Action::AskPerson(question))
}

/// Whether what a part changed cannot be told from what its siblings changed in the same folder. The whole is verified or reviewed
/// once the parts are together (D3).
fn is_hidden(o: &Observation) -> bool {
    o.phase.origin == Origin::Split && o.phase.tree.is_none() && o.phase_files_changed > 0
}

/// Whether the work may be as it should be before anybody touches it: in a further round of a loop (B10), and where parts come
/// together that fit (D3).
fn may_be_right(o: &Observation) -> bool {
    o.phase.origin == Origin::Merge || o.phase.iteration.is_some_and(|round| round.ordinal > 1)
}

/// Asks the same session once, by name, for what is missing; then goes on as said.
pub(super) fn unfinished(host: &impl Host, o: &Observation, what: String, then: Action) -> Outcome {
    Outcome {
        evidence: vec![observed(what.clone())],
        recovery: if can_ask(host, o) { Action::Nudge } else { then },
        is_unfinished: true,
        ..plain(Verdict::Answered, what)
    }
}

/// Whether the session is there, and was not asked yet.
pub(super) fn can_ask(host: &impl Host, o: &Observation) -> bool {
    o.session.exit.is_none() && i64::from(o.nudges) < host.integer("max-asks")
}

/// Asks for what is missing; then another session goes on, and where one did, a person is asked. A session that changed nothing and
/// was refused a call is followed by none: the next one may do no more.
pub(super) fn not_done(host: &impl Host, o: &Observation, what: String) -> Outcome {
    let is_kept_from_it = o.files_changed == 0 && refused::call(host, o).is_some();
    let then = match o.phase.budget.retries_used < o.phase.budget.retries && !is_kept_from_it {
        true => Action::Retry,
        false => Action::AskPerson(is_it_done(host, o, &what)),
    };
    unfinished(host, o, what, then)
}

/// What a person is asked who can look at the work, with the call that the agent was not allowed.
fn is_it_done(host: &impl Host, o: &Observation, what: &str) -> String {
    let refused = refused::call(host, o);
    let refused = refused.map(|call| format!(". It was not allowed to run `{call}`")).unwrap_or_default();
    format!("{}{refused}. Is the work done?", capital(what))
}

/// The step of `after-failed-report` for this failure of the phase; the last one for every later one.
fn after_failed(host: &impl Host, o: &Observation, what: &str) -> Action {
    let steps = host.texts("after-failed-report");
    let step = steps.get(o.phase.budget.retries_used as usize).or(steps.last());
    match step.map(String::as_str) {
        Some("new-session") => Action::Retry,
        Some("split") => Action::Split,
        Some(step) if step.starts_with(ROLE) => Action::OtherRole(step[ROLE.len()..].to_owned()),
        _ => Action::AskPerson(format!("{}. What now?", capital(what))),
    }
}

/// The evidence that is asked for, by the workflow or by a setting.
pub(crate) fn wanted(host: &impl Host, phase: &Phase) -> Option<Basis> {
    phase.accept.or_else(|| match host.text("accept").as_str() {
        "checked" => Some(Basis::Checked),
        "reported" => Some(Basis::Reported),
        "answer" => Some(Basis::Answer),
        _ => None,
    })
}

/// Whether the prompt left work: an objective of it that is not done. Where nothing is known of those, the phase says it.
pub(super) fn is_left(o: &Observation) -> bool {
    match o.objectives.is_empty() {
        true => o.phase.progress.open + o.phase.progress.failed > 0 || o.files_missing > 0,
        false => open(o).next().is_some(),
    }
}

/// The session as it was when it had reported something of its prompt as done, where that was taken back.
pub(super) fn as_reported(o: &Observation) -> Option<Observation> {
    let is_taken_back = |objective: &Objective| {
        objective.status != ObjectiveStatus::Done && reports(objective, ObjectiveStatus::Done)
    };
    let count = open(o).filter(|objective| is_taken_back(objective)).count() as u32;
    if count == 0 {
        return None;
    }
    let mut seen = o.clone();
    let taken_back = seen.objectives.iter_mut().filter(|objective| is_taken_back(objective));
    taken_back.for_each(|objective| objective.status = ObjectiveStatus::Done);
    seen.phase.progress.open = o.phase.progress.open.saturating_sub(count);
    seen.phase.progress.done = o.phase.progress.done.saturating_add(count);
    Some(seen)
}

/// Whether every objective of the prompt is taken for done, by what was reported.
pub(super) fn is_all_done(o: &Observation) -> bool {
    !o.objectives.is_empty() && open(o).next().is_none()
}

/// Ids of other objectives of the phase than these, as far as they are told.
pub(super) fn others(o: &Observation, of: &[&Objective]) -> Vec<String> {
    let beside = o.objectives.iter().map(|objective| &objective.id);
    let beside = beside.filter(|id| !of.iter().any(|objective| objective.id == **id));
    beside.chain(&o.others_open).cloned().collect()
}

fn open(o: &Observation) -> impl Iterator<Item = &Objective> {
    o.objectives.iter().filter(|objective| !is_done(objective))
}

/// Whether it is taken for done.
pub(super) fn is_done(objective: &Objective) -> bool {
    objective.status == ObjectiveStatus::Done
}

/// Whether the session said so itself.
pub(super) fn reports(objective: &Objective, status: ObjectiveStatus) -> bool {
    let is_newest = |report: &StatusReport| report.by_session && report.changed_since.is_none();
    objective.reported.as_ref().is_some_and(|report| is_newest(report) && report.status == status)
}

/// An objective that was reported as not done before the prompt, where nothing but words can take that back. What was changed since
/// may be the rest of it, and a check that follows tells.
fn stands<'o>(o: &Observation, open: &[&'o Objective]) -> Option<&'o Objective> {
    let is_against = |report: &StatusReport| {
        let is_left = |changed: u32| changed == 0 || !is_checked(o, open);
        report.changed_since.is_some_and(is_left) && !o.imported
    };
    open.iter().find(|objective| objective.reported.as_ref().is_some_and(is_against)).copied()
}

/// Whether a check follows that looks at all of them.
pub(super) fn is_checked(o: &Observation, open: &[&Objective]) -> bool {
    o.phase.check.is_some() || open.iter().all(|objective| objective.check.is_some())
}

/// How the checks ended that look at all of them, when they last ran; absent where one did not run yet.
fn check_passed(o: &Observation, open: &[&Objective]) -> Option<bool> {
    let of_phase = o.phase.check.as_ref().and(o.phase.check_passed);
    let each = open.iter().map(|objective| objective.check.as_ref().and(objective.check_passed).or(of_phase));
    each.into_iter().try_fold(true, |all, passed| passed.map(|passed| all && passed))
}

/// Whether each of them is held to a check that failed when it last ran: once it passes, something has changed.
fn fails(o: &Observation, open: &[&Objective]) -> bool {
    // A check of the phase says nothing of one objective while it waits for others.
    let of_phase =
        || o.others_open.is_empty() && o.phase.check.is_some() && o.phase.check_passed == Some(false);
    let of_objective =
        |objective: &&Objective| objective.check.is_some() && objective.check_passed == Some(false);
    !open.is_empty() && open.iter().all(|objective| of_objective(objective) || of_phase())
}

/// Whether that check can show the work. One that follows on a phase in which no file changed may have passed before the work
/// began: it is enough only if it is known to have failed, or the workflow takes a check for done.
fn is_shown_by_check(host: &impl Host, o: &Observation, open: &[&Objective]) -> bool {
    let is_enough = || {
        o.phase_files_changed > 0
            || o.phase.progress.done > 0
            || fails(o, open)
            || !is_for_change(host, o, open)
            || wanted(host, &o.phase) == Some(Basis::Checked)
    };
    is_checked(o, open) && is_enough()
}

/// Whether it names files, and each of them came, by whichever session of the phase.
fn is_there(objective: &Objective) -> bool {
    let files = &objective.expected_files;
    let is_written = |state: FileState| matches!(state, FileState::Changed | FileState::Rewritten);
    !files.is_empty() && files.iter().all(|file| is_written(file.state))
}

fn note(objective: &Objective) -> String {
    match objective.reported.as_ref().map(|report| report.note.trim()) {
        Some(note) if !note.is_empty() => format!(": \"{}\"", one_line(note, NOTE_BYTES)),
        _ => String::new(),
    }
}

/// The expected change that did not come. Where the file `is_right` as it is, it only has to be there.
fn absent(objective: &Objective, is_right: bool) -> Option<String> {
    let missing = of_files(objective, FileState::Missing, "is missing");
    missing.or_else(|| of_files(objective, FileState::Unchanged, "has not changed").filter(|_| !is_right))
}

/// What was written again as it was: touched, or right as it is. Only its agent can say which.
fn rewritten(objective: &Objective) -> Option<String> {
    of_files(objective, FileState::Rewritten, "has the content that it had before")
}

/// What is to be said of the first expected file in such a state.
fn of_files(objective: &Objective, state: FileState, what: &str) -> Option<String> {
    let file = objective.expected_files.iter().find(|file| file.state == state)?;
    Some(format!("objective {}: {} {what}", objective.id, one_line(&file.path, NOTE_BYTES)))
}

pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}
