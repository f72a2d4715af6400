//! The scenario of a seed: a workflow, and the behaviour of every actor in it. The events are decided later.

use std::collections::BTreeMap;

use baton_core::workflow::{
    AgentKind, CommitTime, Mode, Objective, PhaseLoop, PhaseSpec, ReviewRequirement, Role, RunLimits,
    SplitTime, Workflow,
};
use baton_core::{DurationMs, PhaseId};

use crate::agents::WAYS;
use crate::rng::SimulationRng;

/// Whose quota the roles use.
const PROVIDERS: [&str; 2] = ["north", "south"];

/// The behaviour of every actor, in percent unless noted otherwise.
#[derive(Clone, Debug)]
pub(crate) struct SimulationRates {
    /// There is a git work tree.
    pub(crate) git: bool,
    /// Reactions of agents to a prompt, by weight, in the order of `agents::PromptBehavior`.
    pub(crate) agents: [u32; WAYS],
    /// Agents report an objective before the prompt in which they did it ends.
    pub(crate) reports: u32,
    /// A policy finds a scope too large at its start.
    pub(crate) splits: u32,
    /// A policy makes room at a boundary.
    pub(crate) compacts: u32,
    /// A policy gives a random answer to any question.
    pub(crate) wild: u32,
    /// A policy gives a fault in place of an answer.
    pub(crate) faults: u32,
    /// A verification fails.
    pub(crate) red: u32,
    /// A merge does not fit.
    pub(crate) conflicts: u32,
    /// A session that was to resolve a conflict leaves it as it was.
    pub(crate) unresolved: u32,
    /// The workspace has changed by the time of landing.
    pub(crate) updates: u32,
    /// An effect on the world fails.
    pub(crate) broken: u32,
    /// A reviewer gives no score.
    pub(crate) mute: u32,
    /// The host dies, in a hundredth of a percent of its inputs.
    pub(crate) crashes: u32,
    /// The host is asked to stop, likewise.
    pub(crate) stops: u32,
    /// Questions that the user answers with a retry, before giving up.
    pub(crate) patience: u32,
    /// Whether the user answers questions at all.
    pub(crate) attended: bool,
}

impl SimulationRates {
    pub(crate) fn random(rng: &mut SimulationRng) -> Self {
        let calm = rng.percent(25);
        let mut often = |most: u32| if calm { 0 } else { rng.count(0, most) };
        let agents = [
            200,
            often(60),
            often(20),
            often(20),
            often(20),
            often(20),
            often(20),
            often(15),
            often(15),
            often(10),
            often(15),
            often(15),
            often(15),
            often(15),
            often(15),
        ];
        let (red, conflicts, unresolved, updates) = (often(40), often(60), often(50), often(40));
        let (broken, mute, crashes, stops) = (often(8), often(25), often(400), often(40));
        let (wild, faults) =
            (if rng.percent(40) { often_from(rng, calm, 3) } else { 0 }, often_from(rng, calm, 3));
        Self {
            git: rng.percent(70),
            agents,
            reports: rng.count(0, 60),
            splits: rng.count(0, 80),
            compacts: rng.count(0, 40),
            wild,
            faults,
            red,
            conflicts,
            unresolved,
            updates,
            broken,
            mute,
            crashes,
            stops,
            patience: rng.count(0, 25),
            attended: rng.percent(85),
        }
    }
}

fn often_from(rng: &mut SimulationRng, calm: bool, most: u32) -> u32 {
    if calm { 0 } else { rng.count(0, most) }
}

