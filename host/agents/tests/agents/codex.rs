//! The codex driver with a server that answers by method, in the words of recorded ones.

use std::fs;
use std::time::Duration;

use baton_agents::{AgentLaunch, McpServer};
use baton_core::facts::{AgentEvent, CompactionTrigger};
use baton_core::workflow::{AgentKind, Permission};
use serde_json::{Value, json};

use crate::kit::{AgentTestDir, AgentTestSession, ended, fills, run, signals, text};

/// Answers as `codex app-server` does, as far as the driver needs it.
const SERVER: &str = r#"
turn() { echo '{"method":"turn/'$1'","params":{"threadId":"t1","turn":{"id":"'$2'","status":"'$3'","error":null}}}'; }
item() { echo '{"method":"item/'$1'","params":{"threadId":"t1","turnId":"u1","item":'$2'}}'; }
use() { echo '{"method":"thread/tokenUsage/updated","params":{"threadId":"t1","turnId":"u1","tokenUsage":{"total":{"totalTokens":'$1',"inputTokens":'$1',"outputTokens":1},"last":{"totalTokens":'$2',"inputTokens":'$2',"outputTokens":1},"modelContextWindow":258400}}}'; }
while read -r line; do
    id=$(echo "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
        *'"initialize"'*) echo '{"id":'$id',"result":{"userAgent":"baton/0.169.0 (Debian)","codexHome":"/h"}}' ;;
        *'"initialized"'*) ;;
        *'"thread/start"'*)
            echo '{"id":'$id',"result":{"thread":{"id":"t1","cliVersion":"0.169.0"},"model":"gpt-5.5"}}'
            echo '{"method":"thread/started","params":{"thread":{"id":"t1"}}}' ;;
        *'"turn/start"'*hang*)
            echo '{"id":'$id',"result":{"turn":{"id":"u1","status":"inProgress"}}}'; turn started u1 inProgress ;;
        *'"turn/interrupt"'*) echo '{"id":'$id',"result":{}}'; turn completed u1 interrupted ;;
        *'"turn/start"'*ask*)
            echo '{"id":'$id',"result":{"turn":{"id":"u1","status":"inProgress"}}}'; turn started u1 inProgress
            echo '{"method":"item/commandExecution/requestApproval","id":70,"params":{"threadId":"t1","turnId":"u1","itemId":"i","command":"rm -rf /"}}' ;;
        *'"id":70,'*) turn completed u1 completed ;;
        *'"turn/start"'*)
            echo '{"id":'$id',"result":{"turn":{"id":"u1","status":"inProgress"}}}'; turn started u1 inProgress
            item started '{"type":"agentMessage","id":"m","text":""}'
            echo '{"method":"item/agentMessage/delta","params":{"threadId":"t1","turnId":"u1","itemId":"m","delta":"hi"}}'
            item completed '{"type":"agentMessage","id":"m","text":"hi"}'
            use 900 900; turn completed u1 completed ;;
        *'"thread/compact/start"'*)
            echo '{"id":'$id',"result":{}}'; turn started u2 inProgress
            item started '{"type":"contextCompaction","id":"c"}'; use 1000 100
            item completed '{"type":"contextCompaction","id":"c"}'; turn completed u2 completed ;;
    esac
done"#;

fn server(place: &AgentTestDir, permission: Permission) -> AgentLaunch {
    let mut launch = place.program(AgentKind::Codex, SERVER);
    launch.role.permission = permission;
    launch
}

