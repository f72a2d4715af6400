//! What to do about a session that is not well, or whose objectives are not done.

use baton_sdk::exhaustion::Verdict;
use baton_sdk::prelude::*;
use baton_sdk::recovery::{Action, Decision, Observation};

use crate::{{Type}};

/// What a team can set.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::integer(
        "nudges-at-most",
        1,
        0..=10,
        "So often a session is prompted again before a new one takes over.",
    )]
}

impl Recovery for {{Type}} {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let session = &o.session.session;
        let lives = session.exit.is_none();
        let may_nudge = lives && i64::from(o.session.nudges) < host.integer("nudges-at-most");
        let interrupts = session.capabilities.contains(Capabilities::INTERRUPTS);
        let (action, reason) = match o.assessment.verdict {
            Verdict::Quota(_) => (Action::Wait, "a provider's limit is waited for"),
            Verdict::Exhausted | Verdict::HandedOff | Verdict::TurnLimit | Verdict::BudgetLimit => {
                (Action::HandOff, "a new session continues from its handoff")
            }
            Verdict::Stalled if may_nudge && interrupts => {
                (Action::Interrupt, "it is silent, and is asked to go on")
            }
            Verdict::Answered | Verdict::Truncated if may_nudge => {
                (Action::Nudge, "it is asked for what is missing")
            }
            _ => (Action::Retry, "a new session tries again"),
        };
        Some(Decision::new(action, reason))
    }
}
