//! Whether a scope is too large, where it comes apart, and how many turns it may take (D2, D9, D10, D11, A2, A8).

use std::collections::BTreeMap;

use baton_sdk::Host;
use baton_sdk::budgeting::{Observation as Scope, Spent, TurnBudget};
use baton_sdk::splitting::{Action, Decision, Group, Observation, Occasion, Order, Request, SubPhase, Time};
use baton_sdk::types::{Objective, ObjectiveStatus};

use crate::seams::{self, Holders, Subjects};

/// Bytes of a description, files and failed prompts that each count as one more objective (D10).
const DESCRIPTION_BYTES: usize = 400;
const FILES_A_POINT: u32 = 3;
/// Open objectives that a question names.
const NAMED_OPEN: usize = 3;
/// Bytes of a sub-phase's title.
const TITLE_BYTES: usize = 60;

pub(crate) fn evaluate(host: &impl Host, o: &Observation) -> Decision {
    let open = open(&o.objectives);
    if open.is_empty() {
        return Decision::new(Action::Keep, "nothing is open");
    }
    let why = match &o.occasion {
        Occasion::Requested => o.requested.as_ref().map(|request| {
            format!("the agent asks for it: {}", first_line(&request.rationale, "it gives no reason"))
        }),
        Occasion::OutOfContinuations => Some(stuck_since(o)),
        Occasion::PhaseStart | Occasion::Boundary if o.wish == Time::Never => {
            return Decision::new(Action::Keep, "the workflow leaves it whole");
        }
        Occasion::PhaseStart if o.wish != Time::Ahead => {
            too_large(host, o, &open, host.integer("ahead-factor").max(1) as u64)
        }
        Occasion::PhaseStart | Occasion::Boundary => too_large(host, o, &open, 1),
        Occasion::Other(_) => return Decision::new(Action::Keep, "nobody asks for a split"),
    };
    let Some(why) = why else { return Decision::new(Action::Keep, "it is small enough") };
    let id = &o.phase.id;
    let stuck = o.occasion == Occasion::OutOfContinuations;
    let deepest = host.integer("max-depth").min(o.limits.depth.into());
    let whole = if open.len() < 2 {
        Some("it has one open objective")
    } else if i64::from(o.phase.depth) >= deepest {
        Some("it is split deeply already")
    } else if stuck && o.wish == Time::Never {
        Some("the workflow leaves it whole")
    } else {
        None
    };
    if let Some(how) = whole {
        // Where work can go on as it is, it does; only what is stuck needs a person.
        return if stuck {
            let question = format!("{}, and {how}, so it cannot be split.{}", stop_of(o, &open), way_on(o));
            Decision::new(Action::AskPerson(question), format!("{why}, and {how}"))
        } else {
            Decision::new(Action::Keep, format!("{why}, but {how}"))
        };
    }
    let parts = parts(host, o, &open, stuck);
    if parts.len() < 2 {
        return Decision::new(Action::Keep, format!("{why}, but its objectives belong together"));
    }
    let reason = format!("Phase {id} is too large ({} open objectives; {why})", open.len());
    Decision::new(Action::Split(sub_phases(host, &open, parts)), reason)
}

/// Why no session continues a phase as it is (A8).
enum Stop {
    /// All turns of the phase are used.
    Turns(u32),
    /// The host starts no session after one that brought nothing.
    Idle,
    /// All continuations are used.
    Continuations(u32),
}

impl Stop {
    fn of(o: &Observation) -> Self {
        let budget = &o.phase.budget;
        match budget.turns.filter(|turns| budget.turns_used >= *turns) {
            Some(turns) => Self::Turns(turns),
            None if budget.continuations_used < budget.continuations => Self::Idle,
            None => Self::Continuations(budget.continuations_used),
        }
    }
}

/// The reason of a decision about a phase that does not continue.
fn stuck_since(o: &Observation) -> String {
    match Stop::of(o) {
        Stop::Turns(1) => "the turn of the phase is used up".to_owned(),
        Stop::Turns(turns) => format!("the {turns} turns of the phase are used up"),
        Stop::Idle => "its last session finished no objective".to_owned(),
        Stop::Continuations(_) => "its continuations are used up".to_owned(),
    }
}

