//! Agents that move the workspace, or its repository, away, and put something else in its place.

use std::fs;

use baton_runtime::core::view::RunStatus;

use super::job_of_shell;
use crate::support::TestWorkspace;

/// A run whose agent puts what `replace` makes in the place of the workspace, with a file there that its objective names.
fn replaced(replace: &str) -> TestWorkspace {
    let stage = job_of_shell(replace, "");
    let victim = stage.path("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("a.txt"), "of somebody else").unwrap();
    let ended = stage.baton(&["run", "job.toml"]).expect(5);
    assert!(ended.stderr.contains("was replaced"), "{}", ended.stderr);
    stage
}

/// Nothing but what was there.
fn expect_untouched(folder: &std::path::Path) {
    let names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.txt"]);
    assert_eq!(fs::read_to_string(folder.join("a.txt")).unwrap(), "of somebody else");
}

// N6: a person is asked; what the link leads to is neither counted as the work nor written to; the folder put back, the run goes on.
#[test]
fn a_link_in_the_place_of_the_workspace_leads_nowhere() {
    let stage = replaced("cd ..; mv work away; ln -s \"$PWD/victim\" work; echo 'Done: a'");
    expect_untouched(&stage.path("victim"));

    fs::remove_file(&stage.workspace).unwrap();
    fs::rename(stage.path("away"), &stage.workspace).unwrap();
    let story = stage.story();
    assert!(matches!(story.view.status, RunStatus::Paused), "{:?}", story.view.status);
    assert!(story.done().is_empty(), "{:?}", story.done());
    fs::write(stage.path("agent.sh"), "#!/bin/sh\ncat > /dev/null\necho done > a.txt\necho 'Done: a'\n")
        .unwrap();
    stage.baton(&["answer", "retry"]).expect(0);
    stage.baton(&["resume"]).expect(0);
    assert_eq!(stage.story().done().len(), 1);
}

// N6
#[test]
fn another_folder_in_the_place_of_the_workspace_is_not_it() {
    let stage = replaced("cd ..; mv work away; mv victim work; echo 'Done: a'");
    expect_untouched(&stage.workspace);
}

/// A run of two phases with commits, whose agent puts what `replace` makes in the place of `.git`.
fn with_another_repository(replace: &str) -> TestWorkspace {
    let stage = job_of_shell(replace, "");
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let next = "[[phases]]\nid = \"next\"\ndepends_on = [\"only\"]\ndo = [{ id = \"b\", description = \"Write b.txt.\", files = [\"b.txt\"] }]\n";
    stage.write("job.toml", format!("commit = \"phase\"\n{workflow}{next}"));
    stage.make_repository();
    let ended = stage.baton(&["run", "job.toml"]).expect(5);
    assert!(ended.stderr.contains(".git was replaced or removed"), "{}", ended.stderr);
    let told = ended.stderr.matches("was replaced or removed").count();
    assert!(told <= 2, "one cause is told {told} times:\n{}", ended.stderr);
    stage
}

// N6: a person is asked before anything goes on or is committed; the repository put back, the run ends as it would have.
#[test]
fn a_link_in_the_place_of_the_repository_stops_the_run_until_it_is_put_back() {
    let stage = with_another_repository(
        "mv .git .gitx; ln -s .gitx .git; git config core.fsmonitor 'touch sprung'; echo 'Done: a'",
    );
    let story = stage.story();
    assert!(matches!(story.view.status, RunStatus::Paused), "{:?}", story.view.status);
    assert!(story.view.phases.iter().all(|phase| phase.commits.is_empty()));
    // A host that takes the run up holds it to the same.
    stage.baton(&["answer", "retry"]).expect(0);
    stage.baton(&["resume"]).expect(5).says(&[".git was replaced or removed"]);

    fs::remove_file(stage.workspace.join(".git")).unwrap();
    fs::rename(stage.workspace.join(".gitx"), stage.workspace.join(".git")).unwrap();
    stage.git(&["config", "--unset", "core.fsmonitor"]);
    let agent = "#!/bin/sh\ncat > /dev/null\nnext=a\n[ ! -e a.txt ] || next=b\necho done > $next.txt\necho \"Done: $next\"\n";
    fs::write(stage.path("agent.sh"), agent).unwrap();
    stage.baton(&["answer", "retry"]).expect(0);
    stage.baton(&["resume"]).expect(0);
    assert_eq!(stage.story().done().len(), 2);
    assert!(!stage.workspace.join("sprung").exists(), "nothing ran what the other repository named");
}

// N6
#[test]
fn another_repository_in_the_place_of_the_one_that_was_there_is_not_it() {
    for replace in [
        "echo done > a.txt; mv .git .gitx; echo 'gitdir: .gitx' > .git; echo 'Done: a'",
        "echo done > a.txt; mv .git .gitx; cp -r .gitx .git; echo 'Done: a'",
        "echo done > a.txt; rm -rf .git; echo 'Done: a'",
    ] {
        let stage = with_another_repository(replace);
        assert!(matches!(stage.story().view.status, RunStatus::Paused), "{replace}");
    }
}
