//! What Baton writes into a place: every file is as it was or as it is to be at each moment, whatever fails or ends in the middle.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use baton_core::{PhaseId, WorktreeName};
use baton_workspace::{LandResult, UndoOutcome, VerifiedCommit, WorktreeError};

use super::fixture::{PartTree, WorktreesFixture, executable, files, link, of_a_user};

/// Folders with contents that are not where they belong yet.
fn leftovers(world: &WorktreesFixture) -> Vec<String> {
    let folders = [world.root.join(".baton"), world.dir.path().join("state/trees/r1")];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("landing-") || name.starts_with(".written-")).collect()
}

async fn land(world: &WorktreesFixture, base: &str, part: &PartTree) -> Result<LandResult, WorktreeError> {
    let phase = PhaseId::new("20");
    let (tree, into) = (WorktreeName::integration(&phase, 1), WorktreeName::workspace());
    let merged = [part.tree.clone()];
    world.trees.land(&phase, &tree, &into, base, &merged, VerifiedCommit::default()).await
}

/// Sizes that a file has while something is done; nothing where it is not there.
fn sizes_during(file: &Path) -> impl FnOnce() -> BTreeSet<Option<u64>> + use<> {
    let (file, is_over) = (file.to_owned(), Arc::new(AtomicBool::new(false)));
    let over = Arc::clone(&is_over);
    let watch = std::thread::spawn(move || {
        let mut sizes = BTreeSet::new();
        while !over.load(Ordering::Relaxed) {
            sizes.insert(fs::symlink_metadata(&file).ok().map(|meta| meta.len()));
        }
        sizes
    });
    move || {
        is_over.store(true, Ordering::Relaxed);
        watch.join().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_never_seen_half_written() {
    // D3: git removes a file and writes it in place, and a kill in between left what was taken for the user's own change.
    let world = WorktreesFixture::new();
    let old = "the line of the user\n".repeat(1 << 20);
    world.write("big.txt", &old);
    world.commit("big");
    world.write("big.txt", &format!("{old}not committed\n"));
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    let new = format!("first\n{old}not committed\n");
    a.write("big.txt", &new);
    world.merge(&a, "20").await;
    let before = new.len() as u64 - 6;
    let expected = BTreeSet::from([Some(before), Some(before + 6)]);
    let sizes = sizes_during(&world.root.join("big.txt"));
    let landed = land(&world, &base, &a).await.unwrap();
    assert!(sizes().is_subset(&expected));
    assert!(matches!(landed, LandResult::Landed { committed: false, files: 1, .. }), "{landed:?}");
    assert!(world.read("big.txt").unwrap() == new);
    let sizes = sizes_during(&world.root.join("big.txt"));
    assert!(matches!(world.trees.undo(false).await.unwrap(), UndoOutcome::Undone(_)));
    assert!(sizes().is_subset(&expected));
    assert!(world.read("big.txt").unwrap() == format!("{old}not committed\n"));
    assert_eq!(leftovers(&world), [""; 0]);
}

#[tokio::test]
async fn if_one_content_cannot_be_written_nothing_is() {
    // D3: a full disk, a filter that fails
    if !of_a_user("whole_files::if_one_content_cannot_be_written_nothing_is", "[include]\n\tpath = more\n") {
        return;
    }
    let home = Path::new(&std::env::var_os("HOME").unwrap()).to_owned();
    let there = home.join("is-there");
    fs::write(&there, "").unwrap();
    let filter = format!(
        "[filter \"half\"]\n\tclean = cat\n\tsmudge = cat - {}\n\trequired = true\n",
        there.display()
    );
    fs::write(home.join("more"), filter).unwrap();
    let world = WorktreesFixture::new();
    world.write(".gitattributes", "*.half filter=half\n");
    world.write("m.half", "before");
    world.commit("filter");
    world.write("a.txt", "one\ntwo\nthree\nmine\n");
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("a.txt", "ONE\ntwo\nthree\nmine\n");
    a.write("m.half", "after");
    a.write("z.txt", "z");
    a.remove("src/b.txt");
    world.merge(&a, "20").await;
    let expected = files(&world.integration("20").await.root);
    let before = world.everything();
    fs::remove_file(&there).unwrap();
    let failed = land(&world, &base, &a).await.unwrap_err().to_string();
    assert!(failed.contains("half"), "{failed}");
    assert_eq!(world.everything(), before);
    assert_eq!(leftovers(&world), [""; 0]);
    fs::write(&there, "").unwrap();
    let landed = land(&world, &base, &a).await.unwrap();
    assert!(matches!(landed, LandResult::Landed { committed: false, files: 4, .. }), "{landed:?}");
    assert_eq!(world.files(), expected);
    assert_eq!(leftovers(&world), [""; 0]);
}

#[tokio::test]
async fn what_a_kill_between_two_files_leaves_is_finished_and_removed() {
    // D3
    let mut world = WorktreesFixture::new();
    world.write("a.txt", "one\ntwo\nthree\nmine\n");
    let base = world.checkpoint("20").await;
    let a = world.begin("20a", &base).await;
    a.write("a.txt", "ONE\ntwo\nthree\nmine\n");
    a.write("new.txt", "new");
    a.remove("src/b.txt");
    world.merge(&a, "20").await;
    let expected = files(&world.integration("20").await.root);
    assert!(matches!(land(&world, &base, &a).await.unwrap(), LandResult::Landed { committed: false, .. }));
    // As if the host had died with one file renamed, and with the others ready.
    let kill = |world: &WorktreesFixture| {
        for leftover in [".baton/landing-r1-7-0/1", "../state/trees/r1/.written-7-0/new.txt"] {
            world.write(leftover, "ne");
        }
        world.write("../state/trees/r1/.written-7-0.index.lock", "");
        assert_eq!(leftovers(world).len(), 3);
    };
    kill(&world);
    world.forget_ref("landed/1/done");
    world.write("src/b.txt", "b\n");
    fs::remove_file(world.root.join("new.txt")).unwrap();
    world.restart();
    assert!(matches!(land(&world, &base, &a).await.unwrap(), LandResult::Landed { committed: false, .. }));
    assert_eq!((world.files(), leftovers(&world)), (expected, vec![]));
    // Also where there is nothing to be finished.
    for is_undo in [true, false] {
        kill(&world);
        world.restart();
        match is_undo {
            true => drop(world.trees.undo(false).await.unwrap()),
            false => world.trees.note_repository().await.unwrap(),
        }
        assert_eq!(leftovers(&world), [""; 0]);
    }
    // What is of another run, and a folder of a like name, stay.
    for name in [".baton/landing-r2-7-0/1", ".baton/landing-r1-notes/1"] {
        world.write(name, "theirs");
    }
    world.trees.note_repository().await.unwrap();
    assert_eq!(leftovers(&world).len(), 2);
}

#[tokio::test]
async fn kinds_and_folders_take_the_place_of_each_other() {
    // D3
    let world = WorktreesFixture::new();
    world.write("d", "a file");
    world.write("e/f", "in a folder");
    world.write("e/g/h", "deeper");
    world.write("run.sh", "plain");
    link(&world.root, "l", "a.txt");
    link(&world.root, "m", "src");
    for number in 0..100 {
        world.write(&format!("many/{number}"), "old");
    }
    world.commit("kinds");
    let before = world.files();
    let landing = world.split("20", |a, b| {
        for gone in ["d", "e/f", "e/g/h", "l", "m"] {
            a.remove(gone);
        }
        fs::remove_dir_all(a.root.join("e")).unwrap();
        a.write("d/inner", "in a folder now");
        a.write("e", "a file now");
        a.write("l", "no link");
        a.write("m/b.txt", "no link either");
        executable(&a.root, "run.sh");
        link(&b.root, "n", "/absolute/and/absent");
        for number in 0..100 {
            b.write(&format!("many/{number}"), "new");
        }
        b.remove("src/b.txt");
        // Folders without files are no obstacle.
        fs::create_dir_all(world.root.join("n/empty")).unwrap();
    });
    assert!(matches!(landing.await, LandResult::Landed { committed: true, .. }));
    assert_eq!(world.status(), "");
    assert_eq!(world.read("d/inner").unwrap(), "in a folder now");
    assert_eq!(world.read("e").unwrap(), "a file now");
    assert_eq!(world.read("m/b.txt").unwrap(), "no link either");
    assert!(!world.root.join("src").exists(), "what a link led to is as git has it");
    let landed = world.files();
    assert!(landed.contains(&("run.sh".into(), "* plain".into())));
    assert!(landed.contains(&("n".into(), "-> /absolute/and/absent".into())));
    assert!(landed.contains(&("l".into(), "no link".into())));
    assert!(matches!(world.trees.undo(false).await.unwrap(), UndoOutcome::Undone(_)));
    assert_eq!((world.files(), world.status()), (before, String::new()));
    assert!(!world.root.join("d/inner").exists() && world.root.join("e/g/h").exists());
}

#[tokio::test]
async fn line_endings_are_those_of_the_tree_that_is_written() {
    // D3: attributes that come with it, and those that only the place has
    let world = WorktreesFixture::new();
    world.write("sub/.gitattributes", "*.local text eol=crlf\n");
    world.git(&["config", "core.excludesFile", "/dev/null"]);
    fs::write(world.root.join(".git/info/exclude"), "/sub/.gitattributes\n").unwrap();
    let landing = world.split("20", |a, b| {
        a.write(".gitattributes", "*.dos text eol=crlf\n");
        b.write("new.dos", "one\r\ntwo\r\n");
        b.write("sub/new.local", "one\ntwo\n");
        b.write("sub/new.txt", "one\ntwo\n");
    });
    assert!(matches!(landing.await, LandResult::Landed { committed: true, .. }));
    let read = |name: &str| world.read(name).unwrap();
    assert_eq!(read("new.dos"), "one\r\ntwo\r\n");
    assert_eq!((read("sub/new.local"), read("sub/new.txt")), ("one\r\ntwo\r\n".into(), "one\ntwo\n".into()));
    assert_eq!(world.status(), "");
}
