//! One boundary, as the host holds it: the private folder, the proxy and the watcher, and the command that stands in the place
//! of another one.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use baton_core::Digest;
use baton_core::facts::Refusal;
use baton_core::workflow::{NetworkTarget, Sandbox, SandboxLevel};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use crate::planted_paths::{PlantedPaths, RemainingPaths, WatchedPaths};
use crate::programs::{is_executable, program_of_this_process};
use crate::proxy;
use crate::refusals::{RefusalReceiver, RefusalSender};
use crate::sandbox_support::{SandboxSupport, UnsupportedLevel};
#[cfg(target_os = "linux")]
use crate::spec::WATCH_SOCKET;
use crate::spec::{BoundarySpec, ExternalMount, PROXY_SOCKET, SettingsMount, TEMPORARY};
use crate::stages::{ENTER, WORD};

/// Name of the specification.
const SPEC: &str = "sandbox.json";
/// Bytes of a socket's path that every system takes.
const SOCKET_PATH_BYTES: usize = 100;

/// What a boundary is to be made of.
#[derive(Debug)]
pub struct BoundaryRequest<'a> {
    /// What was written of it.
    pub sandbox: &'a Sandbox,
    /// What may be connected to.
    pub targets: Vec<NetworkTarget>,
    /// The folder that is worked in.
    pub tree: &'a Path,
    /// A folder for this boundary alone; made where it is missing.
    pub folder: PathBuf,
    /// This program.
    pub own_exe: &'a Path,
    /// The user's home.
    pub home: Option<&'a Path>,
    /// The workspace of the run, of which the tree may be a copy.
    pub workspace: &'a Path,
    /// Where programs are found.
    pub path: Option<&'a OsStr>,
    /// Programs that must be there, wherever they lie.
    pub programs: Vec<PathBuf>,
    /// The agent's own settings.
    pub settings: Vec<SettingsFolder>,
    /// What stays as it is in the tree, relative to it.
    pub protect: Vec<PathBuf>,
    /// What can be written in the tree and is not exchanged for something else, relative to it.
    pub anchors: Vec<PathBuf>,
    /// What is taken away after the session where it appeared in the tree.
    pub watched: WatchedPaths,
    /// What belongs to the tree and lies elsewhere.
    pub beside: Vec<ExternalMount>,
    /// Folders of the host's that nobody inside sees, whatever may be read.
    pub hidden: Vec<PathBuf>,
    /// The program mounts something itself.
    pub mounts: bool,
    /// Gets what could not be taken away.
    pub remaining: RemainingPaths,
}

/// A folder of an agent's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFolder {
    /// The folder as it is for the user.
    pub folder: PathBuf,
    /// What of it the agent reads: settings and credentials.
    pub files: Vec<String>,
    /// The variable that moves the folder, for where nothing can be mounted over it.
    pub variable: &'static str,
    /// A folder in it that outlives the session, by its name, and where it really is: the agent's conversations.
    pub kept: Option<(&'static str, PathBuf)>,
    /// A file that is made for the session: where it is beside the folder, its name in a folder that was moved, its text.
    pub made: Option<(PathBuf, String, String)>,
}

