//! Last words of agents that stop because their context is full, with work left, and of finished work that mentions
//! contexts, limits, tokens and compaction (A12).

mod asked;
mod beside;
mod contradictions;
mod earlier;
#[path = "../common/judged.rs"]
mod judged;
mod repeated;
mod shown;

use baton_policy_resilience::Resilience;
use baton_sdk::exhaustion::{Observation, Occasion};
use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;
use baton_sdk::{MockHost, sample};

use judged::{Judged, Verdict};

/// Half `a` was written before the rules, each other one afterwards without a look at them. By words alone the new ones scored 24 of
/// 48, 25 of 42, 24 of 40, 30 of 32, 20 of 24, 30 of 48 and 17 of 48 (`b` to `h`), with 0 to 5 false alarms each: people find ever
/// new words. So words alone decide only where they are unmistakable; else the journal does, which has no report of the agent, and
/// the agent is asked. That kept 47 of 48 and 47 of 48 of `g` and `h` from being called done; the last one is not in English.
const ENDINGS: &str = include_str!("../../../../tests/fixtures/policies/endings.jsonl");

struct Row {
    ends: bool,
    text: String,
    half: String,
}

fn rows() -> Vec<Row> {
    let row = |line: &str| {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| json[name].as_str().unwrap().to_owned();
        Row { ends: field("kind") == "exhausted", text: field("text"), half: field("half") }
    };
    ENDINGS.lines().map(row).collect()
}

/// The answer of a prompt with one objective open and nothing changed on disk.
fn judge(text: &str, change: impl FnOnce(&mut Observation)) -> Judged {
    judge_with(&[], text, change)
}

fn judge_with(
    settings: &[(&str, SettingValue)],
    text: &str,
    change: impl FnOnce(&mut Observation),
) -> Judged {
    let mut host = MockHost::with_settings_of::<Resilience>(settings);
    let window = host.add_text(text);
    let mut observation = Observation {
        signals: vec![sample::signal(Channel::AgentText, "", text.len() as u32)],
        answer_bytes: 400,
        files_changed: 0,
        ..sample::exhaustion_observation(window)
    };
    change(&mut observation);
    judged::judge(&host, observation)
}

/// The same of an objective that nobody reported and no check looks at.
fn unreported(text: &str, files_changed: u32) -> Judged {
    judge(text, |o| {
        let objective = sample::objective("parser", "Write it");
        o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
        (o.files_changed, o.phase.check, o.phase.expects_files) = (files_changed, None, true);
    })
}

/// Of an objective (its id and what it wants) that its session reported as done, with this note, while so many others are open.
fn reported_done(text: &str, wanted: (&str, &str), note: &str, others_open: u32, nudges: u32) -> Judged {
    judge(text, |o| {
        let report = StatusReport {
            status: ObjectiveStatus::Done,
            note: note.into(),
            by_session: true,
            changed_since: None,
        };
        let objective = sample::objective(wanted.0, wanted.1);
        o.objectives = vec![Objective { status: ObjectiveStatus::Done, reported: Some(report), ..objective }];
        (o.files_changed, o.nudges, o.phase.progress.open) = (1, nudges, others_open);
    })
}

/// The same of an objective that wants this with these files, each of them changed, asked about so often.
fn held_to(text: &str, wanted: (&str, &[&str]), check: &str, nudges: u32) -> Judged {
    judge(text, |o| {
        let file = |path: &&str| ExpectedFile { path: (*path).into(), state: FileState::Changed };
        let (description, files) = wanted;
        let objective = sample::objective("parser", description);
        o.objectives = vec![Objective {
            status: ObjectiveStatus::InProgress,
            files: files.len() as u32,
            expected_files: files.iter().map(file).collect(),
            ..objective
        }];
        (o.files_changed, o.phase.check, o.nudges) =
            (1, Some(check.to_owned()).filter(|check| !check.is_empty()), nudges);
        o.phase.expects_files = true;
    })
}

