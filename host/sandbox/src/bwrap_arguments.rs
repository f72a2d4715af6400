//! What is mounted where in a strict boundary, as arguments of bubblewrap. Paths in the tree, which whoever works there can
//! exchange at any time, are mounted by a descriptor of what was looked at, and held to it once more from inside.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};

use crate::spec::{BoundarySpec, INSIDE};

/// Of the system: programs and what they need.
const SYSTEM: [&str; 4] = ["/usr", "/opt", "/nix/store", "/gnu/store"];
/// Links into it on most systems, folders on some.
const LINKED: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Settings of the system that are no secret. The rest of /etc is not there.
const SETTINGS: [&str; 37] = [
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "login.defs",
    "lsb-release",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki",
    "profile",
    "profile.d",
    "protocols",
    "python3",
    "resolv.conf",
    "services",
    "shells",
    "skel",
    "ssl",
    "timezone",
];

/// What is for the whole system, although every process namespace shows it.
const OF_THE_SYSTEM: [&str; 6] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"];

/// Of these, what is secret: readable for root, who is root inside as well.
const SECRET: [&str; 3] = ["/etc/ssl/private", "/etc/pki/tls/private", "/etc/pki/CA/private"];

/// Something that must be as it was mounted when the program begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExpectedMount {
    /// Relative to the tree.
    path: PathBuf,
    /// Device and inode.
    id: (u64, u64),
    read_only: bool,
}

/// Arguments of bubblewrap, with the descriptors that they name.
#[derive(Default)]
pub(crate) struct BwrapArguments {
    pub(crate) arguments: Vec<OsString>,
    descriptors: Vec<OwnedFd>,
    pub(crate) held: Vec<ExpectedMount>,
    /// Folders on the way to what is protected: mounted on themselves, so that nobody renames them.
    anchored: Vec<PathBuf>,
}

impl BwrapArguments {
    /// Everything.
    pub(crate) fn out(spec: &BoundarySpec) -> anyhow::Result<Self> {
        let tree = open_tree(spec)?;
        if spec.home.as_ref().is_some_and(|home| home.starts_with(&spec.tree)) {
            bail!(
                "{} has your home in it, so a strict sandbox could hide nothing of that: work in a folder below",
                spec.tree.display()
            );
        }
        let mut laid = Self::default();
        laid.add([
            "--unshare-user",
            "--unshare-all",
            "--new-session",
            "--die-with-parent",
            "--cap-drop",
            "ALL",
        ]);
        if spec.mounts && rustix::process::getuid().is_root() {
            // The kernel asks for it where root is mapped into a namespace once more; it reaches no further than the own one.
            laid.add(["--cap-add", "CAP_SETFCAP"]);
        }
        laid.add(["--hostname", "sandbox"]);
        laid.system();
        laid.add([
            "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--tmpfs", "/run",
        ]);
        // The kernel lets root write these whatever capabilities it has given up.
        OF_THE_SYSTEM.iter().for_each(|path| laid.bind("--ro-bind-try", Path::new(path)));
        if let Some(home) = &spec.home {
            laid.at("--tmpfs", home);
        }
        spec.settings.iter().try_for_each(|kept| laid.settings(kept))?;
        spec.read.iter().for_each(|path| laid.bind("--ro-bind-try", path));
        spec.write.iter().for_each(|path| laid.bind("--bind-try", path));
        spec.masked.iter().for_each(|path| laid.at("--tmpfs", path));
        for path in std::iter::once(&spec.own_exe).chain(&spec.programs) {
            laid.bind("--ro-bind-try", path);
        }
        laid.add(["--bind".as_ref(), spec.folder.as_os_str(), INSIDE.as_ref()]);
        laid.descriptor("--bind-fd", tree.as_fd(), &spec.tree)?;
        for beside in &spec.beside {
            laid.beside(beside)?;
        }
        // First, so that what stays as it is lies over them.
        for path in &spec.anchors {
            laid.protect(tree.as_fd(), spec, path, Some(false))?;
        }
        for path in &spec.protect {
            laid.protect(tree.as_fd(), spec, path, Some(true))?;
        }
        spec.hide.iter().try_for_each(|path| laid.hide(tree.as_fd(), spec, path))?;
        spec.masked.iter().for_each(|path| laid.at("--remount-ro", path));
        laid.add(["--remount-ro", "/"]);
        laid.at("--chdir", &spec.tree);
        Ok(laid)
    }

