//! Holds the committed components to their lock and the contract. It needs no WebAssembly toolchain.

use std::path::PathBuf;

use wit_component::DecodedWasm;

fn policies() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../policies")
}

#[test]
fn sources_crates_and_components_are_those_of_the_lock() {
    if let Err(error) = baton_build::verify(&policies()) {
        panic!("{error}");
    }
}

#[test]
fn the_lock_names_no_crate_of_the_host_alone() {
    for policy in baton_build::discover(&policies()).unwrap() {
        for name in policy.crates().unwrap().into_keys() {
            let host_only = ["serde", "wasmtime", "tokio", "anyhow", "clap", "insta", "proptest"];
            assert!(
                !host_only.iter().any(|other| name.starts_with(other)),
                "{name} is in the lock of {}",
                policy.name
            );
        }
    }
}

#[test]
fn a_component_imports_only_what_a_policy_may_and_exports_only_decisions() {
    // M2, M6: the imports of a policy show what it may do. This one reads no artifacts and writes no log.
    for policy in baton_build::discover(&policies()).unwrap() {
        let bytes = std::fs::read(&policy.component).unwrap();
        let DecodedWasm::Component(resolve, world) = wit_component::decode(&bytes).unwrap() else {
            panic!("{} is a WIT package, not a component", policy.name);
        };
        let world = &resolve.worlds[world];
        let names = |keys: Vec<_>| -> Vec<String> {
            keys.into_iter().map(|key| resolve.name_world_key(key)).collect()
        };
        let allowed =
            ["types", "questions", "config", "text"].map(|name| format!("baton:policy/{name}@0.1.0"));
        let exports = names(world.exports.keys().collect());
        for import in names(world.imports.keys().collect()) {
            // A layered policy asks the next policy the questions that it answers itself.
            let is_asked = exports.contains(&import) && policy.name == "house-rules";
            assert!(allowed.contains(&import) || is_asked, "{} imports {import}", policy.name);
        }
        let questions = [
            "exhaustion",
            "completion",
            "recovery",
            "compaction",
            "offloading",
            "splitting",
            "budgeting",
            "prompting",
            "handoff",
            "review",
            "settings",
        ];
        let allowed = questions.map(|name| format!("baton:policy/{name}@0.1.0"));
        for export in &exports {
            assert!(allowed.contains(export), "{} exports {export}", policy.name);
        }
        // Settings answer nothing by themselves, and the default policy answers everything.
        let least = if policy.name == "resilience" { allowed.len() } else { 2 };
        assert!(exports.len() >= least, "{} exports {exports:?}", policy.name);
    }
}