fn told(place: &AgentTestDir) -> Vec<Value> {
    let told = fs::read_to_string(place.session_dir().join("stdin.jsonl")).unwrap();
    told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn params(told: &[Value], method: &str) -> Value {
    told.iter()
        .find(|message| message["method"] == method)
        .map_or(Value::Null, |message| message["params"].clone())
}

pub(crate) fn a_thread_is_started_prompted_compacted_and_broken_off() {
    run(async {
        let place = AgentTestDir::new();
        let mut launch = server(&place, Permission::Edit);
        launch.role.model = Some("gpt-5.5".to_owned());
        launch.mcp_servers = vec![McpServer {
            name: "notes".to_owned(),
            command: "/bin/notes".into(),
            args: vec!["--quiet".to_owned()],
            env: [("A".to_owned(), "1".to_owned())].into(),
        }];
        let mut session = AgentTestSession::start(launch).await;
        assert!(session.spawned.capabilities.compacts);
        session.ready().await;
        let events = session.prompt("hello").await;
        assert_eq!((text(&events).as_str(), ended(&events).1), ("hi", false));
        assert_eq!(fills(&events).last(), Some(&900));

        session.handle.compact("keep it".to_owned()).await.unwrap();
        let events = session.until(|event| matches!(event, AgentEvent::Compacted { .. })).await;
        let Some(AgentEvent::Compacted { trigger: CompactionTrigger::Asked, .. }) = events.last() else {
            panic!("{events:?}")
        };
        assert!(!events.iter().any(|event| matches!(event, AgentEvent::PromptEnded { .. })));

        // Broken off before the turn has an id: as soon as it has one.
        session.handle.prompt("hang".to_owned()).await.unwrap();
        session.handle.interrupt().await.unwrap();
        let events = session.until(|event| matches!(event, AgentEvent::PromptEnded { .. })).await;
        assert_eq!(ended(&events).0, "interrupted");

        session.handle.end(Duration::from_secs(60)).await;
        assert_eq!(session.rest().await.1.code, Some(0));
        let told = told(&place);
        let open = params(&told, "thread/start");
        assert_eq!((&open["sandbox"], &open["approvalPolicy"]), (&json!("workspace-write"), &json!("never")));
        assert_eq!((&open["model"], &open["cwd"]), (&json!("gpt-5.5"), &json!(place.workspace())));
        let notes = json!({ "command": "/bin/notes", "args": ["--quiet"], "env": { "A": "1" } });
        assert_eq!(open["config"]["mcp_servers"]["notes"], notes);
        assert_eq!(params(&told, "turn/interrupt"), json!({ "threadId": "t1", "turnId": "u1" }));
    });
}

pub(crate) fn an_approval_is_answered_from_the_role() {
    run(async {
        for (permission, sandbox, decision) in [
            (Permission::ReadOnly, "read-only", "decline"),
            (Permission::Edit, "workspace-write", "decline"),
            (Permission::Full, "danger-full-access", "accept"),
        ] {
            let place = AgentTestDir::new();
            let mut session = AgentTestSession::start(server(&place, permission)).await;
            session.ready().await;
            let events = session.prompt("ask").await;
            let allowed = decision == "accept";
            assert!(events.contains(&AgentEvent::ApprovalResolved { allowed }), "{events:?}");
            session.end().await;
            let told = told(&place);
            assert_eq!(params(&told, "thread/start")["sandbox"], sandbox);
            let answer = told.iter().find(|message| message["id"] == 70).unwrap();
            assert_eq!(answer["result"]["decision"], decision);
        }
    });
}

pub(crate) fn a_thread_that_is_refused_ends_the_session_with_the_reason() {
    run(async {
        let place = AgentTestDir::new();
        let server = r#"read -r line; echo '{"id":1,"result":{"userAgent":"x/1"}}'; read -r line; read -r line
            echo '{"id":2,"error":{"code":-32600,"message":"no such model"}}'; exec sleep 600"#;
        let mut session = AgentTestSession::start(place.program(AgentKind::Codex, server)).await;
        let (events, exit) = session.rest().await;
        assert!(signals(&events).iter().any(|signal| signal.text.contains("no such model")), "{events:?}");
        assert!(!exit.by_host);
    });
}

pub(crate) fn garbage_from_codex_is_survived() {
    run(async {
        let place = AgentTestDir::new();
        let body = r#"echo 'panic at the disco'; echo '[]'; echo '{"id":1}'; echo '{"id":2,"result":{"thread":7}}'
            echo '{"method":7,"id":"x"}'; printf '\377\n{"id":'; exit 3"#;
        let mut session = AgentTestSession::start(place.program(AgentKind::Codex, body)).await;
        let (events, exit) = session.rest().await;
        assert!(signals(&events).iter().any(|signal| signal.text.contains("panic")), "{events:?}");
        // It may have been ended first, for the thread that it did not name.
        assert!(exit.code == Some(3) || exit.signal.is_some(), "{exit:?}");
    });
}
