//! Files of a work tree, each replaced as a whole: git writes the new contents to a folder of the host's, they are copied to
//! Baton's own folder in the work tree and synced, and only then the first one is renamed to its place. If the host ends or the
//! disk is full at any moment, each file of the work tree is in its old or its new state.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use baton_core::visible::visible_name;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt as _, OpenOptions};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::git::{path, records};
use super::snapshot::WorktreeSnapshot;
use super::worktree::{GITLINK, Worktree, pairs};
use super::{RunWorktrees, WorktreeError};
use crate::Workspace;
use crate::baton_folder::{OWN, make_folder, open_folder};

/// Folders in Baton's own folder of a work tree, with new contents until these are in their places: `landing-RUN-PID-NUMBER`.
const LANDING: &str = "landing-";
/// In the folder of a run, the files that git has written for it.
const WRITTEN: &str = ".written-";
/// The file with the attributes of a folder's files.
const ATTRIBUTES: &str = ".gitattributes";
/// Git's mode of a missing file.
const NOTHING: &str = "000000";
/// Up to this number of files are synced one by one; for more, the system syncs everything at once.
const SYNCED_ALONE_MAX: usize = 64;

/// Folders of the host's and of the work tree, removed when it is dropped.
struct StagingFolders {
    /// The files that git writes.
    written: PathBuf,
    /// The index that it writes from.
    index: PathBuf,
    /// Baton's own folder in the work tree, and whether it was made for this.
    own: Dir,
    is_own_new: bool,
    root: Dir,
    /// The folder in that, by name and opened.
    name: String,
    landing: Dir,
}

impl Drop for StagingFolders {
    fn drop(&mut self) {
        // Leftover files are removed at the next start.
        let _ = fs::remove_dir_all(&self.written);
        let _ = fs::remove_file(&self.index);
        let _ = fs::remove_file(self.index.with_added_extension("lock"));
        let _ = self.own.remove_dir_all(&self.name);
        if self.is_own_new {
            let _ = self.root.remove_dir(OWN);
        }
    }
}

/// The identity of a file when it was examined: another file has another one.
type FileMark = [i64; 8];

/// New contents that are ready, and the changes to make with them.
struct WholeFiles {
    folders: StagingFolders,
    top: Dir,
    /// The workspace in the repository, which stays.
    prefix: PathBuf,
    /// Files and links to write; the place among them is the name in the folder.
    writes: Vec<PathBuf>,
    deletions: BTreeSet<PathBuf>,
    /// Repositories within the work tree: git makes and removes their empty folders.
    made: Vec<PathBuf>,
    removed: Vec<PathBuf>,
    /// The file at each path; a folder counts as none.
    marks: BTreeMap<PathBuf, Option<FileMark>>,
}

impl RunWorktrees {
    /// Writes another tree over a state of a work tree. Changes nothing if a file has changed since it was examined, or if a
    /// content cannot be written. Each file is replaced as a whole, deletions come last.
    pub(super) async fn overwrite(
        &self,
        worktree: &Worktree,
        now: &WorktreeSnapshot,
        with: &str,
    ) -> Result<(), WorktreeError> {
        let listed =
            now.git.call(&["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", &now.tree, with]);
        let listed = listed.bytes().await?;
        let failed = |source| failed("write below", worktree.top(), source);
        self.clear_landings(&self.workspace_of(worktree).map_err(failed)?);
        let mut files = WholeFiles::of(&listed, self.staging_folders(worktree).map_err(failed)?, worktree)?;
        files.have_written(now, with).await?;
        let files = blocking(move || files.lay_ready().map(|()| files)).await?;
        // Git refuses if one of them has changed since it was examined, or if an unknown file is in the way.
        let check = ["read-tree", "-n", "-m", "-u", "--no-sparse-checkout"];
        now.git.call(&check).and(&now.tree).and(with).done().await?;
        blocking(move || files.put_in_place()).await
    }

