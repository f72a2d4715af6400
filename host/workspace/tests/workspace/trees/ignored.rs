//! What a repository has git ignore by files outside of its tree: as it was when the run began.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use baton_core::{PhaseId, RunId, WorktreeName};
use baton_workspace::{BranchCommitRequest, RunWorktrees, Workspace};

use super::fixture::{OWN, WorktreesFixture, git, link};

fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Files that the workspace has, for one who looks now.
async fn changed(trees: &RunWorktrees, baseline: &baton_workspace::Baseline) -> Vec<String> {
    let workspace = trees.open(&WorktreeName::workspace()).await.unwrap();
    let seen = workspace.measure(baseline, &[]).await.unwrap();
    assert!(seen.git.present, "git was asked");
    seen.changed.into_iter().map(|file| file.path).collect()
}

fn committed(world: &WorktreesFixture, commit: &str) -> Vec<String> {
    let names = world.git(&["ls-tree", "-r", "--name-only", commit]);
    names.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn settings_by_which_git_would_overlook_a_change_count_as_they_were_at_the_start() {
    // N6
    let mut world = WorktreesFixture::new();
    link(&world.root, "lnk", "a.txt");
    world.commit("a link");
    world.trees.note_repository().await.unwrap();
    let phase = PhaseId::new("p");
    world.trees.begin_commits(&phase, None).await.unwrap();
    world.git(&["config", "core.fileMode", "false"]);
    world.git(&["config", "core.symlinks", "false"]);
    fs::set_permissions(world.root.join("src/b.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(world.root.join("lnk")).unwrap();
    world.write("lnk", "/etc/passwd");
    world.restart();
    world.trees.note_repository().await.unwrap();
    let wanted =
        BranchCommitRequest { phase: &phase, ordinal: 1, message: "m", branch: None, only: None, but: None };
    world.trees.commit_to_branch(wanted).await.unwrap().commit.unwrap();
    let modes = world.git(&["diff-tree", "-r", "--no-commit-id", "HEAD"]);
    let modes: Vec<&str> = modes.lines().filter_map(|line| line.get(1..14)).collect();
    assert_eq!(modes, ["120000 100644", "100644 100755"]);
}

#[tokio::test]
async fn what_an_agent_has_git_ignore_is_seen_and_committed_all_the_same() {
    // N6
    let mut world = WorktreesFixture::new();
    let excludes = world.dir.path().join("excludes");
    fs::write(&excludes, "*.tmp\n").unwrap();
    world.git(&["config", "core.excludesFile", excludes.to_str().unwrap()]);
    world.write(".git/info/exclude", "mine*\n");
    world.trees.note_repository().await.unwrap();
    let workspace = world.trees.open(&WorktreeName::workspace()).await.unwrap();
    let before = workspace.baseline(&[]).await.unwrap();

    world.write(".git/info/exclude", "mine*\nhidden*\n");
    fs::write(&excludes, "*.tmp\n*.evil\n").unwrap();
    world.write("elsewhere", "*.more\n");
    world.git(&["config", "core.excludesFile", "elsewhere"]);
    for file in ["mine.log", "x.tmp", "hidden.txt", "y.evil", "z.more"] {
        world.write(file, "A\n");
    }
    let seen = ["elsewhere", "hidden.txt", "y.evil", "z.more"];
    assert_eq!(changed(&world.trees, &before).await, seen);
    // Another host of the run knows it, too.
    world.restart();
    world.trees.note_repository().await.unwrap();
    assert_eq!(changed(&world.trees, &before).await, seen);

    let base = world.checkpoint("20").await;
    let of_base = committed(&world, &base);
    assert!(seen.iter().all(|file| of_base.iter().any(|name| name == file)), "{of_base:?}");
    assert!(!of_base.iter().any(|name| name == "mine.log" || name == "x.tmp"), "{of_base:?}");
    // A tree that is made now goes by the beginning of the run, and settings of that tree alone count as little.
    let part = world.begin("20a", &base).await;
    world.git(&["config", "extensions.worktreeConfig", "true"]);
    part.git(&["config", "--worktree", "core.excludesFile", world.root.join("elsewhere").to_str().unwrap()]);
    for file in ["hidden-a.txt", "a.more", "a.tmp"] {
        part.write(file, "A\n");
    }
    world.trees.commit(&PhaseId::new("20a"), &part.tree, &[], false).await.unwrap();
    let of_part = part.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(
        of_part.contains("hidden-a.txt") && of_part.contains("a.more") && !of_part.contains("a.tmp"),
        "{of_part}"
    );

    // A run that begins now takes what is there now.
    let state = world.dir.path().join("state");
    let workspace = Workspace::open(&world.root).unwrap().with_own_folder(OWN);
    let fresh = RunWorktrees::new(&workspace, &state.join("trees/r2"), &[&state], &RunId::new("r2"));
    fresh.note_repository().await.unwrap();
    let of_fresh = changed(&fresh, &before).await;
    assert_eq!(of_fresh, ["elsewhere", "x.tmp", "y.evil"]);
}

#[tokio::test]
async fn a_repository_that_an_agent_makes_ignores_nothing_by_files_of_its_own() {
    // N6
    let world = WorktreesFixture::empty();
    fs::remove_dir_all(world.root.join(".git")).unwrap();
    world.trees.note_repository().await.unwrap();
    let workspace = world.trees.open(&WorktreeName::workspace()).await.unwrap();
    let before = workspace.baseline(&[]).await.unwrap();
    git(&world.root, &["init", "-q"]);
    world.write(".git/info/exclude", "hidden*\n");
    world.write("hidden.txt", "A\n");
    assert_eq!(changed(&world.trees, &before).await, ["hidden.txt"]);
}

#[tokio::test]
async fn attributes_of_the_repository_are_in_force_as_they_were() {
    let world = WorktreesFixture::new();
    world.write("windows.txt", "one\ntwo\n");
    world.commit("second");
    world.write(".git/info/attributes", "windows.txt text eol=crlf\n");
    // A list of the user's own may be a link, and one that is no file lists nothing.
    world.write("../lists/exclude", "mine*\n");
    link(&world.root, ".git/info/exclude", world.dir.path().join("lists/exclude").to_str().unwrap());
    world.git(&["config", "core.excludesFile", "/dev/null"]);
    world.trees.note_repository().await.unwrap();
    world.write(".git/info/attributes", "* -text\n");
    world.write("mine.txt", "A\n");
    let base = world.checkpoint("20").await;
    assert!(!committed(&world, &base).contains(&"mine.txt".to_owned()));
    let part = world.begin("20a", &base).await;
    assert_eq!(part.read("windows.txt").as_deref(), Some("one\r\ntwo\r\n"));
}

#[tokio::test]
async fn a_pipe_in_the_place_of_such_a_list_is_stepped_around() {
    // N6
    let world = WorktreesFixture::new();
    for name in ["exclude", "attributes", "grafts"] {
        pipe(&world.root.join(".git/info").join(name));
    }
    world.trees.note_repository().await.unwrap();
    world.checkpoint("20").await;
}

#[tokio::test]
async fn a_pipe_where_git_reads_a_file_is_named_and_not_waited_for() {
    // N6
    let world = WorktreesFixture::new();
    world.trees.note_repository().await.unwrap();
    let workspace = world.trees.open(&WorktreeName::workspace()).await.unwrap();
    let before = workspace.baseline(&[]).await.unwrap();
    world.write("src/deep/new.txt", "A\n");
    // At the top of the tree, deep in it, in the repository, and in one that lies among the files.
    let others =
        ["src/deep/.gitattributes", "src/deep/.gitignore", ".git/MERGE_HEAD", "src/deep/other/.git/HEAD"];
    for name in [".gitignore"].into_iter().chain(others) {
        let at = world.root.join(name);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        let was = fs::read(&at).ok();
        pipe(&at);
        let began = Instant::now();
        let phase = PhaseId::new("20");
        let seen = workspace.measure(&before, &[]).await.map(drop).map_err(|error| error.to_string());
        let integration = WorktreeName::integration(&phase, 1);
        let checkpoint = world.trees.checkpoint(&phase, &WorktreeName::workspace(), &integration).await;
        assert!(began.elapsed() < Duration::from_secs(20), "{name}");
        let is_told = |told: &str| told.contains(&format!("{name} is a pipe")) && told.contains("remove it");
        assert!(checkpoint.as_ref().is_err_and(|told| is_told(&told.to_string())), "{name}: {checkpoint:?}");
        // A look reads no attributes.
        assert!(
            seen.as_ref().map_or_else(|told| is_told(told), |()| name.ends_with("attributes")),
            "{name}: {seen:?}"
        );
        fs::remove_file(&at).unwrap();
        was.into_iter().for_each(|was| fs::write(&at, was).unwrap());
    }
    fs::remove_dir_all(world.root.join("src/deep/other")).unwrap();
    workspace.measure(&before, &[]).await.unwrap();
    world.checkpoint("20").await;
}

/// What the branch commit of a phase leaves out, and what the commit has.
async fn branch_commit(world: &WorktreesFixture, phase: &str) -> (Vec<String>, Vec<String>) {
    let (phase, message) = (PhaseId::new(phase), "Work\n");
    let wanted =
        BranchCommitRequest { phase: &phase, ordinal: 1, message, branch: None, only: None, but: None };
    let done = world.trees.commit_to_branch(wanted).await.unwrap();
    let files = done.commit.map(|commit| world.git(&["show", "--format=", "--name-status", &commit.id]));
    (done.left, files.unwrap_or_default().lines().map(str::to_owned).collect())
}

/// Whether git has the content of a file.
fn is_stored(world: &WorktreesFixture, file: &str) -> bool {
    let object = world.git(&["hash-object", file]);
    let found =
        std::process::Command::new("git").args(["cat-file", "-e", &object]).current_dir(&world.root).status();
    found.unwrap().success()
}

#[tokio::test]
async fn files_that_git_ignored_when_the_run_began_stay_out_of_commits() {
    // N6: `.env` was committed once an agent emptied `.gitignore`, or added the file by force.
    for by_force in [false, true] {
        let world = WorktreesFixture::new();
        world.write("ignored.env", "TOKEN=1\n");
        world.write("build/out", "before\n");
        world.trees.note_repository().await.unwrap();
        world.trees.begin_commits(&PhaseId::new("p"), None).await.unwrap();
        world.write("src/new.txt", "new\n");
        match by_force {
            true => drop(world.git(&["add", "-f", "ignored.env", "build/out"])),
            false => world.write(".gitignore", ""),
        }
        let state = world.trees.state().await.unwrap();
        let (left, files) = branch_commit(&world, "p").await;
        if by_force {
            assert_eq!(files, ["A\tsrc/new.txt"]);
        } else {
            assert_eq!(
                (left, files),
                (
                    vec!["build/out".into(), "ignored.env".into()],
                    vec!["M\t.gitignore".into(), "A\tsrc/new.txt".into()]
                )
            );
            assert!(!is_stored(&world, "ignored.env"));
        }
        assert!(!committed(&world, &state).iter().any(|file| file == "ignored.env" || file == "build/out"));
    }
}

#[tokio::test]
async fn what_agents_do_not_see_is_not_stored_by_git() {
    // N6: an agent in a sandbox read a hidden file by `git cat-file`.
    let world = WorktreesFixture::new();
    world.write("secret.txt", "hidden from agents\n");
    world.trees.note_repository().await.unwrap();
    world.trees.hide_from_git(vec!["secret.txt".into()]);
    world.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        "100644",
        &world.git(&["rev-parse", "HEAD:a.txt"]),
        "secret.txt",
    ]);
    world.trees.state().await.unwrap();
    world.checkpoint("20").await;
    assert!(!is_stored(&world, "secret.txt"));
    assert!(is_stored(&world, "a.txt"));
}

#[tokio::test]
async fn a_deletion_that_an_agent_hides_from_git_is_seen() {
    // N6: a test that failed was deleted so, and the diff of the run did not have it.
    for sparse in [false, true] {
        let world = WorktreesFixture::new();
        world.write("kept.txt", "the user leaves it out\n");
        world.commit("second");
        world.git(&["update-index", "--skip-worktree", "kept.txt"]);
        fs::remove_file(world.root.join("kept.txt")).unwrap();
        world.trees.note_repository().await.unwrap();
        world.trees.begin_commits(&PhaseId::new("p"), None).await.unwrap();
        let before = world.trees.state().await.unwrap();
        if sparse {
            world.git(&["config", "core.sparseCheckout", "true"]);
        }
        world.git(&["update-index", "--skip-worktree", "src/b.txt"]);
        fs::remove_file(world.root.join("src/b.txt")).unwrap();
        let after = world.trees.state().await.unwrap();
        let differ = world.trees.between(&before, &after, &[], false).await.unwrap();
        let names: Vec<&str> = differ.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names, ["src/b.txt"]);
        assert_eq!(branch_commit(&world, "p").await.1, ["D\tsrc/b.txt"]);
    }
}

