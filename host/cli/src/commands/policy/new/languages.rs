//! The files of a policy in JavaScript, Python or C: the template, the parts that depend on its decision, and the contract.
//! Writes nothing.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use include_dir::{Dir, include_dir};

use super::{CapabilityArg, WIT, listed, texts};

static JS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../sdk/templates/js");
static PYTHON: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../sdk/templates/python");
static C: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../sdk/templates/c");

/// The build tools of the components, pinned: a newer one may import something else.
const COMPONENTIZE_JS: &str = "0.23.0";
const COMPONENTIZE_PY: &str = "0.25.1";

/// Fuel that a policy in an interpreted language requests: reading the largest question takes it several times the amount of
/// every policy.
const FUEL: u64 = 200_000_000;

/// What a policy is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum PolicyLanguage {
    /// A crate; small and fast components, with the full SDK
    #[default]
    Rust,
    /// A module, built by componentize-js
    Js,
    /// A module, built by componentize-py
    Python,
    /// C files, built by clang; small and fast components
    C,
}

impl PolicyLanguage {
    /// The next steps in the new folder.
    pub(super) fn next(self) -> &'static [&'static str] {
        match self {
            PolicyLanguage::Rust => &["cargo test", "baton policy build"],
            PolicyLanguage::Js => &["npm install", "npm test", "baton policy build"],
            PolicyLanguage::Python => &[
                "python3 -m venv .venv && . .venv/bin/activate",
                "pip install -r requirements.txt",
                "python3 build.py bindings && python3 -m unittest",
                "baton policy build",
            ],
            PolicyLanguage::C => &["make test", "baton policy build"],
        }
    }
}

/// Every file of the policy, by its path in its folder. A crate is made in `new.rs`.
pub(super) fn files(language: PolicyLanguage, name: &str, decides: &[&str]) -> Vec<(PathBuf, String)> {
    let template = match language {
        PolicyLanguage::Python => &PYTHON,
        PolicyLanguage::C => &C,
        _ => &JS,
    };
    let words = words(language, name, decides);
    let fill = |text: &str| {
        words
            .iter()
            .fold(text.to_owned(), |text, (word, value)| text.replace(&format!("{{{{{word}}}}}"), value))
    };
    let is_unused = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let about = name.strip_prefix("test_").unwrap_or(&name);
        let decisions = CapabilityArg::value_variants().iter().map(|decision| decision.name());
        decisions
            .filter(|decision| !decides.contains(decision))
            .any(|decision| about.strip_prefix(decision).is_some_and(|rest| rest.starts_with(['.', '-'])))
    };
    let own = texts(template).into_iter().filter(|(path, _)| !is_unused(path)).map(|(path, text)| {
        let path = if path == Path::new("gitignore") { PathBuf::from(".gitignore") } else { path };
        (path, fill(text))
    });
    let is_contract =
        |path: &Path| path.extension().is_some_and(|end| end == "wit") && path.components().count() == 1;
    let contract = texts(&WIT).into_iter().filter(|(path, _)| is_contract(path));
    own.chain(contract.map(|(path, text)| (Path::new("wit").join(path), text.to_owned()))).collect()
}

