//! Agents that want to rule their own run: they answer its questions, stop it, and choose who judges them.

use std::fs;

use baton_runtime::core::Input;
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::facts::RefusalKind;
use baton_runtime::core::input::ChangeRequester;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::RunStatus;

use super::job_of_shell;
use crate::support::{TestWorkspace, until};

/// Who asked for what, by the journal.
fn asked(stage: &TestWorkspace) -> Vec<(String, ChangeRequester)> {
    let asked = |input| match input {
        Input::Asked { what, by } => Some((what, by)),
        _ => None,
    };
    stage.inputs().into_iter().filter_map(asked).collect()
}

/// What a client of `baton mcp` says first, and a report that an objective is done.
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const REPORT: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"objective_update","arguments":{"objective":"a","status":"done"}}}"#;

/// The flags by which a shell's command finds the run.
fn place(stage: &TestWorkspace) -> String {
    format!("--workspace '{}' --state-dir '{}'", stage.workspace.display(), stage.state_root().display())
}

#[test]
fn an_agent_changes_nothing_of_a_run_however_it_hides() {
    let stage = job_of_shell("", "");
    let baton = env!("CARGO_BIN_EXE_baton");
    let place = place(&stage);
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
    assert_eq!(stage.story().view.status, RunStatus::Ended(RunOutcome::Done));
    assert_eq!(asked(&stage), [], "nobody else asked for anything");
    // Each thing that it wanted is an event of its session, once.
    let wanted = |notice| match notice {
        ProgressEvent::Refused { refusal, .. } if refusal.kind == RefusalKind::Host => Some(refusal.target),
        _ => None,
    };
    let wanted: Vec<String> = stage.story().notices.into_iter().filter_map(wanted).collect();
    assert_eq!(wanted, ["stop", "use-policy", "answer"]);
    let log = stage.baton(&["log"]).expect(0).stdout;
    assert!(log.contains("to change its run by stop: its host does not give it"), "{log}");
}

#[test]
fn a_check_that_an_agent_wrote_changes_nothing_of_a_run() {
    // N6
    let stage = job_of_shell("", "");
    let baton = env!("CARGO_BIN_EXE_baton");
    let place = place(&stage);
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let checked = workflow.replacen("[[phases]]", "[[phases]]\nverify = [\"sh check.sh\"]", 1);
    assert_ne!(workflow, checked);
    stage.write("job.toml", checked);
    // Below the host; in a clean environment; and, when the host is gone, as what the check has left behind.
    let check = format!(
        r#"'{baton}' stop {place} > stop.out 2>&1
'{baton}' policy use builtin:resilience --decides exhaustion {place} > use.out 2>&1
env -i PATH="$PATH" HOME="$HOME" '{baton}' answer accept {place} > bare.out 2>&1
setsid sh -c "touch away; while [ ! -e gone ]; do sleep 0.1; done; '{baton}' answer accept {place} > left.tmp 2>&1; mv left.tmp left.out" > /dev/null 2>&1 &
until [ -e away ]; do sleep 0.05; done
exit 1
"#
    );
    let script = format!("cat > check.sh <<'END'\n{check}END\necho done > a.txt\necho 'Done: a'");
    stage.write("agent.sh", format!("#!/bin/sh\ncat > /dev/null\n{script}\n"));
    stage.baton(&["run", "job.toml"]).expect(5);
    fs::write(stage.workspace.join("gone"), "").unwrap();
    until("what the check left has asked", || stage.workspace.join("left.out").exists());
    for told in ["stop.out", "use.out", "bare.out", "left.out"] {
        let said = stage.read(told);
        assert!(
            said.contains("changes nothing else of a run") || said.contains("by a check of it"),
            "{told}: {said}"
        );
    }
    assert_eq!(asked(&stage), []);
    assert_eq!(stage.story().view.status, RunStatus::Paused);
}

