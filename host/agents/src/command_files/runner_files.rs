//! What runners of packages take from the folder that they start in.

use std::path::Path;

use baton_sandbox::PACKAGES;
use serde_json::Value;

use crate::session_files::text_of;

/// Names of runners, and what they take.
pub(super) type RunnerFiles = (&'static [&'static str], &'static [&'static str]);

/// Where runners of packages look for what a word of their command names, before they look elsewhere: in the folder that they start in, and in
/// those above it.
pub(super) const PACKAGE_FOLDERS: [RunnerFiles; 2] = [
    (&["bun", "bunx", "npm", "npx", "pnpm", "pnpx", "yarn"], &[PACKAGES, "node_modules/.bin"]),
    (&["poetry", "uv"], &[".venv/bin"]),
];
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
