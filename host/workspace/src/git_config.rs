//! The settings of git that count for the host. A repository comes from others, and an agent can write into it: of its own
//! configuration only the settings named here are used, and none of them names a command. The configuration of the user and of
//! the system holds as it does for the user.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use baton_sandbox::{own_trusted_path, own_trusted_program};
use tokio::process::Command;

use crate::blocking_pipes::{BlockingPipe, is_pipe};
use crate::isolated_git_dir::Repository;
use crate::regular_file::read_plain;

/// Reading a file of settings takes milliseconds.
const LIMIT: Duration = Duration::from_secs(30);

/// A longer value of a repository is not one that the host needs.
const MAX_VALUE_BYTES: usize = 1 << 10;

/// Files of settings are smaller, and include fewer others.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
const MAX_INCLUDED: usize = 100;
/// In the name of each section that includes a file.
const INCLUDE: &[u8] = b"include";

/// A setting by which git starts a program, or finds more settings or files that do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandKey {
    /// As git writes it, with `*` for a part that the repository names.
    pub key: &'static str,
    /// The value that the host sets in every call. Absent if the name is not known before, and if the user's own choice holds
    /// (filters and merge drivers, as far as `user_filters.rs` permits it): then the repository's value is ignored.
    pub off: Option<&'static str>,
}

const fn never(key: &'static str) -> CommandKey {
    CommandKey { key, off: None }
}

const fn off(key: &'static str, value: &'static str) -> CommandKey {
    CommandKey { key, off: Some(value) }
}

/// Every setting of git that can name a command: none is ever taken from a repository.
pub const COMMAND_KEYS: &[CommandKey] = &[
    never("alias.*"),
    never("browser.*.cmd"),
    off("core.alternateRefsCommand", "false"),
    off("core.askPass", "true"),
    off("core.editor", "true"),
    off("core.fsmonitor", "false"),
    never("core.gitProxy"),
    off("core.hooksPath", "/dev/null"),
    off("core.pager", "cat"),
    off("core.sshCommand", "false"),
    never("core.worktree"),
    off("credential.helper", ""),
    never("credential.*.helper"),
    never("diff.external"),
    never("diff.*.command"),
    never("diff.*.textconv"),
    never("difftool.*.cmd"),
    never("extensions.partialClone"),
    never("filter.*.clean"),
    never("filter.*.process"),
    never("filter.*.smudge"),
    never("gc.recentObjectsHook"),
    off("gpg.program", "false"),
    off("gpg.openpgp.program", "false"),
    off("gpg.ssh.defaultKeyCommand", "false"),
    off("gpg.ssh.program", "false"),
    off("gpg.x509.program", "false"),
    never("hook.*.command"),
    never("imap.tunnel"),
    never("include.path"),
    never("includeIf.*.path"),
    never("init.templateDir"),
    never("instaweb.httpd"),
    never("interactive.diffFilter"),
    never("man.*.cmd"),
    never("merge.*.driver"),
    never("mergetool.*.cmd"),
    never("pager.*"),
    never("pull.twohead"),
    never("remote.*.promisor"),
    never("remote.*.receivepack"),
    never("remote.*.uploadpack"),
    never("remote.*.vcs"),
    never("sendemail.sendmailCmd"),
    off("sequence.editor", "true"),
    never("submodule.*.update"),
    never("tar.*.command"),
    never("trailer.*.cmd"),
    never("trailer.*.command"),
    never("uploadpack.packObjectsHook"),
];

/// How the references of a repository are stored.
const REF_STORAGE: &str = "extensions.refstorage";

/// The settings that are taken from a repository: its storage, the conversion of its files to bytes, and the identity of its
/// user. Its ignore lists are taken once, when a run begins (`git_info.rs`).
const KEPT_KEYS: [&str; 20] = [
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.precomposeunicode",
    "core.protecthfs",
    "core.protectntfs",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "diff.renamelimit",
    "extensions.objectformat",
    REF_STORAGE,
    "i18n.commitencoding",
    "merge.renamelimit",
    "merge.renames",
    "user.email",
    "user.name",
];

/// Those of them that determine how a file becomes bytes, and so the changes: they count as they were when a run began.
const KEPT_FROM_START: [&str; 8] = [
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.protecthfs",
    "core.protectntfs",
    "core.symlinks",
];

