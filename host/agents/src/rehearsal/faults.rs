//! What a rehearsal does that a host must withstand: processes that it leaves behind, signals that it ignores, a workspace
//! that it deletes.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// How long what the rehearsal leaves behind would live.
const LEFT_BEHIND_SECONDS: &str = "600";

/// Two processes, one of them in a group of its own.
pub(super) fn leave_behind() -> io::Result<()> {
    for own_group in [false, true] {
        let mut command = Command::new("sleep");
        command.arg(LEFT_BEHIND_SECONDS).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if own_group {
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        // Not waited for: that is the point.
        command.spawn()?;
    }
    Ok(())
}

/// A handler that does nothing takes the place of the default, for as long as the process lives.
pub(super) fn ignore_sigterm() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listening = runtime
        .block_on(async { tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) })?;
    drop(listening);
    Ok(())
}

/// What cannot be deleted stays.
pub(super) fn delete_all(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let deleted = if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        if deleted.is_err() && path.is_dir() {
            delete_all(&path);
        }
    }
}
