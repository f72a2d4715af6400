//! What an agent that reported nothing has to answer, and what counts once it was asked (A11, A12).

use baton_sdk::exhaustion::Observation;
use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;
use baton_sdk::sample;

use crate::judged::Verdict;

use crate::{held_to, judge, reported_done};

#[test]
fn who_answers_the_question_plainly_is_believed() {
    // A11, A12: finished work, and remarks about the context beside it.
    let asked = |text: &str, nudges: u32| held_to(text, ("Write it", &[]), "", nudges);
    // What is done has to be the work.
    for text in ["Written to HANDOFF.md.", "Saved my notes in handoffs/next.md.", "Committed what I have."] {
        for check in ["", "true"] {
            for wanted in ["Write it", "Write parser.txt: five cases.", "Extend `parser.txt` by five cases."]
            {
                let assessment = held_to(text, (wanted, &["parser.txt"]), check, 0);
                assert_ne!(assessment.verdict, Verdict::Completed, "{text} {wanted} {check}");
            }
        }
    }
    // That something of it was made says nothing of all of it, and neither does that a file has changed.
    for (text, wanted) in [
        ("Wrote parser.txt.", ("Write it", &["out/parser.txt"] as &[&str])),
        ("Updated the Makefile.", ("Write it", &["Makefile"])),
        ("Added `src/parser.txt`.", ("Write parser.txt.", &[])),
        ("Added `frob`.", ("Give the tool a flag `frob`.", &[])),
    ] {
        assert_eq!(held_to(text, wanted, "", 0).recovery, Action::Nudge, "{text}");
        assert_ne!(held_to(text, wanted, "", 1).verdict, Verdict::Completed, "{text}");
        assert_eq!(held_to(text, wanted, "true", 1).verdict, Verdict::Completed, "left to its check: {text}");
    }
    for (text, wanted) in [
        ("All of parser.txt is written.", ("Write it", &["out/parser.txt"] as &[&str])),
        ("The task is done: `frob` is implemented.", ("Give the tool a flag `frob`.", &[])),
    ] {
        assert_eq!(held_to(text, wanted, "", 0).verdict, Verdict::Completed, "{text}");
    }
    for text in [
        "Yes.",
        "Done.",
        "It is done.",
        "Yes, the work is complete.",
        "Yes, all of it is done. I have looked at each of its lines, and they are as you want them.\n\nDone: parser",
        "**Done: parser**",
    ] {
        assert_eq!(asked(text, 1).verdict, Verdict::Completed, "{text}");
    }
    assert_ne!(asked("Yes, it is mostly finished.", 1).verdict, Verdict::Completed);
}

#[test]
fn who_was_asked_has_to_answer() {
    // A11, A12: each of these was believed because the file that was wanted had changed.
    let wanted = ("Write the parser in sh: tokenizer, grammar and printer.", &["src/work.sh"] as &[&str]);
    for text in [
        "No.",
        "No. Grammar and printer are absent from src/work.sh.",
        "I hit my context limit. Tokenizer only.",
        "Only tokenizer. Hit the context limit.",
        "I wrote the tokenizer. Conversation too long.",
        "Tokenizer only; context limit.",
        "Only the tokenizer is in src/work.sh, nothing of the grammar.",
        "The grammar comes in the following session.",
        "Grammar and printer: tomorrow.",
        "Grammar and printer exist as comments.",
        "I faked the printer.",
        "The grammar is beyond me.",
        "I lack the facts for limits.",
        "Grammatik und Printer fehlen noch. Mein Kontext ist voll.",
    ] {
        for nudges in [0, 1] {
            let verdict = held_to(text, wanted, "", nudges).verdict;
            assert_ne!(verdict, Verdict::Completed, "{text} {nudges}");
        }
        let answered = judge(text, |o| {
            o.objectives = vec![Objective { files: 0, ..sample::objective("audit", "Read all of it") }];
            (o.nudges, o.phase.accept, o.phase.check) = (1, Some(Basis::Answer), None);
        });
        assert_ne!(answered.verdict, Verdict::Completed, "its answer is enough: {text}");
    }
    // An agent that names its context is continued by another one, unless its work is about contexts.
    let about =
        ("Write docs/limits.md: what we do with a full context window", &["docs/limits.md"] as &[&str]);
    let told = held_to("docs/limits.md documents how we handle a full context window.", about, "", 1);
    assert_eq!((told.verdict, told.recovery), (Verdict::Unfinished, Action::Retry));
    let named = held_to("I wrote the tokenizer. Context limit reached.", wanted, "", 1);
    assert_eq!(named.verdict, Verdict::Exhausted);
    for text in [
        "Yes, all of it is done, and the tests pass.",
        "Done: parser\n\nLet me know if you have any questions.",
        "Done: the parser",
        "Done: parser: src/work.sh",
        "Done: parser (all of its tests pass)",
    ] {
        assert_eq!(held_to(text, wanted, "", 1).verdict, Verdict::Completed, "{text}");
    }
}

