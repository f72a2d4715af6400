//! When to make room (B1), what to keep (B2, C5), and when a new session is the better room (C12, C20, C21).

use baton_sdk::Host;
use baton_sdk::compaction::{Action, Decision, Observation};
use baton_sdk::types::Capabilities;

use crate::assess::{fill, whole};

pub(crate) fn decide(host: &impl Host, o: &Observation) -> Decision {
    match o.session.occupancy.percent() {
        Some(percent) => room(host, o, percent),
        None => Decision::new(Action::Keep, "how full the context is, is not known"),
    }
}

fn room(host: &impl Host, o: &Observation, percent: f64) -> Decision {
    let fill = fill(&o.session, percent);
    let rereads: u32 = o.session.recent.iter().map(|turn| turn.rereads).sum();
    let reread_limit = host.integer("reread-limit");
    let circling = reread_limit > 0 && i64::from(rereads) >= reread_limit;
    let threshold = host.number("compact-percent");
    let threshold = if circling { threshold.min(host.number("reread-percent")) } else { threshold };
    if percent < threshold {
        return Decision::new(Action::Keep, format!("the context is {fill}, below {}%", whole(threshold)));
    }
    let why = if circling {
        format!("{rereads} repeated reads, and the context is {fill}")
    } else {
        format!("the context is {fill}")
    };
    let soon = |turns: &u32| i64::from(*turns) <= host.integer("refill-turns");
    if let Some(turns) = o.refilled_within_turns.filter(soon) {
        return Decision::new(
            Action::HandOff,
            format!(
                "{why}; it was full again {turns} turns after the last compaction, so another would not help"
            ),
        );
    }
    if o.session.capabilities.contains(Capabilities::COMPACTS) {
        let instructions = format!("{}{}", host.text("compact-instructions"), state(o));
        return Decision::new(Action::Compact(Some(instructions)), why);
    }
    if percent < host.number("hand-off-percent") {
        return Decision::new(
            Action::Keep,
            format!("{why}; the agent cannot compact, and there is room for a little more"),
        );
    }
    let done = o.phase.progress.done_by_session;
    if i64::from(done) >= host.integer("min-objectives-before-hand-off") {
        Decision::new(Action::HandOff, format!("{why}, and the agent cannot compact"))
    } else {
        Decision::new(Action::Keep, format!("{why}, but this session has finished too little to hand off"))
    }
}

/// Where the phase stands, for the summary that the agent writes of itself.
fn state(o: &Observation) -> String {
    let progress = &o.phase.progress;
    let all = progress.done + progress.open + progress.failed;
    format!("\nPhase {} ({}): {} of {all} objectives done.", o.phase.id, o.phase.title, progress.done)
}
