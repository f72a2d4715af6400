//! The rights that a confined process gives up (Landlock), for good and for everything that it starts: writing elsewhere,
//! reading terminals, ports, signals to others. On top of a strict boundary it says the same once more.

#[cfg(target_os = "linux")]
use std::fs;
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd as _, OwnedFd};
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt as _;
#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use anyhow::Context as _;
use anyhow::bail;
use baton_core::workflow::SandboxLevel;
#[cfg(target_os = "linux")]
use rustix::fs::{FileType, fstat};

#[cfg(target_os = "linux")]
use crate::bwrap_arguments::{beneath, folder, open_tree, unlinked};
use crate::spec::BoundarySpec;

/// Devices that every program may read and write. Terminals by their names are not among them, since those of the user are
/// there as well. `/dev/tty` is the terminal that a program already has, if any.
#[cfg(target_os = "linux")]
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

/// The folder of shared memory among them.
#[cfg(target_os = "linux")]
const SHARED_MEMORY: &str = "/dev/shm";

/// The writable paths at `write`, by the names that `/proc` shows for open files.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct WritableNames {
    /// With all that is in them, also their modes, owners, times and attributes.
    places: Vec<PathBuf>,
    /// Only their content may be written.
    devices: Vec<PathBuf>,
    shared_memory: Vec<PathBuf>,
}

#[cfg(target_os = "linux")]
impl WritableNames {
    /// Follows no links except the system's: the entries of lists have the targets that the host found.
    pub(crate) fn of(spec: &BoundarySpec) -> Self {
        let mut places = vec![spec.tree.clone(), spec.folder.clone()];
        places.extend(spec.write.iter().map(|listed| listed.real.clone()));
        let beside = spec.beside.iter().filter(|beside| beside.writable);
        places.extend(beside.map(|beside| beside.root.join(&beside.path)));
        let named = |device: &str| {
            let device = PathBuf::from(device);
            let real = device.canonicalize().ok();
            [Some(device), real].into_iter().flatten()
        };
        let devices = DEVICES.into_iter().flat_map(named).collect();
        Self { places, devices, shared_memory: named(SHARED_MEMORY).collect() }
    }

    /// Whether something of this name may be written.
    pub(crate) fn have(&self, name: &Path) -> bool {
        self.places.iter().chain(&self.devices).any(|writable| name.starts_with(writable))
    }

    /// Whether the mode, the owner, the times and the attributes of something that is no device may be changed. The folder of shared
    /// memory is the system's, and its content is shared by all.
    pub(crate) fn own(&self, name: &Path) -> bool {
        let is_below = |folder: &PathBuf| name.starts_with(folder) && name != folder;
        self.places.iter().any(|place| name.starts_with(place)) || self.shared_memory.iter().any(is_below)
    }
}

/// What may be written in a strict boundary, as seen from inside.
#[cfg(target_os = "linux")]
fn writable_inside(spec: &BoundarySpec) -> Vec<PathBuf> {
    let mut paths = vec![spec.tree.clone(), spec.inside().to_owned()];
    paths.extend(spec.write.iter().map(|listed| listed.at.clone()));
    let beside = spec.beside.iter().filter(|beside| beside.writable);
    paths.extend(beside.map(|beside| beside.root.join(&beside.path)));
    // Both are new for this session, and so is everything else that is not mounted read-only.
    paths.extend(spec.home.clone());
    paths.extend(["/tmp", "/var/tmp", "/dev", "/proc"].map(PathBuf::from));
    paths.extend(spec.settings.iter().map(|kept| kept.folder.clone()));
    paths
}

/// The writable places at `write`, opened: an agent of another session could redirect paths, by a link that it has made since
/// the host examined them.
#[cfg(target_os = "linux")]
fn open_places(spec: &BoundarySpec) -> anyhow::Result<Vec<OwnedFd>> {
    let mut opened = vec![open_tree(spec)?, folder(&spec.folder)?];
    for listed in &spec.write {
        opened.extend(unlinked(&listed.real)?);
    }
    for beside in spec.beside.iter().filter(|beside| beside.writable) {
        let root = folder(&beside.root)?;
        opened.extend(beneath(root.as_fd(), &beside.path)?);
    }
    Ok(opened)
}

