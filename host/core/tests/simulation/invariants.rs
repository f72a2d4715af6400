//! What holds after every input, whatever happens, said in what is visible from outside: inputs, intents, and the view.

mod reports;
mod state;

use std::collections::{BTreeMap, BTreeSet};

use baton_core::action::{RunOutcome, SpawnSpec};
use baton_core::input::PauseAnswer;
use baton_core::observation::ObjectiveStatus;
use baton_core::progress::ProgressEvent;
use baton_core::view::{PhaseOrigin, PhaseStatus, PhaseSummary, RunView};
use baton_core::workflow::{PhaseSpec, REVIEW_SCORE};
use baton_core::{
    Action, ActionId, ActionOutcome, Input, Intent, JournaledInput, ObjectiveId, PhaseId, SessionId,
    Workflow, WorktreeName,
};

use reports::Reports;

/// The phases of a view, by their id.
type PhaseRows = BTreeMap<PhaseId, PhaseSummary>;

/// The observations so far.
#[derive(Debug)]
pub(crate) struct RunChecks {
    workflow: Workflow,
    last_intent: ActionId,
    open: BTreeMap<ActionId, Action>,
    /// Sessions that may have a process.
    live: BTreeMap<SessionId, SpawnSpec>,
    /// Objectives that were said to be done.
    done: BTreeSet<ObjectiveId>,
    /// Phases whose work was found not to be good enough: it may be reviewed again.
    unhappy: BTreeSet<PhaseId>,
    /// Phases that were granted a fresh start, by the user or a loop.
    forgiven: BTreeSet<PhaseId>,
    /// How often their work was found not to be good enough since then: by commands, and by reviewers.
    failures: BTreeMap<PhaseId, [u32; 2]>,
    /// How often the loop that ends in a phase was walked since the user last asked for a retry.
    walked: BTreeMap<PhaseId, u32>,
    /// Parts in conflict, by their phase; and those that the user left unmerged.
    conflicts: BTreeMap<PhaseId, PhaseId>,
    apart: BTreeSet<PhaseId>,
    /// Parts whose work was merged, by the tree of the merge.
    merged: BTreeMap<WorktreeName, Vec<PhaseId>>,
    /// The last commit of a phase's work.
    commits: BTreeMap<PhaseId, String>,
    /// Whether the merged work passed a verification since it last changed.
    verified: BTreeMap<PhaseId, bool>,
    /// The reports of agents about objectives, and their handoffs.
    reports: Reports,
    /// The view before, and the questions in it.
    before: PhaseRows,
    questions: BTreeMap<ActionId, Option<PhaseId>>,
}

impl RunChecks {
    pub(crate) fn new(workflow: &Workflow) -> Self {
        Self {
            workflow: workflow.clone(),
            last_intent: ActionId(0),
            open: BTreeMap::new(),
            live: BTreeMap::new(),
            done: BTreeSet::new(),
            unhappy: BTreeSet::new(),
            forgiven: BTreeSet::new(),
            failures: BTreeMap::new(),
            walked: BTreeMap::new(),
            conflicts: BTreeMap::new(),
            apart: BTreeSet::new(),
            merged: BTreeMap::new(),
            commits: BTreeMap::new(),
            verified: BTreeMap::new(),
            reports: Reports::default(),
            before: PhaseRows::new(),
            questions: BTreeMap::new(),
        }
    }

