//! Claims that are none, and what stands beside a last line or a report and contradicts it (A11, A12).

use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;
use baton_sdk::sample;

use crate::judged::Verdict;
use crate::{held_to, judge, reported_done};

const CASES: (&str, &str) = ("cases", FIVE.0);
const FIVE: (&str, &[&str]) = ("Write tests/cases.txt with five cases.", &["tests/cases.txt"]);

#[test]
fn harmless_words_in_another_order_are_no_claim() {
    // A11: each of these was done unasked, since none of its words takes anything back.
    for text in [
        "Everything is to finish.",
        "I have everything to finish the task.",
        "Everything is ready to finish.",
        "The task is to have all five cases written.",
        "You have the whole task to complete.",
        "Finish all five cases.",
        "Complete all five cases.",
        "The task: all five cases are written.",
        "Everything I have is written.",
        "All it has is done in part.",
        "The task was created.",
        "The request is made.",
        "The feature request was added.",
        "Everything is to be done.",
        "Everything is to be in place.",
        "- [ ] All five cases are written",
        "[ ] Everything is done.",
        "❌ All five cases are written.",
        "🚧 Everything is done.",
        "~~All five cases are written.~~",
        "<!-- All five cases are written. -->",
        "Everything is done.\n\n> Two cases are missing.",
        "Everything is done.\n\n```\ncase 3 to 5: missing\n```",
        "Everything \"but the last three\" is done.",
        "Everything 'but the last three' is done.",
        "Everything is done: `no`.",
        "👎",
        "Yes, I have work to finish.",
        "Yes, I have the work to finish.",
        "Yes ❌",
    ] {
        for nudges in [0, 1] {
            let verdict = held_to(text, FIVE, "", nudges).verdict;
            assert_ne!(verdict, Verdict::Completed, "{text} {nudges}");
        }
    }
    assert_ne!(held_to("👎", FIVE, "true", 1).verdict, Verdict::Completed, "a sign is no answer");
    for text in [
        "All five cases are written.",
        "I wrote all five cases.",
        "✅ All five cases are written, and the tests pass.",
        "I have now written all five cases.",
        "I finished the task.",
        "The task is done.",
        "It is all done.",
        "Everything is in place.",
        "Everything that was asked for is written, and I have looked it over once more.",
        "All that you asked for is done.",
        "Everything has been written, as you asked for.",
        "# Done\n\n**All five cases** are written in `tests/cases.txt`.",
    ] {
        assert_eq!(held_to(text, FIVE, "", 0).verdict, Verdict::Completed, "{text}");
    }
}

#[test]
fn what_stands_beside_the_last_line_can_contradict_it() {
    // A11, A12: each was done at once, by a last line behind words that take it back.
    for text in [
        "I ran out of context after case 2.",
        "My context window is full, so the rest waits.",
        "I wrote two of the five cases.",
        "I wrote cases 1 and 2.",
        "Cases 3 to 5 are stubs for now.",
        "Cases 3 to 5 are hard-coded.",
        "Cases 3 to 5 are next.",
        "TODO: cases 3 to 5.",
        "I skipped cases 3 to 5.",
        "Cases 3 to 5 are still to be written.",
    ] {
        let text = format!("{text}\n\nDone: parser");
        let first = held_to(&text, FIVE, "", 0);
        assert_eq!((first.verdict, first.recovery), (Verdict::Unfinished, Action::Nudge), "{text}");
        assert_eq!(held_to(&text, FIVE, "", 1).verdict, Verdict::Completed, "who was asked means it: {text}");
    }
    // None of these was heard beside the line.
    for text in [
        "The test suite currently fails with 3 errors.",
        "The build is broken after my change.",
        "All cases except the last three.",
        "I will add cases 3 to 5 tomorrow.",
        "Half of the cases exist now.",
        "I did the first of them.",
        "Cases 3 to 5 hold dummy values.",
        "Cases 3 to 5 need more thought.",
        "I wrote the cases without the three that need a calendar.",
        "I am blocked: the spec of leap years is nowhere to be found.",
        "Writing was denied, so nothing of it is on disk.",
        "I had to revert my change in the end.",
        "A couple of cases exist.",
        "I made up the expected values; nobody has looked at them and they are probably wrong.",
    ] {
        let text = format!("{text}\n\nDone: parser");
        assert_eq!(held_to(&text, FIVE, "", 0).recovery, Action::Nudge, "{text}");
    }
    for text in [
        "I replaced the stubs, and no TODO is left.",
        "I wrote five cases in 2 folders, and fixed 1 typo.",
        "I have used 85% of my context.",
        "All tests pass",
        "The cases are as the format wants them. Case 5 was hard.",
    ] {
        let text = format!("{text}\n\nDone: parser");
        assert_eq!(held_to(&text, FIVE, "", 0).verdict, Verdict::Completed, "{text}");
    }
    let long = |middle: &str| {
        let list = "- The case is read as the format wants it to be read.\n".repeat(20);
        format!("I wrote cases.\n\n{list}\n{middle}\n\n{list}\nDone: parser")
    };
    assert_eq!(held_to(&long("Cases 3 to 5 are stubs for now."), FIVE, "", 0).recovery, Action::Nudge);
    assert_eq!(held_to(&long("They are what they are."), FIVE, "", 0).verdict, Verdict::Completed);
}

