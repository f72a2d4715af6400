//! Artifacts: names and versions, content addresses, and that no path leads out.

use baton_core::input::ArtifactRef;
use baton_core::{Digest, RunId, SessionId, UnixMs};
use baton_store::{
    ARTIFACT_BYTES_MAX, ArtifactStore, ArtifactVersion, NewArtifact, StoreError, TOKENS_COUNTED,
};

use crate::StoreFixture;

pub(crate) fn note<'a>(name: &'a str, text: &'a str) -> NewArtifact<'a> {
    NewArtifact {
        name,
        media_type: "text/markdown",
        bytes: text.as_bytes(),
        summary: "A note.",
        session: Some(SessionId::new("s1")),
        tool_call: Some("toolu_7"),
        at: UnixMs(1_000),
    }
}

fn versions(store: &ArtifactStore, run: &RunId) -> Vec<(String, u32)> {
    store.list(run).unwrap().into_iter().map(|saved| (saved.artifact.name, saved.artifact.version)).collect()
}

#[test]
fn an_artifact_is_named_versioned_and_addressed() {
    // C6
    let place = StoreFixture::new();
    let store = ArtifactStore::open(&place.state).unwrap();
    let run = RunId::new("r");
    let first = store.save(&run, note("handoffs/a.md", "one\ntwo\n")).unwrap();
    let expected = ArtifactRef {
        name: "handoffs/a.md".into(),
        version: 1,
        digest: Digest::of("one\ntwo\n"),
        bytes: 8,
        summary: "A note.".into(),
    };
    assert_eq!(first, expected);
    assert_eq!(store.save(&run, note("handoffs/a.md", "one\ntwo\n")).unwrap(), first, "saved once");
    assert_eq!(store.save(&run, note("handoffs/a.md", "other")).unwrap().version, 2);
    assert_eq!(
        store.save(&run, note("handoffs/a.md", "one\ntwo\n")).unwrap().version,
        3,
        "the newest is what holds"
    );
    assert_eq!(
        store.save(&run, note("b.md", "one\ntwo\n")).unwrap().version,
        1,
        "another name, the same object"
    );
    assert_eq!(store.save(&RunId::new("other"), note("handoffs/a.md", "x")).unwrap().version, 1);
    let expected = [
        ("b.md".to_owned(), 1),
        ("handoffs/a.md".into(), 1),
        ("handoffs/a.md".into(), 2),
        ("handoffs/a.md".into(), 3),
    ];
    assert_eq!(versions(&store, &run), expected);
    drop(store);

    let store = ArtifactStore::open_read_only(&place.state).unwrap();
    let newest = store.get(&run, "handoffs/a.md", ArtifactVersion::Latest).unwrap();
    assert_eq!((newest.artifact.version, newest.preview.as_str()), (3, "one\ntwo"));
    assert_eq!((newest.media_type.as_str(), newest.saved_at), ("text/markdown", UnixMs(1_000)));
    assert_eq!((newest.tokens, newest.tokens_by.as_str()), (4, TOKENS_COUNTED));
    assert_eq!((newest.session, newest.tool_call.as_deref()), (Some(SessionId::new("s1")), Some("toolu_7")));
    let older = store.get(&run, "handoffs/a.md", ArtifactVersion::Exactly(2)).unwrap();
    assert_eq!(store.read(&older.artifact.digest).unwrap(), b"other");
    for (name, version) in
        [("handoffs/a.md", ArtifactVersion::Exactly(9)), ("absent", ArtifactVersion::Latest)]
    {
        let error = store.get(&run, name, version).unwrap_err();
        assert!(
            matches!(error, StoreError::NoArtifact { .. }) && error.to_string().contains(name),
            "{error}"
        );
    }
}

#[test]
fn it_is_loaded_on_demand_in_parts() {
    // C6
    let place = StoreFixture::new();
    let store = ArtifactStore::open(&place.state).unwrap();
    let saved = store.save(&RunId::new("r"), note("log.txt", "0123456789")).unwrap();
    let range = |offset, limit| store.read_range(&saved.digest, offset, limit).unwrap();
    assert_eq!(range(2, 3), b"234");
    assert_eq!(range(8, 100), b"89");
    assert_eq!(range(10, 1), b"");
    assert_eq!(range(u64::from(u32::MAX), 1), b"");
    assert!(matches!(store.read(&Digest::of("absent")), Err(StoreError::Io { .. })));
}

#[test]
fn what_cannot_be_saved_is_refused() {
    let place = StoreFixture::new();
    let store = ArtifactStore::open(&place.state).unwrap();
    let run = RunId::new("r");
    for name in ["../journal.sqlite", "/etc/passwd", "a/../../b", ""] {
        let error = store.save(&run, note(name, "x")).unwrap_err();
        assert!(matches!(error, StoreError::BadName { .. }), "{error}");
    }
    let huge = vec![b'x'; usize::try_from(ARTIFACT_BYTES_MAX).unwrap() + 1];
    let error = store.save(&run, NewArtifact { bytes: &huge, ..note("huge", "") }).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
    assert_eq!(versions(&store, &run), []);
    assert_eq!(std::fs::read_dir(place.state.artifacts()).unwrap().count(), 0);
}

