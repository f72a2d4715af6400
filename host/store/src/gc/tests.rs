//! Removing runs from random stores, interrupted at any step: objects of other runs stay, and nothing of the removed run
//! remains.

use baton_core::{Input, JournaledInput, Seq, Workflow};
use proptest::prelude::*;

use super::*;
use crate::{ArtifactStore, Durability, Journal, JournalEntry, NewArtifact};

fn place() -> (tempfile::TempDir, StateDir) {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("work");
    std::fs::create_dir(&workspace).unwrap();
    let state = StateDir::open(&folder.path().join("state"), &workspace).unwrap();
    (folder, state)
}

fn run_id(n: usize) -> RunId {
    RunId::new(format!("r{n}"))
}

/// A run that names one unique blob and one that other runs may share, with artifacts by number: equal numbers, equal bytes.
fn fill(state: &StateDir, n: usize, blob: u8, artifacts: &[u8]) {
    let journal = Journal::open(state).unwrap();
    let run = run_id(n);
    let shared = journal.put_blob(vec![blob; 40]).unwrap();
    let binding = baton_core::input::PolicyBinding {
        capability: baton_core::observation::Capability::Handoff,
        policy: "p".into(),
        component: shared,
        settings: journal.put_blob(format!("settings of {n}")).unwrap(),
        scope: Default::default(),
        wants: Default::default(),
        grants: Default::default(),
        from: Default::default(),
        then: Vec::new(),
    };
    let input = Input::Started {
        run: run.clone(),
        workflow: Box::new(Workflow { name: format!("w{n}"), ..Workflow::default() }),
        bindings: vec![binding],
        task_folder: ".baton".into(),
        utc_offset_minutes: 0,
        assignments: Vec::new(),
    };
    let entry = JournalEntry::Input(JournaledInput { seq: Seq(1), at: UnixMs(n as u64 + 1), input });
    journal.append_wait(&run, vec![entry], Durability::Durable).unwrap();
    let store = ArtifactStore::open(state).unwrap();
    for content in artifacts {
        let name = format!("a/{content}");
        store
            .save(&run, NewArtifact { name: &name, bytes: &[*content; 9], ..NewArtifact::default() })
            .unwrap();
    }
    let session = state.sessions().join(run.as_str()).join("s1");
    std::fs::create_dir_all(&session).unwrap();
    std::fs::write(session.join("stdout.jsonl"), "{}\n").unwrap();
}

/// Everything that a run refers to is there, whole.
fn is_whole(state: &StateDir, n: usize, blob: u8, artifacts: &[u8]) {
    let journal = Journal::open_read_only(state).unwrap();
    let entries: Vec<_> = journal.read(&run_id(n)).unwrap().collect::<Result<_, _>>().unwrap();
    let JournalEntry::Input(JournaledInput { input: Input::Started { bindings, .. }, .. }) = &entries[0]
    else {
        panic!()
    };
    assert_eq!(journal.blob(&bindings[0].component).unwrap().unwrap(), vec![blob; 40]);
    assert_eq!(
        journal.blob(&bindings[0].settings).unwrap().unwrap(),
        format!("settings of {n}").into_bytes()
    );
    let store = ArtifactStore::open_read_only(state).unwrap();
    let saved = store.list(&run_id(n)).unwrap();
    let distinct: BTreeSet<_> = artifacts.iter().collect();
    assert_eq!(saved.len(), distinct.len());
    for artifact in saved {
        assert_eq!(store.read(&artifact.artifact.digest).unwrap().len(), 9);
    }
    assert!(state.sessions().join(format!("r{n}")).join("s1/stdout.jsonl").exists());
}

fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// C6: retention by whole runs.
    #[test]
    fn what_is_referred_to_stays_and_what_is_not_goes(
        runs in prop::collection::vec((0_u8..3, prop::collection::vec(0_u8..6, 0..5), any::<bool>(), 0_usize..6), 1..5),
    ) {
        let (_folder, state) = place();
        for (n, (blob, artifacts, _, _)) in runs.iter().enumerate() {
            fill(&state, n, *blob, artifacts);
        }
        let lock = state.lock().unwrap();
        for (n, (_, _, goes, steps)) in runs.iter().enumerate().filter(|(_, (_, _, goes, _))| *goes) {
            // The host dies after some of the steps.
            let mut retention = Retention::open(&state, &lock).unwrap();
            for step in Retention::STEPS.iter().take(*steps) {
                step(&mut retention, &run_id(n)).unwrap();
            }
            drop(retention);
            for (m, (blob, artifacts, other_goes, _)) in runs.iter().enumerate() {
                if !other_goes {
                    is_whole(&state, m, *blob, artifacts);
                }
            }
            let mut retention = Retention::open(&state, &lock).unwrap();
            let finished = retention.finish().unwrap();
            prop_assert_eq!(finished.is_empty(), *steps == 0 || *steps >= Retention::STEPS.len());
            if *steps == 0 {
                retention.remove(&run_id(n)).unwrap();
            }
            prop_assert!(*goes && retention.finish().unwrap().is_empty());
        }
        let retention = Retention::open(&state, &lock).unwrap();
        let left: BTreeSet<String> = retention.runs().unwrap().iter().map(|kept| kept.run.to_string()).collect();
        let stay: Vec<_> = runs.iter().enumerate().filter(|(_, (_, _, goes, _))| !goes).collect();
        prop_assert_eq!(left, stay.iter().map(|(n, _)| format!("r{n}")).collect());
        for (n, (blob, artifacts, _, _)) in &stay {
            is_whole(&state, *n, *blob, artifacts);
        }
        let objects: BTreeSet<_> = stay.iter().flat_map(|(_, (_, artifacts, _, _))| artifacts).collect();
        prop_assert_eq!(files(&state.artifacts()), objects.len(), "no object without a name");
        let blobs: BTreeSet<_> = stay.iter().map(|(_, (blob, _, _, _))| blob).collect();
        let count: u32 = retention.journal.query_row("SELECT count(*) FROM blob", [], |row| row.get(0)).unwrap();
        prop_assert_eq!(count as usize, blobs.len() + stay.len(), "no body without a row");
    }
}

#[test]
fn the_journal_stays_append_only() {
    let (_folder, state) = place();
    fill(&state, 0, 1, &[1]);
    fill(&state, 1, 1, &[1]);
    let lock = state.lock().unwrap();
    let mut retention = Retention::open(&state, &lock).unwrap();
    let sizes = retention.runs().unwrap();
    assert!(
        sizes
            .iter()
            .all(|kept| kept.artifact_bytes == 0 && kept.session_bytes == 3 && kept.journal_bytes > 0)
    );
    retention.remove(&run_id(0)).unwrap();
    retention.compact().unwrap();
    assert_eq!(retention.runs().unwrap()[0].artifact_bytes, 9, "now it is the only one that refers to it");
    assert!(retention.journal.execute("DELETE FROM entry", []).is_err());
}
