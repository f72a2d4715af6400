//! What confines an agent, and everything else that runs what an agent wrote: which files and which places in the network
//! are there for it. Starts no agent and knows none; `agents` and `workspace` start what this crate gives them in the place
//! of a command.
//!
//! A [`Boundary`] is made by the host for one session or one command. It has a private folder, with a socket on which the
//! host's own proxy listens, and a specification of what is there. The command in its place is this very program
//! three times over (`stages.rs`): one that lays out what is mounted and becomes bubblewrap, one inside that carries
//! connections to the proxy, and one that takes from itself what is left (Landlock), and becomes the program.

mod boundary;
mod enter;
#[cfg(target_os = "linux")]
mod laid;
mod landed;
mod machine;
mod planted;
mod programs;
mod proxy;
mod refusals;
mod relay;
mod spec;
mod stages;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod watch;

pub use boundary::{Boundary, BoundaryError, Settings, Wanted, found_on};
pub use machine::{Machine, Missing};
pub use planted::{Remaining, clear};
pub use programs::{keep_out_of, own_trusted_path, this_program, trusted_path};
pub use refusals::Refused;
pub use spec::{Beside, INSIDE};
pub use stages::sandbox_main;
