//! Agents that cannot begin, in the words that they were seen to use: a person is asked at once, and told what mends it.

use baton_sdk::exhaustion::Occasion;
use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;

use crate::judged::{Judged, Verdict};
use crate::scene::Scene;

const NOTE: &str = "the agent calls it an error";

/// A session that has had no answer of its model yet.
fn fresh(occasion: Occasion) -> Scene {
    Scene::new(occasion).with(|o| {
        (o.session.turns, o.answer_bytes, o.files_changed, o.phase_files_changed) = (0, 0, 0, 0);
        (o.session.continuation, o.phase.progress.done) = (0, 0);
    })
}

fn expect(judged: &Judged, verdict: Verdict, evidence: &str, mended_by: &str) {
    assert_eq!(judged.verdict, verdict, "{judged:#?}");
    assert_eq!(judged.evidence[0].text, evidence);
    let Action::AskPerson(question) = &judged.recovery else { panic!("{judged:#?}") };
    assert!(question.contains(evidence) && question.contains(mended_by), "{question}");
}

#[test]
fn who_is_not_logged_in_is_told_how_to_log_in() {
    let of = |agent: &str, code: &str, text: &str| {
        let agent = agent.to_owned();
        fresh(Occasion::PromptEnded)
            .event("authentication_failed")
            .signal(Channel::ProviderError, code, text)
            .signal(Channel::AgentEvent, "api_error", NOTE)
            .with(|o| o.session.agent = agent)
            .assess()
    };
    let said = "Not logged in · Please run /login";
    expect(&of("claude", "authentication_failed", said), Verdict::Unauthenticated, said, "`claude /login`");
    let said = "Invalid API key · Fix external API key";
    expect(&of("claude", "authentication_error", said), Verdict::Unauthenticated, said, "ANTHROPIC_API_KEY");
    expect(&of("acp:codex-acp", "auth", said), Verdict::Unauthenticated, said, "`codex login`");
}

#[test]
fn an_acp_agent_that_cannot_begin_is_not_tried_again() {
    // Three sessions were spent on "-32000", and three on a signal by which its driver had ended it.
    let said = "Authentication required";
    for code in ["authentication_failed", "-32000"] {
        let judged = fresh(Occasion::PromptEnded)
            .signal(Channel::ProviderError, code, said)
            .signal(Channel::AgentEvent, code, NOTE)
            .with(|o| o.session.agent = "acp".to_owned())
            .assess();
        expect(&judged, Verdict::Unauthenticated, said, "`claude /login`");
    }
    let said =
        "the connection to the agent broke: Internal error: CODEX_API_KEY or OPENAI_API_KEY is not set";
    let judged = fresh(Occasion::SessionEnded)
        .signal(Channel::AgentEvent, "acp-connection", said)
        .exit(None, Some(15), false)
        .with(|o| o.session.agent = "acp".to_owned())
        .assess();
    expect(&judged, Verdict::Unauthenticated, said, "Set CODEX_API_KEY where you start Baton. Then");
}

#[test]
fn a_missing_variable_is_named_with_the_key_that_hands_it_over() {
    let said = "Missing environment variable: `FAKE_API_KEY`.";
    let judged = fresh(Occasion::PromptEnded)
        .signal(Channel::ProviderError, "other", said)
        .signal(Channel::AgentEvent, "failed", NOTE)
        .with(|o| o.session.agent = "codex".to_owned())
        .assess();
    expect(&judged, Verdict::Unauthenticated, said, "`env = [\"FAKE_API_KEY\"]`");
}

#[test]
fn a_model_that_nobody_has_and_a_network_that_is_not_there_are_no_reason_to_try_again() {
    let model = "There's an issue with the selected model (nope-9). It may not exist or you may not have access to it.";
    let network = "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)";
    let of = |event: &str, code: &str, said: &str| {
        fresh(Occasion::PromptEnded).event(event).signal(Channel::ProviderError, code, said).signal(
            Channel::AgentEvent,
            "api_error",
            NOTE,
        )
    };
    let unknown = of("model_not_found", "not_found_error", model).assess();
    expect(&unknown, Verdict::Failed, model, "`model`");
    assert!(unknown.reason.starts_with("the provider refused the model: "), "{}", unknown.reason);
    assert!(
        matches!(&unknown.recovery, Action::AskPerson(asked) if asked.starts_with("The provider refused the model ("))
    );
    let refused = || of("server_error", "connection_failed", network);
    expect(&refused().assess(), Verdict::Failed, network, "proxy");
    // In the middle of the night the network may come back.
    for begun in [
        refused().with(|o| o.session.turns = 3).assess(),
        refused().with(|o| o.phase.progress.done = 1).assess(),
    ] {
        assert_eq!((begun.verdict, &begun.recovery), (Verdict::Failed, &Action::Retry));
        assert!(begun.reason.contains(network), "{}", begun.reason);
    }
}

#[test]
fn a_process_that_refuses_its_flags_says_so_by_its_last_line() {
    let root = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons";
    let of = |said: &str| {
        let scene = fresh(Occasion::SessionEnded).signal(Channel::Terminal, "", said);
        scene.exit(Some(1), None, false).with(|o| o.session.prompts = 2).assess()
    };
    expect(&of(root), Verdict::Failed, root, "IS_SANDBOX=1");
    let flag = "error: unknown option '--frobnicate'";
    expect(&of(flag), Verdict::Failed, flag, "`args`");
    let other = of("thread 'main' panicked at src/main.rs:1\nout of cheese");
    assert_eq!((other.verdict, &other.recovery), (Verdict::Failed, &Action::Retry));
    assert_eq!(other.evidence[0].text, "out of cheese");
    assert!(
        other.reason.contains("exit code 1") && other.reason.contains("out of cheese"),
        "{}",
        other.reason
    );
}

#[test]
fn words_of_a_session_at_work_about_keys_and_models_ask_nobody() {
    let quoted = "Missing environment variable: `FAKE_API_KEY`.";
    let judged = Scene::new(Occasion::SessionEnded)
        .signal(Channel::Terminal, "", quoted)
        .exit(Some(1), None, false)
        .assess();
    assert_eq!((judged.verdict, &judged.recovery), (Verdict::Failed, &Action::Retry));
}
