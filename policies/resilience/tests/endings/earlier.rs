//! What an agent says of objectives that were done before its prompt (A11, C23), and ids that read like words of open work.

use baton_sdk::exhaustion::Observation;
use baton_sdk::handoff::ReportedHandoff;
use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;
use baton_sdk::sample;

use crate::judge;
use crate::judged::{Judged, Verdict};

/// Of the printer and the parser, those that are not done.
fn taken_back(judged: &Judged) -> Vec<&str> {
    let is_left = |id: &&str| *id == "parser" && !judged.done.iter().any(|done| done == id);
    ["parser"].into_iter().filter(is_left).collect()
}

fn objective(id: &str, status: ObjectiveStatus) -> Objective {
    let file = ExpectedFile { path: format!("{id}.txt"), state: FileState::Changed };
    let wanted = format!("Write {id}.txt with five lines, one for each case.");
    Objective { status, files: 1, expected_files: vec![file], ..sample::objective(id, &wanted) }
}

fn reported(id: &str, note: &str) -> Objective {
    let (status, note) = (ObjectiveStatus::Done, note.to_owned());
    let report = StatusReport { status, note, by_session: true, changed_since: None };
    Objective { reported: Some(report), ..objective(id, status) }
}

/// The prompt was about the printer, the parser was done before, and these are open; nothing checks it.
fn beside(o: &mut Observation, printer: Objective, others: &[&str]) {
    (o.phase.progress.open, o.phase.progress.done, o.phase.check) = (1, 2, None);
    (o.files_changed, o.phase.expects_files) = (1, true);
    o.objectives = vec![printer, reported("parser", "")];
    o.others_open = others.iter().map(|&id| id.into()).collect();
}

fn handed_off(state: &str, next: &str, printer: Objective) -> Judged {
    judge("I hand off.", |o| {
        o.handoff = Some(ReportedHandoff {
            session: None,
            current_state: state.into(),
            immediate_next_action: next.into(),
            critical_context: Vec::new(),
            critical_files: Vec::new(),
        });
        o.handoff_reported = true;
        beside(o, printer, &["tests"]);
    })
}

#[test]
fn a_handoff_takes_back_what_was_done_before_its_prompt() {
    for (state, next) in [
        (
            "printer.txt is written; parser.txt has only two of its five lines right",
            "mend lines 3 to 5 of parser.txt, then write tests.txt",
        ),
        ("parser.txt: 2 of 5 lines written", "write tests.txt"),
        (
            "printer.txt is written; parser.txt is still a stub",
            "finish parser.txt first, then write tests.txt",
        ),
        ("printer.txt is written", "fix the failing parser, then write tests.txt"),
        ("printer is done. parser is not finished: lines 3 to 5 are missing", "write tests.txt"),
        ("- [x] printer\n- [ ] parser: 2 of 5 lines", "write tests.txt"),
        ("parser must be done again", "redo parser, then tests"),
        ("printer is done. The parser does not handle quotes: two of its cases fail.", "write tests.txt"),
        ("printer.txt is written. The parser is written, but two of its cases fail.", "write tests.txt"),
        (
            "printer.txt is written. parser.txt still drops the quotes and must be repaired.",
            "write tests.txt",
        ),
        ("printer.txt is written. parser: quotes are not handled yet", "write tests.txt"),
        ("printer.txt is written. parser has a bug: quotes are dropped.", "write tests.txt"),
        ("printer.txt is written. The parser gives wrong results for quotes.", "write tests.txt"),
    ] {
        for printer in [reported("printer", ""), objective("printer", ObjectiveStatus::InProgress)] {
            let judged = handed_off(state, next, printer);
            assert_eq!(taken_back(&judged), ["parser"], "{state} / {next}: {}", judged.reason);
        }
    }
    // What it leaves beside that is for its successor, who is told; it is not asked again.
    let open = objective("printer", ObjectiveStatus::InProgress);
    let judged = handed_off("parser.txt: 2 of 5 lines written", "write tests.txt", open);
    assert_eq!((judged.verdict, judged.recovery), (Verdict::Unfinished, Action::HandOff));
}

#[test]
fn a_handoff_that_leaves_only_what_is_open_takes_nothing_back() {
    for (state, next) in [
        ("parser.txt and printer.txt are written", "write tests.txt"),
        (
            "parser is done, printer is done, tests are not begun",
            "write tests.txt for the parser and the printer",
        ),
        ("parser.txt has its five lines; tests.txt has 2 of 5 lines", "append cases 3 to 5 to tests.txt"),
        ("The parser is complete. The tests are missing.", "Write the tests of the parser in tests.txt"),
        ("parser and printer are done.", "Start tests.txt; it should exercise parser and printer"),
        ("parser and printer are done.", "Write tests.txt for parser and printer"),
        ("parser and printer are done.", "Read parser.txt and printer.txt, then write tests.txt"),
    ] {
        let judged = handed_off(state, next, reported("printer", ""));
        assert_eq!(judged.verdict, Verdict::HandedOff, "{state} / {next}: {}", judged.reason);
    }
    let open = handed_off(
        "parser is done; printer has 2 of 5 lines",
        "append lines 3 to 5 to printer.txt",
        objective("printer", ObjectiveStatus::InProgress),
    );
    assert_eq!(open.verdict, Verdict::HandedOff, "{}", open.reason);
}

