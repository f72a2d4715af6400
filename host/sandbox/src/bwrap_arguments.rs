//! What is mounted where in a strict boundary, as arguments of bubblewrap. Paths in the tree, which an agent there can
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

use crate::link_walk::LinkWalk;
use crate::programs::RUNNING;
use crate::spec::{BoundarySpec, INSIDE, ListedPath};

/// Of the system: programs and their files.
const SYSTEM: [&str; 4] = ["/usr", "/opt", "/nix/store", "/gnu/store"];
/// Links into it on most systems, folders on some.
const LINKED: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Public settings of the system. The rest of /etc is not visible.
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

/// Settings of the whole system that every process namespace shows.
const OF_THE_SYSTEM: [&str; 6] =
    ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"];

/// The secret ones of them: readable for root, who is root inside as well.
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
    /// Folders on the way to what is protected: mounted on themselves, so that they cannot be renamed.
    anchored: Vec<PathBuf>,
    /// Protected paths, with everything below them.
    read_only: Vec<PathBuf>,
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
            // The kernel requires it if root is mapped into a namespace again; it is effective only in its own namespace.
            laid.add(["--cap-add", "CAP_SETFCAP"]);
        }
        laid.add(["--hostname", "sandbox"]);
        laid.system();
        laid.add([
            "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--tmpfs", "/run",
        ]);
        // The kernel lets root write these without any capabilities.
        OF_THE_SYSTEM.iter().for_each(|path| laid.bind("--ro-bind-try", Path::new(path)));
        if let Some(home) = &spec.home {
            laid.at("--tmpfs", home);
        }
        spec.settings.iter().try_for_each(|kept| laid.settings(kept))?;
        laid.lists(spec)?;
        // Before the mounts over them, and over their folders.
        spec.hide.iter().try_for_each(|path| laid.anchor_above(spec, path))?;
        spec.masked.iter().for_each(|path| laid.at("--tmpfs", path));
        // Links of the system lead there as they do outside.
        let of_system = |path: &Path| SYSTEM.iter().chain(&LINKED).any(|folder| path.starts_with(folder));
        let programs = spec.programs.iter().filter(|program| !of_system(&program.at));
        programs.into_iter().try_for_each(|program| laid.listed("--ro-bind-fd", program))?;
        laid.this_program(spec)?;
        laid.add(["--bind".as_ref(), spec.folder.as_os_str(), INSIDE.as_ref()]);
        laid.descriptor("--bind-fd", tree.as_fd(), &spec.tree)?;
        for beside in &spec.beside {
            laid.beside(beside)?;
        }
        // First, so that the protected paths are mounted over them.
        for path in &spec.anchors {
            laid.protect(tree.as_fd(), spec, path, Some(false))?;
        }
        for path in &spec.protect {
            laid.protect(tree.as_fd(), spec, path, Some(true))?;
        }
        for path in &spec.open {
            if let Some(found) = beneath(tree.as_fd(), path)? {
                laid.mount(&found, spec, path, false)?;
            }
        }
        spec.hide.iter().try_for_each(|path| laid.hide(tree.as_fd(), spec, path))?;
        spec.masked.iter().chain(&spec.covered).for_each(|path| laid.at("--remount-ro", path));
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
        kept.files.iter().try_for_each(|file| self.listed("--ro-bind-fd", file))?;
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

    /// Makes this program available for the later stages, even if its file was replaced since. It keeps its path, since the
    /// user runs it again.
    fn this_program(&mut self, spec: &BoundarySpec) -> anyhow::Result<()> {
        self.anchor_above(spec, &spec.own_exe)?;
        let program =
            open(RUNNING, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).context("opening Baton itself")?;
        Ok(self.descriptor("--ro-bind-fd", program.as_fd(), &spec.own_exe)?)
    }

    /// The entries of the lists: first those that show the covered workspace, which is then mounted over, and then the rest.
    fn lists(&mut self, spec: &BoundarySpec) -> anyhow::Result<()> {
        let shows = |listed: &ListedPath| listed.shows(spec.covered.as_deref());
        for first in [true, false] {
            let mut read = spec.read.iter().filter(|listed| shows(listed) == first);
            read.try_for_each(|listed| self.listed("--ro-bind-fd", listed))?;
            let mut write = spec.write.iter().filter(|listed| shows(listed) == first);
            write.try_for_each(|listed| self.listed("--bind-fd", listed))?;
            if let Some(covered) = spec.covered.as_ref().filter(|_| first) {
                self.anchor_above(spec, covered)?;
                self.at("--tmpfs", covered);
            }
        }
        Ok(())
    }

    /// An entry of a list, at the target that the host found.
    fn listed(&mut self, option: &str, listed: &ListedPath) -> anyhow::Result<()> {
        match unlinked(&listed.real)? {
            Some(found) => Ok(self.descriptor(option, found.as_fd(), &listed.at)?),
            None => Ok(()),
        }
    }

    /// Prevents that the folders between a writable path outside of the tree and a hidden one in it are moved.
    fn anchor_above(&mut self, spec: &BoundarySpec, hidden: &Path) -> anyhow::Result<()> {
        let real = LinkWalk::of(hidden).real;
        if real.starts_with(&spec.tree) {
            return Ok(());
        }
        // A covered path is not visible, and an anchor in it would make it so.
        let is_covered =
            spec.covered.as_ref().is_some_and(|covered| real != *covered && real.starts_with(covered));
        let covered = spec.covered.as_deref().filter(|_| is_covered);
        for listed in spec.write.iter().filter(|listed| !listed.shows(covered)) {
            let Some(above) = real.strip_prefix(&listed.real).ok().and_then(Path::parent) else { continue };
            let Some(root) = unlinked(&listed.real)? else { continue };
            let mut folder = PathBuf::new();
            for part in above {
                folder.push(part);
                let Some(found) = beneath(root.as_fd(), &folder)? else { break };
                self.descriptor("--bind-fd", found.as_fd(), &listed.at.join(&folder))?;
            }
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

    /// Protects a path of the tree, and keeps everything above it in its place. A missing path cannot be protected. `read_only`
    /// of None leaves it writable.
    fn protect(
        &mut self,
        tree: BorrowedFd<'_>,
        spec: &BoundarySpec,
        path: &Path,
        read_only: Option<bool>,
    ) -> anyhow::Result<()> {
        // A mount within would be a writable one, or the same once more.
        if self.read_only.iter().any(|kept| path.starts_with(kept)) {
            return Ok(());
        }
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
            self.read_only.extend(read_only.then(|| path.to_owned()));
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
        // The link leads to a hidden file.
        let Ok(path) = path.canonicalize() else { return Ok(()) };
        let mut places = vec![path.clone()];
        let is_folder = match path.strip_prefix(&spec.tree) {
            Ok(within) => {
                let found = beneath(tree, within)?
                    .with_context(|| format!("{} was exchanged while it was hidden", path.display()))?;
                self.protect(tree, spec, within, None)?;
                FileType::from_raw_mode(fstat(&found)?.st_mode) == FileType::Directory
            }
            Err(_) => {
                // A list may have given it another place.
                let listed = spec.read.iter().chain(&spec.write);
                places.extend(listed.filter_map(|listed| listed.inside(&path)));
                places.sort();
                places.dedup();
                path.is_dir()
            }
        };
        for place in &places {
            match is_folder {
                true => {
                    self.at("--tmpfs", place);
                    self.at("--remount-ro", place);
                }
                false => self.add(["--ro-bind".as_ref(), "/dev/null".as_ref(), place.as_os_str()]),
            }
        }
        Ok(())
    }
}

/// The tree, which must be the one that the host examined.
pub(crate) fn open_tree(spec: &BoundarySpec) -> anyhow::Result<OwnedFd> {
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

/// A file or folder that is reached without links. None if it does not exist.
pub(crate) fn unlinked(path: &Path) -> anyhow::Result<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let exchanged = || {
        format!(
            "{}, or a folder above it, was exchanged for a link while the sandbox was made: start again",
            path.display()
        )
    };
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(found) if FileType::from_raw_mode(fstat(&found)?.st_mode) == FileType::Symlink => {
            bail!(exchanged())
        }
        Ok(found) => Ok(Some(found)),
        Err(Errno::LOOP) => bail!(exchanged()),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("opening {}", path.display())),
    }
}

