//! What an agent or a folder brings never makes the host's git run a command, and never leads it into another repository.

use std::fs;
use std::path::{Path, PathBuf};

use baton_core::{PhaseId, WorktreeName};
use baton_workspace::{
    BranchCommitRequest, COMMAND_KEYS, CommitResult, LandResult, Workspace, WorktreeBase, WorktreeError,
};

use super::fixture::{WorktreesFixture, executable, git, of_a_user, try_git, write};

/// Programs that leave a mark when they run.
struct MarkerPrograms {
    folder: PathBuf,
}

impl MarkerPrograms {
    fn beside(world: &WorktreesFixture) -> Self {
        let folder = world.dir.path().canonicalize().unwrap().join("traps");
        fs::create_dir_all(folder.join("ran")).unwrap();
        Self { folder }
    }

    /// A program that marks this name, and hands on what it reads.
    fn program(&self, name: &str) -> String {
        let mark = self.folder.join("ran").join(name);
        write(&self.folder, name, &format!("#!/bin/sh\ntouch '{}'\nexec cat\n", mark.display()));
        executable(&self.folder, name);
        self.folder.join(name).display().to_string()
    }

    /// The names of those that ran.
    fn ran(&self) -> Vec<String> {
        let ran = fs::read_dir(self.folder.join("ran")).unwrap();
        let mut ran: Vec<String> =
            ran.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        ran.sort();
        ran
    }

    fn forget(&self) {
        fs::remove_dir_all(self.folder.join("ran")).unwrap();
        fs::create_dir(self.folder.join("ran")).unwrap();
    }
}

/// `filter.*.clean` as a line of a configuration that names a program by this setting.
fn setting(key: &str, traps: &MarkerPrograms) -> String {
    let program = traps.program(key);
    let at = |name: &str| name.replace('*', "evil");
    let value = match key {
        "remote.*.promisor" => "true".to_owned(),
        "alias.*" | "submodule.*.update" => format!("!{program}"),
        "core.hooksPath" => {
            for hook in
                ["post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-index-change"]
            {
                let hook = format!("hooks/{hook}");
                write(&traps.folder, &hook, &fs::read_to_string(&program).unwrap());
                executable(&traps.folder, &hook);
            }
            traps.folder.join("hooks").display().to_string()
        }
        "include.path" | "includeIf.*.path" => {
            let name = if key == "include.path" { "included" } else { "included-if" };
            let more = format!(
                "[filter \"{name}\"]\n\tclean = {program}\n[merge \"{name}\"]\n\tdriver = {program}\n"
            );
            write(&traps.folder, &format!("{name}.config"), &more);
            traps.folder.join(format!("{name}.config")).display().to_string()
        }
        "merge.*.driver" => format!("{program} %A"),
        _ => program,
    };
    match key {
        "alias.*" => section("alias", "status", &value),
        "pager.*" => section("pager", "log", &value),
        // Hooks by configuration are known to git from 2.54 on.
        "hook.*.command" => section(
            "hook \"evil\"",
            "command",
            &format!("{value}\n\tevent = reference-transaction\n\tevent = post-checkout"),
        ),
        "includeIf.*.path" => section("includeIf \"gitdir/i:/**\"", "path", &value),
        // Both are about other tests: the one needs an object that is not there, the other moves every file.
        "extensions.partialClone" | "core.worktree" => String::new(),
        // Where a filter has both, the other one does not run.
        "filter.*.process" => section("filter \"process\"", "process", &value),
        key => {
            let (before, name) = key.rsplit_once('.').unwrap();
            match before.split_once('.') {
                Some((of, between)) => section(&format!("{of} \"{}\"", at(between)), name, &value),
                None => section(before, name, &value),
            }
        }
    }
}

fn section(head: &str, key: &str, value: &str) -> String {
    format!("[{head}]\n\t{key} = {value}\n")
}

