//! What resilience does about a session, except that a person is asked before some phases are tried again.

use baton_policy_resilience::Resilience;
use baton_sdk::prelude::*;
use baton_sdk::recovery::{Action, Decision, Observation};

use crate::{{Type}};

/// What a team can set, beside the settings of resilience.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::texts(
        "ask-before-retry",
        &["migration"],
        "Before a new session tries a phase again that has one of these words in its title, in any case, a person is asked.",
    )]
}

impl Recovery for {{Type}} {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let (id, title) = (
            o.session.phase.id.clone(),
            o.session.phase.title.to_lowercase(),
        );
        let decision = <Resilience as Recovery>::decide(host, o)?;
        if !matches!(decision.action, Action::Retry | Action::OtherRole(_)) {
            return Some(decision);
        }
        let words = host.texts("ask-before-retry");
        let mut words = words.iter().map(|word| word.trim().to_lowercase());
        Some(
            match words.find(|word| !word.is_empty() && title.contains(word)) {
                Some(_) => {
                    let question = format!("Phase {id}: {}. Try it again?", decision.reason);
                    let question = caps::cut(&question, caps::REASON_BYTES);
                    Decision::new(Action::AskPerson(question.into()), decision.reason)
                }
                None => decision,
            },
        )
    }
}
