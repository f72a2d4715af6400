//! The files of an objective that is one sentence: the paths between backticks that must exist when it is done. Guesses little:
//! files that are only read, or removed, do not count.

use std::collections::BTreeSet;
use std::path::Path;

/// Extensions by which a word in a code span is a file even without a folder before it.
const ENDINGS: [&str; 45] = [
    "c", "cc", "cfg", "cpp", "cs", "css", "csv", "dart", "ex", "exs", "go", "h", "hpp", "hs", "html", "ini",
    "java", "js", "json", "jsx", "kt", "lock", "lua", "md", "mjs", "ml", "nix", "org", "php", "pl", "proto",
    "py", "rb", "rs", "rst", "scala", "sh", "sql", "swift", "tex", "toml", "ts", "tsx", "txt", "yaml",
];
/// Words before a path that is only read.
const READ_WORDS: [&str; 17] = [
    "against",
    "by",
    "following",
    "follow",
    "from",
    "like",
    "of",
    "per",
    "read",
    "reads",
    "see",
    "than",
    "under",
    "using",
    "via",
    "with",
    "without",
];
/// First words of an objective whose paths are gone when it is done.
const REMOVAL_VERBS: [&str; 5] = ["delete", "deletes", "drop", "remove", "removes"];
/// First words of an objective whose first path is gone when it is done.
const MOVE_VERBS: [&str; 6] = ["extract", "move", "moves", "rename", "renames", "replace"];
/// Words before the place that something is moved to.
const DESTINATION_WORDS: [&str; 3] = ["as", "into", "to"];

/// The paths between backticks of a sentence that must be there when it is done, each once: "Write `src/a.rs` like `b.rs`" means `src/a.rs`.
pub fn expected_files_in(sentence: &str) -> Vec<String> {
    let mut before = String::new();
    let mut spans = Vec::new();
    let mut pieces = sentence.split('`').peekable();
    while let Some(outside) = pieces.next() {
        before.push_str(outside);
        // A last backtick without a closing one opens nothing.
        if let Some(inside) = pieces.next().filter(|_| pieces.peek().is_some()) {
            spans.push((before.clone(), inside));
            before.push_str(inside);
        }
    }
    expected_files_in_spans(sentence, spans.iter().map(|(before, span)| (before.as_str(), *span)))
}

/// The same if the code spans are known, each with the text before it.
pub fn expected_files_in_spans<'a>(
    sentence: &str,
    spans: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Vec<String> {
    let first = sentence.split_whitespace().next().unwrap_or_default().to_lowercase();
    if REMOVAL_VERBS.contains(&first.as_str()) {
        return Vec::new();
    }
    let moves = MOVE_VERBS.contains(&first.as_str());
    let (mut files, mut known) = (Vec::new(), BTreeSet::new());
    for (before, span) in spans {
        let word = before.split_whitespace().next_back().unwrap_or_default();
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let is_meant = if moves {
            DESTINATION_WORDS.contains(&word.as_str())
        } else {
            !READ_WORDS.contains(&word.as_str())
        };
        let path = span.trim().trim_start_matches("./");
        if is_meant && is_file(path) && known.insert(path) {
            files.push(path.to_owned());
        }
    }
    files
}

/// Whether a word can only be a file of the workspace.
fn is_file(word: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    let parts_are_plain = word.split('/').all(|part| !matches!(part, "" | "." | ".." | ".git" | ".baton"));
    if word.is_empty() || !word.chars().all(plain) || !parts_are_plain {
        return false;
    }
    let Some(ending) = Path::new(word).extension().and_then(|ending| ending.to_str()) else { return false };
    let starts_well = ending.starts_with(|c: char| c.is_ascii_alphabetic());
    match word.contains('/') {
        true => starts_well && ending.len() <= 8,
        false => ENDINGS.contains(&ending) || ending == "yml",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_what_must_be_there_afterwards() {
        for (sentence, files) in [
            ("Write `src/b.txt`", "src/b.txt"),
            ("write `./a.rs` and `docs/b.md`, then `a.rs` again", "a.rs docs/b.md"),
            ("Write `a.rs` like `b.rs`", "a.rs"),
            ("Delete `a.rs`", ""),
            ("Move `a.rs` to `src/a.rs`", "src/a.rs"),
            ("Run `cargo test` until `x.len` is `../a.rs`", ""),
            ("Write a.rs", ""),
            ("Write `a.rs", ""),
            ("Write `a.rs` and `b.rs", "a.rs"),
            ("`a.rs`", "a.rs"),
            ("", ""),
        ] {
            assert_eq!(expected_files_in(sentence).join(" "), files, "{sentence}");
        }
    }

    #[test]
    fn only_what_can_be_a_file_is_one() {
        for yes in ["src/a.rs", "README.md", "a/b.c/d.weird", "Cargo.toml", ".github/workflows/ci.yml"] {
            assert!(is_file(yes), "{yes}");
        }
        for no in [
            "and/or",
            "self.name",
            "a b.rs",
            "../x.rs",
            "/etc/x.conf",
            "src/",
            "v1.2",
            "src/*.rs",
            "f()",
            ".git/config.x",
        ] {
            assert!(!is_file(no), "{no}");
        }
    }
}
