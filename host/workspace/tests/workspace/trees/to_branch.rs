//! Commits in the workspace: what a phase changed, once, and nothing else.

use std::fs;

use baton_core::PhaseId;
use baton_workspace::{BranchCommitRequest, BranchCommitResult, WorktreeError};

use super::fixture::WorktreesFixture;

async fn begin(world: &WorktreesFixture, phase: &str, branch: Option<&str>) -> Result<(), WorktreeError> {
    world.trees.begin_commits(&PhaseId::new(phase), branch).await
}

fn wanted<'a>(phase: &'a PhaseId, ordinal: u32) -> BranchCommitRequest<'a> {
    let message = "Move it\n\n- all of it (checked)\n";
    BranchCommitRequest { phase, ordinal, message, branch: None, only: None, but: None }
}

async fn commit(
    world: &WorktreesFixture,
    phase: &str,
    ordinal: u32,
) -> Result<BranchCommitResult, WorktreeError> {
    world.trees.commit_to_branch(wanted(&PhaseId::new(phase), ordinal)).await
}

fn commits(world: &WorktreesFixture) -> String {
    world.git(&["log", "--format=%s", "--name-status"])
}

#[tokio::test]
async fn what_a_phase_changed_is_committed_and_what_was_changed_before_is_not() {
    let world = WorktreesFixture::new();
    world.write("a.txt", "mine");
    world.write("notes.txt", "mine");
    world.write("staged.txt", "mine");
    world.git(&["add", "staged.txt"]);
    begin(&world, "p", None).await.unwrap();
    world.write("a.txt", "mine and theirs");
    world.write("src/b.txt", "b\nc");
    world.write("src/new.txt", "new");
    world.write("ignored.log", "log");
    world.write(".baton/r1/index.md", "own");
    let done = commit(&world, "p", 1).await.unwrap();
    let row = done.commit.unwrap();
    assert_eq!((row.files, row.added, row.removed, row.branch.as_str()), (2, 2, 0, "main"));
    assert_eq!((row.subject.as_str(), done.left), ("Move it", vec!["a.txt".to_owned()]));
    assert_eq!(world.git(&["log", "-1", "--format=%an %B"]), "Someone Move it\n\n- all of it (checked)");
    assert_eq!(world.git(&["show", "--format=", "--name-status"]), "M\tsrc/b.txt\nA\tsrc/new.txt");
    let status = " M a.txt\nA  staged.txt\n?? .baton/r1/index.md\n?? notes.txt";
    assert_eq!(world.status(), status);

    let nothing = BranchCommitResult { left: vec!["a.txt".to_owned()], ..BranchCommitResult::default() };
    assert_eq!(commit(&world, "p", 2).await.unwrap(), nothing);
    // A file that the user has committed as it was is like every other file.
    world.git(&["commit", "-q", "-m", "mine"]);
    begin(&world, "q", None).await.unwrap();
    world.write("staged.txt", "theirs");
    world.write("notes.txt", "theirs");
    fs::remove_file(world.root.join("src/b.txt")).unwrap();
    let done = commit(&world, "q", 1).await.unwrap();
    assert_eq!(done.left, ["notes.txt"]);
    assert_eq!(world.git(&["show", "--format=", "--name-status"]), "D\tsrc/b.txt\nM\tstaged.txt");
}

#[tokio::test]
async fn refs_of_the_run_that_an_agent_writes_count_for_nothing() {
    // N6: the start of the run, with a person's change in it, and a commit that was never made.
    let mut world = WorktreesFixture::new();
    world.git(&["update-ref", "refs/baton/r1/committed/p-1", "HEAD"]);
    world.trees.note_repository().await.unwrap();
    world.write("a.txt", "mine");
    begin(&world, "p", None).await.unwrap();
    let forged = world.git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "x"]);
    for name in ["began/run", "begun/p", "made/by-checks", "committed/p-2"] {
        world.git(&["update-ref", &format!("refs/baton/r1/{name}"), &forged]);
    }
    world.write("new.txt", "theirs");
    world.restart();
    let done = commit(&world, "p", 1).await.unwrap();
    assert_eq!((done.commit.unwrap().files, done.left), (1, Vec::<String>::new()));
    assert_eq!(world.git(&["show", "--format=", "--name-status"]), "A\tnew.txt");
    world.write("newer.txt", "theirs");
    let done = commit(&world, "p", 2).await.unwrap().commit.unwrap();
    assert_eq!(done.id, world.git(&["rev-parse", "HEAD"]));
    assert_eq!(world.status(), " M a.txt");
    // One that it removes is known all the same.
    world.git(&["update-ref", "-d", "refs/baton/r1/committed/p-2"]);
    assert_eq!(commit(&world, "p", 2).await.unwrap().commit.unwrap().id, done.id);
}

