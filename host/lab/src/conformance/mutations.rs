//! Questions that differ in one thing from another, for the rules that compare two answers. Each gives nothing where the
//! question has not what it would change.

use baton_core::facts::SignalSource;
use baton_core::observation::{
    Attributes, ObjectiveStatus, ObjectiveView, PolicyQuery, PolicyRequest, SignalView, TextSpan,
};
use baton_core::{ObjectiveId, Seq, TextBlob};

use super::question_rng::QuestionRng;
use super::views;

/// What a tool would print that reads a file about agents.
const PRINTED: &str =
    "error: prompt is too long: context window exceeded; usage limit reached, rate limit, 429";

/// A tool prints something, after everything else.
pub(super) fn append_tool_output(question: &PolicyRequest, _: &mut QuestionRng) -> Option<PolicyRequest> {
    let mut changed = question.clone();
    let PolicyQuery::Exhaustion(seen) = &mut changed.query else { return None };
    if seen.signals.len() >= views::SIGNALS {
        return None;
    }
    let window = changed.texts.get_mut(seen.window.0 as usize)?;
    let text = format!("{}{PRINTED}", window.body()?);
    let end = u32::try_from(text.len()).ok()?;
    seen.signals.push(SignalView {
        seq: seen.signals.last().map_or(Seq(1), |newest| newest.seq.next()),
        channel: SignalSource::ToolOutput,
        age_ms: 0,
        prompt: seen.session.prompts,
        code: None,
        status: None,
        resets_at_ms: None,
        retrying: false,
        text: TextSpan { start: end - PRINTED.len() as u32, end },
    });
    *window = TextBlob::new(text);
    Some(changed)
}

/// A session whose occupancy is known is fuller.
pub(super) fn increase_tokens(question: &PolicyRequest, rng: &mut QuestionRng) -> Option<PolicyRequest> {
    let mut changed = question.clone();
    let session = match &mut changed.query {
        PolicyQuery::Exhaustion(seen) => &mut seen.session,
        PolicyQuery::Compaction(seen) => &mut seen.session,
        _ => return None,
    };
    let used = session.occupancy.used_tokens?;
    session.occupancy.used_tokens = Some(used.checked_add(1 + rng.number(300_000))?);
    Some(changed)
}

/// One objective that was open is done.
pub(super) fn complete_objective(question: &PolicyRequest, rng: &mut QuestionRng) -> Option<PolicyRequest> {
    let mut changed = question.clone();
    let PolicyQuery::Splitting(seen) = &mut changed.query else { return None };
    let open = seen.objectives.iter_mut().filter(|objective| objective.status != ObjectiveStatus::Done);
    let mut open: Vec<_> = open.collect();
    if open.is_empty() {
        return None;
    }
    let one = rng.below(open.len());
    let progress = &mut seen.phase.progress;
    match std::mem::replace(&mut open[one].status, ObjectiveStatus::Done) {
        ObjectiveStatus::Failed => progress.failed -= 1,
        _ => progress.open -= 1,
    }
    progress.done += 1;
    Some(changed)
}

/// There is an objective more, and it is done.
pub(super) fn add_completed_objective(
    question: &PolicyRequest,
    rng: &mut QuestionRng,
) -> Option<PolicyRequest> {
    let mut changed = question.clone();
    let (objectives, phase) = match &mut changed.query {
        PolicyQuery::Splitting(seen) => (&mut seen.objectives, &mut seen.phase),
        PolicyQuery::Budgeting(seen) => (&mut seen.objectives, &mut seen.phase),
        _ => return None,
    };
    if objectives.len() >= views::OBJECTIVES {
        return None;
    }
    objectives.push(ObjectiveView {
        status: ObjectiveStatus::Done,
        attempts: 1,
        files: rng.number32(100),
        ..ObjectiveView::new(ObjectiveId::new("done-before"), rng.text(400))
    });
    phase.progress.done += 1;
    Some(changed)
}

/// The table has more turns.
pub(super) fn increase_turns(question: &PolicyRequest, rng: &mut QuestionRng) -> Option<PolicyRequest> {
    let mut changed = question.clone();
    let PolicyQuery::Budgeting(seen) = &mut changed.query else { return None };
    seen.base_turns = Some(seen.base_turns? + 1 + rng.number32(views::TURNS));
    Some(changed)
}

/// A document has a secret more in it, or names a file more that is gone.
pub(super) fn worsen_document(question: &PolicyRequest, rng: &mut QuestionRng) -> Option<PolicyRequest> {
    let mut changed = question.clone();
    let PolicyQuery::Review(seen) = &mut changed.query else { return None };
    match rng.coin() {
        true => seen.secrets.push("api-key".to_owned()),
        false => seen.missing_files.push("src/conformance/gone.rs".to_owned()),
    }
    Some(changed)
}

/// There were more commits since.
pub(super) fn more_commits(question: &PolicyRequest, rng: &mut QuestionRng) -> Option<PolicyRequest> {
    let mut changed = question.clone();
    let PolicyQuery::Review(seen) = &mut changed.query else { return None };
    seen.commits_since = seen.commits_since.checked_add(1 + rng.number32(1000))?;
    Some(changed)
}

/// An experiment says something that no policy of today knows.
pub(super) fn add_unknown_attribute(
    question: &PolicyRequest,
    rng: &mut QuestionRng,
) -> Option<PolicyRequest> {
    let mut changed = question.clone();
    let key = format!("x-conformance-{}", rng.number(u64::MAX));
    attributes(&mut changed.query).push((key, rng.line(40)));
    Some(changed)
}

fn attributes(query: &mut PolicyQuery) -> &mut Attributes {
    match query {
        PolicyQuery::Exhaustion(seen) => &mut seen.attributes,
        PolicyQuery::Completion(seen) => &mut seen.session.attributes,
        PolicyQuery::Recovery(seen) => &mut seen.session.attributes,
        PolicyQuery::Compaction(seen) => &mut seen.attributes,
        PolicyQuery::Offloading(seen) => &mut seen.attributes,
        PolicyQuery::Splitting(seen) => &mut seen.attributes,
        PolicyQuery::Budgeting(seen) => &mut seen.attributes,
        PolicyQuery::Prompting(seen) | PolicyQuery::Handoff(seen) => &mut seen.attributes,
        PolicyQuery::Review(seen) => &mut seen.attributes,
    }
}
