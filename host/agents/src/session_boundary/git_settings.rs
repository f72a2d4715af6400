//! Files in a work tree that git's settings name, and that git runs or reads: the folder of hooks, further settings, and the
//! `.git` of each submodule. Git itself lists the settings, so that everything that it follows (includes of includes, continued
//! lines, settings of the user) is followed here.

mod command_words;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use baton_core::git_link;
use baton_sandbox::{find_trusted, trusted_path};

use self::command_words::{run_by, whole_paths_in};
use super::tree_repositories::{RepositoryPlace, TreeRepositories};
use crate::command_files::is_between_words;
use crate::session_files::open_plain;

/// The environment of the host.
pub(super) type HostEnvironment = BTreeMap<OsString, OsString>;

/// Git reads its settings in milliseconds. One that does not end by then waits for a pipe.
const LIMIT: Duration = Duration::from_secs(10);
/// Settings that are longer are not read to their end.
const MAX_SETTINGS_BYTES: u64 = 4 << 20;
/// Names the repository for git. What is none has it read the settings of the user alone.
const REPOSITORY: &str = "GIT_DIR";
/// Names a folder for git above which it looks for no repository, and in which neither.
const LOOKS_BELOW: &str = "GIT_CEILING_DIRECTORIES";
/// By this file, the folder of a work tree names the one that it shares with others.
const COMMON: &str = "commondir";
/// Words of settings that are looked up in the tree.
const WORDS_MAX: usize = 10_000;

/// Repositories that are asked for their submodules, and files that are included on a condition.
pub(super) const REPOSITORIES_MAX: usize = 256;

/// A setting, and the file that contains it.
#[derive(Clone, Debug)]
struct GitSetting {
    file: PathBuf,
    /// In small letters, but for its middle part.
    key: String,
    value: PathBuf,
}

/// Settings of files that are included, as they are asked for.
type AskedFiles = BTreeMap<PathBuf, Vec<GitSetting>>;

impl GitSetting {
    /// The file that it includes, under any condition.
    fn included(&self, root: &Path, environment: &HostEnvironment) -> Option<PathBuf> {
        let is_one =
            self.key == "include.path" || self.key.starts_with("includeif.") && self.key.ends_with(".path");
        is_one.then(|| path_of_setting(self.file.parent().unwrap_or(root), &self.value, environment))
    }
}

/// A path in a setting, which may begin in the home of the user.
fn path_of_setting(folder: &Path, value: &Path, environment: &HostEnvironment) -> PathBuf {
    match (value.strip_prefix("~"), environment.get(OsStr::new("HOME"))) {
        (Ok(rest), Some(home)) => Path::new(home).join(rest),
        _ => folder.join(value),
    }
}

/// Paths relative to the tree, including missing files: a process that creates one could make others run it. The settings of
/// every repository that git uses for a place in the tree count, whether the repository is in the tree, above it or at its
/// root.
pub(super) fn named_by_settings(
    tree: &Path,
    repositories: &TreeRepositories,
    environment: &HostEnvironment,
) -> Vec<PathBuf> {
    let mut asked = AskedFiles::new();
    let of_places = repositories.places.iter().flat_map(|place| named_at(place, environment, &mut asked));
    let files = repositories.links.iter().cloned().chain(of_places);
    files.flat_map(|path| within(tree, &path)).collect()
}

