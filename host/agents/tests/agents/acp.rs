//! The ACP client with agents that are not the rehearsal: how they are asked, answered and ended.

use std::fs;
use std::time::Duration;

use baton_agents::{AgentLaunch, McpServer};
use baton_core::facts::{AgentEvent, Capabilities};
use baton_core::workflow::{AgentKind, Permission};
use serde_json::{Value, json};

use crate::kit::{AgentTestDir, AgentTestSession, ended, run, signals, text};

/// An adapter, with its modes and commands in `$1` and `$2` as JSON. It never ends by itself, and asks before it edits
/// (`edit`) or runs something (`execute`).
const ADAPTER: &str = r#"
say() { echo '{"jsonrpc":"2.0",'"$1"'}'; }
update() { say '"method":"session/update","params":{"sessionId":"a1","update":'"$1"'}'; }
ask() { say '"id":"q1","method":"session/request_permission","params":{"sessionId":"a1","toolCall":{"toolCallId":"c1","title":"do it","kind":"'$1'","locations":[{"path":"'$2'"}]},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}'; }
id_of() { printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p'; }
while :; do
    # Stays after the end of its stdin, as some adapters do.
    read -r line || exec sleep 600
    id=$(id_of)
    case $line in
        *'"initialize"'*) say '"id":'$id',"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}}},"authMethods":[{"id":"chat","name":"Chat"},{"id":"api-key","name":"Key"}]}' ;;
        *'"authenticate"'*) known=1; say '"id":'$id',"result":{}' ;;
        *'"session/new"'*)
            if [ -n "$LOCKED" ] && [ -z "$known" ]; then say '"id":'$id',"error":{"code":-32000,"message":"Authentication required"}'
            else say '"id":'$id',"result":{"sessionId":"a1"'"$MODES"'}'
                 update '{"sessionUpdate":"available_commands_update","availableCommands":['"$COMMANDS"']}'; fi ;;
        *'"session/set_mode"'*) say '"id":'$id',"result":{}' ;;
        *'"session/set_config_option"'*) say '"id":'$id',"result":{"configOptions":[]}' ;;
        *'"session/prompt"'*'/compact'*) prompt=$id
            update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Nothing to compact."}}'
            say '"id":'$prompt',"result":{"stopReason":"end_turn"}' ;;
        *'"session/prompt"'*edit-outside*) prompt=$id; ask edit /etc/passwd ;;
        *'"session/prompt"'*edit*) prompt=$id; ask edit "$PWD/a.txt" ;;
        *'"session/prompt"'*execute*) prompt=$id; ask execute "$PWD" ;;
        *'"session/prompt"'*hang*) prompt=$id ;;
        *'"session/prompt"'*by-host*) prompt=$id
            say '"id":"h1","method":"fs/read_text_file","params":{"sessionId":"a1","path":"'$PWD'/../secret"}'
            say '"id":"h2","method":"fs/write_text_file","params":{"sessionId":"other","path":"'$PWD'/made.txt","content":"x"}'
            say '"id":"h3","method":"terminal/create","params":{"sessionId":"a1","command":"touch","args":["'$PWD'/made.txt"]}' ;;
        *'"h3"'*|*'"h2"'*|*'"h1"'*)
            case $line in *'"error"'*-32601*) word='refused ' ;; *) word='answered ' ;; esac
            update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$word"'"}}'
            case $line in *'"h3"'*) say '"id":'$prompt',"result":{"stopReason":"end_turn"}'; prompt= ;; esac ;;
        *'"session/cancel"'*) [ -n "$prompt" ] && say '"id":'$prompt',"result":{"stopReason":"cancelled"}'; prompt= ;;
        *'"q1"'*)
            case $line in *'"y"'*) word=allowed ;; *) word=refused ;; esac
            update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'$word'"}}'
            say '"id":'$prompt',"result":{"stopReason":"end_turn"}'; prompt= ;;
    esac
done"#;

/// The modes of claude-agent-acp.
const CLAUDE: &str = r#","modes":{"currentModeId":"default","availableModes":[{"id":"default","name":"D"},{"id":"acceptEdits","name":"E"},{"id":"plan","name":"P"},{"id":"bypassPermissions","name":"B"}]}"#;

fn adapter(place: &AgentTestDir, modes: &str, commands: &str, permission: Permission) -> AgentLaunch {
    let body = format!("MODES='{modes}'\nCOMMANDS='{commands}'\n{ADAPTER}");
    let mut launch = place.command("acp", &body, "");
    launch.role.permission = permission;
    launch
}

