//! The inbox on a real file system: accepted and refused files, and that nothing is lost between.

use std::borrow::Cow;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use baton_inbox::{AttemptRecord, Inbox, MAX_FILE_BYTES, MAX_FILES_PER_SCAN, ReceivedReport, ToolCall};
use cap_std::fs::Dir;
use tempfile::TempDir;

const GOOD: &str = r#"{"report": "attempt-record", "approach": "a", "outcome": "b"}"#;

/// Ahead of any clock, so that no test hangs on how fast it runs.
const NOW: u64 = 1 << 33;

fn attempt(approach: &str, outcome: &str) -> ToolCall {
    ToolCall::AttemptRecord(AttemptRecord { approach: approach.into(), outcome: outcome.into() })
}

/// The text that these tests mask as a secret.
const SECRET: &str = "hunter2hunter2";

fn mask(text: &str) -> Cow<'_, str> {
    match text.contains(SECRET) {
        true => text.replace(SECRET, "[secret]").into(),
        false => text.into(),
    }
}

/// With an opener that knows of no attack.
fn open(workspace: &Path) -> Inbox {
    let root = workspace.to_owned();
    let opener = move |path: &Path| {
        fs::create_dir_all(root.join(path))?;
        Dir::open_ambient_dir(root.join(path), cap_std::ambient_authority())
    };
    Inbox::open(workspace, ".baton/run-1", Box::new(opener), mask).unwrap()
}

struct InboxFixture {
    workspace: TempDir,
    inbox: Inbox,
}

impl InboxFixture {
    fn new() -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let inbox = open(workspace.path());
        Self { workspace, inbox }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.inbox.folder().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn written_at(&self, name: &str, unix_s: u64) {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(unix_s);
        fs::File::options().write(true).open(self.path(name)).unwrap().set_modified(time).unwrap();
    }

