//! The commit that is verified, reviewed and merged: what is in it, and what a tree is held to afterwards.

use baton_core::{PhaseId, WorktreeName};
use baton_workspace::{
    CommitDifferences, CommitResult, LandResult, MergeResult, ProtectedPaths, VerifiedCommit,
};

use super::fixture::{PartTree, WorktreesFixture};

fn all(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

async fn commit(
    world: &WorktreesFixture,
    part: &PartTree,
    files: &[&str],
) -> (String, Vec<String>, Vec<String>) {
    match world.trees.commit(&PhaseId::new("20"), &part.tree, &all(files), false).await.unwrap() {
        CommitResult::Committed { commit, missing, ignored, .. } => (commit, missing, ignored),
        CommitResult::Conflicted { files } => panic!("{files:?}"),
    }
}

#[tokio::test]
async fn a_file_that_is_missing_or_ignored_is_told() {
    // D12, A13: `*.txt` in .gitignore took the work of a part away, and it was done all the same
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let part = world.begin("20a", &base).await;
    part.write("src/a.rs", "a");
    part.write("ignored.txt", "a");
    let named = ["src/a.rs", "./src/a.rs", "ignored.txt", "gone.rs"];
    let (_, missing, ignored) = commit(&world, &part, &named).await;
    assert_eq!((missing, ignored), (all(&["gone.rs"]), all(&["ignored.txt"])));
}

#[tokio::test]
async fn what_came_after_the_commit_is_put_back_and_not_merged() {
    // D3, D12: a reviewer, a command or the agent of another part wrote into the tree after it was looked at
    let mut world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let part = world.begin("20a", &base).await;
    part.write("a.txt", "A\n");
    part.write("b.txt", "B\n");
    let (commit, ..) = commit(&world, &part, &[]).await;
    part.write("a.txt", "evil\n");
    part.write("coverage.out", "60 %");
    std::fs::remove_file(part.root.join("b.txt")).unwrap();
    let restored = world.trees.restore(&part.tree, &commit, false).await.unwrap();
    let told =
        CommitDifferences { changed: all(&["a.txt"]), gone: all(&["b.txt"]), added: all(&["coverage.out"]) };
    assert_eq!(restored, told);
    assert_eq!(part.read("a.txt").unwrap(), "evil\n", "what is changed may be what a command formatted");
    assert_eq!((part.read("b.txt").as_deref(), part.read("coverage.out")), (Some("B\n"), None));
    world.restart();
    let restored = world.trees.restore(&part.tree, &commit, true).await.unwrap();
    assert_eq!(restored, CommitDifferences { changed: all(&["a.txt"]), ..CommitDifferences::default() });
    assert_eq!(part.git(&["status", "--porcelain"]), "");
    assert_eq!(world.trees.restore(&part.tree, &commit, true).await.unwrap(), CommitDifferences::default());
    let left = world.git(&["for-each-ref", "--format=%(refname)", "refs/baton"]);
    assert!(left.contains("/left/20a"), "what was there is kept: {left}");

    // A later change affects neither what is merged nor what lands.
    part.write("a.txt", "evil again\n");
    part.git(&["commit", "-qam", "sneaked in"]);
    let into = WorktreeName::integration(&PhaseId::new("20"), 1);
    let merged = world.trees.merge(&part.tree, &into, "20a", Some(&commit)).await.unwrap();
    assert!(matches!(merged, MergeResult::Merged { files: 2, .. }), "{merged:?}");
    let integration = world.integration("20").await;
    let (whole, ..) = self::commit(&world, &integration, &["a.txt", "b.txt"]).await;
    integration.write("a.txt", "evil once more\n");
    integration.write("evil.py", "boo");
    let phase = PhaseId::new("20");
    let merged = [part.tree.clone()];
    let landed = world
        .trees
        .land(
            &phase,
            &into,
            &WorktreeName::workspace(),
            &base,
            &merged,
            VerifiedCommit { round: 0, commit: Some(&whole) },
        )
        .await
        .unwrap();
    assert!(matches!(landed, LandResult::Landed { files: 2, .. }), "{landed:?}");
    assert_eq!((world.read("a.txt").as_deref(), world.read("evil.py")), (Some("A\n"), None));
}

#[tokio::test]
async fn a_file_that_somebody_hid_from_git_is_committed() {
    // A check that passes on a changed file would fail on the commit.
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let world = WorktreesFixture::new();
        let base = world.checkpoint("20").await;
        let part = world.begin("20a", &base).await;
        part.git(&["update-index", flag, "a.txt"]);
        part.write("a.txt", "changed\n");
        let (commit, ..) = commit(&world, &part, &[]).await;
        assert_eq!(part.git(&["show", &format!("{commit}:a.txt")]), "changed", "{flag}");
    }
}

