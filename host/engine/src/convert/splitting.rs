//! What an agent asks for when it asks for its phase to be split, and the question about that.

use baton_core::observation as see;
use baton_core::workflow::SplitTime;

use super::{git, ids, list, objectives, pairs, phase, turn};
use crate::bindings::questions;

/// The ids of the objectives of each group that an agent would have.
pub(super) fn ids_of_groups(requested: Option<&see::SplitRequestView>) -> Vec<Vec<&str>> {
    requested.into_iter().flat_map(|request| &request.groups).map(|group| ids(&group.objectives)).collect()
}

pub(super) fn groups<'a>(
    requested: Option<&'a see::SplitRequestView>,
    ids_of_groups: &'a [Vec<&'a str>],
) -> Vec<questions::SplitGroup<'a>> {
    let titles = requested.into_iter().flat_map(|request| &request.groups).map(|group| group.title.as_str());
    titles.zip(ids_of_groups).map(|(title, objectives)| questions::SplitGroup { title, objectives }).collect()
}

pub(super) fn split_request<'a>(
    requested: Option<&'a see::SplitRequestView>,
    groups: &'a [questions::SplitGroup<'a>],
) -> Option<questions::SplitRequest<'a>> {
    requested.map(|request| questions::SplitRequest { groups, rationale: &request.rationale })
}

/// Calls `ask` with the WIT form of the observation, which borrows from it.
pub(crate) fn splitting<R>(
    seen: &see::SplittingObservation,
    ask: impl FnOnce(questions::SplittingObservation<'_>) -> R,
) -> R {
    let recent = list(&seen.recent, turn);
    let attributes = pairs(&seen.attributes);
    let ids_of_groups = ids_of_groups(seen.requested.as_ref());
    let groups = groups(seen.requested.as_ref(), &ids_of_groups);
    objectives(&seen.objectives, |objectives| {
        ask(questions::SplittingObservation {
            occasion: same!(seen.occasion, see::SplitTrigger => questions::SplitOccasion:
            PhaseStart, Boundary, Requested, OutOfContinuations),
            phase: phase(&seen.phase),
            objectives,
            requested: split_request(seen.requested.as_ref(), &groups),
            limits: questions::SplitLimits { parts: seen.limits.parts, depth: seen.limits.depth },
            wish: same!(seen.wish, SplitTime => questions::SplitTime: Ahead, During, Never),
            files_changed: seen.files_changed,
            workspace_files: seen.workspace_files,
            recent: &recent,
            window_tokens: seen.window_tokens,
            git: seen.git.as_ref().map(git),
            attributes: &attributes,
        })
    })
}