    /// After every input.
    pub(crate) fn see(
        &mut self,
        stamped: &JournaledInput,
        intents: &[Intent],
        view: Option<RunView>,
    ) -> Result<(), String> {
        for intent in intents {
            if let Action::RequestDecision { request, .. } = &intent.action {
                self.reports.asked(&request.query);
            }
        }
        let Some(view) = view else {
            self.last_intent = intents.last().map_or(self.last_intent, |intent| intent.id);
            return self.hear(&stamped.input);
        };
        let (count, questions) = (view.phases.len(), view.questions);
        let rows: PhaseRows = view.phases.into_iter().map(|row| (row.id.clone(), row)).collect();
        if rows.len() != count {
            return Err("two phases have one id".into());
        }
        self.hear(&stamped.input)?;
        for intent in intents {
            // Notices that earlier versions did not have take no number.
            let is_told = matches!(intent.action, Action::Notify(_)) && intent.id == self.last_intent;
            if intent.id <= self.last_intent && !is_told {
                return Err(format!("intent {} comes after {}", intent.id, self.last_intent));
            }
            self.last_intent = intent.id;
            if intent.action.has_outcome() {
                self.open.insert(intent.id, intent.action.clone());
            }
            match &intent.action {
                Action::Notify(notice) => self.told(notice, &rows)?,
                action => self.wanted(action, &rows)?,
            }
        }
        self.crowding(&rows)?;
        rows.values().try_for_each(|row| self.bounds(row, &rows))?;
        self.reports.none_is_denied(&rows)?;
        self.before = rows;
        self.questions = questions.into_iter().map(|row| (row.id, row.phase)).collect();
        Ok(())
    }

    /// The last of an agent's stream and of the decisions on it was lost with a host. Nothing that is kept here hangs on it.
    pub(crate) fn rewind(&mut self, last_intent: ActionId, view: RunView) {
        self.last_intent = last_intent;
        self.before = view.phases.into_iter().map(|row| (row.id.clone(), row)).collect();
    }

