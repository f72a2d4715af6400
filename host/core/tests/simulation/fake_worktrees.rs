//! Where agents work: trees, what is in them, and what came together. Asked twice for the same, it answers
//! the same, as the host's effects do by asking the world first. Chance decides only what no input has shown yet.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::facts::{ChangedFile, WorkspaceFacts};
use baton_core::workflow::PhaseSpec;
use baton_core::{Action, ActionOutcome, ObjectiveId, PhaseId, WorktreeName};

use crate::rng::SimulationRng;
use crate::scenario::SimulationRates;

/// Most changes of the workspace during one landing: the user stops typing at some time.
const UPDATES: u32 = 3;

/// The content of a tree.
#[derive(Clone, Debug, Default)]
struct TreeContents {
    /// Objectives whose work is in it.
    pieces: BTreeSet<ObjectiveId>,
    /// Trees that were merged into it.
    merged: BTreeSet<WorktreeName>,
    /// An open merge of this tree in it; resolved, or not.
    open: Option<(WorktreeName, bool)>,
    updates: u32,
}

/// All trees, in one repository or none.
#[derive(Debug, Default)]
pub(crate) struct ModelTrees {
    git: bool,
    trees: BTreeMap<WorktreeName, TreeContents>,
    commits: Vec<BTreeSet<ObjectiveId>>,
    checkpoints: BTreeMap<WorktreeName, String>,
    landed: BTreeSet<WorktreeName>,
    /// Work that was really done, anywhere.
    pub(crate) worked: BTreeSet<ObjectiveId>,
    /// How often something happened here, for the tally.
    pub(crate) conflicts: u32,
    pub(crate) landings: u32,
}

impl ModelTrees {
    pub(crate) fn new(git: bool) -> Self {
        let trees = [(WorktreeName::workspace(), TreeContents::default())].into();
        Self { git, trees, ..Self::default() }
    }

    /// The objectives whose work is in the workspace.
    pub(crate) fn workspace(&self) -> &BTreeSet<ObjectiveId> {
        &self.trees[&WorktreeName::workspace()].pieces
    }

    /// An action needs a tree that is there.
    pub(crate) fn check(&self, tree: &WorktreeName, what: &str) -> Result<(), String> {
        if self.trees.contains_key(tree) {
            return Ok(());
        }
        let why = if self.landed.contains(tree) { "was removed after it landed" } else { "was never made" };
        Err(format!("{what} in the tree {tree}, which {why}"))
    }

    /// An agent did its work there.
    pub(crate) fn work(&mut self, tree: &WorktreeName, pieces: &[ObjectiveId]) -> Result<(), String> {
        self.check(tree, "work")?;
        if let Some(place) = self.trees.get_mut(tree) {
            place.pieces.extend(pieces.iter().cloned());
        }
        self.worked.extend(pieces.iter().cloned());
        Ok(())
    }

    /// The result of a measurement: the work of an objective is in the files that it names.
    pub(crate) fn facts(
        &self,
        tree: &WorktreeName,
        expected: &[String],
        phases: &[PhaseSpec],
    ) -> WorkspaceFacts {
        let place = self.trees.get(tree);
        let objectives = || phases.iter().flat_map(|phase| &phase.objectives);
        let is_there = |path: &String| {
            let of = objectives().find(|objective| objective.files.contains(path));
            of.zip(place).is_some_and(|(objective, place)| place.pieces.contains(&objective.id))
        };
        let (there, missing): (Vec<String>, Vec<String>) = expected.iter().cloned().partition(is_there);
        let changed = |path| ChangedFile { path, bytes: 1, exists: true, digest: None, is_new: true };
        WorkspaceFacts {
            changed: there.into_iter().map(changed).collect(),
            missing,
            ..WorkspaceFacts::default()
        }
    }

    /// An agent resolved the open merge, if there is one.
    pub(crate) fn resolve(&mut self, tree: &WorktreeName) {
        if let Some(TreeContents { open: Some((_, resolved)), .. }) = self.trees.get_mut(tree) {
            *resolved = true;
        }
    }

