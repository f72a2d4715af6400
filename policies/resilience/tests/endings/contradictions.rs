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
        assert_ne!(held_to(&text, FIVE, "", 1).verdict, Verdict::Completed, "again: {text}");
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
    // What is left to the reader: no check that passes takes that back.
    for text in [
        "Cases 1 and 2 are written; cases 3 to 5 I leave to you.",
        "Two cases are written. The others are up to you.",
        "I wrote two cases. Over to you for cases 3 to 5.",
        "Cases 3 to 5 are left to you.",
    ] {
        let text = format!("{text}\n\nDone: parser");
        assert_eq!(held_to(&text, FIVE, "true", 0).recovery, Action::Nudge, "{text}");
        assert_eq!(reported_done(&text, CASES, "", 0, 0).recovery, Action::Nudge, "{text}");
    }
    // None of these takes it back; where no check tells more, the line alone is asked for.
    for text in [
        "I replaced the stubs, and no TODO is left.",
        "I wrote cases in 2 folders, and fixed 1 typo.",
        "I have used 85% of my context.",
        "The cases are as the format wants them. Case 5 was hard.",
    ] {
        let text = format!("{text}\n\nDone: parser");
        assert_eq!(held_to(&text, FIVE, "true", 0).verdict, Verdict::Completed, "{text}");
        let unclear = held_to(&text, FIVE, "", 0);
        assert_eq!(unclear.recovery, Action::Nudge, "{text}");
        assert!(unclear.reason.contains("says more beside it"), "{}", unclear.reason);
    }
    let long = |middle: &str| {
        let list = "- The case is read as the format wants it to be read.\n".repeat(20);
        format!("I wrote cases.\n\n{list}\n{middle}\n\n{list}\nDone: parser")
    };
    let checked = |middle: &str| held_to(&long(middle), FIVE, "true", 0);
    assert_eq!(checked("Cases 3 to 5 are stubs for now.").recovery, Action::Nudge);
    assert_eq!(checked("They are what they are.").verdict, Verdict::Completed);
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
        assert_eq!(reported(text, note, 1).verdict, Verdict::Unfinished, "again: {text} {note}");
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
        assert_ne!(reported(text, 1).verdict, Verdict::Completed, "again: {text}");
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
        assert_eq!(held_to(&line, FIVE, "true", 0).verdict, Verdict::Completed, "{text}");
    }
}

/// An objective that wants five lines of one file.
const LINES: (&str, &[&str]) = ("Write cats.txt: five lines about cats.", &["cats.txt"]);

