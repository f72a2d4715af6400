//! Work that is gone when a run is resumed is not called done: its files were put back, or the folder was restored or cloned again (A11).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::{CommandOutput, TestWorkspace, until};

/// How the folder is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FolderKind {
    Plain,
    Repository,
    /// With changes that are not committed when the run begins.
    ChangedRepository,
    LinkedWorktree,
    PartOfRepository,
}

/// A run whose host ended while the agent of its last phase was at work. The phases before it, named by their objectives, have done their
/// part: what the shell commands of `work` do.
pub(crate) struct InterruptedRun {
    pub(crate) stage: TestWorkspace,
    kind: FolderKind,
}

pub(crate) fn sh(folder: &Path, command: &str) {
    let identity = ["t", "t@example.org"];
    let done = Command::new("sh")
        .args(["-ec", command])
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs([("GIT_AUTHOR_NAME", identity[0]), ("GIT_COMMITTER_NAME", identity[0])])
        .envs([("GIT_AUTHOR_EMAIL", identity[1]), ("GIT_COMMITTER_EMAIL", identity[1])])
        .status()
        .unwrap();
    assert!(done.success(), "{command}");
}

impl InterruptedRun {
    pub(crate) fn new(kind: FolderKind, work: &[(&str, &str)], is_killed: bool) -> Self {
        let run = Self::prepared(kind, work, "");
        run.interrupt(&["run", "job.toml"], is_killed);
        run
    }

    /// The agent does the work and says that it is not done, and a person accepts it as it is.
    fn accepted(kind: FolderKind, work: (&str, &str), is_killed: bool) -> Self {
        let (id, does) = work;
        let denies =
            format!("if [ -e ../denies ]; then {does}; echo 'Not done: {id}: there is no key'; exit 0; fi");
        let run = Self::prepared(kind, &[work], &denies);
        let mark = run.stage.write("denies", "");
        run.stage.baton(&["run", "job.toml"]).expect(5);
        fs::remove_file(mark).unwrap();
        run.stage.baton(&["answer", "accept"]).expect(0);
        run.interrupt(&["resume"], is_killed);
        run
    }

    /// `before` comes before everything else that an agent does.
    pub(crate) fn prepared(kind: FolderKind, work: &[(&str, &str)], before: &str) -> Self {
        let mut stage = TestWorkspace::new();
        let top = stage.workspace.clone();
        if kind == FolderKind::PartOfRepository {
            stage.workspace = top.join("part");
        }
        let files = "mkdir -p PART; printf 'old\\n' > PART/a.txt; head -c 1500000 /dev/zero > PART/large.bin";
        let files = files.replace("PART", if kind == FolderKind::PartOfRepository { "part" } else { "." });
        let commit = "git init -q -b main; printf 'older\\n' > a.txt; git add -A; git commit -qm older";
        let begin = "git add -A; git commit -qm begin; git clone -q --bare . ../origin";
        let outer = stage.path(".");
        match kind {
            FolderKind::Plain => sh(&top, &format!("{files}; cp -a . ../backup")),
            FolderKind::Repository | FolderKind::PartOfRepository => {
                sh(&top, &format!("{commit}; {files}; {begin}"))
            }
            FolderKind::ChangedRepository => {
                sh(&top, &format!("{commit}; {files}; {begin}; printf 'mine\\n' >> a.txt"))
            }
            FolderKind::LinkedWorktree => sh(
                &outer,
                &format!(
                    "rmdir work; mkdir repo; cd repo; {commit}; {files}; {begin}; git worktree add -q -b side ../work"
                ),
            ),
        }
        let objectives: Vec<&str> = work.iter().map(|(objective, _)| *objective).chain(["printer"]).collect();
        let phases: String = objectives
            .iter()
            .map(|id| {
                format!("[[phases]]\nid = \"p-{id}\"\nobjectives = [{{ id = \"{id}\", description = \"Do {id}.\" }}]\n")
            })
            .collect();
        stage.write(
            "job.toml",
            format!(
                "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nagent = \"process:./agent.sh\"\n\
                 [limits]\nretries = 0\nbackoff = \"0s\"\n{phases}"
            ),
        );
        let cases: String =
            work.iter().map(|(id, does)| format!("*'Do {id}.'*) {does}; echo 'Done: {id}' ;;\n")).collect();
        let go = stage.path("go").display().to_string();
        let program = stage.write(
            "agent.sh",
            format!(
                "#!/bin/sh\nprompt=$(cat)\n{before}\ncase \"$prompt\" in\n{cases}*) while [ ! -e '{go}' ]; do sleep 0.1; done; \
                 echo printed > printer.txt; echo 'Done: printer' ;; esac\n"
            ),
        );
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { stage, kind }
    }

