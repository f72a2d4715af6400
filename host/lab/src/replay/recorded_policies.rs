//! Those who decided in a run, from its own journal: components by digest, under the settings and with the grants that they had
//! then, and with the artifacts that they were shown then, by digest from the artifact store. So a verification needs no file
//! and no registry.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::decision::{
    AbstentionRecord, Decision, Fault, FaultRecord, LinkOutcome, LinkRecord, Provenance,
};
use baton_core::grants::Grants;
use baton_core::input::{BindingLink, PolicyBinding};
use baton_core::observation::PolicyRequest;
use baton_core::workflow::GivenSetting;
use baton_core::{Digest, Input, JournaledInput};
use baton_engine::limits::ARTIFACT_READ_BYTES;
use baton_engine::{
    ArtifactSource, BUILTIN_NAME, ComponentGrants as Granted, ConfiguredPolicy, Engine,
    answer_without_component, builtin_bytes, validate_answer,
};
use baton_store::{ArtifactStore, Journal};

use crate::policy_replay::{DecisionReplayer, ReplayedAnswer};

/// Components that are kept compiled. A run has a handful; if the user has bound more, the others are loaded again when needed.
const LOADED_MAX: usize = 64;

/// What a component was bound with.
#[derive(Clone, Debug, PartialEq)]
struct BoundPolicy {
    policy: String,
    component: Digest,
    settings: Digest,
    grants: Grants,
}

/// Key of a loaded policy: the digests of component and settings, and the grants that affect an answer besides the shown
/// artifacts.
type LoadKey = (Digest, Digest, bool, Option<u64>, Option<u32>);

/// Re-evaluates the policies recorded in a run.
pub struct RecordedPolicies<'j> {
    engine: Engine,
    built_in: Digest,
    journal: &'j Journal,
    artifacts: Option<ArtifactStore>,
    /// Everybody who was bound, with different grants each, the newest last.
    known: Vec<BoundPolicy>,
    /// Those who are shown artifacts: each witness shows them others.
    own: PolicyLoads,
    load_cache: PolicyLoadCache,
}

/// Components that were loaded, for the witnesses of several runs. Cheap to clone.
#[derive(Clone, Default)]
pub struct PolicyLoadCache(Arc<Mutex<PolicyLoads>>);

type PolicyLoads = BTreeMap<LoadKey, Result<ReplayPolicy, String>>;

#[derive(Clone)]
struct ReplayPolicy {
    configured: ConfiguredPolicy,
    shown: Arc<RecordedArtifacts>,
}

/// The artifacts that one decision was shown.
#[derive(Default)]
struct RecordedArtifacts {
    store: Option<ArtifactStore>,
    listed: Mutex<Vec<(String, Digest)>>,
    is_missing: AtomicBool,
}

impl RecordedArtifacts {
    /// From now on these.
    fn set_artifacts(&self, artifacts: &BTreeMap<String, Digest>) {
        let listed = artifacts.iter().map(|(name, digest)| (name.clone(), digest.clone()));
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = listed.collect();
        self.is_missing.store(false, Ordering::Relaxed);
    }
}

impl ArtifactSource for RecordedArtifacts {
    fn list(&self) -> Vec<(String, Digest)> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn read(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        let bytes = self.store.as_ref().map(|store| store.read_range(digest, 0, ARTIFACT_READ_BYTES + 1));
        match bytes {
            Some(Ok(bytes)) if bytes.len() as u64 <= ARTIFACT_READ_BYTES => Some(bytes.into()),
            // It was as good as absent then, too.
            Some(Ok(_)) => None,
            _ => {
                self.is_missing.store(true, Ordering::Relaxed);
                None
            }
        }
    }
}

impl<'j> RecordedPolicies<'j> {
    /// For the runs of a journal; policies can read artifacts if their store is given. The cache belongs to the engine: a
    /// policy in it is not loaded again.
    pub fn new(
        engine: Engine,
        journal: &'j Journal,
        artifacts: Option<ArtifactStore>,
        load_cache: PolicyLoadCache,
    ) -> Self {
        let built_in = Digest::of(builtin_bytes());
        Self { engine, built_in, journal, artifacts, known: Vec::new(), own: PolicyLoads::new(), load_cache }
    }

