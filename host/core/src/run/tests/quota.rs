//! What notices say of a wait for a provider, and what the prompt after it says (B4–B8).

use super::test_run::{ScriptedTurn, TestRun, workflow};
use crate::action::Action;
use crate::decision::{Assessment, Evidence, QuotaCause, Verdict};
use crate::facts::{AgentEvent, ErrorSignal, SignalSource};
use crate::ids::Seq;
use crate::observation::PolicyQuery;
use crate::progress::ProgressEvent;
use crate::run::phase::ObjectiveIndex;
use crate::run::phase_list::PhaseIndex;
use crate::run::quota::words_of;
use crate::time::{DurationMs, UnixMs};

/// A run whose only session has been given its first prompt.
fn at_work() -> TestRun {
    let mut world = TestRun::new(workflow(&[("1", &["a"])]));
    world.script = [ScriptedTurn::Hang].into();
    while world.run.phases.is_empty()
        || world.run.session(PhaseIndex::at(0)).is_none_or(|session| session.prompts == 0)
    {
        assert!(world.step());
    }
    world.run.emitted.clear();
    world
}

/// The waits that were told, as: who tries again, whether by itself, and the words.
fn told(world: &mut TestRun) -> Vec<(Option<UnixMs>, bool, String)> {
    let told = world.run.emitted.drain(..).filter_map(|intent| match intent.action {
        Action::Notify(ProgressEvent::QuotaWait { retry_at, by_itself, said, .. }) => {
            Some((retry_at, by_itself, said))
        }
        _ => None,
    });
    told.collect()
}

#[test]
fn when_the_host_tries_again_is_told_after_the_agent_gave_up() {
    // B4: the wait was told once, as one that the agent makes by itself.
    let mut world = at_work();
    let hit = || "You've hit your usage limit.".to_owned();
    let now = world.run.now;
    world.run.begin_agent_quota_wait(PhaseIndex::at(0), QuotaCause::Usage, None, hit());
    assert_eq!(told(&mut world), [(None, false, hit())], "nothing says that it tries again");
    let numbers = world.run.last_action_id;
    world.run.begin_host_quota_wait(
        PhaseIndex::at(0),
        QuotaCause::Usage,
        None,
        &[ObjectiveIndex::at(0)],
        hit(),
        None,
    );
    let retry_at = now + world.run.backoff(0);
    assert_eq!(told(&mut world), [(Some(retry_at), false, hit())]);
    assert_eq!(world.run.last_action_id, numbers, "journals of earlier versions fold as they were written");

    // Whose judgment it is, if another policy called it a limit.
    let mut world = at_work();
    world.run.begin_host_quota_wait(
        PhaseIndex::at(0),
        QuotaCause::Usage,
        None,
        &[ObjectiveIndex::at(0)],
        hit(),
        Some("false.wasm".into()),
    );
    let is_named = |intent: &crate::action::Intent| matches!(&intent.action, Action::Notify(ProgressEvent::QuotaWait { judged_by: Some(policy), .. }) if policy == "false.wasm");
    assert!(world.run.emitted.iter().any(is_named));

    // A reset that was told already is not told again.
    let mut world = at_work();
    let until = Some(world.run.now + DurationMs::from_mins(5));
    world.run.begin_agent_quota_wait(PhaseIndex::at(0), QuotaCause::Usage, until, hit());
    world.run.begin_host_quota_wait(
        PhaseIndex::at(0),
        QuotaCause::Usage,
        until,
        &[ObjectiveIndex::at(0)],
        hit(),
        None,
    );
    assert_eq!(told(&mut world), [(None, false, hit())]);
}

#[test]
fn an_agent_that_retries_is_told_from_one_that_does_not() {
    // B4
    let mut world = at_work();
    let text = "the agent retries by itself: 1 of 2, in 500 ms".to_owned();
    let retry = ErrorSignal {
        channel: SignalSource::ProviderError,
        code: "rate_limit".into(),
        status: Some(429),
        resets_at: None,
        retrying: true,
        text,
    };
    let now = world.run.now;
    world.run.session_mut(PhaseIndex::at(0)).unwrap().notice(Seq(90), now, retry);
    world.run.begin_agent_quota_wait(PhaseIndex::at(0), QuotaCause::Rate, None, String::new());
    assert_eq!(told(&mut world), [(None, true, String::new())]);
}

#[test]
fn the_words_that_explain_a_code_are_those_of_the_wait() {
    let evidence = |text: &str| Evidence { channel: SignalSource::AgentEvent, seq: None, text: text.into() };
    let assessment = Assessment {
        verdict: Verdict::Quota { cause: QuotaCause::Billing, resets_at_ms: None },
        evidence: vec![evidence("billing_error"), evidence("Credit balance is too low")],
        warning: None,
        reason: String::new(),
    };
    assert_eq!(words_of(&assessment), "Credit balance is too low");
}

#[test]
fn the_prompt_after_a_wait_says_that_it_goes_on() {
    // B8: it called the reset what is wrong.
    let judged = "it waited for a limit of its provider, as a policy judged: go on";
    for (reset, policy, because) in [
        (Some(1), "resilience", "the provider's limit has reset: go on"),
        (None, "resilience", "a provider's limit stopped it, and it is tried again: go on"),
        (Some(1), "house.wasm", judged),
        (None, "house.wasm", judged),
    ] {
        let mut world = TestRun::new(workflow(&[("1", &["a"])]));
        world.policy = policy;
        world.script = [ScriptedTurn::Quota(reset)].into();
        world.go();
        let asked = world.actions.iter().filter_map(|action| match action {
            Action::RequestDecision { request, .. } => match &request.query {
                PolicyQuery::Prompting(seen) => seen.because.clone(),
                _ => None,
            },
            _ => None,
        });
        assert_eq!(asked.collect::<Vec<_>>(), [because]);
    }
}

#[test]
fn who_was_at_work_in_the_workspace_during_a_wait_is_known() {
    // A11: files that were changed while no agent was at work are a person's.
    let mut world = at_work();
    assert_eq!(world.run.workspace_idle_since(), None);
    let session = world.run.phases[PhaseIndex::at(0)].session.clone().unwrap();
    let ended = AgentEvent::Turn { used_tokens: None, billed: Default::default() };
    assert!(!world.run.ends_agent_wait(&session, Some(&ended)));

    let now = world.run.now;
    world.run.begin_agent_quota_wait(PhaseIndex::at(0), QuotaCause::Usage, None, String::new());
    assert_eq!(world.run.workspace_idle_since(), Some(now), "what it changed before is its own");
    assert!(world.run.ends_agent_wait(&session, Some(&ended)) && world.run.ends_agent_wait(&session, None));
    assert!(!world.run.ends_agent_wait(&session, Some(&AgentEvent::Compacting)));

    world.run.begin_host_quota_wait(
        PhaseIndex::at(0),
        QuotaCause::Usage,
        None,
        &[ObjectiveIndex::at(0)],
        String::new(),
        None,
    );
    assert_eq!(world.run.workspace_idle_since(), Some(UnixMs(0)), "a measurement has seen all that it did");
    let retry_at = now + world.run.backoff(0);
    assert!(!world.run.ends_wait(UnixMs(retry_at.0 - 1)) && world.run.ends_wait(retry_at));
}