    pub(crate) fn is_open(&self, tree: &WorktreeName) -> bool {
        self.trees.get(tree).is_some_and(|place| matches!(place.open, Some((_, false))))
    }

    /// Performs the actions on trees; an error is a broken promise of core.
    pub(crate) fn perform(
        &mut self,
        action: &Action,
        phases: &[PhaseSpec],
        rng: &mut SimulationRng,
        temper: &SimulationRates,
    ) -> Result<ActionOutcome, String> {
        if rng.percent(temper.broken) {
            return Ok(ActionOutcome::Failed { error: "the disk is full".into() });
        }
        match action {
            Action::Checkpoint { phase, tree, integration } => self.checkpoint(phase, tree, integration),
            Action::CreateWorktree { tree, base, .. } => self.branch(tree, base),
            Action::CommitWorktree { tree, files, .. } => self.commit(tree, files, phases),
            Action::RestoreWorktree { tree, commit, whole, .. } => {
                self.restore(tree, commit, *whole, rng, temper)
            }
            Action::Merge { tree, into, commit, .. } => self.merge(tree, into, commit.as_ref(), rng, temper),
            Action::AbortMerge { tree, .. } => {
                self.check(tree, "a merge is given up")?;
                self.trees.entry(tree.clone()).and_modify(|place| place.open = None);
                Ok(ActionOutcome::Unmerged)
            }
            Action::Land { tree, into, merged, .. } => self.land(tree, into, merged, rng, temper),
            other => Err(format!("{} has nothing to do with trees", other.name())),
        }
    }

    fn checkpoint(
        &mut self,
        phase: &PhaseId,
        tree: &WorktreeName,
        integration: &WorktreeName,
    ) -> Result<ActionOutcome, String> {
        self.check(tree, "checkpoint")?;
        if !integration.as_str().starts_with(phase.as_str()) || integration == tree {
            return Err(format!("phase {phase} would come together in {integration}"));
        }
        if !self.git {
            return Ok(ActionOutcome::Checkpointed { base: None });
        }
        if let (Some(base), true) = (self.checkpoints.get(integration), self.trees.contains_key(integration))
        {
            return Ok(ActionOutcome::Checkpointed { base: Some(base.clone()) });
        }
        let pieces = self.trees[tree].pieces.clone();
        let base = format!("c{}", self.commits.len());
        self.commits.push(pieces.clone());
        self.checkpoints.insert(integration.clone(), base.clone());
        self.landed.remove(integration);
        self.trees.insert(integration.clone(), TreeContents { pieces, ..TreeContents::default() });
        Ok(ActionOutcome::Checkpointed { base: Some(base) })
    }

    fn branch(&mut self, tree: &WorktreeName, base: &str) -> Result<ActionOutcome, String> {
        let pieces = self.pieces_of(base)?;
        if tree.is_workspace() {
            return Err("the workspace is no branch".into());
        }
        self.landed.remove(tree);
        self.trees.entry(tree.clone()).or_insert(TreeContents { pieces, ..TreeContents::default() });
        Ok(ActionOutcome::Branched)
    }

    fn commit(
        &mut self,
        tree: &WorktreeName,
        files: &[String],
        phases: &[PhaseSpec],
    ) -> Result<ActionOutcome, String> {
        self.check(tree, "commit")?;
        if tree.is_workspace() {
            return Err("the workspace is the user's to commit".into());
        }
        let missing = self.facts(tree, files, phases).missing;
        let Some(place) = self.trees.get_mut(tree) else { return Err(format!("{tree} is gone")) };
        match place.open {
            Some((_, false)) => return Ok(conflicted()),
            _ => place.open = None,
        }
        let commit = format!("c{}", self.commits.len());
        self.commits.push(place.pieces.clone());
        Ok(ActionOutcome::Committed { commit, missing, ignored: Vec::new(), unseen: Vec::new() })
    }

