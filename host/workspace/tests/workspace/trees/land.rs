//! The way back: the whole result or nothing of it, whatever happened there meanwhile.

use std::fs;

use baton_core::{PhaseId, WorktreeName};
use baton_workspace::{LandResult, MergeResult, VerifiedCommit, WorktreeBase};

use super::fixture::{WorktreesFixture, executable, files, git, link, of_a_user};

fn is_landed(landing: &LandResult, expected: bool) -> bool {
    matches!(landing, LandResult::Landed { committed, .. } if *committed == expected)
}

/// What is merged is the state of a moment; where the place has moved on since, the present one counts.
#[tokio::test]
async fn a_conflict_that_is_gone_from_the_place_is_no_conflict_any_more() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("a.txt", "ONE\ntwo\nthree\n");
    world.merge(&a, "20").await;
    world.write("a.txt", "mine\ntwo\nthree\n");
    assert!(matches!(world.land("20", &base, &[&a]).await, LandResult::Conflicted { .. }));
    world.write("a.txt", "one\ntwo\nthree\n");
    assert!(is_landed(&world.land("20", &base, &[&a]).await, true));
    assert_eq!(world.read("a.txt").unwrap(), "ONE\ntwo\nthree\n");
}

#[tokio::test]
async fn a_branch_of_the_run_that_stands_for_one_of_the_users_moves_none() {
    // N6: the commit of the part was made on the branch of the user.
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    let main = world.git(&["rev-parse", "refs/heads/main"]);
    a.write("new.txt", "new\n");
    world.git(&["symbolic-ref", "refs/heads/baton/r1/20a", "refs/heads/main"]);
    let integration = WorktreeName::integration(&PhaseId::new("20"), 1);
    let error = world.trees.merge(&a.tree, &integration, "merge", None).await.unwrap_err().to_string();
    assert!(error.contains("stands for refs/heads/main now"), "{error}");
    assert_eq!(world.git(&["rev-parse", "refs/heads/main"]), main);
}

#[tokio::test]
async fn another_branch_than_that_of_the_checkpoint_is_not_moved() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("new.txt", "new\n");
    world.merge(&a, "20").await;
    git(&world.root, &["checkout", "-q", "-b", "other"]);
    let head = git(&world.root, &["rev-parse", "HEAD"]);
    assert!(is_landed(&world.land("20", &base, &[&a]).await, false));
    assert_eq!(git(&world.root, &["rev-parse", "HEAD"]), head);
    assert_eq!(world.read("new.txt").unwrap(), "new\n");
}

#[tokio::test]
async fn a_clean_place_gets_the_commits_and_stays_clean() {
    // D3
    let mut world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let (a, b) = (world.begin("20a", &base).await, world.begin("20b", &base).await);
    a.write("a.txt", "one\nTWO\nthree\n");
    a.write("dir/ü n.txt", "new");
    b.remove("src/b.txt");
    b.write("src/b.txt/now a folder", "x");
    b.write("run.sh", "echo");
    executable(&b.root, "run.sh");
    link(&b.root, "link", "run.sh");
    world.merge(&a, "20").await;
    world.merge(&b, "20").await;
    world.write("ignored-mine", "stays");
    let joined = files(&world.integration("20").await.root);
    let landing = world.land("20", &base, &[&a, &b]).await;
    assert!(matches!(&landing, LandResult::Landed { committed: true, files: 6, .. }), "{landing:?}");
    assert_eq!(world.status(), "");
    let mut here = world.files();
    here.retain(|(path, _)| path != "ignored-mine");
    assert_eq!(here, joined);
    assert_eq!(world.read("ignored-mine").unwrap(), "stays");
    assert_eq!(world.git(&["log", "--merges", "--format=%s"]), "Merge 20b\nMerge 20a");
    assert!(world.git(&["log", "-g", "-1", "--format=%gs"]).contains("phase 20 landed"));
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(world.git(&["branch", "--list"]), "* main");
    world.restart();
    assert_eq!(world.land("20", &base, &[&a, &b]).await, landing, "said again");
}

