//! Questions that differ in one thing from another, for the rules that compare two answers. There are none where the question
//! has not what they would change.

use crate::types::{Channel, Objective, ObjectiveStatus, Signal, Span};
use crate::{Ask, Case};

/// What a tool would print that reads a file about agents.
const PRINTED: &str =
    "error: prompt is too long: context window exceeded; usage limit reached, rate limit, 429";

/// So many more tokens are used: hardly more, a good deal, and more than most windows have.
const MORE_TOKENS: [u64; 3] = [1, 20_000, 1_000_000];

/// So many more turns, or commits.
const MORE: [u32; 3] = [1, 7, 100];

fn changed(case: &Case, change: impl FnOnce(&mut Case) -> Option<()>) -> Vec<Case> {
    let mut changed = case.clone();
    change(&mut changed).map(|()| changed).into_iter().collect()
}

/// A tool prints something, after everything else.
pub(super) fn a_tool_prints(case: &Case) -> Vec<Case> {
    changed(case, |case| {
        let Ask::Assess(seen) = &mut case.ask else { return None };
        let window = case.texts.get_mut(seen.window as usize)?;
        let start = u32::try_from(window.len()).ok()?;
        window.push_str(PRINTED);
        seen.signals.push(Signal {
            seq: seen.signals.last().map_or(1, |newest| newest.seq + 1),
            channel: Channel::ToolOutput,
            age_ms: 0,
            prompt: seen.session.prompts,
            code: None,
            status: None,
            resets_at_ms: None,
            retrying: false,
            text: Span { start, end: start + PRINTED.len() as u32 },
        });
        Some(())
    })
}

/// A session whose occupancy is known is fuller.
pub(super) fn more_tokens(case: &Case) -> Vec<Case> {
    let more = |more| {
        changed(case, |case| {
            let session = match &mut case.ask {
                Ask::Assess(seen) => &mut seen.session,
                Ask::Compaction(seen) => &mut seen.session,
                _ => return None,
            };
            let used = session.occupancy.used_tokens.as_mut()?;
            *used = used.checked_add(more)?;
            Some(())
        })
    };
    MORE_TOKENS.into_iter().flat_map(more).collect()
}

/// One objective that was open is done: each in turn.
pub(super) fn each_done(case: &Case) -> Vec<Case> {
    let Ask::Split(seen) = &case.ask else { return Vec::new() };
    let one = |place: usize| {
        changed(case, |case| {
            let Ask::Split(seen) = &mut case.ask else { return None };
            let objective = seen.objectives.get_mut(place)?;
            let progress = &mut seen.phase.progress;
            match std::mem::replace(&mut objective.status, ObjectiveStatus::Done) {
                ObjectiveStatus::Done => return None,
                ObjectiveStatus::Failed => progress.failed = progress.failed.saturating_sub(1),
                _ => progress.open = progress.open.saturating_sub(1),
            }
            progress.done += 1;
            Some(())
        })
    };
    (0..seen.objectives.len()).flat_map(one).collect()
}

/// There is an objective more, and it is done.
pub(super) fn one_done_more(case: &Case) -> Vec<Case> {
    changed(case, |case| {
        let (objectives, phase) = match &mut case.ask {
            Ask::Split(seen) => (&mut seen.objectives, &mut seen.phase),
            Ask::Budget(seen) => (&mut seen.objectives, &mut seen.phase),
            _ => return None,
        };
        objectives.push(Objective {
            id: "done-before".into(),
            description: "What somebody did before.".into(),
            status: ObjectiveStatus::Done,
            attempts: 1,
            files: 3,
            expected_files: Vec::new(),
            check: None,
            check_passed: None,
            reported: None,
            done_by: None,
        });
        phase.progress.done += 1;
        Some(())
    })
}

/// The table has more turns.
pub(super) fn larger_base(case: &Case) -> Vec<Case> {
    let more = |more| {
        changed(case, |case| {
            let Ask::Budget(seen) = &mut case.ask else { return None };
            seen.base_turns = Some(seen.base_turns?.checked_add(more)?);
            Some(())
        })
    };
    MORE.into_iter().flat_map(more).collect()
}

/// A document has a secret more in it, or names a file more that is gone.
pub(super) fn worse_documents(case: &Case) -> Vec<Case> {
    let mut worse = changed(case, |case| {
        let Ask::Review(seen) = &mut case.ask else { return None };
        seen.secrets.push("api-key".into());
        Some(())
    });
    worse.extend(changed(case, |case| {
        let Ask::Review(seen) = &mut case.ask else { return None };
        seen.missing_files.push("src/rules/gone.rs".into());
        Some(())
    }));
    worse
}

/// There were more commits since.
pub(super) fn more_commits(case: &Case) -> Vec<Case> {
    let more = |more| {
        changed(case, |case| {
            let Ask::Review(seen) = &mut case.ask else { return None };
            seen.commits_since = seen.commits_since.checked_add(more)?;
            Some(())
        })
    };
    MORE.into_iter().flat_map(more).collect()
}

/// An experiment says something that no policy of today knows.
pub(super) fn unknown_attribute(case: &Case) -> Case {
    let mut case = case.clone();
    let attributes = match &mut case.ask {
        Ask::Assess(seen) => &mut seen.attributes,
        Ask::Complete(seen) => &mut seen.session.attributes,
        Ask::Recover(seen) => &mut seen.session.attributes,
        Ask::Offload(seen) => &mut seen.attributes,
        Ask::Compaction(seen) => &mut seen.attributes,
        Ask::Split(seen) => &mut seen.attributes,
        Ask::Budget(seen) => &mut seen.attributes,
        Ask::Brief(seen) | Ask::Compose(seen) => &mut seen.attributes,
        Ask::Review(seen) => &mut seen.attributes,
    };
    attributes.push(("x-rules-unknown".into(), "what an experiment says".into()));
    case
}