#[test]
fn an_agent_and_the_check_that_it_wrote_change_nothing_of_another_run() {
    // N6: one whose host lives, and one that waits for a person without a host.
    let live = job_of_shell("exec sleep 600", "");
    let mut host = live.start(&["run", "job.toml"]);
    until("the other agent works", || !live.processes().is_empty() && live.has_run());
    let paused = job_of_shell("exit 3", "");
    paused.baton(&["run", "job.toml"]).expect(5);

    let stage = job_of_shell("", "");
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    stage.write("job.toml", workflow.replacen("[[phases]]", "[[phases]]\nverify = [\"sh check.sh\"]", 1));
    let baton = env!("CARGO_BIN_EXE_baton");
    let over = job_of_shell("echo done > a.txt; echo 'Done: a'", "");
    over.baton(&["run", "job.toml"]).expect(0);
    let (of_live, of_paused, of_over) = (place(&live), place(&paused), place(&over));
    // As it is; and with nothing in its environment, in a session of its own.
    let tries = |who: &str| {
        format!(
            r#"'{baton}' stop {of_live} > {who}-stop.out 2>&1
'{baton}' policy use builtin:resilience --decides exhaustion {of_live} > {who}-use.out 2>&1
'{baton}' answer skip {of_paused} > {who}-answer.out 2>&1
env -i PATH="$PATH" HOME="$HOME" setsid -w '{baton}' stop {of_live} > {who}-bare-stop.out 2>&1
env -i PATH="$PATH" HOME="$HOME" setsid -w '{baton}' answer skip {of_paused} > {who}-bare-answer.out 2>&1
'{baton}' undo {of_over} > {who}-undo.out 2>&1
'{baton}' gc --keep 0 {of_over} > {who}-gc.out 2>&1
{{ echo '{HELLO}'; echo '{REPORT}'; until grep -q '"id":2' {who}-report.out; do sleep 0.1; done; }} | '{baton}' mcp {of_live} > {who}-report.out
"#
        )
    };
    let (of_check, of_agent) = (tries("check"), tries("agent"));
    let script =
        format!("cat > check.sh <<'END'\n{of_check}exit 0\nEND\n{of_agent}echo done > a.txt\necho 'Done: a'");
    stage.write("agent.sh", format!("#!/bin/sh\ncat > /dev/null\n{script}\n"));
    stage.baton(&["run", "job.toml"]).expect(0);
    for who in ["check", "agent"] {
        for what in ["stop", "use", "answer", "bare-stop", "bare-answer", "undo", "gc"] {
            let said = stage.read(&format!("{who}-{what}.out"));
            assert!(said.contains("nothing else of a run"), "{who} {what}: {said}");
        }
        let said = stage.read(&format!("{who}-report.out"));
        assert!(said.contains("not recorded: a call without the token of a session"), "{who}: {said}");
    }
    for other in [&live, &paused] {
        assert_eq!(asked(other), [], "nobody asked for anything");
    }
    assert!(!live.inputs().iter().any(|input| matches!(input, Input::Reported { .. })));
    assert_eq!(live.story().view.status, RunStatus::Running);
    assert_eq!(paused.story().view.status, RunStatus::Paused);
    assert!(over.has_run(), "it was not removed");

    // A person can.
    live.baton(&["stop"]).expect(0);
    host.wait().unwrap();
    paused.baton(&["answer", "skip"]).expect(0);
    assert_eq!((asked(&live).len(), asked(&paused).len()), (1, 1));
    over.baton(&["gc", "--keep", "0"]).expect(0);
    assert!(!over.has_run());
}

#[test]
fn an_agent_answers_no_question_where_no_host_is() {
    // Its daemon answers once the host has stopped at a question.
    let stage = job_of_shell("", "");
    let baton = env!("CARGO_BIN_EXE_baton");
    let place = place(&stage);
    stage.write("agent.sh", "#!/bin/sh\ncat > /dev/null\necho \"$BATON_SESSION_MARK\" > mark\nexit 3\n");
    stage.baton(&["run", "job.toml"]).expect(5);
    let mark = stage.read("mark");
    let run = stage.story().view.run;
    let gc = format!("gc --force --run {run}");
    for arguments in
        ["answer skip", "policy use builtin:resilience --decides exhaustion", "undo", gc.as_str()]
    {
        let script = format!("'{baton}' {arguments} {place}");
        let mut command = std::process::Command::new("sh");
        let ended = command.args(["-c", &script]).env("BATON_SESSION_MARK", mark.trim()).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success() && said.contains("was started by an agent of run"), "{said}");
    }
    assert_eq!((asked(&stage), stage.story().view.status), (Vec::new(), RunStatus::Paused));
    stage.baton(&["answer", "skip"]).expect(0);
    assert_eq!(asked(&stage).len(), 1);
}