    fn scan(&mut self) -> Vec<ReceivedReport> {
        self.inbox.scan(false).unwrap()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn problem(received: &[ReceivedReport]) -> String {
    assert_eq!(received.len(), 1, "{received:?}");
    received[0].result.as_ref().unwrap_err().to_string()
}

#[test]
fn what_was_written_after_a_time_is_rejected_whatever_time_it_claims() {
    // N6
    let mut fixture = InboxFixture::new();
    fs::write(fixture.path("early.json"), GOOD).unwrap();
    let early = fixture.path("early.json").metadata().unwrap();
    let after_ms = u64::try_from(early.ctime() * 1000 + early.ctime_nsec() / 1_000_000).unwrap();
    // Its change is later, and it claims to be old.
    let is_later = |fixture: &InboxFixture| {
        fixture.path("late.json").metadata().is_ok_and(|late| late.ctime() > early.ctime())
    };
    while !is_later(&fixture) {
        fs::write(fixture.path("late.json"), GOOD).unwrap();
        let old = fs::File::open(fixture.path("late.json")).unwrap();
        old.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }
    let rejected = fixture.inbox.reject_written_after(Some(after_ms), "it is nobody's").unwrap();
    assert_eq!(rejected, ["late.json"]);
    assert_eq!(fixture.inbox.scan(true).unwrap().len(), 1);
    assert_eq!(fixture.inbox.reject_written_after(None, "it is nobody's").unwrap(), ["early.json"]);
}

#[test]
fn a_report_is_handed_over_once_and_moved_when_confirmed() {
    let mut place = InboxFixture::new();
    place.write("note.json", GOOD);
    let received = place.scan();
    let expected = attempt("a", "b");
    assert_eq!(received[0].result, Ok((None, expected)));
    assert!(place.scan().is_empty());
    assert!(place.path("note.json").exists());
    place.inbox.confirm("note.json").unwrap();
    assert!(!place.path("note.json").exists());
    assert_eq!(place.names("taken"), [format!("note.{}.json", received[0].digest.short())]);
    place.inbox.confirm("note.json").unwrap();
}

#[test]
fn no_secret_of_a_report_stays_in_the_workspace() {
    // C8
    let mut place = InboxFixture::new();
    let note = |outcome: &str| GOOD.replace("\"b\"", &format!("\"{outcome}\""));
    place.write("taken.json", &note(SECRET));
    place.write("unfit.json", &note(&format!("two {SECRET}")));
    place.write("odd.json", &format!("{{\"report\": \"{SECRET}\"}}"));
    let received = place.scan();
    assert!(received.iter().any(|one| one.result == Ok((None, attempt("a", SECRET)))), "it arrives as it is");
    place.inbox.confirm("taken.json").unwrap();
    place.inbox.reject("unfit.json", &format!("{SECRET} does not fit")).unwrap();
    for (folder, files) in [("taken", 1), ("rejected", 4)] {
        let names = place.names(folder);
        assert_eq!(names.len(), files, "{names:?}");
        for name in names {
            let text = fs::read_to_string(place.path(folder).join(&name)).unwrap();
            assert!(text.contains("[secret]") && !text.contains(SECRET), "{name}: {text}");
        }
    }
}

#[test]
fn a_crash_before_the_confirmation_loses_nothing() {
    let mut place = InboxFixture::new();
    place.write("note.json", GOOD);
    let before = place.scan();
    place.inbox = open(place.workspace.path());
    assert_eq!(place.scan(), before);
}

#[test]
fn a_file_written_anew_is_handed_over_anew() {
    let mut place = InboxFixture::new();
    place.write("note.json", GOOD);
    place.scan();
    place.write("note.json", &GOOD.replace("\"a\"", "\"x\""));
    place.inbox.confirm("note.json").unwrap();
    assert!(place.path("note.json").exists(), "confirming the old content must not take the new one away");
    place.write("note.json", &GOOD.replace("\"b\"", "\"c\""));
    let received = place.scan();
    let expected = attempt("a", "c");
    assert_eq!(received[0].result, Ok((None, expected)));
}

#[test]
fn a_bad_file_is_moved_aside_with_an_explanation() {
    let mut place = InboxFixture::new();
    place.write("note.json", r#"{"report": "attempt-record", "approach": "a", "result": "b"}"#);
    let said = problem(&place.scan());
    assert!(said.contains("note.json, line 1, field \"result\": unknown field"), "{said}");
    assert!(!place.path("note.json").exists());
    let names = place.names("rejected");
    assert_eq!(names.len(), 2);
    let why = fs::read_to_string(place.path("rejected").join(&names[1])).unwrap();
    assert!(names[1].ends_with(".json.why.txt") && why.contains(&said), "{why}");
    assert!(place.scan().is_empty());
}

#[test]
fn half_written_files_are_left_alone() {
    let mut place = InboxFixture::new();
    place.write(".note.json", GOOD);
    place.write("README.md", baton_inbox::INSTRUCTIONS);
    place.write("note.json.tmp", GOOD);
    place.written_at("note.json.tmp", NOW);
    place.write("slow.json", &GOOD[..20]);
    place.written_at("slow.json", NOW);
    assert!(place.scan().is_empty());
    // An agent that ended its prompt is not waited for: it gets the error, and the file stays.
    let told = place.inbox.scan(true).unwrap();
    assert_eq!(told.len(), 2);
    assert!(
        told.iter().all(|told| told.unfinished && told.result.is_err()) && place.names("rejected").is_empty()
    );
    place.write("slow.json", GOOD);
    assert!(place.scan()[0].result.is_ok());
    place.inbox.confirm("slow.json").unwrap();

    place.write("dead.json", &GOOD[..20]);
    place.written_at("dead.json", NOW);
    assert!(place.scan().is_empty());
    place.written_at("dead.json", 10);
    assert!(problem(&place.scan()).contains("dead.json, line 1: not JSON: EOF"));
}

#[test]
fn a_file_of_another_name_is_no_report_and_its_agent_is_told() {
    let mut place = InboxFixture::new();
    place.write("handoff.txt", "Cases 3 to 5 are left.");
    place.written_at("handoff.txt", 10);
    let said = problem(&place.scan());
    assert!(
        said.starts_with("handoff.txt: its name ends neither in .json nor in .md; a report is one"),
        "{said}"
    );
    let kept = place.names("rejected");
    assert!(kept[0].starts_with("handoff.") && kept[0].ends_with(".txt"), "{kept:?}");
    assert!(place.scan().is_empty());
}

// C23: a handoff in the form in which people describe it.
#[test]
fn a_handoff_in_markdown_is_a_report_once_it_is_whole() {
    let mut place = InboxFixture::new();
    place.write("handoff.md", "# Handoff\n\n## Next step\n\nWrite case 3.\n");
    place.written_at("handoff.md", NOW);
    assert!(place.scan().is_empty(), "more of it may come");
    let received = place.inbox.scan(true).unwrap();
    let Ok((None, ToolCall::HandoffWrite(handoff))) = &received[0].result else { panic!("{received:?}") };
    assert_eq!((&*handoff.immediate_next_action, &*handoff.current_state), ("Write case 3.", "# Handoff"));
    place.inbox.confirm("handoff.md").unwrap();
    assert!(place.names("taken")[0].ends_with(".md"));
}

#[test]
fn what_breaks_off_at_the_end_of_two_prompts_is_rejected() {
    let mut place = InboxFixture::new();
    place.write("torn.json", &GOOD[..20]);
    place.written_at("torn.json", NOW);
    assert!(place.inbox.scan(true).unwrap()[0].unfinished && place.scan().is_empty());
    let again = place.inbox.scan(true).unwrap();
    assert!(!again[0].unfinished && again[0].result.is_err() && place.names("rejected").len() == 2);
}

#[test]
fn a_large_file_is_refused_and_a_flood_comes_in_pieces() {
    let mut place = InboxFixture::new();
    place.write("large.json", &format!("\"{}\"", "x".repeat(usize::try_from(MAX_FILE_BYTES).unwrap())));
    assert!(problem(&place.scan()).contains("larger than 65536 bytes"));
    for ordinal in 0..=MAX_FILES_PER_SCAN {
        place.write(&format!("{ordinal}.json"), GOOD);
    }
    assert_eq!(place.scan().len(), MAX_FILES_PER_SCAN);
    assert_eq!(place.scan().len(), 1);
}

#[test]
fn reports_come_in_the_order_of_writing() {
    let mut place = InboxFixture::new();
    for (name, second) in [("b.json", 10), ("a.json", 20), ("c.json", 15)] {
        place.write(name, GOOD);
        place.written_at(name, second);
    }
    let files: Vec<_> = place.scan().into_iter().map(|received| received.file).collect();
    assert_eq!(files, ["b.json", "c.json", "a.json"]);
}

#[test]
fn no_link_is_followed() {
    let mut place = InboxFixture::new();
    let secret = tempfile::tempdir().unwrap();
    fs::write(secret.path().join("secret.json"), GOOD).unwrap();
    symlink(secret.path().join("secret.json"), place.path("link.json")).unwrap();
    assert!(problem(&place.scan()).contains("not a regular file"));
    assert!(secret.path().join("secret.json").exists());

    // One of its own files, and one that it would write.
    fs::create_dir_all(place.path("rejected")).unwrap();
    place.write("bad.json", "[]");
    place.written_at("bad.json", NOW);
    let told = place.scan();
    let why = format!("rejected/bad.{}.json.why.txt", told[0].digest.short());
    fs::remove_file(place.path(&why)).unwrap();
    symlink(secret.path().join("secret.json"), place.path(&why)).unwrap();
    place.write("bad.json", "[]");
    place.scan();
    assert_eq!(fs::read_to_string(secret.path().join("secret.json")).unwrap(), GOOD);
    assert!(fs::read_to_string(place.path(&why)).unwrap().contains("did not take"));
}

#[test]
fn what_an_opener_refuses_is_not_read() {
    let workspace = tempfile::tempdir().unwrap();
    let refuse = |_: &Path| Err(std::io::Error::other("another folder is in its place"));
    let refused =
        Inbox::open(workspace.path(), ".baton/run-1", Box::new(refuse), mask).map(drop).unwrap_err();
    assert!(refused.to_string().contains("another folder"), "{refused}");
}

#[test]
fn folders_pipes_and_strange_names_do_no_harm() {
    let mut place = InboxFixture::new();
    fs::create_dir(place.path("folder.json")).unwrap();
    assert!(problem(&place.scan()).contains("not a regular file"));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.path("pipe.json"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    assert!(problem(&place.scan()).contains("not a regular file"));
    fs::write(place.inbox.folder().join(std::ffi::OsStr::from_bytes(b"\xff.json")), GOOD).unwrap();
    assert!(problem(&place.scan()).contains("not UTF-8"));
    assert!(place.scan().is_empty());
}

#[test]
fn an_inbox_that_an_agent_deleted_is_made_anew() {
    let mut place = InboxFixture::new();
    fs::remove_dir_all(place.workspace.path().join(".baton")).unwrap();
    assert!(place.scan().is_empty());
    place.write("note.json", GOOD);
    assert_eq!(place.scan().len(), 1);
    fs::remove_dir_all(place.workspace.path().join(".baton")).unwrap();
    place.inbox.confirm("note.json").unwrap();
}
