//! Objects of the repository that agents wrote or removed: the host reads what it knows by its content.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use baton_core::{PhaseId, RunId, WorktreeName};
use baton_workspace::{BranchCommitRequest, LandResult, RunWorktrees, Workspace, WorktreeBase};

use super::fixture::{OWN, WorktreesFixture, git};

/// Where the repository keeps a loose object.
fn loose(world: &WorktreesFixture, object: &str) -> PathBuf {
    world.root.join(".git/objects").join(&object[..2]).join(&object[2..])
}

/// Gives an object the content of another one.
fn forge(world: &WorktreesFixture, object: &str, content: &str) {
    let (object, content) = (loose(world, object), loose(world, content));
    fs::create_dir_all(object.parent().unwrap()).unwrap();
    drop(fs::remove_file(&object));
    fs::copy(content, &object).unwrap();
}

/// The name of a text as an object, which the repository has if `write`.
fn blob(world: &WorktreesFixture, text: &str, write: bool) -> String {
    let file = world.dir.path().join("text");
    fs::write(&file, text).unwrap();
    let flags: &[&str] = if write { &["-w"] } else { &[] };
    git(&world.root, &[&["hash-object"], flags, &[&file.display().to_string()]].concat())
}

#[tokio::test]
async fn what_lands_is_what_lay_there_whatever_the_repository_had_under_its_name() {
    // N6: git takes an object that is there for the one that it wants to write, and does not look at its content.
    let world = WorktreesFixture::new();
    let (good, evil) = (blob(&world, "good\n", false), blob(&world, "evil\n", true));
    let landing = world
        .split("20", |a, _| {
            forge(&world, &good, &evil);
            a.write("new.txt", "good\n");
        })
        .await;
    assert!(matches!(landing, LandResult::Landed { committed: true, .. }), "{landing:?}");
    assert_eq!(world.read("new.txt").as_deref(), Some("good\n"));
    assert_eq!(world.git(&["show", "HEAD:new.txt"]), "good");
    world.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn a_difference_is_told_by_what_was_there() {
    // N6: the diff showed the text of a forged object, and hid what a forged folder did not have.
    let world = WorktreesFixture::new();
    world.trees.note_repository().await.unwrap();
    let before = world.trees.state().await.unwrap();
    let (good, evil) = (blob(&world, "good\n", true), blob(&world, "evil\n", false));
    forge(&world, &evil, &good);
    world.write("src/new.txt", "evil\n");
    let after = world.trees.state().await.unwrap();
    let folder = world.git(&["rev-parse", &format!("{after}:src")]);
    forge(&world, &folder, &world.git(&["rev-parse", &format!("{before}:src")]));
    forge(&world, &after, &before);
    let differ = world.trees.between(&before, &after, &[], true).await.unwrap();
    let patch = String::from_utf8(differ.patch).unwrap();
    assert!(patch.contains("src/new.txt") && patch.contains("+evil"), "{patch}");
}

#[tokio::test]
async fn a_difference_shows_every_text_whatever_attributes_say() {
    // N6: with `.gitattributes` an agent had its changes shown as "Binary files differ".
    let world = WorktreesFixture::new();
    for at in [".gitattributes", "src/.gitattributes", ".git/info/attributes"] {
        fs::create_dir_all(world.root.join(".git/info")).unwrap();
        world.write("picture.png", "");
        let before = world.trees.state().await.unwrap();
        world.write(at, "* -diff linguist-generated\n*.txt binary\n*.png diff\n");
        world.write("src/new.txt", "one\ntwo\n");
        world.write("picture.png", "\0\u{1}\n\0\u{2}\n");
        let after = world.trees.state().await.unwrap();
        let differ = world.trees.between(&before, &after, &[], true).await.unwrap();
        let patch = String::from_utf8(differ.patch).unwrap();
        assert!(patch.contains("+one\n+two\n"), "{at}: {patch}");
        assert_eq!(patch.matches("Binary files").count(), 1, "{at}: {patch}");
        assert!(patch.contains("Binary files a/picture.png and b/picture.png differ"), "{at}: {patch}");
        let lines = |path: &str| {
            let file = differ.files.iter().find(|file| file.path == path).unwrap();
            (file.added, file.removed)
        };
        assert_eq!(lines("src/new.txt"), (Some(2), Some(0)), "{at}");
        assert_eq!(lines("picture.png"), (None, None), "{at}");
        for file in [at, "src/new.txt"] {
            fs::remove_file(world.root.join(file)).unwrap();
        }
    }
}

#[tokio::test]
async fn no_part_begins_with_a_file_that_is_not_what_its_commit_says() {
    // N6: a forged object of an unchanged file gave later agents settings, or another check.
    for at in ["HEAD:src/b.txt", "HEAD:src", "HEAD"] {
        let mut world = WorktreesFixture::new();
        let object = world.git(&["rev-parse", at]);
        let content = match at {
            "HEAD:src" => world.git(&["rev-parse", "HEAD^{tree}"]),
            "HEAD" => world.git(&["commit-tree", "-m", "forged", &world.git(&["rev-parse", "HEAD:src"])]),
            _ => blob(&world, "evil\n", true),
        };
        let genuine = fs::read(loose(&world, &object)).unwrap();
        forge(&world, &object, &content);
        let phase = PhaseId::new("20");
        let integration = WorktreeName::integration(&phase, 1);
        let why = match world.trees.checkpoint(&phase, &WorktreeName::workspace(), &integration).await {
            Ok(WorktreeBase::Shared { why }) => why,
            other => panic!("{at}: {other:?}"),
        };
        assert!(why.contains("another thing than their names say"), "{at}: {why}");
        fs::write(loose(&world, &object).with_added_extension("new"), genuine).unwrap();
        fs::rename(loose(&world, &object).with_added_extension("new"), loose(&world, &object)).unwrap();
        let base = world.checkpoint("20").await;
        // From now on the host has it.
        forge(&world, &object, &content);
        world.restart();
        let part = world.begin("20a", &base).await;
        assert_eq!(part.read("src/b.txt").as_deref(), Some("b\n"), "{at}");
    }
}

#[tokio::test]
async fn commits_of_agents_are_taken_with_what_they_stand_on() {
    // D3: a part merges and goes back as people do, and its commits are in the repository alone.
    let world = WorktreesFixture::new();
    world.git(&["checkout", "-q", "-b", "old"]);
    world.write("old.txt", "old\n");
    world.commit("on another branch");
    world.git(&["checkout", "-q", "main"]);
    for n in 0..3 {
        world.write("a.txt", &format!("{n}\n"));
        world.commit("more");
    }
    let base = world.checkpoint("20").await;
    let (a, b) = (world.begin("20a", &base).await, world.begin("20b", &base).await);
    a.git(&["merge", "-q", "-m", "Take the other branch", "old"]);
    a.write("new.txt", "new\n");
    a.git(&["add", "-A"]);
    a.git(&["commit", "-q", "-m", "mine"]);
    b.write("b.txt", "b\n");
    b.git(&["add", "-A"]);
    b.git(&["commit", "-q", "-m", "one"]);
    b.git(&["commit", "-q", "--amend", "-m", "another"]);
    world.merge(&a, "20").await;
    world.merge(&b, "20").await;
    let landing = world.land("20", &base, &[&a, &b]).await;
    assert!(matches!(landing, LandResult::Landed { committed: true, files: 3, .. }), "{landing:?}");
    assert_eq!(world.read("old.txt").as_deref(), Some("old\n"));
    assert_eq!(world.status(), "");
    world.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn a_repository_without_its_objects_loses_nothing_of_the_run() {
    // A5: an agent removes all of git's objects, and what the run made is still there.
    let world = WorktreesFixture::new();
    world.trees.note_repository().await.unwrap();
    let before = world.trees.state().await.unwrap();
    world.write("a.txt", "mine\n");
    let after = world.trees.state().await.unwrap();
    fs::remove_dir_all(world.root.join(".git/objects")).unwrap();
    fs::create_dir_all(world.root.join(".git/objects")).unwrap();
    let differ = world.trees.between(&before, &after, &[], true).await.unwrap();
    assert!(String::from_utf8(differ.patch).unwrap().contains("+mine"));
}

#[tokio::test]
async fn a_large_repository_is_taken_in_packs() {
    // D3: what is more than a megabyte is indexed by the host, not unpacked.
    let world = WorktreesFixture::new();
    let mut seed = 1_u32;
    for n in 0..40 {
        let mut text = String::new();
        while text.len() < 60_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text += &format!("{seed:x}\n");
        }
        world.write(&format!("large/{n}.txt"), &text);
    }
    world.commit("large");
    world.git(&["gc", "-q"]);
    let landing = world.split("20", |a, b| {
        a.write("large/1.txt", "a\n");
        b.write("large/2.txt", "b\n");
    });
    assert!(matches!(landing.await, LandResult::Landed { committed: true, files: 2, .. }));
    let kept = world.dir.path().join("state/trees/.objects/sha1/kept/pack");
    assert!(kept.read_dir().unwrap().count() >= 2);
    assert_eq!(world.status(), "");
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_or_a_file_is_committed_and_lands() {
    // D3: git refuses to take paths behind a link out of its index, and the host thought that the folder was in the way.
    for is_link in [true, false] {
        let world = WorktreesFixture::new();
        let landing = world
            .split("20", |a, _| {
                fs::rename(a.root.join("src"), a.root.join("moved")).unwrap();
                match is_link {
                    true => std::os::unix::fs::symlink("moved", a.root.join("src")).unwrap(),
                    false => a.write("src", "a file\n"),
                }
                a.write("moved/b.txt", "more\n");
            })
            .await;
        assert!(matches!(landing, LandResult::Landed { committed: true, .. }), "{landing:?}");
        assert_eq!(world.root.join("src").symlink_metadata().unwrap().is_symlink(), is_link);
        assert_eq!((world.read("moved/b.txt").as_deref(), world.status()), (Some("more\n"), String::new()));
    }
}

/// Another run in a folder, whose state lies there.
fn run_in(root: &Path, state: &Path, run: &str) -> RunWorktrees {
    let workspace = Workspace::open(root).unwrap().with_own_folder(OWN);
    RunWorktrees::new(&workspace, &state.join("trees").join(run), &[state], &RunId::new(run))
}

/// Commits what the workspace has, as a phase of a run.
async fn commit(trees: &RunWorktrees) {
    let phase = PhaseId::new("p");
    let (message, branch, only, but) = ("Work\n", None, None, None);
    let wanted = BranchCommitRequest { phase: &phase, ordinal: 1, message, branch, only, but };
    assert!(trees.commit_to_branch(wanted).await.unwrap().commit.is_some());
}

#[tokio::test]
async fn a_commit_is_whole_whatever_was_lost_of_the_repository_since_its_files_were_seen() {
    // D3: what the host's store had, git did not write again, and the commit named files that the repository did not have.
    let world = WorktreesFixture::new();
    let state = world.dir.path().join("state");
    let phase = PhaseId::new("p");
    world.trees.note_repository().await.unwrap();
    world.trees.begin_commits(&phase, None).await.unwrap();
    world.write("src/new.txt", "new\n");
    world.trees.state().await.unwrap();
    world.git(&["gc", "-q", "--prune=now"]);
    commit(&world.trees).await;
    assert_eq!(world.git(&["fsck", "--strict"]), "");

    // Made again, it has nothing of what it had.
    fs::remove_dir_all(world.root.join(".git")).unwrap();
    fs::remove_file(world.root.join("src/new.txt")).unwrap();
    world.git(&["init", "-q", "-b", "main"]);
    world.git(&["config", "user.name", "Someone"]);
    world.git(&["config", "user.email", "someone@example.org"]);
    world.commit("first again");
    let again = run_in(&world.root, &state, "r2");
    again.note_repository().await.unwrap();
    again.begin_commits(&phase, None).await.unwrap();
    world.write("src/new.txt", "new\n");
    commit(&again).await;
    assert_eq!(world.git(&["fsck", "--strict"]), "");
    assert_eq!((world.git(&["show", "HEAD:src/new.txt"]).as_str(), world.status()), ("new", String::new()));
}

#[tokio::test]
async fn another_repository_in_the_place_of_the_first_is_refused_by_the_next_host_as_well() {
    // N6: an agent replaced `.git` and killed its host, and the next one committed there.
    let mut world = WorktreesFixture::new();
    world.trees.note_repository().await.unwrap();
    fs::rename(world.root.join(".git"), world.dir.path().join("away")).unwrap();
    world.git(&["init", "-q", "-b", "main"]);
    world.git(&["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "another"]);
    world.restart();
    world.trees.note_repository().await.unwrap();
    let error = world.trees.state().await.unwrap_err().to_string();
    assert!(error.contains("so that it is another one, or was made again"), "{error}");
    fs::remove_dir_all(world.root.join(".git")).unwrap();
    fs::rename(world.dir.path().join("away"), world.root.join(".git")).unwrap();
    world.restart();
    world.trees.note_repository().await.unwrap();
    world.trees.state().await.unwrap();
}

#[tokio::test]
async fn state_and_repository_may_lie_on_two_file_systems() {
    // D3: git renames a pack that it writes, and no file is renamed from one file system to another.
    let world = WorktreesFixture::new();
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let trees = run_in(&world.root, &elsewhere.path().canonicalize().unwrap(), "r1");
    trees.note_repository().await.unwrap();
    trees.begin_commits(&PhaseId::new("p"), None).await.unwrap();
    world.write("src/new.txt", "new\n");
    commit(&trees).await;
    assert_eq!(world.git(&["fsck", "--strict"]), "");
}

/// The files below a folder that have more than one name.
fn with_several_names(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let about = entry.metadata().unwrap();
        match about.is_dir() {
            true => found.extend(with_several_names(&entry.path())),
            false => found.extend((about.is_file() && about.nlink() > 1).then(|| entry.path())),
        }
    }
    found
}

#[tokio::test]
async fn no_tree_and_no_store_of_the_host_has_a_file_in_common_with_the_repository() {
    // N6: what an agent writes into a file with two names changes at both.
    let world = WorktreesFixture::new();
    world.git(&["gc", "-q"]);
    let landing = world
        .split("20", |a, b| {
            a.write("new.txt", "new\n");
            b.write("src/b.txt", "changed\n");
            assert_eq!(with_several_names(world.dir.path()), [] as [PathBuf; 0]);
        })
        .await;
    assert!(matches!(landing, LandResult::Landed { committed: true, .. }), "{landing:?}");
    assert_eq!(with_several_names(world.dir.path()), [] as [PathBuf; 0]);
    // The control.
    let other = world.dir.path().join("other");
    world.git(&["clone", "-q", "--local", ".", &other.display().to_string()]);
    assert_ne!(with_several_names(&other), [] as [PathBuf; 0]);
}