/// Every setting that names a command, in the shared configuration and in that of the work tree.
fn set_all(world: &WorktreesFixture, traps: &MarkerPrograms) {
    let mut config = fs::read_to_string(world.root.join(".git/config")).unwrap();
    for key in COMMAND_KEYS {
        config.push_str(&setting(key.key, traps));
    }
    config.push_str(
        "[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n[diff]\n\tignoreSubmodules = none\n",
    );
    world.write(".git/config", &config);
}

#[tokio::test]
async fn a_commit_in_the_workspace_runs_no_hook_and_no_filter() {
    // N6
    let world = WorktreesFixture::new();
    let traps = MarkerPrograms::beside(&world);
    set_all(&world, &traps);
    for hook in ["pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"] {
        let program = fs::read_to_string(traps.program(hook)).unwrap();
        write(&world.root, &format!(".git/hooks/{hook}"), &program);
        executable(&world.root, &format!(".git/hooks/{hook}"));
    }
    let phase = PhaseId::new("p");
    let wanted = BranchCommitRequest {
        phase: &phase,
        ordinal: 1,
        message: "Work\n",
        branch: None,
        only: None,
        but: None,
    };
    world.trees.begin_commits(&phase, Some("work/r1")).await.unwrap();
    world.write("src/b.txt", "c\n");
    assert_eq!(world.trees.commit_to_branch(wanted).await.unwrap().commit.unwrap().files, 1);
    assert_eq!(traps.ran(), Vec::<String>::new());
    // An agent lets files go through a filter of its own.
    world.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    world.write("src/b.txt", "d\n");
    let error = world.trees.commit_to_branch(BranchCommitRequest { ordinal: 2, ..wanted }).await.unwrap_err();
    assert!(error.to_string().contains("git config --global"), "{error}");
    assert_eq!(traps.ran(), Vec::<String>::new());
    // The traps are real ones.
    fs::remove_file(world.root.join(".gitattributes")).unwrap();
    let _ = try_git(
        &world.root,
        &["-c", "core.hooksPath=.git/hooks", "commit", "-q", "--no-gpg-sign", "-am", "x"],
    );
    assert!(traps.ran().iter().any(|ran| ran == "pre-commit"), "{:?}", traps.ran());
}

pub(super) async fn look(root: &Path) {
    let workspace = Workspace::open(root).unwrap();
    let start = workspace.baseline(&[]).await.unwrap();
    let facts = workspace.measure(&start, &[]).await.unwrap();
    assert!(facts.git.present);
    workspace.all_changed(&start).await.unwrap();
    workspace.since(start.head(), start.branch()).await;
}

#[tokio::test]
async fn looking_runs_no_command_that_the_repository_names() {
    // N6
    let world = WorktreesFixture::new();
    let traps = MarkerPrograms::beside(&world);
    set_all(&world, &traps);
    world.write(".gitattributes", "* filter=evil diff=evil merge=evil\nsrc/* filter=process\n");
    world.write("src/b.txt", "c\n");
    world.write("a.txt", "two\none\nthree\n");
    look(&world.root).await;
    let seen = world.trees.open(&WorktreeName::workspace()).await.unwrap();
    seen.baseline(&[]).await.unwrap();
    assert_eq!(traps.ran(), Vec::<String>::new());
    let WorktreeBase::Shared { why } = world.base("20", &WorktreeName::workspace()).await else {
        panic!("not refused")
    };
    assert!(why.contains("the filter ") && why.contains("git config --global"), "{why}");
    assert_eq!(traps.ran(), Vec::<String>::new());
    // The traps are real ones.
    let _ = try_git(&world.root, &["status"]);
    for sprung in ["core.fsmonitor", "filter.*.process", "filter.*.clean"] {
        assert!(traps.ran().iter().any(|ran| ran == sprung), "{sprung}: {:?}", traps.ran());
    }
}

