//! Finds a compiler that can make WebAssembly: one with the target installed, or one with the sources of the standard
//! library, from which it is then built. It installs nothing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, PROFILE, TARGET};

/// The folder of Debian's compiler, regardless of `PATH`.
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
    /// The compiler's commit; empty if it does not report one.
    pub commit: String,
    /// Its installation.
    pub sysroot: PathBuf,
    /// The origin of the standard library.
    pub std: Std,
}

/// The origin of the standard library for the target.
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
    /// The first usable compiler: the one of `RUSTC` and `CARGO` or of `PATH`, then the system's.
    ///
    /// # Errors
    /// [`Error::NoToolchain`] with what each one lacks.
    pub fn find() -> Result<Self, Error> {
        let on_path = (named("RUSTC", "rustc"), named("CARGO", "cargo"));
        let system = (Path::new(SYSTEM).join("rustc"), Path::new(SYSTEM).join("cargo"));
        Self::among(&[on_path, system])
    }

    /// The first of these pairs of `rustc` and `cargo` that can.
    fn among(programs: &[(PathBuf, PathBuf)]) -> Result<Self, Error> {
        let mut found = String::new();
        let mut lacks = |program: &Path, what: &str| {
            writeln!(found, "- {}{what}", program.display()).unwrap_or_default();
        };
        let mut candidates = Vec::new();
        for (rustc, cargo) in programs {
            match describe(rustc) {
                Some(described) if runs(cargo) => candidates.push((rustc, cargo, described)),
                Some(_) => lacks(cargo, ": is not there, or does not run"),
                None => lacks(rustc, ": is not there, or does not run"),
            }
        }
        let sysroots: Vec<&Path> =
            candidates.iter().map(|(_, _, (_, _, sysroot))| sysroot.as_path()).collect();
        let linker = linker(&sysroots);
        for (rustc, cargo, (version, commit, sysroot)) in candidates {
            let target = sysroot.join("lib/rustlib").join(TARGET).join("lib");
            let sources = sysroot.join("lib/rustlib/src/rust/library/std/Cargo.toml");
            let std = if target.is_dir() {
                Ok(Std::Prebuilt)
            } else if !sources.is_file() {
                Err(format!(
                    " {version}: has neither the target {TARGET} nor the sources of its standard library"
                ))
            } else {
                linker.clone().map(|linker| Std::Built { linker }).ok_or_else(|| {
                    format!(
                        " {version}: has the sources of its standard library, but there is no rust-lld to link with"
                    )
                })
            };
            match std {
                Ok(std) => {
                    let (rustc, cargo) = (rustc.clone(), cargo.clone());
                    return Ok(Self { rustc, cargo, version, commit, sysroot, std });
                }
                Err(what) => lacks(rustc, &what),
            }
        }
        Err(Error::NoToolchain { found: found.trim_end().to_owned() })
    }
}

/// Whether a program exists and reports its version.
fn runs(program: &Path) -> bool {
    clean(Command::new(program)).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn named(variable: &str, program: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| PathBuf::from(program), PathBuf::from)
}

/// Version, commit and sysroot of a compiler, if it runs at all.
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
fn linker(sysroots: &[&Path]) -> Option<PathBuf> {
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

/// Removes variables that are meant for another compiler, as `cargo run` sets them, and variables that change the bytes of the
/// result: an incremental build differs from a full one.
pub(crate) fn clean(mut command: Command) -> Command {
    for variable in [
        "LD_LIBRARY_PATH",
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_TARGET_DIR",
    ] {
        command.env_remove(variable);
    }
    let profile = format!("CARGO_PROFILE_{}_", PROFILE.to_uppercase());
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with(&profile) {
            command.env_remove(variable);
        }
    }
    command.env("CARGO_INCREMENTAL", "0");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fake compiler whose installation is the folder, and a program that runs.
    fn pretend(folder: &Path) -> (PathBuf, PathBuf) {
        use std::os::unix::fs::PermissionsExt as _;
        let program = |name: &str, says: &str| {
            let path = folder.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{says}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let sysroot = folder.display();
        let rustc = format!(
            "case \"$1\" in -vV) echo 'rustc 1.95.0 (pretended)'; echo 'commit-hash: abc';; *) echo {sysroot};; esac"
        );
        (program("rustc", &rustc), program("cargo", "echo cargo 1.95.0"))
    }

    /// The message if none of these can.
    fn lacks(programs: &[(PathBuf, PathBuf)], folder: &Path) -> String {
        let said = Toolchain::among(programs).unwrap_err().to_string();
        said.replace(&folder.display().to_string(), "FOLDER")
    }

    #[test]
    fn what_each_compiler_lacks_is_said() {
        // M4
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (rustc, cargo) = pretend(folder);
        let nowhere = (folder.join("none/rustc"), folder.join("none/cargo"));

        let said = lacks(std::slice::from_ref(&nowhere), folder);
        assert!(said.starts_with("no compiler here can build for wasm32-unknown-unknown:\n"), "{said}");
        assert!(said.contains("- FOLDER/none/rustc: is not there, or does not run\n"), "{said}");
        assert!(said.contains("`rustup target add wasm32-unknown-unknown`"), "{said}");
        assert!(said.contains("`apt-get install rustc-web cargo-web rust-web-src`"), "{said}");

        let said = lacks(&[(rustc.clone(), nowhere.1.clone())], folder);
        assert!(said.contains("- FOLDER/none/cargo: is not there, or does not run"), "{said}");

        let said = lacks(&[nowhere, (rustc.clone(), cargo.clone())], folder);
        let neither = "- FOLDER/rustc 1.95.0 (pretended): has neither the target wasm32-unknown-unknown nor";
        assert!(said.contains("- FOLDER/none/rustc: is") && said.contains(neither), "{said}");

        std::fs::create_dir_all(folder.join("lib/rustlib").join(TARGET).join("lib")).unwrap();
        let found = Toolchain::among(&[(rustc.clone(), cargo.clone())]).unwrap();
        assert_eq!((&found.rustc, &found.cargo, &found.std), (&rustc, &cargo, &Std::Prebuilt));
        assert_eq!((found.version.as_str(), found.commit.as_str()), ("1.95.0 (pretended)", "abc"));
    }

    #[test]
    fn the_sources_of_the_standard_library_do_with_a_linker() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let pair = pretend(folder);
        let sources = folder.join("lib/rustlib/src/rust/library/std");
        std::fs::create_dir_all(&sources).unwrap();
        std::fs::write(sources.join("Cargo.toml"), "").unwrap();
        let linker = folder.join("lib/rustlib/some-host/bin");
        std::fs::create_dir_all(&linker).unwrap();
        std::fs::write(linker.join("rust-lld"), "").unwrap();
        let found = Toolchain::among(&[pair]).unwrap();
        assert_eq!(found.std, Std::Built { linker });
    }
}
