//! What is said once more after the question (A11): finished work that is told in words of open work must get done, and open work must
//! not.

use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;
use baton_sdk::sample;

use crate::judged::{Judged, Verdict};
use crate::{judge, reported_done};

const WANTED: &str = "Write a.txt with everything that notes.md asks for";

/// Its own words of what it checks for (the example `split.toml`).
#[test]
fn a_case_that_the_work_provides_for_is_done_when_it_is_repeated() {
    let wanted = "Write tests/run.sh, which tries each function once; it exits 0 only if all are right";
    for text in [
        "tests/run.sh tries every function once, and exits 1 where one of them is wrong.",
        "tests/run.sh prints a line for each function, and stops early if one of the functions is broken.",
    ] {
        let again = reported_done(text, ("runner", wanted), "", 0, 1);
        assert_eq!(again.verdict, Verdict::Completed, "{text}: {}", again.reason);
    }
    for text in [
        "tests/run.sh works except where a function is broken.",
        "tests/run.sh is there, and when I run it one function is wrong.",
        "Each function is broken if src is empty.",
    ] {
        let again = reported_done(text, ("runner", wanted), "", 0, 1);
        assert_ne!(again.verdict, Verdict::Completed, "{text}");
    }
}

/// An answer with the line, of an objective "a" that nobody reported, and that a check looks at.
fn answered(text: &str, nudges: u32) -> Judged {
    judge(&format!("{text}\n\nDone: a"), |o| {
        let file = ExpectedFile { path: "a.txt".into(), state: FileState::Changed };
        o.objectives = vec![Objective {
            status: ObjectiveStatus::InProgress,
            files: 1,
            expected_files: vec![file],
            ..sample::objective("a", WANTED)
        }];
        (o.files_changed, o.phase.expects_files, o.nudges) = (1, true, nudges);
        o.phase.check = Some("true".into());
    })
}

fn noted(note: &str, nudges: u32) -> Judged {
    reported_done("I wrote a.txt as asked and looked at it again.", ("a", WANTED), note, 0, nudges)
}

#[test]
fn a_note_with_harmless_words_is_done_when_it_is_repeated() {
    for note in NOTES_OF_FINISHED_WORK {
        let first = noted(note, 0);
        assert!(matches!(first.recovery, Action::Nudge | Action::Wait), "{note} {:?}", first.recovery);
        let again = noted(note, 1);
        assert_eq!(again.verdict, Verdict::Completed, "{note}: {}", again.reason);
    }
}

const NOTES_OF_FINISHED_WORK: [&str; 28] = [
    "No TODO is left",
    "No TODO or FIXME remains in a.txt",
    "No further changes needed",
    "Nothing more is needed",
    "No tests were skipped, all pass",
    "No case is skipped",
    "No errors, 12 tests pass",
    "No open points; tests pass",
    "written; the rest of the file is unchanged",
    "added the section, the remaining ones are as they were",
    "Raises NotImplementedError for unknown operators, as asked",
    "the stub is there, as the description asks",
    "None of the old placeholders remain",
    "none of the tests fails any more",
    "handles partial reads and incomplete frames",
    "Skips blank lines, as asked",
    "rejects unfinished uploads",
    "skipped rows are logged",
    "Removed the stub, real code is in place",
    "Removed all TODO comments",
    "Fixed the failing test",
    "All cases handled; nothing is left",
    "All tests pass; none fails",
    "the tests failed before, they pass now",
    "returns an error if the file does not exist",
    "shows a draft until it is saved",
    "14 tests passed, 2 skipped",
    "the last test failed at first because of a stale cache; it passes",
];

#[test]
fn a_note_that_leaves_work_is_not_done_however_often_it_is_repeated() {
    for note in [
        "2 of 5 lines; lines 3 to 5 are still missing",
        "half of it",
        "stopped for lack of context",
        "stopped here",
        "first half",
        "wip",
        "draft",
        "the rest is left for a successor",
        "tests fail",
        "the build is broken",
        "does the first part, second part to follow",
        "not quite",
        "40% done",
        "three of five functions are there",
        "it does not compile",
        "blocked by the missing key",
        "all but the last section; tests pending",
        "everything except the appendix",
        "Not done: the appendix",
    ] {
        assert_eq!(noted(note, 0).recovery, Action::Nudge, "{note}");
        assert_eq!(noted(note, 1).verdict, Verdict::Unfinished, "{note}");
    }
}

