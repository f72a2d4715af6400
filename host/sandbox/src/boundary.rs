//! One boundary on the host's side: the private folder, the proxy and the watcher, and the command that replaces another one.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use baton_core::Digest;
use baton_core::facts::Refusal;
use baton_core::workflow::{NetworkTarget, Sandbox, SandboxLevel};

use crate::held_names::UnheldNames;
#[cfg(target_os = "linux")]
use crate::host_socket::listen;
use crate::link_walk::LinkWalk;
use crate::lists::{Lists, WritablePlaces};
use crate::planted_paths::{PlantedRecord, RemainingPaths, WatchedPaths};
use crate::programs::{first_line, is_executable, program_of_this_process};
#[cfg(target_os = "linux")]
use crate::proxy::ProxySocket;
use crate::refusals::{RefusalReceiver, RefusalSender};
use crate::remove_tree::remove_tree;
use crate::sandbox_support::{SandboxSupport, UnsupportedLevel};
use crate::spec::{BoundarySpec, ExternalMount, ListedPath, SettingsMount, TEMPORARY};
#[cfg(target_os = "linux")]
use crate::spec::{PROXY_SOCKET, WATCH_SOCKET};
use crate::stages::{ENTER, NO_PROXY, WORD};
#[cfg(target_os = "linux")]
use crate::syscall_monitor::WatcherSocket;

/// Name of the specification.
const SPEC: &str = "sandbox.json";

/// The parameters of a boundary.
#[derive(Debug)]
pub struct BoundaryRequest<'a> {
    /// The configured sandbox.
    pub sandbox: &'a Sandbox,
    /// The permitted network targets.
    pub targets: Vec<NetworkTarget>,
    /// The folder that is worked in.
    pub tree: &'a Path,
    /// A folder for this boundary alone; created if it is missing.
    pub folder: PathBuf,
    /// This program.
    pub own_exe: &'a Path,
    /// The user's home.
    pub home: Option<&'a Path>,
    /// The workspace of the run, of which the tree may be a copy.
    pub workspace: &'a Path,
    /// The search path of programs.
    pub path: Option<&'a OsStr>,
    /// Programs that must be available, in any place.
    pub programs: Vec<PathBuf>,
    /// Files that a program of Baton's own reads.
    pub scripts: Vec<PathBuf>,
    /// The agent's own settings.
    pub settings: Vec<SettingsFolder>,
    /// Paths that agents of any role can write beyond their trees, as lists name them.
    pub writable: &'a [String],
    /// Protected paths in the tree, relative to it.
    pub protect: Vec<PathBuf>,
    /// Paths that stay writable below a protected one, relative to the tree.
    pub open: Vec<PathBuf>,
    /// Paths in the tree that are writable and may not be replaced, relative to it.
    pub anchors: Vec<PathBuf>,
    /// Paths that are removed after the session if they appeared in the tree.
    pub watched: WatchedPaths,
    /// The same in the workspace, if the tree is a copy of it.
    pub watched_beside: WatchedPaths,
    /// Paths outside the tree that belong to it.
    pub beside: Vec<ExternalMount>,
    /// Folders of the host that are hidden inside, whatever else may be read.
    pub hidden: Vec<PathBuf>,
    /// The user's settings for Baton and for its git, which no `write` list may contain: the host runs the programs that they
    /// name.
    pub own_settings: Vec<PathBuf>,
    /// The program mounts something itself.
    pub mounts: bool,
    /// Gets the paths that could not be removed.
    pub remaining: RemainingPaths,
}

impl<'a> BoundaryRequest<'a> {
    /// One with nothing but this: for a workspace, without a home or programs of its own.
    pub fn of(sandbox: &'a Sandbox, tree: &'a Path, folder: PathBuf, own_exe: &'a Path) -> Self {
        Self {
            sandbox,
            targets: Vec::new(),
            tree,
            folder,
            own_exe,
            home: None,
            workspace: tree,
            path: None,
            programs: Vec::new(),
            scripts: Vec::new(),
            settings: Vec::new(),
            writable: &[],
            protect: Vec::new(),
            open: Vec::new(),
            anchors: Vec::new(),
            watched: WatchedPaths::default(),
            watched_beside: WatchedPaths::default(),
            beside: Vec::new(),
            hidden: Vec::new(),
            own_settings: Vec::new(),
            mounts: false,
            remaining: RemainingPaths::default(),
        }
    }
}

/// The folder of packages of Node.
pub const PACKAGES: &str = "node_modules";

