//! Pipes where git reads files: git opens them, and waits until another process writes there, which an agent can delay without end. What lies
//! at the top of a tree and of a git folder is looked at before git is called, since that costs nothing. The rest is searched when git takes
//! long: a pipe that a process waits for can be opened for writing, and only then.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use baton_core::visible::visible_name;
use rustix::fs::OFlags;

/// Files that git reads in a work tree because of their names.
const READ: [&str; 4] = [".gitattributes", ".gitignore", ".gitmodules", ".mailmap"];
const DOT_GIT: &str = ".git";

/// Most calls of git are over by then. Each later search waits longer, because a large repository may take its time.
const FIRST_SEARCH: Duration = Duration::from_millis(500);
const FACTOR: u32 = 4;
/// Most entries of folders that a search examines.
const MAX_ENTRIES: u32 = 2_000_000;

/// A pipe in the place of a file that git reads.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is a pipe, and git would block on it: remove it, or restore the original file",
    visible_name(&.path.to_string_lossy())
)]
pub struct BlockingPipe {
    path: PathBuf,
    /// While it is open, git reads no end of it and takes it for no empty file.
    held: Option<File>,
}

impl BlockingPipe {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, held: None }
    }
}

impl From<BlockingPipe> for io::Error {
    fn from(pipe: BlockingPipe) -> Self {
        Self::other(pipe)
    }
}

/// Refuses a pipe at the top of a work tree, or at the top of its git folders.
pub(crate) fn expect_none(top: &Path, git_folders: &[&Path]) -> Result<(), BlockingPipe> {
    let in_git = git_folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let mut read = READ.iter().map(|name| top.join(name)).chain(in_git.map(|entry| entry.path()));
    read.find(|path| is_pipe(path)).map_or(Ok(()), |path| Err(BlockingPipe::at(path)))
}

/// The same for a folder that a repository is around of.
pub(crate) fn expect_none_around(folder: &Path) -> Result<(), BlockingPipe> {
    let git_folders: Vec<PathBuf> = folder.ancestors().map(|folder| folder.join(DOT_GIT)).collect();
    expect_none(folder, &git_folders.iter().map(PathBuf::as_path).collect::<Vec<_>>())
}

/// Waits for git in these folders, which end with the future; an error if git waits for a pipe there.
pub(crate) async fn unless_it_waits<T>(
    folders: &[&Path],
    git: impl Future<Output = T>,
) -> Result<T, BlockingPipe> {
    let mut git = std::pin::pin!(git);
    let mut pause = FIRST_SEARCH;
    loop {
        tokio::select! {
            biased;
            done = &mut git => return Ok(done),
            () = tokio::time::sleep(pause) => pause *= FACTOR,
        }
        let folders: Vec<PathBuf> = folders.iter().map(|folder| folder.to_path_buf()).collect();
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let search = move || folders.iter().find_map(|folder| waited_for(folder, &is_over));
        let mut search = tokio::task::spawn_blocking(search);
        tokio::select! {
            biased;
            done = &mut git => {
                // A search that continued would wake the next git. And git may have waited for the pipe just found: git ends at
                // once if it takes an opened pipe for an empty file.
                over.store(true, Ordering::Relaxed);
                return match search.await {
                    Ok(Some(pipe)) => Err(pipe),
                    _ => Ok(done),
                };
            }
            found = &mut search => if let Ok(Some(pipe)) = found {
                return Err(pipe);
            },
        }
    }
}

/// A pipe below a folder that a process waits for and that git reads: breadth first, through no link, until it `is_over`.
fn waited_for(folder: &Path, is_over: &AtomicBool) -> Option<BlockingPipe> {
    let is_of_git = |folder: &Path| folder.components().any(|part| part.as_os_str() == DOT_GIT);
    let mut left = MAX_ENTRIES;
    let mut folders = std::collections::VecDeque::from([folder.to_owned()]);
    while let Some(folder) = folders.pop_front() {
        let in_git = is_of_git(&folder);
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            left = left.checked_sub(1)?;
            if is_over.load(Ordering::Relaxed) {
                return None;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push_back(entry.path());
                continue;
            }
            let may_be_read = in_git || READ.iter().any(|name| entry.file_name() == *name);
            if kind.is_file() || !may_be_read || !is_pipe(&entry.path()) {
                continue;
            }
            // Without a reader this fails; with one it ends the wait for a writer, and nothing is written.
            let flags = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
            let opened = OpenOptions::new().write(true).custom_flags(flags).open(entry.path());
            if let Some(held) = opened.ok().filter(is_open_pipe) {
                return Some(BlockingPipe { held: Some(held), ..BlockingPipe::at(entry.path()) });
            }
        }
    }
    None
}

pub(crate) fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.file_type().is_fifo())
}

fn is_open_pipe(file: &File) -> bool {
    file.metadata().is_ok_and(|meta| meta.file_type().is_fifo())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    #[tokio::test]
    async fn only_a_pipe_that_is_waited_for_ends_the_wait() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let at = place.path().join("deep/er/.gitignore");
        pipe(&at);
        pipe(&place.path().join("own.pipe"));
        let long = tokio::time::sleep(FIRST_SEARCH * 2);
        unless_it_waits(&[place.path()], long).await.unwrap();

        let mut git = tokio::process::Command::new("cat");
        git.arg(&at).stdout(std::process::Stdio::null()).kill_on_drop(true);
        // It begins to wait when it was looked for once.
        let waiting = async {
            tokio::time::sleep(FIRST_SEARCH * 2).await;
            git.spawn().unwrap().wait().await
        };
        let refused = unless_it_waits(&[place.path()], waiting).await.unwrap_err();
        assert!(refused.to_string().contains("deep/er/.gitignore is a pipe"), "{refused}");
    }

    #[test]
    fn a_pipe_at_the_top_is_seen_at_once() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().join(path);
        fs::create_dir(at(".git")).unwrap();
        pipe(&at("a.pipe"));
        expect_none_around(place.path()).unwrap();
        for name in [".gitattributes", ".gitmodules", ".git/config", ".git/MERGE_HEAD"] {
            pipe(&at(name));
            let refused = expect_none_around(place.path()).unwrap_err().to_string();
            assert!(refused.contains(&format!("{name} is a pipe")), "{refused}");
            fs::remove_file(at(name)).unwrap();
        }
    }
}
