//! What a policy asks for beyond what every policy has, and what it is granted (M6). Data; the loader of a component compares
//! the two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::serde_defaults::is_default;

/// Name of the custom section in which a component states its requests, as JSON. The host checks its imports; the section
/// informs the user beforehand, and requests things that no import shows.
pub const SECTION: &str = "baton:wants";

/// Version of the section's format.
pub const SECTION_SCHEMA: u32 = 1;

/// Most fuel of a decision that may be granted: fifty times what every policy has, still about half a second. A layer in
/// JavaScript that passes on a prompt needs more than half of it for the largest questions.
pub const FUEL_MAX: u64 = 1_000_000_000;

/// Memory that may be granted, in MiB: the room of a large interpreter.
pub const MEMORY_MIB_MAX: u32 = 256;

/// Patterns of artifacts that a component may name.
pub const PATTERNS_MAX: usize = 32;

/// The requests of a component.
pub type RequestedGrants = Grants;

/// What is granted to a component. Nothing, by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// Artifacts that it may read, by name; `*` stands for any characters, "reports/*.md".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// Fuel of one decision, where it is more than every policy has.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fuel: Option<u64>,
    /// Memory of one decision in MiB, where it is more than every policy has.
    #[serde(default, skip_serializing_if = "is_default")]
    pub memory_mib: Option<u32>,
}

/// A bound that was passed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantsError {
    /// Too much fuel.
    #[error("fuel {0} is more than any policy gets, at most {FUEL_MAX}")]
    Fuel(u64),
    /// Too much memory.
    #[error("memory_mib {0} is more than any policy gets, at most {MEMORY_MIB_MAX}")]
    Memory(u32),
    /// Too many patterns.
    #[error("{0} patterns of artifacts are too many, at most {PATTERNS_MAX}")]
    Patterns(usize),
    /// A pattern that matches nothing.
    #[error("an empty pattern names no artifact")]
    Empty,
}

impl Grants {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Holds it to its bounds.
    pub fn check(&self) -> Result<(), GrantsError> {
        match self {
            Self { fuel: Some(fuel), .. } if *fuel > FUEL_MAX => Err(GrantsError::Fuel(*fuel)),
            Self { memory_mib: Some(mib), .. } if *mib > MEMORY_MIB_MAX => Err(GrantsError::Memory(*mib)),
            Self { artifacts, .. } if artifacts.len() > PATTERNS_MAX => {
                Err(GrantsError::Patterns(artifacts.len()))
            }
            Self { artifacts, .. } if artifacts.iter().any(String::is_empty) => Err(GrantsError::Empty),
            Self { .. } => Ok(()),
        }
    }

    /// Whether an artifact of this name is in it.
    pub fn covers(&self, name: &str) -> bool {
        self.artifacts.iter().any(|pattern| matches(pattern, name))
    }

    /// The part of `wants` that it does not contain.
    pub fn lacks(&self, wants: &RequestedGrants) -> RequestedGrants {
        RequestedGrants {
            artifacts: wants
                .artifacts
                .iter()
                .filter(|want| !self.artifacts.contains(want))
                .cloned()
                .collect(),
            fuel: wants.fuel.filter(|fuel| self.fuel.is_none_or(|granted| granted < *fuel)),
            memory_mib: wants.memory_mib.filter(|mib| self.memory_mib.is_none_or(|granted| granted < *mib)),
        }
    }
}

impl std::fmt::Display for Grants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let artifacts =
            (!self.artifacts.is_empty()).then(|| format!("artifacts {}", self.artifacts.join(", ")));
        let fuel = self.fuel.map(|fuel| format!("fuel {fuel}"));
        let memory = self.memory_mib.map(|mib| format!("memory {mib} MiB"));
        let all: Vec<String> = [artifacts, fuel, memory].into_iter().flatten().collect();
        f.pad(&if all.is_empty() { "nothing".to_owned() } else { all.join("; ") })
    }
}

/// `*` stands for any characters, other characters for themselves. Takes at most time in proportion to both lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_names() {
        // M6
        for (pattern, name, covered) in [
            ("reports/*.md", "reports/build.md", true),
            ("reports/*.md", "reports/deep/build.md", true),
            ("reports/*.md", "reports/build.txt", false),
            ("reports/*.md", "other/reports/build.md", false),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "ac", false),
            ("ab*b", "ab", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
            ("ä*", "äß", true),
        ] {
            let grants = Grants { artifacts: vec![pattern.to_owned()], ..Grants::default() };
            assert_eq!(grants.covers(name), covered, "{pattern} {name}");
        }
        assert!(!Grants::default().covers("anything"));
    }

    #[test]
    fn what_is_wanted_and_not_granted_is_named() {
        // M6
        let wants = RequestedGrants {
            artifacts: vec!["a".into(), "b*".into()],
            fuel: Some(30_000_000),
            memory_mib: Some(96),
        };
        assert_eq!(Grants::default().lacks(&wants), wants);
        assert!(wants.lacks(&wants).is_empty());
        let some = Grants { artifacts: vec!["a".into()], fuel: Some(80_000_000), memory_mib: Some(80) };
        let lacks = RequestedGrants { artifacts: vec!["b*".into()], fuel: None, memory_mib: Some(96) };
        assert_eq!(some.lacks(&wants), lacks);
    }

    #[test]
    fn bounds_hold() {
        // M6
        assert_eq!(Grants { fuel: Some(FUEL_MAX), ..Grants::default() }.check(), Ok(()));
        for (grants, error) in [
            (Grants { fuel: Some(FUEL_MAX + 1), ..Grants::default() }, GrantsError::Fuel(FUEL_MAX + 1)),
            (Grants { memory_mib: Some(257), ..Grants::default() }, GrantsError::Memory(257)),
            (Grants { artifacts: vec![String::new()], ..Grants::default() }, GrantsError::Empty),
            (Grants { artifacts: vec!["a".into(); 33], ..Grants::default() }, GrantsError::Patterns(33)),
        ] {
            assert_eq!(grants.check(), Err(error));
        }
    }
}