    /// The facts about the world in an input.
    fn hear(&mut self, input: &Input) -> Result<(), String> {
        match input {
            Input::SessionEnded { session, .. } => _ = self.live.remove(session),
            Input::Reported { session: Some(session), report, .. } => {
                self.reports.heard(session, report, &self.before);
            }
            Input::Resumed => self.live.clear(),
            Input::Answered { question, choice, .. } => {
                match (self.questions.get(question).cloned().flatten(), choice) {
                    (Some(phase), PauseAnswer::Retry) => {
                        self.walked.insert(phase.clone(), 0);
                        self.forgive(phase);
                    }
                    (Some(phase), PauseAnswer::Skip) => self.apart.extend(self.conflicts.remove(&phase)),
                    _ => {}
                }
            }
            Input::Outcome { action, outcome } => {
                let of = self.open.remove(action).ok_or(format!("intent {action} is answered twice"))?;
                self.became(of, outcome)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn became(&mut self, of: Action, outcome: &ActionOutcome) -> Result<(), String> {
        match (of, outcome) {
            (
                Action::Spawn(spec),
                ActionOutcome::Failed { .. } | ActionOutcome::Unstartable { .. } | ActionOutcome::Lost,
            ) => {
                self.live.remove(&spec.session);
            }
            (Action::Checkpoint { phase, integration, .. }, ActionOutcome::Checkpointed { .. }) => {
                self.merged.remove(&integration);
                self.verified.remove(&phase);
            }
            (Action::CommitWorktree { phase, .. }, ActionOutcome::Committed { commit, .. }) => {
                self.commits.insert(phase, commit.clone());
            }
            // A part's work is merged once, and in the order of the letters.
            (Action::Merge { phase, into, .. }, ActionOutcome::Merged { .. }) => {
                let parts = self.merged.entry(into).or_default();
                if parts.contains(&phase) {
                    return Err(format!("the work of {phase} is merged twice"));
                }
                if let Some(last) = parts.last().filter(|last| letters(last) > letters(&phase)) {
                    return Err(format!("{phase} is merged after {last}"));
                }
                parts.push(phase.clone());
                let parent = self.before.get(&phase).and_then(|row| row.parent.clone());
                parent.into_iter().for_each(|parent| _ = self.verified.insert(parent, false));
            }
            (Action::Land { phase, .. }, ActionOutcome::Updated | ActionOutcome::Conflicted { .. })
            | (Action::CommitWorktree { phase, .. }, ActionOutcome::Conflicted { .. }) => {
                // A loop that begins again lands first; changes there are verified again.
                let closes_loop = |spec: &PhaseSpec| spec.id == phase && spec.repeat.is_some();
                if self.workflow.phases.iter().any(closes_loop) {
                    self.failures.remove(&phase);
                }
                self.verified.insert(phase, false);
            }
            _ => {}
        }
        Ok(())
    }

    /// What people are shown.
    fn told(&mut self, notice: &ProgressEvent, rows: &PhaseRows) -> Result<(), String> {
        let limits = self.workflow.limits;
        match notice {
            ProgressEvent::ObjectiveDone { objective, .. } => _ = self.done.insert(objective.clone()),
            ProgressEvent::Reopened { objective, .. } => _ = self.done.remove(objective),
            ProgressEvent::Verified { phase, passed, .. } => {
                self.verified.insert(phase.clone(), *passed);
                self.judged(phase, *passed, 0)?;
            }
            ProgressEvent::Reviewed { phase, passed, .. } => self.judged(phase, *passed, 1)?,
            ProgressEvent::Conflict { phase, into, .. } => {
                _ = self.conflicts.insert(into.clone(), phase.clone())
            }
            ProgressEvent::Merged { into, .. } => _ = self.conflicts.remove(into),
            ProgressEvent::Retrying { attempt, of, .. } => {
                within("retries", *attempt, (*of).min(limits.retries))?
            }
            ProgressEvent::SessionStarted { continuation, of, phase, .. } => {
                let allowed = rows.get(phase).map_or(0, |row| row.continuations);
                within("continuations", *continuation, (*of).min(allowed))?;
            }
            ProgressEvent::Iterating { from, by, of, .. } => {
                let walked = self.walked.entry(by.clone()).or_insert(1);
                *walked += 1;
                within("walks of a loop", *walked, *of)?;
                self.begin_again(from, by)?;
            }
            ProgressEvent::Split { phase, sub_phases, .. } => {
                self.reports.split(&rows[phase], sub_phases.iter().map(|(part, _)| part.clone()));
                within("parts", sub_phases.len() as u32, limits.split_fan_out)?;
                self.forked(phase, sub_phases, rows)?;
            }
            ProgressEvent::Finished { ending: RunOutcome::Done } => {
                // The user may leave a phase that the host made: the question whether the work is good enough is separate.
                let asked_for =
                    |row: &&PhaseSummary| matches!(row.origin, PhaseOrigin::Workflow | PhaseOrigin::Split);
                let open = rows.values().filter(asked_for).find(|row| row.status != PhaseStatus::Done);
                if let Some(row) = open {
                    return Err(format!("it ended as done, and phase {} is {:?}", row.id, row.status));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn judged(&mut self, phase: &PhaseId, passed: bool, by: usize) -> Result<(), String> {
        if passed {
            self.unhappy.remove(phase);
            return Ok(());
        }
        self.unhappy.insert(phase.clone());
        let failures = self.failures.entry(phase.clone()).or_default();
        failures[by] += 1;
        within("findings that went back", failures[by], self.workflow.limits.verifications + 1)
    }

    fn forgive(&mut self, phase: PhaseId) {
        self.failures.remove(&phase);
        self.forgiven.insert(phase);
    }

    /// The loop opens phases again, and notifies that.
    fn begin_again(&mut self, from: &PhaseId, by: &PhaseId) -> Result<(), String> {
        let place = |id: &PhaseId| self.workflow.phases.iter().position(|phase| phase.id == *id);
        let (Some(first), Some(last)) = (place(from), place(by)) else {
            return Err(format!("a loop from {from} to {by}, which are no phases of the workflow"));
        };
        let again: Vec<_> = self.workflow.phases[first..=last].to_vec();
        for phase in again {
            phase.objectives.iter().for_each(|objective| _ = self.done.remove(&objective.id));
            self.forgive(phase.id);
        }
        Ok(())
    }

    /// Every open objective is in exactly one part, and no other is.
    fn forked(&self, id: &PhaseId, parts: &[(PhaseId, String)], rows: &PhaseRows) -> Result<(), String> {
        let open = self.before.get(id).into_iter().flat_map(|row| &row.objectives);
        let mut wanted: Vec<_> =
            open.filter(|row| row.status != ObjectiveStatus::Done).map(|row| row.id.clone()).collect();
        let parts = parts.iter().filter_map(|(part, _)| rows.get(part));
        let mut found: Vec<_> = parts.flat_map(|row| &row.objectives).map(|row| row.id.clone()).collect();
        wanted.sort();
        found.sort();
        if wanted == found { Ok(()) } else { Err(format!("the parts of {id} hold {found:?} of {wanted:?}")) }
    }

    /// The actions of core.
    fn wanted(&mut self, action: &Action, rows: &PhaseRows) -> Result<(), String> {
        match action {
            Action::Spawn(spec) => {
                if let Some(other) = self.live.values().find(|other| other.phase == spec.phase) {
                    return Err(format!(
                        "{} and {} both work on {}",
                        other.session, spec.session, spec.phase
                    ));
                }
                self.live.insert(spec.session.clone(), spec.clone());
                self.granted(spec, rows)
            }
            Action::Prompt { session, focus, .. } => {
                let spec = self.live.get(session).ok_or(format!("a prompt for {session}, which is gone"))?;
                self.reports.is_read_by(session, &spec.phase)?;
                self.reports.asked_for(session, focus);
                let again = focus.iter().find(|id| self.done.contains(id) && self.is_asked_for(id));
                match again {
                    Some(id) => {
                        Err(format!("{id} is worked on again in phase {}, and nobody said why", spec.phase))
                    }
                    None => Ok(()),
                }
            }
            Action::Merge { phase, commit, .. } => {
                self.is_the_commit(phase, commit.as_ref())?;
                let row = rows.get(phase).ok_or(format!("a merge of {phase}, which is no phase"))?;
                let open = row.objectives.iter().find(|row| row.status != ObjectiveStatus::Done);
                match open {
                    Some(open) => Err(format!("{phase} is merged with {} open", open.id)),
                    None if row.verified == Some(false) && !is_left_unreviewed(phase, rows) => {
                        Err(format!("{phase} is merged unverified"))
                    }
                    None => self.looked_at(row, rows),
                }
            }
            Action::Land { phase, tree, commit, .. } => {
                self.is_the_commit(phase, commit.as_ref())?;
                self.landing(phase, tree, rows)
            }
            _ => Ok(()),
        }
    }

    /// D3: only the last commit, made before verification and review, is merged or lands.
    fn is_the_commit(&self, phase: &PhaseId, commit: Option<&String>) -> Result<(), String> {
        match (commit, self.commits.get(phase)) {
            (Some(commit), last) if last != Some(commit) => {
                Err(format!("{phase} is merged as {commit}, and was committed as {last:?}"))
            }
            _ => Ok(()),
        }
    }

    /// D12: a part is merged when a command has checked each of its objectives, or a reviewer was content, or the user skipped
    /// the review.
    fn looked_at(&self, row: &PhaseSummary, rows: &PhaseRows) -> Result<(), String> {
        let all = || self.workflow.phases.iter().flat_map(|phase| &phase.objectives);
        let is_checked = |id: &ObjectiveId| all().any(|one| one.id == *id && one.verify.is_some());
        let of_root = self.workflow.phases.iter().find(|phase| phase.id == *root(&row.id, rows));
        let review = of_root.and_then(|phase| phase.review.as_ref());
        let is_wanted = match (self.workflow.review_parts, review) {
            (Some(false), _) | (None, None) => false,
            (_, Some(_)) => true,
            (Some(true), None) => !row.objectives.iter().all(|objective| is_checked(&objective.id)),
        };
        let enough = review.map_or(REVIEW_SCORE, |review| review.score);
        match row.score {
            _ if !is_wanted || is_left_unreviewed(&row.id, rows) => Ok(()),
            Some(score) if score >= enough => Ok(()),
            // An agent that gives no score blocks nothing if the workflow names no reviewer.
            None if review.is_none() => Ok(()),
            score => Err(format!("{} is merged, and its review gave {score:?} of {enough}", row.id)),
        }
    }

    fn is_asked_for(&self, id: &ObjectiveId) -> bool {
        self.workflow.phases.iter().flat_map(|phase| &phase.objectives).any(|objective| objective.id == *id)
    }

    /// A session gets the remaining turns of its phase.
    fn granted(&self, spec: &SpawnSpec, rows: &PhaseRows) -> Result<(), String> {
        let row = rows.get(&spec.phase).ok_or(format!("a session for {}, which is no phase", spec.phase))?;
        if row.max_turns == 0 || self.forgiven.contains(&spec.phase) {
            return Ok(());
        }
        match spec.max_turns {
            0 => Err(format!("{} has no cap of turns, and its phase has", spec.session)),
            turns => within("turns of a session", turns, row.max_turns.saturating_sub(row.turns).max(1)),
        }
    }

    /// A whole lands when every part that is done is in it, and only verified.
    fn landing(&self, phase: &PhaseId, tree: &WorktreeName, rows: &PhaseRows) -> Result<(), String> {
        let none = Vec::new();
        let merged = self.merged.get(tree).unwrap_or(&none);
        let parts: Vec<&PhaseSummary> = parts_of(phase, rows).collect();
        let is_left = |row: &&&PhaseSummary| !merged.contains(&row.id) && !self.apart.contains(&row.id);
        if let Some(left) = parts.iter().filter(|row| row.status == PhaseStatus::Done).find(is_left) {
            return Err(format!("{phase} lands without {}", left.id));
        }
        let spec = self.workflow.phases.iter().find(|spec| spec.id == *phase);
        let is_verified = spec.is_some_and(|spec| {
            spec.verify.is_some() || spec.objectives.iter().any(|objective| objective.verify.is_some())
        });
        let is_whole =
            parts.iter().all(|row| row.status == PhaseStatus::Done && !self.apart.contains(&row.id));
        // A loop begins again with the existing work.
        let begins_again = spec.is_some_and(|spec| spec.repeat.is_some()) && self.unhappy.contains(phase);
        if is_verified && is_whole && !begins_again && self.verified.get(phase) != Some(&true) {
            return Err(format!("{phase} lands unverified"));
        }
        Ok(())
    }
}

/// The phase of the workflow that a phase was made for.
fn root<'a>(id: &'a PhaseId, rows: &'a PhaseRows) -> &'a PhaseId {
    let mut at = id;
    while let Some(parent) = rows.get(at).and_then(|row| row.parent.as_ref()) {
        at = parent;
    }
    at
}

/// The user has decided that it need not be reviewed.
fn is_left_unreviewed(id: &PhaseId, rows: &PhaseRows) -> bool {
    let mut reviews =
        rows.values().filter(|row| row.origin == PhaseOrigin::Review && row.parent.as_ref() == Some(id));
    reviews.any(|row| row.status == PhaseStatus::Skipped)
}

/// The parts that a split made of a phase, this time through its loop.
fn parts_of<'a>(id: &'a PhaseId, rows: &'a PhaseRows) -> impl Iterator<Item = &'a PhaseSummary> {
    let iteration = rows.get(id).map(|row| row.iteration);
    rows.values().filter(move |row| {
        row.origin == PhaseOrigin::Split
            && row.parent.as_ref() == Some(id)
            && Some(row.iteration) == iteration
    })
}

/// Letters in the order in which they are given: shorter ones first.
fn letters(id: &PhaseId) -> (usize, &str) {
    (id.as_str().len(), id.as_str())
}

fn within(what: &str, is: u32, most: u32) -> Result<(), String> {
    if is <= most { Ok(()) } else { Err(format!("{what}: {is}, and {most} are allowed")) }
}
