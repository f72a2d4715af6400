//! A phase that its agent finds too large: it asks for a split by Baton's own tool, and two sub-phases are worked on at
//! once, each in a work tree of its own, verified, merged, and brought to where the phase began.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use baton_runtime::core::input::{ActionOutcome, AgentReport};
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::{PhaseOrigin, PhaseStatus};
use baton_runtime::core::{Action, Input, SessionId};
use baton_runtime::store::{Journal, JournalEntry};
use baton_simulator::{ModelRequest, ModelScript, ModelTurn, Simulator};
use serde_json::json;

use crate::agent::RealAgent;
use crate::fixture::{OBJECTIVES, RealAgentFixture};
use crate::support::TestWorkspace;

/// What the agent says when it has asked; it has done nothing, and that is no failure.
const ASKED: &str = "This is more than one session can do well, so I have asked for it to be split.";

/// Its agent calls `split_request` instead of working, and two agents do the parts.
pub(crate) fn split(agent: &RealAgent) {
    // D2, D3, D4, D7
    let limits = "agents = 2\n";
    let Some(fixture) = RealAgentFixture::of_split(agent, limits) else { return };
    fixture.stage.make_repository();

    let groups = json!([
        { "title": "The first file", "objectives": ["alpha"] },
        { "title": "The other two", "objectives": ["beta", "gamma"] },
    ]);
    let request = json!({ "groups": groups, "rationale": "they have nothing to do with each other" });
    let mut asks = vec![ModelTurn::mcp("baton", "split_request", request), ModelTurn::say(ASKED)];
    if agent.searches {
        asks.insert(0, ModelTurn::find("baton", &["split_request"]));
    }
    let trees = fixture.stage.state().path().join("trees");
    let script = OBJECTIVES.into_iter().fold(ModelScript::new().on("# Phase write:", asks), |script, id| {
        let trees = trees.clone();
        let write = ModelTurn::computed(move |asked| {
            ModelTurn::write(tree_of(asked, &trees).join(format!("{id}.txt")).display(), format!("{id}\n"))
        });
        let report =
            ModelTurn::mcp("baton", "objective_update", json!({ "objective": id, "status": "done" }));
        let say = ModelTurn::say(format!("{id}.txt is written, as it was asked for, and reported."));
        let find = agent.searches.then(|| ModelTurn::find("baton", &["objective_update"]));
        let turns = find.into_iter().chain([write, report, say]);
        script.on(format!("- [{id}]"), turns.collect::<Vec<_>>())
    });
    let simulator = Simulator::start(script).unwrap();
    let run = fixture.run(&simulator);

    let phases = &run.story.view.phases;
    let ids: Vec<_> = phases.iter().map(|phase| (phase.id.as_str(), phase.status, phase.verified)).collect();
    let done = |id| (id, PhaseStatus::Done, Some(true));
    assert_eq!(ids, [done("write"), done("writea"), done("writeb")], "{:#?}", run.key_events());
    assert!(phases[1..].iter().all(|phase| phase.origin == PhaseOrigin::Split && !phase.tree.is_workspace()));
    assert!(run.reports.iter().any(|(_, report)| matches!(report, AgentReport::SplitRequest { .. })));
    assert_eq!(run.story.count(|notice| matches!(notice, ProgressEvent::Merged { .. })), 2);
    assert_eq!(run.story.count(|notice| matches!(notice, ProgressEvent::Landed { committed: true, .. })), 1);
    assert_eq!(most_at_once(&fixture.stage), 2, "{:#?}", run.key_events());

    for id in OBJECTIVES {
        assert_eq!(fixture.stage.read(&format!("{id}.txt")), format!("{id}\n"));
    }
    let git = |arguments: &[&str]| fixture.stage.git(arguments);
    assert_eq!(git(&["status", "--porcelain", "--", ":(exclude).baton"]), "");
    let merges = git(&["log", "--merges", "--reverse", "--format=%s"]);
    assert_eq!(merges, "writea: The first file\nwriteb: The other two\n");
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(fixture.left(&run.groups), [""; 0]);
}

/// Where the sub-phase works that a prompt is for.
fn tree_of(asked: &ModelRequest, trees: &Path) -> PathBuf {
    // The parts go on from the handoff of the session that asked.
    let heading = asked.line("# Continuation of phase ").or_else(|| asked.line("# Phase "));
    let phase = heading.and_then(|line| line.split(':').next()).unwrap_or_default();
    let runs = fs::read_dir(trees).into_iter().flatten().flatten();
    runs.map(|run| run.path().join(phase)).find(|tree| tree.is_dir()).unwrap_or_else(|| trees.join(phase))
}

/// The most agents that were up at one time.
fn most_at_once(stage: &TestWorkspace) -> usize {
    let journal = Journal::open_read_only(&stage.state()).unwrap();
    let run = journal.latest().unwrap().expect("a run").run;
    let mut spawns = Vec::new();
    let (mut up, mut most) = (BTreeSet::<SessionId>::new(), 0);
    for entry in journal.read(&run).unwrap() {
        match entry.unwrap() {
            JournalEntry::Intent { intent, .. } => {
                if let Action::Spawn(spec) = intent.action {
                    spawns.push((intent.id, spec.session));
                }
            }
            JournalEntry::Input(stamped) => match stamped.input {
                Input::Outcome { action, outcome: ActionOutcome::Spawned { .. } } => {
                    up.extend(
                        spawns.iter().find(|(id, _)| *id == action).map(|(_, session)| session.clone()),
                    );
                }
                Input::SessionEnded { session, .. } => {
                    up.remove(&session);
                }
                _ => {}
            },
        }
        most = most.max(up.len());
    }
    most
}

impl<'a> RealAgentFixture<'a> {
    /// Three objectives, each with a command that holds it to its file.
    fn of_split(agent: &'a RealAgent, limits: &str) -> Option<Self> {
        let role = agent.role()?;
        let objectives = OBJECTIVES.map(|id| {
            format!(
                "[[phases.objectives]]\nid = \"{id}\"\ndescription = \"Write {id}.txt.\"\nfiles = [\"{id}.txt\"]\n\
                 verify = \"test -s {id}.txt\"\n"
            )
        });
        let workflow = format!(
            "name = \"relay\"\ngoal = \"Three files.\"\n[roles.executor]\n{role}\n[limits]\nbackoff = \"1s\"\n{limits}\
             [[phases]]\nid = \"write\"\ntitle = \"Write the three files\"\n{}",
            objectives.concat()
        );
        Some(Self::on_stage(agent, &workflow).with_tools())
    }
}
