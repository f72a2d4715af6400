//! What is left of work when a run is resumed: files that are gone, as before, or as git has them.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use baton_core::facts::ChangedFile;
use baton_core::{Digest, UnixMs};
use baton_workspace::{CurrentFile, MAX_HASHED_BYTES, Workspace};

use super::measure::{MeasureFixture, changed_paths};

#[tokio::test]
async fn work_that_is_gone_or_as_before_is_undone() {
    // A11
    for place in [MeasureFixture::plain(), MeasureFixture::with_git()] {
        for name in ["kept.txt", "back.txt", "deleted.txt", "other.txt"] {
            place.write(name, "before\n");
        }
        let baseline = place.baseline().await;
        for name in ["kept.txt", "back.txt", "other.txt", "new.txt", "gone.txt", "new \u{1b}.txt"] {
            place.write(name, "work\n");
        }
        fs::remove_file(place.path().join("deleted.txt")).unwrap();
        let left = place.workspace.measure(&baseline, &[]).await.unwrap().changed;
        assert_eq!(left.len(), 7);
        let nothing = place.workspace.differing(left.clone()).await.unwrap();
        assert!(nothing.is_empty(), "{nothing:?}");
        place.write("back.txt", "before\n");
        place.write("deleted.txt", "before\n");
        place.write("other.txt", "by the user\n");
        fs::remove_file(place.path().join("gone.txt")).unwrap();
        let differing = place.workspace.differing(left.clone()).await.unwrap();
        let names = |files: &[CurrentFile]| files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
        assert_eq!(names(&differing), ["back.txt", "deleted.txt", "gone.txt", "other.txt"]);
        assert!(
            differing
                .iter()
                .all(|file| file.differs && file.touched_ns > Some(baseline.taken_ns() - 10_000_000))
        );
        let undone: Vec<_> = differing.into_iter().filter(|now| !now.exists || baseline.has(now)).collect();
        assert_eq!(names(&undone), ["back.txt", "deleted.txt", "gone.txt"]);
        assert!(!baseline.is_of_other_folder(&place.workspace));
    }
}

#[tokio::test]
async fn a_large_file_that_is_as_before_is_seen() {
    // A11: one byte in the middle, and the size that it had.
    let place = MeasureFixture::plain();
    let large = |letter: &str| letter.repeat(3 << 19);
    place.write("large", &large("a"));
    let baseline = place.baseline().await;
    place.write("large", &large("b"));
    let left = place.measure(&baseline).await.changed;
    assert_eq!(changed_paths(&left), ["large"]);
    assert_eq!(place.workspace.differing(left.clone()).await.unwrap(), []);
    place.write("large", &large("a"));
    let now = place.workspace.differing(left).await.unwrap();
    assert!(now.len() == 1 && now[0].differs && baseline.has(&now[0]), "{now:?}");
}

#[tokio::test]
async fn a_file_too_large_to_hash_that_is_as_before_is_told_by_size_and_time() {
    // A11
    let place = MeasureFixture::plain();
    let file = place.path().join("large");
    let resize = |bytes: u64| {
        File::options().write(true).create(true).truncate(false).open(&file).unwrap().set_len(bytes).unwrap()
    };
    resize(MAX_HASHED_BYTES + 1);
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    let baseline = place.baseline().await;
    resize(MAX_HASHED_BYTES);
    resize(MAX_HASHED_BYTES + 1);
    File::options().write(true).open(&file).unwrap().set_modified(before + Duration::from_secs(9)).unwrap();
    let left = place.measure(&baseline).await.changed;
    assert_eq!(changed_paths(&left), ["large"]);
    let now = place.workspace.differing(left.clone()).await.unwrap();
    assert!(now.len() == 1 && !now[0].differs && !baseline.has(&now[0]), "{now:?}");
    File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
    let now = place.workspace.differing(left).await.unwrap();
    assert!(now.len() == 1 && baseline.has(&now[0]), "{now:?}");
}

#[tokio::test]
async fn a_baseline_that_replaces_another_knows_what_files_were_before() {
    // A11: every round of a loop has a baseline of its own.
    let place = MeasureFixture::plain();
    place.write("a", "first");
    place.write("b", "gone later");
    let mut baseline = place.baseline().await;
    for round in 0..40 {
        place.write("a", &format!("round {round}"));
        let _ = fs::remove_file(place.path().join("b"));
        baseline = place.baseline().await.replacing(baseline);
    }
    let left = place.measure(&baseline).await.changed;
    assert_eq!(left, []);
    let file = |path: &str, content: &str| ChangedFile {
        path: path.to_owned(),
        bytes: content.len() as u64,
        exists: true,
        digest: Some(Digest::of(content)),
        is_new: false,
    };
    for (path, content, is_known) in [
        ("a", "first", true),
        ("b", "gone later", true),
        ("a", "round 38", true),
        ("a", "by the user", false),
    ] {
        place.write(path, content);
        let now = place.workspace.differing(vec![file(path, "other")]).await.unwrap();
        assert_eq!((now.len(), baseline.had_earlier(&now[0])), (1, is_known), "{path}: {content}");
    }
}

