//! Nothing is lost: the host is killed by SIGKILL at commits of its journal and around effects of a fast quickstart, and
//! `baton resume` finishes the work each time. At some of them, and at each one where `BATON_TEST_EVERY_KILL` is set.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::TestWorkspace;
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::view::RunStatus;
use baton_runtime::core::workflow::SandboxLevel;

/// Objectives of the quickstart.
const OBJECTIVES: usize = 8;

/// What an undisturbed run leaves.
fn undisturbed() -> Vec<(String, String)> {
    let stage = TestWorkspace::quickstart();
    stage.baton(&["run", "quickstart.toml"]).expect(0);
    stage.files()
}

/// Kills the host at one point and resumes. False where the run never came to that point.
fn kill_and_resume(flags: &[&str], point: &str, ordinal: u64, expected: &[(String, String)]) -> bool {
    let at = format!("{point}:{ordinal}");
    let stage = TestWorkspace::quickstart();
    let run = [&["run", "quickstart.toml"], flags].concat();
    let killed = stage.baton_with(&run, "BATON_KILL_AT", &at);
    match killed.code {
        Some(0) => return false,
        None => {}
        Some(code) => panic!("{at}: exit code {code} instead of a kill\n{}", killed.stderr),
    }
    if !stage.has_run() {
        // Killed before the run was journaled: nothing was begun, and nothing is there to resume.
        stage.baton(&run).expect(0);
    } else {
        let resumed = stage.baton(&["resume"]);
        // Killed after its last entry, it has ended already.
        let over = resumed.code == Some(2) && resumed.stderr.contains("is over");
        assert!(
            over || resumed.code == Some(0),
            "{at}: {:?}\n{}\n{}",
            resumed.code,
            resumed.stdout,
            resumed.stderr
        );
    }

    let story = stage.story();
    assert_eq!(story.view.status, RunStatus::Ended(RunOutcome::Done), "{at}");
    assert_eq!(story.done().len(), OBJECTIVES, "{at}: an objective was lost");
    for prompt in &story.prompts {
        assert!(prompt.already_done.is_empty(), "{at}: {prompt:?} asks for what is done");
    }
    assert_eq!(stage.files(), expected, "{at}: the workspace differs");
    let twice =
        stage.artifacts().into_iter().find(|saved| saved.name.starts_with("handoffs/") && saved.version > 1);
    assert_eq!(twice, None, "{at}: a handoff was written twice");
    stage.expect_no_process();
    true
}

/// Tries the first ordinal of a point and every `step`-th after it, two at a time, until the run gets through. Each ordinal is tried
/// where `BATON_TEST_EVERY_KILL` is set. Returns how many there were.
fn each(flags: &[&str], point: &str, first: u64, step: u64) -> u64 {
    let (first, step) =
        if std::env::var_os("BATON_TEST_EVERY_KILL").is_some() { (1, 1) } else { (first, step) };
    let expected = undisturbed();
    let next = AtomicU64::new(first);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut survived = 0;
                    while kill_and_resume(flags, point, next.fetch_add(step, Ordering::Relaxed), &expected) {
                        survived += 1;
                    }
                    survived
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    })
}

#[test]
fn killed_after_any_commit() {
    let commits = each(&[], "commit", 1, 3);
    assert!(commits > 16, "only {commits} commits were tried");
}

// What was written and is not committed is as if it never was, so this differs from the test above only in what the
// agents have done meanwhile: some of them are enough.
#[test]
fn killed_before_a_commit() {
    let commits = each(&[], "before-commit", 2, 6);
    assert!(commits > 8, "only {commits} commits were tried");
}

// Before the odd effects and after the even ones: between two effects nothing but commits happens.
#[test]
fn killed_before_any_effect() {
    let effects = each(&[], "effect-before", 1, 2);
    assert!(effects > 10, "only {effects} effects were tried");
}

#[test]
fn killed_after_any_effect() {
    let effects = each(&[], "effect-after", 2, 2);
    assert!(effects > 10, "only {effects} effects were tried");
}

// Every session and every command has a boundary of its own then, with a proxy, a watcher and a folder.
#[test]
fn killed_while_agents_are_confined() {
    // N6
    if !crate::sandbox::can(SandboxLevel::Strict) {
        return;
    }
    let strict = ["--sandbox", "strict"];
    let effects = each(&strict, "effect-after", 1, 7);
    assert!(effects > 3, "only {effects} effects were tried");
    let commits = each(&strict, "commit", 1, 20);
    assert!(commits > 3, "only {commits} commits were tried");
    eprintln!("killed {} times while agents were confined", effects + commits);
}
