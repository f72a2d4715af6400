//! The workflow of an imported run and its policies, which replace what the recording does not contain. The host's bounds are
//! set so that none of them cuts a recording short.

use std::collections::BTreeMap;

use baton_core::decision::Provenance;
use baton_core::input::PolicyBinding;
use baton_core::observation::{Capability, PolicyRequest};
use baton_core::workflow::paths::RunNames;
use baton_core::workflow::{
    Acceptance, AgentSource, ConfigSource, EXECUTOR, ImportedRecording, Objective, PhaseSpec, PolicyScope,
    Role, RunLimits,
};
use baton_core::{DurationMs, Input, ObjectiveId, PhaseId, RoleName, RunId, Workflow};
use baton_engine::{BUILTIN_NAME, ConfiguredPolicy, Engine, RoutedDecision, Router, builtin_bytes};

use super::timeline::Timeline;
use super::{ImportError, ImportFormat, ImportRequest};

/// The one phase of an imported run, and the role of its agents. No table names turns for it.
pub(super) const RECORDED: &str = "recorded";

/// Longer than any recording: silences are not treated as stalls, since the recording does not show how the agent would have
/// reacted to a host's intervention.
const NO_HEARTBEAT: DurationMs = DurationMs::from_mins(100 * 365 * 24 * 60);

/// Bytes of a workflow's name: it becomes a part of paths.
const NAME_BYTES: usize = 60;

/// What an imported run is about.
pub(super) struct ImportContext<'a> {
    pub(super) run: RunId,
    pub(super) format: ImportFormat,
    pub(super) request: &'a ImportRequest<'a>,
    pub(super) imported: &'a ImportedRecording,
    pub(super) script: &'a Timeline,
}

impl ImportContext<'_> {
    /// The first input of the run, with this number of objectives.
    pub(super) fn started(&self, objectives: usize, bindings: Vec<PolicyBinding>) -> Input {
        let workflow = self.workflow(objectives);
        let names = RunNames { run: self.run.as_str(), workflow: &workflow.name, goal: &workflow.goal };
        Input::Started {
            run: self.run.clone(),
            task_folder: workflow.paths.task_folder(names),
            workflow: Box::new(workflow),
            bindings,
            utc_offset_minutes: self.request.moment.utc_offset_minutes,
            assignments: Vec::new(),
        }
    }

    fn workflow(&self, objectives: usize) -> Workflow {
        let first = self.imported.files.first().map_or("", |file| file.name.as_str());
        let role = Role {
            window_tokens: self.request.window_tokens,
            set_by: AgentSource::Recording,
            ..Role::of(self.format.agent())
        };
        let roles = [RECORDED, EXECUTOR].map(|name| (RoleName::new(name), role.clone()));
        let at_most = |count: usize| u32::try_from(count).unwrap_or(u32::MAX - 1) + 1;
        let sessions = at_most(self.script.sessions.len());
        Workflow {
            name: name_of(first),
            goal: self.request.goal.map_or_else(|| format!("What {first} recorded."), str::to_owned),
            roles: BTreeMap::from(roles),
            limits: RunLimits {
                continuations: sessions,
                retries: sessions,
                nudges: at_most(self.script.prompts()),
                agents: 1,
                heartbeat: NO_HEARTBEAT,
                backoff: DurationMs(0),
                ..RunLimits::default()
            },
            phases: vec![phase(objectives)],
            // No more than was recorded can be asked for.
            accept: Some(Acceptance::Answer),
            imported: Some(self.imported.clone()),
            ..Workflow::default()
        }
    }
}

fn phase(objectives: usize) -> PhaseSpec {
    let described = |n: usize| match objectives {
        1 => "The recorded work.".to_owned(),
        _ => format!("What prompt {n} of {objectives} asked for."),
    };
    PhaseSpec {
        id: PhaseId::new(RECORDED),
        title: "The recorded work".to_owned(),
        depends_on: Vec::new(),
        role: RoleName::new(RECORDED),
        agent: None,
        objectives: (1..=objectives)
            .map(|n| Objective {
                id: ObjectiveId::new(format!("prompt-{n}")),
                description: described(n),
                files: Vec::new(),
                verify: None,
            })
            .collect(),
        verify: None,
        complex: false,
        split: Default::default(),
        wall_time: None,
        tokens: None,
        cost_microusd: None,
        continuations: None,
        setup: Vec::new(),
        context: Vec::new(),
        review: None,
        repeat: None,
        commit: None,
    }
}

/// A file's name without its ending, fit for a path.
fn name_of(file: &str) -> String {
    let stem = file.strip_suffix(".jsonl").or_else(|| file.strip_suffix(".json")).unwrap_or(file);
    let fit = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let name: String = stem.chars().map(fit).take(NAME_BYTES).collect();
    match name.trim_matches('-') {
        "" => "recording".to_owned(),
        name => name.to_owned(),
    }
}

/// Answers questions: the built-in policy, with the router of every run.
pub(super) struct BuiltinDecider {
    router: Router,
    built_in: ConfiguredPolicy,
}

impl BuiltinDecider {
    pub(super) fn new(engine: &Engine) -> Result<Self, ImportError> {
        let cannot = |error: &dyn std::fmt::Display| ImportError::Policy(error.to_string());
        let policy = engine.load(BUILTIN_NAME, builtin_bytes()).map_err(|error| cannot(&error))?;
        let built_in = policy.configure(&BTreeMap::new()).map_err(|error| cannot(&error))?;
        let router = Router::with_built_in(engine, BTreeMap::new(), built_in.clone())
            .map_err(|error| cannot(&error))?;
        Ok(Self { router, built_in })
    }

    /// The policy's answer, with a duration of 0: the time of the import is not a property of the recording, and the same
    /// recording must give the same journal.
    pub(super) fn decide(&self, scope: &PolicyScope, question: &PolicyRequest) -> RoutedDecision {
        let decided = self.router.decide_in(scope, question);
        RoutedDecision { label: Provenance { duration_us: 0, ..decided.label }, ..decided }
    }

    /// The built-in policy for every decision.
    pub(super) fn bindings(&self) -> Vec<PolicyBinding> {
        let policy = self.built_in.policy();
        let binding = |capability: Capability| PolicyBinding {
            capability,
            policy: policy.name().to_owned(),
            component: policy.digest().clone(),
            settings: self.built_in.settings_digest().clone(),
            scope: PolicyScope::Run,
            wants: policy.wants().clone(),
            grants: Default::default(),
            from: ConfigSource::default(),
            then: Vec::new(),
        };
        Capability::ALL.into_iter().map(binding).collect()
    }

    /// The bytes whose digests the bindings carry: a replay needs no file.
    pub(super) fn blobs(&self) -> Vec<Vec<u8>> {
        // Keys are texts and values plain, so this cannot fail.
        let settings = serde_json::to_vec(self.built_in.settings()).unwrap_or_default();
        vec![builtin_bytes().to_vec(), settings]
    }
}
