//! `policy use` and its rollback: the request, its validation, and its execution if no host works on the run. The loop's part
//! is `event_loop/policy_changes.rs`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;

use baton_core::grants::Grants;
use baton_core::input::{BindingLink, PolicyBinding, PolicyChangeCause};
use baton_core::observation::Capability;
use baton_core::workflow::{ConfigLayer, ConfigSource, GivenSetting, GivenSettings, PolicyScope};
use baton_core::{Digest, Input, Run, RunId};
use baton_engine::limits::COMPONENT_BYTES;
use baton_store::{ArtifactStore, Journal};
use serde::{Deserialize, Serialize};

use crate::config::{HostConfig, PolicySource};
use crate::control::requester;
use crate::error::RuntimeError;
use crate::policies::{
    self, BindingRequest, CurrentSettings, JournaledPolicy, LoadedBinding, PolicyRegistry, RunArtifacts,
};
use crate::query;
use crate::recorder::RunRecorder;
use crate::recovery;

/// The user's request to switch to a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyUseRequest {
    /// Of which run; the one at work, or else the newest, where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The reference that the user gave, for messages.
    pub reference: String,
    /// Name for people and for the journal.
    pub name: String,
    /// The file with its bytes. Absent for the built-in policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The digest of those bytes: others are refused.
    pub digest: Digest,
    /// What is set for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, GivenSetting>,
    /// Whether `settings` is complete, as in a file of rules. Otherwise it is merged into the settings that the component has
    /// where it already decides.
    #[serde(default)]
    pub is_whole: bool,
    /// What it may have beyond the usual.
    #[serde(default)]
    pub grants: Grants,
    /// The scope in which it is to decide.
    #[serde(default)]
    pub scope: PolicyScope,
    /// The capabilities that it is to decide; if empty, all that it can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decides: Vec<Capability>,
}

/// The result of a change of policies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyChange {
    /// Who decides from now on, where.
    #[serde(rename = "pins")]
    pub bindings: Vec<PolicyBinding>,
    /// Who decided there already, with the same settings: nothing has changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<PolicyBinding>,
    /// Whether the scope no longer has its own policy: the policy of the next wider scope decides there, also after later
    /// changes.
    #[serde(default)]
    pub follows: bool,
    /// Narrower scopes with a policy of their own, which this does not reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<OwnPolicies>,
    /// Settings that were in force and that the new component does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
}

/// A scope with policies of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnPolicies {
    /// The scope.
    pub scope: PolicyScope,
    /// What they decide.
    pub decides: Vec<Capability>,
}

impl PolicyChange {
    /// Before the run takes the bindings: the loaded bindings that change something, with the chain behind each, and those that
    /// do not.
    pub(crate) fn of(run: &Run, loaded: LoadedBindings, cause: PolicyChangeCause) -> Self {
        let bindings = loaded.bindings.into_iter().map(|binding| run.with_previous_chain(binding, cause));
        let (bindings, unchanged) = bindings.partition(|binding| !run.is_already_bound(binding));
        Self { bindings, unchanged, dropped: loaded.dropped, ..Self::default() }
    }

    /// The input for the run; none if nothing changes.
    pub(crate) fn input(&self, cause: PolicyChangeCause) -> Option<Input> {
        (!self.bindings.is_empty()).then(|| Input::PolicyChanged { bindings: self.bindings.clone(), cause })
    }

    /// After the run has taken the bindings: the reach of the change.
    pub(crate) fn with_reach(self, run: &Run) -> Self {
        let is_bound = |binding: &PolicyBinding| {
            run.bindings().any(|own| (&own.scope, own.capability) == (&binding.scope, binding.capability))
        };
        let follows = !self.bindings.is_empty() && !self.bindings.iter().any(is_bound);
        let mut apart: BTreeMap<PolicyScope, Vec<Capability>> = BTreeMap::new();
        for binding in self.bindings.iter().chain(&self.unchanged) {
            for scope in run.narrower(&binding.scope, binding.capability) {
                apart.entry(scope.clone()).or_default().push(binding.capability);
            }
        }
        let apart = apart.into_iter().map(|(scope, decides)| OwnPolicies { scope, decides }).collect();
        Self { follows, apart, ..self }
    }
}

