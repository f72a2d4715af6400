//! What resilience splits, except phases that this team wants to stay whole.

use baton_policy_resilience::Resilience;
use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Decision, Observation, Occasion};

use crate::{{Type}};

/// What a team can set, beside the settings of resilience.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::texts(
        "keep-whole",
        &["migration"],
        "A phase that has one of these words in its title, in any case, stays whole as long as work on it can go on.",
    )]
}

impl Splitting for {{Type}} {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let (occasion, title) = (o.occasion.clone(), o.phase.title.to_lowercase());
        let decision = <Resilience as Splitting>::decide(host, o)?;
        // A split that an agent asks for, or that is the only way on, is left to resilience.
        let is_choice = matches!(occasion, Occasion::PhaseStart | Occasion::Boundary);
        if !is_choice || !matches!(decision.action, Action::Split(_)) {
            return Some(decision);
        }
        let words = host.texts("keep-whole");
        let mut words = words.iter().map(|word| word.trim().to_lowercase());
        Some(
            match words.find(|word| !word.is_empty() && title.contains(word)) {
                Some(word) => {
                    let reason = format!("a phase about \"{word}\" stays whole");
                    Decision::new(Action::Keep, caps::cut(&reason, caps::REASON_BYTES))
                }
                None => decision,
            },
        )
    }
}