#[tokio::test]
async fn work_trees_run_no_command_that_the_repository_names() {
    // N6
    let world = WorktreesFixture::new();
    let traps = MarkerPrograms::beside(&world);
    let attributes = "a.txt merge=evil diff=evil\nsrc/b.txt merge=included\n*.late filter=evil\n";
    world.write(".gitattributes", attributes);
    world.write("far.late", "late");
    world.commit("attributes");
    let base = world.checkpoint("20").await;
    set_all(&world, &traps);
    let (a, b) = (world.begin("20a", &base).await, world.begin("20b", &base).await);
    assert_eq!(b.read("far.late").unwrap(), "late", "checked out without its filter");
    fs::remove_file(world.root.join("far.late")).unwrap();
    for part in [&a, &b] {
        part.remove("far.late");
    }
    let integration = world.integration("20").await;
    integration.remove("far.late");
    a.write("a.txt", "ONE\ntwo\nthree\n");
    b.write("a.txt", "one\ntwo\nTHREE\n");
    a.write("src/b.txt", "of a\n");
    world.merge(&a, "20").await;
    world.merge(&b, "20").await;
    world.write("mine.txt", "mine");
    let mut landing = world.land("20", &base, &[&a, &b]).await;
    if landing == LandResult::Updated {
        landing = world.land("20", &base, &[&a, &b]).await;
    }
    assert!(matches!(landing, LandResult::Landed { .. }), "{landing:?}");
    assert_eq!(world.read("a.txt").unwrap(), "ONE\ntwo\nTHREE\n");
    world.trees.undo(false).await.unwrap();
    assert_eq!(world.read("a.txt").unwrap(), "one\ntwo\nthree\n");
    assert_eq!(traps.ran(), Vec::<String>::new());
}

#[tokio::test]
async fn a_filter_that_an_agent_brings_while_it_works_is_refused_and_not_run() {
    // N6
    let world = WorktreesFixture::new();
    let traps = MarkerPrograms::beside(&world);
    let base = world.checkpoint("20").await;
    let part = world.begin("20a", &base).await;
    set_all(&world, &traps);
    part.write(".gitattributes", "* filter=evil\n");
    part.write("a.txt", "two\none\nthree\n");
    let seen = world.trees.open(&part.tree).await.unwrap();
    seen.baseline(&[]).await.unwrap();
    let refused = world.trees.commit(&PhaseId::new("20a"), &part.tree, &[], false).await.unwrap_err();
    assert!(matches!(refused, WorktreeError::Filter { .. }), "{refused}");
    assert_eq!(traps.ran(), Vec::<String>::new());
    part.remove(".gitattributes");
    let done = world.trees.commit(&PhaseId::new("20a"), &part.tree, &[], false).await.unwrap();
    assert!(matches!(done, CommitResult::Committed { .. }), "{done:?}");
}

#[tokio::test]
async fn a_filter_of_the_users_own_runs_for_work_trees_and_not_for_looking() {
    // N6
    let user = "[filter \"mine\"]\n\tclean = tr a-z n-za-m\n\tsmudge = tr a-z n-za-m\n";
    if !of_a_user("commands::a_filter_of_the_users_own_runs_for_work_trees_and_not_for_looking", user) {
        return;
    }
    let world = WorktreesFixture::new();
    let traps = MarkerPrograms::beside(&world);
    world.git(&["config", "filter.mine.clean", &traps.program("filter")]);
    world.git(&["config", "filter.mine.smudge", &traps.program("filter")]);
    world.write(".gitattributes", "*.rot filter=mine\n");
    world.write("s.rot", "secret");
    look(&world.root).await;
    let base = world.checkpoint("20").await;
    let part = world.begin("20a", &base).await;
    assert_eq!(part.read("s.rot").unwrap(), "secret");
    assert_eq!(world.git(&["show", &format!("{base}:s.rot")]), "frperg");
    assert_eq!(traps.ran(), Vec::<String>::new());
}

