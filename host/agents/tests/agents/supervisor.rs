//! Nothing is left, whichever of agent, host and guard ends first.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use baton_agents::{end_orphan, probe_orphan};
use baton_core::facts::ProcessExit;
use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{AgentTestDir, AgentTestSession, run, signals, text, wait_for};

/// Leaves one process in its own group and one in a session of its own, both deaf to SIGTERM.
const STUBBORN_FAMILY: &str = "trap '' TERM
sleep 600 >/dev/null 2>&1 &
setsid sh -c \"trap '' TERM; sleep 600\" >/dev/null 2>&1 &";

pub(crate) fn an_agent_that_exits_at_once_is_told_with_its_code() {
    run(async {
        let place = AgentTestDir::new();
        let mut session = AgentTestSession::start(place.script("echo bye >&2; exit 143")).await;
        let (events, exit) = session.rest().await;
        assert_eq!(signals(&events)[0].text, "bye");
        assert_eq!(exit, ProcessExit { code: Some(143), signal: None, by_host: false });
        // The end is the end: nothing can be sent any more, and ending it again returns.
        assert!(session.handle.prompt("more".to_owned()).await.is_err());
        session.handle.end(Duration::ZERO).await;
    });
}

pub(crate) fn an_agent_that_a_signal_ends_is_told_apart_from_an_exit_code() {
    run(async {
        let place = AgentTestDir::new();
        let (_, exit) = AgentTestSession::start(place.script("kill -15 $$")).await.rest().await;
        assert_eq!(exit, ProcessExit { code: None, signal: Some(15), by_host: false });
    });
}

pub(crate) fn an_agent_that_cannot_be_started_says_why() {
    run(async {
        let place = AgentTestDir::new();
        let mut launch = place.script("");
        fs::write(launch.role.program.as_deref().unwrap(), "#!/no/such/shell\n").unwrap();
        launch.role.env.clear();
        let (events, exit) = AgentTestSession::start(launch).await.rest().await;
        assert!(signals(&events)[0].text.contains("the agent was not started"), "{events:?}");
        assert_eq!(exit.code, Some(127));
    });
}

pub(crate) fn an_agent_that_ignores_sigterm_is_ended() {
    run(async {
        let place = AgentTestDir::new();
        let mut session =
            AgentTestSession::start(place.script("trap '' TERM; echo up >&2; while :; do sleep 1; done"))
                .await;
        session.next().await;
        session.handle.end(Duration::ZERO).await;
        place.is_quiet();
        assert_eq!(session.rest().await.1, ProcessExit { code: None, signal: Some(9), by_host: true });
    });
}

pub(crate) fn an_agent_that_never_answers_is_ended() {
    run(async {
        let place = AgentTestDir::new();
        let session = AgentTestSession::start(place.script("exec sleep 600")).await;
        session.handle.prompt("are you there?".to_owned()).await.unwrap();
        session.handle.end(Duration::ZERO).await;
        place.is_quiet();
    });
}

pub(crate) fn grandchildren_that_an_agent_leaves_are_ended() {
    run(async {
        let place = AgentTestDir::new();
        let mut session = AgentTestSession::start(place.script(&format!("{STUBBORN_FAMILY}\nexit 3"))).await;
        let (_, exit) = session.rest().await;
        assert_eq!(exit, ProcessExit { code: Some(3), signal: None, by_host: false });
        place.is_quiet();
    });
}

pub(crate) fn grandchildren_that_hold_the_stream_do_not_hold_the_host() {
    run(async {
        let place = AgentTestDir::new();
        let mut session = AgentTestSession::start(place.script("setsid sleep 600 &\necho done >&2")).await;
        let (events, exit) = session.rest().await;
        assert_eq!((signals(&events)[0].text.as_str(), exit.code), ("done", Some(0)));
        place.is_quiet();
    });
}

/// A host of its own, to be killed: starts an agent in the place at the first argument and says so.
pub(crate) fn host(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let place = AgentTestDir::at(PathBuf::from(args.next().unwrap()));
    run(async {
        let launch = place.script(&format!("{STUBBORN_FAMILY}\necho up >&2\nwhile :; do sleep 1; done"));
        let mut session = AgentTestSession::start(launch).await;
        session.next().await;
        println!("up");
        session.rest().await;
    });
    ExitCode::SUCCESS
}

