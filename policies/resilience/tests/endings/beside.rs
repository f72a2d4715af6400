//! What an agent says beside the line that all is done, where no check tells more (A11).

use baton_policy_resilience::Resilience;
use baton_sdk::handoff::Kind;
use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;
use baton_sdk::{MockHost, sample};

use crate::judge;
use crate::judged::{Judged, Verdict};

/// 120 answers that leave work in words that nobody had thought of, and 120 of finished work, written without a look at the rules.
/// Read by lists of words, 24 of the first 60 passed for finished work as soon as half of the finished ones did.
const WORDINGS: &str = include_str!("../../../../tests/fixtures/policies/beside_line.jsonl");

struct Row {
    id: String,
    wanted: String,
    is_open: bool,
    text: String,
}

fn rows() -> Vec<Row> {
    let row = |line: &str| {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| json[name].as_str().unwrap().to_owned();
        Row {
            id: field("id"),
            wanted: field("wanted"),
            is_open: field("kind") == "open",
            text: field("text"),
        }
    };
    WORDINGS.lines().map(row).collect()
}

/// An answer about an objective whose file has changed, which nobody reported.
fn answered(row: &Row, text: &str, check: Option<&str>, nudges: u32) -> Judged {
    judge(text, |o| {
        let file = ExpectedFile { path: "out.txt".into(), state: FileState::Changed };
        o.objectives = vec![Objective {
            status: ObjectiveStatus::InProgress,
            files: 1,
            expected_files: vec![file],
            ..sample::objective(&row.id, &row.wanted)
        }];
        (o.files_changed, o.phase.expects_files, o.nudges) = (1, true, nudges);
        o.phase.check = check.map(str::to_owned);
    })
}

#[test]
fn who_says_more_beside_the_line_is_asked_for_the_line_alone() {
    let rows = rows();
    assert_eq!(rows.iter().filter(|row| row.is_open).count(), 120);
    assert_eq!(rows.len(), 240);
    for row in &rows {
        let line = format!("Done: {}", row.id);
        let beside = format!("{}\n\n{line}", row.text);
        let first = answered(row, &beside, None, 0);
        if !row.is_open {
            // A plain claim of the whole among the words needs no question.
            let alone = answered(row, &line, None, 1);
            assert_eq!(alone.verdict, Verdict::Completed, "{}", row.text);
            continue;
        }
        assert_eq!((first.verdict, first.recovery), (Verdict::Unfinished, Action::Nudge), "{}", row.text);
        // Who says it again has not answered: another session looks, then a person.
        let again = answered(row, &beside, None, 1);
        assert_ne!(again.verdict, Verdict::Completed, "{}", row.text);
    }
}

#[test]
fn plain_words_beside_the_line_need_no_question() {
    let row = Row {
        id: "parser".into(),
        wanted: "Write src/parser.sh with five cases".into(),
        is_open: false,
        text: String::new(),
    };
    for text in [
        "",
        "The parser is done.",
        "I wrote the parser.",
        "All five cases are written.",
        "All five cases are written. Its tests pass.",
        "Everything is done, and both of the scripts are ready and tested.",
        "Everything is in place. The printer reads both forms of it.",
        "Five cases added; three of the grammar, two of the printer. No further work needed.",
        "Done.",
        "All tests pass.",
    ] {
        let said = answered(&row, &format!("{text}\n\nDone: parser"), None, 0);
        assert_eq!(said.verdict, Verdict::Completed, "{text}: {}", said.reason);
    }
    // A sign, a quotation or a piece of code beside it is nothing that was read.
    for text in [
        "🚧",
        "> Two cases are missing.",
        "```\ncase 3 to 5\n```",
        "| case 3 | later |",
        "Everything is done for now.",
    ] {
        let said = answered(&row, &format!("{text}\n\nDone: parser"), None, 0);
        assert_eq!(said.recovery, Action::Nudge, "{text}");
        assert!(said.reason.contains("says more beside it"), "{}", said.reason);
    }
    // A check that follows tells more than words do.
    let checked = answered(&row, "The parser reads both forms.\n\nDone: parser", Some("make test"), 0);
    assert_eq!(checked.verdict, Verdict::Completed);
}