    /// Removes unwritten contents of a host that died. Leftovers are in Baton's own folders, and only untidy.
    pub(super) fn clear_landings(&self, workspace: &Workspace) {
        let ours = format!("{LANDING}{}-", self.0.run);
        if workspace.root().join(OWN).symlink_metadata().is_ok_and(|meta| meta.is_dir())
            && let Ok(own) = workspace.own_folder(Path::new(OWN))
            && let Ok(entries) = own.entries()
        {
            for name in entries.flatten().map(|entry| entry.file_name()) {
                if is_numbered(&name, &ours) {
                    let _ = own.remove_dir_all(&name);
                }
            }
        }
        for entry in fs::read_dir(&self.0.folder).into_iter().flatten().flatten() {
            if is_numbered(&entry.file_name(), WRITTEN) {
                let _ = match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    true => fs::remove_dir_all(entry.path()),
                    false => fs::remove_file(entry.path()),
                };
            }
        }
    }

    fn workspace_of(&self, worktree: &Worktree) -> io::Result<Workspace> {
        if worktree.tree.is_workspace() {
            return Ok(self.0.workspace.clone());
        }
        self.workspace_at(&worktree.tree, &worktree.root(), worktree.repository()).map_err(io::Error::other)
    }

    fn staging_folders(&self, worktree: &Worktree) -> io::Result<StagingFolders> {
        let number = format!("{}-{}", std::process::id(), self.0.ordinal.fetch_add(1, Ordering::Relaxed));
        let written = self.0.folder.join(format!("{WRITTEN}{number}"));
        let index = self.0.folder.join(format!("{WRITTEN}{number}.index"));
        let workspace = self.workspace_of(worktree)?;
        let root = workspace.root.dir()?;
        let is_own_new = root.symlink_metadata(OWN).is_err();
        let own = workspace.own_folder(Path::new(OWN))?;
        let name = format!("{LANDING}{}-{number}", self.0.run);
        own.create_dir(&name)?;
        let landing = enter(&own, OsStr::new(&name), false)?
            .ok_or_else(|| io::Error::other("the folder that was just made is not there"))?;
        let folders = StagingFolders { written, index, own, is_own_new, root, name, landing };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folders.written)?;
        Ok(folders)
    }
}

impl WholeFiles {
    /// The differences, from the output of `diff-tree --raw -z`.
    fn of(listed: &[u8], folders: StagingFolders, worktree: &Worktree) -> Result<Self, WorktreeError> {
        let top = Dir::open_ambient_dir(worktree.top(), ambient_authority())
            .map_err(|source| failed("open", worktree.top(), source))?;
        let prefix = worktree.prefix().to_owned();
        let (writes, deletions, marks) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
        let (made, removed) = (Vec::new(), Vec::new());
        let mut files = Self { folders, top, prefix, writes, deletions, made, removed, marks };
        for (entry, name) in pairs(listed) {
            let entry = str::from_utf8(entry).unwrap_or_default().trim_start_matches(':');
            let mut modes = entry.split(' ');
            let (before, after) = (modes.next().unwrap_or(NOTHING), modes.next().unwrap_or(NOTHING));
            let name = path(name);
            match (before, after) {
                (GITLINK, GITLINK) => {}
                (GITLINK, NOTHING) => files.removed.push(name),
                (NOTHING, GITLINK) => files.made.push(name),
                (_, GITLINK) => {
                    files.deletions.insert(name.clone());
                    files.made.push(name);
                }
                (_, NOTHING) => drop(files.deletions.insert(name)),
                _ => files.writes.push(name),
            }
        }
        Ok(files)
    }

    /// Has git write the new contents, as a checkout does: with the filters and line endings that are in force in the tree.
    async fn have_written(&mut self, now: &WorktreeSnapshot, with: &str) -> Result<(), WorktreeError> {
        if self.writes.is_empty() {
            return Ok(());
        }
        let names: Vec<u8> =
            self.writes.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        let git = now.git.with_index(&self.folders.index);
        git.call(&["read-tree", "--no-sparse-checkout", with]).done().await?;
        // Attributes come from the index: they are those of the written tree. Those of the work tree are added if that has
        // none.
        let others = self.attributes();
        if !others.is_empty() {
            let listed = git.call(&["--literal-pathspecs", "ls-files", "-z", "--full-name", "--"]);
            let listed = listed.and_all(&others).bytes().await?;
            let known: BTreeSet<PathBuf> = records(&listed).map(path).collect();
            for other in others.difference(&known) {
                self.copy_attributes(other).map_err(|source| failed("read", other, source))?;
            }
        }
        let write = git.call(&["checkout-index", "-f", "-z", "--stdin"]).within(&self.folders.written);
        write.input(names).done().await
    }

    /// Files of attributes in the work tree, above the written files.
    fn attributes(&self) -> BTreeSet<PathBuf> {
        let folders: BTreeSet<&Path> = self.writes.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        let names = folders.into_iter().map(|folder| folder.join(ATTRIBUTES));
        let names = names.filter(|name| !self.deletions.contains(name));
        names.filter(|name| self.mark(name).is_ok_and(|mark| mark.is_some())).collect()
    }

