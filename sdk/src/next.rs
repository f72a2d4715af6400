//! What a layer asks of the next policy of its chain: natively a mock, in a component the imports of its world.

use crate::{
    budgeting, compaction, completion, exhaustion, handoff, offloading, prompting, recovery, review,
    splitting,
};

/// The next policy of the chain (`wit/worlds.wit`, the worlds `…-layer`).
///
/// A policy that calls one of these is a *layer*: its component imports the question, and has to export it, too. The host
/// links the import to the policy that stands behind it. `None` says that none behind it answered; a fault never shows. At
/// most four calls of a decision are answered.
///
/// ```
/// use baton_sdk::prelude::*;
/// use baton_sdk::prompting::{Observation, Prompt};
/// use baton_sdk::sections::Section;
///
/// /// The prompts of the next policy, each with one line more.
/// struct Polite;
///
/// impl Prompting for Polite {
///     fn compose(host: &impl Host, o: Observation) -> Option<Prompt> {
///         let mut prompt = host.next_prompt(&o)?;
///         let mut thanks = Section::new("thanks");
///         thanks.line("\nThank you.");
///         prompt.sections.push(thanks);
///         Some(prompt)
///     }
/// }
///
/// export_policy!(Polite: prompting);
///
/// let mut host = baton_sdk::MockHost::new();
/// host.set_next(|_| {
///     let mut opening = Section::new("opening");
///     opening.line("Write it.");
///     let prompt = Prompt { sections: vec![opening], left_out: Vec::new(), reason: "one objective".into() };
///     Some(baton_sdk::Answer::Brief(prompt))
/// });
/// let observation = baton_sdk::sample::handoff_observation(prompting::Kind::First, None, None);
/// assert_eq!(Polite::compose(&host, observation).unwrap().text(), "Write it.\n\nThank you.\n");
/// ```
pub trait Next {
    /// What the next policy answers to `exhaustion`.
    ///
    /// ```
    /// use baton_sdk::{MockHost, Next, sample};
    ///
    /// let mut host = MockHost::new();
    /// let window = host.add_text("");
    /// assert_eq!(host.next_assessment(&sample::exhaustion_observation(window)), None, "no policy is behind it");
    /// ```
    fn next_assessment(&self, observation: &exhaustion::Observation) -> Option<exhaustion::Assessment>;

    /// What the next policy answers to `completion`.
    ///
    /// ```
    /// use baton_sdk::{MockHost, Next, sample};
    ///
    /// let mut host = MockHost::new();
    /// let window = host.add_text("");
    /// assert_eq!(host.next_completion(&sample::completion_observation(window)), None);
    /// ```
    fn next_completion(&self, observation: &completion::Observation) -> Option<completion::Decision>;

    /// What the next policy answers to `recovery`.
    ///
    /// ```
    /// use baton_sdk::{MockHost, Next, sample};
    ///
    /// let mut host = MockHost::new();
    /// let window = host.add_text("");
    /// assert_eq!(host.next_recovery(&sample::recovery_observation(window)), None);
    /// ```
    fn next_recovery(&self, observation: &recovery::Observation) -> Option<recovery::Decision>;

    /// What the next policy answers to `offloading`.
    ///
    /// ```
    /// use baton_sdk::{MockHost, Next, sample};
    ///
    /// assert_eq!(MockHost::new().next_offloading(&sample::offloading_observation()), None);
    /// ```
    fn next_offloading(&self, observation: &offloading::Observation) -> Option<offloading::Decision>;

    /// What the next policy answers to `compaction`.
    ///
    /// ```
    /// use baton_sdk::{MockHost, Next, sample};
    ///
    /// assert_eq!(MockHost::new().next_compaction(&sample::compaction_observation()), None);
    /// ```
    fn next_compaction(&self, observation: &compaction::Observation) -> Option<compaction::Decision>;

    /// What the next policy answers to `splitting`.
    ///
    /// ```
    /// use baton_sdk::{MockHost, Next, sample};
    ///
    /// assert_eq!(MockHost::new().next_split(&sample::splitting_observation()), None);
    /// ```
    fn next_split(&self, observation: &splitting::Observation) -> Option<splitting::Decision>;

    /// What the next policy answers to `budgeting`.
    ///
    /// ```
    /// use baton_sdk::{MockHost, Next, sample};
    ///
    /// assert_eq!(MockHost::new().next_turn_budget(&sample::budgeting_observation()), None);
    /// ```
    fn next_turn_budget(&self, observation: &budgeting::Observation) -> Option<budgeting::TurnBudget>;

    /// What the next policy answers to `prompting`.
    ///
    /// ```
    /// use baton_sdk::{MockHost, Next, prompting::Kind, sample};
    ///
    /// assert_eq!(MockHost::new().next_prompt(&sample::handoff_observation(Kind::First, None, None)), None);
    /// ```
    fn next_prompt(&self, observation: &prompting::Observation) -> Option<prompting::Prompt>;

    /// What the next policy answers to `handoff`.
    ///
    /// ```
    /// use baton_sdk::{MockHost, Next, handoff::Kind, sample};
    ///
    /// assert_eq!(MockHost::new().next_handoff(&sample::handoff_observation(Kind::First, None, None)), None);
    /// ```
    fn next_handoff(&self, observation: &handoff::Observation) -> Option<handoff::Composition>;

    /// What the next policy answers to `review`.
    ///
    /// ```
    /// use baton_sdk::{MockHost, Next, sample};
    ///
    /// let mut host = MockHost::new();
    /// let document = host.add_text("# Handoff");
    /// assert_eq!(host.next_review(&sample::review_observation(document)), None);
    /// ```
    fn next_review(&self, observation: &review::Observation) -> Option<review::Review>;
}

#[cfg(target_arch = "wasm32")]
mod imports {
    use super::Next;
    use crate::bindings::next::baton::policy;
    use crate::{
        Imports, budgeting, compaction, completion, exhaustion, handoff, offloading, prompting, recovery,
        review, splitting,
    };

    impl Next for Imports {
        fn next_assessment(&self, o: &exhaustion::Observation) -> Option<exhaustion::Assessment> {
            policy::exhaustion::assess(o)
        }
        fn next_completion(&self, o: &completion::Observation) -> Option<completion::Decision> {
            policy::completion::decide(o)
        }
        fn next_recovery(&self, o: &recovery::Observation) -> Option<recovery::Decision> {
            policy::recovery::decide(o)
        }
        fn next_offloading(&self, o: &offloading::Observation) -> Option<offloading::Decision> {
            policy::offloading::decide(o)
        }
        fn next_compaction(&self, o: &compaction::Observation) -> Option<compaction::Decision> {
            policy::compaction::decide(o)
        }
        fn next_split(&self, o: &splitting::Observation) -> Option<splitting::Decision> {
            policy::splitting::decide(o)
        }
        fn next_turn_budget(&self, o: &budgeting::Observation) -> Option<budgeting::TurnBudget> {
            policy::budgeting::decide(o)
        }
        fn next_prompt(&self, o: &prompting::Observation) -> Option<prompting::Prompt> {
            policy::prompting::compose(o)
        }
        fn next_handoff(&self, o: &handoff::Observation) -> Option<handoff::Composition> {
            policy::handoff::compose(o)
        }
        fn next_review(&self, o: &review::Observation) -> Option<review::Review> {
            policy::review::assess(o)
        }
    }
}
