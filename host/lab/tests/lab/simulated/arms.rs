//! Arms of the components in `policies/`, and workflows for them. Decides nothing.

use std::collections::BTreeMap;
use std::path::Path;

use baton_core::Digest;
use baton_core::Workflow;
use baton_core::grants::Grants;
use baton_core::input::{BindingLink, PolicyBinding};
use baton_core::observation::Capability;
use baton_core::workflow::file::parse;
use baton_core::workflow::{ConfigSource, GivenSetting, PolicyScope};
use baton_engine::{BUILTIN_NAME, ConfiguredPolicy, Engine, EngineConfig, Router, builtin_bytes};
use baton_lab::simulate::SimulatedArm;

const POLICIES: [&str; 4] = ["eager-splitter", "conservative-splitter", "torch", "auto-loop"];

/// Every component, loaded once.
pub(crate) struct ConfiguredPolicies {
    engine: Engine,
    all: Vec<ConfiguredPolicy>,
}

impl ConfiguredPolicies {
    pub(crate) fn new() -> Self {
        let engine = Engine::new(EngineConfig::default()).unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
        let mut all =
            vec![engine.load(BUILTIN_NAME, builtin_bytes()).unwrap().configure(&BTreeMap::new()).unwrap()];
        for name in POLICIES {
            let bytes = std::fs::read(folder.join(format!("{name}.wasm"))).unwrap();
            all.push(engine.load(name, &bytes).unwrap().configure(&BTreeMap::new()).unwrap());
        }
        Self { engine, all }
    }

    /// And one more component.
    pub(crate) fn with(mut self, name: &str, bytes: &[u8]) -> Self {
        let policy = self.engine.load(name, bytes).unwrap();
        self.all.push(policy.configure(&BTreeMap::new()).unwrap());
        self
    }

    pub(crate) fn all(&self) -> &[ConfiguredPolicy] {
        &self.all
    }

    pub(crate) fn digest(&self) -> &Digest {
        self.engine.digest()
    }

    /// The policy decides what it can, and the built-in one the rest.
    pub(crate) fn arm(
        &self,
        name: &str,
        policy: &str,
        settings: &[&str],
        workflow: Workflow,
    ) -> SimulatedArm {
        let settings: BTreeMap<String, GivenSetting> = settings
            .iter()
            .map(|setting| setting.split_once('=').unwrap())
            .map(|(key, value)| (key.to_owned(), serde_json::from_str(value).unwrap()))
            .collect();
        let chosen = self.all.iter().find(|one| one.policy().name() == policy).unwrap();
        let chosen = chosen.policy().configure(&settings).unwrap();
        let built_in = self.all[0].clone();
        let mut bindings = Vec::new();
        let mut blobs = Vec::new();
        let decides = |capability: &Capability| chosen.policy().decides().contains(capability);
        let chosen_for = Capability::ALL.into_iter().filter(decides).map(|capability| (capability, &chosen));
        let behind = Capability::ALL.into_iter().map(|capability| (capability, &built_in));
        for (capability, configured) in behind.chain(chosen_for) {
            bindings.push(PolicyBinding {
                capability,
                policy: configured.policy().name().to_owned(),
                component: configured.policy().digest().clone(),
                settings: configured.settings_digest().clone(),
                scope: PolicyScope::Run,
                wants: Grants::default(),
                grants: Grants::default(),
                from: ConfigSource::default(),
                then: Vec::new(),
            });
            blobs.push(serde_json::to_vec(configured.settings()).unwrap());
        }
        let loaded = [built_in.clone(), chosen.clone()];
        let loaded = Box::new(move |link: &BindingLink| {
            let is_it = |one: &&ConfiguredPolicy| {
                *one.policy().digest() == link.component && *one.settings_digest() == link.settings
            };
            loaded.iter().find(is_it).cloned()
        });
        let engine = self.engine.clone();
        let router = Box::new(move || Router::with_built_in(&engine, BTreeMap::new(), built_in.clone()));
        SimulatedArm { name: name.to_owned(), workflow, bindings, blobs, router, loaded }
    }
}

/// Two phases of eight and four objectives, verified.
pub(crate) fn workflow() -> Workflow {
    let mut text = String::from("name = \"sim\"\ngoal = \"Make what is asked for.\"\nagent = \"claude\"\n");
    for (phase, count, after) in [("build", 8, ""), ("document", 4, "depends_on = [\"build\"]\n")] {
        text.push_str(&format!("[[phases]]\nid = \"{phase}\"\n{after}verify = \"make check\"\n"));
        for n in 1..=count {
            text.push_str(&format!(
                "[[phases.objectives]]\nid = \"{phase}-{n}\"\ndescription = \"Make piece {n} of {phase}.\"\nfiles = [\"src/{phase}/{n}.rs\"]\n"
            ));
        }
    }
    parse(&text, "sim.toml", "/sim").unwrap()
}

/// The same with a review, a role with a server whose results may be kept out of the context, and long descriptions.
pub(crate) fn rich() -> Workflow {
    let long = "Mind what is there. ".repeat(200);
    let mut text = String::from(
        "name = \"sim\"\ngoal = \"Make what is asked for.\"\nagent = \"claude\"\n\
         [roles.executor.mcp.search]\ncommand = [\"search\"]\noffload = true\n[roles.reviewer]\nagent = \"claude\"\n",
    );
    text.push_str(
        "[[phases]]\nid = \"build\"\nverify = \"make check\"\nreview = { role = \"reviewer\", score = 60 }\n",
    );
    for n in 1..=6 {
        text.push_str(&format!(
            "[[phases.objectives]]\nid = \"build-{n}\"\ndescription = \"Make piece {n}. {long}\"\nfiles = [\"src/{n}.rs\"]\n"
        ));
    }
    parse(&text, "rich.toml", "/sim").unwrap()
}
