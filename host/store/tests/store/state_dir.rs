//! The location of the state, its permissions, and that one host at a time works on it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use baton_store::{ArtifactStore, StateDir, StoreError};

use crate::{StoreFixture, read, started, text_entry};
use baton_core::RunId;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_workspace_has_one_folder_however_it_is_named() {
    let place = StoreFixture::new();
    let root = place.folder.path().join("state");
    let detour = place.folder.path().join("workspace/../workspace");
    assert_eq!(StateDir::open(&root, &detour).unwrap(), place.state);
    assert_eq!(StateDir::find(&root, &detour).unwrap(), Some(place.state.clone()));
    assert_eq!(place.state.path().file_name().unwrap().len(), 16);
    let note = std::fs::read_to_string(place.state.path().join("workspace")).unwrap();
    assert_eq!(Path::new(note.trim_end()), place.state.workspace());

    let other = place.folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    assert_eq!(StateDir::find(&root, &other).unwrap(), None, "looking makes nothing");
    // The workspace, the shared cache, and the file that makes git ignore the folder.
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 3);
    assert_ne!(StateDir::open(&root, &other).unwrap().path(), place.state.path());
    assert!(matches!(StateDir::open(&root, &root.join("absent")), Err(StoreError::Io { .. })));
}

#[test]
fn nobody_else_may_read_or_write_it() {
    let place = StoreFixture::new();
    let run = RunId::new("r");
    let journal = place.journal();
    let _lock = place.state.lock().unwrap();
    journal.append_wait(&run, vec![started(&run)], baton_store::Durability::Durable).unwrap();
    let artifacts = ArtifactStore::open(&place.state).unwrap();
    artifacts.save(&run, crate::artifacts::note("notes/a.md", "text")).unwrap();

    let (mut files, mut folders) = (0, vec![place.folder.path().join("state")]);
    while let Some(folder) = folders.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    // workspace, lock, .gitignore, two databases with -wal and -shm each, one object.
    assert_eq!(files, 10);
}

#[test]
fn a_folder_that_others_may_write_is_refused() {
    let place = StoreFixture::new();
    let root = place.folder.path().join("state");
    for exposed in [&root, &place.state.path().to_owned()] {
        std::fs::set_permissions(exposed, Permissions::from_mode(0o770)).unwrap();
        for error in [
            StateDir::open(&root, place.state.workspace()).unwrap_err(),
            StateDir::find(&root, place.state.workspace()).unwrap_err(),
        ] {
            assert!(matches!(&error, StoreError::NotPrivate { path, .. } if path == exposed), "{error}");
            assert!(error.to_string().contains("0770"), "{error}");
        }
        std::fs::set_permissions(exposed, Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn one_host_at_a_time_holds_a_workspace() {
    // Bad input: two hosts on one workspace.
    let place = StoreFixture::new();
    let first = place.state.lock().unwrap();
    let error = place.state.lock().unwrap_err();
    let StoreError::Locked { pid: Some(pid), since: Some(since) } = &error else { panic!("{error}") };
    assert_eq!(*pid, std::process::id());
    assert!(error.to_string().contains(&since.rfc3339()), "{error}");
    drop(first);
    place.state.lock().unwrap();
}

#[test]
fn a_lock_whose_holder_is_gone_is_waited_for() {
    let place = StoreFixture::new();
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let held = std::fs::File::create(place.state.lock_file()).unwrap();
    std::fs::write(place.state.lock_file(), format!("{}\n", gone.id())).unwrap();
    held.try_lock().unwrap();
    // As the copy of a host that was killed, which becomes the process that it was to start.
    let copy = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        drop(held);
    });
    place.state.lock().unwrap();
    copy.join().unwrap();
}

#[test]
fn a_journal_that_is_being_made_holds_nothing_yet() {
    let place = StoreFixture::new();
    std::fs::write(place.state.journal(), "").unwrap();
    let reader = baton_store::Journal::open_read_only(&place.state).unwrap();
    assert_eq!(reader.runs().unwrap(), []);
    let run = RunId::new("r");
    place.journal().append_wait(&run, vec![started(&run)], baton_store::Durability::Durable).unwrap();
    assert_eq!(reader.runs().unwrap().len(), 1, "it is looked at again");
}

#[test]
fn reading_goes_on_beside_a_host_that_writes() {
    let place = StoreFixture::new();
    let run = RunId::new("r");
    let journal = place.journal();
    journal.append_wait(&run, vec![started(&run)], baton_store::Durability::Durable).unwrap();
    let reader = baton_store::Journal::open_read_only(&place.state).unwrap();
    let mut entries = reader.read(&run).unwrap();
    assert_eq!(entries.next().unwrap().unwrap(), started(&run));
    journal.append_wait(&run, vec![text_entry(2, "more")], baton_store::Durability::Durable).unwrap();
    assert_eq!(read(&reader, &run).len(), 2);
}

#[test]
fn a_folder_that_cannot_be_read_hides_no_other() {
    let place = StoreFixture::new();
    place.journal();
    let root = place.folder.path().join("state");
    let make = |name: &str| {
        let folder = root.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        folder
    };
    let open = make("00000000000000aa");
    std::fs::write(open.join("workspace"), "/w\n").unwrap();
    std::fs::write(open.join("journal.sqlite"), "").unwrap();
    std::fs::set_permissions(&open, Permissions::from_mode(0o722)).unwrap();
    let no_note = make("00000000000000bb");
    std::fs::create_dir(no_note.join("workspace")).unwrap();
    // A folder that is not yet a state, one that has just disappeared, and one of another kind.
    make("00000000000000cc");
    std::os::unix::fs::symlink("gone", root.join("00000000000000dd")).unwrap();
    std::fs::create_dir_all(make("other").join("workspace")).unwrap();

    let found = StateDir::find_all(&root).unwrap();
    let readable = vec![place.state.clone()];
    assert_eq!((&found.states, StateDir::all_below(&root).unwrap()), (&readable, readable.clone()));
    let unreadable: Vec<&Path> = found.unreadable.iter().map(|(folder, _)| folder.as_path()).collect();
    assert_eq!(unreadable, [open, no_note]);
    assert!(matches!(found.unreadable[0].1, StoreError::NotPrivate { .. }), "{:?}", found.unreadable);
    assert_eq!(StateDir::find_all(&root.join("absent")).unwrap().states, []);
}
