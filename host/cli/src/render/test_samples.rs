//! A run to draw: what the tests of every view look at. Nothing outside tests uses it.

use std::collections::BTreeMap;

use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::decision::{Finding, QuotaCause, Staleness};
use baton_runtime::core::facts::{OccupancySource, TokenUsage};
use baton_runtime::core::grants::Grants;
use baton_runtime::core::input::{ArtifactRef, PauseAnswer, PolicyBinding};
use baton_runtime::core::observation::{
    Capability, EvidenceKind, ObjectiveStatus, OccupancyView, PromptKind,
};
use baton_runtime::core::view::{
    HandoffRepair, HandoffSummary, ObjectiveSummary, PhaseOrigin, PhaseStatus, PhaseSummary, QuestionSummary,
    QuotaSummary, ReviewSummary, RunStatus, RunView, SessionSummary,
};
use baton_runtime::core::workflow::{PolicyScope, file};
use baton_runtime::core::{ActionId, Digest, DurationMs, SessionId, UnixMs, Workflow, WorktreeName};
use baton_runtime::{DryRun, HostConfig, PlannedPrompt, PlannedSession, RoleOverrides};

use crate::location::RunLocation;

mod notices;
mod splits;

pub(crate) use notices::{turn, updates};
pub(crate) use splits::{crowd, split, split_and_done};

/// 2026-02-12, 10:30 UTC.
const START: UnixMs = UnixMs(1_770_892_200_000);

pub(crate) fn location() -> RunLocation {
    let config = HostConfig {
        workspace: "/home/ada/calc".into(),
        state_root: "/srv/state".into(),
        own_exe: "/usr/bin/baton".into(),
        environment: BTreeMap::new(),
        overrides: RoleOverrides::default(),
    };
    RunLocation { config, flags: " --state-dir /srv/state".into() }
}

fn at(seconds: u64) -> UnixMs {
    START + DurationMs::from_secs(seconds)
}

fn ids<T: for<'a> From<&'a str>>(names: &[&str]) -> Vec<T> {
    names.iter().map(|name| T::from(name)).collect()
}

fn occupancy(used_tokens: u64) -> OccupancyView {
    OccupancyView {
        used_tokens: Some(used_tokens),
        window_tokens: Some(8_000),
        source: OccupancySource::Agent,
        age_ms: 0,
    }
}

fn artifact(name: &str, bytes: u64, summary: &str) -> ArtifactRef {
    ArtifactRef { name: name.into(), version: 1, digest: Digest::of(name), bytes, summary: summary.into() }
}

fn session(id: &str, continuation: u32, ending: &str, turns: u32, used_tokens: u64) -> SessionSummary {
    SessionSummary {
        id: id.into(),
        agent: "rehearsal".into(),
        continuation,
        lead: false,
        ending: ending.into(),
        turns,
        used_tokens: Some(used_tokens),
        window_tokens: Some(8_000),
        source: OccupancySource::Agent,
        warned: used_tokens > 7_000,
        last: "Write src/printer.sh".into(),
        billed: TokenUsage {
            input_tokens: u64::from(turns) * 3_000,
            output_tokens: 900,
            cost_microusd: Some(5_000),
        },
        refused: Vec::new(),
        unpriced_tokens: 0,
        cut_prompts: 0,
        refused_calls: 0,
    }
}

