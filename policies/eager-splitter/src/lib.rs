//! Splits everything that can be split, before any work begins. Decides `splitting` alone.
//!
//! The surest way not to run out of a context is to put little into it. Where time counts more than tokens and the
//! objectives of a phase know nothing of each other (a list of issues, files to translate), each gets an agent of its own at
//! once:
//!
//! - A phase with more than `objectives-at-most` open objectives (two are enough, by default) is split when it begins, and
//!   between two objectives wherever it was left whole.
//! - Each part is one objective with its tests (C14): `login-tests` goes with `login`. What an agent asks for does not matter;
//!   it can ask for nothing smaller.
//! - Where the workflow allows fewer parts, what is over is dealt out to them in turn.
//! - Parts act without a plan of their own (D11), each with `turns-each`.
//! - What the workflow leaves whole (`split = "never"`) is split only if an agent asks for it.
//! - What cannot be split any further goes on; where no continuation is left, a person is asked.
//!
//! Take it with a provider that allows many agents at a time. `conservative-splitter` is the opposite.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Decision, Observation, Occasion, Order, SubPhase, Time};

/// Bytes of a part's title.
const TITLE_BYTES: usize = 80;

/// What an id has behind it, or before it, that is there for the tests of something.
const TESTS: [&str; 4] = ["tests", "test", "specs", "spec"];

/// The policy.
#[derive(Clone, Copy, Debug)]
pub struct EagerSplitter;

impl Splitting for EagerSplitter {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let open: Vec<&Objective> =
            o.objectives.iter().filter(|objective| objective.status != ObjectiveStatus::Done).collect();
        let most = host.integer("objectives-at-most").max(1) as usize;
        let features = features(&open);
        let whole = if features.len() < 2 {
            "it is one thing"
        } else if o.phase.depth >= o.limits.depth {
            "the workflow allows no deeper split"
        } else if is_left_whole(&o) {
            "the workflow leaves it whole"
        } else if open.len() <= most && o.occasion != Occasion::OutOfContinuations {
            "it is small enough"
        } else {
            let parts = parts(host, features, (o.limits.parts as usize).max(2));
            let reason = format!("{} agents at once are faster than one: an objective each", parts.len());
            return Some(Decision::new(Action::Split(parts), reason));
        };
        Some(match o.occasion {
            Occasion::OutOfContinuations => {
                let question = format!(
                    "Phase {} has no continuation left, and {whole}. Continue it, or leave it?",
                    o.phase.id
                );
                Decision::new(Action::AskPerson(question), format!("no continuation is left, and {whole}"))
            }
            _ => Decision::new(Action::Keep, whole),
        })
    }
}

impl Settings for EagerSplitter {
    fn schema() -> Vec<settings::Setting> {
        vec![
            schema::integer(
                "objectives-at-most",
                1,
                1..=200,
                "A phase with more open objectives than this is split.",
            ),
            schema::integer("turns-each", 0, 0..=1_000, "Turns of each part; 0 leaves them to the table."),
        ]
    }
}

export_policy!(EagerSplitter: splitting, settings);

/// Whether the workflow says `split = "never"`; what an agent asks for is judged all the same (D2).
fn is_left_whole(o: &Observation) -> bool {
    o.wish == Time::Never && o.occasion != Occasion::Requested
}

/// Objectives with their tests, in the order of the first of each.
fn features<'o>(open: &[&'o Objective]) -> Vec<Vec<&'o Objective>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut features: Vec<Vec<&Objective>> = Vec::new();
    for objective in open {
        let next = features.len();
        let place = *places.entry(feature(&objective.id)).or_insert(next);
        if place == next {
            features.push(Vec::new());
        }
        features[place].push(objective);
    }
    features
}

/// The id without what says that it is there for tests; the whole id where nothing else is in it.
fn feature(id: &str) -> &str {
    let dash = |c| c == '-' || c == '_';
    let behind = |tests: &str| id.strip_suffix(tests)?.strip_suffix(dash);
    let before = |tests: &str| id.strip_prefix(tests)?.strip_prefix(dash);
    let name = TESTS.iter().find_map(|tests| behind(tests).or_else(|| before(tests)));
    name.filter(|name| !name.is_empty()).unwrap_or(id)
}

/// A part each, as many as may be; what is over is dealt out to them in turn.
fn parts(host: &impl Host, features: Vec<Vec<&Objective>>, allowed: usize) -> Vec<SubPhase> {
    let max_turns = u32::try_from(host.integer("turns-each")).ok().filter(|turns| *turns > 0);
    let mut parts: Vec<SubPhase> = Vec::new();
    for (n, feature) in features.into_iter().enumerate() {
        let ids = feature.iter().map(|objective| objective.id.clone());
        if n < allowed {
            let title = feature[0].description.lines().next().unwrap_or_default();
            let title = title[..title.floor_char_boundary(TITLE_BYTES)].to_owned();
            parts.push(SubPhase { title, objectives: ids.collect(), order: Order::Direct, max_turns });
        } else {
            parts[n % allowed].objectives.extend(ids);
        }
    }
    parts
}
