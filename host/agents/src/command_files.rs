//! Files of a workspace that the commands of agents, of their MCP servers and of their settings run: each is a program of a role, or may be one.

mod runner_files;
mod spelled;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use baton_core::Workflow;
use baton_core::task_runners::{TASK_RUNNERS, TaskRunner, runners_named};
use baton_core::workflow::{Role, SandboxLevel};
use baton_sandbox::found_on;

use self::runner_files::{PACKAGE_FOLDERS, RunnerFiles, commands_of_package};
use self::spelled::{MODULE_FOLDERS, PROGRAM_FOLDERS, SpelledCommand, modules_in_code, python_option};
use crate::settings_commands::commands_of_settings;

/// Programs that start what their arguments name.
const LAUNCHERS: [&str; 38] = [
    "bash",
    "busybox",
    "catchsegv",
    "chronic",
    "chrt",
    "corepack",
    "dash",
    "dbus-run-session",
    "doas",
    "env",
    "fish",
    "flock",
    "gdb",
    "ionice",
    "ksh",
    "ltrace",
    "nice",
    "nohup",
    "numactl",
    "prlimit",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "sh",
    "ssh-agent",
    "stdbuf",
    "strace",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "unbuffer",
    "unshare",
    "uv",
    "zsh",
];
/// Beginnings of the names of programs that run a file or a folder that is named without its ending.
const INTERPRETERS: [&str; 6] = ["bun", "deno", "node", "pypy", "python", "tsx"];
/// By one of these files, an interpreter runs a folder.
const ENTRIES: [&str; 5] = ["__main__.py", "index.cjs", "index.js", "index.mjs", "package.json"];
/// What an interpreter adds to the name of a file.
const ENDINGS: [&str; 5] = ["py", "js", "mjs", "cjs", "ts"];
/// By one of these files, Python runs a folder or a package.
const PACKAGE_FILES: [&str; 4] = ["__init__.py", "__init__.pyc", "__main__.py", "__main__.pyc"];
/// What such a file is called without its ending, which can be that of a compiled module for one version of Python.
const PACKAGE_STEMS: [&str; 2] = ["__init__.", "__main__."];
/// What Python takes in the place of a package without such a file, or of a module.
const MODULE_ENDINGS: [&str; 3] = ["abi3.so", "pyc", "so"];
/// Options and commands that precede the folder in which the rest of a command starts.
const FOLDER_CHANGES: [&str; 11] = [
    "-C",
    "-d",
    "--chdir",
    "--cwd",
    "--dir",
    "--directory",
    "--prefix",
    "--project",
    "--working-directory",
    "cd",
    "pushd",
];
/// Letters of a word of short options behind which a value can begin.
const SHORT_OPTIONS_MAX: usize = 32;
/// Words between a program that starts another and the name of that.
const STARTS: [&str; 5] = ["exec", "nice", "nohup", "run", "time"];
/// Words by which a runner looks for its `package.json`: without them it may start a file or a package of another place.
const PACKAGE_SCRIPTS: [&str; 10] =
    ["bunx", "exec", "npx", "pnpx", "run", "run-script", "start", "task", "test", "x"];
/// Folders that a command may start in, of which more are not followed.
const PLACES_MAX: usize = 32;
/// Python writes its compiled modules there. Programs of agents and commands that Baton starts use another folder
/// (`runtime/src/python_cache.rs`).
const CACHE: &str = "__pycache__";
/// Extension of zsh's compiled form of a file, which zsh may use instead of the file next to it.
const COMPILED_BY_ZSH: &str = "zwc";
/// Maximum number of folder entries that are read.
const ENTRIES_MAX: usize = 10_000;

/// What commands run of a workspace, by whole paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CommandFiles {
    /// Files.
    pub files: BTreeSet<PathBuf>,
    /// Folders of which an interpreter runs one file, which may load the others, and packages.
    pub folders: BTreeSet<PathBuf>,
    /// Files that a command would run before or instead of these, and that are not there.
    absent: BTreeSet<PathBuf>,
}