#[tokio::test]
async fn an_object_that_is_missing_is_not_fetched() {
    // N6
    let world = WorktreesFixture::new();
    let traps = MarkerPrograms::beside(&world);
    let uploadpack = traps.program("uploadpack") + " </dev/null #";
    let remote = format!(
        "[remote \"o\"]\n\turl = {}\n\tpromisor = true\n\tuploadpack = \"{}\"\n",
        world.dir.path().display(),
        uploadpack
    );
    let config = fs::read_to_string(world.root.join(".git/config")).unwrap();
    let version = config.replace("repositoryformatversion = 0", "repositoryformatversion = 1");
    world.write(".git/config", &format!("{version}{remote}[extensions]\n\tpartialClone = o\n"));
    let tree = world.git(&["rev-parse", "HEAD^{tree}"]);
    fs::remove_file(world.root.join(".git/objects").join(&tree[..2]).join(&tree[2..])).unwrap();
    let workspace = Workspace::open(&world.root).unwrap();
    workspace.baseline(&[]).await.unwrap();
    let _ = world
        .trees
        .checkpoint(
            &PhaseId::new("20"),
            &WorktreeName::workspace(),
            &WorktreeName::for_phase(&PhaseId::new("20")),
        )
        .await;
    assert_eq!(traps.ran(), Vec::<String>::new());
    let _ = try_git(&world.root, &["status"]);
    assert_eq!(traps.ran(), ["uploadpack"], "the trap is a real one");
}

#[tokio::test]
async fn a_bare_repository_among_the_files_is_no_repository_of_the_work() {
    // N6
    let world = WorktreesFixture::new();
    let traps = MarkerPrograms::beside(&world);
    git(&world.root, &["init", "-q", "--bare", "sub"]);
    let inner = world.root.join("sub");
    let trap = section("filter \"evil\"", "clean", &traps.program("filter"));
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {}\n{trap}",
        inner.display()
    );
    fs::write(inner.join("config"), config).unwrap();
    fs::write(inner.join(".gitattributes"), "* filter=evil\n").unwrap();
    fs::write(inner.join("file"), "1").unwrap();
    git(&inner, &["-c", "filter.evil.clean=cat", "add", "file"]);
    traps.forget();
    fs::write(inner.join("file"), "2").unwrap();
    let workspace = Workspace::open(&inner).unwrap();
    let start = workspace.baseline(&[]).await.unwrap();
    fs::write(inner.join("file"), "3").unwrap();
    let facts = workspace.measure(&start, &[]).await.unwrap();
    assert!(!facts.git.present && facts.changed.len() == 1, "it is looked at without git");
    assert_eq!(traps.ran(), Vec::<String>::new());
    let _ = try_git(&inner, &["status"]);
    assert_eq!(traps.ran(), ["filter"], "the trap is a real one");
}

#[tokio::test]
async fn a_configuration_that_moves_the_work_tree_makes_it_none() {
    // N6
    let world = WorktreesFixture::new();
    let elsewhere = world.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("theirs.txt"), "theirs").unwrap();
    for moved in [elsewhere.as_path(), world.dir.path()] {
        world.git(&["config", "core.worktree", moved.to_str().unwrap()]);
        let WorktreeBase::Shared { why } = world.base("20", &WorktreeName::workspace()).await else {
            panic!("not refused")
        };
        assert!(why.contains("not in a git work tree"), "{why}");
        let workspace = Workspace::open(&world.root).unwrap();
        assert!(!workspace.measure(&workspace.baseline(&[]).await.unwrap(), &[]).await.unwrap().git.present);
    }
    assert_eq!(fs::read_to_string(elsewhere.join("theirs.txt")).unwrap(), "theirs");
}

