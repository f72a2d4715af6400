//! What shows that the work is done although its agent did not answer as every prompt asks for (A11).

use baton_sdk::exhaustion::Observation;
use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;
use baton_sdk::sample;

use crate::judged::Verdict;
use crate::{judge, judge_with};

#[test]
fn a_check_that_failed_before_runs_before_the_agent_is_asked_whether_it_is_done() {
    // A11: the whole work was done a second time, and its tokens were spent twice, for want of the line.
    let of = |text: &str, change: fn(&mut Observation)| {
        judge(text, |o| {
            let objective = sample::objective("move-parser-into-src", "Move the parser into src/parser.txt");
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.files_changed, o.phase.expects_files, o.nudges) = (1, true, 0);
            (o.phase.check, o.phase.check_passed) = (Some("make test".into()), Some(false));
            change(o);
        })
    };
    for text in [
        "The parser is in src/parser.txt and the tests pass.",
        "Summary:\n\n- Created src/parser.txt\n- `make test` passes\n\nThe task is complete.",
    ] {
        let done = of(text, |_| ());
        assert_eq!(done.verdict, Verdict::Completed, "{text}: {}", done.reason);
        for change in [
            (|o| o.phase.check_passed = Some(true)) as fn(&mut Observation),
            |o| o.phase.check_passed = None,
            |o| o.files_changed = 0,
            |o| o.others_open = vec!["printer".into()],
            |o| o.phase.accept = Some(Basis::Reported),
        ] {
            let asked = of(text, change);
            assert_eq!((asked.verdict, asked.recovery), (Verdict::Unfinished, Action::Nudge), "{text}");
        }
    }
    // Words that say that work is left are asked about, whatever a check says.
    for text in [
        "Not done: move-parser-into-src: the tests",
        "The parser is there. The printer is still to be moved.",
        "I wrote the file. One lookup failed on the way.",
        "I wrote a stub. Shall I do the rest?",
    ] {
        let asked = of(text, |_| ());
        assert_eq!((asked.verdict, asked.recovery), (Verdict::Unfinished, Action::Nudge), "{}", asked.reason);
    }
}

#[test]
fn the_beginning_of_one_id_alone_reports_it() {
    // A11: everything was done again, since the id ended in "to", which its agent left out.
    let of = |line: &str, ids: &[&str], others: &[&str]| {
        judge(line, |o| {
            let open = |id: &&str| Objective {
                status: ObjectiveStatus::InProgress,
                files: 0,
                ..sample::objective(id, "Append forty lines to log.txt")
            };
            o.objectives = ids.iter().map(open).collect();
            o.others_open = others.iter().map(|id| (*id).to_owned()).collect();
            (o.files_changed, o.phase.expects_files, o.nudges, o.phase.check) = (1, true, 0, None);
        })
        .verdict
    };
    let id = "append-forty-lines-to";
    assert_eq!(of("Done: append-forty-lines", &[id], &[]), Verdict::Completed);
    assert_eq!(of("Done: append-forty-lines, write-index", &[id, "write-index"], &[]), Verdict::Completed);
    // One word is a word of any sentence, half a word is none, and what two begin with names neither.
    for line in ["Done: append", "Done: append-for", "Done: append-lines", "Done: forty-lines"] {
        assert_eq!(of(line, &[id], &[]), Verdict::Unfinished, "{line}");
    }
    let two = "Done: append-forty-lines";
    assert_eq!(of(two, &[id, "append-forty-lines-again"], &[]), Verdict::Unfinished);
    assert_eq!(of(two, &[id], &["append-forty-lines-again"]), Verdict::Unfinished, "it may mean the other");
}

