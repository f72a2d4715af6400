//! Agents that want to rule their own run: they answer its questions, stop it, and choose who judges them.

use std::fs;

use baton_runtime::core::Input;
use baton_runtime::core::action::Ending;
use baton_runtime::core::input::Asker;
use baton_runtime::core::view::RunStatus;

use crate::job_of_shell;
use crate::support::{Stage, until};

/// Who asked for what, by the journal.
fn asked(stage: &Stage) -> Vec<(String, Asker)> {
    let asked = |input| match input {
        Input::Asked { what, by } => Some((what, by)),
        _ => None,
    };
    stage.inputs().into_iter().filter_map(asked).collect()
}

#[test]
fn an_agent_changes_nothing_of_a_run_however_it_hides() {
    let stage = job_of_shell("", "");
    let baton = env!("CARGO_BIN_EXE_baton");
    let place =
        format!("--workspace '{}' --state-dir '{}'", stage.workspace.display(), stage.state_root().display());
    // Plain; with a clean environment; and as a daemon of its own session whose parents are gone.
    let script = format!(
        r#"#!/bin/sh
cat > /dev/null
'{baton}' stop {place} > stop.out 2>&1
'{baton}' policy use builtin:resilience --decides exhaustion {place} > use.out 2>&1
'{baton}' answer skip {place} > answer.out 2>&1
env -i PATH="$PATH" HOME="$HOME" '{baton}' stop {place} > bare.out 2>&1
(setsid sh -c "sleep 0.2; env -i PATH='$PATH' HOME='$HOME' '{baton}' stop {place} > daemon.tmp 2>&1; mv daemon.tmp daemon.out" &) &
while [ ! -e daemon.out ]; do sleep 0.05; done
'{baton}' status {place} > status.out 2>&1
echo done > a.txt
echo 'Done: a'
"#
    );
    fs::write(stage.path("agent.sh"), script).unwrap();
    stage.baton(&["run", "job.toml"]).expect(0);
    for told in ["stop.out", "use.out", "answer.out", "bare.out", "daemon.out"] {
        let told = stage.read(told);
        assert!(told.contains("was started by an agent"), "{told}");
    }
    assert!(stage.read("status.out").contains("only"), "looking is allowed");
    assert_eq!(stage.story().view.status, RunStatus::Ended(Ending::Done));
    assert_eq!(asked(&stage), [], "nobody else asked for anything");
}

#[test]
fn who_asks_for_a_change_is_journaled() {
    let stage = job_of_shell("exec sleep 600", "");
    let mut host = stage.start(&["run", "job.toml"]);
    until("the agent works", || !stage.processes().is_empty() && stage.has_run());
    stage.baton(&["stop"]).expect(0);
    host.wait().unwrap();
    let asked = asked(&stage);
    let [(what, by)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!((what.as_str(), by.uid), ("stop", rustix::process::getuid().as_raw()));
    assert!(by.pid > 0 && by.command.contains("stop --workspace"), "{by:?}");
}
