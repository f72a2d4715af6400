//! Agents that print as fast as they can.

use std::fs;

use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::RunStatus;

use super::job_of_shell;
use crate::support::TestWorkspace;

/// Each of these floods would be hundreds of megabytes if it were kept.
const JOURNAL_BYTES: u64 = 24 << 20;
/// And a million rows.
const ENTRIES: usize = 10_000;

fn journal_bytes(stage: &TestWorkspace) -> u64 {
    let journal = stage.state().journal();
    ["", "-wal"]
        .iter()
        .filter_map(|end| fs::metadata(format!("{}{end}", journal.display())).ok())
        .map(|file| file.len())
        .sum()
}

/// Runs it, and gives how many events and bytes of text it says were left out.
fn survives(script: &str) -> (u64, u64) {
    // Usage counts as turns, and is not what this is about.
    let stage = job_of_shell(script, "max_turns = 5000");
    let ended = stage.baton(&["run", "job.toml"]).expect(0);
    assert!(
        ended.stdout.contains("were left out") || ended.stderr.contains("were left out"),
        "{}",
        ended.stderr
    );
    let story = stage.story();
    assert_eq!(story.view.status, RunStatus::Ended(RunOutcome::Done));
    assert!(story.entries < ENTRIES, "{} entries", story.entries);
    let bytes = journal_bytes(&stage);
    assert!(bytes < JOURNAL_BYTES, "{bytes} bytes");
    let omitted = story.notices.iter().fold((0, 0), |(some, long), notice| match notice {
        ProgressEvent::OutputOmitted { events, text_bytes, .. } => (some + events, long + text_bytes),
        _ => (some, long),
    });
    let place =
        [stage.workspace.to_str().unwrap().to_owned(), stage.state_root().to_str().unwrap().to_owned()];
    stage.baton(&["replay", "--verify", "--workspace", &place[0], "--state-dir", &place[1]]).expect(0);
    omitted
}

#[test]
fn text_at_full_speed_is_joined_and_its_end_is_kept() {
    let flood =
        "[ -e a.txt ] || yes 'the quick brown fox jumps' | head -n 500000; echo done > a.txt; echo 'Done: a'";
    assert!(survives(flood).1 > 1_000_000);
}

#[test]
fn usage_at_full_speed_is_added_up() {
    let line = r#"{"baton":{"used_tokens":%d,"window_tokens":200000,"input_tokens":1,"output_tokens":1}}\n"#;
    let flood = format!(
        "awk 'BEGIN {{ for (i = 0; i < 300000; i++) printf \"{}\", i % 200000 }}'; echo done > a.txt; echo 'Done: a'",
        line.replace('"', "\\\"")
    );
    assert!(survives(&flood).0 > 100_000);
}
