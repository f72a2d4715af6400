//! Holds the documents and comments to what they promise: README stays short, every link leads somewhere, every path, step and intent
//! that they name exists, and the language is plain. Runs nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What README may have, in bytes.
const README_BYTES_MAX: usize = 8192;

/// What CONTRIBUTING may have, in bytes.
const CONTRIBUTING_BYTES_MAX: usize = 6144;

/// Words that hide who acts, or that no reader expects.
const NOT_OUR_WORDS: [&str; 9] =
    ["whoever", "nobody", "somebody", "anew", "of then", "so many", "for ever", "is told", "is no"];

/// Files in comments that are examples of what a plan or an agent names.
const EXAMPLE_FILES: [&str; 3] = ["parser.rs", "src/a.rs", "b.rs"];

/// Names in ARCHITECTURE.md that look like steps of a phase, and are types.
const TYPES_LIKE_STEPS: [&str; 6] =
    ["PhaseStep", "EvidenceKind", "ScheduleState", "Censoring", "GivenSetting", "PolicyBinding"];

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

/// The comments of a source: the number of each line, and what stands behind its slashes.
fn comments(source: &str) -> impl Iterator<Item = (usize, &str)> {
    source.lines().enumerate().filter_map(|(index, line)| {
        let comment = match line.trim_start().strip_prefix("//") {
            Some(comment) => comment,
            None => line.split_once(" // ")?.1,
        };
        Some((index + 1, comment.trim_start_matches(['/', '!']).trim()))
    })
}

/// Files that the comments of a source name: with the ending `.rs` anywhere, with or without it in the first column of a table of files.
fn named_files(source: &str) -> Vec<(usize, &str)> {
    let is_path = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric()) && !name.contains(|c: char| !is_of_path(c))
    };
    let mut found = Vec::new();
    let mut is_table_of_files = None;
    for (line, comment) in comments(source) {
        let cell = comment.strip_prefix('|').and_then(|row| row.split('|').next());
        is_table_of_files = cell.map(|cell| is_table_of_files.unwrap_or(cell.trim() == "file"));
        let (text, ending) = match (cell, is_table_of_files) {
            (Some(cell), Some(true)) => (cell, ""),
            _ => (comment, ".rs"),
        };
        let names = between(text, "`", "`").filter(is_path).filter(|name| name.ends_with(ending));
        found.extend(names.map(|name| (line, name)));
    }
    found
}

fn is_of_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/._-".contains(c)
}

/// Whether a name in a comment of this source is a file or folder below the folder of its module, of a module above, of its crate, or of
/// the workspace.
fn is_there(source: &Path, name: &str) -> bool {
    let root = root();
    let below_root = source.strip_prefix(&root).expect("it lies in the workspace");
    let folders = below_root.ancestors().skip(1).flat_map(|folder| [folder.to_owned(), folder.join("src")]);
    folders
        .chain([below_root.with_extension(""), PathBuf::from("host")])
        .map(|folder| root.join(folder).join(name))
        .any(|path| path.exists() || path.with_extension("rs").is_file())
}

#[test]
fn every_file_that_a_comment_names_exists() {
    let mut seen = 0;
    let mut missing = Vec::new();
    for path in sources() {
        for (line, name) in named_files(&read(&path)) {
            seen += 1;
            if !EXAMPLE_FILES.contains(&name) && !is_there(&path, name) {
                missing.push(format!("{}:{line}: {name}", path.display()));
            }
        }
    }
    assert!(missing.is_empty(), "comments name what does not exist:\n{}", missing.join("\n"));
    assert!(seen > 200, "only {seen} files were found");
}

#[test]
fn every_module_of_a_run_is_in_its_table() {
    let source = read(&root().join("host/core/src/run.rs"));
    let named: BTreeSet<&str> = named_files(&source).into_iter().map(|(_, name)| name).collect();
    let modules = source.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let missing: Vec<&str> = modules
        .filter(|module| *module != "tests" && !named.contains(format!("run/{module}.rs").as_str()))
        .collect();
    assert!(missing.is_empty(), "the table in run.rs lacks {}", missing.join(", "));
}

/// The letters and digits that a text begins with.
fn word(text: &str) -> &str {
    text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default()
}

/// The variants of an enum.
fn variants<'a>(source: &'a str, name: &str) -> BTreeSet<&'a str> {
    let start = source.find(&format!("enum {name} {{")).unwrap_or_else(|| panic!("no enum {name}"));
    let body = source[start..].split("\n}").next().unwrap_or_default();
    let names = body.lines().filter_map(|line| line.strip_prefix("    ")).map(word);
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase())).collect()
}

fn steps_source() -> String {
    read(&root().join("host/core/src/run/step.rs"))
}

#[test]
fn architecture_names_the_steps_of_a_phase_as_the_code_does() {
    let (source, page) = (steps_source(), read(&root().join("ARCHITECTURE.md")));
    let steps = variants(&source, "PhaseStep");
    let section =
        between(&page, "\n## State machine of a run\n", "\n## ").next().expect("it has the section");
    let is_name = |name: &&str| {
        word(name) == *name && name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
    };
    let diagram = fences(section).swap_remove(0).text;
    let mut named: BTreeSet<&str> = diagram.split(|c: char| !c.is_alphanumeric()).filter(is_name).collect();
    let text = prose(section);
    named.extend(between(&text, "`", "`").filter(is_name));
    let missing: Vec<_> = steps.difference(&named).collect();
    assert!(missing.is_empty(), "the section does not name {missing:?}");

    // In other sections there are names of other kinds.
    let text = prose(&page);
    named.extend(between(&text, "`", "`").filter(is_name).filter(|name| name.ends_with("ing")));
    let unknown: Vec<_> = named.difference(&steps).filter(|name| !TYPES_LIKE_STEPS.contains(name)).collect();
    assert!(unknown.is_empty(), "no steps: {unknown:?}");
}

#[test]
fn every_function_that_a_step_names_exists() {
    let source = steps_source();
    let steps = variants(&source, "PhaseStep");
    let told = source.lines().filter(|line| line.trim_start().starts_with("/// Set by `")).count();
    assert_eq!(told, steps.len(), "each step says where it is set");
    let mut missing = Vec::new();
    for (_, comment) in comments(&source) {
        for name in between(comment, "`", "`") {
            let Some((module, function)) = name.split_once("::") else { continue };
            if module.starts_with(char::is_uppercase) {
                continue;
            }
            let file = read(&root().join(format!("host/core/src/run/{module}.rs")));
            if !file.contains(&format!("fn {function}(")) {
                missing.push(name);
            }
        }
    }
    assert!(missing.is_empty(), "step.rs names functions that do not exist: {}", missing.join(", "));
}

#[test]
fn every_durable_intent_is_in_the_table_of_recovery() {
    let source = read(&root().join("host/core/src/action.rs"));
    let not_durable = between(&source, "pub fn is_durable", "\n    }").next().expect("it has the function");
    let not_durable: BTreeSet<&str> = not_durable.split("Action::").skip(1).map(word).collect();
    let mut durable = variants(&source, "Action");
    durable.retain(|name| !not_durable.contains(name));
    let recovery = read(&root().join("host/runtime/src/recovery.rs"));
    let rows = comments(&recovery).filter_map(|(_, comment)| comment.strip_prefix('|')?.split('|').next());
    let told: BTreeSet<&str> =
        rows.flat_map(|cell| between(cell, "`", "`")).filter(|n| word(n) == *n).collect();
    let told: BTreeSet<&str> = told.into_iter().filter(|name| !name.is_empty()).collect();
    assert_eq!(told, durable);
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
