//! One objective that takes far more turns than the table has: it runs to its end in one session, and nobody is asked.

use baton_runtime::core::progress::ProgressEvent;
use baton_simulator::{ModelScript, ModelTurn, Simulator};

use crate::agent::RealAgent;
use crate::fixture::{OBJECTIVES, RealAgentFixture, asked};

/// Tool calls of the first objective; the table has 25 turns for all three.
const CALLS: usize = 60;

pub(crate) fn long_objective(agent: &RealAgent) {
    // A1, A8
    let Some(fixture) = RealAgentFixture::of(agent, "") else { return };
    let mut alpha = fixture.turns("alpha", 0);
    let page = |number| {
        let name = format!("alpha-{}.txt", number % 5);
        fixture.stage.workspace.canonicalize().unwrap().join(name)
    };
    let calls =
        (1..=CALLS).map(|number| ModelTurn::write(page(number).display(), format!("page {number}\n")));
    alpha.splice(0..0, calls);
    let script =
        OBJECTIVES[1..].iter().fold(ModelScript::new().on("- [alpha]", alpha), |script, objective| {
            script.on(format!("- [{objective}]"), fixture.turns(objective, 0))
        });
    let simulator = Simulator::start(script).unwrap();
    let run = fixture.run(&simulator);
    fixture.expect_done(&run);
    assert!(page(CALLS).is_file(), "{:#?}", asked(&simulator));
    run.expect_sessions(1, 0);
    assert_eq!(run.stops(), [], "{:#?}", run.key_events());
    let given = run.story.count(|notice| matches!(notice, ProgressEvent::Budgeted { of_table: 25, .. }));
    assert!(given >= 2, "{:#?}", run.key_events());
    // The table of people adds up.
    let phase = run.phase();
    assert!(phase.turns as usize > CALLS && phase.turns <= phase.max_turns, "{phase:#?}");
}