impl CommandFiles {
    /// Of all roles, and of the settings of agents in the workspace, a whole path. A command starts in the tree of its agent, which is the
    /// workspace or a copy of it.
    pub fn of(workflow: &Workflow, workspace: &Path) -> Self {
        Self::of_roles(workflow, workspace, home().as_deref())
    }

    /// `home`: of the user who runs the commands, for `~` and `$HOME`.
    fn of_roles(workflow: &Workflow, workspace: &Path, home: Option<&str>) -> Self {
        let mut found = Self::of_settings_with(workspace, home);
        let is_strict = |role: &Role| role.sandbox.level == SandboxLevel::Strict;
        let has_strict = workflow.roles.values().any(is_strict);
        for role in workflow.roles.values() {
            let may_more = has_strict && !is_strict(role);
            for command in &commands_of(role) {
                found.add_command(command, workspace, home, may_more);
            }
        }
        found
    }

    /// Of the settings of agents in a folder, a whole path.
    pub fn of_settings(tree: &Path) -> Self {
        Self::of_settings_with(tree, home().as_deref())
    }

    fn of_settings_with(tree: &Path, home: Option<&str>) -> Self {
        let mut found = Self::default();
        for command in &commands_of_settings(tree) {
            found.add_command(command, tree, home, false);
        }
        found
    }