#[test]
fn a_claim_is_of_all_and_nothing_speaks_against_it() {
    // A11: each was done on the first answer, since a claim of something stood behind a failure, or a part was told in the
    // objective's own words.
    let tests =
        ("parser", "Write the parser and its tests: the empty, nested, quoted, escaped and unicode cases");
    let handlers = ("handlers", "Convert the handlers to async: login, logout, refresh and register");
    let migration = ("migration", "Write the migration for the users, orders and invoices tables");
    for ((id, description), text) in [
        (tests, "Ran the tests: test_unicode fails.\n\nThe parser is implemented and tested."),
        (tests, "Two of the tests fail. The parser is written."),
        (tests, "The unicode case still fails. The parser is written and tested."),
        (tests, "Test run: 9 passed, 3 failed.\n\nThe parser is written and the tests are in place."),
        (handlers, "Register is a stub. The handlers are converted."),
        (handlers, "The refresh handler fails its test. The handlers are converted."),
        (handlers, "The login and logout handlers are converted and their tests pass."),
        (migration, "The migration of the users table is written and its tests pass."),
        (tests, "The empty and nested cases of the parser are written and their tests pass."),
        (tests, "The parser is written, with the cases empty, nested and quoted."),
        (tests, "The work is in place in out.txt and the quoted and escaped cases are done."),
        (tests, "All cases that I looked at are done."),
        (tests, "All of the empty cases are written."),
        (tests, "Yes, the parser is done. The unicode tests fail, though."),
        (tests, "Yes, the empty and nested cases are done. The unicode one still fails."),
        (tests, "Yes, the parser is done for the empty and nested cases."),
        (tests, "Yes, three cases are done."),
        (tests, "Yes, the tests are done. They fail."),
        (handlers, "Yes, the login and logout handlers are done. The refresh handler is a stub."),
    ] {
        for (check, nudges) in [("", 0), ("", 1), ("true", 0)] {
            let assessment = judge(text, |o| {
                let objective = sample::objective(id, description);
                let file = ExpectedFile { path: "out.txt".into(), state: FileState::Changed };
                let status = ObjectiveStatus::InProgress;
                o.objectives = vec![Objective { status, files: 1, expected_files: vec![file], ..objective }];
                (o.files_changed, o.phase.check, o.phase.expects_files) =
                    (2, Some(check.to_owned()).filter(|check| !check.is_empty()), true);
                o.nudges = nudges;
            });
            assert_ne!(assessment.verdict, Verdict::Completed, "{text} {check} {nudges}");
        }
    }
    for text in [
        "Everything is finished, nothing is left.",
        "Everything is done, its tests pass, and nothing is left.",
        "Yes.",
    ] {
        assert_eq!(held_to(text, tests_of(tests), "", 1).verdict, Verdict::Completed, "{text}");
    }
}

fn tests_of((_, description): (&str, &'static str)) -> (&'static str, &'static [&'static str]) {
    (description, &["out.txt"])
}

