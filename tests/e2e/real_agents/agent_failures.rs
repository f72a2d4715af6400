//! What keeps an agent from its work: each costs no more than it must, and is said in the agent's own words.

use baton_runtime::core::input::PauseAnswer;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::PhaseStatus;
use baton_simulator::{ModelScript, ScriptedFailure, Simulator};

use crate::agent::RealAgent;
use crate::fixture::{MESSAGE_SCALE, RealAgentFixture, RealAgentRun, asked};
use crate::scenario::script;

/// Its context is nearly full and it says no to `/compact`: the next session goes on, and nobody waits for a stall.
pub(crate) fn refused_compaction(agent: &RealAgent) {
    // B1, A6
    let threshold = format!("compact-percent = {}", agent.compact_percent);
    let Some(fixture) = RealAgentFixture::of(agent, &threshold) else { return };
    let fixture = fixture.with(&[("DISABLE_COMPACT", "1")]);
    let simulator = Simulator::start(script(&fixture, [2, 0, 0]).message_scale(MESSAGE_SCALE)).unwrap();
    let run = fixture.run(&simulator);
    fixture.expect_done(&run);
    run.expect_sessions(2, 1);
    let refusals: Vec<_> = run.key_events().into_iter().filter_map(refusal).collect();
    assert_eq!(refusals, ["/compact isn't available in this environment."], "{:#?}", run.key_events());
    // Neither a stall nor any other failure came of it.
    assert_eq!(run.stops(), [], "{:#?}", run.key_events());
    assert_eq!(run.story.count(|notice| matches!(notice, ProgressEvent::Retrying { .. })), 0);
}

/// What an agent that cannot begin says, and what mends it.
pub(crate) struct UnreadyCase {
    /// Further lines of its role.
    pub(crate) role: &'static str,
    pub(crate) lacking: &'static [&'static str],
    pub(crate) switches: &'static [(&'static str, &'static str)],
    pub(crate) says: &'static str,
    pub(crate) remedy: &'static str,
}

/// Known before its first session: `check` says so and ends with 2, and the run asks at once.
pub(crate) fn known_before(agent: &RealAgent, permission: &str, unready: &UnreadyCase) {
    let Some(fixture) = unready.fixture(agent, permission) else { return };
    let simulator = Simulator::start(ModelScript::new()).unwrap();
    let (code, checked) = fixture.ended(&["check", "relay.toml"], &simulator);
    assert_eq!(code, Some(2), "{checked}");
    let (code, said) = fixture.ended(&["run", "relay.toml"], &simulator);
    assert_eq!(code, Some(5), "{said}");
    for (wanted, said) in
        [unready.says, unready.remedy].iter().flat_map(|wanted| [(wanted, &checked), (wanted, &said)])
    {
        assert!(said.contains(wanted), "{wanted} is not in: {said}");
    }
    assert_eq!(RealAgentRun::read(&fixture.stage).groups.len(), 0, "no process was started");
    assert_eq!(asked(&simulator), []);
}

/// Found in its first session: one question with the agent's own reason and what mends it, no retry and no handoff.
pub(crate) fn asks_once(agent: &RealAgent, permission: &str, unready: &UnreadyCase) {
    let Some(fixture) = unready.fixture(agent, permission) else { return };
    let simulator = Simulator::start(ModelScript::new()).unwrap();
    let (code, said) = fixture.ended(&["run", "relay.toml"], &simulator);
    assert_eq!(code, Some(5), "{said}");
    let run = RealAgentRun::read(&fixture.stage);
    let phase = run.phase();
    assert_eq!(phase.status, PhaseStatus::Paused, "{said}\n{:#?}", run.key_events());
    assert_eq!((phase.sessions.len(), phase.handoffs.len()), (1, 0), "{:#?}", run.key_events());
    assert_eq!(run.story.count(|notice| matches!(notice, ProgressEvent::Retrying { .. })), 0);
    let questions = &run.story.view.questions;
    let [question] = questions.as_slice() else { panic!("{questions:#?}") };
    assert!(!question.choices.contains(&PauseAnswer::Accept), "{question:#?}");
    for wanted in [unready.says, unready.remedy] {
        assert!(question.text.contains(wanted) && said.contains(wanted), "{said}");
    }
    let stops = run.stops();
    assert!(matches!(stops.as_slice(), [(_, evidence)] if evidence.contains(unready.says)), "{stops:?}");
    assert_eq!(asked(&simulator), []);
    assert_eq!(fixture.left(&run.groups), [""; 0]);
}

