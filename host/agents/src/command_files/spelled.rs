//! What a command names when its words are read as a shell reads them: patterns, folders whose files are run one by one, folders of programs
//! and modules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use baton_core::shell_words::commands_of;

use super::{CommandFiles, ENTRIES_MAX, LAUNCHERS, PLACES_MAX, is_interpreter, name_in, normalized};

/// Programs beside launchers and interpreters that run a file.
const SCRIPT_PROGRAMS: [&str; 8] = [".", "eval", "exec", "perl", "php", "ruby", "run-parts", "source"];
/// Behind one of these stands what is run with each of several names.
const FOR_EACH: [&str; 7] = ["-exec", "-execdir", "-ok", "-okdir", "do", "parallel", "xargs"];
/// Programs that name what is in a folder.
const LISTERS: [&str; 4] = ["fd", "find", "ls", "tree"];
/// Runs each file of a folder.
const RUN_PARTS: &str = "run-parts";
/// The variable with the folders that programs are taken from.
pub(super) const PROGRAM_FOLDERS: &[&str] = &["PATH"];
/// Variables with folders that modules are taken from: often the work itself.
pub(super) const MODULE_FOLDERS: &[&str] = &["NODE_PATH", "PERL5LIB", "PERLLIB", "PYTHONPATH", "RUBYLIB"];
/// Folders of such variables of which more are not followed.
const LISTED_MAX: usize = 16;
/// Patterns and folders of which more are not followed, each.
const FOLLOWED_MAX: usize = 64;
/// Options of Python without a value, which can stand before another one in the same word.
const PYTHON_FLAGS: &str = "bBdEhiIOPqsSuvVx?";
/// Modules that the code in a command names, of which more are not followed.
const MODULES_MAX: usize = 64;

/// A command, and those in its words.
pub(super) struct SpelledCommand {
    /// Each with its program first, the whole one as the first of them.
    pub(super) commands: Vec<Vec<String>>,
    /// How many of the commands stand before one that runs what they name.
    run_over: usize,
}

/// Patterns and folders of a command.
#[derive(Default)]
struct RunOver<'c> {
    /// Each with whether a program has it as what it runs.
    patterns: BTreeSet<(&'c str, bool)>,
    folders: BTreeSet<&'c str>,
}

impl SpelledCommand {
    pub(super) fn of(command: &[String], workspace: &Path, home: Option<&str>) -> Self {
        let workspace = workspace.to_string_lossy().into_owned();
        let mut commands = vec![Vec::new()];
        for word in command {
            let mut inner = commands_of(word, &workspace, home);
            match inner.as_mut_slice() {
                [single] if single.len() == 1 => commands[0].append(single),
                _ => {
                    commands[0].push(word.clone());
                    commands.append(&mut inner);
                }
            }
        }
        let is_over = |at: &usize| runs_given(&commands[*at], *at > 0, &workspace);
        let run_over = (0..commands.len()).rev().find(is_over).map_or(0, |at| at + 1);
        Self { commands, run_over }
    }

    pub(super) fn words(&self) -> Vec<String> {
        self.commands.iter().flatten().cloned().collect()
    }

    /// Folders that these variables of it name, from these places.
    pub(super) fn listed_folders(&self, variables: &[&str], places: &[PathBuf]) -> Vec<PathBuf> {
        let values = self.commands.iter().flatten().filter_map(|word| word.split_once('='));
        let values =
            values.filter(|(name, _)| variables.contains(name)).flat_map(|(_, list)| list.split(':'));
        let values = values.filter(|folder| !folder.is_empty() && !folder.contains(is_of_pattern));
        let at =
            values.take(LISTED_MAX).flat_map(|folder| places.iter().map(move |place| place.join(folder)));
        at.map(|folder| normalized(&folder)).take(PLACES_MAX).collect()
    }

    /// Patterns of files that it runs, and folders of which it runs the files.
    fn run_patterns(&self) -> RunOver<'_> {
        let mut found = RunOver::default();
        for (at, words) in self.commands.iter().enumerate() {
            let is_over = at < self.run_over;
            let mut starter = "";
            for (n, word) in words.iter().map(String::as_str).enumerate() {
                let is_own = n == 0 || is_starter(starter);
                let is_pattern = word.contains(is_of_pattern) && !word.starts_with('-');
                if is_pattern && (is_over || is_own) && found.patterns.len() < FOLLOWED_MAX {
                    found.patterns.insert((word, is_own));
                }
                let is_option = word.starts_with('-');
                let is_of_lister = is_over && LISTERS.contains(&starter) || starter == RUN_PARTS;
                if is_of_lister && !is_option {
                    if found.folders.len() < FOLLOWED_MAX {
                        found.folders.insert(word);
                    }
                    continue;
                }
                if !is_option && !is_number(word) {
                    starter = name_in(word);
                }
            }
        }
        found
    }
}

