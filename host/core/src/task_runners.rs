//! Runners of tasks, and the files that they read in the folder that they start in: a change of these files changes the
//! commands.
//!
//! From the documentation of each runner.

/// One runner, under all of its names.
#[derive(Clone, Copy, Debug)]
pub struct TaskRunner {
    /// Names of its programs.
    pub names: &'static [&'static str],
    /// Files that have its tasks: it reads the first that is there.
    pub task_files: &'static [&'static str],
    /// Files and folders by which it runs something else than its tasks.
    pub settings: &'static [&'static str],
    /// If a folder has none of its files, it searches the one above.
    pub looks_above: bool,
}

impl TaskRunner {
    /// All that it may read.
    pub fn files(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.task_files.iter().chain(self.settings).copied()
    }
}

/// Runners whose files have names of their own. Sorted by their first names.
pub const TASK_RUNNERS: [TaskRunner; 28] = [
    here(&["ant"], &["build.xml"], &[]),
    upward(&["bun", "bunx"], &["package.json"], &[".npmrc", "bunfig.toml"]),
    upward(&["bundle", "bundler"], &["Gemfile", "gems.rb"], &[".bundle/config"]),
    here(&["composer"], &["composer.json"], &[]),
    upward(&["deno"], &["deno.json", "deno.jsonc"], &["package.json"]),
    upward(&["direnv"], &[".envrc"], &[]),
    here(&["doit"], &["dodo.py"], &["pyproject.toml", "doit.cfg"]),
    here(&["gmake", "make"], &["GNUmakefile", "makefile", "Makefile"], &[]),
    here(
        &["gradle", "gradlew"],
        &["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"],
        &["gradle.properties"],
    ),
    upward(&["grunt"], &["Gruntfile.js", "Gruntfile.cjs", "Gruntfile.coffee"], &[]),
    upward(&["gulp"], &["gulpfile.js", "gulpfile.cjs", "gulpfile.mjs", "gulpfile.ts"], &[]),
    upward(
        &["inv", "invoke"],
        &["tasks.py", "tasks/__init__.py"],
        &["invoke.yaml", "invoke.yml", "invoke.json", "invoke.py"],
    ),
    upward(
        &["just"],
        &["justfile", "Justfile", "JUSTFILE", "JustFile", ".justfile", ".Justfile", ".JUSTFILE"],
        &[],
    ),
    here(
        &["lefthook"],
        &[
            "lefthook.yml",
            "lefthook.yaml",
            "lefthook.toml",
            "lefthook.json",
            ".lefthook.yml",
            ".lefthook.yaml",
            ".lefthook.toml",
            ".lefthook.json",
            ".config/lefthook.yml",
        ],
        &["lefthook-local.yml", "lefthook-local.yaml", ".lefthook-local.yml", ".lefthook-local.yaml"],
    ),
    upward(
        &["mise"],
        &["mise.toml", ".mise.toml", "mise/config.toml", ".mise/config.toml", ".config/mise.toml"],
        &[
            "mise.local.toml",
            ".mise.local.toml",
            ".config/mise/config.toml",
            ".tool-versions",
            "mise-tasks",
            ".mise/tasks",
        ],
    ),
    here(&["mvn", "mvnw"], &["pom.xml"], &[".mvn/extensions.xml", ".mvn/jvm.config", ".mvn/maven.config"]),
    here(&["ninja"], &["build.ninja"], &[]),
    here(&["nox"], &["noxfile.py"], &[]),
    upward(&["npm", "npx"], &["package.json"], &[".npmrc"]),
    here(&["pipx"], &[], &["__pypackages__"]),
    upward(&["pnpm", "pnpx"], &["package.json"], &[".npmrc", ".pnpmfile.cjs", "pnpm-workspace.yaml"]),
    upward(&["poetry"], &[], &["pyproject.toml", "poetry.toml"]),
    here(&["pre-commit", "prek"], &[".pre-commit-config.yaml"], &["prek.toml"]),
    upward(&["rake"], &["rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"], &["rakelib"]),
    upward(
        &["task"],
        &[
            "Taskfile.yml",
            "taskfile.yml",
            "Taskfile.yaml",
            "taskfile.yaml",
            "Taskfile.dist.yml",
            "taskfile.dist.yml",
            "Taskfile.dist.yaml",
            "taskfile.dist.yaml",
        ],
        &[".taskrc.yml", ".taskrc.yaml"],
    ),
    here(&["tox"], &["tox.ini", "tox.toml"], &["pyproject.toml", "setup.cfg"]),
    upward(&["uv", "uvx"], &[], &["pyproject.toml", "uv.toml"]),
    upward(
        &["yarn"],
        &["package.json"],
        &[".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".pnp.cjs"],
    ),
];

/// The runners that are called by a name.
pub fn runners_named(name: &str) -> impl Iterator<Item = &'static TaskRunner> {
    TASK_RUNNERS.iter().filter(move |runner| runner.names.contains(&name))
}

const fn here(
    names: &'static [&'static str],
    task_files: &'static [&'static str],
    settings: &'static [&'static str],
) -> TaskRunner {
    TaskRunner { names, task_files, settings, looks_above: false }
}

const fn upward(
    names: &'static [&'static str],
    task_files: &'static [&'static str],
    settings: &'static [&'static str],
) -> TaskRunner {
    TaskRunner { looks_above: true, ..here(names, task_files, settings) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runner_is_named_once() {
        let names: Vec<&str> = TASK_RUNNERS.iter().flat_map(|runner| runner.names).copied().collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names.len(), sorted.len());
        assert_eq!(runners_named("make").count(), 1);
        assert_eq!(runners_named("cargo").count(), 0);
    }
}
