//! Brings the merged work to the place where the phase began. The work tree gets the whole result or nothing of it: if it has
//! changed in the meantime, its change is merged into the integration tree first, and nothing is written.

use baton_core::{PhaseId, WorktreeName};

use super::pending_change::{ApplyResult, BranchMove, ChangeRecord, WorkspaceChange};
use super::snapshot::{IndexEntries, WorktreeSnapshot, difference};
use super::worktree::Worktree;
use super::{RunWorktrees, WorktreeError};

/// The kind of refs that record landings.
pub(super) const LANDED: &str = "landed";

/// The result of a landing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandResult {
    /// Everything is in the place where the phase began.
    Landed {
        /// The commit with everything.
        commit: String,
        /// The branch there contains it. With uncommitted work, or without a branch, it was added as files.
        committed: bool,
        /// Files that it brought or changed.
        files: u32,
    },
    /// The work tree had changed. That is merged in the integration tree now, and not verified yet; nothing was written.
    Updated,
    /// The work tree had changed, with a conflict. The merge is open in the integration tree; nothing was written.
    Conflicted {
        /// In these files, workspace-relative.
        files: Vec<String>,
    },
}

/// The verified content of an integration tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct VerifiedCommit<'a> {
    /// How often the work tree's changes were reported to the caller so far: unreported changes are not verified.
    pub round: u32,
    /// The commit that was verified; only this one lands. Absent for the content of the tree.
    pub commit: Option<&'a str>,
}

/// Rounds whose records are deleted with a landing; callers ask the user long before.
const ROUNDS: u32 = 16;

/// The data of a landing, for the methods below.
struct LandingAttempt<'a> {
    phase: &'a PhaseId,
    base: &'a str,
    /// How often the work tree's changes were reported to the caller.
    round: u32,
    worktree: Worktree,
    integration: Worktree,
    /// The commit in which everything came together.
    joined: String,
}

impl RunWorktrees {
    /// Brings an integration tree back to where its phase began, and removes the trees whose work is in it; their commits are
    /// kept. A work tree that was clean at the checkpoint, on a branch, gets the commits; any other gets the files, and its
    /// HEAD and its index stay as they are.
    ///
    /// # Errors
    /// [`WorktreeError`] if git fails, [`WorktreeError::InTheWay`], and [`WorktreeError::Gone`] if the integration tree does
    /// not exist.
    pub async fn land(
        &self,
        phase: &PhaseId,
        tree: &WorktreeName,
        into: &WorktreeName,
        base: &str,
        merged: &[WorktreeName],
        verified: VerifiedCommit<'_>,
    ) -> Result<LandResult, WorktreeError> {
        let VerifiedCommit { round, commit } = verified;
        let _guard = self.0.repository_lock.lock().await;
        let worktree = self.worktree(into).await?;
        let integration = self.worktree_if_any(tree).await?;
        let seen = self.reference("seen", phase.as_str());
        if let Some(integration) = &integration
            && let Some(open) = integration.open_merge().await?
            && let Some(files) =
                integration.conclude(&open, &seen, "Join what had changed meanwhile\n").await?
        {
            if !self.is_merge_outdated(&worktree, &seen).await? {
                return Ok(LandResult::Conflicted { files });
            }
            integration.give_up().await?;
        }
        let joined = match &integration {
            Some(integration) => {
                Some(self.hold(integration, commit, &format!("Work in the tree of {tree}\n")).await?)
            }
            None => None,
        };
        let is_this = |record: &&ChangeRecord| {
            let change = &record.change;
            let is_joined = joined.as_ref().is_none_or(|joined| *joined == change.joined);
            change.phase == phase.as_str()
                && change.worktree == into.as_str()
                && change.base == base
                && is_joined
        };
        let records = self.records(&worktree, LANDED).await?;
        if let Some(record) = records.iter().rev().find(is_this) {
            let why = format!("baton: phase {phase} landed");
            if record.is_done || self.apply_change(&worktree, &record.change, &why).await? == ApplyResult::Out
            {
                return self.landed(&worktree, record, tree, merged).await;
            }
            // It was changed after the crash: what is there counts as it is.
            self.discard_change(&worktree, LANDED, record).await?;
        }
        let (Some(integration), Some(joined)) = (integration, joined) else {
            return Err(WorktreeError::Gone { tree: tree.clone(), path: self.path_of(tree) });
        };
        let attempt = LandingAttempt { phase, base, round, worktree, integration, joined };
        self.try_land(attempt, tree, merged).await
    }

    /// The state of the work tree that is being merged is not the present one any more: that merge leads nowhere.
    async fn is_merge_outdated(&self, worktree: &Worktree, seen: &str) -> Result<bool, WorktreeError> {
        let Some(seen) = worktree.commit(seen).await? else { return Ok(false) };
        let seen_tree = worktree.tree_of(&seen).await?;
        Ok(self.snapshot(worktree, &[&seen_tree]).await?.tree != seen_tree)
    }

