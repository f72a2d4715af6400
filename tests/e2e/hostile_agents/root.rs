//! Agents that move the workspace away, and put something else in its place.

use std::fs;

use baton_runtime::core::view::RunStatus;

use super::job_of_shell;
use crate::support::Stage;

/// A run whose agent puts what `replace` makes in the place of the workspace, with a file there that its objective names.
fn replaced(replace: &str) -> Stage {
    let stage = job_of_shell(replace, "");
    let victim = stage.path("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("a.txt"), "of somebody else").unwrap();
    let ended = stage.baton(&["run", "job.toml"]).expect(5);
    assert!(ended.stderr.contains("was replaced"), "{}", ended.stderr);
    stage
}

/// Nothing but what was there.
fn is_untouched(folder: &std::path::Path) {
    let names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.txt"]);
    assert_eq!(fs::read_to_string(folder.join("a.txt")).unwrap(), "of somebody else");
}

// N6: a person is asked; what the link leads to is neither counted as the work nor written to; the folder put back, the run goes on.
#[test]
fn a_link_in_the_place_of_the_workspace_leads_nowhere() {
    let stage = replaced("cd ..; mv work away; ln -s \"$PWD/victim\" work; echo 'Done: a'");
    is_untouched(&stage.path("victim"));

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
    is_untouched(&stage.workspace);
}
