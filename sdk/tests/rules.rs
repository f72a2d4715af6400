//! Each rule finds whoever breaks it: one policy for each, wrong in one thing.

use baton_sdk::budgeting::TurnBudget;
use baton_sdk::exhaustion::{Assessment, Occasion, Verdict};
use baton_sdk::handoff::{Composition, Continuer};
use baton_sdk::prelude::*;
use baton_sdk::prompting::{Kind, Prompt};
use baton_sdk::review::{Finding, Staleness};
use baton_sdk::sections::Section;
use baton_sdk::splitting::{Order, SubPhase};
use baton_sdk::{Ask, Case, Policy, assert_decision, rules, sample};

/// The rules that a policy breaks on a case, by name.
fn broken<P: Policy>(case: &Case) -> Vec<String> {
    let name = |line: String| line.split(':').next().unwrap_or_default().to_owned();
    rules::broken::<P>(case).into_iter().map(name).collect()
}

/// Whatever it was wrong in, under the setting of this name.
struct Culprit;

impl Settings for Culprit {
    fn schema() -> Vec<settings::Setting> {
        vec![schema::text("wrong-in", "", "What it is wrong in.")]
    }
}

fn is_wrong(host: &impl Host, what: &str) -> bool {
    host.text("wrong-in") == what
}

impl Exhaustion for Culprit {
    fn assess(host: &impl Host, o: exhaustion::Observation) -> Option<Assessment> {
        let used = o.session.occupancy.used_tokens.unwrap_or(0);
        let hears_tools =
            is_wrong(host, "tools") && o.signals.iter().any(|s| s.channel == Channel::ToolOutput);
        let healed = is_wrong(host, "full") && used > 150_000;
        let ended = matches!(o.occasion, Occasion::PromptEnded | Occasion::SessionEnded);
        let evidence = Evidence { channel: Channel::Terminal, seq: Some(7), text: "somewhere".into() };
        Some(Assessment {
            verdict: match () {
                () if hears_tools || (used >= 100_000 && !healed) => Verdict::Exhausted,
                () if ended && !is_wrong(host, "sense") => Verdict::Answered,
                () => Verdict::Healthy,
            },
            evidence: if is_wrong(host, "evidence") { vec![evidence] } else { Vec::new() },
            warning: None,
            reason: "by the tokens".into(),
        })
    }
}

impl Compaction for Culprit {
    fn decide(host: &impl Host, o: compaction::Observation) -> Option<compaction::Decision> {
        let used = o.session.occupancy.used_tokens.unwrap_or(0);
        let keeps = used < 100_000 || (is_wrong(host, "full") && used > 150_000);
        let action = match o.attributes.is_empty() || !is_wrong(host, "attributes") {
            true if keeps => compaction::Action::Keep,
            true => compaction::Action::HandOff,
            false => compaction::Action::Keep,
        };
        Some(compaction::Decision::new(action, if is_wrong(host, "reason") { " " } else { "by the tokens" }))
    }
}

impl Completion for Culprit {
    fn decide(host: &impl Host, o: completion::Observation) -> Option<completion::Decision> {
        let done = match is_wrong(host, "sense") {
            true => vec!["none".into()],
            false => o.session.objectives.into_iter().map(|objective| objective.id).collect(),
        };
        Some(completion::Decision { done, evidence: Vec::new(), reason: "it said so".into() })
    }
}

impl Recovery for Culprit {
    fn decide(_: &impl Host, _: recovery::Observation) -> Option<recovery::Decision> {
        Some(recovery::Decision::new(recovery::Action::Nudge, "once more"))
    }
}

impl Offloading for Culprit {
    fn decide(host: &impl Host, o: offloading::Observation) -> Option<offloading::Decision> {
        let items = match is_wrong(host, "sense") {
            true => vec!["none".into()],
            false => o.items.into_iter().map(|item| item.id).collect(),
        };
        Some(offloading::Decision::new(items, "they are large"))
    }
}

impl Splitting for Culprit {
    fn decide(host: &impl Host, o: splitting::Observation) -> Option<splitting::Decision> {
        let open = |objective: &&Objective| objective.status != ObjectiveStatus::Done;
        let ids =
            |objectives: Vec<&Objective>| objectives.iter().map(|o| o.id.clone()).collect::<Vec<String>>();
        let open = match is_wrong(host, "done") {
            true => ids(o.objectives.iter().collect()),
            false => ids(o.objectives.iter().filter(open).collect()),
        };
        let part = |objectives: &[String]| SubPhase {
            title: "part".into(),
            objectives: objectives.to_vec(),
            order: Order::Direct,
            max_turns: None,
        };
        Some(match open.split_first() {
            Some((first, rest)) if !rest.is_empty() => splitting::Decision::new(
                splitting::Action::Split(vec![part(std::slice::from_ref(first)), part(rest)]),
                "one and the rest",
            ),
            _ => splitting::Decision::new(splitting::Action::Keep, "there is one"),
        })
    }
}