#[tokio::test]
async fn what_a_sparse_checkout_leaves_out_stays_in_the_commit() {
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let part = world.begin("20a", &base).await;
    part.git(&["config", "core.sparseCheckout", "true"]);
    part.git(&["update-index", "--skip-worktree", "a.txt"]);
    part.remove("a.txt");
    part.write("b.txt", "new\n");
    let (commit, ..) = commit(&world, &part, &[]).await;
    assert_eq!(
        part.git(&["show", &format!("{commit}:a.txt")]),
        part.git(&["show", &format!("{base}:a.txt")])
    );
}

#[tokio::test]
async fn what_was_only_ever_in_an_index_is_not_in_the_commit() {
    // N6: neither staged nor committed by an agent's own git.
    for is_committed in [false, true] {
        let world = WorktreesFixture::new();
        let base = world.checkpoint("20").await;
        let part = world.begin("20a", &base).await;
        let blob = part.git(&["hash-object", "-w", "a.txt"]);
        part.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},.mcp.json")]);
        part.git(&["update-index", "--skip-worktree", ".mcp.json"]);
        if is_committed {
            part.git(&["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "mine"]);
            part.git(&["update-index", "--skip-worktree", ".mcp.json"]);
        }
        part.write("b.txt", "new\n");
        let (commit, ..) = commit(&world, &part, &[]).await;
        let files = part.git(&["ls-tree", "-r", "--name-only", &commit]);
        assert!(files.contains("b.txt") && !files.contains(".mcp.json"), "{files}");
    }
}

#[tokio::test]
async fn a_commit_that_brings_what_is_kept_is_neither_merged_nor_landed() {
    // N6: a sparse checkout leaves it out of the tree, and the host takes it from the branch.
    let world = WorktreesFixture::new();
    world.trees.hold_to(ProtectedPaths { paths: vec![".mcp.json".into()], only_new: false });
    let base = world.checkpoint("20").await;
    let (part, into) = (world.begin("20a", &base).await, WorktreeName::integration(&PhaseId::new("20"), 1));
    part.git(&["config", "core.sparseCheckout", "true"]);
    let blob = part.git(&["hash-object", "-w", "a.txt"]);
    part.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},.MCP.json")]);
    part.git(&["update-index", "--skip-worktree", ".MCP.json"]);
    let refused = world.trees.merge(&part.tree, &into, "m", None).await.unwrap_err().to_string();
    assert!(refused.contains("nothing is merged") && refused.contains(".MCP.json"), "{refused}");
}

#[tokio::test]
async fn what_git_ignores_is_told_kept_and_gone_from_a_tree_that_is_checked_out_anew() {
    // `lib/` in .gitignore: the verification of the whole passed on files that did not land.
    let world = WorktreesFixture::new();
    let base = world.checkpoint("20").await;
    let part = world.begin("20a", &base).await;
    part.write("src/a.sh", ". src/lib/a.txt\n");
    part.write("ignored.txt", "made by an agent");
    part.write(".baton/r1/inbox/x.json", "{}");
    part.write("a.txt", "changed\n");
    let (_, _, ignored) = commit(&world, &part, &["ignored.txt", "src/a.sh"]).await;
    assert_eq!(ignored, ["ignored.txt"]);
    let phase = PhaseId::new("20");
    let done = world.trees.commit(&phase, &part.tree, &[], true).await.unwrap();
    let CommitResult::Committed { commit, unseen, .. } = done else { panic!("{done:?}") };
    assert_eq!(unseen, ["ignored.txt"]);
    let kept = world.git(&["for-each-ref", "--format=%(refname)", "refs/baton"]);
    let kept = kept.lines().find(|name| name.ends_with("/left/20a-ignored")).expect("it is kept");
    assert_eq!(world.git(&["show", &format!("{kept}:ignored.txt")]), "made by an agent");
    assert_eq!(
        (part.read("src/a.sh").as_deref(), part.read("ignored.txt")),
        (Some(". src/lib/a.txt\n"), None)
    );
    assert_eq!(part.read("a.txt").unwrap(), part.git(&["show", &format!("{commit}:a.txt")]) + "\n");
    assert!(part.read(".baton/r1/inbox/x.json").is_some(), "what is Baton's own stays");
}