#[test]
fn a_link_leads_nowhere_outside() {
    // C6: no path can lead out of the store, even with symlinks in it.
    let place = StoreFixture::new();
    let store = ArtifactStore::open(&place.state).unwrap();
    let outside = place.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let digest = Digest::of("text");
    let (folder, file) = digest.hex().split_at(2);
    std::os::unix::fs::symlink(&outside, place.state.artifacts().join(folder)).unwrap();
    std::fs::write(outside.join(file), "text").unwrap();
    assert!(store.read(&digest).is_err());
    assert!(store.save(&RunId::new("r"), note("a.md", "text")).is_err());
    assert_eq!(versions(&store, &RunId::new("r")), [], "no name without an object");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn an_object_that_was_changed_is_not_served() {
    let place = StoreFixture::new();
    let store = ArtifactStore::open(&place.state).unwrap();
    let run = RunId::new("r");
    let saved = store.save(&run, note("a.md", "text")).unwrap();
    let (folder, file) = saved.digest.hex().split_at(2);
    let path = place.state.artifacts().join(folder).join(file);
    std::fs::write(&path, "lies").unwrap();
    assert!(matches!(store.read(&saved.digest), Err(StoreError::DigestMismatch { .. })));
    // A truncated object is written again when its bytes are saved again.
    std::fs::write(&path, "te").unwrap();
    assert_eq!(store.save(&run, note("a.md", "text")).unwrap(), saved);
    assert_eq!(store.read(&saved.digest).unwrap(), b"text");
}

#[test]
fn a_crash_leaves_at_worst_an_object_without_a_name() {
    // Half an object of a host that died, and a whole one whose name was not written: neither is in the way.
    let place = StoreFixture::new();
    let store = ArtifactStore::open(&place.state).unwrap();
    let run = RunId::new("r");
    let digest = Digest::of("text");
    let (folder, file) = digest.hex().split_at(2);
    let folder = place.state.artifacts().join(folder);
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("unfinished-1-0"), "te").unwrap();
    std::fs::write(folder.join(file), "text").unwrap();
    assert_eq!(versions(&store, &run), []);
    let saved = store.save(&run, note("a.md", "text")).unwrap();
    assert_eq!((saved.version, store.read(&saved.digest).unwrap()), (1, b"text".to_vec()));
}

#[test]
fn versions_are_given_once_however_many_save() {
    let place = StoreFixture::new();
    let run = RunId::new("r");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            // Each with a connection of its own, as in another process.
            let (store, run) = (ArtifactStore::open(&place.state).unwrap(), &run);
            scope.spawn(move || {
                for n in 0..5 {
                    store.save(run, note("log.md", &format!("{writer} {n}"))).unwrap();
                }
            });
        }
    });
    let store = ArtifactStore::open_read_only(&place.state).unwrap();
    let found: Vec<u32> = versions(&store, &run).into_iter().map(|(_, version)| version).collect();
    assert_eq!(found, (1..=20).collect::<Vec<_>>());
}

#[test]
fn after_the_task_it_is_archived_and_can_still_be_read_by_range() {
    // C6
    let place = StoreFixture::new();
    let store = ArtifactStore::open(&place.state).unwrap();
    let (run, other) = (RunId::new("r"), RunId::new("other"));
    let saved = store.save(&run, note("log.txt", "0123456789")).unwrap();
    store.save(&other, note("log.txt", "0123456789")).unwrap();
    assert_eq!(store.archive(&run, UnixMs(2_000)).unwrap(), 1);
    store.save(&run, note("later.txt", "x")).unwrap();
    assert_eq!(store.archive(&run, UnixMs(3_000)).unwrap(), 1);
    let archived =
        |run: &RunId, name: &str| store.get(run, name, ArtifactVersion::Latest).unwrap().archived_at;
    assert_eq!(archived(&run, "log.txt"), Some(UnixMs(2_000)), "it keeps its time");
    assert_eq!(archived(&run, "later.txt"), Some(UnixMs(3_000)));
    assert_eq!(archived(&other, "log.txt"), None);
    assert_eq!(store.read_range(&saved.digest, 2, 3).unwrap(), b"234");
}

#[test]
fn an_index_of_version_1_is_brought_up_to_date() {
    let place = StoreFixture::new();
    let index = place.state.artifact_index();
    let old = rusqlite::Connection::open(&index).unwrap();
    old.execute_batch(
        "CREATE TABLE artifact (run TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL CHECK (version > 0),
             digest TEXT NOT NULL, bytes INTEGER NOT NULL, media_type TEXT NOT NULL, summary TEXT NOT NULL, session TEXT,
             saved_at_ms INTEGER NOT NULL, preview TEXT NOT NULL, tokens INTEGER NOT NULL, tokens_by TEXT NOT NULL,
             PRIMARY KEY (run, name, version)) STRICT, WITHOUT ROWID;
         PRAGMA application_id = 0x42617441; PRAGMA user_version = 1;",
    )
    .unwrap();
    let digest = Digest::of("old");
    old.execute(
        "INSERT INTO artifact VALUES ('r', 'a.md', 1, ?1, 3, 'text/markdown', 's', NULL, 5, 'old', 1, 'estimate:bytes/4')",
        [digest.as_str()],
    )
    .unwrap();
    drop(old);
    let store = ArtifactStore::open(&place.state).unwrap();
    let saved = store.get(&RunId::new("r"), "a.md", ArtifactVersion::Latest).unwrap();
    assert_eq!((saved.artifact.digest, saved.tool_call, saved.archived_at), (digest, None, None));
    assert_eq!(store.save(&RunId::new("r"), note("a.md", "new")).unwrap().version, 2);
    assert!(index.with_extension("v1.sqlite").exists(), "a copy of the old one is kept");
}