#[tokio::test]
async fn a_dirty_place_gets_the_files_and_keeps_head_and_index() {
    // D3: the result joins the uncommitted work
    let mut world = WorktreesFixture::new();
    world.write("staged.txt", "1");
    world.git(&["add", "staged.txt"]);
    world.write("staged.txt", "2");
    world.write("a.txt", "one\ntwo\nthree\nmine\n");
    world.write("untracked.txt", "mine");
    let (head, index) = (world.git(&["rev-parse", "HEAD"]), world.git(&["ls-files", "-s"]));
    let base = world.checkpoint("20").await;
    let (a, b) = (world.begin("20a", &base).await, world.begin("20b", &base).await);
    a.write("a.txt", "ONE\ntwo\nthree\nmine\n");
    a.write("new.txt", "new");
    b.write("staged.txt", "3");
    b.remove("src/b.txt");
    world.merge(&a, "20").await;
    world.merge(&b, "20").await;
    let landing = world.land("20", &base, &[&a, &b]).await;
    assert!(matches!(&landing, LandResult::Landed { committed: false, files: 4, .. }), "{landing:?}");
    assert_eq!((world.git(&["rev-parse", "HEAD"]), world.git(&["ls-files", "-s"])), (head, index));
    assert_eq!(
        world.status(),
        " M a.txt\nAM staged.txt\n D src/b.txt\n?? new.txt\n?? untracked.txt"
            .replace("AM staged.txt\n D src/b.txt", " D src/b.txt\nAM staged.txt")
    );
    assert_eq!(world.read("a.txt").unwrap(), "ONE\ntwo\nthree\nmine\n");
    assert_eq!(world.read("untracked.txt").unwrap(), "mine");
    world.restart();
    assert_eq!(world.land("20", &base, &[&a, &b]).await, landing, "said again");
    // And once more, from there.
    let next = world.split("21", |a, _| a.write("again.txt", "x")).await;
    assert!(is_landed(&next, false), "{next:?}");
}

#[tokio::test]
async fn without_a_branch_or_a_commit_only_files_are_written() {
    let detached = WorktreesFixture::new();
    detached.git(&["checkout", "-q", "--detach"]);
    let landing = detached
        .split("1", |a, b| {
            a.write("x", "x");
            b.write("y", "y");
        })
        .await;
    assert!(is_landed(&landing, false));
    assert_eq!(detached.status(), "?? x\n?? y");

    let empty = WorktreesFixture::empty();
    let landing = empty
        .split("1", |a, b| {
            a.write("x", "x");
            b.write("y/z", "y");
        })
        .await;
    assert!(is_landed(&landing, false));
    assert_eq!(empty.status(), "?? x\n?? y/z");
}

#[tokio::test]
async fn what_changed_meanwhile_is_merged_before_anything_is_written() {
    // D3: never a lost change
    let mut world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("a.txt", "ONE\ntwo\nthree\n");
    world.merge(&a, "20").await;
    world.write("a.txt", "one\ntwo\nthree\nmine\n");
    world.write("other.txt", "mine");
    let before = world.everything();
    assert_eq!(world.land("20", &base, &[&a]).await, LandResult::Updated);
    assert_eq!(world.everything(), before);
    assert_eq!(world.integration("20").await.read("a.txt").unwrap(), "ONE\ntwo\nthree\nmine\n");
    world.restart();
    // Once more, before it could land.
    world.write("a.txt", "one\ntwo\nthree\nmine again\n");
    assert_eq!(world.land("20", &base, &[&a]).await, LandResult::Updated);
    assert!(is_landed(&world.land("20", &base, &[&a]).await, false));
    assert_eq!(world.read("a.txt").unwrap(), "ONE\ntwo\nthree\nmine again\n");
    assert_eq!(world.read("other.txt").unwrap(), "mine");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), base);
}

#[tokio::test]
async fn a_place_that_never_rests_gets_the_result_beside_its_changes() {
    // D9: another phase works there
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("a.txt", "A\n");
    a.write("dir/new.txt", "new");
    world.merge(&a, "20").await;
    world.write("busy.txt", "1");
    assert_eq!(world.land("20", &base, &[&a]).await, LandResult::Updated);
    world.write("busy.txt", "2");
    world.write("dir", "where the result has a folder");
    assert!(matches!(world.land("20", &base, &[&a]).await, LandResult::Conflicted { .. }), "the same names");
    fs::remove_file(world.root.join("dir")).unwrap();
    let integration = world.integration("20").await;
    integration.git(&["merge", "--abort"]);
    world.write("busy.txt", "3");
    let landing = world.land("20", &base, &[&a]).await;
    assert!(is_landed(&landing, false), "{landing:?}");
    assert_eq!(world.land("20", &base, &[&a]).await, landing, "said again");
    assert_eq!(world.status(), " M a.txt\n?? busy.txt\n?? dir/new.txt");
    assert_eq!((world.read("busy.txt").unwrap(), world.read("a.txt").unwrap()), ("3".into(), "A\n".into()));
    world.trees.undo(false).await.unwrap();
    assert_eq!(world.status(), "?? busy.txt");
}

