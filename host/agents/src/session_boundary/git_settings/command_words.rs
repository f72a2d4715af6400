//! What a value of a setting names if it is a command (a filter, a driver, an alias): which settings have one, only git knows.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use baton_core::shell_words::{commands_of, words_of};
use baton_core::task_runners::runners_named;

use super::{GitSetting, HostEnvironment, path_of_setting};
use crate::command_files::{changes_folder, is_between_words, name_in};

/// Folders that the parts of a command start in, of which more are not followed.
const PLACES_MAX: usize = 16;
/// Modules of one command, of which more are not followed.
const MODULES_MAX: usize = 64;
/// Beginnings of the names of programs that run modules.
const PYTHONS: [&str; 2] = ["pypy", "python"];
/// What an interpreter runs by a name without it.
const ENDINGS: [&str; 4] = ["cjs", "js", "mjs", "py"];
/// What an interpreter runs of a folder.
const ENTRIES: [&str; 4] = ["__main__.py", "index.cjs", "index.js", "index.mjs"];
/// What Python takes for a module.
const MODULE_ENDINGS: [&str; 4] = ["abi3.so", "py", "pyc", "so"];
/// Task runners look for this file also for tasks that it does not define.
const PACKAGE_FILE: &str = "package.json";
/// Stands for a folder that is not known.
const NOWHERE: &str = "/dev/null";

/// Absolute paths of the files that a setting runs, including missing ones that would be run. `left` is the remaining number of
/// words to check, over all settings.
pub(super) fn run_by(
    setting: &GitSetting,
    root: &Path,
    environment: &HostEnvironment,
    left: &mut usize,
) -> Vec<PathBuf> {
    // Those of a branch are text, which may name any file of the work.
    if setting.key.starts_with("branch.") || *left == 0 {
        return Vec::new();
    }
    let value = setting.value.to_string_lossy();
    let commands = shell_commands(&value, &root.to_string_lossy(), environment);
    // The words as a shell splits them, and all other parts of the value as well.
    let all = commands.iter().flatten().map(String::as_str).chain(value.split(is_between_words));
    let all: Vec<&str> = all.filter(|word| !word.is_empty()).take(*left).collect();
    *left -= all.len();
    let places = places_of(&all, root);
    // A first word without a slash is a program on the path.
    let named = commands.iter().flat_map(|command| {
        command.iter().enumerate().filter(|(number, word)| *number > 0 || word.contains('/'))
    });
    let rough = value.split(is_between_words).filter(|word| !word.is_empty()).enumerate();
    let rough = rough.filter(|(number, word)| *number > 0 || word.contains('/'));
    let words = named.map(|(_, word)| word.as_str()).chain(rough.map(|(_, word)| word));
    let mut words: Vec<&str> = words.take(all.len()).collect();
    words.sort_unstable();
    words.dedup();
    let at_places = words.iter().flat_map(|word| {
        let word = Path::new(word.trim_start_matches('!'));
        places.iter().map(move |place| path_of_setting(place, word, environment))
    });
    let mut found: Vec<PathBuf> = at_places.flat_map(|path| files_at(&path)).collect();
    let modules: BTreeSet<&str> = modules_in(&all).collect();
    for place in &places {
        let module_at = |module: &&str| place.join(module.replace('.', "/"));
        let paths = modules.iter().take(MODULES_MAX).map(module_at);
        found.extend(paths.flat_map(|module| files_of_module(&module, place)));
    }
    if may_call_runners(setting, &value, environment) {
        found.extend(places.iter().flat_map(|place| files_of_runners(&all, place)));
    }
    found
}

