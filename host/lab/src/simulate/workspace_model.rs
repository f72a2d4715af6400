//! The workspace of simulated agents: trees, the work in them with its quality, and merges. Repeated effects are idempotent, as
//! the host's are. The agents' own view of the work is kept by the agents.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::facts::{ChangedFile, GitFacts, WorkspaceFacts};
use baton_core::{Action, ActionOutcome, Digest, ObjectiveId, PhaseId, Workflow, WorktreeName};

use super::model::Model;
use super::sim_rng::SimRng;

/// Times that one landing meets a workspace that has moved: people stop typing at some time.
const MOVES_MAX: u32 = 3;

/// State of the work on an objective in a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ObjectiveWork {
    /// Turns of it that are done and not lost.
    pub(super) turns: f64,
    /// It was finished, rightly or wrongly.
    pub(super) finished: Option<bool>,
    /// Grows with every change, so that a file that was written again is another one.
    pub(super) version: u32,
}

/// What lies in a tree.
#[derive(Clone, Debug, Default)]
struct SimWorktree {
    pieces: BTreeMap<ObjectiveId, ObjectiveWork>,
    merged: BTreeSet<WorktreeName>,
    /// The tree of an open merge into this one, and whether the merge is resolved.
    open: Option<(WorktreeName, bool)>,
    moves: u32,
}

/// All trees of a run.
#[derive(Debug)]
pub(super) struct WorkspaceModel {
    git: bool,
    files: BTreeMap<ObjectiveId, Vec<String>>,
    trees: BTreeMap<WorktreeName, SimWorktree>,
    commits: Vec<BTreeMap<ObjectiveId, ObjectiveWork>>,
    checkpoints: BTreeMap<WorktreeName, String>,
    landed: BTreeSet<WorktreeName>,
    /// What lay there when a phase began.
    baselines: BTreeMap<PhaseId, BTreeMap<ObjectiveId, ObjectiveWork>>,
}

impl WorkspaceModel {
    pub(super) fn new(workflow: &Workflow, git: bool) -> Self {
        let objectives = workflow.phases.iter().flat_map(|phase| &phase.objectives);
        Self {
            git,
            files: objectives
                .map(|objective| (objective.id.clone(), files_of(&objective.id, &objective.files)))
                .collect(),
            trees: BTreeMap::from([(WorktreeName::workspace(), SimWorktree::default())]),
            commits: Vec::new(),
            checkpoints: BTreeMap::new(),
            landed: BTreeSet::new(),
            baselines: BTreeMap::new(),
        }
    }

    /// The files that an objective leaves.
    pub(super) fn files(&self, objective: &ObjectiveId) -> Vec<String> {
        self.files.get(objective).cloned().unwrap_or_else(|| files_of(objective, &[]))
    }

    /// State of the work on an objective in this tree.
    pub(super) fn piece(&self, tree: &WorktreeName, objective: &ObjectiveId) -> ObjectiveWork {
        self.trees.get(tree).and_then(|place| place.pieces.get(objective)).copied().unwrap_or_default()
    }

    /// Changes it. Work in a tree that is gone is lost with it.
    pub(super) fn work(
        &mut self,
        tree: &WorktreeName,
        objective: &ObjectiveId,
        change: impl FnOnce(&mut ObjectiveWork),
    ) {
        if let Some(place) = self.trees.get_mut(tree) {
            change(place.pieces.entry(objective.clone()).or_default());
        }
    }