    fn record_bindings(&mut self, bindings: &[PolicyBinding]) {
        for link in bindings.iter().flat_map(PolicyBinding::links) {
            let BindingLink { policy, component, settings, grants, .. } = link;
            let known = BoundPolicy { policy, component, settings, grants };
            // The newest last: a policy that has just been bound is the next to be asked.
            self.known.retain(|other| *other != known);
            self.known.push(known);
        }
    }

    /// Asks with each of the grants that it was bound with, the newest first, until it comes out as recorded. The label does not
    /// say which of them it had, and hardly ever were there two.
    fn ask(&mut self, question: &PolicyRequest, asked: &PolicyIdentity<'_>) -> ReplayedAnswer {
        let mut candidates: Vec<BoundPolicy> =
            self.known.iter().rev().filter(|known| asked.is(known)).cloned().collect();
        if candidates.is_empty() && asked.policy == BUILTIN_NAME && *asked.component == self.built_in {
            // The built-in policy is the fallback of every other policy, bound or not, and is part of the host.
            candidates.extend(asked.settings.map(|settings| BoundPolicy {
                policy: BUILTIN_NAME.to_owned(),
                component: asked.component.clone(),
                settings: settings.clone(),
                grants: Grants::default(),
            }));
        }
        let mut last = None;
        for known in candidates {
            let answer = self.ask_known(question, asked, &known);
            if asked.matches_answer(&answer) {
                return answer;
            }
            last.get_or_insert(answer);
        }
        last.unwrap_or_else(|| ReplayedAnswer::Impossible {
            why: format!(
                "nobody pinned {} to the component {} with these settings",
                asked.policy,
                asked.component.short()
            ),
        })
    }

    fn ask_known(
        &mut self,
        question: &PolicyRequest,
        asked: &PolicyIdentity<'_>,
        known: &BoundPolicy,
    ) -> ReplayedAnswer {
        let loaded = self.load(asked.policy, known);
        let loaded = loaded.and_then(|first| Ok((first, self.links(asked.nested)?)));
        let (first, next_policies) = match loaded {
            Ok(loaded) => loaded,
            Err(why) => return ReplayedAnswer::Unavailable { why },
        };
        first.shown.set_artifacts(asked.artifacts);
        let next = next_policies.iter().map(|link| link.configured.clone()).collect();
        let evaluation = first.configured.over(next).evaluate(question);
        let mut shown = next_policies.iter().map(|link| &link.shown).chain([&first.shown]);
        if shown.any(|shown| shown.is_missing.load(Ordering::Relaxed)) {
            let why = format!("an artifact that {} was shown is no longer kept", asked.policy);
            return ReplayedAnswer::Unavailable { why };
        }
        let is_same_engine = asked.engine == self.engine.digest();
        if let Some(why) = fallback_difference(asked.nested, &evaluation.nested, is_same_engine) {
            return why;
        }
        // Earlier hosts passed a refused answer on to core, so only answers that are recorded as refused are validated again.
        let result = match asked.fault {
            Some(Fault::Refused { .. }) => validate_answer(question, evaluation.result),
            _ => evaluation.result,
        };
        match is_same_engine {
            true => ReplayedAnswer::Answered { result, fuel: evaluation.fuel },
            false => ReplayedAnswer::EngineDiffers { result },
        }
    }

    /// The policies behind a layer, as far as it asked them, in the order of the chain; each can read the artifacts that it was
    /// shown.
    fn links(&mut self, records: &[LinkRecord]) -> Result<Vec<ReplayPolicy>, String> {
        let mut by_place: BTreeMap<u32, &LinkRecord> = BTreeMap::new();
        for record in records {
            by_place.entry(record.place).or_insert(record);
        }
        let mut links = Vec::new();
        for record in by_place.into_values() {
            let link = self.link(record)?;
            link.shown.set_artifacts(&record.artifacts);
            links.push(link);
        }
        Ok(links)
    }

