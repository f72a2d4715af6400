//! A golden decision of each function: the same files are put to the component that is committed.

use baton_policy_resilience::Resilience;
use baton_sdk::prelude::*;
use baton_sdk::prompting::Kind;
use baton_sdk::splitting::Time;
use baton_sdk::{Ask, Case, golden, sample};

fn hold(file: &str, case: &Case) {
    golden::check_case::<Resilience>(format!("golden/{file}.json"), case);
}

// M4
#[test]
fn each_function_has_a_golden_decision() {
    let words = "API Error: 400 prompt is too long: 203000 tokens > 200000 maximum";
    let mut ended = sample::exhaustion_observation(0);
    ended.answer_bytes = 0;
    ended.signals = vec![sample::signal(Channel::ProviderError, "", words.len() as u32)];
    hold("exhausted", &Case::new(Ask::Assess(ended)).with_text(words));

    let mut full = sample::compaction_observation();
    full.session.occupancy = sample::occupancy(150_000, 200_000);
    hold("compacts", &Case::new(Ask::Compaction(full)));

    let mut large = sample::splitting_observation();
    large.objectives =
        (1..=6).map(|n| sample::objective(&format!("f{n}x"), &format!("Write src/f{n}.rs"))).collect();
    large.objectives.push(sample::objective("f2x-tests", "Cover it"));
    large.wish = Time::Ahead;
    hold("splits", &Case::new(Ask::Split(large.clone())));
    let mut scope = sample::budgeting_observation();
    scope.objectives = large.objectives;
    hold("budget", &Case::new(Ask::Budget(scope)));

    let handoff = |kind| sample::handoff_observation(kind, Some(0), Some(1));
    let with_texts = |ask| Case::new(ask).with_text("I stop here.").with_text("2 tests failed");
    hold("brief", &with_texts(Ask::Brief(handoff(Kind::Continuing))));
    hold("compose", &with_texts(Ask::Compose(handoff(Kind::Continuing))));

    let mut review = sample::review_observation(0);
    review.open_objectives = vec!["parser".into(), "printer".into()];
    review.missing_files = vec!["src/gone.rs".into(), "src/deleted.rs".into()];
    let document = "# Handoff\n\n## Immediate Next Action\n- write the parser in src/gone.rs\n\n## Current State\n\
                    - src/deleted.rs was removed\n\n## Key Decisions Made\nNone.\n\n## Critical Context\n- {fill me in}\n";
    hold("review", &Case::new(Ask::Review(review)).with_text(document));
}
