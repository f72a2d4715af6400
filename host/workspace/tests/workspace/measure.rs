//! Baselines and assessments of real folders: with git, without it, and while they are changed.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use baton_core::Digest;
use baton_core::facts::{ChangedFile, WorkspaceFacts};
use baton_workspace::{Baseline, MAX_CHANGED, MAX_FILES, MAX_HASHED_BYTES, Workspace};
use tempfile::TempDir;

pub(super) struct MeasureFixture {
    folder: TempDir,
    pub(super) workspace: Workspace,
}

impl MeasureFixture {
    pub(super) fn plain() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        Self { folder, workspace }
    }

    pub(super) fn with_git() -> Self {
        let place = Self::plain();
        place.git(&["init", "-q", "-b", "main"]);
        place
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn git(&self, arguments: &[&str]) {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
        let done =
            Command::new("git").args(identity).args(arguments).current_dir(self.path()).status().unwrap();
        assert!(done.success(), "git {arguments:?}");
    }

    pub(super) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "work"]);
    }

    pub(super) async fn baseline(&self) -> Baseline {
        // By way of JSON, as the host keeps it.
        let baseline = self.workspace.baseline(&[]).await.unwrap();
        let back = serde_json::from_str(&serde_json::to_string(&baseline).unwrap()).unwrap();
        assert_eq!(baseline, back);
        back
    }

    pub(super) async fn measure(&self, baseline: &Baseline) -> WorkspaceFacts {
        self.workspace.measure(baseline, &[]).await.unwrap()
    }
}

/// Path and whether it exists, for each changed file.
fn changed(facts: &WorkspaceFacts) -> Vec<(&str, bool)> {
    facts.changed.iter().map(|file| (file.path.as_str(), file.exists)).collect()
}

#[tokio::test]
async fn created_modified_and_deleted_files_are_told_without_git() {
    // A5
    let place = MeasureFixture::plain();
    place.write("kept", "k");
    place.write("src/edited", "before");
    place.write("gone", "g");
    let start = place.baseline().await;
    assert_eq!(place.measure(&start).await.changed, []);
    place.write("src/edited", "after!");
    place.write("src/new", "n");
    fs::remove_file(place.path().join("gone")).unwrap();
    place.write("target/built", "not looked at without git");
    place.write(".baton/run-1/progress.json", "ours");
    let facts = place.measure(&start).await;
    assert_eq!(changed(&facts), [("gone", false), ("src/edited", true), ("src/new", true)]);
    assert_eq!(facts.changed[1].digest, Some(Digest::of("after!")));
    assert_eq!((facts.changed[1].bytes, facts.changed[0].bytes), (6, 0));
    assert_eq!((facts.files, facts.git.present), (3, false));
}

#[tokio::test]
async fn git_facts_count_from_the_baseline() {
    // A5, C9
    let place = MeasureFixture::with_git();
    place.write("a", "1");
    let unborn = place.baseline().await;
    let facts = place.measure(&unborn).await;
    assert_eq!((facts.git.present, facts.git.branch.as_str(), facts.git.head.as_str()), (true, "main", ""));
    assert_eq!((facts.git.dirty_files, facts.git.commits_since), (1, 0));

    place.commit();
    assert_eq!(place.measure(&unborn).await.git.commits_since, 1);
    let start = place.baseline().await;
    place.write("a", "2");
    place.commit();
    place.write("b", "3");
    place.write(".baton/run-1/progress.json", "ours");
    let facts = place.measure(&start).await;
    assert_eq!((facts.git.commits_since, facts.git.dirty_files), (1, 1));
    assert_eq!(changed(&facts), [("a", true), ("b", true)]);
    assert!(facts.git.head.len() >= 40 && facts.git.head != start.head());

    place.git(&["checkout", "-q", "--detach"]);
    let facts = place.measure(&start).await;
    assert_eq!((facts.git.present, facts.git.branch.as_str()), (true, ""));
}

#[tokio::test]
async fn ignored_files_are_left_out_unless_an_objective_names_them() {
    let place = MeasureFixture::with_git();
    place.write(".gitignore", "out/\n");
    let expected =
        ["out/wanted".to_owned(), "out/other".to_owned(), "/etc/passwd".to_owned(), "../x".to_owned()];
    let start = place.workspace.baseline(&expected).await.unwrap();
    place.write("out/wanted", "w");
    place.write("out/noise", "n");
    let facts = place.workspace.measure(&start, &expected).await.unwrap();
    assert_eq!(changed(&facts), [("out/wanted", true)]);
    assert_eq!(facts.missing, ["../x", "/etc/passwd", "out/other"]);
}