/// A folder of an agent's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFolder {
    /// The folder's path for the user.
    pub folder: PathBuf,
    /// The files in it that the agent reads: settings and credentials.
    pub files: Vec<String>,
    /// The variable that moves the folder, for levels without mounts.
    pub variable: &'static str,
    /// A folder in it that outlives the session, by its name, and its real place: the agent's conversations.
    pub kept: Option<(&'static str, PathBuf)>,
    /// A file that is made for the session: its path next to the folder, its name in a moved folder, its text.
    pub made: Option<(PathBuf, String, String)>,
}

/// The reason why there is no boundary.
#[derive(Debug, thiserror::Error)]
pub enum BoundaryError {
    /// The machine cannot.
    #[error(transparent)]
    Missing(#[from] UnsupportedLevel),
    /// An agent may have chosen the target of a list's entry.
    #[error(
        "`{list}` of the sandbox names {}, and {} on the way is a link that agents can exchange, to {}: look at \
         where it leads, and name that place itself, or replace the link", path.display(), link.display(), real.display()
    )]
    Exchangeable {
        /// The list.
        list: &'static str,
        /// The path in the list.
        path: PathBuf,
        /// The link.
        link: PathBuf,
        /// The target of the path.
        real: PathBuf,
    },
    /// A list names a guarded place by another path than its own: the mount over the guarded path does not cover this one.
    #[error(
        "`{list}` of the sandbox names {}, which leads to {}: that place has {} in it, or lies in it, which is guarded \
         at its own path only: name that place itself", path.display(), real.display(), guarded.display()
    )]
    Roundabout {
        /// The list.
        list: &'static str,
        /// The path in the list.
        path: PathBuf,
        /// The target of the path.
        real: PathBuf,
        /// The guarded place: the tree, the workspace, a folder of the host's, a hidden path, settings and program of Baton.
        guarded: PathBuf,
    },
    /// An entry of another file leads out of the user's own list.
    #[error(
        "`{list}` of the sandbox names {}, which leads to {}: no path that your own config.toml lists in `{list}` of [sandbox] leads there. \
         Look at where it leads, and list that place there yourself, or replace the link", path.display(), real.display()
    )]
    Outside {
        /// The list.
        list: &'static str,
        /// The path in the list.
        path: PathBuf,
        /// The target of the path.
        real: PathBuf,
    },
    /// Agents could replace or change the host's files.
    #[error(
        "`write` of the sandbox names {}, which has Baton's own folder {} in it, or lies in it: name the folders in it that agents \
         are to write, or move the state folder with `--state-dir` (the usual one with XDG_STATE_HOME)", path.display(), folder.display()
    )]
    OfHost {
        /// The path in the list.
        path: PathBuf,
        /// The folder of the host's.
        folder: PathBuf,
    },
    /// The same by the tree itself.
    #[error(
        "the work tree {} has Baton's own folder in it, by {}: agents could move that, or change what Baton reads. Name another state \
         folder with `--state-dir` (the usual one is moved with XDG_STATE_HOME), or work in a folder that does not have it in it{}", tree.display(), at.display(), hint(*.level)
    )]
    HostInTree {
        /// The tree.
        tree: PathBuf,
        /// The folder of the host's, or a link on the way to it.
        at: PathBuf,
        /// How far agents are confined.
        level: SandboxLevel,
    },
    /// Agents could choose the programs that the host runs, now or the next time.
    #[error(
        "`write` of the sandbox names {}, which has {} in it, or lies in it: {what} Name the folders in it that agents are to write",
        path.display(), held.display()
    )]
    OfUser {
        /// The path in the list.
        path: PathBuf,
        /// The settings, or the program.
        held: PathBuf,
        /// The possible abuse by an agent.
        what: &'static str,
    },
    /// A protected or hidden file has further names that are not protected.
    #[error(transparent)]
    OtherNames(#[from] UnheldNames),
    /// The system refused.
    #[error("the sandbox was not made: {what} ({}) failed: {source}", path.display())]
    System {
        /// The attempted operation.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// An alternative if a folder of the host's is in the tree: a strict boundary hides it.
fn hint(level: SandboxLevel) -> &'static str {
    match level {
        SandboxLevel::Strict => "",
        SandboxLevel::Off | SandboxLevel::Write => ", or use \"strict\", which hides it",
    }
}

/// An open boundary. When it is dropped, its proxy and its files are removed.
#[derive(Debug)]
pub struct Boundary {
    spec: PathBuf,
    /// Of the specification in the folder.
    digest: Digest,
    own_exe: PathBuf,
    level: SandboxLevel,
    folder: PathBuf,
    temporary: PathBuf,
    #[cfg(target_os = "linux")]
    proxy: Option<ProxySocket>,
    #[cfg(target_os = "linux")]
    watcher: WatcherSocket,
    planted: PlantedRecord,
    remaining: RemainingPaths,
}

impl Drop for Boundary {
    fn drop(&mut self) {
        self.planted.forget(&self.folder);
        // Credentials in it are links; the rest is not needed any more.
        let _ = remove_tree(&self.folder);
    }
}

impl Boundary {
    /// Creates it. Call within a runtime of tokio.
    ///
    /// # Errors
    /// [`BoundaryError::Missing`] if the machine does not support the level.
    pub fn open(
        wanted: BoundaryRequest<'_>,
        sandbox_support: &SandboxSupport,
    ) -> Result<(Self, RefusalReceiver), BoundaryError> {
        let level = wanted.sandbox.level;
        sandbox_support.can(level)?;
        let folder = &wanted.folder;
        let failed = |what: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source| BoundaryError::System { what, path, source }
        };
        // What a boundary of this name left behind has no owner any more.
        let _ = remove_tree(folder);
        let below = folder.join(TEMPORARY);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&below)
            .map_err(failed("making its folder", &below))?;
        let folder = folder.canonicalize().map_err(failed("finding its folder", folder))?;
        // At `write` nothing is mounted, so only the real paths are needed.
        let place = |path: &Path| match level {
            SandboxLevel::Strict => path.to_owned(),
            SandboxLevel::Off | SandboxLevel::Write => LinkWalk::of(path).real,
        };
        let tree = place(wanted.tree);
        let found = fs::symlink_metadata(&tree).map_err(failed("looking at the tree", &tree))?;
        let written = WritablePlaces::of(&wanted);
        let Lists { read, write, hide, covered } = Lists::of(&wanted, &written)?;
        let beside = wanted.beside.into_iter();
        let mut spec = BoundarySpec {
            level,
            own_exe: wanted.own_exe.to_owned(),
            bwrap: sandbox_support.bwrap.clone().ok(),
            tree,
            tree_id: (found.dev(), found.ino()),
            home: wanted.home.map(Path::to_owned),
            programs: Vec::new(),
            read,
            write,
            hide,
            covered,
            masked: Vec::new(),
            protect: wanted.protect,
            open: wanted.open,
            anchors: wanted.anchors,
            beside: beside.map(|beside| ExternalMount { root: place(&beside.root), ..beside }).collect(),
            settings: Vec::new(),
            environment: Vec::new(),
            ports: wanted.targets.iter().map(NetworkTarget::port).collect(),
            loopback: wanted.targets.iter().filter_map(loopback).collect(),
            // In `write` only Landlock protects files, and it allows no mounts.
            mounts: wanted.mounts && level == SandboxLevel::Strict,
            folder: folder.clone(),
        };
        spec.hold_further_names()?;
        // A link that agents can exchange leads the next host to a folder of theirs.
        let mut links = wanted.hidden.iter().flat_map(|hidden| LinkWalk::of(hidden).links);
        let exchangeable = links.find(|link| written.hold(link));
        let hidden = wanted.hidden.iter().filter_map(|hidden| hidden.canonicalize().ok());
        let (in_tree, elsewhere): (Vec<_>, _) = hidden.partition(|hidden| hidden.starts_with(&spec.tree));
        // In `write`, nothing keeps it from agents.
        let open = in_tree.first().filter(|_| level != SandboxLevel::Strict);
        if let Some(at) = exchangeable.or_else(|| open.cloned()) {
            return Err(BoundaryError::HostInTree { tree: spec.tree, at, level });
        }
        spec.hide.extend(in_tree);
        spec.masked = elsewhere;
        let found =
            wanted.programs.iter().flat_map(|program| what_belongs_to(program, wanted.path, &written));
        let scripts = wanted.scripts.into_iter().filter_map(|script| written.listed("script", script).ok());
        let programs = found.chain(scripts.filter(|script| script.real.is_file()));
        // A workflow names programs, and naming one must not show a hidden file.
        spec.programs = programs.filter(|program| !spec.is_guarded(&program.real)).collect();
        for settings in wanted.settings {
            let files = settings.files.iter().map(|name| settings.folder.join(name));
            let files: Result<Vec<_>, _> = files.map(|file| written.listed("settings", file)).collect();
            lay(&mut spec, settings, files?).map_err(failed("laying out the agent's settings", &folder))?;
        }
        let watched = [(wanted.tree, wanted.watched), (wanted.workspace, wanted.watched_beside)];
        let planted = PlantedRecord::watch(watched);
        planted.note(&folder).map_err(failed("writing what is not there", &folder))?;
        let path = folder.join(SPEC);
        let digest = write_spec(&path, &spec).map_err(failed("writing what is there", &path))?;
        let temporary = spec.temporary();
        let (teller, refused) = RefusalSender::new();
        #[cfg(not(target_os = "linux"))]
        drop(teller);
        #[cfg(target_os = "linux")]
        let proxy = match level {
            SandboxLevel::Strict => {
                let proxy = ProxySocket::open(&folder.join(PROXY_SOCKET), wanted.targets, teller.clone());
                Some(proxy.map_err(failed("listening for the proxy", &folder))?)
            }
            SandboxLevel::Off | SandboxLevel::Write => None,
        };
        #[cfg(target_os = "linux")]
        let watcher = {
            let path = folder.join(WATCH_SOCKET);
            let listener = listen(&path);
            listener
                .and_then(|listener| WatcherSocket::open(listener, &path, spec, teller))
                .map_err(failed("listening for the watcher", &folder))?
        };
        let own_exe = wanted.own_exe.to_owned();
        let boundary = Self {
            spec: path,
            digest,
            own_exe,
            level,
            folder,
            temporary,
            #[cfg(target_os = "linux")]
            proxy,
            #[cfg(target_os = "linux")]
            watcher,
            planted,
            remaining: wanted.remaining,
        };
        Ok((boundary, refused))
    }

    /// The command that replaces a program: its words come before the program's own name and arguments.
    pub fn command(&self) -> Vec<OsString> {
        let own_exe = program_of_this_process(&self.own_exe);
        let no_proxy = || OsString::from(NO_PROXY);
        #[cfg(target_os = "linux")]
        let (watcher, proxy) =
            (self.watcher.word(), self.proxy.as_ref().map_or_else(no_proxy, ProxySocket::word));
        #[cfg(not(target_os = "linux"))]
        let (watcher, proxy) = (OsString::new(), no_proxy());
        let own: [&OsStr; 8] = [
            own_exe.as_os_str(),
            WORD.as_ref(),
            ENTER.as_ref(),
            self.spec.as_os_str(),
            self.digest.as_str().as_ref(),
            &watcher,
            &proxy,
            "--".as_ref(),
        ];
        own.map(OsStr::to_owned).to_vec()
    }

    /// Removes what has appeared in the tree, once no process is inside any more, and returns what it removed.
    pub fn sweep(&self) -> Vec<Refusal> {
        self.planted.sweep(&self.remaining)
    }

    /// The private folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of temporary files, as it is seen inside. They are deleted with the boundary.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// The private folder, as it is seen inside.
    pub fn inside(&self) -> &Path {
        match self.level {
            SandboxLevel::Strict => Path::new(crate::spec::INSIDE),
            SandboxLevel::Off | SandboxLevel::Write => &self.folder,
        }
    }
}

