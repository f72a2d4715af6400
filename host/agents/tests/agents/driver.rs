//! What drivers make of agents: good ones, slow hosts, and streams that no agent should print.

use std::fs;

use baton_agents::{DriverError, DriverEvent, find_program};
use baton_core::facts::{AgentEvent, OccupancySource, SignalSource};
use baton_core::workflow::AgentKind;
use serde_json::Value;

use crate::kit::{AgentTestDir, AgentTestSession, ended, run, signals, text};

pub(crate) fn a_missing_program_is_named_with_what_to_do() {
    run(async {
        let place = AgentTestDir::new();
        let mut launch = place.launch(AgentKind::Claude);
        launch.inherit.insert("PATH".into(), place.path().into());
        let error = AgentTestSession::start_with(launch.clone(), 1).await.err().unwrap().to_string();
        assert_eq!(
            error,
            "claude is not on PATH: install it with `npm install -g @anthropic-ai/claude-code`, or set `program` in its role to its path"
        );
        launch.role.program = Some("/no/such/claude".to_owned());
        let error = AgentTestSession::start_with(launch.clone(), 1).await.err().unwrap().to_string();
        assert!(error.contains("`program` names /no/such/claude"), "{error}");
        launch.role.agent = AgentKind::Rehearsal;
        launch.spec.agent = AgentKind::Rehearsal;
        let error = AgentTestSession::start_with(launch.clone(), 1).await.err().unwrap().to_string();
        assert!(error.contains("needs a script"), "{error}");
        assert_eq!(find_program(&AgentKind::Rehearsal, &launch.role, None).unwrap(), None);
    });
}

pub(crate) fn garbage_is_terminal_text() {
    run(async {
        let place = AgentTestDir::new();
        let mut session =
            AgentTestSession::start(place.script(r"printf 'Segmentation fault\n\001\377{\n{}\n'")).await;
        let (events, exit) = session.rest().await;
        let signals = signals(&events);
        assert_eq!(
            (signals[0].channel, signals[0].text.as_str()),
            (SignalSource::Terminal, "Segmentation fault")
        );
        assert_eq!(signals[1].text, "\u{1}\u{fffd}{");
        assert_eq!(exit.code, Some(0));
    });
}

pub(crate) fn a_hundred_megabytes_on_one_line_are_one_signal() {
    run(async {
        let place = AgentTestDir::new();
        let script = r#"head -c 100000000 /dev/zero | tr '\0' x; echo
            echo '{"type":"system","subtype":"init","model":"m"}'"#;
        let (events, _) = AgentTestSession::start(place.script(script)).await.rest().await;
        let [AgentEvent::Signal(long), AgentEvent::Ready { .. }] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert_eq!(long.code, "line-too-long");
        // The log is bounded too.
        assert!(fs::metadata(place.session_dir().join("stdout.jsonl")).unwrap().len() <= 64 << 20);
    });
}

pub(crate) fn a_slow_host_loses_nothing() {
    run(async {
        let place = AgentTestDir::new();
        let script = r#"n=0; while [ $n -lt 3000 ]; do n=$((n+1))
            echo '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"'$n' "}]}}'; done"#;
        let mut session = AgentTestSession::start_with(place.script(script), 1).await.unwrap();
        let mut said = String::new();
        loop {
            // Slow: everything else gets its turn first.
            tokio::task::yield_now().await;
            match session.next().await {
                DriverEvent::Event(AgentEvent::Text { text }) => said.push_str(&text),
                DriverEvent::Event(AgentEvent::Omitted { text_bytes, .. }) => assert_eq!(text_bytes, 0),
                DriverEvent::Event(_) => {}
                DriverEvent::Exited(_) => break,
            }
        }
        // Another event between two of them ends a line.
        let numbers: Vec<u32> = said.split_whitespace().map(|number| number.parse().unwrap()).collect();
        assert!(numbers == (1..=3000).collect::<Vec<_>>(), "{} numbers", numbers.len());
    });
}

