//! What sessions return whichever way they end (C26), and what is shown while one waits or before a check has run.

use baton_core::decision::{QuotaCause, Verdict};
use baton_core::input::{AgentReport, SplitGroupReport};
use baton_core::observation::ObjectiveStatus;
use baton_core::progress::ProgressEvent;
use baton_core::view::RunView;
use baton_core::{Input, SessionId, UnixMs};
use baton_inbox::ToolCall;
use serde_json::json;

use super::super::sample_run::{SampleRun, workflow};
use crate::tools::report_validation;

use super::super::{PhaseProgress, Progress, ReturnStatus, RunTimeline, SessionResult, WorkItems};

/// Up to the first session of phase `build`, which has the id s2.
fn at_build(change: impl FnOnce(&mut SampleRun)) -> SampleRun {
    let mut play = SampleRun::begin(workflow());
    change(&mut play);
    play.until(|view| !view.phases[1].sessions.is_empty());
    play
}

fn returned(play: &SampleRun, session: &str) -> SessionResult {
    serde_json::from_str(&play.file(&format!("returns/{session}.json"))).unwrap()
}

fn update(objective: &str, status: ObjectiveStatus, note: &str) -> AgentReport {
    AgentReport::ObjectiveUpdate { objective: objective.into(), status, note: note.into() }
}

// C10 C17 C26
#[test]
fn a_hand_off_by_a_policy_returns_what_exhaustion_returns() {
    let mut play = at_build(|play| (play.verdict, play.hands_off) = (Verdict::Answered, true));
    play.until(|view| view.phases[1].sessions.len() == 2);
    let returned = returned(&play, "s2");
    assert_eq!((returned.status, returned.ending.as_str()), (ReturnStatus::Partial, "policy-handoff"));
    let partial = returned.partial_progress.unwrap();
    assert_eq!(partial.stage, "context_exhaustion_handoff");
    let begins = "A policy handed over at ~82%. Handoff written. ";
    assert!(partial.details.starts_with(begins), "{}", partial.details);
    assert!(partial.handoff_path.is_some());
    let [error] = returned.errors.as_slice() else { panic!("{:?}", returned.errors) };
    assert_eq!((error.kind.as_str(), error.recoverable), ("context_exhaustion", true));
    assert_eq!(error.recommendation, "Spawn successor with handoff file");
}

// N6
#[test]
fn a_file_calls_the_work_of_a_session_with_tools_done_only_where_no_other_one_works() {
    let play = at_build(|_| {});
    let mut view = play.run.view(play.timeline.at).unwrap();
    let (own, tree) = (view.phases[1].sessions[0].id.clone(), view.phases[1].tree.clone());
    let objective = view.phases[1].objectives[0].id.clone();
    let file = |status: &str| {
        let arguments = json!({ "objective": objective, "status": status });
        let call = json!({ "tool": "objective_update", "arguments": arguments });
        serde_json::from_value::<ToolCall>(call).unwrap()
    };
    let refused = |view: &RunView, session: Option<&SessionId>, status: &str| {
        report_validation::check_done_author(view, session, &tree, &file(status)).err()
    };
    view.phases[1].sessions[0].agent = "claude".into();
    for session in [None, Some(&own)] {
        assert_eq!(refused(&view, session, "done"), None, "it works alone");
    }
    let mut other = view.phases[1].sessions[0].clone();
    (other.id, other.agent) = ("s9".into(), "process:./other".into());
    let mut phase = view.phases[1].clone();
    (phase.id, phase.objectives, phase.sessions) = ("other".into(), Vec::new(), vec![other]);
    view.phases.push(phase);
    for session in [None, Some(&own)] {
        let why = refused(&view, session, "done").unwrap();
        assert!(why.contains("session s9 works in this folder too"), "{why}");
        assert!(
            why.contains("by the tool `objective_update`") && why.contains(&format!("`Done: {objective}`")),
            "{why}"
        );
        for status in ["failed", "in-progress", "open"] {
            assert_eq!(refused(&view, session, status), None, "{status}");
        }
    }
    // What has no tools has no other way.
    view.phases[1].sessions[0].agent = "process:./agent.sh".into();
    assert_eq!(refused(&view, Some(&own), "done"), None);
}

// C26 D2
#[test]
fn a_split_request_returns_as_a_success_and_parts_are_no_phases_of_the_workflow() {
    let mut play = at_build(|play| (play.verdict, play.splits) = (Verdict::Answered, true));
    let group = |id: &str| SplitGroupReport { title: id.into(), objectives: vec![id.into()] };
    let groups = vec![group("parser"), group("printer")];
    play.verdict = Verdict::Failed;
    play.report("s2", AgentReport::SplitRequest { groups: groups.clone(), rationale: "two\nthings".into() });
    let view = play.until(|view| view.phases.len() > 4 && !view.phases[2].sessions.is_empty());
    let split = returned(&play, "s2");
    assert_eq!((split.status, split.ending.as_str()), (ReturnStatus::Completed, "split-requested"));
    assert!(split.errors.is_empty() && split.partial_progress.is_none());
    let request = split.split_request.unwrap();
    assert_eq!((request.groups, request.rationale.as_str()), (groups, "two things"));
    let part = &view.phases[2].sessions[0].id;
    let at_work = returned(&play, part.as_str()).partial_progress.unwrap();
    assert_eq!((at_work.phases_completed, at_work.phases_total), (1, 3));
}

