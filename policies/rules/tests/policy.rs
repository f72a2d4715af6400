//! What each rule decides and what it leaves alone, with golden decisions, and that without rules nothing is decided.

use baton_policy_rules::TeamRules;
use baton_sdk::compaction::Action;
use baton_sdk::exhaustion::{Observation, Occasion, Verdict};
use baton_sdk::prelude::*;
use baton_sdk::splitting::{Occasion as ScopeOccasion, Time};
use baton_sdk::{Answer, Ask, Case, golden, rules, sample, strategy};
use proptest::prelude::*;

fn hold(file: &str, case: &Case) {
    golden::check_case::<TeamRules>(format!("golden/{file}.json"), case);
}

fn list(entries: &[&str]) -> SettingValue {
    SettingValue::Texts(entries.iter().map(|&entry| entry.to_owned()).collect())
}

/// A session that said this on this channel, at the end of a prompt that leaves work.
fn said(
    channel: Channel,
    words: &str,
    rule: &str,
    entry: &str,
    change: impl FnOnce(&mut Observation),
) -> Case {
    let mut o = sample::exhaustion_observation(0);
    o.signals = vec![sample::signal(channel, "", words.len() as u32)];
    o.signals[0].prompt = o.session.prompts;
    change(&mut o);
    Case::new(Ask::Assess(o)).with_text(words).with_setting(rule, list(&[entry]))
}

fn verdict(case: &Case) -> Option<Verdict> {
    match case.answer::<TeamRules>() {
        Answer::Assess(answer) => Some(answer.verdict),
        Answer::Abstained => None,
        other => panic!("{other:?}"),
    }
}

fn abstains(case: &Case) {
    assert_eq!(case.answer::<TeamRules>(), Answer::Abstained);
}

#[test]
fn a_phrase_at_the_end_of_a_prompt_says_why_it_ended() {
    let vault = "agent-text: the vault is sealed";
    let words = "I cannot go on: The vault is sealed.\nPlease look.";
    let exhausted = said(Channel::AgentText, words, "exhausted-phrases", vault, |_| {});
    hold("exhausted", &exhausted);
    let reset = |o: &mut Observation| o.signals[0].resets_at_ms = Some(1_780_318_800_000);
    let empty = "terminal:seats are taken";
    hold("quota", &said(Channel::Terminal, "All seats are taken", "quota-phrases", empty, reset));
    let gateway = "provider-error: gateway: broken";
    let failed = said(Channel::ProviderError, "502 Gateway: broken", "failed-phrases", gateway, |_| {});
    hold("failed", &failed);
    hold("failed-and-asked", &failed.clone().with_setting("after-failed", SettingValue::Text("ask".into())));
    // Another channel, another prompt, an error that the agent retries, a prompt that goes on, and work that is done.
    hold("another-channel", &said(Channel::Terminal, words, "exhausted-phrases", vault, |_| {}));
    let without = |change: fn(&mut Observation)| {
        abstains(&said(Channel::ProviderError, "502 Gateway: broken", "failed-phrases", gateway, change));
    };
    without(|o| o.signals[0].prompt -= 1);
    without(|o| o.signals[0].retrying = true);
    without(|o| o.occasion = Occasion::Turn);
    without(|o| o.occasion = Occasion::Heartbeat);
    without(|o| {
        let done = Objective { status: ObjectiveStatus::Done, ..sample::objective("a", "Do a.") };
        o.objectives = vec![done];
    });
}

#[test]
fn while_it_works_only_a_limit_or_a_silence_counts() {
    let at = |channel, rule: &str, entry: &str, occasion, idle_ms| {
        said(channel, "Proceed? [y/N]", rule, entry, |o| {
            (o.occasion, o.session.state, o.session.idle_ms) = (occasion, SessionState::Working, idle_ms);
            o.signals[0].age_ms = 60_000;
        })
    };
    let (limit, asks) = ("quota-phrases", "stalled-phrases");
    let entry = "terminal: proceed?";
    assert!(matches!(
        verdict(&at(Channel::Terminal, limit, entry, Occasion::Signal, 60_000)),
        Some(Verdict::Quota(_))
    ));
    // Something was heard since.
    abstains(&at(Channel::Terminal, limit, entry, Occasion::Signal, 1_000));
    // An answer that is still being written says nothing of a limit.
    abstains(&at(Channel::AgentText, limit, "agent-text: proceed?", Occasion::Heartbeat, 60_000));
    hold("stalled", &at(Channel::Terminal, asks, entry, Occasion::Heartbeat, 60_000));
    abstains(&at(Channel::Terminal, asks, entry, Occasion::Signal, 60_000));
    let cannot = |o: &mut Observation| {
        (o.occasion, o.session.state) = (Occasion::Heartbeat, SessionState::Working);
        o.session.capabilities.remove(Capabilities::INTERRUPTS);
    };
    let stalled = said(Channel::Terminal, "Proceed?", asks, entry, cannot);
    assert_eq!(recovered(&stalled), Some(recovery::Action::Retry));
}