/// The arguments that put [`COMMAND_KEYS`] out of force, and keep git from taking a folder of files for a repository.
pub(crate) fn arguments() -> impl Iterator<Item = String> {
    let off = COMMAND_KEYS.iter().filter_map(|key| Some(format!("{}={}", key.key, key.off?)));
    // The filter of git-lfs, if the user has it, would fetch the file that a pointer in the tree names from a source that
    // another file names. With this setting it uses the local contents, and leaves the pointers of missing ones.
    let ours = [
        "core.quotePath=false",
        "core.untrackedCache=false",
        "lfs.fetchexclude=*",
        "safe.bareRepository=explicit",
    ]
    .map(str::to_owned);
    off.chain(ours).flat_map(|setting| ["-c".to_owned(), setting])
}

/// The environment of every call: no secrets, no repository that a variable names, no network, and no prompts.
pub(crate) fn environment() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    let path = own_trusted_path();
    let inherited = ["HOME", "XDG_CONFIG_HOME", "TMPDIR"];
    let inherited = inherited.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    let inherited = inherited.chain([("PATH", path)]);
    let set = [
        ("GIT_ALLOW_PROTOCOL", ""),
        ("GIT_EDITOR", "true"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("LC_ALL", "C"),
        // For filters: Python takes no module from the folder that it is started in.
        ("PYTHONSAFEPATH", "1"),
    ];
    inherited.chain(set.into_iter().map(|(name, value)| (name, value.into())))
}

/// Settings of a repository that the host takes.
#[derive(Debug, Default)]
pub(crate) struct RepositorySettings {
    /// In the order in which git reads them.
    kept: Vec<(String, Vec<u8>)>,
    /// Filters that the repository names, which are not taken.
    filters: BTreeSet<String>,
}

impl RepositorySettings {
    /// Reads the files as data, and those that they include. A missing one counts as empty.
    pub(crate) async fn read(files: &[&Path]) -> io::Result<Self> {
        let mut kept = Self::default();
        for file in files {
            // A pipe would hold the host up.
            if file.metadata().is_ok_and(|meta| meta.is_file()) {
                kept.take(&listed(file).await?);
            }
        }
        kept.expect_own_references()?;
        Ok(kept)
    }

    /// Since git 2.54 this setting can name a folder for the references, anywhere (`files://…`): git would read and write them there.
    fn expect_own_references(&self) -> io::Result<()> {
        let is_elsewhere = |value: &&[u8]| !matches!(*value, b"files" | b"reftable");
        let named =
            self.kept.iter().filter(|(name, _)| name == REF_STORAGE).map(|(_, value)| value.as_slice());
        match named.filter(is_elsewhere).map(String::from_utf8_lossy).next() {
            None => Ok(()),
            Some(value) => Err(io::Error::other(format!(
                "the repository's setting {REF_STORAGE} is {value:?}: Baton works only with references that lie in the \
                 repository itself (files or reftable)"
            ))),
        }
    }

    /// From `git config --list -z`: the name, a line feed, the value; the name alone is a yes.
    fn take(&mut self, listed: &[u8]) {
        for record in listed.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
            let mut parts = record.splitn(2, |byte| *byte == b'\n');
            let name = plain_name(&String::from_utf8_lossy(parts.next().unwrap_or_default()));
            let value = parts.next().unwrap_or(b"true");
            self.filters.extend(filter_of(&name).map(str::to_owned));
            if KEPT_KEYS.contains(&name.as_str()) && value.len() <= MAX_VALUE_BYTES {
                self.kept.push((name, value.to_vec()));
            }
        }
    }

    /// The last value.
    fn last(&self, key: &str) -> Option<&[u8]> {
        self.kept.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_slice())
    }

    /// Those that count as they were when a run began, as `git config --list -z` has them.
    pub(crate) fn of_start(&self) -> Vec<u8> {
        let kept = self.kept.iter().filter(|(name, _)| KEPT_FROM_START.contains(&name.as_str()));
        kept.flat_map(|(name, value)| [name.as_bytes(), b"\n", value, b"\0"].concat()).collect()
    }

    /// Uses these in place of the repository's current ones.
    pub(crate) fn put_back(&mut self, of_start: &[u8]) {
        self.kept.retain(|(name, _)| !KEPT_FROM_START.contains(&name.as_str()));
        self.take(of_start);
    }

    /// Ignores the files that this file lists, and not those of another list of the user.
    pub(crate) fn exclude_by(&mut self, file: Option<&Path>) {
        let value = file.map(|file| file.as_os_str().as_bytes().to_vec());
        self.kept.extend(value.map(|value| ("core.excludesfile".to_owned(), value)));
    }

    /// Filters that the repository names.
    pub(crate) fn filters(&self) -> &BTreeSet<String> {
        &self.filters
    }

    /// Whether the names of objects are SHA-256.
    pub(crate) fn is_sha256(&self) -> bool {
        self.last("extensions.objectformat") == Some(b"sha256")
    }

    /// As a configuration file of a repository.
    pub(crate) fn file(&self) -> Vec<u8> {
        let version = u8::from(self.kept.iter().any(|(name, _)| name.starts_with("extensions.")));
        let mut file =
            format!("[core]\n\trepositoryformatversion = {version}\n\tbare = false\n").into_bytes();
        for (name, value) in &self.kept {
            let Some((section, key)) = name.split_once('.') else { continue };
            file.extend_from_slice(format!("[{section}]\n\t{key} = \"").as_bytes());
            file.extend(value.iter().flat_map(|byte| escaped(*byte)));
            file.extend_from_slice(b"\"\n");
        }
        file
    }
}

