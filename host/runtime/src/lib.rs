//! The thin async shell around the core: it stamps, journals, performs and reports. It makes no decision and owns no state
//! machine; the state of a run is in [`core::Run`], and this crate only carries facts in and effects out.
//!
//! | file | part of the walk of one event |
//! |---|---|
//! | `host.rs`, `policies.rs`, `recovery.rs`, `lost_work.rs` | before it: a workspace is taken, policies are loaded, a journal is folded and compared with the folder |
//! | `event_loop.rs` | takes the events, one after the other |
//! | `recorder.rs` | stamps it, applies it to the run, journals it with the intents that follow |
//! | `effects.rs`, `sessions.rs` | perform the committed intents, and send back the outcomes |
//! | `tools/session_token.rs`, `tools/tool_calls.rs`, `tools/report_validation.rs`, `tools/artifact_tools.rs` | reports and requests of agents through tools: permissions and results |
//! | `tools/inbox_poller.rs` | reports of agents through files |
//! | `ui/ui_updates.rs`, `projection.rs`, `ui/notifier.rs` | output to the renderer, to the workspace and to people elsewhere |
//! | `control.rs`, `control/`, `tools/mcp_server.rs` | how other commands reach the run |
//! | `policies/policy_swap.rs`, `policies/policy_watcher.rs`, `policies/shadow.rs` | other policies, switched to or only asked during the run |
//! | `ui/attach.rs`, `transcript.rs`, `query.rs`, `dry_run.rs`, `policies/policy_set.rs` | read-only queries |
//! | `writable_places.rs` | paths beyond their trees that agents of any run could write: the host looks for no program there |
//! | `unfinished_run.rs` | the unfinished run that the next `run` of a workflow continues |
//! | `first_use.rs` | whether a run may have written a file that the next one uses for the first time |
//! | `diff.rs` | the changes of a run, by the states that are kept while it works |
//! | `tried_commands.rs` | when commands were tried in a folder |
//! | `undo.rs` | reverts the merges that a run landed |
//! | `crash_injection.rs` | a hook for the crash tests |
#![forbid(unsafe_code)]

mod boundaries;
mod clock;
mod config;
mod control;
mod crash_injection;
mod default_parallelism;
mod diff;
mod dry_run;
mod effects;
mod error;
mod event_loop;
mod first_use;
mod gc;
mod handoff_history;
mod handoff_validation;
mod held_files;
mod host;
mod lost_work;
mod policies;
mod private_file;
mod projection;
mod python_cache;
mod query;
mod recorder;
mod recovery;
mod secret_masking;
mod sessions;
#[cfg(test)]
mod test_support;
mod tools;
mod transcript;
mod tried_commands;
mod ui;
mod undo;
mod unfinished_run;
mod worktree_paths;
mod writable_places;

pub use baton_agents as agents;
pub use baton_core as core;
pub use baton_engine as engine;
pub use baton_inbox as inbox;
pub use baton_sandbox as sandbox;
pub use baton_store as store;
pub use baton_workspace::{
    BranchMoveBack, StateDiffFile, UndoChangeKind, UndoFileChange, UndoOutcome, UndoSummary, issue,
    make_repository, read_plain,
};
pub use config::{HostConfig, PolicyBundle, PolicySource, RoleOverrides, RunStart, RunUpdate};
pub use control::message::{ControlMessage, ControlReply};
pub use control::requester::expect_person;
pub use control::{control, use_policy};
pub use diff::{RunChanges, RunDiff, diff};
pub use dry_run::{DryRun, PlannedPrompt, PlannedSession, dry_run, initial_bindings};
pub use error::RuntimeError;
pub use first_use::{UsedFiles, changed_before_first_use};
pub use gc::{GcResult, RemovedRun, RetentionRule, gc};
pub use handoff_history::{Author, FirstPrompt, HandoffEntry, Inspection, handoffs, inspect_document};
pub use host::{run, sandbox_for};
pub use policies::policy_set::{LoadedPolicies, load_policies};
pub use policies::policy_swap::{OwnPolicies, PolicyChange, PolicyUseRequest};
pub use policies::shadow::{SHADOW_SCHEMA, ShadowAnswer, ShadowReport, shadows_of};
pub use projection::{
    Approach, ObjectiveProgress, ObjectiveProgressStatus, PartialProgress, PhaseProgress, Progress,
    ReturnStatus, ReturnedArtifact, ReturnedError, ReturnedSplit, SessionResult, WorkItem, WorkItemKind,
    WorkItems, expect_free_folder, progress_of,
};
pub use query::{
    ArtifactEntry, RunRow, artifact, artifacts, began_at, journal_of, run_folder, runs, view_of, workflow_of,
};
pub use sessions::END_GRACE;
pub use tools::mcp_server::{McpClient, mcp};
pub use tools::result_offload::{ProxyClient, mcp_proxy};
pub use tools::session_token::SessionToken;
pub use transcript::{Transcript, TranscriptEvent, TranscriptLine};
pub use tried_commands::{TriedCommands, written_by_tried_command};
pub use ui::attach::{AttachResult, attach};
pub use undo::{UndoResult, undo};
pub use unfinished_run::{
    EarlierRun, RunOfFile, SuspectedChange, UnfinishedRun, newest_of_file, newest_run, set_aside, unfinished,
};
pub use writable_places::{
    default_state_root, exclude_earlier_lists, hidden_state_roots, note_lists, state_roots,
};
