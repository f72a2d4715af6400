//! The `process` driver: runs any program, once for each prompt.

use std::fs;
use std::time::Duration;

use baton_agents::AgentLaunch;
use baton_core::facts::{AgentEvent, Capabilities, SignalSource, TokenUsage};
use baton_core::workflow::PromptDelivery;

use crate::kit::{AgentTestDir, AgentTestSession, ended, run, signals, text};

fn program(place: &AgentTestDir, body: &str) -> AgentLaunch {
    place.command("process", body, "'two words'")
}

async fn one(launch: AgentLaunch, prompt: &str) -> Vec<AgentEvent> {
    let mut session = AgentTestSession::start(launch).await;
    session.ready().await;
    let events = session.prompt(prompt).await;
    let exit = session.end().await;
    assert!(exit.by_host && exit.code == Some(0), "{exit:?}");
    events
}

pub(crate) fn a_prompt_comes_on_stdin_which_ends_with_it() {
    run(async {
        let place = AgentTestDir::new();
        let body = r#"echo "$# $1"; cat; echo; echo oops >&2"#;
        let mut session = AgentTestSession::start(program(&place, body)).await;
        session.ready().await;
        // Each prompt is a separate run.
        for prompt in ["one\nline and é", "another"] {
            let events = session.prompt(prompt).await;
            assert_eq!(text(&events), format!("1 two words\n{prompt}\n"));
            assert_eq!(ended(&events), ("completed", false));
            let turns = events.iter().filter(|event| matches!(event, AgentEvent::Turn { .. })).count();
            assert_eq!(turns, 1);
        }
        session.handle.end(Duration::from_secs(60)).await;
        let (events, exit) = session.rest().await;
        assert_eq!(exit.code, Some(0));
        let stderr = fs::read_to_string(place.session_dir().join("stderr.log")).unwrap();
        assert_eq!(stderr, "oops\noops\n");
        assert!(signals(&events).iter().all(|signal| signal.channel == SignalSource::Terminal));
    });
}