/// Why there is no boundary.
#[derive(Debug, thiserror::Error)]
pub enum BoundaryError {
    /// The machine cannot.
    #[error(transparent)]
    Missing(#[from] UnsupportedLevel),
    /// The system refused.
    #[error("the sandbox was not made: {what} ({}) failed: {source}", path.display())]
    System {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A boundary that is there. Dropped, its proxy is gone, and so is what was made for it.
#[derive(Debug)]
pub struct Boundary {
    spec: PathBuf,
    /// Of what was written there.
    digest: Digest,
    own_exe: PathBuf,
    level: SandboxLevel,
    folder: PathBuf,
    proxy: Option<JoinHandle<()>>,
    planted: PlantedPaths,
    remaining: RemainingPaths,
}

impl Drop for Boundary {
    fn drop(&mut self) {
        if let Some(proxy) = &self.proxy {
            proxy.abort();
        }
        self.planted.forget(&self.folder);
        // Credentials in it are links; whatever is left there is nobody's.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Boundary {
    /// Makes it. Call within a runtime of tokio.
    ///
    /// # Errors
    /// [`BoundaryError::Missing`] where the machine cannot do what is asked for.
    pub fn open(
        wanted: BoundaryRequest<'_>,
        machine: &SandboxSupport,
    ) -> Result<(Self, RefusalReceiver), BoundaryError> {
        let level = wanted.sandbox.level;
        machine.can(level)?;
        let folder = &wanted.folder;
        let failed = |what: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source| BoundaryError::System { what, path, source }
        };
        // What a boundary of this name left behind is nobody's.
        let _ = fs::remove_dir_all(folder);
        let below = folder.join(TEMPORARY);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&below)
            .map_err(failed("making its folder", &below))?;
        let folder = folder.canonicalize().map_err(failed("finding its folder", folder))?;
        let found = fs::symlink_metadata(wanted.tree).map_err(failed("looking at the tree", wanted.tree))?;
        let mut spec = BoundarySpec {
            level,
            own_exe: wanted.own_exe.to_owned(),
            bwrap: machine.bwrap.clone().ok(),
            tree: wanted.tree.to_owned(),
            tree_id: (found.dev(), found.ino()),
            home: wanted.home.map(Path::to_owned),
            programs: wanted
                .programs
                .iter()
                .flat_map(|program| what_belongs_to(program, wanted.path, [wanted.tree, wanted.workspace]))
                .collect(),
            read: resolved(wanted.sandbox.read.as_deref(), wanted.home, wanted.tree),
            write: resolved(wanted.sandbox.write.as_deref(), wanted.home, wanted.tree),
            hide: resolved(Some(&wanted.sandbox.hide), wanted.home, wanted.tree),
            masked: Vec::new(),
            protect: wanted.protect,
            anchors: wanted.anchors,
            beside: wanted.beside,
            settings: Vec::new(),
            environment: Vec::new(),
            ports: wanted.targets.iter().map(NetworkTarget::port).collect(),
            loopback: wanted.targets.iter().filter_map(loopback).collect(),
            mounts: wanted.mounts,
            folder: folder.clone(),
        };
        let hidden = wanted.hidden.into_iter().filter_map(|hidden| hidden.canonicalize().ok());
        let (in_tree, elsewhere): (Vec<_>, _) = hidden.partition(|hidden| hidden.starts_with(wanted.tree));
        spec.hide.extend(in_tree);
        spec.masked = elsewhere;
        for settings in wanted.settings {
            lay(&mut spec, settings).map_err(failed("laying out the agent's settings", &folder))?;
        }
        let planted = PlantedPaths::watch(wanted.tree, wanted.watched);
        planted.note(&folder).map_err(failed("writing what is not there", &folder))?;
        let path = folder.join(SPEC);
        let digest = write(&path, &spec).map_err(failed("writing what is there", &path))?;
        let (teller, refused) = RefusalSender::new();
        let proxy = match level {
            SandboxLevel::Strict => {
                let listener = listen(&folder.join(PROXY_SOCKET)).and_then(UnixListener::from_std);
                let listener = listener.map_err(failed("listening for the proxy", &folder))?;
                Some(tokio::spawn(proxy::serve(listener, wanted.targets.into(), teller.clone())))
            }
            SandboxLevel::Off | SandboxLevel::Write => None,
        };
        #[cfg(target_os = "linux")]
        {
            let listener = listen(&folder.join(WATCH_SOCKET)).and_then(|listener| {
                listener.set_nonblocking(false)?;
                Ok(listener)
            });
            let listener = listener.map_err(failed("listening for the watcher", &folder))?;
            crate::syscall_monitor::watch(listener, spec, teller);
        }
        let own_exe = wanted.own_exe.to_owned();
        Ok((
            Self { spec: path, digest, own_exe, level, folder, proxy, planted, remaining: wanted.remaining },
            refused,
        ))
    }

    /// What is called in the place of a program: the program, and what comes before the program's own name and arguments.
    pub fn command(&self) -> Vec<OsString> {
        let own_exe = program_of_this_process(&self.own_exe);
        let own: [&OsStr; 6] = [
            own_exe.as_os_str(),
            WORD.as_ref(),
            ENTER.as_ref(),
            self.spec.as_os_str(),
            self.digest.as_str().as_ref(),
            "--".as_ref(),
        ];
        own.map(OsStr::to_owned).to_vec()
    }

    /// Takes away what has appeared in the tree, once nobody is inside any more, and says what of it.
    pub fn sweep(&self) -> Vec<Refusal> {
        self.planted.sweep(&self.remaining)
    }

    /// The private folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The private folder, as whoever is inside sees it.
    pub fn inside(&self) -> &Path {
        match self.level {
            SandboxLevel::Strict => Path::new(crate::spec::INSIDE),
            SandboxLevel::Off | SandboxLevel::Write => &self.folder,
        }
    }
}

/// The agent's settings: mounted over where they are, or moved to the private folder.
fn lay(spec: &mut BoundarySpec, settings: SettingsFolder) -> io::Result<()> {
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
            spec.settings.push(SettingsMount { folder, files, kept, made });
        }
        SandboxLevel::Off | SandboxLevel::Write => {
            let moved = spec.folder.join(variable.to_ascii_lowercase());
            DirBuilder::new().mode(0o700).create(&moved)?;
            // A link is written through to where nothing may be written, and replaced in the folder alone.
            for name in &files {
                let there = folder.join(name);
                if there.exists() {
                    std::os::unix::fs::symlink(&there, moved.join(name))?;
                }
            }
            if let Some((name, source)) = kept {
                std::os::unix::fs::symlink(&source, moved.join(name))?;
                spec.write.push(source);
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

fn write(path: &Path, spec: &BoundarySpec) -> io::Result<Digest> {
    let written = serde_json::to_vec(spec)?;
    private(path)?.write_all(&written)?;
    Ok(Digest::of(&written))
}

/// A socket, by a name that is short enough for its address.
fn listen(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    let listener = if path.as_os_str().len() <= SOCKET_PATH_BYTES || !cfg!(target_os = "linux") {
        std::os::unix::net::UnixListener::bind(path)?
    } else {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let folder = fs::File::open(folder)?;
        let short = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&folder));
        std::os::unix::net::UnixListener::bind(Path::new(&short).join(name))?
    };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// An address of this machine that the user has named.
fn loopback(target: &NetworkTarget) -> Option<std::net::SocketAddr> {
    let address = target.address().filter(std::net::IpAddr::is_loopback)?;
    Some(std::net::SocketAddr::new(address, target.port()))
}

/// Paths as they are written, from the home or the tree.
fn resolved(paths: Option<&[String]>, home: Option<&Path>, tree: &Path) -> Vec<PathBuf> {
    let resolve = |path: &String| match path.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)),
        None => Some(tree.join(path)),
    };
    paths.into_iter().flatten().filter_map(resolve).collect()
}

