//! When a kind of agent makes room in its context.

use baton_sdk::compaction::{Action, Decision, Observation};
use baton_sdk::prelude::*;

use crate::entries::number_of;

pub(crate) const COMPACT_PERCENT: &str = "compact-percent";
pub(crate) const COMPACT_INSTRUCTIONS: &str = "compact-instructions";
pub(crate) const HAND_OFF_PERCENT: &str = "hand-off-percent";

pub(crate) fn decide(host: &impl Host, o: &Observation) -> Option<Decision> {
    let percent = o.session.occupancy.percent()?;
    let threshold = |rule: &str| number_of(&host.texts(rule), &o.session.agent);
    let reached = |threshold: u32| percent >= f64::from(threshold);
    let says = |action, rule: &str, threshold: u32| {
        let reason =
            format!("{} % are used, and {rule} is {threshold} for {}", percent as u64, o.session.agent);
        Some(Decision::new(action, caps::cut(&reason, caps::REASON_BYTES)))
    };
    // A session that has finished nothing would only be followed by another one like it.
    let has_finished = o.phase.progress.done_by_session > 0;
    if let Some(hand_off) = threshold(HAND_OFF_PERCENT).filter(|hand_off| has_finished && reached(*hand_off))
    {
        return says(Action::HandOff, HAND_OFF_PERCENT, hand_off);
    }
    let compact = threshold(COMPACT_PERCENT)?;
    if !reached(compact) {
        return says(Action::Keep, COMPACT_PERCENT, compact);
    }
    // Where it cannot compact, or was full again after it did, the rule helps no more.
    if !o.session.capabilities.contains(Capabilities::COMPACTS) || o.refilled_within_turns.is_some() {
        return None;
    }
    let instructions = host.text(COMPACT_INSTRUCTIONS);
    says(
        Action::Compact(Some(caps::cut(&instructions, caps::TEXT_BYTES).to_owned())),
        COMPACT_PERCENT,
        compact,
    )
}
