//! Imports objects of others from the repository into the host's store: commits of agents and of the user, and staged files.
//! Each object gets the name of its content; if an object is missing afterwards, the repository had other content under its
//! name, or none.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::WorktreeError;
use super::git::{GitCall, GitRunner};
use crate::git_object_store::GitObjectStore;
use crate::worktrees::worktree::GITLINK;

/// Up to this size a pack is taken object by object, so that no pack for each commit stays.
const UNPACKED_BYTES_MAX: u64 = 1 << 20;

/// Older commits do not count as ancestors.
const COMMITS_MAX: &str = "--max-count=20000";

/// Reports the type of each object, or that it is missing.
const CHECK: [&str; 2] = ["cat-file", "--batch-check=%(objecttype)"];

/// The objects to import.
#[derive(Default)]
struct ObjectList {
    /// A line for git's `pack-objects` for each object.
    lines: Vec<u8>,
    /// Commits whose parents are not taken, and not there.
    shallow: BTreeSet<String>,
    /// It is the whole of the commit, with no commit before it.
    is_alone: bool,
}

impl GitRunner {
    /// Has a commit or a tree in the host's store, with everything that it names.
    ///
    /// # Errors
    /// [`WorktreeError::Objects`] if the repository does not have all of it, and those of git.
    pub(super) async fn take(&self, object: &str) -> Result<(), WorktreeError> {
        let Some(store) = self.objects() else { return Ok(()) };
        if store.is_complete(object) {
            return Ok(());
        }
        if self.missing(&[format!("{object}^{{tree}}")]).await?.is_empty() {
            store.note_complete([object.to_owned()]);
            return Ok(());
        }
        let _lock = store.lock().map_err(|source| self.file("lock the objects for", source))?;
        // The repository's own marks of a shallow clone are applied here as well.
        self.note_shallow(store, self.shallow_of_repository()?)?;
        let mut list = self.reachable(store, object).await?;
        if list.lines.is_empty() {
            return Err(self.incomplete(object));
        }
        // A tree is followed by its name, which is empty here.
        let is_commit = list.lines.starts_with(format!("{object}\n").as_bytes());
        let incoming = store.incoming().map_err(|source| self.file("take objects from", source))?;
        self.unpack(incoming.path(), list.lines).await?;
        let mut walk = self.call(&["rev-list", "--objects", "--quiet", object, "--not"]);
        if !list.is_alone {
            walk = walk.and_all(self.known(store)?).and_all(&list.shallow);
        } else if is_commit {
            list.shallow.insert(object.to_owned());
        }
        self.note_shallow(store, list.shallow)?;
        if walk.with_objects(incoming.path()).ended().await?.code != Some(0) {
            return Err(self.incomplete(object));
        }
        let noted = store.adopt(incoming.path(), object).and_then(|()| match is_commit {
            true => store.note_taken(object),
            false => Ok(()),
        });
        noted.map_err(|source| self.file("keep objects of", source))?;
        store.note_complete([object.to_owned()]);
        Ok(())
    }

    /// Has the files of an index in the host's store, as far as the repository has them. Takes the entries of `ls-files -s`.
    pub(super) async fn take_files(&self, entries: impl Iterator<Item = &[u8]>) -> Result<(), WorktreeError> {
        let Some(store) = self.objects() else { return Ok(()) };
        let mut new = file_objects(entries);
        new.retain(|name| !store.is_complete(name));
        let missing: BTreeSet<String> = self.missing(&new).await?.into_iter().collect();
        let there = new.iter().filter(|name| !missing.contains(**name)).map(|name| (*name).to_owned());
        store.note_complete(there);
        if missing.is_empty() {
            return Ok(());
        }
        let in_repository =
            self.call(&["cat-file", "--batch-check=%(objectname) %(objecttype)"]).of_repository();
        let in_repository = in_repository.input(joined(&missing)).bytes().await?;
        let is_file = |line: &&[u8]| line.ends_with(b" blob");
        let lines = in_repository.split(|byte| *byte == b'\n').filter(is_file);
        let lines: Vec<u8> =
            lines.flat_map(|line| [&line[..line.len() - b" blob".len()], b"\n"].concat()).collect();
        if lines.is_empty() {
            return Ok(());
        }
        let _lock = store.lock().map_err(|source| self.file("lock the objects for", source))?;
        let incoming = store.incoming().map_err(|source| self.file("take objects from", source))?;
        self.unpack(incoming.path(), lines).await?;
        store.adopt(incoming.path(), "").map_err(|source| self.file("keep objects of", source))
    }

    /// Which of these the host's store does not have.
    async fn missing<S: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Vec<String>, WorktreeError> {
        missing(self.call(&CHECK), names).await
    }

    /// Which of these the repository does not have.
    pub(super) async fn missing_in_repository<S: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Vec<String>, WorktreeError> {
        missing(self.call(&CHECK).of_repository(), names).await
    }

