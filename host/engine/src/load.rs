//! From bytes to a policy: size, kind, imports by name, exports, a trial instance, and its settings. A policy that passes can
//! be asked; the quality of its answers is not checked here.

use std::sync::{Arc, Mutex, OnceLock};

use baton_core::Digest;
use baton_core::decision::Fault;
use baton_core::grants::RequestedGrants;
use baton_core::observation::Capability;
use wasmtime::component::{Component, InstancePre};

use crate::built_in::is_built_in;
use crate::compile_cache::{CacheKey, CachedComponent};
use crate::compiler::{self, CompileError};
use crate::component_interface::ComponentInterface;
use crate::component_limits::{self, LimitViolation};
use crate::contract;
use crate::engine::Engine;
use crate::exports::Exports;
use crate::grants::ComponentGrants;
use crate::host_state::{HostState, Lookups};
use crate::imports::{ARTIFACTS, FREE};
use crate::instance::Instance;
use crate::instance_limiter::PolicyShare;
use crate::layer::NextPolicies;
use crate::limits::{COMPONENT_BYTES, DecisionLimits};
use crate::patterns::PreparedSettings;
use crate::requested_grants;
use crate::sanitize::{self, MESSAGE_BYTES};
use crate::settings::{self, SettingSpec};

/// A component that was checked and can be asked, once it is configured. Cheap to clone.
#[derive(Clone)]
pub struct CompiledPolicy(pub(crate) Arc<LoadedComponent>);

pub(crate) struct LoadedComponent {
    pub(crate) engine: Engine,
    pub(crate) name: String,
    pub(crate) digest: Digest,
    pub(crate) pre: InstancePre<HostState>,
    pub(crate) exports: Exports,
    pub(crate) grants: ComponentGrants,
    pub(crate) limits: DecisionLimits,
    pub(crate) share: PolicyShare,
    decides: Vec<Capability>,
    pub(crate) asks_next: Vec<Capability>,
    outline: ComponentInterface,
    wants: RequestedGrants,
    /// Read in the trial or, if the policy came from the cache without a trial, when it is first needed.
    schema: OnceLock<Vec<SettingSpec>>,
    /// The settings that it was configured with last. A policy that decides ten questions gets them ten times, and making their
    /// phrases ready takes longer than anything else at a start.
    pub(crate) prepared: Mutex<Option<Arc<PreparedSettings>>>,
    from_cache: bool,
}

/// Why a component was refused. Each says which policy, what about it, and what would help.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Too large to be read.
    #[error("policy {policy}: a component of {bytes} bytes is too large, at most {COMPONENT_BYTES} are read")]
    TooLarge {
        /// Its name.
        policy: String,
        /// Its size.
        bytes: u64,
    },
    /// Something else.
    #[error(
        "policy {policy}: not a WebAssembly component, but {what}; `baton policy build` makes one from a policy crate"
    )]
    NotAComponent {
        /// Its name.
        policy: String,
        /// What it is.
        what: &'static str,
    },
    /// It looked like a component, but is none that can be compiled.
    #[error("policy {policy}: cannot be compiled: {detail}")]
    Compile {
        /// Its name.
        policy: String,
        /// What wasmtime said.
        detail: String,
    },
    /// There is more of it to compile than is compiled for a stranger.
    #[error("policy {policy}: is not compiled: {why}")]
    Bounds {
        /// Its name.
        policy: String,
        /// What there is too much of.
        why: String,
    },
    /// It wants more than a policy may have.
    #[error("policy {policy}: imports `{import}`, {why}")]
    Import {
        /// Its name.
        policy: String,
        /// The import, as it names it.
        import: String,
        /// Why it may not.
        why: &'static str,
    },
    /// It exports none of the interfaces that the host calls.
    #[error(
        "policy {policy}: decides nothing: it exports no question of baton:policy@0.1.0, such as exhaustion or splitting \
         (it exports: {found})"
    )]
    NoDecision {
        /// Its name.
        policy: String,
        /// What it exports.
        found: String,
    },
    /// Its section of requested grants is invalid.
    #[error("policy {policy}: {why}; ask its author for a corrected build")]
    Wants {
        /// Its name.
        policy: String,
        /// What is wrong.
        why: String,
    },
    /// Its types are not those of the contract.
    #[error(
        "policy {policy}: does not fit the contract baton:policy@0.1.0: {detail}; build it against that version"
    )]
    Contract {
        /// Its name.
        policy: String,
        /// What differs.
        detail: String,
    },
    /// A trial instance, or its settings, failed.
    #[error("policy {policy}: failed when it was tried: it {fault}")]
    Trial {
        /// Its name.
        policy: String,
        /// The fault of the trial.
        fault: Fault,
    },
}

impl Engine {
    /// Checks and compiles a component, or takes it from the cache. Nothing is granted to it.
    pub fn load(&self, name: &str, bytes: &[u8]) -> Result<CompiledPolicy, LoadError> {
        self.load_granted(name, bytes, ComponentGrants::default())
    }