#[tokio::test]
async fn a_folder_that_was_made_again_is_another_one() {
    // A11
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("work");
    fs::create_dir(&folder).unwrap();
    let open = || Workspace::open(&folder).unwrap();
    let baseline = open().baseline(&[]).await.unwrap();
    assert!(!baseline.is_of_other_folder(&open()));
    fs::remove_dir(&folder).unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    fs::create_dir(&folder).unwrap();
    let tells = fs::metadata(&folder).unwrap().created().is_ok();
    assert_eq!(baseline.is_of_other_folder(&open()), tells);
}

#[tokio::test]
async fn what_git_has_restored_is_as_a_commit_has_it() {
    // A11: no baseline knows what was committed if it was changed when the run began.
    let place = MeasureFixture::with_git();
    let names = [":a*", "edited", "link", "longer", "part/new \u{1b}"];
    for name in names.into_iter().filter(|name| *name != "link") {
        place.write(name, "committed\n");
    }
    symlink("committed", place.path().join("link")).unwrap();
    place.commit();
    fs::remove_file(place.path().join("link")).unwrap();
    for name in names {
        place.write(name, "by user\n");
    }
    let start = place.baseline().await;
    for name in names {
        place.write(name, "work\n");
    }
    let left = place.measure(&start).await.changed;
    place.git(&["checkout", "-q", "."]);
    place.write("edited", "own edit!\n");
    place.write("longer", "committed\nand more\n");
    let now = place.workspace.differing(left.clone()).await.unwrap();
    assert_eq!(now.len(), names.len());
    let same = place.workspace.as_committed(start.head(), &now).await.unwrap();
    let mut expected = changed_paths(&left);
    expected.retain(|path| !["edited", "longer"].contains(path));
    assert_eq!(same.iter().collect::<Vec<_>>(), expected);
    assert!(place.workspace.as_committed("--help", &now).await.unwrap().is_empty());

    // A folder of the repository, and what a commit has that is not the newest.
    let inner = Workspace::open(&place.path().join("part")).unwrap();
    let left = ChangedFile { path: "new \u{1b}".to_owned(), ..left[4].clone() };
    let now = inner.differing(vec![left]).await.unwrap();
    assert_eq!(inner.as_committed(start.head(), &now).await.unwrap().len(), 1);
    place.commit();
    assert!(!place.workspace.has_left(&start).await.unwrap());
    let newer = place.baseline().await;
    assert_ne!(newer.head(), start.head());
    place.git(&["reset", "-q", "--hard", start.head()]);
    assert!(place.workspace.has_left(&newer).await.unwrap());
    let by_now = UnixMs(newer.taken_ns().unsigned_abs() / 1_000_000);
    assert_eq!(place.workspace.head_by(by_now).await.unwrap().as_deref(), Some(start.head()));
    assert_eq!(place.workspace.head_by(UnixMs(9_000)).await.unwrap(), None);
    assert!(!MeasureFixture::plain().workspace.has_left(&start).await.unwrap());
}