#[test]
fn endings_are_told_from_finished_work() {
    // A12: of each half at least 95 % are continued or asked, and no finished work is handed over, whether files changed or not.
    let rows = rows();
    assert!(rows.iter().filter(|row| row.ends).count() >= 48);
    assert!(rows.iter().filter(|row| !row.ends).count() >= 48);
    let mut halves: Vec<&str> = rows.iter().map(|row| row.half.as_str()).collect();
    halves.dedup();
    for half in halves {
        for files_changed in [0, 2] {
            let of_half = |ends| rows.iter().filter(move |row| row.half == half && row.ends == ends);
            let verdict = |row: &Row| unreported(&row.text, files_changed).verdict;
            let missed: Vec<&str> = of_half(true)
                .filter(|row| !matches!(verdict(row), Verdict::Exhausted | Verdict::Unfinished))
                .map(|row| row.text.as_str())
                .collect();
            let alarms: Vec<&str> = of_half(false)
                .filter(|row| verdict(row) == Verdict::Exhausted)
                .map(|row| row.text.as_str())
                .collect();
            let all = of_half(true).count();
            assert!(missed.len() * 100 <= all * 5, "{half}: missed of {all}\n{}", missed.join("\n"));
            assert_eq!(alarms, [""; 0], "{half}: false alarms");
        }
    }
}

#[test]
fn who_does_not_say_that_it_is_done_is_not_believed() {
    // A11: by words of ordinary agents, with files changed, no report and no check.
    let open = [
        "I was not able to complete all cases.",
        "I didn't manage to write all five cases.",
        "I ran out of time before writing cases 4 and 5.",
        "I failed to write cases 4 and 5.",
        "Cases 4 and 5 failed.",
        "I got stuck on case 4.",
        "Cases 4 and 5 don't work and I gave up on them.",
        "Tests are failing and I don't know why.",
        "Let me now write cases 4 and 5.",
        "Should I go on with cases 4 and 5?",
        "I need your input before I write cases 4 and 5: which format do you want?",
        "Permission to write the file was denied, so nothing more was done.",
        "API Error: Connection error.",
        "Not all five cases are done.",
        "I've hit the maximum length for this conversation.",
        "J'ai atteint la limite de contexte, il reste deux cas.",
        "I looked into the parser module.",
        "Added the skeleton of the parser.",
        "Drafted the parser.",
    ];
    let asked = |text: &str, nudges| {
        judge(text, |o| {
            let objective = sample::objective(
                "parser",
                "Write its five cases, fix the failing test, and remove TODO comments",
            );
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.files_changed, o.phase.check, o.phase.expects_files) = (1, None, true);
            (o.nudges, o.answer_bytes) = (nudges, text.len() as u64);
        })
    };
    for text in open {
        let text = format!("{text} That is what there is to say of it.");
        assert_ne!(asked(&text, 0).verdict, Verdict::Completed, "{text}");
        assert_ne!(asked(&text, 1).verdict, Verdict::Completed, "again: {text}");
    }
    // What comes behind the work that is done is not done.
    for next in [
        "I wrote the lexer. Now on to the parser.",
        "I wrote the lexer, which works.\n\nNext: the parser.",
        "The lexer is done. Moving on to the parser.",
        "Converted the first two views. Continuing with the third.",
        "The lexer is written. I am going to do the parser as the next thing.",
        "All tests of the lexer pass. Time for the parser.",
        "Parser: expressions are implemented, statements to follow.",
        "I have begun the parser. The scanner works and the grammar is written. Statements come after that.",
        "Good progress today! The first third of the parser is in place.",
        "I added the lexer and its documentation, which was needed first.",
        "Created parser.rs. Its tests crash with a segmentation fault.",
        "Added the first two of the cases; three more are needed.",
        "Wrote cases 1 and 2 of the parser.",
        "Added the parser. Do you want me to implement the other three cases?",
        "Investigated the parser and documented the findings.",
    ] {
        assert_ne!(asked(next, 0).verdict, Verdict::Completed, "{next}");
        assert_ne!(asked(next, 1).verdict, Verdict::Completed, "again: {next}");
    }
    for done in [
        "I implemented the five cases and ran them.",
        "All five cases are written, as asked for.",
        "The work is done, and its tests pass.",
        "Everything is complete. The tests are green.",
    ] {
        let done = format!("{done} The five were looked over twice.");
        assert_eq!(asked(&done, 0).verdict, Verdict::Completed, "{done}");
    }
    // What such a claim is not made of may take it back, in whatever words.
    for other in [
        "Fixed the remaining failing test.",
        "Removed the TODO comments.",
        "The parser is written. It takes empty input, too.",
        "The parser is done, and its tests pass.",
        "It is complete.",
        "All five cases are written, bar the fifth.",
        "All of the tests are written.",
        "Everything is done for now.",
        "Everything is written to NOTES.md.",
        "It is in place in another file.",
        "All three cases are written.",
        "Is it done?",
        "Wrote a subset of the cases.",
        "The cases apart from delta are written.",
        "Tests are red; the cases are all written.",
        "Wrote all of the parser's cases, minus delta.",
        "Alle f\u{fc}nf F\u{e4}lle sind geschrieben.",
    ] {
        assert_eq!(asked(other, 0).recovery, Action::Nudge, "{other}");
        // Beside the line it leaves open what the line says.
        let again = asked(&format!("{other}\n\nDone: parser"), 1).verdict;
        let is_plain =
            ["The parser is done, and its tests pass.", "It is complete.", "All of the tests are written."];
        assert_eq!(again == Verdict::Completed, is_plain.contains(&other), "{other}");
    }
    // Who speaks of what is not done is asked.
    let careful = "Implemented the five cases. I did not touch the parser, which is another matter.";
    assert_eq!(asked(careful, 0).recovery, Action::Nudge);
}