    fn add<S: AsRef<std::ffi::OsStr>>(&mut self, arguments: impl IntoIterator<Item = S>) {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
    }

    fn at(&mut self, option: &str, path: &Path) {
        self.add([option.as_ref(), path.as_os_str()]);
    }

    fn bind(&mut self, option: &str, path: &Path) {
        self.add([option.as_ref(), path.as_os_str(), path.as_os_str()]);
    }

    /// By a descriptor, which stays open until bubblewrap is there.
    fn descriptor(&mut self, option: &str, what: BorrowedFd<'_>, at: &Path) -> io::Result<()> {
        let own = what.try_clone_to_owned()?;
        fcntl_setfd(&own, FdFlags::empty())?;
        self.add([option.as_ref(), own.as_raw_fd().to_string().as_ref(), at.as_os_str()]);
        self.descriptors.push(own);
        Ok(())
    }

    fn system(&mut self) {
        SYSTEM.iter().for_each(|at| self.bind("--ro-bind-try", Path::new(at)));
        for at in LINKED {
            match fs::read_link(at) {
                Ok(to) => self.add(["--symlink".as_ref(), to.as_os_str(), at.as_ref()]),
                Err(_) => self.bind("--ro-bind-try", Path::new(at)),
            }
        }
        for name in SETTINGS {
            self.bind("--ro-bind-try", &Path::new("/etc").join(name));
        }
        for at in SECRET.map(Path::new).into_iter().filter(|at| at.is_dir()) {
            self.at("--tmpfs", at);
            self.at("--remount-ro", at);
        }
    }

