//! What confines an agent, and everything else that runs what an agent wrote: which files and which places in the network
//! are there for it. Starts no agent and knows none; `agents` and `workspace` start what this crate gives them in the place
//! of a command.
//!
//! A [`Boundary`] is made by the host for one session or one command. It has a private folder, with a socket on which the
//! host's own proxy listens, and a specification of what is there. The command in its place is this very program
//! three times over (`stages.rs`): one that lays out what is mounted and becomes bubblewrap, one inside that carries
//! connections to the proxy, and one that takes from itself what is left (Landlock), and becomes the program.

mod boundary;
#[cfg(target_os = "linux")]
mod bwrap_arguments;
mod enter;
mod landlock_rules;
mod loopback_forwarder;
mod planted_paths;
mod programs;
mod proxy;
mod refusals;
mod sandbox_support;
mod spec;
mod stages;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod syscall_monitor;

pub use boundary::{Boundary, BoundaryError, BoundaryRequest, SettingsFolder, found_on};
pub use planted_paths::{RemainingPaths, WatchedPaths, clear};
pub use programs::{
    exclude_from_path, find_trusted, is_executable, own_trusted_path, own_trusted_program, this_program,
    trusted_path,
};
pub use refusals::RefusalReceiver;
pub use sandbox_support::{SandboxSupport, UnsupportedLevel};
pub use spec::{ExternalMount, INSIDE};
pub use stages::sandbox_main;