#[tokio::test]
async fn commits_made_meanwhile_stay_below_the_result() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("new.txt", "new");
    world.merge(&a, "20").await;
    world.write("mine.txt", "mine");
    world.commit("mine");
    let mine = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(world.land("20", &base, &[&a]).await, LandResult::Updated);
    assert!(is_landed(&world.land("20", &base, &[&a]).await, true));
    assert_eq!(world.status(), "");
    world.git(&["merge-base", "--is-ancestor", &mine, "HEAD"]);
    assert!(world.read("mine.txt").is_some() && world.read("new.txt").is_some());
}

#[tokio::test]
async fn another_branch_gets_the_change_and_not_the_history() {
    let world = WorktreesFixture::new();
    world.git(&["branch", "old"]);
    world.write("feature.txt", "on main only");
    world.commit("a feature");
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("new.txt", "new");
    world.merge(&a, "20").await;
    world.git(&["checkout", "-q", "old"]);
    assert_eq!(world.land("20", &base, &[&a]).await, LandResult::Updated);
    assert!(is_landed(&world.land("20", &base, &[&a]).await, false));
    assert_eq!(world.status(), "?? new.txt");
    assert!(world.read("feature.txt").is_none());
}

#[tokio::test]
async fn a_change_that_does_not_fit_becomes_a_conflict_in_the_joining_tree() {
    // D3: never conflict markers in the workspace
    let mut world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("a.txt", "ONE\ntwo\nthree\n");
    world.merge(&a, "20").await;
    world.write("a.txt", "mine\ntwo\nthree\n");
    let before = world.everything();
    for _ in 0..2 {
        let landing = world.land("20", &base, &[&a]).await;
        assert_eq!(landing, LandResult::Conflicted { files: vec!["a.txt".into()] });
        world.restart();
    }
    assert_eq!(world.everything(), before);
    let integration = world.integration("20").await;
    integration.write("a.txt", "ONE of mine\ntwo\nthree\n");
    let (phase, home) = (PhaseId::new("20"), WorktreeName::workspace());
    for _ in 0..2 {
        // A host that dies before it passes the answer on asks again, in the same round.
        let landing = world.land_round(&phase, &home, &base, std::slice::from_ref(&a.tree), 0).await;
        assert_eq!(landing, LandResult::Updated, "not verified yet");
        world.restart();
    }
    assert_eq!(world.land("20", &base, &[&a]).await, LandResult::Updated, "not passed on yet");
    assert!(is_landed(&world.land("20", &base, &[&a]).await, false));
    assert_eq!(world.read("a.txt").unwrap(), "ONE of mine\ntwo\nthree\n");
}

#[tokio::test]
async fn a_conflict_that_an_agent_commits_is_verified_too() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("a.txt", "ONE\n");
    world.merge(&a, "20").await;
    world.write("a.txt", "mine\n");
    assert!(matches!(world.land("20", &base, &[&a]).await, LandResult::Conflicted { .. }));
    let integration = world.integration("20").await;
    integration.git(&["merge", "--abort"]);
    assert!(
        matches!(world.land("20", &base, &[&a]).await, LandResult::Conflicted { .. }),
        "given up, it is there again"
    );
    integration.write("a.txt", "both\n");
    integration.git(&["commit", "-qam", "by the agent"]);
    assert_eq!(world.land("20", &base, &[&a]).await, LandResult::Updated);
    assert!(is_landed(&world.land("20", &base, &[&a]).await, false));
    assert_eq!(world.read("a.txt").unwrap(), "both\n");
}