/// Words of a command by which it names something with a whole path, as a shell joins them.
pub(super) fn whole_paths_in(command: &str, environment: &HostEnvironment) -> Vec<PathBuf> {
    let home = home_of(environment);
    let words = words_of(command, NOWHERE, home.as_deref());
    words.into_iter().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

fn home_of(environment: &HostEnvironment) -> Option<String> {
    Some(environment.get(OsStr::new("HOME"))?.to_str()?.to_owned())
}

fn shell_commands(value: &str, root: &str, environment: &HostEnvironment) -> Vec<Vec<String>> {
    commands_of(value.trim_start_matches('!'), root, home_of(environment).as_deref())
}

/// The folders that parts of a command start in: the work tree, and those that its words lead to.
fn places_of(words: &[&str], root: &Path) -> Vec<PathBuf> {
    let mut places = vec![root.to_owned()];
    let mut before = "";
    for word in words.iter().copied().filter(|word| !word.is_empty()) {
        let is_option = word.starts_with('-');
        let behind = (changes_folder(before) && !is_option).then_some(word);
        let glued = word.strip_prefix("-C").filter(|folder| !folder.is_empty());
        for folder in behind.into_iter().chain(glued) {
            let folders: Vec<PathBuf> = places.iter().map(|place| place.join(folder)).collect();
            let is_new = |at: &PathBuf| at.is_dir() && !places.contains(at);
            let new: Vec<PathBuf> = folders.into_iter().filter(is_new).collect();
            places.extend(new);
            places.truncate(PLACES_MAX);
        }
        // `cd -P folder`
        if !(is_option && matches!(before, "cd" | "pushd")) {
            before = word;
        }
    }
    places
}

/// The name of a program.
fn name_of(word: &str) -> &str {
    name_in(word.trim_start_matches('!'))
}

/// A file, or the files that an interpreter runs by this name.
fn files_at(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let beside = ENDINGS.iter().map(|ending| path.with_added_extension(ending));
    let within = ENTRIES.iter().map(|entry| path.join(entry));
    beside.chain(within).filter(|file| file.is_file()).collect()
}

/// Modules that Python is to run: `-m a.b`, `-ma.b`, `-um a.b`. For other programs (`commit -m`) these are other words.
fn modules_in<'w>(words: &'w [&'w str]) -> impl Iterator<Item = &'w str> {
    let is_python = |word: &&str| PYTHONS.iter().any(|name| name_of(word).starts_with(name));
    let words = if words.iter().any(is_python) { words } else { &[] };
    let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let behind = words.windows(2).filter(move |pair| is_short(pair[0]) && pair[0].ends_with('m'));
    let glued = words.iter().filter_map(|word| word.strip_prefix("-m"));
    let is_module = |name: &&str| {
        let is_plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
        name.split('.').all(is_plain)
    };
    behind.map(|pair| pair[1]).chain(glued).filter(is_module)
}

/// The files that Python runs for a module, whose path has no extension, and before it for each enclosing package, including
/// missing ones.
fn files_of_module(module: &Path, place: &Path) -> Vec<PathBuf> {
    let around = module.ancestors().take_while(|at| *at != place);
    let each = around.flat_map(|at| {
        let modules = MODULE_ENDINGS.iter().map(|ending| at.with_added_extension(ending));
        modules.chain([at.join("__init__.py")])
    });
    each.chain([module.join("__main__.py")]).collect()
}

/// Whether words of a setting may be programs: names and formats are text, and an alias is a command only after `!`. An alias
/// of the user for all repositories counts as a call by the user, like a call of the runner itself.
fn may_call_runners(setting: &GitSetting, value: &str, environment: &HostEnvironment) -> bool {
    let key = setting.key.as_str();
    let is_text = key.ends_with(".name") || key.starts_with("format.") || key.starts_with("pretty.");
    let is_command =
        value.starts_with('!') || value.contains(char::is_whitespace) && !key.starts_with("alias.");
    is_command && !is_text && !(key.starts_with("alias.") && is_of_user(&setting.file, environment))
}

/// Whether it is one of the files that git reads for every repository.
fn is_of_user(file: &Path, environment: &HostEnvironment) -> bool {
    let folder = |name: &str| environment.get(OsStr::new(name)).map(PathBuf::from);
    let of_home =
        folder("HOME").into_iter().flat_map(|home| [home.join(".gitconfig"), home.join(".config/git")]);
    let of_user = of_home.chain(folder("XDG_CONFIG_HOME").map(|folder| folder.join("git")));
    of_user.chain([PathBuf::from("/etc")]).any(|folder| file.starts_with(folder))
}

/// The files that the runners in a command read in a folder, and in its parents if they search there.
fn files_of_runners(words: &[&str], place: &Path) -> Vec<PathBuf> {
    let names: BTreeSet<&str> = words.iter().map(|word| name_of(word)).collect();
    let files = names.into_iter().flat_map(runners_named).flat_map(|runner| {
        let above = place.ancestors().skip(1).filter(|_| runner.looks_above);
        let above = above
            .flat_map(|folder| runner.files().map(|file| folder.join(file)))
            .filter(|file| file.exists());
        let here = runner.files().map(|file| place.join(file));
        let is_run = |file: &PathBuf| file.exists() || !file.ends_with(PACKAGE_FILE);
        here.filter(is_run).chain(above).collect::<Vec<_>>()
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Creates a tree with these files, and returns the files that a setting runs, relative to the tree.
    fn run(files: &[&str], file: &str, key: &str, value: &str) -> Vec<String> {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (tree, home) = (root.join("home/tree"), root.join("home"));
        for name in files {
            fs::create_dir_all(tree.join(name).parent().unwrap()).unwrap();
            fs::write(tree.join(name), "").unwrap();
        }
        let environment = [("HOME".into(), home.clone().into())].into();
        let file = path_of_setting(&tree, Path::new(file), &environment);
        let setting = GitSetting { file, key: key.to_owned(), value: PathBuf::from(value) };
        let found = run_by(&setting, &tree, &environment, &mut 1_000).into_iter();
        let within = found.flat_map(|path| crate::session_boundary::within(&tree, &path));
        within.map(|path| path.to_str().unwrap().to_owned()).collect()
    }

    // N6: an agent wrote a file that git runs, because a setting named it in another spelling.
    #[test]
    fn a_file_is_found_however_a_shell_is_given_it() {
        let files = ["tools/clean.sh", "my tools/clean.sh", "tools/deep/clean.sh", "tools/run.js"];
        for (value, expected) in [
            ("sh tools/clean.sh", "tools/clean.sh"),
            ("tools/clean.sh", "tools/clean.sh"),
            ("!tools/clean.sh", "tools/clean.sh"),
            ("$(git rev-parse --show-toplevel)/tools/clean.sh", "tools/clean.sh"),
            ("\"$(git rev-parse --show-toplevel)\"/tools/clean.sh %f", "tools/clean.sh"),
            ("$PWD/tools/clean.sh", "tools/clean.sh"),
            ("!\"${PWD}/tools/clean.sh\"", "tools/clean.sh"),
            ("~/tree/tools/clean.sh", "tools/clean.sh"),
            ("sh $HOME/tree/tools/clean.sh", "tools/clean.sh"),
            ("sh to\"ols\"/clean.sh", "tools/clean.sh"),
            ("sh \"my tools/clean.sh\"", "my tools/clean.sh"),
            ("sh my\\ tools/clean.sh", "my tools/clean.sh"),
            ("cd tools && sh clean.sh", "tools/clean.sh"),
            ("cd \"$PWD/tools\" && cd deep && ./clean.sh", "tools/deep/clean.sh"),
            ("sh -c 'cd \"my tools\"; sh clean.sh'", "my tools/clean.sh"),
            ("env -Ctools sh clean.sh", "tools/clean.sh"),
            ("tool --file=tools/clean.sh", "tools/clean.sh"),
            ("node tools/run", "tools/run.js"),
        ] {
            let found = run(&files, ".git/config", "filter.x.clean", value);
            assert!(found.iter().any(|path| path == expected), "{value}: {found:?}");
        }
        for (key, value) in [("branch.b.description", "rename tools/clean.sh"), ("core.x", "clean.sh")] {
            assert!(run(&files, ".git/config", key, value).is_empty(), "{value}");
        }
    }

    // N6
    #[test]
    fn modules_and_what_runners_read_are_found_whether_they_are_there_or_not() {
        let files = ["tools/clean.py", "Makefile", "sub/Taskfile.yml", "package.json"];
        for (key, value, expected) in [
            ("filter.x.clean", "python3 -m tools.clean", "tools/clean.py"),
            ("filter.x.clean", "python3 -um tools.clean", "tools/clean/__main__.py"),
            ("filter.x.clean", "python3 -mabsent", "absent.py"),
            ("filter.x.clean", "cd tools && python3 -m clean", "tools/clean.py"),
            ("alias.z", "!make st", "Makefile"),
            ("alias.z", "!make", "GNUmakefile"),
            ("diff.d.textconv", "ionice -c3 make -s", "Makefile"),
            ("alias.z", "!cd sub && task x", "sub/Taskfile.yml"),
            ("alias.z", "!cd sub && npm run x", "package.json"),
        ] {
            let found = run(&files, ".git/config", key, value);
            assert!(found.iter().any(|path| path == expected), "{value}: {found:?}");
        }
        for (file, key, value) in [
            (".git/config", "user.name", "make it"),
            (".git/config", "alias.z", "log --author make"),
            (".git/config", "init.defaultbranch", "task"),
            (".git/config", "alias.z", "!git add -A && git commit -m wip"),
            // The user's own, for all repositories.
            ("~/.gitconfig", "alias.z", "!make st"),
        ] {
            assert!(run(&files, file, key, value).is_empty(), "{value}");
        }
    }

    // N6: the work is proportional to the checked words, for a value of any length.
    #[test]
    fn words_are_looked_at_up_to_a_bound_over_all_settings() {
        let setting = |value: &str| GitSetting {
            file: PathBuf::from("/t/.git/config"),
            key: "filter.x.clean".to_owned(),
            value: PathBuf::from(value),
        };
        let mut left = 100;
        for (value, is_all) in
            [("python3 -m one", false), ("python3 -m a make ".repeat(10_000).as_str(), true)]
        {
            let found = run_by(&setting(value), Path::new("/t"), &HostEnvironment::new(), &mut left);
            assert!(found.len() < 100, "{}", found.len());
            assert_eq!(left == 0, is_all, "{value:.20}");
        }
        assert!(
            run_by(&setting("python3 -m one"), Path::new("/t"), &HostEnvironment::new(), &mut left)
                .is_empty()
        );
    }
}