impl Budgeting for Culprit {
    fn decide(host: &impl Host, o: budgeting::Observation) -> Option<TurnBudget> {
        let max_turns = match () {
            () if is_wrong(host, "base") => o.base_turns.map(|base| 200_u32.saturating_sub(base)),
            () if is_wrong(host, "done") => o.base_turns.map(|base| base + o.objectives.len() as u32),
            () => o.base_turns,
        };
        Some(TurnBudget { max_turns, reason: "the table's value".into() })
    }
}

impl Prompting for Culprit {
    fn compose(host: &impl Host, _: prompting::Observation) -> Option<Prompt> {
        let mut section = Section::new("opening");
        match () {
            () if is_wrong(host, "cap") => section.line(&"x".repeat(33 << 10)),
            () if is_wrong(host, "sense") => {}
            () => section.line("Go on."),
        }
        Some(Prompt { sections: vec![section], left_out: Vec::new(), reason: "short".into() })
    }
}

impl Handoff for Culprit {
    fn compose(_: &impl Host, _: handoff::Observation) -> Option<Composition> {
        let mut document = Section::new("opening");
        document.line("Nothing is done.");
        Some(Composition {
            document: vec![document],
            index: Vec::new(),
            continuer: Continuer::Successor,
            left_out: Vec::new(),
            reason: "short".into(),
        })
    }
}

impl Review for Culprit {
    fn assess(host: &impl Host, o: review::Observation) -> Option<review::Review> {
        let cost = match is_wrong(host, "worse") {
            true => 50 - 10 * o.secrets.len().min(5) as u32,
            false => 10 * o.secrets.len().min(5) as u32,
        };
        let findings = vec![Finding { cost, line: None, text: "secrets".into() }];
        let staleness = match (o.commits_since > 3, is_wrong(host, "younger")) {
            (true, true) | (false, false) => Staleness::Fresh,
            _ => Staleness::Stale,
        };
        let score = if is_wrong(host, "score") { 99 } else { 100 - cost };
        Some(review::Review {
            score,
            findings,
            staleness,
            accepted: score > 60,
            reason: "by the secrets".into(),
        })
    }
}

export_policy!(Culprit: exhaustion, completion, recovery, compaction, offloading, splitting, budgeting, prompting, handoff, review, settings);

fn cases() -> Vec<Case> {
    let mut splitting = sample::splitting_observation();
    splitting.objectives.push(sample::objective("tests", "Write tests"));
    let mut budgeting = sample::budgeting_observation();
    budgeting.objectives.clone_from(&splitting.objectives);
    let words = |ask| Case::new(ask).with_text("").with_text("");
    let mut quiet = sample::exhaustion_observation(0);
    quiet.session.occupancy = sample::occupancy(1_000, 200_000);
    vec![
        words(Ask::Assess(sample::exhaustion_observation(0))),
        words(Ask::Assess(quiet)),
        Case::new(Ask::Compaction(sample::compaction_observation())),
        Case::new(Ask::Split(splitting.clone())),
        Case::new(Ask::Budget(budgeting)),
        words(Ask::Complete(sample::completion_observation(0))),
        words(Ask::Recover(sample::recovery_observation(0))),
        Case::new(Ask::Offload(sample::offloading_observation())),
        words(Ask::Brief(sample::handoff_observation(Kind::First, Some(0), Some(1)))),
        words(Ask::Compose(sample::handoff_observation(Kind::First, Some(0), Some(1)))),
        words(Ask::Review(sample::review_observation(0))),
    ]
}

#[test]
fn each_rule_finds_whoever_breaks_it_and_nobody_else() {
    // M4
    let all = |wrong: &str| {
        let mut names: Vec<String> = cases()
            .into_iter()
            .map(|case| case.with_setting("wrong-in", SettingValue::Text(wrong.into())))
            .flat_map(|case| broken::<Culprit>(&case))
            .collect();
        names.sort();
        names.dedup();
        names
    };
    assert_eq!(all(""), [""; 0]);
    for (wrong, rules) in [
        ("cap", &["under-caps"][..]),
        ("sense", &["makes-sense"]),
        ("reason", &["gives-reason"]),
        ("evidence", &["real-evidence"]),
        ("tools", &["deaf-to-tools"]),
        ("attributes", &["unknown-attributes"]),
        ("full", &["full-stays-full", "room-stays-needed"]),
        ("done", &["done-adds-nothing", "done-stays-done"]),
        ("base", &["more-turns-for-more"]),
        ("score", &["score-adds-up"]),
        ("worse", &["worse-is-no-better"]),
        ("younger", &["no-younger"]),
    ] {
        assert_eq!(all(wrong), rules, "wrong in {wrong}");
    }
}

#[test]
fn a_decision_is_matched_with_its_guard_and_its_words() {
    let answer = cases()[3].answer::<Culprit>();
    assert_decision!(answer, baton_sdk::Answer::Split(_), because "the rest");
    let case = &cases()[2];
    let Ask::Compaction(seen) = case.ask.clone() else { unreachable!("the third is about compaction") };
    let decision = <Culprit as Compaction>::decide(&case.host::<Culprit>(), seen);
    assert_decision!(decision, compaction::Action::HandOff, because "tokens");
}
