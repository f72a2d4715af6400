//! What a handoff document holds, and what its score says of that: one next action, what the host saw, no blank that
//! stands for something (C8, C15, C16, C25).

use baton_policy_resilience::Resilience;
use baton_sdk::handoff::{
    Attempt, CommandRun, Composition, FileRead, Kind, Observation, ReportedHandoff, Withheld,
};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, sample};

fn review(document: &str, open: &[String], change: impl FnOnce(&mut review::Observation)) -> review::Review {
    let mut host = MockHost::with_settings_of::<Resilience>(&[]);
    let mut o = sample::review_observation(host.add_text(document));
    o.open_objectives = open.to_vec();
    change(&mut o);
    <Resilience as Review>::assess(&host, o).unwrap()
}

/// What a session leaves that changed nothing and said nothing.
fn silent(commands: u32) -> Observation {
    let mut o = sample::handoff_observation(Kind::Continuing, Some(0), Some(1));
    o.changed_files.clear();
    o.commits.clear();
    o.commands = (0..commands)
        .map(|n| CommandRun { line: format!("make step{n}"), failed: Some(n % 5 == 0), times: 1 })
        .collect();
    o
}

fn compose_silent(o: Observation) -> Composition {
    let mut host = MockHost::with_settings_of::<Resilience>(&[]);
    host.add_text("");
    host.add_text("");
    <Resilience as Handoff>::compose(&host, o).unwrap()
}

/// What its review finds, without the costs.
fn findings(review: &review::Review) -> Vec<&str> {
    review.findings.iter().map(|finding| finding.text.as_str()).collect()
}

#[test]
fn a_document_that_holds_nothing_scores_low_and_the_facts_of_the_host_still_get_through() {
    // C25
    let ran = compose_silent(silent(20)).document_text();
    let review_of = |document: &str| review(document, &["parser".to_owned()], |_| {});
    let facts = review_of(&ran);
    assert_eq!((facts.score, facts.accepted), (65, true), "{:?}\n{ran}", facts.findings);
    assert!(facts.reason.contains("all that it knows"), "{}", facts.reason);
    assert_eq!(
        findings(&facts),
        [
            "nothing says in words how far the work is",
            "the next action only names an objective; say what to do first",
            "it holds no decision",
            "it holds no failed attempt, no gotcha and no pattern",
        ]
    );
    // Nothing at all is refused once; composed from facts, it says that words were kept out, and gets through.
    let nothing = review_of(&compose_silent(silent(0)).document_text());
    assert_eq!((nothing.score, nothing.accepted), (55, false), "{:?}", nothing.findings);
    assert!(findings(&nothing).contains(&"it holds no changed file, no commit and no command"));
    let mut again = silent(0);
    again.words_withheld = Some(Withheld::default());
    let again = review_of(&compose_silent(again).document_text());
    assert_eq!((again.score, again.accepted), (55, true), "{:?}", again.findings);
    // Facts do not excuse anything else.
    let secret = review(&ran, &[], |o| o.secrets = vec!["generic-password".into()]);
    assert!(!secret.accepted);
    let dropped = review(&ran, &["parser".into(), "printer".into()], |_| {});
    assert!(!dropped.accepted, "{:?}", dropped.findings);
}

#[test]
fn a_document_of_another_hand_that_says_nothing_is_refused() {
    // C25
    let document = "# Handoff\n\n## Current State\nwip\n\n## Important Context\nSpans are half open.\n\n\
                    ## Next Action\nstart b\n\n## Decisions Made\n- none\n\n## What NOT to Try\n- none\n\n\
                    ## References\n- none\n";
    let result = review(document, &[], |_| {});
    assert_eq!((result.score, result.accepted), (65, false), "{:?}", result.findings);
}

#[test]
fn a_word_of_each_kind_is_worth_its_points() {
    // C25
    let score = |change: &dyn Fn(&mut Observation)| {
        let mut o = silent(3);
        change(&mut o);
        review(&compose_silent(o).document_text(), &["parser".into()], |_| {}).score
    };
    let said = |state: &str, next: &str| {
        let (current_state, immediate_next_action) = (state.to_owned(), next.to_owned());
        let session = "s1".to_owned();
        move |o: &mut Observation| {
            o.reported = Some(ReportedHandoff {
                session: Some(session.clone()),
                current_state: current_state.clone(),
                immediate_next_action: immediate_next_action.clone(),
                critical_context: Vec::new(),
                critical_files: Vec::new(),
            });
        }
    };
    let item = || Attempt {
        approach: "Spans are kept".into(),
        outcome: "errors need them".into(),
        by_person: false,
    };
    assert_eq!(score(&|_| {}), 65);
    assert_eq!(score(&|o| o.decisions = vec![item()]), 70);
    assert_eq!(score(&|o| o.attempts = vec![item()]), 70);
    assert_eq!(score(&|o| o.patterns = vec!["printers take a Sink".into()]), 70);
    assert_eq!(score(&said("the lexer works", "")), 80);
    assert_eq!(score(&said("the lexer works", "parse `let` in src/parser.rs")), 90);
    assert_eq!(score(&said("ok", "go on")), 65);
}

