//! The versions of the contract that this host speaks, and what their interfaces are called. How one is spoken is not here.
//!
//! Version 0.1 is `bindings.rs` (generated from `wit/`), `convert.rs` (WIT <-> core) and the functions in `imports.rs`. A
//! version that components of this one would not survive gets its own: its frozen copy in `wit/released` is what the
//! bindings of the old one are then generated from, the three files move to a folder of the old version's name, and
//! `Exports::find` in `load.rs` takes the adapter whose interfaces a component exports. `wit/released/README.md` says which
//! changes are such; `tests/engine/contract/mod.rs` notices them.

/// Package of every interface.
pub(crate) const PACKAGE: &str = "baton:policy";

/// The versions of the contract that this host speaks, the newest last. A component of a later patch version of one is
/// welcome as long as it asks for nothing that is new there.
pub const CONTRACTS: [&str; 1] = [V0_1];

/// The contract of `wit/`.
pub(crate) const V0_1: &str = "0.1.0";

/// What an interface of the contract is called.
pub(crate) fn interface(name: &str) -> String {
    format!("{PACKAGE}/{name}@{V0_1}")
}

/// Whether a component of this version can be spoken to, as far as its number says.
pub(crate) fn speaks(version: &str) -> bool {
    version.strip_prefix("0.1.").is_some_and(|patch| patch.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_spoken_and_other_versions_are_not() {
        assert!(CONTRACTS.into_iter().all(speaks));
        assert!(speaks("0.1.12"));
        for other in ["0.2.0", "0.10.0", "1.1.0", "0.1.", "0.1", "0.1.x", ""] {
            assert!(!speaks(other), "{other}");
        }
    }
}
