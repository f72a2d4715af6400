//! Runs with sub-phases: one of everything that a split leads to, and a crowd.

use baton_runtime::core::action::Ending;
use baton_runtime::core::observation::ObjectiveStatus;
use baton_runtime::core::view::{Origin, PhaseRow, PhaseStatus, RunStatus, RunView, SessionRow};
use baton_runtime::core::{PhaseId, Tree};

use super::{phase, running, session};

/// A part of a phase, with one objective in a work tree of its own.
fn part(parent: &str, id: &str, title: &str, status: PhaseStatus) -> PhaseRow {
    let done = match status {
        PhaseStatus::Done => ObjectiveStatus::Done,
        _ => ObjectiveStatus::Open,
    };
    PhaseRow {
        parent: Some(parent.into()),
        origin: Origin::Split,
        tree: Tree::of(&PhaseId::new(id)),
        ..phase(id, title, status, &[(&format!("do-{id}"), done, "")])
    }
}

/// A phase in three parts, of which one was split again; one part is reviewed, and a conflict is resolved.
pub(crate) fn split() -> RunView {
    use ObjectiveStatus::{Done, Open};
    use PhaseStatus::{Merging, UnderReview, Working};
    let at_work = |id: &str, last: &str| SessionRow { last: last.into(), ..session(id, 0, "", 4, 3_100) };
    let parent = PhaseRow {
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
    let reviewed = PhaseRow {
        verified: Some(true),
        score: Some(64),
        sessions: vec![session("s2", 0, "completed", 6, 4_000)],
        turns: 6,
        max_turns: 20,
        iteration: 2,
        ..part("20", "20a", "Reading", UnderReview)
    };
    let review = PhaseRow {
        origin: Origin::Review,
        sessions: vec![at_work("s6", "Read src/reader.rs")],
        turns: 4,
        ..part("20a", "20a-review", "review of 20a", Working)
    };
    let again = PhaseRow {
        split: 2,
        ..phase("20b", "Writing", Merging, &[("do-20b-a", Done, ""), ("do-20b-b", Done, "")])
    };
    let again = PhaseRow { parent: Some("20".into()), origin: Origin::Split, ..again };
    let done = |id: &str, title: &str, score| PhaseRow {
        verified: Some(true),
        score,
        sessions: vec![session("s4", 0, "completed", 5, 3_900)],
        turns: 5,
        ..part("20b", id, title, PhaseStatus::Done)
    };
    let merge = PhaseRow {
        origin: Origin::Merge,
        sessions: vec![at_work("s7", "Edit src/writer.rs")],
        turns: 4,
        ..part("20b", "20b-merge-20b-b", "bringing 20b-b together", Working)
    };
    let failed = PhaseRow {
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
    view.status = RunStatus::Ended(Ending::Done);
    for phase in &mut view.phases {
        phase.status = PhaseStatus::Done;
        phase.iteration = 1;
        phase.verified = phase.origin.is_part().then_some(true);
        phase.objectives.iter_mut().for_each(|objective| objective.status = ObjectiveStatus::Done);
        phase.sessions.iter_mut().for_each(|session| session.ending = "completed".into());
    }
    view
}

/// One phase in so many parts: a few are done, a few at work, one waits for a person, and the rest is still to come.
pub(crate) fn crowd(parts: usize) -> RunView {
    let title = "Everything at once";
    let mut phases = vec![PhaseRow { split: parts as u32, ..phase("20", title, PhaseStatus::Split, &[]) }];
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
        phases.push(PhaseRow { sessions, turns: if working { 3 } else { 0 }, ..part });
    }
    RunView { phases, ..running() }
}
