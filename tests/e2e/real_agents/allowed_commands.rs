//! Commands between `edit` and `full`: what the work is held to and what the role allows runs, and nothing that is made of it.

use baton_runtime::core::facts::RefusalKind;
use baton_runtime::core::progress::ProgressEvent;
use baton_simulator::{ModelScript, ModelTurn, Simulator};

use crate::agent::RealAgent;
use crate::fixture::{RealAgentFixture, RealAgentRun};

/// Refused, one and all: what they would do is to leave `hacked` behind.
const ATTACKS: [&str; 5] = [
    "sh hack.sh",
    "sh ./tool.sh a; sh hack.sh",
    "sh ./tool.sh a && sh hack.sh",
    "sh ./tool.sh $(sh hack.sh)",
    "sh check.sh\nsh hack.sh",
];

pub(crate) fn allowed_commands(agent: &RealAgent) {
    // N6
    let Some(role) = agent.role_with("edit") else { return };
    let workflow = format!(
        "name = \"relay\"\ngoal = \"One file.\"\n[roles.executor]\n{role}\nallow = [\"sh ./tool.sh *\"]\n[[phases]]\nid = \"write\"\n\
         title = \"Write it\"\nverify = \"sh check.sh\"\n[[phases.objectives]]\nid = \"alpha\"\ndescription = \"Write alpha.txt.\"\n\
         files = [\"alpha.txt\"]\n"
    );
    let fixture = RealAgentFixture::on_stage(agent, &workflow);
    for (name, script) in [
        ("check.sh", "echo checked >> checks; test -s alpha.txt || test ! -e passed"),
        ("tool.sh", "echo \"$1\" >> tools"),
        ("hack.sh", "touch hacked"),
    ] {
        std::fs::write(fixture.stage.workspace.join(name), format!("{script}\n")).unwrap();
    }
    let commands = ["sh check.sh", "sh ./tool.sh a", "sh ./tool.sh b.txt"].into_iter().chain(ATTACKS);
    let mut turns: Vec<ModelTurn> = commands.map(ModelTurn::bash).collect();
    turns.extend(fixture.turns("alpha", 0));
    let simulator = Simulator::start(ModelScript::new().on("- [alpha]", turns)).unwrap();
    let run = fixture.run(&simulator);

    assert_eq!(fixture.stage.read("tools"), "a\nb.txt\n", "{:#?}", run.key_events());
    // Once by the agent, and once by the host.
    assert_eq!(fixture.stage.read("checks"), "checked\nchecked\n");
    assert!(!fixture.stage.workspace.join("hacked").exists());
    let refused = |notice: &ProgressEvent| matches!(notice, ProgressEvent::Refused { refusal, .. } if refusal.kind == RefusalKind::Call);
    assert_eq!(run.story.count(refused), ATTACKS.len(), "{:#?}", run.story.notices);
    run.expect_sessions(1, 0);
    assert_eq!((run.stops(), fixture.left(&run.groups)), (Vec::new(), Vec::new()), "{:#?}", run.key_events());
}

/// No role refuses it, and its agent does: that is shown when it happens, counted, and no reason to stop.
pub(crate) fn refused_by_its_own_rules(agent: &RealAgent) {
    let Some(role) = agent.role() else { return };
    let workflow = format!(
        "name = \"relay\"\ngoal = \"One file.\"\n[roles.executor]\n{role}\n[[phases]]\nid = \"write\"\ntitle = \"Write it\"\n\
         [[phases.objectives]]\nid = \"alpha\"\ndescription = \"Write alpha.txt.\"\nfiles = [\"alpha.txt\"]\n"
    );
    let fixture = RealAgentFixture::on_stage(agent, &workflow);
    std::fs::write(fixture.stage.workspace.join("old.txt"), "old\n").unwrap();
    let mut turns = vec![ModelTurn::bash("rm -rf old.txt && echo gone")];
    turns.extend(fixture.turns("alpha", 0));
    let simulator = Simulator::start(ModelScript::new().on("- [alpha]", turns)).unwrap();
    let (code, said) = fixture.ended(&["run", "relay.toml"], &simulator);
    assert_eq!(code, Some(0), "{said}");
    assert!(fixture.stage.workspace.join("old.txt").exists());
    let run = RealAgentRun::read(&fixture.stage);
    let refused = |notice: &ProgressEvent| matches!(notice, ProgressEvent::Refused { refusal, .. } if refusal.kind == RefusalKind::Own);
    assert_eq!(run.story.count(refused), 1, "{:#?}", run.story.notices);
    let [session] = run.phase().sessions.as_slice() else { panic!("{:#?}", run.key_events()) };
    assert_eq!((session.refused_calls, session.refused.len()), (1, 1), "{session:#?}");
    for wanted in
        ["s1 is not allowed to run rm -rf old.txt && echo gone (", "the agent's rules do not allow it"]
    {
        assert!(said.contains(wanted), "{wanted} is not in: {said}");
    }
}
