//! Verification commands: results, bounds, and that nothing they start outlives them.

use std::path::Path;
use std::time::Duration;

use baton_workspace::{CommandResult, MAX_OUTPUT_BYTES, Workspace};
use rustix::process::{Pid, test_kill_process};
use tempfile::TempDir;

/// Far more than any command here takes.
const AMPLE: Duration = Duration::from_secs(60);

async fn verify(folder: &TempDir, command: &str, limit: Duration) -> CommandResult {
    Workspace::open(folder.path()).unwrap().verify(command, limit).await.unwrap()
}

/// Waits until a process is gone. Where it never goes, the test runner's own limit ends the test.
fn wait_until_gone(id_file: &Path) {
    let id: i32 = std::fs::read_to_string(id_file).unwrap().trim().parse().unwrap();
    while test_kill_process(Pid::from_raw(id).unwrap()).is_ok() && !is_zombie(id) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A container may have no init that reaps orphans.
fn is_zombie(id: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

#[tokio::test]
async fn a_command_passes_fails_or_is_ended_by_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let passed = verify(&folder, "pwd; echo problem >&2; test -z \"$(cat)\"", AMPLE).await;
    let here = folder.path().canonicalize().unwrap();
    assert_eq!(passed.findings, format!("{}\nproblem\n", here.display()));
    assert!(passed.passed && passed.code == Some(0) && passed.output == passed.findings.as_bytes());
    let failed = verify(&folder, "exit 3", AMPLE).await;
    assert!(!failed.passed && failed.code == Some(3));
    let killed = verify(&folder, "kill -KILL $$", AMPLE).await;
    assert!(!killed.passed && killed.code.is_none());
    let unknown = verify(&folder, "no-such-command-here", AMPLE).await;
    assert!(unknown.code == Some(127) && unknown.findings.contains("no-such-command-here"), "{unknown:?}");
}

#[tokio::test]
async fn python_keeps_what_it_compiles_outside_of_the_workspace_in_commands_that_nothing_confines() {
    // N6: it ran what an agent had compiled there in the place of a source.
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap().with_python_cache("/own".into());
    let confined = workspace.clone().within(vec!["env".into()]);
    for (workspace, expected) in [(workspace, "/own\n"), (confined, "\n")] {
        let told = workspace.verify("echo \"$PYTHONPYCACHEPREFIX\"", AMPLE).await.unwrap();
        assert_eq!(told.findings, expected);
    }
}

#[tokio::test]
async fn the_limit_ends_a_command_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let command =
        "trap '' TERM; echo begun; sleep 1000 & echo $! > child; wait; wait; while :; do sleep 1; done";
    let ended = verify(&folder, command, Duration::from_millis(500)).await;
    assert!(!ended.passed && ended.code.is_none());
    assert!(ended.findings.starts_with("begun\n"), "{ended:?}");
    assert!(ended.findings.ends_with("[ended by the host: still running after 500ms]\n"), "{ended:?}");
    wait_until_gone(&folder.path().join("child"));
}

#[tokio::test]
async fn what_a_command_leaves_running_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let passed = verify(&folder, "sleep 1000 & echo $! > child", AMPLE).await;
    assert!(passed.passed);
    wait_until_gone(&folder.path().join("child"));
}

#[tokio::test]
async fn a_verification_that_is_given_up_ends() {
    // The same pipe closes when the host is killed.
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let child = folder.path().join("child");
    tokio::select! {
        ended = workspace.verify("echo $$ > child.tmp; mv child.tmp child; exec sleep 1000", AMPLE) => panic!("{ended:?}"),
        () = async { while !child.exists() { tokio::time::sleep(Duration::from_millis(5)).await } } => {}
    }
    wait_until_gone(&child);
}

#[tokio::test]
async fn output_is_kept_within_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let loud =
        verify(&folder, "echo begin; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end; exit 1", AMPLE)
            .await;
    assert!(loud.output.len() < MAX_OUTPUT_BYTES + 64);
    assert!(loud.output.starts_with(b"begin\nxx") && loud.output.ends_with(b"xx\nend\n"));
    assert_eq!(loud.findings, "end\n");
}

#[tokio::test]
async fn the_environment_is_an_allow_list() {
    let folder = tempfile::tempdir().unwrap();
    let inherited = verify(&folder, "env", AMPLE).await.findings;
    assert!(inherited.contains("PATH="), "{inherited}");
    // Cargo sets these for every test, so they are in the host's environment here.
    assert!(
        std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !inherited.contains("CARGO_MANIFEST_DIR"),
        "{inherited}"
    );
}