/// "4 sessions of phase build used up their windows or turns without finishing parser".
fn stop_of(o: &Observation, open: &[&Objective]) -> String {
    let (id, is_alone, open) = (&o.phase.id, open.len() == 1, named(open));
    match Stop::of(o) {
        Stop::Turns(turns) => {
            let turns = if turns == 1 { "turn".to_owned() } else { format!("{turns} turns") };
            format!("Phase {id} has used up its {turns} without finishing {open}")
        }
        // Where one is open, files that change are enough for the host.
        Stop::Idle => {
            let and = if is_alone { " and changed no file" } else { "" };
            format!("The last session of phase {id} finished no objective{and} ({open} is open)")
        }
        Stop::Continuations(0) => {
            format!("The session of phase {id} used up its window or turns without finishing {open}")
        }
        Stop::Continuations(used) => format!(
            "{} sessions of phase {id} used up their windows or turns without finishing {open}",
            used.saturating_add(1)
        ),
    }
}

/// What an answer does. For turns, the host says it itself: it knows how many it would give.
fn way_on(o: &Observation) -> String {
    let more = match (Stop::of(o), o.phase.budget.continuations) {
        (Stop::Turns(_), _) => return String::new(),
        (_, 0) => String::new(),
        (_, 1) => ", and allows 1 continuation again".to_owned(),
        (_, allowed) => format!(", and allows {allowed} continuations again"),
    };
    format!(" `retry` starts another session on what is on disk{more}; `skip` leaves the phase.")
}

/// "parser, printer and 3 more".
fn named(open: &[&Objective]) -> String {
    let ids: Vec<&str> = open.iter().take(NAMED_OPEN).map(|objective| objective.id.as_str()).collect();
    match open.len() - ids.len() {
        0 => ids.join(", "),
        more => format!("{} and {more} more", ids.join(", ")),
    }
}

/// As many turns again as the table has, while something moves, and once more or so while nothing does: an agent reads before it writes.
fn more_turns(host: &impl Host, o: &Scope, base_turns: u32, spent: &Spent) -> TurnBudget {
    let used = o.phase.budget.turns_used;
    let moved = spent.objectives_done > 0 || spent.files_changed > 0;
    let reason = match (moved, i64::from(spent.idle_grants) < host.integer("idle-grants")) {
        (true, _) => moved_since(spent),
        (false, true) => {
            "no objective was done and no file changed since the last grant; the agent may still be reading, so it gets more \
             for now"
                .to_owned()
        }
        (false, false) => {
            let reason = match spent.idle_grants {
                0 => "no objective was done and no file changed in these turns".to_owned(),
                1 => "no objective was done and no file changed in these turns, nor in those given before".to_owned(),
                n => format!("no objective was done and no file changed in these turns, nor in those of the {n} grants before"),
            };
            return TurnBudget { max_turns: Some(used.max(1)), reason };
        }
    };
    TurnBudget { max_turns: Some(used.saturating_add(base_turns)), reason }
}

/// "1 objective done and 3 files changed since the last grant".
fn moved_since(spent: &Spent) -> String {
    let count = |n: u32, thing: &str, what: &str| {
        let plural = if n == 1 { "" } else { "s" };
        (n > 0).then(|| format!("{n} {thing}{plural} {what}"))
    };
    let moved =
        [count(spent.objectives_done, "objective", "done"), count(spent.files_changed, "file", "changed")];
    let moved: Vec<String> = moved.into_iter().flatten().collect();
    format!("{} since the last grant", moved.join(" and "))
}

