//! A run that a person interrupts goes on in the agent's own conversation; where that is gone, from a handoff.

use baton_runtime::core::Input;
use baton_runtime::core::facts::AgentEvent;
use baton_runtime::core::observation::PromptKind;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::store::{Journal, JournalEntry};
use baton_simulator::{AnswerKind, ServedRequest, Simulator};

use crate::agent::RealAgent;
use crate::fixture::{MESSAGE_SCALE, RealAgentFixture, asked, count};
use crate::scenario::hanging_once;
use crate::support::until;

/// Interrupted in the middle of the second objective, and taken up again. `forgets` takes away what the agent kept of its conversation.
pub(crate) fn interrupted(agent: &RealAgent, forgets: bool) {
    // N2, C13
    let Some(fixture) = RealAgentFixture::of(agent, "") else { return };
    let simulator = Simulator::start(hanging_once(&fixture, 1).message_scale(MESSAGE_SCALE)).unwrap();
    let host = fixture.start(&["run", "relay.toml"], &simulator);
    until("the model hangs", || count(&simulator, &AnswerKind::Hung) > 0);
    host.interrupt();
    let before = conversations(&fixture);
    if forgets {
        fixture.forget_conversations();
    }
    let run = fixture.baton(&["resume"], &simulator);
    fixture.expect_done(&run);
    run.expect_sessions(if forgets { 3 } else { 2 }, 0);
    let after = conversations(&fixture);
    assert_eq!(before.len(), 1, "{before:?}");
    let last = after.last().unwrap();
    assert_eq!(*last == before[0], !forgets, "{after:?}");

    // In its own conversation, the model gets all that was said before; by a handoff, nothing of it.
    let requests = simulator.requests();
    let at = requests.iter().position(|request| request.answered == AnswerKind::Hung).unwrap();
    let is_work = |request: &&ServedRequest| {
        request.prompt.contains("- [beta]") && request.answered != AnswerKind::SideRequest
    };
    let next = requests[at + 1..].iter().find(is_work).unwrap();
    assert_eq!(next.prompt_tokens > requests[at].prompt_tokens, !forgets, "{:#?}", asked(&simulator));
    let from_handoff = |notice: &ProgressEvent| {
        matches!(notice, ProgressEvent::Prompted { kind: PromptKind::Continuing, .. })
    };
    assert_eq!(run.story.count(from_handoff) > 0, forgets, "{:#?}", run.key_events());
    assert_eq!(
        run.story.count(|notice| matches!(notice, ProgressEvent::Retrying { .. })),
        0,
        "{:#?}",
        run.key_events()
    );
    let place =
        [fixture.stage.workspace.display().to_string(), fixture.stage.state_root().display().to_string()];
    let place = ["--workspace", &place[0], "--state-dir", &place[1]];
    fixture.stage.baton(&[&["replay", "--verify"], &place[..]].concat()).expect(0);
}

/// What the agent called each of its sessions, in order.
fn conversations(fixture: &RealAgentFixture<'_>) -> Vec<String> {
    let journal = Journal::open_read_only(&fixture.stage.state()).unwrap();
    let run = journal.latest().unwrap().expect("a run").run;
    let named = |entry: JournalEntry| match entry {
        JournalEntry::Input(stamped) => match stamped.input {
            Input::Agent { event: AgentEvent::Ready { agent_session, .. }, .. } => agent_session,
            _ => None,
        },
        _ => None,
    };
    journal.read(&run).unwrap().filter_map(|entry| named(entry.unwrap())).collect()
}