#[test]
fn there_is_one_next_action() {
    // C15
    let mut o = silent(0);
    o.reported = Some(ReportedHandoff {
        session: Some("s1".into()),
        current_state: "3 of 5 cases are proved".into(),
        immediate_next_action: "Prove case 4".into(),
        critical_context: Vec::new(),
        critical_files: vec!["src/proof.rs:40".into(), "src/lemma.rs".into()],
    });
    let next = |composition: &Composition| -> Vec<String> {
        let document = composition.document_text();
        let section = document.split("## Immediate Next Action\n").nth(1).unwrap_or_default();
        section.lines().take_while(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let composition = compose_silent(o.clone());
    assert_eq!(next(&composition), ["- agent s1: \"Prove case 4\""]);
    assert!(composition.index_text().contains("- Immediate next action, agent s1: \"Prove case 4\"\n"));
    assert!(
        !composition.index_text().contains("Start parser")
            && !composition.document_text().contains("Start parser")
    );
    // C16: with the line, where the agent gave one; the list has it as it was given.
    assert!(composition.index_text().contains("- Critical file, agent s1: \"src/proof.rs\" at line 40\n"));
    assert!(composition.document_text().contains("- agent s1: File: \"src/proof.rs\", Location: line 40\n"));
    assert!(
        composition
            .document_text()
            .contains("- agent s1: \"src/proof.rs:40\"\n- agent s1: \"src/lemma.rs\"\n")
    );
    // Of an agent that names none, the host names the objective.
    o.reported = None;
    let named = next(&compose_silent(o));
    assert!(named.len() == 1 && named[0].starts_with("- journal: Start parser: "), "{named:?}");
}

#[test]
fn the_host_adds_what_it_saw() {
    // C25, C7, C16
    let mut o = silent(0);
    let ran = |line: &str, failed, times| CommandRun { line: line.into(), failed, times };
    o.commands = vec![ran("ls", None, 1), ran("make test", Some(true), 3), ran("make", Some(false), 1)];
    o.reads = vec![
        FileRead { path: "src/large.rs".into(), times: 12 },
        FileRead { path: "src/a.rs".into(), times: 1 },
    ];
    o.patterns = vec!["printers take a Sink".into()];
    let mut host = MockHost::with_settings_of::<Resilience>(&[]);
    host.add_text("I ran the tests, and stop here.");
    host.add_text("");
    let composition = <Resilience as Handoff>::compose(&host, o.clone()).unwrap();
    let (document, index) = (composition.document_text(), composition.index_text());
    for section in [
        "\n## Commands Run\n- host: \"make\": ok\n- host: \"make test\": failed, 3 runs\n- host: \"ls\": result not reported\n",
        "\n## Critical Files\n- host: Files read most: \"src/large.rs\" 12x, \"src/a.rs\" 1x\n",
        "\n## Key Patterns Discovered\n- agent: \"printers take a Sink\"\n",
        "\n- agent, its last words: \"I ran the tests, and stop here.\"\n",
    ] {
        assert!(document.contains(section), "{section}{document}");
    }
    assert!(index.contains("- Re-read \"src/large.rs\" as a whole (already read 12 times)"), "{index}");
    assert!(index.contains("- Newest command that failed, host: \"make test\"\n"), "{index}");
    assert!(<Resilience as Prompting>::compose(&host, o).unwrap().text().contains("printers take a Sink"));
    // A file that was read need not be there any more, and a command may look for what would be a blank.
    let gone = review(&document, &["parser".into()], |o| o.missing_files = vec!["src/large.rs".into()]);
    assert!(!findings(&gone).iter().any(|text| text.contains("src/large.rs")), "{:?}", gone.findings);
    let searched = document.replace("\"make\": ok", "\"TODO grep <what to find>\": ok");
    let searched = review(&searched, &["parser".into()], |_| {});
    assert!(!findings(&searched).iter().any(|text| text.contains("placeholder")), "{:?}", searched.findings);
}

#[test]
fn code_and_answers_are_no_blanks() {
    // C8
    let document = |line: &str| {
        format!(
            "# Handoff\n\n## Current State\nThe parser works.\n{line}\n\n## Important Context\nSpans are half open.\n\n\
             ## Next Action\nWrite the printer.\n\n## Decisions Made\nn/a\n"
        )
    };
    for line in [
        "- import { useState, useEffect } from 'react'",
        "- use std::{fs, io, path}",
        "- use std::{io::Read as _, fmt}",
        "- let { first, second, third } = pair",
        "- import { type Props, read as load, write as store } from './x'",
        "- {\"name\": \"a\", \"files\": [1, 2]}",
        "- {key: value, other: thing}",
        "- cp src/{a,b,c}.rs out",
        "- the set is {a, b, c}",
        "- todo lists are printed, and tbd is a column of the table",
        "- waits for the answer... then goes on",
        "```",
    ] {
        let result = review(&document(line), &[], |_| {});
        assert!(
            !findings(&result).iter().any(|text| text.contains("placeholder")),
            "{line}: {:?}",
            result.findings
        );
    }
    for blank in [
        "{Single specific step, not a list}",
        "tbd",
        "State: TBD",
        "- *todo*",
        "- ...",
        "- Why: …",
        "<fill in>",
    ] {
        let result = review(&document(blank), &[], |_| {});
        assert!(
            findings(&result).iter().any(|text| text.contains("placeholder")),
            "{blank}: {:?}",
            result.findings
        );
    }
    // That there are no decisions is an answer; that there is no next step is none.
    assert!(review(&document(""), &[], |_| {}).accepted);
    let no_step = document("").replace("Write the printer.", "- agent s1: \"n/a\"");
    let no_step = review(&no_step, &[], |_| {});
    assert!(findings(&no_step).contains(&"the section \"Next Action\" is empty"), "{:?}", no_step.findings);
}

#[test]
fn a_file_that_an_agent_is_still_to_make_takes_none_of_its_words() {
    // C7, C22, C23: it may be named anywhere in what the agent wrote.
    let missing = "src/printer.rs";
    let told = |state: &str, files: &[&str], fact: &str| ReportedHandoff {
        session: Some("s1".into()),
        current_state: state.into(),
        immediate_next_action: "Write the comments of case 3".into(),
        critical_context: vec![fact.into()],
        critical_files: files.iter().map(|file| (*file).into()).collect(),
    };
    let unknown = |told: ReportedHandoff| ReportedHandoff { session: None, ..told };
    for reported in [
        unknown(told(
            "src/printer.rs comes after the two of five that are written",
            &[],
            "Spans are half open",
        )),
        told("two of five are written; src/printer.rs comes after them", &[], "Spans are half open"),
        told("two of five are written", &[missing], "Spans are half open"),
        told("two of five are written", &[], "the spec wants src/printer.rs beside it"),
    ] {
        let mut o = silent(2);
        o.reported = Some(reported);
        let document = compose_silent(o).document_text();
        let result = review(&document, &["parser".into()], |o| o.missing_files = vec![missing.into()]);
        assert!(result.accepted, "{:?}\n{document}", result.findings);
        assert!(findings(&result).contains(&"it names src/printer.rs, which does not exist"));
        assert_eq!(result.staleness, review::Staleness::Fresh);
    }
    // What the document says itself is held against it.
    let document = compose_silent(silent(2))
        .document_text()
        .replace("## References\n", "## References\n- src/printer.rs: the printer\n");
    let result = review(&document, &["parser".into()], |o| o.missing_files = vec![missing.into()]);
    assert!(!result.accepted, "{:?}", result.findings);
}

#[test]
fn every_fact_that_an_agent_leaves_reaches_its_successor() {
    // C15: as many as it is asked for, before what the host adds.
    let facts: Vec<String> = (1..=5).map(|n| format!("fact {n} of the calendar")).collect();
    let mut o = silent(2);
    o.reported = Some(ReportedHandoff {
        session: Some("s1".into()),
        current_state: "two of five are written".into(),
        immediate_next_action: "Write case 3".into(),
        critical_context: facts.clone(),
        critical_files: Vec::new(),
    });
    let document = compose_silent(o).document_text();
    for fact in facts {
        assert!(document.contains(&format!("- agent s1: \"{fact}\"")), "{document}");
    }
}