pub(crate) fn budget(host: &impl Host, o: &Scope) -> TurnBudget {
    let Some(base_turns) = o.base_turns else {
        return TurnBudget { max_turns: None, reason: "the table sets no cap".into() };
    };
    if let Some(spent) = &o.spent {
        return more_turns(host, o, base_turns, spent);
    }
    let open = open(&o.objectives);
    let files: u32 = open.iter().fold(0, |sum, objective| sum.saturating_add(objective.files));
    let at_least = |count: usize, key: &str| count as i64 >= host.integer(key);
    let why = if o.phase.complex {
        "the workflow calls it complex".to_owned()
    } else if at_least(open.len(), "complex-objectives") {
        format!("{} open objectives", open.len())
    } else if at_least(files as usize, "complex-files") {
        format!("{files} files to produce")
    } else if at_least(o.workspace_files as usize, "complex-workspace-files") {
        format!("a workspace of {} files", o.workspace_files)
    } else if at_least(o.phase.depends_on as usize, "complex-dependencies") {
        format!("it depends on {} phases", o.phase.depends_on)
    } else {
        return TurnBudget { max_turns: Some(base_turns), reason: "the table's value".into() };
    };
    let extra = host.integer("complex-extra-percent").clamp(0, 900) as u64;
    let turns = (u64::from(base_turns) * (100 + extra)).div_ceil(100);
    TurnBudget {
        max_turns: Some(u32::try_from(turns).unwrap_or(u32::MAX)),
        reason: format!("{extra}% more, because it is complex: {why}"),
    }
}

/// Everything that is not done. What has failed is still to be done: it goes with a part, or core refuses the split.
fn open(objectives: &[Objective]) -> Vec<&Objective> {
    objectives.iter().filter(|objective| objective.status != ObjectiveStatus::Done).collect()
}

/// What makes it too large by this factor, if anything (D10).
fn too_large(host: &impl Host, o: &Observation, open: &[&Objective], factor: u64) -> Option<String> {
    let factor = factor * if host.text("priority") == "tokens" { 2 } else { 1 };
    let limit = |key: &str| (host.integer(key).max(0) as u64).saturating_mul(factor);
    if open.len() as u64 > limit("max-objectives") {
        return Some(format!("more than {} objectives", limit("max-objectives")));
    }
    let files: u64 = open.iter().map(|objective| u64::from(objective.files)).sum();
    if files > limit("max-files") {
        return Some(format!("{files} files to produce"));
    }
    let changed = u64::from(o.files_changed);
    if changed + files > limit("max-files") {
        return Some(format!("{changed} files changed, and {files} to produce"));
    }
    let complexity: u64 = open.iter().map(|objective| complexity(objective)).sum();
    if complexity > limit("max-complexity") {
        return Some(format!("complexity {complexity}"));
    }
    let windows = growth(o)? * open.len() as f64;
    let most = host.number("max-windows") * factor as f64;
    (windows > most)
        .then(|| format!("at this growth the rest would fill {} % of a window", (windows * 100.0) as u64))
}

fn complexity(objective: &Objective) -> u64 {
    1 + (objective.description.len() / DESCRIPTION_BYTES) as u64
        + u64::from(objective.files / FILES_A_POINT)
        + u64::from(objective.attempts)
}

/// Windows that one prompt of the newest session filled, as far as the turns seen tell.
fn growth(o: &Observation) -> Option<f64> {
    let window = o.window_tokens.filter(|window| *window > 0)?;
    let mut grown: u64 = 0;
    for pair in o.recent.windows(2) {
        if let (Some(before), Some(after)) = (pair[0].used_tokens, pair[1].used_tokens) {
            // A compaction shrinks the context; what grew before it was real.
            grown = grown.saturating_add(after.saturating_sub(before));
        }
    }
    let prompts = o.recent.last()?.prompt.saturating_sub(o.recent.first()?.prompt) + 1;
    Some(grown as f64 / window as f64 / f64::from(prompts))
}

/// A part under way: members by index, and what the agent calls it, where it is a group of its own making.
struct Part {
    members: Vec<usize>,
    title: Option<String>,
}