    /// The objects of a commit that the store does not have. If it has none of the commit's ancestors, the commit is imported
    /// alone.
    async fn reachable(&self, store: &GitObjectStore, object: &str) -> Result<ObjectList, WorktreeError> {
        let known = self.known(store)?;
        if !known.is_empty() {
            let walk =
                self.call(&["rev-list", "--objects", "--boundary", "--ignore-missing", COMMITS_MAX, object]);
            let found = walk.and("--not").and_all(known).of_repository().ended().await?;
            let list = ObjectList::of(&found.answer);
            if found.code == Some(0) && list.lines.starts_with(object.as_bytes()) {
                return self.with_boundary(list).await;
            }
        }
        let alone =
            self.call(&["rev-list", "--objects", "--no-walk", object]).of_repository().ended().await?;
        match alone.code {
            Some(0) => Ok(ObjectList { lines: alone.answer, is_alone: true, ..ObjectList::default() }),
            _ => Ok(ObjectList::default()),
        }
    }

    /// The parents of the imported commits, if the store does not have them, are imported too, without their own parents: git
    /// leaves out their objects.
    async fn with_boundary(&self, mut list: ObjectList) -> Result<ObjectList, WorktreeError> {
        let missing = self.missing(&list.shallow).await?;
        if !missing.is_empty() {
            let alone = self.call(&["rev-list", "--objects", "--no-walk"]).and_all(&missing).of_repository();
            list.lines.extend(alone.bytes().await?);
        }
        list.shallow = missing.into_iter().collect();
        Ok(list)
    }

    pub(super) fn known(&self, store: &GitObjectStore) -> Result<Vec<String>, WorktreeError> {
        store.taken().map_err(|source| self.file("read the objects of", source))
    }

    fn note_shallow(
        &self,
        store: &GitObjectStore,
        commits: impl IntoIterator<Item = String>,
    ) -> Result<(), WorktreeError> {
        store.note_shallow(commits).map_err(|source| self.file("take objects from", source))
    }

    /// Objects of the repository, in a folder of their own, under the names of their contents.
    async fn unpack(&self, incoming: &Path, lines: Vec<u8>) -> Result<(), WorktreeError> {
        let pack = incoming.join("claimed");
        self.packing(lines, &pack).of_repository().done().await?;
        self.unpack_file(incoming, &pack).await
    }

    /// Writes a pack with these objects to a file.
    pub(super) fn packing(&self, lines: Vec<u8>, pack: &Path) -> GitCall<'_> {
        let call = self.call(&["pack-objects", "-q", "--delta-base-offset", "--window=0", "--stdout"]);
        call.input(lines).into_file(pack)
    }

    /// Takes a pack apart in a folder of objects, or indexes it there, by the contents of its objects.
    pub(super) async fn unpack_file(&self, folder: &Path, pack: &Path) -> Result<(), WorktreeError> {
        let failed = |source: io::Error| self.file("take objects from", source);
        if pack.metadata().map_err(failed)?.len() <= UNPACKED_BYTES_MAX {
            let bytes = std::fs::read(pack).map_err(failed)?;
            return self.call(&["unpack-objects", "-q"]).with_objects(folder).input(bytes).done().await;
        }
        let index = folder.join("index");
        let named = self.call(&["index-pack", "--no-rev-index", "-o"]).and(&index).and(pack);
        let name = named.with_objects(folder).text().await?;
        let kept = |extension: &str| folder.join(format!("pack/pack-{name}.{extension}"));
        std::fs::rename(pack, kept("pack")).map_err(failed)?;
        std::fs::rename(&index, kept("idx")).map_err(failed)
    }

    fn incomplete(&self, object: &str) -> WorktreeError {
        WorktreeError::Objects { object: object.to_owned(), repository: self.repository_folder() }
    }
}

impl ObjectList {
    /// Parses the output of `rev-list --objects --boundary`, in which "-ID" is a commit that is not part of it.
    fn of(answer: &[u8]) -> Self {
        let mut list = Self::default();
        for line in answer.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match line.strip_prefix(b"-") {
                Some(commit) => drop(list.shallow.insert(String::from_utf8_lossy(commit).into_owned())),
                None => list.lines.extend([line, b"\n"].concat()),
            }
        }
        list
    }
}

/// The objects of files that an index names, by its entries: "100644 ID 0\tNAME".
pub(super) fn file_objects<'e>(entries: impl Iterator<Item = &'e [u8]>) -> BTreeSet<&'e str> {
    let files = entries.filter(|entry| !entry.starts_with(GITLINK.as_bytes()));
    files.filter_map(|entry| std::str::from_utf8(entry.split(|byte| *byte == b' ').nth(1)?).ok()).collect()
}

async fn missing<S: AsRef<str>>(
    check: GitCall<'_>,
    names: impl IntoIterator<Item = S>,
) -> Result<Vec<String>, WorktreeError> {
    let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
    if names.is_empty() {
        return Ok(names);
    }
    let found = check.input(joined(&names)).bytes().await?;
    let found = found.split(|byte| *byte == b'\n');
    let is_missing = |(_, found): &(String, &[u8])| found.ends_with(b" missing");
    Ok(names.into_iter().zip(found).filter(is_missing).map(|(name, _)| name).collect())
}

pub(super) fn joined<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Vec<u8> {
    names.into_iter().flat_map(|name| format!("{}\n", name.as_ref()).into_bytes()).collect()
}
