//! Agents that hide what they write from git, or keep git from answering.

use std::time::{Duration, Instant};

use super::job_of_shell;

#[test]
fn what_an_agent_has_git_ignore_is_in_the_diff() {
    // N6
    let script = "echo 'hidden*' >> .git/info/exclude\necho '*.more' > list\ngit config core.excludesFile list\n\
                  echo x > hidden.txt\necho x > z.more\necho done > a.txt\necho 'Done: a'";
    let stage = job_of_shell(script, "");
    stage.make_repository();
    std::fs::write(stage.workspace.join(".git/info/exclude"), "mine*\n").unwrap();
    std::fs::write(stage.workspace.join("mine.txt"), "x\n").unwrap();
    stage.baton(&["run", "job.toml"]).expect(0);
    let patch = stage.baton(&["diff"]).expect(0).stdout;
    for file in ["a.txt", "hidden.txt", "list", "z.more"] {
        assert!(patch.contains(&format!("+++ b/{file}")), "{file}: {patch}");
    }
    assert!(!patch.contains("mine.txt"), "{patch}");
}

#[test]
fn a_pipe_that_git_would_read_is_told_and_not_waited_for() {
    // N6
    let script =
        "mkdir -p sub\n[ -e sub/.gitignore ] || mkfifo sub/.gitignore\necho done > a.txt\necho 'Done: a'";
    let stage = job_of_shell(script, "");
    stage.make_repository();
    let began = Instant::now();
    let ended = stage.baton(&["run", "job.toml"]).expect(5);
    ended.says(&["sub/.gitignore is a pipe", "remove it"]);
    assert!(began.elapsed() < Duration::from_secs(25));
}