    /// The files that commands and reviewers leave behind: sometimes an additional file, seldom a changed or removed one.
    fn restore(
        &mut self,
        tree: &WorktreeName,
        commit: &str,
        whole: bool,
        rng: &mut SimulationRng,
        temper: &SimulationRates,
    ) -> Result<ActionOutcome, String> {
        self.check(tree, "restore")?;
        let pieces = self.pieces_of(commit)?;
        if let (true, Some(place)) = (whole, self.trees.get_mut(tree)) {
            place.pieces = pieces;
        }
        let mut some = |percent| match rng.percent(percent) {
            true => vec!["src/lib.rs".to_owned()],
            false => Vec::new(),
        };
        Ok(ActionOutcome::Restored {
            changed: some(temper.red / 4),
            gone: some(temper.red / 4),
            added: some(temper.red),
        })
    }

    fn pieces_of(&self, commit: &str) -> Result<BTreeSet<ObjectiveId>, String> {
        let number = commit.strip_prefix('c').and_then(|n| n.parse::<usize>().ok());
        let pieces = number.and_then(|n| self.commits.get(n)).cloned();
        pieces.ok_or_else(|| format!("{commit:?} is no commit"))
    }

    fn merge(
        &mut self,
        tree: &WorktreeName,
        into: &WorktreeName,
        commit: Option<&String>,
        rng: &mut SimulationRng,
        temper: &SimulationRates,
    ) -> Result<ActionOutcome, String> {
        self.check(tree, "merge from")?;
        self.check(into, "merge")?;
        let pieces = match commit {
            Some(commit) => self.pieces_of(commit)?,
            None => self.trees[tree].pieces.clone(),
        };
        let Some(place) = self.trees.get_mut(into) else { return Err(format!("{into} is gone")) };
        if !place.merged.contains(tree) {
            match &place.open {
                Some((open, false)) if open == tree => return Ok(conflicted()),
                Some((open, true)) if open == tree => {}
                _ => {
                    place.open = None;
                    if rng.percent(temper.conflicts) {
                        self.conflicts += 1;
                        place.open = Some((tree.clone(), false));
                        return Ok(conflicted());
                    }
                }
            }
            place.open = None;
            place.pieces.extend(pieces);
            place.merged.insert(tree.clone());
        }
        Ok(ActionOutcome::Merged { commit: format!("m-{tree}"), files: 1 })
    }

    fn land(
        &mut self,
        tree: &WorktreeName,
        into: &WorktreeName,
        merged: &[WorktreeName],
        rng: &mut SimulationRng,
        temper: &SimulationRates,
    ) -> Result<ActionOutcome, String> {
        let landed = ActionOutcome::Landed { commit: format!("l-{tree}"), committed: true, files: 1 };
        if self.landed.contains(tree) {
            return Ok(landed);
        }
        self.check(tree, "land from")?;
        self.check(into, "land")?;
        let Some(mut place) = self.trees.get(tree).cloned() else { return Err(format!("{tree} is gone")) };
        let of_parts: BTreeSet<WorktreeName> =
            place.merged.iter().filter(|part| !part.is_workspace()).cloned().collect();
        if of_parts != merged.iter().cloned().collect() {
            return Err(format!("{tree} lands as {merged:?}, and holds {of_parts:?}"));
        }
        match place.open {
            Some((_, false)) => return Ok(conflicted()),
            Some((_, true)) => place.open = None,
            None if place.updates < UPDATES && rng.percent(temper.updates) => {
                place.updates += 1;
                place.pieces.extend(self.trees[into].pieces.iter().cloned());
                let fits = !rng.percent(temper.conflicts);
                place.open = (!fits).then(|| (into.clone(), false));
                self.trees.insert(tree.clone(), place);
                return Ok(if fits { ActionOutcome::Updated } else { conflicted() });
            }
            None => {}
        }
        self.landings += 1;
        if let Some(target) = self.trees.get_mut(into) {
            target.pieces.extend(place.pieces);
        }
        for gone in merged.iter().chain([tree]) {
            self.trees.remove(gone);
            self.landed.insert(gone.clone());
        }
        Ok(landed)
    }
}

fn conflicted() -> ActionOutcome {
    ActionOutcome::Conflicted { files: vec!["src/lib.rs".into()] }
}
