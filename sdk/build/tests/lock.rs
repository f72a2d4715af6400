//! The changes that the lock detects, on a copy of a small workspace; nothing is compiled.

use std::fs;
use std::path::Path;

use baton_build::{Lock, Locked, Policy, Std, Toolchain};

const COMPONENT: &[u8] = b"not really a component";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A workspace with a policy `calm`, its component and its lock.
fn workspace() -> (tempfile::TempDir, Policy) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(
        &root.join("Cargo.toml"),
        "[workspace]\nresolver = \"3\"\nmembers = [\"policies/calm\", \"sdk\", \"sdk/build\"]\n\
         [workspace.dependencies]\nbaton-sdk = { path = \"sdk\" }\n[profile.policy]\ninherits = \"release\"\n",
    );
    write(
        &root.join("Cargo.lock"),
        "version = 4\n\n[[package]]\nname = \"baton-build\"\nversion = \"0.1.0\"\n\n\
         [[package]]\nname = \"baton-sdk\"\nversion = \"0.1.0\"\n\n\
         [[package]]\nname = \"calm\"\nversion = \"0.1.0\"\ndependencies = [\n \"baton-sdk\",\n]\n",
    );
    let package = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}")
    };
    write(&root.join("sdk/Cargo.toml"), &package("baton-sdk", ""));
    write(&root.join("sdk/src/lib.rs"), "//! SDK.\n");
    write(&root.join("sdk/build/Cargo.toml"), &package("baton-build", ""));
    write(&root.join("sdk/build/src/lib.rs"), "//! Tool.\n");
    write(
        &root.join("policies/calm/Cargo.toml"),
        &package("calm", "[dependencies]\nbaton-sdk.workspace = true\n"),
    );
    write(&root.join("policies/calm/src/lib.rs"), "//! A policy.\n");
    write(&root.join("wit/types.wit"), "package baton:policy;\n");
    fs::write(root.join("policies/calm.wasm"), COMPONENT).unwrap();
    let policy = baton_build::discover(&root.join("policies")).unwrap().remove(0);
    lock(root, &policy);
    (folder, policy)
}

fn toolchain() -> Toolchain {
    Toolchain {
        rustc: "rustc".into(),
        cargo: "cargo".into(),
        version: "1.96.0".into(),
        commit: "abc".into(),
        sysroot: "/usr".into(),
        std: Std::Prebuilt,
    }
}

fn lock(root: &Path, policy: &Policy) {
    let mut lock = Lock::default();
    lock.policy.insert("calm".into(), locked(policy, &toolchain()));
    lock.write(&root.join("policies")).unwrap();
}

fn locked(policy: &Policy, toolchain: &Toolchain) -> Locked {
    Locked::with_encoder(policy, toolchain, COMPONENT, "0.263.0".into()).unwrap()
}

fn problem(root: &Path) -> String {
    baton_build::verify(&root.join("policies")).unwrap_err().to_string()
}

#[test]
fn what_is_of_one_piece_passes() {
    let (folder, _) = workspace();
    baton_build::verify(&folder.path().join("policies")).unwrap();
}

#[test]
fn every_source_that_reaches_the_component_counts() {
    let sources = ["policies/calm/src/lib.rs", "policies/calm/Cargo.toml", "sdk/src/lib.rs", "wit/types.wit"];
    for source in sources {
        let (folder, _) = workspace();
        let path = folder.path().join(source);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}\n")).unwrap();
        assert!(problem(folder.path()).contains("its sources changed"), "{source}");
    }
}

#[test]
fn what_does_not_reach_the_component_does_not_count() {
    let (folder, _) = workspace();
    write(&folder.path().join("policies/calm/tests/more.rs"), "//! A test.\n");
    write(&folder.path().join("sdk/build/src/more.rs"), "//! The tool itself.\n");
    baton_build::verify(&folder.path().join("policies")).unwrap();
}

#[test]
fn the_build_profile_counts() {
    let (folder, _) = workspace();
    let path = folder.path().join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}lto = true\n")).unwrap();
    assert!(problem(folder.path()).contains("its sources changed"));
}

#[test]
fn the_features_of_an_inherited_dependency_count() {
    let (folder, _) = workspace();
    let path = folder.path().join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("{ path = \"sdk\" }", "{ path = \"sdk\", default-features = false }");
    fs::write(&path, text).unwrap();
    assert!(problem(folder.path()).contains("its sources changed"));
}

#[test]
fn another_component_is_refused_with_what_to_do() {
    let (folder, _) = workspace();
    fs::write(folder.path().join("policies/calm.wasm"), b"other").unwrap();
    let problem = problem(folder.path());
    assert!(problem.contains("is not the component that the lock names"), "{problem}");
    assert!(problem.contains("cargo run -p baton-build"), "{problem}");
}

#[test]
fn a_policy_that_is_not_locked_is_refused() {
    let (folder, _) = workspace();
    Lock::default().write(&folder.path().join("policies")).unwrap();
    assert!(problem(folder.path()).contains("it is not in policies.lock"));
}

#[test]
fn a_lock_of_another_format_is_refused() {
    let (folder, _) = workspace();
    fs::write(folder.path().join("policies/policies.lock"), "format = 9\n[policy]\n").unwrap();
    assert!(problem(folder.path()).contains("it has format 9"));
}

#[test]
fn a_compiler_is_another_one_by_commit_and_by_standard_library() {
    let (_folder, policy) = workspace();
    let here = locked(&policy, &toolchain());
    let other = Toolchain { commit: "def".into(), ..toolchain() };
    let built = Toolchain { std: Std::Built { linker: "/x".into() }, ..toolchain() };
    assert_eq!(here.compiler(), locked(&policy, &toolchain()).compiler());
    assert_ne!(here.compiler(), locked(&policy, &other).compiler());
    assert_ne!(here.compiler(), locked(&policy, &built).compiler());
}

#[test]
fn a_folder_without_policies_is_an_error() {
    let (folder, _) = workspace();
    let error = baton_build::discover(&folder.path().join("wit")).unwrap_err().to_string();
    assert!(error.contains("no policy crate"), "{error}");
}