#[test]
fn what_the_prompt_asks_for_is_what_is_accepted() {
    // A11: the line alone counts at once; a whole answer without it is quoted, and called neither silent nor contrary.
    let row = Row {
        id: "add-sub".into(),
        wanted: "Add sub to calc.py, with tests".into(),
        is_open: false,
        text: String::new(),
    };
    let mut o = sample::handoff_observation(Kind::First, None, None);
    (o.inbox_path, o.focus) = ("inbox".into(), vec![row.id.clone()]);
    let prompt =
        <Resilience as Prompting>::compose(&MockHost::with_settings_of::<Resilience>(&[]), o).unwrap();
    let text = prompt.sections.last().unwrap().text();
    assert!(
        text.contains(
            "If you report nothing, your whole answer is one line and nothing else: `Done: add-sub`, or `Not done: add-sub: what is missing`.\n"
        ),
        "{}",
        text
    );
    let lines: Vec<&str> = text.split('`').filter(|part| part.contains("one: add-sub")).collect();
    let [done, not_done] = lines[..] else { panic!("{lines:?}") };
    assert_eq!(answered(&row, done, None, 0).verdict, Verdict::Completed);
    let denied = answered(&row, not_done, None, 0);
    assert_eq!((denied.verdict, denied.recovery), (Verdict::Unfinished, Action::Nudge));
    assert!(denied.reason.contains("answers \"Not done: add-sub: what is missing\""), "{}", denied.reason);
    let without =
        answered(&row, "I added sub to calc.py and described it. Everything is done for you.", None, 0);
    assert!(
        without.reason.ends_with(
            "and its answer does not end with `Done: add-sub`; it said: \"I added sub to calc.py and described it. \
             Everything is done for you.\""
        ),
        "{}",
        without.reason
    );
}

#[test]
fn a_person_is_asked_with_the_words_once_sessions_are_used_up() {
    let row = Row {
        id: "parser".into(),
        wanted: "Write src/parser.sh with five cases".into(),
        is_open: true,
        text: "Its content is for Marta.".into(),
    };
    let answer = format!("{}\n\nDone: parser", row.text);
    assert_eq!(answered(&row, &answer, None, 1).recovery, Action::Retry);
    let spent = judge(&answer, |o| {
        o.objectives = vec![Objective {
            status: ObjectiveStatus::InProgress,
            ..sample::objective("parser", &row.wanted)
        }];
        (o.files_changed, o.phase.expects_files, o.nudges, o.phase.check) = (1, true, 1, None);
        o.phase.budget.retries_used = o.phase.budget.retries;
    });
    let Action::AskPerson(question) = &spent.recovery else { panic!("{:?}", spent.recovery) };
    assert!(question.contains(&row.text), "{question}");
}

/// An answer beside the report that its objective is done, where no check follows.
fn reported(row: &Row, nudges: u32) -> Judged {
    judge(&row.text, |o| {
        let report = StatusReport {
            status: ObjectiveStatus::Done,
            note: String::new(),
            by_session: true,
            changed_since: None,
        };
        let file = ExpectedFile { path: "out.txt".into(), state: FileState::Changed };
        o.objectives = vec![Objective {
            status: ObjectiveStatus::Done,
            files: 1,
            reported: Some(report),
            expected_files: vec![file],
            ..sample::objective(&row.id, &row.wanted)
        }];
        (o.files_changed, o.phase.expects_files, o.nudges) = (1, true, nudges);
        (o.phase.progress.open, o.phase.progress.done, o.phase.check) = (0, 1, None);
    })
}

/// An answer about two scripts.
fn scripts(text: &str) -> Row {
    Row {
        id: "scripts".into(),
        wanted: "Write src/hello.sh and src/bye.sh with a test".into(),
        is_open: false,
        text: text.into(),
    }
}

#[test]
fn who_reports_done_and_says_otherwise_is_asked_which_holds() {
    for text in [
        "Everything but bye is done.",
        "Only hello works so far.",
        "bye just returns 0 for now.",
        "src/b.sh is empty",
        "bye is a no-op",
        "bye does nothing yet",
        "bye is mocked",
        "I commented out the failing test",
        "I've completed what I could within this session.",
        "I completed as much as possible before running out of budget.",
        "Because of limited context I focused on hello.",
        "I prioritised hello given the space I had.",
        "hello is written. A follow-up can cover the others.",
        "I have produced a first cut; the test awaits.",
        "This is a first version of the scripts.",
    ] {
        let row = scripts(text);
        let first = reported(&row, 0);
        assert_eq!((first.verdict, first.recovery), (Verdict::Unfinished, Action::Nudge), "{text}");
        assert!(first.reason.contains("says that it is not"), "{}", first.reason);
    }
    // What it did not do beside its work is none of it.
    for text in [
        "All tests pass. I did not touch src/printer.sh.",
        "I wrote both scripts. I have not committed the change.",
        "Both scripts are written. I didn't run the linter because there is none.",
        "Both are written. I didn't change anything else.",
        "Both are written, and CHANGELOG.md records the first version.",
    ] {
        let row = scripts(text);
        let done = reported(&row, 0);
        assert_eq!(done.verdict, Verdict::Completed, "{text}: {}", done.reason);
    }
    // What it says again is not done.
    for text in ["src/bye.sh: 60 percent.", "Printer: 60 %", "bye is well under way.", "I did not touch bye."]
    {
        let row = scripts(text);
        for nudges in [0, 1] {
            assert_eq!(reported(&row, nudges).verdict, Verdict::Unfinished, "{text} {nudges}");
        }
    }
    // Its report holds where its answer to the question says the same.
    let row = scripts("Yes, both scripts and the test are done.");
    assert_eq!(reported(&row, 1).verdict, Verdict::Completed);
    let row = scripts("Everything but bye is done.");
    assert_eq!(reported(&row, 1).verdict, Verdict::Unfinished);
}