/// Whole paths that the settings name in one work tree.
fn named_at(place: &RepositoryPlace, environment: &HostEnvironment, asked: &mut AskedFiles) -> Vec<PathBuf> {
    let RepositoryPlace { root, bases } = place;
    let at = |folder: &Path, value: &Path| path_of_setting(folder, value, environment);
    let settings = settings_on_any_condition(root, environment, asked);
    let work_trees = settings.iter().filter(|setting| setting.key == "core.worktree");
    let work_trees = work_trees.flat_map(|setting| bases.iter().map(|base| at(base, &setting.value)));
    let bases: Vec<PathBuf> = bases.iter().cloned().chain(work_trees).collect();
    let hooks = settings.iter().filter(|setting| setting.key == "core.hookspath");
    let hooks = hooks.flat_map(|setting| bases.iter().map(|base| at(base, &setting.value)));
    let hooks = hooks.flat_map(|folder| {
        // Husky keeps there what runs the hooks above it.
        let above = folder.file_name().is_some_and(|name| name == "_").then(|| folder.with_file_name(""));
        [Some(folder), above].into_iter().flatten()
    });
    let more = settings.iter().filter_map(|setting| setting.included(root, environment));
    let included = settings.iter().map(|setting| setting.file.clone());
    let mut left = WORDS_MAX;
    let run = settings.iter().flat_map(|setting| run_by(setting, root, environment, &mut left));
    hooks.chain(more).chain(included).chain(run).chain([root.join(".lfsconfig")]).collect()
}

/// What git reads and runs for the user in every repository: the files of their settings, with those that these include, and the programs that
/// filters and merge drivers name by a path. What is included on a condition is read as well, whether it holds here or not.
pub(super) fn settings_of_user(environment: &HostEnvironment) -> Vec<PathBuf> {
    let root = Path::new("/");
    let mut found = Vec::new();
    for setting in settings_on_any_condition(root, environment, &mut AskedFiles::new()) {
        let is_driver = setting.key.starts_with("merge.") && setting.key.ends_with(".driver");
        found.extend(setting.included(root, environment));
        if setting.key.starts_with("filter.") || is_driver {
            found.extend(paths_in_command(&setting.value.to_string_lossy(), environment));
        }
        found.push(setting.file);
    }
    found
}

/// The user's name and address for commits in this folder, as a file of settings for git: those of the user, or of the
/// repository, whichever hold there. None if there are none.
pub(super) fn commit_identity(tree: &Path, environment: &HostEnvironment) -> Option<String> {
    let settings = list_git_settings(tree, environment, &[OsStr::new("--includes")]);
    let value = |key: &str| settings.iter().rfind(|setting| setting.key == key)?.value.to_str();
    let line = |name: &str, value: &str| {
        let quoted = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("\t{name} = \"{quoted}\"\n")
    };
    let of_name = value("user.name").map(|value| line("name", value));
    let of_address = value("user.email").map(|value| line("email", value));
    let lines: String = of_name.into_iter().chain(of_address).collect();
    (!lines.is_empty()).then(|| format!("[user]\n{lines}"))
}

/// All settings that git may have at a place: files that are included under a condition are read as well, since an agent that
/// works there can make the condition true (`onbranch` by another branch).
fn settings_on_any_condition(
    root: &Path,
    environment: &HostEnvironment,
    asked: &mut AskedFiles,
) -> Vec<GitSetting> {
    let mut found = list_git_settings(root, environment, &[OsStr::new("--includes")]);
    let mut seen: BTreeSet<PathBuf> = found.iter().map(|setting| setting.file.clone()).collect();
    let mut looked_at = 0;
    while let Some(setting) = found.get(looked_at) {
        looked_at += 1;
        let Some(file) = setting.included(root, environment).filter(|file| seen.insert(file.clone())) else {
            continue;
        };
        if let Some(settings) = asked.get(&file) {
            found.extend_from_slice(settings);
        // Not by `--includes`: each included file is checked for being bounded.
        } else if asked.len() < REPOSITORIES_MAX && bytes_of(&file).is_some() {
            let of_file = [OsStr::new("--file"), file.as_os_str()];
            let settings = list_git_settings(root, environment, &of_file);
            found.extend_from_slice(&settings);
            asked.insert(file, settings);
        }
    }
    found
}

