//! Checkpoints and the trees that begin there.

use std::fs;

use baton_core::{PhaseId, WorktreeName};
use baton_workspace::{MAX_FILE_BYTES, WorktreeBase, WorktreeError};

use super::fixture::{WorktreesFixture, executable, files, git, link, try_git};

#[tokio::test]
async fn a_clean_place_is_its_own_checkpoint() {
    // D3
    let world = WorktreesFixture::new();
    let before = world.everything();
    let base = world.checkpoint("20").await;
    assert_eq!(base, world.git(&["rev-parse", "HEAD"]));
    assert_eq!(world.everything(), before);
    assert_eq!(world.checkpoint("20").await, base, "said again");
    let integration = world.integration("20").await;
    assert_eq!(files(&integration.root), world.files());
    assert_eq!(
        world.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]),
        "refs/heads/baton/r1/20.merge\nrefs/heads/main"
    );
}

#[tokio::test]
async fn uncommitted_work_is_in_the_checkpoint_and_stays_as_it_is() {
    // D3: the phase's real state
    let mut world = WorktreesFixture::new();
    world.write("gone.txt", "x");
    world.write("run.sh", "echo");
    world.write("staged.txt", "1");
    world.commit("second");
    world.write("a.txt", "one\nTWO\nthree\n");
    world.write("ünï cödé/sp ace.txt", "new");
    world.write("ignored.txt", "mine");
    world.write(".baton/r1/progress.json", "{}");
    world.write("intent.txt", "to add");
    world.write("staged.txt", "2");
    world.git(&["add", "staged.txt"]);
    world.write("staged.txt", "3");
    world.git(&["add", "-N", "intent.txt"]);
    fs::remove_file(world.root.join("gone.txt")).unwrap();
    executable(&world.root, "run.sh");
    link(&world.root, "link", "a.txt");
    let before = world.everything();

    let base = world.checkpoint("20").await;
    assert_eq!(world.everything(), before, "HEAD, index and files are untouched");
    assert_eq!(world.checkpoint("20").await, base, "the same state is the same commit");
    world.restart();
    assert_eq!(world.checkpoint("20").await, base);
    let part = world.begin("20a", &base).await;
    let mut expected = world.files();
    expected.retain(|(path, _)| path != "ignored.txt");
    assert_eq!(files(&part.root), expected);
    assert_eq!(world.git(&["rev-parse", &format!("{base}^")]), world.git(&["rev-parse", "HEAD"]));
    world.write("later.txt", "later");
    assert_ne!(world.checkpoint("20").await, base, "another state is another commit");
}

#[tokio::test]
async fn a_gitignore_that_names_the_folder_of_the_host_changes_nothing() {
    // D3
    for ignored in [".baton/\n", ".baton\n", "/.baton/**\n", ".*\n"] {
        let world = WorktreesFixture::new();
        world.write(".gitignore", ignored);
        world.write("new.txt", "new");
        world.write(".baton/r1/progress.json", "{}");
        let base = world.checkpoint("20").await;
        let part = world.begin("20a", &base).await;
        assert_eq!(part.read("new.txt").unwrap(), "new", "{ignored}");
        assert_eq!(part.read(".baton/r1/progress.json"), None, "{ignored}");
    }
}

#[tokio::test]
async fn a_repository_without_a_commit_has_a_checkpoint() {
    let world = WorktreesFixture::empty();
    let nothing = world.checkpoint("1").await;
    assert_eq!(world.git(&["ls-tree", "-r", &nothing]), "");
    world.write("a.txt", "a");
    let base = world.checkpoint("2").await;
    let part = world.begin("2a", &base).await;
    assert_eq!(part.read("a.txt").unwrap(), "a");
    assert!(try_git(&world.root, &["rev-parse", "-q", "--verify", "HEAD"]).is_err());
}

#[tokio::test]
async fn without_a_tree_to_branch_off_the_folder_is_shared() {
    // C11
    let shared = |base: WorktreeBase| match base {
        WorktreeBase::Shared { why } => why,
        WorktreeBase::Commit(base) => panic!("{base}"),
    };
    let plain = WorktreesFixture::at("plain");
    fs::remove_dir_all(plain.root.join(".git")).unwrap();
    assert!(shared(plain.base("1", &WorktreeName::workspace()).await).contains("not in a git work tree"));

    let ignored = WorktreesFixture::at("outer/build");
    fs::write(ignored.dir.path().join("outer/.gitignore"), "build/\n").unwrap();
    assert!(shared(ignored.base("1", &WorktreeName::workspace()).await).contains("ignores it"));

    let nested = WorktreesFixture::new();
    nested.write("vendor/lib/x.txt", "x");
    git(&nested.root.join("vendor/lib"), &["init", "-q"]);
    assert!(
        shared(nested.base("1", &WorktreeName::workspace()).await).contains("vendor/lib"),
        "without a commit"
    );
    git(
        &nested.root.join("vendor/lib"),
        &["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x"],
    );
    assert!(shared(nested.base("1", &WorktreeName::workspace()).await).contains("vendor/lib"));
    nested.git(&["add", "vendor/lib"]);
    nested.git(&["commit", "-q", "-m", "as a submodule"]);
    assert!(shared(nested.base("1", &WorktreeName::workspace()).await).contains("vendor/lib"));
}