#[test]
fn a_line_that_is_announced_or_restricted_is_not_given() {
    // A11
    for text in [
        "Two cases so far. The line you want once it is finished would be\nDone: parser",
        "Two cases. The line that you want is the following.\n\nDone: parser",
        "Two cases so far. You asked me to end with this line when it is over:\n\n> Done: parser",
        "I am not there yet. Later on my answer ends so:\n```\nDone: parser\n```",
        "Two cases.\n\n- [ ] Done: parser",
        "[ ] Done: parser",
        "~~Done: parser~~",
        "Done: parser, the cases I have written",
        "Done: the parser I wrote",
        "Done: parser, to finish the task",
    ] {
        for nudges in [0, 1] {
            let verdict = held_to(text, FIVE, "", nudges).verdict;
            assert_ne!(verdict, Verdict::Completed, "{text} {nudges}");
        }
    }
}

#[test]
fn a_report_of_done_beside_words_of_work_left_is_asked_about_once() {
    // A11: by its answer, or by the note of the report itself.
    let reported = |text: &str, note: &str, nudges| reported_done(text, CASES, note, 0, nudges);
    for (text, note) in [
        ("I wrote two of the five cases.", ""),
        ("Cases 3 to 5 are next.", ""),
        ("Cases 3 to 5 are stubs.", ""),
        ("Two of five cases.\n\nDone: cases", ""),
        ("Ok.", "two of the five cases; the rest is left for a successor"),
        ("Ok.", "Cases 3 to 5 are placeholders."),
        ("Ok.", "only the first two; the others crash"),
        ("Ok.", "wip, first two"),
        ("Ok.", "tests fail for 1900 and 2100"),
        ("Ok.", "all except the last three"),
        ("Ok.", "draft; I had no access to the calendar"),
    ] {
        let first = reported(text, note, 0);
        assert_eq!((first.verdict, first.recovery), (Verdict::Unfinished, Action::Nudge), "{text} {note}");
        assert_eq!(reported(text, note, 1).verdict, Verdict::Completed, "its report stands: {text} {note}");
    }
    for (text, note) in [("The five cases are written.", "all five, and no TODO left"), ("Ok.", "")] {
        assert_eq!(reported(text, note, 0).verdict, Verdict::Completed, "{text} {note}");
    }
}

#[test]
fn words_against_a_report_are_heard_while_others_are_open_where_they_name_it() {
    // A11, A12: each left half an objective done, since another one of the phase was still open.
    let reported = |text: &str, nudges| reported_done(text, CASES, "", 1, nudges);
    for text in [
        "Cases 3, 4 and 5 of tests/cases.txt are still to be written.",
        "I stopped after case 2 because the spec is unclear; cases 3 to 5 are not written.",
        "Cases 3 to 5 could not be written, since the calendar is missing.",
        "My context window is full, so cases 3 to 5 are left for the next session.",
    ] {
        let first = reported(text, 0);
        assert_eq!((first.verdict, first.recovery), (Verdict::Unfinished, Action::Nudge), "{text}");
        assert_ne!(reported(text, 1).verdict, Verdict::Unfinished, "who was asked means its report: {text}");
    }
    for text in ["The printer is next.", "The printer is still to be done.", "My context window is full."] {
        assert_ne!(reported(text, 0).recovery, Action::Nudge, "another one is left: {text}");
    }
}

#[test]
fn where_an_answer_is_enough_a_sentence_is_after_the_question() {
    // A11: a number that counts nothing of the work was taken for a part of it.
    let answered = |text: &str, nudges: u32| {
        judge(text, |o| {
            let objective = sample::objective("cases", FIVE.0);
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.nudges, o.phase.accept, o.phase.check) = (nudges, Some(Basis::Answer), None);
        })
    };
    for text in
        ["I wrote the file with its cases, one a line.", "I followed the rule of four, as described there."]
    {
        assert_eq!(answered(text, 0).recovery, Action::Nudge, "{text}");
        let after = answered(text, 1);
        assert_eq!(after.verdict, Verdict::Completed, "{text} {}", after.reason);
    }
    let question = answered("Should the cases be CSV or plain lines?", 1);
    assert!(question.reason.contains("Should the cases be CSV"), "in its own words: {}", question.reason);
}

#[test]
fn a_counter_behind_the_line_is_no_word_of_the_agent() {
    // A11
    for footer in ["Tokens used: 12,345", "Total cost: $0.12", "Duration: 12.5s"] {
        let text = format!("Done: parser\n\n{footer}");
        assert_eq!(held_to(&text, FIVE, "", 0).verdict, Verdict::Completed, "{text}");
    }
    assert_ne!(
        held_to("Done: parser\nTime needed for the rest: a day", FIVE, "", 0).verdict,
        Verdict::Completed
    );
}

#[test]
fn metadata_that_says_that_work_is_open_is_heard() {
    // A11, A12: the words of the sources' own return metadata, beside a line, and beside a check that passes anyway.
    for text in [
        r#"{"status": "partial", "partial_progress": {"stage": "context_exhaustion_handoff"}}"#,
        r#"{"status":"partial","partial_progress":{"stage":"phase_2_in_progress","phases_completed":1,"phases_total":4}}"#,
        "status: in_progress",
        "**Status:** in-progress",
        "```json\n{\"errors\": [{\"type\": \"context_exhaustion\"}]}\n```",
        "1. [x] plain\n2. [x] leap\n3. [ ] century",
        "I gave up on the century cases.",
        "The century cases proved too hard.",
        "Say continue and I write the others.",
    ] {
        let line = format!("{text}\n\nDone: parser");
        assert_eq!(held_to(&line, FIVE, "", 0).recovery, Action::Nudge, "{text}");
        for nudges in [0, 1] {
            assert_ne!(held_to(text, FIVE, "true", nudges).verdict, Verdict::Completed, "{text} {nudges}");
        }
    }
    for text in
        [r#"{"status": "completed"}"#, "Status: done", "The status page opens now, and it is as wanted."]
    {
        let line = format!("{text}\n\nDone: parser");
        assert_eq!(held_to(&line, FIVE, "", 0).verdict, Verdict::Completed, "{text}");
    }
}
