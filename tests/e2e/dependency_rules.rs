//! Holds the house to its plan: which crate may depend on which, who may name wasmtime and SQL, how a file begins.
//! Looks at the workspace's manifests and sources only; runs nothing.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

use crate::documents::{root, sources};

/// The arrows of the design, and there are no others. Test-only dependencies are not arrows.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("baton-cli", &["baton-build", "baton-lab", "baton-registry", "baton-runtime"]),
    (
        "baton-runtime",
        &[
            "baton-agents",
            "baton-core",
            "baton-engine",
            "baton-inbox",
            "baton-sandbox",
            "baton-store",
            "baton-workspace",
        ],
    ),
    ("baton-lab", &["baton-core", "baton-engine", "baton-store", "baton-streams"]),
    ("baton-agents", &["baton-core", "baton-sandbox", "baton-streams"]),
    ("baton-sandbox", &["baton-core"]),
    ("baton-registry", &["baton-core"]),
    ("baton-streams", &["baton-core"]),
    ("baton-store", &["baton-core"]),
    ("baton-engine", &["baton-core"]),
    ("baton-workspace", &["baton-core", "baton-sandbox"]),
    ("baton-inbox", &["baton-core"]),
    ("baton-core", &[]),
    ("baton-sdk", &[]),
    ("baton-build", &[]),
    ("baton-simulator", &[]),
];

/// What every reference policy may name.
const OF_POLICIES: &[&str] = &["baton-sdk"];

/// Crates that only one crate of the house may name: whoever else needs what they do asks that crate.
const EXCLUSIVE_DEPENDENCIES: &[(&str, &str)] = &[("wasmtime", "baton-engine"), ("rusqlite", "baton-store")];

/// What core must do without, so that a replay drives the very same machines as a live run.
const NEVER_IN_CORE: &[&str] = &["tokio", "wasmtime", "rusqlite", "rustix", "rand", "tracing"];

/// Longer than this and a file does more than its first line says.
const LINES_MAX: usize = 600;

/// The crates of the house.
fn crates() -> Vec<Package> {
    let manifest = root().join("Cargo.toml");
    let metadata =
        MetadataCommand::new().manifest_path(manifest).no_deps().exec().expect("cargo metadata runs");
    metadata.packages
}

/// What a crate needs to be built; what only its tests need is left out.
fn needs(package: &Package) -> BTreeSet<&str> {
    let built = |kind| matches!(kind, DependencyKind::Normal | DependencyKind::Build);
    package.dependencies.iter().filter(|one| built(one.kind)).map(|one| one.name.as_str()).collect()
}

#[test]
fn no_crate_has_an_arrow_that_the_design_does_not_have() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED_DEPENDENCIES.iter().copied().collect();
    let crates = crates();
    for package in &crates {
        let name = package.name.as_str();
        let of_policy = name.starts_with("baton-policy-").then_some(OF_POLICIES);
        let arrows = allowed.get(name).copied().or(of_policy);
        let arrows = arrows.unwrap_or_else(|| panic!("{name} is not in the list of arrows; add it there"));
        for needed in needs(package).into_iter().filter(|needed| needed.starts_with("baton-")) {
            assert!(arrows.contains(&needed), "{name} -> {needed} is no arrow of the design");
        }
    }
    let exists = |name: &str| crates.iter().any(|package| package.name.as_str() == name);
    assert!(allowed.keys().all(|name| exists(name)), "the list of arrows names a crate that is gone");
}

#[test]
fn wasmtime_and_sql_are_named_in_one_crate_each() {
    for package in crates() {
        for (outside, home) in EXCLUSIVE_DEPENDENCIES {
            let found = needs(&package).contains(outside);
            assert!(
                !found || package.name.as_str() == *home,
                "{outside} belongs into {home}, not {}",
                package.name
            );
        }
    }
}

#[test]
fn core_has_no_clock_no_chance_and_no_io() {
    let crates = crates();
    let core = crates.iter().find(|package| package.name.as_str() == "baton-core").expect("core is there");
    for outside in NEVER_IN_CORE {
        assert!(!needs(core).contains(outside), "core must do without {outside}");
    }
}

#[test]
fn every_source_file_says_what_it_is_and_stays_readable() {
    let sources = sources();
    let mut faults = Vec::new();
    for path in &sources {
        let text = std::fs::read_to_string(path).expect("a source file can be read");
        let (first, lines) = (text.lines().next().unwrap_or_default(), text.lines().count());
        if !first.starts_with("//! ") {
            faults.push(format!("{} does not begin with a `//!` line", path.display()));
        }
        if lines > LINES_MAX {
            faults.push(format!("{} has {lines} lines; {LINES_MAX} is the limit", path.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let seen = sources.len();
    assert!(seen > 50, "only {seen} files were found; the test looks in the wrong place");
}
