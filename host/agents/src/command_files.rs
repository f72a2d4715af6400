//! Files of a workspace that the commands of agents, of their MCP servers and of their settings run: each is a program of a role, or may be one.

mod runner_files;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use baton_core::Workflow;
use baton_core::task_runners::{TASK_RUNNERS, TaskRunner, runners_named};
use baton_core::workflow::{Role, SandboxLevel};
use baton_sandbox::found_on;

use self::runner_files::{PACKAGE_FOLDERS, RunnerFiles, commands_of_package};
use crate::settings_commands::commands_of_settings;

/// Programs that start what their arguments name.
const LAUNCHERS: [&str; 15] = [
    "bash", "busybox", "corepack", "dash", "env", "ksh", "nice", "nohup", "setsid", "sh", "stdbuf", "time",
    "timeout", "uv", "zsh",
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
/// What stands before the folder that the rest of a command starts in.
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
/// Python writes what it compiled there. Programs of agents and commands that Baton starts use another folder (`runtime/src/python_cache.rs`).
const CACHE: &str = "__pycache__";
/// What zsh has compiled of the file beside it, which it may take in the place of that.
const COMPILED_BY_ZSH: &str = "zwc";
/// Entries of folders that are looked at.
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
        let mut found = Self::of_settings(workspace);
        let is_strict = |role: &Role| role.sandbox.level == SandboxLevel::Strict;
        let has_strict = workflow.roles.values().any(is_strict);
        for role in workflow.roles.values() {
            let may_more = has_strict && !is_strict(role);
            for command in &commands_of(role) {
                found.add_command(command, workspace, may_more);
            }
        }
        found
    }

    /// Of the settings of agents in a folder, a whole path.
    pub(crate) fn of_settings(tree: &Path) -> Self {
        let mut found = Self::default();
        for command in &commands_of_settings(tree) {
            found.add_command(command, tree, false);
        }
        found
    }

    /// Those that a command names itself: without what a runner reads or looks for, which the work changes as well.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Path> {
        let of_runners = |path: &Path| {
            let mut read = TASK_RUNNERS.iter().flat_map(TaskRunner::files);
            let mut looked = PACKAGE_FOLDERS.iter().flat_map(|(_, folders)| *folders).map(Path::new);
            let is_below = |folder: &Path| path.ancestors().skip(1).any(|above| above.ends_with(folder));
            read.any(|file| path.ends_with(file)) || looked.any(is_below)
        };
        self.files.iter().chain(&self.folders).map(PathBuf::as_path).filter(move |path| !of_runners(path))
    }

    /// What stays as it is while agents work: the files, and the folders as they are. Also what is not there, and must not appear.
    pub fn kept(&self) -> impl Iterator<Item = String> {
        self.files
            .iter()
            .chain(&self.folders)
            .chain(&self.absent)
            .filter_map(|path| Some(path.to_str()?.to_owned()))
    }

    /// All files, also those in the folders, but for what an interpreter keeps there.
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

    /// `may_more` for the command of a role that may do more than another one, which must not choose what it runs.
    fn add_command(&mut self, command: &[String], workspace: &Path, may_more: bool) {
        let Some((program, arguments)) = command.split_first() else { return };
        let path = std::env::var_os("PATH");
        if let Some(program) = found_on(path.as_deref(), program) {
            self.add_file(workspace.join(program), workspace);
        }
        // Also those of a command in one word (`sh -c "sh other.sh"`), and behind the name of an option.
        let parts = |word: &String| word.split(is_between_words).map(str::to_owned).collect::<Vec<_>>();
        let mut all: Vec<String> = arguments.iter().flat_map(parts).collect();
        let mut places = places_of(&all, workspace);
        places.extend(places_of(arguments, workspace));
        places.sort();
        places.dedup();
        all.extend_from_slice(arguments);
        let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
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
        let is_interpreter = |name: &String| INTERPRETERS.iter().any(|known| name.starts_with(known));
        // What comes behind the program of an interpreter is for that program.
        let mut is_open = called.iter().any(is_interpreter);
        let mut before = "";
        // The last word that is no option.
        let mut starter = name(program);
        for part in all.iter().map(String::as_str).filter(|part| !part.is_empty()) {
            // `python3 -m agent.main`
            let module = if before == "-m" { Some(part) } else { part.strip_prefix("-m") };
            let starts = LAUNCHERS.contains(&starter.as_str()) || is_interpreter(&starter);
            let is_plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
            let is_path = !part.starts_with('-') && part.contains(['.', '/']) && part.chars().all(is_plain);
            let is_script = starts && is_path && module.is_none();
            let mut is_found = false;
            for place in &places {
                let at = normalized(&place.join(part));
                if changes_folder(before) && at.is_dir() {
                    continue;
                }
                let is_module =
                    is_open && module.is_some_and(|module| self.add_module(module, place, workspace));
                let is_program = is_open && self.add_program(&at, place, workspace);
                if called.iter().any(|name| name == "zsh") && at.is_file() {
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
                starter = name(part);
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
fn changes_folder(word: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use baton_core::workflow::{AgentKind, RoleServer, Sandbox};

    use super::*;

    /// A workspace with these files, and a workflow whose roles have these agents.
    fn workspace(files: &[&str], agents: &[&str]) -> (tempfile::TempDir, PathBuf, Workflow) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for name in files {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "").unwrap();
        }
        let mut workflow = Workflow::default();
        for (at, agent) in agents.iter().enumerate() {
            let role = Role::of(agent.parse::<AgentKind>().unwrap());
            workflow.roles.insert(format!("role-{at}").as_str().into(), role);
        }
        (place, root, workflow)
    }

    fn names(paths: &BTreeSet<PathBuf>, root: &Path) -> Vec<String> {
        paths.iter().map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect()
    }

    // N6
    #[test]
    fn files_that_a_command_of_any_role_names_are_found() {
        let files =
            ["agent.py", "other.sh", "nested.sh", "server", "tools/config.json", "README.md", "claude"];
        let agents =
            ["acp:python3 agent.py tools --config=tools/config.json", "process:sh -c 'sh nested.sh; true'"];
        let (_place, root, mut workflow) = workspace(&files, &agents);
        let command = ["./server", "missing", "/etc/passwd", "../other.sh"].map(str::to_owned).to_vec();
        let server = RoleServer { command, env: Default::default(), offload: false };
        let role = workflow.roles.entry("third".into()).or_insert_with(|| Role::of(AgentKind::Claude));
        role.mcp.insert("one".into(), server);
        role.args = vec!["other.sh".to_owned()];
        role.program = Some(root.join("claude").display().to_string());
        let found = CommandFiles::of(&workflow, &root);
        let expected = ["agent.py", "claude", "nested.sh", "other.sh", "server", "tools/config.json"];
        assert_eq!(names(&found.files, &root), expected);
        assert_eq!(found.folders, BTreeSet::new());
    }

    // N6
    #[test]
    fn what_an_interpreter_runs_by_another_name_is_found() {
        let files = [
            "agentd/__main__.py",
            "agentd/lib/x.py",
            "agentd/__pycache__/x.pyc",
            "pack/__init__.py",
            "app/package.json",
            "one.py",
            "two.mjs",
            "Makefile",
            "package.json",
            "src/__main__.py",
            "src/index.js",
        ];
        let of = |agent: &str| {
            let (_place, root, workflow) = workspace(&files, &[agent]);
            let found = CommandFiles::of(&workflow, &root);
            let (files, folders) = (names(&found.files, &root), names(&found.folders, &root));
            (files, folders, names(&found.all(), &root))
        };
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let all = texts(&["agentd/__main__.py", "agentd/lib/x.py"]);
        assert_eq!(of("process:python3 agentd"), (Vec::new(), texts(&["agentd"]), all));
        assert_eq!(of("process:sh -c 'cat | python3.12 -u ./agentd'").1, ["agentd"]);
        assert_eq!(of("acp:python3 -m pack.main src").1, ["pack"]);
        assert_eq!(of("process:python3 -m one").0, ["one.py"]);
        assert_eq!(of("process:node ./two").0, ["two.mjs"]);
        assert_eq!(of("process:node app").1, ["app"]);
        assert_eq!(of("process:node .").0, ["package.json"]);
        assert_eq!(of("process:make -s agent").0, ["Makefile"]);
        // N6: in another folder, and what is preferred to what is there.
        assert_eq!(of("process:sh -c 'cd agentd && sh lib/x.py'").0, ["agentd/lib/x.py"]);
        assert_eq!(of("process:env -C agentd/lib sh x.py").0, ["agentd/lib/x.py"]);
        assert_eq!(of("process:node --cwd=app/../src ./index").0, ["src/index.js"]);
        assert_eq!(of("process:npm --prefix app run agent").0, ["app/package.json", "package.json"]);
        // N6: a value in the word of its option, and behind several of them.
        for command in
            ["make -f one.py", "make -fone.py", "make -sfone.py", "gmake --file=one.py", "java @one.py"]
        {
            assert!(of(&format!("process:{command}")).0.contains(&"one.py".to_owned()), "{command}");
        }
        for command in ["env -Cagentd/lib sh x.py", "make -sC agentd/lib -fx.py", "make -sCagentd/lib -fx.py"]
        {
            assert!(of(&format!("process:{command}")).0.contains(&"agentd/lib/x.py".to_owned()), "{command}");
        }
        let absent = |agent: &str| {
            let (_place, root, workflow) = workspace(&files, &[agent]);
            let found = CommandFiles::of(&workflow, &root);
            assert!(found.absent.iter().all(|file| found.kept().any(|kept| Path::new(&kept) == file)));
            names(&found.absent, &root)
        };
        assert_eq!(
            absent("process:make -C app"),
            ["GNUmakefile", "app/GNUmakefile", "app/Makefile", "app/makefile", "makefile"]
        );
        // N6: runners that go on to the folders above, by all names of their files.
        for (command, above, here) in [
            ("task agent", "Taskfile.dist.yml", "agentd/taskfile.yml"),
            ("just agent", "JustFile", "agentd/.justfile"),
            ("rake agent", "Rakefile.rb", "agentd/rakefile"),
            ("mise run agent", ".config/mise.toml", "agentd/.mise.toml"),
        ] {
            let agent = format!("process:env -C agentd {command}");
            let (_place, root, workflow) = workspace(&[above, "agentd/x"], &[&agent]);
            let found = CommandFiles::of(&workflow, &root);
            assert_eq!(names(&found.files, &root), [above], "{command}");
            assert!(names(&found.absent, &root).contains(&here.to_owned()), "{command}");
        }
        for before in ["one", "one/__main__.py", "one.so"] {
            assert!(absent("process:python3 -m one").contains(&before.to_owned()), "{before}");
        }
        assert!(absent("process:node ./two").contains(&"two".to_owned()));
        assert_eq!(absent("process:sh tools/new.sh out.txt"), ["tools/new.sh"]);
        assert_eq!(absent("process:tool --out report.md"), [""; 0]);
        // What a program works on is the work.
        for agent in ["process:python3 one.py src", "process:tool --dir src make", "process:tool two"] {
            assert_eq!(of(agent).1, [] as [&str; 0], "{agent}");
            assert!(!of(agent).0.iter().any(|file| file == "Makefile" || file == "two.mjs"), "{agent}");
        }
    }

    // N6: `npx` ran what an agent had put into the place of a package, or a package of that name in another folder.
    #[test]
    fn what_runners_of_packages_prefer_is_found() {
        let files =
            ["node_modules/@zed/agent/package.json", "node_modules/.bin/zagent", "package.json", "t/x"];
        let of = |agents: &[&str], strict: &[&str]| {
            let (_place, root, mut workflow) = workspace(&files, agents);
            fs::write(root.join(files[0]), r#"{"bin": {"zagent": "a.js", "../x": "b.js", "new": "c.js"}}"#)
                .unwrap();
            for name in strict {
                workflow.roles.get_mut(&(*name).into()).unwrap().sandbox = Sandbox::of(SandboxLevel::Strict);
            }
            let found = CommandFiles::of(&workflow, &root);
            [&found.files, &found.folders, &found.absent].map(|paths| names(paths, &root))
        };
        let [found, folders, absent] = of(&["process:npx -y @zed/agent@1.2"], &[]);
        assert_eq!(found, ["node_modules/.bin/zagent", "package.json"]);
        assert_eq!(folders, ["node_modules/@zed/agent"]);
        let expected = [".npmrc", "agent", "@zed/agent", "new"].map(|name| match name {
            ".npmrc" => name.to_owned(),
            command => format!("node_modules/.bin/{command}"),
        });
        assert!(expected.iter().all(|path| absent.contains(path)), "{absent:?}");
        assert!(!absent.iter().any(|path| path.ends_with(".bin/../x")), "{absent:?}");
        for command in
            ["npm exec -- @zed/agent", "sh -c 'cd t && bunx @zed/agent'", "timeout 9 pnpm @zed/agent"]
        {
            assert_eq!(of(&[&format!("process:{command}")], &[])[1], folders, "{command}");
        }
        assert!(
            of(&["process:sh -c 'cd t; npx other'"], &[])[2].contains(&"t/node_modules/other".to_owned())
        );
        let [_, _, absent] = of(&["process:uv run agent"], &[]);
        assert!(
            [".venv/bin/agent", "pyproject.toml"].iter().all(|path| absent.contains(&(*path).to_owned()))
        );
        // What only one role may do, another one that is confined does not choose.
        let both = ["process:npx -y @zed/agent", "process:sh x.sh"];
        assert_eq!(of(&both, &["role-1"])[1], ["node_modules", "node_modules/.bin"]);
        assert_eq!(of(&both, &["role-0", "role-1"])[1], folders);
    }

    // N6: an agent wrote the hooks that the settings of the next one name.
    #[test]
    fn what_settings_of_agents_name_is_found() {
        let files = ["tools/hook.sh", "tools/server.js", "Makefile", "README.md"];
        let (_place, root, workflow) = workspace(&files, &["process:true"]);
        fs::create_dir(root.join(".claude")).unwrap();
        let hook = r#"{"hooks": {"Stop": [{"hooks": [{"command": "sh \"$CLAUDE_PROJECT_DIR\"/tools/hook.sh; make"}]}]}}"#;
        fs::write(root.join(".claude/settings.json"), hook).unwrap();
        let server = r#"{"mcpServers": {"x": {"command": "node", "args": ["server"], "cwd": "tools"}}}"#;
        fs::write(root.join(".mcp.json"), server).unwrap();
        let found = CommandFiles::of(&workflow, &root);
        assert_eq!(names(&found.files, &root), ["Makefile", "tools/hook.sh", "tools/server.js"]);
        let named = CommandFiles::of_settings(&root);
        let named: BTreeSet<PathBuf> = named.named().map(Path::to_owned).collect();
        assert_eq!(names(&named, &root), ["tools/hook.sh", "tools/server.js"]);
    }
}
