//! The keys of `sandbox`, of a role or of a configuration. Checks nothing.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::workflow::SandboxLevel;

/// Entries of one list: in place of more, name a folder or a domain.
const LIST_MAX: usize = 100;
/// Characters of a path or a name.
const ENTRY_CHARS_MAX: usize = 1024;

/// How far an agent is confined: a level, or a table with a level.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Sandbox")]
pub(crate) enum SandboxSchema {
    /// The level alone.
    Level(SandboxLevel),
    /// A level with what is different.
    Table(SandboxTable),
}

/// A level, and what is different from it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SandboxTable")]
pub(crate) struct SandboxTable {
    /// "off" (the default), "write" or "strict".
    #[serde(default)]
    pub(crate) level: SandboxLevel,
    /// What it may connect to: names, "*.domain" or addresses, with a port where it is not 443. Default: the service of the
    /// agent's own model. An address that is not of the open internet can be allowed in your own config.toml only.
    #[schemars(length(max = LIST_MAX), inner(length(min = 1, max = ENTRY_CHARS_MAX)))]
    pub(crate) network: Option<Vec<String>>,
    /// Folders and files beyond the tree that it may write: absolute, or from "~/".
    #[schemars(length(max = LIST_MAX), inner(length(min = 1, max = ENTRY_CHARS_MAX)))]
    pub(crate) write: Option<Vec<String>>,
    /// Folders and files beyond the system that it may read where it is "strict": a toolchain in your home, for example
    /// ["~/.cargo", "~/.rustup"]. Absolute, or from "~/".
    #[schemars(length(max = LIST_MAX), inner(length(min = 1, max = ENTRY_CHARS_MAX)))]
    pub(crate) read: Option<Vec<String>>,
    /// Folders and files that it does not see where it is "strict", although it would: absolute, from "~/", or relative to
    /// the workspace.
    #[schemars(length(max = LIST_MAX), inner(length(min = 1, max = ENTRY_CHARS_MAX)))]
    pub(crate) hide: Option<Vec<String>>,
}
