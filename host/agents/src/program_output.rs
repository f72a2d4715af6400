//! Asks a program for data that needs no session: its version, its login state.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use baton_sandbox::{PYTHON_CACHE_VARIABLE, trusted_path};
use rustix::process::Signal;
use tokio::io::AsyncReadExt as _;

use crate::procfs;

/// How long an answer may stay open after the program is gone, held by something that it started.
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

/// How much of an answer is read.
const ANSWER_BYTES: u64 = 64 * 1024;

/// What a program prints, in this environment alone, with nothing on stdin, and not for long. What it starts meanwhile is ended with it.
pub(crate) async fn ask(
    program: &Path,
    arguments: &[&str],
    environment: &BTreeMap<OsString, OsString>,
    limit: Duration,
) -> String {
    answer(program, arguments, environment, limit, false).await.unwrap_or_default()
}

/// The same, with its stderr appended.
pub(crate) async fn ask_both(
    program: &Path,
    arguments: &[&str],
    environment: &BTreeMap<OsString, OsString>,
    limit: Duration,
) -> String {
    answer(program, arguments, environment, limit, true).await.unwrap_or_default()
}

async fn answer(
    program: &Path,
    arguments: &[&str],
    environment: &BTreeMap<OsString, OsString>,
    limit: Duration,
    both: bool,
) -> Option<String> {
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment)
        // What a script begins with (`/usr/bin/env node`) is looked for there.
        .env("PATH", trusted_path(environment.get(OsStr::new("PATH")).map(OsString::as_os_str)))
        // No compiled modules can be stored or found there: an agent may have left some next to those of the program.
        .env(PYTHON_CACHE_VARIABLE, "/dev/null")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(if both { Stdio::piped() } else { Stdio::null() })
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let group = child.id();
    let (stdout, stderr) = (child.stdout.take()?, child.stderr.take());
    let (mut said, mut complained) = (Vec::new(), Vec::new());
    {
        let mut stdout = stdout.take(ANSWER_BYTES);
        let told = async {
            let complaint = async {
                match stderr {
                    Some(stderr) => stderr.take(ANSWER_BYTES).read_to_end(&mut complained).await,
                    None => Ok(0),
                }
            };
            let _ = tokio::join!(stdout.read_to_end(&mut said), complaint);
        };
        let exited = async {
            let _ = child.wait().await;
            tokio::time::sleep(OUTPUT_DRAIN_TIMEOUT).await;
        };
        let late = tokio::time::sleep(limit);
        // Complete, ended or too slow: the output until then counts.
        tokio::select! {
            () = told => {}
            () = exited => {}
            () = late => {}
        }
    }
    if let Some(group) = group {
        procfs::signal_group(group, Signal::KILL);
    }
    let _ = child.wait().await;
    said.extend(complained);
    Some(String::from_utf8_lossy(&said).into_owned())
}