#[test]
fn no_agent_resumes_a_run() {
    // N6: neither its own nor another one.
    let stopped =
        job_of_shell("[ -e mark ] && exit 3\necho \"$BATON_SESSION_MARK\" > mark\nexec sleep 600", "");
    let mut host = stopped.start(&["run", "job.toml"]);
    until("the agent works", || stopped.workspace.join("mark").exists() && stopped.has_run());
    stopped.baton(&["stop"]).expect(0);
    host.wait().unwrap();
    let entries = stopped.story().entries;
    let resume = format!("'{}' resume {}", env!("CARGO_BIN_EXE_baton"), place(&stopped));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &resume]).env("BATON_SESSION_MARK", stopped.read("mark").trim());
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && said.contains("was started by an agent of run"), "{said}");

    let other = job_of_shell(&format!("{resume} > resume.out 2>&1\necho done > a.txt\necho 'Done: a'"), "");
    other.baton(&["run", "job.toml"]).expect(0);
    let said = other.read("resume.out");
    assert!(said.contains("was started by an agent of another run"), "{said}");
    assert_eq!(stopped.story().entries, entries, "nothing was written");
    // A person resumes it.
    stopped.baton(&["resume"]).expect(5);
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

#[test]
fn a_report_that_another_run_leaves_in_the_inbox_of_a_paused_one_is_not_its_own() {
    // N6: the objective of the paused run was done then, without any work.
    let stage = job_of_shell("", "");
    fs::write(stage.path("agent.sh"), "#!/bin/sh\ncat > /dev/null\necho 'I do not know.'\n").unwrap();
    stage.baton(&["run", "job.toml"]).expect(5);
    let run = stage.story().view.run.to_string();
    let report = r#"{"report": "objective-update", "session": "SESSION", "objective": "a", "status": "done", "note": "it is there"}"#;
    let inbox = stage.workspace.join(".baton").join(&run).join("inbox");
    for session in ["s1", "s2", "s3"] {
        fs::write(inbox.join(format!("{session}.json")), report.replace("SESSION", session)).unwrap();
    }
    let resumed = stage.baton(&["answer", "retry", "--resume"]).expect(5);
    assert!(resumed.stderr.contains("while no agent of this run was at work"), "{}", resumed.stderr);
    assert_eq!(stage.story().view.objectives().0, 0, "nothing is done");
}

#[test]
fn a_review_that_its_author_leaves_behind_a_flood_of_reports_does_not_count() {
    // N6, D3: what one look at the inbox did not reach was read while the reviewer worked alone, and was taken for its own.
    let stage = TestWorkspace::new();
    let job = "name = \"job\"\nagent = \"process:sh agent.sh\"\n[roles.reviewer]\nagent = \"process:sh reviewer.sh\"\n\
               [limits]\nretries = 0\ncontinuations = 0\n[[phases]]\nid = \"one\"\ntitle = \"One\"\nreview = \"reviewer\"\n\
               do = [\"Write `a.txt`\"]\n";
    stage.write("job.toml", job);
    let agent = r#"cat > /dev/null
if [ ! -e a.txt ]; then
  echo a > a.txt
  cd .baton/2*/inbox
  i=0
  while [ $i -lt 1100 ]; do
    echo "{\"report\": \"gotcha-record\", \"gotcha\": \"filler $i\"}" > f$i.json
    i=$((i + 1))
  done
  echo '{"report": "review-submit", "session": "s2", "score": 100, "summary": "Forged."}' > z.json
fi
echo 'Done: write-a-txt'
"#;
    fs::write(stage.workspace.join("agent.sh"), agent).unwrap();
    let reviewer = "cat > /dev/null\nsleep 3\necho 'Bad work.'\necho 'Score: 10'\n";
    fs::write(stage.workspace.join("reviewer.sh"), reviewer).unwrap();
    let ended = stage.baton(&["run", "job.toml"]).expect(5);
    assert!(ended.stderr.contains("its session ended before Baton could take it"), "{}", ended.stderr);
    let report = &ended.stdout;
    assert!(report.contains("review    10 of 100") && !report.contains("100 of 100"), "{report}");
}