#[tokio::test]
async fn a_deletion_is_seen_where_the_user_has_a_sparse_checkout() {
    // N6: what an agent left out of the checkout as well counted as left out by the user.
    let world = WorktreesFixture::new();
    world.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/src/"]);
    world.trees.note_repository().await.unwrap();
    let before = world.trees.state().await.unwrap();
    fs::write(world.root.join(".git/info/sparse-checkout"), "/*\n!/src/\n!/a.txt\n").unwrap();
    world.git(&["read-tree", "-mu", "HEAD"]);
    assert_eq!((world.read("a.txt"), world.status()), (None, String::new()));
    let after = world.trees.state().await.unwrap();
    let differ = world.trees.between(&before, &after, &[], false).await.unwrap();
    let names: Vec<&str> = differ.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, ["a.txt"]);
}

#[tokio::test]
async fn a_replaced_object_is_taken_for_what_it_is() {
    // N6: with `git replace` an agent chose what a diff compared.
    let world = WorktreesFixture::new();
    world.trees.note_repository().await.unwrap();
    let before = world.trees.state().await.unwrap();
    world.write("a.txt", "theirs\n");
    let after = world.trees.state().await.unwrap();
    world.git(&["replace", "-f", &after, &before]);
    let differ = world.trees.between(&before, &after, &[], false).await.unwrap();
    assert_eq!(differ.files.len(), 1);
}
