//! Values that a workflow file may omit: names, ids, titles and the goal, derived from the rest. Opens no file.
//!
//! The same file always gives the same ids: a resumed run is recognised by them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::diagnostic::Diagnostics;
use super::schema::{LocatedValue, ObjectiveSchema, PhaseSchema, WorkflowSchema};
use super::values::is_id;

/// Characters of a derived id: it is a column of a table, and a word that people type.
const DERIVED_CHARS_MAX: usize = 24;
/// Characters of a title that is made of the first words of a task.
const TITLE_CHARS_MAX: usize = 72;
/// Words that do not help to distinguish two ids in the languages in which people write ids.
const FILLER_WORDS: [&str; 6] = ["a", "an", "the", "its", "own", "their"];
/// Words after which another one is expected: a cut after one of them leaves half a phrase.
const DANGLING_WORDS: [&str; 24] = [
    "about", "all", "and", "as", "at", "before", "but", "by", "every", "for", "from", "in", "into", "of",
    "on", "or", "so", "that", "to", "under", "until", "when", "which", "with",
];
/// How a workflow is called whose file has a name that cannot be an id.
const DEFAULT_NAME: &str = "workflow";

/// Fills in the omitted values.
pub(super) fn derive(shape: &mut WorkflowSchema, problems: &mut Diagnostics<'_>) {
    if shape.name.is_absent() {
        let name = name_of(problems.origin());
        shape.name = shape.name.with(name);
    }
    for phase in &mut shape.phases {
        merge_objective_lists(phase, problems);
    }
    let titles = titles(&shape.phases);
    derive_phase_ids(&mut shape.phases);
    derive_objective_ids(&mut shape.phases);
    resolve_titles(&mut shape.phases, &titles);
    if shape.limits.parallel.is_none_or(|parallel| parallel <= 1) {
        chain_phases(&mut shape.phases);
    }
    if shape.goal.is_absent() {
        let goal = titles.into_iter().flatten().collect::<Vec<_>>().join("; ");
        shape.goal = shape.goal.with(goal);
    }
}

/// The name of the file, without its extension.
fn name_of(origin: &str) -> String {
    let stem = Path::new(origin).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.filter(|stem| is_id(stem));
    stem.unwrap_or_else(|| DEFAULT_NAME.to_owned())
}

/// `do` and `objectives` are one list.
fn merge_objective_lists(phase: &mut LocatedValue<PhaseSchema>, problems: &mut Diagnostics<'_>) {
    let span = phase.span();
    let phase = phase.get_mut();
    let place = match (phase.id.is_absent(), &phase.title) {
        (false, _) => format!("phase `{}`", phase.id.get()),
        (true, Some(title)) => format!("phase \"{}\"", title.escape_debug()),
        (true, None) => "a phase".to_owned(),
    };
    match (phase.to_do.is_empty(), phase.objectives.is_empty()) {
        (false, true) => phase.objectives = std::mem::take(&mut phase.to_do),
        (true, false) => {}
        (true, true) => {
            let what = format!("{place} has nothing to do");
            problems.at(span, "do", what, "add do = [\"Create crates/parser\", \"Port its tests\"]");
        }
        (false, false) => {
            let what = format!("{place} has both `do` and `objectives`");
            problems.at(phase.to_do[0].span(), "do", what, "they are the same list: write one of them");
        }
    }
}

/// The title of each phase that has one, or whose id is derived from its task.
fn titles(phases: &[LocatedValue<PhaseSchema>]) -> Vec<Option<String>> {
    let of = |phase: &PhaseSchema| {
        let said =
            phase.title.as_ref().map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
        let first = || phase.objectives.first().map(|one| first_line(&one.get().description));
        said.or_else(first)
    };
    phases.iter().map(|phase| of(phase.get())).collect()
}

/// The first line, cut between two words.
fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim();
    if line.chars().count() <= TITLE_CHARS_MAX {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(TITLE_CHARS_MAX).collect();
    if let Some(space) = cut.rfind(' ') {
        cut.truncate(space);
    }
    format!("{}…", cut.trim_end())
}

fn derive_phase_ids(phases: &mut [LocatedValue<PhaseSchema>]) {
    let mut taken: BTreeSet<String> = said(phases.iter().map(|phase| &phase.get().id));
    for (index, phase) in phases.iter_mut().enumerate() {
        let span = phase.span();
        let phase = phase.get_mut();
        if !phase.id.is_absent() {
            continue;
        }
        let title = phase.title.clone().or_else(|| {
            let title = phase.objectives.first().map(|one| first_line(&one.get().description));
            phase.title.clone_from(&title);
            title
        });
        let id = unused(words(&title.unwrap_or_default()), &format!("phase-{}", index + 1), &mut taken);
        phase.id = LocatedValue::derived(span, id);
    }
}