fn id(file: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    let found = fstat(file)?;
    Ok((found.st_dev, found.st_ino))
}

/// A path of the tree, without links on the way or at its end. None if it does not exist.
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
            // A folder was renamed in the meantime.
            Err(Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// From inside, before the program begins: verifies that the mounts are in place, and the read-only ones are read-only.
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

#[cfg(test)]
mod tests {
    use baton_core::workflow::SandboxLevel;

    use super::*;

    #[test]
    fn a_copy_does_not_see_its_workspace_by_a_list_that_names_a_folder_above() {
        // N6: hidden and protected files of a part's tree were readable and writable in the workspace.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (above, workspace, tree) = (root.join("par"), root.join("par/ws"), root.join("tree"));
        for folder in
            [&workspace.join("keys/old"), &workspace.join("modules"), &workspace.join(".git"), &tree]
        {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(workspace.join("keys/old/key"), "secret").unwrap();
        let listed = |path: &Path| ListedPath { at: path.to_owned(), real: path.to_owned() };
        let spec = BoundarySpec {
            level: SandboxLevel::Strict,
            read: vec![listed(&workspace.join("modules"))],
            write: vec![listed(&above)],
            hide: vec![workspace.join("keys/old/key")],
            covered: Some(workspace.clone()),
            beside: vec![crate::spec::ExternalMount {
                root: workspace.clone(),
                path: PathBuf::from(".git"),
                writable: false,
                fresh: false,
            }],
            ..BoundarySpec::at_write(&tree, &root)
        };
        let laid = BwrapArguments::out(&spec).unwrap().arguments;
        let options: Vec<_> = laid.iter().map(|option| option.to_string_lossy().into_owned()).collect();
        // The mounts in their order, with the option of each.
        let mounted = options.iter().enumerate().filter(|(_, at)| Path::new(at).starts_with(&above));
        let mounted = mounted.map(|(number, at)| {
            let option = [1, 2].into_iter().map(|before| &options[number - before]);
            let option = option.into_iter().find(|option| option.starts_with("--")).unwrap();
            (option.as_str(), Path::new(at).strip_prefix(&above).unwrap().to_str().unwrap())
        });
        assert_eq!(
            mounted.collect::<Vec<_>>(),
            [
                ("--bind-fd", ""),
                ("--tmpfs", "ws"),
                ("--ro-bind-fd", "ws/modules"),
                ("--ro-bind-fd", "ws/.git"),
                ("--ro-bind", "ws/keys/old/key"),
                ("--remount-ro", "ws"),
            ]
        );
    }
}
