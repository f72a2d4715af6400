//! What the command line gives a run beyond its sentence or file: a check that is found, variables, commands, another agent.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use baton_runtime::core::facts::RefusalKind;

use crate::support::{CommandOutput, TestWorkspace};

const PLAYED: [&str; 4] = ["--agent", "rehearsal", "--script", "../script.toml"];

/// A stage whose rehearsal plays these steps for the sentence "Write h.txt".
fn stage(steps: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    stage.write(
        "script.toml",
        format!("window_tokens = 100000\n[objectives.write-h-txt]\nsteps = [{steps}]\n"),
    );
    stage
}

fn writes() -> TestWorkspace {
    stage("{ write = \"h.txt\", content = \"done\" }, { say = \"h.txt is written, as it was asked for.\" }")
}

/// `baton` in the workspace, as a person would call it, with these variables.
fn with(stage: &TestWorkspace, arguments: &[&str], variables: &[(&str, &str)]) -> CommandOutput {
    let mut command = stage.command(&[]);
    command.args(arguments).current_dir(&stage.workspace).arg("--state-dir").arg(stage.state_root());
    command.envs(variables.iter().copied()).output().unwrap().into()
}

fn baton(stage: &TestWorkspace, arguments: &[&str]) -> CommandOutput {
    with(stage, arguments, &[])
}

#[test]
fn a_sentence_is_checked_by_the_tests_of_the_project_unless_it_is_to_be_without() {
    let stage = writes();
    fs::write(stage.workspace.join("Makefile"), "test:\n\ttest -s h.txt\n").unwrap();
    let ended = baton(&stage, &[&["do", "Write h.txt"][..], &PLAYED].concat()).expect(0);
    let ended = ended.says(&["check: found `make test`", "--no-check"]);
    assert!(!ended.stderr.contains("found:"), "{}", ended.stderr);
    assert_eq!(stage.story().view.phases[0].verified, Some(true));
    let without = baton(&stage, &[&["do", "Write h.txt", "--no-check"][..], &PLAYED].concat()).expect(0);
    assert!(!without.stderr.contains("check:"), "{}", without.stderr);
    assert_eq!(stage.story().view.phases[0].verified, None);
    baton(&stage, &["do", "Write h.txt", "--no-check", "--check", "true"]).expect(2).says(&["--no-check"]);
}

#[test]
fn a_sentence_without_any_check_says_so() {
    let stage = writes();
    let says = "found no command that checks the work: name one with --check";
    baton(&stage, &[&["do", "Write h.txt", "--dry-run"][..], &PLAYED].concat()).expect(0).says(&[says]);
    baton(&stage, &[&["do", "Write h.txt"][..], &PLAYED].concat()).expect(0).says(&[says]);
    let without = baton(&stage, &[&["do", "Write h.txt", "--no-check"][..], &PLAYED].concat()).expect(0);
    assert!(!without.stderr.contains(says), "{}", without.stderr);
    assert!(!without.stderr.contains("are compiled"), "they are in the cache by now: {}", without.stderr);
}