    /// The same, with grants.
    pub fn load_granted(
        &self,
        name: &str,
        bytes: &[u8],
        grants: ComponentGrants,
    ) -> Result<CompiledPolicy, LoadError> {
        check_kind(name, bytes)?;
        let inner = &self.0;
        let kept = inner.cache.as_ref().map(|cache| (cache, CacheKey::new(bytes, &inner.compatible)));
        if let Some(CachedComponent { component, digest }) =
            kept.as_ref().and_then(|(cache, entry)| cache.load(&inner.wasm, entry))
        {
            // It passed its trial with this engine, and a trial comes out the same each time.
            return Ok(CompiledPolicy(Arc::new(LoadedComponent {
                from_cache: true,
                ..self.checked(name, bytes, &component, digest, grants)?
            })));
        }
        check_bounds(name, bytes)?;
        let component = self.compiled(bytes).map_err(|error| match error {
            CompileError::Unfit(detail) => {
                LoadError::Compile { policy: name.to_owned(), detail: line(&detail) }
            }
            CompileError::TooMuch(why) => LoadError::Bounds { policy: name.to_owned(), why },
        })?;
        let loaded = self.checked(name, bytes, &component, Digest::of(bytes), grants)?;
        let _ = loaded.schema.set(loaded.try_out()?);
        if let Some((cache, entry)) = kept {
            // A full disk costs the next start a compilation, and this one nothing.
            let _ = cache.store(&entry, &component, &loaded.digest);
        }
        Ok(CompiledPolicy(Arc::new(loaded)))
    }

    fn compiled(&self, bytes: &[u8]) -> Result<Component, CompileError> {
        let _compiling = compiler::CompilationGuard::begin();
        match &self.0.compiler {
            Some(process) if !is_built_in(bytes) => process.compile(&self.0.wasm, bytes),
            _ => compiler::compile(&self.0.wasm, bytes).map_err(|error| CompileError::Unfit(shown(&error))),
        }
    }

    /// Checks its imports and exports. Starts no instance: its schema is read later.
    fn checked(
        &self,
        name: &str,
        bytes: &[u8],
        component: &Component,
        digest: Digest,
        grants: ComponentGrants,
    ) -> Result<LoadedComponent, LoadError> {
        let policy = || name.to_owned();
        let wants =
            requested_grants::read(bytes).map_err(|why| LoadError::Wants { policy: policy(), why })?;
        let asks_next = self.check_imports(name, component, &grants)?;
        let unfit = |detail: String| LoadError::Contract { policy: policy(), detail: line(&detail) };
        let exports = Exports::find(component).map_err(unfit)?;
        let decides = exports.decides();
        let outline = ComponentInterface::of(component, &self.0.wasm);
        if decides.is_empty() {
            let found = &outline.exports;
            let found = if found.is_empty() { "nothing".to_owned() } else { line(&found.join(", ")) };
            return Err(LoadError::NoDecision { policy: policy(), found });
        }
        if let Some(asked) = asks_next.iter().find(|asked| !decides.contains(asked)) {
            return Err(LoadError::Import {
                policy: policy(),
                import: contract::interface(asked.name()),
                why: "the question of the next policy, and does not answer it itself: a layer exports the interface that it imports",
            });
        }
        let pre = self.0.linker.instantiate_pre(component).map_err(|error| unfit(shown(&error)))?;
        Ok(LoadedComponent {
            engine: self.clone(),
            name: policy(),
            digest,
            pre,
            exports,
            limits: grants.widen(self.limits()),
            share: self.0.permits.share(),
            grants,
            decides,
            asks_next,
            outline,
            wants,
            schema: OnceLock::new(),
            prepared: Mutex::default(),
            from_cache: false,
        })
    }

    /// The questions that it asks the next policy; or the import that it may not have.
    fn check_imports(
        &self,
        policy: &str,
        component: &Component,
        grants: &ComponentGrants,
    ) -> Result<Vec<Capability>, LoadError> {
        let mut asks_next = Vec::new();
        for (import, _) in component.component_type().imports(&self.0.wasm) {
            if let Some(why) = forbidden(import, grants) {
                return Err(LoadError::Import { policy: policy.to_owned(), import: line(import), why });
            }
            asks_next.extend(interface_of(import).and_then(|(interface, _)| question(interface)));
        }
        Ok(asks_next)
    }
}

/// Name and version of an interface of the contract.
fn interface_of(import: &str) -> Option<(&str, &str)> {
    import.strip_prefix(contract::PACKAGE)?.strip_prefix('/')?.split_once('@')
}

fn question(interface: &str) -> Option<Capability> {
    Capability::ALL.into_iter().find(|capability| capability.name() == interface)
}

/// Why an import is refused, by its name alone.
fn forbidden(import: &str, grants: &ComponentGrants) -> Option<&'static str> {
    let Some((interface, version)) = interface_of(import) else {
        return Some(
            "which no policy may have: it is a pure function with types, log, config, text, facts and, where \
             granted, artifacts of baton:policy",
        );
    };
    if !contract::speaks(version) {
        return Some("which this host does not know: it has version 0.1 of baton:policy");
    }
    match interface {
        ARTIFACTS if grants.artifacts.is_none() => Some(
            "which was not granted to it; next to its name in the workflow, `grants = { artifacts = [\"NAME\"] }` grants it",
        ),
        ARTIFACTS => None,
        _ if FREE.contains(&interface) || question(interface).is_some() => None,
        _ => Some(
            "which baton:policy does not offer: it has types, log, config, text, facts-… and, where granted, artifacts",
        ),
    }
}