/// What was loaded for a change.
#[derive(Debug, Default)]
pub(crate) struct LoadedBindings {
    pub(crate) bindings: Vec<PolicyBinding>,
    /// Settings that were in force and that the new component does not have.
    pub(crate) dropped: Vec<String>,
}

impl PolicyUseRequest {
    /// Checks that this run can switch to the component at all.
    pub(crate) fn check(&self, run: &Run) -> Result<(), String> {
        expect_live_run(run, self.run.as_ref())?;
        ensure_scope_exists(run, &self.scope)
    }

    /// Its bytes, as a host loads them.
    pub(crate) fn read(self) -> Result<BindingRequest, RuntimeError> {
        let bytes = match &self.file {
            None => None,
            Some(file) => {
                let refused = |why| RuntimeError::PolicyRefused { policy: self.reference.clone(), why };
                let cannot = |error| refused(format!("cannot read {}: {error}", file.display()));
                let mut bytes = Vec::new();
                let opened = baton_workspace::open_plain(file).map_err(cannot)?;
                // One byte more than is allowed, so that the engine says that it is too large.
                opened.take(COMPONENT_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
                let found = Digest::of(&bytes);
                if found != self.digest {
                    let (file, wanted) = (file.display(), &self.digest);
                    let why = format!("{file} has changed: {wanted} was asked for, and it is {found} now");
                    return Err(refused(why));
                }
                Some(bytes)
            }
        };
        Ok(BindingRequest {
            source: PolicySource { name: self.name, bytes },
            reference: self.reference,
            given: GivenSettings::own(self.settings, ConfigSource::default()),
            grants: self.grants,
            from: ConfigSource { layer: ConfigLayer::Command, ..ConfigSource::default() },
            scope: self.scope,
            decides: self.decides,
            in_force: CurrentSettings::new(),
        })
    }
}

/// Who decides each thing in a scope now.
pub(crate) struct ScopeBindings(BTreeMap<Capability, Vec<BindingLink>>);

impl ScopeBindings {
    pub(crate) fn of(run: &Run, scope: &PolicyScope) -> Self {
        let links = |capability| Some((capability, run.in_force(scope, capability)?.links().collect()));
        Self(Capability::ALL.into_iter().filter_map(links).collect())
    }

