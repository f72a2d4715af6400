//! What confines an agent, and everything else that runs what an agent wrote: which files and which places in the network
//! are there for it. Starts no agent and knows none; `agents` and `workspace` start what this crate gives them in the place
//! of a command.
//!
//! A [`Boundary`] is made by the host for one session or one command. It has a private folder with a specification of what
//! is there, and sockets without a name, on which the host's own proxy and its watcher listen. The command in its place is this very program
//! three times over (`stages.rs`): one that lays out what is mounted and becomes bubblewrap, one inside that carries
//! connections to the proxy, and one that takes from itself what is left (Landlock), and becomes the program.

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