#[tokio::test]
async fn what_interpreters_and_test_runners_leave_is_no_work() {
    // A11: an agent that only runs the tests has changed nothing.
    for place in [MeasureFixture::plain(), MeasureFixture::with_git()] {
        place.write("calc.py", "1");
        let start = place.baseline().await;
        place.write("__pycache__/calc.cpython-311.pyc", "built");
        place.write("src/__pycache__/a.pyc", "built");
        place.write(".pytest_cache/v/lastfailed", "{}");
        assert_eq!(place.measure(&start).await.changed, []);
        place.write("pycache.py", "work");
        assert_eq!(changed(&place.measure(&start).await), [("pycache.py", true)]);
    }
}

#[tokio::test]
async fn a_folder_that_a_repository_around_it_ignores_is_looked_at_without_git() {
    let place = MeasureFixture::with_git();
    place.write(".gitignore", "scratch/\n");
    place.write("scratch/a", "1");
    let inner = Workspace::open(&place.path().join("scratch")).unwrap();
    let start = inner.baseline(&[]).await.unwrap();
    place.write("scratch/b", "2");
    let facts = inner.measure(&start, &[]).await.unwrap();
    assert_eq!((changed(&facts), facts.git.present), (vec![("b", true)], false));

    // One that it does not ignore is part of it, and paths are its own.
    place.write("part/a", "1");
    let part = Workspace::open(&place.path().join("part")).unwrap();
    let start = part.baseline(&[]).await.unwrap();
    place.write("part/b", "2");
    let facts = part.measure(&start, &[]).await.unwrap();
    assert_eq!((changed(&facts), facts.git.dirty_files), (vec![("b", true)], 2));
}

#[tokio::test]
async fn a_repository_inside_the_workspace_is_looked_into() {
    let place = MeasureFixture::with_git();
    place.write("inner/a", "1");
    let inner = place.path().join("inner");
    let made = Command::new("git").args(["init", "-q"]).current_dir(&inner).status().unwrap();
    assert!(made.success());
    let start = place.baseline().await;
    place.write("inner/a", "2");
    place.write("inner/src/b", "1");
    assert_eq!(changed(&place.measure(&start).await), [("inner/a", true), ("inner/src/b", true)]);
}

#[tokio::test]
async fn an_edit_that_keeps_size_and_time_is_seen_and_a_touch_is_not() {
    let place = MeasureFixture::plain();
    place.write("edited", "one");
    place.write("touched", "one");
    let start = place.baseline().await;
    let time = fs::metadata(place.path().join("edited")).unwrap().modified().unwrap();
    place.write("edited", "two");
    File::options().write(true).open(place.path().join("edited")).unwrap().set_modified(time).unwrap();
    File::options()
        .write(true)
        .open(place.path().join("touched"))
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    assert_eq!(changed(&place.measure(&start).await), [("edited", true)]);
}

#[tokio::test]
async fn a_file_too_large_to_hash_is_told_by_size_and_times() {
    let place = MeasureFixture::plain();
    let large = |letter: &str| letter.repeat(usize::try_from(MAX_HASHED_BYTES).unwrap() + 1);
    place.write("large", &large("a"));
    let start = place.baseline().await;
    assert_eq!(place.measure(&start).await.changed, []);
    place.write("large", &format!("{}b", large("a")));
    let facts = place.measure(&start).await;
    assert_eq!((changed(&facts), &facts.changed[0].digest), (vec![("large", true)], &None));
}

#[tokio::test]
async fn an_agent_that_deletes_all_it_can_is_seen_and_survived() {
    // Bad input: "deletes everything it can in the workspace".
    let place = MeasureFixture::with_git();
    place.write("src/a", "1");
    place.commit();
    let start = place.baseline().await;
    fs::remove_dir_all(place.path().join(".git")).unwrap();
    let facts = place.measure(&start).await;
    assert_eq!((facts.git.present, facts.changed.len()), (false, 0));
    fs::remove_dir_all(place.path()).unwrap();
    let facts = place.measure(&start).await;
    assert_eq!((changed(&facts), facts.files), (vec![("src/a", false)], 0));
    assert!(place.workspace.write_projection("x", b"").is_err());
}