/// The agent's settings: mounted over their place, or moved to the private folder.
fn lay(spec: &mut BoundarySpec, settings: SettingsFolder, mut found: Vec<ListedPath>) -> io::Result<()> {
    let SettingsFolder { folder, files, variable, kept, made } = settings;
    match spec.level {
        SandboxLevel::Strict => {
            let made = match made {
                Some((at, name, text)) => {
                    let source = spec.folder.join(&name);
                    private(&source)?.write_all(text.as_bytes())?;
                    Some((at, source))
                }
                None => None,
            };
            let kept = kept.map(|(name, source)| (folder.join(name), source));
            found.retain(|file| !spec.is_guarded(&file.real));
            spec.settings.push(SettingsMount { folder, files: found, kept, made });
        }
        SandboxLevel::Off | SandboxLevel::Write => {
            let moved = spec.folder.join(variable.to_ascii_lowercase());
            DirBuilder::new().mode(0o700).create(&moved)?;
            // A write through a link reaches a place that is not writable, and a replaced link stays in this folder.
            for name in &files {
                let there = folder.join(name);
                if there.exists() {
                    std::os::unix::fs::symlink(&there, moved.join(name))?;
                }
            }
            if let Some((name, source)) = kept {
                std::os::unix::fs::symlink(&source, moved.join(name))?;
                spec.write.push(ListedPath { at: source.clone(), real: source });
            }
            if let Some((_, name, text)) = made {
                private(&moved.join(name))?.write_all(text.as_bytes())?;
            }
            spec.environment.push((variable.to_owned(), moved.into_os_string()));
        }
    }
    Ok(())
}