fn check_kind(policy: &str, bytes: &[u8]) -> Result<(), LoadError> {
    if bytes.len() as u64 > COMPONENT_BYTES {
        return Err(LoadError::TooLarge { policy: policy.to_owned(), bytes: bytes.len() as u64 });
    }
    // Magic number, then the version (two bytes) and the layer (two bytes, 1 for components).
    let what = match bytes {
        [0, b'a', b's', b'm', _, _, 1, 0, ..] => return Ok(()),
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => "a core module",
        [0, b'a', b's', b'm', ..] => "WebAssembly of an unknown kind",
        [] => "an empty file",
        [0x7f, b'E', b'L', b'F', ..] => "native code, which is never loaded from outside",
        [b'(', ..] => "WebAssembly as text",
        _ => "something else",
    };
    Err(LoadError::NotAComponent { policy: policy.to_owned(), what })
}

/// Checks it against the limits for third-party components; bytes that cannot be read are not a component.
fn check_bounds(policy: &str, bytes: &[u8]) -> Result<(), LoadError> {
    let policy = || policy.to_owned();
    component_limits::check(bytes).map_err(|excess| match excess {
        LimitViolation::Malformed(_) => {
            LoadError::Compile { policy: policy(), detail: line(&excess.to_string()) }
        }
        _ => LoadError::Bounds { policy: policy(), why: excess.to_string() },
    })
}

/// Wasmtime's message about a component, sanitised since it may contain names from the component.
fn shown(error: &wasmtime::Error) -> String {
    line(&format!("{error:#}"))
}

fn line(text: &str) -> String {
    sanitize::line(text, MESSAGE_BYTES)
}

impl LoadedComponent {
    /// Makes one instance, checks its types, and reads its settings schema.
    fn try_out(&self) -> Result<Vec<SettingSpec>, LoadError> {
        let trial = |fault| LoadError::Trial { policy: self.name.clone(), fault };
        let mut instance = Instance::start(
            self,
            Lookups::default(),
            Arc::new(PreparedSettings::none()),
            NextPolicies::default(),
        )
        .map_err(trial)?;
        self.exports
            .check_types(&mut instance)
            .map_err(|detail| LoadError::Contract { policy: self.name.clone(), detail: line(&detail) })?;
        let Some(schema) = &self.exports.schema else { return Ok(Vec::new()) };
        settings::schema(&mut instance, schema).map_err(trial)
    }
}

impl CompiledPolicy {
    /// Its name, for people.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Digest of the component.
    pub fn digest(&self) -> &Digest {
        &self.0.digest
    }

    /// What it can be asked, in the order of [`Capability::ALL`].
    pub fn decides(&self) -> &[Capability] {
        &self.0.decides
    }

    /// The questions that it asks the next policy of its chain, each of which it answers; empty if it is not a layer.
    pub fn asks_next(&self) -> &[Capability] {
        &self.0.asks_next
    }

    /// What it imports and exports.
    pub fn outline(&self) -> &ComponentInterface {
        &self.0.outline
    }

    /// What it says that it wants beyond the usual. Nothing of it is granted by that.
    pub fn wants(&self) -> &RequestedGrants {
        &self.0.wants
    }

    /// Limits of its decisions: the engine's limits, widened by its grants.
    pub fn limits(&self) -> &DecisionLimits {
        &self.0.limits
    }

    /// Its settings, in its own order; empty if it has none. A fault is one of the component, which is asked now if it came
    /// from the cache.
    pub fn schema(&self) -> Result<&[SettingSpec], Fault> {
        if let Some(schema) = self.0.schema.get() {
            return Ok(schema);
        }
        let schema = self.0.try_out().map_err(|error| match error {
            LoadError::Trial { fault, .. } => fault,
            other => Fault::Invalid { message: other.to_string() },
        })?;
        Ok(self.0.schema.get_or_init(|| schema))
    }

    /// Whether it was compiled before, by this or an earlier run of the host.
    pub fn from_cache(&self) -> bool {
        self.0.from_cache
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_judged_by_name() {
        let none = ComponentGrants::default();
        for name in ["types", "log", "config", "text", "exhaustion", "prompting"] {
            assert_eq!(forbidden(&format!("baton:policy/{name}@0.1.0"), &none), None);
            assert_eq!(forbidden(&format!("baton:policy/{name}@0.1.7"), &none), None);
        }
        for name in [
            "wasi:cli/environment@0.2.0",
            "baton:policy/artifacts@0.1.0",
            "baton:policy/clock@0.1.0",
            "baton:policy/log@0.2.0",
            "baton:policy/log@0.10.0",
            "baton:policy/log",
            "evil:baton/log@0.1.0",
            "log",
        ] {
            assert!(forbidden(name, &none).is_some(), "{name}");
        }
    }
}
