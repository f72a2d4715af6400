//! Files that a check runs, as far as its command says so: those that it names, and the one that a runner knows by its own name. What
//! cannot be told for certain is left out.

/// Runners that read a file of their own, whatever their arguments are.
const RUNNERS: [(&str, &[&str]); 10] = [
    ("bun", &["package.json"]),
    ("gmake", MAKEFILES),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("make", MAKEFILES),
    ("npm", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("rake", &["Rakefile", "rakefile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("tox", &["tox.ini"]),
    ("yarn", &["package.json"]),
];
const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];

/// Programs that look at what they name and run nothing of it: often at the work itself.
const LOOKING: [&str; 15] = [
    "[", "[[", "cat", "egrep", "fgrep", "file", "grep", "head", "jq", "ls", "rg", "stat", "tail", "test",
    "wc",
];

/// Those of the changed files that a command runs, in the order of the changed ones.
///
/// ```
/// use baton_core::check_files::run_by;
/// let changed = ["Makefile", "src/a.py", "tests/test_a.py"];
/// assert_eq!(run_by("pytest -q tests/test_a.py::test_one", changed), ["tests/test_a.py"]);
/// assert_eq!(run_by("make test", changed), ["Makefile"]);
/// assert!(run_by("cargo test", changed).is_empty());
/// ```
pub fn run_by<'c>(command: &str, changed: impl IntoIterator<Item = &'c str>) -> Vec<&'c str> {
    let mut named: Vec<String> = Vec::new();
    let mut folder = String::new();
    for call in command.split([';', '|', '&', '\n', '(', ')', '<', '>']) {
        let mut words =
            call.split_whitespace().map(plain).skip_while(|word| *word == "!" || is_assignment(word));
        let Some(program) = words.next() else { continue };
        if program == "cd" {
            match (words.next().filter(|below| is_folder_below(below)), words.next()) {
                (Some(below), None) if !command.contains(')') => {
                    folder = format!("{folder}{}/", below.trim_end_matches('/'))
                }
                // From here on paths begin elsewhere.
                _ => break,
            }
            continue;
        }
        let own = RUNNERS.iter().filter(|(runner, _)| *runner == program);
        let own = own.flat_map(|(_, files)| files.iter().copied());
        let read = words.filter(|_| !LOOKING.contains(&program));
        named.extend(own.chain([program]).chain(read).map(|file| format!("{folder}{file}")));
    }
    changed.into_iter().filter(|file| named.iter().any(|one| one == file)).collect()
}

/// A folder below this one that is named as it is.
fn is_folder_below(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@');
    !word.starts_with(['/', '-'])
        && word.chars().all(is_plain)
        && !word.split('/').any(|part| matches!(part, "." | ".."))
}

/// A word without quotes, the part of a file that it names, and the folder that it begins in.
fn plain(word: &str) -> &str {
    let word = word.trim_matches(['"', '\'']);
    let word = word.split_once("::").map_or(word, |(file, _)| file);
    word.strip_prefix("./").unwrap_or(word)
}

/// `CI=1` before a program.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_command_names_for_certain_is_run_by_it() {
        let all = ["Makefile", "a/b.sh", "check.sh", "package.json", "src/lib.rs", "tests/t.py", "tox.ini"];
        let of = |command: &str| run_by(command, all);
        assert_eq!(of("sh check.sh"), ["check.sh"]);
        assert_eq!(of("CI=1 ./check.sh --fast && python \"tests/t.py\""), ["check.sh", "tests/t.py"]);
        assert_eq!(of("make -j4 test; npm test"), ["Makefile", "package.json"]);
        assert_eq!(of("tox"), ["tox.ini"]);
        assert_eq!(of("test -s src/lib.rs && ! grep -q TODO src/lib.rs && sh check.sh"), ["check.sh"]);
        assert_eq!(of("cd a && sh b.sh"), ["a/b.sh"]);
        assert_eq!(of("make && cd tests/ && python t.py"), ["Makefile", "tests/t.py"]);
        // `make` as an argument, another folder, and what a runner finds by itself are not certain.
        for other in [
            "echo make",
            "cd a && sh check.sh",
            "(cd a) && sh b.sh",
            "cd ../a && sh b.sh",
            "cd $A && sh check.sh",
            "cargo test",
            "pytest tests",
            "sh other/check.sh",
            "",
        ] {
            assert!(of(other).is_empty(), "{other}");
        }
    }
}
