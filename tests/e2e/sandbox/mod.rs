//! The sandbox, tried from inside: the attacks of `attacks.py`, none of which gets out and each of which is told, and the same
//! without a sandbox, as the control. Then what people write of it, and what is said before anything starts.
//!
//! Where this machine cannot make a sandbox the tests say so and pass; with `BATON_TEST_SANDBOX` set those of a strict one fail.
//! `.ci/run` sets it where bubblewrap works.

mod attacks;
mod baton_files;
mod beyond_mounts;
mod git_files;
mod git_layouts;
mod host_programs;
mod keys;
mod lists;
mod other_names;
mod programs;
mod tried;
mod user;
mod write_level;

use std::io::Write as _;

use baton_runtime::core::workflow::SandboxLevel;
use baton_runtime::sandbox::SandboxSupport;

/// Whether this machine can; a word where it cannot.
pub(crate) fn can(level: SandboxLevel) -> bool {
    let Err(missing) = SandboxSupport::look(std::env::var_os("PATH").as_deref()).can(level) else {
        return true;
    };
    // A kernel without Landlock's ports is nobody's mistake.
    assert!(level == SandboxLevel::Write || std::env::var_os("BATON_TEST_SANDBOX").is_none(), "{missing}");
    let current = std::thread::current();
    // Not by a macro: the test runner would keep that to itself, and a skipped test must be seen.
    let _ = writeln!(std::io::stderr(), "skipped: {}: {missing}", current.name().unwrap_or("a test"));
    false
}