    fn link(&mut self, record: &LinkRecord) -> Result<ReplayPolicy, String> {
        let is_it = |known: &&BoundPolicy| {
            known.policy == record.policy
                && known.component == record.component
                && known.settings == record.settings
        };
        let known = self.known.iter().rev().find(is_it).cloned();
        let is_built_in = record.policy == BUILTIN_NAME && record.component == self.built_in;
        let known = known.or_else(|| {
            is_built_in.then(|| BoundPolicy {
                policy: BUILTIN_NAME.to_owned(),
                component: record.component.clone(),
                settings: record.settings.clone(),
                grants: Grants::default(),
            })
        });
        let known = known.ok_or_else(|| format!("no pin of this run names {}", record.policy))?;
        self.load(&record.policy, &known)
    }

    fn load(&mut self, name: &str, known: &BoundPolicy) -> Result<ReplayPolicy, String> {
        let BoundPolicy { component, settings, grants, .. } = known;
        let reads = !grants.artifacts.is_empty();
        let key = (component.clone(), settings.clone(), reads, grants.fuel, grants.memory_mib);
        let mut load_cache;
        let loads = match reads {
            true => &mut self.own,
            false => {
                // What is on it is only ever added, so a poisoned lock is as good as any.
                load_cache = self.load_cache.0.lock().unwrap_or_else(PoisonError::into_inner);
                &mut *load_cache
            }
        };
        if loads.len() >= LOADED_MAX && !loads.contains_key(&key) {
            loads.clear();
        }
        let load = || load(&self.engine, self.journal, self.artifacts.clone(), name, known);
        loads.entry(key).or_insert_with(load).clone()
    }
}

fn load(
    engine: &Engine,
    journal: &Journal,
    artifacts: Option<ArtifactStore>,
    name: &str,
    known: &BoundPolicy,
) -> Result<ReplayPolicy, String> {
    let blob = |what: &str, digest: &Digest| match journal.blob(digest) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(format!("the {what} of {name}, {}, is not in the journal", digest.short())),
        Err(error) => Err(error.to_string()),
    };
    let component = match known.component == Digest::of(builtin_bytes()) {
        true => builtin_bytes().to_vec(),
        false => blob("component", &known.component)?,
    };
    let settings: BTreeMap<String, GivenSetting> = match blob("settings", &known.settings) {
        Ok(settings) => serde_json::from_slice(&settings)
            .map_err(|error| format!("the settings of {name} in the journal: {error}"))?,
        // Without recorded settings, the built-in policy has its defaults.
        Err(_) if name == BUILTIN_NAME => BTreeMap::new(),
        Err(why) => return Err(why),
    };
    let shown = Arc::new(RecordedArtifacts { store: artifacts, ..RecordedArtifacts::default() });
    let granted = Granted::of(&known.grants, Arc::clone(&shown) as Arc<dyn ArtifactSource>);
    let policy = engine.load_granted(name, &component, granted).map_err(|error| error.to_string())?;
    let configured = policy.configure(&settings).map_err(|error| error.to_string())?;
    if *configured.settings_digest() != known.settings {
        return Err(format!("{name} has other settings now than {}", known.settings.short()));
    }
    Ok(ReplayPolicy { configured, shown })
}

/// What came out otherwise behind a layer than it is recorded.
fn fallback_difference(
    recorded: &[LinkRecord],
    now: &[LinkRecord],
    compares_fuel: bool,
) -> Option<ReplayedAnswer> {
    let is_watchdog = |record: &LinkRecord| {
        matches!(&record.outcome, LinkOutcome::Failed { fault: Fault::Watchdog { .. } })
    };
    if recorded.iter().chain(now).any(is_watchdog) {
        let why = "the watchdog stopped a policy behind a layer, which says something of that moment alone";
        return Some(ReplayedAnswer::Unavailable { why: why.to_owned() });
    }
    // The places count from the first that was asked, so only their order is the same.
    let is_same = |recorded: &LinkRecord, now: &LinkRecord| {
        (&recorded.component, &recorded.settings, &recorded.outcome)
            == (&now.component, &now.settings, &now.outcome)
            && (!compares_fuel || recorded.fuel == now.fuel)
    };
    let differs = recorded.iter().zip(now).find(|(recorded, now)| !is_same(recorded, now));
    let name = match differs {
        Some((recorded, _)) => &recorded.policy,
        None if recorded.len() == now.len() => return None,
        None => &recorded.iter().chain(now).last()?.policy,
    };
    let why = format!("what it asked of {name}, which stands behind it, came out otherwise");
    Some(ReplayedAnswer::FallbackDiffers { why })
}

