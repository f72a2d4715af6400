//! What whoever is confined takes from itself (Landlock), for good and for everything that it starts: writing elsewhere,
//! ports, signals to others. On top of a strict boundary it says the same once more.

use std::io;
use std::path::{Path, PathBuf};

use baton_core::workflow::SandboxLevel;

use crate::spec::BoundarySpec;

/// Devices that every program may write to. Terminals by their names are not among them: those of the user are there as well. A
/// program that makes a terminal of its own gets its other end from the kernel.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/shm",
];

/// What may be written, as whoever is inside sees it.
pub(crate) fn writable(spec: &BoundarySpec) -> Vec<PathBuf> {
    let mut paths = vec![spec.tree.clone(), spec.inside().to_owned()];
    paths.extend(spec.write.iter().cloned());
    let beside = spec.beside.iter().filter(|beside| beside.writable);
    paths.extend(beside.map(|beside| beside.root.join(&beside.path)));
    match spec.level {
        SandboxLevel::Strict => {
            // Both are new for this session, and so is the rest of what is not mounted read-only.
            paths.extend(spec.home.clone());
            paths.extend(["/tmp", "/var/tmp", "/dev", "/proc"].map(PathBuf::from));
            paths.extend(spec.settings.iter().map(|kept| kept.folder.clone()));
        }
        SandboxLevel::Off | SandboxLevel::Write => paths.extend(DEVICES.map(PathBuf::from)),
    }
    paths
}

/// Takes it from this thread.
#[cfg(target_os = "linux")]
pub(crate) fn land(spec: &BoundarySpec) -> io::Result<()> {
    use landlock::{
        ABI, AccessFs, AccessNet, NetPort, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, Scope,
        path_beneath_rules,
    };
    let failed = |error: landlock::RulesetError| io::Error::other(error.to_string());
    let strict = spec.level == SandboxLevel::Strict;
    // What the kernel does not know of this it leaves out; `Machine::can` has asked for what may not be left out.
    let mut ruleset = Ruleset::default().scope(Scope::Signal).map_err(failed)?;
    if !strict {
        ruleset = ruleset
            .scope(Scope::AbstractUnixSocket)
            .and_then(|ruleset| ruleset.handle_access(AccessNet::ConnectTcp))
            .map_err(failed)?;
    }
    let files = AccessFs::from_write(ABI::V5);
    if !spec.mounts {
        ruleset = ruleset.handle_access(files).map_err(failed)?;
    }
    let mut created = ruleset.create().map_err(failed)?;
    if !spec.mounts {
        let paths = writable(spec);
        let there: Vec<&Path> = paths.iter().map(PathBuf::as_path).filter(|path| path.exists()).collect();
        created = created.add_rules(path_beneath_rules(there, files)).map_err(failed)?;
    }
    if !strict {
        let ports = spec.ports.iter().map(|port| Ok(NetPort::new(*port, AccessNet::ConnectTcp)));
        created = created.add_rules(ports).map_err(failed)?;
    }
    let status = created.restrict_self().map_err(failed)?;
    match (strict, status.ruleset) {
        // What there was to take first is taken: the namespaces.
        (true, _)
        | (false, landlock::RulesetStatus::FullyEnforced | landlock::RulesetStatus::PartiallyEnforced) => {
            Ok(())
        }
        (false, landlock::RulesetStatus::NotEnforced) => {
            Err(io::Error::other("the kernel enforces nothing of it"))
        }
    }
}

/// Only Linux has Landlock.
#[cfg(not(target_os = "linux"))]
pub(crate) fn land(spec: &BoundarySpec) -> io::Result<()> {
    match spec.level {
        SandboxLevel::Strict | SandboxLevel::Off => Ok(()),
        SandboxLevel::Write => Err(io::ErrorKind::Unsupported.into()),
    }
}
