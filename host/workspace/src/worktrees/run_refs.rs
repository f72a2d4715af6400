//! The refs of a run, `refs/baton/<run>/…`. Git keeps the objects that they name. Their targets are read from a file of the
//! host's, because an agent that works in the repository can write any ref. The file is written before the ref, so a crash
//! between the two loses nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use super::WorktreeError;
use super::worktree::Worktree;

/// Bytes of the file at most: some hundred thousand refs.
const REFS_BYTES_MAX: u64 = 32 << 20;

/// The commits of refs, by their full names.
type CommitsByName = BTreeMap<String, String>;

/// The file with the refs of a run.
#[derive(Clone, Debug)]
pub(super) struct RunRefs {
    file: PathBuf,
    /// The prefix of their names.
    prefix: String,
}

impl RunRefs {
    pub(super) fn new(file: PathBuf, run: &str) -> Self {
        Self { file, prefix: format!("refs/baton/{run}/") }
    }

    /// A run begins, without refs: those that git has under its name are none of its own.
    pub(super) fn begin(&self) -> Result<(), WorktreeError> {
        match self.read()? {
            Some(_) => Ok(()),
            None => self.write(&CommitsByName::new()),
        }
    }

    /// The names of a kind of refs begin with this.
    pub(super) fn below(&self, kind: &str) -> String {
        format!("{}{kind}/", self.prefix)
    }

    /// Nothing for a run that began before there was such a file.
    fn read(&self) -> Result<Option<CommitsByName>, WorktreeError> {
        match crate::regular_file::read_plain(&self.file, REFS_BYTES_MAX) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map(Some).map_err(|error| self.failed("read", error.into()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("read", error)),
        }
    }

    /// Whole or not at all, after a power cut as well.
    fn write(&self, refs: &CommitsByName) -> Result<(), WorktreeError> {
        let beside = self.file.with_added_extension("new");
        let bytes = serde_json::to_vec(refs).map_err(|error| self.failed("write", error.into()))?;
        let folder = self.file.parent().map_or(Ok(()), fs::create_dir_all);
        let written = folder.and_then(|()| {
            let mut file = fs::File::create(&beside)?;
            file.write_all(&bytes)?;
            file.sync_all()
        });
        written.and_then(|()| fs::rename(&beside, &self.file)).map_err(|error| self.failed("write", error))
    }

    fn failed(&self, what: &'static str, source: io::Error) -> WorktreeError {
        WorktreeError::File { what, path: self.file.clone(), source }
    }
}

impl Worktree {
    /// The name for git in place of a ref: for a ref of the run its recorded commit, if any, and else the name itself.
    pub(super) async fn written_down(&self, name: &str) -> Result<Option<String>, WorktreeError> {
        match name.starts_with(&self.refs.prefix) {
            true => Ok(self.own_refs().await?.remove(name)),
            false => Ok(Some(name.to_owned())),
        }
    }

    /// The refs of the run whose names begin with this, and their commits.
    pub(super) async fn refs_below(&self, prefix: &str) -> Result<CommitsByName, WorktreeError> {
        let mut refs = self.own_refs().await?;
        refs.retain(|name, _| name.starts_with(prefix));
        Ok(refs)
    }

    /// Sets a ref of the run.
    pub(super) async fn set_ref(&self, name: &str, commit: &str) -> Result<(), WorktreeError> {
        let mut refs = self.own_refs().await?;
        refs.insert(name.to_owned(), commit.to_owned());
        self.refs.write(&refs)?;
        self.git.deliver(commit).await?;
        self.git.call(&["update-ref", name, commit]).done().await
    }

    /// Removes a ref of the run, if there is one.
    pub(super) async fn remove_ref(&self, name: &str) -> Result<(), WorktreeError> {
        let mut refs = self.own_refs().await?;
        if refs.remove(name).is_some() {
            self.refs.write(&refs)?;
        }
        self.git.call(&["update-ref", "-d", name]).done().await
    }

    async fn own_refs(&self) -> Result<CommitsByName, WorktreeError> {
        if let Some(refs) = self.refs.read()? {
            return Ok(refs);
        }
        let listed = self.git.call(&["for-each-ref", "--format=%(refname) %(objectname)", &self.refs.prefix]);
        let listed = listed.text().await?;
        let named =
            |line: &str| line.split_once(' ').map(|(name, commit)| (name.to_owned(), commit.to_owned()));
        Ok(listed.lines().filter_map(named).collect())
    }
}