#[tokio::test]
async fn a_folder_of_a_repository_is_worked_on_in_the_same_folder() {
    let world = WorktreesFixture::at("outer/deep/work");
    world.write("a.txt", "a");
    fs::write(world.root.join("../../top.txt"), "top").unwrap();
    let top = world.dir.path().join("outer");
    git(&top, &["add", "-A"]);
    git(&top, &["commit", "-q", "-m", "first"]);
    world.write(".baton/r1/x", "own");
    let base = world.checkpoint("1").await;
    assert_eq!(base, world.git(&["rev-parse", "HEAD"]), "Baton's own folder is no work");
    let part = world.begin("1a", &base).await;
    assert!(part.root.ends_with("1a/deep/work"));
    part.write("new.txt", "new");
    fs::write(part.root.join("../../top.txt"), "changed").unwrap();
    world.merge(&part, "1").await;
    world.land("1", &base, &[&part]).await;
    assert_eq!(world.read("new.txt").unwrap(), "new");
    assert_eq!(world.read("../../top.txt").unwrap(), "changed");
    assert_eq!(git(&top, &["status", "--porcelain"]), "?? deep/work/.baton/");
}

#[tokio::test]
async fn a_tree_is_made_once_and_mended() {
    let mut world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let part = world.begin("20a", &base).await;
    part.write("new.txt", "new");
    world.restart();
    world.begin("20a", &base).await;
    assert_eq!(part.read("new.txt").unwrap(), "new", "what is there stays");

    fs::remove_file(part.root.join(".git")).unwrap();
    world.begin("20a", &base).await;
    assert_eq!(part.read("new.txt").unwrap(), "new", "the link to the repository is repaired");

    fs::remove_dir_all(&part.root).unwrap();
    world.begin("20a", &base).await;
    assert_eq!(part.read("a.txt").unwrap(), "one\ntwo\nthree\n", "a folder that is gone is made anew");

    // A kill while git makes a tree leaves a lock with this reason, and some of the files.
    let admin = part.git(&["rev-parse", "--git-dir"]);
    fs::write(format!("{admin}/locked"), "initializing").unwrap();
    part.remove("a.txt");
    world.begin("20a", &base).await;
    assert_eq!(part.read("a.txt").unwrap(), "one\ntwo\nthree\n", "half made is made again");

    fs::create_dir_all(world.dir.path().join("state/trees/r1/20b")).unwrap();
    fs::write(world.dir.path().join("state/trees/r1/20b/stray"), "x").unwrap();
    let other = world.begin("20b", &base).await;
    assert!(other.read("a.txt").is_some() && other.read("stray").is_none());
}

#[tokio::test]
async fn a_tree_of_an_earlier_fork_is_set_aside() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let part = world.begin("20a", &base).await;
    part.write("precious.txt", "work");
    world.write("a.txt", "changed\n");
    world.commit("second");
    let next = world.checkpoint("20").await;
    let again = world.begin("20a", &next).await;
    assert_eq!(again.read("a.txt").unwrap(), "changed\n");
    assert!(again.read("precious.txt").is_none());
    let kept = world.git(&["for-each-ref", "--format=%(refname)", "refs/baton/r1/kept"]);
    let found = kept.lines().any(|kept| {
        try_git(&world.root, &["show", &format!("{kept}:precious.txt")]).as_deref() == Ok("work")
    });
    assert!(found, "{kept}");
}

#[tokio::test]
async fn setup_commands_make_a_tree_ready_or_say_what_failed() {
    // C1
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let tree = WorktreeName::for_phase(&PhaseId::new("20a"));
    world.trees.branch(&tree, &base).await.unwrap();
    let there = world.trees.open(&tree).await.unwrap();
    let commands = ["echo made > ignored-1".into(), "test -f ignored-1".into()];
    world.trees.set_up(&there, &commands).await.unwrap();
    let failed = world.trees.set_up(&there, &["echo reason; exit 7".into()]).await.unwrap_err();
    assert!(matches!(failed, WorktreeError::Setup { .. }));
    let words = failed.to_string();
    assert!(words.contains("exit 7") && words.contains("exit code 7") && words.contains("reason"), "{words}");
}

#[tokio::test]
async fn many_trees_are_made_at_once() {
    // D3
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let mut tasks = tokio::task::JoinSet::new();
    for letter in 'a'..='n' {
        let (trees, base) = (world.trees.clone(), base.clone());
        let tree = WorktreeName::for_phase(&PhaseId::new(format!("20{letter}")));
        tasks.spawn(async move { trees.branch(&tree, &base).await });
    }
    while let Some(made) = tasks.join_next().await {
        made.unwrap().unwrap();
    }
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 16);
}