/// Who is asked, as a label or a fault names it.
struct PolicyIdentity<'a> {
    policy: &'a str,
    component: &'a Digest,
    settings: Option<&'a Digest>,
    engine: &'a Digest,
    artifacts: &'a BTreeMap<String, Digest>,
    fuel: Option<u64>,
    fault: Option<&'a Fault>,
    nested: &'a [LinkRecord],
}

impl PolicyIdentity<'_> {
    fn is(&self, known: &BoundPolicy) -> bool {
        known.policy == self.policy
            && known.component == *self.component
            && self.settings.is_none_or(|settings| known.settings == *settings)
    }

    /// Whether no other grants need to be tried.
    fn matches_answer(&self, answer: &ReplayedAnswer) -> bool {
        match answer {
            ReplayedAnswer::Answered { result, fuel } => {
                self.fuel.is_none_or(|recorded| recorded == *fuel) && result.as_ref().err() == self.fault
            }
            ReplayedAnswer::EngineDiffers { result } => result.as_ref().err() == self.fault,
            ReplayedAnswer::FallbackDiffers { .. }
            | ReplayedAnswer::Impossible { .. }
            | ReplayedAnswer::Unavailable { .. } => false,
        }
    }
}

impl DecisionReplayer for RecordedPolicies<'_> {
    fn observe_input(&mut self, stamped: &JournaledInput) {
        match &stamped.input {
            Input::Started { bindings, .. } => {
                self.known.clear();
                self.record_bindings(bindings);
            }
            Input::PolicyChanged { bindings, .. } => self.record_bindings(bindings),
            _ => {}
        }
    }

    fn answer(&mut self, question: &PolicyRequest, label: &Provenance) -> ReplayedAnswer {
        let (Some(component), Some(settings)) = (&label.component, &label.settings) else {
            return ReplayedAnswer::Impossible {
                why: format!("the label of {} names no settings", label.policy),
            };
        };
        self.ask(
            question,
            &PolicyIdentity {
                policy: &label.policy,
                component,
                settings: Some(settings),
                engine: &label.engine,
                artifacts: &label.artifacts,
                fuel: Some(label.fuel),
                fault: None,
                nested: &label.nested,
            },
        )
    }

    fn fault(
        &mut self,
        question: &PolicyRequest,
        label: &Provenance,
        record: &FaultRecord,
    ) -> ReplayedAnswer {
        self.ask(
            question,
            &PolicyIdentity {
                policy: &record.policy,
                component: &record.component,
                settings: record.settings.as_ref(),
                engine: &label.engine,
                artifacts: &record.artifacts,
                fuel: record.fuel,
                fault: Some(&record.fault),
                nested: &record.nested,
            },
        )
    }

    fn abstention(
        &mut self,
        question: &PolicyRequest,
        label: &Provenance,
        record: &AbstentionRecord,
    ) -> ReplayedAnswer {
        self.ask(
            question,
            &PolicyIdentity {
                policy: &record.policy,
                component: &record.component,
                settings: Some(&record.settings),
                engine: &label.engine,
                artifacts: &record.artifacts,
                fuel: Some(record.fuel),
                fault: None,
                nested: &record.nested,
            },
        )
    }

    fn host_fallback(&mut self, question: &PolicyRequest) -> Option<Result<Decision, Fault>> {
        Some(answer_without_component(question, self.engine.limits()))
    }
}