#[test]
fn what_is_said_twice_is_not_done() {
    // A11, A12: each was done, since the agent that was asked said the same once more.
    for text in [
        "I wrote two of the five lines; three are missing because I ran low on room.",
        "My context is used up, so I stopped after two of the five lines.",
        "The remaining three lines will follow in the next step.",
        "{\"status\": \"partial\", \"errors\": [{\"type\": \"context_exhaustion\"}]}",
        "- [x] head\n- [ ] tail",
        "I left placeholder functions for the parsing; they raise NotImplementedError.",
        "I skipped the edge cases.",
        "The edge cases are not implemented.",
    ] {
        let line = format!("{text}\n\nDone: parser");
        for wanted in [LINES, ("Write it", &["cats.txt"] as &[&str])] {
            for check in ["", "true"] {
                // An error in the form of a protocol needs no question.
                let first = held_to(&line, wanted, check, 0).recovery;
                assert!(matches!(first, Action::Nudge | Action::HandOff), "{text} {check} {first:?}");
                let again = held_to(&line, wanted, check, 1);
                assert_ne!(again.verdict, Verdict::Completed, "{text} {check}");
                assert!(
                    matches!(again.recovery, Action::HandOff | Action::Retry),
                    "{text} {:?}",
                    again.recovery
                );
                // Unattended it ends: sessions are bounded, then a person decides, who reads the words.
                let spent = judge(&line, |o| {
                    let objective = sample::objective("parser", wanted.0);
                    o.objectives =
                        vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
                    (o.files_changed, o.phase.expects_files, o.nudges) = (1, true, 1);
                    o.phase.budget.retries_used = o.phase.budget.retries;
                });
                let asks = matches!(&spent.recovery, Action::AskPerson(question) if question.contains("leaves work"));
                assert!(asks || spent.recovery == Action::HandOff, "{text} {:?}", spent.recovery);
            }
        }
        for said in [text, &line] {
            let reported = |nudges| reported_done(said, ("parser", LINES.0), "", 0, nudges);
            assert_eq!(reported(0).recovery, Action::Nudge, "{said}");
            assert_eq!(reported(1).verdict, Verdict::Unfinished, "{said}");
        }
    }
    let note = |nudges| {
        let note = "2 of 5 lines; lines 3 to 5 are still missing";
        reported_done("Reported.\n\nDone: parser", ("parser", LINES.0), note, 0, nudges)
    };
    assert_eq!((note(0).recovery, note(1).verdict), (Action::Nudge, Verdict::Unfinished));
    // Whose context is named is continued, and so is what its metadata says.
    for text in
        ["My context is used up, so I stopped after two lines.", "{\"error\": \"context_exhaustion\"}"]
    {
        let again = held_to(&format!("{text}\n\nDone: parser"), LINES, "", 1);
        assert_eq!((again.verdict, again.recovery), (Verdict::Exhausted, Action::HandOff), "{text}");
        assert_eq!(reported_done(text, ("parser", LINES.0), "", 0, 1).recovery, Action::HandOff, "{text}");
    }
    // A plain answer, and words that say nothing of what is left.
    for text in [
        "Yes",
        "All five lines are written.",
        "I wrote all five lines, and nothing is left.",
        "I removed the placeholder, and the remaining two lines are written.",
        "It counts what is left, also TODO comments; the next one is shown first.",
        "I could not reproduce the crash of the old version.",
        "I have used 85% of my context.",
    ] {
        let line = format!("{text}\n\nDone: parser");
        assert_eq!(held_to(&line, LINES, "true", 1).verdict, Verdict::Completed, "{text}");
        assert_eq!(
            reported_done(&line, ("parser", LINES.0), "all five", 0, 1).verdict,
            Verdict::Completed,
            "{text}"
        );
    }
}

#[test]
fn what_was_taken_back_is_recovered_as_it_was_judged() {
    // A11: by the time that the host asks what to do, it has opened the objective again.
    let words = "My context is used up, so I stopped after two of the five lines.";
    let reopened = judge(words, |o| {
        let report = StatusReport {
            status: ObjectiveStatus::Done,
            note: String::new(),
            by_session: true,
            changed_since: None,
        };
        let objective = Objective { reported: Some(report), ..sample::objective("parser", LINES.0) };
        o.objectives = vec![Objective { status: ObjectiveStatus::Done, ..objective }];
        (o.files_changed, o.nudges, o.phase.progress.open) = (1, 1, 0);
    });
    assert_eq!((reopened.verdict, reopened.recovery), (Verdict::Unfinished, Action::HandOff));
}

/// A prompt of which "cats" was reported as done, while "dogs" is open, with a handoff behind it.
fn handed_over(state: &str, next: &str, others: &[&str], nudges: u32) -> crate::judged::Judged {
    judge("I reported it.", |o| {
        let report = StatusReport {
            status: ObjectiveStatus::Done,
            note: String::new(),
            by_session: true,
            changed_since: None,
        };
        let file = ExpectedFile { path: "cats.txt".into(), state: FileState::Changed };
        o.objectives = vec![Objective {
            status: ObjectiveStatus::Done,
            reported: Some(report),
            expected_files: vec![file],
            ..sample::objective("cats", LINES.0)
        }];
        (o.files_changed, o.nudges, o.phase.progress.open) = (1, nudges, others.len() as u32);
        o.others_open = others.iter().map(|id| (*id).to_owned()).collect();
        o.handoff_reported = true;
        o.handoff = Some(baton_sdk::handoff::ReportedHandoff {
            session: None,
            current_state: state.into(),
            immediate_next_action: next.into(),
            critical_context: Vec::new(),
            critical_files: Vec::new(),
        });
    })
}