#[test]
fn an_answer_is_heard_at_both_ends_and_beside_a_check() {
    // A11, A12: with a check that unfinished work passes, each of these was done and checked.
    let wanted = ("Write src/parser.py with all operators and tests.", &["src/parser.py"] as &[&str]);
    let list = "- The token is read by the reader, as the grammar wants it to be.\n".repeat(30);
    for text in [
        "No, division and modulo are missing.\n\nWhat is there:\n".to_owned() + &list,
        "Not done: division and modulo.\n\nWhat is there:\n".to_owned() + &list,
        "My context is used up, division is still open.\n\n".to_owned() + &list,
    ]
    .iter()
    .map(String::as_str)
    .chain([
        "Unfortunately no: only addition works.",
        "Only addition and subtraction are implemented at this point.",
        "Division and modulo are stubbed out.",
        "Division lacks an implementation, and so does modulo.",
        "I implemented all operators apart from division.",
        "I implemented everything but the tests.",
        "Division raises NotImplementedError, and the tests are absent.",
        "I have implemented addition. Division is harder than I thought.",
        "Division and modulo return a dummy value for the moment.",
        "No. Two cases are missing, so I cannot end with the line\n\nDone: parser",
        "Not done: division and modulo\nDone: parser",
        "The five cases come as soon as it is reviewed. Once they pass I will end with:\n\nDone: parser",
        "I wrote the tests, which are red as in TDD.\n\nDone: parser tests",
        "Yes. I am on it: division comes in a minute.",
    ]) {
        for nudges in [0, 1] {
            assert_ne!(held_to(text, wanted, "true", nudges).verdict, Verdict::Completed, "{text} {nudges}");
        }
    }
    // A yes or a claim with one word more is not one.
    for text in [
        "Yes. Parentheses wait for your decision about precedence.",
        "Yes. Two tests time out.",
        "I wrote src/parser.py. Two tests time out. Everything is done.",
    ] {
        for nudges in [0, 1] {
            assert_ne!(held_to(text, wanted, "", nudges).verdict, Verdict::Completed, "{text} {nudges}");
        }
    }
    // "All helpers" of helpers, parser and evaluator are a part.
    for text in [
        "All helpers are written.",
        "The parser is complete.",
        "It is complete.",
        "All of it was read. Done.",
    ] {
        let wanted = ("Write the helpers, the parser and the evaluator.", &["src/parser.py"] as &[&str]);
        assert_eq!(held_to(text, wanted, "", 0).recovery, Action::Nudge, "{text}");
    }
}

#[test]
fn the_last_line_says_nothing_else() {
    // A11: a restriction behind the names takes back what they say.
    let wanted = ("Write the parser in sh: tokenizer, grammar and printer.", &[] as &[&str]);
    for remark in [
        "(only the tokenizer)",
        "- minus the printer",
        "(without the grammar)",
        "— printer excluded",
        ". Tests are red.",
        "(only cases of the happy kind; printer in a later PR)",
        "(untested, I had no shell)",
        "(no tests fail; error handling not needed)",
    ] {
        let text = format!("Done: parser {remark}");
        for nudges in [0, 1] {
            let assessment = held_to(&text, wanted, "", nudges);
            assert_eq!(assessment.verdict, Verdict::Unfinished, "{text} {nudges}");
            assert!(assessment.reason.contains("says more on its last line than `Done: parser`"));
        }
    }
    // What the objective is about is no less broken because the objective says so.
    for (id, description, text) in [
        (
            "export",
            "Fix the export: the CSV test fails with an encoding error.",
            "Export is done. The encoding test fails.",
        ),
        (
            "login",
            "Fix the login handler: the login test is failing.",
            "I have written the login handler. The login test is failing.",
        ),
        (
            "build",
            "Repair the broken build of the server.",
            "I wrote the whole server build. The build is broken.",
        ),
        (
            "crash",
            "Fix the crash in the importer when the input has an error.",
            "The work is done as asked. In the tests there is an error in the importer.",
        ),
    ] {
        let assessment = judge(text, |o| {
            let objective = sample::objective(id, description);
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.files_changed, o.phase.check, o.phase.expects_files) = (1, None, true);
        });
        assert_eq!(assessment.recovery, Action::Nudge, "{text}");
    }
}

