//! The files that a repository ignores, and their treatment by git, according to its own folder `info`, `core.excludesFile` and
//! settings: as they were when a run began. By changing these an agent would hide its files from every diff and every commit.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::git_config::path_setting;
use crate::isolated_git_dir::{Repository, hold_file, hold_link};
use crate::regular_file::read_plain;

/// The folder, in a repository and in the host's view of one.
const INFO: &str = "info";
/// The files that git reads there for all work trees.
const NAMES: [&str; 3] = ["attributes", "exclude", "grafts"];
/// Git reads it from the folder of the work tree itself. Here only the git that makes another work tree takes it over.
const SPARSE: &str = "sparse-checkout";
/// The setting that names one more ignore list, and the name of its copy.
const EXCLUDES_KEY: &str = "core.excludesFile";
const EXCLUDES: &str = "excludes-file";
/// The name of the settings that determine how files become bytes. Git does not read this file.
const SETTINGS: &str = "settings";
/// People's lists are shorter.
const MAX_BYTES: u64 = 4 << 20;

/// The contents of these files, by name. If the repository names an excludes file, there is a copy of it, which may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitInfoSnapshot(BTreeMap<&'static str, Vec<u8>>);

impl GitInfoSnapshot {
    /// As they are now.
    pub(crate) async fn of(repository: &Repository) -> io::Result<Self> {
        let info = repository.common_dir.join(INFO);
        let mut kept = BTreeMap::new();
        for name in NAMES {
            if let Some(bytes) = content(&info.join(name))? {
                kept.insert(name, bytes);
            }
        }
        let files = [repository.git_dir.join("config.worktree"), repository.common_dir.join("config")];
        if let Some(excludes) = path_setting(&files, EXCLUDES_KEY).await? {
            // A relative path begins at the top of the work tree, and an empty one is of no file.
            let named = (!excludes.as_os_str().is_empty()).then(|| repository.top.join(excludes));
            let bytes = named.map_or(Ok(None), |file| content(&file))?;
            kept.insert(EXCLUDES, bytes.unwrap_or_default());
        }
        // Errors in them are reported by the code that needs them.
        if let Ok(settings) = repository.settings().await {
            kept.insert(SETTINGS, settings.of_start());
        }
        Ok(Self(kept))
    }

    /// The settings of that time; nothing for a run that began before they were kept.
    pub(crate) fn settings(&self) -> Option<&[u8]> {
        self.0.get(SETTINGS).map(Vec::as_slice)
    }

    /// The stored snapshot in a folder; none if there is none.
    pub(crate) fn kept(folder: &Path) -> io::Result<Option<Self>> {
        if !folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return Ok(None);
        }
        let mut kept = BTreeMap::new();
        for name in NAMES.into_iter().chain([EXCLUDES, SETTINGS]) {
            match read_plain(&folder.join(name), MAX_BYTES) {
                Ok(bytes) => drop(kept.insert(name, bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Self(kept)))
    }

    /// The stored snapshot in a folder, or the repository's current one if none was stored.
    pub(crate) async fn kept_or_of(folder: &Path, repository: &Repository) -> io::Result<Self> {
        match Self::kept(folder)? {
            Some(kept) => Ok(kept),
            None => Self::of(repository).await,
        }
    }

    /// Writes them to a folder that is not there yet: whole or not at all.
    pub(crate) fn keep(&self, folder: &Path) -> io::Result<()> {
        let part = folder.with_added_extension(format!("{}.part", std::process::id()));
        fs::create_dir_all(&part)?;
        for (name, bytes) in &self.0 {
            fs::write(part.join(name), bytes)?;
        }
        fs::rename(part, folder)
    }

    /// Creates the folder `info` in the host's view of the repository. Returns the copy of the excludes file, if the repository
    /// names one.
    pub(crate) fn hold(&self, view: &Path, repository: &Repository) -> io::Result<Option<PathBuf>> {
        let info = view.join(INFO);
        // An earlier Baton had a link to the folder of the repository here.
        if info.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
            fs::remove_file(&info)?;
        }
        fs::create_dir_all(&info)?;
        for name in NAMES.into_iter().chain([EXCLUDES]) {
            match self.0.get(name) {
                Some(bytes) => hold_file(&info.join(name), bytes)?,
                None => remove(&info.join(name))?,
            }
        }
        hold_link(&info.join(SPARSE), &repository.git_dir.join(INFO).join(SPARSE))?;
        Ok(self.0.contains_key(EXCLUDES).then(|| info.join(EXCLUDES)))
    }
}

/// None if it is not a regular file, as in git.
fn content(file: &Path) -> io::Result<Option<Vec<u8>>> {
    match file.metadata() {
        Ok(meta) if meta.is_file() => {}
        _ => return Ok(None),
    }
    read_plain(file, MAX_BYTES).map(Some).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot keep {} as it is now: {error}", file.display()))
    })
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
