//! What the tests of this crate share: a small workflow, and a judge who lets everything go well. No process, no WASM.

use std::path::PathBuf;
use std::sync::Arc;

use baton_core::decision::{
    Assessment, CompactionAction, CompactionDecision, CompletionDecision, Decision, DecisionSource,
    HandoffDraft, OffloadingDecision, PromptDraft, Provenance, RecoveryAction, RecoveryDecision,
    ReviewDecision, SplitAction, SplitDecision, Staleness, SuccessorKind, TurnBudget, Verdict,
};
use baton_core::observation::PolicyQuery;
use baton_core::workflow::file;
use baton_core::{Digest, Input, RunId, Workflow};
use baton_store::{Journal, JournalOptions, StateDir};

use crate::policies::DecideFn;
use crate::recorder::RunRecorder;
use crate::recovery::RecoveredRun;

/// Two phases of one and two objectives; the first is verified.
pub(crate) fn workflow() -> Workflow {
    let text = r#"
        name = "two-steps"
        goal = "three files"
        [roles.executor]
        script = "script.toml"
        [[phases]]
        id = "first"
        title = "one file"
        verify = "test -f a.txt"
        objectives = [{ id = "a", description = "write a.txt", files = ["a.txt"] }]
        [[phases]]
        id = "second"
        title = "two files"
        depends_on = ["first"]
        [[phases.objectives]]
        id = "b"
        description = "write b.txt"
        files = ["b.txt"]
        [[phases.objectives]]
        id = "c"
        description = "write c.txt"
    "#;
    file::parse(text, "two-steps.toml", "/").unwrap()
}

/// Everything is done at the first try, and nothing is too large.
pub(crate) fn succeeding_decider() -> DecideFn {
    Arc::new(|_, question| {
        let reason = "all is well".to_owned();
        let decision = match &question.query {
            PolicyQuery::Exhaustion(_) => Decision::Exhaustion(Assessment {
                verdict: Verdict::Answered,
                evidence: Vec::new(),
                warning: None,
                reason,
            }),
            PolicyQuery::Completion(seen) => {
                let done = seen.session.objectives.iter().map(|objective| objective.id.clone()).collect();
                Decision::Completion(CompletionDecision { done, evidence: Vec::new(), reason })
            }
            PolicyQuery::Recovery(seen) => {
                let action = match seen.assessment.verdict {
                    Verdict::Exhausted => RecoveryAction::HandOff,
                    Verdict::Quota { .. } => RecoveryAction::Wait,
                    _ => RecoveryAction::Retry,
                };
                Decision::Recovery(RecoveryDecision { action, reason })
            }
            PolicyQuery::Offloading(_) => {
                Decision::Offloading(OffloadingDecision { items: Vec::new(), reason })
            }
            PolicyQuery::Compaction(_) => {
                Decision::Compaction(CompactionDecision { action: CompactionAction::Keep, reason })
            }
            PolicyQuery::Splitting(_) => {
                Decision::Splitting(SplitDecision { action: SplitAction::Keep, reason })
            }
            PolicyQuery::Budgeting(seen) => {
                Decision::Budgeting(TurnBudget { max_turns: seen.base_turns, reason })
            }
            PolicyQuery::Prompting(seen) => {
                let prompt = format!("Do {:?} for {}.", seen.focus, seen.goal);
                Decision::Prompting(PromptDraft { prompt, left_out: Vec::new(), reason })
            }
            PolicyQuery::Handoff(_) => Decision::Handoff(HandoffDraft {
                document: "# Handoff".to_owned(),
                index: "# Index".to_owned(),
                continuer: SuccessorKind::Successor,
                left_out: Vec::new(),
                reason,
            }),
            PolicyQuery::Review(_) => Decision::Review(ReviewDecision {
                score: 100,
                findings: Vec::new(),
                staleness: Staleness::Fresh,
                accepted: true,
                reason,
            }),
        };
        let label = Provenance {
            by: DecisionSource::Configured,
            capability: question.query.capability(),
            policy: "content".to_owned(),
            component: None,
            settings: None,
            engine: Digest::of("test"),
            fuel: 0,
            duration_us: 0,
            artifacts: Default::default(),
            faults: Vec::new(),
            abstained: Vec::new(),
            nested: Vec::new(),
        };
        (Ok(decision), label)
    })
}

/// The first input of a run.
pub(crate) fn started(run: &RunId) -> Input {
    Input::Started {
        run: run.clone(),
        workflow: Box::new(workflow()),
        bindings: Vec::new(),
        task_folder: format!(".baton/{run}"),
        utc_offset_minutes: 0,
        assignments: Vec::new(),
    }
}

/// A workspace with its state directory and an empty journal.
pub(crate) struct TestFixture {
    pub(crate) state: StateDir,
    pub(crate) journal: Journal,
    pub(crate) workspace: PathBuf,
    _dir: tempfile::TempDir,
}

impl TestFixture {
    pub(crate) fn new(options: JournalOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let workspace = dir.path().join("work");
        std::fs::create_dir(&workspace).unwrap();
        let state = StateDir::open(&dir.path().join("state"), &workspace).unwrap();
        let journal = Journal::open_with(&state, options).unwrap();
        Self { state, journal, workspace, _dir: dir }
    }

    /// A recorder for a new run.
    pub(crate) fn recorder(&self, run: &RunId) -> RunRecorder {
        RunRecorder::new(RecoveredRun::default(), run.clone(), self.journal.clone())
    }
}

/// The trees of a run in that place.
pub(crate) fn trees(place: &TestFixture) -> baton_workspace::RunWorktrees {
    let workspace = baton_workspace::Workspace::open(&place.workspace).unwrap();
    crate::worktree_paths::trees_of(&place.state, &workspace, &RunId::new("r"))
}
