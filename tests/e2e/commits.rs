//! `commit = …`: the host commits what phases and objectives changed, once, and nothing that was there before.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{CommandOutput, TestWorkspace};
use baton_runtime::core::Action;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::store::{Journal, JournalEntry};

/// Two phases of two objectives and one, in a repository with work of somebody's own in it.
fn stage(keys: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    let workflow = format!(
        "name = \"calc\"\n{keys}\n[roles.executor]\nscript = \"script.toml\"\n\
         [[phases]]\ntitle = \"Build it\"\nverify = \"test -s a.txt\"\n\
         do = [{{ id = \"a\", description = \"Write a.txt.\" }}, {{ id = \"b\", description = \"Write b.txt.\" }}]\n\
         [[phases]]\ntitle = \"Tell people\"\ndo = [{{ id = \"c\", description = \"Write c.txt.\" }}]\n"
    );
    stage.write("calc.toml", workflow);
    let script = ["a", "b", "c"].map(|id| {
        format!(
            "[objectives.{id}]\nsteps = [{{ write = \"{id}.txt\", content = \"{id}\" }}, \
             {{ write = \"mine.txt\", content = \"theirs\" }}, {{ say = \"{id}.txt is written.\" }}]\n"
        )
    });
    stage.write("script.toml", format!("window_tokens = 100000\n{}", script.concat()));
    stage.make_repository();
    fs::write(stage.workspace.join("mine.txt"), "mine\n").unwrap();
    stage
}