#[tokio::test]
async fn the_configuration_of_a_submodule_is_not_asked() {
    // N6
    let world = WorktreesFixture::new();
    let traps = MarkerPrograms::beside(&world);
    let base = world.checkpoint("20").await;
    let part = world.begin("20a", &base).await;
    for root in [&world.root, &part.root] {
        write(root, "sub/file", "1");
        let sub = root.join("sub");
        git(&sub, &["init", "-q"]);
        git(&sub, &["add", "file"]);
        git(&sub, &["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]);
        write(root, ".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n");
        git(root, &["add", "-A"]);
        git(root, &["commit", "-qm", "a submodule"]);
        git(&sub, &["config", "core.fsmonitor", &traps.program("fsmonitor")]);
        git(&sub, &["config", "filter.evil.clean", &traps.program("filter")]);
        write(root, "sub/.gitattributes", "* filter=evil\n");
        write(root, "sub/file", "2");
    }
    traps.forget();
    look(&world.root).await;
    let phase = PhaseId::new("20a");
    let refused = world.trees.commit(&phase, &part.tree, &[], false).await.unwrap_err();
    assert!(matches!(&refused, WorktreeError::Nested { path } if path == "sub"), "{refused}");
    assert_eq!(traps.ran(), Vec::<String>::new());
    git(
        &part.root.join("sub"),
        &["-c", "core.fsmonitor=false", "-c", "filter.evil.clean=cat", "reset", "-q", "--hard"],
    );
    fs::remove_file(part.root.join("sub/.gitattributes")).unwrap();
    traps.forget();
    world.trees.commit(&phase, &part.tree, &[], false).await.unwrap();
    assert_eq!(traps.ran(), Vec::<String>::new());
    let _ = try_git(&world.root, &["status", "--ignore-submodules=none"]);
    assert!(traps.ran().contains(&"fsmonitor".to_owned()), "the trap is a real one");
}

/// Another repository of the user's, with a branch checked out and a file that is not committed.
fn victim(world: &WorktreesFixture) -> PathBuf {
    let victim = world.dir.path().join("victim");
    fs::create_dir(&victim).unwrap();
    git(&victim, &["init", "-q", "-b", "other"]);
    write(&victim, "own.txt", "own");
    git(&victim, &["add", "-A"]);
    git(&victim, &["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "own"]);
    write(&victim, "own.txt", "more");
    victim
}

fn state(of: &Path) -> String {
    let everything = ["symbolic-ref HEAD", "for-each-ref", "status --porcelain", "ls-files -s"];
    let said = everything.map(|words| git(of, &words.split(' ').collect::<Vec<_>>()));
    said.join("\n")
}

#[tokio::test]
async fn a_tree_stays_in_the_repository_that_it_was_made_in() {
    // N6
    let mut world = WorktreesFixture::new();
    let traps = MarkerPrograms::beside(&world);
    let victim = victim(&world);
    let untouched = state(&victim);
    let base = world.checkpoint("20").await;
    let part = world.begin("20a", &base).await;
    let made = fs::read(part.root.join(".git")).unwrap();
    // Plain files of the tree that are a repository.
    git(&part.root, &["init", "-q", "--bare", ".g"]);
    let trap = section("filter \"evil\"", "clean", &traps.program("filter"));
    fs::write(part.root.join(".g/config"), format!("[core]\n\tbare = false\n{trap}")).unwrap();
    part.write(".gitattributes", "* filter=evil\n");
    let links =
        ["gitdir: .g\n".to_owned(), format!("gitdir: {}/.git\n", victim.display()), "nothing".to_owned()];
    for (n, link) in links.iter().enumerate() {
        part.write("a.txt", &format!("work {n}\n"));
        part.write(".git", link);
        // A host that was started again knows it all the same.
        world.restart();
        let seen = world.trees.open(&part.tree).await.unwrap();
        seen.baseline(&[]).await.unwrap();
        assert_eq!(fs::read(part.root.join(".git")).unwrap(), made, "{link}");
        assert_eq!(world.trees.take_mended(), std::slice::from_ref(&part.tree));
        part.write(".git", link);
        let done = world.trees.commit(&PhaseId::new("20a"), &part.tree, &[], false).await.unwrap();
        let CommitResult::Committed { commit, .. } = done else { panic!("{done:?}") };
        assert_eq!(world.git(&["show", &format!("{commit}:a.txt")]), format!("work {n}"));
        assert_eq!(world.git(&["rev-parse", "baton/r1/20a"]), commit);
        assert_eq!(fs::read(part.root.join(".git")).unwrap(), made, "{link}");
    }
    assert_eq!((traps.ran(), state(&victim)), (Vec::new(), untouched));
    let lost = world.dir.path().join("state/trees/r1/.lost-1-20a.git");
    assert_eq!(fs::read_to_string(lost).unwrap(), links[0], "nothing is lost");
}

#[tokio::test]
async fn a_git_folder_that_an_agent_makes_in_its_tree_is_moved_away() {
    // N6
    let world = WorktreesFixture::new();
    let victim = victim(&world);
    let untouched = state(&victim);
    let base = world.checkpoint("20").await;
    let part = world.begin("20a", &base).await;
    part.remove(".git");
    git(&part.root, &["init", "-q"]);
    part.write("new.txt", "new");
    let done =
        world.trees.commit(&PhaseId::new("20a"), &part.tree, &["new.txt".into()], false).await.unwrap();
    assert!(matches!(&done, CommitResult::Committed { missing, .. } if missing.is_empty()), "{done:?}");
    assert!(world.dir.path().join("state/trees/r1/.lost-1-20a.git/HEAD").exists());
    // A link to another repository is no file, and neither is a folder of ours that leads there.
    part.remove(".git");
    super::fixture::link(&part.root, ".git", victim.join(".git").to_str().unwrap());
    world.trees.commit(&PhaseId::new("20a"), &part.tree, &[], false).await.unwrap();
    let own = world.root.join(".git/worktrees/20a");
    fs::rename(&own, own.with_file_name("away")).unwrap();
    super::fixture::link(&world.root, ".git/worktrees/20a", victim.join(".git").to_str().unwrap());
    let gone = world.trees.commit(&PhaseId::new("20a"), &part.tree, &[], false).await.unwrap_err();
    assert!(matches!(gone, WorktreeError::Gone { .. }), "{gone}");
    assert_eq!(state(&victim), untouched);
}

#[tokio::test]
async fn the_workspace_stays_in_the_repository_in_which_its_trees_were_made() {
    // N6
    let mut world = WorktreesFixture::new();
    let victim = victim(&world);
    let untouched = state(&victim);
    let base = world.checkpoint("20").await;
    let part = world.begin("20a", &base).await;
    part.write("a.txt", "A\n");
    fs::rename(world.root.join(".git"), world.dir.path().join("real")).unwrap();
    world.write(".git", &format!("gitdir: {}/.git\n", victim.display()));
    world.restart();
    let refused = world.trees.commit(&PhaseId::new("20a"), &part.tree, &[], false).await.unwrap_err();
    assert!(matches!(refused, WorktreeError::OtherRepository { .. }), "{refused}");
    assert_eq!(state(&victim), untouched);
    fs::remove_file(world.root.join(".git")).unwrap();
    fs::rename(world.dir.path().join("real"), world.root.join(".git")).unwrap();
    world.trees.commit(&PhaseId::new("20a"), &part.tree, &[], false).await.unwrap();
}

#[tokio::test]
async fn a_folder_that_the_git_folder_calls_common_is_not_taken_for_the_repository() {
    // N6: written while an agent lives, between two calls of git.
    let mut world = WorktreesFixture::new();
    world.trees.note_repository().await.unwrap();
    let traps = MarkerPrograms::beside(&world);
    let victim = victim(&world);
    let trap = section("hook \"evil\"", "command", &traps.program("hook"));
    let event = "\tevent = reference-transaction\n\tevent = post-checkout\n";
    let config = fs::read_to_string(victim.join(".git/config")).unwrap();
    write(&victim, ".git/config", &format!("{config}{trap}{event}"));
    let untouched = state(&victim);
    let base = world.checkpoint("20").await;
    let made = world.begin("20a", &base).await;
    let link = fs::read_to_string(made.root.join(".git")).unwrap();
    assert_eq!(link, format!("gitdir: {}\n", world.root.join(".git/worktrees/20a").display()));
    let (phase, other) = (PhaseId::new("20"), format!("{}\n", victim.join(".git").display()));
    let own = [world.root.join(".git/commondir"), world.root.join(".git/worktrees/20a/commondir")];
    for (folder, tree) in own.iter().zip([&WorktreeName::workspace(), &made.tree]) {
        let before = fs::read(folder).ok();
        fs::write(folder, &other).unwrap();
        for is_restarted in [false, true] {
            if is_restarted {
                world.restart();
            }
            let integration = WorktreeName::integration(&phase, 2);
            let refused = world.trees.checkpoint(&phase, tree, &integration).await.unwrap_err().to_string();
            let leads = format!("leads to {} now", victim.join(".git").display());
            assert!(refused.contains(&leads), "{refused}");
        }
        let workspace = world.trees.open(&WorktreeName::workspace()).await.unwrap();
        assert_eq!(
            workspace.baseline(&[]).await.unwrap().head().is_empty(),
            tree.is_workspace(),
            "what is there is not looked at"
        );
        match before {
            Some(before) => fs::write(folder, before).unwrap(),
            None => fs::remove_file(folder).unwrap(),
        }
    }
    assert_eq!((traps.ran(), state(&victim)), (Vec::new(), untouched));
    made.write("a.txt", "A\n");
    world.trees.commit(&PhaseId::new("20a"), &made.tree, &[], false).await.unwrap();
}

#[tokio::test]
async fn links_in_the_repository_lead_nowhere_unless_the_user_had_them() {
    // N6
    for name in ["refs", "objects", "logs", "packed-refs", "shallow", "worktrees"] {
        let world = WorktreesFixture::new();
        world.trees.note_repository().await.unwrap();
        let other = WorktreesFixture::new();
        let (at, victim) = (world.root.join(".git").join(name), other.root.join(".git").join(name));
        let _ = fs::rename(&at, world.root.join(".git/away"));
        std::os::unix::fs::symlink(&victim, &at).unwrap();
        let before = state(&other.root);
        let phase = PhaseId::new("20");
        let refused = world
            .trees
            .checkpoint(&phase, &WorktreeName::workspace(), &WorktreeName::integration(&phase, 1))
            .await;
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("is a link that was not there when the run began"), "{name}: {why}");
        assert_eq!(state(&other.root), before, "{name}");
    }
    let world = WorktreesFixture::new();
    fs::rename(world.root.join(".git/objects"), world.dir.path().join("objects")).unwrap();
    std::os::unix::fs::symlink(world.dir.path().join("objects"), world.root.join(".git/objects")).unwrap();
    world.trees.note_repository().await.unwrap();
    world.checkpoint("20").await;
}

#[tokio::test]
async fn looking_reads_no_other_repository() {
    // N6
    let world = WorktreesFixture::new();
    world.trees.note_repository().await.unwrap();
    let workspace = world.trees.open(&WorktreeName::workspace()).await.unwrap();
    let start = workspace.baseline(&[]).await.unwrap();
    let other = WorktreesFixture::new();
    other.git(&["commit", "-q", "--allow-empty", "-m", "the secret"]);
    let alternates = format!("{}\n", other.root.join(".git/objects").display());
    write(&world.root, ".git/objects/info/alternates", &alternates);
    fs::remove_file(world.root.join(".git/refs/heads/main")).unwrap();
    std::os::unix::fs::symlink(
        other.root.join(".git/refs/heads/main"),
        world.root.join(".git/refs/heads/main"),
    )
    .unwrap();
    let seen = workspace.measure(&start, &[]).await.unwrap();
    assert!(!format!("{seen:?}").contains("the secret"), "{seen:?}");
}

#[tokio::test]
async fn a_name_that_git_takes_into_no_commit_is_refused_and_not_passed_over() {
    // A11: git ends as if it had taken it, and the file was lost with the tree of a part, or no diff showed it.
    for name in ["src/git~1/notes.md", "n/.GIT/notes.md"] {
        let world = WorktreesFixture::new();
        world.write(name, "work\n");
        let refused = world.trees.state().await.unwrap_err();
        assert!(matches!(&refused, WorktreeError::RefusedName { path } if path == name), "{refused}");
    }
    let world = WorktreesFixture::new();
    std::os::unix::fs::symlink("x", world.root.join(".gitmodules")).unwrap();
    let refused = world.trees.state().await.unwrap_err();
    assert!(matches!(&refused, WorktreeError::RefusedName { path } if path == ".gitmodules"), "{refused}");
}