#[test]
fn a_report_that_was_not_taken_is_asked_about_until_there_is_an_answer() {
    // A11: "failed", torn in the middle, was believed to be done as soon as it was asked about.
    let said = |text: &str, nudges: u32| {
        judge(text, |o| {
            let objective = sample::objective("parser", "Write it");
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.files_changed, o.phase.check, o.nudges) = (1, Some("true".into()), nudges);
            o.phase.expects_files = true;
            o.report_not_taken = Some("v.json, line 1: not JSON".into());
        })
    };
    for (text, nudges) in [("See the report.", 0), ("The parser is written.", 0), ("See the report.", 1)] {
        let assessment = said(text, nudges);
        assert_eq!(assessment.verdict, Verdict::Unfinished, "{text}");
        assert!(assessment.reason.contains("v.json, line 1: not JSON"), "{}", assessment.reason);
    }
    assert_eq!(said("It is written.\n\nDone: parser", 1).verdict, Verdict::Completed);
}

#[test]
fn who_leaves_work_is_asked_once_and_then_continued() {
    // A11, A12
    let text = "Two views out of nine are still function-based. The rest is left for whoever resumes this.";
    let again = |nudges, used| {
        judge(text, |o| {
            let objective = sample::objective("parser", "Write it");
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.files_changed, o.phase.check, o.phase.expects_files) = (2, None, true);
            (o.nudges, o.session.occupancy) = (nudges, sample::occupancy(used, 200_000));
        })
    };
    let first = again(0, 40_000);
    assert_eq!((first.verdict, &first.recovery), (Verdict::Unfinished, &Action::Nudge));
    assert!(first.reason.contains("left for whoever resumes"), "{}", first.reason);
    assert_eq!(again(1, 40_000).recovery, Action::Retry);
    // Its context says why.
    let full = again(1, 180_000);
    assert_eq!(full.verdict, Verdict::Exhausted);
    assert!(full.reason.contains("90% full"), "{}", full.reason);
    // A check may pass before anything is done: words that leave work win over it.
    let checked = |text: &str, files_changed| {
        judge(text, |o| {
            let objective = sample::objective("views", "Convert them");
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.files_changed, o.phase.check, o.phase.expects_files) =
                (files_changed, Some("cargo test".into()), true);
        })
    };
    let left = checked(text, 2);
    assert_eq!((left.verdict, &left.recovery), (Verdict::Unfinished, &Action::Nudge));
    assert!(left.reason.contains("cargo test"), "{}", left.reason);
    let blocked = "I could not start, because the compiler is not installed here.\n\nNot done: views";
    assert_eq!(checked(blocked, 0).verdict, Verdict::Unfinished);
    assert_eq!(checked("All of it is converted.", 2).verdict, Verdict::Completed);
    assert_eq!(checked("The views were converted when I came.", 0).recovery, Action::Nudge);
}