/// A workflow that a file could have given.
pub(crate) fn workflow(rng: &mut SimulationRng) -> Workflow {
    let count = rng.by_weight(&[6, 5, 3, 1, 1]) + 1;
    let mut phases: Vec<PhaseSpec> = Vec::new();
    for n in 1..=count {
        let before: Vec<PhaseId> = phases.iter().map(|phase| phase.id.clone()).collect();
        phases.push(phase(rng, n, &before));
    }
    let roles = [("executor", 0), ("tester", 1), ("reviewer", 1)];
    let mut providers = BTreeMap::new();
    for name in PROVIDERS {
        if rng.percent(40) {
            providers.insert(name.to_owned(), rng.count(1, 3));
        }
    }
    Workflow {
        name: "simulated".into(),
        goal: "Hold what was promised.".into(),
        mode: *rng.one_of(&[Mode::Eco, Mode::Turbo, Mode::Standard, Mode::Thorough, Mode::Swarm]),
        roles: roles.map(|(name, provider)| (name.into(), role(rng, PROVIDERS[provider]))).into(),
        limits: limits(rng),
        phases,
        verify_first: *rng.one_of(&[false, false, true]),
        review_parts: *rng.one_of(&[Some(true), Some(true), Some(false), None]),
        setup: if rng.percent(30) { vec!["make ready".into()] } else { Vec::new() },
        providers,
        ..Workflow::default()
    }
}

fn role(rng: &mut SimulationRng, provider: &str) -> Role {
    Role {
        window_tokens: Some(1000),
        max_turns: rng.percent(60).then(|| rng.count(3, 40)),
        provider: Some(provider.into()),
        ..Role::of(AgentKind::Rehearsal)
    }
}

fn phase(rng: &mut SimulationRng, n: usize, before: &[PhaseId]) -> PhaseSpec {
    let most = *rng.one_of(&[3, 3, 6, 12]);
    let objectives = rng.count(1, most);
    let verified = rng.percent(30);
    let repeats = !before.is_empty() && rng.percent(25);
    let mut depends_on: Vec<PhaseId> = before.iter().filter(|_| rng.percent(35)).cloned().collect();
    let from = repeats.then(|| rng.one_of(before).clone());
    depends_on.extend(from.iter().filter(|from| !depends_on.contains(from)).cloned().collect::<Vec<_>>());
    PhaseSpec {
        id: PhaseId::new(format!("{}", n * 10)),
        title: format!("Phase {n}"),
        depends_on,
        role: (*rng.one_of(&["executor", "executor", "tester"])).into(),
        agent: None,
        objectives: (1..=objectives)
            .map(|o| Objective {
                id: format!("o{n}-{o}").as_str().into(),
                description: format!("Make piece {o} of {n}."),
                files: if rng.percent(30) { vec![format!("src/{n}/{o}")] } else { Vec::new() },
                verify: (verified && rng.percent(60)).then(|| format!("test {n} {o}")),
            })
            .collect(),
        verify: (repeats || rng.percent(50)).then(|| format!("test {n}")),
        setup: if rng.percent(15) { vec!["make more".into()] } else { Vec::new() },
        context: Vec::new(),
        complex: rng.percent(20),
        split: *rng.one_of(&[SplitTime::Ahead, SplitTime::During, SplitTime::Never]),
        wall_time: rng.percent(6).then(|| DurationMs::from_mins(rng.within(5, 60))),
        tokens: rng.percent(6).then(|| rng.within(2_000, 30_000)),
        cost_microusd: None,
        continuations: rng.percent(20).then(|| rng.count(0, 4)),
        review: rng
            .percent(25)
            .then(|| ReviewRequirement { role: "reviewer".into(), score: rng.count(50, 90) }),
        repeat: from.map(|from| PhaseLoop { from, at_most: rng.count(1, 3) }),
        commit: rng.percent(25).then(|| *rng.one_of(&[CommitTime::Objective, CommitTime::Phase])),
    }
}

fn limits(rng: &mut SimulationRng) -> RunLimits {
    RunLimits {
        wall_time: rng.percent(5).then(|| DurationMs::from_mins(rng.within(30, 300))),
        tokens: rng.percent(5).then(|| rng.within(20_000, 200_000)),
        cost_microusd: None,
        continuations: rng.count(0, 4),
        retries: rng.count(0, 3),
        nudges: rng.count(0, 2),
        verifications: rng.count(0, 3),
        parallel: rng.count(1, 4),
        agents: rng.count(0, 6),
        split_depth: rng.count(0, 3),
        split_fan_out: *rng.one_of(&[2, 3, 6, 14, 26]),
        heartbeat: DurationMs::from_secs(60),
        backoff: DurationMs::from_secs(5),
    }
}
