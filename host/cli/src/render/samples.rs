//! A run to draw: what the tests of every view look at. Nothing outside tests uses it.

use std::collections::BTreeMap;

use baton_runtime::core::action::Ending;
use baton_runtime::core::decision::{Finding, QuotaCause, Staleness};
use baton_runtime::core::facts::{Billed, OccupancySource};
use baton_runtime::core::grants::Grants;
use baton_runtime::core::input::{ArtifactRef, Choice, Pin};
use baton_runtime::core::observation::{Basis, BriefKind, Capability, ObjectiveStatus, OccupancyView};
use baton_runtime::core::view::{
    HandoffRow, ObjectiveRow, Origin, PhaseRow, PhaseStatus, QuestionRow, QuotaRow, Repair, ReviewRow,
    RunStatus, RunView, SessionRow,
};
use baton_runtime::core::workflow::{Scope, file};
use baton_runtime::core::{ActionId, Digest, DurationMs, SessionId, Tree, UnixMs, Workflow};
use baton_runtime::{DryRun, HostConfig, PlannedPrompt, PlannedSession, RoleOverrides};

use crate::place::Place;

mod notices;
mod splits;

pub(crate) use notices::{turn, updates};
pub(crate) use splits::{crowd, split, split_and_done};

/// 2026-02-12, 10:30 UTC.
const START: UnixMs = UnixMs(1_770_892_200_000);

pub(crate) fn place() -> Place {
    let config = HostConfig {
        workspace: "/home/ada/calc".into(),
        state_root: "/srv/state".into(),
        own_exe: "/usr/bin/baton".into(),
        environment: BTreeMap::new(),
        overrides: RoleOverrides::default(),
    };
    Place { config, flags: " --state-dir /srv/state".into() }
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

fn session(id: &str, continuation: u32, ending: &str, turns: u32, used_tokens: u64) -> SessionRow {
    SessionRow {
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
        billed: Billed {
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
) -> PhaseRow {
    let objective = |(id, status, by): &(&str, ObjectiveStatus, &str)| ObjectiveRow {
        id: (*id).into(),
        description: format!("Do {id}."),
        status: *status,
        by: Some(*by).filter(|by| !by.is_empty()).map(SessionId::from),
        done_by: (*status == ObjectiveStatus::Done).then_some(Basis::Reported),
        judged_by: None,
        note: String::new(),
        has_check: false,
        check_passed: None,
        passed_before: false,
        started_at: None,
        updated_at: None,
        completed_at: None,
    };
    PhaseRow {
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
        billed: Billed::default(),
        policy: String::new(),
        split: 0,
        verified: None,
        quota: None,
        quota_wait_since: None,
        handoffs: Vec::new(),
        artifacts: Vec::new(),
        origin: Origin::Workflow,
        score: None,
        iteration: 1,
        tree: Tree::workspace(),
        commits: Vec::new(),
        commit_failed: None,
    }
}

/// In the middle of a run: a phase done, one continued, one split, one waiting.
pub(crate) fn running() -> RunView {
    use ObjectiveStatus::{Done, InProgress, Open};
    let policy = "resilience@e3b0c44298fc".to_owned();
    let survey = PhaseRow {
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
    let build = PhaseRow {
        sessions: vec![session("s3", 0, "exhausted", 11, 7_980), session("s4", 1, "", 3, 7_040)],
        turns: 14,
        max_turns: 25,
        continuation: 1,
        policy,
        handoffs: vec![HandoffRow {
            path: ".baton/r-7f/handoffs/build-1.md".into(),
            session: "s3".into(),
            artifact: handoff.clone(),
            index: None,
            facts: ".baton/r-7f/handoffs/build-1-facts.json".into(),
            predecessor: None,
            review: Some(ReviewRow {
                score: 100,
                accepted: true,
                findings: Vec::new(),
                staleness: Staleness::Fresh,
                by: None,
            }),
            repair: Repair::FromFacts,
            refused: Some(ReviewRow {
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
    let parent = PhaseRow {
        split: 2,
        ..phase("20", "Migrate", PhaseStatus::Split, &[("read", Open, ""), ("write", Open, "")])
    };
    let first = PhaseRow {
        parent: Some("20".into()),
        origin: Origin::Split,
        quota: Some(QuotaRow { cause: QuotaCause::Rate, since: at(20), until: Some(at(24)) }),
        quota_wait_since: Some(at(20).rfc3339()),
        sessions: vec![SessionRow { window_tokens: None, ..session("s5", 0, "", 2, 122_400) }],
        turns: 2,
        ..phase("20a", "Reading", PhaseStatus::WaitingQuota, &[("read", Open, "")])
    };
    let second = PhaseRow {
        parent: Some("20".into()),
        origin: Origin::Split,
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
        billed: Billed { input_tokens: 60_000, output_tokens: 2_700, cost_microusd: Some(123_000) },
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
    view.status = RunStatus::Ended(Ending::Done);
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
        QuestionRow {
            id: ActionId(41),
            phase: Some("build".into()),
            text: "3 continuations are used up and 2 objectives are open. What now?".into(),
            choices: vec![Choice::Retry, Choice::Skip, Choice::Stop],
        },
        QuestionRow {
            id: ActionId(44),
            phase: None,
            text: "The run has used its 30m 00s of wall time.".into(),
            choices: vec![Choice::Raise, Choice::Stop],
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
pub(crate) fn pin(policy: &str, capability: Capability, scope: Scope) -> Pin {
    Pin {
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
    let pin = |capability| pin("resilience", capability, Scope::Run);
    let build = &workflow.phases[1];
    let prompt = |kind, objective: &str| PlannedPrompt {
        kind,
        focus: vec![objective.into()],
        text: format!("## Your objective\n- [{objective}] Write it.\n\nReport to: .baton/r/inbox"),
    };
    DryRun {
        pins: Capability::ALL.map(pin).to_vec(),
        sessions: vec![PlannedSession {
            session: "s2".into(),
            phase: build.id.clone(),
            title: build.title.clone(),
            role: workflow.role_of(build).into_owned(),
            max_turns: 25,
            turn_ceiling: 250,
            continuations: 3,
            prompts: vec![prompt(BriefKind::First, "parser"), prompt(BriefKind::Next, "evaluator")],
            verify: build.verify.clone(),
        }],
        question: Some("Phase `document` depends on `build`, which stays open. What now?".into()),
    }
}
