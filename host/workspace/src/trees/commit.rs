//! The commit that is verified, reviewed and merged, and the tree held to it.

use std::path::Path;

use baton_core::{PhaseId, Tree};

use super::git::{path, records};
use super::place::{Place, pairs};
use super::snapshot::{Entries, difference};
use super::{MAX_CONFLICTS, TreeError, Trees};

/// The kind of refs that keep what a tree held beside its commit.
const LEFT: &str = "left";

/// What committing a tree came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committing {
    /// It is committed.
    Committed {
        /// The commit with everything of the work.
        commit: String,
        /// Files that were asked about and are nowhere.
        missing: Vec<String>,
        /// Files that were asked about, and that git ignores.
        ignored: Vec<String>,
    },
    /// A merge stands open in it, with conflicts.
    Conflicted {
        /// In these files, workspace-relative, at most [`MAX_CONFLICTS`].
        files: Vec<String>,
    },
}

/// How a tree differed from a commit: paths, workspace-relative, at most [`MAX_CONFLICTS`] a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Files that are otherwise.
    pub changed: Vec<String>,
    /// Files of the commit that were gone.
    pub gone: Vec<String>,
    /// Files that the commit does not have.
    pub added: Vec<String>,
}

impl Trees {
    /// Commits what lies in a tree of ours, and looks for files in the commit. A merge that stands open there is that of what had
    /// changed where `phase` began: it is concluded where its conflicts are resolved.
    ///
    /// # Errors
    /// [`TreeError::Gone`], [`TreeError::Nested`], [`TreeError::Unresolved`], and those of git.
    pub async fn commit(
        &self,
        phase: &PhaseId,
        tree: &Tree,
        files: &[String],
    ) -> Result<Committing, TreeError> {
        let _turn = self.0.turn.lock().await;
        let place = self.place(tree).await?;
        if let Some(open) = place.open_merge().await? {
            let seen = self.reference("seen", phase.as_str());
            if let Some(files) = place.conclude(&open, &seen, "Join what had changed meanwhile\n").await? {
                return Ok(Committing::Conflicted { files });
            }
        }
        let commit = place.settle(&format!("Work in the tree of {tree}\n")).await?;
        let (mut missing, mut ignored) = (Vec::new(), Vec::new());
        for file in files {
            if !place.has(&commit, file).await? {
                let is_there = place.root().join(file).symlink_metadata().is_ok();
                if is_there { &mut ignored } else { &mut missing }.push(file.clone());
            }
        }
        Ok(Committing::Committed { commit, missing, ignored })
    }

    /// Puts a tree of ours back to a commit: what was added or removed, and where `whole` also what was changed. What lay there is
    /// kept on a ref.
    ///
    /// # Errors
    /// [`TreeError::Gone`], [`TreeError::Nested`], and those of git.
    pub async fn restore(&self, tree: &Tree, commit: &str, whole: bool) -> Result<Differences, TreeError> {
        let _turn = self.0.turn.lock().await;
        let place = self.place(tree).await?;
        self.put_back(&place, commit, whole).await
    }

    /// The commit that a place is held to: this one, or what lies there.
    pub(super) async fn hold(
        &self,
        place: &Place,
        commit: Option<&str>,
        message: &str,
    ) -> Result<String, TreeError> {
        let Some(commit) = commit else { return place.settle(message).await };
        self.put_back(place, commit, true).await?;
        Ok(commit.to_owned())
    }

    async fn put_back(&self, place: &Place, commit: &str, whole: bool) -> Result<Differences, TreeError> {
        let is_at_home = place.head().await?.as_deref() == Some(commit)
            && place.checked_out().await? == Some(place.own_branch())
            && place.open_merge().await?.is_none();
        let then = place.tree_of(commit).await?;
        let now = self.snapshot(place, &[]).await?;
        if now.tree == then && is_at_home {
            return Ok(Differences::default());
        }
        let mut found = Differences::default();
        let mut back = Entries::new();
        let listed = ["diff-tree", "-r", "-z", "--name-status", "--no-renames"];
        let listed = now.git.call(&listed).and(&then).and(&now.tree).bytes().await?;
        let mut entries = difference(&now.git, &now.tree, &then).await?;
        for (kind, name) in pairs(&listed) {
            let name = path(name);
            let list = match kind.first() {
                Some(b'A') => &mut found.added,
                Some(b'D') => &mut found.gone,
                _ => &mut found.changed,
            };
            if list.len() < MAX_CONFLICTS {
                list.push(place.shown(&name));
            }
            let is_changed = !matches!(kind.first(), Some(b'A' | b'D'));
            if let Some(entry) = entries.remove(&name).filter(|_| whole || !is_changed) {
                back.insert(name, entry);
            }
        }
        let kept = now
            .commit(&[commit], &format!("What lay in the tree of {} beside its work\n", place.tree))
            .await?;
        let left = self.reference(LEFT, place.tree.as_str());
        place.git.call(&["update-ref", &left, &kept]).done().await?;
        let tree = now.with(&back).await?;
        now.overwrite(&tree).await?;
        if whole {
            place.go_home_to(commit).await?;
        }
        Ok(found)
    }
}

impl Place {
    /// Whether a commit has a file.
    async fn has(&self, commit: &str, file: &str) -> Result<bool, TreeError> {
        let at = self.from_top(Path::new(file));
        let listed =
            self.git.call(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--"]).and(&at);
        Ok(records(&listed.bytes().await?).next().is_some())
    }
}