    /// The number of these objectives that are done right in a tree.
    pub(super) fn right<'o>(&self, tree: &WorktreeName, of: impl Iterator<Item = &'o ObjectiveId>) -> u32 {
        of.map(|objective| u32::from(self.piece(tree, objective).finished == Some(true))).sum()
    }

    /// Marks the open merge of a tree, if there is one, as resolved by a session.
    pub(super) fn resolve(&mut self, tree: &WorktreeName) {
        if let Some(SimWorktree { open: Some((_, resolved)), .. }) = self.trees.get_mut(tree) {
            *resolved = true;
        }
    }

    pub(super) fn is_open(&self, tree: &WorktreeName) -> bool {
        self.trees.get(tree).is_some_and(|place| matches!(place.open, Some((_, false))))
    }

    /// What a measurement finds.
    pub(super) fn measure(
        &mut self,
        phase: &PhaseId,
        baseline: bool,
        expected: &[String],
        tree: &WorktreeName,
    ) -> ActionOutcome {
        let none = BTreeMap::new();
        let now = self.trees.get(tree).map_or(&none, |place| &place.pieces);
        if baseline {
            self.baselines.insert(phase.clone(), now.clone());
        }
        let before = self.baselines.get(phase).unwrap_or(&none);
        let written = now.iter().filter(|(_, piece)| piece.version > 0);
        let there: BTreeSet<String> =
            written.clone().flat_map(|(objective, _)| self.files(objective)).collect();
        let differs = |objective: &ObjectiveId, piece: &ObjectiveWork| {
            before.get(objective).map_or(0, |before| before.version) != piece.version
        };
        let changed: Vec<ChangedFile> = written
            .filter(|(objective, piece)| differs(objective, piece))
            .flat_map(|(objective, piece)| {
                self.files(objective).into_iter().map(move |path| (path, piece.version))
            })
            .map(|(path, version)| ChangedFile {
                bytes: 400 + 40 * u64::from(version),
                exists: true,
                digest: Some(Digest::of(format!("{path} {version}"))),
                path,
                is_new: false,
            })
            .collect();
        let git = match self.git {
            true => GitFacts {
                present: true,
                branch: "main".to_owned(),
                head: "0".repeat(40),
                dirty_files: u32::try_from(changed.len()).unwrap_or(u32::MAX),
                ..GitFacts::default()
            },
            false => GitFacts::default(),
        };
        let missing = expected.iter().filter(|path| !there.contains(*path)).cloned().collect();
        let files = u32::try_from(there.len()).unwrap_or(u32::MAX);
        ActionOutcome::WorkspaceMeasured {
            facts: WorkspaceFacts { git, files, changed, missing, ..WorkspaceFacts::default() },
        }
    }

    /// Performs the actions on trees. An error describes the action that failed.
    pub(super) fn perform(&mut self, action: &Action, rng: &mut SimRng, model: &Model) -> ActionOutcome {
        let done = match action {
            Action::Checkpoint { tree, integration, .. } => self.checkpoint(tree, integration),
            Action::CreateWorktree { tree, base, .. } => self.branch(tree, base),
            Action::CommitWorktree { tree, files, .. } => self.commit(tree, files),
            Action::RestoreWorktree { .. } => {
                let (changed, gone, added) = Default::default();
                Ok(ActionOutcome::Restored { changed, gone, added })
            }
            Action::Merge { tree, into, .. } => self.merge(tree, into, rng, model),
            Action::AbortMerge { tree, .. } => {
                if let Some(place) = self.trees.get_mut(tree) {
                    place.open = None;
                }
                Ok(ActionOutcome::Unmerged)
            }
            Action::Land { tree, into, merged, .. } => self.land(tree, into, merged, rng, model),
            other => Err(format!("{} has nothing to do with trees", other.name())),
        };
        done.unwrap_or_else(|error| ActionOutcome::Failed { error })
    }

    fn place(&mut self, tree: &WorktreeName) -> Result<&mut SimWorktree, String> {
        self.trees.get_mut(tree).ok_or_else(|| format!("there is no tree {tree}"))
    }

    /// No change follows the commit of a tree here, so that the tree is the commit.
    fn commit(&mut self, tree: &WorktreeName, files: &[String]) -> Result<ActionOutcome, String> {
        let place = self.place(tree)?;
        match place.open {
            Some((_, false)) => return Ok(conflicted()),
            _ => place.open = None,
        }
        let written: Vec<ObjectiveId> =
            place.pieces.iter().filter(|(_, piece)| piece.version > 0).map(|(id, _)| id.clone()).collect();
        let there: BTreeSet<String> = written.iter().flat_map(|objective| self.files(objective)).collect();
        let missing = files.iter().filter(|path| !there.contains(*path)).cloned().collect();
        Ok(ActionOutcome::Committed {
            commit: "3".repeat(40),
            missing,
            ignored: Vec::new(),
            unseen: Vec::new(),
        })
    }

    fn checkpoint(
        &mut self,
        tree: &WorktreeName,
        integration: &WorktreeName,
    ) -> Result<ActionOutcome, String> {
        if !self.git {
            return Ok(ActionOutcome::Checkpointed { base: None });
        }
        if let (Some(base), true) = (self.checkpoints.get(integration), self.trees.contains_key(integration))
        {
            return Ok(ActionOutcome::Checkpointed { base: Some(base.clone()) });
        }
        let pieces = self.place(tree)?.pieces.clone();
        let base = format!("{:040x}", self.commits.len());
        self.commits.push(pieces.clone());
        self.checkpoints.insert(integration.clone(), base.clone());
        self.landed.remove(integration);
        self.trees.insert(integration.clone(), SimWorktree { pieces, ..SimWorktree::default() });
        Ok(ActionOutcome::Checkpointed { base: Some(base) })
    }

    fn branch(&mut self, tree: &WorktreeName, base: &str) -> Result<ActionOutcome, String> {
        let commit = usize::from_str_radix(base, 16).ok().and_then(|n| self.commits.get(n));
        let pieces = commit.ok_or_else(|| format!("{base} is no commit"))?.clone();
        self.landed.remove(tree);
        self.trees.entry(tree.clone()).or_insert(SimWorktree { pieces, ..SimWorktree::default() });
        Ok(ActionOutcome::Branched)
    }

    fn merge(
        &mut self,
        tree: &WorktreeName,
        into: &WorktreeName,
        rng: &mut SimRng,
        model: &Model,
    ) -> Result<ActionOutcome, String> {
        let pieces = self.place(tree)?.pieces.clone();
        let place = self.place(into)?;
        if !place.merged.contains(tree) {
            match &place.open {
                Some((open, false)) if open == tree => return Ok(conflicted()),
                Some((open, true)) if open == tree => {}
                _ if rng.chance(model.merge.conflicts) => {
                    place.open = Some((tree.clone(), false));
                    return Ok(conflicted());
                }
                _ => {}
            }
            place.open = None;
            take_newer(&mut place.pieces, &pieces);
            place.merged.insert(tree.clone());
        }
        Ok(ActionOutcome::Merged { commit: "1".repeat(40), files: count(&pieces) })
    }

    fn land(
        &mut self,
        tree: &WorktreeName,
        into: &WorktreeName,
        merged: &[WorktreeName],
        rng: &mut SimRng,
        model: &Model,
    ) -> Result<ActionOutcome, String> {
        let commit = "2".repeat(40);
        if self.landed.contains(tree) {
            return Ok(ActionOutcome::Landed { commit, committed: true, files: 0 });
        }
        let target = self.place(into)?.pieces.clone();
        let place = self.place(tree)?;
        match place.open {
            Some((_, false)) => return Ok(conflicted()),
            Some((_, true)) => place.open = None,
            None if place.moves < MOVES_MAX && rng.chance(model.merge.moves) => {
                place.moves += 1;
                let fits = !rng.chance(model.merge.conflicts);
                place.open = (!fits).then(|| (into.clone(), false));
                let ours = std::mem::replace(&mut place.pieces, target);
                take_newer(&mut place.pieces, &ours);
                return Ok(if fits { ActionOutcome::Updated } else { conflicted() });
            }
            None => {}
        }
        let pieces = place.pieces.clone();
        let files = count(&pieces);
        take_newer(&mut self.place(into)?.pieces, &pieces);
        for gone in merged.iter().chain([tree]) {
            self.trees.remove(gone);
            self.landed.insert(gone.clone());
        }
        Ok(ActionOutcome::Landed { commit, committed: true, files })
    }
}

/// Replaces the work on each objective by that of `from`, if that is newer.
fn take_newer(there: &mut BTreeMap<ObjectiveId, ObjectiveWork>, from: &BTreeMap<ObjectiveId, ObjectiveWork>) {
    for (objective, piece) in from {
        let held = there.entry(objective.clone()).or_default();
        if piece.version > held.version || piece.turns > held.turns {
            *held = *piece;
        }
    }
}

fn count(pieces: &BTreeMap<ObjectiveId, ObjectiveWork>) -> u32 {
    u32::try_from(pieces.values().filter(|piece| piece.version > 0).count()).unwrap_or(u32::MAX)
}

/// An objective that names no files still leaves one.
fn files_of(objective: &ObjectiveId, named: &[String]) -> Vec<String> {
    if named.is_empty() { vec![format!("src/{objective}.rs")] } else { named.to_vec() }
}

fn conflicted() -> ActionOutcome {
    ActionOutcome::Conflicted { files: vec!["src/lib.rs".to_owned()] }
}