/// Files and folders that a command names by an absolute path, or from the home, which a shell knows as `~` and as `$HOME`. A
/// folder that contains the home does not count: `cd ~` does not say which file is run there.
fn paths_in_command(command: &str, environment: &HostEnvironment) -> Vec<PathBuf> {
    let home = environment.get(OsStr::new("HOME")).map(Path::new);
    let text = command.replace("${HOME}", "~").replace("$HOME", "~");
    let words = text.split(is_between_words);
    let paths = words.filter(|word| word.starts_with(['/', '~']));
    let paths = paths.map(|word| path_of_setting(Path::new("/"), Path::new(word), environment));
    let paths = paths.chain(whole_paths_in(command, environment));
    let holds_home = |path: &Path| home.is_some_and(|home| home.starts_with(path));
    paths.filter(|path| path.exists() && !holds_home(path)).collect()
}

/// The folders of submodules, and of submodules within them.
pub(super) fn submodules(tree: &Path, environment: &HostEnvironment) -> BTreeSet<PathBuf> {
    let is_place =
        |setting: &GitSetting| setting.key.starts_with("submodule.") && setting.key.ends_with(".path");
    let mut found = BTreeSet::new();
    let mut left = VecDeque::from([tree.to_owned()]);
    let mut asked = 0;
    while let Some(folder) = left.pop_front().filter(|_| asked < REPOSITORIES_MAX) {
        // Most have none, and git is not started for these.
        let file = folder.join(".gitmodules");
        if !file.metadata().is_ok_and(|file| file.is_file()) {
            continue;
        }
        asked += 1;
        // From the tree: git does not answer in a submodule whose repository is not there.
        for setting in list_git_settings(tree, environment, &[OsStr::new("--file"), file.as_os_str()]) {
            let submodule = folder.join(&setting.value);
            let is_plain = setting.value.components().all(|part| matches!(part, Component::Normal(_)));
            if is_place(&setting) && is_plain && found.insert(submodule.clone()) {
                left.push_back(submodule);
            }
        }
    }
    found
}

/// Paths of a file in the tree, relative to it: the path as written, whose folders may be links, its own location, and its
/// target if it is a link, as in a home whose settings are kept in a repository.
pub(super) fn within(tree: &Path, path: &Path) -> Vec<PathBuf> {
    let place = || {
        let (folder, name) = (path.parent()?, path.file_name()?);
        Some(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).join(name))
    };
    let below = |path: PathBuf| {
        let within = path.strip_prefix(tree).ok()?;
        let is_plain = within.components().all(|part| matches!(part, Component::Normal(_)));
        (is_plain && !within.as_os_str().is_empty()).then(|| within.components().collect())
    };
    let written = std::iter::once(path.to_owned());
    let mut found: Vec<PathBuf> =
        written.chain(place()).chain(path.canonicalize()).filter_map(below).collect();
    found.dedup();
    found
}

/// A variable that keeps git from reading a file without end, since an agent may have written the repository: git then reads no
/// repository, or none above the first one.
fn limit_of_repository(tree: &Path) -> (&'static str, PathBuf) {
    let none = || (REPOSITORY, PathBuf::from("/dev/null"));
    for folder in tree.ancestors() {
        let repository = repository_in(folder);
        if is_repository(&repository) {
            let above = folder.parent().unwrap_or(Path::new(""));
            return if has_end(&repository) { (LOOKS_BELOW, above.to_owned()) } else { none() };
        }
        // Git asks then whether the folder itself is one.
        if is_repository(folder) && !has_end(folder) {
            return none();
        }
    }
    (LOOKS_BELOW, PathBuf::new())
}

/// Where git looks for the repository of a folder: a file in its place names another folder.
pub(super) fn repository_in(folder: &Path) -> PathBuf {
    let dot_git = folder.join(".git");
    let link = bytes_of(&dot_git).unwrap_or_default();
    git_link::named_by(&link).map_or(dot_git, |named| folder.join(named))
}

/// Whether a folder is one that git takes for a repository, or the part of one for a work tree.
pub(super) fn is_repository(at: &Path) -> bool {
    at.join("HEAD").symlink_metadata().is_ok()
}