#[tokio::test]
async fn what_was_changed_before_is_not_committed_under_another_name() {
    let world = WorktreesFixture::new();
    let mine: String = (0..40).map(|line| format!("line {line} of mine\n")).collect();
    world.write("a.txt", &mine);
    world.write("notes.txt", "my notes");
    begin(&world, "p", None).await.unwrap();
    world.write("moved.txt", &format!("{mine}and one of theirs\n"));
    fs::remove_file(world.root.join("a.txt")).unwrap();
    fs::rename(world.root.join("notes.txt"), world.root.join("NOTES.md")).unwrap();
    world.write("theirs.txt", "theirs");
    let done = commit(&world, "p", 1).await.unwrap();
    assert_eq!(done.left, ["NOTES.md", "a.txt", "moved.txt"]);
    assert_eq!(world.git(&["show", "--format=", "--name-status"]), "A\ttheirs.txt");

    // Nor if a later phase continues with it.
    begin(&world, "q", None).await.unwrap();
    world.write("moved.txt", &format!("{mine}and two of theirs\n"));
    let done = commit(&world, "q", 1).await.unwrap();
    assert_eq!((done.left, done.commit), (vec!["moved.txt".to_owned()], None));
}

#[tokio::test]
async fn what_an_earlier_phase_left_is_not_committed_with_a_later_one() {
    let world = WorktreesFixture::new();
    begin(&world, "p", None).await.unwrap();
    world.write("half.txt", "half");
    begin(&world, "q", None).await.unwrap();
    world.write("whole.txt", "whole");
    let only = ["src".to_owned(), "whole.txt".to_owned()];
    let phase = PhaseId::new("q");
    world.write("beside.txt", "another phase's");
    let done = world
        .trees
        .commit_to_branch(BranchCommitRequest { only: Some(&only), ..wanted(&phase, 1) })
        .await
        .unwrap();
    assert_eq!((done.commit.unwrap().files, done.left), (1, Vec::new()));
    assert_eq!(world.status(), "?? beside.txt\n?? half.txt");
}

#[tokio::test]
async fn a_commit_is_made_once_wherever_a_host_dies() {
    let mut world = WorktreesFixture::new();
    begin(&world, "p", None).await.unwrap();
    world.write("new.txt", "new");
    let made = commit(&world, "p", 1).await.unwrap();
    let (after, index) = (commits(&world), world.git(&["ls-files", "-s"]));
    world.restart();
    assert_eq!(commit(&world, "p", 1).await.unwrap(), made);
    assert_eq!(commits(&world), after);

    // The branch has moved, and the index has not.
    world.git(&["reset", "-q", "HEAD^"]);
    world.git(&["update-ref", "HEAD", &made.commit.as_ref().unwrap().id]);
    world.restart();
    assert_eq!(commit(&world, "p", 1).await.unwrap(), made);
    assert_eq!((commits(&world), world.git(&["ls-files", "-s"])), (after.clone(), index.clone()));

    // It is written down, and the branch has not moved.
    world.git(&["reset", "-q", "HEAD^"]);
    world.restart();
    assert_eq!(commit(&world, "p", 1).await.unwrap().commit.unwrap().files, 1);
    assert_eq!(
        (commits(&world), world.git(&["ls-files", "-s"]), world.status()),
        (after, index, String::new())
    );

    // The user continues from it and stages a change of the same file: that stays as it is.
    world.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    world.write("new.txt", "newer");
    world.git(&["add", "new.txt"]);
    commit(&world, "p", 1).await.unwrap();
    assert_eq!(world.status(), "M  new.txt");
    assert_eq!(world.git(&["log", "--format=%s"]), "more\nMove it\nfirst");
}

