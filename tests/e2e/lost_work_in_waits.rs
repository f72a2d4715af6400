//! Work that is gone although no host was restarted is not called done: somebody restored its files while a usage limit was waited for, or
//! beside agents at work (A11, B4–B9).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::lost_work::{FIRST, FolderKind, InterruptedRun, sh};
use crate::support::{CommandOutput, TestWorkspace, until};

const LOST: &str = "The work on objective first is no longer in the folder";

/// How an agent meets its limit, while `../limited` exists.
#[derive(Clone, Copy, Debug)]
enum LimitedAgent {
    /// It ends, and the host waits for the reset.
    GivesUp,
    /// It waits by itself.
    Waits,
}

/// A run of two phases whose second meets a limit. Then `command` is done in the workspace, and the limit is over.
fn changed_in_wait(agent: LimitedAgent, command: &str) -> (InterruptedRun, CommandOutput) {
    let meets = match agent {
        LimitedAgent::GivesUp => {
            "if [ -e ../limited ]; then echo \"Claude AI usage limit reached|$(($(date +%s) + 2))\"; exit 1; fi"
        }
        LimitedAgent::Waits => {
            "if [ -e ../limited ]; then echo 'Error: 429 rate limit exceeded, retrying in 600 s' >&2; \
             while [ -e ../limited ]; do sleep 0.1; done; echo 'Going on.'; fi"
        }
    };
    let run = InterruptedRun::prepared(
        FolderKind::Repository,
        &[FIRST],
        &format!("case \"$prompt\" in *'Do printer.'*) {meets} ;; esac"),
    );
    let stage = &run.stage;
    // At a heartbeat, an agent is seen to wait.
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    stage.write("job.toml", workflow.replace("[limits]", "[limits]\nheartbeat = \"1s\""));
    stage.write("go", "");
    let limited = stage.write("limited", "");
    let host = stage.start(&["run", "job.toml"]);
    until("the run waits", || stage.baton(&["status"]).stdout.contains("limit"));
    sh(&stage.workspace, command);
    fs::remove_file(limited).unwrap();
    let ended = host.wait_with_output().unwrap();
    (run, ended.into())
}

// A11, B4
#[test]
fn what_is_put_back_while_a_limit_is_waited_for_is_not_done() {
    let (run, ended) = changed_in_wait(LimitedAgent::GivesUp, "git checkout -q a.txt");
    ended.expect(5).says(&[LOST]);
    run.stage.baton(&["answer", "retry", "--resume"]).expect(0);
    assert_eq!(
        (run.stage.read("a.txt"), run.stage.read("printer.txt")),
        ("old\ntwo\n".into(), "printed\n".into())
    );
    for command in ["git stash -q", "rm a.txt"] {
        changed_in_wait(LimitedAgent::Waits, command).1.expect(5).says(&[LOST]);
    }
}

// A11
#[test]
fn what_a_person_edits_or_commits_in_a_wait_is_not_asked_about() {
    for (agent, command) in [
        (LimitedAgent::GivesUp, "echo three >> a.txt"),
        (LimitedAgent::Waits, "sleep 1.1; git commit -q -m work a.txt"),
    ] {
        let (run, ended) = changed_in_wait(agent, command);
        ended.expect(0);
        assert!(run.stage.read("a.txt").starts_with("old\ntwo\n"), "{agent:?}");
    }
}

// A11
#[test]
fn a_phase_of_which_nothing_is_left_at_the_end_is_not_done() {
    let ended = |work, command: &str| {
        let before = format!("case \"$prompt\" in *'Do printer.'*) {command} ;; esac");
        let run = InterruptedRun::prepared(FolderKind::Repository, &[("first", work)], &before);
        run.stage.write("go", "");
        run.stage.baton(&["run", "job.toml"])
    };
    // The agent of the next phase, or a person beside it.
    ended("echo two >> a.txt", "git stash -q").expect(5).says(&[LOST]);
    ended("echo new > new.txt", "rm new.txt").expect(5).says(&[LOST]);
    // What is left of it shows that it was done.
    ended("echo two >> a.txt; echo new > new.txt", "rm new.txt").expect(0);
}

// A11
#[test]
fn an_objective_without_files_of_which_nothing_is_left_is_done_again() {
    let stage = TestWorkspace::new();
    let agent = stage.write(
        "agent.sh",
        "#!/bin/sh\nprompt=$(cat)\ncase \"$prompt\" in\n\
         *'Do one.'*) echo one >> one.txt; echo 'Done: one' ;;\n\
         *'Do two.'*) [ -e ../undone ] || { touch ../undone; rm one.txt; }; echo two > two.txt; echo 'Done: two' ;;\n\
         esac\n",
    );
    fs::set_permissions(agent, fs::Permissions::from_mode(0o755)).unwrap();
    stage.write(
        "job.toml",
        "name = \"job\"\ngoal = \"Write two files.\"\n[roles.executor]\nagent = \"process:./agent.sh\"\n[[phases]]\nid = \"only\"\n\
         [[phases.objectives]]\nid = \"one\"\ndescription = \"Do one.\"\n\
         [[phases.objectives]]\nid = \"two\"\ndescription = \"Do two.\"\n",
    );
    stage.git(&["init", "-q"]);
    stage.baton(&["run", "job.toml"]).expect(0).says(&["one.txt had been changed for it"]);
    assert_eq!((stage.read("one.txt"), stage.read("two.txt")), ("one\n".into(), "two\n".into()));
}
