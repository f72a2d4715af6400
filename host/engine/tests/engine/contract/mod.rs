//! Holds the contract of today to those that were released: a released one only grows, in ways that no component notices, and
//! the components that were built against it still load and decide. `wit/released/README.md` says what a version is for.

mod changes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::hostile::guests::GuestBuilder;
use baton_core::Digest;
use baton_engine::{ArtifactSource, CONTRACTS, ComponentGrants, Engine, EngineConfig};
use changes::{Contract, breaks};

const ADVICE: &str = "take the change back, or give the package a new version and keep an adapter for the old one: \
                      wit/released/README.md says which changes need what, host/engine/src/contract.rs where";

/// Every function that the contract lends to a policy.
const LENT: [(&str, &str); 17] = [
    ("log", "write"),
    ("config", "get-flag"),
    ("config", "get-integer"),
    ("config", "get-number"),
    ("config", "get-text"),
    ("config", "get-texts"),
    ("text", "len"),
    ("text", "slice"),
    ("text", "find-any"),
    ("text", "find-setting"),
    ("artifacts", "names"),
    ("artifacts", "read"),
    ("facts-history", "past-sessions"),
    ("facts-turns", "turns-taken"),
    ("facts-compactions", "past-compactions"),
    ("facts-waits", "past-waits"),
    ("facts-handoffs", "past-handoffs"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files of a contract, by name.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let wit = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "wit"));
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    wit.map(|path| (name(&path), std::fs::read_to_string(&path).unwrap())).collect()
}

/// A contract as one text: the file that names the package comes first.
fn text(folder: &Path) -> String {
    let mut texts: Vec<_> = files(folder).into_values().collect();
    texts.sort_by_key(|text| !text.lines().any(|line| line.starts_with("package ")));
    texts.join("\n")
}

fn version_of(text: &str) -> String {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("package baton:policy@"))
        .expect("it names its version");
    line.trim_end_matches(';').to_owned()
}

/// Every version with a frozen copy.
fn frozen() -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(root().join("wit/released")).expect("there are frozen copies");
    let folders = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    folders.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path)).collect()
}

/// The version that may still change.
fn draft() -> String {
    std::fs::read_to_string(root().join("wit/released/draft"))
        .expect("a draft, or an empty file")
        .trim()
        .to_owned()
}

/// Up to the number that a change must raise which components notice.
fn line_of(version: &str) -> &str {
    let mut dots = version.match_indices('.').map(|(at, _)| at);
    let (first, second) = (dots.next().unwrap_or(version.len()), dots.next().unwrap_or(version.len()));
    if version.starts_with("0.") { &version[..second] } else { &version[..first] }
}

#[test]
fn a_released_contract_grows_only_in_ways_that_no_component_notices() {
    let now = text(&root().join("wit"));
    let version = version_of(&now);
    assert_eq!(
        CONTRACTS.last(),
        Some(&version.as_str()),
        "CONTRACTS in contract.rs ends with the version of wit/"
    );
    let frozen = frozen();
    assert!(!frozen.is_empty());
    for (old, folder) in frozen {
        assert!(
            CONTRACTS.iter().any(|spoken| line_of(spoken) == line_of(&old)),
            "version {old} was released and no adapter speaks it; {ADVICE}"
        );
        if line_of(&old) == line_of(&version) {
            let breaks = breaks(&Contract::parse(&text(&folder)), &Contract::parse(&now));
            assert!(
                breaks.is_empty(),
                "components built against {old} notice:\n- {}\n{ADVICE}",
                breaks.join("\n- ")
            );
        }
    }
}

#[test]
fn the_copy_of_a_draft_follows_the_contract() {
    let version = version_of(&text(&root().join("wit")));
    let folder = root().join("wit/released").join(&version);
    assert!(
        draft() != version || files(&folder) == files(&root().join("wit")),
        "run `cargo run -p baton-build -- --freeze wit`: version {version} is not released yet, and its copy follows it"
    );
    let newest = frozen().into_iter().any(|(frozen, _)| frozen == version);
    assert!(newest, "run `cargo run -p baton-build -- --freeze wit`: version {version} has no frozen copy");
}

struct Nothing;

impl ArtifactSource for Nothing {
    fn list(&self) -> Vec<(String, Digest)> {
        Vec::new()
    }

    fn read(&self, _: &Digest) -> Option<Arc<[u8]>> {
        None
    }
}

fn components(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "wasm")).collect()
}

