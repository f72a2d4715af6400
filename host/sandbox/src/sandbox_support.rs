//! This machine's support for sandboxes, found by trying: starts bubblewrap once, and confines a thread of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use baton_core::workflow::SandboxLevel;

use crate::programs::find_trusted;

/// Bubblewrap's name on PATH.
const BWRAP: &str = "bwrap";
/// The option that older ones lack.
const BIND_BY_DESCRIPTOR: &str = "--ro-bind-fd";
/// The version of Landlock that can restrict ports (Linux 6.7).
const ABI_WITH_PORTS: i32 = 4;

/// The means of this machine to confine a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSupport {
    /// Bubblewrap, if it works, or else the reason why not.
    pub bwrap: Result<PathBuf, String>,
    /// The version of Landlock; 0 if there is none.
    pub landlock: i32,
}

/// The missing requirements of a level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`sandbox = \"{}\"` cannot be had on this machine: {why}", level.name())]
pub struct UnsupportedLevel {
    /// The requested level.
    pub level: SandboxLevel,
    /// The missing requirement, and how to get it.
    pub why: String,
}

impl SandboxSupport {
    /// A machine that was not examined: nothing is available.
    pub fn none() -> Self {
        Self { bwrap: Err("nobody has looked for bubblewrap".to_owned()), landlock: 0 }
    }

    /// Examines the machine, with programs found in the trusted part of `path` ([`find_trusted`]). Blocking; starts a process
    /// for some milliseconds.
    pub fn look(path: Option<&OsStr>) -> Self {
        Self { bwrap: bubblewrap(path), landlock: landlock() }
    }

    /// Whether a level is available.
    ///
    /// # Errors
    /// [`UnsupportedLevel`] names the missing requirement.
    pub fn can(&self, level: SandboxLevel) -> Result<(), UnsupportedLevel> {
        let missing = |why: String| Err(UnsupportedLevel { level, why });
        match level {
            SandboxLevel::Off => Ok(()),
            SandboxLevel::Write if cfg!(not(target_os = "linux")) => {
                missing("it is made of Landlock, which only Linux has".to_owned())
            }
            SandboxLevel::Write if self.landlock < ABI_WITH_PORTS => missing(match self.landlock {
                0 => "the kernel has no Landlock, or it is switched off".to_owned(),
                abi => {
                    format!("its Landlock is of version {abi} and holds no ports; version 4 does (Linux 6.7)")
                }
            }),
            SandboxLevel::Write => Ok(()),
            SandboxLevel::Strict => match &self.bwrap {
                Ok(_) => Ok(()),
                Err(why) => missing(why.clone()),
            },
        }
    }
}

#[cfg(target_os = "linux")]
fn bubblewrap(path: Option<&OsStr>) -> Result<PathBuf, String> {
    let Some(program) = find_trusted(BWRAP, path) else {
        return Err("bubblewrap (`bwrap`) is not on PATH: install the package `bubblewrap`".to_owned());
    };
    let help = output(Command::new(&program).arg("--help"))?;
    if !help.contains(BIND_BY_DESCRIPTOR) {
        return Err(format!(
            "{} is too old: it has no `{BIND_BY_DESCRIPTOR}`, which version 0.10 and patched older ones have",
            program.display()
        ));
    }
    let system: Vec<&str> =
        ["/usr", "/bin", "/lib", "/lib64"].into_iter().filter(|at| Path::new(at).exists()).collect();
    let mut command = Command::new(&program);
    command.args([
        "--unshare-user",
        "--unshare-all",
        "--die-with-parent",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ]);
    for at in system {
        command.args(["--ro-bind", at, at]);
    }
    command.args(["--", "/usr/bin/env", "true"]);
    output(&mut command).map_err(|said| {
        format!(
            "bubblewrap cannot make namespaces here ({said}); where the system forbids them to users (Ubuntu's AppArmor, \
             containers), allow them, or take \"write\""
        )
    })?;
    Ok(program)
}

#[cfg(not(target_os = "linux"))]
fn bubblewrap(_: Option<&OsStr>) -> Result<PathBuf, String> {
    Err("Baton confines agents on Linux only".to_owned())
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn output(command: &mut Command) -> Result<String, String> {
    let ended =
        command.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/").stdin(Stdio::null()).output();
    let ended = ended.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(if ended.status.success() { &ended.stdout } else { &ended.stderr });
    match ended.status.success() {
        true => Ok(said.into_owned()),
        false => Err(said.trim().lines().last().unwrap_or("it says nothing").to_owned()),
    }
}

/// The restrictions end with the thread, which ends here.
#[cfg(target_os = "linux")]
fn landlock() -> i32 {
    use landlock::{AccessFs, LandlockStatus, Ruleset, RulesetAttr as _};
    let status = std::thread::spawn(|| {
        let created = Ruleset::default().handle_access(AccessFs::MakeChar).ok()?.create().ok()?;
        Some(created.restrict_self().ok()?.landlock)
    });
    match status.join().ok().flatten() {
        Some(LandlockStatus::Available { effective_abi, kernel_abi }) => {
            kernel_abi.unwrap_or(effective_abi as i32)
        }
        _ => 0,
    }
}

#[cfg(not(target_os = "linux"))]
fn landlock() -> i32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_before_anything_starts() {
        // N6
        let bare = SandboxSupport { bwrap: Err("no bwrap".to_owned()), landlock: 3 };
        assert_eq!(bare.can(SandboxLevel::Off), Ok(()));
        assert!(bare.can(SandboxLevel::Write).unwrap_err().to_string().contains("version 3"));
        assert!(bare.can(SandboxLevel::Strict).unwrap_err().to_string().contains("no bwrap"));
        let nowhere = SandboxSupport::look(Some(OsStr::new("/nowhere")));
        assert!(nowhere.bwrap.unwrap_err().contains("bubblewrap"));
    }
}