fn private(path: &Path) -> io::Result<fs::File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn write_spec(path: &Path, spec: &BoundarySpec) -> io::Result<Digest> {
    let written = serde_json::to_vec(spec)?;
    private(path)?.write_all(&written)?;
    Ok(Digest::of(&written))
}

/// An address of this machine that the user has named.
fn loopback(target: &NetworkTarget) -> Option<std::net::SocketAddr> {
    let address = target.address().filter(std::net::IpAddr::is_loopback)?;
    Some(std::net::SocketAddr::new(address, target.port()))
}

/// The path of a program: a path is used as it is, a name is searched on the path as a shell does.
pub fn found_on(path: Option<&OsStr>, program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    let mut folders = path.into_iter().flat_map(std::env::split_paths);
    folders.find_map(|folder| Some(folder.join(program)).filter(|found| found.is_file()))
}

/// A program with its parts: its real path, the packages next to it, and the interpreter in its first line. A file in a place
/// where agents write cannot bring in files from other places. A file that is neither a program nor in a package is left out:
/// otherwise any file could be named by it.
fn what_belongs_to(program: &Path, path: Option<&OsStr>, written: &WritablePlaces) -> Vec<ListedPath> {
    // The caller that starts it decides from which folder it is found.
    if !program.is_absolute() {
        return Vec::new();
    }
    let walk = LinkWalk::of(program);
    let real = walk.real;
    let is_in_package = real.components().any(|part| part.as_os_str() == PACKAGES);
    if !(is_executable(&real) || is_in_package && real.is_file()) {
        return Vec::new();
    }
    let is_written = written.hold(&real) || walk.links.iter().any(|link| written.hold(link));
    if is_written && !written.hold(&real) {
        return Vec::new();
    }
    let same = |real: &Path| ListedPath { at: real.to_owned(), real: real.to_owned() };
    let mut found = vec![ListedPath { at: program.to_owned(), real: real.clone() }];
    let mut packages = real.ancestors().filter(|above| above.ends_with(PACKAGES));
    found.push(same(packages.by_ref().last().unwrap_or(&real)));
    if let Some(words) = first_line(&real) {
        let mut words =
            words.split_whitespace().skip_while(|word| word.ends_with("/env") || word.starts_with('-'));
        let interpreter = words.next().filter(|word| !(is_written && word.contains('/')));
        let Some(named) = interpreter.and_then(|interpreter| found_on(path, interpreter)) else {
            return found;
        };
        let LinkWalk { links, real, .. } = LinkWalk::of(&named);
        let is_chosen = written.hold(&real) && is_written || links.iter().any(|link| written.hold(link));
        if named.is_absolute() && is_executable(&real) && !is_chosen {
            found.extend([ListedPath { at: named, real: real.clone() }, same(&real)]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_program_of_the_work_says_nothing_about_files_elsewhere() {
        // N6: the first line of a script in the tree, and a link there, had the user's keys mounted.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (tree, home, bin) = (root.join("tree"), root.join("home"), root.join("bin"));
        for folder in [&tree, &home, &bin] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(home.join("key"), "secret").unwrap();
        let program = |path: PathBuf, text: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let tool = program(bin.join("tool"), "#!/bin/sh\n");
        let path = Some(bin.as_os_str());
        let of = |program: &Path| {
            let sandbox = Sandbox::default();
            let written = WritablePlaces::of(&BoundaryRequest::of(
                &sandbox,
                &tree,
                root.join("own"),
                Path::new("/baton"),
            ));
            let found = what_belongs_to(program, path, &written).into_iter();
            let mut found: Vec<PathBuf> = found.flat_map(|listed| [listed.at, listed.real]).collect();
            found.sort();
            found.dedup();
            found
        };
        for line in [
            format!("#!{}", home.display()),
            format!("#!/usr/bin/env -S -u {} sh", home.join("key").display()),
        ] {
            let script = program(tree.join("script"), &line);
            assert_eq!(of(&script), std::slice::from_ref(&script), "{line}");
        }
        let script = program(tree.join("script"), "#!/usr/bin/env tool\n");
        assert_eq!(of(&script), [tool.clone(), script.clone()]);
        symlink(home.join("key"), tree.join("linked")).unwrap();
        assert_eq!(of(&tree.join("linked")), [] as [PathBuf; 0]);
        // A program of the user in another place brings in the programs that it names.
        let own = program(home.join("own"), &format!("#!{}\n", tool.display()));
        assert_eq!(of(&own), [tool.clone(), own]);
        let odd = program(home.join("odd"), &format!("#!{}\n", home.display()));
        assert_eq!(of(&odd), std::slice::from_ref(&odd));
    }
}