/// Starts [`host`] for a place and waits until its agent is up.
fn start_host(place: &AgentTestDir) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("__host").arg(place.path()).stdout(Stdio::piped());
    let mut host = command.spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(host.stdout.as_mut().unwrap()), &mut line)
        .unwrap();
    assert_eq!(line, "up\n");
    host
}

pub(crate) fn an_agent_is_gone_when_its_host_is_killed() {
    let place = AgentTestDir::new();
    let mut host = start_host(&place);
    assert!(place.left().len() >= 4, "guard, agent and its family");
    host.kill().unwrap();
    host.wait().unwrap();
    place.wait_until_nothing_is_left();
    assert!(!probe_orphan(&place.session_dir()).unwrap().alive);
}

pub(crate) fn an_agent_is_gone_when_its_handle_is_dropped() {
    run(async {
        let place = AgentTestDir::new();
        let mut session =
            AgentTestSession::start(place.script(&format!("{STUBBORN_FAMILY}\necho up >&2\nexec cat"))).await;
        session.next().await;
        drop(session.handle);
        while session.events.recv().await.is_some() {}
        place.is_quiet();
    });
}

pub(crate) fn an_agent_is_gone_when_its_guard_is_killed() {
    run(async {
        let place = AgentTestDir::new();
        let mut session =
            AgentTestSession::start(place.script("trap '' TERM; echo up >&2; while :; do sleep 1; done"))
                .await;
        session.next().await;
        kill(session.spawned.group);
        assert_eq!(session.rest().await.1, ProcessExit { code: None, signal: Some(9), by_host: false });
        place.is_quiet();
    });
}

pub(crate) fn an_orphan_is_found_and_ended() {
    let place = AgentTestDir::new();
    assert_eq!(probe_orphan(&place.session_dir()), None);
    let mut host = start_host(&place);
    let orphan = probe_orphan(&place.session_dir()).unwrap();
    assert!(orphan.alive);
    end_orphan(&orphan, Duration::ZERO);
    place.is_quiet();
    assert!(!probe_orphan(&place.session_dir()).unwrap().alive);
    host.wait().unwrap();

    // Another process that got the same id is let alone.
    let mut other = Command::new("sleep").arg("600").current_dir(place.workspace()).spawn().unwrap();
    let file = place.session_dir().join("guard.json");
    let mut guard: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    guard["group"] = other.id().into();
    fs::write(&file, guard.to_string()).unwrap();
    let orphan = probe_orphan(&place.session_dir()).unwrap();
    assert!(!orphan.alive);
    end_orphan(&orphan, Duration::ZERO);
    assert_eq!(other.try_wait().unwrap(), None);
    other.kill().unwrap();
    other.wait().unwrap();
}

pub(crate) fn a_ctrl_c_in_the_terminal_does_not_reach_an_agent() {
    run(async {
        let place = AgentTestDir::new();
        let session = AgentTestSession::start(place.script("exec cat")).await;
        let group = rustix::process::getpgrp();
        assert_ne!(i64::from(session.spawned.group), i64::from(group.as_raw_nonzero().get()));
        session.end().await;
    });
}

pub(crate) fn an_agent_inherits_the_allow_list_and_no_file() {
    run(async {
        let place = AgentTestDir::new();
        let mut launch = place.script("{ env; ls -l /proc/self/fd; } >&2");
        launch.inherit.insert("SECRET_TOKEN".into(), "x".into());
        launch.inherit.insert("ANTHROPIC_BASE_URL".into(), "http://localhost".into());
        let (events, _) = AgentTestSession::start(launch).await.rest().await;
        let printed: String = signals(&events).iter().map(|signal| format!("{}\n", signal.text)).collect();
        assert_eq!(text(&events), "");
        assert!(printed.contains("ANTHROPIC_BASE_URL=") && printed.contains("PATH="), "{printed}");
        assert!(!printed.contains("SECRET_TOKEN"), "{printed}");
        assert!(printed.contains("3 -> /dev/null") && !printed.contains(" 4 -> pipe"), "{printed}");
    });
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
    wait_for("the end of the guard", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    });
}