    /// The files that a command names itself, without those that a runner reads or looks for, which the work changes as well.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Path> {
        let of_runners = |path: &Path| {
            let mut read = TASK_RUNNERS.iter().flat_map(TaskRunner::files);
            let mut looked = PACKAGE_FOLDERS.iter().flat_map(|(_, folders)| *folders).map(Path::new);
            let is_below = |folder: &Path| path.ancestors().skip(1).any(|above| above.ends_with(folder));
            read.any(|file| path.ends_with(file)) || looked.any(is_below)
        };
        self.files.iter().chain(&self.folders).map(PathBuf::as_path).filter(move |path| !of_runners(path))
    }

    /// The paths that agents must not change while they work: files and folders, including missing ones that must not appear.
    pub fn kept(&self) -> impl Iterator<Item = String> {
        self.files
            .iter()
            .chain(&self.folders)
            .chain(&self.absent)
            .filter_map(|path| Some(path.to_str()?.to_owned()))
    }

    /// All files, including those in the folders, without an interpreter's caches.
    pub fn all(mut self) -> BTreeSet<PathBuf> {
        let mut left: Vec<PathBuf> = self.folders.into_iter().collect();
        let mut seen = 0;
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                seen += 1;
                if seen > ENTRIES_MAX {
                    return self.files;
                }
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && entry.file_name() != CACHE => left.push(entry.path()),
                    Ok(kind) if !kind.is_dir() => drop(self.files.insert(entry.path())),
                    _ => {}
                }
            }
        }
        self.files
    }

    /// `may_more` for the command of a role with more rights than another one, which must not choose what that command runs.
    fn add_command(&mut self, command: &[String], workspace: &Path, home: Option<&str>, may_more: bool) {
        let Some((program, arguments)) = command.split_first() else { return };
        let path = std::env::var_os("PATH");
        if let Some(program) = found_on(path.as_deref(), program) {
            self.add_file(workspace.join(program), workspace);
        }
        // Also those of a command in one word (`sh -c "sh other.sh"`), and behind the name of an option.
        let parts = |word: &String| word.split(is_between_words).map(str::to_owned).collect::<Vec<_>>();
        let mut all: Vec<String> = arguments.iter().flat_map(parts).collect();
        let spelled = SpelledCommand::of(command, workspace, home);
        let mut places = places_of(&all, workspace);
        places.extend(places_of(arguments, workspace));
        places.extend(places_of(&spelled.words(), workspace));
        for variables in [PROGRAM_FOLDERS, MODULE_FOLDERS] {
            places.extend(spelled.listed_folders(variables, &places));
        }
        places.sort();
        places.dedup();
        let rough = all.len();
        all.extend_from_slice(arguments);
        all.extend(spelled.words());
        let name = |word: &str| name_in(word).to_owned();
        let mut called = vec![name(program)];
        if LAUNCHERS.contains(&called[0].as_str()) {
            called.extend(all.iter().map(|part| name(part)));
        }
        let is_called =
            |(runners, _): &&RunnerFiles| called.iter().any(|name| runners.contains(&name.as_str()));
        let above = places.iter().flat_map(|place| place.ancestors());
        let above: BTreeSet<&Path> = above.filter(|folder| folder.starts_with(workspace)).collect();
        let runs_script = all.iter().any(|word| PACKAGE_SCRIPTS.contains(&word.as_str()));
        for runner in called.iter().flat_map(|name| runners_named(name)) {
            for file in runner.files() {
                for at in places.iter().map(|place| place.join(file)) {
                    match runs_script || file != "package.json" {
                        true => self.add_entry(at, workspace),
                        false => drop(self.add_file(at, workspace)),
                    }
                }
                // What is not there is looked for in vain.
                for folder in above.iter().filter(|_| runner.looks_above) {
                    self.add_file(folder.join(file), workspace);
                }
            }
        }
        let runners = PACKAGE_FOLDERS.iter().filter(is_called);
        for folder in runners.flat_map(|(_, folders)| *folders) {
            for at in above.iter().map(|place| place.join(folder)) {
                match may_more {
                    // A package of any other name can give itself this one.
                    true => self.add_entry(at, workspace),
                    false => all.iter().for_each(|word| self.add_package(word, &at, workspace)),
                }
            }
        }
        self.add_spelled(&spelled, &places, workspace);
        let of =
            CommandPlaces { places: &places, workspace, is_of_zsh: called.iter().any(|name| name == "zsh") };
        let is_open = called.iter().any(|name| is_interpreter(name));
        self.add_words(&all[..rough + arguments.len()], program, is_open, &of);
        for words in &spelled.commands {
            let Some((program, words)) = words.split_first() else { continue };
            let is_open = [program].into_iter().chain(words).any(|word| is_interpreter(name_in(word)));
            self.add_words(std::slice::from_ref(program), "", false, &of);
            self.add_words(words, program, is_open, &of);
        }
    }

    /// What the words of a command name. `is_open`: they have an interpreter, which is yet to come to its program. What is behind that is
    /// for that program.
    fn add_words(&mut self, words: &[String], program: &str, mut is_open: bool, of: &CommandPlaces<'_>) {
        let workspace = of.workspace;
        let mut before = "";
        // The last word that is not an option.
        let mut starter = name_in(program);
        for part in words.iter().map(String::as_str).filter(|part| !part.is_empty()) {
            // `python3 -m agent.main`, `python3 -um agent.main`
            let module = match python_option(before, 'm') {
                Some("") => Some(part),
                _ => python_option(part, 'm').filter(|module| !module.is_empty()),
            };
            let starts = LAUNCHERS.contains(&starter) || is_interpreter(starter);
            let is_plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
            let is_path = !part.starts_with('-') && part.contains(['.', '/']) && part.chars().all(is_plain);
            let is_script = starts && is_path && module.is_none();
            let code = match python_option(before, 'c') {
                Some("") if is_open => modules_in_code(part),
                _ => Vec::new(),
            };
            let mut is_found = false;
            for place in of.places {
                for module in &code {
                    self.add_module(module, place, workspace);
                }
                let at = normalized(&place.join(part));
                if changes_folder(before) && at.is_dir() {
                    continue;
                }
                let is_module =
                    is_open && module.is_some_and(|module| self.add_module(module, place, workspace));
                let is_program = is_open && self.add_program(&at, place, workspace);
                if of.is_of_zsh && at.is_file() {
                    self.add_candidate(at.with_added_extension(COMPILED_BY_ZSH), workspace);
                }
                let is_file = match is_script && !at.is_dir() {
                    true => self.add_candidate(at, workspace),
                    false => self.add_file(at, workspace),
                };
                is_found |= is_file || is_module || is_program;
                for value in values_in(part) {
                    self.add_file(normalized(&place.join(value)), workspace);
                }
            }
            is_open &= !is_found;
            before = part;
            if !part.starts_with('-') && !STARTS.contains(&part) {
                starter = name_in(part);
            }
        }
    }

    /// Whether it is a module of Python in a folder that a command starts in. With it goes the outermost package around it.
    fn add_module(&mut self, module: &str, place: &Path, workspace: &Path) -> bool {
        let Some(first) = module.split('.').next().filter(|first| !first.is_empty()) else { return false };
        let package = place.join(first);
        let is_package = is_package(&package);
        if is_package && package.starts_with(workspace) {
            self.folders.insert(package.clone());
        } else {
            let inner = place.join(module.replace('.', "/"));
            let of_inner = [inner.with_added_extension("py"), inner.join("__main__.py")];
            let of_package = PACKAGE_FILES.iter().map(|file| package.join(file));
            let modules = MODULE_ENDINGS.iter().map(|ending| package.with_added_extension(ending));
            for file in of_package.chain(of_inner).chain(modules).chain([package.clone()]) {
                self.add_candidate(file, workspace);
            }
        }
        self.add_candidate(package.with_added_extension("py"), workspace) || is_package
    }

    /// Whether an interpreter runs something of the workspace by this name, which is not that of a file. The workspace itself is the work, and
    /// so is a folder in which the command starts: only the files by which it is run count.
    fn add_program(&mut self, path: &Path, place: &Path, workspace: &Path) -> bool {
        let endings = ENDINGS.iter().map(|ending| path.with_added_extension(ending));
        let entries: Vec<PathBuf> =
            ENTRIES.iter().map(|entry| path.join(entry)).filter(|entry| entry.is_file()).collect();
        let is_around = path.canonicalize().is_ok_and(|real| place.starts_with(real));
        let is_folder = !entries.is_empty() && !is_around && path.starts_with(workspace);
        if is_folder {
            self.folders.insert(path.to_owned());
        }
        let own = entries.into_iter().filter(|_| !is_folder);
        let files: Vec<PathBuf> = endings.chain(own).collect();
        let mut is_one = false;
        for file in &files {
            is_one |= self.add_file(file.clone(), workspace);
        }
        if is_one && !path.is_dir() {
            let of_folder = ENTRIES.iter().map(|entry| path.join(entry));
            for file in of_folder.chain(files).chain([path.to_owned()]) {
                self.add_candidate(file, workspace);
            }
        }
        is_folder || is_one
    }

    /// What a runner takes from a folder by a word of its command: a package, perhaps behind its scope and before its version, or a command.
    fn add_package(&mut self, word: &str, folder: &Path, workspace: &Path) {
        let is_plain = |c: char| c.is_alphanumeric() || "/._-@".contains(c);
        let name = word.char_indices().skip(1).find(|(_, c)| *c == '@').map_or(word, |(at, _)| &word[..at]);
        let is_name = name.starts_with(|c: char| c.is_alphanumeric() || c == '@' || c == '_');
        if !is_name || !name.chars().all(is_plain) || name.contains("..") {
            return;
        }
        let last = name.rsplit('/').next().unwrap_or(name);
        for at in [name, last].map(|name| folder.join(name)) {
            for command in commands_of_package(&at) {
                self.add_candidate(folder.join(".bin").join(command), workspace);
            }
            self.add_entry(at, workspace);
        }
    }

    /// A file or a folder of the workspace, also one that is not there.
    fn add_entry(&mut self, path: PathBuf, workspace: &Path) {
        match path.starts_with(workspace) && path.is_dir() {
            true => drop(self.folders.insert(path)),
            false => drop(self.add_candidate(path, workspace)),
        }
    }

    /// Whether it is a file of the workspace. One that is not there is kept as well: a command would run it.
    fn add_candidate(&mut self, path: PathBuf, workspace: &Path) -> bool {
        let is_absent =
            |error: io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        if path.starts_with(workspace) && path.symlink_metadata().is_err_and(is_absent) {
            self.absent.insert(path);
            return false;
        }
        self.add_file(path, workspace)
    }

    /// Whether it is a file of the workspace.
    fn add_file(&mut self, path: PathBuf, workspace: &Path) -> bool {
        let is_it = path.starts_with(workspace) && path.is_file();
        if is_it {
            self.files.insert(path);
        }
        is_it
    }
}