#[tokio::test]
async fn an_ignored_file_in_the_way_is_never_overwritten() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("ignored.env", "theirs");
    a.git(&["add", "-f", "ignored.env"]);
    a.git(&["commit", "-qm", "what is ignored"]);
    world.merge(&a, "20").await;
    world.write("ignored.env", "mine");
    let landing = world.land("20", &base, &[&a]).await;
    assert_eq!(landing, LandResult::Conflicted { files: vec!["ignored.env".into()] });
    assert_eq!(world.read("ignored.env").unwrap(), "mine");
    world.integration("20").await.write("ignored.env", "both");
    assert_eq!(world.land("20", &base, &[&a]).await, LandResult::Updated);
    assert!(is_landed(&world.land("20", &base, &[&a]).await, false));
    assert_eq!(world.read("ignored.env").unwrap(), "both");
}

#[tokio::test]
async fn a_folder_of_ignored_files_in_the_way_is_named() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("build", "a file");
    world.merge(&a, "20").await;
    world.write("build/cache", "mine");
    let phase = PhaseId::new("20");
    let refused = world
        .trees
        .land(
            &phase,
            &WorktreeName::integration(&phase, 1),
            &WorktreeName::workspace(),
            &base,
            &[],
            VerifiedCommit::default(),
        )
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("build"), "{refused}");
    assert_eq!(world.read("build/cache").unwrap(), "mine");
    fs::remove_file(world.root.join("build/cache")).unwrap();
    assert!(is_landed(&world.land("20", &base, &[&a]).await, true));
}

#[tokio::test]
async fn what_a_crash_cut_short_is_finished() {
    // D3: crash at any point
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("a.txt", "A\n");
    a.write("new.txt", "new");
    a.remove("src/b.txt");
    world.merge(&a, "20").await;
    let integration = world.integration("20").await;
    let joined = integration.git(&["rev-parse", "HEAD"]);
    let expected = files(&integration.root);
    assert!(is_landed(&world.land("20", &base, &[]).await, true));

    // As if the host had died with some of the files written: the intent is there, and nothing says that it is done.
    let half = |files: &[(&str, Option<&str>)]| {
        world.forget_ref("landed/1/done");
        world.git(&["reset", "-q", "--hard", &base]);
        for (path, text) in files {
            match text {
                Some(text) => world.write(path, text),
                None => fs::remove_file(world.root.join(path)).unwrap(),
            }
        }
    };
    for state in [&[][..], &[("a.txt", Some("A\n"))], &[("new.txt", Some("new")), ("src/b.txt", None)]] {
        half(state);
        assert!(is_landed(&world.land("20", &base, &[]).await, true), "{state:?}");
        assert_eq!(
            (world.files(), world.status(), world.git(&["rev-parse", "HEAD"])),
            (expected.clone(), String::new(), joined.clone())
        );
    }
    // The index was written, the branch not yet.
    half(&[]);
    world.git(&["read-tree", "-m", "-u", "HEAD", &joined]);
    assert!(is_landed(&world.land("20", &base, &[]).await, true));
    assert_eq!((world.status(), world.git(&["rev-parse", "HEAD"])), (String::new(), joined));
}

#[tokio::test]
async fn a_half_landed_place_that_somebody_changes_loses_nothing() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let (a, b) = (world.begin("20a", &base).await, world.begin("20b", &base).await);
    a.write("a.txt", "A\n");
    b.write("new.txt", "new");
    world.merge(&a, "20").await;
    world.merge(&b, "20").await;
    let kept = world.dir.path().join("state/trees/r1/.made-20.merge");
    let link = fs::read(&kept).unwrap();
    assert!(is_landed(&world.land("20", &base, &[]).await, true));
    // The integration tree was removed with it; a crash before that leaves it.
    let joined = world.git(&["rev-parse", "HEAD"]);
    world.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "baton/r1/20.merge",
        world.dir.path().join("state/trees/r1/20.merge").to_str().unwrap(),
        &joined,
    ]);
    fs::write(kept, link).unwrap();
    world.forget_ref("landed/1/done");
    world.git(&["reset", "-q", "--hard", &base]);
    world.write("new.txt", "new");
    world.write("a.txt", "one\nmine\nthree\n");
    let landing = world.land("20", &base, &[]).await;
    assert_eq!(landing, LandResult::Conflicted { files: vec!["a.txt".into()] });
    assert_eq!(world.read("a.txt").unwrap(), "one\nmine\nthree\n");
}

#[tokio::test]
async fn a_part_that_goes_on_after_its_merge_is_kept() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("a.txt", "A\n");
    world.merge(&a, "20").await;
    a.write("late.txt", "late");
    assert!(is_landed(&world.land("20", &base, &[&a]).await, true));
    assert_eq!(a.read("late.txt").unwrap(), "late");
    assert!(world.read("late.txt").is_none());
    assert_eq!(world.git(&["show", "baton/r1/20a:late.txt"]), "late");
}

