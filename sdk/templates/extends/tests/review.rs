//! Which handoffs are accepted, and what costs them points.

use baton_policy_resilience::Resilience;
use baton_sdk::prelude::*;
use baton_sdk::review;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// A document in which resilience finds little to complain of.
const DOCUMENT: &str = "\
# Handoff

## Immediate Next Action
- write the error messages of src/parser.rs

## Current State
- src/lexer.rs is written and its tests pass

## Key Decisions Made
- \"numbers are parsed by hand\": \"the crate for it needs std\"

## What NOT to Try
- \"a regular expression for strings\": \"escapes nest\"

## Critical Context
- the grammar is in docs/grammar.md

## References
- docs/grammar.md
";

/// What a policy says of a document.
fn assess<P: Review>(document: &str) -> review::Review {
    let mut host = MockHost::with_settings_of::<Policy>(&[]);
    let observation = sample::review_observation(host.add_text(document));
    P::assess(&host, observation).expect("it answers")
}

#[test]
fn a_vague_word_costs_points_and_is_told_with_its_line() {
    let vague = DOCUMENT.replace("its tests pass", "should work");
    let (own, of_resilience) = (assess::<Policy>(&vague), assess::<Resilience>(&vague));
    assert_eq!(own.score, of_resilience.score - 5);
    let found = own.findings.last().expect("it is found");
    assert_eq!((found.cost, found.line), (5, Some(7)));
    assert_decision!(own, true, because "vague");
}

#[test]
fn a_document_without_one_is_judged_as_resilience_judges_it() {
    assert_eq!(
        assess::<Policy>(DOCUMENT).score,
        assess::<Resilience>(DOCUMENT).score
    );
    assert_decision!(assess::<Policy>(DOCUMENT), true);
    assert_decision!(assess::<Policy>("# Handoff"), false);
}

proptest! {
    #[test]
    fn no_rule_of_review_is_broken(case in strategy::review()) {
        rules::check::<Policy>(&case);
    }
}