fn phase(
    id: &str,
    title: &str,
    status: PhaseStatus,
    objectives: &[(&str, ObjectiveStatus, &str)],
) -> PhaseSummary {
    let objective = |(id, status, by): &(&str, ObjectiveStatus, &str)| ObjectiveSummary {
        id: (*id).into(),
        description: format!("Do {id}."),
        status: *status,
        by: Some(*by).filter(|by| !by.is_empty()).map(SessionId::from),
        done_by: (*status == ObjectiveStatus::Done).then_some(EvidenceKind::Reported),
        judged_by: None,
        note: String::new(),
        has_check: false,
        check_passed: None,
        passed_before: false,
        started_at: None,
        updated_at: None,
        completed_at: None,
    };
    PhaseSummary {
        id: id.into(),
        parent: None,
        title: title.into(),
        status,
        objectives: objectives.iter().map(objective).collect(),
        sessions: Vec::new(),
        turns: 0,
        max_turns: 0,
        continuation: 0,
        continuations: 3,
        billed: TokenUsage::default(),
        policy: String::new(),
        split: 0,
        verified: None,
        modified_checks: Vec::new(),
        quota: None,
        quota_wait_since: None,
        handoffs: Vec::new(),
        artifacts: Vec::new(),
        origin: PhaseOrigin::Workflow,
        score: None,
        iteration: 1,
        tree: WorktreeName::workspace(),
        commits: Vec::new(),
        commit_failed: None,
    }
}

/// In the middle of a run: a phase done, one continued, one split, one waiting.
pub(crate) fn running() -> RunView {
    use ObjectiveStatus::{Done, InProgress, Open};
    let policy = "resilience@e3b0c44298fc".to_owned();
    let survey = PhaseSummary {
        sessions: vec![session("s1", 0, "completed", 6, 3_100)],
        turns: 6,
        max_turns: 25,
        policy: policy.clone(),
        ..phase(
            "survey",
            "See what is there",
            PhaseStatus::Done,
            &[("inventory", Done, "s1"), ("conventions", Done, "s1")],
        )
    };
    let handoff = artifact("handoffs/build-1.md", 1_240, "What s3 leaves");
    let build = PhaseSummary {
        sessions: vec![session("s3", 0, "exhausted", 11, 7_980), session("s4", 1, "", 3, 7_040)],
        turns: 14,
        max_turns: 25,
        continuation: 1,
        policy,
        handoffs: vec![HandoffSummary {
            path: ".baton/r-7f/handoffs/build-1.md".into(),
            session: "s3".into(),
            artifact: handoff.clone(),
            index: None,
            facts: ".baton/r-7f/handoffs/build-1-facts.json".into(),
            predecessor: None,
            review: Some(ReviewSummary {
                score: 100,
                accepted: true,
                findings: Vec::new(),
                staleness: Staleness::Fresh,
                by: None,
            }),
            repair: HandoffRepair::FromFacts,
            refused: Some(ReviewSummary {
                score: 65,
                accepted: false,
                findings: vec![Finding {
                    cost: 35,
                    line: Some(12),
                    text: "it names src/gone.rs, which does not exist".into(),
                }],
                staleness: Staleness::Fresh,
                by: Some("strict.wasm".into()),
            }),
            left_out: vec!["12 more changed files, in .baton/r-7f/handoffs/build-1-facts.json".into()],
            lead: false,
            head: "1f2e3d4c5b6a".into(),
            branch: "main".into(),
            closes: false,
        }],
        artifacts: vec![handoff, artifact("summaries/build.md", 640, "Before a compaction")],
        ..phase(
            "build",
            "Write the calculator and its tests",
            PhaseStatus::Working,
            &[
                ("parser", Done, "s3"),
                ("evaluator", Done, "s3"),
                ("printer", InProgress, ""),
                ("tests", Open, ""),
            ],
        )
    };
    let parent = PhaseSummary {
        split: 2,
        ..phase("20", "Migrate", PhaseStatus::Split, &[("read", Open, ""), ("write", Open, "")])
    };
    let first = PhaseSummary {
        parent: Some("20".into()),
        origin: PhaseOrigin::Split,
        quota: Some(QuotaSummary { cause: QuotaCause::Rate, since: at(20), until: Some(at(24)) }),
        quota_wait_since: Some(at(20).rfc3339()),
        sessions: vec![SessionSummary { window_tokens: None, ..session("s5", 0, "", 2, 122_400) }],
        turns: 2,
        ..phase("20a", "Reading", PhaseStatus::WaitingQuota, &[("read", Open, "")])
    };
    let second = PhaseSummary {
        parent: Some("20".into()),
        origin: PhaseOrigin::Split,
        ..phase("20b", "Writing", PhaseStatus::Pending, &[("write", Open, "")])
    };
    RunView {
        schema: 1,
        run: "r-7f".into(),
        workflow: "quickstart".into(),
        goal: "A calculator in POSIX shell.".into(),
        status: RunStatus::Running,
        started_at: START,
        active_ms: DurationMs::from_secs(34),
        quota_wait_ms: DurationMs::from_secs(4),
        billed: TokenUsage { input_tokens: 60_000, output_tokens: 2_700, cost_microusd: Some(123_000) },
        billed_at_least: false,
        phases: vec![survey, build, parent, first, second],
        questions: Vec::new(),
        set_aside: false,
        assignments: Vec::new(),
        policy_failures: Vec::new(),
        policy_decisions: Vec::new(),
        imported: None,
        source: None,
    }
}

