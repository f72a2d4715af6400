//! "The orchestrator is like a manager": it knows what goes on, and does not do the work. Decides `splitting` and
//! `compaction`, by the rules of the fourth source (requirements D; *Phase 16: context exhaustion prevention*).
//!
//! That source finds the root of exhausted contexts in scopes that are too large, not in budgets that nobody watched:
//!
//! | rule of the source | here |
//! |---|---|
//! | The one who does the work finds *during* it that the scope is too large, and asks (D2) | nothing is split before it begins, or between objectives: only what an agent asks for, and what is stuck |
//! | The request has sub-phases, groupings and a rationale, and the orchestrator spawns an agent for each (D3) | the groups are taken as they are asked for; what the agent forgot gets an agent each |
//! | Quality, then time, then tokens: 14 agents are fine (D9) | nothing is put together but for the workflow's own bound |
//! | A sub-phase may have a mini-plan, or "fix it" (D11) | several objectives plan first, one acts |
//! | Work is never stopped for a percentage; warn (D5) | `compaction` keeps, however full a window is: where it says a person's "that is high", it says so in its reason |
//! | A context that fills up anyway says that the architecture is wrong | no extra turns either |
//!
//! Where the sources differ, this one is alone in letting a window run full: `auto-loop` compacts at 70 %, `torch` hands off at
//! 80 %. Take it with agents that compact by themselves, and with objectives that are small enough to be asked about.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use baton_sdk::prelude::*;
use baton_sdk::{compaction, splitting};
use splitting::{Action, Decision, Observation, Occasion, Order, SubPhase, Time};

/// Bytes of a part's title, and of a rationale that a reason quotes.
const TITLE_BYTES: usize = 80;
const RATIONALE_BYTES: usize = 200;

/// The policy.
#[derive(Clone, Copy, Debug)]
pub struct Manager;

impl Splitting for Manager {
    fn decide(_host: &impl Host, o: Observation) -> Option<Decision> {
        let open: Vec<&Objective> =
            o.objectives.iter().filter(|objective| objective.status != ObjectiveStatus::Done).collect();
        let stuck = o.occasion == Occasion::OutOfContinuations;
        let (parts, why) = match (&o.requested, o.occasion) {
            (Some(request), Occasion::Requested) => {
                let why = one_line(&request.rationale, RATIONALE_BYTES);
                (requested(request, &open), format!("the agent found its scope too large: {why}"))
            }
            _ if stuck => (open.iter().map(|only| Part::of(only)).collect(), "it is stuck".to_owned()),
            _ => {
                let reason = "whoever does the work says whether it is too large";
                return Some(Decision::new(Action::Keep, reason));
            }
        };
        let whole = if stuck && o.wish == Time::Never {
            Some("the workflow leaves it whole")
        } else if parts.len() < 2 || o.phase.depth >= o.limits.depth {
            Some("it cannot be split any further")
        } else {
            None
        };
        if let Some(whole) = whole {
            let reason = format!("{why}, and {whole}");
            let question = format!("Phase {}: {reason}. Continue it, or leave it?", o.phase.id);
            return Some(Decision::new(
                if stuck { Action::AskPerson(question) } else { Action::Keep },
                reason,
            ));
        }
        let parts = within(parts, o.limits.parts as usize);
        let reason = format!("Phase {} is too large ({} open objectives): {why}", o.phase.id, open.len());
        Some(Decision::new(Action::Split(parts.into_iter().map(Part::sub_phase).collect()), reason))
    }
}

impl Compaction for Manager {
    fn decide(host: &impl Host, o: compaction::Observation) -> Option<compaction::Decision> {
        let high = host.number("high-percent");
        let reason = match o.session.occupancy.percent() {
            Some(percent) if percent >= high => format!(
                "{} % is high: look whether its scope is too large; work is not stopped for a percentage",
                percent as u64
            ),
            Some(percent) => format!("{} % of the window are used", percent as u64),
            None => "nobody knows how full the window is".to_owned(),
        };
        Some(compaction::Decision::new(compaction::Action::Keep, reason))
    }
}

impl Settings for Manager {
    fn schema() -> Vec<settings::Setting> {
        vec![schema::number(
            "high-percent",
            85.0,
            1.0..=100.0,
            "From this occupancy, in percent, the reason says that it is high.",
        )]
    }
}

export_policy!(Manager: splitting, compaction, settings);

/// A part under way.
struct Part {
    title: String,
    objectives: Vec<String>,
}

impl Part {
    fn of(objective: &Objective) -> Self {
        let title = one_line(&objective.description, TITLE_BYTES);
        Self { title, objectives: vec![objective.id.clone()] }
    }

    fn sub_phase(self) -> SubPhase {
        let order = if self.objectives.len() > 1 { Order::MiniPlan } else { Order::Direct };
        SubPhase { title: self.title, objectives: self.objectives, order, max_turns: None }
    }
}

/// The groups as they are asked for. An objective is in the first that names it; what nobody named is a part by itself.
fn requested(request: &splitting::Request, open: &[&Objective]) -> Vec<Part> {
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, group) in request.groups.iter().enumerate() {
        for id in &group.objectives {
            named.entry(id).or_insert(place);
        }
    }
    let titles = request.groups.iter().map(|group| one_line(&group.title, TITLE_BYTES));
    let mut parts: Vec<Part> = titles.map(|title| Part { title, objectives: Vec::new() }).collect();
    for objective in open {
        match named.get(objective.id.as_str()) {
            Some(place) => parts[*place].objectives.push(objective.id.clone()),
            None => parts.push(Part::of(objective)),
        }
    }
    parts.retain(|part| !part.objectives.is_empty());
    parts
}

/// As many parts as the workflow allows: the last ones become one.
fn within(mut parts: Vec<Part>, allowed: usize) -> Vec<Part> {
    let over = parts.split_off(parts.len().min(allowed.max(2)));
    if let Some(last) = parts.last_mut().filter(|_| !over.is_empty()) {
        last.title = format!("{}, and what is over", last.title);
        last.objectives.extend(over.into_iter().flat_map(|part| part.objectives));
    }
    parts
}

/// The first line that says something, cut to its room.
fn one_line(text: &str, bytes: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it gives no reason");
    line[..line.floor_char_boundary(bytes)].to_owned()
}