    fn copy_attributes(&self, name: &Path) -> io::Result<()> {
        let Some(folder) = parent(&self.top, name, false)? else { return Ok(()) };
        // Git reads no attributes through a link either.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = openat(&folder, ATTRIBUTES, flags, Mode::empty()) else { return Ok(()) };
        let (mut source, target) = (fs::File::from(file), self.folders.written.join(name));
        if source.metadata()?.is_file() {
            fs::create_dir_all(target.parent().unwrap_or(&target))?;
            io::copy(&mut source, &mut fs::File::create(target)?)?;
        }
        Ok(())
    }

    /// Copies them into the work tree, next to the existing files, and syncs them.
    fn lay_ready(&mut self) -> Result<(), WorktreeError> {
        let is_each_synced = self.writes.len() <= SYNCED_ALONE_MAX || !cfg!(target_os = "linux");
        for (number, path) in self.writes.iter().enumerate() {
            let from = self.folders.written.join(path);
            copy(&from, &self.folders.landing, &number.to_string(), is_each_synced)
                .map_err(|source| failed("write the new content of", path, source))?;
        }
        if !is_each_synced {
            sync_all(&self.folders.landing).map_err(|source| {
                failed("sync the new contents in", Path::new(&self.folders.name), source)
            })?;
        }
        for path in self.writes.iter().chain(&self.deletions) {
            let mark = self.mark(path).map_err(|source| failed("look at", path, source))?;
            self.marks.insert(path.clone(), mark);
        }
        Ok(())
    }

    /// The identity of the file at a path now.
    fn mark(&self, path: &Path) -> io::Result<Option<FileMark>> {
        match (parent(&self.top, path, false)?, path.file_name()) {
            (Some(folder), Some(name)) => mark(&folder, name),
            _ => Ok(None),
        }
    }

    /// Renames every file to its place, then deletes. Blocking.
    fn put_in_place(mut self) -> Result<(), WorktreeError> {
        let writes = std::mem::take(&mut self.writes);
        let mut touched = BTreeSet::new();
        for (number, path) in writes.iter().enumerate() {
            let above = path.ancestors().skip(1).map(Path::to_owned);
            let below = self.deletions.range(path.clone()..).take_while(|other| other.starts_with(path));
            let in_the_way: Vec<PathBuf> =
                above.filter(|other| self.deletions.contains(other)).chain(below.cloned()).collect();
            for other in in_the_way {
                self.delete(&other)?;
            }
            self.expect_unchanged(path, false)?;
            self.put(number, path).map_err(|source| failed("replace", path, source))?;
            touched.extend(path.parent().map(Path::to_owned));
        }
        while let Some(path) = self.deletions.first().cloned() {
            self.delete(&path)?;
        }
        for path in &self.removed {
            // A folder with content stays.
            if let (Ok(Some(folder)), Some(name)) = (parent(&self.top, path, false), path.file_name()) {
                let _ = folder.remove_dir(name);
                self.prune(path);
            }
        }
        for path in &self.made {
            let made = parent(&self.top, path, true).and_then(|folder| match (folder, path.file_name()) {
                (Some(folder), Some(name)) => enter(&folder, name, true).map(drop),
                _ => Ok(()),
            });
            made.map_err(|source| failed("make", path, source))?;
        }
        // Without it a power cut may take a rename back: then the file is as it was, and the change is finished later.
        if touched.len() > SYNCED_ALONE_MAX && cfg!(target_os = "linux") {
            let _ = sync_all(&self.top);
        } else {
            for folder in touched {
                if let Ok(Some(folder)) = parent(&self.top, &folder.join("any"), false) {
                    let _ = rustix::fs::fsync(&folder);
                }
            }
        }
        Ok(())
    }

    fn expect_unchanged(&self, path: &Path, may_be_gone: bool) -> Result<(), WorktreeError> {
        let now = self.mark(path).map_err(|source| failed("look at", path, source))?;
        let then = self.marks.get(path).copied().flatten();
        match now == then || (may_be_gone && now.is_none()) {
            true => Ok(()),
            false => Err(WorktreeError::ChangedMeanwhile {
                path: visible_name(&path.to_string_lossy()).into_owned(),
            }),
        }
    }