/// A run whose objectives are all done.
pub(crate) fn finished() -> RunView {
    let mut view = running();
    view.status = RunStatus::Ended(RunOutcome::Done);
    view.phases.truncate(2);
    let build = &mut view.phases[1];
    build.status = PhaseStatus::Done;
    build.verified = Some(true);
    build.sessions[1].ending = "completed".into();
    for objective in build.objectives.iter_mut().filter(|objective| objective.by.is_none()) {
        objective.status = ObjectiveStatus::Done;
        objective.by = Some("s4".into());
    }
    view
}

/// A run that asks two things.
pub(crate) fn paused() -> RunView {
    let mut view = running();
    view.status = RunStatus::Paused;
    view.phases.truncate(2);
    view.phases[1].status = PhaseStatus::Paused;
    view.questions = vec![
        QuestionSummary {
            id: ActionId(41),
            phase: Some("build".into()),
            text: "3 continuations are used up and 2 objectives are open. What now?".into(),
            choices: vec![PauseAnswer::Retry, PauseAnswer::Skip, PauseAnswer::Stop],
        },
        QuestionSummary {
            id: ActionId(44),
            phase: None,
            text: "The run has used its 30m 00s of wall time.".into(),
            choices: vec![PauseAnswer::Raise, PauseAnswer::Stop],
        },
    ];
    view
}

/// The quickstart itself.
pub(crate) fn workflow() -> Workflow {
    let text = include_str!("../../examples/quickstart.toml");
    file::parse(text, "quickstart.toml", "/home/ada").unwrap_or_else(|error| panic!("{error}"))
}

/// A policy that decides something.
pub(crate) fn binding(policy: &str, capability: Capability, scope: PolicyScope) -> PolicyBinding {
    PolicyBinding {
        capability,
        policy: policy.into(),
        component: Digest::of("component"),
        settings: Digest::of("settings"),
        scope,
        wants: Default::default(),
        grants: Grants::default(),
        from: Default::default(),
        then: Vec::new(),
    }
}

/// What a dry run of it might say.
pub(crate) fn plan() -> DryRun {
    let workflow = workflow();
    let binding = |capability| binding("resilience", capability, PolicyScope::Run);
    let build = &workflow.phases[1];
    let prompt = |kind, objective: &str| PlannedPrompt {
        kind,
        focus: vec![objective.into()],
        text: format!("## Your objective\n- [{objective}] Write it.\n\nReport to: .baton/r/inbox"),
    };
    DryRun {
        bindings: Capability::ALL.map(binding).to_vec(),
        sessions: vec![PlannedSession {
            session: "s2".into(),
            phase: build.id.clone(),
            title: build.title.clone(),
            role: workflow.role_of(build).into_owned(),
            max_turns: 25,
            turn_ceiling: 250,
            continuations: 3,
            prompts: vec![prompt(PromptKind::First, "parser"), prompt(PromptKind::Next, "evaluator")],
            verify: build.verify.clone(),
        }],
        question: Some("Phase `document` depends on `build`, which stays open. What now?".into()),
    }
}
