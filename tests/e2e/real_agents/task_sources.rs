//! From a plan, a folder or a sentence to finished work, with the agent that is found by itself.

use std::fs;

use baton_simulator::{ModelScript, ModelTurn, Simulator};

use crate::agent::RealAgent;
use crate::fixture::RealAgentFixture;

/// Three phases with eight boxes.
const PLAN: &str = "# Eight files\n\n## Survey\n\n- [ ] Write `a.txt`\n- [ ] Write `b.txt`\n\n## Build\n\nAll of them are short.\n\n\
                    - [ ] Write `c.txt`\n- [ ] Write `d.txt`\n- [ ] Write `e.txt`\n\nverify: `test -s c.txt`\n\n## Tell\n\n\
                    - [ ] Write `f.txt`\n- [ ] Write `g.txt`\n- [ ] Write `h.txt`\n";
/// The objectives that are made of the boxes, and the file of each.
const OBJECTIVES: [(&str, &str); 8] = [
    ("write-a-txt", "a.txt"),
    ("write-b-txt", "b.txt"),
    ("write-c-txt", "c.txt"),
    ("write-d-txt", "d.txt"),
    ("write-e-txt", "e.txt"),
    ("write-f-txt", "f.txt"),
    ("write-g-txt", "g.txt"),
    ("write-h-txt", "h.txt"),
];

/// A model that writes the file of each objective, and says so.
fn model(fixture: &RealAgentFixture<'_>) -> Simulator {
    let workspace = fixture.stage.workspace.canonicalize().unwrap();
    let script = OBJECTIVES.iter().fold(ModelScript::new(), |script, (objective, file)| {
        let turns = vec![
            ModelTurn::write(workspace.join(file).display(), "what was asked for\n"),
            ModelTurn::say(format!("{file} is written.\nDone: {objective}")),
        ];
        script.on(format!("- [{objective}]"), turns)
    });
    Simulator::start(script).unwrap()
}

fn fixture<'a>(agent: &'a RealAgent, name: &str) -> Option<RealAgentFixture<'a>> {
    agent.role()?;
    let fixture = RealAgentFixture::on_stage(agent, "").on_path(name);
    fs::write(fixture.stage.workspace.join("PLAN.md"), PLAN).unwrap();
    Some(fixture)
}

/// `baton run PLAN.md`, and nothing else.
pub(crate) fn plan(agent: &RealAgent, name: &str) {
    let Some(fixture) = fixture(agent, name) else { return };
    let simulator = model(&fixture);
    let run = fixture.baton(&["run", "work/PLAN.md"], &simulator);
    assert_eq!(
        (run.story.view.phases.len(), run.story.view.objectives()),
        (3, (8, 8)),
        "{:#?}",
        run.key_events()
    );
    assert_eq!(fixture.stage.read("PLAN.md"), PLAN.replace("[ ]", "[x]"));
    let agents: Vec<&str> = run
        .story
        .view
        .phases
        .iter()
        .flat_map(|phase| &phase.sessions)
        .map(|one| one.agent.as_str())
        .collect();
    assert!(agents.iter().all(|agent| *agent == name), "{agents:?}");
    assert_eq!(fixture.left(&run.groups), [""; 0]);
}

/// `baton init` and `baton run`.
pub(crate) fn init(agent: &RealAgent, name: &str) {
    let Some(fixture) = fixture(agent, name) else { return };
    let simulator = model(&fixture);
    let init = fixture.command(&["init"], &simulator).current_dir(&fixture.stage.workspace).output().unwrap();
    assert!(init.status.success(), "{init:?}");
    assert!(fixture.stage.read("workflow.toml").contains(&format!("agent = \"{name}\"")));
    let run = fixture.baton(&["run", "work/workflow.toml"], &simulator);
    assert_eq!(run.story.view.objectives(), (8, 8), "{:#?}", run.key_events());
    assert_eq!(fixture.stage.read("PLAN.md"), PLAN.replace("[ ]", "[x]"));
    assert_eq!(fixture.left(&run.groups), [""; 0]);
}

/// `baton do`, in a repository that was just cloned.
pub(crate) fn sentence(agent: &RealAgent, name: &str) {
    let Some(fixture) = fixture(agent, name) else { return };
    fixture.stage.make_repository();
    let workspace = fixture.stage.workspace.canonicalize().unwrap();
    let script = ModelScript::new().on(
        "- [write-h-txt]",
        vec![
            ModelTurn::bash("git push origin main"),
            ModelTurn::write(workspace.join("h.txt").display(), "h\n"),
            ModelTurn::say("h.txt is written.\nDone: write-h-txt"),
        ],
    );
    let simulator = Simulator::start(script).unwrap();
    let run = fixture.baton(&["do", "Write h.txt", "--check", "test -s h.txt"], &simulator);
    assert_eq!(run.story.view.objectives(), (1, 1), "{:#?}", run.key_events());
    assert_eq!(run.story.view.phases[0].verified, Some(true));
    assert_eq!(fixture.stage.read("h.txt"), "h\n");
    // What it was not allowed does not look like what it did.
    let log = fixture.stage.baton(&["log"]).expect(0).stdout;
    let said = |parts: &[&str]| log.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(said(&["refused", "$ git push origin main"]), "{log}");
    assert!(said(&["wrote", " h.txt"]) && said(&["says", "h.txt is written."]), "{log}");
    assert!(said(&["changed", "h.txt"]) && said(&["check", "$ test -s h.txt", "exit 0"]), "{log}");
    let shown = fs::read_to_string(fixture.stage.path("said")).unwrap();
    for part in ["failed", "$ git push origin main", "works      Write h.txt", "says       h.txt is written."]
    {
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
    }
    assert_eq!(fixture.left(&run.groups), [""; 0]);
}
