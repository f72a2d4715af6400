//! Builds policy crates into WebAssembly components and holds the committed ones to their lock.
//!
//! [`build_alone`] builds one policy crate in any folder. For the reference policies, which are in one folder and are committed
//! as built, [`build`] writes `<policies>/<name>.wasm` and `<policies>/policies.lock`; [`check`] rebuilds and compares;
//! [`verify`] compares sources and files with the lock and needs no compiler. This crate does not load or run a component.
//!
//! A component depends on the compiler that made it, so the lock records one. If the same compiler makes other bytes, that is
//! an error; results of another compiler cannot be compared, and [`check`] reports that.
#![forbid(unsafe_code)]

mod c;
mod compile;
mod freeze;
mod lock;
mod script;
mod sources;
mod toolchain;
mod wants;

use std::path::{Path, PathBuf};

pub use c::CPolicy;
pub use compile::{FLAGS, PROFILE, TARGET};
pub use freeze::{DRAFT, FROZEN, Frozen, freeze};
pub use lock::{LOCK_FILE, Lock, Locked};
pub use script::{Script, Scripted};
pub use sources::{Policy, discover};
pub use toolchain::{Std, Toolchain};
pub use wants::{SECTION, Wants, stamp};

/// Why a policy could not be built or checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// The attempted operation.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A manifest or a lock is malformed.
    #[error("{path} is not readable: {message}")]
    Format {
        /// Which file.
        path: PathBuf,
        /// The defect.
        message: String,
    },
    /// The folder contains no policy crate.
    #[error("no policy crate (a folder with a Cargo.toml) in {0}; name the folder that holds them")]
    NoPolicies(PathBuf),
    /// The folder is not a crate.
    #[error("no Cargo.toml in {0}; name the folder of a policy crate, or make one with `baton policy new`")]
    NoCrate(PathBuf),
    /// The folder belongs to no cargo workspace.
    #[error("no Cargo.lock in {0} or above it; run this inside the workspace that the policies belong to")]
    NoWorkspace(PathBuf),
    /// No compiler here can make WebAssembly.
    #[error(
        "no compiler here can build for {TARGET}:\n{found}\nInstall the target with `rustup target add {TARGET}`; or, \
         where rustup cannot, Debian's compiler with its sources: \
         `apt-get install rustc-web cargo-web rust-web-src`"
    )]
    NoToolchain {
        /// The candidates and what each of them lacks, one per line.
        found: String,
    },
    /// A program that the build needs did not do its part.
    #[error("`{command}` failed for {policy}: {message}")]
    Command {
        /// The program and its arguments.
        command: String,
        /// Which policy.
        policy: String,
        /// Its exit status, or why it could not start.
        message: String,
    },
    /// The compiled module is not a policy.
    #[error("{policy} does not make a component: {message}")]
    Component {
        /// Which policy.
        policy: String,
        /// The message of wit-component.
        message: String,
    },
    /// A version of the contract that components out there are built against reads differently now.
    #[error(
        "version {version} of the contract is released, and no longer reads like its copy in {folder}; take the change back, \
         or give the package a new version and freeze that"
    )]
    Released {
        /// Which.
        version: String,
        /// Its copy.
        folder: PathBuf,
    },
    /// The committed files and the sources are not of one piece.
    #[error("{policy}: {problem}; run `cargo run -p baton-build -- {folder}` and commit what it writes")]
    OutOfDate {
        /// Which policy.
        policy: String,
        /// The differences.
        problem: String,
        /// The folder of the policies.
        folder: String,
    },
}

impl Error {
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }
}

/// The result for one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Name of the policy.
    pub name: String,
    /// Its outcome.
    pub outcome: Outcome,
}

/// The outcome for one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The component was written: its size in bytes, and whether the bytes are new.
    Written {
        /// Size of the component.
        bytes: u64,
        /// The file did not exist or had other bytes.
        changed: bool,
    },
    /// The rebuilt component is byte for byte the committed one.
    Identical,
    /// Another compiler made the committed one, so its bytes cannot be compared.
    Incomparable {
        /// The compiler in the lock.
        locked: String,
        /// The compiler here.
        here: String,
    },
}