#[tokio::test]
async fn what_the_history_of_git_had_at_a_path_is_known() {
    // A11: an older commit than that of the baseline, and the same content at another path.
    let place = MeasureFixture::with_git();
    for content in ["oldest\n", "middle\n", "newest\n"] {
        place.write("f*", content);
        place.write("part/g", &format!("{content}{content}"));
        place.commit();
    }
    let start = place.baseline().await;
    for name in ["f*", "part/g"] {
        place.write(name, "work\n");
    }
    let left = place.measure(&start).await.changed;
    let known = async |f: &str, g: &str, without: &[&str]| {
        place.write("f*", f);
        place.write("part/g", g);
        let now = place.workspace.differing(left.clone()).await.unwrap();
        let found = place.workspace.as_in_history(start.head(), without, &now).await.unwrap();
        found.into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(known("oldest\n", "middle\nmiddle\n", &[]).await, "f* part/g");
    assert_eq!(known("by user\n", "oldest\n", &[]).await, "");
    assert_eq!(known("oldest\n", "middle\nmiddle\n", &[start.head()]).await, "", "it was read before");
    assert_eq!(known("oldest\n", "by user\n", &["--all"]).await, "f*", "only a commit becomes an argument");
    let inner = Workspace::open(&place.path().join("part")).unwrap();
    place.write("part/g", "oldest\noldest\n");
    let now = inner.differing(vec![ChangedFile { path: "g".to_owned(), ..left[1].clone() }]).await.unwrap();
    assert_eq!(inner.as_in_history(start.head(), &[], &now).await.unwrap().len(), 1);
    assert!(place.workspace.as_in_history("--all", &[], &now).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_commit_that_never_had_the_work_replaces_it() {
    // A11
    for (commands, is_replaced) in [
        // Another commit came in its place, or a file of another branch.
        (&["stash -q", "merge -q --ff-only hotfix"][..], true),
        (&["checkout -q hotfix -- a"][..], true),
        // It was committed, and changed by a commit after that.
        (
            &[
                "commit -qam work",
                "checkout -q -B main",
                "merge -q -s ours --no-edit hotfix",
                "checkout -q hotfix -- a",
            ][..],
            false,
        ),
    ] {
        let place = MeasureFixture::with_git();
        place.write("a", "before\n");
        place.commit();
        place.git(&["checkout", "-q", "-b", "hotfix"]);
        place.write("a", "hotfix\n");
        place.commit();
        place.git(&["checkout", "-q", "main"]);
        let start = place.baseline().await;
        place.write("a", "work\n");
        let left = place.measure(&start).await.changed;
        for command in commands {
            place.git(&command.split(' ').collect::<Vec<_>>());
        }
        let now = place.workspace.differing(left.clone()).await.unwrap();
        assert_eq!(now.len(), 1);
        let files = [(&now[0], &left[0])];
        let replaced = place.workspace.replaced_by_commits(start.head(), UnixMs(0), &files).await.unwrap();
        assert_eq!(replaced.contains("a"), is_replaced, "{commands:?}");
        // What the user edits is theirs.
        place.write("a", "by user\n");
        let now = place.workspace.differing(left.clone()).await.unwrap();
        let files = [(&now[0], &left[0])];
        assert!(
            place.workspace.replaced_by_commits(start.head(), UnixMs(0), &files).await.unwrap().is_empty()
        );
    }
}

/// A repository whose branch `main` has `a` with thirty lines, and whose branch `upstream` has another one as the 25th. What git noted of the
/// way there is gone.
fn numbered() -> MeasureFixture {
    let place = MeasureFixture::with_git();
    place.git(&["config", "user.name", "t"]);
    place.git(&["config", "user.email", "t@example.org"]);
    let begin = "seq 30 > a; git add -A; git commit -qm older; echo b > b; git add -A; git commit -qm begin";
    let upstream =
        "git checkout -q -b upstream; sed -i s/^25$/upstream/ a; git commit -qam up; git checkout -q main";
    shell(&place, &format!("{begin}; {upstream}; echo c > c; git add -A; git commit -qm mine"));
    place.git(&["reflog", "expire", "--expire=now", "--all"]);
    place
}

fn shell(place: &MeasureFixture, command: &str) {
    let done = Command::new("sh").args(["-ec", command]).current_dir(place.path()).status().unwrap();
    assert!(done.success(), "{command}");
}

#[tokio::test]
async fn a_branch_that_was_rewritten_was_not_left() {
    // A11
    for (command, has_left) in [
        ("git commit -q --amend -m better", false),
        ("git rebase -q upstream", false),
        ("git reset -q --soft HEAD~2; git commit -qm squashed", false),
        ("git checkout -q -b other", false),
        ("git reset -q --hard HEAD~1", true),
        ("git checkout -q --detach HEAD~1", true),
        ("git checkout -q -b other HEAD~1; echo d > d; git add d; git commit -qm other", true),
        // Another repository, whose branch has the same name.
        (
            "rm -rf .git; git init -q -b main; git add -A; git -c user.name=t -c user.email=t commit -qm one",
            true,
        ),
    ] {
        let place = numbered();
        let start = place.baseline().await;
        shell(&place, command);
        assert_eq!(place.workspace.has_left(&start).await.unwrap(), has_left, "{command}");
    }
}

#[tokio::test]
async fn what_a_user_commits_in_the_folder_itself_replaces_nothing() {
    // A11: the work itself is in no commit on HEAD.
    for (command, is_replaced) in [
        ("echo more >> a; git commit -qam better", false),
        ("echo more >> a; git commit -qa --amend -m better", false),
        ("git commit -qam work; echo more >> a; git commit -qa --amend -m better", false),
        ("git commit -qam work; git rebase -q upstream", false),
        // Not on top of the work.
        ("git stash -q; echo hotfix >> a; git commit -qam hotfix", true),
        ("git stash push -q a; echo hotfix >> a; git commit -qam hotfix", true),
        ("git reset -q --hard; echo hotfix >> a; git commit -qa --amend -m hotfix", true),
        ("git reset -q --hard upstream", true),
        ("git checkout -q upstream -- a; git commit -qam upstream", true),
        ("git stash -q; git rebase -q upstream; echo d > d; git add d; git commit -qm more", true),
    ] {
        let place = numbered();
        let start = place.baseline().await;
        shell(&place, "sed -i s/^5$/work/ a");
        let left = place.measure(&start).await.changed;
        shell(&place, command);
        let now = place.workspace.differing(left.clone()).await.unwrap();
        assert_eq!(now.len(), 1, "{command}");
        let files = [(&now[0], &left[0])];
        let replaced = place.workspace.replaced_by_commits(start.head(), UnixMs(0), &files).await.unwrap();
        assert_eq!(replaced.contains("a"), is_replaced, "{command}");
    }
}