    async fn try_land(
        &self,
        attempt: LandingAttempt<'_>,
        tree: &WorktreeName,
        merged: &[WorktreeName],
    ) -> Result<LandResult, WorktreeError> {
        let LandingAttempt { phase, base, round, worktree, joined, .. } = &attempt;
        let reported_ref = self.reported_update(phase.as_str(), *round);
        let seen = self.merged_target_state(&attempt, &self.reference("seen", phase.as_str())).await?;
        let (seen_tree, after) = (worktree.tree_of(&seen).await?, worktree.tree_of(joined).await?);
        let now = self.snapshot(worktree, &[&seen_tree, &after]).await?;
        let mut is_reported = false;
        for before in 0..*round {
            is_reported |=
                worktree.commit(&self.reported_update(phase.as_str(), before)).await?.as_ref() == Some(&seen);
        }
        let (mut before, mut after) = (seen.clone(), after);
        if now.tree != seen_tree {
            let combined = if is_reported {
                self.combine_disjoint_changes(worktree, &now, &seen_tree, &after).await?
            } else {
                None
            };
            let Some(with_both) = combined else {
                return self.update(&attempt, &now, &seen).await;
            };
            before = self.keep_state(&attempt, &now, &seen).await?;
            after = with_both;
        } else if seen != *base && !is_reported {
            // A session resolved it and committed itself, or the host died before it could return the same answer.
            worktree.set_ref(&reported_ref, &seen).await?;
            return Ok(LandResult::Updated);
        }
        self.expect_kept(worktree, &format!("what came together for phase {phase}"), &now.tree, &after)
            .await?;
        let mut concerned = difference(&now.git, &now.tree, &after).await?;
        concerned.retain(|path, _| !worktree.is_own(path));
        let change = WorkspaceChange {
            schema: 1,
            phase: phase.to_string(),
            worktree: worktree.tree.as_str().to_owned(),
            base: (*base).to_owned(),
            joined: joined.clone(),
            before,
            after,
            branch: self.plan_branch_move(&attempt, &now).await?,
            files: u32::try_from(concerned.len()).unwrap_or(u32::MAX),
            takes_back: Vec::new(),
        };
        drop(now);
        let subject = format!("Phase {phase} of run {} lands", self.0.run);
        let record = self.record_change(worktree, LANDED, &subject, change).await?;
        match self.apply_change(worktree, &record.change, &format!("baton: phase {phase} landed")).await? {
            ApplyResult::Out => self.landed(worktree, &record, tree, merged).await,
            ApplyResult::Changed(_) => {
                // Within the blink of an eye.
                self.discard_change(worktree, LANDED, &record).await?;
                let now = self.snapshot(worktree, &[&seen_tree, &record.change.after]).await?;
                self.update(&attempt, &now, &seen).await
            }
        }
    }

    /// The newest state of the work tree that is merged; one whose merge an agent gave up does not count.
    async fn merged_target_state(
        &self,
        attempt: &LandingAttempt<'_>,
        reference: &str,
    ) -> Result<String, WorktreeError> {
        let LandingAttempt { base, worktree, joined, .. } = attempt;
        let mut candidate = worktree.commit(reference).await?;
        while let Some(seen) = candidate {
            if worktree.holds(&seen, joined).await? {
                return Ok(seen);
            }
            candidate = match self.is_snapshot(worktree, &seen).await? {
                // The state before it.
                true => worktree.commit(&format!("{seen}^")).await?,
                false => None,
            };
        }
        Ok((*base).to_owned())
    }

    async fn is_snapshot(&self, worktree: &Worktree, commit: &str) -> Result<bool, WorktreeError> {
        Ok(worktree.commit(&(self.references("snapshots") + commit)).await?.is_some())
    }

    /// The work tree with the result beside what has changed there since, if both touch different files: the user works there
    /// all the time, and the result was verified with an earlier state of that once.
    async fn combine_disjoint_changes(
        &self,
        worktree: &Worktree,
        now: &WorktreeSnapshot,
        seen: &str,
        after: &str,
    ) -> Result<Option<String>, WorktreeError> {
        if let Some(head) = worktree.head().await?
            && worktree.tree_of(&head).await? == now.tree
        {
            // Commits are to stay below the result.
            return Ok(None);
        }
        let theirs = difference(&now.git, seen, &now.tree).await?;
        let mut ours = difference(&now.git, seen, after).await?;
        ours.retain(|path, _| !worktree.is_own(path));
        let meets = |some: &IndexEntries, others: &IndexEntries| {
            some.keys().any(|path| path.ancestors().any(|above| others.contains_key(above)))
        };
        if meets(&ours, &theirs) || meets(&theirs, &ours) {
            return Ok(None);
        }
        now.with(&ours).await.map(Some)
    }

