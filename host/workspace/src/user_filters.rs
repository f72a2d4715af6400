//! Filters and merge drivers of the user's own settings that the host does not let git run. Git starts them at the top of a work tree, outside
//! of any sandbox, and `sh tools/clean.sh` or `python3 -m strip` is then a file that an agent or a cloned folder brings. One runs only if
//! each of its commands is one plain program that agents cannot write, and whose words name nothing that is looked up in the work tree.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use baton_sandbox::{is_work_of_agents, own_trusted_path, runs_no_work_of_agents};

use crate::git_config::asked;

/// Programs whose arguments never name a program or file that they run or load.
const KNOWN: [&str; 7] = ["cat", "false", "git-crypt", "git-lfs", "nbstripout", "tr", "true"];

/// Commands of git itself for which the same holds.
const KNOWN_OF_GIT: [&str; 2] = ["lfs", "merge-file"];

/// Git's behaviour without a merge driver.
const MERGE_AS_TEXT: &str = "git merge-file --marker-size=%L %A %O %B";

/// Settings of a user include fewer files.
const MAX_FILES: usize = 100;

/// Commands in the user's settings that git does not get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UserCommandsOff {
    filters: BTreeSet<OsString>,
    drivers: BTreeSet<OsString>,
}

impl UserCommandsOff {
    /// Reads the settings of the user and of the system. Conditional includes count in any case: an agent may change the
    /// branch, which makes the condition true later.
    pub(crate) async fn read() -> io::Result<Self> {
        let mut off = Self::default();
        let (mut seen, mut left) = (BTreeSet::new(), vec![None]);
        while let Some(file) = left.pop() {
            for (_, key, value) in list(file.as_deref(), &["--list"]).await? {
                off.take(&key, &value);
            }
            let question = ["--type=path", "--get-regexp", r"^includeif\..*\.path$"];
            for (origin, _, value) in list(file.as_deref(), &question).await? {
                let included = origin.parent().unwrap_or(&origin).join(OsStr::from_bytes(&value));
                if included.is_file() && seen.insert(included.clone()) {
                    left.push(Some(included));
                }
            }
            if seen.len() > MAX_FILES {
                return Err(io::Error::other(format!(
                    "your git settings include more than {MAX_FILES} files on a condition (includeIf): remove some"
                )));
            }
        }
        Ok(off)
    }

    /// One setting.
    fn take(&mut self, key: &[u8], command: &[u8]) {
        let Some((section, name, key)) = parts(key) else { return };
        let name = OsString::from_vec(name.to_vec());
        let (names, name) = match (section, key) {
            (b"filter", b"clean" | b"smudge" | b"process") => (&mut self.filters, name),
            (b"merge", b"driver") => (&mut self.drivers, name),
            // Run by the filter of git-lfs.
            (b"lfs", b"clean" | b"smudge") => (&mut self.filters, "lfs".into()),
            _ => return,
        };
        if !std::str::from_utf8(command).is_ok_and(is_plain) {
            names.insert(name);
        }
    }

    /// Whether files that go through this filter stay as they are.
    pub(crate) fn has_filter(&self, name: &str) -> bool {
        self.filters.iter().any(|off| off.to_string_lossy() == name)
    }

    /// Whether no filter is off.
    pub(crate) fn has_no_filter(&self) -> bool {
        self.filters.is_empty()
    }

    /// Variables that make git, and its child processes, treat these as not set. As arguments, names with `=` would be misread.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (OsString, OsString)> {
        let setting = |section: &str, name: &OsStr, key: &str, value: &str| {
            let whole = [section.as_ref(), OsStr::new("."), name, OsStr::new("."), key.as_ref()];
            (whole.into_iter().collect::<OsString>(), OsString::from(value))
        };
        let filters = self.filters.iter().flat_map(|name| {
            [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")]
                .map(|(key, value)| setting("filter", name, key, value))
        });
        let drivers = self.drivers.iter().map(|name| setting("merge", name, "driver", MERGE_AS_TEXT));
        let settings: Vec<(OsString, OsString)> = filters.chain(drivers).collect();
        let count = ("GIT_CONFIG_COUNT".into(), settings.len().to_string().into());
        let numbered = settings.into_iter().enumerate().flat_map(|(number, (key, value))| {
            let name = |what: &str| OsString::from(format!("GIT_CONFIG_{what}_{number}"));
            [(name("KEY"), key), (name("VALUE"), value)]
        });
        std::iter::once(count).chain(numbered)
    }
}

/// The section, the part between, and the last part.
fn parts(key: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (first, last) =
        (key.iter().position(|byte| *byte == b'.')?, key.iter().rposition(|byte| *byte == b'.')?);
    (first < last).then(|| (&key[..first], &key[first + 1..last], &key[last + 1..]))
}

/// Git's list: the file of each setting, its name, its value. Empty if git finds none.
async fn list(file: Option<&Path>, question: &[&str]) -> io::Result<Vec<(PathBuf, Vec<u8>, Vec<u8>)>> {
    let mut whole = vec!["--show-origin"];
    whole.extend(question);
    let ended = asked(file, &whole).await?;
    if !ended.status.success() && ended.status.code() != Some(1) {
        let why = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        return Err(io::Error::other(format!("cannot read your git settings: {why}")));
    }
    let mut fields = ended.stdout.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(origin), Some(setting)) = (fields.next(), fields.next()) {
        let mut parts = setting.splitn(2, |byte| *byte == b'\n');
        let (key, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let origin = Path::new(OsStr::from_bytes(origin.strip_prefix(b"file:").unwrap_or(origin)));
        found.push((origin.to_owned(), key.to_vec(), value.to_vec()));
    }
    Ok(found)
}