fn words(language: PolicyLanguage, name: &str, decides: &[&str]) -> Vec<(&'static str, String)> {
    let each = |line: &dyn Fn(&str) -> String, between: &str| {
        decides.iter().map(|decision| line(decision)).collect::<Vec<_>>().join(between)
    };
    let mut modules = decides.to_vec();
    modules.sort_unstable();
    let mut classes: Vec<String> = modules
        .iter()
        .map(|decision| {
            format!("from decisions.{decision} import {}{}", decision[..1].to_uppercase(), &decision[1..])
        })
        .collect();
    classes.sort();
    let settings = match language {
        PolicyLanguage::Python => each(&|decision| format!("*{decision}.SETTINGS"), ", "),
        _ => each(&|decision| format!("...{decision}Decision.settings"), ", "),
    };
    vec![
        ("name", name.to_owned()),
        ("decides", listed(decides)),
        (
            "policies",
            each(
                &|decision| match language {
                    // Compiled, it has fuel enough.
                    PolicyLanguage::C => format!("{decision} = \"{name}.wasm\""),
                    _ => format!(
                        "{decision} = {{ component = \"{name}.wasm\", grants = {{ fuel = {FUEL} }} }}"
                    ),
                },
                "\n",
            ),
        ),
        ("contract", "wit".to_owned()),
        ("componentize-js", COMPONENTIZE_JS.to_owned()),
        ("componentize-py", COMPONENTIZE_PY.to_owned()),
        ("fuel", FUEL.to_string()),
        ("worlds", each(&|decision| format!("    export baton:policy/{decision}@0.1.0;"), "\n")),
        (
            "imports",
            each(
                &|decision| format!("import * as {decision}Decision from './decisions/{decision}.js';"),
                "\n",
            ),
        ),
        (
            "reexports",
            each(&|decision| format!("export const {decision} = {decision}Decision.{decision};"), "\n"),
        ),
        ("settings", settings),
        ("declarations", each(&|decision| format!("void {decision}_settings(void);"), "\n")),
        ("calls", each(&|decision| format!("    {decision}_settings();"), "\n")),
        ("modules", modules.join(", ")),
        ("classes", classes.join("\n")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 10] = [
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
    ];

    fn paths(language: PolicyLanguage, decides: &[&str]) -> String {
        let mut paths: Vec<String> = files(language, "my-split", decides)
            .into_iter()
            .map(|(path, _)| path.display().to_string())
            .collect();
        paths.sort();
        paths.join("\n")
    }

    // M4
    #[test]
    fn one_decision_brings_the_files_of_one() {
        insta::assert_snapshot!("files_in_js", paths(PolicyLanguage::Js, &["splitting"]));
        insta::assert_snapshot!("files_in_python", paths(PolicyLanguage::Python, &["splitting"]));
        insta::assert_snapshot!("files_in_c", paths(PolicyLanguage::C, &["splitting"]));
    }

    // M4
    #[test]
    fn nothing_is_left_to_fill_in() {
        for language in [PolicyLanguage::Js, PolicyLanguage::Python, PolicyLanguage::C] {
            for decides in [&["handoff"][..], &ALL] {
                for (path, text) in files(language, "my-split", decides) {
                    assert!(!text.contains("{{"), "{}: {text}", path.display());
                }
            }
        }
    }

    // M4: CI installs the versions that the templates pin.
    #[test]
    fn the_reference_policies_are_built_with_what_the_templates_are_built_with() {
        let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
        let read = |path: &str| std::fs::read_to_string(policies.join(path)).unwrap();
        assert!(
            read("shortstop/package.json").contains(&format!("componentize-js\": \"{COMPONENTIZE_JS}\""))
        );
        assert_eq!(read("by-folder/requirements.txt").trim(), format!("componentize-py=={COMPONENTIZE_PY}"));
        // Each is independent, like a team's own policy; its other files are the template's.
        for (own, template) in [
            ("shortstop/settings.js", "js/settings.js"),
            ("shortstop/tests/host.mjs", "js/tests/host.mjs"),
            ("by-folder/settings.py", "python/settings.py"),
            ("by-folder/tests/host.py", "python/tests/host.py"),
            ("../sdk/team/js/settings.js", "js/settings.js"),
            ("../sdk/team/js/tests/register.mjs", "js/tests/register.mjs"),
            ("../sdk/team/js/tests/resolve.mjs", "js/tests/resolve.mjs"),
            ("../sdk/team/python/settings.py", "python/settings.py"),
            ("../sdk/team/c/baton.c", "c/baton.c"),
            ("../sdk/team/c/baton.h", "c/baton.h"),
        ] {
            assert_eq!(read(own), read(&format!("../sdk/templates/{template}")), "{own}");
        }
    }
}
