//! What a component imports and exports, by name: what a person sees before it is used. What is refused is `load.rs`'s.

use serde::{Deserialize, Serialize};
use wasmtime::component::Component;

use crate::imports::ARTIFACTS;

/// The outside of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentInterface {
    /// What it wants of the host, in its own order.
    pub imports: Vec<ImportedInterface>,
    /// What it offers, in its own order.
    pub exports: Vec<String>,
}

/// An interface that a component imports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedInterface {
    /// With its version, as the component names it.
    pub name: String,
    /// It is there for those alone whom a workflow grants it; every policy has the others.
    pub needs_grant: bool,
}

impl ComponentInterface {
    pub(crate) fn of(component: &Component, wasm: &wasmtime::Engine) -> Self {
        let ty = component.component_type();
        let import = |name: &str| ImportedInterface { name: name.to_owned(), needs_grant: needs_grant(name) };
        Self {
            imports: ty.imports(wasm).map(|(name, _)| import(name)).collect(),
            exports: ty.exports(wasm).map(|(name, _)| name.to_owned()).collect(),
        }
    }
}

fn needs_grant(import: &str) -> bool {
    import.strip_prefix("baton:policy/").and_then(|name| name.split('@').next()) == Some(ARTIFACTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifacts_alone_need_a_grant() {
        assert!(needs_grant("baton:policy/artifacts@0.1.3"));
        assert!(!needs_grant("baton:policy/text@0.1.0"));
        assert!(!needs_grant("other:policy/artifacts@0.1.0"));
    }
}