#[test]
fn the_name_of_an_objective_is_no_word_about_it() {
    for id in [
        "issue-1",
        "missing-docs",
        "remaining-docs",
        "skip-list",
        "open-items",
        "half-open",
        "left-pad",
        "tests-fail",
        "problem-2",
        "todo-list",
        "partial-update",
        "unfinished-business",
        "incomplete-forms",
    ] {
        let judged = |answer: &str, objective: Objective| {
            judge(answer, |o| {
                (o.phase.progress.open, o.phase.progress.done, o.phase.check) = (0, 1, None);
                (o.files_changed, o.phase.expects_files) = (1, true);
                if objective.status != ObjectiveStatus::Done {
                    (o.phase.progress.open, o.phase.progress.done) = (1, 0);
                }
                o.objectives = vec![objective];
            })
        };
        for answer in
            [format!("Done: {id}"), format!("{id} is done.\n\nDone: {id}"), format!("{id}.txt is written.")]
        {
            let done = judged(&answer, reported(id, &format!("{id} is implemented")));
            assert_eq!(done.verdict, Verdict::Completed, "{answer}: {}", done.reason);
        }
        let line = judged(&format!("Done: {id}"), objective(id, ObjectiveStatus::InProgress));
        assert_eq!(line.verdict, Verdict::Completed, "{id}: {}", line.reason);
        let left = judged(&format!("{id} is half done."), reported(id, ""));
        assert_eq!(left.verdict, Verdict::Unfinished, "{id}: {}", left.reason);
    }
}

/// The prompt was about the printer, which is open like the tests; the parser was done before.
fn answered(answer: &str) -> Judged {
    judge(answer, |o| {
        beside(o, objective("printer", ObjectiveStatus::InProgress), &["tests"]);
        (o.phase.progress.open, o.phase.progress.done) = (2, 1);
    })
}

#[test]
fn an_answer_takes_back_what_was_done_before_its_prompt() {
    for answer in [
        "printer.txt has one line, and parser.txt still lacks lines 3 to 5.",
        "I have run out of context. printer.txt has one line, and parser.txt still lacks lines 3 to 5.",
        "parser.txt is only half done.",
    ] {
        let judged = answered(answer);
        assert_eq!(taken_back(&judged), ["parser"], "{answer}: {}", judged.reason);
    }
}

#[test]
fn an_answer_about_finished_work_takes_nothing_back() {
    for answer in [
        "parser.txt knows every fourth year, but of the centuries only every fourth. printer.txt has one line.",
        "parser.txt lacks nothing. printer.txt has one line.",
        "The parser is as it was; printer.txt has one line of five.",
    ] {
        let judged = answered(answer);
        assert_eq!(taken_back(&judged), Vec::<&str>::new(), "{answer}: {}", judged.reason);
    }
}

fn split_requested(rationale: &str) -> Judged {
    judge("The scope is too large.", |o| {
        let rationale = rationale.to_owned();
        o.split_request = Some(splitting::Request { groups: Vec::new(), rationale });
        beside(o, reported("printer", ""), &["tests", "lexer"]);
    })
}

#[test]
fn a_request_to_split_takes_back_what_it_says_is_left() {
    // A11, D2
    for rationale in [
        "parser is not finished: cases 3 to 5 are missing. tests and lexer share no files",
        "parser.txt has only 2 of its 5 lines; too much for one session",
        "The parser still lacks lines 3 to 5, and the tests need a session of their own",
    ] {
        let judged = split_requested(rationale);
        assert_eq!(taken_back(&judged), ["parser"], "{rationale}: {}", judged.reason);
    }
    for rationale in [
        "parser and printer are done; tests and lexer share no files",
        "tests and lexer are too much for one session",
        "tests is large: 40 cases are missing. The lexer is not begun",
    ] {
        let judged = split_requested(rationale);
        assert_eq!(taken_back(&judged), Vec::<&str>::new(), "{rationale}: {}", judged.reason);
    }
}

#[test]
fn a_part_in_a_shared_folder_is_believed_where_nobody_can_tell_what_it_changed() {
    // D3: the whole is verified or reviewed once the parts are together.
    let part = |text: &str, phase_files_changed: u32, origin: Origin| {
        judge(text, |o| {
            (o.phase.origin, o.phase.tree, o.phase.check) = (origin, None, None);
            o.phase.progress = Progress { done: 0, open: 1, failed: 0, done_by_session: 0 };
            o.phase.expects_files = true;
            (o.files_changed, o.phase_files_changed, o.nudges) = (0, phase_files_changed, 1);
            o.objectives = vec![sample::objective("printer", "Write what prints.")];
        })
    };
    let judged = part("Done: printer", 2, Origin::Split);
    assert_eq!(judged.verdict, Verdict::Completed, "{}", judged.reason);
    for (text, changed, origin) in [
        ("Done: printer", 0, Origin::Split),
        ("Done: printer", 2, Origin::Workflow),
        ("It prints.", 2, Origin::Split),
    ] {
        let judged = part(text, changed, origin.clone()).verdict;
        assert_eq!(judged, Verdict::Unfinished, "{text} {changed} {origin:?}");
    }
}