/// A component that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Its path.
    pub component: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// `rustc --version` of the compiler that made it.
    pub rustc: String,
}

/// Builds the policy crate in `folder`, which belongs to no house of policies, into `<folder>/<package>.wasm`.
///
/// # Errors
/// [`Error`]; a component of an earlier build is then still there.
pub fn build_alone(folder: &Path) -> Result<Built, Error> {
    let policy = sources::alone(folder)?;
    let toolchain = Toolchain::find()?;
    let component = compile::component(&policy, &toolchain)?;
    std::fs::write(&policy.component, &component).map_err(Error::file("write", &policy.component))?;
    Ok(Built { component: policy.component, bytes: component.len() as u64, rustc: toolchain.version })
}

/// Builds every policy crate in `folder` and writes the components and their lock.
///
/// # Errors
/// [`Error`]; nothing is written for a policy that could not be built.
pub fn build(folder: &Path) -> Result<Vec<Report>, Error> {
    let policies = discover(folder)?;
    let toolchain = Toolchain::find()?;
    let mut lock = Lock::default();
    let mut reports = Vec::new();
    for policy in &policies {
        let component = compile::component(policy, &toolchain)?;
        let same = std::fs::read(&policy.component).is_ok_and(|old| old == component);
        std::fs::write(&policy.component, &component).map_err(Error::file("write", &policy.component))?;
        lock.policy.insert(policy.name.clone(), Locked::of(policy, &toolchain, &component)?);
        reports.push(Report {
            name: policy.name.clone(),
            outcome: Outcome::Written { bytes: component.len() as u64, changed: !same },
        });
    }
    lock.write(folder)?;
    Ok(reports)
}

/// Rebuilds every policy crate in `folder` and compares with the committed components. Writes nothing there.
///
/// # Errors
/// [`Error::OutOfDate`] if the sources changed or the same compiler makes other bytes.
pub fn check(folder: &Path) -> Result<Vec<Report>, Error> {
    verify(folder)?;
    let lock = Lock::read(folder)?;
    let toolchain = Toolchain::find()?;
    let mut reports = Vec::new();
    for policy in discover(folder)? {
        let component = compile::component(&policy, &toolchain)?;
        let here = Locked::of(&policy, &toolchain, &component)?;
        let locked = lock.get(&policy, folder)?;
        let outcome = if locked.compiler() != here.compiler() {
            Outcome::Incomparable { locked: locked.compiler(), here: here.compiler() }
        } else if locked.component_sha256 == here.component_sha256 {
            Outcome::Identical
        } else {
            return Err(Error::OutOfDate {
                policy: policy.name.clone(),
                problem: format!(
                    "the same compiler makes other bytes: {} is locked, {} was built",
                    locked.component_sha256, here.component_sha256
                ),
                folder: folder.display().to_string(),
            });
        };
        reports.push(Report { name: policy.name.clone(), outcome });
    }
    Ok(reports)
}

/// Compares sources and committed components with the lock, without compiling anything.
///
/// # Errors
/// [`Error::OutOfDate`] with the first difference.
pub fn verify(folder: &Path) -> Result<(), Error> {
    let lock = Lock::read(folder)?;
    for policy in discover(folder)? {
        let out_of_date = |problem: String| Error::OutOfDate {
            policy: policy.name.clone(),
            problem,
            folder: folder.display().to_string(),
        };
        let locked = lock.get(&policy, folder)?;
        let crates = policy.crates()?;
        if let Some(difference) = lock::difference(&locked.crates, &crates) {
            return Err(out_of_date(format!("a crate it is built from changed ({difference})")));
        }
        if locked.source_sha256 != policy.source_sha256()? {
            return Err(out_of_date("its sources changed since the component was built".to_owned()));
        }
        let component = std::fs::read(&policy.component).map_err(Error::file("read", &policy.component))?;
        if locked.component_sha256 != sources::sha256(&component) {
            return Err(out_of_date(format!(
                "{} is not the component that the lock names",
                policy.component.display()
            )));
        }
    }
    Ok(())
}
