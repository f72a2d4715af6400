//! Whether a run could follow a decision, as far as the question tells: what the host holds it to before it acts.

use std::collections::BTreeMap;

use crate::exhaustion::{Occasion as Moment, Verdict};
use crate::recovery::Action as Course;
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
            Scope::AskPerson(question) => {
                let may_ask = seen.occasion == Occasion::OutOfContinuations;
                left_whole(seen).filter(|_| !may_ask).or_else(|| asks_nothing(question))
            }
            Scope::Keep => None,
        },
        (Ask::Budget(seen), Answer::Budget(answer)) => {
            no_turns(answer.max_turns).filter(|_| seen.spent.is_none())
        }
        (Ask::Brief(_), Answer::Brief(answer)) => {
            (!says_something(&answer.text())).then(|| "its prompt says nothing".to_owned())
        }
        (Ask::Compose(_), Answer::Compose(answer)) => {
            (!says_something(&answer.document_text())).then(|| "its document says nothing".to_owned())
        }
        (Ask::Recover(seen), Answer::Recover(answer)) => match &answer.action {
            Course::OtherRole(role) if !seen.other_roles.contains(role) => {
                Some(format!("it hands the phase to the role {role:?}, which is none of `other-roles`"))
            }
            Course::AskPerson(question) => asks_nothing(question),
            _ => None,
        },
        (Ask::Compaction(_), Answer::Compaction(_))
        | (Ask::Review(_), Answer::Review(_))
        | (_, Answer::Abstained) => None,
        _ => Some("it answers another question than the one that was put".to_owned()),
    }
}

fn asks_nothing(question: &str) -> Option<String> {
    (!says_something(question)).then(|| "it asks a person nothing".to_owned())
}

/// Whether a reader sees anything in a text: a character that is no blank, no control character, and has a width.
fn says_something(text: &str) -> bool {
    let is_joint = |c| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    let turns = |c| matches!(c, '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}');
    let hides = |c| matches!(c, '\u{180e}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    let has_width = |c: char| !is_joint(c) && !turns(c) && !hides(c);
    text.chars().any(|c| !c.is_whitespace() && !c.is_control() && has_width(c))
}

/// A scope that begins gets one turn at least, or no number.
fn no_turns(turns: Option<u32>) -> Option<String> {
    (turns == Some(0)).then(|| "it gives 0 turns, and 1 is the least".to_owned())
}

/// The workflow leaves a phase whole unless its agent asks.
fn left_whole(seen: &Observation) -> Option<String> {
    (seen.wish == Time::Never && seen.occasion != Occasion::Requested).then(|| {
        "the workflow says split = \"never\" for this phase, and no agent asks for a split".to_owned()
    })
}

/// Every open objective in exactly one part, no other, within what the workflow allows.
fn bad_split(seen: &Observation, parts: &[SubPhase]) -> Option<String> {
    if let Some(why) = left_whole(seen) {
        return Some(why);
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
        if let Some(why) = no_turns(part.max_turns) {
            return Some(format!("of the part {:?}: {why}", part.title));
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