/// The filter of a setting, if the setting names a command.
pub(crate) fn filter_of(name: &str) -> Option<&str> {
    let (filter, key) = name.strip_prefix("filter.")?.rsplit_once('.')?;
    ["clean", "smudge", "process"].contains(&key).then_some(filter)
}

/// Section and key in lower case; the part between them keeps its case, as git has it.
fn plain_name(name: &str) -> String {
    match (name.split_once('.'), name.rsplit_once('.')) {
        (Some((section, _)), Some((_, key))) if section.len() + key.len() + 1 < name.len() => {
            let between = &name[section.len()..name.len() - key.len()];
            format!("{}{between}{}", section.to_lowercase(), key.to_lowercase())
        }
        _ => name.to_lowercase(),
    }
}

/// A byte of a value between quotes.
fn escaped(byte: u8) -> Vec<u8> {
    match byte {
        b'"' | b'\\' => vec![b'\\', byte],
        b'\n' => b"\\n".to_vec(),
        _ => vec![byte],
    }
}

async fn listed(file: &Path) -> io::Result<Vec<u8>> {
    let ended = asked(Some(file), &["--list"]).await?;
    match ended.status.success() {
        true => Ok(ended.stdout),
        false => Err(complaint(&ended)),
    }
}

/// The path in a setting of a repository, as git reads it. The first file with a value counts.
pub(crate) async fn path_setting(files: &[PathBuf], key: &str) -> io::Result<Option<PathBuf>> {
    // A pipe would hold the host up.
    for file in files.iter().filter(|file| file.metadata().is_ok_and(|meta| meta.is_file())) {
        let ended = asked(Some(file), &["--type=path", "--get", key]).await?;
        match ended.status.code() {
            Some(0) => {
                let value = ended.stdout.split(|byte| *byte == 0).next().unwrap_or_default();
                return Ok(Some(PathBuf::from(OsStr::from_bytes(value))));
            }
            Some(1) => {}
            _ => return Err(complaint(&ended)),
        }
    }
    Ok(None)
}

/// Refuses a pipe that the settings in these git folders include, directly or by others: git reads it whenever it reads them.
pub(crate) async fn expect_no_included_pipe(git_folders: &[&Path]) -> Result<(), BlockingPipe> {
    let files =
        git_folders.iter().flat_map(|folder| ["config", "config.worktree"].map(|name| folder.join(name)));
    let (mut files, mut seen): (Vec<PathBuf>, BTreeSet<PathBuf>) = (files.collect(), BTreeSet::new());
    while let Some(file) = files.pop() {
        if is_pipe(&file) {
            return Err(BlockingPipe::at(file.canonicalize().unwrap_or(file)));
        }
        if seen.len() == MAX_INCLUDED || !seen.insert(file.clone()) {
            continue;
        }
        let Ok(text) = read_plain(&file, MAX_SETTINGS_BYTES) else { continue };
        if !text.windows(INCLUDE.len()).any(|word| word.eq_ignore_ascii_case(INCLUDE)) {
            continue;
        }
        // Conditions depend on where git is called; a pipe would block one of the calls.
        let question = ["--no-includes", "--type=path", "--get-regexp", r"^include(if\..*)?\.path$"];
        let Ok(ended) = asked(Some(&file), &question).await else { continue };
        let values = ended
            .stdout
            .split(|byte| *byte == 0)
            .filter_map(|one| one.splitn(2, |byte| *byte == b'\n').nth(1));
        let folder = file.parent().unwrap_or(&file);
        files.extend(values.map(|value| folder.join(OsStr::from_bytes(value))));
    }
    Ok(())
}

/// The same for the repository around a folder, if there is one.
pub(crate) async fn expect_no_included_pipe_around(folder: &Path) -> Result<(), BlockingPipe> {
    let around = folder.ancestors().find_map(|top| Repository::at(top).ok());
    match around {
        Some(Repository { git_dir, common_dir, .. }) => {
            expect_no_included_pipe(&[&git_dir, &common_dir]).await
        }
        None => Ok(()),
    }
}

