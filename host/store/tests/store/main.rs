//! The journal and the artifact store, seen from outside. One binary, so that SQLite is linked once.

mod artifacts;
mod crash;
mod format;
mod format_additions;
mod group_commit;
mod journal;
mod samples;
mod state_dir;

use std::sync::mpsc::{Sender, channel};

use baton_core::action::{Action, Intent};
use baton_core::facts::AgentEvent;
use baton_core::ids::ActionId;
use baton_core::observation::PromptKind;
use baton_core::{Input, JournaledInput, RunId, Seq, SessionId, UnixMs, Workflow};
use baton_store::{Durability, Journal, JournalEntry, JournalOptions, StateDir, StoreError};
use tempfile::TempDir;

/// A private state directory, removed after the test.
struct StoreFixture {
    /// Root of the state and the workspace next to it.
    folder: TempDir,
    state: StateDir,
}

impl StoreFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        let state = StateDir::open(&folder.path().join("state"), &workspace).unwrap();
        Self { folder, state }
    }

    fn journal(&self) -> Journal {
        Journal::open(&self.state).unwrap()
    }

    /// A journal whose first commit, of `run`'s first entry, is in progress and held: everything queued before the sender sends
    /// shares the second commit.
    fn held_journal(&self, run: &RunId) -> (Journal, Sender<()>) {
        let ((tell, reached), (let_go, held)) = (channel(), channel());
        let hook = Box::new(move |ordinal| {
            if ordinal == 1 {
                tell.send(()).unwrap();
                held.recv().unwrap();
            }
        });
        let options = JournalOptions { before_commit: Some(hook), ..JournalOptions::default() };
        let journal = Journal::open_with(&self.state, options).unwrap();
        journal.append(run, vec![started(run)], Durability::Durable, |answer| answer.unwrap());
        reached.recv().unwrap();
        (journal, let_go)
    }
}

fn input(seq: u64, input: Input) -> JournalEntry {
    JournalEntry::Input(JournaledInput { seq: Seq(seq), at: UnixMs(1_000 * seq), input })
}

fn started(run: &RunId) -> JournalEntry {
    let workflow = Workflow { name: "quickstart".to_owned(), ..Workflow::default() };
    let workflow = Box::new(workflow);
    input(
        1,
        Input::Started {
            run: run.clone(),
            workflow,
            bindings: Vec::new(),
            task_folder: ".".to_owned(),
            utc_offset_minutes: 0,
            assignments: Vec::new(),
        },
    )
}

/// A text of an agent: the usual telemetry.
fn text_entry(seq: u64, text: &str) -> JournalEntry {
    let event = AgentEvent::Text { text: text.to_owned() };
    input(seq, Input::Agent { session: SessionId::new("s1"), event })
}

fn intent(seq: u64, id: u64, action: Action) -> JournalEntry {
    JournalEntry::Intent {
        seq: Seq(seq),
        at: UnixMs(1_000 * seq),
        intent: Intent { id: ActionId(id), action },
    }
}

fn prompt(seq: u64, id: u64, text: &str) -> JournalEntry {
    let session = SessionId::new("s1");
    let action =
        Action::Prompt { session, prompt: 1, kind: PromptKind::First, focus: Vec::new(), text: text.into() };
    intent(seq, id, action)
}

fn read(journal: &Journal, run: &RunId) -> Vec<JournalEntry> {
    journal.read(run).unwrap().collect::<Result<_, StoreError>>().unwrap()
}