#[test]
fn a_call_that_a_role_refused_is_in_the_report_and_in_what_programs_read() {
    let stage = stage(
        "{ ask = \"Bash make test\" }, { ask = \"Bash make test\" }, { write = \"h.txt\", content = \"done\" }, \
         { say = \"h.txt is written, as it was asked for.\" }",
    );
    let ended = baton(&stage, &[&["do", "Write h.txt"][..], &PLAYED].concat()).expect(0);
    let ended = ended.says(&["refused", "its role does not allow it", "--allow 'make test'"]);
    assert!(ended.stdout.contains(" calls by a role: Bash make test\n"), "{}", ended.stdout);
    let report = stage.baton(&["report"]).expect(0).stdout;
    assert!(report.contains("not allowed by its role: to call Bash make test"), "{report}");
    let json = stage.baton(&["status", "--format", "json"]).expect(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let session = &json["view"]["phases"][0]["sessions"][0];
    // Each time is counted, and each call named once.
    assert!(
        session["refused_calls"].as_u64() >= Some(2) && session["refused"][0]["kind"] == "call",
        "{json}"
    );
    let refused = &stage.story().view.phases[0].sessions[0].refused;
    assert!(refused.len() == 1 && refused[0].kind == RefusalKind::Call, "{refused:?}");
}

/// A program that needs a variable, and writes what it holds.
fn needy() -> TestWorkspace {
    let stage = TestWorkspace::new();
    let agent = stage.workspace.join("agent.sh");
    fs::write(
        &agent,
        "#!/bin/sh\ncat > /dev/null\ntest -n \"$MY_TOKEN\" || { echo 'MY_TOKEN is missing' >&2; exit 3; }\n\
         echo \"It is $MY_TOKEN.\" > h.txt\necho 'h.txt is written.'\necho 'Done: write-h-txt'\n",
    )
    .unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    stage
}

#[test]
fn a_variable_is_handed_over_when_a_run_begins_and_when_it_is_answered() {
    let needs = ["do", "Write h.txt", "--check", "test -s h.txt", "--agent", "process:./agent.sh"];
    let variables = [("MY_TOKEN", "seven")];
    let stage = needy();
    with(&stage, &[&needs[..], &["--env", "MY_TOKEN"]].concat(), &variables).expect(0);
    assert_eq!(stage.read("h.txt"), "It is seven.\n");

    let stage = needy();
    with(&stage, &needs, &variables).expect(5);
    with(&stage, &["answer", "retry", "--env", "MY_TOKEN"], &variables).expect(2).says(&["--resume"]);
    with(&stage, &["answer", "retry", "--resume", "--env", "MY_TOKEN"], &variables).expect(0);
    assert_eq!(stage.read("h.txt"), "It is seven.\n");

    baton(&stage, &["do", "Write x.txt", "--env", "A=1"]).expect(2).says(&["--env MY_TOKEN"]);
    baton(&stage, &["do", "Write x.txt", "--allow", "$(x)"]).expect(2).says(&["--allow 'make test'"]);
}

#[test]
fn a_refused_command_is_allowed_when_the_run_goes_on_as_its_report_says() {
    let asks = "{ ask = \"Bash echo 'a b' >> log; ls\" }, { say = \"I could not write h.txt.\" }";
    let stage = stage(asks);
    let paused = baton(&stage, &[&["do", "Write h.txt", "--check", "test -s h.txt"][..], &PLAYED].concat());
    let flag = r"--allow 'echo '\''a b'\'' >> log; ls'";
    let paused = paused.expect(5).says(&["its role does not allow it", flag]);
    let hint = format!("retry {flag} --resume");
    assert!(paused.stdout.contains(&hint), "{}", paused.stdout);
    let allow = ["--allow", "echo 'a b' >> log; ls"];
    baton(&stage, &[&["answer", "retry"][..], &allow].concat()).expect(2).says(&["--resume"]);
    let before = stage.story().view.phases[0].sessions.len();
    baton(&stage, &[&["answer", "retry", "--resume"][..], &allow].concat());
    let sessions = &stage.story().view.phases[0].sessions;
    assert!(sessions.len() > before, "{sessions:?}");
    assert!(sessions[before..].iter().all(|session| session.refused_calls == 0), "{sessions:?}");
}

#[test]
fn a_command_that_is_allowed_is_in_the_plan_of_the_run() {
    let stage = TestWorkspace::new();
    let plan =
        ["do", "Write h.txt", "--agent", "claude", "--allow", "make lint", "--env", "MY_TOKEN", "--dry-run"];
    let planned = baton(&stage, &plan).expect(0).stdout;
    assert!(planned.contains("make lint"), "{planned}");
    let reads = baton(&stage, &[&plan[..], &["--permission", "read-only"]].concat()).expect(0).stdout;
    assert!(reads.contains("read-only: reads the workspace"), "{reads}");
}

// D8
#[test]
fn another_agent_takes_over_a_run_that_none_has_worked_on() {
    let stage = writes();
    baton(&stage, &["do", "Write h.txt", "--agent", "acp:/nowhere/agent"]).expect(5);
    let first = stage.story().view.run;
    let ended = baton(&stage, &[&["do", "Write h.txt"][..], &PLAYED].concat()).expect(0);
    ended.says(&["began without `--agent rehearsal`", "no agent has worked on it yet", "is set aside"]);
    assert_ne!(stage.story().view.run, first);
    assert_eq!(stage.read("h.txt"), "done\n");
}

// D8
#[test]
fn another_agent_never_goes_on_in_silence_with_the_run_of_the_first() {
    let stage = writes();
    let fails = ["do", "Write h.txt", "--check", "false"];
    baton(&stage, &[&fails[..], &PLAYED].concat()).expect(5);
    let other = ["--agent", "acp:./my agent", "--allow", "make *"];
    let restart = "baton do 'Write h.txt' --check false --agent 'acp:./my agent' --allow 'make *' --restart";
    let ended = baton(&stage, &[&fails[..], &other].concat()).expect(5);
    ended.says(&["It began without `--agent 'acp:./my agent' --allow 'make *'`", restart]);
    baton(&stage, &["answer", "retry"]).expect(0);
    let ended = baton(&stage, &[&fails[..], &other].concat()).expect(2);
    ended.says(&["and this command does not change that: leave it out", restart]);
    // The same flags as before are no other run.
    let same = baton(&stage, &[&fails[..], &PLAYED].concat()).expect(5);
    assert!(!same.stderr.contains("began without"), "{}", same.stderr);
}

// D8
#[test]
fn an_older_run_is_answered_by_its_name_whatever_ran_since() {
    let needs = ["do", "Write h.txt", "--check", "test -s h.txt", "--agent", "process:./agent.sh"];
    let stage = needy();
    let script = "window_tokens = 100000\n[objectives.write-i-txt]\nsteps = [{ write = \"i.txt\", content = \"i\" }, \
                  { say = \"i.txt is written, as it was asked for.\" }]\n";
    stage.write("script.toml", script);
    baton(&stage, &needs).expect(5);
    let older = stage.story().view.run.to_string();
    baton(&stage, &[&["do", "Write i.txt", "--no-check"][..], &PLAYED].concat()).expect(0);
    let newer = stage.story().view.run.to_string();
    assert_ne!(older, newer);

    let waits = format!("Run {older} waits for an answer, too: baton status {older}");
    let status = baton(&stage, &["status"]).expect(0);
    assert!(status.stdout.contains(&waits), "{}", status.stdout);
    let asks_nothing = format!("run {newer} asks nothing; name the one that you answer: {older}");
    baton(&stage, &["answer", "retry"]).expect(2).says(&[&asks_nothing]);
    let why = "nothing to stop";
    baton(&stage, &["stop", &older]).expect(2).says(&[why]);
    with(&stage, &["answer", &older, "retry", "--resume", "--env", "MY_TOKEN"], &[("MY_TOKEN", "seven")])
        .expect(0);
    assert_eq!(stage.read("h.txt"), "It is seven.\n");
    let status = baton(&stage, &["status"]).expect(0);
    assert!(!status.stdout.contains("waits for an answer"), "{}", status.stdout);

    // In a folder below the workspace, its runs are found.
    let below = stage.workspace.join("below/it");
    fs::create_dir_all(&below).unwrap();
    let mut command = stage.command(&[]);
    command.args(["runs"]).current_dir(&below).arg("--state-dir").arg(stage.state_root());
    let ended: CommandOutput = command.output().unwrap().into();
    let ended = ended.expect(0);
    assert!(ended.stdout.contains(&older) && ended.stdout.contains(&newer), "{}", ended.stdout);
}