#[test]
fn a_no_of_something_is_no_refusal() {
    for text in [
        "No TODO or FIXME is left in a.txt.",
        "No TODO is left.",
        "No work is left. The default branch handles the rest of the cases.",
        "No further changes are needed.",
        "**No** placeholder, stub or TODO is left.",
        "No other file had to change.",
        "No issues were found when I looked at it again; all of it is there.",
        "No-op: it was there, and nothing is missing.",
        "Nothing is missing.",
        "No. of lines: 12. All sections are there.",
    ] {
        let again = answered(text, 1);
        assert_eq!(again.verdict, Verdict::Completed, "{text}: {}", again.reason);
    }
    for text in [
        "No.",
        "No",
        "No!",
        "**No.**",
        "Nein.",
        "No, two sections are absent.",
        "No - the second part waits.",
        "No; it waits.",
        "No it is not.",
        "No not yet.",
        "No. The appendix waits.",
        "Non, pas encore.",
    ] {
        let again = answered(text, 1);
        assert_eq!(again.verdict, Verdict::Unfinished, "{text}");
        assert!(again.reason.contains("answers no"), "{text}: {}", again.reason);
    }
}

#[test]
fn finished_work_in_words_of_open_work_is_done_after_one_question() {
    for text in [
        "The stub is what the objective asks for; nothing else is needed.",
        "Yes. All of it is done: a.txt raises NotImplementedError for unsupported operators as the description asks.",
        "It raises NotImplementedError for unsupported operators as the description asks.",
        "I left the public API unchanged, and skipped nothing.",
        "I left the public API as it was.",
        "I kept the remaining lines untouched.",
        "I had left out the last section. I have now written it, so all sections are there.",
        "I had skipped two cases before. Both are written now.",
        "It is complete: skipping the intro works, and unfinished games are saved.",
        "Incomplete records are now rejected with an error.",
        "I skipped the two GPU tests on purpose, as notes.md says.",
        "The second half was missing. It is written now, and the tests pass.",
        "The tests failed before; they pass now.",
        "The parser fails if the tests directory does not exist, as it should.",
        "It returns an error when the file does not exist.",
        "It lists the files that do not exist.",
        "The old function does not exist any more.",
        "None of the tests fail.",
        "The tests no longer fail.",
        "The tests do not fail.",
        "The bar shows 40% complete in the middle of a download.",
        "Not all inputs are valid; invalid ones are rejected.",
        "The steps are easy to follow.",
        "A request is blocked where its key is wrong.",
        "It stops the server before it writes.",
        "I mocked the database in the tests.",
        "It works without the network.",
        "All lines are there. The test suite runs in 85% of the time.",
        "I've implemented the TODO list app: adding, removing and listing todos all work.",
        "It says what is not supported yet, as notes.md asks.",
        "The function does not build a list, it streams.",
        "Everything is written, and the tests pass without the network.",
        "It says which key is missing.",
        "A reader who is stuck finds the index.",
        "The check fails the build if a file is missing.",
    ] {
        let first = answered(text, 0);
        assert!(matches!(first.recovery, Action::Nudge | Action::Wait), "{text} {:?}", first.recovery);
        let again = answered(text, 1);
        assert_eq!(again.verdict, Verdict::Completed, "{text}: {}", again.reason);
    }
}

#[test]
fn a_plain_sentence_against_the_line_wins_over_it_however_often_it_is_said() {
    for text in [
        "The tests fail.",
        "Two tests fail.",
        "I wrote it, but the tests are still failing.",
        "The build is broken.",
        "9 tests passed, 3 failed.",
        "two of the checks do not pass yet",
        "The checks did not pass.",
        "I am blocked: no permission to install the compiler, so the second part is not there.",
        "Blocked by the missing compiler.",
        "a.txt: 40% complete. The other sections are to follow.",
        "It is 60% done.",
        "The other sections are to follow.",
        "Bodies to follow.",
        "The appendix will follow later.",
        "I have to stop here. Three of five functions are there.",
        "I have to stop here.",
        "3/5 functions exist.",
        "The second file does not exist.",
        "It does not compile.",
        "It does not compile, so I could not run it.",
        "It does not work yet.",
        "The second part is not there.",
        "Not quite.",
        "Not entirely.",
        "Not all of it.",
        "It is not quite done.",
        "Not all sections are written.",
        "I mocked the database part; someone has to replace it",
        "I wrote the frame. Somebody needs to fill it.",
        "The file is there, minus the appendix",
        "Everything is done except the appendix.",
        "The file is written without the last chapter.",
        "Everything but the appendix is written.",
        "a.txt lacks the last section.",
        "The appendix is missing.",
        "The tests can't pass yet.",
        "I did not finish the last section.",
        "I am stuck.",
        "I ran out of time.",
        "This is blocked.",
        "Almost.",
        "It is mostly done.",
        "Docs follow later.",
    ] {
        let first = answered(text, 0);
        assert_eq!((first.verdict, first.recovery), (Verdict::Unfinished, Action::Nudge), "{text}");
        let again = answered(text, 1);
        assert_eq!(again.verdict, Verdict::Unfinished, "{text}");
        assert_eq!(again.recovery, Action::Retry, "{text}");
    }
}