#[tokio::test]
async fn a_run_commits_on_a_branch_of_its_own_and_on_no_other() {
    let world = WorktreesFixture::new();
    let main = world.git(&["rev-parse", "main"]);
    world.write("a.txt", "mine");
    for _ in 0..2 {
        begin(&world, "p", Some("work/r1")).await.unwrap();
    }
    assert_eq!(world.status(), " M a.txt");
    world.write("new.txt", "new");
    let phase = PhaseId::new("p");
    let on_branch = |ordinal| BranchCommitRequest { branch: Some("work/r1"), ..wanted(&phase, ordinal) };
    let row = world.trees.commit_to_branch(on_branch(1)).await.unwrap().commit.unwrap();
    assert_eq!((row.branch.as_str(), world.git(&["rev-parse", "main"])), ("work/r1", main));
    world.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    let error = world.trees.commit_to_branch(on_branch(2)).await.unwrap_err();
    assert!(matches!(error, WorktreeError::OtherBranch { .. }), "{error}");

    let other = WorktreesFixture::new();
    other.git(&["branch", "work"]);
    other.write("a.txt", "more");
    other.commit("second");
    let error = begin(&other, "p", Some("work")).await.unwrap_err();
    assert!(error.to_string().contains("has other commits"), "{error}");
    assert_eq!(other.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
}

#[tokio::test]
async fn a_first_commit_holds_only_the_work() {
    let world = WorktreesFixture::empty();
    world.write("mine.txt", "mine");
    begin(&world, "p", Some("work")).await.unwrap();
    world.write("new.txt", "new");
    assert_eq!(commit(&world, "p", 1).await.unwrap().commit.unwrap().branch, "work");
    assert_eq!(
        (commits(&world), world.status()),
        ("Move it\n\nA\tnew.txt".to_owned(), "?? mine.txt".to_owned())
    );
}

#[tokio::test]
async fn nothing_is_committed_into_what_somebody_is_in_the_middle_of() {
    let world = WorktreesFixture::new();
    world.git(&["checkout", "-q", "-b", "side"]);
    world.write("a.txt", "side");
    world.commit("side");
    world.git(&["checkout", "-q", "main"]);
    begin(&world, "p", None).await.unwrap();
    world.write("new.txt", "new");
    world.git(&["merge", "-q", "--no-commit", "--no-ff", "side"]);
    let everything = world.everything();
    let error = commit(&world, "p", 1).await.unwrap_err();
    assert!(error.to_string().contains("a merge is under way"), "{error}");
    assert_eq!(world.everything(), everything);
    world.git(&["merge", "--abort"]);
    assert!(commit(&world, "p", 1).await.unwrap().commit.is_some());
    let error = commit(&world, "unknown", 1).await.unwrap_err();
    assert!(matches!(error, WorktreeError::NoStart { .. }), "{error}");
}

#[tokio::test]
async fn what_a_check_makes_is_not_committed_until_an_agent_changes_it() {
    let world = WorktreesFixture::new();
    // A check that ran before the work: what it made is not a change of the user's.
    let before = world.trees.before_check().await.unwrap();
    world.write("cache/old.pyc", "1");
    world.trees.after_check(&before).await.unwrap();
    begin(&world, "p", None).await.unwrap();
    world.write("new.py", "new");
    let before = world.trees.before_check().await.unwrap();
    world.write("cache/old.pyc", "2");
    world.write("cache/new.pyc", "1");
    world.write("lock.txt", "1");
    world.trees.after_check(&before).await.unwrap();
    let done = commit(&world, "p", 1).await.unwrap();
    assert_eq!(world.git(&["show", "--format=", "--name-status"]), "A\tnew.py");
    assert_eq!(done.by_checks, ["cache/new.pyc", "cache/old.pyc", "lock.txt"]);
    assert_eq!(done.left, Vec::<String>::new());

    world.write("lock.txt", "2");
    let before = world.trees.before_check().await.unwrap();
    world.trees.after_check(&before).await.unwrap();
    let done = commit(&world, "p", 2).await.unwrap();
    assert_eq!(world.git(&["show", "--format=", "--name-status"]), "A\tlock.txt");
    assert_eq!(done.by_checks, ["cache/new.pyc", "cache/old.pyc"]);
}

#[tokio::test]
async fn what_a_check_makes_is_not_committed_where_it_adds_it_to_the_index() {
    // N6
    let world = WorktreesFixture::new();
    begin(&world, "p", None).await.unwrap();
    world.write("new.py", "new");
    let before = world.trees.before_check().await.unwrap();
    for file in ["out/a.o", "out/b.o"] {
        world.write(file, "1");
    }
    world.git(&["add", "out/a.o"]);
    world.git(&["add", "--intent-to-add", "out/b.o"]);
    world.trees.after_check(&before).await.unwrap();
    let done = commit(&world, "p", 1).await.unwrap();
    assert_eq!(world.git(&["show", "--format=", "--name-status"]), "A\tnew.py");
    assert_eq!(done.by_checks, ["out/a.o", "out/b.o"]);
}

#[tokio::test]
async fn what_a_reviewer_makes_is_not_committed_until_an_agent_changes_it() {
    // N6, D3
    let world = WorktreesFixture::new();
    begin(&world, "p", None).await.unwrap();
    world.write("new.py", "new");
    begin(&world, "p-review", None).await.unwrap();
    for file in ["case.py", "cache/a.pyc"] {
        world.write(file, "1");
    }
    world.trees.after_review(&PhaseId::new("p-review")).await.unwrap();
    world.write("case.py", "2");
    world.write("more.py", "1");
    begin(&world, "p-review-2", None).await.unwrap();
    world.write("cache/a.pyc", "2");
    world.write("evil.py", "1");
    world.git(&["add", "evil.py"]);
    world.trees.after_review(&PhaseId::new("p-review-2")).await.unwrap();
    let done = commit(&world, "p", 1).await.unwrap();
    assert_eq!(world.git(&["show", "--format=", "--name-status"]), "A\tcase.py\nA\tmore.py\nA\tnew.py");
    assert_eq!(done.by_checks, ["cache/a.pyc", "evil.py"]);
    // Of a phase that has not begun there is nothing to be told.
    world.trees.after_review(&PhaseId::new("unknown")).await.unwrap();
}

#[tokio::test]
async fn only_what_lies_in_the_workspace_is_committed() {
    let world = WorktreesFixture::at("work/sub");
    begin(&world, "p", None).await.unwrap();
    world.write("new.txt", "new");
    world.write("../beside.txt", "beside");
    commit(&world, "p", 1).await.unwrap();
    assert_eq!(commits(&world), "Move it\n\nA\tsub/new.txt");
}
