//! What the settings of git name in a work tree, and git runs or reads: the folder of hooks, more settings, and the `.git` of each
//! submodule. Git itself is asked for the settings, so that whatever it follows (includes of includes, continued lines, settings of the
//! user) is followed here.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use baton_sandbox::{find_trusted, trusted_path};

/// The environment of the host.
type HostEnvironment = BTreeMap<OsString, OsString>;

/// Git reads its settings in milliseconds. One that does not end by then waits for a pipe.
const LIMIT: Duration = Duration::from_secs(10);
/// Settings that are longer are not read to their end.
const MAX_SETTINGS_BYTES: u64 = 4 << 20;

/// A setting, and the file that it stands in.
#[derive(Debug)]
struct GitSetting {
    file: PathBuf,
    /// In small letters, but for its middle part.
    key: String,
    value: PathBuf,
}

/// Paths from the tree, also of what is not there: who makes it has others run it.
pub(super) fn named_by_settings(tree: &Path, environment: &HostEnvironment) -> Vec<PathBuf> {
    let home = environment.get(OsStr::new("HOME")).map(Path::new);
    let at = |folder: &Path, value: &Path| match (value.strip_prefix("~"), home) {
        // A path in a setting may begin in the home of the user.
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.join(value),
    };
    let settings = listed(tree, environment, &["--includes"]);
    let hooks = settings.iter().filter(|setting| setting.key == "core.hookspath").flat_map(|setting| {
        let folder = &at(tree, &setting.value);
        // Husky keeps there what runs the hooks above it.
        let above = folder.file_name().is_some_and(|name| name == "_").then(|| folder.with_file_name(""));
        [Some(folder.clone()), above].into_iter().flatten()
    });
    // Some that are included only on another branch are read as well.
    let conditional = settings.iter().filter(|setting| {
        setting.key == "include.path"
            || setting.key.starts_with("includeif.") && setting.key.ends_with(".path")
    });
    let conditional = conditional.map(|setting| at(setting.file.parent().unwrap_or(tree), &setting.value));
    let included = settings.iter().map(|setting| setting.file.clone());
    let of_submodules = listed(tree, environment, &["--file", ".gitmodules"]);
    let is_place =
        |setting: &&GitSetting| setting.key.starts_with("submodule.") && setting.key.ends_with(".path");
    let submodules =
        of_submodules.iter().filter(is_place).map(|setting| at(tree, &setting.value).join(".git"));
    let files = hooks.chain(conditional).chain(included).chain(submodules);
    files.flat_map(|path| within(tree, &path)).collect()
}

/// Where a file is in the tree, from there: at the path as it is written, whose folders may be links, at its own place, and where it
/// really is if it is a link, as in a home whose settings are kept in a repository.
pub(super) fn within(tree: &Path, path: &Path) -> Vec<PathBuf> {
    let place = || {
        let (folder, name) = (path.parent()?, path.file_name()?);
        Some(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).join(name))
    };
    let below = |path: PathBuf| {
        let within = path.strip_prefix(tree).ok()?;
        let is_plain = within.components().all(|part| matches!(part, Component::Normal(_)));
        (is_plain && !within.as_os_str().is_empty()).then(|| within.to_owned())
    };
    let written = std::iter::once(path.to_owned());
    let mut found: Vec<PathBuf> =
        written.chain(place()).chain(path.canonicalize()).filter_map(below).collect();
    found.dedup();
    found
}

/// What git says that its settings are; nothing where it is not installed, or does not answer.
fn listed(tree: &Path, environment: &HostEnvironment, of: &[&str]) -> Vec<GitSetting> {
    let inherited = ["HOME", "XDG_CONFIG_HOME"].map(OsStr::new);
    let inherited = inherited.into_iter().filter_map(|name| Some((name, environment.get(name)?)));
    let path = environment.get(OsStr::new("PATH")).map(OsString::as_os_str);
    let Some(git) = find_trusted("git", path) else { return Vec::new() };
    let git = Command::new(git)
        .args(["config", "--null", "--list", "--show-origin"])
        .args(of)
        .current_dir(tree)
        .env_clear()
        .envs(inherited)
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
                "{config}[include]\n\tpath = ../team/one.ini ; of the team\n[includeIf \"onbranch:other\"] path = \\\n../other.ini\n"
            ),
        );
        write("team/one.ini", "[include]\n\tpath = \"two.ini\"\n");
        write("team/two.ini", "[core]\n\thooksPath = .husky/_ # hooks\n");
        write(".husky/_/pre-commit", "");
        write(".gitmodules", "[submodule \"s\"]\n\tpath = \"vendor/s\" ; here\n");
        write("vendor/s/.git", "gitdir: ../../.git/modules/s\n");
        let named = named_by_settings(&tree, &std::env::vars_os().collect());
        for expected in [
            ".husky/_",
            ".husky",
            "team/one.ini",
            "team/two.ini",
            "other.ini",
            "vendor/s/.git",
            ".git/config",
        ] {
            assert!(named.contains(&PathBuf::from(expected)), "{expected}: {named:?}");
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
        let named = named_by_settings(&tree, &environment);
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
