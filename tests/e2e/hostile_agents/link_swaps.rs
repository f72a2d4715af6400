//! Agents that put links where the host has folders of its own, and have it read and move for them what they do not see or may not change.

use std::fs;

use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::workflow::SandboxLevel;

use super::job_of_shell;
use crate::sandbox::can;
use crate::support::TestWorkspace;

/// Puts a link to `kept` in the place of one of Baton's folders, and waits until it is taken away.
fn exchanging(replace: &str, link: &str) -> String {
    format!(
        "run=$(ls .baton)\nif [ ! -e tried ]; then\ntouch tried\n{replace}\n\
         n=0; while [ -L {link} ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n + 1)); done\nfi\n\
         echo done > a.txt\necho 'Done: a'"
    )
}

fn with_kept(script: &str, role: &str) -> TestWorkspace {
    let stage = job_of_shell(script, role);
    fs::create_dir_all(stage.workspace.join("kept/inbox")).unwrap();
    for name in ["kept/note.json", "kept/handoff.md", "kept/inbox/note.json"] {
        fs::write(stage.workspace.join(name), "# Handoff\n\nthe secret\n").unwrap();
    }
    stage
}

// N6
#[test]
fn a_link_in_the_place_of_a_folder_of_the_hosts_is_not_followed() {
    for (replace, link, to) in [
        (
            "mv .baton/$run/inbox .baton/$run/aside; ln -s ../../kept .baton/$run/inbox",
            ".baton/$run/inbox",
            "../../kept",
        ),
        ("mv .baton/$run aside; ln -s ../kept .baton/$run", ".baton/$run", "../kept"),
        ("mv .baton aside; mkdir -p kept; ln -s kept .baton", ".baton", "kept"),
    ] {
        for level in ["off", "strict"] {
            if level == "strict" && !can(SandboxLevel::Strict) {
                continue;
            }
            let stage = with_kept(&exchanging(replace, link), &format!("sandbox = \"{level}\""));
            let ended = stage.baton(&["run", "job.toml"]).expect(0);
            // In `strict` the folders above the inbox cannot be moved.
            let is_moved = level == "off" || link.ends_with("inbox");
            match is_moved {
                true => drop(ended.says(&["putting a link to", to, "in the place of .baton"])),
                false => assert!(!ended.stderr.contains("putting a link to"), "{link}: {}", ended.stderr),
            }
            let mut kept: Vec<_> = fs::read_dir(stage.workspace.join("kept"))
                .unwrap()
                .map(|one| one.unwrap().file_name())
                .collect();
            kept.sort();
            assert_eq!(kept, ["handoff.md", "inbox", "note.json"], "{level}: {link}");
            assert_eq!(
                fs::read_dir(stage.workspace.join("kept/inbox")).unwrap().count(),
                1,
                "{level}: {link}"
            );
            assert!(stage.workspace.join(".baton").symlink_metadata().unwrap().is_dir());
            let story = stage.story();
            let handed_off = story.count(|notice| matches!(notice, ProgressEvent::HandoffReviewed { .. }));
            assert_eq!((story.done().len(), handed_off), (1, 0), "{level}: {link}");
        }
    }
}

// N6
#[test]
fn what_is_hidden_is_not_kept_for_an_agent() {
    if !can(SandboxLevel::Strict) {
        return;
    }
    let script = "inbox=$(echo .baton/*/inbox)\nln -s ../kept sub/in 2> /dev/null\n\
        for path in kept/note.json sub/../kept/note.json sub/in/note.json; do\n\
        n=$((n + 1)); echo \"{\\\"report\\\": \\\"artifact-save\\\", \\\"name\\\": \\\"x$n\\\", \\\"path\\\": \\\"$path\\\"}\" > $inbox/.x\n\
        mv $inbox/.x $inbox/x$n.json\ndone\n\
        n=0; until ls $inbox/rejected/x3*.why.txt > /dev/null 2>&1 || [ $n = 100 ]; do sleep 0.1; n=$((n + 1)); done\n\
        echo done > a.txt\necho 'Done: a'";
    let stage = with_kept(script, "sandbox = { level = \"strict\", hide = [\"kept\"] }");
    fs::create_dir(stage.workspace.join("sub")).unwrap();
    stage.baton(&["run", "job.toml"]);
    assert!(
        stage.artifacts().iter().all(|artifact| !artifact.name.starts_with('x')),
        "{:?}",
        stage.artifacts()
    );
    let run = fs::read_dir(stage.workspace.join(".baton")).unwrap().flatten().find(|one| one.path().is_dir());
    let rejected: Vec<String> = fs::read_dir(run.unwrap().path().join("inbox/rejected"))
        .unwrap()
        .map(|one| one.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".why.txt"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(rejected.len(), 3, "{rejected:?}");
    assert!(rejected.iter().all(|why| why.contains("the key `hide`")), "{rejected:?}");
}
