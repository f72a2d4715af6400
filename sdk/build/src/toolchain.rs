//! Finds a compiler that can make WebAssembly: one with the target installed, or one with the sources of the standard
//! library, from which it is then built. It installs nothing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, TARGET};

/// Where Debian puts its compiler, whatever `PATH` says first.
const SYSTEM: &str = "/usr/bin";

/// A compiler that can build a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// `rustc`.
    pub rustc: PathBuf,
    /// `cargo`.
    pub cargo: PathBuf,
    /// `rustc --version`, without the leading word.
    pub version: String,
    /// The compiler's commit; empty where it does not say.
    pub commit: String,
    /// Its installation.
    pub sysroot: PathBuf,
    /// Where the standard library comes from.
    pub std: Std,
}

/// Where the standard library for the target comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Std {
    /// It is installed.
    Prebuilt,
    /// It is built from sources, and linked with the linker in this folder.
    Built {
        /// Folder with `rust-lld`.
        linker: PathBuf,
    },
}

impl Std {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Std::Prebuilt => "prebuilt",
            Std::Built { .. } => "built",
        }
    }
}

impl Toolchain {
    /// The first compiler that can: what `RUSTC` and `CARGO` name or `PATH` has, then the system's own.
    ///
    /// # Errors
    /// [`Error::NoToolchain`] with what each one lacks.
    pub fn find() -> Result<Self, Error> {
        let on_path = (named("RUSTC", "rustc"), named("CARGO", "cargo"));
        let system = (Path::new(SYSTEM).join("rustc"), Path::new(SYSTEM).join("cargo"));
        let mut found = String::new();
        let mut sysroots = Vec::new();
        let mut candidates = Vec::new();
        for (rustc, cargo) in [on_path, system] {
            match describe(&rustc) {
                Some((version, commit, sysroot)) => {
                    sysroots.push(sysroot.clone());
                    candidates.push((rustc, cargo, version, commit, sysroot));
                }
                None => writeln!(found, "- {}: is not there", rustc.display()).unwrap_or_default(),
            }
        }
        let linker = linker(&sysroots);
        for (rustc, cargo, version, commit, sysroot) in candidates {
            let target = sysroot.join("lib/rustlib").join(TARGET).join("lib");
            let sources = sysroot.join("lib/rustlib/src/rust/library/std/Cargo.toml");
            let std = if target.is_dir() {
                Ok(Std::Prebuilt)
            } else if !sources.is_file() {
                Err(format!("has neither the target {TARGET} nor the sources of its standard library"))
            } else {
                linker.clone().map(|linker| Std::Built { linker }).ok_or_else(|| {
                    "has the sources of its standard library, but there is no rust-lld to link with"
                        .to_owned()
                })
            };
            match std {
                Ok(std) => return Ok(Self { rustc, cargo, version, commit, sysroot, std }),
                Err(lacks) => writeln!(found, "- {} {version}: {lacks}", rustc.display()).unwrap_or_default(),
            }
        }
        Err(Error::NoToolchain { found: found.trim_end().to_owned() })
    }
}

fn named(variable: &str, program: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| PathBuf::from(program), PathBuf::from)
}

/// Version, commit and sysroot of a compiler, where it runs at all.
fn describe(rustc: &Path) -> Option<(String, String, PathBuf)> {
    let ask = |argument: &[&str]| {
        let output = clean(Command::new(rustc)).args(argument).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let verbose = ask(&["-vV"])?;
    let version = verbose.lines().next()?.trim_start_matches("rustc ").to_owned();
    let commit =
        verbose.lines().find_map(|line| line.strip_prefix("commit-hash: ")).unwrap_or_default().to_owned();
    Some((version, commit, PathBuf::from(ask(&["--print", "sysroot"])?)))
}

/// The folder of the first `rust-lld`, in an installation or on `PATH`.
fn linker(sysroots: &[PathBuf]) -> Option<PathBuf> {
    let mut folders = Vec::new();
    for sysroot in sysroots {
        let hosts = std::fs::read_dir(sysroot.join("lib/rustlib")).into_iter().flatten().flatten();
        folders.extend(hosts.map(|host| host.path().join("bin")));
    }
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&path));
    folders.into_iter().find(|folder| folder.join("rust-lld").is_file())
}

/// Takes away what `cargo run` puts into the environment of a tool: it is meant for another compiler.
pub(crate) fn clean(mut command: Command) -> Command {
    for variable in
        ["LD_LIBRARY_PATH", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "CARGO_TARGET_DIR"]
    {
        command.env_remove(variable);
    }
    command
}