/// Whether a command runs one program, and nothing from a work tree or a place where agents write. True for an empty one.
fn is_plain(command: &str) -> bool {
    let Some(words) = command.split_ascii_whitespace().map(word).collect::<Option<Vec<String>>>() else {
        return false;
    };
    let Some((program, rest)) = words.split_first() else { return true };
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_known_of_git = |word: &String| KNOWN_OF_GIT.contains(&word.as_str());
    let is_known = KNOWN.contains(&name) || name == "git" && rest.first().is_some_and(is_known_of_git);
    is_trusted_program(program, is_known) && (is_known || rest.iter().all(|word| names_nothing_of_tree(word)))
}

/// A word that a shell would leave unchanged, without its quotes and with the home that it begins with.
fn word(word: &str) -> Option<String> {
    let quoted = |quote: char| word.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let inner = quoted('"').or_else(|| quoted('\'')).unwrap_or(word);
    let (home, rest) = match word.strip_prefix("~/") {
        Some(rest) => (std::env::var("HOME").ok()? + "/", rest),
        None => (String::new(), inner),
    };
    let is_simple = |c: char| c.is_ascii_alphanumeric() || "_./%+:,@=-".contains(c);
    (!rest.is_empty() && rest.chars().all(is_simple)).then(|| home + rest)
}

/// Whether it is a path of the kernel for the open files of processes, or for their working folder.
fn is_of_kernel(path: &str) -> bool {
    ["/proc", "/dev"].iter().any(|folder| Path::new(path).starts_with(folder))
}

/// A program by its absolute path, or the first one of its name in git's `PATH`. A known one may be absent: then git reports
/// it.
fn is_trusted_program(program: &str, is_known: bool) -> bool {
    if program.contains(['%', '=']) || is_of_kernel(program) {
        return false;
    }
    if program.starts_with('/') {
        return runs_no_work_of_agents(Path::new(program));
    }
    let path = own_trusted_path();
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(is_program);
    !program.contains('/') && found.map_or(is_known, |found| runs_no_work_of_agents(&found))
}

/// An option without a value, or a file that agents do not write.
fn names_nothing_of_tree(word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        return long.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    }
    let is_short = matches!(word.as_bytes(), [b'-', letter] if letter.is_ascii_alphabetic());
    let path = Path::new(word);
    is_short || path.is_absolute() && !is_of_kernel(word) && path.is_file() && !is_work_of_agents(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_plain_if_it_runs_nothing_of_the_tree() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let script = place.path().canonicalize().unwrap().join("clean.py");
        std::fs::write(&script, "").unwrap();
        let script = script.display();
        for plain in [
            "",
            "cat",
            "tr a-z n-za-m",
            "git-lfs filter-process",
            "git-lfs clean -- %f",
            "\"git-lfs\" smudge --skip -- \"%f\"",
            "git lfs clean -- %f",
            "/usr/bin/git-crypt clean",
            "true",
            "/bin/sh --posix",
            &format!("/bin/sh {script}"),
        ] {
            assert!(is_plain(plain), "{plain}");
        }
        for other in [
            "\"/usr/bin/python3\" -m nbstripout",
            "sh tools/c.sh",
            "sh c.sh",
            "sh %f",
            "/bin/sh -c x",
            "tools/clean",
            "./git-lfs clean",
            "%f",
            "A=b cat",
            "$HOME/tools/clean.sh",
            "cd /usr && ./clean",
            "/proc/self/cwd/clean",
            "sh /dev/stdin",
            "git -c alias.x=y x",
            "git x",
            "cat $(sh x)",
            "env --split-string=x",
            "/bin/sh /usr",
            "no-such-program-anywhere",
        ] {
            assert!(!is_plain(other), "{other}");
        }
        baton_sandbox::exclude_writable(place.path());
        assert!(!is_plain(&format!("/bin/sh {script}")) && !is_plain(&script.to_string()));
    }

    #[test]
    fn what_is_off_is_told_to_git_by_its_whole_name() {
        // N6
        let mut off = UserCommandsOff::default();
        off.take(b"filter.a=b.c.clean", b"sh x");
        off.take(b"filter.lfs.clean", b"git-lfs clean -- %f");
        off.take(b"merge.m.driver", b"npx merge %A");
        off.take(b"merge.ours.driver", b"true");
        off.take(b"merge.renames", b"sh x");
        assert!(off.has_filter("a=b.c") && !off.has_filter("lfs"));
        let ended = std::process::Command::new("git")
            .args(["config", "--get-regexp", r"^(filter|merge)\."])
            .current_dir("/")
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")])
            .envs(off.environment())
            .output()
            .unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        let lines: Vec<&str> = said.lines().map(str::trim_end).collect();
        assert_eq!(
            lines,
            [
                "filter.a=b.c.clean",
                "filter.a=b.c.smudge",
                "filter.a=b.c.process",
                "filter.a=b.c.required false",
                "merge.m.driver git merge-file --marker-size=%L %A %O %B",
            ]
        );
        off.take(b"lfs.extension.x.clean", b"sh x");
        assert!(off.has_filter("lfs"));
    }
}