/// The folders of devices, independent of the kernel's mounts.
#[cfg(target_os = "linux")]
const DEVICE_FOLDERS: [&str; 2] = ["/dev", "/dev/pts"];
/// File systems of devices and of terminals.
#[cfg(target_os = "linux")]
const DEVICE_FILE_SYSTEMS: [&str; 2] = ["devtmpfs", "devpts"];
/// Beginnings of the names of terminals whose numbers do not identify them: serial lines, and those of a hypervisor.
#[cfg(target_os = "linux")]
const TERMINAL_NAMES: [&str; 5] = ["tty", "console", "vcs", "hvc", "hvsi"];

/// Whether a character device is a terminal, or shows one. The device that creates terminals is not.
#[cfg(target_os = "linux")]
pub(crate) fn is_terminal(path: &Path, device: u64) -> bool {
    match (rustix::fs::major(device), rustix::fs::minor(device)) {
        (5, 2) => false,
        // Consoles and serial lines, `/dev/tty` and the console, the content of the screen, and the ends of windows and
        // connections.
        (4 | 5 | 7 | 136..=143, _) => true,
        _ => path.file_name().is_some_and(|name| {
            TERMINAL_NAMES.iter().any(|terminal| name.as_bytes().starts_with(terminal.as_bytes()))
        }),
    }
}

/// The readable paths: everything except terminals, in which the user types. A rule cannot exclude paths, so each folder with
/// terminals somewhere below it is granted by its current entries.
#[cfg(target_os = "linux")]
fn readable(mounts: &str) -> Vec<PathBuf> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let devices = device_folders(mounts);
    let (mut found, mut left) = (Vec::new(), vec![PathBuf::from("/")]);
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // Without following links: their targets are granted, or not, at their own places.
            let Ok(about) = entry.metadata() else { continue };
            let kind = about.file_type();
            let has_devices = || devices.iter().any(|device| device.starts_with(&path));
            if kind.is_dir() && has_devices() {
                left.push(path);
            } else if !(kind.is_symlink() || kind.is_char_device() && is_terminal(&path, about.rdev())) {
                found.push(path);
            }
        }
    }
    found
}

/// The mount points of devices, from the kernel's list of mounts: also in the folder of another system, for use with `chroot`.
#[cfg(target_os = "linux")]
fn device_folders(mounts: &str) -> Vec<PathBuf> {
    let of_devices = mounts.lines().filter_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let is_of_devices = DEVICE_FILE_SYSTEMS.contains(&file_system.split(' ').next()?);
        is_of_devices.then(|| mount.split(' ').nth(4).map(unescaped)).flatten()
    });
    DEVICE_FOLDERS.iter().map(PathBuf::from).chain(of_devices).collect()
}

/// A path in the list of mounts, in which three digits stand for a byte that would end it.
#[cfg(target_os = "linux")]
fn unescaped(written: &str) -> PathBuf {
    let (mut path, mut left) = (Vec::new(), written.as_bytes());
    while let Some((first, rest)) = left.split_first() {
        let digits = rest.get(..3).filter(|_| *first == b'\\').and_then(|digits| str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        path.push(byte.unwrap_or(*first));
        left = if byte.is_some() { &rest[3..] } else { rest };
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&path))
}

