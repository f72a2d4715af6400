//! From the shape of a file to the model, with the checks that no schema can say. Opens no file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::problem::{Problems, suggest};
use super::shape::{At, LimitsShape, ObjectiveShape, PhaseShape, PoliciesShape, PolicyShape, WorkflowShape};
use super::values::{ID_RULE, duration, is_id, microusd, path_fault};
use crate::ids::{ObjectiveId, PhaseId, RoleName};
use crate::observation::Capability;
use crate::time::DurationMs;
use crate::workflow::{
    AgentKind, AgentPlace, EXECUTOR, Limits, Objective, Phase, Policies, PolicyChoice, SettingValue,
    Workflow, WorkspaceChoice,
};

/// The policies that are part of the host.
const BUILT_IN: [&str; 1] = ["builtin:resilience"];

/// Shortest silence that is looked at: below it a host would do nothing but look.
const HEARTBEAT_MIN: DurationMs = DurationMs(100);
/// Longest: later than this nobody would call it watching.
const HEARTBEAT_MAX: DurationMs = DurationMs::from_mins(60);
/// Longest first wait before a retry; where doubling ends anyway.
const BACKOFF_MAX: DurationMs = DurationMs::from_mins(5);
/// A month: beyond it somebody mistyped.
const WALL_TIME_MAX: DurationMs = DurationMs::from_mins(31 * 24 * 60);
/// One second: below it no agent could start.
const WALL_TIME_MIN: DurationMs = DurationMs::from_secs(1);

/// Makes the model. What it returns is only good where no problem was added.
pub(super) fn check(shape: WorkflowShape, base: &str, problems: &mut Problems<'_>) -> Workflow {
    let mut checker = Checker { base, problems };
    checker.id("name", "at the top level", &shape.name);
    let default_agent = shape.agent.as_ref().and_then(|agent| checker.agent("at the top level", agent));
    let default_agent = default_agent.unwrap_or(AgentKind::Rehearsal);
    let default_place = match shape.agent {
        Some(_) => AgentPlace::Workflow,
        None => AgentPlace::Nowhere,
    };
    let mut roles = checker.roles(shape.roles, &default_agent, default_place);
    checker.phase_ids(&shape.phases);
    checker.depends_on(&shape.phases);
    checker.objective_ids(&shape.phases);
    checker.roles_of_phases(&shape.phases, &mut roles, &default_agent, default_place);
    let paths = checker.paths(&shape.paths);
    let limits = checker.limits(&shape.limits);
    let policies = checker.policies(shape.policies);
    let phases = shape.phases.into_iter().map(|phase| checker.phase(phase.into_inner())).collect();
    Workflow {
        name: shape.name.into_inner(),
        goal: shape.goal.into_inner().trim().to_owned(),
        mode: shape.mode,
        roles,
        limits,
        policies,
        phases,
        workspace: shape.workspace.map(|workspace| match workspace.get().as_str() {
            "scratch" => WorkspaceChoice::Scratch,
            path => WorkspaceChoice::Folder(join(base, path)),
        }),
        paths,
        setup: shape.setup,
    }
}

/// A path of the file, from the folder that the file lies in. `Path::join` only joins text; nothing is opened.
pub(super) fn join(base: &str, path: &str) -> String {
    Path::new(base).join(path).to_string_lossy().into_owned()
}

/// The role of a phase, where it names one.
fn role_of(phase: &PhaseShape) -> &str {
    phase.role.as_ref().map_or(EXECUTOR, |role| role.get())
}

pub(super) struct Checker<'a, 't> {
    pub(super) base: &'a str,
    pub(super) problems: &'a mut Problems<'t>,
}

impl Checker<'_, '_> {
    fn id(&mut self, key: &str, place: &str, id: &At<String>) {
        if !is_id(id.get()) {
            let what = format!("`{key}` {place} cannot be \"{}\"", id.get().escape_debug());
            self.problems.at(id.span(), key, what, ID_RULE);
        }
    }