/// Where a program lies: one that is named by a path there, another one on the path as a shell looks for it.
pub fn found_on(path: Option<&OsStr>, program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    let mut folders = path.into_iter().flat_map(std::env::split_paths);
    folders.find_map(|folder| Some(folder.join(program)).filter(|found| found.is_file()))
}

/// A program with what it is made of: where it really lies, the packages beside it, and the interpreter that its first line names. What lies
/// in a folder of the work says nothing about files elsewhere: agents and the repository write it.
fn what_belongs_to(program: &Path, path: Option<&OsStr>, work: [&Path; 2]) -> Vec<PathBuf> {
    let is_of_work = |path: &Path| {
        work.iter().any(|root| {
            path.starts_with(root) || root.canonicalize().is_ok_and(|root| path.starts_with(root))
        })
    };
    let Ok(real) = program.canonicalize() else { return vec![program.to_owned()] };
    let is_written = !program.is_absolute() || is_of_work(program) || is_of_work(&real);
    if is_written && (!program.is_absolute() || !is_of_work(&real)) {
        return Vec::new();
    }
    let mut found = vec![program.to_owned()];
    let mut packages = real.ancestors().filter(|above| above.ends_with("node_modules"));
    found.push(packages.by_ref().last().map_or_else(|| real.clone(), Path::to_owned));
    let mut head = [0; 256];
    let read =
        fs::File::open(&real).and_then(|mut file| io::Read::read(&mut file, &mut head)).unwrap_or_default();
    let head = String::from_utf8_lossy(&head[..read]);
    if let Some(words) = head.lines().next().and_then(|line| line.strip_prefix("#!")) {
        let mut words =
            words.split_whitespace().skip_while(|word| word.ends_with("/env") || word.starts_with('-'));
        let interpreter = words.next().filter(|word| !(is_written && word.contains('/')));
        let named = interpreter.and_then(|interpreter| found_on(path, interpreter));
        let Some(real) = named.as_ref().and_then(|named| named.canonicalize().ok()) else { return found };
        if is_executable(&real) && !(is_written && is_of_work(&real)) {
            found.extend(named);
            found.push(real);
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
            let mut found = what_belongs_to(program, path, [&tree, &tree]);
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
        assert_eq!(of(Path::new("bin/relative")), [PathBuf::from("bin/relative")]);
        // What the user has elsewhere is made of what it names, if that is a program.
        let own = program(home.join("own"), &format!("#!{}\n", tool.display()));
        assert_eq!(of(&own), [tool.clone(), own]);
        let odd = program(home.join("odd"), &format!("#!{}\n", home.display()));
        assert_eq!(of(&odd), std::slice::from_ref(&odd));
    }
}