/// Takes it from this thread.
#[cfg(target_os = "linux")]
pub(crate) fn land(spec: &BoundarySpec) -> anyhow::Result<()> {
    use landlock::{
        ABI, AccessFs, AccessNet, NetPort, PathBeneath, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
        RulesetError, Scope, path_beneath_rules,
    };
    let strict = spec.level == SandboxLevel::Strict;
    // Rights that the kernel does not support are ignored; `Machine::can` has checked the required ones.
    let mut ruleset = Ruleset::default().scope(Scope::Signal)?;
    if !strict {
        ruleset = ruleset
            .scope(Scope::AbstractUnixSocket)
            .and_then(|ruleset| ruleset.handle_access(AccessNet::ConnectTcp))?;
    }
    let writes = AccessFs::from_write(ABI::V5);
    // A strict boundary has no terminal but its own.
    let files = if strict { writes } else { writes | AccessFs::ReadFile };
    if !spec.mounts {
        ruleset = ruleset.handle_access(files)?;
    }
    let mut created = ruleset.create()?;
    if strict && !spec.mounts {
        let paths = writable_inside(spec);
        let there = paths.iter().filter(|path| path.exists());
        created = created.add_rules(path_beneath_rules(there, files))?;
    }
    if !strict {
        let rights = |place: OwnedFd| -> anyhow::Result<_> {
            let kind = FileType::from_raw_mode(fstat(&place)?.st_mode);
            let is_folder = kind == FileType::Directory;
            let own = if is_folder { files } else { files & AccessFs::from_file(ABI::V5) };
            Ok(PathBeneath::new(place, own))
        };
        let places = open_places(spec).context("opening what can be written")?;
        let places = places.into_iter().map(rights).collect::<anyhow::Result<Vec<_>>>()?;
        created = created.add_rules(places.into_iter().map(Ok::<_, RulesetError>))?;
        created = created.add_rules(path_beneath_rules(DEVICES, files))?;
        // Names of mounts may be of any bytes.
        let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
        let readable = readable(&String::from_utf8_lossy(&mounts));
        created = created.add_rules(path_beneath_rules(readable, AccessFs::ReadFile))?;
        let ports = spec.ports.iter().map(|port| NetPort::new(*port, AccessNet::ConnectTcp));
        created = created.add_rules(ports.map(Ok::<_, RulesetError>))?;
    }
    let status = created.restrict_self()?;
    match (strict, status.ruleset) {
        // The first protection is in place: the namespaces.
        (true, _)
        | (false, landlock::RulesetStatus::FullyEnforced | landlock::RulesetStatus::PartiallyEnforced) => {
            Ok(())
        }
        (false, landlock::RulesetStatus::NotEnforced) => bail!("the kernel enforces nothing of it"),
    }
}

