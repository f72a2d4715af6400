//! Whether a run could follow a decision, as far as the question tells: what the host holds it to before it acts.

use std::collections::BTreeMap;

use crate::exhaustion::{Occasion as Moment, Verdict};
use crate::splitting::{Action as Scope, Observation, Occasion, SubPhase, Time};
use crate::types::ObjectiveStatus;
use crate::{Answer, Ask};

/// What is wrong with it.
pub(super) fn broken(ask: &Ask, answer: &Answer) -> Option<String> {
    match (ask, answer) {
        (Ask::Assess(seen), Answer::Assess(answer)) => {
            let ended = matches!(seen.occasion, Moment::PromptEnded | Moment::SessionEnded);
            (ended && answer.verdict == Verdict::Healthy)
                .then(|| "it calls healthy what has ended".to_owned())
        }
        (Ask::Complete(seen), Answer::Complete(answer)) => {
            let is_asked = |id: &String| seen.session.objectives.iter().any(|objective| objective.id == *id);
            let stranger = answer.done.iter().find(|id| !is_asked(id));
            stranger.map(|id| format!("it calls {id:?} done, which is no objective of the prompt"))
        }
        (Ask::Offload(seen), Answer::Offload(answer)) => {
            let stranger = answer.items.iter().find(|id| seen.items.iter().all(|item| item.id != **id));
            stranger.map(|id| format!("it offloads {id:?}, which was not offered"))
        }
        (Ask::Split(seen), Answer::Split(answer)) => match &answer.action {
            Scope::Split(parts) => bad_split(seen, parts),
            Scope::Keep | Scope::AskPerson(_) => None,
        },
        (Ask::Brief(_), Answer::Brief(answer)) => {
            answer.text().trim().is_empty().then(|| "its prompt is empty".to_owned())
        }
        (Ask::Budget(_), Answer::Budget(_))
        | (Ask::Recover(_), Answer::Recover(_))
        | (Ask::Compaction(_), Answer::Compaction(_))
        | (Ask::Compose(_), Answer::Compose(_))
        | (Ask::Review(_), Answer::Review(_))
        | (_, Answer::Abstained) => None,
        _ => Some("it answers another question than the one that was put".to_owned()),
    }
}

/// Every open objective in exactly one part, no other, within what the workflow allows.
fn bad_split(seen: &Observation, parts: &[SubPhase]) -> Option<String> {
    if seen.wish == Time::Never && seen.occasion != Occasion::Requested {
        return Some(
            "the workflow says split = \"never\" for this phase, and no agent asks for a split".to_owned(),
        );
    }
    if parts.len() < 2 {
        return Some(format!("a split has at least two parts, this one has {}", parts.len()));
    }
    let allowed = seen.limits.parts;
    if parts.len() > allowed as usize {
        return Some(format!("{} parts are more than the {allowed} that the workflow allows", parts.len()));
    }
    if seen.phase.depth >= seen.limits.depth {
        return Some(format!("a phase of depth {} is not split any further", seen.phase.depth));
    }
    let mut places: BTreeMap<&str, u32> = seen
        .objectives
        .iter()
        .filter(|objective| objective.status != ObjectiveStatus::Done)
        .map(|objective| (objective.id.as_str(), 0))
        .collect();
    for part in parts {
        if part.objectives.is_empty() {
            return Some(format!("the part {:?} has no objective", part.title));
        }
        for id in &part.objectives {
            match places.get_mut(id.as_str()) {
                Some(count) => *count += 1,
                None => return Some(format!("{id:?} is in a part, and is no open objective of the phase")),
            }
        }
    }
    let (id, count) = places.into_iter().find(|(_, count)| *count != 1)?;
    Some(format!("{id:?} is in {count} parts; every open objective belongs to exactly one"))
}
