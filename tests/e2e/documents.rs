//! Holds the documents to what they promise: README stays short, every link leads somewhere, every path that ARCHITECTURE.md names
//! exists, and the language is plain. Runs nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What README may have, in bytes.
const README_BYTES_MAX: usize = 8192;

/// What CONTRIBUTING may have, in bytes.
const CONTRIBUTING_BYTES_MAX: usize = 6144;

/// Words that hide who acts, or that no reader expects.
const NOT_OUR_WORDS: [&str; 9] =
    ["whoever", "nobody", "somebody", "anew", "of then", "so many", "for ever", "is told", "is no"];

/// A block of code.
pub(crate) struct CodeFence {
    /// The word behind the first three backticks.
    pub(crate) language: String,
    /// The lines between the fences.
    pub(crate) text: String,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace exists")
}

/// Every Rust source of the workspace. What was built, crates of tests among it, is left out.
pub(crate) fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting: Vec<PathBuf> =
        ["host", "sdk", "policies", "tests"].map(|folder| root().join(folder)).to_vec();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            if !path.ends_with("target") {
                let entries = std::fs::read_dir(&path).expect("a folder of the workspace can be read");
                waiting.extend(entries.map(|entry| entry.expect("an entry can be read").path()));
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// README and every guide and page of the reference.
pub(crate) fn pages() -> Vec<PathBuf> {
    let docs = root().join("host/cli/docs");
    let mut found = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    for folder in [docs.clone(), docs.join("reference")] {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        found.extend(entries.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    found.sort();
    found
}

/// The blocks of code of a page.
pub(crate) fn fences(page: &str) -> Vec<CodeFence> {
    let mut found: Vec<CodeFence> = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            is_inside = !is_inside;
            if is_inside {
                found.push(CodeFence { language: language.trim().to_owned(), text: String::new() });
            }
        } else if let (true, Some(fence)) = (is_inside, found.last_mut()) {
            fence.text.push_str(line);
            fence.text.push('\n');
        }
    }
    found
}

/// The lines of a page that are not code.
fn prose(page: &str) -> String {
    let mut is_inside = false;
    let mut text = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_inside = !is_inside;
        } else if !is_inside {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Parts of a text between two marks.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(open).skip(1).filter_map(move |part| part.split(close).next())
}

/// The anchor that a heading gets: lower case, words joined by hyphens, marks left out.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

fn anchors(page: &str) -> BTreeSet<String> {
    let text = prose(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

#[test]
fn readme_and_contributing_stay_short() {
    for (name, most) in [("README.md", README_BYTES_MAX), ("CONTRIBUTING.md", CONTRIBUTING_BYTES_MAX)] {
        let bytes = read(&root().join(name)).len();
        assert!(bytes <= most, "{name} has {bytes} bytes; {most} is the limit");
    }
}

#[test]
fn readme_shows_the_two_commands() {
    let readme = read(&root().join("README.md"));
    let shown = "\ncargo run --release -- run host/cli/examples/quickstart.toml\ncargo test --workspace\n";
    assert!(readme.contains(shown), "README does not show:{shown}");
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_exist() {
    let mut seen = 0;
    let mut faults = Vec::new();
    for page in pages() {
        let text = read(&page);
        let folder = page.parent().unwrap();
        for target in between(&prose(&text), "](", ")") {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (path, heading) =
                target.split_once('#').map_or((target, None), |(path, to)| (path, Some(to)));
            let file = if path.is_empty() { page.clone() } else { folder.join(path) };
            if !file.exists() {
                faults.push(format!("{}: {target} leads to no file", page.display()));
            } else if heading.is_some_and(|heading| !anchors(&read(&file)).contains(heading)) {
                faults.push(format!("{}: {target} leads to no heading", page.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(seen > 60, "only {seen} links were found");
}

#[test]
fn every_path_that_architecture_names_exists() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let is_path = |path: &&str| {
        path.contains('/') && path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
    };
    let mut seen = 0;
    let mut missing = Vec::new();
    for path in between(&prose(&text), "`", "`").filter(is_path) {
        let folder = path.split('/').next().unwrap_or_default();
        // Most paths of the page begin below `host/`.
        let mut bases = ["", "host"].map(|base| root().join(base)).into_iter();
        let Some(base) = bases.find(|base| !folder.is_empty() && base.join(folder).is_dir()) else {
            continue;
        };
        seen += 1;
        if !base.join(path).exists() {
            missing.push(path.to_owned());
        }
    }
    assert!(missing.is_empty(), "ARCHITECTURE.md names what does not exist: {}", missing.join(", "));
    assert!(seen > 100, "only {seen} paths were found");
}

#[test]
fn the_language_of_the_documents_is_plain() {
    let mut faults = Vec::new();
    // What is generated has the words of its source.
    let by_hand = |page: &PathBuf| !read(page).contains("<!-- Generated.");
    for page in pages().into_iter().filter(by_hand) {
        // Words may be broken over two lines, and end with a mark.
        let text = prose(&read(&page)).to_lowercase().replace(|c: char| !c.is_alphanumeric(), " ");
        let words = format!(" {} ", text.split_whitespace().collect::<Vec<_>>().join(" "));
        for word in NOT_OUR_WORDS {
            if words.contains(&format!(" {word} ")) {
                faults.push(format!("{} says \"{word}\"", page.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The ids that a comment begins with: "A5 C8", "B9, D8: whatever happens".
fn cited(line: &str) -> impl Iterator<Item = &str> {
    let comment = line.trim_start().strip_prefix("// ").unwrap_or_default();
    let is_id = |word: &&str| {
        let (letter, number) = word.split_at_checked(1).unwrap_or_default();
        "ABCDMN".contains(letter)
            && (1..=2).contains(&number.len())
            && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    comment.split_whitespace().map(|word| word.trim_end_matches([',', ':', '.'])).take_while(is_id)
}

#[test]
fn every_requirement_that_a_test_cites_is_in_the_table() {
    let table = read(&root().join("tests/requirements.md"));
    let known: BTreeSet<&str> = between(&table, "\n| ", " |").collect();
    let mut seen = BTreeSet::new();
    for path in sources() {
        for id in read(&path).lines().flat_map(cited) {
            assert!(known.contains(id), "{}: {id} is not in tests/requirements.md", path.display());
            seen.insert(id.to_owned());
        }
    }
    assert!(seen.len() > 50, "only {} ids were found", seen.len());
}