    fn phase_ids(&mut self, phases: &[At<PhaseShape>]) {
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

    fn objective_ids(&mut self, phases: &[At<PhaseShape>]) {
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
    fn depends_on(&mut self, phases: &[At<PhaseShape>]) {
        let by_id: BTreeMap<&str, &PhaseShape> =
            phases.iter().map(|phase| (phase.get().id.get().as_str(), phase.get())).collect();
        for phase in phases {
            for name in &phase.get().depends_on {
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
            let span = first.depends_on.first().map_or(first.id.span(), At::span);
            let what = match cycle.as_slice() {
                [only] => format!("phase `{only}` depends on itself"),
                _ => format!("phases wait for each other: {} -> {}", cycle.join(" -> "), cycle[0]),
            };
            let hint = "remove one of these `depends_on`, so that one phase can begin";
            self.problems.at(span, "depends_on", what, hint);
        }
    }

    fn phase(&mut self, shape: PhaseShape) -> Phase {
        let place = format!("in phase `{}`", shape.id.get());
        let role = RoleName::from(role_of(&shape));
        let agent = shape.agent.as_ref().and_then(|agent| self.agent(&place, agent));
        let id = shape.id.into_inner();
        Phase {
            title: shape.title.unwrap_or_else(|| id.clone()),
            depends_on: shape.depends_on.iter().map(|name| PhaseId::from(name.get().as_str())).collect(),
            role,
            agent,
            objectives: shape.objectives.into_iter().map(|one| self.objective(one.into_inner())).collect(),
            verify: shape.verify,
            complex: shape.complex,
            wall_time: self.duration(
                "wall_time",
                &place,
                shape.wall_time.as_ref(),
                WALL_TIME_MIN,
                WALL_TIME_MAX,
            ),
            tokens: shape.tokens,
            cost_microusd: shape.cost_usd.map(microusd),
            continuations: shape.continuations,
            setup: shape.setup,
            id: PhaseId::new(id),
        }
    }

    fn objective(&mut self, shape: ObjectiveShape) -> Objective {
        for file in &shape.files {
            if let Some(fault) = path_fault(file.get()) {
                let (id, path) = (shape.id.get(), file.get().escape_debug());
                let what = format!("`files` of objective `{id}`: \"{path}\" {fault}");
                self.problems.at(file.span(), "files", what, "");
            }
        }
        Objective {
            id: ObjectiveId::new(shape.id.into_inner()),
            description: shape.description.trim().to_owned(),
            files: shape.files.into_iter().map(At::into_inner).collect(),
        }
    }

    fn limits(&mut self, shape: &LimitsShape) -> Limits {
        let place = "in [limits]";
        let default = Limits::default();
        let heartbeat =
            self.duration("heartbeat", place, shape.heartbeat.as_ref(), HEARTBEAT_MIN, HEARTBEAT_MAX);
        let backoff = self.duration("backoff", place, shape.backoff.as_ref(), DurationMs(0), BACKOFF_MAX);
        Limits {
            wall_time: self.duration(
                "wall_time",
                place,
                shape.wall_time.as_ref(),
                WALL_TIME_MIN,
                WALL_TIME_MAX,
            ),
            tokens: shape.tokens,
            cost_microusd: shape.cost_usd.map(microusd),
            continuations: shape.continuations.unwrap_or(default.continuations),
            retries: shape.retries.unwrap_or(default.retries),
            nudges: shape.nudges.unwrap_or(default.nudges),
            verifications: shape.verifications.unwrap_or(default.verifications),
            parallel: shape.parallel.unwrap_or(default.parallel),
            split_depth: shape.split_depth.unwrap_or(default.split_depth),
            split_fan_out: shape.split_fan_out.unwrap_or(default.split_fan_out),
            heartbeat: heartbeat.unwrap_or(default.heartbeat),
            backoff: backoff.unwrap_or(default.backoff),
        }
    }

    fn duration(
        &mut self,
        key: &str,
        place: &str,
        text: Option<&At<String>>,
        min: DurationMs,
        max: DurationMs,
    ) -> Option<DurationMs> {
        let text = text?;
        let found = duration(text.get());
        match found {
            Some(span) if (min..=max).contains(&span) => {}
            Some(_) => {
                let what = format!("`{key}` {place} is out of bounds; it must be from {min} to {max}");
                self.problems.at(text.span(), key, what, "");
            }
            None => {
                let what = format!("`{key}` {place} cannot be \"{}\"", text.get().escape_debug());
                let hint = "write a whole number and its unit: \"90s\", \"30m\", \"2h\"";
                self.problems.at(text.span(), key, what, hint);
            }
        }
        found
    }

    fn policies(&mut self, shape: PoliciesShape) -> Policies {
        let mut all = match &shape.all {
            Some(choice) => self.policy("all", choice),
            None => PolicyChoice::default(),
        };
        if let Some(settings) = shape.settings {
            if matches!(shape.all.as_ref().map(At::get), Some(PolicyShape::Set(_))) {
                let what = "`settings` in [policies] stands beside `all`, which is a table".to_owned();
                let hint = "write them as all = { component = \"…\", settings = { … } }";
                self.problems.at(settings.span(), "settings", what, hint);
            }
            all.settings = settings.into_inner();
        }
        let named = [
            (Capability::Exhaustion, shape.exhaustion),
            (Capability::Compaction, shape.compaction),
            (Capability::Splitting, shape.splitting),
            (Capability::Handoff, shape.handoff),
        ];
        let by_capability = named
            .into_iter()
            .filter_map(|(capability, choice)| Some((capability, self.policy(capability.name(), &choice?))))
            .collect();
        Policies { all, by_capability }
    }

    fn policy(&mut self, key: &str, choice: &At<PolicyShape>) -> PolicyChoice {
        let (component, settings): (&str, BTreeMap<String, SettingValue>) = match choice.get() {
            PolicyShape::Component(component) => (component, BTreeMap::new()),
            PolicyShape::Set(table) => (&table.component, table.settings.clone()),
        };
        let built_in = component.starts_with("builtin:");
        if built_in && !BUILT_IN.contains(&component) {
            let what =
                format!("`{key}` in [policies] names `{}`, which is not built in", component.escape_debug());
            self.problems.at(choice.span(), key, what, suggest(component, BUILT_IN));
        } else if component.contains("://") {
            let what = format!("`{key}` in [policies] names \"{}\"", component.escape_debug());
            let hint = "this version reads components from files; give the path of one";
            self.problems.at(choice.span(), key, what, hint);
        }
        let component = if built_in { component.to_owned() } else { join(self.base, component) };
        PolicyChoice { component, settings }
    }
}

/// The first cycle of `depends_on`, as the ids on the way. Phases that do not exist are left out.
fn find_cycle<'a>(phases: &BTreeMap<&'a str, &'a PhaseShape>) -> Option<Vec<&'a str>> {
    let mut finished: BTreeSet<&str> = BTreeSet::new();
    for &start in phases.keys() {
        // Depth first with a stack of its own, so that a long chain cannot exhaust the thread's.
        let mut way: Vec<(&'a str, usize)> = vec![(start, 0)];
        while let Some((id, next)) = way.last_mut() {
            let before = if finished.contains(id) { None } else { phases[*id].depends_on.get(*next) };
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
