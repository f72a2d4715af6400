//! The requests of a policy beyond what every policy has: read from its manifest, written into its component as a custom
//! section. This grants nothing; a workflow does, and the host checks the imports regardless of the section.
//!
//! ```toml
//! [package.metadata.baton]
//! wants = { artifacts = ["reports/*"], fuel = 80000000, memory_mib = 128 }
//! ```

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};
use wasm_encoder::{ComponentSection as _, CustomSection};
use wasmparser::{Chunk, Parser, Payload};

use crate::Error;

/// Name of the custom section, at the top level of a component.
pub const SECTION: &str = "baton:wants";

/// Version of its format.
const SCHEMA: u32 = 1;

/// The requests of a component. By default there are none, and the component has no section.
///
/// ```
/// use baton_build::Wants;
///
/// let wants = Wants { artifacts: vec!["reports/*".into()], ..Wants::default() };
/// assert_eq!(wants.section(), r#"{"schema":1,"artifacts":["reports/*"]}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wants {
    /// Artifacts to read, by name; `*` stands for any characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// Fuel of one decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// Memory of one decision, in MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u32>,
}

/// `[package.metadata.baton]`: other keys are rejected, so that a misspelt key is not silently ignored.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    #[serde(default)]
    wants: Wants,
}

impl Wants {
    /// The wants in the manifest of a crate.
    ///
    /// # Errors
    /// A manifest that cannot be read, or an unknown key.
    pub fn of_manifest(manifest: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(manifest).map_err(Error::file("read", manifest))?;
        let wrong = |message: String| Error::Format { path: manifest.to_owned(), message };
        let root: toml::Value = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let section = root.get("package").and_then(|package| package.get("metadata")?.get("baton"));
        let metadata = section.cloned().map(Metadata::deserialize).transpose();
        let in_section =
            |error: toml::de::Error| wrong(format!("package.metadata.baton: {}", error.message()));
        Ok(metadata.map_err(in_section)?.unwrap_or_default().wants)
    }

    /// The section's content.
    pub fn section(&self) -> String {
        #[derive(Serialize)]
        struct Section<'a> {
            schema: u32,
            #[serde(flatten)]
            wants: &'a Wants,
        }
        // Only texts and numbers, which JSON can always express.
        serde_json::to_string(&Section { schema: SCHEMA, wants: self }).unwrap_or_default()
    }
}

/// The component with its wants written into it, replacing earlier ones. The same component and the same wants give the same
/// bytes; without wants there is no section.
///
/// ```
/// use baton_build::{Wants, stamp};
///
/// let empty = [0, b'a', b's', b'm', 0x0d, 0, 1, 0];
/// let wants = Wants { fuel: Some(80_000_000), ..Wants::default() };
/// let stamped = stamp(&empty, &wants)?;
/// assert!(stamped.ends_with(br#"{"schema":1,"fuel":80000000}"#));
/// assert_eq!(stamp(&stamped, &wants)?, stamped);
/// assert_eq!(stamp(&stamped, &Wants::default())?, empty);
/// # Ok::<(), baton_build::Error>(())
/// ```
///
/// # Errors
/// [`Error::Component`] if the bytes are not a component.
pub fn stamp(component: &[u8], wants: &Wants) -> Result<Vec<u8>, Error> {
    let mut stamped = without_section(component)
        .map_err(|message| Error::Component { policy: "the file".to_owned(), message })?;
    if *wants != Wants::default() {
        let data = Cow::Owned(wants.section().into_bytes());
        CustomSection { name: Cow::Borrowed(SECTION), data }.append_to_component(&mut stamped);
    }
    Ok(stamped)
}

/// Everything but the section; those of the modules within belong to others.
fn without_section(component: &[u8]) -> Result<Vec<u8>, String> {
    let cut_off = || "it ends in the middle of a section".to_owned();
    let mut kept = Vec::with_capacity(component.len());
    let mut parser = Parser::new(0);
    let mut rest = component;
    while !rest.is_empty() {
        let Chunk::Parsed { consumed, payload } =
            parser.parse(rest, true).map_err(|error| error.to_string())?
        else {
            return Err(cut_off());
        };
        let mut bytes = consumed;
        match payload {
            Payload::Version { encoding: wasmparser::Encoding::Module, .. } => {
                return Err("it is a core module, and no component".to_owned());
            }
            Payload::CustomSection(section) if section.name() == SECTION => {
                rest = &rest[consumed..];
                continue;
            }
            Payload::ModuleSection { unchecked_range, .. }
            | Payload::ComponentSection { unchecked_range, .. } => {
                bytes += unchecked_range.end - unchecked_range.start;
            }
            _ => {}
        }
        kept.extend(rest.get(..bytes).ok_or_else(cut_off)?);
        rest = &rest[bytes..];
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(metadata: &str) -> Result<Wants, String> {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("Cargo.toml");
        std::fs::write(&manifest, format!("[package]\nname = \"calm\"\n{metadata}")).unwrap();
        Wants::of_manifest(&manifest).map_err(|error| error.to_string())
    }

    #[test]
    fn a_manifest_says_what_is_wanted_and_nothing_is_passed_over() {
        // M6
        assert_eq!(of(""), Ok(Wants::default()));
        assert_eq!(of("[package.metadata.other]\nwants = 1"), Ok(Wants::default()));
        let all = of("[package.metadata.baton]\n\
            wants = { artifacts = [\"reports/*\"], fuel = 80000000, memory_mib = 128 }");
        let wants =
            Wants { artifacts: vec!["reports/*".into()], fuel: Some(80_000_000), memory_mib: Some(128) };
        assert_eq!(
            wants.section(),
            r#"{"schema":1,"artifacts":["reports/*"],"fuel":80000000,"memory_mib":128}"#
        );
        assert_eq!(all, Ok(wants));
        for (metadata, said) in [
            ("[package.metadata.baton]\nwant = {}", "unknown field `want`"),
            ("[package.metadata.baton]\nwants = { memory = 1 }", "unknown field `memory`"),
            ("[package.metadata.baton]\nwants = { fuel = -1 }", "invalid value"),
            ("[package.metadata.baton]\nwants = { artifacts = \"reports\" }", "expected a sequence"),
        ] {
            let wrong = of(metadata).unwrap_err();
            assert!(wrong.contains("package.metadata.baton: ") && wrong.contains(said), "{wrong}");
        }
    }

    #[test]
    fn a_section_within_a_module_is_left_alone() {
        let mut inner = wasm_encoder::Module::new();
        inner.section(&CustomSection { name: SECTION.into(), data: b"theirs".into() });
        let mut outer = wasm_encoder::Component::new();
        outer.section(&wasm_encoder::ModuleSection(&inner));
        let outer = outer.finish();
        let wants = Wants { memory_mib: Some(128), ..Wants::default() };
        let stamped = stamp(&outer, &wants).unwrap();
        assert!(stamped.starts_with(&outer));
        assert_eq!(stamp(&stamped, &Wants::default()).unwrap(), outer);
        assert!(stamp(&inner.finish(), &wants).unwrap_err().to_string().contains("core module"));
        assert!(stamp(&outer[..outer.len() - 1], &wants).is_err());
        assert!(stamp(b"no wasm at all", &wants).is_err());
    }
}
