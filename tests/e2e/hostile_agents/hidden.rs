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

#[test]
fn a_pipe_in_the_folder_of_git_is_named_by_the_first_command() {
    // N6
    for name in ["HEAD", "config", "commondir"] {
        let stage = job_of_shell("echo done > a.txt\necho 'Done: a'", "");
        stage.make_repository();
        let pipe = stage.workspace.join(".git").join(name);
        let _ = std::fs::remove_file(&pipe);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        stage.baton(&["run", "job.toml"]).expect(1).says(&[&format!("{name} is a pipe"), "remove it"]);
    }
}

#[test]
fn a_diff_without_contents_says_why_there_are_none() {
    // N6: a filter that the repository brings is not run, so nothing that goes through it is kept.
    let stage = job_of_shell("echo x > b.bin\necho done > a.txt\necho 'Done: a'", "");
    stage.make_repository();
    stage.git(&["config", "filter.own.clean", "cat"]);
    std::fs::write(stage.workspace.join(".gitattributes"), "*.bin filter=own\n").unwrap();
    std::fs::write(stage.workspace.join("b.bin"), "1\n").unwrap();
    stage.baton(&["run", "job.toml"]).expect(0);
    let diff = stage.baton(&["diff"]).expect(0).stdout;
    assert!(diff.contains("a.txt") && diff.contains("b.bin goes through the filter own"), "{diff}");
    assert!(!diff.contains("no git repository"), "{diff}");
}
