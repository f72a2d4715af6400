//! Whether a call requests something that is not permitted: a path that exists outside and not inside, one that cannot be
//! written, an address, a change of the system. Everything is resolved as the caller sees it, below `/proc/<id>/root`.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path, PathBuf};

use baton_core::facts::RefusalKind;
use baton_core::workflow::SandboxLevel;
use rustix::fs::{
    CWD, FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags, fstat, fstatvfs, open, openat2,
};

use super::path_walk::{PathTarget, PathWalk};
use super::syscall_table::{FinalLink, SyscallEffect, table};
use crate::landlock_rules::{self, WritableNames};
use crate::spec::BoundarySpec;
use crate::sys::SyscallNotification;

/// The longest path that a call can name.
const PATH_BYTES: usize = 4096;
/// Links that are followed one after the other.
const LINKS_MAX: u32 = 8;
/// The longest address of a socket.
const ADDRESS_BYTES: usize = 128;

/// A request that is not permitted.
type DeniedAccess = (RefusalKind, String);

pub(super) struct SyscallChecker {
    spec: BoundarySpec,
    table: Vec<(i64, SyscallEffect)>,
    /// At `write`; in a strict boundary the mounts determine the writable paths.
    writable: WritableNames,
}

impl SyscallChecker {
    pub(super) fn new(spec: BoundarySpec) -> Self {
        Self { table: table(), writable: WritableNames::of(&spec), spec }
    }

    /// None if it is permitted, if that is unknown, or if the caller has ended. For calls that nothing else prevents, only a
    /// certain permission gives none.
    pub(super) fn refused(&mut self, call: &SyscallNotification) -> Option<DeniedAccess> {
        let (_, asks) = self.table.iter().find(|(number, _)| *number == call.number)?;
        let caller = CallerThread { thread: call.thread };
        let argument = |at: usize| call.arguments[at];
        let folder = |at: Option<usize>| at.map_or(libc::AT_FDCWD, |at| argument(at) as i32);
        match *asks {
            SyscallEffect::Opens(at, path, flags) => {
                self.opens(caller, &caller.path(folder(at), argument(path))?, argument(flags))
            }
            SyscallEffect::OpensHow(at, path, how) => {
                let flags = caller.read(argument(how), 8)?;
                let flags = u64::from_ne_bytes(flags.try_into().ok()?);
                self.opens(caller, &caller.path(folder(Some(at)), argument(path))?, flags)
            }
            SyscallEffect::Changes(at, path) => {
                self.changes(caller, &caller.path(folder(at), argument(path))?)
            }
            SyscallEffect::Attributes(at, path, link) if self.spec.level == SandboxLevel::Write => {
                let follows = match link {
                    FinalLink::Followed => true,
                    FinalLink::Itself => false,
                    FinalLink::ByFlags(at) => argument(at) as i32 & libc::AT_SYMLINK_NOFOLLOW == 0,
                };
                self.changes_attributes(caller, folder(at), argument(path), follows)
            }
            SyscallEffect::AttributesOf(at) if self.spec.level == SandboxLevel::Write => {
                let descriptor = argument(at) as i32;
                let named = || format!("what its descriptor {descriptor} names");
                self.changes_found(PathWalk::of(caller.thread).open_file(descriptor), named)
            }
            // Without a path they are about an open file.
            SyscallEffect::Attributes(Some(at), path, _) if caller.names_nothing(argument(path)) => {
                self.changes_open(caller, argument(at) as i32)
            }
            SyscallEffect::Attributes(at, path, _) => {
                self.changes(caller, &caller.path(folder(at), argument(path))?)
            }
            SyscallEffect::AttributesOf(at) => self.changes_open(caller, argument(at) as i32),
            SyscallEffect::Makes(at, path) => {
                let path = caller.path(folder(at), argument(path))?;
                // An existing path is not created, and nothing is refused.
                if caller.look_itself(&path).is_some() { None } else { self.changes(caller, &path) }
            }
            SyscallEffect::Removes(at, path) => {
                let path = caller.path(folder(at), argument(path))?;
                self.keeps(&path).or_else(|| self.changes_itself(caller, &path))
            }
            SyscallEffect::Moves(from, what, to, name) => {
                let what = caller.path(folder(from), argument(what))?;
                let name = caller.path(folder(to), argument(name))?;
                let kept = self.keeps(&what).or_else(|| self.keeps(&name));
                kept.or_else(|| self.changes_itself(caller, &what))
                    .or_else(|| self.changes_itself(caller, &name))
            }
            SyscallEffect::Connects(address, length) => {
                let length = usize::try_from(argument(length)).ok()?.min(ADDRESS_BYTES);
                let address = Some(argument(address)).filter(|address| *address != 0)?;
                self.connects(caller, &caller.read(address, length)?)
            }
            SyscallEffect::Sends(record) => {
                let head = caller.read(argument(record), 12)?;
                let address = u64::from_ne_bytes(head[..8].try_into().ok()?);
                let length = u32::from_ne_bytes(head[8..].try_into().ok()?);
                let length = usize::try_from(length).ok()?.min(ADDRESS_BYTES);
                (address != 0)
                    .then(|| caller.read(address, length))
                    .flatten()
                    .and_then(|address| self.connects(caller, &address))
            }
            SyscallEffect::Signals(process) => self.signals(caller, argument(process) as i32),
            // If it may mount, it may only in its own namespaces.
            SyscallEffect::System("mount" | "umount" | "pivot_root" | "setns") if self.spec.mounts => None,
            SyscallEffect::System(name) => Some((RefusalKind::System, name.to_owned())),
        }
    }