    /// Goes on until the agent of the last phase is at work, and ends the host.
    fn interrupt(&self, command: &[&str], is_killed: bool) {
        let stage = &self.stage;
        let mut host = stage.start(command);
        until("the last phase works", || stage.has_sessions_of("p-printer"));
        match is_killed {
            true => host.kill().unwrap(),
            false => drop(stage.baton(&["stop"]).expect(0)),
        }
        host.wait().unwrap();
        until("the host is gone", || stage.processes().is_empty() && stage.state().lock().is_ok());
    }

    /// Deletes the folder, and makes it again as it was when the run began.
    fn make_folder_again(&self) {
        let command = match self.kind {
            FolderKind::Plain => "rm -rf work; cp -a backup work",
            FolderKind::Repository | FolderKind::ChangedRepository | FolderKind::PartOfRepository => {
                "rm -rf work; git clone -q origin work"
            }
            FolderKind::LinkedWorktree => {
                "cd repo; git worktree remove --force ../work; git worktree add -q ../work side"
            }
        };
        sh(&self.stage.path("."), command);
    }

    pub(crate) fn resume(&self) -> CommandOutput {
        self.stage.write("go", "");
        self.stage.baton(&["resume"])
    }

    /// It asks about these objectives, and the work is done again.
    #[track_caller]
    pub(crate) fn asks_about(&self, objectives: &[&str]) {
        let resumed = self.resume();
        assert_ne!(resumed.code, Some(0), "{:?}: {}", self.kind, resumed.stderr);
        let asks = |objective: &&str| {
            resumed.stderr.contains(&format!("The work on objective {objective} is no longer in the folder"))
        };
        assert!(objectives.iter().all(asks), "{:?}: {}", self.kind, resumed.stderr);
    }

    #[track_caller]
    pub(crate) fn asks_nothing(&self) {
        let resumed = self.resume().expect(0);
        assert!(!resumed.stderr.contains("no longer in the folder"), "{}", resumed.stderr);
    }
}

pub(crate) const FIRST: (&str, &str) = ("first", "echo two >> a.txt");
const AGAIN: (&str, &str) = ("again", "echo three >> a.txt");

// A11
#[test]
fn work_in_a_folder_that_was_made_again_is_not_done_after_a_crash() {
    for kind in
        [FolderKind::Plain, FolderKind::Repository, FolderKind::LinkedWorktree, FolderKind::PartOfRepository]
    {
        let run = InterruptedRun::new(kind, &[FIRST], true);
        run.make_folder_again();
        run.asks_about(&["first"]);
        run.stage.baton(&["answer", "retry", "--resume"]).expect(0);
        assert_eq!(run.stage.read("a.txt"), "old\ntwo\n");
    }
}

// A11
#[test]
fn work_that_was_put_back_is_not_done() {
    for is_killed in [false, true] {
        let run = InterruptedRun::new(FolderKind::Repository, &[FIRST], is_killed);
        run.stage.git(&["checkout", "-q", "a.txt"]);
        run.asks_about(&["first"]);
    }
}

// A11
#[test]
fn every_phase_whose_work_on_a_file_is_gone_is_asked_about() {
    for is_killed in [false, true] {
        let run = InterruptedRun::new(FolderKind::Repository, &[FIRST, AGAIN], is_killed);
        assert_eq!(run.stage.read("a.txt"), "old\ntwo\nthree\n");
        run.make_folder_again();
        let resumed = run.resume();
        assert_ne!(resumed.code, Some(0), "{}", resumed.stderr);
        let status = run.stage.baton(&["status"]);
        for objective in ["first", "again"] {
            let words = format!("The work on objective {objective} is no longer in the folder");
            assert!(
                format!("{}{}", resumed.stderr, status.stdout).contains(&words),
                "{words}: {}",
                resumed.stderr
            );
        }
    }
    // As the first one left it: only the second has lost something.
    let run = InterruptedRun::new(FolderKind::Repository, &[FIRST, AGAIN], true);
    fs::write(run.stage.workspace.join("a.txt"), "old\ntwo\n").unwrap();
    run.asks_about(&["again"]);
    let status = run.stage.baton(&["status"]);
    assert!(!status.stdout.contains("objective first is no longer"), "{}", status.stdout);
}