    fn settings(&mut self, kept: &crate::spec::SettingsMount) -> anyhow::Result<()> {
        self.at("--tmpfs", &kept.folder);
        for name in &kept.files {
            self.bind("--ro-bind-try", &kept.folder.join(name));
        }
        if let Some((at, source)) = &kept.kept {
            let source = folder(source)?;
            self.descriptor("--bind-fd", source.as_fd(), at)?;
        }
        if let Some((at, text)) = &kept.made {
            let file = open(text, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
                .with_context(|| format!("opening {}", text.display()))?;
            self.add(["--perms", "0600"]);
            self.descriptor("--file", file.as_fd(), at)?;
        }
        Ok(())
    }

    fn beside(&mut self, beside: &crate::spec::ExternalMount) -> anyhow::Result<()> {
        let root = folder(&beside.root)?;
        let Some(found) = beneath(root.as_fd(), &beside.path)? else { return Ok(()) };
        if beside.fresh {
            self.at("--tmpfs", &beside.root.join(&beside.path));
            return Ok(());
        }
        let option = if beside.writable { "--bind-fd" } else { "--ro-bind-fd" };
        Ok(self.descriptor(option, found.as_fd(), &beside.root.join(&beside.path))?)
    }

    /// Keeps a path of the tree as it is, and everything above it in its place. What is not there cannot be kept.
    /// `read_only` of None leaves it writable.
    fn protect(
        &mut self,
        tree: BorrowedFd<'_>,
        spec: &BoundarySpec,
        path: &Path,
        read_only: Option<bool>,
    ) -> anyhow::Result<()> {
        let Some(found) = beneath(tree, path)? else { return Ok(()) };
        let mut above = PathBuf::new();
        let parts: Vec<Component<'_>> = path.components().collect();
        for part in &parts[..parts.len().saturating_sub(1)] {
            above.push(part);
            if !self.anchored.contains(&above) {
                let Some(folder) = beneath(tree, &above)? else { return Ok(()) };
                self.mount(&folder, spec, &above, false)?;
                self.anchored.push(above.clone());
            }
        }
        if let Some(read_only) = read_only
            && (read_only || !self.anchored.iter().any(|anchored| anchored == path))
        {
            self.mount(&found, spec, path, read_only)?;
            self.anchored.push(path.to_owned());
        }
        Ok(())
    }

    fn mount(
        &mut self,
        what: &OwnedFd,
        spec: &BoundarySpec,
        path: &Path,
        read_only: bool,
    ) -> anyhow::Result<()> {
        let option = if read_only { "--ro-bind-fd" } else { "--bind-fd" };
        self.descriptor(option, what.as_fd(), &spec.tree.join(path))?;
        self.held.push(ExpectedMount { path: path.to_owned(), id: id(what.as_fd())?, read_only });
        Ok(())
    }

    fn hide(&mut self, tree: BorrowedFd<'_>, spec: &BoundarySpec, path: &Path) -> anyhow::Result<()> {
        // What a link leads to is what nobody is to read.
        let Ok(path) = path.canonicalize() else { return Ok(()) };
        let path = path.as_path();
        let is_folder = match path.strip_prefix(&spec.tree) {
            Ok(within) => {
                let found = beneath(tree, within)?
                    .with_context(|| format!("{} was exchanged while it was hidden", path.display()))?;
                self.protect(tree, spec, within, None)?;
                FileType::from_raw_mode(fstat(&found)?.st_mode) == FileType::Directory
            }
            Err(_) => path.is_dir(),
        };
        match is_folder {
            true => {
                self.at("--tmpfs", path);
                self.at("--remount-ro", path);
            }
            false => self.add(["--ro-bind".as_ref(), "/dev/null".as_ref(), path.as_os_str()]),
        }
        Ok(())
    }
}

/// The tree, which must be the one that the host looked at.
fn open_tree(spec: &BoundarySpec) -> anyhow::Result<OwnedFd> {
    let tree = folder(&spec.tree)?;
    if id(tree.as_fd())? != spec.tree_id {
        bail!("{} is another folder than it was: something has taken its place", spec.tree.display());
    }
    Ok(tree)
}

/// A folder, to which no link leads.
pub(crate) fn folder(path: &Path) -> anyhow::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        .with_context(|| format!("opening {}", path.display()))
}

fn id(file: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let found = fstat(file)?;
    Ok((found.st_dev, found.st_ino))
}

/// A path of the tree, without links on the way or at its end. None where there is no such thing.
pub(crate) fn beneath(tree: BorrowedFd<'_>, path: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    loop {
        match openat2(tree, path, flags, Mode::empty(), resolve) {
            Ok(found) => {
                let kind = FileType::from_raw_mode(fstat(&found)?.st_mode);
                // A link at the end is opened as itself, and cannot be mounted.
                return Ok((kind != FileType::Symlink).then_some(found));
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            // Something was renamed meanwhile.
            Err(Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// From inside, before the program begins: what was mounted is in its place, and what is read-only is.
pub(crate) fn hold(tree: &Path, held: &[ExpectedMount]) -> anyhow::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(tree, flags, Mode::empty()).with_context(|| format!("opening {}", tree.display()))?;
    for ExpectedMount { path, id: was, read_only } in held {
        let moved = || format!("{} was exchanged while the sandbox was made: start again", path.display());
        let found = beneath(root.as_fd(), path)?.with_context(moved)?;
        let is_held = rustix::fs::fstatvfs(&found)?.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY);
        if id(found.as_fd())? != *was || (*read_only && !is_held) {
            bail!(moved());
        }
    }
    Ok(())
}