/// The folder that a repository shares with others, as it names it.
pub(super) fn common_folder(repository: &Path) -> Option<PathBuf> {
    let link = bytes_of(&repository.join(COMMON))?;
    Some(repository.join(OsStr::from_bytes(link.trim_ascii_end())))
}

/// Whether what git reads of a repository before it says anything has an end. What is not there is not read, and neither is a folder.
fn has_end(repository: &Path) -> bool {
    let is_absent = |file: &Path| file.metadata().map_or(true, |found| found.is_dir());
    let is_bounded = |file: &Path| is_absent(file) || bytes_of(file).is_some();
    let (head, link) = (repository.join("HEAD"), repository.join(COMMON));
    let common = common_folder(repository);
    let mut settings =
        [Some(repository), common.as_deref()].into_iter().flatten().map(|at| at.join("config"));
    // Of the head, git reads no more than a name.
    (is_absent(&head) || open_plain(&head).is_ok())
        && is_bounded(&link)
        && settings.all(|file| is_bounded(&file))
}

/// A regular file of no great length. A link may lead to a device, or into `/proc`, where files have an end only when they are read.
pub(super) fn bytes_of(file: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open_plain(file).ok()?.take(MAX_SETTINGS_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (read as u64 <= MAX_SETTINGS_BYTES).then_some(bytes)
}

/// The settings that git lists; empty if it is not installed, or does not answer.
fn list_git_settings(tree: &Path, environment: &HostEnvironment, of: &[&OsStr]) -> Vec<GitSetting> {
    let inherited = ["HOME", "XDG_CONFIG_HOME"].map(OsStr::new);
    let inherited = inherited.into_iter().filter_map(|name| Some((name, environment.get(name)?)));
    let path = environment.get(OsStr::new("PATH")).map(OsString::as_os_str);
    let Some(git) = find_trusted("git", path) else { return Vec::new() };
    let (limit, at) = limit_of_repository(tree);
    let git = Command::new(git)
        .args(["config", "--null", "--list", "--show-origin"])
        .args(of)
        .current_dir(tree)
        .env_clear()
        .envs(inherited)
        .env(limit, at)
        .env("PATH", trusted_path(path))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut git) = git else { return Vec::new() };
    let (said, says) = mpsc::channel();
    let answer = git.stdout.take();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // What was read until then is taken.
        let _ = answer.map(|answer| answer.take(MAX_SETTINGS_BYTES).read_to_end(&mut text));
        let _ = said.send(text);
    });
    let text = says.recv_timeout(LIMIT).unwrap_or_default();
    // It has ended, or waits for what will not come.
    let _ = git.kill();
    let _ = git.wait();
    settings(tree, &text)
}

