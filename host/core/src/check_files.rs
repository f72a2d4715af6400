//! Files that a check runs, as far as its command names them: those in the command, and the one that a runner reads by default.
//! Uncertain files are left out.

use crate::shell_words::commands_of;
use crate::task_runners::runners_named;

/// Programs that read the files that they are given and run none of them: often the work itself.
const READ_ONLY_PROGRAMS: [&str; 15] = [
    "[", "[[", "cat", "egrep", "fgrep", "file", "grep", "head", "jq", "ls", "rg", "stat", "tail", "test",
    "wc",
];

/// Those of the changed files that a command runs, in the order of the changed ones.
///
/// ```
/// use baton_core::check_files::files_run_by;
/// let changed = ["Makefile", "src/a.py", "tests/test_a.py"];
/// assert_eq!(files_run_by("pytest -q tests/test_a.py::test_one", changed), ["tests/test_a.py"]);
/// assert_eq!(files_run_by("make test", changed), ["Makefile"]);
/// assert!(files_run_by("cargo test", changed).is_empty());
/// ```
pub fn files_run_by<'c>(command: &str, changed: impl IntoIterator<Item = &'c str>) -> Vec<&'c str> {
    let named = files_named_by(command);
    changed.into_iter().filter(|file| named.iter().any(|one| one == file)).collect()
}

/// Names of files that a command may run, among them words that are not files. No file with another name is run by it for certain.
pub fn files_named_by(command: &str) -> Vec<String> {
    const SEPARATORS: [char; 8] = [';', '|', '&', '\n', '(', ')', '<', '>'];
    let mut named: Vec<String> = Vec::new();
    // None if paths begin in another folder.
    let mut folder = Some(String::new());
    let mut outer = Vec::new();
    for call in command.split_inclusive(SEPARATORS) {
        let text = call.trim_end_matches(SEPARATORS);
        let words = text.split_whitespace().map(plain);
        let mut words = words.skip_while(|word| *word == "!" || is_assignment(word));
        match (words.next(), &folder) {
            (Some("cd"), Some(above)) => {
                let below = words.next().filter(|below| is_folder_below(below) && words.next().is_none());
                folder = below.map(|below| format!("{above}{}/", below.trim_end_matches('/')));
            }
            (Some(program), Some(folder)) => {
                let own = runners_named(program).flat_map(|runner| runner.task_files).copied();
                let read = words.filter(|_| !READ_ONLY_PROGRAMS.contains(&program));
                named.extend(own.chain([program]).chain(read).map(|file| format!("{folder}{file}")));
                let joined = joined_words(text);
                let mut joined = joined.iter().map(|word| plain(word));
                let joined_program = joined.find(|word| *word != "!" && !is_assignment(word));
                if let Some(program) = joined_program.filter(|name| !READ_ONLY_PROGRAMS.contains(name)) {
                    let all = [program].into_iter().chain(joined);
                    named.extend(all.map(|file| format!("{folder}{file}")));
                }
            }
            _ => {}
        }
        // A `cd` between brackets ends with them.
        match call.chars().next_back() {
            Some('(') => outer.push(folder.clone()),
            Some(')') => folder = outer.pop().unwrap_or(folder),
            _ => {}
        }
    }
    named
}

/// The words of a call that has quotes, as a shell joins them. None if a part of it is an expansion.
fn joined_words(call: &str) -> Vec<String> {
    let is_certain = !call.contains(['$', '`', '~', '*', '?', '[', '{', '}', '#']);
    match is_certain && call.contains(['"', '\'', '\\']) {
        true => commands_of(call, ".", None).into_iter().next().unwrap_or_default(),
        false => Vec::new(),
    }
}

/// A folder below this one, given by its literal name.
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
        let of = |command: &str| files_run_by(command, all);
        assert_eq!(of("sh check.sh"), ["check.sh"]);
        assert_eq!(of("CI=1 ./check.sh --fast && python \"tests/t.py\""), ["check.sh", "tests/t.py"]);
        assert_eq!(of("make -j4 test; npm test"), ["Makefile", "package.json"]);
        assert_eq!(of("tox"), ["tox.ini"]);
        assert_eq!(of("test -s src/lib.rs && ! grep -q TODO src/lib.rs && sh check.sh"), ["check.sh"]);
        assert_eq!(of("cd a && sh b.sh"), ["a/b.sh"]);
        assert_eq!(of("CI=1 sh ch\"eck\".sh; python tests\\/t.py"), ["check.sh", "tests/t.py"]);
        assert_eq!(files_run_by("cd a && sh 'my t.sh' x", ["my t.sh", "a/my t.sh"]), ["a/my t.sh"]);
        assert_eq!(of("(\ncd a # there\n) && (cd a && sh b.sh) && (sh check.sh)"), ["a/b.sh", "check.sh"]);
        assert_eq!(of("make && cd tests/ && python t.py"), ["Makefile", "tests/t.py"]);
        // `make` as an argument, another folder, and files that a runner finds by itself are not certain.
        for other in [
            "echo make",
            "cat \"check\".sh",
            "sh \"$A\"'check.sh'",
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
