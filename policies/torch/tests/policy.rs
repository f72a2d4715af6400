//! When the torch is passed and what goes with it, with golden decisions of every kind.

use baton_policy_torch::Torch;
use baton_sdk::handoff::{Attempt, Continuer, HandoffReference, Kind, Observation, ReportedHandoff};
use baton_sdk::offloading::{Item, ItemKind};
use baton_sdk::prelude::*;
use baton_sdk::{Answer, Ask, Case, golden, rules, sample, strategy};
use proptest::prelude::*;

fn hold(file: &str, case: &Case) {
    golden::check_case::<Torch>(format!("golden/{file}.json"), case);
}

fn room(percent: u64, change: impl FnOnce(&mut compaction::Observation)) -> Case {
    let mut o = sample::compaction_observation();
    o.session.occupancy = sample::occupancy(percent * 2_000, 200_000);
    change(&mut o);
    Case::new(Ask::Compaction(o))
}

/// A session in the midst of things.
fn midway(kind: Kind) -> Observation {
    let mut o = sample::handoff_observation(kind, Some(0), Some(1));
    o.because = Some("its context is nearly full".into());
    o.changed_files = vec![ChangedFile {
        path: "src/lexer.rs".into(),
        bytes: 900,
        exists: true,
        by_session: true,
        digest: None,
    }];
    o.decisions = vec![Attempt {
        approach: "one token a line".into(),
        outcome: "errors then have a line".into(),
        by_person: false,
    }];
    o.attempts =
        vec![Attempt { approach: "a table of states".into(), outcome: "too large".into(), by_person: false }];
    o.gotchas = vec!["tabs count as one column".into()];
    o.reported = Some(ReportedHandoff {
        session: Some("s1".into()),
        current_state: "the lexer works".into(),
        immediate_next_action: "write the parser".into(),
        critical_context: vec!["tokens borrow\nfrom the text".into()],
        critical_files: vec!["src/lexer.rs".into()],
    });
    o.newest_handoff = Some(HandoffReference::fresh("docs/handoffs/build-1.md"));
    o.facts_path = Some("docs/handoffs/build-facts.json".into());
    o
}

fn with_texts(ask: Ask, findings: &str) -> Case {
    Case::new(ask).with_text("I have").with_text(findings)
}

fn review(document: &str, change: impl FnOnce(&mut review::Observation)) -> Case {
    let mut o = sample::review_observation(0);
    change(&mut o);
    Case::new(Ask::Review(o)).with_text(document)
}

fn composed(o: Observation) -> baton_sdk::handoff::Composition {
    match with_texts(Ask::Compose(o), "").answer::<Torch>() {
        Answer::Compose(composition) => composition,
        other => panic!("{other:?}"),
    }
}

// C12, C21
#[test]
fn it_hands_off_near_capacity_once_something_is_done() {
    hold("room-is-left", &room(79, |_| {}));
    hold("near-capacity", &room(80, |_| {}));
    hold("no-thrashing", &room(95, |o| o.phase.progress.done_by_session = 0));
}

// C3, C4
#[test]
fn large_items_become_references() {
    let items = |percent: u64| {
        let item = |id: &str, kind, tokens| Item { id: id.into(), kind, tokens };
        let mut o = sample::offloading_observation();
        o.session.occupancy = sample::occupancy(percent * 2_000, 200_000);
        o.items = vec![
            item("result", ItemKind::ToolResult, 20_001),
            item("small", ItemKind::ToolResult, 20_000),
            item("input", ItemKind::ToolInput, 5_000),
        ];
        Case::new(Ask::Offload(o))
    };
    let offloaded = |percent| match items(percent).answer::<Torch>() {
        Answer::Offload(decision) => decision.items,
        other => panic!("{other:?}"),
    };
    assert_eq!(offloaded(84), ["result"]);
    assert_eq!(offloaded(85), ["result", "input"]);
    hold("large-items", &items(85));
}

// C2, C16, C20
#[test]
fn each_kind_of_prompt() {
    let mut first = sample::handoff_observation(Kind::First, Some(0), Some(1));
    first.phase.complex = true;
    hold("prompt-first", &with_texts(Ask::Brief(first), ""));
    hold("prompt-continuing", &with_texts(Ask::Brief(midway(Kind::Continuing)), ""));
    hold("prompt-nudged", &with_texts(Ask::Brief(midway(Kind::Nudged)), "2 failed\n\n`## Do` \"evil\""));
    hold("prompt-next", &with_texts(Ask::Brief(midway(Kind::Next)), ""));
}

// C7, C15, C18
#[test]
fn a_document_by_the_template() {
    hold("document", &with_texts(Ask::Compose(midway(Kind::Continuing)), ""));
    let mut o = midway(Kind::Continuing);
    assert_eq!(composed(o.clone()).continuer, Continuer::Lead);
    o.objectives.push(sample::objective("printer", "Write src/printer.rs"));
    assert_eq!(composed(o).continuer, Continuer::Successor);
}

// C8, C9
#[test]
fn its_own_document_is_accepted_and_what_is_wrong_is_found() {
    let document = composed(midway(Kind::Continuing)).document_text();
    let open = |o: &mut review::Observation| o.open_objectives = vec!["parser".into()];
    hold("review-of-its-own", &review(&document, open));
    hold("review-of-a-placeholder", &review(&document.replace("- File:", "- [TODO: file]"), open));
    hold("review-of-a-secret", &review(&document, |o| o.secrets = vec!["jwt".into()]));
    hold(
        "review-of-another-tree",
        &review(&document, |o| {
            o.missing_files = ["a.rs", "b.rs"].map(str::to_owned).into();
            o.commits_since = 30;
        }),
    );
    hold("review-of-nothing", &review("", open));
}

proptest! {
    #[test]
    fn no_rule_is_broken(case in prop_oneof![strategy::prompting(), strategy::handoff(), strategy::review(), strategy::compaction()]) {
        rules::check::<Torch>(&case);
    }
}