    /// Whether nothing else prevents this refused call.
    pub(super) fn is_unenforced(&self, call: &SyscallNotification) -> bool {
        let of_attributes = |asks: &SyscallEffect| {
            matches!(asks, SyscallEffect::Attributes(..) | SyscallEffect::AttributesOf(_))
        };
        self.spec.level == SandboxLevel::Write
            && self.table.iter().any(|(number, asks)| *number == call.number && of_attributes(asks))
    }

    /// By the target of a path for the caller, or, without a path, by its open file.
    fn changes_attributes(
        &self,
        caller: CallerThread,
        folder: i32,
        path: u64,
        follows: bool,
    ) -> Option<DeniedAccess> {
        let text = if path == 0 { Some(OsString::new()) } else { caller.text(path) };
        let walk = PathWalk::of(caller.thread);
        let target = match &text {
            None => PathTarget::Unknown,
            Some(text) if text.is_empty() => walk.open_file(folder),
            Some(text) => walk.follow(folder, text, follows),
        };
        let named = || match text.filter(|text| !text.is_empty()) {
            Some(text) => text.to_string_lossy().into_owned(),
            None => "something that cannot be told".to_owned(),
        };
        self.changes_found(target, named)
    }

    /// If nothing else prevents the call, an unknown target is refused.
    fn changes_found(&self, target: PathTarget, named: impl FnOnce() -> String) -> Option<DeniedAccess> {
        let name = match target {
            PathTarget::Nothing => return None,
            PathTarget::Found(found) if self.is_own(&found) => return None,
            PathTarget::Found(found) => name_of(&found).map(|name| name.display().to_string()),
            PathTarget::Unknown => None,
        };
        Some((RefusalKind::Write, name.unwrap_or_else(named)))
    }

    /// Whether a file is in a place that may be changed, or has no name at all, like a pipe. A device may be
    /// written, but its attributes must stay as they are for other programs.
    fn is_own(&self, found: &OwnedFd) -> bool {
        // It may be renamed while it is looked at.
        (0..2).any(|_| {
            name_of(found).is_some_and(|name| {
                let is_in = || self.writable.own(&name) && is_at(found, &name) && !is_device(found);
                !name.is_absolute() || is_in()
            })
        })
    }

    /// The file of a caller's descriptor.
    fn changes_open(&self, caller: CallerThread, descriptor: i32) -> Option<DeniedAccess> {
        let path = fs::read_link(format!("/proc/{}/fd/{descriptor}", caller.thread)).ok()?;
        // A pipe, or a socket.
        path.is_absolute().then(|| self.changes(caller, &path)).flatten()
    }

    fn opens(&self, caller: CallerThread, path: &Path, flags: u64) -> Option<DeniedAccess> {
        let flags = flags as i32;
        let writes =
            flags & libc::O_ACCMODE != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0;
        let only_names = flags & libc::O_PATH != 0;
        match self.spec.level {
            _ if writes && !only_names => self.changes(caller, path),
            SandboxLevel::Write if only_names => None,
            SandboxLevel::Write => self.reads_terminal(caller, path),
            SandboxLevel::Strict | SandboxLevel::Off => self.reads(caller, path),
        }
    }

