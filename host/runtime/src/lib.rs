//! The thin async shell around the core: it stamps, journals, performs and reports. It judges nothing and owns no state
//! machine; whatever a run *is* lives in [`core::Run`], and this crate only carries facts in and effects out.
//!
//! | file | part of the walk of one event |
//! |---|---|
//! | `host.rs`, `policies.rs`, `recover.rs` | before it: a workspace is taken, policies are loaded, a journal is folded |
//! | `event_loop.rs` | takes whatever happens, one event after the other |
//! | `scribe.rs` | stamps it, applies it to the run, journals it with the intents that follow |
//! | `actuate.rs`, `sessions.rs` | perform the intents that are committed, and send back what became of them |
//! | `door.rs`, `desk.rs`, `fit.rs`, `shelf.rs` | what agents report and ask for through tools: who may, what it comes to |
//! | `post.rs` | what agents report through files |
//! | `outbox.rs`, `project.rs`, `herald.rs` | what the renderer, the workspace and people elsewhere get to see |
//! | `socket.rs`, `control.rs`, `answer.rs`, `bridge.rs` | how other commands reach the run |
//! | `swap.rs`, `watch.rs`, `shadow.rs` | other policies, put in place or only asked while the run goes on |
//! | `attach.rs`, `transcript.rs`, `query.rs`, `dry_run.rs`, `cast.rs` | looks that change nothing |
//! | `pickup.rs` | which run the next `run` of a workflow goes on with |
//! | `diff.rs` | what a run changed, by the states that are kept while it works |
//! | `undo.rs` | takes back what a run landed |
//! | `chaos.rs` | a hook for the crash tests |
#![forbid(unsafe_code)]

mod actuate;
mod answer;
mod asker;
mod attach;
mod bridge;
mod cast;
mod chaos;
mod clock;
mod config;
mod confine;
mod control;
mod desk;
mod diff;
mod door;
mod dry_run;
mod error;
mod event_loop;
mod fit;
mod gc;
mod handoff;
mod held_settings;
mod herald;
mod host;
mod lineage;
mod machine;
mod masked;
mod offload;
mod outbox;
mod pickup;
mod policies;
mod post;
mod private_file;
mod project;
mod query;
mod recover;
mod review;
mod scribe;
mod sessions;
mod shadow;
mod shelf;
mod socket;
mod swap;
#[cfg(test)]
mod testing;
mod transcript;
mod undo;
mod watch;

pub use attach::{Attached, attach};
pub use baton_agents as agents;
pub use baton_core as core;
pub use baton_engine as engine;
pub use baton_inbox as inbox;
pub use baton_sandbox as sandbox;
pub use baton_store as store;
pub use baton_workspace::{
    ChangeKind, DifferingFile, MovedBack, Undoing, Undone, UndoneFile, issue, make_repository, read_plain,
};
pub use bridge::{McpClient, mcp};
pub use cast::{Cast, cast};
pub use config::{HostConfig, PolicyBundle, PolicySource, RoleOverrides, Start, Update};
pub use control::{Control, ControlReply, control};
pub use diff::{RunDiff, WhatChanged, diff};
pub use door::Pass;
pub use dry_run::{DryRun, PlannedPrompt, PlannedSession, dry_run, pins};
pub use error::RuntimeError;
pub use gc::{Collected, Leave, RemovedRun, gc};
pub use host::{run, sandbox_for};
pub use lineage::{Author, HandoffEntry, Inspection, Packet, handoffs, inspect_document};
pub use offload::{ProxyClient, mcp_proxy};
pub use pickup::{Unfinished, set_aside, unfinished};
pub use project::{
    Approach, ObjectiveProgress, ObjectiveWord, PartialProgress, PhaseProgress, Progress, Return,
    ReturnStatus, ReturnedArtifact, ReturnedError, ReturnedSplit, WorkItem, WorkItemKind, WorkItems,
    expect_free_folder, progress_of,
};
pub use query::{
    ArtifactEntry, RunRow, artifact, artifacts, began_at, journal_of, run_folder, runs, view_of, workflow_of,
};
pub use sessions::END_GRACE;
pub use shadow::{SHADOW_SCHEMA, ShadowAnswer, ShadowStory, shadows_of};
pub use swap::{OwnPolicies, PolicyChange, UsePolicy, use_policy};
pub use transcript::{Happened, Transcript, TranscriptLine};
pub use undo::{Undid, undo};
