//! Parts brought together: conflicts, and what agents do to git meanwhile.

use baton_core::{PhaseId, WorktreeName};
use baton_workspace::{MergeResult, WorktreeError};

use super::fixture::{WorktreesFixture, git, link, try_git};

fn conflicted(files: &[&str]) -> MergeResult {
    MergeResult::Conflicted { files: files.iter().map(|file| (*file).to_owned()).collect() }
}

#[tokio::test]
async fn what_parts_left_uncommitted_is_merged_and_nothing_of_batons() {
    // D3
    let mut world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    let b = world.begin("20b", &base).await;
    a.write("a new.txt", "a");
    a.write("ignored.txt", "no");
    a.write(".baton/r1/progress.json", "a");
    b.write("src/b.txt", "B\n");
    b.write(".baton/r1/progress.json", "b");
    b.git(&["add", "-f", "src", ".baton"]);
    b.git(&["commit", "-q", "-m", "by the agent, with too much"]);
    let MergeResult::Merged { commit, files: 1 } = world.merge(&a, "20").await else { panic!() };
    world.restart();
    assert_eq!(world.merge(&a, "20").await, MergeResult::Merged { commit, files: 1 }, "said again");
    assert!(matches!(world.merge(&b, "20").await, MergeResult::Merged { files: 1, .. }));
    let integration = world.integration("20").await;
    assert_eq!(integration.git(&["ls-files"]), ".gitignore\na new.txt\na.txt\nsrc/b.txt");
    assert_eq!(integration.git(&["log", "-1", "--format=%s %an"]), "Merge 20b Someone");
    assert_eq!(integration.git(&["rev-list", "--count", "--merges", "HEAD"]), "2");
}

#[tokio::test]
async fn a_part_without_changes_is_merged_already() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    assert_eq!(world.merge(&a, "20").await, MergeResult::Merged { commit: base, files: 0 });
}

#[tokio::test]
async fn a_conflict_stands_open_until_its_files_are_edited() {
    // D3: a conflict becomes a session
    let mut world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let (a, b) = (world.begin("20a", &base).await, world.begin("20b", &base).await);
    a.write("a.txt", "one\nA\nthree\n");
    b.write("a.txt", "one\nB\nthree\n");
    b.write("more.txt", "b");
    world.merge(&a, "20").await;
    let integration = world.integration("20").await;
    assert_eq!(world.merge(&b, "20").await, conflicted(&["a.txt"]));
    world.restart();
    assert_eq!(world.merge(&b, "20").await, conflicted(&["a.txt"]), "said again");
    // An agent that adds without looking has resolved nothing.
    integration.git(&["add", "-A"]);
    assert_eq!(world.merge(&b, "20").await, conflicted(&["a.txt"]));
    integration.write("a.txt", "one\nA and B\nthree\n");
    let MergeResult::Merged { files: 2, .. } = world.merge(&b, "20").await else { panic!() };
    assert_eq!(integration.read("a.txt").unwrap(), "one\nA and B\nthree\n");
    assert_eq!(integration.git(&["status", "--porcelain"]), "");
    assert_eq!(integration.git(&["log", "-1", "--format=%s"]), "Merge 20b");
}

#[tokio::test]
async fn a_conflict_that_leaves_no_marks_is_resolved_by_a_change_or_by_git_add() {
    let world = WorktreesFixture::new();
    world.write("bin", "x\0one");
    world.commit("a binary");
    link(&world.root, "link", "a.txt");
    world.commit("a link");
    let base = world.checkpoint("20").await;
    let (a, b) = (world.begin("20a", &base).await, world.begin("20b", &base).await);
    a.write("bin", "x\0two");
    b.write("bin", "x\0three");
    a.remove("a.txt");
    b.write("a.txt", "changed\n");
    link(&a.root, "link", "src/b.txt");
    link(&b.root, "link", "else");
    world.merge(&a, "20").await;
    let integration = world.integration("20").await;
    for _ in 0..2 {
        assert_eq!(world.merge(&b, "20").await, conflicted(&["a.txt", "bin", "link"]));
    }
    integration.write("bin", "x\0both");
    link(&integration.root, "link", "b");
    assert_eq!(world.merge(&b, "20").await, conflicted(&["a.txt"]));
    integration.git(&["add", "a.txt"]);
    assert!(matches!(world.merge(&b, "20").await, MergeResult::Merged { .. }));
    assert_eq!(integration.read("a.txt").unwrap(), "changed\n");
}