    /// The current settings of a component where it, or an earlier version of the same name, already decides, so that a command
    /// that sets one key leaves the others unchanged. Blocking.
    fn settings_of(
        &self,
        wanted: &PolicyUseRequest,
        policies: &PolicyRegistry,
        journal: &Journal,
    ) -> Result<CurrentSettings, RuntimeError> {
        let blob = |digest: &Digest| {
            journal.blob(digest).map_err(|source| RuntimeError::State {
                what: "cannot read the settings of a policy",
                dir: journal.path().to_owned(),
                source: source.into(),
            })
        };
        let mut in_force = CurrentSettings::new();
        for (capability, links) in &self.0 {
            let same = links.iter().find(|link| link.component == wanted.digest);
            let Some(link) = same.or_else(|| links.iter().find(|link| link.policy == wanted.name)) else {
                continue;
            };
            let (component, settings) = (blob(&link.component)?, blob(&link.settings)?);
            if let (Some(component), Some(settings)) = (component, settings) {
                in_force.insert(*capability, policies.non_default_settings(link, &component, &settings)?);
            }
        }
        Ok(in_force)
    }
}

/// Reads and loads the requested component with the current settings from where it already decides, and returns the names of
/// those settings that it does not have. Blocking.
pub(crate) fn load_with_current_settings(
    policies: &PolicyRegistry,
    journal: &Journal,
    deciding: &ScopeBindings,
    wanted: PolicyUseRequest,
) -> Result<LoadedBindings, RuntimeError> {
    let mut in_force = match wanted.is_whole {
        true => CurrentSettings::new(),
        false => deciding.settings_of(&wanted, policies, journal)?,
    };
    let wanted = wanted.read()?;
    let dropped = policies.drop_unknown_settings(&wanted, &mut in_force)?;
    Ok(LoadedBindings {
        bindings: load(policies, journal, &[BindingRequest { in_force, ..wanted }])?,
        dropped,
    })
}

fn expect_live_run(run: &Run, asked: Option<&RunId>) -> Result<(), String> {
    match asked {
        Some(asked) if asked != run.id() => {
            Err(format!("this host works on the run {}, not on {asked}", run.id()))
        }
        _ if run.ending().is_some_and(|ending| ending != baton_core::action::RunOutcome::Interrupted) => {
            Err(format!("the run {} is over: it makes no more decisions", run.id()))
        }
        _ => Ok(()),
    }
}

fn ensure_scope_exists(run: &Run, scope: &PolicyScope) -> Result<(), String> {
    let workflow = run.workflow();
    let known: Vec<&str> = match scope {
        PolicyScope::Run | PolicyScope::Shadow { .. } => return Ok(()),
        PolicyScope::Role { role } if workflow.roles.contains_key(role) => return Ok(()),
        PolicyScope::Phase { phase } if workflow.phases.iter().any(|known| known.id == *phase) => {
            return Ok(());
        }
        PolicyScope::Role { .. } => workflow.roles.keys().map(|role| role.as_str()).collect(),
        PolicyScope::Phase { .. } => workflow.phases.iter().map(|phase| phase.id.as_str()).collect(),
    };
    let (kind, name) = match scope {
        PolicyScope::Role { role } => ("role", role.as_str()),
        PolicyScope::Phase { phase } => ("phase", phase.as_str()),
        PolicyScope::Run | PolicyScope::Shadow { .. } => return Ok(()),
    };
    Err(format!("the workflow has no {kind} {name}; it has {}", known.join(", ")))
}

/// Loads the requested component, and keeps its bytes in the journal. Blocking.
pub(crate) fn load(
    policies: &PolicyRegistry,
    journal: &Journal,
    wanted: &[BindingRequest],
) -> Result<Vec<PolicyBinding>, RuntimeError> {
    let mut bindings = Vec::new();
    for wanted in wanted {
        for LoadedBinding { binding, blobs } in policies.load(wanted)? {
            for blob in blobs.into_iter().flatten() {
                journal.put_blob(blob).map_err(|source| RuntimeError::State {
                    what: "cannot keep a policy",
                    dir: journal.path().to_owned(),
                    source: source.into(),
                })?;
            }
            bindings.push(binding);
        }
    }
    Ok(bindings)
}

/// The other scopes in which a switch is in place, with the options that name each; nothing if there are none.
fn switched_elsewhere(run: &Run, scope: &PolicyScope) -> String {
    let mut places: Vec<String> = Vec::new();
    for view in run.binding_views() {
        let binding = view.binding;
        if binding.scope == *scope || run.step_back(&binding.scope, binding.capability).is_none() {
            continue;
        }
        let place = match &binding.scope {
            PolicyScope::Run => "in the run: without --phase and --role".to_owned(),
            PolicyScope::Role { role } => format!("for the role {role}: --role {role}"),
            PolicyScope::Phase { phase } => format!("in the phase {phase}: --phase {phase}"),
            PolicyScope::Shadow { .. } => continue,
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    if places.is_empty() { String::new() } else { format!(". A switch is in place {}", places.join("; ")) }
}

/// The bindings that a rollback of these capabilities in a scope returns to.
pub(crate) fn rollback_targets(
    run: &Run,
    asked: Option<&RunId>,
    scope: &PolicyScope,
    decides: &[Capability],
) -> Result<Vec<PolicyBinding>, String> {
    expect_live_run(run, asked)?;
    let is_named = |capability: &Capability| decides.is_empty() || decides.contains(capability);
    let named = Capability::ALL.into_iter().filter(is_named);
    let bindings: Vec<PolicyBinding> =
        named.filter_map(|capability| run.step_back(scope, capability)).collect();
    if bindings.is_empty() {
        let place = match scope {
            PolicyScope::Run => "in this run".to_owned(),
            PolicyScope::Role { role } => format!("for the role {role}"),
            PolicyScope::Phase { phase } => format!("in the phase {phase}"),
            PolicyScope::Shadow { policy } => format!("in the shadow {policy}"),
        };
        let elsewhere = switched_elsewhere(run, scope);
        return Err(format!("nothing to go back to {place}: nothing was put in place there{elsewhere}"));
    }
    // Without a named capability, only one switch can be meant; if there are several, the user must choose.
    let mut switches: Vec<(BindingLink, Vec<&str>)> = Vec::new();
    for capability in bindings.iter().map(|binding| binding.capability) {
        let Some(now) = run.in_force(scope, capability).map(PolicyBinding::first) else { continue };
        match switches.iter_mut().find(|(link, _)| *link == now) {
            Some((_, names)) => names.push(capability.name()),
            None => switches.push((now, vec![capability.name()])),
        }
    }
    if decides.is_empty() && switches.len() > 1 {
        let said = |(link, names): &(BindingLink, Vec<&str>)| {
            format!("`--decides {}` takes back {}@{}", names.join(","), link.policy, link.component.short())
        };
        let said: Vec<String> = switches.iter().map(said).collect();
        return Err(format!("{} switches are in place, name one of them: {}", said.len(), said.join("; ")));
    }
    Ok(bindings)
}

/// The same if no host works on the run: the change is journaled under the workspace's lock, and the next host continues with
/// it.
pub(crate) async fn change_offline(
    config: &HostConfig,
    change: OfflineChange,
) -> Result<PolicyChange, RuntimeError> {
    let state = query::find_state(config)?;
    let (_lock, journal) = query::open_to_write(config, &state)?;
    let id = query::resolve_run(config, &journal, change.run())?;
    requester::expect_no_agent(&state, &id)?;
    let folded = recovery::fold_run(&journal, &id).map_err(|error| error.in_dir(state.path()))?;
    let artifacts = ArtifactStore::open(&state).map_err(query::cannot_read(&state))?;
    let (what, cause, change) = match change {
        OfflineChange::Use(wanted) => {
            wanted.check(&folded.run).map_err(RuntimeError::Refused)?;
            let (cache, artifacts) = (state.aot_cache(), RunArtifacts::of(artifacts, id.clone()));
            let keeper = journal.clone();
            let deciding = ScopeBindings::of(&folded.run, &wanted.scope);
            let loaded = tokio::task::spawn_blocking(move || {
                let nothing: &[JournaledPolicy] = &[];
                let policies = policies::restore(cache, artifacts, nothing)?;
                load_with_current_settings(&policies, &keeper, &deciding, wanted)
            });
            let loaded = loaded.await.map_err(|join| RuntimeError::Refused(join.to_string()))??;
            let cause = PolicyChangeCause::Command;
            ("use-policy", cause, PolicyChange::of(&folded.run, loaded, cause))
        }
        OfflineChange::RollBack { run, scope, decides } => {
            let bindings = rollback_targets(&folded.run, run.as_ref(), &scope, &decides)
                .map_err(RuntimeError::Refused)?;
            let change = PolicyChange { bindings, ..PolicyChange::default() };
            ("roll-back-policy", PolicyChangeCause::Rollback, change)
        }
    };
    let mut recorder = RunRecorder::new(folded, id, journal);
    for input in [requester::own_request(what)].into_iter().chain(change.input(cause)) {
        recorder.record(input).map_err(|illegal| RuntimeError::Refused(illegal.to_string()))?;
    }
    recorder.commit().await?;
    recorder.flush()?;
    Ok(change.with_reach(recorder.run()))
}

/// What can be changed without a host.
pub(crate) enum OfflineChange {
    /// Put this in place.
    Use(PolicyUseRequest),
    /// Roll back a switch.
    RollBack { run: Option<RunId>, scope: PolicyScope, decides: Vec<Capability> },
}

impl OfflineChange {
    fn run(&self) -> Option<&RunId> {
        match self {
            OfflineChange::Use(wanted) => wanted.run.as_ref(),
            OfflineChange::RollBack { run, .. } => run.as_ref(),
        }
    }
}
