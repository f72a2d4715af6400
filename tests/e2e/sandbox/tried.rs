//! What is left of a command of `baton sandbox try`: no process, and files that a run uses only when the user has looked at them.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use baton_runtime::core::workflow::SandboxLevel;

use super::can;
use crate::support::{CommandOutput, TestWorkspace};

fn tried(stage: &TestWorkspace, level: &str, script: &str) -> CommandOutput {
    let (root, state) = (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let place = ["sandbox", "try", "--level", level, "--workspace", &root, "--state-dir", &state];
    stage.baton(&[&place[..], &["--", "sh", "-c", script]].concat())
}

#[test]
fn a_run_uses_what_a_tried_command_wrote_only_when_the_user_accepts_it() {
    // N6: the next run started outside of any sandbox what the command had written.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let at = |name: &str| stage.workspace.join(name);
    let flow = "name = \"job\"\nagent = \"process:sh agent.sh\"\n\
                [[phases]]\nid = \"a\"\nobjectives = [{ id = \"a\", description = \"Do a.\" }]\n";
    fs::write(at("job.toml"), flow).unwrap();
    fs::write(at("agent.sh"), "cat > /dev/null\necho x >> x\necho 'Done: a'\n").unwrap();
    // Longer than the clock of a file system may be behind.
    sleep(Duration::from_millis(100));
    let job = at("job.toml").display().to_string();
    let run = |more: &[&str]| stage.baton(&[&["run", job.as_str()], more].concat());
    tried(&stage, "strict", "echo y > y").expect(0);
    run(&[]).expect(0);
    for (file, change) in [("agent.sh", "echo 'touch evil' >> agent.sh"), ("job.toml", "echo >> job.toml")] {
        tried(&stage, "strict", change).expect(0);
        let refused = run(&[]).expect(2);
        refused.says(&[
            &format!("{file} was written while `baton sandbox try` ran a command"),
            "--accept-changes",
        ]);
    }
    assert!(!at("evil").exists());
    run(&["--accept-changes"]).expect(0);
    assert!(at("evil").exists());
    run(&[]).expect(0);
}

#[test]
fn nothing_of_a_tried_command_runs_after_it() {
    // N6: a daemon at `write` worked on, and planted again what was taken away.
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    let ended = tried(&stage, "write", "setsid sleep 300 & echo $! > one; sleep 300 & echo $! > two");
    ended.expect(0);
    for name in ["one", "two"] {
        let pid = fs::read_to_string(stage.workspace.join(name)).unwrap();
        let process = Path::new("/proc").join(pid.trim());
        assert!(!process.exists(), "{name}: {}", process.display());
    }
}