#[test]
fn a_check_that_follows_does_not_hear_for_the_host() {
    // A11, A12: all of these ended in a done that a check of `true` had given.
    let said = |text: &str, files_changed: u32, nudges: u32| {
        judge(text, |o| {
            let description = "Write parser.sh: three cases and their tests.";
            let objective = sample::objective("parser", description);
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.files_changed, o.phase.check, o.nudges) = (files_changed, Some("true".into()), nudges);
            (o.answer_bytes, o.phase.expects_files) = (text.len() as u64, true);
        })
    };
    for text in [
        "I am running out of context. I added the first of the three cases to parser.sh.",
        "I am running out of context. I wrote the first half of parser.sh.",
        "My context is nearly used up.",
        "My context window is almost exhausted; the first case is in parser.sh.",
        "I wrote the first half.",
        "Wrote the first case to parser.sh.",
        "This is too large for one session: please split it into case 1, case 2, case 3.",
        "Blocked: the tool that I need was refused.",
        "See the report.",
    ] {
        for files_changed in [0, 1] {
            assert_ne!(said(text, files_changed, 0).verdict, Verdict::Completed, "{text}");
        }
    }
    for text in ["Everything is written, and its tests pass.", "Wrote all three cases and their tests.", ""] {
        assert_eq!(said(text, 1, 0).verdict, Verdict::Completed, "{text}");
    }
    // Who was asked and has no more to say is left to the check; who leaves work again is not.
    assert_eq!(said("It is all in parser.sh, as I said.", 1, 1).verdict, Verdict::Completed);
    assert_ne!(said("I wrote the first half, as I said.", 1, 1).verdict, Verdict::Completed);
}

#[test]
fn who_changes_no_files_is_heard_too() {
    // A11: an agent that only reads, and one whose answer is enough, can leave work as well.
    let said = |text: &str, nudges: u32, accept: Option<Basis>, review: bool| {
        judge(text, |o| {
            let objective = sample::objective("modules", "Read all ten modules and describe each of them");
            o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
            (o.phase.check, o.nudges, o.phase.accept) = (Some("true".into()), nudges, accept);
            (o.answer_bytes, o.phase.expects_files) = (400, accept.is_some());
            if review {
                o.phase.origin = Origin::Review;
            }
        })
    };
    for text in [
        "I described three of the modules.\n\nNot done: the other seven modules",
        "The first three modules hold the parser. Now I will read the other seven modules.",
        "The first three modules hold the parser. Let me now read the other seven.",
        "The first three modules hold the parser. I'll continue with the other seven.",
        "The first three modules hold the parser. I could not get to the other seven.",
        "Three modules are described above; the remaining seven are left for the next session.",
    ] {
        for accept in [None, Some(Basis::Answer)] {
            for nudges in [0, 1] {
                assert_eq!(said(text, nudges, accept, false).verdict, Verdict::Unfinished, "{text} {nudges}");
            }
        }
    }
    for text in [
        "The ten modules are a parser, its lexer, and eight backends, all of which share one tree.",
        "I have written the rest of modules.md, and its tests pass.",
        "The second half is written, and its tests pass on this machine.",
        "Three modules were not there yet when I began; the remaining seven hold backends.\n\nDone: modules",
        "All ten modules are done.",
    ] {
        for accept in [None, Some(Basis::Answer)] {
            let is_answer = text.contains("Done:") || text.starts_with("All ten");
            let expected = if is_answer { Verdict::Completed } else { Verdict::Unfinished };
            assert_eq!(said(text, 0, accept, false).verdict, expected, "{text}");
            assert_eq!(said(text, 1, accept, false).verdict, Verdict::Completed, "asked: {text}");
        }
    }
    // What every prompt asks for is enough, however short it is.
    let findings =
        "The parser has a TODO at line 40: comments are not handled. The rest of the input is skipped.";
    for accept in [None, Some(Basis::Answer)] {
        assert_eq!(said(findings, 0, accept, false).verdict, Verdict::Unfinished, "they may be its own");
        for line in ["Done: modules", "Yes, it is done."] {
            let assessment = judge(line, |o| {
                let objective =
                    sample::objective("modules", "Read all ten modules and describe each of them");
                o.objectives = vec![Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective }];
                (o.nudges, o.phase.accept, o.answer_bytes) = (1, accept, line.len() as u64);
                o.phase.expects_files = accept.is_some();
            });
            assert_eq!(assessment.verdict, Verdict::Completed, "{line} {}", assessment.reason);
        }
    }
    // Trouble is not believed, however often it is told, until the line says that it is done.
    for text in ["I wrote the first half of them.", "I could not open the others: three are described."] {
        for nudges in [0, 1] {
            assert_eq!(said(text, nudges, Some(Basis::Answer), false).verdict, Verdict::Unfinished, "{text}");
        }
        let answered = format!("{text}\n\nDone: modules");
        assert_eq!(said(&answered, 1, Some(Basis::Answer), false).verdict, Verdict::Completed, "{text}");
    }
    // A review tells of what others left.
    let review = "Two of the cases are missing; the remaining three are right.";
    assert_eq!(said(review, 0, None, true).verdict, Verdict::Completed);
}