#[test]
fn a_handoff_that_leaves_work_of_what_was_reported_is_asked_about() {
    // A11, C23: the objective was done, and another one of the phase was handed to the successor.
    for (state, next) in [
        ("2 of 5 lines written", "Write the other three lines"),
        ("cats.txt has two lines.", "Write the other three lines."),
        ("cats is half done, dogs is not begun", "Go on"),
        ("Lines 3 to 5 are placeholders.", "Write dogs.txt"),
        ("dogs is still to be done; cats is not finished", "Write dogs.txt"),
        ("I stopped after line 2.", "Write dogs.txt"),
        ("See cats.txt", "Finish the remaining lines of cats.txt, then dogs"),
        ("See cats.txt", "Write what is left of it"),
    ] {
        let first = handed_over(state, next, &["dogs"], 0);
        assert_eq!((first.verdict, first.recovery), (Verdict::Unfinished, Action::Nudge), "{state} / {next}");
        assert!(first.reason.contains("its handoff says that it is not"), "{}", first.reason);
        let again = handed_over(state, next, &["dogs"], 1);
        assert_eq!(
            (again.verdict, again.recovery),
            (Verdict::Unfinished, Action::HandOff),
            "{state} / {next}"
        );
        // Where nothing else is open, its words count after the question, which comes for any handoff.
        assert_eq!(handed_over(state, next, &[], 0).recovery, Action::Nudge, "{state} / {next}");
    }
    // It may hand over once it has finished something.
    for (state, next) in [
        ("cats.txt has its five lines.", "Write dogs.txt"),
        ("cats is done, dogs is still to be written", "Write the five lines of dogs.txt"),
        ("All five lines of cats.txt are written. dogs.txt is not started yet.", "Begin with dogs"),
        ("1 of 2 objectives is done.", "Take up the next objective."),
        ("Cats are finished; dogs: 2 of 5 lines are there.", "Write the other three lines of dogs.txt"),
        ("The file is complete. My context is nearly full.", "dogs"),
        ("cats.txt is written. Next is dogs.txt: its three lines are missing.", "Write dogs.txt"),
    ] {
        let handed = handed_over(state, next, &["dogs"], 0);
        assert_eq!(
            (handed.verdict, handed.recovery),
            (Verdict::HandedOff, Action::HandOff),
            "{state} / {next}"
        );
    }
}

/// A prompt about "cases", which is reported as done or not, beside which "second" is reported as done.
fn beside(answer: &str, is_reported: bool, note: &str, nudges: u32) -> crate::judged::Judged {
    judge(answer, |o| {
        let report = |note: &str| StatusReport {
            status: ObjectiveStatus::Done,
            note: note.into(),
            by_session: true,
            changed_since: None,
        };
        let file = ExpectedFile { path: "cases.txt".into(), state: FileState::Changed };
        let cases = Objective {
            status: if is_reported { ObjectiveStatus::Done } else { ObjectiveStatus::InProgress },
            reported: is_reported.then(|| report("")),
            expected_files: vec![file],
            ..sample::objective("cases", "Write cases.txt with five cases, one a line")
        };
        let second = Objective {
            status: ObjectiveStatus::Done,
            reported: Some(report(note)),
            ..sample::objective("second", "Write second.txt with three lines")
        };
        o.objectives = vec![cases, second];
        (o.files_changed, o.nudges, o.phase.expects_files) = (1, nudges, true);
        o.phase.progress.open = u32::from(!is_reported);
    })
}