// A11
#[test]
fn a_large_file_that_is_as_before_is_not_done() {
    let work = ("first", "printf zz | dd of=large.bin conv=notrunc 2> /dev/null");
    let run = InterruptedRun::new(FolderKind::Repository, &[work], false);
    run.stage.git(&["reset", "-q", "--hard"]);
    run.asks_about(&["first"]);
}

// A11
#[test]
fn a_folder_that_was_cloned_at_an_older_commit_has_no_finished_work() {
    let run = InterruptedRun::new(FolderKind::Repository, &[FIRST], true);
    run.make_folder_again();
    run.stage.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(run.stage.read("a.txt"), "older\n");
    run.asks_about(&["first"]);
}

// A11
#[test]
fn what_git_restores_to_a_commit_is_not_done() {
    for is_killed in [false, true] {
        for restore in ["checkout -q .", "stash -q", "reset -q --hard HEAD~1"] {
            let run = InterruptedRun::new(FolderKind::ChangedRepository, &[FIRST], is_killed);
            assert_eq!(run.stage.read("a.txt"), "old\nmine\ntwo\n");
            sh(&run.stage.workspace, &format!("git {restore}"));
            run.asks_about(&["first"]);
        }
        // Another branch, which has what no measurement found.
        let run = InterruptedRun::new(FolderKind::Repository, &[FIRST], is_killed);
        let other = "git checkout -q -f -b other HEAD~1; echo other > a.txt; git commit -q -m other a.txt";
        sh(&run.stage.workspace, other);
        run.asks_about(&["first"]);
    }
}

// A11
#[test]
fn files_that_are_only_counted_are_missed_as_well() {
    let work = ("many", "for i in $(seq 1000 1620); do echo work > n$i.txt; done");
    for kind in [FolderKind::Plain, FolderKind::Repository] {
        let run = InterruptedRun::new(kind, &[work, FIRST], false);
        sh(&run.stage.workspace, "rm n16*.txt");
        run.asks_about(&["many"]);
        InterruptedRun::new(kind, &[work], true).asks_nothing();
    }
}

// A11
#[test]
fn what_the_user_commits_is_not_asked_about() {
    for kind in [FolderKind::Repository, FolderKind::ChangedRepository] {
        let run = InterruptedRun::new(kind, &[FIRST], false);
        // A commit of the second in which it was measured may be older.
        let commit =
            "sleep 1.1; git commit -q -m work a.txt; echo better >> a.txt; git commit -q -m better a.txt";
        sh(&run.stage.workspace, commit);
        run.asks_nothing();
    }
}

// A11
#[test]
fn what_the_user_edits_or_leaves_as_it_is_is_not_asked_about() {
    for is_killed in [false, true] {
        InterruptedRun::new(FolderKind::Plain, &[FIRST, AGAIN], is_killed).asks_nothing();
        let run = InterruptedRun::new(FolderKind::Repository, &[FIRST, AGAIN], is_killed);
        fs::write(run.stage.workspace.join("a.txt"), "old\ntwo\nthree, better\n").unwrap();
        run.asks_nothing();
        // The same files in a folder that was copied.
        let run = InterruptedRun::new(FolderKind::Plain, &[FIRST], is_killed);
        sh(&run.stage.path("."), "cp -a work copy; rm -rf work; mv copy work");
        run.asks_nothing();
    }
}

// A11
#[test]
fn what_a_person_accepted_and_is_gone_is_put_to_them_once_more() {
    const ASKED: &str = "The work on objective first, which a person accepted, is no longer in the folder";
    let work = ("first", "printf 'old\\ntwo\\n' > a.txt");
    for is_killed in [false, true] {
        let run = InterruptedRun::accepted(FolderKind::Repository, work, is_killed);
        assert_eq!(run.stage.read("a.txt"), "old\ntwo\n");
        run.stage.git(&["checkout", "-q", "a.txt"]);
        let resumed = run.resume().expect(5);
        assert!(resumed.stderr.contains(ASKED), "{}", resumed.stderr);
        assert_eq!(run.stage.read("a.txt"), "old\n", "no agent does it again by itself");
        // Nothing is asked a second time about the same loss.
        run.stage.baton(&["answer", "accept"]).expect(0);
        run.asks_nothing();
        assert_eq!(run.stage.read("a.txt"), "old\n");
    }
    // What is there, and what was accepted without any work.
    InterruptedRun::accepted(FolderKind::Repository, work, true).asks_nothing();
    let run = InterruptedRun::accepted(FolderKind::Repository, ("first", ":"), true);
    run.make_folder_again();
    run.asks_nothing();
}
