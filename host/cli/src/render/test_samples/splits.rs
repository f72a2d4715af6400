//! Runs with sub-phases: one of everything that a split leads to, and a crowd.

use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::observation::ObjectiveStatus;
use baton_runtime::core::view::{PhaseOrigin, PhaseStatus, PhaseSummary, RunStatus, RunView, SessionSummary};
use baton_runtime::core::{PhaseId, WorktreeName};

use super::{phase, running, session};

/// A part of a phase, with one objective in a work tree of its own.
fn part(parent: &str, id: &str, title: &str, status: PhaseStatus) -> PhaseSummary {
    let done = match status {
        PhaseStatus::Done => ObjectiveStatus::Done,
        _ => ObjectiveStatus::Open,
    };
    PhaseSummary {
        parent: Some(parent.into()),
        origin: PhaseOrigin::Split,
        tree: WorktreeName::for_phase(&PhaseId::new(id)),
        ..phase(id, title, status, &[(&format!("do-{id}"), done, "")])
    }
}

/// A phase in three parts, of which one was split again; one part is reviewed, and a conflict is resolved.
pub(crate) fn split() -> RunView {
    use ObjectiveStatus::{Done, Open};
    use PhaseStatus::{Merging, UnderReview, Working};
    let at_work = |id: &str, last: &str| SessionSummary { last: last.into(), ..session(id, 0, "", 4, 3_100) };
    let parent = PhaseSummary {
        split: 3,
        sessions: vec![session("s1", 0, "completed", 2, 2_000)],
        turns: 2,
        max_turns: 25,
        ..phase(
            "20",
            "Migrate",
            PhaseStatus::Split,
            &[
                ("first", Done, "s1"),
                ("do-20a", Open, ""),
                ("do-20b-a", Open, ""),
                ("do-20b-b", Open, ""),
                ("do-20c", Open, ""),
            ],
        )
    };
    let reviewed = PhaseSummary {
        verified: Some(true),
        score: Some(64),
        sessions: vec![session("s2", 0, "completed", 6, 4_000)],
        turns: 6,
        max_turns: 20,
        iteration: 2,
        ..part("20", "20a", "Reading", UnderReview)
    };
    let review = PhaseSummary {
        origin: PhaseOrigin::Review,
        sessions: vec![at_work("s6", "Read src/reader.rs")],
        turns: 4,
        ..part("20a", "20a-review", "review of 20a", Working)
    };
    let again = PhaseSummary {
        split: 2,
        ..phase("20b", "Writing", Merging, &[("do-20b-a", Done, ""), ("do-20b-b", Done, "")])
    };
    let again = PhaseSummary { parent: Some("20".into()), origin: PhaseOrigin::Split, ..again };
    let done = |id: &str, title: &str, score| PhaseSummary {
        verified: Some(true),
        score,
        sessions: vec![session("s4", 0, "completed", 5, 3_900)],
        turns: 5,
        ..part("20b", id, title, PhaseStatus::Done)
    };
    let merge = PhaseSummary {
        origin: PhaseOrigin::Merge,
        sessions: vec![at_work("s7", "Edit src/writer.rs")],
        turns: 4,
        ..part("20b", "20b-merge-20b-b", "bringing 20b-b together", Working)
    };
    let failed = PhaseSummary {
        verified: Some(false),
        sessions: vec![at_work("s5", "Write src/printer.rs")],
        turns: 4,
        max_turns: 20,
        ..part("20", "20c", "Printing", Working)
    };
    let phases = vec![
        parent,
        reviewed,
        review,
        again,
        done("20b-a", "Headers", Some(92)),
        done("20b-b", "Bodies", None),
        merge,
        failed,
    ];
    RunView { phases, ..running() }
}

/// The same, as far as it went, at its end.
pub(crate) fn split_and_done() -> RunView {
    let mut view = split();
    view.status = RunStatus::Ended(RunOutcome::Done);
    for phase in &mut view.phases {
        phase.status = PhaseStatus::Done;
        phase.iteration = 1;
        phase.verified = phase.origin.is_part().then_some(true);
        phase.objectives.iter_mut().for_each(|objective| objective.status = ObjectiveStatus::Done);
        phase.sessions.iter_mut().for_each(|session| session.ending = "completed".into());
    }
    view
}

/// One phase in this number of parts: a few are done, a few at work, one waits for a person, and the rest is still to come.
pub(crate) fn crowd(parts: usize) -> RunView {
    let title = "Everything at once";
    let mut phases =
        vec![PhaseSummary { split: parts as u32, ..phase("20", title, PhaseStatus::Split, &[]) }];
    for (n, letter) in ('a'..='z').take(parts).enumerate() {
        let id = format!("20{letter}");
        let status = match n {
            0..=4 => PhaseStatus::Done,
            5 => PhaseStatus::Paused,
            6..=10 => PhaseStatus::Working,
            _ => PhaseStatus::Pending,
        };
        let part = part("20", &id, "One of many", status);
        let working = matches!(status, PhaseStatus::Working);
        let sessions = working.then(|| session(&format!("s{n}"), 0, "", 3, 3_000)).into_iter().collect();
        phases.push(PhaseSummary { sessions, turns: if working { 3 } else { 0 }, ..part });
    }
    RunView { phases, ..running() }
}