#[tokio::test]
async fn a_split_within_a_part_lands_in_its_tree() {
    // D10
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let (a, b) = (world.begin("20a", &base).await, world.begin("20b", &base).await);
    a.write("half.txt", "not committed");
    let WorktreeBase::Commit(inner) = world.base("20a", &a.tree).await else { panic!() };
    let (aa, ab) = (world.begin("20aa", &inner).await, world.begin("20ab", &inner).await);
    assert_eq!(aa.read("half.txt").unwrap(), "not committed");
    aa.write("half.txt", "whole");
    ab.write("ab.txt", "ab");
    b.write("b.txt", "b");
    world.merge(&aa, "20a").await;
    world.merge(&ab, "20a").await;
    let landing = world.land_in("20a", &a.tree, &inner, &[&aa, &ab]).await;
    assert!(is_landed(&landing, false), "{landing:?}");
    assert_eq!(a.read("half.txt").unwrap(), "whole");
    assert!(matches!(world.merge(&a, "20").await, MergeResult::Merged { files: 2, .. }));
    assert!(matches!(world.merge(&b, "20").await, MergeResult::Merged { files: 1, .. }));
    assert!(is_landed(&world.land("20", &base, &[&a, &b]).await, true));
    assert_eq!(world.status(), "");
    assert_eq!(
        (world.read("half.txt").unwrap(), world.read("ab.txt").unwrap()),
        ("whole".into(), "ab".into())
    );
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
}

#[tokio::test]
async fn line_endings_filters_and_a_sparse_checkout_survive() {
    let user = "[filter \"rot\"]\n\tclean = tr a-z n-za-m\n\tsmudge = tr a-z n-za-m\n";
    if !of_a_user("land::line_endings_filters_and_a_sparse_checkout_survive", user) {
        return;
    }
    let world = WorktreesFixture::new();
    world.git(&["config", "filter.rot.clean", "tr a-z n-za-m"]);
    world.git(&["config", "filter.rot.smudge", "tr a-z n-za-m"]);
    world.write(".gitattributes", "*.crlf text eol=crlf\n*.rot filter=rot\n");
    world.write("w.crlf", "one\r\ntwo\r\n");
    world.write("s.rot", "secret");
    world.write("far/away.txt", "far");
    world.commit("attributes");
    world.git(&["sparse-checkout", "set", "src"]);
    assert!(world.read("far/away.txt").is_none());
    let landing = world.split("20", |a, b| {
        a.write("w.crlf", "one\r\nTWO\r\n");
        b.write("s.rot", "changed");
        b.write("src/new.txt", "x");
    });
    assert!(is_landed(&landing.await, true));
    assert_eq!(world.status(), "");
    assert_eq!(world.read("w.crlf").unwrap(), "one\r\nTWO\r\n");
    assert_eq!(world.read("s.rot").unwrap(), "changed");
    assert_eq!(world.git(&["show", "HEAD:s.rot"]), "punatrq");
    assert!(world.read("far/away.txt").is_none());
    assert_eq!(world.git(&["show", "HEAD:far/away.txt"]), "far");
}

#[tokio::test]
async fn a_task_folder_that_people_commit_is_neither_landed_nor_lost() {
    let world = WorktreesFixture::new();
    world.write(".baton/r1/notes.md", "committed by the user");
    world.git(&["add", "-f", ".baton"]);
    world.git(&["commit", "-qm", "notes"]);
    let landing = world.split("20", |a, b| {
        a.write(".baton/r1/notes.md", "a");
        a.write("x", "x");
        b.write(".baton/r1/notes.md", "b");
        git(&b.root, &["add", "-f", ".baton"]);
        git(&b.root, &["commit", "-qm", "notes of b"]);
        world.write(".baton/r1/notes.md", "projected");
    });
    let landing = landing.await;
    assert!(is_landed(&landing, true), "{landing:?}");
    assert_eq!(world.git(&["show", "HEAD:.baton/r1/notes.md"]), "committed by the user");
    assert_eq!(world.read(".baton/r1/notes.md").unwrap(), "projected");
    assert_eq!(world.read("x").unwrap(), "x");
}