#[test]
fn a_part_of_the_work_is_not_all_of_it() {
    // A11: each of these ended in a done, unasked.
    for text in [
        "The parser is mostly done.",
        "The parser is almost complete.",
        "The parser is nearly finished.",
        "The bulk of the parser is written.",
        "Most of the parser is implemented and works.",
        "The parser is about 60 % done.",
        "The parser is largely implemented.",
        "I made a start on the parser and the basics are in place.",
        "I wrote the easy cases of the parser.",
        "I wrote what I could of the parser.",
        "The parser is done as far as it goes.",
        "The parser is written. Cases 4 and 5 I would do after a break.",
        "I completed as much as I could fit in. The memory of this chat is exhausted.",
        "Done: parser (cases 1-3), 4 and 5 still open",
        "I've hit my context limit. The parser is written; its second case needs its test.",
    ] {
        for check in ["", "true"] {
            for nudges in [0, 1] {
                let assessment =
                    held_to(text, ("Write parser.txt: five cases.", &["parser.txt"]), check, nudges);
                assert_ne!(assessment.verdict, Verdict::Completed, "{text} {check} {nudges}");
            }
        }
    }
}

#[test]
fn the_words_are_the_evidence_and_the_work_goes_on_in_another_session() {
    // A12
    let text = "Two cases are proved.\n\nI have reached my context limit. Remaining: objectives 2 and 3.";
    let assessment = judge(text, |_| {});
    assert_eq!(assessment.verdict, Verdict::Exhausted);
    assert_eq!(assessment.recovery, Action::HandOff);
    assert!(assessment.reason.contains("context window is used up"), "{}", assessment.reason);
    let evidence = &assessment.evidence[0];
    assert_eq!(
        (evidence.channel, evidence.text.as_str()),
        (Channel::AgentText, "I have reached my context limit.")
    );
    assert_eq!(evidence.seq, Some(sample::signal(Channel::AgentText, "", 1).seq));
    let long = format!("I have reached my context limit and {} are left.", "é".repeat(200));
    let assessment = judge(&long, |_| {});
    assert_eq!(assessment.verdict, Verdict::Exhausted);
    assert!((100..=200).contains(&assessment.evidence[0].text.len()));
}

#[test]
fn with_nothing_left_to_do_they_are_a_remark() {
    // A12
    for row in rows() {
        let reported = |o: &mut Observation| {
            (o.phase.progress.open, o.phase.progress.done, o.phase.progress.failed) = (0, 2, 0);
        };
        let verdict = judge(&row.text, reported).verdict;
        let label = judge(&row.text, |_| {}).reason.contains("says the agent");
        assert!(!label || verdict == Verdict::Completed, "{verdict:?}: {}", row.text);
    }
    let missing = |o: &mut Observation| {
        (o.phase.progress.open, o.phase.progress.done, o.files_missing) = (0, 2, 1);
    };
    assert_eq!(judge("I've hit my context limit.", missing).verdict, Verdict::Exhausted);
}