fn derive_objective_ids(phases: &mut [LocatedValue<PhaseSchema>]) {
    let objectives = |phases: &[LocatedValue<PhaseSchema>]| -> BTreeSet<String> {
        said(phases.iter().flat_map(|phase| &phase.get().objectives).map(|one| &one.get().id))
    };
    let mut taken = objectives(phases);
    for phase in phases {
        let phase = phase.get_mut();
        let mut above: String = phase.id.get().chars().take(DERIVED_CHARS_MAX).collect();
        above.truncate(above.trim_end_matches('-').len());
        for (index, objective) in phase.objectives.iter_mut().enumerate() {
            let span = objective.span();
            let objective: &mut ObjectiveSchema = objective.get_mut();
            if objective.id.is_absent() {
                let id = unused(words(&objective.description), &format!("{above}-{}", index + 1), &mut taken);
                objective.id = LocatedValue::derived(span, id);
            }
        }
    }
}

/// The ids in the file.
fn said<'a>(ids: impl Iterator<Item = &'a LocatedValue<String>>) -> BTreeSet<String> {
    ids.filter(|id| !id.is_absent()).map(|id| id.get().clone()).collect()
}

/// If a phase has no id, the phases that wait for it may name it by its title.
fn resolve_titles(phases: &mut [LocatedValue<PhaseSchema>], titles: &[Option<String>]) {
    let ids: BTreeSet<String> = phases.iter().map(|phase| phase.get().id.get().clone()).collect();
    let mut known: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for (phase, title) in phases.iter().zip(titles) {
        let Some(title) = title else { continue };
        // Two with the same title differ in their ids alone.
        known
            .entry(title)
            .and_modify(|one| *one = None)
            .or_insert_with(|| Some(phase.get().id.get().clone()));
    }
    for phase in phases {
        for name in phase.get_mut().depends_on.iter_mut().flatten() {
            if ids.contains(name.get()) {
                continue;
            }
            if let Some(Some(id)) = known.get(name.get().trim()) {
                *name = name.with(id.clone());
            }
        }
    }
}

/// If no phase names its dependencies, each waits for the one above it, as in a plan.
fn chain_phases(phases: &mut [LocatedValue<PhaseSchema>]) {
    // Two phases of one id are a mistake of their own.
    let ids: BTreeSet<&str> = phases.iter().map(|phase| phase.get().id.get().as_str()).collect();
    if ids.len() < phases.len() || phases.iter().any(|phase| phase.get().depends_on.is_some()) {
        return;
    }
    for later in 1..phases.len() {
        let above = phases[later - 1].get().id.get().clone();
        let span = phases[later].span();
        phases[later].get_mut().depends_on = Some(vec![LocatedValue::derived(span, above)]);
    }
}

/// The first words of a text as an id; empty if it has none. It does not end in a word that expects another one: an agent that
/// repeats the id would drop that word.
fn words(text: &str) -> String {
    let mut id: Vec<String> = Vec::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let parts: Vec<String> = word
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|part| !part.is_empty())
            .map(str::to_ascii_lowercase)
            .collect();
        // In a path or a name of several parts, each part is significant: "src/a.txt".
        let is_word = parts.len() == 1;
        for part in parts.into_iter().filter(|part| !is_word || !FILLER_WORDS.contains(&part.as_str())) {
            length += part.len() + usize::from(!id.is_empty());
            if length > DERIVED_CHARS_MAX {
                return ended(id);
            }
            id.push(part);
        }
    }
    ended(id)
}

/// The words of an id without those at its end that lead to another word; if it has no others, as they are.
fn ended(words: Vec<String>) -> String {
    let is_dangling = |word: &&String| DANGLING_WORDS.contains(&word.as_str());
    let kept = words.len() - words.iter().rev().take_while(is_dangling).count();
    words[..if kept == 0 { words.len() } else { kept }].join("-")
}

/// This id, or it with a number if it is in use.
fn unused(id: String, instead: &str, taken: &mut BTreeSet<String>) -> String {
    let id = if id.is_empty() { instead.to_owned() } else { id };
    let mut free = id.clone();
    let mut number = 1_u32;
    while taken.contains(&free) {
        number += 1;
        free = format!("{id}-{number}");
    }
    taken.insert(free.clone());
    free
}