/// Hooks that would leave a mark, and end a commit.
fn set_traps(stage: &TestWorkspace) {
    for hook in ["pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "reference-transaction"] {
        let path = stage.workspace.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\ntouch '{}'\nexit 1\n", stage.path("sprung").display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn subjects(stage: &TestWorkspace, branch: &str) -> Vec<String> {
    stage.git(&["log", "--reverse", "--format=%s", branch]).lines().map(str::to_owned).collect()
}

#[test]
fn each_phase_is_committed_with_what_shows_it_and_nothing_of_ones_own() {
    let stage = stage("commit = \"phase\"");
    set_traps(&stage);
    let ended = stage.baton(&["run", "calc.toml"]).expect(0);
    assert_eq!(subjects(&stage, "main"), ["begin", "Build it", "Tell people"]);
    assert_eq!(stage.git(&["show", "--format=", "--name-only", "main^"]), "a.txt\nb.txt\n");
    let message = stage.git(&["log", "-1", "--format=%B", "main^"]);
    let view = stage.story().view;
    let expected = format!(
        "Build it\n\n- Write a.txt. (checked)\n- Write b.txt. (checked)\n\nPassed: test -s a.txt\n\n\
         Baton-Run: {}\nBaton-Phase: build-it\n",
        view.run
    );
    assert_eq!(message.trim_end(), expected.trim_end());
    assert_eq!(stage.git(&["status", "--porcelain"]), "?? mine.txt\n");
    assert!(!stage.path("sprung").exists(), "no hook of the repository runs");
    assert_eq!(view.phases[0].commits[0].id, stage.git(&["rev-parse", "main^"]).trim());
    for told in
        ["Build it (2 files, +2 −0) on main", "not committed, since changed before the run began: mine.txt"]
    {
        assert!(ended.stderr.contains(told), "{told:?} is not in:\n{}", ended.stderr);
    }
    assert!(ended.stdout.contains("Build it (2 files, +2 −0)\n"), "{}", ended.stdout);
}

#[test]
fn objectives_are_committed_on_a_branch_of_the_run() {
    let stage = stage("commit = \"objective\"\ncommit_branch = \"work/{run}\"");
    let main = stage.git(&["rev-parse", "main"]);
    stage.baton(&["run", "calc.toml"]).expect(0);
    let branch = format!("work/{}", stage.story().view.run);
    assert_eq!(stage.git(&["branch", "--show-current"]).trim(), branch);
    assert_eq!(subjects(&stage, &branch), ["begin", "Write a.txt.", "Write b.txt.", "Write c.txt."]);
    assert_eq!(stage.git(&["rev-parse", "main"]), main);
    assert_eq!(stage.git(&["status", "--porcelain"]), "?? mine.txt\n");
}

// D8
#[test]
fn no_commit_is_lost_or_made_twice_where_the_host_is_killed() {
    let undisturbed = stage("commit = \"objective\"");
    undisturbed.baton(&["run", "calc.toml"]).expect(0);
    let expected = subjects(&undisturbed, "main");
    let journal = Journal::open_read_only(&undisturbed.state()).unwrap();
    let run = journal.latest().unwrap().unwrap().run;
    let durable = journal.read(&run).unwrap().filter_map(|entry| match entry.unwrap() {
        JournalEntry::Intent { intent, .. } if intent.action.is_durable() => Some(intent.action),
        _ => None,
    });
    let commits: Vec<usize> = durable
        .enumerate()
        .filter(|(_, action)| matches!(action, Action::CommitToBranch { .. }))
        .map(|(place, _)| place + 1)
        .collect();
    assert_eq!(commits.len(), 3);
    for ordinal in commits {
        for point in ["effect-before", "effect-after"] {
            let stage = stage("commit = \"objective\"");
            set_traps(&stage);
            let at = format!("{point}:{ordinal}");
            let killed: CommandOutput = stage.baton_with(&["run", "calc.toml"], "BATON_KILL_AT", &at);
            assert_eq!(killed.code, None, "{at}: {killed:?}");
            stage.expect_no_process();
            stage.baton(&["run", "calc.toml"]).expect(0);
            assert_eq!(subjects(&stage, "main"), expected, "{at}");
            assert_eq!(stage.git(&["status", "--porcelain"]), "?? mine.txt\n", "{at}");
            assert!(!stage.path("sprung").exists(), "{at}");
            let rows: usize = stage.story().view.phases.iter().map(|phase| phase.commits.len()).sum();
            assert_eq!(rows, 3, "{at}");
        }
    }
}

#[test]
fn what_cannot_be_committed_is_told_and_a_folder_without_git_is_asked_about() {
    let stage = stage("commit = \"phase\"");
    // A person is in the middle of a merge all the time.
    let head = stage.git(&["rev-parse", "HEAD"]);
    fs::write(stage.workspace.join(".git/MERGE_HEAD"), head).unwrap();
    let ended = stage.baton(&["run", "calc.toml"]).expect(1);
    assert!(
        ended.stderr.contains("not committed: a merge is under way in the workspace"),
        "{}",
        ended.stderr
    );
    for told in [
        "Done       3 of 3 objectives",
        "  commit    failed: a merge is under way in the workspace",
        "Commits    failed for build-it, tell-people",
        "git add -A && git commit",
    ] {
        assert!(ended.stdout.contains(told), "{told:?} is not in:\n{}", ended.stdout);
    }
    assert_eq!(stage.story().count(|notice| matches!(notice, ProgressEvent::NotCommitted { .. })), 2);

    let bare = self::stage("commit = \"phase\"");
    fs::remove_dir_all(bare.workspace.join(".git")).unwrap();
    let ended = bare.baton(&["run", "calc.toml"]).expect(5);
    assert!(ended.stderr.contains("`git init` there and retry"), "{}", ended.stderr);
}

/// A run of two phases, the first of which leaves a lock of git behind.
fn locked(lock: &str) -> (TestWorkspace, CommandOutput) {
    let stage = stage("commit = \"phase\"");
    let script = fs::read_to_string(stage.path("script.toml")).unwrap();
    let leaves = format!("[objectives.b]\nsteps = [{{ write = \".git/{lock}\", content = \"\" }}, ");
    let with_lock = script.replacen("[objectives.b]\nsteps = [", &leaves, 1);
    assert_ne!(script, with_lock);
    stage.write("script.toml", with_lock);
    let ended = stage.baton(&["run", "calc.toml"]).expect(1);
    assert!(ended.stdout.contains("Done       3 of 3 objectives"), "{}", ended.stdout);
    (stage, ended)
}

// N6
#[test]
fn a_lock_that_an_agent_leaves_is_no_commit_and_no_success() {
    let (stage, ended) = locked("HEAD.lock");
    assert_eq!(subjects(&stage, "main"), ["begin"]);
    for told in ["HEAD.lock': File exists", "Commits    failed for build-it, tell-people"] {
        assert!(ended.stdout.contains(told), "{told:?} is not in:\n{}", ended.stdout);
    }
    // Looked at later it says the same, and the lock removed, what it says to type commits the work.
    let report = stage.baton(&["report"]).expect(0).stdout;
    assert!(report.contains("Commits    failed for build-it, tell-people"), "{report}");
    fs::remove_file(stage.workspace.join(".git/HEAD.lock")).unwrap();
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-q", "-m", "by hand"]);
    let files = stage.git(&["show", "--format=", "--name-only"]);
    assert!(["a.txt", "b.txt", "c.txt"].iter().all(|file| files.contains(file)), "{files}");
}

// N6
#[test]
fn a_locked_index_is_told_to_lag_behind_the_commit_that_was_made() {
    let (stage, ended) = locked("index.lock");
    assert_eq!(subjects(&stage, "main"), ["begin", "Build it", "Tell people"]);
    for told in ["was made, but the index was not updated", "index.lock': File exists", "git reset"] {
        assert!(ended.stdout.contains(told), "{told:?} is not in:\n{}", ended.stdout);
    }
    fs::remove_file(stage.workspace.join(".git/index.lock")).unwrap();
    stage.git(&["reset", "-q"]);
    assert_eq!(stage.git(&["status", "--porcelain"]), "?? mine.txt\n");
}

#[test]
fn a_sentence_and_a_plan_are_committed_where_one_says_so() {
    let stage = stage("");
    let script = stage.path("script.toml").display().to_string();
    let played = ["--agent", "rehearsal", "--script", &script];
    fs::write(stage.workspace.join("PLAN.md"), "- [ ] Write `a.txt`\n").unwrap();
    let text = fs::read_to_string(&script).unwrap().replace("objectives.a]", "objectives.write-a-txt]");
    stage.write("script.toml", text);
    let plan = stage.workspace.join("PLAN.md").display().to_string();
    stage.baton(&[&["run", &plan, "--commit"][..], &played].concat()).expect(0);
    assert_eq!(stage.git(&["show", "--format=", "--name-only", "main"]), "a.txt\n");
    // The plan is a person's, who commits it.
    assert_eq!(stage.git(&["status", "--porcelain"]), "?? PLAN.md\n?? mine.txt\n");
    assert!(fs::read_to_string(plan).unwrap().contains("[x]"));
    fs::remove_file(stage.workspace.join("a.txt")).unwrap();
    stage.git(&["commit", "-q", "-am", "anew"]);
    stage.baton(&[&["do", "Write", "a.txt", "--commit=objective"][..], &played].concat()).expect(0);
    assert_eq!(stage.git(&["log", "-1", "--format=%s"]), "Write a.txt\n");
    stage
        .baton(&[&["do", "Write", "a.txt", "--commit=often"][..], &played].concat())
        .expect(2)
        .says(&["must be phase"]);
    let of_run = ["do", "Write", "a.txt", "--new", "--commit-branch", "work/{run}"];
    fs::remove_file(stage.workspace.join("a.txt")).unwrap();
    stage.git(&["commit", "-q", "-am", "once more"]);
    let main = stage.git(&["rev-parse", "main"]);
    stage.baton(&[&of_run[..], &played].concat()).expect(0);
    let branch = format!("work/{}", stage.story().view.run);
    assert_eq!(stage.git(&["branch", "--show-current"]).trim(), branch);
    assert_eq!(subjects(&stage, &branch).last().unwrap(), "Write a.txt");
    assert_eq!(stage.git(&["rev-parse", "main"]), main, "whoever names a branch wants commits on it alone");
    for (name, why) in [("a b", "is no name of a branch"), ("baton/x", "is where Baton keeps")] {
        stage
            .baton(&[&["do", "Write", "a.txt", "--commit-branch", name][..], &played].concat())
            .expect(2)
            .says(&[why]);
    }
    stage
        .baton(&[&["do", "Write", "a.txt", "--commit=off", "--commit-branch", "work"][..], &played].concat())
        .expect(2)
        .says(&["leave one of them out"]);
}

#[test]
fn what_a_reviewer_makes_is_not_committed_as_work_that_was_reviewed() {
    // N6, D3: the commit had it, with the line `Reviewed: 95 of 100`.
    let stage = TestWorkspace::new();
    let job = "name = \"job\"\nagent = \"process:sh agent.sh\"\ncommit = \"phase\"\n[roles.reviewer]\nagent = \"process:sh reviewer.sh\"\n\
               [limits]\nretries = 0\n[[phases]]\nid = \"first\"\nreview = \"reviewer\"\nverify = \"test -s a.txt\"\n\
               objectives = [{ id = \"a\", description = \"Write a.txt.\", files = [\"a.txt\"] }]\n";
    stage.write("job.toml", job);
    let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
    // The second round has what the reviewer of the first one left: a cache that stays as it was, and a file that the agent goes on with.
    write(
        "agent.sh",
        "cat > /dev/null\necho x >> a.txt\n[ ! -e case.txt ] || { echo more >> case.txt; echo new > b.txt; }\necho 'Done: a'\n",
    );
    write(
        "reviewer.sh",
        "cat > /dev/null\nif [ -e b.txt ]; then\n  echo evil > evil.txt\n  (sleep 0.2; echo evil > later.txt) &\n  echo 'Score: 95'\n\
         else\n  mkdir -p cache; echo c > cache/a.pyc; echo case > case.txt\n  echo 'Case 3 is missing.'; echo 'Score: 10'\nfi\n",
    );
    stage.make_repository();
    let ended = stage.baton(&["run", "job.toml"]).expect(0);
    ended.says(&["not committed, since made while checking: cache/a.pyc, evil.txt"]);
    let committed = stage.git(&["show", "--format=%B", "--name-only"]);
    assert!(committed.contains("Reviewed: 95 of 100"), "{committed}");
    for (file, is_in) in [
        ("a.txt", true),
        ("b.txt", true),
        ("case.txt", true),
        ("evil.txt", false),
        ("later.txt", false),
        ("a.pyc", false),
    ] {
        assert_eq!(committed.contains(file), is_in, "{file}: {committed}");
    }
}
