//! What resilience finds done, but for objectives whose report itself leaves something open.

use baton_policy_resilience::Resilience;
use baton_sdk::completion::{Decision, Observation};
use baton_sdk::prelude::*;

use crate::{{Type}};

/// What a team can set, beside the settings of resilience.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::texts(
        "house-open-words",
        &["by hand"],
        "An objective is not done if the note of its report has one of these words, in any case.",
    )]
}

impl Completion for {{Type}} {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let words = host.texts("house-open-words");
        let objectives = o.session.objectives.iter();
        let left_open: Vec<(String, String)> = objectives
            .filter_map(|objective| Some((objective.id.clone(), open_word(objective, &words)?)))
            .collect();
        let mut decision = <Resilience as Completion>::decide(host, o)?;
        let found = left_open
            .iter()
            .find(|(id, _)| decision.done.contains(id))
            .map(|(id, word)| format!("the report of objective {id} says \"{word}\""));
        let Some(reason) = found else {
            return Some(decision);
        };
        decision
            .done
            .retain(|done| left_open.iter().all(|(id, _)| id != done));
        decision.reason = caps::cut(&reason, caps::REASON_BYTES).into();
        Some(decision)
    }
}

/// The word in the note of its last report that leaves it open.
fn open_word(objective: &Objective, words: &[String]) -> Option<String> {
    let note = objective.reported.as_ref()?.note.to_lowercase();
    let mut words = words.iter().map(|word| word.trim().to_lowercase());
    words.find(|word| !word.is_empty() && note.contains(word))
}