#[tokio::test]
async fn agents_conclude_abort_and_wander_as_they_like() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let (a, b) = (world.begin("20a", &base).await, world.begin("20b", &base).await);
    a.write("a.txt", "A\n");
    b.git(&["checkout", "-q", "-b", "own-idea"]);
    b.write("a.txt", "B\n");
    b.git(&["commit", "-q", "-am", "on a branch of the agent's"]);
    b.write("more.txt", "b");
    world.merge(&a, "20").await;
    let integration = world.integration("20").await;
    assert_eq!(world.merge(&b, "20").await, conflicted(&["a.txt"]));
    assert_eq!(
        world.git(&["log", "-1", "--format=%s", "own-idea"]),
        "on a branch of the agent's",
        "its branch did not move"
    );
    integration.git(&["merge", "--abort"]);
    assert_eq!(world.merge(&b, "20").await, conflicted(&["a.txt"]), "aborted, it is opened again");
    integration.write("a.txt", "AB\n");
    integration.git(&["add", "-A"]);
    integration.git(&["commit", "-q", "-m", "resolved by the agent"]);
    integration.write("late.txt", "not committed");
    assert!(matches!(world.merge(&b, "20").await, MergeResult::Merged { .. }));
    assert_eq!(integration.git(&["status", "--porcelain"]), "");
    assert_eq!(integration.read("more.txt").unwrap(), "b");
}

#[tokio::test]
async fn an_open_merge_of_another_part_is_given_up() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let parts =
        [world.begin("20a", &base).await, world.begin("20b", &base).await, world.begin("20c", &base).await];
    for (part, text) in parts.iter().zip(["A\n", "B\n"]) {
        part.write("a.txt", text);
    }
    parts[2].write("c.txt", "c");
    world.merge(&parts[0], "20").await;
    assert_eq!(world.merge(&parts[1], "20").await, conflicted(&["a.txt"]));
    assert!(matches!(world.merge(&parts[2], "20").await, MergeResult::Merged { files: 1, .. }));
    let integration = world.integration("20").await;
    assert_eq!(integration.read("a.txt").unwrap(), "A\n");
    assert_eq!(world.merge(&parts[1], "20").await, conflicted(&["a.txt"]));
}

#[tokio::test]
async fn what_cannot_be_carried_along_is_refused_by_name() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    let integration = WorktreeName::integration(&PhaseId::new("20"), 1);
    a.write("vendor/x", "x");
    git(&a.root.join("vendor"), &["init", "-q"]);
    git(
        &a.root.join("vendor"),
        &["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x"],
    );
    let refused = world.trees.merge(&a.tree, &integration, "m", None).await.unwrap_err();
    assert!(matches!(&refused, WorktreeError::Nested { path } if path == "vendor"), "{refused}");
    std::fs::remove_dir_all(a.root.join("vendor")).unwrap();

    a.write("a.txt", "A\n");
    a.git(&["commit", "-qam", "A"]);
    a.git(&["checkout", "-q", "-b", "side", &base]);
    a.write("a.txt", "S\n");
    a.git(&["commit", "-qam", "S"]);
    try_git(&a.root, &["merge", "baton/r1/20a"]).unwrap_err();
    let refused = world.trees.merge(&a.tree, &integration, "m", None).await.unwrap_err();
    assert!(matches!(&refused, WorktreeError::Unresolved { files, .. } if files == &["a.txt"]), "{refused}");

    let never = WorktreeName::for_phase(&PhaseId::new("20z"));
    assert!(matches!(
        world.trees.merge(&never, &integration, "m", None).await,
        Err(WorktreeError::Gone { .. })
    ));
    assert!(world.trees.merge(&a.tree, &WorktreeName::workspace(), "m", None).await.is_err());
}

#[tokio::test]
async fn a_branch_counts_where_its_tree_is_gone() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("x", "x");
    a.git(&["add", "x"]);
    a.git(&["commit", "-qm", "x"]);
    std::fs::remove_dir_all(&a.root).unwrap();
    assert!(matches!(world.merge(&a, "20").await, MergeResult::Merged { files: 1, .. }));
}