#[test]
fn they_count_when_the_process_ends_too_and_a_stronger_word_wins() {
    // A12
    let text = "I've hit my context limit.";
    let exit = |code| Some(Exit { code: Some(code), signal: None, by_host: false });
    let ended = |code| {
        judge(text, |o| {
            (o.occasion, o.session.state, o.session.exit) =
                (Occasion::SessionEnded, SessionState::Ended, exit(code));
        })
    };
    assert_eq!(ended(0).verdict, Verdict::Exhausted);
    assert_eq!(ended(1).verdict, Verdict::Exhausted);
    let capped = judge(text, |o| o.signals.push(sample::signal(Channel::AgentEvent, "max_turns", 0)));
    assert_eq!(capped.verdict, Verdict::TurnLimit);
    let working = judge(text, |o| (o.occasion, o.session.state) = (Occasion::Turn, SessionState::Working));
    assert_eq!(working.verdict, Verdict::Healthy);
}

#[test]
fn quoted_they_say_nothing() {
    // A12
    for row in rows().iter().filter(|row| row.ends && !row.text.contains(['\n', '"', '`'])) {
        for text in [
            format!("The recogniser finds \"{}\" in answers, and its tests pass.", row.text),
            format!("> {}\n\nI added this sentence to the list.", row.text),
            format!("The agent says:\n\n```\n{}\n```\n\nIts run is continued by the host.", row.text),
        ] {
            assert_eq!(judge(&text, |_| {}).verdict, Verdict::Completed, "{text}");
        }
        let printed = judge(&row.text, |o| o.signals[0].channel = Channel::ToolOutput);
        assert_eq!(printed.verdict, Verdict::Completed, "{}", row.text);
    }
}

#[test]
fn a_team_can_add_its_own_words() {
    // A12
    let text = "My brain overflows. Items 2 and 3 are for the night shift.";
    assert_eq!(judge(text, |_| {}).verdict, Verdict::Completed);
    let names = SettingValue::Texts(vec!["brain".into()]);
    let left = SettingValue::Texts(vec!["night shift".into()]);
    let given = [("own-context-names", names), ("work-left-words", left)];
    assert_eq!(judge_with(&given, text, |_| {}).verdict, Verdict::Exhausted);
}

#[test]
fn no_text_breaks_the_reading() {
    // A12: the dearest texts, cut anywhere.
    for piece in [
        "my context ",
        "context. ",
        "' \"context`",
        "I can't context limit, ",
        "\u{2019}é context\n- ",
        "9% 8k/0k context ",
    ] {
        let text = piece.repeat(4096 / piece.len());
        let assessment = judge(&text, |_| {});
        assert!(matches!(assessment.verdict, Verdict::Completed | Verdict::Exhausted), "{piece}");
    }
}

#[test]
fn what_is_said_twice_is_heard_where_it_is_of_the_agents_own_work() {
    // A11, A12: whole answers, said once more with the line behind them. Of those that are no endings some are of work that waits
    // for something, and all were written to be mistaken; an agent that was asked has mostly something plainer to say.
    for way in ["line", "report", "note"] {
        let again = |row: &Row| {
            let line = format!("{}\n\nDone: parser", row.text);
            let judged = match way {
                "line" => held_to(&line, ("Write it", &["a.txt"]), "true", 1),
                "report" => reported_done(&line, ("parser", "Write it"), "", 0, 1),
                _ => reported_done("I wrote it.", ("parser", "Write it"), &row.text, 0, 1),
            };
            judged.verdict == Verdict::Completed
        };
        let rows = rows();
        // A note so long, and in which nothing is named, is rare.
        let least = if way == "note" { 89 } else { 91 };
        let count = |ends: bool| rows.iter().filter(|row| row.ends == ends && again(row)).count();
        let all = |ends: bool| rows.iter().filter(|row| row.ends == ends).count();
        assert!(count(true) * 100 <= all(true) * 11, "{way}: {} of {} are done", count(true), all(true));
        assert!(
            count(false) * 100 >= all(false) * least,
            "{way}: {} of {} are done",
            count(false),
            all(false)
        );
    }
}