/// What is done about a session, once the rules have said how it is.
fn recovered(case: &Case) -> Option<recovery::Action> {
    let (Ask::Assess(session), Answer::Assess(assessment)) = (&case.ask, case.answer::<TeamRules>()) else {
        return None;
    };
    let observation = recovery::Observation {
        session: session.clone(),
        assessment,
        completion: None,
        other_roles: Vec::new(),
    };
    match (Case { ask: Ask::Recover(observation), ..case.clone() }).answer::<TeamRules>() {
        Answer::Recover(decision) => Some(decision.action),
        _ => None,
    }
}

#[test]
fn an_agent_makes_room_at_its_threshold() {
    let used = |percent: u64, change: fn(&mut compaction::Observation)| {
        let mut o = sample::compaction_observation();
        (o.session.agent, o.session.occupancy) =
            ("claude".into(), sample::occupancy(percent * 2_000, 200_000));
        change(&mut o);
        Case::new(Ask::Compaction(o))
            .with_setting("compact-percent", list(&["* = 50", "claude = 75"]))
            .with_setting("compact-instructions", SettingValue::Text("Keep the decisions.".into()))
    };
    let action = |case: Case| match case.answer::<TeamRules>() {
        Answer::Compaction(decision) => Some(decision.action),
        Answer::Abstained => None,
        other => panic!("{other:?}"),
    };
    hold("below-its-threshold", &used(74, |_| {}));
    hold("at-its-threshold", &used(75, |_| {}));
    let other = used(60, |o| o.session.agent = "codex".into());
    assert!(matches!(action(other), Some(Action::Compact(_))));
    assert_eq!(action(used(75, |o| o.session.capabilities.remove(Capabilities::COMPACTS))), None);
    assert_eq!(action(used(75, |o| o.refilled_within_turns = Some(2))), None);
    assert_eq!(action(used(75, |o| o.session.occupancy.used_tokens = None)), None);
    let hand_off = |case: Case| case.with_setting("hand-off-percent", list(&["claude = 90"]));
    hold("handed-off", &hand_off(used(95, |_| {})));
    assert!(matches!(
        action(hand_off(used(95, |o| o.phase.progress.done_by_session = 0))),
        Some(Action::Compact(_))
    ));
}

fn scope(objectives: usize, change: impl FnOnce(&mut splitting::Observation)) -> Case {
    let mut o = sample::splitting_observation();
    o.objectives =
        (1..=objectives).map(|n| sample::objective(&format!("o{n}"), &format!("Do {n}."))).collect();
    change(&mut o);
    Case::new(Ask::Split(o))
        .with_setting("objectives-at-most", SettingValue::Integer(3))
        .with_setting("never-split", list(&["deploy*"]))
}

#[test]
fn a_phase_has_at_most_so_many_objectives() {
    hold("seven-objectives", &scope(7, |_| {}));
    hold("never-split", &scope(7, |o| o.phase.title = "Deploy to Europe".into()));
    hold("few-objectives", &scope(3, |_| {}));
    hold("two-agents-are-allowed", &scope(7, |o| o.limits.parts = 2));
    abstains(&scope(7, |o| o.occasion = ScopeOccasion::Requested));
    abstains(&scope(7, |o| o.wish = Time::Never));
    abstains(&scope(7, |o| o.limits.depth = 0));
    abstains(&scope(7, |o| o.limits.parts = 1));
}

#[test]
fn a_phase_before_a_mode_has_its_turns() {
    let turns = |mode: &str, id: &str| {
        let mut o = sample::budgeting_observation();
        (o.phase.mode, o.phase.id) = (mode.into(), id.into());
        Case::new(Ask::Budget(o))
            .with_setting("turns-by-mode", list(&["swarm = 40"]))
            .with_setting("turns-by-phase", list(&["docs* = 8", "docs-api = 9"]))
    };
    hold("turns-of-a-mode", &turns("swarm", "build"));
    hold("turns-of-a-phase", &turns("swarm", "docs-api"));
    abstains(&turns("eco", "build"));
}

// The table of settings is the schema's.
#[test]
fn the_readme_has_every_setting() {
    let readme = include_str!("../../README.md");
    for setting in TeamRules::schema() {
        let row = format!("| `{}` | {} |\n", setting.key, setting.doc);
        assert!(readme.contains(&row), "policies/README.md lacks the row\n{row}");
    }
}

/// Rules that speak about many questions.
fn with_rules(case: Case) -> Case {
    let common = ["agent-text: e", "terminal: e", "provider-error: e", "agent-event: e"];
    let phrases = ["exhausted-phrases", "quota-phrases", "failed-phrases", "stalled-phrases"];
    let case = phrases.iter().fold(case, |case, rule| case.with_setting(*rule, list(&common)));
    case.with_setting("compact-percent", list(&["* = 40"]))
        .with_setting("hand-off-percent", list(&["* = 60"]))
        .with_setting("objectives-at-most", SettingValue::Integer(2))
        .with_setting("never-split", list(&["a*"]))
        .with_setting("turns-by-mode", list(&["swarm = 40", "* = 20"]))
}

proptest! {
    #[test]
    fn no_rule_is_broken(
        case in prop_oneof![strategy::exhaustion(), strategy::compaction(), strategy::splitting(), strategy::budgeting()],
    ) {
        prop_assert_eq!(case.answer::<TeamRules>(), Answer::Abstained);
        rules::check::<TeamRules>(&with_rules(case));
    }
}