#[test]
fn who_is_asked_can_answer_in_a_line() {
    // A11
    let answered = |text: &str| {
        judge(text, |o| {
            let objective = sample::objective("parser", "Write it");
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.files_changed, o.phase.check, o.phase.expects_files) = (1, None, true);
            (o.nudges, o.answer_bytes) = (1, text.len() as u64);
        })
    };
    let said = "All of the work is done, and I wrote the parser.";
    assert_eq!(answered("I wrote the parser.").verdict, Verdict::Unfinished);
    for line in [
        "Done: parser",
        "**Done: parser.**",
        "`Done: parser`",
        "- done: parser\n",
        "Done: parser (all of its tests pass)",
        "Done: parser\nNot done: nothing",
    ] {
        assert_eq!(answered(&format!("{said}\n\n{line}")).verdict, Verdict::Completed, "{line}");
    }
    for line in ["Not done: case 5", "**Not done:** case 5", "Done: parser\n\nNow on to case 5."] {
        let text = format!("{said} I wrote four cases.\n\n{line}");
        assert_ne!(answered(&text).verdict, Verdict::Completed, "{line}");
    }
    // It is as good as a report: also where an earlier session had changed the files.
    let found_done = |nudges, before, phase_files_changed| {
        judge("Done: parser", |o| {
            let objective = sample::objective("parser", "Write it");
            let attempts = nudges + 1 + before;
            o.objectives =
                vec![Objective { status: ObjectiveStatus::InProgress, files: 0, attempts, ..objective }];
            (o.files_changed, o.phase.check, o.phase.expects_files) = (0, None, true);
            (o.nudges, o.answer_bytes, o.phase.progress.done) = (nudges, 50, 0);
            o.phase_files_changed = phase_files_changed;
        })
    };
    assert_eq!(
        (found_done(0, 1, 1).verdict, found_done(1, 1, 1).verdict),
        (Verdict::Completed, Verdict::Completed)
    );
    // Where nobody ever changed anything, a person decides.
    assert_eq!(found_done(0, 0, 0).recovery, Action::Nudge);
    assert!(matches!(found_done(1, 0, 0).recovery, Action::AskPerson(_)));
    // A session before it that made nothing is nothing to show.
    assert_eq!(found_done(0, 1, 0).recovery, Action::Nudge);
    assert!(matches!(found_done(1, 3, 0).recovery, Action::AskPerson(_)));
    // Only the whole line counts, with the names of the objectives.
    for line in [
        "Done: parser. Not done: cases 3 to 5.",
        "Done: parser, but cases 3 to 5 fail.",
        "Done: parser (cases 3 to 5 fail)",
        "Done: 2 of 5 cases",
        "Done: lexer",
    ] {
        assert_ne!(answered(line).verdict, Verdict::Completed, "{line}");
    }
    // Whoever says nothing at all is not believed for a file that changed.
    let silent = judge("", |o| {
        let objective = sample::objective("parser", "Write it");
        let expected_files = vec![ExpectedFile { path: "parser.rs".into(), state: FileState::Changed }];
        o.objectives = vec![Objective { expected_files, ..objective }];
        (o.files_changed, o.phase.check, o.phase.expects_files) = (1, None, true);
        (o.nudges, o.answer_bytes) = (1, 0);
        o.signals.clear();
    });
    assert_eq!(silent.verdict, Verdict::Unfinished);
    assert!(matches!(silent.recovery, Action::Retry), "{:?}", silent.recovery);
}

#[test]
fn a_report_of_done_beside_words_that_the_context_is_full_is_asked_about_once() {
    // A12
    let reported = |text: &str, nudges| reported_done(text, ("parser", "Write it"), "", 0, nudges);
    for text in [
        "My context is full, the next session takes cases 8 to 10.",
        "My context is full; cases 8 to 10 are left for the next session.",
        "I ran out of context before case 8.",
        "My context window is used up. Case 8 is next.",
    ] {
        let first = reported(text, 0);
        assert_eq!((first.verdict, first.recovery), (Verdict::Unfinished, Action::Nudge), "{text}");
        let again = reported(text, 1);
        assert_eq!((again.verdict, again.recovery), (Verdict::Unfinished, Action::HandOff), "again: {text}");
    }
    assert_eq!(reported("The parser is written, and its tests pass.", 0).verdict, Verdict::Completed);
}

#[test]
fn a_no_is_heard_in_more_languages_than_one() {
    // A11
    for text in ["Nein.", "Nein, drei Fälle fehlen.", "Non, pas encore.", "Нет.", "Nej.", "No, todavía no."]
    {
        let assessment = held_to(text, ("Write it", &["parser.txt"]), "true", 1);
        assert_ne!(assessment.verdict, Verdict::Completed, "{text}");
    }
}