pub(crate) fn a_prompt_comes_as_the_last_argument() {
    run(async {
        let place = AgentTestDir::new();
        let mut launch = program(&place, r#"echo "$# $2 $3"; cat"#);
        launch.role.prompt = PromptDelivery::Argument;
        launch.role.args = vec!["--fast".to_owned()];
        let events = one(launch, "say 'hi'; $HOME").await;
        assert_eq!(text(&events), "3 --fast say 'hi'; $HOME\n");
    });
}

/// Prints which descriptors are terminals, and output as programs write it to one.
const TTY: &str = r#"for fd in 0 1 2; do [ -t $fd ] && printf "$fd "; done; (: </dev/tty) && echo tty
    printf '\033[1;32mdone\033[0m\n10%%\r20%%\r\n'; stty size"#;

pub(crate) fn a_program_that_wants_a_terminal_gets_one_and_is_read_without_its_codes() {
    run(async {
        let place = AgentTestDir::new();
        let mut launch = program(&place, &format!("{TTY}\ncat"));
        launch.role.pty = true;
        launch.role.args.clear();
        let events = one(launch.clone(), "the prompt, not echoed").await;
        // Its stdin is the prompt; `stty` asks that for its size, which has none.
        let said = text(&events);
        assert!(said.starts_with("1 tty\ndone\n10%\n20%\n"), "{said:?}");
        assert!(said.trim_end().ends_with("the prompt, not echoed"), "{said:?}");
        assert_eq!(said.matches("not echoed").count(), 1, "{said:?}");

        let mut launch = program(&place, TTY);
        (launch.role.pty, launch.role.prompt) = (true, PromptDelivery::Argument);
        let events = one(launch, "go").await;
        assert_eq!(text(&events), "0 1 tty\ndone\n10%\n20%\n50 200\n");
    });
}

pub(crate) fn a_program_that_exits_at_once_ends_its_prompt_and_not_the_session() {
    run(async {
        let place = AgentTestDir::new();
        let mut session =
            AgentTestSession::start(program(&place, "[ -f ok ] && echo fine || { touch ok; exit 3; }")).await;
        session.ready().await;
        let large = "x".repeat(1 << 20);
        let events = session.prompt(&large).await;
        assert_eq!(ended(&events), ("exit 3", true));
        let events = session.prompt("again").await;
        assert_eq!((text(&events).as_str(), ended(&events)), ("fine\n", ("completed", false)));
        session.end().await;

        let events = one(program(&place, "kill -9 $$"), "go").await;
        assert_eq!(ended(&events), ("signal 9", true));
    });
}

pub(crate) fn a_program_that_is_gone_when_it_is_needed_is_told() {
    run(async {
        let place = AgentTestDir::new();
        let launch = program(&place, "echo hi");
        let script = place.path().join("agent");
        let mut session = AgentTestSession::start(launch).await;
        session.ready().await;
        fs::remove_file(script).unwrap();
        let events = session.prompt("go").await;
        assert_eq!(ended(&events), ("not-started", true));
        assert!(signals(&events)[0].text.contains("No such file"), "{events:?}");
        session.end().await;
    });
}

pub(crate) fn a_program_is_broken_off_with_all_that_it_started() {
    run(async {
        let place = AgentTestDir::new();
        for (body, pty) in [("sleep 600 & echo up; wait", false), ("sleep 600 & echo up; wait", true)] {
            let mut launch = program(&place, body);
            launch.role.pty = pty;
            let mut session = AgentTestSession::start(launch).await;
            session.ready().await;
            session.handle.prompt("go".to_owned()).await.unwrap();
            session.until(|event| matches!(event, AgentEvent::Text { .. })).await;
            session.handle.interrupt().await.unwrap();
            let events = session.until(|event| matches!(event, AgentEvent::PromptEnded { .. })).await;
            assert_eq!(ended(&events), ("interrupted", true));
            session.end().await;
            place.is_quiet();
        }
    });
}

pub(crate) fn a_program_at_work_is_gone_when_its_session_is_ended() {
    run(async {
        let place = AgentTestDir::new();
        for pty in [false, true] {
            // It ignores signals, and has a child in a separate session.
            let mut launch = program(&place, "trap '' INT TERM HUP; setsid sleep 600 & echo up; sleep 600");
            launch.role.pty = pty;
            let mut session = AgentTestSession::start(launch).await;
            session.ready().await;
            session.handle.prompt("go".to_owned()).await.unwrap();
            session.until(|event| matches!(event, AgentEvent::Text { .. })).await;
            session.handle.end(Duration::ZERO).await;
            session.rest().await;
            place.is_quiet();
        }
    });
}

pub(crate) fn what_holds_the_output_does_not_hold_the_prompt() {
    run(async {
        let place = AgentTestDir::new();
        let events = one(program(&place, "setsid sleep 600 & echo done"), "go").await;
        assert_eq!((text(&events).as_str(), ended(&events)), ("done\n", ("completed", false)));
    });
}

pub(crate) fn a_program_may_tell_how_full_it_is() {
    run(async {
        let place = AgentTestDir::new();
        let body = r#"echo '{"baton":{"used_tokens":400,"window_tokens":1000,"input_tokens":390,"output_tokens":10}}'; echo hi"#;
        let events = one(program(&place, body), "go").await;
        assert_eq!(text(&events), "hi\n");
        let told = events.iter().find_map(|event| match event {
            AgentEvent::Capabilities(told) => Some(*told),
            _ => None,
        });
        assert!(told.is_some_and(|Capabilities { reports_occupancy, .. }| reports_occupancy), "{events:?}");
        let billed = TokenUsage { input_tokens: 390, output_tokens: 10, cost_microusd: None };
        let turns: Vec<_> = events.iter().filter(|event| matches!(event, AgentEvent::Turn { .. })).collect();
        assert_eq!(turns, [&AgentEvent::Turn { used_tokens: Some(400), billed }]);
    });
}

pub(crate) fn garbage_from_a_program_is_its_answer() {
    run(async {
        let place = AgentTestDir::new();
        let body = r"printf 'a\377b\n\001{\n'; head -c 20000000 /dev/zero | tr '\0' x; printf '\303'";
        let events = one(program(&place, body), "go").await;
        let said = text(&events);
        assert!(said.starts_with("a\u{fffd}b\n\u{1}{\nxxx"), "{:?}", &said[..40]);
        assert_eq!(ended(&events), ("completed", false));
    });
}