#[test]
fn an_agent_that_says_why_it_is_not_done_is_asked_once_and_then_a_person_is() {
    // A11
    let missing = ExpectedFile { path: "calc.py".into(), state: FileState::Missing };
    let of = |line: &str, nudges, files_changed, retries_used| {
        judge(line, |o| {
            let objective = sample::objective("parser", "Add a function sub to calc.py");
            let expected_files = vec![missing.clone()];
            o.objectives =
                vec![Objective { status: ObjectiveStatus::InProgress, expected_files, ..objective }];
            (o.files_changed, o.phase.expects_files, o.nudges) = (files_changed, true, nudges);
            (o.phase.budget.retries, o.phase.budget.retries_used) = (2, retries_used);
        })
        .recovery
    };
    let line = "Not done: parser: I may not write calc.py";
    assert_eq!(of(line, 0, 0, 0), Action::Nudge, "it is asked once");
    let question = "The agent says that this is not done: \"parser: I may not write calc.py\". What now?";
    assert_eq!(of(line, 1, 0, 0), Action::AskPerson(question.to_owned()));
    assert_eq!(of("I tried.\n\n**Not done:** parser: I may not write calc.py", 1, 0, 0), of(line, 1, 0, 0));
    // It may write its id with a word more.
    let longer = of("Not done: parser-py: I may not write calc.py", 1, 0, 0);
    assert!(matches!(longer, Action::AskPerson(said) if said.contains("parser-py: I may not write calc.py")));
    // What changed something is continued once.
    assert_eq!(of(line, 1, 1, 0), Action::Retry);
    assert_eq!(of(line, 1, 1, 1), Action::AskPerson(question.to_owned()));
    // An id alone, and the words of the prompt, say nothing of why.
    for line in [
        "Not done: the tests",
        "Not done: cases 4 and 5: all",
        "Not done: parser",
        "Not done: `parser`.",
        "Not done: parser: what is missing",
    ] {
        assert_eq!(of(line, 1, 0, 0), Action::Retry, "{line}");
    }
}

#[test]
fn what_is_called_not_done_is_no_question_whether_it_is() {
    // A11
    let judged = judge("Not done: parser: there is no key", |o| {
        let objective = sample::objective("parser", "Add a function sub to calc.py");
        o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
        (o.files_changed, o.phase.expects_files, o.nudges, o.phase.check) = (0, true, 1, None);
        o.phase.budget.retries_used = o.phase.budget.retries;
    });
    let Action::AskPerson(question) = &judged.recovery else { panic!("{judged:#?}") };
    assert!(question.contains("there is no key") && question.ends_with(". What now?"), "{question}");
    assert!(question.starts_with("The agent says that this is not done: \"parser: there"), "{question}");
    // What was said to be done, and left no trace, was not cut off.
    let silent = judge("Done: parser", |o| {
        let objective = sample::objective("parser", "Add a function sub to calc.py");
        o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
        (o.answer_bytes, o.files_changed, o.phase_files_changed) = (12, 0, 0);
        (o.phase.expects_files, o.nudges, o.phase.check, o.phase.progress.done) = (true, 0, None, 0);
    });
    assert_eq!(
        (silent.verdict, &silent.recovery),
        (Verdict::Unfinished, &Action::Nudge),
        "{}",
        silent.reason
    );
    assert!(silent.reason.contains("no file changed"), "{}", silent.reason);
}

#[test]
fn a_failed_report_hands_the_phase_to_a_role_that_may_have_it() {
    // N6
    let after = |role: &str| {
        let steps = [("after-failed-report", SettingValue::Texts(vec![format!("role:{role}")]))];
        judge_with(&steps, "It does not work.", |o| {
            let report = StatusReport {
                status: ObjectiveStatus::Failed,
                note: "the grammar is ambiguous".into(),
                by_session: true,
                changed_since: None,
            };
            let objective = sample::objective("parser", "Write it");
            o.objectives = vec![Objective { reported: Some(report), ..objective }];
        })
    };
    assert_eq!(after("senior").recovery, Action::OtherRole("senior".into()));
    let Action::AskPerson(question) = after("root").recovery else {
        panic!("no role of that name may have it")
    };
    assert!(
        question.contains("The role \"root\" of `after-failed-report` may not have this phase"),
        "{question}"
    );
}
