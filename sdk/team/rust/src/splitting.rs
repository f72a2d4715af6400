//! A large phase whose objectives name files in several top folders: one part per folder.

use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Decision, Observation, Occasion, Order, SubPhase, Time};

use crate::Team;

/// Characters of a part's title.
const TITLE_CHARS: usize = 60;
/// The part of the objectives that name no folder.
const REST: &str = "other files";

pub(crate) fn setting() -> settings::Setting {
    schema::integer(
        "objectives-at-most",
        4,
        1..=100,
        "Split a phase that has more open objectives than this, and in more than one top folder.",
    )
}

impl Splitting for Team {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let is_allowed = o.phase.depth < o.limits.depth && o.wish != Time::Never;
        if o.occasion != Occasion::PhaseStart || !is_allowed {
            return None;
        }
        let open: Vec<&Objective> =
            o.objectives.iter().filter(|objective| objective.status != ObjectiveStatus::Done).collect();
        if open.len() as i64 <= host.integer("objectives-at-most") {
            return None;
        }
        // In the order in which the objectives name them.
        let mut parts: Vec<(Option<&str>, Vec<String>)> = Vec::new();
        for objective in &open {
            let folder = folder(objective);
            match parts.iter_mut().find(|(of, _)| *of == folder) {
                Some((_, ids)) => ids.push(objective.id.clone()),
                None => parts.push((folder, vec![objective.id.clone()])),
            }
        }
        let folders = parts.iter().filter(|(folder, _)| folder.is_some()).count();
        if folders < 2 || parts.len() > o.limits.parts as usize {
            return None;
        }
        let reason =
            format!("{} open objectives name files in {folders} folders: {} parts", open.len(), parts.len());
        let part = |(folder, objectives): (Option<&str>, Vec<String>)| SubPhase {
            title: folder.unwrap_or(REST).chars().take(TITLE_CHARS).collect(),
            objectives,
            order: Order::Direct,
            max_turns: None,
        };
        Some(Decision::new(Action::Split(parts.into_iter().map(part).collect()), reason))
    }
}

/// The top folder of the first file that an objective names.
fn folder(objective: &Objective) -> Option<&str> {
    match objective.expected_files.first() {
        Some(file) => top(&file.path),
        None => {
            let mut words = objective.description.split([' ', '\t', '\r', '\n']);
            words.find_map(|word| if word.contains('/') { named(word) } else { None })
        }
    }
}

/// The top folder of a word that is a path: it has a folder, and its last name has a dot or is empty.
fn named(word: &str) -> Option<&str> {
    const AROUND: [char; 14] = ['"', '\'', '`', '(', ')', '[', ']', '<', '>', ',', ';', ':', '!', '?'];
    let word = word.trim_matches(AROUND);
    let last = word.trim_end_matches('.').rsplit('/').next()?;
    if word.contains("://") || !(last.is_empty() || last.contains('.')) {
        return None;
    }
    top(word)
}

/// The first folder of a relative path.
fn top(path: &str) -> Option<&str> {
    let (folder, _) = path.strip_prefix("./").unwrap_or(path).split_once('/')?;
    Some(folder).filter(|folder| !folder.is_empty())
}