/// A key that the provider refuses, which the agent tries again by itself: each try is told with the reason, then comes one question.
pub(crate) fn refused_key(agent: &RealAgent) {
    let switches = &[("CLAUDE_CODE_MAX_RETRIES", "2")];
    let unready = UnreadyCase { role: "", lacking: &[], switches, says: "", remedy: "" };
    let Some(fixture) = unready.fixture(agent, "edit") else { return };
    let simulator =
        Simulator::start(ModelScript::new().failing(ScriptedFailure::unauthorized(u32::MAX))).unwrap();
    let (code, said) = fixture.ended(&["run", "relay.toml"], &simulator);
    assert_eq!(code, Some(5), "{said}");
    let run = RealAgentRun::read(&fixture.stage);
    let told =
        |notice: &ProgressEvent| matches!(notice, ProgressEvent::AgentRetries { status: Some(401), .. });
    assert_eq!(run.story.count(told), 2, "{:#?}", run.story.notices);
    for wanted in ["retries", "the provider rejects its login or key", "401", "1 of 2", "2 of 2"] {
        assert!(said.contains(wanted), "{wanted} is not in: {said}");
    }
    let [question] = run.story.view.questions.as_slice() else { panic!("{:#?}", run.story.view.questions) };
    assert!(question.text.contains("its key is not accepted"), "{question:#?}");
    assert_eq!(run.phase().sessions.len(), 1, "{:#?}", run.key_events());
}

/// A model that the provider does not have: no retry, and one question with what mends it.
pub(crate) fn unknown_model(agent: &RealAgent) {
    let unready = UnreadyCase { role: "", lacking: &[], switches: &[], says: "", remedy: "" };
    let Some(fixture) = unready.fixture(agent, "edit") else { return };
    let simulator = Simulator::start(ModelScript::new().failing(ScriptedFailure::unknown_model())).unwrap();
    let (code, said) = fixture.ended(&["run", "relay.toml"], &simulator);
    assert_eq!(code, Some(5), "{said}");
    let run = RealAgentRun::read(&fixture.stage);
    let [question] = run.story.view.questions.as_slice() else { panic!("{:#?}", run.story.view.questions) };
    for wanted in ["model", "`model`"] {
        assert!(question.text.contains(wanted), "{question:#?}");
    }
    assert_eq!(run.phase().sessions.len(), 1, "{:#?}", run.key_events());
    assert_eq!(run.story.count(|notice| matches!(notice, ProgressEvent::Retrying { .. })), 0);
}

impl UnreadyCase {
    fn fixture<'a>(&self, agent: &'a RealAgent, permission: &str) -> Option<RealAgentFixture<'a>> {
        let role = format!("{}\n{}", agent.role_with(permission)?, self.role);
        let workflow = format!(
            "name = \"relay\"\ngoal = \"One file.\"\n[roles.executor]\n{role}\n[limits]\nbackoff = \"1s\"\n[[phases]]\n\
             id = \"write\"\ntitle = \"Write it\"\n[[phases.objectives]]\nid = \"alpha\"\ndescription = \"Write alpha.txt.\"\n"
        );
        Some(RealAgentFixture::on_stage(agent, &workflow).without(self.lacking).with(self.switches))
    }
}

fn refusal(notice: &ProgressEvent) -> Option<&str> {
    match notice {
        ProgressEvent::CompactionFailed { text, .. } => Some(text),
        _ => None,
    }
}