fn told(place: &AgentTestDir) -> Vec<Value> {
    let told = fs::read_to_string(place.session_dir().join("stdin.jsonl")).unwrap();
    told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn methods(told: &[Value]) -> Vec<&str> {
    told.iter().filter_map(|message| message["method"].as_str()).collect()
}

/// Ended by force at once, so that the test does not wait for an adapter that stays.
async fn end_now(session: &mut AgentTestSession) {
    session.handle.end(Duration::ZERO).await;
    session.rest().await;
}

pub(crate) fn an_adapter_that_stays_after_its_stdin_is_ended() {
    run(async {
        let place = AgentTestDir::new();
        let mut session = AgentTestSession::start(adapter(&place, "", "", Permission::Edit)).await;
        session.ready().await;
        session.prompt("execute").await;
        session.handle.end(Duration::from_millis(300)).await;
        let (_, exit) = session.rest().await;
        assert!(exit.by_host && exit.signal.is_some(), "{exit:?}");
        place.is_quiet();
        // The host sent these before: the running prompt is cancelled, and the session closed.
        let told = told(&place);
        assert_eq!(methods(&told)[3..], ["session/cancel", "session/close"]);
    });
}

pub(crate) fn a_request_is_answered_from_the_roles_permission() {
    run(async {
        for (permission, edits, edits_outside, executes) in [
            (Permission::ReadOnly, "refused", "refused", "refused"),
            (Permission::Edit, "allowed", "refused", "refused"),
            (Permission::Full, "allowed", "allowed", "allowed"),
        ] {
            let place = AgentTestDir::new();
            let mut session = AgentTestSession::start(adapter(&place, "", "", permission)).await;
            session.ready().await;
            let mut answers = Vec::new();
            for asks in ["edit", "edit-outside", "execute"] {
                let events = session.prompt(asks).await;
                assert!(events.iter().any(|event| matches!(event, AgentEvent::ApprovalRequested { .. })));
                answers.push(text(&events));
            }
            assert_eq!(answers, [edits, edits_outside, executes], "{permission:?}");
            end_now(&mut session).await;
        }
    });
}

pub(crate) fn a_refusal_has_its_reason() {
    run(async {
        let place = AgentTestDir::new();
        let mut session = AgentTestSession::start(adapter(&place, "", "", Permission::Edit)).await;
        session.ready().await;
        session.prompt("edit-outside").await;
        end_now(&mut session).await;
        let told = told(&place);
        let answer = told.iter().find(|message| message["id"] == "q1").unwrap();
        let reason = answer["result"]["_meta"]["baton"]["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("/etc/passwd"), "{answer}");
    });
}

pub(crate) fn the_host_reads_writes_and_runs_nothing_for_an_agent() {
    // N6: neither files nor terminals are offered, for any permission of the role.
    run(async {
        for permission in [Permission::ReadOnly, Permission::Full] {
            let place = AgentTestDir::new();
            place.write("secret", "key");
            let mut session = AgentTestSession::start(adapter(&place, "", "", permission)).await;
            session.ready().await;
            let events = session.prompt("by-host").await;
            assert_eq!(text(&events), "refused refused refused ", "{permission:?}");
            end_now(&mut session).await;
            assert!(!place.workspace().join("made.txt").exists());
        }
    });
}

pub(crate) fn the_mode_that_fits_the_role_is_set_before_the_first_prompt() {
    run(async {
        let config = r#","configOptions":[{"id":"how","name":"Mode","category":"mode","type":"select","currentValue":"build","options":[{"value":"build","name":"B"},{"value":"plan","name":"P"}]}]"#;
        for (modes, permission, method, wanted) in [
            (CLAUDE, Permission::ReadOnly, "session/set_mode", json!("plan")),
            (CLAUDE, Permission::Edit, "session/set_mode", json!("acceptEdits")),
            (CLAUDE, Permission::Full, "session/set_mode", json!("bypassPermissions")),
            (config, Permission::ReadOnly, "session/set_config_option", json!("plan")),
            (config, Permission::Edit, "session/prompt", Value::Null),
        ] {
            let place = AgentTestDir::new();
            let mut session = AgentTestSession::start(adapter(&place, modes, "", permission)).await;
            session.ready().await;
            session.prompt("execute").await;
            end_now(&mut session).await;
            let told = told(&place);
            let third = &told[2];
            assert_eq!(third["method"], method, "{permission:?}");
            let set = if method == "session/set_mode" {
                &third["params"]["modeId"]
            } else {
                &third["params"]["value"]
            };
            assert_eq!(*set, wanted);
        }
    });
}

pub(crate) fn an_agent_that_would_not_even_ask_is_not_worked_with() {
    run(async {
        let place = AgentTestDir::new();
        let modes = r#","modes":{"currentModeId":"yolo","availableModes":[{"id":"yolo","name":"Y"}]}"#;
        let mut session = AgentTestSession::start(adapter(&place, modes, "", Permission::Edit)).await;
        let (events, exit) = session.rest().await;
        let said = signals(&events).last().map(|signal| signal.text.clone()).unwrap_or_default();
        assert!(said.contains("the agent works in the mode yolo"), "{events:?}");
        assert!(!exit.by_host);
    });
}

pub(crate) fn a_key_from_the_environment_logs_in() {
    run(async {
        let place = AgentTestDir::new();
        let mut launch = adapter(&place, "", "", Permission::Edit);
        launch.inherit.insert("LOCKED".into(), "1".into());
        launch.role.env.push("LOCKED".to_owned());
        launch.mcp_servers = vec![McpServer {
            name: "notes".to_owned(),
            command: "/bin/notes".into(),
            args: Vec::new(),
            env: [("A".to_owned(), "1".to_owned())].into(),
        }];
        let mut session = AgentTestSession::start(launch).await;
        let events = session.until(|event| matches!(event, AgentEvent::Ready { .. })).await;
        assert!(signals(&events).is_empty(), "a login is no error: {events:?}");
        end_now(&mut session).await;
        let told = told(&place);
        assert_eq!(methods(&told)[..4], ["initialize", "session/new", "authenticate", "session/new"]);
        assert_eq!(told[2]["params"]["methodId"], "api-key");
        let notes = json!({ "name": "notes", "command": "/bin/notes", "args": [], "env": [{ "name": "A", "value": "1" }] });
        assert_eq!(told[3]["params"]["mcpServers"], json!([notes]));
    });
}

pub(crate) fn a_compaction_is_asked_for_where_the_agent_lists_the_command() {
    run(async {
        let place = AgentTestDir::new();
        let mut session = AgentTestSession::start(adapter(&place, "", "", Permission::Edit)).await;
        assert!(!session.spawned.capabilities.compacts);
        session.ready().await;
        session.handle.compact("keep it".to_owned()).await.unwrap();
        let events = session.until(|event| matches!(event, AgentEvent::CompactionFailed { .. })).await;
        assert_eq!(
            events.last(),
            Some(&AgentEvent::CompactionFailed { text: "the agent lists no command `compact`".to_owned() })
        );
        end_now(&mut session).await;

        for (input, told_text) in [("null", "/compact"), (r#"{"hint":"what"}"#, "/compact keep it")] {
            let place = AgentTestDir::new();
            let commands = format!(r#"{{"name":"compact","description":"d","input":{input}}}"#);
            let mut session = AgentTestSession::start(adapter(&place, "", &commands, Permission::Edit)).await;
            let can = |event: &AgentEvent| {
                matches!(event, AgentEvent::Capabilities(Capabilities { compacts: true, .. }))
            };
            session.until(can).await;
            session.handle.compact("keep it".to_owned()).await.unwrap();
            // B3: a compaction that did nothing is reported as such, and ends no prompt.
            let events = session.until(|event| matches!(event, AgentEvent::CompactionFailed { .. })).await;
            assert!(!events.iter().any(|event| matches!(event, AgentEvent::PromptEnded { .. })));
            end_now(&mut session).await;
            let told = told(&place);
            let prompt = told.iter().find(|message| message["method"] == "session/prompt").unwrap();
            assert_eq!(prompt["params"]["prompt"][0]["text"], told_text);
        }
    });
}

pub(crate) fn a_prompt_to_an_adapter_is_cancelled() {
    run(async {
        let place = AgentTestDir::new();
        let mut session = AgentTestSession::start(adapter(&place, "", "", Permission::Edit)).await;
        session.ready().await;
        session.handle.prompt("hang".to_owned()).await.unwrap();
        session.handle.interrupt().await.unwrap();
        let events = session.until(|event| matches!(event, AgentEvent::PromptEnded { .. })).await;
        assert_eq!(ended(&events).0, "cancelled");
        end_now(&mut session).await;
    });
}

pub(crate) fn an_adapter_that_is_none_ends_with_a_reason() {
    run(async {
        let place = AgentTestDir::new();
        for body in [
            "echo 'usage: adapter [--acp]'; exit 2",
            "echo '{\"jsonrpc\":\"2.0\",\"id\":1}'; exit 2",
            "exit 2",
        ] {
            let mut session = AgentTestSession::start(place.command("acp", body, "")).await;
            let (_, exit) = session.rest().await;
            assert!(exit.code == Some(2) || exit.signal.is_some(), "{exit:?}");
        }
        let launch = place.launch("acp:no-such-adapter --acp".parse::<AgentKind>().unwrap());
        let error = AgentTestSession::start_with(launch, 1).await.err().unwrap().to_string();
        assert!(error.starts_with("no-such-adapter is not on PATH"), "{error}");
        assert!(error.contains("write its path into the agent's command"), "{error}");
    });
}
