//! Before a run ends, it is looked whether anything is left of what its finished phases changed: an agent of a later phase, a check or a person
//! may have taken it back at any moment (A11).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::lost_work::sh;
use crate::support::{CommandOutput, TestWorkspace};

const LOST: &str = "The work on objective first is no longer in the folder";

/// One with an objective `first`, and what the workflow says of it beside its id.
const FIRST: &str =
    "[[phases]]\nid = \"one\"\nobjectives = [{ id = \"first\", description = \"Do first.\" }]\n";
const SECOND: &str =
    "[[phases]]\nid = \"two\"\nobjectives = [{ id = \"second\", description = \"Do second.\" }]\n";

/// A run in a repository with `base.txt` and `other.txt`. Its agent does by objective what `cases` say in a shell.
fn run(phases: &str, cases: &[(&str, &str)]) -> (TestWorkspace, CommandOutput) {
    let stage = TestWorkspace::new();
    sh(
        &stage.workspace,
        "git init -q -b main; echo old | tee base.txt > other.txt; git add -A; git commit -qm begin",
    );
    let cases: String =
        cases.iter().map(|(id, does)| format!("*'Do {id}.'*) {does}; echo 'Done: {id}' ;;\n")).collect();
    let script = format!("#!/bin/sh\nprompt=$(cat)\ncase \"$prompt\" in\n{cases}esac\n");
    let agent = stage.write("agent.sh", script);
    fs::set_permissions(agent, fs::Permissions::from_mode(0o755)).unwrap();
    stage.write(
        "job.toml",
        format!(
            "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nagent = \"process:./agent.sh\"\n{phases}"
        ),
    );
    let ended = stage.baton(&["run", "job.toml"]);
    (stage, ended)
}

// A11
#[test]
fn a_phase_of_many_files_that_the_next_one_removes_is_asked_about() {
    let many = "mkdir out; for i in $(seq 600); do echo x > out/$i; done";
    let phases = [FIRST, SECOND].concat();
    run(&phases, &[("first", many), ("second", "rm -r out; echo two > two.txt")]).1.expect(5).says(&[LOST]);
    run(&phases, &[("first", many), ("second", "rm -r out/1*; echo two > two.txt")]).1.expect(0);
}

// A11, D12
#[test]
fn what_a_check_takes_away_is_asked_about() {
    // Of an earlier phase, of its own, and one file among others.
    let checked = |head: &str, verify: &str| format!("{head}verify = \"{verify}\"\n");
    let (first, second) = (("first", "echo one > one.txt"), ("second", "echo two > two.txt"));
    let phases = [FIRST, &checked(SECOND, "rm -f one.txt")].concat();
    run(&phases, &[first, second]).1.expect(5).says(&[LOST]);
    run(&checked(FIRST, "rm -f one.txt"), &[first]).1.expect(5).says(&[LOST]);
    let named = FIRST.replace("\"Do first.\"", "\"Do first.\", files = [\"base.txt\"]");
    let does = ("first", "echo new > base.txt; echo one > one.txt");
    let (stage, ended) = run(&checked(&named, "git checkout -q base.txt"), &[does]);
    ended.expect(5).says(&["its commands passed, and after them", "base.txt had been changed for it"]);
    assert_eq!(stage.read("one.txt"), "one\n");
    run(&checked(&named, "grep -q new base.txt"), &[does]).1.expect(0);
    let named = FIRST.replace("\"Do first.\"", "\"Do first.\", files = [\"one.txt\"]");
    run(&[&named, &checked(SECOND, "git clean -fdq")[..]].concat(), &[first, second])
        .1
        .expect(5)
        .says(&[LOST, "one.txt"]);
}

// A11: a file that was there before counted as changed when it was gone or empty.
#[test]
fn a_changed_file_that_is_removed_or_emptied_later_is_asked_about() {
    let phases = [FIRST, SECOND].concat();
    let first = ("first", "echo new > base.txt");
    for takes in ["rm base.txt", ": > base.txt"] {
        let second = format!("{takes}; echo two > two.txt");
        run(&phases, &[first, ("second", &second)]).1.expect(5).says(&[LOST]);
        run(&format!("{FIRST}verify = \"{takes}\"\n"), &[first]).1.expect(5).says(&[LOST]);
    }
    // What the phase itself removed or emptied is its work.
    run(FIRST, &[("first", "rm base.txt; : > other.txt")]).1.expect(0);
}

// A11, B10
#[test]
fn what_all_walks_of_a_loop_left_and_a_later_phase_removes_is_asked_about() {
    let again = SECOND.replace(
        "objectives",
        "verify = \"test $(wc -l < one.txt) = 2\"\nrepeat = { from = \"one\", at_most = 3 }\nobjectives",
    );
    let last = "[[phases]]\nid = \"last\"\nobjectives = [{ id = \"third\", description = \"Do third.\" }]\n";
    let phases = [FIRST, &again, last].concat();
    let of_loop = [("first", "echo one >> one.txt"), ("second", "echo two >> two.txt")];
    let ended = |does| run(&phases, &[&of_loop[..], &[("third", does)]].concat());
    ended("rm one.txt; echo three > three.txt").1.expect(5).says(&[LOST]);
    let (stage, kept) = ended("echo three > three.txt");
    kept.expect(0);
    assert_eq!(stage.read("one.txt"), "one\none\n");
}

// A11
#[test]
fn a_named_file_that_a_later_phase_puts_back_is_asked_about() {
    let named = FIRST.replace("\"Do first.\"", "\"Do first.\", files = [\"base.txt\", \"other.txt\"]");
    let does = ("first", "echo one | tee base.txt > other.txt");
    let back = ("second", "git checkout -q base.txt other.txt; echo two >> base.txt");
    let of_second =
        |files: &str| SECOND.replace("\"Do second.\"", &format!("\"Do second.\", files = {files}"));
    run(&[&named, &of_second("[\"base.txt\"]")[..]].concat(), &[does, back])
        .1
        .expect(5)
        .says(&[LOST, "other.txt"]);
    // It is this phase that is to change it.
    run(
        &[&named, &of_second("[\"base.txt\", \"other.txt\"]")[..]].concat(),
        &[does, ("second", "echo two | tee base.txt > other.txt")],
    )
    .1
    .expect(0);
}
