//! The graph of the phases of a workflow file: ids, dependencies, and loops. Opens no file.

use std::collections::{BTreeMap, BTreeSet};

use super::check::WorkflowChecker;
use super::diagnostic::suggest;
use super::schema::{LocatedValue, PhaseSchema};
use crate::workflow::Acceptance;

impl WorkflowChecker<'_, '_> {
    pub(super) fn phase_ids(&mut self, phases: &[LocatedValue<PhaseSchema>]) {
        let mut seen = BTreeSet::new();
        for phase in phases {
            let id = &phase.get().id;
            self.id("id", "of a phase", id);
            if !seen.insert(id.get()) {
                let what = format!("two phases have the id `{}`", id.get());
                self.problems.at(id.span(), "id", what, "give each phase an id of its own");
            }
        }
    }

    pub(super) fn objective_ids(&mut self, phases: &[LocatedValue<PhaseSchema>]) {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for phase in phases {
            let phase = phase.get();
            for objective in &phase.objectives {
                let id = &objective.get().id;
                self.id("id", &format!("of an objective in phase `{}`", phase.id.get()), id);
                if let Some(other) = seen.insert(id.get(), phase.id.get()) {
                    let what = format!(
                        "two objectives have the id `{}`; the first stands in phase `{other}`",
                        id.get()
                    );
                    self.problems.at(
                        id.span(),
                        "id",
                        what,
                        "ids of objectives are unique in the whole workflow",
                    );
                }
            }
        }
    }

    /// Every name is a phase, and no phase waits for itself.
    pub(super) fn depends_on(&mut self, phases: &[LocatedValue<PhaseSchema>]) {
        let by_id: BTreeMap<&str, &PhaseSchema> =
            phases.iter().map(|phase| (phase.get().id.get().as_str(), phase.get())).collect();
        for phase in phases {
            for name in phase.get().depends_on.iter().flatten() {
                if !by_id.contains_key(name.get().as_str()) {
                    let id = phase.get().id.get();
                    let what =
                        format!("phase `{id}` depends on `{}`, which is no phase", name.get().escape_debug());
                    let hint = suggest(name.get(), by_id.keys().copied().filter(|known| *known != id));
                    self.problems.at(name.span(), "depends_on", what, hint);
                }
            }
        }
        if let Some(cycle) = find_cycle(&by_id) {
            let first = by_id[cycle[0]];
            let span = first.depends_on.iter().flatten().next().map_or(first.id.span(), LocatedValue::span);
            let what = match cycle.as_slice() {
                [only] => format!("phase `{only}` depends on itself"),
                _ => format!("phases wait for each other: {} -> {}", cycle.join(" -> "), cycle[0]),
            };
            let hint = "remove one of these `depends_on`, so that one phase can begin";
            self.problems.at(span, "depends_on", what, hint);
        }
    }

    /// If the workflow accepts only checked objectives, each one must have a check (A11).
    pub(super) fn acceptance(
        &mut self,
        accept: Option<&LocatedValue<Acceptance>>,
        phases: &[LocatedValue<PhaseSchema>],
    ) {
        let Some(accept) = accept.filter(|accept| *accept.get() == Acceptance::Checked) else { return };
        let unchecked =
            phases.iter().map(LocatedValue::get).filter(|phase| phase.verify.is_none()).find_map(|phase| {
                let objective =
                    phase.objectives.iter().map(LocatedValue::get).find(|one| one.verify.is_none())?;
                Some((phase.id.get(), objective.id.get()))
            });
        if let Some((phase, objective)) = unchecked {
            let what = format!(
                "`accept = \"checked\"`, but nothing checks objective `{objective}` of phase `{phase}`"
            );
            let hint = "give the objective or its phase a command: verify = \"…\"";
            self.problems.at(accept.span(), "accept", what, hint);
        }
    }

    /// Loops lead back to an earlier phase, have a check or a review, and are disjoint or nested (B10).
    pub(super) fn loops(&mut self, phases: &[LocatedValue<PhaseSchema>]) {
        let place_of = |id: &str| phases.iter().position(|phase| phase.get().id.get() == id);
        // The first and the last phase of each loop, by the order of the file.
        let mut walked: Vec<(usize, usize)> = Vec::new();
        for (last, phase) in phases.iter().enumerate() {
            let phase = phase.get();
            let Some(repeat) = &phase.repeat else { continue };
            let (id, from) = (phase.id.get(), &repeat.from);
            let earlier = || phases[..last].iter().map(|phase| phase.get().id.get().as_str());
            let first = match place_of(from.get()) {
                Some(first) if first < last => first,
                found => {
                    let why = if found.is_some() { "does not stand before it" } else { "is no phase" };
                    let what =
                        format!("phase `{id}` repeats from `{}`, which {why}", from.get().escape_debug());
                    let hint = match last {
                        0 => "a loop ends at a later phase than the one that it begins with".to_owned(),
                        _ => suggest(from.get(), earlier()),
                    };
                    self.problems.at(from.span(), "repeat", what, hint);
                    continue;
                }
            };
            let judged = phase.verify.is_some()
                || phase.review.is_some()
                || phase.objectives.iter().any(|objective| objective.get().verify.is_some());
            if !judged {
                let what = format!("phase `{id}` repeats, but nothing says when it is good enough");
                let hint = "give the phase a `verify` command or a `review`";
                self.problems.at(from.span(), "repeat", what, hint);
            }
            if let Some((_, other)) = walked.iter().find(|(begin, end)| *begin < first && first <= *end) {
                let what = format!(
                    "the loop of phase `{id}` begins within the loop of phase `{}`",
                    phases[*other].get().id.get()
                );
                let hint = "a loop lies within another one, or apart from it";
                self.problems.at(from.span(), "repeat", what, hint);
            }
            walked.push((first, last));
        }
    }
}

/// The first cycle of `depends_on`, as the ids on the way. Phases that do not exist are left out.
fn find_cycle<'a>(phases: &BTreeMap<&'a str, &'a PhaseSchema>) -> Option<Vec<&'a str>> {
    let mut finished: BTreeSet<&str> = BTreeSet::new();
    for &start in phases.keys() {
        // Depth first with a stack of its own, so that a long chain cannot exhaust the thread's.
        let mut way: Vec<(&'a str, usize)> = vec![(start, 0)];
        while let Some((id, next)) = way.last_mut() {
            let before =
                if finished.contains(id) { None } else { phases[*id].depends_on.iter().flatten().nth(*next) };
            *next += 1;
            match before.map(|name| name.get().as_str()) {
                Some(name) if !phases.contains_key(name) => {}
                Some(name) => match way.iter().position(|(on_way, _)| *on_way == name) {
                    Some(begin) => return Some(way[begin..].iter().map(|(id, _)| *id).collect()),
                    None => way.push((name, 0)),
                },
                None => {
                    finished.insert(*id);
                    way.pop();
                }
            }
        }
    }
    None
}