#[tokio::test]
async fn repositories_of_other_formats_are_split_as_well() {
    // D3
    for format in ["--object-format=sha256", "--ref-format=reftable"] {
        let world = WorktreesFixture::empty();
        fs::remove_dir_all(world.root.join(".git")).unwrap();
        if try_git(&world.root, &["init", "-q", "-b", "main", format]).is_err() {
            continue; // This git does not know it.
        }
        world.write("a.txt", "a");
        world.git(&["add", "-A"]);
        world.git(&["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]);
        let seen = world.trees.open(&WorktreeName::workspace()).await.unwrap();
        let start = seen.baseline(&[]).await.unwrap();
        assert_eq!(start.head(), world.git(&["rev-parse", "HEAD"]), "{format}");
        world
            .split("20", |a, b| {
                a.write("x", "x");
                b.write("a.txt", "b");
            })
            .await;
        assert_eq!((world.read("a.txt"), world.read("x")), (Some("b".into()), Some("x".into())), "{format}");
        assert_eq!(world.status(), "", "{format}");
        assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1, "{format}");
    }
}

#[tokio::test]
async fn hooks_and_monitors_of_an_agent_are_not_run() {
    let world = WorktreesFixture::new();
    let marker = world.dir.path().join("ran");
    let script = format!("#!/bin/sh\ntouch {}\n", marker.display());
    for hook in [
        "post-checkout",
        "pre-commit",
        "post-commit",
        "post-merge",
        "reference-transaction",
        "post-index-change",
    ] {
        let path = format!(".git/hooks/{hook}");
        world.write(&path, &script);
        executable(&world.root, &path);
    }
    world.write(".git/monitor", &script);
    executable(&world.root, ".git/monitor");
    world.git(&["config", "core.fsmonitor", world.root.join(".git/monitor").to_str().unwrap()]);
    world.git(&["config", "commit.gpgSign", "true"]);
    world.git(&["config", "gpg.program", "/nonexistent"]);
    world.write("a.txt", "dirty\n");
    let _ = fs::remove_file(&marker);
    let landed = world.split("20", |a, b| {
        a.write("x", "x");
        b.write("y", "y");
    });
    landed.await;
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_file_that_is_too_large_is_named_and_not_read() {
    // N6
    let world = WorktreesFixture::new();
    let file = fs::File::create(world.root.join("src/big.bin")).unwrap();
    file.set_len(MAX_FILE_BYTES + 1).unwrap();
    let phase = PhaseId::new("20");
    let tree = WorktreeName::workspace();
    let refused =
        world.trees.checkpoint(&phase, &tree, &WorktreeName::integration(&phase, 1)).await.unwrap_err();
    assert!(matches!(&refused, WorktreeError::TooLarge { path, .. } if path == "src/big.bin"), "{refused}");
    let told = refused.to_string();
    assert!(told.contains("src/big.bin has 2147483649 bytes") && told.contains("remove it"), "{told}");
    assert!(matches!(world.trees.state().await, Err(WorktreeError::TooLarge { .. })));
    world.write(".gitignore", "*.bin\n");
    world.checkpoint("20").await;
}

#[tokio::test]
async fn a_tree_is_known_again_after_its_repository_was_cloned_again() {
    // D9: the work of finished parts lay in folders that git did not know any more.
    let mut world = WorktreesFixture::new();
    world.trees.note_repository().await.unwrap();
    world.write("mine.txt", "not committed");
    let base = world.checkpoint("20").await;
    let (a, b) = (world.begin("20a", &base).await, world.begin("20b", &base).await);
    a.write("new.txt", "of a");
    b.write("a.txt", "ONE\ntwo\nthree\n");
    b.git(&["commit", "-qam", "by the agent"]);
    let clone = world.dir.path().join("clone");
    world.git(&["clone", "-q", "--no-local", ".", clone.to_str().unwrap()]);
    fs::remove_dir_all(world.root.join(".git")).unwrap();
    fs::rename(clone.join(".git"), world.root.join(".git")).unwrap();
    world.restart();
    world.trees.note_repository().await.unwrap();
    assert_eq!(world.begin("20a", &base).await.read("new.txt").unwrap(), "of a");
    for part in [&a, &b] {
        let merged = world.merge(part, "20").await;
        assert!(matches!(merged, baton_workspace::MergeResult::Merged { .. }), "{merged:?}");
    }
    let landing = world.land("20", &base, &[&a, &b]).await;
    assert!(matches!(landing, baton_workspace::LandResult::Landed { committed: false, .. }), "{landing:?}");
    assert_eq!(world.read("new.txt").unwrap(), "of a");
    assert_eq!(world.read("a.txt").unwrap(), "ONE\ntwo\nthree\n");
    assert_eq!(world.read("mine.txt").unwrap(), "not committed");
}