/// Records of a place, a null byte, a name, a line feed, a value, a null byte; a name alone is a yes.
fn settings(tree: &Path, text: &[u8]) -> Vec<GitSetting> {
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let mut fields = text.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(origin), Some(setting)) = (fields.next(), fields.next()) {
        let mut parts = setting.splitn(2, |byte| *byte == b'\n');
        let key = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        if let (Some(file), Some(value)) = (origin.strip_prefix(b"file:"), parts.next()) {
            found.push(GitSetting { file: tree.join(path(file)), key, value: path(value) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn named_in(tree: &Path, environment: &HostEnvironment) -> Vec<PathBuf> {
        named_by_settings(tree, &TreeRepositories::of(tree, environment), environment)
    }

    #[test]
    fn the_name_for_commits_is_the_one_that_holds_in_the_folder() {
        // N6
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let (work, other) = (home.join("work/project"), home.join("other"));
        let path = std::env::var_os("PATH").unwrap();
        let environment = [("HOME".into(), home.clone().into()), ("PATH".into(), path)].into();
        for folder in [&work, &other] {
            fs::create_dir_all(folder).unwrap();
            let made = Command::new("git").args(["init", "-q"]).arg(folder).status().unwrap();
            assert!(made.success());
        }
        assert_eq!(commit_identity(&other, &environment), None);
        let of_user = "[user]\n\tname = Ada \\\"the first\\\" L\n\temail = ada@home.example\n\
                       [includeIf \"gitdir:~/work/\"]\n\tpath = of-work\n";
        fs::write(home.join(".gitconfig"), of_user).unwrap();
        fs::write(home.join("of-work"), "[user]\n\temail = ada@work.example\n").unwrap();
        for (folder, address) in [(&other, "ada@home.example"), (&work, "ada@work.example")] {
            let made = commit_identity(folder, &environment).unwrap();
            assert_eq!(
                made,
                format!("[user]\n\tname = \"Ada \\\"the first\\\" L\"\n\temail = \"{address}\"\n")
            );
            let file = home.join("made");
            fs::write(&file, made).unwrap();
            let read = list_git_settings(folder, &environment, &[OsStr::new("--file"), file.as_os_str()]);
            let read: Vec<_> = read.into_iter().map(|setting| setting.value).collect();
            assert_eq!(read, [Path::new("Ada \"the first\" L"), Path::new(address)]);
        }
    }

    /// What is done to a folder.
    type FolderChange = dyn Fn(&Path);

    #[test]
    fn whatever_git_follows_is_found() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().canonicalize().unwrap();
        let made = Command::new("git").args(["init", "-q"]).current_dir(&tree).status();
        assert!(made.unwrap().success());
        let write = |name: &str, text: &str| {
            fs::create_dir_all(tree.join(name).parent().unwrap()).unwrap();
            fs::write(tree.join(name), text).unwrap();
        };
        let config = fs::read_to_string(tree.join(".git/config")).unwrap();
        write(
            ".git/config",
            &format!(
                "{config}[filter \"f\"]\n\tclean = python3 tools/f.py\n[diff \"d\"]\n\ttextconv = \\\"./d.sh\\\" -x\n\
                 [alias]\n\ta = !sh a.sh\n[init]\n\tdefaultBranch = plain\n\
                 [branch \"b\"]\n\tdescription = rename plain\n[include]\n\tpath = ../team/one.ini ; of the team\n[includeIf \"onbranch:other\"] path = \\\n../other.ini\n"
            ),
        );
        for name in ["tools/f.py", "d.sh", "a.sh", "plain"] {
            write(name, "");
        }
        write("team/one.ini", "[include]\n\tpath = \"two.ini\"\n");
        write("team/two.ini", "[core]\n\thooksPath = .husky/_ # hooks\n");
        write(".husky/_/pre-commit", "");
        write(".gitmodules", "[submodule \"s\"]\n\tpath = \"vendor/s\" ; here\n");
        write("vendor/s/.git", "gitdir: ../../.git/modules/s\n");
        // Submodules within it, the second of them not checked out.
        write(
            "vendor/s/.gitmodules",
            "[submodule \"d\"]\n\tpath = deep\n[submodule \"n\"]\n\tpath = lib/none\n",
        );
        write(
            "vendor/s/deep/.gitmodules",
            "[submodule \"e\"]\n\tpath = end\n[submodule \"o\"]\n\tpath = ../../..\n",
        );
        let named = named_in(&tree, &std::env::vars_os().collect());
        for expected in [
            ".husky/_",
            ".husky",
            "team/one.ini",
            "team/two.ini",
            "other.ini",
            "vendor/s/.git",
            "vendor/s/deep/.git",
            "vendor/s/lib/none/.git",
            "vendor/s/deep/end/.git",
            ".git/config",
            "tools/f.py",
            "d.sh",
            "a.sh",
        ] {
            assert!(named.contains(&PathBuf::from(expected)), "{expected}: {named:?}");
        }
        assert!(!named.contains(&PathBuf::from("plain")), "{named:?}");
    }

    // N6: an agent made the condition true by another name in HEAD.
    #[test]
    fn what_is_included_on_a_condition_is_followed_to_what_it_names() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (tree, home) = (root.join("tree"), root.join("home"));
        for folder in [&tree.join("ci"), &tree.join("tools"), &home] {
            fs::create_dir_all(folder).unwrap();
        }
        let made = Command::new("git").args(["init", "-q", "-b", "main"]).current_dir(&tree).status();
        assert!(made.unwrap().success());
        let of_repository = "[includeIf \"onbranch:release/**\"]\n\tpath = ../ci/one.ini\n\
                             [includeIf \"onbranch:x\"]\n\tpath = /dev/zero\n";
        fs::write(tree.join(".git/config"), of_repository).unwrap();
        let of_user = format!("[includeIf \"gitdir:/x/\"]\n\tpath = {}/of-user.ini\n", tree.display());
        fs::write(home.join(".gitconfig"), of_user).unwrap();
        for (name, text) in [
            (
                "ci/one.ini",
                "[core]\n\thooksPath = .hooks\n[include]\n\tpath = two.ini\n[include]\n\tpath = one.ini\n",
            ),
            (
                "ci/two.ini",
                "[filter \"f\"]\n\tclean = sh tools/f.sh\n[includeIf \"onbranch:y\"]\n\tpath = three.ini\n",
            ),
            ("ci/three.ini", "[alias]\n\ta = !tools/a.sh\n[include]\n\tpath = /dev/zero\n"),
            ("of-user.ini", "[diff \"d\"]\n\ttextconv = tools/d.sh\n"),
            ("tools/f.sh", ""),
            ("tools/a.sh", ""),
            ("tools/d.sh", ""),
        ] {
            fs::write(tree.join(name), text).unwrap();
        }
        let path = std::env::var_os("PATH").unwrap();
        let environment = [("HOME".into(), home.into()), ("PATH".into(), path)].into();
        let named = named_in(&tree, &environment);
        for expected in [
            "ci/one.ini",
            ".hooks",
            "ci/two.ini",
            "tools/f.sh",
            "ci/three.ini",
            "tools/a.sh",
            "of-user.ini",
            "tools/d.sh",
        ] {
            assert!(named.contains(&PathBuf::from(expected)), "{expected}: {named:?}");
        }
    }

    #[test]
    fn whatever_git_reads_and_runs_for_the_user_is_found() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap();
        let text = "[include]\n\tpath = dot/one\n[includeIf \"gitdir:~/work/\"]\n\tpath = ~/dot/two\n\
                    [filter \"x\"]\n\tclean = sed 's|/|~|' | ~/bin/clean --file=/absent\n\
                    \tsmudge = \\\"$HOME/by-home/x\\\"\n\tprocess = cd ${HOME}/by-cd && ./x\n";
        fs::create_dir_all(home.join("bin")).unwrap();
        fs::create_dir(home.join("dot")).unwrap();
        fs::write(home.join(".gitconfig"), text).unwrap();
        fs::write(home.join("dot/one"), "[user]\n\tname = x\n").unwrap();
        fs::write(home.join("bin/clean"), "").unwrap();
        // Included under a condition that does not hold here, like the file that this one includes.
        let two = "[filter \"y\"]\n\tclean = python3 ~/by-folder\n\
                   [includeIf \"onbranch:x\"]\n\tpath = three\n";
        fs::write(home.join("dot/two"), two).unwrap();
        fs::write(home.join("dot/three"), "[merge \"z\"]\n\tdriver = ~/by-three %A\n").unwrap();
        for folder in ["by-home", "by-cd", "by-folder"] {
            fs::create_dir(home.join(folder)).unwrap();
        }
        fs::write(home.join("by-home/x"), "").unwrap();
        fs::write(home.join("by-three"), "").unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let environment = [("HOME".into(), home.clone().into()), ("PATH".into(), path)].into();
        let mut found = settings_of_user(&environment);
        found.retain(|path| path.starts_with(&home));
        found.sort();
        found.dedup();
        let expected = [
            ".gitconfig",
            "bin/clean",
            "by-cd",
            "by-folder",
            "by-home/x",
            "by-three",
            "dot/one",
            "dot/three",
            "dot/two",
        ];
        assert_eq!(found, expected.map(|name| home.join(name)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_repository_that_has_no_end_is_not_read() {
        // N6: by a link to a device, git grew by gigabytes.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let environment = std::env::vars_os().collect();
        let cases: [(&str, &FolderChange); 6] = [
            (".git/commondir", &|file| std::os::unix::fs::symlink("/dev/zero", file).unwrap()),
            (".git/HEAD", &|file| std::os::unix::fs::symlink("/dev/zero", file).unwrap()),
            // It tells no length.
            (".git/config", &|file| std::os::unix::fs::symlink("/proc/self/pagemap", file).unwrap()),
            (".git/commondir", &|file| {
                assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
            }),
            (".git/config", &|file| {
                fs::File::create(file).unwrap().set_len(MAX_SETTINGS_BYTES + 1).unwrap();
            }),
            ("elsewhere/commondir", &|file| std::os::unix::fs::symlink("/dev/zero", file).unwrap()),
        ];
        for (number, (name, make)) in cases.iter().enumerate() {
            let tree = root.join(number.to_string());
            fs::create_dir_all(tree.join("below")).unwrap();
            let made = Command::new("git").args(["init", "-q"]).current_dir(&tree).status();
            assert!(made.unwrap().success(), "{name}");
            assert_eq!(limit_of_repository(&tree.join("below")), (LOOKS_BELOW, root.clone()), "{name}");
            fs::write(tree.join("below/.gitmodules"), "[submodule \"s\"]\n\tpath = s\n").unwrap();
            if name.starts_with("elsewhere") {
                fs::rename(tree.join(".git"), tree.join("elsewhere")).unwrap();
                fs::write(tree.join(".git"), "gitdir: elsewhere\n").unwrap();
            }
            let _ = fs::remove_file(tree.join(name));
            make(&tree.join(name));
            for folder in [tree.clone(), tree.join("below")] {
                assert_eq!(limit_of_repository(&folder).0, REPOSITORY, "{name}");
            }
            let began = std::time::Instant::now();
            let named = named_in(&tree.join("below"), &environment);
            assert!(began.elapsed() < LIMIT / 2, "{name}");
            // Settings outside of a repository are found all the same.
            assert!(named.contains(&PathBuf::from("s/.git")), "{name}: {named:?}");
        }
    }

    // N6
    #[test]
    fn settings_of_a_home_that_is_kept_in_the_tree_are_found_there() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (tree, home) = (root.join("dotfiles"), root.join("home"));
        fs::create_dir_all(tree.join("baton")).unwrap();
        fs::create_dir_all(home.join(".config")).unwrap();
        fs::write(tree.join("gitconfig"), "[user]\n\tname = Me\n").unwrap();
        fs::write(tree.join("baton/config.toml"), "").unwrap();
        std::os::unix::fs::symlink(tree.join("gitconfig"), home.join(".gitconfig")).unwrap();
        std::os::unix::fs::symlink(tree.join("baton"), home.join(".config/baton")).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let environment = [("PATH".into(), path), ("HOME".into(), home.clone().into())].into();
        let named = named_in(&tree, &environment);
        assert!(named.contains(&PathBuf::from("gitconfig")), "{named:?}");
        assert_eq!(
            within(&tree, &home.join(".config/baton/config.toml")),
            ["baton/config.toml"].map(PathBuf::from)
        );
        std::os::unix::fs::symlink("baton", tree.join("linked")).unwrap();
        let both = ["linked/hooks", "baton/hooks"].map(PathBuf::from);
        assert_eq!(within(&tree, &tree.join("linked/hooks")), both);
        assert!(within(&tree, &root.join("elsewhere")).is_empty());
    }
}
