//! `baton __guard`, `baton __relay`, `baton __rehearsal`, `baton __compile` and `baton __sandbox`: what the host starts of this binary.
//! They are not for users, so the command line parser never sees them: their arguments are others' command lines, and must stay as
//! they are.

use std::ffi::OsString;
use std::process::ExitCode;

use baton_runtime::agents::{rehearsal_main, runner_main, supervisor_main};
use baton_runtime::engine::{compile_in_subprocess, compile_main};
use baton_runtime::sandbox::sandbox_main;

const COMPILE: &str = "__compile";

/// Becomes the guard, the relay, the rehearsal agent or a stage of the sandbox, if these arguments (with the program's own
/// name) request one.
pub(crate) fn dispatch(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    match args.nth(1)?.to_str()? {
        "__guard" => Some(supervisor_main(args)),
        "__relay" => Some(runner_main(args)),
        "__sandbox" => Some(sandbox_main(args)),
        "__rehearsal" => Some(rehearsal_main(args)),
        COMPILE => Some(compile_main(args)),
        _ => None,
    }
}

/// Has the policies of strangers compiled by a process of their own.
pub(crate) fn enable_compile_subprocess() {
    compile_in_subprocess(vec![COMPILE.into()]);
}
