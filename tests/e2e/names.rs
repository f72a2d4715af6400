//! Names of types: each is used once in the host and the tests, and says what the type is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::documents::{root, sources};

/// Words that end as a participle and are none.
const NOUNS: [&str; 2] = ["Feed", "Seed"];

/// Participles that do not end in "ed".
const IRREGULAR: [&str; 22] = [
    "Begun", "Done", "Found", "Given", "Gone", "Heard", "Held", "Kept", "Known", "Left", "Lost", "Made",
    "Met", "Ran", "Said", "Seen", "Sent", "Shown", "Sought", "Taken", "Told", "Written",
];

/// Libraries for policies, which other repositories use alone: what they call a type is not held against the host.
const OF_POLICIES: [&str; 2] = ["sdk", "policies"];

/// The type that a line declares.
fn declared(line: &str) -> Option<&str> {
    let is_inside = line.starts_with(' ');
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub") || *word == "unsafe");
    let is_type = match words.next()? {
        "struct" | "enum" | "trait" | "union" => true,
        // Inside of a trait or an implementation the name is that trait's.
        "type" => !is_inside,
        _ => false,
    };
    let name = words.next().filter(|_| is_type)?;
    let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    name.starts_with(|c: char| c.is_ascii_uppercase()).then_some(name)
}

/// Every type of the host and of the tests, and where it is declared.
fn types() -> BTreeMap<String, Vec<PathBuf>> {
    let mut types: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in sources() {
        let text = std::fs::read_to_string(&path).expect("a source can be read");
        let path = path.strip_prefix(root()).expect("it lies in the workspace").to_owned();
        if OF_POLICIES.iter().any(|library| path.starts_with(library)) {
            continue;
        }
        for name in text.lines().filter_map(declared) {
            types.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    assert!(types.len() > 1_000, "only {} types are found", types.len());
    types
}

#[test]
fn a_type_has_a_name_of_its_own() {
    let twice: Vec<String> = types()
        .into_iter()
        .filter(|(_, at)| at.len() > 1)
        .map(|(name, at)| format!("{name}: {at:?}"))
        .collect();
    assert!(twice.is_empty(), "types with the same name:\n{}", twice.join("\n"));
}

#[test]
fn a_type_is_called_by_a_noun() {
    let is_bare = |name: &String| {
        let is_one_word = name.chars().skip(1).all(|c| c.is_ascii_lowercase());
        let is_participle = name.ends_with("ed") && !NOUNS.contains(&name.as_str());
        is_one_word && (is_participle || IRREGULAR.contains(&name.as_str()))
    };
    let bare: Vec<String> = types().into_keys().filter(is_bare).collect();
    assert!(bare.is_empty(), "types that are called by a participle alone: {}", bare.join(", "));
}

#[test]
fn a_declaration_is_told_from_what_looks_like_one() {
    assert_eq!(declared("pub(crate) struct Run<'a> {"), Some("Run"));
    assert_eq!(declared("    enum Step {"), Some("Step"));
    assert_eq!(declared("pub type Result<T> = std::result::Result<T, Error>;"), Some("Result"));
    for other in ["    type Err = Error;", "// struct Run", "let type_name = 1;", "impl Run {", "struct_name"]
    {
        assert_eq!(declared(other), None, "{other}");
    }
}