/// Folders in which the words of a command are searched.
struct CommandPlaces<'c> {
    /// Folders that parts of it start in.
    places: &'c [PathBuf],
    workspace: &'c Path,
    /// It calls zsh.
    is_of_zsh: bool,
}

/// The home of the user, without links.
fn home() -> Option<String> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    home.canonicalize().unwrap_or(home).into_os_string().into_string().ok()
}

/// The last part of a path.
pub(crate) fn name_in(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.iter().any(|known| name.starts_with(known))
}

/// Whether a character ends a word of a command: also one in quotes, and the name of an option.
pub(crate) fn is_between_words(c: char) -> bool {
    c.is_whitespace() || "'\"=;&|()<>".contains(c)
}

/// Whether Python takes a folder for a package, in the place of a module of its name.
fn is_package(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES_MAX);
    let mut names = entries.map(|entry| entry.file_name());
    names.any(|name| PACKAGE_STEMS.iter().any(|stem| name.as_encoded_bytes().starts_with(stem.as_bytes())))
}

/// Whether the next word is the folder that the rest of a command starts in: also behind a word of several short options (`make -sC`).
pub(crate) fn changes_folder(word: &str) -> bool {
    let is_short = || word.starts_with('-') && !word.starts_with("--") && word.ends_with('C');
    FOLDER_CHANGES.contains(&word) || is_short()
}