/// Only Linux has Landlock.
#[cfg(not(target_os = "linux"))]
pub(crate) fn land(spec: &BoundarySpec) -> anyhow::Result<()> {
    match spec.level {
        SandboxLevel::Strict | SandboxLevel::Off => Ok(()),
        SandboxLevel::Write => bail!("only Linux has Landlock"),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::link_walk::LinkWalk;
    use crate::sandbox_support::SandboxSupport;
    use crate::spec::ListedPath;

    #[test]
    fn everything_is_readable_but_terminals() {
        // N6
        let readable = readable("");
        for path in ["/usr/bin/env", "/proc/self/fd/0", "/dev/null", "/dev/urandom"] {
            let is_given = readable.iter().any(|given| Path::new(path).starts_with(given));
            assert!(is_given, "{path}: {readable:?}");
        }
        for path in ["/", "/dev", "/dev/pts", "/dev/pts/0", "/dev/tty", "/dev/tty1", "/dev/console"] {
            let is_given = readable.iter().any(|given| Path::new(path).starts_with(given));
            assert!(!is_given, "{path}: {readable:?}");
        }
    }

    #[test]
    fn a_terminal_is_told_by_its_number_or_by_its_name() {
        let is = |name: &str, major, minor| {
            is_terminal(&Path::new("/dev").join(name), rustix::fs::makedev(major, minor))
        };
        assert!(is("pts/3", 136, 3) && is("tty", 5, 0) && is("vcs1", 7, 1) && is("of-another-name", 4, 1));
        assert!(is("ttyUSB0", 188, 0) && is("hvc0", 229, 0));
        assert!(!is("ptmx", 5, 2) && !is("null", 1, 3) && !is("kvm", 10, 232));
    }

    #[test]
    fn terminals_are_found_wherever_they_are_mounted() {
        let mounts = "24 1 0:6 / /dev rw - devtmpfs udev rw\n\
                      25 24 0:24 / /dev/shm rw shared:5 - tmpfs tmpfs rw\n\
                      26 1 0:25 / /srv/my\\040root/dev/pts rw shared:6 master:1 - devpts devpts rw,mode=600\n\
                      of no form\n";
        let expected = ["/dev", "/dev/pts", "/dev", "/srv/my root/dev/pts"].map(PathBuf::from);
        assert_eq!(device_folders(mounts), expected);
        assert_eq!(unescaped("/a\\134b\\9\\01"), Path::new("/a\\b\\9\\01"));
    }

    #[test]
    fn no_link_that_was_made_since_the_host_looked_opens_another_folder() {
        // N6: an agent that could write in the folder above replaced the entry of a list between the check and the start.
        if SandboxSupport::look(None).can(SandboxLevel::Write).is_err() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for folder in ["tree", "own", "lists/plain", "lists/deep/below", "victim/below"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        symlink("plain", root.join("lists/user")).unwrap();
        let spec = |listed: &[&str]| BoundarySpec {
            write: listed.iter().map(|path| listed_path(&root, path)).collect(),
            ..BoundarySpec::at_write(&root.join("tree"), &root.join("own"))
        };
        // A thread that confines itself, and the paths that it can write then.
        let confined = |spec: BoundarySpec| {
            let root = root.clone();
            let confined = std::thread::spawn(move || {
                land(&spec).map_err(|error| format!("{error:#}"))?;
                let folders =
                    ["tree", "own", "lists/plain", "lists/deep/below", "victim", "victim/below", ""];
                let written = folders.iter().filter(|at| fs::write(root.join(at).join("x"), "").is_ok());
                Ok::<_, String>(written.copied().collect::<Vec<_>>())
            });
            confined.join().unwrap()
        };
        let honest = spec(&["lists/user", "lists/deep/below", "lists/missing"]);
        assert_eq!(confined(honest.clone()).unwrap(), ["tree", "own", "lists/plain", "lists/deep/below"]);
        let exchange = |what: &str, to: &str| {
            fs::rename(root.join(what), root.join("lists/away")).unwrap();
            symlink(root.join(to), root.join(what)).unwrap();
        };
        let back = |what: &str| {
            fs::remove_file(root.join(what)).unwrap();
            fs::rename(root.join("lists/away"), root.join(what)).unwrap();
        };
        for what in ["lists/plain", "lists/deep", "tree", "own"] {
            exchange(what, "victim");
            let error = confined(honest.clone()).unwrap_err();
            assert!(error.contains(&root.join(what).display().to_string()), "{what}: {error}");
            back(what);
        }
        // A path that was missing, and is a link by now, is not writable either.
        symlink("../victim", root.join("lists/missing")).unwrap();
        let error = confined(honest.clone()).unwrap_err();
        assert!(error.contains("was exchanged for a link"), "{error}");
        // Another folder in the place of the tree.
        fs::remove_file(root.join("lists/missing")).unwrap();
        fs::rename(root.join("tree"), root.join("lists/away")).unwrap();
        fs::create_dir(root.join("tree")).unwrap();
        let error = confined(honest).unwrap_err();
        assert!(error.contains("is another folder than it was"), "{error}");
    }

    fn listed_path(root: &Path, path: &str) -> ListedPath {
        let at = root.join(path);
        ListedPath { real: LinkWalk::of(&at).real, at }
    }

    #[test]
    fn a_device_is_written_and_not_changed() {
        // N6: an agent of root made `/dev/null` unreadable for everybody.
        let names = WritableNames::of(&BoundarySpec::at_write(Path::new("/"), Path::new("/nowhere")));
        let names = WritableNames { places: vec![PathBuf::from("/work")], ..names };
        for device in DEVICES {
            assert!(names.have(Path::new(device)) && !names.own(Path::new(device)), "{device}");
        }
        for (name, is_own) in [("/work", true), ("/work/a", true), ("/dev/shm/a", true), ("/worked", false)] {
            let name = Path::new(name);
            assert_eq!((names.have(name), names.own(name)), (is_own, is_own), "{}", name.display());
        }
    }
}
