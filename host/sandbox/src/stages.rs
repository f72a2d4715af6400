//! `baton __sandbox`: the stages that run in place of a confined command. They are not for users.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
#[cfg(target_os = "linux")]
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};
use baton_core::workflow::SandboxLevel;

use crate::programs::RUNNING;
use crate::spec::BoundarySpec;
use crate::{enter, landlock_rules};

/// The word that makes this program a stage.
pub(crate) const WORD: &str = "__sandbox";
/// The stage outside.
pub(crate) const ENTER: &str = "enter";
/// The stage inside, which stays.
pub(crate) const INNER: &str = "inside";
/// The stage that becomes the program.
pub(crate) const BECOME: &str = "become";

/// Stands for the proxy in a boundary that has none.
pub(crate) const NO_PROXY: &str = "-";

/// A shell's exit code for a program that it cannot start.
const NOT_STARTED: u8 = 127;
/// The exit code if there is no sandbox to start it in.
const NOT_CONFINED: u8 = 126;

/// Runs a stage: the arguments after the command's own name.
pub fn sandbox_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match run(&args.into_iter().collect::<Vec<_>>()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("baton sandbox: {error:#}");
            let not_started = error.downcast_ref::<MissingProgram>().is_some();
            ExitCode::from(if not_started { NOT_STARTED } else { NOT_CONFINED })
        }
    }
}

/// The program itself is missing.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", program.display())]
struct MissingProgram {
    program: PathBuf,
    source: std::io::Error,
}

fn run(args: &[OsString]) -> anyhow::Result<ExitCode> {
    let words: Vec<Option<&str>> = args.iter().take(1).map(|arg| arg.to_str()).collect();
    let dashes = args.iter().position(|arg| arg == "--");
    let (own, program) = match dashes {
        Some(at) if at + 1 < args.len() => (&args[1.min(at)..at], &args[at + 1..]),
        _ => bail!(
            "usage: enter|inside|become SPECIFICATION DIGEST WATCHER [PROXY [HELD]] -- PROGRAM [ARGUMENT]..."
        ),
    };
    match (words.as_slice(), own) {
        ([Some(ENTER)], [spec, digest, watcher, proxy]) => {
            match enter::enter(Path::new(spec), digest, [watcher, proxy], program)? {}
        }
        #[cfg(target_os = "linux")]
        ([Some(INNER)], [spec, digest, watcher, proxy, held]) => {
            inside(Path::new(spec), digest, [watcher, proxy], held, program)
        }
        ([Some(BECOME)], [spec, digest, watcher]) => {
            match become_program(Path::new(spec), digest, watcher, program)? {}
        }
        _ => bail!("this is no stage of the sandbox"),
    }
}

/// Carries connections to the host's proxy while the program runs, and ends with it.
#[cfg(target_os = "linux")]
fn inside(
    path: &Path,
    digest: &OsStr,
    [watcher, proxy]: [&OsString; 2],
    held: &OsStr,
    program: &[OsString],
) -> anyhow::Result<ExitCode> {
    let spec = BoundarySpec::read(path, &digest.to_string_lossy())
        .with_context(|| format!("reading {}", path.display()))?;
    let proxy =
        crate::host_socket::HostSocketAddress::inherited(proxy).context("finding the host's proxy")?;
    let held: Vec<crate::bwrap_arguments::ExpectedMount> =
        serde_json::from_str(held.to_str().unwrap_or_default()).context("reading what is held")?;
    crate::bwrap_arguments::hold(&spec.tree, &held)?;
    // The program cannot examine this process.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .context("closing itself to others")?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the relay")?;
    let status = runtime.block_on(async {
        let proxy = crate::loopback_forwarder::listen(proxy, &spec.loopback).await;
        let proxy = format!("http://{}", proxy.context("listening inside")?);
        let mut command = tokio::process::Command::new(RUNNING);
        command.args([WORD, BECOME]).arg(path).args([digest, watcher]).arg("--").args(program);
        for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            command.env(name, &proxy);
        }
        for name in ["NO_PROXY", "no_proxy"] {
            command.env(name, "localhost,127.0.0.1,::1");
        }
        // Node's own client heeds the variables if this one is set.
        command.env("NODE_USE_ENV_PROXY", "1");
        let mut child = command.spawn().with_context(|| spec.own_exe.display().to_string())?;
        child.wait().await.context("waiting for the program")
    });
    let status = status?;
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(i32::from(NOT_STARTED));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

/// Gives up the remaining rights, and becomes the program.
fn become_program(
    path: &Path,
    digest: &OsStr,
    watcher: &OsStr,
    program: &[OsString],
) -> anyhow::Result<Infallible> {
    let spec = BoundarySpec::read(path, &digest.to_string_lossy())
        .with_context(|| format!("reading {}", path.display()))?;
    let (name, arguments) = program.split_first().context("no program")?;
    let mut command = Command::new(name);
    command.args(arguments).envs(spec.environment.iter().map(|(name, value)| (name, value)));
    let temporary = spec.temporary();
    // Claude Code has its own variable for temporary files.
    command.env("TMPDIR", &temporary).env("CLAUDE_CODE_TMPDIR", &temporary);
    landlock_rules::land(&spec).context("confining itself")?;
    #[cfg(target_os = "linux")]
    if spec.level == SandboxLevel::Write {
        // Those of root: bubblewrap takes them away in `strict`.
        crate::sys::drop_capabilities().context("giving up capabilities")?;
        // Bubblewrap begins a session of its own.
        crate::sys::leave_terminal().context("leaving the terminal")?;
    }
    #[cfg(target_os = "linux")]
    crate::sys::deny(spec.level).context("giving up what nothing else holds")?;
    #[cfg(target_os = "linux")]
    match crate::syscall_monitor::be_watched(watcher) {
        // In a strict boundary the namespaces protect everything, and only the reports of refusals are missing.
        Err(error) if spec.level == SandboxLevel::Strict => {
            eprintln!("baton sandbox: what is refused is not told: {error}");
        }
        watched => watched.context(
            "the host does not watch this program, and nothing else refuses at \"write\" that it changes modes, owners and times of \
             files elsewhere: start Baton where it can, or use \"strict\"",
        )?,
    }
    #[cfg(not(target_os = "linux"))]
    let _ = watcher;
    let source = command.exec();
    Err(MissingProgram { program: PathBuf::from(name), source }.into())
}
