//! Confines an agent, and every other process that runs code of an agent: the visible files and the reachable network targets.
//! Starts no agent and knows none; `agents` and `workspace` start the command that this crate returns in place of another one.
//!
//! The host makes a [`Boundary`] for one session or one command. It has a private folder with a specification, and sockets
//! without a name, on which the host's own proxy and its watcher listen. The replacing command is this program in three stages
//! (`stages.rs`): the first prepares the mounts and becomes bubblewrap, the second forwards connections to the proxy from
//! inside, and the third gives up its remaining rights (Landlock), and becomes the program.

mod boundary;
#[cfg(target_os = "linux")]
mod bwrap_arguments;
mod enter;
mod file_walk;
mod held_names;
#[cfg(target_os = "linux")]
mod host_socket;
mod landlock_rules;
mod link_walk;
mod listable_tree;
mod lists;
#[cfg(target_os = "linux")]
mod loopback_forwarder;
mod mount_aliases;
mod planted_paths;
mod programs;
#[cfg(target_os = "linux")]
mod proxy;
mod refusals;
mod remove_tree;
mod sandbox_support;
mod shared_files;
mod spec;
mod stages;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod syscall_monitor;

pub use boundary::{Boundary, BoundaryError, BoundaryRequest, PACKAGES, SettingsFolder, found_on};
pub use held_names::{UnheldNames, has_name_in};
pub use link_walk::LinkWalk;
pub use listable_tree::make_listable;
pub use lists::listed_paths;
#[cfg(target_os = "linux")]
pub use planted_paths::open_up;
pub use planted_paths::{RemainingPaths, WatchedPaths, clear};
pub use programs::{
    distrust_links, exclude_from_path, exclude_listed, exclude_writable, find_confined, find_trusted,
    is_executable, is_work_of_agents, link_of_agents, note_this_program, own_trusted_path,
    own_trusted_program, program_of_this_process, running_program, runs_no_work_of_agents, this_program,
    trusted_path,
};
pub use refusals::RefusalReceiver;
pub use remove_tree::remove_tree;
pub use sandbox_support::{SandboxSupport, UnsupportedLevel};
pub use shared_files::shared_files;
pub use spec::{ExternalMount, INSIDE, PYTHON_CACHE_VARIABLE};
pub use stages::sandbox_main;
#[cfg(target_os = "linux")]
pub use sys::peer_process;