/// The seams: what the agent asked for, one each where nothing else helped, else what belongs together.
fn parts(host: &impl Host, o: &Observation, open: &[&Objective], stuck: bool) -> Vec<Part> {
    let plain = |groups: Vec<Vec<usize>>| -> Vec<Part> {
        groups.into_iter().map(|members| Part { members, title: None }).collect()
    };
    let parts = match &o.requested {
        Some(request) if o.occasion == Occasion::Requested => requested(request, open),
        _ => {
            let all: Vec<usize> = (0..open.len()).collect();
            let together = Subjects::of(open).groups(&all);
            if together.len() < 2 && stuck {
                plain((0..open.len()).map(|place| vec![place]).collect())
            } else {
                plain(together)
            }
        }
    };
    let limit = (host.integer("max-sub-phases").max(2) as usize).min(o.limits.parts as usize);
    if parts.len() <= limit {
        return parts;
    }
    plain(seams::merge(parts.into_iter().map(|part| part.members).collect(), limit))
}

/// The agent's groups, taken as they are where they hold, and repaired where they do not: an objective is in the first
/// group that names it, one that is in none goes to what it belongs to, and tests go to what they test (C14).
fn requested(request: &Request, open: &[&Objective]) -> Vec<Part> {
    let mut first_with: BTreeMap<&str, usize> = BTreeMap::new();
    for (part, group) in request.groups.iter().enumerate() {
        for id in &group.objectives {
            first_with.entry(id).or_insert(part);
        }
    }
    let mut part_of: Vec<Option<usize>> =
        open.iter().map(|objective| first_with.get(objective.id.as_str()).copied()).collect();
    let subjects = Subjects::of(open);
    let mut holders = Holders::new(&subjects);
    for (place, part) in part_of.iter().enumerate() {
        part.iter().for_each(|part| holders.add(place, *part));
    }
    for (place, part) in part_of.iter_mut().enumerate().filter(|(_, part)| part.is_none()) {
        *part = holders.first(place);
        part.iter().for_each(|part| holders.add(place, *part));
    }
    for (test, tested) in subjects.tests() {
        if part_of[test].is_some() && part_of[tested].is_some() {
            part_of[test] = part_of[tested];
        }
    }
    let titled = |group: &Group| Part { members: Vec::new(), title: Some(first_line(&group.title, "")) };
    let mut parts: Vec<Part> = request.groups.iter().map(titled).collect();
    let mut forgotten = Vec::new();
    for (place, part) in part_of.into_iter().enumerate() {
        part.map_or(&mut forgotten, |part| &mut parts[part].members).push(place);
    }
    // What the agent forgot, and nothing else belongs to, still has to be done.
    let others = subjects.groups(&forgotten).into_iter();
    parts.extend(others.map(|members| Part { members, title: None }));
    parts.retain(|part| !part.members.is_empty());
    parts
}

/// Turns are left to `budget`, which is asked for each part with the scope that it then has.
fn sub_phases(host: &impl Host, open: &[&Objective], parts: Vec<Part>) -> Vec<SubPhase> {
    let plans = host.text("priority") == "quality";
    let sub_phase = |Part { members, title }: Part| {
        let first = open[members[0]];
        let complexity: u64 = members.iter().map(|place| complexity(open[*place])).sum();
        let plan = plans && (members.len() > 1 || complexity > 1);
        let more = if members.len() > 1 { format!(" and {} more", members.len() - 1) } else { String::new() };
        let own = || format!("{}{more}", first_line(&first.description, &first.id));
        SubPhase {
            title: title.filter(|title| !title.is_empty()).unwrap_or_else(own),
            objectives: members.iter().map(|place| open[*place].id.clone()).collect(),
            order: if plan { Order::MiniPlan } else { Order::Direct },
            max_turns: None,
        }
    };
    parts.into_iter().map(sub_phase).collect()
}

fn first_line(text: &str, otherwise: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(otherwise);
    if line.len() <= TITLE_BYTES {
        return line.to_owned();
    }
    let cut = &line[..line.floor_char_boundary(TITLE_BYTES)];
    let whole_words = cut.rsplit_once(char::is_whitespace).map_or(cut, |(words, _)| words);
    format!("{}…", whole_words.trim_end_matches([',', ';', ':', '.']))
}
