//! Compiles one policy crate and wraps the module as a component. The same sources and compiler give the same bytes
//! from any folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wit_component::ComponentEncoder;

use crate::toolchain::clean;
use crate::wants::{Wants, stamp};
use crate::{Error, Policy, Std, Toolchain};

/// The target of policies. It has no operating system, so nothing but the contract can be imported.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The build profile, in the workspace's manifest.
pub const PROFILE: &str = "policy";

/// Compiler flags in addition to the remapping of paths. A decision runs in a fresh instance, so its memory is kept small: one
/// page of stack is plenty for a policy that does not recurse.
pub const FLAGS: [&str; 1] = ["-Clink-arg=-zstack-size=65536"];

/// Builds a policy: the bytes of its component, with its wants written into it.
pub(crate) fn component(policy: &Policy, toolchain: &Toolchain) -> Result<Vec<u8>, Error> {
    // Read before the build, which takes minutes, so that the user sees a wrong manifest early.
    let wants = Wants::of_manifest(&policy.folder.join("Cargo.toml"))?;
    let target_dir = policy.workspace.join("target/wasm");
    let module = module(policy, toolchain, &target_dir)?;
    let bytes = std::fs::read(&module).map_err(Error::file("read", &module))?;
    let encoded =
        ComponentEncoder::default().validate(true).module(&bytes).and_then(|encoder| encoder.encode());
    let encoded = encoded
        .map_err(|error| Error::Component { policy: policy.name.clone(), message: format!("{error:#}") })?;
    stamp(&encoded, &wants)
}

/// Runs cargo: the path of the compiled module.
fn module(policy: &Policy, toolchain: &Toolchain, target_dir: &Path) -> Result<PathBuf, Error> {
    let mut cargo = clean(Command::new(&toolchain.cargo));
    cargo
        .current_dir(&policy.workspace)
        .env("RUSTC", &toolchain.rustc)
        // Separated by a byte that no path has, unlike RUSTFLAGS.
        .env("CARGO_ENCODED_RUSTFLAGS", flags(policy, toolchain).join("\u{1f}"))
        .args(["build", "--lib", "--target", TARGET, "--profile", PROFILE, "-p", &policy.package])
        .arg("--target-dir")
        .arg(target_dir)
        // Messages of the build go to the user on stderr; stdout is reserved for data.
        .stdout(Stdio::null());
    // If there is no lock yet, cargo creates it.
    if policy.workspace.join("Cargo.lock").is_file() {
        cargo.arg("--locked");
    }
    if let Std::Built { linker } = &toolchain.std {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(linker.clone()).chain(std::env::split_paths(&path)));
        if let Ok(path) = path {
            cargo.env("PATH", path);
        }
        // A stable compiler builds the standard library only if this variable is set.
        cargo.env("RUSTC_BOOTSTRAP", "1").args(["-Z", "build-std=std,panic_abort"]);
    }
    let command = format!("{} build -p {}", toolchain.cargo.display(), policy.package);
    let failed =
        |message: String| Error::Command { command: command.clone(), policy: policy.name.clone(), message };
    let status = cargo.status().map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        return Err(failed(format!("{status}; its own messages are above")));
    }
    let file = format!("{}.wasm", policy.package.replace('-', "_"));
    Ok(target_dir.join(TARGET).join(PROFILE).join(file))
}

/// [`FLAGS`], and the flags that remove this machine's paths from the component.
fn flags(policy: &Policy, toolchain: &Toolchain) -> Vec<String> {
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map_or_else(|| std::env::home_dir().unwrap_or_default().join(".cargo"), PathBuf::from);
    let remap = |from: PathBuf, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec![
        remap(policy.workspace.clone(), "/src"),
        remap(cargo_home.join("registry/src"), "/cargo"),
        remap(toolchain.sysroot.join("lib/rustlib/src/rust"), "/rust"),
    ];
    flags.extend(FLAGS.iter().map(|flag| (*flag).to_owned()));
    flags
}