impl CommandFiles {
    /// What a command takes of folders that it names: all of what is in them. A folder that it starts in is the work, of which only the files
    /// of a pattern count.
    pub(super) fn add_spelled(&mut self, spelled: &SpelledCommand, places: &[PathBuf], workspace: &Path) {
        let listed = spelled.listed_folders(PROGRAM_FOLDERS, places);
        let RunOver { patterns, folders } = spelled.run_patterns();
        let is_work = |folder: &Path| {
            folder == workspace || places.iter().any(|place| place == folder && !listed.contains(place))
        };
        for folder in listed.iter().filter(|folder| !is_work(folder)) {
            self.add_entry(folder.clone(), workspace);
        }
        for place in places {
            for folder in folders.iter().map(|folder| normalized(&place.join(folder))) {
                if folder.is_dir() && !is_work(&folder) {
                    self.add_entry(folder, workspace);
                }
            }
            for (pattern, is_own) in &patterns {
                let at = pattern.find(is_of_pattern).unwrap_or(pattern.len());
                let (above, name) = pattern.split_at(pattern[..at].rfind('/').map_or(0, |at| at + 1));
                let folder = normalized(&place.join(above));
                if !is_work(&folder) {
                    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
                    if folder.is_dir() || *is_own && above.chars().all(is_plain) {
                        self.add_entry(folder, workspace);
                    }
                    continue;
                }
                let begin = &name[..name.find(is_of_pattern).unwrap_or_default()];
                let end = name.rfind(is_of_pattern).map_or("", |at| &name[at + 1..]);
                let entries = fs::read_dir(&folder).into_iter().flatten().flatten().take(ENTRIES_MAX);
                for entry in entries.filter(|_| !name.contains('/')) {
                    let name = entry.file_name();
                    if name.to_str().is_some_and(|name| name.starts_with(begin) && name.ends_with(end)) {
                        self.add_file(entry.path(), workspace);
                    }
                }
            }
        }
    }
}

/// What stands in a word of short options of Python behind this one: nothing if its value is the next word.
pub(super) fn python_option(word: &str, option: char) -> Option<&str> {
    let flags = word.strip_prefix('-')?;
    flags.trim_start_matches(|c| PYTHON_FLAGS.contains(c)).strip_prefix(option)
}

/// The modules that code of Python names.
pub(super) fn modules_in_code(code: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for line in code.split([';', '\n', ':']) {
        let is_between = |c: char| c.is_whitespace() || ",()".contains(c);
        let mut words = line.split(is_between).filter(|word| !word.is_empty());
        let package = match words.next() {
            Some("import") => None,
            Some("from") => words.next(),
            _ => continue,
        };
        modules.extend(package.map(str::to_owned));
        let mut is_name = true;
        for word in words.filter(|word| *word != "import") {
            match word {
                "as" => is_name = false,
                _ if !is_name => is_name = true,
                _ => modules
                    .push(package.map_or_else(|| word.to_owned(), |package| format!("{package}.{word}"))),
            }
        }
    }
    let is_part = |c: char| c.is_alphanumeric() || "._".contains(c);
    modules.retain(|module| module.chars().all(is_part));
    modules.truncate(MODULES_MAX);
    modules
}

fn is_of_pattern(c: char) -> bool {
    "*?[]".contains(c)
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

fn is_starter(name: &str) -> bool {
    LAUNCHERS.contains(&name) || SCRIPT_PROGRAMS.contains(&name) || is_interpreter(name)
}

/// Whether a command runs what others name: `xargs sh`, `-exec sh {}`, `do sh $f`, and a shell alone behind a pipe.
fn runs_given(words: &[String], is_behind: bool, workspace: &str) -> bool {
    let is_plain = |word: &&String| !word.starts_with('-') && !is_number(word);
    // A variable that is not known, or what stands for a name.
    let is_given =
        |word: &str| word.starts_with(workspace) || word.contains(['*', '{']) || ";+".contains(word);
    let is_one_of = |words: &[String], n: usize| match words.get(n..) {
        Some([starter, rest @ ..]) if is_starter(name_in(starter)) => {
            rest.iter().any(|word| word == "-c")
                || rest.iter().find(is_plain).is_none_or(|word| is_given(word))
        }
        _ => false,
    };
    if is_behind && !words.is_empty() && words[1..].iter().all(|word| word.starts_with('-')) {
        return is_one_of(words, 0);
    }
    let Some(at) = words.iter().position(|word| FOR_EACH.contains(&name_in(word))) else { return false };
    let given = &words[at + 1..];
    let is_first = given.iter().find(is_plain).is_some_and(|word| word != ";" && is_given(word));
    // Few words of options, then the program.
    is_first || (0..given.len().min(16)).any(|n| is_one_of(given, n))
}