#[test]
fn what_is_reported_beside_the_prompt_is_held_to_the_words_of_its_agent() {
    // A11
    for (answer, is_reported, note, stays) in [
        ("Not done: second", true, "", &["cases"][..]),
        ("Done: cases\nNot done: second", true, "", &["cases"]),
        ("All five cases are in cases.txt. I have not written second.txt yet.", true, "", &[]),
        ("My context window is full. Three cases and second.txt are left.", true, "", &[]),
        ("Reported both.", true, "only a stub so far", &["cases"]),
        ("Done: cases", false, "I did not get to this one", &[]),
        ("I have not written second.txt yet.\n\nDone: cases", false, "", &[]),
        ("Not done: second\nDone: cases", false, "", &[]),
        ("Both are reported.", true, "three lines; but cases.txt lacks two cases", &[]),
    ] {
        let first = beside(answer, is_reported, note, 0);
        assert_eq!((first.verdict, first.recovery), (Verdict::Unfinished, Action::Nudge), "{answer}");
        assert_eq!(first.done, stays, "{answer} {note}: {}", first.reason);
        assert!(first.reason.contains("second"), "{answer}: {}", first.reason);
    }
    // Nothing speaks against it: it is done, and what was not reported is asked for alone.
    let done = beside("Done: cases", false, "", 0);
    assert_eq!(
        (done.verdict, &done.done[..]),
        (Verdict::Completed, &["cases".to_owned(), "second".into()][..])
    );
    let both = beside("Done: cases, second", false, "", 0);
    assert_eq!(both.verdict, Verdict::Completed, "{}", both.reason);
    for note in ["60 %", "2/3", "the rest follows"] {
        let again = beside("Reported.", true, note, 1);
        assert_eq!(
            (again.verdict, &again.done[..]),
            (Verdict::Unfinished, &["cases".to_owned()][..]),
            "{note}"
        );
    }
    let open = beside("Not done: cases", false, "", 0);
    assert_eq!((open.verdict, &open.done[..]), (Verdict::Unfinished, &["second".to_owned()][..]));
}

#[test]
fn a_line_for_each_objective_is_an_answer_too() {
    let answered = |answer: &str| {
        judge(answer, |o| {
            let objective = |id: &str, wanted: &str| Objective {
                status: ObjectiveStatus::InProgress,
                ..sample::objective(id, wanted)
            };
            o.objectives = vec![
                objective("cases", "Write cases.txt with five cases, one a line"),
                objective("second", "Write second.txt with three lines"),
            ];
            (o.files_changed, o.phase.expects_files) = (1, true);
        })
    };
    for answer in ["Done: cases\nDone: second", "Both are written.\n\n- Done: second\n- Done: cases\n"] {
        assert_eq!(answered(answer).verdict, Verdict::Completed, "{answer}");
    }
    for answer in ["Done: cases", "Done: cases\nDone: cases", "I will end with:\nDone: cases\nDone: second"] {
        assert_ne!(answered(answer).verdict, Verdict::Completed, "{answer}");
    }
}

#[test]
fn the_next_step_of_another_objective_is_no_word_against_this_one() {
    // C23
    let next =
        handed_over("dogs.txt has three of five lines", "Append lines 4 and 5 to dogs.txt.", &["dogs"], 0);
    assert_eq!((next.verdict, next.recovery), (Verdict::HandedOff, Action::HandOff), "{}", next.reason);
    let own =
        handed_over("cats.txt has three of five lines", "Append lines 4 and 5 to cats.txt.", &["dogs"], 0);
    assert_eq!((own.verdict, own.recovery), (Verdict::Unfinished, Action::Nudge), "{}", own.reason);
}

#[test]
fn what_the_line_says_of_others_does_not_count_against_it() {
    let answered = |answer: &str| {
        judge(answer, |o| {
            let wanted = "Write parser.txt with five lines, one for each case";
            o.objectives = vec![Objective {
                status: ObjectiveStatus::InProgress,
                ..sample::objective("parser", wanted)
            }];
            (o.files_changed, o.phase.expects_files) = (1, true);
            o.others_open = vec!["printer".into()];
        })
    };
    for answer in ["Done: parser, printer", "Done: parser\nDone: printer", "Done: parser\nNot done: printer"]
    {
        assert_eq!(answered(answer).verdict, Verdict::Completed, "{answer}: {}", answered(answer).reason);
    }
    for answer in ["Done: printer", "Done: parser\nNot done: parser", "Done: parser, tests"] {
        assert_ne!(answered(answer).verdict, Verdict::Completed, "{answer}");
    }
}