#[tokio::test]
async fn git_made_or_lost_on_the_way_invents_no_change() {
    let place = MeasureFixture::plain();
    place.write("a", "1");
    place.write("out/old", "there before, ignored later");
    let start = place.baseline().await;
    place.git(&["init", "-q"]);
    place.write(".gitignore", "out/\n");
    assert_eq!(changed(&place.measure(&start).await), [(".gitignore", true)]);

    let with_git = place.baseline().await;
    fs::remove_dir_all(place.path().join(".git")).unwrap();
    assert_eq!(changed(&place.measure(&with_git).await), []);
    place.write("out/new", "made after git was lost");
    assert_eq!(changed(&place.measure(&with_git).await), [("out/new", true)]);
}

#[tokio::test]
async fn links_pipes_strange_names_and_unreadable_files_do_no_harm() {
    let place = MeasureFixture::plain();
    symlink("loop", place.path().join("loop")).unwrap();
    symlink(".", place.path().join("here")).unwrap();
    symlink("/etc", place.path().join("outside")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    fs::write(place.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9")), "x").unwrap();
    place.write("locked", "secret");
    fs::set_permissions(place.path().join("locked"), fs::Permissions::from_mode(0o000)).unwrap();
    let expected = ["here/locked".to_owned(), "outside/bin".to_owned()];
    let start = place.workspace.baseline(&expected).await.unwrap();
    let facts = place.measure(&start).await;
    // A pipe holds no work.
    assert_eq!((facts.changed.len(), facts.files), (0, 5));

    fs::remove_file(place.path().join("outside")).unwrap();
    symlink("/usr", place.path().join("outside")).unwrap();
    fs::write(place.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9")), "y").unwrap();
    let facts = place.workspace.measure(&start, &expected).await.unwrap();
    assert_eq!(changed(&facts), [("caf\u{fffd}", true), ("outside", true)]);
    assert_eq!(facts.missing, ["outside/bin"], "a link out of the workspace shows nothing");
}

#[tokio::test]
async fn more_files_than_are_listed_are_still_told_where_git_is() {
    let place = MeasureFixture::with_git();
    for ordinal in 0..MAX_FILES {
        fs::write(place.path().join(format!("f{ordinal:05}")), "x").unwrap();
    }
    place.write("z-committed", "1");
    place.write("z-kept", "1");
    place.commit();
    place.write("z-dirty-before", "1");
    let start = place.baseline().await;
    assert_eq!(place.measure(&start).await.changed, []);
    place.write("z-committed", "2");
    place.commit();
    place.write("z-new", "1");
    place.write("z-dirty-before", "2");
    let facts = place.measure(&start).await;
    assert_eq!(changed(&facts), [("z-committed", true), ("z-dirty-before", true), ("z-new", true)]);
    assert_eq!(usize::try_from(facts.files).unwrap(), MAX_FILES);
}

#[tokio::test]
async fn what_the_next_run_reads_is_compared_whatever_else_is_there() {
    // N6: in a folder without git, a file behind the first 10,000 was never looked at; one that git ignores was not either.
    let names = [
        "agentd",
        "conf",
        "conf/house.toml",
        "gone.toml",
        "job.toml",
        "kept.toml",
        "new.toml",
        "real/house.toml",
    ]
    .map(str::to_owned);
    for place in [MeasureFixture::plain(), MeasureFixture::with_git()] {
        for ordinal in 0..MAX_FILES {
            place.write(&format!("aaa/{ordinal:05}"), "");
        }
        for file in
            ["agentd/__main__.py", "agentd/lib/x.py", "gone.toml", "job.toml", "kept.toml", "real/house.toml"]
        {
            place.write(file, "1");
        }
        place.write(".gitignore", "*.toml\n");
        symlink("real", place.path().join("conf")).unwrap();
        let baseline = || place.workspace.baseline_with_next_run(&[], &names);
        let start = baseline().await.unwrap();
        let same = place.measure(&start).await;
        assert_eq!((same.next_run_files, same.has_unseen), (Vec::new(), !same.git.present));

        fs::remove_file(place.path().join("conf")).unwrap();
        symlink("agentd", place.path().join("conf")).unwrap();
        place.write("agentd/lib/x.py", "2");
        place.write("agentd/__pycache__/x.pyc", "compiled");
        place.write("job.toml", "2");
        place.write("new.toml", "1");
        fs::remove_file(place.path().join("gone.toml")).unwrap();
        let expected = ["agentd", "conf", "conf/house.toml", "gone.toml", "job.toml", "new.toml"];
        assert_eq!(place.measure(&start).await.next_run_files, expected);
        // A later start of the same phase, as in a loop, hides nothing.
        let later = baseline().await.unwrap().replacing(start);
        assert_eq!(place.measure(&later).await.next_run_files, expected);
    }
}

#[tokio::test]
async fn a_folder_with_more_files_than_are_looked_at_is_never_known_to_be_the_same() {
    // N6
    let place = MeasureFixture::plain();
    for ordinal in 0..=MAX_FILES {
        place.write(&format!("agentd/{ordinal:05}"), "");
    }
    let start = place.workspace.baseline_with_next_run(&[], &["agentd".to_owned()]).await.unwrap();
    assert_eq!(place.measure(&start).await.next_run_files, ["agentd"]);
}

#[tokio::test]
async fn more_changes_than_are_named_are_counted() {
    let place = MeasureFixture::plain();
    let start = place.baseline().await;
    for ordinal in 0..MAX_CHANGED + 7 {
        place.write(&format!("f{ordinal:04}"), "");
    }
    let facts = place.measure(&start).await;
    assert_eq!((facts.changed.len(), facts.changed_beyond), (MAX_CHANGED, 7));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_may_edit_while_the_host_looks() {
    // Bad input: "the user edits a file while an agent works".
    let place = MeasureFixture::with_git();
    for ordinal in 0..50 {
        place.write(&format!("f{ordinal}"), "start");
    }
    let start = place.baseline().await;
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0_usize;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let path = place.path().join(format!("f{}", round % 50));
                if round.is_multiple_of(3) {
                    let _ = fs::remove_file(&path);
                } else {
                    let _ = fs::write(&path, "edited".repeat(round % 7 + 1));
                }
                round += 1;
            }
        });
        let here = tokio::runtime::Handle::current();
        for _ in 0..10 {
            tokio::task::block_in_place(|| here.block_on(place.workspace.measure(&start, &[]))).unwrap();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    place.write("f1", "the last word");
    let facts = place.measure(&start).await;
    let last = facts.changed.iter().find(|file| file.path == "f1").unwrap();
    assert_eq!(last.digest, Some(Digest::of("the last word")));
}

#[tokio::test]
async fn a_hook_that_an_agent_plants_is_not_run() {
    let place = MeasureFixture::with_git();
    place.write("a", "1");
    place.commit();
    let trap = place.path().join(".git/trap");
    fs::write(&trap, format!("#!/bin/sh\ntouch {}/sprung\n", place.path().display())).unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    place.git(&["config", "core.fsmonitor", trap.to_str().unwrap()]);
    let start = place.baseline().await;
    assert_eq!(place.measure(&start).await.changed, []);
    assert!(!place.path().join("sprung").exists());
}

#[test]
fn only_a_folder_that_exists_is_a_workspace() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for name in ["absent", "file"] {
        let error = Workspace::open(&folder.path().join(name)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("name an existing folder"), "{error}");
    }
}

#[tokio::test]
async fn a_link_whose_target_is_the_text_of_a_file_is_another_file() {
    // N6: the system follows it to another program.
    let names = ["agent.sh", "tools"].map(str::to_owned);
    for place in [MeasureFixture::plain(), MeasureFixture::with_git()] {
        let text = "#!/bin/sh\necho hello\n";
        let files = ["agent.sh", "tools/x.sh", "work.txt"];
        for file in files {
            place.write(file, text);
        }
        let start = place.workspace.baseline_with_next_run(&[], &names).await.unwrap();
        for file in files {
            fs::remove_file(place.path().join(file)).unwrap();
            symlink(text, place.path().join(file)).unwrap();
        }
        let facts = place.measure(&start).await;
        assert_eq!(facts.next_run_files, names);
        assert_eq!(changed_paths(&facts.changed), files);
        // And the reverse.
        let start = place.workspace.baseline_with_next_run(&[], &names).await.unwrap();
        for file in files {
            fs::remove_file(place.path().join(file)).unwrap();
            place.write(file, text);
        }
        let facts = place.measure(&start).await;
        assert_eq!(facts.next_run_files, names);
        assert_eq!(changed_paths(&facts.changed), files);
    }
}

pub(super) fn changed_paths(files: &[ChangedFile]) -> Vec<&str> {
    files.iter().map(|file| file.path.as_str()).collect()
}