fn complaint(ended: &Output) -> io::Error {
    io::Error::other(OsStr::from_bytes(&ended.stderr).to_string_lossy().trim().to_owned())
}

/// Reads a file of settings, or those of the user and the system, and those that they include, as data.
pub(crate) async fn asked(file: Option<&Path>, question: &[&str]) -> io::Result<Output> {
    let mut git = Command::new(own_trusted_program("git"));
    git.args(["config", "--includes", "-z"]);
    if let Some(file) = file {
        git.arg("--file").arg(file);
    }
    git.args(question)
        // In no repository: only these are read.
        .current_dir("/")
        .env_clear()
        .envs(environment())
        .env("GIT_DIR", "/dev/null")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    tokio::time::timeout(LIMIT, git.output()).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_kept_names_a_command() {
        // N6
        let is_named = |pattern: &str, key: &str| {
            let pattern = pattern.to_lowercase();
            match pattern.split_once('*') {
                None => pattern == key,
                Some((before, after)) => key.starts_with(before) && key.ends_with(after),
            }
        };
        for kept in KEPT_KEYS {
            assert!(COMMAND_KEYS.iter().all(|command| !is_named(command.key, kept)), "{kept}");
            assert_eq!(kept.split('.').count(), 2, "{kept}: a part that a repository names is never kept");
        }
    }

    #[tokio::test]
    async fn values_of_a_repository_stay_values() {
        // N6
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let odd = "[user]\n\tname = \"a \\\"b\\\\\\n[filter \\\"x\\\"]\\n\\tclean = c # d\"\n\temail = e; f\n[core]\n\tfilemode\n[filter \"y\"]\n\tclean = z\n";
        std::fs::write(&from, odd).unwrap();
        let kept = RepositorySettings::read(&[&from, &folder.path().join("absent")]).await.unwrap();
        assert_eq!(kept.last("user.name"), Some(b"a \"b\\\n[filter \"x\"]\n\tclean = c # d".as_slice()));
        std::fs::write(&to, kept.file()).unwrap();
        let again = RepositorySettings::read(&[&to]).await.unwrap();
        assert_eq!(again.kept, kept.kept);
        let all = listed(&to).await.unwrap();
        assert!(!String::from_utf8_lossy(&all).contains("filter.y"));
        assert!(kept.filters().iter().eq(["y"]));
        assert_eq!(plain_name("Filter.A.b.Clean"), "filter.A.b.clean");
        assert_eq!(plain_name("Core.fileMode"), "core.filemode");
    }

    #[tokio::test]
    async fn references_that_lie_elsewhere_are_refused() {
        // N6
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let read = async |value: &str| {
            let text = format!("[extensions]\n\trefStorage = {value}\n\trefStorage = files\n");
            std::fs::write(&file, text).unwrap();
            RepositorySettings::read(&[&file]).await
        };
        assert!(read("files").await.is_ok() && read("reftable").await.is_ok());
        for elsewhere in ["files:///elsewhere/.git", "reftable://refs", "\"\""] {
            let error = read(elsewhere).await.unwrap_err().to_string();
            assert!(error.contains("extensions.refstorage") && error.contains("itself"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_pipe_that_is_included_is_named_at_once() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let git_dir = top.join(".git");
        std::fs::create_dir_all(top.join("sub")).unwrap();
        std::fs::create_dir(&git_dir).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(top.join("sub/pipe")).status().unwrap().success());
        std::fs::write(top.join("sub/more"), "[INCLUDE]\n\tpath = pipe\n").unwrap();
        for path in ["../sub/pipe", "../sub/more"] {
            for section in ["include", "IncludeIf \"onbranch:main\""] {
                std::fs::write(git_dir.join("config"), format!("[{section}]\n\tpath = {path}\n")).unwrap();
                let refused = expect_no_included_pipe_around(&top.join("sub")).await.unwrap_err().to_string();
                let named = format!("{} is a pipe", top.join("sub/pipe").display());
                assert!(refused.contains(&named), "{refused}");
            }
        }
        std::fs::write(git_dir.join("config"), "[include]\n\tpath = config\n\tpath = absent\n").unwrap();
        expect_no_included_pipe(&[&git_dir]).await.unwrap();
    }

    #[tokio::test]
    async fn a_file_that_git_cannot_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, "[core").unwrap();
        let error = RepositorySettings::read(&[&file]).await.unwrap_err().to_string();
        assert!(error.contains("bad config line"), "{error}");
    }
}
