//! The commits that came to HEAD by committing in the folder itself, or by a rebase of such ones, according to git's log of
//! HEAD there. Their files were in the folder: their changes are edits of the folder's owner.

use std::collections::BTreeSet;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use baton_core::UnixMs;

use super::{GitReader, is_commit};
use crate::blocking_pipes::BlockingPipe;
use crate::regular_file::open_plain;

/// At most this much of a log is read, from its end: some thousand moves of HEAD.
const MAX_LOG_BYTES: u64 = 1 << 20;

/// How an entry of the log of HEAD has moved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadMove {
    /// To a commit of the folder's content, or to a rebased one.
    Commit,
    /// A rebase began or ended.
    Rebase,
    /// Git may have written other contents to the folder.
    Other,
}

impl GitReader<'_> {
    /// The commits that HEAD was moved to since then; none if something else has moved it, a stash was made, or that is not
    /// known.
    pub(super) fn own_commits_since(&self, since: UnixMs) -> Option<BTreeSet<String>> {
        let repository = &self.view.repository;
        let stashed = log_since(&repository.common_dir.join("logs/refs/stash"), since);
        if stashed.is_none_or(|stashed| !stashed.is_empty()) {
            return None;
        }
        own_commits(&log_since(&repository.git_dir.join("logs/HEAD"), since)?)
    }

    /// The newest commit on HEAD that is not one of these; none if there is no other.
    pub(super) async fn newest_without(
        &self,
        own: &BTreeSet<String>,
    ) -> Result<Option<String>, BlockingPipe> {
        let count = format!("--max-count={}", own.len() + 1);
        let listed =
            self.ask(&["rev-list", "--first-parent", &count, "HEAD", "--"]).await?.unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        Ok(listed.lines().find(|commit| is_commit(commit) && !own.contains(*commit)).map(str::to_owned))
    }
}

/// The lines of a log of git from the first that was written since then; none if they cannot be read, or are incomplete.
fn log_since(path: &Path, since: UnixMs) -> Option<Vec<String>> {
    let mut file = match open_plain(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Vec::new()),
        file => file.ok()?,
    };
    let skipped = file.metadata().ok()?.len().saturating_sub(MAX_LOG_BYTES);
    file.seek(SeekFrom::Start(skipped)).ok()?;
    let mut log = Vec::new();
    file.take(MAX_LOG_BYTES).read_to_end(&mut log).ok()?;
    let log = String::from_utf8_lossy(&log);
    // The first one may be cut.
    let mut lines: Vec<&str> = log.lines().skip(usize::from(skipped > 0)).collect();
    let is_since = |line: &&str| written_at(line).is_none_or(|at| at >= since.0 / 1000);
    let first = lines.iter().position(is_since).unwrap_or(lines.len());
    let lines = lines.split_off(first);
    (skipped == 0 || first > 0).then(|| lines.into_iter().map(str::to_owned).collect())
}

/// When an entry was written, in seconds since the epoch.
fn written_at(line: &str) -> Option<u64> {
    let (about, _) = line.split_once('\t').unwrap_or((line, ""));
    about.rsplit_once("> ")?.1.split(' ').next()?.parse().ok()
}

/// The commits to which these entries of the log of HEAD have moved it, if nothing else has.
fn own_commits(log: &[String]) -> Option<BTreeSet<String>> {
    let mut own = BTreeSet::new();
    for line in log {
        let (about, why) = line.split_once('\t')?;
        match HeadMove::of(why) {
            HeadMove::Commit => own.insert(about.split(' ').nth(1)?.to_owned()),
            HeadMove::Rebase => continue,
            HeadMove::Other => return None,
        };
    }
    Some(own)
}

impl HeadMove {
    fn of(why: &str) -> Self {
        let action = why.split_once(": ").map_or(why, |(action, _)| action);
        let step = action.rsplit_once(" (").and_then(|(_, step)| step.strip_suffix(')'));
        let is_rebase =
            action.starts_with("rebase") || action.starts_with("pull") && action.contains("--rebase");
        match step {
            _ if why.starts_with("baton: phase ") => Self::Commit,
            None if action == "commit" => Self::Commit,
            Some("initial" | "amend") if action.starts_with("commit (") => Self::Commit,
            Some("pick" | "reword" | "edit" | "fixup" | "squash" | "continue") if is_rebase => Self::Commit,
            Some("start" | "finish") if is_rebase => Self::Rebase,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(to: &str, at: u64, why: &str) -> String {
        format!("{} {to} t > t <t@example.org> {at} +0100\t{why}", "0".repeat(40))
    }

    #[test]
    fn commits_and_rebases_alone_leave_a_folder_to_its_user() {
        let own = |whys: &[&str]| {
            let log: Vec<String> =
                whys.iter().enumerate().map(|(n, why)| line(&format!("c{n}"), 9, why)).collect();
            own_commits(&log).map(|own| own.into_iter().collect::<Vec<_>>().join(" "))
        };
        assert_eq!(
            own(&["commit: a > b: c", "commit (amend): d", "baton: phase p1"]).as_deref(),
            Some("c0 c1 c2")
        );
        let rebase =
            ["rebase (start): checkout up", "rebase (pick): a", "rebase -i (finish): returning to main"];
        assert_eq!(own(&rebase).as_deref(), Some("c1"));
        let pull =
            ["pull -q --rebase up main (start): checkout 1f", "pull -q --rebase up main (pick): a (b): c"];
        assert_eq!(own(&pull).as_deref(), Some("c1"));
        assert_eq!(own(&[]).as_deref(), Some(""));
        for other in [
            "reset: moving to HEAD",
            "checkout: moving from main to other",
            "merge up: Fast-forward",
            "pull: Fast-forward",
            "pull --rebase: Fast-forward",
            "commit (merge): a",
            "commit (cherry-pick): a",
            "rebase (abort): returning to main",
            "baton: land p1",
            "",
        ] {
            assert_eq!(own(&["commit: a", other]), None, "{other}");
        }
    }

    #[test]
    fn a_log_is_read_from_a_moment_on() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("HEAD");
        let since = |at: u64| log_since(&path, UnixMs(at)).map(|lines| lines.len());
        assert_eq!(since(0), Some(0), "there is none");
        let lines = [line("a", 9, "commit: 1"), line("b", 10, "commit: 2"), line("c", 8, "commit: 3")];
        std::fs::write(&path, lines.join("\n")).unwrap();
        // Entries after an entry of that time are later, regardless of the clock.
        assert_eq!([since(9_000), since(9_999), since(10_001), since(11_000)], [3, 3, 2, 0].map(Some));
        let long = (0..20_000).map(|n| line("a", n, "commit: 1") + "\n").collect::<String>();
        std::fs::write(&path, long).unwrap();
        assert_eq!([since(0), since(19_999_000)], [None, Some(1)]);
    }
}
