//! What keeps an agent from its work: each costs no more than it must, and is said in the agent's own words.

use baton_runtime::core::notice::Notice;
use baton_simulator::Simulator;

use crate::agent::RealAgent;
use crate::scenario::script;
use crate::scene::{MESSAGE_SCALE, Scene};

/// Its context is nearly full and it says no to `/compact`: the next session goes on, and nobody waits for a stall.
pub(crate) fn refused_compaction(agent: &RealAgent) {
    // B1, A6
    let threshold = format!("compact-percent = {}", agent.compact_percent);
    let Some(scene) = Scene::of(agent, &threshold) else { return };
    let scene = scene.with(&[("DISABLE_COMPACT", "1")]);
    let simulator = Simulator::start(script(&scene, [2, 0, 0]).message_scale(MESSAGE_SCALE)).unwrap();
    let run = scene.run(&simulator);
    scene.expect_done(&run);
    run.expect_sessions(2, 1);
    let refusals: Vec<_> = run.plot().into_iter().filter_map(refusal).collect();
    assert_eq!(refusals, ["/compact isn't available in this environment."], "{:#?}", run.plot());
    // Neither a stall nor any other failure came of it.
    assert_eq!(run.stops(), [], "{:#?}", run.plot());
    assert_eq!(run.story.count(|notice| matches!(notice, Notice::Retrying { .. })), 0);
}

fn refusal(notice: &Notice) -> Option<&str> {
    match notice {
        Notice::CompactionFailed { text, .. } => Some(text),
        _ => None,
    }
}
