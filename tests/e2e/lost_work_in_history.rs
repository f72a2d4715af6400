//! Work that is gone when a run is resumed is not called done: something older than the run, or a commit of others, is in its place (A11).

use std::fs;

use baton_runtime::core::Digest;

use crate::lost_work::{FIRST, FolderKind, InterruptedRun, sh};

/// Ends the host at once, with the work of phase `first` done, and changes the folder.
fn changed(kind: FolderKind, work: (&str, &str), command: &str) -> InterruptedRun {
    let run = InterruptedRun::new(kind, &[work], true);
    sh(&run.stage.workspace, command);
    run
}

// A11
#[test]
fn a_commit_that_came_in_the_place_of_the_work_is_not_the_work() {
    let upstream = "git clone -q ../origin ../other; cd ../other; echo upstream > a.txt; git commit -qam upstream; git push -q";
    let pull = "git stash -q; git pull -q --ff-only ../origin main";
    changed(FolderKind::Repository, FIRST, &format!("({upstream}); {pull}")).asks_about(&["first"]);
    // The work is on a branch that is not checked out.
    let work = ("first", "echo work > a.txt; echo new > new.txt");
    let other = "git checkout -q -b work; git add -A; git commit -qm work; git checkout -q main; echo hot > a.txt; echo mine > new.txt; \
                 git add -A; git commit -qm hotfix";
    changed(FolderKind::Repository, work, other).asks_about(&["first"]);
    // What comes beside the work takes nothing from it.
    let beside = upstream.replace("a.txt", "beside.txt").replace("git commit", "git add -A; git commit");
    changed(FolderKind::Repository, FIRST, &format!("({beside}); git pull -q --ff-only ../origin main"))
        .asks_nothing();
}

// A11
#[test]
fn work_in_a_branch_that_the_user_rewrites_is_still_there() {
    let upstream = "git clone -q ../origin ../other; cd ../other; echo up > up.txt; git add -A; git commit -qm up; git push -q";
    let rebase =
        format!("git commit -qam work; ({upstream}); git fetch -q ../origin main; git rebase -q FETCH_HEAD");
    let amend = "echo three >> a.txt; git commit -qa --amend -m better".to_owned();
    for command in [format!("{rebase}; echo three >> a.txt"), format!("{rebase}; {amend}"), amend] {
        // A commit of the second in which it was measured may be older.
        let run = changed(FolderKind::Repository, FIRST, &format!("sleep 1.1; {command}"));
        run.asks_nothing();
        assert_eq!(run.stage.read("a.txt"), "old\ntwo\nthree\n", "{command}");
    }
    // The commit is amended, and the work is not in it.
    let hotfix = "git reset -q --hard; echo hot > a.txt; git commit -qa --amend -m hotfix";
    changed(FolderKind::Repository, FIRST, hotfix).asks_about(&["first"]);
}

// A11
#[test]
fn a_file_that_is_older_than_the_run_is_not_the_work() {
    // Restored in place, with its times, from before the last edit that came before the run.
    let restored = "echo older > a.txt; touch -d '2 days ago' a.txt";
    changed(FolderKind::Plain, FIRST, restored).asks_about(&["first"]);
    // A commit before that of the baseline; HEAD stays.
    changed(FolderKind::Repository, FIRST, "git checkout -q HEAD~1 -- a.txt").asks_about(&["first"]);
}

// A11
#[test]
fn an_answer_that_would_end_the_run_looks_for_the_work_first() {
    const ASKED: &str = "The work on objective first is no longer in the folder";
    for resume in [&[][..], &["--resume"]] {
        let asks = "case \"$prompt\" in *'Do printer.'*) echo 'Which format, CSV or JSON?'; exit 0 ;; esac";
        let run = InterruptedRun::prepared(FolderKind::Repository, &[FIRST], asks);
        run.stage.baton(&["run", "job.toml"]).expect(5);
        run.stage.git(&["stash", "-q"]);
        let answered = run.stage.baton(&[&["answer", "skip"], resume].concat());
        answered.expect(if resume.is_empty() { 0 } else { 5 });
        let status = run.stage.baton(&["status"]);
        assert!(status.stdout.contains(ASKED), "{}", status.stdout);
        // It ends once a person has said what holds.
        run.stage.git(&["stash", "pop", "-q"]);
        let ended = run.stage.baton(&["answer", "accept", "--resume"]);
        assert!(!ended.stderr.contains(ASKED), "{}", ended.stderr);
        assert_eq!(run.stage.read("a.txt"), "old\ntwo\n");
    }
    // With the work in its place, the answer is the last word.
    let asks = "case \"$prompt\" in *'Do printer.'*) echo 'Which format, CSV or JSON?'; exit 0 ;; esac";
    let run = InterruptedRun::prepared(FolderKind::Repository, &[FIRST], asks);
    run.stage.baton(&["run", "job.toml"]).expect(5);
    run.stage.baton(&["answer", "skip"]).expect(0);
    let status = run.stage.baton(&["status"]);
    assert!(!status.stdout.contains(ASKED), "{}", status.stdout);
}

// A11
#[test]
fn what_cannot_be_read_of_a_phase_is_asked_about() {
    let empty = |run: &InterruptedRun, kind: &str| {
        let folder = run.stage.state().sessions();
        let mut emptied = 0;
        for entry in fs::read_dir(folder)
            .unwrap()
            .flat_map(|run| fs::read_dir(run.unwrap().path()).into_iter().flatten())
        {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_str().unwrap().starts_with(kind) {
                fs::write(path, "").unwrap();
                emptied += 1;
            }
        }
        assert!(emptied > 0);
    };
    let run = changed(FolderKind::Plain, FIRST, "printf 'old\\n' > a.txt");
    empty(&run, "baseline-");
    run.asks_about(&["first"]);
    // Nothing differs from what was measured.
    let run = InterruptedRun::new(FolderKind::Plain, &[FIRST], true);
    empty(&run, &format!("baseline-{}", Digest::of("p-first").short()));
    run.asks_nothing();
    let many = ("many", "for i in $(seq 1000 1620); do echo work > n$i.txt; done");
    let run = InterruptedRun::new(FolderKind::Plain, &[many], true);
    empty(&run, "changes-");
    let resumed = run.resume();
    assert_ne!(resumed.code, Some(0), "{}", resumed.stderr);
    assert!(
        resumed.stderr.contains("Whether the work on objective many is still in the folder"),
        "{}",
        resumed.stderr
    );
}
