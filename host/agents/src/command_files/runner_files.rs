//! What runners of tasks and of packages take from the folder that they start in.

use std::path::Path;

use baton_sandbox::PACKAGES;
use serde_json::Value;

use crate::session_files::text_of;

/// What runners of tasks read in the folder that they start in.
pub(super) const TASK_FILES: [(&str, &[&str]); 16] = [
    ("bun", &["package.json", ".npmrc", "bunfig.toml"]),
    ("bunx", &["package.json", ".npmrc", "bunfig.toml"]),
    ("deno", &["deno.json", "deno.jsonc", "package.json"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("npm", &["package.json", ".npmrc"]),
    ("npx", &["package.json", ".npmrc"]),
    ("pipx", &["__pypackages__"]),
    ("pnpm", &["package.json", ".npmrc", ".pnpmfile.cjs", "pnpm-workspace.yaml"]),
    ("pnpx", &["package.json", ".npmrc", ".pnpmfile.cjs", "pnpm-workspace.yaml"]),
    ("poetry", &["pyproject.toml", "poetry.toml"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("uv", &["pyproject.toml", "uv.toml"]),
    ("uvx", &["pyproject.toml", "uv.toml"]),
    (
        "yarn",
        &["package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".pnp.cjs"],
    ),
];
/// Where runners of packages look for what a word of their command names, before they look elsewhere: in the folder that they start in, and in
/// those above it.
pub(super) const PACKAGE_FOLDERS: [(&str, &[&str]); 9] = [
    ("bun", &OF_NODE),
    ("bunx", &OF_NODE),
    ("npm", &OF_NODE),
    ("npx", &OF_NODE),
    ("pnpm", &OF_NODE),
    ("pnpx", &OF_NODE),
    ("poetry", &[".venv/bin"]),
    ("uv", &[".venv/bin"]),
    ("yarn", &OF_NODE),
];
/// Packages of Node, and the commands of all of them.
const OF_NODE: [&str; 2] = [PACKAGES, "node_modules/.bin"];
/// A file by which a package names its commands is not longer.
const PACKAGE_BYTES_MAX: u64 = 1 << 20;
/// Commands of a package of which more are not followed.
const COMMANDS_MAX: usize = 1_000;

/// The names of the commands that a package of Node has, which need not be its own.
pub(super) fn commands_of_package(package: &Path) -> Vec<String> {
    let text = text_of(&package.join("package.json"), PACKAGE_BYTES_MAX);
    let about: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
    let commands = about.as_ref().and_then(|about| about.get("bin")?.as_object());
    let names = commands.into_iter().flat_map(|commands| commands.keys()).take(COMMANDS_MAX);
    names.filter(|name| !name.contains('/') && !matches!(name.as_str(), "" | "." | "..")).cloned().collect()
}