/// The values that a word may have in itself: behind one or several short options (`-frules.mk`, `-sfrules.mk`), or behind `@`.
fn values_in(word: &str) -> impl Iterator<Item = &str> {
    let is_short = word.starts_with('-') && !word.starts_with("--");
    let behind = word.char_indices().skip(2).take(SHORT_OPTIONS_MAX).filter(move |_| is_short);
    behind.map(|(at, _)| &word[at..]).chain(word.strip_prefix('@').filter(|name| !name.is_empty()))
}

/// The folders that parts of a command start in: the workspace, and those that its words lead to.
fn places_of(words: &[String], workspace: &Path) -> Vec<PathBuf> {
    let mut places = vec![workspace.to_owned()];
    let mut before = "";
    for word in words.iter().map(String::as_str).filter(|word| !word.is_empty()) {
        let glued = word.strip_prefix("-C").filter(|folder| !folder.is_empty());
        let behind = (changes_folder(before) && !word.starts_with('-')).then_some(word);
        let within = |place: &Path| {
            let folders = values_in(word).filter(|folder| place.join(folder).is_dir());
            folders.chain(glued).chain(behind).collect::<Vec<_>>()
        };
        for place in places.clone() {
            for folder in within(&place) {
                let at = place.join(folder);
                let real = at.canonicalize().ok();
                for to in [Some(normalized(&at)), real].into_iter().flatten() {
                    if places.len() < PLACES_MAX && !places.contains(&to) {
                        places.push(to);
                    }
                }
            }
        }
        // `cd -P folder`, `cd -- folder`
        if !(word.starts_with('-') && matches!(before, "cd" | "pushd")) {
            before = word;
        }
    }
    places
}

/// A path without `.` and `..`.
fn normalized(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// The commands of a role: that of its agent, and those of its servers.
fn commands_of(role: &Role) -> Vec<Vec<String>> {
    let of_agent = role.agent.command();
    let program = of_agent.map(|command| command.program()).or(role.program.as_deref()).unwrap_or_default();
    let words = of_agent.map(|command| command.args()).unwrap_or_default().iter().chain(&role.args);
    let mut commands = vec![[program.to_owned()].into_iter().chain(words.cloned()).collect()];
    commands.extend(role.mcp.values().map(|server| server.command.clone()));
    commands
}
