//! The files that a document names. Guesses nothing: an ambiguous word ("and/or", a version, a URL) does not count, since a
//! wrong guess would refuse a good handoff.

/// Paths that are looked up for one document; a screen names far fewer.
pub const PATHS_NAMED: usize = 200;
/// People write no longer paths.
const PATH_BYTES: usize = 300;
/// Longest ending that counts as one of a file ("properties").
const ENDING_BYTES: usize = 12;
/// The host's branches for merges begin and end so: "baton/<run>/20.merge" is not a file.
const BRANCHES: &str = "baton/";
const MERGE: &str = ".merge";
/// Abbreviations that look like a name with an ending.
const NON_EXTENSIONS: [&str; 6] = ["e", "g", "com", "org", "net", "io"];
/// Endings that make a file of a name without a folder: `x.len` is a call, `parser.rs` is a file.
const FILE_EXTENSIONS: [&str; 52] = [
    "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "ex", "exs", "go", "gradle", "h", "hpp", "html",
    "ini", "ipynb", "java", "js", "json", "jsonl", "jsx", "kt", "lock", "log", "lua", "md", "mdx", "org",
    "pdf", "php", "png", "proto", "py", "rb", "rs", "scala", "scss", "sh", "sql", "svelte", "svg", "swift",
    "tex", "toml", "ts", "tsx", "txt", "vue", "wit", "xml", "yaml",
];
/// The word before the name of a file.
const FILE: &str = "file:";
/// Characters around a path in prose and in Markdown.
const PATH_DELIMITERS: &[char] = &[
    '`', '"', '\'', '(', ')', '[', ']', '<', '>', '{', '}', ',', ';', '*', '|', '“', '”', '‘', '’', '«', '»',
];

/// The paths, workspace-relative, in the order of their occurrence, each once. A path has a folder and an extension
/// (`src/a.rs`), or has only an extension and is marked as a path: between backticks (`README.md`) or after "File:".
pub fn extract_paths(document: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut take = |word: &str, quoted: bool| {
        if let Some(path) = path(word, quoted)
            && found.len() < PATHS_NAMED
            && !found.iter().any(|known| known == path)
        {
            found.push(path.to_owned());
        }
    };
    for line in document.lines() {
        // Text between backticks may be a path with spaces; the rest is read word by word.
        for (n, piece) in line.split('`').enumerate() {
            let quoted = n % 2 == 1;
            if quoted
                && piece.contains(' ')
                && piece.contains('/')
                && !piece.contains("  ")
                && is_spaced(piece)
            {
                take(piece, true);
                continue;
            }
            let mut before = "";
            for word in piece.split_whitespace() {
                take(word, quoted || before.eq_ignore_ascii_case(FILE));
                before = word;
            }
        }
    }
    found
}

/// "docs/my notes.md": every part is made of words, and only the last has an ending.
fn is_spaced(piece: &str) -> bool {
    piece.split('/').all(|part| !part.trim().is_empty() && !part.starts_with('-'))
        && piece.split_whitespace().filter(|word| has_extension(word)).count() == 1
        && !piece.contains(['=', '$', '|', '&', ';', '>', '<'])
}

/// The path in a word, if it is one.
fn path(word: &str, quoted: bool) -> Option<&str> {
    if word.contains("()") {
        return None;
    }
    let word = word
        .trim_matches(PATH_DELIMITERS)
        .trim_end_matches(['.', ':', '!', '?', '…'])
        .trim_matches(PATH_DELIMITERS);
    // "src/a.rs:40:9", "src/a.rs#L40"
    let word = word.split('#').next().unwrap_or(word);
    let word = word.split_once(':').map_or(word, |(path, _)| path);
    let word = word.strip_prefix("./").unwrap_or(word);
    let plain = word.len() <= PATH_BYTES
        && !word.starts_with(['/', '~', '-', '$', '@'])
        && !is_branch(word)
        && !word.contains("//")
        && !word.contains(['*', '?', '$', '\\', '=', '%', '{', '}', '<', '>', '|', '"', '`', ','])
        && !word.split('/').any(|part| part.is_empty() || part == ".." || part == ".");
    let (first, last) = (word.split('/').next()?, word.rsplit('/').next()?);
    let in_folder = word.contains('/') && !is_host(first);
    let known =
        || quoted && last.rsplit_once('.').is_some_and(|(_, ending)| FILE_EXTENSIONS.contains(&ending));
    let is_file = if word.contains('/') { in_folder } else { known() };
    (plain && has_extension(last) && is_file).then_some(word)
}

fn is_branch(word: &str) -> bool {
    word.starts_with(BRANCHES) && word.ends_with(MERGE)
}

/// "a.rs", ".gitignore.md"; no "1.2", "e.g", ".env".
fn has_extension(name: &str) -> bool {
    let name = name.trim_matches(PATH_DELIMITERS);
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    !stem.is_empty()
        && (1..=ENDING_BYTES).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
        && stem.bytes().any(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80)
        && !(stem.len() <= 3 && NON_EXTENSIONS.contains(&ending))
}

/// "example.com" before a slash is a place in the net.
fn is_host(first: &str) -> bool {
    let ending = first.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending);
    ending.is_some_and(|ending| ["com", "org", "net", "io", "dev", "rs", "ai"].contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_however_they_are_written() {
        // C8
        let text = "- file: src/lexer.rs (5210 bytes)\n1. See `docs/plan.md`, (tests/a_b.test.ts) and \"lib/x.c\".\n\
                    error at src/parser.rs:40:9; ./conf/app.yaml#L3\n`README.md` `docs/my notes.md` `a/b.tar.gz`\n\
                    - agent: File: \"cases.txt\", Location: line 2 \n";
        assert_eq!(
            extract_paths(text),
            [
                "src/lexer.rs",
                "docs/plan.md",
                "tests/a_b.test.ts",
                "lib/x.c",
                "src/parser.rs",
                "conf/app.yaml",
                "README.md",
                "docs/my notes.md",
                "a/b.tar.gz",
                "cases.txt"
            ]
        );
    }

    #[test]
    fn what_only_looks_like_a_file_is_none() {
        let text = "and/or read/write 1/3 v1.2/v1.3 e.g./i.e. https://example.com/a.html example.com/a.html 24/7 \
                    /etc/passwd.txt ../up.rs a/*.rs src/{a,b}.rs `cargo test` `x.len()` `x.len` `Vec<u8>` README.md $HOME/a.sh 12:30 Node.js:18 host.lan:8080 \
                    `run a/b.sh --flag x/y.txt` main/feature 2026/02/12 `a.b.c()` std::fs/a `foo == 1.5` crate::x::y baton/2026-11-23-a/20.merge";
        assert_eq!(extract_paths(text), ["a/b.sh", "x/y.txt"]);
    }

    #[test]
    fn the_list_is_bounded() {
        let text: String = (0..1_000).map(|n| format!("a/b{n}.rs ")).collect();
        assert_eq!(extract_paths(&text).len(), PATHS_NAMED);
        assert!(extract_paths(&format!("a/{}.rs", "x".repeat(9_000))).is_empty());
    }
}