#[test]
fn a_question_to_a_person_is_no_end_of_a_context() {
    // M3: an agent that wants to know more of the work was continued in a new session, as one whose context is used up.
    let unwritten = |text: &str, nudges: u32| {
        judge(text, |o| {
            let objective = sample::objective("parser", "Write b");
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.files_changed, o.phase.expects_files, o.nudges) = (0, true, nudges);
            o.phase.progress.open = 1;
        })
    };
    for text in [
        "I need more context about b before I can start. Which format do you want?",
        "I need some more context on b. Should it be CSV or JSON?",
        "Please give me more context. What is b?",
        "Which format do you want?",
    ] {
        let first = unwritten(text, 0);
        assert!(!matches!(first.verdict, Verdict::Exhausted | Verdict::Completed), "{text} {}", first.reason);
        assert_eq!(first.recovery, Action::Nudge, "{text}");
        let again = unwritten(text, 1);
        assert_eq!(again.verdict, Verdict::NeedsInput, "{text} {}", again.reason);
        let question = text.rsplit_terminator(['.', '!']).next().unwrap_or_default().trim();
        assert!(
            matches!(&again.recovery, Action::AskPerson(asked) if asked.contains(question)),
            "{:?}",
            again.recovery
        );
    }
    // Its own window is another thing, and so is work that was done.
    assert_eq!(
        unwritten("I need more context than I have left. Shall another session go on?", 1).verdict,
        Verdict::Exhausted
    );
    assert_ne!(unwritten("I implemented half of b. Do you want the rest?", 1).verdict, Verdict::NeedsInput);
}

#[test]
fn a_question_is_put_to_a_person_whatever_file_is_missing_meanwhile() {
    // A11: the agent was asked for the file until its sessions were used up.
    let asked = judge("Shall it be CSV or JSON?", |o| {
        let file = ExpectedFile { path: "out.txt".into(), state: FileState::Missing };
        let objective = sample::objective("parser", "Write out.txt");
        o.objectives = vec![Objective { files: 1, expected_files: vec![file], ..objective }];
        (o.files_changed, o.files_missing, o.phase.expects_files, o.nudges) = (0, 1, true, 1);
        (o.phase.check, o.phase.progress.open) = (None, 1);
    });
    assert_eq!(asked.verdict, Verdict::NeedsInput, "{}", asked.reason);
    assert!(matches!(&asked.recovery, Action::AskPerson(question) if question.contains("CSV or JSON")));
}

#[test]
fn a_question_is_put_in_its_words_whatever_check_follows_and_whatever_stands_behind_it() {
    // A11: a person was asked whether the work is done, since its check may have passed before.
    for check_passed in [None, Some(false), Some(true)] {
        for text in [
            "Before I begin: which format do you want, CSV or JSON? I need to know that before I write anything.",
            "I looked at calc.py and its tests. Which format do you want, CSV or JSON?",
        ] {
            let asked = |nudges| {
                judge(text, |o| {
                    let objective = sample::objective("export", "Export all data");
                    o.objectives =
                        vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
                    (o.files_changed, o.phase_files_changed, o.nudges) = (0, 0, nudges);
                    (o.phase.check, o.phase.check_passed) =
                        (Some("python3 -m unittest".into()), check_passed);
                    (o.phase.expects_files, o.phase.progress.done, o.phase.progress.open) = (true, 0, 1);
                })
            };
            assert_eq!(asked(0).recovery, Action::Nudge, "{text} {}", asked(0).reason);
            let again = asked(1);
            assert_eq!(again.verdict, Verdict::NeedsInput, "{text} {}", again.reason);
            let Action::AskPerson(question) = &again.recovery else { panic!("{again:#?}") };
            assert!(question.starts_with("The agent asks: "), "{question}");
            assert!(question.ends_with("hich format do you want, CSV or JSON?"), "{question}");
        }
    }
    // Who has changed something asks what else there may be to do.
    let offers =
        held_to("The parser is in. Shall I add tests? I can do that next.", ("Write it", &[]), "", 1);
    assert_ne!(offers.verdict, Verdict::NeedsInput, "{}", offers.reason);
}