    /// Terminals are the only thing that `write` keeps from being read. A link elsewhere that leads to one is refused without a word.
    fn reads_terminal(&self, caller: CallerThread, path: &Path) -> Option<DeniedAccess> {
        if !["/dev", "/proc"].iter().any(|folder| path.starts_with(folder)) {
            return None;
        }
        let found = caller.look(path)?;
        let about = fstat(&found).ok()?;
        let name = name_of(&found)?;
        let is_terminal = FileType::from_raw_mode(about.st_mode) == FileType::CharacterDevice
            && landlock_rules::is_terminal(&name, about.st_rdev);
        (is_terminal && !self.writable.have(&name)).then(|| (RefusalKind::Read, path.display().to_string()))
    }

    fn reads(&self, caller: CallerThread, path: &Path) -> Option<DeniedAccess> {
        if self.spec.level != SandboxLevel::Strict || path.starts_with("/sys") {
            return None;
        }
        let is_there = caller.look(path).is_some();
        let is_hidden = || self.spec.hide.iter().any(|hidden| path.starts_with(hidden));
        if is_there && !is_hidden() {
            return None;
        }
        // A program that looks for a path that does not exist is refused nothing.
        let is_outside = || open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).is_ok();
        (is_hidden() || is_outside()).then(|| (RefusalKind::Read, path.display().to_string()))
    }

    /// By the target of a path.
    fn changes(&self, caller: CallerThread, path: &Path) -> Option<DeniedAccess> {
        match caller.look(path) {
            // A link that leads out.
            None if caller.leads_out(path) => Some((RefusalKind::Write, path.display().to_string())),
            found => self.writes(caller, path, found),
        }
    }

    /// By the entry of this name, even if it is a link.
    fn changes_itself(&self, caller: CallerThread, path: &Path) -> Option<DeniedAccess> {
        self.writes(caller, path, caller.look_itself(path))
    }

    fn writes(&self, caller: CallerThread, path: &Path, found: Option<OwnedFd>) -> Option<DeniedAccess> {
        let refused = || Some((RefusalKind::Write, path.display().to_string()));
        // The caller's own, which is looked up as the caller.
        if ["/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"].iter().any(|own| path.starts_with(own)) {
            return None;
        }
        if ["/proc/sys", "/proc/sysrq-trigger"].iter().any(|system| path.starts_with(system)) {
            return refused();
        }
        let found = match found {
            Some(found) => found,
            None => match caller.look(path.parent()?) {
                Some(parent) => parent,
                // Somewhere that is nowhere.
                None => {
                    return open(path.parent()?, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
                        .ok()
                        .and_then(|_| refused());
                }
            },
        };
        if self.spec.level == SandboxLevel::Strict {
            let is_read_only =
                fstatvfs(&found).is_ok_and(|about| about.f_flag.contains(StatVfsMountFlags::RDONLY));
            let is_device = path.starts_with("/dev/");
            return if is_read_only && !is_device { refused() } else { None };
        }
        let name = name_of(&found)?;
        let is_pipe = !name.is_absolute();
        let own = Path::new("/proc").join(caller.thread.to_string());
        let may = is_pipe || name.starts_with(own) || self.writable.have(&name);
        if may { None } else { refused() }
    }

    /// Folders above a protected path keep their place.
    fn keeps(&self, path: &Path) -> Option<DeniedAccess> {
        if self.spec.level != SandboxLevel::Strict {
            return None;
        }
        let within =
            path.strip_prefix(&self.spec.tree).ok().filter(|within| !within.as_os_str().is_empty())?;
        let is_kept = |kept: &&PathBuf| kept.starts_with(within) && self.spec.tree.join(kept).exists();
        self.spec.protect.iter().find(is_kept).map(|_| (RefusalKind::Write, path.display().to_string()))
    }

    fn connects(&self, caller: CallerThread, address: &[u8]) -> Option<DeniedAccess> {
        let family = i32::from(u16::from_ne_bytes(address.get(..2)?.try_into().ok()?));
        let port = || Some(u16::from_be_bytes(address.get(2..4)?.try_into().ok()?));
        let refused = |target: String| Some((RefusalKind::Network, target));
        let ip: IpAddr = match family {
            libc::AF_INET => Ipv4Addr::from(<[u8; 4]>::try_from(address.get(4..8)?).ok()?).into(),
            libc::AF_INET6 => Ipv6Addr::from(<[u8; 16]>::try_from(address.get(8..24)?).ok()?).to_canonical(),
            libc::AF_UNIX => return self.connects_here(caller, address.get(2..)?),
            // The kernel's own, about a network that belongs to this boundary alone.
            libc::AF_UNSPEC | libc::AF_NETLINK => return None,
            other => return refused(format!("a socket of the family {other}")),
        };
        let target = SocketAddr::new(ip, port()?);
        if self.spec.level != SandboxLevel::Strict {
            // Other protocols than TCP are not held, and these two are known by their ports.
            let is_held = !matches!(target.port(), 0 | 53) && !self.spec.ports.contains(&target.port());
            return if is_held { refused(target.to_string()) } else { None };
        }
        match ip.is_loopback() || ip.is_unspecified() {
            // Its own loopback is another than the machine's.
            true if caller.listens(target.port()) => None,
            true => refused(format!("{target} (nothing listens there inside)")),
            false => refused(target.to_string()),
        }
    }

    fn connects_here(&self, caller: CallerThread, path: &[u8]) -> Option<DeniedAccess> {
        if let Some(name) = path.strip_prefix(b"\0") {
            let name = name.split(|byte| *byte == 0).next().filter(|name| !name.is_empty())?;
            let name = format!("@{}", String::from_utf8_lossy(name));
            let listed = fs::read_to_string(format!("/proc/{}/net/unix", caller.thread)).unwrap_or_default();
            let is_there = listed.lines().any(|line| line.ends_with(&name));
            return (self.spec.level != SandboxLevel::Strict || !is_there)
                .then(|| (RefusalKind::Network, format!("the socket {name}")));
        }
        let path = path.split(|byte| *byte == 0).next().filter(|path| !path.is_empty())?;
        let path = caller.whole(libc::AT_FDCWD, Path::new(OsStr::from_bytes(path)))?;
        let (_, path) = self.reads(caller, &path)?;
        Some((RefusalKind::Network, format!("the socket {path}")))
    }

    /// A process that is outside and not inside.
    fn signals(&self, caller: CallerThread, process: i32) -> Option<DeniedAccess> {
        let number = process.unsigned_abs();
        // A group is a program's own: its number may be reused once it is gone.
        if self.spec.level != SandboxLevel::Strict || process <= 0 {
            return None;
        }
        let is_inside = caller.look(&Path::new("/proc").join(number.to_string())).is_some();
        let is_outside = || Path::new("/proc").join(number.to_string()).exists();
        (!is_inside && is_outside()).then(|| (RefusalKind::System, format!("something to process {number}")))
    }
}

