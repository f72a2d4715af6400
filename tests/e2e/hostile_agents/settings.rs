//! Agents that may edit files, and edit what the next agent runs.

use std::fs;

use baton_runtime::core::view::RunStatus;
use baton_runtime::core::workflow::SandboxLevel;

use crate::sandbox::can;
use crate::support::TestWorkspace;

/// Two phases: the first one's agent plants settings, and does its work.
fn job(permission: &str) -> TestWorkspace {
    let stage = TestWorkspace::job(
        &[(
            "a",
            r#"{ write = ".claude/settings.json", content = "{}" }, { write = "a.txt", content = "done" }"#,
        )],
        "retries = 1",
    );
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let role = format!("script = \"script.toml\"\npermission = \"{permission}\"");
    let second = "[[phases]]\nid = \"next\"\ndepends_on = [\"only\"]\n[[phases.objectives]]\nid = \"b\"\n\
                  description = \"Write b.txt.\"\nfiles = [\"b.txt\"]\n";
    stage.write("job.toml", format!("{}\n{second}", workflow.replace("script = \"script.toml\"", &role)));
    let script = fs::read_to_string(stage.path("script.toml")).unwrap();
    stage.write(
        "script.toml",
        format!("{script}[objectives.b]\nsteps = [{{ write = \"b.txt\", content = \"done\" }}]\n"),
    );
    stage
}

#[test]
fn no_agent_begins_where_another_one_has_changed_settings_before_a_person_has_seen_them() {
    // N6
    let stage = job("edit");
    stage.baton(&["run", "job.toml"]).expect(5).says(&[
        "settings of agents have changed since the run began (.claude/settings.json)",
        "revert unwanted changes",
    ]);
    let story = stage.story();
    assert_eq!((story.view.status, story.done().len()), (RunStatus::Paused, 1));
    assert_eq!(stage.read(".claude/settings.json"), "{}\n", "nothing of the folder is touched");
    // Who says that it goes on has seen them.
    stage.baton(&["answer", "retry", "--resume"]).expect(0);
    assert_eq!((stage.read("b.txt"), stage.story().done().len()), ("done\n".to_owned(), 2));
}

#[test]
fn settings_that_are_as_they_were_and_agents_that_may_do_everything_are_nobodys_question() {
    let stage = job("edit");
    fs::create_dir(stage.workspace.join(".claude")).unwrap();
    fs::write(stage.workspace.join(".claude/settings.json"), "{}\n").unwrap();
    stage.baton(&["run", "job.toml"]).expect(0);
    job("full").baton(&["run", "job.toml"]).expect(0);
}

#[test]
fn what_a_confined_agent_allows_the_next_one_is_asked_about_in_the_same_run_and_in_the_next_one() {
    // N6: an agent that may do everything in its sandbox wrote `permissions.allow`, and an agent without one went by it.
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = job("full");
    fs::create_dir(stage.workspace.join(".claude")).unwrap();
    fs::write(stage.workspace.join(".claude/settings.json"), "{\"permissions\": {}}\n").unwrap();
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let role = "permission = \"full\"";
    let other = format!(
        "{role}\nsandbox = \"write\"\n[roles.other]\nagent = \"rehearsal\"\nscript = \"script.toml\""
    );
    let two = workflow.replace(role, &other).replace("id = \"next\"\n", "id = \"next\"\nrole = \"other\"\n");
    stage.write("job.toml", two);
    let named = "(.claude/settings.json)";
    stage
        .baton(&["run", "job.toml"])
        .expect(5)
        .says(&["settings of agents have changed since the run began", named]);
    stage.baton(&["answer", "stop", "--resume"]);
    let remove_work = || {
        ["a.txt", "b.txt"].iter().for_each(|name| drop(fs::remove_file(stage.workspace.join(name))));
    };
    remove_work();
    // No role of this one is confined.
    stage.write("free.toml", workflow);
    let again = stage.baton(&["run", "free.toml"]).expect(5);
    again.says(&["agents of an earlier run in this folder have changed settings of agents", named]);
    stage.baton(&["answer", "retry", "--resume"]).expect(0);
    remove_work();
    stage.baton(&["run", "free.toml", "--restart"]).expect(0);
}

#[test]
fn what_a_confined_agent_writes_into_the_program_of_a_later_one_is_asked_about_before_that_begins() {
    // N6: a role without a sandbox ran at once what one at `write` had written, with all rights of the user.
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    let job = "name = \"job\"\ngoal = \"Show what happens.\"\nagent = \"process:sh agent.sh\"\n\
               [roles.weak]\nagent = \"process:sh weak.sh\"\nsandbox = \"write\"\n\
               [limits]\nretries = 1\nbackoff = \"0s\"\n\
               [[phases]]\nid = \"one\"\nrole = \"weak\"\n\
               objectives = [{ id = \"a\", description = \"Write a.txt\", files = [\"a.txt\"] }]\n\
               [[phases]]\nid = \"two\"\ndepends_on = [\"one\"]\n\
               objectives = [{ id = \"b\", description = \"Write b.txt\", files = [\"b.txt\"] }]\n";
    stage.write("job.toml", job);
    let write = |name: &str, script: &str| {
        fs::write(stage.workspace.join(name), format!("cat > /dev/null\n{script}\n")).unwrap();
    };
    write("agent.sh", "echo done > b.txt\necho 'Done: b'");
    write("weak.sh", "echo 'touch ran-outside' >> agent.sh\necho done > a.txt\necho 'Done: a'");
    stage.baton(&["run", "job.toml"]).expect(5).says(&[
        "files by which agents are started have changed since the run began (agent.sh)",
        "the next agent, which has no sandbox",
    ]);
    let has_run = || stage.workspace.join("ran-outside").exists();
    assert_eq!((stage.story().view.status, stage.story().done().len()), (RunStatus::Paused, 1));
    assert!(!has_run() && !stage.workspace.join("b.txt").exists(), "nothing of it was run");
    // Who says that it goes on has seen it.
    stage.baton(&["answer", "retry", "--resume"]).expect(0);
    assert_eq!((stage.story().done().len(), has_run()), (2, true));
}