#[test]
fn a_check_that_failed_before_decides_what_an_honest_remark_leaves_open() {
    // A11: the check was never run, in three sessions, for a remark beside the line that every prompt asks for.
    let remark = "I could not install left-pad: the command was refused. sub is there.\n\nDone: parser";
    let of = |text: &str, nudges, change: fn(&mut Observation)| {
        judge(text, |o| {
            let objective = sample::objective("parser", "Add a function sub to calc.py");
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.files_changed, o.phase.expects_files, o.nudges) = (1, true, nudges);
            (o.phase.check, o.phase.check_passed) = (Some("make test".into()), Some(false));
            change(o);
        })
    };
    for nudges in [0, 1] {
        assert_eq!(
            of(remark, nudges, |_| ()).verdict,
            Verdict::Completed,
            "{}",
            of(remark, nudges, |_| ()).reason
        );
        // One that passed before, that nobody saw fail, or that is about more than this, shows nothing of it.
        for change in [
            (|o| o.phase.check_passed = Some(true)) as fn(&mut Observation),
            |o| o.phase.check_passed = None,
            |o| o.others_open = vec!["printer".into()],
        ] {
            let asked = of(remark, nudges, change);
            assert_eq!(asked.verdict, Verdict::Unfinished, "{nudges}");
            assert!(
                asked.reason.starts_with("the agent answers that it is done, and leaves work: "),
                "it has reported something: {}",
                asked.reason
            );
        }
    }
    // Who leaves the work to somebody is asked about it.
    let left = of("sub is there. The rest is left for the next session.\n\nDone: parser", 0, |_| ());
    assert_eq!((left.verdict, left.recovery), (Verdict::Unfinished, Action::Nudge), "{}", left.reason);
}

#[test]
fn a_review_that_was_submitted_may_be_short() {
    // D3, D12
    let reviewed = |review_missing: bool| {
        judge("It holds five lines.\n\nScore: 85", |o| {
            let objective = sample::objective("review-20a-1", "Review phase 20a");
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.answer_bytes, o.files_changed, o.nudges, o.phase.check) = (31, 0, 0, None);
            (o.phase.origin, o.review_missing) = (Origin::Review, review_missing);
        })
    };
    assert_eq!(reviewed(false).verdict, Verdict::Completed);
    assert_eq!(reviewed(true).recovery, Action::Nudge);
}

#[test]
fn a_word_that_it_is_not_done_holds_until_another_word() {
    // A11
    let judged = |changed_since, nudges, answer: &str, check: &str| {
        judge(answer, |o| {
            let (status, note) = (ObjectiveStatus::InProgress, "2 of 5".to_owned());
            let report =
                StatusReport { status, note, by_session: nudges > 0, changed_since: Some(changed_since) };
            let parser = Objective { status, attempts: 3, ..sample::objective("parser", "Write five cases") };
            o.objectives = vec![Objective { reported: Some(report), ..parser }];
            (o.files_changed, o.answer_bytes) = (2, answer.len() as u64);
            (o.phase.expects_files, o.nudges) = (true, nudges);
            o.phase.check = Some(check.to_owned()).filter(|check| !check.is_empty());
        })
    };
    for answer in ["", "I had a look."] {
        for nudges in [1, 2] {
            let again = judged(0, nudges, answer, "sh check.sh");
            assert_eq!(again.verdict, Verdict::Unfinished, "{answer}");
            assert!(again.reason.contains("2 of 5"), "{}", again.reason);
            // What was changed since may be the rest, and the check tells. Without one, nothing does.
            assert_eq!(judged(1, nudges, answer, "sh check.sh").verdict, Verdict::Completed, "{answer}");
            assert_eq!(judged(1, nudges, answer, "").verdict, Verdict::Unfinished, "{answer}");
        }
        assert_eq!(judged(0, 0, answer, "sh check.sh").verdict, Verdict::Unfinished, "{answer}");
    }
    for answer in ["Done: parser", "Yes.", "All five cases are written."] {
        assert_eq!(judged(0, 1, answer, "sh check.sh").verdict, Verdict::Completed, "{answer}");
    }
    assert_eq!(judged(1, 0, "", "sh check.sh").verdict, Verdict::Completed);
}