    fn put(&self, number: usize, path: &Path) -> io::Result<()> {
        let (Some(folder), Some(name)) = (parent(&self.top, path, true)?, path.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        if folder.symlink_metadata(name).is_ok_and(|meta| meta.is_dir()) {
            remove_empty(&folder, name)?;
        }
        let from = number.to_string();
        match rustix::fs::renameat(&self.folders.landing, from.as_str(), &folder, name) {
            Err(Errno::XDEV) => {
                // Another file system is mounted within the work tree.
                let beside = format!(".{}-{number}", self.folders.name);
                let written = self.folders.written.join(path);
                let put = copy(&written, &folder, &beside, true)
                    .and_then(|()| Ok(rustix::fs::renameat(&folder, beside.as_str(), &folder, name)?));
                if put.is_err() {
                    let _ = folder.remove_file(&beside);
                }
                put
            }
            renamed => Ok(renamed?),
        }
    }

    fn delete(&mut self, path: &Path) -> Result<(), WorktreeError> {
        self.expect_unchanged(path, true)?;
        let gone = parent(&self.top, path, false).and_then(|folder| match (folder, path.file_name()) {
            (Some(folder), Some(name)) if mark(&folder, name)?.is_some() => folder.remove_file(name),
            _ => Ok(()),
        });
        gone.map_err(|source| failed("remove", path, source))?;
        self.deletions.remove(path);
        self.prune(path);
        Ok(())
    }

    /// Removes folders above a path that hold nothing any more, as git does. The workspace stays.
    fn prune(&self, path: &Path) {
        for folder in path.ancestors().skip(1) {
            let Some(name) = folder.file_name().filter(|_| !self.prefix.starts_with(folder)) else { return };
            match parent(&self.top, folder, false) {
                Ok(Some(above)) if above.remove_dir(name).is_ok() => {}
                _ => return,
            }
        }
    }
}

/// The folder of a path, from the top, opened without following a link. None if it does not exist, or if something else is in
/// its place.
fn parent(top: &Dir, path: &Path, make: bool) -> io::Result<Option<Dir>> {
    let mut folder = top.try_clone()?;
    for name in path.parent().into_iter().flatten() {
        match enter(&folder, name, make)? {
            Some(below) => folder = below,
            None => return Ok(None),
        }
    }
    Ok(Some(folder))
}

fn enter(folder: &Dir, name: &OsStr, make: bool) -> io::Result<Option<Dir>> {
    let opened = match open_folder(folder, name) {
        Err(Errno::NOENT) if make => {
            make_folder(folder, name)?;
            open_folder(folder, name)
        }
        opened => opened,
    };
    match opened {
        Ok(below) => Ok(Some(below)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if !make => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn mark(folder: &Dir, name: &OsStr) -> io::Result<Option<FileMark>> {
    let of = |meta: Metadata| {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        [
            number(meta.dev()),
            number(meta.ino()),
            number(meta.size()),
            i64::from(meta.mode()),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        ]
    };
    match folder.symlink_metadata(name) {
        Ok(meta) if meta.is_dir() => Ok(None),
        Ok(meta) => Ok(Some(of(meta))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a folder that holds nothing but folders.
fn remove_empty(above: &Dir, name: &OsStr) -> io::Result<()> {
    if let Some(folder) = enter(above, name, false)? {
        for entry in folder.entries()? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                remove_empty(&folder, &entry.file_name())?;
            }
        }
    }
    above.remove_dir(name)
}

/// Copies a file or a link under a name that is not taken.
fn copy(from: &Path, to: &Dir, name: &str, is_synced: bool) -> io::Result<()> {
    let meta = fs::symlink_metadata(from)?;
    if meta.is_symlink() {
        return to.symlink_contents(fs::read_link(from)?, name);
    }
    let mut source = fs::File::open(from)?;
    let mut target = to.open_with(name, OpenOptions::new().write(true).create_new(true))?.into_std();
    io::copy(&mut source, &mut target)?;
    target.set_permissions(meta.permissions())?;
    if is_synced { target.sync_all() } else { Ok(()) }
}

/// Everything of the file system that a folder is in.
#[cfg(target_os = "linux")]
fn sync_all(folder: &Dir) -> io::Result<()> {
    Ok(rustix::fs::syncfs(folder)?)
}

/// Each file is synced alone there.
#[cfg(not(target_os = "linux"))]
fn sync_all(_: &Dir) -> io::Result<()> {
    Ok(())
}

/// Whether a name is this one followed by numbers.
fn is_numbered(name: &OsStr, start: &str) -> bool {
    let rest = name.to_str().and_then(|name| name.strip_prefix(start));
    let rest = rest.map(|rest| rest.strip_suffix(".lock").unwrap_or(rest));
    let rest = rest.map(|rest| rest.strip_suffix(".index").unwrap_or(rest));
    rest.is_some_and(|rest| {
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    })
}

/// Runs a function that writes files on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorktreeError> + Send + 'static,
) -> Result<T, WorktreeError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(failed("write files in", Path::new("."), io::Error::other(error))),
    }
}

fn failed(what: &'static str, path: &Path, source: io::Error) -> WorktreeError {
    // An agent may have chosen the name.
    let path = PathBuf::from(visible_name(&path.to_string_lossy()).into_owned());
    WorktreeError::File { what, path, source }
}