// C26
#[test]
fn a_session_that_failed_returns_the_words_of_its_agent() {
    let mut play = at_build(|play| play.verdict = Verdict::Failed);
    play.report("s2", update("parser", ObjectiveStatus::Failed, "this cannot\nbe done"));
    play.until(|view| !view.phases[1].handoffs.is_empty());
    let failed = returned(&play, "s2");
    assert_eq!((failed.status, failed.ending.as_str()), (ReturnStatus::Failed, "failed"));
    let message = &failed.errors[0].message;
    assert!(message.ends_with("; the agent says of parser: this cannot be done"), "{message}");
}

// B9
#[test]
fn progress_log_and_state_show_a_quota_wait_while_it_lasts() {
    let quota = Verdict::Quota { cause: QuotaCause::Usage, resets_at_ms: None };
    let mut play = at_build(|play| play.verdict = quota);
    let view = play.until(|view| view.phases[1].quota.is_some());
    let since = view.phases[1].quota.unwrap().since.rfc3339();
    let waits = |play: &SampleRun| -> [Option<String>; 3] {
        let progress: Progress = serde_json::from_str(&play.file("progress.json")).unwrap();
        let phase: PhaseProgress =
            serde_json::from_str(&play.file("progress/phase-build-progress.json")).unwrap();
        assert_eq!(phase, progress.phases[1]);
        let view = play.run.view(play.timeline.at).unwrap();
        [progress.quota_wait_since, phase.quota_wait_since, view.phases[1].quota_wait_since.clone()]
    };
    assert_eq!(waits(&play), [Some(since.clone()), Some(since.clone()), Some(since.clone())]);
    assert!(play.file("progress.json").contains("\"waiting-quota\""));
    assert!(play.file("progress.log").contains("waits for the provider"));
    let org = play.file("state.org");
    let drawer = format!(":STATUS: WAITING\n   :REMAINING_OBJECTIVES: 2\n   :QUOTA_WAIT_SINCE: {since}\n");
    assert!(org.contains(&drawer), "{org}");

    play.verdict = Verdict::Answered;
    for _ in 0..600 {
        play.take(Input::Tick);
    }
    assert_eq!(waits(&play), [None, None, None]);
    assert!(play.file("progress.log").contains("the wait for the provider is over"));
    assert!(!play.file("state.org").contains("QUOTA_WAIT_SINCE"));
    // The files are written when such a thing is on disk, and it is only if it matters.
    let (phase, session) = ("build".into(), "s2".into());
    let waited = baton_core::DurationMs(1);
    assert!(RunTimeline::matters(&ProgressEvent::QuotaOver { phase, session, waited, is_try: false }));
    let (phase, session, cause) = ("build".into(), "s2".into(), QuotaCause::Usage);
    assert!(RunTimeline::matters(&ProgressEvent::QuotaWait {
        phase,
        session,
        cause,
        since: UnixMs(1),
        until: None,
        retry_at: None,
        time: 1,
        by_itself: false,
        said: String::new(),
        judged_by: None,
    }));
}

// C1 C19
#[test]
fn notes_and_times_are_shown_and_nothing_passes_before_its_check() {
    let mut play = at_build(|play| play.verdict = Verdict::Answered);
    play.report("s2", update("parser", ObjectiveStatus::InProgress, "3 of 5 cases done"));
    let phase = |play: &SampleRun| -> PhaseProgress {
        serde_json::from_str(&play.file("progress/phase-build-progress.json")).unwrap()
    };
    let begun = phase(&play);
    assert_eq!(
        (begun.current_objective, begun.objectives[0].note.as_str()),
        (Some("parser".into()), "3 of 5 cases done")
    );
    assert!(begun.objectives[0].started_at.is_some() && begun.objectives[0].completed_at.is_none());
    assert_eq!(begun.last_updated, begun.objectives[0].last_updated);
    let passes = |play: &SampleRun, id: &str| -> bool {
        let items: WorkItems = serde_json::from_str(&play.file("work-items.json")).unwrap();
        items.items.iter().find(|item| item.id == id).unwrap().passes
    };
    play.report("s2", update("parser", ObjectiveStatus::Done, "5 of 5"));
    play.until(|view| view.phases[1].objectives[1].status == ObjectiveStatus::InProgress);
    assert!(passes(&play, "inventory") && !passes(&play, "parser"), "its check has not run");
    let done = phase(&play);
    assert_eq!(done.current_objective, Some("printer".into()));
    assert!(done.objectives[0].completed_at.is_some() && done.completed_at.is_none());
    play.until(|_| false);
    assert!(passes(&play, "parser") && phase(&play).completed_at.is_some());
    assert_eq!(phase(&play).current_objective, None);
}