pub(crate) fn an_agent_that_takes_nothing_makes_nobody_wait() {
    run(async {
        let place = AgentTestDir::new();
        let session = AgentTestSession::start(place.script("exec sleep 600")).await;
        let large = "x".repeat(1 << 20);
        let mut told = Ok(());
        for _ in 0..1000 {
            told = session.handle.prompt(large.clone()).await;
            if told.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        assert_eq!(told, Err(DriverError::Busy("s1".into())));
        session.handle.end(std::time::Duration::ZERO).await;
    });
}

/// Answers as Claude Code does, as far as the driver needs it.
const CLAUDE: &str = r#"
answer() { echo '{"type":"control_response","response":{"subtype":"success","request_id":"'$1'","response":'$2'}}'; }
while read -r line; do
    case $line in
        *'"initialize"'*) answer baton-initialize '{"commands":[],"claude_code_version":"2.1.330"}' ;;
        *get_context_usage*) answer baton-get_context_usage '{"totalTokens":500,"maxTokens":200000}' ;;
        *interrupt*) echo '{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"}' ;;
        *"/compact keep it"*)
            echo '{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual","pre_tokens":900}}'
            echo '{"type":"result","subtype":"success","is_error":false,"local_command":"compact"}' ;;
        *hang*) ;;
        *) echo '{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":9}}}'
           echo '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed"}' ;;
    esac
done
echo bye >&2"#;

pub(crate) fn claude_is_asked_for_its_window_and_told_its_prompts() {
    run(async {
        let place = AgentTestDir::new();
        let mut session = AgentTestSession::start(place.script(CLAUDE)).await;
        session.ready().await;
        let window = |event: &AgentEvent| {
            let (source, window_tokens) = (OccupancySource::Agent, Some(200_000));
            *event == AgentEvent::Occupancy { used_tokens: Some(500), window_tokens, source }
        };
        session.until(window).await;

        let events = session.prompt("hello").await;
        assert_eq!((text(&events).as_str(), ended(&events)), ("hi", ("completed", false)));

        session.handle.compact("keep it".to_owned()).await.unwrap();
        let events = session.until(|event| matches!(event, AgentEvent::Compacted { .. })).await;
        assert!(!events.iter().any(|event| matches!(event, AgentEvent::PromptEnded { .. })));
        session.until(window).await;

        session.handle.prompt("hang".to_owned()).await.unwrap();
        session.handle.interrupt().await.unwrap();
        let events = session.until(|event| matches!(event, AgentEvent::PromptEnded { .. })).await;
        assert_eq!(ended(&events), ("aborted_tools", true));

        // Its stdin is closed, and it may say a last word.
        session.handle.end(std::time::Duration::from_secs(60)).await;
        let (events, exit) = session.rest().await;
        assert_eq!((signals(&events)[0].text.as_str(), exit.code, exit.by_host), ("bye", Some(0), true));

        // What was said on both sides can be read afterwards.
        let told = fs::read_to_string(place.session_dir().join("stdin.jsonl")).unwrap();
        let prompts: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(prompts.iter().any(|prompt| prompt["message"]["content"][0]["text"] == "hello"));
        assert!(fs::read_to_string(place.session_dir().join("stderr.log")).unwrap().contains("bye"));
    });
}

pub(crate) fn claude_that_is_missing_words_of_the_protocol_still_ends() {
    run(async {
        let place = AgentTestDir::new();
        let mut session =
            AgentTestSession::start(place.script("cat >/dev/null; echo '{\"type\":\"surprise\"}'")).await;
        session.handle.end(std::time::Duration::from_secs(60)).await;
        let (events, exit) = session.rest().await;
        assert_eq!(events, [AgentEvent::Unknown { kind: "surprise".to_owned() }]);
        assert_eq!(exit.code, Some(0));
    });
}
