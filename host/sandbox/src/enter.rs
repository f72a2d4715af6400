//! The first stage: prepares the mounts, and becomes the confining program. It runs outside, where the host runs.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use baton_core::workflow::SandboxLevel;

#[cfg(target_os = "linux")]
use crate::bwrap_arguments::BwrapArguments;
#[cfg(target_os = "linux")]
use crate::host_socket::HostSocketAddress;
use crate::programs::RUNNING;
use crate::spec::BoundarySpec;
#[cfg(target_os = "linux")]
use crate::stages::INNER;
use crate::stages::{BECOME, WORD};
#[cfg(target_os = "linux")]
use crate::syscall_monitor;

/// Becomes the next stage.
pub(crate) fn enter(
    path: &Path,
    digest: &OsStr,
    [watcher, proxy]: [&OsString; 2],
    program: &[OsString],
) -> anyhow::Result<Infallible> {
    #[cfg(target_os = "linux")]
    crate::sys::close_on_exec().context("keeping what is open here")?;
    let spec = BoundarySpec::read(path, &digest.to_string_lossy())
        .with_context(|| format!("reading {}", path.display()))?;
    // Open until the last stage gets it. That stage decides what to do without one.
    #[cfg(target_os = "linux")]
    let stream = syscall_monitor::connect(watcher)
        .inspect_err(|error| eprintln!("baton sandbox: the host is not reached: {error}"))
        .ok();
    #[cfg(target_os = "linux")]
    let watcher = &OsString::from(syscall_monitor::handed_over(stream.as_ref()));
    match spec.level {
        SandboxLevel::Off => bail!("nothing is confined by the level \"off\""),
        SandboxLevel::Write => {
            let mut command = Command::new(RUNNING);
            command.args([WORD, BECOME]).arg(path).args([digest, watcher]).arg("--").args(program);
            Err(command.exec()).with_context(|| spec.own_exe.display().to_string())
        }
        SandboxLevel::Strict => strict(&spec, path, [digest, watcher, proxy], program),
    }
}

#[cfg(target_os = "linux")]
fn strict(
    spec: &BoundarySpec,
    path: &Path,
    [digest, watcher, proxy]: [&OsStr; 3],
    program: &[OsString],
) -> anyhow::Result<Infallible> {
    let bwrap = spec.bwrap.as_ref().context("nobody has looked for bubblewrap")?;
    let proxy = HostSocketAddress::of_host(proxy).and_then(|proxy| proxy.hand_on());
    // Both stay open for the stage inside.
    let (_handed, proxy) = proxy.context("finding the host's proxy")?;
    let laid = BwrapArguments::out(spec)?;
    let held = serde_json::to_string(&laid.held).context("writing what is held")?;
    // Inside, the specification is in the private folder.
    let name = path.file_name().context("the specification has no name")?;
    let mut command = Command::new(bwrap);
    command.args(&laid.arguments).arg("--").arg(&spec.own_exe).args([WORD, INNER]);
    command.arg(spec.inside().join(name)).args([digest, watcher, proxy.as_ref()]);
    command.arg(held).arg("--").args(program);
    Err(command.exec()).with_context(|| bwrap.display().to_string())
}

#[cfg(not(target_os = "linux"))]
fn strict(_: &BoundarySpec, _: &Path, _: [&OsStr; 3], _: &[OsString]) -> anyhow::Result<Infallible> {
    bail!("this system has nothing that confines a program")
}