/// A component that uses all that a contract has: it imports every function, and answers every question with zeros, which
/// is an answer to each.
fn that_uses_everything(contract: &str) -> Vec<u8> {
    let answers = ["assess", "decide", "compose", "schema"];
    let guest =
        answers.iter().fold(GuestBuilder::new("policy"), |guest, name| guest.body(name, "(i32.const 0)"));
    let guest = LENT.iter().fold(guest, |guest, (interface, name)| guest.import(interface, name));
    guest.written_against(contract).contract("world policy {", "world policy {\n    include facts;").build()
}

/// Where the component of a version is kept.
fn kept(version: &str) -> PathBuf {
    root().join("tests/fixtures/contract").join(version).join("everything.wasm")
}

#[test]
fn components_of_every_version_still_load_and_decide() {
    let cache_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("aot-contract"));
    let engine = Engine::new(EngineConfig { cache_dir, ..EngineConfig::default() }).expect("an engine");
    let mut waiting = components(&root().join("policies"));
    assert!(!waiting.is_empty());
    for (version, folder) in frozen() {
        let path = kept(&version);
        if draft() == version {
            let built = that_uses_everything(&text(&folder));
            if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
                std::fs::write(&path, &built).expect("it can be kept");
            }
            assert!(
                std::fs::read(&path).is_ok_and(|bytes| bytes == built),
                "run `INSTA_UPDATE=always cargo test -p baton-engine --test engine contract`: {} is another component",
                path.display()
            );
        }
        waiting.push(path);
    }
    let mut broken = Vec::new();
    for path in waiting {
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let grants = ComponentGrants { artifacts: Some(Arc::new(Nothing)), ..ComponentGrants::default() };
        let policy = match engine.load_granted("old", &bytes, grants) {
            Ok(policy) => policy,
            Err(error) => {
                broken.push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        let policy = policy.configure(&BTreeMap::new()).expect("its defaults are good");
        for question in crate::hostile::questions::all() {
            if !policy.policy().decides().contains(&question.query.capability()) {
                continue;
            }
            if let Err(fault) = policy.evaluate(&question).result {
                broken.push(format!("{}, asked {}: it {fault}", path.display(), question.query.function()));
            }
        }
    }
    assert!(broken.is_empty(), "these worked before:\n- {}\n{ADVICE}", broken.join("\n- "));
}

/// What comes of replacing one text of the contract by another.
fn after(from: &str, to: &str) -> Vec<String> {
    let before = text(&root().join("wit"));
    assert!(before.contains(from), "{from}");
    breaks(&Contract::parse(&before), &Contract::parse(&before.replacen(from, to, 1)))
}

#[test]
fn what_no_component_notices_is_free() {
    let free = [
        ("/// Length in bytes; 0 for an unknown id.", "/// How long it is."),
        ("interface text {", "interface text {\n    /// A digest.\n    hash: func(text: u32) -> u64;\n"),
        ("interface text {", "interface telemetry {\n    mark: func();\n}\n\ninterface text {"),
        ("interface compaction {", "interface compaction {\n    enum unused { one, two }\n"),
        ("len: func(text: text-id) -> u32;", "len: func(of: text-id) -> u32;"),
    ];
    for (from, to) in free {
        assert_eq!(after(from, to), Vec::<String>::new(), "{to}");
    }
}

#[test]
fn what_a_component_notices_is_named() {
    let noticed = [
        (
            "        compactions: u32,",
            "        compactions: u64,",
            "types.session had `field compactions: u32` and has `field compactions: u64`",
        ),
        (
            "        compactions: u32,",
            "        compactions: u32,\n        failures: u32,",
            "types.session has gained `field failures: u32`",
        ),
        ("        compactions: u32,", "", "types.session has lost `field compactions: u32`"),
        (
            "        hand-off,\n    }",
            "        hand-off,\n        wait,\n    }",
            "questions.compaction-action has gained `case wait(_)`",
        ),
        (
            "        hand-off,\n    }",
            "        hand-off(string),\n    }",
            "questions.compaction-action had `case hand-off(_)` and has `case hand-off(string)`",
        ),
        ("    len: func(text: text-id) -> u32;", "", "the function text.len is gone"),
        (
            "    len: func(text: text-id) -> u32;",
            "    len: func(text: text-id) -> u64;",
            "text.len was func(text-id) -> u32 and is func(text-id) -> u64",
        ),
        (
            "interface compaction {",
            "interface compaction {\n    again: func() -> bool;\n",
            "compaction.again is new, in an interface that policies export: those of before lack it",
        ),
    ];
    for (from, to, sentence) in noticed {
        assert_eq!(after(from, to), [sentence], "{to}");
    }
    let swapped = after("        debug,\n        info,", "        info,\n        debug,");
    assert_eq!(swapped, ["log.level has its parts in another order"]);
}