    /// Keeps the state of the work tree as a commit that no branch of the user's gets.
    async fn keep_state(
        &self,
        attempt: &LandingAttempt<'_>,
        now: &WorktreeSnapshot,
        seen: &str,
    ) -> Result<String, WorktreeError> {
        let LandingAttempt { phase, worktree, .. } = attempt;
        let message = format!(
            "The state of {} when phase {phase} was to land\n\nUncommitted work of run {}.\n",
            worktree.tree, self.0.run
        );
        let state = now.commit(&[seen], &message).await?;
        self.mark_snapshot(worktree, &state).await?;
        Ok(state)
    }

    /// The branch to be moved: the one of the checkpoint, if it can go forward to the result without including uncommitted
    /// changes.
    async fn plan_branch_move(
        &self,
        attempt: &LandingAttempt<'_>,
        now: &WorktreeSnapshot,
    ) -> Result<Option<BranchMove>, WorktreeError> {
        let LandingAttempt { phase, worktree, joined, .. } = attempt;
        let (Some(head), Some(name)) = (worktree.head().await?, worktree.checked_out().await?) else {
            return Ok(None);
        };
        if worktree.commit(&self.checkpoint_branch_ref(phase.as_str(), &name)).await?.is_none() {
            return Ok(None);
        }
        let is_clean = worktree.tree_of(&head).await? == now.tree
            && worktree.unmerged().await?.is_empty()
            && worktree.open_merge().await?.is_none()
            && worktree.git.call(&["diff-index", "--cached", "--quiet", "HEAD", "--"]).holds().await?;
        if !is_clean || !worktree.holds(&head, joined.as_str()).await? {
            return Ok(None);
        }
        // Uncommitted work of the user's would come along.
        for commit in worktree.refs_below(&self.references("snapshots")).await?.values() {
            if worktree.holds(commit, joined).await? && !worktree.holds(commit, &head).await? {
                return Ok(None);
            }
        }
        Ok(Some(BranchMove { name, from: head, to: joined.to_owned() }))
    }

    /// Merges the current work tree into the integration tree.
    async fn update(
        &self,
        attempt: &LandingAttempt<'_>,
        now: &WorktreeSnapshot,
        seen: &str,
    ) -> Result<LandResult, WorktreeError> {
        let LandingAttempt { phase, worktree, integration, .. } = attempt;
        let is_snapshot = self.is_snapshot(worktree, seen).await?;
        let committed = match worktree.head().await? {
            Some(head)
                if !is_snapshot
                    && worktree.tree_of(&head).await? == now.tree
                    && worktree.holds(seen, &head).await? =>
            {
                Some(head)
            }
            _ => None,
        };
        let state = match committed {
            Some(head) => head,
            None => self.keep_state(attempt, now, seen).await?,
        };
        let (seen_ref, reported_ref) =
            (self.reference("seen", phase.as_str()), self.reported_update(phase.as_str(), attempt.round));
        worktree.set_ref(&seen_ref, &state).await?;
        worktree.set_ref(&integration.fork, &state).await?;
        match integration.git_merge(&seen_ref, "Join what had changed meanwhile").await? {
            Some(files) => Ok(LandResult::Conflicted { files }),
            None => {
                worktree.set_ref(&reported_ref, &state).await?;
                Ok(LandResult::Updated)
            }
        }
    }

    /// The work has landed. Unneeded trees are removed.
    async fn landed(
        &self,
        worktree: &Worktree,
        record: &ChangeRecord,
        tree: &WorktreeName,
        merged: &[WorktreeName],
    ) -> Result<LandResult, WorktreeError> {
        self.mark(worktree, LANDED, record, "done").await?;
        let change = &record.change;
        for done in merged.iter().chain([tree]) {
            self.remove(worktree, done, &change.joined).await?;
        }
        worktree.remove_ref(&self.reference("base", &change.phase)).await?;
        self.forget_seen(worktree, &change.phase).await?;
        self.forget_all()?;
        let committed = change.branch.is_some();
        let commit = if committed { change.joined.clone() } else { record.commit.clone() };
        Ok(LandResult::Landed { commit, committed, files: change.files })
    }

    /// The ref that records the branch that was checked out at the checkpoint.
    pub(super) fn checkpoint_branch_ref(&self, phase: &str, branch: &str) -> String {
        format!("{}/{}", self.reference("home", phase), branch.trim_start_matches("refs/heads/"))
    }

    /// The ref of the state that was reported in a round.
    fn reported_update(&self, phase: &str, round: u32) -> String {
        self.reference("told", &format!("{phase}-{round}"))
    }

    /// Deletes the records of merged and reported states of the work tree, and its branch: another landing begins with none.
    pub(super) async fn forget_seen(&self, worktree: &Worktree, phase: &str) -> Result<(), WorktreeError> {
        worktree.remove_ref(&self.reference("seen", phase)).await?;
        let below = self.reference("home", phase) + "/";
        for reference in worktree.refs_below(&below).await?.keys() {
            worktree.remove_ref(reference).await?;
        }
        for round in 0..ROUNDS {
            worktree.remove_ref(&self.reported_update(phase, round)).await?;
        }
        Ok(())
    }
}