/// The name of an open file, without links; none if it is not absolute.
fn name_of(found: &OwnedFd) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd())).ok()
}

/// Whether a file is at its name. An unmounted file has a name from its own root, where another file may be; a removed one has
/// its last name.
fn is_at(found: &OwnedFd, name: &Path) -> bool {
    let Ok(about) = fstat(found) else { return false };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let there = || {
        let there = openat2(CWD, name, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        let there = there.and_then(fstat);
        there.is_ok_and(|there| (there.st_dev, there.st_ino) == (about.st_dev, about.st_ino))
    };
    about.st_nlink == 0 || there()
}

/// Whether this is a device, or unknown.
fn is_device(found: &OwnedFd) -> bool {
    let kind = fstat(found).map(|about| FileType::from_raw_mode(about.st_mode));
    !kind.is_ok_and(|kind| !matches!(kind, FileType::CharacterDevice | FileType::BlockDevice))
}

/// Who makes a call.
#[derive(Clone, Copy)]
struct CallerThread {
    thread: u32,
}

impl CallerThread {
    fn read(self, at: u64, bytes: usize) -> Option<Vec<u8>> {
        let mut read = vec![0; bytes];
        let memory = File::open(format!("/proc/{}/mem", self.thread)).ok()?;
        memory.read_exact_at(&mut read, at).ok()?;
        Some(read)
    }

    /// Whether there is no path at this address, or an empty one.
    fn names_nothing(self, at: u64) -> bool {
        at == 0 || self.read(at, 1).is_some_and(|first| first == [0])
    }

    /// The whole path that a call names.
    fn path(self, folder: i32, at: u64) -> Option<PathBuf> {
        self.whole(folder, Path::new(&self.text(at)?))
    }

    /// The literal path at an address.
    fn text(self, at: u64) -> Option<OsString> {
        let memory = File::open(format!("/proc/{}/mem", self.thread)).ok()?;
        let mut text = vec![0; PATH_BYTES];
        let mut filled = 0;
        while filled < PATH_BYTES {
            // A page at a time: the next may not be there.
            let at = at.checked_add(filled as u64)?;
            let to_page_end = 4096 - (at % 4096) as usize;
            let end = (filled + to_page_end).min(PATH_BYTES);
            let read = memory.read_at(&mut text[filled..end], at).ok().filter(|read| *read > 0)?;
            let found = text[filled..filled + read].iter().position(|byte| *byte == 0);
            if let Some(length) = found {
                text.truncate(filled + length);
                return Some(OsString::from_vec(text));
            }
            filled += read;
        }
        None
    }

    fn whole(self, folder: i32, path: &Path) -> Option<PathBuf> {
        let from = match path.is_absolute() {
            true => PathBuf::from("/"),
            false if folder == libc::AT_FDCWD => fs::read_link(format!("/proc/{}/cwd", self.thread)).ok()?,
            false => fs::read_link(format!("/proc/{}/fd/{folder}", self.thread)).ok()?,
        };
        // A descriptor with an empty path is already its own.
        if path.as_os_str().is_empty() {
            return None;
        }
        let mut whole = PathBuf::new();
        for part in from.join(path).components() {
            match part {
                Component::ParentDir => drop(whole.pop()),
                Component::CurDir => {}
                part => whole.push(part),
            }
        }
        // The root of a process inside is its own.
        let root = Path::new("root");
        if let Ok(process) = whole.strip_prefix("/proc")
            && let Some(Component::Normal(number)) = process.components().next()
            && let Ok(within) = whole.strip_prefix(Path::new("/proc").join(number).join(root))
            && (number == "self" || self.look(&Path::new("/proc").join(number)).is_some())
        {
            return Some(Path::new("/").join(within));
        }
        Some(whole)
    }

    /// The target of a path inside, with links resolved there.
    fn look(self, path: &Path) -> Option<OwnedFd> {
        self.find(path, OFlags::empty())
    }

    /// The same, but for a link at its end, which is itself.
    fn look_itself(self, path: &Path) -> Option<OwnedFd> {
        self.find(path, OFlags::NOFOLLOW)
    }

    fn find(self, path: &Path, flags: OFlags) -> Option<OwnedFd> {
        let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
        let root = open(format!("/proc/{}/root", self.thread), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .ok()?;
        // Links to the caller's own entries.
        let own = ["mounts", "net"].iter().any(|name| path.starts_with(Path::new("/proc").join(name)));
        let of_self = own.then(|| Path::new("/proc/self").join(path.strip_prefix("/proc").unwrap_or(path)));
        let path = of_self.as_deref().unwrap_or(path);
        // "self" is the caller.
        let path = match path.strip_prefix("/proc/self").or_else(|_| path.strip_prefix("/proc/thread-self")) {
            Ok(rest) => {
                let own = Path::new("/proc").join(self.thread.to_string()).join(rest);
                return open(own, flags, Mode::empty()).ok();
            }
            Err(_) => path.strip_prefix("/").ok()?,
        };
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        openat2(root.as_fd(), path, flags, Mode::empty(), ResolveFlags::IN_ROOT).ok()
    }

    /// Whether a link leads to a folder that is there outside and not inside.
    fn leads_out(self, path: &Path) -> bool {
        let mut to = path.to_owned();
        // Links that lead to each other lead nowhere.
        for _ in 0..LINKS_MAX {
            let Ok(next) = fs::read_link(format!("/proc/{}/root{}", self.thread, to.display())) else {
                break;
            };
            to = to.parent().unwrap_or(Path::new("/")).join(next);
        }
        let Some(folder) = to.parent().filter(|_| to != path) else { return false };
        self.look(folder).is_none() && open(folder, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).is_ok()
    }

    /// Whether something inside listens on a port.
    fn listens(self, port: u16) -> bool {
        ["tcp", "tcp6", "udp", "udp6"].iter().any(|table| {
            let listed = fs::read_to_string(format!("/proc/{}/net/{table}", self.thread)).unwrap_or_default();
            listed.lines().skip(1).any(|line| {
                let mut fields = line.split_whitespace();
                let local = fields.nth(1).and_then(|local| local.rsplit(':').next());
                let state = fields.nth(1);
                let listens = table.starts_with("udp") || state == Some("0A");
                listens && local.and_then(|local| u16::from_str_radix(local, 16).ok()) == Some(port)
            })
        })
    }
}
